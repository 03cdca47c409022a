"""The compiled build: what it records, and that nothing is imported that is not of the sources that stand there."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import types
from pathlib import Path

import pytest

import tla
from tla.core import build as build_module

ROOT = Path(tla.__file__).parent.parent
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
RECORD = f"tla/compiled.{sys.implementation.cache_tag}.txt"
INTS = "tla/core/ints.py"


@pytest.fixture
def tree(tmp_path):
    """A copy of the package without what is compiled."""
    shutil.copytree(
        ROOT / "tla", tmp_path / "tla", ignore=shutil.ignore_patterns("*.so", "*.pyd", "compiled.*", "__pycache__")
    )
    return tmp_path


def imported(tree, **environment):
    """What a process says of the build that it imports: its text, the file of ints, and what it writes
    to standard error."""
    code = "import tla, tla.core.ints as m; print(tla.build_info(), m.__file__, tla.size((2, 3)), sep='\\n')"
    env = {k: v for k, v in os.environ.items() if k != "TLA_COMPILED"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tree, env={**env, **environment}, capture_output=True, text=True, check=True
    )
    *said, size = done.stdout.splitlines()
    assert size == "6"
    return *said, done.stderr


def compiled(tree, what="no extension module: to load it would be an ImportError", change=b""):
    """A file where an extension module of ints would be, and the record of it."""
    source = tree / INTS
    source.with_name("ints" + SUFFIX).write_text(what)
    (tree / RECORD).write_text(f"{importlib.util.source_hash(source.read_bytes() + change).hex()} {len(what)} {INTS}")
    return source


def test_pure_python_says_so(tree):
    assert imported(tree) == ("pure Python, not compiled", str(tree / INTS), "")


def test_a_source_that_was_changed_is_what_is_imported(tree):
    source = compiled(tree, change=b"# older")
    said, file, line = imported(tree)
    assert said == f"pure Python, for {INTS} is not what was compiled: TLA_COMPILED=1 pip install . compiles it anew"
    assert (file, line) == (str(source), f"tla: {said}\n")
    source.write_text(source.read_text() + "\n# newer\n")
    assert imported(tree)[1:] == (str(source), f"tla: {said}\n")


def test_an_extension_module_without_a_record_is_not_imported(tree):
    source = compiled(tree)
    (tree / RECORD).unlink()
    assert imported(tree) == ("pure Python, not compiled", str(source), "")


@pytest.mark.parametrize("left", [0, 7])
def test_an_extension_module_that_was_half_copied_is_not_imported(tree, left):
    source = compiled(tree)
    os.truncate(source.with_name("ints" + SUFFIX), left)
    said, file, line = imported(tree)
    assert said == f"pure Python, for {INTS} is not what was compiled: TLA_COMPILED=1 pip install . compiles it anew"
    assert (file, line) == (str(source), f"tla: {said}\n")


def test_the_sources_are_used_where_the_environment_says_so(tree):
    source = compiled(tree)
    assert imported(tree, TLA_COMPILED="0") == ("pure Python, as TLA_COMPILED=0 says", str(source), "")


def test_a_source_that_is_gone_and_a_record_that_is_none(tree):
    source = compiled(tree)
    for record in (f"{(tree / RECORD).read_text()}\n0123456789abcdef tla/core/gone.py", "\n\n", "x", "x y z", "\0"):
        (tree / RECORD).write_text(record)
        assert imported(tree)[1] == str(source)


@pytest.fixture
def build(monkeypatch):
    """The build hook of .build/compiled.py, with a stand-in for the interface of hatchling."""
    module = types.ModuleType("hatchling.builders.hooks.plugin.interface")
    module.BuildHookInterface = object
    monkeypatch.setitem(sys.modules, module.__name__, module)
    path = ROOT / ".build" / "compiled.py"
    spec = importlib.util.spec_from_file_location("compiled_build", path)
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    return build


@pytest.mark.parametrize(
    "error", [FileNotFoundError("no gcc"), ImportError("No module named 'Cython'"), ValueError("line 1\nline 2")]
)
def test_what_cannot_be_compiled_is_pure_python_with_the_reason(tree, build, monkeypatch, capsys, error):
    def refused(*arguments):
        raise error

    monkeypatch.setattr(build, "compile_all", refused)
    folder = tree / "made"
    folder.mkdir()
    assert [*build.compiled(["tla/core/*.py"], tree, folder).values()] == [RECORD]
    first = f"{type(error).__name__}: {error}".splitlines()[0]
    assert capsys.readouterr().err == f"tla: pure Python, for it could not be compiled: {first}\n"
    shutil.copy(folder / build.RECORD, tree / RECORD)
    assert imported(tree) == (f"pure Python, for it could not be compiled: {first}", str(tree / INTS), "")


def test_the_record_is_of_the_sources(tree, build, monkeypatch):
    made = tree / "ints.so"
    made.write_bytes(bytes(70))
    monkeypatch.setattr(build, "compile_all", lambda patterns, root, folder: {INTS: made})
    assert build.compiled([INTS], tree, tree) == {
        str(tree / build.RECORD): RECORD,
        str(made): INTS.removesuffix(".py") + SUFFIX,
    }
    hashed, size, source = (tree / build.RECORD).read_text().split()
    assert (hashed, size, source) == (importlib.util.source_hash((tree / INTS).read_bytes()).hex(), "70", INTS)


def test_what_is_imported_here_is_what_it_says():
    from tla.core import ints

    assert ints.__file__.endswith(SUFFIX) is tla.build_info().compiled
    assert str(tla.build_info()).startswith("compiled, " if tla.build_info().compiled else "pure Python, ")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The functions of the build in this process, for a tree with one source."""
    source = tmp_path / INTS
    source.parent.mkdir(parents=True)
    shutil.copy(ROOT / INTS, source)
    for name, value in (("_ROOT", str(tmp_path / "tla")), ("_RECORD", str(tmp_path / RECORD))):
        monkeypatch.setattr(build_module, name, value)
    monkeypatch.delenv("TLA_COMPILED", raising=False)
    return tmp_path


def test_what_a_record_says(here, monkeypatch):
    def found(record=None):
        if record is not None:
            (here / RECORD).write_bytes(record)
        return build_module._read_build()

    nothing = build_module.BuildInfo(False, (), "not compiled")
    assert found() == found(b"") == found(b"\xff\xfe") == nothing
    assert found(b"refused no gcc\nmore") == (False, (), "for it could not be compiled: no gcc")
    assert not build_module._has_extensions()
    compiled(here)
    assert build_module._has_extensions()
    record = (here / RECORD).read_bytes()
    assert found() == (True, ("tla.core.ints",), "")
    assert str(found()) == "compiled, 1 modules"
    assert found(record + b"\n" + record).modules == ("tla.core.ints",) * 2
    for wrong, path in (
        (b"0" + record, INTS),
        (record[:-1], INTS[:-1]),
        (record + b"\nx tla/core/none.py", "tla/core/none.py"),
        (b"\n", "the record"),
    ):
        why = found(wrong).why
        assert why == f"for {path} is not what was compiled: TLA_COMPILED=1 pip install . compiles it anew"
    monkeypatch.setenv("TLA_COMPILED", "0")
    assert found(record) == (False, (), "as TLA_COMPILED=0 says")
    assert found(b"refused no gcc").why.endswith("no gcc")
    monkeypatch.setenv("TLA_COMPILED", "1")
    assert found(record).compiled


def test_the_finder_of_sources_finds_those_of_the_package_alone(here):
    find = build_module._Sources.find_spec
    folders = [str(here), str(here / "tla" / "core")]
    assert find("tla.core.ints", folders).origin == str(here / INTS)
    assert (
        find("tla.core.none", folders)
        is find("ints", folders)
        is find("tla.core.ints")
        is find("tla.core.ints", [])
        is None
    )
