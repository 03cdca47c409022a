"""The best layout of shared memory for given accesses: a search that is complete, a construction, and a bound.

Candidates are the plain layouts of the tile, all Swizzle<B,M,S> of them, all paddings, and one linear layout by the construction
of the Linear Layouts paper: offsets are vectors, banks and segments; the vectors are what registers of all accesses share, the
segments a space that meets the lanes of no access. In the space over bits two proper subspaces never are all of it, so that
for one write and one read each step finds a vector outside of both.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..algebra.codomain import cosize
from ..core.composed import ComposedLayout
from ..core.element import Width
from ..core.errors import RangeError, RankError
from ..core.int_tuple import size
from ..core.ints import Int, static
from ..core.layout import Layout
from ..core.swizzle import make_swizzle
from ..linear import LinearLayout, bits, layout_of, linear
from ..linear.arguments import checked
from ..linear.triton import SharedLinearLayout
from ..linear.value import power_of_two
from ..notation.width import element_width
from .by_bits import ByBits, are_powers
from .counting import Access, Asked, access, counted_by_bits
from .memories import NVIDIA_SHARED, Memory, as_memory
from .pattern import Pattern, require_pattern
from .places import Owned, owned, require_lanes, xors

_0 = Int[0]()
#: Of more accesses the longest vectors are those of each alone.
MAX_TOGETHER = 10
#: Tiles of more bits are refused: their candidates are too many.
MAX_TILE_BITS = 16


class Certificate(NamedTuple):
    """The proof that no layout takes fewer wavefronts, or else the gap: a bound that is not met, and what was searched.

    bound      no layout needs fewer wavefronts: what each warp holds, in words, over the banks
    met        whether the layout needs no more
    searched   how many layouts were counted
    text       the same in words
    longest    whether no linear or padded layout has longer vectors, of all accesses together

    >>> from tla import parse
    >>> best_swizzle([parse("(32,1):(1,0)")], [], 32).certificate
    Certificate(bound=1, met=True, searched=1, text='the bound of 1 wavefronts is met', longest=True)
    """

    bound: int
    met: bool
    searched: int
    text: str
    longest: bool


_UNSEARCHED = Certificate(0, False, 0, "", False)


@dataclass(frozen=True)
class Best:
    """The result of best_swizzle.

    layout        from the coordinates of the tile to offsets; str(layout) is CuTe's notation
    cost          wavefronts of all accesses, each once
    vectors       the widths of the accesses, writes first [bits]
    certificate   whether no layout is better, and what was searched
    element       the width of an element, and what says it

    >>> from tla import parse
    >>> found = best_swizzle([parse("(32,1):(1,0)")], [], 32)
    >>> print(found.layout, found.cost, found.vectors)
    _32:_1 1 (32,)
    """

    layout: Any
    cost: int
    vectors: tuple[int, ...]
    certificate: Certificate
    element: Width

    @property
    def triton(self) -> SharedLinearLayout:
        """The layout as Triton has it, from offsets to elements; RangeError for a padded one, which is not linear."""
        found = linear(self.layout).invert()
        names = [*found.out_dims]
        return SharedLinearLayout(found.transpose_outs(names).bases["offset"])


@checked
def best_swizzle(
    writes: Sequence[Any], reads: Sequence[Any], element_bits: Any = None, memory: Any = NVIDIA_SHARED, tile: Sequence[int] | None = None
) -> Best:
    """The layout of shared memory whose accesses take the fewest wavefronts of those searched, then have the longest vectors.

    writes, reads   owners, as access() takes them: who writes what, who reads what; partitions are of an identity tensor, or of
                    the tile's index; or names of usual accesses, as "cp.async.16", of a tile that is given
    element_bits    the width of an element [bits], or an element type; it may be left out where a write or a read says it
    memory          a row of the table, or its name
    tile            the extents of the tile, for (thread, value) layouts onto its index; by default as far as owners reach
    Returns         Best; of equally good layouts the plain one, then the swizzle of the fewest bits, then the least padding,
                    then a linear layout. No layout takes fewer wavefronts than certificate.bound; where it is not met, as may be
                    of three accesses and more, one that was not searched may take fewer than cost
    Raises          RangeError for a tile that is no power of two, RankError for no accesses

    >>> from tla import parse
    >>> rows, columns = parse("((8,8),8):((64,1),8)"), parse("((8,8),8):((1,64),8)")      # 8 halves each, of 8 rows of 64
    >>> found = best_swizzle([rows], [columns], 16, tile=(8, 64))
    >>> print(found.layout, found.certificate.text)
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1) the bound of 16 wavefronts is met

    Source: Linear Layouts, arXiv 2505.23819, section 5.4.
    """
    row, element = as_memory(memory), element_width(*writes, *reads, bits=element_bits)
    width = element.bits
    if not row.banks:
        raise RangeError(f"best_swizzle in {row.name}", "a memory with banks", "use NVIDIA_SHARED")
    if all(n % width for n in row.widths):
        widths = ", ".join(map(str, row.widths))
        raise RangeError(f"best_swizzle of elements of {width} bits", f"a divisor of {widths} bits", "cut them into words first")
    asked = [_asked(x, row, tile, width) for x in (*writes, *reads)]
    if not asked:
        raise RankError("best_swizzle of no accesses", "a write or a read at least", "give who writes, or who reads")
    accesses = [a.owners for a in asked]
    shape = accesses[0].out_dims
    if any(a.out_dims != shape for a in accesses):
        raise RankError("best_swizzle of accesses to different tiles", f"all of {shape}", "give layouts of one tile")
    if sum(map(bits.log2, shape.values())) > MAX_TILE_BITS:
        raise RangeError(
            f"best_swizzle of a tile of {math.prod(shape.values())} elements", f"at most 2^{MAX_TILE_BITS}", "take a part of it"
        )
    bound = sum(_least(a, width, row) for a in asked)
    registers = [frozenset(_columns(a, "register")) - {0} for a in accesses]
    most = [_vector_bits(width, row) if a.vector is None else bits.log2(a.vector.width // width) for a in asked]
    longest = width * _longest(registers, most)
    best: Best | None = None
    searched = 0
    for layout in itertools.chain(_swizzles([*shape.values()]), _constructed(accesses, width, row)):
        if best and best.cost == bound and width * _vectors(layout, registers, most) <= sum(best.vectors):
            continue
        searched += 1
        best = _better(best, layout, asked, element, row)
        if best and (best.cost, sum(best.vectors)) == (bound, longest):
            break
    if best is None or best.cost > bound:
        for layout in _paddings([*shape.values()], width, row):
            searched += 1
            best = _better(best, layout, asked, element, row)
    if best is None:
        least = min(row.widths)
        what = f"best_swizzle of elements of {width} bits: in none of {searched} layouts has every lane whole vectors of {least} bits"
        raise RangeError(
            what, f"lanes that hold {least // width} elements which one vector can have", "let all accesses hold the same pairs"
        )
    return replace(best, certificate=_certificate(bound, best, searched, longest))


def _certificate(bound: int, best: Best, searched: int, longest: int) -> Certificate:
    met = best.cost == bound
    text = f"the bound of {bound} wavefronts is met"
    if not met:
        text = f"the least of {searched} layouts: all swizzles and paddings of the tile, and linear layouts whose segments meet no lanes"
        text += f"; no layout takes fewer than {bound}"
    return Certificate(bound, met, searched, text, sum(best.vectors) == longest)


def _better(best: Best | None, layout: Any, asked: Sequence[_Asked], element: Width, row: Memory) -> Best | None:
    """The better of two: fewer wavefronts, then longer vectors; the one before where they are equal, or no access can read the other."""
    try:
        found = _accessed(layout, asked, element, row)
    except RangeError:  # elements narrower than the memory's words, of which some lane has no whole vector
        return best
    cost, vectors = sum(f.total for f in found), tuple(f.vector for f in found)
    if best is None or (cost, -sum(vectors)) < (best.cost, -sum(best.vectors)):
        return Best(layout, cost, vectors, _UNSEARCHED, element)
    return best


def _accessed(layout: Any, asked: Sequence[_Asked], element: Width, row: Memory) -> list[Access]:
    """The accesses of a layout, counted."""
    columns = None if _is_padded(layout) or not are_powers(row, element.bits) else linear(layout).columns
    found = []
    for a in asked:
        at = None if columns is None else counted_by_bits(ByBits.of(a.owners).through(columns), element, a.vector, row)
        found.append(at or access(a.owners, layout, element, a.vector, row))
    return found


def _is_padded(layout: Any) -> bool:
    return isinstance(layout, Layout) and cosize(layout) > size(layout)


def _longest(registers: Sequence[frozenset[int]], most: Sequence[int]) -> int:
    """The greatest sum of vectors [elements] that a layout can give accesses of these registers.

    Offsets 1, 2, 4, ... within a vector are bits of the register's number, of the same elements for all accesses. So these go
    together as far as their registers have bits in common; the vectors of one end there, the others go on.
    """
    if len(registers) > MAX_TOGETHER:
        return sum(1 << min(n, len(own)) for n, own in zip(most, registers))
    best = {frozenset[int](): 0}  # of accesses that go on together, fewer before more
    for count in range(1, len(registers) + 1):
        for going_on in map(frozenset, itertools.combinations(range(len(registers)), count)):
            shared = frozenset.intersection(*(registers[a] for a in going_on))
            best[going_on] = max((1 << min(most[a], len(shared))) + best[going_on - {a}] for a in going_on)
    return best[frozenset(range(len(registers)))]


def _vector_bits(width: int, row: Memory) -> int:
    """The number of bits of an offset within the widest vector of a memory."""
    return bits.log2(max(1, max(row.widths) // width))


def _vectors(layout: Any, registers: Sequence[frozenset[int]], most: Sequence[int]) -> int:
    """The sum of vectors [elements] that a linear layout gives accesses of these registers."""
    columns = linear(layout).columns
    steps = bits.inverse(columns, len(columns)) or []
    return sum(1 << len([*itertools.takewhile(own.__contains__, steps[:n])]) for n, own in zip(most, registers))


class _Asked(NamedTuple):
    """An access: its owners over bits, and what a lane takes at once; None for the widest that there is."""

    owners: LinearLayout
    vector: Asked | None


def _asked(owners: Any, row: Memory, tile: Sequence[int] | None, element_bits: int) -> _Asked:
    usual = require_pattern(owners) if isinstance(owners, (str, Pattern)) else None
    if usual and tile is None:
        raise RankError(f"best_swizzle of {usual.name} without a tile", "the extents of the tile", "give tile=(64, 64)")
    held = usual.owners(tile or (), element_bits) if usual else owners
    return _Asked(_linear_owners(held, row, tile), usual and Asked(usual.width(element_bits), True))


def _linear_owners(owners: Any, row: Memory, tile: Sequence[int] | None) -> LinearLayout:
    """Owners as a linear layout of register, lane and warp."""
    if isinstance(owners, LinearLayout):
        require_lanes("best_swizzle", owners, row)
        return owners
    held = owned(owners, row.lanes)
    what = "elements" if tile is None and len(held.sizes) == 1 else "an extent"
    sizes = [power_of_two(f"best_swizzle: {what} of the tile", n) for n in (held.sizes if tile is None else tile)]
    if len(held.sizes) not in (1, len(sizes)):
        raise RankError(f"best_swizzle of {held.text} in a tile of {sizes}", f"{len(held.sizes)} extents", "give one for each coordinate")
    reach = held.sizes if len(held.sizes) > 1 else [math.prod(held.sizes)]
    if any(n > m for n, m in zip(reach, sizes if len(reach) > 1 else [math.prod(sizes)])):
        raise RangeError(f"best_swizzle of {held.text}: {reach} in a tile of {sizes}", "a place for each element", "give the whole tile")
    return _over_bits(Owned(held.coordinates, held.shape, sizes, held.text))


def _over_bits(held: Owned) -> LinearLayout:
    """The linear layout that has these elements: its columns are what each bit of register, lane and warp does, all else their xors."""
    index = held.placed(held.index)
    counts = [
        (name, bits.log2(power_of_two(f"best_swizzle of {held.text}: {name}s", n)))
        for name, n in (("register", index.registers), ("lane", index.lanes), ("warp", index.warps))
    ]
    columns = [index.at(0, 0, 1 << k) for k in range(counts[0][1])] + [index.at(0, 1 << k, 0) for k in range(counts[1][1])]
    columns += [index.at(1 << k, 0, 0) for k in range(counts[2][1])]
    outs = tuple((f"dim{k}", n) for k, n in enumerate(held.sizes))
    wrong = next((k for k, (a, b) in enumerate(zip(xors(columns), index.of)) if a != b), None)
    if wrong is not None:
        what = f"best_swizzle of {held.text}, which is not linear over bits"
        rest, register = divmod(wrong, index.registers)
        at = f"element {xors(columns)[wrong]} at warp {rest // index.lanes}, lane {rest % index.lanes}, register {register}"
        raise RangeError(f"{what}: element {index.of[wrong]}", at, "use strides that are powers of two")
    return LinearLayout._of_columns(counts, outs, columns)


def _least(asked: _Asked, width: int, row: Memory) -> int:
    """Wavefronts that no layout avoids: each serves one word of each bank, and an instruction has one of each group of lanes."""
    held = owned(asked.owners, row.lanes)
    index = held.placed(held.index)
    words = [len({x for lane in index.warp(warp) for x in lane}) * width for warp in range(index.warps)]
    least = sum(max(1, -(-n // (row.banks * row.word_bits))) for n in words)
    if asked.vector is None:
        return least
    vectors = index.warps << max(0, bits.rank(_columns(asked.owners, "register")) - bits.log2(asked.vector.width // width))
    return max(least, vectors * len(row.groups(asked.vector.width, index.lanes)[1]))


# ------------------------------------------------------------------------------------------------- candidates


def _orders(rank: int) -> list[tuple[int, ...]]:
    """Orders of the dimensions, fastest first: the last first, as in C, then the first."""
    return [*itertools.permutations(range(rank))][::-1] if rank <= 3 else [tuple(range(rank))[::-1], tuple(range(rank))]


def _compact(shape: Sequence[int], order: Sequence[int], pad: int = 0) -> Layout:
    """The tile in an order of its dimensions, so many elements of padding after each run of the fastest."""
    strides, step = [0] * len(shape), 1
    for k, d in enumerate(order):
        strides[d] = step
        step = step * shape[d] + (pad if k == 0 else 0)
    if len(shape) == 1:
        return Layout(static(shape[0]), static(strides[0]))
    return Layout(tuple(map(static, shape)), tuple(map(static, strides)))


def _swizzles(shape: Sequence[int]) -> Iterator[Any]:
    """The plain layouts of a tile, then all swizzles of them, of fewer bits first."""
    n = sum(map(bits.log2, shape))
    plain = [_compact(shape, order) for order in _orders(len(shape))]
    yield from plain
    for count in range(1, n // 2 + 1):
        for base in range(n - 2 * count, -1, -1):
            for shift in range(count, n - base - count + 1):
                yield from (ComposedLayout(make_swizzle(count, base, shift), _0, layout) for layout in plain)


def _paddings(shape: Sequence[int], width: int, row: Memory) -> Iterator[Any]:
    """The plain layouts with each padding of up to one word of each bank."""
    if len(shape) > 1:
        for pad in range(1, max(2, row.banks * row.word_bits // width + 1)):
            yield from (_compact(shape, order, pad) for order in _orders(len(shape)))


def _constructed(accesses: Sequence[LinearLayout], width: int, row: Memory) -> Iterator[Any]:
    """Linear layouts with vectors of each possible width, and segments that meet as few lanes as can be."""
    outs = tuple(accesses[0].out_dims.items())
    n = accesses[0].get_total_out_dim_size_log2()
    registers = [_columns(a, "register") for a in accesses]
    shared = _independent(c for c in registers[0] if all(c in r for r in registers))
    longest = _vector_bits(width, row)
    for count in range(min(longest, len(shared)), -1, -1):
        vector = shared[:count]
        for own in range(len(accesses)) if count == len(shared) else range(1):
            more = [c for c in registers[own] if c not in vector] if count == len(shared) else []
            columns = _offsets(accesses, _independent([*vector, *more])[:longest], n, width, row)
            names = [(f"dim{k}", bits.log2(size)) for k, (_, size) in enumerate(outs)]
            memory = LinearLayout._of_columns(names, (("offset", 1 << n),), bits.inverse(columns, n) or [])
            yield layout_of(memory)


def _independent(columns: Iterable[int]) -> list[int]:
    """The columns that are no sums of those before them."""
    found = bits.Echelon()
    return [c for c in columns if found.add(c)]


def _columns(layout: LinearLayout, name: str) -> list[int]:
    return [layout.pack(v) for v in layout.bases.get(name, ())]


def _offsets(accesses: Sequence[LinearLayout], vector: Sequence[int], n: int, width: int, row: Memory) -> list[int]:
    """The parts of an offset that its bits number: the vector, then the banks, then the segments."""
    word = max(0, bits.log2(max(1, row.banks * row.word_bits // width)) - len(vector))
    free = max(0, n - len(vector) - word)
    lanes = [bits.Echelon([*vector, *_together(a, len(vector), width, row)]) for a in accesses]
    segments: list[int] = []
    for _ in range(free):
        x = _outside(lanes, [*vector, *segments], n)
        segments.append(x)
        for space in lanes:
            space.add(x)
    banks: list[int] = []
    found = bits.Echelon([*vector, *segments])
    candidates = [c for a in accesses for c in _together(a, len(vector), width, row)]
    for c in (*candidates, *(1 << k for k in range(n))):
        if c and found.add(c):
            banks.append(c)
    return [*vector, *banks, *segments]


def _together(owners: LinearLayout, vector: int, width: int, row: Memory) -> list[int]:
    """The lanes' bits that go together in a wavefront of vectors of this width."""
    bits_wide = min(max(row.widths), width << vector)
    count = len(row.phases[bits_wide][1][0]) if bits_wide in row.phases else row.lanes
    return _columns(owners, "lane")[: bits.log2(count)]


def _outside(spaces: Sequence[bits.Echelon], taken: Sequence[int], n: int) -> int:
    """A vector independent of those taken, in as few of the spaces as there can be; of these the lowest sum of few unit vectors."""
    basis = bits.Echelon(taken)
    best, least = 0, len(spaces) + 1
    for x in _by_weight(n):
        if basis.spans(x):
            continue
        inside = sum(space.spans(x) for space in spaces)
        if inside < least:
            best, least = x, inside
        if not least:
            break
    return best


def _by_weight(n: int) -> Iterator[int]:
    """All vectors of n bits but 0, those of few bits first; of more than 12 bits, sums of up to 4 unit vectors."""
    for weight in range(1, (n if n <= 12 else 4) + 1):
        for places in itertools.combinations(range(n), weight):
            yield sum(1 << k for k in places)
