"""Tiles that TMA moves, mbarriers, and the words that order both with threads, as Gluon's text.

One thread of the compiler's code states each of them, as of CUDA's; the launch makes the tensor maps.

Source: triton.experimental.gluon.language.nvidia.hopper of Triton 3.9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.int_tuple import leaves, product_each, size
from ...core.ints import known
from ...core.layout import Layout
from ...core.leaf_arithmetic import add
from ...gpu.descriptors.tensor_map import TensorMap
from ...linear.triton import NVMMASharedLayout
from ..block.lines import Line
from ..program.statements import Load, Order, Signal
from ..proofs.bounds import coordinate
from ..tiles.tiles import refused, stage_of
from .gluon_layouts import MATRIX, layout_text
from .gluon_tiles import Tiles

#: The words about an mbarrier -> their text, of the mbarrier and a number.
SIGNALS = {
    "set_barrier_transaction_bytes": "mbarrier.expect({0}, {1})",
    "arrive_barrier": "mbarrier.arrive({0}, count={2})",  # one thread for all
    "wait_barrier": "mbarrier.wait({0}, {1})",
    "umma_arrive": "tcgen05_commit({0})",
}
#: The words that order asynchronous copies and products; those without a text are the compiler's.
ORDERS = {
    "cp_async_fence": "async_copy.commit_group()",
    "cp_async_wait": "async_copy.wait_group({})",
    "fence_view_async_shared": "fence_async_shared()",
    "fence_view_async_tmem_load": "",
    "tma_store_arrive": "",  # of each store its own group
    "tma_store_wait": "tma.store_wait({})",
    "warpgroup_arrive": "",  # as the three that follow, of warpgroup_mma and its wait
    "warpgroup_commit_batch": "",
    "warpgroup_wait": "",
}


class Map(NamedTuple):
    """A tensor map that the launch makes: of an argument, whose mode `inner` is contiguous, by tiles of a block."""

    argument: str
    inner: int
    block: tuple[int, ...]
    layout: NVMMASharedLayout
    made: TensorMap


class Loads(Tiles):
    """The text of loads and stores by TMA, and of mbarriers."""

    def signal(self, s: Signal) -> None:
        """A statement about an mbarrier."""
        if s.mask is not None:
            what = f"{s.word} at mbarriers of other blocks"
            raise refused(s.line, what, "mbarriers of the block itself", "use target 'cuda'")
        if s.word == "initialize_barrier":
            for k in range(int(size(s.barriers.shape))):
                self.put(f"mbarrier.init({self._mbarrier(s, k)}, count={s.number})")
            return
        if s.word == "arrive_barrier":
            self.put("block_barrier()")  # one thread arrives for all: they have come so far
        at, number = map(self.narrow, self.scalars([s.at, s.number]))
        self.put(SIGNALS[s.word].format(self._mbarrier(s, at), number, self.program.threads))

    def _mbarrier(self, s: Signal | Load, at: object) -> str:
        number = next(k for k, t in enumerate(self.program.shared) if s.barriers and t.data is s.barriers.data)
        return f"smem{number}.index({at})"

    def load(self, s: Load) -> None:
        """A tile that TMA loads or stores: all of one stage of a tensor in shared memory."""
        if s.mask is not None or s.step.tma.operation not in ("SM90_TMA_LOAD", "SM90_TMA_STORE"):
            what, fix = "a load to several blocks of a cluster", "use target 'cuda'"
            raise refused(s.line, what, "a load of the block's own: SM90_TMA_LOAD", fix)
        outside, inside = (s.target, s.source) if s.step.stores else (s.source, s.target)
        name = self.program.argument_of(outside.tensor)
        assert name is not None
        block = [int(size(m)) for m in product_each(outside.tensor.shape)]
        start = coordinate(outside.places, 0)  # type: ignore[arg-type]
        inner = self._inner(s.line, name, outside.places, block, start)
        number, stage = stage_of(self.program, s.line, inside.tensor)
        made = self._shared(number)
        is_matrix = isinstance(made, NVMMASharedLayout) and made.rank == len(block) == MATRIX
        if not is_matrix or block != self._allocated(number)[1] or made.transposed != (inner == 0):
            what = f"a tile of {tuple(block)} of {name} to smem{number} of {self.program.shared[number].layout}"
            fix = "take tile_to_shape(GMMA.K_SW128[...], ...) of the whole tile, or target 'cuda'"
            raise refused(s.line, what, "a whole tile that lies as Triton's NVMMASharedLayout", fix)
        order = (0, 1) if inner else (1, 0)
        there = replace(made, transposed=False)
        of = Map(name, inner, tuple(block[d] for d in order), there, s.step.tma.map)
        if of not in self.maps:
            self.maps.append(of)
        wanted = [*(start[d] for d in order), s.at, 0 if stage is None else stage]
        *coordinates, at, stage_text = map(self.narrow, self.scalars(wanted))
        text = f"smem{number}" + (f".index({stage_text})" if stage is not None else "")
        text += "" if inner else ".permute((1, 0))"
        given = f"map{self.maps.index(of)}, [{', '.join(coordinates)}]"
        if s.step.stores:
            self.put(f"tma.async_store({given}, {text})")
        else:
            self.put(f"tma.async_load({given}, {self._mbarrier(s, at)}, {text})")

    def _inner(self, line: Line, name: str, places: Any, block: Sequence[int], start: Sequence[Any]) -> int:
        """The contiguous mode of an argument; refuse one that is no matrix whose modes the tile's go along."""
        layout = self.program.arguments[name].layout
        last = [n - 1 for n in block]
        far = [known(add(x, -y)) for x, y in zip(coordinate(places, math.prod(block) - 1), start)]
        near = [known(add(x, -y)) for x, y in zip(coordinate(places, last[0]), start)]
        if not isinstance(layout, Layout) or len(block) != MATRIX or far != last or near != [last[0], 0]:
            what = f"a tile of {name} of {layout} by TMA"
            raise refused(line, what, "a tile of a matrix", "view it as a matrix, or use target 'cuda'")
        return 1 if known([*leaves(layout.stride)][1]) == 1 else 0

    def ordered(self, s: Order) -> None:
        """A word that orders asynchronous copies."""
        if s.word == "tma_store_wait" and s.pending:
            fix = "write tma_store_wait[0](), or use target 'cuda'"
            raise refused(s.line, "a wait that leaves stores under way", "a wait for all of them", fix)
        if ORDERS[s.word]:
            self.put(ORDERS[s.word].format(s.pending))

    def descriptor(self, of: Map) -> tuple[list[Any], str]:
        """The sizes and strides of a tensor map, and its text by the texts of these."""
        layout = self.program.arguments[of.argument].layout
        order = (0, 1) if of.inner else (1, 0)
        sizes = [[*leaves(x)][d] for x in (layout.shape, layout.stride) for d in order]
        text = f"TensorDescriptor({of.argument}, [{{}}, {{}}], [{{}}, {{}}], {[*of.block]}, {layout_text(of.layout)})"
        return sizes, text
