import io
import json
import os
import subprocess
import sys

import pytest

from tla import terminal
from tla.cli import main
from tla.xla import program

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
    assert value["dimensions"][0] == {"extent": 3, "padded": 8, "digits": [{"extent": 8, "stride": 128, "role": "sublane"}]}
    assert (value["elements"], value["padded_elements"], value["bytes"], value["waste_bytes"]) == (15, 1024, 4096, 4036)


ZN = """\
 0  1  2  3 32 33 34 35 64 65 66 67
 4  5  6  7 36 37 38 39 68 69 70 71
 8  9 10 11 40 41 42 43 72 73 74 75
12 13 14 15 44 45 46 47 76 77 78 79
16 17 18 19 48 49 50 51 80 81 82 83
20 21 22 23 52 53 54 55 84 85 86 87
24 25 26 27 56 57 58 59 88 89 90 91
28 29 30 31 60 61 62 63 92 93 94 95
"""


@pytest.mark.parametrize(
    ("layout", "grid"),
    [
        ("((4,2),(4,3)):((4,16),(1,32))", ZN),
        ("(2,3):(3,1)", "0 1 2\n3 4 5\n"),
        ("(2,3):(1,2)", "0 2 4\n1 3 5\n"),
        ("4:2", "0 2 4 6\n"),
        ("():()", "0\n"),
        ("(2,2,2):(1,2,4)", "(_,_,0)\n0 2\n1 3\n\n(_,_,1)\n4 6\n5 7\n"),
        ("(0,2):(1,1)", "(no elements)\n"),
        ("f32[3,5]{1,0:T(2,2)}", " 0  1  4  5  8  .\n 2  3  6  7 10  .\n12 13 16 17 20  .\n .  .  .  .  .  .\n"),
    ],
)
def test_show_draws_the_grid(capsys, layout, grid):
    assert run(capsys, "show", layout) == (0, grid, "")


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
    code, out, _ = run(capsys, "hlo", str(path))
    lines = out.splitlines()
    assert code == 0
    assert lines[0].split() == ["count", "bytes", "waste", "shape", "layout"]
    assert lines[-1].endswith(", 0 refused")
    value = json.loads(run(capsys, "hlo", str(path), "--json")[1])
    assert len(lines) == len(value) + 3
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
    monkeypatch.setattr(program, "MAX_LINE", 100)
    (tmp_path / "p").write_text(f"f32[3]\n{'f32[5] ' * 1000}\nf32[7]")
    for more in ((), ("--json",)):
        code, out, err = run(capsys, "hlo", str(tmp_path / "p"), *more)
        assert code == 0
        assert "f32[3]" in out
        assert "f32[7]" in out
        assert "f32[5]" not in out
        assert err == "tla: 1 line could not be read; the first: line 2: more than 100 characters, at position 0\n"


def test_standard_input_that_is_closed():
    for more in ("", "--by operation"):
        done = subprocess.run(f"{sys.executable} -m tla.cli hlo - {more} <&-", shell=True, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_composed_layouts_from_a_shell(capsys):
    assert run(capsys, "offset", "Sw<3,0,3> o _0 o (8,8):(8,1)", "1,0")[1].strip() == "9"
    assert "8 11 10" in run(capsys, "show", "Sw<3,0,3> o _0 o (8,8):(8,1)")[1]
    code, out, _ = run(capsys, "lower", "f32[6,10]{1,0:T(3,5)(2,2)}")
    assert code == 0
    assert " o _0 o " in out


def test_hlo_of_a_file_without_shapes_and_of_garbage(capsys, tmp_path):
    (tmp_path / "empty").write_text("")
    (tmp_path / "garbage").write_bytes(bytes(range(256)) * 10)
    for name in ("empty", "garbage"):
        assert run(capsys, "hlo", str(tmp_path / name))[:2] == (0, "0 distinct shapes, 0 in all, 0 refused\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["lower", "f32[8]{0:T(4"], "tla: the text ends, at position 12\n    f32[8]{0:T(4\n                ^\n"),
        (["lower", "(f32[3], token[])"], "tla: (f32[3], token[]) is a tuple, which has no layout or size of its own\n"),
        (["show", "b(f32[3])"], "tla: b(f32[3]) is a buffer\n"),
        (["show", "(4,2)"], "tla: (4,2) is no layout\n"),
        (["show", "(4,2):(1)"], "tla: Layout: (4,2) has 2 modes and (1) has 1\n"),
        (["show", "(4096,4096):(1,4096)"], "tla: a grid of (4096,4096):(1,4096): 16777216 offsets\n"),
        (["offset", "(4,2):(1,4)", "1,x"], "tla: unexpected 'x', at position 2\n"),
        (["offset", "(4,2):(1,4)", "1,2,3"], "tla: coordinate (1,2,3) has 3 modes"),
        (["offset", "f32[3,5]{1,0}", "3,0"], "tla: index (3, 0) of f32[3,5]{1,0}\n"),
        (["hlo", "/no/such/file"], "tla: /no/such/file: No such file or directory\n"),
        (["hlo", "/"], "tla: /: Is a directory\n"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_1(capsys, argv, message):
    code, out, err = run(capsys, *argv)
    assert (code, out) == (1, "")
    assert err.startswith(message)
    assert "Traceback" not in err


@pytest.mark.parametrize("argv", [[], ["nothing"], ["lower"], ["lower", "f32[3]", "--xml"]])
def test_a_wrong_command_line_is_exit_code_2(capsys, argv):
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: tla" in capsys.readouterr().err


def shell(*argv, **options):
    return subprocess.run([sys.executable, "-m", "tla.cli", *argv], capture_output=True, text=True, check=False, **options)


def test_as_a_process():
    assert shell("offset", "(4,2):(1,4)", "3,1").stdout == "7\n"
    assert shell("--version").stdout.startswith("tla 0.")
    path = next((DATA / "hlo").glob("bool_ops*"))
    assert shell("hlo", "-", input=path.read_text()).stdout == shell("hlo", str(path)).stdout
    assert shell("lower", "f32[").returncode == 1


def test_a_closed_pipe_is_no_error():
    path = next((DATA / "hlo").glob("bool_ops*"))
    command = f"{sys.executable} -m tla.cli hlo {path} | head -1"
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
    program = "f32[2]{0} f32[é]".encode()
    (tmp_path / "p").write_bytes(program + b"\xff\xfe")
    for encoding in ("ascii", "utf-8"):
        for argument, data in (("-", program + b"\xff"), (str(tmp_path / "p"), b"")):
            done = subprocess.run(
                [sys.executable, "-m", "tla.cli", "hlo", argument],
                input=data,
                capture_output=True,
                check=False,
                env={**os.environ, "PYTHONIOENCODING": encoding},
            )
            assert done.returncode == 0, done.stderr
            assert b"2 distinct shapes, 2 in all, 1 refused" in done.stdout


def test_a_full_disk_is_one_message():
    done = subprocess.run(
        f"{sys.executable} -m tla.cli lower 'f32[3]' > /dev/full", shell=True, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("tla: No space left on device")


def test_json_of_a_large_layout_needs_no_grid(capsys):
    code, out, _ = run(capsys, "show", "(300,300):(1,300)", "--json")
    assert code == 0
    assert len(json.loads(out)["offsets"]) == 300


def on_terminal(columns, *argv):
    """What a command writes on a terminal that is so wide."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "COLUMNS": str(columns)}
    with subprocess.Popen([sys.executable, "-m", "tla.cli", *argv], stdout=theirs, stderr=subprocess.PIPE, env=environment) as process:
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 2**16)
            except OSError:  # Linux has an error for the end
                break
            if not piece:
                break
            out += piece
    os.close(ours)
    assert process.returncode == 0
    return out.decode().replace("\r\n", "\n")


def test_a_narrow_terminal_gets_lines_that_fit():
    path = str(next((DATA / "hlo").glob("fp8_matmul*")))
    for more in ((), ("--by", "operation"), ("--by", "copy")):
        narrow, wide = (on_terminal(columns, "hlo", path, *more) for columns in (48, 1000))
        assert max(map(len, narrow.splitlines())) <= 48
        assert "".join(sorted("".join(wide.split()).replace(",", ""))) == "".join(sorted("".join(narrow.split()).replace(",", "")))
        assert wide == shell("hlo", path, *more).stdout


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
