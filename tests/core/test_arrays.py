"""Coordinates and integers that are numpy's: computed as integers, whatever their width, or refused."""

import itertools
import operator

import numpy as np
import pytest

import tla
from tla import ArithmeticTuple, E, Int, LeafTypeError, RangeError, parse, xla
from tla.core.arrays import computed, seen
from tla.gpu import BufferResource, Im2colMap, half
from tla.linear import LinearLayout, triton

BIG = parse("(_4294967296):(_4294967296)")


@pytest.mark.parametrize(
    "x", [np.array(2**32 - 1), np.array([2**32 - 1]), np.array(2**32 - 1, np.uint64), np.array(2**32 - 1, np.uint32)]
)
def test_offsets_past_64_bits_are_refused(x):
    for layout in (
        BIG,
        parse("Sw<3,4,3> o _0 o (_4294967296):(_4294967296)"),
        parse("(_1):(_1) o _7 o (_4294967296):(_4294967296)"),
    ):
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
        for one, two in itertools.product(
            (a, np.array([a]), np.array(a), np.int64(a)), (b, np.array([b]), np.array(b), np.int64(b))
        ):
            assert np.all(np.equal(tla.mul(one, two), a * b)), (one, two)
            assert np.all(np.equal(tla.add(one, two), a + b)), (one, two)


@pytest.mark.parametrize("operation", [operator.floordiv, operator.mod, operator.lt, operator.le, operator.eq])
def test_quotients_and_comparisons_past_64_bits_are_exact(operation):
    values = [-(2**63), -(2**63) + 1, -1, 3, 2**63 - 1]
    for array, n in itertools.product(
        (values, values[1:], [3]), (2**63, 2**63 - 1, -(2**63), -(2**63) - 1, 2**64, -(2**64), -1)
    ):
        assert computed(operation, np.array(array), n).tolist() == [operation(x, n) for x in array]
        assert computed(operation, n, np.array(array)).tolist() == [operation(n, x) for x in array]


def test_mul_and_add_of_numpy_integers_are_integers():
    assert tla.mul(np.int8(100), 4) == 400
    assert tla.add(np.uint8(200), np.uint8(100)) == 300
    assert type(tla.mul(np.int8(100), Int[1]())) is int


def test_coordinates_past_64_bits_are_refused():
    for f in (
        lambda: E[1] * np.array([2**62]) * 4,
        lambda: E[0] * np.array([2**63 - 1]) + E[0],
        lambda: -(E[0] * np.array([-(2**63)])),
    ):
        with pytest.raises(RangeError):
            f()
    assert operator.neg(E[0] * np.array([5])).value == -5


def test_a_swizzle_needs_a_type_that_has_all_its_bits():
    def array(name):  # of another library: what the values are is not known
        operations = ("add", "mul", "floordiv", "mod", "and", "xor", "rshift", "lshift")
        return type("Array", (), {"dtype": name, **{f"__{o}__": lambda self, _: self for o in operations}})()

    for numbers, fits in (
        ((3, 0, 4), {"int8", "uint8"}),
        ((3, 0, -4), {"int8", "uint8"}),
        ((4, 0, 4), {"uint8"}),
        ((3, 4, 3), set()),
    ):
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
    for f, a, b in (
        (tla.add, [1 - 2**63], -1),
        (tla.add, [2**63 - 2], 1),
        (tla.mul, [1, 2], 5),
        (tla.mul, [2**62], -2),
    ):
        assert f(np.array(a), b).dtype == np.int64
    assert tla.add(np.array([2**63 - 1]), 1).dtype == object


#: Functions of an integer that meet numbers which few bits do not hold, each of an integer below `below`.
WIDE = LinearLayout({"i": [(300,), (5,), (1000,)], "j": []}, {"o": 1024})
PADDED = triton.PaddedSharedLayout.with_identity_for([[32, 4], [128, 8]], [64, 64], [1, 0])
TILED, SWAPPED = "f32[300,500]{1,0:T(8,128)}", "bf16[70000]{0:T(1024)(2,1)}"
FUNCTIONS = {
    "LinearLayout.apply": (lambda x: WIDE.apply({"i": x, "j": 0})["o"], 120),
    "LinearLayout.apply, several": (
        lambda x: WIDE.invert_and_compose(LinearLayout.identity_1d(1024, "o", "o")).apply({"i": x, "j": x})["o"],
        120,
    ),
    "padded": (PADDED.padded, 120),
    "layout": (parse("(_7,_9):(_1000,_3)"), 120),
    "layout, of two": (lambda x: parse("(300,300):(1,300)")(x, x), 120),
    "swizzle": (tla.Swizzle[3, 0, 9](), 120),
    "composed": (parse("Sw<2,1,3> o 300 o (_7,_9):(_1000,_3)"), 120),
    "linear_index": (lambda x: xla.linear_index(TILED, (x, x)), 120),
    "multi_index": (lambda x: xla.multi_index(SWAPPED, x)[0], 120),
    "crd2idx": (lambda x: tla.crd2idx((x, x), (300, 7)), 120),
    "idx2crd": (lambda x: tla.idx2crd(x, (7, 300), (300, 1))[1], 120),
    "coordinates": (lambda x: (E[0] * 300 * x + E[0] * x)[0], 120),
    "a difference": (lambda x: (E[0] * 5 - E[0] * x)[0], 120),
    "a difference of modes": (lambda x: (ArithmeticTuple(5, 1) - ArithmeticTuple(x, 0))[0], 120),
    "from 2^31 on": (parse("(1):(2147483648)"), 1),
    "from 2^31 on, xor": (tla.Swizzle[1, 30, 1](), 120),
    "from 2^31 on, linear": (lambda x: LinearLayout({"i": [(2**31,)]}, {"o": 2**32}).apply({"i": x})["o"], 2),
    "from 2^31 on, an index": (lambda x: xla.linear_index("u8[65536,65535]{1,0}", (x, x)), 120),
}
DTYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@pytest.mark.parametrize("dtype", [*DTYPES, "int64", "uint64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arrays_of_numpy_are_the_integers_in_them(name, dtype):
    f, below = FUNCTIONS[name]
    xs = np.arange(min(below, 100), dtype=dtype)
    found = np.broadcast_to(f(xs), xs.shape)
    assert [int(n) for n in found] == [int(f(int(x))) for x in xs]
    with pytest.raises(LeafTypeError):
        f(xs.astype(float))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("traced", [False, True])
def test_arrays_of_jax_are_the_integers_in_them_or_refused(name, dtype, traced):
    """JAX's integers wrap without a word: a dtype that may not hold what arises is refused, in programs too; one of 32
    bits is taken."""
    jax = pytest.importorskip("jax")
    f, below = FUNCTIONS[name]
    xs = jax.numpy.arange(min(below, 100), dtype=dtype)
    try:
        found = (jax.jit(f) if traced else f)(xs)
    except RangeError as refused:
        assert str(refused).startswith(f"coordinates of {dtype} for ")
        assert (
            "31" in name
            or dtype not in ("int32", "uint32")
            or (dtype == "uint32" and ("difference" in name or name == "multi_index"))
        )
    else:
        assert [int(n) for n in np.broadcast_to(np.asarray(found), xs.shape)] == [
            int(f(int(x))) for x in np.asarray(xs)
        ]
        assert dtype == "uint32" or "31" not in name


def test_indices_of_concrete_jax_arrays_are_looked_at():
    """A tracer's values cannot be seen; those of an array can."""
    jax = pytest.importorskip("jax")
    five, zero = jax.numpy.array([1, 5]), jax.numpy.array([0, 0])
    for f in (
        lambda: xla.linear_index("f32[2,3]", (five, zero)),
        lambda: xla.linear_index("f32[2,3]", (zero - 1, zero)),
    ):
        with pytest.raises(RangeError, match=r"f32\[2,3\]"):
            f()
    for x in (7, -1):
        with pytest.raises(RangeError):
            xla.multi_index("f32[2,3]", jax.numpy.array([0, x]))
    assert jax.jit(lambda i, j: xla.linear_index("f32[2,3]", (i, j)))(five, zero).tolist() == [3, 15]
    assert seen(np.arange(3)).tolist() == seen(jax.numpy.arange(3)).tolist() == [0, 1, 2]
    jax.jit(lambda x: [x][seen(x) is not None])(five)
    assert seen(5) is None


def test_steps_past_64_bits_on_the_way():
    """The extents before a mode may be past 64 bits together; where the index there is 0, nothing is."""
    shape, zero = (2**31, 2**33, 2**31), np.array([0, 0])
    assert tla.crd2idx((zero, zero, zero), shape).tolist() == [0, 0]
    assert tla.crd2idx((zero + 3, zero, zero), shape).tolist() == [3, 3]
    with pytest.raises(RangeError):
        tla.crd2idx((zero, zero, zero + 1), shape)
    assert computed(operator.mul, np.array([0]), 2**64).tolist() == [0]
    assert computed(operator.add, np.array([-1]), 2**63).tolist() == [2**63 - 1]


@pytest.mark.parametrize(
    "operation", [operator.sub, operator.lshift, operator.xor, operator.and_, operator.or_, operator.rshift]
)
def test_other_operators_are_exact(operation):
    values = [-(2**63), -5, 0, 7, 2**62, 2**63 - 1]
    others = [0, 1, 5, 40] if operation in (operator.lshift, operator.rshift) else [*values, 2**63, -(2**63) - 1]
    for kind in (np.int64, np.int32, np.uint8):
        array = np.array([n for n in values if np.iinfo(kind).min <= n <= np.iinfo(kind).max], kind)
        for n in others:
            assert computed(operation, array, n).tolist() == [operation(int(x), n) for x in array]
            if operation not in (operator.lshift, operator.rshift):
                assert computed(operation, n, array).tolist() == [operation(n, int(x)) for x in array]


def test_what_stays_in_64_bits_is_not_made_of_pythons_integers():
    """An array is fast as long as nothing has to be exact."""
    x = np.array([3, -(2**62)])
    for f in (
        lambda: x // 1,
        lambda: computed(operator.floordiv, x, 3),
        lambda: computed(operator.mod, x, -7),
        lambda: computed(operator.xor, x, 5),
    ):
        assert f().dtype == np.int64
    assert computed(operator.floordiv, np.array([-(2**63)]), -1).tolist() == [2**63]
    assert computed(operator.floordiv, np.array([-(2**63)]), np.array([-1])).tolist() == [2**63]
    assert computed(operator.mul, np.array([True, False]), 300).tolist() == [300, 0]
    assert computed(operator.mul, np.array([0.5]), 3).tolist() == [1.5]
    assert computed(operator.add, np.zeros(0, np.int8), 300).dtype == np.int64


def test_addresses_are_computed_in_64_bits():
    """Byte addresses of buffer loads and im2col's, from indices of few bits, by Python's integers."""
    r = BufferResource(base=2**40, stride=16000, num_records=4096, index_stride=64)
    records, places = np.arange(0, 250, 7, dtype=np.uint8), np.arange(0, 108, 3, dtype=np.int8)
    found = r.addresses(records, places)
    for record, place, at in zip(records.tolist(), places.tolist(), found.tolist()):
        first = (record // 64 * 16000 + place // 4 * 4) * 64 + record % 64 * 4 + place % 4
        assert at == 2**40 + first == int(r.addresses(record, place))
    far = Im2colMap(
        element=half, shape=(8, 4, 1), strides=(2, 2**39, 2**39), lower=(-1,), upper=(-1,), channels=8, pixels=2
    )
    _place, read, inside = far.offsets((0, -1, 2**30), (0,))
    assert read[:, 0].tolist() == [-(2**39) + 2**69, 2**69]
    assert not inside.any()
