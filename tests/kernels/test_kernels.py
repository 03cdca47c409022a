"""Kernels run on numpy equal numpy; races are those of the definition, and each is refused at its line."""

import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import tla
from tla import (
    Int,
    MakeTensor,
    RangeError,
    RankError,
    TlaError,
    _,
    ceil_div,
    elem_less,
    local_tile,
    make_identity_tensor,
    parse,
    size,
)
from tla.gpu import make_fragment_like, values_of
from tla.gpu.run.values import holds_coordinates, places_of, valid_of
from tla.kernels import (
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    fill,
    gemm,
    kernel,
    local_partition,
    loop,
    shared,
    thread,
)

from night import amount, some
from sources_of_kernels import kernel_examples

T4 = parse("_4:_1")


@pytest.fixture(scope="module")
def examples():
    return kernel_examples()


def numbers(rng, *shape):
    return rng.integers(-4, 5, shape).astype(np.float32)


@pytest.mark.parametrize("name", some(["sgemm_1", "sgemm_2", "sgemm_sm70"], 2))
def test_products_equal_numpy(examples, name):
    rng = np.random.default_rng(1)
    drawn = [tuple(map(int, rng.integers(1, 40, 3))) for _n in range(amount(0, 50))]
    empty = (
        [(5, 3, 0)] if name == "sgemm_1" else []
    )  # the others load a first tile: of no columns there is none on numpy
    for m, n, k in [(1, 1, 1), (0, 5, 3), *empty, (17, 15, 9), *drawn]:
        a, b, c = numbers(rng, m, k), numbers(rng, n, k), numbers(rng, m, n)
        expected = 2 * (a @ b.T) - c
        product = examples[f"{name}_of"](*([tla.LayoutRight] if name == "sgemm_1" else [examples["ELEMENTS"], 1]))
        assert product.check(a, b, c, 2, -1).holds
        product.run(a, b, c, 2, -1)
        assert (c == expected).all(), (m, n, k)


@pytest.mark.parametrize(
    ("name", "shapes"),
    [("tiled_copy", [(128, 64), (256, 128)]), ("tiled_copy_if", [(4, 1), (132, 63), (128, 64), (0, 4)])],
)
def test_copies_equal_numpy(examples, name, shapes):
    for shape in shapes:
        source, target = (
            np.asfortranarray(numbers(np.random.default_rng(2), *shape)),
            np.zeros(shape, np.float32, order="F"),
        )
        assert examples[name].check(source, target).holds
        assert not target.any(), "a check writes to no argument"
        examples[name].run(source, target)
        assert (source == target).all()


def elements(t, i):
    """The places of the valid elements of thread i; of coordinates all."""
    if holds_coordinates(t):
        shape = np.broadcast_shapes(*(x.shape for x in values_of(t)))  # of one thread where all have the same
        return [*zip(*(np.broadcast_to(x, shape)[min(i, shape[0] - 1)].ravel().tolist() for x in values_of(t)))]
    return places_of(t)[i][np.broadcast_to(valid_of(t), places_of(t).shape)[i]].tolist()


@pytest.mark.parametrize("threads", ["(_2,_2):(_1,_2)", "(_2,_3):(_3,_1)", "(_4,_1):(_1,_4)"])
def test_local_partition_is_that_of_each_thread(threads):
    layout, data = parse(threads), MakeTensor(np.arange(35).reshape(5, 7))
    whole = make_identity_tensor((5, 7))
    for t in (
        data,
        local_tile(data, (3, 4), (1, 0)),
        local_tile(data, (3, 4), (1, 1)),
        whole,
        local_tile(whole, (3, 4), (1, 1)),
    ):
        for proj in (None, (1, _), (_, 1)):
            cut = t if proj is None else t[_, 0] if isinstance(proj[1], type(_)) else t[0, _]
            several = local_partition(cut, layout, np.arange(int(size(layout))), proj)
            for i in range(int(size(layout))):
                assert elements(several, i) == elements(tla.local_partition(cut, layout, i, proj), 0)


# --------------------------------------------------------------------------------------------------- the definition


def raced(script):
    """Whether two threads touch one element between two barriers, and one of them writes it: the definition."""
    phases = [[]]
    for kind, places in script:
        if kind == "barrier":
            phases.append([])
        else:
            phases[-1] += [(t, place, kind) for t, place in enumerate(places)]
    pairs = (pair for phase in phases for pair in combinations(phase, 2))
    return any(t != u and p == q and "write" in (k, m) for (t, p, k), (u, q, m) in pairs)


def test_races_are_those_of_the_definition():
    draw, counts = random.Random(3), [0, 0]
    for _n in range(300):
        kinds = [draw.choice(("read", "write", "barrier")) for _s in range(draw.randrange(1, 5))]
        script = [
            (kind, draw.choice((draw.sample(range(4), 4), [0, 1, 2, 3], [draw.randrange(4) for _t in range(4)])))
            for kind in kinds
        ]

        @kernel(threads=4)
        def scripted(script=script):
            memory = shared(np.int32, T4)
            for kind, places in script:
                if kind == "barrier":
                    barrier()
                    continue
                part = local_partition(memory, T4, np.array(places))
                if kind == "write":
                    fill(part, 0)
                else:
                    copy(part, make_fragment_like(part))

        assert scripted.check().holds is not raced(script), script
        counts[raced(script)] += 1
    assert min(counts) > 50


# ------------------------------------------------------------------------------------------------------ seeded faults


# A marked statement is one line.
# fmt: off
def staged(first, second, *, index=lambda t: t, threads=T4, tiles=1):
    """A kernel that turns rows of four around through shared memory, with its two barriers or without."""

    @kernel(threads=4)
    def turned(a, b):
        t, memory = thread(), shared(np.float32, T4)
        for k in loop(tiles):
            copy(local_partition(local_tile(a, (4,), (k,)), threads, index(t)), local_partition(memory, T4, index(t)))  # E
            if first:
                barrier()
            copy(local_partition(memory, T4, 3 - t), local_partition(local_tile(b, (4,), (k,)), T4, t))  # E
            if second:
                barrier()

    return turned


def one(function, **more):
    return kernel(**{"threads": 4, **more})(function)


def rows(a, t, extent=4):
    return local_partition(local_tile(a, (extent,), (block(0),)), T4, t)


def all_clear_one_tensor(a, b):
    memory = shared(np.float32, T4)
    clear(local_partition(memory, parse("_2:_1"), thread() % 2))  # E


def neighbour_in_place(a, b):
    t = thread()
    copy(local_partition(local_tile(a, (4,), (0,)), T4, (t + 1) % 4), local_partition(local_tile(a, (4,), (0,)), T4, t))  # E


def blocks_write_one_tile(a, b):
    copy(rows(a, thread()), local_partition(local_tile(b, (4,), (0,)), T4, thread()))  # E


def block_reads_what_another_writes(a, b):
    copy(local_partition(local_tile(b, (4,), (1 - block(0),)), T4, thread()), make_fragment_like(rows(b, thread())))  # E
    fill(rows(b, thread()), 1)  # E


def barrier_between_blocks(a, b):
    fill(rows(b, thread()), 1)
    barrier()
    copy(local_partition(local_tile(b, (4,), (0,)), T4, thread()), make_fragment_like(rows(b, thread())))  # E


def axpby_of_a_neighbour(a, b):
    t, memory = thread(), shared(np.float32, T4)
    fill(local_partition(memory, T4, t), 1)
    axpby(1, local_partition(memory, T4, t ^ 1), 1, local_partition(memory, T4, t))  # E


def product_before_the_barrier(a, b):
    t, memory = thread(), shared(np.float32, parse("(_4,_2):(_2,_1)"))
    own = local_partition(memory, parse("(_4,_1):(_1,_4)"), t)
    fill(own, 1)
    whole = local_partition(memory, parse("(_1,_1):(_1,_1)"), t * 0)
    total = make_fragment_like(
        local_partition(shared(np.float32, parse("(_4,_16):(_16,_1)")), parse("(_1,_4):(_1,_1)"), t)
    )
    gemm(whole, whole, total)  # E


def predicate_of_another_tile(a, b):
    t, memory = thread(), shared(np.float32, T4)
    fill(local_partition(memory, T4, t), 0)
    inside = elem_less(local_partition(make_identity_tensor((4,)), T4, t), (2,))
    copy_if(inside, local_partition(memory, T4, 3 - t), rows(a, t))  # E


# fmt: on


TWO = {"grid": (2,)}
FAULTS = {
    "the first barrier dropped": staged(False, True, tiles=2),
    "the second barrier dropped": staged(True, False, tiles=2),
    "both dropped": staged(False, False),
    "two threads write an element": staged(True, True, index=lambda t: t // 2, tiles=2),
    "all threads write one": staged(True, True, index=lambda t: t * 0),
    "clear by all threads": one(all_clear_one_tensor),
    "a shift in place": one(neighbour_in_place),
    "blocks write one tile": one(blocks_write_one_tile, **TWO),
    "a block reads another's": one(block_reads_what_another_writes, **TWO),
    "a barrier for the grid": one(barrier_between_blocks, **TWO),
    "axpby of a neighbour": one(axpby_of_a_neighbour),
    "a product before the barrier": one(product_before_the_barrier),
    "a predicate of another tile": one(predicate_of_another_tile),
    "a mode of the grid that nobody asks for": one(blocks_write_one_tile, grid=(1, 2)),
}
SOURCE = Path(__file__).read_text().splitlines()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_refused_at_its_line(name):
    report = FAULTS[name].check(np.zeros(8, np.float32), np.zeros(8, np.float32))
    assert not report.holds
    for race in report.races:
        assert race.at.file == Path(__file__).name
        assert SOURCE[race.at.number - 1].endswith("# E"), race
        assert str(race) in str(report)


def test_what_is_right_is_not_accused():
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    right = staged(True, True, tiles=2)
    assert right.check(a, b).holds
    right.run(a, b)
    assert b.tolist() == [3, 2, 1, 0, 7, 6, 5, 4]
    assert staged(True, False).check(a, b).holds  # of one tile nothing comes after


# -------------------------------------------------------------------------------------------------------- refusals


def test_an_access_past_the_end_is_refused():
    @kernel(threads=4)
    def unguarded(a):
        copy(local_partition(local_tile(a, (8,), (0,)), T4, thread()), shared_part())

    def shared_part():
        return local_partition(shared(np.float32, parse("_8:_1")), T4, thread())

    with pytest.raises(RangeError, match="not valid"):
        unguarded.run(np.zeros(7, np.float32))
    report = unguarded.check(np.zeros(7, np.float32))
    assert not report.holds
    assert not report.races
    assert "1 of its elements are not valid, first (1) of thread 3" in str(report.bounds[0])
    unguarded.run(np.zeros(8, np.float32))


def parted_by(threads):
    one(lambda a: local_partition(a, parse(threads), thread())).run(np.zeros((4, 4)))


@pytest.mark.parametrize(
    ("wrong", "error", "text"),
    [
        (lambda: thread(), RangeError, "thread\\(\\) outside a kernel that runs"),
        (lambda: barrier(), RangeError, "barrier\\(\\) outside a kernel"),
        (lambda: copy(1, 2), RangeError, "copy\\(\\) outside a kernel"),
        (lambda: kernel(threads=0), RangeError, "kernel\\(threads=0\\)"),
        (lambda: kernel(threads=1025), RangeError, "1 to 1024 threads"),
        (lambda: one(lambda: block(3)).run(), RangeError, "block\\(3\\)"),
        (lambda: one(lambda: loop("k")).run(), TlaError, "a number of steps"),
        (lambda: one(lambda: copy(1)).run(), RankError, "copy of 1 operands"),
        (lambda: one(lambda: None, grid=(1, 1, 1, 1)).run(), RangeError, "a grid of"),
        (lambda: one(lambda: None, grid=("x",)).run(), TlaError, "the number of blocks along each mode"),
        (lambda: one(lambda: None, grid=(2, 0)).program(), RangeError, r"a grid of \(2,0\)"),
        (
            lambda: one(lambda: local_partition(np.zeros(8), parse("_2:_1"), thread())).run(),
            RangeError,
            "threads 0 to 3 of",
        ),
        (lambda: parted_by("(2,2):(8,1)"), RangeError, r"which does not number threads 0 to 3, each once"),
        (lambda: parted_by("(2,2):(0,1)"), RangeError, r"make_layout\(\(2,2\), LayoutRight\)"),
        (lambda: one(lambda: block(thread())).run(), RangeError, r"block\(\[0 1 2 3\]\)"),
        (
            lambda: one(lambda a: local_tile(a, (2,), (thread(),))).run(np.zeros(8)),
            TlaError,
            r"an array of shape \(4,\) where one integer belongs: \[0 1 2 3\](.|\n)*local_partition\(t, layout, thread",
        ),
    ],
)
def test_refusals(wrong, error, text):
    with pytest.raises(error, match=text):
        wrong()


def test_the_grid_goes_first_mode_fastest():
    seen = []
    one(lambda: seen.append((block(0), block(1), block(2))), threads=1, grid=(2, 2)).run()
    assert seen == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    one(lambda a: seen.clear(), grid=lambda a: (ceil_div(a.shape[0], Int[4]()),)).run(np.zeros(5))
    assert seen == []


def test_shared_memory_is_not_zero_before_it_is_written():
    one(lambda: np.testing.assert_array_equal(shared(np.float32, T4).data, np.full(4, np.nan))).run()


@pytest.mark.parametrize("shape", [(13,), (13, 3)])
def test_a_predicate_of_one_element_for_each_thread(shape):
    """No stride of such a part says that its elements are coordinates."""

    @kernel(threads=16, grid=lambda a, b: (1, *a.shape[1:]))
    def copied(a, b):
        def part(x):
            tiler, at = ((16,), (0,)) if len(shape) == 1 else ((16, 1), (0, block(1)))
            threads = parse("_16:_1") if len(shape) == 1 else parse("(_16,_1):(_1,_16)")
            return local_partition(local_tile(x, tiler, at), threads, thread())

        copy_if(elem_less(part(make_identity_tensor(a.shape)), a.shape), part(a), part(b))

    a, b = np.arange(np.prod(shape)).reshape(shape), np.zeros(shape, int)
    copied.run(a, b)
    assert (a == b).all()
    assert copied.check(a, b).holds
