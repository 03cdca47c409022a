"""Blocks of sizes that are names: against numpy, against programs of known sizes, with faults, and compiled."""

import itertools
import random
import re
import subprocess

import numpy as np
import pytest
from ascend_blocks import ANY, equal_to_numpy, example, moved, problem_of, stated
from ascend_bodies import broken_block, changed, flat, found
from catlass_examples import OF_ANY_SIZE, available, built_side, places_of

from tla import MakeLayout, ascend, dim, dims
from tla.ascend import (
    Ascend950,
    Assign,
    BlockSchedulerIterateK,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    block,
    check,
    float32,
    fp4_e2m1,
    fp8_e4m3,
    half,
    int8,
    int32,
    zN,
)
from tla.ascend.programs import Move, Multiply, PipeBarrier, SetFlag, WaitFlag, any_matmul, any_order
from tla.ascend.programs.any_order import prove_order
from tla.ascend.programs.trace import number, of_body
from tla.ascend.schedules.any_sizes import coordinates
from tla.ascend.transfers.steps import Loop, When
from tla.core.errors import RangeError, TlaError, Unproven

from night import amount, some

TILES = (32, 64, 64), (32, 64, 32)


@pytest.fixture(scope="module")
def made():
    found = {}

    def of(name):
        if name not in found:
            found[name] = example(name, dims("M N K", at_most=2**30))
        return found[name]

    return of


@pytest.mark.parametrize("name", some(ANY, 2))
def test_executed_with_tails_it_is_numpys_product(name, made):
    assert not [p for seed in range(amount(1, 200)) if (p := equal_to_numpy(name, seed, made=made(name)))]


@pytest.mark.parametrize("name", some(ANY, 2))
def test_its_statements_are_those_of_each_size(name, made):
    """In the same order, at the same places, with the same fields."""
    b, rng = made(name), np.random.default_rng(5)
    for _ in range(amount(2, 40)):
        known = example(name, problem_of(rng))
        for core, program in enumerate(known.programs):
            ours, values = b.program_at(known, core)
            assert moved(ours, values) == moved(program, {})
            if b.plan.activation is None:
                assert [*stated(ours, values)] == [*stated(program, {})]


@pytest.mark.parametrize("name", some(ANY, 14))
def test_it_is_proved_for_all_sizes(name, made):
    report = made(name).check()
    assert report.holds, str(report)
    assert not report.conditions
    assert len(report.proved) == 3


def test_what_the_tiles_of_an_example_itself_are_proved_for():
    for name in amount(["31_small_matmul"], ANY):
        report = example(name, dims("M N K", at_most=2**20), small=False).check()
        assert report.holds, (name, str(report))


def test_a_tile_of_one_fractal_that_leaves_in_halves_is_proved():
    """Of floats a fractal of L0C is two of zN: of 16 columns at most, tails of 8 and fewer too."""
    made, rng = block(dims("M N K", at_most=2**16), *((16, 16, 16),) * 2, c=(float32, zN)), np.random.default_rng(2)
    assert made.check().holds
    for m, n, k in [(16, 8, 16), (17, 9, 5), *rng.integers(1, 40, (amount(2, 40), 3)).tolist()]:
        x, y, known = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), made.at(M=m, N=n, K=k)
        np.testing.assert_array_equal(made.execute(x, y), x @ y)
        assert [*stated(*made.program_at(known, 0))] == [*stated(known.programs[0], {})]


@pytest.mark.parametrize(
    ("m", "n", "few"), amount([(64, 64, False), (1, 256, True)], [(128, 128, False), (64, 64, False), (1, 256, True)])
)
def test_sizes_that_facts_exclude_are_not_asked_for(m, n, few):
    """Of tails of few fractals Mmads need a barrier between two: where facts exclude them there is none, and it is right."""
    problem = dim("M", multiple_of=m, at_most=2**20), dim("N", multiple_of=n, at_most=2**20), dim("K", at_most=2**20)
    made = block(problem, (128, 256, 64), (128, 256, 64))
    assert made.check().holds
    assert ("PipeBarrier<PIPE_M>" in made.text()) == few
    x, y = np.ones((2 * m, 20)), np.ones((20, n))
    assert (made.execute(x, y) == 20).all()


def test_cores_without_a_block_are_not_executed(monkeypatch):
    made, ran = block(dims("M N K"), *TILES, cores=500), []
    one = type(made).program_at
    monkeypatch.setattr(type(made), "program_at", lambda self, known, core: ran.append(core) or one(self, known, core))
    assert (made.execute(np.ones((40, 30)), np.ones((30, 70))) == 30).all()
    assert ran == [0, 1, 2, 3]


def test_what_has_too_many_events_is_refused_before_any_is_gone_through(monkeypatch):
    monkeypatch.setattr(any_matmul, "check_program", lambda *_: pytest.fail("a program is gone through"))
    with pytest.raises(RangeError, match="more than 1000000 events"):
        block(dims("M N K", multiple_of=2048), *TILES).check()


@pytest.mark.parametrize("names", amount(["S S S"], ["S S S", "S S K", "S N S", "M S S"]))
def test_a_name_that_stands_twice_is_one_size(names):
    """Of a square matrix every class of tails that any of its sides has."""
    by_name = {name: dim(name, at_most=2**20) for name in names.split()}
    made = block(tuple(by_name[name] for name in names.split()), *TILES)
    report = made.check()
    assert report.holds, str(report)
    sizes = [tuple(map(int, found.split(","))) for found in re.findall(r"\((\d+,\d+,\d+)\)", report.proved[2])]
    assert all(len({*zip(names.split(), found)}) == len(by_name) for found in sizes)
    for side, tile in ((0, 32), (1, 64), (2, 64)):
        assert {found[side] < tile for found in sizes} == {found[side] % tile == 0 for found in sizes} == {True, False}
    rng = np.random.default_rng(3)
    told = {name: int(rng.integers(1, 90)) for name in by_name}
    m, n, k = (told[name] for name in names.split())
    x, y = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n))
    np.testing.assert_array_equal(made.execute(x, y), x @ y)


# ------------------------------------------------------------------------------------------------ slices of k

#: Blocks that add slices of k: a name or a number for k, more slices than tiles of it, scales of columns.
SLICES = {
    "two": {"splitkFactor": 2, "cores": 3},
    "more than tiles": {"splitkFactor": 7, "cores": 4, "stages": {"L1": 3, "L0C": 2}},
    "one stage": {"splitkFactor": 3, "stages": 1},
    "columns scaled": {"splitkFactor": 3, "arch": Ascend950, "quant": "PER_CHANNEL", "cores": 2},
    "k of 100": {"splitkFactor": 2, "k": 100},
    "k of fewer tiles": {"splitkFactor": 3, "k": 70, "cores": 2},
    "k of one tile": {"splitkFactor": 3, "k": 58, "unit_flag": True},
    "k of 300": {"splitkFactor": 3, "k": 300, "unit_flag": True, "cores": 2},
    "k of whole 48": {"splitkFactor": 2, "k": dim("K", multiple_of=48, at_most=480)},
}


def sliced(way, problem=None):
    more = {"c": float32, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0], **SLICES[way]}
    k = more.pop("k", dim("K", at_most=2**20))
    m, n = dims("M N", at_most=2**20)
    return block(problem or (m, n, k), *TILES, **more), k


@pytest.mark.once
@pytest.mark.parametrize("way", some(SLICES, 2))
def test_slices_of_k_of_any_size(way):
    """Proved for all sizes; for random ones the statements of the block that knows them, and numpy's product."""
    made, k = sliced(way)
    report = made.check()
    assert report.holds, str(report)
    assert len(report.proved) == 3
    rng = np.random.default_rng(11)
    for _ in range(amount(3, 50)):
        m, n, deep = problem_of(rng)
        deep = int(k) if isinstance(k, int) else 48 * (1 + deep % 10) if "48" in way else deep
        known, _k = sliced(way, (m, n, deep))
        for core, program in enumerate(known.programs):
            assert [*stated(*made.program_at(known, core))] == [*stated(program, {})], (m, n, deep)
        x, y, before = rng.integers(-3, 4, (m, deep)), rng.integers(-3, 4, (deep, n)), rng.integers(-9, 10, (m, n))
        scale = rng.integers(-8, 9, n) / 8 if made.plan.channels else None
        wanted = x @ y * (1 if scale is None else scale)
        np.testing.assert_array_equal(made.execute(x, y, scale=scale, before=before), wanted + before)
        np.testing.assert_array_equal(known.execute(x, y, scale=scale), wanted)


@pytest.mark.once
def test_a_fault_in_the_slices_is_found():
    """Names of slices with other values: an element of C has more than its sum, or less."""
    made, _ = sliced("two")
    wrong = {
        "slice": lambda s: [s._replace(value=s.value * 0)],
        "number": lambda s: [s._replace(value=s.value * 0)],
        "firstTile": lambda s: [s._replace(value=s.value * 0)],
        "tilesK": lambda s: [s._replace(value=s.value - 1)],
        "tiles": lambda s: [s._replace(value=s.value + 1)],
        "shared": lambda s: [s._replace(value=s.value - 1)],
    }
    for i, s in enumerate(flat(made.program.body)):
        if isinstance(s, Assign) and str(s.variable) in wrong:
            assert found(broken_block(made, changed(made.program.body, i, wrong.pop(str(s.variable))))), s
    assert not wrong


# ---------------------------------------------------------------------------------------- which block a core takes


def catlass_coordinate(task, down, across, offset, direction):
    """GemmIdentityBlockSwizzle::GetBlockCoord of CATLASS, in its own words."""
    if direction == 0:
        loop = -(-down // offset)
        tile, inside = task // (offset * across), task % (offset * across)
        n_row = down - offset * tile if tile == loop - 1 else offset
        m, n = tile * offset + inside % n_row, inside // n_row
        return (m, across - n - 1) if tile % 2 == 1 else (m, n)
    loop = -(-across // offset)
    tile, inside = task // (offset * down), task % (offset * down)
    n_col = across - offset * tile if tile == loop - 1 else offset
    m, n = inside // n_col, tile * offset + inside % n_col
    return (down - m - 1, n) if tile % 2 == 1 else (m, n)


def test_every_block_is_met_once_and_where_catlass_has_it():
    task, sizes = dim("task", at_least=0), dims("blocksM blocksN")
    for offset, direction in itertools.product(range(1, amount(4, 7)), (0, 1)):
        names, m, n = coordinates(GemmIdentityBlockSwizzle[offset, direction], task, sizes)
        for down, across in itertools.product(range(1, amount(6, 10)), repeat=2):
            met = []
            for t in range(down * across):
                values = {"task": t, "blocksM": down, "blocksN": across}
                for name, value in names:
                    values[str(name)] = value.at(values)
                met.append((m.at(values), n.at(values)))
                assert met[-1] == catlass_coordinate(t, down, across, offset, direction)
            assert sorted(met) == [*itertools.product(range(down), range(across))]
    _, m, n = coordinates(BlockSchedulerIterateK, task, sizes)
    assert [(m.at(task=t, blocksN=3), n.at(task=t, blocksN=3)) for t in range(6)] == [
        *itertools.product(range(2), range(3))
    ]


#: Sizes of matrices: few blocks; as many as a number of 32 bits says, and around it; more.
FEW_AND_MANY = (1, 70, 500, *(32 * 2**n + rest for n in (30, 31, 32, 40) for rest in (-33, -1, 0, 1, 69)))


@pytest.mark.parametrize(("swizzle", "slices"), [((1, 0), 1), ((3, 0), 5), ((3, 1), 1), ((3, 1), 5), (None, 1)])
def test_every_block_of_matrices_of_any_length_is_where_it_is(swizzle, slices):
    """Places and sizes of a block somewhere, in CATLASS's own words: none is empty, none past a number of 32 bits wrong."""
    kind = GemmIdentityBlockSwizzle if slices == 1 else SplitkGemmIdentityBlockSwizzle
    how = BlockSchedulerIterateK if swizzle is None else kind[swizzle]
    cut = {} if slices == 1 else {"splitkFactor": slices}
    program = block(dims("M N K"), (32, 64, 64), (32, 64, 32), c=float32, swizzle=how, **cut).program
    at = next(i for i, s in enumerate(program.body) if isinstance(s, Loop))
    rng = random.Random(f"{swizzle} {slices}")
    for _ in range(amount(12, 400)):
        m, n, k = rng.choice(FEW_AND_MANY), rng.choice(FEW_AND_MANY), rng.choice((1, 64, 130, 400))
        cores = rng.choice((1, 3, 24, 2**31, 2**33))
        down, across, deep = -(-m // 32), -(-n // 64), -(-k // 64)
        task = rng.choice((0, rng.randrange(total := down * across * min(slices, deep)), total - 1))
        values = {"M": m, "N": n, "K": k, "core": task % cores, "cores": cores}
        assert [*of_body(program, program.body[:at], values)]
        turns = number(program.body[at].turns, values)
        assert turns == (total - 1 - task % cores) // cores + 1 > task // cores
        done = [*of_body(program, program.body[at].body, values := {**values, "turn": task // cores})]
        part, task = task // (down * across), task % (down * across)
        i, j = divmod(task, across) if swizzle is None else catlass_coordinate(task, down, across, *swizzle)
        first = sum(deep // slices + (p < deep % slices) for p in range(part))
        row, column, begin = 32 * i, 64 * j, 64 * first
        high, wide, depth = min(32, m - row), min(64, n - column), min(64, k - begin)
        assert min(high, wide, depth) >= 1
        loads = [e.statement for e in done if isinstance(e.statement, Move) and e.statement.dst in ("l1A", "l1B")]
        a, b = (next(s for s in loads if s.src == x) for x in "AB")
        assert a.instruction.src == row * k + begin
        assert b.instruction.src == begin * n + column
        assert [a.instruction.parameters[x] for x in ("nValue", "dValue")] == [high, depth]
        c = next(e.statement for e in done if isinstance(e.statement, Move) and e.statement.dst == "C")
        assert c.instruction.dst == row * n + column
        assert [c.instruction.parameters[x] for x in ("mSize", "nSize")] == [high, wide]


# ------------------------------------------------------------------------------------------------ faults


def without_effect(s):
    """Statements that may go without harm: the next stage of L0, the last barrier, transfers row by row."""
    return (
        not isinstance(s, (SetFlag, WaitFlag, PipeBarrier, Assign, Move, Multiply))
        or s == PipeBarrier("ALL")
        or (isinstance(s, Assign) and (s.value == 0 or str(s.variable) in ("l0AStage", "l0BStage")))
        or (isinstance(s, Move) and s.instruction.name == "Nd2Nz" and s.instruction.parameters["nValue"] == 1)
    )


def test_what_is_left_out_of_a_program_is_found():
    """Every flag, wait, barrier, name, move and product that is left out shows, by the flags or at a class of tails."""
    b = block(dims("M N K", at_most=2**20), *TILES, bias=amount(False, True))
    numbered, rng = [*enumerate(flat(b.program.body))], random.Random(3)
    numbered = [(i, s) for i, s in numbered if not without_effect(s)]
    missed = []
    for i, s in rng.sample(numbered, amount(4, len(numbered))):
        broken = broken_block(b, changed(b.program.body, i, lambda _: ()))
        if not found(broken):
            missed.append(s)
    assert not missed, missed


def test_a_wrong_stage_or_flag_is_found():
    """Names with other values, flags with other numbers: each shows."""
    b = block(dims("M N K", at_most=2**15), *TILES)
    wrong = {
        "l1Stage": lambda s: [s._replace(value=s.value * 0)],
        "l0AStage": lambda s: [s._replace(value=s.value + 1)],
        "fillStage": lambda s: [s._replace(value=1 - s.value)],
        "fillK": lambda s: [s._replace(value=s.value - 1)],
        "partK": lambda s: [s._replace(value=32)],
        "tileN": lambda s: [s._replace(value=64)],
        "blockM": lambda s: [s._replace(value=s.value * 0)],
        "tiles": lambda s: [s._replace(value=s.value - 1)],
    }
    rng = random.Random(1)
    for i, s in enumerate(flat(b.program.body)):
        if rng.random() > amount(0.15, 1):
            continue
        if (
            isinstance(s, Assign)
            and str(s.variable) in wrong
            and not (str(s.variable).endswith("Stage") and isinstance(s.value, int))
        ):
            assert found(broken_block(b, changed(b.program.body, i, wrong[str(s.variable)]))), s
        if isinstance(s, (SetFlag, WaitFlag)) and not isinstance(s.id, int):
            assert found(broken_block(b, changed(b.program.body, i, lambda x: [x._replace(id=x.id * 0)]))), s


def test_the_proof_of_flags_is_of_every_number_of_tiles():
    """A flag that is left out from the third tile on, or the fourth block: no small problem shows it, a state does."""
    b = block(dims("M N K", at_most=2**15), *TILES)
    at = next(i for i, s in enumerate(flat(b.program.body)) if isinstance(s, SetFlag) and "l1Stage" in str(s.id))
    k_tile = next(s for s in flat(b.program.body) if isinstance(s, Loop) and str(s.variable) == "kTile").variable
    body = changed(b.program.body, at, lambda x: [When(k_tile < 3, (x,), ())])
    assert prove_order(broken_block(b, body).program, [*b._kinds()], b._tiles()).findings
    assert not prove_order(b.program, [*b._kinds()], b._tiles()).findings


@pytest.mark.parametrize("k", [2**20, dim("K", at_least=2**31), dim("K", multiple_of=1000, at_least=10**6)])
def test_the_order_is_proved_for_tiles_without_number(k):
    """Of a loop with many turns whole rounds are left out, in which states repeat; not the last, nor what is wrong."""
    b = block((dim("M"), 64, k), *TILES)
    proof = prove_order(b.program, [*b._kinds()], b._tiles())
    assert not proof.findings
    assert 1 < proof.states < 9
    ways = {
        SetFlag: lambda s: [],
        WaitFlag: lambda s: [],
        Assign: lambda s: [s._replace(value=s.value + 1)],  # a stage that never comes back to the first
    }
    numbered = [*enumerate(flat(b.program.body))]
    at = {type(s): i for i, s in numbered if isinstance(s, (*ways,)) and "l0AStage" in map(str, s)}
    for kind, change in ways.items():
        body = changed(b.program.body, at[kind], change)
        assert prove_order(broken_block(b, body).program, [*b._kinds()], b._tiles()).findings


def test_whole_rounds_of_a_loop_are_left_out_without_harm(monkeypatch):
    b = block((dim("M"), 64, 64 * 40 + 7), *TILES, bias=True, stages={"L1": 3, "L0C": 2})
    made = [prove_order(b.program, [*b._kinds()], b._tiles())]
    monkeypatch.setattr(any_order, "_FEW_TURNS", 1000)
    made.append(prove_order(b.program, [*b._kinds()], b._tiles()))
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("problem", "error", "what"),
    [
        ((dim("M", at_least=2**31), 64, 64), Unproven, "(2147483648, 64, 64), the least that facts of names allow"),
        ((dim("M", multiple_of=1000003), 64, 64), Unproven, "each element of matrices of (1000003, 64, 64)"),
        ((64, 64, dim("K", at_least=2**31)), Unproven, "each element of matrices of (64, 64, 2147483648)"),
        ((dim("M"), 64, 2**20), Unproven, "each element of matrices of (37, 64, 1048576)"),
        ((64, 64, dim("K", multiple_of=1000003)), RangeError, "tiles of k repeat after 1000003"),
    ],
)
def test_sizes_of_which_none_is_gone_through_are_refused(problem, error, what):
    with pytest.raises(error) as found:
        block(problem, *TILES).check()
    assert what in str(found.value)
    assert 'dim("' in str(found.value)


# ------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("given", "message", "mended"),
    [
        ({"problem": (dim("M") + 1, 60, 70)}, "the size M+1", {"problem": (dim("M"), 60, 70)}),
        ({"problem": (dim("M", at_least=0), 60, 70)}, "the size M, which may be 0", {"problem": (dim("M"), 60, 70)}),
        ({"problem": (dim("M"), 2**33, 70)}, "it never holds that 8589934592 <= 4294967295", {}),
        ({"problem": (dim("padUnitsB"), 60, 70)}, "a size named padUnitsB", {"problem": (dim("rows"), 60, 70)}),
        ({"problem": (dim("tileM"), 60, 70)}, "a size named tileM", {"problem": (dim("rows"), 60, 70)}),
        (
            {"swizzle": ascend.StreamkGemmIdentityBlockSwizzle},
            "for sizes that are names",
            {"swizzle": GemmIdentityBlockSwizzle[2, 1]},
        ),
        (
            {"splitkFactor": 2, "c": float32},
            "with splitkFactor=2",
            {"splitkFactor": 2, "c": float32, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0]},
        ),
        (
            {"splitkFactor": 2, "c": float32, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0], "relu": True},
            "slices of k with relu=True",
            {"relu": True},
        ),
        ({"a": (half, MakeLayout[half, RowMajor](40, 70))}, "a with a layout", {"a": (half, ColumnMajor)}),
        ({"c": (half, ColumnMajor)}, "c of the tag ColumnMajor", {}),
    ],
)
def test_what_no_program_for_all_sizes_can_be_is_refused_and_the_fix_works(given, message, mended):
    def make(problem=(dim("M"), 60, 70), **more):
        return block(problem, *TILES, **more)

    with pytest.raises(TlaError, match=message.replace("+", r"\+")):
        make(**given)
    assert make(**mended).check().holds


def test_numbers_and_facts_are_kept():
    b = block((dim("M", multiple_of=16, at_most=4096), 48, dim("K", at_least=100, at_most=120)), *TILES, cores=2)
    assert b.check().holds
    assert "for any M, K and" in b.text()
    with pytest.raises(RangeError, match="M = 20"):
        b.at(M=20, K=110)
    with pytest.raises(RangeError, match="the same size"):
        b.execute(np.ones((16, 110)), np.ones((110, 50)))
    with pytest.raises(RangeError, match="arrays of"):
        b.execute(np.ones((16, 110)), np.ones((100, 48)))
    (square,) = dims("S")
    assert block((square, square, square), *TILES).execute(np.eye(20), np.eye(20)).sum() == 20


def test_what_a_host_has_to_ask_is_said():
    b = block(dims("M N K"), *TILES)
    assert [str(c) for c in b.conditions] == ["N <= 4294967295"]
    assert "// The host has to ask: N <= 4294967295" in b.text()
    assert "where N <= 4294967295" in str(b.check())
    with pytest.raises(RangeError, match="N <= 4294967295"):
        b.at(M=1, N=2**33, K=1)


# ------------------------------------------------------------------------------------------------ compiled on a host

#: Programs that are compiled: tiles, and what else.
TEXTS = {
    "plain": {"cores": 3},
    "biases": {"bias": True, "cores": 2},
    "bytes": {
        "a": int8,
        "b": (int8, ColumnMajor),
        "c": half,
        "quant": "PER_TENSOR",
        "scale": 0.5,
        "swizzle": GemmIdentityBlockSwizzle[2, 1],
    },
    "unit flags": {"unit_flag": True},
    "stages": {"stages": {"L1": 3, "L0A": 3, "L0B": 2, "L0C": 2}, "cores": 2},
    "one stage": {"stages": 1},
    "Ascend950": {"arch": Ascend950, "a": int8, "b": (int8, ColumnMajor), "c": int32, "cores": 2},
    "sparse": {"a": int8, "b": (int8, ColumnMajor), "c": int32, "sparse": True, "l0": (32, 64, 64)},
    **{
        f"MX of {kind}": {
            "arch": Ascend950,
            "a": (kind, ColumnMajor),
            "b": kind,
            "c": float32,
            "scales": True,
            "l1": (64, 64, 64),
            "l0": (64, 64, 64),
        }
        for kind in (fp8_e4m3, fp4_e2m1)
    },
}


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("name", TEXTS)
def test_the_text_does_what_the_block_does_at_every_size(name, tmp_path):
    """Compiled once, run on a host for many sizes: what each core logs is checked like any other kernel's."""
    unit = {"sparse": 8, "MX of fp4_e2m1": 2}.get(name, 1)
    m, n = dims("M N", at_most=2**17 if name == "sparse" else 2**29)
    b = block(
        (m, n, dim("K", at_most=2**29, multiple_of=unit)),
        **{"l1": TILES[0], "l0": TILES[1], **TEXTS[name]},
    )
    call = OF_ANY_SIZE.format(", ".join(places_of(t for t in b.program.buffers.values() if t.position == "GM")))
    program = built_side(b.text(), b.plan.arch.name, tmp_path, "AIC", call)
    rng = np.random.default_rng(9)
    for _ in range(amount(4, 60)):
        high, wide, deep = problem_of(rng)
        if "fp4" in name:  # a log has its pairs as bytes, so that half of one cannot be told from all of it
            high, wide = high + high % 2, wide + wide % 2
        known = b.at(M=high, N=wide, K=-(-deep // unit) * unit)
        tensors = {n: (t.address, t.element, t.layout) for n, t in known.tensors.items()}
        for core, blocks in enumerate(known.schedule.table):
            arguments = [program, str(core), str(b.cores), *map(str, known.problem)]
            lines = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()
            report = check(lines, tensors, [known.result(blocks)], b.plan.arch)
            assert report.holds, (known.problem, str(report))
            assert report.counts == known.check(core).counts
