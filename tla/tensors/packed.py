"""Memory with two elements of 4 bits in a byte.

Source: CATLASS `float4_e2m1x2_t` and AscendC `int4b_t`: the first of two is the low half of the byte.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.conversions import modulo, over
from ..core.element import Element, uint4
from ..core.errors import LeafTypeError
from ..core.int_tuple import shown
from ..core.values import converted, require_numbers
from .buffers import as_dtype, storage

if TYPE_CHECKING:
    import numpy.typing as npt


class Packed:
    """A buffer of 4-bit elements, two in a byte, the first in its low half: for MakeTensor in the place of an array.

    memory    the bytes, as MakeTensor takes a buffer; never copied
    element   an element type of 4 bits, whose values ml_dtypes has: fp4_e2m1 or int4b. None: the bits as they are, 0 to
              15 of numpy's uint8

    >>> import numpy as np
    >>> from tla import MakeTensor, Packed, copy, parse
    >>> memory = np.array([0x21, 0x43, 0x65], np.uint8)
    >>> t = MakeTensor(Packed(memory), parse("(2,3):(3,1)"))
    >>> print(t[0, 1], np.asarray(t).tolist())
    2 [[1, 2, 3], [4, 5, 6]]
    >>> t[0, 1] = 15
    >>> [hex(byte) for byte in memory]
    ['0xf1', '0x43', '0x65']

    Raises LeafTypeError for bytes that are none, and for other element types. Source: CATLASS `float4_e2m1x2_t`.
    """

    __slots__ = ("dtype", "memory")

    def __init__(self, memory: object, element: Element | None = None) -> None:
        import numpy as np

        if element is not None and (not isinstance(element, Element) or element.bits != 4):
            fix = "write Packed(memory, fp4_e2m1), or leave it out for the bits"
            raise LeafTypeError(f"Packed of {shown(element)}", "an element type of 4 bits", fix)
        flat = storage(memory)
        if flat.dtype.itemsize != 1 or flat.dtype.kind not in "ui":
            raise LeafTypeError(f"Packed of a buffer of {flat.dtype}", "bytes", "write Packed(x.view(numpy.uint8))")
        self.memory = flat.view(np.uint8)
        self.dtype = np.dtype(np.uint8) if element is None else as_dtype("Packed", element)

    @property
    def size(self) -> int:
        """The number of elements."""
        return 2 * int(self.memory.size)

    @property
    def flags(self) -> Any:
        """numpy's flags of the bytes: whether they may be written."""
        return self.memory.flags

    def __getitem__(self, at: int | npt.NDArray[Any]) -> Any:
        import numpy as np

        pair, high = self._found(at)
        return np.where(high, self.memory[pair] >> np.uint8(4), self.memory[pair] & np.uint8(15)).view(self.dtype)[()]

    def __setitem__(self, at: int | npt.NDArray[Any], values: npt.NDArray[Any]) -> None:
        import numpy as np

        (pair, high), values = self._found(np.atleast_1d(at)), np.asarray(values)
        if self.dtype == np.uint8:
            require_numbers("an element of 4 bits", values, uint4)
        values = converted("an element of 4 bits", values, self.dtype).view(np.uint8)
        bits = np.broadcast_to(values, pair.shape) & np.uint8(15)
        where = pair[~high]  # one half after the other: two elements of a byte must not overwrite each other
        self.memory[where] = self.memory[where] & np.uint8(0xF0) | bits[~high]
        where = pair[high]
        self.memory[where] = self.memory[where] & np.uint8(0x0F) | bits[high] << np.uint8(4)

    @staticmethod
    def _found(at: Any) -> tuple[Any, Any]:
        """The bytes that elements lie in, and whether in their high halves."""
        import numpy as np

        at = np.asarray(at)
        return np.asarray(over(at, 2)), np.asarray(modulo(at, 2)) == 1

    def __reduce__(self) -> tuple[Any, ...]:
        return _packed, (self.memory, self.dtype)

    def __repr__(self) -> str:
        return f"Packed({self.memory!r}, {self.dtype})"


def _packed(memory: npt.NDArray[Any], dtype: Any) -> Packed:
    """The buffer of a pickle."""
    made = Packed(memory)
    made.dtype = dtype
    return made


def storage_of(buffer: object) -> npt.NDArray[Any] | Packed:
    """The memory of a buffer, as `storage` gives it; of packed elements the buffer itself."""
    return buffer if isinstance(buffer, Packed) else storage(buffer)


def bits_of(data: npt.NDArray[Any] | Packed) -> int:
    """The bits that each element of a buffer takes in memory."""
    return 4 if isinstance(data, Packed) else 8 * int(data.itemsize)


def kind_of(data: npt.NDArray[Any] | Packed) -> str:
    """The type of a buffer's elements, in words."""
    return f"packed {data.dtype}" if isinstance(data, Packed) else str(data.dtype)


def memory_of(data: npt.NDArray[Any] | Packed) -> npt.NDArray[Any]:
    """The numpy array that a buffer is, or lies in."""
    return data.memory if isinstance(data, Packed) else data


def require_whole_bytes(where: str, data: npt.NDArray[Any] | Packed) -> None:
    """LeafTypeError for elements that have no address of their own."""
    if isinstance(data, Packed):
        fix = "write numpy.asarray(t), which copies them apart"
        raise LeafTypeError(f"{where} of two elements in a byte", "elements of whole bytes", fix)
