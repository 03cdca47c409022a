"""A block of an array in a Pallas kernel on TPU: whether it is legal, what it takes in VMEM and in registers, what to change.

Source: JAX jax/_src/pallas/mosaic/lowering.py, _check_block_mappings; memory references, registers and VMEM of kernels that libtpu
0.0.51 compiled for v4 to v6e (tests/data/xla/blocks.json.gz).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.ints import is_int, leaf
from ...core.leaf_arithmetic import ceil_div
from ..shapes.arguments import integers_of
from ..shapes.array_shape import BITS, ArrayLayout, unknown_type
from ..shapes.default import default_layout
from ..shapes.foreign import type_name
from .memref import MLIR_TYPES, MemRef
from .registers import LANES, SUBLANES, WORD, RegisterLayout

#: The buffers of a block take a multiple of this in VMEM [bytes].
GRAIN = 1024
# The layout of arrays of 8 bits whose rows 32 divides.
_LARGE = ArrayLayout((1, 0), ((32, 128), (4, 1)))
#: Bytes of a vector register.
REGISTER_BYTES = SUBLANES * LANES * WORD // 8


@dataclass(frozen=True, slots=True)
class Block:
    """A block of an array, as a BlockSpec of Pallas cuts it. Its str() is an account of it.

    element_type   XLA's name
    array          the extents of the array [elements]
    extents        the extents of the block [elements]; None for a dimension that is squeezed
    refused        why Pallas refuses it; empty where it is legal
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
    refused: str
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
    def vmem(self) -> int:
        """The size of its buffers in VMEM together [bytes]."""
        taken: int = ceil_div(self.bytes * self.buffers, GRAIN) * GRAIN
        return taken

    @property
    def efficient(self) -> bool:
        """Whether it is legal and every lane of every register that it takes is full."""
        return self.legal and self.vregs * REGISTER_BYTES * 8 == math.prod(self._kept()) * self.memref.bits

    def _kept(self) -> tuple[int, ...]:
        return tuple(n for n in self.extents if n is not None)

    def __str__(self) -> str:
        extents = ",".join("None" if n is None else str(n) for n in self.extents)
        lines = [
            f"block ({extents}) of {self.element_type}[{','.join(map(str, self.array))}]",
            f"legal      {'yes' if self.legal else f'no: {self.refused}'}",
            f"memref     {self.memref}",
            f"registers  {self.vregs} of vpad {self.registers}{', all full' if self.efficient else ''}",
            f"VMEM       {self.vmem:,} bytes: {self.buffers} x {self.bytes:,}, {self.waste:,} of each hold nothing",
        ]
        return "\n".join([*lines, *(f"change     {text}" for text in self.advice)])


def block(element_type: Any, shape: Sequence[int], extents: Sequence[int | None], buffers: int | None = None) -> Block:
    """Describe a block of an array in a Pallas kernel on TPU: BlockSpec(extents) of an array of `shape`.

    element_type   XLA's name, such as bf16, or a dtype; pred is kept as 32 bits in VMEM
    shape          of the array [elements]
    extents        of the block; None for a dimension of 1 that the kernel does not see
    buffers        how many there are; by default 2, and 1 where one block is the whole array
    Raises         RankError where the two have different ranks, or none; RangeError for extents below 1 or a type of more than 32 bits

    >>> print(block("bf16", (512, 512), (256, 256)))
    block (256,256) of bf16[512,512]
    legal      yes
    memref     memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>
    registers  32 of vpad 16,{0,0},(8,128), all full
    VMEM       262,144 bytes: 2 x 131,072, 0 of each hold nothing
    >>> small = block("f32", (100, 300), (4, 300))
    >>> small.legal, small.advice[0]
    (False, 'dimension 0: 8, or all 100')

    The rule is that of the memory: the last two extents are multiples of (8, 128), or whole, for every type; a single one is whole, a
    multiple of 1024, or a power of two from 128 * (32 / bits) on. What the kernel computes may need more.

    Source: JAX jax/_src/pallas/mosaic/lowering.py, _check_block_mappings; measured, see above.
    """
    element_type = type_name(element_type)
    dims, sizes = _checked(element_type, shape, extents)
    mlir = "i32" if element_type == "pred" else _mlir(element_type)
    kept = tuple(n for n in sizes if n is not None)
    bits = 32 if element_type == "pred" else BITS[element_type]
    memref = MemRef(mlir, kept, _tiles(element_type, bits, dims, kept), None, "vmem")
    registers = RegisterLayout(bits, (0, 0), _tiling(memref, bits), -2 if len(kept) == 1 else None)
    taken = _taken(memref, bits)
    count = buffers if buffers is not None else 1 if all(n == m or (n is None and m == 1) for n, m in zip(sizes, dims)) else 2
    if not is_int(count) or int(count) < 1:
        raise RangeError(f"{count!r:.40} buffers", "1 or more", "leave it out for what Pallas takes")
    refused, advice = _refused(bits, dims, sizes), tuple(_advice(bits, dims, sizes, registers))
    vregs = registers.count(kept) if kept else 1
    waste = taken - ceil_div(math.prod(kept) * bits, 8)
    return Block(element_type, dims, sizes, refused, memref, registers, vregs, taken, int(count), waste, advice)


def _checked(element_type: Any, shape: Any, extents: Any) -> tuple[tuple[int, ...], tuple[int | None, ...]]:
    if not isinstance(element_type, str) or element_type not in BITS:
        raise RangeError(*unknown_type(element_type))
    if WORD % BITS[element_type] or element_type not in MLIR_TYPES.values():
        raise RangeError(f"a block of {element_type}", "elements of 32 bits or less, that divide 32", "convert the array first")
    dims = integers_of("the array's shape", shape)
    if not isinstance(extents, (tuple, list)):
        raise LeafTypeError(f"a block of type {type(extents).__name__}", "a tuple of extents", "write (8, 128)")
    sizes = tuple(None if n is None else int(leaf(n)) for n in extents)
    if len(sizes) != len(dims) or not dims:
        raise RankError(f"a block of {len(sizes)} extents for {len(dims)} dimensions", "as many, and one at least", "give one for each")
    if any(n is not None and n < 1 for n in sizes) or any(n < 1 for n in dims) or math.prod(dims) > 2**40:
        raise RangeError(
            f"a block {sizes} of {dims}", "extents of 1 or more, at most 2**40 elements", "write 1 or more: None squeezes a dimension of 1"
        )
    if math.prod(n or 1 for n in sizes) > 2**40:
        raise RangeError(f"a block {sizes}", "at most 2**40 elements", "give a block that VMEM can hold")
    return dims, sizes


def _mlir(element_type: str) -> str:
    """MLIR's name of a type in kernels: integers have no sign there."""
    return f"i{BITS[element_type]}" if element_type[0] in "su" else next(m for m, name in MLIR_TYPES.items() if name == element_type)


def _tiles(element_type: str, bits: int, dims: tuple[int, ...], kept: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """The tiles of a block in VMEM: those that the compiler has for an array of its extents, 32 rows where the array has them."""
    packing = WORD // bits
    parts: tuple[tuple[int, ...], ...] = ((packing, 1),) if packing > 1 else ()
    if len(kept) < 2:
        return ((LANES * packing,), *(((LANES,), *parts) if parts else ())) if kept else ()
    rows = kept[-2]
    tile = next((k for k in (1, 2, 4) if rows <= k and k >= packing), SUBLANES)
    if bits == 8 and rows % 32 == 0 and default_layout(element_type, dims[-2:]).effective_layout == _LARGE:
        tile = 32
    return ((tile, LANES), *parts)


def _tiling(memref: MemRef, bits: int) -> tuple[int, int]:
    return (1, LANES * (WORD // bits)) if len(memref.dimensions) < 2 else (memref.tiles[0][0], LANES)


def _taken(memref: MemRef, bits: int) -> int:
    dims = tuple(n or 0 for n in memref.dimensions)
    tile = memref.tiles[0] if memref.tiles else ()
    left = len(dims) - len(tile)
    padded = math.prod(dims[:left]) * math.prod(ceil_div(n, t) * t for n, t in zip(dims[left:], tile))
    taken: int = ceil_div(padded * bits, 8)
    return taken


def _refused(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...]) -> str:
    """The reason that Pallas refuses a block."""
    wrong = [f"dimension {d}: {sizes[d] or 1} of {dims[d]}" for d, _fix in _faults(bits, dims, sizes)]
    if not wrong:
        return ""
    rule = "multiples of (8, 128), or whole" if len(dims) > 1 else f"whole, n * 1024, or a power of two of {LANES * WORD // bits} or more"
    return f"{', '.join(wrong)}: the last extents have to be {rule}"


def _faults(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...]) -> Iterator[tuple[int, str]]:
    """Each extent that Pallas refuses, with those next to it that it takes."""
    if len(dims) == 1:
        n, least = sizes[0] or 1, LANES * WORD // bits
        if not (n == dims[0] or n % 1024 == 0 or (n >= least and n & (n - 1) == 0)):
            yield 0, _next(n, 1024 if n > 1024 else least, dims[0])
        return
    for d, unit in ((-2, SUBLANES), (-1, LANES)):
        n = sizes[d] or 1
        if n != dims[d] and n % unit:
            yield len(dims) + d, _next(n, unit, dims[d])


def _next(n: int, unit: int, whole: int) -> str:
    """The extents near n that are multiples of a unit, and the whole dimension."""
    near = sorted({k for k in (n // unit * unit, ceil_div(n, unit) * unit) if 0 < k < whole})
    return " or ".join([f"{', '.join(map(str, near))},"] if near else []) + (" or " if near else "") + f"all {whole}"


def _advice(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...], registers: RegisterLayout) -> Iterator[str]:
    faults = [*_faults(bits, dims, sizes)]
    yield from (f"dimension {d}: {fix}" for d, fix in faults)
    kept = [(d, n) for d, n in enumerate(sizes) if n is not None]
    for (d, n), unit in zip(reversed(kept), reversed(registers.register)):
        if n % unit and d not in {f for f, _ in faults}:
            up = ceil_div(n, unit) * unit
            end = f"{up}, which the array does not reach: pad it" if up > dims[d] else str(up)
            yield f"dimension {d}: {n} fills {n % unit} of the last {unit} that a register holds; full with {end}"
