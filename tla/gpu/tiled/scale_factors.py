"""Scale factors of block-scaled matrices (MX, NVFP4): where each lies, from and to a plain matrix of scales.

Scales of a matrix are stored in blocks, one byte each, the blocks along K first:

    sm100   128 rows by 4 scales: row r and scale s at r % 32 * 16 + r // 32 * 4 + s
    cdna4   32 rows by 8 scales: row r and scale s at s % 4 * 64 + r % 16 * 4 + s // 4 * 2 + r // 16

A layout over the elements (M, K) has stride 0 along the elements that share a scale, so that it is asked with an
element's own coordinate. With 1 element to a scale it is over the scales themselves, and so can be copied to. Ascend's
(zZ, nN) are `tla.MakeMxScaleLayout`'s.

Source: CUTLASS include/cutlass/detail/sm100_blockscaled_layout.hpp; the PTX manual, "tcgen05.mma, scale factors"; of
CDNA 4 the layout that Triton's kernels (CDNA4MXScaleLayout) and AMD's aiter (e8m0_shuffle) give scales before
they are loaded.
"""

from __future__ import annotations

from itertools import zip_longest
from types import MappingProxyType
from typing import Any, NamedTuple

from ...algebra.divide import tile_to_shape
from ...core.arithmetic import round_up
from ...core.each_leaf import each_leaf
from ...core.errors import DivisibilityError, LeafTypeError, RangeError
from ...core.int_tuple import leaves, product_each, rank, shown
from ...core.ints import IntTree, IntTupleLike, is_int, leaf, static
from ...core.layout import Layout
from ...core.questions import at_most
from ...core.strides import Shape, Stride, compact_col_major
from ..instructions.atom import tv
from ..instructions.elements import require_number, require_one_of


class _Block(NamedTuple):
    """A block of scales: (rows, scales), what each of its modes is, and how many elements may share a scale."""

    rows: tuple[Any, Any]
    scales: tuple[Any, Any]
    names: tuple[str, ...]
    vectors: tuple[int, ...]


#: What shares a scale: 16 elements of NVFP4, 32 of MX, 64 of a sparse MX operand; 1 where k counts scales.
_BLOCKS = MappingProxyType(
    {
        "sm100": _Block(
            ((32, 4), (16, 4)), (4, 1), ("32 rows", "4 groups of rows", "{} elements", "4 scales"), (1, 16, 32, 64)
        ),
        "cdna4": _Block(
            ((16, 2), (4, 1)),
            ((4, 2), (64, 2)),
            ("16 rows", "2 groups of rows", "{} elements", "4 scales", "2 groups of scales"),
            (1, 32),
        ),
    }
)


def _block(vector: object, arch: str) -> _Block:
    require_one_of("scales of", arch, _BLOCKS, "use one of these; for Ascend write tla.MakeMxScaleLayout")
    block = _BLOCKS[arch]
    if not is_int(vector) or isinstance(vector, bool) or vector not in block.vectors:
        what, expected = f"scales of {shown(vector)} elements on {arch}", ", ".join(map(str, block.vectors))
        raise LeafTypeError(what, f"one of {expected}", "use 16 of NVFP4, 32 of MX, 1 to count scales")
    return block


def scale_factor_atom(vector: int, arch: str = "sm100") -> Layout:
    """A block of scales of `vector` elements each: (row, k) -> byte.

    arch   "sm100" or "cdna4"

    >>> from tla.gpu import scale_factor_atom
    >>> print(scale_factor_atom(16), scale_factor_atom(32, "cdna4"))
    ((_32,_4),(_16,_4)):((_16,_4),(_0,_1)) ((_16,_2),(_32,(_4,_2))):((_4,_1),(_0,(_64,_2)))

    Raises LeafTypeError for other vectors and machines. Source: CUTLASS `Sm1xxBlockScaledConfig::SfKMajorAtom`.
    """
    block = _block(vector, arch)
    (rows, row_steps), (scales, scale_steps) = block.rows, block.scales
    return tv((rows, (int(vector), scales)), (row_steps, (0, scale_steps)))


def scale_factor_layout(rows: object, k: object, vector: int, arch: str = "sm100") -> Layout:
    """The scale of each element of a (rows, k) operand: (row, k) -> byte in the buffer of scales.

    rows, k   extents of the matrix [elements], M or N and K; static, dynamic or symbolic; whole blocks are stored
    vector    how many elements along K share a scale; 1: k counts scales
    arch      "sm100" or "cdna4"
    Returns   Layout of whole blocks, origin_shape (rows, k); `cosize` is the bytes of the buffer

    >>> from tla import cosize
    >>> from tla.gpu import scale_factor_layout
    >>> a = scale_factor_layout(200, 256, 32)
    >>> print(a, a.origin_shape, a(130, 70), cosize(a))
    (((_32,_4),2),((_32,_4),2)):(((_16,_4),1024),((_0,_1),_512)) (200,256) 1058 2048
    >>> cosize(scale_factor_layout(200, 256, 32, "cdna4"))              # 7 by 1 blocks of 256 bytes
    1792

    Raises RangeError for extents below 1. Source: CUTLASS `tile_atom_to_shape_SFA`.
    """
    atom = scale_factor_atom(vector, arch)
    given = (leaf(rows), leaf(k))
    if any(at_most(n, 0) for n in given):
        raise RangeError(f"scales of a matrix of {shown(given)}", "extents of 1 or more", "leave out an empty matrix")
    whole = tuple(round_up(n, e) for n, e in zip(given, product_each(atom.shape)))
    tiled = tile_to_shape(atom, whole, (static(2), static(1)))
    return Layout(tiled.shape, tiled.stride, given)


def plain_scales(rows: object, k: object, vector: int, arch: str = "sm100") -> Layout:
    """The scales of a (rows, k) operand as a row-major matrix of rows by scales, of whole blocks: (row, k) -> byte.

    Its modes are those of `scale_factor_layout`, padding included. With vector 1, k counting scales, `copy` goes from
    one to the other.

    >>> import numpy
    >>> from tla import MakeTensor, copy, cosize
    >>> from tla.gpu import plain_scales, scale_factor_layout
    >>> print(plain_scales(200, 256, 32))
    (((_32,_4),2),((_32,_4),2)):(((8,256),1024),((_0,_1),_4))
    >>> plain, blocked = plain_scales(200, 8, 1), scale_factor_layout(200, 8, 1)
    >>> scales, packed = (numpy.zeros(cosize(x), numpy.uint8) for x in (plain, blocked))
    >>> scales[130 * 8 + 2] = 77
    >>> copy(MakeTensor(scales, plain), MakeTensor(packed, blocked))
    >>> print(packed[scale_factor_layout(200, 256, 32)(130, 70)])
    77

    Source: the definition of MX: one scale for each block of a row.
    """
    blocked = scale_factor_layout(rows, k, vector, arch)
    (row_block, row_blocks), (k_block, k_blocks) = blocked.shape
    scales = product_each((k_block[1],))[0]
    per_row = k_blocks * scales if is_int(k_blocks) else scales
    row_steps = each_leaf("plain_scales", compact_col_major(Shape(row_block, row_blocks)), lambda d: d * per_row)
    k_steps = Stride(Stride(static(0), compact_col_major(k_block[1])), scales)
    return Layout(blocked.shape, Stride(row_steps, k_steps), blocked.origin_shape)


def require_scale_strides(layout: Layout, vector: int, arch: str = "sm100") -> None:
    """Require the blocks of a machine of a layout of scales; DivisibilityError names the first mode that differs.

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
    wanted, vector = scale_factor_atom(vector, arch), require_number("the elements of a scale", vector)
    fix = f"write scale_factor_layout(rows, k, {vector}{'' if arch == 'sm100' else f', {arch!r}'})"
    if not isinstance(layout, Layout) or rank(layout) < 2:
        raise LeafTypeError(f"scales at {shown(layout)}", "a layout (rows, k)", fix)
    inner = Layout(Shape(*(_first(m) for m in layout.shape[:2])), Stride(*(_first(m) for m in layout.stride[:2])))
    mine, theirs = ([*zip(leaves(x.shape), leaves(x.stride))] for x in (inner, wanted))
    for name, given, expected in zip_longest(_BLOCKS[arch].names, mine[: len(theirs)], theirs, fillvalue=(0, 0)):
        if given != expected:
            what = f"scales at {layout}: the {str(name).format(vector)} are {given[0]}:{given[1]}"
            raise DivisibilityError(what, f"{expected[0]}:{expected[1]}", fix)


def _first(mode: IntTupleLike) -> IntTree:
    """The block's part of a mode of whole blocks."""
    return mode[0] if isinstance(mode, tuple) and mode and isinstance(mode[0], tuple) else mode
