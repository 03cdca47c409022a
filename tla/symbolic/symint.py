"""SymInt: an integer that is not known, with facts: sizes, indices, and what is computed from them.

Source: docs/symbolic.md; the name is PyTorch's.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from typing import Any, cast

from ..core.errors import LeafTypeError, RangeError, TlaError, Unproven
from ..core.ints import Int, IntLike, Leaf, Static, is_no_integer, is_sympy, known, leaf, register_leaf, static
from ..core.on_demand import OnDemand
from ..core.value import Value, new_value, put
from . import conditions, text, tree
from .conditions import Condition, require_condition
from .evaluate import folded
from .facts import declaration, notation, representation, require_one_meaning, symbols_in, whole
from .forms import best
from .operations import OPERATIONS, UNWRITTEN
from .poly import Poly, Symbol, number, one_of
from .proofs import least
from .rules import floor_div
from .tree import Tree

_SYMPY_NODES = OnDemand("tla.symbolic.nodes")  # with sympy

#: What was computed is remembered up to so many operations, each as often as it is written: for explain(), and
#: as a form.
MAX_HISTORY = 100


def _operators(name: str) -> tuple[Any, Any]:
    """The operator `name` of SymInts, with another integer on the right, and on the left."""

    def forward(self: SymInt, other: object) -> Any:
        return apply(name, self, other) if _computes(other) else NotImplemented

    def backward(self: SymInt, other: object) -> Leaf:
        return apply(name, other, self) if _computes(other) else NotImplemented

    return forward, backward


class SymInt(Value):
    """An integer that is not known: a size, an index, or what is computed from these. It is a leaf of every layout.

    Made by dim, dims and index. It has all integer operators, with every kind of integer on both sides; `/` is refused.
    `//` and `%` round down, as in Python. What comes out as a number is an int. It prints in the simplest form that is
    found and reads back as it: `ceil(N/128)`, `(i*8+j)%64`.

    `==` and hash are those of the normal form: equal ones are equal for all sizes, unequal ones may be equal for some.
    `<`, `<=`, `>`, `>=` give a Condition; int() and the truth of what is not a number raise Unproven.

    expr     the sympy expression
    at(...)  its value where sizes have values

    Raises LeafTypeError where it meets a bool, a float or a text, Unproven for a divisor that may be 0, RangeError for
    an expression past the limits and for one name with two sets of facts.

    >>> from tla import dims, index, MakeLayout
    >>> M, N = dims("M N")
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> print((i*N + j) // N, (i*N + j) % N, -(-N // 128), MakeLayout((M, N)))
    i j ceil(N/128) (M,N):(_1,M)
    """

    __slots__ = ("_form", "_history", "made", "poly")
    _instead = "compute another, or x.at(N=128),"
    _op_priority = 20.0  # sympy leaves its operators to ours

    poly: Poly
    _form: Tree | None
    _history: int
    made: tuple[Any, ...] | None  # the operation that it came of, and its operands

    def __init__(self, *_: object) -> None:
        raise LeafTypeError(
            "SymInt(...)", "a name with its facts", "write dim('N', multiple_of=16) or index('i', below=N)"
        )

    # ------------------------------------------------------------------------------------------- what it is

    @property
    def expr(self) -> Any:
        """The sympy expression, of integer symbols and FloorDiv, Mod, CeilDiv, Min, Max, Xor nodes, in
        the simplest form.

        >>> from tla import dim
        >>> dim("N").expr + 1
        N + 1
        """
        return _SYMPY_NODES.to_sympy(self.form, self.symbols)

    def _sympy_(self) -> Any:
        return self.expr

    @property
    def form(self) -> Tree:
        """The simplest form among those found from the normal form, and the one that was written."""
        if self._form is None:
            found = best(self.poly)
            put(self, "_form", self.written if self._written().cost < found.cost else found)
        return cast(Tree, self._form)

    @property
    def written(self) -> Tree:
        """It as it was computed; its simplest form where trees lack an operation of that, or where a name in
        it cancels out."""
        found = self._written()
        is_of_it = found.cost < UNWRITTEN.cost and tree.names(found) <= {n.name for n in symbols_in(self.poly)}
        return found if is_of_it else best(self.poly)

    def _written(self) -> Tree:
        if self.made is None:
            return best(self.poly)
        name, *operands = self.made
        return OPERATIONS[name].written(*[x._written() if type(x) is SymInt else best(poly_of(x)) for x in operands])

    @property
    def symbols(self) -> tuple[SymInt, ...]:
        """The sizes and indices in it, by name.

        >>> from tla import dims
        >>> M, N = dims("M N")
        >>> (M*N + 1).symbols
        (dim('M'), dim('N'))
        """
        return tuple(map(of_symbol, symbols_in(self.poly)))

    @property
    def is_undeclared(self) -> bool:
        """Whether a symbol in it has no lower bound: it comes from sympy, with nothing said of its sign."""
        return any(not n.lowers for n in symbols_in(self.poly))

    def at(self, values: Mapping[str, Any] = {}, **named: object) -> Any:
        """Its value where sizes have values: integers, or other SymInts. RangeError for a value that breaks a fact.

        values   a mapping of names, which may have more names than are in it: those of a whole kernel
        named    each is the name of one of its sizes, else LeafTypeError

        >>> from tla import dim
        >>> N = dim("N", multiple_of=16)
        >>> print((N // 32).at(N=80), (N // 32).at({"N": 64 * dim("K")}))
        2 2*K
        """
        require_names(named, self)
        given = given_values(values, named)

        def of_symbol(n: Symbol) -> Leaf:
            return _checked(n, given[n.name], given) if n.name in given else wrap(one_of(n))

        return folded(self.poly, of_symbol, of_node)

    def equals(self, other: object) -> Condition:
        """The condition that it equals another, for sizes where the normal forms need not show it.

        >>> from tla import dim, prove
        >>> N = dim("N")
        >>> prove((N // 2 + (N + 1) // 2).equals(N))
        True
        """
        return Condition("==", *_polys(self, other))

    def is_multiple_of(self, n: IntLike) -> Condition:
        """The condition that n divides it.

        >>> from tla import dim, prove
        >>> prove(dim("N", multiple_of=16).is_multiple_of(8))
        True
        """
        return Condition("divides", *_polys(n, self))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, SymInt):
            return self.poly == other.poly
        if isinstance(other, int) and not isinstance(other, bool):
            return self.poly.const == int(other)
        return self.poly == poly_of(other) if is_sympy(other) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.poly)

    def __lt__(self, other: Any) -> Any:
        return _condition("<", self, other)

    def __le__(self, other: Any) -> Any:
        return _condition("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return _condition("<", other, self)

    def __ge__(self, other: Any) -> Any:
        return _condition("<=", other, self)

    def __bool__(self) -> bool:
        answer = conditions.proved_equal(self.poly, number(0))
        if answer is None:
            raise Unproven(f"the truth of {self}", f"{self} == 0 or {self} != 0, proved", "compare it: prove(N > 0)")
        return not answer

    def __index__(self) -> int:
        raise Unproven(f"the value of {self}", "an integer that is known", "give its sizes values: x.at(N=128)")

    __int__ = __index__

    def __float__(self) -> float:
        raise Unproven(
            f"the value of {self} as a float", "an integer that is known", "give its sizes values: x.at(N=128)"
        )

    def __str__(self) -> str:
        return notation(self.poly, self.form)

    def __repr__(self) -> str:
        return representation(self.poly)

    def __format__(self, spec: str) -> str:
        return format(str(self), "" if spec == "d" else spec)

    def _repr_latex_(self) -> str:
        return f"${self.latex()}$"

    def latex(self) -> str:
        """LaTeX of the simplest form; a quotient that is exact is a fraction.

        >>> from tla import dim
        >>> print((dim("N") // 32).latex(), (dim("M", multiple_of=32) // 32).latex())
        \\left\\lfloor \\frac{N}{32} \\right\\rfloor \\frac{M}{32}
        """
        sizes = {str(size): size for size in self.symbols}
        return text.latex(self.form, lambda a, b: _divided(a, b, sizes))

    def __reduce__(self) -> tuple[Any, ...]:
        return wrap, (self.poly,)

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __floordiv__, __rfloordiv__ = _operators("floordiv")
    __mod__, __rmod__ = _operators("mod")
    __xor__, __rxor__ = _operators("xor")
    __and__, __rand__ = _operators("and")
    __or__, __ror__ = _operators("or")
    __lshift__, __rlshift__ = _operators("lshift")
    __rshift__, __rrshift__ = _operators("rshift")

    def __truediv__(self, other: object) -> Any:
        what = f"{self} / {other!r}: no true division of layout integers"
        raise LeafTypeError(what, "an integer division", "use // for the quotient rounded down")

    __rtruediv__ = __truediv__

    def __divmod__(self, other: object) -> tuple[Leaf, ...]:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> tuple[Leaf, ...]:
        return other // self, other % self

    def __pos__(self) -> SymInt:
        return self

    def __neg__(self) -> Leaf:
        return self * -1

    def __invert__(self) -> Leaf:
        return -self - 1

    def __abs__(self) -> Leaf:
        if (low := least(self.poly)) is not None and low >= 0:
            return self
        return compute("max", self, -self)

    def __pow__(self, n: object) -> Leaf:
        n = leaf(n)
        if not isinstance(n, int) or not 0 <= n <= 64:
            raise RangeError(f"{self} ** {n}", "an exponent from 0 to 64", "multiply it out")
        out: Any = 1
        for _ in range(int(n)):
            out = self * out
        return static(1) if type(n) is Int and n == 0 else out


# ------------------------------------------------------------------------------------------------- the operators


def apply(name: str, x: object, y: object) -> Leaf:
    """OPERATIONS[name] of two integers, a SymInt among them: a SymInt, or an int where it is a number."""
    operation = OPERATIONS[name]
    if type(y) is Int and int(y) in operation.absorbs:
        return static(operation.absorbs[int(y)])
    return wrap(operation.compute(*_polys(x, y)), (name, x, y))


def _polys(x: object, y: object) -> tuple[Poly, Poly]:
    """Two integers as polynomials; RangeError if a name has two sets of facts in them."""
    p, q = poly_of(x), poly_of(y)
    if not (p.scope <= q.scope or q.scope <= p.scope):
        require_one_meaning(p.scope | q.scope)
    return p, q


def of_node(kind: str, *operands: Any) -> Leaf:
    """The value of a node of the normal form, of integers of any kind."""
    return functools.reduce(functools.partial(compute, _NAMES.get(kind, kind)), operands)


#: The operations of nodes that are not called as these are.
_NAMES = {"//": "floordiv", "^": "xor"}


def compute(name: str, a: IntLike, b: IntLike) -> Leaf:
    """An operation of two integers of any kind."""
    return wrap(OPERATIONS[name].compute(*_polys(a, b)))


def _computes(x: object) -> bool:
    """Whether x is an integer that SymInts compute with; LeafTypeError for what is no integer and nothing that
    broadcasts."""
    if type(x) is SymInt or type(x) is int or type(x) is Int:
        return True
    if isinstance(x, Static) or is_no_integer(x) or x is None:
        leaf(x)
    if hasattr(type(x), "__index__") and not hasattr(type(x), "__len__"):
        return True
    return is_sympy(x)


def poly_of(x: Leaf) -> Poly:
    """An integer of any kind as a polynomial."""
    if type(x) is SymInt:
        return x.poly
    x = leaf(x)  # a number of numpy, or an expression of sympy
    return x.poly if type(x) is SymInt else number(int(x))


def wrap(p: Poly, made: tuple[Any, ...] | None = None) -> Leaf:
    """A polynomial as a SymInt; as an int if it is a number. made: the operation and its operands."""
    const = p.const
    if const is not None:
        return const
    history = 0
    if made is not None:
        history = min(1 + sum([x._history for x in made[1:] if type(x) is SymInt]), MAX_HISTORY + 1)
    return new_value(SymInt, poly=p, _form=None, _history=history, made=made if history <= MAX_HISTORY else None)


def _condition(question: str, a: IntLike, b: IntLike) -> Any:
    if not (_computes(a) and _computes(b)):
        return NotImplemented
    return Condition(question, *_polys(a, b))


def given_values(values: Mapping[str, Any], named: Mapping[str, Any] = {}) -> dict[str, Any]:
    """The values of sizes by their names; LeafTypeError for what is no mapping of names to integers."""
    if not isinstance(values, Mapping) or not all(isinstance(name, str) for name in values):
        what = f"{values!r:.60} for the values of sizes"
        raise LeafTypeError(what, "names with their values", 'write at(x, M=128), or at(x, {"M": 128})')
    return {name: leaf(n) for name, n in {**values, **named}.items()}


def require_names(named: Mapping[str, Any], *sizes: SymInt) -> None:
    """LeafTypeError for a name that none of these has, in its facts neither."""
    names = {n.name: None for x in sizes for n in x.poly.scope}
    for name in named:
        if name not in names:
            what = f"a value for {name}, which is no size of {', '.join(map(str, sizes)) or 'what has none':.80}"
            raise LeafTypeError(
                what, f"names among {', '.join(names) or 'none'}", "leave it out; a dict of values may have more names"
            )


def of_symbol(n: Symbol) -> SymInt:
    """The size of a symbol."""
    return wrap(whole(n))  # type: ignore[no-any-return]


def _checked(n: Symbol, v: object, given: Mapping[str, Any]) -> Any:
    """The value v of a size as a value of its symbol; RangeError where that breaks a fact."""
    p = poly_of(v)
    if not require_condition(Condition("divides", number(n.unit), p), f"{n.name} = {v}"):
        raise RangeError(f"{n.name} = {v}", f"a multiple of {n.unit}", f"use one, as it is declared: {declaration(n)}")
    inner = wrap(floor_div(p, number(n.unit)))
    for bound, below in (*((b, True) for b in n.lowers), *((b, False) for b in n.uppers)):
        limit = poly_of(wrap(bound).at(given) if bound.const is None else bound.const)
        pair = (limit, poly_of(inner)) if below else (poly_of(inner), limit)
        if not require_condition(Condition("<=", *pair), f"{n.name} = {v}"):
            raise RangeError(
                f"{n.name} = {v}", "a value that meets its facts", f"use one, as it is declared: {declaration(n)}"
            )
    return inner


# ------------------------------------------------------------------------------------------------ the kind of leaf


def _ask(question: str, a: IntLike, b: IntLike) -> bool | None:
    if not (_computes(a) and _computes(b)):
        return False if question == "==" else None
    return Condition(question, *_polys(a, b)).holds


def _undecided(question: str, a: IntLike, b: IntLike, where: str) -> bool:
    return require_condition(Condition(question, *_polys(a, b)), where)


def _fold(name: str, a: Leaf, b: Leaf) -> Any:
    """min and max of two integers; the greatest common divisor where one divides the other."""
    if name in ("min", "max"):
        return apply(name, a, b)
    for x, y in ((a, b), (b, a)):
        if name in ("gcd", "lcm") and conditions.proved_divides(poly_of(x), poly_of(y)):
            return abs(x if name == "gcd" else y)
    return None


register_leaf(SymInt, _ask, undecided=_undecided, fold=_fold)


def _divided(a: Tree, b: Tree, sizes: dict[str, SymInt]) -> bool:
    """Whether a tree is a multiple of another for all values of its sizes."""
    try:
        return known(operator.mod(*(tree.value(t, int, sizes, _DIVIDED) for t in (a, b)))) == 0
    except (KeyError, TlaError):  # a name that is bound elsewhere, or a divisor that may be 0
        return False


#: The operations of a quotient that may be exact.
_DIVIDED = {"+": operator.add, "*": operator.mul, "//": operator.floordiv, "%": operator.mod}
