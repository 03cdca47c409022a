"""Trees as text: in tla's notation, as Python, as LaTeX."""

from __future__ import annotations

from collections.abc import Callable

from .tree import Tree, total

#: How tightly an operation binds: a looser one inside of a tighter one stands in parentheses.
_BINDS = {"^": 1, "+": 2, "-": 2, "*": 3, "//": 3, "%": 3}
_CALLS = ("min", "max", "ceil")


def python(t: Tree) -> str:
    """A Python expression of integers."""
    return _infix(t, 0, spaces=" ")


def notation(t: Tree) -> str:
    """tla's notation: without blanks, and with ceil(a/b)."""
    return _infix(with_ceil(t), 0, spaces="")


def with_ceil(t: Tree) -> Tree:
    """The tree with (x + d - 1)//d written ceil(x/d)."""
    if t.op in "nv":
        return t
    t = t._replace(args=tuple(map(with_ceil, t.args)))
    if t.op == "//" and t.args[0].op == "+" and t.args[1].op == "n":
        *terms, last = t.args[0].args
        if last.args[0] == t.args[1].args[0] - 1:
            return t._replace(op="ceil", args=(total(terms), t.args[1]))
    return t


def _infix(t: Tree, outside: int, spaces: str) -> str:
    """A tree with infix operators, inside of an operation that binds as strongly as `outside`."""
    if t.op in "nv":
        text = str(t.args[0])
        return f"({text})" if outside > 2 and text.startswith("-") else text
    if t.op == "ceil":
        return f"ceil({_infix(t.args[0], 3, spaces)}/{_infix(t.args[1], 4, spaces)})"
    if t.op in _CALLS:
        return f"{t.op}({(',' + spaces).join(_infix(a, 0, spaces) for a in t.args)})"
    binds = _BINDS[t.op]
    if t.op == "-":
        text = f"-{_infix(t.args[0], 3 + (t.args[0].op != '*'), spaces)}"
    elif t.op == "+":
        first, *rest = t.args
        text = _infix(first, 2, spaces) + "".join(_signed(a, spaces) for a in rest)
    elif t.op == "^":
        text = f"{spaces}^{spaces}".join(_infix(a, 2, spaces) for a in t.args)
    else:
        first, *rest = t.args if t.op != "*" else _number_first(t.args)
        # a division inside of a product is set off, so that it reads without the rule that they go from left to right
        text = _infix(first, 3 + (first.op in ("//", "%")), spaces) + "".join(t.op + _infix(a, 4, spaces) for a in rest)
    return f"({text})" if binds < outside else text


def _number_first(factors: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """16*M*N, but (i//8)*1024: a number goes before names, and after what stands in parentheses."""
    *names, last = factors
    return (last, *names) if last.op == "n" and all(a.op == "v" for a in names) else factors


def _signed(t: Tree, spaces: str) -> str:
    negative = t.op == "-" or (t.op == "n" and t.args[0] < 0)
    if t.op == "-":
        t = t.args[0]
    elif negative:
        t = t._replace(args=(-t.args[0],))
    return f"{spaces}{'-' if negative else '+'}{spaces}{_infix(t, 3 if negative else 2, spaces)}"


_LATEX: dict[str, Callable[..., str]] = {
    "/": lambda a, b: rf"\frac{{{a}}}{{{b}}}",
    "//": lambda a, b: rf"\left\lfloor \frac{{{a}}}{{{b}}} \right\rfloor",
    "ceil": lambda a, b: rf"\left\lceil \frac{{{a}}}{{{b}}} \right\rceil",
    "min": lambda *xs: rf"\min({', '.join(xs)})",
    "max": lambda *xs: rf"\max({', '.join(xs)})",
}


def latex(t: Tree, divides: Callable[[Tree, Tree], bool] = lambda a, b: False) -> str:
    """LaTeX of the tree, with floors and ceilings; a quotient is a fraction where divides(dividend, divisor)."""
    return _latex(_with_fractions(with_ceil(t), divides), 0)


def _with_fractions(t: Tree, divides: Callable[[Tree, Tree], bool]) -> Tree:
    if t.op in "nv":
        return t
    exact = t.op in ("//", "ceil") and divides(*t.args)
    return t._replace(op="/" if exact else t.op, args=tuple(_with_fractions(a, divides) for a in t.args))


def _latex_name(name: str) -> str:
    """A letter, or a word set upright; what follows its one underscore is an index."""
    head, _, index = name.partition("_")
    if not index or "_" in index:
        return _word(name.replace("_", r"\_"))
    return f"{_word(head)}_{{{_word(index)}}}"


def _word(text: str) -> str:
    return text if len(text) == 1 else rf"\mathrm{{{text}}}"


def _latex(t: Tree, outside: int) -> str:
    """LaTeX of a tree inside of an operation that binds as strongly as `outside`."""
    if t.op == "n":
        return str(t.args[0])
    if t.op == "v":
        return _latex_name(t.args[0])
    if t.op in _LATEX:
        return _LATEX[t.op](*(_latex(a, 0) for a in t.args))
    binds = _BINDS[t.op]
    if t.op == "-":
        text = f"-{_latex(t.args[0], 3)}"
    elif t.op == "+":
        text = _latex(t.args[0], 2)
        for a in t.args[1:]:
            part = _latex(a, 2 if a.op != "-" else 0)
            text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    else:
        sign = {"^": r" \oplus ", "*": r" \, ", "%": r" \bmod "}[t.op]
        args = (*t.args[-1:], *t.args[:-1]) if t.op == "*" and t.args[-1].op == "n" else t.args
        text = sign.join(_latex(a, 4 if t.op == "%" else 3) for a in args)
    # a + b mod n may be read as (a + b) mod n, and 3 a mod n too
    return rf"\left({text}\right)" if binds < outside or (outside and t.op == "%") else text
