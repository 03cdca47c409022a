"""Accesses whose offsets are xors of what each bit of the warp's, the lane's and the register's number does, counted by
these columns.

The offset of (warp, lane, register) is W xor L xor R. So the offsets of each lane are one space, xored with a constant:
they are whole, aligned vectors of 2^k elements where 1, 2, ... 2^(k-1) are in that space. All instructions are one,
xored with a constant. Where vectors, words and banks are powers of two that permutes banks and sectors, so that each
costs the same. That is as many offsets as a warp has lanes, instead of all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..core.errors import TlaError
from ..core.int_tuple import modes_of
from ..core.kinds import AnyLayout
from ..linear import LinearLayout, bits, linear
from .memories import Memory
from .places import HARDWARE, to_offsets, xors


class ByBits(NamedTuple):
    """The offsets of owners in a memory, by columns.

    register, lane, warp   what each bit of these numbers changes of an offset [elements]; blocks are further warps
    """

    register: list[int]
    lane: list[int]
    warp: list[int]

    @staticmethod
    def of(owners: LinearLayout) -> ByBits:
        """The columns of owners that hold elements of a tensor: their indices in it, first dimension fastest."""
        columns = {name: [owners.pack(v) for v in vectors] for name, vectors in owners.bases.items()}
        register, lane, warp, block = (columns.get(name, []) for name in reversed(HARDWARE))
        return ByBits(register, lane, [*warp, *block])

    def through(self, columns: Sequence[int]) -> ByBits:
        """The offsets in a memory, of which `columns` say what each bit of the index changes."""
        return ByBits(*([bits.apply(columns, x) for x in part] for part in self))

    def walks(self, count: int) -> bool:
        """Whether each step within vectors of so many elements is one bit of the register's number."""
        return all(1 << k in self.register for k in range(bits.log2(count)))

    def walks_alike(self, count: int) -> bool:
        """Whether registers walk vectors of so many elements in one order in every lane: all else goes elsewhere."""
        rest = [c for c in self.register if c >= count or not bits.is_power_of_two(c)]
        return self.walks(count) and all(c % count == 0 for c in (*rest, *self.lane, *self.warp))

    def has_vectors(self, count: int) -> bool:
        """Whether what each lane holds are whole, aligned vectors of so many elements."""
        space = bits.Echelon(self.register)
        return all(space.spans(1 << k) for k in range(bits.log2(count)))

    def in_sequence(self, count: int) -> bool:
        """Whether the registers are vectors of so many elements, one after the other: as an instruction copies them."""
        k = bits.log2(count)
        others = (*self.register[k:], *self.lane, *self.warp)
        return self.register[:k] == [1 << i for i in range(k)] and all(c % count == 0 for c in others)

    def instructions(self, count: int) -> int:
        """The number of accesses of so many elements, of all warps: values of one place are one."""
        return 1 << len(self.warp) << bits.rank(c // count for c in self.register)

    def starts(self, count: int) -> list[int]:
        """The vectors that the lanes of the first warp have in the first register."""
        return [x // count for x in xors(self.lane)]


def by_bits(owners: object, memory_layout: object, lanes: int) -> ByBits | None:
    """The columns of owners in a memory of a known layout; None where offsets are no such xors, or not known to be."""
    held = linear_owners(owners, lanes)
    if held is None or not held.num_out_dims or {*held.get_in_dim_names()} - {*HARDWARE}:
        return None
    columns = offset_columns(memory_layout, [*held.out_dims.values()])
    return None if columns is None else ByBits.of(held).through(columns)


def are_powers(row: Memory, element_bits: int) -> bool:
    """Whether elements, words, lines, lanes and banks of a memory are powers of two."""
    numbers = (element_bits, row.lanes, row.word_bits, row.line_bits)
    return all(n == 0 or bits.is_power_of_two(n) for n in (*numbers, *(banks for banks, _ in row.phases.values())))


def linear_owners(owners: Any, lanes: int) -> LinearLayout | None:
    """Owners as a linear layout of hardware, a (thread, value) layout's onto a tile's index; None if not linear."""
    if isinstance(owners, LinearLayout):
        return owners
    if not isinstance(owners, AnyLayout) or len(modes_of(owners.shape)) != 2:
        return None
    try:
        return of_threads(owners, lanes)
    except TlaError:
        return None


def of_threads(owners: AnyLayout, lanes: int) -> LinearLayout:
    """A (thread, value) layout as a linear layout of hardware onto its tile's index; refused as linear() refuses it."""
    found = linear(owners, ["thread", "register"])
    threads = found.bases["thread"]
    cut = bits.log2(lanes)
    bases = {"register": found.bases["register"], "lane": threads[:cut], "warp": threads[cut:]}
    return LinearLayout(bases, {"index": math.prod(found.out_dims.values())})


def offset_columns(memory: Any, sizes: Sequence[int]) -> list[int] | None:
    """The offset's change by each bit of an index of a tensor of these sizes; None if not linear, or too small."""
    try:
        if isinstance(memory, LinearLayout):
            there = to_offsets(memory)
        elif isinstance(memory, AnyLayout):
            there = linear(memory) if len(sizes) == len(modes_of(memory.shape)) > 1 else linear(memory, ["index"])
        else:
            return None
    except TlaError:
        return None
    has = [there.get_in_dim_size(name) for name in there.get_in_dim_names()]
    if len(has) != len(sizes):
        has, sizes = [math.prod(has)], [math.prod(sizes)]
    if any(n > m for n, m in zip(sizes, has)):
        return None
    starts = [sum(map(bits.log2, has[:d])) for d in range(len(has))]
    return [there.columns[start + k] for start, n in zip(starts, sizes) for k in range(bits.log2(n))]
