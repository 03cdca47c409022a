"""The cost of one access: wavefronts of banks, sectors of lines, the widest vector, and what collides.

Counted, not estimated: the words of each lane, the groups of lanes that go together, the most words of one bank.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.element import Width
from ..core.errors import RangeError
from ..linear.value import integer
from ..notation.width import element_width
from ..symbolic import at
from .memories import NVIDIA_SHARED, Memory, as_memory
from .open_sizes import for_all_sizes, is_open
from .places import in_memory, offsets, owned

if TYPE_CHECKING:
    import numpy.typing as npt


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


def access(owners: Any, memory_layout: Any, element_bits: Any = None, width: int | None = None, memory: Any = NVIDIA_SHARED) -> Access:
    """Count what instructions touch that load or store what each owner holds.

    owners          who holds what: a LinearLayout of register, lane, warp, block to the tensor; a (thread, value) layout to the
                    index in the tile, first mode fastest; or a partition by an array of all threads, of an identity tensor, or
                    of the memory itself
    memory_layout   where the tile lies [elements]; see below
    element_bits    the width of an element [bits], or an element type; it may be left out where owners or the memory say it, as tensors
                    with a buffer do, and must not contradict them
    width           of a lane's access [bits]; by default the widest of the memory for which each lane's values are whole,
                    aligned vectors, of which each step is a bit of the register's number
    memory          a row of the table, or its name
    Returns         Access
    Raises          RangeError for a width that the values are no whole vectors of, with a lane and its offsets, or that the
                    memory does not have; for a memory that is not known; for two widths of an element. LeafTypeError where nothing
                    says that

    memory_layout is a layout from the coordinates or the index of the tile to offsets; or a LinearLayout from `offset` to the
    tensor, as Triton's shared layouts; or a PaddedSharedLayout; or a tensor, whose offset counts too; or None where owners are a
    partition of the memory itself. It may have an open size in its strides: what is counted then holds for all its values.

    Where several lanes hold one value each of them asks for it; that is one word, and no conflict. Of one lane, values of one
    place are one value.

    >>> from tla import parse
    >>> contiguous = parse("(32,8):(8,1)")                      # lane i holds elements 8 * i to 8 * i + 7
    >>> found = access(contiguous, parse("256:1"), 16)
    >>> found.vector, found.wavefronts, found.least, found.degree
    (128, 4, 4, 1)
    >>> column = access(parse("(32,1):(32,0)"), parse("1024:1"), 32)
    >>> column.degree, column.witness.lanes[:4], column.witness.bank
    (32, (0, 1, 2, 3), 0)

    Source: the table of memories, each row of which says its own.
    """
    row, element = as_memory(memory), element_width(owners, memory_layout, bits=element_bits)
    bits = element.bits
    asked = None if width is None else integer("access: width", width)
    held, (layout, start) = owned(owners, row.lanes), in_memory(memory_layout)

    def counted(at: npt.NDArray[Any]) -> Access:
        return _counted(at, element, _vector(at, bits, row) if asked is None else _given(at, bits, asked, row), row)

    def place(known_layout: Any) -> npt.NDArray[Any]:
        return offsets(held, known_layout) + start

    if not is_open(layout):
        return counted(place(layout))
    period = math.lcm(bits, max(1, row.banks) * row.word_bits, row.line_bits or 1, *row.widths) // bits
    _, sizes = for_all_sizes(layout, len(held.coordinates) > 1, period, place, lambda at: counted(at).counts)
    return replace(counted(place(at(layout, sizes))), sizes=tuple(sizes.items()))


def bank_conflicts(owners: Any, memory_layout: Any, element_bits: Any = None, memory: Any = NVIDIA_SHARED) -> Fraction:
    """Wavefronts over the fewest there could be, less one: 0 is free of conflicts. See access().

    >>> from tla import parse
    >>> print(bank_conflicts(parse("(32,1):(32,0)"), parse("1024:1"), 32))
    31
    """
    found = access(owners, memory_layout, element_bits, memory=memory)
    return Fraction(found.wavefronts, found.least) - 1


# ------------------------------------------------------------------------------------------------- vectors


def _vector(at: npt.NDArray[Any], bits: int, row: Memory) -> int:
    """Elements of the widest vectors that registers hold: each step within one is a bit of the register's number.

    Triton's convention. Registers that would have to be xored to walk through a vector are not counted as one; where their
    number is no power of two, a vector is whatever offsets follow on one another.
    """
    for width in row.widths:
        count = width // bits
        if width % bits == 0 and count and _split(at, count) is None and _steps(at, count):
            return count
    if min(row.widths) % bits or bits >= min(row.widths):
        raise RangeError(f"{row.name}: elements of {bits} bits", f"one of {', '.join(map(str, row.widths))}", "cut them into words first")
    raise _no_vectors(at, bits, min(row.widths), row)


def _steps(at: npt.NDArray[Any], count: int) -> bool:
    """Whether for each bit of an offset within a vector there is one bit of the register's number that flips it, and no more."""
    import numpy as np

    registers = at.shape[2]
    if registers & (registers - 1):
        return True
    index = np.arange(registers)
    flips = [at ^ at[:, :, index ^ 1 << k] for k in range(registers.bit_length() - 1)]
    return all(any((f == 1 << i).all() for f in flips) for i in range(count.bit_length() - 1))


def _given(at: npt.NDArray[Any], bits: int, width: int, row: Memory) -> int:
    if width % bits or not width:
        raise RangeError(
            f"accesses of {width} bits to elements of {bits}", f"a multiple of {bits}", f"use {max(bits, width - width % bits)}"
        )
    if width not in row.phases:
        row.groups(width, 1)
    if _split(at, width // bits) is not None:
        raise _no_vectors(at, bits, width, row)
    return width // bits


def _split(at: npt.NDArray[Any], count: int) -> tuple[int, int] | None:
    """A warp and lane whose offsets are no whole, aligned vectors of so many elements; None if there is none."""
    import numpy as np

    if count == 1:
        return None
    held = np.sort(at.reshape(-1, at.shape[2]), axis=1)
    new = np.ones(held.shape, bool)
    new[:, 1:] = held[:, 1:] != held[:, :-1]
    starts = np.ones(held.shape, bool)
    starts[:, 1:] = held[:, 1:] // count != held[:, :-1] // count
    wrong = new.sum(1) != starts.sum(1) * count
    if not wrong.any():
        return None
    first = int(np.flatnonzero(wrong)[0])
    return first // at.shape[1], first % at.shape[1]


def _no_vectors(at: npt.NDArray[Any], bits: int, width: int, row: Memory) -> RangeError:
    warp, lane = _split(at, width // bits) or (0, 0)
    found = ", ".join(map(str, sorted({*at[warp, lane].tolist()})[:8]))
    what = f"accesses of {width} bits: lane {lane} of warp {warp} holds offsets {found}"
    return RangeError(
        what, f"whole, aligned vectors of {width // bits} elements", "leave width out for the widest, or change who holds what"
    )


# ------------------------------------------------------------------------------------------------- counting


class _Cost(NamedTuple):
    """The counts of one instruction, as Access has them. clash: the bank that is asked for most, with a lane for each word."""

    wavefronts: int
    least: int
    degree: int
    clash: tuple[int, list[int]] | None
    used: int
    moved: int
    lines: int

    @property
    def rank(self) -> tuple[float, int]:
        """The order of costs: the worst instruction has the largest."""
        return self.wavefronts / max(1, self.least), self.degree


def _counted(at: npt.NDArray[Any], element: Width, count: int, row: Memory) -> Access:
    """The cost of every instruction of each warp, and the worst of them as the witness."""
    width = element.bits * count
    warps, lanes, _ = at.shape
    banks, groups = row.groups(width, lanes)
    costs: list[tuple[_Cost, int, int, npt.NDArray[Any]]] = []
    alike = _is_linear(at)  # then all instructions are one, xored with a constant, which permutes banks and sectors
    instructions = 0
    for warp in range(1 if alike else warps):
        found = _instructions(at[warp] // count)
        instructions += len(found) * (warps if alike else 1)
        for register, vectors in found[:1] if alike else found:
            starts = vectors * width
            costs.append((_banked(starts, width, groups, banks, row) if banks else _sectors(starts, width, row), warp, register, starts))
    worst, warp, register, starts = max(costs, key=lambda found: found[0].rank)  # the first of equal ones
    total = sum(cost.wavefronts for cost, *_ in costs) * (instructions if alike else 1)
    witness = None
    if worst.degree > 1 and worst.clash:
        bank, colliding = worst.clash
        witness = Witness(warp, register, bank, tuple(colliding), tuple(int(starts[lane]) // 8 for lane in colliding))
    counts = (worst.wavefronts, worst.least, worst.degree, witness, width, instructions, total, worst.used, worst.moved, worst.lines)
    return Access(*counts, row, element)


def _is_linear(at: npt.NDArray[Any]) -> bool:
    """Whether each offset is the xor of what its warp, its lane and its register do."""
    return bool((at == at[:, :1, :1] ^ at[:1, :, :1] ^ at[:1, :1, :]).all())


def _instructions(vectors: npt.NDArray[Any]) -> list[tuple[int, npt.NDArray[Any]]]:
    """The vector of each lane in each instruction, with the first register of it: lanes go through theirs in one order."""
    import numpy as np

    firsts = sorted(np.unique(vectors[0], return_index=True)[1].tolist())
    chosen = vectors[:, firsts]
    ordered = np.sort(chosen, axis=1)
    whole = all(len(np.unique(row)) == len(firsts) for row in vectors)
    if whole and not (ordered[:, 1:] == ordered[:, :-1]).any():
        return [(r, vectors[:, r]) for r in firsts]
    queues = [[*dict.fromkeys(row)] for row in vectors.tolist()]  # lanes of other orders: each its own, some for longer
    longest = max(map(len, queues))
    return [(k, np.array([q[min(k, len(q) - 1)] for q in queues])) for k in range(longest)]


def _banked(starts: npt.NDArray[Any], width: int, groups: Sequence[Sequence[int]], banks: int, row: Memory) -> _Cost:
    """The cost of one instruction of a memory with banks."""
    wavefronts = least = degree = used = 0
    clash: tuple[int, list[int]] | None = None
    for group in groups:
        words: dict[int, int] = {}
        for lane in group:
            start = int(starts[lane])
            for word in range(start // row.word_bits, (start + width - 1) // row.word_bits + 1):
                words.setdefault(word, lane)
        per_bank = Counter(word % banks for word in words)
        bank, most = per_bank.most_common(1)[0]
        if most > degree:
            degree, clash = most, (bank, [lane for word, lane in sorted(words.items()) if word % banks == bank])
        wavefronts, least, used = wavefronts + most, least + 1, used + len({int(starts[lane]) for lane in group}) * width // 8
    return _Cost(wavefronts, least, degree, clash, used, wavefronts * banks * row.word_bits // 8, 0)


def _sectors(starts: npt.NDArray[Any], width: int, row: Memory) -> _Cost:
    """The cost of one instruction of a memory that moves whole sectors."""
    sectors: set[int] = set()
    for start in map(int, starts):
        sectors.update(range(start // row.word_bits, (start + width - 1) // row.word_bits + 1))
    asked = len({*map(int, starts)}) * width
    lines = len({s * row.word_bits // row.line_bits for s in sectors}) if row.line_bits else 0
    return _Cost(len(sectors), -(-asked // row.word_bits), 1, None, asked // 8, len(sectors) * row.word_bits // 8, lines)
