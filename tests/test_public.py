"""What a user imports: names, docstrings, weight."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tla
from tla import ascend, codegen, evaluate, viz, xla
from tla.xla import jax as tla_jax

ROOT = Path(tla.__file__).parent


def public():
    for module in (tla, ascend, xla, tla_jax, codegen, viz):
        for name in module.__all__:
            yield pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")


def test_every_public_name_exists_and_is_the_modules_own():
    for module, names in tla._PUBLIC.items():
        for name in names.split():
            home = importlib.import_module(f"tla.{module}" if module else f"tla.{name}")
            assert getattr(tla, name) is (getattr(home, name) if module else home)
    assert tla.offsets is evaluate.offsets
    assert set(tla.__all__) <= set(dir(tla))


def test_the_stub_for_checkers_has_the_same_names():
    names = set()
    for node in ast.walk(ast.parse((ROOT / "__init__.pyi").read_text())):
        if isinstance(node, ast.ImportFrom):
            names |= {(node.module or "", alias.asname) for alias in node.names}
    assert names == {(module, name) for module, given in tla._PUBLIC.items() for name in given.split()}


UNDOCUMENTED = {"LayoutLeft", "LayoutRight"}  # values: a comment stands at each


@pytest.mark.parametrize("value", [*public()])
def test_every_public_name_has_a_docstring(value):
    if getattr(value, "_name", None) in UNDOCUMENTED:
        return
    assert value.__doc__
    assert len(value.__doc__.splitlines()[0]) > 20
    exempt = isinstance(value, type) and (issubclass(value, BaseException) or value.__module__.startswith("tla.xla"))
    assert exempt or ">>>" in value.__doc__, value


def test_a_mistyped_name_is_an_attribute_error():
    for name in ("MakeLayuot", "_x1", "composition_"):
        with pytest.raises(AttributeError, match=name):
            getattr(tla, name)
    with pytest.raises(ImportError):
        from tla import MakeLayuot  # noqa: F401


def run(code, **environment):
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent), **environment}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment).stdout


def test_import_loads_neither_numpy_nor_sympy():
    loaded = json.loads(run("import tla, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert "tla" in loaded
    assert not {m.split(".")[0] for m in loaded} & {"numpy", "sympy", "hypothesis"}
    loaded = json.loads(run("import tla.xla.jax, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert not {m.split(".")[0] for m in loaded} & {"numpy", "sympy", "jax", "jaxlib"}
    algebra = "from tla import GetTile, MakeTensor, parse, xla; a = parse('(4,2):(1,4)'); xla.lower('f32[3,5]{1,0:T(2,2)}')"
    algebra += "; GetTile(MakeTensor(None, a), (1, 1), (2, 2))[0, 0]"
    assert not {m.split(".")[0] for m in json.loads(run(f"{algebra}; import sys, json; print(json.dumps(sorted(sys.modules)))"))} & {
        "numpy",
        "sympy",
    }


def test_any_first_name_works_alone():
    """Names are loaded when asked for: none may lean on another having been asked for before."""
    assert run("from tla import parse; print(parse('(_4,2):(_1,4)')(1, 1))") == "5\n"
    assert run("from tla import xla; print(xla.lower('f32[3]'))") == "(_3):(_1)\n"
    for name in tla.__all__:
        run(f"from tla import {name}")


def test_import_is_light():
    """At most 4 times what `import json` adds to a bare interpreter: in one process, each imported cold, best of several."""
    code = """
import sys, time
def cold(name):
    best = 1e9
    for _ in range(20):
        for m in [m for m in sys.modules if m.split(".")[0] == name]:
            del sys.modules[m]
        start = time.perf_counter()
        __import__(name)
        best = min(best, time.perf_counter() - start)
    return best
print(cold("tla") / cold("json"))
"""
    assert min(float(run(code)) for _ in range(3)) < 4


def test_a_star_import_takes_nothing_of_pythons():
    assert run("from tla import *; print(max([1, 2]), min([1, 2]), sum([1, 2]))") == "2 1 3\n"
    assert tla.max(3, 4) == 4
