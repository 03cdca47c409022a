"""Strides along several modes at once, and sums of layouts of coordinates: beside the definition in tuples
of plain integers."""

import copy
import itertools
import pickle
import random

import numpy as np
import pytest

import tla
from tla import E, Int, LeafTypeError, RankError, TlaError, Unproven, composition, layout_add, make_layout, parse

from night import amount

AXES = 3


def value(shape, steps, index):
    """The coordinate at an index: the first mode goes fastest, each steps by a tuple of AXES integers."""
    total = [0] * AXES
    for n, step in zip(shape, steps):
        index, c = divmod(index, n)
        total = [t + c * s for t, s in zip(total, step)]
    return tuple(total)


def layout_of_steps(shape, steps):
    strides = [sum((Int[s]() * E[k] for k, s in enumerate(step)), 0) for step in steps]
    return tla.Layout(tuple(Int[n]() for n in shape), tuple(s if s != 0 else Int[0]() for s in strides))


def padded(x):
    """A coordinate of ours, a tuple or one element, with all axes."""
    if isinstance(x, tla.ScaledBasis):
        modes = [0] * x.path[0] + [int(x.value)]
    else:
        modes = [int(n) for n in x] if isinstance(x, tuple) else []
        assert modes or x == 0
    return tuple(modes + [0] * (AXES - len(modes)))


def random_layout(rng, size=None):
    shape = [rng.choice((1, 2, 3, 4)) for _ in range(rng.randrange(1, 4))] if size is None else rng.choice(size)
    return shape, [tuple(rng.choice((0, 0, 1, 2, 3)) for _ in range(AXES)) for _ in shape]


def test_values():
    rng = random.Random(2)
    for _ in range(150):
        shape, steps = random_layout(rng)
        a = layout_of_steps(shape, steps)
        count = int(np.prod(shape))
        assert [padded(a(i)) for i in range(count)] == [value(shape, steps, i) for i in range(count)]
        assert parse(str(a)) == a == pickle.loads(pickle.dumps(a)) == copy.deepcopy(a)
        merged = tla.coalesce(a)
        assert [padded(merged(i)) for i in range(count)] == [value(shape, steps, i) for i in range(count)]
        assert tla.is_injective(a) == (len({value(shape, steps, i) for i in range(count)}) == count)


def test_composed_with_all_that_takes_coordinates():
    """A o B where B goes along several modes of A at once, A of offsets or of coordinates: A(B(c)), or refused."""
    rng, found, count = random.Random(3), 0, amount(100, 400)
    for _ in range(count):
        extents = [[rng.choice((1, 2, 3, 4)) for _ in range(rng.randrange(1, 3))] for _ in range(AXES)]
        strides = [[rng.choice((0, 1, 2, 5, 12)) for _ in mode] for mode in extents]
        a = tla.Layout(*(tuple(tuple(Int[n]() for n in mode) for mode in x) for x in (extents, strides)))
        shape, steps = random_layout(rng)
        b = layout_of_steps(shape, steps)

        def offset(place, extents=extents, strides=strides):
            total = 0
            for c, mode, step in zip(place, extents, strides):
                for n, d in zip(mode[:-1], step):
                    c, rest = divmod(c, n)
                    total += rest * d
                total += c * step[-1]
            return total

        count = int(np.prod(shape))
        wanted = [offset(value(shape, steps, i)) for i in range(count)]
        assert [tla.compose(a, b)(i) for i in range(count)] == wanted
        try:
            r = composition(a, b)
        except TlaError:
            continue
        found += 1
        assert [r(i) for i in range(count)] == wanted, (a, b, r)
        assert tla.compatible(b.shape, r.shape)
    assert found > count / 4


def test_pycutes_diagonals():
    assert str(composition(parse("(_4,_4):(_3,_42)"), make_layout(Int[4](), E[0] + E[1]))) == "_4:_45"
    assert str(composition(parse("(_4,_8):(_3,_42)"), make_layout(Int[4](), E[0] + Int[2]() * E[1]))) == "_4:_87"
    a = tla.MakeIdentityLayout(tuple(Int[n]() for n in (3, 5, 7, 11)))
    assert str(composition(a, make_layout(Int[3](), Int[4]() * E[2] + Int[2]() * E[3]))) == "_3:_4@2+_2@3"
    skew = parse("(_4,_4):(_1@0+_1@1,_3@0+_1@1)")
    r, b = composition(skew, parse("(_4,_2):(_2,_1)")), parse("(_4,_2):(_2,_1)")
    assert [r(i) for i in range(8)] == [skew(b(i)) for i in range(8)]


def test_sums():
    """R(i) == A(i) + B(i), of two layouts of 12 or 16 coordinates of any shapes, of offsets and coordinates."""
    rng, found = random.Random(4), 0
    for _ in range(400):
        shapes = rng.choice(([(12,), (4, 3), (3, 4), (2, 6), (2, 2, 3)], [(16,), (4, 4), (2, 8), (2, 4, 2)]))
        (s, p), (t, q) = random_layout(rng, shapes), random_layout(rng, shapes)
        a, b = layout_of_steps(s, p), layout_of_steps(t, q)
        count = int(np.prod(s))
        try:
            r = layout_add(a, b)
        except TlaError:
            continue
        found += 1
        assert r == layout_add(b, a)
        for i in range(count):
            assert padded(r(i)) == tuple(x + y for x, y in zip(value(s, p, i), value(t, q, i)))
    assert found > 200


@pytest.mark.parametrize("make", [lambda x: x, tla.dynamic])
def test_the_identity_of_sums(make):
    for text in ("_12:_1@0", "(_4,_3):(_1@0,_1@1)", "(_2,_6):(_1@1,_2@0)", "(_4,_3):(_1@0+_2@1,_1@2)"):
        a = make(parse(text))
        zero = tla.Layout(a.shape, tuple(Int[0]() for _ in a.shape) if isinstance(a.shape, tuple) else Int[0]())
        assert layout_add(a, zero) == tla.coalesce(a)


def test_arrays_symbols_and_dynamic_strides():
    a = make_layout((4, 3), (E[0] + 2 * E[1], E[1]))
    assert str(a) == "(4,3):(_1@0+2@1,_1@1)"
    assert str(a(2, 1)) == "(2,5)"
    i = np.arange(4)
    assert all(np.array_equal(x, y) for x, y in zip(a(i, 1), (i, 2 * i + 1)))
    assert str(a(tla.index("i", below=4), 1)) == "(i,2*i+1)"
    assert str(tla.static(a)) == "(_4,_3):(_1@0+_2@1,_1@1)"
    assert tla.get[0](a)(3) == (3, 6)
    tile = tla.MakeTensor(np.arange(12).reshape(4, 3), parse("(_4,_3):(_3,_1)"))
    assert [int(composition(tile, make_layout(Int[3](), E[0] + E[1]))[k]) for k in range(3)] == [0, 4, 8]
    M = tla.dim("M")
    assert str(parse("(4,3):(M@0+_1@1,_1@1)", symbols=M)(2, 0)) == "(2*M,2)"
    assert make_layout(4, E[0] + E[1]) == make_layout(4, E[1] + E[0])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: tla.Layout((4, 3), (1, 2, 3)), RankError),
        (lambda: tla.Layout(4, (1, 1)), RankError),
        (lambda: tla.Layout((4, 3), E[0] + E[1] + E[2]), RankError),
        (lambda: tla.right_inverse(parse("_4:_1@0+_1@1")), LeafTypeError),
        (lambda: tla.complement(parse("_4:_1@0+_1@1"), 16), LeafTypeError),
        (lambda: tla.offsets(parse("_4:_1@0+_1@1")), LeafTypeError),
        (lambda: layout_add(parse("_4:_1@0"), parse("_4:_1")), RankError),
        (lambda: composition(parse("(4,4):(4,1)"), parse("4:1@0+1@1")), Unproven),
        (lambda: composition(parse("(_4,_4):(_4,_1)"), parse("_4:_1@0+_-1@1")), tla.DivisibilityError),
        (lambda: composition(parse("(_4,_4):(_4,_1)"), parse("_4:_1@0+_1@2")), RankError),
        (lambda: composition(parse("(_4,_4):(_4,_1)"), parse("_4:_1@0+_1@1@1")), RankError),
        (lambda: parse("4:1@0+1"), tla.ParseError),
        (lambda: parse("4:1@0+"), tla.ParseError),
        (lambda: parse("4:1@0+1@1@0"), RankError),
        (lambda: tla.codegen.source(parse("_4:_1@0+_1@1"), "cute_cpp"), LeafTypeError),
    ],
)
def test_refused(make, error):
    with pytest.raises(error):
        make()


def test_what_the_error_says_answers():
    a, b = parse("(4,4):(4,1)"), parse("4:1@0+1@1")
    with pytest.raises(Unproven, match=r"composition\(static\(a\), static\(b\)\)"):
        composition(a, b)
    assert str(composition(tla.static(a), tla.static(b))) == "_4:_5"


def test_every_diagonal_of_small_matrices():
    for m, n, p, q in itertools.product((2, 3, 4), (2, 3, 4), (0, 1, 2), (0, 1, 2)):
        a = parse(f"(_{m},_{n}):(_{n},_1)")
        b = tla.Layout(Int[3](), Int[p]() * E[0] + Int[q]() * E[1] if p or q else Int[0]())
        assert [composition(a, b)(k) for k in range(3)] == [k * p * n + k * q for k in range(3)]
