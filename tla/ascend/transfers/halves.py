"""An accumulator to the unified buffers of two vector cores at once: the first half of its rows, or columns, to one,
the rest to the other.

Fixpipe with dualDstCtl writes both halves to the same place of their buffers. So it is two instructions, one for each
vector core, and each is proved by itself.

Source: CATLASS `CopyL0CToUBTla` with `CopyL0CToUBMode` SPLIT_M and SPLIT_N.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import modes_of, quoted, shown
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, larger, smaller
from ..architecture import Architecture
from .instruction import TransferInstruction
from .moved import ROWS
from .open_proof import require_lawful_for_all
from .proof import require_lawful
from .side import Side, plain

#: How an accumulator is split -> the mode, what its size is rounded to, the value of dualDstCtl, and the field
#: of its size.
SPLITS = {"SPLIT_M": (0, 2, 1, "mSize"), "SPLIT_N": (1, 32, 2, "nSize")}


def to_both(
    split: str, src: Side, dst: Side, settings: Mapping[str, str], arch: Architecture
) -> tuple[TransferInstruction, tuple[int, int]]:
    """The Fixpipe of both halves, and the bytes that are written and read behind the tiles.

    src, dst   the accumulator, and the tile of one vector core, at the same place in both

    Raises LeafTypeError for another split, RangeError for a tile that does not hold half.
    """
    if split not in SPLITS:
        what = f"split={quoted(split, 40)} of a transfer"
        raise LeafTypeError(what, f"one of {', '.join(SPLITS)}", 'write split="SPLIT_M"')
    mode, _unit, value, field = SPLITS[split]
    half, c0 = half_of(split, src.valid[mode]), int(dst.element.C0)
    whole = 2 * half
    wanted = tuple(smaller(half, n) if i == mode else n for i, n in enumerate(src.valid))
    if dst.valid != wanted:
        what = f"{shown(src.valid)} accumulators in halves into a tile of {shown(dst.valid)}"
        raise RangeError(what, f"{shown(wanted)}, for each vector core", f"make dst a tile of {shown(wanted)}")
    if dst.outer(0) % c0 or (mode == 1 and dst.outer(0) < half):
        least = max(half if mode else 0, ceil_div(dst.valid[1], c0) * c0)
        expected = "whole blocks of 32 bytes, with room for half of the columns"
        raise RangeError(f"rows of UB that are {dst.outer(0)} elements apart", expected, f"lay it out with ld={least}")
    fields = {"nSize": ceil_div(src.valid[1], c0) * c0, "mSize": src.valid[0]}
    fields |= {"srcStride": src.outer(1) // src.inner(0), field: whole, "dstStride": dst.outer(0)}
    fields |= {"channelSplit": 0, "dualDstCtl": value}
    made = TransferInstruction("FixpipeC310", dst.at, src.at, fields, dst.element, "CFG_ROW_MAJOR_UB", settings)
    made.require_fields()
    if src.symbols or dst.symbols:
        both = [
            require_lawful_for_all((one,), ("L0C", "UB"), a, b, arch) for one, a, b in _wholes(made, src, dst, mode)
        ]
        written, read = (larger(*n) for n in zip(*both))
        return made, (written, read)
    behind = [(0, 0)]
    for one, a, b in _halves(made, src, dst, mode, half):
        behind.append(require_lawful((one,), ("L0C", "UB"), a, b, arch))
    written, read = (max(n) for n in zip(*behind))
    over = half - int(dst.room[mode])  # of the last row; of rows all, where there are fewer
    steps = max(0, over) * (1 if mode else int(dst.outer(0)))
    return made, (written + steps * dst.element.bits // 8, read)


def half_of(split: str, n: Any) -> Any:
    """The rows, or the columns, that each vector core is given of n: of columns whole blocks of 16."""
    _mode, unit, _value, _field = SPLITS[split]
    return ceil_div(n, unit) * (unit // 2)


def parts_of(i: TransferInstruction) -> tuple[TransferInstruction, ...]:
    """Take an instruction apart into that of each vector core; itself where it has one destination.

    Columns of 16 accumulators are srcStride * 16 elements apart in L0C, rows 16.
    """
    value = i.parameters.get("dualDstCtl", 0)
    for mode, _unit, known, field in SPLITS.values():
        if value == known:
            half, kept = i.parameters[field] // 2, {k: v for k, v in i.parameters.items() if k != "dualDstCtl"}
            step = half * (i.parameters["srcStride"] if mode else ROWS)
            return tuple(replace(i, src=i.src + n * step, parameters={**kept, field: half}) for n in range(2))
    return (i,)


def _halves(
    made: TransferInstruction, src: Side, dst: Side, mode: int, half: int
) -> list[tuple[TransferInstruction, Side, Side]]:
    """Each vector core's part of an instruction, with the tiles of its half, where that has valid elements."""
    found = []
    field = ("mSize", "nSize")[mode]
    fields = {**{name: n for name, n in made.parameters.items() if name != "dualDstCtl"}, field: half}
    for i in range(2):
        left = min(half, src.valid[mode] - i * half)
        if left <= 0:
            continue
        start = tuple(s + i * half * (m == mode) for m, s in enumerate(src.start))
        at = src.base + plain(src.layout(start))
        valid = tuple(left if m == mode else n for m, n in enumerate(src.valid))
        one = replace(made, src=at, parameters=fields)
        room = tuple(larger(n, half) if m == mode else n for m, n in enumerate(dst.room))  # the instruction writes half
        found.append((one, src._replace(start=start, at=at, valid=valid), dst._replace(valid=valid, room=room)))
    return found


def _wholes(
    made: TransferInstruction, src: Side, dst: Side, mode: int
) -> Iterator[tuple[TransferInstruction, Side, Side]]:
    """Each vector core's part of an instruction of unknown sizes, with tiles of all that it moves: half, valid or not.

    Rows of accumulators are 16 elements apart, from block to block too: so the second half may begin inside of a block.
    """
    flat = src._replace(layout=_in_rows(src.layout))
    for i, one in enumerate(parts_of(made)):
        half = one.parameters[("mSize", "nSize")[mode]]
        start = tuple(s + i * half if m == mode else s for m, s in enumerate(src.start))
        valid = tuple(half if m == mode else n for m, n in enumerate(src.valid))
        yield one, flat._replace(start=start, at=src.base + flat.layout(start), valid=valid), dst._replace(valid=valid)


def _in_rows(layout: Layout) -> Layout:
    """The layout of accumulators whose rows are one mode without blocks."""
    (rows, columns), (steps, others) = modes_of(layout.shape), modes_of(layout.stride)
    (inner, count), (step, outer) = rows, steps
    assert outer == inner * step, "accumulators lie in blocks of rows, one behind the other"
    return Layout((inner * count, columns), (step, others), layout.origin_shape)
