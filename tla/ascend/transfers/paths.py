"""Paths: which positions an instruction joins, with which tags and widths, and by which plan. A table.

Source: CATLASS include/catlass/gemm/tile, conv/tile and epilogue/tile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core import element as types
from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import depth, leaves, modes_of, rank, shown
from ...core.ints import known
from ...core.layout import Layout
from ...core.questions import equal
from .. import tags
from ..architecture import Architecture, AtlasA2, as_architecture, position_of
from ..recognize import Is, recognize
from ..tags import Tag
from . import convolution as conv, cube, fixpipe, vectors

#: Into these positions goes what is valid of the source; elsewhere what is valid of the destination.
BY_SOURCE = {("GM", "L1"), ("GM", "UB"), ("UB", "UB"), ("UB", "L1"), ("L1", "Bias"), ("L1", "FixBuf")}

_A2, _950 = ("AtlasA2", "AtlasA3"), ("Ascend950",)
_ALL = _A2 + _950


class Path(NamedTuple):
    """A way between two positions: the tags that the layouts have there, the plan, the widths that it takes,
    and where it is.

    wanted   where each element of the destination comes from, where the two layouts do not have one shape
    """

    src: str
    dst: str
    src_tag: Any
    dst_tag: Any
    plan: Any
    bits: tuple[int, ...] = (4, 8, 16, 32)
    archs: tuple[str, ...] = _A2
    wanted: Any = None


class Form(NamedTuple):
    """A kind of layout that has no tag.

    name   for people;  why_not   the reason that a layout, of elements of a type, is none; None if it is
    """

    name: str
    why_not: Callable[[Layout, Element], str | None]

    def __str__(self) -> str:
        return self.name


def _why_no_rows(layout: Layout, _element: Element) -> str | None:
    """The reason that a layout is no rows of several matrices; None if it is."""
    shape, stride = (modes_of(x) for x in (layout.shape, layout.stride))
    if len(shape) != 2 or len(modes_of(shape[0])) != 2 or depth(layout.shape) != 2 or isinstance(shape[1], tuple):
        return "its rows are not in two modes, or its columns are"
    if any(known(n) is None for n in (*leaves(layout.shape), *leaves(layout.stride))):
        return "its rows are in two modes of sizes that are not known"
    return None if equal(stride[1], 1) else "its columns do not lie side by side"


def _why_no_index(layout: Layout, _element: Element) -> str | None:
    """The reason that a layout is not the index of a 4:2 sparse matrix; None if it is."""
    why = Is(tags.nZ)[types.int32].why_not(layout)
    return why.what if why else None


def _several_of(tag: Tag) -> Form:
    """Matrices of a tag, one behind another: a third mode, of sizes that are known."""

    def why_not(layout: Layout, element: Element) -> str | None:
        if rank(layout.shape) != 3 or isinstance(layout.shape[2], tuple):
            return "it has no third mode"
        if any(known(n) is None for n in (*leaves(layout.shape), *leaves(layout.stride))):
            return "its sizes are not known"
        valid = None if layout.origin_shape is None else layout.origin_shape[:2]
        why = Is(tag)[element].why_not(Layout(layout.shape[:2], layout.stride[:2], valid))
        return why.what if why else None

    return Form(f"several {tag}", why_not)


def _image(tag: Tag) -> Form:
    """Parts of an image, or of filters: blocks of C0 channels side by side, in steps that may have gaps."""

    def why_not(layout: Layout, element: Element) -> str | None:
        modes = len(tag.blocks)
        if rank(layout.shape) != modes or depth(layout.shape) != 1:
            return f"it has not the {modes} modes of {tag}"
        found = (layout.shape[-1], layout.stride[-1], layout.stride[-2])
        in_blocks = all(map(equal, found, (element.C0, 1, element.C0)))
        return None if in_blocks else f"its channels are no blocks of {element.C0}"

    return Form(str(tag), why_not)


#: Rows that come from several matrices: rows in two modes, columns side by side.
SEVERAL: Any = Form("rows of several matrices", _why_no_rows)
ACCUMULATORS, MATRICES = (_several_of(tag) for tag in (tags.L0C, tags.RowMajor))
#: The index of a 4:2 sparse matrix: bytes in blocks of 8 by 16, as 32 bits lie in nZ.
INDEX: Any = Form("the index of a 4:2 sparse matrix", _why_no_index)
#: The tags whose layouts may have gaps.
IMAGES = {tag: _image(tag) for tag in (tags.NC1HWC0, tags.NDC1HWC0, tags.CI1KHKWCOCI0, tags.KDC1KHKWN1N0C0)}

PATHS = (
    Path("GM", "L1", tags.RowMajor, tags.zN, cube.nd_to_nz(0)),
    Path("GM", "L1", SEVERAL, tags.zN, cube.matrices_to_nz(""), (8, 16, 32)),
    Path("GM", "L1", SEVERAL, tags.zN, cube.matrices_to_nz("wide"), (8, 16, 32), _950),
    Path("GM", "L1", tags.ColumnMajor, tags.nZ, cube.nd_to_nz(1)),
    Path("GM", "L1", tags.zN, tags.zN, cube.nz_to_nz(0), archs=_ALL),
    Path("GM", "L1", tags.nZ, tags.nZ, cube.nz_to_nz(1), archs=_ALL),
    Path("GM", "L1", tags.PaddingRowMajor, tags.zN, cube.nd_to_nz(0, inner=True)),
    Path("GM", "L1", tags.PaddingColumnMajor, tags.nZ, cube.nd_to_nz(1, inner=True)),
    Path("GM", "L1", tags.PaddingRowMajor, tags.zN, cube.nd_to_nz(0, inner=True, wide=True), archs=_950),
    Path("GM", "L1", tags.PaddingColumnMajor, tags.nZ, cube.nd_to_nz(1, inner=True, wide=True), archs=_950),
    Path("GM", "L1", INDEX, INDEX, cube.index_to_l1, (8,)),
    Path("L1", "L0A", tags.zN, tags.zZ, cube.fractals(transposes=False), (4, 8, 16)),
    Path("L1", "L0A", tags.zN, tags.zZ, cube.words(0, 8, transposes=False, to_b=False), (32,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, cube.fractals(transposes=True), (16,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, cube.bytes_to_l0a, (8,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, cube.words(1, 16, transposes=True, to_b=False), (32,)),
    Path("L1", "L0B", tags.nZ, tags.nZ, cube.fractals(transposes=False)),
    Path("L1", "L0B", tags.zN, tags.nZ, cube.fractals(transposes=True), (16,)),
    Path("L1", "L0B", tags.zN, tags.nZ, cube.bytes_to_l0b, (4, 8)),
    Path("L1", "L0B", tags.zN, tags.nZ, cube.words(0, 16, transposes=False, to_b=True), (32,)),
    Path("L0C", "GM", tags.L0C, tags.RowMajor, fixpipe.to_rows, (8, 16, 32)),
    Path("L0C", "GM", tags.L0C, tags.zN, fixpipe.to_blocks, (8, 16, 32)),
    Path("L0C", "L1", tags.L0C, tags.zN, fixpipe.to_l1, (8, 16)),
    Path("L0C", "GM", ACCUMULATORS, MATRICES, fixpipe.matrices_to_rows(wide=False), (8, 16, 32)),
    # Ascend950
    Path("GM", "L1", tags.RowMajor, tags.zN, cube.nd_to_nz(0, wide=True), archs=_950),
    Path("GM", "L1", tags.ColumnMajor, tags.nZ, cube.nd_to_nz(1, wide=True), archs=_950),
    Path("GM", "L1", tags.MxScaleRowMajorA, tags.MxScalezZ, cube.scales(1, "Dn2Nz"), (8,), _950),
    Path("GM", "L1", tags.MxScaleColumnMajorA, tags.MxScalezZ, cube.scales(1, "Nd2Nz"), (8,), _950),
    Path("GM", "L1", tags.MxScaleRowMajorB, tags.MxScalenN, cube.scales(0, "Nd2Nz"), (8,), _950),
    Path("GM", "L1", tags.MxScaleColumnMajorB, tags.MxScalenN, cube.scales(0, "Dn2Nz"), (8,), _950),
    Path("L1", "L0AMx", tags.MxScalezZ, tags.MxScalezZ, cube.scales_to_l0(1), (8,), _950),
    Path("L1", "L0BMx", tags.MxScalenN, tags.MxScalenN, cube.scales_to_l0(0), (8,), _950),
    Path("L1", "L0A", tags.zN, tags.zN, cube.fractals_v2(0, transposes=False), archs=_950),
    Path("L1", "L0A", tags.nZ, tags.zN, cube.fractals_v2(1, transposes=True), archs=_950),
    Path("L1", "L0B", tags.nZ, tags.nZ, cube.fractals_v2(1, transposes=False), archs=_950),
    Path("L1", "L0B", tags.zN, tags.nZ, cube.fractals_v2(0, transposes=True), archs=_950),
    Path("L0C", "GM", tags.L0C, tags.RowMajor, fixpipe.wide_to_rows, (8, 16, 32), _950),
    Path("L0C", "GM", tags.L0C, tags.zN, fixpipe.wide_to_blocks, (8, 16, 32), _950),
    Path("L0C", "GM", ACCUMULATORS, MATRICES, fixpipe.matrices_to_rows(wide=True), (8, 16, 32), _950),
    Path("L0C", "UB", tags.L0C, tags.RowMajor, fixpipe.to_unified_buffer, (8, 16, 32), _950),
    Path("UB", "L1", tags.RowMajor, tags.zN, vectors.rows_to_blocks, (8, 16, 32), _950),
    Path("UB", "L1", tags.zN, tags.zN, vectors.blocks_to_blocks, (8, 16, 32), _950),
    Path("UB", "L1", tags.zNUnAlign, tags.zN, vectors.blocks_to_blocks, (8, 16, 32), _950),
    # rows and vectors
    Path("GM", "UB", tags.RowMajor, tags.RowMajor, vectors.rows("to UB"), (8, 16, 32), _ALL),
    Path("UB", "GM", tags.RowMajor, tags.RowMajor, vectors.rows("to GM"), (8, 16, 32), _ALL),
    Path("GM", "UB", tags.ColumnMajor, tags.ColumnMajor, vectors.rows("to UB", along=0), (8, 16, 32), _ALL),
    Path("UB", "GM", tags.ColumnMajor, tags.ColumnMajor, vectors.rows("to GM", along=0), (8, 16, 32), _ALL),
    Path("GM", "UB", tags.zN, tags.zN, cube.nz_to_nz(0), (8, 16, 32), _ALL),
    Path("UB", "GM", tags.zN, tags.zN, cube.nz_to_nz(0), (8, 16, 32), _ALL),
    Path("UB", "GM", tags.RowMajor, tags.PaddingRowMajor, vectors.rows_to_padded, (8, 16, 32), _ALL),
    Path("GM", "UB", tags.VectorLayout, tags.VectorLayout, vectors.rows("to UB"), (8, 16, 32), _ALL),
    Path("UB", "GM", tags.VectorLayout, tags.VectorLayout, vectors.rows("to GM"), (8, 16, 32), _ALL),
    Path("UB", "UB", tags.RowMajor, tags.RowMajor, vectors.rows_inside(), (8, 16, 32), _ALL),
    Path("UB", "UB", tags.ColumnMajor, tags.ColumnMajor, vectors.rows_inside(along=0), (8, 16, 32), _ALL),
    Path("UB", "UB", tags.zN, tags.zN, cube.nz_to_nz(0), (8, 16, 32), _ALL),
    Path("UB", "UB", tags.RowMajor, tags.zN, vectors.rows_to_blocks, (8, 16, 32), _ALL),
    Path("UB", "UB", tags.VectorLayout, tags.VectorLayout, vectors.rows_inside(), (8, 16, 32), _ALL),
    Path("GM", "L1", tags.VectorLayout, tags.VectorLayout, vectors.vector(32), (8, 16, 32, 64), _ALL),
    Path("L1", "Bias", tags.VectorLayout, tags.VectorLayout, vectors.vector(64), (16, 32)),
    Path("L1", "Bias", tags.VectorLayout, tags.VectorLayout, vectors.vector(32, even=True), (16, 32), _950),
    Path("L1", "FixBuf", tags.VectorLayout, tags.VectorLayout, vectors.vector(128), (32, 64)),
    Path("L1", "FixBuf", tags.VectorLayout, tags.VectorLayout, vectors.vector(64), (32, 64), _950),
    # convolutions
    Path("GM", "L1", tags.NC1HWC0, tags.NC1HWC0, conv.image, archs=_ALL),
    Path("GM", "L1", tags.NDC1HWC0, tags.NDC1HWC0, conv.image, archs=_ALL),
    Path("GM", "L1", tags.CI1KHKWCOCI0, tags.CI1KHKWCOCI0, conv.filters, archs=_ALL),
    Path("GM", "L1", tags.KDC1KHKWN1N0C0, tags.KDC1KHKWN1N0C0, conv.filters_of_depths, archs=_ALL),
    Path("L1", "L0B", tags.CI1KHKWCOCI0, tags.nZ, conv.filters_to_l0b, wanted=conv.filters_wanted),
    Path("L1", "L0B", tags.CI1KHKWCOCI0, tags.nZ, conv.wide_filters_to_l0b, archs=_950, wanted=conv.filters_wanted),
    Path("L1", "L0B", tags.KDC1KHKWN1N0C0, tags.nZ, conv.filters_to_l0b, wanted=conv.filters_wanted),
    Path("L1", "L0B", tags.KDC1KHKWN1N0C0, tags.nZ, conv.wide_filters_to_l0b, archs=_950, wanted=conv.filters_wanted),
    *(
        Path("L0C", "GM", tags.L0C, tag, fixpipe.to_image(wide), (16,), archs, conv.image_wanted)
        for tag in (tags.NC1HWC0, tags.NDC1HWC0)
        for wide, archs in ((False, _A2), (True, _950))
    ),
)

#: Windows of an image, which `transfer(..., conv=Conv2d(...))` moves.
WINDOWS = (
    Path("L1", "L0A", tags.NC1HWC0, tags.zZ, None, (8, 16, 32)),
    Path("L1", "L0A", tags.NC1HWC0, tags.zN, None, (8, 16, 32), _950),
    Path("L1", "L0A", tags.NDC1HWC0, tags.zZ, None, (8, 16, 32)),
    Path("L1", "L0A", tags.NDC1HWC0, tags.zN, None, (8, 16, 32), _950),
)


def path_of(
    ends: tuple[str, str],
    layouts: tuple[Any, Any],
    element: Element,
    arch: Architecture,
    windows: bool,
    tag: Tag | None,
) -> Path:
    """The first path between two positions whose tags the two layouts have, of sizes that are not known one whose tags
    they have whatever these are; LeafTypeError where there is none."""
    table = [p for p in (WINDOWS if windows else PATHS) if arch.name in p.archs]
    joined = [p for p in table if (p.src, p.dst) == ends]
    what = f"a transfer from {ends[0]} to {ends[1]} on {arch}"
    if not joined:
        raise LeafTypeError(what, _neighbours(table, *ends), _detour(table, *ends))
    paths = joined if tag is None else [p for p in joined if p.dst_tag is tag]
    if not paths:
        known = sorted({str(p.dst_tag) for p in joined})
        fix = "leave out tag=, or write one of these"
        raise LeafTypeError(f"{what} with tag={shown(tag, 40)}", f"tag={' or '.join(known)}", fix)
    may: list[Path] = []
    for path in paths:
        if element.bits not in path.bits:
            continue
        has = _has(path.src_tag, layouts[0], element), _has(path.dst_tag, layouts[1], element)
        if has == (True, True):
            return path
        may += [path] if False not in has else []
    if not may:
        raise _no_path(ends, layouts, element, [(path, _why_no_way(path, layouts, element)) for path in paths])
    return may[0]


def _why_no_way(path: Path, layouts: tuple[Any, Any], element: Element) -> tuple[str | None, str | None, str | None]:
    """The reasons that a path does not join two layouts: by the width of an element, and of each; None where it takes it."""
    wide = None if element.bits in path.bits else f"elements of {element.bits} bits take another way"
    return wide, _why_not(path.src_tag, layouts[0], element), _why_not(path.dst_tag, layouts[1], element)


def _no_path(
    ends: tuple[str, str], layouts: tuple[Any, Any], element: Element, refused: list[tuple[Path, Any]]
) -> LeafTypeError:
    """The error of two layouts that no path joins: what they are, and the paths that take one of them, or else all."""
    of_type = [(p, why) for p, why in refused if why[0] is None]
    near = [(p, why) for p, why in of_type if None in why[1:]] or of_type or refused
    found = [_tag_of(layout, element) for layout in layouts]
    sides = (f"{place} ({tag})" if tag else place for place, tag in zip(ends, found))
    what, pairs = f"a transfer of {element} from {' to '.join(sides)}", _tag_pairs([p for p, _ in near], element)
    if all(why[0] for _, why in near):
        fix = "give an element type of this width: transfer(..., element=half)"
        return LeafTypeError(f"{what} on this way", pairs, fix)
    if not all(any(tag == (p.src_tag, p.dst_tag)[side] for p, _ in refused) for side, tag in enumerate(found)):
        what += f": {'; '.join(f'{p.src_tag} to {p.dst_tag}: {next(filter(None, why))}' for p, why in near)}"
    return LeafTypeError(what, pairs, "make the layouts with these tags")


def _tag_of(layout: Layout, element: Element) -> Tag | None:
    """The tag of a layout; None where it has none."""
    found = recognize(layout, element) if isinstance(layout, Layout) else None
    return found.tag if found else None


def tags_at(position: object, arch: object = AtlasA2) -> tuple[Tag, ...]:
    """The tags that a layout may have at a position: those of the transfers from there, and to there.

    >>> from tla.ascend import Ascend950, tags_at
    >>> tags_at("L0A"), tags_at("L0A", Ascend950), tags_at("L0B")
    ((zZ,), (zN,), (nZ,))

    Raises LeafTypeError for what is no position, or no architecture. Source: CATLASS include/catlass/gemm/tile,
    conv/tile, epilogue/tile.
    """
    arch, position = as_architecture(arch), position_of(position)
    paths = [p for p in (*PATHS, *WINDOWS) if arch.name in p.archs]
    ends = (end for p in paths for end in ((p.src, p.src_tag), (p.dst, p.dst_tag)))
    return tuple(dict.fromkeys(tag for place, tag in ends if place == position and isinstance(tag, Tag)))


def _neighbours(table: list[Path], a: str, b: str) -> str:
    """The positions that an instruction reaches from the one position, and those from which one reaches the other."""
    onward, inward = sorted({p.dst for p in table if p.src == a}), sorted({p.src for p in table if p.dst == b})
    ways = [f"{a} to {' or '.join(onward)}"] if onward else []
    ways += [f"{' or '.join(inward)} to {b}"] if inward else []
    return "; ".join(ways) or f"positions that {' and '.join(sorted({p.src for p in table}))} reach"


def _detour(table: list[Path], a: str, b: str) -> str:
    """The shortest way over positions between, if there is one."""
    ways: list[tuple[str, ...]] = [(a,)]
    while ways:
        ways = [(*way, n) for way in ways for n in sorted({p.dst for p in table if p.src == way[-1]} - {*way[1:]})]
        if found := [way for way in ways if way[-1] == b]:
            return f"go over {' and '.join(found[0][1:-1])}"
    return "take one of these"


def _why_not(tag: Tag, layout: Layout, element: Element) -> str | None:
    """The reason that a layout has not the tag; None if it has."""
    if not isinstance(layout, Layout):
        return "it has no one shape and stride"
    form = tag if isinstance(tag, Form) else IMAGES.get(tag)
    if form:
        return form.why_not(layout, element)
    why = Is(tag)[element].why_not(layout)
    return why.what if why else None


def _has(tag: Tag, layout: Layout, element: Element) -> bool | None:
    """Whether a layout has a tag whatever its sizes are; None where it may have it."""
    if isinstance(tag, Form) or tag in IMAGES or not isinstance(layout, Layout):
        return _why_not(tag, layout, element) is None
    return Is(tag)[element](layout)


def _tag_pairs(paths: list[Path], element: Element) -> str:
    pairs = [f"{p.src_tag} to {p.dst_tag}" for p in paths if element.bits in p.bits]
    widths = map(str, sorted({b for p in paths for b in p.bits}))
    return ", or ".join(pairs) or f"elements of {' or '.join(widths)} bits"
