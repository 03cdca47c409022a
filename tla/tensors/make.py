"""CuTe's constructors of tensors under CuTe's names.

Source: CuTe include/cute/tensor_impl.hpp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..algebra.codomain import MakeIdentityLayout
from ..algebra.make import fragment_layout, make_inttuple_iter, make_layout
from ..algebra.ordered import MakeLayoutLike
from ..core.basis import as_coordinate
from ..core.composed import ComposedLayout, innermost
from ..core.errors import LeafTypeError
from ..core.int_tuple import as_int_tuple, leaves, product_each, size
from ..core.ints import IntTree, IntTupleLike, _0, is_int, known
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from .buffers import as_dtype
from .guard import whole
from .make_tensor import MakeTensor, new_buffer
from .positions import Memory
from .tensor import Tensor, gives_places, require_data, tensor_of

if TYPE_CHECKING:
    import numpy.typing as npt


class _MakeTensorOf:
    """A tensor over a buffer. `make_tensor[dtype](layout)` is one over a new buffer of zeros.

    buffer    as MakeTensor takes it; None or an integer for a tensor of offsets (from that on), a coordinate for
              one of coordinates
    layout    a layout; or what make_layout takes: a shape, and its stride, LayoutLeft or LayoutRight

    >>> import numpy as np
    >>> from tla import E, LayoutRight, make_inttuple_iter, make_shape, make_stride, make_tensor, _4, _8
    >>> print(make_tensor(np.arange(32), (_4, _8), LayoutRight)[1, 2], make_tensor[np.float32]((_4, _8), (32, 2)))
    10 Tensor(float32[111], (_4,_8):(32,2))
    >>> print(make_tensor(make_inttuple_iter(0, 8), make_shape(4, 5), make_stride(E[0], E[1]))[3, 2])
    (3,10)

    Raises what MakeTensor and make_layout raise. Source: CuTe `make_tensor`.
    """

    __name__ = "make_tensor"

    def __call__(self, buffer: Any, *layout: Any) -> Tensor:
        if isinstance(buffer, AnyLayout) or (not layout and (is_int(buffer) or isinstance(buffer, tuple))):
            fix = "write make_tensor[numpy.float32](layout)"
            raise LeafTypeError("make_tensor of a layout alone", "a buffer first, or a type", fix)
        if not layout:
            return MakeTensor(buffer)
        made = _layout(*layout)
        if isinstance(buffer, tuple) or is_int(buffer):
            return MakeTensor(None, made, offset=make_inttuple_iter(*buffer) if isinstance(buffer, tuple) else buffer)
        return MakeTensor(buffer, made)

    def __getitem__(self, dtype: object) -> Callable[..., Tensor]:
        dtype = as_dtype("make_tensor", dtype)

        def make(*layout: Any) -> Tensor:
            new: Tensor = MakeTensor[dtype](_layout(*layout))
            return new

        return make

    def __reduce__(self) -> str:
        return self.__name__


def _layout(*given: Any) -> Any:
    return given[0] if len(given) == 1 and isinstance(given[0], AnyLayout) else make_layout(*given)


make_tensor = _MakeTensorOf()


def make_identity_tensor(shape: IntTupleLike) -> Tensor:
    """The tensor of the coordinates of a shape: its element c is c. Cut as data is, it says where each element is.

    It has no end: a tile past the shape keeps its full extents, and `elem_less(t[c], shape)` is the predicate.

    >>> from tla import elem_less, local_tile, make_identity_tensor
    >>> tile = local_tile(make_identity_tensor((5, 8)), (2, 4), (2, 1))
    >>> print(tile, tile[1, 3], elem_less(tile[0, 3], (5, 8)), elem_less(tile[1, 3], (5, 8)))
    Tensor(None at (4,4), (2,4):(_1@0,_1@1)) (5,7) True False

    Source: CuTe `make_identity_tensor`.
    """
    shape = as_int_tuple(shape)
    layout = MakeIdentityLayout(shape)
    return MakeTensor(None, layout, offset=make_inttuple_iter(*_zeros(shape)) if isinstance(shape, tuple) else _0)


def _zeros(shape: IntTupleLike) -> IntTree:
    return tuple(map(_zeros, shape)) if isinstance(shape, tuple) else _0


class _Like:
    """A function that makes a new tensor for another: `f(t)` of its element type, `f[dtype](t)` of another."""

    def __init__(self, layout_like: Callable[[Any], Layout], name: str, doc: str) -> None:
        self._layout_like = layout_like
        self.__name__, self.__doc__, self.__module__ = name, doc, __name__
        self.__wrapped__ = type(self).__call__

    def __call__(self, t: object) -> Layout | Tensor:
        if not isinstance(t, Tensor):
            return self._layout_like(t)
        require_data(self.__name__, t)
        return self[t.dtype](t)

    def __getitem__(self, dtype: object) -> Callable[[Any], Tensor]:
        dtype = as_dtype(self.__name__, dtype)

        def make(t: Tensor) -> Tensor:
            layout = self._layout_like(t.layout if isinstance(t, Tensor) else t)
            threads = _threads_of(t) if isinstance(t, Tensor) else None
            new: Tensor = MakeTensor[dtype](layout) if threads is None else registers(layout, threads, dtype)
            return new

        return make

    def __reduce__(self) -> str:
        return self.__name__


def _threads_of(t: Tensor) -> npt.NDArray[Any] | None:
    """The array of offsets of a tensor of threads, one for each thread; None for one tensor."""
    starts = [*leaves(as_coordinate(t.offset))] if gives_places(t) else [t.offset]
    return next((x for x in (*starts, *offsets_inside(t.layout)) if getattr(x, "shape", ()) != ()), None)


def offsets_inside(layout: AnyLayout) -> list[Any]:
    """The offsets inside of a composed layout; none of another."""
    return [layout.offset, *offsets_inside(layout.inner)] if isinstance(layout, ComposedLayout) else []


def registers(layout: Layout, threads: object, dtype: object) -> Tensor:
    """A tensor over new registers of a layout: of each of an array of threads, one thread's after the other's."""
    zeros = [_0] * len(product_each(layout.shape))
    if known(size(layout)) is None:
        return tensor_of(None, None, _0, layout, zeros, whole(layout.shape), Memory("registers"))
    import numpy as np

    count = 1 + sum((int(s) - 1) * int(d) for s, d in zip(leaves(layout.shape), leaves(layout.stride)))
    array = np.asarray(threads) if hasattr(threads, "dtype") else None
    offset = _0 if array is None else np.arange(array.size).reshape(array.shape) * count
    data = new_buffer(count * (1 if array is None else array.size), dtype)
    return tensor_of(None, data, offset, layout, zeros, whole(layout.shape), Memory("registers"))


def _compact(layout: AnyLayout) -> Layout:
    inner = innermost(layout) if isinstance(layout, AnyLayout) else make_layout(layout)
    return MakeLayoutLike(Layout(inner.shape, inner.stride))


make_fragment_like = _Like(
    fragment_layout,
    "make_fragment_like",
    """A tensor in registers for what a partition holds: its shape, mode 0 compact and fastest, the others in the order of its strides.

    Of a layout, that layout. `make_fragment_like[dtype](t)` is one of another element type, or of a tensor without a buffer.

    >>> import numpy as np
    >>> from tla import make_fragment_like, make_tensor, parse
    >>> print(make_fragment_like(parse("((_2,_2),_4,_3):((_8,_1),_32,_2)")))
    ((_2,_2),_4,_3):((_1,_2),_12,_4)
    >>> print(make_fragment_like[np.int8](make_tensor(np.zeros(12), parse("((_3,_2),_4):((_0,_1),_3)"))))
    Tensor(int8[8], ((_3,_2),(_4)):((_0,_1),(_2)))

    Its shape is that of the layout, padding included: all of it is valid. Of a partition for an array of threads each thread has
    registers of its own. Source: CuTe `make_fragment_like`.
    """,
)
make_tensor_like = _Like(
    _compact,
    "make_tensor_like",
    """A new tensor of a tensor's shape, compact in the order of its strides. Of a layout, that layout.

    `make_tensor_like[dtype](t)` is one of another element type.

    >>> import numpy as np
    >>> from tla import make_tensor, make_tensor_like, parse
    >>> print(make_tensor_like(make_tensor[np.float32](parse("(_4,_8):(_32,_2)"))))
    Tensor(float32[32], (_4,_8):(_8,_1))

    Its shape is that of the layout, padding included: MakeTensorLike keeps what is valid. Source: CuTe `make_tensor_like`.
    """,
)
