"""Expressions of C++ and the CuTe DSL, respelled in the grammar of this package; each character keeps its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...core.errors import TlaError
from ...core.on_demand import OnDemand
from ...notation.printed import is_foreign
from ...notation.text import parse
from . import prints
from .operations import CANONICAL, is_free

if TYPE_CHECKING:
    from ... import gpu
    from ...gpu.instructions import elements
else:  # most texts have no atom, and no element type of C++
    gpu, elements = OnDemand("tla.gpu"), OnDemand("tla.gpu.instructions.elements")

_STATIC = re.compile(r"\b(?:Int|C|_Int)\s*<\s*(-?[0-9]+)\s*>")
_PREFIX = re.compile(r"\b(?:(?:cute|cutlass|tla|gpu)(?:::|\.)(?=[A-Za-z_])|[GU]MMA::(?=Layout_))+")
_BOUND = re.compile(r"(\s*)((?:(?:static|constexpr|const|auto|using)\s+)*)([A-Za-z_]\w*\s*=(?!=))?")
_ATOM = re.compile(r"[A-Za-z_][A-Za-z0-9_:]*(?:<.*>)?(?:\{\})?")
#: What a print has in front: `sA : `, `tCrA: `; what stands behind it is a layout, a pointer or the print of
#: a kernel's value.
_LABEL = re.compile(r"(\s*)([A-Za-z_][\w.]*(?:\[\w*\])?)(\s*:)(?=\s*[^\s:])")
_EMPTY = re.compile(r"\{\s*\}")
_ELEMENT = re.compile(r"\b\w+_t\b")
_TOKEN = re.compile(r"\b([A-Za-z_]\w*)\s*([<(])|[<>()]")
_QUOTED = re.compile(r"(\s*)([\"'`])(.*)\2(\s*;?\s*)", re.DOTALL)
#: What has arguments in <> or (): how its name is written here, and the brackets.
_OPENED: dict[tuple[str, str], tuple[str, str]] = {
    **{(name, "<"): ("", "()") for name in ("Shape", "Stride", "Step", "Coord", "Tile", "IntTuple")},
    **{(name, "<"): (name, "()") for name in ("Layout", "ComposedLayout", "TiledMMA")},
    **{(name, "<"): (name, "[]") for name in ("Copy_Atom", "UniversalCopy")},
    ("Swizzle", "<"): ("Sw", "<>"),
    ("MMA_Atom", "<"): ("", "  "),
    ("decltype", "("): ("", "  "),
    ("print_layout", "("): ("", "  "),
    ("print", "("): ("", "  "),
}


def respelled(text: str) -> str:
    """A text of the same length, whose statements are of this grammar where only C++'s spelling kept them from it.

    >>> respelled("composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{})")
    'composition(     Sw<3,3,3>  , Layout(     (_8,_64),      (_64,_1))  )'
    >>> respelled("auto a = make_layout(Int<8>{})")
    '     a = make_layout(   _8   )'
    """
    out, at = list[str](), 0
    while at < len(text):
        label = _LABEL.match(text, at)
        first = label.end() if label else at
        first += len(text[first:]) - len(text[first:].lstrip())
        if n := prints.length(text[first:]):
            end = first + n
            out.append((_named(label) if label else text[at:first]) + text[label.end() if label else first : end])
        else:
            end = at + len(next(_statements(text[at:])))
            out.append(_statement(_labelled(text[at:end])))
        at = end
    return "".join(out)


def _labelled(text: str) -> str:
    """A statement whose label, as printf writes it in front of a layout or a pointer, is a name that is bound."""
    found = _LABEL.match(text)
    if not found or not (is_foreign(text[found.end() :]) or _colons(text[found.end() :])):
        return text
    return _named(found) + text[found.end() :]


def _named(label: re.Match[str]) -> str:
    """A label as a name that is bound; blanks of as many characters where it is none."""
    blank, name, colon = label.groups()
    is_name = name.isidentifier() and is_free(name)
    return f"{blank}{name}{colon[:-1]}=" if is_name else f"{blank}{' ' * len(name + colon)}"


def _colons(text: str) -> int:
    """The number of colons that stand in no bracket."""
    depth = count = 0
    for c in text:
        depth += (c in "([{<") - (c in ")]}>")
        count += c == ":" and depth == 0
    return count


def _statements(text: str) -> Iterator[str]:
    """The statements of a text, each with what ends it."""
    start = depth = 0
    for at, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == ";" or (c == "\n" and depth <= 0):
            yield text[start : at + 1]
            start = at + 1
    yield text[start:]


def _statement(text: str) -> str:
    bound = _BOUND.match(text)
    assert bound  # it matches the empty text too
    value = text[bound.end() :]
    value = value if _is_read(value.strip().rstrip(";")) else _value(value)
    return f"{bound[1]}{' ' * len(bound[2])}{bound[3] or ''}{value}"


def _value(text: str) -> str:
    if quoted := _QUOTED.fullmatch(text):
        text = f"{quoted[1]} {quoted[3]} {quoted[4]}"
    text = _PREFIX.sub(lambda m: " " * len(m[0]), text)
    text = _STATIC.sub(lambda m: f"_{m[1]}".rjust(len(m[0]) - 1) + " ", text)
    text = _ELEMENT.sub(lambda m: _padded(str(elements.CPP.get(m[0], m[0])), m[0]), text)
    return _EMPTY.sub(lambda m: " " * len(m[0]), _bracketed(text))


def is_atom(text: str) -> bool:
    """Whether a statement is an atom as the vendor's source writes it."""
    return bool(_ATOM.fullmatch(text)) and gpu.names.entry(text.partition("<")[0].rpartition("::")[2]) is not None


def _is_read(text: str) -> bool:
    """Whether a statement is read as it is: an atom, a layout of Triton's, or a print."""
    if is_atom(text):
        return True
    if not is_foreign(text):
        return False
    try:
        parse(text)
    except TlaError:
        return False
    return True


def _padded(name: str, place: str) -> str:
    """A name in the place of a longer one."""
    return name.rjust(len(place)) if len(name) <= len(place) else place


def _bracketed(text: str) -> str:
    """A text whose templates have the brackets of this grammar."""
    out, closers = [*text], list[tuple[str, str]]()
    for found in _TOKEN.finditer(text):
        bracket = found[2] or found[0]
        if bracket in ">)":
            if closers and closers[-1][0] == bracket:
                out[found.start()] = closers.pop()[1]
            continue
        name = found[1] or ""
        is_canonical = bracket == "<" and CANONICAL.fullmatch(name)
        spelled, pair = (name, "[]") if is_canonical else _OPENED.get((name, bracket), (name, ""))
        pair = pair or {"<": "<>", "(": "()"}[bracket]
        place = text[found.start() : found.end() - 1]
        out[found.start() : found.end()] = [*_padded(spelled, place), pair[0]]
        closers.append(({"<": ">", "(": ")"}[bracket], pair[1]))
    return "".join(out)
