"""Operations of tuples of plain integers beside the exact algebra: the same answers, or none."""

import random

import pytest

import tla
from tla import TlaError
from tla.compat import plain_modes, pycute, torch

from night import amount

INTERFACES = {1: pycute, -1: torch}


def some(rng):
    """The shape and the strides of a layout: nested, compact in any order, with gaps, repeats, extents of 1
    and steps back."""
    shape = tuple(
        tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.randint(1, 2)))
        if rng.random() < 0.3
        else rng.choice([1, 2, 3, 4, 6, 8])
        for _ in range(rng.randint(1, 3))
    )
    shape = shape[0] if len(shape) == 1 and rng.random() < 0.5 else shape
    flat = pycute.flatten(shape)
    strides, step = [0] * len(flat), rng.choice([1, 1, 1, 2, 3])
    for i in rng.sample(range(len(flat)), len(flat)):
        strides[i], step = step, step * flat[i] * rng.choice([1, 1, 1, 1, 2])
    if rng.random() < 0.2:
        strides[rng.randrange(len(flat))] = rng.choice([0, 0, -1, -4, 1, 5])
    left = iter(strides)
    return shape, _nested(shape, left)


def _nested(shape, left):
    return tuple(_nested(s, left) for s in shape) if isinstance(shape, tuple) else next(left)


def exactly(module, does, *layouts):
    """What the exact algebra answers, in this interface; None where it refuses."""
    try:
        return module.plain(does(*(module.exact(x) for x in layouts)))
    except TlaError:
        return None


@pytest.mark.parametrize("order", [1, -1])
def test_every_answer_is_that_of_the_exact_algebra(order):
    rng, module = random.Random(order), INTERFACES[order]
    answered = dict.fromkeys(
        ["coalesce", "right_inverse", "left_inverse", "complement", "composition", "logical_divide", "logical_product"],
        0,
    )
    for _ in range(amount(400, 6000)):
        (a, b), n = (module.Layout(*some(rng)) for _ in range(2)), rng.choice([1, 7, 16, 24, 96, 1000])
        for name in answered:
            does, plainly = getattr(tla, name), getattr(plain_modes, name)
            if name in ("coalesce", "right_inverse", "left_inverse"):
                found, wanted = plainly(a.shape, a.stride, order), exactly(module, does, a)
            elif name == "complement":
                found, wanted = plainly(a.shape, a.stride, n, order), exactly(module, does, a, n)
            else:
                found, wanted = plainly(a.shape, a.stride, b.shape, b.stride, order), exactly(module, does, a, b)
                if order == -1 and name != "composition" and wanted is not None:
                    wanted = torch.Layout(wanted.shape[::-1], wanted.stride[::-1])  # (tile, rest) here too
            if found is not None:
                assert wanted is not None, (name, a, b, n, found)
                assert found == (wanted.shape, wanted.stride), (name, a, b, n)
                answered[name] += 1
    assert min(answered.values()) > 40, answered


def test_offsets_by_definition():
    rng = random.Random(3)
    for order, module in INTERFACES.items():
        for _ in range(amount(50, 2000)):
            a = module.Layout(*some(rng))
            for i in (*range(min(a.size(), 40)), a.size() + 3, -1):
                assert plain_modes.offset(i, a.shape, a.stride, order) == module.exact(a)(i), (a, i)


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        ((2, 3), (1,)),
        ((2, 3), 1),
        (0, 1),
        ((2, 0), (1, 2)),
        (-2, 1),
        (True, 1),
        (2.0, 1),
        ((), ()),
        (2**63, 1),
        (2, "1"),
    ],
)
def test_what_is_no_layout_of_plain_integers_is_left_to_the_exact_algebra(shape, stride):
    assert plain_modes.modes_of(shape, stride, 1) is None


def test_what_64_bits_do_not_hold_is_left_to_the_exact_algebra():
    wide = (2**40, 2**40), (1, 2**40)
    assert plain_modes.coalesce(*wide, 1) is None
    with pytest.raises(TlaError):
        pycute.coalesce(pycute.Layout(*wide))
    assert plain_modes.composition(8, 2**62, 4, 4, 1) is None
    with pytest.raises(TlaError):
        pycute.composition(pycute.Layout(8, 2**62), pycute.Layout(4, 4))
