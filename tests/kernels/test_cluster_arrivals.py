"""The two halves of a cluster's barrier: a wait knows of what stands before the arrival, and of nothing between."""

import numpy as np
import pytest

from tests.kernels.test_clusters import PAIR, ROWS, arguments, matrices, require_sums, under
from tla import Int, LeafTypeError, RangeError, ceil_div, local_tile, parse
from tla.gpu import make_fragment_like, tma_transaction_bytes
from tla.kernels import (
    axpby,
    barrier,
    block,
    block_rank_in_cluster,
    clear,
    cluster_arrive,
    cluster_wait,
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
    thread,
    transform,
    wait_barrier,
    when,
)

from night import amount


def sums(*faults):
    """A kernel of two blocks: each loads half of a tile to both, arrives when it has added it up, and waits before the
    next one comes."""

    @kernel(threads=32, grid=(2,), cluster=(2,))
    def added(a, out):
        t, rank = thread(), block_rank_in_cluster()
        smem, full = shared(np.float32, parse("(_32,_32):(_32,_1)")), mbarriers(1)
        own = shared(np.float32, parse("_32:_1"))

        def half(tile):
            return local_tile(tile, (Int[16](), Int[32]()), (rank, 0))

        tma = make_tma_copy("SM90_TMA_LOAD_MULTICAST", a, half(smem))
        mask = create_tma_multicast_mask[0](PAIR, (rank,))
        mine = local_partition(local_tile(out, (32, 32), (block(0), 0)), ROWS, t)
        total = make_fragment_like(mine)
        barrier()
        for _both in when(block(0) < 1 if "some" in faults else True):
            cluster_arrive()
        clear(total)
        for k in loop(ceil_div(a.shape[1], 32)):
            if "wait" not in faults:
                cluster_wait()
            set_barrier_transaction_bytes(full[0], tma_transaction_bytes(smem))
            copy(tma.with_(full[0], mask), half(local_tile(a, (32, 32), (0, k))), half(smem))
            wait_barrier(full[0], phase(k, 1))
            if "late" in faults:
                cluster_arrive()
            axpby(1, local_partition(smem, ROWS, t), 1, total)
            if "late" not in faults:
                cluster_arrive()
        fill(local_partition(own, parse("_32:_1"), t), 0)
        cluster_wait()
        if "twice" in faults:
            cluster_wait()
        zero = local_partition(own, parse("_32:_1"), 31 - t if "own" in faults else t)
        transform(zero, total, total, lambda x, y: x + y)
        copy(total, mine)

    return added


SIZES = [(20, 72), (32, 32), *amount([], [(1, 4), (32, 1000)])]


def test_what_stands_before_the_arrival_is_known():
    for rows, columns in SIZES:
        a, out, expected = matrices(rows, columns)
        sums().run(a, out)
        assert (out == expected).all(), (rows, columns)
        report = sums().check(a, out, arch="sm_90")
        assert report.holds, report
        assert not report.unwritten, report


@pytest.mark.parametrize("target", amount(["c"], ["c", "cuda"]))
def test_the_text_gives_the_same(target, tmp_path):
    source = sums().source(target, *arguments(), parameters="a out m k")
    if target == "cuda":
        assert "barrier.cluster.arrive.aligned;" in source.text
        assert "barrier.cluster.wait.aligned;" in source.text
    require_sums(source, target, tmp_path, SIZES)


FAULTS = [
    ("late", "block 1 of the cluster writes element", "no cluster_sync between", "copy(tma"),
    (
        "own",
        "thread 0 reads element 31 of shared memory, which thread 31 writes",
        "no barrier between",
        "transform(zero",
    ),
    ("wait", "cluster_arrive of block 0 of the cluster, which has not waited", "", "cluster_arrive()"),
    ("twice", "cluster_wait of block 0 of the cluster, which has not arrived", "", "cluster_wait()"),
    ("some", "cluster_wait of block 0 of the cluster, to which block 1 does not come", "", "cluster_wait()"),
]


@pytest.mark.parametrize(("fault", "first", "second", "at"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults_are_refused_at_their_lines(fault, first, second, at):
    with open(__file__) as file:
        lines = file.read().splitlines()
    a, out, _expected = matrices()
    report = sums(fault).check(a, out)
    found = [line for x in (report.races, report.bounds) for line in map(str, x) if first in line and second in line]
    assert not report.holds
    assert any(at in lines[int(line.split(":")[1]) - 1] for line in found), [*report.races, *report.bounds]
    with pytest.raises(RangeError):
        sums(fault).source("cuda", *arguments())


def test_without_clusters_there_is_no_half():
    for word in (cluster_arrive, cluster_wait):
        with pytest.raises(RangeError, match="outside a kernel"):
            word()
        with pytest.raises(RangeError, match="without clusters"):
            kernel(threads=32)(lambda word=word: word()).run()


@pytest.mark.parametrize("word", [cluster_arrive, cluster_wait])
def test_what_c_cannot_say_of_one_block(word):
    from tla.kernels.targets import source_of

    def by_one(*_given):
        for _one in when(block(0) < 1):
            word()

    with pytest.raises(LeafTypeError, match=f"{word.__name__} that the blocks of a cluster come to in other ways"):
        source_of(under(by_one), "c", "kernel_main", None, "")


def test_tensor_memory_is_ordered_around_both():
    from tla.kernels.targets.ptx import Ptx

    ptx = Ptx(fenced=True)
    for word in ("cluster_arrive", "cluster_wait"):
        assert ptx.order(word, 0, []) == [f"{word}();"]
    ptx.cluster_sync()
    words = {name: [x.split('"')[1] for x in lines if "asm" in x] for name, lines in ptx.functions.items()}
    before, behind = "tcgen05.fence::before_thread_sync;", "tcgen05.fence::after_thread_sync;"
    halves = [before, "barrier.cluster.arrive.aligned;"], ["barrier.cluster.wait.aligned;", behind]
    assert words == {"cluster_arrive": halves[0], "cluster_wait": halves[1], "cluster_sync": halves[0] + halves[1]}
