"""Sums and products of arrays of numbers: of integers exact, of floats of few bits in float32.

Nothing wraps, and no finite numbers become infinite unseen. What the elements of a result do not hold is for
the store to refuse.

Source: CuTe and CATLASS sum products of 16 bits and less in 32; the rest is ours.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from .arrays import INT64_MAX, as_int64, as_unbounded, computed
from .errors import LeafTypeError, RangeError
from .values import converted, format_of

if TYPE_CHECKING:
    import numpy.typing as npt

#: Operations of numpy whose results may be larger than 64 bits where their operands are not.
_GROWING = frozenset({"add", "subtract", "multiply", "power", "left_shift", "lcm", "floor_divide"})


def sum_type(dtype: Any) -> Any:
    """The type in which numbers for elements of a type are summed: 64 bits of integers, float32 of floats below 32
    bits, else their own."""
    import numpy as np

    numbers = format_of(dtype)
    if numbers is None or numbers.kind not in ("integer", "real"):
        return dtype
    return np.dtype(np.int64) if numbers.kind == "integer" else np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def summands(what: str, values: Any, dtype: object) -> Any:
    """An array as what is summed for elements of a type: in its sum_type, or integers past 64 bits as Python's.

    >>> import numpy
    >>> summands("a sum", numpy.array([3, 4], "uint16"), numpy.dtype("float16"))
    array([3., 4.], dtype=float32)
    """
    import numpy as np

    wide = sum_type(dtype)
    if wide == np.int64 and values.dtype.kind in "iub":
        return as_int64(values)
    return converted(what, values, wide)


def matmul(what: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """a @ b of summands.

    Raises     RangeError where numbers that are finite have a sum that is not, LeafTypeError for what are no numbers
    """
    import numpy as np

    for x in (a, b):
        if format_of(x.dtype) is None:
            raise LeafTypeError(f"{what} of {x.dtype}", "numbers", "convert them to numpy.float32")
    if a.dtype.kind in "iO" and not _bound(a) * _bound(b) * a.shape[-1] <= INT64_MAX:
        a, b = as_unbounded(a), as_unbounded(b)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(what, a @ b, a, b)


def added(what: str, a: npt.NDArray[Any], b: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """a + b of summands, as matmul."""
    import numpy as np

    with np.errstate(over="ignore", invalid="ignore"):
        return finite(what, computed(operator.add, a, b), a, b)


def scaled(what: str, factor: Any, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A number times an array, as matmul: what `added` takes."""
    import numpy as np

    values = summands(what, values, values.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return finite(what, computed(operator.mul, factor, values), values, np.asarray(factor))


def reduced(what: str, operation: Any, values: npt.NDArray[Any], axes: tuple[int, ...]) -> npt.NDArray[Any]:
    """The summands along some axes, by an operation of numpy's of two arguments.

    Raises     LeafTypeError for one that does not reduce such numbers, RangeError where there is nothing to reduce
    """
    import numpy as np

    if values.dtype == np.int64 and operation.__name__ in _GROWING and not _stays(operation, values, axes):
        values = as_unbounded(values)
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.asarray(operation.reduce(values, axis=axes))
    except TypeError as why:
        fix = "write numpy.add, numpy.maximum, ..."
        raise LeafTypeError(
            f"{what} by {operation!r}: {str(why)[:80]}", f"an operation that reduces {values.dtype}", fix
        ) from None
    except ValueError as why:  # such as the largest of nothing
        raise RangeError(f"{what}: {why}", "elements to reduce", "leave out what is empty") from None
    return finite(what, found, values)


def _stays(operation: Any, values: npt.NDArray[Any], axes: tuple[int, ...]) -> bool:
    """Whether a sum or difference of so many integers stays in 64 bits; of other operations that is not known."""
    count = math.prod(values.shape[i] for i in axes)
    return operation.__name__ in ("add", "subtract") and _bound(values) * count <= INT64_MAX


def _bound(x: npt.NDArray[Any]) -> int:
    """The largest magnitude of integers."""
    return max(-int(x.min()), int(x.max())) if x.size else 0


def finite(what: str, found: npt.NDArray[Any], *given: Any) -> npt.NDArray[Any]:
    """Pass on a result; RangeError where some of it is not finite, and all that it was made of is."""
    import numpy as np

    if found.dtype.kind in "fc" and not np.isfinite(found).all() and all(np.isfinite(x).all() for x in given):
        expected = "finite sums of finite numbers"
        raise RangeError(f"{what}: a sum that {found.dtype} does not hold", expected, "use a wider element type")
    return found
