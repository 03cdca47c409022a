"""The common refinement: every index once, and every function a sum of steps in each cell."""

import itertools
import random

import pytest

import tla
from tla import Layout, parse
from tla.tensors.refinement import digits, refinement

import oracle
from tensor_model import random_layout


def value(function, x):
    """A function given by digits (place, stride), by its definition: the last digit has no bound."""
    total = 0
    for k, (place, stride) in enumerate(function):
        digit = x // place if k + 1 == len(function) else x // place % (function[k + 1][0] // place)
        total += digit * stride
    return total


def values(cells, count):
    for cell in cells:
        axes = [axis for mode in cell.modes for axis in mode]
        for at in itertools.product(*(range(n) for n, _steps in axes)):
            yield tuple(cell.begins[k] + sum(x * steps[k] for x, (_n, steps) in zip(at, axes)) for k in range(count))


def random_function(rng):
    places = [1]
    for _k in range(rng.randint(0, 3)):
        places.append(places[-1] * rng.choice((2, 2, 3, 4, 5)))
    return tuple((place, rng.randint(-20, 50)) for place in places)


@pytest.mark.parametrize("seed", range(40))
def test_of_random_functions(seed):
    rng, found = random.Random(seed), 0
    for _round in range(50):
        functions = tuple((random_function(rng),) for _k in range(rng.choice((1, 2, 2, 3))))
        starts = tuple((rng.choice((0, 0, rng.randint(0, 40))),) for _f in functions)
        n = rng.randint(0, 130)
        cells = refinement((n,), starts, functions)
        if cells is None:
            continue
        found += 1
        truth = [tuple(value(f, s + x) for (f,), (s,) in zip(functions, starts)) for x in range(n)]
        assert sorted(values(cells, len(functions))) == sorted(truth)
    assert found >= 40


def test_the_index_is_the_axes_slowest_first():
    """Of one function and one cell: what numpy(nested=True) rests on."""
    rng = random.Random(0)
    for _round in range(200):
        layout = random_layout(rng)
        shape = layout.shape
        counts = tuple(oracle.size(s) for s in shape)
        cells = refinement(counts, ((0,) * len(counts),), (digits(layout),))
        assert len(cells) == 1
        for mode, axes in enumerate(cells[0].modes):
            got = [
                sum(x * d for x, (_n, (d,)) in zip(at, axes)) for at in itertools.product(*(range(n) for n, _d in axes))
            ]
            assert got == oracle.offsets(shape[mode], layout.stride[mode])


def test_digits():
    assert digits(parse("((_16,7),(_16,4)):((_16,_256),(_1,1792))")) == (((1, 16),), ((1, 1), (16, 1792)))
    assert digits(parse("((4,1),3):((2,5),0)")) == (((1, 2), (4, 5)), ((1, 0),))
    assert digits(parse("4:2")) == (((1, 2),),)
    assert digits(tla.MakeIdentityLayout((4, 4))) is None
    assert digits(parse("Sw<1,0,1> o _0 o (4):(1)")) is None


def test_no_refinement_worth_the_name():
    a, b = (digits(Layout(((n, 99),), ((1, n + 8),))) for n in (61, 67))
    assert refinement((5000,), ((0,), (0,)), (a, b)) is None
    assert refinement((10,), ((0,), (0,)), (a, b)) is not None
    assert refinement((0,), ((0,), (0,)), (a, b)) == []


def test_it_is_forgotten_on_demand():
    refinement((3,), ((0,),), ((((1, 1),),),))
    tla.cache_clear()
    assert refinement.cache_info().currsize == 0
