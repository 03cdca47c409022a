"""Arithmetic on leaves of every kind, in both places: values, what is static, and what is refused."""

import itertools

import numpy as np
import pytest

import tla
from tla import E, Int, LeafTypeError, RangeError, TlaError, Unproven, dim
from tla.core.leaf_arithmetic import add, ceil_div, fold, larger, mul, plus, shape_div, smaller, times

M = dim("M")
NUMBERS = [f(n) for n in (-3, -1, 0, 1, 2, 6) for f in (int, lambda n: Int[n](), np.int64)]


class Traced:
    """What computes and is no integer: it notes what it met."""

    def __init__(self, done=""):
        self.done = done

    def _note(op):
        return lambda self, other: Traced(f"{self.done}{op}{other!r}")

    __add__, __radd__, __mul__, __rmul__, __floordiv__, __mod__ = map(_note, ("+", "r+", "*", "r*", "//", "%"))


@pytest.mark.parametrize(
    ("f", "value"),
    [(add, lambda a, b: a + b), (mul, lambda a, b: a * b), (plus, lambda a, b: a + b), (times, lambda a, b: a * b)],
)
def test_of_numbers(f, value):
    for a, b in itertools.product(NUMBERS, repeat=2):
        if f in (plus, times) and any(isinstance(x, np.integer) for x in (a, b)):
            continue
        found = f(a, b)
        assert found == value(int(a), int(b))
        assert type(found) in (int, Int)
        absorbed = f in (mul, times) and any(type(x) is Int and x == 0 for x in (a, b))
        neutral = f is plus and next((x for x, y in ((b, a), (a, b)) if type(y) is Int and y == 0), None)
        static = (
            type(neutral) is Int
            if neutral is not None and neutral is not False
            else type(a) is type(b) is Int or absorbed
        )
        assert tla.is_static(found) is static, (f, a, b)


@pytest.mark.parametrize("wrong", ["a", None, (1, 2), [1], 1.5, True, np.float32(2), b"1", np.True_])
@pytest.mark.parametrize("n", [4, Int[4](), Int[1](), M, np.int8(4)], ids=repr)
def test_what_is_no_integer_in_either_place(wrong, n):
    for f in (add, mul):
        if f is add or n is not Int[1]():
            for pair in ((wrong, n), (n, wrong), (wrong, wrong)):
                with pytest.raises(TlaError):
                    f(*pair)


@pytest.mark.parametrize("wrong", ["a", None, (1, 2), [1], 1.5, True])
def test_a_neutral_operand_takes_no_other_kind(wrong):
    for f, n in ((add, Int[0]()), (mul, Int[1]())):
        for pair in ((wrong, n), (n, wrong)):
            with pytest.raises(LeafTypeError):
                f(*pair)


def test_what_is_traced():
    x = Traced()
    assert add(x, Int[0]()) is add(Int[0](), x) is mul(x, Int[1]()) is mul(Int[1](), x) is x
    assert plus(x, Int[0]()) is plus(Int[0](), x) is times(x, Int[1]()) is x
    assert [f(x, Int[3]()).done for f in (plus, times)] == ["+3", "*3"]  # as plain integers
    assert plus(Int[3](), x).done == "r+3"
    assert str(times(x, Int[0]())) == "_0"
    assert times(np.arange(3), Int[2]()).tolist() == [0, 2, 4]
    assert str(times(2, E[1])) == str(times(E[1], 2)) == "2@1"
    assert times(np.arange(3), E[1]).value.tolist() == [0, 1, 2]
    assert str(times(Int[1](), E[1])) == "_1@1"
    assert str(times(E[0], Int[0]())) == "_0"
    assert str(plus(E[0], E[1])) == "(_1,_1)"
    assert str(plus(Int[0](), E[1])) == str(plus(E[1], Int[0]())) == "_1@1"


def test_folds():
    for a, b in itertools.product([n for n in NUMBERS if not isinstance(n, np.integer)], repeat=2):
        for f, decide in ((smaller, min), (larger, max)):
            assert f(a, b) == decide(int(a), int(b))
            assert tla.is_static(f(a, b)) is (type(a) is type(b) is Int)
    for pair in ((M, 4), (4, M), (Int[4](), M)):
        assert tla.at(smaller(*pair), M=3) == 3
        assert tla.at(smaller(*pair), M=5) == 4
        with pytest.raises(Unproven, match="not known"):
            fold("other", min, *pair)
    with pytest.raises(Unproven, match="not known"):
        fold("min", min, E[0], 4)


def test_quotients():
    for a, b in itertools.product(range(-7, 8), range(-3, 8)):
        for x, y in itertools.product((a, Int[a]()), (b, Int[b]())):
            static = type(x) is type(y) is Int
            if b > 0:
                assert (ceil_div(x, y), tla.is_static(ceil_div(x, y))) == (-(-a // b), static)
            else:
                with pytest.raises(RangeError, match="not positive"):
                    ceil_div(x, y)
            fits = b != 0 and a % b == 0
            inside = a != 0 and b % a == 0
            if b == 0 or not (fits or inside):
                with pytest.raises(TlaError):
                    shape_div(x, y)
                continue
            found = shape_div(x, y)
            assert found == (a // b if fits else (1 if a * b > 0 else -1)), (a, b)
            assert tla.is_static(found) is (static or (type(x) is Int and a == 0)), (x, y)


def test_arrays_do_not_wrap():
    x, y = np.array([100, -100], np.int8), np.array([4, 3], np.int8)
    for f, wanted in ((add, [500, 300]), (plus, [500, 300]), (mul, [40000, -40000]), (times, [40000, -40000])):
        for n in (400, Int[400](), np.int64(400)):
            assert f(x, n).tolist() == wanted
            assert f is times or f(n, x).tolist() == wanted
    for f, wanted in ((add, [104, -97]), (plus, [104, -97]), (mul, [400, -300]), (times, [400, -300])):
        assert f(x, y).tolist() == wanted
