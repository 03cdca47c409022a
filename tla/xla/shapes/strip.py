"""The memory of an array from its first slot to its last: which element is where, and where padding is.

Source: XLA docs/tiled_layout.md, figure 1; docs/shapes.md, padding; xla_data.proto of 2017, PaddingValue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...algebra.flat_modes import has_symbols
from ...core.errors import LeafTypeError, LoweringError, RangeError, RankError
from ...core.int_tuple import size
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from .array_shape import BITS, unknown_type
from .foreign import type_name
from .grammar import as_shape
from .index import logical_dimensions, multi_index, row_major, tiled_dimensions
from .values import Shape

if TYPE_CHECKING:
    from .array_shape import ArrayShape

#: A longer strip is refused [slots].
MAX_SLOTS = 2**20

#: What the early form let padding hold, by its names and numbers: PaddingValue of xla_data.proto.
PADDING_VALUES = {"INVALID_PAD": 0, "ZERO_PAD": 1, "ONE_PAD": 2, "LOWEST_PAD": 3, "HIGHEST_PAD": 4, "UNKNOWN_PAD": 5}

#: The largest numbers of the element types that have no infinity.
_LARGEST = {"f8e4m3fn": 448.0, "f8e4m3fnuz": 240.0, "f8e4m3b11fnuz": 30.0, "f8e5m2fnuz": 57344.0}
_LARGEST |= {"f6e2m3fn": 7.5, "f6e3m2fn": 28.0, "f4e2m1fn": 6.0}


def strip(shape: Shape | str | Layout, elements: Sequence[Any] | None = None, padding: Any = None) -> tuple[Any, ...]:
    """The content of each slot of an array's memory, one after the other: figure 1 of the document on tiled layouts.

    shape      an XLA array, or a layout of integers with its valid part, as lower_padded gives it
    elements   those of the array in row-major order; by default their multi-indices
    padding    what stands in the slots that hold no element
    Raises     RankError where there are more elements or fewer than the array has; RangeError for more than MAX_SLOTS
               slots, or a layout that puts two elements in one; LoweringError for sizes that are not known,
               or pieces (SC)

    >>> print(*strip("f32[3,5]{1,0:T(2,2)}", "abcdefghijklmno", "."))
    a b f g c d h i e . j . k l . . m n . . o . . .
    >>> from tla.xla import lower_padded
    >>> print(*strip(lower_padded((2, 3), (0, 1), (3, 5)), "abcdef", 0))
    a d 0 b e 0 c f 0 0 0 0 0 0 0

    Source: XLA docs/tiled_layout.md, figure 1.
    """
    if isinstance(shape, Layout):
        dims, places = _of_layout(shape)
    else:
        dims, places = _of_array(as_shape(shape))
    count = math.prod(dims)
    if elements is not None and (not hasattr(elements, "__len__") or not hasattr(elements, "__getitem__")):
        what = f"elements of type {type(elements).__name__}"
        raise LeafTypeError(what, "a sequence in row-major order", "give a list or a text")
    if elements is not None and len(elements) != count:
        what = f"{len(elements)} elements of an array of {count}"
        raise RankError(what, f"{count}, in row-major order", "give one for each index")
    return tuple(padding if at is None else at if elements is None else elements[row_major(dims, at)] for at in places)


def _of_array(shape: ArrayShape) -> tuple[tuple[int, ...], list[tuple[int, ...] | None]]:
    dims, unit = logical_dimensions(shape), shape.effective_layout.tail_padding_alignment_in_elements
    if has_symbols(dims):
        raise LoweringError(f"the strip of {shape}", "known sizes", "give its dimensions numbers")
    count = _few(shape, ceil_div(math.prod(tiled_dimensions(shape)), unit) * unit)
    if not dims:
        return dims, [() if k == 0 else None for k in range(count)]
    import numpy as np

    index = multi_index(shape, np.arange(count))
    assert index is not None  # of an array it is an array for each dimension
    found = np.stack(index, axis=1).tolist()
    return dims, [tuple(at) if at[0] >= 0 else None for at in found]


def _few(what: Layout | ArrayShape, count: int) -> int:
    if count > MAX_SLOTS:
        raise RangeError(f"{count:,} slots of {what!s:.80}", f"{MAX_SLOTS:,} at most", "take a tile of it")
    return count


def _of_layout(layout: Layout) -> tuple[tuple[int, ...], list[tuple[int, ...] | None]]:
    if has_symbols((layout.shape, layout.stride, layout.origin_shape)):
        raise LoweringError(f"the strip of {layout}", "known sizes", "give its symbols values: .at(M=128)")
    dims = tuple(int(n) for n in require_origin("strip", layout))
    places: list[tuple[int, ...] | None] = [None] * _few(layout, int(size(layout)))
    for index in itertools.product(*map(range, dims)):
        at = layout(*index) if dims else 0
        if not 0 <= at < len(places) or places[at] is not None:
            what, expected = f"{index} of {layout} is at {at}", "each element in a slot of its own, below the size"
            raise RangeError(what, expected, "give strides that reach each place once: MakeLayout(shape) has them")
        places[at] = index
    return dims, places


def padding_value(kind: int | str, element_type: Any) -> Any:
    """The value of the padding of an array, as the early layouts had it in their field padding_value.

    kind      a name of PADDING_VALUES, or its number
    Returns   a number of the element type, True or False of pred; None where it may be anything (INVALID_PAD,
              UNKNOWN_PAD). The lowest and highest are infinities where the type has them
    Raises    RangeError for a kind or an element type that is not known; LoweringError for the lowest complex number

    >>> padding_value("ZERO_PAD", "f32"), padding_value("LOWEST_PAD", "s8"), padding_value(4, "bf16"), padding_value("UNKNOWN_PAD", "f32")
    (0, -128, inf, None)

    Source: xla_data.proto of 2017, PaddingValue.
    """
    element_type = type_name(element_type)
    names = {str(n): name for name, n in PADDING_VALUES.items()}
    name = kind if isinstance(kind, str) else names.get(str(kind), "")
    if name not in PADDING_VALUES:
        what = f"padding_value {kind!r:.40}"
        raise RangeError(what, "one of " + ", ".join(f"{k} = {n}" for k, n in PADDING_VALUES.items()), "name one")
    if not isinstance(element_type, str) or element_type not in BITS:
        raise RangeError(*unknown_type(element_type))
    if name in ("INVALID_PAD", "UNKNOWN_PAD"):
        return None
    value = int(name == "ONE_PAD") if name in ("ZERO_PAD", "ONE_PAD") else _ends(element_type)[name == "HIGHEST_PAD"]
    return bool(value) if element_type == "pred" else value


def _ends(element_type: str) -> tuple[Any, Any]:
    """The lowest and the highest value of an element type."""
    bits = BITS[element_type]
    if element_type[0] == "c":
        what = f"the lowest value of {element_type}"
        raise LoweringError(what, "a type whose values have an order", "pad with ZERO_PAD")
    if element_type[0] == "s":
        return -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    if element_type[0] in "pu":
        return 0, 2**bits - 1
    if element_type == "f8e8m0fnu":  # powers of two, no sign and no infinity
        return 2.0**-127, 2.0**127
    high = _LARGEST.get(element_type, float("inf"))
    return -high, high
