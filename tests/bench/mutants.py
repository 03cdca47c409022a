"""Mutants of sampled lines, and which of them the tests that run these lines see.

    python tests/bench/mutants.py --count 300 --seed 1 --results mutants.jsonl tla/algebra tla/core/swizzle.py ...

A mutant is one change of one node of the syntax tree: a comparison turned or moved by one, a number one more or less,
an operator exchanged, operands swapped, a condition negated or dropped, `and` for `or`, a result of True for False. It
gets the tests that run its line, the quick ones of each file, until the first failure or the limit in seconds of
processor time. What survives, and what runs past the limit, is printed, to be read: a survivor is a hole in the tests,
or changes nothing that a caller sees; what does not end is seen if the tests end without the mutant.

Which tests run a line is noted once, in the file `--covered` (Python 3.12 and up). All tests are collected once; each
mutant is a fork of that process in which one function has other code, which takes tenths of a second. What runs when a
module is imported is changed in a copy of the project, in a process of its own. Each outcome is a line of the file
`--results`; what is in it already is not run again. The same seed gives the same mutants; `--part 0/2` runs every
second of them.
"""

from __future__ import annotations

import argparse
import ast
import copy
import gc
import importlib.util
import inspect
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
import tla  # noqa: E402

#: Files whose tests read the project's files, or start other programs.
LEFT_OUT = ["layers", "house", "docs", "typing", "explore", "explore_page", "public", "cli", "fuzz"]
#: Seconds of processor time of one test, of the tests of one file and of all that a mutant is given, as they take
#: without it.
OF_A_TEST, OF_A_FILE, OF_ALL = 4, 6, 15
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
    if (
        isinstance(node, ast.Call)
        and len(node.args) == 2
        and not node.keywords
        and not any(isinstance(a, ast.Starred) for a in node.args)
    ):
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
    """(line, the change, the whole source with it) for each mutation of code: messages and annotations stay, and all
    other text."""
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


class Covered:
    """A plugin of pytest that notes, for each test, the lines of `tla` that it runs and its seconds
    of processor time."""

    def __init__(self, results: Path) -> None:
        self.results, self.root = results, f"{ROOT}/"
        self.lines: set[tuple[str, int]] = set()
        tool = sys.monitoring.COVERAGE_ID
        sys.monitoring.use_tool_id(tool, "mutants")
        sys.monitoring.register_callback(tool, sys.monitoring.events.LINE, self.line)
        sys.monitoring.set_events(tool, sys.monitoring.events.LINE)

    def line(self, code: CodeType, line: int) -> object:
        self.lines.add((code.co_filename, line))
        return sys.monitoring.DISABLE  # once for each test

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.lines.clear()
        sys.monitoring.restart_events()
        begin = time.process_time()
        signal.signal(signal.SIGPROF, lambda *_: pytest.skip(f"more than {OF_A_TEST} s"))
        signal.setitimer(signal.ITIMER_PROF, OF_A_TEST)
        try:
            result = yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - begin
        lines = sorted(f"{f[len(self.root) :]}:{n}" for f, n in self.lines if f.startswith(f"{self.root}tla/"))
        with self.results.open("a") as out:
            out.write(json.dumps({"test": item.nodeid, "seconds": round(seconds, 3), "lines": lines}) + "\n")
        return result

    def pytest_unconfigure(self) -> None:
        sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        sys.monitoring.free_tool_id(sys.monitoring.COVERAGE_ID)


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin (`-p mutants`), this file writes what tests cover to the file that COVERED names."""
    if "COVERED" in os.environ:
        config.pluginmanager.register(Covered(Path(os.environ["COVERED"])))


def cover(covered: Path) -> None:
    """Run all tests once, without a mutant, and note what each covers."""
    left_out = [f"--ignore={path}" for name in LEFT_OUT for path in ROOT.glob(f"tests/*/test_{name}.py")]
    env = {**os.environ, "COVERED": str(covered.absolute()), "PYTHONPATH": "tests/bench"}
    many = ["-n", "2"] if importlib.util.find_spec("xdist") else []
    subprocess.run(
        [sys.executable, "-m", "pytest", *many, "-p", "mutants", "-p", "no:cacheprovider", *left_out],
        cwd=ROOT,
        env=env,
        check=True,
    )


Tests = dict[str, list[tuple[float, str]]]


def by_line(covered: Path) -> Callable[[Path, int | None], Tests]:
    """For a line: the tests that run it, as (seconds, test) by file, files most of whose tests do first.

    Those of its module, for a line that no test runs. Those of its folder for None, what runs when a module is
    imported: that is run in the first test alone, and a table of one module is read by the functions of others."""
    rows = [json.loads(row) for row in covered.read_text().splitlines()]
    lines: dict[str, set[int]] = defaultdict(set)
    for k, row in enumerate(rows):
        for line in row["lines"]:
            lines[line].add(k)
            module = line.partition(":")[0]
            lines[module].add(k)
            lines[module.rpartition("/")[0]].add(k)
    size = Counter(row["test"].partition("::")[0] for row in rows)

    def tests(path: Path, line: int | None) -> Tests:
        out: Tests = defaultdict(list)
        near = lines.get(f"{path}:{line}") or lines[str(path)]
        for row in (rows[k] for k in (near if line else lines[str(path.parent)])):
            out[row["test"].partition("::")[0]].append((row["seconds"], row["test"]))
        found = Counter(rows[k]["test"].partition("::")[0] for k in near)
        return {file: out[file] for file in sorted(out, key=lambda f: -found[f] / size[f])}

    return tests


def tests_of(path: Path, files: Tests) -> list[str]:
    """Tests in the order to run them: of each file the quick ones; the module's own and files of its name first."""
    left = float(OF_ALL)
    out: list[str] = []
    for file in sorted(files, key=lambda f: (f != str(path), path.stem not in f)):
        seconds = 0.0
        for cost, test in sorted(files[file]):
            if seconds and seconds + cost > min(OF_A_FILE, left):
                break
            seconds += cost
            out.append(test)
        left -= seconds
        if left < 0:
            break
    return out


def functions_of(code: CodeType) -> list[CodeType]:
    """The functions that are in no other function, in order."""
    inner = [c for c in code.co_consts if isinstance(c, CodeType)]
    return [f for c in inner for f in ([c] if c.co_flags & inspect.CO_OPTIMIZED else functions_of(c))]


def with_inner(code: CodeType) -> list[CodeType]:
    """A function's code and that of the functions in it: a closure that lives is one of these."""
    return [code, *(f for c in code.co_consts if isinstance(c, CodeType) for f in with_inner(c))]


def _loaded(source: str) -> set[str]:
    """The names that a module loads when it is imported."""
    outside = [n for n in ast.parse(source).body if not isinstance(n, (ast.FunctionDef, ast.ClassDef))]
    return {n.id for part in outside for n in ast.walk(part) if isinstance(n, ast.Name)}


def _text(code: CodeType) -> tuple[object, ...]:
    """What a code object does, without its line numbers."""
    constants = tuple(_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants


class Mutants:
    """A plugin of pytest that runs mutants instead of the tests that are collected."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given, self.covering, self.counts = given, by_line(given.covered), Counter[str]()
        old = given.results.read_text().splitlines() if given.results.exists() else []
        self.done = {(r["path"], r["line"], r["change"]): r["result"] for r in map(json.loads, old)}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.items = {item.nodeid: item for item in session.items}
        self.functions: dict[tuple[str, CodeType], list[FunctionType]] = defaultdict(list)
        for f in gc.get_objects():
            if isinstance(f, FunctionType):
                self.functions[f.__code__.co_filename, f.__code__].append(f)
        gc.freeze()  # it stays shared with what is forked

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        given = self.given
        if self._forked([], Path("tla/core/ints.py"), 0) != "survived":
            pytest.exit("tests fail without a mutant")
        files = [
            f.relative_to(ROOT)
            for p in given.paths
            for f in (sorted((ROOT / p).rglob("*.py")) if (ROOT / p).is_dir() else [ROOT / p])
        ]
        possible = [(path, *m) for path in files for m in mutants((ROOT / path).read_text(encoding="utf-8"))]
        random.Random(given.seed).shuffle(possible)
        first, step = map(int, given.part.split("/"))
        for path, line, change, source in possible[: given.count][first::step]:
            key = (str(path), line, change)
            if key not in self.done:
                self.done[key] = self._outcome(path, line, source)
                with given.results.open("a") as results:
                    results.write(
                        json.dumps(dict(zip(("path", "line", "change", "result"), (*key, self.done[key])))) + "\n"
                    )
            self.counts[self.done[key]] += 1
            if self.done[key] != "seen":
                print(f"{self.done[key]}  {path}:{line}  {change}", flush=True)
        print(f"{dict(self.counts)}, of {len(possible)} possible")
        return True

    def _outcome(self, path: Path, line: int | None, source: str) -> str:
        """Whether one of the tests fails with this source: seen, survived, or past the limit."""
        name = str(ROOT / path)
        codes = [
            functions_of(compile(text, name, "exec")) for text in ((ROOT / path).read_text(encoding="utf-8"), source)
        ]
        changed = [(a, b) for a, b in zip(*codes) if _text(a) != _text(b)]
        if len(codes[0]) == len(codes[1]) and len(changed) == 1:
            old, new = map(with_inner, changed[0])
            found = [(f, b) for a, b in zip(old, new) for f in self.functions.get((name, a), [])]
            if found and len(old) == len(new) and all(f.__code__.co_freevars == b.co_freevars for f, b in found):
                result = self._forked(found, path, line)
                if result != "survived" or changed[0][0].co_name not in _loaded(
                    (ROOT / path).read_text(encoding="utf-8")
                ):
                    return result
                line = None  # it has made a table when its module was imported
        return self._imported(path, line if changed else None, source)

    def _tests(self, path: Path, line: int | None) -> list[str]:
        return [test for test in tests_of(path, self.covering(path, line)) if test in self.items]

    def _forked(self, found: list[tuple[FunctionType, CodeType]], path: Path, line: int | None) -> str:
        """With other code for functions that are imported."""
        items = [self.items[test] for test in self._tests(path, line)]
        child = os.fork()
        if child == 0:
            try:
                os._exit(self._run(found, items))
            finally:
                os._exit(1)
        return _result(os.waitpid(child, 0)[1])

    def _run(self, found: list[tuple[FunctionType, CodeType]], items: list[pytest.Item]) -> int:
        _limited(self.given.limit)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        for f, code in found:
            f.__code__ = code
        tla.cache_clear()
        for item, following in zip(items, [*items[1:], None]):
            if any(report.failed for report in runtestprotocol(item, log=False, nextitem=following)):
                return 1
        return 0

    def _imported(self, path: Path, line: int | None, source: str) -> str:
        """With another text of a module, in a copy of the project."""
        tests = self._tests(path, line)
        if not tests:  # pytest would run all there are
            return "survived"
        with tempfile.TemporaryDirectory() as folder:
            project = Path(folder) / "project"
            shutil.copytree(ROOT, project, ignore=shutil.ignore_patterns(".git", "__pycache__"))
            (project / path).write_text(source, encoding="utf-8")
            command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
            ended = subprocess.run(
                command, cwd=project, capture_output=True, check=False, preexec_fn=lambda: _limited(self.given.limit)
            )
        return "past the limit" if ended.returncode < 0 else "seen" if ended.returncode else "survived"


def _limited(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def _result(status: int) -> str:
    if os.WIFSIGNALED(status):
        return "past the limit" if os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL) else "seen"
    return "seen" if os.WEXITSTATUS(status) else "survived"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="+", type=Path, help="modules or packages, relative to the project")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="0/1", help="K/N: the mutants K, K + N, ...")
    parser.add_argument("--limit", type=int, default=40, help="seconds of processor time for each mutant")
    parser.add_argument("--covered", type=Path, default=Path("covered.jsonl"))
    parser.add_argument("--results", type=Path, default=Path("mutants.jsonl"))
    given = parser.parse_args()
    given.covered, given.results = given.covered.absolute(), given.results.absolute()
    os.chdir(ROOT)
    if not given.covered.exists():
        cover(given.covered)
    files = sorted({json.loads(row)["test"].partition("::")[0] for row in given.covered.read_text().splitlines()})
    ended = pytest.main(["-s", "-p", "no:cacheprovider", "-p", "no:xdist", *files], plugins=[Mutants(given)])
    sys.exit(0 if ended == pytest.ExitCode.NO_TESTS_COLLECTED else ended)  # none was run here: mutants were


if __name__ == "__main__":
    main()
