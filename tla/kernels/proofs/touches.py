"""The elements of shared and tensor memory that a statement touches, thread by thread, whatever the sizes are.

Where an access is does not depend on sizes, blocks and steps of loops, but on the thread, and on stages that a loop
counts: so the elements are known in every step.

Source: ours; Betts et al., "GPUVerify", and Leung et al., "Verifying GPU Kernels by Test Amplification", for accesses
that no size changes.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...core.int_tuple import leaves
from ...core.ints import known
from ...symbolic import SymInt, index
from ...symbolic.tree import value
from ...tensors.predicated import Within
from ...tensors.tensor import Tensor
from ..block.allocation import place_of
from ..block.lines import Line
from ..program.offsets import Offsets
from ..program.statements import Program
from .bounds import comparisons

_OPERATIONS = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "^": operator.xor,
    "min": lambda a, b: _numpy().minimum(a, b),
    "max": lambda a, b: _numpy().maximum(a, b),
}
#: The values of the symbols that a loop counts.
Stages = Mapping[str, int]


def _numpy() -> Any:
    import numpy as np

    return np


class Unknown(Exception):
    """The reason why race freedom is not seen."""


class Known(NamedTuple):
    """The threads that know of a touch: of a group of `together` each, and of the `first` threads' touches all."""

    together: int = 1
    first: int = 0


class Touch:
    """The elements of a buffer that each thread reads, or writes.

    threads  of the block
    places   the elements, and `who` the thread of each; None where all threads touch all of them
    adds     whether it adds atomically, which is no race among such touches
    """

    def __init__(self, threads: int, buffer: int, places: Any, who: Any, *, writes: bool, adds: bool) -> None:
        np = _numpy()
        self.buffer, self.writes, self.adds, self._threads = buffer, writes, adds, threads
        self._of_all = who is None
        if who is None:  # of groups of threads these are in the first and in the last
            places, who = np.tile(places, 2), np.repeat([0, threads - 1], len(places))
        self._places, self._who = places, who
        self.key = buffer, writes, adds, self._of_all, places.tobytes(), who.tobytes()
        self._ends: dict[int, tuple[Any, Any]] = {}

    def ends(self, first: int) -> tuple[Any, Any]:
        """The first and last thread that touches each place, of those from `first` on; -1 the last where none does."""
        if first not in self._ends:
            np = _numpy()
            low, high = (np.full(1 + self._places.max(initial=0), x) for x in (self._threads, -1))
            if self._of_all:
                low[self._places], high[self._places] = first, self._threads - 1
            else:
                chosen = self._who >= first
                np.minimum.at(low, self._places[chosen], self._who[chosen])
                np.maximum.at(high, self._places[chosen], self._who[chosen])
            self._ends[first] = low, high
        return self._ends[first]

    def meets(self, later: Touch, known: Known) -> bool:
        """Whether a thread touches by `later` what another has touched, unknown to it; one of both writes."""
        if self.buffer != later.buffer or not (self.writes or later.writes) or (self.adds and later.adds):
            return False
        low, high = self.ends(known.first)
        inside = later._places < len(high)
        places, group = later._places[inside], later._who[inside] // known.together
        others = (low[places] // known.together != group) | (high[places] // known.together != group)
        return bool(((high[places] >= 0) & others).any())

    def overlaps(self, other: Touch) -> bool:
        """Whether both touch an element, whoever does."""
        if self.buffer != other.buffer:
            return False
        _low, high = self.ends(0)
        return bool((high[other._places[other._places < len(high)]] >= 0).any())


class Touches:
    """The touches of a program, each with a number: equal ones have the same."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._touches: list[Touch] = []
        self._numbers: dict[Any, int] = {}
        self._found: dict[Any, int] = {}
        self._sums: dict[int, dict[tuple[Any, ...], list[int]]] = {}
        self._symbols: dict[int, set[str]] = {}
        self._shared = {id(x.data) for x in program.shared}
        self._tmem = {id(x.data) for x in program.tmem if x.data is not None}
        self._meet: dict[tuple[int, int, Known], bool] = {}
        self._overlap: dict[tuple[int, int], bool] = {}

    def memory(self, t: Tensor) -> str:
        """The memory of a tensor: "shared", "tmem", "argument" or "registers"."""
        if id(t.data) in self._shared:
            return "shared"
        if id(t.data) in self._tmem:
            return "tmem"
        return "registers" if self.program.argument_of(t) is None else "argument"

    def writes(self, number: int) -> bool:
        """Whether a touch writes."""
        return self._touches[number].writes

    def number(
        self,
        line: Line,
        t: Tensor,
        stages: Stages,
        writes: bool,
        *,
        by: slice = slice(None),
        adds: bool = False,
        where: Within | None = None,
    ) -> int:
        """The number of the touch of a tensor.

        by     the threads that touch their own elements; with a step of more than 1 all of the block those of each
        where  the predicate of the elements that are touched
        """
        counted = tuple((name, n) for name, n in stages.items() if name in self._names(t))
        key = id(t), id(where), writes, adds, by.stop, by.step, counted
        if key not in self._found:
            threads, np = self.program.threads, _numpy()
            places, who = self._places(line, t, stages, by), np.arange(threads)[by]
            chosen = np.ones(places.shape, bool)
            if where is not None and any(known(n) is not None for n in leaves(where.bounds)):
                each = [admitted(line, comparisons(where, i), self.program)[by] for i in range(places.shape[1])]
                chosen = np.stack(each, axis=1)
            own = None if by.step is not None else np.broadcast_to(who[:, None], places.shape)[chosen]
            made = Touch(threads, id(t.data), places[chosen], own, writes=writes, adds=adds)
            self._found[key] = self._numbers.setdefault(made.key, len(self._touches))
            self._touches += [made] * (self._found[key] == len(self._touches))
        return self._found[key]

    def _names(self, t: Tensor) -> set[str]:
        """The names of symbols in a tensor's offsets."""
        if id(t) not in self._symbols:
            terms = {x for parts in self._parts(t) for x in parts if isinstance(x, SymInt)}
            self._symbols[id(t)] = {str(name) for x in terms for name in x.symbols}
        return self._symbols[id(t)]

    def _parts(self, t: Tensor) -> dict[tuple[Any, ...], list[int]]:
        """The offsets of a tensor's elements: terms -> an element and a number, of each that these are of."""
        if id(t) not in self._sums:
            parts: dict[tuple[Any, ...], list[int]] = {}
            for i, (terms, n) in enumerate(Offsets(t).parts):
                parts.setdefault(terms, []).extend((i, n))
            self._sums[id(t)] = parts
        return self._sums[id(t)]

    def _places(self, line: Line, t: Tensor, stages: Stages, by: slice) -> Any:
        """The places of a tensor's elements: an array of (thread, element)."""
        np, found = _numpy(), self._parts(t)
        rows = len(range(self.program.threads)[by])
        places = np.empty((rows, sum(map(len, found.values())) // 2), int)
        for terms, pairs in found.items():
            start = of_threads(line, terms, self.program, stages)[by]
            places[:, pairs[::2]] = start[:, None] + np.array(pairs[1::2])
        return place_of(places) if self.memory(t) == "tmem" else places

    def meet(self, a: int, b: int, known: Known) -> bool:
        """Whether a thread touches by b what another touched by a, of which it does not know; one of both writes."""
        key = a, b, known
        if key not in self._meet:
            self._meet[key] = self._touches[a].meets(self._touches[b], known)
        return self._meet[key]

    def overlap(self, a: int, b: int) -> bool:
        """Whether two touches are of one element, whoever touches it."""
        if (a, b) not in self._overlap:
            self._overlap[a, b] = self._touches[a].overlaps(self._touches[b])
        return self._overlap[a, b]


def of_threads(line: Line, terms: Sequence[Any], program: Program, stages: Stages | None = None) -> Any:
    """A sum for every thread. Raises Unknown where it depends on more than the thread, and stages that are known."""
    np = _numpy()
    names = {**(stages or {}), "tid": np.arange(program.threads)}
    total = np.zeros(program.threads, int)
    for x in terms:
        x = of_block(x, program, names)
        n = known(x)
        if n is None and (not isinstance(x, SymInt) or not {str(name) for name in x.symbols} <= names.keys()):
            raise Unknown(f"{line}: a place in memory that depends on {x}")
        total = total + (n if n is not None else value(x.form, int, names, _OPERATIONS))
    return total


def of_block(x: Any, program: Program, at: Mapping[str, Any]) -> Any:
    """An integer in a block of a cluster: of the grid's blocks along each mode the cluster's number remains.

    at   the block's place in the cluster, by the names of the program's blocks
    """
    if not isinstance(x, SymInt) or {str(b) for b in program.blocks if str(b) in at}.isdisjoint(map(str, x.symbols)):
        return x
    values = {}
    for name, extent, count in zip(map(str, program.blocks), program.cluster, program.grid):
        cluster = 0 if known(count) == extent else index(f"cluster_{name}", count // extent)
        values[name] = cluster * extent + at[name]
    return x.at(values)


def admitted(line: Line, asked: Sequence[tuple[Any, Any]], program: Program) -> Any:
    """Whether comparisons may let each thread touch an element: those of a thread's number with a number are known."""
    chosen = _numpy().ones(program.threads, bool)
    for c, n in asked:
        if (most := known(n)) is not None and (known(c) is not None or {str(x) for x in c.symbols} == {"tid"}):
            chosen &= of_threads(line, [c], program) < most
    return chosen
