"""Two layouts of one array: whether the bytes are the same, and what moves if they are not.

Source: HLO semantics of bitcast and copy; XLA docs/tiled_layout.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...algebra.composition import composition
from ...algebra.inverse import left_inverse
from ...core.basis import E
from ...core.conversions import modulo, over
from ...core.digits import reached
from ...core.display import Displayed
from ...core.errors import RankError, TlaError, Unproven
from ...core.int_tuple import IntTuple, leaves, modes_of
from ...core.ints import Leaf, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus
from ...core.questions import equal
from .arguments import integers_of
from .array_shape import ArrayShape
from .grammar import as_shape
from .index import logical_dimensions
from .lower import lower
from .map_chain import offsets_in
from .sizes import byte_size, element_count
from .values import Shape

if TYPE_CHECKING:
    import numpy.typing as npt

#: Dimensions that a reshape merges or splits are compared by going through them, up to this many coordinates.
COMPARABLE = 2**18

#: Two layouts are compared element by element up to this many.
MOST = 2**27


def is_bitcast(a: Shape | str, b: Shape | str, permutation: Sequence[int] | None = None) -> bool:
    """Whether an array of shape `a` is one of shape `b` as it stands: equal bytes, with the elements
    in row-major order.

    The shapes may differ as in a reshape. Elements have equal bits, the buffers equal bytes, and element k in row-major
    order has one place in both. Memory spaces S(n) do not count.

    permutation   a is transposed first, as HLO's transpose does it: dimension i of the result is dimension
                  permutation[i] of a

    >>> is_bitcast("f32[8,128]{1,0:T(8,128)}", "f32[1024]{0:T(1024)}"), is_bitcast("f32[16,128]{1,0:T(8,128)}", "f32[16,128]{0,1}")
    (True, False)
    >>> is_bitcast("f32[16,128]{1,0:T(8,128)}", "f32[128,16]{0,1:T(8,128)}", permutation=(1, 0))
    True
    >>> is_bitcast("bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}", "bf16[8,1280,16384]{2,1,0:T(8,128)(2,1)}")
    True

    Raises LoweringError for what `lower` refuses, RankError for a permutation of other dimensions; Unproven where more
    than 134,217,728 coordinates would have to be compared, or where it hangs on sizes that are names.
    Source: HLO bitcast and transpose; docs/xla.md.
    """
    a, b = as_shape(a), as_shape(b)
    if permutation is not None:
        a = transposed(a, permutation)
    answers = [equal(f(a), f(b)) for f in (_bits, element_count, byte_size, _prefix)]
    if False in answers:
        return False
    if a == b or equal(element_count(a), 0):
        return True
    if not all(isinstance(n, int) for n in (*a.dimensions, *b.dimensions)):
        if a.dimensions == b.dimensions and None not in answers and lower(a) == lower(b):
            return True
        what = f"it is not known whether {a} is {b} as it stands"
        fix = "give the names numbers: lower and parse_shape take them"
        raise Unproven(what, "sizes that are known, or one layout", fix)
    return _same_in_row_major(lower(a), logical_dimensions(a), lower(b), logical_dimensions(b))


def transposed(shape: ArrayShape, permutation: Sequence[int]) -> ArrayShape:
    """The array with its dimensions in another order, and its bytes where they are.

    >>> from tla.xla import parse_shape
    >>> print(transposed(parse_shape("f32[2,3,5]{2,0,1:T(8,128)}"), (2, 0, 1)))
    f32[5,2,3]{0,1,2:T(8,128)}
    """
    order = integers_of("permutation", permutation)
    if sorted(order) != [*range(len(shape.dimensions))]:
        what = f"the permutation {tuple(order)} of {shape}"
        raise RankError(what, f"each of 0 to {len(shape.dimensions) - 1} once", "name each dimension once")
    layout = shape.effective_layout
    places = {d: i for i, d in enumerate(order)}
    layout = layout._replace(minor_to_major=tuple(places[d] for d in layout.minor_to_major))
    dims, dynamic = tuple(shape.dimensions[d] for d in order), tuple(shape.dynamic[d] for d in order)
    return ArrayShape(shape.element_type, dims, layout, dynamic)


def _bits(shape: ArrayShape) -> int:
    return shape.bits


def _prefix(shape: ArrayShape) -> int:
    """The bytes before the first element."""
    return shape.effective_layout.dynamic_shape_metadata_prefix_bytes if any(shape.dynamic) else 0


def _same_in_row_major(a: object, dims_a: tuple[int, ...], b: object, dims_b: tuple[int, ...]) -> bool:
    if not isinstance(a, Layout) or not isinstance(b, Layout):
        return _same_everywhere(a, dims_a, b, dims_b)
    modes_a, modes_b = ([*zip(layout, dims)] for layout, dims in ((a, dims_a), (b, dims_b)))
    return all(_same_function(x, y) for x, y in _common_factors(modes_a, modes_b))


def _common_factors(a: list[tuple[Layout, int]], b: list[tuple[Layout, int]]) -> list[tuple[Any, Any]]:
    """Modes of both, in runs of equal sizes, as short as can be: the offsets of a layout are a sum over these."""
    out = []
    x, y = ([m for m in modes if m[1] > 1] for modes in (a, b))
    while x:  # and y: both are of as many elements
        one, two = [x.pop()], [y.pop()]
        while (p := math.prod(n for _m, n in one)) != (q := math.prod(n for _m, n in two)):
            if p < q:
                one.append(x.pop())
            else:
                two.append(y.pop())
        out.append((one, two))
    return out


def _same_function(a: list[tuple[Layout, int]], b: list[tuple[Layout, int]]) -> bool:
    """Whether two runs of modes, the minor-most first, give one function of the row-major index."""
    one, two = _digits_of_run(a), _digits_of_run(b)
    if one is not None and two is not None:
        return one == two
    n = math.prod(size for _m, size in a)
    return _agree(n, lambda k: _at(a, k), lambda k: _at(b, k), "merged or split inside of padding")


def _agree(n: int, f: Callable[[Any], Any], g: Callable[[Any], Any], what: str) -> bool:
    """Whether two functions of arrays agree from 0 to n: a few places first, which often show that they don't."""
    import numpy as np

    step = 2**18
    some = np.arange(0, n, n // 4096 | 1)  # an odd step meets every place of a power of two
    if not (f(some) == g(some)).all():
        return False
    if n > MOST:
        raise Unproven(f"a bitcast of {n} coordinates, {what}", f"at most {MOST:,}", "compare a part")
    return all(bool((f(k) == g(k)).all()) for k in (np.arange(at, min(at + step, n)) for at in range(0, n, step)))


def _digits_of_run(modes: list[tuple[Layout, int]]) -> list[tuple[int, int]] | None:
    """The digits of a run of modes as far as it reaches; None if one but the last is padded: it is no sum of digits."""
    out: list[tuple[int, int]] = []
    for k, (mode, n) in enumerate(modes):
        pairs = [(int(s), int(d)) for s, d in zip(leaves(mode.shape), leaves(mode.stride))]
        if k < len(modes) - 1 and math.prod(s for s, _d in pairs) != n:
            return None
        out += pairs
    return reached(out, math.prod(n for _m, n in modes))


def _at(modes: list[tuple[Layout, int]], k: npt.NDArray[Any]) -> Any:
    """The offset of element k of a run of modes, the minor-most first."""
    total: Any = 0
    for mode, n in modes:
        total = plus(total, mode(modulo(k, n)))
        k = over(k, n)
    return total


def _same_everywhere(a: Any, dims_a: tuple[int, ...], b: Any, dims_b: tuple[int, ...]) -> bool:
    count, what = math.prod(dims_a), "through a composed layout"
    return _agree(count, lambda k: a(_index(k, dims_a)), lambda k: b(_index(k, dims_b)), what)


def _index(k: npt.NDArray[Any], dims: tuple[int, ...]) -> Any:
    """The index of element k in row-major order."""
    out = []
    for n in reversed(dims):
        out.append(modulo(k, n))
        k = over(k, n)
    return tuple(reversed(out))


# -------------------------------------------------------------------------------------------------- relayout


@dataclass(frozen=True, slots=True)
class Relayout(Displayed):
    """The data that a copy between two layouts of an array moves.

    source, destination   the two shapes
    bitcast               whether nothing moves
    layout                from an offset of the destination to that of the source [elements]; None where no
                          layout says it
    run                   how many elements follow each other in both, from offset 0 on; of a composed layout of more
                          than 262,144 elements 1, though it may be more
    bytes                 how many bytes of elements move; 0 for a bitcast
    """

    source: ArrayShape
    destination: ArrayShape
    bitcast: bool
    layout: Layout | None
    run: int
    bytes: int


def relayout(a: Shape | str, b: Shape | str) -> Relayout:
    """The copy of an array from the layout of `a` to that of `b`: what it moves.

    >>> r = relayout("f32[16,128]{1,0:T(8,128)}", "f32[16,128]{0,1:T(8,128)}")
    >>> print(r.bitcast, r.layout, r.run, r.bytes)
    False (_128,_128):(_128,_1) 1 8192
    >>> relayout("f32[16,256]{1,0}", "f32[16,256]{1,0:T(8,128)}").run
    128

    Raises RankError for arrays of other dimensions or element types, and what `lower` raises. Source: HLO copy.
    """
    a, b = as_shape(a), as_shape(b)
    if not all(isinstance(n, int) for n in (*logical_dimensions(a), *logical_dimensions(b))):
        what = f"relayout of {a} and {b}"
        raise Unproven(what, "sizes that are known", "give the names numbers: parse_shape takes them as symbols")
    if (a.element_type, a.dimensions) != (b.element_type, b.dimensions):
        what = f"relayout of {a} and {b}"
        raise RankError(what, "one array: equal dimensions and element type", "ask is_bitcast(a, b) of a reshape")
    same = is_bitcast(a, b)
    source, destination = lower(a), lower(b)
    dims, count = logical_dimensions(a), element_count(a)
    if isinstance(source, Layout) and isinstance(destination, Layout) and count:
        layout, run = _backward(source, destination), _run(_placed(source, dims), _placed(destination, dims), dims)
    else:
        layout, run = None, _run_by_going_through(source, destination, dims) if count <= COMPARABLE else 1
    return Relayout(a, b, same, layout, run, 0 if same else -(-element_count(a) * a.bits // 8))


def _backward(source: Layout, destination: Layout) -> Layout | None:
    """source after the inverse of destination: an offset goes to an index, that to a coordinate, that to an offset."""
    strides = []
    for i, mode in enumerate(modes_of(destination.shape)):
        weight, out = 1, list[Leaf]()
        for s in leaves(mode):
            out.append(E[i] * static(weight))
            weight *= int(s)
        strides.append(out[0] if len(out) == 1 else IntTuple(*out))
    try:
        return composition(composition(source, Layout(destination.shape, tuple(strides))), left_inverse(destination))
    except TlaError:
        return None


class _Piece(NamedTuple):
    """Steps of one dimension: how far each goes in the coordinate, how many there are, and what one is in memory."""

    place: int
    steps: int
    stride: int


Placed = list[list[_Piece]]  # of each dimension, its digits


def _placed(layout: Layout, dims: tuple[int, ...]) -> Placed:
    out: Placed = []
    for mode, n in zip(layout, dims):
        digits, weight = _digits_of_run([(mode, n)]) or [], 1
        out.append([])
        for s, d in digits:
            out[-1].append(_Piece(weight, s, d))
            weight *= s
    return out


def _run(source: Placed, destination: Placed, dims: tuple[int, ...]) -> int:
    """Elements that follow each other in both: the digits that both have in one place, up to the first padding."""
    run, found = 1, list[list[_Piece]]([] for _n in dims)
    while True:
        for d in range(len(dims)):
            one, two = _stepping(source[d], run), _stepping(destination[d], run)
            if one and two and one.place == two.place:
                found[d].append(one._replace(steps=min(one.steps, two.steps)))
                run *= found[d][-1].steps
                break
        else:
            return min((_first_past(pieces, n, run) for pieces, n in zip(found, dims)), default=run)


def _stepping(digits: list[_Piece], step: int) -> _Piece | None:
    """The steps of a digit that are `step` in memory: of some of its own each."""
    for place, count, stride in digits:
        if step % stride == 0 and (left := count * stride // step) > 1:
            return _Piece(place * (step // stride), left, step)
    return None


def _first_past(pieces: list[_Piece], n: int, run: int) -> int:
    """The least offset whose coordinate is n or more; `run` where there is none.

    Such a coordinate is n, or has the digits of n down to one that is higher, and 0 below it.
    """
    least, offset = run, 0
    for place, count, stride in sorted(pieces, reverse=True):
        digit, n = divmod(n, place)
        if digit >= count:
            return least
        if digit + 1 < count:
            least = min(least, offset + (digit + 1) * stride)
        offset += digit * stride
    return least if n else min(least, offset)


def _run_by_going_through(source: Any, destination: Any, dims: tuple[int, ...]) -> int:
    places = dict(zip(offsets_in(destination, dims).tolist(), offsets_in(source, dims).tolist()))
    first = places.get(0)
    return 0 if first is None else next(n for n in itertools.count(1) if places.get(n) != first + n)
