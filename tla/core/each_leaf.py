"""A value made anew of its leaves: layouts, tuples, tilers and tensors, each leaf changed by a function;
`static` and `dynamic`.

Source: CuTe `Int<N>`; ours for whole values, and for a block of a program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from .basis import Basis
from .composed import ComposedLayout
from .errors import LeafTypeError
from .int_tuple import IntTuple, Underscore
from .ints import as_static, is_leaf, leaf, plain
from .kinds import layout_fix
from .layout import Layout
from .plain_ints import as_written, plain_ints
from .swizzle import CoordSwizzle, Swizzle

if TYPE_CHECKING:
    from contextlib import _GeneratorContextManager as Block  # a block of `with`, and a decorator

#: What `static()` has for the value that is not given.
_NOTHING = object()


@as_written
def each_leaf(where: str, x: Any, change: Callable[[Any], Any]) -> Any:
    """A layout, a tuple, a tiler or a tensor with each of its integers changed. LeafTypeError for anything else."""
    if isinstance(x, Layout):
        origin = ... if x.origin_shape is None else each_leaf(where, x.origin_shape, change)
        return Layout(each_leaf(where, x.shape, change), each_leaf(where, x.stride, change), origin)
    if isinstance(x, ComposedLayout):
        return ComposedLayout(*(each_leaf(where, part, change) for part in (x.outer, x.offset, x.inner)))
    if isinstance(x, tuple):
        parts = [each_leaf(where, n, change) for n in x]
        return type(x)(*parts) if isinstance(x, IntTuple) else tuple(parts)
    if isinstance(x, Basis):
        return x.each(lambda n: each_leaf(where, n, change))
    if x is None or isinstance(x, (Swizzle, CoordSwizzle, Underscore)):
        return x
    if is_leaf(x) or hasattr(type(x), "__index__"):  # numpy's integers too
        return change(leaf(x))
    if hasattr(type(x), "over"):  # a tensor: its layout
        return x.over(_named(where, lambda layout: each_leaf(where, layout, change)))
    raise LeafTypeError(f"{where} of a {type(x).__name__}", "a layout, an IntTuple or a size", layout_fix(x))


def _named(name: str, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    f.__name__ = name
    return f


@overload
def static() -> Block[None]: ...
@overload
def static(x: object) -> Any: ...
def static(x: object = _NOTHING) -> Any:
    """Make plain integers known: those of a value, or, without one, all that a `with` block reads.

    A plain int is a run-time value, as in CuTe: an operation must not look at it. The peers in Python take it as known,
    which is what 4 becomes here: Int[4](), a template argument in C++. Symbols stay.

    x         a layout, a tuple, a tiler, a tensor (its layout: where it begins stays), an integer
    Returns   the value of static integers; without x a block, which holds for its thread and its task of asyncio.
              Inside, a value that was made before stays as it was made, and so does the 4 of a text that parse reads

    >>> from tla import make_layout, right_inverse, static
    >>> print(static((4, (2, 8))), static(make_layout((4, 2))))
    (Int[4](), (Int[2](), Int[8]())) (_4,_2):(_1,_4)
    >>> a = make_layout((16, 8), (1, 16))
    >>> print(right_inverse(a), right_inverse(static(a)))
    _1:_0 _128:_1
    >>> with static():
    ...     b = make_layout((16, 8), (1, 16))
    >>> print(b, right_inverse(b))
    (_16,_8):(_1,_16) _128:_1

    A generator that is suspended inside of a block leaves it open for its caller, until it goes on or is closed, as
    with decimal.localcontext: Python has no context of a generator's own. Write the block around the values alone, and
    yield behind it.

    >>> def layouts():
    ...     with static():
    ...         yield make_layout(4)
    >>> made = layouts()
    >>> print(next(made), make_layout(4))
    _4:_1 _4:_1
    >>> made.close()
    >>> print(make_layout(4))
    4:_1

    Raises LeafTypeError for what has no integers. Source: CuTe `Int<N>`; ours for whole values and blocks.
    """
    return plain_ints(True) if x is _NOTHING else each_leaf("static", x, as_static)


@overload
def dynamic() -> Block[None]: ...
@overload
def dynamic(x: object) -> Any: ...
def dynamic(x: object = _NOTHING) -> Any:
    """Make static integers plain ones, which are known at run time only: the way back of `static`, for a value
    or a block.

    >>> from tla import dynamic, make_layout, parse, static
    >>> print(dynamic(parse("(_4,_2):(_1,_4)")))
    (4,2):(1,4)
    >>> with static(), dynamic():
    ...     print(make_layout(4, 2))
    4:2

    Raises LeafTypeError for what has no integers. Source: ours.
    """
    return plain_ints(False) if x is _NOTHING else each_leaf("dynamic", x, plain)
