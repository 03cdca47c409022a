"""Race freedom of loads by TMA and of mbarriers, for any number of steps: what is proved is what has no race, and ends,
in the steps that run, of every pipeline of stages, loads ahead, arrivals and waits; a fault in one is never proved."""

import itertools
import random

import numpy as np
import pytest

from tla import Int, _, dim, local_tile, make_layout, parse
from tla.gpu import tma_transaction_bytes
from tla.kernels import (
    arrive_barrier,
    barrier,
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
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount, some

THREADS, WIDTH = 8, 4
ROWS = parse("(_8,_1):(_1,_8)")
N = dim("n", multiple_of=WIDTH, at_least=WIDTH, at_most=2**15)
MATRIX = tensor(np.float32, make_layout((Int[THREADS](), N), stride=(N, Int[1]())))


def pipeline(
    stages,
    ahead,
    free,
    *,
    conditional=True,
    loads_first=False,
    full="phase",
    set_up=True,
    tells="bytes",
    empty_of=0,
    other=7,
):
    """A loop that loads a tile some steps ahead, and reads one of another thread's rows.

    free        how the first thread knows that a stage is free: "barrier", "empty" by an mbarrier, "late" by one that
                is waited for before the next load, None
    full        how a tile is waited for: "phase", "parity" that is the stage's, None
    set_up      whether a barrier is behind the mbarriers
    tells       which bytes a phase waits for: "bytes", "more", "none"
    empty_of    how many stages further the mbarrier of a stage lies that is free
    """

    @kernel(threads=THREADS)
    def piped(a, b):
        t, steps = thread(), a.shape[1] // WIDTH
        layout = make_layout((Int[8](), Int[4](), Int[stages]()), stride=(Int[4](), Int[1](), Int[32]()))
        memory, filled, empty = shared(np.float32, layout), mbarriers(stages), mbarriers(stages, arrivals=THREADS)
        tma = make_tma_copy("SM90_TMA_LOAD", a, memory[_, _, 0])
        nbytes = tma_transaction_bytes(memory[_, _, 0])
        if set_up:
            barrier()

        def load(k):
            at = filled[stage(k, stages)]
            if tells != "none":
                set_barrier_transaction_bytes(at, nbytes * (2 if tells == "more" else 1))
            copy(tma.with_(at), local_tile(a, (8, 4), (0, k)), memory[_, _, stage(k, stages)])

        def load_where_there_is(k):
            if conditional:
                for _more in when(k < steps):
                    load(k)
            else:
                load(k)

        def next_load(k):
            if free == "late":
                wait_barrier(empty[stage(k + empty_of, stages)], phase(k, stages))
            load_where_there_is(k + ahead)

        for k in range(ahead):
            load_where_there_is(k)
        for k in loop(steps):
            if loads_first:
                next_load(k)
            if full is not None:
                wait_barrier(filled[stage(k, stages)], phase(k, stages) if full == "phase" else stage(k, 2))
            tile = memory[_, _, stage(k, stages)]
            source = local_partition(tile, ROWS, other - t if other else t)
            copy(source, local_partition(local_tile(b, (8, 4), (0, k)), ROWS, t))
            if free == "barrier":
                barrier()
            if free in ("empty", "late"):
                arrive_barrier(empty[stage(k + empty_of, stages)])
            if free == "empty":
                wait_barrier(empty[stage(k + empty_of, stages)], phase(k, stages))
            if not loads_first:
                next_load(k)

    return piped


def holds(made, steps=(1, 2, 3, 4, 9)):
    """Whether a run of each number of steps is not refused."""
    return all(made.check(*(np.zeros((THREADS, WIDTH * n), np.float32) for _argument in "ab")).holds for n in steps)


CHOICES = {
    "stages": (1, 2, 3),
    "ahead": (0, 1, 2, 3),
    "free": ("barrier", "empty", "late", None),
    "conditional": (True, False),
    "loads_first": (True, False),
    "full": ("phase", "phase", "phase", "parity", None),
    "set_up": (True, True, True, False),
    "tells": ("bytes", "bytes", "bytes", "more", "none"),
    "empty_of": (0, 0, 1),
    "other": (7, 0),
}
PIPELINES = [dict(zip(CHOICES, x)) for x in itertools.product(*CHOICES.values())]


def test_pipelines_are_proved_where_no_step_races_and_nowhere_else():
    verdicts = []
    for given in random.Random(3).sample(PIPELINES, amount(1, 600)):
        made = pipeline(**given)
        verdicts.append(holds(made))
        assert (why_not_free(made.program(MATRIX, MATRIX)) is None) == verdicts[-1], given
    assert amount(True, any(verdicts))
    assert amount(True, not all(verdicts))


RIGHT = {"stages": 3, "ahead": 3, "free": "empty"}
FAULTS = [
    ({}, None),
    ({"free": "barrier"}, None),
    ({"free": "late"}, None),
    ({"free": "late", "loads_first": True}, "that nothing before it ends"),
    ({"stages": 2}, "may go on"),
    ({"stages": 2, "ahead": 2}, None),
    ({"ahead": 2}, None),
    ({"ahead": 2, "free": None}, "may still wait for the phase before"),
    ({"free": None}, "may still wait for the phase before"),
    ({"full": None}, "an asynchronous copy may still write"),
    ({"full": "parity"}, "that nothing before it ends"),
    ({"set_up": False}, "another thread"),
    ({"tells": "more"}, "that nothing before it ends"),
    ({"tells": "none"}, "that nothing before it ends"),
    ({"loads_first": True}, "may go on"),
    ({"loads_first": True, "ahead": 2}, None),
    ({"stages": 1, "ahead": 1}, None),
    ({"stages": 1, "ahead": 0, "loads_first": True}, None),
    ({"stages": 1, "ahead": 0, "loads_first": False}, "that nothing before it ends"),
    ({"conditional": False, "ahead": 2}, None),
]


@pytest.mark.parametrize(("fault", "what"), some(FAULTS, 4))
def test_a_fault_in_a_pipeline_is_not_proved(fault, what):
    made = pipeline(**RIGHT | fault)
    found = why_not_free(made.program(MATRIX, MATRIX))
    assert (found is None) if what is None else (what in found), found


@pytest.mark.parametrize("number", range(amount(1, 12)))
def test_what_is_proved_holds_as_it_runs(number):
    fault = [{}, {"free": None}, {"full": None}, {"stages": 2}, {"free": "barrier"}, {"set_up": False}, {"tells": "more"},
             {"loads_first": True}, {"loads_first": True, "ahead": 2}, {"full": "parity"}, {"free": "late"},
             {"stages": 1, "ahead": 1}][number]  # fmt: skip
    made = pipeline(**RIGHT | fault)
    assert holds(made, (1, 4)) == (why_not_free(made.program(MATRIX, MATRIX)) is None)


@pytest.mark.parametrize("waits", [True, False])
def test_a_second_arrival_before_all_have_arrived(waits):
    """A fast thread would end the first phase by its second arrival, and another one would not have come."""

    @kernel(threads=THREADS)
    def twice(a):
        met = mbarriers(1, arrivals=THREADS)
        barrier()
        arrive_barrier(met[0])
        if waits:
            wait_barrier(met[0], 0)
        arrive_barrier(met[0])
        wait_barrier(met[0], 1)

    report, found = twice.check(np.zeros(8)), why_not_free(twice.program(MATRIX))
    assert [race.who for race in report.races] == ["arrival"] * (not waits)
    assert waits or "a thread arrives at element 0 of mbarriers, which another one comes to" in str(report)
    assert (found is None) if waits else ("another thread may not have arrived" in found)


def stored(waits_first, *, in_steps=None):
    """Rows stored by TMA, and their memory written again: behind the wait and a barrier, or with the barrier before.

    in_steps   which tile the steps of a loop store, "each" or "one"; None for no loop
    """

    @kernel(threads=THREADS)
    def made(a):
        memory, met = shared(np.float32, parse("(_8,_4):(_4,_1)")), mbarriers(1)
        own = local_partition(memory, ROWS, thread())
        tma = make_tma_copy("SM90_TMA_STORE", a, memory)
        clear(own)
        fence_view_async_shared()
        barrier()
        for k in range(1) if in_steps is None else loop(a.shape[1] // WIDTH):
            copy(tma, memory, local_tile(a, (8, 4), (0, 0 if in_steps == "one" else k)))
            tma_store_arrive()
            if in_steps is not None:
                tma_store_wait[0]()
        for wait in (True, False) if waits_first else (False, True):
            if wait:
                tma_store_wait[0]()
            else:
                barrier()
        set_barrier_transaction_bytes(met[0], 4)  # from here on what threads know is noted
        clear(own)

    return made


@pytest.mark.parametrize("waits_first", [True, False])
def test_a_barrier_before_the_wait_for_a_store_does_not_tell_that_it_has_ended(waits_first):
    races = stored(waits_first).check(np.zeros((8, 8), np.float32)).races
    assert [race.who for race in races] == ["thread"] * (not waits_first), [*map(str, races)]
    found = why_not_free(stored(waits_first).program(MATRIX))
    assert (found is None) if waits_first else ("another thread" in found)


def test_stores_of_several_steps_are_of_other_elements():
    assert why_not_free(stored(True, in_steps="each").program(MATRIX)) is None
    assert "two steps" in why_not_free(stored(True, in_steps="one").program(MATRIX))
