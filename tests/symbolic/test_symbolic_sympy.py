"""Symbolic integers to and from sympy: our own nodes keep its conventions, and its unsound Mod is never made."""

import itertools
import pickle

import pytest
import sympy

import tla
from tla import CeilDiv, FloorDiv, LeafTypeError, MakeLayout, Mod, RangeError, SymInt, dim, dims, index, simplify
from tla.symbolic.nodes import Size, Xor

x = sympy.Symbol("x", integer=True)
n = sympy.Symbol("n", integer=True, positive=True)
M, N = dims("M N")


@pytest.mark.parametrize(
    ("node", "meaning"),
    [
        (FloorDiv, lambda a, b: a // b),
        (Mod, lambda a, b: a % b),
        (CeilDiv, lambda a, b: -(-a // b)),
        (Xor, lambda a, b: a ^ b),
    ],
)
def test_nodes_keep_the_conventions_of_sympy(node, meaning):
    e = node(x + 1, n)
    assert e.func(*e.args) == e
    assert e.free_symbols == {x, n}
    assert e.is_integer
    for a, b in itertools.product(range(-9, 9), range(1, 6)):
        assert node(a, b) == meaning(a, b)
        assert e.subs({x: a, n: b}) == meaning(a + 1, b)
    for modules in ("math", "numpy", "sympy"):
        assert sympy.lambdify((x, n), 3 * e + e**2, modules)(-8, 3) == 3 * meaning(-7, 3) + meaning(-7, 3) ** 2
    assert sympy.latex(e)
    assert pickle.loads(pickle.dumps(e)) == e


def test_nodes_are_not_evaluated_wrongly():
    assert str(Mod(2 * Mod(x, 8), 8)) == "(2*(x%8))%8"
    for divide in (FloorDiv, Mod, CeilDiv):  # no value: refused, whatever is divided
        for a in (4, x):
            with pytest.raises(RangeError):
                divide(a, 0)
        with pytest.raises(RangeError):
            divide(4, n).subs(n, 0)
    assert str(7 * FloorDiv(x, 4)) == "7*(x//4)"
    assert str(FloorDiv(x + 1, 4 * n)) == "(x + 1)//(4*n)"
    assert str(CeilDiv(x, n + 1)) == "ceil(x/(n + 1))"
    assert str(Xor(x, n) + 1) == "(n^x) + 1" or str(Xor(x, n) + 1) == "(x^n) + 1"


@pytest.mark.parametrize(
    ("node", "text", "latex"),
    [
        (FloorDiv(x + 1, n), "(x + 1)//n", r"\left\lfloor \frac{x + 1}{n} \right\rfloor"),
        (FloorDiv(2 * x, 4 * n), "(2*x)//(4*n)", r"\left\lfloor \frac{2 x}{4 n} \right\rfloor"),
        (FloorDiv(x**2, n**2), "x**2//(n**2)", r"\left\lfloor \frac{x^{2}}{n^{2}} \right\rfloor"),
        (Mod(x + 1, n), "(x + 1)%n", r"\left(\left(x + 1\right) \bmod n\right)"),
        (Mod(x, n + 1), "x%(n + 1)", r"\left(x \bmod \left(n + 1\right)\right)"),
        (Mod(x**2, n**2), "x**2%(n**2)", r"\left(\left(x^{2}\right) \bmod \left(n^{2}\right)\right)"),
        (CeilDiv(x + 1, n), "ceil((x + 1)/n)", r"\left\lceil \frac{x + 1}{n} \right\rceil"),
        (CeilDiv(2 * x, 4 * n), "ceil((2*x)/(4*n))", r"\left\lceil \frac{2 x}{4 n} \right\rceil"),
        (CeilDiv(x**2, n**2), "ceil(x**2/(n**2))", r"\left\lceil \frac{x^{2}}{n^{2}} \right\rceil"),
        (Xor(x + 1, n), "(x + 1)^n", r"\left(\left(x + 1\right) \oplus n\right)"),
        (Xor(2 * x, n + 1), "2*x^(n + 1)", r"\left(2 x \oplus \left(n + 1\right)\right)"),
    ],
    ids=lambda e: e if isinstance(e, str) and "\\" not in e else "",
)
def test_how_nodes_are_written(node, text, latex):
    """As in Python, with what stands in them in parentheses where it is no product on the left, and no name
    on the right."""
    assert str(node) == text
    assert sympy.latex(node) == latex
    assert sympy.latex(node**2) == rf"{{{latex}}}^{{2}}"
    own = text.startswith("ceil")
    assert (str(3 * node), str(node + 1)) == (
        f"3*{text if own else f'({text})'}",
        f"({text}) + 1" if "^" in text else f"{text} + 1",
    )


def test_facts_that_sympy_knows():
    for facts, low in (({"positive": True}, 1), ({"nonnegative": True}, 0), ({}, None), ({"negative": True}, None)):
        y = simplify(sympy.Symbol("y", integer=True, **facts))
        assert [tla.prove(y >= k) for k in (1, 0)] == [bool(low is not None and k <= low) for k in (1, 0)]
    for e, meaning in (
        (sympy.Abs(x), abs),
        (x**3, lambda v: v**3),
        (sympy.floor((x + 1) / 4), lambda v: (v + 1) // 4),
        (sympy.floor(x / 4 + n / 6), lambda v: (3 * v + 10) // 12),
        (sympy.ceiling(x / 4 + sympy.Rational(1, 2)), lambda v: -(-(v + 2) // 4)),
        (sympy.Max(x, 3, -x), lambda v: max(v, 3, -v)),
        (sympy.Min(x, 3, x + n), lambda v: min(v, 3, v + 5)),
    ):
        for v in range(-9, 10):
            assert tla.at(simplify(e), {"x": v, "n": 5}) == meaning(v), e
    for bad in (x**-1, n**-2, n**x, x**n, sympy.floor(sympy.sqrt(n))):
        with pytest.raises(LeafTypeError):
            simplify(bad)


def test_floor_and_ceiling_on_request():
    assert FloorDiv(x, 4).rewrite(sympy.floor) == sympy.floor(x / 4)
    assert Mod(x, 4).rewrite(sympy.floor) == x - 4 * sympy.floor(x / 4)
    assert CeilDiv(x, 4).rewrite(sympy.ceiling) == sympy.ceiling(x / 4)


def test_to_sympy_and_back():
    K = dim("K", multiple_of=16)
    i = index("i", M)
    for e in (M, K // 32, -(-N // 128), M % 7 * 3 + (i ^ 3), tla.min(M, N) - tla.max(K, 100), (M + N) ** 2 - 1):
        assert simplify(e.expr) == e
        assert isinstance(e.expr, sympy.Expr)
        assert {str(s) for s in e.expr.free_symbols} == {str(s) for s in e.symbols}
        numbers = {"M": 13, "N": 300, "K": 48, "i": 5}
        assert e.expr.subs({s.expr: numbers[str(s)] for s in e.symbols}) == e.at(numbers)
    assert not (K // 32 * 3).expr.has(sympy.Mod)
    assert M.expr == dims("M")[0].expr
    assert M.expr != dim("M", at_least=0).expr
    assert M.expr.is_positive
    assert dim("Z", at_least=0).expr.is_nonnegative


def test_operators_with_sympy_expressions():
    assert isinstance(x + M, SymInt)
    assert isinstance(M + x, SymInt)
    assert x + M == M + x
    assert str(n % (8 * M)) == "n%(8*M)"
    assert M.expr == M
    assert M == M.expr
    assert sympy.sympify(M) == M.expr
    assert 2 * M.expr + 1 == 2 * M + 1


def test_expressions_of_sympy_are_leaves():
    layout = MakeLayout((x, (n, 4)))
    assert str(layout) == "(x,(n,4)):(_1,(x,n*x))"
    assert isinstance(layout.shape[0], SymInt)
    assert str(MakeLayout((n, 4))(sympy.Symbol("t", integer=True))) == "t"
    assert tla.parse("(4,8):(2,_1)")(x, 3) == 2 * x + 3
    assert tla.is_int(x)
    assert tla.ceil_div(n, 4) == -(-simplify(n) // 4)


def test_mod_of_sympy_is_translated():
    inner = sympy.Mod(x, 8, evaluate=False)
    assert str(simplify(sympy.Mod(2 * inner, 8, evaluate=False))) == "(x%4)*2"
    assert str(simplify(sympy.Mod(x, 8))) == "x%8"
    assert str(simplify(sympy.floor((n + 3) / 4))) == "ceil(n/4)"
    assert str(simplify(sympy.ceiling(n / sympy.Integer(4)))) == "ceil(n/4)"
    assert str(simplify(sympy.floor(x / 2 + sympy.Rational(1, 3)))) == "x//2"
    assert simplify(sympy.Min(n, 3) + sympy.Max(n, 0) + sympy.Abs(n)).at(n=5) == 13
    assert simplify(sympy.Integer(7)) == 7


@pytest.mark.parametrize(
    "bad",
    [
        sympy.Symbol("y"),
        x / 2,
        sympy.sqrt(n),
        sympy.pi,
        sympy.Float(2.0),
        sympy.I,
        2**n,
        sympy.Function("f")(x),
        sympy.oo,
        sympy.Symbol("a b", integer=True),
    ],
)
def test_what_is_no_integer_is_refused(bad):
    for ask in (lambda: simplify(bad), lambda: MakeLayout((bad, 4)), lambda: M + bad):
        with pytest.raises(LeafTypeError):
            ask()


def test_one_name_with_two_sets_of_facts():
    with pytest.raises(RangeError, match="two sets of facts for M"):
        M + sympy.Symbol("M", integer=True)
    assert sympy.Symbol("M", integer=True, positive=True) + M == 2 * M  # the same facts
    assert Size(M) == M.expr
