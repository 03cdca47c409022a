"""Blocks whose matrices vector cores lay out anew: against numpy, against what CATLASS's paddings have logged, and with
faults, each of which is found."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from ascend_blocks import stated
from ascend_bodies import changed, flat
from catlass_examples import OF_ANY_SIZE, available, built_side, places_of
from catlass_logs import LOGS

from tla import LeafTypeError, MakeLayout, RangeError, Unproven, dim, dims
from tla.ascend import (
    Ascend950,
    AtlasA2,
    ColumnMajor,
    Copied,
    GemmIdentityBlockSwizzle,
    PaddingColumnMajor,
    PaddingRowMajor,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    bf16,
    block,
    check,
    float32,
    fp8_e4m3,
    half,
    int4b,
    int8,
    int32,
    plan,
    programs,
    zN,
)
from tla.ascend.programs.any_paddings import AnyPaddings, _assign, _require_copy, _require_room, _Rows
from tla.ascend.programs.block import Operand
from tla.ascend.programs.check import check_program
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.paddings import WAYS as WAYS_OF_UB, Paddings, into_blocks, padded
from tla.ascend.programs.statements import Program, in_gm
from tla.ascend.programs.trace import events
from tla.ascend.transfers.steps import Loop, When
from tla.core.errors import TlaError
from tla.kernels import AscendKernel

from night import NIGHT, amount, some

WHOLE = (64, 64, 64), (64, 64, 64)
TILES = (32, 64, 64), (32, 64, 32)
WAYS = ("PADDING_ND", "PADDING_NZ", "PADDING_BLOCK_ND")


def made(problem, padding, tiles=TILES, **more):
    return block(problem, *tiles, **{"c": float32, "padding": padding, **more})


@pytest.mark.parametrize("seed", range(amount(4, 300)))
def test_a_product_of_padded_matrices_is_numpys(seed):
    rng = np.random.default_rng(seed)
    m, n, k = (int(x) for x in rng.integers(1, amount(60, 300), 3))
    ways = {name: WAYS[int(rng.integers(3))] for name in (("A",), ("B",), ("A", "B"))[seed % 3]}
    kind = (half, float32)[seed % 4 == 3]
    a, b = ((kind, (RowMajor, ColumnMajor)[int(rng.integers(2))]) for _ in "AB")
    more = {"cores": 1 + seed % 3, "bias": seed % 2 == 0, "unit_flag": seed % 5 == 0}
    given = made((m, n, k), ways, a=a, b=b, arch=(AtlasA2, Ascend950)[seed // 2 % 2], **more)
    x, y, z = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), rng.integers(-9, 9, n)
    bias = z if given.plan.bias else None
    np.testing.assert_array_equal(given.execute(x, y, bias), x @ y + (0 if bias is None else z))
    report = given.check()
    assert report.holds, str(report)


BYTES = {"a": int8, "b": (int8, ColumnMajor), "c": int32}
#: What else goes along, of which vector cores do some behind the product; tiles and numbers that it asks for.
ALONG = {
    "an activation": {"activation": "relu", "d": half},
    "over vector cores": {"arch": Ascend950, "split": "SPLIT_M", "stages": {"UB": 2}},
    "both": {"arch": Ascend950, "split": "SPLIT_N", "activation": "relu", "bias": True},
    "scales": {"arch": Ascend950, "a": fp8_e4m3, "b": (fp8_e4m3, ColumnMajor), "scales": True, "tiles": WHOLE},
    "sparse": {**BYTES, "sparse": True, "tiles": WHOLE},
}


@pytest.mark.parametrize("name", ALONG)
@pytest.mark.parametrize("named", [False, True])
def test_what_vector_cores_do_behind_the_product_goes_along(name, named):
    """Of known sizes and of names, in each way that the types have."""
    rng = np.random.default_rng([len(name), named])
    ways = ["PADDING_ND"] if name in ("scales", "sparse") else WAYS
    for _ in range(amount(1, 12)):
        m, n, k = (int(x) for x in rng.integers(1, 100, 3))
        k = -(-k // 8) * 8
        padding = {x: str(rng.choice(ways)) for x in "AB"[rng.integers(2) :]}
        sizes = (*dims("M N", at_most=2**14), dim("K", at_most=2**14, multiple_of=8)) if named else (m, n, k)
        given = made(sizes, padding, **{"cores": 2, **ALONG[name]})
        x, y, z = rng.integers(-3, 4, (m, k)), rng.integers(-3, 4, (k, n)), rng.integers(-9, 10, n)
        more = {"bias": z} if given.plan.bias else {}
        if given.plan.sparse:
            y[np.arange(k) % 4 > 1] = 0
        wanted = x @ y + (z if given.plan.bias else 0)
        if given.plan.scales:
            more["scales"] = np.full((m, -(-k // 32)), 0.5), np.full((-(-k // 32), n), 4.0)
            wanted = wanted * 2
        found = given.execute(x, y, **more)
        np.testing.assert_array_equal(found, np.maximum(wanted, 0) if given.plan.activation else wanted)
        report = given.check()
        assert report.holds, str(report)


def test_rows_that_are_longer_than_a_tile_come_in_parts():
    given = made((3, 16, 50000), {"A": "PADDING_ND"}, ((16, 16, 512), (16, 16, 512)), cores=1)
    assert [s.instruction.parameters["blockLen"] for s in moves(given, 0) if s.src == "A"] == [98304, 1696] * 2
    assert given.paddings.check(0).holds


def moves(given, core):
    return [e.statement for e in events(given.paddings.programs[core]) if isinstance(e.statement, programs.Move)]


def same(s, at):
    """A statement by its places in the memories of the core, whatever its buffers are called."""
    if isinstance(s, programs.Compute):
        return [
            (i.name, [p + at.get(n, 0) for p, n in zip(i.places, s.operands)], i.parameters) for i in s.instructions
        ]
    if isinstance(s, programs.Move):
        i = s.instruction
        return i.name, i.dst + at.get(s.dst, 0), i.src + at.get(s.src, 0), dict(i.parameters)
    return s


@pytest.mark.parametrize(("name", "way", "sizes"), [("NZ 21x70", WAYS[1], (21, 70)), ("ND 5x300", WAYS[0], (5, 300))])
def test_the_statements_are_those_of_catlass(name, way, sizes):
    """All are equal, but that the last rows of PADDING_NZ leave without those behind them."""
    x = padded("A", Operand(half, RowMajor, MakeLayout[half, RowMajor](*sizes)), way, (16, 16))
    tensors = {n: in_gm(n, o.element, o.layout) for n, o in (("A", x.before), ("WA", x.after))}
    own = Paddings(AtlasA2, (x,), tensors, 1, {way: 2048})  # the log's kernel has tiles of 1024 halves, and one core
    logged = [replace(b, address=1 + i << 40) for i, b in enumerate(tensors.values())]
    log = read_log(LOGS[f"PaddingMatrix{name}"]["lines"], AtlasA2, logged)
    at = {b.name: b.address // 2 for b in own.buffers.values()}
    pairs = [(same(a.statement, {}), same(b.statement, at)) for a, b in zip(events(log), events(own.programs[0]))]
    assert len(pairs) == len([*events(log)]) == {"NZ 21x70": 54, "ND 5x300": 16}[name]
    for a, b in (pair for pair in pairs if pair[0] != pair[1]):
        rows = sizes[0] % 16
        assert a[:3] == b[:3]
        assert (a[3]["blockLen"], b[3]["blockLen"]) == (16, rows)


FAULTS = {
    "a tile is not waited for": (programs.WaitFlag, "MTE2_V", 0),
    "blocks leave too soon": (programs.WaitFlag, "V_MTE3", 0),
    "a tile comes too soon": (programs.WaitFlag, "V_MTE2", 2),
    "blocks are written too soon": (programs.WaitFlag, "MTE3_V", 2),
    "a flag is not set": (programs.SetFlag, "V_MTE3", 1),
    "a copy is lost": (programs.Compute, "", 1),
    "a tile is not loaded": (programs.Move, "A", 1),
    "a tile is not stored": (programs.Move, "ubAOut0", 0),
}


@pytest.mark.parametrize("fault", some(FAULTS, 2))
def test_a_fault_of_a_vector_core_is_found(fault):
    given, (kind, what, number) = made((100, 40, 90), {"A": "PADDING_NZ"}), FAULTS[fault]
    program = given.paddings.programs[0]
    body = [e.statement for e in events(program)]
    at = [
        i
        for i, s in enumerate(body)
        if isinstance(s, kind) and what in ("", getattr(s, "event", getattr(s, "src", "")))
    ][number]
    wrong = Paddings(AtlasA2, given.paddings.matrices, given.paddings.tensors, 2, given.paddings.room)
    changed = replace(program, body=(*body[:at], *body[at + 1 :]))
    wrong.__dict__["programs"] = (changed, given.paddings.programs[1])
    assert given.paddings.check(0).holds
    assert not wrong.check(0).holds


def test_the_product_waits_for_all_vector_cores():
    lines = [x.strip() for x in made((40, 20, 70), {"A": "PADDING_NZ"}).text().splitlines()]
    aiv, aic = lines.index("if ASCEND_IS_AIV {"), lines.index("if ASCEND_IS_AIC {")
    meet = ["CrossCoreSetFlag<0x0, PIPE_MTE3>(8)", "CrossCoreWaitFlag(8)", "CrossCoreSetFlag<0x2, PIPE_MTE3>(0)"]
    assert lines[aic - 4 : aic - 1] == [f"AscendC::{x};" for x in meet]
    assert lines[aic + 1] == "AscendC::CrossCoreWaitFlag(0);"
    assert any("AscendC::Copy(ubAOut0" in x for x in lines[aiv:aic])
    assert not any("Mmad" in x for x in lines[aiv:aic])


@pytest.mark.parametrize("tag", [RowMajor, ColumnMajor])
def test_a_tile_of_l1_is_one_block_of_the_workspace(tag):
    """PADDING_BLOCK_ND: each tile of A that a core reads lies in one piece, but for tails."""
    given = made((70, 90, 130), {"A": "PADDING_BLOCK_ND"}, a=(half, tag))
    loads = [e.statement.instruction for e in events(given.programs[0]) if getattr(e.statement, "src", "") == "WA"]
    rows, columns = (32, 64) if tag is RowMajor else (64, 32)
    assert {i.src % (32 * 64) for i in loads} == {0}
    assert {i.parameters["srcDValue"] for i in loads} == {columns}
    assert max(i.reads.runs * i.reads.length for i in loads) == 2 * rows * columns
    layout = given.tensors["WA"].layout
    own = (PaddingRowMajor if tag is RowMajor else PaddingColumnMajor).MakeLayout(half, 70, 130, 32, 64)
    assert layout == own


def test_a_matrix_that_a_host_has_padded_is_read_as_it_lies():
    layout = MakeLayout[half, PaddingRowMajor](70, 130, 32, 64)
    given = block((70, 90, 130), *TILES, a=(half, layout), c=float32)
    x, y = np.arange(70 * 130).reshape(70, 130) % 7, np.arange(130 * 90).reshape(130, 90) % 5
    np.testing.assert_array_equal(given.execute(x, y), x @ y)
    assert given.check().holds
    with pytest.raises(LeafTypeError, match="a layout of A that is not its tag's"):
        given.text("catlass")
    with pytest.raises(LeafTypeError, match="a of the tag PaddingRowMajor without blocks"):
        block((70, 90, 130), *TILES, a=(half, PaddingRowMajor))
    with pytest.raises(LeafTypeError, match="a of the tag PaddingRowMajor without blocks"):
        block(dims("M N K"), *TILES, a=(half, PaddingRowMajor))


def test_as_a_kernel():
    k = AscendKernel(made((33, 20, 70), {"B": "PADDING_ND"}))
    x, y, c = np.ones((33, 70)), np.ones((70, 20)), np.zeros((33, 20), np.float32)
    k.run(x, y, c)
    report = k.check()
    assert (c == 70).all()
    assert report.holds
    assert "vector core 0" in str(report)
    assert dict(k.source("ascendc").memories)["UB"] == 2 * 96 * 1024
    assert k.source("ascendc").parameters == ("A_gm", "B_gm", "C_gm", "WB_gm")


def test_what_is_not_padded_is_refused():
    for match, problem, padding, more in (
        ("one of PADDING_ND, PADDING_NZ", (32, 32, 32), {"A": "PADDING_BLOCK"}, {}),
        ("one of PADDING_ND, PADDING_NZ", (32, 32, 32), {"A": ["PADDING_ND"]}, {}),
        ("a way for A, for B, or for both", (32, 32, 32), {"C": "PADDING_ND"}, {}),
        ("a way for A, for B, or for both", (32, 32, 32), "PADDING_ND", {}),
        ("A of the tag zN", (32, 32, 32), {"A": "PADDING_ND"}, {"a": (half, zN)}),
        ("PADDING_NZ of int8", (32, 32, 32), {"A": "PADDING_NZ"}, {"a": int8, "b": (int8, ColumnMajor), "c": int32}),
        ("PADDING_BLOCK_ND of a block with scales", (32, 32, 32), {"A": "PADDING_BLOCK_ND"}, {**ALONG["scales"]}),
        ("a sparse B of the tag PaddingColumnMajor", (32, 32, 32), {"B": "PADDING_BLOCK_ND"}, {**ALONG["sparse"]}),
        ("PADDING_NZ of int8", dims("M N K"), {"A": "PADDING_NZ"}, {"a": int8, "b": (int8, ColumnMajor), "c": int32}),
        ("one of PADDING_ND, PADDING_NZ", dims("M N K"), {"A": ["PADDING_ND"]}, {}),
    ):
        with pytest.raises(LeafTypeError, match=match):
            made(problem, padding, **more)
    for way in WAYS:  # of half a byte none, of known sizes or not
        for problem in ((32, 32, 64), (32, dim("N"), dim("K", multiple_of=2))):
            sides = {"a": int4b, "b": (int4b, ColumnMajor), "c": int32, "padding": {"A": way}}
            with pytest.raises(LeafTypeError, match=f"{way} of int4b"):
                block(problem, (64, 64, 64), (64, 64, 64), **sides)
    given = made((32, 32, 32), {"A": "PADDING_ND"})
    for language in ("catlass", "dsl"):
        with pytest.raises(LeafTypeError, match="a block with padding="):
            given.text(language)
    with pytest.raises(LeafTypeError, match="plan with padding="):
        plan((64, 64, 64), padding={"A": "PADDING_ND"})
    assert made((32, 32, 32), {}).paddings is None
    assert made((32, 48, 32), {"A": "PADDING_NZ"}, a=bf16, b=bf16).check().holds


# ------------------------------------------------------------------------------------------------ of any size

#: What is laid out anew, and how the matrices lie.
ANY = {
    "A": {"padding": {"A": "PADDING_ND"}, "cores": 2},
    "B": {"padding": {"B": "PADDING_ND"}, "b": (float32, ColumnMajor), "a": float32, "bias": True},
    "both": {
        "padding": dict.fromkeys("AB", "PADDING_ND"),
        "a": (half, ColumnMajor),
        "arch": Ascend950,
        "unit_flag": True,
    },
    "bytes": {
        "padding": dict.fromkeys("AB", "PADDING_ND"),
        "a": int8,
        "b": (int8, ColumnMajor),
        "c": int32,
        "cores": 3,
    },
    "fractals": {"padding": {"A": "PADDING_NZ"}, "cores": 2, "bias": True},
    "fractals of columns": {
        "padding": {"A": "PADDING_ND", "B": "PADDING_NZ"},
        "a": (float32, ColumnMajor),
        "b": (float32, ColumnMajor),
    },
    "blocks": {"padding": {"B": "PADDING_BLOCK_ND"}, "arch": Ascend950, "cores": 2},
    "blocks that end inside of parts": {"padding": {"A": "PADDING_BLOCK_ND"}, "tiles": ((48, 64, 96), (48, 64, 32))},
    "fractals and blocks": {
        "padding": {"A": "PADDING_NZ", "B": "PADDING_BLOCK_ND"},
        "b": (half, ColumnMajor),
        "cores": 2,
        "unit_flag": True,
    },
    "blocks and fractals": {
        "padding": {"A": "PADDING_BLOCK_ND", "B": "PADDING_NZ"},
        "a": (bf16, ColumnMajor),
        "b": bf16,
        "bias": True,
        "stages": {"L1": 3, "L0C": 2},
        "swizzle": GemmIdentityBlockSwizzle[2, 1],
    },
    "bytes in blocks": {
        "padding": dict.fromkeys("AB", "PADDING_BLOCK_ND"),
        "a": int8,
        "b": (int8, ColumnMajor),
        "c": int32,
        "cores": 3,
    },
    "slices": {
        "padding": {"A": "PADDING_BLOCK_ND", "B": "PADDING_NZ"},
        "splitkFactor": 3,
        "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0],
        "cores": 2,
    },
}


@pytest.fixture
def small(monkeypatch):
    """Tiles of 1024 bytes: with few rows, and rows in parts."""
    for way in WAYS:
        monkeypatch.setitem(WAYS_OF_UB, way, 1024)


def any_size(name, **facts):
    return made(dims("M N K", **{"at_most": 2**29, **facts}), **ANY[name])


@pytest.mark.parametrize("name", some(ANY, 2))
def test_of_any_size_it_is_numpys_and_has_the_statements_of_each_size(name, small):
    b, rng = any_size(name), np.random.default_rng(8)
    sizes = [
        *amount([(3, 2, 1100)], [(1, 1, 1), (3, 2, 1100), (70, 65, 40)]),
        *rng.integers(1, 90, (amount(1, 60), 3)).tolist(),
    ]
    for m, n, k in sizes:
        x, y, z = rng.integers(-4, 5, (m, k)), rng.integers(-4, 5, (k, n)), rng.integers(-9, 9, n)
        bias = z if b.plan.bias else None
        np.testing.assert_array_equal(b.execute(x, y, bias), x @ y + (0 if bias is None else z))
        known = b.at(M=m, N=n, K=k)
        own = b.paddings.at(known.paddings)
        for core, program in enumerate(known.programs):
            assert [*stated(*b.program_at(known, core))] == [*stated(program, {})]
        assert len(own.programs) == len(known.paddings.programs) == 2 * b.cores
        for core, program in enumerate(known.paddings.programs):
            assert [*stated(own.programs[core], own.values(core))] == [*stated(program, {})]


@pytest.mark.parametrize("name", some(ANY, 4))
def test_of_any_size_it_is_proved(name, request):
    """By day with small tiles of UB, whose classes are small too; by night with those that there are."""
    if not NIGHT:
        request.getfixturevalue("small")
    report = any_size(name).check()
    assert report.holds, str(report)
    assert len(report.proved) == 5
    assert not report.conditions


@pytest.mark.parametrize("way", WAYS)
def test_a_tile_that_may_not_fit_ub_is_refused(way, monkeypatch):
    """That each tile fits is proved: one block more of each row, and of a name's value, is refused."""
    x = _Rows(any_size({"PADDING_ND": "A", "PADDING_NZ": "fractals"}.get(way, "blocks")).paddings.matrices[0])
    _require_room(x)
    x.most -= x.c0
    with pytest.raises(Unproven, match="blocks of 32 bytes in UB"):
        _require_room(x)
    with pytest.raises(Unproven, match="padUnits"):
        _assign(x.units, x.room + 1)


def test_a_copy_of_other_rows_or_blocks_is_refused():
    x = _Rows(any_size("fractals").paddings.matrices[0])
    number = dim("number", at_least=0, at_most=1)
    _require_copy(x, copy := into_blocks(half, number, x.blocks), number)
    for field in ("dstBlkStride", "srcBlkStride", "dstRepStride", "srcRepStride"):
        wrong = replace(copy, parameters={**copy.parameters, field: copy.parameters[field] + 1})
        with pytest.raises(Unproven, match="8 rows of A into blocks"):
            _require_copy(x, wrong, number)
    with pytest.raises(Unproven, match="8 rows of A into blocks"):
        _require_copy(x, copy, number + 1)


def test_fractals_of_more_rows_than_a_field_has_come_block_by_block():
    """From 65536 rows on a gap fits no field: each column of blocks is moved by itself, as in CATLASS."""
    rows, columns, core, count = 65537, 40, 4095, 4096
    (x,) = (y.of((rows, columns)) for y in any_size("fractals").paddings.matrices)
    tensors = {n: in_gm(n, o.element, o.layout) for n, o in (("A", x.before), ("WA", x.after))}
    known = Paddings(AtlasA2, (x,), tensors, count, WAYS_OF_UB)
    body = tuple(known._statements(x, core, known._moves))
    program = Program(AtlasA2, {**tensors, **known.buffers}, body)
    own = any_size("fractals").paddings.at(known)
    issued = [*stated(own.programs[core], own.values(core))]
    assert issued == [*stated(program, {})]
    assert [x[3]["blockCount"] for x in issued if x[0] == "DataCopy"] == [1] * 3
    assert check_program(program, known.results(core)).holds


def test_facts_of_sizes_and_what_a_host_has_to_ask(small):
    (s,) = dims("S", multiple_of=8, at_most=64)
    found, report = made((s, s, s), **ANY["both"]).paddings.check()
    assert (found, report.holds) == ((), True)
    assert report.proved[1].endswith("A of (8,8), A of (64,64), A of (48,48), B of (8,8), B of (64,64), B of (48,48)")
    assert made((70, 20, dims("K", at_least=100)[0]), **ANY["A"]).check().holds
    assert [str(c) for c in made(dims("M N K"), **ANY["A"]).conditions] == [
        "K <= 2147483392",
        "N <= 4294967295",
    ]
    b = made(dims("M N K"), **ANY["A"])
    with pytest.raises(RangeError, match="K <= 2147483392"):
        b.at(M=1, N=1, K=2**31)


@pytest.mark.parametrize("name", ["both", "fractals and blocks"])
def test_every_fault_of_a_vector_core_of_any_size_is_found(name, small):
    """A statement is left out, or a name has another value, of a matrix or of both: it shows."""
    b = any_size(name)
    assert not b.paddings.check()[0]
    for which in "AB":
        body = b.paddings.bodies[which]
        numbered = [(i, s) for i, s in enumerate(flat(body)) if not isinstance(s, (Loop, When))]
        assert len(numbered) > 20
        # of a larger span the last tile has no rows: nothing is moved; one stage for all tiles, from any one on, is right
        assigned = [(i, s) for i, s in numbered if isinstance(s, programs.Assign)]
        staged = [i for i, s in assigned if str(s.variable).endswith("Stage")]
        changes = [(i, s, ()) for i, s in numbered if i != staged[-1]]
        changes += [
            (i, s, (s._replace(value=s.value + 1),))
            for i, s in assigned
            if "Span" not in str(s.variable) and i != staged[0]
        ]
        changes += [(i, s, (s._replace(id=1 - s.id),)) for i, s in numbered if isinstance(s, programs.SetFlag)]
        for i, s, instead in some(changes, 12):
            wrong = AnyPaddings(b.plan.arch, b.paddings.matrices)
            wrong.__dict__["bodies"] = {
                **b.paddings.bodies,
                which: changed(body, i, lambda _, instead=instead: instead),
            }
            assert fails(wrong), s


def fails(paddings):
    try:
        findings, report = paddings.check()
    except (TlaError, KeyError, ZeroDivisionError):
        return True
    return bool(findings) or not report.holds


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("name", ["B", "fractals of columns", "bytes in blocks"])
def test_the_text_for_any_size_does_what_the_block_does(name, small, tmp_path):
    """Vector cores, compiled once, for sizes of which some leave cores without rows: their logs are checked."""
    b = any_size(name)
    call = OF_ANY_SIZE.format(", ".join(places_of(t for t in b.program.buffers.values() if t.position == "GM")))
    for side in ("AIV", "AIC"):
        program = built_side(b.text(), "AtlasA2", tmp_path, side, call)
        for m, n, k in [(1, 2, 70), (9, 33, 1100), (70, 65, 40)]:
            known = b.at(M=m, N=n, K=k)
            for core in range(b.cores if side == "AIC" else 2 * b.cores):
                lines = subprocess.run(
                    [program, *map(str, (core, b.cores, m, n, k))], capture_output=True, text=True, check=True
                ).stdout.splitlines()
                results = [known.result(known.schedule.table[core])] if side == "AIC" else known.paddings.results(core)
                report = check(lines, known.tensors, results)
                assert report.holds, (side, core, (m, n, k), str(report))


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("way", WAYS[1:])
def test_the_text_compiles_and_logs_what_the_programs_are(way, tmp_path):
    """Both sides of the kernel, compiled by CATLASS's host stubs: what a core logs is checked like any other's."""
    given = made((21, 32, 70), {"A": way}, a=float32, b=float32)
    call = f"tla_log::block_index() = 0; kernel_main({', '.join(places_of(given.tensors.values()))});"
    for side, result in (("AIV", None), ("AIC", given.result(given.schedule.table[0]))):
        program = built_side(given.text(), "AtlasA2", tmp_path, side, call)
        lines = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
        tiles = given.paddings.matrices[0].tiles(given.paddings.room[way], 0, given.paddings.count)
        results = [result] if result else [Copied("WA", "A", tuple(tiles))]
        report = check(lines, given.tensors, results)
        assert report.holds, (side, str(report))
