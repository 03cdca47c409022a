"""Race freedom of clusters, for any number of steps: of every pipeline of loads to several blocks what is proved is
what has no race in the steps that run; a fault is found at its line."""

import itertools
import random

import numpy as np
import pytest

from tests.kernels import test_cluster_arrivals, test_clusters
from tla import Int, _, ceil_div, dim, local_tile, make_layout, parse
from tla.gpu import make_fragment_like, tma_transaction_bytes
from tla.kernels import (
    axpby,
    barrier,
    block,
    block_rank_in_cluster,
    clear,
    cluster_arrive,
    cluster_sync,
    cluster_wait,
    copy,
    create_tma_multicast_mask,
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
    wait_barrier,
    when,
)
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount, some

ROWS = parse("(_8,_1):(_1,_8)")
K = dim("k", multiple_of=8, at_least=8, at_most=2**12)
GIVEN = (
    tensor(np.float32, make_layout((Int[8](), K), stride=(K, Int[1]()))),
    tensor(np.float32, parse("(_16,_8):(_8,_1)")),
)


def pipeline(
    stages, ahead, free, *, set_up="cluster", loads="half", waits="each", at_end=True, full="stage", tells="all"
):
    """A kernel of two blocks: each loads half of a tile to both, some steps ahead, and both add the tiles up.

    free     how blocks know that a stage is free: "sync" of the cluster, its "halves", a "barrier" of the block, None
    set_up   what is behind the mbarriers: a barrier of the "cluster", of the "block"
    loads    which half a block loads: its own, "half", "one" that both do, or "own", for itself alone
    waits    who waits for a tile: "each" block, "first"
    at_end   whether blocks wait for each other behind the loop
    full     the mbarrier of a tile: that of its "stage", or "one" of all
    tells    whether a block waits for the bytes of "all", or of its own
    """

    @kernel(threads=8, grid=(2,), cluster=(2,))
    def summed(a, out):
        t, rank, steps = thread(), block_rank_in_cluster(), ceil_div(a.shape[1], 8)
        layout = make_layout((Int[8](), Int[8](), Int[stages]()), stride=(Int[8](), Int[1](), Int[64]()))
        smem, filled = shared(np.float32, layout), mbarriers(stages if full == "stage" else 1)

        def half(tile):
            return local_tile(tile, (Int[4](), Int[8]()), (0 if loads == "one" else rank, 0))

        tma = make_tma_copy("SM90_TMA_LOAD_MULTICAST", a, half(smem[_, _, 0]))
        pair = make_layout((Int[2](), Int[1]()))
        mask = create_tma_multicast_mask[1 if loads == "own" else 0](pair, (rank, 0))
        nbytes = tma_transaction_bytes(smem[_, _, 0] if tells == "all" else half(smem[_, _, 0]))
        mine = local_partition(local_tile(out, (8, 8), (block(0), 0)), ROWS, t)
        total = make_fragment_like(mine)
        clear(total)
        cluster_sync() if set_up == "cluster" else barrier()

        def at(k):
            return filled[stage(k, stages) if full == "stage" else 0]

        def load(k):
            for _more in when(k < steps):
                set_barrier_transaction_bytes(at(k), nbytes)
                copy(tma.with_(at(k), mask), half(local_tile(a, (8, 8), (0, k))), half(smem[_, _, stage(k, stages)]))

        for k in range(ahead):
            load(k)
        for k in loop(steps):
            for _some in when(rank < 1 if waits == "first" else True):
                wait_barrier(at(k), phase(k, stages if full == "stage" else 1))
            axpby(1, local_partition(smem[_, _, stage(k, stages)], ROWS, 7 - t), 1, total)
            if free == "sync":
                cluster_sync()
            if free == "halves":
                cluster_arrive()
                cluster_wait()
            if free == "barrier":
                barrier()
            load(k + ahead)
        if at_end:
            cluster_sync()
        copy(total, mine)

    return summed


def holds(made, steps=(1, 2, 3, 7)):
    """Whether a run of each number of steps is not refused."""
    given = (np.zeros((16, 8), np.float32) for _n in steps)
    return all(made.check(np.zeros((8, 8 * n), np.float32), out).holds for n, out in zip(steps, given))


CHOICES = {
    "stages": (1, 2, 3),
    "ahead": (1, 2, 3),
    "free": ("sync", "halves", "barrier", None),
    "set_up": ("cluster", "cluster", "cluster", "block"),
    "loads": ("half", "half", "half", "one", "own"),
    "waits": ("each", "each", "first"),
    "at_end": (True, False),
    "full": ("stage", "stage", "one"),
    "tells": ("all", "all", "half"),
}
PIPELINES = [dict(zip(CHOICES, x)) for x in itertools.product(*CHOICES.values())]


def test_pipelines_are_proved_where_no_step_races_and_nowhere_else():
    for given in random.Random(7).sample(PIPELINES, amount(2, 400)):
        made = pipeline(**given)
        assert (why_not_free(made.program(*GIVEN)) is None) == holds(made), given


RIGHT = {"stages": 3, "ahead": 2, "free": "sync"}
FAULTS = [
    ({}, None),
    ({"ahead": 3}, None),
    ({"free": "halves"}, None),
    ({"stages": 1, "ahead": 1}, None),
    ({"at_end": False}, None),
    ({"free": "barrier"}, "another block"),
    ({"free": None}, "may still wait for the phase before"),
    ({"ahead": 3, "stages": 2}, "may go on"),
    ({"set_up": "block"}, "which that may still touch"),
    ({"loads": "one"}, "which an instruction may still touch"),
    ({"loads": "own"}, "that nothing before it ends"),
    ({"tells": "half"}, "may go on"),
    ({"waits": "first"}, "an asynchronous copy may still write"),
    ({"full": "one"}, "may go on"),
    ({"full": "one", "ahead": 1, "free": "barrier"}, "may go on"),
]


@pytest.mark.parametrize(("fault", "what"), some(FAULTS, 5))
def test_a_fault_in_a_pipeline_is_not_proved(fault, what):
    made = pipeline(**RIGHT | fault)
    found = why_not_free(made.program(*GIVEN))
    assert (found is None) if what is None else (found and what in found), found
    assert holds(made) == (what is None)


def test_bytes_for_an_mbarrier_of_another_block_are_sent_when_its_phase_before_has_ended():
    """Each block waits for its own phase alone: the other's may go on, and would end by these bytes, not by its own."""
    made = pipeline(3, 1, "barrier", full="one")
    race = made.check(np.zeros((8, 24), np.float32), np.zeros((16, 8), np.float32)).races[0]
    with open(__file__) as file:
        lines = file.read().splitlines()
    assert (race.who, race.block, race.fix) == ("bytes", 0, "cluster_sync()")
    assert "copy(tma.with_" in lines[race.at.number - 1]
    told = "block 0 of the cluster sends bytes to element 0 of mbarriers: its phase before may go on, and end by them"
    assert str(race) == f"{race.at}: {told}"


@pytest.mark.parametrize("kernels", [test_clusters, test_cluster_arrivals])
def test_faults_of_clusters_are_found_at_their_lines(kernels):
    with open(kernels.__file__) as file:
        lines = file.read().splitlines()
    assert why_not_free(kernels.sums().program(*test_clusters.arguments())) is None
    for fault, at in AT[kernels]:
        found = why_not_free(kernels.sums(fault).program(*test_clusters.arguments()))
        assert found, fault
        assert at is None or at in lines[int(found.split(":")[1]) - 1], (fault, found)


AT = {
    test_clusters: [
        ("sync", "set_barrier_transaction_bytes"),
        ("next", "set_barrier_transaction_bytes"),
        ("half", "copy(tma"),
        ("bytes", "copy(tma"),
        ("written", "copy(tma"),
        ("end", None),  # behind the last line
    ],
    test_cluster_arrivals: [
        ("late", "copy(tma"),
        ("own", "transform(zero"),
        ("wait", "copy(tma"),
        ("twice", "cluster_wait()"),
        ("some", "cluster_arrive()"),
    ],
}
