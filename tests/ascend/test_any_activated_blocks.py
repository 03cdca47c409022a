"""Blocks with an activation whose sizes are names: against formulas in numpy, against programs of known sizes, with faults,
and compiled."""

import re
import subprocess

import numpy as np
import pytest
from ascend_activations import activated, random_block, require_formula
from ascend_blocks import moved, stated
from ascend_bodies import broken_block, changed, flat, found
from catlass_examples import OF_ANY_SIZE, available, built_side, places_of

from tla import RangeError, dims
from tla.ascend import Ascend950, float32, half
from tla.ascend.programs import Assign, Compute, Move, PipeBarrier, SetFlag, WaitFlag
from tla.ascend.programs.any_order import prove_order
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.trace import events
from tla.ascend.transfers.steps import When

from night import amount, some

SIZES = dims("M N K", at_most=2**29)
WAYS = {
    "a workspace": {"ub": (8, 32), "d": half, "cores": 2},
    "rows": {"arch": Ascend950, "split": "SPLIT_M", "ub": (8, 32), "activation": "gelu", "stages": {"UB": 2}},
    "columns": {"arch": Ascend950, "split": "SPLIT_N", "ub": (16, 16), "activation": "silu", "d": half, "cores": 2},
    "one": {
        "arch": Ascend950,
        "split": "NO_SPLIT",
        "ub": (8, 64),
        "activation": "relu",
        "unit_flag": True,
        "bias": True,
    },
}


#: A way of which vector cores lay a matrix out anew before.
PADDED = {"a": float32, "b": float32, "padding": {"A": "PADDING_ND"}, "ub": (16, 32), "cores": 2, "activation": "relu"}


def of(way, problem=SIZES):
    return activated(problem, **WAYS[way])


@pytest.mark.parametrize("seed", range(amount(6, 240)))
def test_the_result_is_the_formula_of_the_product(seed):
    made, x, y, z, c = random_block(np.random.default_rng([seed, 36]), named=True)
    require_formula(made, x, y, z, c)


@pytest.mark.parametrize("seed", some(range(40), 1))
def test_a_random_block_is_proved_for_all_sizes(seed):
    report = random_block(np.random.default_rng([seed, 37]), named=True)[0].check()
    assert report.holds, str(report)


@pytest.mark.parametrize("way", some(WAYS, 2))
def test_its_statements_are_those_of_each_size(way):
    """In the same order, at the same places, with the same fields; and where tiles are whole, what is computed too."""
    made, rng = of(way), np.random.default_rng(5)
    tails = [(1, 1, 1), (1, 9, 70), *rng.integers(1, 150, (amount(1, 30), 3)).tolist()]
    for sizes in [*tails, (64, 128, 40)]:
        known = of(way, tuple(sizes))
        for core, program in enumerate(known.programs):
            ours, values = made.program_at(known, core)
            if sizes[0] == 64:
                assert [*stated(ours, values)] == [*stated(program, {})]
            assert moved(ours, values) == moved(program, {})


@pytest.mark.parametrize("way", some(WAYS, 2))
def test_what_is_left_out_is_found(way):
    """Each flag, barrier, name, move and computation of the vector cores."""
    made = of(way)
    report = made.check()
    assert report.holds, str(report)
    mine = [
        i
        for i, s in enumerate(flat(made.program.body))
        if (isinstance(s, (SetFlag, WaitFlag)) and "AIV" in s.event)
        or (isinstance(s, PipeBarrier) and "AIV" in s.pipe)
        or (isinstance(s, (Move, Compute)) and any(name.startswith("ub") for name in s[:2] if isinstance(name, str)))
        or (isinstance(s, Assign) and re.match("ub[A-RT-Z]|split|share|told", str(s.variable)) and s.value != 0)
    ]
    assert len(mine) > 20
    for i in some(mine, 12):
        s = [*flat(made.program.body)][i]
        assert found(broken_block(made, changed(made.program.body, i, lambda _: ()))), s


def assigned(name, value):
    return lambda s: isinstance(s, Assign) and str(s.variable) == name, lambda s: [s._replace(value=value(s.value))]


def flagged(kind, event, **more):
    return lambda s: isinstance(s, kind) and s.event == event, lambda s: [s._replace(**more)] if more else []


FAULTS = {
    "a row more": ("a workspace", *assigned("ubHigh1", lambda x: x + 1)),
    "a column less": ("a workspace", *assigned("ubWide0", lambda x: x - 1)),
    "tiles the other way round": ("a workspace", *assigned("ubDown1", lambda x: x * 0)),
    "a tile less": ("a workspace", *assigned("ubTiles1", lambda x: x - 1)),
    "another tile": ("a workspace", *assigned("ubOver1", lambda x: 1 - x)),
    "a stage that is none": ("a workspace", *assigned("tile1Stage", lambda x: x + 1)),
    "the wrong flag": ("a workspace", *flagged(WaitFlag, "FIX_AIV1.MTE2", id=1)),
    "the core does not ask": ("a workspace", *flagged(WaitFlag, "AIV1.MTE2_FIX")),
    "the other half": ("rows", *assigned("splitAt1", lambda x: x * 0)),
    "a row of it more": ("rows", *assigned("share1", lambda x: x + 1)),
    "no barrier": ("columns", lambda s: isinstance(s, PipeBarrier) and s.pipe == "AIV1.V", lambda _: []),
    "Fixpipe does not wait": ("one", *flagged(WaitFlag, "AIV0.V_FIX")),
}


@pytest.mark.parametrize("fault", some(FAULTS, 5))
def test_a_fault_is_found(fault):
    way, is_one, change = FAULTS[fault]
    made = of(way)
    at = [i for i, s in enumerate(flat(made.program.body)) if is_one(s)]
    assert found(broken_block(made, changed(made.program.body, at[-1], change)))


# ------------------------------------------------------------------------------------------------------------- counters


def proved(made, body=None):
    b = made if body is None else broken_block(made, body)
    return prove_order(b.program, [*b._kinds()], b._tiles())


def test_a_counter_between_cores_is_proved_for_any_number_of_blocks():
    """It ends at 15: a core that asks after 15 blocks is right, and one that asks after 16, or before the last wait, not."""
    made = of("a workspace")
    assert not proved(made).findings
    every = [*flat(made.program.body)]
    asks = next(i for i, s in enumerate(every) if isinstance(s, When) and "toldStage" in str(s.condition))
    counts = max(i for i, s in enumerate(every) if isinstance(s, Assign) and str(s.variable) == "toldStage")
    told = every[counts].variable

    def after(blocks):
        body = changed(made.program.body, counts, lambda s: [s._replace(value=told % blocks + 1)])
        return proved(made, changed(body, asks, lambda s: [s._replace(condition=blocks <= told)])).findings

    assert not after(3)
    assert any("may come before 15 before it are waited for" in f.what for f in after(16))


def test_what_comes_from_the_workspace_is_awaited_in_every_state():
    """Of any number of blocks a vector core that does not wait for one is found by the order alone."""
    made = of("a workspace")
    for event in ("FIX_AIV0.MTE2", "FIX_AIV1.MTE2"):
        body = made.program.body
        for kind in (SetFlag, WaitFlag):
            at = next(i for i, s in enumerate(flat(body)) if isinstance(s, kind) and s.event == event)
            body = changed(body, at, lambda _: [])
        whats = [f.what for f in proved(made, body).findings]
        assert any(what.startswith("C to UB may not wait for what FIX does to C") for what in whats), whats


def test_states_do_not_multiply():
    """The memory of each core is proved by itself: as many states for tiles of any size."""
    small = proved(activated(SIZES, ub=(1, 8)))
    assert not small.findings
    assert small.states < 150


def test_what_a_host_has_to_ask_holds_for_all_tiles():
    made = activated(dims("M N K"), ub=(8, 32))
    assert [str(c) for c in made.conditions] == ["N <= 4294967295", "4*N-4 <= 4294967295"]
    with pytest.raises(RangeError, match=r"4\*N-4 <= 4294967295"):
        made.at(M=1, N=2**31, K=1)
    over = activated(dims("M N K"), arch=Ascend950, split="SPLIT_N", activation="relu")
    assert [str(c) for c in over.conditions] == ["4*N-4 <= 4294967295"]


def test_tiles_that_reach_behind_a_share_are_refused_and_the_fix_works():
    with pytest.raises(RangeError, match=re.escape("ub=(5,40) of a block with split=, of sizes that are names")) as e:
        activated(SIZES, arch=Ascend950, split="SPLIT_M", ub=(5, 40))
    assert "write ub=(4, 32)" in str(e.value)
    assert activated(SIZES, arch=Ascend950, split="SPLIT_M", ub=(4, 32), activation="relu").check().holds
    tiles, more = ((80, 736, 16),) * 2, {"arch": Ascend950, "split": "NO_SPLIT"}
    assert activated((80, 80, 80), tiles=tiles, **more).plan.activation.tile == (
        3,
        736,
    )  # 80 halved as often as it has to
    assert activated(SIZES, tiles=tiles, **more).plan.activation.tile == (2, 736)


# ----------------------------------------------------------------------------------------------------------------- text


def issued(s, local):
    """What a statement moves or computes, by places in memories; local: where buffers begin there [elements]."""
    if isinstance(s, Move):
        i = s.instruction
        return i.name, i.dst + local.get(s.dst, 0), i.src + local.get(s.src, 0)
    if isinstance(s, Compute):
        at = tuple(n + local.get(x, 0) for n, x in zip(s.instruction.places, s.operands))
        return s.instruction.name, at, dict(s.instruction.parameters)
    return None


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("way", [*WAYS, "padded"])
def test_the_text_does_what_the_program_says_at_every_size(way, tmp_path):
    """Compiled once for each side, run on a host for many sizes: what a core and its vector cores log is what the program
    issues."""
    made, rng = activated(SIZES, **PADDED) if way == "padded" else of(way), np.random.default_rng(8)
    gm = [b for b in made.program.buffers.values() if b.position == "GM"]
    call, text, arch = OF_ANY_SIZE.format(", ".join(places_of(gm))), made.text(), made.plan.arch.name
    local = {n: b.address * 8 // b.element.bits for n, b in made.buffers.items()}
    sides = {
        sub: built_side(text, arch, tmp_path, "AIC" if sub is None else "AIV", call, sub or 0) for sub in (None, 0, 1)
    }
    for sizes in rng.integers(1, 140, (amount(2, 30), 3)).tolist():
        known = made.at(M=sizes[0], N=sizes[1], K=sizes[2])
        for (sub, program), core in ((x, c) for x in sides.items() for c in range(made.cores)):
            index, count = (core, made.cores) if sub is None else (core * 2 + sub, made.cores)
            arguments = [program, str(index), str(count), *map(str, sizes)]
            lines = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
            ours, values = made.program_at(known, core)
            mine = [
                e
                for e in events(ours, values)
                if e.pipe.startswith("AIV" if sub is None else f"AIV{sub}.") != (sub is None)
            ]
            if made.paddings is not None and sub is not None:
                laid, own = made.paddings.at(known.paddings), 2 * core + sub
                first = laid.programs[own]
                mine = [*events(first, laid.values(own)), *mine]
                local |= {n: b.address * 8 // b.element.bits for n, b in first.buffers.items() if b.position != "GM"}
            wanted = [x for e in mine if (x := issued(e.statement, local))]
            log = read_log(lines, made.plan.arch, known.tensors.values()).body
            found = [x for s in log if (x := issued(s, {}))]
            assert found == wanted, (sizes, sub, core)
