"""XOR strides, as PyCuTe writes them: `(4,(4,4)):(F1,(F5,F16))`, where `F5` is a stride whose multiples are xored.

c times F5 is the xor of 5 << k over the bits k of c, a product without carries; a mode of 2^n with this stride has the
bases 5, 10, 20, ... The other way one mode of a few bits is needed for each run of bases that double.

    layout = tree ":" tree          of one form; leaves are extents on the left, strides on the right
    tree   = leaf | "(" tree { "," tree } ")"

Source: PyCuTe, NVlabs/CuTe, docs/06_swizzle.md and `F2`; CuTe whitepaper, arXiv 2603.02298, section 2.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..core.composed import ComposedLayout
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ..core.int_tuple import modes_of
from ..core.ints import IntTree
from ..core.kinds import AnyLayout, layout_fix
from ..core.reader import Reader
from . import bits
from .arguments import checked
from .bridge import linear, named_inputs, runs_of
from .digits import listed
from .linear_layout import LinearLayout
from .value import MAX_BITS

Tree = Any  # an integer, or a tuple of trees


@checked
def to_xor_strides(layout: object) -> str:
    """A linear layout as PyCuTe writes it: a mode for each input, a stride for each run of bases that double.

    layout     a LinearLayout, whose outputs are one offset, the first output's bits lowest; or a layout that linear()
               takes, such as a chain of swizzles, which this is one line for
    Raises     as linear() does for a layout that is not linear over bits

    >>> to_xor_strides(LinearLayout({"row": [(5,), (10,)], "column": [(1,), (2,)]}, {"offset": 16}))
    '(4,4):(F5,F1)'
    >>> to_xor_strides(LinearLayout({"i": [(1,), (7,), (4,)]}, {"offset": 8}))
    '(2,2,2):(F1,F7,F4)'
    >>> from tla import parse
    >>> to_xor_strides(parse("Sw<1,0,1> o 0 o Sw<1,1,1> o 0 o (4,8):(1,4)"))
    '((2,2),(2,4)):((F1,F3),(F7,F8))'
    """
    if isinstance(layout, AnyLayout):
        return to_xor_strides(linear(layout))
    if not isinstance(layout, LinearLayout):
        what = f"to_xor_strides of a {type(layout).__name__}"
        raise LeafTypeError(what, "a LinearLayout, or a layout", layout_fix(layout))
    columns = iter(layout.columns)
    modes = [runs_of([next(columns) for _ in vectors]) for vectors in layout.bases.values()]
    if len(modes) == 1:
        modes = [[run] for run in modes[0]]
    shape, stride = (
        [listed([text.format(pair[k]) for pair in runs]) for runs in modes] for k, text in enumerate(("{}", "F{}"))
    )
    return f"{listed(shape)}:{listed(stride)}"


def readable(layout: Any) -> str:
    """A layout as one form to read: of more than one swizzle, and of bases, the XOR strides.

    >>> from tla import parse
    >>> readable(parse("Sw<1,0,1> o 0 o Sw<1,1,1> o 0 o (4,8):(1,4)")), readable(parse("Sw<1,0,1> o 0 o (4,8):(1,4)"))
    ('((2,2),(2,4)):((F1,F3),(F7,F8))', 'Sw<1,0,1> o 0 o (4,8):(1,4)')
    """
    chained = isinstance(layout, ComposedLayout) and isinstance(layout.inner, ComposedLayout)
    return to_xor_strides(layout) if chained or isinstance(layout, LinearLayout) else str(layout)


@checked
def from_xor_strides(
    text: str, in_dims: Sequence[str] | None = None, out_dims: Mapping[str, int] | None = None
) -> LinearLayout:
    """The linear layout of a text with XOR strides. See linear() for the names.

    Raises     ParseError for other texts, DivisibilityError for extents that are no powers of two

    >>> from_xor_strides("(4,(4,4)):(F1,(F5,F16))").bases
    {'dim0': ((1,), (2,)), 'dim1': ((5,), (10,), (16,), (32,))}
    """
    shape, stride = _StrideReader(text).layout()
    if _profile(shape) != _profile(stride):
        what = f"from_xor_strides of {text[:60]}: shape and stride of other forms"
        raise RankError(what, "one stride for each extent", "give them all")
    columns = [[*_bases(text, n, d)] for n, d in zip(modes_of(shape), modes_of(stride))]
    ins = named_inputs("from_xor_strides", [*map(len, columns)], in_dims)
    flat = [c for mode in columns for c in mode]
    outs = {"offset": 1 << max((c.bit_length() for c in flat), default=0)} if out_dims is None else dict(out_dims)
    whole = LinearLayout({}, outs)
    if any(c >> whole.get_total_out_dim_size_log2() for c in flat):
        what = f"from_xor_strides: offsets up to {max(flat)} in {outs}"
        raise RankError(what, "outputs that hold them", "give larger sizes, or leave out_dims out")
    return LinearLayout._of_columns(ins, tuple(whole.out_dims.items()), flat)


class _StrideReader(Reader):
    tokens = r"F?[0-9]{1,19}(?![0-9])|[(),:]"
    noun, example = "a layout with xor strides", "write it as PyCuTe prints it, such as (4,4):(F5,F1)"

    def layout(self) -> tuple[Tree, Tree]:
        shape = self.tree(self.extent)
        self.expect(":", "and the strides")
        return shape, self.whole(lambda: self.tree(self.stride))

    def tree(self, leaf: Callable[[], int]) -> Tree:
        if self.token != "(":
            return leaf()
        return tuple(self.listed("()", lambda: self.tree(leaf), empty=False))

    def extent(self) -> int:
        return self.integer("an extent")

    def stride(self) -> int:
        if self.token[:1] != "F" and self.token != "0":
            self.unexpected("an xor stride, such as F8")
        return int(self.next().lstrip("F"))


def _profile(tree: Tree) -> IntTree:
    return tuple(map(_profile, tree)) if isinstance(tree, tuple) else 0


def _bases(text: str, shape: Tree, stride: Tree) -> Iterable[int]:
    """The bases of a mode, the lowest first."""
    if isinstance(shape, tuple):
        for n, d in zip(shape, stride):
            yield from _bases(text, n, d)
        return
    if not bits.is_power_of_two(shape):
        what = f"from_xor_strides of {text[:60]}: the extent {shape}"
        expected = "powers of two: only these are bits"
        raise DivisibilityError(what, expected, f"pad it to {1 << shape.bit_length()}" if shape else "use 1")
    if bits.log2(shape) + stride.bit_length() > MAX_BITS:
        what = f"from_xor_strides of {text[:60]}: offsets of more bits than integers have"
        raise RangeError(what, f"{MAX_BITS} bits", "use smaller ones")
    yield from (stride << k for k in range(bits.log2(shape)))
