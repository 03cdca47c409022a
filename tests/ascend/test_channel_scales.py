"""Blocks whose columns each have a scale: executed with tails against numpy, checked, with faults that have to be
found, written out, and refused where no Fixpipe has them."""

from dataclasses import replace

import numpy as np
import pytest
from ascend_blocks import require_found

from tla import ascend, dims
from tla.ascend import Ascend950, AtlasA2, ColumnMajor, block, float32, half, int8, int32, plan, programs, uint8, zN
from tla.core.errors import LeafTypeError, RangeError, TlaError

from night import amount, some

TILES = (32, 64, 64), (32, 64, 32)
NAMES = dims("M N K", at_most=2**20)


def channels(problem, arch=AtlasA2, tiles=TILES, **more):
    given = {"a": int8, "b": (int8, ColumnMajor), "c": half, "quant": "PER_CHANNEL"} | more
    return block(problem, *tiles, arch, **given)


def given_to(rng, m, n, k):
    """Matrices of small integers, biases, and scales of eighths, 0 and negative ones too."""
    x, y = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n))
    return x, y, rng.integers(-9, 10, n), rng.integers(-8, 9, n) / 8


#: What else a block has.
WAYS = {
    "plain": {},
    "unit flags": {"unit_flag": True},
    "biases": {"bias": True, "relu": True, "cores": 2},
    "stages": {"stages": {"L1": 3, "L0C": 2}, "cores": 3},
    "one stage": {"stages": 1},
    "rows of B": {"b": (int8, ascend.RowMajor)},
}


@pytest.mark.parametrize("arch", amount([AtlasA2, Ascend950], [AtlasA2, ascend.AtlasA3, Ascend950]))
@pytest.mark.parametrize("way", WAYS)
def test_executed_with_tails_each_column_has_its_scale(arch, way):
    for seed in range(amount(2, 60)):
        rng = np.random.default_rng(seed)
        m, n, k = (int(x) for x in rng.integers(1, 150, 3))
        x, y, bias, scale = given_to(rng, m, n, k)
        biased = "bias" in WAYS[way]
        wanted = (x @ y + bias * biased) * scale
        wanted = (np.maximum(wanted, 0) if biased else wanted).astype(np.float16)
        made = channels((m, n, k), arch, **WAYS[way])
        for b in (made, channels(NAMES, arch, **WAYS[way])) if seed == 0 else (made,):
            np.testing.assert_array_equal(b.execute(x, y, bias if biased else None, scale=scale), wanted)
        report = made.check()
        assert report.holds, ((m, n, k), str(report))


@pytest.mark.parametrize("arch", [AtlasA2, Ascend950])
def test_a_block_of_any_size_is_proved(arch):
    report = channels(NAMES, arch, bias=True).check()
    assert report.holds, str(report)
    assert len(report.proved) == 3


def test_scales_are_words_of_float32():
    made = channels((1, 3, 1))
    one = np.ones((1, 1))
    found = made.execute(one, np.full((1, 3), 100), scale=[0.1, -2, 1e-30])
    np.testing.assert_array_equal(found, (np.float64(np.float32([0.1, -2, 1e-30])) * 100).astype(np.float16)[None])
    assert [(b.element.name, b.layout.origin_shape) for b in made.tensors.values()][-1] == ("uint64", (3,))


@pytest.mark.parametrize(
    ("arch", "c", "mode"),
    [(AtlasA2, uint8, "VREQ8"), (Ascend950, int8, "VREQ8"), (Ascend950, ascend.bf16, "VQS322BF16_PRE")],
)
def test_the_types_of_the_instruction(arch, c, mode):
    made = channels((33, 70, 40), arch, c=c)
    assert made.check().holds
    assert f"p.quantPre = QuantMode_t::{mode};" in made.text()
    if c is not ascend.bf16:
        x, y, _, scale = given_to(np.random.default_rng(1), 33, 70, 40)
        ends = np.iinfo(c.name)
        np.testing.assert_array_equal(
            made.execute(x, y, scale=scale), np.clip(np.rint(x @ y * scale), ends.min, ends.max).astype(c.name)
        )


def test_products_of_floats_have_scales():
    """float to int8 on AtlasA2; to half on Ascend950."""
    rng = np.random.default_rng(2)
    x, y, _, scale = given_to(rng, 40, 90, 70)
    made = channels((40, 90, 70), a=half, b=half, c=int8)
    wanted = np.clip(np.rint(x @ y * scale), -128, 127)
    np.testing.assert_array_equal(made.execute(x, y, scale=scale), wanted)
    wide = channels((40, 90, 70), Ascend950, a=half, b=half, c=half)
    np.testing.assert_array_equal(wide.execute(x, y, scale=scale), (x @ y * scale).astype(np.float16))


@pytest.mark.parametrize("arch", [AtlasA2, Ascend950])
def test_c_in_fractals(arch):
    x, y, _, scale = given_to(np.random.default_rng(3), 40, 90, 70)
    made = channels((40, 90, 70), arch, c=(half, zN))
    np.testing.assert_array_equal(made.execute(x, y, scale=scale), (x @ y * scale).astype(np.float16))
    assert made.check().holds


def test_over_the_unified_buffer_of_a_vector_core():
    x, y, _, scale = given_to(np.random.default_rng(4), 40, 90, 70)
    made = channels((40, 90, 70), Ascend950, split="NO_SPLIT", stages={"UB": 2})
    np.testing.assert_array_equal(made.execute(x, y, scale=scale), (x @ y * scale).astype(np.float16))
    report = made.check()
    assert report.holds, str(report)
    assert ", l1Scale, p);" in made.text()


def test_slices_of_k_are_scaled_one_by_one():
    """Of float to float, which Ascend950 has: a sum of scaled slices is the scaled sum."""
    swizzle = ascend.SplitkGemmIdentityBlockSwizzle[3, 0]
    for factor, seed in ((2, 1), (3, 2), (9, 3)):
        rng = np.random.default_rng(seed)
        m, n, k = (int(x) for x in rng.integers(1, 150, 3))
        x, y, _, scale = given_to(rng, m, n, k)
        more = {"a": half, "b": half, "c": float32, "splitkFactor": factor, "swizzle": swizzle, "cores": 3}
        made = channels((m, n, k), Ascend950, **more)
        np.testing.assert_array_equal(made.execute(x, y, scale=scale), x @ y * scale)
        report = made.check()
        assert report.holds, ((m, n, k), str(report))


def test_buffers_of_scales_lie_within_their_memories():
    made = channels((150, 300, 520), tiles=((128, 256, 256), (128, 256, 128)), bias=True)
    found = {b.name: (b.position, b.address, b.end) for b in made.buffers.values()}
    assert found["l1Bias"] == ("L1", 196608, 197632)
    assert found["l1Scale"] == ("L1", 197632, 199680)
    assert found["fb"] == ("FixBuf", 0, 2048)
    assert "fb" not in channels((40, 50, 70), Ascend950).buffers
    with pytest.raises(RangeError, match="fb at bytes 0 to 8191 of FixBuf"):
        channels((32, 1024, 32), tiles=((32, 1024, 32), (32, 1024, 32)))


# ------------------------------------------------------------------------------------------------------------ faults


def moves(to):
    return lambda s: isinstance(s, programs.Move) and s.dst == to


def flag(kind, event):
    return lambda s: isinstance(s, kind) and s.event == event


def other(**by):
    def change(s):
        return [
            s._replace(instruction=replace(s.instruction, **{n: getattr(s.instruction, n) + d for n, d in by.items()}))
        ]

    return change


GONE = lambda s: []  # noqa: E731
#: By number: of the moves of scales the first two are for the same columns.
FAULTS = {
    "scales are not loaded": (moves("l1Scale"), 2, GONE),
    "scales of the column after": (moves("l1Scale"), 1, other(src=1)),
    "scales do not come to Fixpipe's buffer": (moves("fb"), 2, GONE),
    "they come one later": (moves("fb"), 0, other(dst=1)),
    "they come from the biases": (moves("fb"), 0, lambda s: [s._replace(src="l1Bias")]),
    "they lie over the biases": (moves("l1Scale"), 1, lambda s: [s._replace(dst="l1Bias")]),
    "they lie over A": (moves("l1Scale"), 1, lambda s: [s._replace(dst="l1A0")]),
    "Fixpipe has none": (moves("C"), 1, lambda s: [s._replace(beside="")]),
    "Fixpipe takes those in L1": (moves("C"), 0, lambda s: [s._replace(beside="l1Scale")]),
    "no barrier before Fixpipe": (lambda s: s == programs.PipeBarrier("FIX"), 1, GONE),
    "the buffer is filled too early": (flag(programs.WaitFlag, "FIX_MTE2"), 1, GONE),
    "it is not said to be free": (flag(programs.SetFlag, "FIX_MTE2"), 1, GONE),
    "it is read too early": (flag(programs.WaitFlag, "MTE2_FIX"), 0, GONE),
    "it is not said to be filled": (flag(programs.SetFlag, "MTE2_FIX"), 1, GONE),
}
#: Those of them that are wrong where Fixpipe takes scales from L1.
WIDE = [x for x in FAULTS if "Fixpipe's" not in x and not x.startswith(("they come", "no barrier", "Fixpipe takes"))]


@pytest.mark.parametrize("fault", some(FAULTS, 5))
def test_a_fault_at_the_scales_is_found(fault):
    require_found(channels((40, 150, 70), bias=True), *FAULTS[fault])


@pytest.mark.parametrize("fault", some(WIDE, 3))
def test_a_fault_on_ascend950_is_found(fault):
    require_found(channels((40, 150, 70), Ascend950, bias=True), *FAULTS[fault])


def test_faults_of_any_size_are_found():
    """A flag, or the barrier, dropped from the program of every size: the proof of the order says so."""
    made = channels(NAMES)
    for gone in (programs.PipeBarrier("FIX"), programs.WaitFlag("MTE2_FIX", 0), programs.WaitFlag("FIX_MTE2", 0)):
        again = replace(made)
        again.__dict__["_written"] = (replace(made.program, body=without(made.program.body, gone)), made.conditions)
        assert not again.check().holds, gone


def without(body, gone):
    """Statements without one inside of a loop."""
    found = []
    for s in body:
        if hasattr(s, "turns"):
            s = s._replace(body=tuple(x for x in without(s.body, gone) if x != gone))
        found.append(s)
    return tuple(found)


# ------------------------------------------------------------------------------------------------- texts and refusals


@pytest.mark.parametrize("problem", [(33, 70, 40), NAMES])
def test_the_text_names_the_buffer_that_fixpipe_reads(problem):
    text, wide = channels(problem).text(), channels(problem, Ascend950).text()
    assert "auto fb = FixBuf.Get<uint8_t>()[0].ReinterpretCast<uint64_t>();" in text
    assert "AscendC::TBuf<AscendC::TPosition::C2PIPE2GM> FixBuf;" in text
    assert "AscendC::GlobalTensor<uint64_t> scale;" in text
    assert "AscendC::SetFixPipeConfig<uint64_t, false>(fb, false); AscendC::PipeBarrier<PIPE_FIX>();" in text
    assert "p.quantPre = QuantMode_t::VDEQF16;" in text
    assert ", l1Scale, p);" in wide
    assert "FixBuf" not in wide
    assert all("(GM_ADDR" in x.replace("int64_t M, int64_t N, int64_t K, ", "") for x in (text, wide))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"scale": 0.5}, "scale=0.5 with quant='PER_CHANNEL'"),
        ({"a": half, "b": half}, "Fixpipe of float to half with quant='PER_CHANNEL'"),
        ({"c": int32}, "Fixpipe of int32 to int32 with quant='PER_CHANNEL'"),
        ({"arch": Ascend950, "split": "SPLIT_M"}, "split='SPLIT_M' with C of half"),
        (
            {"arch": Ascend950, "split": "SPLIT_N", "a": half, "b": half, "c": float32},
            "split='SPLIT_N' with quant='PER_CHANNEL'",
        ),
        (
            {"swizzle": ascend.SingleCoreSplitkGemmIdentityBlockSwizzle[20, 0]},
            "slices of k with c=half",
        ),
    ],
)
def test_what_no_fixpipe_scales_is_refused(more, message):
    with pytest.raises(LeafTypeError, match=message.replace("(", r"\(")):
        channels((64, 64, 200), **more)


def test_scales_are_given_where_they_are_wanted():
    x, y = np.ones((4, 6)), np.ones((6, 5))
    for made in (channels((4, 5, 6)), channels(NAMES)):
        with pytest.raises(RangeError, match="no scale for a block with PER_CHANNEL"):
            made.execute(x, y)
        with pytest.raises(RangeError, match=r"scale of the shape \(4,\)\n +expected +\(5,\)"):
            made.execute(x, y, scale=np.ones(4))
        with pytest.raises(TlaError, match="scale"):
            made.execute(x, y, scale=["a"] * 5)
    with pytest.raises(RangeError, match="a scale for a block without PER_CHANNEL"):
        block((4, 5, 6), *TILES, c=float32).execute(x, y, scale=np.ones(5))


@pytest.mark.once
def test_tiles_are_chosen_for_them():
    more = {"a": int8, "b": (int8, ColumnMajor), "c": half, "quant": "PER_CHANNEL"}
    found = plan((150, 300, 64), cores=2, **more)
    assert found.block.estimate() == found.estimate
    assert found.block.check(0).holds
    narrow = {**more, "arch": replace(AtlasA2, sizes={**AtlasA2.sizes, "FixBuf": 1024})}
    assert any(t.l1[1] > 128 for t in plan((64, 200, 64), **more).tried)
    assert all(t.l1[1] <= 128 for t in plan((64, 200, 64), **narrow).tried)


def test_no_other_language_has_them():
    made = channels((40, 50, 70))
    for language in ("catlass", "dsl"):
        with pytest.raises(LeafTypeError, match="text\\('ascendc'\\)"):
            made.text(language)
