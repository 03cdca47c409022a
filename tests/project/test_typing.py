"""What type checkers say of tla: good.py passes, and in bad.py exactly the lines marked `# E` are reported."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from places import ROOT

HERE = ROOT / "tests"
TYPING = HERE / "typing"
MARKED = {n for n, line in enumerate((TYPING / "bad.py").read_text().splitlines(), 1) if line.endswith("# E")}


def run(module, *arguments):
    """Output of a type checker: it is a tool of `dev`, and .ci/run has it; for users of `test` alone there is
    none to run."""
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE.parent).stdout


def test_mypy():
    options = (
        "--strict",
        "--config-file=",
        "--no-error-summary",
        "--python-version=3.10",
        "--disable-error-code=unused-ignore",
    )
    assert run("mypy", *options, str(TYPING / "good.py")) == ""
    found = run("mypy", *options, str(TYPING / "bad.py"))
    assert {int(n) for n in re.findall(r"bad\.py:(\d+): error", found)} == MARKED, found


def test_pyright():
    report = json.loads(run("pyright", "--outputjson", str(TYPING / "good.py"), str(TYPING / "bad.py")))
    errors = [
        (Path(d["file"]).name, d["range"]["start"]["line"] + 1)
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    ]
    assert {line for name, line in errors if name == "bad.py"} == MARKED, errors
    assert [line for name, line in errors if name == "good.py"] == []
