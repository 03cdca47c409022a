"""Colfax's tests of its categories of layouts, with CuTe's DSL exchanged for tla, where TLA_COLFAX is the checkout of
layout-categories."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(os.environ.get("TLA_COLFAX", "layout-categories")) / "tract"
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    not SUITE.is_dir(),
    reason="needs a checkout of https://github.com/ColfaxResearch/layout-categories, and its folder in TLA_COLFAX",
)
def test_colfax_own_tests(tmp_path):
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(map(str, [ROOT, ROOT / "tests" / "support", SUITE.absolute() / "src"])),
    }
    tests = SUITE.absolute() / "tests" / "morphism_tests.py"
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
        "colfax_exchanged",
        str(tests),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "1709 passed" in done.stdout
