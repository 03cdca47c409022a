"""TMA: the tensor map and the boxes that copy a tile between global and shared memory, derived from the two layouts.

The inverse of the shared layout tells which coordinates of the tile lie one after another in shared memory. As far as these run
along modes of the global tensor with step 1, one box copies them; boxes have 256 elements a mode at most. The swizzle is left to
the map.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp; the CUDA driver API, cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from ..algebra.coalesce import coalesce
from ..algebra.codomain import MakeIdentityLayout, cosize
from ..algebra.composition import composition
from ..algebra.divide import logical_divide, tile_to_shape, zipped_divide
from ..algebra.inverse import right_inverse
from ..core.arithmetic import gcd
from ..core.basis import E, ScaledBasis
from ..core.element import Element
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, Reason, Unproven
from ..core.int_tuple import get, leaves, modes_of, product_each, rank, shown, size
from ..core.ints import Int, is_constant, is_int, known, static
from ..core.layout import Layout, Shape, Stride
from ..tensors.tensor import MakeTensor, Tensor
from .canonical import MODES, Mode, taken_apart
from .descriptor import element_over
from .elements import require_number

_0, _1 = static(0), static(1)
#: The elements that a box has along one mode at most, the modes of a map, and the multiple of bytes of its strides.
MAX_BOX, MAX_RANK, STRIDE_BYTES = 256, 5, 16
#: The bytes that a miss of the L2 cache fetches.
PROMOTIONS = ("none", "64B", "128B", "256B")
#: The bytes that the destination of a box is aligned to.
BOX_BYTES = 128
#: The copy operations and whether several CTAs of a cluster share what is loaded.
OPERATIONS = {
    "SM90_TMA_LOAD": False,
    "SM90_TMA_STORE": False,
    "SM90_TMA_REDUCE_ADD": False,
    "SM90_TMA_LOAD_MULTICAST": True,
    "SM100_TMA_2SM_LOAD": False,
    "SM100_TMA_2SM_LOAD_MULTICAST": True,
}
_FORMATS = {
    "half": "FLOAT16",
    "bf16": "BFLOAT16",
    "float": "FLOAT32",
    "tf32": "TFLOAT32",
    "double": "FLOAT64",
    "int32": "INT32",
    "int64": "INT64",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
}
_SWIZZLES = {"INTER": "none", "SW32": "32B", "SW64": "64B", "SW128": "128B", "SW128_32B": "128B_ATOM_32B"}


@dataclass(frozen=True)
class TensorMap:
    """A tensor map: what the driver encodes for TMA. Modes are TMA's, the contiguous one first.

    element          the element type
    shape            the extent of each mode of the global tensor [elements]
    strides          the step of each mode [bytes]; the first is an element, and is not passed on
    box              what one instruction copies [elements]
    element_strides  1: every element
    swizzle          "none", "32B", "64B", "128B" or "128B_ATOM_32B"
    l2_promotion     the bytes that a miss of the L2 cache fetches: "none", "64B", "128B" or "256B"

    >>> from tla import parse
    >>> from tla.gpu import GMMA, half, make_tma_copy
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(1024,256):(256,_1)"), GMMA.K_SW128[half], element=half)
    >>> tma.map.shape, tma.map.strides, tma.map.box, tma.map.swizzle
    ((256, 1024), (2, 512), (64, 8), '128B')

    Source: the CUDA driver API, `cuTensorMapEncodeTiled`.
    """

    element: Element
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: str
    element_strides: tuple[int, ...] = field(default=())
    l2_promotion: str = "128B"

    def __post_init__(self) -> None:
        object.__setattr__(self, "element_strides", self.element_strides or (1,) * len(self.box))

    @property
    def rank(self) -> int:
        """The number of modes, 1 to 5."""
        return len(self.shape)

    @property
    def text(self) -> str:
        """The call of the driver, of a map named `map` and the tensor at `address`."""
        swizzle = "CU_TENSOR_MAP_SWIZZLE_" + self.swizzle.upper()
        listed = {
            "cuuint64_t dim": self.shape,
            "cuuint64_t strides": self.strides[1:] or (0,),
            "cuuint32_t box": self.box,
            "cuuint32_t steps": self.element_strides,
        }
        arrays = [f"{name}[] = {{{', '.join(map(str, values))}}};" for name, values in listed.items()]
        kind = f"CU_TENSOR_MAP_DATA_TYPE_{_FORMATS.get(self.element.name, f'UINT{self.element.bits}')}"
        promotion = f"CU_TENSOR_MAP_L2_PROMOTION_{'NONE' if self.l2_promotion == 'none' else 'L2_' + self.l2_promotion}"
        tail = f"CU_TENSOR_MAP_INTERLEAVE_NONE, {swizzle}, {promotion}, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE"
        return "\n".join([*arrays, f"cuTensorMapEncodeTiled(&map, {kind}, {self.rank}, address, dim, strides, box, steps, {tail});"])

    def offsets(self, at: tuple[int, ...], base: int = 0) -> Any:
        """The offsets at which a box that begins at a TMA coordinate is written and read, by the rules of the hardware, in numpy.

        at       the TMA coordinate of its first element;  base  where it lies in shared memory [bytes]
        Returns  (bytes in shared memory, bytes in the tensor, whether they are inside it): arrays over the box, the contiguous mode
                 last; what is outside is filled with zeros
        """
        import numpy as np

        size = self.element.bits // 8
        grid = [*np.ogrid[tuple(slice(n) for n in reversed(self.box))]][::-1]
        steps = [math.prod(self.box[:i]) * size for i in range(len(self.box))]
        place = sum((c * d for c, d in zip(grid, steps)), np.int64(base))
        begin = sum(((a + c) * d for a, c, d in zip(at, grid, self.strides)), np.int64(0))
        inside = functools.reduce(np.logical_and, ((a + c >= 0) & (a + c < n) for a, c, n in zip(at, grid, self.shape)))
        mode = next(MODES[m] for m, name in _SWIZZLES.items() if name == self.swizzle)
        return mode.swizzle(place), np.broadcast_to(begin, inside.shape), inside


@dataclass(frozen=True)
class TMACopy:
    """A TMA copy of tiles: the map, and how tiles of global and shared memory are cut into boxes.

    map         the TensorMap
    gbasis      the box as coordinates of the global tensor: TMA mode -> mode of the tensor
    tma_tensor  the tensor whose elements are TMA coordinates: shape of the global one, basis strides
    tiler_mn    the tile of one CTA
    TV          (CTA, value) -> index in the tile: `values` in its second mode, (one box, boxes)
    element     the element type
    smem        the layout of one tile in shared memory

    >>> from tla import parse, tile_to_shape, _128
    >>> from tla.gpu import GMMA, half, make_tma_copy
    >>> smem = tile_to_shape(GMMA.K_SW64[half], (_128, _128))
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(1024,512):(512,_1)"), smem, element=half)
    >>> print(tma.gbasis, tma.tma_tensor, tma.partition_S(tma.tma_tensor).layout.shape)
    (_32,_128):(_1@1,_1@0) (1024,512):(_1@1,_1@0) (((_32,_128),_4),8,4)

    Source: CuTe `make_tma_copy`.
    """

    operation: str
    map: TensorMap
    gbasis: Layout
    tma_tensor: Layout
    tiler_mn: Any
    TV: Layout
    element: Element
    smem: Any

    def partition_S(self, tensor: Any, cta: int = 0) -> Tensor:
        """A tensor of TMA coordinates (M, N, ...) cut as ((box, boxes), tiles along M, tiles along N, ...)."""
        return self._partition(tensor, cta)

    def partition_D(self, tensor: Any, cta: int = 0) -> Tensor:
        """A tensor of shared memory cut the same way; the swizzle stays with the map."""
        return self._partition(tensor, cta)

    def _partition(self, tensor: Any, cta: int) -> Tensor:
        if not 0 <= require_number("the CTA", cta) < int(size(self.TV[0])):
            raise RangeError(f"CTA {cta} of a cluster of {size(self.TV[0])}", f"0 to {int(size(self.TV[0])) - 1}", "count CTAs from 0")
        layout = _plain(tensor, self.element)
        if rank(layout) < rank(self.tiler_mn):
            what = f"a partition of {shown(layout)} by tiles of {shown(self.tiler_mn)}"
            raise DivisibilityError(what, f"{rank(self.tiler_mn)} modes or more", "give the tensor the modes of the tile")
        tiled = zipped_divide(layout, tuple(self.tiler_mn) if isinstance(self.tiler_mn, tuple) else (self.tiler_mn,))
        values = composition(tiled[0], self.TV[1][0])
        rest = [*tiled[1]]
        start = tiled[0](self.TV[0](cta))
        view = Layout((values.shape, *(m.shape for m in rest)), (values.stride, *(m.stride for m in rest)))
        return MakeTensor(None, view, offset=start)


def make_tma_copy(
    operation: str, gmem: Any, smem: Any, tile: Any = None, cluster: int = 1, *, element: Any = None, l2_promotion: str = "128B"
) -> TMACopy:
    """The TMA copy of tiles of a global tensor to and from a layout of shared memory.

    operation  "SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_LOAD_MULTICAST" ...
    gmem       the global tensor or its layout; extents and strides may be dynamic numbers
    smem       the layout of one tile in shared memory, swizzled or not, static
    tile       the tile of the tensor; the extents of smem by default
    cluster    the CTAs that share a load, each loading its part
    element    the element type, where the tensor has no buffer
    l2_promotion  what a miss of the L2 cache fetches: "none", "64B", "128B" or "256B"
    Returns    TMACopy, of tiles: im2col and interleaved maps are not made
    Raises     LeafTypeError for operations and types that there are not;
               DivisibilityError where the layouts have no contiguous mode in common, or smem and tile differ in size; RangeError for
               what a map does not hold: boxes past 256, strides that are no multiple of 16 bytes, a swizzle narrower than the box;
               a tensor that begins at no multiple of 16 bytes, or shared memory at none of its swizzle's pattern;
               Unproven for sizes that are not known

    >>> from tla import parse
    >>> from tla.gpu import half, make_tma_copy
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(512,512):(512,_1)"), parse("(_64,_32):(_32,_1)"), element=half)
    >>> print(tma.gbasis, tma.map.box)
    (_32,_64):(_1@1,_1@0) (32, 64)

    Source: CuTe `make_tma_copy`.
    """
    if not isinstance(operation, str) or operation not in OPERATIONS:
        fix = "unfold the tensor with strides that overlap: a tiled map takes them" if "IM2COL" in str(operation) else "write it as a text"
        raise LeafTypeError(f"the TMA operation {shown(operation)}", f"one of {', '.join(OPERATIONS)}", fix)
    if not isinstance(l2_promotion, str) or l2_promotion not in PROMOTIONS:
        raise LeafTypeError(f"the L2 promotion {shown(l2_promotion)}", f"one of {', '.join(PROMOTIONS)}", "write l2_promotion='128B'")
    element = _element(gmem, element)
    if element.name not in _FORMATS and element.bits not in (8, 16, 32, 64):
        raise LeafTypeError(f"make_tma_copy of {element}", "elements of 8, 16, 32 or 64 bits", "copy them as uint8, whole bytes of them")
    layout = gmem.layout if isinstance(gmem, Tensor) else gmem
    if not isinstance(layout, Layout):
        raise LeafTypeError(f"make_tma_copy of {shown(layout)}", "a tensor or layout of global memory", "write parse('(512,512):(512,_1)')")
    parts = taken_apart(smem.layout if isinstance(smem, Tensor) else smem, element)
    if isinstance(parts, Reason):
        raise DivisibilityError(f"make_tma_copy: {parts.what}", parts.expected, parts.fix)
    _require_begin(gmem, element, STRIDE_BYTES, "gmem")
    _require_begin(smem, element, max(parts.mode.pattern, BOX_BYTES), "smem")
    cluster = require_number("the CTAs of a cluster", cluster)
    if cluster < 1 or (cluster > 1 and not OPERATIONS[operation]):
        raise RangeError(f"{operation} over {cluster} CTAs", "1, or a _MULTICAST operation", "use SM90_TMA_LOAD_MULTICAST")
    tile = Shape(*product_each(parts.inner.shape)) if tile is None else _as_types(tile)
    vectors = composition(MakeIdentityLayout(layout.shape), tile if isinstance(tile, tuple) else (tile,))
    known_sizes = all(type(n) is Int for n in leaves(vectors.shape)) and parts.inner.is_static
    if not known_sizes or size(vectors) != size(parts.inner):
        what = f"make_tma_copy: the tile {shown(tile)} of {shown(layout)}, and shared memory for {shown(size(parts.inner))} elements"
        raise DivisibilityError(
            what, "a static tile of as many elements", "give shared memory the tile's shape, and static extents of gmem inside it"
        )
    basis = tma_basis(layout, parts.inner, vectors)
    tensor_map = replace(_map(layout, basis, parts.mode, element, cluster), l2_promotion=l2_promotion)
    _require_lawful(tensor_map, parts.mode)
    inverse, count = right_inverse(parts.inner), size(basis)
    values = tile_to_shape(Layout((composition(inverse, count).shape,), (composition(inverse, count).stride,)), (size(vectors),))
    _require_aligned(composition(parts.inner, values[0][1]), element)
    threads = composition(inverse, Layout(static(cluster), static(int(count) // cluster if cluster > 1 else 0)))
    tv = Layout((threads.shape, values.shape), (threads.stride, values.stride))
    whole = smem.layout if isinstance(smem, Tensor) else smem
    return TMACopy(operation, tensor_map, basis, _coordinates(layout, basis, tensor_map), tile, tv, element, whole)


def _as_types(tile: Any) -> Any:
    """Plain integers of a tile as static ones: what C++ takes as types."""
    return tuple(map(_as_types, tile)) if isinstance(tile, tuple) else static(tile) if type(tile) is int else tile


def _require_begin(tensor: Any, element: Element, multiple: int, name: str) -> None:
    """Require that a tensor begins at a multiple of some bytes of its buffer, as far as it says where it begins."""
    offset = tensor.offset if isinstance(tensor, Tensor) else 0
    begin = known(offset) if is_int(offset) else None
    if begin is None:
        raise Unproven(
            f"make_tma_copy: {name} begins at {shown(offset)}", "a number", "make the map of the whole tensor, and slice tma_tensor"
        )
    if begin * element.bits % (multiple * 8):
        what = f"make_tma_copy: {name} begins {begin * element.bits / 8:g} bytes into its buffer"
        raise RangeError(what, f"a multiple of {multiple}", f"align it to {multiple} bytes, or copy the tile that begins there")


def tma_basis(gmem: Layout, smem: Layout, vectors: Layout) -> Layout:
    """The box of one TMA instruction as coordinates of the global tensor: TMA mode -> mode of the tensor.

    gmem     the layout of the global tensor;  smem  of shared memory, without its swizzle
    vectors  the tile as coordinates of the tensor

    Source: CuTe `construct_tma_gbasis`.
    """
    runs = [*_runs(coalesce(composition(vectors, right_inverse(smem))))]
    merged: list[tuple[list[tuple[Any, ScaledBasis]], Any, Any]] = []  # the modes of a TMA mode, its extent and global stride
    for extent, e in runs:
        step = get[e.path](gmem.stride)
        if (
            merged
            and merged[-1][1] * merged[-1][2] == step
            and type(merged[-1][2]) is type(step) is Int
            and merged[-1][1] * extent <= MAX_BOX
        ):
            modes, so_far, first = merged.pop()
            merged.append(([*modes, (extent, e)], so_far * extent, first))
        else:
            merged.append(([(extent, e)], extent, step))
    parts = [mode for mode, _, _ in merged]
    used = {e.path for mode in parts for _, e in mode}
    parts += [[(_1, E[path])] for path in _paths(gmem.shape) if path not in used and not _is_fixed(gmem, path)]
    last = [piece for mode in parts[MAX_RANK - 1 :] for piece in mode]
    parts = parts[: MAX_RANK - 1] + ([last] if last else [])
    shapes, strides = (tuple(tuple(piece[i] for piece in mode) for mode in parts) for i in (0, 1))
    return Layout(Shape(*map(_unwrapped, shapes)), Stride(*map(_unwrapped, strides)))


def _unwrapped(mode: tuple[Any, ...]) -> Any:
    return mode[0] if len(mode) == 1 else mode


def _continues(extent: Any, step: Any, following: Any) -> bool:
    """Whether a mode goes on where the one before it ends, known from static strides."""
    return type(step) is type(following) is Int and extent * step == following


def _runs(layout: Layout) -> Iterator[tuple[Any, ScaledBasis]]:
    """The leading modes of a layout of coordinates that go along a mode of the tensor with step 1."""
    for i, (extent, e) in enumerate(zip(leaves(layout.shape), leaves(layout.stride))):
        if not isinstance(e, ScaledBasis) or not is_constant(1, e.value):
            if i == 0:
                what = "shared memory goes along no mode of the tensor with step 1"
                raise DivisibilityError(
                    f"make_tma_copy: {what}: {layout}", "a first mode like _64:_1@1", "give shared memory the order of gmem"
                )
            return
        yield extent, e


def _paths(shape: Any, before: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """The path of each leaf of a shape."""
    for i, m in enumerate(modes_of(shape)):
        if isinstance(m, tuple):
            yield from _paths(m, (*before, i))
        else:
            yield (*before, i)


def _is_fixed(gmem: Layout, path: tuple[int, ...]) -> bool:
    return bool(is_constant(1, get[path](gmem.shape)) or is_constant(0, get[path](gmem.stride)))


def _number(x: Any, what: str) -> int:
    n = known(x)
    if n is None:
        raise Unproven(
            f"make_tma_copy: the {what} {shown(x)}",
            "a number that is known when the map is encoded",
            "give its symbols values: at(x, N=128)",
        )
    return int(n)


def _map(gmem: Layout, basis: Layout, mode: Mode, element: Element, cluster: int) -> TensorMap:
    shape, strides = [], []
    for m in modes_of(basis.stride):
        extent, step = 1, 0
        for e in leaves(m):
            n, d = _number(get[e.path](gmem.shape), "extent"), _number(get[e.path](gmem.stride), "stride")
            common = int(gcd(step, d))
            extent = ((extent - 1) * (step // common) + (n - 1) * (d // common) + 1) if common else n
            step = common
        shape.append(extent)
        strides.append(step * element.bits // 8)
    box = [int(n) for n in product_each(basis.shape)]
    for i in reversed(range(len(box))):
        if cluster > 1:
            if box[i] % cluster and cluster % box[i]:
                raise DivisibilityError(
                    f"a box of {tuple(box)} over {cluster} CTAs", "a mode that divides evenly", "use another cluster size"
                )
            box[i], cluster = -(-box[i] // cluster), -(-cluster // box[i])
    return TensorMap(element, tuple(shape), tuple(strides), tuple(box), _SWIZZLES[mode.name])


def _require_lawful(m: TensorMap, mode: Mode) -> None:
    """The conditions of cuTensorMapEncodeTiled, each with its reason."""
    size = m.element.bits / 8
    if m.strides[0] != size:
        what = f"make_tma_copy: the first mode of shared memory has a stride of {m.strides[0]} bytes in gmem"
        raise DivisibilityError(what, f"{size:g}, contiguous", "shared memory has to have the contiguous mode of gmem first")
    row = m.box[0] * size
    conditions: list[tuple[bool, str, str, str]] = [(m.rank <= MAX_RANK, f"{m.rank} modes", f"at most {MAX_RANK}", "merge modes of gmem")]
    for n in m.shape:
        conditions.append((1 <= n <= 1 << 32, f"a mode of {n} elements", "1 to 2**32", "split the tensor"))
    for d in m.strides[1:]:
        padded = f"pad the rows of gmem to {-(-d // STRIDE_BYTES) * STRIDE_BYTES} bytes"
        conditions.append((d < 1 << 40, f"a stride of {d} bytes", "less than 2**40", "split the tensor"))
        conditions.append((d % STRIDE_BYTES == 0, f"a stride of {d} bytes", f"a multiple of {STRIDE_BYTES}", padded))
    for n in m.box:
        conditions.append((n <= MAX_BOX, f"a box of {n} elements in one mode", f"at most {MAX_BOX}", f"take tiles of {MAX_BOX}"))
    conditions.append((row % STRIDE_BYTES == 0, f"rows of {row:g} bytes", f"a multiple of {STRIDE_BYTES}", "take wider tiles"))
    within = f"rows of {row:g} bytes under the swizzle of {m.swizzle}"
    conditions.append((not mode.bits or row <= mode.span, within, f"at most {mode.span}, its span", "tile with the swizzle's atom"))
    for holds, what, expected, fix in conditions:
        if not holds:
            raise RangeError(f"make_tma_copy: {what}", expected, fix)


def _require_aligned(boxes: Layout, element: Element) -> None:
    """Require that every box begins at a multiple of 128 bytes of shared memory, as the instruction wants it."""
    for extent, step in zip(leaves(boxes.shape), leaves(boxes.stride)):
        if int(extent) > 1 and int(step) * element.bits % (BOX_BYTES * 8):
            what = f"make_tma_copy: boxes {int(step) * element.bits / 8:g} bytes apart in shared memory"
            raise RangeError(what, f"a multiple of {BOX_BYTES}", "use an atom of GMMA or UMMA, or rows without padding")


def _coordinates(gmem: Layout, basis: Layout, m: TensorMap) -> Layout:
    """The tensor of TMA coordinates: for each leaf of gmem the TMA mode that it moves along."""
    strides: dict[tuple[int, ...], Any] = {}
    for j, mode in enumerate(modes_of(basis.stride)):
        several = isinstance(mode, tuple)
        for e in leaves(mode):
            d = get[e.path](gmem.stride)
            scale = d if j == 0 else _1 if not several else int(d) * m.element.bits // 8 // max(m.strides[j], 1)
            strides[e.path] = E[j] * scale
    return Layout(gmem.shape, _by_path(gmem.shape, strides))


def _by_path(shape: Any, strides: dict[tuple[int, ...], Any], path: tuple[int, ...] = ()) -> Any:
    if isinstance(shape, tuple):
        return Stride(*(_by_path(m, strides, (*path, i)) for i, m in enumerate(shape)))
    return strides.get(path or (0,), _0)


def _element(gmem: Any, given: Any) -> Element:
    if given is not None:
        return element_over("make_tma_copy", gmem, given)
    if isinstance(gmem, Tensor) and gmem.dtype is not None:
        return Element(str(gmem.dtype), 8 * gmem.dtype.itemsize)
    raise LeafTypeError("make_tma_copy without an element type", "one, or a tensor with a buffer", "write make_tma_copy(..., element=half)")


def _plain(tensor: Any, element: Element) -> Layout:
    layout = tensor.layout if isinstance(tensor, Tensor) else tensor
    parts = taken_apart(layout, element)
    if isinstance(parts, Reason):
        raise DivisibilityError(f"a partition: {parts.what}", parts.expected, parts.fix)
    return parts.inner


def tma_partition(tma: TMACopy, smem: Any, gmem: Any, cta: int = 0, ctas: Layout | None = None) -> tuple[Tensor, Tensor]:
    """Shared and global tensors cut into boxes: ((box, boxes), rest...) of (tile, rest...) each.

    tma    the TMACopy;  cta  this CTA of those that share the load, numbered by the layout `ctas`
    smem   (tile, stages...): the modes of the tile grouped into the first
    gmem   (tile, tiles...) of TMA coordinates
    Returns (global, shared), as CuTe does

    >>> from tla import group, parse, zipped_divide, _32, _64
    >>> from tla.gpu import half, make_tma_copy, tma_partition
    >>> smem = parse("(_64,_32):(_32,_1)")
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(512,512):(512,_1)"), smem, element=half)
    >>> g, s = tma_partition(tma, group[0, 2](smem), zipped_divide(tma.tma_tensor, (_64, _32)))
    >>> print(g.layout, s.layout)
    (((_32,_64),_1),(8,16)):(((_1@0,_1@1),_0),(_64@1,_32@0)) ((_2048,_1)):((_1,_0))

    Source: CuTe `tma_partition`.
    """
    if not isinstance(tma, TMACopy):
        raise LeafTypeError(f"tma_partition of {shown(tma)}", "a TMACopy", "write tma_partition(make_tma_copy(...), smem, gmem)")
    inside, outside = _plain(smem, tma.element), _plain(gmem, tma.element)
    inverse = right_inverse(Layout(inside[0].shape, inside[0].stride))
    values = tile_to_shape(Layout((inverse.shape,), (inverse.stride,)), (size(inside[0]),))
    count = size(tma.gbasis)
    cut = logical_divide(coalesce(values), Layout(count, _1))
    start = 0 if ctas is None else _slice_of(cta, ctas) * (int(count) // int(cosize(ctas)))
    made = []
    for layout in (outside, inside):
        view = composition(layout[0], cut)
        boxes = [coalesce(m) for m in view]
        first = Layout(tuple(m.shape for m in boxes), tuple(m.stride for m in boxes))
        rest = [*layout][1:]
        whole = Layout((first.shape, *(m.shape for m in rest)), (first.stride, *(m.stride for m in rest)))
        made.append(MakeTensor(None, whole, offset=boxes[0](start) if start else _0))
    return made[0], made[1]


def _slice_of(cta: Any, ctas: Any) -> int:
    """The slice of a multicast tile that a CTA loads: its number among those that share it."""
    if not isinstance(ctas, Layout) or known(size(ctas)) is None:
        raise LeafTypeError(f"tma_partition with the CTAs {shown(ctas)}", "a layout of the CTAs that share it", "write parse('_4:_1')")
    count, n = int(size(ctas)), require_number("the CTA", cta)
    if not 0 <= n < count:
        raise RangeError(f"CTA {n} of {shown(ctas)}", f"0 to {count - 1}", "count CTAs from 0")
    return int(ctas(n))
