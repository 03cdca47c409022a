"""Conversions of owners over digits through shared memory: rows in one order or another, some a few elements longer
than they have to be.

Every such memory is counted, and the one of the fewest wavefronts is taken. Offsets are sums of what the thread's
number adds and a constant for each of its values, so that the text has one address for each thread.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.conversions import idx2crd
from ..core.errors import RangeError, TlaError
from ..core.ints import static
from ..core.layout import Layout
from ..linear import RadixLayout
from .counting import Access, access
from .device_text import vector_mover
from .dialects import Dialect
from .machines import Machine
from .memories import Memory
from .steps import WORD_BITS, Vector

if TYPE_CHECKING:
    import numpy.typing as npt

#: The digits of an input: extents and strides.
Digits = list[tuple[int, int]]


class AnySide(Protocol):
    """One side of a way through memory: where each value of each thread lies, and the text of it."""

    def head(self, name: str) -> Iterator[str]: ...

    def mover(self, dialect: Dialect, name: str, width: int) -> Iterator[str]: ...

    def accesses(self, name: str) -> Iterator[tuple[str, Vector]]: ...

    def offsets(self) -> list[list[int]]: ...


class Side(NamedTuple):
    """A thread's values and where they lie: digits of the thread's number, offsets of values, elements in an access."""

    thread: Digits
    values: list[int]
    vector: int

    def head(self, name: str) -> Iterator[str]:
        """The thread's part of the offset, as text."""
        yield f"const unsigned {name}_at = {thread_text(self.thread)};"

    def mover(self, dialect: Dialect, name: str, width: int) -> Iterator[str]:
        """The function that moves a vector; none for single values."""
        if self.vector > 1:
            yield from vector_mover(dialect, name == "src", self.vector, width)

    def accesses(self, name: str) -> Iterator[tuple[str, Vector]]:
        """Each access: where it begins, as text, and the values of each of its places."""
        found: dict[int, list[list[int]]] = {}
        for v, place in enumerate(self.values):
            found.setdefault(place // self.vector, [[] for _ in range(self.vector)])[place % self.vector].append(v)
        for k, of in found.items():
            yield f"{name}_at + {k * self.vector}", Vector(k * self.vector, of)

    def offsets(self) -> list[list[int]]:
        """The offset of each value of each thread."""
        return [[start + v for v in self.values] for start in values_of(self.thread)]


class Rows(NamedTuple):
    """A way through shared memory: both sides, what it costs, and the text that both sides need."""

    store: AnySide
    load: AnySide
    elements: int
    wavefronts: int
    instructions: int
    text: tuple[str, ...] = ()

    @property
    def rank(self) -> tuple[int, int, int]:
        return self.wavefronts, self.instructions, self.elements


def thread_text(digits: Digits, thread: str = "thread") -> str:
    """The sum of digits of the thread's number, as text."""
    terms, place = [], 1
    for k, (n, stride) in enumerate(digits):
        digit = thread if place == 1 else f"{thread} / {place}u"
        digit += "" if k == len(digits) - 1 else f" % {n}u"
        terms += [digit if stride == 1 else f"{digit} * {stride}u"] if stride else []
        place *= n
    return " + ".join(terms) or "0u"


def values_of(digits: Digits) -> list[int]:
    """The sums of digits, the first digit fastest."""
    found = [0]
    for n, stride in digits:
        found = [high + low for high in range(0, n * stride, stride) for low in found] if stride else found * n
    return found


def through_rows(src: RadixLayout, dst: RadixLayout, width: int, machine: Machine) -> Iterator[Rows]:
    """The cheapest of the memories whose rows are padded, for layouts of thread and value; none where values are no
    whole accesses, or threads no whole warps.

    Raises     RangeError for sums that wrap, or elements that the source does not hold
    """
    sums = [{name: plain_sums(x, name) for name in src.out_sizes} for x in (src, dst)]
    require_held(src, dst)
    best: Rows | None = None
    for strides, count in _memories(src.out_sizes, width):
        found = _costed([_sides(x, strides) for x in sums], count, width, machine)
        if found is not None and (best is None or found.rank < best.rank):
            best = found
    if best is not None:
        yield best


def require_held(src: RadixLayout, dst: RadixLayout) -> None:
    """RangeError where nobody holds an element before that somebody needs."""
    missing = {*elements(dst).ravel().tolist()} - {*elements(src).ravel().tolist()}
    if missing:
        at = ", ".join(map(str, min(idx2crd(x, (*src.out_sizes.values(),)) for x in missing)))
        what = f"convert: nobody holds element ({at}) before"
        raise RangeError(what, "a source that holds it", "convert to the part that it holds")


def elements(layout: RadixLayout) -> npt.NDArray[Any]:
    """The index in the tile, first dimension fastest, of each [thread, value]."""
    import numpy as np

    thread, value = np.ogrid[: layout.in_sizes["thread"], : layout.in_sizes["value"]]
    found, place = np.zeros((thread.size, value.size), int), 1
    for name, coordinate in layout.apply({"thread": thread, "value": value}).items():
        found, place = found + place * coordinate, place * layout.out_sizes[name]
    return found


def plain_sums(layout: RadixLayout, name: str) -> dict[str, Digits]:
    sums = layout.sums(name)
    if sums is None:
        what = f"convert: sums of {layout} wrap in {name}"
        raise RangeError(what, "sums that stay in the tile", "give both layouts over bits or slices")
    return dict(sums)


def _memories(sizes: dict[str, int], width: int) -> Iterator[tuple[dict[str, int], int]]:
    """Each dimension's stride, and the elements in all: each order of dimensions, rows padded by up to eight words."""
    word = max(1, WORD_BITS // width)
    paddings = [0, *range(word, 9 * word, word)]
    for order in itertools.permutations(sizes):
        for padding in paddings if len(sizes) > 1 else (0,):
            strides, step = {}, 1
            for k, name in enumerate(order):
                strides[name] = step
                step = step * sizes[name] + (padding if k == 0 else 0)
            yield strides, 1 + sum((sizes[name] - 1) * strides[name] for name in sizes)


def _sides(sums: dict[str, dict[str, Digits]], strides: dict[str, int]) -> dict[str, Digits]:
    """The digits of thread and value in memory: each dimension's times its stride; one that moves several, the sum."""
    found: dict[str, Digits] = {}
    for name in ("thread", "value"):
        parts, moved = common_digits(sums, name)
        totals = [sum(strides[dim] * of[k] for dim, of in moved.items()) for k in range(len(parts))]
        found[name] = [*zip(parts, totals)]
    return found


def common_digits(sums: dict[str, dict[str, Digits]], name: str) -> tuple[list[int], dict[str, list[int]]]:
    """The extents of an input's digits, cut alike for all dimensions, and each digit's stride in each dimension."""
    parts = _on_common([n for n, _ in of[name]] for of in sums.values())
    return parts, {dim: _strides_on(of[name], parts) for dim, of in sums.items()}


def _on_common(extents: Iterable[list[int]]) -> list[int]:
    """Extents whose places are those of all lists."""
    places = sorted({p for of in extents for p in itertools.accumulate(of, lambda a, b: a * b)} | {1})
    if any(b % a for a, b in itertools.pairwise(places)):
        what = f"convert: digits end at {places}"
        raise RangeError(what, "ends that divide each other", "write digits that end at the same places")
    return [b // a for a, b in itertools.pairwise(places)]


def _strides_on(digits: Digits, extents: Sequence[int]) -> list[int]:
    """The stride of each of these extents in digits that are cut there."""
    found, left = [], [*reversed(digits)]
    for n in extents:
        extent, stride = left.pop()
        found.append(stride)
        if extent > n:
            left.append((extent // n, stride * n))
    return found


def _costed(sides: Sequence[dict[str, Digits]], elements: int, width: int, machine: Machine) -> Rows | None:
    """The wavefronts of a memory; None where values are no whole accesses of it."""
    try:
        (write, store), (read, load) = (_side(x, width, row) for x, row in zip(sides, (machine.write, machine.read)))
    except TlaError:
        return None
    warps = -(-len(values_of(store.thread)) // machine.read.lanes)
    return Rows(store, load, elements, write.total + read.total, (write.instructions + read.instructions) // warps)


def _side(digits: dict[str, Digits], width: int, row: Memory) -> tuple[Access, Side]:
    """One side in the widest accesses of which no thread begins inside of one."""
    layout, starts = as_layout(digits), values_of(digits["thread"])
    counted = access(layout, None, width, memory=row)
    if any(x % (counted.vector // width) for x in starts):
        counted = access(layout, None, width, width, row)
    return counted, Side(digits["thread"], values_of(digits["value"]), counted.vector // width)


def as_layout(digits: dict[str, Digits]) -> Layout:
    modes = [digits[name] or [(1, 0)] for name in ("thread", "value")]
    shape, stride = (tuple(tuple(static(pair[k]) for pair in mode) for mode in modes) for k in (0, 1))
    return Layout(shape, stride)
