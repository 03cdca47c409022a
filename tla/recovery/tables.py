"""The layout of a table of offsets: shape and strides, swizzled or not, or what is linear over bits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.arrays import as_int64
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.layout import Layout
from ..linear import LinearLayout
from ..linear.bridge import layout_of as layout_of_linear
from ..tensors.offsets import offsets
from .digits import Digits, digits, largest, least
from .swizzles import columns_of, is_affine, unswizzled

if TYPE_CHECKING:
    from ..core.composed import ComposedLayout
    from .digits import Table

#: A table of more offsets is refused.
MAX_OFFSETS = 2**24


def as_table(given: Any, shape: tuple[int, ...] | None = None) -> Table:
    """An array or a list of integers as a table of int64, with an axis for each coordinate.

    shape    the extents of the coordinates, where `given` has one axis for all of them, the first coordinate fastest
    """
    import numpy as np

    try:
        table = np.asarray(given)
    except (ValueError, TypeError, OverflowError) as error:
        raise LeafTypeError(
            f"a table of type {type(given).__name__}: {error}", "an array of integers", "give each row as many"
        ) from None
    if table.dtype.kind not in "iu" or (table.size and int(table.max()) >= 2**63):
        raise LeafTypeError(
            f"a table of {table.dtype}", "integers of 64 bits: offsets", "convert it: table.astype('int64')"
        )
    if not table.ndim or not 0 < table.size <= MAX_OFFSETS:
        raise RangeError(
            f"a table of shape {table.shape}", f"1 to {MAX_OFFSETS:,} offsets", "give a table of part of it"
        )
    if shape is not None and shape != table.shape:
        if table.ndim > 1 or int(np.prod(shape)) != table.size:
            what = f"shape={shape} of a table of shape {table.shape}"
            raise RankError(what, "its shape", "leave shape= out, or give one axis for all")
        table = table.reshape(shape, order="F")
    return as_int64(table)  # type: ignore[no-any-return]


def layout_of_table(table: Table) -> Layout | ComposedLayout:
    """The simplest layout with the offsets of a table; it is compared with the whole table.

    Raises RangeError with the smallest counterexample.
    """
    found = _found(table)
    assert (offsets(found).reshape(table.shape, order="F") == table).all()
    return found  # type: ignore[no-any-return]


def _found(table: Table) -> Any:
    plain = digits(table)
    if isinstance(plain, Digits):
        return plain.layout()
    if (found := unswizzled(table)) is not None:
        return found[1].layout(found[0])
    if (crossed := _crossed(table)) is not None:
        return crossed
    what = f"offsets of no layout of shape:stride: {plain.why}"
    expected = "a layout, a swizzle of one, or offsets that are linear over bits"
    raise RangeError(what, expected, "take a part of it that is one, or cut it at that coordinate")


def _crossed(table: Table) -> Any:
    """The layout of a table that is linear over bits, where bits are sums of others."""
    if int(table.flat[0]) or least(table) < 0 or any(n & (n - 1) for n in table.shape) or not is_affine(table):
        return None
    bases = {f"dim{a}": [(c,) for c in columns] for a, columns in enumerate(columns_of(table))}
    return layout_of_linear(LinearLayout(bases, {"offset": 1 << largest(table).bit_length()}))
