"""The steps between which each value of a program lives, as XLA's compiler has them.

Source: XLA xla/hlo/utils/hlo_live_range.cc (NormalizeAliasedBuffers);
xla/service/memory_space_assignment/memory_space_assignment.cc (VerifyAndExportHeapSimulatorTrace); checked against the
live ranges that libtpu 0.0.51 prints of each program.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from .values import Flow, Value, leaves


class Span(NamedTuple):
    """Bytes that are held from one step to another, both included."""

    first: int
    last: int
    bytes: int


def normalise(found: Flow) -> dict[int, list[Value]]:
    """Let a value end where the next one in its buffer begins, and that one last as long as it did.

    Returns the values of each buffer that has several.
    """
    groups = found.joined()
    for values in groups.values():
        values.sort(key=lambda v: (v.start, v.end, v.same))
        for one, two in itertools.pairwise(values):
            one.end, two.end = min(one.end, two.start), max(one.end, two.end)
    return groups


def moved_values(found: Flow, space: int, whole: Mapping[int, str]) -> Iterator[Span]:
    """The values of a memory space that the compiler moves arrays into, each while it is read: of an update in place
    the old one and the new one. A value that nobody reads is none; one that is last read in a conditional is there in
    each branch up to its last reader.

    whole   the buffers that are there for the whole run
    """
    for number in found.own():
        value = found.values[number]
        if value.space == space and value.bytes and value.uses and found.buffer(number) not in whole:
            last = max(value.start, max(value.uses)[0])
            if last in found.branches and last > value.start:
                yield from _in_branches(found, value, last, value.start, value.end)
            else:
                yield Span(value.start, min(last, value.end), value.bytes)


def _in_branches(found: Flow, value: Value, conditional: int, start: int, end: int) -> Iterator[Span]:
    """A value that a conditional reads last: up to its first branch, and in each branch up to the last reader there."""
    earliest = end
    for number in found.branches[conditional]:
        first = found.spans[number][0]
        earliest = min(earliest, first)
        inside = [now for now, span in value.uses if span == number]
        if inside:
            last = min(max(inside), end)
            if last in found.branches:
                yield from _in_branches(found, value, last, first, last)
            else:
                yield Span(first, last, value.bytes)
    yield Span(start, earliest - 1, value.bytes)


def whole_buffers(found: Flow) -> dict[int, str]:
    """Buffers that are there for the whole run, each with what it is: "argument", "result", "constant", or "local"."""
    whole = {found.buffer(v): "result" for v in leaves(found.results)}
    for number, value in enumerate(found.values):
        if value.kind not in ("temporary", "scratch"):
            whole[found.buffer(number)] = value.kind
    return whole


def reuse(found: Flow, offered: Sequence[tuple[int, int]], groups: Mapping[int, list[Value]]) -> None:
    """One buffer for a result and the operand that it may overwrite, where all that is in the operand's buffer
    is dead by then.

    offered   pairs of a result and an operand. What is given to the program or by it has memory of its own
    groups    the values of each buffer that has several
    """
    held: dict[int, list[tuple[int, int]]] = {}
    fixed = whole_buffers(found) if offered else {}
    for result, operand in offered:
        one, two = found.buffer(result), found.buffer(operand)
        if one == two or one in fixed or two in fixed:
            continue
        for buffer in (one, two):
            if buffer not in held:
                values = groups.get(buffer, [found.values[buffer]])
                held[buffer] = _merged((value.start, value.end) for value in values)
        if _apart(held[two], held[one], found.values[result].start):
            found.share(result, operand)
            held[found.buffer(result)] = _merged(held[one] + held[two])


def share_scratch(found: Flow) -> None:
    """One buffer in each memory space that SparseCore operations work in: as large as the largest of them asks for."""
    scratch: dict[int, list[int]] = defaultdict(list)
    for number in found.own():
        if found.values[number].kind == "scratch":
            scratch[found.values[number].space].append(number)
    for numbers in scratch.values():
        most = max(found.values[number].bytes for number in numbers)
        for number in numbers:
            found.values[number].bytes = most
            found.share(numbers[0], number)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of steps as few that do not touch, in order."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1]:
            out[-1] = out[-1][0], max(last, out[-1][1])
        else:
            out.append((first, last))
    return out


def _apart(before: list[tuple[int, int]], after: list[tuple[int, int]], now: int) -> bool:
    """Whether two buffers are never held at once, but for step `now`, which reads the first and writes the second.

    before, after   their spans, as _merged has them
    """
    return all(b < c or d < a or b == c == now for a, b in before for c, d in after)
