"""Descriptors of tiles and operands, derived from their layout: LBO and SBO, or the first stride not canonical.

In units of 16 bytes, T elements, a tile that a descriptor can say has one of these layouts, W being 1, 2, 4 or 8 units:

    K-major    ((8,n),(T,2)) : ((W,SBO),(1,LBO))     LBO is 1 where there is a swizzle
    MN-major   ((T,W,n),(8,k)) : ((1,1,LBO),(W,SBO))  of no swizzle: ((T,1,n),(8,k)) : ((1,_,SBO),(1,LBO))

Source: the PTX manual, "Canonical layouts" of wgmma and of tcgen05; CuTe make_gmma_desc, make_umma_desc,
`make_fragment_A` of `GMMA::smem_desc`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algebra.divide import logical_divide
from ...algebra.flat_modes import flat_modes
from ...algebra.recast import upcast
from ...core.element import Element, uint8
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError, TlaError, Unproven
from ...core.int_tuple import rank, shown, size
from ...core.ints import Int, IntLike, IntTree, is_constant, is_int, known, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import add
from ...core.profiles import congruent
from ...core.questions import require
from ...tensors.tensor import Tensor
from ..instructions.atom import Major, MMAAtom, beside
from ..instructions.elements import element_of, require_number
from .canonical import ROWS, UNIT_BITS, Mode, Swizzled, taken_apart
from .descriptor import TCGEN05, WGMMA, Descriptor, Generation, as_major
from .vectors import is_multiple

_1 = static(1)


def wgmma_descriptor(tile: object, major: object, element: object = None, *, base: int = 0) -> Descriptor:
    """The descriptor of wgmma (SM90) for one instruction's tile of A or B in shared memory.

    tile      a tensor or layout (MN, K) of what one instruction reads: K is 32 bytes of it (16 or 64 where A is
              sparse). It may be the first mode of a partition, `part[_, 0, 0]`
    major     "K" or "MN": the contiguous mode
    element   the element type; of a tensor with a buffer, that of its dtype
    base      the address of the buffer in shared memory [bytes]; a multiple of the swizzle's pattern
    Returns   Descriptor, with `bits` and every field
    Raises    DivisibilityError where the layout is not canonical, with the first stride that differs; RankError;
              RangeError for a field that does not hold its value, or a misaligned base; Unproven where sizes or strides
              are not static

    A tile may overlap itself, as CUTLASS has it: it is read, and each element from where the layout says.

    >>> from tla import parse
    >>> from tla.gpu import half, wgmma_descriptor
    >>> d = wgmma_descriptor(parse("((_8,_8),(_8,_2)):((_8,_64),(_1,_512))"), "K", half, base=0x400)
    >>> d.mode.name, d.start_address, d.leading_byte_offset, d.stride_byte_offset
    ('INTER', 64, 64, 8)
    >>> wgmma_descriptor(parse("(_64,_16):(_24,_1)"), "K", half)
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: wgmma_descriptor: (_64,_16):(_24,_1) is not canonical: rows 0 and 1 of mode 0 are 48 bytes apart
      expected  16 bytes, as in ((_8,n),_16):((_8,SBO),...) of no swizzle
      fix       tile GMMA.K_INTER[half] to the shape of the buffer

    Source: CuTe `make_gmma_desc`.
    """
    return _descriptor(WGMMA, "wgmma_descriptor", tile, major, element, base)


def umma_descriptor(tile: object, major: object, element: object = None, *, base: int = 0) -> Descriptor:
    """The descriptor of tcgen05.mma (SM100) for one instruction's tile of A or B in shared memory.

    The arguments and refusals are those of `wgmma_descriptor`. MN-major operands may also have 128 bytes in
    atoms of 32.

    >>> from tla import MakeTensor, local_tile, tile_to_shape, _16, _128
    >>> from tla.gpu import UMMA, half, umma_descriptor
    >>> b = MakeTensor(None, tile_to_shape(UMMA.K_SW128[half], (_128, _128)))
    >>> d = umma_descriptor(local_tile(b, (_128, _16), (0, 1)), "K", half)
    >>> d.layout_type, d.version, hex(d.bits)
    (2, 1, '0x4000404000010002')

    Source: CuTe `UMMA::make_umma_desc`.
    """
    return _descriptor(TCGEN05, "umma_descriptor", tile, major, element, base)


class _Tile(NamedTuple):
    """A tile whose descriptor is asked for: by which instruction, its layout without the swizzle, and what it holds."""

    where: str
    generation: Generation
    inner: Layout
    mode: Mode
    major: Major
    element: Element

    @property
    def atom(self) -> str:
        """The canonical atom that would do."""
        return f"{self.generation.family}.{self.major}_{self.mode.name}[{self.element}]"


def _descriptor(
    generation: Generation, where: str, tile: object, major: object, element: object, base: int
) -> Descriptor:
    major, element = as_major(major), element_of(f"{where}(tile, 'K', half)", tile, element)
    parts = swizzled_parts(generation, where, tile, major, element)
    start = _start(where, tile, parts.mode, parts.offset, element, base)
    lbo, sbo = descriptor_strides(generation, where, parts, major, element)
    return Descriptor(generation, major, parts.mode, start, lbo, sbo)


def swizzled_parts(generation: Generation, where: str, layout: object, major: Major, element: Element) -> Swizzled:
    """Shared memory taken apart; DivisibilityError for a swizzle that the generation's instructions do not read."""
    parts = taken_apart(f"{where}: ", layout, element)
    if parts.mode.name not in generation.codes or (parts.mode.name == "SW128_32B" and major is Major.K):
        what = f"{where}: {parts.mode.name}, {major}-major"
        raise DivisibilityError(what, f"one of {', '.join(generation.codes)}", "use another swizzle")
    return parts


def descriptor_strides(
    generation: Generation, where: str, parts: Swizzled, major: Major, element: Element
) -> tuple[int, int]:
    """LBO and SBO of a tile [16 bytes], if it is canonical. Raises what wgmma_descriptor does of a layout."""
    tile = _Tile(where, generation, _two_modes(where, parts.inner), parts.mode, major, element)
    units = _in_units(tile)
    _require_extents(tile)
    width, mode = tile.mode.span // 16, tile.mode
    (s00, s01), (s10, s11) = _canonical_strides(tile, units, width)
    if major is Major.K:
        _require_step(tile, "rows 0 and 1 of mode 0", s00, width)
        if mode.bits:
            _require_step(tile, "the two units of mode 1", s10, 1)
        if int(size(tile.inner[1])) * element.bits == 4 * UNIT_BITS:
            _require_step(tile, "units 0 and 2 of mode 1", s11, 2 * s10)
        return s10, s01
    if mode.bits:
        _require_step(tile, "units 0 and 1 of mode 0", s00, 1)
    _require_step(tile, "columns 0 and 1 of mode 1", s10, width)
    return (s01, s11) if mode.bits else (s11, s01)


def _start(where: str, tile: Any, mode: Mode, offset: IntLike, element: Element, base: int) -> int:
    """The start address in 16 bytes. The pattern of a swizzle repeats, and begins where it does in the buffer."""
    outside = known(tile.offset) if isinstance(tile, Tensor) else 0
    inside = known(offset)
    if outside is None or inside is None:
        fix = "take the descriptor of tile 0, and advance it"
        raise Unproven(f"{where}: a tile at {shown(offset)}", "a start that is known", fix)
    pattern = mode.pattern
    begin = require_number(f"{where}: the base", base) * 8 + outside * element.bits
    if begin % (pattern * 8):
        what = f"{where}: a buffer at byte {begin / 8:g} under {mode.name}"
        expected = f"a multiple of {pattern} bytes, the pattern of the swizzle"
        raise RangeError(what, expected, f"align the buffer to {pattern}")
    total = begin + inside * element.bits
    if total % UNIT_BITS:
        what = f"{where}: a tile at byte {total / 8:g}"
        raise RangeError(what, "a multiple of 16 bytes", "begin it at a whole core matrix")
    return total // UNIT_BITS


def _two_modes(where: str, inner: Layout) -> Layout:
    """The tile as (MN, K), static."""
    if rank(inner) == 1 and rank(inner[0]) == 2:  # both in one mode, as a partition's first mode is
        inner = inner[0]
    if rank(inner) != 2:
        fix = "take one tile of the stage: t[_, _, 0]"
        raise RankError(f"{where} of {shown(inner)}", "a tile of two modes, (MN, K)", fix)
    if not inner.is_static:
        fix = "write static(tile): they are fields of the instruction"
        raise Unproven(f"{where} of {shown(inner)}", "static extents and strides", fix)
    return inner


def _require_extents(tile: _Tile) -> None:
    """Require K of one instruction (32 bytes; 16 or 64 if A is sparse; 48 of SM103) and whole core matrices of MN."""
    where, inner, bits = tile.where, tile.inner, tile.element.bits
    k_size = int(size(inner[1])) * bits
    if k_size not in {UNIT_BITS * n for n in tile.generation.units} or (tile.major is Major.K and k_size == UNIT_BITS):
        wanted = UNIT_BITS * 2 // bits
        what = f"{where} of {shown(inner)}: K is {size(inner[1])}"
        raise DivisibilityError(what, f"{wanted} for one dense instruction", f"take tiles of K = {wanted}")
    if tile.major is Major.K and int(size(inner[0])) % ROWS:
        what = f"{where} of {shown(inner)}: MN is {size(inner[0])}"
        raise DivisibilityError(what, "a multiple of 8", "take whole core matrices")


def _canonical_strides(tile: _Tile, units: Any, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """The steps inside and between core matrices, of both modes [16 bytes]."""
    rows, along = Layout(static(tile.mode.rows), _1), 3 if size(units[1]) == 3 else 2
    tiler = (rows, Layout(static(along), _1)) if tile.major is Major.K else (Layout(static(width), _1), rows)
    try:
        canonical = logical_divide(units, tiler)
    except TlaError:
        canonical = units
    if not congruent(canonical.shape, ((1, 1), (1, 1))):
        raise _not_canonical(tile, "its modes are not of one step each")
    (s00, s01), (s10, s11) = (tuple(map(int, m)) for m in canonical.stride)
    return (s00, s01), (s10, s11)


def _in_units(tile: _Tile) -> Any:
    """The tile in units of 16 bytes along its major mode."""
    inner, major, count = tile.inner, tile.major, UNIT_BITS // tile.element.bits
    try:
        units, why = upcast[count](inner), ""
    except TlaError as error:
        units, why = inner, f": {error.reason.what}"
    own, other = (1, 0) if major is Major.K else (0, 1)
    if why or size(units[other]) != size(inner[other]) or size(units[own]) * count != size(inner[own]):
        what = f"{tile.where}: {shown(inner)} is not {major}-major{why}"
        fix = f"tile {tile.atom} to the shape of the buffer, or say the other major"
        raise DivisibilityError(what, f"16 bytes, {count} elements, contiguous along {major}", fix)
    return units


def _require_step(tile: _Tile, what: str, step: int, wanted: int) -> None:
    if step != wanted:
        raise _not_canonical(tile, f"{what} are {step * 16} bytes apart", f"{wanted * 16} bytes")


def _not_canonical(tile: _Tile, reason: str, wanted: str = "") -> DivisibilityError:
    bits, span, rows = tile.element.bits, tile.mode.span, tile.mode.rows
    row = span * 8 // bits
    form = f"((_{row},n),(_{rows},k)):((_1,...),(_{row},...))"
    form = f"((_8,n),_{256 // bits}):((_{row},SBO),...)" if tile.major is Major.K else form
    swizzle = "no swizzle" if not tile.mode.bits else f"the {span}-byte swizzle"
    what = f"{tile.where}: {shown(tile.inner)} is not canonical: {reason}"
    expected = f"{wanted + ', ' if wanted else ''}as in {form} of {swizzle}"
    return DivisibilityError(what, expected, f"tile {tile.atom} to the shape of the buffer")


def descriptor_steps(partition: Tensor | Layout, element: object = None) -> Layout:
    """The steps of descriptors over a partition (MMA, MMA_M, MMA_K, ...) [16 bytes]: what a kernel adds for each MMA.

    element   the element type; of a tensor with a buffer, that of its dtype
    Raises    RankError, LeafTypeError; DivisibilityError for steps of no whole 16 bytes; of symbols that is proved, or
              recorded by assuming()

    The steps are the same for both majors, so there is no `major` here.

    >>> from tla import parse
    >>> from tla.gpu import descriptor_steps, half
    >>> print(descriptor_steps(parse("((_64,(_8,_2)),_2,_8):((_8,(_1,_1024)),_512,_2048)"), half))
    (_1,_2,_8):(_0,_64,_256)

    Source: CuTe `make_fragment_A` of `UMMA::smem_desc`.
    """
    element = element_of("descriptor_steps(partition, half)", partition, element)
    parts = taken_apart("descriptor_steps: ", partition, element)
    units = UNIT_BITS // element.bits
    if rank(parts.inner) < 2 or not isinstance(parts.inner.shape, tuple):
        what = f"descriptor_steps of {shown(parts.inner)}"
        raise RankError(what, "a partition (MMA, MMA_M, MMA_K, ...)", "take mma[0].partition_A(smem)")
    shape = (_1, *parts.inner.shape[1:])
    return Layout(shape, (static(0), *(_divided(d, units) for d in parts.inner.stride[1:])))


def _divided(stride: IntTree, units: int) -> Any:
    if isinstance(stride, tuple):
        return tuple(_divided(d, units) for d in stride)
    if not is_int(stride):
        raise LeafTypeError(f"a step of {shown(stride)}", "an integer", "take a partition of shared memory")
    if not require("divides", units, stride, lambda: f"descriptor_steps: a step of {stride} elements"):
        what = f"a step of {stride} elements"
        raise DivisibilityError(what, f"a multiple of {units}, 16 bytes", "step by whole core matrices")
    return static(int(stride) // units) if isinstance(stride, Int) else stride // units


# --------------------------------------------------------------------------- the tiles of an instruction's operands

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

    where   the operation, for messages; side "A" or "B"; part what partition_A or partition_B gives, of threads or
            of a symbol
    Raises  what wgmma_descriptor and umma_descriptor do: DivisibilityError where tiles are not canonical, or of another
            major than the instruction's; RangeError where one begins at no multiple of 16 bytes, or the buffer at none
            of the swizzle's pattern; LeafTypeError for a tensor in another memory. Of symbols that is proved, or
            recorded by assuming(); else Unproven
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
    """The type of an operand's elements in shared memory: narrow ones of kinds that mix widths have a byte each."""
    return uint8 if atom.kind.endswith("f8f6f4") else atom.element(side)


def _stored(part: Layout) -> Layout:
    """The layout of what is stored of a sparse A: its partition without modes of stride 0, which elements share."""
    tile, rest = (part[0], [*part][1:]) if rank(part) > 1 else (part, [])
    tile = tile[0] if rank(tile) == 1 else tile
    kept = [Layout(n, d) for n, d in flat_modes(tile[1]) if not is_constant(0, d)]
    return beside(beside(tile[0], beside(*kept)), *rest)


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
            what = f"{where}: a tile at element {shown(start)}"
            raise RangeError(what, f"a multiple of {least} bytes", "begin it at a whole core matrix")
