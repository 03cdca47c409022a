"""Tensor: a layout over a buffer, with the coordinate that it starts at kept apart.

The element c of a tensor is data[offset + layout(coord + c)], for every c below origin_shape. That all of these lie in
the buffer is proved when a tensor is made over one; tiles and slices of it keep to what is valid there.

Source: TLA include/tla/tensor.hpp; CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..algebra.composition import composition
from ..algebra.modes import slice_, slice_and_offset
from ..algebra.predicates import is_injective, without_broadcasts
from ..algebra.tiles import MakeLayoutTile, is_on_block
from ..core.composed import ComposedLayout, around, gives_coordinates, innermost
from ..core.conversions import crd2idx, idx2crd
from ..core.coord import Coord, CoordLike
from ..core.display import Displayed
from ..core.element import Width
from ..core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError, Unproven
from ..core.int_tuple import Underscore, leaves, modes_of, opened, product, product_each, shown
from ..core.ints import IntLike, IntTree, Leaf, _0, is_int, is_leaf, known, leaf
from ..core.kinds import AnyLayout, is_operation
from ..core.layout import with_valid
from ..core.leaf_arithmetic import plus
from ..core.make_layout import MakeLayout, stride
from ..core.questions import at_most, equal
from ..core.strides import Shape, compact_col_major
from ..core.valid import ALL
from ..core.value import Value, new_value, put
from ..core.values import converted
from . import guard as guards, transfer
from .buffers import as_dtype
from .guard import Guard
from .packed import bits_of, kind_of, require_whole_bytes
from .positions import NOWHERE, Memory


class Tensor(Value, Displayed):
    """A layout over a buffer: `t[i, j]` is an element, `t[_, j]` a slice. MakeTensor makes one.

    data          the buffer as a flat numpy array; None if there is none: then an element is its offset,
                  or its coordinate
    offset        where the layout's offset 0 lies in the buffer [elements]
    layout        shape, stride, and origin_shape: how much of each mode is valid, from `coord` on
    coord         where it starts, one integer per top-level mode: a tile has the strides of the whole, and
                  its own start
    position      where the buffer lies (GM, L1, UB, smem ...): a name of tla.tensors.positions; None where
                  that does not matter
    alignment     what the address of the buffer's start is a multiple of [bytes]; None where the buffer itself says it

    Indices are checked against origin_shape; negative ones do not wrap. `numpy.asarray(t)` is the valid part as an
    array of its own; `t.numpy()` shares the buffer.

    >>> import numpy as np
    >>> from tla import MakeTensor, parse, _
    >>> t = MakeTensor(np.arange(8, dtype=np.int32), parse("(2,4):(4,1)"))
    >>> t[1, 2] = 60
    >>> print(t[1, 2], t[1, _], np.asarray(t[1, _]))
    60 Tensor(int32[8] at 4, (4):(1)) [ 4  5 60  7]

    Source: TLA and CuTe `Tensor`.
    """

    __slots__ = ("_guard", "_injective", "_whole", "coord", "data", "layout", "memory", "offset")
    _instead = "assign to its elements, or make another,"
    is_kept = False  # in a memory of results: a tensor holds a buffer

    data: Any
    offset: Any
    layout: Any
    coord: Coord
    memory: Memory
    _whole: Tensor | None  # what it is a part of
    _guard: Guard  # which elements are valid
    _injective: bool | None  # whether its layout is known to be so: None before that has been asked for

    def __init__(self, *_arguments: object) -> None:
        raise LeafTypeError("Tensor called as a class", "MakeTensor", "write MakeTensor(buffer, layout)")

    @property
    def shape(self) -> Any:
        """The shape of the layout, padding included."""
        return self.layout.shape

    @property
    def stride(self) -> Any:
        """The strides of the layout [elements]; LeafTypeError for a layout that has none, a composed one."""
        return stride(self.layout)

    @property
    def origin_shape(self) -> Any:
        """The part of each top-level mode that holds valid data, from `coord` on [elements]. None where that is no box:
        then `t[c]` knows of each element whether it is, and copy_if moves those that a predicate has."""
        return self._guard.valid if self._guard.place is None else None

    @property
    def position(self) -> str | None:
        """The name of the memory that the buffer lies in; None where that is not said."""
        return self.memory.position

    @property
    def alignment(self) -> int | None:
        """The bytes that the buffer's start is said to be a multiple of; None where the buffer itself says it."""
        return self.memory.alignment

    @property
    def dtype(self) -> Any:
        """numpy's type of the elements; None without a buffer."""
        return None if self.data is None else self.data.dtype

    @property
    def element_width(self) -> Width | None:
        """The width of an element, and the type that says it; None without a buffer.

        >>> import numpy as np
        >>> from tla import MakeTensor, parse
        >>> print(MakeTensor(np.zeros(8, np.float16), parse("8:1")).element_width)
        16 bits (float16)
        """
        return None if self.data is None else Width(bits_of(self.data), kind_of(self.data))

    def __repr__(self) -> str:
        place = "" if equal(self.offset, 0) else f" at {_start_text(self.offset)}"
        parts = [("None" if self.data is None else f"{kind_of(self.data)}[{self.data.size}]") + place, str(self.layout)]
        parts += [f"coord={self.coord}"] if any(equal(c, 0) is not True for c in self.coord) else []
        parts += [f"{name}={x!r}" for name, x in self.memory._asdict().items() if x is not None]
        return f"Tensor({', '.join(parts)})"

    def __getitem__(self, at: object) -> Any:
        at = self._indices(at)
        if any(map(_has_open, at)):
            return _sliced(self, at) if self._guard.place is None else _sliced_guarded(self, at)
        offset = self._offset_of(at)
        return offset if self.data is None else self.data[offset]

    def __setitem__(self, at: object, value: object) -> None:
        at = self._indices(at)
        if any(map(_has_open, at)):
            fix = "write copy(x, t[_, 1]), or fill(t[_, 1], x)"
            raise LeafTypeError(f"an assignment to a slice of {self!r}", "one element", fix)
        offset = self._offset_of(at)
        require_writable("an assignment", self, stays=True)
        self.data[offset] = as_element(value, self)

    def __call__(self, *at: object) -> Any:
        """t[at], as CuTe writes it."""
        return self[at]

    if not TYPE_CHECKING:  # a checker would take any name for an attribute

        def __getattr__(self, name):
            instead = {"originShape": "; write origin_shape", "tensor": "; its buffer is t.data"}.get(name, "")
            raise AttributeError(f"a Tensor has no attribute {name!r}{instead}")

    def over(self, operation: Callable[..., Any], *more: object, **options: object) -> Tensor:
        """This tensor with operation(layout, ...) for its layout, over the same elements."""
        layout, offset = from_zero(operation.__name__, self)
        view = operation(_unpadded(layout), *more, **options)
        part = not is_operation(operation, composition)  # which may take an element twice
        if gives_places(self):
            return guarded_tensor(self, offset, view, None, part)

        def placed(place: AnyLayout) -> Any:
            try:
                return operation(place, *more, **options)
            except DivisibilityError:  # steps across rows of coordinates: the place of the index is exact for a layout
                index = MakeLayout(place.shape, compact_col_major(place.shape))
                return ComposedLayout(place, _0, operation(index, *more, **options))

        guard = guards.cut(self._guard.placed(self.shape), placed, innermost(view).shape)
        return guarded_tensor(self, offset, view, guard, part)

    __iter__ = None  # Python would go by t[0], t[1], ..., past the end

    def __reduce__(self) -> tuple[Any, ...]:
        return tensor_of, (None, self.data, self.offset, self.layout, tuple(self.coord), self._guard, self.memory)

    def _indices(self, given: object) -> tuple[Any, ...]:
        at: tuple[Any, ...] = opened(given if isinstance(given, tuple) else (given,))
        if len(at) == 1 and len(self.coord) != 1 and not isinstance(at[0], tuple):
            if isinstance(at[0], Underscore):
                return (at[0],) * len(self.coord)
            return tuple(idx2crd(at[0], product_each(self.shape))) if self.coord else at
        if len(at) != len(self.coord):
            what = f"{len(at)} indices for the {len(self.coord)} modes of {shown(self.layout)}"
            fix = "give one for each mode, or _ for the whole of it; or one for all"
            raise RankError(what, f"{len(self.coord)} of them", fix)
        return at

    def _offset_of(self, at: tuple[Any, ...]) -> IntTree:
        here = tuple(_at(self, i, c) for i, c in enumerate(at))
        _require_admitted(self, here)
        offset = plus(self.offset, self.layout(here if isinstance(self.shape, tuple) else here[0]))
        if self.data is not None and is_leaf(offset) and known(offset) is None:
            what = f"an element of {self!r} at offset {offset}"
            raise Unproven(what, "a place that is known", "give its symbols values")
        return offset

    def numpy(self, nested: bool = False) -> Any:
        """The valid elements as a numpy array that shares the buffer, with one axis per top-level mode.

        Returns   an array to write to, if the buffer is one, and the layout known to be injective
        nested    one axis for each integer of the shape instead, the last of each mode first: reshaped to origin_shape
                  it is the same. A mode counts as many of its last integer as are valid, which are whole blocks
        Raises    DivisibilityError where a mode has more than one stride, or its nested form ends inside of a block;
                  LeafTypeError where there is no buffer, or the layout is not one of shape and stride

        >>> import numpy as np
        >>> from tla import MakeTensor, parse
        >>> t = MakeTensor(np.arange(8), parse("((2,2),2):((1,4),2)"))
        >>> t.numpy(nested=True).tolist()
        [[[0, 2], [1, 3]], [[4, 6], [5, 7]]]
        """
        require_data("numpy()", self)
        require_whole_bytes("numpy()", self.data)
        if isinstance(self.layout, ComposedLayout):
            what = f"numpy() of {self!r}: its layout is composed"
            raise LeafTypeError(what, "one shape and stride", "write numpy.asarray(t), which copies it together")
        array = transfer.array_at(self.data, *(_by_leaves(self) if nested else _by_modes(self)))
        array.flags.writeable &= keeps_apart(self)
        return array

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Any:
        require_data("numpy.asarray", self)
        if copy is not False:
            found = transfer.gathered(self)
            if dtype is None:
                return found
            return converted(f"numpy.asarray({self!r}, {dtype})", found, as_dtype("numpy.asarray", dtype))
        if dtype not in (None, self.dtype):
            what = f"{self!r} as {dtype} without a copy"
            raise LeafTypeError(what, f"its own type, {self.dtype}", "leave out copy=False")
        return self.numpy()

    def __dlpack__(self, **options: Any) -> Any:
        """The valid elements by DLPack, for torch.from_dlpack and its kin: what numpy() gives, not copied."""
        array = self.numpy()
        try:
            return array.__dlpack__(**options)
        except (BufferError, RuntimeError, ValueError) as why:
            expected = "what DLPack has: numbers of numpy, to write to"
            raise LeafTypeError(f"{self!r} by DLPack: {why}", expected, "copy it first") from None

    def __dlpack_device__(self) -> tuple[int, int]:
        require_data("DLPack", self)
        return 1, 0  # DLPack's number of the CPU


def _start_text(start: Any) -> str:
    """The start of a tensor, as its repr has it; of an array of threads a few of them."""
    if isinstance(start, tuple) and any(getattr(x, "shape", ()) for x in start):
        return f"({','.join(map(_start_text, start))})"
    shape, ravel = getattr(start, "shape", ()), getattr(start, "ravel", None)
    if not isinstance(shape, tuple) or not shape or ravel is None:
        return str(start)
    flat = ravel()
    return f"[{' '.join(map(str, flat))}]" if len(flat) < 9 else f"[{flat[0]} {flat[1]} {flat[2]} ... {flat[-1]}]"


def tensor_of(
    whole: Tensor | None, data: Any, offset: Any, layout: Any, coord: Any, guard: Guard, memory: Memory = NOWHERE
) -> Tensor:
    """A tensor of parts that have been checked; its layout gets the origin_shape that the guard says.

    whole   the tensor that its elements are some of, if there is one
    """
    if whole is not None:
        whole, memory = whole._whole or whole, whole.memory
    inner = innermost(layout)
    valid = tuple.__new__(Shape, guard.valid)
    shown = with_valid(inner, valid if guard.place is None else ALL)
    layout = layout if shown is inner else around(layout, shown)[0]
    parts = {"data": data, "offset": offset, "layout": layout, "coord": tuple.__new__(Coord, coord), "memory": memory}
    return new_value(Tensor, **parts, _whole=whole, _injective=None, _guard=guard._replace(valid=valid))


# -------------------------------------------------------------------------------------------- what is required


def _by_modes(t: Tensor) -> tuple[int, list[tuple[int, int]]]:
    """The start of the valid elements, and the one axis (count, step) of each mode [elements]."""
    if 0 in transfer.counts_of(t):
        return 0, [(n, 0) for n in transfer.counts_of(t)]
    found = transfer.cells_of(t)
    if found is None or len(found) > 1 or any(len(axes) > 1 for axes in found[0][1]):
        what = f"numpy() of {t!r}: a mode has several strides"
        fix = "write numpy.asarray(t) for a copy, t.numpy(nested=True) for whole blocks"
        raise DivisibilityError(what, "one stride for each mode", fix)
    begin, modes = found[0]
    return begin, [axis for axes in modes for axis in axes or ((1, 0),)]


def _by_leaves(t: Tensor) -> tuple[int, list[tuple[int, int]]]:
    """The start of the valid elements, and an axis (count, step) for each integer of the shape [elements]."""
    start = t.coord if isinstance(t.shape, tuple) else t.coord[0]
    whole = is_on_block(t.layout, start) is True
    axes: list[tuple[int, int]] = []
    for s, d, valid in zip(modes_of(t.shape), modes_of(t.layout.stride), transfer.counts_of(t)):
        *inner, _last = map(int, leaves(s))
        block = math.prod(inner) or 1  # of an extent of 0 nothing is valid
        whole = whole and valid % block == 0
        axes += reversed([*zip([*inner, valid // block], map(int, leaves(d)))])
    if not whole:
        what = f"numpy(nested=True) of {t!r}: a mode starts or ends inside of a block"
        fix = "write numpy.asarray(t) for a copy, padded(t) for whole blocks"
        raise DivisibilityError(what, "modes of whole blocks", fix)
    return 0 if 0 in transfer.counts_of(t) else int(t.offset + t.layout(start)), axes


def require_data(where: str, t: Tensor) -> None:
    if t.data is None:
        what = f"{where} of {t!r}, which has no buffer"
        raise LeafTypeError(what, "a tensor with elements", "write MakeTensor(buffer, layout)")


def require_box(where: str, t: Tensor) -> IntTree:
    """The origin_shape of t, RangeError where what is valid of it has none."""
    if t.origin_shape is None:
        raise transfer.no_box(where, t)
    return t.origin_shape


def require_mutable(where: str, t: Tensor) -> None:
    """Refuse a tensor without a buffer, and one whose buffer is read-only."""
    require_data(where, t)
    if not t.data.flags.writeable:
        what = f"{where} to {t!r}: its buffer is read-only"
        raise LeafTypeError(what, "a buffer to write to", "make the tensor over a copy of it")


def require_writable(where: str, t: Tensor, stays: bool = False) -> None:
    """Refuse to write to t where that would change what is not meant, or cannot be.

    stays   whether all coordinates that share a place get the one value: then modes of stride 0 count once
    """
    require_mutable(where, t)
    is_fine = keeps_apart(t) or (stays and is_injective(without_broadcasts(t.layout)))
    if not is_fine and not _has_distinct_offsets(t):
        what = f"{where} to {t!r}: two of its elements are one in the buffer"
        raise InjectivityError(what, "a place for each element", "write to the tensor that it is a view of")


def keeps_apart(t: Tensor) -> bool:
    """Whether the layout of t, or of what t is a part of, is known to be injective over all that is valid."""
    if t._injective is None:
        empty = t._guard.place is None and 0 in t.origin_shape
        known_here = empty or (t._whole is not None and keeps_apart(t._whole)) or is_injective(_covering(t))
        put(t, "_injective", bool(known_here))
    return bool(t._injective)


def _covering(t: Tensor) -> Any:
    """The layout of t with extents that hold all that is valid, from 0 on."""
    inner = innermost(t.layout)
    if t._guard.place is not None:
        return t.layout
    ends = tuple(map(int.__add__, map(int, t.coord), transfer.counts_of(t)))
    return around(t.layout, MakeLayoutTile(inner, ends if isinstance(inner.shape, tuple) else ends[0]))[0]


def _has_distinct_offsets(t: Tensor) -> bool:
    import numpy as np

    offsets = np.sort(admitted_offsets(t) if t._guard.place else transfer.offsets_of(t), axis=None)
    return bool(np.all(offsets[1:] != offsets[:-1]))


def as_element(value: Any, t: Tensor) -> Any:
    """A value as an element of t; LeafTypeError where that would change its kind, RangeError where it does not fit."""
    import numpy as np

    given = np.asarray(int(value) if is_int(value) else value)
    if given.ndim:
        raise RankError(f"an array of shape {given.shape} as an element of {t!r}", "one value", "write copy(x, t)")
    if given.dtype.hasobject and not is_int(value):
        what = f"{value!r:.60} as an element of {t!r}"
        raise LeafTypeError(what, "a number that numpy has a type for", "use another")
    return converted(f"an element of {t!r}", given, t.dtype)


# ------------------------------------------------------------------------------------------- parts of tensors


def _has_open(c: CoordLike) -> bool:
    return any(map(_has_open, c)) if isinstance(c, tuple) else isinstance(c, Underscore)


def _at(t: Tensor, i: int, c: CoordLike) -> IntTree:
    """The coordinate c of mode i of t, checked, as one of its layout; a nested one stays so if t starts at 0."""
    index = _index(t, i, c)
    return c if isinstance(c, tuple) and equal(t.coord[i], 0) is True else plus(t.coord[i], index)


def _index(t: Tensor, i: int, c: CoordLike) -> Leaf:
    """The index of a coordinate in mode i of t; RangeError where that is not valid."""
    s = modes_of(t.shape)[i]
    valid = t.origin_shape[i] if t._guard.place is None else product(s)
    if isinstance(c, slice):
        fix = "write _ for the whole of a mode, GetTile(t, start, extents) for a part"
        raise LeafTypeError(f"the index {c} of {t!r}", "an integer, or _", fix)
    index = crd2idx(_within(c, s), s) if isinstance(c, tuple) else leaf(c)
    if t.data is not None and known(index) is None and not _is_below(c, s, index, valid):
        expected = "one that is known, or proved to be inside, over a buffer"
        fix = "give it a value, or facts, or None for no buffer"
        raise Unproven(f"index {index} of mode {i} of {t!r}", expected, fix)
    if at_most(index, -1) or at_most(valid, index):
        what = f"index {index} of mode {i} of {t!r}, where {valid} are valid"
        raise RangeError(what, f"0 <= index < {valid}", "count from 0, without wrapping; padded(t) has the padding too")
    return index


def _is_below(c: CoordLike, s: IntLike, index: Leaf, valid: Leaf) -> bool:
    """Whether an index is proved to be one of those that are valid: by itself, or each integer of its coordinate of a
    mode that is all valid."""
    if at_most(_0, index) is True and at_most(index + 1, valid) is True:
        return True
    if not (isinstance(c, tuple) and isinstance(s, tuple) and len(c) == len(s) and equal(valid, product(s))):
        return False
    return all(_is_below(x, n, crd2idx(x, n), product(n)) for x, n in zip(c, s))


def _within(c: CoordLike, s: IntLike) -> IntTree:
    """A coordinate no integer of which is past its extent."""
    if isinstance(c, tuple) and isinstance(s, tuple) and len(c) == len(s):
        return tuple(map(_within, c, s))
    if not isinstance(c, tuple) and (at_most(leaf(c), -1) or at_most(product(s), c)):
        what = f"{c} of {shown(s)} in a coordinate"
        fix = "count from 0, without wrapping; of a kernel's tiles past the end, state it in `for _ in when(k < tiles)`"
        raise RangeError(what, f"0 <= index < {product(s)}", fix)
    return c  # crd2idx refuses what does not fit


def _sliced(t: Tensor, at: tuple[Any, ...]) -> Tensor:
    """The modes that `at` leaves open, each from its own start on; what it fixes goes into the offset."""
    fixed: list[Any] = []
    kept: list[tuple[Any, Any, Any]] = []  # of each mode that stays its start, what is the layout's own, what is valid
    for i, c in enumerate(at):
        if isinstance(c, Underscore):
            kept.append((t.coord[i], t._guard.room[i], t._guard.valid[i]))
        elif not _has_open(c):
            if _in_padding(t, i, c):
                return _sliced_guarded(t, at)
            c = _at(t, i, c)
        elif not (equal(t.coord[i], 0) and equal(t.origin_shape[i], product(modes_of(t.shape)[i]))):
            return _sliced_guarded(t, at)
        else:
            kept += [(_0, n, n) for n in product_each(slice_(c, modes_of(t.shape)[i]))]
        fixed.append(c)
    rest, constant = slice_and_offset(tuple(fixed) if isinstance(t.shape, tuple) else fixed[0], innermost(t.layout))
    layout, offset = around(t.layout, rest, constant)
    coord, room, valid = zip(*kept)
    return tensor_of(t, t.data, plus(t.offset, offset), layout, coord, Guard(valid, room))


def _in_padding(t: Tensor, i: int, c: CoordLike) -> bool:
    """Whether a coordinate is known to be of a mode's shape and not valid. A mode with a start has no padding."""
    s = modes_of(t.shape)[i]
    if isinstance(c, slice) or equal(t.coord[i], 0) is not True:
        return False
    index = crd2idx(_within(c, s), s) if isinstance(c, tuple) else leaf(c)
    return at_most(t.origin_shape[i], index) is True and at_most(index + 1, product(s)) is True


def _sliced_guarded(t: Tensor, at: tuple[Any, ...]) -> Tensor:
    """The modes that `at` leaves open, with the elements of these that are valid."""
    for i, c in enumerate(at):
        if not _has_open(c) and not (t._guard.place is None and _in_padding(t, i, c)):
            _index(t, i, c)
    coord = at if isinstance(t.shape, tuple) else at[0]
    whole, begin = from_zero("a slice", t)
    rest, constant = slice_and_offset(coord, innermost(whole))
    layout, offset = around(whole, rest, constant)
    return guarded_tensor(t, plus(begin, offset), layout, guards.sliced(t._guard.placed(t.shape), coord))


def guarded_tensor(t: Tensor, offset: object, layout: AnyLayout, guard: Guard | None, part: bool = True) -> Tensor:
    """A view of t from 0 on, whose valid part a guard says, as a box if it is one; without a guard all is valid."""
    shape = innermost(layout).shape
    guard = guards.boxed(guard, shape) if guard else guards.whole(shape)
    return tensor_of(t if part else None, t.data, offset, layout, (_0,) * len(modes_of(shape)), guard, t.memory)


def _require_admitted(t: Tensor, at: tuple[Any, ...]) -> None:
    """Require a coordinate of a valid element: RangeError, or Unproven if that is unknown over a buffer."""
    if t._guard.place is None:
        return
    coord = at if isinstance(t.shape, tuple) else at[0]
    admitted = t._guard.admits(coord)
    if admitted is False or not all(getattr(admitted, "flat", ())):
        place = f"{shown(t._guard.at(coord))} in the whole, of which {shown(t._guard.valid)} are valid"
        fix = "guard it with a predicate: an identity tensor cut the same way, and elem_less"
        raise RangeError(f"the element {shown(coord)} of {t!r} is {place}", "an element that is valid", fix)


def admitted_offsets(t: Tensor) -> Any:
    """The offsets of the valid elements of a tensor with a guard, in no order."""
    return transfer.all_offsets(t)[transfer.admitted(t, t._guard)]


def from_zero(where: str, t: Tensor) -> tuple[Any, Any]:
    """The layout and offset of t with its start in the offset."""
    if all(equal(c, 0) for c in t.coord):
        return t.layout, t.offset
    inner = innermost(t.layout)
    start = t.coord if isinstance(inner.shape, tuple) else t.coord[0]
    if is_on_block(inner, start) is not True:
        what = f"{where} of {t!r}, which starts inside of a block"
        raise DivisibilityError(what, "a start on a block boundary", "cut the whole, and take the tile of that")
    layout, offset = around(t.layout, inner, inner(start))
    return layout, plus(t.offset, offset)


def _unpadded(layout: AnyLayout) -> Any:
    """A layout whose shape is all valid: what is valid of a tensor is told apart."""
    return around(layout, with_valid(innermost(layout), ALL))[0]


def gives_places(t: Tensor) -> bool:
    """Whether the elements of t are coordinates: then it has no end, and a tile of it keeps its extents."""
    return t.data is None and gives_coordinates(innermost(t.layout)) and not isinstance(t.layout, ComposedLayout)
