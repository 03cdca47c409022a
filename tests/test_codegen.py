"""Emitted code is run, and gives the offsets that the layout has: C, C++, Python, numpy; CUDA where nvcc is found."""

import json
import random
import re

import numpy as np
import pytest

import emitted
import oracle
from corpus import fill
from emitted import Case
from tla import ComposedLayout, Int, Layout, MakeLayout, Swizzle, dim, offsets, parse, xla
from tla.ascend import ColumnMajor, RowMajor, half, nZ, zN, zZ
from tla.codegen import emit, plan
from truth import rows

UNDEFINED = ("-O1", "-fsanitize=undefined", "-fno-sanitize-recover")
PROFILES = [0, (0,), (0, 0), (0, (0, 0)), ((0, 0), 0), ((0, 0), (0, 0)), (0, 0, 0), ((0, (0, 0)), 0), (0, 0, 0, 0)]
FACTS = [{}, {"multiple_of": 2}, {"multiple_of": 8}, {"at_most": 100}, {"multiple_of": 3, "at_most": 48}, {"multiple_of": 4, "at_most": 64}]


# --------------------------------------------------------------------------------------------------- brute force


def numbers(x, values):
    """Shapes and strides with values for their symbols."""
    return tuple(numbers(y, values) for y in x) if isinstance(x, tuple) else int(x.at(values) if hasattr(x, "at") else x)


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


def case(layout, k, values=None, wanted=None, target="c", **how):
    """A layout as a Case, with values for its symbols."""
    values = values or {}
    coords = how.setdefault("coords", named(numbers(layout.shape, values)))
    made = plan(layout, coords, integer=how.get("integer"))
    names = [*oracle.leaves(coords)]
    assert [p.name for p in made.parameters[: len(names)]] == names
    sizes = tuple(values[p.name] if p.value is None else p.value for p in made.parameters[len(names) :])
    extents = tuple(extents_of(numbers(layout.shape, values), coords))
    wanted = np.array(brute(layout, values) if wanted is None else wanted, np.int64)
    return Case(emit(layout, target, name=f"f{k}", **how), f"f{k}", extents, sizes, wanted, str(made.integer))


def named(shape, depth=1, start="i"):
    """A name for each mode, or for each part of these down to a depth."""
    if not isinstance(shape, tuple) or depth == 0:
        return start
    return tuple(named(s, depth - 1, f"{start}{k}") for k, s in enumerate(shape))


def extents_of(shape, coords):
    """The extents that names run through."""
    if isinstance(coords, tuple):
        return [n for s, c in zip(shape, coords) for n in extents_of(s, c)]
    return [oracle.size(shape)]


def agrees(cases, folder, target="c", flags=("-O1",)):
    for got, c in zip(emitted.run(cases, folder, target, flags), cases):
        assert np.array_equal(got, c.wanted), c.text


# ------------------------------------------------------------------------------------------------ random layouts


def random_case(seed, target="c"):
    """A random layout, nested, swizzled, composed, with dynamic leaves and symbols: as a Case."""
    r = random.Random(seed)
    units = {name: r.choice(FACTS) for name in "ABC"[: r.choice((0, 0, 1, 2, 3))]}
    symbols = {name: dim(name, **facts) for name, facts in units.items()}
    values = {name: facts.get("multiple_of", 1) * r.randint(1, 4) for name, facts in units.items()}
    layout = random_layout(r, symbols, units, values)
    if r.random() < 0.3:
        layout = random_composed(r, layout, values)
    depth = r.choice((0, 1, 1, 2, 3))
    return case(layout, seed, values, coords=named(numbers(layout.shape, values), depth), target=target)


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
        shape, strides = (fill(profile, iter([f() for _ in range(count)])) for f in (extent, stride))
        if oracle.size(numbers(shape, values)) <= 1500:
            return Layout(shape, strides)


def random_composed(r, inner, values):
    """A swizzle or a layout after it: of numbers that are not negative."""
    if min(brute(inner, values)) < 0 or max(brute(inner, values)) > 2**40:
        return inner
    start = r.choice((0, 0, 5, 64))
    start = Int[start]() if r.random() < 0.5 else start
    if r.random() < 0.6:
        bits = r.randint(1, 3)
        return ComposedLayout(Swizzle[bits, r.randint(0, 4), r.choice((1, -1)) * r.randint(bits, 4)](), start, inner)
    outer = random_layout(r, {}, {}, {}, negative=False)
    return inner if max(map(abs, brute(outer))) > 2**22 else ComposedLayout(outer, start, inner)


# ------------------------------------------------------------------------------------------------------- offsets


XLA = [row for row in rows("xla/index.json") if row["representable"] and row["total_elements"] < 100_000]


def test_xla_layouts_in_c(tmp_path):
    layouts = [xla.lower(row["spec"]) for row in XLA]
    assert len(layouts) == 766
    agrees([case(a, k, wanted=offsets(a).ravel(order="F")) for k, a in enumerate(layouts)], tmp_path)


def test_seed_examples_of_tla(tmp_path):
    seeds = json.dumps([row for row in rows("tla/accepted.json") if row.get("seed")])
    texts = sorted({*re.findall(r'"layout": "([^"]*:[^"]*)"', seeds)})
    assert len(texts) >= 15
    layouts = [parse(t) for t in texts] + [MakeLayout[half, tag](100, 60) for tag in (zN, nZ, zZ, RowMajor, ColumnMajor)]
    agrees([case(a, k) for k, a in enumerate(layouts)], tmp_path, flags=UNDEFINED)


@pytest.fixture(scope="module")
def random_cases():
    return [random_case(seed) for seed in range(600)]


@pytest.mark.parametrize("flags", [("-O1",), UNDEFINED], ids=["plain", "undefined"])
def test_random_layouts_in_c(random_cases, tmp_path, flags):
    agrees(random_cases, tmp_path, flags=flags)


def test_random_layouts_in_cpp(tmp_path):
    agrees([random_case(seed, "cpp") for seed in range(0, 600, 6)], tmp_path, "cpp")


def test_random_layouts_in_python():
    for seed in range(600):
        c = random_case(seed, "python")
        assert np.array_equal(emitted.python(c), c.wanted), c.text


def test_random_layouts_in_numpy():
    for seed in range(600):
        c = random_case(seed, "numpy")
        assert np.array_equal(emitted.numpy(c), c.wanted), c.text
