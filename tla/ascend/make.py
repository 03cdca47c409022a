"""The functions of TLA that make layouts from tags.

Source: CATLASS include/tla/layout.hpp.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..core.arithmetic import round_up
from ..core.errors import LeafTypeError, RankError
from ..core.int_tuple import Bracketed, IntTuple, as_int_tuple, shown
from ..core.ints import Int, IntLike, IntTupleLike, Leaf, leaf, static
from ..core.layout import Layout
from ..core.leaf_arithmetic import mul
from ..core.questions import require_positive
from .tags import CI1KHKWCOCI0, L0C, NC1HWC0, TAGS, Tag, Tagged, nN, zZ

if TYPE_CHECKING:
    from ..core.element import Element

F = TypeVar("F", bound=Callable[..., Any])


class Template(Bracketed[F]):
    """A function with types in square brackets: `MakeLayoutFmap[half](n, c1, h, w)`."""

    def __getitem__(self, arguments: Any) -> F:
        given = arguments if isinstance(arguments, tuple) else (arguments,)
        if len(given) != self._count:
            what = f"{self.__name__}[{shown(given)}]"
            raise RankError(what, f"{self._count} in brackets", f"write {self._form}(...)")
        return self._make(*given)


def MakeLayoutFromTag(tag: Tagged) -> Layout:
    """The layout of a tag object: of a tag with its sizes, and what `recognize` found.

    >>> from tla import MakeLayoutFromTag
    >>> from tla.ascend import PaddingRowMajor, RowMajor, half, zZ
    >>> print(MakeLayoutFromTag(RowMajor(4, 6, ld=13)), MakeLayoutFromTag(zZ[half](33, 17)))
    (4,6):(13,_1) ((_16,3),(_16,2)):((_16,512),(_1,_256))
    >>> print(MakeLayoutFromTag(PaddingRowMajor(100, 100, 16, 32)))
    ((16,7),(32,4)):((32,2048),(_1,512))

    Raises LeafTypeError for anything else. Source: TLA `MakeLayoutFromTag`, which makes every integer dynamic.
    """
    if not isinstance(tag, Tagged):
        fix = "write RowMajor(4, 6), or zN[half](4, 6)"
        raise LeafTypeError(f"MakeLayoutFromTag of {shown(tag)}", "a tag with its sizes", fix)
    return tag.layout


def MakeLayoutL0C(rows: IntLike, cols: IntLike) -> Layout:
    """The layout of an accumulator of rows by cols elements of any type: blocks of 16 by 16.

    >>> from tla import MakeLayoutL0C
    >>> print(MakeLayoutL0C(48, 80))
    ((_16,3),(_16,5)):((_16,_256),(_1,768))

    Source: TLA `MakeLayoutL0C`.
    """
    return L0C(rows, cols).layout


@Template
def MakeMxScaleLayout(element: Element, tag: Tag, is_b: bool) -> Callable[..., Layout]:
    """`MakeMxScaleLayout[fp8_e8m0, RowMajor, False](rows, cols)`: the scales of matrix A, (m, k/32), or of
    B, (k/32, n).

    Scales lie in pairs along k. The tag is RowMajor, ColumnMajor, zZ or nN; ld as in MakeLayout.
    Raises LeafTypeError for other element types and tags.

    >>> from tla import MakeMxScaleLayout
    >>> from tla.ascend import RowMajor, fp8_e8m0
    >>> print(MakeMxScaleLayout[fp8_e8m0, RowMajor, False](100, 70), MakeMxScaleLayout[fp8_e8m0, RowMajor, True](100, 70))
    (100,(_2,35)):(70,(_1,_2)) ((_2,50),70):((_1,140),_2)

    Source: TLA `MakeMxScaleLayout`.
    """
    side = "" if tag in (zZ, nN) else "B" if is_b else "A"
    found = TAGS.get(f"MxScale{tag}{side}") if isinstance(tag, Tag) else None
    if found is None:
        expected = "the tag RowMajor, ColumnMajor, zZ or nN"
        raise LeafTypeError(f"MakeMxScaleLayout of {shown(tag)}", expected, "take it from tla.ascend")
    return functools.partial(found.MakeLayout, element)


@Template
def MakeLayoutFmap(element: int | Element) -> Callable[[Any, Any, Any, Any], Layout]:
    """`MakeLayoutFmap[half](n, c1, h, w)`: a feature map of c1 blocks of C0 channels, NC1HWC0.

    >>> from tla import MakeLayoutFmap
    >>> from tla.ascend import half
    >>> print(MakeLayoutFmap[half](4, 8, 5, 28))
    (4,8,5,28,_16):(17920,2240,448,_16,_1)

    Source: TLA `MakeLayoutFmap`.
    """
    return functools.partial(NC1HWC0.MakeLayout, element)


@Template
def MakeLayoutFilter(element: int | Element, position: str) -> Callable[[Any, Any, Any, Any], Layout]:
    """`MakeLayoutFilter[half, position](c1, kh, kw, co)`: the weights of a convolution, CI1KHKWCOCI0.

    position   "GM", or "L1", where co is rounded up to whole blocks of 16 and all of them count as data

    >>> from tla import MakeLayoutFilter
    >>> from tla.ascend import half
    >>> print(MakeLayoutFilter[half, "GM"](2, 3, 3, 20), MakeLayoutFilter[half, "L1"](2, 3, 3, 20))
    (2,3,3,20,_16):(2880,960,320,_16,_1) (2,3,3,32,_16):(4608,1536,512,_16,_1)

    Raises LeafTypeError for another position. Source: TLA `MakeLayoutFilter`.
    """
    if position not in ("GM", "L1"):
        raise LeafTypeError(f"MakeLayoutFilter at {shown(position)}", '"GM" or "L1"', "write it as a text")

    def make(c1: Any, kh: Any, kw: Any, co: Any) -> Layout:
        return CI1KHKWCOCI0.MakeLayout(element, c1, kh, kw, round_up(co, Int[16]()) if position == "L1" else co)

    return make


class _Round(Bracketed[Any]):
    """A function of two integers, of which the second may stand in square brackets: `RoundUp[16](n)`."""

    def __call__(self, a: IntLike, b: IntLike) -> Leaf:  # pyright: ignore[reportIncompatibleMethodOverride]
        a, b = leaf(a), leaf(b)
        require_positive(self.__name__, b)
        return self._make(a, b)

    def __getitem__(self, b: Any) -> Callable[[Any], Any]:
        static_b = Int[int(leaf(b))]()
        return lambda a: self(a, static_b)


@_Round
def RoundUp(a: IntLike, b: IntLike) -> Leaf:
    """The least multiple of b that is at least a. `RoundUp[16](a)` is `RoundUp<16>(a)`.

    >>> from tla import RoundUp
    >>> print(RoundUp(100, 16), RoundUp[16](100))
    112 112

    Raises RangeError for b below 1. Source: TLA `RoundUp`; mode by mode on tuples it is `round_up`.
    """
    return round_up(a, b)


@_Round
def RoundDown(a: Leaf, b: Leaf) -> Leaf:
    """The largest multiple of b that is at most a. `RoundDown[16](a)` is `RoundDown<16>(a)`.

    >>> from tla import RoundDown
    >>> print(RoundDown(100, 16), RoundDown[16](100))
    96 96

    Raises RangeError for b below 1. Source: TLA `RoundDown`.
    """
    return mul(a // b, b)


def MakeTuple(*elements: Any) -> IntTuple:
    """A tuple of integers and tuples.

    >>> from tla import MakeTuple
    >>> print(MakeTuple(4, (2, 3)))
    (4,(2,3))

    Raises LeafTypeError for anything else. Source: TLA `MakeTuple`.
    """
    return IntTuple(*elements)


def tuple_size(t: IntTupleLike) -> Int:
    """The number of elements of a tuple. Static.

    >>> from tla import tuple_size
    >>> print(tuple_size((4, (2, 3))))
    _2

    Raises LeafTypeError for what is no tuple: `rank` of an integer is 1. Source: TLA `tuple_size`.
    """
    if not isinstance(t, tuple):
        fix = "write rank(x), which is 1 of an integer"
        raise LeafTypeError(f"tuple_size of {shown(as_int_tuple(t))}", "a tuple", fix)
    return static(len(t))
