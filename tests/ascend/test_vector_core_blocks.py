"""Blocks whose result goes over the unified buffers of vector cores: against numpy, and with faults, each of which is
found."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from ascend_blocks import dropped, field, of, require_found, stated
from catlass_examples import available, built_side, places_of

from tla import LeafTypeError, RangeError, Unproven, dim, dims
from tla.ascend import (
    Ascend950,
    AtlasA2,
    BlockSchedulerAswt,
    ColumnMajor,
    SplitkGemmIdentityBlockSwizzle,
    block,
    float32,
    half,
    int8,
    int32,
    programs,
    zN,
)
from tla.ascend.programs.any_order import prove_order
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.trace import VECTOR_PIPES, events
from tla.ascend.transfers.steps import Loop

from night import amount, some

TILES = (64, 64, 64), (64, 64, 32)


def over(problem, split="SPLIT_M", tiles=TILES, arch=Ascend950, **more):
    return block(problem, *tiles, arch, **{"c": float32, "split": split, **more})


@pytest.mark.parametrize("seed", range(amount(4, 300)))
def test_what_comes_over_vector_cores_is_numpys(seed):
    rng = np.random.default_rng(seed)
    m, n, k = (int(x) for x in rng.integers(1, amount(80, 150), 3))
    split, bias = ("SPLIT_M", "SPLIT_N", "NO_SPLIT")[seed % 3], seed % 2 == 0
    kinds = {"a": int8, "b": int8, "c": int32} if seed % 5 == 0 else {"b": (half, ColumnMajor)}
    unit = split != "SPLIT_N" and seed % 4 == 1
    made = over((m, n, k), split, bias=bias, unit_flag=unit, cores=2, stages={"UB": 1 + seed % 2}, **kinds)
    x, y, z = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), rng.integers(-9, 9, n)
    np.testing.assert_array_equal(made.execute(x, y, z if bias else None), x @ y + (z if bias else 0))
    report = made.check()
    assert report.holds, str(report)


def test_the_example_of_catlass_in_its_own_tiles():
    """Example 46: a tile of 256 by 256 is 128 rows in each UB."""
    tiles = (256, 256, 128), (256, 256, 64)
    made = over((257, 40, 70), tiles=tiles, b=(half, ColumnMajor), unit_flag=True, swizzle=BlockSchedulerAswt)
    assert made.buffers["ub1C0"].size == 128 * 256 * 4
    assert made.check().holds
    assert [(w.pipe, w.path, w.bytes) for w in made.traffic][-1] == ("MTE3", "UB to GM", 257 * 40 * 4)
    with pytest.raises(RangeError, match="ub0C1 at bytes"):
        over((257, 40, 70), tiles=tiles, stages={"UB": 2})


#: Tiles of blocks of any size: by day the smallest in which k has two parts and halves of columns are whole fractals.
ANY_TILES = amount(((32, 32, 64), (32, 32, 32)), TILES)
#: Blocks of any size over vector cores.
ANY = {
    "SPLIT_M": {"stages": {"UB": 2, "L0C": 2}, "cores": 2, "b": (half, ColumnMajor)},
    "SPLIT_N": {"a": int8, "b": int8, "c": int32},
    "NO_SPLIT": {"c": half, "unit_flag": True, "relu": True, "bias": True},
}


@pytest.mark.parametrize("split", ANY)
def test_blocks_of_any_size_over_vector_cores(split):
    """Proved for all sizes; executed with tails, of one row and of few columns too, they are numpy's and issue what the
    block of each size does."""
    made = over(dims("M N K", at_most=2**29), split, ANY_TILES, **ANY[split])
    report = made.check()
    assert report.holds, str(report)
    assert len(report.proved) == 3
    rng = np.random.default_rng(4)
    for m, n, k in [(1, 33, 70), (65, 16, 5), *rng.integers(1, 150, (amount(2, 60), 3)).tolist()]:
        x, y, z = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), rng.integers(-9, 9, n)
        bias = z if made.plan.bias else None
        wanted = x @ y + (0 if bias is None else z)
        np.testing.assert_array_equal(made.execute(x, y, bias), np.maximum(wanted, 0) if made.plan.relu else wanted)
        known = made.at(M=m, N=n, K=k)
        for core, program in enumerate(known.programs):
            assert [*stated(*made.program_at(known, core))] == [*stated(program, {})]


def test_any_size_is_refused_where_a_tile_does_not_hold_what_fixpipe_moves():
    with pytest.raises(Unproven, match=r"in a stage of .* of l0C"):
        over(dims("M N K", at_most=2**29), "SPLIT_N", ((64, 48, 64), (64, 48, 32)))
    with pytest.raises(LeafTypeError, match="an even number of columns of 16"):
        over(dims("M N K", at_most=2**29), "SPLIT_N", unit_flag=True)
    whole = (*dims("M K", at_most=2**29), dim("N", at_most=2**29, multiple_of=32))
    assert over((whole[0], whole[2], whole[1]), "SPLIT_N", ANY_TILES, unit_flag=True).check().holds


def test_a_fault_between_cores_of_any_size_is_found():
    """A flag is left out, or an id is another one: no number of blocks and tiles hides it."""
    made = over(dims("M N K", at_most=2**29), **ANY["SPLIT_M"])
    loop = next(s for s in made.program.body if isinstance(s, Loop))
    flags = [s for s in loop.body if isinstance(s, (programs.SetFlag, programs.WaitFlag)) and "AIV" in s.event]
    assert len(flags) == 8
    for flag in flags:
        for changed in ([], [flag._replace(id=flag.id + 1)]):
            body = tuple(x for s in loop.body for x in ([s] if s is not flag else changed))
            wrong = replace(
                made.program, body=tuple(s._replace(body=body) if s is loop else s for s in made.program.body)
            )
            assert prove_order(wrong, [*made._kinds()], made._tiles()).findings, flag


# ------------------------------------------------------------------------------------------------------------- faults


def to_ub(s):
    return s.dst.startswith("ub")


def from_ub(s):
    return s.src.startswith("ub")


FAULTS = {
    "a vector core does not wait": (of(programs.WaitFlag, lambda s: s.event == "FIX_AIV0.MTE3"), 0, dropped),
    "the other vector core does not wait": (of(programs.WaitFlag, lambda s: s.event == "FIX_AIV1.MTE3"), 1, dropped),
    "Fixpipe does not wait": (of(programs.WaitFlag, lambda s: s.event == "AIV1.MTE3_FIX"), 1, dropped),
    "a flag is not set": (of(programs.SetFlag, lambda s: s.event == "FIX_AIV1.MTE3"), 0, dropped),
    "a flag has another id": (
        of(programs.SetFlag, lambda s: s.event == "AIV0.MTE3_FIX"),
        1,
        lambda s: [s._replace(id=7)],
    ),
    "a half is not moved": (of(programs.Move, from_ub), 1, dropped),
    "a row less of a half": (of(programs.Move, from_ub), 2, field("blockCount", -1)),
    "a half goes to one core": (of(programs.Move, to_ub), 0, field("dualDstCtl", -1)),
    "columns instead of rows": (of(programs.Move, to_ub), 0, field("dualDstCtl", 1)),
    "two rows less": (of(programs.Move, to_ub), 1, field("mSize", -2)),
    "other rows in UB": (of(programs.Move, to_ub), 0, field("dstStride", 8)),
    "the other half's place": (of(programs.Move, from_ub), 0, lambda s: [s._replace(src="ub1C0")]),
}


@pytest.mark.parametrize("fault", some(FAULTS, 2))
def test_a_fault_between_cores_is_found(fault):
    require_found(over((40, 100, 50)), *FAULTS[fault])


def test_what_no_core_does_is_refused():
    for match, problem, more in (
        ("None, or one of NO_SPLIT, SPLIT_M, SPLIT_N", (32, 32, 32), {"split": "SPLIT_K"}),
        ("None, or one of", (32, 32, 32), {"split": True}),
        ("on Ascend950", (32, 32, 32), {"arch": AtlasA2}),
        ("C of RowMajor", (32, 32, 32), {"c": (float32, zN)}),
        ("c=float: nothing is converted", (32, 32, 32), {"c": half}),
        ("whole sums", (64, 64, 512), {"splitkFactor": 2, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0]}),
        ("an even number of columns of 16", (64, 40, 64), {"split": "SPLIT_N", "unit_flag": True}),
        ("of L1, L0A, L0B, L0C, UB", (32, 32, 32), {"stages": {"ub": 2}}),
        ("of L1, L0A, L0B, L0C\n", (32, 32, 32), {"split": None, "stages": {"UB": 2}}),
    ):
        with pytest.raises(LeafTypeError, match=match):
            over(problem, **more)
    with pytest.raises(RangeError, match="at most 2: the ids of flags"):
        over((32, 32, 32), stages={"UB": 3})
    for language in ("catlass", "dsl"):
        with pytest.raises(LeafTypeError, match="over unified buffers"):
            over((32, 32, 32)).text(language)
    assert over((32, 32, 32), "NO_SPLIT", c=half).check().holds


@pytest.mark.parametrize("n", amount([17], range(1, 65)))
def test_unit_flags_of_a_c_of_bytes_ask_for_whole_32_columns(n):
    """A row of UB is whole 32 bytes, so Fixpipe takes columns of 16 in pairs; of one that no Mmad makes it would wait."""
    told = {"split": "NO_SPLIT", "c": int8, "quant": "PER_TENSOR", "scale": 0.5, "unit_flag": True}
    sizes = (20, n, 64)
    if -(-n // 16) % 2:
        with pytest.raises(LeafTypeError, match="an even number of columns of 16"):
            over(sizes, **told)
    else:
        assert over(sizes, **told).check().holds
    assert over(sizes, **{**told, "unit_flag": False}).check().holds
    assert over(sizes, **{**told, "c": half, "quant": "NO_QUANT", "scale": None}).check().holds


# --------------------------------------------------------------------------------------------------------------- text


def test_each_side_has_its_own_flags():
    lines = [line.strip() for line in over((64, 64, 64)).text().splitlines()]
    aic, first, second = (
        lines.index(x) for x in ("if ASCEND_IS_AIC {", *(f"if (AscendC::GetSubBlockIdx() == {i}) {{" for i in (0, 1)))
    )
    between = [
        [x[9:] for x in lines[a:b] if "CrossCore" in x] for a, b in ((aic, first), (first, second), (second, None))
    ]
    ends = ["CrossCoreWaitFlag<4, PIPE_FIX>(6);", "CrossCoreWaitFlag<4, PIPE_FIX>(22);"]
    full = ["CrossCoreSetFlag<4, PIPE_FIX>(8);", "CrossCoreSetFlag<4, PIPE_FIX>(24);"]
    assert between[0] == [*ends, *full, *ends]
    set_, wait = "CrossCoreSetFlag<4, PIPE_MTE3>(6);", "CrossCoreWaitFlag<4, PIPE_MTE3>(8);"
    assert between[1] == between[2] == [set_, wait, set_]


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("sizes", [(), (70, 90, 100)], ids=["known", "any size"])
def test_the_text_compiles_and_moves_what_the_program_does(sizes, tmp_path):
    made = over((70, 90, 100), unit_flag=True)
    call, written = ", ".join(places_of(made.tensors.values())), made
    if sizes:
        written = over(dims("M N K", at_most=2**29), unit_flag=True)
        call = f"{', '.join(map(str, sizes))}, {call}"
    for side, mine in (("AIC", None), ("AIV", "AIV0")):
        program = built_side(written.text(), "Ascend950", tmp_path, side, f"kernel_main({call});")
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        body = read_log(lines.splitlines(), Ascend950, made.tensors.values()).body
        logged = [
            (s.instruction.name, s.instruction.dst, s.instruction.src) for s in body if isinstance(s, programs.Move)
        ]
        wanted = [e.statement for e in events(made.programs[0]) if isinstance(e.statement, programs.Move)]
        own = [s for s in wanted if (s.src in ("ub0C0",) if mine else not s.src.startswith("ub"))]
        at = {name: b.address * 8 // b.element.bits for name, b in made.buffers.items()}
        assert logged == [
            (s.instruction.name, s.instruction.dst + at.get(s.dst, 0), s.instruction.src + at.get(s.src, 0))
            for s in own
        ]
    assert {pipe.split(".")[0] for pipe in VECTOR_PIPES} == {"AIV0", "AIV1"}
