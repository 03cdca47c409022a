"""Copies under predicates, as CuTe guards what reaches past the end.

Source: CuTe include/cute/algorithm/copy.hpp; media/docs/cpp/cute/0y_predication.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.arithmetic import elem_less
from ..core.basis import ArithmeticTuple, as_coordinate
from ..core.composed import innermost
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import as_int_tuple, leaves, size
from ..core.ints import IntTree, IntTupleLike, is_leaf, known, static
from ..core.kinds import on
from ..core.layout import Layout
from ..core.strides import compact_col_major
from ..core.values import held, require_castable
from . import transfer
from .guard import whole
from .make_tensor import MakeTensor, as_tensor
from .tensor import Tensor, gives_places, require_data, require_writable, tensor_of

if TYPE_CHECKING:
    import numpy.typing as npt


def copy_if(predicate: object, source: object, target: object) -> None:
    """Move the elements of source, at whose index the predicate holds, to that index of target.

    predicate        a tensor or numpy array of conditions or numbers, not 0 where it holds; its strides may be 0. Often
                     `elem_less(coordinates, shape)`, of an identity tensor that was cut as source is
    source, target   tensors of as many elements, padding included, matched by their index, first mode fastest;
                     or numpy arrays
    Raises           RankError where the sizes differ; RangeError where the predicate holds of an element that is past
                     the end; what copy raises of a target. Then nothing is written

    >>> import numpy as np
    >>> from tla import copy_if, elem_less, make_identity_tensor, make_tensor, zipped_divide, _
    >>> data = make_tensor(np.arange(35), (5, 7), (7, 1))
    >>> tiles, places = (zipped_divide(t, (2, 4)) for t in (data, make_identity_tensor((5, 7))))
    >>> out = np.zeros(8, int)
    >>> copy_if(elem_less(places[_, (2, 1)], (5, 7)), tiles[_, (2, 1)], out)
    >>> print(out)
    [32  0 33  0 34  0  0  0]

    Source: CuTe `copy_if`.
    """
    import numpy as np

    holds, source, target = as_tensor("copy_if", predicate), as_tensor("copy_if", source), as_tensor("copy_if", target)
    for t in (holds, source, target):
        require_data("copy_if", t)
        if size(t.shape) != size(target.shape):
            what = f"copy_if: {size(t.shape)} elements of {t!r}, and {size(target.shape)} of {target!r}"
            fix = "cut the predicate, the source and the target the same way"
            raise RankError(what, "as many of each, padding included", fix)
    require_castable(source.dtype, target.dtype)
    require_writable("copy_if", target)
    chosen = (holds.data[_admitted(holds, np.True_)] != 0).ravel(order="F")
    begin, end = (_admitted(t, chosen).ravel(order="F")[chosen] for t in (source, target))
    target.data[end] = held("copy_if", source.data[begin], target.dtype)


def _admitted(t: Tensor, chosen: object) -> npt.NDArray[Any]:
    """The offset of every coordinate of t; RangeError where one that is chosen is past the end."""
    import numpy as np

    offsets = transfer.all_offsets(t)
    past = chosen & ~transfer.admitted(t, t._guard).ravel(order="F")
    if past.any():
        what = f"copy_if: the predicate holds at index {int(np.argmax(past))} of {t!r}, which is past the end"
        fix = "take elem_less(identity tensor cut the same way, shape)"
        raise RangeError(what, "a predicate of the valid elements", fix)
    return offsets


class Within(NamedTuple):
    """The predicate that coordinates are inside of bounds, where either has symbols, as elem_less gives it.

    coordinates   the tensor of coordinates
    bounds        what each integer of a coordinate is to be less than

    >>> from tla import dims, elem_less, index, make_identity_tensor, local_tile
    >>> M, N = dims("M N")
    >>> inside = elem_less(local_tile(make_identity_tensor((M, N)), (4, 4), (index("i", 9), 0)), (M, N))
    >>> print(inside.coordinates.offset, inside.bounds)
    (4*i,0) (M,N)

    Source: CuTe `elem_less`.
    """

    coordinates: Tensor
    bounds: IntTree


@on(Tensor, elem_less)
def _conditions(t: Tensor, bounds: IntTupleLike) -> Tensor | Within:
    """elem_less(coordinates, shape): the tensor of these conditions, compact, first mode fastest; of threads, one's
    after the other's."""
    import numpy as np

    if not gives_places(t) and t.data is not None:  # without a buffer its offsets are what it gives
        expected = "a tensor of coordinates, or a coordinate"
        raise LeafTypeError(f"elem_less of {t!r}", expected, "write make_identity_tensor(shape)")
    bounds = as_int_tuple(bounds)
    if known(size(t.shape)) is None:
        what = f"elem_less of {t!r}, whose size is not known"
        raise LeafTypeError(what, "a known size", "ask of one element: elem_less(t[c], shape)")
    if any(is_leaf(x) and known(x) is None for x in leaves((as_coordinate(t.offset), bounds))):
        return Within(t, bounds)
    grid, extents = transfer.grid_of(t)
    places = [g + int(c) for g, c in zip(grid, t.coord)]
    start, threads = _by_thread(t.offset, len(extents))
    # of a part of one element no stride says that it is a coordinate
    alone = isinstance(start, tuple) and not gives_places(t)
    values = as_coordinate(start if alone else start + t.layout(*places))
    found = np.broadcast_to(np.asarray(elem_less(values, bounds)), (*threads, *extents))
    inner = innermost(t.layout)
    layout = Layout(inner.shape, compact_col_major(inner.shape))
    if not threads:
        return MakeTensor(found.ravel(order="F"), layout)
    data = np.moveaxis(found, 0, -1).ravel(order="F")
    own = np.arange(threads[0]) * (data.size // max(threads[0], 1))
    return tensor_of(None, data, own, layout, [static(0)] * len(extents), whole(layout.shape))


def _by_thread(start: Any, rank: int) -> tuple[Any, tuple[int, ...]]:
    """The start of a part of an array of threads, the threads in front of `rank` axes; and how many these are."""
    if isinstance(start, tuple):
        found = [_by_thread(x, rank) for x in start]
        return ArithmeticTuple(*(x for x, _count in found)), max((count for _x, count in found), default=())
    if getattr(start, "shape", ()) == ():
        return start, ()
    return start.reshape(start.size, *(1,) * rank), (start.size,)
