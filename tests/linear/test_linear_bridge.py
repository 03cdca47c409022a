"""Layouts as linear layouts and back: by evaluation of every coordinate, each refusal with its witness."""

import collections
import functools
import itertools
import operator
import random
import re

import numpy as np
import pytest

from tla import ComposedLayout, MakeLayout, Swizzle, TlaError, Unproven, cache_clear, dim, parse
from tla.linear import LinearLayout, affine, bits, layout_of, linear

import oracle
from night import NIGHT, amount


def is_affine(values):
    """The definition over the whole domain: f(x) ^ f(0) is the xor of what x's bits do."""
    zero = values[0]
    for x, value in enumerate(values):
        parts = (values[1 << k] ^ zero for k in range(x.bit_length()) if x >> k & 1)
        if value != functools.reduce(operator.xor, parts, zero):
            return False
    return True


def image(found, constant=0):
    flat = found.flatten_ins()
    columns = flat.columns
    return [
        constant ^ functools.reduce(operator.xor, (c for k, c in enumerate(columns) if x >> k & 1), 0)
        for x in range(1 << len(columns))
    ]


def check(layout, values):
    """linear() is the function where it is linear, and else refuses with indices that show it."""
    if is_affine(values) and not values[0]:
        found = linear(layout)
        assert image(found) == values
        back = layout_of(linear(layout, ["index"]))
        assert [back(x) for x in range(len(values))] == values
        return True
    with pytest.raises(TlaError) as caught:
        linear(layout)
    shows = re.search(r"indices (\d+), (\d+) and (\d+) go to (\d+), (\d+) and (\d+)", str(caught.value))
    if values[0]:
        return False
    x, y, both, fx, fy, f_both = map(int, shows.groups())
    assert (values[x], values[y], values[both]) == (fx, fy, f_both)
    assert x + y == both
    assert fx ^ fy != f_both
    return False


STRIDES = range(65) if NIGHT else [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 17, 20, 24, 31, 32, 33, 40, 48, 63, 64]


def test_every_small_layout():
    counts = {True: 0, False: 0}
    for rank in (1, 2):
        for shape in itertools.product([2, 4, 8, 16, 32, 64], repeat=rank):
            if oracle.size(shape) > 64:
                continue
            for stride in itertools.product(STRIDES, repeat=rank):
                values = oracle.offsets(shape, stride)
                counts[check(MakeLayout(shape, stride), values)] += 1
    assert NIGHT or counts == {True: 1698, False: 7086}


def extended(values, count):
    """The offsets of a linear layout with one mode more, of 2^count elements, for each stride of 0 to 64; and
    the same, xored."""
    strides = np.arange(65)[:, None]
    summed = xored = np.broadcast_to(values, (65, len(values)))
    for k in range(count):
        summed, xored = (
            np.concatenate([m, f(m, strides << k)], axis=1) for m, f in ((summed, np.add), (xored, np.bitwise_xor))
        )
    return summed, (summed == xored).all(1)


def checked_as_linear(shape, stride, values):
    found = linear(MakeLayout(shape, stride))
    assert [*found.flatten_ins().columns] == [*values[1 << np.arange(len(values).bit_length() - 1)]]
    back = layout_of(linear(MakeLayout(shape, stride), ["index"]))
    assert (back(np.arange(len(values))) == values).all()


def every_extension(rng, counts, shape=(), stride=(), values=np.zeros(1, np.int64)):
    """Go through all layouts of one mode more than a linear one, and through those of the linear ones, of up
    to 64 elements."""
    if len(shape) < 3:
        cache_clear()  # a million layouts are not for the memos to keep
    for bits_ in range(1, 8 - len(values).bit_length()):
        summed, is_linear = extended(values, bits_)
        longer = (*shape, 1 << bits_)
        for linear_too in (True, False):
            chosen = np.flatnonzero(is_linear == linear_too).tolist()
            rank = len(longer)
            if NIGHT and (linear_too or rank < 4):
                some = chosen
            else:
                some = rng.sample(chosen, min(len(chosen), 1 if NIGHT or rank > 2 else 2))
            counts[rank, linear_too] += len(some)
            for d in some:
                if not linear_too:
                    check(MakeLayout(longer, (*stride, d)), summed[d].tolist())
                    continue
                checked_as_linear(longer, (*stride, d), summed[d])
                every_extension(rng, counts, longer, (*stride, d), summed[d])


def test_every_layout_of_up_to_64_elements():
    """Extents of powers of two, strides of 0 to 64, any rank: by day a sample, by night all 1,033,510 that
    are linear, both ways.

    Of those that are not, all of up to three modes and one of 65 strides of more whose modes before the last are
    linear. The others are not linear for the same two indices as their first modes, whose offsets are theirs: the first
    mode is the fastest.
    """
    counts = collections.Counter()
    every_extension(random.Random(5), counts)
    if NIGHT:
        assert sum(n for (_, is_linear), n in counts.items() if is_linear) == 1_033_510
        assert (counts[1, False], counts[2, False], counts[3, False]) == (261, 28_397, 423_187)
    assert all(counts[rank, kind] for rank in range(1, 7) for kind in (True, False))


def test_refused_first_modes_are_refused_in_every_layout():
    """Layouts of any rank with modes that carry anywhere, the others linear or not: refused, with indices
    that show it."""
    rng = random.Random(6)
    for _ in range(amount(200, 20000)):
        shape = rng.choice([(2, 2, 2), (2, 4, 8), (4, 2, 2, 4), (2, 2, 2, 2, 4), (2,) * 6, (1, 8, 1, 8)])
        stride = tuple(rng.choice([0, 1, 2, 3, 4, 8, 16, 32, 64, rng.randrange(65)]) for _ in shape)
        check(MakeLayout(shape, stride), oracle.offsets(shape, stride))


def test_swizzles_and_constants():
    rng, linear_ones = random.Random(6), 0
    for _ in range(amount(500, 4000)):
        shape = tuple(rng.choice([2, 4, 8]) for _ in range(2))
        inner = MakeLayout(shape, tuple(rng.choice([1, 2, 4, 8, 16]) for _ in range(2)))
        count, base = rng.randrange(1, 3), rng.randrange(3)
        layout = ComposedLayout(
            Swizzle[count, base, rng.choice([-1, 1]) * rng.randrange(count, 4)](),
            rng.choice([0, 0, 1, 2, 3, 8, 32]),
            inner,
        )
        if rng.random() < 0.3:
            layout = ComposedLayout(
                MakeLayout((8, 8, 2), (rng.choice([8, 1, 3]), rng.choice([1, 8]), 64)), rng.choice([0, 1, 4]), layout
            )
        values = [layout(x) for x in range(oracle.size(shape))]
        try:
            found, constant = affine(layout)
        except TlaError:
            assert not is_affine(values), layout
            continue
        linear_ones += 1
        assert image(found, constant) == values, layout
    assert linear_ones > 100


def test_random_linear_layouts_come_back():
    rng = random.Random(8)
    for n in range(1, 15):
        for _ in range(amount(6, 60)):
            counts = [n - n // 2, n // 2]
            outs = {"a": 1 << (n + 1) // 2, "b": 1 << n // 2}
            found = LinearLayout._of_columns(
                [("i", counts[0]), ("j", counts[1])], tuple(outs.items()), [rng.randrange(1 << n) for _ in range(n)]
            )
            layout = layout_of(found)
            points = range(1 << n) if n < 9 else [rng.randrange(1 << n) for _ in range(50)]
            assert all(layout(x) == bits.apply(found.columns, x) for x in points)
            assert linear(layout, ["i", "j"] if len(layout.shape) == 2 else ["i"], outs).columns == found.columns
            assert parse(str(layout)) == layout


def test_one_swizzle_is_found():
    for count, base, shift in [(3, 4, 3), (2, 4, 3), (1, 4, 3), (3, 3, 3), (2, 0, -3), (1, 0, 5)]:
        layout = ComposedLayout(Swizzle[count, base, shift](), 0, parse("(_8,_64):(_64,_1)"))
        back = layout_of(linear(layout))
        assert isinstance(back.outer, Swizzle)
        assert back.outer.bits <= count
        assert all(back(x) == layout(x) for x in range(512))


def test_thread_values_go_to_the_tensor():
    """SM80 m16n8 accumulators: the layout of CuTe's atom is Triton's."""
    atom = parse("((_4,_8),(_2,_2)):((_32,_1),(_16,_8))")
    found = linear(atom, ["lane", "register"], {"dim0": 16, "dim1": 8})
    assert found.bases == {"lane": ((0, 2), (0, 4), (1, 0), (2, 0), (4, 0)), "register": ((0, 1), (8, 0))}


def test_bad_input():
    m = dim("M")
    for layout, says in [
        (parse("6:1"), "pad it to 8"),
        (parse("4:-1"), "0 or more"),
        (parse("(4,4):(1,3)"), "indices 1, 4 and 5 go to 1, 3 and 4"),
        (parse("4:1@0"), "known integers"),
        (3, "a layout"),
        (MakeLayout((4, 2), (1, 1 << 61)), None),
        (ComposedLayout(Swizzle[1, 0, 1](), 2, parse("2:1")), "the offset of 0 is 3"),
    ]:
        if says is None:
            assert linear(layout).out_dims == {"offset": 1 << 62}
            continue
        with pytest.raises(TlaError, match=says):
            linear(layout)
    with pytest.raises(Unproven, match="sizes that are known"):
        linear(MakeLayout((m,), (1,)))
    with pytest.raises(TlaError, match="2, one for each mode"):
        linear(parse("(2,2):(1,2)"), ["a", "b", "c"])
    with pytest.raises(TlaError, match=r"out_dims of 2\^2"):
        linear(parse("(2,2):(1,2)"), None, {"offset": 2})


def test_chains_of_swizzles_are_short():
    """Sums of two bits here and there: not many more swizzles than sums."""
    rng, swizzles = random.Random(9), 0
    for _ in range(100):
        n = rng.randint(6, 12)
        columns = [1 << k for k in rng.sample(range(n), n)]
        for _ in range(3):
            a, b = rng.sample(range(n), 2)
            columns[a] ^= columns[b]
        found = layout_of(LinearLayout({"index": [(c,) for c in columns]}, {"offset": 1 << n}))
        assert list(linear(found, ["index"]).columns) == columns
        swizzles += str(found).count("Sw<")
    assert swizzles <= 340
