"""Conversions of owners over digits whose values mostly stay in their warps: these by shuffles, others through memory.

A word is of values that both sides hold together. Beside these, a side's values differ in bits which are bits of the
thread's number on the other side, and each bit of one side goes with one of the other. In round k a lane sends the word
whose bits are k xored with what its own number says of the destination's bits, and keeps what it reads in the word
whose bits are k xored with what its number says of the source's: so a lane is read for one word at a time, whatever the
odd digits of lanes are. A lane whose word is in another warp keeps one that is not meant for it, until it loads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..linear import RadixLayout, bits
from .device_text import EXCHANGE, exchanges, loaded, packed, require_lanes, stored, unpacked
from .dialects import Dialect
from .machines import Machine
from .steps import WORD_BITS, Vector
from .through_lines import Held, Parts, digits_of, part_text, place_text, prime_digits, through_lines
from .through_rows import Rows, thread_text, values_of

if TYPE_CHECKING:
    import numpy.typing as npt

_NAMES = "src", "dst"


class Side(NamedTuple):
    """One side of the shuffles.

    held     who holds what
    words    the values of each word: [by what both sides hold][by the bits that this side alone holds]
    own      these bits: the dimension, and the place in its coordinate
    owner    the parts of the thread's number that each coordinate says
    leaves   whether each [thread, value] is in another warp on the other side
    """

    held: Held
    words: list[list[list[int]]]
    own: list[tuple[int, int]]
    owner: tuple[Parts, ...]
    leaves: list[list[bool]]

    def said(self, own: Sequence[tuple[int, int]]) -> npt.NDArray[Any]:
        """The bits of the coordinate that each thread's number says."""
        import numpy as np

        starts = np.array([of[0] for of in self.held.coordinates])
        return sum((starts[:, d] // place % 2 << k for k, (d, place) in enumerate(own)), 0 * starts[:, 0])


class Inside(NamedTuple):
    """Shuffles of the words that stay in their warps, and the way of the others through memory.

    sides      the source and the destination
    lanes      of a warp
    rows       the way through memory of what leaves its warp
    shuffles   of words of 32 bits, of each warp
    cycles     of the busier pipe, for all warps
    """

    sides: tuple[Side, Side]
    lanes: int
    rows: Rows
    shuffles: int
    cycles: int

    @staticmethod
    def of(src: RadixLayout, dst: RadixLayout, width: int, machine: Machine) -> Inside | None:
        """The shuffles of layouts of thread and value; None where their values differ in other digits than bits, or all
        stay in their warps, which are slices then."""
        import numpy as np

        threads, lanes = src.in_sizes["thread"], machine.read.lanes
        sides = _sides((src, dst), width, lanes) if threads % lanes == 0 else None
        if sides is None or not any(map(any, sides[0].leaves)):
            return None
        rows = next(through_lines(src, dst, width, machine, [np.array(side.leaves) for side in sides]), None)
        if rows is None:
            return None
        words = sum(map(len, sides[0].words)) * -(-width // WORD_BITS)
        selects = -(-2 * len(sides[0].own) * words // machine.selects)
        shared = words * machine.shuffle * (threads // lanes) + rows.wavefronts
        return Inside(sides, lanes, rows, words, max(shared, selects * (threads // lanes)))

    def run(self, given: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The shuffles, then memory, executed on an array [thread, value]."""
        import numpy as np

        (src, dst), thread = self.sides, np.arange(len(given))
        found = np.zeros_like(given)
        sends, keeps = src.said(dst.own), dst.said(src.own)
        for (held, wanted), k in itertools.product(zip(src.words, dst.words), range(len(src.words[0]))):
            sent, into = given[thread[:, None], np.array(held)[k ^ sends]], np.array(wanted)[k ^ keeps]
            reads = np.array([_thread_of(src.owner, dst.held.coordinates[t][v]) for t, v in enumerate(into[:, 0])])
            found[thread[:, None], into] = sent[thread - thread % self.lanes + reads % self.lanes]
        memory = np.zeros(self.rows.elements, given.dtype)
        stores, loads = (np.array(side.leaves) for side in self.sides)
        memory[np.array(self.rows.store.offsets())[stores]] = given[stores]
        found[loads] = memory[np.array(self.rows.load.offsets())[loads]]
        return found

    def text(self, dialect: Dialect, width: int) -> Iterator[str]:
        """The body of the device function for values of a width [bits].

        Raises     RangeError for warps that the language has not
        """
        require_lanes(dialect, self.lanes, "plan.hip()", "plan.run()")
        yield "const unsigned thread = threadIdx.x;"
        if self.lanes < dialect.lanes:
            yield f"const unsigned lane = thread & {self.lanes - 1}u;"
        for name, side in zip(_NAMES, self.sides):
            names = [f"x{d}" for d in range(len(side.owner))]
            for d, x in enumerate(names):
                yield f"const unsigned {name}_{x} = {thread_text([(n, step[d]) for n, step in side.held.thread])};"
            terms = [part_text(x, *part, part is of[-1]) for x, of in zip(names, side.owner) for part in of if part[2]]
            parameters = ", ".join(f"unsigned {x}" for x in names)
            yield f"const auto {name}_thread = []({parameters}) {{ return {' + '.join(terms) or '0u'}; }};"
        yield from self.rows.text
        yield from self._accesses(0, dialect, width)
        yield from self._shuffles(dialect, width)
        yield "__syncthreads();"
        yield from self._accesses(1, dialect, width)

    def _shuffles(self, dialect: Dialect, width: int) -> Iterator[str]:
        (src, dst), parts = self.sides, -(-width // WORD_BITS)
        sends, keeps = ([*itertools.chain(*side.words)] for side in self.sides)
        rounds = len(src.words[0])
        yield f"unsigned word[{self.shuffles}] = {{}}, got[{self.shuffles}];"
        yield from EXCHANGE
        for k, of in enumerate(sends):
            yield packed([f"src[{v}]" for v in of], f"word + {k * parts}" if k else "word", width)
        yield from self._turned("word", "src", dst.own, parts)
        for k in range(rounds):
            wanted = [[f"dst_x{d}"] for d in range(len(dst.owner))]
            for i, ((d, place), (e, at)) in enumerate(zip(dst.own, src.own)):
                bit = f"({_bit_text('dst', e, at)} ^ {k >> i & 1}u)"
                wanted[d].append(bit if place == 1 else f"{bit} * {place}u")
            yield f"const unsigned from{k} = src_thread({', '.join(map(' + '.join, wanted))}) & {self.lanes - 1}u;"
            for c, part in itertools.product(range(len(src.words)), range(parts)):
                n = (c * rounds + k) * parts + part
                yield f"got[{n}] = {dialect.shuffle(f'word[{n}]', f'from{k}', self.lanes)};"
        yield from self._turned("got", "dst", src.own, parts)
        for k, of in enumerate(keeps):
            yield unpacked([f"dst[{v}]" for v in of], f"got + {k * parts}" if k else "got", width)

    def _turned(self, words: str, name: str, own: Sequence[tuple[int, int]], parts: int) -> Iterator[str]:
        """Words exchanged by what the thread's number says of bits of the coordinate."""
        count = self.shuffles // parts
        for i, (d, place) in enumerate(own):
            both = [(k, k | 1 << i) for k in range(count) if not k >> i & 1]
            yield from exchanges(both, words, parts, _bit_text(name, d, place))

    def _accesses(self, k: int, dialect: Dialect, width: int) -> Iterator[str]:
        """The stores, or the loads, each by the threads of which a value leaves its warp."""
        name, side = _NAMES[k], (self.rows.store, self.rows.load)[k]
        mover = [*side.mover(dialect, name, width)]
        yield from mover
        for place, vector in side.accesses(name):
            text = (loaded if k else stored)(vector, place, bool(mover))
            yield f"if ({self._leaves(k, vector)}) {{ {text} }}"

    def _leaves(self, k: int, vector: Vector) -> str:
        """The condition on which a value of a vector leaves its warp."""
        side, warp = self.sides[k], f"thread / {self.lanes}u"
        leaves = {v: tuple(of[v] for of in side.leaves) for of in vector.registers for v in of}
        columns = {column: v for v, column in leaves.items() if any(column)}
        coordinates = [place_text(_NAMES[k], side.held.values[v]) for v in columns.values()]
        other = f"{_NAMES[1 - k]}_thread"
        return " || ".join(f"{other}({at}) / {self.lanes}u != {warp}" for at in coordinates)


def _bit_text(name: str, d: int, place: int) -> str:
    """A bit of the coordinate of a thread's first value."""
    return f"{name}_x{d} % 2u" if place == 1 else f"{name}_x{d} / {place}u % 2u"


def _sides(layouts: Sequence[RadixLayout], width: int, lanes: int) -> tuple[Side, Side] | None:
    """Both sides; None where a digit of one side's values alone is no bit of the other's threads."""
    held = [Held.of(x) for x in layouts]
    digits = [(prime_digits(of.value), prime_digits(of.thread)) for of in held]
    if not all(any(digit.step) for both in digits for of in both for digit in of):
        return None
    values, threads = ([{(d.extent, d.step): d.place for d in of[k]} for of in digits] for k in (0, 1))
    common = [x for x in values[0] if x in values[1]]
    own = [[x for x in of if x not in common] for of in values]
    fits = all(n == 2 and (n, step) in other for of, other in zip(own, threads[::-1]) for n, step in of)
    sizes = [*layouts[0].out_sizes.values()]
    orders = [
        [*((n, step) for n, step in of), *((d.extent, d.step) for d in both[1])] for of, both in zip(values, digits)
    ]
    owners = [parts for order, of in zip(orders, values) if (parts := digits_of(order, sizes, len(of))) is not None]
    if not fits or len(own[0]) != len(own[1]) or len(owners) < 2:
        return None
    together = [x for x in common if x[0] == 2][: bits.log2(WORD_BITS // width) if width < WORD_BITS else 0]
    rest = [x for x in common if x not in together]
    found = []
    for k, of in enumerate(values):
        of_word, of_own, of_rest = (values_of([(x[0], of[x]) for x in some]) for some in (together, own[k], rest))
        words = [[[r + o + w for w in of_word] for o in of_own] for r in of_rest]
        moved = [next((d, x) for d, x in enumerate(step) if x) for _, step in own[k]]
        found.append(Side(held[k], words, moved, owners[k], _leaves(held[k], owners[1 - k], lanes)))
    return found[0], found[1]


def _thread_of(owner: Sequence[Parts], coordinate: Sequence[int]) -> int:
    """The thread that holds an element."""
    parts = ((x, part) for x, of in zip(coordinate, owner) for part in of)
    return sum(x // place % n * stride for x, (place, n, stride) in parts)


def _leaves(held: Held, other: Sequence[Parts], lanes: int) -> list[list[bool]]:
    """Whether each [thread, value] is in another warp on the other side."""
    return [[_thread_of(other, at) // lanes != t // lanes for at in of] for t, of in enumerate(held.coordinates)]
