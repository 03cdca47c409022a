"""A block of an array in a Pallas kernel on TPU: whether it is legal, what it takes in VMEM and in registers,
what to change.

Source: memory references, registers and VMEM of kernels that libtpu 0.0.51 compiled for v2 to tpu7x
(tests/data/xla/blocks.json.gz and kernels.json.gz); what is refused: verdicts.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import RangeError, RankError, require_type
from ...core.ints import is_int
from ...core.leaf_arithmetic import ceil_div
from ..programs.targets import TARGETS, checked_target
from ..shapes.arguments import integers_of
from ..shapes.array_shape import BITS, unknown_type
from ..shapes.foreign import type_name
from . import verdicts
from .memref import MLIR_TYPES, MemRef
from .registers import LANES, SUBLANES, WORD, RegisterLayout
from .specs import extent_of

#: The buffers of a block take a multiple of this in VMEM [bytes].
GRAIN = 1024
#: The fewest lanes of an array whose tiles of narrow types have as many rows as a register holds.
_LARGE_LANES = 16
#: The sizes of elements that kernels have been compiled of. Those of 2 bits end libtpu 0.0.52 at many shapes [bits].
_SIZES = frozenset({4, 8, 16, 32})
#: Bytes of a vector register.
REGISTER_BYTES = SUBLANES * LANES * WORD // 8


@dataclass(frozen=True, slots=True)
class Block:
    """A block of an array, as a BlockSpec of Pallas cuts it. Its str() is an account of it.

    element_type   XLA's name
    array          the extents of the array [elements]
    extents        the extents of the block [elements]; None for a dimension that is squeezed
    target         the generation: v5e
    refused        why Pallas refuses it; empty where it is legal
    mosaic         why a kernel that Pallas takes is refused behind it, by Mosaic or XLA, when it loads and stores the
                   block; else empty
    memref         the memory reference that the kernel gets in VMEM
    registers      the layout of the block as a vector
    vregs          how many vector registers the whole block takes
    bytes          what one buffer takes in VMEM, padding included
    buffers        how many there are: 2 where the grid has more than one step, so that copies overlap with work
    waste          how many of the bytes of one buffer hold no element
    advice         what to change, most useful first
    """

    element_type: str
    array: tuple[int, ...]
    extents: tuple[int | None, ...]
    target: str
    refused: str
    mosaic: str
    memref: MemRef
    registers: RegisterLayout
    vregs: int
    bytes: int
    buffers: int
    waste: int
    advice: tuple[str, ...]

    @property
    def legal(self) -> bool:
        """Whether Pallas takes it."""
        return not self.refused

    @property
    def compiles(self) -> bool:
        """Whether a kernel that loads and stores it compiles."""
        return not (self.refused or self.mosaic)

    @property
    def vmem(self) -> int:
        """The bytes of its buffers in VMEM together: whole KiB, but for an array of one element of a byte or more."""
        grain = GRAIN if math.prod(self.array) > 1 or self.memref.bits < 8 else 1
        taken: int = ceil_div(self.bytes * self.buffers, grain) * grain
        return taken

    @property
    def capacity(self) -> int:
        """The size of VMEM [bytes]."""
        return TARGETS[self.target].capacity[verdicts.VMEM]

    @property
    def efficient(self) -> bool:
        """Whether it compiles and every lane of every register that it takes is full."""
        return self.compiles and self.vregs * REGISTER_BYTES * 8 == math.prod(self._kept()) * self.memref.bits

    def _kept(self) -> tuple[int, ...]:
        return tuple(n for n in self.extents if n is not None)

    def __str__(self) -> str:
        extents = ",".join("None" if n is None else str(n) for n in self.extents)
        lines = [
            f"block ({extents}) of {self.element_type}[{','.join(map(str, self.array))}]",
            f"legal      {'yes' if self.compiles else f'no: {self.refused or self.mosaic}'}",
            f"memref     {self.memref}",
            f"registers  {self.vregs} of vpad {self.registers}{', all full' if self.efficient else ''}",
            f"VMEM       {self.vmem:,} bytes ({self.vmem / self.capacity:.1%} of {self.target}'s): "
            f"{self.buffers} x {self.bytes:,}, {self.waste:,} of each hold nothing",
        ]
        return "\n".join([*lines, *(f"change     {text}" for text in self.advice)])


def block(
    element_type: Any,
    shape: Sequence[int],
    extents: Sequence[int | None],
    buffers: int | None = None,
    target: str = "v5e",
) -> Block:
    """Describe a block of an array in a Pallas kernel on TPU: BlockSpec(extents) of an array of `shape`.

    element_type   XLA's name, such as bf16, or a dtype; pred is kept as 32 bits in VMEM
    shape          of the array [elements]
    extents        of the block; None for a dimension of 1 that the kernel does not see; or Pallas's Blocked, Squeezed
    buffers        how many there are; by default 2, and 1 where one block covers the array
    target         the generation: v2 v3 v4 v5e v5p v6e tpu7x
    Raises         RankError where the two have different ranks, or none; RangeError for extents below 1, a type of more
                   than 32 bits or a generation that is not known

    >>> print(block("bf16", (512, 512), (256, 256)))
    block (256,256) of bf16[512,512]
    legal      yes
    memref     memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem, tc>>
    registers  32 of vpad 16,{0,0},(8,128), all full
    VMEM       262,144 bytes (0.2% of v5e's): 2 x 131,072, 0 of each hold nothing
    >>> small = block("f32", (100, 300), (4, 300))
    >>> small.legal, small.advice[0]
    (False, 'dimension 0: 8, or all 100')
    >>> block("f16", (512, 512), (256, 256)).mosaic
    'Mosaic loads no f16: convert it to bf16 or f32 before the kernel'

    The memory reference keeps a squeezed dimension as 1, and has the tiles of the array in HBM, whose dimensions are in
    row-major order. What the kernel computes may need more than loads and stores.

    Source: measured, see above.
    """
    element_type = type_name(element_type)
    dims, sizes = _checked(element_type, shape, extents)
    generation = checked_target(target) or "v5e"
    bits = 32 if element_type == "pred" else BITS[element_type]
    tiles = _tiles(bits, dims, sizes, generation in verdicts.FIRST)
    memref = MemRef(_mlir(element_type), tuple(n or 1 for n in sizes), tiles, None, "vmem", "tc")
    kept = tuple(n for n in sizes if n is not None)
    registers = RegisterLayout(bits, (0, 0), _tiling(memref, kept, bits), -2 if len(kept) == 1 else None)
    taken = _taken(memref, bits)
    count = buffers if buffers is not None else 1 if all((n or 1) >= m for n, m in zip(sizes, dims)) else 2
    if not is_int(count) or int(count) < 1:
        raise RangeError(f"{count!r:.40} buffers", "1 or more", "leave it out for what Pallas takes")
    refused = verdicts.of_pallas(bits, dims, sizes, int(count))
    advice = tuple(verdicts.advice(bits, dims, sizes, registers))
    vregs = registers.count(kept) if kept else 1
    waste = taken - ceil_div(math.prod(kept) * bits, 8)
    found = Block(
        element_type, dims, sizes, generation, refused, "", memref, registers, vregs, taken, int(count), waste, advice
    )
    if refused:
        return found
    return replace(found, mosaic=verdicts.of_mosaic(element_type, generation, dims, memref, found.vmem))


def _checked(element_type: Any, shape: Any, extents: Any) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    if not isinstance(element_type, str) or element_type not in BITS:
        raise RangeError(*unknown_type(element_type))
    if BITS[element_type] not in _SIZES and element_type != "pred":
        what = f"a block of {element_type}"
        raise RangeError(what, "elements of 4, 8, 16 or 32 bits", "convert the array first")
    dims = integers_of("the array's shape", shape)
    require_type(extents, (tuple, list), "a block of type", "a tuple of extents", "write (8, 128)")
    sizes = tuple(map(extent_of, extents))
    if len(sizes) != len(dims) or not dims:
        what = f"a block of {len(sizes)} extents for {len(dims)} dimensions"
        raise RankError(what, "as many, and one at least", "give one for each")
    if any(n is not None and n < 1 for n in sizes) or any(n < 1 for n in dims) or math.prod(dims) > 2**40:
        fix = "write 1 or more: None squeezes a dimension of 1"
        raise RangeError(f"a block {sizes} of {dims}", "extents of 1 or more, at most 2**40 elements", fix)
    if math.prod(n or 1 for n in sizes) > 2**40:
        raise RangeError(f"a block {sizes}", "at most 2**40 elements", "give a block that VMEM can hold")
    return dims, sizes


def _mlir(element_type: str) -> str:
    """MLIR's name of a type in kernels: integers have no sign there, and a truth value is one of 32 bits."""
    if element_type[0] in "su":
        return f"i{BITS[element_type]}"
    return "i32" if element_type == "pred" else next(m for m, name in MLIR_TYPES.items() if name == element_type)


def _tiles(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...], first: bool) -> tuple[tuple[int, ...], ...]:
    """The tiles of a block in VMEM: those of its array in HBM.

    first   whether the generation is one of the first, whose words of several rows are two at least
    """
    packing, more = WORD // bits, 2 if first else 1
    parts: tuple[tuple[int, ...], ...] = ((packing, 1),) if packing > 1 else ()
    if len(dims) < 2:
        return ((LANES * packing * more,), *(((LANES,), *parts) if parts else ()))
    rows, large = dims[-2], SUBLANES * packing
    if packing >= 4 and not first and not rows % large and not (sizes[-2] or 1) % large and dims[-1] >= _LARGE_LANES:
        return ((large, LANES), *parts)
    return ((_row_count(rows, packing * more), LANES), *parts)


def _tiling(memref: MemRef, kept: tuple[int, ...], bits: int) -> tuple[int, int]:
    """The tile of the vector that the kernel gets: that of the memory where its rows fill a register, else what
    its own rows need."""
    if len(kept) < 2:
        return 1, LANES * (WORD // bits)
    large = memref.tiles[0][0] > SUBLANES and kept[-2:] == memref.dimensions[-2:]
    return (memref.tiles[0][0] if large else _row_count(kept[-2], WORD // bits), LANES)


def _row_count(rows: int, packing: int) -> int:
    """The rows of a tile: the fewest of 1, 2, 4, 8 that hold all, and whole words."""
    return next((k for k in (1, 2, 4) if rows <= k >= packing), SUBLANES)


def _taken(memref: MemRef, bits: int) -> int:
    dims = tuple(n or 0 for n in memref.dimensions)
    tile = memref.tiles[0] if memref.tiles else ()
    left = len(dims) - len(tile)
    padded = math.prod(dims[:left]) * math.prod(ceil_div(n, t) * t for n, t in zip(dims[left:], tile))
    taken: int = ceil_div(padded * bits, 8)
    return taken
