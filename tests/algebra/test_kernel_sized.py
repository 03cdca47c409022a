"""The laws on kernel-sized layouts: blocked, tiled, swizzled, padded, permuted tiles of 2**10 to 2**17 elements, in
numpy; and on each side of every limit at which a method changes."""

import functools
import itertools
import math
import random
import re

import numpy as np
import pytest

import tla
from tla import Int, TlaError, max_common_layout, parse

import oracle
from corpus import kernel_sized, made, rearranged, static
from laws import plain


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
    for rows, cols, block in (
        (64, 64, (8, 8)),
        (32, 64, (4, 16)),
        (48, 60, (4, 3)),
        (112, 24, (7, 8)),
        (16, 63, (8, 9)),
    ):
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
    assert (
        str(max_common_layout(parse(f"(_8,{n}):(_1,_8)"), parse("(_8,_4):(_1,_8)"))) == "_32:_1"
    )  # a goes on along its last mode


SWIZZLES = [(3, 4, 3), (3, 3, 3), (2, 4, 3), (1, 5, 2), (3, 4, 4), (2, 0, 5), (2, 3, -4), (1, 0, -2)]


def swizzled(bits, base, shift, offsets):
    """The definition, of an array: the bits that are read xored into those that change."""
    mask = (1 << bits) - 1
    if shift >= 0:
        return offsets ^ ((offsets & mask << base + shift) >> shift)
    return offsets ^ ((offsets & mask << base) << -shift)


def test_common_layouts_with_swizzles():
    """As large as the best layout by brute force, of offsets below 2**base: more do not stay together
    at every place."""
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
    assert (
        str(max_common_layout(parse("Sw<2,5,2> o _0 o ((_2,_7,_5)):((_1,_2,_14))"), parse("(_14,_5):(_1,_14)")))
        == "_32:_1"
    )
    assert (
        str(max_common_layout(parse("Sw<2,4,2> o _0 o (_6,_8):(_8,_1)"), parse("(_6,_8):(_8,_1)"))) == "(_8,_2):(_6,_1)"
    )
    assert (
        str(max_common_layout(parse("Sw<0,4,2> o _0 o (_6,_8):(_8,_1)"), parse("(_6,_8):(_8,_1)"))) == "(_8,_6):(_6,_1)"
    )


# ------------------------------------------------------------------------------------------- every law, in numpy


def ones(seed, n, high=13, **more):
    rng = random.Random(seed)
    return [kernel_sized(rng, 10, high, **more) for _ in range(n)]


def answered(f, *arguments):
    """The answer, or None where it is refused."""
    try:
        return f(*arguments)
    except (tla.DivisibilityError, tla.InjectivityError):
        return None


def test_coalesce_and_with_shape():
    for pair in ones(1, 150):
        a = made(pair)
        r = tla.coalesce(a)
        assert np.array_equal(image(r), oracle.image(*pair))
        strides, extents = ([*oracle.leaves(x)] for x in (plain(r)[1], plain(r)[0]))
        assert not any(s * d == e for s, d, e in zip(extents, strides, strides[1:])), (a, r)
        assert np.array_equal(image(tla.coalesce(a, (tla._1,) * int(tla.rank(a)))), oracle.image(*pair))
        assert np.array_equal(image(tla.filter(a)), np.unique(oracle.image(*pair))) or not tla.is_ordered(tla.filter(a))
        n = int(tla.size(a))
        if (r := answered(tla.with_shape, a, static((n // 16, 16)))) is not None:
            assert np.array_equal(image(r), oracle.image(*pair)[: n // 16 * 16])


def test_compositions():
    found = 0
    for a, b in pairs(2, 150):
        if max(x.max() for x in (oracle.image(*b),)) >= 2**40:
            continue
        r = answered(tla.composition, made(a), made(b))
        if r is not None:
            assert np.array_equal(image(r), oracle.at(oracle.image(*b), *a)), (a, b, r)
            assert tla.compatible(made(b), r) is True
            found += 1
        else:
            assert isinstance(tla.compose(made(a), made(b)), tla.ComposedLayout)
    assert found > 90


def test_compositions_with_tilers():
    for pair in ones(3, 100):
        a = made(pair)
        tiler = tuple(Int[max(1, int(n) // 4)]() for n in tla.product_each(a.shape)) if tla.rank(a) > 1 else Int[64]()
        r = answered(tla.composition, a, tiler)
        if r is not None and isinstance(tiler, tuple):
            parts = [oracle.at(np.arange(int(t)), *m) for t, m in zip(tiler, map(plain, a))]
            assert np.array_equal(image(r), functools.reduce(lambda low, high: (high[:, None] + low).ravel(), parts))


def test_complements():
    for pair in ones(4, 40, high=12, broadcasts=False):
        a = made(pair)
        inside = oracle.image(*pair)
        for n in {int(inside.max()) + 1, 2 * len(inside), len(inside) // 2, 3 * len(inside) + 5}:
            r = answered(tla.complement, a, Int[n]())
            if r is None:
                continue
            both = (image(r)[:, None] + inside).ravel()
            assert len(np.unique(both)) == len(both), (a, n, r)
            assert tla.is_ordered(r) is True
            modes = sorted((d, s) for s, d in zip(oracle.leaves(pair[0]), oracle.leaves(pair[1])) if s > 1)
            if all(e % (d * s) == 0 for (d, s), (e, _s) in itertools.pairwise(modes)):
                assert np.isin(np.arange(n), both).all(), (a, n, r)
            else:
                first = next(e // (d * s) * d * s for (d, s), (e, _s) in itertools.pairwise(modes) if e % (d * s))
                assert np.isin(np.arange(min(n, first)), both).all()


def test_divides():
    tilers = [static(x) for x in (64, 128, (8, 16), (32, 4), (16, 8, 2))] + [
        parse("(_8,_4):(_1,_32)"),
        parse("(_16,_2):(_2,_256)"),
    ]
    found = 0
    for k, pair in enumerate(ones(5, 150)):
        a, tiler = made(pair), tilers[k % len(tilers)]
        if isinstance(tiler, tuple) and len(tiler) > tla.rank(a):
            continue
        r = answered(tla.logical_divide, a, tiler)
        if r is None:
            continue
        found += 1
        every = oracle.image(*pair)
        assert set(every.tolist()) <= set(image(r).tolist()), (a, tiler, r)
        if tla.evenly_divides(a.shape, tiler):
            assert np.array_equal(np.sort(image(r)), np.sort(every)), (a, tiler, r)
        zipped = tla.zipped_divide(a, tiler)
        tile = oracle.size(plain(zipped)[0][0])
        assert tile == (int(tla.size(tiler)) if not isinstance(tiler, tuple) else int(tla.product(tiler)))
        for f in (tla.tiled_divide, tla.flat_divide):
            assert np.array_equal(image(f(a, tiler)), image(zipped))
        assert np.array_equal(np.sort(image(zipped)), np.sort(image(r)))
        expected = image(tla.composition(a, tiler))
        assert np.array_equal(image(zipped[0]), expected), (a, tiler, zipped)
    assert found > 90


def test_products():
    found = 0
    for k, pair in enumerate(ones(6, 60, high=11, broadcasts=False)):
        a = made(pair)
        b = [
            parse(x)
            for x in ("(_2,_4):(_1,_2)", "(_4,_3):(_3,_1)", "_8:_1", "(_2,_2,_2):(_4,_2,_1)", "(_4,_2):(_2,_16)")
        ][k % 5]
        r = answered(tla.logical_product, a, b)
        if r is None:
            continue
        found += 1
        block, copies = oracle.image(*pair), image(r[1])
        assert np.array_equal(image(r), (copies[:, None] + block).ravel())
        assert len(np.unique(image(r))) == tla.size(r), (a, b, r)
        order = np.argsort(image(b), kind="stable")
        assert np.array_equal(copies[order], np.sort(copies)), (a, b, r)
        for f in (tla.zipped_product, tla.tiled_product, tla.flat_product):
            assert np.array_equal(image(f(a, b)), image(r))
        blocked, raked = tla.blocked_product(a, b), tla.raked_product(a, b)
        for made_of in (blocked, raked):
            assert np.array_equal(np.sort(image(made_of)), np.sort(image(r)))
            assert (
                tla.product_each(made_of.shape)
                == tuple(
                    int(x) * int(y)
                    for x, y in itertools.zip_longest(tla.product_each(a.shape), tla.product_each(b.shape), fillvalue=1)
                )
                or tla.rank(a) == 1
            )
    assert found > 30


def test_tiles_to_shapes():
    for block, shape in [
        ("(_8,_64):(_64,_1)", (128, 256)),
        ("((_2,_4),_16):((_1,_32),_2)", (64, 64)),
        ("(_12,_5):(_5,_1)", (48, 35)),
    ]:
        for order in (tla.LayoutLeft, tla.LayoutRight, static((1, 0))):
            r = tla.tile_to_shape(parse(block), static(shape), order)
            assert tla.product_each(r.shape) == shape
            assert np.array_equal(np.sort(image(r)), np.arange(shape[0] * shape[1]))
            tile = tla.composition(r, tla.product_each(parse(block).shape))
            assert np.array_equal(image(tile), image(parse(block)))


def test_left_inverses():
    for pair in ones(7, 200, broadcasts=False):
        r = answered(tla.left_inverse, made(pair))
        if r is not None:
            assert np.array_equal(oracle.at(oracle.image(*pair), *plain(r)), np.arange(oracle.size(pair[0]))), (pair, r)
        modes = sorted((d, s) for s, d in zip(oracle.leaves(pair[0]), oracle.leaves(pair[1])) if s > 1)
        if all(e % d == 0 and e // d >= s for (d, s), (e, _s) in itertools.pairwise(modes)):
            assert r is not None, pair


def test_questions():
    for pair in [
        *ones(8, 60, high=12),
        *((s, tuple(rng_strides(k, len(s)))) for k, s in enumerate([(64, 32, 8), (48, 5, 16), (16, 16, 16)] * 6)),
    ]:
        a, every = made(pair), oracle.image(*pair)
        once = len(np.unique(every)) == len(every)
        assert tla.is_injective(a) is once, pair
        if once is False:
            why = tla.is_injective.why_not(a).what
            assert "share the offset" in why or "coordinates have" in why
        for n in (1, 8, len(every), int(every.max()) + 1):
            assert tla.is_surjective(a, n) is bool(np.isin(np.arange(n), every).all()), (pair, n)
        assert tla.is_bijective(a) is bool(np.array_equal(np.sort(every), np.arange(len(every))))
        kept = np.unique(every)
        assert tla.is_compact(a) is bool(
            len(kept) == math.prod(s for s, d in zip(oracle.leaves(pair[0]), oracle.leaves(pair[1])) if d)
            and np.array_equal(kept, np.arange(len(kept)))
        )
        assert tla.cosize(a) == every.max() + 1 - min(0, every.min())
        n = int(tla.max_alignment(a))
        if every.min() >= 0:
            starts = np.unique(every // n * n)
            assert len(kept) == len(starts) * n


def test_the_two_coordinates_that_share_an_offset_do():
    rng, seen = random.Random(182), 0
    for _k in range(600):
        shape = tuple(rng.choice((2, 2, 3, 5, 8, 40)) for _m in range(rng.choice((3, 4))))
        stride = tuple(rng.choice((1, 1, -1)) * rng.choice((2, 3, 5, 7, 11, 12, 13, 30, 65, 131)) for _m in shape)
        every = oracle.image(shape, stride)
        a = tla.Layout(shape, stride)
        assert tla.is_injective(a) is (len(np.unique(every)) == len(every)), a
        if (why := tla.is_injective.why_not(a)) is not None and "the coordinates" in why.what:
            seen += 1
            found = re.search(r"the coordinates (\S+) and (\S+) share the offset (-?\d+)$", why.what)
            one, other = ([int(c) for c in x.strip("()").split(",")] for x in found.groups()[:2])
            assert one != other
            assert all(0 <= c < s for x in (one, other) for c, s in zip(x, shape)), why
            assert [sum(c * d for c, d in zip(x, stride)) for x in (one, other)] == [int(found[3])] * 2, why
    assert seen > 200


def rng_strides(seed, n):
    return [random.Random(100 * seed + k).choice((1, 2, 3, 5, 7, 11, 33, 65, 130, 513, -1, -64)) for k in range(n)]


def test_null_spaces():
    for pair in ones(9, 100):
        r = answered(tla.nullspace, made(pair))
        zeros = np.flatnonzero(oracle.image(*pair) == 0)
        assert r is not None
        assert np.array_equal(np.sort(image(r)), zeros), (pair, r)


def test_widths():
    for pair in ones(10, 40, high=12):
        a, every = made(pair), oracle.image(*pair)
        for n in (2, 4, 8, 3):
            narrow = answered(tla.downcast[n], a)
            if narrow is not None:
                assert np.array_equal(np.unique(image(narrow)), np.unique(every[:, None] * n + np.arange(n)))
                assert tla.size(narrow) == n * tla.size(a)
                assert answered(tla.upcast[n], narrow) is None or np.array_equal(image(tla.upcast[n](narrow)), every)
            wide = answered(tla.upcast[n], a)
            if wide is not None:
                assert np.array_equal(np.unique(image(wide)), np.unique(every // n)), (pair, n, wide)


def test_same_maps():
    rng = random.Random(11)
    for pair in ones(12, 100):
        a, other = made(pair), rearranged(rng, pair)
        assert tla.same_map(a, a) is True
        flat = tla.coalesce(a, (tla._1,) * int(tla.rank(a)))
        assert tla.same_map(a, flat) is True
        if oracle.size(other[0]) == oracle.size(pair[0]) and tla.product_each(made(other).shape) == tla.product_each(
            a.shape
        ):
            assert tla.same_map(a, made(other)) is bool(np.array_equal(oracle.image(*pair), oracle.image(*other)))


# ------------------------------------------------------------------------------------------------------ swizzles


def swizzled_ones(seed, n, high=12):
    rng = random.Random(seed)
    for pair in ones(seed, n, high, broadcasts=False):
        numbers = rng.choice(SWIZZLES)
        yield (
            numbers,
            tla.ComposedLayout(tla.Swizzle[numbers](), tla._0, made(pair)),
            swizzled(*numbers, oracle.image(*pair)),
        )


def values(x):
    return tla.offsets(x).ravel(order="F")


def test_swizzled_layouts_and_their_inverses():
    for _numbers, a, every in swizzled_ones(13, 30, high=11):
        assert np.array_equal(values(a), every)
        r = tla.right_inverse(a)
        places = values(r)
        assert np.array_equal(every[places], np.arange(len(places))), (a, r)
        if np.array_equal(np.sort(every), np.arange(len(every))):
            assert len(places) == len(every)
        r = answered(tla.left_inverse, a)
        if r is not None:
            assert [int(r(int(x))) for x in every[::101]] == [*range(0, len(every), 101)]
        assert tla.is_injective(a) is True
        n = int(tla.cosize(a))
        assert every.max() < n
        assert tla.is_surjective(a) is (len(every) == n)


def test_slices_of_swizzled_layouts():
    """Each is the composed layout there, whichever form it takes."""
    for _numbers, a, _every in swizzled_ones(15, 30):
        r = int(tla.rank(a))
        grid = tla.offsets(a)
        for k in range(r):
            n = grid.shape[k]
            for c in sorted({0, 1, n // 2, n - 1}):
                for at in (c, Int[c]()):
                    coord = tuple(at if i == k else tla._ for i in range(r))
                    found = answered(tla.slice_and_offset, coord, a)
                    if found is not None:
                        rest, offset = found
                        expected = np.take(grid, c, axis=k).ravel(order="F")
                        assert np.array_equal(values(rest) + int(offset), expected), (a, coord, rest)


def test_recasts_of_swizzled_layouts():
    for _numbers, a, every in swizzled_ones(16, 20):
        for n in (2, 4):
            narrow = answered(tla.downcast[n], a)
            if narrow is not None:
                assert np.array_equal(np.unique(values(narrow)), np.unique(every[:, None] * n + np.arange(n)))
            wide = answered(tla.upcast[n], a)
            if wide is not None:
                assert np.array_equal(np.unique(values(wide)), np.unique(every // n)), (a, n, wide)


def test_divides_of_swizzled_layouts():
    for numbers, a, _every in swizzled_ones(17, 40):
        r = answered(tla.zipped_divide, a, tla._64)
        if r is not None:
            assert np.array_equal(
                values(r), values(tla.zipped_divide(a.inner, tla._64)) * 0 + swizzled(*numbers, values(r.inner))
            )


# -------------------------------------------------------------------------------- on each side of each limit


@pytest.mark.parametrize("rows", [1023, 1024, 1025, 512, 2048])
def test_inverses_on_both_sides_of_the_search(rows):
    """Up to 1,024 coordinates every choice of digits is tried, past it those that do not carry."""
    for pair in [
        ((rows, 3), (1, rows // 2)),
        ((rows // 2, 2), (1, rows // 4)),
        ((2, rows // 2, 2), (0, 1, rows // 4)),
        ((rows,), (1,)),
    ]:
        every = oracle.image(*pair)
        r = tla.right_inverse(made(pair))
        assert np.array_equal(every[image(r)], np.arange(int(tla.size(r))))
        if rows % 2 == 0:  # of odd ones there are too many choices for brute force
            assert tla.size(r) == oracle.largest_inverse(every), (pair, r)
        r = tla.max_common_layout(made(pair), made(pair))
        assert np.array_equal(every[image(r)], np.arange(int(tla.size(r))))


@pytest.mark.parametrize("n", [252, 255, 256, 257, 300])
def test_left_inverses_on_both_sides_of_spans_of_256(n):
    """Strides that do not divide each other: refused past it, never wrong."""
    pair = (2, n - 1), (n - 1, 1) if n % 2 else (n, 1)
    for shape, stride in (pair, ((2, 2), (n - 3, n - 2)), ((2, 3), (2, 3))):
        every = oracle.image(shape, stride)
        if len(np.unique(every)) < len(every):
            continue
        r = answered(tla.left_inverse, made((shape, stride)))
        if r is not None:
            assert np.array_equal(oracle.at(every, *plain(r)), np.arange(len(every)))


@pytest.mark.parametrize("high", [15, 16, 17])
def test_swizzled_slices_and_inverses_on_both_sides_of_65536(high):
    """A tile of 2**high elements: past 65,536 the bits prove what was gone through before, or it is refused."""
    columns = 1 << (high - 8)
    own = parse(
        f"Sw<3,4,3> o _0 o (_16,_8,_{1 << (high - 7)},_2):(_1,_128,_1024,_16)"
    )  # each slice of the last mode has its own bits
    rest, offset = tla.slice_and_offset((tla._, tla._, tla._, Int[1]()), own)
    assert isinstance(rest, tla.Layout)
    assert np.array_equal(image(rest) + int(offset), tla.offsets(own)[..., 1].ravel(order="F"))
    for numbers in ((3, 4, 3), (3, 0, 8), (1, 2, -3)):
        inner = parse(f"(_256,_{columns}):(_{columns},_1)")
        a = tla.ComposedLayout(tla.Swizzle[numbers](), tla._0, inner)
        every = swizzled(*numbers, image(inner)).reshape(columns, 256)
        for coord, expected in [
            ((3, tla._), every[:, 3]),
            ((tla._, 5), every[5]),
            ((Int[200](), tla._), every[:, 200]),
        ]:
            found = answered(tla.slice_and_offset, coord, a)
            if found is not None:
                assert np.array_equal(values(found[0]) + int(found[1]), expected), (numbers, coord)
        deep = parse(f"((_2,_128),_{columns},_2):((_{columns},_{2 * columns}),_1,_{256 * columns})")
        b = tla.ComposedLayout(tla.Swizzle[numbers](), tla._0, deep)
        whole = tla.offsets(b)
        for k in (0, 1):
            coord = (tla._, tla._, k)
            for at in (coord, (tla._, tla._, Int[k]())):
                rest, offset = tla.slice_and_offset(at, b)
                assert np.array_equal(tla.offsets(rest).ravel() + int(offset), whole[..., k].ravel()), (
                    numbers,
                    at,
                    rest,
                )
        r = tla.right_inverse(a)
        assert np.array_equal(every.ravel()[values(r)], np.arange(1 << high))
        found = tla.max_common_layout(a, inner)
        assert tla.size(found) == 1 << numbers[1]


@pytest.mark.parametrize("columns", [255, 256, 257])
def test_questions_on_both_sides_of_65536(columns):
    """Three strides that interleave, and both signs."""
    for strides in ((1, 300, 7), (3, 5 * 256, 7), (2, 771, 3), (1, 256, -65536), (-1, 256, 5)):
        pair = (256, columns, 2), strides
        every = oracle.image(*pair)
        a = made(pair)
        assert tla.is_injective(a) is (len(np.unique(every)) == len(every)), pair
        for n in (1, 256, 1000):
            assert tla.is_surjective(a, n) is bool(np.isin(np.arange(n), every).all()), (pair, n)


@pytest.mark.parametrize("n", [128, 129])
def test_null_spaces_of_both_signs_on_both_sides_of_65536(n):
    """Coordinates of each sign are gone through, not all of both; so are zeros: up to 65,536 of each."""
    assert str(tla.nullspace(made(((512, n), (1, -512))))) == "_1:_0"
    for pair in (((512, n), (1, -1)), ((512, n, 2), (2, -4, 3)), ((128, n, 3), (3, -3, 256))):
        image = oracle.image(*pair)
        assert np.array_equal(np.sort(oracle.image(*plain(tla.nullspace(made(pair))))), np.flatnonzero(image == 0)), (
            pair
        )
    one_sign, many_zeros = ((512, n, 2), (1, 512, -(2**20))), ((256, 256, 256, 256), (1, 1, -1, -1))
    for pair in (many_zeros, *([one_sign] if n > 128 else ())):
        with pytest.raises(tla.Unproven, match="65,536"):
            tla.nullspace(made(pair))
    assert n > 128 or str(tla.nullspace(made(one_sign))) == "_1:_0"


@pytest.mark.parametrize("n", [128, 129])
def test_left_inverses_of_swizzles_on_both_sides_of_65536(n):
    for swizzle, offset in (("Sw<3,4,3>", 0), ("Sw<2,0,-5>", 8), ("Sw<3,0,14>", 4096)):
        for inner in (f"(_512,_{n}):(_{n + 1},_1)", f"(512,_{n}):(_{2 * n},_2)"):
            a = parse(f"{swizzle} o _{offset} o {inner}")
            places = np.arange(512 * n)
            found = tla.left_inverse(a)
            assert np.array_equal(found(a(places)), places), a
            assert found.is_static is inner.startswith("(_")
    for rows in (2 * n, 256):  # as many places as bits of the largest offset say, and no more
        a = parse(f"Sw<3,4,3> o _0 o (_512,_{rows}):(_{rows},_1)")
        assert tla.size(tla.left_inverse(a)) == 1 << (512 * rows - 1).bit_length()


def test_carries_that_cancel_for_ever_are_tried_65536_times():
    """Of (2,3,n):(1,10,22) every third is 11 further on: each carry of the 2 is one of the 3, which takes it back."""
    a, b = parse(f"(_2,_3,_{2**41}):(_1,_10,_22)"), parse(f"_{2**40}:_3")
    assert str(tla.composition(a, parse("_2048:_3"))) == "_2048:_11"
    with pytest.raises(tla.DivisibilityError):
        tla.composition(a, b)
    assert tla.compose(a, b)(10**9) == 11 * 10**9


@pytest.mark.parametrize("n", [255, 256, 257])
def test_sums_and_compositions_whose_carries_cancel_on_both_sides_of_65536(n):
    """(2,2,1):(-3,6,0) goes on as 0: that the carries cancel is tried on up to 65,536 coordinates; past it refused."""
    a, b = ((2, 2, 1), (-3, 6, 0)), ((2, 6, n, 11), (4, 11, 44, 44 * n))
    r = answered(tla.composition, made(a), made(b))
    if r is not None:
        assert np.array_equal(image(r), oracle.at(oracle.image(*b), *a))
    assert answered(tla.composition, made(a), made(((2, 6), (4, 11)))) is not None


# ------------------------------------------------------------------------------------------------ widths, to the edge


@pytest.mark.parametrize("f", [tla.downcast, tla.upcast])
def test_no_width_of_nothing(f):
    for n in (0, -2):
        with pytest.raises(tla.RangeError, match="1 or more"):
            f[n](parse("_8:_1"))
    assert str(f[1](parse("_8:_1"))) == "_8:_1"


def test_modes_that_step_inside_of_one_wide_element():
    """Together they may step n - 1, and no further; a mode of extent 0 steps nowhere."""
    assert str(tla.upcast[4](parse("(_2,_2):(_1,_2)"))) == "(_1,_1):(_1,_1)"
    for text in ("(_3,_2):(_1,_2)", "(_4,_2):(_1,_2)", "(_4,_2):(_1,_1)"):
        with pytest.raises(tla.DivisibilityError, match="two modes"):
            tla.upcast[4](parse(text))
    assert str(tla.upcast[4](parse("(_0,_4):(_1,_1)"))) == "(_0,_1):(_1,_1)"
    assert str(tla.upcast[4](parse("(_4,_0):(_1,_1)"))) == "(_1,_0):(_1,_1)"


def test_swizzles_to_the_edge():
    assert [str(tla.MakeSwizzle[y, z]()) for y, z in ((0, 0), (2, 1), (1, 2))] == [
        "Sw<0,0,0>",
        "Sw<1,0,1>",
        "Sw<1,0,-1>",
    ]
    for masks in ((0, 1), (1, 0), (-1, 1), (1, -1), (-1, -1), (3, 1), (5, 10), (1, 1)):
        with pytest.raises(tla.RangeError, match="two masks"):
            tla.MakeSwizzle[masks]
    assert tla.Swizzle[1, 30, 31]()(1 << 61) == 1 << 61 | 1 << 30
    with pytest.raises(tla.RangeError, match="62 bits"):
        tla.Swizzle[1, 30, 32]
    for dtype, numbers in itertools.product(
        (np.int8, np.uint8, np.int16, np.uint16), ((2, 0, 6), (1, 0, 7), (1, 0, 6), (3, 4, 7), (1, 7, -7))
    ):
        x = np.arange(100, dtype=dtype)
        try:
            found = tla.Swizzle[numbers]()(x)
        except TlaError:
            continue
        assert np.array_equal(found, swizzled(*numbers, np.arange(100))), (dtype, numbers)


def test_narrow_arrays_against_strides_that_leave_their_range():
    """Right in every type, or refused."""
    for dtype, stride in itertools.product(
        (np.int8, np.uint8, np.uint32, np.int64, np.uint64), (-1, 1, 2, 127, 128, 255, 256, -128)
    ):
        x = np.array([0, 1, 2, 100], dtype=dtype)
        for a in (tla.Layout(101, stride), parse(f"(_101):(_{stride})")):
            try:
                found = a(x)
            except TlaError:
                continue
            assert [int(v) for v in found] == [int(v) * stride for v in x], (dtype, stride)


def test_coordinates_with_arrays_are_no_shapes():
    for f in (tla.size, tla.product, lambda x: tla.Layout(x, (1, 1))):
        with pytest.raises(TlaError):
            f(tla.ArithmeticTuple(np.array([1, 2]), 3))
    with pytest.raises(TlaError):
        tla.MakeLayout(parse("_4:_1"), 5)
