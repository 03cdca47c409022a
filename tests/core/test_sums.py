"""Sums and products, exact for integers by Python's own; finite numbers stay finite, or are refused."""

import functools
import operator
import random

import numpy as np
import pytest

import tla
from tla import LeafTypeError, RangeError, gemm, reduce
from tla.core.sums import matmul, reduced, sum_type, summands

BIG = [2**62, -(2**63), 2**63 - 1, 2**32, -(2**31), 3, 0, -1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("operation", ["add", "multiply", "subtract", "maximum", "bitwise_xor"])
def test_reductions_of_integers_are_exact(dtype, operation):
    rng, info = random.Random(5), np.iinfo(dtype)
    python = {
        "add": operator.add,
        "multiply": operator.mul,
        "subtract": operator.sub,
        "maximum": max,
        "bitwise_xor": operator.xor,
    }
    stored = refused = 0
    for _ in range(60):
        values = [
            rng.choice([info.min, info.max, 0, 1, 2, rng.randint(info.min, info.max)]) for _ in range(rng.randint(1, 5))
        ]
        true, given = functools.reduce(python[operation], values), np.array(values, object).astype(dtype)
        assert int(reduced("it", getattr(np, operation), summands("it", given, np.dtype(dtype)), (0,))) == true
        out = np.zeros((), dtype)
        if info.min <= true <= info.max:
            reduce(given, out, 0, getattr(np, operation))
            assert int(out) == true
            stored += 1
        else:
            with pytest.raises(RangeError, match=f"expected  {info.min} to {info.max}"):
                reduce(given, out, 0, getattr(np, operation))
            refused += 1
    assert stored > 5
    assert (refused > 5) == (operation not in ("maximum", "bitwise_xor"))


@pytest.mark.parametrize("dtype", ["int64", "uint64", "int32", "uint8"])
def test_products_of_integers_are_exact(dtype):
    """Of matrices whose sums pass 64 bits on the way, back, and at the end."""
    rng, info = random.Random(6), np.iinfo(dtype)
    stored = refused = 0
    for _ in range(80):
        m, n, k = (rng.randint(1, 4) for _ in range(3))
        pool = [x for x in [*BIG, info.min, info.max, 1, 2] if info.min <= x <= info.max]
        a, b, c = ([[rng.choice(pool) for _ in range(q)] for _ in range(p)] for p, q in ((m, k), (k, n), (m, n)))
        more = rng.random() < 0.5
        true = [[sum(a[i][p] * b[p][j] for p in range(k)) + more * c[i][j] for j in range(n)] for i in range(m)]
        left, right, out = (np.array(x, object).astype(dtype) for x in (a, b, c))
        if all(info.min <= x <= info.max for row in true for x in row):
            gemm(left, right, out, tile=(4, 4, rng.randint(1, 4)), accumulate=more)
            assert [[int(x) for x in row] for row in out] == true
            stored += 1
        else:
            with pytest.raises(RangeError):
                gemm(left, right, out, tile=(4, 4, 2), accumulate=more)
            assert out.tolist() == c
            refused += 1
    assert min(stored, refused - 20) > 3


def test_sums_that_were_wrong():
    """Four products of -2^31 squared are 2^64; 2^63 - 1 and 4 are past 64 bits: once they wrapped to what int32 and
    int64 hold."""
    least = np.full((1, 4), -(2**31), np.int32)
    with pytest.raises(RangeError, match=str(2**64)):
        gemm(least, least.T.copy(), np.zeros((1, 1), np.int32))
    out = np.array([[2**63 - 1]])
    with pytest.raises(RangeError, match=str(2**63 + 3)):
        gemm(np.array([[2]]), np.array([[2]]), out, accumulate=True)
    assert out[0, 0] == 2**63 - 1
    with pytest.raises(RangeError):
        reduce(np.array([2**63 - 1, 1]), np.zeros((), np.int64), 0)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2", "float32", "float64"])
def test_finite_numbers_stay_finite(name):
    """A sum past the ends of a type is refused, as a value is; infinities that were given are kept."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    most = np.array([float(ml_dtypes.finfo(dtype).max)]).astype(dtype)
    three = np.concatenate([most, most, most])
    for f in (
        lambda out: reduce(three, out, 0),
        lambda out: gemm(three[None], np.ones((3, 1), dtype), out.reshape(1, 1)),
    ):
        out = np.zeros((), dtype)
        with pytest.raises(RangeError, match=f"as {name}|a sum that float(32|64)"):
            f(out)
        assert out == 0
    endless = np.array([float("inf"), 1]).astype(dtype)
    out = np.zeros((), dtype)
    reduce(endless, out, 0)
    assert np.isinf(out)


def test_narrow_floats_are_summed_in_float32():
    """2048 and 1 one thousand times: in 16 bits it stays 2048."""
    values = np.ones(1001, np.float16)
    values[0] = 2048
    out = np.zeros((), np.float16)
    reduce(values, out, 0)
    assert out == 3048
    assert [sum_type(np.dtype(n)).name for n in ("float16", "float32", "float64", "int8", "uint64", "bool", "complex64")] == [
        "float32", "float32", "float64", "int64", "int64", "bool", "complex64",
    ]  # fmt: skip


@pytest.mark.parametrize(("values", "out", "operation"), [
    (np.array([3, 5]), np.zeros((), int), np.greater),
    (np.array([3.0, 5]), np.zeros(()), np.bitwise_and),
    (np.array([3, 5]), np.zeros((), int), np.true_divide),
    (np.array([b"a", b"b"]), np.zeros((), "S1"), np.add),
    (np.array([1, 2], "m8[s]"), np.zeros((), "m8[s]"), np.multiply),
])  # fmt: skip
def test_what_does_not_reduce_is_refused(values, out, operation):
    with pytest.raises(LeafTypeError):
        reduce(values, out, 0, operation)


@pytest.mark.parametrize("kind", ["S1", "m8[s]", "M8[s]"])
def test_what_does_not_multiply_is_refused(kind):
    a = np.zeros((2, 2), kind)
    with pytest.raises(LeafTypeError, match="gemm"):
        gemm(a, a, a.copy())


def test_matmul_by_definition():
    a, b = np.array([[2**62, 2**62]]), np.array([[2], [-2]])
    assert matmul("it", a, b).tolist() == [[0]]
    assert matmul("it", np.array([[2**62]]), np.array([[4]])).tolist() == [[2**64]]
    assert matmul("it", np.zeros((1, 0), int), np.zeros((0, 1), int)).tolist() == [[0]]


def test_axpby_is_exact_or_refused():
    """Once int8 wrapped at 127, and float16 was infinite on the way to what it holds."""
    axpby = tla.gpu.axpby
    y = np.array([1, 2], np.int8)
    axpby(2, np.array([60, -60], np.int8), 3, y)
    assert y.tolist() == [123, -114]
    with pytest.raises(RangeError, match="integers from"):
        axpby(2, np.array([100, -100], np.int8), 1, y)
    axpby(2, np.array([100, -100], np.int8), -1, y := np.array([77, -77], np.int8))
    assert y.tolist() == [123, -123]
    h = np.array([40000.0], np.float16)
    axpby(2, np.array([40000.0], np.float16), -1, h)
    assert h.tolist() == [40000.0]
    with pytest.raises(RangeError, match="as float16"):
        axpby(2, h.copy(), 1, h)
    f = np.array([3e38], np.float32)
    with pytest.raises(RangeError, match="sum that float32"):
        axpby(2, f.copy(), 1, f)
    with pytest.raises(LeafTypeError):
        axpby(0.5, y.copy(), 1, y)
