"""Composition: the layout of one layout after another.

A result equals its definition on the whole domain, or is refused. What is static is worked in plain ints; the profile
of a result never depends on the value of a dynamic integer, and whether it is right does, and is checked
with the value.

Source: CuTe include/cute/layout.hpp; the whitepaper, arXiv 2603.02298.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.basis import BasisSum, steps_of
from ..core.conversions import ends_empty
from ..core.errors import DivisibilityError, RangeError, RankError, Unproven
from ..core.int_tuple import IntTuple, as_int_tuple, leaves, like, product_each, shown, size
from ..core.ints import IntTree, IntTupleLike, _0, _1, is_constant
from ..core.kinds import certified
from ..core.layout import Layout, unchecked_layout, with_valid
from ..core.questions import equal
from ..core.strides import Shape, Stride, compact_col_major
from ..core.valid import ALL, UNKNOWN, spread
from .by_mode import by_mode, in_brackets
from .composition_refusal import refusal
from .cutting import cut_diagonals, cut_static, cutter
from .flat_modes import Mode, flat_modes, merge, path_of, step_of


@in_brackets
@certified
@by_mode
def composition(a: Layout, b: Layout) -> Layout:
    """The layout R with R(c) == a(b(c)): b's coordinates, a's offsets.

    a         the outer function; past its size it goes on along its last mode
    b         a layout; or a tiler: an integer n for n:1, or a tuple of tilers, one per mode of a (the rest is dropped)
    Returns   each integer of b's shape becomes one, or a tuple of integers with its product
    Raises    DivisibilityError where no such layout exists, or none was found; RankError for more tilers than modes

    >>> from tla import composition, parse, _4
    >>> print(composition(parse("(_6,_2):(_8,_2)"), parse("(_4,_3):(_3,_1)")))
    ((_2,_2),_3):((_24,_2),_8)
    >>> print(composition(parse("(_8,_16):(_16,_1)"), (_4, parse("_2:_8"))))
    (_4,_2):(_16,_8)
    >>> print(composition[1](parse("(_4,_6):(_1,_4)"), parse("_3:_2")))        # mode 1 alone: the others stay
    (_4,_3):(_1,_8)
    >>> composition(parse("(_3,_2):(_5,_1)"), parse("(_2,_2):(_1,_2)"))
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: composition: (_3,_2):(_5,_1) o (_2,_2):(_1,_2): its modes carry together past 3
      expected  steps that go evenly through the outer layout
      fix       use compose(a, b): it is exact, and keeps both layouts

    Law: R(c) == a(b(c)) for every coordinate c of b, and b's shape is compatible with R's. A coordinate of R is valid
    if it is valid in b and b's value for it is valid in a. origin_shape is None where these coordinates are
    not known to be a box.
    Source: CuTe `composition`; the search is ours, and finds a layout wherever one exists on small domains.
    """
    made = _composed(a, b)
    if b._valid is ALL:
        return made
    if b._valid is UNKNOWN or isinstance(b.shape, tuple):  # then its modes are those of the result
        return with_valid(made, b._valid)
    counts = spread(product_each(made.shape), b._valid[0])
    return with_valid(made, UNKNOWN if counts is None else Shape(*counts))


def _composed(a: Layout, b: Layout) -> Layout:
    """The composition of shapes and strides: in plain ints where both are static, else coordinate by
    coordinate of a."""
    plain_a, plain_b = a.plain_modes(), b.plain_modes()
    if plain_a and plain_b:
        cut = cut_static(plain_a, plain_b)
        if cut.why_not:
            raise DivisibilityError(*refusal(a, b, cut.why_not))
        return cut.in_profile(b.shape)
    _require_places(a, b)
    if any(isinstance(d, BasisSum) for d in leaves(b.stride)):
        return _along_diagonals(a, b)
    modes = [(path_of(d), (s, step_of(d))) for s, d in flat_modes(b)]
    outers = {path: _mode_at(a, b, path) for path, _mode in modes}  # what b goes to; () is all of a, for offsets
    if any(is_constant(0, s) for s in leaves(b.shape)):
        strides = iter([_0 if path_of(d) else d for d in leaves(b.stride)])  # there are no coordinates to go to
        return unchecked_layout(b.shape, like(b.stride, strides, Stride))
    if any(equal(s, 0) for s in leaves(b.shape)) and any(len(outer) > 1 for outer in outers.values()):
        # one mode is never cut: the profile is that of other extents
        what = f"composition: {shown(b)} has a dynamic extent of 0"
        raise RangeError(what, "extents of 1 or more, or a static 0", "leave out what is empty")
    if any(equal(s, 0) for s in leaves(a.shape)) and not any(equal(s, 0) for s in leaves(b.shape)):
        what = f"composition: {shown(a)} has no elements"
        raise RangeError(what, "an outer layout that has some", "compose only what is not empty")
    pieces: dict[Any, Iterator[Any]] = {}
    for path, outer in outers.items():
        inner = [mode for p, mode in modes if p == path]
        cut = cutter(outer, inner, lambda: f"composition of {shown(a)} o {shown(b)}").cut(inner)
        if cut.why_not:
            raise DivisibilityError(*refusal(a, b, cut.why_not))
        pieces[path] = iter(cut.pieces)
    return _in_profile(b.shape, [next(pieces[path]) for path, _mode in modes])


def _along_diagonals(a: Layout, b: Layout) -> Layout:
    """The composition where b has strides along several modes of a."""
    what = f"composition: {shown(a)} o {shown(b)}"
    if not (a.is_static and b.is_static) or ends_empty(a.shape) or size(b) == 0:
        raise Unproven(
            f"{what}: a step along several modes", "static layouts, which are not empty", "use ComposedLayout(a, _0, b)"
        )
    outers = {path: _mode_at(a, b, path) for d in leaves(b.stride) for path, _step in steps_of(d)}
    cut = cut_diagonals(outers, flat_modes(b))
    if cut.why_not:
        expected = "steps that go evenly through the outer layout"
        raise DivisibilityError(f"{what}: {cut.why_not}", expected, "use compose(a, b): it is exact, and keeps both")
    return _in_profile(b.shape, cut.pieces)


def _in_profile(profile: IntTupleLike, cut: Sequence[Sequence[Any]]) -> Layout:
    """The layout in which each integer of a profile is cut into pieces, of leaves of any kind."""

    def parts(k: int, cls: type[IntTuple]) -> IntTree:
        each = ([piece[k] for piece in pieces] for pieces in cut)
        return like(profile, (x[0] if len(x) == 1 else cls(*x) for x in each), cls)

    return unchecked_layout(parts(0, Shape), parts(2, Stride))


def _require_places(a: Layout, b: Layout) -> None:
    """RankError where b has no value: where one of its strides goes along a mode, and another one into that mode."""
    steps = (step for s, d in flat_modes(b) if not is_constant(1, s) for step in steps_of(d))
    paths = {path for path, step in steps if not is_constant(0, step)}
    inside = next((p for p in paths for q in paths if len(q) < len(p) and p[: len(q)] == q), None)
    if inside is not None:
        mode = "@".join(map(str, reversed(inside)))
        what = f"composition: {shown(a)} o {shown(b)}: the mode {mode} is an integer and a tuple"
        raise RankError(what, "coordinates of one nesting", "use basis elements of other modes")


def _mode_at(a: Layout, b: Layout, path: tuple[int, ...]) -> list[Mode]:
    """The modes of a that a path leads to, merged; past their size they go on along the last one."""
    for i in path:
        if not isinstance(a.shape, tuple) or i >= len(a.shape):
            what = f"composition: {shown(b)} goes to mode {'@'.join(map(str, reversed(path)))} of {shown(a)}"
            raise RankError(
                what, "coordinates that the outer layout has", "nest the coordinates no deeper than its shape"
            )
        a = a[i]
    rest = [(_1, _0)] if ends_empty(a.shape) else []  # what is left of an index goes to the last mode: here, to none
    return merge([*flat_modes(a), *rest], unbounded=True)


def with_shape(layout: Layout, shape: IntTupleLike) -> Layout:
    """The layout seen through another shape: the same function of an integer, in other modes.

    >>> from tla import parse, with_shape, _4
    >>> print(with_shape(parse("(_2,_8):(_1,_4)"), (_4, _4)))
    ((_2,_2),_4):((_1,_4),_8)

    Raises what composition does. Source: CuTe `Layout::with_shape`.
    """
    target = as_int_tuple(shape)
    return composition(layout, Layout(target, compact_col_major(target)))
