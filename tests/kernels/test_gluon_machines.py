"""Kernels of Hopper, Blackwell and AMD as Gluon's text: TMA, tensor memory and MFMA, compiled by Triton without a GPU; the
PTX is executed on the CPU, of AMD's text the instructions are counted."""

import re

import numpy as np
import pytest
from gluon_kernels import Launched, compiled

from tests.kernels.test_gluon import drawn, examples, launched, numbers, product, refusal
from tests.kernels.test_tensor_memory import ONE, one_product
from tla import Int, LeafTypeError, _, ceil_div, dim, local_tile, make_layout, parse, tile_to_shape
from tla.gpu import (
    GMMA,
    SM100_MMA_F16BF16_SS,
    UMMA,
    K,
    atom,
    float as f32,
    half,
    make_fragment_like,
    make_tiled_mma,
    tma_transaction_bytes,
)
from tla.kernels import (
    Allocator1Sm,
    arrive_barrier,
    axpby,
    barrier,
    block,
    clear,
    copy,
    fence_view_async_shared,
    gemm,
    kernel,
    local_partition,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    shared,
    tensor,
    thread,
    tma_store_arrive,
    tma_store_wait,
    tmem,
    umma_arrive,
    wait_barrier,
)
from tla.kernels.targets import source_of
from tla.linear.triton import AMDMFMALayout

from night import amount


def counts(call, *words):
    return [call.ptx.count(word) for word in words]


@pytest.mark.once
@pytest.mark.parametrize("variant", amount(["gemm_tn"], ["gemm_tn", "gemm_nt"]))
def test_tiles_that_tma_loads_for_a_warpgroup_equal_numpy(variant, tmp_path):
    call, rng = launched("wgmma_tma_sm90", variant, tmp_path, "sm_90"), np.random.default_rng(1)
    words = "wgmma.mma_async", "cp.async.bulk.tensor.2d", "mbarrier.try_wait", "expect_tx", "mbarrier.init"
    assert counts(call, *words) == [16, 8, 1, 4, 3]  # of A and B, in the loop and for each of three stages before it
    for m, n, k in [(8, 8, 8), (136, 264, 328), *numbers(0, 200, 3, 7)]:
        sizes = [max(8, x // 8 * 8) for x in (m, n, k)]
        assert product(call, variant, *sizes, rng, np.float16), sizes


@pytest.mark.parametrize("example", amount(["mma_tma_sm100"], ["mma_sm100", "mma_tma_sm100"]))
def test_products_in_tensor_memory_equal_numpy(example, tmp_path):
    call, rng = launched(example, "gemm_tn", tmp_path, "sm_100"), np.random.default_rng(1)
    words = "tcgen05.mma", "tcgen05.commit", "tcgen05.ld", "cp.async.bulk.tensor.2d", "cp.async.cg", "try_wait"
    assert counts(call, *words) == [4, 1, 8, *((2, 0, 2) if "tma" in example else (0, 24, 1))]
    for m, n, k in [
        (1, 1, 8),
        (130, 258, 72),
        *((max(1, m), max(1, n), 8 + 8 * k) for m, n, k in numbers(0, 40, 3, 8)),
    ]:
        a, b = (np.full((rows, k + 8), np.nan, np.float16) for rows in (m, n))
        for x in (a, b):
            x[:, :k] = drawn(rng, (len(x), k))
        c, d = (drawn(rng, (m, n + more), most=9) for more in (8, 4))
        expected = d.copy()
        expected[:, :n] = 2 * a[:, :k].astype(np.float32) @ b[:, :k].T.astype(np.float32) - 3 * c[:, :n]
        call(m, n, k, 2.0, a, a.shape[1], b, b.shape[1], -3.0, c, c.shape[1], d, d.shape[1])
        assert (d == expected).all(), (m, n, k)


def doubled_of(layout, tile=(32, 32)):
    """A kernel of row after row of tiles that TMA loads, threads double, and TMA stores."""

    @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape[0], tile[0]),))
    def doubled(a, b):
        rows, steps = parse("(_4,_8):(_8,_1)"), ceil_div(a.shape[1], tile[1])
        come, gone = (shared(np.float32, layout) for _memory in range(2))
        full, empty = mbarriers(1), mbarriers(1, arrivals=32)
        load, store = make_tma_copy("SM90_TMA_LOAD", a, come), make_tma_copy("SM90_TMA_STORE", b, gone)
        source, target = (local_partition(x, rows, thread()) for x in (come, gone))
        held = make_fragment_like(source)
        barrier()
        for k in loop(steps):
            set_barrier_transaction_bytes(full[0], tma_transaction_bytes(come))
            copy(load.with_(full[0]), local_tile(a, tile, (block(0), k)), come)
            wait_barrier(full[0], phase(k, 1))
            copy(source, held)
            arrive_barrier(empty[0])
            axpby(2, held, 0, held)
            copy(held, target)
            fence_view_async_shared()
            barrier()
            copy(store, gone, local_tile(b, tile, (block(0), k)))
            tma_store_arrive()
            tma_store_wait[0]()
            wait_barrier(empty[0], phase(k, 1))
            barrier()

    return doubled


SQUARE = Int[32](), Int[32]()
LAYOUTS = {"rows": parse("(_32,_32):(_32,_1)"), "swizzled": tile_to_shape(GMMA.K_SW128[f32], SQUARE)}


@pytest.mark.parametrize("name", LAYOUTS)
def test_tiles_that_tma_loads_and_stores_equal_run(name, tmp_path):
    matrix = tensor(np.float32, parse("(_70,_40):(_40,_1)"))
    made = doubled_of(LAYOUTS[name])
    a, b = np.arange(2800, dtype=np.float32).reshape(70, 40), np.zeros((70, 40), np.float32)
    assert made.check(a, b, arch="sm_90").holds
    call = Launched(*compiled(made, (matrix, matrix), "a b", tmp_path, "sm_90"), tmp_path)
    assert [x[:2] for x in call.source.maps] == [("map0", "a"), ("map1", "b")]
    call(a, b)
    assert (b == 2 * a).all()


def test_offsets_of_64_bits_leave_coordinates_and_phases_narrow(tmp_path):
    m, n = (dim(name, at_least=1, at_most=2**33, multiple_of=4) for name in "mn")
    matrix = tensor(np.float32, make_layout((m, n), stride=(n, Int[1]())))
    call = Launched(*compiled(doubled_of(LAYOUTS["rows"]), (matrix, matrix), "m n a b", tmp_path, "sm_90"), tmp_path)
    assert "bid0 = gl.program_id(0).to(gl.int64)" in call.source.text
    a, b = np.arange(2880, dtype=np.float32).reshape(72, 40), np.zeros((72, 40), np.float32)
    call(72, 40, a, b)
    assert (b == 2 * a).all()


def test_what_loads_and_tensor_memory_gluon_cannot_say():
    matrix = tensor(np.float32, parse("(_70,_40):(_40,_1)"))
    with pytest.raises(LeafTypeError, match=r"a tile of \(32, 32\) of a to smem0 of \(_32,_32\):\(_64,_1\), in Gluon"):
        doubled_of(parse("(_32,_32):(_64,_1)")).source("gluon", matrix, matrix)

    def later(a):
        smem = shared(np.float32, LAYOUTS["rows"])
        clear(local_partition(smem, parse("_32:_1"), thread()))
        fence_view_async_shared()
        barrier()
        for k in range(2):
            copy(make_tma_copy("SM90_TMA_STORE", a, smem), smem, local_tile(a, (32, 32), (0, k)))
            tma_store_arrive()
        tma_store_wait[1]()
        tma_store_wait[0]()

    assert "a wait that leaves stores under way, in Gluon\n  expected  a wait for all of them" in refusal(later, matrix)


OF_MN, OF_64_ROWS, OF_TF32, *_OF_INTEGERS = ONE


def test_operands_of_both_majors_and_two_swizzles_equal_numpy(tmp_path):
    made, given = one_product(OF_MN[0], OF_MN[1:3], *OF_MN[3:])
    call = Launched(*compiled(made, given, "A B C", tmp_path, "sm_100"), tmp_path)
    assert counts(call, "tcgen05.mma") == [2]
    rng = np.random.default_rng(1)
    a, b, c = (drawn(rng, tuple(map(int, x.layout.shape)), x.dtype) for x in given)
    call(a, b, c)
    assert (c == a.astype(np.float32) @ b.T.astype(np.float32)).all()


@pytest.mark.parametrize(
    ("row", "text"),
    [
        (OF_64_ROWS, r"a part of shared memory: 112 of the extents \(112, 32\), in Gluon"),
        (OF_TF32, r"A of SM100_MMA_TF32_SS.*, in Gluon\n  expected  dense float16 or bfloat16 in shared memory"),
    ],
)
def test_other_products_in_tensor_memory_are_refused(row, text):
    made, given = one_product(row[0], row[1:3], *row[3:])
    with pytest.raises(LeafTypeError, match=text):
        source_of(made.program(*given), "gluon", "kernel_main", "A B C", "")


@pytest.mark.parametrize(
    ("steps", "adds", "text"),
    [
        ((0,), (False,), "a product of a part of smem2 along K, in Gluon\n  expected  all of A"),
        ((0, 1), (False, False), "a product that does not add, behind others of its tile"),
    ],
)
def test_products_that_are_none_of_whole_tiles_are_refused(steps, adds, text):
    mma = make_tiled_mma(SM100_MMA_F16BF16_SS[half, half, f32, 128, 32, K, K])

    @kernel(threads=128)
    def parts(A, B, C):
        own, done, allocator = mma[0], mbarriers(1), Allocator1Sm()
        columns = allocator.allocate(32)
        memory = [shared(np.float16, tile_to_shape(UMMA.K_SW64[half], (Int[n](), Int[32]()))) for n in (128, 32)]
        for matrix, to in zip((A, B), memory):
            copy(*(local_partition(x, parse("(_16,_8):(_8,_1)"), thread()) for x in (matrix, to)))
        mine = own.partition_C(local_tile(C, (Int[128](), Int[32]()), (0, 0)))
        fence_view_async_shared()
        barrier()
        total = tmem(np.float32, own.make_fragment_C(mine).layout, columns)
        a, b = own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1])
        for step, add in zip(steps, adds):
            gemm(mma.with_(add), a[_, _, step], b[_, _, step], total)
        umma_arrive(done[0])
        wait_barrier(done[0], 0)
        allocator.free(columns)

    shapes = (128, 32, np.float16), (32, 32, np.float16), (128, 32, np.float32)
    given = [tensor(kind, make_layout((Int[m](), Int[n]()), stride=(Int[n](), Int[1]()))) for m, n, kind in shapes]
    with pytest.raises(LeafTypeError, match=text):
        source_of(parts.program(*given), "gluon", "kernel_main", "A B C", "")


@pytest.mark.parametrize("example", ["mma_tma_multicast_sm100", "mma_tma_2sm_sm100", "mma_tma_epi_sm100"])
def test_clusters_are_refused_with_the_reason(example):
    made, arguments, parameters = examples()[f"variants of {example}"]["VARIANTS"]["gemm_tn"]
    with pytest.raises(
        LeafTypeError, match=r"a cluster of 4 by 4 by 1 blocks, in Gluon\n  expected  blocks by themselves"
    ):
        source_of(made.program(*arguments), "gluon", "kernel_main", parameters, "")


# ------------------------------------------------------------------------------------------------------------ AMD


def instructions(text, pattern):
    return re.findall(rf"^\t({pattern})", text, re.M)


def test_the_product_by_mfma_has_the_instructions_of_hips(tmp_path):
    made, arguments, parameters = examples()["variants of gemm_atoms"]["VARIANTS"]["mfma"]
    source, text = compiled(made, arguments, parameters, tmp_path, "gfx942")
    assert "num_warps=4" in source.text
    assert len(instructions(text, r"v_mfma_f32_32x32x8_f16")) == 16
    assert len(instructions(text, r"ds_write_b128")) == len(instructions(text, r"global_load_dwordx4")) == 4
    assert len(instructions(text, r"s_barrier")) == 2
    assert not instructions(text, r"scratch_\w+")


#: AMD's matrix instructions, the GPU that has them, and Triton's version of it.
MFMA = [
    ("v_mfma_f32_32x32x8_f16", "cdna3", "gfx942", "float16", "float32"),
    ("v_mfma_f32_16x16x16_f16", "cdna3", "gfx942", "float16", "float32"),
    ("v_mfma_f32_32x32x2_f32", "cdna3", "gfx942", "float32", "float32"),
    ("v_mfma_f32_16x16x32_f16", "cdna4", "gfx950", "float16", "float32"),
]


@pytest.mark.parametrize(("name", "isa", "arch", "element", "sums"), amount(MFMA[-1:], MFMA), ids=lambda x: str(x))
def test_one_mfma(name, isa, arch, element, sums, tmp_path):
    """The instruction is there, once for each step; who holds what is what Triton's layout says."""
    made = atom(name, isa)
    mma, (m, n, k) = make_tiled_mma(made), map(int, made.shape_mnk)
    steps = max(2, 8 // k)

    @kernel(threads=64)
    def product_of(A, B, C):
        own = mma[thread()]
        memory = [shared(x.dtype, make_layout(x.layout.shape, stride=(x.layout.shape[1], Int[1]()))) for x in (A, B)]
        lanes = parse("(_16,_4):(_4,_1)")
        for matrix, to in zip((A, B), memory):
            copy(*(local_partition(x, lanes, thread()) for x in (matrix, to)))
        barrier()
        a, b, c = own.partition_A(memory[0]), own.partition_B(memory[1]), own.partition_C(C)
        held = [make_fragment_like(x) for x in (a, b, c)]
        for x, registers in zip((a, b), held):
            copy(x, registers)
        clear(held[2])
        gemm(mma, *held)
        copy(held[2], c)

    shapes = (m, steps * k), (n, steps * k), (m, n)
    given = [
        tensor(np.dtype(x), make_layout((Int[r](), Int[c]()), stride=(Int[c](), Int[1]())))
        for x, (r, c) in zip((element, element, sums), shapes)
    ]
    _source, text = compiled(product_of, given, "A B C", tmp_path, arch)
    assert len(instructions(text, name)) == steps
    layout = AMDMFMALayout(int(isa[-1]), [m, n, k], False, [1, 1])
    bases = layout.linear([m, n]).bases
    lanes = [divmod(int(made.C((1 << x, 0))), m)[::-1] for x in range(6)]
    assert [tuple(v) for v in bases["lane"]] == lanes
    values = [divmod(int(made.C((0, 1 << x))), m)[::-1] for x in range((m * n // 64).bit_length() - 1)]
    assert [tuple(v) for v in bases["register"]] == values
    for index, side, extent in ((0, made.A, m), (1, made.B, n)):
        width = side[1].shape if isinstance(side[1].shape, int) else int(np.prod(side[1].shape))
        found = layout.operand(index, int(width), [m, k] if index == 0 else [k, n], ()).bases
        wanted = [divmod(int(side((1 << x, 0))), extent)[::-1] for x in range(6)]
        assert [tuple(v) if index == 0 else tuple(v)[::-1] for v in found["lane"]] == wanted
