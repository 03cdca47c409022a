"""An emitted function against the layout's definition, proved by z3 for every coordinate, and for all sizes that its comment allows.

The definition is written down here once more, from shape and stride alone: a coordinate is its digits, an offset the sum of digits
times strides, a swizzle an exclusive or of bits. Of the text only the grammar is known. Nothing of the symbolic engine is used.

Over integers where there is no exclusive or; a quotient by a size that is not known is led back to a digit by Euclid's uniqueness,
x = d + n q with 0 <= d < n. With exclusive or as bit vectors, wide enough for every value on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.composed import ComposedLayout, gives_coordinates
from ...core.coord import CoordLike
from ...core.errors import LeafTypeError, ParseError
from ...core.int_tuple import leaves, shown
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.swizzle import Swizzle
from ..expressions.signature import Parameter, with_parameters
from ..expressions.target import TARGETS
from ..indices.emit import emit
from .reading import Function, Tree, read_expression, read_function

#: The targets whose text is read: those of C's family, and Python.
READ = ("c", "cpp", "cuda", "hip", "opencl", "python")
#: A proof is given up after this [milliseconds].
PATIENCE = 3000
_BITS = re.compile(r"\bu?int(32|64):")


class Proof(NamedTuple):
    """The outcome of a proof.

    proved    True; False where a coordinate refutes it; None where it was not decided
    how       over what it was proved, or why not
    witness   of what is refuted: coordinates and sizes by name
    text      the emitted function

    >>> Proof(False, "refuted: over integers", {"i": 3}, "int offset(int i) { return i; }").witness
    {'i': 3}
    """

    proved: bool | None
    how: str
    witness: dict[str, int]
    text: str


def prove(layout: object, target: str = "c", coords: CoordLike | None = None, *, text: str | None = None, name: str = "offset") -> Proof:
    """Prove by z3 that the emitted function of a layout is the layout, at every coordinate inside of its shape.

    target   one of c cpp cuda hip opencl python
    coords   the names of the coordinates, one for each mode, as emit takes them
    text     a function that was emitted before, or written by hand in the same words; by default what emit writes

    >>> from tla import parse
    >>> from tla.codegen import prove
    >>> prove(parse("(_8,_8):(_8,_1)"), "c", text="int offset(int i, int j) { return f(i, j); }").how.splitlines()[0]
    "the text is not read: unexpected '(', at position 35"

    Raises LeafTypeError for another target, for what is no layout of offsets, and without z3.
    """
    if target not in READ:
        known = f"one of {' '.join(READ)}"
        raise LeafTypeError(f"prove for the target {target!r:.40}", known, "prove one of these" if target in TARGETS else f"write {known}")
    if not isinstance(layout, AnyLayout):
        raise LeafTypeError(f"prove of a {type(layout).__name__}", "a layout", "parse a text, or lower an XLA shape")
    if gives_coordinates(_innermost(layout)):
        raise LeafTypeError(f"prove of {shown(layout)}", "a layout of offsets", "take each coordinate by itself")
    text = emit(layout, target, coords, name=name) if text is None else text
    try:
        function = read_function(text, name, python=target == "python")
    except ParseError as error:
        return Proof(None, f"the text is not read: {error.reason.what}", {}, text)
    bits = 64 if target == "python" else int((_BITS.search(text) or ["", "64"])[1])
    return _Claim(layout, function, bits, exact=target == "python").proof(text)


class _Claim:
    """The claim that a function is a layout.

    exact   whether the language's integers have no end, and its quotients are rounded down
    """

    def __init__(self, layout: Any, function: Function, bits: int, exact: bool) -> None:
        dynamic: dict[str, Parameter] = {}
        self.layout, self.function, self.bits, self.exact = with_parameters(layout, dynamic), function, bits, exact
        inner = _innermost(self.layout)
        self.extents = [[*map(_tree, leaves(m))] for m in (inner.shape if isinstance(inner.shape, tuple) else (inner.shape,))]
        strides = inner.stride if isinstance(inner.shape, tuple) else (inner.stride,)
        self.strides = [[*map(_tree, leaves(m))] for m in strides]
        sizes = {n for x in (self.extents, self.strides) for mode in x for n in mode if not isinstance(n, int)}
        self.symbolic = bool(sizes) or any(not isinstance(n, int) for n in map(_tree, _starts(self.layout)))

    def proof(self, text: str) -> Proof:
        values = [t for _name, t in self.function.steps] + [self.function.value]
        bitwise = self.layout is not _innermost(self.layout) or any(map(_has_bits, values))
        if bitwise and self.symbolic:
            return Proof(None, "sizes that are not known together with bits", {}, text)
        try:
            return (_BitVectors if bitwise else _Integers)(self).proof(text)
        except KeyError as error:
            return Proof(None, f"{error.args[0]} in the text", {}, text)


def _tree(n: Any) -> Tree:
    """A leaf of a layout: a number, or the text of a symbolic integer, read."""
    return int(n) if not hasattr(n, "symbols") else read_expression(str(n))


def _innermost(layout: Any) -> Layout:
    while isinstance(layout, ComposedLayout):
        layout = layout.inner
    found: Layout = layout
    return found


def _starts(layout: Any) -> Iterator[Any]:
    while isinstance(layout, ComposedLayout):
        yield layout.offset
        layout = layout.inner


def _has_bits(t: Tree) -> bool:
    return isinstance(t, tuple) and (t[0] in ("^", "|") or any(_has_bits(x) for x in t[1:]))


class _Values:
    """The values of trees as terms of z3, and the claim in them."""

    def __init__(self, claim: _Claim) -> None:
        try:
            import z3  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise LeafTypeError("prove without z3", "the package z3-solver", "pip install 'tla-layouts[prove]'") from None

        self.z3, self.claim, self.names, self.seen = z3, claim, dict[str, Any](), list[Any]()
        self.solver = z3.Solver()
        self.solver.set("timeout", PATIENCE)
        self.digits: dict[str, int | None] = {}

    def value(self, t: Tree) -> Any:
        if isinstance(t, int):
            return self.number(t)
        if isinstance(t, str):
            return self.names[t]
        found = self.operation(t[0], *map(self.value, t[1:]))
        self.seen.append(found)
        return found

    def number(self, n: int) -> Any:
        raise NotImplementedError

    def operation(self, operation: str, x: Any, y: Any) -> Any:
        raise NotImplementedError

    def returned(self) -> Any:
        """The value that the function returns; KeyError for a name that it has not."""
        for name, t in self.claim.function.steps:
            self.names[name] = self.value(t)
        return self.value(self.claim.function.value)

    def coordinates(self) -> list[list[Any]]:
        """The digits of each coordinate as variables, and the coordinates by the names of the parameters."""
        out = []
        for k, extents in enumerate(self.claim.extents):
            values = [self.value(n) for n in extents]
            digits = [self.digit(f"d{k}_{m}", n) for m, n in enumerate(values)]
            out.append(digits)
            if k < len(self.claim.function.parameters):
                self.names[self.claim.function.parameters[k]] = self.chained(digits, values)
        return out

    def digit(self, name: str, n: Any) -> Any:
        raise NotImplementedError

    def chained(self, digits: Sequence[Any], extents: Sequence[Any]) -> Any:
        total = digits[-1]
        for d, n in zip(reversed(digits[:-1]), reversed(extents[:-1])):
            total = d + n * total
        return total

    def offset(self, digits: list[list[Any]]) -> Any:
        """The definition: digits times strides, and what stands around them."""
        pairs = [(d, self.value(t)) for mode, strides in zip(digits, self.claim.strides) for d, t in zip(mode, strides)]
        return self.around(self.claim.layout, sum((d * t for d, t in pairs), self.number(0)))

    def around(self, layout: Any, offset: Any) -> Any:
        if not isinstance(layout, ComposedLayout):
            return offset
        return self.through(layout.outer, self.value(_tree(layout.offset)) + self.around(layout.inner, offset))

    def through(self, outer: Any, offset: Any) -> Any:
        raise KeyError(f"{outer} outside of a layout")

    def refuted(self, goal: Any) -> dict[str, int] | None:
        """None where a goal holds; else a model of its opposite; TimeoutError where that is not decided."""
        self.solver.push()
        self.solver.add(self.z3.Not(goal))
        found = self.solver.check()
        model = self.solver.model() if found == self.z3.sat else None
        self.solver.pop()
        if found == self.z3.unknown:
            raise TimeoutError
        return None if model is None else self.witness(model)

    def witness(self, model: Any) -> dict[str, int]:
        wanted = {n: v for n, v in self.names.items() if n in self.claim.function.parameters}
        return {n: int(model.eval(v, model_completion=True).as_long()) for n, v in wanted.items()}

    def proof(self, text: str) -> Proof:
        raise NotImplementedError

    def outcome(self, text: str, goals: Sequence[tuple[str, Any]]) -> Proof:
        """The proof of goals in turn; each with what is proved by it."""
        how = []
        for said, goal in goals:
            try:
                witness = self.refuted(goal)
            except TimeoutError:
                return Proof(None, f"not decided in {PATIENCE / 1000:g} s: {said}", {}, text)
            if witness is not None:
                return Proof(False, f"refuted: {said}", witness, text)
            how.append(said)
        return Proof(True, ", ".join(how), {}, text)


class _Integers(_Values):
    """Terms over integers without end."""

    def __init__(self, claim: _Claim) -> None:
        super().__init__(claim)
        self.euclid: list[tuple[Any, Any, Any]] = []  # x = d + n q with 0 <= d < n: (x, n, q), of coordinates
        self.signs: list[Any] = []

    def number(self, n: int) -> Any:
        return self.z3.IntVal(n)

    def digit(self, name: str, n: Any) -> Any:
        d = self.z3.Int(name)
        self.solver.add(d >= 0, d < n)
        return d

    def chained(self, digits: Sequence[Any], extents: Sequence[Any]) -> Any:
        """The coordinate; every place at which its digits can be cut is a quotient that is known."""
        z3, whole, extent = self.z3, super().chained(digits, extents), self.number(1)
        for k, n in enumerate(extents[:-1]):
            extent = extent * n
            self.euclid.append((whole, extent, super().chained(digits[k + 1 :], extents[k + 1 :])))
            self.euclid.append((super().chained(digits[k:], extents[k:]), n, self.euclid[-1][2]))
            low = super().chained(digits[: k + 1], extents[: k + 1])
            self.solver.add(low >= 0, low < extent)  # digits below extents: by induction over them
        return z3.simplify(whole)

    def operation(self, operation: str, x: Any, y: Any) -> Any:
        if operation in ("+", "-", "*"):
            return x + y if operation == "+" else x - y if operation == "-" else x * y
        n = self.z3.simplify(y)
        known = n.as_long() if self.z3.is_int_value(n) else None
        if operation in ("/", "%", "//"):
            if operation != "//" and not self.claim.exact:
                self.signs.append(x >= 0)  # C rounds to 0: the same where nothing is below 0
            q = self.quotient(x, n)
            return x - q * n if operation == "%" else q
        if known is None or known < 0:
            raise KeyError(f"{operation} by what is not known")
        if operation in ("<<", ">>"):
            return x * 2**known if operation == "<<" else self.quotient(x, self.number(2**known))
        below = known & -known
        above = known + below
        if operation == "&" and known and above & known == 0:  # a mask of bits side by side: what is left of x in between
            return self.quotient(x, self.number(below)) * below - self.quotient(x, self.number(above)) * above
        raise KeyError(f"{operation} of bits")

    def quotient(self, x: Any, n: Any) -> Any:
        """A quotient that is rounded down: a digit's, where x is a coordinate that is cut there; by a size else one that is named."""
        z3 = self.z3
        for whole, extent, q in self.euclid:
            if _same(z3, x, whole) and _same(z3, n, extent):
                return q
        if z3.is_int_value(n):
            return x / n
        q = z3.FreshInt("q")
        self.solver.add(z3.Implies(n > 0, z3.And(q * n <= x, x < q * n + n)))
        return q

    def proof(self, text: str) -> Proof:
        claim, z3 = self.claim, self.z3
        self.names |= {n: z3.Int(n) for n in self.sizes()}
        for relation, a, b in claim.function.requires:
            if relation == "divides" and isinstance(b, str):  # a size in units of what divides it
                self.names[b] = self.value(a) * z3.Int(f"{b} in {a}")
        for relation, a, b in claim.function.requires:
            x, y = self.value(a), self.value(b)
            self.solver.add(x <= y if relation == "<=" else y == x * z3.FreshInt("q"))
        digits = self.coordinates()
        self.seen.clear()
        definition, value = self.offset(digits), None
        self.seen.clear()
        value = self.returned()
        goals = [("quotients of what is not below 0", z3.And(*self.signs))] if self.signs else []
        equal = z3.simplify(definition - value, som=True, som_blowup=1000)
        goals.append(("over integers", equal == 0))
        if not claim.symbolic and not claim.exact:
            end = 2 ** (claim.bits - 1)
            goals.append((f"in {claim.bits} bits", z3.And(*[z3.And(-end <= x, x < end) for x in self.seen])))
        done = self.outcome(text, goals)
        return done._replace(how=done.how.replace("quotients of what is not below 0, ", "")) if done.proved else done

    def sizes(self) -> Iterator[str]:
        """The names that are no coordinates: of the function, and of the layout where the function has no need of them."""
        yield from self.claim.function.parameters
        for x in (*self.claim.extents, *self.claim.strides, [*map(_tree, _starts(self.claim.layout))]):
            for t in x:
                yield from _names(t)
        for _relation, a, b in self.claim.function.requires:
            yield from _names(a)
            yield from _names(b)


def _names(t: Tree) -> Iterator[str]:
    if isinstance(t, str):
        yield t
    elif isinstance(t, tuple):
        for x in t[1:]:
            yield from _names(x)


def _same(z3: Any, x: Any, y: Any) -> bool:
    return bool(z3.is_int_value(d := z3.simplify(x - y, som=True)) and d.as_long() == 0)


class _BitVectors(_Values):
    """Terms of bits, as many as no value on the way leaves: each term comes with its range."""

    def __init__(self, claim: _Claim) -> None:
        super().__init__(claim)
        self.width = 0  # first ranges alone, to know how many bits; then terms

    def number(self, n: int) -> Any:
        return _Bits(self, self.z3.BitVecVal(n, self.width) if self.width else None, n, n)

    def digit(self, name: str, n: Any) -> Any:
        term: Any = self.z3.BitVec(name, self.width) if self.width else None
        if self.width:
            self.solver.add(term >= 0, term < n.term)
        return _Bits(self, term, 0, max(n.high - 1, 0))

    def operation(self, operation: str, x: Any, y: Any) -> Any:
        return _OPERATIONS[operation](x, y)

    def through(self, outer: Any, offset: Any) -> Any:
        if not isinstance(outer, Swizzle):
            return super().through(outer, offset)
        read = offset & self.number(outer.reads)
        return offset ^ (read >> self.number(outer.shift) if outer.shift >= 0 else read << self.number(-outer.shift))

    def witness(self, model: Any) -> dict[str, int]:
        wanted = {n: v for n, v in self.names.items() if n in self.claim.function.parameters}
        return {n: int(model.eval(v.term, model_completion=True).as_signed_long()) for n, v in wanted.items()}

    def both(self) -> tuple[Any, Any]:
        self.seen.clear()
        definition = self.offset(self.coordinates())
        kept = self.seen[:]
        self.seen.clear()
        value = self.returned()
        self.ranges = [definition, value, *kept, *self.seen]
        return definition, value

    def proof(self, text: str) -> Proof:
        self.both()
        most = max(max(abs(x.low), abs(x.high)) for x in (*self.ranges, *self.names.values()))
        self.width = max(most, 2).bit_length() + 2
        definition, value = self.both()
        goals = [(f"in bit vectors of {self.width} bits", definition.term == value.term)]
        if not self.claim.exact:
            end = 2 ** (self.claim.bits - 1)
            goals.append((f"in {self.claim.bits} bits", self.z3.And(*[x.within(-end, end) for x in self.seen])))
        return self.outcome(text, goals)


class _Bits(NamedTuple):
    """A term of bits, and the range of its values."""

    home: _BitVectors
    term: Any
    low: int
    high: int

    def _with(self, make: Callable[..., Any], other: Any, *ends: int) -> _Bits:
        made = _Bits(self.home, make(self.term, other.term) if self.home.width else None, min(ends), max(ends))
        self.home.seen.append(made)
        return made

    def within(self, low: int, high: int) -> Any:
        return self.home.z3.BoolVal(True) if low <= self.low and self.high < high else self.home.z3.And(self.term >= low, self.term < high)

    def __add__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x + y, other, self.low + other.low, self.high + other.high)

    def __sub__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x - y, other, self.low - other.high, self.high - other.low)

    def __mul__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x * y, other, *[a * b for a in (self.low, self.high) for b in (other.low, other.high)])

    def __and__(self, other: Any) -> _Bits:
        if self.low >= 0 or other.low >= 0:
            return self._with(lambda x, y: x & y, other, 0, max(self.high, other.high, 0) if self.low < 0 or other.low < 0 else self.high)
        return self._with(lambda x, y: x & y, other, *_around(self, other))

    def __xor__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x ^ y, other, *_around(self, other))

    def __or__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x | y, other, *_around(self, other))

    def __lshift__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x << y, other, self.low << other.high, self.high << other.high, self.low, self.high)

    def __rshift__(self, other: Any) -> _Bits:
        return self._with(lambda x, y: x >> y, other, self.low >> other.low, self.high >> other.low)

    def __floordiv__(self, other: Any) -> _Bits:
        if self.low < 0 or other.low != other.high or other.low <= 0:
            raise KeyError("a quotient of what may be below 0")
        return self._with(self.home.z3.UDiv, other, self.low // other.low, self.high // other.low)

    def __mod__(self, other: Any) -> _Bits:
        if self.low < 0 or other.low != other.high or other.low <= 0:
            raise KeyError("a remainder of what may be below 0")
        return self._with(self.home.z3.URem, other, 0, min(self.high, other.high - 1))


def _around(x: _Bits, y: _Bits) -> tuple[int, int]:
    """The ends of what bits of two values can make."""
    bits = max(n.bit_length() for n in (x.low, x.high, y.low, y.high))
    return (0 if x.low >= 0 and y.low >= 0 else -(1 << bits)), (1 << bits) - 1


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x // y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "&": lambda x, y: x & y,
    "^": lambda x, y: x ^ y,
    "|": lambda x, y: x | y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
}
