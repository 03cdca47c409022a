"""HIP compiled by clang's amdgcn backend where it is there: the instructions of the machine code. No ROCm, no GPU."""

import collections
import functools
import importlib.util
import re
import shutil
import subprocess
import sys

import pytest

#: What HIP's headers and its compiler's driver say, as far as texts need it.
HEADER = """
#define __HIP_DEVICE_COMPILE__ 1
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __align__(n) __attribute__((aligned(n)))
#define memcpy __builtin_memcpy
#define __popc __builtin_popcount
struct Thread { __device__ operator unsigned() const { return __builtin_amdgcn_workitem_id_x(); } };
struct Index { Thread x; };
static __device__ const Index threadIdx = {};
struct Block {
  struct X { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_x(); } } x;
  struct Y { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_y(); } } y;
  struct Z { __device__ operator unsigned() const { return __builtin_amdgcn_workgroup_id_z(); } } z;
};
static __device__ const Block blockIdx = {};
#define __host__ __attribute__((host))
#define __launch_bounds__(n, ...) __attribute__((amdgpu_flat_work_group_size(1, n)))
struct alignas(16) uint4 { unsigned x, y, z, w; };
__device__ inline void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}
static __device__ inline float fabsf(float x) { return __builtin_fabsf(x); }
static __device__ inline float floorf(float x) { return __builtin_floorf(x); }
static __device__ inline float rintf(float x) { return __builtin_rintf(x); }
static __device__ inline float sqrtf(float x) { return __builtin_sqrtf(x); }
static __device__ inline float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
static __device__ inline float fminf(float x, float y) { return __builtin_fminf(x, y); }
static __device__ inline float expf(float x) { return __builtin_expf(x); }
static __device__ inline float exp2f(float x) { return __builtin_exp2f(x); }
static __device__ inline float logf(float x) { return __builtin_logf(x); }
static __device__ inline float log2f(float x) { return __builtin_log2f(x); }
static __device__ inline float sinf(float x) { return __builtin_sinf(x); }
static __device__ inline float cosf(float x) { return __builtin_cosf(x); }
// of the library of ROCm, which is not here: what a compiler's builtin has no instructions for, by those that it has
static __device__ inline float expm1f(float x) { return __builtin_expf(x) - 1; }
static __device__ inline float log1pf(float x) { return __builtin_logf(1 + x); }
static __device__ inline float tanhf(float x) { return 1 - 2 / (__builtin_expf(2 * x) + 1); }
__device__ inline float __shfl_xor(float x, int mask) {
  const int lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  return __builtin_bit_cast(float, __builtin_amdgcn_ds_bpermute((lane ^ mask) * 4, __builtin_bit_cast(int, x)));
}
"""


@functools.cache
def compiler(arch):
    """A clang that compiles for the GPU: that of the package ziglang, or Debian's, whose plain clang is older than most
    of them; the test is skipped without one."""
    ours = [sys.executable, "-m", "ziglang", "clang"] if importlib.util.find_spec("ziglang") else []
    for command in (ours, *([name] for name in ("clang++-20", "clang++-19", "clang++-18", "clang++"))):
        if (
            command
            and shutil.which(command[0])
            and subprocess.run(
                [*command, *words(arch), "-"], input="", text=True, capture_output=True, check=False
            ).returncode
            == 0
        ):
            return command
    pytest.skip(f"needs a clang that compiles for {arch}: pip install ziglang")


def words(arch):
    """What clang is told: one GPU's assembly, without the headers and libraries of ROCm."""
    return [
        "-x",
        "hip",
        "--offload-device-only",
        f"--offload-arch={arch}",
        "-nogpuinc",
        "-nogpulib",
        "-O3",
        "-S",
        "-o",
        "-",
    ]


def without_headers(text):
    """A kernel's text for HEADER in place of HIP's own headers."""
    for header, instead in (("hip_runtime", "#define __HIPCC_RTC__"), ("hip_fp16", "typedef _Float16 __half;")):
        text = text.replace(f"#include <hip/{header}.h>", instead)
    return text


def opcodes(source, arch, folder):
    """How often each instruction stands in the assembly of a source."""
    path = folder / "kernel.hip"
    path.write_text(HEADER + source)
    done = subprocess.run([*compiler(arch), *words(arch), str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return collections.Counter(re.findall(r"^\t([a-z]\w+)", done.stdout, re.M))
