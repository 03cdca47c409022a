"""Conversions within warps: registers that are copied, and rounds in which each lane sends one word and reads one lane.

Where each value comes from is a linear map R, from the destination's register and lane to the source's; where a value
has several owners, R takes the nearest: the same lane before another.

Words: elements narrower than 32 bits go together where both layouts have them together in registers. V is a space that
the registers of both span; a word is a coset of it, and what follows is of words: registers, and R, without V.

The rounds are the cosets of a space D of (word, lane) with one word for each lane, on which no two lanes read one lane
for different words. D is a common complement of the destination's words and of what R takes to a lane's own. For
layouts without copies these two have one size, and a vector outside of both is a unit vector or the sum of two: of u
outside of one and w outside of the other it is u, w, or u + w. So there are 2^registers / 2^V rounds, as published, or
fewer where a round moves nothing between lanes; D has as many vectors that stay in their lanes as there can be.

Source: Linear Layouts, arXiv 2505.23819, section 5, intra-warp data exchange.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..linear import LinearLayout, bits
from .steps import BYTE_BITS, WORD_BITS, Move, Shuffle, Spread

#: A (word, lane) of the destination -> (word, lane) of the source: columns, words lowest.
Sources = list[int]


def within_warps(src: LinearLayout, dst: LinearLayout, element_bits: int) -> tuple[Move | Shuffle | Spread, ...] | None:
    """The steps between layouts of register, lane and warp; None where values leave their warp, or no rounds exist."""
    turns = Turns.of(src, dst)
    if turns is None:
        return None
    src = turns.turned(src, dst)
    single = Words.of(src, dst, 0)
    moved = single.sources()
    if moved is None:
        return None
    table = single.table(moved)
    if table is not None and not any((*turns.registers, *turns.lanes)):
        return (Move(table),)
    most = bits.log2(WORD_BITS // max(BYTE_BITS, element_bits)) if element_bits <= WORD_BITS else 0
    steps = _rounds(src, dst, most) or _twice_as_many(src, dst, most)
    if steps is None:
        return None
    return tuple(turns.of_all_warps(step) if isinstance(step, Shuffle) else step for step in steps)


def _rounds(src: LinearLayout, dst: LinearLayout, most: int) -> tuple[Shuffle | Spread, ...] | None:
    words = Words.of(src, dst, most)
    for own in (True, False):  # lanes that read themselves are none that others may read
        moved = words.sources(own)
        assert moved is not None  # what single values reach, words do
        if found := words.rounds(moved):
            return found
    return None


def _twice_as_many(src: LinearLayout, dst: LinearLayout, most: int) -> tuple[Shuffle | Spread, ...] | None:
    """Rounds for lanes that need other words of one lane: all that two lanes need goes to both; each keeps its own."""
    register, lane = dst.bases["register"], dst.bases["lane"]
    nothing = (0,) * dst.num_out_dims
    for j, step in enumerate(lane):
        both = {**dst.bases, "register": [*register, step], "lane": [*lane[:j], nothing, *lane[j + 1 :]]}
        found = _rounds(src, LinearLayout(both, dst.out_dims), most) or ()
        rounds = [s for s in found if isinstance(s, Shuffle)]
        spreads = [Spread(s.table[: 1 << len(register)]) for s in found if isinstance(s, Spread)]
        if rounds and all(r < 1 << len(register) for s in spreads for r in s.table):
            own = [(k >> j & 1) << len(register) for k in range(1 << len(lane))]
            return (*(s._replace(into=tuple(map(int.__xor__, s.into, own))) for s in rounds), *spreads)
    return None


def stays_in_warps(src: LinearLayout, dst: LinearLayout) -> bool:
    """Whether each warp holds before all that it holds after."""
    turns = Turns.of(src, dst)
    return turns is not None and Words.of(turns.turned(src, dst), dst, 0).sources() is not None


class Turns(NamedTuple):
    """The changes, by each bit of a warp's number, of the register and the lane that hold a value in the source.

    So a source whose warps hold more than they need is one whose warps hold what the destination's do, other registers
    in other lanes of each: value (register, lane) is at (register ^ R(warp), lane ^ L(warp)).
    """

    registers: list[int]
    lanes: list[int]

    @staticmethod
    def of(src: LinearLayout, dst: LinearLayout) -> Turns | None:
        """The turns after which both have the same warps; None where a warp does not hold what it needs."""
        held = [[x.pack(v) for v in x.bases["warp"]] for x in (src, dst)]
        columns = [src.pack(v) for name in ("register", "lane") for v in src.bases[name]]
        known, count = bits.Echelon(columns), len(src.bases["register"])
        masks = [known.solve(a ^ b) for a, b in zip(*held)]
        if None in masks or len(held[0]) != len(held[1]):
            return None
        return Turns([(m or 0) & (1 << count) - 1 for m in masks], [(m or 0) >> count for m in masks])

    def turned(self, src: LinearLayout, dst: LinearLayout) -> LinearLayout:
        """The source with the destination's warps."""
        warps = dst.transpose_outs(src.get_out_dim_names()).bases["warp"]
        return LinearLayout({**src.bases, "warp": warps}, src.out_dims)

    def of_all_warps(self, step: Shuffle) -> Shuffle:
        """A round of the turned source as one of the source itself: its tables go over the lanes of all warps."""
        if not any((*self.registers, *self.lanes)):
            return step
        send: list[int] = []
        source: list[int] = []
        warps = 1 << len(self.lanes)
        for warp in range(warps):
            register, turn = bits.apply(self.registers, warp), bits.apply(self.lanes, warp)
            send += [step.send[lane ^ turn] ^ register for lane in range(len(step.send))]
            source += [lane ^ turn for lane in step.source]
        return step._replace(send=tuple(send), source=tuple(source), into=step.into * warps, warps=warps)


def exchanged_bits(src: LinearLayout, dst: LinearLayout) -> int:
    """The number of bits that a conversion within warps moves from registers to lanes, or back if that is more."""
    here, there = ([x.pack(v) for v in x.bases["register"]] for x in (src, dst))
    return bits.rank([*here, *there]) - min(bits.rank(here), bits.rank(there))


def permutes_bits(src: LinearLayout, dst: LinearLayout) -> bool:
    """Whether what each bit of the destination's registers and lanes changes is nothing, or what one bit of the
    source's does; and no bit of a side, warps' too, changes what others together change."""
    if shared_changes(src) or shared_changes(dst):
        return False
    here, there = ({x.pack(v) for name in ("register", "lane") for v in x.bases[name]} for x in (src, dst))
    return there <= here | {0}


def shared_changes(layout: LinearLayout, names: Sequence[str] = ("register", "lane", "warp")) -> set[int]:
    """The changes of the element that a bit of these inputs makes and others together make too.

    >>> shared_changes(LinearLayout({"register": [(1,), (0,)], "lane": [(2,), (3,), (0,)], "warp": [(4,)]}, {"dim0": 8}))
    {1, 2, 3}
    """
    columns = [layout.pack(v) for name in names for v in layout.bases[name] if any(v)]
    return {columns[k] for relation in bits.kernel(columns) for k in bits.ones(relation)}


class Words(NamedTuple):
    """The words that lanes send and keep: registers of both layouts as words that hold the same elements, in one order.

    held, wanted   elements of the source's registers and lanes, and of the destination's
    together       V, the elements of a word
    sends, keeps   registers of the source, and of the destination, that hold V
    first, into    registers that are one of each word: with sends, or keeps, they are all
    """

    held: dict[str, list[int]]
    wanted: dict[str, list[int]]
    together: list[int]
    sends: list[int]
    keeps: list[int]
    first: list[int]
    into: list[int]

    @staticmethod
    def of(src: LinearLayout, dst: LinearLayout, most: int) -> Words:
        """Words of 2^most values, or fewer where the registers of both have fewer elements in common."""
        held, wanted = ({name: [x.pack(v) for v in x.bases[name]] for name in ("register", "lane")} for x in (src, dst))
        together = bits.intersection(held["register"], wanted["register"])[:most]
        masks, rest = [], []
        for columns in (held["register"], wanted["register"]):
            all_of_them = bits.Echelon(columns)
            masks.append([all_of_them.solve(v) or 0 for v in together])
            rest.append(bits.complement(masks[-1], len(columns)))
        return Words(held, wanted, together, masks[0], masks[1], rest[0], rest[1])

    @property
    def words(self) -> int:
        """The number of bits that number the words of the source."""
        return len(self.first)

    @property
    def lanes(self) -> int:
        return len(self.held["lane"])

    def _columns(self) -> list[int]:
        return [bits.apply(self.held["register"], r) for r in self.first] + self.held["lane"]

    def sources(self, own: bool = True) -> Sources | None:
        """The place of the word of each bit of the destination's words and lanes; None where one leaves its warp.

        own   whether a bit of the lane that changes the same in both stays where it is, though all lanes hold the value
        """
        columns, free = self._columns(), len(self.together)
        wanted: list[tuple[int, list[int]]] = [(bits.apply(self.wanted["register"], r), []) for r in self.into]
        wanted += [(v, [self.words + k]) for k, v in enumerate(self.wanted["lane"])]  # the same lane, if it can help
        found = []
        for v, same in wanted:
            if own and any(columns[k] == v for k in same):
                found.append(1 << same[0])
                continue
            chosen = [*same, *(c for c in range(len(columns)) if c not in same)]
            mask = bits.Echelon([*self.together, *(columns[c] for c in chosen)]).solve(v)
            if mask is None:
                return None
            found.append(sum(1 << chosen[i] for i in bits.ones(mask >> free)))
        return found

    def table(self, moved: Sources) -> tuple[int, ...] | None:
        """Destination word -> source word, where every lane finds all of its own; else None."""
        count = len(self.into)
        stay = all(c == 1 << self.words + k for k, c in enumerate(moved[count:]))
        if not stay or any(c >> self.words for c in moved[:count]):
            return None
        return tuple(bits.apply(moved[:count], r) for r in range(1 << count))

    def rounds(self, moved: Sources) -> tuple[Shuffle | Spread, ...] | None:
        """Rounds by cosets of a common complement; None where copies leave none.

        Of one whose lanes keep what they hold fewer rounds go between lanes, but lanes choose what they send and keep:
        it is taken where that halves these rounds.
        """
        chosen, own = self._complement(moved, False), self._complement(moved, True)
        if chosen is None:  # twice as many words may have one
            return None
        found = self._by_cosets(moved, chosen)
        if own in (None, chosen):
            return found
        kept = self._by_cosets(moved, own)
        return kept if 2 * _between_lanes(kept) <= _between_lanes(found) else found

    def _by_cosets(self, moved: Sources, chosen: Graph) -> tuple[Shuffle | Spread, ...]:
        count = len(self.into)
        first: dict[int, int] = {}  # of words that hold the same, one
        table = [first.setdefault(bits.apply(moved, r), r) for r in range(1 << count)]
        once = sorted({*table})
        sends = self._sent(chosen[1])
        found = [self._in_registers(*self._round(moved, r, chosen, table, sends)) for r in once]
        return tuple(found) if len(once) == len(table) else (*found, self._spread(once))

    def _complement(self, moved: Sources, in_lanes: bool) -> Graph | None:
        """A space of one word for each lane, in which lanes that read one lane want one word of it; None if
        none is found.

        in_lanes   whether vectors that stay in their lanes come before those that read the word of lane 0: a lane then
                   keeps what it holds, and is sent what it does not
        """
        count = len(self.into)
        free = len(self.together)
        # what may be added to a place: it holds the same
        same = [x >> free for x in bits.kernel([*self.together, *self._columns()])]
        found: list[tuple[int, int]] = []
        here, there = bits.Echelon(), bits.Echelon()  # the lanes of the space's vectors, and the lanes that they read
        spare = [bits.apply(same, k) for k in range(1 << min(len(same), 6))]
        for x in self._candidates(moved, in_lanes):
            if len(found) == self.lanes:
                break
            if here.spans(x >> count):
                continue
            place = bits.apply(moved, x)
            source = place and next((place ^ k for k in spare if not there.spans((place ^ k) >> self.words)), None)
            if source is not None:
                here.add(x >> count)
                there.add(source >> self.words)
                found.append((x, source))
        if len(found) < self.lanes:
            return None
        graph = bits.Echelon(x >> count for x, _ in found)
        masks = [graph.solve(1 << k) or 0 for k in range(self.lanes)]
        low = (1 << count) - 1
        words, lanes = [x & low for x, _ in found], [q for _, q in found]
        return [bits.apply(words, m) for m in masks], [bits.apply(lanes, m) for m in masks]

    def _candidates(self, moved: Sources, in_lanes: bool) -> Iterator[int]:
        """Vectors of (word, lane), bases of those that stay in their lanes and of those that read nothing but lane 0
        first, then those of few bits."""
        count, n = len(self.into), len(self.into) + self.lanes
        stay, zero = bits.kernel([c >> self.words ^ (1 << k >> count) for k, c in enumerate(moved)]), bits.kernel(moved)
        yield from (*stay, *zero) if in_lanes else (*zero, *stay)
        yield from sorted(range(1, 1 << n), key=lambda x: (x.bit_count(), x)) if n <= 12 else _light(n)

    def _sent(self, reads: Sequence[int]) -> list[int]:
        """For each lane bit, what it changes of the word that a lane sends: where nobody reads a lane, nothing."""
        mask = (1 << self.words) - 1
        words = [x & mask for x in reads]
        lanes = [x >> self.words for x in reads]
        unread = bits.complement(lanes, self.lanes)
        known = bits.Echelon([*lanes, *unread])
        assert all(not bits.apply(words, k) for k in bits.kernel(lanes))  # who reads one lane wants one word
        return [bits.apply([*words, *([0] * len(unread))], known.solve(1 << k) or 0) for k in range(self.lanes)]

    def _round(self, moved: Sources, word: int, chosen: Graph, table: Sequence[int], sends: Sequence[int]) -> Round:
        start = bits.apply(moved, word)
        lane, sent = start >> self.words, start & (1 << self.words) - 1
        lanes = range(1 << self.lanes)
        reads = [lane ^ bits.apply(chosen[1], k) >> self.words for k in lanes]
        keeps = [table[word ^ bits.apply(chosen[0], k)] for k in lanes]
        return [sent ^ bits.apply(sends, k ^ lane) for k in lanes], reads, keeps

    def _in_registers(self, send: Sequence[int], source: Sequence[int], into: Sequence[int]) -> Shuffle:
        """A round of words as one of registers; a lane keeps a word from the register on that holds its beginning."""
        order, kept = bits.Echelon(self.together), []
        sent = [bits.apply(self.first, word) for word in send]
        for lane, (place, word) in enumerate(zip(source, into)):
            register = bits.apply(self.into, word)
            begins = bits.apply(self.held["register"], sent[place]) ^ bits.apply(self.held["lane"], place)
            mine = bits.apply(self.wanted["register"], register) ^ bits.apply(self.wanted["lane"], lane)
            kept.append(register ^ bits.apply(self.keeps, order.solve(begins ^ mine) or 0))
        values = range(1 << len(self.together))
        sends, keeps = (tuple(bits.apply(of, s) for s in values) for of in (self.sends, self.keeps))
        return Shuffle(tuple(sent), tuple(source), tuple(kept), sends, keeps)

    def _spread(self, once: Sequence[int]) -> Spread:
        """From the registers of words that were kept once to those that hold the same."""
        columns, has = self.wanted["register"], {}
        for word in once:
            for s in range(1 << len(self.together)):
                register = bits.apply(self.into, word) ^ bits.apply(self.keeps, s)
                has[bits.apply(columns, register)] = register
        return Spread(tuple(has[bits.apply(columns, r)] for r in range(1 << len(columns))))


def _between_lanes(steps: Sequence[Shuffle | Spread]) -> int:
    """The number of rounds in which some lane reads another."""
    return sum(isinstance(s, Shuffle) and s.crosses for s in steps)


#: For each lane bit, what it changes in a round: the word that the lane keeps, and the (word, lane) that it reads.
Graph = tuple[list[int], list[int]]
#: The words that lanes send, the lanes that they read, and the words that they keep.
Round = tuple[list[int], list[int], list[int]]


def _light(n: int) -> list[int]:
    """Vectors of at most three bits, of fewer first."""
    single = [1 << k for k in range(n)]
    pairs = [a | b for i, a in enumerate(single) for b in single[:i]]
    return [*single, *pairs, *(a | p for a in single for p in pairs if a > p)]
