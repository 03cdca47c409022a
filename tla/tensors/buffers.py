"""Whatever holds elements, as a flat numpy array over the same memory; element types as numpy's."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ..core.element import DTYPES, Element, tf32
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown

if TYPE_CHECKING:
    import numpy.typing as npt


def storage(buffer: object) -> Any:
    """The memory of a buffer as a flat numpy array, never copied.

    buffer   a numpy array, or anything with the buffer protocol, __array_interface__ or DLPack; contiguous
    Raises   LeafTypeError for what has none of these, or elements that are no plain bytes; RangeError where it is not
             contiguous: then its elements have no flat order
    """
    import numpy as np

    array = buffer if isinstance(buffer, np.ndarray) else _shared(np, buffer)
    _require_plain(array)
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.ndarray)
    if array.flags.f_contiguous:
        return array.T.reshape(-1).view(np.ndarray)
    what = f"a buffer of shape {array.shape} and strides {array.strides} bytes, which is not contiguous"
    fix = "leave out the layout for its own, or give the whole that it is a part of"
    raise RangeError(what, "one run of memory", fix)


def strided_storage(array: object) -> tuple[Any, int, tuple[int, ...]]:
    """The memory of a numpy array from its first to last element, flat; where index 0 lies, and strides [elements].

    Raises LeafTypeError for anything else, RangeError where steps are no whole elements, as in one field of records
    """
    import numpy as np

    if not isinstance(array, np.ndarray):
        what = f"MakeTensor of a {type(array).__name__} alone"
        raise LeafTypeError(what, "a layout", "write MakeTensor(buffer, layout)")
    width = array.itemsize
    if odd := [d for d in array.strides if width and d % width]:
        what = f"an array whose elements of {width} bytes are {odd[0]} bytes apart"
        raise RangeError(what, "steps of whole elements", "give a copy")
    strides = tuple(d // width if width else 0 for d in array.strides)
    if array.flags.forc or not array.size:
        return storage(array), 0, strides
    _require_plain(array)
    reach = [(n - 1) * d for n, d in zip(array.shape, strides)]
    lowest = array[tuple(slice(None, None, -1 if d < 0 else 1) for d in strides)]
    flat = np.lib.stride_tricks.as_strided(lowest, (sum(map(abs, reach)) + 1,), (width,))
    return flat.view(np.ndarray), -sum(x for x in reach if x < 0), strides


def _require_plain(array: npt.NDArray[Any]) -> None:
    import numpy as np

    if array.dtype.hasobject or array.itemsize == 0:
        raise LeafTypeError(f"a buffer of {array.dtype}", "elements of plain bytes", "convert it to a numeric type")
    if isinstance(array, np.ma.MaskedArray):
        raise LeafTypeError("a masked array as a buffer", "elements that all count", "write x.filled(0)")


def _shared(np: Any, buffer: object) -> Any:
    """A numpy array over the memory of something else."""
    if (narrow := _narrow_of_jax(np, buffer)) is not None:
        return narrow
    try:
        if hasattr(buffer, "__array_interface__"):
            return np.asarray(buffer)
        if (view := _buffer_of(buffer)) is not None:
            return np.asarray(view)
        if hasattr(buffer, "__dlpack__"):
            return np.from_dlpack(buffer)
    except (ValueError, TypeError, BufferError, RuntimeError) as why:
        what = f"a buffer of type {type(buffer).__name__}: {why}"
        raise LeafTypeError(what, "memory of this machine that numpy can share", "give numpy.asarray(x)") from None
    what, fix = f"a buffer of type {type(buffer).__name__}", "write numpy.array(x), or None for no buffer"
    raise LeafTypeError(what, "a numpy array, the buffer protocol or DLPack", fix)


def _narrow_of_jax(np: Any, x: Any) -> Any:
    """A read-only view of an array of JAX in this machine whose elements DLPack cannot name: bfloat16, float8, int4.

    JAX never writes to an array, so that it makes no difference whether numpy shares it or has a copy.
    """
    if not type(x).__module__.startswith("jaxlib") or not hasattr(x, "devices") or not hasattr(x, "dtype"):
        return None
    if np.dtype(x.dtype).isbuiltin == 1 or any(d.platform != "cpu" for d in x.devices()):
        return None
    return np.asarray(x)


def _buffer_of(x: Any) -> memoryview | None:
    """The memory of x by the buffer protocol, if it has that."""
    try:
        return memoryview(x)
    except (TypeError, BufferError):
        return None


#: What every allocation begins at a multiple of [bytes]: what shared memory under the widest swizzle is declared with.
#: cudaMalloc's 256 are enough for all that is asked of global memory.
ALLOCATION = 1024


def begin_of(data: npt.NDArray[Any]) -> int:
    """The bytes from the start of an allocation to that of an array, maybe a view; their remainder by ALLOCATION.

    Of memory that is not numpy's, and whose owner does not say where it begins, the address tells: torch and JAX
    allocate at multiples of 64 bytes.
    """
    import numpy as np

    whole, owner, address = data, data.base, _address(data)
    while owner is not None and hasattr(owner, "base"):  # as_strided's go through an object that is no array
        whole, owner = (owner if isinstance(owner, np.ndarray) else whole), owner.base
    try:
        whole = whole if owner is None else np.frombuffer(getattr(owner, "obj", owner), np.uint8)
    except (TypeError, ValueError, BufferError):
        return address % 64
    return (address - _address(whole)) % ALLOCATION


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def as_dtype(where: str, x: Any) -> Any:
    """x as an element type of numpy."""
    import numpy as np

    if isinstance(x, Element):
        return _of_element(where, x)
    try:
        return np.dtype(x)
    except (TypeError, ValueError):
        fix = "write numpy.float16, numpy.int8, ..."
        raise LeafTypeError(f"{where}[{shown(x)}]", "an element type of numpy", fix) from None


def _of_element(where: str, x: Element) -> Any:
    """The type of numpy, or of ml_dtypes, that holds an element type; of less than a byte each element has one."""
    import numpy as np

    name = DTYPES.get(x.name, x.name)
    try:
        return np.dtype(name)
    except TypeError:
        pass  # it is ml_dtypes' or nobody's
    try:
        return np.dtype(getattr(importlib.import_module("ml_dtypes"), name))
    except (ImportError, AttributeError) as why:
        missing = isinstance(why, ImportError) and x.name in DTYPES
        bits = (
            "numpy.float32, whose first 19 bits it reads" if x == tf32 else f"numpy.uint{max(8, x.bits)} for its bits"
        )
        fix = "install ml_dtypes" if missing else f"write {bits}"
        raise LeafTypeError(f"{where}[{x}]", "an element type that numpy or ml_dtypes has", fix) from None
