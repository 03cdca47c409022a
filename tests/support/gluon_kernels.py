"""Kernels as Gluon's text, compiled by Triton for a GPU that is not there, and executed on the CPU by ptx_kernels."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import ptx_kernels

from tla.kernels import Scalar
from tla.kernels.targets import source_of
from tla.tensors.tensor import Tensor

import gluon_compiled

_POINTERS = {"float16": "*fp16", "float32": "*fp32", "uint16": "*u16", "int32": "*i32"}


def compiled(kernel, arguments, parameters, folder, arch="sm_80"):
    """The Source of a kernel as Gluon, which is not checked before, and its PTX."""
    program = kernel.program(*arguments)
    source = source_of(program, "gluon", "kernel_main", parameters, "")
    signature = {}
    for name in source.parameters:
        x = program.arguments.get(name)
        number = "fp32" if isinstance(x, Scalar) else "i32"
        signature[name] = _POINTERS[str(x.dtype)] if isinstance(x, Tensor) else number
    text = f"{source.text}\n\nkernel = kernel_main\n"
    ptx = gluon_compiled.assembled(text, signature, arch, 32, source.block // 32, folder, aligned=True)
    return source, ptx


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
        self.module.kernel_main = self

    def __getitem__(self, grid):
        def launch(*arguments, num_warps):
            assert 32 * num_warps == self.source.block
            self.wavefronts = ptx_kernels.run(self.ptx, grid, self.source.block, arguments)

        return launch

    def __call__(self, *arguments):
        given = [x if isinstance(x, (np.ndarray, float)) else int(x) for x in arguments]
        self.module.kernel_main_launch(*given)
