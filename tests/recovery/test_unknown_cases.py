"""Expressions in many cases at once, each against its value at numbers."""

import itertools
import random

import numpy as np
import pytest

from tla import at as numbers_at, dims, layout_of, offsets
from tla.core.errors import RangeError
from tla.core.swizzle import Swizzle
from tla.recovery.unknown_cases import cases, remainders
from tla.symbolic.evaluate import value
from tla.symbolic.symint import poly_of

from night import amount

FIRST, SECOND, A, B, N = map(poly_of, dims("i j a b N"))
UNITS = (8, 4)


def expression(rng, depth):
    """A random size of the coordinates i and j, and of the name N."""
    i, j, n = dims("i j N")
    if depth == 0:
        return rng.choice((i, j, n, 8 * n, rng.randrange(9)))
    x, y = expression(rng, depth - 1), expression(rng, rng.randrange(depth))
    kind = rng.randrange(6)
    if kind < 2:
        return x + y
    if kind == 2:
        return x * rng.choice((2, 3, 16, n))
    d = rng.choice((2, 4, 8, 6, -4, -6, n))
    return x // d if kind == 3 else x % d if kind == 4 else x ^ y


def given():
    """i = 8*a + r and j = 4*b + s."""
    parts = zip((FIRST, SECOND), (A, B), UNITS)
    return {i.atoms[0]: remainders(a.scale(unit), unit, axis, 2) for axis, (i, a, unit) in enumerate(parts)}


def at(found, case, numbers):
    form, count = (column[tuple(k % n for k, n in zip(case, column.shape))] if column.ndim == 2 else column[0]
                   for column in (found.which, found.numbers))  # fmt: skip
    return value(found.forms[form], numbers) + int(count)


def some_places(rng, count):
    for _ in range(count):
        a, b, n = rng.randrange(1, 9), rng.randrange(1, 9), rng.randrange(1, 12)
        r, s = rng.randrange(UNITS[0]), rng.randrange(UNITS[1])
        yield (r, s), {"a": a, "b": b, "N": n, "i": UNITS[0] * a + r, "j": UNITS[1] * b + s}


def test_each_case_is_its_value():
    rng, count = random.Random(33), 0
    for _ in range(amount(40, 5000)):
        x = poly_of(expression(rng, rng.randint(1, 4)))
        try:
            found = cases(x, given())
        except RangeError:
            continue
        for case, numbers in some_places(rng, 12):
            assert at(found, case, numbers) == value(x, numbers), (x, case, numbers)
            count += 1
    assert count > 300


def test_swizzles_of_each_case():
    rng = random.Random(34)
    for bits, base, shift in itertools.product((1, 3), (0, 3), (-4, -3, 3, 5)):
        swizzle, x = Swizzle[bits, base, shift](), poly_of(expression(rng, 2))
        found = cases(x, given()).swizzled(swizzle)
        for case, numbers in some_places(rng, 6):
            assert at(found, case, numbers) == swizzle(value(x, numbers)), (x, swizzle, case, numbers)


def test_same_is_no_more_than_equal():
    x, y = (cases(p, given()) for p in (FIRST + SECOND.scale(8), FIRST + SECOND.scale(8) + N))
    assert x.same(x)
    assert not x.same(y)
    assert not x.same(cases(FIRST.scale(2) + SECOND.scale(8), given()))
    assert not x.same(x.plus(x.numbers * 0 + 1))


def test_numbers_that_64_bits_do_not_hold_are_refused():
    with pytest.raises(RangeError, match="more than 61 bits"):
        cases(FIRST.scale(1 << 60), given())


def test_a_long_chain_of_swizzles():
    """512 remainders of the coordinates: two swizzles behind each other, over rows of a leading dimension."""
    text = "int o = i%2*64 + i/2*2048*N + j%4*8 + j/4%16*128 + j/64*2048; o ^= o >> 9 & 1; o ^= o >> 3 & 448; return o;"
    found = layout_of(text, shape=("2*K", "64*N"), coords="i,j", values={"N": "N"})
    i, j = np.ogrid[:6, :128]
    o = i % 2 * 64 + i // 2 * 4096 + j % 4 * 8 + j // 4 % 16 * 128 + j // 64 * 2048
    o ^= o >> 9 & 1
    assert (offsets(numbers_at(found, {"K": 3, "N": 2})).reshape(6, 128, order="F") == (o ^ o >> 3 & 448)).all()
