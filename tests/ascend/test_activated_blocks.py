"""Blocks with an activation in the same kernel: against formulas in numpy, with faults, each of which is found, and as text
that a host compiles."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ascend_activations import activated, logged, random_block, require_formula
from ascend_blocks import EXAMPLES, FORMULAS, dropped, example, field, of, require_found
from catlass_examples import available

from tla import LeafTypeError, RangeError
from tla.ascend import (
    Ascend950,
    AtlasA2,
    ColumnMajor,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    bf16,
    block,
    check,
    float32,
    fp8_e4m3,
    half,
    int8,
    int32,
    programs,
    zN,
)
from tla.ascend.programs.check import check_program
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.trace import events
from tla.kernels import AscendKernel

from night import amount, some


@pytest.mark.parametrize("seed", range(amount(8, 240)))
def test_the_result_is_the_formula_of_the_product(seed):
    made, x, y, z, c = random_block(np.random.default_rng(seed))
    require_formula(made, x, y, z, c)
    report = made.check()
    assert report.holds, str(report)
    m, n, _ = made.problem
    assert report.counts["elements of results"] == m * n * len(made.programs) * (1 if made.plan.split else 2)


def test_a_block_of_catlass_s_example_in_its_own_tiles():
    """Tiles of C are 64 rows there; here, in two stages, half as many."""
    m, n = amount((130, 40), (300, 500))
    made = example("27_matmul_gelu", (m, n, 40), small=False)
    assert made.plan.activation.tile == (32, 256)
    assert made.check(1).holds
    assert [*made.tensors] == ["A", "B", "C", "D"]
    traffic = {(w.pipe, w.path): w for w in made.traffic}
    assert [traffic["FIX", "L0C to GM"].bytes, traffic["MTE2", "GM to UB"].bytes] == [m * n * 4] * 2
    assert traffic["MTE3", "UB to GM"].bytes == m * n * 2
    assert traffic["V", "UB"].instructions >= 8 * traffic["MTE2", "GM to UB"].instructions


def test_vector_cores_have_the_tiles_that_the_swizzle_of_epilogues_deals():
    """CATLASS's EpilogueIdentityTileSwizzle: tile by tile, row after row; every second to each vector core."""
    made = activated((32, 64, 16), ub=(8, 32))
    parts = [s for s in made.programs[0].body if isinstance(s, programs.Part) and s.what == "C to UB"]
    begins = {core: [s.body[0].instruction.src for s in parts if s.dst.startswith(f"ub{core}")] for core in (0, 1)}
    every = [8 * i * 64 + 32 * j for i in range(4) for j in range(2)]
    assert begins == {0: every[::2], 1: every[1::2]}


def test_leaky_relu_has_the_slope_that_it_is_given():
    made = activated((8, 16, 16), ("leaky_relu", 0.25))
    assert made.execute(-np.ones((8, 16)), np.ones((16, 16)))[0, 0] == -4
    other = activated((8, 16, 16), "leaky_relu")
    assert made.check().holds
    assert not check_program(made.programs[0], other.results(other.schedule.table[0])).holds


def test_a_column_has_its_scale_before_the_activation():
    rng = np.random.default_rng(3)
    x, y, scale = rng.integers(-9, 10, (40, 50)), rng.integers(-9, 10, (50, 70)), rng.choice([0.125, 0.25, 0.5], 70) / 8
    made = activated((40, 70, 50), "silu", a=int8, b=(int8, ColumnMajor), c=half, quant="PER_CHANNEL", cores=2)
    assert made.check().holds
    assert np.allclose(made.execute(x, y, scale=scale), FORMULAS["silu"](x @ y * scale), 4e-3, 2**-7)


def test_scales_of_mx_types_and_an_index_go_through_an_activation_too():
    whole = (64, 64, 64), (64, 64, 64)
    mx = activated((40, 70, 64), "gelu", Ascend950, whole, a=fp8_e4m3, b=(fp8_e4m3, ColumnMajor), scales=True, d=half)
    sparse = activated(
        (40, 70, 64),
        "relu",
        AtlasA2,
        whole,
        a=int8,
        b=(int8, ColumnMajor),
        c=half,
        sparse=True,
        quant="PER_TENSOR",
        scale=0.5,
    )
    assert mx.check().holds
    assert sparse.check().holds


def test_as_a_kernel_it_takes_d():
    kernel = AscendKernel(activated((20, 24, 16), "relu", d=half))
    x, y, d = -np.ones((20, 16)), np.tile([1, -1], (16, 12)), np.zeros((20, 24), np.float16)
    kernel.run(x, y, d)
    assert d[0, :2].tolist() == [0, 16]
    assert kernel.arguments == ("a", "b", "d")
    assert kernel.source("ascendc").parameters == ("A_gm", "B_gm", "C_gm", "D_gm")
    assert kernel.check().holds
    gelu = AscendKernel(activated((20, 24, 16))).source("catlass")
    assert f"GM_ADDR {', GM_ADDR '.join(gelu.parameters[3:])}) {{" in gelu.text
    mx = block(
        (32, 32, 64),
        (32, 32, 64),
        (32, 32, 64),
        Ascend950,
        a=fp8_e4m3,
        b=(fp8_e4m3, ColumnMajor),
        c=float32,
        scales=True,
    )
    text = AscendKernel(mx).source("catlass")
    assert f"GM_ADDR {', GM_ADDR '.join(text.parameters[3:])}) {{" in text.text


# ------------------------------------------------------------------------------------------------------- flags between


def test_after_15_blocks_a_core_waits_until_its_vector_cores_have_come_so_far():
    """A flag counts to 15. By then its core asks whether they are waited for: without that one more may be set."""
    made = activated((32 * 32, 16, 16), "relu")
    report = made.check()
    assert report.holds, str(report)
    back = [s for s in made.programs[0].body if "MTE2_FIX" in getattr(s, "event", "")]
    assert [type(s).__name__ for s in back] == ["SetFlag", "SetFlag", "WaitFlag", "WaitFlag"] * 2
    body = tuple(s for s in made.programs[0].body if s not in back)
    wrong = check_program(replace(made.programs[0], body=body), made.results(made.schedule.table[0]))
    assert [f.kind for f in wrong.findings] == ["flag"] * 2
    assert "may come before 15 before it are waited for" in wrong.findings[0].what
    assert activated((32 * 15, 16, 16), "relu").check().holds
    assert not [
        s for s in activated((32 * 15, 16, 16), "relu").programs[0].body if "MTE2_FIX" in getattr(s, "event", "")
    ]


@pytest.mark.parametrize("split", [None, "SPLIT_M"])
def test_a_flag_is_set_before_it_is_waited_for_in_the_order_of_issue(split):
    """So no wait blocks for ever, also where it blocks all pipes of its core, as on AtlasA2."""
    made = activated((32 * 17, 70, 16), "relu", Ascend950 if split else AtlasA2, split=split)
    up = {}
    for event in events(made.programs[0]):
        s = event.statement
        if isinstance(s, programs.SetFlag):
            up[s] = up.get(s, 0) + 1
        elif isinstance(s, programs.WaitFlag):
            up[programs.SetFlag(*s)] -= 1
            assert up[programs.SetFlag(*s)] >= 0
    assert not any(up.values())


# ------------------------------------------------------------------------------------------------------------- faults


def computes(name):
    return of(programs.Compute, lambda s: s.instruction.name == name)


def computed(**more):
    return lambda s: [s._replace(instructions=(replace(s.instruction, **more),))]


def masked(s):
    p = s.instruction.parameters
    return computed(parameters={**p, "mask": p["mask"] - 1})(s)


def event(kind, name):
    return of(kind, lambda s: s.event == name)


def moves(dst, src):
    return of(programs.Move, lambda s: s.dst.startswith(dst) and s.src.startswith(src))


def at(**places):
    return lambda s: [
        s._replace(instruction=replace(s.instruction, **{k: getattr(s.instruction, k) + n for k, n in places.items()}))
    ]


SET, WAIT = programs.SetFlag, programs.WaitFlag
#: Faults of what both ways have, of the way over a workspace, and of that over unified buffers.
COMPUTED = {
    "a step is left out": (computes("Axpy"), 1, dropped),
    "another scalar": (computes("Muls"), 0, computed(scalar=-0.0714)),
    "another instruction": (computes("Exp"), 2, computed(name="Abs")),
    "an element less": (computes("Div"), 1, masked),
    "the sources the other way round": (
        computes("Div"),
        0,
        lambda s: [s._replace(operands=(s.operands[0], *s.operands[:0:-1]))],
    ),
    "the other stage": (
        computes("Mul"),
        1,
        lambda s: [s._replace(operands=(s.operands[0], *(x.replace("D0", "D1") for x in s.operands[1:])))],
    ),
    "no barrier": (of(programs.PipeBarrier, lambda s: s.pipe == "AIV0.V"), 3, dropped),
    "MTE3 does not wait for V": (event(WAIT, "AIV1.V_AIV1.MTE3"), 1, dropped),
    "V does not wait for MTE3": (event(WAIT, "AIV0.MTE3_AIV0.V"), 2, dropped),
    "MTE3 tells too late": (event(SET, "AIV0.MTE3_AIV0.V"), 2, dropped),
    "a tile is not stored": (moves("D", "ub"), 1, dropped),
    "a tile is stored elsewhere": (moves("D", "ub"), 1, at(dst=1)),
    "a row less is stored": (moves("D", "ub"), 2, field("blockCount", -1)),
    "the other type": (moves("D", "ub0"), 0, lambda s: [s._replace(src=s.src.replace("Cast", "D"))]),
}
SPACED = {
    "a vector core does not wait for the block": (event(WAIT, "FIX_AIV0.MTE2"), 1, dropped),
    "the other one does not": (event(WAIT, "FIX_AIV1.MTE2"), 0, dropped),
    "it is told before Fixpipe": (moves("C", "l0C"), 0, lambda s: []),
    "it is told of another id": (event(SET, "FIX_AIV1.MTE2"), 1, lambda s: [s._replace(id=1)]),
    "an id that no flag has": (event(SET, "FIX_AIV0.MTE2"), 0, lambda s: [s._replace(id=16)]),
    "V waits for no tile": (event(WAIT, "AIV0.MTE2_AIV0.V"), 0, dropped),
    "a tile comes too early": (event(WAIT, "AIV0.V_AIV0.MTE2"), 2, dropped),
    "another tile comes": (moves("ub", "C"), 1, at(src=8)),
    "a row less comes": (moves("ub", "C"), 0, field("blockCount", -1)),
    "a tile comes to the other stage": (moves("ub0C0", "C"), 0, lambda s: [s._replace(dst="ub0C1")]),
    "a tile comes into what is made": (moves("ub0C0", "C"), 0, lambda s: [s._replace(dst="ub0D0")]),
}
OVER_UB = {
    "V does not wait for Fixpipe": (event(WAIT, "FIX_AIV1.V"), 1, dropped),
    "Fixpipe does not wait for V": (event(WAIT, "AIV0.V_FIX"), 1, dropped),
    "V tells too early": (event(SET, "AIV1.V_FIX"), 1, dropped),
    "columns instead of rows": (moves("ub", "l0C"), 0, field("dualDstCtl", 1)),
    "a half goes to one core": (moves("ub", "l0C"), 0, field("dualDstCtl", -1)),
    "the other core's half": (computes("Mul"), 0, lambda s: [s._replace(operands=(s.operands[0], "ub1C0", "ub1C0"))]),
}


def spaced():
    return activated((40, 70, 16), d=half, ub=(16, 32))


def over_ub():
    return activated((40, 70, 16), arch=Ascend950, split="SPLIT_M", ub=(8, 64), d=half)


@pytest.mark.parametrize("fault", [*some({**COMPUTED, **SPACED}, 8)])
def test_a_fault_over_the_workspace_is_found(fault):
    require_found(spaced(), *{**COMPUTED, **SPACED}[fault])


@pytest.mark.parametrize("fault", [*some({**COMPUTED, **OVER_UB}, 7)])
def test_a_fault_over_unified_buffers_is_found(fault):
    require_found(over_ub(), *{**COMPUTED, **OVER_UB}[fault])


def test_every_flag_and_barrier_of_vector_cores_is_needed():
    """Left out, one by one, each is missed: some by a value, some by the order, some by flags that nothing waits for."""
    made = activated((20, 33, 16), "silu", d=half, ub=(8, 32))
    body, program = made.programs[0].body, made.programs[0]
    mine = [i for i, s in enumerate(body) if "AIV" in str(getattr(s, "event", getattr(s, "pipe", "")))]
    assert len(mine) > 60
    for i in some(mine, 24):
        changed = replace(program, body=(*body[:i], *body[i + 1 :]))
        assert not check_program(changed, made.results(made.schedule.table[0])).holds, body[i]


# ------------------------------------------------------------------------------------------------------------ refusals


def test_what_is_not_computed_is_refused():
    small = (32, 32, 32)
    for match, problem, more in (
        ("one of gelu, silu, sigmoid, tanh, relu, leaky_relu", small, {"activation": "mish"}),
        ("of leaky_relu alone, a number", small, {"activation": ("relu", 0.1)}),
        ("of leaky_relu alone, a number", small, {"activation": ("leaky_relu", True)}),
        ("relu=True beside activation=", small, {"relu": True}),
        ("C of the tag zN", small, {"c": (float32, zN)}),
        ("d of the tag zN", small, {"d": (float32, zN)}),
        ("slices of k", (64, 64, 512), {"splitkFactor": 2, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0]}),
        ("Mul of bf16", small, {"c": bf16}),
        ("Exp of int32", small, {"a": int8, "b": (int8, ColumnMajor), "c": int32, "activation": "silu"}),
        ("Cast of", small, {"d": int8}),
        ("rows and columns", small, {"ub": 64}),
        ("d= of a block without activation=", small, {"activation": None, "d": half}),
        ("ub= of a block without activation=", small, {"activation": None, "ub": (8, 8)}),
        ("of L1, L0A, L0B, L0C\n", small, {"stages": {"UB": 2}}),
    ):
        with pytest.raises(LeafTypeError, match=match):
            activated(problem, **more)
    with pytest.raises(RangeError, match=r"(?s)ub=\(8, -1\) of a block.*1 or more of both.*write ub=\(64, 128\)"):
        activated(small, ub=(8, -1))
    with pytest.raises(RangeError, match="of UB0"):
        activated(small, ub=(512, 256))
    with pytest.raises(RangeError, match=r"(?s)multiples of 8.*ub=\(8, 24\)"):
        activated(small, arch=Ascend950, split="SPLIT_M", ub=(8, 20))
    assert activated(small, arch=Ascend950, split="SPLIT_M", ub=(8, 24)).check().holds
    with pytest.raises(LeafTypeError, match="activation= in dsl"):
        activated(small).text("dsl")


@pytest.mark.parametrize(
    ("match", "more"),
    [
        ("c=float32, in which", {"c": half}),
        ("it has no tile for others", {"activation": "relu"}),
        ("no kernel for others", {"arch": Ascend950}),
        ("biases", {"bias": True}),
        ("a layout of D", {"d": (half, RowMajor.MakeLayout(half, 32, 32, ld=64))}),
    ],
)
def test_what_catlass_has_no_kernel_for_is_refused(match, more):
    with pytest.raises(LeafTypeError, match=match):
        activated((32, 32, 32), **more).text("catlass")


# ---------------------------------------------------------------------------------------------------------------- text


def test_on_atlas_a2_one_flag_is_for_both_vector_cores():
    lines = activated((32 * 17, 16, 16), "relu").text().splitlines()
    sides = [i for i, line in enumerate(lines) if "ASCEND_IS" in line or "GetSubBlockIdx" in line]
    told = [
        re.findall(r"CrossCore\w+(?:<\w+, \w+>)?\(\d+\)", "".join(lines[a:b]))
        for a, b in zip(sides, [*sides[1:], None])
    ]
    core, first, second = (x for x in told if x)
    assert {*core} == {"CrossCoreSetFlag<0x2, PIPE_FIX>(0)", "CrossCoreWaitFlag(1)"}
    assert {*first} == {*second} == {"CrossCoreWaitFlag(0)", "CrossCoreSetFlag<0x2, PIPE_MTE2>(1)"}


needs_catlass = pytest.mark.skipif(available() is not None, reason=str(available()))
TEXTS = {
    "a workspace": {"d": half, "bias": True},
    "a workspace on Ascend950": {"arch": Ascend950, "activation": "sigmoid"},
    "a slope": {"activation": ("leaky_relu", 0.2)},
    "unified buffers": {"arch": Ascend950, "split": "SPLIT_M", "d": half, "ub": (8, 64)},
}


def issued(text, made, folder, side, sub):
    """... as statements."""
    return read_log(logged(text, made, folder, side, sub), made.plan.arch, made.tensors.values()).body


@needs_catlass
@pytest.mark.parametrize("way", some(TEXTS, 2))
def test_the_text_compiles_and_each_side_does_what_the_program_says(way, tmp_path):
    made = activated((40, 100, 50), **TEXTS[way])
    at = {name: b.address * 8 // b.element.bits for name, b in made.buffers.items()}
    for side, sub, mine in (("AIC", 0, None), ("AIV", 0, "AIV0."), ("AIV", 1, "AIV1.")):
        wanted = []
        for e in events(made.programs[0]):
            s = e.statement
            if (mine is None) == e.pipe.startswith("AIV") or (mine is not None and not e.pipe.startswith(mine)):
                continue
            if isinstance(s, programs.Move):
                i = s.instruction
                wanted.append((i.name, i.dst + at.get(s.dst, 0), i.src + at.get(s.src, 0)))
            if isinstance(s, programs.Compute):
                places = tuple(n + at[x] for n, x in zip(s.instruction.places, s.operands))
                wanted.append((s.instruction.name, places, dict(s.instruction.parameters)))
        found = []
        for s in issued(made.text(), made, tmp_path, side, sub):
            if isinstance(s, programs.Move):
                found.append((s.instruction.name, s.instruction.dst, s.instruction.src))
            if isinstance(s, programs.Compute):
                found += [(i.name, i.places, dict(i.parameters)) for i in s.instructions]
        assert found == wanted
        assert found


def without_other_epilogues(text):
    """A text behind the guards of CATLASS's other epilogues, for whose calls its stubs have no words."""
    headers = (Path(os.environ["CATLASS_INCLUDE"]) / "catlass" / "epilogue" / "block").glob("block_epilogue_*.hpp")
    others = (x.read_text() for x in headers if x.stem != "block_epilogue_elemwise_no_source")
    guards = (re.search(r"#ifndef (\w+)", x)[1] for x in others)
    return "".join(f"#define {x}\n" for x in guards) + text


@needs_catlass
@pytest.mark.parametrize("name", ["27_matmul_gelu", "28_matmul_silu"])
def test_catlass_s_own_kernel_stores_and_loads_the_same_blocks(name, tmp_path):
    """MatmulActivation: C is the product; each vector core takes its half of a block, and computes by the same steps."""
    e = EXAMPLES[name]
    made = block((40, 100, 50), *e.small, e.arch, **{**e.more, "cores": 1, "ub": (16, 64)})
    text, blocks = without_other_epilogues(made.text("catlass")), made.schedule.table[0]
    tensors = {x: (t.address, t.element, t.layout) for x, t in made.tensors.items() if x != "D"}
    report = check(logged(text, made, tmp_path, "AIC", 0), tensors, [made.result(blocks)])
    assert report.holds, str(report)
    vector = issued(text, made, tmp_path, "AIV", 0)
    begins = [s.instruction.src for s in vector if isinstance(s, programs.Move) and s.src == "C"]
    assert begins == [b.start[0] * 100 + b.start[1] for b in blocks]
    theirs = [s.instruction.name for s in vector if isinstance(s, programs.Compute)]
    mine = [
        e.statement.instruction.name
        for e in events(made.programs[0])
        if e.pipe == "AIV0.V" and isinstance(e.statement, programs.Compute)
    ]
    steps = mine[: len(mine) // len(begins)]
    assert theirs == steps * len(begins)
    assert steps[-2:] == ["Div", "Cast"]
