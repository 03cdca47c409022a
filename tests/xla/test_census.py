"""Many programs at once: a census is the sum of its files, in any order and any number of parts."""

import gzip
import importlib
import itertools
import json
import pickle
import random
import shutil

import pytest

from tla import LeafTypeError, RangeError, xla
from tla.apps.cli import main

from truth import DATA

FOLDER = DATA / "xla" / "programs"
NAMES = ["int8_matmul.txt.gz", "host_offload.txt.gz", "fft__v5e.txt.gz", "conv__v5e.txt.gz"]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for name in NAMES[:2]:
        shutil.copy(FOLDER / name, tmp_path / name)
    for name in NAMES[2:]:
        (tmp_path / "in" / name.removesuffix(".gz")).write_bytes(gzip.decompress((FOLDER / name).read_bytes()))
    (tmp_path / "broken.txt").write_text("module @m {\n %0 = stablehlo.add %1, %2\n}\n")
    (tmp_path / "notes.md").write_text("no program")
    return tmp_path


@pytest.mark.once
def test_a_census_is_the_sum_of_its_files(folder):
    found = xla.census(folder)
    assert found.programs == 5
    assert [path.split("/")[-1] for path, _why in found.refused] == ["broken.txt"]
    assert "StableHLO" in found.refused[0][1]
    buffers = [b for name in NAMES for b in xla.memory(FOLDER / name).buffers if b.shape is not None]
    assert sum(n for n, _b, _w in found.shapes.values()) == len(buffers)
    assert sum(b for _n, b, _w in found.shapes.values()) == sum(b.bytes for b in buffers)
    assert sum(w for _n, _b, w in found.shapes.values()) == sum(b.waste for b in buffers)
    assert found.peaks[0].bytes == max(p.bytes for name in NAMES for p in xla.memory(FOLDER / name).peak.values())
    assert xla.census(folder, workers=2) == found


def dump_of(folder, name, stages):
    """Files as --xla_dump_to writes them of one program."""
    for stage, text in stages.items():
        (folder / f"{name}.{stage}.txt").write_text(text)


def test_a_dump_has_many_files_of_a_program_and_is_counted_once(tmp_path):
    """A folder of 22 programs was 330 of them, each counted four times: before and after buffer assignment and code
    generation."""
    body = "ENTRY %e {{\n  ROOT %a = f32[3]{{0:T(128){}}} parameter(0)\n}}\n"
    text = "HloModule m, is_scheduled=true\n" + body.format("")
    stages = {
        "before_optimizations": "HloModule m\n" + body.format(""),
        "after_optimizations_before_buffer_assignment": text.replace("f32[3]", "f32[999]"),
        "after_optimizations_after_buffer_assignment": text,
        "after_optimizations-memory-usage-report": "Memory Space: default (color=0)\nTotal bytes: 512\n",
        "after_optimizations": text,
        "after_codegen": text,
        "target_arguments": "replica_count: 1",
    }
    dump_of(tmp_path, "module_0000.jit_f.cl_1", stages)
    dump_of(tmp_path, "module_0001.jit_f.cl_1", {k: v for k, v in stages.items() if k != "after_optimizations"})
    dump_of(tmp_path, "module_0002.jit_g.sm_8", {"0_gpu_after_optimizations": text})
    dump_of(tmp_path, "module_0002.jit_g", {"before_optimizations": text})
    dump_of(tmp_path, "module_0003", {"jit_h": text, "jit_k": text})  # a user's own names
    found = xla.census(tmp_path)
    assert (found.programs, found.others, found.refused) == (5, 12, ())
    assert found.shapes == {"f32[3]{0:T(128)}": (5, 5 * 512, 5 * 500)}
    names = [path.name for path in xla.programs_in(tmp_path)[0]]
    assert names == [
        "module_0000.jit_f.cl_1.after_optimizations.txt",
        "module_0001.jit_f.cl_1.after_codegen.txt",
        "module_0002.jit_g.sm_8.0_gpu_after_optimizations.txt",
        "module_0003.jit_h.txt",
        "module_0003.jit_k.txt",
    ]
    with pytest.raises(RangeError, match="a folder"):
        xla.programs_in(tmp_path / "module_0003.jit_h.txt")
    files = sorted(tmp_path.glob("module_0000.*"))
    assert xla.program_file(*files).name == names[0] == xla.program_file(files[0], tmp_path / names[0]).name
    assert xla.program_file(files[0]) == files[0]
    for given, says in (
        ((tmp_path,), "5 programs: "),
        (tuple(tmp_path.glob("module_0002.jit_g.b*")) * 2, "1 files, and no program"),
    ):
        with pytest.raises(RangeError, match=says):
            xla.program_file(*given)
    with pytest.raises(LeafTypeError):
        xla.program_file(None)
    with pytest.raises(RangeError) as refused:
        xla.program_file(tmp_path)
    assert xla.program_file(refused.value.reason.fix.removeprefix("give ").partition(", which")[0]).is_file()


def test_a_command_takes_the_files_of_one_program_as_one(tmp_path, capsys):
    body = "ENTRY %e {\n  ROOT %a = f32[N]{0:T(128)} parameter(0)\n}\n"
    text = "HloModule m, is_scheduled=true\n" + body.replace("[N]", "[3]")
    early = "HloModule m\n" + body.replace("[N]", "[999]").replace(":T(128)", "")
    dump_of(
        tmp_path,
        "module_0007.jit_f.cl_1",
        {"before_optimizations": early, "after_optimizations": text, "hlo_stats": "none"},
    )
    files = [str(path) for path in sorted(tmp_path.iterdir(), reverse=True)]
    for given in ([str(tmp_path)], files, files[::-1]):
        assert main(["hlo", *given, "--by", "peak", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["spaces"][0]["bytes"] == 512
    assert main(["hlo", str(tmp_path), "--against", str(tmp_path)]) == 0
    capsys.readouterr()
    assert main(["hlo", next(f for f in files if "before" in f)]) == 0
    runs = next(f for f in files if f.endswith(".after_optimizations.txt"))
    assert capsys.readouterr().err == f"tla: this is not the program as it runs; that is {runs}\n"
    assert main(["hlo", next(f for f in files if "stats" in f)]) == 1
    assert f"that is {runs}" in capsys.readouterr().err
    assert main(["hlo", runs]) == 0
    assert not capsys.readouterr().err


@pytest.mark.once
def test_merging_is_associative_and_commutative(folder):
    files = sorted(p for p in folder.rglob("*") if p.suffix in (".txt", ".gz"))
    parts = [xla.census(path) for path in files]
    whole = xla.census(folder)
    assert xla.merge(parts) == whole
    for order in itertools.islice(itertools.permutations(parts), 12):
        cut = random.Random(len(order)).randrange(len(order))
        assert xla.merge([xla.merge(order[:cut]), xla.merge(order[cut:]), xla.Census()]) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_what_is_no_folder():
    with pytest.raises(RangeError, match="census"):
        xla.census("/no/such/folder")


@pytest.mark.parametrize("workers", [0, -1, "2", 1.5, True])
def test_what_is_no_number_of_processes(workers, folder):
    with pytest.raises(RangeError, match="process"):
        xla.census(folder, workers=workers)


def test_a_file_that_is_read_in_part_is_named(tmp_path):
    text = "HloModule m, is_scheduled=true\nENTRY %e {\n  ROOT %a = f32[3]{0:T(128)} frobnicate()\n}\n"
    (tmp_path / "a.txt").write_text(text)
    found = xla.merge([xla.census(tmp_path), xla.Census()])
    assert found.shapes == {"f32[3]{0:T(128)}": (1, 512, 500)}
    assert found.warned == (
        (
            str(tmp_path / "a.txt"),
            "the first of 1: line 3: opcode frobnicate is not known: its result counts as new memory",
        ),
    )


HEAD = "HloModule m, is_scheduled=true\nENTRY %e {\n"


def test_the_census_of_one_file_counts_each_shape_and_space(tmp_path):
    """Of each shape how many buffers, their bytes and waste; of each space its peak, the largest 20 first; no
    table of a tuple."""
    lines = [f"  %a{n} = f32[{n + 1},128]{{1,0:T(8,128){f'S({n})' if n else ''}}} parameter({n})\n" for n in range(25)]
    lines += [
        "  %b = f32[3]{0:T(128)} negate(%a0)\n",
        "  %c = f32[3]{0:T(128)} negate(%b)\n",
        "  ROOT %t = (f32[3]{0:T(128)}) tuple(%c)\n",
    ]
    path = tmp_path / "a.txt"
    path.write_text(f"{HEAD}{''.join(lines)}}}\n")
    found, memory = xla.census(path), xla.memory(path)
    assert found.programs == 1
    assert found.shapes["f32[3]{0:T(128)}"] == (2, 1024, 1000)
    assert found.shapes["f32[4,128]{1,0:T(8,128)S(3)}"] == (1, 4096, 4096 - 2048)
    assert len(found.shapes) == 26
    assert [*found.shapes] == sorted(found.shapes)
    peaks = sorted(((p.bytes, p.space, p.waste) for p in memory.peak.values()), key=lambda p: (-p[0], p[1]))
    assert [(p.bytes, p.space, p.waste) for p in found.peaks] == peaks[:20]
    assert {p.path for p in found.peaks} == {str(path)}
    assert found.warned == ((str(path), f"the first of {len(memory.warnings)}: {memory.warnings[0]}"),)
    assert found.refused == ()


def test_files_that_cannot_be_opened_are_listed(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text(HEAD)

    def refuse(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(importlib.import_module("tla.xla.programs.census"), "memory", refuse)
    assert xla.census(path) == xla.Census(1, refused=((str(path), "Permission denied"),))


ASKED = []


class Pool:
    """Processes that are none: what they are asked for."""

    def __init__(self, workers, context):
        ASKED.append((workers, context.get_start_method()))

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def map(self, function, files):
        sizes = [file.stat().st_size for file in files]
        assert sizes == sorted(sizes, reverse=True)
        return map(function, files)


@pytest.mark.parametrize(
    ("files", "given", "asked"),
    [
        (1, {"workers": 3}, []),
        (2, {"workers": 3}, [(3, "spawn")]),
        (3, {"workers": None}, [(None, "spawn")]),
        (3, {"workers": 1}, []),
        (3, {}, []),
        (0, {"workers": 2}, []),
    ],
)
def test_processes_are_started_where_there_are_several_files(tmp_path, monkeypatch, files, given, asked):
    monkeypatch.setattr(importlib.import_module("tla.xla.programs.census"), "ProcessPoolExecutor", Pool)
    ASKED.clear()
    for k in range(files):
        (tmp_path / f"{k}.hlo").write_text(f"{HEAD}  ROOT %a = f32[3]{{0:T(128)}} parameter(0)\n}}\n" + "\n" * k)
    (tmp_path / "folder.txt").mkdir()
    found = xla.census(str(tmp_path), **given)
    assert asked == ASKED
    assert found == xla.merge(xla.census(tmp_path / f"{k}.hlo") for k in range(files))
    assert found.programs == files


@pytest.mark.parametrize("given", [7, None, b"folder", ["folder"]])
def test_a_census_is_of_a_path(given):
    with pytest.raises(LeafTypeError, match="a census of a"):
        xla.census(given)


def test_a_sum_of_other_things_is_refused():
    with pytest.raises(LeafTypeError, match="merge of a int"):
        xla.merge([xla.Census(), 7])
    one = xla.Census(2, {"b": (1, 2, 3), "a": (4, 5, 6)}, refused=(("y", "w"),), warned=(("v", "u"),))
    two = xla.Census(3, {"b": (10, 20, 30)}, refused=(("x", "z"),), warned=(("s", "t"),))
    assert xla.merge([one, two]) == xla.Census(
        5, {"a": (4, 5, 6), "b": (11, 22, 33)}, refused=(("x", "z"), ("y", "w")), warned=(("s", "t"), ("v", "u"))
    )
    assert [*xla.merge([one, two]).shapes] == ["a", "b"]


def test_all_files_of_a_program_in_a_dump_are_taken_as_one(tmp_path):
    """`tla hlo dump/module_0007.*`: flags and options were taken for programs."""
    stages = (
        "before_optimizations.txt",
        "after_optimizations.txt",
        "after_optimizations-memory-usage-report.txt",
        "flagfile",
        "debug_options",
        "hlo.pb",
    )
    for stage in stages:
        (tmp_path / f"module_0007.jit_f.cl_1.{stage}").write_text("x")
    (tmp_path / "module_0007.jit_f.cl_1").mkdir()
    files = sorted(tmp_path.glob("module_0007.*"))
    assert xla.program_file(*files).name == "module_0007.jit_f.cl_1.after_optimizations.txt"
    others = [path for path in files if path.suffix in (".flagfile", ".debug_options")]
    with pytest.raises(RangeError, match="2 programs"):
        xla.program_file(*others)
