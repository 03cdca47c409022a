"""atomic_add: executed, as C, CUDA and HIP, beside numpy; no race among additions, and one with all else."""

from pathlib import Path

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import (
    LeafTypeError,
    RankError,
    _1,
    ceil_div,
    composition,
    dim,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
)
from tla.gpu import make_fragment_like
from tla.kernels import (
    atomic_add,
    axpby,
    barrier,
    block,
    clear,
    copy,
    copy_if,
    kernel,
    local_partition,
    shared,
    tensor,
    thread,
)
from tla.kernels.proofs.race_freedom import why_not_free

import compiled
import hip
import nvrtc
from night import NIGHT
from sources_of_kernels import cuda_function

LANES, BINS = parse("_32:_1"), parse("_4:_1")
N = dim("N", at_least=0, at_most=2**20)


def blocks(a, b):
    return (ceil_div(a.shape[0], 64),)


def added_of(zeroed=True, first=True, then=True, how=atomic_add, out=atomic_add, reads=False):
    """b[k] += the sum of all a[i] whose i % 4 is k: in shared memory first, then among blocks."""

    @kernel(threads=32, grid=blocks)
    def added(a, b):
        t, sums = thread(), shared(a.dtype, LANES)
        own, at = (
            local_partition(local_tile(x, (64,), (block(0),)), LANES, t) for x in (a, make_identity_tensor(a.shape))
        )
        held, mine = make_fragment_like(own), local_partition(sums, LANES, t)
        clear(held)
        copy_if(elem_less(at, a.shape), own, held)
        if zeroed:
            clear(mine)
        if first:
            barrier()
        how(held, composition(local_partition(sums, LANES, t % 4), parse("_2:_0")))
        if then:
            barrier()
        out(mine, local_partition(b, LANES, t))
        if reads:
            copy(local_partition(b, LANES, t), mine)

    return added


def summed(a, b):
    return b + np.array([a[k::4].sum() if k < 4 else 0 for k in range(32)], b.dtype)


def plain(source, target):
    axpby(1, source, 1, target)


@pytest.mark.parametrize("element", [np.float32, np.float64, np.int32, np.uint32])
@pytest.mark.parametrize("n", [0, 1, 63, 200])
def test_sums_of_all_threads_and_blocks(element, n):
    a = np.random.default_rng(n).integers(0, 9, n).astype(element)
    b = np.arange(32).astype(element)
    expected = summed(a, b)
    added_of().run(a, b)
    assert b.tolist() == expected.tolist()
    assert added_of().check(a, b).holds


VECTOR = {kind: tensor(kind, make_layout((N,), stride=(_1,))) for kind in (np.float32, np.int32)}
SUMS = {kind: tensor(kind, LANES) for kind in (np.float32, np.int32)}


def of_names(made, kind=np.float32):
    return made.program(VECTOR[kind], SUMS[kind])


def test_additions_are_proved_to_be_no_race_for_all_sizes():
    assert why_not_free(of_names(added_of())) is None


@pytest.mark.parametrize(
    ("fault", "at", "who"),
    [
        ({"first": False}, "how(held", "thread"),
        ({"then": False}, "out(mine", "thread"),
        ({"out": plain}, "axpby(1", "block"),
        ({"reads": True}, "copy(local_partition(b", "block"),
    ],
)
def test_what_races_with_an_addition_is_refused_at_its_line(fault, at, who):
    made = added_of(**fault)
    races = made.check(np.zeros(200, np.float32), np.zeros(32, np.float32)).races
    text = Path(__file__).read_text().splitlines()
    assert any(at in text[race.at.number - 1] and race.who == who for race in races), [*map(str, races)]
    assert why_not_free(of_names(made)) is not None


def test_shared_memory_that_is_added_to_before_it_is_zeroed_is_named():
    report = added_of(zeroed=False).check(np.zeros(200, np.float32), np.zeros(32, np.float32))
    assert "how(held" in Path(__file__).read_text().splitlines()[report.unwritten[0].line.number - 1]


def equals_numpy(call, kind):
    for n in (0, 1, 63, 200, 5000):
        a, b = np.random.default_rng(n).integers(0, 9, n).astype(kind), np.arange(32).astype(kind)
        expected = summed(a, b)
        call(pointer(a), pointer(b), n)
        assert b.tolist() == expected.tolist()


@pytest.mark.parametrize("flags", [[], ["-fopenmp"]], ids=str)
def test_the_text_in_c_with_blocks_in_parallel_too(flags, tmp_path):
    kind = np.float32 if flags else np.int32
    text = added_of().source("c", VECTOR[kind], SUMS[kind]).text
    assert "THREADS_ARE_APART\n    for" not in text[text.index("ADD_ATOMICALLY(smem") - 200 :][:200]
    equals_numpy(compiled.build(tmp_path, text, *flags).kernel_main, kind)


@pytest.mark.skipif(not NIGHT, reason="seconds of a compiler: at night")
@pytest.mark.parametrize("kind", [np.float32, np.int32])
def test_the_text_in_cuda_on_a_cpu(kind, tmp_path):
    name = {np.float32: "float", np.int32: "int"}[kind]
    source = added_of().source("cuda", VECTOR[kind], SUMS[kind])
    parameters = [f"const {name} *a", f"{name} *b", "int N"]
    equals_numpy(cuda_function(tmp_path, source, parameters, lambda _a, _b, n: (-(-n // 64), 1)), kind)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_nvidias_instruction(arch):
    ptx, _cubin = nvrtc.compiled(added_of().source("cuda", VECTOR[np.float32], SUMS[np.float32], arch=arch).text, arch)
    assert "red.shared" in ptx or "atom.shared" in ptx
    assert "red.global.add.f32" in ptx or "atom.global.add.f32" in ptx


def test_amds_instruction(tmp_path):
    found = hip.opcodes(
        hip.without_headers(added_of().source("hip", VECTOR[np.int32], SUMS[np.int32]).text), "gfx942", tmp_path
    )
    assert any(x.startswith("ds_add") for x in found)
    assert any(x.startswith("global_atomic_add") for x in found)


@pytest.mark.parametrize(
    ("source", "target", "error", "what"),
    [
        ("float16", "float16", LeafTypeError, "atomic_add of float16 to float16"),
        ("int32", "float32", LeafTypeError, "atomic_add of int32 to float32"),
    ],
)
def test_types_that_no_instruction_adds(source, target, error, what):
    @kernel(threads=32)
    def added(a, b):
        atomic_add(*(local_partition(x, LANES, thread()) for x in (a, b)))

    with pytest.raises(error, match=what):
        added.run(np.zeros(32, source), np.zeros(32, target))
    with pytest.raises(error, match=what):
        added.program(tensor(source, LANES), tensor(target, LANES))


def test_registers_and_other_numbers_of_elements():
    @kernel(threads=32)
    def to_registers(a):
        held = make_fragment_like(local_partition(a, LANES, thread()))
        atomic_add(local_partition(a, LANES, thread()), held)

    @kernel(threads=32)
    def to_one(a):
        atomic_add(local_partition(a, BINS, thread() % 4), local_partition(a, LANES, thread()))

    for made, error, what in (to_registers, LeafTypeError, "to registers"), (to_one, RankError, "as many elements"):
        with pytest.raises(error, match=what):
            made.run(np.zeros(32, np.float32))
    with pytest.raises(LeafTypeError, match="statements of whole tiles"):
        added_of().source("gluon", VECTOR[np.float32], SUMS[np.float32])


def test_values_of_elements_are_no_tensors():
    """t[0] is a copy of values: what is written to it is lost."""

    @kernel(threads=32)
    def lost(a):
        own = local_partition(a, LANES, thread())
        axpby(1, own[0], 0, own[0])

    with pytest.raises(LeafTypeError, match="the values of elements"):
        lost.run(np.zeros(32, np.float32))
