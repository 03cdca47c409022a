"""Imports go down the list of packages only, and inside a package there is no circle; functions'
inner imports included."""

import ast
import functools
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tla

from batches import in_batches
from sources import nodes

ROOT = Path(tla.__file__).parent
#: What stands on what: a package imports those above it in this list. docs/architecture.md says what each is for.
PACKAGES = "core algebra symbolic notation tensors linear access gpu ttgir ascend xla codegen kernels recovery viz compat apps".split()

#: The rooms inside the big packages, in the same order. A module beside the rooms is a room of its own.
ROOMS = {
    "gpu": "instructions descriptors tiled run".split(),
    "xla": "shapes shardings programs mosaic jax advice".split(),
    "kernels": "block program checks run words proofs tiles text targets ascend kernel".split(),
}

#: What may be imported inside a function: a library that is slow to load, or may not be there.
OPTIONAL = "numpy sympy jax triton resvg_py curses z3".split()


#: What imports modules by names that it is given: only these files may.
BY_NAME = {"tla", "tla.names", "tla.core.kinds", "tla.core.on_demand"}


def called(node):
    """The name that a call has at its end, whatever it is an attribute of."""
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def imported_modules(source, package=("tla",)):
    """The dotted names that a module of `package` imports, in every form of the statement, inside functions too."""
    for node in nodes(source):
        if isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            if full[:1] == ["tla"]:
                yield from (".".join([*full, alias.name]) for alias in node.names)
        elif isinstance(node, ast.Call) and called(node) == "OnDemand":
            name = ast.literal_eval(node.args[0])
            yield from [name] if name.split(".")[0] == "tla" else ()  # or one of Python's own
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "tla")


def modules():
    """Every module by its dotted name, with its path."""
    for path in ROOT.rglob("*.py"):
        parts = ("tla", *path.relative_to(ROOT).with_suffix("").parts)
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


MODULES = dict(modules())


def module_of(name):
    """The module that an imported name is, or is in."""
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


@functools.cache
def imports(name):
    path = MODULES[name]
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    return {module_of(below) for below in imported_modules(path.read_text(), tuple(package))} - {name}


def test_every_package_is_in_the_list():
    assert {name.split(".")[1] for name in MODULES if "." in name} - {"__main__", "names"} == {*PACKAGES}


@in_batches(sorted({*MODULES} - {"tla", "tla.__main__", "tla.names"}), 400)
def test_imports_go_down(name):
    package = name.split(".")[1]
    for below in imports(name):
        if below == "tla":  # its version alone; the applications take the names as users do
            names = [
                n
                for n in imported_modules(MODULES[name].read_text(), tuple(name.split(".")[:-1]))
                if module_of(n) == "tla"
            ]
            assert package == "apps" or names == ["tla.__version__"], f"{name} imports {names} from tla"
        else:
            assert PACKAGES.index(below.split(".")[1]) <= PACKAGES.index(package), f"{name} imports {below}"


@in_batches(
    sorted(
        name for name in MODULES if name.split(".")[1:2] in [[package] for package in ROOMS] and name.count(".") > 1
    ),
    100,
)
def test_imports_go_down_inside_a_package(name):
    _, package, room, *_ = name.split(".")
    for below in imports(name):
        if below.startswith(f"tla.{package}."):
            assert ROOMS[package].index(below.split(".")[2]) <= ROOMS[package].index(room), f"{name} imports {below}"


def test_every_room_says_what_it_is():
    for package in ROOMS:
        assert {name.split(".")[2] for name in MODULES if name.startswith(f"tla.{package}.")} == {*ROOMS[package]}
    rooms = [MODULES[f"tla.{package}.{room}"] for package, names in ROOMS.items() for room in names]
    assert all(path.read_text().startswith('"""') for path in rooms)


def own_imports_inside_functions(source):
    """The lines of imports inside functions that are not of numpy, sympy and the other optional libraries."""
    functions = (f for f in nodes(source) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)))
    for node in (node for f in functions for node in ast.walk(f)):
        names = (
            [a.name for a in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
        if getattr(node, "level", 0) or any(name.split(".")[0] not in OPTIONAL for name in names):
            yield node.lineno


@pytest.mark.once
def test_only_optional_libraries_are_imported_inside_functions():
    found = {name: [*own_imports_inside_functions(path.read_text())] for name, path in MODULES.items()}
    assert not {name: lines for name, lines in found.items() if lines}


def test_imports_inside_functions_are_seen():
    source = (
        "import numpy\ndef f():\n    import numpy as np\n    def g():\n        from . import viz\n    import json\n"
    )
    assert sorted({*own_imports_inside_functions(source)}) == [5, 6]


def test_no_circles():
    TopologicalSorter({name: imports(name) for name in MODULES if name != "tla"}).prepare()


def test_no_module_imports_from_a_package_that_it_is_in():
    """What a package takes from its modules on demand is in no graph: a name taken through it could close
    a circle unseen."""
    assert not [
        (name, below) for name in MODULES for below in imports(name) if below != "tla" and name.startswith(f"{below}.")
    ]


def imported_by_name(source):
    """The lines that import a module by a name: not those of numpy, sympy and the other optional
    libraries, written out."""
    for node in nodes(source):
        if isinstance(node, ast.Call) and called(node) in ("import_module", "__import__"):
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
            if name.split(".")[0] not in (*OPTIONAL, "ml_dtypes"):
                yield node.lineno
        elif isinstance(node, ast.ImportFrom) and any(
            a.name in ("import_module", "OnDemand") and a.asname for a in node.names
        ):
            yield node.lineno


def test_modules_are_imported_by_name_in_few_places():
    assert {name for name, path in MODULES.items() if [*imported_by_name(path.read_text())]} == BY_NAME
    source = (
        "import importlib as i\ni.import_module('tla.viz')\n__import__(x)\nfrom .on_demand import OnDemand as "
        "O\n__import__('numpy')\n"
    )
    assert sorted(imported_by_name(source)) == [2, 3, 4]


def test_the_scan_sees_every_form():
    source = (
        "import tla.apps.cli\nfrom tla import layout\nfrom tla.xla import lower\ndef f():\n    from . import viz\n    "
        "from .core.ints import Int\nx = OnDemand('tla.gpu')\ny = o.OnDemand('tla.codegen')\nif TYPE_CHECKING:\n    "
        "import tla.ascend\n"
    )
    assert sorted(imported_modules(source)) == [
        *(
            "tla.apps.cli",
            "tla.ascend",
            "tla.codegen",
            "tla.core.ints.Int",
            "tla.gpu",
            "tla.layout",
            "tla.viz",
            "tla.xla.lower",
        )
    ]
    assert [*imported_modules("from ..core.ints import Int\nfrom .spec import BITS\n", ("tla", "xla"))] == [
        "tla.core.ints.Int",
        "tla.xla.spec.BITS",
    ]


def test_nothing_is_evaluated():
    for path in ROOT.rglob("*.py"):
        for node in nodes(path.read_text()):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "sympify", "parse_expr"), path
