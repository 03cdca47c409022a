"""Kernels as Gluon's text, compiled by Triton for a GPU that is not there, and executed on the CPU by ptx_kernels."""

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ptx_kernels

from tla.kernels import Scalar
from tla.kernels.targets import source_of
from tla.tensors.tensor import Tensor

import gluon_compiled

_POINTERS = {"float16": "*fp16", "bfloat16": "*bf16", "float32": "*fp32", "uint16": "*u16", "int32": "*i32"}
_POINTERS |= {"float8_e4m3fn": "*fp8e4nv", "float8_e5m2": "*fp8e5", "float8_e4m3fnuz": "*fp8e4b8"}


def compiled(kernel, arguments, parameters, folder, arch="sm_80"):
    """The Source of a kernel as Gluon, which is not checked before, and its PTX."""
    program = kernel.program(*arguments)
    source = source_of(program, "gluon", "kernel_main", parameters, "")
    signature, maps = {}, {name: argument for name, argument, _map in source.maps}
    for name in source.parameters:
        x = program.arguments.get(name)
        if name in maps:
            block, layout = re.search(
                rf"{name} = TensorDescriptor\(.*, (\[[\d, ]*\]), (gl\..*)\)", source.text
            ).groups()
            kind = _POINTERS[str(program.arguments[maps[name]].dtype)].removeprefix("*")
            signature[name] = f"tensordesc<{kind}{block.replace(' ', '')},{_layout(layout)!r}>"
            continue
        number = "fp32" if isinstance(x, Scalar) else "i32"
        signature[name] = _POINTERS[str(x.dtype)] if isinstance(x, Tensor) else number
    text = f"{source.text}\n\nkernel = kernel_main\n"
    warps = int(re.search(r"num_warps=(\d+)", source.text)[1])
    asm = gluon_compiled.assembled(text, signature, arch, source.block // warps, warps, folder, aligned=True)
    return source, asm


def _layout(text):
    """Gluon's own layout of a text."""
    gluon_compiled.require()
    from triton.experimental.gluon import language as gl

    name, given = re.fullmatch(r"gl\.(\w+)\((.*)\)", text).groups()
    return getattr(gl, name)(
        *({"True": True, "False": False}.get(x) if x in ("True", "False") else int(x) for x in given.split(", "))
    )


class Descriptor(NamedTuple):
    """What the launch makes of a matrix for TMA: in place of Triton's, which asks for a tensor of a GPU."""

    base: np.ndarray
    shape: list[int]
    strides: list[int]
    block_shape: list[int]
    layout: Any


def module_of(source, folder):
    """The module of a Source's text."""
    path = Path(folder) / "kernel_text.py"
    path.write_text(source.text)
    spec = importlib.util.spec_from_file_location("kernel_text", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules.pop("kernel_text", None)
    spec.loader.exec_module(module)
    return module


class Launched:
    """The launch of a text in place of Triton's: `kernel_main[grid](...)` executes the PTX."""

    def __init__(self, source, ptx, folder):
        self.module, self.source, self.ptx = module_of(source, folder), source, ptx
        self.module.kernel_main, self.module.TensorDescriptor = self, Descriptor

    def __getitem__(self, grid):
        def launch(*arguments, num_warps):
            assert 32 * num_warps == self.source.block
            given = [y for x in arguments for y in ([x, *x.shape, *x.strides] if isinstance(x, Descriptor) else [x])]
            self.wavefronts = ptx_kernels.run(self.ptx, grid, self.source.block, given)

        return launch

    def __call__(self, *arguments):
        given = [x if isinstance(x, (np.ndarray, float)) else int(x) for x in arguments]
        self.module.kernel_main_launch(*given)
