"""Loops whose predicates only matter at the edges: one copy of the loop for blocks that lie inside, without them, and
one for the others.

A comparison c < n of a predicate holds for all threads and steps if it holds for the largest c. Where c is a part of
the thread plus the rest, its largest is at the thread whose part is; where it is seen not to fall from step to step, at
the last step. So a block asks once.

Source: ours; compilers call it loop versioning.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...core.int_tuple import size
from ...core.ints import Leaf, known
from ...core.leaf_arithmetic import add
from ...core.questions import at_most
from ...symbolic import assuming
from ...symbolic.poly import poly
from ...symbolic.symint import poly_of
from ...symbolic.tree import Tree, names
from ..program.offsets import names_of
from ..program.statements import Copy, Either, Fill, Loop, Program, Read, Statement, statements_of
from ..proofs.bounds import comparisons, is_less


def with_whole_tiles(program: Program) -> Program:
    """The program with two copies of each loop with predicates, where a block can tell that all of them hold."""
    return replace(program, body=tuple(_whole_loops(s, program) for s in program.body))


def _whole_loops(s: Statement, program: Program) -> Statement:
    """A statement with two copies of each of its outer loops that has predicates."""
    if isinstance(s, Either):
        inside, otherwise = (tuple(_whole_loops(x, program) for x in body) for body in (s.inside, s.otherwise))
        return replace(s, inside=inside, otherwise=otherwise)
    return _versioned(s, program) if isinstance(s, Loop) else s


def with_whole_copies(program: Program) -> Program:
    """The program with two copies of each of its predicated copies, where a block can tell at every step that all of
    one is inside.

    For targets where a branch costs nothing, and a loop over threads with predicates much.
    """
    return replace(program, body=_whole_copies(program.body, program))


def _whole_copies(body: Sequence[Statement], program: Program) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in body:
        if isinstance(s, Loop):
            s = replace(s, body=_whole_copies(s.body, program))
        elif isinstance(s, Either):
            s = replace(s, inside=_whole_copies(s.inside, program), otherwise=_whole_copies(s.otherwise, program))
        elif isinstance(s, Copy) and (needed := _needed((s,), None, program)):
            whole = (*found[-1:], s) if found and is_filled_before(found[-1], s) else (s,)
            del found[len(found) - len(whole) + 1 :]
            s = Either(s.line, needed, _inside(whole), whole)
        found.append(s)
    return tuple(found)


def _versioned(loop: Loop, program: Program) -> Statement:
    needed = () if any(isinstance(s, Loop) for s in loop.body) else _needed(loop.body, loop, program)
    return Either(loop.line, needed, (replace(loop, body=_inside(loop.body)),), (loop,)) if needed else loop


def _needed(body: Sequence[Statement], loop: Loop | None, program: Program) -> tuple[tuple[Any, Any], ...]:
    """The comparisons c < n that a block asks once for all predicates of statements; none if it cannot tell."""
    asked: dict[Any, tuple[Any, Any]] = {}
    inside = {str(s.symbol) for s in statements_of(() if loop is None else loop.body) if isinstance(s, Read)}
    for s in body:
        for c, n in _asked(s):
            most = _largest(c, loop, program)
            if most is None or not inside.isdisjoint(names_of(most, n)):
                return ()
            if not is_less(most, n):
                asked[poly_of(most), poly_of(n)] = most, n

    return strictest(asked.values())


def strictest(asked: Iterable[tuple[Any, Any]]) -> tuple[tuple[Any, Any], ...]:
    """Comparisons c < n without those that another one is seen to imply, of the same n."""
    pairs = [*asked]

    def is_implied(c: Any, n: Any) -> bool:
        return any(c is not x and n is m and at_most(c, x) is True for x, m in pairs)

    return tuple((c, n) for c, n in pairs if not is_implied(c, n))


def _inside(body: Sequence[Statement]) -> tuple[Statement, ...]:
    """Statements of blocks that lie inside: copies have no predicates, and what they fill nobody has to fill before."""
    kept = [s for s, after in zip(body, (*body[1:], None)) if not is_filled_before(s, after)]
    return tuple(replace(s, where=None) if isinstance(s, Copy) else s for s in kept)


def _asked(s: Statement) -> Iterator[tuple[Any, Any]]:
    """The unproved comparisons of a predicate, each once; of those that differ by a number that of the largest."""
    if isinstance(s, Copy) and s.where is not None:
        pairs: dict[Any, tuple[int, Any, Any]] = {}
        for i in range(int(size(s.source.tensor.shape))):
            for c, n in comparisons(s.where, i):
                terms = [*poly_of(c)]
                number = sum(x for m, x in terms if not m)
                key = poly((m, x) for m, x in terms if m), poly_of(n)
                if key not in pairs or number > pairs[key][0]:
                    pairs[key] = number, c, n
        yield from ((c, n) for _number, c, n in pairs.values() if not is_less(c, n))


def is_filled_before(s: object, after: object) -> bool:
    """Whether a statement fills what the predicated copy behind it writes."""
    if not isinstance(s, Fill) or not isinstance(after, Copy) or after.where is None:
        return False
    a, b = s.target.tensor, after.target.tensor
    return a.data is b.data and a.layout == b.layout and bool(a.offset == b.offset)


def _largest(c: Any, loop: Loop | None, program: Program) -> Leaf | None:
    """The largest value of an expression in a block and its loops' steps, if any; None where it is not seen."""
    symbols = names_of(c)
    if "tid" in symbols:
        first = c.at(tid=0)
        steps = [known(add(c.at(tid=t), -first)) for t in range(program.threads)]
        if None in steps:
            return None
        c = add(first, max(x for x in steps if x is not None))
    if loop is None or str(loop.step) not in symbols:
        return c
    if not _grows(c.form, str(loop.step)):
        return None
    with assuming():  # that there is a last step: of a loop of none either copy does
        return c.at({str(loop.step): add(loop.count, -1)})


def _grows(t: Tree, name: str) -> bool:
    """Whether a tree is seen not to fall where a name grows: sums, min, max; times or by numbers of 0 or more."""
    if name not in names(t) or t.op == "v":
        return True
    moving = [x for x in t.args if name in names(x)]
    fixed = [x for x in t.args if name not in names(x)]
    if t.op == "*":
        return len(moving) == 1 and all(x.op == "n" and x.args[0] >= 0 for x in fixed) and _grows(moving[0], name)
    if t.op == "//":
        return len(moving) == 1 and t.args[1].op == "n" and t.args[1].args[0] > 0 and _grows(t.args[0], name)
    return t.op in ("+", "min", "max") and all(_grows(x, name) for x in moving)
