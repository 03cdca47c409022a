"""No race for all sizes, proved of a program; or the reason why that is not seen, and races are looked for
at small sizes.

Shared and tensor memory: see shared_memory.

Arguments that are written: each integer of a coordinate is T * s + r, of a block or a step s, and r of the thread
alone, 0 <= r < T. So a coordinate tells s and r. If all blocks are among the s, and the r of all accesses tell the
thread, then an element is of one thread of one block alone, whatever the sizes are.

What TMA stores it stores once: nobody else touches that argument, and steps of a loop store other elements.

What is nothing but added to, atomically, has no race, whoever does.

A predicate that compares a thread's number with a number lets threads out, as those of a warp but the first; another
one may, and that takes no race in. Assumed is that the elements of an argument that is written,
and the arguments, lie apart.

Source: ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...algebra.predicates import is_injective
from ...core.errors import RangeError
from ...core.int_tuple import size
from ...core.ints import known
from ...core.leaf_arithmetic import add
from ...symbolic import SymInt, at
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.symint import poly_of, wrap
from ...tensors.predicated import Within
from ...tensors.tensor import Tensor
from ..checks.report import Refused
from ..program.offsets import names_of
from ..program.reads import first_read
from ..program.statements import (
    Access,
    Atomic,
    Copy,
    Load,
    Loop,
    Program,
    Read,
    Statement,
    accesses,
    bodies_of,
    statements_of,
)
from .bounds import comparisons, coordinate
from .samples import small_sizes
from .shared_memory import SharedMemory
from .touches import Unknown, admitted, of_threads
from .ways import MOST_STEPS


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
        SharedMemory(program).require_no_race()
        for name, x in program.arguments.items():
            if isinstance(x, Tensor):
                _of_argument(name, program)
    except Unknown as reason:
        return str(reason)
    return None


def not_apart(program: Program) -> Iterator[Refused]:
    """The writes at places that elements choose, as `read_index` gives them, not seen to be of one thread each: small
    sizes have none of these elements, and tell nothing of them."""
    reads = program.reads
    for s in program.statements() if reads else ():
        for verb, x in accesses(s):
            name = program.argument_of(x.tensor)
            if verb == "reads" or name is None or x.places is None or isinstance(s, Atomic):
                continue
            found = first_read(reads, coordinate(x.places, 0))
            if found is None:
                continue
            try:
                _of_argument(name, program)
            except Unknown as reason:
                what = f"writes {name} where the element read at {found.line} says: {reason}"
                fix = "write read_index(..., distinct=True) where no two elements are the same, or atomic_add"
                if found.distinct:
                    fix = "read an element of its own in each block, and write its row alone; or use atomic_add"
                yield Refused(s.line, RangeError(what, "elements that one thread writes", fix))


def _of_argument(name: str, program: Program) -> None:
    """Require an argument nobody writes, or of one thread each element, or added to by atomics. Raises Unknown."""
    import numpy as np

    accessed = ((s, verb, x) for s in program.statements() for verb, x in accesses(s))
    found = [(s, verb, x) for s, verb, x in accessed if program.argument_of(x.tensor) == name]
    written = [s for s, verb, _x in found if verb == "writes"]
    if not written or (len(written) == len(found) and all(isinstance(s, Atomic) for s in written)):
        return
    if not is_injective(at(program.arguments[name].layout, small_sizes(program))):
        raise Unknown(f"{found[0][0].line}: {name}, whose elements do not lie apart")
    for s, verb, _x in found:
        if verb == "reads" and (isinstance(s, Load) or (isinstance(s, Copy) and s.atom.asynchronous)):
            raise Unknown(f"{s.line}: an asynchronous copy of {name}, which is written")
        if isinstance(s, Load) and len(found) > 1:
            raise Unknown(f"{s.line}: {name}, which a store by TMA and others touch")
    units: list[tuple[Any, int]] | None = None
    owners: dict[tuple[int, ...], int] = {}
    for s, _verb, access in found:
        own, rests = _parted(s, access, program)
        units = own if units is None else units
        if own != units:
            raise Unknown(f"{s.line}: parts of {name} that are cut in several ways")
        for rest, chosen in rests:
            keys = [*zip(*(r.tolist() for r in np.broadcast_arrays(*rest)))]
            if isinstance(s, Load) and keys[0] in owners:
                raise Unknown(f"{s.line}: an element of {name} that stores by TMA may write in two steps")
            for t in [0] if isinstance(s, Load) else np.flatnonzero(chosen).tolist():
                if owners.setdefault(keys[t], t) != t:
                    raise Unknown(f"{s.line}: an element of {name} that two threads may touch")
    reads = program.reads
    told = {_told_by(reads[n], program) if n in reads else n for n, _unit in units or ()}
    for s, _verb, access in found:
        if isinstance(s, Load):
            loops = {str(x.step) for x in _loops_around(s, program.body)} - _steps(access.places, program).keys()
            if loops and (len(loops) > 1 or "a step" not in told):
                raise Unknown(f"{s.line}: an element of {name} that stores by TMA may write in two steps")
    if any(known(n) != 1 and str(b) not in told for b, n in zip(program.blocks, program.grid)):
        raise Unknown(f"{found[0][0].line}: an element of {name} that two blocks may touch")


def _loops_around(s: Statement, body: Sequence[Statement]) -> list[Loop]:
    """The loops that a statement is in."""
    for x in body:
        inside = [y for body in bodies_of(x) for y in body]
        if any(y is s for y in statements_of(inside)):
            return [*([x] if isinstance(x, Loop) else ()), *_loops_around(s, inside)]
    return []


def _parted(s: Statement, access: Access, program: Program) -> tuple[list[tuple[Any, int]], list[tuple[Any, Any]]]:
    """The integers of coordinates as T * s + r: each s with its T, the same for all elements; of each element r for
    every thread, and which threads a predicate lets touch it."""
    if access.places is None:
        raise Unknown(f"{s.line}: an argument that is no tensor of elements")
    import numpy as np

    units: list[tuple[Any, int]] = []
    rests, reads = [], program.reads
    where = s.where if isinstance(s, Copy) else None
    for found, asked in _coordinates(access.places, where, program):
        own, rest = [], []
        for c in found:
            if all(_told_by(reads[n], program) for n in names_of(c) & reads.keys()):
                symbol, unit, r = _of_unit(s, c, program)
            else:  # it tells nothing: what others tell is to be enough
                symbol, unit, r = "", 0, np.zeros(program.threads, int)
            if unit and (r.min() < 0 or r.max() >= unit):
                raise Unknown(f"{s.line}: parts that overlap")
            own.append((symbol, unit))
            rest.append(r)
        if units and own != units:
            raise Unknown(f"{s.line}: elements whose blocks differ")
        units = own
        rests.append((rest, admitted(s.line, asked, program)))
    return units, rests


def _coordinates(
    places: Tensor, where: Within | None, program: Program
) -> Iterator[tuple[tuple[Any, ...], list[tuple[Any, Any]]]]:
    """The coordinates of elements with the comparisons of a predicate; of loops of known length in each step."""
    steps = _steps(places, program)
    for i in range(int(size(places.shape))):
        found, asked = coordinate(places, i), [] if where is None else comparisons(where, i)
        for values in itertools.product(*map(range, steps.values())):
            now = dict(zip(steps, values))
            yield tuple(at(c, now) for c in found), [(at(c, now), n) for c, n in asked]


def _steps(places: Tensor | None, program: Program) -> dict[str, int]:
    """The loops that coordinates are of, gone step by step with these; none of unknown length, or of too many."""
    if places is None:
        return {}
    of = set().union(*(map(str, c.symbols) for c in coordinate(places, 0) if isinstance(c, SymInt)))
    loops = [(str(s.step), known(s.count)) for s in program.statements() if isinstance(s, Loop) and str(s.step) in of]
    steps = {name: n for name, n in loops if n is not None}
    return steps if math.prod(steps.values()) <= MOST_STEPS else {}


def _of_unit(s: Statement, c: Any, program: Program) -> tuple[str, int, Any]:
    """An integer as T * s + r: (s, T, r for every thread), or ("", 0, r) where it has no s."""
    others = {str(n): n for n in c.symbols if str(n) != "tid"} if isinstance(c, SymInt) else {}
    if not others:
        return "", 0, of_threads(s.line, [c], program)
    symbol, blocks = next(iter(others)), [*map(str, program.blocks)]
    steps = [str(x.step) for x in program.statements() if isinstance(x, Loop)]
    if len(others) > 1 or symbol not in (*blocks, *steps, *program.reads):
        raise Unknown(f"{s.line}: a coordinate {c}")
    times, rest = split(poly_of(c), next(n for n in symbols_in(poly_of(c)) if n.name == symbol))
    unit = times.const
    if unit is None or unit < 1 or symbol in {n.name for n in symbols_in(rest)}:
        raise Unknown(f"{s.line}: a coordinate {c}")
    first = add(wrap(rest), 0)
    return "a step" if symbol in steps else symbol, unit, of_threads(s.line, [first], program)


def _told_by(read: Read, program: Program) -> str | None:
    """The block that an element tells, as each has another one; None where it tells none.

    Distinct elements of places T * b + r, of a block b, are other ones for another b.
    """
    at = [] if read.source.places is None else [c for c in coordinate(read.source.places, 0) if known(c) is None]
    if not read.distinct or len(at) != 1:
        return None
    for block in program.blocks:
        times, rest = split(poly_of(at[0]), next(iter(symbols_in(poly_of(block)))))
        if known(wrap(times)) not in (None, 0) and known(wrap(rest)) is not None:
            return str(block)
    return None
