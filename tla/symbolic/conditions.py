"""Conditions on sizes: asked, proved, refuted by a counterexample, or assumed and recorded.

A condition that an operation needs and that is not proved raises Unproven; inside `with assuming() as conditions:` it
is recorded there, and the operation goes on.
"""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

from ..core.cache import ASSUMING
from ..core.display import Displayed
from ..core.errors import LeafTypeError, Predicate, RangeError, Reason, Unproven
from ..core.ints import leaf
from ..core.questions import NOTHING_NEW
from ..core.value import Value, put
from . import text
from .evaluate import value
from .forms import best
from .poly import ONE, Poly, Symbol, number
from .proofs import greatest, is_positive, least
from .rules import modulo

# ------------------------------------------------------------------------------------------------------ answers


def proved_equal(a: Poly, b: Poly) -> bool | None:
    """Whether a == b: True, False, or None where neither is proved."""
    d = a - b
    if not d.terms:
        return True
    low, high = least(d), greatest(d)
    if low == high == 0:
        return True
    rest = math.gcd(*(c for m, c in d.terms.items() if m))
    never = (low is not None and low > 0) or (high is not None and high < 0) or (rest and d.terms.get((), 0) % rest)
    return False if never else None


def proved_at_most(a: Poly, b: Poly) -> bool | None:
    """Whether a <= b."""
    d = _without_factor(b - a)
    low = least(d)
    if low is not None and low >= 0:
        return True
    high = greatest(d)
    return False if high is not None and high < 0 else None


def _without_factor(p: Poly) -> Poly:
    """A polynomial that is 0 or more where p is: without the factor that all its terms share, the
    number rounded down."""
    factor = math.gcd(*(c for m, c in p.terms.items() if m))
    return p if factor < 2 else Poly({m: c // factor for m, c in p.terms.items() if c // factor})


def proved_less(a: Poly, b: Poly) -> bool | None:
    """Whether a < b."""
    return proved_at_most(a + ONE, b)


def proved_divides(a: Poly, b: Poly) -> bool | None:
    """Whether a is not 0 and divides b."""
    if not is_positive(a):
        if is_positive(-a):
            return proved_divides(-a, b)
        return False if not a.terms else None
    return proved_equal(modulo(b, a), number(0))


#: Question -> its three answers, its value on integers, as it is shown, and as Python text.
QUESTIONS: dict[str, tuple[Callable[[Poly, Poly], bool | None], Callable[[int, int], bool], str, str]] = {
    "==": (proved_equal, lambda a, b: a == b, "{} == {}", "{} == {}"),
    "<=": (proved_at_most, lambda a, b: a <= b, "{} <= {}", "{} <= {}"),
    "<": (proved_less, lambda a, b: a < b, "{} < {}", "{} < {}"),
    "divides": (proved_divides, lambda a, b: a != 0 and b % a == 0, "{} divides {}", "{1} % {0} == 0"),
}


class Condition(Value, Displayed):
    """A condition on sizes, `a <= b`, `a < b`, `a == b` or `a divides b`: its truth value is the proof.

    question      "<=", "<", "==" or "divides"
    left, right   the two sides

    bool() of it is True where it always holds, False where it never does, and raises Unproven where neither is proved.
    `holds` is the same without raising: True, False or None.

    >>> from tla import dim
    >>> N = dim("N", multiple_of=16)
    >>> print(N > 0, bool(N > 0), N <= 64, (N <= 64).holds)
    0 < N True N <= 64 None

    Made by comparing a SymInt, by its `equals` and `is_multiple_of`, and recorded by `assuming()`.
    """

    __slots__ = ("a", "b", "question")
    _instead = "compare sizes"

    question: str
    a: Poly
    b: Poly

    def __init__(self, question: str, a: Poly, b: Poly) -> None:
        put(self, "question", question)
        put(self, "a", a)
        put(self, "b", b)

    @property
    def holds(self) -> bool | None:
        """True where it always holds, False where it never does, None where neither is proved."""
        return QUESTIONS[self.question][0](self.a, self.b)

    def __bool__(self) -> bool:
        answer = self.holds
        if answer is None:  # a truth value is never assumed: a program goes on one way only
            raise Unproven(f"it is not known whether {self}", str(self), self.settled_by())
        return answer

    def unproven(self, where: str) -> Unproven:
        """The error that names it and the declaration that settles it."""
        fix = f"{self.settled_by()}, or go on under assuming()"
        return Unproven(f"{where}: it is not known whether {self}", str(self), fix)

    def settled_by(self) -> str:
        """The declaration that lets it be proved."""
        one, other = self.a, self.b
        n, c = _alone(other)
        if self.question == "divides" and n and one.const:
            return f'declare dim("{n.name}", multiple_of={n.unit * abs(one.const) // math.gcd(one.const, c)})'
        if self.question in ("<", "<="):
            room = other - one - number(self.question == "<")  # it holds where this is 0 or more
            k = room.terms.get((), 0)
            n, c = _alone(room - number(k))
            if n:
                fact, end, first = ("at_least", -(k * n.unit // c), 0) if c > 0 else ("at_most", k * n.unit // -c, 1)
                if end >= first:  # as dim takes it
                    return f'declare dim("{n.name}", {fact}={end})'
        n, c = _alone(one)
        if self.question == "<" and n and c == n.unit == 1:
            return f'declare index("{n.name}", below={shown(other)})'
        return f"declare facts of {', '.join(sorted(n.name for n in one.scope | other.scope))} that imply it"

    def at(self, values: dict[str, int]) -> bool:
        """Whether the condition holds where each size has a value, by name. Unproven where one has none, RangeError
        where it divides by 0.

        >>> from tla import dims
        >>> M, N = dims("M N")
        >>> (M <= N).at({"M": 3, "N": 5})
        True
        """
        given = {name: n if type(n) is int else int(leaf(n)) for name, n in values.items()}
        try:
            return self._at(given)
        except KeyError as name:
            what = f"{self} where {name.args[0]} has no value"
            raise Unproven(what, "a value for each of its sizes", f'add "{name.args[0]}": 4') from None
        except ZeroDivisionError:
            what = f"{self} for {given}, where it divides by 0"
            raise RangeError(what, "divisors other than 0", "give other values") from None

    def _at(self, values: dict[str, int]) -> bool:
        return QUESTIONS[self.question][1](value(self.a, values), value(self.b, values))

    def counterexample(self) -> dict[str, int] | None:
        """Values of its sizes that meet all facts, and for which it does not hold; None where none is found.

        >>> from tla import dims
        >>> M, N = dims("M N")
        >>> (M <= N).counterexample()
        {'M': 2, 'N': 1}
        """
        found = samples(sorted(self.a.scope | self.b.scope, key=lambda n: (n.level, n.name)))
        return next((values for values in found if _defined(self._at, values) is False), None)

    def __str__(self) -> str:
        return QUESTIONS[self.question][2].format(shown(self.a), shown(self.b))

    def to_python(self) -> str:
        """A Python expression that is True where it holds.

        >>> from tla import dim
        >>> dim("N").is_multiple_of(16).to_python()
        'N % 16 == 0'
        """
        sides = [text.python(best(p)) for p in (self.a, self.b)]
        if self.question == "divides":
            sides = [s if s.isidentifier() or s.isdigit() else f"({s})" for s in sides]
        return QUESTIONS[self.question][3].format(*sides)

    def __repr__(self) -> str:
        return f"<condition {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Condition) and (self.question, self.a, self.b) == (other.question, other.a, other.b)

    def __hash__(self) -> int:
        return hash((self.question, self.a, self.b))

    def __reduce__(self) -> tuple[Any, ...]:
        return Condition, (self.question, self.a, self.b)


def shown(p: Poly) -> str:
    """The text of the best form of a polynomial, for people."""
    return text.notation(best(p))


def _alone(p: Poly) -> tuple[Any, Any]:
    """(n, c) of a polynomial c*n, for a symbol n; (None, None) of any other."""
    match [*p.terms.items()]:
        case [((Symbol() as n,), c)]:
            return n, c
    return None, None


# ------------------------------------------------------------------------------------------------ counterexamples

#: So many values of all sizes together are tried.
_TRIED = 2000


def samples(symbols: list[Symbol]) -> Iterator[dict[str, int]]:
    """Values of the symbols that meet their facts: small ones, and ends of ranges."""
    return itertools.islice(_samples(symbols, {}), _TRIED)


def _samples(symbols: list[Symbol], values: dict[str, int]) -> Iterator[dict[str, int]]:
    if not symbols:
        yield values
        return
    n, *rest = symbols
    lows = [value(p, values) for p in n.lowers]
    highs = [value(p, values) for p in n.uppers]
    low, high = max(lows, default=-2), min(highs, default=None)  # what has no lower bound has no upper one
    wanted = [low, low + 1, low + 2, low + 6] if high is None else [low, low + 1, low + 2, high, high - 1]
    for v in dict.fromkeys(wanted):
        if low <= v and (high is None or v <= high):
            yield from _samples(rest, {**values, n.name: v * n.unit})


def _defined(f: Callable[[dict[str, int]], bool], values: dict[str, int]) -> bool | None:
    try:
        return f(values)
    except ZeroDivisionError:
        return None


@Predicate
def prove(condition: object) -> Reason | bool | None:
    """Whether a condition holds for all sizes that meet their facts: True, False, or None where neither is found.

    prove.why_not(condition) gives the counterexample where it is False; `condition.counterexample()` gives it
    as a dict.

    >>> from tla import dims, index, prove
    >>> M, N = dims("M N")
    >>> i, j = index("i", below=M), index("j", below=N)
    >>> prove(i*N + j < M*N), prove(i < N)
    (True, False)
    >>> print(prove.why_not(i < N).what)
    i < N does not hold for M = 2, N = 1, i = 1

    True is a proof: by the bounds of every part, relations such as j <= N - 1 included. A truth value is taken
    as it is.
    """
    if isinstance(condition, bool):
        return condition
    if not isinstance(condition, Condition):
        raise LeafTypeError(
            f"prove of a {type(condition).__name__}", "a condition such as i < N", "compare sizes: prove(i*N + j < M*N)"
        )
    if condition.holds:
        return True
    found = condition.counterexample()
    if found is None:
        return None
    where = ", ".join(f"{name} = {n}" for name, n in sorted(found.items()))
    return Reason(f"{condition} does not hold for {where}", str(condition), condition.settled_by())


# ------------------------------------------------------------------------------------------------------ assuming


class _Assuming(NamedTuple):
    """A block of `with assuming()`: the conditions recorded there, whose block it is, and whether that
    is a generator."""

    conditions: list[Condition]
    frame: FrameType
    may_be_suspended: bool


@contextmanager
def assuming() -> Iterator[list[Condition]]:
    """Go on where a condition is not proved, and record it: the list that `with` gives has each once, in order.

    >>> from tla import assuming, dim, safe_div
    >>> N = dim("N")
    >>> with assuming() as conditions:
    ...     print(safe_div(N, 16))
    N//16
    >>> print(*conditions, *(c.to_python() for c in conditions))
    16 divides N N % 16 == 0

    A result rests on the conditions recorded: a kernel can assert them. What is known to be false is refused as ever.
    In a generator it holds while that runs, and not for its caller in between; one under contextlib.contextmanager is a
    block of its user's.
    """
    frame = sys._getframe(2)  # of the `with`
    block = _Assuming([], frame, _may_be_suspended(frame))
    ASSUMING.set((*ASSUMING.get(), block))
    try:
        yield block.conditions
    finally:  # blocks of generators do not end in the order in which they began
        ASSUMING.set(tuple(b for b in ASSUMING.get() if b is not block))


def _may_be_suspended(frame: FrameType) -> bool:
    """Whether a frame is a generator's that yields to its caller; of contextlib's ones, a block is their user's."""
    if not frame.f_code.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        return False
    return not (frame.f_back and frame.f_back.f_globals.get("__name__") == "contextlib")


def _innermost_block() -> _Assuming | None:
    """The block that the code which runs is in: of the nearest caller that has one, never of a generator
    that is suspended."""
    blocks: tuple[_Assuming, ...] = ASSUMING.get()
    frame: FrameType | None = sys._getframe() if blocks else None
    while frame:
        if own := [b for b in blocks if b.frame is frame]:
            return own[-1]
        frame = frame.f_back
    return next((b for b in reversed(blocks) if not b.may_be_suspended), None)


def require_condition(condition: Condition, where: str) -> bool:
    """True where the condition holds, or is recorded by assuming(); False where it never holds; Unproven otherwise."""
    answer = condition.holds
    if answer is not None:
        return answer
    block = _innermost_block()
    if block is None or (NOTHING_NEW.get() and condition not in block.conditions):
        raise condition.unproven(where)
    if condition not in block.conditions:
        block.conditions.append(condition)
    return True
