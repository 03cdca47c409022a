"""The layouts of TVM's own tests of Axe (tests/python/tirx/test_layout.py), where TLA_TVM is its checkout: read, and
written for TVM again."""

import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tla import Layout, coalesce, parse, size
from tla.codegen import source

TESTS = Path(os.environ.get("TLA_TVM", "tvm")) / "tests" / "python" / "tirx" / "test_layout.py"
SUPPORT = Path(__file__).parents[1] / "support"


def names_of(text):
    """The axes in the order of their first appearance; a step without a name is along m."""
    steps = re.sub(r"\[[^:\]]*:", "[", text[text.index("S[") :])  # without extents
    return [*dict.fromkeys(name or "m" for name in re.findall(r"-?\d+(?: @ Axis\.(\w+))?", steps))]


def places(text, index):
    """All the places of the element with this index, the last mode fastest, as {axis: value} without zeros."""
    layout, names = parse(text), names_of(text)
    shape = layout.shape if isinstance(layout, Layout) else layout.inner.shape
    shards, replicas = shape if "R[" in text else (shape, ())
    crd = []
    for n in reversed(shards):
        crd.append(index % int(n))
        index //= int(n)
    crd = tuple(reversed(crd))
    found = [layout((crd, i)) if "R[" in text else layout(crd) for i in range(math.prod(map(int, replicas)))]
    values = [x if isinstance(x, tuple) else (getattr(x, "value", x),) for x in found]  # 5@0 is the coordinate (5)
    return [{name: int(n) for name, n in zip(names, x) if n != 0} for x in values]


def test_names():
    text = "T.TileLayout(T.S[(8, 2):(4 @ Axis.laneid, 1)] + T.R[4:1 @ Axis.laneid] + 2 @ Axis.warpid)"
    assert names_of(text) == ["laneid", "m", "warpid"]
    assert places(text, 3) == [{"laneid": 4 + k, "m": 1, "warpid": 2} for k in range(4)]
    with_replicas = source(parse(text), "axe", axes=names_of(text), replicas=True)
    assert with_replicas == "S[(8,2):(4@laneid,1@m)] + R[(4):(1@laneid)] + 2@warpid"


@pytest.mark.skipif(
    not TESTS.is_file(), reason="needs TVM: its checkout's folder in TLA_TVM, and pip install apache-tvm of its version"
)
def test_layouts_of_its_tests(tmp_path):
    pytest.importorskip("tvm", reason="needs TVM: pip install apache-tvm==0.26.0")
    environ = {**os.environ, "PYTHONPATH": str(SUPPORT), "TLA_RECORDED": str(tmp_path / "layouts.txt")}
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
        "axe_recorded",
        str(TESTS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    layouts = [json.loads(line) for line in (tmp_path / "layouts.txt").read_text().split("\n")]
    layouts = [x for x in layouts if "S[" in x[0]]
    written, same = [], 0
    for text, values, canonical in layouts:
        for index, value in values:
            held = places(text, index)
            assert held[0] == {name: n for name, n in value.items() if n}, (text, index)
            assert sorted(map(str, held)) == sorted(map(str, places(canonical, index))) or not same_axes(
                text, canonical
            )
        layout = parse(text)
        written.append(source(layout, "axe", axes=names_of(text), replicas="R[" in text))
        if isinstance(layout, Layout) and size(layout) > 1 and "R[" not in text and same_axes(text, canonical):
            same += 1
            assert canonical_form(layout, names_of(text)) == parse(canonical), text
    assert (len(layouts), same) == (207, 155)
    # TVM makes of what is written the layout that was read: it prints the same text, but for offsets of 0, and gives
    # the same values.
    program = [sys.executable, str(SUPPORT / "axe_recorded.py")]
    done = subprocess.run(program, input="\n".join(written), capture_output=True, text=True, timeout=500)
    again = [json.loads(line) for line in done.stdout.splitlines()]
    assert [x[1] for x in again] == [x[1] for x in layouts], done.stderr
    assert sum(x[0] == y[0] for x, y in zip(again, layouts)) == 204


def same_axes(text, canonical):
    """Whether the canonical form has the same axes: TVM joins those of lanes and warps to one."""
    return {*names_of(canonical)} <= {*names_of(text)}


def canonical_form(layout, names):
    """Modes together that continue each other, the last fastest."""
    backwards = coalesce(Layout(layout.shape[::-1], layout.stride[::-1]))
    shape, stride = ((x if isinstance(x, tuple) else (x,))[::-1] for x in (backwards.shape, backwards.stride))
    return parse(source(Layout(shape, stride), "axe", axes=names))
