"""emit_guard: whether a coordinate holds valid data, as the text of a function.

Source: TLA's origin_shape; XLA calls what is past it padding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.basis import ArithmeticTuple, ScaledBasis, as_coordinate
from ...core.composed import ComposedLayout, innermost
from ...core.conversions import crd2idx, idx2crd
from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import as_int_tuple, leaves, modes_of, product_each, shown
from ...core.ints import IntLike, IntTree, IntTupleLike, is_constant
from ...core.kinds import AnyLayout
from ...core.layout import require_origin
from ...core.questions import at_most
from ...core.valid import ALL
from ...symbolic import Condition
from ...symbolic.symint import poly_of
from ...tensors.guard import Guard
from ...tensors.tensor import Tensor
from ..expressions.signature import Arguments, Parameter, coordinates_of, open_leaf, with_parameters
from .emit import emit

if TYPE_CHECKING:
    from ...core.layout import Layout


def emit_guard(
    what: Any,
    target: str = "c",
    coords: Any = None,
    *,
    below: Any = None,
    name: str = "is_valid",
    integer: str | None = None,
) -> str:
    """The text of a function of a coordinate: whether it is below origin_shape, which is where valid data end.

    what       a layout of any kind, or a Tensor. Of a thread's part of a tensor: whether its element is one
               of the tensor's
    below      of a tensor of coordinates, a part of make_identity_tensor: the extents that they are to be
               below, one integer each
    coords, target, name, integer   as emit() has them. Modes without padding are not asked about

    >>> from tla import MakeLayout, dim, _100
    >>> from tla.ascend import half, zN
    >>> from tla.codegen import emit_guard
    >>> print(emit_guard(MakeLayout[half, zN](_100, dim("N", multiple_of=16)), "python"))
    # is_valid: whether (i,j) holds valid data of (_100,N) in ((_16,_7),(_16,N//16)):((_16,_256),(_1,_1792))
    # int32: every value is proved to fit
    def is_valid(i, j):
        return i < 100
    <BLANKLINE>

    A kernel's predicate is that of the coordinates, cut as its data are:

    >>> from tla import local_partition, local_tile, make_identity_tensor, parse
    >>> bx, t, m, n = dim("bx", at_least=0), dim("t", at_least=0, at_most=31), dim("M"), dim("N")
    >>> tile = local_tile(make_identity_tensor((m, n)), (8, 16), (bx, 0))
    >>> print(emit_guard(local_partition(tile, parse("(_8,_4):(_4,_1)"), t), "cuda", "i,j", below=(m, n)))
    // is_valid: whether the coordinate of (i,j) in (1,4):(_8@0,_4@1) is below (M,N)
    // int64: bx is not proved to fit in 32 bits
    // requires 1 <= M, 1 <= N, 0 <= bx, 0 <= t, t <= 31
    __host__ __device__ __forceinline__ bool is_valid(long long i, long long j, long long M, long long N, long long bx, long long t) {
        return (bx + i) * 8 + (t >> 2) < M && (t & 3) + j * 4 < N;
    }
    <BLANKLINE>

    Raises what emit() raises; RankError for extents that are not as many as the coordinate has. Source: TLA
    `origin_shape`; CuTe `elem_less` of an identity tensor.
    """
    layout = what.layout if isinstance(what, Tensor) else what
    if not isinstance(layout, AnyLayout):
        fix = "parse the text of one, or lower an XLA shape"
        raise LeafTypeError(f"a guard of a {type(what).__name__}", "a layout or a Tensor", fix)
    dynamic: dict[str, Parameter] = {}
    least: list[Any] = []
    opened = with_parameters(layout, dynamic)
    given, coord, names = coordinates_of(layout, opened, coords)
    if below is not None:
        text = f"whether the coordinate of {shown(given)} in {shown(layout, 200)} is below {shown(below)}"
        pairs = _places(what, opened, coord, below, dynamic)
    elif isinstance(what, Tensor) and what._guard.place is not None:
        text = f"whether {shown(given)} of {shown(layout, 200)} is an element of the whole, {shown(what._guard.valid)}"
        pairs = _of_guard(what._guard, coord, dynamic)
        least = [c for c, _n in pairs] if _steps_back(what._guard.place) else []
    else:
        # by what it is, not by what its dynamic integers hold
        whole = what is layout and innermost(layout)._valid is ALL
        text = f"whether {shown(given)} holds valid data of {shown(what.origin_shape)} in {shown(layout, 200)}"
        pairs = [*zip(_indices(coord, opened.shape), () if whole else require_origin("emit_guard", what))]
    tests = [Condition("<", *map(poly_of, (c, open_leaf(n, dynamic, f"valid_{k}")))) for k, (c, n) in enumerate(pairs)]
    tests += [Condition("<=", poly_of(0), poly_of(c)) for c in least]
    padded = tuple(test for test in tests if not test.holds)
    return emit(Arguments(text, (padded,), names, tuple(dynamic.values())), target, name=name, integer=integer)


def _places(
    what: Tensor, opened: Layout, coord: Any, below: tuple[IntLike, ...], dynamic: dict[str, Parameter]
) -> list[tuple[Any, Any]]:
    """The integers of the coordinate that a tensor of coordinates holds, and what each is to be below."""
    start: Any = what.offset if isinstance(what, Tensor) else ArithmeticTuple()
    place = opened(*coord) if isinstance(coord, tuple) else opened(coord)
    if isinstance(start, (tuple, ScaledBasis)) and is_constant(0, place):
        place = ArithmeticTuple()  # one element: its coordinate is the start alone
    if not isinstance(place, (tuple, ScaledBasis)):
        raise LeafTypeError(
            f"emit_guard of {shown(what)} with below={shown(below)}", "a tensor of coordinates", "leave below out"
        )
    extents = modes_of(as_int_tuple(below))
    found = modes_of(as_coordinate(start + place))
    if len(found) != len(extents):
        raise RankError(
            f"emit_guard: {len(found)} integers below {shown(below)}", f"{len(found)} extents", "give one for each"
        )
    return [*zip(found, extents)]


def _of_guard(guard: Guard, coord: tuple[IntLike, ...], dynamic: dict[str, Parameter]) -> list[tuple[Any, Any]]:
    """The coordinate in the whole tensor that a view was cut from, and how much of each mode is valid."""
    place = with_parameters(guard.place, dynamic, "place_")
    at = place(*coord) if isinstance(coord, tuple) else place(coord)
    return [*zip(as_coordinate(guard.start + at), guard.valid)]


def _steps_back(place: Layout) -> bool:
    """Whether a layout of coordinates has a step that is known to be below 0."""
    if isinstance(place, ComposedLayout):
        return _steps_back(place.outer) or _steps_back(place.inner)
    return any(at_most(0, d.value if isinstance(d, ScaledBasis) else d) is False for d in leaves(place.stride))


def _indices(coord: IntTree, shape: IntTupleLike) -> tuple[Any, ...]:
    """The index in each top-level mode."""
    extents = product_each(shape)
    if isinstance(shape, tuple) and not isinstance(coord, tuple):
        coord = idx2crd(coord, extents)
    return tuple(crd2idx(c, s) if isinstance(c, tuple) else c for c, s in zip(modes_of(coord), modes_of(shape)))
