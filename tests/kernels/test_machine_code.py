"""The tutorials' main loops in machine code: instructions and registers beside those of CuTe's own kernels."""

import functools
import json

import pytest

import nvrtc
from night import NIGHT
from places import DATA
from sources_of_kernels import kernel_examples

CUTE = json.loads((DATA / "cute_sass.json").read_text())["kernels"]
#: Where ours has more: instructions of the main loop, registers.
MORE = {"sgemm_2 gemm_tn": (684, 100), "sgemm_sm70 gemm_tn": (684, 106), "sgemm_sm80 gemm_tn": (250, 200)}


@functools.cache
def examples():
    return kernel_examples()


@pytest.mark.parametrize("name", CUTE if NIGHT else ("sgemm_1 gemm_tn", "sgemm_sm80 gemm_tn", "wgmma_sm90 gemm_tn"))
def test_a_main_loop_takes_no_more_than_cutes(name, tmp_path):
    example, variant = name.split()
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"][variant]
    arch = CUTE[name]["arch"]
    cubin = nvrtc.compiled(made.source("cuda", *arguments, arch=arch, parameters=parameters).text, arch)[1]
    instructions, registers = nvrtc.main_loop(cubin, tmp_path)
    most = MORE.get(name, (CUTE[name]["loop"], CUTE[name]["registers"]))
    assert (instructions <= most[0], registers <= most[1]) == (True, True), (instructions, registers, most)
    assert not {"LDL", "STL"} & {op.split(".")[0] for op in nvrtc.opcodes(cubin, tmp_path)}, "spills"
