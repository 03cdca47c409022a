"""`tla.layout_of`: the layout of a table, a function, or what else gives an offset for each coordinate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..core.ints import is_int, is_sympy
from ..core.kinds import AnyLayout
from ..core.questions import require_positive
from ..linear import LinearLayout, RadixLayout
from ..linear.bridge import layout_of as layout_of_linear
from ..tensors.offsets import offsets
from ..xla import ArrayShape, lower
from ..xla.jax import layout_of as layout_of_jax
from .bounds import has_bounds, layout_in_bounds
from .evaluate import table_of
from .functions import table_of_function
from .isl import is_isl, read_isl
from .languages import LANGUAGES
from .tables import MAX_OFFSETS, as_table, layout_of_table
from .texts import coordinates_of, read
from .unknown_bounds import box_of, within
from .unknown_functions import offset_of_function
from .unknown_sizes import coordinates, has_names, layout_of_offset, offset_of_text, sizes_of
from .values import values_of

if TYPE_CHECKING:
    from ..core.composed import ComposedLayout
    from ..core.layout import Layout
    from ..symbolic import SymInt
    from .digits import Table


#: A size: a number; or one that is not known, with its facts, as a name, or in an expression such as "8*K".
Size: TypeAlias = "int | str | SymInt"


def layout_of(
    x: object,
    shape: Size | tuple[Size, ...] | Mapping[str, Size] | None = None,
    coords: str | Sequence[str] | None = None,
    language: str = "c",
    integer: str | None = None,
    values: str | Mapping[str, Size] | None = None,
) -> Layout | ComposedLayout:
    """The simplest layout with given offsets: shape and strides, swizzled or not, or what is linear over bits.

    x        a table: an array or a list of offsets with an axis for each coordinate, as numpy or torch make one of an
             arange by reshape, transpose, flip, expand, unfold; a function of coordinates, or its text; an index
             expression as text or of sympy; a map of isl, which has its box; a LinearLayout or a RadixLayout; an
             array's shape of XLA, and with the shape of its array a Layout or a Format of JAX
    shape    the extents of the coordinates, as a dict with their names too; a table of one axis is cut by them, the
             first fastest. A text whose coordinates are loops or aranges says them itself. Extents of a text or a
             function may be names, "M", or sizes with facts, dim("M", multiple_of=8)
    coords   the names of the coordinates of a text, in order: "row,col"; or symbols of sympy; by default its
             parameters, or i,j,k
             or d0,d1 or row,col
    language of a text: c, cpp, cuda, hip, opencl, python, numpy, jax, pallas, triton, tvm, mlir, latex or sympy.
    Quotients are C's in the
             first five and in triton, and round down in the others. The text is parsed, never evaluated
    integer  the integers that a text computes in: int32 or int64; int32 for C's family, triton, tvm, jax and pallas.
             What does not fit is refused
    values   the values of other names in a text: "ld=72, p->n=4" or {"ld": 72}; or sizes that are not known
    Returns  a Layout, coalesced mode by mode; with an offset or swizzles a ComposedLayout. It is compared with every
             offset; of sizes that are names its normal form is that of the expression, so that they are equal for all
             of them. Where a text or a function is -1 outside of a box from 0 on, the box is the layout's origin_shape
    Raises   RangeError with the smallest coordinates that no layout of shape:stride serves, and no swizzle of one;
             LeafTypeError for what is no table of integers, RankError for another shape; ParseError with the place in a
             text for unknown calls, side effects, indices that depend on data, a divisor that may be 0, and what the
             integers do not hold

    >>> from tla import layout_of
    >>> print(layout_of([0, 1, 2, 3, 8, 9, 10, 11]))
    (_4,_2):(_1,_8)
    >>> print(layout_of(lambda i, j: i * 64 + (j // 8 ^ i % 8) * 8 + j % 8, shape=(64, 64)))
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    >>> print(layout_of("smem[(row/8)*512 + (row%8)*64 + ((col/8) ^ (row%8))*8 + col%8]", shape=(64, 64), coords="row,col"))
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1)
    >>> print(layout_of("(i / 8) * 8 * N + j * 8 + i % 8", shape=("8*K", "N")))
    ((_8,K),N):((_1,8*N),_8)
    >>> import numpy as np
    >>> print(layout_of(np.arange(64).reshape(4, 2, 8).transpose(0, 2, 1)[::-1]))
    Sw<0,0,0> o _48 o (_4,_8,_2):(_-16,_1,_8)
    >>> layout_of([0, 1, 2, 3, 8, 9])
    Traceback (most recent call last):
    tla.core.errors.RangeError: offsets of no layout of shape:stride: (4) lies at 8: 4 steps of 1 end there, and 4 does not divide 6
      expected  a layout, a swizzle of one, or offsets that are linear over bits
      fix       take a part of it that is one, or cut it at that coordinate

    Law: offsets(layout_of(table)) == table. The extents and strides of a coalesced layout are unique, so they
    are the simplest.
    """
    given = _Given.of(x, shape, coords, language, integer, values)
    if (own := given.own_layout()) is not None:
        return own
    if has_names(*(given.shape if isinstance(given.shape, tuple) else (given.shape,)), *given.values.values()):
        return given.layout_of_sizes()
    table = given.table()
    try:
        return layout_of_table(table)
    except RangeError:
        if not ((isinstance(given.x, str) or callable(given.x)) and has_bounds(table)):
            raise
    return layout_in_bounds(table)


def layout_of_isl(text: str) -> Layout | ComposedLayout:
    """The layout of a map of isl, as parse reads it; ParseError for any other text.

    >>> print(layout_of_isl("{ [i, j] -> [8*i + j] : 0 <= i < 4 and 0 <= j < 8 }"))
    (_4,_8):(_8,_1)
    """
    return layout_of(*_of_isl(text), "python", "int64")


def offsets_of(x: Any, shape: Any, coords: Any, language: str, integer: str | None, values: Any) -> Table:
    """The offsets of what layout_of takes, whether they have a layout or not; of sizes that are numbers."""
    given = _Given.of(x, shape, coords, language, integer, values)
    if has_names(*given.values.values()):
        raise LeafTypeError(f"values={shown(given.values)}", "numbers: offsets are compared", "write values='ld=72'")
    own: Any = given.x if isinstance(given.x, AnyLayout) else given.own_layout()
    return as_table(offsets(own)) if own is not None else given.table()


class _Given(NamedTuple):
    """The arguments of layout_of in one form: coordinates beside their extents, a map of isl or an expression of sympy
    as text."""

    x: Any
    shape: Any
    coords: Any
    language: str
    integer: str | None
    values: Mapping[str, Any]

    @classmethod
    def of(cls, x: Any, shape: Any, coords: Any, language: str, integer: str | None, values: Any) -> _Given:
        if isinstance(x, str) and is_isl(x):
            x, shape, coords = _of_isl(x)
            language, integer = "python", "int64"
        if isinstance(shape, Mapping):
            coords, shape = (coords if coords is not None else tuple(shape)), tuple(shape.values())
        if is_sympy(x):
            x, language = str(x), "sympy"
        return cls(x, shape, coords, language, integer, values_of(values or {}))

    def own_layout(self) -> Layout | ComposedLayout | None:
        """The layout of what has one: a linear layout, an array's shape of XLA, a Layout or a Format of JAX; None of
        anything else."""
        x, kind = self.x, type(self.x).__name__
        of_jax = hasattr(getattr(x, "layout", x), "major_to_minor")
        if of_jax and self.shape is None:
            what = f"a {kind} of JAX without a shape"
            raise RankError(what, "the shape of the array", "write layout_of(x, shape=(16, 256))")
        if of_jax:  # of its type the offsets of elements do not depend
            return lower(ArrayShape("f32", _extents(self.shape), layout_of_jax(x, "float32")))
        if not isinstance(x, (LinearLayout, RadixLayout, ArrayShape)):
            return None
        if self.shape is not None:
            raise RankError(f"shape={shown(self.shape)} of a {kind}", "none: it has its own", "leave shape= out")
        return lower(x) if isinstance(x, ArrayShape) else layout_of_linear(x)

    def layout_of_sizes(self) -> Layout | ComposedLayout:
        """The layout of a text or a function where sizes are names."""
        x, shape = self.x, self.shape
        if not (isinstance(x, str) or callable(x)):
            expected = "positive integers: only a text or a function has sizes that are names"
            raise LeafTypeError(f"shape={shown(shape)} of a {type(x).__name__}", expected, "write shape=(64, 64)")
        if shape is None:
            raise _without_shape(x)
        extents, known = sizes_of(shape if isinstance(shape, tuple) else (shape,), self.values)
        for n in extents:
            require_positive("shape", n)
        if not isinstance(x, str):
            indices = coordinates(tuple(f"i{k}" for k in range(len(extents))), extents, known)
            offset, bounds = offset_of_function(x, indices)
        else:
            integer = self.integers()
            code = read(x, self.language)
            names = coordinates_of(code, _names(self.coords), len(extents), known)
            indices = coordinates(names, extents, known)
            offset, bounds = offset_of_text(code, dict(zip(names, indices)), extents, known, integer)
        found = layout_of_offset(offset, indices, extents)
        return within(found, box_of(bounds, indices, extents)) if bounds else found

    def table(self) -> Table:
        """The offsets of a table, a text or a function."""
        extents = None if self.shape is None else _extents(self.shape)
        if isinstance(self.x, str):
            return self.table_of_text(extents)
        if not callable(self.x):
            return as_table(self.x, extents)
        if extents is None:
            raise _without_shape(self.x)
        return table_of_function(self.x, extents)

    def table_of_text(self, extents: tuple[int, ...] | None) -> Table:
        """The offset of every coordinate of an index expression."""
        integer = self.integers()
        if extents is not None and (count := math.prod(extents)) > MAX_OFFSETS:
            raise RangeError(f"{count:,} coordinates", f"at most {MAX_OFFSETS:,}", "give a smaller shape: a tile of it")
        code, given = read(self.x, self.language), _names(self.coords)
        said = {name for name, tree in code.steps if isinstance(tree, tuple) and str(tree[0]) == "extent"}
        count = len(said if extents is None else extents)
        names = coordinates_of(code, given, count, self.values) if said or extents is not None else ()
        if extents is None and not (said and said >= {*names}):
            raise _without_shape(self.x)
        return as_table(table_of(code, names, extents, self.values, integer))

    def integers(self) -> str:
        """The integers that a text computes in."""
        if self.language not in LANGUAGES:
            fix = "use one of these, as in language='c'"
            raise LeafTypeError(f"language={self.language!r}", f"one of {', '.join(LANGUAGES)}", fix)
        integer = self.integer or LANGUAGES[self.language].integer
        if integer not in ("int32", "int64"):
            raise LeafTypeError(f"integer={integer!r}", "int32 or int64", "use one of these, as in integer='int64'")
        return integer


def _of_isl(text: str) -> tuple[Any, tuple[int, ...] | None, tuple[str, ...] | None]:
    """A map of isl as a table where it was solved, else as an expression, the shape and the coordinates."""
    import numpy as np

    expression, names, shape, values = read_isl(text)
    return (np.reshape(values, shape), None, None) if values else (expression, shape, names)


def _names(coords: object) -> Sequence[str] | None:
    """The names of coordinates: one text of them, or several; of symbols of sympy theirs."""
    if coords is None:
        return None
    given = coords.split(",") if isinstance(coords, str) else coords
    names = [str(n).strip() if is_sympy(n) else n for n in given] if isinstance(given, (list, tuple)) else []
    if not all(isinstance(n, str) and n.strip() for n in names) or not isinstance(given, (list, tuple)):
        raise LeafTypeError(f"coords={shown(coords)}", "names, one for each extent", "write coords='row,col'")
    return [n.strip() for n in names]


def _without_shape(x: object) -> RankError:
    what = f"a {'text' if isinstance(x, str) else type(x).__name__} without a shape"
    return RankError(what, "the extents of its coordinates", "give them, as in shape=(64, 64)")


def _extents(shape: Any) -> tuple[int, ...]:
    """The extents of coordinates, as Python's integers."""
    extents = shape if isinstance(shape, tuple) else (shape,)
    if not extents or not all(is_int(n) and isinstance(n, int) and n > 0 for n in extents):
        raise LeafTypeError(
            f"shape={shown(shape)}", "positive integers, one for each coordinate", "write shape=(64, 64)"
        )
    return tuple(map(int, extents))
