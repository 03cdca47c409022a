"""Conversions through shared memory: in the layout that best_swizzle finds, whole or in rounds through
a smaller buffer.

A round is a part of the tile: the elements of which k linear forms have given values. Where the forms are 0 on what
lanes and warps change, in both layouts, a part is the same registers in each thread. All parts have one layout in
memory: that of their elements without the directions that the forms see.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..core.element import Width
from ..core.errors import RangeError
from ..linear import LinearLayout, bits, linear
from ..linear.building import unpack
from .by_bits import ByBits, by_bits, offset_columns
from .counting import Access, Asked, access
from .machines import Machine
from .matrices import ROW_BITS, matrices
from .places import offsets, owned
from .steps import Load, Matrices, Store
from .synthesis import Request, Search, searched


class Memory(NamedTuple):
    """A way through shared memory: its steps, and their cost."""

    steps: tuple[Store | Load, ...]
    bytes: int
    wavefronts: int
    instructions: int


def through_memory(
    src: LinearLayout, dst: LinearLayout, width: int, machine: Machine, scratch_bytes: int | None
) -> Memory:
    """All values stored and loaded: at once, or in rounds through so many bytes.

    Raises     RangeError where no round is as small
    """
    first, second = _with_common_steps(*map(_Owners.of_all, (src, dst)))
    way = _chosen(first.layout, second.layout, width, machine)
    size = (max(offsets(owned(src, machine.read.lanes), way.layout).of) + 1) * width // 8
    if scratch_bytes is None or size <= scratch_bytes:
        forms = first.of_whole(way.forms[0]), second.of_whole(way.forms[1])
        return _costed(way, [(None, None)], way.layout, forms, size, src.get_in_dim_size("warp"))
    return _in_rounds(src, dst, width, machine, scratch_bytes)


# ------------------------------------------------------------------------------------------------- ways

#: What stores, and what loads: matrices, or vectors.
_Forms = tuple[Matrices | None, Matrices | None]


class _Way(NamedTuple):
    """A layout of memory, what stores to it and loads from it, and by what."""

    layout: Any
    write: Access
    read: Access
    forms: _Forms

    @property
    def cost(self) -> tuple[int, int]:
        """Wavefronts, then instructions."""
        return self.write.total + self.read.total, self.write.instructions + self.read.instructions


def _chosen(src: LinearLayout, dst: LinearLayout, width: int, machine: Machine) -> _Way:
    """The way of the fewest wavefronts, of these the fewest instructions; vectors where matrices have no fewer."""
    best: _Way | None = None
    for search, forms in sorted(_searches(src, dst, width, machine), key=lambda x: x[0].least):
        if best is not None and best.cost <= search.least:
            break
        layout = search.best().layout
        write, read = (access(_with_steps(a, layout), layout, width, a.vector, a.memory) for a in search.asked)
        way = _Way(layout, write, read, forms)
        if forms == (None, None) or offset_columns(layout, search.shape) is not None:  # padding is for vectors only
            best = way if best is None or way.cost < best.cost else best
    assert best is not None
    return best


def _searches(src: LinearLayout, dst: LinearLayout, width: int, machine: Machine) -> Iterator[tuple[Search, _Forms]]:
    """Searches for a layout, for vectors and for all matrices that could move the values."""
    element = Width(width, "convert")
    plain = [(None, Request(x, None, row)) for x, row in ((src, machine.write), (dst, machine.read))]
    writes, reads = (
        [
            first,
            *(
                (rows.form, Request(rows.owners, Asked(ROW_BITS, True), first[1].memory))
                for rows in (matrices(x, width) if has else ())
            ),
        ]
        for first, x, has in zip(plain, (src, dst), (machine.stmatrix, machine.ldmatrix))
    )
    yield searched([plain[0][1], plain[1][1]], element), (None, None)
    for (store, write), (load, read) in itertools.product(writes, reads):
        if (store or load) and _agree(write, read, width):
            with contextlib.suppress(RangeError):  # no layout has the rows of both, or vectors beside them
                yield searched([write, read], element), (store, load)


def _agree(write: Request, read: Request, width: int) -> bool:
    """Whether rows of matrices, where both sides have them, are the same elements in one sequence."""
    if write.vector is None or read.vector is None:
        return True
    count = bits.log2(ROW_BITS // width)
    return write.owners.bases["register"][:count] == read.owners.bases["register"][:count]


def _costed(way: _Way, rounds: Sequence[_Registers], whole: object, forms: _Forms, size: int, warps: int) -> Memory:
    """The rounds of a part, each of which costs as much; for the steps the whole tile's layout, and its registers."""
    vectors = [1 if form else a.vector // a.element.bits for a, form in zip((way.write, way.read), forms)]
    steps: list[Store | Load] = []
    for stored, loaded in rounds:
        steps += [Store(whole, vectors[0], stored, forms[0]), Load(whole, vectors[1], loaded, forms[1])]
    wavefronts, instructions = way.cost
    return Memory(tuple(steps), size, len(rounds) * wavefronts, len(rounds) * instructions // warps)


# ------------------------------------------------------------------------------------------------- rounds

#: The registers that a round stores, and those that it loads; None for all.
_Registers = tuple[tuple[int, ...] | None, tuple[int, ...] | None]


def _in_rounds(src: LinearLayout, dst: LinearLayout, width: int, machine: Machine, scratch_bytes: int) -> Memory:
    total = src.get_total_out_dim_size_log2()
    basis = _basis(src, dst, total)
    fewest = (-(-((1 << total) * width // 8) // scratch_bytes) - 1).bit_length()
    lanes = bits.rank(_shared(src, dst))
    if fewest > total - lanes:
        least = (1 << lanes) * width // 8
        what = f"convert through {scratch_bytes} bytes"
        raise RangeError(what, f"{least} at least, what lanes and warps hold", f"give {least} bytes")
    part = _Part(bits.Echelon(basis), total - fewest)
    stored, loaded = _with_common_steps(part.owners(src), part.owners(dst))
    way = _chosen(stored.layout, loaded.layout, width, machine)
    columns = linear(way.layout, ["index"]).columns
    units = [bits.apply(columns, part.within(1 << k)) for k in range(total)]
    whole = LinearLayout(_by_dimension(src, units), {"offset": 1 << part.bits})
    rounds = [(stored.registers(c), loaded.registers(c)) for c in range(1 << fewest)]
    forms = stored.of_whole(way.forms[0]), loaded.of_whole(way.forms[1])
    size = (1 << part.bits) * width // 8
    return _costed(way, [r for r in rounds if None not in r], whole, forms, size, src.get_in_dim_size("warp"))


def _shared(src: LinearLayout, dst: LinearLayout) -> list[int]:
    """The changes of the element by bits of lanes and warps, in both layouts."""
    return [x.pack(v) for x in (src, dst) for name in ("lane", "warp") for v in x.bases[name]]


def _basis(src: LinearLayout, dst: LinearLayout, total: int) -> list[int]:
    """A basis of the tile: what lanes and warps change, then registers: those of both layouts, which vectors are of,
    then the others."""
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


def _with_common_steps(first: _Owners, second: _Owners) -> tuple[_Owners, _Owners]:
    """Owners whose registers make the steps that both can: vectors are of these. Renumbered only where need be."""
    steps = bits.reduced(bits.intersection(first.register, second.register))
    if len(steps) == bits.rank({*first.register} & {*second.register}):
        return first, second
    return first.beginning(steps), second.beginning(steps)


def _with_steps(request: Request, layout: Any) -> LinearLayout:
    """Owners whose registers walk through the vectors that they have in memory: each step within one is a bit of the
    register's number."""
    owners, at = request.owners, by_bits(request.owners, layout, request.memory.lanes)
    if at is None or request.vector is not None:
        return owners
    known, columns = bits.Echelon(at.register), ByBits.of(owners).register
    steps = [bits.apply(columns, known.solve(step) or 0) for step in bits.reduced(at.register)]
    return _Owners.of_all(owners).beginning(steps).layout


class _Owners(NamedTuple):
    """Who holds a part: the layout of the first, what each bit of its register's number changes of the whole's, the
    numbers of parts."""

    layout: LinearLayout
    masks: list[int]
    numbers: bits.Echelon

    @staticmethod
    def of_all(whole: LinearLayout) -> _Owners:
        """The owners of the whole tile."""
        return _Owners(whole, [1 << k for k in range(len(whole.bases["register"]))], bits.Echelon())

    @property
    def register(self) -> list[int]:
        return ByBits.of(self.layout).register

    def beginning(self, steps: Sequence[int]) -> _Owners:
        """The same owners, whose registers are numbered so that the first bits make these steps."""
        columns = self.register
        known = bits.Echelon(columns)
        masks = [known.solve(step) or 0 for step in steps]
        masks += bits.complement(masks, len(columns))
        outs = self.layout.out_dims
        registers = [unpack(bits.apply(columns, m), tuple(outs.items())) for m in masks]
        layout = LinearLayout({**self.layout.bases, "register": registers}, outs)
        return _Owners(layout, [bits.apply(self.masks, m) for m in masks], self.numbers)

    def of_whole(self, form: Matrices | None) -> Matrices | None:
        """The registers of the whole that a matrix instruction of a part moves."""
        if form is None:
            return None
        word, together = (tuple(bits.apply(self.masks, r) for r in of) for of in (form.word, form.together))
        return Matrices(word, together, form.transposed)

    def registers(self, number: int) -> tuple[int, ...] | None:
        """The registers that hold this part; None if nobody does."""
        start = self.numbers.solve(number)
        return None if start is None else tuple(start ^ bits.apply(self.masks, r) for r in range(1 << len(self.masks)))
