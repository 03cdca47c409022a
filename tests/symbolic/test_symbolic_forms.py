"""Expressions in their simplest form: rules that are equations, the cases of the peers' survey, random
nests by value."""

import functools
import itertools
import operator
import random
from collections import Counter

import pytest

import tla
from tla import dim, explain, index, parse, to_python
from tla.symbolic import forms, rules, symint
from tla.symbolic.evaluate import folded, sample
from tla.symbolic.forms import MOVES
from tla.symbolic.poly import atom, number, one_of

from expressions import count, random_text, samples, value
from night import amount
from symbolic_cases import CASES, built


@pytest.mark.parametrize(
    "rule", [*(rule for table in rules.RULES.values() for rule in table), *MOVES], ids=lambda rule: rule.name
)
def test_each_rule_holds_on_small_integers(rule):
    left, right, when = rule.check
    domain = range(-9, 10) if left.__code__.co_argcount < 4 else range(-5, 7)
    tried = 0
    for xs in itertools.product(domain, repeat=left.__code__.co_argcount):
        if when(*xs):
            tried += 1
            assert left(*xs) == right(*xs), xs
    assert tried >= 19


def test_a_numerator_that_stays_negative_when_it_is_turned_is_not_turned_again():
    k = dim("K", at_most=3)
    one, other = -k // (10 - 3 * k), (2 - k) // (10 - 3 * k)
    assert [(one.at(K=n), other.at(K=n)) for n in (1, 2, 3)] == [
        (-n // (10 - 3 * n), (2 - n) // (10 - 3 * n)) for n in (1, 2, 3)
    ]


def test_rules_that_lead_back_to_where_they_began_end():
    m, i, j = dim("M", at_least=2), index("i", 11), index("j", 0, at_least=-3)
    x = 2 * i // (j // m)
    for at in itertools.product((2, 3, 5), range(11), (-3, -2, -1)):
        assert x.at(dict(zip("Mij", at))) == 2 * at[1] // (at[2] // at[0])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_the_cases_of_the_survey(case):
    text = to_python(built(case))
    assert all(value(text, v) == value(case["expr"], v) for v in samples(case, 400))
    operations, divisions = count(text)
    assert operations <= case["ideal_count"][0], text
    assert divisions <= case["ideal_count"][1], text


def test_the_cases_together():
    counts = [count(to_python(built(case))) for case in CASES]
    assert (sum(n for n, _ in counts), sum(d for _, d in counts)) <= (67, 13)


#: Expressions of XLA's tests of its indexing maps, in the style of its simplifier's corpus: the form, and what
#: it costs there.
XLA = [
    ("(s0*2 + s1//64)//3", {"s0": 10, "s1": 128}, "(128*s0+s1)//192", 4),
    ("d0//2 + d0%2", {"d0": 10}, None, 3),
    ("s0 - (s0//6)*6", {"s0": 60}, "s0%6", 1),
    ("s0 - (s0//6)*6 - s1", {"s0": 60, "s1": 5}, None, 2),
    ("(d0*6 + d1*2 + d2)//6", {"d0": 9, "d1": 3, "d2": 2}, "d0", 0),
    ("((d0//64)*64 + d0%64)//8", {"d0": 4096}, "d0//8", 1),
    ("(d0*64 + d1)//16%4*16 + (d0*64 + d1)%16", {"d0": 8, "d1": 64}, "d1", 0),
    ("((d0*8 + d1//16)*16 + d1%16)//128*128 + (d0*8*16 + d1)%128", {"d0": 50, "d1": 128}, "128*d0+d1", 2),
    ("((-d0)//-3)", {"d0": 50}, "d0//3", 1),
    ("d0//11%7//3*3 + d0//11%7%3", {"d0": 1000}, "(d0//11)%7", 2),
    ("(d0*4 + d1)//8", {"d0": 100, "d1": 4}, "d0//2", 1),
    ("((d0//8)*8 + d0%8)*2 + d1", {"d0": 64, "d1": 2}, "2*d0+d1", 2),
    ("(d0 + 127)//128*128 - d0", {"d0": 64}, None, 4),
]


@pytest.mark.parametrize(("text", "below", "form", "cost"), XLA)
def test_static_ranges(text, below, form, cost):
    names = {n: index(n, b) for n, b in below.items()}
    found = eval(text, {}, names)
    if form is not None:
        assert str(found) == form
    python = to_python(found)
    assert count(python)[0] <= cost
    for values in itertools.islice(samples({"sizes": {}, "below": {n: str(b) for n, b in below.items()}}, 300), 300):
        assert value(python, values) == value(text, values)


@pytest.mark.parametrize(
    ("build", "form"),
    [
        (lambda N, x, i, j: (i * N + j) // N, "i"),
        (lambda N, x, i, j: (i * N + j) % N, "j"),
        (lambda N, x, i, j: -(-N // 128), "ceil(N/128)"),
        (lambda N, x, i, j: ((N + 3) // 4 + 7) // 8, "ceil(N/32)"),
        (lambda N, x, i, j: x // 16 * 16 + x % 16, "x"),
        (lambda N, x, i, j: x // 4 % 8 * 4 + x % 4, "x%32"),
        (lambda N, x, i, j: x % 32 // 4, "(x//4)%8"),
        (lambda N, x, i, j: 2 * (x % 8) % 8, "(x%4)*2"),
        (lambda N, x, i, j: (x % 32) % 8, "x%8"),
        (lambda N, x, i, j: x % 32 % 5, "(x%32)%5"),
        (lambda N, x, i, j: (x % 16) ^ 16, "x%16+16"),
        (lambda N, x, i, j: (i % 8) * 8 ^ (x % 8), "x%8+(i%8)*8"),
        (lambda N, x, i, j: (-x) % 6, "(-x)%6"),
        (lambda N, x, i, j: (3 * x) // 4, "3*x//4"),
        (lambda N, x, i, j: (7 * x) // 4, "7*x//4"),
        (lambda N, x, i, j: tla.min(j, N), "j"),
        (lambda N, x, i, j: tla.max(j - N, 0), "0"),
    ],
)
def test_forms(build, form):
    N, x = dim("N"), index("x", 10**6)
    assert str(build(N, x, index("i", dim("M")), index("j", N))) == form


@pytest.mark.parametrize("unit", [2, 3, 5])
def test_a_multiple_is_divided_once(unit):
    """P//unit is a whole number: rounding it down or up, (P//unit + d - 1)//d, is one division of P."""
    size = dim("P", multiple_of=unit)
    for d in (4, 8):
        for more in range(d):
            up = more * unit + (unit - 1 if more == d - 1 else 0)
            form = to_python((size // unit + more) // d)
            assert form == (f"(P + {up})//{unit * d}" if more else f"P//{unit * d}")
            assert all(value(form, {"P": unit * n}) == (n + more) // d for n in range(1, 40))


def test_what_cancels_is_not_in_the_form():
    M, N = tla.dims("M N")
    i, j, k = index("i", below=M), index("j", below=N), index("k", below=100)
    for x in ((N - (j + M)) * (j + i - (i + N)), j * M % (M + 4) - (k - (k + M) - 7)):
        assert x.expr.free_symbols == {n.expr for n in x.symbols}
        assert parse(str(x), symbols=[*x.symbols]) == x


def test_the_form_does_not_depend_on_what_came_before():
    def forms():
        tla.cache_clear()
        return [to_python(built(case)) for case in CASES]

    first = forms()
    for k in range(3):
        r = random.Random(k)
        for _ in range(50):
            eval(random_text(r, 4), {}, {n: index(n, 100) for n in "xyz"})
        assert forms() == first


def fuzzed(seed, cases, sizes, bits=False):
    """How many random expressions come out wrong; operations before and after."""
    r = random.Random(seed)
    wrong, before, after = [], [0, 0], [0, 0]
    for _ in range(cases):
        text = random_text(r, r.randint(2, 5), sizes, bits)
        units = {n: r.choice((1, 1, 4)) for n in ("M", "N")}
        names = {n: dim(n, multiple_of=unit) for n, unit in units.items()}
        tops = {n: r.choice((4, 8, 10, 32, 100, 1000)) for n in "xyz"}
        below = (
            {"x": "N", "y": "M*N" if r.random() < 0.4 else str(tops["y"]), "z": str(tops["z"])}
            if sizes
            else {n: str(tops[n]) for n in "xyz"}
        )
        for n, bound in below.items():
            names[n] = index(n, eval(bound, {}, names), at_least=r.choice((0, 0, -20)))
        simple = eval(text, {"min": tla.min, "max": tla.max}, names)
        python = to_python(simple)
        for _ in range(20):
            values = {n: r.randint(1, 9) * unit for n, unit in units.items()}
            for n, bound in below.items():
                least = names[n].symbols[0].poly.atoms[0].lowers[0].const
                values[n] = r.randrange(least, value(bound, values))
            if value(python, values) != value(text, values):
                wrong.append((text, python, values))
                break
        for total, (n, d) in ((before, count(text)), (after, count(python))):
            total[0] += n
            total[1] += d
    return wrong, before, after


@pytest.mark.parametrize(("seed", "sizes"), [(1, ()), (2, ("N", "M", "(4*N)", "(M*N)"))])
def test_random_expressions(seed, sizes):
    wrong, before, after = fuzzed(seed, amount(200, 2000), sizes)
    assert not wrong
    assert after[0] < before[0] * 0.85
    assert after[1] < before[1] * 0.75


def test_random_expressions_with_bits_and_ends():
    wrong, _before, _after = fuzzed(3, amount(200, 2000), ("N", "M", "(4*N)"), bits=True)
    assert not wrong


def test_a_sample_is_the_value_at_a_place_that_meets_the_facts():
    r = random.Random(8)
    for _ in range(40):
        N = dim("N", multiple_of=r.choice((1, 4)), at_least=r.choice((1, 8)))
        x = index("x", below=N // 2 + 1, at_least=r.choice((0, -20)))
        y, z = index("y", below=r.choice((4, 1000))), index("z", below=x + 30)
        names = {"N": N, "x": x, "y": y, "z": z}
        text = random_text(r, 4, ("N",), True)
        expression = eval(text, {"min": tla.min, "max": tla.max}, names)
        values = {name: size.symbols[0].poly for name, size in names.items()}
        values = {name: sample(p) for name, p in values.items()}
        assert all(
            size.at(values) == values[name] for name, size in names.items()
        )  # or RangeError, for a fact that it breaks
        assert sample(symint.poly_of(expression)) == value(text, values), (text, values)


def test_there_is_no_sample_where_a_range_is_empty_or_a_divisor_is_not_positive():
    n = dim("n").poly
    far = index("far", below=dim("n") - 10**6)
    assert sample(n) is not None
    assert sample((far + 1).poly) is None
    for divisor in (n - n, n.scale(-1)):
        for kind in ("//", "%"):
            assert sample(one_of(atom(kind, n, divisor))) is None
    assert sample(one_of(atom("%", number(17), number(5)))) == 2


def test_the_form_is_never_longer_than_what_was_written():
    r = random.Random(5)
    for _ in range(300):
        text = random_text(r, 4)
        x = eval(text, {}, {n: index(n, 100) for n in "xyz"})
        if isinstance(x, tla.SymInt):
            weight = sum(count(text))
            assert sum(count(to_python(x))) <= weight, text


def test_explain_names_the_rules():
    M, N = tla.dims("M N")
    i, j = index("i", M), index("j", N)
    found = explain(((i * N + j) // N) * 16 + (i * N + j) % N)
    assert [s.rule for s in found] == ["x//d -> k, k*d <= x < (k+1)*d", "(k*d + x)//d -> k + x//d, d > 0"]
    assert str(found[1]) == "(i*N+j)//(N) == i   by (k*d + x)//d -> k + x//d, d > 0"
    assert explain(M) == explain(4) == []
    layout = tla.MakeLayout((M // 16, N % 16), (16 * (M // 16), 1))
    assert isinstance(explain(layout), list)


# ----------------------------------------------------------------------------------------- what a rewrite really makes

NODES = {
    "//": operator.floordiv,
    "%": operator.mod,
    "min": min,
    "max": max,
    "^": lambda *xs: functools.reduce(operator.xor, xs),
}


def number_of(p, sizes):
    """The value of a polynomial, by the definition of each node."""
    return folded(p, lambda n: sizes[n.name] // n.unit, lambda kind, *args: NODES[kind](*args))


def poly_of(x):
    return x.poly if isinstance(x, tla.SymInt) else number(int(x))


def drawn(rng):
    """A random expression of sizes and indices, with divisions and numbers as index expressions have them;
    and a divisor."""
    M, N, i, j = (
        dim("M", at_most=12),
        dim("N", multiple_of=4, at_most=48),
        index("i", 64),
        index("j", dim("M", at_most=12)),
    )
    leaf = lambda: rng.choice([M, N, i, j, i, j, rng.randint(-9, 17)])  # noqa: E731
    divisor = rng.choice([2, 3, 4, 8, 12, M, N, 4 * M, M * N, M + 1])
    x = leaf() * rng.choice([1, 1, 2, 4, 12, -1, M, N]) + leaf()
    for _k in range(rng.randint(0, 2)):
        y = rng.choice([leaf(), x])
        d = rng.choice([divisor, 2, 4, 8])
        x = rng.choice(
            [x * divisor + y, x + y // d, x - d * (y // d), x + (y % d) * rng.choice([1, 2, 4]), (x + y) // d]
        )
    return poly_of(x), poly_of(divisor)


def sizes_of(rng):
    m = rng.randint(1, 12)
    return {"M": m, "N": 4 * rng.randint(1, 12), "i": rng.randrange(64), "j": rng.randrange(m)}


def test_what_each_rule_makes_has_the_value_of_the_node():
    rng, applied = random.Random(156), Counter()
    for _k in range(250):
        x, d = drawn(rng)
        others = drawn(rng)[0], drawn(rng)[0]
        at = [sizes_of(rng) for _k in range(12)]
        for kind, table in rules.RULES.items():
            arguments = (x, d) if kind == "//" else (x, *others)
            found = next(((rule.name, made) for rule in table if (made := rule.apply(*arguments)) is not None), None)
            if found:  # a rule may rest on that those before it do not apply
                applied[found[0]] += 1
                for sizes in at:
                    assert number_of(found[1], sizes) == NODES[kind](*(number_of(y, sizes) for y in arguments)), (
                        found,
                        arguments,
                    )
    assert {rule.name for table in rules.RULES.values() for rule in table} - set(applied) == set()


def test_what_each_move_makes_has_the_value_of_what_it_moves():
    rng, applied = random.Random(214), Counter()
    for _k in range(600):
        p = drawn(rng)[0]
        at = [sizes_of(rng) for _k in range(12)]
        for name, written in forms._moves(p):
            applied[name] += 1
            for sizes in at:
                assert number_of(written, sizes) == number_of(p, sizes), (name, p, written)
    assert {move.name for move in MOVES} == set(applied)


# ------------------------------------------------------------------------------------- forms of families of expressions

DIGITS = [
    "t % 3",
    "(t + 1) % 7",
    "i % N",
    "j % 5",
    "t // 8 % 3",
    "(t * 5) % 7",
    "i * N % (M * N)",
    "s % 5",
    "(i + j) % N",
]


def families(rng):
    """Index expressions of each kind that the rules and the moves are about, in random numbers: (kind, text)."""
    pick = rng.choice
    for _k in range(90):
        number, more, d = rng.randint(-9, 9), pick(("", "", " + 1", " - 1")), pick((2, 3, 4, 5, 8, "M", "(4 * M)"))
        yield "digits in a sum", f"({number} * ({pick(DIGITS)}) + {pick('ijtusM')}{more}) {pick(('//', '%'))} {d}"
    for _k in range(70):
        d = pick(("(M + 1)", "(M + N)", "(N - 1)", "(M * N + 1)", "(K + M)", "(2 * M + 1)"))
        whole, rest = pick(("i", "j * u", "2 * i", "u", "M * i")), pick(("i", "j", "u", "t", "i * u", "(i - j)"))
        yield (
            "a sum as a divisor",
            f"({whole} * {d} + {rest} + {pick(('0', '1', 't', 'M * i'))}) {pick(('//', '%'))} {d}",
        )
    for _k in range(40):
        x = pick(("M", "N", "i", "M * N", "N * i", "t", "K", "N // 4"))
        up = pick(("15", "7", "3", "1", "31", "M - 1", "N - 1"))
        yield (
            "rounded up",
            f"({x} * {pick((1, 1, 2, 3))} + {pick('ij0t')} + {up}) // {pick((16, 8, 4, 2, 32, 'M', 'N'))}",
        )
    for _k in range(60):
        inner = (
            f"({pick(('i', 't', 'i * N + j', 'i * 4 + s', 'M * N'))} + {pick((0, 1, 'u'))}) // "
            f"{pick((2, 4, 3, 'M', 'N'))}"
        )
        yield (
            "divided twice",
            f"({pick(('', '', '2 * ', '0 - ', '3 * '))}({inner}) + {pick('tujM')}) // {pick((2, 3, 8, 'M', 'N'))}",
        )
    for _k in range(50):
        less = pick(("i", "t", "s", "u", "j", "t % 5", "t // 4"))
        d = pick((2, 4, 5, "M", "N", "(M * N)"))
        yield (
            "counted from the end",
            f"({pick(('M', 'N', '63', '8', 'u', '1'))} - ({less}) * {pick((1, 2, 3))}) {pick(('//', '%'))} {d}",
        )
    for _k in range(50):
        g = pick(("M", "2", "N", "6", "K", "M * N"))
        x, y = pick(("i", "j", "t * 3", "(t % 4)", "s")), pick(("0", g, f"{g} * j", "t", f"{g} * u"))
        yield (
            "a common factor",
            f"({g} * {x} * {pick((1, 2, 5))} + {y}) {pick(('//', '%'))} ({g} * {pick(('M', '3', 'N', '4'))})",
        )
    for _k in range(60):
        a, b = (
            pick(("t", "i", "t // 4", "u + 3", "j % 8", "N", "t * 4")),
            pick(("t", "7", "i", "t % 8", "16", "u", "M", "8", "t + u", "i - u")),
        )
        x = pick((f"min({a}, {b})", f"max({a}, {b})", f"(({a}) ^ ({b}))"))
        yield (
            "ends and bits",
            f"({x}{pick(('', ' * 4', ' + 1', ' - i'))}){pick(('', ' // 4', ' % 8', ' // M', ' % 16'))}",
        )


def test_the_forms_of_families(golden):
    """Review a change of these lines: no form should take more operations than before. Each has the value of
    what was written."""
    rng, lines, title = random.Random(15), [], ""
    sizes = {
        "M": dim("M"),
        "N": dim("N", multiple_of=4),
        "K": dim("K", at_most=12),
        "t": index("t", 64),
        "s": index("s", 8, at_least=-8),
    }
    names = {**sizes, "i": index("i", sizes["M"]), "j": index("j", sizes["N"]), "u": index("u", sizes["K"])}
    for kind, text in families(rng):
        form = to_python(parse(f"0 + {text}", symbols=names))
        for _k in range(6):
            m, n, k = rng.randint(1, 9), 4 * rng.randint(1, 9), rng.randint(1, 12)
            at = {"M": m, "N": n, "K": k, "i": rng.randrange(m), "j": rng.randrange(n), "u": rng.randrange(k)}
            at |= {"t": rng.randrange(64), "s": rng.randrange(-8, 8)}
            assert value(form, at) == value(text, at), (text, form, at)
        lines += [] if kind == title else [f"\n{kind}"]
        title = kind
        lines.append(
            "{0} operations, {1} of them divisions: {text}  ->  {form}".format(*count(form), text=text, form=form)
        )
    golden("symbolic/forms.txt", "\n".join(lines).lstrip() + "\n")
