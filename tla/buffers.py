"""Whatever holds elements, as a flat numpy array over the same memory."""

from __future__ import annotations

from typing import Any

from .errors import LeafTypeError, RangeError


def storage(buffer: Any) -> Any:
    """The memory of a buffer as a flat numpy array, never copied.

    buffer   a numpy array, or anything with the buffer protocol, __array_interface__ or DLPack; contiguous
    Raises   LeafTypeError for what has none of these, or elements that are no plain bytes; RangeError where it is not
             contiguous: then its elements have no flat order
    """
    import numpy as np

    array = buffer if isinstance(buffer, np.ndarray) else _shared(np, buffer)
    if array.dtype.hasobject or array.itemsize == 0:
        raise LeafTypeError(f"a buffer of {array.dtype}", "elements of plain bytes", "convert it to a numeric type")
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.ndarray)
    if array.flags.f_contiguous:
        return array.T.reshape(-1).view(np.ndarray)
    what = f"a buffer of shape {array.shape} and strides {array.strides} bytes, which is not contiguous"
    raise RangeError(what, "one run of memory", "give the whole that it is a part of, with a layout that has its strides, or a copy")


def _shared(np: Any, buffer: Any) -> Any:
    """A numpy array over the memory of something else."""
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
    what = f"a buffer of type {type(buffer).__name__}"
    raise LeafTypeError(what, "a numpy array, the buffer protocol or DLPack", "write numpy.array(x), or None for no buffer")


def _buffer_of(x: Any) -> memoryview | None:
    """What the buffer protocol gives of x, if it has it."""
    try:
        return memoryview(x)
    except (TypeError, BufferError):
        return None
