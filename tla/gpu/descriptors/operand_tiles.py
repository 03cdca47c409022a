"""Operands that a matrix instruction reads from shared memory: whether descriptors say where their tiles are.

Source: the PTX manual, "Matrix descriptor format" of wgmma and of tcgen05; CuTe's `make_fragment_A` of `GMMA::smem_desc`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra.flat_modes import flat_modes
from ...core.element import Element, uint8
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import rank, shown
from ...core.ints import is_constant, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import add
from ...tensors.tensor import Tensor
from ..instructions.atom import MMAAtom
from .canonical import UNIT_BITS, Swizzled
from .descriptor import TCGEN05, WGMMA, Descriptor
from .matrix_descriptor import descriptor_steps, descriptor_strides, swizzled_parts
from .vectors import is_multiple

_GENERATIONS = {"sm90": WGMMA, "sm100": TCGEN05, "sm103": TCGEN05}


class Tiles(NamedTuple):
    """The tiles of an operand that one instruction each reads.

    descriptor   of a tile at byte 0
    start        where the first one begins [elements of the buffer]
    steps        from it to each: of the partition's modes, the first of extent 1 [16 bytes]
    """

    descriptor: Descriptor
    start: Any
    steps: Layout


def require_tiles(where: str, atom: MMAAtom, side: str, part: Tensor) -> Tiles:
    """Require that a descriptor says where each tile of an operand's partition (MMA, rest ...) is.

    where   the operation, for messages;  side  "A" or "B";  part  what partition_A or partition_B gives, of threads or of a symbol
    Raises  what wgmma_descriptor and umma_descriptor do: DivisibilityError where tiles are not canonical, or of another major than the
            instruction's; RangeError where one begins at no multiple of 16 bytes, or the buffer at none of the swizzle's pattern;
            LeafTypeError for a tensor in another memory. Of symbols that is proved, or recorded by assuming(); else Unproven
    Returns the tiles, as a kernel's text has them

    >>> from tla import MakeTensor, parse, tile_to_shape, _32, _64
    >>> from tla.gpu import GMMA, SM90_64x64x16_F32F16F16_SS, half, make_tiled_mma
    >>> own = make_tiled_mma(SM90_64x64x16_F32F16F16_SS)[0]
    >>> tiles = require_tiles("gemm", own.mma.atom, "A", own.partition_A(tile_to_shape(GMMA.K_SW64[half], (_64, _32))))
    >>> print(hex(tiles.descriptor.bits), tiles.start, tiles.steps)
    0x8000002000010000 _0 (_1,_1,_2):(_0,_0,_2)
    >>> require_tiles("gemm", own.mma.atom, "A", own.partition_A(parse("(_64,_32):(_32,_1)")))
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: gemm, A of ...: (_64,_16):(_32,_1) is not canonical: rows 0 and 1 of mode 0 are 64 bytes apart
      expected  16 bytes, as in ((_8,n),_16):((_8,SBO),...) of no swizzle
      fix       tile GMMA.K_INTER[half] to the shape of the buffer

    Source: CuTe `make_gmma_desc`, `make_umma_desc`.
    """
    where, element = f"{where}, {side} of {atom.name}", _stored_element(atom, side)
    if part.position not in (None, "smem"):
        what = f"{where}, which is read from shared memory: a tensor in {part.position}"
        raise LeafTypeError(what, "position='smem'", "copy it to shared memory first")
    generation, major = _GENERATIONS[atom.arch], getattr(atom, f"major_{side}")
    parts = swizzled_parts(generation, where, part.layout, major, element)
    parts = parts._replace(inner=_stored(parts.inner)) if atom.sparsity and side == "A" else parts
    one = parts.inner[0] if rank(parts.inner) > 1 else parts.inner
    lbo, sbo = descriptor_strides(generation, where, parts._replace(inner=one), major, element)
    descriptor = Descriptor(generation, major, parts.mode, 0, lbo, sbo)  # which refuses what its fields do not hold
    steps = descriptor_steps(parts.inner, element) if rank(parts.inner) > 1 else Layout(static(1), static(0))
    _require_starts(where, part, parts, element)
    return Tiles(descriptor, add(part.offset, parts.offset), steps)


def _stored_element(atom: MMAAtom, side: str) -> Element:
    """The type of an operand's elements as they lie in shared memory: those below a byte of kinds that mix widths have one each."""
    return uint8 if atom.kind.endswith("f8f6f4") else atom.element(side)


def _stored(part: Layout) -> Layout:
    """The layout of what is stored of a sparse A's partition: without the modes of stride 0 that elements of the whole share."""
    tile, rest = (part[0], [*part][1:]) if rank(part) > 1 else (part, [])
    tile = tile[0] if rank(tile) == 1 else tile
    kept = [(n, d) for n, d in flat_modes(tile[1]) if not is_constant(0, d)]
    first = Layout((tile[0].shape, tuple(n for n, _d in kept)), (tile[0].stride, tuple(d for _n, d in kept)))
    return Layout((first.shape, *(x.shape for x in rest)), (first.stride, *(x.stride for x in rest)))


def _require_starts(where: str, part: Tensor, parts: Swizzled, element: Element) -> None:
    """Require that tiles begin at multiples of 16 bytes, and what a swizzle repeats over at one of the buffer's."""
    remainder, modulus = part.memory.address(part.data)
    pattern = parts.mode.pattern
    if remainder % pattern or modulus % pattern:
        begins = f"byte {remainder}" if remainder % pattern else f"a multiple of {modulus} bytes"
        what = f"{where}: a buffer at {begins} under {parts.mode.name}"
        fix = f"align the buffer: MakeTensor(..., alignment={pattern})"
        raise RangeError(what, f"a multiple of {pattern} bytes, the pattern of the swizzle", fix)
    for start, least in ((part.offset, pattern), (parts.offset, UNIT_BITS // 8)):
        if not is_multiple(least * 8 // element.bits, start, lambda: f"{where}, tiles of shared memory"):
            raise RangeError(
                f"{where}: a tile at element {shown(start)}", f"a multiple of {least} bytes", "begin it at a whole core matrix"
            )
