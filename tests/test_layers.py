"""Imports go down one list only, functions' inner imports included."""

import ast
from pathlib import Path

import tla

ROOT = Path(tla.__file__).parent
LAYERS = """errors memo display ints int_tuple coord arithmetic basis notation layout cotarget modes tiles steps outer algebra
predicates inverse common tilers widths swizzle composed composed_algebra symbolic strided moves buffers tensor views
algorithm ascend xla evaluate codegen viz notebook terminal explore cli""".split()


def layer_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return "tla" if parts == ("__init__",) else parts[0]


def imported_layers(source, package=("tla",)):
    """The layers that a module of `package` imports, in every form of the statement, inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            full = [*base, *(node.module.split(".") if node.module else [])]
            names = [[*full, alias.name] for alias in node.names] if full == ["tla"] else [full]
        elif isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        else:
            continue
        for name in names:
            if name[:1] == ["tla"] and len(name) > 1 and name[1] != "__version__":
                yield name[1]


def test_imports_go_down():
    seen = set()
    for path in ROOT.rglob("*.py"):
        layer = layer_of(path)
        seen.add(layer)
        if layer == "tla":
            continue
        for below in imported_layers(path.read_text(), ("tla", *path.relative_to(ROOT).parts[:-1])):
            assert below == layer or LAYERS.index(below) < LAYERS.index(layer), f"{path} imports {below}"
    assert seen == {*LAYERS, "tla"}


PACKAGES = {
    "xla": """spec shapes grammar index lower default stages radix raising sizes compare hlo instruction program report devices sharding mesh
    sharding_text jax""".split(),
    "ascend": "element tags recognize make".split(),
    "codegen": """bits nodes arguments held integers plan target c python triton jax affine mlir latex emit guard terms nests serial grid copies loops sizes
    reach cute_cpp cute_dsl tla_cpp source""".split(),
    "viz": "colours scene text placed svg tikz files subject kinds colouring drawing draw threads".split(),
    "explore": "grammar steps answer server".split(),
}


def test_inside_packages_too():
    for package, files in PACKAGES.items():
        for name in files:
            for node in ast.walk(ast.parse((ROOT / package / f"{name}.py").read_text())):
                if isinstance(node, ast.ImportFrom) and node.level == 1:
                    for below in [node.module] if node.module else [alias.name for alias in node.names]:
                        assert files.index(below) < files.index(name), (name, below)


def test_the_scan_sees_every_form():
    source = "import tla.cli\nfrom tla import layout\nfrom tla.xla import lower\ndef f():\n    from . import viz\n    from .evaluate import offsets\n"
    assert sorted(imported_layers(source)) == ["cli", "evaluate", "layout", "viz", "xla"]
    assert list(imported_layers("from ..ints import Int\nfrom .spec import BITS\n", ("tla", "xla"))) == ["ints", "xla"]


def test_nothing_is_evaluated():
    for path in ROOT.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec", "compile", "sympify", "parse_expr"), path
