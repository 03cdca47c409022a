"""The report of `tla hlo FILE -o report.html`, and the summary of `tla hlo FILE`: each against the account of
xla.memory."""

import html
import json
import re

import pytest

from tla import xla
from tla.apps.cli import main
from tla.apps.hlo_report import stacked

from night import some
from truth import DATA

PROGRAMS = [p for p in sorted((DATA / "hlo").glob("*__*.txt")) if not p.name.startswith("doc")]


@pytest.mark.parametrize("path", some(PROGRAMS, 2), ids=lambda p: p.stem)
@pytest.mark.parametrize("most", [3, 60])
def test_the_stack_is_the_curve_and_each_buffer_has_its_height(path, most):
    memory = xla.memory(path)
    for space, curve in memory.curves.items():
        heights = [0] * len(curve)
        spans = {step: [] for step in range(len(curve))}
        for band in stacked(memory, space, most):
            for start, end, base, count in band.parts:
                assert band.buffer is None or (
                    count == band.buffer.bytes and band.buffer.first <= start < end <= band.buffer.last + 1
                )
                for step in range(start, end):
                    heights[step] += count
                    spans[step].append((base, base + count))
        assert heights == [*curve]
        for found in spans.values():  # one on the other, without a gap
            assert [a for a, _b in sorted(found)] == [0, *(b for _a, b in sorted(found))][: len(found)]


@pytest.mark.parametrize("path", some(PROGRAMS, 2), ids=lambda p: p.stem)
def test_the_report_has_every_buffer_of_the_peak_and_nothing_that_runs(path, tmp_path, capsys):
    out = tmp_path / "report.html"
    assert main(["hlo", str(path), "-o", str(out)]) == 0
    memory, text = xla.memory(path), out.read_text(encoding="utf-8")
    space = min(memory.peak)
    assert f"{memory.peak[space].bytes:,} bytes at its peak" in capsys.readouterr().out
    assert not re.search(r"<script|https?:|javascript|onload|src=", text)
    assert "default-src 'none'" in text
    rows = dict(re.findall(r'<tr id="(b\d+)">(.*?)</tr>', text))
    assert {*re.findall(r'href="#(b\d+)"', text)} <= {*rows}
    for b in memory.peak[space].buffers[:200]:
        assert any(
            f">{b.bytes:,}<" in row and f"<td>{html.escape(b.name)}<" in row and "<td>yes<" in row
            for row in rows.values()
        ), b.name


def test_texts_of_a_program_are_no_markup(tmp_path):
    """Neither in the table nor in the picture; escapes of a terminal neither."""
    name = r'op_name="<img src=x onerror=alert(1)>\033[31m"'
    path, out = tmp_path / "p.txt", tmp_path / "r.html"
    path.write_text(
        "HloModule m, is_scheduled=true\nENTRY e {\n  p = f32[256]{0} parameter(0)\n"
        f"  ROOT n = f32[256]{{0}} negate(p), metadata={{{name}}}\n}}\n"
    )
    assert main(["hlo", str(path), "-o", str(out)]) == 0
    text = out.read_text(encoding="utf-8")
    assert "<img" not in text
    assert "&lt;img src=x" in text
    assert "\033" not in text


@pytest.mark.parametrize("path", some(PROGRAMS, 2), ids=lambda p: p.stem)
def test_the_summary_fits_a_small_screen_and_is_the_account(path, capsys, monkeypatch):
    monkeypatch.setattr("tla.apps.terminal.width", lambda: 80)
    assert main(["hlo", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 22
    assert max(map(len, lines)) <= 80
    assert main(["hlo", str(path), "--json"]) == 0
    value, memory = json.loads(capsys.readouterr().out), xla.memory(path)
    assert {s["space"]: (s["bytes"], s["waste_bytes"]) for s in value["spaces"]} == {
        p.space: (p.bytes, p.waste) for p in memory.peak.values()
    }
    first = memory.peak[min(memory.peak)]
    assert [b["bytes"] for b in value["buffers"]] == sorted((b.bytes for b in first.buffers), reverse=True)[:5]
    assert [a["saved"] for a in value["advice"]] == [a.saved for a in xla.advise(memory, first.space)][:3]


def test_the_capacity_of_the_chip_is_said_where_a_dump_has_it(tmp_path, capsys):
    program = next(p for p in PROGRAMS if "fp8_matmul" in p.name)
    (tmp_path / "m.after_optimizations.txt").write_text(program.read_text())
    (tmp_path / "m.target_arguments.txt").write_text(
        'version: TPU_VERSION_VIPERFISH\nvariant: "lite"\n'
    )  # which is v5e
    assert main(["hlo", str(tmp_path / "m.after_optimizations.txt"), "--json"]) == 0
    (hbm, *_others) = json.loads(capsys.readouterr().out)["spaces"]
    assert hbm["capacity"] == int(15.75 * 2**30)
    assert main(["hlo", str(tmp_path / "m.after_optimizations.txt")]) == 0
    assert "0.0% of 15.75 GiB" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "fix"),
    [(["-o", "x.svg"], "--by peak"), (["-o", "x.txt"], "-o x.txt.html"), (["--advise", "-o", "x.html"], "leave")],
)
def test_a_report_elsewhere_is_refused(options, fix, capsys):
    assert main(["hlo", str(PROGRAMS[0]), *options]) == 1
    assert fix in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [[], ["--by", "peak"], ["--by", "shape"], ["--by", "operation"], ["--by", "relayout"], ["--advise"], ["--json"]],
)
def test_no_form_of_the_command_prints_what_a_terminal_obeys(tmp_path, capsys, given):
    """Every form: a name in the file may say to clear the screen, or set its title."""
    file = tmp_path / "module.txt"
    file.write_text(PROGRAMS[0].read_text().replace('op_name="', 'op_name="\033[2J\x1b]0;pwn\x07'))
    assert "\x1b" in file.read_text()
    assert main(["hlo", str(file), *given]) == 0
    said = capsys.readouterr()
    assert not {*(said.out + said.err)} & {"\x1b", "\x07"}


TABLE = """HloModule m, is_scheduled=true

ENTRY %main (t: f32[1000,3], w: f32[8,128]) -> f32[8,128] {
  %t = f32[1000,3]{0,1:T(4,128)} parameter(0), metadata={op_name="table"}
  %w = f32[8,128]{1,0:T(8,128)} parameter(1)
  %s = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%w)
  %c = f32[1000,3]{1,0:T(8,128)S(1)} copy(%t)
  %d = f32[8,128]{1,0:T(8,128)S(1)} copy-done(%s)
  %n = f32[8,128]{0,1:T(8,128)S(1)} copy(%d)
  ROOT %g = f32[8,128]{1,0:T(8,128)} custom-call(%c, %n), custom_call_target="gather"
}
"""


def test_the_summary_and_advice_say_what_moves_cost_and_which_argument_would_not_be_moved(tmp_path, capsys):
    """They looked at no moves: a table of 3 columns that is brought into the order of its gather in every step."""
    path = tmp_path / "table.txt"
    path.write_text(TABLE)
    # Read 1024 columns of 4 rows, write 1000 rows of 128 lanes; then 8 rows of 128, and 128 rows of 128.
    table, other, prefetched = 4 * 1024 * 4 + 1000 * 128 * 4, 4096 + 128 * 128 * 4, 2 * 4096
    for options in ([], ["--advise"]):
        assert main(["hlo", str(path), *options]) == 0
        out = " ".join(capsys.readouterr().out.split())
        assert f"moves: {table + other:,} bytes by those that wait" in out
        assert f"{prefetched:,} by prefetches" in out
        takes = f"which takes {1000 * 128 * 4:,} bytes, not {4 * 1024 * 4:,}"
        assert f"{table:,} less: t as f32[1000,3]{{1,0:T(8,128)}}, {takes}" in out
    assert main(["hlo", str(path), "--json"]) == 0
    moves = json.loads(capsys.readouterr().out)["moves"]
    assert (moves["waited"], moves["prefetched"]) == (table + other, prefetched)
    assert [(a["name"], a["from"], a["moved"]) for a in moves["arguments"]] == [("t", "table", table)]
    path.write_text(TABLE.replace("{1,0:T(8,128)S(1)} copy(%t)", "{0,1:T(4,128)S(1)} copy(%t)"))
    assert main(["hlo", str(path)]) == 0
    assert " less: " not in capsys.readouterr().out  # a copy that changes the space alone


def test_numbers_and_short_words_of_a_comparison_stay_on_their_line(tmp_path):
    """In a narrow column a browser broke -8,388,608 and `gone` in two."""
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(TABLE)
    two.write_text(TABLE.replace("f32[1000,3]", "f32[2000,3]"))
    page = tmp_path / "page.html"
    assert main(["hlo", str(two), "--against", str(one), "-o", str(page)]) == 0
    text = page.read_text()
    table = text[text.index("buffers that differ") :].partition("</table>")[0]
    cells = re.findall(r"<td([^>]*)>([^<]*)", table)
    assert cells
    assert all(kind == ' class="n"' for kind, cell in cells if re.fullmatch(r"[-+][0-9,]+", cell))
    assert {kind for kind, cell in cells if cell in ("new", "gone", "larger", "smaller", "layout")} == {' class="s"'}


@pytest.mark.parametrize("options", [[], ["-o", "page.html"], ["--by", "shape"], ["--advise"]])
def test_of_a_file_of_another_stage_the_one_that_runs_is_named_once(options, tmp_path, capsys, monkeypatch):
    """Before buffer assignment nothing is in VMEM; its summary, and its page, were those of the program as it runs."""
    monkeypatch.chdir(tmp_path)
    for stage in ("after_optimizations", "after_optimizations_before_buffer_assignment"):
        (tmp_path / f"module_0001.jit_f.cl_1.{stage}.txt").write_text(TABLE)
    assert main(["hlo", "module_0001.jit_f.cl_1.after_optimizations_before_buffer_assignment.txt", *options]) == 0
    said = "not the program as it runs; that is module_0001.jit_f.cl_1.after_optimizations.txt"
    assert capsys.readouterr().err.count(said) == 1
    assert main(["hlo", "module_0001.jit_f.cl_1.after_optimizations.txt", *options]) == 0
    assert said not in capsys.readouterr().err
