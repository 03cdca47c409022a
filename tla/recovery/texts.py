"""Texts of index expressions: which grammar reads one, and the names of its coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import ParseError, RangeError
from .c_program import CProgram
from .languages import LANGUAGES
from .latex_text import LatexFormula
from .mlir_memory import MlirText
from .python_text import PythonAddress
from .reading import Code

#: Names of coordinates that have an order of their own.
_ORDERS = (
    ("i", "j", "k", "l"),
    ("row", "col"),
    ("row", "column"),
    ("r", "c"),
    ("y", "x"),
    ("m", "n"),
    ("m", "k"),
    ("k", "n"),
)


_GRAMMARS: Mapping[str, type[CProgram | PythonAddress | MlirText | LatexFormula]] = {
    "c": CProgram,
    "python": PythonAddress,
    "mlir": MlirText,
    "latex": LatexFormula,
}


def read(text: str, language: str) -> Code:
    """An expression, a lambda, a function, statements or an affine map, read.

    >>> read("smem[(row / 8) * 512 + (col ^ row % 8)]", "cuda").names
    {'row': 6, 'col': 24}
    >>> read("affine_map<(d0, d1) -> (d0 floordiv 8 + d1)>", "mlir").parameters
    ('d0', 'd1')
    """
    return _GRAMMARS[LANGUAGES[language].grammar](text, language).code()


def _extents(count: int) -> str:
    return f"{count} extent{'s' * (count > 1)}"


def _unordered(found: tuple[str, ...], count: int) -> RangeError:
    """The error for names of a text of which it is not known which are the coordinates, or in what order."""
    usual = next((o[:count] for o in _ORDERS if len(o) >= count and {*o[:count]} <= {*found}), found[:count])
    others = [n for n in found if n not in usual]
    fix = f"write coords={','.join(usual)[:200]!r}, in the order of the extents"
    fix += f", and give the others values: values='{others[0]:.40}=64'" if others else ""
    return RangeError(f"the names {', '.join(found)[:200]} for {_extents(count)}", "the coordinates in order", fix)


def coordinates_of(code: Code, given: Sequence[str] | None, count: int, values: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the coordinates, in order: those that are given, the parameters, or those in the text if
    these have an order."""
    names = tuple(given) if given is not None else tuple(n for n in code.parameters if n not in values)
    found = tuple(n for n in code.names if n not in values and (n not in code.bases or n in names))
    if not names:
        numbered = all(re.fullmatch(r"\D+\d+", n) for n in found)
        orders = [
            o[:count] for o in _ORDERS if {*found} == {*o[:count]} or (o is _ORDERS[0] and {*found} <= {*o[:count]})
        ]
        names = found if len(found) <= 1 == count else next(iter(orders), ())
        if numbered and found:
            names = tuple(sorted(found, key=lambda n: (re.sub(r"\d", "", n), int(re.sub(r"\D", "", n)))))
        if len(names) != count and found:
            raise _unordered(found, count)
        names = tuple(names) if found else tuple(f"i{k}" for k in range(count))
    if len(names) != count:
        fix = f"give {_extents(len(names))}, or name as many coordinates as there are extents"
        raise RangeError(f"the coordinates {', '.join(names)[:200]} for {_extents(count)}", "an extent for each", fix)
    if twice := [n for n in names if names.count(n) > 1 or n in values]:
        what = f"the coordinate {twice[0]:.40} with two meanings"
        raise RangeError(what, "each name once, as a coordinate or a value", "give one of them another name")
    for name in found:
        if name not in names:
            fix = f"give it a value: values='{name[:40]}=64'"
            what, expected = f"{name[:40]}, which has no range", f"coordinates: {', '.join(names)[:200]}"
            raise ParseError(code.text, code.names[name], what, expected, fix)
    return names
