"""The scales of MX types in a block: where they lie, how they come beside the operands, and the zeros behind k.

A scale is an e8m0 for 32 elements along k. Scales lie in pairs, so that a product takes whole 64 of k: what is left of
the last 64 are zeros, and in global memory the second scale of a last pair has to be a number. L0A and L0B have
their scales beside them, in memories of their own at a sixteenth of the address. A `plan` is the Plan of block.py, which stands on this.

Source: CATLASS `BlockMmadTla` of MmadMx (block_mmad_mx_tla.hpp); OCP Microscaling Formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.element import Element, fp8_e8m0
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import leaves, modes_of, quoted
from ...core.ints import known
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import divides
from ...core.values import require_numbers
from ...tensors.views import GetTile
from .. import tags
from ..architecture import Architecture
from ..tags import Tag
from ..transfers.instruction import TransferInstruction
from ..transfers.side import plain, tensor_at
from .mmad import MX_BLOCK, MX_PAIR, MX_TYPES
from .statements import Buffer, Fill

#: The tag of the scales of a matrix in global memory, by its own tag; and in L1, L0AMx and L0BMx.
_IN_GM: dict[tuple[str, Tag], Tag] = {
    ("A", tags.RowMajor): tags.MxScaleRowMajorA,
    ("A", tags.ColumnMajor): tags.MxScaleColumnMajorA,
    ("B", tags.RowMajor): tags.MxScaleRowMajorB,
    ("B", tags.ColumnMajor): tags.MxScaleColumnMajorB,
}
_IN_CORE: dict[str, Tag] = {"A": tags.MxScalezZ, "B": tags.MxScalenN}


def require_scales(
    arch: Architecture, k: Any, a: tuple[Element, Tag], b: tuple[Element, Tag], depths: tuple[int, int]
) -> None:
    """LeafTypeError for types and tags whose scales no instruction moves; RangeError for an odd k of elements in pairs,
    and for tiles of k in no whole 64.

    depths   of the tiles along k, in L1 and in L0
    """
    for which, (element, tag) in (("A", a), ("B", b)):
        if element.name not in MX_TYPES or "AtlasA" in arch.name or (which, tag) not in _IN_GM:
            what = f"scales of {which}: {element} of the tag {tag} on {arch}"
            expected = f"{', '.join(sorted(MX_TYPES))}, RowMajor or ColumnMajor, on Ascend950"
            raise LeafTypeError(what, expected, f"leave out scales=True, or write {which.lower()}=(fp8_e4m3, RowMajor)")
        if element.group > 1 and divides(element.group, k) is not True:
            what = f"scales of {which}: {k} of k, of {element}, which come in pairs"
            expected = "an even k: the other half of a byte is no zero"
            fix = f"lay it out with k = {k + 1}" if known(k) is not None else f'write dim("{k}", multiple_of=2)'
            raise RangeError(what, expected, fix)
    if any(n % MX_PAIR for n in depths):
        near = tuple(-(-n // MX_PAIR) * MX_PAIR for n in depths)
        what = f"tiles of {depths[0]} along k in L1, and {depths[1]} in L0, with scales"
        raise RangeError(what, f"multiples of {MX_PAIR}: whole pairs of scales", f"take {near[0]} and {near[1]}")


def scales_in_gm(which: str, tag: Tag, other: Any, k: Any) -> Layout:
    """The layout of the scales of A, (m, k / 32), or of B, (k / 32, n), in global memory: whole pairs."""
    return _IN_GM[which, tag].MakeLayout(fp8_e8m0, *_sides(which, other, _pairs(k)))


def padded_scales(problem: tuple[int, int, int], wanted: bool, given: Any) -> dict[str, Any]:
    """The scales of A and B as they lie in global memory, in whole pairs: what is behind the last is 1.

    RangeError for scales without need, none where there have to be, and for arrays of other sizes.
    """
    import numpy as np

    if wanted is not (given is not None):
        what = "no scales for a block with them" if wanted else "scales for a block without them"
        raise RangeError(what, f"scales={'(those of A, those of B)' if wanted else 'None'}", "make the block so")
    if given is None:
        return {}
    if not isinstance(given, (tuple, list)) or len(given) != 2:
        raise RangeError(
            f"scales={quoted(given, 40)}", "a pair: the scales of A, and those of B", "write scales=(x, y)"
        )
    (m, n, k), found = problem, {}
    blocks = -(-k // MX_BLOCK)
    for name, x, sizes in zip(("scaleA", "scaleB"), given, ((m, blocks), (blocks, n))):
        x = np.asarray(x, np.float64)
        if x.shape != sizes:
            raise RangeError(f"{name} of the shape {x.shape}", f"{sizes}: one for {MX_BLOCK} of k", "give all scales")
        require_numbers(name, x, fp8_e8m0)
        more = (0, blocks % 2) if name == "scaleA" else (blocks % 2, 0)
        found[name] = np.pad(x, [(0, n) for n in more], constant_values=1)
    return found


def scale_buffers(plan: Any, l0: dict[str, Buffer]) -> Iterator[Buffer]:
    """The buffers of scales beside those of L0A and L0B."""
    (m, n, _), (_, _, k) = plan.tiling.l1, plan.tiling.l0
    for which, other in (("A", m), ("B", n)):
        layout = _in_core(which, other, k)
        for i in range(plan.tiling.stages[f"L0{which}"]):
            at = l0[f"l0{which}{i}"].address // 16
            yield Buffer(f"l0{which}Mx{i}", f"L0{which}Mx", fp8_e8m0, layout, at)


def scale_rows(plan: Any) -> Iterator[tuple[str, str, Element, Layout, str]]:
    """The rows of buffers of scales in L1."""
    m, n, k = plan.tiling.l1
    for which, other in (("A", m), ("B", n)):
        yield f"l1Scale{which}", "L1", fp8_e8m0, _in_core(which, other, k), "L1"


def load_scales(
    plan: Any, which: str, start: tuple[Any, Any], other: Any, k: Any, depth: Any = None
) -> tuple[TransferInstruction, ...]:
    """The instructions that move the scales of a tile to L1.

    start   of the tile: across k, and along k;  other, k   its sizes, across and along k [elements of the matrix]
    depth   the size of the matrix along k, None for that of its layout
    """
    x, (m, n, deep) = (plan.a, plan.b)[which == "B"], plan.tiling.l1
    sizes = require_origin(which, x.layout)
    across, along = (sizes[0], sizes[1]) if which == "A" else (sizes[1], sizes[0])
    along = along if depth is None else depth
    whole = tensor_at("GM", scales_in_gm(which, x.tag, plain(across), plain(along)))
    src = GetTile(whole, _sides(which, start[0], start[1] // MX_BLOCK), _sides(which, other, _pairs(k)))
    made: tuple[TransferInstruction, ...] = plan.move(
        src, tensor_at("L1", _in_core(which, m if which == "A" else n, deep)), fp8_e8m0
    )
    return made


def load_l0_scales(plan: Any, which: str, at: Any, other: Any, k: Any) -> tuple[TransferInstruction, ...]:
    """The instructions that move a part's scales from L1 beside the operand; at, k: its begin and size along k."""
    m, n, deep = plan.tiling.l1
    whole = tensor_at("L1", _in_core(which, m if which == "A" else n, deep))
    src = GetTile(whole, _sides(which, 0, at // MX_BLOCK), _sides(which, other, _pairs(k)))
    made: tuple[TransferInstruction, ...] = plan.move(
        src, tensor_at(f"L0{which}Mx", _in_core(which, other, k)), fp8_e8m0
    )
    return made


def zeros_behind(plan: Any, which: str, name: str, other: Any, k: Any) -> tuple[Any, Fill]:
    """The number of elements behind k of a tile in L1, up to whole 64, and what makes them zeros.

    Where k lies in blocks of 32 bytes (zN of A, nZ of B), Nd2Nz has filled the last of them.
    """
    x, layout = ((plan.a, plan.l1_layouts[0]), (plan.b, plan.l1_layouts[1]))[which == "B"]
    c0, blocked = int(x.element.C0), x.tag is (tags.RowMajor if which == "A" else tags.ColumnMajor)
    whole = ceil_div(k, MX_PAIR) * MX_PAIR
    left = whole - (ceil_div(k, c0) * c0 if blocked else k)
    begin = whole - c0 if blocked else k  # where there is a block left, it is the last of whole 64
    column = int([*leaves(modes_of(layout.stride)[which == "B"])][-1])  # from C0 rows to the next, across k
    fields = {"repeatTimes": 1, "blockNum": other, "dstGap": 0}
    if not blocked:
        fields = {"repeatTimes": ceil_div(other, c0), "blockNum": left, "dstGap": column // c0 - left}
    return left, Fill(name, plain(layout(_sides(which, 0, begin))), x.element, fields)


def _sides(which: str, across: Any, along: Any) -> tuple[Any, Any]:
    """The two numbers of a matrix, of A rows first, of B along k first."""
    return (across, along) if which == "A" else (along, across)


def _pairs(k: Any) -> Any:
    """The scales of k elements, in whole pairs."""
    return ceil_div(k, MX_PAIR) * 2


def _in_core(which: str, other: Any, k: Any) -> Layout:
    return _IN_CORE[which].MakeLayout(fp8_e8m0, *_sides(which, other, _pairs(k)))
