"""Conversions through shared memory: in the layout that best_swizzle finds, whole or in rounds through a smaller buffer.

A round is a part of the tile: the elements of which k linear forms have given values. Where the forms are 0 on what lanes and warps change,
in both layouts, a part is the same registers in each thread. All parts have one layout in memory: that of their elements without the
directions that the forms see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.errors import RangeError
from ..linear import LinearLayout, bits, linear
from .counting import access
from .machines import Machine
from .places import offsets, owned
from .steps import Load, Store
from .synthesis import best_swizzle


class Memory(NamedTuple):
    """A way through shared memory: its steps, and their cost."""

    steps: tuple[Store | Load, ...]
    bytes: int
    wavefronts: int
    instructions: int


def through_memory(src: LinearLayout, dst: LinearLayout, width: int, machine: Machine, scratch_bytes: int | None) -> Memory:
    """All values stored and loaded: at once, or in rounds through so many bytes.

    Raises     RangeError where no round is as small
    """
    layout = best_swizzle([src], [dst], width, (machine.write, machine.read)).layout
    size = (max(offsets(owned(src, machine.read.lanes), layout).of) + 1) * width // 8
    if scratch_bytes is None or size <= scratch_bytes:
        return _costed(src, dst, width, machine, layout, size, [(None, None)], layout)
    return _in_rounds(src, dst, width, machine, scratch_bytes)


def _costed(
    src: LinearLayout,
    dst: LinearLayout,
    width: int,
    machine: Machine,
    layout: object,
    size: int,
    rounds: Sequence[_Registers],
    whole: object,
) -> Memory:
    """The rounds of a part: of owners of the part, and its layout, the cost; for the steps the layout of the whole tile."""
    write, read = access(src, layout, width, memory=machine.write), access(dst, layout, width, memory=machine.read)
    steps: list[Store | Load] = []
    for stored, loaded in rounds:
        steps += [Store(whole, write.vector // width, stored), Load(whole, read.vector // width, loaded)]
    instructions = len(rounds) * (write.instructions + read.instructions) // src.get_in_dim_size("warp")
    return Memory(tuple(steps), size, len(rounds) * (write.total + read.total), instructions)


#: The registers that a round stores, and those that it loads; None for all.
_Registers = tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def _in_rounds(src: LinearLayout, dst: LinearLayout, width: int, machine: Machine, scratch_bytes: int) -> Memory:
    total = src.get_total_out_dim_size_log2()
    basis = _basis(src, dst, total)
    fewest = (-(-((1 << total) * width // 8) // scratch_bytes) - 1).bit_length()
    lanes = bits.rank(_shared(src, dst))
    if fewest > total - lanes:
        least = (1 << lanes) * width // 8
        raise RangeError(f"convert through {scratch_bytes} bytes", f"{least} at least, what lanes and warps hold", f"give {least} bytes")
    part = _Part(bits.Echelon(basis), total - fewest)
    stored, loaded = (part.owners(x) for x in (src, dst))
    layout = best_swizzle([stored.layout], [loaded.layout], width, (machine.write, machine.read)).layout
    columns = linear(layout, ["index"]).columns
    units = [bits.apply(columns, part.within(1 << k)) for k in range(total)]
    whole = LinearLayout(_by_dimension(src, units), {"offset": 1 << part.bits})
    rounds = [(stored.registers(c), loaded.registers(c)) for c in range(1 << fewest)]
    size = (1 << part.bits) * width // 8
    return _costed(stored.layout, loaded.layout, width, machine, layout, size, [r for r in rounds if None not in r], whole)


def _shared(src: LinearLayout, dst: LinearLayout) -> list[int]:
    """The changes of the element by bits of lanes and warps, in both layouts."""
    return [x.pack(v) for x in (src, dst) for name in ("lane", "warp") for v in x.bases[name]]


def _basis(src: LinearLayout, dst: LinearLayout, total: int) -> list[int]:
    """A basis of the tile: what lanes and warps change, then registers: those of both layouts, which vectors are of, then the others."""
    first, second = ([x.pack(v) for v in x.bases["register"]] for x in (src, dst))
    both = [c for c in first if c in second]
    found = bits.Echelon()
    return [c for c in (*_shared(src, dst), *both, *first, *second, *(1 << k for k in range(total))) if found.add(c)]


def _by_dimension(tile: LinearLayout, columns: Sequence[int]) -> dict[str, list[tuple[int]]]:
    """For each dimension of the tile what its bits change."""
    found, start = {}, 0
    for name, size in tile.out_dims.items():
        count = bits.log2(size)
        found[name] = [(c,) for c in columns[start : start + count]]
        start += count
    return found


class _Part(NamedTuple):
    """Parts of a tile: an element is the sum of some vectors of a basis; the first `bits` of them are within a part."""

    basis: bits.Echelon
    bits: int

    def within(self, element: int) -> int:
        return (self.basis.solve(element) or 0) & (1 << self.bits) - 1

    def number(self, element: int) -> int:
        """The number of the part that an element is in."""
        return (self.basis.solve(element) or 0) >> self.bits

    def owners(self, whole: LinearLayout) -> _Owners:
        """The owners of the first part, whose lanes and warps are those of the whole."""
        columns = [whole.pack(v) for v in whole.bases["register"]]
        numbers = bits.Echelon(self.number(c) for c in columns)
        masks = [1 << k ^ (numbers.solve(self.number(columns[k])) or 0) for k in numbers.free]
        held = {"register": [bits.apply(columns, m) for m in masks]}
        held |= {name: [whole.pack(v) for v in whole.bases[name]] for name in ("lane", "warp")}
        bases = {name: [(self.within(c),) for c in of] for name, of in held.items()}
        return _Owners(LinearLayout(bases, {"index": 1 << self.bits}), masks, numbers)


class _Owners(NamedTuple):
    """Who holds a part: the layout of the first, what each bit of its register's number changes of the whole's, the numbers of parts."""

    layout: LinearLayout
    masks: list[int]
    numbers: bits.Echelon

    def registers(self, number: int) -> tuple[int, ...] | None:
        """The registers that hold this part; None if nobody does."""
        start = self.numbers.solve(number)
        return None if start is None else tuple(start ^ bits.apply(self.masks, r) for r in range(1 << len(self.masks)))
