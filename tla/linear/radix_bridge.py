"""Layouts of shape and stride, swizzled ones, linear layouts and texts as RadixLayouts, and back:
exactly, or refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ..core.basis import BasisSum, ScaledBasis
from ..core.composed import ComposedLayout
from ..core.errors import LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product, shown
from ..core.ints import Int, is_int, known, static, value_of
from ..core.kinds import AnyLayout, layout_fix
from ..core.layout import Layout
from ..core.reader import Reader
from ..core.swizzle import Swizzle, make_swizzle
from . import bits
from .arguments import checked
from .digits import Vector, radices_of
from .linear_layout import LinearLayout
from .radix import Radices, RadixLayout
from .value import MAX_BITS, checked_names

_0, _1 = Int[0](), Int[1]()


@checked
def radix(
    layout: str | RadixLayout | LinearLayout | AnyLayout,
    in_dims: Sequence[str] | None = None,
    out_dims: Mapping[str, Radices] | None = None,
) -> RadixLayout:
    """Anything that is linear over digits as a RadixLayout: a layout of shape and stride, swizzled or not, a linear
    layout, a text.

    layout     a Layout, or swizzles over one, of known sizes and strides of 0 or more; a LinearLayout; the text
               of a RadixLayout
    in_dims    of a layout a name for each top-level mode, by default dim0, dim1, ...; a single name takes all
               modes as one input
    out_dims   names and sizes, or radices, that the offset is cut into, the first fastest; by default `offset` of the
               cosize, of a layout of coordinates `axis0`, `axis1`, ...
    Raises     RangeError where it is not linear over these digits, ParseError for a text that is none,
               Unproven for open sizes

    >>> from tla import parse
    >>> print(radix(parse("((16,3),8):((1,128),16)"), ["column", "row"]))
    column=(16,3):(1,128), row=8:16 -> offset=384
    >>> swizzled = radix(parse("Sw<1,0,1> o _0 o ((2,2),3):((1,2),4)"))
    >>> print(swizzled)
    dim0=(2,2):(1,3), dim1=3:4 -> offset=(2^2,3)
    >>> radix(str(swizzled)) == swizzled
    True
    >>> diagonal = radix(parse("(4,2):(1@0+1@1,4@1)"))
    >>> print(diagonal.left_inverse())
    axis0=4:(1,0), axis1=(4,2):((0,0),(0,1)) -> dim0=4, dim1=2
    """
    if isinstance(layout, RadixLayout):
        found = layout
    elif isinstance(layout, str):
        found = _RadixReader(layout).layout()
    elif isinstance(layout, LinearLayout):
        outs = {name: (2,) * bits.log2(size) for name, size in layout.out_dims.items()}
        found = RadixLayout({name: [(2, v) for v in of] for name, of in layout.bases.items()}, outs)
    elif isinstance(layout, AnyLayout):
        found = _named(_of_layout(layout), layout, in_dims)
        if out_dims is not None:
            size = math.prod(math.prod(radices_of(name, m)) for name, m in out_dims.items())
            found = found if size == math.prod(found.radices) else found.resize_out("offset", size)
            return found.reshape_outs(out_dims)
    else:
        raise LeafTypeError(f"radix of a {type(layout).__name__}", "a layout, or the text of one", layout_fix(layout))
    return found if out_dims is None else found.reshape_outs(out_dims)


def _named(found: RadixLayout, layout: AnyLayout, in_dims: Sequence[str] | None) -> RadixLayout:
    """The layout of one input with an input for each mode, or for all."""
    sizes = [_known(layout, product(mode)) for mode in modes_of(layout.shape)]
    names = [f"dim{k}" for k in range(len(sizes))] if in_dims is None else list(in_dims)
    checked_names("input", names, f"radix of {shown(layout)}")
    if len(names) == 1:
        sizes = [math.prod(sizes)]
    if len(names) != len(sizes):
        what = f"radix of {shown(layout)}: {len(names)} names"
        raise RankError(what, f"{len(sizes)}, one for each mode, or 1", "name each mode")
    return found.reshape_ins(dict(zip(names, sizes)))


def _known(layout: AnyLayout, x: object) -> int:
    n = value_of(x)
    if n is None:
        raise Unproven(f"radix of {shown(layout)}: {shown(x)}", "known integers", "give its symbols values first")
    if n < 0:
        what = f"radix of {shown(layout)}: {n}"
        raise RangeError(what, "integers of 0 or more", "reverse the mode: use its positive stride")
    return n


def _of_layout(layout: AnyLayout) -> RadixLayout:
    """A layout of one input, `index`, to `offset`."""
    if isinstance(layout, Layout):
        extents = [_known(layout, n) for n in leaves(layout.shape)]
        steps = [_by_axis(layout, d) for d in leaves(layout.stride)]
        names = sorted({name for step in steps for name in step}) or ["offset"]
        sizes = {name: 1 + sum((n - 1) * step.get(name, 0) for n, step in zip(extents, steps)) for name in names}
        digits = [(n, [step.get(name, 0) % size for name, size in sizes.items()]) for n, step in zip(extents, steps)]
        return RadixLayout({"index": digits}, sizes)
    if not isinstance(layout, ComposedLayout) or not is_int(layout.offset) or known(layout.offset) != 0:
        what = f"radix of {shown(layout)}: it does not begin at 0"
        raise RangeError(what, "an offset of 0", "add the offset to what it gives")
    inner = _of_layout(layout.inner)
    if isinstance(layout.outer, Swizzle):
        return _swizzled(inner, layout.outer)
    outer = _of_layout(layout.outer).reshape_ins({"offset": _known(layout, product(layout.outer.shape))})
    return inner.resize_out("offset", outer.in_sizes["offset"]).compose(outer)


def _by_axis(layout: Layout, stride: object) -> dict[str, int]:
    """The change of each output by a stride: of the offset, or of the axes that it moves along."""
    terms = stride.terms if isinstance(stride, BasisSum) else (stride,)
    found: dict[str, int] = {}
    for term in terms:
        value = _known(layout, term.value if isinstance(term, ScaledBasis) else term)
        name = "axis" + "_".join(map(str, term.path)) if isinstance(term, ScaledBasis) else "offset"
        found |= {name: value} if value else {}
    return found


def _swizzled(inner: RadixLayout, swizzle: Swizzle) -> RadixLayout:
    """The layout with the bits of its offset swizzled: as many radices of 2 as the swizzle reads and writes."""
    count = (swizzle.reads | swizzle.changes).bit_length()
    size = -(-inner.out_sizes["offset"] >> count) << count
    wide = inner if size == inner.out_sizes["offset"] else inner.resize_out("offset", size)
    over_bits = wide.reshape_outs({"offset": (*(2,) * count, size >> count)})
    return _changed(over_bits, swizzle, count)


def _changed(layout: RadixLayout, swizzle: Swizzle, count: int) -> RadixLayout:
    """The layout with the lowest `count` radices, which are 2, swizzled in each basis."""
    (name, radices), *_ = layout.outs

    def changed(v: Vector) -> int:
        low = int(swizzle(v[0] & (1 << count) - 1))
        return low | v[0] >> count << count

    ins = {d: [(n, (changed(v),)) for n, v in of] for d, of in layout.bases.items()}
    return RadixLayout(ins, {name: radices})


class _RadixReader(Reader):
    tokens = r"[A-Za-z_][A-Za-z0-9_]*|[0-9]{1,19}(?![0-9])|->|[(),:=^]"
    noun, example = "the text of a RadixLayout", "write it as it prints, such as lane=(4,3):(1,16) -> column=48"

    def layout(self) -> RadixLayout:
        ins = self.several("->", self.input)
        self.expect("->", "and the outputs")
        return RadixLayout(ins, self.whole(lambda: self.several("", self.output)))

    def input(self) -> tuple[str, list[tuple[int, Sequence[int]]]]:
        name, at = self.name(), self.at
        extents = self.one_or_more(self.number)
        self.expect(":", "and the strides")
        if isinstance(extents, int):
            return name, [(extents, self.basis())]
        strides = self.listed("()", self.basis, empty=False)
        if len(strides) != len(extents):
            self.fail(f"{len(extents)} extents and {len(strides)} strides", "one stride for each extent", at=at)
        return name, [*zip(extents, strides)]

    def basis(self) -> list[int]:
        found = self.one_or_more(self.number)
        return [found] if isinstance(found, int) else found

    def output(self) -> tuple[str, list[int]]:
        name = self.name()
        found = self.listed("()", self.power, empty=False) if self.token == "(" else [self.power()]
        return name, [*itertools.chain.from_iterable(found)]

    def power(self) -> list[int]:
        """A radix, or several equal ones: 2^4."""
        radix = self.number()
        count = self.number() if self.take("^") else 1
        if count > MAX_BITS:
            self.fail(f"{count} equal radices", f"{MAX_BITS} at most")
        return [radix] * count

    def one_or_more(self, rule: Callable[[], int]) -> int | list[int]:
        return self.listed("()", rule, empty=False) if self.token == "(" else rule()

    def name(self) -> str:
        if not self.token.isidentifier():
            self.unexpected("a name")
        name = self.next()
        self.expect("=")
        return name

    def number(self) -> int:
        return self.integer("an integer", 0)


# ------------------------------------------------------------------------------------------------- the way back


def as_linear(layout: RadixLayout) -> LinearLayout:
    """A layout over bits as the LinearLayout that it is.

    Raises     RangeError where extents or radices are no powers of two, or sums are no xors

    >>> as_linear(radix("lane=(4,2):(1,12) -> offset=16")).bases
    {'lane': ((1,), (2,), (12,))}
    """
    sizes = {**layout.in_sizes, **layout.out_sizes}
    for name, size in sizes.items():
        if not bits.is_power_of_two(size):
            what = f"linear({layout}): {name} has size {size}"
            raise RangeError(what, "powers of two: only these are bits", "keep the RadixLayout")
    over_bits = layout.reshape_outs({name: (2,) * bits.log2(size) for name, size in layout.out_sizes.items()})
    ins = {name: [v for n, v in of for v in _doubled(n, v)] for name, of in over_bits.bases.items()}
    return LinearLayout(ins, layout.out_sizes)


def as_layout(layout: RadixLayout) -> AnyLayout:
    """A layout of shape and stride with these values, one mode for each input; of outputs over bits one swizzle over
    such a layout.

    Raises     RankError for several outputs, RangeError where one swizzle and strides do not say it

    >>> print(as_layout(radix("row=8:8, column=(8,3):(1,64) -> offset=192")))
    (_8,(_8,_3)):(_8,(_1,_64))
    >>> print(as_layout(radix("row=2:5, column=(2,2,3):(1,2,8) -> offset=(2^3,3)")))
    Sw<1,0,2> o _0 o (_2,(_4,_3)):(_4,(_1,_8))
    """
    if len(layout.outs) != 1:
        what = f"layout_of({layout}): {len(layout.outs)} outputs"
        raise RankError(what, "one, the offset", "write reshape_outs({'offset': ...})")
    if (found := _plain(layout)) is not None:
        return found
    (_, radices), *_ = layout.outs
    count = len([*itertools.takewhile(lambda m: m == 2, radices)])
    for swizzle in swizzles(count):
        if (found := _plain(_changed(layout, swizzle, count))) is not None:
            swizzled: AnyLayout = ComposedLayout(swizzle, _0, found)
            return swizzled
    what = f"layout_of({layout})"
    raise RangeError(what, "one swizzle over a layout of shape and stride", "keep the RadixLayout, or as_linear of it")


def swizzles(rows: int) -> Iterator[Swizzle]:
    """All swizzles of so many bits, those of the fewest bits first, then the lowest."""
    for count in range(1, rows // 2 + 1):
        for base in range(rows - 2 * count + 1):
            for shift in range(count, rows - base - count + 1):
                yield from (make_swizzle(count, base, s) for s in (shift, -shift))


def _plain(layout: RadixLayout) -> Layout | None:
    """The layout of shape and stride, where its sums are those of integers."""
    sums = layout.sums(*layout.out_sizes)
    return None if sums is None else of_modes([of for _, of in sums])


def of_modes(modes: Sequence[Sequence[tuple[int, int]]]) -> Layout:
    """The static layout of modes, each of extents and strides; a single mode is the layout itself."""
    pairs = [[(static(n), static(d)) for n, d in mode] or [(_1, _0)] for mode in modes]
    parts = [tuple(zip(*mode)) if len(mode) > 1 else mode[0] for mode in pairs]
    return Layout(*parts[0]) if len(parts) == 1 else Layout(tuple(n for n, _ in parts), tuple(d for _, d in parts))


def _doubled(extent: int, v: Sequence[int]) -> list[tuple[int, ...]]:
    """The bases of the bits of a digit that xors: where it is more than one bit its multiples are 0."""
    return [tuple(v), *[(0,) * len(v)] * (bits.log2(extent) - 1)]
