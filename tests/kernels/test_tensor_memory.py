"""Kernels by tcgen05 with tensor memory: their text gives what numpy gives; what is not ordered with a product is
refused at its line."""

import ctypes
import functools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import Int, LeafTypeError, RangeError, RankError, _, local_tile, make_layout, parse, tile_to_shape
from tla.gpu import UMMA, atom, make_fragment_like, make_tiled_mma, make_tmem_copy, mma_facts
from tla.kernels import (
    Allocator1Sm,
    barrier,
    clear,
    copy,
    fence_view_async_shared,
    fence_view_async_tmem_load,
    gemm,
    kernel,
    local_partition,
    loop,
    mbarriers,
    registers,
    shared,
    tensor,
    thread,
    tmem,
    umma_arrive,
    wait_barrier,
)
from tla.kernels.proofs.bounds import not_inside

import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

PAIRS = "mma_tma_2sm_sm100", "mma_tma_epi_sm100"
EXAMPLES = "mma_sm100", "mma_tma_sm100", "mma_tma_multicast_sm100", *PAIRS
PARAMETERS = (
    "int m, int n, int k, float alpha, const __half *A, int ldA, const __half *B, int ldB, float beta, const float *C, "
    "int ldC, "
    "float *D, int ldD"
).split(", ")


@functools.cache
def variant(name):
    return kernel_examples()[f"variants of {name}"]["VARIANTS"]["gemm_tn"]


@functools.cache
def program(name):
    made, arguments, _parameters = variant(name)
    found = made.program(*arguments)
    assert not [*not_inside(found)]
    lines = str(found).splitlines()
    assert sum("adding where 0 < 4*k0" in line for line in lines) == 1, (
        "the first product of the first tile does not add"
    )
    assert [line.split()[0] for line in lines if "columns" in line] == [
        "allocate",
        "tmem",
        *["tmem"] * ("epi" in name),
        "free",
    ]
    return found


@functools.cache
def source_of(target, name):
    return emitted(variant(name), target)


def product(call, sizes, rng):
    """Call the kernel for matrices with NaN behind each row; whether D is numpy's, and no more."""
    m, n, k = sizes
    a, b = (np.full((rows, k + 8), np.nan, np.float16) for rows in (m, n))
    for x in (a, b):
        x[:, :k] = rng.integers(-2, 3, (len(x), k))
    c, d = (rng.integers(-9, 9, (m, -(-n // 4) * 4 + more)).astype(np.float32) for more in (8, 4))
    expected = d.copy()
    expected[:, :n] = 2 * a[:, :k].astype(np.float32) @ b[:, :k].T.astype(np.float32) - 3 * c[:, :n]
    steps = [ctypes.c_int(x.shape[1]) for x in (a, b, c, d)]
    matrices = [given for pair in zip(map(pointer, (a, b, c, d)), steps) for given in pair]
    numbers, (two, three) = map(ctypes.c_int, sizes), map(ctypes.c_float, (2, -3))
    call(*numbers, two, *matrices[:4], three, *matrices[4:])
    return (d == expected).all()


def sizes_for(name, drawn):
    """Sizes that a kernel takes: a tensor map has no extent of 0."""
    return [(m, n, 8 * k) for m, n, k in drawn if name == "mma_sm100" or min(m, n, k)]


@pytest.mark.once
@pytest.mark.parametrize("name", some(EXAMPLES, 3))
def test_c_equals_numpy(name, tmp_path):
    call, rng = c_function(tmp_path, source_of("c", name)), np.random.default_rng(1)
    drawn = [tuple(map(int, rng.integers(0, (300, 600, 30)))) for _n in range(amount(2, 50))]
    for sizes in sizes_for(name, [(1, 1, 1), (0, 3, 1), (3, 0, 1), (5, 7, 0), (128, 256, 8), (129, 257, 9), *drawn]):
        assert product(call, sizes, rng), sizes


CLUSTERS = EXAMPLES[2:]


@pytest.mark.once
@pytest.mark.parametrize("name", some(CLUSTERS, 3))
def test_run_equals_numpy(name):
    """Of kernels in clusters; test_clusters has others that run, and the two without."""
    made, rng = variant(name)[0], np.random.default_rng(3)
    drawn = [tuple(map(int, rng.integers(1, (300, 600, 30)))) for _n in range(amount(0, 50))]
    for m, n, k in [(1, 1, 1), (129, 257, 9), *drawn]:
        a, b = (rng.integers(-2, 3, (rows, 8 * k)).astype(np.float16) for rows in (m, n))
        padded = [rng.integers(-9, 9, (m, -(-n // 4) * 4)).astype(np.float32) for _matrix in range(2)]
        c, d = (x[:, :n] for x in padded)
        made.run(a, b, c, d, 2, -3)
        assert (d == 2 * a.astype(np.float32) @ b.T.astype(np.float32) - 3 * c).all(), (m, n, k)


@pytest.mark.once
@pytest.mark.parametrize("name", some(reversed(EXAMPLES), 3))
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(name, tmp_path):
    source = source_of("cuda", name)
    clusters = source.cluster or (1, 1)

    def grid(m, n, *_rest):
        return tuple(-(-x.value // (rows * c)) * c for x, rows, c in zip((m, n), (128, 256), clusters))

    call, rng = cuda_function(tmp_path, source, PARAMETERS, grid), np.random.default_rng(2)
    drawn = [tuple(map(int, rng.integers(1, (300, 600, 30)))) for _n in range(amount(0, 50))]
    for sizes in sizes_for(name, [(130, 258, 9), *amount([], [(1, 1, 1), (128, 256, 24), (5, 16, 41)]), *drawn]):
        assert product(call, sizes, rng), sizes


@pytest.mark.parametrize("name", EXAMPLES)
def test_cuda_compiles_to_the_instructions(name, tmp_path):
    ptx, cubin = nvrtc.compiled(source_of("cuda", name).text, "sm_100a")
    counts = nvrtc.opcodes(cubin, tmp_path)
    pair, several = ".2CTA" * (name in PAIRS), ".MULTICAST" * (name not in ("mma_sm100", "mma_tma_sm100"))
    wanted = (
        f"UTCHMMA{pair}",
        f"UTMALDG.2D{several}{pair}",
        f"UTCBAR{pair}{several}",
        "LDTM",
        "UTMASTG.2D",
        "UCGABAR_ARV",
        "LDL",
        "STL",
    )
    product, load, arrival, read, store, together, *local = (
        sum(n for full, n in counts.items() if full.startswith(op)) for op in wanted
    )
    assert product >= 4, "four products along K"
    assert (load >= 2) is ("tma" in name)
    assert (store >= 1) is ("epi" in name)
    assert arrival >= 1
    assert read >= 1
    assert together == bool(several)
    assert local == [0, 0]
    assert ptx.count("tcgen05.alloc") == ptx.count("tcgen05.dealloc") == 1


# ------------------------------------------------------------------------------------------- every kind of product

#: An instruction, its types in numpy, how A and B lie, and the load of its sums.
ONE = [
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,128,64,UMMA::Major::MN,UMMA::Major::K>", "float16", "float32", ("MN_SW128", "K_SW32"), "32dp32b16x"),
    ("SM100_MMA_F16BF16_SS<half_t,half_t,float,64,32,UMMA::Major::K,UMMA::Major::K>", "float16", "float32", ("K_SW32", "K_INTER"), "16dp256b2x"),
    ("SM100_MMA_TF32_SS<tfloat32_t,tfloat32_t,float,128,16,UMMA::Major::K,UMMA::Major::K>", "float32", "float32", ("K_SW32", "K_SW32"), "32dp32b1x"),
    ("SM100_MMA_S8_SS<int8_t,int8_t,int32_t,128,32,UMMA::Major::K,UMMA::Major::K>", "int8", "int32", ("K_SW32", "K_INTER"), "32dp32b8x"),
    ("SM100_MMA_S8_SS<int8_t,int8_t,int32_t,64,16,UMMA::Major::K,UMMA::Major::K>", "int8", "int32", ("K_SW32", "K_INTER"), "16dp64b4x"),
]  # fmt: skip


def one_product(name, types, canonical, load, steps=2):
    """A kernel of products of one atom, along K one after the other, and the arguments of its text: C = A * B^T."""
    made = atom(name)
    mma, (m, n, k) = make_tiled_mma(made), map(int, made.shape_mnk)
    k *= steps
    shapes = (m, k), (n, k), (m, n)
    each = make_layout((Int[128 // 8](), Int[8]()), stride=(Int[8](), Int[1]()))

    @kernel(threads=128)
    def product(A, B, C):
        t, own, done, allocator = thread(), mma[0], mbarriers(1), Allocator1Sm()
        columns, operands = allocator.allocate(128), []
        for x, lies, side in zip((A, B), canonical, "AB"):
            shape = tuple(Int[x]() for x in shapes["AB".index(side)])
            memory = shared(types[0], tile_to_shape(getattr(UMMA, lies)[made.element(side)], shape))
            copy(*(local_partition(y, each, t) for y in (x, memory)))
            operands.append(getattr(own, f"partition_fragment_{side}")(memory))
        mine = own.partition_C(local_tile(C, (Int[m](), Int[n]()), (0, 0)))
        fence_view_async_shared()
        barrier()
        total = tmem(types[1], own.make_fragment_C(mine).layout, columns, column=32)
        for part in range(steps):
            gemm(mma.with_(part > 0), *(x[_, _, part] for x in operands), total)
        umma_arrive(done[0])
        wait_barrier(done[0], 0)
        tiled = make_tmem_copy(atom(f"SM100_TMEM_LOAD_{load}"), total, made.val_C)
        source, target = tiled[t].partition_S(total), tiled[t].partition_D(mine)
        held = make_fragment_like(target)
        copy(tiled, source, held)
        fence_view_async_tmem_load()
        copy(held, target)
        barrier()
        allocator.free(columns)

    layouts = [make_layout((Int[a](), Int[b]()), stride=(Int[b](), Int[1]())) for a, b in shapes]
    return product, [tensor(np.dtype(types[x == 2]), layout) for x, layout in enumerate(layouts)]


@pytest.mark.parametrize(("name", "element", "sums", "canonical", "load"), ONE, ids=[row[0] for row in ONE])
def test_one_product(name, element, sums, canonical, load, tmp_path):
    made, given = one_product(name, (element, sums), canonical, load)
    rng = np.random.default_rng(0)
    a, b, c = (rng.integers(-2, 3, tuple(map(int, x.layout.shape))).astype(x.dtype) for x in given)
    expected = a.astype(float) @ b.T.astype(float)
    report = made.check(a, b, c, arch="sm_100a")
    assert report.holds, report
    assert not report.unwritten
    made.run(a, b, c)
    assert (c == expected).all()
    nvrtc.compiled(made.source("cuda", *given, arch="sm_100a").text, "sm_100a")
    c[:] = 99
    c_function(tmp_path, made.source("c", *given))(*map(pointer, (a, b, c)))
    assert (c == expected).all()


# ------------------------------------------------------------------------------------------------- what is refused

COLUMNS, HELD = parse("(_128,_64):(_65536,_1)"), parse("((_64,_1),_1,_1):((_1,_0),_0,_0)")


def stated(f, threads=128, **options):
    """Run a kernel without arguments, of an allocator and what is stated with it."""

    @kernel(threads=threads)
    def made():
        f(Allocator1Sm())

    return made.check(**options) if options else made.run()


def second(allocator):
    allocator.free(allocator.allocate(256))
    allocator.allocate(512)
    allocator.allocate(32)


def behind_the_lock(allocator):
    allocator.release_allocation_lock()
    allocator.allocate(32)


def twice(allocator):
    columns = allocator.allocate(32)
    allocator.free(columns)
    allocator.free(columns)


def of_two_types(allocator):
    columns = allocator.allocate(64)
    barrier()
    tmem(np.float32, COLUMNS, columns)
    tmem(np.int32, COLUMNS, columns)


def used_when_it_is_free(allocator):
    columns = allocator.allocate(64)
    barrier()
    total = tmem(np.float32, COLUMNS, columns)
    allocator.free(columns)
    load = make_tmem_copy(atom("SM100_TMEM_LOAD_32dp32b64x"), total, float)
    copy(load, load[thread()].partition_S(total), registers(np.float32, HELD))


def cleared(allocator):
    columns = allocator.allocate(64)
    barrier()
    clear(tmem(np.float32, COLUMNS, columns))


def stores(allocator):
    columns = allocator.allocate(64)
    barrier()
    total = tmem(np.float32, COLUMNS, columns)
    store = make_tmem_copy(atom("SM100_TMEM_STORE_32dp32b64x"), total, float)
    copy(store, registers(np.float32, HELD), store[thread()].partition_D(total))


REFUSED = [
    (lambda allocator: allocator.allocate(24), RangeError, "24 columns of tensor memory", "a power of two, 32 to 512"),
    (lambda allocator: allocator.allocate(1024), RangeError, "1024 columns", "a power of two, 32 to 512"),
    (lambda allocator: allocator.allocate(None), RangeError, "None columns", "a power of two, 32 to 512"),
    (second, RangeError, "32 columns of tensor memory besides 512", "512 of a multiprocessor"),
    (behind_the_lock, RangeError, "behind release_allocation_lock", "allocations before it"),
    (twice, RangeError, "freed again", "one free of each allocation"),
    (lambda allocator: allocator.free(512), LeafTypeError, "free(512)", "what allocate gave"),
    (
        lambda allocator: allocator.allocate(64),
        RangeError,
        "ends with 64 columns of tensor memory",
        "columns that are free again",
    ),
    (
        lambda allocator: tmem(np.float16, COLUMNS, allocator.allocate(64)),
        LeafTypeError,
        "tensor memory of float16",
        "32 bits",
    ),
    (
        lambda allocator: tmem(np.float32, COLUMNS, 64),
        LeafTypeError,
        "tmem of (_128,_64):(_65536,_1) in 64",
        "what allocate gave",
    ),
    (
        lambda allocator: tmem(np.float32, COLUMNS, allocator.allocate(64), "x"),
        LeafTypeError,
        "tmem at column x",
        "a number",
    ),
    (
        lambda allocator: tmem(np.float32, COLUMNS, allocator.allocate(64), 1),
        RangeError,
        "data path 127, column 64",
        "64 columns",
    ),
    (
        lambda allocator: tmem(np.float32, COLUMNS, allocator.allocate(64), -1),
        RangeError,
        "data path -1, column 65535",
        "64 columns",
    ),
    (of_two_types, LeafTypeError, "tensor memory of float32 and of int32", "one type of an allocation"),
    (used_when_it_is_free, RangeError, "tensor memory that is free again", "columns that are allocated"),
    (cleared, LeafTypeError, "clear of a tensor in tensor memory", "one that threads read and write"),
    (stores, LeafTypeError, "the copy SM100_TMEM_STORE_32dp32b64x in a kernel", "loads of tensor memory"),
    (lambda allocator: umma_arrive(3), LeafTypeError, "umma_arrive of 3", "one of the mbarriers"),
]


@pytest.mark.parametrize(("f", "error", "what", "expected"), REFUSED)
def test_bad_input_is_refused(f, error, what, expected):
    with pytest.raises(error) as found:
        stated(f)
    assert what in found.value.reason.what
    assert expected in found.value.reason.expected


def test_a_warp_reads_its_own_data_paths():
    """Two warps that ask for those of the third and the fourth."""

    def read(allocator):
        columns = allocator.allocate(64)
        barrier()
        total = tmem(np.float32, COLUMNS, columns)
        own = make_tmem_copy(atom("SM100_TMEM_LOAD_32dp32b64x"), total, float)[thread() + 64]
        copy(own.copy, own.partition_S(total), registers(np.float32, HELD))
        allocator.free(columns)

    with pytest.raises(RangeError, match="a load of tensor memory by warp 0 from data path 64"):
        stated(read, threads=64)
    with pytest.raises(RangeError, match="a whole warp"):
        stated(lambda allocator: allocator.allocate(32), threads=16)


def twice_added(*faults):
    """A kernel that adds two products up, and reads the sums after each."""
    mma = make_tiled_mma(atom("SM100_MMA_F16BF16_SS<half_t,half_t,float,128,32,UMMA::Major::K,UMMA::Major::K>"))
    each = make_layout((Int[16](), Int[8]()), stride=(Int[8](), Int[1]()))

    @kernel(threads=128)
    def made(A, B, C):
        t, own, done, allocator = thread(), mma[0], mbarriers(1), Allocator1Sm()
        columns = allocator.allocate(32)
        memory = [
            shared(np.float16, tile_to_shape(UMMA.K_SW32[mma.atom.val_A], (Int[n](), Int[16]()))) for n in (128, 32)
        ]
        for x, to in zip((A, B), memory):
            copy(*(local_partition(y, each, t) for y in (x, to)))
        fence_view_async_shared()
        barrier()
        total = tmem(np.float32, own.make_fragment_C(own.partition_C(COLUMNS_OF_C)).layout, columns)
        tiled = make_tmem_copy(atom("SM100_TMEM_LOAD_32dp32b32x"), total, mma.atom.val_C)
        target = tiled[t].partition_D(own.partition_C(local_tile(C, (Int[128](), Int[32]()), (0, 0))))
        operands = own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1])
        for k in loop(2):
            gemm(mma.with_(0 < k), *operands, total)
            umma_arrive(done[0])
            if "wait" not in faults:
                wait_barrier(done[0], k % 2)
            held = make_fragment_like(target)
            copy(tiled, tiled[t].partition_S(total), held)
            if "load" not in faults and "load late" not in faults:
                fence_view_async_tmem_load()
            if "barrier" not in faults:
                barrier()
            if "load" in faults or ("load late" in faults and k > 0):
                fence_view_async_tmem_load()
        copy(held, target)
        barrier()
        allocator.free(columns)

    return made


COLUMNS_OF_C = parse("(_128,_32):(_32,_1)")


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ("", None),
        ("barrier", "thread 0 writes data path 1, column 0 of tensor memory, which thread 1 reads at"),
        ("load", "thread 0 writes data path 1, column 0 of tensor memory, which thread 1 reads at"),
        ("load late", "thread 0 writes data path 0, column 0 of tensor memory, which a load by thread 0 reads at"),
        ("wait", "data path 0, column 0 of tensor memory, which a product writes at"),
    ],
)
def test_sums_that_are_read_between_products(fault, wanted):
    a, b, c = np.ones((128, 16), np.float16), np.ones((32, 16), np.float16), np.zeros((128, 32), np.float32)
    report = twice_added(fault).check(a, b, c)
    assert report.holds is (wanted is None), report
    assert wanted is None or any(wanted in str(race) for race in report.races), [*map(str, report.races)]
    if not fault:
        twice_added().run(a, b, c)
        assert (c == 32).all()


@pytest.mark.once
def test_an_architecture_that_has_the_instruction():
    name, element, sums, canonical, load = ONE[3]
    made, given = one_product(name, (element, sums), canonical, load)
    for arch in ("sm_100", "sm_90a", "sm_100f", "sm_103a", "sm_120a"):
        with pytest.raises(RangeError, match=f"on {arch}") as found:
            made.source("cuda", *given, arch=arch)
        assert found.value.reason.expected == "sm_100a"
    name, element, sums, canonical, load = ONE[0]
    made, given = one_product(name, (element, sums), canonical, load)
    assert made.source("cuda", *given, arch="sm_100f").text
    with pytest.raises(LeafTypeError, match="in this target"):
        made.source("hip", *given)


def test_a_product_that_does_not_always_add():
    mma = make_tiled_mma(atom(ONE[0][0]))
    a, b = (
        tile_to_shape(lies[mma.atom.val_A], (Int[n](), Int[64]()))
        for lies, n in ((UMMA.MN_SW128, 128), (UMMA.K_SW128, 64))
    )
    other = make_tiled_mma(atom("SM80_16x8x16_F32F16F16F32_TN"))
    with pytest.raises(LeafTypeError, match="which always adds"):
        other.with_(False)
    with pytest.raises(LeafTypeError, match="True, False or a comparison"):
        mma.with_(0)
    total = mma[0].partition_fragment_C(make_layout((Int[128](), Int[64]())))
    with pytest.raises(RankError, match="4 atoms along K, each of which may overwrite C"):
        mma_facts(mma.with_(False), mma[0].partition_A(a), mma[0].partition_B(b), total)
    assert repr(mma.with_(False)).endswith(".with_(False)")
    assert mma.with_(True) == mma != mma.with_(False)
