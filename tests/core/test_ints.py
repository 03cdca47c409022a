import copy
import itertools
import math
import operator
import pickle

import numpy as np
import pytest

import tla
from tla import DivisibilityError, Int, LeafTypeError, RangeError, add, is_int, is_static, mul
from tla.core.ints import Static, leaf
from tla.core.leaf_arithmetic import ceil_div, shape_div
from tla.core.questions import at_most, divides, equal

SMALL = range(-5, 6)
BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.floordiv,
    operator.mod,
    operator.and_,
    operator.or_,
    operator.xor,
]
SHIFTS = [operator.lshift, operator.rshift]


def independent(op, a, b, static):
    """Whether op's answer is the same for every value of its dynamic side: tried, not derived."""
    tries = range(-20 if static == "right" or op not in SHIFTS else 0, 21)
    tries = [*tries, -(10**6), 10**6] if static == "right" else tries
    answers = set()
    for n in tries:
        try:
            answers.add(op(a, n) if static == "left" else op(n, b))
        except (ZeroDivisionError, ValueError):
            continue
    return len(answers) == 1


@pytest.mark.parametrize("op", BINARY + SHIFTS)
def test_operators_are_pythons_and_static_where_they_must_be(op):
    for a, b in itertools.product(SMALL, SMALL):
        try:
            value = op(a, b)
        except (ZeroDivisionError, ValueError) as error:
            for x, y in ((Int[a](), Int[b]()), (Int[a](), b), (a, Int[b]())):
                with pytest.raises(type(error)):
                    op(x, y)
            continue
        assert op(Int[a](), Int[b]()) == op(Int[a](), b) == op(a, Int[b]()) == value
        assert is_static(op(Int[a](), Int[b]()))
        assert is_static(op(Int[a](), b)) == independent(op, a, b, "left"), (op, a, b)
        # sum() begins with 0 + x and math.prod() with 1 * x: there the static operand itself is the answer
        begins = (op, a) in ((operator.add, 0), (operator.mul, 1))
        assert is_static(op(a, Int[b]())) == (begins or independent(op, a, b, "right")), (op, a, b)


def test_add_and_mul_never_look_at_a_dynamic_value():
    for a, b in itertools.product(SMALL, SMALL):
        for f, value in ((add, a + b), (mul, a * b)):
            assert f(a, Int[b]()) == f(Int[a](), b) == f(Int[a](), Int[b]()) == value
            assert is_static(f(Int[a](), Int[b]()))
        assert not is_static(add(a, Int[b]()))
        assert not is_static(add(Int[a](), b))
        assert is_static(mul(a, Int[b]())) == (b == 0)
        assert is_static(mul(Int[a](), b)) == (a == 0)


def test_unary_and_builtin_functions_keep_staticness():
    for n in SMALL:
        x = Int[n]()
        for f in (operator.neg, operator.pos, operator.invert, abs):
            assert f(x) == f(n)
            assert is_static(f(x))
    assert is_static(sum([Int[4](), Int[2]()]))
    assert is_static(math.prod([Int[4](), Int[2]()]))
    assert divmod(Int[7](), Int[2]()) == (3, 1)
    assert all(map(is_static, divmod(Int[7](), Int[2]())))
    assert divmod(7, Int[2]()) == (3, 1)
    assert is_static(Int[2]() ** Int[5]())
    assert not is_static(Int[2]() ** 5)
    assert pow(Int[2](), Int[5](), Int[7]()) == 4


def test_it_is_an_integer_everywhere():
    x = Int[3]()
    assert [10, 20, 30, 40][x] == 40
    assert list(range(x)) == [0, 1, 2]
    assert np.arange(10)[x] == 3
    assert np.zeros((x, Int[2]())).shape == (3, 2)
    assert (np.arange(4) * x).tolist() == [0, 3, 6, 9]
    assert (np.arange(4, dtype=np.int8) * x).dtype == np.int8
    assert hash(x) == hash(3)
    assert {3: "a"}[x] == "a"
    assert x == 3 == x
    assert x != 4
    assert int(x) == 3
    assert type(int(x)) is int
    assert f"{x} {x:3d} {x!r}" == "_3   3 Int[3]()"


def test_it_survives_pickle_and_copy():
    for y in (
        pickle.loads(pickle.dumps(Int[3]())),
        copy.copy(Int[3]()),
        copy.deepcopy([Int[3]()])[0],
        eval(repr(Int[-3]())) + Int[6](),
    ):
        assert y == 3
        assert is_static(y)


def test_the_type_and_its_value():
    assert Int[4] == Int[4] != Int[5]
    assert hash(Int[4]) == hash(Int[4])
    assert isinstance(Int[4](), Int[4])
    assert not isinstance(Int[5](), Int[4])
    assert not isinstance(4, Int[4])
    assert isinstance(Int[4], Static)
    assert Int[4].value == 4
    assert Int[np.int64(4)] == Int[4]


@pytest.mark.parametrize("other", [True, 2.0, "2", 2j])
@pytest.mark.parametrize("op", [*BINARY, operator.truediv])
def test_operands_that_are_no_integers_are_refused(op, other):
    with pytest.raises(LeafTypeError):
        op(Int[4](), other)


def test_true_division_and_negative_powers_are_refused():
    for a, b in ((Int[4](), 2), (4, Int[2]()), (Int[4](), Int[2]())):
        with pytest.raises(LeafTypeError, match="//"):
            a / b
    for e in (-1, Int[-1]()):
        with pytest.raises(RangeError):
            Int[2]() ** e


@pytest.mark.parametrize("wrong", [True, 4.0, "4", None, (4,), [4], Int[4], np.float64(4), np.bool_(True)])
def test_leaves_that_are_no_integers_are_refused(wrong):
    with pytest.raises(LeafTypeError):
        leaf(wrong)
    with pytest.raises(LeafTypeError):
        Int[wrong]
    assert not is_int(wrong)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_numpy_integers_are_dynamic(dtype):
    assert leaf(dtype(4)) == 4
    assert type(leaf(dtype(4))) is int
    assert is_int(dtype(4))


def test_int_takes_square_brackets():
    with pytest.raises(LeafTypeError, match=r"Int\[4\]\(\)"):
        Int(4)


def test_questions_have_three_answers():
    for a, b in itertools.product(SMALL, SMALL):
        assert equal(a, Int[b]()) is (a == b)
        assert at_most(a, b) is (a <= b)
        assert divides(a, b) is (a != 0 and b % a == 0)
    assert equal(object(), 4) is None


def test_ceil_div_and_shape_div_by_definition():
    for a, b in itertools.product(range(30), range(1, 12)):
        assert ceil_div(a, b) == min(q for q in range(31) if q * b >= a)
        if a % b == 0:
            assert shape_div(a, b) == a // b
        elif a and b % a == 0:
            assert shape_div(a, b) == 1
        else:
            with pytest.raises(DivisibilityError) as caught:
                shape_div(a, b)
            fixed = int(caught.value.reason.fix.split()[1])  # "use N for B"
            assert shape_div(a, fixed) == a // fixed
        for static_a, static_b in itertools.product((True, False), repeat=2):
            x, y = Int[a]() if static_a else a, Int[b]() if static_b else b
            assert is_static(ceil_div(x, y)) is (static_a and static_b)
    with pytest.raises(DivisibilityError):
        shape_div(4, 0)


def test_numbers_of_other_kinds_are_refused_by_pow_too():
    from fractions import Fraction

    for other in (0.5, True, np.True_, np.float32(1.5), Fraction(1, 2)):
        for op in (operator.add, operator.mul, operator.pow):
            with pytest.raises(LeafTypeError):
                op(Int[4](), other)


def test_rounding_keeps_staticness():
    for f in (round, math.floor, math.ceil, math.trunc):
        assert is_static(f(Int[123]()))
    assert round(Int[123](), -2) == 100


def test_more_than_64_bits():
    for n in (2**63, -(2**63) - 1, 10**5000):
        for f in (
            leaf,
            lambda x: Int[x],
            tla.MakeShape,
            tla.MakeLayout,
            lambda x: tla.ceil_div(3, x),
            lambda x: tla.get[x]((1, 2)),
        ):
            with pytest.raises(RangeError, match="bits"):
                f(n)
    assert tla._9223372036854775807 == 2**63 - 1
    for name in ("_9223372036854775808", "_007"):
        with pytest.raises(AttributeError):
            getattr(tla, name)


def test_deep_tuples_are_no_static_values():
    deep = 1
    for _ in range(100_000):
        deep = (deep,)
    assert not is_static(deep)
    for f in (lambda: tla.Shape[deep], lambda: tla.Layout[deep], lambda: tla.get[5](deep)):
        with pytest.raises(tla.TlaError):
            f()


def test_options_of_numpy_functions_pass():
    out = np.zeros(3, np.int32)
    np.add(np.arange(3, dtype=np.int32), Int[4](), out=out)
    assert out.tolist() == [4, 5, 6]


def test_powers_are_static_where_they_must_be():
    for a, b in itertools.product(range(-3, 4), range(4)):
        assert Int[a]() ** Int[b]() == Int[a]() ** b == a ** Int[b]() == a**b
        assert is_static(Int[a]() ** Int[b]())
        assert is_static(Int[a]() ** b) is (a == 1)
        assert is_static(a ** Int[b]()) is (b == 0)


def test_a_quotient_by_nothing_is_refused():
    for b in (0, Int[0]()):
        with pytest.raises(RangeError, match="divisor that is not 0"):
            tla.safe_div(4, b)


def test_powers_of_what_is_not_known_are_no_integers():
    for n in (1, 2):
        for exponent in (tla.dim("M"), tla.index("i", 4, at_least=-4)):
            with pytest.raises(TypeError, match="unsupported operand"):
                Int[n]() ** exponent
    for exponent in (-1, Int[-1]()):
        with pytest.raises(RangeError, match="no integer"):
            Int[2]() ** exponent
    assert pow(Int[3](), -1, 7) == 5
