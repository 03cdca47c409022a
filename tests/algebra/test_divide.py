"""Divides and products: which tiles lose elements, how modes are gathered, and what is refused."""

import itertools
import math

import pytest

import tla
from tla import DivisibilityError, Int, RankError, TlaError, _, dims, parse

import laws
import oracle
from corpus import made, small
from laws import plain

M, N = dims("M N")


def read(text):
    return parse(text, symbols=[M, N])


def test_tiles_whose_copies_leave_gaps_are_refused():
    """A tile (n, m):(1, d) covers [0, size) by copies that begin in its gaps exactly if n divides d, or nothing
    lies in the gap."""
    for n, m, d, size in itertools.product((1, 2, 3, 4), (1, 2, 3), (1, 2, 3, 4, 6, 7, 8), (4, 12, 24)):
        if d < n and m > 1 and n > 1:
            continue  # its own elements overlap
        for kind in (lambda k: Int[k](), int):
            a, b = tla.Layout(Int[size](), Int[1]()), tla.Layout((kind(n), kind(m)), (Int[1](), Int[d]()))
            end = n if n > 1 else 1
            lost = (m > 1 or kind is int) and (n > 1 or kind is int) and d % end and (d // end) * end < size
            try:
                r = tla.logical_divide(a, b)
            except DivisibilityError as error:
                if not lost:  # then it is no layout
                    assert "are in no tile" not in str(error)
                continue
            except TlaError:
                continue
            assert not lost, (a, b)
            assert {*laws.function(plain(r))} >= {*range(size)}


def test_the_tiles_of_every_small_layout():
    for a, b in itertools.product([*small(range(1, 4), ranks=(1, 2))][::29], [*small(range(4))][::5]):
        try:
            r = tla.logical_divide(made(a), made(b))
        except TlaError:
            continue
        laws.divides(a, b, plain(r))
        assert {*laws.function(plain(r))} >= {*laws.function(a)}


@pytest.mark.parametrize(
    ("tiler", "parts"),
    [
        ((2, 3), (((2, 4), (3, 2)))),
        ((2,), ((2, 4), None)),
        ((_, 3), ((8, 1), (3, 2))),
        ((2, _), ((2, 4), (6, 1))),
        ((2, 3, _), None),
        ((2, (3, 1)), None),
    ],
)
def test_the_forms_of_a_divide_are_groupings_of_one(tiler, parts):
    a = parse("(_8,_6):(_6,_1)")
    tiler = tuple(Int[n]() if isinstance(n, int) else n for n in tiler)
    if parts is None:
        for f in (tla.logical_divide, tla.zipped_divide, tla.tiled_divide, tla.flat_divide):
            with pytest.raises(RankError):
                f(a, tiler)
        return
    tiles, rests = tuple(p[0] for p in parts if p), tuple(p[1] if p else 6 for p in parts)
    zipped, tiled, flat = (plain(f(a, tiler))[0] for f in (tla.zipped_divide, tla.tiled_divide, tla.flat_divide))
    assert zipped == (tiles, rests)
    assert tiled == (tiles, *rests)
    assert flat == ((*tiles, *rests) if len(tiles) > 1 else (tiles, *rests))
    image = {a(i) for i in range(48)}
    for f in (tla.zipped_divide, tla.tiled_divide, tla.flat_divide):
        assert {*laws.function(plain(f(a, tiler)))} == image


@pytest.mark.parametrize(
    ("a", "b", "conditions"),
    [
        ("M:_1", "_4:_1", ["4 divides M"]),
        ("M:_1", "N:_1", ["N divides M"]),
        ("(M,_8):(_1,M)", "_4:_1", ["4 divides 8*M"]),
        ("_8:_1", "_4:_1", []),
        ("4*M:_1", "_4:_1", []),
        ("4*M:_1", "(_2,_2):(_1,_2)", []),
    ],
)
def test_that_tiles_divide_sizes_is_proved_or_recorded(a, b, conditions):
    a, b = read(a), read(b)
    if conditions and conditions != ["4 divides 8*M"]:
        with pytest.raises(tla.Unproven, match=conditions[0]):
            tla.logical_divide(a, b)
    with tla.assuming() as recorded:
        r = tla.logical_divide(a, b)
    assert [str(c) for c in recorded][:1] == (
        conditions if conditions != ["4 divides 8*M"] else [str(c) for c in recorded][:1]
    )
    sizes = {"M": 8, "N": 2}
    laws.divides(plain(tla.at(a, sizes)), plain(tla.at(b, sizes)), plain(tla.at(r, sizes)))


def test_tiles_that_do_not_divide_sizes_are_refused():
    for text in ("(_8,M):(_1,_8)", "4*M:_1"):
        with pytest.raises(TlaError):
            tla.logical_divide(read(text), parse("_3:_1"))


@pytest.mark.parametrize(
    ("shape", "tiler", "even"),
    [
        ((8, 6), (4, 3), True),
        ((8, 6), (4, 4), False),
        ((8, 6), (3, 3), False),
        ((8, 6), (4,), True),
        ((8, 6), (5,), False),
        ((8, 6), (_, 3), True),
        ((8, 6), (_, 4), False),
        ((8, 6), _, True),
        ((8, 6), (4, 3, 1), False),
        (16, parse("_4:_4"), True),
        (16, parse("_4:_5"), False),
        (12, parse("(_2,_2):(_1,_6)"), True),
        (16, (4,), True),
        (16, (4, 1), False),
        (((8, 2), 6), (16, 3), True),
        (((8, 2), 6), ((4, 2), 3), True),
        (((8, 2), 6), ((4, 3), 3), False),
        (M, M, True),
        (M, 1, True),
        (M, 2, None),
        ((M, 6), (2, 3), None),
        ((M, 6), (2, 4), False),
        ((M, 6), (1, 4), False),
    ],
)
def test_whether_tiles_divide_a_shape(shape, tiler, even):
    assert tla.evenly_divides(shape, tiler) is even
    assert (tla.evenly_divides.why_not(shape, tiler) is not None) is (even is False)


def test_how_many_tiles():
    for n, t in itertools.product(range(1, 13), range(1, 6)):
        assert tla.ceil_div(n, t) == tla.product(tla.ceil_div(Int[n](), parse(f"_{t}:_1"))) == -(-n // t)
    assert str(tla.ceil_div((6, 8, 5), (parse("_3:_1"), _))) == "(2,_1,5)"
    assert str(tla.ceil_div((6, (8, 5)), (4, (3,)))) == "(2,(3,5))"
    with pytest.raises(RankError, match="drop the last 1"):
        tla.ceil_div((6, 8), (_, 2, 2))


def test_a_block_repeated_until_it_fills_a_shape():
    """Each element of the shape once, blocks whole, copies in the order of the modes."""
    for extents, times in itertools.product([(2, 2), (4, 1), (1, 3)], itertools.product((1, 2, 3), repeat=2)):
        block = tla.MakeLayout(tuple(Int[n]() for n in extents), tla.LayoutRight)
        shape = tuple(n * k for n, k in zip(extents, times))
        for order, fastest in ((tla.LayoutLeft, (0, 1)), (tla.LayoutRight, (1, 0)), ((1, 2), (0, 1)), ((2, 1), (1, 0))):
            r = tla.tile_to_shape(block, shape, order)
            size = math.prod(extents)
            for i, j in itertools.product(*map(range, shape)):
                copy, inside = (i // extents[0], j // extents[1]), (i % extents[0], j % extents[1])
                first, second = fastest
                number = copy[first] + times[first] * copy[second]
                assert r(i, j) == block(*inside) + size * number
    with pytest.raises(RankError, match="rank 2 or more"):
        tla.tile_to_shape(parse("(_2,_2):(_1,_2)"), 4)
    with pytest.raises(DivisibilityError, match="round it up: 6"):
        tla.tile_to_shape(parse("(_2,_2):(_1,_2)"), (4, 5))
    assert oracle.plain(tla.tile_to_shape(parse("_2:_1"), (4, 6)).shape) == ((2, 2), (1, 6))
