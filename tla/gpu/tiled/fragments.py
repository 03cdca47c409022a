"""Fragments: the registers of a thread, or of an array of threads, one after the other; tensor memory.

Source: CuTe include/cute/tensor_impl.hpp, make_fragment_like; mma_traits_sm100.hpp, make_fragment_C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...algebra.make import fragment_layout
from ...core.composed import innermost
from ...core.element import DTYPES, Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import product_each
from ...core.ints import Int
from ...core.layout import Layout
from ...core.strides import compact_col_major
from ...tensors.buffers import as_dtype
from ...tensors.guard import whole
from ...tensors.make import registers
from ...tensors.positions import Memory
from ...tensors.tensor import Tensor, tensor_of
from ..instructions.atom import TmemFragment
from ..instructions.elements import NUMPY
from ..instructions.tmem import tmem_layout

if TYPE_CHECKING:
    import numpy.typing as npt

_0 = Int[0]()


def numpy_type(element: Element) -> str:
    """The numpy type that holds an element type's values: float32 where numpy does not have it."""
    return NUMPY.get(element.name, "float32")


def numpy_has(element: Element) -> bool:
    """Whether numpy has an element type itself, and no other type holds its values."""
    return element.name in NUMPY and element.bits >= 8 and element.name != "tf32"


def holds(element: Element, dtype: Any, wider: bool = False) -> bool:
    """Whether a numpy type is the one for an element type, or of the same kind where numpy lacks it.

    wider   also accept a larger type of the same kind that has all of its values
    """
    import numpy as np

    natural = np.dtype(numpy_type(element))
    if numpy_has(element):
        return dtype == natural or (wider and dtype.kind == natural.kind and np.can_cast(natural, dtype))
    return dtype.kind in ("iu" if natural.kind in "iu" else "fV")


def register_type(element: Element, part: Tensor, wider: bool = False) -> Any:
    """The numpy type of registers of an operand's part: the part's if it holds the atom's values, else the atom's, by
    ml_dtypes where numpy has it not; without that package a type that holds its values."""
    if part.dtype is not None and holds(element, part.dtype, wider):
        return part.dtype
    if numpy_has(element) or element.bits < 8 or element.name not in DTYPES:
        return numpy_type(element)
    try:
        return as_dtype("a fragment", element)
    except LeafTypeError:
        return numpy_type(element)


def fragment_like(part: Tensor, thread: int | npt.NDArray[Any], dtype: object) -> Tensor:
    """Registers of a part's shape: the atom's values first, then the other modes in the order of the part's strides."""
    return registers(fragment_layout(part.layout), thread, dtype)


def register_fragment(part: Tensor, thread: object, dtype: object) -> Tensor:
    """Registers of a part's shape, the first mode fastest."""
    shape = innermost(part.layout).shape
    return registers(Layout(shape, compact_col_major(shape)), thread, dtype)


def tmem_fragment(kind: TmemFragment, part: Tensor) -> Tensor:
    """Tensor memory of the shape of a part of an operand, ((M,N),RestM,RestN,...), where its instruction has it."""
    shape = innermost(part.layout).shape
    layout = tmem_layout(shape, kind.element, sms=kind.sms, storage=kind.storage, allocation=kind.allocation)
    extents = product_each(layout.shape)
    return tensor_of(None, None, _0, layout, [_0] * len(extents), whole(layout.shape), Memory("TMEM"))
