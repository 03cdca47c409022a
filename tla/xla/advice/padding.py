"""A function of JAX computed with longer dimensions: its arguments come padded, its results are as before.

A padded value knows which part of it is real. Operations of elements, products, sums, transposes, broadcasts and
reshapes take the padding along: a sum, and a product over a padded dimension, put zeros there first. Every other
operation gets the real part.

Source: JAX docs/jaxpr.md. Law: the results are those of the function, whatever its arguments hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.on_demand import jax_module
from .steps import Step, Steps, bound

#: A dimension as it lies in memory: of each of its parts, the major one first, its length and how much of it is real.
Dimension = tuple[tuple[int, int], ...]

#: Operations of elements, each by itself; of those in the second line zeros give zero.
_ELEMENTWISE = frozenset(
    """abs add and ceil clamp convert_element_type cos div eq erf exp exp2 expm1 floor ge gt integer_pow is_finite le
    log log1p logistic lt max min mul ne neg not or pow round rsqrt select_n sign sin sqrt square stop_gradient sub
    tanh xor copy""".split()  # noqa: SIM905
)
_KEEPS_ZERO = frozenset(
    "abs add convert_element_type max min mul neg sign sin sqrt sub tanh copy".split()  # noqa: SIM905
)
#: Reductions, with what may be put in without changing their result.
_IDENTITY: Mapping[str, Callable[[Any], Any]] = {
    "reduce_sum": lambda dtype: 0,
    "reduce_prod": lambda dtype: 1,
    "reduce_max": lambda dtype: _end(dtype, "min"),
    "reduce_min": lambda dtype: _end(dtype, "max"),
    "reduce_and": lambda dtype: ~jax_module("jax.numpy").zeros((), dtype),
    "reduce_or": lambda dtype: 0,
}


def _end(dtype: Any, which: str) -> Any:
    """The least, or the largest, number of an element type."""
    numpy = jax_module("jax.numpy")
    if dtype.kind == "b":
        return which == "max"
    if numpy.issubdtype(dtype, numpy.integer):
        return getattr(numpy.iinfo(dtype), which)
    return -math.inf if which == "min" else math.inf


@dataclass(frozen=True, slots=True)
class _Value:
    """An array, padded or not.

    dims   its dimensions
    zero   whether its padding holds zeros
    """

    array: Any
    dims: tuple[Dimension, ...]
    zero: bool

    @property
    def whole(self) -> bool:
        """Whether nothing of it is padding."""
        return all(size == real for dim in self.dims for size, real in dim)


def _length(dim: Dimension) -> int:
    return math.prod(size for size, _ in dim)


def _real(dim: Dimension) -> int:
    return math.prod(real for _, real in dim)


def _plain(array: Any) -> _Value:
    return _Value(array, tuple(((n, n),) for n in getattr(array, "shape", ())), True)


def _cut(value: _Value) -> _Value:
    """The real part of a value."""
    if value.whole:
        return value
    parts = [part for dim in value.dims for part in dim]
    array = value.array.reshape([size for size, _ in parts])[tuple(slice(real) for _, real in parts)]
    return _plain(array.reshape([_real(dim) for dim in value.dims]))


def _grown(value: _Value, dims: tuple[Dimension, ...]) -> _Value:
    """A value with the padding that others have, its own being cut off."""
    if value.dims == dims:
        return value
    parts = [part for dim in dims for part in dim]
    array = _cut(value).array.reshape([real for _, real in parts])
    array = jax_module("jax.numpy").pad(array, [(0, size - real) for size, real in parts])
    return _Value(array.reshape([_length(dim) for dim in dims]), dims, True)


def _masked(value: _Value, axes: Sequence[int], identity: Any) -> _Value:
    """A value with something else in the padding of some dimensions."""
    lax, numpy = jax_module("jax.lax"), jax_module("jax.numpy")
    array = value.array
    for axis in axes:
        inner = _length(value.dims[axis])
        for size, real in value.dims[axis]:
            inner //= size
            if size != real:
                place = lax.broadcasted_iota("int32", array.shape, axis) // inner % size
                array = numpy.where(place < real, array, numpy.asarray(identity, array.dtype))
    return _Value(array, value.dims, value.zero)


def _padded_axes(value: _Value, axes: Sequence[int]) -> list[int]:
    return [axis for axis in axes if any(size != real for size, real in value.dims[axis])]


def padded(program: Steps, dims: Mapping[int, Sequence[int]]) -> Callable[..., list[Any]]:
    """The function of some steps, to be called with some arguments padded by zeros at their ends.

    dims   by the place of an argument its dimensions, padding included
    """

    def call(*arguments: Any) -> list[Any]:
        values = {number: _plain(constant) for number, constant in program.constants.items()}
        for k, (number, array) in enumerate(zip(program.inputs, arguments)):
            real = program.types[number].shape
            values[number] = _Value(array, tuple(((n, r),) for n, r in zip(dims.get(k, real), real)), True)
        for step in program.steps:
            given = [values[x] if isinstance(x, int) else _plain(x.val) for x in step.reads]
            values.update(zip(step.writes, _computed(step, given)))
        return [_cut(values[x]).array if isinstance(x, int) else x.val for x in program.results]

    return call


def _computed(step: Step, given: list[_Value]) -> list[_Value]:
    """The results of a step: padded, where it can be."""
    others = _elementwise if step.name in _ELEMENTWISE else _reduced if step.name in _IDENTITY else None
    rule = _RULES.get(step.name) or others
    if rule is not None and not all(value.whole for value in given) and (found := rule(step, given)) is not None:
        return [found]
    return [_plain(array) for array in bound(step, [_cut(value).array for value in given])]


def _elementwise(step: Step, given: list[_Value]) -> _Value:
    """The padding of all operands together; a dimension of one element is repeated, as scalars are."""
    arrays = [value.dims for value in given if value.dims]
    dims = tuple(max(axis, key=lambda dim: (_real(dim), _length(dim))) for axis in zip(*arrays))
    given = [_grown(value, _alike(value.dims, dims)) if value.dims else value for value in given]
    zero = step.name in _KEEPS_ZERO and all(value.dims == dims and value.zero for value in given)
    return _Value(bound(step, [value.array for value in given])[0], dims, zero)


def _alike(dims: tuple[Dimension, ...], others: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
    """Dimensions padded as others are, but for those of one element that the others repeat."""
    return tuple(other if _real(dim) == _real(other) else ((1, 1),) for dim, other in zip(dims, others))


def _reduced(step: Step, given: list[_Value]) -> _Value | None:
    value, axes = given[0], tuple(step.equation.params["axes"])
    if value.array.dtype.itemsize == 1 and value.array.dtype.kind not in "biu":
        return None  # some of these have no infinity
    if not (step.name == "reduce_sum" and value.zero):
        value = _masked(value, _padded_axes(value, axes), _IDENTITY[step.name](value.array.dtype))
    dims = tuple(dim for k, dim in enumerate(value.dims) if k not in axes)
    return _Value(bound(step, [value.array])[0], dims, value.zero and step.name == "reduce_sum")


def _transposed(step: Step, given: list[_Value]) -> _Value:
    value = given[0]
    dims = tuple(value.dims[k] for k in step.equation.params["permutation"])
    return _Value(bound(step, [value.array])[0], dims, value.zero)


def _broadcast(step: Step, given: list[_Value]) -> _Value | None:
    value, params = given[0], step.equation.params
    dims: list[Dimension] = [((n, n),) for n in params["shape"]]
    for axis, dim in zip(params["broadcast_dimensions"], value.dims):
        if _padded_axes(_Value(None, (dim,), True), [0]):
            if _real(dim) != params["shape"][axis]:
                return None  # a dimension of one element, padded, that is repeated
            dims[axis] = dim
    shape = [_length(dim) for dim in dims]
    array = jax_module("jax.lax").broadcast_in_dim(value.array, shape, params["broadcast_dimensions"])
    return _Value(array, tuple(dims), value.zero)


def _reshaped(step: Step, given: list[_Value]) -> _Value | None:
    """A reshape that joins whole dimensions, or takes apart what was joined or is not padded."""
    params = step.equation.params
    if params.get("dimensions") is not None or 0 in params["new_sizes"]:
        return None
    parts = [part for dim in given[0].dims for part in dim if part != (1, 1)]
    dims = []
    for n in params["new_sizes"]:
        dim: list[tuple[int, int]] = []
        while n > 1:
            if not parts:
                return None
            size, real = parts.pop(0)
            if n % real and real % n == 0 and size == real:
                parts.insert(0, (real // n, real // n))
                size = real = n
            if n % real or (real == 1 and size > 1):
                return None
            dim.append((size, real))
            n //= real
        dims.append(tuple(dim) or ((1, 1),))
    if parts:
        return None
    return _Value(given[0].array.reshape([_length(dim) for dim in dims]), tuple(dims), given[0].zero)


def _squeezed(step: Step, given: list[_Value]) -> _Value | None:
    value, gone = given[0], step.equation.params["dimensions"]
    if _padded_axes(value, gone):
        return None
    dims = tuple(dim for k, dim in enumerate(value.dims) if k not in gone)
    return _Value(bound(step, [value.array])[0], dims, value.zero)


def _product(step: Step, given: list[_Value]) -> _Value:
    left, right = given
    (over_left, over_right), (batch_left, batch_right) = step.equation.params["dimension_numbers"]
    pairs = [*zip(over_left, over_right), *zip(batch_left, batch_right)]
    one, two = [*left.dims], [*right.dims]
    for i, j in pairs:
        one[i] = two[j] = one[i] if _padded_axes(left, [i]) else two[j]
    left, right = _grown(left, tuple(one)), _grown(right, tuple(two))
    sides = []
    for value, over in ((left, over_left), (right, over_right)):
        sides.append(value if value.zero else _masked(value, _padded_axes(value, over), 0))
    dims = [left.dims[i] for i in batch_left]
    for value, taken in ((left, {*over_left, *batch_left}), (right, {*over_right, *batch_right})):
        dims += [dim for k, dim in enumerate(value.dims) if k not in taken]
    return _Value(bound(step, [value.array for value in sides])[0], tuple(dims), False)


_RULES: Mapping[str, Callable[[Step, list[_Value]], _Value | None]] = {
    "transpose": _transposed,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshaped,
    "squeeze": _squeezed,
    "dot_general": _product,
}
