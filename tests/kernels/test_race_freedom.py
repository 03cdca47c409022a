"""Race freedom for all sizes: what is proved holds at every size that is tried, and a kernel that races somewhere is
not proved."""

import random

import numpy as np
import pytest

from tla import Int, _1, ceil_div, composition, dim, elem_less, local_tile, make_identity_tensor, make_layout, parse
from tla.gpu import make_fragment_like
from tla.kernels import (
    barrier,
    block,
    cluster_sync,
    copy,
    copy_if,
    fill,
    kernel,
    local_partition,
    loop,
    registers,
    shared,
    tensor,
    thread,
    when,
)
from tla.kernels.proofs.race_freedom import why_not_free

from night import amount

LAYOUTS = [
    parse(text) for text in ("_8:_1", "(_2,_4):(_1,_2)", "(_2,_4):(_4,_1)", "(_4,_2):(_1,_4)", "(_4,_2):(_2,_1)")
]


def drawn(rng):
    """A kernel of a few stages through shared memory, in a loop or not, with barriers or not, and tiles that blocks
    share or not."""
    threads, rows = 8, rng.choice([8, 16])
    parts = [rng.choice(LAYOUTS[1:]) for _n in range(3)]
    turned = [rng.randrange(0, 2) for _n in range(3)]
    barriers = [rng.random() < 0.7 for _n in range(3)]
    owner = rng.choice(["block", "block", "half", "one"])
    in_loop, doubled = rng.random() < 0.5, rng.random() < 0.2

    @kernel(threads=threads, grid=lambda a, b: (ceil_div(a.shape[0], rows),))
    def stages(a, b):
        t, memory = thread(), shared(np.float32, parse(f"(_{rows},_4):(_4,_1)"))
        i = {"block": block(0), "half": block(0) // 2, "one": 0}[owner]
        own = [(t + turn) % threads for turn in turned]
        if doubled:
            own[2] = own[2] // 2 * 2

        def part(x, k, column=0):
            return local_partition(x, parts[k], own[k])

        def cut(x, k, column):
            tile, places = (local_tile(y, (rows, 4), (i, column)) for y in (x, make_identity_tensor(x.shape)))
            return part(tile, k), elem_less(part(places, k), x.shape)

        def body(column):
            source, inside = cut(a, 0, column)
            copy_if(inside, source, part(memory, 0))
            if barriers[0]:
                barrier()
            held = make_fragment_like(part(memory, 1))
            copy(part(memory, 1), held)
            if barriers[1]:
                barrier()
            copy(held, part(memory, 1))
            if barriers[2]:
                barrier()
            target, inside = cut(b, 2, column)
            copy_if(inside, part(memory, 2), target)

        if in_loop:
            for k in loop(ceil_div(a.shape[1], 4)):
                body(k)
        else:
            body(0)

    return stages


def races_somewhere(made, rng):
    for m, n in ((8, 4), (33, 9), (rng.randint(1, 60), rng.randint(1, 20))):
        if made.check(np.zeros((m, n), np.float32), np.zeros((m, n), np.float32)).races:
            return True
    return False


@pytest.mark.once
def test_what_is_proved_holds_at_every_size():
    rng = random.Random(11)
    m, n = dim("m", at_least=0, at_most=99), dim("n", at_least=0, at_most=99)
    given = 2 * [tensor(np.float32, make_layout((m, n), stride=(n, _1)))]
    proved = raced = 0
    for number in range(amount(12, 1000)):
        made = drawn(rng)
        found, races = why_not_free(made.program(*given)), races_somewhere(made, rng)
        assert not (found is None and races), number
        proved, raced = proved + (found is None), raced + races
    assert proved > 1
    assert raced > 5


# ------------------------------------------------------------------------------------------------------ one by one

ROWS = parse("_8:_1")
N = dim("n", at_least=0, at_most=2**20)
VECTOR = tensor(np.float32, make_layout((N,), stride=(_1,)))


def reason(function, *given, threads=8, grid=lambda *x: (ceil_div(x[0].shape[0], 8),)):
    return why_not_free(kernel(threads=threads, grid=grid)(function).program(*(given or (VECTOR, VECTOR))))


def own(x, index=None):
    return local_partition(local_tile(x, (8,), (block(0),)), ROWS, thread() if index is None else index)


def inside(x):
    return elem_less(own(make_identity_tensor(x.shape)), x.shape)


def test_a_loop_is_gone_through_until_nothing_is_new():
    def written_in_the_next_step(a, b):
        memory = shared(np.float32, parse("_8:_1"))
        for _k in loop(a.shape[0]):
            copy_if(inside(a), own(a), local_partition(memory, ROWS, thread()))
            barrier()
            copy_if(inside(b), local_partition(memory, ROWS, 7 - thread()), own(b))

    assert "shared memory that another thread may touch" in reason(written_in_the_next_step)


def test_a_loop_may_have_no_steps():
    def barrier_in_the_loop_alone(a, b):
        memory = shared(np.float32, parse("_8:_1"))
        copy_if(inside(a), own(a), local_partition(memory, ROWS, thread()))
        for _k in loop(a.shape[0]):
            barrier()
        copy_if(inside(b), local_partition(memory, ROWS, 7 - thread()), own(b))

    assert "shared memory" in reason(barrier_in_the_loop_alone)


@pytest.mark.parametrize("waits", [True, False])
def test_a_condition_may_hold_or_not(waits):
    def conditional(a, b):
        memory = shared(np.float32, parse("_8:_1"))
        copy_if(inside(a), own(a), local_partition(memory, ROWS, thread()))
        for _ in when(block(0) < 2):
            barrier()
        if waits:
            barrier()
        copy_if(inside(b), local_partition(memory, ROWS, 7 - thread()), own(b))

    assert (reason(conditional) is None) == waits


def test_a_write_by_two_threads_in_one_statement():
    def same(a, b):
        fill(local_partition(shared(np.float32, parse("_8:_1")), ROWS, thread() // 2), 1)

    assert "shared memory" in reason(same)


def test_an_argument_that_two_threads_or_blocks_write():
    def threads(a, b):
        copy_if(
            elem_less(own(make_identity_tensor(b.shape), thread() // 2), b.shape),
            own(a, thread() // 2),
            own(b, thread() // 2),
        )

    def blocks(a, b):
        at = local_partition(local_tile(make_identity_tensor(b.shape), (8,), (0,)), ROWS, thread())
        copy_if(elem_less(at, b.shape), *(local_partition(local_tile(x, (8,), (0,)), ROWS, thread()) for x in (a, b)))

    assert "two threads" in reason(threads)
    assert "two blocks" in reason(blocks)


def test_an_argument_read_by_another_thread_than_writes_it():
    def rotated(a, b):
        held = make_fragment_like(own(a))
        copy_if(elem_less(own(make_identity_tensor(a.shape), 7 - thread()), a.shape), own(a, 7 - thread()), held)
        copy_if(inside(a), held, own(a))

    assert "two threads" in reason(rotated)


def test_elements_of_an_argument_that_have_one_place():
    def ones(a):
        fill(own(a), 1)

    flat = tensor(np.float32, make_layout((N,), stride=(Int[0](),)))
    assert "do not lie apart" in reason(ones, flat)


def test_blocks_of_a_cluster_that_differ_in_their_steps():
    @kernel(threads=8, grid=(4,), cluster=(2,))
    def together(a):
        cluster_sync()
        for _k in loop(block(0) + 1):
            barrier()

    assert "differs among the blocks of a cluster" in why_not_free(together.program(VECTOR))


def test_report_and_text_say_which_it_is():
    @kernel(threads=8, grid=lambda a, b: (ceil_div(a.shape[0], 8),))
    def copied(a, b):
        copy_if(inside(a), own(a), own(b))

    @kernel(threads=8, grid=lambda a, b: (ceil_div(a.shape[0], 8),))
    def turned(a, b):
        memory = shared(np.float32, parse("_16:_1"))
        for k in loop(a.shape[0]):
            fill(local_partition(local_tile(memory, (8,), (k % 2,)), ROWS, thread()), 1)  # no stage: nobody counts it
        copy_if(inside(a), own(a), own(b))

    report = copied.check(VECTOR, VECTOR)
    assert report.proved
    assert report.holds
    assert str(report).endswith("no race for any sizes, by proof")
    assert "inside of their tensors for all sizes, and no threads to race." in copied.source("c", VECTOR, VECTOR).text
    report = turned.check(VECTOR, VECTOR)
    assert not report.proved
    assert report.holds
    assert "not proved for other sizes: test_race_freedom.py" in str(report)
    assert "for all sizes; races were looked for at n = " in turned.source("cuda", VECTOR, VECTOR, arch="sm_90a").text


def test_a_report_of_given_sizes_proves_nothing_for_others():
    @kernel(threads=8, grid=lambda a, b: (ceil_div(a.shape[0], 8),))
    def copied(a, b):
        copy_if(inside(a), own(a), own(b))

    report = copied.check(np.zeros(5, np.float32), np.zeros(5, np.float32))
    assert not report.proved
    assert "for these sizes" in str(report)
    assert "proof" not in str(report)


def test_sizes_that_one_block_holds_at_most():
    """A grid of one block, or of none: no second block is asked about."""

    @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape[0], 128),))
    def copied(a, b):
        x, y, places = (
            local_partition(local_tile(t, (128,), (block(0),)), parse("_32:_1"), thread())
            for t in (a, b, make_identity_tensor(a.shape))
        )
        copy_if(elem_less(places, a.shape), x, y)

    vector = tensor(np.float32, make_layout((dim("M", at_least=0, at_most=99),), stride=(_1,)))
    assert why_not_free(copied.program(vector, vector)) is None


@pytest.mark.parametrize(("lanes", "fault"), [(1, None), (2, None), (1, "barrier"), (4, "every lane")])
def test_the_first_lanes_of_warps_write(lanes, fault):
    """A predicate of a thread's lane says which threads touch an element: of two groups of four the first lane, and the
    second, which is another element."""
    warps = parse("(_2,_4):(_4,_1)")

    @kernel(threads=8)
    def sums(a):
        def column(x):
            seen = composition(x, make_layout((Int[2](), Int[lanes]()), stride=(_1, Int[2]()))) if fault is None else x
            return local_partition(local_tile(seen, (2, lanes), (0, 0)), warps, thread())

        memory, t = shared(np.float32, parse("_8:_1")), thread()
        held = registers(np.float32, (1, 1))
        fill(held, 1)
        inside = elem_less(local_partition(make_identity_tensor((2, lanes)), warps, t), (2, lanes))
        target = memory if fault is None else composition(memory, parse("(_2,_4):(_1,_0)"))
        copy_if(inside, held, column(target))
        if fault != "barrier":
            barrier()
        for k in range(2):
            copy(local_tile(memory, (1,), (k,)), registers(np.float32, 1))

    found = why_not_free(sums.program(VECTOR))
    assert (found is None) == (fault is None), found
    if lanes == 1 or fault is None:
        assert bool(sums.check(np.zeros(8, np.float32)).races) == (fault is not None)


def conditional(rng):
    """A loop that writes and reads shared memory with barriers under conditions of its steps, and of how many there
    are."""
    kinds = [
        lambda k, n, c: k + c < n,
        lambda k, n, c: k < c,
        lambda k, n, c: c - 1 < k,
        lambda k, n, c: n < k + c,
        lambda k, n, c: n < c + 1,
        lambda k, n, c: c < n,
    ]
    drawn = [(rng.choice(kinds), rng.randrange(4)) for _n in range(4)]
    before = rng.random() < 0.5

    @kernel(threads=2)
    def stepped(a):
        memory, steps, pair = shared(np.float32, parse("_2:_1")), a.shape[0], parse("_2:_1")
        own, other = (local_partition(memory, pair, x) for x in (thread(), 1 - thread()))
        ask, c = drawn[3]
        if before:
            for _first in when(c < steps):
                fill(own, 0)
        for k in loop(steps):
            for i, do in enumerate((lambda: fill(own, 1), barrier, lambda: copy(other, registers(np.float32, 1)))):
                ask, c = drawn[i]
                for _one in when(ask(k, steps, c)):
                    do()
            barrier()
        for _last in when(drawn[3][1] < steps):
            copy(other, registers(np.float32, 1))

    return stepped


def test_conditions_of_steps_are_gone_as_they_hold():
    rng, proved = random.Random(7), 0
    given = tensor(np.float32, make_layout((dim("n", at_least=0, at_most=99),), stride=(_1,)))
    for _number in range(amount(4, 80)):
        made = conditional(rng)
        races = any(made.check(np.zeros(n, np.float32)).races for n in range(11))
        found = why_not_free(made.program(given))
        assert (found is None) == (not races)
        proved += found is None
    assert amount(True, 0 < proved < 80)
