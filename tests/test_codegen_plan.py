"""The plan of emitted code: its rules for bits, its operations, its integers, what it requires; and what is refused."""

import ast
import itertools
import operator
import random
import re
import subprocess
from pathlib import Path

import pytest
from expressions import OPERATORS, random_text, samples, value
from test_codegen import UNDEFINED, agrees, brute, numbers, random_layout, static_layout, told
from test_messages import message
from test_symbolic_forms import CASES, built

import emitted
import oracle
from emitted import Case
from tla import ComposedLayout, Int, Layout, MakeLayout, MakeTensor, Swizzle, SymInt, assuming, dim, dims, index, parse, xla
from tla.codegen import TARGETS, emit, plan
from tla.codegen.bits import RULES, UNSIGNED, with_bits
from tla.codegen.nodes import operations

DOCS = Path(__file__).parent.parent / "docs"


# --------------------------------------------------------------------------------------------------------- bits


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_each_rule_holds_on_small_integers(rule):
    left, right, when = rule.check
    names = left.__code__.co_varnames[: left.__code__.co_argcount]
    domains = [range(-300, 300) if n == "x" else range(16) if n == "m" else range(7) for n in names]
    tried = 0
    for xs in itertools.product(*domains):
        if when(*xs):
            tried += 1
            assert left(*xs) == right(*xs), xs
    assert tried >= 1000


def evaluated(t, values):
    """A tree, by what its operations mean."""
    if t.op == "n":
        return t.args[0]
    if t.op == "v":
        return values[t.args[0]]
    xs = [evaluated(a, values) for a in t.args]
    out = xs[0] if t.op != "-" else -xs[0]
    for x in xs[1:]:
        out = FOLDS[t.op](out, x)
    return out


FOLDS = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "^": lambda a, b: a ^ b,
    "min": min,
    "max": max,
}


def ops_in(t):
    return {t.op}.union(*(ops_in(a) for a in t.args if hasattr(a, "op"))) if t.op not in "nv" else set()


def test_random_trees_with_bits():
    r = random.Random(7)
    names = {n: index(n, below=200, at_least=-200) for n in "xyz"}
    seen = set()
    for _ in range(600):
        text = random_text(r, 4, bits=True).replace("-1", "(0 - 1)")
        x = parse(text, symbols=names)
        if not isinstance(x, SymInt):
            continue
        for tree in (x.form, x.written):
            new = [with_bits(tree, rules) for rules in (RULES, UNSIGNED, ())]
            assert new[2] == tree
            seen |= ops_in(new[0])
            for _ in range(12):
                values = {n: r.randint(-200, 199) for n in "xyz"}
                assert {evaluated(t, values) for t in new} == {value(text, values)}, text
    assert {">>", "&"} < seen


# --------------------------------------------------------------------------------------------------- operations


def counted(text):
    """(operations, divisions) in the bodies of functions in C, by its tokens. A sign is none; a shared value counts once."""
    body = "\n".join(line for line in text.split("\n") if line.startswith("    ") and "(void)" not in line)
    tokens = re.findall(
        r"[A-Za-z_]\w*|\d+|>>|[^\s\w]", body.replace("return", "=").replace("const int32_t", "").replace("const int64_t", "")
    )
    signs = [k for k, t in enumerate(tokens) if t == "-" and tokens[k - 1] in "=(,*/%+-&^>>"]
    found = [t for k, t in enumerate(tokens) if t in ("+", "-", "*", "/", "%", ">>", "&", "^") and k not in signs]
    return len(found), sum(t in "/%" for t in found)


#: Layouts, and the line that a person writes for each.
BY_HAND = {
    "row-major": ("(M,N):(N,_1)", "return i * N + j;"),
    "half zN": ("((_16,M//16),(_16,N//16)):((_16,_256),(_1,16*M))", "return ((j >> 4) * M + i) * 16 + (j & 15);"),
    "bf16[R,C]{1,0:T(8,128)(2,1)}": (
        xla.lower("bf16[R,C]{1,0:T(8,128)(2,1)}"),
        "return ((i >> 3) * ((C + 127) >> 7) + (j >> 7)) * 1024 + ((i >> 1) & 3) * 256 + (j & 127) * 2 + (i & 1);",
    ),
    "bf16[512,1024]{1,0:T(8,128)(2,1)}": (
        xla.lower("bf16[512,1024]{1,0:T(8,128)(2,1)}"),
        "return ((i >> 3) * 8 + (j >> 7)) * 1024 + ((i >> 1) & 3) * 256 + (j & 127) * 2 + (i & 1);",
    ),
    "Sw<3,4,3>": ("Sw<3,4,3> o _0 o (_64,_64):(_64,_1)", "t = i * 64 + j; return t ^ ((t >> 3) & 112);"),
}
SIZES = dims("M N", multiple_of=16)


def rows_of_the_table():
    """What is counted now, as rows of docs/codegen.md: what, the best known form or the line by hand, and both counts."""
    for c in CASES:
        yield c["name"], c["ideal"], tuple(c["ideal_count"]), counted(emit(built(c), "c")), built(c)
    for name, (layout, line) in BY_HAND.items():
        a = parse(layout, symbols=SIZES) if isinstance(layout, str) else layout
        yield name, line.replace("return ", "").rstrip(";"), counted(f"    {line}"), counted(emit(a, "c")), a


def test_no_more_operations_than_the_best_form_that_is_known():
    for name, _line, best, mine, what in rows_of_the_table():
        assert mine[0] <= best[0], name
        assert mine[1] <= best[1], name
        assert mine == operations(plan(what).results), name  # what the graph says


def test_the_table_of_the_page_is_what_is_counted():
    page = (DOCS / "codegen.md").read_text()
    for name, line, best, mine, _what in rows_of_the_table():
        row = f"| `{name}` | `{line}` | {best[0]}, {best[1]} | {mine[0]}, {mine[1]} |".replace("^ ", "^ ")
        assert row in page, row


def test_the_cases_in_c(tmp_path):
    cases = []
    for c in CASES:
        x = built(c)
        made = plan(x)
        text = emit(x, "c", name=c["name"])
        for values in samples(c, 40):
            wanted = value(c["expr"], values)
            cases.append(Case(text, c["name"], (), tuple(values[p.name] for p in made.parameters), wanted, str(made.integer)))
    agrees(cases, tmp_path, flags=UNDEFINED)


# ----------------------------------------------------------------------------------------------------- integers


def held(text, name, arguments):
    """All that a Python function holds while it computes: each name, each operation, its results."""
    (function,) = (f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name == name)
    values = dict(zip((a.arg for a in function.args.args), arguments))
    out = [*values.values()]

    def go(node):
        if isinstance(node, (ast.BinOp, ast.Call)):
            args = [go(x) for x in ([node.left, node.right] if isinstance(node, ast.BinOp) else node.args)]
            out.append(BINARY[type(node.op)](*args) if isinstance(node, ast.BinOp) else {"min": min, "max": max}[node.func.id](*args))
            return out[-1]
        if isinstance(node, ast.UnaryOp):
            out.append(-go(node.operand))
            return out[-1]
        return values[node.id] if isinstance(node, ast.Name) else node.value

    for line in function.body:
        if isinstance(line, ast.Assign):
            values[line.targets[0].id] = go(line.value)
        elif isinstance(line, ast.Return):
            out.append(go(line.value))
    return out


BINARY = {**OPERATORS, ast.RShift: operator.rshift, ast.BitAnd: operator.and_}


def times(stride, n):
    return tuple(times(d, n) for d in stride) if isinstance(stride, tuple) else stride * Int[n]()


def test_32_bits_are_taken_where_all_that_is_held_fits():
    """By brute force over all coordinates of static layouts that reach about 2**31. Where all fits it is nearly always proved."""
    r = random.Random(5)
    counts = {(a, b): 0 for a in ("int32", "int64") for b in (True, False)}
    for _ in range(400):
        a = static_layout(random_layout(r, {}, {}, {}))
        if oracle.size(numbers(a.shape, {})) > 200:
            continue
        n = r.choice((1, 2**31 // max(1, *map(abs, brute(a))) + r.randint(-1, 1)))
        a = Layout(a.shape, times(a.stride, max(n, 1)))
        text = emit(a, "python")
        extents = tuple(map(oracle.size, a.shape)) if isinstance(a.shape, tuple) else (int(a.shape),)
        values = [v for c in oracle.coordinates(extents) for v in held(text, "offset", c)]
        fits = -(2**31) <= min(values) and max(values) < 2**31
        counts[str(plan(a).integer), fits] += 1
    assert counts["int32", False] == 0
    assert counts["int32", True] > 100
    assert counts["int64", False] > 50
    assert counts["int64", True] <= 0.02 * counts["int32", True], counts


# ---------------------------------------------------------------------------------------------------- requirements


def guarded(text, symbols=(), integer="int32", target="c", check="function", name="f", **how):
    """What is emitted for a layout in integers that it may not fit, the conditions for these recorded."""
    a = parse(text, symbols=symbols) if isinstance(text, str) else text
    with assuming() as conditions:
        code = emit(a, target, name=name, integer=integer, conditions=conditions, check=check, **how)
    return code, plan_under(a, integer)


def plan_under(a, integer):
    with assuming() as conditions:
        return plan(a, integer=integer, conditions=conditions)


K = dim("K", at_least=2, at_most=1000)
GUARDED = [
    ("(M,N):(N,_1)", SIZES),
    ("(M,N):(_1,M)", SIZES),
    ("((_16,M//16),(_16,N//16)):((_16,_256),(_1,16*M))", SIZES),
    ("(M,N,K):(N*K,K,_1)", (*SIZES, K)),
    ("(M,N):(-N,_1)", SIZES),
    ("(M,(_4,N)):(N*4,(_1,_4))", SIZES),
    ("(_8,(_16,N)):(N*16,(_1,_16))", SIZES),
]
LARGE = [0, 1, 15, 16, 17, 32, 4096, 16384, 32768, 46336, 65536, 65552, 131072, 2**27, 2**31 - 16, 2**31, 2**40, 2**62, -16, -(2**62)]


def fits_in_32_bits(text, extents, sizes):
    """Whether all that the function holds at the corners fits: of these layouts no coordinate inside reaches further."""
    corners = itertools.product(*({0, n - 1} for n in extents))
    return all(-(2**31) <= v < 2**31 for c in corners for v in held(text, "f", [*c, *sizes]))


def test_the_guard_is_true_where_all_fits_and_the_facts_are_met(tmp_path):
    """And false elsewhere, for sizes of up to 2**62, in C without overflow and in Python."""
    r = random.Random(3)
    cases, answers = [], {True: 0, False: 0}
    for k, (text, symbols) in enumerate(GUARDED):
        a = parse(text, symbols=symbols)
        code, made = guarded(text, symbols, name=f"f{k}")
        source, _made = guarded(text, symbols, target="python")
        guard = emitted.function(source, "f_requires")
        names = guard.__code__.co_varnames
        assert set(names) <= {"M", "N", "K"}  # no coordinate
        for _ in range(150):
            values = {n: r.choice(LARGE) if r.random() < 0.7 else r.randint(1, 3000) * 16 for n in "MNK"}
            values["K"] = r.choice((values["K"], 1, 2, 50, 1000))
            sizes = [values[p.name] for p in made.parameters if p.name in values]
            used = {p.name for p in made.parameters}
            facts = all(values[n] >= 16 and values[n] % 16 == 0 for n in "MN" if n in used) and (
                2 <= values["K"] <= 1000 or "K" not in used
            )
            extents = [oracle.size(e) for e in numbers(a.shape, values)] if facts and {"M", "N"} <= used else None
            if facts and extents is None:  # an extent that the code does not name is not known to it
                continue
            wanted = facts and fits_in_32_bits(source, extents, sizes)
            answers[wanted] += 1
            given = tuple(values[n] for n in names)
            assert guard(*given) is wanted, (source, values)
            cases.append(Case(code, f"f{k}_requires", (), given, int(wanted), "int64"))
    assert min(answers.values()) > 100
    agrees(cases, tmp_path, flags=UNDEFINED)
