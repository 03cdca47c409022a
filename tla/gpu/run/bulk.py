"""Tiles that TMA loads and stores: the contract of a copy by a tensor map, and the copy on numpy.

A thread asks for the boxes of a tile, and the hardware moves them: elements past the end of the global tensor come as
zeros, and are not stored. Asked is that the tile is one of the tensor that the map is of, cut as it was made for, and
that shared memory lies as that did.

Source: CuTe include/cute/atom/copy_traits_sm90_tma.hpp; the PTX manual, "cp.async.bulk.tensor".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.composed import ComposedLayout, innermost
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import leaves, product_each, rank, shown, size
from ...core.ints import known
from ...core.layout import Layout
from ...core.questions import equal, require
from ...tensors.make_tensor import MakeTensor, as_tensor
from ...tensors.tensor import Tensor, require_data
from ...tensors.views import local_tile
from ..descriptors.tma import BOX_BYTES, OF_PAIRS, TMACopy
from .sides import memory_of
from .values import read, valid_of, write

#: What loads and stores a tile; of several CTAs that share one each loads a part, which is a tile of its own.
_OPERATIONS = "SM90_TMA_LOAD", "SM90_TMA_STORE", "SM90_TMA_LOAD_MULTICAST", *OF_PAIRS


@dataclass(frozen=True)
class BulkStep:
    """A load or a store of a tile that a tensor map can say. bulk_facts makes one.

    tma      the TMACopy
    source   the tile that is read: of a load in global memory, of a store in shared memory
    target   the tile that is written

    >>> import numpy as np
    >>> from tla import MakeTensor, local_tile, parse
    >>> from tla.gpu import bulk_facts, make_tma_copy
    >>> a = MakeTensor(np.zeros(64 * 64, np.float16), parse("(64,64):(64,_1)"))
    >>> b = MakeTensor(np.zeros(32 * 64, np.float16), parse("(_32,_64):(_64,_1)"))
    >>> step = bulk_facts(make_tma_copy("SM90_TMA_LOAD", a, b), local_tile(a, (32, 64), (1, 0)), b)
    >>> print(step.source.offset, step.bytes)
    2048 4096

    Source: CuTe `copy(TMA, src, dst)`.
    """

    tma: TMACopy
    source: Tensor
    target: Tensor

    @property
    def stores(self) -> bool:
        """Whether it goes from shared to global memory."""
        return self.tma.operation == "SM90_TMA_STORE"

    @property
    def bytes(self) -> int:
        """The bytes that its mbarrier counts."""
        return int(size(self.target.shape)) * self.tma.element.bits // 8


def bulk_facts(tma: TMACopy, source: Tensor, target: Tensor) -> BulkStep:
    """The load or the store of a tile by a tensor map, if the map can say it; nothing is copied.

    tma      what make_tma_copy("SM90_TMA_LOAD", gmem, smem) gave, or with "SM90_TMA_STORE"
    source   of a load a tile of gmem, of the tile's shape: `local_tile(gmem, tile, coord)`; what is not valid of it is
             zero in the target. Of a store a tile of shared memory
    target   of a load a tile of shared memory that lies as smem does, whole patterns of its swizzle further on: a stage
             of it. Of a store a tile of gmem; what is not valid of it is not written
    Raises   LeafTypeError for other operations, tensors, memories and types; RankError for a tile of another shape;
             RangeError for shared memory that lies otherwise, or begins between two patterns. Of symbols Unproven, or
             assuming() records the condition

    >>> import numpy as np
    >>> from tla import MakeTensor, local_tile, parse
    >>> from tla.gpu import bulk_facts, make_tma_copy
    >>> a, b = (MakeTensor(np.zeros(64 * 64, np.float16), parse("(_64,_64):(_64,_1)")) for _k in range(2))
    >>> bulk_facts(make_tma_copy("SM90_TMA_LOAD", a, b), local_tile(a, (32, 64), (1, 0)), b)
    Traceback (most recent call last):
    tla.core.errors.RankError: a load by TMA of a tile of (32,64)
      expected  the tile that the map is for, (_64,_64)
      fix       write local_tile(gmem, tile, coord) with the tile of make_tma_copy

    Source: CuTe `copy(TMA, src, dst)`; the PTX manual, "cp.async.bulk.tensor".
    """
    if not isinstance(tma, TMACopy) or tma.operation not in _OPERATIONS or int(size(tma.TV[0])) > 1:
        given = f"a copy of a tile by {tma.operation if isinstance(tma, TMACopy) else shown(tma)}"
        others = "SM90_TMA_STORE, or one of a cluster with one part of a tile"
        fix = "make it of the part that one CTA loads, without cluster="
        raise LeafTypeError(given, f"make_tma_copy('SM90_TMA_LOAD', gmem, smem), {others}", fix)
    step = BulkStep(tma, as_tensor("a copy by TMA", source), as_tensor("a copy by TMA", target))
    where = f"a {'store' if step.stores else 'load'} by TMA"
    outside, inside = (step.target, step.source) if step.stores else (step.source, step.target)
    for t, wanted in ((outside, ("gmem", None)), (inside, ("smem", None))):
        if memory_of(t) not in wanted:
            fix = "load from global memory to shared memory, store from shared to global memory"
            raise LeafTypeError(f"{where}: a tensor in {memory_of(t)}", f"one in {wanted[0]}", fix)
    if outside.dtype != inside.dtype or (outside.dtype is not None and 8 * outside.dtype.itemsize != tma.element.bits):
        what = f"{where} of {step.source.dtype} to {step.target.dtype}, of elements of {tma.element.bits} bits"
        raise LeafTypeError(what, "one type, that of the map", "make the map of this tensor")
    _require_tile(where, tma, outside)
    _require_shared(where, tma, inside)
    return step


def _require_tile(where: str, tma: TMACopy, source: Tensor) -> None:
    """Require a tile of the map's tensor, which goes along its modes as the map does."""
    if isinstance(tma.gmem, Tensor) and tma.gmem.data is not source.data:
        expected = "a tile of the tensor that the map is of"
        raise LeafTypeError(f"{where} of a tile of another tensor", expected, "make a map of it too")
    whole = tma.gmem if isinstance(tma.gmem, Tensor) else MakeTensor(None, tma.gmem)
    wanted = local_tile(whole, tma.tiler_mn, (0,) * rank(tma.tiler_mn)).layout
    if [*map(known, leaves(source.shape))] != [*map(known, leaves(wanted.shape))]:
        what, expected = f"{where} of a tile of {shown(source.shape)}", "the tile that the map is for"
        fix = "write local_tile(gmem, tile, coord) with the tile of make_tma_copy"
        raise RankError(what, f"{expected}, {shown(wanted.shape)}", fix)
    if not isinstance(source.layout, Layout) or not _same_strides(source.layout, wanted):
        what = f"{where} of a tile that lies as {shown(source.layout)}"
        raise RangeError(what, f"{shown(wanted)}, as the map goes", "write local_tile(gmem, tile, coord)")


def _require_shared(where: str, tma: TMACopy, target: Tensor) -> None:
    """Require that shared memory lies as the map's does, from the beginning of a pattern of its swizzle on."""
    mine, theirs = innermost(target.layout), innermost(tma.smem)
    swizzles = [x.outer if isinstance(x, ComposedLayout) else None for x in (target.layout, tma.smem)]
    if swizzles[0] != swizzles[1] or not _same_strides(mine, theirs):
        what = f"{where}: shared memory {shown(target.layout)}"
        fix = "give a stage of the shared memory that the map is made for"
        raise RangeError(what, f"{shown(tma.smem)}, as the map writes it", fix)
    multiple = max(tma.map.mode.pattern, BOX_BYTES)
    inside = target.layout.offset if isinstance(target.layout, ComposedLayout) else 0
    begins = f"{where}: where its shared memory begins"
    for start in (target.offset, inside):
        if not require("divides", multiple * 8, start * tma.element.bits, lambda: begins):
            what = f"{where}, whose shared memory begins at element {shown(start)}"
            raise RangeError(what, f"a multiple of {multiple} bytes", "make each stage a multiple of them")


def _same_strides(a: Layout, b: Layout) -> bool:
    """Whether two layouts go through as many elements by the same steps."""
    sides = [[(n, d) for n, d in zip(leaves(x.shape), leaves(x.stride)) if known(n) != 1] for x in (a, b)]
    if len(sides[0]) != len(sides[1]) or len(product_each(a.shape)) != len(product_each(b.shape)):
        return False
    return all(equal(n, m) is True and equal(d, e) is True for (n, d), (m, e) in zip(*sides))


def run_bulk(step: BulkStep, *targets: Tensor) -> None:
    """Execute the load or the store of a tile on numpy: past the global tensor's end are zeros, or nothing is written.

    targets   of a load to several blocks the tiles that are written, which lie as the step's target; none for that one

    >>> import numpy as np
    >>> from tla import MakeTensor, local_tile, parse
    >>> from tla.gpu import bulk_facts, make_tma_copy, run_bulk
    >>> a = MakeTensor(np.ones(40 * 64, np.float16), parse("(40,64):(64,_1)"))
    >>> b = MakeTensor(np.full(32 * 64, 7, np.float16), parse("(_32,_64):(_64,_1)"))
    >>> run_bulk(bulk_facts(make_tma_copy("SM90_TMA_LOAD", a, b), local_tile(a, (32, 64), (1, 0)), b))
    >>> b.data.sum(), 8 * 64
    (np.float16(512.0), 512)

    Raises LeafTypeError for tensors without buffers. Source: the PTX manual, "Tensors", "Out-of-boundary access".
    """
    import numpy as np

    where = "a copy by TMA"
    for t in (step.source, step.target):
        require_data(where, t)
    if step.stores:
        write(where, step.target, read(where, step.source, None), valid_of(step.target))
        return
    valid: Any = valid_of(step.source)
    moved = read(where, step.source, valid)
    values = np.where(valid, moved, np.zeros((), moved.dtype))
    for target in targets or (step.target,):
        write(where, target, values)
