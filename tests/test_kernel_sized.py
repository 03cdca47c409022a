"""The laws on kernel-sized layouts: blocked, tiled, swizzled, padded, permuted tiles of 2**10 to 2**17 elements, in numpy; and
on each side of every limit at which a method changes."""

import itertools
import random

import numpy as np
import pytest
from laws import plain

import tla
from tla import max_common_layout, parse

import oracle
from corpus import kernel_sized, made, rearranged


def image(layout):
    return oracle.image(*plain(layout))


def is_common(found, *images):
    """found(i) is a place at which every image has i."""
    places = image(found)
    return places.max() < len(images[-1]) and all(np.array_equal(x[places], np.arange(len(places))) for x in images)


def pairs(seed, n, high=13):
    rng = random.Random(seed)
    for _ in range(n):
        b = kernel_sized(rng, 10, high)
        a = rearranged(rng, b) if rng.random() < 0.7 else kernel_sized(rng, 10, high)
        yield (a, b) if rng.random() < 0.5 else (b, a)


def blocked(rows, cols, block):
    """Blocked matrices with their digits in every order, each against both plain ones."""
    extents = (block[0], rows // block[0], block[1], cols // block[1])
    for order in itertools.permutations(range(4)):
        strides, reached = [0] * 4, 1
        for k in order:
            strides[k], reached = reached, reached * extents[k]
        for plain_strides in ((1, rows), (cols, 1)):
            tiles = (extents[:2], extents[2:]), (tuple(strides[:2]), tuple(strides[2:]))
            matrix = (rows, cols), plain_strides
            yield tiles, matrix
            yield matrix, tiles


def test_the_common_layout_of_blocked_and_plain_matrices_is_right_and_none_is_larger():
    sizes = set()
    for rows, cols, block in ((64, 64, (8, 8)), (32, 64, (4, 16)), (48, 60, (4, 3)), (112, 24, (7, 8)), (16, 63, (8, 9))):
        for a, b in blocked(rows, cols, block):
            r = max_common_layout(made(a), made(b))
            images = oracle.image(*a), oracle.image(*b)
            assert is_common(r, *images), (a, b, r)
            assert tla.size(r) == tla.max_common_vector(made(a), made(b)) == oracle.largest_inverse(*images), (a, b, r)
            sizes.add(int(tla.size(r)))
    assert {1, 4, 8, 64, 4096} <= sizes


def test_the_tile_that_had_a_vector_of_seven():
    a, b = parse("((_8,_8),(_8,_8)):((_8,_512),(_1,_64))"), parse("(_64,_64):(_64,_1)")
    assert str(max_common_layout(a, b)) == "_8:_64"


def test_common_layouts_and_right_inverses_of_kernel_sized_pairs():
    for a, b in pairs(14, 250):
        places = oracle.image(*b)
        images = oracle.at(np.arange(len(places)), *a), places
        r = max_common_layout(made(a), made(b))
        assert is_common(r, *images), (a, b, r)
        assert tla.size(r) == oracle.largest_inverse(*images), (a, b, r)
        r = tla.right_inverse(made(b))
        assert is_common(r, places), (b, r)
        assert tla.size(r) == oracle.largest_inverse(places), (b, r)


@pytest.mark.parametrize("n", [3, 5, 7])
def test_nothing_common_depends_on_what_a_dynamic_integer_holds(n):
    """The same static answer, and the one of CuTe, for every value."""
    for text in ("(_2,{},_8):(_1,_2,_4)", "(_2,{}):(_1,_4)", "(_2,_2,_8):(_1,{},_4)"):
        answers = {str(max_common_layout(parse(text.format(k)), parse("_8:_1"))) for k in (1, 2, n)}
        assert answers == {"_2:_1"}
        answers = {str(max_common_layout(parse("_8:_1"), parse(text.format(k)))) for k in (1, 2, n)}
        assert answers == {"_2:_1"}
    a = parse(f"(_4,_8):({n},_1)")
    assert str(max_common_layout(a, parse("(_4,_8):(_8,_1)"))) == "_8:_4"
    assert str(max_common_layout(parse("(_4,_8):(_8,_1)"), a)) == "_8:_4"
    assert str(max_common_layout(a, a)) == "_8:_4"
    assert str(max_common_layout(parse(f"(_8,{n}):(_1,_8)"), parse("(_8,_4):(_1,_8)"))) == "_32:_1"  # a goes on along its last mode


SWIZZLES = [(3, 4, 3), (3, 3, 3), (2, 4, 3), (1, 5, 2), (3, 4, 4), (2, 0, 5), (2, 3, -4), (1, 0, -2)]


def swizzled(bits, base, shift, offsets):
    """The definition, of an array: the bits that are read xored into those that change."""
    mask = (1 << bits) - 1
    if shift >= 0:
        return offsets ^ ((offsets & mask << base + shift) >> shift)
    return offsets ^ ((offsets & mask << base) << -shift)


def test_common_layouts_with_swizzles():
    """As large as the best layout by brute force, of offsets below 2**base: more do not stay together at every place."""
    rng = random.Random(5)
    for a, b in pairs(6, 60, 12):
        numbers = rng.choice(SWIZZLES)
        places = oracle.image(*b)
        inner = oracle.at(np.arange(len(places)), *a)
        if inner.min() < 0:
            continue
        s = tla.Swizzle[numbers]()
        composed = tla.ComposedLayout(s, tla._0, made(a))
        r = max_common_layout(composed, made(b))
        images = swizzled(*numbers, inner), places
        assert is_common(r, *images), (numbers, a, b, r)
        together = [np.where(x < 1 << numbers[1], x, -1) for x in images]
        assert tla.size(r) == oracle.largest_inverse(*together), (numbers, a, b, r)
        assert str(max_common_layout(made(b), composed)) == str(r) or oracle.size(a[0]) != oracle.size(b[0])


def test_the_swizzle_that_kept_fourteen_of_sixteen():
    a = parse("Sw<3,4,4> o _0 o ((_2,_7,_2)):((_1,_2,_14))")
    assert str(max_common_layout(a, parse("_28:_1"))) == "_16:_1"
    assert str(max_common_layout(parse("Sw<2,5,2> o _0 o ((_2,_7,_5)):((_1,_2,_14))"), parse("(_14,_5):(_1,_14)"))) == "_32:_1"
    assert str(max_common_layout(parse("Sw<2,4,2> o _0 o (_6,_8):(_8,_1)"), parse("(_6,_8):(_8,_1)"))) == "(_8,_2):(_6,_1)"
    assert str(max_common_layout(parse("Sw<0,4,2> o _0 o (_6,_8):(_8,_1)"), parse("(_6,_8):(_8,_1)"))) == "(_8,_6):(_6,_1)"
