"""Conversions that take more cycles than the padded tile's: the fewest that any plan takes, by brute force.

A plan here is any that brings each value to its lane by one way: it stays, or moves from lane to lane as the machine's
table has it, which costs nothing here; or a shuffle brings it, or a store and a load. Who shuffles and who goes through
memory is any, a value at a time, and other in each warp; there are no bank conflicts, and what a lane sends at once it
packs for nothing. So what no such choice does in so many cycles, no plan over these threads does.
"""

import collections
import itertools

import pytest
from test_access_usual_pairs import image, plans, usual

from tla.access.machines import MACHINES

from night import NIGHT

WORD = 32


def free(lane, other):
    """Whether a move of CDNA brings a value from one lane to another: within four lanes, or an xor of its row."""
    return lane // 4 == other // 4 or lane ^ other in (7, 8, 15)


class Warp:
    """What a warp's lanes have to move: values within it by pair of lanes, and those that leave and that come."""

    def __init__(self):
        self.within, self.leave, self.come = (collections.Counter() for _ in range(3))


def warps_of(first, second, lanes):
    """The warps of a conversion between two tables of elements [thread, value]."""
    owner = {x: t for t, of in enumerate(first) for x in of}
    warps = [Warp() for _ in range(len(first) // lanes)]
    for t, of in enumerate(second):
        for s in (owner[x] for x in of):
            here, there = warps[s // lanes], warps[t // lanes]
            if here is not there:
                here.leave[s % lanes] += 1
                there.come[t % lanes] += 1
            elif not free(s % lanes, t % lanes):
                here.within[s % lanes, t % lanes] += 1
    return warps


def shuffled(within, least, most):
    """Whether some of these values, at most so many of each lane on either side, are as many of each first lane as is
    asked: a flow, one value at a time."""
    near = collections.defaultdict(list)
    back = collections.defaultdict(list)
    for s, d in within:
        near[s].append(d)
        back[d].append(s)
    flow, taken = collections.Counter(), collections.Counter()

    def more(start):
        before, queue = {}, [("from", start)]
        for side, lane in queue:
            for other in (near if side == "from" else back)[lane]:
                place = ("to" if side == "from" else "from", other)
                edge = (lane, other) if side == "from" else (other, lane)
                if place in before or place == ("from", start):
                    continue
                if flow[edge] < within[edge] if side == "from" else flow[edge] > 0:
                    before[place] = side, lane
                    queue.append(place)
                    if side == "from" and taken[other] < most:
                        taken[other] += 1
                        while place in before:
                            at = before[place]
                            flow[(at[1], place[1]) if at[0] == "from" else (place[1], at[1])] += (
                                1 if at[0] == "from" else -1
                            )
                            place = at
                        return True
        return False

    return all(n <= most and all(more(lane) for _ in range(n)) for lane, n in least.items())


def fewest_wavefronts(within, leave, row, each, rounds):
    """The fewest wavefronts in which lanes store what leaves the warp, and what so many shuffles do not bring.

    A wavefront is of the lanes of one phase of an access; `each` is how many values go in a word.
    """
    phases = [
        (width // WORD * each, group) for width, (_, groups) in row.phases.items() for group in groups if width >= WORD
    ]
    total = collections.Counter(leave)
    for (lane, _), n in within.items():
        total[lane] += n
    for count in itertools.count():
        for chosen in itertools.combinations_with_replacement(phases, count):
            room = collections.Counter()
            for size, group in chosen:
                room.update(dict.fromkeys(group, size))
            if all(n <= room[lane] for lane, n in leave.items()) and shuffled(
                within, {lane: n - room[lane] for lane, n in total.items() if n > room[lane]}, rounds * each
            ):
                return count
    raise AssertionError


def least_cycles(warp, machine, each):
    """The fewest cycles of shared memory's pipe for one warp, over how many shuffles it has."""
    turned = collections.Counter({(d, s): n for (s, d), n in warp.within.items()})
    most = collections.Counter()
    for (s, d), n in warp.within.items():
        most["from", s] += n
        most["to", d] += n
    found = []
    for rounds in range(-(-max(most.values(), default=0) // each), -1, -1):
        if found and rounds * machine.shuffle >= min(found):
            continue
        stores = fewest_wavefronts(warp.within, warp.leave, machine.write, each, rounds)
        loads = fewest_wavefronts(turned, warp.come, machine.read, each, rounds)
        found.append(rounds * machine.shuffle + stores + loads)
    return min(found)


@pytest.mark.parametrize(
    ("columns", "first", "second", "least"),
    [(48, "row", "blocked", 20), (80, "blocked", "row", 36), (48, "blocked", "row", 20), (80, "row", "blocked", 36)][
        : 4 if NIGHT else 2
    ],
)
def test_no_plan_is_cheaper(columns, first, second, least):
    """Of 16 bits on gfx942: our plan takes as many cycles as the bound, which is more than the padded tile takes."""
    machine = MACHINES["gfx942"]
    plan, other, *_ = plans(columns, machine.name, first, second, 16, 16)
    tables = (image(usual(columns, machine.read.lanes, 16)[name][0]).tolist() for name in (first, second))
    found = sum(least_cycles(warp, machine, WORD // 16) for warp in warps_of(*tables, machine.read.lanes))
    assert found == least == plan.cycles > other.cycles


def test_the_bound_of_small_warps():
    """By hand: all stays or moves; one shuffle; two values that leave from lanes of one phase, or of two."""
    machine, lanes = MACHINES["gfx942"], range(64)
    for to, cycles in ((lambda x: x ^ 8, 0), (lambda x: x ^ 32, 2)):
        (warp,) = warps_of([[x] for x in lanes], [[to(x)] for x in lanes], 64)
        assert least_cycles(warp, machine, 1) == cycles
    for other, cycles in ((1, 2), (40, 4)):
        table = [[x] for x in range(128)]
        for lane in (0, other):
            table[lane], table[lane + 64] = table[lane + 64], table[lane]
        assert [least_cycles(warp, machine, 1) for warp in warps_of([[x] for x in range(128)], table, 64)] == [
            cycles
        ] * 2
