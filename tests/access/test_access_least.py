"""Conversions that take more cycles than the padded tile's: the fewest that any plan takes, by brute force.

A plan here is any that brings each value to its lane by one way: it stays, or moves from lane to lane as the machine's
table has it, which costs nothing here; or a shuffle brings it, or a store and a load. Who shuffles and who goes through
memory is any, a value at a time, and other in each warp; there are no bank conflicts, and what a lane sends at once it
packs for nothing. So what no such choice does in so many cycles, no plan over these threads does.
"""

import collections
import itertools

import numpy as np
import pytest
from test_access_usual_pairs import image, plans, usual

from tla import parse
from tla.access import exchanged, through_lines
from tla.access.machines import MACHINES
from tla.linear import radix

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


# ------------------------------------------------------------------------------------------------- rotated lines


def exchanges_of_bytes():
    """Rows of 96 columns of bytes on sm_90 to blocks, of which lanes exchange a half after they are loaded: for each
    exchange both sides, thread and value."""
    layouts = usual(96, 32, 16)
    src, dst = (radix(parse(layouts[x][0]), ["thread", "value"], {"row": 16, "column": 96}) for x in ("row", "blocked"))
    return [
        [through_lines.Held.of(x) for x in (src, between)] for *_, between in exchanged._between(dst, src, lanes=32)
    ]


def memories(sides):
    """The memories in the order of either side, by vectors of so many bytes, a word or more."""
    for first, second in (sides, sides[::-1]):
        for vector, memory in through_lines._orders(first, second, [16, 96], 8, MACHINES["sm_90"]):
            if vector >= 4:
                yield from through_lines._Found.all_of(memory, sides, vector, 8, MACHINES["sm_90"], None)


def conflicts(found):
    """Of each wavefront the pairs of lines, and the turn of the first over the second by which words of both are in one
    bank."""
    for lines, words, banks in found._words:
        for row in zip(lines.tolist(), words.tolist()):
            asked = [(line, word) for line, word in zip(*row) if line >= 0]
            both = itertools.combinations(asked, 2)
            yield {
                (one[0], two[0], (two[1] - one[1]) // found.unit % (banks // found.unit))
                for one, two in both
                if one[0] != two[0] and (two[1] - one[1]) % found.unit == 0
            }


def some_turns(found, most):
    """Whether some turns of the lines leave conflicts in so many wavefronts at most: the turns, or None."""
    z3 = pytest.importorskip("z3", reason="needs z3: pip install z3-solver")
    size = (32 // found.unit).bit_length() - 1
    turns = [z3.BitVec(f"turn{k}", size) for k in range(found.lines)]
    solver, bad = z3.Solver(), []
    for k, pairs in enumerate(conflicts(found)):
        bad.append(z3.Bool(f"bad{k}"))
        solver.add(z3.Or(bad[-1], z3.And([turns[x] - turns[y] != turn for x, y, turn in pairs])))
    solver.add(z3.AtMost(*bad, most))
    if solver.check() == z3.unsat:
        return None
    return [solver.model().eval(turn, True).as_long() for turn in turns]


def test_no_turns_of_lines_make_bytes_as_cheap_as_padded():
    """24 wavefronts and 6 shuffles are 30 cycles, the padded tile's 32: but lines have more conflicts than 2, by
    whatever they are rotated."""
    plan, other, *_ = plans(96, "sm_90", "row", "blocked", 8, 16)
    assert (plan.cycles, other.cycles) == (36, 32)
    seen = 0
    for sides in exchanges_of_bytes():
        for found in memories(sides):
            assert found.least == 24
            assert some_turns(found, 2) is None
            seen += 1
            if not NIGHT and seen == 2:
                return
    assert seen == 3 * 2 * 3


def test_turns_are_found_where_there_are_some():
    """The search for turns, where there is no bound: it finds some that are counted as it says."""
    found = next(memories(exchanges_of_bytes()[0]))
    turns = some_turns(found, 24)
    bad = sum(
        any((turns[x] - turns[y]) % (32 // found.unit) == turn for x, y, turn in pairs) for pairs in conflicts(found)
    )
    assert 2 < bad <= 24
    wavefronts = 0
    for lines, words, banks in found._words:
        for row in zip(lines.tolist(), words.tolist()):
            at = collections.Counter((word + turns[line] * found.unit) % banks for line, word in zip(*row) if line >= 0)
            wavefronts += max(at.values())
    assert wavefronts - 24 >= bad


def coloring(edges, colors):
    """Edges of a bipartite graph, none of which has a neighbour of its color: by paths of two colors."""
    at = collections.defaultdict(dict)  # end -> color -> edge
    for edge in edges:
        ends = [("from", edge[0]), ("to", edge[1])]
        a, b = (next(c for c in range(colors) if c not in at[end]) for end in ends)
        path, end, color = [], ends[1], a
        while color in at[end]:
            path.append((at[end][color], color))
            this = at[end][color]
            end = ("to", this[1]) if end[0] == "from" else ("from", this[0])
            color = b if color == a else a
        for other, color in path:
            for end in (("from", other[0]), ("to", other[1])):
                del at[end][color]
        for other, color in path:
            for end in (("from", other[0]), ("to", other[1])):
                at[end][b if color == a else a] = other
        for end in ends:
            at[end][a] = edge
    return at


def test_a_memory_without_conflicts_exists():
    """Each 8 bytes are in one wavefront of the stores and in one of the loads; banks for them are colors of edges."""
    for sides in exchanges_of_bytes():
        (found,) = [x for x in memories(sides) if len(x.sides[0].vectors[0]) == 8 and x.memory.unit == 8][:1]
        ends = []
        for lines, words, _ in found._words:
            where = {}
            for k, row in enumerate(zip(lines.tolist(), words.tolist())):
                for line, word in zip(*row):
                    if line >= 0:
                        assert where.setdefault((line, word // 2), k) == k
            ends.append(where)
        assert set(ends[0]) == set(ends[1])
        edges = [(ends[0][unit], ends[1][unit], unit) for unit in ends[0]]
        banks = coloring(edges, 16)
        assert len(edges) == 192
        for end in (*(("from", k) for k in range(12)), *(("to", k) for k in range(12))):
            assert sorted(banks[end]) == [*range(16)]
            assert len(set(banks[end].values())) == 16


# ------------------------------------------------------------------------------------------------- sums of tables


def units_together():
    """For each exchange the wavefronts of both sides, as (third, quarter, row) of each 8 bytes: column 8 (third + 3
    quarter)."""
    for exchange in range(3):
        stores, loads = collections.defaultdict(list), collections.defaultdict(list)
        for row, quarter, third in itertools.product(range(16), range(4), range(3)):
            digits = [row & 1, quarter & 1, quarter >> 1]
            lane = digits.pop(exchange)
            unit = third, quarter, row
            stores[(third + 3 * quarter + 12 * row) // 16].append(unit)
            loads[(*digits, (lane + 2 * third + 6 * (row >> 1)) // 16)].append(unit)
        yield [*stores.values(), *loads.values()]


def test_units_together_are_those_of_the_plan():
    """The formula above beside the wavefronts that a memory of the planner has."""
    wanted = {frozenset(frozenset(of) for of in found) for found in units_together()}
    found = set()
    for sides in exchanges_of_bytes():
        memory = next(x for x in memories(sides) if len(x.sides[0].vectors[0]) == 8 and x.memory.unit == 8)
        unit_of = {
            (number // 128, number % 128 // 8): (c // 8 % 3, c // 24, row)
            for row, c in itertools.product(range(16), range(0, 96, 8))
            for number in [memory.memory.number((row, c))]
        }
        of = [
            frozenset(unit_of[line, word // 2] for line, word in zip(*both) if line >= 0)
            for lines, words, _ in memory._words
            for both in zip(lines.tolist(), words.tolist())
        ]
        found.add(frozenset(of))
    assert found == wanted


def whole_rows(sizes):
    """Banks of a row's 12 units, third by third of each quarter, as sums of a table of thirds and one of quarters in an
    abelian group of 16, which let four rows be stored without a conflict, whatever is added to each row."""
    elements = np.array([*itertools.product(*map(range, sizes))])
    places = np.array([int(np.prod(sizes[k + 1 :])) for k in range(len(sizes))])
    add = ((elements[:, None] + elements) % sizes) @ places
    free = np.array([*itertools.product(range(16), repeat=5)])
    thirds, quarters = (np.pad(part, ((0, 0), (1, 0))) for part in (free[:, :2], free[:, 2:]))
    rows = add[thirds[:, None, :], quarters[:, :, None]].reshape(-1, 12)
    rows = rows[(np.diff(np.sort(rows)) > 0).all(1)]
    moved = 1 << add[rows]  # row, unit, what is added
    first, both, later, last, whole = (
        np.bitwise_or.reduce(moved[:, at], axis=1)
        for at in (slice(0, 4), slice(0, 8), slice(4, 12), slice(8, 12), slice(0, 12))
    )
    every = (1 << 16) - 1
    one = whole[:, :1] | first == every
    two = later[:, :, None] | both[:, None, :] == every
    three = last[:, :, None] | whole[:, None, :] == every
    return rows[(one[:, :, None] & two & three.any(2)[:, None, :]).any((1, 2))]


def cheapest_rows(together, most):
    """Whether some number added to each row, modulo 16, leaves so many conflicts at most, where the units of a row are
    in 12 neighbouring banks: row by row, the first at 0."""
    groups = [[(third + 3 * quarter, row) for third, quarter, row in of] for of in together]

    def rest(added):
        banks = (collections.Counter((c + added[r]) % 16 for c, r in of if r < len(added)) for of in groups)
        if sum(max(of.values(), default=1) - 1 for of in banks) > most:
            return False
        return len(added) == 16 or any(rest([*added, n]) for n in range(16))

    return rest([0])


@pytest.mark.parametrize("sizes", [(16,), (2, 8), (4, 4), (2, 2, 4), (2, 2, 2, 2)][: 5 if NIGHT else 1])
def test_no_sum_of_tables_makes_bytes_as_cheap_as_padded(sizes):
    """A bank that is the sum of any table of thirds, any of quarters and any of rows, modulo 16, by XOR or by a mix:
    more than 2 conflicts, as one in each four rows is 4; and a row with a bank twice is 8."""
    found = whole_rows(sizes)
    assert {tuple(of) for of in found.tolist()} == (
        {tuple(odd * k % 16 for k in range(12)) for odd in range(1, 16, 2)} if sizes == (16,) else set()
    )  # which are 12 neighbours, for an odd factor renames the banks
    if sizes == (16,):
        assert [cheapest_rows(of, 2) for of in units_together()] == [False] * 3
        assert all(cheapest_rows([of for of in some if of[0][2] < 4][:3], 0) for some in units_together())
