import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import tla
from tla import xla
from tla.apps import cli, terminal
from tla.apps.cli import EXAMPLES, WHOLE, main
from tla.xla.programs import text_file

from night import some
from truth import DATA

BIG = "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)}"


def run(capsys, *argv):
    code = main(argv)
    out = capsys.readouterr()
    return code, out.out, out.err


def test_lower_prints_the_layout_first(capsys):
    code, out, err = run(capsys, "lower", BIG)
    assert (code, err) == (0, "")
    assert out == (
        "(_8,_1,(_2,_4,_160),(_128,_128)):(_20971520,_0,(_1,_256,_131072),(_2,_1024))\n"
        "\n"
        "dim  extent  padded  extent:stride, fastest first\n"
        "  0       8       8  8:20971520 untiled\n"
        "  1       1       1  1:0\n"
        "  2    1280    1280  2:1 packing, 4:256 sublane, 160:131072 tile\n"
        "  3   16384   16384  128:2 lane, 128:1024 tile\n"
        "\n"
        "elements  167,772,160, 167,772,160 with padding, 16 bits each\n"
        "bytes     335,544,320 (320 MiB)\n"
        "waste     0 bytes, 0.0 %\n"
    )


def test_lower_json(capsys):
    code, out, _ = run(capsys, "lower", "f32[3,5]{1,0:T(8,128)}", "--json")
    value = json.loads(out)
    assert code == 0
    assert value["layout"] == "(_8,_128):(_128,_1)"
    assert value["origin_shape"] == "(_3,_5)"
    assert value["dimensions"][0] == {
        "extent": 3,
        "padded": 8,
        "digits": [{"extent": 8, "stride": 128, "role": "sublane"}],
    }
    assert (value["elements"], value["padded_elements"], value["bytes"], value["waste_bytes"]) == (15, 1024, 4096, 4036)


ZN = """\
     0  1  2  3    4  5  6  7    8  9 10 11
  ┌─────────────┬─────────────┬─────────────┐
0 │  0  1  2  3 │ 32 33 34 35 │ 64 65 66 67 │
1 │  4  5  6  7 │ 36 37 38 39 │ 68 69 70 71 │
2 │  8  9 10 11 │ 40 41 42 43 │ 72 73 74 75 │
3 │ 12 13 14 15 │ 44 45 46 47 │ 76 77 78 79 │
  ├─────────────┼─────────────┼─────────────┤
4 │ 16 17 18 19 │ 48 49 50 51 │ 80 81 82 83 │
5 │ 20 21 22 23 │ 52 53 54 55 │ 84 85 86 87 │
6 │ 24 25 26 27 │ 56 57 58 59 │ 88 89 90 91 │
7 │ 28 29 30 31 │ 60 61 62 63 │ 92 93 94 95 │
  └─────────────┴─────────────┴─────────────┘
"""
PADDED = """\
((_2,_2),(_2,_3)):((_2,_12),(_1,_4))
mode 0: t tile 2, s sublane 2
mode 1: t tile 3, l lane 2
           0  1    2  3    4  5
          t0 t0   t1 t1   t2 t2
          l0 l1   l0 l1   l0 l1
        ┌───────┬───────┬───────┐
0 t0 s0 │  0  1 │  4  5 │  8  . │
1 t0 s1 │  2  3 │  6  7 │ 10  . │
        ├───────┼───────┼───────┤
2 t1 s0 │ 12 13 │ 16 17 │ 20  . │
3 t1 s1 │  .  . │  .  . │  .  . │
        └───────┴───────┴───────┘
"""


@pytest.mark.parametrize(
    ("layout", "grid"),
    [
        ("((4,2),(4,3)):((4,16),(1,32))", ZN),
        ("(2,3):(3,1)", "    0 1 2\n  ┌───────┐\n0 │ 0 1 2 │\n1 │ 3 4 5 │\n  └───────┘\n"),
        ("4:2", "   0 1 2 3\n ┌─────────┐\n │ 0 2 4 6 │\n └─────────┘\n"),
        ("():()", " ┌───┐\n │ 0 │\n └───┘\n"),
        (
            "(2,2,2):(1,2,4)",
            "(_,_,0)\n    0 1\n  ┌─────┐\n0 │ 0 2 │\n1 │ 1 3 │\n  └─────┘\n\n(_,_,1)\n    0 1\n  ┌─────┐\n0 │ 4 6 │\n1 "
            "│ 5 7 │\n  └─────┘\n",
        ),
        ("(0,2):(1,1)", "(no elements)\n"),
        ("f32[3,5]{1,0:T(2,2)}", PADDED),
    ],
)
def test_show_draws_the_grid(capsys, layout, grid):
    assert run(capsys, "show", layout) == (0, f"{layout}\n{grid}", "")


def test_show_json(capsys):
    _, out, _ = run(capsys, "show", "(2,3):(3,1)", "--json")
    assert json.loads(out)["offsets"] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(
    ("layout", "coord", "offset"),
    [
        ("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "1,5", 37),
        ("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "(1,5)", 37),
        ("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "(1,0),5", 37),
        ("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))", "41", 37),
        ("(8):(2)", "(3)", 6),
        ("F32[3,5]{1,0:T(2,2)}", "2,3", 17),
        ("f32[6,10]{1,0:T(3,5)(2,2)}", "5,9", 92),
        ("f32[7]{0:T(4)}", "5", 5),
    ],
)
def test_offset(capsys, layout, coord, offset):
    assert run(capsys, "offset", layout, coord) == (0, f"{offset}\n", "")
    assert json.loads(run(capsys, "offset", layout, coord, "--json")[1])["offset"] == offset


def test_hlo_lists_the_most_wasteful_first(capsys):
    path = next((DATA / "hlo").glob("fp8_matmul*"))
    code, out, _ = run(capsys, "hlo", str(path), "--by", "shape")
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["count", "bytes", "waste", "shape", "layout"]
    assert lines[-2].endswith("% waste")
    assert lines[-1] == "a sum over the program; at once: --by peak"
    value = json.loads(run(capsys, "hlo", str(path), "--by", "shape", "--json")[1])
    assert len(lines) == len(value) + 5
    assert [v["waste_bytes"] for v in value] == sorted((v["waste_bytes"] for v in value), reverse=True)
    assert all((v["layout"] is None) != (v["refused"] is None) for v in value)


def test_hlo_by_operation_and_the_others(capsys, tmp_path):
    path = str(next((DATA / "hlo").glob("fp8_matmul*")))
    for by in ("operation", "computation", "space", "copy"):
        code, out, _ = run(capsys, "hlo", path, "--by", by)
        assert code == 0
        assert out.splitlines()[0].endswith(by)
        value = json.loads(run(capsys, "hlo", path, "--by", by, "--json")[1])
        assert all(set(v) == {"key", "count", "bytes", "waste_bytes"} for v in value)
    broken = tmp_path / "broken.txt"
    broken.write_bytes(b"ENTRY %main {\n  %a = f32[3] parameter(0)\n  %b = f32[ add(%a)\n}\n")
    for more in ((), ("--json",)):
        code, _, err = run(capsys, "hlo", str(broken), "--by", "operation", *more)
        assert code == 0
        assert err.startswith("tla: 1 line could not be read; the first: line 3: ")


def test_a_line_without_end_is_passed_over_and_said(capsys, tmp_path, monkeypatch):
    """The census held the whole file where it had one line: 112 MB took 720 MB."""
    monkeypatch.setattr(text_file, "MAX_LINE", 100)
    (tmp_path / "p").write_text(f"a = f32[3] parameter(0)\n{'f32[5] ' * 1000}\nb = f32[7] copy(a)")
    for more in ((), ("--json",)):
        code, out, err = run(capsys, "hlo", str(tmp_path / "p"), *more)
        assert code == 0
        assert "f32[3]" in out
        assert "f32[7]" in out
        assert "f32[5]" not in out
        assert err == "tla: 1 line could not be read; the first: line 2: more than 100 characters, at position 0\n"


def test_standard_input_that_is_closed():
    for more in ("", "--by operation"):
        done = subprocess.run(
            f"{sys.executable} -m tla.apps.cli hlo - {more} <&-",
            shell=True,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr.startswith("tla: -: no instruction of HLO in it\n")


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "--help",
        "offset (4,2):(1,4) 1,1",
        "show (4,2):(1,4)",
        "lower f32[3]",
        f"hlo {DATA}/hlo/bool_ops__v5e__libtpu0.0.11.4.txt",
        "draw (4,2):(1,4)",
        "emit (4,2):(1,4)",
    ],
)
@pytest.mark.parametrize("closed", some([">&-", ">&- 2>&-"], 2))
def test_streams_that_are_closed(arguments, closed):
    quoted = " ".join(f"'{x}'" for x in arguments.split())
    command = f"{sys.executable} -m tla.apps.cli {quoted} {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


#: Commands, one after another, each with what it prints.
IN_A_ROW = """
import contextlib, io, json, sys
from tla.apps.cli import main
said = []
for line in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
        if main(line.split()):
            print("failed")
    said.append(out.getvalue())
from tla.apps.explore import answer
said.append(answer('composition((6,2):(8,2), (4,3):(3,1))')['steps'][0]['why'])
print(json.dumps(said))
"""


def test_docstrings_and_assertions_are_not_needed():
    """python -OO drops both; docstrings of what is compiled stay."""
    wanted = {
        "offset (4,2):(1,4) 1,1": "5\n",
        "show (4,2):(1,4)": "0 4",
        "lower f32[3,5]{1,0:T(2,2)}": "((_2,_2),(_2,_3))",
        "emit logical_divide((8,8):(1,8),(2,2))": "return",
        "draw logical_divide((8,8):(1,8),(2,2))": "56",
        "--help": "usage: tla",
    }
    command = [sys.executable, "-OO", "-c", IN_A_ROW, json.dumps([*wanted])]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "TLA_COMPILED": "0"})
    assert (done.returncode, done.stderr) == (0, "")
    *said, why = json.loads(done.stdout)
    assert why == ""
    for (line, shown), out in zip(wanted.items(), said, strict=True):
        assert shown in out, line
        assert "failed" not in out, line


def test_offsets_that_are_coordinates(capsys):
    assert run(capsys, "offset", "(4,2):(1@0,1@1)", "1,1") == (0, "(1,1)\n", "")
    assert json.loads(run(capsys, "offset", "(4,2):(1@0,1@1)", "3,0", "--json")[1])["offset"] == "(3,0)"
    assert run(capsys, "offset", "(4,2):(2@1,1@0)", "3,1") == (0, "(1,6)\n", "")


def test_composed_layouts_from_a_shell(capsys):
    assert run(capsys, "offset", "Sw<3,0,3> o _0 o (8,8):(8,1)", "1,0")[1].strip() == "9"
    assert "8 11 10" in run(capsys, "show", "Sw<3,0,3> o _0 o (8,8):(8,1)")[1]
    code, out, _ = run(capsys, "lower", "f32[6,10]{1,0:T(3,5)(2,2)}")
    assert code == 0
    assert " o _0 o " in out


@pytest.mark.parametrize("by", ["shape", "space", "peak", "relayout"])
def test_what_contradicts_is_said_whatever_is_added_up(capsys, tmp_path, by):
    header = (
        "HloModule m, is_scheduled=true, "
        "entry_computation_layout={(f32[8,128]{0,1:T(8,128)})->f32[8,128]{1,0:T(8,128)}}\n"
    )
    body = (
        "ENTRY %e {\n  %a = f32[8,128]{1,0:T(8,128)} parameter(0)\n  ROOT %b = f32[8,128]{1,0:T(8,128)S(7)} "
        "negate(%a)\n}\n"
    )
    (tmp_path / "p").write_text(header + body)
    code, _, err = run(capsys, "hlo", str(tmp_path / "p"), "--by", by)
    assert code == 0
    assert "line 3: parameter(0) is f32[8,128]{1,0:T(8,128)}, line 1 takes f32[8,128]{0,1:T(8,128)}" in err
    assert "line 4: memory space S(7) is not known" in err


LONG = "bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)S(1)}"


@pytest.mark.parametrize(
    "given",
    [
        *(
            ["hlo", "PROGRAM", "--by", by, "--top", "5"]
            for by in ("shape", "operation", "computation", "space", "copy", "peak", "relayout")
        ),
        ["hlo", "PROGRAM", "--advise"],
        ["relayout", LONG, "bf16[8,1,1280,16384]{2,3,0,1:T(8,128)(2,1)}"],
        ["relayout", LONG, LONG.replace("S(1)", "")],
        ["default", "bf16[8,1,1280,16384]"],
        [
            "sharding",
            "{devices=[2,2,2,2]0,1,2,3,4,5,6,7,8,9,10,11,12,13,15,14 last_tile_dims={replicated}}",
            "bf16[8,1280,16384]{2,1,0:T(8,128)(2,1)}",
        ],
        ["explain", LONG, "7,0,1279,16383"],
        ["explain", "f32[20,7,9]{2,1,0:T(4,4)}", "--strip"],
    ],
)
def test_lines_of_xla_commands_fit_80_columns(capsys, monkeypatch, given):
    monkeypatch.setattr(terminal, "width", lambda: 80)
    path = str(DATA / "xla" / "programs" / "decode_loop.txt.gz")
    code, out, err = run(capsys, *(path if text == "PROGRAM" else text for text in given))
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "".join(out.split())  # there is something


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_help_of_commands_fits_80_columns(capsys, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith("  tla ")) <= 80  # examples stay whole
    assert any(line.startswith(f"  tla {name}") for line in lines)
    options = next(k for k, line in enumerate(lines) if line in ("positional arguments:", "options:"))
    assert lines[options - 2].endswith(".")  # what the command does is said to its end


def test_hlo_of_a_file_without_shapes_and_of_garbage(capsys, tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "garbage").write_bytes(bytes(range(256)) * 10)
    for name in ("empty", "garbage"):
        for more in (("--by", "shape"), ("--by", "operation")):
            code, out, err = run(capsys, "hlo", str(tmp_path / name), *more)
            assert (code, out) == (1, "")
            assert "no instruction of HLO in it" in err
    (tmp_path / "stable").write_text("module @jit_f {\n  %0 = stablehlo.add %a, %b\n}\n")
    for by in ("shape", "peak", "relayout"):
        assert "the file is StableHLO" in run(capsys, "hlo", str(tmp_path / "stable"), "--by", by)[2]


def test_relayout_default_and_sharding(capsys):
    tiled = "f32[16,128]{1,0:T(8,128)}"
    assert "nothing moves" in run(capsys, "relayout", tiled, "f32[128,16]{0,1:T(8,128)}", "--permutation", "1,0")[1]
    value = json.loads(run(capsys, "relayout", "f32[16,256]{1,0}", "f32[16,256]{1,0:T(8,128)}", "--json")[1])
    assert (value["bitcast"], value["run"], value["read_bytes"]) == (False, 128, 16384)
    assert "writes  8,192 bytes (8 KiB)" in run(capsys, "relayout", tiled, "bf16[16,256]{1,0:T(8,128)(2,1)}")[1]
    assert len(json.loads(run(capsys, "default", "s2[24]", "--json")[1])) == 7
    assert "s2[24]{0:T(2048)(128)(16,1)E(2)}" in run(capsys, "default", "s2[24]", "--target", "v5e")[1]
    value = json.loads(run(capsys, "sharding", "{devices=[2,4]<=[8]}", "bf16[16,24]", "--json")[1])
    assert value["devices"]["5"] == [[8, 16], [6, 12]]
    assert value["bytes"] == xla.byte_size(value["shape"]) == 2048
    assert (
        len(json.loads(run(capsys, "sharding", "{replicated}", "f32[3]", "--devices", "4", "--json")[1])["devices"])
        == 4
    )
    for argv, said in (
        (("relayout", tiled, "f32[128,16]", "--permutation", "x"), "numbers between commas"),
        (("default", "(f32[3])"), "no array of known sizes"),
        (("default", "f32[3]", "--target", "h100"), "default_layout for 'h100'"),
        (("sharding", "{{replicated}}", "f32[3]"), "sharding of a tuple"),
    ):
        code, _, err = run(capsys, *argv)
        assert code == 1
        assert said in err


def test_advice_from_a_shell(capsys):
    path = str(DATA / "xla" / "programs" / "decode_loop.txt.gz")
    value = json.loads(run(capsys, "hlo", path, "--advise", "--json")[1])
    assert value
    assert [v["bytes"] for v in value] == sorted((v["bytes"] for v in value), reverse=True)
    assert {v["kind"] for v in value} <= {"order", "merge", "split", "type"}
    code, out, err = run(capsys, "hlo", path, "--advise", "--top", "2")
    assert (code, err) == (0, "")
    assert "predicted, not compiled" in " ".join(out.split())


def test_advice_on_what_is_broken_says_so(capsys, tmp_path):
    path, head = tmp_path / "m", "HloModule m, is_scheduled=true\nENTRY %main {\n"
    path.write_text(
        head
        + "  %a = f32[1000,3]{1,0:T(8,128)} parameter(0)\n"
        + "  ROOT %b = f32[3]{0:T(128)} negate(%no, %no, %no, %no)\n}\n"
    )
    code, out, err = run(capsys, "hlo", str(path), "--advise")
    assert (code, "503,808" in out, err.count("operand no"), "1 more such" in err) == (0, True, 3, True)
    path.write_text(head + "  ROOT %t = token[] after-all()\n}\n")
    assert run(capsys, "hlo", str(path), "--advise", "--json")[:2] == (0, "[]\n")


def test_hlo_reads_the_examples_of_the_documents(capsys):
    for more in (("--by", "shape"), ("--by", "operation"), ("--interiors",)):
        code, out, err = run(capsys, "hlo", str(DATA / "hlo" / "documents.txt"), *more)
        assert (code, err) == (0, "")
        assert out.splitlines()[-2].startswith("343,932,928 bytes")


def test_hlo_by_peak_and_by_relayout(capsys, tmp_path):
    path = str(DATA / "xla" / "programs" / "decode_loop.txt.gz")
    code, out, err = run(capsys, "hlo", path, "--by", "peak", "--top", "3")
    assert (code, err) == (0, "")
    assert "56.62 MiB" in out
    assert "p__emb__.1" in out
    assert len(out.splitlines()) < 30
    value = json.loads(run(capsys, "hlo", path, "--by", "peak", "--space", "vmem", "--min", "1MiB", "--json")[1])
    assert value["space"] == 1
    assert value["buffers"][0]["name"] == "copy.12"
    assert all(b["bytes"] >= 2**20 for b in value["buffers"])
    assert run(capsys, "hlo", path, "--by", "peak", "-o", str(tmp_path / "c.svg"))[0] == 0
    assert (tmp_path / "c.svg").read_text().startswith("<svg ")
    moves = json.loads(run(capsys, "hlo", path, "--by", "relayout", "--json")[1])
    assert {m["times"] for m in moves} == {1, 100}
    assert [m["bytes"] for m in moves] == sorted((m["bytes"] for m in moves), reverse=True)
    assert "are free" in run(capsys, "hlo", path, "--by", "relayout", "--top", "2")[1]
    for option, said in (
        ("--min=x", "a number of bytes"),
        ("--top=0", "1 or more"),
        ("--space=17", "nothing is there"),
        ("--space=ram", "VMEM"),
    ):
        code, _, err = run(capsys, "hlo", path, "--by", "peak", option)
        assert code == 1
        assert said in err
    for options, said in (
        (("-o", "c.svg"), "--by peak"),
        (("--by", "relayout", "--sort", "waste"), "--sort bytes"),
        (("--by", "peak", "--sort", "count"), "--sort bytes"),
    ):
        code, _, err = run(capsys, "hlo", path, *options)
        assert (code, said in err) == (1, True)
    assert len(json.loads(run(capsys, "hlo", path, "--sort", "count", "--top", "2", "--json")[1])) == 2
    hbm, vmem = (json.loads(run(capsys, "hlo", path, "--by", "space", "--space", s, "--json")[1]) for s in ("HBM", "1"))
    assert ([v["key"] for v in hbm], [v["key"] for v in vmem]) == (["S(0)"], ["S(1)"])


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["lower", "f32[8]{0:T(4"], "tla: the text ends, at position 12\n    f32[8]{0:T(4\n                ^\n"),
        (["lower", "(f32[3], token[])"], "tla: (f32[3], token[]) is a tuple, which has no layout or size of its own\n"),
        (["show", "b(f32[3])"], "tla: the operation, 'b', is not known, at position 0\n    b(f32[3])\n    ^\n"),
        (["show", "(4,2)"], "tla: (4,2) is no layout\n"),
        (["show", "zN"], "tla: zN is no layout\n"),
        (["show", "(4,2:1"], "tla: '(' is never closed, at position 0\n    (4,2:1\n    ^\n"),
        (
            ["draw", "(M,4):(1,M)"],
            "tla: the sizes of (M,4):(1,M): M\n  expected  numbers\n  fix       put them before it: 'M = 64; "
            "(M,4):(1,M)'\n",
        ),
        (["show", "(4:1, 2:1)", "--json"], "tla: (4:1, 2:1): 2 layouts\n"),
        (["offset", "(f32[3], f32[4])", "1"], "tla: (f32[3], f32[4]): 2 layouts\n"),
        (["show", "1073741824:1", "--json"], "tla: 1073741824 offsets of 1073741824:1\n  expected  1048576 at most\n"),
        (["show", "(4,2):(1)"], "tla: Layout: (4,2) has 2 modes and (1) has 1\n"),
        (
            ["draw", "(4,2):(1,4)", "--color-by", "taste"],
            "tla: color_by 'taste'\n  expected  auto, one of tile, offset, bank, ub_bank, thread,",
        ),
        (
            ["draw", "(4,2):(1,4)", "--color-by", "lane"],
            "tla: color_by 'lane' of (4,2):(1,4)\n  expected  an XLA shape",
        ),
        (
            ["draw", "(4,2):(1,4)", "--tile", "2"],
            "tla: tile 2 of (4,2):(1,4)\n  expected  2 integers, one per top-level mode\n",
        ),
        (
            ["draw", "(4,2):(1,4)", "--tile", "2,0"],
            "tla: tile (2,0) of (4,2):(1,4)\n  expected  integers of 1 or more\n",
        ),
        (["draw", "(4,2):(1,4)", "--bits", "0"], "tla: elements of 0 bits\n"),
        (
            ["draw", "(4,2):(1,4)", "-o", "a.gif"],
            "tla: a drawing in 'a.gif'\n  expected  a name that ends in .svg, .html, .tex, .txt, .png\n",
        ),
        (["draw", "(4,2):(1,4)", "-o", "/no/such/a.svg"], "tla: /no/such/a.svg: No such file or directory\n"),
        (["draw", "(4,2):(1,4)", "--threads"], "tla: draw_threads of a tile None\n"),
        (["draw", "(4,2):(1,4)", "--threads", "--tile", "2,2"], "tla: value 1 of thread 0 of (4,2):(1,4) is 4\n"),
        (["draw", "4:1", "4:1", "--threads", "--tile", "2,2"], "tla: 2 layouts with --threads\n"),
        (
            ["draw", "SM80_16x8x16_F32F16F16F32_TN", "--bits", "16"],
            "tla: draw of atom('SM80_16x8x16_F32F16F16F32_TN', 'sm80') with bits\n",
        ),
        (["draw", "SM80_16x8x16_F32F16F16F32_TN", "4:1"], "tla: draw of 2 values"),
        (["draw", "(4,2):(1,4)", "--thread", "3"], "tla: draw of thread 3 of a layout\n"),
        (["offset", "(4,2):(1,4)", "1,x"], "tla: unexpected 'x', at position 2\n"),
        (["offset", "(4,2):(1,4)", "1,2,3"], "tla: coordinate (1,2,3) has 3 modes"),
        (["offset", "f32[3,5]{1,0}", "3,0"], "tla: index (3,0) of f32[3,5]{1,0}\n"),
        (["hlo", "/no/such/file"], "tla: /no/such/file: No such file or directory\n"),
        (["hlo", "/"], "tla: /: 0 files, and no program after optimizations\n"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_1(capsys, argv, message):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (1, "")
    assert err.startswith(message)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("argv", "fix", "fixed"),
    [
        (["--color-by", "taste"], "write --color-by tile", ["--color-by", "tile"]),
        (["--tile", "2"], "as in --tile 4,8", ["--tile", "4,8"]),
        (["--thread", "3"], "leave --thread out", []),
        (["--threads"], "as in --tile 16,8", ["--threads", "--tile", "16,8"]),
    ],
)
def test_a_fix_names_options_and_works(capsys, argv, fix, fixed):
    code, _, err = run(capsys, "draw", "(4,2):(1,4)", *argv)
    assert code == 1
    assert fix in err.splitlines()[-1]
    assert run(capsys, "draw", "(4,2):(1,4)", *fixed)[0] == 0


def test_the_command_alone_says_what_there_is(capsys):
    assert main([]) == 0
    alone = capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["--help"])
    assert alone == capsys.readouterr()
    assert "explore" in alone.out


@pytest.mark.parametrize("argv", [["lower"], ["lower", "f32[3]", "--xml"]])
def test_a_wrong_command_line_is_exit_code_2(capsys, argv):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: tla" in capsys.readouterr().err


@pytest.mark.parametrize(
    "argv", [["lowr", "f32[3]"], ["acess", "a column", "(32,32):(32,1)"], ["shwo", "(4,2):(1,4)", "--json"], ["xyzzy"]]
)
def test_a_command_that_is_not_known_comes_with_the_line_that_was_meant(capsys, argv):
    """What is printed behind "type" is typed as it stands."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert not out
    fix = shlex.split(err.splitlines()[-1].partition("type tla ")[2])
    assert fix[1:] == (argv[1:] if len(argv) > 1 else [])
    with contextlib.suppress(SystemExit):  # of --help
        assert main(fix) == 0


def test_read_and_the_fixes_of_what_it_refuses(capsys):
    code, out, err = run(
        capsys,
        "read",
        "smem[row*64 + ((col/8) ^ (row%8))*8 + col%8]",
        "--shape",
        "16,64",
        "--access",
        "ldmatrix",
        "--bits",
        "16",
    )
    assert (code, err) == (0, "")
    assert "Sw<3,3,3> o _0 o (_16,_64):(_64,_1)" in out
    assert "no conflict" in out
    assert "a column" not in out
    for given, fix in (
        ("a*8 + b", "--coords a,b"),
        ("i*ld + j", "--values ld=64"),
        ("i*1000000000 + j", "--integer int64"),
    ):
        more = ["--coords", "i,j"] if "i" in given else []
        code, out, err = run(capsys, "read", given, "--shape", "8,8", *more)
        assert (code, out) == (1, "")
        assert fix in err
        code, out, err = run(capsys, "read", given, "--shape", "8,8", *more, *fix.split(), "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["layout"].startswith("(_8,_8):")
    assert "write --values ld=72" in run(capsys, "read", "i*ld + j", "--shape", "8,8", "--values", "ld")[2]
    assert "--values 'p->ld=64'" in run(capsys, "read", "i*p->ld + j", "--shape", "8,8", "--coords", "i,j")[2]
    assert "an integer of 1 or more" in run(capsys, "read", "i*8 + j", "--shape", "8,8", "--bits", "0")[2]
    assert "as in --shape 64,64" in run(capsys, "read", "i*8 + j")[2]


def test_read_takes_sizes_that_are_not_known_and_shapes_that_loops_say(capsys):
    for argv, layout in (
        (("i*N + j", "--shape", "M,N"), "(M,N):(N,_1)"),
        (("i*ld + j*n", "--shape", "8*M,8", "--coords", "i,j", "--values", "ld=-72", "n=K"), "(8*M,_8):(_-72,K)"),
        (("for (int r = 0; r < 64; r += 4) s[r*8] = 0;",), "_16:_32"),
    ):
        assert json.loads(run(capsys, "read", *argv, "--json")[1])["layout"] == layout
        assert layout in run(capsys, "read", *argv)[1]


def test_read_says_the_box_inside_of_bounds(capsys):
    argv = ["read", "i < 5 && j < 7 ? i*8 + j : -1", "--shape", "8,8"]
    assert "(_8,_8):(_8,_1)\norigin_shape (_5,_7)\n" in run(capsys, *argv)[1]
    assert json.loads(run(capsys, *argv, "--json")[1])["origin_shape"] == "(_5,_7)"
    assert "origin_shape" not in run(capsys, "read", "i*8 + j", "--shape", "8,8")[1]


def test_read_says_where_a_reader_disagrees(capsys):
    argv = ["read", "i*64 + j", "--shape", "8,64", "--reader"]
    out = run(capsys, *argv, "i*72 + j")[1]
    assert "they differ at 448 of 512 coordinates:\n  (1,0) is written at 64 and read at 72\n" in out
    found = json.loads(run(capsys, *argv, "i*72 + j", "--json")[1])
    assert (found["different"], found["first"][0]) == (448, {"coordinate": [1, 0], "writer": 64, "reader": 72})
    assert found["mends"][0]["reader"] == "takes 64 for 72 as its stride of coordinate 0"
    assert run(capsys, *argv, "j + 64*i")[1] == "they agree at all 512 coordinates\n"
    assert run(capsys, *argv, "i*")[0] == 1


def test_read_says_conflicts_by_itself(capsys):
    code, out, err = run(capsys, "read", "i*64 + j", "--shape", "64,64", "--bits", "16")
    assert (code, err) == (0, "")
    lines = {line[:13].strip(): line for line in out.splitlines()}
    assert "no conflict" in lines["a row"]
    assert "32-way conflict" in lines["a column"]
    assert "8-way conflict: lanes 0 to 7 of warp 0" in lines["ldmatrix.x4"]
    assert "(_64,_64):(_64,_1)" in out
    assert "32 bits (assumed); --bits 16 says others" in run(capsys, "read", "i*64 + j", "--shape", "64,64")[1]
    assert json.loads(run(capsys, "read", "i*33", "--shape", "32", "--json")[1])["accesses"] == [
        {"access": "a row", "wavefronts": 1, "least": 1, "degree": 1}
    ]
    out = run(capsys, "read", "i*64 + j*8 + k", "--shape", "4,8,8")[1]
    assert "none of the usual accesses takes it: name one by --access" in out
    assert "8-way conflict" in run(capsys, "read", "i*64 + j*8 + k", "--shape", "4,8,8", "--access", "a row")[1]


def test_the_overview_has_every_command_once():
    assert sorted(x for names in cli.GROUPS.values() for x in names) == sorted(cli.COMMANDS) == sorted(cli.WANTS)
    for line in cli.BEGIN:
        name, *rest = shlex.split(line)[1:]
        assert name in cli.COMMANDS
        if name != "explore":
            assert main([name, *rest]) == 0


def shell(*argv, **options):
    return subprocess.run([sys.executable, "-m", "tla", *argv], capture_output=True, text=True, check=False, **options)


def test_as_a_process():
    assert shell("offset", "(4,2):(1,4)", "3,1").stdout == "7\n"
    assert shell("--version").stdout.startswith("tla 0.")
    path = next((DATA / "hlo").glob("bool_ops*"))
    assert shell("hlo", "-", input=path.read_text()).stdout == shell("hlo", str(path)).stdout
    assert shell("lower", "f32[").returncode == 1


#: What a command may load: of tla no other packages, and no more modules.
LOADS = {
    ("lower", "f32[3,5]{1,0:T(2,2)}"): ("core algebra xla", 56),
    ("offset", "(4,8):(8,1)", "1,2"): ("core notation symbolic xla", 71),
    ("offset", "f32[3,5]{1,0:T(2,2)}", "1,2"): ("core notation symbolic xla", 72),
    ("explain", "f32[3,5]{1,0:T(2,2)}"): ("core symbolic xla", 61),
    ("relayout", "f32[16,32]{1,0:T(8,16)}", "f32[16,32]{0,1}"): ("core algebra xla", 61),
    ("default", "bf16[8,300]"): ("core xla", 44),
    ("sharding", "{devices=[2,4]<=[8]}", "f32[16,128]"): ("core algebra xla", 58),
    ("show", "(4,8):(8,1)"): ("core algebra notation symbolic tensors xla viz", 126),
    ("--help",): ("core notation xla", 55),
}

#: What a process has loaded when a command ends. Each is a fork of one that has loaded nothing of tla.
LOADED = """
import json, os, sys
found = {}
for line in json.loads(sys.argv[1]):
    ours, theirs = os.pipe()
    if os.fork() == 0:
        with open(os.devnull, "w") as sys.stdout:
            from tla.apps.cli import main
            try:
                main(line)
            except SystemExit:
                pass
        os.write(theirs, " ".join(sys.modules).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours) as said:
        found[" ".join(line)] = said.read().split()
    os.wait()
print(json.dumps(found))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_a_command_loads_what_it_needs():
    command = [sys.executable, "-c", LOADED, json.dumps([*map(list, LOADS)])]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    for line, (packages, most) in LOADS.items():
        modules = found[" ".join(line)]
        own = [name for name in modules if name.split(".")[0] == "tla"]
        assert {name.split(".")[1] for name in own if "." in name} <= {*packages.split(), "apps"}, line
        assert len(own) <= most, (line, len(own))
        assert not {"numpy", "sympy"} & {*modules}, line
        assert line[0] not in ("lower", "default", "--help") or not {"dataclasses", "inspect"} & {*modules}, line
        assert line[0] == "--help" or "shutil" not in modules, line


def test_a_closed_pipe_is_no_error():
    path = next((DATA / "hlo").glob("bool_ops*"))
    command = f"{sys.executable} -m tla.apps.cli hlo {path} --by shape | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("count")
    assert done.stderr == ""


def test_coordinates_that_are_none(capsys):
    for coord in ("1):(1", "", "1,,2"):
        code, out, err = run(capsys, "offset", "4:1", coord)
        assert (code, out) == (1, "")
        assert err.startswith("tla: ")
    assert run(capsys, "offset", "(4,8):(8,1)", "(-1,5)")[1] == "-3\n"


def test_any_bytes_on_standard_input_and_any_terminal(tmp_path):
    program = 'a = f32[2]{0} f(), metadata={op_name="é"}\nb = f32[2]{0} copy(é)\n'.encode()
    (tmp_path / "p").write_bytes(program + b"\xff\xfe")
    for encoding in ("ascii", "utf-8"):
        for argument, data in (("-", program + b"\xff"), (str(tmp_path / "p"), b"")):
            done = subprocess.run(
                [sys.executable, "-m", "tla.apps.cli", "hlo", argument],
                input=data,
                capture_output=True,
                check=False,
                env={**os.environ, "PYTHONIOENCODING": encoding},
            )
            assert done.returncode == 0, done.stderr
            assert b"1 rows, 2 in all" in done.stdout
            assert b"1 line could not be read" in done.stderr


@pytest.mark.parametrize("command", ["tla.apps.cli lower 'f32[3]'", "tla"], ids=["answer", "help"])
def test_a_full_disk_is_one_message(command):
    done = subprocess.run(
        f"unset PYTHONUNBUFFERED; {sys.executable} -m {command} > /dev/full",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tla: No space left on device")


@pytest.mark.parametrize(
    ("layout", "coord", "offset", "outside"),
    [
        ("(4,2):(2,1)", "3,1", 7, False),
        ("(4,2):(2,1)", "4,0", 8, True),
        ("(4,2):(2,1)", "7", 7, False),
        ("(4,2):(2,1)", "8", 2, True),
        ("((2,2),3):((1,6),2)", "(1,1),2", 11, False),
        ("((2,2),3):((1,6),2)", "(2,0),2", 6, True),
        ("4:1", "4", 4, True),
    ],
)
def test_an_offset_outside_warns(capsys, layout, coord, offset, outside):
    code, out, err = run(capsys, "offset", layout, coord)
    assert (code, out.strip()) == (0, str(offset))
    assert ("is outside of the shape" in err) == outside
    assert json.loads(run(capsys, "offset", layout, coord, "--json")[1])["outside"] == outside


def test_what_is_held_by_threads_is_shown_too(capsys):
    blocked = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, 1], order = [1, 0]}>"
    for text, first in ((blocked, "T0V0"), ("SM80_16x8x16_F32F16F16F32_TN", "T0V0")):
        code, out, _ = run(capsys, "show", text)
        assert code == 0
        assert first in out
    code, out, _ = run(capsys, "access", f"tensor<16x64xf16, {blocked}>", "(16,64):(64,1)", "--bits", "16")
    assert out.startswith("64-bit accesses: 4 wavefronts, 2 at least; 2-way conflict")


def test_json_of_a_large_layout_needs_no_grid(capsys):
    code, out, _ = run(capsys, "show", "(300,300):(1,300)", "--json")
    assert code == 0
    assert len(json.loads(out)["offsets"]) == 300


#: Commands on terminals: each is a fork of one process that has loaded the command, as it is looked at for
#: what it shows.
TERMINALS = """
import json, os, sys
from tla.apps.cli import main
for line in sys.stdin:
    terminal, folder, environment, argv = json.loads(line)
    if os.fork() == 0:
        os.environ.update(environment)
        os.chdir(folder)
        os.dup2(os.open(terminal, os.O_RDWR | os.O_NOCTTY), 1)
        sys.stdout, code = open(1, "w", encoding="utf-8"), 0
        try:
            code = main(argv)
        except SystemExit as end:
            code = end.code
        sys.stdout.flush()
        os._exit(code or 0)
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


@pytest.fixture(scope="module")
def on_terminal():
    """What a command writes on a terminal that is so wide and high."""

    def written(columns, *argv, lines=24, term="xterm-256color"):
        ours, theirs = os.openpty()
        out = []

        def read():
            with contextlib.suppress(OSError):  # Linux has an error for the end
                while piece := os.read(ours, 2**16):
                    out.append(piece)

        reader = threading.Thread(target=read)
        reader.start()
        environment = {
            "COLUMNS": str(columns),
            "LINES": str(lines),
            "TERM": term,
            "COLORTERM": "",
            "NO_COLOR": os.environ.get("NO_COLOR", ""),
        }
        process.stdin.write(json.dumps([os.ttyname(theirs), os.getcwd(), environment, argv]) + "\n")
        process.stdin.flush()
        code = process.stdout.readline()
        os.close(theirs)
        reader.join()
        os.close(ours)
        assert code == "0\n"
        return b"".join(out).decode().replace("\r\n", "\n")

    with subprocess.Popen(
        [sys.executable, "-c", TERMINALS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield written


def test_a_narrow_terminal_gets_lines_that_fit(on_terminal):
    path = str(next((DATA / "hlo").glob("fp8_matmul*")))
    for more in (("--by", "shape"), ("--by", "operation"), ("--by", "copy"), ("--by", "relayout")):
        narrow, wide = (on_terminal(columns, "hlo", path, "--all", *more) for columns in (48, 1000))
        assert max(map(len, narrow.splitlines())) <= 48
        assert "".join(sorted("".join(wide.split()).replace(",", ""))) == "".join(
            sorted("".join(narrow.split()).replace(",", ""))
        )
        assert wide == shell("hlo", path, *more).stdout


PAINTED = re.compile(r"\x1b\[([0-9;]*)m")


#: What is shown of each command on a terminal of 80 by 24, its examples and more; -h of those that serve
#: or write files.
SESSIONS = {
    **{name: [*examples] for name, examples in EXAMPLES.items()},
    "hlo": [f"PROGRAM {more}" for more in ("", "--by peak", "--advise")],
    "sharding": ["'{devices=[8,8]<=[64]}' 'f32[16,128]'"],
    "explore": ["--help"],
    "advise": ["--help"],
    "ttgir": [f"{DATA}/ttgir/matmul_f16_sm80.ttgir.gz {more}" for more in ("", "--size K=4096")],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_each_command_fills_a_small_terminal_at_most(name, tmp_path, monkeypatch, on_terminal):
    """80x24, with 16 colours: no more lines than the screen has, none longer than it is wide; code alone is
    whole, as it is."""
    monkeypatch.chdir(tmp_path)
    if name == "prove":
        pytest.importorskip("z3")
    program = str(next((DATA / "hlo").glob("fp8_matmul*")))
    for example in SESSIONS[name]:
        out = on_terminal(
            80, name, *(program if x == "PROGRAM" else x for x in shlex.split(example)), term="xterm-16color"
        )
        lines = PAINTED.sub("", out).splitlines()
        assert out.strip()
        assert name in WHOLE or len(lines) <= 22, lines
        assert name in ("emit", "emit-copy", "prove") or all(len(line) <= 80 for line in lines), lines
        codes = {int(c) for found in PAINTED.findall(out) for c in found.split(";")}
        assert codes <= {0, 30, *range(40, 48), *range(100, 108)}, codes


def test_more_lines_than_the_screen_has(on_terminal):
    out = on_terminal(80, "show", "(256,256):(256,1)")
    assert len(out.splitlines()) == 22
    assert out.splitlines()[-3:] == [
        "5,701 more lines: --all shows them, tla draw -o layout.svg draws them",
        "",
        "colours: offsets from 0, light, to 65535, dark",
    ]
    assert len(on_terminal(80, "show", "(256,256):(256,1)", "--all").splitlines()) == 5722
    assert len(shell("show", "(64,4):(4,1)").stdout.splitlines()) == 68  # no terminal: all of it


def test_what_is_cut_keeps_its_short_end(on_terminal):
    lines = on_terminal(80, "sharding", "{devices=[8,8]<=[64]}", "f32[16,128]").splitlines()
    assert len(lines) == 22
    assert lines[19:] == [
        "48 more lines: --all shows them",
        "",
        "f32[2,16]{1,0:T(2,128)} on the device that holds most: 1,024 bytes (1 KiB)",
    ]
    lines = PAINTED.sub(
        "", on_terminal(80, "draw", "(64,4):(4,1)", "--color-by", "bank", term="xterm-16color")
    ).splitlines()
    assert lines[-4:] == [
        "",
        "colours: banks of 4 bytes, elements of 32 bits (assumed), each with its number",
        *lines[-2:],
    ]
    assert "".join(lines[-2:]).split() == [str(n) for n in range(32)]


def test_errors_fit_the_terminal_too():
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": "80", "LINES": "24"}
    command = [sys.executable, "-m", "tla.apps.cli", "access", "(32,4):(4,1)", "(128):(1)", "--memory", "X"]
    assert subprocess.run(command, stderr=theirs, env=environment).returncode == 1
    os.close(theirs)
    lines = os.read(ours, 2**16).decode().splitlines()
    os.close(ours)
    assert all(len(line) <= 80 for line in lines)
    assert lines[-1] == "  fix       use one of these, as in --memory NVIDIA_SHARED"


def test_what_only_python_has_is_said_by_the_library():
    sources = "".join(
        path.read_text() for path in Path(tla.__file__).parent.rglob("*.py") if path.name != "terminal.py"
    )
    assert [fix for fix in terminal.IN_SHELL if f'"{fix}"' not in sources] == []


def test_sixteen_colours_tell_the_hues_apart(on_terminal):
    out = on_terminal(80, "show", "((4,2),(4,4)):((4,16),(1,32))", term="xterm-16color")
    assert len({code for code in PAINTED.findall(out) if code != "0"}) == 8
    unknown = on_terminal(80, "show", "((4,2),(4,4)):((4,16),(1,32))", term="nobody-16color")
    assert unknown == out


def test_a_legend_folds(on_terminal):
    out = on_terminal(60, "draw", "(8,64):(64,1)", "--color-by", "bank", "--all")
    legend = [PAINTED.sub("", line) for line in out.splitlines() if PAINTED.search(line) and not set("│┃") & set(line)]
    assert max(map(len, legend)) <= 60
    assert " ".join(legend).split() == [str(n) for n in range(32)]


def test_a_layout_that_is_too_large_is_summed_up(capsys):
    code, out, err = run(capsys, "show", "(65536,65536):(1,65536)")
    assert (code, err) == (0, "")
    assert out.startswith("(65536,65536):(1,65536)\n4,294,967,296 coordinates, 65536 x 65536: of these 8 x 16\n")
    assert len(out.splitlines()) == 13


def test_draw_writes_what_the_name_says(capsys, tmp_path):
    for ending, start in (
        (".svg", "<svg xmlns="),
        (".html", "<!doctype html>"),
        (".tex", "\\documentclass"),
        (".txt", "(4,2):(2,1)\n"),
    ):
        path = tmp_path / f"a{ending}"
        assert run(capsys, "draw", "(4,2):(2,1)", "-o", str(path)) == (0, f"wrote {path}\n", "")
        assert path.read_text(encoding="utf-8").startswith(start)
    assert json.loads(run(capsys, "draw", "(4,2):(2,1)", "-o", str(path), "--json")[1]) == {"file": str(path)}


def test_draw_writes_png(capsys, tmp_path, monkeypatch):
    path = tmp_path / "a.png"
    monkeypatch.setitem(sys.modules, "resvg_py", None)  # which import then does not find
    assert "run pip install 'tla-layouts[png]', or write .svg" in run(capsys, "draw", "(4,2):(2,1)", "-o", str(path))[2]
    monkeypatch.undo()
    pytest.importorskip("resvg_py", reason="needs the extra png")
    assert run(capsys, "draw", "(4,2):(2,1)", "-o", str(path)) == (0, f"wrote {path}\n", "")
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    run(capsys, "draw", "(4,2):(2,1)", "-o", str(tmp_path / "a.svg"))
    width = float(re.search(r'width="([0-9.]+)"', (tmp_path / "a.svg").read_text())[1])
    assert abs(int.from_bytes(data[16:20], "big") - 2 * width) <= 2


def test_draw_on_the_screen(capsys):
    zN = "((4,2),(4,3)):((4,16),(1,32))"
    assert run(capsys, "draw", zN) == (0, f"{zN}\n{ZN}", "")
    code, out, _ = run(capsys, "draw", "(4,2):(2,1)", "(4,2):(1,4)", "--color-by", "bank", "--bits", "16", "--json")
    value = json.loads(out)
    assert code == 0
    assert [f["title"] for f in value["figures"]] == ["(4,2):(2,1)", "(4,2):(1,4)"]
    assert [c["text"] for c in value["figures"][1]["grids"][0]["cells"][1]] == ["1", "5"]
    assert [name for _fill, name in value["legend"]] == ["0", "1", "2", "3"]
    assert "T3V0" in run(capsys, "draw", "((2,2),2):((4,1),2)", "--threads", "--tile", "2,4")[1]


def test_a_layout_may_be_an_expression(capsys):
    """What tla explore reads every command does: a tag with its sizes, operations, names."""
    assert run(capsys, "show", "M = 3; MakeLayout[16, PaddingRowMajor](M, 4, 2, 2)")[1].splitlines()[:2] == [
        "((2,2),(2,2)):((2,8),(_1,4))",
        "origin_shape (3,4)",
    ]
    assert run(capsys, "offset", "MakeLayout[half, zN](100, 60)", "17,5") == (0, "277\n", "")
    code, out, _ = run(capsys, "draw", "A = (8,6):(1,8); (A, logical_divide(A, (4, 2)))", "4:1", "--json")
    assert code == 0
    assert [f["title"] for f in json.loads(out)["figures"]] == ["(8,6):(1,8)", "((4,2),(2,3)):((1,4),(8,16))", "4:1"]
    assert (
        "((M - 1) * (j >> 4) + i) * 16 + j"
        in run(capsys, "emit", "MakeLayout[half, zN](M, N)", "--multiple-of", "M=16")[1]
    )
    divided = "zipped_divide((M,_32):(_1,M), (_64,_32))"
    assert "tla: zipped_divide((M,_32):(_1,M), (_64,_32)): whether 64 divides M\n" in run(capsys, "emit", divided)[2]
    assert "64 divides M" in run(capsys, "emit", divided, "--multiple-of", "M=64")[1]
    assert run(capsys, "show", "M = 64; N = 64; (M,N):(1,M)")[0] == 0  # the fix for sizes


def test_colours_where_the_terminal_has_them(monkeypatch, on_terminal):
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[30;48;5;" in on_terminal(80, "show", "((2,2),2):((1,4),2)")
    for term in ("dumb", "vt100"):
        assert "\x1b" not in on_terminal(80, "show", "((2,2),2):((1,4),2)", term=term)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_terminal(80, "show", "((2,2),2):((1,4),2)")
    narrow = on_terminal(40, "show", "((4,2),(4,9)):((4,16),(1,32))", "--all")
    assert max(map(len, narrow.splitlines())) <= 40
    assert {*range(288)} <= {int(n) for n in narrow.replace("│", " ").split() if n.isdigit()}


def test_a_terminal_without_borders_gets_ascii():
    out = shell("show", "((2,2),2):((1,4),2)", env={**os.environ, "PYTHONIOENCODING": "ascii"}).stdout
    assert "2 | 4 6 |\n" in out
    assert out.isascii()


def test_a_long_read_shows_how_far_it_is(tmp_path, monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(shown, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(terminal, "_PATIENCE", 0)
    monkeypatch.setattr(terminal, "_PERIOD", 0)
    monkeypatch.setattr(sys, "stderr", shown)
    (tmp_path / "long").write_bytes(b"x" * 2_000_000)
    with terminal.opened(str(tmp_path / "long")) as file:
        assert len(file.read(1_000_000)) == 1_000_000
        assert "[##########..........]  50 %  1 of 2 MB" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["emit", "bf16[1280,16384]{1,0:T(8,128)(2,1)}", "--target", "cuda"], "return i + j * 2 + (i >> 1) * 254"),
        (["emit", "(_4,_8):(_8,_1)", "--coords", "x", "--name", "at", "--target", "python"], "def at(x):"),
        (
            ["emit", "((_16,M),(_16,N)):((_16,_256),(_1,K))", "--check", "function", "--multiple-of", "K=256"],
            "return (K & 255) == 0",
        ),
        (["emit", "bf16[M,N]{1,0:T(8,128)(2,1)}", "--target", "numpy"], "def offset(i, j, N):"),
        (["emit", "bf16[M,N]{1,0:T(8,128)(2,1)}", "--target", "pallas", "--at-most", "M=4096", "N=4096"], "jnp.int32"),
        (
            ["emit-copy", "f32[M,N]{1,0}", "(M,N):(1,M)", "--multiple-of", "M=16", "--at-most", "N=64"],
            "16 divides M, 16 <= M, 1 <= N, N <= 64",
        ),
        (["emit-copy", "bf16[4,8]{1,0}", "(4,8):(1,4)", "--bits", "16"], "elements of 16 bits"),
        (["emit-copy", "tensor<ptr<f16, gmem> o (4,8):(8,1)>", "(_4,_8):(_1,_4)"], "uint16_t *restrict dst"),
        (
            ["emit", "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", "--integer", "uint32"],
            "static inline uint32_t offset(uint32_t i, uint32_t j)",
        ),
        (["emit", "(_4,8):(_8,_1)", "--target", "cute_cpp"], "cute::make_layout(cute::make_shape(cute::_4{}, 8)"),
        (["emit-copy", "f32[M,N]{1,0}", "f32[M,N]{0,1}", "--check", "assert"], "assert(copy_requires(M, N));"),
        (["emit-copy", "(_100,_60):(_60,_1)", "bf16[100,60]{1,0:T(8,128)(2,1)}"], "uint16_t *restrict dst"),
        (["emit-copy", "MakeLayout[half, zN](64,64)", "(64,64):(64,1)"], "uint16_t *restrict dst"),
        (
            ["emit-copy", "f32[M,N]{1,0}", "f32[M,N]{0,1}", "--target", "cuda"],
            'extern "C" __global__ void copy(unsigned int *',
        ),
        (
            ["emit-copy", "(_8,_8):(_8,_1)", "(_8,_8):(_1,_8)", "--bits", "8", "--name", "turn"],
            "static inline void turn(uint8_t *",
        ),
    ],
)
def test_emitted_text(arguments, shown, capsys):
    assert main(arguments) == 0
    assert shown in capsys.readouterr().out
    assert main([*arguments, "--json"]) == 0
    assert shown in json.loads(capsys.readouterr().out)["text"]


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["emit", "(_4,_8):(_8,_1)", "--coords", "int,j"], "the name int in c"),
        (["emit", "(_4,_8):(_8,_1)", "--coords", "i;j"], "unexpected ';'"),
        (["emit", "(_4,_8):(_8,_1)", "--name", "x(){}"], "the name 'x(){}'"),
        (["emit", "(_4,_8):(_8,_1)", "--target", "fortran"], "the target 'fortran'"),
        (["emit", "(_4,_8):(_8,_1)", "--multiple-of", "M"], "--multiple-of M"),
        (["emit", "(M,_8):(_8,_1)", "--at-most", "m=64"], "a name in the layout: M"),
        (["emit", "(M,_8):(_8,_1)", "--at-most", "M=\u0663"], "--at-most M="),
        (["emit", "(M,_8):(_8,_1)", "--at-most", "M=" + "9" * 5000], "--at-most M="),
        (["emit-copy", "bf16[4,8]{1,0}", "f32[4,8]{1,0:T(8,128)}"], "elements of 16 bits (bf16) and of 32 bits (f32)"),
        (
            ["emit-copy", "MakeLayout[half, zN](64,64)", "f32[64,64]{1,0}"],
            "elements of 16 bits (half) and of 32 bits (f32)",
        ),
        (["emit-copy", "(_4,_8):(_8,_1)", "(_4,_8):(_8,_1)", "--bits", "0"], "elements of 0 bits"),
        (["emit-copy", "bf16[4,8]{1,0}", "f32[4,8]{0,1}", "--bits", "16"], "give both the same element type"),
        (["emit-copy", "bf16[4,8]{1,0}", "bf16[4,8]{0,1}", "--bits", "8"], "leave --bits out"),
        (["emit", "(_4,_8):(_-8,_1)", "--integer", "uint32"], "use a signed type"),
        (["emit-copy", "(_4,_8):(_8,_1)", "(_4,_9):(_9,_1)"], "equal valid extents"),
        (["emit-copy", "(_4,_8):(_8,_1)", "(_4,_8):(_8,_1)", "--bits", "4"], "elements of 4 bits"),
    ],
)
def test_what_is_not_emitted(arguments, shown, capsys):
    assert main(arguments) == 1
    assert shown in capsys.readouterr().err


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 4], warpsPerCTA = [1, 1], order = [1, 0]}>"


def test_access_and_swizzle(capsys):
    assert (
        main(
            [
                "access",
                BLOCKED,
                "#ttg.swizzled_shared<{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}>",
                "--tile",
                "8,32",
                "--bits",
                "16",
                "--json",
            ]
        )
        == 0
    )
    found = json.loads(capsys.readouterr().out)
    assert (found["wavefronts"], found["least"], found["witness"], found["convention"]) == (4, 4, None, True)
    assert main(["swizzle", "--write", BLOCKED, "--tile", "8,32", "--bits", "16", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["met"] is True
    rows = "#ttg.blocked<{sizePerThread = [2, 1], threadsPerWarp = [8, 4], warpsPerCTA = [2, 2], order = [0, 1]}>"
    mma = "#ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [1, 4], instrShape = [16, 8]}>"
    operand = f"#ttg.dot_op<{{opIdx = 1, parent = {mma}, kWidth = 1}}>"
    assert main(["swizzle", "--write", rows, "--read", operand, "--tile", "32,32", "--bits", "32"]) == 0
    layout, readable, *_ = capsys.readouterr().out.splitlines()
    assert (layout.count("Sw<"), readable) == (2, "XOR strides ((2,16),(4,2,2,2)):((F1,F4),(F136,F514,F2,F64))")
    for wrong in (
        ["access", BLOCKED, "64:1"],
        ["access", "(32,1):(1,0)", "64:1", "--memory", "H100"],
        ["swizzle"],
        ["access", "#x", "64:1"],
    ):
        assert main(wrong) == 1
        assert capsys.readouterr().err.startswith("tla: ")
