"""Blocks whose matrices vector cores lay out anew: against numpy, against what CATLASS's paddings have logged, and with
faults, each of which is found."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from catlass_examples import available, built
from catlass_logs import LOGS

from tla import LeafTypeError, MakeLayout, dims
from tla.ascend import (
    Ascend950,
    AtlasA2,
    ColumnMajor,
    Copied,
    PaddingColumnMajor,
    PaddingRowMajor,
    RowMajor,
    bf16,
    block,
    check,
    float32,
    half,
    int8,
    int32,
    plan,
    programs,
    zN,
)
from tla.ascend.programs.block import Operand
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.paddings import Paddings, padded
from tla.ascend.programs.statements import in_gm
from tla.ascend.programs.trace import events
from tla.kernels import AscendKernel

from night import amount, some

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
        ("a block with split=", (32, 32, 32), {"A": "PADDING_ND"}, {"arch": Ascend950, "split": "SPLIT_M"}),
        ("a problem of numbers", dims("M N K"), {"A": "PADDING_ND"}, {}),
    ):
        with pytest.raises(LeafTypeError, match=match):
            made(problem, padding, **more)
    given = made((32, 32, 32), {"A": "PADDING_ND"})
    for language in ("catlass", "dsl"):
        with pytest.raises(LeafTypeError, match="a block with padding="):
            given.text(language)
    with pytest.raises(LeafTypeError, match="plan with padding="):
        plan((64, 64, 64), padding={"A": "PADDING_ND"})
    assert made((32, 32, 32), {}).paddings is None
    assert made((32, 48, 32), {"A": "PADDING_NZ"}, a=bf16, b=bf16).check().holds


@pytest.mark.skipif(available() is not None, reason=str(available()))
@pytest.mark.parametrize("way", WAYS[1:])
def test_the_text_compiles_and_logs_what_the_programs_are(way, tmp_path):
    """Both sides of the kernel, compiled by CATLASS's host stubs: what a core logs is checked like any other's."""
    given = made((21, 32, 70), {"A": way}, a=float32, b=float32)
    call = ", ".join(f"reinterpret_cast<uint8_t *>({t.address:#x}ull)" for t in given.tensors.values())
    text = "#ifndef __global__\n#define __global__\n#endif\n" + given.text()
    text += f"int main() {{ tla_log::block_index() = 0; kernel_main({call}); }}"
    for side, result in (("AIV", None), ("AIC", given.result(given.schedule.table[0]))):
        told = "".join(
            f"#undef ASCEND_IS_{x}\n#define ASCEND_IS_{x} constexpr ({int(x == side)})\n" for x in ("AIC", "AIV")
        )
        lines = subprocess.run(
            [built(told + text, "AtlasA2", tmp_path, side, side)], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        tiles = given.paddings.matrices[0].tiles(given.paddings.room[way], 0, given.paddings.count)
        results = [result] if result else [Copied("WA", "A", tuple(tiles))]
        report = check(lines, given.tensors, results)
        assert report.holds, (side, str(report))
