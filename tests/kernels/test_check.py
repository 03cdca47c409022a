"""What a check counts, by brute force over every lane: wavefronts of 32 banks, sectors of 32 bytes; barriers that
nobody needs."""

import itertools
import random
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_kernels import T4, raced
from tla import (
    LeafTypeError,
    RangeError,
    RankError,
    _1,
    ceil_div,
    dim,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    make_tensor,
    parse,
)
from tla.gpu import Copy_Atom, UniversalCopy, float as float32, make_fragment_like, make_tiled_copy, uint64, uint128
from tla.kernels import barrier, block, copy, copy_if, fill, kernel, local_partition, shared, tensor, thread

from sources_of_kernels import kernel_examples


def wavefronts(starts, width):
    """How often 32 banks of 4 bytes are asked by lanes that each begin at a byte: so many go together as ask
    for 128 bytes."""
    total, degree = 0, 1
    each = min(32, 128 // width)
    for begin in range(0, len(starts), each):
        words = {
            w
            for start in starts[begin : begin + each]
            if start is not None
            for w in range(start // 4, (start + width - 1) // 4 + 1)
        }
        banks = [sum(w % 32 == bank for w in words) for bank in range(32)]
        total, degree = total + max(banks), max(degree, max(banks))
    return total, degree


def sectors(starts, width):
    return len({s for start in starts if start is not None for s in range(start // 32, (start + width - 1) // 32 + 1)})


@pytest.mark.parametrize("seed", range(30))
def test_scalar_accesses_are_counted_as_the_definition_does(seed):
    draw = random.Random(seed)
    threads, count = draw.choice((32, 64, 96, 40)), draw.choice((1, 3))
    stride, dtype = draw.choice((1, 2, 3, 8, 17, 32)), draw.choice((np.float16, np.float32, np.float64))
    width = np.dtype(dtype).itemsize
    layout = make_layout((threads * count,), stride=(stride,))

    @kernel(threads=threads)
    def moved(a):
        part = parse(f"_{threads}:_1")
        here, memory = local_partition(a, part, thread()), local_partition(shared(dtype, layout), part, thread())
        copy(here, make_fragment_like(here))
        fill(memory, 1)

    a = make_tensor(np.zeros(threads * count * stride, dtype), layout)
    report = moved.check(a)
    rows = {(row.memory, row.writes): row for row in report.conflicts}
    places = [[(t + threads * i) * stride * width for t in range(threads)] for i in range(count)]
    warps = [lanes[w : w + 32] for lanes in places for w in range(0, threads, 32)]
    found = [wavefronts(lanes, width) for lanes in warps]
    row = rows["shared memory", True]
    assert (row.instructions, row.wavefronts, row.degree) == (
        len(warps),
        sum(n for n, _d in found),
        max(d for _n, d in found),
    )
    assert rows["global memory", False].wavefronts == sum(sectors(lanes, width) for lanes in warps)
    registers = next(x for x in report.resources if "registers" in x.what)
    assert registers.used == -(-count * width // 4)
    used = -(-(stride * (threads * count - 1) + 1) * width // 16) * 16
    assert report.resources[0].used == used


@pytest.mark.parametrize(("entry", "count"), [(uint64, 2), (uint128, 4)])
@pytest.mark.parametrize("pitch", [32, 36, 40])
def test_vectors_are_counted_whole(entry, count, pitch):
    lanes = 32 // count
    tiled = make_tiled_copy(Copy_Atom[UniversalCopy[entry], float32], parse(f"(_8,_{lanes}):(_{lanes},_1)"), (1, count))
    layout = parse(f"(_8,_32):(_{pitch},_1)")

    @kernel(threads=8 * lanes)
    def moved(a):
        own = tiled[thread()]
        copy(tiled, own.partition_S(a), own.partition_D(shared(np.float32, layout)))

    row = next(row for row in moved.check(np.zeros((8, 32), np.float32)).conflicts if row.memory == "shared memory")
    starts = [4 * (t // lanes * pitch + t % lanes * count) for t in range(8 * lanes)]
    found = [wavefronts(starts[w : w + 32], 4 * count) for w in range(0, len(starts), 32)]
    assert (row.bits, row.wavefronts, row.degree) == (32 * count, sum(n for n, _d in found), max(d for _n, d in found))


def test_lanes_under_a_predicate_ask_for_nothing():
    @kernel(threads=64)
    def some(a, b):
        rows = parse("_64:_1")
        at = local_partition(make_identity_tensor(a.shape), rows, thread())
        copy_if(elem_less(at, (37,)), *(local_partition(x, rows, thread()) for x in (a, b)))

    rows = some.check(np.zeros(64, np.float32), np.zeros(64, np.float32)).conflicts
    assert [(row.instructions, row.wavefronts) for row in rows] == [(2, 5)] * 2


def test_barriers_that_nobody_needs_are_named():
    """Without all of them no race appears; without one more there is one."""
    draw, idle_ones = random.Random(7), 0
    for _n in range(200):
        kinds = [draw.choice(("read", "write", "barrier", "barrier")) for _s in range(draw.randrange(2, 7))]
        script = [(kind, draw.choice((draw.sample(range(4), 4), [0, 1, 2, 3], [1, 0, 2, 3]))) for kind in kinds]
        if raced(script):
            continue
        places = [i for i, (kind, _p) in enumerate(script) if kind == "barrier"]

        @kernel(threads=4)
        def scripted(script=script):
            memory = shared(np.int32, T4)
            for i, (kind, at) in enumerate(script):
                if kind == "barrier":
                    exec(
                        compile("\n" * i + "barrier()", "barriers.py", "exec"), {"barrier": barrier}
                    )  # a line of its own
                    continue
                part = local_partition(memory, T4, np.array(at))
                fill(part, 0) if kind == "write" else copy(part, make_fragment_like(part))

        idle = {line.number - 1 for line in scripted.check().idle}
        idle_ones += len(idle)
        assert idle <= {*places}
        assert not raced([s for i, s in enumerate(script) if i not in idle]), (script, idle)
        for needed in {*places} - idle:
            assert raced([s for i, s in enumerate(script) if i not in idle | {needed}]), (script, idle, needed)
    assert idle_ones > 50


def test_threads_that_all_write_one_place_race():
    @kernel(threads=4)
    def all_write(a):
        fill(a, 1)

    assert not all_write.check(np.zeros(4)).holds


# --------------------------------------------------------------------------------------------- sizes that are not known


def copied(guarded, memory=4):
    @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape[0], 64),))
    def moved(a, b):
        rows = parse("_32:_1")
        x, y, at = (
            local_partition(local_tile(t, (64,), (block(0),)), rows, thread())
            for t in (a, b, make_identity_tensor(a.shape))
        )
        shared(np.uint8, parse(f"_{memory}:_1"))  # bytes that nobody touches
        if guarded:
            copy_if(elem_less(at, a.shape), x, y)
        else:
            copy(x, y)  # E

    return moved


def test_a_kernel_of_symbols_is_proved_for_all_sizes():
    a = tensor(np.float32, make_layout((dim("N"),), stride=(_1,)))
    report = copied(True).check(a, a)
    assert report.holds
    assert report.blocks == 2
    assert "no race among 2 blocks of 32 threads, for N = " in str(report)
    report = copied(False).check(a, a)
    assert not report.holds
    assert "is not proved to be inside of (N)" in str(report.bounds[0])
    source = Path(__file__).read_text().splitlines()
    assert source[report.bounds[0].line.number - 1].endswith("# E")


def test_what_an_architecture_has_not_is_refused():
    a, bytes_of = np.zeros(64, np.float32), {"sm_75": 64, "sm_80": 163, "sm_90": 227, "sm_120": 99, "gfx942": 64}
    for (arch, kib), extra in itertools.product(bytes_of.items(), (0, 16)):
        made = copied(True, kib * 1024 + extra)
        assert made.check(a, a, arch=arch).holds is not bool(extra), arch
    symbols = tensor(np.float32, make_layout((dim("N"),), stride=(_1,)))
    with pytest.raises(RangeError, match="bytes of shared memory"):
        copied(True, 100 * 1024).source("cuda", symbols, symbols, arch="sm_86")
    assert copied(True, 4).source("cuda", symbols, symbols, arch="sm_86").text


@pytest.mark.parametrize("arch", ["bogus", "sm_", "sm_80x", 80, "gfx", ""])
def test_what_is_no_architecture_is_refused(arch):
    a = np.zeros(64, np.float32)
    with pytest.raises(LeafTypeError, match="an architecture of NVIDIA or AMD"):
        copied(True).check(a, a, arch=arch)
    symbols = tensor(np.float32, make_layout((dim("N"),), stride=(_1,)))
    with pytest.raises(LeafTypeError, match="an architecture"):
        copied(True).source("cuda", symbols, symbols, arch=arch)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_other_numbers_of_arguments_are_refused(count):
    for call in (copied(True).run, copied(True).check):
        with pytest.raises(RankError, match=f"{count} arguments of moved"):
            call(*[np.zeros(64, np.float32)] * count)


def test_an_instruction_is_asked_of_the_architecture():
    example = kernel_examples()["variants of sgemm_sm80"]["VARIANTS"]["gemm_tn"][0]
    a, b, c = (np.zeros((128, n), np.float16) for n in (64, 64, 128))
    assert example.check(a, b, c, 1, 1, arch="sm_90").holds
    for arch in ("sm_75", "gfx942"):
        report = example.check(a, b, c, 1, 1, arch=arch)
        assert not report.holds
        assert any("SM80_CP_ASYNC" in str(row) and arch in str(row) for row in report.bounds), report
    with pytest.raises(RangeError, match="255"):
        kernel(threads=32, registers=256)
