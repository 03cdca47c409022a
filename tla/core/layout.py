"""Layout: a function from a coordinate to an offset, written shape:stride.

Source: CuTe include/cute/layout.hpp and stride.hpp; TLA include/tla/layout.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, zip_longest
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from .arrays import INT64_MAX, INT64_MIN
from .basis import ArithmeticTuple, as_coordinate, as_stride
from .cache import known_by, memo
from .conversions import crd2idx, ends_empty, idx2crd, offset_of
from .coord import Computes, Coord, Offset
from .errors import LeafTypeError, RangeError, RankError, TlaError
from .int_tuple import (
    MAX_DEPTH,
    as_int_tuple,
    depth_of,
    leaves,
    mode,
    modes_of,
    product_each,
    require_depth,
    shown,
    symbols_given,
    text,
)
from .ints import Int, IntLike, IntTree, IntTupleLike, Leaf, Static, _0, is_static, leaf, static
from .kinds import AnyLayout, layout_fix
from .leaf_arithmetic import larger
from .plain_ints import are_static
from .profiles import flatten, require_congruent, unflatten
from .questions import asking_nothing_new, at_most, require
from .strides import Shape, Stride, compact_col_major
from .valid import ALL, UNKNOWN, Valid, axes, box, common, coordinates, first, indices, over


class _LayoutMeta(type):
    def __getitem__(cls, parts: object) -> Callable[[], Layout]:
        parts = parts if isinstance(parts, tuple) else (parts,)
        if not 1 <= len(parts) <= 3:
            raise RankError(
                f"Layout of {len(parts)} parts in brackets", "one to three", "write Layout[Shape[...], Stride[...]]"
            )
        values: list[Any] = [p.value if isinstance(p, Static) else p for p in parts]
        if not all(map(is_static, values)):
            raise LeafTypeError(
                f"Layout[{', '.join(map(shown, values))}]", "static parts", "use MakeLayout for what is dynamic"
            )
        shape, *rest = values
        return Static(Layout(shape, *(rest or [compact_col_major(shape)])), f"Layout[{', '.join(map(repr, parts))}]")


class Layout(AnyLayout, metaclass=_LayoutMeta):
    """A function from a coordinate to an offset [elements]: the sum over the modes of coordinate * stride.

    shape          extents, an IntTuple, padding included [elements]
    stride         congruent to shape [elements]
    origin_shape   one integer per top-level mode: how much of it holds valid data. What XLA calls padding and Ascend a
                   tail tile. Default: the product of each mode. Where the valid part is no box of the modes, as after a
                   divide whose tiles cross its edge, it is None: part of this is padding. Given as `...` it says that
    Raises         RankError where these do not fit each other, RangeError for a negative extent, an origin_shape past
                   the shape, or what 64 bits cannot hold, Unproven for an extent of symbols that may be negative,
                   LeafTypeError for a leaf that is no integer

    `layout(coord)` and `layout(i, j)` take an integer (first mode fastest), a coordinate per mode, or one nested like
    the shape, of anything with + * // %. There is no bounds check: past its size a layout goes on along its last mode.
    `==` compares structure, static-ness aside. MakeLayout has the defaults; `Layout[Shape[...], Stride[...]]` is a
    static layout as a type.

    >>> from tla import Layout, Shape, Stride, _1, _2, _3, _4, _16, _32
    >>> a = Layout[Shape[Shape[_4, _2], Shape[_4, _3]], Stride[Stride[_4, _16], Stride[_1, _32]]]()
    >>> print(a, a(1, 5), a((1, (1, 1))), a(41))
    ((_4,_2),(_4,_3)):((_4,_16),(_1,_32)) 37 37 37
    >>> Layout((2, 3), (3, 1))
    parse('(2,3):(3,1)')

    Source: CuTe `Layout`; TLA `Layout` and its originShape.
    """

    __slots__ = ("_cut", "_plain", "_valid", "shape", "stride")
    _instead = "make another with MakeLayout"

    shape: Any
    stride: Any
    _valid: Valid  # most layouts have ALL, and few are asked for it
    _plain: list[tuple[int, int]] | None
    _cut: Any  # of a layout worked out in plain ints, the profile and counts of plain_layout; else None

    def __init__(self, shape: IntTree, stride: IntTree = None, origin_shape: Any = None) -> None:
        if stride is None:
            what = f"Layout of {shown(shape)} without a stride"
            raise LeafTypeError(what, "a shape and its stride", "write MakeLayout for the compact one")
        plain: list[tuple[int, int]] = []
        made = _static_pair(shape, stride, plain) if isinstance(shape, tuple) else None
        shape, stride = made or _checked_pair(shape, stride)
        _set_shape(self, shape)
        _set_stride(self, stride)
        _set_plain(self, plain if made else _plain_modes(shape, stride))
        _set_cut(self, None)
        _set_valid(
            self, ALL if origin_shape is None else UNKNOWN if origin_shape is ... else _as_valid(shape, origin_shape)
        )

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name):
            """shape and stride of a layout that was worked out in plain ints: they are wrapped when one is
            first asked for."""
            if name not in ("shape", "stride"):
                instead = {
                    "originShape": "; write origin_shape",
                    "layout": ": it is the layout; leave out .layout",
                }.get(name, "")
                raise AttributeError(f"a Layout has no attribute {name!r}{instead}")
            profile, counts = self._cut
            shape, stride = _wrapped(profile, iter(counts), iter(self._plain))
            _set_shape(self, shape)
            _set_stride(self, stride)
            return shape if name == "shape" else stride

    def plain_modes(self) -> list[tuple[int, int]]:
        """The leaves as pairs of plain ints, if all are static and no extent is 0; else nothing. It is found once."""
        if self._plain is None:
            _set_plain(self, _plain_modes(self.shape, self.stride))
        return self._plain  # type: ignore[return-value]  # it is set above

    @property
    def origin_shape(self) -> Shape | None:
        """The part of each top-level mode that holds valid data [elements]; None where that is no box: part of
        it is padding."""
        return whole_of(self.shape) if self._valid is ALL else None if self._valid is UNKNOWN else self._valid

    def __call__(self, *coord: Any) -> Offset:
        at = coord[0] if len(coord) == 1 else coord
        # In plain ints, as offset_of does it; a sum of 0 may be static, see there.
        if (plain := self._plain) and (
            total := _at_ints(at, self.shape, plain) if isinstance(at, tuple) else _at_int(at, plain)
        ):
            return total
        if not coord and self.shape != ():
            what = f"the layout {self} called without a coordinate"
            raise LeafTypeError(what, "a coordinate", "give one; or write t.layout, without (), for a tensor's layout")
        return offset_of(at, self.shape, self.stride)

    def __getitem__(self, i: int) -> Layout:
        """Mode i as a layout, with what of it is valid."""
        if not isinstance(i, int):
            fix = "write get[0, 1](layout) for a path, slice_((_, 0), layout) for a slice"
            raise LeafTypeError(f"mode {shown(i)} of a layout", "one integer", fix)
        mode(self.shape, leaf(i))
        if not isinstance(self.shape, tuple):
            return self
        return unchecked_layout(self.shape[i], self.stride[i]) if self._valid is ALL else carried(itemgetter(i), self)

    def __iter__(self) -> Iterator[Layout]:
        if not isinstance(self.shape, tuple):
            return iter((self,))
        if self._valid is not ALL:
            return (self[i] for i in range(len(self.shape)))
        return map(unchecked_layout, self.shape, self.stride)

    def flatten(self) -> Layout:
        """The layout that `flatten(layout)` gives."""
        if self._valid is not ALL:
            return carried(flatten, self)
        return unchecked_layout(flatten(self.shape), flatten(self.stride))

    def unflatten(self, profile: IntTupleLike) -> Layout:
        """The layout that `unflatten(layout, profile)` gives."""
        if self._valid is not ALL:
            return carried(lambda layout: layout.unflatten(profile), self)
        return Layout(unflatten(self.shape, profile), unflatten(self.stride, profile))

    def get_hier_coord(self, offset: Computes) -> IntTree:
        """The coordinate that `get_hier_coord(layout, offset)` gives, as CuTe writes it."""
        return idx2crd(offset, self.shape, self.stride)

    def get_flat_coord(self, offset: Computes) -> IntTree:
        """The coordinate that `get_flat_coord(layout, offset)` gives, as CuTe writes it."""
        coord = self.get_hier_coord(offset)
        return Coord(*map(crd2idx, coord, self.shape)) if len(modes_of(self.shape)) > 1 else crd2idx(coord, self.shape)

    def get_1d_coord(self, offset: Computes) -> Leaf:
        """The coordinate that `get_1d_coord(layout, offset)` gives, as CuTe writes it."""
        return crd2idx(self.get_hier_coord(offset), self.shape)

    @property
    def is_static(self) -> bool:
        """Whether shape and stride are known at compile time."""
        return is_static(self.shape) and is_static(self.stride)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layout):
            return NotImplemented
        if self.shape != other.shape or self.stride != other.stride:
            return False
        return self._valid is other._valid or bool(self.origin_shape == other.origin_shape)

    def __hash__(self) -> int:
        return hash((self.shape, self.stride))

    def __str__(self) -> str:
        return f"{text(self.shape)}:{text(self.stride)}"

    def __repr__(self) -> str:
        origin = origin_given(self)
        return f"parse({str(self)!r}{origin}{symbols_given(self.shape, self.stride)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return unchecked_layout, (self.shape, self.stride, self._valid)


def _static_pair(
    shape: IntTree, stride: IntTree, plain: list[tuple[int, int]], depth: int = MAX_DEPTH
) -> tuple[Shape, Stride] | None:
    """Tuples of one nesting as Shape and Stride, and their leaves as plain ints, in one pass; None for what is not
    static throughout, empty, or to be refused. Most layouts are made here."""
    if not isinstance(stride, tuple) or len(shape) != len(stride) or not shape or not depth:
        return None
    extents: list[Any] = []
    strides: list[Any] = []
    for s, d in zip(shape, stride):
        if type(s) is Int and type(d) is Int:
            if not (0 < s <= INT64_MAX and INT64_MIN <= d <= INT64_MAX):
                return None
            plain.append((s.real, d.real))
        else:
            pair = _static_pair(s, d, plain, depth - 1) if isinstance(s, tuple) else None
            if pair is None:
                return None
            s, d = pair
        extents.append(s)
        strides.append(d)
    return tuple.__new__(Shape, extents), tuple.__new__(Stride, strides)


def _checked_pair(shape: Any, stride: object) -> tuple[Any, Any]:
    """Shape and stride of a layout, each leaf checked."""
    shape, given = as_int_tuple(shape, Shape), stride
    stride = as_int_tuple(given, Stride)
    try:
        require_congruent("Layout", shape, stride)
    except RankError:
        stride = as_int_tuple(_steps(shape, given), Stride)
        require_congruent("Layout", shape, stride)
    for n in leaves(shape):
        if n < 0 if isinstance(n, int) else not _may_be_extent(n, shape):
            raise RangeError(
                f"Layout: extent {n} in {shown(shape)}", "extents of 0 or more", f"use {-n:d}, or a negative stride"
            )
    return shape, stride


def _steps(shape: Any, stride: Any) -> Any:
    """The strides, a coordinate at an integer of the shape as the one stride that it is."""
    if isinstance(stride, tuple) and isinstance(shape, tuple):
        return (*map(_steps, shape, stride),) if len(stride) == len(shape) else stride
    return as_stride(stride) if isinstance(stride, ArithmeticTuple) and not isinstance(shape, tuple) else stride


def _may_be_extent(n: IntLike, shape: IntTupleLike) -> bool:
    """Whether n is 0 or more: proved, recorded by assuming(), or a symbol of sympy of which nothing was declared."""
    return bool(getattr(n, "is_undeclared", False)) or require("<=", 0, n, lambda: f"the extent {n} of {shown(shape)}")


_new = object.__new__
_set_shape, _set_stride, _set_valid, _set_plain, _set_cut = (
    Layout.__dict__[name].__set__ for name in ("shape", "stride", "_valid", "_plain", "_cut")
)


def plain_layout(plain: list[tuple[int, int]], profile: IntTupleLike, counts: Sequence[int]) -> Layout:
    """The static layout of these leaves in the nesting of a profile, each of whose integers is cut into so many of
    them: where that is not 1, into a tuple. The caller has proved that they fit."""
    new = _new(Layout)
    _set_cut(new, (profile, counts))
    _set_valid(new, ALL)
    _set_plain(new, plain)
    return new


def static_layout(modes: Sequence[Sequence[tuple[int, int]]], valid: tuple[int, ...] | None = None) -> Layout:
    """The static layout with a mode of each of these leaves, or _1:_0 where a mode has none: the caller has
    proved that they fit.

    modes   of each its leaves as plain ints, extents 1 or more
    valid   how much of each mode is valid, no more than there is; by default all
    """
    whole = tuple([math.prod([n for n, _d in mode]) for mode in modes])
    new = plain_layout(
        [leaf for mode in modes for leaf in mode or ((1, 0),)], whole, [len(mode) or 1 for mode in modes]
    )
    if valid is not None and valid != whole:
        _set_valid(new, tuple.__new__(Shape, map(static, valid)))
    return new


def _wrapped(profile: IntTupleLike, counts: Iterator[int], plain: Iterator[tuple[int, int]]) -> tuple[Any, Any]:
    """Shape and stride of the next leaves of a plain_layout."""
    if isinstance(profile, tuple):
        pairs = [_wrapped(p, counts, plain) for p in profile]
    else:
        pairs = [(static(s), static(d)) for s, d in islice(plain, next(counts))]
        if len(pairs) == 1:
            return pairs[0]
    return tuple.__new__(Shape, [s for s, _d in pairs]), tuple.__new__(Stride, [d for _s, d in pairs])


def _at_int(x: object, plain: list[tuple[int, int]]) -> int:
    """The offset of a dynamic int in these leaves; 0 for any other coordinate."""
    if type(x) is not int or are_static():
        return 0
    total, s, d = 0, 1, 0
    for s, d in plain:
        total += x % s * d
        x //= s
    return total + x * s * d  # what is left of x is the last mode's


def _at_ints(at: tuple[Any, ...], shape: IntTupleLike, plain: list[tuple[int, int]]) -> int:
    """The offset of one dynamic int for each mode of a shape whose leaves are `plain`; 0 for any other coordinate, and
    other nesting."""
    if not isinstance(shape, tuple) or len(at) != len(shape) or are_static():
        return 0
    total, modes, leaf = 0, iter(shape), iter(plain)  # no zip: it takes a fifth of the time
    for x in at:
        if type(x) is not int:
            return 0
        extents = next(modes)
        s = d = 0  # until the first leaf, for no extent in `plain` is 0
        for extent in extents if isinstance(extents, tuple) else (extents,):
            if isinstance(extent, tuple):
                return 0
            if s:
                total += x % s * d
                x //= s
            s, d = next(leaf)
        total += x * d  # the last leaf of a mode takes what is left
    return total


def _plain_modes(shape: IntTupleLike, stride: IntTupleLike) -> list[tuple[int, int]]:
    if type(shape) is Int and type(stride) is Int:
        return [(shape.real, stride.real)] if shape else []
    out: list[tuple[int, int]] = []
    for s, d in zip(leaves(shape), leaves(stride)):
        if type(s) is not Int or type(d) is not Int or not s:
            return []
        out.append((s.real, d.real))
    return [] if ends_empty(shape) else out


def as_layout(where: str, x: object) -> Any:
    """x if it is a layout; LeafTypeError if it is something else, or a layout of another kind."""
    if isinstance(x, Layout):
        return x
    if isinstance(x, AnyLayout):
        raise LeafTypeError(
            f"{where} of a {type(x).__name__}", "one shape and stride", "cut or compose it until it is a plain Layout"
        )
    raise LeafTypeError(f"{where} of a {type(x).__name__}", "a layout", layout_fix(x))


def join(layouts: Iterable[Layout]) -> Layout:
    """The layouts as the modes of one, each with the strides that it has, and with what of it is valid."""
    modes = tuple(layouts)
    whole, cuts = True, []
    for m in modes:
        if type(m) is not Layout:
            as_layout("a mode", m)
        whole = whole and m._valid is ALL
        cuts.append(m._cut)
    if whole and cuts and None not in cuts:  # all were worked out in plain ints, and so is this
        profile = tuple([cut[0] for cut in cuts])
        if depth_of(profile) < MAX_DEPTH:  # then the shape, which may be one deeper, is as deep as may be
            return plain_layout(
                [leaf for m in modes for leaf in m.plain_modes()], profile, [n for cut in cuts for n in cut[1]]
            )
    shape, stride = tuple.__new__(Shape, [m.shape for m in modes]), tuple.__new__(Stride, [m.stride for m in modes])
    require_depth(shape)
    counts: list[Any] = [] if whole else [_first_valid(m) for m in modes]
    return unchecked_layout(
        shape, stride, ALL if whole else UNKNOWN if None in counts else _kept(shape, Shape(*counts))
    )


# ------------------------------------------------------------------------------------------------------- what is valid


def carried(
    operation: Callable[[Layout], Any], a: Layout, made: Layout | None = None, by_index: bool = False
) -> Layout:
    """The result of an operation that goes by shape and stride, with what of it is valid: unknown where that
    is no known box.

    operation   on the layout of a's coordinates it says which of these each coordinate of the result is. It gives a
                layout, or a pair of a layout and where that begins
    a           where all of it is valid, what lies past its end is not
    made        the result, where that is not operation(a)
    by_index    whether it goes through all modes at once, and may leave out one of extent 1

    Nothing is asked of symbols that was not asked before.
    """
    whole: Layout = operation(with_valid(a, ALL)) if made is None else made
    for stride, limits in () if a._valid is UNKNOWN else _places(a, by_index):
        try:
            with asking_nothing_new():
                place = operation(unchecked_layout(a.shape, stride))
                place, begin = place if isinstance(place, tuple) else (place, None)
                counts = _box(place, begin, limits, whole.shape)
                return with_valid(whole, UNKNOWN if counts is None else common(whole._valid, Shape(*counts)))
        except TlaError:  # these coordinates of the result are no layout
            continue
    return with_valid(whole, UNKNOWN)


def _places(a: Layout, by_index: bool) -> Iterator[tuple[Any, Sequence[Any]]]:
    """The strides that map a coordinate of a layout to itself, and to its index; and how far what is
    valid goes there."""
    counts = a.origin_shape or ()
    if not by_index or all(at_most(1, n) for n in counts):
        yield coordinates(a.shape), counts
    if (count := _first_valid(a)) is not None:
        yield indices(a.shape), [count]


def _first_valid(a: Layout) -> Leaf | None:
    """The number of valid coordinates of a layout, where these are known to be the first ones, first mode fastest."""
    return None if a.origin_shape is None else first(product_each(a.shape), a.origin_shape)


def _box(place: Layout, begin: IntTree | None, limits: Sequence[Any], shape: IntTree) -> Sequence[Leaf] | None:
    """The valid part of each mode of a shape whose index i is place(i), moved on by `begin`; None where that is no box,
    or is fixed where nothing is known to be valid."""
    if begin is not None:
        start = as_coordinate(begin)
        left = [n - c for n, c in zip_longest(limits, start if isinstance(start, tuple) else (start,), fillvalue=_0)]
        if not all(i in axes(place.stride) or at_most(1, n) for i, n in enumerate(left)):
            return None
        limits = [n if at_most(0, n) else larger(n, _0) for n in left]
    counts = box(place.shape, place.stride, limits)
    return None if counts is None else over(place.shape, counts, shape)


def with_valid(layout: Layout, valid: Valid) -> Layout:
    """The layout with another valid part."""
    if isinstance(valid, Shape):
        valid = _kept(layout.shape, valid)
    return layout if layout._valid is valid else unchecked_layout(layout.shape, layout.stride, valid, layout._plain)


def require_origin(where: str, layout: Any) -> Shape:
    """The origin_shape of a layout; RangeError where what is valid is no box of its modes."""
    origin: Shape | None = layout.origin_shape
    if origin is None:
        what = f"{where} of {shown(layout)}: part of it is padding, and the rest no box of its modes"
        fix = (
            "take tiles by GetTile of a tensor or GetTileLayout, which know; or give the origin_shape: Layout(a.shape, "
            "a.stride, (3, 5))"
        )
        raise RangeError(what, "a layout whose origin_shape is known", fix)
    return origin


def origin_given(layout: Layout) -> str:
    """The argument that repr adds to parse(text) for an origin_shape: nothing for the default."""
    return (
        "" if layout._valid is ALL else f", origin_shape={'...' if layout._valid is UNKNOWN else repr(layout._valid)}"
    )


def unchecked_layout(shape: IntTupleLike, stride: IntTupleLike, valid: Valid = ALL, plain: object = None) -> Layout:
    """The layout of parts that the caller has proved to fit: Layout without its checks. plain:
    what plain_modes() gives."""
    new = _new(Layout)
    _set_shape(new, shape)
    _set_stride(new, stride)
    _set_valid(new, valid)
    _set_plain(new, plain)
    _set_cut(new, None)
    return new


# What is done to a layout of static integers takes less time than to look at its parts.
known_by(Layout, lambda a: () if a.plain_modes() else (a.shape, a.stride, a._valid))


@memo
def whole_of(shape: IntTupleLike) -> Shape:
    """The extent of each top-level mode: the origin_shape of a layout that is all valid."""
    return Shape(*product_each(shape))


def _as_valid(shape: IntTupleLike, origin_shape: IntTupleLike) -> Valid:
    """The valid part that an origin_shape says, which is checked."""
    given, whole = as_int_tuple(origin_shape), whole_of(shape)
    origin = tuple.__new__(Shape, modes_of(given))
    if len(origin) != len(whole) or any(isinstance(o, tuple) for o in origin):
        what = f"origin_shape {shown(origin)} of {shown(shape)}"
        expected = f"{len(whole)} integers, one per top-level mode"
        raise RankError(what, expected, "give one integer for a nested mode too")
    for o, n in zip(origin, whole):
        if at_most(o, -1) or at_most(o, n) is False:
            what = f"origin_shape {shown(origin)} of {shown(shape)}: {o} of {n}"
            raise RangeError(what, "0 up to the extent of its mode", "pad the shape")
    return _kept(shape, origin)


def _kept(shape: IntTupleLike, valid: Shape) -> Valid:
    """A box as a layout keeps it: ALL where it is all there is, static-ness included."""
    whole = whole_of(shape)
    same = valid == whole and all(is_static(o) == is_static(n) for o, n in zip(valid, whole))
    return ALL if same else valid
