"""TMA: copies of tiles between global and shared memory, cut into the boxes of a tensor map.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...algebra.coalesce import coalesce
from ...algebra.codomain import MakeIdentityLayout, cosize
from ...algebra.composition import composition
from ...algebra.divide import logical_divide, tile_to_shape, zipped_divide
from ...algebra.inverse import right_inverse
from ...algebra.predicates import is_injective
from ...core.element import Element
from ...core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError
from ...core.int_tuple import leaves, modes_of, product_each, rank, shown, size
from ...core.ints import Int, is_int, known, static
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.questions import require
from ...core.strides import Shape
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ..instructions.atom import as_types, beside
from ..instructions.elements import element_of, require_number, require_one_of
from .canonical import Swizzled, taken_apart
from .tensor_map import STRIDE_BYTES, TensorMap
from .tma_basis import coordinates_of, map_of, tma_basis

_0, _1 = static(0), static(1)
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
#: Those of pairs of CTAs: an mbarrier of the first of a pair counts the bytes of both.
OF_PAIRS = "SM100_TMA_2SM_LOAD", "SM100_TMA_2SM_LOAD_MULTICAST"


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
    gmem        the global tensor, or its layout
    barrier     the mbarrier that waits for what is loaded; None until `with_` gives it
    mask        the CTAs of the cluster that it comes to; None for this one alone

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
    gmem: Any = field(compare=False)
    barrier: Any = field(default=None, compare=False)
    mask: Any = field(default=None, compare=False)

    def with_(self, barrier: object, mask: object = None) -> TMACopy:
        """This copy, with the mbarrier that counts the bytes that have come, and of several CTAs the mask of these.

        Source: CuTe `tma.with(mbarrier, mask)`.
        """
        return replace(self, barrier=barrier, mask=mask)

    def partition_S(self, tensor: AnyLayout | Tensor, cta: int = 0) -> Tensor:
        """A tensor of TMA coordinates (M, N, ...) cut as ((box, boxes), tiles along M, tiles along N, ...)."""
        return self._partition(tensor, cta)

    def partition_D(self, tensor: AnyLayout | Tensor, cta: int = 0) -> Tensor:
        """A tensor of shared memory cut the same way; the swizzle stays with the map."""
        return self._partition(tensor, cta)

    def _partition(self, tensor: Any, cta: int) -> Tensor:
        count = int(size(self.TV[0]))
        if not 0 <= require_number("the CTA", cta) < count:
            what = f"CTA {cta} of a cluster of {size(self.TV[0])}"
            raise RangeError(what, f"0 to {count - 1}", "count CTAs from 0")
        layout = shared_of("a partition", tensor, self.element).inner
        if rank(layout) < rank(self.tiler_mn):
            what = f"a partition of {shown(layout)} by tiles of {shown(self.tiler_mn)}"
            fix = "give the tensor the modes of the tile"
            raise DivisibilityError(what, f"{rank(self.tiler_mn)} modes or more", fix)
        tiled = zipped_divide(layout, tuple(modes_of(self.tiler_mn)))
        values = composition(tiled[0], self.TV[1][0])
        return MakeTensor(None, beside(values, *tiled[1]), offset=tiled[0](self.TV[0](cta)))


def make_tma_copy(
    operation: str,
    gmem: object,
    smem: object,
    tile: object = None,
    cluster: int = 1,
    *,
    element: object = None,
    l2_promotion: str = "128B",
) -> TMACopy:
    """The TMA copy of tiles of a global tensor to and from a layout of shared memory.

    operation  "SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_LOAD_MULTICAST" ...
    gmem       the global tensor or its layout; extents and strides may be dynamic numbers, or symbols
    smem       the layout of one tile in shared memory, swizzled or not, static
    tile       the tile of the tensor; the extents of smem by default
    cluster    the CTAs that share a load, each loading its part
    element    the element type, where the tensor has no buffer
    l2_promotion  what a miss of the L2 cache fetches: "none", "64B", "128B" or "256B"
    Returns    TMACopy, of tiles; make_im2col_copy makes those of convolutions
    Raises     LeafTypeError for operations and types that there are not;
               InjectivityError where two elements of shared memory share a place;
               DivisibilityError where the layouts have no contiguous mode in common, or smem and tile differ in size;
               RangeError for what a map does not hold: boxes past 256, strides that are no multiple of 16 bytes, a
               swizzle narrower than the box; a tensor that begins at no multiple of 16 bytes, or shared memory at none
               of its swizzle's pattern; Unproven for symbols whose facts do not show a condition; assuming() records it
               for the kernel to assert

    >>> from tla import assuming, dims, make_layout, parse, _1
    >>> from tla.gpu import half, make_tma_copy
    >>> smem = parse("(_64,_32):(_32,_1)")
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(512,512):(512,_1)"), smem, element=half)
    >>> print(tma.gbasis, tma.map.box)
    (_32,_64):(_1@1,_1@0) (32, 64)
    >>> M, K = dims("M K", at_least=1, at_most=1 << 32)
    >>> with assuming() as conditions:
    ...     tma = make_tma_copy("SM90_TMA_LOAD", make_layout((M, K), stride=(K, _1)), smem, element=half)
    >>> print(*tma.map.shape, *tma.map.strides, "if", *conditions)
    K M 2 2*K if 16 divides 2*K

    Source: CuTe `make_tma_copy`.
    """
    _require_operation(operation, cluster)
    element = element_of("make_tma_copy(..., element=half)", gmem, element)
    layout = gmem.layout if isinstance(gmem, Tensor) else gmem
    if not isinstance(layout, Layout):
        what, fix = f"make_tma_copy of {shown(layout)}", "write parse('(512,512):(512,_1)')"
        raise LeafTypeError(what, "a tensor or layout of global memory", fix)
    layout = _of_modes(layout)
    parts = shared_of("make_tma_copy", smem, element)
    _require_begin(gmem, element, STRIDE_BYTES, "gmem")
    _require_begin(smem, element, max(parts.mode.pattern, BOX_BYTES), "smem")
    tile = Shape(*product_each(parts.inner.shape)) if tile is None else as_types(tile)
    vectors = _vectors(layout, tile, parts.inner)
    require_own_places("make_tma_copy", parts.inner)
    basis = tma_basis(layout, parts.inner, vectors)
    tensor_map = map_of(layout, basis, parts.mode, element, int(cluster), l2_promotion)
    tv = _thread_values(parts.inner, vectors, basis, int(cluster), element)
    whole = smem.layout if isinstance(smem, Tensor) else smem
    coordinates = coordinates_of(layout, basis, tensor_map)
    return TMACopy(operation, tensor_map, basis, coordinates, tile, tv, element, whole, gmem)


def _require_operation(operation: str, cluster: object) -> None:
    fix = "write make_im2col_copy(...)" if "IM2COL" in str(operation) else "write it as a text"
    if "IM2COL" in str(operation) and "STORE" in str(operation):
        fix = "store a dense output as a matrix of pixels: SM90_TMA_STORE"
    require_one_of("the TMA operation", operation, OPERATIONS, fix)
    ctas = require_number("the CTAs of a cluster", cluster)
    if ctas < 1 or (ctas > 1 and not OPERATIONS[operation]):
        raise RangeError(f"{operation} over {ctas} CTAs", "1, or a _MULTICAST operation", "use SM90_TMA_LOAD_MULTICAST")


def shared_of(where: str, smem: object, element: Element) -> Swizzled:
    """Shared memory taken apart; DivisibilityError for a swizzle that no map has."""
    parts = taken_apart(f"{where}: ", smem, element)
    return parts._replace(inner=_of_modes(parts.inner))


def _of_modes(layout: Layout) -> Layout:
    """A layout of one integer as one of a mode, as coordinates of a tensor are tuples."""
    return layout if isinstance(layout.shape, tuple) else Layout((layout.shape,), (layout.stride,))


def _vectors(gmem: Layout, tile: Any, smem: Layout) -> Layout:
    """The tile as coordinates of the global tensor, static, of as many elements as shared memory has."""
    vectors = composition(MakeIdentityLayout(gmem.shape), tile if isinstance(tile, tuple) else (tile,))
    if not all(type(n) is Int for n in leaves(vectors.shape)) or not smem.is_static or size(vectors) != size(smem):
        tiles = f"the tile {shown(tile)} of {shown(gmem)}"
        what = f"make_tma_copy: {tiles}, and shared memory for {shown(size(smem))} elements"
        fix = "give shared memory the tile's shape, and static extents of gmem inside it"
        raise DivisibilityError(what, "a static tile of as many elements", fix)
    return vectors


def _thread_values(smem: Layout, vectors: Layout, basis: Layout, cluster: int, element: Element) -> Layout:
    """(CTA, (box, boxes)) -> index in the tile."""
    inverse, count = right_inverse(smem), size(basis)
    values = box_values(smem, vectors, basis, element)
    threads = composition(inverse, Layout(static(cluster), static(int(count) // cluster if cluster > 1 else 0)))
    return beside(threads, values)


def require_own_places(where: str, tile: Layout) -> None:
    """Require that no two elements of a tile share an address; what is not decided is taken.

    Raises InjectivityError, with two coordinates that do.
    """
    if (why := is_injective.why_not(tile)) is not None:
        raise InjectivityError(f"{where}: {why.what}", why.expected, why.fix)


def box_values(smem: Layout, vectors: Layout, basis: Layout, element: Element) -> Layout:
    """(box, boxes) -> index in the tile, in one mode; every box begins at a multiple of 128 bytes."""
    box = composition(right_inverse(smem), size(basis))
    values = tile_to_shape(Layout((box.shape,), (box.stride,)), (size(vectors),))
    _require_aligned(composition(smem, values[0][1]), element)
    return values


def _require_begin(tensor: Any, element: Element, multiple: int, name: str) -> None:
    """Require that a tensor begins at a multiple of some bytes of its buffer, as far as it says where it begins."""
    begin = tensor.offset * element.bits if isinstance(tensor, Tensor) and is_int(tensor.offset) else 0
    if isinstance(tensor, Tensor) and not is_int(tensor.offset):
        what = f"make_tma_copy: {name} begins at {shown(tensor.offset)}"
        raise LeafTypeError(what, "an integer", "make the map of the whole tensor, and slice tma_tensor")
    if not require("divides", multiple * 8, begin, lambda: f"make_tma_copy: the first bit of {name}"):
        what = f"make_tma_copy: {name} begins {begin / 8:g} bytes into its buffer"
        fix = f"align it to {multiple} bytes, or copy the tile that begins there"
        raise RangeError(what, f"a multiple of {multiple}", fix)


def _require_aligned(boxes: Layout, element: Element) -> None:
    """Require that every box begins at a multiple of 128 bytes of shared memory, as the instruction wants it."""
    for extent, step in zip(leaves(boxes.shape), leaves(boxes.stride)):
        if int(extent) > 1 and int(step) * element.bits % (BOX_BYTES * 8):
            what = f"make_tma_copy: boxes {int(step) * element.bits / 8:g} bytes apart in shared memory"
            raise RangeError(what, f"a multiple of {BOX_BYTES}", "use an atom of GMMA or UMMA, or rows without padding")


def tma_partition(
    tma: TMACopy, smem: object, gmem: object, cta: int = 0, ctas: Layout | None = None
) -> tuple[Tensor, Tensor]:
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
        fix = "write tma_partition(make_tma_copy(...), smem, gmem)"
        raise LeafTypeError(f"tma_partition of {shown(tma)}", "a TMACopy", fix)
    inside, outside = (shared_of("a partition", x, tma.element).inner for x in (smem, gmem))
    inverse = right_inverse(Layout(inside[0].shape, inside[0].stride))
    values = tile_to_shape(Layout((inverse.shape,), (inverse.stride,)), (size(inside[0]),))
    count = size(tma.gbasis)
    cut = logical_divide(coalesce(values), Layout(count, _1))
    start = 0 if ctas is None else _slice_of(cta, ctas) * (int(count) // int(cosize(ctas)))
    made = []
    for layout in (outside, inside):
        view = composition(layout[0], cut)
        boxes = [coalesce(m) for m in view]
        whole = beside(beside(*boxes), *[*layout][1:])
        made.append(MakeTensor(None, whole, offset=boxes[0](start) if start else _0))
    return made[0], made[1]


def _slice_of(cta: int, ctas: int | Layout) -> int:
    """The slice of a multicast tile that a CTA loads: its number among those that share it."""
    if not isinstance(ctas, Layout) or known(size(ctas)) is None:
        what = f"tma_partition with the CTAs {shown(ctas)}"
        raise LeafTypeError(what, "a layout of the CTAs that share it", "write parse('_4:_1')")
    count, n = int(size(ctas)), require_number("the CTA", cta)
    if not 0 <= n < count:
        raise RangeError(f"CTA {n} of {shown(ctas)}", f"0 to {count - 1}", "count CTAs from 0")
    return int(ctas(n))
