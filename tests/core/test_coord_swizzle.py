"""Swizzles between coordinates, beside the definition in plain integers."""

import copy
import itertools
import pickle
import random

import numpy as np
import pytest

import tla
from tla import (
    ComposedLayout,
    CoordSwizzle,
    LeafTypeError,
    ParseError,
    RangeError,
    RankError,
    TlaError,
    composition,
    parse,
)

from night import amount


def leaf_of(coord, path):
    for i in path:
        coord = coord[i] if i < len(coord) else 0
    return coord


def swizzled(coord, bits, row_base, row, col_base, col):
    """FlyDSL's definition: col ^ ((row >> row_base & mask) << col_base), the other modes as they are."""
    read = leaf_of(coord, row) >> row_base & ((1 << bits) - 1)

    def put(c, path):
        if not path:
            return c ^ read << col_base
        return tuple(put(x, path[1:]) if i == path[0] else x for i, x in enumerate(c))

    return put(coord, col)


CASES = [((1,), (2,)), ((0,), (1,)), ((2,), (0,)), ((1, 0), (1, 1)), ((1, 1), (0,)), ((0,), (1, 0))]


@pytest.mark.parametrize(("row", "col"), CASES)
def test_every_coordinate(row, col):
    for bits, row_base, col_base in itertools.product(amount((0, 2), range(4)), range(3), amount((0, 2), range(3))):
        s = CoordSwizzle[bits, row_base, row, col_base, col]()
        nested = any(len(p) > 1 for p in (row, col))
        for a, b, c in itertools.product(range(0, 9, 2), range(8), range(8)):
            coord = (a, (b, c)) if nested else (a, b, c)
            assert s(coord) == swizzled(coord, bits, row_base, row, col_base, col)
            assert s(s(coord)) == coord
    assert parse(str(s)) == s == eval(repr(s)) == pickle.loads(pickle.dumps(s)) == copy.deepcopy(s)
    assert hash(s) == hash(parse(str(s)))


def test_in_front_of_coordinates_and_behind_a_layout():
    """The chain that FlyDSL's kernels have: (tile, row of bytes) o swizzle o coordinates of threads; and as offsets,
    text and C."""
    rng = random.Random(1)
    for _ in range(40):
        bits, row_base, col_base = rng.randrange(4), rng.randrange(2), rng.randrange(2)
        rows, cols = 1 << rng.randrange(1, 5), 1 << (bits + col_base)
        numbers = (bits, row_base, (0,), col_base, (1,))
        strides = ((cols, 1), (1, rows))[rng.randrange(2)]
        places = composition(CoordSwizzle[numbers](), tla.make_identity_layout((rows, cols)))
        memory = ComposedLayout(tla.Layout((rows, cols), strides), 0, places)
        wanted = np.zeros((rows, cols), int)
        for i, j in np.ndindex(rows, cols):
            there = swizzled((i, j), *numbers)
            assert places(i, j) == there
            wanted[i, j] = there[0] * strides[0] + there[1] * strides[1]
        assert np.array_equal(tla.offsets(memory), wanted)
        assert parse(str(memory)) == memory
        assert parse(str(places)) == places
        assert np.array_equal(memory(*np.ogrid[:rows, :cols]) + 0 * wanted, wanted)
        assert tla.is_injective(memory)
        tile = composition(memory, (tla.Int[2](), tla._))
        assert [tile(i, cols - 1) for i in range(2)] == [*wanted[:2, -1]]


def test_a_start_and_symbols():
    a = parse("CS<2,0,[0],0,[1]> o (1,2) o (4,4):(_1@0,_1@1)")
    assert all(a(i, j) == swizzled((1 + i, 2 + j), 2, 0, (0,), 0, (1,)) for i in range(4) for j in range(4))
    i = tla.index("i", below=8)
    assert str(composition(CoordSwizzle[3, 0, 0, 0, 1](), parse("(_8,_8):(_1@0,_1@1)"))(i, 3)) == "(i,i^3)"
    assert str(tla.static(a)) == "CS<2,0,[0],0,[1]> o (_1,_2) o (_4,_4):(_1@0,_1@1)"


def test_emitted():
    codegen = pytest.importorskip("tla.codegen")
    places = composition(CoordSwizzle[3, 0, 0, 0, 1](), parse("(_8,_8):(_1@0,_1@1)"))
    memory = ComposedLayout(parse("(_8,_8):(_8,_1)"), 0, places)
    text = codegen.emit(memory, "python", name="f")
    names = {}
    exec(text, names)  # what we emitted ourselves
    assert all(names["f"](i, j) == i * 8 + (i ^ j) for i in range(8) for j in range(8))


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: CoordSwizzle[3, 0, 0, 0], RankError),
        (lambda: CoordSwizzle(3, 0, 0, 0, 1), LeafTypeError),
        (lambda: CoordSwizzle[3, 0, 1, 0, 1], RangeError),
        (lambda: CoordSwizzle[3, 0, 1, 0, (1, 0)], RangeError),
        (lambda: CoordSwizzle[-1, 0, 0, 0, 1], RangeError),
        (lambda: CoordSwizzle[3, 60, 0, 0, 1], RangeError),
        (lambda: CoordSwizzle[3, 0, 0, 0, 1]()(5), LeafTypeError),
        (lambda: CoordSwizzle[3, 0, 0, 0, 1]()((1, (2, 3))), RankError),
        (lambda: CoordSwizzle[3, 0, 0, 0, (1, 0)]()((1, 2)), RankError),
        (lambda: composition(CoordSwizzle[3, 0, 0, 0, 1](), parse("_8:_1")), LeafTypeError),
        (lambda: composition(CoordSwizzle[3, 0, 0, 0, 1](), 4), LeafTypeError),
        (lambda: tla.offsets(composition(CoordSwizzle[3, 0, 0, 0, 1](), parse("(_8,_8):(_1@0,_1@1)"))), LeafTypeError),
        (lambda: parse("CS<3,0,0,0,[0]>"), ParseError),
        (lambda: parse("CS<3,0,[0]>"), ParseError),
        (lambda: parse("CS<3,0,[0],0,[-1]>"), ParseError),
    ],
)
def test_refused(make, error):
    with pytest.raises(error) as caught:
        make()
    assert isinstance(caught.value, TlaError)
