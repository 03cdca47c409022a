"""The house style, where it can be counted: ceilings that may only go down. docs/contributing.md says why."""

import ast
import re
from pathlib import Path

import pytest

import tla

from sources import nodes

FILES = sorted(Path(tla.__file__).parent.rglob("*.py"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: This share of annotations may be a bare Any, at most: kinds have names (IntLike, IntTupleLike, CoordLike, AnyLayout
#: ...), what is checked is an object.
MOST_ANY = 0.087
#: A longer file has more than one idea; a longer kernel is no example.
MOST_LINES, MOST_LINES_OF_AN_EXAMPLE = 560, 119


def of_kind(*kinds):
    """The nodes of these kinds in all files, with the file of each."""
    return [
        (path, node) for path in FILES for node in nodes(path.read_text(encoding="utf-8")) if isinstance(node, kinds)
    ]


def annotations(function):
    """The annotations of a function, self and cls not counted, as text."""
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return [
        ast.unparse(x) for x in [*(g.annotation for g in given if g is not None), function.returns] if x is not None
    ]


def test_any_is_named():
    found = [text for _path, f in of_kind(*FUNCTIONS) for text in annotations(f)]
    assert found.count("Any") <= MOST_ANY * len(found), (
        f"{found.count('Any')} of {len(found)} annotations are Any: name the kind"
    )


def test_files_have_one_idea():
    lines = {
        str(path.relative_to(FILES[0].parent)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES
    }
    assert len(lines) > 300
    assert not {path: n for path, n in lines.items() if n > MOST_LINES}
    examples = [*(Path(__file__).parents[2] / "examples" / "kernels").glob("*.py")]
    assert len(examples) > 20
    assert not [
        path for path in examples if len(path.read_text(encoding="utf-8").splitlines()) > MOST_LINES_OF_AN_EXAMPLE
    ]


def test_every_file_of_tests_has_its_own_name():
    """Folders of tests are no packages: pytest imports each file by its name alone, and refuses a second one
    of that name."""
    tests = Path(__file__).parents[1]
    names = [path.name for path in [*tests.rglob("test_*.py"), *(tests / "support").glob("*.py")]]
    assert len(names) > 200
    assert not {name for name in names if names.count(name) > 1}


def test_docstrings_begin_with_what_the_thing_is():
    """With its noun or verb, and no clause; of what answers a question, with Whether."""
    clause = re.compile(r"(What|How|Where|Of|Which|Why|That)\b")
    texts = [(path, ast.get_docstring(node) or "") for path, node in of_kind(ast.Module, ast.ClassDef, *FUNCTIONS)]
    assert len(texts) > 3000
    found = [(path.name, text.split("\n")[0]) for path, text in texts if clause.match(text)]
    assert not found


#: The doors: arithmetic with arrays, and casts of their values.
ARITHMETIC, CASTS = "core/arrays.py", ("core/arrays.py", "core/values.py")
#: Kinds of parameters that may be arrays of users, and functions that give such arrays.
ARRAY_KINDS = re.compile(r"\b(CoordLike|NDArray|ArrayLike|ndarray)\b")
GIVE_ARRAYS = {"coord_leaf", "seen", "as_int64", "as_unbounded", "computed"}
OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Pow, ast.BitXor, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift)
#: The function whose array is ours, in a type that is proved to hold every result.
OWN_ARRAYS = {"tensors/offsets.py: _swizzle_in_place"}


def inside(path):
    return path.relative_to(FILES[0].parent).as_posix()


def arrays_of(function):
    """The names of a function that are arrays of users: by the annotation of a parameter, or by the call
    that gives them."""
    a = function.args
    given = {
        x.arg
        for x in (*a.posonlyargs, *a.args, *a.kwonlyargs)
        if x.annotation and ARRAY_KINDS.search(ast.unparse(x.annotation))
    }
    for node in ast.walk(function):
        called = isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and node.value.func
        if isinstance(called, ast.Name) and called.id in GIVE_ARRAYS:
            given |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return given


def operands(node):
    """The names that an operator of + - * ** ^ // % << >> is applied to, subscripts of them included."""
    if not isinstance(node, (ast.BinOp, ast.AugAssign)) or not isinstance(node.op, OPERATORS):
        return set()
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
    names = [side.value if isinstance(side, ast.Subscript) else side for side in sides]
    return {name.id for name in names if isinstance(name, ast.Name)}


def computed_outside(function):
    """The operators of a function whose operand is an array of a user."""
    arrays = arrays_of(function)
    return [node for node in ast.walk(function) if arrays and operands(node) & arrays]


def cast_outside(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "astype"


@pytest.mark.once
def test_arrays_of_users_compute_in_one_place():
    """Numpy and JAX wrap silently: an operator stands in core/arrays.py, with the proof of its range,
    and nowhere else."""
    found = {
        f"{inside(path)}: {f.name}": ast.unparse(n)
        for path, f in of_kind(*FUNCTIONS)
        if inside(path) != ARITHMETIC
        for n in computed_outside(f)
    }
    assert {*found} == OWN_ARRAYS, f"use computed(operator..., a, b): {found}"


def test_arrays_are_cast_in_one_place():
    """A cast drops what its type does not hold: it stands behind a question, `held` or `converted`, or is `rounded` as
    hardware has it."""
    found = [
        (inside(path), ast.unparse(n)) for path, n in of_kind(ast.Call) if cast_outside(n) and inside(path) not in CASTS
    ]
    assert not found, f"use held, converted or rounded of core/values.py: {found}"


def test_the_rules_of_arrays_see_what_once_was_wrong():
    """The forms of finding 3 and 4 of an attack: a swizzle, an index of padding, an in-place sum, a cast."""
    wrong = [
        "def f(offset: CoordLike) -> Offset:\n    return offset + offset // 32 * 4",
        "def f(offset: Any) -> Any:\n    x = coord_leaf(offset)\n    return x ^ 7",
        "def f(at: tuple[CoordLike, ...]) -> Any:\n    return at[0] << 3",
        "def f(x: npt.NDArray[Any]) -> Any:\n    x *= 300\n    return x",
    ]
    assert all(computed_outside(ast.parse(text).body[0]) for text in wrong)
    assert not computed_outside(
        ast.parse("def f(x: CoordLike, n: int) -> Any:\n    return computed(operator.add, x, n * 2)").body[0]
    )
    assert any(map(cast_outside, ast.walk(ast.parse("x.astype('int8')"))))
