"""The tensor of tensor-layouts: a layout that begins at an offset, with or without values.

Source: tensor-layouts 0.3.2, tensor.py.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any, SupportsIndex

from ...core.errors import LeafTypeError, require_type
from .layouts import (
    Layout,
    LayoutError,
    LayoutExpr,
    as_affine_layout,
    as_layout_expr,
    coords_all_none,
    flatten,
    has_none,
    is_tuple,
    rank,
    size,
    slice_and_offset,
    unwrap,
)
from .tuples import Coordinate, IntTree

__all__ = ["Tensor", "TensorStorageError"]


class TensorStorageError(LayoutError, TypeError):
    """The values of a tensor do not fit its layout, or there are none. A TypeError too, as before version 0.3.2."""


class Tensor:
    """A layout that begins at an offset: `t(coordinate)` is an offset, `t[coordinate]` the value there,
    without values the offset.

    layout  a layout, plain or composed, or what has one
    offset  added to what the layout gives
    data    one row of values that has all places of the layout, or None; it is not copied

    >>> t = Tensor(Layout((4, 8), (8, 1)), data=[*range(100, 132)])
    >>> t(2, 3), t[2, 3], t[2, :], t[2, :][3]
    (19, 119, Tensor(8 : 1, offset=16), 119)
    """

    def __init__(self, layout: LayoutExpr, offset: int = 0, data: Any = None) -> None:
        require_type(offset, SupportsIndex, "a Tensor from an offset of type", "an integer", "give it as data=...")
        self.layout, self.offset = as_layout_expr(layout), offset
        self.data = data

    @property
    def shape(self) -> IntTree:
        return self.layout.shape

    @property
    def stride(self) -> IntTree:
        """The strides. LeafTypeError of a composed layout, which has none."""
        return as_affine_layout(self.layout).stride

    @property
    def data(self) -> Any:
        """The values in their order in memory; None where there are none. To set it checks that all
        places are there."""
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        if data is not None:
            _require_places(self, data)
        self._data = data

    def view(self, layout: LayoutExpr) -> Tensor:
        """The same values by another layout."""
        return Tensor(layout, self.offset, self._held("a view"))

    def to_list(self) -> list[Any]:
        """The values of all elements in the order of their indices."""
        return [self[i] for i in range(size(self.layout))]

    def copy_from(self, src: Tensor) -> Tensor:
        """Take the values of a tensor of as many elements, by their indices; also where both are of the same memory."""
        if not isinstance(src, Tensor):
            raise LeafTypeError(f"copy_from a {type(src).__name__}", "a Tensor", "make one of it")
        self._held("copy_from")
        if size(src.layout) != size(self.layout):
            what = f"{size(src.layout)} elements to {size(self.layout)}"
            raise LayoutError(what, "the same logical size", "copy a slice")
        for i, value in enumerate(src.to_list()):
            self[i] = value
        return self

    def _held(self, what: str) -> Any:
        if self._data is None:
            raise TensorStorageError(f"{what} of a Tensor with no storage", "values", "give data")
        return self._data

    def __call__(self, *args: Any) -> Any:
        return self._offset(args[0] if len(args) == 1 else args)

    def _offset(self, crd: Coordinate) -> int:
        return int(self.offset + self.layout(crd))

    def __getitem__(self, key: Coordinate) -> Any:
        crd = _coordinate(key, self.layout)
        if has_none(crd):
            return self._slice(crd)
        at = self._offset(crd)
        return at if self._data is None else self._data[at]

    def _slice(self, crd: Coordinate) -> Tensor:
        if crd is None or coords_all_none(crd):
            return self._part(self.layout, self.offset)
        rest, begin = slice_and_offset(crd, self.layout)
        if isinstance(rest, Layout):
            rest = Layout.made(unwrap(rest.shape), unwrap(rest.stride))
        return self._part(rest, self.offset + begin)

    def _part(self, layout: LayoutExpr, offset: int) -> Tensor:
        """A tensor of some of the places, which were checked."""
        part = Tensor(layout, offset)
        part._data = self._data
        return part

    def __setitem__(self, key: Coordinate, value: Any) -> None:
        crd = _coordinate(key, self.layout)
        if has_none(crd):
            raise LeafTypeError(f"an assignment to {key}", "fully-fixed coordinates", "use copy_from for a slice")
        self._held("an assignment")[self._offset(crd)] = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tensor) or (self.layout, self.offset) != (other.layout, other.offset):
            return False
        one, two = self._data, other._data
        if one is two or one is None or two is None:
            return one is two
        return len(one) == len(two) and all(a == b for a, b in zip(one, two))

    def __hash__(self) -> int:
        return hash((self.layout, self.offset))

    def __repr__(self) -> str:
        return f"Tensor({self.layout}{f', offset={self.offset}' if self.offset else ''})"

    def __str__(self) -> str:
        return f"{{{self.offset}}} ∘ {self.layout}"


def _coordinate(key: Coordinate, layout: LayoutExpr) -> Coordinate:
    """The coordinate that brackets say: of `:` None."""
    if isinstance(key, tuple):
        if len(key) != rank(layout):
            raise IndexError(f"Expected {rank(layout)} indices, got {len(key)}")
        return tuple(map(_one, key))
    return _one(key)


def _one(key: Coordinate) -> Coordinate:
    if isinstance(key, slice):
        if key != slice(None):
            what = f"the slice {key}"
            raise LeafTypeError(what, "a whole mode: only ':' or None", "take a mode, or compose with a tile")
        return None
    if not (key is None or isinstance(key, (int, tuple))) or _has_slice(key):
        what = f"slice objects or other kinds in {key!r}"
        raise LeafTypeError(what, "integers, None and tuples of these", "write None in a tuple")
    return key


def _has_slice(key: Coordinate) -> bool:
    return any(map(_has_slice, key)) if is_tuple(key) else isinstance(key, slice)


def _require_places(tensor: Tensor, data: Sequence[object]) -> None:
    """The values are in one row that has every place of the layout."""
    require_type(data, Sized, "data of type", "one row of values", "give a list or an array")
    dimensions = getattr(data, "ndim", len(getattr(data, "shape", (0,))))
    if dimensions != 1:
        raise LeafTypeError(f"data of rank {dimensions}", "flat 1D storage", "give data.reshape(-1)")
    low, high = _reach(tensor)
    if low < 0:
        given = f"negative storage indices in the addressed range [{low}, {high}] of {tensor}"
        raise TensorStorageError(given, "places from 0", f"give the offset {tensor.offset - low}")
    if high >= len(data):
        given = f"{len(data)} values for {tensor}: the storage does not cover the addressed range [{low}, {high}]"
        raise TensorStorageError(given, f"{high + 1} values", "give as many")


def _reach(tensor: Tensor) -> tuple[int, int]:
    """The smallest and the largest place of a tensor; (0, -1) where there is none."""
    layout, begin = tensor.layout, tensor.offset
    if not size(layout):
        return 0, -1
    if not isinstance(layout, Layout):
        places = [begin + layout(i) for i in range(size(layout))]
        return min(places), max(places)
    ends = [(n - 1) * d for n, d in zip(flatten(layout.shape), flatten(layout.stride))]
    return begin + sum(x for x in ends if x < 0), begin + sum(x for x in ends if x > 0)
