"""A kernel as CUDA: no headers but CUDA's own.

Source: the CUDA C++ Programming Guide.
"""

from __future__ import annotations

from collections.abc import Callable

from ...codegen.c_languages import C_FAMILY
from ...codegen.expressions.integer_types import Integer
from ..source import Form, Parts, Source
from ..text import Writer


def write(parts: Parts) -> Source:
    """The text of a program as CUDA. Source: ours."""
    p, language = parts.program, C_FAMILY["cuda"]
    writer = Writer(p, language, "{}[{}]")
    blocks = [*writer.blocks()]
    kind = language.integers[str(Integer(writer.bits, True))]
    body = [f"const {kind} tid = threadIdx.x;"]
    body += [f"const {kind} bid{k} = blockIdx.{'xyz'[k]};" for k in range(len(p.grid))]
    body += [f"__shared__ __align__(16) {writer.element_type(t)} smem{k}[{len(t.data)}];" for k, t in enumerate(p.shared)]
    body += [f"__align__(16) {writer.element_type(t)} {name}[{len(t.data)}];" for name, t in writer.registers.values()]
    for block in blocks:
        lines = [line.replace("{int}", kind).replace("{barrier}", "__syncthreads();") for line in block.lines]
        if block.threads:
            lines = [lines[0], "{", *(f"    {line}" for line in lines[1:]), "}"]
        body += [f"{'    ' * block.indent}{line}" for line in lines]
    before = f'extern "C" __global__ void __launch_bounds__({p.threads}, 1)'
    form = Form([], before, "static __device__ __forceinline__", kind)
    return parts.source(writer, body, form, after=_launch(parts, writer, kind))


def _launch(parts: Parts, writer: Writer, kind: str) -> Callable[[list[str], list[str]], list[str]]:
    """The lines of the host's function that launches the kernel: it refuses sizes that break a condition, and needs no block for none."""
    p, name = parts.program, parts.name
    grid = writer.values(p.grid)

    def lines(parameters: list[str], required: list[str]) -> list[str]:
        refused = [f"if (!{name}_requires({', '.join(required)})) return cudaErrorInvalidValue;"] if required else []
        blocks = [grid.of(n) for n in p.grid]
        body = [
            *refused,
            *(line.format(int=kind) for line in grid.lines),
            f"if ({' || '.join(f'{n} == 0' for n in blocks)}) return cudaSuccess;",
            f"{name}<<<dim3({', '.join(blocks)}), {p.threads}, 0, stream>>>({', '.join(parts.order)});",
            "return cudaGetLastError();",
        ]
        head = f"static inline cudaError_t {name}_launch({', '.join([*parameters, 'cudaStream_t stream'])}) {{"
        return ["#ifndef __CUDACC_RTC__", head, *(f"    {line}" for line in body), "}", "#endif"]

    return lines
