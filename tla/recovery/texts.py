"""Texts of index expressions: which grammar reads one, and the names of its coordinates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..codegen.proofs.reading import PythonFunction, Tree
from ..core.errors import ParseError, RangeError
from .c_program import CProgram
from .languages import LANGUAGES
from .reading import Address, Code, Op, names_of

#: Names of coordinates that have an order of their own.
_ORDERS = (("i", "j", "k", "l"), ("row", "col"), ("row", "column"), ("r", "c"), ("y", "x"), ("m", "n"), ("m", "k"), ("k", "n"))


class PythonAddress(Address, PythonFunction):
    """The grammar of Python, Triton, sympy's text and TVM's."""

    blank = r"(?:[ \t\r\n\f\v]|#[^\n]*\n)*"
    #: Whether it is a function, whose value may be a tuple: the coordinates of what an index map makes.
    maps = False

    def __init__(self, text: str, language: str, start: int = 0) -> None:
        self.original = text
        self.bases: set[str] = set()
        self.aranges: dict[str, Tree] = {}
        super().__init__(_by_lines(text) if _ASSIGNS_LINE.search(text) and not start else text, language, start)

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

    def statements(self) -> Code:
        """Assignments, each on its line, and an expression; the value is what stands last."""
        steps: list[tuple[str, Tree]] = []
        free: dict[str, int] = {}
        value: Tree | None = None
        while self.take(";"):
            pass
        while self.token:
            self.read_at = -1
            found = _ASSIGNED.match(self.text, self.at)
            if found and found[2] and found[1] not in dict(steps):
                self.go_to(found.start(2))
                self.fail(f"a side effect: {found[2]}=", "an expression", "give the expression alone")
            self.go_to(found.end() if found else self.at)
            op = Op(self.language.means.get(found[2], found[2]), self.at) if found and found[2] else None
            self.began = self.at
            value = self.based(self.expression())
            free.update({n: at for n, at in self.seen.items() if n not in {**dict(steps), **free}})
            self.seen.clear()
            if found:
                if self.read_at >= 0:
                    self.data(self.text[self.read_at : self.at].partition("[")[0], self.read_at)
                steps.append((found[1], self.tree(op, found[1], value) if op else value))
                value = found[1]
            if self.token and not self.take(";"):
                break
            while self.take(";"):
                pass
            if self.token and not found:
                break
        self.end()
        if value is None:
            self.unexpected("an expression")
        bases = [n for n in self.bases if n in free]
        return Code(self.original, self.written, tuple(steps), value, self.by_axis(steps), free, {}, frozenset(bases), self.aranges)

    def based(self, value: Tree) -> Tree:
        """A sum of what may begin with a pointer: a name that ends with ptr is memory, and counts from there."""
        first = value
        while isinstance(first, tuple) and first[0] in ("+", "-") and len(first) == 3:
            first = first[1]
        if isinstance(first, str) and first.endswith(("ptr", "PTR", "Ptr")):
            self.bases.add(first)
        return value

    def call(self, name: str, at: int) -> Tree:
        """A call; `tl.arange(0, 64)` is a coordinate of its own."""
        if name.split(".")[-1] == "Piecewise":
            return self.pieces(at)
        if found := _PROGRAM.match(self.text, self.at) if name.split(".")[-1] in ("program_id", "num_programs") else None:
            self.go_to(found.end())
            self.seen.setdefault(f"{name}({found[1]})", at)
            return f"{name}({found[1]})"
        if name.split(".")[-1] != "arange":
            return super().call(name, at)
        given = self.listed("()", self.expression)
        if len(given) > 2 or given[:-1] not in ([], [0]):
            self.fail(f"{name}: {len(given)} arguments", "an arange from 0", "write tl.arange(0, 64), and add where it begins", at)
        name = f"arange{len(self.aranges)}"
        self.aranges[name], self.seen[name] = given[-1], at
        return name

    def pieces(self, at: int) -> Tree:
        """sympy's Piecewise((value, condition), ...)."""
        given = self.listed("()", lambda: self.listed("()", self.expression))
        value = self.tree(Op("missing", at))
        for piece in reversed(given):
            if len(piece) != 2:
                self.fail(f"{len(piece)} parts of a piece", "a value and a condition", "write (value, condition)", at)
            value = self.tree(Op("select", at), piece[1], piece[0], value)
        return value

    def by_axis(self, steps: Sequence[tuple[str, Tree]]) -> tuple[str, ...]:
        """The coordinates that are aranges, by their axes in x[:, None], else as they are written."""
        axes = {**self.axes}
        for name, tree in reversed(steps):
            if name in axes:
                axes.update({n: axes[name] for n in names_of(tree) if n not in axes})
        return tuple(sorted(self.aranges, key=lambda n: axes.get(n, "[").replace("None", "").find(":")))


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
    if not head and grammar == "python":
        return PythonAddress(text, language).statements()
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


def _by_lines(text: str) -> str:
    """A text of Python whose statements end with a semicolon instead of a line's end; all stands where it stood."""
    text = re.sub(r"#[^\n]*", lambda found: " " * len(found[0]), text)
    depth, parts, place = 0, [], 0
    for found in _BRACKET_OR_END.finditer(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(found[0], 0)
        if found[0] == "\n" and depth <= 0:
            parts += [text[place : found.start()], ";"]
            place = found.end()
    return "".join(parts) + text[place:]


_PROGRAM = re.compile(r"\(\s{0,9}(?:axis\s{0,9}=\s{0,9})?([0-2])\s{0,9}\)")
_BRACKET_OR_END = re.compile(r"[()\[\]\n]")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)[ \t]{0,99}(\+|-|\*|//|%|&|\||\^|<<|>>)?=(?!=)")
_ASSIGNS_LINE = re.compile(r"(?m)^[ \t]{0,99}[A-Za-z_]\w*[ \t]{0,99}=(?!=)")
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
