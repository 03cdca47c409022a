"""Mistakes in a program: memory read by another layout than it was written by, operands and copies that
no instruction takes.

Source: Triton 3.9's verifiers of dots; the PTX manual on cp.async and wgmma.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..core.errors import TlaError
from ..linear.triton import DotOperandLayout, NVMMASharedLayout, Typed
from .costs import Costs, allocated
from .cute_bulk import refused_maps
from .cute_products import refused_operands
from .memories import COPY, allocations, written_by
from .program import Op

_REINTERPRET = "ttg.memdesc_reinterpret"
#: cp.async copies 4, 8 or 16 bytes; AMD's loads to LDS 4 bytes or, on gfx950, 12 or 16.
_COPY_BITS = {"cuda": (32, 64, 128), "hip:gfx950": (32, 96, 128), "hip": (32,)}


class Fault(NamedTuple):
    """A mistake in a program.

    kind   layouts, dot or copy
    op     the operation
    what   is wrong
    fix    mends it

    >>> Fault("copy", None, "accesses of 16 bits", "give threads more elements in a row").kind
    'copy'
    """

    kind: str
    op: Op
    what: str
    fix: str


def faults(found: Costs) -> tuple[Fault, ...]:
    """Find mistakes in a program, in the order of the text.

    >>> from tla.ttgir import costs, program_of
    >>> plain, swizzled = (
    ...     f"!ttg.memdesc<8x64xf16, #ttg.swizzled_shared<{{vec = 8, perPhase = 1, maxPhase = {n}, order = [1, 0]}}>, #smem, mutable>"
    ...     for n in (1, 8)
    ... )
    >>> text = f'''
    ... #rows = #ttg.blocked<{{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}}>
    ... %m = ttg.local_alloc %x : (tensor<8x64xf16, #rows>) -> {swizzled}
    ... %v = ttg.memdesc_reinterpret %m : {swizzled} -> {plain}
    ... %y = ttg.local_load %v : {plain} -> tensor<8x64xf16, #rows>'''
    >>> faults(costs(program_of(text), target="cuda:80"))[0].what
    'written as one layout, read as another: at offset 64 the one has (1, 8), the other (1, 0)'
    """
    checks = (_other_layouts, _dots, _copies, _of_cute)
    return tuple(sorted((fault for check in checks for fault in check(found)), key=lambda fault: fault.op.line))


# ------------------------------------------------------------------------------------------------ writers and readers


def _other_layouts(found: Costs) -> Iterator[Fault]:
    """Views of memory by another layout that are read, and that nothing was written by."""
    program = found.program
    memory = allocations(program)
    written = {memory.get(name, name) for op in program.ops for name in written_by(op)}
    for op in program.ops:
        if op.name != _REINTERPRET or not op.operands:
            continue
        if op.results[0] in written or memory.get(op.operands[0]) not in written:
            continue
        if where := _differ(found, op):
            fix = f"read {op.operands[0]} as it was written, {op.operand_types[0]}, or write it as {op.result_types[0]}"
            yield Fault("layouts", op, f"written as one layout, read as another: {where}", fix)


def _differ(found: Costs, op: Op) -> str:
    """The first offset at which two views of a memory have other elements; nothing where they are one, or not
    to be compared."""
    try:
        a, b = (found.program.typed(allocated(text)) for text in (op.operand_types[0], op.result_types[0]))
        if (a.shape, a.bits) != (b.shape, b.bits):
            return ""
        one, other = (typed.linear.bases["offset"] for typed in (a, b))
    except (TlaError, IndexError, KeyError):
        return ""
    k = next((k for k, (x, y) in enumerate(zip(one, other)) if x != y), None)
    return "" if k is None else f"at offset {1 << k} the one has {_place(one[k])}, the other {_place(other[k])}"


def _place(element: tuple[int, ...]) -> str:
    return f"({', '.join(map(str, element))})"


# --------------------------------------------------------------------------------------------------------------- dots


def _dots(found: Costs) -> Iterator[Fault]:
    for op in found.program.ops:
        if op.name in ("tt.dot", "ttng.warp_group_dot") and len(op.operand_types) > 1 and len(op.result_types) == 1:
            try:
                operands = [found.program.typed(allocated(text)) for text in op.operand_types[:2]]
                result = found.program.typed(op.result_types[0])
            except TlaError:  # a layout that is not known
                continue
            check = _operands if op.name == "tt.dot" else _of_warp_groups
            yield from (Fault("dot", op, what, fix) for what, fix in check(operands, result))


def _operands(operands: list[Typed], result: Typed) -> Iterator[tuple[str, str]]:
    """Say what a dot of registers does not take."""
    layouts = [typed.layout for typed in operands]
    if not all(isinstance(layout, DotOperandLayout) for layout in layouts):
        return
    a, b = layouts
    if (a.operand_index, b.operand_index) != (0, 1):
        what = f"operands a and b have opIdx {a.operand_index} and {b.operand_index}"
        yield what, "give a opIdx = 0, and b opIdx = 1"
    if a.parent != result.layout or b.parent != result.layout:
        yield "an operand's parent is not the layout of the result", "give both operands the result's layout as parent"
    elif a.k_width != b.k_width:
        what = f"kWidth {a.k_width} of a and {b.k_width} of b: lanes multiply elements of other k"
        yield what, "give both operands one kWidth"


def _of_warp_groups(operands: list[Typed], result: Typed) -> Iterator[tuple[str, str]]:
    """Say what wgmma does not take of operands in shared memory."""
    for name, typed in zip("ab", operands):
        if typed.linear.has_in_dim("offset"):
            width = typed.bits or 0
            layout = typed.layout if isinstance(typed.layout, NVMMASharedLayout) else _matrix_layout(typed)
            if layout is None:
                yield f"operand {name} lies in no layout of wgmma's", "give it #ttg.nvmma_shared"
            elif layout.element_bitwidth != width:
                what = f"operand {name} of {width} bits in a layout of {layout.element_bitwidth}"
                yield what, f"write elementBitWidth = {width}"
            elif width != 16 and layout.transposed != (name == "b"):
                what = f"operand {name} of {width} bits is not contiguous along k"
                yield what, "wgmma transposes 16 bits only: store it along k"


def _matrix_layout(typed: Typed) -> NVMMASharedLayout | None:
    """The layout of matrix instructions that is the same map; None where there is none."""
    for width in (0, 32, 64, 128):
        for transposed in (False, True):
            try:
                layout = NVMMASharedLayout(width, typed.bits or 0, 2, transposed)
                if layout.linear(typed.shape).bases == typed.linear.bases:
                    return layout
            except TlaError:  # a tile that is narrower than the swizzle
                continue
    return None


# ------------------------------------------------------------------------------------------------------------- copies


def _copies(found: Costs) -> Iterator[Fault]:
    """Asynchronous copies whose accesses are of a width that there is no instruction of."""
    target = found.machine.name
    widths = next(widths for prefix, widths in _COPY_BITS.items() if target.startswith(prefix))
    for row in found.rows:
        if row.op.name == COPY and row.parts and row.parts[0].vector not in widths:
            what = f"copies of {row.parts[0].vector} bits: there are those of {', '.join(map(str, widths))}"
            fix = "give each thread more elements that follow on one another in both memories"
            yield Fault("copy", row.op, what, fix)


def _of_cute(found: Costs) -> Iterator[Fault]:
    """Operands of CuTe's DSL that no instruction reads, and tensor maps that the TMA does not take."""
    for kind, check in (("dot", refused_operands), ("copy", refused_maps)):
        yield from (Fault(kind, op, reason.what, reason.fix) for op, reason in check(found.program))
