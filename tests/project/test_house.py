"""The house style, where it can be counted: ceilings that may only go down. docs/contributing.md says why."""

import ast
import re
from pathlib import Path

import tla

from sources import nodes

FILES = sorted(Path(tla.__file__).parent.rglob("*.py"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
#: This share of annotations may be a bare Any, at most: kinds have names (IntLike, IntTupleLike, CoordLike, AnyLayout ...), what is checked is an object.
MOST_ANY = 0.14
#: A longer file has more than one idea.
MOST_LINES = 500


def of_kind(*kinds):
    """The nodes of these kinds in all files, with the file of each."""
    return [(path, node) for path in FILES for node in nodes(path.read_text(encoding="utf-8")) if isinstance(node, kinds)]


def annotations(function):
    """The annotations of a function, self and cls not counted, as text."""
    a = function.args
    given = [*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg]
    return [ast.unparse(x) for x in [*(g.annotation for g in given if g is not None), function.returns] if x is not None]


def test_any_is_named():
    found = [text for _path, f in of_kind(*FUNCTIONS) for text in annotations(f)]
    assert found.count("Any") <= MOST_ANY * len(found), f"{found.count('Any')} of {len(found)} annotations are Any: name the kind"


def test_files_have_one_idea():
    lines = {str(path.relative_to(FILES[0].parent)): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert len(lines) > 300
    assert not {path: n for path, n in lines.items() if n > MOST_LINES}


def test_docstrings_begin_with_what_the_thing_is():
    """With its noun or verb, and no clause; of what answers a question, with Whether."""
    clause = re.compile(r"(What|How|Where|Of|Which|Why|That)\b")
    texts = [(path, ast.get_docstring(node) or "") for path, node in of_kind(ast.Module, ast.ClassDef, *FUNCTIONS)]
    assert len(texts) > 3000
    found = [(path.name, text.split("\n")[0]) for path, text in texts if clause.match(text)]
    assert not found
