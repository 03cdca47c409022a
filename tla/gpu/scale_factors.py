"""Scale factors of block-scaled matrices (MX, NVFP4): where each element's scale lies, from and to a plain matrix of scales.

SM100 keeps 128 rows by 4 scales in 512 contiguous bytes: row r and scale s at r % 32 * 16 + r // 32 * 4 + s. A layout over the
elements (M, K) has stride 0 along the elements that share a scale, so that it is asked with an element's own coordinate.

Source: CUTLASS include/cutlass/detail/sm100_blockscaled_layout.hpp; the PTX manual, "tcgen05.mma, scale factors".
"""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from ..algebra.divide import tile_to_shape
from ..core.arithmetic import round_up
from ..core.errors import DivisibilityError, LeafTypeError, RangeError
from ..core.int_tuple import product_each, rank, shown
from ..core.ints import at_most, is_int, leaf, static
from ..core.layout import Layout
from ..core.strides import Shape, Stride

#: Rows and scales of an atom, and how many elements share a scale: 16 of NVFP4, 32 of MX, 64 of a sparse MX operand.
ROWS, SCALES, VECTORS = 128, 4, (16, 32, 64)


def scale_factor_atom(vector: int) -> Layout:
    """128 rows by 4 scales of `vector` elements each: (row, k) -> byte.

    >>> from tla.gpu import scale_factor_atom
    >>> print(scale_factor_atom(16))
    ((_32,_4),(_16,_4)):((_16,_4),(_0,_1))

    Source: CUTLASS `Sm1xxBlockScaledConfig::SfKMajorAtom`.
    """
    if not is_int(vector) or vector not in VECTORS:
        raise LeafTypeError(f"scales of {shown(vector)} elements", f"one of {', '.join(map(str, VECTORS))}", "16 of NVFP4, 32 of MX")
    n = static
    return Layout(((n(32), n(4)), (n(vector), n(SCALES))), ((n(16), n(4)), (n(0), n(1))))


def scale_factor_layout(rows: Any, k: Any, vector: int) -> Layout:
    """The scale of each element of a (rows, k) operand: (row, k) -> byte in the buffer of scales.

    rows, k   extents of the matrix [elements], M or N and K; static, dynamic or symbolic; whole atoms are stored
    vector    how many elements along K share a scale
    Returns   Layout of whole atoms, origin_shape (rows, k); `cosize` is the bytes of the buffer

    >>> from tla import cosize
    >>> from tla.gpu import scale_factor_layout
    >>> a = scale_factor_layout(200, 256, 32)
    >>> print(a, a.origin_shape, a(130, 70), cosize(a))
    (((_32,_4),2),((_32,_4),2)):(((_16,_4),1024),((_0,_1),_512)) (200,256) 1058 2048

    Raises RangeError for negative extents. Source: CUTLASS `tile_atom_to_shape_SFA`.
    """
    atom = scale_factor_atom(vector)
    given = (leaf(rows), leaf(k))
    if any(at_most(n, -1) for n in given):
        raise RangeError(f"scales of a matrix of {shown(given)}", "extents of 0 or more", "give its extents in elements")
    whole = tuple(round_up(n, e) for n, e in zip(given, product_each(atom.shape)))
    tiled = tile_to_shape(atom, whole, (static(2), static(1)))
    return Layout(tiled.shape, tiled.stride, given)


def plain_scales(rows: Any, k: Any, vector: int) -> Layout:
    """The scales of a (rows, k) operand as a plain row-major matrix of rows by ceil(k / vector): (row, k) -> byte.

    Its modes are those of `scale_factor_layout`, padding included, so that `copy` goes from one to the other.

    >>> from tla.gpu import plain_scales
    >>> print(plain_scales(200, 256, 32))
    (((_32,_4),2),((_32,_4),2)):(((8,256),1024),((_0,_1),_4))

    Source: the definition of MX: one scale for each block of a row.
    """
    blocked = scale_factor_layout(rows, k, vector)
    steps = blocked.shape[1][1] * SCALES if is_int(blocked.shape[1][1]) else static(SCALES)
    strides = Stride(Stride(Stride(steps, steps * 32), steps * ROWS), Stride(Stride(static(0), static(1)), static(SCALES)))
    return Layout(blocked.shape, strides, blocked.origin_shape)


def require_scale_strides(layout: Layout, vector: int) -> None:
    """Require that a layout of scales has the atoms of SM100; DivisibilityError names the first extent or stride that differs.

    >>> from tla import parse
    >>> from tla.gpu import require_scale_strides, scale_factor_layout
    >>> require_scale_strides(scale_factor_layout(256, 256, 32), 32)
    >>> require_scale_strides(parse("((_32,_4),(_32,_4)):((_4,_128),(_0,_1))"), 32)
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: scales at ((_32,_4),(_32,_4)):((_4,_128),(_0,_1)): the 32 rows are _32:_4
      expected  _32:_16
      fix       write scale_factor_layout(rows, k, 32)

    Source: the PTX manual, "tcgen05.mma, scale factors".
    """
    wanted = scale_factor_atom(vector)
    if not isinstance(layout, Layout) or rank(layout) < 2:
        raise LeafTypeError(f"scales at {shown(layout)}", "a layout (rows, k)", "write scale_factor_layout(rows, k, vector)")
    inner = Layout(Shape(*(_first(m) for m in layout.shape[:2])), Stride(*(_first(m) for m in layout.stride[:2])))
    names = ("32 rows", "4 groups of rows", f"{vector} elements", "4 scales")
    mine, theirs = ([*zip(_pairs(x.shape), _pairs(x.stride))] for x in (inner, wanted))
    for name, given, expected in zip_longest(names, mine[:4], theirs, fillvalue=(0, 0)):
        if given != expected:
            what = f"scales at {layout}: the {name} are {given[0]}:{given[1]}"
            raise DivisibilityError(what, f"{expected[0]}:{expected[1]}", f"write scale_factor_layout(rows, k, {vector})")


def _first(mode: Any) -> Any:
    """The atom's part of a mode of whole atoms."""
    return mode[0] if isinstance(mode, tuple) and mode and isinstance(mode[0], tuple) else mode


def _pairs(tree: Any) -> list[Any]:
    return [n for m in tree for n in (m if isinstance(m, tuple) else (m,))]
