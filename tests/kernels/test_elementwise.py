"""Functions of elements, reductions and exchanges between threads: executed, and as C and CUDA, beside numpy."""

import itertools

import numpy as np
import pytest
from gluon_kernels import Launched, compiled

from tests.kernels.test_kernel_source import argument, blocks, examples, parts, pointer, source_of
from tla import (
    InjectivityError,
    Int,
    LeafTypeError,
    RangeError,
    RankError,
    _,
    _1,
    composition,
    dim,
    local_tile,
    make_layout,
    parse,
)
from tla.gpu import make_fragment_like
from tla.kernels import (
    axpby,
    copy,
    fill,
    kernel,
    local_partition,
    loop,
    reduce,
    registers,
    shared,
    shuffle_xor,
    tensor,
    thread,
    transform,
)
from tla.kernels.program.elements import FUNCTIONS

import hip
import nvrtc
from night import NIGHT, amount
from sources_of_kernels import c_function, cuda_function

BINARY = "add subtract multiply divide maximum minimum fmax fmin".split()
COMPARED = "less less_equal greater greater_equal equal not_equal".split()
UNARY = [name for name in FUNCTIONS if name not in (*BINARY, *COMPARED, "where")]
ALL = {
    **{name: (lambda x, y, f=getattr(np, name): f(x, y)) for name in BINARY},
    **{name: (lambda x, y, f=getattr(np, name): np.where(f(x, y), x, 1)) for name in COMPARED},
    **{name: (lambda x, y, f=getattr(np, name): f(x) + y) for name in UNARY},
    "operators": lambda x, y: 2 - x * (y - 1) / (1 + x * x) + -x + abs(y) - (x - (y - x)),
    "shared": lambda x, y: np.maximum(np.exp(-x * x), np.where(x < y, x, y)) * np.exp(-x * x),
    "a number": lambda x, y: 3 * x + np.inf,
}
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, 10.0, -7.25, np.inf, -np.inf, np.nan]
TYPES = "float32", "float64", "float16"


def applied_of(f):
    @kernel(threads=32, grid=lambda x, y, z: blocks(x))
    def applied(x, y, z):
        transform(*parts(x, y, z), f)

    return applied


def pairs():
    grid = [(a, b) for a in NUMBERS for b in NUMBERS]
    return np.ascontiguousarray(np.array(grid).T)


@pytest.mark.parametrize(
    ("name", "element"),
    [
        (name, kind)
        for kind in TYPES
        for name in ALL
        if kind == "float32" or NIGHT or name in ("operators", "shared", "exp")
    ],
)
def test_functions_are_numpys(name, element, tmp_path):
    x, y = pairs().astype(element)
    wide = np.float32 if element == "float16" else x.dtype
    with np.errstate(all="ignore"):
        expected = np.asarray(ALL[name](x.astype(wide), y.astype(wide))).astype(element)
    z = np.zeros_like(x)
    applied_of(ALL[name]).run(x, y, z)
    np.testing.assert_array_equal(z, expected)
    z[:] = 0
    n = dim("N", at_most=2**20)
    source = applied_of(ALL[name]).source("c", *3 * [argument(n, np.dtype(element))])
    call = c_function(tmp_path, source)
    call(*map(pointer, (x, y, z)), len(x))
    exact = name in ("a number", *BINARY, *COMPARED, "negative", "absolute", "sqrt", "floor", "rint")
    np.testing.assert_allclose(z, expected, rtol=0 if exact else 1e-3 if element == "float16" else 1e-5)


def test_a_sum_in_the_order_of_the_index(tmp_path):
    """By a stride of 0 in the target: rows of a thread's 3 by 4 elements."""
    layout = parse("(_3,_4):(_1,_3)")

    @kernel(threads=32)
    def rows(a, b):
        t = thread()
        held, sums = registers(np.float32, layout), registers(np.float32, 3)
        copy(local_partition(a, parse("_32:_1"), t), composition(held, parse("_12:_1")))
        fill(sums, 0)
        reduce(held, composition(sums, parse("(_3,_4):(_1,_0)")), np.add)
        copy(sums, local_partition(b, parse("_32:_1"), t))

    a = np.random.default_rng(0).normal(size=32 * 12).astype(np.float32)
    expected = np.zeros((32, 3), np.float32)
    for k in range(4):
        expected += a.reshape(4, 3, 32)[k].T
    b = np.zeros(96, np.float32)
    rows.run(a, b)
    np.testing.assert_array_equal(b.reshape(3, 32).T, expected)
    one = rows.source("c", *(tensor(np.float32, parse(f"_{n}:_1")) for n in (384, 96)))
    b[:] = 0
    c_function(tmp_path, one)(pointer(a), pointer(b))
    np.testing.assert_array_equal(b.reshape(3, 32).T, expected)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("mask", [1, 6, 31])
def test_exchanges_are_between_the_threads_of_the_definition(mask, target, tmp_path):
    @kernel(threads=64)
    def exchanged(a, b):
        own, to = (local_partition(x, parse("_64:_1"), thread()) for x in (a, b))
        here, there = make_fragment_like(own), make_fragment_like(own)
        copy(own, here)
        shuffle_xor(here, there, mask)
        copy(there, to)

    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    expected = a.reshape(2, 64)[:, np.arange(64) ^ mask].ravel()
    exchanged.run(a, b)
    assert (b == expected).all()
    source = exchanged.source(target, *2 * [tensor(np.float32, parse("_128:_1"))])
    b[:] = 0
    made = (
        c_function(tmp_path, source)
        if target == "c"
        else cuda_function(tmp_path, source, ["const float *a", "float *b"], lambda *_: (1, 1))
    )
    made(pointer(a), pointer(b))
    assert (b == expected).all()


# ---------------------------------------------------------------------------------------------------- the examples


def softmax_of(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def sizes_of_softmax(rng, count):
    fixed = [(1, 1), (0, 5), (5, 0), (8, 256), (9, 257), (16, 512)]
    return fixed + [tuple(map(int, rng.integers(1, (40, 900)))) for _ in range(count)]


@pytest.mark.parametrize("target", ["run", "c", "cuda"])
def test_a_softmax_equals_numpy(target, tmp_path):
    rng, source = np.random.default_rng(1), None if target == "run" else source_of("softmax", "softmax", target)
    if target == "c":
        call = c_function(tmp_path, source)
    elif target == "cuda":
        call = cuda_function(
            tmp_path, source, "int m, int n, const float *X, float *Y".split(", "), lambda m, *_: (-(-m // 8), 1)
        )
    for m, n in sizes_of_softmax(rng, amount(1, 50)):
        if target == "cuda" and m == 0:
            continue  # a launch of no block
        x = rng.normal(size=(m, n), scale=9).astype(np.float32)
        y = np.zeros_like(x)
        examples()["softmax"].run(x, y) if target == "run" else call(m, n, pointer(x), pointer(y))
        if n:
            np.testing.assert_allclose(y, softmax_of(x), atol=2e-6)


@pytest.mark.once
@pytest.mark.parametrize(
    ("name", "target"), amount([("relu", "c"), ("gelu", "run")], [*itertools.product(["relu", "gelu"], ["run", "c"])])
)
def test_an_epilogue_equals_numpy(name, target, tmp_path):
    rng, activation = np.random.default_rng(2), examples()[name]
    call = None if target == "run" else c_function(tmp_path, source_of("epilogue", name, "c"))
    for m, n, k in [
        (1, 1, 1),
        (3, 4, 1),
        (128, 128, 8),
        (130, 137, 21),
        *rng.integers(1, 150, (amount(1, 40), 3)).tolist(),
    ]:
        x, w, bias = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (n, k), (n,)))
        y, expected = np.zeros((m, n), np.float32), activation(x @ w.T + bias)
        if target == "run":
            examples()["variants of epilogue"]["VARIANTS"][name][0].run(x, w, bias, y)
        else:
            call(m, n, k, *map(pointer, (x, w, bias, y)))
        np.testing.assert_allclose(y, expected, atol=0 if name == "relu" else 1e-5)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_cuda_of_these_compiles_without_a_warning(arch):
    for example, variant in (("softmax", "softmax"), ("epilogue", "gelu")):
        nvrtc.compiled(source_of(example, variant, "cuda").text, arch)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_hip_of_these_compiles(arch, tmp_path):
    text = hip.without_headers(source_of("softmax", "softmax", "hip").text)
    counts = hip.opcodes(text, arch, tmp_path)
    assert counts["ds_bpermute_b32"] == 10
    assert not [name for name in counts if name.startswith("scratch_")]


# -------------------------------------------------------------------------------------------------------- refusals


def traced(body, element=np.float32):
    """The source of a kernel of one statement over the registers of a thread, and a tensor of global memory."""

    @kernel(threads=64)
    def one(a):
        body(registers(element, 4), registers(element, 4), local_partition(a, parse("_64:_1"), thread()))

    return one


@pytest.mark.parametrize(
    ("body", "error", "text"),
    [
        (lambda x, y, _a: transform(x, y, lambda v: v if v < 0 else -v), LeafTypeError, "the truth of less"),
        (lambda x, y, _a: transform(x, y, np.arctan), LeafTypeError, "numpy.arctan of 1 operands"),
        (lambda x, y, _a: transform(x, y, np.sum), LeafTypeError, "of elements"),
        (lambda x, y, _a: transform(x, y, lambda v: v < 0), LeafTypeError, "a function that answers less"),
        (lambda x, y, _a: transform(x, y, lambda v: v + (v < 0)), LeafTypeError, "add of less"),
        (lambda x, y, _a: transform(x, y, lambda v: v + "1"), LeafTypeError, "1 in a function of elements"),
        (lambda x, y, _a: transform(x, y, 3), LeafTypeError, "transform by 3"),
        (lambda x, y, _a: transform(x, np.exp), RankError, "transform of 2 operands"),
        (lambda x, y, _a: transform(x, registers(np.float32, 3), np.exp), RankError, "as many elements"),
        (lambda x, y, _a: transform(x, registers(np.float32, 1), np.exp), RankError, "as many elements"),
        (lambda x, y, a: reduce(x, a, np.add), LeafTypeError, "reduce of a tensor in memory"),
        (
            lambda x, y, _a: reduce(x, shared(np.float32, parse("_4:_1")), np.add),
            LeafTypeError,
            "reduce of a tensor in memory",
        ),
        (lambda x, y, _a: shuffle_xor(x, x, 1), LeafTypeError, "shuffle_xor of registers to themselves"),
        (lambda x, y, a: shuffle_xor(a, y, 1), LeafTypeError, "shuffle_xor of a tensor in memory"),
        (lambda x, y, _a: shuffle_xor(x, y, 32), RangeError, "shuffle_xor by 32 among 64 threads"),
        (lambda x, y, _a: shuffle_xor(x, y, 0), RangeError, "shuffle_xor by 0"),
        (lambda x, y, _a: shuffle_xor(x, y, "a"), RangeError, "shuffle_xor by"),
    ],
)
def test_refusals(body, error, text):
    with pytest.raises(error, match=text):
        traced(body).source("c", tensor(np.float32, parse("_256:_1")))


def test_integers_are_refused_everywhere():
    wrong = traced(lambda x, y, _a: transform(x, y, lambda v: v + 1), np.int32)
    with pytest.raises(LeafTypeError, match="transform of int32"):
        wrong.source("c", tensor(np.float32, parse("_256:_1")))
    with pytest.raises(LeafTypeError, match="transform of int32"):
        wrong.run(np.zeros(256, np.float32))


def test_shared_memory_is_not_filled_past_its_end():
    """A tile that reaches past the end: on numpy what is not valid is left out, a text has no predicate for it."""

    @kernel(threads=32)
    def filled(a):
        memory = shared(np.float32, parse("_100:_1"))
        for k in loop(2):
            fill(local_partition(local_tile(memory, (Int[64](),), (k,)), parse("_32:_1"), thread()), 0)

    with pytest.raises(RangeError, match="of 100 elements"):
        filled.source("c", tensor(np.float32, make_layout((dim("N"),), stride=(_1,))))


@pytest.mark.parametrize("statement", ["transform", "axpby"])
def test_elements_of_one_place_are_refused(statement):
    """numpy computes them from what was there before, a text one after the other."""

    @kernel(threads=2)
    def squared(a):
        x = registers(np.float32, Int[2]())
        both = composition(x, parse("(_2,_4):(_1,_0)"))
        fill(x, 2)
        if statement == "transform":
            transform(both, both, both, np.multiply)
        else:
            axpby(1, both, 1, both)
        copy(x, local_partition(a, parse("_2:_1"), thread()))

    a = np.zeros(4, np.float32)
    for call in squared.run, squared.program:
        with pytest.raises(InjectivityError, match="one place"):
            call(a)
    assert "one place" in str(squared.check(a))


def test_threads_that_write_other_values_to_one_place_are_refused():
    @kernel(threads=4)
    def mixed(a):
        x = registers(np.float32, Int[1]())
        copy(local_partition(a, parse("_4:_1"), thread()), x)
        transform(x, local_partition(a, parse("_4:_1"), thread() // 4), np.sqrt)

    with pytest.raises(InjectivityError, match="differ"):
        mixed.run(np.arange(4, dtype=np.float32))


# ------------------------------------------------------------------------------------- every function, every target


@kernel(threads=32)
def all_functions(a, b, out):
    """A row of out for each function of two rows."""
    of = parse("_32:_1")
    for k, f in enumerate(ALL.values()):
        transform(*(local_partition(row, of, thread()) for row in (a, b, out[k, _])), f)


def rows_of_all():
    vector = tensor(np.float32, parse("_256:_1"))
    return vector, vector, tensor(np.float32, make_layout((Int[len(ALL)](), Int[256]()), stride=(Int[256](), Int[1]())))


@pytest.mark.parametrize("target", ["run", "c", "cuda", "hip", "gluon"])
def test_every_function_in_every_target(target, tmp_path):
    x, y = (np.resize(row, 256).astype(np.float32) for row in pairs())
    with np.errstate(all="ignore"):
        expected = np.array([f(x, y) for f in ALL.values()], np.float32)
    z = np.zeros_like(expected)
    parameters = ["const float *a", "const float *b", "float *out"]
    if target == "run":
        all_functions.run(x, y, z)
    elif target == "gluon":
        Launched(*compiled(all_functions, rows_of_all(), "a b out", tmp_path), tmp_path)(x, y, z)
    else:
        source = all_functions.source(target, *rows_of_all())
        grid = (lambda *_given: (1, 1),)
        call = c_function(tmp_path, source) if target == "c" else cuda_function(tmp_path, source, parameters, *grid)
        call(*map(pointer, (x, y, z)))
    for name, found, wanted in zip(ALL, z, expected):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100"])
def test_every_function_compiles_for_amd(arch, tmp_path):
    text = hip.without_headers(all_functions.source("hip", *rows_of_all()).text)
    assert hip.opcodes(text, arch, tmp_path)["v_exp_f32_e32"] > 0
