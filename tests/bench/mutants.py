"""Mutants of sampled lines, and which of them the tests of their module see.

    python tests/bench/mutants.py --count 300 --seed 1 --results mutants.jsonl tla/algebra tla/core/swizzle.py ...

A mutant is one change of one node of the syntax tree: a comparison turned or moved by one, a number one more or less, an
operator exchanged, operands swapped, a condition negated or dropped, `and` for `or`, a result of True for False. Each runs in
a copy of the project, with the doctests of its module and the tests that TESTS names for it, until the first failure or the
limit in seconds of processor time. What survives, and what runs past the limit, is printed, to be read: a survivor is a hole
in the tests, or changes nothing that a caller sees; what does not end is seen if the tests end without the mutant.

Each outcome is a line of the file `--results`; what is in it already is not run again. The same seed gives the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import importlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ALGEBRA = ("test_algebra.py", "test_truth_cute.py", "test_kernel_sized.py")
#: The tests that are to see a change of a module; of others those that are named like it.
TESTS = {
    "core/arithmetic": ("test_int_tuple.py", "test_ints.py", "test_truth_cute.py"),
    "core/basis": ("test_basis.py", "test_algebra.py"),
    "core/cache": ("test_tracing.py",),
    "core/composed": ("test_swizzle.py", "test_layout.py"),
    "core/conversions": ("test_layout.py", "test_int_tuple.py", "test_basis.py", "test_truth_cute.py"),
    "core/coord": ("test_layout.py", "test_int_tuple.py", "test_basis.py", "test_truth_cute.py"),
    "core/int_tuple": ("test_int_tuple.py", "test_truth_cute.py", "test_messages.py"),
    "core/ints": ("test_ints.py", "test_unknown.py", "test_symbolic.py"),
    "core/leaf_arithmetic": ("test_ints.py", "test_unknown.py", "test_int_tuple.py"),
    "core/questions": ("test_ints.py", "test_unknown.py", "test_symbolic.py"),
    "core/layout": ("test_layout.py", "test_truth_cute.py", "test_typing.py"),
    "core/swizzle": ("test_swizzle.py", "test_kernel_sized.py"),
    "notation/text": ("test_notation.py", "test_layout.py"),
    "algebra/codomain": ("test_algebra.py", "test_layout.py", "test_truth_cute.py", "test_unknown.py"),
    "algebra/common": ("test_inverse.py", "test_truth_cute.py", "test_kernel_sized.py"),
    "algebra/composed": ("test_swizzle.py", "test_truth_cute.py", "test_kernel_sized.py"),
    "algebra/swizzled": ("test_swizzle.py", "test_truth_cute.py", "test_kernel_sized.py"),
    "algebra/exhaustive": ("test_swizzle.py",),
    "algebra/composition": (*ALGEBRA, "test_symbolic_algebra.py"),
    "algebra/composition_dynamic": (*ALGEBRA, "test_basis.py", "test_symbolic_algebra.py", "test_unknown.py"),
    "core/digits": ALGEBRA,
    "algebra/divide": (*ALGEBRA, "test_symbolic_algebra.py", "test_layout.py"),
    "algebra/inverse": ("test_inverse.py", "test_truth_cute.py", "test_symbolic_algebra.py", "test_kernel_sized.py"),
    "algebra/inverse_digits": ("test_inverse.py", "test_kernel_sized.py"),
    "algebra/modes": ("test_modes.py", "test_truth_cute.py"),
    "algebra/predicates": ("test_predicates.py", "test_unknown.py", "test_kernel_sized.py"),
    "algebra/recast": ("test_swizzle.py", "test_truth_cute.py", "test_laws.py", "test_kernel_sized.py"),
    "algebra/tiles": ("test_tiles.py", "test_truth_tla.py"),
}
#: Of the modules of other packages.
PACKAGES = {
    "symbolic": ("test_symbolic.py", "test_symbolic_forms.py", "test_symbolic_sympy.py", "test_symbolic_algebra.py", "test_unknown.py"),
    "tensors": ("test_tensor.py", "test_views.py", "test_copies.py", "test_algorithm.py", "test_tensor_algebra.py", "test_values.py"),
    "ascend": ("test_ascend.py", "test_origin.py", "test_truth_tla.py", "test_transfers.py"),
    "codegen": ("test_codegen.py", "test_codegen_plan.py", "test_guard.py", "test_source.py"),
    "xla": ("test_xla.py", "test_xla_compare.py", "test_hlo.py", "test_sharding.py", "test_alternatives.py", "test_relayouts.py"),
    "viz": ("test_viz.py",),
    "core": ("test_layout.py", "test_notation.py", "test_ints.py", "test_int_tuple.py"),
    "algebra": ALGEBRA,
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


def mutants(source: str) -> list[tuple[int, str, str]]:
    """(line, the change, the whole source with it) for each mutation of code: messages and annotations stay, and all other text."""
    tree, text = ast.parse(source), source.encode()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    skipped = {id(n) for a in ast.walk(tree) for part in _left_alone(a) for n in ast.walk(part)}
    out = []
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        for new in mutations(node):
            old, made = (node.test, new.test) if isinstance(node, (ast.If, ast.IfExp, ast.While)) else (node, new)
            begin, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset
            written = ast.unparse(ast.fix_missing_locations(made))
            changed = text[:begin] + f"({written})".encode() + text[end:]
            out.append((old.lineno, f"{text[begin:end].decode()}  ->  {written}", changed.decode()))
    return out


def _left_alone(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Assert, ast.Import, ast.ImportFrom, ast.pattern)):
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
    named = TESTS.get(f"{path.parent.name}/{path.stem}") or PACKAGES.get(path.parts[1]) or ()
    own = [p.name for p in (ROOT / "tests").glob(f"test_{path.stem}.py") if p.name not in named]
    return [f"tests/{name}" for name in (*own, *named)]


def outcome(project: Path, path: Path, source: str, limit: int) -> str:
    """Whether a test of the module fails with this source: seen, survived, or past the limit."""
    target = project / path
    original = target.read_text(encoding="utf-8")
    target.write_text(source, encoding="utf-8")
    try:
        child = os.fork()  # what is slow to import is imported once, here
        if child == 0:
            _run(project, [str(path), *tests_of(path)], limit)  # it never returns
        status = os.waitpid(child, 0)[1]
    finally:
        target.write_text(original, encoding="utf-8")
    if os.WIFSIGNALED(status):
        return "past the limit" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "seen"
    return "survived" if os.WEXITSTATUS(status) == 0 else "seen"


def _run(project: Path, tests: list[str], limit: int) -> None:
    """The tests in this process, which ends with them."""
    import pytest

    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    os.chdir(project)
    sys.path[:0] = [str(project), str(project / "tests")]
    sys.dont_write_bytecode = True
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    code = 3
    with contextlib.suppress(BaseException):
        code = pytest.main(["-q", "-x", "-p", "no:cacheprovider", "--doctest-modules", *tests])
    os._exit(int(code))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="modules or packages, relative to the project")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=60, help="seconds of processor time for each mutant")
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    given = parser.parse_args()
    for name in ("numpy", "pytest", "sympy"):
        importlib.import_module(name)  # each child has them
    files = [f.relative_to(ROOT) for p in given.paths for f in (sorted((ROOT / p).rglob("*.py")) if (ROOT / p).is_dir() else [ROOT / p])]
    sampled = [(path, *m) for path in files for m in mutants((ROOT / path).read_text(encoding="utf-8"))]
    random.Random(given.seed).shuffle(sampled)
    old = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {(r["path"], r["line"], r["change"]): r["result"] for r in old}
    with tempfile.TemporaryDirectory() as folder, given.results.open("a") as results:
        project = Path(folder) / "project"
        shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".git", "__pycache__", "docs"))
        counts: Counter[str] = Counter()
        subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests"], cwd=project, capture_output=True, check=False
        )  # compiles
        ints = Path("tla/core/ints.py")
        if outcome(project, ints, (ROOT / ints).read_text(encoding="utf-8"), 10 * given.limit) != "survived":
            sys.exit("tests fail without a mutant")
        for path, line, change, source in sampled[: given.count]:
            key = (str(path), line, change)
            if key not in done:
                done[key] = outcome(project, path, source, given.limit)
                results.write(json.dumps(dict(zip(("path", "line", "change", "result"), (*key, done[key])))) + "\n")
                results.flush()
            counts[done[key]] += 1
            if done[key] != "seen":
                print(f"{done[key]}  {path}:{line}  {change}", flush=True)
    print(f"{dict(counts)}, of {len(sampled)} possible")


if __name__ == "__main__":
    main()
