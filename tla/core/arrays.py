"""Arithmetic of integers with arrays and tracers, which wrap silently: computed exactly, or refused.

Source: numpy and JAX compute in the dtype of an array; offsets are integers.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .cache import plain_memo
from .errors import LeafTypeError, RangeError

if TYPE_CHECKING:
    import numpy.typing as npt

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
#: Functions of fewer integers than this are asked one by one; numpy is loaded for more.
FEW = 256

# What the dtypes of arrays and tracers, numpy's or another library's, are called: int32, torch.int64,
# Int32, bfloat16, key<fry>.
_INTEGER_DTYPE = r"(?i)(?:.*\.)?(u?)int(\d+)"
NO_INTEGER_DTYPE = r"(?i)float|complex|bool|key<"


def dtype_of(x: Any) -> str:
    """The name of the dtype of an array or tracer; empty where it has none.

    The class is asked: a proxy of torch.fx has every attribute, and records that it was asked for one.
    """
    return str(x.dtype) if hasattr(type(x), "dtype") else ""


@plain_memo
def range_of(dtype: str) -> tuple[int, int] | None:
    """The least and the largest integer of a dtype; None if the dtype is no integer of fixed width."""
    found = re.fullmatch(_INTEGER_DTYPE, dtype)
    if found is None:
        return None
    bits = int(found[2])
    return (0, 2**bits - 1) if found[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def int64_of(digits: str) -> int | None:
    """The integer of decimal digits, a minus before them or not; None where it does not fit in 64 bits.

    Of 20 digits, the first not 0, there is none that fits: no more are read. int() of a million takes its
    time, and refuses them.
    """
    n = int(digits.lstrip("-0")[:20] or "0") * (-1 if digits.startswith("-") else 1)
    return n if INT64_MIN <= n <= INT64_MAX else None


def numpy_for(n: int) -> Any:
    """numpy, if `n` integers are worth an array and it is installed; else None."""
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


def as_int64(x: Any) -> Any:
    """A numpy array of integers as one of int64, in which they compute; as Python's integers where these do not
    fit. A copy."""
    import numpy as np

    fits = x.size == 0 or INT64_MIN <= int(x.min()) <= int(x.max()) <= INT64_MAX
    return x.astype(np.int64) if fits else as_unbounded(x)


def as_unbounded(x: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A numpy array of integers as one of Python's, which never wrap."""
    return x.astype(object)


def seen(x: Any) -> Any:
    """The values of an array, as numpy's; None of a tracer, and of an array whose values are not here."""
    np, jax = sys.modules.get("numpy"), sys.modules.get("jax")
    if np and isinstance(x, np.ndarray):
        return x
    here = jax and isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer) and x.is_fully_addressable
    return np.asarray(x) if np and here else None


def computed(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """operation(a, b) of integers, arrays and tracers, an operator: no result wraps that can be seen here.

    Arrays of numpy compute in 64 bits, and in Python's integers where a result does not fit; those of other numbers as
    numpy does. Of another library the dtype has to hold the integer that meets it, or that is refused; what its values
    are is not known.

    >>> import operator
    >>> computed(operator.mul, 100, 4)
    400
    >>> import numpy
    >>> computed(operator.add, numpy.array([100], "int8"), numpy.array([100], "int8"))
    array([200])
    """
    np = sys.modules.get("numpy")
    if np:
        a, b = (int(x) if isinstance(x, np.integer) else x for x in (a, b))
        if any(isinstance(x, np.ndarray) for x in (a, b)) and all(_is_integers(np, x) for x in (a, b)):
            return _exact(operation, a, b)
    for x, n in ((a, b), (b, a)):
        if isinstance(n, int):
            require_held(f"the integer {int(n)}", x, min(n, 0), max(n, 0))
    try:
        return operation(_literal(a, b), _literal(b, a))
    except TypeError:
        given = f"{operation.__name__} of a {type(a).__name__} and a {type(b).__name__}"
        expected = "integers, or arrays and tracers of integers"
        raise LeafTypeError(given, expected, "give values to the sizes that are not known: .at(M=128)") from None


def _literal(n: Any, x: Any) -> Any:
    """An integer that meets x. Past 32 bits it gets x's dtype, where that is one of numpy's: JAX takes integers of
    Python for int32."""
    past = isinstance(n, int) and not -(2**31) <= n < 2**31
    return x.dtype.type(n) if past and hasattr(getattr(x, "dtype", None), "type") else n


def _is_integers(np: Any, x: Any) -> bool:
    return isinstance(x, int) or (isinstance(x, np.ndarray) and x.dtype.kind in "iubO")


#: Operators whose results may be larger than their operands; those that round quotients. Others have results of
#: no more bits.
_GROW, _DIVIDE = (operator.add, operator.sub, operator.mul, operator.lshift), (operator.floordiv, operator.mod)


def _exact(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """operation(a, b) of integers and arrays of them, of which one is an array."""
    a, b = (int(x) if isinstance(x, int) else x if x.dtype in ("int64", object) else as_int64(x) for x in (a, b))
    if object not in (getattr(a, "dtype", None), getattr(b, "dtype", None)) and not _fits(operation, a, b):
        a, b = (x if isinstance(x, int) else as_unbounded(x) for x in (a, b))
    return operation(a, b)


def _fits(operation: Callable[[Any, Any], Any], a: int | npt.NDArray[Any], b: int | npt.NDArray[Any]) -> bool:
    """Whether 64 bits hold all operands and results: a sum, a product or a shift has its ends where
    its operands have."""
    if not all(INT64_MIN <= n <= INT64_MAX for n in (a, b) if isinstance(n, int)):
        return False
    if operation in _DIVIDE:  # the one quotient that is too large is that of INT64_MIN and -1
        return (isinstance(b, int) and b != -1) or _ends(a)[0] > INT64_MIN
    return operation not in _GROW or all(INT64_MIN <= operation(x, y) <= INT64_MAX for x in _ends(a) for y in _ends(b))


def _ends(x: int | npt.NDArray[Any]) -> tuple[int, int]:
    """The least and the largest of an array, or an integer twice."""
    return (x, x) if isinstance(x, int) else (int(x.min()), int(x.max())) if x.size else (0, 0)
