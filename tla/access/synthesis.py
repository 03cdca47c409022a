"""The best layout of shared memory for given accesses: a bound that no layout passes, and the first layout
that meets it.

The bound is of the vectors that accesses can share (tla.access.spaces). Layouts are tried from the plainest on: plain,
Swizzle<B,M,S>, of permuted bits, linear (tla.access.bank_search). A linear layout of one write and one read always
meets the bound; of more accesses rotated and padded layouts are counted too where it is not met.

Source: Linear Layouts, arXiv 2505.23819, section 5.4, of vectors that both accesses share; here one may end
before the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..core.element import Width
from ..core.errors import RangeError, RankError
from ..core.kinds import AnyLayout
from ..linear import LinearLayout, bits, linear
from ..linear.arguments import checked
from ..linear.triton import SharedLinearLayout
from ..linear.value import power_of_two
from ..linear.xor_strides import readable
from ..notation.width import element_width
from .bank_search import Budget, best_banks
from .by_bits import ByBits
from .candidates import Candidate, as_layout, padded, permuted, plain, rotated, swizzled
from .counting import Access, Asked, access
from .machines import as_machine
from .memories import NVIDIA_SHARED, Memory, as_memory
from .pattern import Pattern, require_pattern
from .places import Owned, owned, require_lanes, xors
from .spaces import Taken, costs, is_exact, vectors

#: Tiles of more bits are refused: their candidates are too many.
MAX_TILE_BITS = 16
#: Of so many vectors that are as good layouts of permuted bits are tried.
_PERMUTED = 4
#: Steps of the search for linear layouts of three accesses and more, and how many the first layout of
#: given vectors takes.
_BUDGET, _STEPS_OF_A_LAYOUT = 100_000, 400
#: Values counted one by one in rotated and padded layouts, where the bound is not met.
_COUNTED = 1 << 18


class Certificate(NamedTuple):
    """The proof that no layout takes fewer wavefronts, or else the gap: a bound that is not met, and what was searched.

    bound      no layout, linear, padded or rotated, takes fewer wavefronts: with the vectors that accesses can share,
               each instruction takes one for each group of lanes
    met        whether the layout needs no more
    searched   how many layouts were counted
    text       the same in words
    longest    whether no layout has longer vectors, of all accesses together
    complete   whether no linear layout takes fewer: the bound is met, or all of them were searched
    gap        wavefronts above the bound

    >>> from tla import parse
    >>> best_swizzle([parse("(32,1):(1,0)")], [], 32).certificate
    Certificate(bound=1, met=True, searched=1, text='the bound of 1 wavefronts is met', longest=True, complete=True, gap=0)
    """

    bound: int
    met: bool
    searched: int
    text: str
    longest: bool
    complete: bool
    gap: int


@dataclass(frozen=True)
class Best:
    """The result of best_swizzle.

    layout        from the coordinates of the tile to offsets; str(layout) is CuTe's notation, str(found) has
                  chains as XOR strides
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

    def __str__(self) -> str:
        widths = ", ".join(map(str, self.vectors))
        return f"{readable(self.layout)}\n{self.cost} wavefronts, accesses of {widths} bits: {self.certificate.text}"

    @property
    def triton(self) -> SharedLinearLayout:
        """The layout as Triton has it, from offsets to elements; RangeError for a padded one, which is not linear."""
        found = linear(self.layout).invert()
        names = [*found.out_dims]
        return SharedLinearLayout(found.transpose_outs(names).bases["offset"])


@checked
def best_swizzle(
    writes: Sequence[Any],
    reads: Sequence[Any],
    element_bits: Any = None,
    memory: Any = None,
    tile: Sequence[int] | None = None,
) -> Best:
    """Find the layout of shared memory whose accesses take the fewest wavefronts, then have the longest vectors.

    writes, reads   owners, as access() takes them: who writes what, who reads what; partitions are of an identity
                    tensor, or of the tile's index; or names of usual accesses, as "cp.async.16", of a tile
                    that is given
    element_bits    the width of an element [bits], or an element type; it may be left out where a write or a
                    read says it
    memory          a machine by its name, as "gfx942", whose writes and reads are counted by rows of their own; a row
                    of the table, or its name; or a pair of these, for writes and reads. By default those of usual
                    accesses, else NVIDIA_SHARED
    tile            the extents of the tile, for (thread, value) layouts onto its index; by default as far
                    as owners reach
    Returns         Best; of equally good layouts the plain one, then the swizzle of the fewest bits, then one of a
                    layout of permuted bits, then a linear layout. No layout at all, swizzled, rotated or padded, takes
                    fewer wavefronts than certificate.bound. One write and one read meet it, but where both must have
                    elements in sequence; of more accesses a rotated or padded layout is the answer where it takes
                    fewer, and certificate.gap is what may be left
    Raises          RangeError for a tile that is no power of two, RankError for no accesses

    >>> from tla import parse
    >>> rows, columns = parse("((8,8),8):((64,1),8)"), parse("((8,8),8):((1,64),8)")      # 8 halves each, of 8 rows of 64
    >>> found = best_swizzle([rows], [columns], 16, tile=(8, 64))
    >>> print(found.layout, found.certificate.text)
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1) the bound of 16 wavefronts is met

    Source: Linear Layouts, arXiv 2505.23819, section 5.4.
    """
    element = element_width(*writes, *reads, bits=element_bits)
    given = _with_rows(writes, reads, memory)
    return searched([_asked(x, row, tile, element.bits) for x, row in given], element).best()


def searched(asked: Sequence[Request], element: Width) -> Search:
    """The search for a layout of these accesses; refused where best_swizzle is."""
    _require_memories([a.memory for a in asked], element.bits)
    if not asked:
        raise RankError("best_swizzle of no accesses", "a write or a read at least", "give who writes, or who reads")
    shape = asked[0].owners.out_dims
    if any(a.owners.out_dims != shape for a in asked):
        raise RankError("best_swizzle of accesses to different tiles", f"all of {shape}", "give layouts of one tile")
    if sum(map(bits.log2, shape.values())) > MAX_TILE_BITS:
        what = f"best_swizzle of a tile of {math.prod(shape.values())} elements"
        raise RangeError(what, f"at most 2^{MAX_TILE_BITS}", "take a part of it")
    return Search(asked, [*shape.values()], element)


def _with_rows(writes: Sequence[Any], reads: Sequence[Any], memory: Any) -> list[tuple[Any, Memory]]:
    """Who accesses, each with the row that it is counted by."""
    if memory is None:
        usual = [require_pattern(x).memory if isinstance(x, (str, Pattern)) else None for x in (*writes, *reads)]
        other = next(filter(None, usual), NVIDIA_SHARED)
        return [(x, row or other) for x, row in zip((*writes, *reads), usual)]
    if isinstance(memory, (tuple, list)) and len(memory) == 2:
        write, read = map(as_memory, memory)
    else:
        _name, write, read, *_rest = as_machine(memory)
    return [*((x, write) for x in writes), *((x, read) for x in reads)]


def _require_memories(rows: Sequence[Memory], width: int) -> None:
    for row in rows:
        if not row.banks:
            raise RangeError(f"best_swizzle in {row.name}", "a memory with banks", "use NVIDIA_SHARED")
        if all(n % width for n in row.widths):
            widths = ", ".join(map(str, row.widths))
            what = f"best_swizzle of elements of {width} bits"
            raise RangeError(what, f"a divisor of {widths} bits", "cut them into words first")


class Search:
    """The search of best_swizzle: the best layout so far, what it costs, and how many were counted."""

    def __init__(self, asked: Sequence[Request], shape: Sequence[int], element: Width) -> None:
        self.asked, self.shape, self.element = asked, shape, element
        self.taken = [a.over_bits(element.bits) for a in asked]
        self.n = sum(map(bits.log2, shape))
        self.choices = vectors(self.taken, self.n)
        if not self.choices:
            raise _no_vectors(asked, element.bits)
        self.is_exact = is_exact(self.taken)
        self.found: Candidate | Any = None
        self.merit: tuple[int, int] = (1 << 62, 0)
        self.searched = 0

    @property
    def least(self) -> tuple[int, int]:
        """Wavefronts that no layout avoids, and instructions that none with as many does; of all warps."""
        wavefronts = self.choices[0].least
        alike = (v for v in self.choices if v.least == wavefronts)
        return wavefronts, min(sum(x.instructions(step) for x, step in zip(self.taken, v.steps)) for v in alike)

    def best(self) -> Best:
        """The best layout, counted access by access, with its certificate."""
        bound = self.choices[0].least
        self._try(plain(self.shape))
        self._try(swizzled(plain(self.shape), self.n))
        self._try(self._permuted())
        complete = self._linear() if self.is_exact else False
        if self.merit[0] > bound:
            self._count(itertools.chain(rotated(self.shape, self._line), padded(self.shape, self._line)))
        if self.found is None:
            raise _no_vectors(self.asked, self.element.bits)
        layout = self.found.built() if isinstance(self.found, Candidate) else self.found
        accesses = _accessed(layout, self.asked, self.element)
        cost, widths = sum(a.total for a in accesses), tuple(a.vector for a in accesses)
        assert (cost, -sum(widths)) == self.merit
        return Best(layout, cost, widths, self._certificate(bound, complete), self.element)

    def _certificate(self, bound: int, complete: bool) -> Certificate:
        cost, widths = self.merit
        met = cost == bound
        text = f"the bound of {bound} wavefronts is met"
        if not met:
            of_linear = "no linear layout takes fewer" if complete else "not all linear layouts were searched"
            text = f"the least of {self.searched} layouts, swizzled, linear, rotated and padded: {of_linear}"
            text += f"; no layout takes fewer than {bound}"
        longest = -widths == max(v.bits for v in self.choices)
        return Certificate(bound, met, self.searched, text, longest, met or complete, cost - bound)

    @property
    def _line(self) -> int:
        """Elements of one word of each bank: more padding is the same again."""
        row = self.asked[0].memory
        return max(1, row.banks * row.word_bits // self.element.bits)

    @property
    def _is_done(self) -> bool:
        return self.merit == self.choices[0].merit

    def _try(self, candidates: Iterable[Candidate]) -> None:
        """Take the first of the best candidates, up to one that has what no layout exceeds."""
        for c in () if self._is_done else candidates:
            self.searched += 1
            merit = costs(self.taken, c.columns) if self.is_exact else self._counted(c.built())
            if merit is not None and merit < self.merit:
                self.found, self.merit = c, merit
                if self._is_done:
                    return

    def _permuted(self) -> Iterator[Candidate]:
        """Layouts that begin with the best vectors, and all swizzles of them."""
        for v in self.choices[:_PERMUTED]:
            if v.merit == self.choices[0].merit:
                begun = [*permuted(self.shape, v.basis)]
                yield from itertools.chain(begun, swizzled(begun, self.n))

    def _linear(self) -> bool:
        """Try linear layouts of all vectors that might be better; whether none takes fewer wavefronts than the best."""
        budget, open_choices = Budget(_BUDGET), []
        for v in self.choices:
            if v.merit >= self.merit:
                break
            found = best_banks(self.taken, v, self.n, budget) if budget.spend(_STEPS_OF_A_LAYOUT) else None
            if found:
                self.searched += 1
                if found.merit < self.merit:
                    columns = bits.inverse(found.basis, self.n) or []
                    self.found, self.merit = Candidate(columns, as_layout(columns, self.shape)), found.merit
            if not (found and found.complete):
                open_choices.append(v)
        return all(v.least >= self.merit[0] for v in open_choices)

    def _count(self, layouts: Iterable[Any]) -> None:
        """Try layouts that are not linear over bits, a few that are counted one by one."""
        values = sum(1 << len(a.owners.columns) for a in self.asked)
        for layout in itertools.islice(layouts, max(1, _COUNTED // values)):
            self.searched += 1
            merit = self._counted(layout)
            if merit is not None and merit < self.merit:
                self.found, self.merit = layout, merit

    def _counted(self, layout: AnyLayout) -> tuple[int, int] | None:
        try:
            found = _accessed(layout, self.asked, self.element)
        except RangeError:  # some lane has no whole vector
            return None
        return sum(f.total for f in found), -sum(f.vector for f in found)


def _no_vectors(asked: Sequence[Request], width: int) -> RangeError:
    least = max(min(a.memory.widths) for a in asked)
    what = f"best_swizzle of elements of {width} bits: in no layout has every lane whole vectors of {least} bits"
    if any(a.vector for a in asked):
        what = "best_swizzle: no layout has the vectors of all these accesses, one element after the other"
    expected = f"lanes that hold {max(2, least // width)} elements which one vector can have"
    return RangeError(what, expected, "let all accesses hold the same pairs")


def _accessed(layout: AnyLayout, asked: Sequence[Request], element: Width) -> list[Access]:
    """The accesses of a layout, counted."""
    return [access(a.owners, layout, element, a.vector, a.memory) for a in asked]


class Request(NamedTuple):
    """An access.

    owners   who holds what, over bits
    vector   what a lane takes at once; None for the widest that there is
    memory   the row that it is counted by
    """

    owners: LinearLayout
    vector: Asked | None
    memory: Memory

    def over_bits(self, element_bits: int) -> Taken:
        register, lane, warp = ByBits.of(self.owners)
        width, _, filled = self.vector or (None, False, False)
        return Taken(tuple(register), tuple(lane), tuple(warp), self.memory, element_bits, width, filled)


def _asked(owners: Any, row: Memory, tile: Sequence[int] | None, element_bits: int) -> Request:
    usual = require_pattern(owners) if isinstance(owners, (str, Pattern)) else None
    if usual and not tile:
        raise RankError(f"best_swizzle of {usual.name} without a tile", "the extents of the tile", "give tile=(64, 64)")
    extents = [power_of_two("best_swizzle: an extent of the tile", n) for n in tile or ()]
    held = usual.owners(extents, element_bits) if usual else owners
    return Request(_linear_owners(held, row, tile), usual and Asked(usual.width(element_bits), True, usual.fills), row)


def _linear_owners(owners: Any, row: Memory, tile: Sequence[int] | None) -> LinearLayout:
    """Owners as a linear layout of register, lane and warp."""
    if isinstance(owners, LinearLayout):
        require_lanes("best_swizzle", owners, row)
        return owners
    held = owned(owners, row.lanes)
    what = "elements" if tile is None and len(held.sizes) == 1 else "an extent"
    sizes = [power_of_two(f"best_swizzle: {what} of the tile", n) for n in (held.sizes if tile is None else tile)]
    if len(held.sizes) not in (1, len(sizes)):
        what = f"best_swizzle of {held.text} in a tile of {sizes}"
        raise RankError(what, f"{len(held.sizes)} extents", "give one for each coordinate")
    reach = held.sizes if len(held.sizes) > 1 else [math.prod(held.sizes)]
    if any(n > m for n, m in zip(reach, sizes if len(reach) > 1 else [math.prod(sizes)])):
        what = f"best_swizzle of {held.text}: {reach} in a tile of {sizes}"
        raise RangeError(what, "a place for each element", "give the whole tile")
    return _over_bits(Owned(held.coordinates, held.shape, sizes, held.text))


def _over_bits(held: Owned) -> LinearLayout:
    """The linear layout that has these elements: its columns are what each bit of register, lane and warp does."""
    index = held.placed(held.index)
    sizes = {"register": index.registers, "lane": index.lanes, "warp": index.warps}
    counts = [(d, bits.log2(power_of_two(f"best_swizzle of {held.text}: {d}s", n))) for d, n in sizes.items()]
    columns = [index.at(0, 0, 1 << k) for k in range(counts[0][1])]
    columns += [index.at(0, 1 << k, 0) for k in range(counts[1][1])]
    columns += [index.at(1 << k, 0, 0) for k in range(counts[2][1])]
    outs = tuple((f"dim{k}", n) for k, n in enumerate(held.sizes))
    wrong = next((k for k, (a, b) in enumerate(zip(xors(columns), index.of)) if a != b), None)
    if wrong is not None:
        what = f"best_swizzle of {held.text}, which is not linear over bits"
        rest, register = divmod(wrong, index.registers)
        who = f"warp {rest // index.lanes}, lane {rest % index.lanes}, register {register}"
        at = f"element {xors(columns)[wrong]} at {who}"
        raise RangeError(f"{what}: element {index.of[wrong]}", at, "use strides that are powers of two")
    return LinearLayout._of_columns(counts, outs, columns)
