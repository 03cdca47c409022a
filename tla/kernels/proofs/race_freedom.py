"""No race for all sizes, proved of a program; or the reason why that is not seen, and races are looked for
at small sizes.

Shared memory: where an access is does not depend on sizes, blocks and steps of loops, but on the thread alone. So the
elements that each thread touches between two barriers are known, and compared. A loop's body is gone through until no
access is new that may come before it: then behind it stands what any number of steps leaves.

Arguments that are written: each integer of a coordinate is T * s + r, of a block or a step s, and r of the thread
alone, 0 <= r < T. So a coordinate tells s and r. If all blocks are among the s, and the r of all accesses tell the
thread, then an element is of one thread of one block alone, whatever the sizes are.

A predicate may let an access out; that takes no race in. Assumed is that the elements of an argument that is written,
and the arguments, lie apart.

Source: ours; Betts et al., "GPUVerify", and Leung et al., "Verifying GPU Kernels by Test Amplification", for accesses
that no size changes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...algebra.predicates import is_injective
from ...core.int_tuple import size
from ...core.ints import is_constant, known
from ...core.leaf_arithmetic import add
from ...symbolic import SymInt, at
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.symint import poly_of, wrap
from ...symbolic.tree import value
from ...tensors.tensor import Tensor
from ..program.instructions import is_asynchronous
from ..program.offsets import Offsets
from ..program.statements import (
    Access,
    Barrier,
    Copy,
    Either,
    Load,
    Loop,
    Order,
    Product,
    Program,
    Reserve,
    Signal,
    Statement,
    accesses,
)
from .bounds import coordinate
from .samples import small_sizes

_OPERATIONS = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    "min": lambda a, b: _numpy().minimum(a, b),
    "max": lambda a, b: _numpy().maximum(a, b),
}


def _numpy() -> Any:
    import numpy as np

    return np


class _Unknown(Exception):
    """The reason why race freedom is not seen."""


class _Touch(NamedTuple):
    """The elements of a buffer that each thread reads, or writes: an array of (thread, element)."""

    buffer: int
    writes: bool
    places: Any

    def races(self, other: _Touch) -> bool:
        """Whether some element is touched by two threads, and written by one of them."""
        np = _numpy()
        if self.buffer != other.buffer or not (self.writes or other.writes):
            return False
        first, last = (np.full(1 + max(self.places.max(), other.places.max()), x) for x in (len(self.places), -1))
        who = np.broadcast_to(np.arange(len(self.places))[:, None], self.places.shape)
        np.minimum.at(first, self.places, who)
        np.maximum.at(last, self.places, who)
        others = np.broadcast_to(np.arange(len(other.places))[:, None], other.places.shape)
        touched = last[other.places] >= 0
        return bool((touched & ((first[other.places] != others) | (last[other.places] != others))).any())


def why_not_free(program: Program) -> str | None:
    """The reason why a program is not seen to be free of races for all sizes; None where it is proved.

    >>> import numpy as np
    >>> from tla import dim, make_layout, parse, _1, ceil_div, elem_less, local_tile, make_identity_tensor
    >>> from tla.kernels import block, copy_if, kernel, local_partition, tensor, thread
    >>> @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape, 64),))
    ... def copied(a, b):
    ...     t = parse("_32:_1")
    ...     x, y, at = (local_partition(local_tile(t0, 64, block(0)), t, thread()) for t0 in (a, b, make_identity_tensor(a.shape)))
    ...     copy_if(elem_less(at, a.shape), x, y)
    >>> print(why_not_free(copied.program(*2 * [tensor(np.float32, make_layout(dim("N"), stride=_1))])))
    None

    Source: ours.
    """
    try:
        _of_body(program.body, [], program)
        for name, x in program.arguments.items():
            if isinstance(x, Tensor):
                _of_argument(name, program)
    except _Unknown as reason:
        return str(reason)
    return None


# ------------------------------------------------------------------------------------------------------ shared memory


def _of_body(body: Sequence[Statement], before: list[_Touch], program: Program) -> list[_Touch]:
    """The accesses of shared memory since a barrier, behind statements that some stand before. Raises _Unknown for a
    race, or none seen."""
    for s in body:
        if isinstance(s, Barrier):
            before = []
        elif isinstance(s, Either):
            before = _both(*(_of_body(x, before, program) for x in (s.inside, s.otherwise)))
        elif isinstance(s, Loop):
            count = -1
            while len(before) != count:  # accesses are those of the body's statements: a few
                count, before = len(before), _both(before, _of_body(s.body, before, program))
        else:
            _require_ordered(s)
            for touch in _touches(s, program):
                if any(touch.races(x) for x in (*before, touch)):
                    raise _Unknown(f"{s.line}: shared memory that another thread may touch")
                before = _both(before, [touch])
    return before


def _both(a: list[_Touch], b: list[_Touch]) -> list[_Touch]:
    """Accesses of either, each once."""
    found = {(x.buffer, x.writes, x.places.tobytes()): x for x in (*a, *b)}
    return [*found.values()]


def _require_ordered(s: Statement) -> None:
    asynchronous = isinstance(s, (Load, Order, Reserve, Signal)) or (isinstance(s, Copy) and s.atom.asynchronous)
    if asynchronous or (isinstance(s, Product) and is_asynchronous(s.step.mma.atom)):
        raise _Unknown(f"{s.line}: an asynchronous instruction")


def _touches(s: Statement, program: Program) -> Iterator[_Touch]:
    for verb, access in accesses(s):
        if any(x.data is access.tensor.data for x in program.shared):
            places = [_of_threads(s, (*terms, n), program) for terms, n in Offsets(access.tensor).parts]
            yield _Touch(id(access.tensor.data), verb == "writes", _numpy().stack(places, axis=1))


def _of_threads(s: Statement, terms: Sequence[Any], program: Program) -> Any:
    """A sum for every thread. Raises _Unknown where it depends on more than the thread."""
    np = _numpy()
    tid = np.arange(program.threads)
    total = np.zeros(program.threads, int)
    for x in terms:
        n = known(x)
        if n is None and (not isinstance(x, SymInt) or {str(name) for name in x.symbols} != {"tid"}):
            raise _Unknown(f"{s.line}: a place in memory that depends on {x}")
        total = total + (n if n is not None else value(x.form, int, {"tid": tid}, _OPERATIONS))
    return total


# ------------------------------------------------------------------------------------------------------ arguments


def _of_argument(name: str, program: Program) -> None:
    """Require that an argument is not written, or that each of its elements is of one thread. Raises _Unknown."""
    found = [
        (s, verb, x) for s in program.statements() for verb, x in accesses(s) if program.argument_of(x.tensor) == name
    ]
    if not any(verb == "writes" for _s, verb, _x in found):
        return
    if not is_injective(at(program.arguments[name].layout, small_sizes(program))):
        raise _Unknown(f"{found[0][0].line}: {name}, whose elements do not lie apart")
    np = _numpy()
    units: list[tuple[Any, int]] | None = None
    owners: dict[tuple[int, ...], int] = {}
    for s, _verb, access in found:
        own, rests = _parted(s, access, program)
        units = own if units is None else units
        if own != units:
            raise _Unknown(f"{s.line}: parts of {name} that are cut in several ways")
        for rest in rests:
            for t, key in enumerate(zip(*(r.tolist() for r in np.broadcast_arrays(*rest)))):
                if owners.setdefault(key, t) != t:
                    raise _Unknown(f"{s.line}: an element of {name} that two threads may touch")
    told = {str(symbol) for symbol, _unit in units or ()}
    if any(not is_constant(1, n) and str(b) not in told for b, n in zip(program.blocks, program.grid)):
        raise _Unknown(f"{found[0][0].line}: an element of {name} that two blocks may touch")


def _parted(s: Statement, access: Access, program: Program) -> tuple[list[tuple[Any, int]], list[list[Any]]]:
    """The integers of coordinates as T * s + r: each s with its T, the same for all elements; of each element r for
    every thread."""
    if access.places is None:
        raise _Unknown(f"{s.line}: an argument that is no tensor of elements")
    units: list[tuple[Any, int]] = []
    rests = []
    for i in range(int(size(access.places.shape))):
        own, rest = [], []
        for c in coordinate(access.places, i):
            symbol, unit, r = _of_unit(s, c, program)
            if unit and (r.min() < 0 or r.max() >= unit):
                raise _Unknown(f"{s.line}: parts that overlap")
            own.append((symbol, unit))
            rest.append(r)
        if units and own != units:
            raise _Unknown(f"{s.line}: elements whose blocks differ")
        units = own
        rests.append(rest)
    return units, rests


def _of_unit(s: Statement, c: Any, program: Program) -> tuple[str, int, Any]:
    """An integer as T * s + r: (s, T, r for every thread), or ("", 0, r) where it has no s."""
    others = {str(n): n for n in c.symbols if str(n) != "tid"} if isinstance(c, SymInt) else {}
    if not others:
        return "", 0, _of_threads(s, [c], program)
    symbol, blocks = next(iter(others)), [*map(str, program.blocks)]
    steps = [str(x.step) for x in program.statements() if isinstance(x, Loop)]
    if len(others) > 1 or symbol not in (*blocks, *steps):
        raise _Unknown(f"{s.line}: a coordinate {c}")
    times, rest = split(poly_of(c), next(n for n in symbols_in(poly_of(c)) if n.name == symbol))
    unit = times.const
    if unit is None or unit < 1 or symbol in {n.name for n in symbols_in(rest)}:
        raise _Unknown(f"{s.line}: a coordinate {c}")
    first = add(wrap(rest), 0)
    return symbol if symbol in blocks else "a step", unit, _of_threads(s, [first], program)
