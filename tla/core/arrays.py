"""Arithmetic of integers with arrays and tracers, which wrap silently: computed exactly, or refused.

Source: numpy and JAX compute in the dtype of an array; offsets are integers.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from typing import Any

from .cache import plain_memo
from .errors import LeafTypeError, RangeError

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
#: Functions of fewer integers than this are asked one by one; numpy is loaded for more.
FEW = 256

# What the dtypes of arrays and tracers, numpy's or another library's, are called: int32, torch.int64, Int32, bfloat16, key<fry>.
_INTEGER_DTYPE = r"(?i)(?:.*\.)?(u?)int(\d+)"
NO_INTEGER_DTYPE = r"(?i)float|complex|bool|key<"


def dtype_of(x: Any) -> str:
    """The name of the dtype of an array or tracer; empty where it has none.

    The class is asked: a proxy of torch.fx has every attribute, and records that it was asked for one.
    """
    return str(x.dtype) if hasattr(type(x), "dtype") else ""


@plain_memo
def range_of(dtype: str) -> tuple[int, int] | None:
    """The least and the largest integer of a dtype; None where it is no integer's of so many bits."""
    found = re.fullmatch(_INTEGER_DTYPE, dtype)
    if found is None:
        return None
    bits = int(found[2])
    return (0, 2**bits - 1) if found[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def int64_of(digits: str) -> int | None:
    """The integer of decimal digits, a minus before them or not; None where it does not fit in 64 bits.

    Of 20 digits, the first not 0, there is none that fits: no more are read. int() of a million takes its time, and refuses them.
    """
    n = int(digits.lstrip("-0")[:20] or "0") * (-1 if digits.startswith("-") else 1)
    return n if INT64_MIN <= n <= INT64_MAX else None


def numpy_for(n: int) -> Any:
    """numpy, for a function of so many integers; None for a few, and where there is no numpy, as in a browser."""
    if n < FEW:
        return None
    try:
        import numpy as np
    except ImportError:
        return None
    return np


def require_held(what: str, x: Any, low: int, high: int) -> None:
    """RangeError if x is an array or tracer of integers whose dtype cannot hold `low` to `high`."""
    bounds = range_of(dtype_of(x))
    if bounds and not bounds[0] <= low <= high <= bounds[1]:
        given = f"coordinates of {x.dtype} for {what}, where integers from {low} to {high} arise"
        raise RangeError(given, f"{bounds[0]} to {bounds[1]}", "convert them to a wider dtype, or take a tile")


def computed(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """operation(a, b) of integers, arrays and tracers: no result wraps that can be seen here.

    Arrays of numpy compute in 64 bits, and in Python's integers where a result does not fit. Of another library the dtype
    has to hold the integer that meets it, or that is refused; what its values are is not known.

    >>> import operator
    >>> computed(operator.mul, 100, 4)
    400
    """
    np = sys.modules.get("numpy")
    if np:
        a, b = (int(x) if isinstance(x, np.integer) else x for x in (a, b))
        if any(isinstance(x, np.ndarray) for x in (a, b)) and all(isinstance(x, (int, np.ndarray)) for x in (a, b)):
            return _exact(np, operation, a, b)
    for x, n in ((a, b), (b, a)):
        if isinstance(n, int):
            require_held(f"the integer {int(n)}", x, min(n, 0), max(n, 0))
    try:
        return operation(a, b)
    except TypeError:
        given = f"{operation.__name__} of a {type(a).__name__} and a {type(b).__name__}"
        raise LeafTypeError(
            given, "integers, or arrays and tracers of integers", "give values to the sizes that are not known: .at(M=128)"
        ) from None


def _exact(np: Any, operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """operation(a, b) of arrays of integers: + and *, or //, % and comparisons."""
    a, b = (
        np.asarray(x, object if x.dtype == object or x.dtype.kind == "u" else np.int64) if isinstance(x, np.ndarray) else int(x)
        for x in (a, b)
    )
    if object not in (getattr(a, "dtype", None), getattr(b, "dtype", None)) and not _fits(operation, _extremes(a), _extremes(b)):
        a = a.astype(object) if isinstance(a, np.ndarray) else a
        b = b.astype(object) if isinstance(b, np.ndarray) else b
    return operation(a, b)


def _extremes(x: Any) -> tuple[int, int]:
    return (x, x) if isinstance(x, int) else (int(x.min()), int(x.max())) if x.size else (0, 0)


def _fits(operation: Callable[[Any, Any], Any], a: tuple[int, int], b: tuple[int, int]) -> bool:
    if operation not in (operator.add, operator.mul):
        return all(INT64_MIN < n <= INT64_MAX for n in (*a, *b))  # the one quotient that is too large is that of INT64_MIN and -1
    return all(INT64_MIN <= n <= INT64_MAX for n in (operation(x, y) for x in a for y in b))
