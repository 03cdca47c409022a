"""Swizzles moved through layouts, and slices: of chains, and of sizes that are not known."""

import random

import pytest

import tla
from tla import (
    ComposedLayout,
    DivisibilityError,
    Int,
    Layout,
    Swizzle,
    Unproven,
    _,
    dim,
    index,
    parse,
    slice_and_offset,
)

_0, _1 = Int[0](), Int[1]()
M, K = dim("M"), index("K", 8)


@pytest.mark.parametrize("outer", ["_64:_1", "(_8,_8):(_8,_1)", "(_4,_16):(_1,_5)", "_64:_3"])
@pytest.mark.parametrize(
    "chain",
    [
        "Sw<1,0,1> o _0 o Sw<1,0,2> o _0 o (_4,_2):(_1,_4)",
        "Sw<2,0,2> o _0 o (_4,_4):(_4,_1) o _0 o (_4,_2):(_1,_4)",
        "(_8,_8):(_8,_1) o _0 o Sw<1,0,1> o _0 o (_4,_2):(_1,_4)",
        "Sw<1,1,1> o _2 o Sw<2,0,2> o 1 o (_4,_2):(_1,_4)",
    ],
)
def test_a_chain_behind_a_layout_is_answered(outer, chain):
    a, b = parse(outer), parse(chain)
    r = tla.composition(a, b)
    assert [r(i) for i in range(8)] == [a(b(i)) for i in range(8)]


@pytest.mark.parametrize(
    ("coord", "layout", "error"),
    [
        ((1, _), Layout((4, M), (Int[8](), Int[32]())), DivisibilityError),
        ((_, 1), Layout((M, Int[4]()), (Int[32](), Int[8]())), DivisibilityError),
        ((1, _), Layout((Int[4](), M), (Int[8](), Int[1]())), Unproven),
        ((K, _), Layout((Int[8](), Int[8]()), (Int[8](), Int[1]())), Unproven),
    ],
)
def test_slices_of_sizes_that_are_not_known(coord, layout, error):
    with pytest.raises(error):
        slice_and_offset(coord, ComposedLayout(Swizzle[2, 0, 3](), _0, layout))


@pytest.mark.parametrize("n", [2**16, 2**17])
def test_slices_of_more_coordinates_than_are_gone_through(n):
    """Past 65,536 what is open needs bits of its own."""
    for rows, coord in ((2, (1, _)), (2, (0, _))):
        a = ComposedLayout(Swizzle[2, 4, 20](), _0, parse(f"(_{rows},_{n}):(_{2**24},_1)"))
        rest, offset = slice_and_offset(coord, a)
        assert all(rest(k) + offset == a(coord[0], k) for k in (0, 1, 16, 17, 48, n // 2, n - 1))
    carries = ComposedLayout(Swizzle[2, 4, 3](), _0, parse(f"(_4,_{n}):(_16,_3)"))
    rest, offset = slice_and_offset((1, _), carries)
    assert all(rest(k) + offset == carries(1, k) for k in (0, 1, 5, 100, n - 1))


def test_how_many_coordinates_are_too_many_to_check():
    for inner, text in ((Layout(M, 1), "M coordinates to check"), (parse("_65537:_1"), "_65537 coordinates to check")):
        with pytest.raises(Unproven, match=text):
            tla.composition(parse("_64:_2"), ComposedLayout(Swizzle[1, 0, 1](), _0, inner))
    assert tla.size(tla.composition(parse("_64:_2"), parse("Sw<1,0,1> o _0 o _65536:_1"))) == 65536


def test_a_swizzled_layout_after_a_swizzled_layout_is_kept():
    """As tensor-layouts keeps it: what is composed already stays so. Of a plain layout outside it is refused, and
    compose keeps it."""
    rng = random.Random(30)
    kept = 0
    for _round in range(60):
        b, m, s = rng.randrange(1, 3), rng.randrange(2), rng.choice((2, 3))
        a = parse(
            f"Sw<{b},{m},{s}> o {rng.randrange(4)} o (_8,_8):({rng.choice(('_8,_1', '_1,_8', '_9,_1'))})".replace(
                " o 0 o", " o _0 o"
            )
        )
        tiler = parse(f"Sw<{rng.randrange(1, 3)},0,2> o _{rng.randrange(4)} o (_4,_4):(_4,_1)")
        a = tla.static(a)
        found = tla.composition(a, tiler)
        kept += isinstance(found.inner, ComposedLayout)
        assert all(found(i, j) == a(tiler(i, j)) for i in range(4) for j in range(4))
    assert kept > 10
    with pytest.raises(DivisibilityError):  # the kind of an answer does not depend on dynamic integers
        tla.composition(parse("Sw<3,0,3> o _0 o (_8,_8):(_9,_1)"), parse("Sw<2,0,2> o 1 o (_4,_4):(_4,_1)"))
