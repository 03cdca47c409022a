"""The page of five questions ends in code: CUDA that NVRTC takes, a type of CuTe, a layout of Gluon, a call
of the driver."""

import doctest
import functools
import subprocess

import pytest

import compiled
import nvrtc
from places import DOCS
from traced_sources import include_folders

#: The driver's function and its types, as cuda.h declares them.
DRIVER = """
#include <stdint.h>
typedef uint64_t cuuint64_t; typedef uint32_t cuuint32_t; typedef struct { uint64_t opaque[16]; } CUtensorMap;
typedef enum { CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6 } CUtensorMapDataType;
typedef enum { CU_TENSOR_MAP_INTERLEAVE_NONE } CUtensorMapInterleave;
typedef enum { CU_TENSOR_MAP_SWIZZLE_128B = 3 } CUtensorMapSwizzle;
typedef enum { CU_TENSOR_MAP_L2_PROMOTION_L2_128B = 2 } CUtensorMapL2promotion;
typedef enum { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE } CUtensorMapFloatOOBfill;
static int cuTensorMapEncodeIm2col(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *, const int *, const int *,
                            cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                            CUtensorMapFloatOOBfill) { return 0; }
"""


@functools.cache
def names():
    """The names of the page's lines, after they have run."""
    found = {}
    for example in doctest.DocTestParser().get_examples((DOCS / "questions.md").read_text()):
        exec(compile(example.source, "questions.md", "exec"), found)
    return found


def test_the_cuda_is_taken_by_nvrtc():
    kernel = """
extern "C" __global__ void stored(const unsigned short *a, unsigned short *b) {
    __shared__ __align__(16) unsigned short smem[4096];
    unsigned short src[32], dst[32];
    for (int i = 0; i < 32; ++i) src[i] = a[offset(threadIdx.x, i)];
    to_rows(src, dst, smem);
    for (int i = 0; i < 32; ++i) b[threadIdx.x * 32 + i] = dst[i];
}
"""
    nvrtc.compiled(names()["cuda_offset"] + names()["cuda_convert"] + kernel, "sm_80")


def test_the_layout_of_gluon_is_tritons_own():
    ttgl = pytest.importorskip("triton.experimental.gluon.language")
    made = eval(str(names()["gluon_layout"]), {"DistributedLinearLayout": ttgl.DistributedLinearLayout})
    assert repr(made) == str(names()["gluon_layout"])


def test_the_descriptor_is_a_call_of_the_driver(tmp_path):
    call = names()["cuda_descriptor"].replace("cuTensorMapEncodeIm2col(", "return cuTensorMapEncodeIm2col(")
    compiled.build(tmp_path, f"{DRIVER}int encoded(void *address) {{ CUtensorMap map;\n{call}\n}}\n", language="c++")


def test_the_layout_of_cute_is_a_value_of_its_type(tmp_path):
    include = [f"-isystem{folder}" for folder in include_folders()]
    text = (
        f"#include <cute/layout.hpp>\nauto tv = {names()['cute_cpp']};\nstatic_assert(decltype(tv){{}}(9, 3) == 1 + "
        "512 + 3 * 64);\n"
    )
    (tmp_path / "tv.cpp").write_text(text)
    compiled.require("g++")
    done = subprocess.run(
        ["g++", "-std=c++17", "-w", "-fsyntax-only", *include, str(tmp_path / "tv.cpp")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:2000]
