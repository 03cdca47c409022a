"""Copies as kernels of CUDA, HIP and OpenCL: a grid of threads goes through all items of a nest, however
many there are.

The last loop, in which the target is contiguous, is that of neighbouring threads. A run is moved in vectors of 16
bytes, or of as many as every place in it is a multiple of: both pointers are to be aligned to 16 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...core.questions import divides, equal
from ...symbolic import SymInt, index
from ...symbolic.proofs import greatest
from ...symbolic.symint import poly_of
from ..c_languages import CLanguage, Threads
from ..expressions.integer_types import INTEGERS, doubt
from ..expressions.value_ranges import value_ranges
from .c_expressions import Terms, node_of
from .loop_nests import Copy, Loop, Nest


class Items(NamedTuple):
    """The items that the threads of a kernel share in a nest.

    unit     how many elements go as one
    loops    the loops over these, the slowest first
    total    how many items there are
    digits   the index of each loop in the item n
    places   where an item goes, and where it comes from [units]: one pair, or one for each step that is written out
    within   at a tail, how many of these pairs there are at most; else None
    """

    unit: int
    loops: list[Loop]
    total: Any
    digits: list[tuple[SymInt, Any]]
    places: list[list[Any]]
    within: Any

    @property
    def is_short(self) -> bool:
        """Whether 32 bits hold all items, a grid more of them, and every intermediate result."""
        most = greatest(poly_of(self.total))
        bounds = [bound for bound in (*(loop.bound for loop in self.loops), self.within) if bound is not None]
        numbers = [*(value for _i, value in self.digits), *(x for pair in self.places for x in pair), *bounds]
        if most is None or most >= 1 << 30:
            return False
        return not any(doubt(h, INTEGERS["int32"]) for h in value_ranges([*map(node_of, numbers)]))


def write(copy: Copy, language: CLanguage) -> str:
    """The text of the kernel `name`(dst, src, sizes...), in a language that has threads."""
    assert language.threads is not None
    width = copy.bits // 8
    items = [_items(nest, width) for nest in copy.nests]
    integer = language.integers["int32" if all(x.is_short for x in items) else "int64"]
    terms = Terms(copy.name, integer, language.threads.helper)
    lines = [line for x in items for line in _loop(x, language, language.threads, width, terms)]
    kind = f"{language.space}{language.words[width]}"
    parameters = copy.parameters(kind, language.restrict, integer)
    body = "".join(f"    {line}\n" for line in (*copy.first, *lines))
    kernel = f"{copy.remark}{language.threads.kernel} {copy.name}({parameters}) {{\n{body}}}"
    return "\n\n".join([*language.head(), *copy.checks, *terms.helpers(), kernel]) + "\n"


def _items(nest: Nest, width: int) -> Items:
    unit, loops = _in_vectors(nest, width)
    total = math.prod([loop.count for loop in loops])
    n = index("n", below=total) if loops else None
    digits, places = [*_loop_indices(loops, n)], [*_places(nest, loops, unit)]
    return Items(unit, loops, total, digits, places, nest.written and nest.written.bound)


def _loop(items: Items, language: CLanguage, threads: Threads, width: int, terms: Terms) -> Iterator[str]:
    """The loop of a thread over its items, and what is moved for each."""
    integer, unit = terms.integer, items.unit
    first, total = (text.replace("(I)", f"({integer})") for text in (threads.first, threads.total))
    yield f"for ({integer} n = {first}; n < {terms.compared(items.total)}; n += {total}) {{"
    yield from (f"    const {integer} {i} = {terms.text(value)};" for i, value in items.digits)
    bounds = [f"{loop.counter} < {terms.compared(loop.bound)}" for loop in items.loops if loop.bound is not None]
    yield from (f"    if (!({test})) continue;" for test in bounds)
    kind = f"{language.space}{language.words[unit * width]}"
    pointers = [("dst", f"({kind} *)dst"), ("src", f"(const {kind} *)src")]
    to, of = (name if unit == 1 else f"({cast})" for name, cast in pointers)
    for k, pair in enumerate(items.places):
        d, s = map(terms.text, pair)
        within = "" if k == 0 or items.within is None else f"if ({k} < {terms.compared(items.within)}) "
        yield f"    {within}{to}[{d}] = {of}[{s}];"
    yield "}"


def _in_vectors(nest: Nest, width: int) -> tuple[int, list[Loop]]:
    """The number of elements that go as one, and the loops over what is left: that of the run counts vectors."""
    if nest.run is None:
        return 1, [*nest.loops]
    run = nest.run
    places = [*nest.begins, *(d for loop in nest.loops for d in loop.steps), *(nest.offsets or ()), run.count]
    places += [] if run.bound is None else [run.bound]
    unit = next(w for w in (16, 8, 4, 2, 1) if w * width <= 16 and all(equal(x, 0) or divides(w, x) for x in places))
    bound = None if run.bound is None else run.bound // unit
    return unit, [*nest.loops, Loop(run.counter, run.count // unit, (unit, unit), bound)]


def _loop_indices(loops: list[Loop], n: object) -> Iterator[tuple[SymInt, Any]]:
    """The index of each loop in the item n, the last loop fastest."""
    place: Any = 1
    for k, loop in reversed([*enumerate(loops)]):
        part = n // place
        yield loop.counter, part if k == 0 else part % loop.count
        place = place * loop.count


def _places(nest: Nest, loops: list[Loop], unit: int) -> Iterator[list[Any]]:
    """The places that an item goes to and comes from, in vectors: one pair, or one for each step that
    is written out."""
    at = [begin + sum(loop.counter * loop.steps[k] for loop in loops) for k, begin in enumerate(nest.begins)]
    if nest.offsets:
        at = [a + b for a, b in zip(at, nest.offsets)]
    steps = range(int(nest.written.count)) if nest.written else range(1)
    for j in steps:
        moved = [a + j * nest.written.steps[k] for k, a in enumerate(at)] if nest.written else at
        yield [x // unit for x in moved]
