"""Two compiles of one program compared: peaks, buffers, moves and collectives that came, went or changed.

Source: ours; a value is the same one where its operation and its line in the user's program are, of several those of
one shape first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...core.errors import require_type
from .collectives import Collective, collectives
from .memory import Buffer, Memory
from .relayouts import Move, relayouts
from .targets import TARGETS
from .vocabulary import space_name

T = TypeVar("T")
#: The spaces that a larger model or batch runs out of. How much of VMEM and CMEM a program takes is
#: the compiler's choice.
LIMITING = (0, 5)


@dataclass(frozen=True, slots=True)
class PeakChange:
    """The peak of a memory space in two compiles [bytes].

    space            the number n of S(n)
    before, after    what is held at the peak; 0 where nothing is there
    capacity         what one core has of the space, of the generation that the second is for [bytes]; None where
                     it is not known
    """

    space: int
    before: int
    after: int
    capacity: int | None = None

    @property
    def name(self) -> str:
        """The name of the space."""
        return space_name(self.space)

    @property
    def growth(self) -> float:
        """The part by which it grows: 0.02 is 2 %; infinite where nothing was there."""
        return (self.after - self.before) / self.before if self.before else float("inf") if self.after else 0.0


@dataclass(frozen=True, slots=True)
class Change:
    """A buffer, a move or a kind of collective that differs between two compiles.

    kind             "new", "gone", "larger", "smaller", or "layout": the same elements, which lie otherwise, in
                     as many bytes
    name             the instruction, of the later compile if it is there
    before, after    bytes; of a move those that it moves in the whole run; 0 where there is none
    was, now         the shapes, of a move from -> to; empty where there is none
    op_name, source  the operation and the line of the user's program
    at_peak          whether it is held when its memory space is fullest, in one of the two
    """

    kind: str
    name: str
    before: int
    after: int
    was: str
    now: str
    op_name: str
    source: str
    at_peak: bool = False


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes from one compile of a program to another.

    reported      what XLA reports as peak_memory_in_bytes, before and after
    peaks         the peak of each memory space
    buffers       the buffers that differ, the largest difference first
    moves         the relayouts, copies and conversions that differ, by the bytes that they move in the whole run
    moved         the bytes of all moves that wait, before and after: prefetches are left out
    collectives   of each kind of collective that differs: its bytes in the whole run, and how many there are
                  as `was` and `now`
    """

    reported: tuple[int, int]
    peaks: tuple[PeakChange, ...]
    buffers: tuple[Change, ...]
    moves: tuple[Change, ...]
    moved: tuple[int, int]
    collectives: tuple[Change, ...]

    def grown(self, part: float, spaces: Iterable[int] = LIMITING) -> tuple[PeakChange, ...]:
        """The memory spaces whose peak grows by more than a part of it: 0.02 is 2 %. Of all spaces, HBM and
        the host's memory."""
        return tuple(peak for peak in self.peaks if peak.growth > part and peak.space in spaces)


def difference(before: Memory, after: Memory) -> Difference:
    """Compare two compiles of a program, each as `memory` gives it.

    >>> import io
    >>> from tla.xla import memory
    >>> text = '''HloModule m, is_scheduled=true
    ... ENTRY %main {
    ...   %a = f32[16,128]{1,0:T(8,128)} parameter(0)
    ...   ROOT %c = f32[16,128]{0,1:T(8,128)} copy(%a)
    ... }'''
    >>> found = difference(memory(io.StringIO(text)), memory(io.StringIO(text.replace("{0,1:", "{1,0:"))))
    >>> found.peaks[0].before, found.peaks[0].after, found.moved
    (73728, 16384, (73728, 16384))
    >>> [(c.kind, c.name, c.was, c.now) for c in found.buffers]
    [('smaller', 'c', 'f32[16,128]{0,1:T(8,128)}', 'f32[16,128]{1,0:T(8,128)}')]

    Raises LeafTypeError for what `memory` does not give. Source: ours.
    """
    for given in (before, after):
        fix = "write difference(memory(a), memory(b))"
        require_type(given, Memory, "difference of a", "what tla.xla.memory gives", fix)
    spaces = sorted({*before.peak, *after.peak})
    there = TARGETS[after.target].capacity if after.target else {}
    moves = [[move for move in relayouts(m.module) if not move.free] for m in (before, after)]
    return Difference(
        (before.reported, after.reported),
        tuple(PeakChange(s, _held(before, s), _held(after, s), there.get(s)) for s in spaces),
        _sorted(_buffers(before, after)),
        _sorted(_moves(*moves)),
        (_waited(moves[0]), _waited(moves[1])),
        _sorted(_collectives(collectives(before.module), collectives(after.module))),
    )


def _held(memory: Memory, space: int) -> int:
    return memory.peak[space].bytes if space in memory.peak else 0


def _waited(moves: Sequence[Move]) -> int:
    return sum(m.bytes for m in moves if not m.overlapped)


def _sorted(changes: Iterator[Change]) -> tuple[Change, ...]:
    return tuple(sorted(changes, key=lambda c: (-abs(c.after - c.before), -c.after, c.name)))


def _buffers(before: Memory, after: Memory) -> Iterator[Change]:
    held = [{id(b) for peak in m.peak.values() for b in peak.buffers} for m in (before, after)]
    keys: list[Callable[[Buffer], Hashable]] = [
        lambda b: (b.op_name or _root(b.name), _line(b), str(b.shape), b.kind, b.space),
        lambda b: (b.op_name or _root(b.name), str(b.shape), b.space),
        lambda b: (b.op_name or _root(b.name), _line(b), b.space),
        lambda b: (b.op_name or _root(b.name), b.space),
        lambda b: (str(b.shape), b.kind, b.space),
    ]
    for one, two in _matched(before.buffers, after.buffers, keys):
        at_peak = id(one) in held[0] or id(two) in held[1]
        there = two or one
        assert there is not None  # one of the two is there
        yield from _change(
            there.name, _bytes(one), _bytes(two), _text(one), _text(two), there.op_name, _line(there), at_peak
        )


def _moves(before: Sequence[Move], after: Sequence[Move]) -> Iterator[Change]:
    def op(m: Move) -> str:
        return m.line.instruction.metadata.get("op_name", "") or _root(m.line.instruction.name)

    def text(m: Move | None) -> str:
        return "" if m is None else f"{m.source} -> {m.destination}"

    keys: list[Callable[[Move], Hashable]] = [
        lambda m: (op(m), m.line.instruction.opcode, text(m), m.times),
        lambda m: (op(m), m.line.instruction.opcode, m.destination.dimensions),
        lambda m: (m.line.instruction.opcode, text(m), m.times),
    ]
    for one, two in _matched(before, after, keys):
        there = two or one
        assert there is not None  # one of the two is there
        it = there.line.instruction
        yield from _change(
            it.name, _bytes(one), _bytes(two), text(one), text(two), it.metadata.get("op_name", ""), "", False
        )


def _collectives(before: Sequence[Collective], after: Sequence[Collective]) -> Iterator[Change]:
    kinds = sorted({c.opcode for c in (*before, *after)})
    for kind in kinds:
        one, two = ([c for c in found if c.opcode == kind] for found in (before, after))
        sums = [sum(c.bytes for c in found) for found in (one, two)]
        if sums[0] != sums[1] or len(one) != len(two):
            what = "larger" if sums[1] > sums[0] else "smaller" if sums[1] < sums[0] else "layout"
            name = "new" if not one else "gone" if not two else what
            yield Change(name, kind, sums[0], sums[1], str(len(one)), str(len(two)), "", "")


def _matched(
    before: Sequence[T], after: Sequence[T], keys: Sequence[Callable[[T], Hashable]]
) -> Iterator[tuple[T | None, T | None]]:
    """Pairs of what is the same by the first key that says so; what is left has no partner."""
    left, right = [*before], [*after]
    for key in keys:
        waiting: dict[Hashable, list[T]] = defaultdict(list)
        for x in reversed(left):
            waiting[key(x)].append(x)
        rest, paired = [], set()
        for y in right:
            if found := waiting[key(y)]:
                x = found.pop()
                paired.add(id(x))
                yield x, y
            else:
                rest.append(y)
        left, right = [x for x in left if id(x) not in paired], rest
    yield from ((x, None) for x in left)
    yield from ((None, y) for y in right)


def _change(
    name: str, before: int | None, after: int | None, was: str, now: str, op_name: str, source: str, at_peak: bool
) -> Iterator[Change]:
    """The change of a pair; none where the two are equal."""
    if before is None or after is None:
        kind = "new" if before is None else "gone"
    elif before != after:
        kind = "larger" if after > before else "smaller"
    elif was != now:
        kind = "layout"
    else:
        return
    yield Change(kind, name, before or 0, after or 0, was, now, op_name, source, at_peak)


def _bytes(x: Buffer | Move | None) -> int | None:
    return None if x is None else x.bytes


def _text(b: Buffer | None) -> str:
    return "" if b is None else "pointers of a tuple" if b.shape is None else str(b.shape)


def _line(b: Buffer) -> str:
    return str(b.source[0]) if b.source else ""


def _root(name: str) -> str:
    """The name of an instruction without its numbers: fusion of fusion.12.remat{0}."""
    return re.sub(r"\.\d+", "", name)
