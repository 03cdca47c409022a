"""Options and fixtures of all tests. JAX, where it is installed, runs on eight virtual CPU devices; where it is not,
what needs it is skipped."""

import contextlib
import gc
import importlib.util
import os
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import settings

import tla

GOLDEN = Path(__file__).parent / "golden"

# JAX reads these when it is first used, which is in a test.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

# Processes that tests start would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if tla.build_info().compiled:  # doctests are found in the Python file, and run in the module that was compiled of it
    os.environ["PY_IGNORE_IMPORTMISMATCH"] = "1"

settings.register_profile("day", max_examples=50, deadline=None)
settings.register_profile("night", max_examples=100_000, deadline=None)


def pytest_configure(config):
    if config.getoption("--night"):
        os.environ["HYPOTHESIS_PROFILE"] = "night"  # tests/support/night.py reads it, which tests import after this
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "day"))


def pytest_collection_modifyitems(config, items):
    """The examples of these files need a package; the tests that do skip themselves. With --rows, of each test the rows
    from first to last, evenly."""
    for package, extra, files in (("jax", "jax", ("jax.py", "jax.md", "profile.py")), ("z3", "prove", ("proofs.md",))):
        if importlib.util.find_spec(package) is None:
            for item in items:
                if item.path.name in files:
                    item.add_marker(pytest.mark.skip(reason=f"needs {package}: pip install 'tla-layouts[{extra}]'"))
    if most := config.getoption("--rows"):
        tests = defaultdict(list)
        for item in items:
            tests[item.nodeid.partition("[")[0]].append(item)
        kept = {x for rows in tests.values() for x in rows[:: -(-len(rows) // most)]}
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """What was collected stays: the garbage collector need not look through it again and again, and what tests make it
    may look through more rarely than by default."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector):
    """To compile a test module, with its asserts rewritten, takes longer than all else of its collection, and what one
    process has compiled others read: the workers of xdist import the modules of a folder each from a place
    of its own."""
    outcome = yield
    worker = getattr(collector.config, "workerinput", None)
    modules = [node for node in outcome.get_result().result or () if isinstance(node, pytest.Module)]
    if worker and len(modules) > 1:
        start = int(worker["workerid"].removeprefix("gw")) * len(modules) // worker["workercount"]
        for module in modules[start:] + modules[:start]:
            with contextlib.suppress(Exception, pytest.skip.Exception):  # its own collection says what is wrong with it
                module.obj  # noqa: B018


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each worker begins with files of its own, so that what a module reads or makes once is not made by all; who is
    done takes of the others' rest."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log) if config.option.dist == "load" else None


def pytest_addoption(parser):
    parser.addoption(
        "--night",
        action="store_true",
        help="search as long as one night: more examples, every case where a sample is the default",
    )
    parser.addoption("--rows", type=int, help="of a test with many rows, so many at most: for another Python or build")
    parser.addoption(
        "--update-golden", action="store_true", help="write tests/golden anew: its diff is what is to be reviewed"
    )


@pytest.fixture
def golden(request):
    """golden(name, text): the text is that of tests/golden/name."""

    def check(name, text):
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"no {path}: pytest --update-golden writes it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs: pytest --update-golden writes it anew"

    return check
