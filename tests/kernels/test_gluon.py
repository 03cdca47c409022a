"""Kernels as Gluon's text: compiled by Triton 3.9 without a GPU, and its PTX executed on the CPU; what Gluon cannot say
is refused."""

import functools

import numpy as np
import pytest
from gluon_kernels import Launched, compiled

from tla import (
    LeafTypeError,
    _,
    composition,
    dim,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    make_tensor,
    parse,
    static,
)
from tla.core.errors import RangeError
from tla.gpu import make_fragment_like
from tla.kernels import (
    axpby,
    barrier,
    clear,
    copy,
    copy_if,
    fill,
    kernel,
    local_partition,
    loop,
    phase,
    reduce,
    registers,
    shared,
    shuffle_xor,
    stage,
    tensor,
    thread,
    transform,
    when,
)
from tla.kernels.targets import source_of

from night import NIGHT, amount, some
from sources_of_kernels import kernel_examples

#: Examples whose text is refused: a part of the reason.
REFUSED = {
    ("im2col", "im2col"): "9 elements of a thread, in Gluon\n  expected  a power of two",
    ("flash_attention", "flash_attention"): "2 registers of a thread that stand for several others each",
    ("sgemm_sm70", "gemm_nt"): "a product of 1 along K",
    ("sgemm_sm80", "gemm_tn"): "a part of smem0, whose layout is SharedLinearLayout",
    ("gemm_cpu", "avx2_nn"): "768 elements of a thread, in Gluon",
    ("mma_tma_epi_sm100", "gemm_tn"): "a cluster of 4 by 4 by 1 blocks",
}


@functools.cache
def examples():
    return kernel_examples()


def launched(example, variant, folder, arch="sm_80"):
    """The launch of an example's text, executed on the CPU."""
    kernel, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"][variant]
    return Launched(*compiled(kernel, arguments, parameters, folder, arch), folder)


def drawn(rng, shape, dtype=np.float32, most=4):
    return rng.integers(1 - most, most, shape).astype(dtype)


def numbers(by_day, most, rank, seed):
    """Random sizes: few by day."""
    return [tuple(map(int, x)) for x in np.random.default_rng(seed).integers(0, most, (amount(by_day, 12), rank))]


@pytest.mark.parametrize(
    ("example", "shapes"), [("tiled_copy", [(128, 64), (256, 192)]), ("tiled_copy_if", [(4, 1), (132, 65), (0, 3)])]
)
def test_copies_equal_numpy(example, shapes, tmp_path):
    call, rng = launched(example, example, tmp_path), np.random.default_rng(1)
    assert call.ptx.count("ld.global.v4.b32") == call.ptx.count("st.global.v4.b32") == 8
    for m, n in [*shapes, *((4 * m, n) for m, n in numbers(0, 60, 2, 2) if example == "tiled_copy_if")]:
        s = drawn(rng, (n, m))
        d = np.zeros_like(s)
        call(m, n, s, d)
        assert (s == d).all(), (m, n)


@pytest.mark.parametrize("variant", ["transpose", *(["padded"] if NIGHT else [])])
def test_transposes_equal_numpy(variant, tmp_path):
    call, rng = launched("transpose", variant, tmp_path), np.random.default_rng(1)
    for m, n in [(1, 1), (32, 32), (70, 45), (0, 3), *numbers(1, 150, 2, 3)]:
        s = drawn(rng, (m, n), most=99)
        d = np.zeros((n, m), np.float32)
        call(m, n, s, d)
        assert (s.T == d).all(), (m, n)
    call(32, 32, s := drawn(rng, (32, 32)), np.zeros_like(s))
    assert call.wavefronts == 64 or variant == "padded"  # of 32 rows, and of 32 columns


def test_packed_tiles_equal_numpy(tmp_path):
    call, rng = launched("pack_tiles", "pack_tiles", tmp_path), np.random.default_rng(1)
    for m, n in [(1, 1), (33, 150), (8, 128)]:
        x = rng.integers(0, 2**16, (m, n)).astype(np.uint16)
        expected = examples()["packed"](x)
        out = np.full(expected.size, 99, np.uint16)
        call(m, n, x, out)
        assert (out == expected).all(), (m, n)


def test_a_softmax_is_near_numpys(tmp_path):
    call, rng = launched("softmax", "softmax", tmp_path), np.random.default_rng(1)
    assert call.ptx.count("shfl.sync") == 10
    assert ".shared" not in call.ptx
    for m, n in [(1, 1), (13, 300), (8, 256), (3, 0)]:
        x = rng.normal(size=(m, n)).astype(np.float32)
        y, expected = np.zeros_like(x), np.exp(x - x.max(axis=1, keepdims=True, initial=-99))
        call(m, n, x, y)
        assert np.allclose(y, expected / expected.sum(axis=1, keepdims=True), rtol=1e-5), (m, n)


def product(call, variant, m, n, k, rng, dtype):
    """Call a kernel for matrices with more in a row than needed, NaN in A and B; whether C is numpy's, and no more."""
    inner = {"gemm_nt": (m, n), "gemm_tn": (k, k)}[variant]
    outer = {"gemm_nt": (k, k), "gemm_tn": (m, n)}[variant]
    a, b = (np.full((rows, columns + 8 + -columns % 8), np.nan, dtype) for rows, columns in zip(outer, inner))
    for x, columns in zip((a, b), inner):
        x[:, :columns] = drawn(rng, (len(x), columns), most=2)
    c = drawn(rng, (n, m + 2), dtype)
    left, right = (x[:, :columns].T if variant == "gemm_nt" else x[:, :columns] for x, columns in zip((a, b), inner))
    expected = c.copy()
    expected[:, :m] = (2 * left @ right.T - 3 * c[:, :m].T).T
    call(m, n, k, 2.0, a, a.shape[1], b, b.shape[1], -3.0, c, c.shape[1])
    return (c == expected).all()


BY_DAY = [("sgemm_1", "gemm_nt", 1)]
PRODUCTS = [*BY_DAY, ("sgemm_1", "gemm_tn", 1), ("sgemm_2", "gemm_nt", 4), ("sgemm_2", "gemm_tn", 1)]


@pytest.mark.parametrize(("example", "variant", "unit"), PRODUCTS if NIGHT else BY_DAY)
def test_products_equal_numpy(example, variant, unit, tmp_path):
    call, rng = launched(example, variant, tmp_path), np.random.default_rng(1)
    for m, n, k in [(1, 1, 1), (129, 130, 9), (0, 3, 3), (3, 2, 0), *numbers(0, 200, 3, 4)]:
        sizes = -(-m // unit) * unit, -(-n // unit) * unit, k
        assert product(call, variant, *sizes, rng, np.float32), sizes


def test_a_product_by_tensor_cores_has_the_instructions_of_the_kernel_and_equals_numpy(tmp_path):
    call, rng = launched("sgemm_tiles", "gemm_tn", tmp_path), np.random.default_rng(1)
    counts = {word: call.ptx.count(word) for word in ("mma.sync", "ldmatrix", "cp.async.cg", "bar.sync")}
    assert counts == {"mma.sync": 128, "ldmatrix": 32, "cp.async.cg": 48, "bar.sync": 1}
    for m, n, k in [(129, 5, 72), (5, 3, 0), *numbers(0, 200, 3, 5)]:
        assert product(call, "gemm_tn", m, n, k // 8 * 8, rng, np.float16), (m, n, k)


@pytest.mark.skipif(not NIGHT, reason="by night")
@pytest.mark.parametrize("variant", ["gemm_tn", "gemm_nt"])
def test_a_product_of_a_warpgroup_equals_numpy(variant, tmp_path):
    call, rng = launched("wgmma_sm90", variant, tmp_path, "sm_90"), np.random.default_rng(1)
    assert call.ptx.count("wgmma.mma_async") == 16
    for m, n, k in [(136, 8, 72), *numbers(0, 200, 3, 6)]:
        assert product(call, variant, *(x // 8 * 8 for x in (m, n, k)), rng, np.float16), (m, n, k)


@pytest.mark.skipif(not NIGHT, reason="by night")
@pytest.mark.parametrize("variant", ["mma_sync", "fma"])
def test_one_product_by_two_instructions_equals_numpy(variant, tmp_path):
    call, rng = launched("gemm_atoms", variant, tmp_path), np.random.default_rng(1)
    for m, n, k in [(1, 1, 8), (129, 70, 40)]:
        a, b, d = drawn(rng, (m, k), np.float16), drawn(rng, (n, k), np.float16), drawn(rng, (m, n))
        expected = a.astype(np.float32) @ b.T.astype(np.float32) + d
        call(m, n, k, a, b, d)
        assert (d == expected).all(), (m, n, k)


@pytest.mark.skipif(not NIGHT, reason="by night")
def test_a_product_over_three_layouts_equals_numpy(tmp_path):
    call, rng, found = launched("blocked_gemm", "gemm", tmp_path), np.random.default_rng(1), examples()
    m, n, k = found["M"], found["N"], found["K"]
    matrices = [drawn(rng, shape) for shape in ((m, k), (n, k), (m, n))]
    expected = 2 * matrices[0] @ matrices[1].T - matrices[2]
    buffers = [found["laid"](matrix, layout) for matrix, layout in zip(matrices, found["LAYOUTS"])]
    call(*buffers, 2.0, -1.0)
    assert (buffers[2] == found["laid"](expected, found["LAYOUTS"][2])).all()


@pytest.mark.skipif(not NIGHT, reason="by night")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_an_epilogue_is_near_numpys(activation, tmp_path):
    call, rng = launched("epilogue", activation, tmp_path), np.random.default_rng(1)
    x, w, bias = (drawn(rng, shape) for shape in ((137, 21), (130, 21), (130,)))
    y = np.zeros((137, 130), np.float32)
    call(137, 130, 21, x, w, bias, y)
    expected = examples()[activation](x @ w.T + bias)
    assert (y == expected).all() if activation == "relu" else np.allclose(y, expected, atol=1e-4)


@pytest.mark.parametrize(("example", "variant"), some(REFUSED, 3))
def test_what_gluon_cannot_say_is_refused_with_the_line(example, variant):
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"][variant]
    with pytest.raises(LeafTypeError) as found:
        source_of(made.program(*arguments), "gluon", "kernel_main", parameters, "")
    assert REFUSED[example, variant] in str(found.value)
    assert ".py:" in str(found.value)


LANES = parse("_32:_1")
N = dim("N", at_least=0, at_most=2**20)
VECTOR = tensor(np.float32, make_layout((N,), stride=(parse("_1:_1").shape,)))


def of_vector(x):
    return local_partition(local_tile(x, (128,), (0,)), LANES, thread())


def inside(x):
    return elem_less(of_vector(make_identity_tensor(x.shape)), x.shape)


@kernel(threads=32)
def kept(a, b):
    """What a predicate leaves as it was: in registers, over steps of a loop, and in shared memory."""
    held, memory = make_fragment_like(of_vector(a)), shared(np.float32, parse("_128:_1"))
    fill(held, 7)
    for _step in loop(2):
        axpby(1, held, 1, held)
    copy_if(inside(a), of_vector(a), held)
    fill(local_partition(memory, LANES, thread()), 5)
    barrier()
    copy_if(inside(a), held, local_partition(memory, LANES, thread()))
    barrier()
    for _block in when(a.shape[0] < 64):
        axpby(2, held, 0, held)
    transform(held, local_partition(memory, LANES, thread()), held, lambda x, y: x + y)
    copy_if(inside(b), held, of_vector(b))


@pytest.mark.parametrize("n", [100, *([128, 3] if NIGHT else [])])
def test_what_a_predicate_leaves_as_it_was(n, tmp_path):
    other = tensor(np.float32, make_layout((128,), stride=(1,)))
    call = Launched(*compiled(kept, (VECTOR, other), "N a b", tmp_path), tmp_path)
    a, b = np.arange(n, dtype=np.float32), np.zeros(128, np.float32)
    call(n, a, b)
    run = np.zeros(128, np.float32)
    kept.run(a, run)
    assert (b == run).all()


@kernel(threads=32)
def turned(a, b):
    """Each value from another thread, and what several registers of a thread are together."""
    held, total, other = make_fragment_like(of_vector(a)), registers(np.float32, 1), registers(np.float32, 1)
    copy(of_vector(a), held)
    clear(total)
    reduce(held, total, np.add)
    for mask in (1, 6, 24):
        shuffle_xor(total, other, mask)
        transform(total, other, total, np.fmax)
    transform(held, total, of_vector(b), lambda x, t: np.where(x < 3, 0, np.maximum(x - t, -x)))


def test_reductions_and_shuffles_equal_run(tmp_path):
    whole = tensor(np.float32, parse("_128:_1"))
    call = Launched(*compiled(turned, (whole, whole), "a b", tmp_path), tmp_path)
    a = np.random.default_rng(1).integers(-9, 9, 128).astype(np.float32)
    b, run = np.zeros(128, np.float32), np.zeros(128, np.float32)
    call(a, b)
    turned.run(a, run)
    assert (b == run).all()


@kernel(threads=32)
def counted(a, b):
    """Stages and phases of a loop's steps, whose numbers are stored."""
    memory, t = shared(np.float32, parse("(_32,_1,_2):(_1,_32,_32)")), thread()
    for k in loop(7):
        held = local_partition(memory[_, 0, stage(k + 1, 2)], LANES, t)
        copy(local_partition(a[_, k], LANES, t), held)
        barrier()
        copy(held, local_partition(b[_, phase(k + 3, 2), k], LANES, t))


def test_stages_and_phases_of_steps_equal_run(tmp_path):
    layouts = parse("(_32,_7):(_1,_32)"), parse("(_32,_2,_7):(_1,_32,_64)")
    call = Launched(*compiled(counted, [tensor(np.float32, x) for x in layouts], "a b", tmp_path), tmp_path)
    a, b, run = np.arange(224, dtype=np.float32), *np.zeros((2, 448), np.float32)
    call(a, b)
    counted.run(make_tensor(a, layouts[0]), make_tensor(run, layouts[1]))
    assert (b == run).all()
    assert b[32:64].any() or b[:32].any()


@kernel(threads=32)
def nested(a, b, n):
    """Loops in loops, with conditions of the block: registers that only some steps write."""
    source = local_partition(local_tile(a, (32,), (0,)), LANES, thread())
    held, total = make_fragment_like(source), make_fragment_like(source)
    clear(total)
    for i in loop(n):
        for j in loop(2):
            for _inside in when(j < i):
                copy(source, held)
                axpby(1, held, 1, total)
    for _inside in when(n < 3):
        axpby(10, total, 0, total)
    copy(total, local_partition(local_tile(b, (32,), (0,)), LANES, thread()))


def test_loops_in_loops_with_conditions_equal_run(tmp_path):
    whole, n = tensor(np.float32, parse("_32:_1")), dim("n", at_least=0, at_most=9)
    call = Launched(*compiled(nested, (whole, whole, n), "n a b", tmp_path), tmp_path)
    for steps in (0, 1, 2, 5):
        a, b, run = np.arange(32, dtype=np.float32), *np.full((2, 32), 9, np.float32)
        call(steps, a, b)
        nested.run(a, run, steps)
        assert (b == run).all(), steps


@kernel(threads=64)
def turned_memory(a, b):
    """Swizzled shared memory that is read by a transposed layout, to registers that are the tile of an argument too."""
    rows, order = parse("(_4,_16):(_16,_1)"), make_layout((16, 16), stride=(16, 1))
    memory = shared(np.float32, parse("Sw<4,0,4> o 0 o (_16,_16):(_16,_1)"))
    copy(local_partition(a, rows, thread()), local_partition(memory, rows, thread()))
    barrier()
    held = make_fragment_like(local_partition(b, rows, thread()))
    copy(local_partition(composition(memory, static(order)), rows, thread()), held)
    axpby(2, held, 0, held)
    copy(held, local_partition(b, rows, thread()))


def test_registers_of_a_transposed_tile_go_to_transposed_places(tmp_path):
    matrix = tensor(np.float32, parse("(_16,_16):(_16,_1)"))
    call = Launched(*compiled(turned_memory, (matrix, matrix), "a b", tmp_path), tmp_path)
    a, b = np.arange(256, dtype=np.float32).reshape(16, 16), np.zeros((16, 16), np.float32)
    call(a, b)
    assert (b == 2 * a.T).all()
    assert call.wavefronts == 16


FOURS = parse("(_4,_32):(_1,_4)")  # the elements of a vector as a matrix, of which a thread has a column


@kernel(threads=64)
def across(a, b, c):
    """A row of a matrix to each thread of a row, and a column of it to each thread of a column behind a barrier."""
    rows, columns = parse("(_4,_16):(_16,_1)"), parse("(_2,_32):(_1,_2)")
    copy(local_partition(local_tile(a, (128,), (0,)), parse("_64:_1"), thread()), local_partition(b, rows, thread()))
    barrier()
    copy(local_partition(b, columns, thread()), local_partition(c, columns, thread()))


def test_threads_wait_for_what_others_write_to_global_memory(tmp_path):
    vector, matrix = tensor(np.float32, parse("_128:_1")), tensor(np.float32, FOURS)
    call = Launched(*compiled(across, (vector, matrix, matrix), "a b c", tmp_path), tmp_path)
    a, b, c, *run = np.arange(128, dtype=np.float32), *np.zeros((4, 128), np.float32)
    call(a, b, c)
    across.run(a, *(make_tensor(x, FOURS) for x in run))
    assert (b == run[0]).all()
    assert (c == run[1]).all()
    assert c.any()
    assert "block_barrier()" in call.source.text
    assert call.ptx.count("bar.sync") + call.ptx.count("bar.warp.sync") >= 1


def refusal(function, *arguments, threads=32):
    with pytest.raises((LeafTypeError, RangeError)) as found:
        kernel(threads=threads)(function).source("gluon", *arguments)
    return str(found.value)


def test_what_is_no_tile_is_refused_with_what_to_write():
    whole, few = tensor(np.float32, parse("_128:_1")), tensor(np.float32, parse("_96:_1"))

    def thirds(a):
        clear(local_partition(a, LANES, thread()))

    assert "3 elements of a thread, in Gluon\n  expected  a power of two" in refusal(thirds, few)

    def half_a_warp(a):
        clear(local_partition(a, parse("_16:_1"), thread()))

    assert "a block of 16 threads, in Gluon\n  expected  whole warps of 32" in refusal(half_a_warp, whole, threads=16)

    def other_registers(a):
        held = make_fragment_like(of_vector(a))
        copy(of_vector(a), held)
        copy(held, local_partition(a, LANES, thread()))
        x = registers(np.float32, 4)
        clear(x)

    assert "registers that nobody copies from or to memory" in refusal(other_registers, whole)

    def a_part(a):
        held = registers(np.float32, (2, 2))
        copy(of_vector(a), held)
        fill(held[_, 0], 1)

    assert "registers that are a part of others elsewhere" in refusal(a_part, whole)

    def gl(a, gl):
        axpby(gl, of_vector(a), 0, of_vector(a))

    assert "a parameter named gl\n  expected  another name" in refusal(gl, whole, np.float32)

    def wide(a, alpha):
        axpby(alpha, of_vector(a), 0, of_vector(a))

    assert "the scalar alpha of float64" in refusal(wide, tensor(np.float64, parse("_128:_1")), np.float64)
