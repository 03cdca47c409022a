"""Elements of 4 and 6 bits in tensor maps: how many lie together, and what the driver asks of them.

Source: the CUDA driver API, cuTensorMapEncodeTiled (cuda.h 13.0), CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B, _16U4_ALIGN16B,
_16U6_ALIGN16B.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError

BOTH = ("load", "store")


class Packing(NamedTuple):
    """The type of the driver for elements that are parts of bytes.

    name             of the driver
    values           how many make whole bytes, in the tensor and in shared memory
    read, written    the bytes of so many values in the tensor, and from them to the next ones in shared memory
    extent, stride   what the first extent [elements] and all strides [bytes] are multiples of
    box              the one extent of a box along the first mode; 0 for any
    coordinate       what the first coordinate of a box is a multiple of [elements]
    swizzles         those that there are, with the directions of copies; None for all, in both
    """

    name: str
    values: int
    read: int
    written: int
    extent: int
    stride: int
    box: int
    coordinate: int
    swizzles: MappingProxyType[str, tuple[str, ...]] | None = None


_OF_4 = MappingProxyType(dict.fromkeys(("none", "128B", "128B_ATOM_32B"), ("load",)))
_OF_6 = MappingProxyType({**dict.fromkeys(("none", "128B", "128B_ATOM_32B"), BOTH), "128B_ATOM_64B": ("store",)})
#: Bits of an element, and whether shared memory has gaps between 16 of them -> the driver's type.
PACKINGS = MappingProxyType(
    {
        (4, False): Packing("16U4_ALIGN8B", 2, 1, 1, 2, 16, 0, 2),
        (4, True): Packing("16U4_ALIGN16B", 16, 8, 16, 128, 32, 128, 128, _OF_4),
        (6, True): Packing("16U6_ALIGN16B", 16, 12, 16, 128, 32, 128, 128, _OF_6),
    }
)


def packing_of(element: Element, unpacked: bool) -> Packing | None:
    """The packing of an element type; None for whole bytes. LeafTypeError for a type that no map has."""
    found = PACKINGS.get((element.bits, unpacked))
    if found is None and unpacked:
        raise LeafTypeError(f"a tensor map of {element}, unpacked", "elements of 4 or 6 bits", "leave unpacked out")
    if found is None and element.bits == 6:
        what = f"a tensor map of {element}, packed in shared memory"
        raise LeafTypeError(what, "16 values in 16 bytes", "write unpacked=True")
    return found
