"""Blocks of matrix products: proved, executed against numpy for the examples of CATLASS, and equal to what
its kernels issue."""

import json
import random
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from ascend_blocks import EXAMPLES, equal_to_numpy, example, problem_of
from catlass_logs import ELEMENTS, LOGS, tensors_of

from tla import GetTile, MakeLayout, MakeTensor, ascend, dims
from tla.ascend import (
    L0C,
    Ascend950,
    AtlasA2,
    Buffer,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    RowMajor,
    block,
    float32,
    half,
    int4b,
    int8,
    int32,
    nZ,
    zN,
    zZ,
)
from tla.ascend.programs import Move, Multiply, Program, SetAtomic, SetFlag, memory
from tla.ascend.programs.check import check_program
from tla.ascend.programs.memory import Memories
from tla.ascend.programs.mmad import _require_aligned
from tla.ascend.programs.values import Values
from tla.core.errors import LeafTypeError, RangeError, TlaError

from night import amount, some

TILES = (32, 64, 64), (32, 64, 32)


@pytest.mark.parametrize("name", some(EXAMPLES, 2))
def test_executed_with_tails_it_is_numpys_product(name):
    wrong = [p for seed in range(amount(1, 200)) if (p := equal_to_numpy(name, seed))]
    assert not wrong


@pytest.mark.parametrize("name", some(EXAMPLES, 3))
def test_every_element_is_its_sum_in_every_order_that_flags_allow(name):
    for seed in range(amount(1, 20)):
        made = example(name, problem_of(np.random.default_rng(seed)))
        report = made.check()
        assert report.holds, (made.problem, str(report))


@pytest.mark.once
def test_the_tiles_of_the_examples_themselves():
    for name in some(EXAMPLES, 14):
        report = example(name, (150, 300, 520), small=False).check()
        assert report.holds, (name, str(report))


def test_buffers_lie_side_by_side_and_never_over_one_another():
    made = block((150, 300, 520), (128, 256, 256), (128, 256, 64), bias=True, c=float32)
    found = [(b.name, b.position, b.address, b.end) for b in made.buffers.values()]
    assert found[:5] == [
        ("l1A0", "L1", 0, 65536),
        ("l1A1", "L1", 65536, 131072),
        ("l1B0", "L1", 131072, 262144),
        ("l1B1", "L1", 262144, 393216),
        ("l1Bias", "L1", 393216, 394240),
    ]
    for name, place, begin, end in found:
        assert end <= AtlasA2.sizes[place]
        assert all(p != place or e <= begin or b >= end for n, p, b, e in found if n != name)


#: Accumulators of int32, scaled to half.
TO_HALF = {"a": int8, "b": (int8, ColumnMajor), "c": half, "quant": "PER_TENSOR"}


@pytest.mark.parametrize(
    ("given", "message", "mended"),
    [
        (
            {"l1": (128, 256, 512), "l0": (128, 256, 64)},
            "l1B1 at bytes 524288 to 786431 of L1",
            {"l1": (128, 256, 256), "l0": (128, 256, 64)},
        ),
        ({"l1": (32, 64, 64), "l0": (32, 32, 32)}, "the same m and n", {"l1": (32, 64, 64), "l0": (32, 64, 64)}),
        ({"l1": (32, 40, 64), "l0": (32, 40, 32)}, "multiples of 16", {"l1": (32, 48, 64), "l0": (32, 48, 32)}),
        (
            {"a": int8, "b": int8, "c": int32, "l1": (32, 48, 64), "l0": (32, 48, 32)},
            "multiples of 32",
            {"a": int8, "b": int8, "c": int32},
        ),
        ({"a": (half, zZ)}, "a of the tag zZ", {"a": (half, RowMajor)}),
        ({"l1": (-32, 64, 64)}, "the l1 of a block: (-32,64,64)", {"l1": (32, 64, 64)}),
        ({"problem": (40, 0, 70)}, "the problem of a block: (40,0,70)", {"problem": (40, 1, 70)}),
        ({"bias": np.ones(50)}, "of a block, of type ndarray", {"bias": True, "c": float32}),
        ({"unit_flag": "x"}, "unit_flag='x' of a block, of type str", {"unit_flag": True}),
        ({"relu": 1}, "relu=1 of a block, of type int", {"relu": True}),
        ({"swizzle": "x"}, "a block dealt by 'x'", {"swizzle": ascend.GemmIdentityBlockSwizzle[3, 0]}),
        (
            {"swizzle": ascend.EpilogueIdentityTileSwizzle},
            "a block dealt by EpilogueIdentityTileSwizzle",
            {"swizzle": ascend.BlockSchedulerIterateK},
        ),
        ({"cores": 10**9}, "1000000000 cores", {"cores": 10}),
        ({**TO_HALF, "scale": None}, "scale=None with quant='PER_TENSOR'", {**TO_HALF, "scale": 0.5}),
        ({**TO_HALF, "scale": float("nan")}, "scale=nan with", {**TO_HALF, "scale": 0.25}),
        ({**TO_HALF, "scale": "x"}, "scale='x' with", {**TO_HALF, "scale": -2}),
        (
            {**TO_HALF, "quant": "PER_CHANNEL", "scale": 0.5},
            "scale=0.5 with quant='PER_CHANNEL'",
            {**TO_HALF, "quant": "PER_CHANNEL"},
        ),
        ({"scale": 0.5}, "scale=0.5 with quant='NO_QUANT'", {}),
        ({"scale": 0.5, "quant": "PER_TENSOR"}, "F322F16, which scales nothing", {}),
        ({**TO_HALF, "quant": "NO_QUANT"}, "Fixpipe of int32 to half", {**TO_HALF, "scale": 0.5}),
        ({"c": (half, ColumnMajor)}, "c of the tag ColumnMajor", {"c": (half, RowMajor)}),
        ({"a": "half"}, "for an element type", {"a": half}),
        ({"a": int8}, "a Mmad of int8 by half", {"a": half}),
        ({"stages": 9}, "at most 8 events", {"stages": 2}),
        ({"stages": {"L1": 0}}, "1 or more", {"stages": {"L1": 1}}),
        ({"stages": {"l1": 2}}, "stages of l1", {"stages": {"L1": 2}}),
        ({"unit_flag": True, "stages": {"L0C": 2}}, "one of L0C with unit_flag", {"unit_flag": True}),
        (
            {"a": (half, MakeLayout[half, RowMajor](40, 60))},
            "a of (40,60)",
            {"a": (half, MakeLayout[half, RowMajor](40, 70, ld=80))},
        ),
        (
            {"splitkFactor": 2, "swizzle": ascend.SplitkGemmIdentityBlockSwizzle},
            "slices of k with c=half",
            {"splitkFactor": 2, "swizzle": ascend.SplitkGemmIdentityBlockSwizzle, "c": float32},
        ),
    ],
)
def test_what_no_block_can_be_is_refused_and_the_fix_works(given, message, mended):
    with pytest.raises(TlaError, match=message.replace("(", r"\(").replace(")", r"\)")):
        make(**given)
    assert make(**mended).check().holds


def make(l1=TILES[0], l0=TILES[1], problem=(40, 50, 70), **more):
    return block(problem, l1, l0, **more)


#: Swizzles that cut k of a problem, whose slices are added in C; and what a sum of slices is not.
CUTS = {
    "splitk": {"swizzle": ascend.SplitkGemmIdentityBlockSwizzle[3, 0], "splitkFactor": 3},
    "single core": {"swizzle": ascend.SingleCoreSplitkGemmIdentityBlockSwizzle[20, 0], "cores": 2},
    "tail": {"swizzle": ascend.TailSplitkGemmIdentityBlockSwizzle[3, 0], "cores": 4},
    "streamk": {"swizzle": ascend.StreamkGemmIdentityBlockSwizzle[3, 0], "cores": 20},
}
NO_SUMS = {
    "relu=True": {"relu": True},
    "biases": {"bias": True},
    "c=half": {"c": half},
    "c=int8": {"a": int8, "b": (int8, ColumnMajor), "c": int8, "quant": "PER_TENSOR", "scale": 0.5},
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("what", NO_SUMS)
def test_slices_whose_sum_is_not_the_result_are_refused(cut, what):
    """Biases come with each slice, each is cut off at 0, each is rounded: what is added so is another matrix."""
    given = {"c": float32, "problem": (70, 130, 300), **CUTS[cut]}
    with pytest.raises(LeafTypeError, match=f"slices of k with {what}"):
        make(**{**given, **NO_SUMS[what]})
    assert make(**given).plan.adds
    assert not make(
        **{**given, **NO_SUMS[what], "swizzle": GemmIdentityBlockSwizzle[3, 0], "splitkFactor": 1}
    ).plan.adds


def test_arrays_of_other_sizes_and_values_are_refused():
    made = make(a=int8, b=int8, c=int32)
    x, y = np.ones((40, 70)), np.ones((70, 50))
    with pytest.raises(RangeError, match="A of the shape"):
        made.execute(y, x)
    with pytest.raises(TlaError, match="300"):
        made.execute(x * 300, y)
    with pytest.raises(RangeError, match="biases for a block without them"):
        made.execute(x, y, np.ones(50))
    with pytest.raises(RangeError, match="no biases for a block with them"):
        make(bias=True).execute(x, y)


@pytest.mark.parametrize(
    "given", [[[1], [1, 2]], np.ones((30, 50)) * 1j, np.ones((30, 50), object), np.ma.ones((30, 50)), [["a"] * 50] * 30]
)
def test_what_is_no_array_of_real_numbers_is_refused(given):
    for made in (block((30, 40, 50), *TILES), block(dims("M N K"), *TILES)):
        with pytest.raises(LeafTypeError, match="A"):
            made.execute(given, np.ones((50, 40)))


@pytest.mark.parametrize("element", [half, ascend.bf16], ids=str)
def test_numbers_are_those_of_their_types(element):
    """Floats are rounded on the way in and out, of bf16 too."""
    dtype = np.float16 if element == half else pytest.importorskip("ml_dtypes").bfloat16
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 70)), rng.normal(size=(70, 50))
    a, b = (v.astype(np.float32).astype(dtype).astype(float) for v in (x, y))
    wanted = (a @ b).astype(np.float32)
    np.testing.assert_allclose(make(a=element, b=element, c=float32).execute(x, y), wanted, rtol=1e-6)
    found = make(a=element, b=element, c=element).execute(x, y)
    np.testing.assert_array_equal(np.asarray(found, float), wanted.astype(dtype).astype(float))


def test_numbers_that_a_type_has_not_are_refused():
    """Floats past the largest; fractions are no integers."""
    rng = np.random.default_rng(4)
    x, y = rng.normal(size=(40, 70)), rng.normal(size=(70, 50))
    big = np.full((40, 70), 1e39)
    with pytest.raises(RangeError, match="A: 1e\\+39 as bf16"):
        make(a=ascend.bf16, b=ascend.bf16, c=float32).execute(big, y)
    for a, b, what in ((x, y, "A: "), (np.ones((40, 70)), y, "B: ")):
        with pytest.raises(RangeError, match=f"{what}.* as int8\n +expected +whole numbers"):
            make(a=int8, b=int8, c=int32).execute(a, b)


@pytest.mark.parametrize("swizzle", [ascend.BlockSchedulerAswt, ascend.ColumnBlockSwizzle])
def test_blocks_begin_at_whole_fractals_or_are_refused(swizzle):
    """These swizzles cut what is left of columns, or of blocks, anywhere: rows can be read from there, fractals not."""
    given = {"swizzle": swizzle, "cores": 7, "arch": Ascend950, "problem": (7, 33, 33)}
    assert make(**given).check().holds
    for more, what in (
        ({"b": (half, ascend.zN)}, "b=(half, RowMajor)"),
        ({"c": (half, ascend.zN)}, "c=(half, RowMajor)"),
        ({"a": (half, nZ), "swizzle": ascend.BlockSchedulerAswt}, "a=(half, RowMajor)"),
    ):
        with pytest.raises(LeafTypeError, match="blocks that begin at") as refused:
            make(**{**given, **more})
        assert what in str(refused.value)
        assert make(**{**given, **more, what[0]: (half, RowMajor)}).check().holds


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"bias": True, "c": float32}, "biases with BlockSchedulerAswt"),
        ({"quant": "PER_CHANNEL", "c": float32}, "quant='PER_CHANNEL' with BlockSchedulerAswt"),
    ],
)
def test_vectors_of_columns_begin_at_whole_32_bytes(more, what):
    """From an odd column on the last 32 bytes would end behind the vector."""
    given = {"swizzle": ascend.BlockSchedulerAswt, "cores": 7, "arch": Ascend950, "problem": (7, 33, 33), **more}
    with pytest.raises(LeafTypeError, match=f"{what}, which has blocks that begin at column 11\n.*multiples of"):
        make(**given)
    assert make(**{**given, "swizzle": GemmIdentityBlockSwizzle[3, 0]}).check().holds
    assert make(**{**given, "cores": 2, "problem": (7, 64, 33)}).check().holds


@pytest.mark.once
def test_words_of_a_transposed_a_run_at_every_tail_of_k():
    """On AtlasA2 Mmad reads k in whole 16 there, told kDirectionAlign: findings R1."""
    rng = np.random.default_rng(1)
    for k in (*range(1, 34), 325, 328, 330, 336):
        made = block((20, 33, k), (32, 64, 64), (32, 64, 32), a=(float32, ColumnMajor), b=float32, c=float32)
        x, y = rng.integers(-3, 4, (20, k)), rng.integers(-3, 4, (k, 33))
        np.testing.assert_array_equal(made.execute(x, y), x @ y)
        told = {s.instruction.parameters["kDirectionAlign"] for s in made.programs[0].body if isinstance(s, Multiply)}
        assert told <= {0, 1}
        assert 1 in told or k % 16 in (0, *range(9, 16))


def test_a_core_without_blocks_does_nothing():
    made = block((20, 20, 20), *TILES, cores=3)
    assert [any(isinstance(s, Multiply) for s in p.body) for p in made.programs] == [True, False, False]
    assert made.check().holds
    assert made.check(2).holds


# ------------------------------------------------------------------------------------------------------- CATLASS's own


def same_calls(log, made):
    """The calls of a log and those of a block, as far as they can be compared: what is called, where, and
    by which fields."""
    from tla.ascend.programs.logs import read_log

    buffers = [Buffer(n, "GM", e, layout, at) for n, (at, e, layout) in tensors_of(log).items()]
    return calls(read_log(log["lines"], log["arch"], buffers)), calls(made.programs[0])


#: Fields that change nothing here: of one matrix, and those that a host's stub has besides.
IDLE = {"unitFlag", "startIndex", "sid", "addrMode", "ndNum", "srcNdStride", "dstNdStride"}


def calls(program):
    from tla.ascend.programs.trace import events

    def place(name, at, bits):
        b = program.buffers[name]
        return (name, at * bits) if b.position == "GM" else (b.position, b.address * 8 + at * bits)

    for e in events(program):
        s, i = e.statement, getattr(e.statement, "instruction", None)
        if isinstance(s, Multiply):
            widths = [x.bits for x in i.elements]
            ends = [place(n, at, bits) for n, at, bits in zip((s.dst, s.a, s.b), (i.dst, i.a, i.b), widths)]
            yield "Mmad", *ends, tuple(sorted(i.parameters.items()))
        elif i is not None:
            wide = [32 if program.buffers[n].position in ("L0C", "Bias") else i.element.bits for n in (s.dst, s.src)]
            fields = tuple(sorted((k, v) for k, v in i.parameters.items() if k not in IDLE))
            yield i.name, place(s.dst, i.dst, wide[0]), place(s.src, i.src, wide[1]), fields
        else:
            yield s


BLOCKS = [name for name in LOGS if LOGS[name].get("block")]


@pytest.mark.parametrize("name", BLOCKS)
def test_the_statements_are_those_of_catlass(name):
    """Every transfer, Mmad, flag and barrier, with its addresses and its fields, in CATLASS's order."""
    log = LOGS[name]
    shapes = [(ELEMENTS[t[1]], getattr(ascend, t[2])) for t in (log["tensors"][x] for x in "ABC")]
    made = block(
        *(tuple(log[x]) for x in ("problem", "l1", "l0")),
        log["arch"],
        a=shapes[0],
        b=shapes[1],
        c=shapes[2],
        unit_flag=True,
    )
    theirs, ours = same_calls(log, made)
    assert [*theirs] == [*ours]


def test_flags_are_set_for_every_stage():
    made = block((40, 50, 70), *TILES, Ascend950, stages=3)
    first = list(made.programs[0].body[:13])
    assert first == [
        *(SetFlag("MTE1_MTE2", i) for i in range(6)),
        *(SetFlag("M_MTE1", i) for i in range(6)),
        SetFlag("FIX_M", 0),
    ]


#: Element types of A and B on each architecture.
KINDS = {
    AtlasA2: (half, ascend.bf16, float32, int8, int4b),
    Ascend950: (half, ascend.bf16, float32, int8, ascend.fp8_e4m3, ascend.fp4_e2m1),
}


def test_what_a_block_takes_has_a_program():
    """What no instruction moves or multiplies is refused by `block`, not by what is asked of it afterwards."""
    rng, made = random.Random(36), 0
    while made < amount(40, 2000):
        arch, tags = rng.choice((AtlasA2, Ascend950)), (RowMajor, ColumnMajor, ascend.zN, nZ)
        e = rng.choice(KINDS[arch])
        more = rng.choice(({}, {"bias": True}, {"scales": True}, {"split": "SPLIT_M"}, {"cores": 5}))
        more |= (
            {"swizzle": rng.choice((ascend.BlockSchedulerAswt, ascend.ColumnBlockSwizzle))} if "cores" in more else {}
        )
        out = rng.choice((float32, int32, half, int8)), rng.choice((RowMajor, ascend.zN))
        problem = rng.choice(((33, 35, 67), (66, 34, 66), (2, 16, 64)))
        try:
            b = block(
                problem, (64,) * 3, (64,) * 3, arch, a=(e, rng.choice(tags)), b=(e, rng.choice(tags)), c=out, **more
            )
        except TlaError:
            continue
        assert b.check().holds, (problem, arch, b.plan)
        made += 1


@pytest.mark.parametrize(
    ("problem", "arch", "given", "message", "mended"),
    [
        ((34, 34, 66), AtlasA2, {"a": int4b, "b": (int4b, ColumnMajor), "c": int32}, None, {}),
        (
            (34, 34, 66),
            AtlasA2,
            {"a": (int4b, ColumnMajor), "b": int4b, "c": int32},
            "a of int4b, ColumnMajor on AtlasA2",
            {"a": (int4b, RowMajor)},
        ),
        (
            (34, 34, 67),
            AtlasA2,
            {"a": int4b, "b": int4b, "c": int32},
            "a of int4b in lines of 67 elements",
            {"a": (int4b, MakeLayout[int4b, RowMajor](34, 67, ld=68))},
        ),
        (
            (34, 35, 66),
            AtlasA2,
            {"a": int4b, "b": int4b, "c": int32},
            "b of int4b in lines of 35 elements",
            {"b": (int4b, MakeLayout[int4b, RowMajor](66, 35, ld=36))},
        ),
        (
            (34, 34, 66),
            Ascend950,
            {"a": ascend.fp4_e2m1, "b": ascend.fp4_e2m1, "c": float32},
            "a Mmad of fp4_e2m1 by fp4_e2m1 without scales",
            {"scales": True},
        ),
        (
            (2, 32, 34),
            Ascend950,
            {"a": (ascend.fp4_e2m1, ColumnMajor), "b": ascend.fp4_e2m1, "c": float32, "scales": True, "cores": 5}
            | {"swizzle": ascend.BlockSchedulerAswt},
            "A of the tag ColumnMajor, of which BlockSchedulerAswt has blocks that begin at 1",
            {"a": (ascend.fp4_e2m1, RowMajor)},
        ),
        (
            (8, 34, 64),
            Ascend950,
            {"a": ascend.fp4_e2m1, "b": ascend.fp4_e2m1, "c": float32, "scales": True, "cores": 5}
            | {"swizzle": ascend.BlockSchedulerAswt},
            "B of the tag RowMajor, of which BlockSchedulerAswt has blocks that begin at 17",
            {"b": (ascend.fp4_e2m1, ColumnMajor)},
        ),
    ],
)
def test_four_bits_are_refused_at_once_and_the_fix_works(problem, arch, given, message, mended):
    if message is not None:
        with pytest.raises(TlaError, match=message):
            block(problem, (64,) * 3, (64,) * 3, arch, **given)
    assert block(problem, (64,) * 3, (64,) * 3, arch, **{**given, **mended}).check().holds


def test_splitting_k_by_a_swizzle_that_does_not_is_refused():
    with pytest.raises(LeafTypeError, match="SplitkGemmIdentityBlockSwizzle"):
        make(splitkFactor=2, c=float32)


def test_biases_begin_at_64_bytes():
    _require_aligned("Bias", SimpleNamespace(at=16, element=float32))
    for at in (8, 15, 17):
        with pytest.raises(RangeError, match="64 bytes"):
            _require_aligned("Bias", SimpleNamespace(at=at, element=float32))


def test_values_are_put_into_global_memory_alone():
    program = make().programs[0]
    local = next(b for b in program.buffers.values() if b.position != "GM")
    with pytest.raises(LeafTypeError, match=f"values for {local.name}"):
        Values(program, {local.name: np.zeros(4)})


@pytest.mark.parametrize("seed", range(amount(3, 12)))
def test_traffic_is_that_of_the_tiles(seed):
    """Every block loads its rows of A and columns of B as they are, moves them to L0 in whole fractals, and
    stores its results."""
    rng = random.Random(seed)
    (m, n, k), (rows, columns, deep) = (
        (rng.randint(1, 400) for _ in range(3)),
        (rng.choice((32, 64, 128)) for _ in range(3)),
    )
    cores, part = rng.randint(1, 5), rng.choice((16, 32))
    made = block((m, n, k), (rows, columns, deep), (rows, columns, part), c=float32, cores=cores)
    found = {work.path: work for work in made.traffic}

    def up(x, unit):
        return -(-x // unit) * unit

    def cut(size, tile):
        return [min(tile, size - i) for i in range(0, size, tile)]

    down, across = cut(m, rows), cut(n, columns)
    parts = [p for tile in cut(k, deep) for p in cut(tile, part)]
    padded = sum(up(p, 16) for p in parts)
    assert found["GM to L1"].bytes == 2 * k * (m * len(across) + n * len(down))
    assert found["L1 to L0A"].bytes == 2 * padded * sum(up(x, 16) for x in down) * len(across)
    assert found["L1 to L0B"].bytes == 2 * padded * sum(up(x, 16) for x in across) * len(down)
    assert found["L0C to GM"].bytes == 4 * m * n
    mmad = found["L0A, L0B to L0C"]
    assert mmad.instructions == len(parts) * len(down) * len(across)
    assert [work.pipe for work in made.traffic] == ["MTE2", "MTE1", "MTE1", "M", "FIX"]
    assert m * n * k <= mmad.products <= sum(up(x, 16) for x in down) * n * k


def test_a_mmad_has_a_bias_for_each_column_and_no_sums_of_nothing():
    """Of m, n or k of 0 Mmad does nothing, as CANN's page says: it writes no 0 and no bias then."""

    def of(m=20, n=30, k=40, biases=None, init=True):
        u, v, w = (max(x, 1) for x in (m, n, k))
        ends = (MakeLayout[half, zZ](u, w), "L0A", m, k), (MakeLayout[half, nZ](w, v), "L0B", k, n)
        ends += ((L0C(u, v).layout, "L0C", m, n),)
        a, b, c = (GetTile(MakeTensor(None, layout, position=place), (0, 0), (x, y)) for layout, place, x, y in ends)
        bias = None if biases is None else MakeTensor(None, MakeLayout(biases), position="Bias")
        return ascend.mmad(a, b, c, element=half, bias=bias, init=init)

    assert of(biases=30).parameters == of(biases=32).parameters
    with pytest.raises(RangeError, match="mmad of 30 columns with 29 biases"):
        of(biases=29)
    for name in "mnk":
        assert of(**{name: 0}, init=False).parameters[name] == 0
    assert (of(m=0, biases=30).is_empty, of(n=0).is_empty, of().is_empty) == (True, True, False)
    for more in ({}, {"biases": 30}, {"biases": 30, "init": False}):
        with pytest.raises(RangeError, match=r"Mmad: k = 0 of sums that begin\n +expected +k of 1 or more"):
            of(k=0, **more)


@pytest.mark.parametrize("size", ["m", "n", "k"])
def test_a_logged_mmad_of_no_products_leaves_what_is_there(size):
    """It sets no accumulator to 0 where k is 0: what leaves then is what was there before."""

    def line(call, *args):
        return json.dumps({"call": call, "args": args})

    def mmad_of(**fields):
        at = [
            {"type": kind, "position": place, "address": 0} for kind, place in zip(("float", "half", "half"), (7, 2, 4))
        ]
        return line(
            "Mmad", *at, {"m": 16, "n": 16, "k": 16, "unitFlag": 0, "kDirectionAlign": 0, "cmatrixInitVal": 1, **fields}
        )

    log = LOGS["00_basic_matmul 37x41x77"]["lines"]
    tensors = tensors_of(LOGS["00_basic_matmul 37x41x77"])
    i = next(i for i, x in enumerate(log) if '"Fixpipe"' in x)
    results = [ascend.Product("C", "A", "B")]
    assert ascend.check([*log[:i], mmad_of(**{size: 0}), *log[i:]], tensors, results).holds
    assert not ascend.check([*log[:i], mmad_of(), *log[i:]], tensors, results).holds


@pytest.mark.parametrize(("tag", "step"), [(RowMajor, None), (RowMajor, 70001), (ColumnMajor, None), (ColumnMajor, 99)])
def test_loads_of_the_same_sizes_that_begin_elsewhere_move_their_own_tile(tag, step):
    """Each reads the places that numpy's index has, and has the fields of one that is proved alone."""
    rng, sizes = random.Random(f"{tag} {step}"), (90, 75)
    a = MakeLayout[half, tag](*sizes, ld=step) if step else MakeLayout[half, tag](*sizes)
    line = step or sizes[tag is RowMajor]
    made = block((90, 40, 75), (32, 48, 32), (32, 48, 16), a=(half, a)).plan
    for _ in range(amount(8, 80)):
        start, tile = (rng.randint(0, 58), rng.randint(0, 43)), rng.choice(((32, 32), (5, 32), (32, 17)))
        found = made.load("A", start, tile)
        rows, columns = (np.arange(s, s + n) for s, n in zip(start, tile))
        steps = (line, 1) if tag is RowMajor else (1, line)
        wanted = rows[:, None] * steps[0] + columns * steps[1]
        read = [i.src + int(i.moved.src(c)) for i in found for c in np.ndindex(*map(int, i.moved.src.origin_shape))]
        assert sorted(read) == sorted(wanted.flat)
        alone = block((90, 40, 75), (32, 48, 32), (32, 48, 16), a=(half, a)).plan.load("A", start, tile)
        assert tuple(found) == tuple(alone)


@pytest.mark.parametrize(
    ("arch", "kind", "step"), [(AtlasA2, half, None), (AtlasA2, float32, 70001), (Ascend950, half, 99)]
)
def test_stores_of_the_same_sizes_that_begin_elsewhere_write_their_own_tile(arch, kind, step, monkeypatch):
    """Each writes the places that numpy's index has, and has the fields of one that is proved alone; one is proved."""
    rng, sizes = random.Random(f"{arch} {step}"), (90, 75)
    c = MakeLayout[kind, RowMajor](*sizes, ld=step) if step else MakeLayout[kind, RowMajor](*sizes)
    given = (90, 75, 40), (32, 32, 32), (32, 32, 32), arch
    made, proved = block(*given, c=(kind, c), unit_flag=True).plan, []
    move = type(made).move
    monkeypatch.setattr(type(made), "move", lambda *x, **more: proved.append(x) or move(*x, **more))
    for _ in range(amount(8, 80)):
        start, tile = (rng.randint(0, 58), rng.randint(0, 43)), rng.choice(((32, 32), (5, 32), (1, 17)))
        found = made.store(start, tile)
        rows, columns = (np.arange(s, s + n) for s, n in zip(start, tile))
        wanted = rows[:, None] * (step or sizes[1]) + columns
        written = [i.dst + int(i.moved.dst(c)) for i in found for c in np.ndindex(*map(int, i.moved.dst.origin_shape))]
        assert sorted(written) == sorted(wanted.flat)
        before = [*proved]
        assert found == block(*given, c=(kind, c), unit_flag=True).plan.store(start, tile)
        proved[:] = before
    assert len(proved) <= 3


def test_what_a_place_asks_is_asked_of_each_tile():
    """A start inside of a byte is refused, also behind one of the same sizes that is right; in fractals each is proved."""
    made = block((64, 64, 128), (64, 64, 64), (64, 64, 64), a=int4b, b=(int4b, ColumnMajor), c=int32).plan
    assert made.load("A", (0, 64), (64, 64))
    for start in ((0, 1), (0, 63)):
        with pytest.raises(RangeError, match="a tile at element"):
            made.load("A", start, (64, 64))
    assert made.load("A", (0, 2), (64, 64))
    fractals = block((64, 64, 128), (32, 64, 64), (32, 64, 64), a=(half, zN)).plan
    assert fractals.load("A", (0, 16), (32, 64))
    with pytest.raises(TlaError):
        fractals.load("A", (0, 8), (32, 64))


def test_places_that_are_worked_out_once_are_those_of_each(monkeypatch):
    """However few are kept, a check says the same, of what is right and of what is not."""
    made = block((40, 50, 150), (32, 32, 64), (32, 32, 32), c=float32, cores=1)
    (program,), results = made.programs, [made.result(made.schedule.table[0])]
    swapped = [*program.body]
    at = [i for i, s in enumerate(swapped) if isinstance(s, SetFlag) and s.event == "MTE1_M"][3]
    del swapped[at : at + 2]
    bodies = program.body, tuple(swapped)
    reports = [check_program(replace(program, body=body), results) for body in bodies]
    assert [r.holds for r in reports] == [True, False]
    monkeypatch.setattr(memory, "MOST_CELLS", -1)
    assert [check_program(replace(program, body=body), results) for body in bodies] == reports


@pytest.mark.parametrize(
    ("places", "bits", "byte"),
    [(((half, 0), (half, 64)), 16, None), (((half, 0), (half, 31)), 8, 31), (((float32, 0), (half, 30)), 16, 30)],
)
def test_cells_are_as_narrow_as_what_lies_in_them(places, bits, byte):
    """Two tiles that share a byte are found to, wherever they begin."""
    sizes = [(1, 32 * 8 // e.bits) for e, _ in places]
    layouts = [MakeLayout[e, RowMajor](*n) for (e, _), n in zip(places, sizes)]
    held = [Buffer(f"X{i}", "GM", e, x, i + 1 << 40) for i, ((e, _), x) in enumerate(zip(places, layouts))]
    inside = [Buffer(f"ub{i}", "UB", e, x, at) for i, ((e, at), x) in enumerate(zip(places, layouts))]
    body = [SetAtomic(False)]
    for x, ub in zip(held, inside):
        ends = (MakeTensor(None, x.layout, position="GM"), MakeTensor(None, ub.layout, position="UB"))
        body += [Move(ub.name, x.name, i) for i in ascend.transfer(*ends, element=x.element)]
    program = Program(AtlasA2, {b.name: b for b in (*held, *inside)}, tuple(body))
    assert Memories(program).bits == bits
    shared = [f for f in check_program(program, []).findings if f.kind == "pipe"]
    assert [f.between.byte for f in shared] == ([] if byte is None else [byte])


def test_a_program_of_flags_alone_is_checked():
    report = check_program(Program(AtlasA2, {}, (SetFlag("M_FIX", 0),)), [])
    assert [f.what for f in report.findings] == ["SetFlag M_FIX 0 is waited for by nothing"]
