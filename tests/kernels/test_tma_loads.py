"""Kernels that load by TMA: their text gives what numpy gives; what is not ordered with a load is refused
at its line."""

import ctypes
import functools
import itertools

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tests.kernels.test_warp_instructions import PARAMETERS, Half, in_a_register
from tests.kernels.test_warpgroups import product, sizes_for
from tla import (
    Int,
    LeafTypeError,
    MakeTensor,
    RangeError,
    RankError,
    _,
    ceil_div,
    dim,
    dims,
    local_tile,
    make_layout,
    parse,
    tile_to_shape,
)
from tla.gpu import (
    GMMA,
    bulk_facts,
    float,
    half,
    int32,
    make_fragment_like,
    make_tma_copy as map_of,
    tma_transaction_bytes,
)
from tla.kernels import (
    arrive_barrier,
    axpby,
    barrier,
    block,
    clear,
    copy,
    fence_view_async_shared,
    kernel,
    local_partition,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    shared,
    stage,
    tensor,
    thread,
    tma_store_arrive,
    tma_store_wait,
    wait_barrier,
    when,
)
from tla.tensors.guard import whole
from tla.tensors.tensor import tensor_of

import nvrtc
from night import amount, some
from sources_of_kernels import c_function, cuda_function, emitted, kernel_examples

VARIANTS = ("gemm_nt", "gemm_tn")


@functools.cache
def source_of(target, variant):
    return emitted(kernel_examples()["variants of wgmma_tma_sm90"]["VARIANTS"][variant], target)


@pytest.mark.once
@pytest.mark.parametrize("variant", some(VARIANTS, 2))
def test_c_equals_numpy(variant, tmp_path):
    call, rng = c_function(tmp_path, source_of("c", variant)), np.random.default_rng(1)
    drawn = [tuple(map(int, rng.integers(1, 40, 3))) for _n in range(amount(1, 50))]
    for sizes in sizes_for(variant, [(1, 1, 1), (16, 16, 8), (17, 33, 41), *drawn]):
        assert product(call, in_a_register, variant, sizes, rng), sizes


@pytest.mark.once
@pytest.mark.parametrize("variant", some(reversed(VARIANTS), 2))
def test_cuda_executed_by_threads_of_a_cpu_equals_numpy(variant, tmp_path):
    def grid(m, n, *_rest):
        return -(-m.value // 128), -(-n.value // 128)

    call, rng = cuda_function(tmp_path, source_of("cuda", variant), PARAMETERS, grid), np.random.default_rng(2)
    for sizes in sizes_for(variant, [(16, 16, 40), *amount([], [(1, 1, 1), (17, 33, 41), (5, 16, 9)])]):
        assert product(call, lambda x: Half(int(np.float16(x).view(np.uint16))), variant, sizes, rng), sizes


def test_cuda_compiles_to_the_instructions(tmp_path):
    source = source_of("cuda", "gemm_tn")
    ptx, cubin = nvrtc.compiled(source.text, "sm_90a")
    assert source.parameters[-2:] == ("map0", "map1")
    assert [(name, of, made.box) for name, of, made in source.maps] == [
        ("map0", "A", (64, 128)),
        ("map1", "B", (64, 128)),
    ]
    counts = nvrtc.opcodes(cubin, tmp_path)
    named = {
        name: sum(n for op, n in counts.items() if op.startswith(name))
        for name in ("UTMALDG.2D", "LDGSTS", "LDL", "STL")
    }
    assert named["UTMALDG.2D"] >= 2 * 4, "two tiles in the loop, and three times two before it"
    assert named["LDGSTS"] == named["LDL"] == named["STL"] == 0
    assert ptx.count("mbarrier.try_wait.parity") >= 1


# ------------------------------------------------------------------------------------ one tile, by the manual's rules


def as_loaded(a, tile, at, swizzle):
    """The shared memory of a tile of a matrix that has rows: boxes of a swizzle's span, XORed as the PTX manual says,
    zeros past the end."""
    (rows, columns), size = tile, a.dtype.itemsize
    span = min(columns * size, 16 << swizzle) if swizzle else columns * size
    out = np.full(rows * columns, 99, a.dtype)
    for r in range(rows):
        for c in range(columns):
            box, inside = divmod(c * size, span)
            place = box * rows * span + r * span + inside
            place ^= (place >> 7 & ((1 << swizzle) - 1)) << 4
            y, x = at[0] * rows + r, at[1] * columns + c
            out[place // size] = a[y, x] if y < a.shape[0] and x < a.shape[1] else 0
    return out


def one_tile(layout, at, mode):
    """A kernel that loads one tile, and stores the shared memory as it lies."""
    rows, columns = (int(n) for n in mode)

    @kernel(threads=32)
    def loaded(a, out):
        memory, full = shared(a.dtype, make_layout(Int[rows * columns]())), mbarriers(1)
        smem = tensor_of(None, memory.data, Int[0](), layout, [Int[0]()] * 2, whole(layout.shape), memory.memory)
        tma = make_tma_copy("SM90_TMA_LOAD", a, smem)
        barrier()
        set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
        copy(tma.with_(full[0]), local_tile(a, (rows, columns), at), smem)
        wait_barrier(full[0], 0)
        copy(*(local_partition(x, parse("_32:_1"), thread()) for x in (memory, out)))

    return loaded


ROWS = [
    ("K_SW128", half, np.float16, (16, 128), 3),
    ("K_SW64", float, np.float32, (24, 32), 2),
    ("K_SW32", half, np.float16, (8, 16), 1),
    (None, int32, np.int32, (5, 32), 0),
]


@pytest.mark.parametrize(("row", "at"), some(itertools.product(ROWS, [(0, 0), (1, 0), (0, 1)]), 4))
def test_a_tile_lies_as_the_manual_says(row, at, tmp_path):
    name, element, kind, tile, swizzle = row
    shape = tuple(Int[n]() for n in tile)
    layout = (
        make_layout(shape, stride=(shape[1], Int[1]()))
        if name is None
        else tile_to_shape(getattr(GMMA, name)[element], shape)
    )
    a = np.arange(1, 1 + (tile[0] + 3) * (tile[1] + 8)).reshape(tile[0] + 3, tile[1] + 8).astype(kind)
    expected, out = as_loaded(a, tile, at, swizzle), np.zeros(tile[0] * tile[1], kind)
    made = one_tile(layout, at, tile)
    assert made.check(a, out, arch="sm_90").holds
    made.run(a, out)
    assert (out == expected).all()
    given = [
        tensor(
            x.dtype,
            make_layout(tuple(Int[n]() for n in x.shape), stride=tuple(Int[d // x.itemsize]() for d in x.strides)),
        )
        for x in (a, out)
    ]
    out[:] = 0
    c_function(tmp_path, made.source("c", *given))(pointer(a), pointer(out))
    assert (out == expected).all()
    out[:] = 0
    names = {np.float16: "__half", np.float32: "float", np.int32: "int"}
    source = made.source("cuda", *given, arch="sm_90")
    call = cuda_function(tmp_path, source, [f"const {names[kind]} *a", f"{names[kind]} *out"], lambda *_a: (1, 1))
    call(pointer(a), pointer(out))
    assert (out == expected).all()
    nvrtc.compiled(source.text, "sm_90")


# --------------------------------------------------------------------------------------------------- what is refused

ROW, STAGES = 32, 2


def pipeline(*faults):
    """A kernel that adds up tiles of 32 x 32 floats, which come through two stages; and what is wrong with it."""

    @kernel(threads=32, grid=lambda a, out: (1,))
    def sums(a, out):
        t, steps = thread(), ceil_div(a.shape[1], ROW)
        smem = shared(
            np.float32,
            make_layout((Int[ROW](), Int[ROW](), Int[STAGES]()), stride=(Int[ROW](), Int[1](), Int[ROW * ROW]())),
        )
        tma, bytes_ = make_tma_copy("SM90_TMA_LOAD", a, smem[_, _, 0]), tma_transaction_bytes(smem[_, _, 0])
        full, empty = mbarriers(STAGES), mbarriers(STAGES, arrivals=16 if "arrivals" in faults else 32)
        mine = local_partition(out, parse("(_32,_1):(_1,_32)"), t)
        total = make_fragment_like(mine)
        clear(total)
        if "written" in faults:
            clear(local_partition(smem[_, _, 0], parse("(_32,_1):(_1,_32)"), t))
        if "barrier" not in faults:
            barrier()

        def begin(k):
            for _tile in when(k < steps):
                if "bytes" not in faults:
                    set_barrier_transaction_bytes(full[stage(k, STAGES)], bytes_ * (2 if "more" in faults else 1))
                copy(tma.with_(full[stage(k, STAGES)]), local_tile(a, (ROW, ROW), (0, k)), smem[_, _, stage(k, STAGES)])

        begin(0)
        if "early" not in faults:
            begin(1)
        for k in loop(steps):
            if "wait" not in faults:
                wait_barrier(full[stage(k, STAGES)], stage(k, 2) if "parity" in faults else phase(k, STAGES))
            axpby(1, local_partition(smem[_, _, stage(k, STAGES)], parse("(_32,_1):(_1,_32)"), t), 1, total)
            if "early" in faults:
                begin(k + 1)  # to the other stage, that others may still read
            if "empty" not in faults:
                arrive_barrier(empty[stage(k, STAGES)])
                wait_barrier(empty[stage(k, STAGES)], phase(k, STAGES))
            if "early" not in faults:
                begin(k + STAGES)
        copy(total, mine)

    return sums


def matrices():
    a = np.random.default_rng(0).integers(-9, 9, (32, 200)).astype(np.float32)
    padded = np.zeros((32, 224), np.float32)
    padded[:, :200] = a
    return a, np.zeros((32, 32), np.float32), padded.reshape(32, 7, 32).sum(1)


def test_a_pipeline_of_two_stages(tmp_path):
    a, out, expected = matrices()
    report = pipeline().check(a, out, arch="sm_90a")
    assert report.holds, report
    assert not report.idle
    pipeline().run(a, out)
    assert (out == expected).all()
    (K, lda) = dims("K lda", at_least=1, at_most=2**15)
    given = (
        tensor(np.float32, make_layout((Int[32](), K), stride=(lda, Int[1]()))),
        tensor(np.float32, parse("(_32,_32):(_32,_1)")),
    )
    for target in ("c", "cuda"):
        source = pipeline().source(target, *given)
        assert "16 divides 4*lda" in ", ".join(map(str, source.conditions))
        numbers = [ctypes.c_int(n) for n in (200, 200)]
        if target == "c":
            call = c_function(tmp_path, source)
        else:
            nvrtc.compiled(source.text, "sm_90")
            call = cuda_function(
                tmp_path, source, ["const float *a", "float *out", "int K", "int lda"], lambda *_a: (1, 1)
            )
        out[:] = 0
        call(pointer(a), pointer(out), *numbers)
        assert (out == expected).all()


FAULTS = [
    ("barrier", "which thread 0 writes at", "no barrier between"),
    ("wait", "a load by thread 0 writes", "no wait_barrier for it between"),
    ("bytes", "a wait for phase 0, which misses 1 arrivals and -4096 bytes", ""),
    ("more", "a wait for phase 0, which misses 0 arrivals and 4096 bytes", ""),
    ("parity", "a wait for phase", "misses"),
    ("empty", "thread 0 writes element", "no barrier between"),
    ("arrivals", "32 arrivals where 16 are left", ""),
    ("written", "no fence_view_async_shared between", ""),
]


@pytest.mark.parametrize(("fault", "first", "second"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_are_refused(fault, first, second):
    a, out, _expected = matrices()
    report = pipeline(fault).check(a, out)
    assert not report.holds
    found = [*map(str, report.races), *map(str, report.bounds)]
    assert any(first in line and second in line for line in found), found
    assert all(line.startswith("test_tma_loads.py:") for line in found)
    (K,) = dims("K", at_least=1, at_most=2**15, multiple_of=4)
    given = (
        tensor(np.float32, make_layout((Int[32](), K), stride=(K, Int[1]()))),
        tensor(np.float32, parse("(_32,_32):(_32,_1)")),
    )
    with pytest.raises(RangeError):
        pipeline(fault).source("cuda", *given)


def test_a_wait_that_a_slow_thread_may_miss_is_refused():
    """Every thread waits for a phase, and the first ends the next one with nothing between: another may
    wait for ever."""

    @kernel(threads=32)
    def missed(a):
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)
        tma = make_tma_copy("SM90_TMA_LOAD", a, smem)
        barrier()
        for k in range(2):
            set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
            copy(tma.with_(full[0]), local_tile(a, (32, 32), (0, k)), smem)
            wait_barrier(full[0], k)

    report = missed.check(np.zeros((32, 64), np.float32))
    assert [race.who for race in report.races] == ["phase"]
    assert "it may still wait for the phase before" in str(report.races[0])


def test_bad_input_is_refused():
    a, b = (MakeTensor(np.zeros(64 * 64, np.float16), parse("(_64,_64):(_64,_1)")) for _k in range(2))
    tma, tile = map_of("SM90_TMA_LOAD", a, b), local_tile(a, (64, 64), (0, 0))
    rows = MakeTensor(np.zeros(64 * 72, np.float16), parse("(_64,_64):(_72,_1)"))
    later = MakeTensor(np.zeros(65 * 64, np.float16), parse("(_64,_64):(_64,_1)"), offset=32)
    other = MakeTensor(np.zeros(64 * 64, np.float32), parse("(_64,_64):(_64,_1)"))
    in_registers = MakeTensor(np.zeros(64 * 64, np.float16), parse("(_64,_64):(_64,_1)"), position="registers")
    for made, source, target, error, text in (
        (map_of("SM90_TMA_STORE", a, b), tile, b, LeafTypeError, "another tensor"),
        (map_of("SM90_TMA_REDUCE_ADD", a, b), tile, b, LeafTypeError, "SM90_TMA_REDUCE_ADD"),
        (map_of("SM90_TMA_LOAD_MULTICAST", a, b, cluster=2), tile, b, LeafTypeError, "SM90_TMA_LOAD_MULTICAST"),
        (None, tile, b, LeafTypeError, "make_tma_copy"),
        (tma, b, b, LeafTypeError, "another tensor"),
        (tma, local_tile(a, (32, 64), (0, 0)), b, RankError, "the tile that the map is for"),
        (tma, tile, rows, RangeError, "as the map writes it"),
        (tma, tile, later, RangeError, "multiple of 128 bytes"),
        (tma, tile, other, LeafTypeError, "one type"),
        (tma, tile, in_registers, LeafTypeError, "in registers"),
    ):
        with pytest.raises(error, match=text):
            bulk_facts(made, source, target)

    def stated(f, arch=None, **options):
        made, a = kernel(threads=32, **options)(f), np.zeros((32, 32), np.float32)
        return made.check(a, arch=arch) if arch else made.run(a)

    def load(a):
        smem = shared(np.float32, parse("(_32,_32):(_32,_1)"))
        copy(make_tma_copy("SM90_TMA_LOAD", a, smem), local_tile(a, (32, 32), (0, 0)), smem)

    def load_for(a):
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)
        barrier()
        copy(make_tma_copy("SM90_TMA_LOAD", a, smem).with_(full[0]), local_tile(a, (32, 32), (0, 0)), smem)

    def load_little(a):
        smem, full = shared(np.float32, parse("(_1,_16):(_16,_1)")), mbarriers(1)
        barrier()
        copy(make_tma_copy("SM90_TMA_LOAD", a, smem).with_(full[0]), local_tile(a, (1, 16), (0, 0)), smem)

    with pytest.raises(RangeError, match="begins at a multiple of 64"):
        stated(load_little)
    with pytest.raises(LeafTypeError, match="without an mbarrier"):
        stated(load)
    assert "sm_90 or newer" in str(stated(load_for, arch="sm_80").bounds[0].error)
    for f, error in (
        (lambda a: mbarriers(0), RangeError),
        (lambda a: mbarriers(2)[2], RangeError),
        (lambda a: mbarriers(1, arrivals=1 << 20), RangeError),
        (lambda a: wait_barrier(mbarriers(1), 0), LeafTypeError),
        (lambda a: wait_barrier(mbarriers(1)[0], 2), RangeError),
        (lambda a: set_barrier_transaction_bytes(mbarriers(1)[0], 1 << 20), RangeError),
        (lambda a: phase(1, 0), RangeError),
        (lambda a: [*when(thread() < 3)], LeafTypeError),
    ):
        with pytest.raises(error):
            stated(f)
    with pytest.raises(LeafTypeError, match="the same for all threads"):
        kernel(threads=32)(lambda a: [*when(thread() < 3)]).program(np.zeros(4))
    with pytest.raises(LeafTypeError, match="in this target"):
        kernel(threads=32)(load_for).source("hip", tensor(np.float32, parse("(_32,_32):(_32,_1)")))


def test_when_is_an_if_of_the_text(tmp_path):
    @kernel(threads=4, grid=lambda a, n: (3,))
    def some(a, n):
        for _mine in when(block(0) + 1 < n):
            clear(local_partition(local_tile(a, (4,), (block(0),)), parse("_4:_1"), thread()))
        for _always in when(block(0) <= 2):
            pass
        for _never in when(block(0) < 0):
            clear(a)

    for n in range(5):
        a = np.ones(12, np.float32)
        some.run(a, n)
        assert (a == [0] * 4 * min(3, max(0, n - 1)) + [1] * 4 * min(3, 4 - n if n else 3)).all() or n in (0,)
    (n,) = dims("n", at_least=0, at_most=9)
    source = some.source("c", tensor(np.float32, parse("_12:_1")), n)
    assert source.text.count("if (") == 1
    call = c_function(tmp_path, source)
    for value in range(5):
        a, b = np.ones(12, np.float32), np.ones(12, np.float32)
        call(pointer(a), ctypes.c_int(value))
        some.run(b, value)
        assert (a == b).all()


@pytest.mark.parametrize(
    ("shape", "strides", "tile", "rank"), [((130,), (1,), (64,), 1), ((12, 20, 3), (20, 1, 240), (8, 16, 1), 3)]
)
def test_boxes_of_one_mode_and_of_three(shape, strides, tile, rank, tmp_path):
    count = int(np.prod(tile))

    @kernel(threads=32, grid=lambda a, out: (2,))
    def loaded(a, out):
        layout = make_layout(
            tuple(Int[n]() for n in tile), stride=tuple(Int[d]() for d in ((1,) if rank == 1 else (16, 1, 0)))
        )
        memory, full = shared(np.float32, make_layout(Int[count]())), mbarriers(1)
        smem = tensor_of(None, memory.data, Int[0](), layout, [Int[0]()] * rank, whole(layout.shape), memory.memory)
        tma = make_tma_copy("SM90_TMA_LOAD", a, smem)
        barrier()
        set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
        copy(tma.with_(full[0]), local_tile(a, tile, (*(0,) * (rank - 1), block(0) + 1)), smem)
        wait_barrier(full[0], 0)
        copy(*(local_partition(x, parse("_32:_1"), thread()) for x in (memory, local_tile(out, (count,), (block(0),)))))

    whole_of = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float32)
    array = np.lib.stride_tricks.as_strided(whole_of, shape, [4 * d for d in strides])
    expected = np.zeros((2, count), np.float32)
    for b in range(2):
        part = array[64 * (b + 1) : 64 * (b + 2)] if rank == 1 else array[:8, :16, b + 1].ravel()
        expected[b, : part.size] = part
    a = MakeTensor(whole_of, make_layout(shape, stride=strides))
    out = np.zeros(2 * count, np.float32)
    loaded.run(a, out)
    assert (out.reshape(2, count) == expected).all()
    given = (
        tensor(np.float32, make_layout(shape, stride=tuple(Int[1]() if d == 1 else d for d in strides))),
        tensor(np.float32, make_layout((2 * count,))),
    )
    source = loaded.source("cuda", *given, arch="sm_90")
    assert f"load_tile_{rank}d(" in source.text
    nvrtc.compiled(source.text, "sm_90")
    out[:] = 0
    cuda_function(tmp_path, source, ["const float *a", "float *out"], lambda *_a: (2, 1))(
        pointer(whole_of), pointer(out)
    )
    assert (out.reshape(2, count) == expected).all()


# ------------------------------------------------------------------------------------------------------------- stores


def transposed(*faults):
    """A kernel that loads tiles by TMA, transposes each in registers, and stores them by TMA."""
    swizzled = tile_to_shape(GMMA.K_SW128[float], (Int[32](), Int[32]()))

    @kernel(threads=32, grid=lambda a, out: (ceil_div(a.shape[0], 32), ceil_div(a.shape[1], 32)))
    def transposed(a, out):
        smem, turned = shared(np.float32, swizzled), shared(np.float32, swizzled)
        load, store = make_tma_copy("SM90_TMA_LOAD", a, smem), make_tma_copy("SM90_TMA_STORE", out, turned)
        full, t = mbarriers(1), thread()
        barrier()
        set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
        copy(load.with_(full[0]), local_tile(a, (32, 32), (block(0), block(1))), smem)
        wait_barrier(full[0], 0)
        rows, columns = parse("(_32,_1):(_1,_32)"), parse("(_1,_32):(_32,_1)")
        held = make_fragment_like(local_partition(smem, rows, t))
        copy(local_partition(smem, rows, t), held)
        copy(held, local_partition(turned, columns, t))
        if "fence" not in faults:
            fence_view_async_shared()
        if "barrier" not in faults:
            barrier()
        copy(store, turned, local_tile(out, (32, 32), (block(1), block(0))))
        if "arrive" not in faults:
            tma_store_arrive()
        if "early" in faults:
            clear(local_partition(turned, columns, t))
        if "wait" not in faults:
            tma_store_wait[0]()
        if "late" in faults:
            clear(local_partition(turned, columns, t))

    return transposed


@pytest.mark.once
def test_tiles_are_stored(tmp_path):
    made, a = transposed(), np.arange(40 * 68, dtype=np.float32).reshape(40, 68)
    wide = np.full((68, 44), -1, np.float32)
    out = MakeTensor(wide.ravel(), make_layout((68, 40), stride=(44, 1)))
    report = made.check(a, out, arch="sm_90")
    assert report.holds, report
    made.run(a, out)
    assert (np.asarray(out) == a.T).all()
    assert (wide[:, 40:] == -1).all()
    m, n = (dim(name, at_least=1, at_most=2**12, multiple_of=4) for name in "mn")
    given = (
        tensor(np.float32, make_layout((m, n), stride=(n, Int[1]()))),
        tensor(np.float32, make_layout((n, m), stride=(m, Int[1]()))),
    )
    for target in ("c", "cuda"):
        source, found = made.source(target, *given), np.zeros((68, 40), np.float32)
        if target == "c":
            call = c_function(tmp_path, source)
        else:
            ptx, _cubin = nvrtc.compiled(source.text, "sm_90")
            assert "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group" in ptx
            call = cuda_function(
                tmp_path, source, ["const float *a", "float *out", "int m", "int n"], lambda *_a: (2, 3)
            )
        call(pointer(a), pointer(found), ctypes.c_int(40), ctypes.c_int(68))
        assert (found == a.T).all()


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        ("fence", "no fence_view_async_shared between"),
        ("barrier", "no barrier between"),
        ("arrive", "the block ends while a store by TMA reads"),
        ("wait", "the block ends while a store by TMA reads"),
        ("early", "which a store by TMA reads at"),
        ("late", "which thread 0 reads at"),
    ],
)
def test_faults_of_stores_are_refused(fault, wanted):
    report = transposed(fault).check(np.zeros((32, 32), np.float32), np.zeros((32, 32), np.float32))
    assert not report.holds
    assert any(wanted in str(race) for race in report.races), [*map(str, report.races)]
