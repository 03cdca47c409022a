"""Coordinates and integers that are numpy's: computed as integers, whatever their width, or refused."""

import itertools
import operator

import numpy as np
import pytest

import tla
from tla import ArithmeticTuple, E, Int, RangeError, parse
from tla.core.arrays import computed

BIG = parse("(_4294967296):(_4294967296)")


@pytest.mark.parametrize("x", [np.array(2**32 - 1), np.array([2**32 - 1]), np.array(2**32 - 1, np.uint64), np.array(2**32 - 1, np.uint32)])
def test_offsets_past_64_bits_are_refused(x):
    for layout in (BIG, parse("Sw<3,4,3> o _0 o (_4294967296):(_4294967296)"), parse("(_1):(_1) o _7 o (_4294967296):(_4294967296)")):
        with pytest.raises(RangeError):
            layout(x)
    with pytest.raises(RangeError):
        parse("(_4294967296):(_4294967296@0)")(x)
    assert BIG(x - x + 5) == 5 * 2**32


@pytest.mark.parametrize("x", [np.uint64(2**64 - 1), np.array(2**64 - 1, np.uint64), np.array([2**64 - 1], np.uint64)])
def test_unsigned_integers_past_63_bits(x):
    with pytest.raises(RangeError):
        parse("(1):(1)")(x)


def test_sums_past_64_bits_on_the_way_are_exact():
    layout = parse("(_2,_2,_2):(_4611686018427387904,_4611686018427387904,_-4611686018427387904)")
    one = np.array([1])
    assert layout(one, one, one) == 2**62
    assert layout(np.array(1), np.array(1), np.array(1)).dtype == np.int64


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64])
def test_narrow_coordinates_compute_as_integers(dtype):
    """Every coordinate function on an array is the function of each of its integers."""
    xs = np.arange(100, 120).astype(dtype)
    cases = [
        parse("(_7,_9):(_1000,_3)"),
        parse("(_7,_9):(_1000@0,_3@1)"),
        parse("(_7,_9):(_100@0,_100@0)"),
        parse("Sw<2,1,3> o 300 o (_7,_9):(_1000,_3)"),
        lambda x: tla.idx2crd(x, (300, 7)),
        lambda x: tla.idx2crd(x, (7, 300), (300, 1)),
        lambda x: tla.crd2idx((x, x), (300, 7)),
        lambda x: tla.crd2crd((x, x), (300, 7), (1000, 9)),
        lambda x: tla.elem_less((x,), (300,)),
        lambda x: tla.elem_leq((x,), (Int[300](),)),
        lambda x: tla.mul(x, 4),
        lambda x: tla.add(300, x),
        lambda x: E[0] * 300 * x + E[0] * x,
        lambda x: -(E[0] * 128 * x),
        lambda x: (ArithmeticTuple(x, 1) * 200) * x,
        lambda x: ArithmeticTuple(x, 1) * 200 + (x, 5),
    ]
    for f in cases:
        found = flat(f(xs))
        wanted = [flat(f(int(x))) for x in xs]
        for k, column in enumerate(found):
            assert [int(n) for n in np.broadcast_to(column, xs.shape)] == [int(w[k]) for w in wanted]
        assert [[int(n) for n in flat(f(x))] for x in xs] == [[int(n) for n in w] for w in wanted]


def flat(x):
    """The integers of a coordinate or an offset, in one list."""
    if isinstance(x, tuple):
        return [n for m in x for n in flat(m)]
    return [x.value] if hasattr(x, "path") else [x]


def test_comparisons_past_63_bits():
    large = np.array([2**64 - 1, 3], np.uint64)
    assert tla.elem_less((np.array([2**63 - 1, 3]),), (large,)).tolist() == [True, False]
    assert tla.elem_leq((large,), (2**63 - 1,)).tolist() == [False, True]


def test_arithmetic_of_arrays_is_exact():
    edges = [0, 1, -1, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)]
    for a, b in itertools.product(edges, repeat=2):
        for one, two in itertools.product((a, np.array([a]), np.array(a), np.int64(a)), (b, np.array([b]), np.array(b), np.int64(b))):
            assert np.all(np.equal(tla.mul(one, two), a * b)), (one, two)
            assert np.all(np.equal(tla.add(one, two), a + b)), (one, two)


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, operator.lt, operator.le, operator.eq])
def test_quotients_and_comparisons_past_64_bits_are_exact(operation):
    values = [-(2**63), -(2**63) + 1, -1, 3, 2**63 - 1]
    for array, n in itertools.product((values, values[1:], [3]), (2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**64, -(2**64), -1)):
        assert computed(operation, np.array(array), n).tolist() == [operation(x, n) for x in array]
        assert computed(operation, n, np.array(array)).tolist() == [operation(n, x) for x in array]


def test_mul_and_add_of_numpy_integers_are_integers():
    assert tla.mul(np.int8(100), 4) == 400
    assert tla.add(np.uint8(200), np.uint8(100)) == 300
    assert type(tla.mul(np.int8(100), Int[1]())) is int


def test_coordinates_past_64_bits_are_refused():
    for f in (lambda: E[1] * np.array([2**62]) * 4, lambda: E[0] * np.array([2**63 - 1]) + E[0], lambda: -(E[0] * np.array([-(2**63)]))):
        with pytest.raises(RangeError):
            f()
    assert operator.neg(E[0] * np.array([5])).value == -5


def test_a_swizzle_needs_a_type_that_has_all_its_bits():
    def array(name):  # of another library: what the values are is not known
        operations = ("add", "mul", "floordiv", "mod", "and", "xor", "rshift", "lshift")
        return type("Array", (), {"dtype": name, **{f"__{o}__": lambda self, _: self for o in operations}})()

    for numbers, fits in (((3, 0, 4), {"int8", "uint8"}), ((3, 0, -4), {"int8", "uint8"}), ((4, 0, 4), {"uint8"}), ((3, 4, 3), set())):
        for name in ("int8", "uint8"):
            x = array(name)
            if name in fits:
                assert tla.Swizzle[numbers]()(x) is x
            else:
                with pytest.raises(RangeError, match=f"coordinates of {name}"):
                    tla.Swizzle[numbers]()(x)


def test_a_swizzle_has_62_bits_at_most():
    assert tla.Swizzle[20, 2, 40]()(1 << 42) == 1 << 42 | 4
    with pytest.raises(RangeError, match="at most 62 bits"):
        tla.Swizzle[20, 3, -40]()


def test_what_fits_in_64_bits_stays_an_array_of_them():
    for f, a, b in ((tla.add, [1 - 2**63], -1), (tla.add, [2**63 - 2], 1), (tla.mul, [1, 2], 5), (tla.mul, [2**62], -2)):
        assert f(np.array(a), b).dtype == np.int64
    assert tla.add(np.array([2**63 - 1]), 1).dtype == object
