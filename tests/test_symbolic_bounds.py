"""Bounds and proofs: never wrong over whole domains, and as tight as they have been found to be."""

import itertools
from collections import Counter

import pytest
from expressions import value

from tla import dim, index, parse, prove
from tla.core.questions import divides, equal
from tla.symbolic.proofs import greatest, least

#: Quotients, digits, ends, bits and products; c divides, and bounds j.
PARTS = [
    *("a", "j", "c*j", "a*b", "b*c", "a//c", "a%c", "(a + b)//c", "a//2", "(3 - a)//2", "c*(b//c)", "b ^ c", "b ^ j"),
    *("min(a, b)", "max(a, b)", "min(a, b, c)", "max(a, c - 1)", "min(a, j)"),
]
FORMS = [
    *(lambda x, y, c: x, lambda x, y, c: x - y, lambda x, y, c: 2 * x + y, lambda x, y, c: x + y - 3, lambda x, y, c: -x - y),
    *(lambda x, y, c: x - 2 * y + 1, lambda x, y, c: c * x - y, lambda x, y, c: 3 - 2 * x, lambda x, y, c: (x + y) // c),
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
    assert len(cases) == 322
    assert tight["least"] >= 262
    assert tight["greatest"] >= 245


def test_proofs(cases):
    """True where it holds for all values, False where it does not; "not known" is as rare as it has been found to be."""
    unknown = Counter()
    for what, x, values in cases[::5]:
        for n in {0, min(values), max(values)}:
            at_most_n, equals, even = prove(x <= n), equal(x, n), divides(2, x + n)
            everywhere = max(values) <= n, values == {n}, {(v + n) % 2 for v in values} == {0}
            somewhere = min(values) <= n, n in values, 0 in {(v + n) % 2 for v in values}
            for question, answer, always, sometimes in zip(("<=", "==", "2 divides"), (at_most_n, equals, even), everywhere, somewhere):
                false = not always if question == "<=" else not sometimes  # a proof, or an answer for every value
                assert answer is None or answer is (True if always else False if false else None), (what, question, n)
                unknown[question] += answer is None and (always or not sometimes)
    assert unknown["<="] <= 13
    assert unknown["=="] <= 3
    assert unknown["2 divides"] == 0
