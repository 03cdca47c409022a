"""Trees as text: read as what they are, with no parentheses too many; what they cost; and LaTeX."""

import ast
import itertools
import re

import pytest

from tla import dim, dims, index, parse
from tla.symbolic import text, tree

from expressions import count, value

X, Y, Z = map(tree.name, "xyz")
#: x, y, z, and numbers that are inside of others.
LEAVES = (X, tree.number(7), tree.number(-7))
PARTS = [
    *LEAVES,
    *(
        tree.total([a, b])
        for a, b in ((X, Y), (X, tree.product(-1, [Y])), (tree.product(-1, [X]), Y), (X, tree.number(-3)))
    ),
    *(tree.product(c, [X, Y]) for c in (1, 5, -1, -5)),
    *(tree.product(c, [X]) for c in (5, -1, -5)),
    *(tree.operation(op, a, b) for op in ("//", "%", "^", "min", "max") for a, b in ((X, Y), (X, tree.number(8)))),
    tree.operation("//", tree.total([X, tree.number(7)]), tree.number(8)),
]
MEANS = {"//": lambda a, b: a // b, "%": lambda a, b: a % b, "^": lambda a, b: a ^ b, "min": min, "max": max}


def made(parts):
    """(tree, its value) of each operation on a part and one that stands by itself, on both sides, and of
    three at once."""
    alone = [p for p in LEAVES if p in parts]
    for a, b in {*itertools.product(parts, alone), *itertools.product(alone, parts)}:
        for op in ("//", "%", "^", "min", "max"):
            yield tree.operation(op, a, b), lambda at, a=a, b=b, op=op: MEANS[op](number_of(a, at), number_of(b, at))
        yield tree.total([a, b]), lambda at, a=a, b=b: number_of(a, at) + number_of(b, at)
        yield (
            tree.total([Z, tree.product(-1, [a]), b]),
            lambda at, a=a, b=b: at["z"] - number_of(a, at) + number_of(b, at),
        )
        yield tree.product(1, [a, b]), lambda at, a=a, b=b: number_of(a, at) * number_of(b, at)
        yield tree.product(-3, [a, b]), lambda at, a=a, b=b: -3 * number_of(a, at) * number_of(b, at)


def number_of(t, at):
    """The value of a tree by what its operations mean."""
    return tree.value(t, int, at, {"+": lambda a, b: a + b, "*": lambda a, b: a * b, **MEANS})


PLACES = [dict(zip("xyz", at)) for at in ((5, 3, 2), (9, 4, 7), (16, 6, 1))]


def defined(meant, at):
    try:
        return meant(at)
    except ZeroDivisionError:
        return None


def pairs(written):
    """Where the parentheses of a text begin and end; those of calls are none."""
    begun = []
    for k, c in enumerate(written):
        if c == "(":
            begun.append(k)
        elif c == ")":
            k_begin = begun.pop()
            if not written[:k_begin][-1:].isalpha():
                yield k_begin, k


def is_needed(written, begin, end):
    """Whether a text without these parentheses is another; around a division that a product begins with, a minus in one
    and ^ in ^ they are for readers."""
    bare = f"{written[:begin]} {written[begin + 1 : end]} {written[end + 1 :]}".lstrip()
    inside = ast.parse(written[begin + 1 : end], mode="eval").body
    divides = isinstance(inside, ast.BinOp) and isinstance(inside.op, (ast.FloorDiv, ast.Mod))
    before, behind = re.search(r"(\*|//|%|- )$", written[:begin]), re.match(r"\*|//|%", written[end + 1 :])
    nested = isinstance(inside, ast.BinOp) and isinstance(inside.op, ast.BitXor) and written[end + 1 :].startswith(" ^")
    if nested or (divides and behind) or (written[begin + 1] == "-" and (before or behind)):
        return True
    return ast.dump(ast.parse(bare, mode="eval")) != ast.dump(ast.parse(written, mode="eval"))


def test_a_text_is_read_as_what_it_is_and_has_no_parentheses_too_many():
    tried = 0
    for t, meant in made(PARTS):
        written = text.python(t)
        for at in PLACES:
            if (wanted := defined(meant, at)) is not None:
                assert number_of(t, at) == value(written, at) == wanted, written
                tried += 1
        assert all(is_needed(written, *pair) for pair in pairs(written)), written
    assert tried > 2000


def test_what_a_tree_costs_is_what_stands_in_its_text():
    """Each operation 1, a division by a number 1 more, by anything else 8 more."""
    for t, _meant in made([p for p in PARTS if p != tree.number(-7)]):  # whose sign is no operation
        written = text.python(t)
        operations, divisions = count(written)
        divided = [
            n
            for n in ast.walk(ast.parse(written))
            if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.FloorDiv, ast.Mod))
        ]
        by_numbers = sum(isinstance(n.right, ast.Constant) for n in divided)
        operations -= t.op == "n" and written.startswith("-")
        assert t.cost == (operations + by_numbers + 8 * (divisions - by_numbers), divisions, operations), written


@pytest.mark.parametrize(
    ("build", "written"),
    [
        (lambda x, y: (x + 6) // 7, "ceil(x/7)"),
        (lambda x, y: (x + 5) // 7, "(x+5)//7"),
        (lambda x, y: (x + 7) // 7, "x//7+1"),
        (lambda x, y: (6 * x) // 7, "6*x//7"),
        (lambda x, y: (x + 6) % 7, "(x+6)%7"),
        (lambda x, y: (x + y + 3) // 4 * 4, "ceil((x+y)/4)*4"),
        (lambda x, y: (x + y - 1) // y, "(x-1)//y+1"),
        (lambda x, y: -7 // x, "(-7)//x"),
        (lambda x, y: -7 // x * y, "((-7)//x)*y"),
        (lambda x, y: -(x // 3), "-(x//3)"),
        (lambda x, y: (-x) // 3, "(-x)//3"),
        (lambda x, y: y - 2 * x, "y-2*x"),
        (lambda x, y: -2 * x * y - 1, "-2*x*y-1"),
        (lambda x, y: x // 8 * y, "(x//8)*y"),
        (lambda x, y: x // 8 * 1024 + 16 * x * y, "16*x*y+(x//8)*1024"),
        (lambda x, y: (x + y) ^ (2 * x), "x+y^2*x"),
        (lambda x, y: y - (x ^ 3), "y-(x^3)"),
        (lambda x, y: 2 * (x ^ 3), "(x^3)*2"),
        (lambda x, y: x * y, "x*y"),
        (lambda x, y: 3 * x * (y // 2), "(y//2)*x*3"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_the_notation(build, written):
    x, y = dims("x y")
    assert str(build(x, y)) == written
    assert parse(written, symbols=[x, y]) == build(x, y)


def f(a, b):
    return rf"\left\lfloor \frac{{{a}}}{{{b}}} \right\rfloor"


@pytest.mark.parametrize(
    ("t", "written"),
    [
        (X, "x"),
        (tree.name("size"), r"\mathrm{size}"),
        (tree.name("n_k"), "n_{k}"),
        (tree.name("n_size"), r"n_{\mathrm{size}}"),
        (tree.name("a_"), r"\mathrm{a\_}"),
        (tree.name("a_b_c"), r"\mathrm{a\_b\_c}"),
        (tree.number(-7), "-7"),
        (tree.total([X, Y, tree.number(-3)]), "x + y - 3"),
        (tree.total([X, tree.product(-1, [Y])]), "x - y"),
        (tree.total([X, tree.product(-2, [Y])]), r"x - 2 \, y"),
        (tree.total([tree.product(-1, [X]), tree.product(-1, [Y])]), "-x - y"),
        (tree.total([X, tree.product(-1, [tree.total([Y, Z])])]), r"x - \left(y + z\right)"),
        (tree.total([X, tree.product(-1, [tree.operation("%", Y, Z)])]), r"x - \left(y \bmod z\right)"),
        (tree.total([X, tree.operation("%", Y, Z)]), r"x + \left(y \bmod z\right)"),
        (tree.total([X, tree.operation("^", Y, Z)]), r"x + \left(y \oplus z\right)"),
        (tree.total([tree.operation("^", X, Y), Z]), r"\left(x \oplus y\right) + z"),
        (tree.product(-1, [tree.total([X, Y])]), r"-\left(x + y\right)"),
        (tree.product(-1, [X, Y]), r"-x \, y"),
        (tree.product(5, [X, Y]), r"5 \, x \, y"),
        (tree.product(1, [X, tree.total([Y, Z])]), r"x \, \left(y + z\right)"),
        (tree.product(1, [X, tree.operation("%", Y, Z)]), r"x \, \left(y \bmod z\right)"),
        (tree.product(4, [tree.operation("//", X, Y)]), rf"4 \, {f('x', 'y')}"),
        (tree.operation("%", X, tree.number(4)), r"x \bmod 4"),
        (tree.operation("%", tree.product(3, [X]), tree.number(4)), r"\left(3 \, x\right) \bmod 4"),
        (tree.operation("%", tree.total([X, Y]), Z), r"\left(x + y\right) \bmod z"),
        (tree.operation("%", tree.operation("%", X, Y), Z), r"\left(x \bmod y\right) \bmod z"),
        (tree.operation("^", X, tree.operation("%", Y, Z)), r"x \oplus \left(y \bmod z\right)"),
        (tree.operation("^", tree.total([X, Y]), Z), r"\left(x + y\right) \oplus z"),
        (tree.operation("//", tree.total([X, Y]), tree.product(2, [Z])), f("x + y", r"2 \, z")),
        (tree.operation("//", tree.operation("%", X, Y), Z), f(r"x \bmod y", "z")),
        (
            tree.operation("//", tree.total([X, tree.number(7)]), tree.number(8)),
            r"\left\lceil \frac{x}{8} \right\rceil",
        ),
        (tree.operation("min", X, tree.total([Y, Z])), r"\min(x, y + z)"),
        (tree.operation("max", X, tree.operation("%", Y, Z)), r"\max(x, y \bmod z)"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_latex(t, written):
    assert text.latex(t) == written


def test_latex_of_quotients_that_are_exact():
    eighth = tree.operation("//", X, tree.number(8))
    up = tree.operation("//", tree.total([X, tree.number(7)]), tree.number(8))
    for t in (eighth, up):
        assert text.latex(t, lambda a, b: (a, b) == (X, tree.number(8))) == r"\frac{x}{8}"
    assert text.latex(tree.operation("%", X, Y), lambda a, b: True) == r"x \bmod y"
    n = dim("N", multiple_of=24)
    assert ((n // 8).latex(), (n // 48).latex()) == (r"\frac{N}{8}", f("N", 48))
    assert (n // 8 * index("i", n // 8)).latex() == r"i \, \frac{N}{8}"
