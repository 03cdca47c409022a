"""The move of each kind of instruction: from its fields, two layouts over one domain.

The fields have the names and units of AscendC's parameter structs: blocks of 32 bytes (C0 elements), fractals
of 512 bytes.

Source: AscendC's Nd2NzParams, Dn2NzParams, DataCopyParams, DataCopyExtParams, LoadData2DParams, LoadData2DParamsV2,
LoadData2DMxParams, LoadData2dTransposeParams, LoadData3DParamsV2, FixpipeParamsV220; their use in CATLASS
include/catlass/gemm/tile, include/catlass/conv/tile and include/catlass/epilogue/tile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.element import C0_BITS, Element
from ...core.errors import RangeError
from ...core.ints import IntLike, Leaf
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import divides, equal

#: The bits of a fractal, and its rows; the columns of a block of L0C are as many.
FRACTAL_BITS, ROWS = 4096, 16
#: Farther apart than a unified buffer is long [bytes]: where that of the other vector core is told to lie.
OTHER_CORE = 2**18
#: The largest value of a field of 16 bits, as most are.
FIELD = 2**16 - 1
Fields = Mapping[str, Any]


class Edge(NamedTuple):
    """The edge of an image: the place of each element of a domain along one axis of it, and how long that axis is.

    at      a layout over the domain: the place of element c is at(c) + begin;  begin  negative inside of a border
    limit   the length of the axis: places below 0, or not below limit, are border

    >>> from tla.ascend import Edge
    >>> from tla import parse
    >>> Edge(parse("(4,3):(1,1)"), -1, 4).limit
    4

    Source: ours.
    """

    at: Layout
    begin: int
    limit: int


class Moved(NamedTuple):
    """Two layouts over one domain, each from its own address on [elements]: element c goes from src(c) +
    begin to dst(c).

    begin    where src begins behind the address of the instruction: start positions, and minus the border of an image
    edges    the edges of an image that src is read from; an element outside of one is 0, and not read

    >>> from tla.ascend import TransferInstruction, half
    >>> i = TransferInstruction("LoadData2D", 0, 0, {"repeatTimes": 2, "srcStride": 3, "dstGap": 0, "ifTranspose": 1}, half)
    >>> print(i.moved.dst, i.moved.src)
    ((16,16),2):((1,16),256) ((16,16),2):((16,1),768)

    Source: ours.
    """

    dst: Layout
    src: Layout
    begin: int = 0
    edges: tuple[Edge, ...] = ()


class Kind(NamedTuple):
    """A kind of instruction.

    moved      what its fields move
    struct     AscendC's parameter struct;  call  AscendC's function
    most       the largest value of the fields whose is not that of 16 bits
    spelled    fields that the struct has under another name;  unset  fields that it has not
    wide       the largest value of fields on Ascend950, where it is more
    before     what AscendC is told before the call
    """

    moved: Callable[[Fields, Element, str], Moved]
    struct: str
    call: str = "DataCopy"
    most: Fields = MappingProxyType({})
    spelled: Mapping[str, str] = MappingProxyType({})
    unset: tuple[str, ...] = ()
    wide: Fields = MappingProxyType({})
    before: str = ""


def blocks_of(n: IntLike, size: IntLike) -> Leaf:
    return ceil_div(n, size)


def gap_of(gap: Leaf, bursts: Leaf, field: int) -> Any:
    """The gap between bursts, in a field of so many values: behind the only burst it does not matter, and is cut."""
    return gap % field if equal(bursts, 1) else gap


def gaps_of(steps: tuple[Leaf, Leaf], length: Leaf, bursts: Leaf) -> dict[str, Any]:
    """The gaps between bursts of a length, in the source and the destination, whose bursts begin a step apart."""
    return {name: gap_of(n - length, bursts, FIELD + 1) for name, n in zip(("srcStride", "dstStride"), steps)}


def fractal_of(element: Element) -> int:
    """The elements of a fractal."""
    return FRACTAL_BITS // element.bits


def _nd2nz(p: Fields, element: Element, form: str) -> Moved:
    """Rows of nValue by dValue elements, each row cut into blocks of C0."""
    return _to_blocks(p, element, form, p["srcDValue"], 1, (p.get("ndNum", 1), p.get("srcNdMatrixStride", 0)))


def _dn2nz(p: Fields, element: Element, form: str) -> Moved:
    """As Nd2Nz, of a matrix whose columns lie side by side."""
    return _to_blocks(p, element, form, 1, p["srcDValue"], (p.get("dnNum", 1), p.get("srcDnMatrixStride", 0)))


def _to_blocks(p: Fields, element: Element, form: str, n_step: int, d_step: int, matrices: tuple[int, int]) -> Moved:
    """nValue by dValue units, in blocks of 32 bytes, of one matrix after another. A unit is one element, or in a form
    of pairs two of them.

    matrices   how many there are, and how far apart they lie in src [elements]; in dst it is dstNzMatrixStride
    """
    n, d, unit = p["nValue"], p["dValue"], 2 if "pairs" in form else 1
    c0 = int(element.C0) // unit
    to_n, to_c0 = (p[field] * c0 * unit for field in ("dstNzNStride", "dstNzC0Stride"))
    row, column = Layout(n, to_n), Layout((c0, blocks_of(d, c0)), (unit, to_c0))
    dst = Layout((unit, row.shape, column.shape), (1, row.stride, column.stride), (unit, n, d))
    src = (1, n_step * unit, d_step * unit)
    count, apart = matrices
    if equal(count, 1):
        return Moved(dst, Layout((unit, n, d), src))
    many = Layout((*dst.shape, count), (*dst.stride, p["dstNzMatrixStride"] * unit), (unit, n, d, count))
    return Moved(many, Layout((unit, n, d, count), (*src, apart * unit)))


def _data_copy(p: Fields, element: Element, form: str) -> Moved:
    """blockCount bursts of blockLen blocks of 32 bytes, or what the form says; strides are the gaps between bursts."""
    unit, length, count = int(form or 32) * 8 // element.bits, p["blockLen"], p["blockCount"]
    steps = ((length + p[gap]) * unit for gap in ("dstStride", "srcStride"))
    dst, src = (Layout((unit, length, count), (1, unit, step)) for step in steps)
    return Moved(dst, src)


def _data_copy_pad(p: Fields, element: Element, form: str) -> Moved:
    """blockCount bursts of blockLen bytes; gaps are bytes in global memory, and blocks behind whole blocks
    in the buffer.

    Behind each burst rightPadding elements of the buffer are set.
    """
    size, length, count, more = element.bits // 8, p["blockLen"], p["blockCount"], p.get("rightPadding", 0)
    gap = p["srcStride" if form == "to UB" else "dstStride"]
    if divides(size, length) is False or (divides(size, gap) is False and not equal(count, 1)):
        what = f"DataCopyPad of bursts of {length} bytes, {gap} bytes apart"
        raise RangeError(what, f"whole elements of {size} bytes", "count bytes")
    outside = [(length + p[gap]) // size for gap in ("dstStride", "srcStride")]
    inside = [(blocks_of(length + more * size, 32) + p[gap]) * 32 // size for gap in ("dstStride", "srcStride")]
    steps = (inside[0], outside[1]) if form == "to UB" else (outside[0], inside[1])
    valid = length // size
    edges = (Edge(Layout((valid + more, count), (1, 0)), 0, valid),) if more else ()
    dst, src = (Layout((valid + more, count), (1, step)) for step in steps)
    return Moved(dst, src, 0, edges)


def _load_2d(p: Fields, element: Element, _form: str) -> Moved:
    """repeatTimes fractals, each as it is, or with its 16 rows and 16 columns exchanged."""
    size, repeat = fractal_of(element), p["repeatTimes"]
    shape = ((ROWS, size // ROWS), repeat)
    rows = (size // ROWS, 1)
    inner = (1, ROWS) if p["ifTranspose"] else rows
    return Moved(Layout(shape, (inner, (1 + p["dstGap"]) * size)), Layout(shape, (rows, p["srcStride"] * size)))


def _load_2d_transpose(p: Fields, element: Element, _form: str) -> Moved:
    """repeatTimes squares of C0 by C0 elements with rows and columns exchanged, in fractals of 16 rows."""
    size, c0, repeat = fractal_of(element), int(element.C0), p["repeatTimes"]
    fractals = c0 // ROWS
    src = Layout((c0, c0, repeat), (c0, 1, p["srcStride"] * fractals * size))
    rows = (c0, (1 + p["dstFracGap"]) * size)
    return Moved(Layout((c0, (ROWS, fractals), repeat), (1, rows, (1 + p["dstGap"]) * size)), src)


def _load_2d_v2(p: Fields, element: Element, _form: str) -> Moved:
    """mStep by kStep fractals of 16 rows along m by C0 columns along k; strides are between columns of fractals.

    Transposed, squares of 16 by 16 elements, and of C0 by C0 where C0 is more, have rows and columns exchanged: the
    destination has k along its rows, and m along its columns of fractals.
    """
    size, c0, m, k = fractal_of(element), int(element.C0), p["mStep"], p["kStep"]
    begin = (p["mStartPosition"] + p["kStartPosition"] * p["srcStride"]) * size
    rows, columns = Layout((ROWS, m), (c0, size)), Layout((c0, k), (1, p["srcStride"] * size))
    if p["ifTranspose"]:
        down, across = Layout(k * c0, c0), Layout((c0, blocks_of(m * ROWS, c0)), (1, p["dstStride"] * size))
        dst = Layout((across.shape, down.shape), (across.stride, down.stride), (m * ROWS, k * c0))
    else:
        dst = Layout(((ROWS, m), (c0, k)), ((c0, size), (1, p["dstStride"] * size)))
    return Moved(dst, Layout((rows.shape, columns.shape), (rows.stride, columns.stride)), begin)


def _load_2d_mx(p: Fields, _element: Element, _form: str) -> Moved:
    """xStep by yStep blocks of 16 by 2 scales, 32 bytes each; strides are between rows of blocks, in blocks."""
    shape = (32, p["yStep"], p["xStep"])
    src, dst = (Layout(shape, (1, 32, p[stride] * 32)) for stride in ("srcStride", "dstStride"))
    return Moved(dst, src, (p["xStartPosition"] * p["srcStride"] + p["yStartPosition"]) * 32)


def _load_3d(p: Fields, element: Element, _form: str) -> Moved:
    """mExtension points by kExtension columns of im2col: an image of l1W by l1H points, a window of filterW by filterH.

    A point is a place of the window, first along w; a column is (channel, w, h, block of C0 channels) of the window.
    What the window has outside of the image is border. Fractals of L0A have 16 rows, of points or of columns where it
    transposes, and lie row by row; those of L0B (fMatrixCtrl) have 16 columns, of C0 points each, unless it transposes.
    """
    return _im2col(p, element, _fractals_of_l0(p, element))


def _fractals_of_l0(p: Fields, element: Element) -> Layout:
    """The places of the points and columns of LoadData3D in L0."""
    size, c0, points, columns = fractal_of(element), int(element.C0), p["mExtension"], p["kExtension"]
    turned = p["enTranspose"] != p["fMatrixCtrl"]
    high, wide = (columns, points) if turned else (points, columns)
    down, across = blocks_of(high, ROWS), blocks_of(wide, c0)
    by_columns = p["fMatrixCtrl"] or "dstStride" in p
    steps = (size, size * p.get("dstStride", down)) if by_columns else (size * across, size)
    row, column = Layout((ROWS, down), (c0, steps[0])), Layout((c0, across), (1, steps[1]))
    modes = (column, row) if turned else (row, column)
    return Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes), (points, columns))


def _im2col(p: Fields, element: Element, dst: Layout) -> Moved:
    """The columns of an image by the places of its window: affine in both, cut at the edges of the image."""
    c0, valid = int(element.C0), (p["mExtension"], p["kExtension"])
    w, h = Axis.of(p, "W", "Left", "Right"), Axis.of(p, "H", "Top", "Bottom")
    places = (w.places, blocks_of(valid[0], w.places))
    window = (c0, w.window, h.window, blocks_of(valid[1], c0 * w.window * h.window))

    def over(along_w: int, along_h: int, channel: int, block: int) -> Layout:
        """The layout that steps so far for each element of the image along w and h, each channel and block of them."""
        steps = (along_w * w.step, along_h * h.step), (channel, along_w * w.gap, along_h * h.gap, block)
        return Layout((places, window), steps, valid)

    src = over(c0, w.size * c0, 1, w.size * h.size * c0)
    if "filterW" not in p:
        return Moved(dst, src)
    edges = Edge(over(1, 0, 0, 0), -w.before, w.size), Edge(over(0, 1, 0, 0), -h.before, h.size)
    return Moved(dst, src, -(h.before * w.size + w.before) * c0, edges)


class Axis(NamedTuple):
    """One axis of an image, and of the window that moves along it: extents, steps, and the border in front of it."""

    size: int
    window: int
    step: int
    gap: int
    before: int
    places: int

    @classmethod
    def of(cls, p: Fields, name: str, front: str, back: str) -> Axis:
        """The axis W or H of the fields of LoadData3D."""
        size, window = p.get(f"l1{name}", 1), p.get(f"filter{name}", 1)
        step, gap, before = p.get(f"stride{name}", 1), p.get(f"dilationFilter{name}", 1), p.get(f"pad{front}", 0)
        places = max(1, (size + before + p.get(f"pad{back}", 0) - gap * (window - 1) - 1) // step + 1)
        return cls(size, window, step, gap, before, places)


def _fixpipe(p: Fields, element: Element, form: str) -> Moved:
    """mSize by nSize elements out of blocks of 16 columns; to rows, or to blocks of 16 columns, of 8 where
    it splits channels.

    int8 leaves in blocks of 32 columns: two blocks of the accumulator are merged. Ascend950 counts the stride of blocks
    in elements, in its own struct. With dualDstCtl the second half of the rows, or of the columns, goes to the same
    place of another vector core's buffer: told as a place OTHER_CORE bytes further. To rows it moves ndNum
    accumulators, srcNdStride fractals apart; Ascend950 counts rows of 16 there.
    """
    m, n = p["mSize"], p["nSize"]
    src = Layout((m, (ROWS, blocks_of(n, ROWS))), (ROWS, (1, p["srcStride"] * ROWS)), (m, n))
    if halves := p.get("dualDstCtl"):
        far = OTHER_CORE * 8 // element.bits
        rows: Any = ((m // 2, 2), (p["dstStride"], far)) if halves == 1 else (m, p["dstStride"])
        columns: Any = (n, 1) if halves == 1 else ((n // 2, 2), (1, far))
        return Moved(Layout((rows[0], columns[0]), (rows[1], columns[1]), (m, n)), src)
    if form.startswith("CFG_ROW_MAJOR") or p.get("nz2ndEn"):
        dst = Layout((m, n), (p["dstStride"], 1))
        if equal(count := p.get("ndNum", 1), 1):
            return Moved(dst, src)
        apart = p["srcNdStride"] * (ROWS if "WIDE" in form else ROWS * ROWS)
        sides = (dst, p["dstNdStride"]), (src, apart)
        to, begin = (Layout((*x.shape, count), (*x.stride, step), (m, n, count)) for x, step in sides)
        return Moved(to, begin)
    c0 = C0_BITS // element.bits
    width = 8 if p["channelSplit"] else max(ROWS, c0)
    step = p["dstStride"] * (1 if form == "CFG_NZ_WIDE" else c0)
    return Moved(Layout((m, (width, blocks_of(n, width))), (width, (1, step)), (m, n)), src)


_PADS = {f"pad{side}": f"padList[{i}]" for i, side in enumerate(("Left", "Right", "Top", "Bottom"))}
_ND2NZ = MappingProxyType({"ndNum": 4095, "nValue": 2**14, "dstNzC0Stride": 2**14, "dstNzNStride": 2**14})
_WIDE = MappingProxyType({"dValue": 2**21 - 1, "srcDValue": 2**40 - 1})
_FIXPIPE = MappingProxyType(
    {"nSize": 4095, "dstStride": 2**32 - 1, "channelSplit": 1, "nz2ndEn": 1, "dualDstCtl": 2, "srcNdStride": 512}
)
_WIDE_FIXPIPE = MappingProxyType({"srcNdStride": FIELD, "dstNdStride": 2**32 - 1})
_MANY = ("ndNum", "srcNdStride", "dstNdStride")
_LOAD_3D = Kind(
    _load_3d,
    "LoadData3DParamsV2<{type}>",
    "LoadData",
    {
        "enTranspose": 1,
        "fMatrixCtrl": 1,
        "strideW": 63,
        "strideH": 63,
        "filterW": 255,
        "filterH": 255,
        **dict.fromkeys(_PADS, 255),
    },
    _PADS,
)

#: The largest values are those of AscendC's reference, which may be less than a field holds: Nd2Nz has 16384
#: rows at most.
KINDS: dict[str, Kind] = {
    "Nd2Nz": Kind(_nd2nz, "Nd2NzParams", most=_ND2NZ, wide=_WIDE),
    "Dn2Nz": Kind(_dn2nz, "Dn2NzParams", most={**_ND2NZ, **_WIDE, "dstNzC0Stride": FIELD, "dstNzNStride": FIELD}),
    "DataCopy": Kind(_data_copy, "DataCopyParams", most={"blockCount": 4095}),
    "DataCopyPad": Kind(
        _data_copy_pad,
        "DataCopyExtParams",
        "DataCopyPad",
        {"blockCount": 4095, "blockLen": 2**21 - 1, "srcStride": 2**32 - 1, "dstStride": 2**32 - 1},
        unset=("rightPadding",),
    ),
    "LoadData2D": Kind(_load_2d, "LoadData2DParams", "LoadData", {"repeatTimes": 255, "ifTranspose": 1}),
    "LoadDataWithSparse": Kind(
        _load_2d,
        "LoadData2DParams",
        "LoadDataWithSparse",
        {"repeatTimes": 255, "ifTranspose": 0, "index": 2**19 - 1},
        unset=("index",),
    ),
    "LoadData2DTranspose": Kind(
        _load_2d_transpose, "LoadData2dTransposeParams", "LoadDataWithTranspose", {"repeatTimes": 255}
    ),
    "LoadData2DV2": Kind(_load_2d_v2, "LoadData2DParamsV2", "LoadData", {"mStep": 255, "kStep": 255, "ifTranspose": 1}),
    "LoadData2DMx": Kind(_load_2d_mx, "LoadData2DMxParams", "LoadData", {"xStep": 255, "yStep": 255}),
    "LoadData3D": _LOAD_3D,
    "LoadData3DWithStride": _LOAD_3D._replace(
        call="LoadDataWithStride",
        unset=("dstStride",),
        before="AscendC::SetLoadDataRepeatWithStride({{0, 1, 0, {dstStride}}});",
    ),
    "Fixpipe": Kind(
        _fixpipe,
        "FixpipeParamsV220",
        "Fixpipe<{type}, {source}, AscendC::{form}>",
        _FIXPIPE,
        {"channelSplit": "isChannelSplit"},
    ),
    "FixpipeC310": Kind(
        _fixpipe,
        "FixpipeParamsC310<AscendC::CO2Layout::{co2}>",
        "Fixpipe<{type}, {source}, {config}>",
        _FIXPIPE,
        {"channelSplit": "isChannelSplit", **{name: f"params.{name}" for name in _MANY}},
        wide=_WIDE_FIXPIPE,
    ),
    "DataCopyCO12Dst": Kind(
        _fixpipe, "DataCopyCO12DstParams", most=_FIXPIPE, spelled={"reluEn": "reluPre"}, unset=_MANY, wide=_WIDE_FIXPIPE
    ),
}
