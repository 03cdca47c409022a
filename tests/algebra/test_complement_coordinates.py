"""Complements, divides and products of layouts of coordinates: every coordinate of a box once, by enumeration."""

import itertools
import math
import random

import pytest

from tla import E, Int, Layout, complement, logical_divide, logical_product, make_layout, parse, size, zipped_divide
from tla.core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError

from night import amount


def chain(rng, gaps=(1, 1, 2, 3)):
    """Extents and strides along one mode, each stride a multiple of where the one before ends; and where
    the last ends."""
    modes, end = [], 1
    for _mode in range(rng.randint(0, 2)):
        d = end * rng.choice(gaps)
        n = rng.choice([2, 3, 4])
        modes.append((n, d))
        end = n * d
    return modes, end


def drawn(rng, gaps=(1, 1, 2, 3)):
    """A layout of coordinates as modes (extent, stride, coordinate's mode), and the box that its copies fill."""
    chains = [chain(rng, gaps) for _mode in range(rng.choice([1, 2, 3]))]
    modes = [(n, d, k) for k, (found, _end) in enumerate(chains) for n, d in found]
    rng.shuffle(modes)
    return modes or [(2, 1, 0)], [end for _modes, end in chains] if modes else [2]


def layout_of(modes):
    return make_layout(tuple(Int[n]() for n, _d, _k in modes), stride=tuple(Int[d]() * E[k] for _n, d, k in modes))


def coordinates(layout, rank):
    """The coordinates of a layout, by its strides alone."""
    found = []
    flat = [*zip(leaves(layout.shape), leaves(layout.stride))]
    for at in itertools.product(*(range(int(n)) for n, _d in flat)):
        place = [0] * rank
        for i, (_n, d) in zip(at, flat):
            if not isinstance(d, int) and getattr(d, "path", None) is not None:
                assert len(d.path) == 1
                place[d.path[0]] += i * int(d.value)
        found.append(tuple(place))
    return found


def leaves(x):
    return [y for part in x for y in leaves(part)] if isinstance(x, tuple) else [x]


def added(xs, ys):
    return [tuple(map(sum, zip(x, y))) for x in xs for y in ys]


@pytest.mark.parametrize("seed", range(amount(60, 2000)))
def test_layout_and_complement_fill_the_box(seed):
    rng = random.Random(seed)
    modes, ends = drawn(rng)
    layout, copies = layout_of(modes), [rng.choice([1, 2, 5]) for _mode in ends]
    box = [end * n for end, n in zip(ends, copies)]
    rest = complement(layout, tuple(Int[n]() for n in box))
    both = added(coordinates(layout, len(box)), coordinates(rest, len(box)))
    assert sorted(both) == [*itertools.product(*map(range, box))]
    near = complement(layout)
    used = [end if any(k == i for _n, _d, k in modes) else 1 for i, end in enumerate(ends)]
    both = added(coordinates(layout, len(box)), coordinates(near, len(box)))
    assert sorted(both) == [*itertools.product(*map(range, used))]


@pytest.mark.parametrize("seed", range(amount(40, 1000)))
def test_divides_keep_every_element(seed):
    rng = random.Random(seed)
    modes, ends = drawn(rng)
    box = [end * rng.choice([1, 2, 3]) for end in ends]
    a = make_layout(tuple(Int[n]() for n in box), stride=tuple(Int[rng.choice([1, 7, 100, 1000])]() for _n in box))
    tile, cut = layout_of(modes), logical_divide(a, layout_of(modes))
    strides = [int(d) for d in leaves(a.stride)]

    def offsets(places):
        return [sum(c * d for c, d in zip(place, strides)) for place in places]

    assert sorted(int(cut(i)) for i in range(int(size(cut)))) == sorted(offsets(itertools.product(*map(range, box))))
    assert sorted(int(cut[0](i)) for i in range(int(size(cut[0])))) == sorted(offsets(coordinates(tile, len(box))))
    assert [int(cut[0](i)) for i in range(int(size(tile)))] == offsets(
        [tuple(tile_at(tile, i, len(box))) for i in range(int(size(tile)))]
    )


def tile_at(layout, i, rank):
    """The coordinate of an index: the first mode is the fastest."""
    place = [0] * rank
    for n, d in zip(leaves(layout.shape), leaves(layout.stride)):
        place[d.path[0]] += i % int(n) * int(d.value)
        i //= int(n)
    return place


@pytest.mark.parametrize("seed", range(amount(40, 1000)))
def test_products_are_apart(seed):
    rng = random.Random(seed)
    modes, ends = drawn(rng, gaps=(1, 2))  # copies go evenly through gaps of 2
    copies = parse(rng.choice(["_4:_1", "(_2,_4):(_1,_2)", "(_2,_2):(_2,_1)"]))
    found = logical_product(layout_of(modes), copies)
    both = coordinates(found, len(ends))
    assert len({*both}) == len(both) == math.prod(n for n, _d, _k in modes) * int(size(copies))
    assert coordinates(found[0], len(ends)) == coordinates(layout_of(modes), len(ends))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("_3:_1@0", "(_1):(_3@0)"),
        ("_3:_4@2", "(_1,_1,(_4,_1)):(_1@0,_1@1,(_1@2,_12@2))"),
        ("(_2,_5,_3):(_4@1,_5@0,_16@1)", "((_5,_1),(_4,_2,_1)):((_1@0,_25@0),(_1@1,_8@1,_48@1))"),
        (
            "(_2,_3,_5):(_4@1,_5@0,_7@1@2)",
            "((_5,_1),(_4,_1),(_1,(_7,_1))):((_1@0,_15@0),(_1@1,_8@1),(_1@0@2,(_1@1@2,_35@1@2)))",
        ),
    ],
)
def test_cutlass_says(text, wanted):
    """CUTLASS's tests of its dialect `cute`."""
    assert str(complement(parse(text))) == wanted


def test_the_tiles_of_an_array():
    a = parse("(_128,_64):(_1@1,_1@0)")
    assert str(logical_divide(a, parse("_2:_64@0"))) == "(_2,(_64,_64)):(_64@1,(_1@1,_1@0))"
    assert (
        str(zipped_divide(parse("(_4,_6):(_6,_1)"), parse("(_2,_3):(_1@0,_1@1)")))
        == "((_2,_3),(_2,_2)):((_6,_1),(_12,_3))"
    )


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: complement(parse("_3:_4@2"), (8, 8)), RankError, "coordinates"),
        (lambda: complement(parse("(_3,_2):(_1@0,_1@0@0)")), RankError, "coordinates"),
        (lambda: complement(parse("(_3,_2):(_1@0,_1@0)")), InjectivityError, "starts inside"),
        (lambda: complement(make_layout(Int[4](), stride=E[0] + E[1])), LeafTypeError, "one mode each"),
        (lambda: complement(parse("_3:_1@0"), (-1,)), RangeError, "cotarget"),
        (
            lambda: logical_divide(parse("(_128,_64):(_1,_128)"), parse("_3:_1@0")),
            DivisibilityError,
            "do not make up _128",
        ),
        (
            lambda: logical_divide(parse("(_128,_64):(_1,_128)"), parse("(_2,_2):(_1@0,_3@0)")),
            DivisibilityError,
            "do not fill",
        ),
    ],
)
def test_what_is_refused(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_layout_of_one_element():
    assert isinstance(complement(parse("_1:_1@0"), (Int[8](),)), Layout)
    assert str(complement(parse("_1:_1@0"), (Int[8](),))) == "(_8):(_1@0)"
