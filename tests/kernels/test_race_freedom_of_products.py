"""Race freedom of wgmma and tcgen05, for any number of steps: of every pipeline of loads and products in groups what is
proved is what has no race in the steps that run; a fault in one is never proved."""

import functools
import itertools
import random

import numpy as np
import pytest

from tests.kernels.test_tensor_memory import twice_added
from tla import Int, _, dim, local_tile, make_layout, parse, tile_to_shape
from tla.gpu import GMMA, UMMA, atom, make_fragment_like, make_tiled_mma, make_tmem_copy, tma_transaction_bytes
from tla.kernels import (
    Allocator1Sm,
    arrive_barrier,
    axpby,
    barrier,
    clear,
    copy,
    fence_view_async_tmem_load,
    gemm,
    kernel,
    loop,
    make_tma_copy,
    mbarriers,
    phase,
    set_barrier_transaction_bytes,
    shared,
    stage,
    tensor,
    thread,
    tmem,
    umma_arrive,
    wait_barrier,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
    when,
)
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount, some

MMA = make_tiled_mma(atom("SM90_64x16x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K>"))
DEEP = 16
K = dim("k", multiple_of=DEEP, at_least=DEEP, at_most=2**12)


def rows(m, n, element=np.float16):
    return tensor(element, make_layout((Int[m](), n), stride=(n, Int[1]())))


@functools.cache
def two_groups():
    """The product of two warpgroups, each with 64 rows."""
    return make_tiled_mma(atom("SM90_64x16x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::K>"), (2, 1, 1))


def pipeline(
    stages,
    ahead,
    pending,
    *,
    groups=1,
    free=None,
    arrives="each",
    commits=True,
    waits=True,
    at_end=True,
    sums="behind",
):
    """A loop whose products read tiles that TMA loads some steps ahead.

    pending   the groups of products that are under way when the next tile is loaded
    free      how warpgroups know of each other: "barrier", "empty" by an mbarrier, None
    arrives   where warpgroup_arrive is stated: "each" product, "first" before the loop, None
    waits     whether the loop waits for products; at_end: whether all are waited for behind it
    sums      where the sums are touched: "behind" the loop, or in it, "each"
    """
    mma, tall = (MMA, 64) if groups == 1 else (two_groups(), 128)

    @kernel(threads=128 * groups)
    def piped(A, B, C):
        own, steps = mma[thread()], A.shape[1] // DEEP
        memory = [
            shared(np.float16, tile_to_shape(GMMA.K_SW32[mma.atom.val_A], (Int[n](), Int[DEEP](), Int[stages]())))
            for n in (tall, 16)
        ]
        tma = [make_tma_copy("SM90_TMA_LOAD", x, y[_, _, 0]) for x, y in zip((A, B), memory)]
        nbytes = tma_transaction_bytes(*(x[_, _, 0] for x in memory))
        filled, empty = mbarriers(stages), mbarriers(stages, arrivals=128 * groups)
        mine = own.partition_C(C)
        a, b = own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1])

        def load(k):
            for _more in when(k < steps):
                set_barrier_transaction_bytes(filled[stage(k, stages)], nbytes)
                for x, y, to in zip(tma, (A, B), memory):
                    copy(
                        x.with_(filled[stage(k, stages)]), local_tile(y, x.tiler_mn, (0, k)), to[_, _, stage(k, stages)]
                    )

        barrier()
        for k in range(ahead):
            load(k)
        total = make_fragment_like(mine)
        clear(total)
        if arrives == "first":
            warpgroup_arrive()
        for k in loop(steps):
            wait_barrier(filled[stage(k, stages)], phase(k, stages))
            if arrives == "each":
                warpgroup_arrive()
            gemm(mma, *(x[_, _, _, stage(k, stages)] for x in (a, b)), total)
            if commits:
                warpgroup_commit_batch()
            if waits:
                warpgroup_wait[pending]()
            if sums == "each":
                axpby(1, total, 1, mine)
            if free == "empty":
                arrive_barrier(empty[stage(k, stages)])
                wait_barrier(empty[stage(k, stages)], phase(k, stages))
            if free == "barrier":
                barrier()
            load(k + ahead)
        if at_end:
            warpgroup_wait[0]()
        axpby(1, total, 1, mine)

    return piped


def verdicts(groups=1, **given):
    """Whether a pipeline runs without a race, for some numbers of steps, and whether it is proved to."""
    made, tall = pipeline(groups=groups, **given), 64 * groups
    reports = [
        made.check(
            np.zeros((tall, DEEP * n), np.float16),
            np.zeros((16, DEEP * n), np.float16),
            np.zeros((tall, 16), np.float32),
        )
        for n in (1, 2, 3, 7)
    ]
    symbols = rows(tall, K), rows(16, K), rows(tall, Int[16](), np.float32)
    return all(report.holds for report in reports), why_not_free(made.program(*symbols))


CHOICES = {
    "stages": (2, 3, 4),
    "ahead": (1, 2, 3),
    "pending": (0, 1),
    "groups": (1, 1, 2),
    "free": (None, "empty", "barrier"),
    "arrives": ("each", "each", "first", None),
    "commits": (True, True, False),
    "waits": (True, True, False),
    "at_end": (True, True, False),
    "sums": ("behind", "behind", "each"),
}
PIPELINES = [dict(zip(CHOICES, x)) for x in itertools.product(*CHOICES.values())]


def test_pipelines_are_proved_where_no_step_races_and_nowhere_else():
    for given in random.Random(5).sample(PIPELINES, amount(0, 150)):
        holds, why = verdicts(**given)
        assert (why is None) == holds, given


RIGHT = {"stages": 3, "ahead": 2, "pending": 1}
FAULTS = [
    ({}, None),
    ({"pending": 0, "ahead": 3}, None),
    ({"ahead": 3}, "may still wait for the phase before"),
    ({"waits": False}, "may still wait for the phase before"),
    ({"commits": False}, "may still wait for the phase before"),
    ({"arrives": "first"}, None),
    ({"arrives": None}, "no warpgroup_arrive between"),
    ({"at_end": False}, "registers that an asynchronous instruction may still touch"),
    ({"sums": "each"}, "registers that an asynchronous instruction may still touch"),
    ({"groups": 2, "free": "barrier"}, None),
    ({"groups": 2}, "may still wait for the phase before"),
]


@pytest.mark.parametrize(("fault", "what"), some(FAULTS, 5))
def test_a_fault_in_a_pipeline_is_not_proved(fault, what):
    given = RIGHT | fault
    symbols = [rows(64 * given.get("groups", 1), K), rows(16, K)]
    program = pipeline(**given).program(*symbols, rows(64 * given.get("groups", 1), Int[16](), np.float32))
    found = why_not_free(program)
    assert (found is None) if what is None else (found and what in found), found


UMMA_MMA = make_tiled_mma(atom("SM100_MMA_F16BF16_SS<half_t,half_t,float,128,32,UMMA::Major::K,UMMA::Major::K>"))


def of_tensor_memory(stages, ahead, lag, *, arrives=True, meets="barrier", last=True, frees=True):
    """A loop whose products add to tensor memory what TMA loads some steps ahead.

    lag      how many products are under way when the next tile is loaded
    arrives  whether products arrive at an mbarrier
    meets    how all threads are known to have waited: "barrier", None
    last     whether all products are waited for behind the loop
    frees    whether a barrier is before the columns are freed
    """

    @kernel(threads=128)
    def summed(A, B, C):
        t, own, allocator, steps = thread(), UMMA_MMA[0], Allocator1Sm(), A.shape[1] // DEEP
        columns = allocator.allocate(32)
        memory = [
            shared(np.float16, tile_to_shape(UMMA.K_SW32[UMMA_MMA.atom.val_A], (Int[n](), Int[DEEP](), Int[stages]())))
            for n in (128, 32)
        ]
        tma = [make_tma_copy("SM90_TMA_LOAD", x, y[_, _, 0]) for x, y in zip((A, B), memory)]
        nbytes = tma_transaction_bytes(*(x[_, _, 0] for x in memory))
        filled, done, all_done = mbarriers(stages), mbarriers(stages), mbarriers(1)
        a, b = own.partition_fragment_A(memory[0]), own.partition_fragment_B(memory[1])

        def load(k):
            for _more in when(k < steps):
                set_barrier_transaction_bytes(filled[stage(k, stages)], nbytes)
                for x, y, to in zip(tma, (A, B), memory):
                    copy(
                        x.with_(filled[stage(k, stages)]), local_tile(y, x.tiler_mn, (0, k)), to[_, _, stage(k, stages)]
                    )

        def wait_for(k):
            wait_barrier(done[stage(k, stages)], phase(k, stages))

        barrier()
        total = tmem(np.float32, own.make_fragment_C(own.partition_C(SUMS)).layout, columns)
        for k in range(ahead):
            load(k)
        for k in loop(steps):
            wait_barrier(filled[stage(k, stages)], phase(k, stages))
            gemm(UMMA_MMA.with_(0 < k), *(x[_, _, _, stage(k, stages)] for x in (a, b)), total)
            if arrives:
                umma_arrive(done[stage(k, stages)])
            if lag:
                for _one in when(lag - 1 < k):
                    wait_for(k + 2 * stages - lag)  # of the same phase, and not below 0
            else:
                wait_for(k)
            if meets:
                barrier()
            load(k + ahead)
        if last:
            umma_arrive(all_done[0])
            wait_barrier(all_done[0], 0)
        tiled = make_tmem_copy(atom("SM100_TMEM_LOAD_32dp32b32x"), total, UMMA_MMA.atom.val_C)
        target = tiled[t].partition_D(own.partition_C(local_tile(C, (Int[128](), Int[32]()), (0, 0))))
        held = make_fragment_like(target)
        copy(tiled, tiled[t].partition_S(total), held)
        fence_view_async_tmem_load()
        copy(held, target)
        if frees:
            barrier()
        allocator.free(columns)

    return summed


SUMS = parse("(_128,_32):(_32,_1)")
OF_TENSOR_MEMORY = [
    ({}, True),
    ({"ahead": 2}, True),
    ({"ahead": 4}, False),
    ({"stages": 1, "ahead": 1}, True),
    ({"meets": None}, False),
    ({"arrives": False}, False),
    ({"frees": False}, False),
    ({"lag": 1}, False),
    ({"lag": 1, "ahead": 2}, True),
    ({"lag": 2, "ahead": 1}, True),
    ({"lag": 2, "ahead": 2}, False),
    ({"lag": 1, "ahead": 2, "last": False}, False),
    ({"last": False}, True),
]


@pytest.mark.parametrize(("fault", "proved"), some(OF_TENSOR_MEMORY, 5))
def test_products_of_tensor_memory(fault, proved):
    made = of_tensor_memory(**{"stages": 3, "ahead": 3, "lag": 0} | fault)
    why = why_not_free(made.program(rows(128, K), rows(32, K), rows(128, Int[32](), np.float32)))
    assert (why is None) == proved, why
    reports = [
        made.check(*(np.zeros(*x) for x in (((128, n), np.float16), ((32, n), np.float16), ((128, 32), np.float32))))
        for n in amount([], [DEEP, 2 * DEEP, 7 * DEEP])
    ]
    assert amount(True, all(report.holds for report in reports) == proved)


@pytest.mark.parametrize("fault", some(["", "barrier", "load", "wait"], 3))
def test_sums_in_tensor_memory(fault):
    given = [tensor(np.float16, parse("(_128,_16):(_16,_1)")), tensor(np.float16, parse("(_32,_16):(_16,_1)"))]
    found = why_not_free(twice_added(fault).program(*given, tensor(np.float32, parse("(_128,_32):(_32,_1)"))))
    assert (found is None) == (fault == ""), found
