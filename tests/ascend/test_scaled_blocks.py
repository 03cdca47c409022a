"""Blocks of MX types: against numpy with scales by hand, and with faults at scales and zeros, each of which is found."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from ascend_blocks import stated

from tla import LeafTypeError, MakeLayout, MakeTensor, RangeError, dim, dims
from tla.ascend import (
    L0C,
    Ascend950,
    BlockSchedulerAswt,
    ColumnMajor,
    GemmGroupedAswtTailSplitSwizzle,
    GemmIdentityBlockSwizzle,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    bf16,
    block,
    float32,
    fp4_e1m2,
    fp4_e2m1,
    fp8_e4m3,
    fp8_e5m2,
    half,
    mmad,
    nZ,
    programs,
    zN,
)
from tla.ascend.programs.check import check_program
from tla.ascend.programs.trace import events
from tla.ascend.transfers.steps import Loop, When
from tla.core.errors import TlaError

from night import amount, some

TILES = (64, 64, 128), (64, 64, 64)
PAIRS = [(fp8_e4m3, fp8_e4m3), (fp8_e5m2, fp8_e4m3), (fp4_e2m1, fp4_e2m1), (fp4_e1m2, fp4_e2m1)]


def scaled(problem, a=fp8_e4m3, b=fp8_e4m3, tiles=TILES, **more):
    return block(problem, *tiles, Ascend950, a=a, b=b, **{"c": float32, "scales": True, **more})


def numbers(rng, problem):
    m, n, k = problem
    q = -(-k // 32)
    x, y = rng.integers(-3, 4, (m, k)) / 2, rng.integers(-3, 4, (k, n)) / 2
    s, t = 2.0 ** rng.integers(-3, 4, (m, q)), 2.0 ** rng.integers(-3, 4, (q, n))
    return (x, y), (s, t), (x * s.repeat(32, 1)[:, :k]) @ (y * t.repeat(32, 0)[:k])


@pytest.mark.parametrize("seed", range(amount(4, 200)))
def test_products_of_mx_types_are_numpys_with_every_tail(seed):
    rng = np.random.default_rng(seed)
    a, b = PAIRS[seed % 4]
    m, n, k = (int(x) for x in rng.integers(1, amount(90, 180), 3))
    k += k % 2 if a.bits == 4 else 0
    tags = [(RowMajor, ColumnMajor)[i] for i in rng.integers(0, 2, 2)]
    bias = rng.integers(-9, 9, n) if seed % 3 == 0 else None
    made = scaled((m, n, k), (a, tags[0]), (b, tags[1]), bias=bias is not None, cores=2, unit_flag=seed % 2 == 0)
    assert made.check().holds, str(made.check())
    (x, y), scales, wanted = numbers(rng, (m, n, k))
    np.testing.assert_array_equal(made.execute(x, y, bias, scales), wanted + (0 if bias is None else bias))


@pytest.mark.parametrize(
    "more",
    [
        {"swizzle": SplitkGemmIdentityBlockSwizzle[3, 0], "splitkFactor": 2},
        {"swizzle": BlockSchedulerAswt},
        {"swizzle": GemmIdentityBlockSwizzle[3, 1], "stages": {"L1": 3, "L0A": 3, "L0B": 2, "L0C": 2}},
        {"stages": 1},
    ],
)
def test_swizzles_and_stages(more):
    made = scaled((70, 40, 140), b=(fp8_e5m2, ColumnMajor), cores=2, **more)
    assert made.check().holds
    (x, y), scales, wanted = numbers(np.random.default_rng(5), (70, 40, 140))
    np.testing.assert_array_equal(made.execute(x, y, scales=scales), wanted)


@pytest.mark.parametrize("tag", [RowMajor, ColumnMajor])
def test_scales_that_are_lost_or_lie_elsewhere_are_found_and_so_are_zeros(tag):
    made = scaled((20, 20, 100), (fp8_e4m3, tag), (fp8_e4m3, tag))
    program, results = made.programs[0], [made.result(made.schedule.table[0])]
    body = [e.statement for e in events(program)]

    def holds(changed):
        return check_program(replace(program, body=tuple(changed)), results).holds

    assert holds(body)
    places = [i for i, s in enumerate(body) if isinstance(s, programs.Fill) or "cale" in getattr(s, "src", "")]
    assert {type(body[i]) for i in places} == {programs.Fill, programs.Move}
    for i in some(places, 5):
        assert not holds(body[:i] + body[i + 1 :]), body[i]
        s = body[i]
        if isinstance(s, programs.Move):
            for side in ("dst", "src"):
                there = replace(s.instruction, **{side: getattr(s.instruction, side) + 32})
                assert not holds([*body[:i], s._replace(instruction=there), *body[i + 1 :]]), (s, side)
        else:
            for name in ("repeatTimes", "blockNum"):
                fewer = s._replace(parameters={**s.parameters, name: s.parameters[name] - 1})
                assert not holds([*body[:i], fewer, *body[i + 1 :]]), (s, name)


#: Blocks of any size: a pair of types, the tags of A and B, and what they have besides.
ANY = [
    (PAIRS[i], tags, more)
    for i, more in enumerate(({"cores": 2}, {"bias": True, "stages": 1}, {"unit_flag": True}, {"stages": {"L0C": 2}}))
    for tags in itertools.product((RowMajor, ColumnMajor), repeat=2)
]


def of_any_size(kinds, tags, more):
    m, n, k = dims("M N K", at_most=2**29)
    k = dim("K", at_most=2**29, multiple_of=2) if kinds[0].bits == 4 else k
    return scaled((m, n, k), (kinds[0], tags[0]), (kinds[1], tags[1]), **more)


def placed(program, values):
    """What a program issues; of a load of scales the places alone, as one line of them lies in rows and in columns."""
    for x in stated(program, values):
        yield x[1:3] if x[0] in ("Nd2Nz", "Dn2Nz") and x[2][0].startswith("scale") else x


@pytest.mark.parametrize(("kinds", "tags", "more"), some(ANY, 5))
def test_blocks_of_any_size_issue_what_those_of_each_size_do(kinds, tags, more):
    made, rng = of_any_size(kinds, tags, more), np.random.default_rng(8)
    for m, n, k in [(1, 1, 2), (64, 65, 192), *rng.integers(1, 200, (amount(2, 40), 3)).tolist()]:
        k += k % 2 if kinds[0].bits == 4 else 0
        known = made.at(M=m, N=n, K=k)
        for core, program in enumerate(known.programs):
            ours, theirs = ([*placed(p, values)] for p, values in (made.program_at(known, core), (program, {})))
            assert ours == theirs, (m, n, k)
        (x, y), scales, wanted = numbers(rng, (m, n, k))
        bias = rng.integers(-9, 9, n) if made.plan.bias else None
        np.testing.assert_array_equal(made.execute(x, y, bias, scales=scales), wanted + (0 if bias is None else bias))


@pytest.mark.parametrize(("kinds", "tags", "more"), amount(ANY[1:2], ANY))
def test_blocks_of_any_size_are_proved(kinds, tags, more):
    report = of_any_size(kinds, tags, more).check()
    assert report.holds, str(report)
    assert len(report.proved) == 3


def test_what_a_block_of_any_size_has_no_scales_for_is_refused():
    with pytest.raises(RangeError, match=r'write dim\("K", multiple_of=2\)'):
        scaled(dims("M N K"), (PAIRS[2][0], RowMajor), (PAIRS[2][1], RowMajor))
    made = of_any_size(*ANY[0])
    with pytest.raises(RangeError, match="no scales for a block with them"):
        made.execute(np.ones((20, 64)), np.ones((64, 20)))
    with pytest.raises(LeafTypeError, match="a block with scales in CATLASS's DSL"):
        made.text("dsl")


#: What multiplies in CATLASS's examples of MX types, in tiles of their own: A, B, C, tiles, and what else. Of 59 and 74
#: vector cores make the fp8 of B before, in columns here.
EXAMPLES = {
    "55_mx_grouped_matmul_slice_m": (
        fp8_e4m3,
        bf16,
        (256, 256, 256),
        {"swizzle": GemmGroupedAswtTailSplitSwizzle[4, False, True]},
    ),
    "58_fp8_mx_batch_matmul": (
        fp8_e4m3,
        bf16,
        (256, 256, 256),
        {"unit_flag": True, "swizzle": GemmIdentityBlockSwizzle[3, 1]},
    ),
    "59_a8w4_mx_matmul": (fp8_e4m3, float32, (128, 128, 128), {}),
    "61_svd_quant_matmul": (fp4_e2m1, bf16, (256, 256, 256), {"unit_flag": True}),
    "74_weight_quant_a8w4_grouped_mx_matmul": (fp8_e4m3, half, (256, 256, 256), {}),
}


@pytest.mark.parametrize("name", some(EXAMPLES, 2))
def test_examples_of_mx_types_are_blocks(name):
    element, c, (m, n, k), more = EXAMPLES[name]
    tiles = (m, n, k), (m, n, min(k, 128))
    made = scaled((m + 44, n - 20, k + 64), element, (element, ColumnMajor), tiles, c=c, cores=2, **more)
    assert made.check(0).holds
    assert "load_cbuf_to_ca_mx" in made.text()
    small = scaled((70, 90, 140), element, (element, ColumnMajor), c=c, cores=2, **more)
    (x, y), scales, wanted = numbers(np.random.default_rng(3), (70, 90, 140))
    within = {"bf16": 2**-8, "half": 2**-11, "float": 0}[c.name]
    np.testing.assert_allclose(small.execute(x, y, scales=scales), wanted, rtol=within)


def test_a_fault_beside_a_block_of_any_size_is_found():
    """Scales of another tile, of another stage, and zeros that are left out."""
    made = of_any_size(*ANY[0])

    def changed(body, change):
        for s in body:
            if isinstance(s, (Loop, When, programs.Part)):
                s = s._replace(body=tuple(changed(s.body, change)))
            yield from change(s)

    changes = (
        lambda s: [] if isinstance(s, When) and any(isinstance(x, programs.Fill) for x in s.body) else [s],
        lambda s: (
            [s._replace(value=s.value * 0 + 1)]
            if isinstance(s, programs.Assign) and str(s.variable) == "fillPairs"
            else [s]
        ),
        lambda s: (
            [s._replace(instruction=replace(s.instruction, src=s.instruction.src * 0))]
            if isinstance(s, programs.Move) and s.src == "scaleA"
            else [s]
        ),
        lambda s: (
            [s._replace(instruction=replace(s.instruction, dst=s.instruction.dst * 0))]
            if isinstance(s, programs.Move) and s.dst == "l0AMx"
            else [s]
        ),
    )
    known = made.at(M=70, N=30, K=300)
    program, values = made.program_at(known, 0)
    for change in (lambda s: [s], *changes):
        broken = replace(program, body=tuple(changed(program.body, change)))
        report = check_program(broken, [known.result(known.schedule.table[0])], values)
        assert report.holds == (change not in changes), str(report)


def test_scales_of_the_other_stage_are_found():
    """The hardware takes those at a sixteenth of the operand's address, whatever they were meant for."""
    made = scaled((20, 40, 300))
    program = made.programs[0]
    b = program.buffers["l0AMx1"]
    moved = replace(program, buffers={**program.buffers, "l0AMx1": replace(b, address=b.address + 32)})
    report = check_program(moved, [made.result(made.schedule.table[0])])
    assert {f.kind for f in report.findings} >= {"value"}


@pytest.mark.parametrize(
    ("given", "message", "mended"),
    [
        ({"a": half, "b": half}, "scales of A: half", {}),
        ({"a": (fp8_e4m3, zN)}, "of the tag zN", {"a": (fp8_e4m3, RowMajor)}),
        ({"b": (fp8_e4m3, nZ)}, r"write b=\(fp8_e4m3, RowMajor\)", {"b": (fp8_e4m3, RowMajor)}),
        ({"tiles": ((64, 64, 96), (64, 64, 96))}, "take 128 and 128", {"tiles": ((64, 64, 128), (64, 64, 128))}),
        ({"problem": (20, 20, 33), "a": fp4_e2m1, "b": fp4_e2m1}, "with k = 34", {"problem": (20, 20, 34), "a": fp4_e2m1, "b": fp4_e2m1}),
        ({"scales": (1, 2)}, "give scales to execute", {}),
    ],
)  # fmt: skip
def test_what_has_no_scales_is_refused_and_the_fix_works(given, message, mended):
    with pytest.raises(TlaError, match=message):
        scaled(**{"problem": (20, 20, 40), **given})
    assert scaled(**{"problem": (20, 20, 40), **mended}).check().holds


def test_other_architectures_are_refused():
    with pytest.raises(LeafTypeError, match="on AtlasA2"):
        block((20, 20, 40), *TILES, a=fp8_e4m3, b=fp8_e4m3, scales=True)


def test_the_texts_move_scales_beside_their_operands():
    made = scaled((20, 20, 40))
    lines = [line.strip() for line in made.text().splitlines()]
    beside = "load_cbuf_to_c{}_mx(l0{}Mx0 + 0, (__cbuf__ void *)(l1Scale{}0[0].GetPhyAddr()), 0, 0, 2, 1, 2, 1);"
    assert [x for x in lines if x.startswith("load_")] == [beside.format(x.lower(), x, x) for x in "AB"]
    assert "using Policy = Gemm::MmadMx<ArchTag, false, 1>;" in made.text("catlass").splitlines()


def test_what_a_negative_number_leaves_is_not_negative_in_c():
    """The zeros behind k of fp4 in columns: (-k) % 64 blocks, which in C would be none or fewer."""
    text = of_any_size((fp4_e2m1, fp4_e2m1), (ColumnMajor, RowMajor), {}).text()
    assert "p.blockNum = (64 - fillK%64)%64;" in text
    assert "(-" not in text


def test_scales_of_other_sizes_and_numbers_are_refused():
    made, (x, y) = scaled((20, 30, 40)), (np.ones((20, 40)), np.ones((40, 30)))
    ones = np.ones((20, 2)), np.ones((2, 30))
    assert (made.execute(x, y, scales=ones) == 40).all()
    for scales, message in (
        (None, "no scales"),
        ((ones[1], ones[0]), r"scaleA of the shape \(2, 30\)"),
        ((ones[0], np.zeros((2, 30))), "scaleB: 0"),
        ((ones[0], -ones[1]), "scaleB: -1"),
        (ones[:1], "a pair"),
    ):
        with pytest.raises(RangeError, match=message):
            made.execute(x, y, scales=scales)
    plain = block((20, 30, 40), *TILES)
    with pytest.raises(RangeError, match="scales for a block without"):
        plain.execute(x, y, scales=ones)


def test_a_mmad_takes_whole_pairs_of_scales():
    def operands(k, element):
        layouts = MakeLayout[element, zN](20, k), MakeLayout[element, nZ](k, 30), L0C(20, 30).layout
        return [MakeTensor(None, x, position=p) for x, p in zip(layouts, ("L0A", "L0B", "L0C"))]

    with pytest.raises(RangeError, match="fill up to 128"):
        mmad(*operands(96, fp8_e4m3), Ascend950, element=fp8_e4m3, scaled=True)
    made = mmad(*operands(128, fp8_e4m3), Ascend950, element=fp8_e4m3, scaled=True)
    a, b = made.scales
    # blocks of 16 rows by 2 scales, 32 bytes each, two of them along k: row 17 is the second of the second row of blocks
    assert a(17, 3) == b(3, 17) == 64 + 32 + 2 + 1
    with pytest.raises(LeafTypeError, match="without scales"):
        mmad(*operands(128, fp4_e2m1), Ascend950, element=fp4_e2m1)


def test_numbers_are_rounded_to_their_type_or_refused():
    """What fp8 and fp4 do not hold is no number that a kernel multiplies."""
    a, scales = np.full((16, 64), 1.3), (np.ones((16, 2)), np.ones((2, 16)))
    for (left, right), x, y in zip(PAIRS, (1.25, 1.25, 1.5, 1.25), (1.25, 1.25, 1.5, 1.5)):
        made = scaled((16, 16, 64), left, right)
        assert (made.execute(a, a.T, scales=scales) == 64 * x * y).all(), (left, right)
        for wrong in (1e9, -1e9, *[np.nan] * (left.bits == 4)):
            with pytest.raises(RangeError, match="A: "):
                made.execute(np.full((16, 64), wrong), a.T, scales=scales)
