"""The text of kernels, compiled: C and CUDA give what numpy gives; what is not proved, not written or not traced is
refused at its line."""

import ctypes
import functools
import re
from pathlib import Path

import numpy as np
import pytest

import tla
from tla import (
    Int,
    LeafTypeError,
    RangeError,
    RankError,
    TlaError,
    Unproven,
    ceil_div,
    dim,
    dims,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
)
from tla.gpu import Copy_Atom, UniversalCopy, float, make_fragment_like, make_tiled_copy
from tla.kernels import (
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    fill,
    kernel,
    local_partition,
    loop,
    shared,
    tensor,
    thread,
)

import hip
import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

_1 = Int[1]()
PARAMETERS = "int m, int n, int k, float alpha, const float *A, int ldA, const float *B, int ldB, float beta, float *C, int ldC".split(
    ", "
)


@functools.cache
def examples():
    return kernel_examples()


def source_of(example, variant, target):
    return emitted(examples()[f"variants of {example}"]["VARIANTS"][variant], target)


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def product(call, variant, m, n, k, rng):
    """Call a kernel for matrices with at least four elements more in a row than needed, NaN in A and B; whether C is
    numpy's, and no more."""
    inner = {"gemm_nt": (m, n), "gemm_tn": (k, k)}[variant]
    outer = {"gemm_nt": (k, k), "gemm_tn": (m, n)}[variant]
    a, b = (np.full((rows, columns + 4 + -columns % 4), np.nan, np.float32) for rows, columns in zip(outer, inner))
    for x, columns in zip((a, b), inner):
        x[:, :columns] = rng.integers(-3, 4, (len(x), columns))
    c = rng.integers(-3, 4, (n, m + 2)).astype(np.float32)
    left, right = (x[:, :columns].T if variant == "gemm_nt" else x[:, :columns] for x, columns in zip((a, b), inner))
    expected = c.copy()
    expected[:, :m] = (2 * left @ right.T - 3 * c[:, :m].T).T
    numbers = [ctypes.c_int(x) for x in (m, n, k)]
    lds = [ctypes.c_int(x.shape[1]) for x in (a, b, c)]
    call(*numbers, ctypes.c_float(2), pointer(a), lds[0], pointer(b), lds[1], ctypes.c_float(-3), pointer(c), lds[2])
    return (c == expected).all()


PRODUCTS = [
    (example, variant) for example in ("sgemm_1", "sgemm_2", "sgemm_sm70") for variant in ("gemm_nt", "gemm_tn")
]


def sizes_for(example, variant, drawn):
    """Sizes that a kernel takes: vectors are of four elements of a column."""
    unit = 4 if variant == "gemm_nt" and example != "sgemm_1" else 1
    return [(-(-m // unit) * unit, -(-n // unit) * unit, k) for m, n, k in drawn]


@pytest.mark.once
@pytest.mark.parametrize(("example", "variant"), some(PRODUCTS, 5))
def test_c_of_products_equals_numpy(example, variant, tmp_path):
    call, rng = c_function(tmp_path, source_of(example, variant, "c")), np.random.default_rng(3)
    drawn = [tuple(map(int, rng.integers(0, 300, 3))) for _n in range(amount(2, 50))]
    given = [(1, 1, 1), (0, 3, 3), (3, 0, 2), (4, 4, 0), (128, 128, 8), (256, 128, 24), (129, 127, 9), *drawn]
    for sizes in sizes_for(example, variant, given):
        assert product(call, variant, *sizes, rng), sizes


@pytest.mark.once
@pytest.mark.parametrize(("example", "variant"), some(PRODUCTS, 4))
def test_cuda_of_products_executed_by_threads_of_a_cpu_equals_numpy(example, variant, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 128)

    call = cuda_function(tmp_path, source_of(example, variant, "cuda"), PARAMETERS, grid)
    rng = np.random.default_rng(4)
    given = [(128, 128, 16), (130, 129, 11), *[tuple(map(int, rng.integers(0, 200, 3))) for _n in range(amount(0, 20))]]
    for sizes in sizes_for(example, variant, given):
        assert product(call, variant, *sizes, rng), sizes


@pytest.mark.parametrize(
    ("example", "shapes"),
    [("tiled_copy", [(128, 64), (256, 192)]), ("tiled_copy_if", [(4, 1), (132, 65), (128, 64), (0, 3), (4, 0)])],
)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_copies_equal_numpy(example, shapes, target, tmp_path):
    source = source_of(example, example, target)

    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 64)

    call = (
        c_function(tmp_path, source)
        if target == "c"
        else cuda_function(tmp_path, source, ["int m", "int n", "const float *S", "float *D"], grid)
    )
    for m, n in shapes:
        s, d = np.random.default_rng(5).random(m * n + 8, np.float32), np.full(m * n + 8, np.nan, np.float32)
        call(ctypes.c_int(m), ctypes.c_int(n), pointer(s), pointer(d))
        assert (d[: m * n] == s[: m * n]).all()
        assert np.isnan(d[m * n :]).all()


@pytest.mark.parametrize(("target", "variant"), [("c", "transpose"), ("cuda", "transpose"), ("c", "vectors")])
def test_a_transpose_through_shared_memory_equals_numpy(target, variant, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 32), -(-n.value // 32)

    source, rng = source_of("transpose", variant, target), np.random.default_rng(6)
    names = ["int m", "int n", "const float *S", "float *D"]
    flags = ["-O3", "-march=native"] if variant == "vectors" else []
    call = c_function(tmp_path, source, *flags) if target == "c" else cuda_function(tmp_path, source, names, grid)
    drawn = [tuple(map(int, rng.integers(0, 150, 2))) for _n in range(amount(2, 50))]
    for m, n in [(1, 1), (0, 3), (3, 0), (32, 64), (33, 31), *drawn]:
        s, d = rng.random((m, n), np.float32), np.full(m * n + 8, np.nan, np.float32)
        call(ctypes.c_int(m), ctypes.c_int(n), pointer(s), pointer(d))
        assert (d[: m * n].reshape(n, m) == s.T).all()
        assert np.isnan(d[m * n :]).all()


@pytest.mark.parametrize("arch", some(["sm_80", "sm_90", "sm_100"], 3))
def test_cuda_compiles_without_a_warning(arch):
    for example, variant in (
        ("sgemm_1", "gemm_nt"),
        ("sgemm_1", "gemm_tn"),
        ("tiled_copy", "tiled_copy"),
        ("tiled_copy_if", "tiled_copy_if"),
    ):
        nvrtc.compiled(source_of(example, variant, "cuda").text, arch)


@pytest.mark.parametrize("arch", some(["gfx942", "gfx1100"], 2))
def test_hip_compiles_to_multiply_adds(arch, tmp_path):
    for example, variant in amount(PRODUCTS[:1], PRODUCTS):
        text = hip.without_headers(source_of(example, variant, "hip").text)
        counts = hip.opcodes(text, arch, tmp_path)
        assert sum(n for name, n in counts.items() if "fma" in name) >= 512, "two loops, packed or dual"
        assert counts["s_barrier"] >= 4
        assert not [name for name in counts if name.startswith("scratch_")]


def test_the_source_says_what_its_launch_needs():
    source = source_of("sgemm_1", "gemm_nt", "cuda")
    m, n = dims("m n", at_least=0, at_most=2**15)
    assert source.grid == (ceil_div(m, 128), ceil_div(n, 128))
    assert (source.block, source.shared_bytes, source.parameters) == (
        256,
        2 * 128 * 8 * 4,
        tuple("m n k alpha A ldA B ldB beta C ldC".split()),
    )
    assert {str(c) for c in source.conditions} >= {"m <= 32768", "0 <= k"}
    assert "kernel_main_requires" in source.text
    assert str(source) == source.text == source_of("sgemm_1", "gemm_nt", "cuda").text


def test_a_statement_names_its_line():
    lines = Path(examples()["variants of sgemm_1"]["__file__"]).read_text(encoding="utf-8").splitlines()
    named = {int(n) for n in re.findall(r"sgemm_1\.py:(\d+)", source_of("sgemm_1", "gemm_nt", "c").text)}
    assert {re.match(r"\w+", lines[n - 1].strip())[0] for n in named} == {"clear", "copy_if", "gemm", "axpby"}


# ------------------------------------------------------------------------------------------------- refused

N = dim("N", at_most=2**20)
T = parse("_32:_1")


def parts(*tensors):
    return [local_partition(local_tile(t, (64,), (block(0),)), T, thread()) for t in tensors]


def argument(n=N, element=np.float32):
    return tensor(element, make_layout((n,), stride=(_1,)))


def blocks(a, *_rest):
    return (ceil_div(a.shape[0], 64),)


def copied(a, b):
    x, y, at = parts(a, b, make_identity_tensor(a.shape))
    copy_if(elem_less(at, a.shape), x, y)


def test_a_copy_under_its_predicate_is_written():
    made = kernel(threads=32, grid=blocks)(copied)
    text = made.source("cuda", argument(), argument()).text
    assert "if (e0 < N) b[e0] = a[e0];" in text


def unguarded(a, b):
    copy(*parts(a, b))


def of_another_bound(a, b):
    x, y, at = parts(a, b, make_identity_tensor(a.shape))
    copy_if(elem_less(at, (a.shape[0] + 1,)), x, y)


def of_another_place(a, b):
    x, y = parts(a, b)
    at = local_partition(local_tile(make_identity_tensor(a.shape), (64,), (block(0),)), T, 31 - thread())
    copy_if(elem_less(at, a.shape), x, y)


def of_the_next_block(a, b):
    x, y = (local_partition(local_tile(t, (64,), (block(0) + 1,)), T, thread()) for t in (a, b))
    at = local_partition(local_tile(make_identity_tensor(a.shape), (64,), (block(0),)), T, thread())
    copy_if(elem_less(at, a.shape), x, y)


@pytest.mark.parametrize("function", [unguarded, of_another_bound, of_another_place, of_the_next_block])
def test_what_is_not_proved_to_be_inside_is_refused_at_its_line(function):
    made = kernel(threads=32, grid=blocks)(function)
    with pytest.raises(TlaError) as error:
        made.source("cuda", argument(), argument())
    assert "test_kernel_source.py:" in str(error.value) or "local_tile" in str(error.value)


# A transpose with a fault: what is changed, and what the refusal names.
TRANSPOSES = {
    "right": (None, None),
    "no barrier": ("barrier", "no barrier between"),
    "no predicate on the way in": ("in", "reads a at"),
    "no predicate on the way out": ("out", "writes b at"),
    "the predicate of the other matrix on the way in": ("swapped in", "reads a at"),
    "the predicate of the other matrix on the way out": ("swapped out", "writes b at"),
    "the tile of the other coordinate": ("tile", "writes b at"),
    "a bound too large": ("bound", "reads a at"),
    "a bound of the other mode": ("mode", "reads a at"),
    "too little shared memory": ("memory", "no barrier between"),
    "the block's part not written": ("block", "blocks do not wait"),
    "threads that share elements": ("threads", "which thread 1 writes"),
    "the predicate of another thread": ("thread", "reads a at"),
    "the predicate of the next tile": ("shifted", "in a coordinate"),
    "a swizzle on one side only": ("swizzle", "no barrier between"),
}


def transpose_with(fault):
    rows, whole = parse("(_8,_32):(_32,_1)"), parse("Sw<5,0,5> o 0 o (_32,_32):(_32,_1)")

    @kernel(threads=256, grid=lambda a, b: tuple(ceil_div(n, 32) for n in a.shape))
    def transpose(a, b):
        t = thread()
        memory = shared(np.float32, parse("(_32,_32):(_31,_1)") if fault == "small" else whole)
        transposed = tla.composition(memory, make_layout((Int[32](), Int[32]()), tla.LayoutRight))
        if fault == "swizzle":  # written as it lies, read swizzled, with no barrier that would order it
            memory = tla.make_tensor(memory.data, parse("(_32,_32):(_32,_1)"))

        def tile(x, coord, index=None):
            return local_partition(local_tile(x, (32, 32), coord), rows, t if index is None else index)

        def inside(x, coord, bounds=None, index=None):
            return elem_less(tile(make_identity_tensor(x.shape), coord, index), x.shape if bounds is None else bounds)

        at, back = (block(0), block(1)), (block(1), block(0))
        own = local_partition(memory, rows, t // 2 * 2 if fault == "threads" else t)
        predicate = {
            "swapped in": lambda: inside(b, at),
            "bound": lambda: inside(a, at, (a.shape[0] + 1, a.shape[1])),
            "mode": lambda: inside(a, at, (a.shape[1], a.shape[0])),
            "thread": lambda: inside(a, at, index=255 - t),
            "shifted": lambda: inside(a, (block(0) + 1, block(1))),
        }.get(fault, lambda: inside(a, at))
        if fault == "in":
            copy(tile(a, at), own)
        else:
            copy_if(predicate(), tile(a, at), own)
        if fault not in ("barrier", "swizzle"):
            barrier()
        source = local_partition(transposed, rows, t)
        to = {"tile": at, "block": (0, 0)}.get(fault, back)
        if fault == "out":
            copy(source, tile(b, to))
        else:
            copy_if(
                inside(a, at) if fault == "swapped out" else inside(b, back if fault == "tile" else to),
                source,
                tile(b, to),
            )

    return transpose


@pytest.mark.parametrize("name", TRANSPOSES)
def test_a_transpose_with_a_fault_is_refused(name):
    fault, told = TRANSPOSES[name]
    m, n = dims("m n", at_most=2**15)
    arguments = [tensor(np.float32, make_layout(shape, stride=(shape[1], _1))) for shape in ((m, n), (n, m))]
    if fault is None:
        assert "__syncthreads" in transpose_with(fault).source("cuda", *arguments).text
        return
    if fault in ("memory", "block"):  # small sizes have one block: those of two show it
        m, n = dim("m", at_least=40, at_most=2**15), dim("n", at_least=40, at_most=2**15)
        arguments = [tensor(np.float32, make_layout(shape, stride=(shape[1], _1))) for shape in ((m, n), (n, m))]
    with pytest.raises(TlaError, match=told):
        transpose_with("small" if fault == "memory" else fault).source("cuda", *arguments)


def test_facts_of_sizes_take_the_place_of_predicates():
    made = kernel(threads=32, grid=blocks)(unguarded)
    whole = dim("N", multiple_of=64, at_most=2**20)
    text = made.source("c", argument(whole), argument(whole)).text
    assert "if (" not in text
    with pytest.raises(RangeError, match="reads a at"):
        made.source("c", argument(dim("N", multiple_of=32)), argument(dim("N", multiple_of=32)))


def through_memory(wait):
    @kernel(threads=32, grid=blocks)
    def rotated(a, b):
        memory = shared(np.float32, parse("_64:_1"))
        x, y, at = parts(a, b, make_identity_tensor(a.shape))
        own = local_partition(memory, T, thread())
        clear(own)
        copy_if(elem_less(at, a.shape), x, own)
        if wait:
            barrier()
        copy_if(elem_less(at, a.shape), local_partition(memory, T, 31 - thread()), y)

    return rotated


def test_no_kernel_with_a_race_is_written():
    assert "__syncthreads" in through_memory(True).source("cuda", argument(), argument()).text
    with pytest.raises(RangeError, match="no barrier between"):
        through_memory(False).source("cuda", argument(), argument())


def test_scalars_fills_and_sums():
    @kernel(threads=32, grid=blocks)
    def scaled(a, b, alpha):
        x, y = parts(a, b)
        axpby(alpha, x, 0, y)

    @kernel(threads=32, grid=blocks)
    def filled(a, value):
        fill(parts(a)[0], value)

    text = scaled.source("cuda", argument(), argument(), np.float32).text
    assert "if (e0 < N) b[e0] = alpha * a[e0];" in text
    assert "if (e0 < N) a[e0] = value;" in filled.source("cuda", argument(), np.float32).text


@pytest.mark.parametrize("steps", [0, -2])
def test_a_loop_of_no_steps_is_none(steps):
    @kernel(threads=4)
    def none(a):
        for _k in loop(steps):
            clear(local_partition(a, parse("_4:_1"), thread()))

    a = np.ones(8, np.float32)
    none.run(a)
    assert a.all()
    assert none.program(a).body == ()
    assert "a[" not in none.source("c", tensor(np.float32, parse("_8:_1"))).text


def test_loops_are_loops():
    @kernel(threads=32)
    def summed(a, b):
        own = local_partition(b, T, thread())
        for k in loop(ceil_div(a.shape[0], 32)):
            part, at = (
                local_partition(local_tile(t, (32,), (k,)), T, thread()) for t in (a, make_identity_tensor(a.shape))
            )
            held = make_fragment_like(part)
            clear(held)
            copy_if(elem_less(at, a.shape), part, held)
            axpby(1, held, 1, own)

    source = summed.source("c", argument(), tensor(np.float32, parse("(_32):(_1)")))
    assert source.text.count("for (int32_t k0") == 1, "blocks inside and at the edge: each copy asks"


def test_bad_input_is_refused():
    made = kernel(threads=32, grid=blocks)(copied)
    for error, call in (
        (RankError, lambda: made.program(argument())),
        (LeafTypeError, lambda: made.source("pascal", argument(), argument())),
        (LeafTypeError, lambda: made.source("c", argument(), argument(), arch="sm_80")),
        (LeafTypeError, lambda: made.source("cuda", argument(), argument(), arch="gfx942")),
        (RangeError, lambda: made.source("c", argument(), argument(), parameters="a b")),
        (RangeError, lambda: made.source("c", argument(), argument(), parameters="a b N N")),
        *(
            (RangeError, lambda own=own: made.source("c", argument(dim(own)), argument(dim(own))))
            for own in ("tid", "k0", "e12", "r0", "smem1")
        ),
        (LeafTypeError, lambda: made.source("c", argument(element=np.complex64), argument(element=np.complex64))),
        (LeafTypeError, lambda: made.program("a", argument())),
        (LeafTypeError, lambda: tensor("hlf", parse("_4:_1"))),
        (LeafTypeError, lambda: tensor(np.float32, 3.5)),
    ):
        with pytest.raises(error):
            call()


def test_python_that_asks_for_the_value_of_a_symbol_is_refused():
    def asks(a, b):
        if block(0) < 2:
            copied(a, b)

    def counts(a, b):
        for _k in range(block(0)):
            copied(a, b)

    def of_an_element(a, b):
        copy_if(thread() < 3, *parts(a, b))

    def reads_an_element(a, b):
        if parts(a)[0][0] < 1:
            copied(a, b)

    def reads_the_first(a, b):
        if a[0] < 1:
            copied(a, b)

    for function, error, fix in (
        (asks, Unproven, "copy_if"),
        (counts, Unproven, "loop"),
        (of_an_element, LeafTypeError, "elem_less"),
        (reads_an_element, Unproven, "copy_if"),
        (reads_the_first, LeafTypeError, "copy_if"),
    ):
        with pytest.raises(error, match=fix) as raised:
            kernel(threads=32, grid=blocks)(function).program(argument(), argument())
        assert function is of_an_element or f"test_kernel_source.py:{function.__code__.co_firstlineno + 1}" in str(
            raised.value
        )


def test_a_vector_under_several_predicates_is_refused():
    vectors = make_tiled_copy(Copy_Atom[UniversalCopy[tla.gpu.uint128], float], (32,), (4,))

    @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape[0], 128),))
    def wide(a, b):
        own = vectors[thread()]
        x, y, at = (local_tile(t, (128,), (block(0),)) for t in (a, b, make_identity_tensor(a.shape)))
        copy_if(vectors, elem_less(own.partition_S(at), a.shape), own.partition_S(x), own.partition_D(y))

    with pytest.raises(LeafTypeError, match="of the 4 values"):
        wide.source("cuda", argument(), argument())
    four = dim("N", multiple_of=4, at_most=2**20)
    text = wide.source("cuda", argument(four), argument(four)).text
    assert text.count("uint4") == 2
    assert "assumes that a, b begin at multiples of 16 bytes" in text


@pytest.mark.parametrize("width", [1, 4])
def test_loops_over_lanes_end_where_a_predicate_does(width, tmp_path):
    """Of 4 elements at once the lane is multiplied by 4; what does not name it is asked once."""
    tiled = make_tiled_copy(
        Copy_Atom[UniversalCopy[tla.gpu.uint128 if width == 4 else float], float],
        make_layout((Int[8](), Int[4]()), stride=(Int[4](), Int[1]())),
        (1, width),
    )

    @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape[0], 8), ceil_div(a.shape[1], 4 * width)))
    def moved(a, b):
        own = tiled[thread()]
        cut = (local_tile(x, (8, 4 * width), (block(0), block(1))) for x in (make_identity_tensor(a.shape), a, b))
        at, source, target = (own.partition_S(x) for x in cut)
        copy_if(tiled, elem_less(at, a.shape), source, target)

    m, n = dim("m", at_least=0, at_most=2**12), dim("n", at_least=0, at_most=2**12, multiple_of=width)
    given = [tensor(np.float32, make_layout((m, n), stride=(n, Int[1]())))] * 2
    source = moved.source("c", *given, parameters="m n a b")
    edge = source.text[source.text.index("} else {") :]
    step, end = re.search(r"for \(int32_t (tid_1_4) = 0; tid_1_4 < (e\d+);", edge).groups()
    assert re.search(rf"{end} = kernel_min\(4, ", edge), edge
    assert not re.search(rf"if \([^)]*{step}", edge), edge
    call = c_function(tmp_path, source)
    for m, n in (0, 4), (1, 4), (7, 20), (9, 12), *((3, 5), (17, 7)) * (width == 1):
        a, b = np.random.default_rng(m).random((m, n), np.float32), np.zeros((m + 1, n + 4), np.float32)
        call(m, n, pointer(a), pointer(b))
        assert (b.ravel()[: m * n] == a.ravel()).all(), (m, n)
        assert not b.ravel()[m * n :].any(), (m, n)
