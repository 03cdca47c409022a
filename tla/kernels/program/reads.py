"""The integers that a kernel reads from its arguments, as `read_index` gives them, and what it may do with these.

Such an argument nobody writes, so that an element is the same whenever it is read. Its integer may choose places in
arguments, steps of loops and what conditions ask, where it is known; a place in other memory, of which all blocks and
steps have the same, it may not.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...core.basis import as_coordinate
from ...core.errors import LeafTypeError, RangeError, TlaError
from ...core.int_tuple import leaves
from ...symbolic.symint import wrap
from ..block.lines import Line
from .offsets import Offsets, names_of
from .statements import (
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
    bodies_of,
    statements_of,
)


def require_reads(program: Program) -> None:
    """Raise the error of the first integer of an element that the program may not use so."""
    reads = program.reads
    if not reads:
        return
    for condition in program.conditions:
        if found := first_read(reads, map(wrap, (condition.a, condition.b))):
            what = f"{found.line}: the condition {condition}, which rests on an element"
            raise RangeError(what, "conditions of sizes, which the launch asks", "give below= an extent that proves it")
    _require_in_scope(program.body, reads, {*reads})
    for s in program.statements():
        if isinstance(s, Read):
            _require_source(program, s)
        for _verb, access in accesses(s):
            if program.argument_of(access.tensor) is None and (
                found := first_read(reads, Offsets(access.tensor).wanted)
            ):
                what = f"{s.line}: a place in shared memory or registers that the element read at {found.line} chooses"
                raise LeafTypeError(what, "elements that choose places in arguments", "copy by stages of the loop")


def _require_source(program: Program, s: Read) -> None:
    """Require the element of an argument that nobody writes, the same for all threads."""
    t = s.source.tensor
    name = program.argument_of(t)
    if str(program.thread) in names_of(*Offsets(t).wanted):
        raise of_each_thread(f"{s.line}: read_index")
    written = [
        x for x in program.statements() for verb, a in accesses(x) if verb == "writes" and a.tensor.data is t.data
    ]
    if written:
        what = f"{s.line}: read_index of {name}, which the kernel writes at {written[0].line}"
        raise LeafTypeError(what, "an argument that nobody writes", "read it in a kernel of its own")


def _require_in_scope(body: Sequence[Statement], reads: Mapping[str, Read], unknown: set[str]) -> None:
    """Require that what a body uses has been read before it, outside or in the body; unknown: what was not outside."""
    unknown = {*unknown}
    for s in body:
        if found := first_read({name: x for name, x in reads.items() if name in unknown}, _integers_of(s)):
            raise _out_of_scope(s.line, found)
        for inside in bodies_of(s):
            _require_in_scope(inside, reads, unknown)
        if isinstance(s, Read):
            unknown.discard(str(s.symbol))


def _out_of_scope(line: Line, found: Read) -> TlaError:
    what = f"{line}: the element read at {found.line}, outside of the loop or the condition that it was read in"
    return RangeError(what, "an element that was read", "read it before the loop or the condition")


def read_in_loops(program: Program) -> frozenset[str]:
    """The names of the integers that are other ones in each step of a loop."""
    loops = (s for s in program.statements() if isinstance(s, Loop))
    return frozenset(str(x.symbol) for s in loops for x in statements_of(s.body) if isinstance(x, Read))


def _integers_of(s: Statement) -> Iterator[Any]:
    """The integers that a statement is of, but for those of statements in it."""
    for _verb, access in accesses(s):
        yield from Offsets(access.tensor).wanted
    if isinstance(s, Copy) and s.where is not None:
        yield from (*leaves(as_coordinate(s.where.coordinates.offset)), *leaves(s.where.bounds))
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


def first_read(reads: Mapping[str, Read], integers: Iterable[Any]) -> Read | None:
    """The first element that integers are of; None of others."""
    names = names_of(*integers)
    return next((s for name, s in reads.items() if name in names), None)


def of_each_thread(where: str) -> LeafTypeError:
    """The error of elements that are read, each by another thread."""
    fix = "give each block its own, by block(0); or load a tile of them, and compare it"
    return LeafTypeError(f"{where} of another element for each thread", "one for all threads", fix)
