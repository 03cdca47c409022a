"""Algorithms of tensors of threads, element by element, on numpy; copying.py and multiply.py have those by atoms.

Source: CuTe include/cute/algorithm/axpby.hpp, clear.hpp, fill.hpp, tensor_algorithms.hpp.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import shown
from ...core.sums import added, scaled
from ...tensors.make_tensor import as_tensor
from .values import extents_of, places_of, read, valid_of, values_of, write

if TYPE_CHECKING:
    import numpy.typing as npt

    from ...tensors.tensor import Tensor


def clear(t: Tensor) -> None:
    """Zero every element of a tensor of threads.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import clear
    >>> a = np.ones(4)
    >>> clear(MakeTensor(a)), a.tolist()
    (None, [0.0, 0.0, 0.0, 0.0])

    Source: CuTe `clear`.
    """
    fill(t, 0)


def fill(t: Tensor, value: npt.ArrayLike) -> None:
    """Set every element of a tensor of threads to a value; RangeError for an integer that does not fit.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import fill
    >>> a = np.ones(4)
    >>> fill(MakeTensor(a), 2), a.tolist()
    (None, [2.0, 2.0, 2.0, 2.0])

    Source: CuTe `fill`.
    """
    t, value = as_tensor("fill", t), _factor("fill", "the value", value)
    write("fill", t, value, valid_of(t))


def transform(source: npt.NDArray[Any] | Tensor, target: Tensor, f: Callable[..., Any]) -> None:
    """target = f(source) for every element, by numpy: f takes and gives arrays; the types may differ.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import transform
    >>> a, b = np.arange(4.0), np.zeros(4, np.float16)
    >>> transform(MakeTensor(a), MakeTensor(b), np.sqrt), b[1].item()
    (None, 1.0)

    Raises RankError where the extents differ. Source: CuTe `transform`.
    """
    import numpy as np

    source, target = as_tensor("transform", source), as_tensor("transform", target)
    if not callable(f):
        fix = "write numpy.sqrt, or lambda x: x + 1"
        raise LeafTypeError(f"transform by {shown(f)}", "a function of an array", fix)
    if math.prod(extents_of(source)) != math.prod(extents_of(target)):
        raise RankError(f"transform of {source!r} to {target!r}", "as many elements", "partition both the same way")
    found, shape = np.asarray(f(values_of(source))), places_of(target).shape
    if found.ndim and found.size != math.prod(shape):
        what = f"transform: an array of {found.shape} for one of {shape}"
        raise RankError(what, "as many elements", "give each element one")
    write("transform", target, found.reshape(shape) if found.ndim else found)


def axpby(alpha: object, x: npt.NDArray[Any] | Tensor, beta: object, y: npt.NDArray[Any] | Tensor) -> None:
    """y = alpha * x + beta * y for every element that is valid of both; where beta is 0, y is not read.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import axpby
    >>> x, y = np.ones(3), np.arange(3.0)
    >>> axpby(2, MakeTensor(x), 1, MakeTensor(y)), y.tolist()
    (None, [2.0, 3.0, 4.0])

    Integers are computed exactly, floats of less than 32 bits in float32. Raises RankError where the extents differ,
    RangeError for what y's type does not hold. Source: CuTe `axpby`.
    """
    x, y = as_tensor("axpby", x), as_tensor("axpby", y)
    alpha, beta = _factor("axpby", "alpha", alpha), _factor("axpby", "beta", beta)
    if extents_of(x) != extents_of(y):
        raise RankError(f"axpby of {x!r} and {y!r}", "the same extents", "partition both the same way")
    valid = valid_of(x) & valid_of(y)
    total = scaled("axpby", alpha, read("axpby", x, valid))
    if beta != 0:
        total = added("axpby", total, scaled("axpby", beta, read("axpby", y, valid)))
    write("axpby", y, total, valid)


def _factor(where: str, name: str, x: Any) -> Any:
    """A number, or LeafTypeError."""
    if not isinstance(x, numbers.Number) and (getattr(x, "shape", None) != () or x.dtype.kind not in "biufcV"):
        raise LeafTypeError(f"{where} with {name} {shown(x)}", "a number", "write 2 or 0.5")
    return x
