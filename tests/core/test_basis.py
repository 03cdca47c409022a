import copy
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest

import tla
from tla import (
    ArithmeticTuple,
    DivisibilityError,
    E,
    Int,
    Layout,
    MakeIdentityLayout,
    RankError,
    TlaError,
    composition,
    parse,
)
from tla.core.basis import as_coordinate

import oracle
from corpus import small, small_shapes, static
from night import some


def test_arithmetic():
    assert str(3 * E[0, 1]) == "3@1@0"
    assert str(Int[3]() * E[2] * Int[2]()) == "_6@2"
    assert E[0] * 2 + 3 * E[1] == (2, 3)
    assert E[1] + E[1] == (0, 2)
    assert str(E[0] - E[1]) == "(_1,_-1)"
    assert sum([E[0], E[1], 2 * E[0]]) == (3, 1)
    assert -(2 * E[0]) == -2 * E[0]
    assert (E[0] + E[1]) + (E[0] + E[2]) == (2, 1, 1)
    assert 2 * (E[0] + E[1, 0]) == (2, (2,))
    assert ArithmeticTuple(1, 2) - (1, 1) == (0, 1)
    assert (np.array([1, 2]) * E[0]).value.tolist() == [1, 2]
    assert str(np.int64(3) * E[0]) == "3@0"


def test_values():
    for x in (E[0], 2 * E[0, 3], Int[5]() * E[1], ArithmeticTuple(1, (2, 3))):
        assert eval(repr(x), {"E": E, "Int": Int, "parse": parse}) == x
        assert pickle.loads(pickle.dumps(x)) == x == copy.deepcopy(x)
        assert parse(str(x)) == x
        assert hash(x) == hash(copy.copy(x))
    assert E[0] != E[1]
    assert E[0] != 1
    with pytest.raises(AttributeError):
        E[0].value = 3


@pytest.mark.parametrize(
    "f",
    [
        lambda: E[0] + 1,
        lambda: 1.5 * E[0],
        lambda: E[0] * E[1],
        lambda: E[0] * (1, 2),
        lambda: E[-1],
        lambda: E[()],
        lambda: E[10**9],
        lambda: E["a"],
        lambda: E[0] + E[0, 1],
        lambda: ArithmeticTuple(1, 2) + 5,
        lambda: ArithmeticTuple(1, 2) * 1.5,
        lambda: ArithmeticTuple(1.5),
        lambda: Layout((E[0], 2), (1, 2)),
        lambda: parse("4:1")(E[0]),
        lambda: tla.complement(parse("(4,2):(1@0,1@0)"), 8),
        lambda: tla.offsets(parse("(4,2):(1@0,1@1)")),
        lambda: tla.upcast[2](parse("(4,2):(1@0,1@1)")),
        lambda: composition(parse("(4,2):(1,4)"), parse("2:1@2")),
        lambda: composition(parse("(4,2):(1,4)"), parse("2:1@0@0")),
        lambda: composition(parse("(_3,_2):(_1@0,_1@1)"), parse("_4:_2")),
        lambda: composition(parse("(_2,_2):(_1@0,_1@1)"), parse("_2:_3")),
        lambda: parse("4@"),
        lambda: parse("4@x"),
        lambda: parse("@0"),
    ],
)
def test_refused_and_no_crash(f):
    with pytest.raises(TlaError) as caught:
        f()
    assert caught.value.reason.fix


def test_identity_layouts():
    for shape in some(small_shapes(), 4):
        a = MakeIdentityLayout(static(shape))
        for i, c in enumerate(oracle.coordinates(shape)):
            want = c if isinstance(c, tuple) else (c,) if isinstance(shape, tuple) else c
            assert as_coordinate(a(i)) == want, (shape, i)
            assert as_coordinate(a(c)) == want


def coordinate_value(c, shape, stride):
    """The definition: the sum of coordinate * value * e, as a dictionary from paths."""
    total = Counter()
    for x, d in zip(oracle.leaves(c), oracle.leaves(stride)):
        total[d.path] += x * int(d.value)
    return {p: v for p, v in total.items() if v}


def paths(x, path=()):
    if isinstance(x, tuple):
        return {p: v for i, m in enumerate(x) for p, v in paths(m, (*path, i)).items()}
    return {path: x} if x else {}


def test_composition_into_coordinates_over_small_layouts():
    """R(c) == A(B(c)) for A = (4,6) with strides that are multiples of basis elements, B any small layout."""
    seen = Counter()
    for strides in [(E[0], E[1]), (2 * E[1], E[0]), (E[0], 4 * E[0]), (3 * E[0, 1], E[1])]:
        a = Layout(static((4, 6)), tuple(Int[1]() * d for d in strides))
        for shape, stride in small():
            b = Layout(static(shape), static(stride))
            try:
                r = composition(a, b)
            except DivisibilityError:
                seen["refused"] += 1
                continue
            for c in oracle.coordinates(shape):
                x = oracle.inner_product(c, stride)
                if x < 24:
                    want = coordinate_value((x % 4, x // 4), (4, 6), strides)
                    assert paths(as_coordinate(r(c))) == want, (a, b, r, c)
            seen["found"] += 1
    assert seen["found"] > 1000
    assert seen["refused"] < 600


def test_composition_out_of_coordinates_is_the_layout_at_them():
    a = parse("((4,2),(3,5)):((1,100),(7,1000))")
    for text in ("(4,3):(1@0,1@1)", "(2,5):(4@0,3@1)", "(3,2):(1@0@1,1@1@0)", "2:3@1@1"):
        b = parse(text)
        r = composition(a, b)
        for i in range(int(tla.size(b))):
            c = as_coordinate(b(i))
            whole = tla.core.composed._filled(c, a.shape)
            assert r(i) == a(whole), (b, i)
    with pytest.raises(RankError):
        composition(a, parse("(2,2):(1@0,1@0@1@1)"))


def test_coordinates_of_arrays():
    a = MakeIdentityLayout((4, (2, 3)))
    rows, columns = a(np.arange(4)[:, None], np.arange(6)[None, :])
    assert rows.shape == (4, 1)
    assert columns[1].tolist() == [[0, 0, 1, 1, 2, 2]]


def test_predicates_of_coordinates():
    assert tla.is_injective(parse("(4,8):(1@0,1@1)")) is True
    assert tla.is_injective(parse("(4,8):(1@0,1@0)")) is False
    assert tla.is_injective(parse("(4,8):(1@0,4@0)")) is True
    assert tla.same_map(parse("((2,2),8):((1@0,2@0),1@1)"), parse("(4,8):(1@0,1@1)")) is True
    assert tla.is_ordered(parse("(4,8):(1@0,1@1)")) is False
    assert tla.is_surjective(parse("(4,8):(1@0,1@1)")) is False


def test_layouts_over_coordinates_in_the_tilers():
    a = MakeIdentityLayout(static((8, 6)))
    tiles = tla.zipped_divide(a, static((4, 2)))
    assert str(tiles) == "((_4,_2),(_2,_3)):((_1@0,_1@1),(_4@0,_2@1))"
    assert tiles((1, 1), (1, 2)) == (5, 5)
    assert str(tla.coalesce(parse("(_4,_2,_3):(_1@0,_4@0,_1@1)"))) == "(_8,_3):(_1@0,_1@1)"
    assert str(tla.logical_product(a, parse("_2:_1"))) == "((_8,_6),_2):((_1@0,_1@1),_6@1)"


def test_coordinates_that_hold_arrays_are_no_integers():
    x = ArithmeticTuple(np.array([1, 2]), 3)
    assert repr(x) == "ArithmeticTuple(array([1, 2]), 3)"
    for f in (tla.size, tla.product, lambda y: Layout(y, (1, 1)), tla.flatten):
        with pytest.raises(TlaError):
            f(x)


# ------------------------------------------------------------------------------------ coordinates that a layout gives


OUTER = [((4, 5), (5, 1)), ((2, 3, 4), (1, 8, 2)), (((2, 3), 4), ((4, 8), 1)), ((3, (2, 2), 5), (20, (1, 10), 2))]


@pytest.mark.parametrize("known", [False, True], ids=["plain", "known"])
@pytest.mark.parametrize(("shape", "stride"), OUTER, ids=str)
def test_a_layout_takes_the_coordinates_that_another_gives(shape, stride, known):
    """A(B(c)) by its definition, for every B of one or two modes along modes of A; and composition(A, B)(c)
    where there is one."""
    a, composed = Layout(shape, stride), 0
    if known:
        a = tla.static(a)
    steps = [(n, k) for n in (1, 2, 3) for k in range(len(shape))]
    for one, two in itertools.product(steps, repeat=2):
        b = Layout((4, 3), tuple(n * E[k] for n, k in (one, two)))
        b = tla.static(b) if known else b
        try:
            r = composition(a, b)
            composed += 1
        except TlaError:
            r = None
        for x, y in itertools.product(range(4), range(3)):
            coord = [0] * len(shape)
            for c, (n, k) in zip((x, y), (one, two)):
                coord[k] += c * n
            expected = oracle.offset(tuple(coord), shape, stride)
            assert a(b(x, y)) == a(b((x, y))) == expected
            assert r is None or r(x, y) == expected
    assert composed > 10


def test_an_element_is_the_tuple_of_its_value():
    assert 5 * E[0] == (5,)
    assert (0, 5) == 5 * E[1]
    assert 5 * E[1, 0] == (0, (5,))
    assert 5 * E[0] != (5, 0)
    assert 5 * E[0] != 5
    assert {5 * E[0], (5,), 5 * E[1], (0, 5)} == {(5,), (0, 5)}
    assert parse("_12:_1@0")(5) == parse("(_4,_3):(_1@0,_4@0)")(5)


@pytest.mark.parametrize("coord", [E[2], E[0, 1], E[1] + E[2], E[0, 0]], ids=str)
def test_a_coordinate_of_other_modes_is_refused(coord):
    with pytest.raises(RankError, match="modes that the shape has"):
        parse("(_4,_5):(_5,_1)")(coord)
