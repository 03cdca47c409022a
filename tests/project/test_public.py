"""What a user imports: names, docstrings, weight."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tla
from tla import access, ascend, codegen, gpu, kernels, linear, ttgir, viz, xla
from tla.core import literals
from tla.linear import triton
from tla.tensors.offsets import offsets
from tla.xla import jax as tla_jax

from batches import in_batches
from night import some

ROOT = Path(tla.__file__).parent
MODULES = [
    ".".join(["tla", *path.relative_to(ROOT).with_suffix("").parts])
    for path in ROOT.rglob("*.py")
    if path.stem != "__init__"
]
#: What needs more than the core's dependencies.
OPTIONAL: set[str] = set()


def public():
    for module in (tla, ascend, xla, tla_jax, codegen, gpu, kernels, viz, linear, triton, access, ttgir):
        for name in module.__all__:
            if name not in {*literals.__all__, "_"} and not isinstance(getattr(module, name), ModuleType):
                yield f"{module.__name__}.{name}", getattr(module, name)


def test_every_public_name_exists():
    assert all(hasattr(tla, name) for name in tla.__all__)
    assert set(tla.__all__) <= set(dir(tla))
    assert tla.offsets is offsets


UNDOCUMENTED = {"LayoutLeft", "LayoutRight"}  # values: a comment stands at each


@in_batches(public(), 600)
def test_every_public_name_has_a_docstring(named):
    _name, value = named
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
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def test_import_loads_neither_numpy_nor_sympy():
    loaded = json.loads(run("import tla, sys, json; tla.MakeLayout; print(json.dumps(sorted(sys.modules)))"))
    assert "tla.tensors.tensor" in loaded
    assert not {m.split(".")[0] for m in loaded} & {"numpy", "sympy", "hypothesis"}
    loaded = json.loads(run("import tla.xla.jax, sys, json; print(json.dumps(sorted(sys.modules)))"))
    assert not {m.split(".")[0] for m in loaded} & {"numpy", "sympy", "jax", "jaxlib"}
    algebra = (
        "from tla import GetTile, MakeTensor, parse, xla; a = parse('(4,2):(1,4)'); xla.lower('f32[3,5]{1,0:T(2,2)}')"
    )
    algebra += "; GetTile(MakeTensor(None, a), (1, 1), (2, 2))[0, 0]"
    assert not {
        m.split(".")[0] for m in json.loads(run(f"{algebra}; import sys, json; print(json.dumps(sorted(sys.modules)))"))
    } & {
        "numpy",
        "sympy",
    }


def test_any_first_name_works_alone():
    """Names are loaded when asked for: none may lean on another having been asked for before."""
    assert run("from tla import parse; print(parse('(_4,2):(_1,4)')(1, 1))") == "5\n"
    assert run("from tla import xla; print(xla.lower('f32[3]'))") == "(_3):(_1)\n"


def test_who_looks_at_the_package_loads_nothing():
    """doctest and debuggers ask each value of a module for what it wraps: that is no use of it."""
    look = "import doctest, inspect, tla; names = set(vars(tla)); doctest.DocTestFinder().find(tla)"
    look += "; [hasattr(x, '__wrapped__') for x in [*vars(tla).values()]]; print(set(vars(tla)) - names)"
    assert run(look) == "set()\n"


#: What a process does with each module first: it imports it, then reads and makes a value of each kind.
FIRST = """
import functools, json, os, sys
import argparse, dataclasses, fractions, inspect, numpy, sympy, typing  # not of tla: so that each of its modules is read in little time
import tla  # what importing any of its modules begins with

@functools.cache
def first(module):
    ours, theirs = os.pipe()
    if (child := os.fork()) == 0:
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        exec(f"import {module}")
        print(*(name for name in sys.modules if name.startswith("tla")))
        from tla.notation.text import parse
        from tla.core.make_layout import MakeLayout
        from tla.algebra.coalesce import coalesce
        from tla.symbolic import dim
        M = dim("M")
        print(parse("(4,2):(1,4)")(3), parse("M:1", symbols=[M]), MakeLayout((M, 2)))
        print(coalesce(parse("Sw<1,0,1> o _0 o (_2,_2):(_1,_2)")), flush=True)
        os._exit(0)
    os.close(theirs)
    with open(ours) as said:
        loaded, _, answers = said.read().partition("\\n")
    os.waitpid(child, 0)
    return loaded.split(), answers

def answers(module):
    package = module.rpartition(".")[0]
    return first(package if module in first(package)[0] else module)[1]

print(json.dumps({module: answers(module) for module in sys.argv[1:]}))
"""


FIRST_OF_ALL = some(sorted(set(MODULES) - OPTIONAL), 15)


@pytest.fixture(scope="module")
def said_first():
    """What each module's process says. A process is a fork of one that has imported tla alone. To import a module is to
    import its package first: one process stands for all modules that this loads. By day every fifteenth module:
    test_layers.py has that no imports are a circle."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT.parent), "OPENBLAS_NUM_THREADS": "1"}
    modules = FIRST_OF_ALL
    done = subprocess.run(
        [sys.executable, "-c", FIRST, *modules], capture_output=True, text=True, check=True, env=environment
    )
    return json.loads(done.stdout)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_each_module_may_be_the_first(said_first):
    """Whatever is imported first, the kinds of layouts, symbols and text are the same."""
    assert [*said_first] == FIRST_OF_ALL
    assert not {
        module: said for module, said in said_first.items() if said != "3 M:1 (M,2):(_1,M)\nSw<1,0,1> o _0 o _4:_1\n"
    }


def processor_times(*codes, **environment):
    """Seconds of processor time of a fresh interpreter for each of some codes, in turn, the least until now, round
    after round: other programs do not count."""
    least = [float("inf")] * len(codes)
    for _ in range(10):
        for k, code in enumerate(codes):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            run(code, **environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            least[k] = min(least[k], after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        yield least


def test_import_is_light(tmp_path):
    """At most 40 ms more than a bare interpreter, where that starts in 10 ms: modules of the standard library and all,
    with their bytecode, and 10 ms more with the first name, with which the others come. Of the Python files: a compiled
    build may be one without optimisation."""
    cache = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(tmp_path), "TLA_COMPILED": "0"}
    run("from tla import MakeLayout", **cache)
    rounds = processor_times("pass", "import tla", "from tla import MakeLayout", **cache)
    assert any(loaded - bare <= 4 * bare and named - bare <= 5 * bare for bare, loaded, named in rounds)


def test_a_star_import_takes_nothing_of_pythons():
    code = "from tla import *; print(max([1, 2]), min([1, 2]), sum([1, 2])); print(_48, E[0], dim('M'), _)"
    assert run(code) == "2 1 3\n_48 _1@0 M _\n"
    assert tla.max(3, 4) == 4
