"""The preprocessor of C, as far as an address needs it: comments and pragmas taken out, macros replaced
by their text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, NoReturn

from ..core.errors import ParseError

#: What changes no value, and is made blank: comments, attributes, and lines for other parts of the compiler. What is in
#: the last line behind an expression may be a quotient of Python, and is refused later.
_BLANK = re.compile(
    r"//[^\n]*(?=\n)|(?<=[;}\n])[ \t]*//[^\n]*\Z|/\*(?:[^*]|\*(?!/))*\*/"
    r"|^[ \t]*#[ \t]*(?:include|pragma|line)\b[^\n]*|\bextern[ \t]*\"C\""
    r"|\b__launch_bounds__[ \t]*\([^()]*\)|\b__attribute__[ \t]*\(\([^()]*(?:\([^()]*\)[^()]*)*\)\)"
    r"|\b(?:alignas|__align__)[ \t]*\([^()]*\)",
    re.MULTILINE,
)
_DEFINE = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)(\([\w \t,]*\))?((?:[^\n\\]|\\[^\n]|\\\n)*)$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_OPENED, _BRACKET = re.compile(r"\s*\("), re.compile(r"[(),]")
_WORD = re.compile(r"[A-Za-z_]\w*")
#: More replacements are refused, as is a text with macros that is longer, or grows so [replacements, characters].
_MOST, _LONGEST = 300, 1 << 16


class _Macro(NamedTuple):
    parameters: tuple[str, ...] | None
    body: str


def expanded(text: str) -> str:
    """A text without comments and directives, each macro replaced as C does. Without macros all stands where it stood.

    >>> expanded("#define AT(r, c) (r) * LD + (c) // a remark\\n#define LD 72\\nsmem[AT(i + 1, j)]").strip()
    'smem[(i + 1) * 72 + (j)]'
    """
    text = _BLANK.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    macros = {}
    for found in _DEFINE.finditer(text):
        parameters = None if found[2] is None else tuple(n.strip() for n in found[2][1:-1].split(",") if n.strip())
        macros[found[1]] = _Macro(parameters, found[3].replace("\\\n", " ").strip())
    text = _DEFINE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    if wrong := _DIRECTIVE.search(text):
        raise ParseError(
            text, wrong.start(), f"{wrong[0].strip():.40}", "C after its conditions", "give the branch that is compiled"
        )
    if macros and len(text) > _LONGEST:
        what = f"macros in a text of {len(text):,} characters"
        _fail(text, _LONGEST, what, f"{_LONGEST:,} at most", "give the part that it needs")
    return _replaced(text, macros) if macros else text


def _replaced(text: str, macros: Mapping[str, _Macro]) -> str:
    """A text, its macros replaced from the left. What replaces one is looked at again."""
    place, count = 0, 0
    while found := _WORD.search(text, place):
        macro = macros.get(found[0])
        called = macro is not None and macro.parameters is not None and _OPENED.match(text, found.end())
        end, given = _arguments(text, called.end()) if called else (found.end(), ())
        alone = macro is not None and macro.parameters is not None and not called
        if macro is None or alone or (found.start() and text[found.start() - 1].isalnum()):
            place = found.end()
            continue
        if macro.parameters is not None and len(given) != len(macro.parameters):
            what = f"{len(given)} arguments of the macro {found[0]:.40}"
            _fail(text, found.start(), what, str(len(macro.parameters)), "give it as many")
        if "#" in macro.body:
            what = f"the macro {found[0]:.40} with #"
            _fail(text, found.start(), what, "arithmetic of integers", "write what it stands for")
        values = dict(zip(macro.parameters or (), given))
        body = _WORD.sub(lambda word, values=values: values.get(word[0], word[0]), macro.body)  # type: ignore[misc]
        text, place, count = text[: found.start()] + body + text[end:], found.start(), count + 1
        if count > _MOST or len(text) > _LONGEST:
            what = f"the macro {found[0]:.40}, again and again"
            _fail(text, place, what, f"at most {_MOST} uses of macros", "write what it stands for")
    return text


def _arguments(text: str, start: int) -> tuple[int, tuple[str, ...]]:
    """The end of the arguments in parentheses from a place on, and the arguments."""
    depth, begin, given = 1, start, []
    for found in _BRACKET.finditer(text, start):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0 or (depth == 1 and found[0] == ","):
            given.append(text[begin : found.start()].strip())
            begin = found.end()
        if depth == 0:
            break
    if depth:
        _fail(text, start - 1, "arguments of a macro without an end", "')'", "close the parenthesis")
    return begin, tuple(given)


def _fail(text: str, place: int, what: str, expected: str, fix: str) -> NoReturn:
    raise ParseError(text, place, what, expected, fix)
