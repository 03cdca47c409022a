"""Owners over digits as owners over bits: a tile in slices that are alike, or wrapped around from a larger one.

Where an odd digit of the tile is one digit of the registers, in both layouts, each of its values is a slice, and all
slices are one conversion over bits; or the digit is padded to a power of two, where vectors go across it. Where warps
hold the same digits in both, each warp keeps its elements, and all warps do the conversion of one: what a warp's number
adds is added on both sides. Where sums wrap modulo the tile both layouts are those of a larger tile, wrapped: a
conversion of the larger tile brings each register what it declares, for what it holds there is the same element.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.errors import RangeError
from ..linear import LinearLayout, RadixLayout, bits

Vector = tuple[int, ...]
#: The numbers of registers; None where there is none.
Registers = tuple[int | None, ...]


class Slices(NamedTuple):
    """Two layouts over bits, and for each slice of the tile the registers of the whole that are theirs; None
    for what is padding.

    why   in words what a slice is
    """

    why: str
    src: LinearLayout
    dst: LinearLayout
    registers: tuple[tuple[Registers, Registers], ...]


def ways(src: RadixLayout, dst: RadixLayout) -> list[Slices]:
    """All ways over bits of two layouts of register, lane and warp."""
    found = [*_in_slices(src, dst)]
    if not found and src.bases["warp"] == dst.bases["warp"]:
        one = [RadixLayout({d: [] if d == "warp" else of for d, of in x.bases.items()}, x.outs) for x in (src, dst)]
        found = [apart for way in _in_slices(*one) if (apart := _of_one_warp(way))]
    if not found and (wrapped := _wrapped(src, dst)) is not None:
        found.append(wrapped)
    return found


def _of_one_warp(way: Slices) -> Slices | None:
    """The conversion of a warp's elements; None where it needs more than it holds before."""
    src, dst = (onto_reached(x, way.src) for x in (way.src, way.dst))
    return None if src is None or dst is None else way._replace(why=f"each warp by itself, {way.why}", src=src, dst=dst)


def onto_reached(layout: LinearLayout, source: LinearLayout) -> LinearLayout | None:
    """A layout onto the elements that `source` holds, instead of the whole tile; None where it has others."""
    reached = bits.Echelon()
    for column in source.columns:
        if not reached.spans(column):
            reached.add(column)
    places = {d: [reached.solve(layout.pack(v)) for v in of] for d, of in layout.bases.items()}
    if any(place is None for of in places.values() for place in of):
        return None
    return LinearLayout({d: [(place,) for place in of] for d, of in places.items()}, {"index": 1 << reached.rank})


def _in_slices(src: RadixLayout, dst: RadixLayout) -> Iterator[Slices]:
    """The slices, and the padded tile; none where odd digits that anyone holds are not registers' in both."""
    for dims in _borders(src.out_sizes):
        try:
            a, b = (_part(x.reshape_outs(dims)) for x in (src, dst))
        except RangeError:  # some digit carries over these radices
            continue
        if a is not None and b is not None and a.registers.keys() == b.registers.keys():
            held = tuple((a.registers[k], b.registers[k]) for k in sorted(a.registers))
            why = "one slice" if len(held) == 1 else f"{len(held)} slices that are alike"
            yield Slices(why, a.layout, b.layout, held)
            yield Slices("padded to a power of two", a.padded[0], b.padded[0], ((a.padded[1], b.padded[1]),))
            return


def _wrapped(src: RadixLayout, dst: RadixLayout) -> Slices | None:
    """Two layouts whose sums wrap as those of a larger tile; None where sums are no xors in it.

    An odd digit of the registers that is a whole turn of the tile is one of the next power of two: what is more holds
    what others do.
    """
    turned = [_of_powers(x) for x in (src, dst)]
    if turned[0] is None or turned[1] is None:
        return None
    outs = {name: 1 << max(_most(x.bases, k) for x in turned if x).bit_length() for k, name in enumerate(src.out_sizes)}
    layouts = [_over_bits(x.bases, outs) for x in turned if x]
    if layouts[0] is None or layouts[1] is None:
        return None
    return Slices("a larger tile that both wrap", layouts[0], layouts[1], ((turned[0].registers, turned[1].registers),))


# ------------------------------------------------------------------------------------------------- slices


def _borders(sizes: dict[str, int]) -> Iterator[dict[str, Vector]]:
    """The radices of each output: bits, and its odd factor at each place between them."""
    choices = []
    for size in sizes.values():
        count = bits.log2(size & -size)
        odd = (size >> count,) if size >> count > 1 else ()
        choices.append([(2,) * k + odd + (2,) * (count - k) for k in (range(count, -1, -1) if odd else (0,))])
    for chosen in itertools.product(*choices):
        yield dict(zip(sizes, chosen))


class _Part(NamedTuple):
    """A slice's layout over bits, and the registers of each slice; the padded tile's layout, and its registers."""

    layout: LinearLayout
    registers: dict[Vector, Vector]
    padded: tuple[LinearLayout, Registers]


class _Step(NamedTuple):
    """A digit that moves bits (odd is None), or the odd radix of this number, by `step` of it."""

    extent: int
    basis: Vector
    odd: int | None
    step: int


def _part(layout: RadixLayout) -> _Part | None:
    odd = [k for k, m in enumerate(layout.radices) if m > 2]
    steps = {name: [s for d in of for s in _pieces(d.extent, d.step, layout.radices, odd)] for name, of in layout.ins}
    moved = [s.odd for s in steps["register"] if s.odd is not None]
    for name, s in ((name, s) for name, of in steps.items() for s in of):
        if s.odd is None:
            fits = s.extent == 2
        else:
            fits = name == "register" and s.extent == layout.radices[odd[s.odd]]
        if not fits:
            return None
    if len({*moved}) < len(moved):
        return None
    if any(math.gcd(s.step, s.extent) > 1 for s in steps["register"] if s.odd is not None):
        return None
    counts = {name: sum(m == 2 for m in radices) for name, radices in layout.outs}
    bases = {name: [_cut_at(s.basis, counts) for s in of if s.odd is None] for name, of in steps.items()}
    over_bits = LinearLayout(bases, {name: 1 << n for name, n in counts.items()})
    return _Part(over_bits, _by_slice(steps["register"]), _padded(layout, steps))


def _pieces(extent: int, step: Vector, radices: Sequence[int], odd: Sequence[int]) -> list[_Step]:
    """A digit as digits of the extents that its steps have: whole turns of it move nothing."""
    order = math.lcm(*(m // math.gcd(m, x) for m, x in zip(radices, step)))
    basis = tuple(x for x, m in zip(step, radices) if m == 2)
    moved = [k for k, place in enumerate(odd) if step[place]]
    if extent % order or len(moved) > 1 or (moved and any(basis)):
        return [_Step(extent, basis, 0 if odd else None, 0)]  # of several: no piece that fits
    first = _Step(order, basis, moved[0], step[odd[moved[0]]]) if moved else _Step(order, basis, None, 0)
    rest = extent // order
    still = [_Step(rest, basis, None, 0)]
    if bits.is_power_of_two(rest):
        still = [_Step(2, (0,) * len(basis), None, 0)] * bits.log2(rest)
    return [first, *still] if order > 1 else still


def _padded(layout: RadixLayout, steps: dict[str, list[_Step]]) -> tuple[LinearLayout, Registers]:
    """The layout of the tile whose odd digits are padded to powers of two, and the registers in its order."""
    widths = [(m - 1).bit_length() for m in layout.radices]
    odd = [k for k, m in enumerate(layout.radices) if m > 2]
    even = [k for k, m in enumerate(layout.radices) if m == 2]

    def vectors(s: _Step) -> list[Vector]:
        moved = {odd[s.odd]} if s.odd is not None else {even[k] for k, bit in enumerate(s.basis) if bit}
        return [_at_places(layout, widths, moved, b) for b in range(1 if s.odd is None else widths[odd[s.odd]])]

    outs, radices = {}, iter(widths)
    for name, of in layout.outs:
        outs[name] = 1 << sum(next(radices) for _ in of)
    registers: list[int | None] = [0]
    place = 1
    for s in steps["register"]:
        more = 1 << (s.extent - 1).bit_length()
        # of a digit that moves by more than 1 the register that comes to c
        back = pow(s.step, -1, s.extent) if s.odd is not None else 1
        starts = [c * back % s.extent * place if c < s.extent else None for c in range(more)]
        registers = [None if r is None or start is None else start + r for start in starts for r in registers]
        place *= s.extent
    bases = {name: [v for s in of for v in vectors(s)] for name, of in steps.items()}
    return LinearLayout(bases, outs), tuple(registers)


def _at_places(layout: RadixLayout, widths: Sequence[int], moved: set[int], bit: int) -> Vector:
    """The change of each output by a bit of these radices, each as wide as said [bits]."""
    found, k = [], 0
    for _, radices in layout.outs:
        total = place = 0
        for _ in radices:
            total |= 1 << place + bit if k in moved else 0
            place, k = place + widths[k], k + 1
        found.append(total)
    return tuple(found)


def _cut_at(basis: Vector, counts: dict[str, int]) -> Vector:
    """The bits of each output as one integer."""
    it = iter(basis)
    return tuple(sum(next(it) << k for k in range(n)) for n in counts.values())


def _by_slice(steps: Sequence[_Step]) -> dict[Vector, Vector]:
    """For the odd digits' values, the registers that hold them, in the order of their bits."""
    found: dict[Vector, list[int]] = {}
    count = max((s.odd + 1 for s in steps if s.odd is not None), default=0)
    for r, digits in enumerate(itertools.product(*(range(s.extent) for s in reversed(steps)))):
        values = [0] * count
        for c, s in zip(reversed(digits), steps):
            if s.odd is not None:
                values[s.odd] = c * s.step % s.extent
        found.setdefault(tuple(values), []).append(r)
    return {k: tuple(of) for k, of in found.items()}


# ------------------------------------------------------------------------------------------------- wrapped tiles


#: The digits of each input: extents that are powers of two, and what they add to each output.
Bases = dict[str, list[tuple[int, Vector]]]


class _Powers(NamedTuple):
    """A layout all of whose digits are powers of two, and for each register that it has one that holds the same."""

    bases: Bases
    registers: Vector


def _of_powers(layout: RadixLayout) -> _Powers | None:
    if any(len(radices) > 1 for _, radices in layout.outs):
        return None
    for name, of in layout.ins:
        for d in (d for d in of if not bits.is_power_of_two(d.extent)):
            if name in ("lane", "warp") or any(d.times(d.extent, layout.radices)):
                return None
    bases = {name: [(1 << (n - 1).bit_length(), v) for n, v in of] for name, of in layout.bases.items()}
    registers = [0]
    place = 1
    for (n, _), (more, _) in zip(layout.bases["register"], bases["register"]):
        registers = [c % n * place + r for c in range(more) for r in registers]
        place *= n
    return _Powers(bases, tuple(registers))


def _most(bases: Bases, k: int) -> int:
    """The largest sum of an output before it wraps."""
    return sum((n - 1) * v[k] for of in bases.values() for n, v in of)


def _over_bits(bases: Bases, outs: dict[str, int]) -> LinearLayout | None:
    """The layout whose sums do not wrap, over bits; None where they are no xors."""
    columns = {
        name: [tuple(x << k for x in v) for n, v in of for k in range(bits.log2(n))] for name, of in bases.items()
    }
    flat = [v for of in columns.values() for v in of]
    disjoint = all(not any(x & y for x, y in zip(a, b)) for a, b in itertools.combinations(flat, 2))
    return LinearLayout(columns, outs) if disjoint else None
