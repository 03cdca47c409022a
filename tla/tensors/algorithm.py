"""Algorithms that do not know the layout: each is written once, against shapes, tiles and coordinates.

Row-major, column-major, fractal, padded and swizzled operands take the same path. Where an operand is a tensor, a numpy
array may stand for the tensor over it. numpy executes them: nothing loops over elements.

Source: CuTe include/cute/algorithm; how CATLASS uses TLA.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from ..algebra.tiles import padding
from ..core.composed import around, innermost
from ..core.digits import Modes
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ..core.int_tuple import _, modes_of, shown
from ..core.ints import IntTree, IntTupleLike, _0, leaf
from ..core.layout import Layout, require_origin
from ..core.leaf_arithmetic import ceil_div
from ..core.make_layout import MakeLayout
from ..core.questions import require_positive
from ..core.strides import LayoutLeft
from ..core.sums import added, matmul, reduced, sum_type, summands
from ..core.values import converted, held, holds_all, require_castable
from . import transfer
from .guard import whole
from .make_tensor import MakeTensor, as_tensor, padded
from .packed import memory_of
from .tensor import Tensor, as_element, require_box, require_data, require_writable, tensor_of
from .views import GetTile, TileView


def _elements(where: str, x: object) -> Tensor:
    """A tensor that has elements, or a numpy array as one."""
    t = as_tensor(where, x)
    require_data(where, t)
    require_box(where, t)
    return t


def _require_extents(where: str, t: Tensor, extents: tuple[int, ...], of: str) -> None:
    if transfer.counts_of(t) != extents:
        what = f"{where}: {shown(t.origin_shape)} valid elements of {t!r}, and {shown(extents)} of {of}"
        fix = "take a tile of the larger one: GetTile(t, start, extents)"
        as_many = math.prod(extents) == math.prod(transfer.counts_of(t))
        if as_many and of == "the target":  # CuTe's copy takes them by one index
            fix = f"where the order of their indices is meant, write composition(target, make_layout({shown(t.shape)}))"
        raise RankError(what, "equal extents", fix)


def copy(source: object, target: object, *, corner: bool = False) -> None:
    """Move every valid element of source to its coordinate in target. Padding stays as it is.

    source, target   tensors of one origin_shape, of any layouts; or numpy arrays. CATLASS's copies have
                     the target first
    corner           whether target may be larger: then its first elements in each mode are written, as by TileCopyTla
    Raises           RankError where the valid extents differ; LeafTypeError where target is read-only, or its elements
                     cannot hold source's (floats are rounded, integers must fit); RangeError for a float that would
                     become infinite; InjectivityError where two elements of target are one in its buffer.
                     Then nothing is written

    >>> import numpy as np
    >>> from tla import MakeTensor, copy, parse
    >>> t = MakeTensor[np.int32](parse("((2,2),(2,2)):((2,8),(1,4))", origin_shape=(3, 3)))
    >>> copy(np.arange(9, dtype=np.int32).reshape(3, 3), t)
    >>> print(t.data)
    [0 1 3 4 2 0 5 0 6 7 0 0 8 0 0 0]

    It is a strided numpy copy for each box of the two layouts' common digits, runs that both have moved as one element;
    by offsets where there are no common digits, those of a swizzle's runs. A source in the same memory is read before
    anything is written.
    Source: CuTe `copy`.
    """
    import numpy as np

    source, target = _elements("copy", source), _elements("copy", target)
    target = _corner(target, transfer.counts_of(source)) if corner else target
    _require_extents("copy", source, transfer.counts_of(target), "the target")
    require_castable(source.dtype, target.dtype)
    require_writable("copy", target)
    if np.may_share_memory(memory_of(source.data), memory_of(target.data)) or not holds_all(target.dtype, source.dtype):
        transfer.scattered(target, held("copy", transfer.gathered(source), target.dtype))
    else:
        transfer.transfer(target, source)


def _corner(target: Tensor, extents: tuple[int, ...]) -> Tensor:
    """The first elements of a tensor in each mode; itself where it has no more, or not as many."""
    have = transfer.counts_of(target)
    larger = len(have) == len(extents) and all(n >= m for n, m in zip(have, extents)) and have != extents
    return GetTile(target, (0,) * len(extents), extents) if larger and 0 not in extents else target


def fill(t: Tensor, value: object) -> None:
    """Write one value to every valid element. Padding stays as it is.

    >>> import numpy as np
    >>> from tla import MakeTensor, fill, parse
    >>> t = MakeTensor[np.int8](parse("(2,4):(4,1)", origin_shape=(2, 3)))
    >>> fill(t, 7)
    >>> print(t.data)
    [7 7 7 0 7 7 7 0]

    Raises what copy raises of a target, RangeError for an integer that does not fit. Source: CuTe `fill`.
    """
    t = _elements("fill", t)
    require_writable("fill", t)
    transfer.filled(t, as_element(value, t))


def fill_padding(t: object, value: object = 0) -> None:
    """Write one value to the padding: what is in the shape and not in origin_shape. Valid elements stay as they are.

    Of a tile that is the part of it past the valid end of the whole, as far as the padded shape of the whole goes.

    >>> import numpy as np
    >>> from tla import MakeTensor, fill_padding, parse
    >>> t = MakeTensor(np.arange(8), parse("(2,4):(4,1)", origin_shape=(1, 3)))
    >>> fill_padding(t, -1)
    >>> print(t.data)
    [ 0  1  2 -1 -1 -1 -1 -1]

    Raises what fill raises. Source: CATLASS clears the padding of its L1 tiles (`InitZeroInL1A`).
    """
    t = _elements("fill_padding", t)
    whole = padded(t)
    require_writable("fill_padding", whole)
    value = as_element(value, t)
    for box in padding(MakeLayout(tuple(whole.origin_shape), LayoutLeft, tuple(t.origin_shape))):
        at = box.coord, require_origin("fill_padding", box.layout)
        transfer.filled(GetTile(whole, *(at if isinstance(t.shape, tuple) else (x[0] for x in at))), value)


def reduce(source: object, target: object, modes: object, operation: object = None) -> None:
    """target = source reduced along some modes, which target does not have.

    modes        the modes to reduce: an integer, or a tuple of them; in that tuple, (i, j) is mode j of mode i, which
                 has to be valid as a whole
    operation    a numpy ufunc of two arguments; numpy.add by default
    Raises       RankError for modes that source does not have, and where the extents of the others differ;
                 what copy raises

    >>> import numpy as np
    >>> from tla import MakeTensor, parse, reduce
    >>> t = MakeTensor(np.arange(8), parse("(2,4):(1,2)"))
    >>> out = np.zeros(2, np.int64)
    >>> reduce(t, out, 1)
    >>> print(out)
    [12 16]

    It is computed for target's element type: integers exactly, floats of less than 32 bits in float32, others in their
    own type; RangeError where target does not hold a result.
    """
    import numpy as np

    source, target = _elements("reduce", source), _elements("reduce", target)
    source, axes, groups = _opened(source, modes if isinstance(modes, tuple) else (modes,))
    what = f"reduce of {source!r} along {shown(axes)}"
    if len({*axes}) < len(axes) or not all(0 <= i < len(source.coord) for i in axes):
        raise RankError(what, f"modes 0 to {len(source.coord) - 1}, each once", "count from 0")
    counts = transfer.counts_of(source)
    left = [[counts[i] for i in group if i not in axes] for group in groups]
    _require_extents("reduce", target, tuple(math.prod(ns) for ns in left if ns), "the modes that stay")
    require_castable(source.dtype, target.dtype)
    require_writable("reduce", target)
    operation = np.add if operation is None else operation
    if not isinstance(operation, np.ufunc) or operation.nin != 2:
        fix = "write numpy.add, numpy.maximum, ..."
        raise LeafTypeError(f"reduce by {operation!r}", "a numpy ufunc of two arguments", fix)
    values = reduced(what, operation, summands(what, transfer.gathered(source), target.dtype), axes)
    # what stays of a mode is one mode
    values = converted(what, values, target.dtype).reshape(transfer.counts_of(target), order="F")
    transfer.scattered(target, np.ascontiguousarray(values))


def _opened(source: Tensor, modes: tuple[Any, ...]) -> tuple[Tensor, tuple[int, ...], list[list[int]]]:
    """The tensor with the modes of paths (i, j) opened, the axes there of all paths, and those of each mode."""
    paths = [tuple(map(leaf, m)) if isinstance(m, tuple) else (leaf(m),) for m in modes]
    shape, n = modes_of(source.shape), len(source.coord)
    counts = [len(s) if isinstance(s, tuple) else 0 for s in shape]
    inside = (0 <= p[0] < n and (len(p) == 1 or (len(p) == 2 and 0 <= p[1] < counts[p[0]])) for p in paths)
    if not all(inside):
        expected = f"modes 0 to {n - 1}, each once, or (i, j) for mode j of mode i"
        fix = "count from 0, and put (i, j) in a tuple: ((0, 1),)"
        raise RankError(f"reduce of {source!r} along {shown(tuple(modes))}", expected, fix)
    deep = {p[0] for p in paths if len(p) == 2}
    axes, groups = 0, []
    for i in range(n):
        groups.append([*range(axes, axes + (counts[i] if i in deep else 1))])
        axes = groups[-1][-1] + 1
    opened = source[tuple((_,) * counts[i] if i in deep else _ for i in range(n))] if deep else source
    return opened, tuple(k for i, *j in paths for k in ([groups[i][j[0]]] if j else groups[i])), groups


def gemm(
    a: object, b: object, c: object, tile: tuple[int, int, int] = (256, 256, 256), accumulate: bool = False
) -> None:
    """c = a @ b, tile by tile, tails included; c += a @ b if `accumulate`. It is a matrix product as numpy writes it.

    CuTe's gemm(A, B, C) is another: B is (n,k) there, and C is added to: `gemm(a, transpose(b), c, accumulate=True)`.

    a, b, c   tensors of (m,k), (k,n) and (m,n) valid elements, of any layouts
    tile      extents of a block of m, n and k
    Raises    RankError where the extents do not fit each other; what copy raises of the target c. Blocks before one
              whose sums pass c's element type have been written then

    >>> import numpy as np
    >>> from tla import MakeTensor, gemm, parse
    >>> a = MakeTensor(np.arange(6), parse("(2,3):(1,2)"))
    >>> c = np.zeros((2, 2), np.int64)
    >>> gemm(a, np.arange(6).reshape(3, 2), c, tile=(2, 1, 2))
    >>> print(c)
    [[20 26]
     [26 35]]

    Each block is summed for c's element type: integers exactly, floats of less than 32 bits in float32, others in their
    own type; RangeError where c does not hold a sum. An operand in c's memory is read before anything is written.

    Source: CuTe `gemm`, which always accumulates; CATLASS `BlockMmadTla`.
    """
    import numpy as np

    a, b, c = (_elements("gemm", x) for x in (a, b, c))
    m, n, k = _gemm_extents(a, b, c)
    for x in (a, b):
        require_castable(x.dtype, c.dtype)
    require_writable("gemm", c)
    if not isinstance(tile, tuple) or len(tile) != 3:
        raise RankError(f"gemm in tiles of {shown(tile)}", "three extents", "give m, n and k")
    for extent in tile:
        require_positive("gemm: a tile", leaf(extent))
    a, b = (
        MakeTensor(transfer.gathered(x)) if np.may_share_memory(memory_of(x.data), memory_of(c.data)) else x
        for x in (a, b)
    )
    tm, tn, tk = tile
    for i, j in itertools.product(range(ceil_div(m, tm)), range(ceil_div(n, tn))):
        block = TileView(c, (i, j), (tm, tn))
        total = _summands(block, c) if accumulate else np.zeros(transfer.counts_of(block), sum_type(c.dtype))
        for p in range(ceil_div(k, tk)):
            left, right = TileView(a, (i, p), (tm, tk)), TileView(b, (p, j), (tk, tn))
            total = added("gemm", total, matmul("gemm", _summands(left, c), _summands(right, c)))
        transfer.scattered(block, held("gemm", total, c.dtype))


def _summands(t: Tensor, c: Tensor) -> Any:
    return summands("gemm", transfer.gathered(t), c.dtype)


def _gemm_extents(a: Tensor, b: Tensor, c: Tensor) -> tuple[int, int, int]:
    left, right, total = (transfer.counts_of(x) for x in (a, b, c))
    are_matrices = len(left) == len(right) == len(total) == 2
    if are_matrices and right[0] != left[1] == right[1]:
        fix = "write gemm(a, transpose(b), c, accumulate=True) for CuTe's gemm(A, B, C)"
        raise RankError(f"gemm of {left} by {right}, B as (n,k)", "B as (k,n), as in a @ b", fix)
    if not are_matrices or left[1] != right[0] or total != (left[0], right[1]):
        what = f"gemm of {left} by {right} into {total}"
        raise RankError(what, "(m,k) by (k,n) into (m,n)", "use transpose(t), which swaps modes")
    return left[0], right[1], left[1]


def im2col(
    t: Tensor,
    kernel: object,
    stride: IntTupleLike = 1,
    dilation: object = 1,
    spatial: object = (1, 2),
    batch: object = (0,),
    border: object = 0,
) -> Tensor:
    """The matrix whose product with a filter is a convolution: a view, with each element once a window that has it.

    t          a feature map; its spatial modes each have one stride where they are valid
    kernel     the window's extent in each spatial mode; stride, dilation: its steps, one integer for all modes
               or one for each
    spatial    which modes the window moves along
    border     how many zeros there are around the map in each spatial mode, one integer for all or (before, after) for
               each. With one, the map is copied to a buffer of its own; without, the result is a view
    batch      which modes stand in the rows, besides the window's places; all others are channels
    Returns    (rows, columns): rows (batch, places), columns (window, channels), each with its last mode fastest, as
               numpy's reshape has them. A filter is (columns, channels out)
    Raises     DivisibilityError where a spatial mode has several strides, or the valid part of a mode is not made of
               whole blocks; RangeError where the window is larger than the map. To write to it is refused

    >>> import numpy as np
    >>> from tla import MakeTensor, im2col, parse
    >>> x = MakeTensor(np.arange(12), parse("(1,3,4,1):(12,4,1,1)"))
    >>> print(im2col(x, (2, 2)).layout)
    ((3,2),(2,2)):((1,4),(1,4))
    >>> print(np.asarray(im2col(x, (2, 2)))[0])
    [0 1 4 5]

    >>> print(np.asarray(im2col(x, (2, 2), border=((1, 0), (0, 0))))[0])
    [0 0 0 1]

    Source: the convolutions of CATLASS; Caffe's im2col.
    """
    t = _elements("im2col", t)
    spatial, batch = modes_of(spatial), modes_of(batch)
    windows = [_each(len(spatial), x) for x in (kernel, stride, dilation)]
    if sorted({*spatial, *batch}) != sorted([*spatial, *batch]) or not {*spatial, *batch} <= {*range(len(t.coord))}:
        what = f"im2col of {t!r} along {spatial} and {batch}"
        raise RankError(what, f"modes 0 to {len(t.coord) - 1}, each once", "count from 0")
    t = _bordered(t, spatial, border)
    begin, modes = _one_cell("im2col", t, spatial)
    places: Modes = []
    window: Modes = []
    for i, count, step, gap in zip(spatial, *windows):
        ((n, d),) = modes[i] or ((1, 0),)
        if n <= gap * (count - 1):
            what = f"im2col of {t!r}: a window of {count} in the {n} of mode {i}"
            raise RangeError(what, "a smaller window", "give the map a border: im2col(..., border=1)")
        places.append(((n - gap * (count - 1) - 1) // step + 1, d * step))
        window.append((count, d * gap))
    rows = [*(axis for i in batch for axis in modes[i]), *places]
    columns = [*window, *(axis for i, axes in enumerate(modes) if i not in {*spatial, *batch} for axis in axes)]
    shape, stride = (tuple(tuple(axis[k] for axis in reversed(axes)) for axes in (rows, columns)) for k in (0, 1))
    layout, offset = around(t.layout, Layout(shape, stride), begin)
    return tensor_of(None, t.data, t.offset + offset, layout, (_0, _0), whole(layout.shape), t.memory)


def _bordered(t: Tensor, spatial: tuple[int, ...], border: IntTree) -> Tensor:
    """A feature map with zeros around it, in a buffer of its own; itself where there are none."""
    import numpy as np

    pairs = border if isinstance(border, tuple) else ((border, border),) * len(spatial)
    what = f"im2col: a border of {shown(border)}"
    if len(pairs) != len(spatial) or any(not isinstance(p, tuple) or len(p) != 2 for p in pairs):
        raise RankError(what, f"(before, after) for {len(spatial)} modes", "give one integer for all")
    widths = [tuple(int(leaf(n)) for n in p) for p in pairs]
    if min((n for p in widths for n in p), default=0) < 0:
        raise RangeError(what, "0 or more zeros", "take a tile for less than the map")
    if not any(n for p in widths for n in p):
        return t
    by_mode = dict(zip(spatial, widths))
    whole = np.pad(np.asarray(t), [by_mode.get(i, (0, 0)) for i in range(len(t.coord))])
    return MakeTensor(whole, position=t.position)


def _each(n: int, x: IntTree) -> tuple[int, ...]:
    """One positive integer for each of n modes."""
    values = tuple(x) if isinstance(x, tuple) else (x,) * n
    if len(values) != n:
        what = f"im2col: {shown(values)} for {n} spatial modes"
        raise RankError(what, f"{n} integers, or one for all", "give one for each mode")
    for value in values:
        require_positive("im2col", leaf(value))
    return values


def _one_cell(where: str, t: Tensor, single: tuple[int, ...]) -> tuple[int, tuple[tuple[tuple[int, int], ...], ...]]:
    """The start of the valid part of t in its innermost layout, and the axes of each mode, one in those of `single`."""
    inner = tensor_of(None, t.data, _0, innermost(t.layout), t.coord, t._guard)
    found = transfer.cells_of(inner)
    if found is None or len(found) != 1 or any(len(found[0][1][i]) > 1 for i in single):
        expected = "spatial modes of one stride, and others of whole blocks"
        raise DivisibilityError(f"{where} of {t!r}", expected, "copy it to such a layout first")
    return found[0]
