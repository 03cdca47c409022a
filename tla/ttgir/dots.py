"""The matrix products of a program: their sizes, how often they run, and where their operands come from."""

from __future__ import annotations

from typing import NamedTuple

from ..linear.triton import DotOperandLayout, NVMMASharedLayout, TensorMemoryLayout, Typed
from .costs import Costs, allocated
from .cute_products import product
from .loops import Size
from .program import Op

_DOTS = ("tt.dot", "tt.dot_scaled", "ttng.warp_group_dot", "ttng.tc_gen5_mma", "ttng.tc_gen5_mma_scaled")


class Dot(NamedTuple):
    """A matrix product of an m by k tile and a k by n tile.

    op        the operation
    times     how often it runs in one instance of the program
    shape     m, n, k
    operands  where a and b come from: registers and kWidth, or shared memory and its swizzle, or tensor memory

    >>> Dot(None, 4, (64, 64, 16), ("registers, kWidth 2", "registers, kWidth 2")).shape
    (64, 64, 16)
    """

    op: Op
    times: Size
    shape: tuple[int, int, int]
    operands: tuple[str, str]


def dots(found: Costs) -> tuple[Dot, ...]:
    """List the matrix products of a program, in the order of the text.

    >>> from tla.ttgir import costs, program_of
    >>> operand = "#ttg.dot_op<{opIdx = %d, parent = #mma, kWidth = 2}>"
    >>> a, b = (f"tensor<{shape}xf16, {operand % k}>" for k, shape in enumerate(("64x16", "16x32")))
    >>> text = f'''
    ... #mma = #ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}}>
    ... %d = tt.dot %a, %b, %c : {a} * {b} -> tensor<64x32xf32, #mma>'''
    >>> (only,) = dots(costs(program_of(text), target="cuda:80"))
    >>> only.shape, only.operands[0]
    ((64, 32, 16), 'registers, kWidth 2')
    """
    result = list[Dot]()
    for op in (op for op in found.program.ops if not found.loops.is_dead(op)):
        if op.name == "cute.gemm" and (one := product(found.program, op)) is not None:
            result.append(Dot(op, found.loops.times(op), one.shape, one.operands))
        if op.name in _DOTS and len(op.operand_types) > 1:
            a, b = (found.program.typed(allocated(t)) for t in op.operand_types[:2])
            if min(len(a.shape), len(b.shape)) > 1:
                result.append(
                    Dot(op, found.loops.times(op), (a.shape[-2], b.shape[-1], a.shape[-1]), (_origin(a), _origin(b)))
                )
    return tuple(result)


def _origin(typed: Typed) -> str:
    """The memory that an operand is in, and how it lies there."""
    layout = typed.layout
    if isinstance(layout, NVMMASharedLayout):
        turned = ", transposed" if layout.transposed else ""
        return f"shared memory, {layout.swizzle_byte_width}-byte swizzle{turned}"
    if isinstance(layout, TensorMemoryLayout):
        return "tensor memory"
    if isinstance(layout, DotOperandLayout) and layout.k_width:
        return f"registers, kWidth {layout.k_width}"
    return "shared memory" if "offset" in typed.linear.get_in_dim_names() else "registers"
