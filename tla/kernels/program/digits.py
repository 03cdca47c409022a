"""A thread's number taken apart, where threads are loops: instead of tid // 32 and tid % 32 two loops,
whose steps these are.

So compilers see what is the same for all steps of the inner loop, and accesses that lie one behind the other. A
statement's digits are those that its expressions divide by; a digit is named by its unit and by that of the next:
tid_1_32, tid_32_256.

Source: ours; compilers call it strip-mining.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...core.ints import Leaf
from ...core.leaf_arithmetic import add, mul
from ...symbolic import SymInt, index
from ...symbolic.tree import Tree, names

_DIGIT = re.compile(r"\btid_(\d+)_(\d+)\b")


class Lanes(NamedTuple):
    """The innermost loop over threads.

    step    its step: a digit of the thread's number, or this
    steps   how many it has
    number  the number of a thread by digits; None where it is the step
    """

    step: SymInt
    steps: int
    number: Leaf | None

    def by_step(self, x: Any) -> Any:
        """An expression by the steps of the loops over threads."""
        return x.at({"tid": self.number}) if isinstance(x, SymInt) and self.number is not None else x


def lanes_of(expressions: Sequence[Any], threads: int) -> Lanes:
    """The innermost of the loops over threads, by the digits that expressions ask for."""
    trees = [x.form for x in expressions if isinstance(x, SymInt)]
    units = [1]
    for c in sorted({c for t in trees for c in _divisors(t)}):
        if c > units[-1] and c % units[-1] == 0 and threads % c == 0 and c < threads:
            units.append(c)
    if len(units) == 1:
        return Lanes(index("tid", threads), threads, None)
    digits = [(a, index(f"tid_{a}_{b}", b // a)) for a, b in itertools.pairwise((*units, threads))]
    number: Leaf = 0
    for unit, digit in digits:
        number = add(number, mul(unit, digit))
    return Lanes(digits[0][1], units[1], number)


def _divisors(t: Tree) -> Iterator[int]:
    """The numbers of which quotients or remainders of the thread's number are taken in a tree."""
    if t.op in "nv":
        return
    if t.op in ("//", "%") and t.args[1].op == "n" and "tid" in names(t.args[0]):
        c = t.args[1].args[0]
        yield c // math.gcd(c, _factor(t.args[0]))
    for x in t.args:
        yield from _divisors(x)


def _factor(t: Tree) -> int:
    """The factor of the thread's number in a sum of products; 1 where that is not seen."""
    if t.op == "*" and t.args[-1].op == "n" and any(x.op == "v" and x.args[0] == "tid" for x in t.args):
        return int(t.args[-1].args[0])
    return math.gcd(*(_factor(x) for x in t.args if "tid" in names(x))) if t.op in "+-" else 1


def loop_of(kind: str, step: str, end: int | str) -> str:
    """The line that begins a loop from 0."""
    return f"for ({kind} {step} = 0; {step} < {end}; ++{step}) {{"


def loops(lines: list[str], kind: str, threads: int, before: Sequence[str]) -> list[str]:
    """Lines of each thread in the loops over the digits that they name; or in one over the threads.

    Innermost loops that lines have of their own stay as they are.

    kind     the type of integers
    before   the lines in front of the innermost loop
    """
    text = "\n".join(lines)
    units = sorted({1, threads}.union(*(map(int, found) for found in _DIGIT.findall(text))))
    named = [("tid", 1, threads)]
    if len(units) > 2:
        named = [(f"tid_{a}_{b}", a, b // a) for a, b in itertools.pairwise(units)]
    number = []
    if len(named) > 1 and re.search(r"\btid\b", text):
        sums = " + ".join(name if a == 1 else f"{name} * {a}" for name, a, _n in named)
        number = [f"const {kind} tid = {sums};"]
    own = f"for ({kind} {named[0][0]} = 0;"
    if own in text:
        lines = [x for line in lines for x in (_begun(line, before, number) if own in line else [line])]
        named = named[1:]
        if not named:
            return ["{", *(f"    {line}" for line in lines), "}"]
    else:
        lines = [*number, *lines]
    for name, a, n in named:
        first = [] if a > 1 else before
        lines = [*first, loop_of(kind, name, n), *(f"    {line}" for line in lines), "}"]
    return lines


def _begun(line: str, before: Sequence[str], inside: Sequence[str]) -> list[str]:
    """The first line of a loop with lines in front of it and inside."""
    indent = line[: len(line) - len(line.lstrip())]
    return [*(f"{indent}{x}" for x in before), line, *(f"{indent}    {x}" for x in inside)]
