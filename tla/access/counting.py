"""The cost of one access: wavefronts of banks, sectors of lines, the widest vector, and what collides.

Counted, not estimated: the words of each lane, the groups of lanes that go together, the most words of one bank.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

from ..core.element import Width
from ..core.errors import RangeError, Unproven
from ..core.int_tuple import shown
from ..linear import bits as powers
from ..linear.value import integer
from ..notation.width import element_width
from ..symbolic import at
from .by_bits import ByBits, are_powers, by_bits
from .instruction import Cost, cost_of, moved
from .memories import NVIDIA_SHARED, Memory, as_memory
from .open_sizes import for_all_sizes, is_open
from .pattern import Pattern, has_columns, require_pattern
from .places import Placed, extents_of, in_memory, is_table, offsets, owned, require_lanes


class Witness(NamedTuple):
    """A collision in the worst instruction: so many lanes want different words of one bank at once.

    warp, register   the instruction: of this warp, the first register of its vectors
    bank             the bank
    lanes            one for each word
    addresses        where their vectors begin [bytes]

    >>> from tla import parse
    >>> access(parse("(2,1):(32,0)"), parse("64:1"), 32).witness
    Witness(warp=0, register=0, bank=0, lanes=(0, 1), addresses=(0, 128))
    """

    warp: int
    register: int
    bank: int
    lanes: tuple[int, ...]
    addresses: tuple[int, ...]


@dataclass(frozen=True)
class Access:
    """The counts of access().

    wavefronts     of the worst instruction: how often the memory is asked; of global memory the sectors that it moves
    least          the fewest that so many lanes of so wide vectors need
    degree         how many words one bank is asked for at once; 1 is free of conflicts
    witness        what collides, or None
    vector         the width of a lane's access [bits]
    instructions   how many there are, of all warps
    total          wavefronts of all of them
    used, moved    bytes that the worst instruction asks for, and that the memory moves for it
    lines          lines that it touches; 0 where the memory has none
    memory         the row of the table: its source, and whether it is convention
    element        the width of an element, and what says it
    sizes          of memory of open sizes the values that the witness is of; what is counted holds for all values

    >>> from tla import parse
    >>> print(access(parse("(8,8):(1,8)"), parse("(8,64):(64,1)"), 16))
    128-bit accesses: 8 wavefronts, 1 at least; 8-way conflict: lanes 0 to 7 of warp 0 in bank 0
    elements of 16 bits (given)
    NVIDIA_SHARED, a convention, not a specification: CUDA C++ Programming Guide, shared memory, for 32 banks of 4 bytes; the phases of \
64 and 128 bits are measured
    """

    wavefronts: int
    least: int
    degree: int
    witness: Witness | None
    vector: int
    instructions: int
    total: int
    used: int
    moved: int
    lines: int
    memory: Memory
    element: Width
    sizes: tuple[tuple[str, int], ...] = ()

    @property
    def counts(self) -> tuple[int, ...]:
        """All that was counted: everything but the witness.

        >>> from tla import parse
        >>> access(parse("(2,1):(32,0)"), parse("64:1"), 32).counts
        (2, 1, 2, 32, 1, 2, 8, 256, 0)
        """
        counted = (self.wavefronts, self.least, self.degree, self.vector, self.instructions, self.total)
        return (*counted, self.used, self.moved, self.lines)

    def __str__(self) -> str:
        text = f"{self.vector}-bit accesses: "
        if self.memory.banks:
            text += f"{_counted_as(self.wavefronts, 'wavefront')}, {self.least} at least; "
            text += f"{self.degree}-way conflict" if self.degree > 1 else "no conflict"
        else:
            text += f"{_counted_as(self.wavefronts, 'sector')}, {self.least} at least; {self.used} bytes used of {self.moved}"
        if self.witness:
            text += f": lanes {_runs(self.witness.lanes)} of warp {self.witness.warp} in bank {self.witness.bank}"
        known = "a convention, not a specification" if self.memory.convention else "as specified"
        return f"{text}\nelements of {self.element}\n{self.memory.name}, {known}: {self.memory.source}"


def _counted_as(n: int, name: str) -> str:
    return f"{n} {name}" if n == 1 else f"{n} {name}s"


def _runs(numbers: Sequence[int]) -> str:
    """Numbers between commas, three or more in a row as the first `to` the last.

    >>> _runs((0, 1, 2, 3, 8, 9, 12))
    '0 to 3, 8, 9, 12'
    """
    runs: list[list[int]] = []
    for n in numbers:
        if runs and n == runs[-1][-1] + 1:
            runs[-1].append(n)
        else:
            runs.append([n])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def access(
    owners: object,
    memory_layout: object,
    element_bits: object = None,
    width: int | Asked | None = None,
    memory: object = None,
) -> Access:
    """Count what instructions touch that load or store what each owner holds.

    owners          who holds what: a LinearLayout of register, lane, warp, block to the tensor; a (thread, value)
                    layout to the index in the tile, first mode fastest; or a partition by an array of all threads, of
                    an identity tensor, or of the memory itself; or the name of a usual access of a tile, such as
                    "ldmatrix.x4": patterns() has them
    memory_layout   where the tile lies [elements]; see below
    element_bits    the width of an element [bits], or an element type; it may be left out where owners or the memory
                    say it, as tensors with a buffer do, and must not contradict them
    width           of a lane's access [bits]; by default the widest of the memory for which each lane's values are
                    whole, aligned vectors, of which each step is a bit of the register's number
    memory          a row of the table, or its name; by default that of a usual access, else NVIDIA_SHARED
    Returns         Access
    Raises          RangeError for a width that the values are no whole vectors of, with a lane and its offsets, or that
                    the memory does not have; for a memory that is not known; for two widths of an element.
                    LeafTypeError where nothing says that

    memory_layout is a layout from the coordinates or the index of the tile to offsets; or a LinearLayout from `offset`
    to the tensor, as Triton's shared layouts; or a PaddedSharedLayout; or a tensor, whose offset counts too; or an
    array of integers, the offset of each element of the tile; or None where owners are a partition of the memory
    itself. It may have an open size in its strides: what is counted then holds for all its values.

    Vectors are what a lane holds as a set, as Triton counts them: a swizzle of single elements may give each lane its
    registers in another order, which it puts right by itself. A usual access moves memory in order: there the elements
    of a vector follow on one another.

    Where several lanes hold one value each of them asks for it; that is one word, and no conflict. Of one lane, values
    of one place are one value.

    >>> from tla import parse
    >>> contiguous = parse("(32,8):(8,1)")                      # lane i holds elements 8 * i to 8 * i + 7
    >>> found = access(contiguous, parse("256:1"), 16)
    >>> found.vector, found.wavefronts, found.least, found.degree
    (128, 4, 4, 1)
    >>> column = access(parse("(32,1):(32,0)"), parse("1024:1"), 32)
    >>> column.degree, column.witness.lanes[:4], column.witness.bank
    (32, (0, 1, 2, 3), 0)
    >>> [access("ldmatrix.x4", parse(x), 16).degree for x in ("(64,64):(64,1)", "Sw<3,3,3> o 0 o (64,64):(64,1)")]
    [8, 1]

    Source: the table of memories, each row of which says its own.
    """
    element = element_width(owners, None if is_table(memory_layout) else memory_layout, bits=element_bits)
    bits = element.bits
    asked = width if width is None or isinstance(width, Asked) else Asked(integer("access: width", width))
    layout, start = in_memory(memory_layout)
    if isinstance(owners, (str, Pattern)):
        usual = require_pattern(owners)
        owners = usual.owners(extents_of(layout), bits, has_columns(layout))
        asked = asked or Asked(usual.width(bits), True, usual.fills)
        memory = usual.memory if memory is None else memory
    row = as_memory(NVIDIA_SHARED if memory is None else memory)
    require_lanes("access", owners, row)
    if are_powers(row, bits) and not start and (columns := by_bits(owners, layout, row.lanes)):
        found = counted_by_bits(columns, element, asked, row)
        if found is not None:
            return found
    held = owned(owners, row.lanes)

    def counted(at: Placed) -> Access:
        count = _vector(at, bits, row) if asked is None else _given(at, bits, asked, row)
        return _counted(_filled(at, count, bits, row) if asked and asked.filled else at, element, count, row)

    def place(known_layout: Any) -> Placed:
        found = offsets(held, known_layout)
        return found._replace(of=[start + x for x in found.of]) if start else found

    if not is_open(layout):
        return counted(place(layout))
    if asked and asked.filled:
        raise Unproven(f"loads that fill {shown(layout)}", "sizes that are known", "give its symbols values first")
    period = math.lcm(bits, max(1, row.banks) * row.word_bits, row.line_bits or 1, *row.widths) // bits
    _, sizes = for_all_sizes(layout, len(held.coordinates) > 1, period, place, lambda at: counted(at).counts)
    return replace(counted(place(at(layout, sizes))), sizes=tuple(sizes.items()))


def bank_conflicts(
    owners: object, memory_layout: object, element_bits: object = None, memory: object = None
) -> Fraction:
    """Wavefronts over the fewest there could be, less one: 0 is free of conflicts. See access().

    >>> from tla import parse
    >>> print(bank_conflicts(parse("(32,1):(32,0)"), parse("1024:1"), 32))
    31
    """
    found = access(owners, memory_layout, element_bits, memory=memory)
    return Fraction(found.wavefronts, found.least) - 1


# ------------------------------------------------------------------------------------------------- vectors


def _vector(at: Placed, bits: int, row: Memory) -> int:
    """Elements of the widest vectors that registers hold: each step within one is a bit of the register's number.

    Triton's convention. Registers that would have to be xored to walk through a vector are not counted as one; where
    their number is no power of two, a vector is whatever offsets follow on one another.
    """
    steps = _steps(at)
    for width in row.widths:
        count = width // bits
        walks = steps is None or all(1 << i in steps for i in range(count.bit_length() - 1))
        if width % bits == 0 and count and walks and _split(at, count) is None:
            return count
    if min(row.widths) % bits or bits >= min(row.widths):
        what = f"{row.name}: elements of {bits} bits"
        raise RangeError(what, f"one of {', '.join(map(str, row.widths))}", "cut them into words first")
    raise _no_vectors(at, bits, min(row.widths), row)


def _steps(at: Placed) -> set[int] | None:
    """The offset's xor steps, one of each bit of the register's number; None where their number is no power of two."""
    if at.registers & (at.registers - 1):
        return None
    found: set[int] = set()
    for k in range(at.registers.bit_length() - 1):
        place = 1 << k
        step = at.of[0] ^ at.of[place]
        if step & (step - 1) == 0 and {a ^ b for a, b in _pairs(at.of, place)} == {step}:
            found.add(step)
    return found


def _pairs(of: list[int], place: int) -> Iterator[tuple[int, int]]:
    """The numbers whose places differ by one bit."""
    if place == 1:
        return zip(of[::2], of[1::2])
    starts = range(0, len(of), 2 * place)
    return itertools.chain.from_iterable(zip(of[s : s + place], of[s + place : s + 2 * place]) for s in starts)


class Asked(NamedTuple):
    """The width that was asked for [bits]; in_sequence: as an instruction copies memory, the elements of a vector one
    after the other; filled: lanes write one after the other too, whoever that gives which vector."""

    width: int
    in_sequence: bool = False
    filled: bool = False


def _given(at: Placed, bits: int, asked: Asked, row: Memory) -> int:
    width = asked.width
    if width % bits or not width:
        what = f"accesses of {width} bits to elements of {bits}"
        raise RangeError(what, f"a multiple of {bits}", f"use {max(bits, width - width % bits)}")
    if width not in row.phases:
        row.groups(width, 1)
    if _split(at, width // bits) is not None:
        raise _no_vectors(at, bits, width, row)
    if asked.in_sequence and (found := _out_of_sequence(at, width // bits)) is not None:
        warp, lane, register = found
        which = f"register {register} of lane {lane} of warp {warp}"
        what = f"accesses of {width} bits: {which} is not at its place in a vector"
        fix = "swizzle whole vectors, or choose an access of one element a lane"
        raise RangeError(what, "elements one after the other", fix)
    return width // bits


def _filled(at: Placed, count: int, bits: int, row: Memory) -> Placed:
    """The same vectors, dealt to lanes as they lie; RangeError where they are not runs of one from each lane."""
    vectors, what = sorted({x // count for x in at.of}), f"loads of {count * bits} bits of each of {row.lanes} lanes"
    if len(vectors) * count < len(at.of):
        raise RangeError(f"{what}: two elements of one place", "a place for each", "give a layout without repeats")
    if len(vectors) % row.lanes:
        size = row.lanes * count
        raise RangeError(f"{what} fill {len(at.of)} elements", f"a multiple of {size}", "give a larger tile")
    for k, v in enumerate(vectors):
        wanted = vectors[k - k % row.lanes] + k % row.lanes
        if v != wanted:
            gap = f"{what}: lane {k % row.lanes} writes to offset {wanted * count}, where nothing lies"
            raise RangeError(gap, f"offset {v * count}", f"pad behind whole runs of {row.lanes * count} elements only")
    placed = [v * count + k for v in vectors for k in range(count)]
    return Placed(placed, len(vectors) // row.lanes, row.lanes, count)


def _out_of_sequence(at: Placed, count: int) -> tuple[int, int, int] | None:
    """A warp, lane and register not at its number's place in a vector: an instruction moves elements in order."""
    if count > 1:
        for place, x in enumerate(at.of):
            if x % count != place % at.registers % count:
                lane, register = divmod(place, at.registers)
                return *divmod(lane, at.lanes), register
    return None


def _split(at: Placed, count: int) -> tuple[int, int] | None:
    """A warp and lane whose offsets are no whole, aligned vectors of so many elements; None if there is none."""
    if count == 1:
        return None
    for warp in range(at.warps):
        for lane, held in enumerate(at.warp(warp)):
            if len({*held}) != count * len({x // count for x in held}):
                return warp, lane
    return None


def _no_vectors(at: Placed, bits: int, width: int, row: Memory) -> RangeError:
    warp, lane = _split(at, width // bits) or (0, 0)
    found = ", ".join(map(str, sorted({*at.warp(warp)[lane]})[:8]))
    what = f"accesses of {width} bits: lane {lane} of warp {warp} holds offsets {found}"
    expected = f"whole, aligned vectors of {width // bits} elements"
    return RangeError(what, expected, "leave width out for the widest, or change who holds what")


# ------------------------------------------------------------------------------------------------- counting


class _Instruction(NamedTuple):
    """An instruction of a warp: its vectors' first register, where they begin in each lane [bits], and its cost."""

    warp: int
    register: int
    starts: Sequence[int]
    cost: Cost


def _counted(at: Placed, element: Width, count: int, row: Memory) -> Access:
    """The cost of every instruction of each warp, and the worst of them as the witness."""
    width = element.bits * count
    groups = row.groups(width, at.lanes)[1]
    costs: dict[tuple[int, ...], Cost] = {}  # many instructions are alike
    total = instructions = 0
    worst: _Instruction | None = None
    for warp in range(at.warps):
        for register, vectors in _instructions([[x // count for x in held] for held in at.warp(warp)]):
            starts = [v * width for v in vectors]
            if (cost := costs.get(alike := moved(starts, row))) is None:
                cost = costs[alike] = cost_of(starts, width, row, groups)
            total, instructions = total + cost.wavefronts, instructions + 1
            if worst is None or cost.rank > worst.cost.rank:  # the first of equal ones
                worst = _Instruction(warp, register, starts, cost)
    assert worst
    worst = worst._replace(cost=cost_of(worst.starts, width, row, groups))  # the bank is its own
    return _access(worst, width, instructions, total, element, row)


def counted_by_bits(at: ByBits, element: Width, asked: Asked | None, row: Memory) -> Access | None:
    """The cost of every instruction, which all are one; None where there are no vectors as asked for, which is said why
    elsewhere, or where lanes take what memory says."""
    if asked and asked.filled:
        return None
    wanted = row.widths if asked is None else (asked.width,)
    widths = [width for width in wanted if width in row.phases and width % element.bits == 0]
    fits = at.walks if asked is None else at.in_sequence if asked.in_sequence else at.has_vectors
    width = next((w for w in widths if powers.is_power_of_two(w // element.bits) and fits(w // element.bits)), None)
    if width is None:
        return None
    count = width // element.bits
    starts, instructions = [v * width for v in at.starts(count)], at.instructions(count)
    cost = cost_of(starts, width, row, row.groups(width, len(starts))[1])
    return _access(_Instruction(0, 0, starts, cost), width, instructions, cost.wavefronts * instructions, element, row)


def _access(worst: _Instruction, width: int, instructions: int, total: int, element: Width, row: Memory) -> Access:
    cost, witness = worst.cost, None
    if cost.degree > 1 and cost.clash:
        bank, lanes = cost.clash
        places = tuple(worst.starts[lane] // 8 for lane in lanes)
        witness = Witness(worst.warp, worst.register, bank, tuple(lanes), places)
    counts = (cost.wavefronts, cost.least, cost.degree, witness, width, instructions, total)
    return Access(*counts, cost.used, cost.moved, cost.lines, row, element)


def _instructions(vectors: list[list[int]]) -> list[tuple[int, list[int]]]:
    """Each lane's vector in each instruction, with the first register of it: lanes go through theirs in one order."""
    queues = [[*dict.fromkeys(row)] for row in vectors]
    firsts = sorted({v: r for r, v in reversed([*enumerate(vectors[0])])}.values())
    if all(len(q) == len(firsts) == len({row[r] for r in firsts}) for q, row in zip(queues, vectors)):
        return [(r, [row[r] for row in vectors]) for r in firsts]
    longest = max(map(len, queues))  # lanes of other orders: each its own, some for longer
    return [(k, [q[min(k, len(q) - 1)] for q in queues]) for k in range(longest)]
