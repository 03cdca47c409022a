"""AMD's buffer resources, derived from a layout: the 128 bits by which buffer loads and stores find a record.

A buffer is an array of records. Swizzled, each group of `index_stride` records is stored by elements of 4 bytes: the
first element of every record of the group, then their second ones. So lanes that go through records read what
lies side by side:

    ((I,n),(E,m)) : ((E,stride*I),(1,E*I))     I records to a group, E elements of the type in 4 bytes

Source: the ISA manuals of AMD's CDNA 1 to 3, "Buffer resource descriptor" and "Buffer addressing".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...core.arrays import as_int64
from ...core.conversions import modulo, over
from ...core.coord import CoordLike, Offset
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import rank, shown
from ...core.ints import known, static
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus, times
from ...tensors.offsets import offsets
from ...tensors.tensor import Tensor
from ..instructions.elements import element_of, require_number
from .canonical import known_extents, nearest

if TYPE_CHECKING:
    import numpy.typing as npt

#: Fields of the 128 bits: (lowest bit, bits).
FIELDS = MappingProxyType(
    {
        "base": (0, 48),
        "stride": (48, 14),
        "cache_swizzle": (62, 1),
        "swizzle_enable": (63, 1),
        "num_records": (64, 32),
        "data_format": (111, 4),
        "index_stride": (117, 2),
        "add_tid_enable": (119, 1),
        "type": (126, 2),
    }
)
#: The records of a group, by the code of the field; the bytes that lie together in a swizzled buffer.
INDEX_STRIDES, ELEMENT_BYTES = (8, 16, 32, 64), 4
#: What raw loads have there: elements of 32 bits.
FORMAT_32 = 4
#: The elements that are compared at most.
MOST = 1 << 22


@dataclass(frozen=True)
class BufferResource:
    """A buffer resource of CDNA: the fields of its 128 bits.

    base           the address of the buffer [bytes]
    stride         of a record [bytes]; 0 of a raw buffer
    num_records    what an access is checked against: records, of a raw buffer bytes
    index_stride   the records of a swizzled group: 8, 16, 32 or 64; 0 where it is not swizzled
    Raises         RangeError for what a field does not hold, LeafTypeError

    >>> from tla.gpu import BufferResource
    >>> r = BufferResource(base=0x7F0000001000, stride=64, num_records=256, index_stride=64)
    >>> [hex(word) for word in r.words]
    ['0x1000', '0x80407f00', '0x100', '0x620000']
    >>> int(r.addresses(65, 4)) - r.base                # record 1 of the second group, its second element
    4356

    Source: the ISA manual of CDNA 3, "Buffer resource descriptor".
    """

    base: int = 0
    stride: int = 0
    num_records: int = 0
    index_stride: int = 0

    def __post_init__(self) -> None:
        for field in ("base", "stride", "num_records", "index_stride"):
            object.__setattr__(self, field, require_number(field, getattr(self, field)))
        for field in ("base", "stride", "num_records"):
            value, bits = getattr(self, field), FIELDS[field][1]
            if not 0 <= value < 1 << bits:
                raise RangeError(f"a buffer resource: {field} of {value}", f"0 to 2**{bits} - 1", "split the buffer")
        if self.index_stride not in (0, *INDEX_STRIDES):
            what = f"a buffer resource: groups of {self.index_stride} records"
            raise RangeError(what, "8, 16, 32, 64, or 0: not swizzled", "use 64, a wave")
        if self.base % 4:
            raise RangeError(f"a buffer resource at byte {self.base}", "a multiple of 4", "align the buffer to 4 bytes")
        if self.index_stride and (not self.stride or self.stride % ELEMENT_BYTES):
            what, padded = f"a swizzled buffer resource with records of {self.stride} bytes", -(-self.stride // 4) * 4
            raise RangeError(what, f"a multiple of {ELEMENT_BYTES}", f"pad records to {max(4, padded)} bytes")

    @property
    def bits(self) -> int:
        """The 128 bits."""
        values = {"base": self.base, "stride": self.stride, "num_records": self.num_records, "data_format": FORMAT_32}
        if self.index_stride:
            values |= {"swizzle_enable": 1, "index_stride": INDEX_STRIDES.index(self.index_stride)}
        return sum(value << FIELDS[field][0] for field, value in values.items())

    @property
    def words(self) -> tuple[int, int, int, int]:
        """The four words of 32 bits."""
        w = [self.bits >> low & 0xFFFFFFFF for low in (0, 32, 64, 96)]
        return w[0], w[1], w[2], w[3]

    def addresses(self, index: CoordLike, offset: CoordLike) -> Offset:
        """The addresses [bytes] of bytes `offset` of records `index`, by the ISA's rule; integers or numpy arrays.

        Source: the ISA manual of CDNA 3, "Buffer addressing".
        """
        import numpy as np

        records, places = (_integers(x, np) for x in (index, offset))
        if not self.index_stride:
            return plus(plus(times(records, self.stride), places), self.base)
        group, element = over(records, self.index_stride), over(places, ELEMENT_BYTES)
        record, within = modulo(records, self.index_stride), modulo(places, ELEMENT_BYTES)
        first = times(plus(times(group, self.stride), times(element, ELEMENT_BYTES)), self.index_stride)
        return plus(self.base, plus(first, plus(times(record, ELEMENT_BYTES), within)))


def _integers(x: object, np: Any) -> Any:
    try:
        array = np.asarray(x)
    except ValueError:
        array = np.asarray("")
    if array.dtype.kind not in "iu" or (array.size and not 0 <= int(array.min()) <= int(array.max()) < 1 << 32):
        expected = "integers from 0 to 2**32 - 1"
        raise LeafTypeError(f"addresses of {shown(x)}", expected, "count records and bytes from 0")
    return as_int64(array)


def read_buffer_resource(words: tuple[int, int, int, int]) -> BufferResource:
    """The buffer resource that four words are: each field read back from its place.

    RangeError for words that are no raw or swizzled buffer of 32-bit format, for one that adds the lane's number too.

    >>> from tla.gpu import BufferResource, read_buffer_resource
    >>> read_buffer_resource((0x1000, 0x80407F00, 0x100, 0x620000)).stride
    64

    Source: the ISA manual of CDNA 3, "Buffer resource descriptor".
    """
    if not isinstance(words, tuple) or len(words) != 4:
        raise RankError(f"read_buffer_resource of {shown(words)}", "a tuple of four words", "give resource.words")
    numbers = [require_number("a word of a buffer resource", w) for w in words]
    bits = sum(w << 32 * i for i, w in enumerate(numbers))
    values = {field: bits >> low & (1 << count) - 1 for field, (low, count) in FIELDS.items()}
    group = INDEX_STRIDES[values["index_stride"]] if values["swizzle_enable"] else 0
    base = values["base"] & ~3  # of whole words, as every resource has it
    found = BufferResource(base, values["stride"], values["num_records"], group)
    if found.bits != bits:
        what = f"the words {tuple(map(hex, numbers))} of a buffer resource"
        raise RangeError(what, "the fields of words", "give resource.words")
    return found


def buffer_resource(layout: Any, element: object = None, *, base: int = 0) -> BufferResource:
    """The buffer resource by which buffer loads of CDNA read a layout (record, element of the record) of global memory.

    layout    a layout or tensor of two modes with known extents and strides: records with a stride, or swizzled in
              groups of 8, 16, 32 or 64 by pieces of 4 bytes. A load gives the record as index, and 4 * i of the
              record's bytes as offset
    element   the element type, where the tensor has no buffer
    base      the address of the buffer [bytes]
    Raises    DivisibilityError with the first coordinate that lies elsewhere than in the nearest buffer; RankError,
              LeafTypeError; RangeError for strides past 14 bits; Unproven for unknown sizes

    >>> from tla import parse
    >>> from tla.gpu import buffer_resource, float
    >>> buffer_resource(parse("((_64,_4),_16):((_1,_1024),_64)"), float)
    BufferResource(base=0, stride=64, num_records=256, index_stride=64)
    >>> buffer_resource(parse("((_24,_4),_16):((_1,_384),_24)"), float)
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: buffer_resource of ((_24,_4),_16):((_1,_384),_24): (24, 0) lies at byte 1536
      expected  byte 96, as in (96,16):(1,_1)
      fix       swizzle records in groups of 8, 16, 32 or 64, or give them one stride

    Source: the ISA manual of CDNA 3, "Buffer addressing".
    """
    element = element_of("buffer_resource(layout, half)", layout, element)
    start = layout.offset * element.bits // 8 if isinstance(layout, Tensor) and known(layout.offset) is not None else 0
    layout = layout.layout if isinstance(layout, Tensor) else layout
    records, count = _extents(layout)
    given = offsets(layout)
    size = element.bits // 8
    if not size:
        fix = "see the records as uint8: recast[uint8]"
        raise LeafTypeError(f"buffer_resource of {element}", "elements of 8 bits or more", fix)
    buffers = _buffers(given, records, count, size)
    found = nearest(given, ((made, offsets(made[2])[:records, :count]) for made in buffers))
    assert found is not None  # a buffer that is not swizzled
    (group, stride, closest), wanted, at = found
    if at is None:
        begin = require_number("the base of a buffer", base) + int(start)
        return BufferResource(begin, stride * size, records if stride else count * size, group)
    what = f"buffer_resource of {shown(layout)}: {at} lies at byte {int(given[at]) * size}"
    fix = "swizzle records in groups of 8, 16, 32 or 64, or give them one stride"
    raise DivisibilityError(what, f"byte {int(wanted[at]) * size}, as in {closest}", fix)


def _extents(layout: Any) -> tuple[int, int]:
    """Records and the elements of one, known."""
    what = f"buffer_resource of {shown(layout)}"
    if not isinstance(layout, Layout) or rank(layout) != 2:
        raise RankError(what, "two modes, (record, element)", "group its modes with group")
    records, count = known_extents(what, layout)
    if not 1 <= records * count <= MOST:
        what = f"buffer_resource of {records} records of {count} elements"
        raise RangeError(what, f"1 to {MOST} elements", "give the records of one tile")
    return records, count


def _buffers(given: npt.NDArray[Any], records: int, count: int, size: int) -> Iterator[tuple[int, int, Layout]]:
    """The buffers with the given distance of records: those of a group, 0 for no swizzle; stride [elements]; layout."""
    stride = int(given[1, 0]) - int(given[0, 0]) if records > 1 else count
    yield 0, stride, Layout((records, count), (stride, static(1)))
    each = ELEMENT_BYTES // size
    for group in INDEX_STRIDES if records > 1 and ELEMENT_BYTES % size == 0 else ():
        stride = (int(given[group, 0]) - int(given[0, 0])) // group if records > group else -(-count // each) * each
        if stride % each == 0 and stride >= count:
            groups, pieces = -(-records // group), -(-count // each)
            shape = (group, groups), (each, pieces)
            yield group, stride, Layout(shape, ((each, stride * group), (static(1), each * group)))
