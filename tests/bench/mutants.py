"""Mutants of sampled lines, and which of them the tests of their module see.

    python tests/bench/mutants.py --count 150 --seed 1 --limit 40 tla/core/digits.py tla/core/swizzle.py ...

A mutant is one change of one node of the syntax tree: a comparison turned or moved by one, a number one more or less, an
operator exchanged, operands swapped, a condition negated or dropped, `and` for `or`, a result of True for False. Each runs in
a copy of the project, with the tests that TESTS names for its module and the doctests in it, until the first failure or the
limit in seconds. What survives, and what runs past the limit, is printed, to be read: a survivor is a hole in the
tests, or changes nothing that a caller sees; what does not end is seen if the tests end without the mutant.
"""

from __future__ import annotations

import argparse
import ast
import copy
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALGEBRA = ("test_kernel_sized.py", "test_algebra.py", "test_truth_cute.py")
#: The tests that are to see a change of a module; of others those that are named like it.
TESTS = {
    "core/arithmetic": ("test_int_tuple.py", "test_ints.py", "test_truth_cute.py"),
    "core/basis": ("test_basis.py", "test_algebra.py"),
    "core/cache": ("test_tracing.py",),
    "core/composed": ("test_swizzle.py", "test_layout.py"),
    "core/coord": ("test_layout.py", "test_int_tuple.py", "test_basis.py", "test_truth_cute.py"),
    "core/int_tuple": ("test_int_tuple.py", "test_truth_cute.py", "test_messages.py"),
    "core/ints": ("test_ints.py", "test_unknown.py", "test_symbolic.py"),
    "core/layout": ("test_layout.py", "test_truth_cute.py", "test_typing.py"),
    "core/swizzle": ("test_swizzle.py", "test_kernel_sized.py"),
    "notation/text": ("test_notation.py", "test_layout.py"),
    "algebra/codomain": ("test_algebra.py", "test_layout.py", "test_truth_cute.py", "test_unknown.py"),
    "algebra/common": ("test_kernel_sized.py", "test_inverse.py", "test_truth_cute.py"),
    "algebra/composed": ("test_kernel_sized.py", "test_swizzle.py", "test_truth_cute.py"),
    "algebra/composition": (*ALGEBRA, "test_symbolic_algebra.py"),
    "algebra/composition_cuts": (*ALGEBRA, "test_basis.py", "test_symbolic_algebra.py", "test_unknown.py"),
    "core/digits": ALGEBRA,
    "algebra/divide": (*ALGEBRA, "test_symbolic_algebra.py", "test_layout.py"),
    "algebra/inverse": ("test_kernel_sized.py", "test_inverse.py", "test_truth_cute.py", "test_symbolic_algebra.py"),
    "algebra/inverse_digits": ("test_kernel_sized.py", "test_inverse.py"),
    "algebra/modes": ("test_modes.py", "test_truth_cute.py"),
    "algebra/predicates": ("test_kernel_sized.py", "test_predicates.py", "test_unknown.py"),
    "algebra/recast": ("test_kernel_sized.py", "test_swizzle.py", "test_truth_cute.py", "test_laws.py"),
    "algebra/tiles": ("test_tiles.py", "test_truth_tla.py"),
}
COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
               ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}  # fmt: skip
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Mod: ast.FloorDiv,
             ast.LShift: ast.RShift, ast.RShift: ast.LShift, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitOr}  # fmt: skip


def mutations(node: ast.AST) -> Iterator[ast.AST]:
    """The node changed in one place, each way."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        yield _with(node, ops=[COMPARISONS[type(node.ops[0])](), *node.ops[1:]])
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield _with(node, op=OPERATORS[type(node.op)]())
        if not isinstance(node.op, (ast.Add, ast.Mult, ast.BitAnd, ast.BitOr, ast.BitXor)):
            yield _with(node, left=node.right, right=node.left)
    if isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for k in range(len(node.values)):  # a condition dropped
            rest = node.values[:k] + node.values[k + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield _with(node, value=node.value + 1)
        yield _with(node, value=node.value - 1)
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield _with(node, value=not node.value)
    if isinstance(node, (ast.If, ast.IfExp, ast.While)):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield node.operand
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords and not any(isinstance(a, ast.Starred) for a in node.args):
        yield _with(node, args=node.args[::-1])
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("min", "max", "any", "all"):
        other = {"min": "max", "max": "min", "any": "all", "all": "any"}[node.func.id]
        yield _with(node, func=ast.Name(other, ast.Load()))


def _with(node: ast.AST, **fields: object) -> ast.AST:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def mutants(source: str) -> list[tuple[int, str]]:
    """(line, the whole source changed in one place) for each mutation of code: messages and annotations stay."""
    tree = ast.parse(source)
    skipped = {id(n) for a in ast.walk(tree) for part in _left_alone(a) for n in ast.walk(part)}
    out = []
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            children = value if isinstance(value, list) else [value]
            for k, child in enumerate(children):
                if not isinstance(child, ast.AST) or id(child) in skipped or not hasattr(child, "lineno"):
                    continue
                for new in mutations(child):
                    setattr(parent, name, [*children[:k], new, *children[k + 1 :]] if isinstance(value, list) else new)
                    out.append((child.lineno, ast.unparse(ast.fix_missing_locations(tree))))
                    setattr(parent, name, value)
    return out


def _left_alone(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom)):
        yield node
    if isinstance(node, ast.AnnAssign):
        yield node.annotation
    if isinstance(node, ast.arg) and node.annotation:
        yield node.annotation
    if isinstance(node, ast.FunctionDef) and node.returns:
        yield node.returns
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Reason":
        yield node


def tests_of(path: Path) -> list[str]:
    key = f"{path.parent.name}/{path.stem}"
    named = TESTS.get(key) or tuple(p.name for p in (ROOT / "tests").glob(f"test_{path.parent.name}*.py"))
    return [f"tests/{name}" for name in named]


def outcome(project: Path, path: Path, source: str, limit: int) -> str:
    """Whether a test of the module fails with this source: seen, survived, or past the limit."""
    target = project / path
    original = target.read_text(encoding="utf-8")
    target.write_text(source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", str(path), *tests_of(path), "--doctest-modules"]
    try:
        run = subprocess.run(command, cwd=project, capture_output=True, timeout=limit, check=False)
        return "seen" if run.returncode else "survived"
    except subprocess.TimeoutExpired:
        return "past the limit"
    finally:
        target.write_text(original, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, help="modules, relative to the project")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60, help="seconds for each mutant")
    given = parser.parse_args()
    rng = random.Random(given.seed)
    sampled = [(path, *m) for path in given.paths for m in mutants((ROOT / path).read_text(encoding="utf-8"))]
    rng.shuffle(sampled)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".git", "__pycache__", "docs"))
        counts: Counter[str] = Counter()
        for path, line, source in sampled[: given.count]:
            result = outcome(project, path, source, given.limit)
            counts[result] += 1
            if result == "seen":
                continue
            before = ast.unparse(ast.parse((ROOT / path).read_text(encoding="utf-8"))).splitlines()
            changed = [f"{a.strip()}  ->  {b.strip()}" for a, b in zip(before, source.splitlines()) if a != b]
            print(f"{result}  {path}:{line}  {changed[0] if changed else '(other lines)'}", flush=True)
    print(f"{dict(counts)}, of {len(sampled)} possible")


if __name__ == "__main__":
    main()
