"""What each generation has of each memory space, against what libtpu says where it refuses a kernel.

tests/data/xla/capacities.json.gz is what tests/bench/tpu/capacities.py kept of libtpu 0.0.52.
"""

import gzip
import io
import json
import re
from pathlib import Path

import pytest

from tla import xla
from tla.apps.cli import main

DATA = Path(__file__).parents[1] / "data" / "xla"
MEASURED = json.loads(gzip.decompress((DATA / "capacities.json.gz").read_bytes()))
ROWS = [(generation, name) for generation, rows in MEASURED.items() for name in rows]
LARGEST = [(generation, name) for generation, name in ROWS if "text" in MEASURED[generation][name]]
WORD, TILES = 4, 16


def said(row):
    """The bytes of a memory by libtpu's words: a size, a capacity, or the last word that a program may take."""
    words = row["refusals"][-1]
    if found := re.search(r"size=(\d+)|of (\d+)B|of ([\d.]+)K", words):
        size, number, kib = found.groups()
        return int(size or number or float(kib or 0) * 1024)
    last, memory = re.search(r"\((\d+) words\) in memory space (\w+)", words).groups()
    return (int(last) + 1) * WORD // (TILES if memory == "spmem" else 1)


@pytest.mark.parametrize(("generation", "name"), ROWS)
def test_a_capacity_is_what_libtpu_refuses_more_than(generation, name):
    row = MEASURED[generation][name]
    assert xla.tpu(generation).capacity[row["space"]] == said(row)


def test_a_generation_without_a_sparse_core_has_none_of_its_memories_and_none_has_the_hosts():
    for generation, rows in MEASURED.items():
        assert {8, 10, 11, 12, 15} & {*xla.tpu(generation).capacity} == {r["space"] for r in rows.values()} - {2}
        assert 5 not in xla.tpu(generation).capacity


@pytest.mark.parametrize(("generation", "name"), LARGEST)
def test_the_largest_kernel_that_compiles_is_within_and_is_what_the_report_has(generation, name):
    row = MEASURED[generation][name]
    peaks = xla.memory(io.StringIO(row["text"]), target=generation).peak
    # The report counts one flag more in S(8), thread-local: what an asynchronous call inside of the kernel waits for.
    apart = {n: size - (peaks[int(n)].bytes if int(n) in peaks else 0) for n, size in row["report"].items()}
    assert {n: size for n, size in apart.items() if size} in ({}, {"8": WORD})
    peak = peaks[row["space"]]
    assert peak.bytes <= peak.capacity
    if name.startswith("vector VMEM"):  # all of it is the program's
        assert (peak.bytes, peak.name) == (peak.capacity, "SparseCore tile SPMEM")
        assert row["most"] * WORD == peak.capacity * (TILES if name == "vector VMEM_SHARED" else 1)


def test_every_summary_has_the_percent(tmp_path, capsys):
    text = MEASURED["v6e"]["vector VMEM"]["text"]
    a, b = tmp_path / "m.after_optimizations.txt", tmp_path / "b.txt"
    a.write_text(text)
    b.write_text(text)
    (tmp_path / "m.target_arguments.txt").write_text("version: TPU_VERSION_GHOSTLITE\n")
    full = "100.0% of 256 KiB"
    page = tmp_path / "report.html"
    for given in ([], ["--by", "peak"], ["--against", str(b)]):
        assert main(["hlo", str(a), *given]) == 0
        rows = [line for line in capsys.readouterr().out.splitlines() if "SparseCore tile SPMEM" in line]
        assert any(full in line for line in rows), given
    for given in ([], ["--against", str(b)]):
        assert main(["hlo", str(a), *given, "-o", str(page)]) == 0
        assert full in page.read_text()
        capsys.readouterr()
        assert main(["hlo", str(a), *given, "--json"]) == 0
        value = json.loads(capsys.readouterr().out)
        assert 2**18 in [row["capacity"] for row in value.get("spaces", value.get("peaks"))]
    with a.open() as file:
        assert {xla.memory(given).target for given in (a, str(a), file)} == {"v6e"}
    assert max(p.bytes / p.capacity for p in xla.census(a).peaks if p.capacity) == 1
