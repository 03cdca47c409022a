"""Tags: the names of Ascend's layouts. Each is a row of one table, a block for each mode and an order;
the layout follows.

A mode with a block b has the extents (b, ceil(size / b)). The order numbers all extents from the fastest to the
slowest, and the stride of each is the product of those before it. Small letters of a name tell the order inside a
block, capitals that of the blocks: z is row by row, n column by column.

Source: CATLASS include/tla/layout.hpp and include/catlass/layout; the orders are those of TLA
v2 (`FractalSpec`, `Step`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.arithmetic import round_up
from ..core.cache import memo
from ..core.element import Element, fp8_e8m0
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ..core.int_tuple import leaves, like, product, shown
from ..core.ints import Int, IntLike, IntTree, Leaf, leaf, static
from ..core.layout import Layout
from ..core.leaf_arithmetic import ceil_div, mul
from ..core.profiles import flatten
from ..core.questions import at_most, divides
from ..core.strides import Shape, Stride
from .element import as_element

__all__ = [
    "CI1KHKWCOCI0",
    "KDC1KHKWN1N0C0",
    "L0C",
    "NC1HWC0",
    "NDC1HWC0",
    "ColumnMajor",
    "MxScaleColumnMajorA",
    "MxScaleColumnMajorB",
    "MxScaleRowMajorA",
    "MxScaleRowMajorB",
    "MxScalenN",
    "MxScalezZ",
    "PaddingColumnMajor",
    "PaddingRowMajor",
    "RowMajor",
    "Tag",
    "Tagged",
    "VectorLayout",
    "Weight4BitnZ",
    "nN",
    "nZ",
    "zN",
    "zNUnAlign",
    "zZ",
]

#: What C++'s tags have under another name, and how it is written here.
INSTEAD = {
    "Capacity": "tag.capacity",
    "GetOffset": "tag.layout(row, column)",
    "GetTileLayout": "GetTileLayout(tag.layout, tile, (0, 0))",
    "orgShape": "tag.sizes[i]",
    "originShape": "tag.layout.origin_shape",
}

_1, _2, _16, _32 = Int[1](), Int[2](), Int[16](), Int[32]()

#: Blocks that depend: on the width of elements, C0 of them being 32 bytes; on the size of the mode; on arguments.
C0, ALL, GIVEN = "C0", "ALL", "GIVEN"


@dataclass(frozen=True)
class Tag:
    """A tag: `RowMajor`, `zN`, ... `MakeLayout[half, zN](rows, cols)` makes its layout.

    name      as CATLASS has it
    blocks    the inner extent of each mode: a static integer, C0 elements, ALL of the mode, or GIVEN after the sizes;
              None for a mode without blocks
    step      nested like the layout's shape: the place of each extent in memory, 0 the fastest
    element   the only element type that it has, if there is one
    sizes     the names of its sizes, in the order of a call; a last c0 may be left out

    Called with sizes it gives the tag object of C++: `RowMajor(4, 6, ld=13)`, and `zN[half](100, 60)` where C++ writes
    `zN::MakeLayout<half>(100, 60)`.

    >>> from tla.ascend import RowMajor, half, zN
    >>> zN, zN.blocks, zN.step, RowMajor(4, 6, ld=13), zN[half](100, 60)
    (zN, (Int[16](), 'C0'), ((1, 2), (0, 3)), RowMajor(4, 6, ld=13), zN[half](100, 60, ld=112))

    Source: CATLASS `Catlass::layout`.
    """

    name: str
    blocks: tuple[Int | str | None, ...]
    step: tuple[Any, ...]
    element: Element | None = None
    sizes: str = "rows cols"

    def __getitem__(self, element: Any) -> Callable[..., Tagged]:
        return functools.partial(self, element=as_element(element))

    def __call__(self, *sizes: Any, ld: IntLike | None = None, element: Element | None = None) -> Tagged:
        self.require_element(element)
        made = Tagged(self, element, *self._arguments(sizes, element))
        if not self.is_matrix:
            if ld is not None:
                raise RankError(f"{self} with ld={shown(ld)}", "a leading dimension for matrices only", "leave it out")
            return made
        return replace(made, ld=made.least_ld if ld is None else _checked_ld(made, leaf(ld)))

    def MakeLayout(self, element: Any, *sizes: Any, ld: Leaf | None = None) -> Layout:
        """The layout that `MakeLayout[element, tag](*sizes, ld=ld)` gives."""
        return _layout(self, element, sizes, ld)

    @property
    def predicate(self) -> str:
        """TLA's name of the question whether a layout has the tag: `iszN`, `isMxScaleForzZ`."""
        return f"is{self.name.replace('MxScale', 'MxScaleFor').removesuffix('Layout')}"

    @property
    def is_matrix(self) -> bool:
        """Whether the tag has two modes, and so a leading dimension."""
        return len(self.step) == 2

    @functools.cached_property
    def slow(self) -> int:
        """The mode with the slowest extent."""
        return next(i for i, s in enumerate(self.step) if max(leaves(self.step)) in leaves(s))

    @functools.cached_property
    def ld_mode(self) -> int:
        """The mode that the leading dimension of a matrix counts: the one without the slowest extent."""
        return 1 - self.slow

    @functools.cached_property
    def contiguous(self) -> int:
        """The mode with the fastest extent."""
        return next(i for i, s in enumerate(self.step) if 0 in leaves(s))

    def takes(self, element: Element | None) -> bool:
        """Whether elements may be of this type; a bare width may be any type of it."""
        return self.element is None or element in (self.element, as_element(self.element.bits))

    def require_element(self, element: Element | None) -> None:
        """LeafTypeError where it needs an element type, or another."""
        if element is None and C0 in self.blocks:
            what = f"{self} without an element type"
            raise LeafTypeError(what, "one: it has blocks of 32 bytes", f"write {self}[half](...)")
        if not self.takes(element):
            given = "without an element type" if element is None else f"of {element}"
            fix = f"write {self}[{self.element}](...), {self.predicate}[{self.element}](layout); another tag for data"
            raise LeafTypeError(f"{self} {given}", f"{self.element}: it is a layout of scales", fix)

    def _arguments(self, given: tuple[Any, ...], element: Element | None) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The sizes, and those of a batch: of (rows, cols), or ((rows, cols), batch)."""
        sizes, outer = (given[0], tuple(leaves(given[1:]))) if given and isinstance(given[0], tuple) else (given, ())
        names = self.sizes.split()
        if names[-1] == "c0" and element and len(sizes) == len(names) - 1:
            sizes = (*sizes, element.C0)
        if self is VectorLayout and len(sizes) == 2:
            sizes = sizes[1:]  # as in C++: of rows and columns, the columns
        if len(sizes) != len(names) or any(isinstance(n, tuple) for n in sizes):
            expected = f"({', '.join(names)})"
            fix = f"for a batch write ({expected}, batch){'; a leading dimension is ld=...' if self.is_matrix else ''}"
            raise RankError(f"{self} of the sizes {shown(given)}", f"{expected}, each an integer", fix)
        for name, n in [*zip(names, sizes), *(("batch", n) for n in outer)]:
            if at_most(leaf(n), 0 if name.startswith("block") else -1):
                fix = f"use {1 if name.startswith('block') else 0} or more for {name}"
                raise RangeError(f"{self} of the sizes {shown(given)}", "sizes of 0 or more, blocks of 1 or more", fix)
        return tuple(map(leaf, sizes)), tuple(map(leaf, outer))

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    def __reduce__(self) -> tuple[Any, ...]:
        return _tag, (self.name,)


@dataclass(frozen=True)
class Tagged:
    """A tag with its parameters: what a tag object of C++ is, and what `recognize` finds in a layout.

    tag       the Tag
    element   the element type; None where the tag needs none
    sizes     one per mode [elements], then the blocks that are given: `PaddingRowMajor(r, c, br, bc)`
    outer     the sizes of a batch, behind the modes of the tag, and slower
    ld        of a matrix, its leading dimension: what a step of the slowest extent leaves room for in the other mode
              [elements]. Of RowMajor the columns, of zN the rows; by default all of them, in whole blocks.

    >>> from tla.ascend import half, zN
    >>> a = zN[half](100, 60)
    >>> print(a.layout, a.block, a.contiguous, a.ld, a.capacity)
    ((_16,7),(_16,4)):((_16,_256),(_1,1792)) (_16,_16) 1 112 7168
    """

    tag: Tag
    element: Element | None
    sizes: tuple[Any, ...]
    outer: tuple[Any, ...] = ()
    ld: Any = None

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name):
            instead = f"; write {INSTEAD[name]}" if name in INSTEAD else ""
            raise AttributeError(f"a tag with its sizes has no attribute {name!r}{instead}")

    @property
    def block(self) -> Shape:
        """The inner extent of each mode [elements]; 1 of a mode without blocks."""
        return Shape(*self._blocks())

    def _blocks(self) -> Iterator[Any]:
        given = iter(self.sizes[len(self.tag.blocks) :])
        for block, n in zip(self.tag.blocks, self.sizes):
            if block == C0 and self.element is not None:
                yield self.element.C0
            else:
                yield n if block == ALL else next(given) if block == GIVEN else block or _1

    @property
    def contiguous(self) -> int:
        """The mode whose elements lie side by side."""
        return self.tag.contiguous

    @functools.cached_property
    def shape(self) -> Shape:
        """The shape of the layout: its blocks, and how many."""
        return Shape(*map(_extents, self.tag.step, self.tag.blocks, self._blocks(), self.sizes), *self.outer)

    @property
    def stride(self) -> Stride:
        """The strides of the layout [elements]: each the product of the faster extents, but where ld says more."""
        extents, places = [*leaves(self.shape)], [*leaves(self.tag.step)]
        places += range(len(places), len(extents))  # the batch
        strides: list[Any] = [_1] * len(extents)
        current: Any = _1
        for place in range(len(extents)):
            k = places.index(place)
            if self.ld is not None and place == len(places) - len(self.outer) - 1:
                current = mul(self.slow_block, self.ld)
            strides[k] = current
            current = mul(current, extents[k])
        return Stride(*like(self.shape, iter(strides)))

    @property
    def slow_block(self) -> Leaf:
        """The inner extents of the slowest mode: how many slices of the other mode lie together [elements]."""
        return product(flatten(Shape(self.shape[self.tag.slow]))[:-1])

    @property
    def least_ld(self) -> Leaf:
        """The leading dimension that leaves no gap [elements]: the other mode in whole blocks, and pairs of fp4."""
        return round_up(product(self.shape[self.tag.ld_mode]), self.ld_group)

    @property
    def ld_group(self) -> Int:
        """The number that divides the leading dimension: 2 where a row of fp4, or a column, is a row of pairs."""
        return static(self.element.group if self.element and self.tag.contiguous != self.tag.slow else 1)

    @property
    def layout(self) -> Layout:
        """The layout; its origin_shape is the sizes."""
        return Layout(self.shape, self.stride, Shape(*self.sizes[: len(self.tag.blocks)], *self.outer))

    @property
    def capacity(self) -> Leaf:
        """The memory that the layout takes, padding and gaps included: its slowest extent, whole [elements]."""
        places = [*leaves(self.tag.step)]
        last = -1 if self.outer else places.index(max(places))
        return mul([*leaves(self.shape)][last], [*leaves(self.stride)][last])

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self.sizes))
        sizes = f"({sizes}), {', '.join(map(str, self.outer))}" if self.outer else sizes
        return f"{self.tag}{f'[{self.element}]' if self.element else ''}({sizes}{'' if self.ld is None else f', ld={self.ld}'})"


@memo
def _layout(tag: Tag, element: int | Element, sizes: tuple[Any, ...], ld: IntLike | None) -> Layout:
    return tag(*sizes, ld=ld, element=as_element(element)).layout


def _extents(step: IntTree, kind: Int | str | None, block: Leaf, n: Leaf) -> Any:
    """The extents of a mode of n elements."""
    if not isinstance(step, tuple):
        return n
    return (block, _1 if kind == ALL else ceil_div(n, block))


def _checked_ld(made: Tagged, ld: Leaf) -> Leaf:
    """A leading dimension that a caller gives, unless it is known to be wrong."""
    if at_most(made.least_ld, ld) is False:
        what = f"{made!r}: a leading dimension of {ld}"
        raise RangeError(what, f"{made.least_ld} or more, in elements", "leave it out for the least")
    if divides(made.ld_group, ld) is False:
        what = f"{made!r}: a leading dimension of {ld}"
        raise DivisibilityError(what, "a multiple of 2: pairs of fp4", f"use {ld + 1}")
    return ld


# ---------------------------------------------------------------------------------------------------- the table

_ROWS, _COLS = (1, 0), (0, 1)
_zN, _nZ, _zZ, _nN = ((1, 2), (0, 3)), ((0, 3), (1, 2)), ((1, 3), (0, 2)), ((0, 2), (1, 3))

VectorLayout = Tag("VectorLayout", (None,), (0,), sizes="len")
RowMajor = Tag("RowMajor", (None, None), _ROWS)
ColumnMajor = Tag("ColumnMajor", (None, None), _COLS)
zN = Tag("zN", (_16, C0), _zN)
nZ = Tag("nZ", (C0, _16), _nZ)
zZ = Tag("zZ", (_16, C0), _zZ)
nN = Tag("nN", (C0, _16), _nN)
L0C = Tag("L0C", (_16, _16), _zN)
Weight4BitnZ = Tag("Weight4BitnZ", (_32, _16), _nZ)
MxScaleRowMajorA = Tag("MxScaleRowMajorA", (None, _2), (2, (0, 1)), fp8_e8m0)
MxScaleRowMajorB = Tag("MxScaleRowMajorB", (_2, None), ((0, 2), 1), fp8_e8m0)
MxScaleColumnMajorA = Tag("MxScaleColumnMajorA", (None, _2), (1, (0, 2)), fp8_e8m0)
MxScaleColumnMajorB = Tag("MxScaleColumnMajorB", (_2, None), ((0, 1), 2), fp8_e8m0)
MxScalezZ = Tag("MxScalezZ", (_16, _2), _zZ, fp8_e8m0)
MxScalenN = Tag("MxScalenN", (_2, _16), _nN, fp8_e8m0)
zNUnAlign = Tag("zNUnAlign", (ALL, C0), _zN)
PaddingRowMajor = Tag("PaddingRowMajor", (GIVEN, GIVEN), _zZ, sizes="rows cols block_rows block_cols")
PaddingColumnMajor = Tag("PaddingColumnMajor", (GIVEN, GIVEN), _nN, sizes="rows cols block_rows block_cols")
NDC1HWC0 = Tag("NDC1HWC0", (None,) * 6, (5, 4, 3, 2, 1, 0), sizes="n d c1 h w c0")
NC1HWC0 = Tag("NC1HWC0", (None,) * 5, (4, 3, 2, 1, 0), sizes="n c1 h w c0")
CI1KHKWCOCI0 = Tag("CI1KHKWCOCI0", (None,) * 5, (4, 3, 2, 1, 0), sizes="ci1 kh kw co c0")
KDC1KHKWN1N0C0 = Tag("KDC1KHKWN1N0C0", (None,) * 4, (3, 2, 1, 0), sizes="k n1 n0 c0")

#: Every tag, in the order in which `recognize` prefers them.
TAGS = {tag.name: tag for tag in [*globals().values()] if isinstance(tag, Tag)}


def _tag(name: str) -> Tag:
    """The tag of a name, where a pickle finds it."""
    return TAGS[name]
