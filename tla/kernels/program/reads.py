"""The integers that a kernel reads from its arguments, as `read_index` gives them, and what it may do with these.

Such an argument nobody writes, so that an element is the same whenever it is read. Its integer may choose places in
arguments, steps of loops and what conditions ask, where it is known; a place in other memory, of which all blocks and
steps have the same, it may not.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.errors import LeafTypeError, RangeError, TlaError
from ...symbolic import SymInt
from ..block.lines import Line
from .offsets import Offsets
from .statements import (
    Access,
    Copy,
    Either,
    Load,
    Loop,
    Product,
    Program,
    Read,
    Signal,
    Statement,
    accesses,
    statements_of,
)


def require_reads(program: Program) -> None:
    """Raise the error of the first integer of an element that the program may not use so."""
    reads = program.reads
    if not reads:
        return
    for condition in program.conditions:
        if found := _first(reads, (condition.a, condition.b)):
            what = f"{found.line}: the condition {condition}, which rests on an element"
            raise RangeError(what, "conditions of sizes, which the launch asks", "give below= an extent that proves it")
    _require_in_scope(program.body, reads, {*reads})
    for s in program.statements():
        if isinstance(s, Read):
            _require_source(program, s)
        for _verb, access in accesses(s):
            if program.argument_of(access.tensor) is None and (found := _first(reads, Offsets(access.tensor).wanted)):
                what = f"{s.line}: a place in shared memory or registers that the element read at {found.line} chooses"
                raise LeafTypeError(what, "elements that choose places in arguments", "copy by stages of the loop")


def _require_source(program: Program, s: Read) -> None:
    """Require the element of an argument that nobody writes, the same for all threads."""
    t = s.source.tensor
    name = program.argument_of(t)
    if str(program.thread) in names_of(Offsets(t).wanted):
        fix = "give each block its own, by block(0); or load a tile of them, and compare it"
        raise LeafTypeError(f"{s.line}: read_index of another element for each thread", "one for all threads", fix)
    written = [
        x for x in program.statements() for verb, a in accesses(x) if verb == "writes" and a.tensor.data is t.data
    ]
    if written:
        what = f"{s.line}: read_index of {name}, which the kernel writes at {written[0].line}"
        raise LeafTypeError(what, "an argument that nobody writes", "read it in a kernel of its own")


def _require_in_scope(body: Sequence[Statement], reads: dict[str, Read], unknown: set[str]) -> set[str]:
    """Require that what a body uses has been read before it, outside or in the body: those that are unknown behind."""
    unknown = {*unknown}
    for s in body:
        if found := _first({name: reads[name] for name in unknown}, integers_of(s)):
            raise _out_of_scope(s.line, found)
        for inside in bodies_of(s):
            _require_in_scope(inside, reads, unknown)
        if isinstance(s, Read):
            unknown.discard(str(s.symbol))
    return unknown


def _out_of_scope(line: Line, found: Read) -> TlaError:
    what = f"{line}: the element read at {found.line}, outside of the loop or the condition that it was read in"
    return RangeError(what, "an element that was read", "read it before the loop or the condition")


def bodies_of(s: Statement) -> tuple[Sequence[Statement], ...]:
    """The bodies of a loop or a condition."""
    return (s.body,) if isinstance(s, Loop) else (s.inside, s.otherwise) if isinstance(s, Either) else ()


def read_in_loops(program: Program) -> frozenset[str]:
    """The names of the integers that are other ones in each step of a loop."""
    loops = (s for s in program.statements() if isinstance(s, Loop))
    return frozenset(str(x.symbol) for s in loops for x in statements_of(s.body) if isinstance(x, Read))


def integers_of(s: Statement) -> Iterator[Any]:
    """The integers that a statement is of, but for those of statements in it."""
    for _verb, access in accesses(s):
        yield from _of_access(access)
    if isinstance(s, Copy) and s.where is not None:
        yield from _of_access(Access(s.where.coordinates))
    elif isinstance(s, Loop):
        yield s.count
    elif isinstance(s, Either):
        yield from (x for pair in s.asked for x in pair)
    elif isinstance(s, Product) and not isinstance(s.accumulates, bool):
        yield from (x for pair in s.accumulates for x in pair)
    elif isinstance(s, Read):
        yield s.below
    if isinstance(s, (Load, Signal)):
        yield s.at
        yield from (() if s.mask is None else s.mask.shifts)
    if isinstance(s, Signal):
        yield s.number


def _of_access(access: Access) -> Iterator[Any]:
    yield from Offsets(access.tensor).wanted


def _first(reads: dict[str, Read], integers: Any) -> Read | None:
    """The first element that integers are of; None of others."""
    return next((reads[name] for name in names_of(integers) if name in reads), None)


def names_of(integers: Any) -> Iterator[str]:
    """The names of the symbols in integers."""
    return (str(n) for x in integers if isinstance(x, SymInt) for n in x.symbols)
