"""Many programs at once: a census is the sum of its files, in any order and any number of parts."""

import gzip
import itertools
import pickle
import random
import shutil

import pytest

from tla import RangeError, xla

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
        (str(tmp_path / "a.txt"), "the first of 1: line 3: opcode frobnicate is not known: its result counts as new memory"),
    )
