"""Times of a trace: a recorded one of a CPU, against a reader of the wire format that knows nothing of `tla`, and one
in the form of a TPU's."""

import io
import json
import os
import re
import struct
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tla import xla
from tla.apps import cli
from tla.core.errors import LeafTypeError, RangeError

from truth import DATA

profiler = pytest.importorskip("jax.profiler", reason="a trace is read by JAX's reader")
TRACE, PROGRAM = DATA / "xla/profile/step.cpu.xplane.pb", DATA / "xla/profile/step.cpu.txt"


# ------------------------------------------------------------------------------------------------- the oracle


def fields(data):
    """The fields of a message on the wire, as (number, value): protobuf's encoding document."""
    at = 0

    def varint():
        nonlocal at
        n = shift = 0
        while True:
            byte, at = data[at], at + 1
            n |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return n

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack("<d", data[at : at + 8])[0]
            at += 8
        else:
            n = varint()
            yield key >> 3, data[at : at + n]
            at += n


def stats_of(stats, names):
    """The stats of an event: by name, texts that are references looked up. XStat: metadata 1, int64 4, text 5,
    reference 7."""
    found = {}
    for stat in stats:
        parts = dict(fields(stat))
        value = parts[5].decode() if 5 in parts else names[parts[7]] if 7 in parts else parts.get(4, parts.get(3))
        found[names[parts[1]]] = value
    return found


def picoseconds(data):
    """(module, instruction) -> its durations in a trace, by the numbers of xplane.proto."""
    out = defaultdict(list)
    for plane in (value for number, value in fields(data) if number == 1):
        names = {}
        for entry in (value for number, value in fields(plane) if number == 5):
            metadata = dict(fields(dict(fields(entry))[2]))
            names[metadata[1]] = metadata.get(2, b"").decode()
        for line in (value for number, value in fields(plane) if number == 3):
            for event in (value for number, value in fields(line) if number == 4):
                stats = stats_of((value for number, value in fields(event) if number == 4), names)
                if "hlo_op" in stats:
                    out[stats["hlo_module"], stats["hlo_op"]].append(dict(fields(event)).get(3, 0))
    return out


def test_a_recorded_trace_by_the_wire():
    expected = picoseconds(TRACE.read_bytes())
    found = xla.read_profile(TRACE)
    assert {(module, name) for module, times in found.modules.items() for name in times} == {*expected}
    for (module, name), durations in expected.items():
        time = found.times(module)[name]
        assert time.runs == len(durations)
        assert time.seconds == pytest.approx(sum(durations) / 1e12, rel=1e-6, abs=1e-9)
        assert (time.devices, time.in_flight) == (1, 0)
    assert len(expected) == 8


def test_moves_of_a_recorded_trace():
    """Every move of the program ran: three steps, four turns of its loop in each, and no copy without a time."""
    times = xla.read_profile(TRACE).times("jit_step")
    moves = [move for move in xla.relayouts(PROGRAM) if not move.free]
    assert len(moves) == 5
    for move in moves:
        assert times[move.line.instruction.name].runs >= 3 * move.times
    assert times["copy.15"].runs == 12


def test_the_command(capsys):
    line = ["hlo", str(PROGRAM), "--by", "relayout", "--profile", str(TRACE)]
    assert cli.main([*line, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["seconds"] for row in rows] == sorted((row["seconds"] for row in rows), reverse=True)
    assert all(row["runs"] and row["seconds"] for row in rows)
    assert cli.main([*line, "--sort", "bytes"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].split()[3:6] == ["us", "each", "GB/s"]
    waits = sum(row["seconds"] for row in rows if not row["overlapped"])
    assert f"{waits * 1e6:,.1f} us of the trace by moves that wait" in text


def test_a_profile_of_other_questions_is_refused(capsys):
    for line in (
        ["hlo", str(PROGRAM), "--profile", str(TRACE)],
        ["hlo", str(PROGRAM), "--by", "peak", "--profile", str(TRACE)],
    ):
        assert cli.main(line) == 1
        assert "add --by relayout" in capsys.readouterr().err


def test_a_trace_of_another_program_of_the_same_name_is_refused(tmp_path, capsys):
    """Most programs are called jit_step: the times of instructions of the same names were taken for this one's."""
    program, text = tmp_path / "program.txt", PROGRAM.read_text()
    names = [name for name in xla.read_profile(TRACE).times("jit_step") if name in text]
    command = ["hlo", str(program), "--by", "relayout", "--profile", str(TRACE)]
    assert len(names) == 8
    for count in range(9):
        other = text
        for name in names[:count]:
            other = re.sub(rf"%{re.escape(name)}(?![\w.])", f"%other_{name}", other)
        program.write_text(other)
        assert cli.main(command) == (count > 4)
        said = capsys.readouterr().err
        assert (f"{count} of the trace's 8 instructions" in said) is (0 < count <= 4)
        assert (f"jit_step is another program: {count} of its 8 instructions" in said) is (count > 4)


def test_a_trace_without_jax(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jax.profiler", None)
    assert cli.main(["hlo", str(PROGRAM), "--by", "relayout", "--profile", str(TRACE)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("tla: ")
    assert "pip install 'tla-layouts[jax]'" in error


# --------------------------------------------------------------------------------------- a TPU's form, by hand

#: Two cores run two programs after each other; in the first a prefetch is in flight beside a copy, and each core has
#: one fusion. Names of planes and lines, and instructions by their whole text, as in traces of TPUs that
#: xprof's tests have.
TPU = """
planes { name: "/host:CPU" lines { name: "python" events { metadata_id: 1 duration_ps: 5 } } event_metadata { key: 1 value { id: 1 name: "f" } } }
"""
CORE = """
planes {
  name: "/device:TPU:%d"
  lines { name: "XLA Modules" timestamp_ns: 1000
    events { metadata_id: 1 offset_ps: 0 duration_ps: 9000000 }
    events { metadata_id: 2 offset_ps: 10000000 duration_ps: 9000000 } }
  lines { name: "XLA Ops" timestamp_ns: 1000
    events { metadata_id: 3 offset_ps: 0 duration_ps: 1000 }
    events { metadata_id: 4 offset_ps: 1000000 duration_ps: 4000000 }
    events { metadata_id: 4 offset_ps: 5500000 duration_ps: 2000000 }
    events { metadata_id: 4 offset_ps: 10000000 duration_ps: 7000000 } }
  lines { name: "Async XLA Ops" timestamp_ns: 1000
    events { metadata_id: 3 offset_ps: 0 duration_ps: 6000000 } }
  lines { name: "Steps" events { metadata_id: 5 duration_ps: 99 } }
  event_metadata { key: 1 value { id: 1 name: "jit_f(12190760917235803885)" } }
  event_metadata { key: 2 value { id: 2 name: "jit_g(1)" } }
  event_metadata { key: 3 value { id: 3 name: "%%copy-start.1 = (f32[8,128]{1,0}, u32[]) copy-start(%%param)" display_name: "async-copy" } }
  event_metadata { key: 4 value { id: 4 name: "%%copy.7 = f32[8,128]{1,0:T(8,128)} copy(%%fusion)" display_name: "copy.7" } }
  event_metadata { key: 5 value { id: 5 name: "0" } }
}
"""


def write_trace(folder, text=None):
    text = TPU + CORE % 0 + CORE % 1 if text is None else text
    path = Path(folder, "plugins", "profile", "2026_01_01", "host.xplane.pb")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(profiler.ProfileData.text_proto_to_serialized_xspace(text))
    return path


def test_cores_of_a_tpu(tmp_path):
    write_trace(tmp_path)
    found = xla.read_profile(tmp_path)
    f, g = found.times("jit_f"), found.times("jit_g")
    assert (f.keys(), g.keys()) == ({"copy-start.1", "copy.7"}, {"copy.7"})
    assert f["copy.7"] == (4, 2, pytest.approx(12e-6), 0)
    assert g["copy.7"] == (2, 2, pytest.approx(14e-6), 0)
    assert f["copy-start.1"] == (2, 2, pytest.approx(2e-9), pytest.approx(12e-6))


def test_a_prefetch_is_measured_while_it_is_in_flight(tmp_path, capsys):
    write_trace(tmp_path)
    text = """HloModule jit_f, is_scheduled=true
ENTRY %main (a: f32[8,128]) -> f32[8,128] {
  %param = f32[8,128]{1,0:T(8,128)} parameter(0)
  %copy-start.1 = (f32[8,128]{1,0:T(8,128)S(1)}, f32[8,128]{1,0:T(8,128)}, u32[]{:S(2)}) copy-start(%param)
  %copy-done.1 = f32[8,128]{1,0:T(8,128)S(1)} copy-done(%copy-start.1)
  ROOT %copy.7 = f32[8,128]{0,1:T(8,128)} copy(%copy-done.1)
}"""
    program = tmp_path / "program.txt"
    program.write_text(text)
    assert cli.main(["hlo", str(program), "--by", "relayout", "--profile", str(tmp_path)]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    by_move = {row[5]: row for row in rows if len(row) > 5 and row[5].endswith(":")}
    assert by_move["copy-start:"][3] == "6.0"  # 6 us of 6, and not the nanosecond that its start takes
    assert by_move["copy:"][3] == "3.0"  # 12 us in 4 runs
    moves = {m.line.instruction.name: m for m in xla.relayouts(io.StringIO(text))}
    per_run = moves["copy.7"].read + moves["copy.7"].written
    assert by_move["copy:"][4] == f"{per_run / 3e-6 / 1e9:,.1f}"


def test_the_newest_trace_of_a_folder(tmp_path):
    old = write_trace(tmp_path / "a")
    new = write_trace(tmp_path / "b", (TPU + CORE % 0).replace("jit_f", "jit_h"))
    os.utime(old, (1, 1))
    os.utime(new, (2, 2))
    assert {*xla.read_profile(tmp_path).modules} == {"jit_h", "jit_g"}


def test_what_is_no_trace(tmp_path):
    cut = tmp_path / "cut.xplane.pb"
    cut.write_bytes(TRACE.read_bytes()[:5000])
    with pytest.raises(RangeError, match="no XSpace"):
        xla.read_profile(cut)
    with pytest.raises(RangeError, match=r"no file \*\.xplane\.pb"):
        empty = tmp_path / "empty"
        empty.mkdir()
        xla.read_profile(empty)
    with pytest.raises(LeafTypeError, match="a profile of type int"):
        xla.read_profile(3)
    with pytest.raises(OSError, match="gone"):
        xla.read_profile(tmp_path / "gone")
    with pytest.raises(RangeError, match="no module jit_other"):
        xla.read_profile(TRACE).times("jit_other")
    with pytest.raises(RangeError, match="without a name"):
        xla.Profile({"a": {}, "b": {}}).times(None)
    with pytest.raises(RangeError, match="a trace without a module"):
        xla.Profile({}).times("jit_step")
    assert xla.Profile({"a": {}}).times(None) == {}
