"""Conversions of owners over digits through shared memory, on one side of which lanes exchange values.

Where a thread's values lie apart in the order of the other side, accesses are narrow. If a bit of the lane's number
moves what a value's digit of the other side does, two lanes hold what lies together: they exchange half of it, by a
shuffle or a move from lane to lane, and accesses are twice as wide.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from ..linear import LinearLayout, RadixLayout, bits
from .machines import Machine
from .plan import ConversionPlan
from .rounds import within_warps
from .shuffled import Shuffled
from .slices import Registers
from .through_lines import Held, prime_digits, through_lines
from .through_rows import Rows, through_rows, values_of


class Exchanged(NamedTuple):
    """A way through memory, and exchanges between lanes on one side of it.

    side     "src" where values are exchanged before they are stored, "dst" where after they are loaded
    slices   the values of each exchange before and after, as numbers
    part     the plan of one exchange, of one warp
    rows     the way through memory
    cycles   of the busier pipe, for all warps
    """

    side: str
    slices: tuple[tuple[Registers, Registers], ...]
    part: ConversionPlan
    rows: Rows
    cycles: int


def through_shared(src: RadixLayout, dst: RadixLayout, width: int, machine: Machine) -> Rows | None:
    """The cheapest way through memory of layouts of thread and value; None where values are no whole accesses."""
    ways = [*through_rows(src, dst, width, machine), *through_lines(src, dst, width, machine)]
    return min(ways, key=lambda way: way.rank, default=None)


def with_exchanges(src: RadixLayout, dst: RadixLayout, width: int, machine: Machine, most: int) -> Exchanged | None:
    """The cheapest way with exchanges on one side, of fewer cycles than `most`; None where there is none."""
    threads, lanes = src.in_sizes["thread"], machine.read.lanes
    if threads % lanes:
        return None
    warps, best = threads // lanes, None
    elements = math.prod(src.out_sizes.values())
    least = sum(-(-elements * width // (max(1, row.banks) * row.word_bits)) for row in (machine.write, machine.read))
    for side, own, other in (("src", src, dst), ("dst", dst, src)):
        for lane, place, between in _between(own, other, lanes):
            slices, part, pipes = _exchange(own, lane, place, width, machine, Fraction(least, warps))
            shared, selects = (cycles * len(slices) * warps for cycles in pipes)
            if max(least + shared, selects) >= most:
                continue
            ends = (between, dst) if side == "src" else (src, between)
            rows = next(through_lines(*ends, width, machine), None)
            if rows is not None and max(rows.wavefronts + shared, selects) < most:
                most = max(rows.wavefronts + shared, selects)
                best = Exchanged(side, slices, part, rows, most)
    return best


def _between(own: RadixLayout, other: RadixLayout, lanes: int) -> Iterator[tuple[int, int, RadixLayout]]:
    """The layouts in which the first bit of the lane's number that moves what a value of the other side does has
    exchanged its digit with one of the values, which does not: the number of the bit, the place of the digit, and the
    layout."""
    held = Held.of(own)
    threads, values = prime_digits(held.thread), prime_digits(held.value)
    together = {digit.step for digit in prime_digits(Held.of(other).value)}
    lane_bits = [d for d in threads if d.extent == 2 and d.place < lanes and bits.is_power_of_two(d.place)]
    mine = [d for d in lane_bits if d.step in together][:1]
    apart = [d for d in values if d.extent == 2 and d.step not in together]
    for a, b in itertools.product(mine, apart):
        sides = {"thread": threads, "value": values}
        ins = {name: [(d.extent, {a: b, b: a}.get(d, d).step) for d in of] for name, of in sides.items()}
        yield bits.log2(a.place), b.place, RadixLayout(ins, own.outs)


def _exchange(
    own: RadixLayout, lane: int, place: int, width: int, machine: Machine, beside: Fraction
) -> tuple[tuple[tuple[Registers, Registers], ...], ConversionPlan, tuple[int, int]]:
    """The slices of values, the exchange of each between a bit of the lane's number and the digit at this place, and
    its cycles for each warp."""
    digits = prime_digits(Held.of(own).value)
    twos = [d.place for d in digits if d.extent == 2]
    lanes, count = bits.log2(machine.read.lanes), len(twos)
    columns = [1 << k for k in range(count + lanes)]
    first = _over_bits(columns, count)
    k = twos.index(place)
    columns[k], columns[count + lane] = columns[count + lane], columns[k]
    second = _over_bits(columns, count)
    steps = within_warps(first, second, width)
    assert steps
    found = Shuffled.of(steps, first, second, width, machine, beside)
    counts = (found.shuffles, 0, 0, found.shuffles, max(found.pipes))
    why = "lanes exchange values"
    part = ConversionPlan("shuffles", found.steps, *counts, why, width, first, second, found.moves)
    starts = values_of([(d.extent, d.place) for d in digits if d.extent != 2])
    held = [tuple(start + x for x in values_of([(2, p) for p in twos])) for start in starts]
    return tuple((of, of) for of in held), part, found.pipes


def _over_bits(columns: Sequence[int], registers: int) -> LinearLayout:
    bases = {"register": [(x,) for x in columns[:registers]], "lane": [(x,) for x in columns[registers:]], "warp": []}
    return LinearLayout(bases, {"index": 1 << len(columns)})
