"""Plans for rows and vectors: the unified buffer, the biases, and the scales of Fixpipe.

Source: CATLASS include/catlass/epilogue/tile, and gemm/tile: copy_l1_to_bt.hpp, copy_l1_to_fp.hpp; inside of UB
AscendC `DataCopy` with DataCopyParams, VECIN to VECCALC and VECCALC to VECOUT.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from ...core.errors import RangeError, Unproven
from ...core.ints import Leaf
from ...core.leaf_arithmetic import ceil_div, larger
from ...core.questions import at_most, require
from ..element import CPP_NAMES
from .cube import Plan
from .instruction import TransferInstruction
from .moved import gap_of, gaps_of
from .side import Side, plain
from .steps import Step, choose, repeat

_PADDING = ", AscendC::DataCopyPadExtParams<{}>({}, 0, {}, 0)"


def rows(form: str, pad: bool = False, along: int = 1) -> Plan:
    """Rows of bytes between global memory and UB, along the mode `along`; `pad` fills a row's last 32 bytes with 0."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        valid = src.valid if form == "to UB" else dst.valid
        high, wide = (valid[1 - along], valid[along]) if len(valid) == 2 else (1, valid[0])
        size = src.element.bits // 8
        steps = (side.outer(1 - along) if len(valid) == 2 else wide for side in (src, dst))
        gaps = {name: larger(0, step - wide) for name, step in zip(("srcStride", "dstStride"), steps)}
        inside = "dstStride" if form == "to UB" else "srcStride"
        fields = {"blockCount": high, "blockLen": wide * size}
        fields |= {gap: gap_of(n * size // 32 if gap == inside else n * size, high, 2**32) for gap, n in gaps.items()}
        fields |= {"rightPadding": -wide % int(src.element.C0)} if pad else {}
        kind, right = CPP_NAMES.get(src.element.name, "Element"), fields.get("rightPadding", 0)
        settings = {"After": _PADDING.format(kind, str(pad).lower(), right)} if form == "to UB" else {}
        yield TransferInstruction("DataCopyPad", dst.at, src.at, fields, src.element, form, settings)

    return plan


def rows_inside(along: int = 1) -> Plan:
    """Rows of UB to rows of UB along the mode `along`, in bursts of whole blocks of 32 bytes."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        c0 = int(src.element.C0)
        high, wide = (src.valid[1 - along], src.valid[along]) if len(src.valid) == 2 else (1, src.valid[0])
        length = ceil_div(wide, c0)
        steps = [length * c0] * 2 if len(src.valid) == 1 else [side.outer(1 - along) for side in (src, dst)]
        for step in steps if not at_most(high, 1) else ():
            if not require("divides", c0, step, lambda step=step: f"rows of UB that are {step} elements apart"):  # type: ignore[misc]
                what = f"rows of UB that are {step} elements apart, {step * src.element.bits // 8} bytes"
                raise RangeError(what, "whole blocks of 32 bytes", f"lay them out with ld={ceil_div(step, c0) * c0}")
        fields = {"blockCount": high, "blockLen": length, **gaps_of((steps[0] // c0, steps[1] // c0), length, high)}
        yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element)

    return plan


def rows_to_padded(src: Side, dst: Side) -> Iterator[Step]:
    """Rows of UB into a matrix of padded blocks in global memory: the part of each block by itself."""
    if src.symbols or dst.symbols:
        expected = "sizes that are known: how many blocks there are"
        raise Unproven(f"rows into blocks of {dst.layout}", expected, "make the layouts of numbers")
    size, step = src.element.bits // 8, src.outer(0)
    parts = [[*_parts(dst.start[mode], dst.valid[mode], dst.block(mode))] for mode in (0, 1)]
    for (row, high), (column, wide) in itertools.product(*parts):
        at = plain(dst.layout((dst.start[0] + row, dst.start[1] + column))) + dst.base
        gaps = {"srcStride": (step - wide) * size // 32, "dstStride": (dst.inner(0) - wide) * size}
        fields = {"blockCount": high, "blockLen": wide * size}
        fields |= {name: gap_of(gap, high, 2**32) for name, gap in gaps.items()}
        yield TransferInstruction("DataCopyPad", at, src.at + row * step + column, fields, src.element, "to GM")


def _parts(start: int, size: int, block: int) -> Iterator[tuple[int, int]]:
    """The parts of a run that lie in one block each: where they begin in the run, and how long they are."""
    at = 0
    while at < size:
        length = min(size - at, block - (start + at) % block)
        yield at, length
        at += length


def vector(unit: int, even: bool = False) -> Plan:
    """One burst, in blocks of `unit` bytes; of an even length where 32-bit elements ask for it."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        pairs = 2 if even and src.element.bits == 32 else 1
        length = ceil_div(src.valid[0] * src.element.bits, 8 * unit * pairs) * pairs
        fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
        yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element, "" if unit == 32 else str(unit))

    return plan


def rows_to_blocks(src: Side, dst: Side) -> Iterator[Step]:
    """Rows of UB into blocks of L1, or of UB: a row, or a column of blocks, at a time, whichever are fewer."""
    c0 = int(src.element.C0)
    high, wide = src.valid[0], ceil_div(src.valid[1], c0)
    c0_step = dst.outer(1) // c0
    by_rows = {"blockCount": wide, "blockLen": 1, "srcStride": 0, "dstStride": c0_step - 1}
    by_columns = {"blockCount": high, "blockLen": 1, "srcStride": larger(0, src.outer(0) // c0 - 1), "dstStride": 0}

    def row(i: Any) -> TransferInstruction:
        return TransferInstruction("DataCopy", dst.at + i * c0, src.at + i * src.outer(0), by_rows, src.element)

    def column(i: Leaf) -> TransferInstruction:
        return TransferInstruction("DataCopy", dst.at + i * c0_step * c0, src.at + i * c0, by_columns, src.element)

    yield from choose(high < wide, repeat(high, row, src, dst), repeat(wide, column, src, dst))


def blocks_to_blocks(src: Side, dst: Side) -> Iterator[Step]:
    """Columns of blocks from UB, whose rows need not be whole blocks of 16, to L1."""
    c0, high = int(src.element.C0), src.valid[0]
    gaps = {"srcStride": src.outer(1) // c0 - high, "dstStride": dst.outer(1) // c0 - high}
    fields = {"blockCount": src.blocks(1), "blockLen": high, **gaps}
    yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element)
