"""Kernels of clusters: blocks that load for each other give what numpy gives; races between them are refused."""

import ctypes

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import Int, LeafTypeError, RangeError, ceil_div, dim, local_tile, make_layout, parse
from tla.gpu import make_fragment_like, tma_transaction_bytes
from tla.kernels import (
    Allocator2Sm,
    axpby,
    block,
    block_rank_in_cluster,
    clear,
    cluster_sync,
    copy,
    create_tma_multicast_mask,
    fill,
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
    umma_arrive_multicast,
    umma_arrive_multicast_2x1SM,
    wait_barrier,
    when,
)
from tla.kernels.block.turns import Turns

import nvrtc
from night import amount
from sources_of_kernels import c_function, cuda_function

ROWS = parse("(_32,_1):(_1,_32)")
PAIR = make_layout((Int[2](),))


def sums(*faults):
    """A kernel of two blocks: each loads half of a tile of 32 x 32 to both, and both add the tiles up."""

    @kernel(threads=32, grid=(2,), cluster=(2,))
    def added(a, out):
        t, rank = thread(), block_rank_in_cluster()
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)

        def half(tile):
            return local_tile(tile, (Int[16](), Int[32]()), (0 if "half" in faults else rank, 0))

        tma = make_tma_copy("SM90_TMA_LOAD_MULTICAST", a, half(smem))
        mask = create_tma_multicast_mask[0](PAIR, (rank,))
        mine = local_partition(local_tile(out, (32, 32), (block(0), 0)), ROWS, t)
        total, steps = make_fragment_like(mine), ceil_div(a.shape[1], 32)
        clear(total)
        if "written" in faults:
            fill(local_partition(smem, ROWS, t), 1)
        if "sync" not in faults:
            cluster_sync()
        for k in loop(steps):
            set_barrier_transaction_bytes(full[0], tma_transaction_bytes(half(smem) if "bytes" in faults else smem))
            copy(tma.with_(full[0], mask), half(local_tile(a, (32, 32), (0, k))), half(smem))
            for _step in when(k + 1 < steps if "end" in faults else True):
                wait_barrier(full[0], phase(k, 1))
                axpby(1, local_partition(smem, ROWS, t), 1, total)
            if "next" not in faults:
                cluster_sync()
        copy(total, mine)

    return added


def matrices(rows=20, columns=72):
    a = np.random.default_rng(0).integers(-9, 9, (rows, columns)).astype(np.float32)
    padded = np.zeros((32, -(-columns // 32) * 32), np.float32)
    padded[:rows, :columns] = a
    return a, np.zeros((64, 32), np.float32), np.tile(padded.reshape(32, -1, 32).sum(1), (2, 1))


def arguments():
    m, k = dim("m", at_least=1, at_most=32), dim("k", at_least=1, at_most=2**12, multiple_of=4)
    a = make_layout((m, k), stride=(k, Int[1]()))
    return tensor(np.float32, a), tensor(np.float32, parse("(_64,_32):(_32,_1)"))


SIZES = [(20, 72), (1, 4), (32, 32), *amount([], [(7, 200), (32, 1000), (31, 36)])]


def test_blocks_load_for_each_other():
    for rows, columns in SIZES:
        a, out, expected = matrices(rows, columns)
        sums().run(a, out)
        assert (out == expected).all(), (rows, columns)
        report = sums().check(a, out, arch="sm_90")
        assert report.holds, report
        assert not report.idle or columns <= 32


def require_sums(source, target, folder, sizes):
    """The text of a kernel of sums, in C, or in CUDA executed by threads of a CPU, gives what numpy gives."""
    if target == "c":
        call = c_function(folder, source)
    else:
        nvrtc.compiled(source.text, "sm_90a")
        call = cuda_function(folder, source, ["const float *a", "float *out", "int m", "int k"], lambda *_a: (2, 1))
    for rows, columns in sizes:
        a, out, expected = matrices(rows, columns)
        call(pointer(a), pointer(out), *(ctypes.c_int(n) for n in (rows, columns)))
        assert (out == expected).all(), (rows, columns)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_the_text_gives_the_same(target, tmp_path):
    source = sums().source(target, *arguments(), parameters="a out m k")
    assert source.cluster == (2,)
    require_sums(source, target, tmp_path, SIZES)


def test_the_launch_says_what_a_cluster_is():
    source = sums().source("cuda", *arguments())
    assert "in clusters of 2." in source.text.splitlines()[0]
    assert [line.strip() for line in source.text.splitlines() if "cluster.val" in line] == [
        "cluster.val.clusterDim.x = 2;",
        "cluster.val.clusterDim.y = 1;",
        "cluster.val.clusterDim.z = 1;",
    ]
    assert "NonPortable" not in source.text
    assert "return cudaLaunchKernelEx(&config, kernel_main, a, out, " in source.text
    lines = str(sums().program(*arguments())).splitlines()
    assert lines[0] == "added: 2 blocks of 32 threads, in clusters of 2"
    assert sum(line.split()[0] == "cluster_sync" for line in lines) == 2
    assert sum("of blocks 0x3 << 0" in line for line in lines) == 1

    @kernel(threads=32, grid=(16,), cluster=(16,))
    def many(a):
        clear(local_partition(local_tile(a, (32,), (block(0),)), parse("_32:_1"), thread()))

    assert "NonPortableClusterSizeAllowed, 1)" in many.source("cuda", tensor(np.float32, parse("_512:_1"))).text


FAULTS = [
    ("sync", "which thread 0 writes at", "no cluster_sync between"),
    ("next", "block 1 of the cluster writes element", "no cluster_sync between"),
    ("half", "a load by thread 0 writes", "no wait_barrier for it between"),
    ("bytes", "a wait for phase", "which misses"),
    ("written", "no fence_view_async_shared between", ""),
    ("end", "block 1 of the cluster touches memory of this one", "before the block ends"),
]


@pytest.mark.parametrize(("fault", "first", "second"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_are_refused(fault, first, second):
    a, out, _expected = matrices()
    report = sums(fault).check(a, out)
    found = [*map(str, report.races), *map(str, report.bounds)]
    assert not report.holds
    assert any(first in line and second in line for line in found), found
    assert all(line.startswith("test_clusters.py:") for line in found)
    with pytest.raises(RangeError):
        sums(fault).source("cuda", *arguments())


def test_a_block_that_does_not_come():
    @kernel(threads=32, grid=(4,), cluster=(4,))
    def left_out():
        for _some in when(block(0) < 3):
            cluster_sync()

    with pytest.raises(RangeError, match="cluster_sync of block 0 of the cluster, to which block 3 does not come"):
        left_out.run()
    assert "does not come" in str(left_out.check().bounds[0])


def test_an_error_of_one_block_ends_all():
    ended = []

    @kernel(threads=32, grid=(3,), cluster=(3,))
    def fails():
        try:
            cluster_sync()
        finally:
            ended.append(block(0))
        if block(0) == 1:
            raise ValueError("block 1")
        cluster_sync()

    with pytest.raises(ValueError, match="block 1"):
        fails.run()
    assert sorted(ended) == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        Turns().take([lambda: None, lambda: 1 // 0, lambda: None])


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("cluster", "error"),
    [((0,), RangeError), ((4, 4, 2), RangeError), ((2, 2, 2, 2), RangeError), ("2", LeafTypeError), ((), RangeError)],
)
def test_what_no_cluster_has(cluster, error):
    with pytest.raises(error, match="kernel"):
        kernel(threads=32, cluster=cluster)


def test_a_grid_of_whole_clusters():
    for grid, cluster in (((3,), (2,)), ((2, 3), (1, 2)), ((2,), (1, 2))):
        with pytest.raises(RangeError, match="in clusters of"):
            kernel(threads=32, grid=grid, cluster=cluster)(lambda: None).run()
    n = dim("n", at_least=1, at_most=1000)

    @kernel(threads=32, grid=lambda a: (ceil_div(a.shape[0], 32),), cluster=(2,))
    def cleared(a):
        for _tile in when(block(0) < 1):
            clear(local_partition(local_tile(a, (32,), (block(0),)), parse("_32:_1"), thread()))

    source = cleared.source("cuda", tensor(np.float32, make_layout((n,))))
    assert "2 divides" in ", ".join(map(str, source.conditions))


def stated(f, **options):
    """Run a kernel of one statement."""

    @kernel(threads=32, **options)
    def made():
        f()

    return made.run()


def multicast(operation="SM90_TMA_LOAD_MULTICAST", mask=None):
    """A kernel that loads for several blocks."""

    @kernel(threads=32, grid=(2,), cluster=(2,))
    def made(a):
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)
        cluster_sync()
        copy(make_tma_copy(operation, a, smem).with_(full[0], mask and mask()), local_tile(a, (32, 32), (0, 0)), smem)

    return made.run(np.zeros((32, 32), np.float32))


def test_bad_input_is_refused():
    both = create_tma_multicast_mask[0](PAIR, (0,))
    four = create_tma_multicast_mask[0](make_layout((Int[4](),)), (0,))
    two = {"grid": (2,), "cluster": (2,)}
    for f, options, error, text in (
        (cluster_sync, {}, RangeError, "without clusters"),
        (block_rank_in_cluster, {}, RangeError, "without clusters"),
        (lambda: umma_arrive_multicast(mbarriers(1)[0], both), {}, RangeError, "for several blocks"),
        (lambda: umma_arrive_multicast(mbarriers(1)[0], 3), two, LeafTypeError, "for the blocks 3"),
        (lambda: umma_arrive_multicast(mbarriers(1)[0], four), two, RangeError, "for the blocks 0xf << 0"),
        (
            lambda: umma_arrive_multicast(mbarriers(1)[0], both),
            two,
            RangeError,
            "mbarriers of block 1 of the cluster, which it does not have",
        ),
        (
            lambda: umma_arrive_multicast_2x1SM(mbarriers(1)[0], both),
            {"grid": (3,), "cluster": (3,)},
            RangeError,
            "without pairs",
        ),
        (lambda: Allocator2Sm().allocate(32), {}, RangeError, "without pairs"),
    ):
        with pytest.raises(error, match=text):
            stated(f, **options)
    with pytest.raises(LeafTypeError, match="for the blocks None"):
        multicast()
    with pytest.raises(LeafTypeError, match="SM90_TMA_LOAD for several blocks"):
        multicast("SM90_TMA_LOAD", lambda: both)
    with pytest.raises(RangeError, match="CTA 16"):
        create_tma_multicast_mask[0](make_layout((Int[17](),)), (0,))


def under(condition):
    """A kernel of two blocks in which one of them does something by itself."""

    @kernel(threads=32, grid=(2,), cluster=(2,))
    def made(a):
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)
        tma, mask = make_tma_copy("SM90_TMA_LOAD_MULTICAST", a, smem), create_tma_multicast_mask[0](PAIR, (block(0),))
        condition(tma.with_(full[0], mask), local_tile(a, (32, 32), (0, 0)), smem, full)

    return made.program(tensor(np.float32, parse("(_32,_32):(_32,_1)")))


def load_by_one(tma, tile, smem, _full):
    for _one in when(block(0) < 1):
        copy(tma, tile, smem)


def wait_behind(tma, tile, smem, full):
    copy(tma, tile, smem)
    for _one in when(block(0) < 1):
        clear(local_partition(smem, ROWS, thread()))
        wait_barrier(full[0], 0)


def sync_by_one(_tma, _tile, _smem, _full):
    for _one in when(block(0) < 1):
        cluster_sync()


def loop_of_block(_tma, _tile, smem, _full):
    for _k in loop(block(0)):
        clear(local_partition(smem, ROWS, thread()))


@pytest.mark.parametrize("condition", [load_by_one, wait_behind, sync_by_one, loop_of_block])
def test_what_c_cannot_say_of_clusters(condition):
    """Blocks of a cluster are serial there, statement by statement."""
    from tla.kernels.targets import source_of

    with pytest.raises(LeafTypeError, match="come to in other ways, in C"):
        source_of(under(condition), "c", "kernel_main", None, "")
    with pytest.raises(LeafTypeError, match="in this target"):
        source_of(under(condition), "hip", "kernel_main", None, "")
