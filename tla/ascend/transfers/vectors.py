"""Plans for rows and vectors: the unified buffer, the biases, and the scales of Fixpipe.

Source: CATLASS include/catlass/epilogue/tile, and gemm/tile: copy_l1_to_bt.hpp, copy_l1_to_fp.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.ints import Leaf
from ...core.leaf_arithmetic import ceil_div, larger
from ..element import CPP_NAMES
from .cube import Plan
from .instruction import TransferInstruction
from .moved import gap_of
from .side import Side
from .steps import Step, choose, repeat

_PADDING = ", AscendC::DataCopyPadExtParams<{}>({}, 0, {}, 0)"


def rows(form: str, pad: bool = False) -> Plan:
    """Rows of bytes between global memory and UB; `pad` sets what is left of a row's last 32 bytes to 0."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        valid = src.valid if form == "to UB" else dst.valid
        high, wide = valid if len(valid) == 2 else (1, valid[0])
        size = src.element.bits // 8
        steps = (side.outer(0) if len(valid) == 2 else wide for side in (src, dst))
        gaps = {name: larger(0, step - wide) for name, step in zip(("srcStride", "dstStride"), steps)}
        inside = "dstStride" if form == "to UB" else "srcStride"
        fields = {"blockCount": high, "blockLen": wide * size}
        fields |= {gap: gap_of(n * size // 32 if gap == inside else n * size, high, 2**32) for gap, n in gaps.items()}
        fields |= {"rightPadding": -wide % int(src.element.C0)} if pad else {}
        settings = {"After": _PADDING.format(CPP_NAMES.get(src.element.name, "Element"), str(pad).lower(), fields.get("rightPadding", 0))}
        yield TransferInstruction("DataCopyPad", dst.at, src.at, fields, src.element, form, settings if form == "to UB" else {})

    return plan


def vector(unit: int, even: bool = False) -> Plan:
    """One burst, in blocks of `unit` bytes; of an even length where 32-bit elements ask for it."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        length = ceil_div(src.valid[0] * src.element.bits, 8 * unit)
        length += length % 2 if even and src.element.bits == 32 else 0
        fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
        yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element, "" if unit == 32 else str(unit))

    return plan


def rows_to_blocks(src: Side, dst: Side) -> Iterator[Step]:
    """Rows of UB into blocks of L1: a row, or a column of blocks, at a time, whichever are fewer."""
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
    yield TransferInstruction("DataCopy", dst.at, src.at, {"blockCount": src.blocks(1), "blockLen": high, **gaps}, src.element)
