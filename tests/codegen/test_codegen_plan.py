"""The plan of emitted code: its rules for bits, its operations, its integers, what it requires; and what is refused."""

import ast
import itertools
import operator
import random
import re
import subprocess

import pytest

import tla
from tla import Int, Layout, MakeTensor, RangeError, Swizzle, SymInt, assuming, dim, dims, index, parse, xla
from tla.codegen import TARGETS, emit, plan
from tla.codegen.expressions.graph import operations
from tla.codegen.expressions.integer_types import Integer, require_fits
from tla.codegen.expressions.plan import facts_among
from tla.codegen.expressions.shifts import RULES, UNSIGNED, with_bits
from tla.codegen.expressions.signature import symbols_of
from tla.codegen.expressions.value_ranges import ValueRange, value_ranges
from tla.symbolic.evaluate import value as poly_value
from tla.symbolic.proofs import greatest, least

import executed
import oracle
from codegen_cases import UNDEFINED, agrees, brute, numbers, random_layout, static_layout
from executed import Case
from expressions import OPERATORS, random_text, samples, value
from messages import message
from night import amount
from places import DOCS
from symbolic_cases import CASES, built

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
    """(operations, divisions) in the bodies of functions in C, by its tokens. The sign of a number is none; a shared
    value counts once."""
    body = "\n".join(line for line in text.split("\n") if line.startswith("    ") and "(void)" not in line)
    tokens = re.findall(
        r"[A-Za-z_]\w*|\d+|>>|[^\s\w]",
        body.replace("return", "=").replace("const int32_t", "").replace("const int64_t", ""),
    )
    signs = [
        k for k, t in enumerate(tokens) if t == "-" and tokens[k - 1] in "=(,*/%+-&^>>" and tokens[k + 1].isdigit()
    ]
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
    """What is counted now, as rows of docs/codegen.md: what, the best known form or the line by hand,
    and both counts."""
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


@pytest.mark.once
def test_the_cases_in_c(tmp_path):
    cases = []
    for c in CASES:
        x = built(c)
        made = plan(x)
        text = emit(x, "c", name=c["name"])
        for values in samples(c, 40):
            wanted = value(c["expr"], values)
            cases.append(
                Case(text, c["name"], (), tuple(values[p.name] for p in made.parameters), wanted, str(made.integer))
            )
    agrees(cases, tmp_path, flags=UNDEFINED)


# ----------------------------------------------------------------------------------------------------- integers


def held(text, name, arguments):
    """All that a Python function holds while it computes: each name that it needs, each operation."""
    (function,) = (f for f in ast.parse(text).body if isinstance(f, ast.FunctionDef) and f.name == name)
    values = dict(zip((a.arg for a in function.args.args), arguments))
    out = [values[n.id] for n in ast.walk(function) if isinstance(n, ast.Name) and n.id in values]

    def go(node):
        if isinstance(node, (ast.BinOp, ast.Call)):
            args = [go(x) for x in ([node.left, node.right] if isinstance(node, ast.BinOp) else node.args)]
            out.append(
                BINARY[type(node.op)](*args)
                if isinstance(node, ast.BinOp)
                else {"min": min, "max": max}[node.func.id](*args)
            )
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


def test_the_ends_of_what_is_held():
    """No value on the way of random expressions is past the ends that are given for it."""
    r = random.Random(11)
    names = {n: index(n, below=r.randint(1, 200), at_least=r.choice((0, -50))) for n in "xyz"}
    known, tried = 0, 0
    for _ in range(400):
        x = parse(random_text(r, 4, bits=True).replace("-1", "(0 - 1)"), symbols=names)
        if not isinstance(x, SymInt):
            continue
        found = value_ranges(plan(x).results)
        for _ in range(15):
            at = {n: r.randint(least(s.poly), greatest(s.poly)) for n, s in names.items()}
            for h in found:
                v = poly_value(h.poly, at)
                assert h.low is None or h.low <= v, (str(x), at)
                assert h.high is None or v <= h.high, (str(x), at)
        known += sum(h.low is not None and h.high is not None for h in found)
        tried += len(found)
    assert known >= 0.95 * tried > 500, (known, tried)


def range_of(x):
    """The range that the plan of an expression has for it."""
    (found,) = (h for h in value_ranges(plan(x).results) if h.poly == x.poly)
    return found.low, found.high


def test_the_ends_are_those_that_are_reached():
    """Of one operation on two indices exactly; of ^ those of as many bits; None of what has no end."""
    x, y, z, m = index("x", 40, at_least=-40), index("y", 17), index("z", 6, at_least=3), dim("m")
    for e, meaning in (
        (x + y, lambda x, y, z: x + y),
        (x - y, lambda x, y, z: x - y),
        (-x - z, lambda x, y, z: -x - z),
        (x * y, lambda x, y, z: x * y),
        (y * y * z, lambda x, y, z: y * y * z),
        (x // 8, lambda x, y, z: x >> 3),
        (y & 24, lambda x, y, z: y & 24),
        (x % 16, lambda x, y, z: x % 16),
        (x // 7, lambda x, y, z: x // 7),
        (x // z, lambda x, y, z: x // z),
        (tla.min(x, y), lambda x, y, z: min(x, y)),
        (tla.max(x, z), lambda x, y, z: max(x, z)),
    ):
        values = [meaning(*at) for at in itertools.product(range(-40, 40), range(17), range(3, 6))]
        assert range_of(e) == (min(values), max(values)), e
    for e, ends in (
        (x ^ y, (-64, 63)),
        (y ^ z, (0, 31)),
        (x ^ 5, (-64, 63)),
        (index("v", 64, at_least=-64) ^ y, (-64, 63)),
        (index("v", 65) ^ y, (0, 127)),
        (m ^ y, (0, None)),
        (m ^ x, (None, None)),
        (m + x, (-39, None)),
        (y - m, (None, 15)),
        (m * y, (0, None)),
        (m // 8, (0, None)),
        (m % 8, (0, 7)),
    ):
        assert range_of(e) == ends, e


def test_coordinates_without_names_are_i_to_n_and_past_six_of_them_numbered():
    for rank, names in ((1, "i"), (2, "ij"), (6, "ijklmn"), (7, [f"c{k}" for k in range(7)])):
        assert [p.name for p in plan(Layout((Int[2](),) * rank, (Int[1](),) * rank)).parameters] == [*names]
    assert [p.name for p in plan(parse("_4:_1")).parameters] == ["i"]


def times(stride, n):
    return tuple(times(d, n) for d in stride) if isinstance(stride, tuple) else stride * Int[n]()


def test_32_bits_are_taken_where_all_that_is_held_fits():
    """By brute force over all coordinates of static layouts that reach about 2**31. Where all fits it is
    nearly always proved."""
    r = random.Random(5)
    counts = {(a, b): 0 for a in ("int32", "int64") for b in (True, False)}
    for _ in range(tries := amount(200, 400)):
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
    assert counts["int32", True] > tries / 4
    assert counts["int64", False] > tries / 8
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
LARGE = [
    0,
    1,
    15,
    16,
    17,
    32,
    4096,
    16384,
    32768,
    46336,
    65536,
    65552,
    131072,
    2**27,
    2**31 - 16,
    2**31,
    2**40,
    2**62,
    -16,
    -(2**62),
]


def fits_in_32_bits(text, extents, sizes):
    """Whether all that the function holds at the corners fits: of these layouts no coordinate
    inside reaches further."""
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
        guard = executed.function(source, "f_requires")
        names = guard.__code__.co_varnames
        assert set(names) <= {"M", "N", "K"}  # no coordinate
        for _ in range(amount(60, 150)):
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
    assert min(answers.values()) > amount(40, 100)
    agrees(cases, tmp_path, flags=UNDEFINED)


def test_conditions_that_cannot_be_told_without_coordinates_name_them():
    """Of a square it is not known where it is largest: the condition is on the value itself."""
    i = index("i", below=dim("M"))
    for x in (i * i, (i * i + 5) // 8, (i // 3) * (i // 3)):
        with assuming() as conditions:
            emit(x, "python", "i", integer="int32", conditions=conditions)
        assert "i" in {name for c in conditions for name in re.findall(r"[a-z]+", str(c))}


def test_guards_of_dynamic_layouts_and_asserts(tmp_path):
    """What a dynamic stride needs is asked at both ends; assert() stops the program where the guard is false."""
    code, made = guarded("(4,5):(5,1)", target="python")
    guard = executed.function(code, "f_requires")
    assert [p.name for p in made.parameters] == ["i", "j", "shape_0", "shape_1", "stride_0", "stride_1"]
    r = random.Random(4)
    seen = set()
    for _ in range(400):
        sizes = [
            *(r.choice((0, 1, 5, 70_000, 2**31)) for _ in "ij"),
            *(r.choice((-(2**31), -30_000, -1, 0, 1, 30_000, 2**31)) for _ in "ij"),
        ]
        wanted = min(sizes[:2]) >= 1 and fits_in_32_bits(code, sizes[:2], sizes)
        assert guard(*sizes) is wanted, sizes
        seen.add(wanted)
    assert seen == {True, False}
    checked, _made = guarded("(M,N):(N,_1)", SIZES, check="assert")
    for n, sizes in enumerate([(16, 32), (16, 8), (2**20, 2**20)]):
        source, program = tmp_path / f"{n}.c", tmp_path / f"{n}"
        source.write_text(
            f"{checked}int main(void) {{ return f(1, 2, {sizes[0]}, {sizes[1]}) == {sizes[1]} + 2 ? 0 : 3; }}\n"
        )
        subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
        assert (subprocess.run([program], check=False, stderr=subprocess.DEVNULL).returncode == 0) is (n == 0)


FITTED = [
    *(
        "i",
        "-i",
        "i*N + j",
        "j - i*N",
        "i*N - j",
        "2*i + 3*j - 9",
        "i*(N - M) + j",
        "i*j - M",
        "i*(M - 2)",
        "i*(2 - M) - j",
        "M*N - i",
    ),
    *(
        "(i*N + j)//3",
        "(2*i - 3*j)//4*5",
        "(i*N + j)//M",
        "i//N*7",
        "min(i, j)*3 + i",
        "max(i, 5) - j",
        "(i ^ 3)*2",
        "(i + j)//(M + 1) + i",
    ),
]
#: Those whose ends are no polynomials of sizes: what is required is about the value itself.
NAMED = {"min(i, j)*3 + i", "max(i, 5) - j", "(i ^ 3)*2"}


@pytest.mark.parametrize("integer", [Integer(5, True), Integer(4, False)], ids=str)
def test_what_is_required_of_sizes_is_that_all_fits(integer):
    """By brute force, in small integers: where the conditions are met all values fit, and they are met
    wherever these do."""
    m, n = dims("M N")
    names = {"M": m, "N": n, "i": index("i", m), "j": index("j", n)}
    coordinates = [names[x].poly.atoms[0] for x in "ij"]
    named = set()
    for text in FITTED:
        p = parse(f"0 + {text}", symbols=names).poly
        with assuming() as conditions:
            try:
                require_fits(ValueRange(p, least(p), greatest(p)), integer, coordinates, asked=True)
                never = False
            except RangeError:
                never = True
        named |= {text} if {"i", "j"} & {str(x) for c in conditions for x in symbols_of(c)} else set()
        for M, N in itertools.product(range(1, 8), repeat=2):
            at = [{"M": M, "N": N, "i": i, "j": j} for i in range(M) for j in range(N)]
            values = [poly_value(p, x) for x in at]
            fits = integer.low <= min(values) and max(values) <= integer.high
            met = not never and all(c.at(x) for c in conditions for x in (at if text in named else at[:1]))
            assert met is fits, (text, M, N)
    assert named == NAMED


def test_facts_about_sizes_that_are_no_parameters_are_not_required():
    n = dim("N")
    m = dim("M", at_most=n)
    assert [str(c) for c in facts_among([m])] == ["1 <= M"]
    assert [str(c) for c in facts_among([m, n])] == ["1 <= M", "M <= N", "1 <= N"]


def test_conditions_that_operations_recorded_are_in_the_guard():
    n = dim("n")
    with assuming() as conditions:
        tiles = n // 16 * 16
        a = Layout((Int[16](), tla.safe_div(n, 16)), (Int[1](), Int[16]()))
    assert [str(c) for c in conditions] == ["16 divides n"]
    code = emit((a(index("i", below=n)), tiles), "python", "i", conditions=conditions, check="function")
    guard = executed.function(code, "offset_requires")
    assert [guard(v) for v in (0, 1, 16, 24, 32, -16)] == [False, False, True, False, True, False]


def test_it_says_which_integers_and_why():
    (N,) = dims("N")
    assert plan(parse("(_4,_8):(_8,_1)")).why == "every value is proved to fit"
    assert plan(parse("(N,_8):(_8,_1)", symbols=[N])).why == "i is not proved to fit in 32 bits"
    assert plan(parse("(_4,_8):(_8,_1)"), integer="uint64").why == "as asked"
    small = parse("(N,N):(N,_1)", symbols=[dim("N", at_most=46341)])
    assert str(plan(small).integer) == "int64"
    assert str(plan(parse("(N,N):(N,_1)", symbols=[dim("N", at_most=46340)])).integer) == "int32"


# ------------------------------------------------------------------------------------------------- what is refused

STATIC = parse("(_64,_64):(_64,_1)")
(SIZE,) = dims("N")
REFUSED = [
    (lambda: emit(Swizzle[3, 3, 3]()), "emit of Sw<3,3,3>, which has no shape\n"),
    (lambda: emit(STATIC, coords="i,int"), "the name int in c\n  expected  no word of the language, nor of emitted code\n  fix       use another name"),
    (lambda: emit(STATIC, "python", coords="i,np2,lambda"), "the name 'lambda'\n"),
    (lambda: emit(STATIC, "numpy", coords="i,np"), "the name np in numpy\n"),
    (lambda: emit(STATIC, "cuda", coords="i,threadIdx"), "the name threadIdx in cuda\n"),
    (lambda: emit(STATIC, "c", coords="i,SIZE_MAX"), "the name SIZE_MAX in c\n"),
    (lambda: emit(STATIC, "opencl", coords="i,float4"), "the name float4 in opencl\n"),
    (lambda: emit(STATIC, name="f(x); int g"), "the name 'f(x); int g'\n  expected  letters, digits and underscores, a letter first\n"),
    (lambda: emit(STATIC, name="i"), "a function i with a parameter i\n  expected  another name\n  fix       give it one: name=\"f\""),
    (lambda: emit(parse("min(x,offset_min)", symbols=[dim("x"), dim("offset_min")])), "a function offset with a parameter offset_min\n"),
    (lambda: emit(STATIC, coords="i,j;system()"), "unexpected ';', at position 4\n"),
    (lambda: emit(STATIC, coords="i,j+1"), "the coordinate j+1\n  expected  a name or an integer\n  fix       give an expression as a SymInt"),
    (lambda: emit(STATIC, coords="i,j,k"), "coordinate (i,j,k) in the shape (_64,_64)\n  expected  one name per mode, or one for all\n"),
    (lambda: emit(STATIC, coords="(i,k),j"), "coordinate (i,k) in the shape _64\n"),
    (lambda: emit(STATIC, coords=["i", "j"]), "a list\n  expected  a tuple, or an integer\n"),
    (lambda: emit(STATIC, coords={"i": 1}), "a value is of type dict\n"),
    (lambda: emit(STATIC, coords=nested("i", 100_000)), "tuples nested more than 64 deep\n"),
    (lambda: emit(nested(SIZE, 100_000)), "tuples nested more than 64 deep\n"),
    (lambda: emit(MakeTensor(None, STATIC), coords="n"), "coordinate (n) in a tensor\n  expected  2 integers\n  fix       give one for each top-level mode"),
    (lambda: emit(parse("(M,N):(N,_1)", symbols=SIZES), coords="M,j"), "two sets of facts for M: dim('M', multiple_of=16) and index('M', below="),
    (lambda: emit(SIZE, "fortran"), "the target 'fortran'\n  expected  one of affine, c, cpp, cuda"),
    (lambda: emit(SIZE, []), "the target []\n"),
    (lambda: emit(SIZE, integer="int16"), "the integer type 'int16'\n  expected  one of int32, int64, uint32, uint64\n  fix       leave it out"),
    (lambda: emit(SIZE, integer=[]), "the integer type []\n"),
    (lambda: emit(SIZE, check="maybe"), "check='maybe' for c\n  expected  one of '', 'function', 'assert'\n"),
    (lambda: emit(SIZE, "opencl", check="assert"), "check='assert' for opencl\n  expected  one of '', 'function'\n"),
    (lambda: emit(SIZE, conditions=5), "conditions=5\n  expected  a list of conditions\n"),
    (lambda: emit(SIZE, coords="K"), "the coordinate K\n  expected  a name in the expression: N\n  fix       leave it out"),
    (lambda: emit(()), "an empty tuple to emit\n"),
    (lambda: emit("N"), "the text 'N'\n  expected  a layout, a Tensor, an integer or a condition\n"),
    (lambda: emit(2**80), "an integer of 81 bits\n"),
    (lambda: emit(parse("(_4,_5):(_-5,_1)"), integer="uint32"), "j-5*i, -15 to 4, in uint32\n  expected  0 to 4294967295\n  fix       use a signed type"),
    (lambda: emit(parse("_4:_-1"), integer="uint64"), "-i, -3 to 0, in uint64\n  expected  0 to 18446744073709551615\n  fix       use a signed type"),
    (lambda: emit(parse("_3:_2147483647"), integer="int32"), "2147483647*i, 0 to 4294967294, in int32\n"),
    (lambda: emit(parse("_3:_9223372036854775807")), "9223372036854775807*i, 0 to 18446744073709551614, in int64\n"),
    (lambda: emit(parse("_2:_-9223372036854775808")), "an integer of 64 bits\n"),
    (lambda: emit(SIZE, integer="int32"), 'N in int32: it is not known whether N <= 2147483647\n  expected  N <= 2147483647\n  fix       declare dim("N", at_most=2147483647)'),
]  # fmt: skip


def nested(x, depth):
    for _ in range(depth):
        x = (x,)
    return x


@pytest.mark.parametrize(("f", "text"), REFUSED, ids=lambda x: x[:40].replace("\n", " ") if isinstance(x, str) else "")
def test_what_is_refused(f, text):
    assert message(f).startswith(text)


def test_the_fixes_work():
    assert "f(int32_t i, int32_t j)" in emit(STATIC, name="f")
    assert emit(parse("min(x,offset_min)", symbols=[dim("x"), dim("offset_min")]), name="f")
    b, t = index("b", below=4), index("t", below=16)
    assert emit(STATIC, coords=(b * 16 + t, "j"))
    assert emit(MakeTensor(None, STATIC), coords="n,m")
    assert emit(parse("(M,N):(N,_1)", symbols=SIZES), coords="m,j")
    assert emit(SIZE, "opencl", check="function")
    assert emit(parse("(_4,_5):(_-5,_1)"), integer="int32")
    assert emit(dim("N", at_most=2147483647), integer="int32")
    assert guarded(SIZE)[0].count("N <= 2147483647") == 2
    assert TARGETS["c"].require_name("i") is None


def test_large_things():
    many = parse(f"({','.join(['_2'] * 300)}):({','.join(['_3'] * 300)})")
    assert executed.function(emit(many, "python"), "offset")(*[1] * 300) == 900
    deep = executed.function(
        emit(parse("(" * 60 + "_4" + ")" * 60 + ":" + "(" * 60 + "_3" + ")" * 60), "python", coords="n"), "offset"
    )
    assert deep(3) == 9
    names = dims(" ".join(f"x{k}" for k in range(1000)))
    assert executed.function(emit(sum(names), "python"), "offset")(*range(1000)) == 499_500
    for text in ("():()", "_1:_5", "(_1,_1):(_5,_7)", "(_0,_4):(_1,_2)"):
        a = parse(text)
        assert (
            executed.function(emit(a, "python"), "offset")(*[0] * (len(a.shape) if isinstance(a.shape, tuple) else 1))
            == 0
        )


def test_names_that_emitted_code_uses_itself(tmp_path):
    """t0, a, b and out are names of temporaries, of helpers' parameters and of results."""
    x, y = dim("a", at_most=9), dim("b", at_most=9)
    t0 = dim("t0", at_most=9)
    what = parse("min(a,b,t0)", symbols=[x, y, t0]), (x - y) // 4, (x - y) // 4 * (t0 - y)
    text = emit(what, "c", name="f")
    cases = [
        Case(text, "f", (), v, [[min(v), (v[0] - v[1]) // 4, (v[0] - v[1]) // 4 * (v[2] - v[1])]], "int32")
        for v in ((1, 9, 5), (7, 2, 9))
    ]
    agrees(cases, tmp_path, flags=UNDEFINED)
    assert "the name out in c" in message(lambda: emit(dim("out")))


# ------------------------------------------------------------------------------------------------------------ text

GOLDEN = {
    "row_major": (lambda: parse("(M,N):(N,_1)", symbols=SIZES), {}),
    "static": (lambda: STATIC, {}),
    "one_name": (lambda: STATIC, {"coords": "n"}),
    "nested_names": (lambda: parse("((_4,_2),(_4,_3)):((_4,_16),(_1,_32))"), {"coords": "(i,y),(j,x)"}),
    "dynamic": (lambda: parse("((4,_2),3):((1,_16),5)"), {}),
    "zN": (lambda: parse(BY_HAND["half zN"][0], symbols=SIZES), {"check": "function"}),
    "xla": (lambda: xla.lower("bf16[R,C]{1,0:T(8,128)(2,1)}"), {}),
    "xla_static": (lambda: xla.lower("bf16[100,1000]{1,0:T(8,128)(2,1)}"), {}),
    "swizzle": (lambda: parse("Sw<3,4,3> o _0 o (_64,_64):(_64,_1)"), {}),
    "composed": (lambda: parse("(_4,_3):(_1,8) o 1 o (_2,_5):(_5,_1)"), {}),
    "coordinates": (lambda: parse("(_4,(_2,_3)):(_1@0,(_1@1,_2@0))"), {}),
    "tensor": (lambda: MakeTensor(None, STATIC, (2, index("p", below=8)), offset=5), {}),
    "negative": (lambda: parse("(_8,_8):(_-8,_-1)"), {"name": "back"}),
    "rounding_down": (lambda: (index("x", below=9, at_least=-9) // 5, index("x", below=9, at_least=-9) % 5), {}),
    "least_and_largest": (lambda: (parse("min(N,M,64)", symbols=SIZES), parse("max(N,M)", symbols=SIZES)), {}),
    "unsigned": (lambda: parse("(_16,_32):(_32,_1)"), {"integer": "uint32"}),
    "condition": (lambda: (SIZES[0] * SIZES[1]).is_multiple_of(96), {"name": "divides"}),
}


@pytest.mark.parametrize("target", sorted({"c", "cpp", "cuda", "hip", "opencl", "python", "numpy"}))
def test_the_text(target, golden):
    texts = (f"== {name}\n{emit(what(), target, **how)}" for name, (what, how) in GOLDEN.items())
    golden(f"codegen/{target}.txt", "\n".join(texts))


C_CHECKS, PYTHON_CHECKS = {"c", "cpp", "cuda", "hip"}, {"python", "numpy", "mlir"}


def test_what_the_targets_can_write():
    for name, target in TARGETS.items():
        assert target.name == name
        assert target.widths == ((32,) if name == "pallas" else (32, 64))
        assert target.bits is (name not in ("affine", "latex"))
        kinds = 3 if name in C_CHECKS | PYTHON_CHECKS else 1 if name in ("affine", "latex") else 2
        assert target.checks == ("", "function", "assert")[:kinds]


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_requirements_are_written_where_they_are_asked_for(target):
    """As a function, and by "assert" a call of it; what requires nothing of sizes has neither."""
    tiled, still = (
        parse("((_16,M//16),_8):((_8,_128),_1)", symbols=[dim("M", multiple_of=16, at_most=4096)]),
        parse("(_4,_8):(_8,_1)"),
    )
    for check in TARGETS[target].checks:
        names = {"": 0, "function": 1, "assert": 2}[check]
        text = emit((tiled(index("i", tiled.shape[0][1] * 16), 0), tiled.shape[0][1]), target, "i", check=check)
        assert text.count("offset_requires") == names, text
        assert ("assert" in re.sub("assert.h", "", text)) is (check == "assert"), text
        assert "requires" not in emit(still, target, check=check)
        assert "assert(" not in emit(still, target, check=check)


def test_a_check_needs_the_operations_of_its_conditions():
    """A language without <= writes what rests on sizes, and no check of these."""
    python = TARGETS["python"]
    tla.codegen.register(python._replace(name="half", syntax={op: x for op, x in python.syntax.items() if op != "<="}))
    try:
        assert emit(dim("N") * 4, "half") == emit(dim("N") * 4, "python")
        for check in ("function", "assert"):
            with pytest.raises(tla.LeafTypeError, match="the operation <= in half"):
                emit(dim("N") * 4, "half", check=check)
        with pytest.raises(tla.LeafTypeError, match="the operation <= in half"):
            emit(dim("N") <= 4, "half")
    finally:
        del TARGETS["half"]


# ------------------------------------------------------------------------------------------ what MLIR and LaTeX say

ARITH = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divui": lambda a, b: a // b,
    "remui": lambda a, b: a % b,
    "floordivsi": lambda a, b: a // b,
    "remsi": lambda a, b: abs(a) % b * (1 if a >= 0 else -1),
    "shrsi": lambda a, b: a >> b,
    "shrui": lambda a, b: a >> b,
    "andi": lambda a, b: a & b,
    "xori": lambda a, b: a ^ b,
    "minsi": min,
    "minui": min,
    "maxsi": max,
    "maxui": max,
    "cmpi eq,": lambda a, b: a == b,
    **dict.fromkeys(("cmpi sle,", "cmpi ule,"), lambda a, b: a <= b),
    **dict.fromkeys(("cmpi slt,", "cmpi ult,"), lambda a, b: a < b),
}


def in_bits(n, op, kind):
    """An integer as an operation of MLIR takes it: those with u in their names without a sign."""
    bits = int(kind[1:])
    signed = op.endswith("si") or op in ("cmpi sle,", "cmpi slt,")
    return (
        n % (1 << bits)
        if op.endswith("ui") or op in ("cmpi ule,", "cmpi ult,")
        else (n + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)
        if signed
        else n
    )


def interpreted(text, name, given):
    """The results of a function of MLIR, by what its operations mean: affine maps, arith without overflow, calls and
    assertions."""
    head, _, body = text.partition(f"func.func @{name}(")[2].partition("{\n")
    values = dict(zip(re.findall(r"(%\w+):", head.partition(")")[0]), given))
    kinds = dict(re.findall(r"(%\w+): (i(?:32|64)\b)", head.partition(")")[0]))
    assert [*values] == [*kinds]
    for line in body.partition("}")[0].strip().split("\n"):
        line = line.strip()
        to, _, made = line.rpartition(" = ")
        if line.startswith("return "):
            found = re.findall(r"%[\w.-]+", line)
            assert (
                [kinds[x] for x in found]
                == re.findall(r"\bi\d+", line.partition(" : ")[2])
                == re.findall(r"\bi\d+", head.partition("->")[2])
            )
            return tuple(values[x] for x in found)
        if line.startswith("cf.assert"):
            assert values[line.split()[1].rstrip(",")], line
        elif found := re.fullmatch(r"arith.constant (\S+)(?: : (\w+))?", made):
            values[to], kinds[to] = found[1] == "true" if found[2] is None else int(found[1]), found[2] or "i1"
        elif found := re.fullmatch(r"arith.(index_cast|extsi|extui) (\S+) : (\w+) to (\w+)", made):
            assert kinds[found[2]] == found[3] != found[4]
            values[to], kinds[to] = values[found[2]], found[4]
        elif found := re.fullmatch(
            r"affine.apply affine_map<\((.*?)\)(?:\[(.*?)\])? -> \((.*)\)>\((.*?)\)(?:\[(.*?)\])?", made
        ):
            names, at = ([x for k in ks for x in (found[k] or "").split(", ") if x] for ks in ((1, 2), (4, 5)))
            expression = re.sub(r"\bmod\b", "%", found[3].replace("floordiv", "//"))
            values[to], kinds[to] = value(expression, dict(zip(names, (values[x] for x in at)))), "index"
            assert {kinds[x] for x in at} <= {"index"}
        elif found := re.fullmatch(r"func.call @(\w+)\((.*)\) : \((.*)\) -> i1", made):
            at = found[2].split(", ")
            assert [kinds[x] for x in at] == found[3].split(", ") == ["i64"] * len(at)
            values[to], kinds[to] = interpreted(text, found[1], [values[x] for x in at])[0], "i1"
        else:
            op, a, b, kind = re.fullmatch(r"arith.([a-z]+(?: [a-z]+,)?) (\S+), (\S+) : (\w+)", made).groups()
            assert kinds[a] == kinds[b] == kind, line
            values[to], kinds[to] = (
                ARITH[op](*(in_bits(values[x], op, kind) for x in (a, b))),
                "i1" if "cmpi" in op else kind,
            )
    raise AssertionError(text)


U, V, W = index("u", below=40, at_least=-40), index("v", below=40, at_least=-40), dim("w", at_most=9)
SAID = [
    (U * 3 + V, lambda u, v, w: u * 3 + v),
    (-U - V * 2, lambda u, v, w: -u - 2 * v),
    ((U + 50) // 8 * 8 + (V + 64) % 16, lambda u, v, w: (u + 50) // 8 * 8 + (v + 64) % 16),
    (U // 8 + V % 8, lambda u, v, w: u // 8 + v % 8),
    (U // 7 + V % 5, lambda u, v, w: u // 7 + v % 5),
    (U // -7 + V % -5, lambda u, v, w: u // -7 + v % -5),
    (U // -W, lambda u, v, w: u // -w),
    (U % (-W) * 3, lambda u, v, w: u % -w * 3),
    ((U + 40) // W, lambda u, v, w: (u + 40) // w),
    ((U + 40) % W, lambda u, v, w: (u + 40) % w),
    (U * V, lambda u, v, w: u * v),
    (U * W + V, lambda u, v, w: u * w + v),
    (U & 24, lambda u, v, w: u & 24),
    (U & 7, lambda u, v, w: u & 7),
    (U - U % 8, lambda u, v, w: u - u % 8),
    ((U ^ 5) ^ V, lambda u, v, w: u ^ 5 ^ v),
    (tla.min(U, V) + tla.max(U, W), lambda u, v, w: min(u, v) + max(u, w)),
    (tla.min(U, -W), lambda u, v, w: min(u, -w)),
    (tla.max(tla.min(U, V), W - V), lambda u, v, w: max(min(u, v), w - v)),
    (U < V, lambda u, v, w: u < v),
    (U <= W, lambda u, v, w: u <= w),
    (U.equals(V), lambda u, v, w: u == v),
    ((U + W).is_multiple_of(3), lambda u, v, w: (u + w) % 3 == 0),
]
PLACES = [
    (u, v, w) for u, v in itertools.product((-40, -17, -8, -1, 0, 1, 5, 8, 39), (-40, -7, 0, 3, 16)) for w in (1, 4, 9)
]


@pytest.mark.parametrize(
    ("what", "meant"), SAID, ids=lambda x: "" if callable(x) and not hasattr(x, "holds") else str(x)
)
def test_what_mlir_says(what, meant):
    """By an interpreter of the text, by affine maps and by arith; and emitted Python."""
    text, python = (emit(what, target, name="f") for target in ("mlir", "python"))
    try:
        assert ("affine.apply" in text) is bool(emit(what, "affine"))
    except tla.LeafTypeError:
        assert "affine" not in text
    f = executed.function(python, "f")
    names = [p.name for p in plan(what).parameters]
    for at in PLACES:
        given = [dict(zip("uvw", at))[n] for n in names]
        assert interpreted(text, "f", given) == (meant(*at),) == (f(*given),), (text, at)


@pytest.mark.parametrize("integer", ["int32", "int64", "uint32", "uint64", None])
def test_what_mlir_says_of_several_and_of_other_integers(integer):
    x = index("x", 80)
    text = emit(
        (x // 8 + W, x % 7, x ^ W, tla.min(x, W), x < W), "mlir", "x", name="f", integer=integer, check="assert"
    )
    for u, w in itertools.product((0, 1, 7, 8, 40, 79), (1, 4, 9)):
        assert interpreted(text, "f", (u, w)) == (u // 8 + w, u % 7, u ^ w, min(u, w), u < w), text
    for w, met in ((0, False), (1, True), (9, True), (10, False)):
        assert interpreted(text, "f_requires", (w,)) == (met,)
    with pytest.raises(AssertionError):
        interpreted(text, "f", (1, 10))
    assert re.findall(r"arith.(ext\w+)", text) == {"int64": [], "uint64": [], "uint32": ["extui"]}.get(
        integer, ["extsi"]
    )
    assert ("affine.apply" in emit(x * 3 + 1, "mlir", integer=integer)) is (
        "u" not in (integer or "")
    )  # its index has a sign


@pytest.mark.parametrize("bits", [32, 64])
def test_integers_without_a_sign_in_mlir_go_on_past_the_last_one_that_has_one(bits):
    x = index("x", 1 << bits) if bits == 32 else dim("x", at_least=0)
    text = emit((tla.min(x, 7), tla.max(x, 7), x // 8, x < 7, x <= 7, x // 7), "mlir", name="f", integer=f"uint{bits}")
    for n in (0, 7, 8, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 1):
        assert interpreted(text, "f", (n,)) == (min(n, 7), max(n, 7), n // 8, n < 7, n <= 7, n // 7)


def test_requirements_in_mlir_are_of_integers_with_a_sign():
    text = emit(dim("N"), "mlir", name="f", check="function")
    assert [interpreted(text, "f_requires", (n,)) for n in (-1, 0, 1, 2**62)] == [(False,), (False,), (True,), (True,)]


def test_the_latex_of_functions():
    i, j, n = index("i", 64), index("j", 64), dim("n_k")
    for what, coords, lines in (
        (i * n + j, "i,j", [r"\mathrm{offset}(i, j) &= i \, n_{k} + j"]),
        (
            i // 8 * 8 + j % 4,
            "i",
            [r"\mathrm{offset}(i) &= \left(j \bmod 4\right) + 8 \, \left\lfloor \frac{i}{8} \right\rfloor"],
        ),
        ((i < n, j <= n), None, [r"\mathrm{offset} &= (i < n_{k}, j \le n_{k})"]),
        (i.equals(j), None, [r"\mathrm{offset} &= i = j"]),
        (tla.min(i, j) ^ n, None, [r"\mathrm{offset} &= n_{k} \oplus \min(i, j)"]),
    ):
        body = emit(what, "latex", coords).partition("\\begin{aligned}\n")[2].partition("\n\\end")[0]
        assert body.split(" \\\\\n") == lines
    shared = emit(((i ^ n) * 3, (i ^ n) + 1), "latex").partition("\\begin{aligned}\n")[2]
    assert shared.startswith(r"\mathrm{t0} &= i \oplus n_{k} \\"), shared


def test_checks_are_about_sizes_alone():
    """A condition on a coordinate stands in the comment, and in no function of sizes."""
    i, n = tla.index("i", below=dim("n")), dim("N")
    with tla.assuming() as conditions:
        x = tla.safe_div(i, 16) * tla.safe_div(n, 8)
    for target in ("c", "cuda", "python", "mlir", "triton"):
        text = emit(x, target, "i", conditions=conditions, check="function")
        head = next(line for line in text.splitlines() if "offset_requires" in line)
        assert "N" in head, text
        assert not re.search(r"\bi\b", head), text
        assert "16 divides i" in text
    with tla.assuming() as conditions:
        x = tla.safe_div(i, 16)
    assert "offset_requires" not in emit(x, "c", "i", conditions=conditions, check="function")


@pytest.mark.parametrize("target", ["c", "numpy", "python", "jax"])
def test_dynamic_strides_whose_offsets_no_integer_holds(target):
    """What a dynamic stride may be is taken to fit; the one that is given is known."""
    with pytest.raises(RangeError, match=r"offsets from 0 to 18446744065119617024 of \(_2147483648\):\(8589934592\)"):
        emit(parse("(_2147483648):(8589934592)"), target)
    assert "stride_0" in emit(parse("(_2147483648):(4294967295)"), target)
