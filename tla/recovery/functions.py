"""The table of a function of coordinates: called once with arrays, or coordinate by coordinate where it branches."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..core.ints import is_int
from .tables import as_table

if TYPE_CHECKING:
    from .digits import Table

#: A function that takes no arrays is called at no more coordinates than these.
MAX_CALLS = 2**18


def table_of_function(f: Callable[..., Any], shape: tuple[int, ...]) -> Table:
    """The offset of every coordinate. f takes one coordinate for each extent of the shape, as arrays of
    int64 or integers.

    Raises    RankError for another number of parameters, LeafTypeError for what is no integer
    """
    import numpy as np

    _require_parameters(f, len(shape))
    grid = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij", sparse=True)
    given = [g.copy() for g in grid]
    try:
        with np.errstate(divide="raise"):
            found = f(*given)
    except Exception:  # it takes no arrays: an `if` of one, math.floor, a table of its own; or it divides by 0
        return _one_by_one(f, shape)
    if any(not np.array_equal(g, h) for g, h in zip(given, grid)):
        raise LeafTypeError(
            f"{name_of(f)}, which changes its arguments", "a function without side effects", "compute a new value"
        )
    values = np.asarray(found)
    if np.broadcast_shapes(values.shape, shape) != shape:
        what = f"{name_of(f)}, which gives values of shape {values.shape}"
        raise RankError(what, f"one for each of {shape}", "return one integer")
    table = as_table(np.broadcast_to(values, shape))
    _require_same_of_integers(f, table)
    return table


def _require_same_of_integers(f: Callable[..., Any], table: Table) -> None:
    """Require that f of the last coordinate is what it is of Python's integers: arrays wrap where these do not."""
    last = tuple(n - 1 for n in table.shape)
    try:
        value = f(*last)
    except Exception:  # it takes arrays alone
        return
    if is_int(value) and int(value) != int(table[last]):
        what = f"{name_of(f)} at {shown(last)}: {int(table[last])} of arrays, {int(value)} of integers"
        raise LeafTypeError(what, "one value", "keep what it computes on the way within 64 bits")


def _one_by_one(f: Callable[..., Any], shape: tuple[int, ...]) -> Table:
    import numpy as np

    if math.prod(shape) > MAX_CALLS:
        what = f"{name_of(f)}, which takes no arrays, at {math.prod(shape):,} coordinates"
        raise RangeError(what, f"at most {MAX_CALLS:,}", "write it with // and numpy.where, or take a smaller shape")
    values = []
    for coordinate in itertools.product(*map(range, shape)):
        try:
            values.append(f(*coordinate))
        except Exception as error:
            what = f"{name_of(f)} at {shown(coordinate)}: {type(error).__name__}: {str(error)[:200]}"
            raise LeafTypeError(
                what, "an integer for each coordinate", "mend it, or give the shape that it is for"
            ) from error
    return as_table(np.array(values).reshape(shape))


def _require_parameters(f: Callable[..., Any], count: int) -> None:
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # none is told of what is written in C
        return
    try:
        signature.bind(*range(count))
    except TypeError:
        what = f"{name_of(f)}{signature} for {count} coordinates"
        raise RankError(what, "one parameter for each extent of shape=", "give shape= as many extents") from None


def name_of(f: Callable[..., Any]) -> str:
    """The name of a function, for an error."""
    return str(getattr(f, "__name__", type(f).__name__))
