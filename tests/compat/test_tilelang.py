"""The calls that TileLang's own tests of its `tilelang.layout.cute` make, recorded and made here, where TLA_TILELANG is
its checkout."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import tla
from tla import Layout, TlaError, parse, size, static

SUITE = Path(os.environ.get("TLA_TILELANG", "tilelang")) / "testing" / "python" / "layout" / "test_tilelang_cute.py"
ROOT = Path(__file__).parents[2]

NAME = re.compile("[A-Za-z_]")  # a variable of TVM


def coalesced(layout, max_extent=None):
    return tla.coalesce(layout) if max_extent is None else tla.coalesce_x(layout, max_extent)


def made(shape, *strides, **named):
    return tla.make_layout(*(shape if isinstance(shape, list) else [shape]), *strides, *named.values())


OPERATIONS = {
    "coalesce": coalesced,
    "crd2idx": lambda layout, crd: layout(crd),
    "make_layout": made,
    "make_column_major_layout": tla.make_layout,
    "make_row_major_layout": lambda shape: tla.make_layout(shape, tla.LayoutRight),
}


def read(text):
    if text in ("True", "False"):
        return text == "True"
    if text.startswith("["):  # the modes of a layout
        return [*map(read, text[1:-1].split(", "))]
    return static(parse(text))


def judged(name, arguments, more, wanted):
    """`equal`, `same function`, or why there is no answer."""
    given, options, theirs = [*map(read, arguments)], {key: read(x) for key, x in more.items()}, read(wanted)
    try:
        found = OPERATIONS.get(name, getattr(tla, name, None))(*given, **options)
    except TlaError as error:
        return f"refused: {error}"
    if repr(found) == repr(theirs) or (not isinstance(found, Layout) and found == theirs):
        return "equal"
    same = (
        isinstance(found, Layout)
        and size(found) == size(theirs)
        and all(found(i) == theirs(i) for i in range(int(size(theirs))))
    )
    return "same function" if same else f"other: {found}"


@pytest.mark.skipif(
    not SUITE.is_file(),
    reason="needs TileLang: git clone https://github.com/tile-ai/tilelang, its folder in TLA_TILELANG, pip install tilelang",
)
def test_calls_of_its_tests(tmp_path):
    pytest.importorskip("tilelang", reason="needs TileLang: pip install tilelang")
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "tests" / "support"), "TLA_RECORDED": str(tmp_path / "calls.txt")}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-c",
        os.devnull,
        "--rootdir",
        str(tmp_path),
        "-p",
        "tilelang_recorded",
        str(SUITE),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    calls = [json.loads(line) for line in (tmp_path / "calls.txt").read_text().split("\n")]
    known = [call for call in calls if not NAME.search(" ".join([*call[1], *call[2].values()]))]
    found = [(call, judged(*call)) for call in known]
    assert not [x for x in found if x[1] != "equal"]
    assert len(calls) == 7254
    assert len(found) == 7228
