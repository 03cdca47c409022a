"""Formats by their definition, code by code, and every store of a number into them: rounded, or refused."""

import functools
import itertools
from bisect import bisect
from fractions import Fraction

import numpy as np
import pytest

import tla
from tla import LeafTypeError, MakeTensor, Packed, RangeError, copy, copy_if, fill, parse, reduce
from tla.core import element
from tla.core.values import (
    converted,
    format_of,
    held,
    holds_all,
    nearest as rounded_to,
    require_castable,
    require_numbers,
)

ml_dtypes = pytest.importorskip("ml_dtypes")

INF, NAN = float("inf"), float("nan")


def codes(exponent, mantissa, bias, special, signed=True):
    """The value of every code of a float format. special: what the codes of the largest exponent are."""
    top = (1 << exponent) - 1
    for sign, e, m in itertools.product((1, -1) if signed else (1,), range(top + 1), range(1 << mantissa)):
        if special == "ieee" and e == top:
            yield NAN if m else sign * INF
        elif (special == "fn" and e == top and m == (1 << mantissa) - 1) or (
            special == "fnuz" and sign < 0 and e == m == 0
        ):
            yield NAN
        elif special == "scale":
            yield NAN if e == top else Fraction(2) ** (e - bias)
        else:
            yield sign * (Fraction(m, 1 << mantissa) + (e > 0)) * Fraction(2) ** (max(e, 1) - bias)


#: bits of the exponent and the mantissa, bias, what is special; by OCP's and ml_dtypes' names.
FLOATS = {
    "float8_e3m4": (3, 4, 3, "ieee"),
    "float8_e4m3": (4, 3, 7, "ieee"),
    "float8_e5m2": (5, 2, 15, "ieee"),
    "float16": (5, 10, 15, "ieee"),
    "float8_e4m3fn": (4, 3, 7, "fn"),
    "float8_e4m3fnuz": (4, 3, 8, "fnuz"),
    "float8_e4m3b11fnuz": (4, 3, 11, "fnuz"),
    "float8_e5m2fnuz": (5, 2, 16, "fnuz"),
    "float8_e8m0fnu": (8, 0, 127, "scale", False),
    "float6_e2m3fn": (2, 3, 1, ""),
    "float6_e3m2fn": (3, 2, 3, ""),
    "float4_e2m1fn": (2, 1, 1, ""),
}
DTYPES = {
    name: np.dtype(getattr(ml_dtypes, name, name)) for name in FLOATS if hasattr(ml_dtypes, name) or name == "float16"
}


@functools.cache
def numbers_of(name):
    return [*codes(*FLOATS[name])]


@functools.cache
def finite(name):
    return sorted({Fraction(x) for x in numbers_of(name) if x == x and abs(x) != INF})


def is_held(name, x):
    """Whether a number is rounded, to the nearest and on a tie to the even one, to a finite one of a format whose
    exponents go on."""
    if x != x:
        return any(n != n for n in numbers_of(name))
    if abs(x) == INF:
        return x in numbers_of(name)
    numbers, x = finite(name), Fraction(x)
    high, step = numbers[-1], numbers[-1] - numbers[-2] if "e8m0" not in name else numbers[-1]
    odd = high / step % 2 == 1
    if "e8m0" in name:  # no zero, no sign: below the least exponent the format would go on too
        return numbers[0] * Fraction(3, 4) < x < high * Fraction(3, 2)
    return abs(x) < high + step / 2 or (abs(x) == high + step / 2 and not odd)


@pytest.mark.parametrize("name", DTYPES)
def test_formats_are_those_of_their_codes(name):
    """Each code of ml_dtypes is what the format's bits say, and the ends are theirs."""
    bits = 16 if name == "float16" else 8 if "8" in name else int(name[5])
    every = np.arange(1 << bits, dtype=np.uint16 if bits == 16 else np.uint8).view(DTYPES[name]).astype(np.float64)
    assert len(every) == len(numbers_of(name))
    assert all(a == b or (a != a and b != b) for a, b in zip(map(float, numbers_of(name)), every))
    found = format_of(DTYPES[name])
    assert (found.low, found.high) == (finite(name)[0], finite(name)[-1])
    assert (found.nan, found.infinite) == (any(n != n for n in numbers_of(name)), INF in numbers_of(name))
    for own in vars(element).values():
        if isinstance(own, element.Element) and element.DTYPES.get(own.name) == name:
            assert format_of(own) == found


def candidates(name):
    """Numbers around each end of a format: its last steps, all ties between, far away, and what is no number."""
    high, low = finite(name)[-1], finite(name)[0]
    step = high - finite(name)[-2]
    around = [s * (high + step * Fraction(k, 8)) for k in range(-9, 17) for s in (1, -1)]
    tiny = [low * Fraction(k, 8) for k in range(1, 12)] if low > 0 else []
    middle = finite(name)[len(finite(name)) // 2]
    return [
        *map(float, [*around, *tiny, middle, 0, 1, -1, 1000, -1000, 10**30, 2.0**-1000]),
        1e300,
        INF,
        -INF,
        NAN,
        -0.0,
    ]


def nearest(name, x):
    """The numbers of a format as near to x as any; of ml_dtypes' least scales, which float32 has not in full,
    the next one too."""
    numbers = finite(name)
    k = bisect(numbers, Fraction(x))
    near = numbers[max(k - 1, 0) : k + 1]
    least = min(abs(n - Fraction(x)) for n in near)
    return {float(n) for n in near if abs(n - Fraction(x)) == least or (numbers[0] > 0 and k < 2)}


@pytest.mark.parametrize("name", DTYPES)
def test_a_number_is_rounded_or_refused(name):
    """Of each number near the ends: what is held is the nearest, infinity and NaN themselves; all else is refused,
    alone or among others."""
    dtype, one = DTYPES[name], np.array([1, 0.5])
    for x in candidates(name):
        for kind in (np.float64, np.float32):
            values = np.array([x], kind) if abs(x) < 1e38 or x != x or abs(x) == INF else np.array([x])
            exact = float(values[0])
            for more in ([], one, np.array([NAN]), np.array([INF])):
                given = np.concatenate([values, np.asarray(more, values.dtype)])
                if all(is_held(name, float(v)) for v in given):
                    found = float(held("it", given, dtype)[0])
                    assert (
                        found in nearest(name, exact)
                        if abs(exact) < INF
                        else found == exact or (found != found and exact != exact)
                    )
                else:
                    with pytest.raises(RangeError, match=r"^it: ") as refused:
                        held("it", given, dtype)
                    assert refused.value.reason.expected == format_of(dtype).text


@pytest.mark.parametrize("name", DTYPES)
def test_integers_into_floats(name):
    for n in (
        0,
        1,
        -1,
        6,
        7,
        8,
        28,
        29,
        30,
        31,
        240,
        248,
        448,
        464,
        465,
        57344,
        61440,
        65504,
        65519,
        65520,
        2**63 - 1,
        -(2**63),
        10**30,
    ):
        values = np.array([n], None if abs(n) < 2**63 or n == -(2**63) else object)
        if is_held(name, n):
            assert float(held("it", values, DTYPES[name])[0]) in nearest(name, n)
        else:
            with pytest.raises(RangeError, match=f"it: {n} as {name}|it: .*e\\+"):
                held("it", values, DTYPES[name])


@pytest.mark.parametrize(("given", "wanted"), [*itertools.product(DTYPES, repeat=2)])
def test_one_format_holds_all_of_another(given, wanted):
    """If each number of it is held: then no value is looked at."""
    numbers = dict.fromkeys(float(n) if n == n and abs(n) != INF else n for n in numbers_of(given))
    assert holds_all(DTYPES[wanted], DTYPES[given]) == all(is_held(wanted, n) for n in numbers)


@pytest.mark.parametrize("name", ["int2", "int4", "uint2", "uint4", "int8", "uint8", "int16", "uint64"])
def test_integers_fit_or_are_refused(name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    bits = int(name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    assert (format_of(dtype).low, format_of(dtype).high) == (low, high)
    for n in (low, high, 0, 1):
        assert int(held("it", np.array([n], object), dtype)[0]) == n
    for n in (low - 1, high + 1, 2**70, -(2**70)):
        with pytest.raises(RangeError, match=f"integers from .* to .*|: {n} as {name}") as refused:
            held("it", np.array([1, n], object), dtype)
        assert refused.value.reason.expected == f"{low} to {high}"
    for wanted, fits in (
        ("float4_e2m1fn", -6 <= low and high <= 6),
        ("float8_e4m3fn", high <= 464),
        ("float16", high <= 65519),
    ):
        assert holds_all(DTYPES[wanted], dtype) == fits


def test_wide_floats():
    assert holds_all(np.dtype("float64"), np.dtype("float32")) > holds_all(np.dtype("float32"), np.dtype("float64"))
    half = 2.0**127 * (2 - 2.0**-24)  # the tie between the largest float32 and the next
    assert held("it", np.array([np.nextafter(half, 0)]), np.dtype("float32"))[0] == np.finfo("float32").max
    for x in (half, -half):
        with pytest.raises(RangeError):
            held("it", np.array([x]), np.dtype("float32"))
    long = np.finfo(np.longdouble)
    assert format_of(np.dtype(np.longdouble)).high >= format_of(np.dtype("float64")).high
    assert np.isinf(held("it", np.array([INF]), np.dtype(np.longdouble))[0])
    if long.maxexp > 1024:
        with pytest.raises(RangeError):
            held("it", np.array([long.max]), np.dtype("float64"))
        assert "e+4932" in format_of(np.dtype(np.clongdouble)).text
    tie = np.float64(2.0**127 * (2 - 2.0**-8))  # of bfloat16, which ml_dtypes reaches by way of float32
    with pytest.raises(RangeError):
        held("it", np.array([np.nextafter(tie, 0)]), np.dtype(ml_dtypes.bfloat16))


def test_complex_numbers_part_by_part():
    held("it", np.array([1e38 + 1e38j, INF * 1j]), np.dtype("complex64"))
    for x in (1e39, 1e39j, -1e39j):
        with pytest.raises(RangeError, match="as complex64"):
            held("it", np.array([0, x]), np.dtype("complex64"))
    with pytest.raises(LeafTypeError):
        require_castable(np.dtype("complex64"), np.dtype("float64"))


KINDS = [
    "bool",
    "int8",
    "uint8",
    "int64",
    "float16",
    "float32",
    "complex64",
    *(n for n in ("bfloat16", "float8_e4m3fn", "float4_e2m1fn", "int4")),
]


@pytest.mark.parametrize(("given", "wanted"), [*itertools.product(KINDS, repeat=2)])
def test_kinds_go_one_way(given, wanted):
    """Into floats goes every real number, into integers those types whose ends they hold; by value, every
    integer that fits."""
    rank = {
        name: "bool int float complex".split().index(kind)
        for name in KINDS
        for kind in [
            name.strip("8416320_emfnub")
            and (
                "bool" if name == "bool" else "complex" if "complex" in name else "float" if "float" in name else "int"
            )
        ]
    }
    one, two = (np.dtype(getattr(ml_dtypes, n, n)) for n in (given, wanted))
    ends = {"int8": (-128, 127), "uint8": (0, 255), "int64": (-(2**63), 2**63 - 1), "int4": (-8, 7)}
    fits = rank[given] <= rank[wanted]
    strict = fits and (
        rank[wanted] != 1
        or rank[given] == 0
        or (ends[wanted][0] <= ends[given][0] and ends[given][1] <= ends[wanted][1])
    )
    for allowed, f in (
        (strict, lambda: require_castable(one, two)),
        (fits or rank[given] == 1, lambda: converted("it", np.ones(2, one), two)),
    ):
        if allowed:
            f()
        else:
            with pytest.raises(LeafTypeError, match=f"elements of {one} into {two}"):
                f()


def test_operands_of_types_that_numpy_lacks():
    """An element type may be asked by itself: of what a wider array carries."""
    for kind, values, fits in (
        (element.uint1, [0, 1], True),
        (element.uint1, [2], False),
        (element.uint4, [15], True),
        (element.uint4, [255], False),
        (element.uint4, [-1], False),
        (element.int4b, [-8, 7], True),
        (element.int4b, [8], False),
        (element.fp8_ue4m3, [0.0, 448.0], True),
        (element.fp8_ue4m3, [-1.0], False),
        (element.fp4_e1m2, [1.75, -1.75], True),
        (element.fp4_e1m2, [2.0], False),
        (element.tf32, [3.4e38], True),
        (element.fp8_e4m3, [1000.0], False),
        (element.fp6_e3m2, [NAN], False),
        (element.fp6_e3m2, [28.0], True),
    ):
        if fits:
            require_numbers("A", np.array(values), kind)
        else:
            with pytest.raises(RangeError, match=f"^A: .* as {kind}"):
                require_numbers("A", np.array(values), kind)
    assert format_of(element.hif8) is None  # a format that nobody has asked for yet: it says nothing


STORES = {
    "t[i] = x": lambda t, x: t.__setitem__(0, x),
    "fill": lambda t, x: fill(t, x),
    "fill_padding": lambda t, x: tla.fill_padding(MakeTensor(t.data, parse("(2):(1)", origin_shape=(1,))), x),
    "copy": lambda t, x: copy(np.array([1, x]), t),
    "copy_if": lambda t, x: copy_if(np.array([True, True]), np.array([1, x]), t),
    "reduce": lambda t, x: reduce(np.array([[1.0, 0], [x, 0]]), t, 1),
    "gemm": lambda t, x: tla.gemm(np.array([[1.0], [x]]), np.array([[1.0]]), MakeTensor(t.data, parse("(2,1):(1,1)"))),
    "asarray": lambda t, x: np.asarray(MakeTensor(np.array([1, x])), t.dtype),
    "gpu.fill": lambda t, x: tla.gpu.fill(t, x),
    "gpu.transform": lambda t, x: tla.gpu.transform(MakeTensor(np.array([1, x])), t, lambda v: v),
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize(("name", "wrong", "right"), [
    ("float4_e2m1fn", [NAN, INF, -INF, 1000.0, 7.0], 6.0),
    ("float6_e2m3fn", [NAN, INF, 8.0], -7.5),
    ("float6_e3m2fn", [NAN, INF, 30.0], 28.0),
    ("float8_e4m3fn", [INF, 500.0], 448.0),
    ("float8_e4m3fnuz", [INF, 250.0], -240.0),
    ("float8_e5m2fnuz", [INF, 1e6], 57344.0),
    ("float8_e5m2", [1e6], 57344.0),
    ("float16", [70000.0, -1e9], 65504.0),
    ("bfloat16", [1e39], 1e38),
    ("float32", [1e39], 1e38),
])  # fmt: skip
def test_every_store_asks(store, name, wrong, right):
    """What a type does not hold is refused wherever it would be stored, and nothing is written."""
    if not hasattr(ml_dtypes, name) and name not in ("float16", "float32"):
        pytest.skip(f"ml_dtypes has no {name}")
    t = MakeTensor(np.ones(2, getattr(ml_dtypes, name, name)))
    for x in wrong:
        with pytest.raises(RangeError, match=f"as ({name}|float32)"):
            STORES[store](t, x)
        assert t.data.tolist() == [1, 1]
    STORES[store](t, right)
    if store in ("fill", "gpu.fill"):
        assert [float(n) for n in t.data] == [float(np.dtype(t.dtype).type(right))] * 2


@pytest.mark.parametrize("kind", ["fp4_e2m1", "int4b", None])
def test_packed_elements_too(kind):
    t = MakeTensor(Packed(np.zeros(2, np.uint8), kind and getattr(element, kind)), parse("4:1"))
    wrong = {"fp4_e2m1": [NAN, INF, 1000.0, 7, -100], "int4b": [8, -9, 300], None: [16, 255, 256, -1]}[kind]
    right = {"fp4_e2m1": [-6.0, 0.5], "int4b": [-8, 7], None: [15, 0]}[kind]
    for x in wrong:
        with pytest.raises(RangeError, match="an infinity as" if x == INF else f"(?i){x!r:.4}.* as"):
            t[1] = x
        with pytest.raises(RangeError):
            fill(t, x)
        assert not t.data.memory.any()
    for x in right:
        t[1] = x
        assert t[1] == x
    if kind != "fp4_e2m1":
        with pytest.raises(LeafTypeError):
            t[1] = 1.5


def test_the_4_bits_of_ascend_have_no_infinity():
    """e1m2: 0, 0.25, ... 1.75 and their negatives, in steps of 1/4; its codes are all numbers."""
    found = format_of(element.fp4_e1m2)
    assert (found.low, found.high, found.infinite, found.nan) == (Fraction(-7, 4), Fraction(7, 4), False, False)


@pytest.mark.parametrize("name", [*FLOATS, "fp4_e1m2", "bfloat16"])
def test_what_numpy_has_not_is_rounded_to_the_nearest_and_of_two_to_the_even_one(name):
    """Every number of a format, and what lies at and beside the middle of each two."""
    if "e8m0" in name:  # no sign, and no zero
        return
    if name == "bfloat16":
        bits = np.random.default_rng(0).integers(0, 2**32, 10_000, np.uint32)
        given = bits.view(np.float32)[np.isfinite(bits.view(np.float32))]
        assert (rounded_to(given, element.bf16) == given.astype(ml_dtypes.bfloat16).astype(np.float64)).all()
        return
    numbers = [n for n in finite(name) if n >= 0] if name in FLOATS else [Fraction(k, 4) for k in range(8)]
    pairs = [*itertools.pairwise(enumerate(numbers))]
    given = [
        (a + (b - a) * Fraction(k, 16), (a, b)[k > 8 or (k == 8 and i % 2)])
        for (i, a), (_, b) in pairs
        for k in range(17)
    ]
    x, wanted = (np.array([*map(float, side)]) for side in zip(*given))
    kind = DTYPES.get(name) or getattr(element, name)
    for sign in (1, -1):
        assert (rounded_to(sign * x, kind) == sign * wanted).all()
    assert np.isnan(rounded_to(np.array([NAN]), kind)).all()
