"""What is valid of elements of another width."""

import itertools
import random
from collections import Counter

import pytest

import tla
from tla import DivisibilityError, LeafTypeError, RangeError, dim, parse

import oracle
from corpus import made, partly_valid, small
from laws import plain


def valid_offsets(layout):
    """The offsets of the valid coordinates, by the definition."""
    coords = itertools.product(*map(range, map(int, layout.origin_shape)))
    return {layout(c if isinstance(layout.shape, tuple) else c[0]) for c in coords}


def test_what_is_valid_of_elements_of_another_width():
    """Wide elements are valid where they are so as a whole; it is None exactly where one is not."""
    rng, seen = random.Random(5), Counter()
    for _k in range(150):
        a, n = partly_valid(rng, [4, 8, (2, 4), (2, 2), (2, 2, 3), (2, 2, 2)]), rng.choice((2, 4))
        old = valid_offsets(a)
        narrow, wide = {n * x + k for x in old for k in range(n)}, {x // n for x in old}
        down = tla.downcast[n](a)
        assert down.origin_shape is None or valid_offsets(down) == narrow, (a, a.origin_shape)
        try:
            up = tla.upcast[n](a)
        except DivisibilityError:
            continue
        whole = old == {n * x + k for x in wide for k in range(n)}
        assert (up.origin_shape is not None) is whole, (a, a.origin_shape, up)
        assert not whole or valid_offsets(up) == wide, (a, a.origin_shape, up)
        seen[down.origin_shape is not None, whole] += 1
    assert min(seen[True, True], seen[True, False], seen[False, False]) > 8, seen


def test_elements_of_another_width_over_every_small_layout():
    """Wide elements are those that layout's elements lie in, narrow ones all that lie in them; each mode
    keeps its place."""
    seen = Counter()
    for a in [*small(range(-2, 9))][::11]:
        old, modes = {*oracle.offsets(*a)}, [*zip(oracle.leaves(a[0]), oracle.leaves(a[1]))]
        for n in (1, 2, 3, 4, 6):
            steps = [(s, d) for s, d in modes if d % n]  # which fall into wide elements
            if any(d < 0 or n % d for _s, d in steps) or sum((min(s, n // d) - 1) * d for s, d in steps) >= n:
                seen["refused"] += 1
                with pytest.raises(DivisibilityError):
                    tla.upcast[n](made(a))
            else:
                seen["up"] += 1
                wide = [(s, d // n) if d % n == 0 else (-(-s // (n // d)), 1) for s, d in modes]
                up = plain(tla.upcast[n](made(a)))
                assert [*zip(oracle.leaves(up[0]), oracle.leaves(up[1]))] == wide
                assert {*oracle.offsets(*up)} == {x // n for x in old}
            contiguous = [k for k, (_s, d) in enumerate(modes) if d == 1]
            if not contiguous:
                with pytest.raises(DivisibilityError, match="static stride 1"):
                    tla.downcast[n](made(a))
                continue
            first = next((k for k in contiguous if modes[k][0] != 1), contiguous[0])
            down = plain(tla.downcast[n](made(a)))
            assert [*zip(oracle.leaves(down[0]), oracle.leaves(down[1]))] == [
                (s * n, 1) if k == first else (s, d * n) for k, (s, d) in enumerate(modes)
            ]
            if len(contiguous) == 1:
                assert {*oracle.offsets(*down)} == {n * x + k for x in old for k in range(n)}
                assert plain(tla.upcast[n](tla.downcast[n](made(a)))) == a
    assert min(seen["refused"], seen["up"]) > 50, seen


def test_widths_in_bits():
    a = parse("(_8,_4):(_1,_8)")
    for old, new, result in (
        (8, 8, a),
        (8, 32, tla.upcast[4](a)),
        (32, 8, tla.downcast[4](a)),
        (6, 4, tla.upcast[2](tla.downcast[3](a))),
        (4, 6, None),
        (16, 24, None),
    ):
        if result is None:
            with pytest.raises(DivisibilityError):
                tla.recast_layout[old, new](a)
        else:
            assert str(tla.recast_layout[old, new](a)) == str(result)
    assert str(tla.recast_layout[4, 6](parse("(_9,_4):(_1,_9)"))) == "(_6,_4):(_1,_6)"
    for f in (tla.upcast[2], tla.downcast[2], tla.recast_layout[8, 16], tla.recast_layout[16, 8]):
        for text in ("(_2,_2):(_1@0,_1@1)", "(_2,_2):(_1@0,_1)"):
            with pytest.raises(LeafTypeError, match="coordinates have no width"):
                f(parse(text))
    for f in (
        lambda: tla.upcast[0],
        lambda: tla.downcast[-1],
        lambda: tla.recast_layout[8, 0],
        lambda: tla.recast_layout[0, 8],
    ):
        with pytest.raises(RangeError, match="1 or more in brackets"):
            f()


@pytest.mark.parametrize(
    ("text", "n", "result"),
    [
        ("(8,_4):(_1,8)", 2, "(4,_4):(_1,4)"),
        ("(7,_4):(_1,8)", 4, "(2,_4):(_1,2)"),
        ("(M,_4):(_1,8)", 2, "(ceil(M/2),_4):(_1,4)"),
        ("(4,_4):(_0,_1)", 2, "(4,_2):(_0,_1)"),
        ("(4,_4):(1,_8)", 2, None),
        ("(4,_4):(3,_8)", 2, None),
        ("(4,_4):(0,_8)", 2, "(4,_4):(0,_4)"),
        ("(_3,_2):(_1,_2)", 4, None),  # together they step out of a wide element
        ("(_2,_3):(_2,_1)", 4, None),
        ("(_2,_2):(_1,_2)", 4, "(_1,_1):(_1,_1)"),
        ("(_2,_2):(_3,_2)", 6, "(_1,_1):(_1,_1)"),
    ],
)
def test_wide_elements_of_dynamic_integers(text, n, result):
    a = parse(text, symbols=[dim("M")])
    if result is None:
        with pytest.raises(DivisibilityError):
            tla.upcast[n](a)
    else:
        assert str(tla.upcast[n](a)) == result


@pytest.mark.parametrize(("valid", "wide"), [((7, 4), (4, 4)), ((4, 4), None), ((3, 4), None), ((7, 3), (4, 3))])
def test_what_is_valid_where_the_last_wide_element_is_not_whole(valid, wide):
    """Seven are four pairs; how many of these are whole is not said in one number."""
    made_wide = tla.upcast[2](tla.Layout((tla.Int[7](), tla.Int[4]()), (tla.Int[1](), tla.Int[8]()), valid))
    assert made_wide.origin_shape == wide
