"""The values of a program: arrays and tables of tuples, when each lives, and which share memory.

Source: XLA xla/hlo/analysis/hlo_dataflow_analysis.cc and hlo_alias_analysis.cc; xla/service/hlo_value.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ..shapes.array_shape import ArrayShape
from .aliasing import Path
from .module import Module
from .program import Located


class Table(NamedTuple):
    """The value of a tuple: its table of pointers, and its elements."""

    value: int
    elements: tuple[Tree, ...]


Tree = Table | int | None  # None: a token, which takes no memory


@dataclass(slots=True)
class Value:
    """An array, or the table of a tuple, that an instruction writes.

    name, path   the instruction, and which part of its result
    line         the instruction with its place; of a loop's result the loop
    shape        None for a table
    bytes, space
    kind         "argument", "constant", "temporary", "local" to a computation that is applied to elements, or "scratch"
                 of a SparseCore
    start, end   steps: from the one that writes it to the last one at which it is read, or has another
                 name, both included
    uses         the steps that read it, each with the number of the computation that it is in
    same         the number of a value that is this very one: what a loop hands on as it stands; else its own
    buffer       the number of a value that shares memory with it, or its own
    """

    name: str
    path: Path
    line: Located
    shape: ArrayShape | None
    bytes: int
    space: int
    kind: str
    start: int
    end: int
    uses: list[tuple[int, int]]
    same: int
    buffer: int


@dataclass(slots=True)
class Flow:
    """The values of a module, its steps, the values of its result, and what could not be followed.

    spans      of each computation that runs, in the order in which they begin: its first step, and the one
               behind its last
    branches   of each step that is a conditional: the numbers of its branches in `spans`
    """

    module: Module
    steps: list[Located] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    results: Tree = None
    spans: list[tuple[int, int]] = field(default_factory=list)
    branches: dict[int, list[int]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def same(self, value: int) -> int:
        """The number that stands for a value: its own, or that of the one which a loop hands on as this one."""
        values = self.values
        while values[value].same != value:
            value = values[value].same
        return value

    def merge(self, value: int, other: int) -> None:
        """One value for two, which the first stands for; see `settle`."""
        one, two = sorted((self.same(value), self.same(other)))
        if one != two:
            self.values[two].same = one
            self.share(one, two)

    def settle(self) -> None:
        """Let a value live as long as all that are this very one, and be read by what reads these. It is done when all
        is followed: what a loop hands on is read by the loop's name, too."""
        for number, value in enumerate(self.values):
            if value.same != number:
                first = self.values[self.same(number)]
                first.end = max(first.end, value.end)
                first.uses += value.uses

    def buffer(self, value: int) -> int:
        """The number that stands for the buffer of a value."""
        values, root = self.values, value
        while values[root].buffer != root:
            root = values[root].buffer
        while values[value].buffer != root:
            values[value].buffer, value = root, values[value].buffer
        return root

    def joined(self) -> dict[int, list[Value]]:
        """The values of each buffer that has several, by its number; those that are another one left out."""
        values = self.values
        others = [number for number, value in enumerate(values) if value.buffer != number]
        roots = {number: self.buffer(number) for number in others}
        roots |= {root: root for root in roots.values()}
        found: dict[int, list[Value]] = {root: [] for root in sorted(roots.values())}
        for number in sorted(roots):
            if values[number].same == number:
                found[roots[number]].append(values[number])
        return found

    def share(self, a: Tree, b: Tree) -> None:
        """One buffer for each array of a and that of b."""
        for x, y in zip(leaves(a), leaves(b)):
            one, two = self.buffer(x), self.buffer(y)
            if one != two:
                self.values[max(one, two)].buffer = min(one, two)

    def own(self) -> Iterator[int]:
        """The numbers of the values that are no other one."""
        return (k for k, value in enumerate(self.values) if value.same == k)


def leaves(tree: Tree) -> Sequence[int]:
    """All values of a tree, tables included."""
    if isinstance(tree, int):
        return (tree,)
    if tree is None:
        return ()
    found = [tree.value]
    for element in tree.elements:
        found += leaves(element)
    return found


def arrays(tree: Tree) -> Iterator[int]:
    """The arrays of a tree, without tables."""
    if isinstance(tree, Table):
        for element in tree.elements:
            yield from arrays(element)
    elif tree is not None:
        yield tree


def part(tree: Tree, path: Path) -> Tree:
    """A part of a tree; None where it has none."""
    for k in path:
        if not isinstance(tree, Table) or k >= len(tree.elements):
            return None
        tree = tree.elements[k]
    return tree
