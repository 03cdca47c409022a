"""Bounds and proofs: never wrong over whole domains, and as tight as they have been found to be."""

import itertools
import random
from collections import Counter

import pytest

from tla import E, LeafTypeError, SymInt, Unproven, dim, dims, gcd, index, lcm, parse, prove
from tla.core.questions import at_most, divides, equal
from tla.symbolic.declare import unnamed
from tla.symbolic.proofs import greatest, least
from tla.symbolic.symint import poly_of

from expressions import value

#: Quotients, digits, ends, bits and products; c divides, and bounds j.
PARTS = [
    *("a", "j", "c*j", "a*b", "b*c", "a//c", "a%c", "(a + b)//c", "a//2", "(3 - a)//2", "c*(b//c)", "b ^ c", "b ^ j"),
    *("min(a, b)", "max(a, b)", "min(a, b, c)", "max(a, c - 1)", "min(a, j)"),
]
FORMS = [
    *(
        lambda x, y, c: x,
        lambda x, y, c: x - y,
        lambda x, y, c: 2 * x + y,
        lambda x, y, c: x + y - 3,
        lambda x, y, c: -x - y,
    ),
    *(
        lambda x, y, c: x - 2 * y + 1,
        lambda x, y, c: c * x - y,
        lambda x, y, c: 3 - 2 * x,
        lambda x, y, c: (x + y) // c,
    ),
    *(
        lambda x, y, c: (c - 2) * x + y,
        lambda x, y, c: y - (c - 2) * x,
        lambda x, y, c: (c - 3) * x + c * y,
    ),  # of either sign
]


def domain():
    """Every a from -3 to 4, b from 0 to 3, c from 1 to 3 and j from 0 to c - 1."""
    for a, b, c in itertools.product(range(-3, 5), range(4), range(1, 4)):
        for j in range(c):
            yield {"a": a, "b": b, "c": c, "j": j}


@pytest.fixture(scope="module")
def cases():
    """(what it is, the expression, its values) for two parts in one of the forms, each pair in another."""
    c = dim("c", at_most=3)
    names = {"a": index("a", 5, at_least=-3), "b": index("b", 4), "c": c, "j": index("j", c)}
    values = {x: [value(x, at) for at in domain()] for x in PARTS}
    built = {x: parse(f"0 + {x}" if "^" not in x else x, symbols=names) for x in PARTS}
    sizes = [at["c"] for at in domain()]
    found = []
    for k, (x, y) in enumerate(itertools.product(PARTS, PARTS)):
        form = FORMS[k % len(FORMS)]
        found.append(((x, y, k % len(FORMS)), form(built[x], built[y], c), {*map(form, values[x], values[y], sizes)}))
    return [(what, x, values) for what, x, values in found if not isinstance(x, int)]


def test_bounds(cases):
    tight = Counter()
    for what, x, values in cases:
        low, high = least(x.poly), greatest(x.poly)
        assert low <= min(values), what
        assert high >= max(values), what
        tight["least"] += low == min(values)
        tight["greatest"] += high == max(values)
    assert len(cases) == 323
    assert tight["least"] >= 216
    assert tight["greatest"] >= 206


#: M and N are 1 or more, i < M, j < N, -8 <= s < 8, t < 16: (an expression, what it never falls below, what
#: it never exceeds).
WITHOUT_END = [
    *(
        ("M*N", 1, None),
        ("i*j", 0, None),
        ("s*M", None, None),
        ("i*s", None, None),
        ("s*t", -120, 105),
        ("i*i", 0, None),
        ("-M*N", None, -1),
    ),
    *(
        ("i//M", 0, 0),
        ("s//M", -8, 7),
        ("-M//N", None, -1),
        ("M//N", 0, None),
        ("-i//N", None, 0),
        ("t//M", 0, 15),
        ("M//4", 0, None),
    ),
    *(("(t + M)//M", 1, 16), ("(s + M)//M", -7, 8), ("(M*N)//M - N", 0, 0), ("-3//M", -3, -1)),
    *(("M%8", 0, 7), ("M%N", 0, None), ("t%N", 0, 15), ("s%N", 0, None)),
    *(
        ("M*N - i*N - j", 1, None),
        ("i*N + j - M*N", None, -1),
        ("M - N", None, None),
        ("M - 2*i", None, None),
        ("M*t - s", -7, None),
    ),
    *(
        ("min(M, 5)", 1, 5),
        ("max(M, 5)", 5, None),
        ("max(-M, s)", -8, 7),
        ("min(-M, s)", None, -1),
        ("min(i, t) - M", None, -1),
    ),
    *(
        ("max(i, t)", 0, None),
        ("max(s, 0)", 0, 7),
        ("M ^ N", 0, None),
        ("s ^ M", None, None),
        ("t ^ M", 0, None),
        ("t ^ 5", 0, 15),
    ),
]


@pytest.mark.parametrize(("text", "low", "high"), WITHOUT_END)
def test_bounds_of_sizes_without_end(text, low, high):
    m, n = dims("M N")
    names = {
        "M": m,
        "N": n,
        "i": index("i", m),
        "j": index("j", n),
        "s": index("s", 8, at_least=-8),
        "t": index("t", 16),
    }
    p = poly_of(parse(text, symbols=names))
    assert (least(p), greatest(p)) == (low, high)
    for at in itertools.product((1, 2, 7, 40), (1, 3, 40), (0, 1, 39), (0, 2, 39), (-8, -1, 0, 7), (0, 5, 15)):
        values = dict(zip("MNijst", at))
        if values["i"] < values["M"] and values["j"] < values["N"]:
            assert low is None or low <= value(text, values), values
            assert high is None or value(text, values) <= high, values


def test_proofs(cases):
    """True where it holds for all values, False where it does not; "not known" is as rare as it has been
    found to be."""
    unknown = Counter()
    for what, x, values in cases[::5]:
        for n in {0, min(values), max(values)}:
            at_most_n, equals, even = prove(x <= n), equal(x, n), divides(2, x + n)
            everywhere = max(values) <= n, values == {n}, {(v + n) % 2 for v in values} == {0}
            somewhere = min(values) <= n, n in values, 0 in {(v + n) % 2 for v in values}
            for question, answer, always, sometimes in zip(
                ("<=", "==", "2 divides"), (at_most_n, equals, even), everywhere, somewhere
            ):
                false = not always if question == "<=" else not sometimes  # a proof, or an answer for every value
                assert answer is None or answer is (True if always else False if false else None), (what, question, n)
                unknown[question] += answer is None and (always or not sometimes)
    assert unknown["<="] <= 22
    assert unknown["=="] == 0
    assert unknown["2 divides"] == 0


def test_where_counterexamples_are_looked_for():
    """At small values and at both ends of a range, of sizes with a unit as well: what is false at one value
    alone shows it."""
    for i, domain, tried in (
        (index("i", 20), range(20), {0, 1, 2, 18, 19}),
        (index("i", 3), range(3), {0, 1, 2}),
        (index("i", 8, at_least=-8), range(-8, 8), {-8, -7, -6, 6, 7}),
        (dim("M"), range(1, 12), {1, 2, 3, 7}),
        (index("i", dim("M")), range(7), {0, 1, 2, 5, 6}),  # the last ones of M = 3 and M = 7
        (dim("K", multiple_of=4, at_most=40), range(4, 44, 4), {4, 8, 12, 36, 40}),
        (unnamed("x", None), range(-9, 9), {-2, -1, 0, 4}),  # of sympy's, with nothing said of it
    ):
        for k in domain:
            nowhere = (i - k) * (i - k) >= 1
            assert prove(nowhere) is (False if k in tried else None), (i, k)
            assert not tried & {k} or nowhere.counterexample()[str(i)] == k


def test_divisors_and_multiples_where_one_divides_the_other():
    m, k = dim("M"), dim("K", multiple_of=8)
    for a, b, divisor, multiple in (
        (4 * m, m, m, 4 * m),
        (-4 * m, m, m, 4 * m),
        (4 * m, 2, 2, 4 * m),
        (k, 4, 4, k),
        (m, m, m, m),
        (m, 1, 1, m),
    ):
        assert gcd(a, b) == gcd(b, a) == divisor
        assert lcm(a, b) == lcm(b, a) == multiple
    for f, (a, b) in itertools.product((gcd, lcm), ((m, k), (6 * m, 4))):
        with pytest.raises(Unproven):
            f(a, b)


@pytest.mark.parametrize("other", [E[0], 2 * E[1], (1, 2)], ids=str)
def test_a_size_equals_no_coordinate(other):
    assert equal(dim("M"), other) is equal(other, dim("M")) is False
    for question in (at_most, divides):
        try:
            answers = question(dim("M"), other), question(other, dim("M"))
        except LeafTypeError as refused:  # a coordinate says so itself
            assert "coordinates have no order" in str(refused)
        else:
            assert answers == (None, None)


@pytest.mark.parametrize("sign", [1, -1])
def test_divisors_of_either_sign(sign):
    m, n = dims("M N")
    for a, b, answer in (
        *((4, 8 * m, True), (4, 8 * m + 2, False), (4, m, None), (m, m * n, True), (m, m * n + m, True), (m, n, None)),
        *((2 * m, 4 * m * n, True), (2 * m, m, False), (m, 0 * m, True), (3, 3 * m - 1, False)),
    ):
        assert divides(sign * a, b) is answer, (sign * a, b)
    assert divides(0, m) is divides(0 * m, m) is False


def test_bounds_of_quotients_by_what_has_no_end():
    """The end 0 of a numerator over a divisor without an upper bound: 0 // y is 0, and -1 // y goes up to -1."""
    y = dim("y")
    for low, high in itertools.product(range(-3, 1), range(-3, 4)):
        if low <= high:
            q = index("x", below=high + 1, at_least=low) // y
            values = [x // d for x in range(low, high + 1) for d in range(1, 9)]
            assert at_most(q, max(values)) is at_most(min(values), q) is True
            assert at_most(q, max(values) - 1) is not True is not at_most(min(values) + 1, q)


def test_quotients_of_one_number_are_related_to_each_other():
    """t//64 is (t//32)//2: by t alone each quotient loses almost 1. The row of a tile of 2 by 2 warps has three."""
    t = index("tid", below=128)
    row = 8 * (t // 32) + t // 4 - 32 * (t // 64)
    values = [8 * (n // 32) + n // 4 - 32 * (n // 64) for n in range(128)]
    assert (least(poly_of(row)), greatest(poly_of(row))) == (min(values), max(values)) == (0, 23)


def test_bounds_of_sums_of_quotients_are_bounds():
    rng, exact = random.Random(4), 0
    for _case in range(200):
        n = rng.choice((32, 96, 128))
        units = rng.sample((2, 3, 4, 6, 8, 12, 16, 32, 64), rng.randint(1, 4))
        factors, t = [rng.randint(-40, 40) for _unit in units], index("t", below=n)
        total = sum((k * (t // d) for k, d in zip(factors, units)), t * rng.randint(-8, 8) + 1)
        values = [total.at(t=i) for i in range(n)] if isinstance(total, SymInt) else [total]
        low, high = least(poly_of(total)), greatest(poly_of(total))
        assert None not in (low, high), total
        assert low <= min(values) <= max(values) <= high, total
        exact += (low == min(values)) + (high == max(values))
    assert exact > 230  # 217 by each quotient alone
