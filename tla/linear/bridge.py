"""Layouts of shape and stride as linear layouts: exactly, or refused with the coordinates that show it is not one.

A layout is linear over bits iff its extents are powers of two and the offsets of its input bits are pairwise disjoint
in their bits: a + b == a ^ b iff a & b == 0, and where all pairs are disjoint so are all sums. Swizzles always are. A
constant in front makes it affine: c + x with the columns (c + v) ^ c, iff these add up for every pair.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..core.composed import ComposedLayout
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, shown
from ..core.ints import Int, IntLike, Leaf, is_int, known, value_of
from ..core.kinds import AnyLayout, layout_fix
from ..core.layout import Layout
from ..core.swizzle import Swizzle, make_swizzle
from . import bits
from .arguments import checked
from .linear_layout import LinearLayout
from .radix import RadixLayout
from .radix_bridge import as_layout, as_linear, of_modes, swizzles
from .value import MAX_BITS, checked_names

_0 = Int[0]()
#: So many input bits are evaluated one by one where nothing shorter proves that a composed layout is linear.
MAX_EVALUATED = 14
#: A constant, and one column for each input bit: x goes to the constant xor the columns of its bits.
Affine = tuple[int, list[int]]


@checked
def linear(
    layout: Any, in_dims: Sequence[str] | None = None, out_dims: Mapping[str, int] | None = None
) -> LinearLayout:
    """A layout as the linear layout that it is: from the index of each mode to the offset.

    layout     a Layout, or swizzles and layouts composed, of known sizes; or a RadixLayout, whose names stay
    in_dims    a name for each top-level mode, by default dim0, dim1, ...; a single name takes all modes as one input
    out_dims   names and sizes that the offset is cut into, the first fastest; by default `offset`, the least
               power of two
    Raises     DivisibilityError for an extent that is no power of two, RangeError with two coordinates where it is not
               linear, or where the offset of 0 is not 0, Unproven for sizes that are not known

    A thread-value layout goes from hardware to the tensor, as Triton's distributed layouts do; Triton's shared layouts
    go from the offset to the tensor: linear(memory).invert() of a layout of memory.

    >>> from tla import parse
    >>> linear(parse("Sw<1,0,1> o _0 o (2,2):(1,2)")).bases
    {'dim0': ((1,),), 'dim1': ((3,),)}
    >>> linear(parse("((4,8),2):((16,1),8)"), ["lane", "register"], {"dim0": 8, "dim1": 8}).bases
    {'lane': ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), 'register': ((0, 1),)}

    Source: Linear Layouts, arXiv 2505.23819, section 4.
    """
    if isinstance(layout, RadixLayout):
        return as_linear(layout)
    found, constant = affine(layout, in_dims, out_dims)
    if constant:
        what = f"linear({shown(layout)}): the offset of 0 is {constant}"
        raise RangeError(what, "0, as every linear map has it", "use affine(layout), which gives the constant apart")
    return found


@checked
def affine(
    layout: AnyLayout, in_dims: Sequence[str] | None = None, out_dims: Mapping[str, int] | None = None
) -> tuple[LinearLayout, int]:
    """A layout as a linear layout and a constant: the offset is the linear one xor the constant. See linear().

    >>> from tla import parse
    >>> found, constant = affine(parse("Sw<1,0,1> o _2 o 2:1"))
    >>> found.bases, constant
    ({'dim0': ((1,),)}, 3)
    """
    if not isinstance(layout, AnyLayout):
        raise LeafTypeError(f"linear of a {type(layout).__name__}", "a layout", layout_fix(layout))
    counts = [sum(_bits_of(layout, n) for n in leaves(mode)) for mode in modes_of(layout.shape)]
    constant, columns = _proved(layout) or _evaluated(layout)
    ins = named_inputs(f"linear({shown(layout)})", counts, in_dims)
    width = max([c.bit_length() for c in columns] + [constant.bit_length()], default=0)
    outs = dict(out_dims) if out_dims is not None else {"offset": 1 << width}
    whole = LinearLayout({}, outs)
    if whole.get_total_out_dim_size_log2() < width:
        what = f"linear({shown(layout)}): offsets up to {(1 << width) - 1}"
        raise RangeError(what, f"out_dims of 2^{width} in all", "give larger sizes, or leave out_dims out")
    return LinearLayout._of_columns(ins, tuple(whole.out_dims.items()), columns), constant


def named_inputs(where: str, counts: Sequence[int], in_dims: Sequence[str] | None) -> list[tuple[str, int]]:
    """The name and the number of bits of each input, dim0, dim1, ... by default: one for each mode, or one for all."""
    names = [f"dim{k}" for k in range(len(counts))] if in_dims is None else list(in_dims)
    checked_names("input", names, where)
    counts = [sum(counts)] if len(names) == 1 else counts
    if len(names) != len(counts):
        expected = f"{len(counts)}, one for each mode, or 1"
        raise RankError(f"{where}: {len(names)} names", expected, "give one name for each mode, or leave in_dims out")
    return [*zip(names, counts)]


def _bits_of(layout: AnyLayout, extent: IntLike) -> int:
    n = known(extent)
    if n is None:
        what = f"linear({shown(layout)}): the extent {extent}"
        raise Unproven(what, "sizes that are known", "give its symbols values first")
    if not bits.is_power_of_two(n):
        what = f"linear({shown(layout)}): the extent {n}"
        expected = "powers of two: only these are bits"
        raise DivisibilityError(what, expected, f"pad it to {1 << n.bit_length()}" if n else "use 1")
    return bits.log2(n)


def _proved(layout: Any) -> Affine | None:
    """The constant and columns by a proof that looks at each part once; None where there is no such proof."""
    if isinstance(layout, Layout):
        return 0, _columns(layout)
    inner = _proved(layout.inner)
    if inner is None or not is_int(layout.offset):
        return None
    moved = _added(_known(layout, layout.offset), inner)
    return None if moved is None else _through(layout.outer, moved)


def _known(layout: AnyLayout, x: Leaf) -> int:
    n = value_of(x)
    if n is None:
        raise Unproven(f"linear({shown(layout)}): {shown(x)}", "known integers", "give its symbols values first")
    return n


def _columns(layout: Layout) -> list[int]:
    """The offsets of all input bits of a layout, which is refused if two of them carry."""
    images: list[int] = []
    for extent, stride in zip(leaves(layout.shape), leaves(layout.stride)):
        d = _known(layout, stride)
        for k in range(_bits_of(layout, extent)):
            if d < 0:
                what = f"linear({shown(layout)}): the stride {d}"
                raise RangeError(what, "strides of 0 or more", "reverse the mode: use its positive stride")
            images.append(d << k)
    if any(v.bit_length() > MAX_BITS for v in images):
        raise RangeError(f"linear({shown(layout)})", f"offsets of at most {MAX_BITS} bits", "use smaller strides")
    if not _disjoint(images):
        i, j = next((i, j) for j, v in enumerate(images) for i in range(j) if images[i] & v)
        raise _not_linear(layout, 0, i, j, images[i], images[j], images[i] + images[j])
    return images


def _not_linear(layout: AnyLayout, zero: int, i: int, j: int, a: int, b: int, both: int) -> RangeError:
    x, y = 1 << i, 1 << j
    what = f"{shown(layout)} is not linear over bits: indices {x}, {y} and {x + y} go to {a}, {b} and {both}"
    start = f" ^ {zero}" if zero else ""
    expected = f"{a} ^ {b}{start}, which is {a ^ b ^ zero}"
    return RangeError(what, expected, "use strides whose multiples share no bit, such as powers of two")


def _added(offset: int, inner: Affine) -> Affine | None:
    """offset + y for the y of an affine map, where that is proved to be affine."""
    constant, columns = inner
    reached = functools.reduce(operator.or_, columns, constant)
    if offset >= 0 and not offset & reached:
        return constant ^ offset, columns
    start = offset + constant
    if not _disjoint([constant, *columns]) or start < 0:
        return None
    pairs = itertools.combinations([c for c in columns if c], 2)
    if not all((start + a) ^ (start + b) ^ start == start + a + b for a, b in pairs):
        return None
    return start, [(start + c) ^ start for c in columns]


def _through(outer: Layout | Swizzle, inner: Affine) -> Affine | None:
    """The outer map of an affine one."""
    constant, columns = inner
    if isinstance(outer, Swizzle):
        return outer(constant), [outer(c) for c in columns]
    images = _bit_images(outer, functools.reduce(operator.or_, columns, constant))
    if images is None or not _disjoint(images):
        return None
    return bits.apply(images, constant), [bits.apply(images, c) for c in columns]


def _bit_images(layout: Layout, reached: int) -> list[int] | None:
    """The image of each bit of an index, 0 if not in `reached`; the last mode goes on without end. None for extents
    that are not bits."""
    images: list[int] = []
    flat = [*zip(leaves(layout.shape), leaves(layout.stride))]
    for i, (extent, stride) in enumerate(flat):
        n, d = known(extent), value_of(stride)
        last = i == len(flat) - 1
        if n is None or d is None or d < 0 or not (last or bits.is_power_of_two(n)):
            return None
        at = len(images)
        count = reached.bit_length() - at if last else bits.log2(n)
        images += [d << k if reached >> (at + k) & 1 else 0 for k in range(count)]
    return images


def _evaluated(layout: AnyLayout) -> Affine:
    """The constant and columns by evaluating the layout everywhere."""
    count = sum(_bits_of(layout, n) for n in leaves(layout.shape))
    start = _known(layout, layout(0))
    columns = [_known(layout, layout(1 << k)) ^ start for k in range(count)]
    if start < 0 or any(c < 0 for c in columns):
        raise RangeError(f"linear({shown(layout)})", "offsets of 0 or more", "add an offset")
    for i, j in itertools.combinations(range(count), 2):
        both = _known(layout, layout((1 << i) + (1 << j)))
        if both != start ^ columns[i] ^ columns[j]:
            raise _not_linear(layout, start, i, j, start ^ columns[i], start ^ columns[j], both)
    if count > MAX_EVALUATED:
        unknown = "of which no pair of bits shows that it is not linear, and nothing that it is"
        what = f"linear({shown(layout)}): 2^{count} offsets, {unknown}"
        expected = f"at most 2^{MAX_EVALUATED}, or parts that are linear"
        raise Unproven(what, expected, "use strides that are powers of two")
    for x in range(1 << count):
        if _known(layout, layout(x)) != start ^ bits.apply(columns, x):
            what = f"{shown(layout)} is not linear over bits: index {x} goes to {layout(x)}"
            raise RangeError(what, f"{start ^ bits.apply(columns, x)}", "use strides that are powers of two")
    return start, columns


# ------------------------------------------------------------------------------------------------- the way back


@checked
def layout_of(found: LinearLayout | RadixLayout) -> Any:
    """A layout with the offsets of a linear layout, over bits or digits: a mode for each input, the outputs one offset,
    the first lowest.

    Returns    a Layout where the bases share no bit; else one swizzle over a layout if there is one, the one of the
               fewest bits; else a chain of swizzles over a layout. Bits that are sums of others stay in a chain
               on the index.
    Raises     RankError where the chain has more parts than a ComposedLayout takes

    Of a single input the modes are the runs of its bits; linear(layout_of(x), ["its name"], x.out_dims) is x again.

    >>> print(layout_of(LinearLayout({"i": [(1,), (2,)], "j": [(4,)]}, {"offset": 8})))
    (_4,_2):(_1,_4)
    >>> print(layout_of(LinearLayout({"row": [(5,), (10,)], "column": [(1,), (2,)]}, {"offset": 16})))
    Sw<2,0,2> o _0 o (_4,_4):(_4,_1)

    Source: CuTe `Swizzle`; an invertible matrix over bits is a permutation of bits followed by Swizzle<1,M,S>s.
    """
    if isinstance(found, RadixLayout):
        return as_layout(found)
    columns, rows = list(found.columns), found.get_total_out_dim_size_log2()
    counts = [len(vectors) for vectors in found.bases.values()]
    if _disjoint(columns):
        return _plain(columns, counts)
    if (swizzle := one_swizzle(columns, rows)) is not None:
        return ComposedLayout(swizzle, _0, _plain([swizzle(c) for c in columns], counts))
    return _chain(columns, counts, rows)


def _disjoint(columns: Sequence[int]) -> bool:
    used = 0
    for c in columns:
        if used & c:
            return False
        used |= c
    return True


def _plain(columns: Sequence[int], counts: Sequence[int]) -> Layout:
    """The layout of columns that share no bit, so many of them in each mode; runs that double are one extent."""
    it = iter(columns)
    return of_modes([runs_of([next(it) for _ in range(n)]) for n in counts])


def runs_of(columns: Sequence[int]) -> list[tuple[int, int]]:
    """Extents and strides of input bits, the lowest first: bits that double are one run."""
    runs: list[tuple[int, int]] = []
    for c in columns:
        n, d = runs[-1] if runs else (1, 0)
        if runs and c == n * d:
            runs[-1] = (2 * n, d)
        else:
            runs.append((2, c))
    return runs or [(1, 0)]


def one_swizzle(columns: Sequence[int], rows: int) -> Swizzle | None:
    """The swizzle of the fewest bits, then the lowest, after which the columns share no bit; None if there is none."""
    return next((swizzle for swizzle in swizzles(rows) if _disjoint([swizzle(c) for c in columns])), None)


def _chain(columns: Sequence[int], counts: Sequence[int], rows: int) -> AnyLayout:
    """Swizzles over a layout; where columns depend on each other, over a layout of an index that others made."""
    echelon = bits.Echelon(columns)
    if not echelon.free:
        swizzles, left = eliminated(columns, rows)
        return _composed(swizzles, _plain(left, counts))
    # C == E N F: F, invertible, turns each index so that only independent columns are left, N forgets the others
    count = len(columns)
    kept = [k for k in range(count) if k not in {*echelon.free}]
    turned = [1 << k for k in range(count)]
    for k in echelon.free:
        turned[k] = 1 << k | (echelon.solve(columns[k]) or 0)
    swizzles, left = eliminated([columns[k] for k in kept], rows)
    places = dict(zip(kept, left))
    forget = _plain([places.get(k, 0) for k in range(count)], [count])
    below, index = eliminated(turned, count)
    return _composed(swizzles, ComposedLayout(forget, _0, _composed(below, _plain(index, counts))))


def _composed(swizzles: Sequence[Swizzle], inner: AnyLayout) -> AnyLayout:
    for swizzle in reversed(swizzles):
        inner = ComposedLayout(swizzle, _0, inner)
    return inner


def eliminated(columns: Sequence[int], rows: int) -> tuple[list[Swizzle], list[int]]:
    """Swizzles, the outermost first, and single bits: independent columns are the swizzles of these bits.

    Column by column: of its bits one that no column before it has left is kept, and is xored into the others, which
    clears them. Columns before it do not have that bit, so they stay as they are; of these bits one that the fewest
    other columns have changes the fewest of them. Each step is a Swizzle<1,M,S>; steps that commute with those between
    them and make one run of bits are one swizzle.
    """
    runs: list[Run] = []
    work, taken = list(columns), 0
    for j in range(len(work)):
        pivot = min(bits.ones(work[j] & ~taken), key=lambda bit: sum(c >> bit & 1 for c in work))
        taken |= 1 << pivot
        for target in bits.ones(work[j] & ~(1 << pivot)):
            _join(runs, pivot, target)
        clear = work[j] & ~(1 << pivot)
        work = [c ^ clear if c >> pivot & 1 else c for c in work]
    return [run.swizzle for run in runs], work


class Run(NamedTuple):
    """Neighbouring bits from `low` on that are xored with those `shift` places away from them, all at once."""

    low: int
    length: int
    shift: int

    @property
    def swizzle(self) -> Swizzle:
        return make_swizzle(self.length, min(self.low, self.low + self.shift), self.shift)

    @property
    def targets(self) -> int:
        return (1 << self.length) - 1 << self.low

    @property
    def sources(self) -> int:
        return (1 << self.length) - 1 << self.low + self.shift

    def commutes(self, source: int, target: int) -> bool:
        return not (self.targets >> source & 1 or self.sources >> target & 1)

    def joined(self, source: int, target: int) -> Run | None:
        """The run with one bit more at either end, if it is still one swizzle."""
        if source - target != self.shift or self.length >= abs(self.shift):
            return None
        if target == self.low + self.length:
            return self._replace(length=self.length + 1)
        return self._replace(low=target, length=self.length + 1) if target == self.low - 1 else None


def _join(runs: list[Run], source: int, target: int) -> None:
    """Add a step behind all others: to the last run that it can be part of, if it commutes with those behind that."""
    for k in range(len(runs) - 1, -1, -1):
        if (longer := runs[k].joined(source, target)) is not None:
            runs[k] = longer
            return
        if not runs[k].commutes(source, target):
            break
    runs.append(Run(target, 1, source - target))
