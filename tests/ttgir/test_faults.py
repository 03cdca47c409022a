"""Forty seeded faults: what the report or the advice says of each, and that it says nothing of the programs
that are mended."""

import json
import re

import pytest

from tla.apps.cli import main
from tla.ttgir import advise, costs, faults, program_of

from night import NIGHT, some
from places import ROOT
from seeded import ROWS, SEEDED, looped, module, operand, swizzled, tma, viewed


def said(text):
    """The kinds of what is said of a program: of advice, faults, and what is refused."""
    found = costs(program_of(text))
    return (
        {a.kind for a in advise(found)}
        | {f.kind for f in faults(found)}
        | {"refused" for row in found.rows if row.refused}
    )


@pytest.mark.parametrize("seeded", some(SEEDED, 3), ids=lambda s: s.name)
def test_a_fault_is_found(seeded):
    assert seeded.found_by in said(seeded.fault)


@pytest.mark.parametrize("seeded", some(SEEDED, 2), ids=lambda s: s.name)
def test_the_mended_program_is_not_accused(seeded):
    assert said(seeded.mended) == set()


def test_there_are_forty_and_the_page_lists_them():
    page = (ROOT / "docs" / "ttgir.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| \d+ \| (.*?) \| (.*?) \| `(.*?)` \|$", page, re.MULTILINE)
    assert len(SEEDED) == 40
    assert listed == [(s.name, s.after, s.found_by) for s in SEEDED]


def test_the_issues_are_among_them():
    issues = (
        "tilelang#2630 tilelang#2642 tilelang#2578 triton#9661 triton#8521 iree#24428 iree#23778 vllm#50084 "
        "rocm-libraries#10845 cutlass#3172"
    )
    assert {s.after for s in SEEDED if s.after} == {*issues.split()}


def test_the_place_where_writer_and_reader_differ():
    """The offset and both elements, against a table of the two layouts by the definition of the swizzle."""
    text = viewed("64x64", "f16", swizzled(8, 1, 8), swizzled(8, 1, 4), ROWS)
    (fault,) = faults(costs(program_of(text)))

    def element(offset, most):
        row, column = divmod(offset, 64)
        return row, column // 8 % 8 ^ row % most, column % 8

    at = next(n for n in range(64 * 64) if element(n, 8) != element(n, 4))
    (row, first, rest), (_, other, _) = element(at, 8), element(at, 4)
    assert (
        f"at offset {at} the one has ({row}, {first * 8 + rest}), the other ({row}, {other * 8 + rest})" in fault.what
    )


def test_a_view_that_is_written_anew_is_no_fault():
    one, other = swizzled(8, 1, 8), swizzled(8, 1, 4)
    text = viewed("64x64", "f16", one, other, ROWS)
    store = f"  ttg.local_store %x, %v : tensor<64x64xf16, {ROWS}> -> !ttg.memdesc<64x64xf16, {other}, #smem, mutable>"
    lines = text.splitlines()
    assert not faults(costs(program_of("\n".join([*lines[:-2], store, *lines[-2:]]))))


def test_what_a_branch_makes_is_not_there_behind_it():
    """A conversion in one branch is no reason to leave out that of the other."""
    turned = "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>"
    types = f"tensor<64x64xf16, {ROWS}> -> tensor<64x64xf16, {turned}>"
    text = module(f"""  scf.if %c {{
    %a = ttg.convert_layout %w : {types}
  }} else {{
    %b = ttg.convert_layout %w : {types}
  }}""")
    assert "repeat" not in said(text)


def test_a_value_of_the_loop_stays_in_it():
    turned = "#ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>"
    inside = f"      %y = ttg.convert_layout %acc : tensor<64x64xf16, {ROWS}> -> tensor<64x64xf16, {turned}>"
    assert said(looped(inside)) == set()


def test_sizes_that_16_does_not_divide_are_not_asked_to_be_divisible():
    seeded = next(s for s in SEEDED if s.name.startswith("a mask of a size"))
    for size, divides in ((1024, True), (1000, False)):
        assert ("divisibility" in {a.kind for a in advise(costs(program_of(seeded.fault), {"N": size}))}) == divides


def test_a_size_that_is_1_is_a_constant():
    """A stride that the caller has as 1, and the kernel as an argument."""
    seeded = next(s for s in SEEDED if s.name.startswith("a load down"))
    text = seeded.mended.replace("arith.addi %u, %b1", "arith.addi %u, %b2").replace(
        "  %o =",
        "  %s2 = tt.splat %N : i32 -> T\n  %b2 = arith.muli %b1, %s2 : T\n  %o =".replace(
            "T", f"tensor<64x64xi32, {ROWS}>"
        ),
    )
    (advice,) = (a for a in advise(costs(program_of(text), {"N": 1})) if a.kind == "constant")
    assert advice.change == "N: tl.constexpr"
    assert advice.before == 8 * advice.after


def test_the_shell_says_what_is_wrong(capsys, tmp_path):
    path = tmp_path / "kernel.ttgir"
    path.write_text(viewed("64x64", "f16", swizzled(8, 1, 8), swizzled(8, 1, 4), ROWS))
    assert main(["ttgir", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "wrong: line 4, ttg.memdesc_reinterpret: written as one layout, read as another: at offset 256" in out
    assert "fix: read %m as it was written" in out
    assert main(["ttgir", str(path), "--json"]) == 0
    assert [f["kind"] for f in json.loads(capsys.readouterr().out)["faults"]] == ["layouts"]
    path.write_text(
        tma("64x32", "f16", "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>")
    )
    assert main(["ttgir", str(path)]) == 0
    assert "rows of 64 bytes under a swizzle of 128" in " ".join(capsys.readouterr().out.split())


def test_operands_of_another_parent():
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], instrShape = [16, 8]}>"
    other = mma.replace("[2, 2]", "[4, 1]")
    for a, b, what in (
        (operand(1, mma, 2), operand(0, mma, 2), "opIdx 1 and 0"),
        (operand(0, other, 2), operand(1, mma, 2), "parent"),
    ):
        text = module(
            f"  %d = tt.dot %a, %b, %c : tensor<64x64xf16, {a}> * tensor<64x64xf16, {b}> -> tensor<64x64xf32, {mma}>"
        )
        (fault,) = faults(costs(program_of(text)))
        assert what in fault.what


@pytest.mark.skipif(not NIGHT, reason="compiles with Triton: pytest --night")
def test_triton_compiles_what_divisibility_promises(monkeypatch):
    """softmax of 512 columns: with 16 dividing every size, Triton has the global instructions that the advice says."""
    pytest.importorskip("triton")
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "bench" / "triton_programs"))
    import collect

    given = dict(collect.PROGRAMS["softmax_odd_sm80"])
    odd = collect.compiled(**given).asm
    (advice,) = (a for a in advise(costs(program_of(odd["ttgir"]))) if a.kind == "divisibility")
    even = collect.compiled(**{**given, "plain": ()}).asm["ptx"]
    for text, count in ((odd["ptx"], advice.before), (even, advice.after)):
        assert len(re.findall(r"(?:ld|st)\.global", text)) == count
