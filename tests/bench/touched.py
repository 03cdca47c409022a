"""A plugin of pytest: which lines of tla each test runs, as JSON. Python 3.12 and later.

    TOUCHED=touched.json python -m pytest -p tests.bench.touched

Writes {"file": {"line": [test, ...]}, ...} of the tests that pass, and the seconds of each: {"seconds": {test: s}, "lines": ...}.
`mutants.py` reads it. What is run in other processes, or while modules are imported, is not seen.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

ROOT = Path(__file__).resolve().parents[2]
_PREFIX = str(ROOT / "tla") + os.sep
_TOOL = 4
_now: set[tuple[str, int]] = set()
_lines: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
_seconds: dict[str, float] = {}


def _line(code: CodeType, line: int) -> object:
    if code.co_filename.startswith(_PREFIX) and code.co_name != "<module>":
        _now.add((code.co_filename, line))
    return sys.monitoring.DISABLE  # once in each test is enough


def pytest_configure() -> None:
    sys.monitoring.use_tool_id(_TOOL, "touched")
    sys.monitoring.register_callback(_TOOL, sys.monitoring.events.LINE, _line)
    sys.monitoring.set_events(_TOOL, sys.monitoring.events.LINE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[None]:
    import tla

    tla.cache_clear()  # what an earlier test computed is computed again
    _now.clear()
    sys.monitoring.restart_events()
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when != "call" or not report.passed:
        return
    _seconds[report.nodeid] = report.duration
    for file, line in _now:
        _lines[os.path.relpath(file, ROOT)][line].append(report.nodeid)


def pytest_unconfigure() -> None:
    sys.monitoring.set_events(_TOOL, 0)
    Path(os.environ["TOUCHED"]).write_text(json.dumps({"seconds": _seconds, "lines": _lines}))
