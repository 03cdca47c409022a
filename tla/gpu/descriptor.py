"""Descriptors of shared memory: the 64 bits by which wgmma and tcgen05.mma find an operand's tile, derived from its layout.

In units of 16 bytes, T elements, a tile that a descriptor can say has one of these layouts, W being 1, 2, 4 or 8 units:

    K-major    ((8,n),(T,2)) : ((W,SBO),(1,LBO))     LBO is 1 where there is a swizzle
    MN-major   ((T,W,n),(8,k)) : ((1,1,LBO),(W,SBO))  of no swizzle: ((T,1,n),(8,k)) : ((1,_,SBO),(1,LBO))

Source: the PTX manual, "Matrix descriptor format" of wgmma and of tcgen05; CuTe include/cute/arch/mma_sm90_desc.hpp,
mma_sm100_desc.hpp, and make_gmma_desc, make_umma_desc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..algebra.divide import logical_divide
from ..algebra.recast import upcast
from ..core.element import Element
from ..core.errors import DivisibilityError, LeafTypeError, RangeError, RankError, Reason, TlaError, Unproven
from ..core.int_tuple import congruent, rank, shown, size
from ..core.ints import Int, known, static
from ..core.layout import Layout
from ..tensors.tensor import Tensor
from .atom import Major
from .canonical import MODES, ROWS, UNIT_BITS, Mode, taken_apart
from .elements import as_element, require_number

_1, _2, _8 = static(1), static(2), static(8)


@dataclass(frozen=True, eq=False)
class Generation:
    """The form of an instruction's descriptor: where each field lies, as (lowest bit, bits), and the codes of swizzle modes.

    sparse_k   the extents along K that an instruction takes, in 16-byte units of dense operands
    """

    name: str
    fields: dict[str, tuple[int, int]]
    codes: dict[str, int]
    constants: dict[str, int]
    k_units: tuple[int, ...]


_COMMON = {"start_address": (0, 14), "leading_byte_offset": (16, 14), "stride_byte_offset": (32, 14), "base_offset": (49, 3)}
WGMMA = Generation(
    "wgmma",
    {**_COMMON, "layout_type": (62, 2)},
    {"INTER": 0, "SW128": 1, "SW64": 2, "SW32": 3},
    {"base_offset": 0},
    (2, 4),
)
TCGEN05 = Generation(
    "tcgen05",
    {**_COMMON, "version": (46, 2), "lbo_mode": (52, 1), "layout_type": (61, 3)},
    {"INTER": 0, "SW128_32B": 1, "SW128": 2, "SW64": 4, "SW32": 6},
    {"base_offset": 0, "version": 1, "lbo_mode": 0},
    (2, 4),
)


@dataclass(frozen=True)
class Descriptor:
    """A matrix descriptor: its fields as the hardware has them, addresses and offsets without their 4 lowest bits.

    start_address         where the tile begins [16 bytes]
    leading_byte_offset   LBO: the step between columns of core matrices, as the major mode has it [16 bytes]
    stride_byte_offset    SBO: the step between rows of core matrices [16 bytes]
    base_offset           0: tiles begin where the swizzle's pattern does
    layout_type           the code of the swizzle mode
    version, lbo_mode     of tcgen05; None of wgmma
    major, mode           what the fields mean: the contiguous mode, and the swizzle mode
    bits                  all fields in 64 bits

    >>> from tla import MakeTensor, local_tile, tile_to_shape, _16, _64, _128
    >>> from tla.gpu import GMMA, half, wgmma_descriptor
    >>> a = MakeTensor(None, tile_to_shape(GMMA.K_SW128[half], (_128, _128)))
    >>> d = wgmma_descriptor(local_tile(a, (_64, _16), (1, 1)), "K", half)
    >>> d.start_address, d.leading_byte_offset, d.stride_byte_offset, hex(d.bits)
    (514, 1, 64, '0x4000004000010202')

    Source: the PTX manual.
    """

    generation: Generation
    major: Major
    mode: Mode
    start_address: int
    leading_byte_offset: int
    stride_byte_offset: int

    @property
    def base_offset(self) -> int:
        """Zero: the base of the buffer is aligned to the swizzle's pattern."""
        return self.generation.constants["base_offset"]

    @property
    def version(self) -> int | None:
        """1 for tcgen05."""
        return self.generation.constants.get("version")

    @property
    def lbo_mode(self) -> int | None:
        """0 for tcgen05: LBO is relative."""
        return self.generation.constants.get("lbo_mode")

    @property
    def layout_type(self) -> int:
        """The code of the swizzle mode."""
        return self.generation.codes[self.mode.name]

    @property
    def bits(self) -> int:
        """The 64 bits."""
        return sum(getattr(self, field) << low for field, (low, _) in self.generation.fields.items())

    def __int__(self) -> int:
        return self.bits

    __index__ = __int__

    def advanced(self, units: int) -> Descriptor:
        """The descriptor of a tile that begins `units` of 16 bytes further: the next step along K, as a kernel adds it."""
        start = self.start_address + require_number("the step of a descriptor", units)
        if not 0 <= start < 1 << 14:
            raise RangeError(f"a tile at {start * 16} bytes", "less than 256 KiB", "stay in the buffer")
        return Descriptor(self.generation, self.major, self.mode, start, self.leading_byte_offset, self.stride_byte_offset)

    def addresses(self, shape: tuple[int, int], element: Any) -> Any:
        """The byte addresses that the hardware reads the elements (mn, k) of a tile from, in numpy.

        shape     (MN, K) [elements];  element  their type
        Returns   int64 array of that shape: the address of the byte in which an element begins; below a byte, of the bit / 8

        Source: the PTX manual, "Canonical layouts", and the swizzle of address bits.
        """
        import numpy as np

        if not isinstance(shape, tuple) or len(shape) != 2:
            raise RankError(f"addresses of a tile of shape {shown(shape)}", "two extents, (MN, K)", "write d.addresses((64, 16), half)")
        bits, (mn, k) = as_element(element).bits, np.ogrid[tuple(slice(require_number("an extent", n)) for n in shape)]
        width = self.mode.span // 16
        lbo, sbo = self.leading_byte_offset * 16, self.stride_byte_offset * 16
        along, across = (k, mn) if self.major is Major.K else (mn, k)
        unit, within = along * bits // UNIT_BITS, along * bits % UNIT_BITS // 8
        if self.major is Major.K:
            place = across % ROWS * width * 16 + across // ROWS * sbo + unit * lbo
        elif width == 1:
            place = unit * sbo + across % ROWS * 16 + across // ROWS * lbo
        else:
            place = unit % width * 16 + unit // width * lbo + across % ROWS * width * 16 + across // ROWS * sbo
        address = self.start_address * 16 + place
        return self.mode.swizzle(address) + within


def read_descriptor(bits: int, major: Any, generation: Generation = WGMMA) -> Descriptor:
    """The descriptor that 64 bits are: each field read back from its place.

    major   "K" or "MN": for wgmma and tcgen05 the instruction says it, not the descriptor
    Raises  RangeError for bits that no field has, for a code that is no swizzle mode, and for constants that differ

    >>> from tla.gpu import read_descriptor
    >>> d = read_descriptor(0x4000004000010202, "K")
    >>> d.mode.name, d.start_address, d.stride_byte_offset
    ('SW128', 514, 64)

    Source: the PTX manual, "Matrix descriptor format".
    """
    if not isinstance(generation, Generation):
        raise LeafTypeError(f"read_descriptor of {shown(generation)}", "WGMMA or TCGEN05", "take them from tla.gpu.descriptor")
    bits = require_number("the bits of a descriptor", bits)
    values = {field: bits >> low & ((1 << count) - 1) for field, (low, count) in generation.fields.items()}
    names = {code: name for name, code in generation.codes.items()}
    wrong = [f"{f} = {values[f]}" for f, n in generation.constants.items() if values[f] != n]
    rest = bits - sum(v << generation.fields[f][0] for f, v in values.items())
    if wrong or rest or values["layout_type"] not in names:
        what = f"{bits:#x} for a descriptor of {generation.name}: {', '.join(wrong) or 'bits that no field has, or no swizzle mode'}"
        raise RangeError(what, "the fields of the PTX manual", "give the 64 bits that the instruction takes")
    mode = MODES[names[values["layout_type"]]]
    return Descriptor(
        generation, as_major(major), mode, values["start_address"], values["leading_byte_offset"], values["stride_byte_offset"]
    )


def as_major(x: Any) -> Major:
    """A major mode: K or MN, or its name."""
    found = Major.__members__.get(x) if isinstance(x, str) else x
    if not isinstance(found, Major):
        raise LeafTypeError(f"the major mode {shown(x)}", "K or MN", "take tla.gpu.K, or write 'K'")
    return found


def wgmma_descriptor(tile: Any, major: Any, element: Any = None, *, base: int = 0) -> Descriptor:
    """The descriptor of wgmma (SM90) for one instruction's tile of A or B in shared memory.

    tile      a tensor or layout (MN, K) of what one instruction reads: K is 32 bytes of it (16 or 64 where A is sparse). It may be
              the first mode of a partition, `part[_, 0, 0]`
    major     "K" or "MN": the contiguous mode
    element   the element type; of a tensor with a buffer, that of its dtype
    base      the address of the buffer in shared memory [bytes]; a multiple of the swizzle's pattern
    Returns   Descriptor, with `bits` and every field
    Raises    DivisibilityError where the layout is not canonical, with the first stride that differs; RankError; RangeError for
              a field that does not hold its value, or a misaligned base; Unproven where sizes or strides are not static

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


def umma_descriptor(tile: Any, major: Any, element: Any = None, *, base: int = 0) -> Descriptor:
    """The descriptor of tcgen05.mma (SM100) for one instruction's tile of A or B in shared memory.

    The arguments and refusals are those of `wgmma_descriptor`. MN-major operands may also have 128 bytes in atoms of 32.

    >>> from tla import MakeTensor, local_tile, tile_to_shape, _16, _128
    >>> from tla.gpu import UMMA, half, umma_descriptor
    >>> b = MakeTensor(None, tile_to_shape(UMMA.K_SW128[half], (_128, _128)))
    >>> d = umma_descriptor(local_tile(b, (_128, _16), (0, 1)), "K", half)
    >>> d.layout_type, d.version, hex(d.bits)
    (2, 1, '0x4000404000010002')

    Source: CuTe `UMMA::make_umma_desc`.
    """
    return _descriptor(TCGEN05, "umma_descriptor", tile, major, element, base)


def _descriptor(generation: Generation, where: str, tile: Any, major: Any, element: Any, base: int) -> Descriptor:
    major, layout = as_major(major), tile.layout if isinstance(tile, Tensor) else tile
    element = _element(where, tile, element)
    parts = taken_apart(layout, element)
    if isinstance(parts, Reason):
        raise DivisibilityError(f"{where}: {parts.what}", parts.expected, parts.fix)
    if parts.mode.name not in generation.codes or (parts.mode.name == "SW128_32B" and major is Major.K):
        raise DivisibilityError(
            f"{where}: {parts.mode.name}, {major}-major", f"one of {', '.join(generation.codes)}", "use another swizzle"
        )
    start = _start(where, tile, parts.mode, parts.offset, element, base)
    lbo, sbo = _steps(generation, where, parts.inner, parts.mode, major, element)
    for field, value in (("leading_byte_offset", lbo), ("stride_byte_offset", sbo), ("start_address", start)):
        if not 0 <= value < 1 << 14:
            raise RangeError(
                f"{where}: {field} of {value * 16} bytes", f"0 to {(1 << 18) - 16}", "take a smaller buffer, or another tile order"
            )
    return Descriptor(generation, major, parts.mode, start, lbo, sbo)


def element_over(where: str, tile: Any, given: Any) -> Element:
    """The element type that is given; LeafTypeError where a tensor's buffer has elements of another width, those below a byte aside."""
    element = as_element(given)
    held = 8 * tile.dtype.itemsize if isinstance(tile, Tensor) and tile.dtype is not None else max(8, element.bits)
    if held != max(8, element.bits):
        fix = f"leave out the element type, or view the buffer as elements of {element.bits} bits"
        raise LeafTypeError(f"{where} of {element} over a buffer of {tile.dtype}", f"elements of {held} bits", fix)
    return element


def _element(where: str, tile: Any, given: Any) -> Element:
    if given is not None:
        return element_over(where, tile, given)
    if isinstance(tile, Tensor) and tile.dtype is not None:
        return Element(str(tile.dtype), 8 * tile.dtype.itemsize)
    raise LeafTypeError(f"{where} of {shown(tile)}", "an element type", f"write {where}(tile, 'K', half)")


def _start(where: str, tile: Any, mode: Mode, offset: Any, element: Element, base: int) -> int:
    """The start address in 16 bytes. The pattern of a swizzle repeats, and begins where it does in the buffer."""
    outside = known(tile.offset) if isinstance(tile, Tensor) else 0
    inside = known(offset)
    if outside is None or inside is None:
        raise Unproven(f"{where}: a tile at {shown(offset)}", "a start that is known", "take the descriptor of tile 0, and advance it")
    pattern = mode.pattern
    begin = require_number(f"{where}: the base", base) * 8 + outside * element.bits
    if begin % (pattern * 8):
        what = f"{where}: a buffer at byte {begin / 8:g} under {mode.name}"
        raise RangeError(what, f"a multiple of {pattern} bytes, the pattern of the swizzle", f"align the buffer to {pattern}")
    total = begin + inside * element.bits
    if total % UNIT_BITS:
        raise RangeError(f"{where}: a tile at byte {total / 8:g}", "a multiple of 16 bytes", "begin it at a whole core matrix")
    return total // UNIT_BITS


def _steps(generation: Generation, where: str, inner: Layout, mode: Mode, major: Major, element: Element) -> tuple[int, int]:
    """LBO and SBO in 16 bytes, if the tile is canonical."""
    if rank(inner) == 1 and rank(inner[0]) == 2:  # both in one mode, as a partition's first mode is
        inner = inner[0]
    if rank(inner) != 2:
        raise RankError(f"{where} of {shown(inner)}", "a tile of two modes, (MN, K)", "take one tile of the stage: t[_, _, 0]")
    if not inner.is_static:
        raise Unproven(
            f"{where} of {shown(inner)}", "static extents and strides", "make the tile with Int[N]: they are fields of the instruction"
        )
    units, width = _in_units(where, inner, major, element, mode), mode.span // 16
    k_size = int(size(inner[1])) * element.bits
    if k_size not in {UNIT_BITS * n for n in (1, 2, 4)} or (major is Major.K and k_size == UNIT_BITS):
        wanted = UNIT_BITS * 2 // element.bits
        raise DivisibilityError(
            f"{where} of {shown(inner)}: K is {size(inner[1])}", f"{wanted} for one dense instruction", f"take tiles of K = {wanted}"
        )
    if major is Major.K and int(size(inner[0])) % ROWS:
        raise DivisibilityError(f"{where} of {shown(inner)}: MN is {size(inner[0])}", "a multiple of 8", "take whole core matrices")
    rows = 4 if mode.name == "SW128_32B" else ROWS
    tiler = (Layout(_8, _1), Layout(_2, _1)) if major is Major.K else (Layout(static(width), _1), Layout(static(rows), _1))
    try:
        canonical = logical_divide(units, tiler)
    except TlaError:
        canonical = units
    if not congruent(canonical.shape, ((1, 1), (1, 1))):
        raise _not_canonical(generation, where, inner, mode, major, element, "its modes are not of one step each")
    (s00, s01), (s10, s11) = (tuple(map(int, m)) for m in canonical.stride)
    if major is Major.K:
        _require_step(generation, where, inner, mode, major, element, "rows 0 and 1 of mode 0", s00, width)
        if mode.bits:
            _require_step(generation, where, inner, mode, major, element, "the two units of mode 1", s10, 1)
        if k_size > 2 * UNIT_BITS:
            _require_step(generation, where, inner, mode, major, element, "units 0 and 2 of mode 1", s11, 2 * s10)
        return s10, s01
    if mode.bits:
        _require_step(generation, where, inner, mode, major, element, "units 0 and 1 of mode 0", s00, 1)
    _require_step(generation, where, inner, mode, major, element, "columns 0 and 1 of mode 1", s10, width)
    return (s01, s11) if mode.bits else (s11, s01)


def _in_units(where: str, inner: Layout, major: Major, element: Element, mode: Mode) -> Any:
    """The tile in units of 16 bytes along its major mode."""
    count = UNIT_BITS // element.bits
    try:
        units, why = upcast[count](inner), ""
    except TlaError as error:
        units, why = inner, f": {error.reason.what}"
    other = 0 if major is Major.K else 1
    if why or size(units[other]) != size(inner[other]):
        raise DivisibilityError(
            f"{where}: {shown(inner)} is not {major}-major{why}",
            f"16 bytes, {count} elements, contiguous along {major}",
            f"tile GMMA.{major}_{mode.name}[{element}] to the shape of the buffer, or say the other major",
        )
    return units


def _require_step(
    generation: Generation, where: str, inner: Layout, mode: Mode, major: Major, element: Element, what: str, step: int, wanted: int
) -> None:
    if step != wanted:
        reason = f"{what} are {step * 16} bytes apart"
        raise _not_canonical(generation, where, inner, mode, major, element, reason, f"{wanted * 16} bytes")


def _not_canonical(
    generation: Generation, where: str, inner: Layout, mode: Mode, major: Major, element: Element, reason: str, wanted: str = ""
) -> DivisibilityError:
    family = "GMMA" if generation is WGMMA else "UMMA"
    row = mode.span * 8 // element.bits
    form = f"((_8,n),_{256 // element.bits}):((_{row},SBO),...)" if major is Major.K else f"((_{row},n),(_8,k)):((_1,...),(_{row},...))"
    swizzle = "no swizzle" if not mode.bits else f"the {mode.span}-byte swizzle"
    return DivisibilityError(
        f"{where}: {shown(inner)} is not canonical: {reason}",
        f"{wanted + ', ' if wanted else ''}as in {form} of {swizzle}",
        f"tile {family}.{major}_{mode.name}[{element}] to the shape of the buffer",
    )


def descriptor_steps(partition: Tensor | Layout, element: Any) -> Layout:
    """The steps of descriptors over an operand's partition (MMA, MMA_M, MMA_K, ...), in 16 bytes: what a kernel adds for each MMA.

    >>> from tla import parse
    >>> from tla.gpu import descriptor_steps, half
    >>> print(descriptor_steps(parse("((_64,(_8,_2)),_2,_8):((_8,(_1,_1024)),_512,_2048)"), half))
    (_1,_2,_8):(_0,_64,_256)

    Source: CuTe `make_fragment_A` of `UMMA::smem_desc`.
    """
    layout = partition.layout if isinstance(partition, Tensor) else partition
    parts = taken_apart(layout, as_element(element))
    if isinstance(parts, Reason):
        raise DivisibilityError(f"descriptor_steps: {parts.what}", parts.expected, parts.fix)
    units = UNIT_BITS // as_element(element).bits
    if rank(parts.inner) < 2 or not isinstance(parts.inner.shape, tuple):
        raise RankError(
            f"descriptor_steps of {shown(parts.inner)}", "a partition (MMA, MMA_M, MMA_K, ...)", "take mma[0].partition_A(smem)"
        )
    shape = (_1, *parts.inner.shape[1:])
    return Layout(shape, (static(0), *(_divided(d, units) for d in parts.inner.stride[1:])))


def _divided(stride: Any, units: int) -> Any:
    if isinstance(stride, tuple):
        return tuple(_divided(d, units) for d in stride)
    if require_number("a step of a partition", stride) % units:
        raise DivisibilityError(f"a step of {stride} elements", f"a multiple of {units}, 16 bytes", "step by whole core matrices")
    return static(int(stride) // units) if isinstance(stride, Int) else int(stride) // units
