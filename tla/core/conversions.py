"""Coordinates to offsets, to indices and back: crd2offset, crd2idx, idx2crd, crd2crd.

What a coordinate is made of may be a tracer, an array or an expression: it meets plain integers only, is never compared
or asked for its truth, and a digit that cannot matter costs no operation.

Source: CuTe include/cute/stride.hpp and int_tuple.hpp; TLA include/tla/layout.hpp.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Iterator
from typing import Any

from .arrays import INT64_MAX, INT64_MIN, computed, dtype_of, range_of, require_held
from .basis import BasisSum, as_coordinate, in_shape, steps_of
from .coord import Coord, CoordLike, Offset, as_coord, no_coordinate
from .digits import merged_leaves
from .errors import RangeError, RankError
from .int_tuple import as_int_tuple, leaves, product, shown
from .ints import IntLike, IntTree, IntTupleLike, _0, _1, is_constant, is_int, is_leaf, known, plain
from .kinds import AnyLayout
from .leaf_arithmetic import mul, plus, times
from .plain_ints import are_static
from .profiles import require_congruent
from .questions import equal


def crd2offset(coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> Offset:
    """The offset of a coordinate [elements]: the sum of coordinate * stride over the modes.

    coord     an integer, which runs through the shape first mode fastest, or one coordinate per mode, nested no deeper
              than the shape; of anything with + * // %
    shape     extents; the last mode has no bound, so that a tile's layout stays right past its own shape
    stride    congruent to shape [elements]
    Raises    RankError where the coordinate does not fit the shape, LeafTypeError for a bool, a float or a text

    >>> from tla import crd2offset, MakeCoord, _1, _2, _3, _4, _16, _32
    >>> crd2offset(MakeCoord(1, 5), ((_4, _2), (_4, _3)), ((_4, _16), (_1, _32)))
    37

    Source: TLA `crd2offset`.
    """
    shape, stride = as_int_tuple(shape), as_int_tuple(stride)
    require_congruent("crd2offset", shape, stride)
    return offset_of(coord, shape, stride)


def crd2idx(coord: CoordLike, shape: IntTupleLike | AnyLayout, stride: IntTupleLike | None = None) -> Offset:
    """The index of a coordinate in a shape, first mode fastest; with strides, its offset, as crd2offset. Of a layout,
    its offset there.

    >>> from tla import crd2idx
    >>> crd2idx((1, 5), (4, 6)), crd2idx((1, (1, 2)), (4, (2, 3))), crd2idx((1, 5), (4, 6), (6, 1))
    (21, 21, 11)
    >>> from tla import parse
    >>> crd2idx(38, parse("(_64,_64):(_64,_1)")), crd2idx(parse("_12:_1@1")(3), (4, 6))
    (2432, 12)

    Raises RankError where the coordinate does not fit the shape.

    Source: CuTe `crd2idx`.
    """
    if isinstance(shape, AnyLayout) and stride is None:
        return shape(coord)
    given = as_int_tuple(shape)
    if stride is not None:
        return crd2offset(coord, given, stride)
    coord = as_coord(in_shape(coord, given))
    if not isinstance(coord, tuple):
        return coord
    pairs = tuple(_matched(coord, given))
    extents = tuple(s for _c, s in pairs)
    strides = tuple(itertools.accumulate(extents, mul, initial=_1))[: len(pairs)]
    return _offset_of_coord(tuple.__new__(Coord, [c for c, _s in pairs]), extents, strides)


def _matched(coord: CoordLike, shape: IntTupleLike) -> Iterator[tuple[Any, Any]]:
    """The integers of a coordinate, each with the extent that it runs through."""
    if isinstance(coord, tuple):
        for c, s in zip(coord, _fitting(coord, shape)):
            yield from _matched(c, s)
    else:
        yield coord, product(shape)


def idx2crd(index: CoordLike, shape: IntTupleLike, stride: IntTupleLike | None = None) -> IntTree:
    """The coordinate of an index in a shape, nested like the shape; the last mode has no bound.

    index    an integer, or one per mode
    stride   if given, congruent to shape: each coordinate is index // stride % extent
    Raises   RankError where the profiles do not fit, RangeError where a stride or an extent of 0 would divide

    >>> from tla import idx2crd
    >>> print(idx2crd(16, (3, (2, 3))), idx2crd(9, (4, 2)), idx2crd(9, (4, 2), (1, 4)))
    (1,(1,2)) (1,2) (1,0)

    Source: CuTe `idx2crd`.
    """
    shape = as_int_tuple(shape)
    index = as_coord(in_shape(index, shape))
    if stride is None:
        return _split(index, shape)
    stride = as_int_tuple(stride)
    require_congruent("idx2crd", shape, stride)
    for d in leaves(stride):
        if not is_int(d):
            no_coordinate(d)
    return _split_by(index, shape, stride)


def crd2crd(coord: CoordLike, src_shape: IntTupleLike, dst_shape: IntTupleLike) -> IntTree:
    """The coordinate of shape dst at the place of a coordinate of shape src: mode by mode, or through the index.

    Raises RankError where both shapes are tuples of other ranks.

    >>> from tla import crd2crd
    >>> print(crd2crd((1, 5), (4, 6), (4, (2, 3))), crd2crd((1, 5), (4, 6), 24), crd2crd(21, 24, (4, 6)))
    (1,(1,2)) 21 (1,5)

    Source: CuTe `crd2crd`.
    """
    src = as_int_tuple(src_shape)
    return _crd2crd(as_coord(in_shape(coord, src)), src, as_int_tuple(dst_shape))


def _crd2crd(coord: IntTree, src: IntTree, dst: IntTree) -> IntTree:
    if isinstance(coord, tuple) and isinstance(src, tuple) and isinstance(dst, tuple):
        if not len(coord) == len(src) == len(dst):
            what = f"crd2crd: {shown(coord)} of {shown(src)} to {shown(dst)}"
            raise RankError(what, "equal ranks", "go through crd2idx and idx2crd")
        return tuple.__new__(Coord, map(_crd2crd, coord, src, dst))
    return _split(crd2idx(coord, src), dst)


# ------------------------------------------------------------------------------------------- the arithmetic


def offset_of(coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> Offset:
    """crd2offset of a shape and a stride that are checked."""
    try:
        total = 0 if are_static() else _sum_of_ints(coord, shape, stride)
    except (TypeError, ZeroDivisionError):  # not plain ints throughout, or refused below with a reason
        total = 0
    # A sum that is not 0 has a term that is not, and that term has the dynamic coordinate in it: the result is dynamic.
    offset = total or _offset_of_coord(as_coord(in_shape(coord, shape)), shape, stride)
    return as_coordinate(offset) if type(offset) is BasisSum else offset


def _offset_of_coord(coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> Offset:
    arrays = [x for x in leaves(coord) if dtype_of(x)]
    np = sys.modules.get("numpy")
    if np and any(isinstance(x, np.ndarray) for x in arrays):
        return _offsets_of_arrays(np, coord, shape, stride)
    return _offset_in(arrays, coord, shape, stride)


def _offset_in(arrays: list[Any], coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> Offset:
    """_offset of a coordinate with arrays and tracers in it, which compute in their dtypes: these wrap silently.

    A dtype has to hold each coordinate inside of the shape, and each sum on the way. What lies past the shape
    is not seen.
    """
    if arrays and (reach := _reach(coord, shape, stride)):
        for x in arrays:
            require_held(f"{shown(shape)}:{shown(stride)}", x, *reach)
    return _offset(coord, shape, stride)


def _reach(coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> tuple[int, int] | None:
    """Between which integers the coordinates inside of a shape and all sums on the way to their offsets lie, if
    that is known."""
    extents = [known(n) for x, n in _matched(coord, shape) if dtype_of(x)]
    reach = offset_range(shape, stride)
    if reach is None or any(n is None for n in extents):
        return None
    return reach[0], max(reach[1], max((n - 1 for n in extents if n), default=0))


def offset_range(shape: IntTupleLike, stride: IntTupleLike) -> tuple[int, int] | None:
    """The least and the largest offset inside of a shape, or integer of its coordinates, with 0; None where one
    is not known."""
    lows: dict[Any, int] = {}
    highs: dict[Any, int] = {}
    for s, d in zip(leaves(shape), leaves(stride)):
        n = known(s)
        for path, value in steps_of(d):
            step = known(value)
            if n is None or step is None:
                return None
            ends = lows if step < 0 else highs
            ends[path] = ends.get(path, 0) + max(n - 1, 0) * step
    return min(lows.values(), default=0), max(highs.values(), default=0)


# int's own operators, called by name: they pass by those of Int, and answer what is no int with NotImplemented, which
# no sum takes.
_by, _rest, _whole = int.__mul__, int.__mod__, int.__floordiv__


def _sum_of_ints(coord: object, shape: IntTree, stride: IntTree) -> int:
    total = 0
    if type(coord) is int:
        while isinstance(shape, tuple):
            if not shape:
                return total
            part, coord = _reduced(coord, shape[:-1], stride)
            total += part
            shape, stride = shape[-1], stride[-1]
        return total + _by(coord, stride)
    if not isinstance(coord, tuple) or not isinstance(shape, tuple) or len(coord) != len(shape):
        raise TypeError
    for c, s, d in zip(coord, shape, stride):
        total += _by(c, d) if type(c) is int and not isinstance(s, tuple) else _sum_of_ints(c, s, d)
    return total


def _reduced(x: int, shape: IntTree, stride: IntTree) -> tuple[int, int]:
    """The offset of x modulo the size of shape, and x divided by that size. stride may have more modes, which
    do not count."""
    total = 0
    for s, d in zip(shape, stride):
        if isinstance(s, tuple):
            part, x = _reduced(x, s, d)
            total += part
        else:
            total += _by(_rest(x, s), d)
            x = _whole(x, s)
    return total, x


def _offset(coord: object, shape: IntTree, stride: IntTree) -> Offset:
    if isinstance(coord, tuple):
        terms = [_offset(c, s, d) for c, s, d in zip(coord, _fitting(coord, shape), stride)]
    elif isinstance(shape, tuple):
        terms = list(_terms(coord, shape, stride))
    else:
        return times(coord, stride)
    return functools.reduce(plus, terms, _0)


def _terms(x: object, shape: IntTupleLike, stride: IntTupleLike) -> Iterator[Any]:
    """The digits of the integer x in `shape`, each times its stride; the last digit is what is left of x."""
    pairs = merged_leaves(zip(leaves(shape), leaves(stride)))
    if ends_empty(shape):
        pairs.append((_1, _0))  # the last mode has no digit: it takes what is left of x, and nothing comes of that
    divisor: Any = _1
    for k, (s, d) in enumerate(pairs):
        if is_constant(0, d) or (is_constant(1, s) and k < len(pairs) - 1):
            divisor = mul(divisor, s)
            if is_leaf(d) and not is_int(d):
                yield times(_0, d)  # a coordinate has all of its modes
            continue
        x, divisor = over(x, divisor), s
        yield times(modulo(x, s) if k < len(pairs) - 1 else x, d)


def ends_empty(shape: IntTupleLike) -> bool:
    """Whether the last leaf of a shape is an empty tuple, as in (4,()) and (4,(2,())): then no mode takes what is left
    of an index."""
    while isinstance(shape, tuple) and shape:
        shape = shape[-1]
    return isinstance(shape, tuple)


def _split(index: CoordLike, shape: IntTupleLike) -> IntTree:
    """idx2crd without strides."""
    if isinstance(index, tuple):
        return tuple.__new__(Coord, map(_split, index, _fitting(index, shape)))
    if not isinstance(shape, tuple):
        return index
    out = []
    for k, s in enumerate(shape):
        if k == len(shape) - 1:
            out.append(_split(index, s))
        else:
            n = product(s)
            out.append(_split(modulo(index, n), s))
            index = over(index, n)
    return tuple.__new__(Coord, out)


def _split_by(index: object, shape: IntTree, stride: IntTree) -> IntTree:
    """idx2crd with strides."""
    if isinstance(index, tuple):
        return tuple.__new__(Coord, map(_split_by, index, _fitting(index, shape), stride))
    if isinstance(shape, tuple):
        return tuple.__new__(Coord, [_split_by(index, s, d) for s, d in zip(shape, stride)])
    return _0 if is_constant(1, shape) else modulo(over(index, stride), shape)


def _fitting(coord: tuple[Any, ...], shape: IntTupleLike) -> tuple[Any, ...]:
    """The modes of a shape for the modes of a coordinate; RankError if these do not fit."""
    if not isinstance(shape, tuple):
        what = f"coordinate {shown(coord)} for the extent {shape}"
        raise RankError(what, "an integer", "nest the coordinate no deeper than the shape")
    if len(coord) != len(shape):
        what = f"coordinate {shown(coord)} has {len(coord)} modes and the shape {shown(shape)} has {len(shape)}"
        raise RankError(what, f"{len(shape)} of them, or one integer for all", "give one coordinate per mode")
    return shape


def over(x: Offset, n: Offset) -> Offset:
    """x // n, where x may be anything that computes. A static 1 costs nothing."""
    _divides_by(n)
    if power := _power_of_two(x, n):
        return x >> power
    return x if is_constant(1, n) else x // n if is_leaf(x) else computed(operator.floordiv, x, plain(n))


def modulo(x: Offset, n: Offset) -> Offset:
    """x % n, where x may be anything that computes. A static 1 costs nothing."""
    _divides_by(n)
    if _power_of_two(x, n):
        return computed(operator.and_, x, plain(n) - 1)
    return _0 if is_constant(1, n) else x % n if is_leaf(x) else computed(operator.mod, x, plain(n))


def _power_of_two(x: Any, n: object) -> int:
    """k where n is 2**k, k > 0, and x an array or tracer of integers: a shift and a mask round down as // and % do, in
    one operation.

    JAX's // and % are a dozen each, for they put right what the machine rounds towards 0.
    """
    if isinstance(n, int) and n > 1 and n & (n - 1) == 0 and range_of(dtype_of(x)):
        return int(n).bit_length() - 1
    return 0


def _divides_by(n: IntLike) -> None:
    if equal(n, 0):
        raise RangeError(
            "an integer coordinate divided by 0", "extents and strides of 1 or more", "give one coordinate per mode"
        )


def _offsets_of_arrays(np: Any, coord: CoordLike, shape: IntTupleLike, stride: IntTupleLike) -> Offset:
    """The offsets of coordinates that are integer arrays: int64, of the shape that the arrays broadcast to."""
    parts = list(leaves(coord))
    arrays = [x for x in parts if isinstance(x, np.ndarray)]
    try:
        out_shape = np.broadcast_shapes(*(a.shape for a in arrays))
    except ValueError:
        shapes = ", ".join(str(a.shape) for a in arrays)
        raise RankError(
            f"coordinate arrays of shapes {shapes}", "shapes that broadcast together", "add axes of 1 with [:, None]"
        ) from None
    if not all(isinstance(x, (int, np.ndarray)) for x in parts) or not all(
        isinstance(n, int) for n in (*leaves(shape), *leaves(stride))
    ):
        tracers = [x for x in parts if dtype_of(x) and not isinstance(x, np.ndarray)]
        return _offset_in(tracers, coord, shape, stride)  # coordinates, tracers and symbols compute by themselves
    offsets = np.asarray(_offset(coord, shape, stride))
    if offsets.dtype != np.int64 and offsets.size and not INT64_MIN <= offsets.min() <= offsets.max() <= INT64_MAX:
        what = f"offsets up to {offsets.max()} of {shown(shape)}:{shown(stride)}"
        raise RangeError(what, "offsets that fit in 64 bits", "take a tile of it, or use smaller strides")
    return np.array(np.broadcast_to(offsets, out_shape), np.int64)[()]
