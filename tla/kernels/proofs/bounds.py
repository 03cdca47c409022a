"""Every access inside of its tensor, for all sizes: proved of a program, or refused with the line and the coordinate.

`fill`, `axpby`, `transform`, `reduce` and `atomic_add` are of the valid elements of arguments alone, and their text asks for these;
of the others:

An access is of an element at some coordinate of its argument, which is known as an expression. It is inside where each
integer of the coordinate is proved to be 0 or more and less than the extent; or where the predicate of the same
statement says so of the same element. Shared memory and registers have known sizes: there each offset is proved, or
tried for every thread.

Source: ours.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from ...core.basis import as_coordinate
from ...core.composed import ComposedLayout
from ...core.errors import RangeError
from ...core.int_tuple import leaves, shown, size
from ...core.ints import Int, IntLike, Leaf, is_constant
from ...core.leaf_arithmetic import add, mul
from ...core.questions import at_most
from ...core.swizzle import Swizzle
from ...gpu.instructions.tmem import LANES, PATH_BITS
from ...symbolic import SymInt
from ...symbolic.facts import symbols_in
from ...symbolic.symint import poly_of, wrap
from ...tensors.predicated import Within
from ...tensors.tensor import Tensor, tensor_of
from ..checks.report import Refused
from ..program.offsets import Offsets
from ..program.statements import Access, Atomic, Axpby, Copy, Fill, Load, Program, Transform, accesses

_0, _1 = Int[0](), Int[1]()
_PATH = 1 << PATH_BITS


def not_inside(program: Program) -> Iterator[Refused]:
    """The accesses that are not proved to be inside their tensors, in order; of each tensor of a statement one."""
    for s in program.statements():
        where = s.where if isinstance(s, Copy) else None
        for verb, access in accesses(s):
            if isinstance(s, Load) and access.places is not None:  # what is outside comes as zeros, and is not stored
                continue
            if access.places is not None and isinstance(s, (Fill, Axpby, Transform, Atomic)):
                continue
            error = _why_not_inside(program, verb, access, where)
            if error is not None:
                yield Refused(s.line, error)


def _why_not_inside(program: Program, verb: str, access: Access, where: Within | None) -> RangeError | None:
    name = program.argument_of(access.tensor)
    if name is not None and access.places is not None:
        extents = tuple(leaves(program.arguments[name].layout.shape))
        for i in range(int(size(access.places.shape))):
            at, admitted = coordinate(access.places, i), [] if where is None else comparisons(where, i)
            if not all(_inside(c, n, admitted) for c, n in zip(at, extents)):
                place, shape = (f"({','.join(map(str, x))})" for x in (at, extents))
                what = f"{verb} {name} at {place}, which is not proved to be inside of {shape}"
                guard = "copy_if by elem_less(identity tensor cut the same way, shape)"
                fix = f"{guard}, or give sizes facts: dim('M', multiple_of=128)"
                return RangeError(what, "an element, for all sizes", fix)
        return None
    allocated = program.allocation_of(access.tensor)
    if allocated is not None:
        return _why_not_allocated(program, verb, access.tensor, program.tmem[allocated].columns)
    count = len(access.tensor.data)
    for offset in _extremes(access.tensor, count):
        if not _always_inside(offset, count, program):
            what = f"{verb} offset {shown(offset)} of {count} elements"
            return RangeError(what, "an offset inside", "allocate more, or cut the tensor otherwise")
    return None


def _why_not_allocated(program: Program, verb: str, t: Tensor, columns: int) -> RangeError | None:
    """The error of an address that is not proved to be inside of the columns that are allocated; None where all are.

    A mode of stride d goes d // 2^16 data paths and d % 2^16 columns on from one to the next, so that the last element
    of all is furthest.
    """
    steps = [((int(n) - 1), int(d)) for n, d in zip(leaves(t.layout.shape), leaves(t.layout.stride))]
    path, column = wrap(poly_of(t.offset)) // _PATH, wrap(poly_of(t.offset)) % _PATH
    last = add(path, sum(n * (d // _PATH) for n, d in steps)), add(column, sum(n * (d % _PATH) for n, d in steps))
    sides = (*zip((path, column), (LANES, columns)), *zip(last, (LANES, columns)))
    if all(_always_inside(x, most, program) for x, most in sides):
        return None
    what = f"{verb} data path {shown(last[0])}, column {shown(last[1])} of tensor memory"
    fix = "allocate more columns, or cut the tensor otherwise"
    return RangeError(what, f"{LANES} data paths of {columns} columns", fix)


def _extremes(t: Tensor, count: int) -> Iterator[Leaf]:
    """Offsets of a tensor of `count` elements, which are all inside if these are.

    A swizzle keeps a place in its period: of whole periods each is inside if the place that goes into the swizzle is.
    """
    layout = t.layout
    swizzled = isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle) and is_constant(0, t.offset)
    if swizzled and count % layout.outer.period == 0:
        t = tensor_of(None, t.data, layout.offset, layout.inner, t.coord, t._guard)
    numbers: dict[tuple[Leaf, ...], list[int]] = {}
    for terms, number in Offsets(t).parts:
        numbers.setdefault(terms, []).append(number)
    for terms, found in numbers.items():
        for number in {min(found), max(found)}:
            yield functools.reduce(add, terms, number)


def coordinate_of(places: Tensor, i: IntLike) -> Any:
    """The coordinate of an element in the argument."""
    return as_coordinate(places.offset + places.layout(i))


def coordinate(places: Tensor, i: int) -> tuple[Any, ...]:
    """The coordinate of an element in the argument, its integers in a row."""
    return tuple(leaves(coordinate_of(places, i)))


def comparisons(where: Within, i: int) -> list[tuple[Any, Any]]:
    """The comparisons of a predicate for an element: (integer, what it is to be less than)."""
    return [*zip(coordinate(where.coordinates, i), leaves(where.bounds))]


def in_argument(program: Program, access: Access, i: int) -> list[tuple[Any, Any]]:
    """The comparisons that an element of an argument asks for, of (coordinate, extent), where no proof says so."""
    name = program.argument_of(access.tensor)
    if name is None or access.places is None:
        return []
    return [*zip(coordinate(access.places, i), leaves(program.arguments[name].layout.shape))]


def is_less(c: Any, n: Any) -> bool:
    """Whether c < n is proved."""
    return at_most(add(c, _1), n) is True


def _inside(c: Any, n: Any, admitted: list[tuple[Any, Any]]) -> bool:
    """Whether 0 <= c < n by proof or by a comparison: of x < bound, d*c < d*n where d*c - x <= d*n - bound.

    d is 1; or bound//n, where a scale is of d elements: of 32*c + r < 32*n, c is less than n. Or windows are k elements
    apart: of x < bound, k*(x + 1) <= k*bound, and c < n where c + 1 - k*(x + 1) <= n - k*bound.
    """
    if at_most(_0, c) is not True:
        return False
    if is_less(c, n):
        return True
    return any(
        at_most(add(mul(c, d), bound), add(x, mul(n, d))) is True for x, bound in admitted for d in _factors(n, bound)
    ) or any(
        at_most(add(add(c, _1), mul(bound, k)), add(n, mul(add(x, _1), k))) is True
        for x, bound in admitted
        for k in _times(c, x)
    )


def _factors(n: Any, bound: Any) -> Iterator[int]:
    """1, and how many times a bound is n, where it is."""
    yield 1
    m, first = next(iter(poly_of(n)), ((), 0))
    of_bound = dict(poly_of(bound)).get(m, 0)
    if first and of_bound % first == 0 and of_bound // first > 1 and mul(n, of_bound // first) == bound:
        yield of_bound // first


def _times(a: Any, b: Any) -> Iterator[int]:
    """The factor by which the first term of b with symbols is in a, if it is 2 or more."""
    m, first = next(((m, k) for m, k in poly_of(b) if m), ((), 0))
    of_a = dict(poly_of(a)).get(m, 0)
    if first and of_a % first == 0 and of_a // first > 1:
        yield of_a // first


def _always_inside(offset: IntLike, count: int, program: Program) -> bool:
    """Whether an offset is 0 or more and less than a count, by proof, for all threads at once or for each."""
    if at_most(_0, offset) is True and at_most(add(offset, _1), count) is True:
        return True
    if not isinstance(offset, SymInt) or "tid" not in {n.name for n in symbols_in(poly_of(offset))}:
        return False
    each = {offset.at(tid=t) for t in range(program.threads)}
    return all(at_most(_0, x) is True and at_most(add(x, _1), count) is True for x in each)
