"""Functions of elements as Gluon's text, of whole tiles.

Source: numpy's ufuncs; triton.experimental.gluon.language of Triton 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ..program import elements
from ..program.elements import Scalar, Value

#: numpy's function -> its text; operators' operands stand in brackets where they need any.
FUNCTIONS = {
    **{name: form for name, form in elements.FUNCTIONS.items() if re.fullmatch(r"-?\{0\}( \S+ \{1\})?", form)},
    "divide": "gl.div_rn({0}, {1})",
    "where": "gl.where({0}, {1}, {2})",
    "maximum": "gl.where(({0} >= {1}) | ({0} != {0}), {0}, {1})",  # a NaN stays, as of numpy's
    "minimum": "gl.where(({0} <= {1}) | ({0} != {0}), {0}, {1})",
    "fmax": "gl.maximum({0}, {1})",
    "fmin": "gl.minimum({0}, {1})",
    "absolute": "gl.abs({0})",
    "sqrt": "gl.sqrt_rn({0})",
    **{name: f"gl.{name}({{0}})" for name in ("exp", "exp2", "log", "log2", "sin", "cos", "floor")},
    **{name: f"libdevice.{name}({{0}})" for name in ("expm1", "log1p", "tanh", "rint")},
}
#: What several registers of a thread become one by.
REDUCTIONS = {"add": "gl.sum", "fmax": "gl.max", "fmin": "gl.min"}


def function_text(value: Value, operands: Sequence[str], named: Callable[[str], str]) -> str:
    """The text of a function of elements.

    operands   the texts of the elements
    named      gives a text a name: of what is used several times
    """
    uses: dict[int, int] = {}
    names: dict[int, str] = {}

    def count(v: Value) -> None:
        uses[id(v)] = uses.get(id(v), 0) + 1
        if uses[id(v)] == 1 and v.op not in "xn":
            for x in v.args:
                count(x)

    def text(v: Value, form: str, k: int) -> str:
        if v.op == "n":
            return str(v.args[0]) if isinstance(v.args[0], Scalar) else literal(v.args[0])
        if v.op == "x":
            return operands[int(v.args[0])]
        if id(v) not in names:
            made = FUNCTIONS[v.op]
            found = made.format(*(text(x, made, n) for n, x in enumerate(v.args)))
            if uses[id(v)] == 1 and form.count(f"{{{k}}}") == 1:
                return f"({found})" if is_operator(made) and is_operator(form) else found
            names[id(v)] = named(found)
        return names[id(v)]

    count(value)
    return text(value, "f({0})", 0)


def operands_in(value: Value) -> set[int]:
    """The numbers of the operands that a function uses."""
    if value.op in "xn":
        return {int(value.args[0])} if value.op == "x" else set()
    return {k for x in value.args for k in operands_in(x)}


def is_operator(form: str) -> bool:
    """Whether a text is an operator's, which stands in brackets inside of another."""
    return not form.endswith(")")


def literal(x: float) -> str:
    """A number as Python's text."""
    text = repr(float(x))
    return text if re.fullmatch(r"-?[\d.e+-]+", text) else f'float("{text}")'
