"""The exceptions of tla: each says what was given, what was expected, and how to fix it.

A reason is a value. The predicate that finds it, the exception that carries it and the test that reads it share it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, ParamSpec


class Reason(NamedTuple):
    """The reason of a refusal: what was given, what was expected, how to fix it.

    >>> print(Reason("tile 0 of (0,4)", "a positive integer", "drop that entry"))
    tile 0 of (0,4)
      expected  a positive integer
      fix       drop that entry
    """

    what: str
    expected: str
    fix: str

    def __str__(self) -> str:
        lines = [self.what]
        if self.expected:
            lines.append(f"  expected  {self.expected}")
        if self.fix:
            lines.append(f"  fix       {self.fix}")
        return "\n".join(lines)


P = ParamSpec("P")

#: A longer part of a message is cut [characters].
MOST = 1000


class Predicate(Generic[P]):
    """A question with a reason: `p(x)` is True, False, or None where that is not known; `p.why_not(x)` says why
    it is False.

    >>> from tla import is_injective, parse
    >>> is_injective(parse("(4,2):(1,3)"))
    False
    >>> print(is_injective.why_not(parse("(4,2):(1,3)")).what)
    (4,2):(1,3): the coordinates (3,0) and (0,1) share the offset 3
    """

    def __init__(self, decide: Callable[P, Reason | bool | None]) -> None:
        self._decide = decide
        functools.update_wrapper(self, decide)

    def __call__(self, *args: P.args, **options: P.kwargs) -> bool | None:
        answer = self._decide(*args, **options)
        return False if isinstance(answer, Reason) else answer

    def why_not(self, *args: P.args, **options: P.kwargs) -> Reason | None:
        """The reason that the answer is False; None where it is not."""
        answer = self._decide(*args, **options)
        return answer if isinstance(answer, Reason) else None

    def __repr__(self) -> str:
        return f"<predicate {self.__name__}>"  # type: ignore[attr-defined]  # update_wrapper gives it

    def __reduce__(self) -> str:
        return self.__name__  # type: ignore[attr-defined,no-any-return]


class TlaError(Exception):
    """Anything that tla refuses. Catch this one to catch them all.

    >>> raise RankError("2 coordinates for 3 modes", "3 coordinates", "give one per mode")
    Traceback (most recent call last):
    tla.core.errors.RankError: 2 coordinates for 3 modes
      expected  3 coordinates
      fix       give one per mode
    """

    #: The refusal as it was before an operation named the call of itself that answers: an operation around it has to
    #: name its own.
    unnamed: TlaError | None = None

    def __init__(self, what: str, expected: str, fix: str) -> None:
        super().__init__(what, expected, fix)
        self.reason = Reason(_shown(what), _shown(expected), _shown(fix))

    def __str__(self) -> str:
        return str(self.reason)


class LeafTypeError(TlaError, TypeError):
    """The kind of an argument is wrong: a float, a bool or a text where an integer belongs."""


def require_type(x: object, kinds: Any, what: str, expected: str, fix: str) -> None:
    """Refuse `what`, which ends before the name of a type, unless x is of one of some kinds.

    >>> require_type(3, str, "the text of type", "a text", "write '3'")
    Traceback (most recent call last):
    tla.core.errors.LeafTypeError: the text of type int
      expected  a text
      fix       write '3'
    """
    if not isinstance(x, kinds):
        raise LeafTypeError(f"{what} {type(x).__name__}", expected, fix)


class RankError(TlaError, ValueError):
    """Ranks or profiles do not fit each other: a coordinate and its shape, a shape and its stride."""


class RangeError(TlaError, ValueError):
    """An integer is out of its range: a negative extent, an index past the end, more than 64 bits."""


class DivisibilityError(TlaError, ValueError):
    """One integer had to divide another, and does not."""


class InjectivityError(TlaError, ValueError):
    """Two coordinates of a layout share an offset where none may."""


class Unproven(TlaError, ValueError):
    """A condition on integers that are not known could not be decided from what is known of them."""


class LoweringError(TlaError, ValueError):
    """An XLA shape that has no layout, or none that `tla.xla.lower` can give yet."""


class ParseError(TlaError, ValueError):
    """A text that its grammar does not allow. Shows the text with a caret under the place.

    text       the whole text
    position   offset of the offending character in `text` [characters]; len(text) means its end

    >>> raise ParseError("(_4,x)", 4, "'x' is not an integer", "a number like 4 or _4", "give x a value")
    Traceback (most recent call last):
    tla.core.errors.ParseError: 'x' is not an integer, at position 4
        (_4,x)
            ^
      expected  a number like 4 or _4
      fix       give x a value
    """

    def __init__(self, text: str, position: int, what: str, expected: str, fix: str) -> None:
        super().__init__(f"{_shown(what, MOST // 2)}, at position {position}\n{caret(text, position)}", expected, fix)
        self.args = (text, position, what, expected, fix)
        self.text, self.position = text, position


def _shown(part: str, most: int = MOST) -> str:
    """A part of a message as it is shown: a name of a megabyte is cut in the middle."""
    part = part if len(part) <= most else f"{part[: most // 2]}...{part[-most // 2 :]}"
    return printable(part, lines=True)


def caret(text: str, position: int) -> str:
    """The line of `text` around `position`, cut to some 60 characters, and a caret under the place."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    end = len(text) if end < 0 else end
    lo, hi = max(start, position - 30), min(end, position + 30)
    head, tail = ("..." if lo > start else ""), ("..." if hi < end else "")
    line = printable(text[lo:hi])  # each character is one column, so that the caret stands where it should
    return f"    {head}{line}{tail}\n    {' ' * (len(head) + position - lo)}^"


def printable(text: str, lines: bool = False) -> str:
    """A text from outside as it may be shown: a replacement character for all that a terminal obeys, or that turns the
    order of letters.

    lines   whether it may have several lines; else their ends are replaced, too

    >>> print(printable("a\\x1b[31m\\tb\\u202e"))
    a�[31m b�

    All that tla prints of a text that it was given passes here: errors, reports, titles of drawings. A character stays
    one character.
    """
    if text.isprintable():
        return text
    keep = {"\t": " ", "\n": "\n"} if lines else {"\t": " "}
    return "".join(c if c.isprintable() else keep.get(c, "\N{REPLACEMENT CHARACTER}") for c in text)
