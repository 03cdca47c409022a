"""Blocks of Ascend as kernels: run beside numpy, checked with the rows of any kernel, and written out."""

import dataclasses

import numpy as np
import pytest
from ascend_blocks import EXAMPLES, agrees, example, numbers, problem_of

from tla import MakeTensor, dim, dims, parse
from tla.ascend import (
    Ascend950,
    ColumnMajor,
    Loop,
    SplitkGemmIdentityBlockSwizzle,
    When,
    block,
    conv_block,
    densify,
    float32,
    fp8_e4m3,
    int8,
    int32,
)
from tla.ascend.programs import Move, Multiply, Part, SetFlag, WaitFlag
from tla.ascend.programs.trace import events
from tla.core.errors import LeafTypeError, RangeError, RankError
from tla.kernels import AscendKernel, kernel

from night import amount, some

TILES = (32, 64, 64), (32, 64, 32)


def ran(k, given, c):
    """What a kernel leaves in c."""
    a, b, *more = (x for x in given if x is not None)
    k.run(a, b, c, *more)
    return np.asarray(c, np.float64)


@pytest.mark.parametrize("name", some(EXAMPLES, 7))
def test_a_run_is_numpys_product_over_all_blocks_of_the_problem(name):
    for seed in range(amount(1, 60)):
        rng = np.random.default_rng(1000 + seed)
        made = example(name, problem_of(rng))
        given, wanted = numbers(rng, made.problem, made.plan)
        c = rng.integers(-9, 9, made.problem[:2]).astype(made.execute(*given).dtype)
        before = c.astype(np.float64) if made.plan.adds else 0
        assert agrees(ran(AscendKernel(made), given, c), before + wanted, made.plan), made.problem


def test_a_run_writes_into_views_and_tensors():
    made, rng = block((37, 70, 45), *TILES, c=int32, a=int8, b=int8), np.random.default_rng(0)
    x, y = rng.integers(-5, 5, (37, 45)), rng.integers(-5, 5, (45, 70))
    wide = np.zeros((70, 80), np.int32)
    AscendKernel(made).run(x, y, wide.T[:37, :70])
    assert (wide[:70, :37].T == x @ y).all()
    assert not wide[:, 37:].any()
    tensor = MakeTensor(np.zeros(37 * 80, np.int32), parse("(37,70):(80,1)"))
    AscendKernel(made).run(MakeTensor(x.ravel(), parse("(37,45):(45,1)")), y, tensor)
    assert (np.asarray(tensor) == x @ y).all()


def test_scales_sparse_operands_images_and_any_sizes_run_too():
    x, y = np.ones((20, 70)), np.ones((70, 30))
    scales = np.full((20, 3), 0.5), np.full((3, 30), 4.0)
    mx = block((20, 30, 70), (32, 32, 64), (32, 32, 64), Ascend950, a=fp8_e4m3, b=fp8_e4m3, scales=True)
    c = np.zeros((20, 30), np.float16)
    AscendKernel(mx).run(x, y, c, *scales)
    assert AscendKernel(mx).arguments == ("a", "b", "c", "scale_a", "scale_b")
    assert (c == 140).all()
    sparse = block((20, 30, 64), (32, 32, 64), (32, 32, 64), a=int8, b=(int8, ColumnMajor), c=int32, sparse=True)
    z, c = np.kron(np.ones((32, 30), int), np.array([[0], [3]])), np.zeros((20, 30), np.int32)
    AscendKernel(sparse).run(np.ones((20, 64)), z, c)
    assert (c == 96).all()
    assert densify(z)[0].shape == (32, 30)
    conv, c = conv_block((1, 16, 1, 6, 6), (16, 1, 3, 3), (4, 4, 16), cores=2), np.zeros((1, 16, 1, 4, 4), np.float16)
    AscendKernel(conv).run(np.ones((1, 16, 1, 6, 6)), np.ones((16, 16, 1, 3, 3)), c)
    assert (c == 144).all()
    assert AscendKernel(conv).check().holds
    every = AscendKernel(block(dims("M N K"), *TILES, cores=3, bias=True))
    for m, n, k in ((1, 1, 1), (33, 70, 65), (70, 3, 130)):
        c = np.zeros((m, n), np.float16)
        every.run(np.ones((m, k)), np.ones((k, n)), c, np.ones(n))
        assert (c == k + 1).all()


@pytest.mark.parametrize("sizes", [(20, 30, 70), dims("M N K", at_most=2**17)], ids=["known", "any"])
def test_scales_and_what_c_holds_are_arguments_at_any_size_too(sizes):
    x, y, c = np.ones((20, 70)), np.ones((70, 30)), np.zeros((20, 30), np.float16)
    scales = np.full((20, 3), 0.5), np.full((3, 30), 4.0)
    mx = block(sizes, (32, 32, 64), (32, 32, 64), Ascend950, a=fp8_e4m3, b=fp8_e4m3, scales=True)
    AscendKernel(mx).run(x, y, c, *scales)
    assert (c == 140).all()
    channels = AscendKernel(block(sizes, *TILES, a=int8, b=(int8, ColumnMajor), quant="PER_CHANNEL"))
    assert channels.arguments == ("a", "b", "c", "scale")
    channels.run(x, y, c, np.arange(30) / 2)
    assert (c == 70 * np.arange(30) / 2).all()
    cut = block(sizes, *TILES, c=float32, splitkFactor=2, swizzle=SplitkGemmIdentityBlockSwizzle[3, 0])
    held = np.full((20, 30), 5, np.float32)
    AscendKernel(cut).run(x, y, held)
    assert (held == 75).all()


def sectors(made):
    """The sectors of 32 bytes that the rows of all tiles of A touch, and the fewest, by the tiles alone."""
    touched = least = 0
    for blocks in made.schedule.table:
        for b in blocks:
            for at in range(0, made.problem[2], made.plan.tiling.l1[2]):
                rows, width = b.extents[0], min(made.plan.tiling.l1[2], made.problem[2] - at)
                first = [((b.start[0] + i) * made.problem[2] + at) * 2 for i in range(rows)]
                touched += len({byte // 32 for x in first for byte in range(x, x + 2 * width)})
                least += -(-rows * width * 2 // 32)
    return touched, least


def test_a_report_has_the_rows_of_any_kernel():
    made = block((70, 100, 150), *TILES, cores=2)
    report = AscendKernel(made).check()
    row = report.conflicts[0]
    assert (row.memory, row.writes, row.bits, row.instructions) == ("global memory", False, 16, 18)
    assert (row.wavefronts, row.least) == sectors(made)
    assert [(x.what, x.used, x.most) for x in report.resources][:2] == [
        ("bytes of L1", 24576, 524288),
        ("bytes of L0A", 4096, 65536),
    ]
    assert (report.blocks, report.threads, report.races, report.bounds) == (6, 0, (), ())
    assert "no race among the pipes of 6 blocks, for these sizes" in str(report)
    assert not report.proved


def test_a_block_of_any_size_is_proved():
    report = AscendKernel(block(dims("M N K", at_most=2**16), (32, 32, 32), (32, 32, 32))).check()
    assert report.holds
    assert report.proved
    assert "no race for any sizes, by proof" in str(report)
    assert report.notes[0].startswith("each transfer and Mmad, for all sizes")


def test_a_block_of_any_size_that_is_wrong_says_no_more_than_what_is():
    made = block(dims("M N K", at_most=2**16), (32, 32, 32), (32, 32, 32))
    program, conditions = made._written
    loop = next(s for s in program.body if isinstance(s, Loop))
    body = tuple(s for s in loop.body if not (isinstance(s, WaitFlag) and s.event == "FIX_M"))
    wrong = tuple(s._replace(body=body) if s is loop else s for s in program.body)
    made.__dict__["_written"] = dataclasses.replace(program, body=wrong), conditions
    report = AscendKernel(made).check()
    assert not report.holds
    assert not report.proved
    assert "no race" not in str(report)
    assert "SetFlag FIX_M 0 twice" in str(report)


def changed(made, is_one, change):
    """A block whose first core has another statement, the first of a kind."""
    programs = made.programs
    body = [e.statement for e in events(programs[0])]
    i = next(i for i, s in enumerate(body) if is_one(s))
    body[i : i + 1] = change(body[i])
    made.__dict__["programs"] = (dataclasses.replace(programs[0], body=tuple(body)), *programs[1:])
    return AscendKernel(made)


def test_a_wait_that_is_lost_is_a_race_between_two_pipes():
    lost = changed(block((30, 60, 70), *TILES), lambda s: isinstance(s, WaitFlag) and s.event == "M_FIX", lambda s: [])
    report = lost.check()
    race = report.races[0]
    assert (race.who, race.memory, race.element, race.before, race.written, race.after, race.writes) == (
        *("flag", "L0C", 0, "M", True, "FIX", False),
    )
    assert race.line.file == race.at.file == "core 0"
    assert race.line.number < race.at.number
    assert str(race) == (
        f"{race.at}: the pipe FIX reads byte 0 of L0C, which the pipe M writes at {race.line}: "
        "no SetFlag and WaitFlag between"
    )
    assert race.fix == "SetFlag and WaitFlag of an event of the two pipes"
    assert not report.holds
    assert str(race) in str(report)


def test_a_flag_and_a_sum_that_are_wrong_are_refused_with_their_line():
    def is_set(s):
        return isinstance(s, SetFlag) and s.event == "MTE2_MTE1"

    report = changed(block((30, 60, 70), *TILES), is_set, lambda s: [s, s]).check()
    assert "SetFlag MTE2_MTE1 0 twice, with no WaitFlag between" in str(report.bounds[0])
    assert report.bounds[0].at_its_line.reason.fix == "write SetFlag and WaitFlag in turn"

    def shorter(s):
        i = s.instruction
        return [s._replace(instruction=dataclasses.replace(i, parameters={**i.parameters, "k": i.parameters["k"] - 1}))]

    report = changed(block((30, 60, 70), *TILES), lambda s: isinstance(s, Multiply), shorter).check()
    assert str(report.bounds[0]).partition(": ")[2].startswith("C[0, 0] is (A[:, 0:31]")

    def behind(s):
        return [s._replace(instruction=dataclasses.replace(s.instruction, dst=s.instruction.dst + 10**6))]

    report = changed(block((30, 60, 70), *TILES), lambda s: isinstance(s, Move), behind).check()
    assert "of L1, which has 524288" in str(report.bounds[0])
    assert not report.holds


def test_a_source_has_the_blocks_text_and_what_its_launch_needs():
    made = block((100, 70, 200), (64, 64, 64), (64, 64, 32), Ascend950, cores=3)
    for target, names in (
        ("ascendc", ("A_gm", "B_gm", "C_gm")),
        ("catlass", ("m", "n", "k", "a", "b", "c")),
        ("dsl", ("gm_a", "gm_b", "gm_c")),
    ):
        source = AscendKernel(made).source(target, name="mine")
        assert source.text == made.text(target, "mine")
        head = next(x for x in source.text.splitlines() if x.startswith(("def mine(", 'extern "C"')))
        assert [
            x.split()[-1].split(":")[0]
            for x in head.partition("mine(")[2].replace(": tla.Tensor", "").partition(")")[0].split(", ")
        ] == [*names]
        assert (source.parameters, source.grid, source.block, source.shared_bytes) == (names, (3,), 0, 0)
        assert dict(source.memories) == {"L1": 32768, "L0A": 8192, "L0B": 8192, "L0C": 16384}
    every = AscendKernel(block(dims("M N K"), *TILES, bias=True, cores=4)).source("ascendc")
    assert every.parameters == ("M", "N", "K", "A_gm", "B_gm", "C_gm", "bias_gm")
    assert [str(c) for c in every.conditions] == [
        str(c) for c in AscendKernel(block(dims("M N K"), *TILES, bias=True)).block.conditions
    ]
    conv = conv_block((1, 16, 1, 6, 6), (16, 1, 3, 3), (4, 4, 16), bias=True)
    assert AscendKernel(conv).source("ascendc").text == conv.text()
    assert AscendKernel(conv).source("ascendc").parameters == ("A_gm", "B_gm", "C_gm", "bias_gm")


def test_what_no_kernel_is_is_refused_and_the_fix_is_said():
    with pytest.raises(LeafTypeError, match="AscendKernel of int"):
        AscendKernel(3)
    k = AscendKernel(block((30, 60, 70), *TILES))
    assert repr(k) == "AscendKernel(MatmulBlock of (30,60,70), cores=1)"
    with pytest.raises(RankError, match=r"2 arrays of a kernel of \(a, b, c\)"):
        k.run(np.ones((30, 70)), np.ones((70, 60)))
    with pytest.raises(RangeError, match="one of ascendc, catlass, dsl"):
        k.source("cuda")
    with pytest.raises(LeafTypeError, match="a convolution in dsl"):
        AscendKernel(conv_block((1, 16, 1, 6, 6), (16, 1, 3, 3), (4, 4, 16))).source("dsl")
    with pytest.raises(RankError, match="equal extents"):
        k.run(np.ones((30, 70)), np.ones((70, 60)), np.zeros((60, 30), np.float16))
    with pytest.raises(RangeError, match="whole sums"):
        k.block.execute(np.ones((30, 70)), np.ones((70, 60)), before=np.zeros((30, 60)))

    @kernel(threads=4)
    def nothing():
        pass

    with pytest.raises(LeafTypeError, match="a kernel of threads in ascendc") as e:
        nothing.source("ascendc")
    assert e.value.reason.fix == "write AscendKernel(ascend.block(...)).source('ascendc')"


@pytest.mark.parametrize("core", [-1, 1, 7])
def test_a_core_that_there_is_not_is_refused(core):
    for made in (block((30, 60, 70), *TILES), conv_block((1, 16, 1, 6, 6), (16, 1, 3, 3), (4, 4, 16))):
        with pytest.raises(RangeError, match=f"check of core {core}"):
            made.check(core)


@pytest.mark.parametrize(("event", "memory"), some([("MTE2_MTE1", "L1"), ("MTE1_M", "L0A")], 2))
def test_a_race_of_a_block_of_any_size_is_a_value(event, memory):
    """Without a wait two pipes meet at a stage: which, where and in which direction is told, for all sizes."""
    made = block((40, 40, dim("K")), *TILES)

    def without(body):
        for s in body:
            if isinstance(s, (Loop, When, Part)):
                parts = {name: tuple(without(getattr(s, name))) for name in ("body", "otherwise") if hasattr(s, name)}
                yield s._replace(**parts)
            elif not (isinstance(s, WaitFlag) and s.event == event):
                yield s

    wrong = dataclasses.replace(made)
    changed = dataclasses.replace(made.program, body=tuple(without(made.program.body)))
    wrong.__dict__["_written"] = changed, made.conditions
    report = AscendKernel(wrong).check()
    race = next(r for r in report.races if r.memory == memory)
    first, then = event.split("_")
    assert (str(race.before).split()[0], str(race.after).split()[0]) == (first, then)
    assert (race.written, race.writes) == (True, False)
    assert not report.holds
    assert f"which the pipe {first}" in str(race)
