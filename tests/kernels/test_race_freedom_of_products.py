"""Race freedom of wgmma and tcgen05, for any number of steps: of every pipeline of loads and products in groups what is
proved is what has no race in the steps that run; a fault in one is never proved."""

import functools
import itertools
import random

import numpy as np
import pytest

from tests.kernels.test_tensor_memory import twice_added
from tla import Int, _, dim, local_tile, make_layout, parse, tile_to_shape
from tla.gpu import GMMA, atom, make_fragment_like, make_tiled_mma, tma_transaction_bytes
from tla.kernels import (
    arrive_barrier,
    axpby,
    barrier,
    clear,
    copy,
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
    wait_barrier,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
    when,
)
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount

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
    for given in random.Random(5).sample(PIPELINES, amount(1, 150)):
        holds, why = verdicts(**given)
        assert (why is None) == holds, given


RIGHT = {"stages": 3, "ahead": 2, "pending": 1}


@pytest.mark.parametrize(
    ("fault", "what"),
    [
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
    ],
)
def test_a_fault_in_a_pipeline_is_not_proved(fault, what):
    given = RIGHT | fault
    symbols = [rows(64 * given.get("groups", 1), K), rows(16, K)]
    program = pipeline(**given).program(*symbols, rows(64 * given.get("groups", 1), Int[16](), np.float32))
    found = why_not_free(program)
    assert (found is None) if what is None else (found and what in found), found


@pytest.mark.parametrize("fault", ["", "barrier", "load", "wait"])
def test_sums_in_tensor_memory(fault):
    given = [tensor(np.float16, parse("(_128,_16):(_16,_1)")), tensor(np.float16, parse("(_32,_16):(_16,_1)"))]
    found = why_not_free(twice_added(fault).program(*given, tensor(np.float32, parse("(_128,_32):(_32,_1)"))))
    assert (found is None) == (fault == ""), found
