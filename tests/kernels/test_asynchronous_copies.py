"""Race freedom of asynchronous copies in groups, for any number of steps: what is proved is what has no race in the
steps that run, of every pipeline of stages, loads ahead, waits and barriers; a fault in one is never proved."""

import itertools
import random

import numpy as np
import pytest

from tla import _1, dim, elem_less, local_tile, make_identity_tensor, make_layout, max as most, min as least, parse
from tla.gpu import SM80_CP_ASYNC_CACHEALWAYS_ZFILL, Copy_Atom, float as f32, make_tiled_copy, uint32_t
from tla.kernels import (
    barrier,
    copy,
    copy_if,
    cp_async_fence,
    cp_async_wait,
    kernel,
    local_partition,
    loop,
    shared,
    stage,
    tensor,
    thread,
    when,
)
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount

ROWS = parse("_8:_1")
LOAD = make_tiled_copy(Copy_Atom[SM80_CP_ASYNC_CACHEALWAYS_ZFILL[uint32_t], f32], ROWS)
N = dim("n", multiple_of=8, at_least=0, at_most=2**20)
VECTOR = tensor(np.float32, make_layout((N,), stride=(_1,)))


def pipeline(stages, ahead, pending, before, behind, loads_first, *, fence=True, conditional=False, other=7):
    """A loop that loads a tile some steps ahead, and multiplies one of another thread's elements."""

    @kernel(threads=8)
    def piped(a, b):
        t, steps = thread(), a.shape[0] // 8
        memory = shared(np.float32, make_layout((8 * stages,)))

        def load(k):
            own, at = (
                LOAD[t].partition_S(local_tile(x, (8,), (most(0, least(k, steps - 1)),)))
                for x in (a, make_identity_tensor(a.shape))
            )
            target = LOAD[t].partition_D(local_tile(memory, (8,), (stage(k, stages),)))
            copy_if(LOAD, elem_less(at, a.shape), own, target)
            if fence:
                cp_async_fence()

        def ahead_of(k):
            if conditional:
                for _more in when(k + ahead < steps):
                    load(k + ahead)
            else:
                load(k + ahead)

        for k in range(ahead):
            load(k)
        for k in loop(steps):
            if loads_first and not ahead:
                ahead_of(k)
            cp_async_wait[pending]()
            if before:
                barrier()
            if loads_first and ahead:
                ahead_of(k)
            tile = local_tile(memory, (8,), (stage(k, stages),))
            copy(
                local_partition(tile, ROWS, other - t if other else t),
                local_partition(local_tile(b, (8,), (k,)), ROWS, t),
            )
            if behind:
                barrier()
            if not loads_first:
                ahead_of(k)

    return piped


PIPELINES = [*itertools.product((1, 2, 3), (0, 1, 2), (0, 1, 2), (True, False), (True, False), (True, False))]


def test_pipelines_are_proved_where_no_step_races_and_nowhere_else():
    drawn = random.Random(0).sample(PIPELINES, amount(5, len(PIPELINES)))
    verdicts = []
    for given in drawn:
        made, arrays = pipeline(*given), [np.zeros(8 * 9, np.float32) for _argument in "ab"]
        verdicts.append(made.check(*arrays).races == ())
        assert (why_not_free(made.program(VECTOR, VECTOR)) is None) == verdicts[-1], given
    assert any(verdicts)
    assert not all(verdicts)


RIGHT = {"stages": 3, "ahead": 2, "pending": 1, "before": True, "behind": False, "loads_first": True}


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ({}, None),
        ({"conditional": True, "pending": 0}, None),
        ({"conditional": True}, "may still write"),  # in the last steps there are fewer groups
        ({"pending": 2}, "may still write"),
        ({"before": False}, "another thread"),
        ({"ahead": 3}, "another thread"),
        ({"stages": 2}, "another thread"),
        ({"stages": 2, "loads_first": False}, "another thread"),
        ({"stages": 2, "loads_first": False, "behind": True}, None),
        ({"fence": False}, "may still write"),
        ({"before": False, "other": 0, "pending": 0}, None),  # of its own elements each thread need not wait for others
        ({"before": False, "other": 0, "pending": 2}, "may still write"),
    ],
)
def test_a_fault_in_a_pipeline_is_not_proved(fault, what):
    made = pipeline(**RIGHT | fault)
    found = why_not_free(made.program(VECTOR, VECTOR))
    assert (found is None) if what is None else (what in found)
    if not (RIGHT | fault).get("conditional"):
        races = made.check(*(np.zeros(80, np.float32) for _argument in "ab")).races
        assert bool(races) == (what is not None)


def test_groups_that_nobody_waits_for():
    @kernel(threads=8)
    def never(a):
        memory = shared(np.float32, make_layout((8,)))
        for _k in loop(a.shape[0]):
            for _more in when(_k < 1):
                copy(LOAD, LOAD[thread()].partition_S(local_tile(a, (8,), (0,))), LOAD[thread()].partition_D(memory))
            cp_async_fence()

    given = tensor(np.float32, make_layout((dim("n", at_least=8, at_most=99),), stride=(_1,)))
    assert "groups of asynchronous copies that nobody waits for" in why_not_free(never.program(given))

    @kernel(threads=8)
    def stored(a):
        memory = shared(np.float32, make_layout((64 * 8,)))
        for k in range(40):
            tile = local_tile(memory, (8,), (k,))
            copy(LOAD, LOAD[thread()].partition_S(local_tile(a, (8,), (0,))), LOAD[thread()].partition_D(tile))
            cp_async_fence()

    assert "groups of asynchronous copies that nobody waits for" in why_not_free(stored.program(given))


def test_an_asynchronous_copy_of_what_its_thread_writes():
    @kernel(threads=8)
    def turned(a):
        memory = shared(np.float32, make_layout((8,)))
        own = LOAD[thread()].partition_S(local_tile(a, (8,), (0,)))
        copy(LOAD, own, LOAD[thread()].partition_D(memory))
        copy(local_partition(memory, ROWS, thread()), local_partition(local_tile(a, (8,), (0,)), ROWS, thread()))

    @kernel(threads=8)
    def written(a):
        memory = shared(np.float32, make_layout((8,)))
        own = LOAD[thread()].partition_S(local_tile(a, (8,), (0,)))
        copy(LOAD, own, LOAD[thread()].partition_D(memory))
        cp_async_fence()
        cp_async_wait[0]()
        copy(local_partition(memory, ROWS, thread()), local_partition(local_tile(a, (8,), (0,)), ROWS, thread()))

    given = tensor(np.float32, make_layout((dim("n", at_least=8, at_most=99),), stride=(_1,)))
    assert "may still write" in why_not_free(turned.program(given))
    assert "an asynchronous copy of a, which is written" in why_not_free(written.program(given))
