"""Flat modes: the leaves of a layout as pairs (extent, stride), merged, and in the order of their strides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.basis import ScaledBasis, steps_of
from ..core.digits import Modes
from ..core.errors import Unproven
from ..core.int_tuple import leaves
from ..core.ints import Int, IntLike, Leaf, _0, _1, is_constant, known, leaf
from ..core.layout import Layout, plain_layout, unchecked_layout
from ..core.leaf_arithmetic import mul
from ..core.questions import at_most, equal, require
from ..core.strides import Shape, Stride

Mode: TypeAlias = tuple[Any, Any]  # extent and stride of one leaf


def path_of(d: IntLike) -> tuple[int, ...]:
    """The mode that a stride goes along; () of offsets."""
    return d.path if isinstance(d, ScaledBasis) else ()


def step_of(d: IntLike) -> Leaf:
    """The length of a stride, in its mode or in offsets."""
    return d.value if isinstance(d, ScaledBasis) else d


def has_symbols(*trees: object) -> bool:
    """Whether one of these shapes or strides has a symbol in it."""
    return any(known(step) is None for x in trees for n in leaves(x) for _path, step in steps_of(n))


def flat_modes(layout: Layout) -> list[Mode]:
    return list(zip(leaves(layout.shape), leaves(layout.stride)))


def from_modes(modes: Iterable[Mode]) -> Layout:
    """The layout of flat modes: none is _1:_0, one stands alone."""
    shape, stride = tuple(zip(*modes)) or ((_1,), (_0,))
    for n in shape + stride:
        leaf(n)  # sizes multiply here: what 64 bits cannot hold is refused, as where a layout is made
    return (
        unchecked_layout(shape[0], stride[0]) if len(shape) == 1 else unchecked_layout(Shape(*shape), Stride(*stride))
    )


def wrapped(modes: Modes) -> Layout:
    """The static layout of flat modes: none is _1:_0, one stands alone. RangeError for what 64 bits cannot hold."""
    modes = modes or [(1, 0)]
    for s, d in modes:
        if s > INT64_MAX or not INT64_MIN <= d <= INT64_MAX:
            leaf(s)
            leaf(d)
    return plain_layout(modes, 0, (len(modes),))


def merge(modes: list[Mode], unbounded: bool = False) -> list[Mode]:
    """Flat modes coalesced. With `unbounded`, as a function of every integer: then the last mode stays,
    whatever its extent."""
    out: list[Mode] = []  # reversed
    for s, d in reversed(modes):
        if not out:
            out.append((s, d))
        elif type(s) is Int and s == 1:
            continue
        elif is_constant(1, out[-1][0]) and not (unbounded and len(out) == 1):
            out[-1] = (s, d)
        elif _continues(s, d, *out[-1]):
            out[-1] = (mul(s, out[-1][0]), d)
        else:
            out.append((s, d))
    if len(out) == 1 and is_constant(1, out[0][0]) and not unbounded:
        return []
    return out[::-1]


def _continues(s: object, d: Leaf, n: object, following: Leaf) -> bool:
    """Whether the mode n:following goes on where s:d ends, whatever the dynamic integers hold."""
    if path_of(d) != path_of(following):
        return False
    d, following = step_of(d), step_of(following)
    if type(d) is type(following) is Int and type(n) is Int:
        return int.__mul__(s, d) == following if type(s) is Int else d == following == 0
    return int not in map(type, (s, d, n, following)) and equal(mul(s, d), following) is True


M = TypeVar("M", bound="tuple[Any, ...]")


def by_stride(modes: list[M], where: Callable[[], str]) -> list[M]:
    """Modes (extent, stride, ...) by their strides, the smallest first, where that order is known whatever dynamic
    integers hold."""
    if len(modes) < 2 or all(type(m[1]) is Int for m in modes):
        return sorted(modes, key=itemgetter(1))
    if any(type(m[1]) is int for m in modes):
        what = f"{where()}: the order of its strides is not static"
        raise Unproven(what, "static strides, or one mode", "use static strides, as static(layout) has")
    out: list[M] = []
    rest = [*modes]
    while rest:
        first = smallest(rest)
        if first is None:  # what is not known is asked for
            first = next(m for m in rest if not any(at_most(m[1], n[1]) is False for n in rest))
            for m in rest:
                require("<=", first[1], m[1], where)
        rest.remove(first)
        out.append(first)
    return out


def smallest(modes: list[M]) -> M | None:
    """The mode whose stride is proved to be no larger than any other; None where none is."""
    return next((m for m in modes if all(at_most(m[1], n[1]) for n in modes)), None)
