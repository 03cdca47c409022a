"""Random layouts for emitted code, and their offsets by brute force."""

import numpy as np

from tla import ComposedLayout, Int, Layout, Swizzle

import executed
import oracle
from corpus import static

UNDEFINED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")


PROFILES = [0, (0,), (0, 0), (0, (0, 0)), ((0, 0), 0), ((0, 0), (0, 0)), (0, 0, 0), ((0, (0, 0)), 0), (0, 0, 0, 0)]


def numbers(x, values):
    """Shapes and strides with values for their symbols."""
    return (
        tuple(numbers(y, values) for y in x) if isinstance(x, tuple) else int(x.at(values) if hasattr(x, "at") else x)
    )


def brute(layout, values=None):
    """All offsets, first mode fastest, by the definitions."""
    if isinstance(layout, ComposedLayout):
        start = numbers(layout.offset, values)
        return [apply(layout.outer, start + n, values) for n in brute(layout.inner, values)]
    return oracle.offsets(numbers(layout.shape, values), numbers(layout.stride, values))


def apply(outer, n, values):
    if isinstance(outer, Swizzle):
        bits = ((1 << outer.bits) - 1) << outer.base
        return n ^ ((n >> outer.shift) & bits if outer.shift >= 0 else (n & bits) << -outer.shift)
    return oracle.offset(n, numbers(outer.shape, values), numbers(outer.stride, values))


def agrees(cases, folder, target="c", flags=("-O1",)):
    for got, c in zip(executed.run(cases, folder, target, flags), cases):
        assert np.array_equal(got, c.wanted), c.text


def random_layout(r, symbols, units, values, negative=True):
    def extent():
        if symbols and r.random() < 0.5:
            name = r.choice([*symbols])
            u = units[name].get("multiple_of", 1)
            return symbols[name] // u if r.random() < 0.4 else symbols[name]
        n = r.choice((1, 2, 2, 3, 4, 4, 5, 8, 16))
        return Int[n]() if r.random() < 0.5 else n

    def stride():
        if symbols and r.random() < 0.5:
            x, y = (symbols[r.choice([*symbols])] for _ in "xy")
            return r.choice((x, x * 4, x * y, -(-x // 8) * 16, x + 1, x * y // 2, x % 5))
        n = r.choice((0, 1, 1, 2, 3, 4, 8, 16, 32, 100, 65537, 2**20, 2**33))
        n = -n if negative and r.random() < 0.15 else n
        return Int[n]() if r.random() < 0.6 else n

    while True:
        profile = r.choice(PROFILES)
        count = len([*oracle.leaves(profile)])
        shape, strides = (oracle.nest(profile, iter([f() for _ in range(count)])) for f in (extent, stride))
        if oracle.size(numbers(shape, values)) <= 1500:
            return Layout(shape, strides)


def static_layout(a):
    return a if isinstance(a, ComposedLayout) else Layout(static(a.shape), static(a.stride))
