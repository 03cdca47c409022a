"""The offsets of an index expression at all coordinates, exactly as its language computes them, or refused
with the place."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from ..codegen.proofs.reading import ARITHMETIC
from ..core.arrays import as_int64, computed, range_of
from ..core.errors import ParseError
from .languages import LANGUAGES, common, promoted
from .reading import Call, Code, Op
from .tables import MAX_OFFSETS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


#: Operations whose operands are not converted to the type of the result.
_AS_THEY_ARE = frozenset(("<<", ">>", "not"))


class Evaluator:
    """The values of trees at all coordinates, each with its integers. What these do not hold is refused, as is a
    division by 0.

    Integers without a sign compute modulo 2^32 or 2^64. A branch is asked only for the coordinates that take
    it: `mask` says which.
    """

    def __init__(self, code: Code, values: Mapping[str, Any], integer: str, names: tuple[str, ...] = ()) -> None:
        self.code, self.integer, self.names = code, integer, names
        self.c = LANGUAGES[code.language].grammar == "c"
        self.values = {name: (x, code.kinds.get(name) or self.kind_of_value(x)) for name, x in values.items()}
        self.mask: Any = None

    def result(self) -> Any:
        """The offset of the text."""
        try:
            self.take_steps(self.code.steps)
            return self.offset(self.code.value)
        except RecursionError:
            what = "an expression that is too deep"
            raise ParseError(self.code.text, 0, what, "a shorter one", "give its parts one by one") from None

    def take_steps(self, steps: Sequence[tuple[str, Any]]) -> None:
        for name, tree in steps:
            self.values[name] = self.of(tree)

    def offset(self, value: Any) -> Any:
        results = isinstance(value, tuple) and str(value[0]) == "results"
        found = self.row_major(*value) if results else self.of(value)[0]
        self.require_64_bits(Op("", 0), found)
        return as_int64(found)

    def row_major(self, op: Op, *parts: Any) -> Any:
        """The offset of coordinates that an index map makes: row by row in the least box from 0 that has
        all of them."""
        offset: Any = 0
        for part in parts:
            coordinate = self.of(part)[0]
            if (least := int(coordinate.min())) < 0:
                self.fail(op, f"the coordinate {least} of an index map", "0 or more", "add what it lacks")
            offset = computed(operator.add, computed(operator.mul, offset, int(coordinate.max()) + 1), coordinate)
            self.require_64_bits(op, offset)
        return offset

    def require_64_bits(self, op: Op, offsets: Any) -> None:
        if (most := int(offsets.max())) >= 2**63:
            self.fail(op, f"the offset {most}", "one below 2^63", "compute in integers with a sign")

    def kind_of_value(self, values: Any) -> str:
        """The integers of a name of which nothing is said."""
        low, high = range_of(self.integer)  # type: ignore[misc]
        return "" if not self.c else self.integer if low <= int(values.min()) <= int(values.max()) <= high else "int64"

    def of(self, tree: Any) -> tuple[Any, str]:
        """The values of a tree, and their integers: "" where any that hold them may be taken, as
        of Python's literals."""
        import numpy as np

        if isinstance(tree, int):
            # of one axis: of arrays without any numpy makes integers of Python
            return np.array([tree], np.int64), ("int32" if -(2**31) <= tree < 2**31 else "int64") if self.c else ""
        if isinstance(tree, str):
            return self.values[tree]
        if isinstance(tree, Call):
            return self.called(tree)
        op: Op = tree[0]
        parts = tree[1:]
        if op == "results":
            self.fail(op, "a tuple in the middle of an expression", "one integer", "return the tuple itself")
        if op == "extent":
            return self.extent(op, *parts)
        if op == "missing":
            self.require_none(op)
            return np.array([0]), "int32"
        if op in ("select", "both", "either"):
            return self.branched(op, *parts)
        operands, kinds = zip(*map(self.of, parts))
        if op.startswith("as "):
            return self.converted(op, operands[0], op[3:], kinds[0]), op[3:]
        kind = self.kind_of(op, kinds)
        if op not in _AS_THEY_ARE:
            operands = tuple(self.converted(op, x, kind, k) for x, k in zip(operands, kinds))
        values = self.computed(op, kind, *operands)
        kind = ("int32" if self.c else "") if op in TESTS or op == "not" else kind
        return self.held(op, values, kind), kind

    def kind_of(self, op: Op, kinds: tuple[str, ...]) -> str:
        """The integers that an operation computes in."""
        if op == "umulhi":
            return "uint32"
        if op in ("mul24", "umul24"):
            return "uint32" if op == "umul24" or "uint32" in kinds else "int32"
        kinds = tuple(map(promoted, kinds)) if self.c else kinds
        if op in ("<<", ">>") and kinds[0]:
            return kinds[0]
        kind = common(kinds[0], kinds[-1])
        if not self.c and kind.startswith("u") and any(k[:1] == "i" for k in kinds):
            self.fail(
                op, f"integers of {kinds[0]} and {kinds[-1]}", "both with a sign, or both without", "cast one of them"
            )
        return kind

    def extent(self, op: Op, name: str, count: Any) -> tuple[Any, str]:
        """The coordinate that a loop or an arange is: it has as many values as the text says."""
        import numpy as np

        passes = self.of(count)[0]
        least, most = int(passes.min()), int(passes.max())
        if not 1 <= least == most:
            shown = f"{least} to {most}" if least < most else str(most)
            self.fail(
                op, f"{shown} values of {name:.40}", "one number, 1 or more", "give values with which the text has one"
            )
        if name not in self.values:
            others = math.prod(self.values[n][0].size for n in self.names if n in self.values)
            if most * others > MAX_OFFSETS:
                what = f"{most * others:,} coordinates"
                self.fail(op, what, f"at most {MAX_OFFSETS:,}", "give values with which there are fewer")
            along = [1] * len(self.names)
            along[self.names.index(name)] = most
            self.values[name] = np.arange(most).reshape(along), self.code.kinds.get(name, "")
        elif (given := self.values[name][0].size) != most:
            fix = f"give {most} in shape=, or write that extent in the text"
            self.fail(op, f"{most} values of {name:.40} for an extent of {given}", "its extent", fix)
        return self.values[name]

    def require_none(self, op: Op) -> None:
        """Require that no coordinate comes to the end of a function."""
        if self.mask is None or self.mask.any():
            self.fail(
                op, "a function that ends without a value", "a return for all coordinates", "write one at its end"
            )

    def called(self, call: Call) -> tuple[Any, str]:
        """The value of a function that the text has."""
        given = [self.of(argument) for argument in call.arguments]
        for name, (value, kind) in zip(call.parameters, given):
            wanted = self.code.kinds.get(name, kind)
            self.values[name] = self.converted(call.op, value, wanted, kind), wanted
        self.take_steps(call.steps)
        return self.of(call.value)

    def branched(self, op: Op, condition: Any, *branches: Any) -> tuple[Any, str]:
        """A choice between two values, each of which is asked for only where it is taken; && and || are such
        choices of 0 and 1."""
        import numpy as np

        where = self.of(condition)[0] != 0
        first, second = branches if op == "select" else (branches[0], 0) if op == "both" else (1, branches[0])
        a, b = self.within(where, first), self.within(~where, second)
        if op != "select":
            return np.where(where, a[0] != 0, b[0] != 0) + 0, "int32"
        kind = self.kind_of(op, (a[1], b[1]))
        return np.where(where, self.converted(op, a[0], kind, a[1]), self.converted(op, b[0], kind, b[1])), kind

    def within(self, where: Any, tree: Any) -> tuple[Any, str]:
        """The values of a tree, asked for where a condition holds."""
        outer = self.mask
        self.mask = where if outer is None else where & outer
        values, kind = self.of(tree)
        values, self.mask = self.asked(values, 0), outer
        return values, kind

    def asked(self, values: Any, other: int) -> Any:
        """Values where they are asked for, and another elsewhere."""
        import numpy as np

        return values if self.mask is None else np.where(self.mask, values, other)

    def computed(self, op: Op, kind: str, *operands: Any) -> Any:
        import numpy as np

        first, second = operands[0], operands[-1]
        if op in ("neg", "~", "not"):
            return computed(operator.sub, 0 if op == "neg" else -1, first) if op != "not" else (first == 0) + 0
        if op in ("and", "or"):  # Python's, which give one of the two
            return np.where(first != 0, second, first) if op == "and" else np.where(first != 0, first, second)
        if op in ("mul24", "umul24"):
            self.require_24_bits(op, kind, first, second)
            return computed(operator.mul, first, second)
        if op == "umulhi":
            return computed(operator.floordiv, computed(operator.mul, first, second), 1 << 32)
        if op in TESTS:
            return TESTS[op](first, second) + 0
        if op in ("min", "max"):
            return (np.minimum if op == "min" else np.maximum)(first, second)
        if op in ("//", "%", "quot", "rem", "ceildiv", "ceil_div"):
            return self.divided(op, first, self.asked(second, 1))
        if op == "/":
            self.fail(op, "a quotient with a fraction", "an integer", "write // for one that rounds down")
        if op in ("<<", ">>"):
            second = self.asked(second, 0)
            bits = min(int((kind or self.integer).strip("uint")), 63)
            if not ((second >= 0) & (second < bits)).all():
                self.fail(
                    op, f"a shift by {int(second.min())} to {int(second.max())}", f"0 to {bits - 1} bits", "mask it"
                )
        return computed(ARITHMETIC[op], first, second)

    def divided(self, op: Op, first: Any, second: Any) -> Any:
        """A quotient or a remainder."""
        import numpy as np

        if not (second != 0).all():
            what = "a division by a value that may be 0"
            self.fail(op, what, "a divisor that is never 0", "give coordinates where it is not")
        if op == "ceil_div" and ((self.asked(first, 0) < 0).any() or (second < 0).any()):  # libraries differ there
            self.fail(op, "a quotient of negative values, rounded up", "values of 0 or more", "write what it computes")
        if op in ("ceildiv", "ceil_div"):
            return computed(operator.sub, 0, computed(operator.floordiv, computed(operator.sub, 0, first), second))
        if op in ("//", "%"):
            return computed(ARITHMETIC[op], first, second)
        quotient = computed(operator.floordiv, np.abs(first), np.abs(second))
        quotient = np.where((first < 0) != (second < 0), computed(operator.sub, 0, quotient), quotient)
        return quotient if op == "quot" else computed(operator.sub, first, computed(operator.mul, quotient, second))

    def require_24_bits(self, op: Op, kind: str, *factors: Any) -> None:
        """Require factors that CUDA's and OpenCL's product of 24 bits takes whole."""
        low, high = (0, 1 << 24) if kind == "uint32" else (-(1 << 23), 1 << 23)
        for x in (self.asked(x, 0) for x in factors):
            if int(x.min()) < low or int(x.max()) >= high:
                self.fail(op, f"a factor of {int(x.min())} to {int(x.max())}", "one of 24 bits", "write * for all bits")

    def converted(self, op: Op, values: Any, kind: str, given: str) -> Any:
        """Values as another type of integers: modulo 2^n, but where a language or a machine may do otherwise
        they have to fit."""
        if kind in ("", given):
            return values
        if kind == "bool":
            return (values != 0) + 0
        values = self.asked(values, 0)
        low, high = range_of(kind)  # type: ignore[misc]
        if low <= int(values.min()) <= int(values.max()) <= high:
            return values
        if not self.c or kind in ("int8", "int16"):
            what = f"a cast of {int(values.min())} to {int(values.max())} to {kind}"
            self.fail(op, what, "values that it holds", "cast to a wider type")
        return _wrapped(values, low, high)

    def held(self, op: Op, values: Any, kind: str) -> Any:
        """Values that their integers hold, those without a sign modulo 2^n."""
        values = self.asked(values, 0)
        least, most = range_of(kind or self.integer)  # type: ignore[misc]
        low, high = int(values.min()), int(values.max())
        if not least <= low <= high <= most and not kind.startswith("u"):
            what = f"the value {low if low < least else high}, which {kind or self.integer} does not hold"
            wider = "say integer='int64'" if self.integer == "int32" else "compute in wider integers"
            fix = wider if (kind or self.integer) == "int32" else "compute smaller values"
            self.fail(op, what, f"{least} to {most}", fix)
        return values if least <= low <= high <= most else _wrapped(values, least, most)

    def fail(self, op: Op, what: str, expected: str, fix: str) -> NoReturn:
        raise ParseError(self.code.text, getattr(op, "at", 0), what, expected, fix)


def _wrapped(values: Any, low: int, high: int) -> Any:
    """Values modulo the count of integers from low to high, between these."""
    remainder = computed(operator.mod, computed(operator.sub, values, low), high - low + 1)
    return computed(operator.add, remainder, low)


def table_of(
    code: Code, names: tuple[str, ...], shape: tuple[int, ...] | None, values: Mapping[str, int], integer: str
) -> npt.NDArray[np.int64]:
    """The offset of every coordinate, with an axis for each of these names. shape: their extents; None where the text
    says them all."""
    import numpy as np

    axes = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij", sparse=True) if shape is not None else []
    given = {name: np.array([int(v)], np.int64) for name, v in {**dict.fromkeys(code.bases, 0), **values}.items()}
    evaluator = Evaluator(code, {**given, **dict(zip(names, axes))}, integer, names)
    found = evaluator.result()
    return np.broadcast_to(found, shape or tuple(evaluator.values[name][0].size for name in names))
