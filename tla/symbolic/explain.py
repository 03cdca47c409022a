"""Functions on expressions: simplify, explain, and print them for other languages."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..core.errors import LeafTypeError
from ..core.int_tuple import as_int_tuple, leaves
from ..core.ints import Leaf, leaf
from ..core.kinds import AnyLayout
from ..core.on_demand import OnDemand
from . import text
from .conditions import Condition, shown
from .forms import best, plain, steps
from .operations import OPERATIONS
from .poly import Poly
from .rules import traced
from .symint import SymInt, poly_of

if TYPE_CHECKING:
    from ..algebra.plain_integers import Note

_NOTES = OnDemand("tla.algebra.plain_integers")


def latex(x: object) -> str:
    """LaTeX of an integer of any kind, an IntTuple, or a layout.

    >>> from tla import MakeLayout, dims
    >>> from tla.symbolic import latex
    >>> M, N = dims("M N")
    >>> print(latex(MakeLayout((M, N // 4))))
    \\left(M, \\left\\lfloor \\frac{N}{4} \\right\\rfloor\\right) : \\left(1, M\\right)

    Source: docs/symbolic.md.
    """
    if isinstance(x, AnyLayout):
        return f"{latex(x.shape)} : {latex(getattr(x, 'stride', ()))}"
    if isinstance(x, tuple):
        return rf"\left({', '.join(map(latex, x))}\right)"
    return x.latex() if isinstance(x, SymInt) else text.latex(best(poly_of(leaf(x))))


class Step(NamedTuple):
    """A step of a derivation: before == after, by a rule."""

    before: str
    after: str
    rule: str

    def __str__(self) -> str:
        return f"{self.before} == {self.after}   by {self.rule}"


def simplify(expr: object) -> Leaf:
    """The simplest form of an integer expression: a SymInt, or an int where it is a number.

    expr      a SymInt, which is in its simplest form as it stands; an integer expression of sympy, sympy.Mod, floor and
              ceiling included; an integer of any other kind

    The form has the least weight that is found: an operation counts 1, a division or modulo by a number 1 more, by a
    size 8 more. The rules are those of tla.symbolic.rules and tla.symbolic.forms; explain() lists the ones used.

    >>> import sympy
    >>> from tla import dim, index, simplify
    >>> x = sympy.Symbol("x", integer=True)
    >>> print(simplify(sympy.Mod(2 * sympy.Mod(x, 8, evaluate=False), 8, evaluate=False)))
    (x%4)*2
    >>> t = index("t", below=1024)
    >>> print(simplify(t // 32 * 32 + t % 32 // 4 * 4 + t % 4))
    t

    Source: docs/symbolic.md.
    """
    return leaf(expr)


def to_python(x: object) -> str:
    """The Python expression of an integer or a condition: names, numbers, // % + - * ^, min and max.

    >>> from tla import dims, index, to_python
    >>> M, N = dims("M N")
    >>> j = index("j", below=N)
    >>> to_python(-(-j // 128) * M + 1), to_python(N > j), to_python(7)
    ('((j + 127)//128)*M + 1', 'j < N', '7')

    Raises LeafTypeError for what is no integer. Source: docs/symbolic.md.
    """
    if isinstance(x, Condition):
        return x.to_python()
    return text.python(best(poly_of(leaf(x))) if not isinstance(x, SymInt) else x.form)


def explain(x: object, *arguments: object) -> list[Step | Note]:
    """The steps that led to an expression, or to each in a tuple or layout: what was computed, by which rules.

    First the rules of the normal form, in the order they were used, then the moves to the form that is shown.

    x           an expression, a tuple or a layout; or an operation on layouts
    arguments   of the operation: then it is its answer that is explained
    Returns     the steps; and a Note where plain integers made the answer smaller than it is for known ones: of an
                operation with its arguments, and of an answer _1:_0 of right_inverse, nullspace or max_common_layout

    >>> from tla import dims, explain, index
    >>> M, N = dims("M N")
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> print(*explain((i*N + j) // N * 16 + (i*N + j) % N), sep="\\n")
    (j)//(N) == 0   by x//d -> k, k*d <= x < (k+1)*d
    (i*N+j)//(N) == i   by (k*d + x)//d -> k + x//d, d > 0

    >>> from tla import make_layout, max_common_vector, right_inverse
    >>> a = make_layout((16, 8), (1, 16))
    >>> for line in (*explain(right_inverse(a)), *explain(max_common_vector, a, a)):
    ...     print(line)
    Note: right_inverse(layout) is _1:_0, for plain integers are run-time values; right_inverse(static(layout)) is _128:_1
    Note: max_common_vector(a, b) is _1, for plain integers are run-time values; max_common_vector(static(a), static(b)) is _128

    Where an expression came out of a pickle or a text, or of more than 100 operations, only its last steps are known.
    Source: docs/symbolic.md.
    """
    operation = bool(arguments)
    if operation and (isinstance(x, AnyLayout) or not hasattr(inspect.unwrap(cast(Any, x)), "__code__")):
        what = f"explain of a {type(x).__name__} with {len(arguments)} arguments"
        raise LeafTypeError(what, "an operation of tla and its arguments", "give the answer alone: explain(answer)")
    if isinstance(x, str) or (callable(x) and not isinstance(x, AnyLayout) and not operation):
        fix = (
            f"write explain(parse({x!r:.60}))"
            if isinstance(x, str)
            else "give its arguments: explain(coalesce, layout)"
        )
        raise LeafTypeError(f"explain of a {type(x).__name__}", "an answer, or an operation and its arguments", fix)
    found = _NOTES.note(x, *arguments) if operation else _NOTES.note_of(x)
    out: dict[Step | Note, None] = {found: None} if found else {}
    x = cast(Any, x)(*arguments) if operation else x
    if isinstance(x, AnyLayout):
        x = (x.shape, getattr(x, "stride", ()))
    for n in leaves(as_int_tuple(x)):
        if isinstance(n, SymInt):
            out.update(dict.fromkeys(_derivation(n)))
    return [*out]


def _derivation(x: SymInt) -> list[Step]:
    with traced() as results:
        _replay(x, set())
    out = [Step(_node(kind, args), shown(p), rule) for (kind, args), (p, rule) in results.items() if rule]
    moves, terms = steps(x.poly), text.notation(plain(x.poly))
    return [*out, Step(terms, str(x), ", then ".join(moves))] if moves else out


def _replay(x: SymInt, seen: set[int]) -> None:
    if x.made is None or id(x) in seen:
        return
    seen.add(id(x))
    name, *operands = x.made
    for y in operands:
        if isinstance(y, SymInt):
            _replay(y, seen)
    OPERATIONS[name].compute(*map(poly_of, operands))


def _node(kind: str, args: tuple[Poly, ...]) -> str:
    if kind in ("min", "max"):
        return f"{kind}({','.join(map(shown, args))})"
    return kind.join(f"({shown(p)})" for p in args)
