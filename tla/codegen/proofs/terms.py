"""Terms of z3: the values of emitted text, and of what it is to be, over integers without end.

A quotient by a size that is not known is led back to a digit by Euclid's uniqueness, x = d + n q with 0 <= d < n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.errors import LeafTypeError
from .claim import Claim, Proof
from .reading import COMPARED, Tree

#: A proof is given up after this [milliseconds].
PATIENCE = 3000


class Values:
    """The values of trees as terms of z3, and the claim in them."""

    if TYPE_CHECKING:  # what a kind of terms has to have

        def number(self, n: int) -> Any: ...
        def digit(self, name: str, n: Any) -> Any: ...
        def operation(self, operation: str, x: Any, y: Any) -> Any: ...
        def proof(self, text: str) -> Proof: ...

    def __init__(self, claim: Claim) -> None:
        try:
            import z3  # type: ignore[import-untyped,unused-ignore]
        except ImportError:
            raise LeafTypeError(
                "prove without z3", "the package z3-solver", "pip install 'tla-layouts[prove]'"
            ) from None

        self.z3, self.claim, self.names, self.seen = z3, claim, dict[str, Any](), list[Any]()
        self.solver = z3.Solver()
        self.solver.set("timeout", PATIENCE)
        self.digits: dict[str, int | None] = {}

    def value(self, t: Tree) -> Any:
        if isinstance(t, int):
            return self.number(t)
        if isinstance(t, str):
            return self.names[t]
        operands = [*map(self.value, t[1:])]
        found = self.compared(t[0], *operands) if t[0] in COMPARED else self.operation(t[0], *operands)
        self.seen.append(found)
        return found

    def compared(self, relation: str, x: Any, y: Any) -> Any:
        """A comparison; KeyError where this kind of terms has none."""
        raise KeyError(f"{relation} of bits")

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

    def chained(self, digits: Sequence[Any], extents: Sequence[Any]) -> Any:
        total = digits[-1]
        for d, n in zip(reversed(digits[:-1]), reversed(extents[:-1])):
            total = d + n * total
        return total

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
        return {n: self.found(model, v) for n, v in self.names.items() if n in self.claim.function.parameters}

    def found(self, model: Any, value: Any) -> int:
        """The integer that a value is in a model."""
        return int(model.eval(value, model_completion=True).as_long())

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


class Integers(Values):
    """Terms over integers without end."""

    def __init__(self, claim: Claim) -> None:
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
            if operation != "//" and self.claim.bits:
                self.signs.append(x >= 0)  # C rounds to 0: the same where nothing is below 0
            q = self.quotient(x, n)
            return x - q * n if operation == "%" else q
        if known is None or known < 0:
            raise KeyError(f"{operation} by what is not known")
        if operation in ("<<", ">>"):
            return x * 2**known if operation == "<<" else self.quotient(x, self.number(2**known))
        below = known & -known
        above = known + below
        if (
            operation == "&" and known and above & known == 0
        ):  # a mask of bits side by side: what is left of x in between
            return self.quotient(x, self.number(below)) * below - self.quotient(x, self.number(above)) * above
        raise KeyError(f"{operation} of bits")

    def quotient(self, x: Any, n: Any) -> Any:
        """A quotient that is rounded down: a digit's, where x is a coordinate that is cut there; by a size else one
        that is named."""
        z3 = self.z3
        for whole, extent, q in self.euclid:
            if _same(z3, x, whole) and _same(z3, n, extent):
                return q
        if z3.is_int_value(n):
            return x / n
        q = z3.FreshInt("q")
        self.solver.add(z3.Implies(n > 0, z3.And(q * n <= x, x < q * n + n)))
        return q

    def compared(self, relation: str, x: Any, y: Any) -> Any:
        z3 = self.z3
        if relation in ("&&", "and"):
            if not (z3.is_bool(x) and z3.is_bool(y)):
                raise KeyError(f"{relation} of integers")
            return z3.And(x, y)
        if relation in ("min", "max"):
            return z3.If(x < y if relation == "min" else x > y, x, y)
        return x < y if relation == "<" else x <= y if relation == "<=" else x == y if relation == "==" else y % x == 0

    def proof(self, text: str) -> Proof:
        claim, z3 = self.claim, self.z3
        self.names |= {n: z3.Int(n) for n in (*claim.function.parameters, *claim.names())}
        for relation, a, b in claim.facts:
            if relation == "divides" and isinstance(b, str):  # a size in units of what divides it
                self.names[b] = self.value(a) * z3.Int(f"{b} in {a}")
        for relation, a, b in claim.facts:
            x, y = self.value(a), self.value(b)
            self.solver.add(x <= y if relation == "<=" else y == x * z3.FreshInt("q"))
        digits = self.coordinates()
        definition = claim.definition(self, digits)
        self.seen.clear()
        value = self.returned()
        if z3.is_bool(definition) != z3.is_bool(value):
            raise KeyError("a value of another kind")
        goals = [("quotients of what is not below 0", z3.And(*self.signs))] if self.signs else []
        equal = definition == value
        if not z3.is_bool(value):
            equal = z3.simplify(definition - value, som=True, som_blowup=1000) == 0
        goals.append(("over integers", equal))
        if not claim.symbolic and claim.bits:
            end = 2 ** (claim.bits - 1)
            goals.append(
                (f"in {claim.bits} bits", z3.And(*[z3.And(-end <= x, x < end) for x in self.seen if not z3.is_bool(x)]))
            )
        done = self.outcome(text, goals)
        return done._replace(how=done.how.replace("quotients of what is not below 0, ", "")) if done.proved else done


def _same(z3: Any, x: Any, y: Any) -> bool:
    return bool(z3.is_int_value(d := z3.simplify(x - y, som=True)) and d.as_long() == 0)
