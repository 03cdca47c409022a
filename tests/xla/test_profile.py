"""Traces of a profiler: times and counts as JAX's own reader has them; a TPU's planes, written by their format; bytes that are none."""

import gzip
import io
import json
import random

import pytest

from tla import LeafTypeError, ParseError, RangeError, xla
from tla.apps.cli import main

from night import amount
from truth import DATA

FOLDER = DATA / "xla" / "profiles"
TRACE = gzip.decompress((FOLDER / "step__cpu.xplane.pb.gz").read_bytes())
PROGRAM = gzip.decompress((FOLDER / "step__cpu.txt.gz").read_bytes())


def test_times_are_those_of_jax():
    expected = json.loads((FOLDER / "step__cpu.json").read_text())["ops"]
    found = xla.profile(TRACE)
    assert sorted([op.device, op.module, op.name, op.runs, op.picoseconds] for op in found.ops) == sorted(expected)
    assert [op.picoseconds for op in found.ops] == sorted((row[4] for row in expected), reverse=True)
    assert found.modules == ("jit_step",)


def test_a_path_a_file_and_a_folder_of_traces(tmp_path):
    packed = FOLDER / "step__cpu.xplane.pb.gz"
    inside = tmp_path / "plugins" / "profile" / "now"
    inside.mkdir(parents=True)
    (inside / "vm.xplane.pb").write_bytes(TRACE)
    assert xla.profile(packed) == xla.profile(str(packed)) == xla.profile(io.BytesIO(TRACE)) == xla.profile(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RangeError, match="no trace in it"):
        xla.profile(tmp_path / "empty")


# ------------------------------------------------------------------------------- a trace of a TPU, by the fields of xplane.proto


def varint(n):
    out = bytearray()
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def put(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def entry(number, key, value):
    return put(number, put(1, key) + put(2, value))


def event(metadata, offset, duration, *stats):
    return put(4, put(1, metadata) + put(2, offset) + put(3, duration) + b"".join(put(4, s) for s in stats))


def tpu(device):
    """A plane of a TPU: three lines, of which one has instructions; the names of its events are texts of HLO."""
    ops = event(1, 5, 700) + event(2, 900, 40) + event(1, 1000, 300) + event(3, 2000, 60)
    return (
        put(2, f"/device:TPU:{device}")
        + put(3, put(2, "Steps") + event(4, 0, 5000))
        + put(3, put(2, "XLA Modules") + event(5, 0, 4000))
        + put(3, put(2, "XLA Ops") + ops)
        + entry(4, 1, put(1, 1) + put(2, "%copy.5 = f32[8]{0} copy(f32[8]{0} %p)") + put(4, "copy.5") + put(5, put(1, 7) + put(3, 42)))
        + entry(4, 2, put(1, 2) + put(2, "%fusion = f32[8]{0} fusion(f32[8]{0} %p)") + put(5, put(1, 7) + put(3, 42)))
        + entry(4, 3, put(1, 3) + put(2, "infeed"))
        + entry(4, 4, put(1, 4) + put(2, "17"))
        + entry(4, 5, put(1, 5) + put(2, "jit_step(42)"))
        + entry(5, 7, put(1, 7) + put(2, "program_id"))
    )


def test_the_line_of_instructions_of_a_tpu():
    found = xla.profile(put(1, tpu(0)) + put(1, tpu(1)) + put(4, "host"))
    rows = {(op.device[-1], op.module, op.name, op.runs, op.picoseconds) for op in found.ops}
    each = [("jit_step", "copy.5", 2, 1000), ("jit_step", "fusion", 1, 40), (None, "infeed", 1, 60)]
    assert rows == {(device, *row) for device in "01" for row in each}
    whole = found.of("copy.5", "jit_step")
    assert (whole.runs, whole.picoseconds, whole.microseconds, whole.device) == (4, 2000, 0.002, "/device:TPU:0, /device:TPU:1")
    assert found.of("copy.5") == whole
    assert found.of("infeed", "jit_step").runs == 2
    assert found.of("copy.5", "jit_other") is None


# ------------------------------------------------------------------------------------------------------------------- errors


def test_bytes_that_are_no_trace_are_refused_or_read():
    rng = random.Random(3)
    for _ in range(amount(150, 5000)):
        at = rng.randrange(len(TRACE))
        broken = rng.choice([TRACE[:at], TRACE[:at] + bytes([rng.randrange(256)]) + TRACE[at + 1 :], TRACE[at:]])
        try:
            assert isinstance(xla.profile(broken), xla.Profile)
        except ParseError as error:
            assert "XSpace" in str(error)


def test_refusals():
    with pytest.raises(ParseError, match="no plane"):
        xla.profile(b"")
    with pytest.raises(ParseError, match="packed trace is broken"):
        xla.profile(gzip.compress(TRACE)[:100])
    with pytest.raises(LeafTypeError, match="a trace of type int"):
        xla.profile(3)
    with pytest.raises(LeafTypeError, match="a file of text"):
        xla.profile(io.StringIO("x"))


# ---------------------------------------------------------------------------------------------------------------- the command


def test_moves_with_their_times(tmp_path, capsys):
    (tmp_path / "step.txt").write_bytes(PROGRAM)
    (tmp_path / "step.xplane.pb").write_bytes(TRACE)
    run = ["hlo", str(tmp_path / "step.txt"), "--by", "relayout", "--profile", str(tmp_path / "step.xplane.pb")]
    assert main([*run, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    expected = {name: (runs, time / 1e6) for _, _, name, runs, time in json.loads((FOLDER / "step__cpu.json").read_text())["ops"]}
    timed = [row for row in rows if row["ran"]]
    assert timed
    assert all((row["ran"], row["microseconds"]) == expected[row["name"]] for row in timed)
    assert [row["microseconds"] for row in rows] == sorted((row["microseconds"] for row in rows), reverse=True)
    assert main(run) == 0
    assert "us in the trace" in capsys.readouterr().out
    assert main([*run[:2], "--profile", run[-1]]) == 1
    assert "add --by relayout" in capsys.readouterr().err


def test_a_trace_of_another_program_says_so(tmp_path, capsys):
    (tmp_path / "step.txt").write_bytes(PROGRAM.replace(b"HloModule jit_step", b"HloModule jit_other"))
    (tmp_path / "step.xplane.pb").write_bytes(TRACE)
    assert main(["hlo", str(tmp_path / "step.txt"), "--by", "relayout", "--profile", str(tmp_path / "step.xplane.pb")]) == 0
    assert "no move of jit_other is in the trace; it has jit_step" in capsys.readouterr().err
