"""The right operand of a 4:2 sparse product to L0B: what is stored of it, and beside it which elements that are.

Of each four rows two are stored, and two bits for each say which: four of these are a byte of the index, first the
lowest bits. LoadDataWithSparse moves a fractal of 32 by 16 stored elements with the 128 bytes of its index, which lie
in blocks of 8 by 16 bytes.

Source: AscendC `LoadDataWithSparse`, `MmadWithSparse`; CATLASS `CopyL1ToL0BSparseTla`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...core import element as types
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import quoted, shown
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most, divides, equal
from ...tensors.tensor import Tensor
from .. import tags
from ..architecture import Architecture, position_of
from ..recognize import Is
from .cube import fractals
from .instruction import TransferInstruction
from .moved import ROWS
from .open_proof import require_lawful_for_all
from .proof import require_lawful, require_place
from .side import Side, side_of
from .steps import Step, all_of, changed

#: The bytes of a fractal, and of its index: a byte for four elements.
FRACTAL, STORED = 512, 4


def to_l0b(src: Side, dst: Side, index: Tensor, arch: Architecture) -> tuple[tuple[Step, ...], tuple[Any, Any]]:
    """The instructions that move stored elements with their index, and the bytes that are written and read
    behind the tiles.

    index   a tensor at L1 of (k / 8, n) bytes in nZ blocks of 8 by 16: MakeLayout[int32, nZ](k // 8, n)

    Raises LeafTypeError for other types, layouts and positions; RangeError for an index of another size, or with gaps;
    Unproven for sizes that are not known, where the index does not lie as the elements do.
    """
    beside = _index(src, dst, index, arch)
    steps = tuple(fractals(transposes=False)(src, dst))
    if src.symbols or dst.symbols or beside.symbols:
        _require_alike(src, beside)
        found = tuple(_with_index_alike(steps, src, beside))
        for step in all_of(found):
            step.require_fields()
        return found, require_lawful_for_all(found, ("L1", "L0B"), src, dst, arch)
    made = tuple(_with_index(steps, dst, beside))
    for i in made:
        i.require_fields()
    behind = require_lawful(made, ("L1", "L0B"), src, dst, arch)
    _require_beside(made, dst, beside)
    return made, behind


def _index(src: Side, dst: Side, index: Tensor, arch: Architecture) -> Side:
    """The index as one end of a transfer, in bytes."""
    nZ = Is(tags.nZ)
    if src.element != types.int8 or "AtlasA" not in arch.name or nZ[types.int8](src.layout) is not True:
        what = f"a transfer with an index of {src.element} on {arch}, from {shown(src.layout)}"
        raise LeafTypeError(what, "int8 on AtlasA2 or AtlasA3, from nZ to nZ", "leave out index=")
    if position_of(index.position) != "L1" or nZ[types.int32](index.layout) is not True:
        fix = "make it with MakeLayout[int32, nZ](k // 8, n)"
        raise LeafTypeError(f"index={quoted(index, 60)}", "a tensor at L1, bytes in nZ blocks of 8 by 16", fix)
    beside = side_of(index, types.uint8)
    require_place("L1", beside, arch)
    wanted = ceil_div(dst.valid[0], STORED), dst.valid[1]
    if any(at_most(n, have) is not True for have, n in zip(beside.valid, wanted)):
        what = f"an index of {shown(beside.valid)} bytes"
        raise RangeError(what, f"{shown(wanted)}: one for four rows", "make the index larger")
    return beside


def _require_alike(src: Side, beside: Side) -> None:
    """Unproven for an index that does not lie as the elements do, a byte for four of them, in whole blocks: there the
    place of a fractal's part follows from the fractal's."""
    alike = all(equal(STORED * beside.outer(mode), src.outer(mode)) is True for mode in (0, 1))
    whole = all(divides(unit, start) is True for unit, start in zip((FRACTAL // STORED // ROWS, ROWS), beside.start))
    if not (alike and whole and equal(src.outer(1), FRACTAL)):
        what = f"an index {shown(beside.layout)} beside {shown(src.layout)}, of sizes that are not known"
        raise Unproven(what, "an index that lies as the elements do", "take both from layouts of the same sizes")


def _with_index_alike(steps: Iterable[Step], src: Side, beside: Side) -> Iterator[Step]:
    """Steps of fractals, each with the place of its index, which lies as they do."""

    def one(i: TransferInstruction) -> TransferInstruction:
        at = beside.at + (i.src - src.at) // STORED
        return replace(i, name="LoadDataWithSparse", parameters={**i.parameters, "index": at})

    return changed(steps, one)


def _with_index(steps: Iterable[Step], dst: Side, beside: Side) -> Iterator[TransferInstruction]:
    """Runs of fractals, each with the place of its index."""
    for step in steps:
        assert isinstance(step, TransferInstruction)
        row = (step.dst - dst.at) // dst.outer(0) if dst.blocks(0) > 1 else 0
        at = beside.at + row * beside.outer(0)
        yield replace(step, name="LoadDataWithSparse", parameters={**step.parameters, "index": at})


def _require_beside(made: tuple[TransferInstruction, ...], dst: Side, beside: Side) -> None:
    """Require that each stored element has its own byte of the index beside it, and its own two bits there."""
    import numpy as np

    runs = ((i, r) for i in made for r in range(i.parameters["repeatTimes"]))
    begins = {i.dst // FRACTAL + r: i.parameters["index"] + r * FRACTAL // STORED for i, r in runs}
    rows, columns = np.ogrid[: dst.valid[0] : STORED, : dst.valid[1]]
    at = dst.layout(rows + dst.start[0], columns + dst.start[1])
    places = dst.base + np.broadcast_to(at, (rows.size, columns.size))
    fractal = np.vectorize(begins.__getitem__, otypes=[np.int64])(places // FRACTAL)
    read = fractal + places % FRACTAL // STORED
    wrong = np.argwhere(read != beside.offsets((rows.size, columns.size)))
    if wrong.size:
        coord = shown(tuple(map(int, wrong[0])))
        what = f"LoadDataWithSparse: byte {coord} of the index is not beside its elements"
        raise Unproven(what, "an index with the gaps of B", "lay it out so")
