"""The offset of a Python function at coordinates that are symbols: called once for each way that its conditions lead.

What it computes is traced: by the arithmetic of texts whose sizes are names, so that `i == 0` and `i < M` are
conditions, which coordinates decide. A value where one holds, and another elsewhere, is a choice; a choice that is -1
elsewhere is a bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..core.errors import LeafTypeError, RangeError, RankError, TlaError
from ..core.int_tuple import shown
from ..core.ints import Leaf, is_int
from ..symbolic import SymInt
from .functions import name_of
from .reading import Code, Op
from .unknown_bounds import Choice, Open, Test, bounded
from .unknown_sizes import SymbolicEvaluator

#: A function is called so often, for every condition that coordinates decide has two ways; and so many conditions it
#: may ask in one call.
MAX_WAYS = 64


class _Call(SymbolicEvaluator):
    """One call of a function: what it computes, and the conditions that hold in it, of which `taken` says the first,
    the others being met.

    conditions  those that coordinates decided, as far as those before did not
    """

    def __init__(self, name: str, taken: tuple[bool, ...]) -> None:
        super().__init__(Code(name, "python", (), 0, (), {}, {}), {}, "int64")
        self.taken, self.conditions = taken, list[Open]()
        self.true: tuple[Open, ...] = ()

    def fail(self, op: Op, what: str, expected: str, fix: str) -> NoReturn:
        raise RangeError(f"{self.code.text}: {what}", expected, fix)

    def decides(self, x: Any) -> bool:
        """Whether a truth value is true in this call."""
        left = x.where(self.true) if isinstance(x, Open) else bool(x)
        if isinstance(left, bool):
            return left
        if len(self.conditions) >= MAX_WAYS:
            raise too_many(self.code.text)
        if len(self.conditions) == len(self.taken):
            self.taken += (True,)
        holds = self.taken[len(self.conditions)]
        self.conditions.append(left)
        self.true += (left if holds else left.opposite(),)
        return holds


def too_many(name: str) -> RangeError:
    """The refusal of a function with more conditions than are followed."""
    fix = "compare each coordinate once, or give sizes numbers, in shape="
    return RangeError(f"{name}, whose conditions lead more than {MAX_WAYS} ways", "fewer conditions", fix)


def _operator(op: str, swapped: bool = False) -> Any:
    def apply(self: Traced, other: Any) -> Any:
        if not isinstance(other, (Traced, bool)) and not is_int(other):
            return NotImplemented
        value = other.value if isinstance(other, Traced) else other
        return self.of(op, value, self.value) if swapped else self.of(op, self.value, value)

    return apply


class Traced:
    """A coordinate, or what a function computes of it: an integer or a truth value.

    >>> from tla import dims, index
    >>> M, N = dims("M N")
    >>> i = Traced(index("i", below=N), _Call("f", (False,)))
    >>> print((8 * i + M).value, bool(i < M), bool(i >= M))
    M+8*i False True
    """

    __slots__ = ("call", "value")

    def __init__(self, value: Leaf | Open, call: _Call) -> None:
        self.value, self.call = value, call

    def of(self, op: str, *operands: Any) -> Any:
        """The value of an operation; what is True or False stays traced, for ~ of it is `not`, as numpy has it."""
        of_truths = op in ("&", "|") and any(isinstance(x, (Open, bool)) for x in operands)
        operands = tuple(sorted(operands, key=lambda x: not isinstance(x, Open))) if of_truths else operands
        found = self.call.computed(Op(op, 0), "", *operands)
        if of_truths or op in ("<", "<=", ">", ">=", "==", "!=", "not"):
            return Traced(found if isinstance(found, Open) else bool(found), self.call)
        return Traced(found, self.call) if isinstance(found, SymInt) else found

    __add__, __radd__ = _operator("+"), _operator("+", True)
    __sub__, __rsub__ = _operator("-"), _operator("-", True)
    __mul__, __rmul__ = _operator("*"), _operator("*", True)
    __floordiv__, __rfloordiv__ = _operator("//"), _operator("//", True)
    __mod__, __rmod__ = _operator("%"), _operator("%", True)
    __xor__, __rxor__ = _operator("^"), _operator("^", True)
    __and__, __rand__ = _operator("&"), _operator("&", True)
    __or__, __ror__ = _operator("|"), _operator("|", True)
    __lshift__, __rlshift__ = _operator("<<"), _operator("<<", True)
    __rshift__, __rrshift__ = _operator(">>"), _operator(">>", True)
    __lt__, __le__, __gt__, __ge__ = map(_operator, ("<", "<=", ">", ">="))
    __eq__, __ne__ = _operator("=="), _operator("!=")
    __hash__ = None  # type: ignore[assignment]  # as a key of a table it would be looked up by how it is written

    def __neg__(self) -> Any:
        return self.of("neg", self.value)

    def __invert__(self) -> Any:
        return self.of("not" if isinstance(self.value, (Open, bool)) else "~", self.value)

    def __pos__(self) -> Any:
        return self.of("+", self.value, 0)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __bool__(self) -> bool:
        return self.call.decides(
            self.value if isinstance(self.value, (Open, bool)) else self.of("!=", self.value, 0).value
        )


def offset_of_function(f: Callable[..., Any], indices: tuple[Leaf, ...]) -> tuple[Leaf, tuple[Test, ...]]:
    """The offset of a function at coordinates that are symbols, and the bounds outside of which it is -1.

    >>> from tla import dims, index
    >>> K, M, N = dims("K M N")
    >>> offset, bounds = offset_of_function(lambda i: i * K if i < M else -1, (index("i", below=N),))
    >>> print(offset, *bounds)
    i*K i < M
    """
    ways = _Ways(f, indices)
    offset, tests = bounded(ways.value(()))
    return ways.offset(offset), tests


class _Ways:
    """All ways that a function's conditions lead."""

    def __init__(self, f: Callable[..., Any], indices: tuple[Leaf, ...]) -> None:
        self.f, self.indices, self.name, self.calls = f, indices, name_of(f), 0

    def value(self, taken: tuple[bool, ...]) -> Any:
        """The value of the function where its first conditions are met or not: a choice where others follow."""
        call = _Call(self.name, taken)
        found = self.called(call)
        for k in reversed(range(len(taken), len(call.conditions))):
            found = Choice(call.conditions[k], found, self.value((*call.taken[:k], False)))
        return found

    def called(self, call: _Call) -> Any:
        """The value that a call gives."""
        self.calls += 1
        if self.calls > MAX_WAYS:
            raise too_many(self.name)
        try:
            found = self.f(*(Traced(i, call) if isinstance(i, SymInt) else i for i in self.indices))
        except TlaError:
            raise
        except Exception as error:
            what = f"{self.name} of {len(self.indices)} symbols: {type(error).__name__}: {str(error)[:200]}"
            kind = RankError if isinstance(error, TypeError) else LeafTypeError
            raise kind(
                what, "a function of one coordinate for each extent", "write it with + - * // % ^ and conditions"
            ) from error
        found = found.item() if getattr(found, "shape", None) == () else found  # of numpy.where
        return found.value if isinstance(found, Traced) else found

    def offset(self, found: Any) -> Leaf:
        """A value that is an integer, and no choice of coordinates."""
        if not is_int(_Call(self.name, ()).decided(found)):
            raise LeafTypeError(f"{shown(found):.60}, which {self.name} gives", "an integer", "return one")
        return found
