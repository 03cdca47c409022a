"""The examples' kernels, and their text compiled and called: C by gcc, CUDA as C++ where each thread of a block is a thread of the CPU."""

import ctypes
import runpy
import sys

import compiled
from places import EXAMPLES

#: CUDA's words for a C++ compiler. Threads of a block run at once and wait for each other; blocks run one after the other, so that
#: shared memory is a static array.
ON_CPU = """
#include <cstdint>
#include <thread>
#include <vector>
#include <barrier>
#define __CUDACC_RTC__
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct Three { int x, y, z; };
static thread_local Three threadIdx, blockIdx;
static std::barrier<> *all_threads;
static void __syncthreads() { all_threads->arrive_and_wait(); }
"""
#: A launch of every block; PARAMETERS and NAMES are those of the kernel.
LAUNCH = """
extern "C" void launch(int g0, int g1, int threads{parameters}) {{
    for (int y = 0; y < g1; ++y)
    for (int x = 0; x < g0; ++x) {{
        std::barrier<> wait(threads);
        all_threads = &wait;
        std::vector<std::thread> running;
        for (int t = 0; t < threads; ++t) running.emplace_back([=] {{
            threadIdx = {{t, 0, 0}};
            blockIdx = {{x, y, 0}};
            kernel_main({names});
        }});
        for (auto &r : running) r.join();
    }}
}}
"""


def kernel_examples():
    """What examples/kernels define, by name."""
    folder = str(EXAMPLES / "kernels")
    sys.path.insert(0, folder)
    try:
        found = {
            name: runpy.run_path(f"{folder}/{name}.py")
            for name in ("sgemm_1", "sgemm_2", "sgemm_sm70", "tiled_copy", "tiled_copy_if", "transpose")
        }
    finally:
        sys.path.remove(folder)
    return {k: v for values in found.values() for k, v in values.items()} | {f"variants of {name}": v for name, v in found.items()}


def c_function(folder, source):
    """kernel_main of a Source in C."""
    return compiled.build(folder, source.text).kernel_main


def cuda_function(folder, source, parameters, grid):
    """A function of the kernel's arguments that launches a Source in CUDA on the CPU. grid: a function of the same arguments."""
    named = "".join(f", {p}" for p in parameters)
    launch = LAUNCH.format(parameters=named, names=", ".join(source.parameters))
    library = compiled.build(folder, ON_CPU + source.text + launch, "-std=c++20", "-pthread", "-Wno-unused-function", language="c++")

    def call(*arguments):
        g0, g1 = grid(*arguments)
        library.launch(ctypes.c_int(g0), ctypes.c_int(g1), ctypes.c_int(source.block), *arguments)

    return call
