"""The tutorials compiled: their main loops beside those of CuTe's own kernels, and their launches with
CUDA's own headers."""

import functools
import json
import re
import subprocess

import pytest

from tla.kernels.targets import source_of

import nvrtc
from compiled import require
from night import amount
from places import DATA
from sources_of_kernels import kernel_examples

CUTE = json.loads((DATA / "cute_sass.json").read_text())["kernels"]


@functools.cache
def examples():
    return kernel_examples()


@pytest.mark.parametrize("name", amount(["sgemm_1 gemm_tn"], CUTE))
def test_a_main_loop_takes_no_more_than_cutes(name, tmp_path):
    example, variant = name.split()
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"][variant]
    arch = CUTE[name]["arch"]
    cubin = nvrtc.compiled(made.source("cuda", *arguments, arch=arch, parameters=parameters).text, arch)[1]
    instructions, registers = nvrtc.main_loop(cubin, tmp_path)
    most = CUTE[name]["loop"], CUTE[name]["registers"]
    assert (instructions <= most[0], registers <= most[1]) == (True, True), (instructions, registers, most)
    assert not {"LDL", "STL"} & {op.split(".")[0] for op in nvrtc.opcodes(cubin, tmp_path)}, "spills"


#: Of Blackwell's tutorials four steps along K, as the compiler unrolls the loop, with four products each, and the
#: registers; of the first two steps.
STEPS = {
    "mma_sm100": (257, 118),
    "mma_tma_sm100": (259, 108),
    "mma_tma_multicast_sm100": (262, 108),
    "mma_tma_2sm_sm100": (287, 108),
    "mma_tma_epi_sm100": (275, 102),
}


@pytest.mark.parametrize("example", amount([], STEPS))
def test_a_main_loop_of_blackwell(example, tmp_path):
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"]["gemm_tn"]
    text = source_of(made.program(*arguments), "cuda", "kernel_main", parameters, "").text
    cubin = nvrtc.compiled(text, "sm_100a")[1]
    instructions, registers = nvrtc.main_loop(cubin, tmp_path)
    most = STEPS[example]
    assert (instructions <= most[0], registers <= most[1]) == (True, True), (instructions, registers, most)
    assert not {"LDL", "STL"} & {op.split(".")[0] for op in nvrtc.opcodes(cubin, tmp_path)}, "spills"


@pytest.mark.parametrize("name", ["sgemm_1 gemm_nt", "sgemm_sm80 gemm_tn", "wgmma_tma_sm90 gemm_nt"])
def test_a_launch_takes_cudas_own_headers(name, tmp_path):
    """NVRTC compiles no host code: the launch is C++ with a call where a kernel is launched, so that g++ reads it."""
    require("g++")
    headers = [path.parent for path in nvrtc.installed("nvidia/**/include/cuda_runtime.h")]
    headers = [folder for folder in headers if (folder / "crt/host_defines.h").exists()]
    if not headers:
        pytest.skip("needs the headers of CUDA: nvidia-cuda-runtime and nvidia-cuda-crt")
    example, variant = name.split()
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"][variant]
    text = made.source("cuda", *arguments, parameters=parameters).text
    declared = re.search(r'extern "C" __global__ .*?(kernel_main\(.*\)) \{', text)[1].replace("__grid_constant__ ", "")
    includes = "".join(
        f"{line}\n" for line in sorted({"#include <cuda_runtime.h>", *re.findall("#include <.*>", text)})
    )
    requires = "".join(  # with the functions that it calls
        re.findall(
            r"^__host__ __device__ __forceinline__ [a-z ]+ kernel_main_requires.*?^}\n", text, re.DOTALL | re.MULTILINE
        )
    )
    launch = re.sub(
        r"kernel_main<<<(.*?)>>>", r"configured(\1), kernel_main", text[text.rindex("#ifndef __CUDACC_RTC__") :]
    )
    source = tmp_path / "launch.cpp"
    configured = "static inline void configured(dim3, unsigned, int, cudaStream_t) {}\n"
    source.write_text(f"{includes}{configured}void {declared};\n{requires}{launch}")
    words = ["g++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-isystem", headers[0], source]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
