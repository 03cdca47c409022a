"""Types and arrays of numpy, ml_dtypes and JAX, as XLA's: taken wherever an element type or a shape is.

Source: JAX jax/_src/interpreters/mlir.py, dtype_to_ir_type.
"""

from __future__ import annotations

import re
from typing import Any

from ...core.errors import LeafTypeError
from .array_shape import BITS, ArrayShape

# numpy's names for what XLA calls by a letter and the bits: int4 is s4, float8_e4m3fn is f8e4m3fn.
_PREFIXES = {"bfloat": "bf", "float": "f", "uint": "u", "int": "s", "complex": "c"}


def element_type(dtype: object) -> str:
    """XLA's name of a dtype of JAX or numpy.

    >>> import numpy
    >>> element_type(numpy.dtype("float32")), element_type(numpy.bool_), element_type("int4"), element_type("float8_e4m3fn")
    ('f32', 'pred', 's4', 'f8e4m3fn')

    Raises LeafTypeError for a dtype that XLA has no type for. Source: JAX jax/_src/interpreters/mlir.py,
    dtype_to_ir_type.
    """
    given = str(dtype if isinstance(dtype, str) else getattr(dtype, "name", getattr(dtype, "__name__", repr(dtype))))
    name = "pred" if given in ("bool", "bool_") else given.replace("_", "")
    name = re.sub(r"^(bfloat|float|uint|int|complex)(?=\d)", lambda kind: _PREFIXES[kind[1]], name)
    if name not in BITS:
        what = f"the dtype {given:.60}"
        raise LeafTypeError(what, "one that XLA has: " + " ".join(BITS), "convert the array with .astype first")
    return name


def type_name(x: object) -> Any:
    """XLA's name of a dtype of numpy or JAX; a text, or what is no dtype, as it stands.

    >>> import numpy
    >>> type_name(numpy.int8), type_name("bf16")
    ('s8', 'bf16')
    """
    if isinstance(x, str):
        return x
    if isinstance(x, type):
        return x if x is int or x is float else element_type(x)
    return element_type(getattr(x, "dtype", x)) if hasattr(x, "dtype") or hasattr(x, "itemsize") else x


def array_like(x: Any) -> ArrayShape | None:
    """The shape of an array of numpy or JAX, a tracer or a ShapeDtypeStruct; None of what is none.

    Raises LeafTypeError for an array whose layout is another than the default: it would be lost
    """
    if isinstance(x, (str, bytes)) or not hasattr(x, "shape") or not hasattr(x, "dtype") or x.dtype is None:
        return None
    layout = getattr(getattr(x, "format", None), "layout", None)
    natural = tuple(range(len(x.shape)))
    order = tuple(getattr(layout, "major_to_minor", natural))
    if layout is not None and (order != natural or getattr(layout, "tiling", None)):
        fix = "write tla.xla.jax.shape_of(array), which keeps it"
        raise LeafTypeError(f"an array with the layout {layout!s:.80}", "one in row-major order without tiles", fix)
    return ArrayShape(element_type(x.dtype), tuple(x.shape))
