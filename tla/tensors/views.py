"""Views of tensors: tiles, partitions, and the same bytes as other elements. None of them moves an element.

Source: TLA include/tla/tensor.hpp; CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..algebra.by_mode import TilerLike
from ..algebra.codomain import get_flat_coord
from ..algebra.divide import zipped_divide
from ..algebra.modes import dice, select
from ..algebra.ordered import MakeLayoutLike
from ..algebra.recast import recast_layout
from ..algebra.tiles import start_of, tiled
from ..core.composed import around, innermost
from ..core.conversions import crd2idx, idx2crd
from ..core.coord import CoordLike
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ..core.int_tuple import Underscore, _, as_int_tuple, leaves, modes_of, opened, product_each, shown, size
from ..core.ints import IntLike, IntTree, IntTupleLike, _0, _1, is_int, known, leaf
from ..core.kinds import AnyLayout
from ..core.layout import Layout, as_layout, join, require_origin, with_valid
from ..core.leaf_arithmetic import add, ceil_div, larger, mul, plus, smaller
from ..core.make_layout import MakeLayout
from ..core.profiles import congruent
from ..core.questions import at_most, divides, equal
from ..core.strides import Shape, Stride
from ..core.valid import ALL
from .buffers import as_dtype
from .guard import Guard
from .make_tensor import MakeTensor, as_tensor
from .packed import bits_of, require_whole_bytes, storage_of
from .tensor import Tensor, from_zero, gives_places, require_box, require_data, tensor_of


def GetTile(t: Tensor, coord: IntTree, tile: IntTupleLike) -> Tensor:
    """The tile of a tensor that starts at `coord`: the same buffer, the start moved on, origin_shape cropped.

    coord     where it starts in t, one integer per top-level mode, 0 or more [elements]; or in blocks, nested
              like the shape
    tile      its extents, one integer per top-level mode, 0 or more [elements]; past the end nothing is valid
    Raises    what GetTileLayout raises

    >>> import numpy as np
    >>> from tla import GetTile, MakeTensor, parse
    >>> t = GetTile(MakeTensor(np.arange(15), parse("(3,5):(5,1)")), (2, 3), (2, 4))
    >>> print(t.coord, t.origin_shape, np.asarray(t))
    (2,3) (1,2) [[13 14]]

    Source: TLA `GetTile`.
    """
    t = as_tensor("GetTile", t)
    inner = innermost(t.layout)
    start = start_of("GetTile", inner, coord)
    require_box("GetTile", t)
    if gives_places(t):  # it has no end
        layout, _none = around(t.layout, tiled("GetTile", with_valid(inner, ALL), tile, start))
        extents = modes_of(as_int_tuple(tile))
        return tensor_of(t, None, t.offset, layout, map(add, t.coord, start), Guard(extents, extents))
    cut = tiled("GetTile", inner, tile, start)
    room = (smaller(n, larger(r - c, _0)) for n, r, c in zip(modes_of(as_int_tuple(tile)), t._guard.room, start))
    guard = Guard(require_origin("GetTile", cut), tuple(room))
    return tensor_of(t, t.data, t.offset, around(t.layout, cut)[0], map(add, t.coord, start), guard)


def TileView(t: Tensor, tile_coord: object, tile: IntTupleLike) -> Tensor:
    """The tile at `tile_coord`, counted in tiles: GetTile at tile_coord * tile.

    >>> import numpy as np
    >>> from tla import MakeTensor, TileView, parse
    >>> print(np.asarray(TileView(MakeTensor(np.arange(15), parse("(3,5):(5,1)")), (1, 1), (2, 3))))
    [[13 14]]

    Raises what GetTile raises. Source: TLA `TileView`.
    """
    counts, tile = as_int_tuple(tile_coord), as_int_tuple(tile)
    if not congruent(counts, tile):
        what = f"TileView at {shown(counts)} of tiles {shown(tile)}"
        raise RankError(what, "one integer each per top-level mode", "give both the rank of the tensor")
    at = tuple(map(mul, counts, tile)) if isinstance(tile, tuple) else mul(counts, tile)
    return GetTile(t, at, tile)


def domain_offset(coord: CoordLike, x: object) -> Any:
    """The tensor from a coordinate of a tensor on: its element c is x[coord + c]. Of a layout it, and the offset there.

    Its shape stays; what is valid ends where x ends.

    >>> import numpy as np
    >>> from tla import domain_offset, make_tensor, parse
    >>> t = domain_offset((1, 2), make_tensor(np.arange(15), (3, 5), (5, 1)))
    >>> print(t[0, 0], t.origin_shape, domain_offset((1, 2), parse("(3,5):(5,1)")))
    7 (2,3) (parse('(3,5):(5,1)'), 7)

    Raises what GetTile raises. Source: CuTe `domain_offset`.
    """
    if isinstance(x, AnyLayout):
        return x, x(coord)
    t = as_tensor("domain_offset", x)
    extents = product_each(t.shape)
    return GetTile(t, coord, extents if isinstance(t.shape, tuple) else extents[0])


class _MakeTensorLike:
    """`MakeTensorLike[tag](buffer, like)`: a tensor over another buffer, laid out by a tag, for what is
    valid of `like`.

    buffer     as MakeTensor takes it
    like       the tensor whose origin_shape gives the sizes; the new one starts at 0
    position   where the buffer lies: any text
    layout     instead of the tag's own layout: one with room for these sizes, such as that of the largest tile
    Returns    a tensor of like's origin_shape. Without brackets, `MakeTensorLike(like)` is one over a new buffer of
               zeros, compact in the order of like's strides

    `MakeTensorLike[tag, element]` names the element type, where there is no buffer that has one. Raises what MakeLayout
    and MakeTensor raise.

    >>> import numpy as np
    >>> from tla import GetTile, MakeTensor, MakeTensorLike
    >>> from tla.ascend import zN
    >>> tile = GetTile(MakeTensor(np.zeros((100, 60), np.float16)), (96, 32), (32, 32))
    >>> t = MakeTensorLike[zN](np.zeros(1024, np.float16), tile, position="L1")
    >>> print(t, t.origin_shape)
    Tensor(float16[1024], ((_16,1),(_16,2)):((_16,_256),(_1,256)), position='L1') (4,28)

    Source: TLA `MakeTensorLike<Tag, E>`; CuTe `make_tensor_like`.
    """

    __name__ = "MakeTensorLike"

    def __getitem__(self, types: object) -> Any:
        tag, *element = types if isinstance(types, tuple) else (types,)

        def make(buffer: Any, like: Tensor, position: Any = None, layout: Any = None) -> Tensor:
            like = as_tensor("MakeTensorLike", like)
            require_box("MakeTensorLike", like)
            if layout is not None:
                inner = innermost(layout)
                layout, _none = around(layout, Layout(inner.shape, inner.stride, like.origin_shape))
            else:
                layout = MakeLayout[element[0] if element else _bits(buffer, like), tag](*like.origin_shape)
            return MakeTensor(buffer, layout, position=position)

        return make

    def __call__(self, like: Tensor) -> Tensor:
        like = as_tensor("MakeTensorLike", like)
        require_data("MakeTensorLike", like)
        require_box("MakeTensorLike", like)
        layout = MakeLayoutLike(like.layout)
        new: Tensor = MakeTensor[like.dtype](Layout(layout.shape, layout.stride, like.origin_shape))
        return new

    def __reduce__(self) -> str:
        return self.__name__


MakeTensorLike = _MakeTensorLike()


def _bits(buffer: object, like: Tensor) -> int:
    """The width of the elements of a buffer, or else of a tensor."""
    data = like.data if buffer is None else storage_of(buffer)
    if data is None:
        what = f"MakeTensorLike of {like!r} without an element type"
        raise LeafTypeError(what, "one in brackets", "write MakeTensorLike[zN, half](...)")
    return bits_of(data)


def transpose(t: Tensor, order: Any = None) -> Tensor:
    """The tensor with its modes in another order, by default reversed; the same buffer.

    >>> import numpy as np
    >>> from tla import MakeTensor, parse, transpose
    >>> print(np.asarray(transpose(MakeTensor(np.arange(6), parse("(2,3):(3,1)")))).tolist())
    [[0, 3], [1, 4], [2, 5]]

    order    which mode comes first, second, ...: a permutation. Raises RankError for anything else.
    Source: CuTe `select`.
    """
    t = as_tensor("transpose", t)
    order = tuple(reversed(range(len(t.coord)))) if order is None else tuple(leaf(i) for i in order)
    if sorted(order) != [*range(len(t.coord))]:
        what = f"transpose of {t!r} to {shown(order)}"
        raise RankError(what, f"0 to {len(t.coord) - 1} in some order", "name each mode once")
    if len(order) < 2:
        return t
    if t._guard.place is not None:
        return select[order](t)  # type: ignore[no-any-return]
    coord, valid, room = (tuple(part[i] for i in order) for part in (t.coord, *t._guard[:2]))
    return tensor_of(t, t.data, t.offset, select[order](t.layout), coord, Guard(valid, room))


# ------------------------------------------------------------------------------------------------- partitions


def local_tile(t: Tensor, tiler: TilerLike, coord: CoordLike, proj: object = None) -> Tensor:
    """The tile at `coord`, counted in tiles, of a tensor cut by `tiler`: what one block works on.

    tiler    one for each mode from the first on: an integer, a layout into the mode, or `_` for all of it
    coord    which tile, one integer per mode, or a tuple for a mode of modes; `_` keeps a mode that counts tiles,
             behind the tile's own; or one integer, which counts tiles first mode fastest
    proj     a tuple of _ and anything else: the entries of tiler and coord under `_` are left out
    Returns  the tile's modes, then what is open. origin_shape is what is valid, nothing for a tile past the end; None
             where that is no box: `_`, or a layout as a tiler, over a tail. Then elements are guarded one by
             one, see copy_if
    Raises   what logical_divide raises

    >>> import numpy as np
    >>> from tla import MakeTensor, local_tile, parse, _
    >>> t = MakeTensor(np.arange(40), parse("(5,8):(8,1)"))
    >>> print(np.asarray(local_tile(t, (2, 4), (2, 1))), local_tile(t, (2, 4), (0, _)).layout)
    [[36 37 38 39]] (2,4,2):(8,1,4)
    >>> print(local_tile(t, (2, 3, 4), (1, 0, 1), proj=(1, _, 1)).origin_shape)
    (2,4)

    The start is in the offset, as a pointer is moved on in CuTe. Source: CuTe `local_tile`.
    """
    return _partition("local_tile", t, _projected(proj, tiler), _projected(proj, coord), inner=True)


def local_partition(t: Tensor, threads: Any, index: Any, proj: Any = None) -> Tensor:
    """The part of thread `index` of a tensor cut by the shape of a thread layout: in each mode every n-th element.

    threads  a compact layout of threads: coordinate to index
    index    which thread, 0 or more and less than size(threads)
    proj     a tuple of _ and anything else: the modes of threads under `_` are left out
    Returns  a tensor of t's rank. origin_shape is what is valid

    >>> import numpy as np
    >>> from tla import MakeTensor, local_partition, parse
    >>> t = MakeTensor(np.arange(15), parse("(3,5):(5,1)"))
    >>> print(np.asarray(local_partition(t, parse("(2,2):(1,2)"), 3)))
    [[6 8]]

    Raises RangeError for an index that no thread has. Source: CuTe `local_partition`.
    """
    threads = as_layout("local_partition", threads)
    if at_most(leaf(index), -1) or at_most(size(threads), index):
        what = f"local_partition: thread {index} of {shown(threads)}"
        raise RangeError(what, f"0 <= index < {size(threads)}", "number threads from 0")
    threads = threads if proj is None else dice(proj, threads)
    tiler, coord = tuple(product_each(threads.shape)), get_flat_coord(threads, index)
    return _partition("local_partition", t, tiler, coord, inner=False)


def inner_partition(t: Tensor, tiler: object, coord: CoordLike) -> Tensor:
    """The tile at `coord` of a tensor cut by `tiler`: local_tile without a proj, under its other name.

    >>> import numpy as np
    >>> from tla import MakeTensor, inner_partition
    >>> print(np.asarray(inner_partition(MakeTensor(np.arange(32).reshape(4, 8)), (2, 4), (1, 1))))
    [[20 21 22 23]
     [28 29 30 31]]

    Raises what local_tile raises. Source: CuTe `inner_partition`.
    """
    return _partition("inner_partition", t, tiler, coord, inner=True)


def outer_partition(t: Tensor, tiler: object, coord: CoordLike) -> Tensor:
    """The elements at `coord` of every tile of a tensor cut by `tiler`: what one thread works on; see local_partition.

    tiler    as local_tile takes it
    coord    the place in a tile, one integer per mode, or one that counts places first mode fastest

    >>> import numpy as np
    >>> from tla import MakeTensor, outer_partition
    >>> print(np.asarray(outer_partition(MakeTensor(np.arange(32).reshape(4, 8)), (2, 4), (1, 1))))
    [[ 9 13]
     [25 29]]

    Raises what logical_divide raises. Source: CuTe `outer_partition`.
    """
    return _partition("outer_partition", t, tiler, coord, inner=False)


def _projected(proj: Any, x: object) -> Any:
    if proj is None:
        return x
    proj, x = opened(proj), opened(x)
    if not isinstance(x, tuple) or len(x) != len(proj):
        raise RankError(f"proj of {len(proj)} entries for {shown(x)}", "one for each", "write _ for what is left out")
    return tuple(m for keep, m in zip(proj, x) if not isinstance(keep, Underscore))


def _partition(where: str, t: Tensor, tiler: IntTree, coord: Any, inner: bool) -> Tensor:
    """t cut by a tiler, one coordinate of each pair (tile, rest) fixed: the rest's if `inner`, else the tile's.

    A mode past the tiler's is cut into tiles of 1, which are no mode of the result.
    """
    t, tiler = as_tensor(where, t), opened(tiler)
    tiler = tiler if isinstance(tiler, tuple) else (tiler,)
    if t._guard.place is not None or gives_places(t):
        return _cut_whole(t, tiler, opened(coord), inner)
    layout, offset = from_zero(where, t)
    modes = list(innermost(layout))
    if len(tiler) > len(modes):
        what = f"{where}: {len(tiler)} tiles for {t!r}"
        raise RankError(what, f"at most {len(modes)}", "give one for each mode, from the first on")
    tiles = [size(m) if isinstance(tile, Underscore) else tile for m, tile in zip(modes, tiler)]
    cuts = [_cut(m, tile) for m, tile in zip(modes, [*tiles, *(_1 for _m in modes[len(tiler) :])])]
    kept: list[_Part] = []
    rests: list[_Part] = []
    fixed: Any = _0
    coords = _coordinates(where, t, cuts, len(tiler), coord, inner)
    cut_modes = enumerate(zip(cuts, coords, tiles))
    if not all(_is_whole(t, i, cut, c, strided=not is_int(tile)) for i, (cut, c, tile) in cut_modes):
        return _cut_whole(t, tuple(tiles), tuple(coords), inner)
    for i, (cut, c) in enumerate(zip(cuts, coords)):
        tile, rest = cut
        kept.append(_kept(tile, rest, c, [n[i] for n in t._guard[:2]], inner))
        if isinstance(c, Underscore):
            rests.append((rest, *(n[i] // size(tile) for n in t._guard[:2])))
        else:
            fixed = plus(fixed, (rest if inner else tile)(c))
    parts = [*kept[: len(tiler)], *rests] if inner else [*rests, *kept]
    joined, valid, room = zip(*parts)
    view, constant = around(layout, with_valid(join(joined), ALL), fixed)
    return tensor_of(t, t.data, plus(offset, constant), view, [_0] * len(parts), Guard(valid, room))


def _cut(mode: Layout, tile: IntLike) -> Layout:
    """A mode in tiles, (tile, rest). Of an unknown extent the last tile may overhang: what is valid is known apart."""
    if _may_overhang(mode, tile):
        (n,), (d,) = leaves(mode.shape), leaves(mode.stride)
        return Layout(Shape(tile, ceil_div(n, tile)), Stride(d, mul(d, tile)))
    return zipped_divide(mode, tile)


def _may_overhang(mode: Layout, tile: IntLike) -> bool:
    """Whether tiles of an extent are not seen to make up a mode of an unknown extent that goes on in even steps."""
    extents = [*leaves(mode.shape)]
    if not is_int(tile) or len(extents) != 1:
        return False
    divided = divides(tile, extents[0])
    return divided is None or (divided is False and known(extents[0]) is None)


def _zipped(layout: Any, tiler: tuple[Any, ...]) -> Any:
    """zipped_divide, of extents that are not known too."""
    if not isinstance(layout, Layout) or len(tiler) > len(layout.shape) or not any(map(_may_overhang, layout, tiler)):
        return zipped_divide(layout, tiler)
    cuts = [_cut(m, size(m) if isinstance(tile, Underscore) else tile) for m, tile in zip(layout, tiler)]
    return join([join([cut[0] for cut in cuts]), join([*(cut[1] for cut in cuts), *list(layout)[len(tiler) :]])])


def _cut_whole(t: Tensor, tiler: tuple[Any, ...], coord: object, inner: bool) -> Tensor:
    """The tensor divided, its tiles with full extents, and sliced: CuTe's meaning."""

    def tiles_of(layout: AnyLayout) -> Any:
        return _zipped(layout, tiler)

    tiles_of.__name__ = "zipped_divide"
    cut = t.over(tiles_of)
    tiles, rests = (len(modes_of(m)) for m in cut.shape)
    if isinstance(coord, tuple):
        coord = (*coord, *[_] * (rests - len(coord))) if inner else coord[:tiles]
    opposite: Any = (_,) * (tiles if inner else rests)
    return cut[(opposite, coord) if inner else (coord, opposite)]  # type: ignore[no-any-return]


_Part = tuple[Layout, Any, Any]  # of a result: its layout, how much of it is valid, and how much is the layout's own


def _kept(tile: Layout, rest: Layout, c: object, dims: Sequence[Any], inner: bool) -> _Part:
    """The part of a tiled mode that a fixed coordinate c leaves: the tile c, or the element c of every tile."""
    n = size(tile)
    if isinstance(c, Underscore):
        return tile, n, n
    if inner:
        valid, room = (smaller(n, larger(d - mul(c, n), _0)) for d in dims)
        return tile, valid, room
    valid, room = (ceil_div(larger(d - c, _0), n) for d in dims)
    return rest, valid, room


def _is_whole(t: Tensor, i: int, cut: Layout, c: CoordLike, strided: bool) -> bool:
    """Whether the valid part has extents of its own: strided tiles need a whole mode, an open count whole tiles."""
    valid = t.origin_shape[i]
    if strided:
        return equal(valid, size(cut)) is True
    return not isinstance(c, Underscore) or divides(size(cut[0]), valid) is True


def _coordinates(where: str, t: Tensor, cuts: list[Layout], n: int, coord: CoordLike, inner: bool) -> list[Any]:
    """The coordinate in each mode of what is fixed; `_` where it is open. Of n modes one integer will do."""
    limits = [
        *(None if inner else size(cut[0]) for cut in cuts[:n]),
        *(t.origin_shape[n:] if inner else [_1] * (len(cuts) - n)),
    ]
    coord, counted = opened(coord), [cut[1 if inner else 0] for cut in cuts]
    if not isinstance(coord, tuple):
        alike = isinstance(coord, Underscore) or n == 1
        coord = (coord,) * n if alike else tuple(idx2crd(leaf(coord), tuple(map(size, counted[:n]))))
    if len(coord) > (most := len(cuts) if inner else n):
        what = f"{where}: the coordinate {shown(coord)} of {t!r}"
        raise RankError(what, f"at most {most} integers", "give one for each mode")
    coord = tuple(_index(where, c, mode) for c, mode in zip(coord, counted))
    coords = [*coord, *([_] * (n - len(coord))), *([_ if inner else _0] * (len(cuts) - max(n, len(coord))))]
    for c, limit in zip(coords, limits):
        if isinstance(c, Underscore):
            continue
        if at_most(leaf(c), -1) or (limit is not None and at_most(limit, c)):
            what = f"{where}: {c} in the coordinate {shown(tuple(coords))} of {t!r}"
            upto = "" if limit is None else f" and less than {limit}"
            raise RangeError(what, f"0 or more{upto}", "count from 0")
    return coords


def _index(where: str, c: Any, mode: Layout) -> Any:
    """A coordinate of a mode's tiles as one index: (1,0) of (2,2) tiles is 1."""
    if not isinstance(c, tuple):
        return c
    inside = not any(isinstance(x, Underscore) for x in leaves(c)) and congruent(c, mode.shape) is True
    if not inside or any(at_most(leaf(x), -1) or at_most(n, x) for x, n in zip(leaves(c), leaves(mode.shape))):
        what = f"{where}: {shown(c)} of a mode of {shown(mode.shape)}"
        raise RangeError(what, "a coordinate in it, nested alike", "give one integer for the mode, first one fastest")
    return crd2idx(c, mode.shape)


# ----------------------------------------------------------------------------------------------------- recast


class _Recast:
    """`recast[dtype](t)`: the same bytes as elements of another type.

    Raises   DivisibilityError where wide elements would not be whole: a run, a start or a valid part that ends inside
             of one; LeafTypeError without a buffer

    >>> import numpy as np
    >>> from tla import MakeTensor, parse, recast
    >>> t = recast[np.int16](MakeTensor(np.arange(8, dtype=np.int8), parse("(2,4):(4,_1)")))
    >>> print(t, t[1, 1] == 6 + 7 * 256)
    Tensor(int16[4], (2,2):(2,_1)) True

    The layout is that of recast_layout. Source: CuTe `recast<T>`.
    """

    __name__ = "recast"

    def __getitem__(self, dtype: object) -> Any:
        dtype = as_dtype("recast", dtype)
        return lambda t: _recast(dtype, as_tensor("recast", t))

    def __call__(self, *arguments: Any) -> Any:
        expected = "the element type in square brackets"
        raise LeafTypeError("recast without brackets", expected, "write recast[numpy.int8](t)")

    def __reduce__(self) -> str:
        return self.__name__


recast = _Recast()


def _recast(dtype: Any, t: Tensor) -> Tensor:
    require_data("recast", t)
    require_whole_bytes("recast", t.data)
    require_box("recast", t)
    layout, offset = from_zero("recast", t)
    old, new = t.data.itemsize, dtype.itemsize
    if dtype.hasobject or new == 0 or t.data.nbytes % new or offset * old % new:
        what = f"recast[{dtype}] of {t!r}: {t.data.nbytes} bytes, from byte {offset * old} on"
        fix = "pad the buffer, or start it on a whole element"
        raise DivisibilityError(what, f"whole elements of {new} bytes", fix)
    view = recast_layout[8 * old, 8 * new](layout)
    inner, before = innermost(view), innermost(layout)
    valid, room = (tuple(_scaled(t, n, a, b, old, new) for n, a, b in zip(ns, before, inner)) for ns in t._guard[:2])
    if size(before) * old != size(inner) * new:
        raise _not_whole(t, new)
    data, start = t.data.view(dtype), offset * old // new
    return tensor_of(None, data, start, view, [_0] * len(valid), Guard(valid, room), t.memory)


def _scaled(t: Tensor, n: Any, before: Layout, after: Layout, old: int, new: int) -> Any:
    """The number of wide or narrow elements that n elements of a mode are."""
    (_first, *rest), (_other, *others) = leaves(before.shape), leaves(after.shape)
    if n == size(before) or size(before) == size(after):
        return size(after) if n == size(before) else n
    if n * old % new or rest != others or not equal(next(leaves(before.stride)), 1):
        raise _not_whole(t, new)
    return n * old // new


def _not_whole(t: Tensor, width: int) -> DivisibilityError:
    expected = f"runs and valid parts of whole elements of {width} bytes"
    return DivisibilityError(f"recast of {t!r}", expected, "pad it to whole elements")
