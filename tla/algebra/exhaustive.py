"""Exhaustive checks: functions compared on every integer of their domain, where no shorter proof is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.arrays import numpy_for
from ..core.digits import ENUMERABLE
from ..core.errors import TlaError, Unproven
from ..core.int_tuple import shown, size
from ..core.ints import known
from ..core.kinds import AnyLayout
from .flat_modes import has_symbols


def values_of(layout: AnyLayout, what: str) -> list[Any]:
    """Every value of a layout of known sizes and strides, in the order of the index."""
    n = known(size(layout))
    if n is None or n > ENUMERABLE:
        expected = f"at most {ENUMERABLE:,}, to go through them"
        raise Unproven(f"{what} of {shown(size(layout))} coordinates", expected, "take a smaller tile")
    image = _image(layout, n)
    if image is not None:
        return image.tolist()  # type: ignore[no-any-return]  # int64: ints
    values = []
    for i in range(n):
        values.append(layout(i))
        if has_symbols(values[-1]):  # other expressions may be equal for some sizes
            expected, fix = "strides and an offset with values", "give its symbols values: at(x, N=128)"
            raise Unproven(f"{what} of values that are not known", expected, fix)
    return values


def _image(f: Callable[[Any], Any], n: int) -> Any:
    """f(0), ..., f(n - 1) as an array of numpy, in one pass; None for a few, and for what is not integers
    of 64 bits."""
    np = numpy_for(n)
    if np is None or has_symbols(f(1), f(n - 1)):  # the last one has every stride in it
        return None
    try:
        image = f(np.arange(n))
    except TlaError:  # one by one, it says where
        return None
    return image if isinstance(image, np.ndarray) and image.dtype == np.int64 else None


def agree(f: Callable[[Any], Any], g: Callable[[Any], Any], places: list[int]) -> bool:
    """Whether two functions are equal at these places."""
    np = numpy_for(len(places))
    if np is None:
        return all(f(x) == g(x) for x in places)
    at = np.array(places)
    return first_difference(lambda k: f(at[k]), lambda k: g(at[k]), len(places)) is None


def first_difference(f: Callable[[Any], Any], g: Callable[[Any], Any], n: int) -> int | None:
    """The first of 0, ..., n - 1 where two functions differ."""
    images = _image(f, n), _image(g, n)
    if any(image is None for image in images):
        return next((x for x in range(n) if f(x) != g(x)), None)
    differ = images[0] != images[1]
    return int(differ.argmax()) if differ.any() else None
