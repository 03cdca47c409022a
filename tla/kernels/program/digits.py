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
from typing import Any

from ...core.ints import Leaf
from ...core.leaf_arithmetic import add, mul
from ...symbolic import SymInt, index
from ...symbolic.tree import Tree, names

_DIGIT = re.compile(r"\btid_(\d+)_(\d+)\b")


def digits_of(expressions: Sequence[Any], threads: int) -> Leaf | None:
    """The number of a thread as the sum of the digits that expressions ask for; None where they ask for none."""
    trees = [x.form for x in expressions if isinstance(x, SymInt)]
    units = [1]
    for c in sorted({c for t in trees for c in _divisors(t)}):
        if c > units[-1] and c % units[-1] == 0 and threads % c == 0 and c < threads:
            units.append(c)
    if len(units) == 1:
        return None
    total: Leaf = 0
    for unit, end in zip(units, (*units[1:], threads)):
        total = add(total, mul(unit, index(f"tid_{unit}_{end}", end // unit)))
    return total


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


def loops(lines: list[str], kind: str, threads: int, before: Sequence[str]) -> list[str]:
    """Lines of each thread in the loops over the digits that they name; or in one over the threads.

    kind     the type of integers
    before   the lines in front of the innermost loop
    """
    text = "\n".join(lines)
    units = sorted({1, threads}.union(*(map(int, found) for found in _DIGIT.findall(text))))
    named = [("tid", 1, threads)]
    if len(units) > 2:
        named = [(f"tid_{a}_{b}", a, b // a) for a, b in itertools.pairwise(units)]
    if len(named) > 1 and re.search(r"\btid\b", text):
        sums = " + ".join(name if a == 1 else f"{name} * {a}" for name, a, _n in named)
        lines = [f"const {kind} tid = {sums};", *lines]
    for k, (name, _a, n) in enumerate(named):
        first = [] if k else before
        lines = [*first, f"for ({kind} {name} = 0; {name} < {n}; ++{name}) {{", *(f"    {line}" for line in lines), "}"]
    return lines
