"""The offsets of an index expression at all coordinates, exactly as its language computes them, or refused with the place."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..core.arrays import computed, range_of
from ..core.errors import ParseError
from .reading import Code, Op

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class Evaluator:
    """The values of trees at all coordinates. What does not fit the integers is refused, as is a division by 0."""

    def __init__(self, code: Code, values: Mapping[str, Any], integer: str) -> None:
        low, high = range_of(integer)  # type: ignore[misc]
        self.code, self.values, self.integer = code, {**values}, integer
        self.least, self.most = (0 if code.unsigned else low), high

    def result(self) -> Any:
        for name, tree in self.code.steps:
            self.values[name] = self.of(tree)
        return self.of(self.code.value)

    def of(self, tree: Any) -> Any:
        """The values of a tree."""
        import numpy as np

        if isinstance(tree, int):
            return np.array(tree, np.int64)
        if isinstance(tree, str):
            return self.values[tree]
        op, operands = tree[0], [self.of(part) for part in tree[1:]]
        return self.held(op, self.computed(op, *operands))

    def computed(self, op: Op, *operands: Any) -> Any:
        import numpy as np

        first, second = operands[0], operands[-1]
        if op == "select":
            return np.where(first != 0, operands[1], second)
        if op in ("neg", "~", "not"):
            return computed(operator.sub, 0 if op == "neg" else -1, first) if op != "not" else (first == 0) + 0
        if op.startswith("as "):
            return self.cast(op, first)
        if op in ("both", "either"):
            return ((first != 0) & (second != 0) if op == "both" else (first != 0) | (second != 0)) + 0
        if op in ("and", "or"):  # Python's, which give one of the two
            return np.where(first != 0, second, first) if op == "and" else np.where(first != 0, first, second)
        if op == "mul24":
            self.require_24_bits(op, first, second)
            return computed(operator.mul, first, second)
        if op in _TESTS:
            return _TESTS[op](first, second) + 0
        if op in ("min", "max"):
            return (np.minimum if op == "min" else np.maximum)(first, second)
        if op in ("//", "%", "quot", "rem", "ceildiv", "ceil_div"):
            return self.divided(op, first, second)
        if op == "/":
            self.fail(op, "a quotient with a fraction", "an integer", "write // for one that rounds down")
        if op in ("<<", ">>") and not ((second >= 0) & (second < 63)).all():
            self.fail(op, f"a shift by {int(second.min())} to {int(second.max())}", "0 to 62 bits", "mask it")
        return computed(_PLAIN[op], first, second)

    def divided(self, op: Op, first: Any, second: Any) -> Any:
        """A quotient or a remainder."""
        import numpy as np

        if not (second != 0).all():
            self.fail(op, "a division by a value that may be 0", "a divisor that is never 0", "give coordinates where it is not")
        if op == "ceil_div" and ((first < 0).any() or (second < 0).any()):  # libraries differ there
            self.fail(op, "a quotient of negative values, rounded up", "values of 0 or more", "write what it computes")
        if op in ("ceildiv", "ceil_div"):
            return computed(operator.sub, 0, computed(operator.floordiv, computed(operator.sub, 0, first), second))
        if op in ("//", "%"):
            return computed(_PLAIN[op], first, second)
        quotient = computed(operator.floordiv, np.abs(first), np.abs(second))
        quotient = np.where((first < 0) != (second < 0), computed(operator.sub, 0, quotient), quotient)
        return quotient if op == "quot" else computed(operator.sub, first, computed(operator.mul, quotient, second))

    def require_24_bits(self, op: Op, *factors: Any) -> None:
        """Require factors that CUDA's and OpenCL's product of 24 bits takes whole."""
        for x in factors:
            if int(x.min()) < -(1 << 23) or int(x.max()) >= 1 << 23:
                self.fail(op, f"a factor of {int(x.min())} to {int(x.max())}", "one of 24 bits", "write * for all bits")

    def cast(self, op: Op, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Values as another type of integers, which has to hold them."""
        low, high = range_of(op[3:])  # type: ignore[misc]
        if not low <= int(values.min()) <= int(values.max()) <= high:
            what = f"a cast of {int(values.min())} to {int(values.max())} to {op[3:]}"
            self.fail(op, what, "values that it holds", "cast to a wider type")
        return values

    def held(self, op: Op, values: Any) -> Any:
        """Values that the integers hold."""
        low, high = int(values.min()), int(values.max())
        if low < 0 <= self.least:
            self.fail(op, f"the value {low}, where integers without a sign are computed", "0 or more", "cast to a type with a sign first")
        if not self.least <= low <= high <= self.most:
            worst = low if low < self.least else high
            self.fail(op, f"the value {worst}, which {self.integer} does not hold", f"{self.least} to {self.most}", "say integer='int64'")
        return values

    def fail(self, op: Op, what: str, expected: str, fix: str) -> NoReturn:
        raise ParseError(self.code.text, getattr(op, "at", 0), what, expected, fix)


def table_of(code: Code, names: tuple[str, ...], shape: tuple[int, ...], values: Mapping[str, int], integer: str) -> npt.NDArray[np.int64]:
    """The offset of every coordinate of a shape, with an axis for each of these names."""
    import numpy as np

    axes = np.meshgrid(*(np.arange(n) for n in shape), indexing="ij", sparse=True)
    given = {name: np.array(int(v), np.int64) for name, v in values.items()}
    try:
        found = Evaluator(code, {**given, **dict(zip(names, axes))}, integer).result()
    except RecursionError:
        raise ParseError(code.text, 0, "an expression that is too deep", "a shorter one", "give its parts one by one") from None
    return np.broadcast_to(found, shape)
