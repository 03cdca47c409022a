"""Whatever holds elements, as a flat numpy array over the same memory; and which elements fit where."""

from __future__ import annotations

import importlib
from typing import Any

from ..core.arrays import range_of
from ..core.element import Element
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import shown


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
    raise RangeError(what, "one run of memory", "leave out the layout for its own, or give the whole that it is a part of")


def strided_storage(array: object) -> tuple[Any, int, tuple[int, ...]]:
    """The memory from the first to the last element of a numpy array, flat; where its index 0 lies there, and its strides
    [elements].

    Raises LeafTypeError for anything else, RangeError where steps are no whole elements, as in one field of records
    """
    import numpy as np

    if not isinstance(array, np.ndarray):
        raise LeafTypeError(f"MakeTensor of a {type(array).__name__} alone", "a layout", "write MakeTensor(buffer, layout)")
    width = array.itemsize
    if odd := [d for d in array.strides if width and d % width]:
        raise RangeError(f"an array whose elements of {width} bytes are {odd[0]} bytes apart", "steps of whole elements", "give a copy")
    strides = tuple(d // width if width else 0 for d in array.strides)
    if array.flags.forc or not array.size:
        return storage(array), 0, strides
    _require_plain(array)
    reach = [(n - 1) * d for n, d in zip(array.shape, strides)]
    lowest = array[tuple(slice(None, None, -1 if d < 0 else 1) for d in strides)]
    flat = np.lib.stride_tricks.as_strided(lowest, (sum(map(abs, reach)) + 1,), (width,))
    return flat.view(np.ndarray), -sum(x for x in reach if x < 0), strides


def _require_plain(array: Any) -> None:
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
    what = f"a buffer of type {type(buffer).__name__}"
    raise LeafTypeError(what, "a numpy array, the buffer protocol or DLPack", "write numpy.array(x), or None for no buffer")


def _narrow_of_jax(np: Any, x: Any) -> Any:
    """An array of JAX in the memory of this machine whose elements DLPack has no name for: bfloat16, float8, int4. It is read-only.

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


#: What every allocation begins at a multiple of [bytes]: what shared memory under the widest swizzle is declared with. cudaMalloc's 256
#: are enough for all that is asked of global memory.
ALLOCATION = 1024


def begin_of(data: Any) -> int:
    """The bytes from the start of an allocation to that of an array, which may be a view: their remainder by ALLOCATION.

    Of memory that is not numpy's, and whose owner does not say where it begins, the address tells: torch and JAX allocate at
    multiples of 64 bytes.
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


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def as_dtype(where: str, x: Any) -> Any:
    """x as an element type of numpy."""
    import numpy as np

    if isinstance(x, Element):
        return _of_element(where, x)
    try:
        return np.dtype(x)
    except (TypeError, ValueError):
        raise LeafTypeError(f"{where}[{shown(x)}]", "an element type of numpy", "write numpy.float16, numpy.int8, ...") from None


#: numpy's types of element types, and ml_dtypes' of those that numpy has not.
_NUMPY = {"half": "float16", "float": "float32", **{n: n for n in ("int8", "uint8", "int16", "int32", "uint32", "int64")}}
_ML_DTYPES = {
    "bf16": "bfloat16",
    "fp8_e4m3": "float8_e4m3fn",
    "fp8_e5m2": "float8_e5m2",
    "fp8_e8m0": "float8_e8m0fnu",
    "fp4_e2m1": "float4_e2m1fn",
    "int4b": "int4",
}


def _of_element(where: str, x: Element) -> Any:
    """The type of numpy, or of ml_dtypes, that holds an element type; of 4 bits each element has a byte."""
    import numpy as np

    if x.name in _NUMPY:
        return np.dtype(_NUMPY[x.name])
    name = _ML_DTYPES.get(x.name)
    try:
        ml_dtypes = importlib.import_module("ml_dtypes")
    except ImportError:
        fix = "install ml_dtypes" if name else "write numpy.uint8 for its bits"
        raise LeafTypeError(f"{where}[{x}]", "an element type that numpy has", fix) from None
    if name is None or not hasattr(ml_dtypes, name):
        raise LeafTypeError(f"{where}[{x}]", "an element type that numpy or ml_dtypes has", "write numpy.uint8 for its bits")
    return np.dtype(getattr(ml_dtypes, name))


def integers_of(dtype: Any) -> tuple[int, int] | None:
    """The least and the largest integer of an element type, the int4 of ml_dtypes included; None where it has other values."""
    return range_of(dtype.name)


def require_castable(given: Any, wanted: Any) -> None:
    """LeafTypeError for elements that another type cannot hold: floats may be rounded, integers must fit."""
    import numpy as np

    held, ends = integers_of(wanted), integers_of(given)
    if held and (given.kind == "b" or (ends and held[0] <= ends[0] <= ends[1] <= held[1])):
        return
    # The bfloat16 of ml_dtypes is of kind V, as records are; numpy would take complex numbers for it.
    rounds = wanted.kind not in "bmMSU" and wanted.type is not np.void and (given.kind != "c" or wanted.kind == "c")
    if held or not np.can_cast(given, wanted, "same_kind" if rounds else "safe"):
        fix = f"convert them first: x.astype({str(wanted)!r})"
        raise LeafTypeError(f"elements of {given} into {wanted}", f"a type that holds every {given}", fix)


def rounded(what: str, values: Any, dtype: Any) -> Any:
    """An array as one of another type that may hold less of it: floats are rounded, RangeError for what becomes infinite."""
    import numpy as np

    if not np.can_cast(values.dtype, dtype, "safe"):
        require_values_held(what, values, dtype)
    return values.astype(dtype, copy=False)


def require_values_held(what: str, values: Any, dtype: Any) -> None:
    """RangeError where a type does not hold values of its own kind: an integer past its ends, a number that becomes infinite."""
    import numpy as np

    held = integers_of(dtype)
    if held and values.size and not held[0] <= int(values.min()) <= int(values.max()) <= held[1]:
        raise RangeError(f"{what}: integers from {values.min()} to {values.max()}", f"{held[0]} to {held[1]}", "use a wider element type")
    if held or values.dtype.kind not in "iufc":
        return
    with np.errstate(over="ignore", invalid="ignore"):
        lost = np.isfinite(values) & ~np.isfinite(values.astype(dtype))
    if lost.any():
        raise RangeError(f"{what}: {values[lost].flat[0]} as {dtype}", f"what {dtype} holds", "use a wider element type")
