"""Texts of index expressions: which grammar reads one, and the names of its coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..codegen.proofs.reading import PythonFunction, Tree
from ..core.errors import ParseError, RangeError
from .c_program import CProgram
from .languages import LANGUAGES
from .reading import Address, Code, Op

#: Names of coordinates that have an order of their own.
_ORDERS = (("i", "j", "k", "l"), ("row", "col"), ("row", "column"), ("r", "c"), ("y", "x"), ("m", "n"), ("m", "k"), ("k", "n"))


class PythonAddress(Address, PythonFunction):
    """The grammar of Python, Triton, sympy's text and TVM's."""

    blank = r"(?:[ \t\r\n\f\v]|#[^\n]*\n)*"
    #: Whether it is a function, whose value may be a tuple: the coordinates of what an index map makes.
    maps = False

    def expression(self, least: int = 0) -> Tree:
        value = super().expression(least)
        if least or self.depth or not self.maps or self.token != ",":
            return value
        op, parts = self.named("results"), [value]
        while self.token:
            self.count()
            parts.append(super().expression())
            if not self.take(","):
                break
        return self.tree(op, *parts)

    def operand(self) -> Tree:
        if not self.maps or self.token not in ("(", "["):
            return super().operand()
        at, brackets = self.at, "()" if self.token == "(" else "[]"
        values = self.listed(brackets, self.expression)
        return self.tree(Op("results", at), *values) if len(values) > 1 or brackets == "[]" else self.passed(values[0])


class AffineAddress(Address):
    """The grammar of MLIR's affine expressions."""


def read(text: str, language: str) -> Code:
    """An expression, a lambda, a function, statements or an affine map, read.

    >>> read("smem[(row / 8) * 512 + (col ^ row % 8)]", "cuda").names
    {'row': 6, 'col': 24}
    >>> read("affine_map<(d0, d1) -> (d0 floordiv 8 + d1)>", "mlir").parameters
    ('d0', 'd1')
    """
    grammar = LANGUAGES[language].grammar
    Address.checked(text)
    if grammar == "c":
        return CProgram(text, language).code()
    kind: Any = AffineAddress if grammar == "mlir" else PythonAddress
    head = _HEADS[grammar].search(text)
    if head and head[0].startswith("def"):
        reader = kind(text, language, head.start(1))
        reader.maps = True
        found = reader.function(head[1])
        reader.end()
        steps = {*dict(found.steps)}
        free = {n: at for n, at in reader.seen.items() if n not in steps}
        return Code(text, language, found.steps, found.value, found.parameters, free, {})
    if not head:
        reader = kind(text, language)
        value = reader.expression()
        reader.take(";")
    else:
        reader = kind(text, language, head.end(2) - 1 if grammar == "mlir" else head.end())
        reader.maps = True
        values = reader.listed("()", reader.expression) if grammar == "mlir" else [reader.expression()]
        value = values[0] if len(values) == 1 else reader.tree(Op("results", head.end()), *values)
        reader.take(">")
    reader.end()
    parameters = tuple(n.strip() for n in head[1 if grammar == "mlir" else 2].split(",") if n.strip()) if head else ()
    return Code(text, language, (), value, parameters, reader.seen, {})


_HEADS = {
    "python": re.compile(r"\bdef\s+(\w+)\s*\(|\A\s*lambda\s+([\w, ]*):"),
    "mlir": re.compile(r"\(([\w, ]*)\)(?:\[[\w, ]*\])?\s*->\s*(\()"),
}


def coordinates_of(code: Code, given: Sequence[str] | None, count: int, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the coordinates, in order: those that are given, the parameters, or those in the text if these have an order."""
    names = tuple(given) if given is not None else tuple(n for n in code.parameters if n not in values)
    found = tuple(n for n in code.names if n not in values and (n not in code.bases or n in names))
    if not names:
        numbered = all(re.fullmatch(r"\D+\d+", n) for n in found)
        orders = [o[:count] for o in _ORDERS if {*found} == {*o[:count]} or (o is _ORDERS[0] and {*found} <= {*o[:count]})]
        names = found if len(found) <= 1 == count else next(iter(orders), ())
        names = tuple(sorted(found, key=lambda n: (re.sub(r"\d", "", n), int(re.sub(r"\D", "", n))))) if numbered and found else names
        if len(names) != count and found:
            fix = f"write coords={','.join(found)[:200]!r}, in the order of the extents"
            raise RangeError(f"the names {', '.join(found)[:200]} for {count} extents", "the coordinates in order", fix)
        names = tuple(names) if found else tuple(f"i{k}" for k in range(count))
    if len(names) != count:
        raise RangeError(
            f"the coordinates {', '.join(names)[:200]} for {count} extents", "an extent for each", f"give shape= {len(names)} extents"
        )
    if twice := [n for n in names if names.count(n) > 1 or n in values]:
        what = f"the coordinate {twice[0]:.40} with two meanings"
        raise RangeError(what, "each name once, as a coordinate or a value", "give one of them another name")
    for name in found:
        if name not in names:
            fix = f"give it a value: values={{{name[:40]!r}: 64}}"
            what, expected = f"{name[:40]}, which has no range", f"coordinates: {', '.join(names)[:200]}"
            raise ParseError(code.text, code.names[name], what, expected, fix)
    return names
