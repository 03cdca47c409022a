"""Descriptors of shared memory: the 64 bits by which wgmma and tcgen05.mma find a tile, and what they read.

Source: the PTX manual, "Matrix descriptor format" of wgmma and of tcgen05; CuTe include/cute/arch/mma_sm90_desc.hpp,
mma_sm100_desc.hpp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from ..instructions.atom import Major
from ..instructions.elements import as_element, require_number
from .canonical import MODES, MOST, UNIT_BITS, Mode


@dataclass(frozen=True, eq=False)
class Generation:
    """The form of an instruction's descriptor.

    fields      where each field lies: (lowest bit, bits)
    codes       the code of each swizzle mode
    constants   the fields that are the same in every descriptor
    family      the canonical layouts that it reads: GMMA or UMMA
    units       along K, of one instruction [16 bytes]
    """

    name: str
    fields: dict[str, tuple[int, int]]
    codes: dict[str, int]
    constants: dict[str, int]
    family: str
    units: tuple[int, ...]


_COMMON = {
    "start_address": (0, 14),
    "leading_byte_offset": (16, 14),
    "stride_byte_offset": (32, 14),
    "base_offset": (49, 3),
}
WGMMA = Generation(
    "wgmma",
    {**_COMMON, "layout_type": (62, 2)},
    {"INTER": 0, "SW128": 1, "SW64": 2, "SW32": 3},
    {"base_offset": 0},
    "GMMA",
    (1, 2, 4),
)
TCGEN05 = Generation(
    "tcgen05",
    {**_COMMON, "version": (46, 2), "lbo_mode": (52, 1), "layout_type": (61, 3)},
    {"INTER": 0, "SW128_32B": 1, "SW128": 2, "SW64": 4, "SW32": 6},
    {"base_offset": 0, "version": 1, "lbo_mode": 0},
    "UMMA",
    (1, 2, 3, 4),
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

    Raises RangeError for a field that does not hold its value, LeafTypeError for other kinds. Source: the PTX manual.
    """

    generation: Generation
    major: Major
    mode: Mode
    start_address: int
    leading_byte_offset: int
    stride_byte_offset: int

    def __post_init__(self) -> None:
        given = self.generation, self.major, self.mode
        if not all(map(isinstance, given, (Generation, Major, Mode))):
            what, expected = f"a Descriptor of {shown(given)}", "WGMMA or TCGEN05, a major and a swizzle mode"
            raise LeafTypeError(what, expected, "write wgmma_descriptor(tile, 'K', half)")
        if self.mode.name not in self.generation.codes:
            what = f"a descriptor of {self.generation.name} with the swizzle {self.mode.name}"
            raise RangeError(what, f"one of {', '.join(self.generation.codes)}", "use another swizzle")
        for field in ("leading_byte_offset", "stride_byte_offset", "start_address"):
            value = require_number(field, getattr(self, field))
            object.__setattr__(self, field, value)
            if not 0 <= value < 1 << 14:
                what = f"a descriptor of {self.generation.name}: {field} of {value * 16} bytes"
                raise RangeError(what, f"0 to {(1 << 18) - 16}", "take a smaller buffer, or another tile order")

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
        """The descriptor of a tile `units` of 16 bytes further on: the next step along K, as a kernel adds it."""
        start = self.start_address + require_number("the step of a descriptor", units)
        if not 0 <= start < 1 << 14:
            fix = "advance by less than 256 KiB in all"
            raise RangeError(f"a tile at {start * 16} bytes", "less than 256 KiB", fix)
        return replace(self, start_address=start)

    def addresses(self, shape: tuple[int, int], element: object) -> Any:
        """The byte addresses that the hardware reads the elements (mn, k) of a tile from, in numpy.

        shape     (MN, K) [elements];  element  their type
        Returns   int64 array of that shape: the address of the byte in which an element begins; below a byte,
                  of the bit / 8

        Source: the PTX manual, "Canonical layouts", and the swizzle of address bits.
        """
        import numpy as np

        what = f"addresses of a tile of shape {shown(shape)}"
        if not isinstance(shape, tuple) or len(shape) != 2:
            raise RankError(what, "two extents, (MN, K)", "write d.addresses((64, 16), half)")
        extents = [require_number("an extent", n) for n in shape]
        if min(extents) < 0 or math.prod(extents) > MOST:
            raise RangeError(what, f"0 to {MOST} elements", "give the tile of one instruction")
        bits, (mn, k) = as_element(element).bits, np.ogrid[tuple(map(slice, extents))]
        width, rows = self.mode.span // 16, self.mode.rows
        lbo, sbo = self.leading_byte_offset * 16, self.stride_byte_offset * 16
        along, across = (k, mn) if self.major is Major.K else (mn, k)
        unit, within = along * bits // UNIT_BITS, along * bits % UNIT_BITS // 8
        if self.major is Major.K:
            place = across % rows * width * 16 + across // rows * sbo + unit * lbo
        elif width == 1:
            place = unit * sbo + across % rows * 16 + across // rows * lbo
        else:
            place = unit % width * 16 + unit // width * lbo + across % rows * width * 16 + across // rows * sbo
        address = self.start_address * 16 + place
        return self.mode.swizzle(address) + within


def read_descriptor(bits: int, major: object, generation: Generation = WGMMA) -> Descriptor:
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
        fix = "take them from tla.gpu.descriptors.descriptor"
        raise LeafTypeError(f"read_descriptor of {shown(generation)}", "WGMMA or TCGEN05", fix)
    bits = require_number("the bits of a descriptor", bits)
    values = {field: bits >> low & ((1 << count) - 1) for field, (low, count) in generation.fields.items()}
    names = {code: name for name, code in generation.codes.items()}
    wrong = [f"{f} = {values[f]}" for f, n in generation.constants.items() if values[f] != n]
    rest = bits - sum(v << generation.fields[f][0] for f, v in values.items())
    if wrong or rest or values["layout_type"] not in names:
        why = ", ".join(wrong) or "bits that no field has, or no swizzle mode"
        what = f"{bits:#x} for a descriptor of {generation.name}: {why}"
        raise RangeError(what, "the fields of the PTX manual", "give the 64 bits that the instruction takes")
    places = (values[field] for field in ("start_address", "leading_byte_offset", "stride_byte_offset"))
    return Descriptor(generation, as_major(major), MODES[names[values["layout_type"]]], *places)


def as_major(x: object) -> Major:
    """A major mode: K or MN, or its name."""
    found = Major.__members__.get(x) if isinstance(x, str) else x
    if not isinstance(found, Major):
        raise LeafTypeError(f"the major mode {shown(x)}", "K or MN", "take tla.gpu.K, or write 'K'")
    return found
