"""A reader of text from outside: tokens one ahead, places, limits, and the words of refusals. A grammar is
a subclass of `Reader`.

The time is linear by construction: a token is matched where the one before it ends, once; blanks, which may hold
comments, are matched apart from tokens; and rules go forward only. Nothing that is read is evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from .arrays import INT64_MAX, INT64_MIN, int64_of
from .cache import compiled
from .errors import LeafTypeError, ParseError
from .on_demand import OnDemand

if TYPE_CHECKING:
    import difflib
else:  # only what refuses a name looks for the nearest one
    difflib = OnDemand("difflib")

R = TypeVar("R")

#: A longer text is refused [characters].
MAX_TEXT = 2**20
_STRAY = r"(?s)[A-Za-z0-9_.+-]+|."


class Reader:
    """A text and the next token in it. A subclass says what its tokens are, and has a function for each rule
    of its grammar.

    tokens      the form of a token; none begins with a blank
    blank       what may stand between tokens
    noun        what a text is called, with its article
    example     what a text looks like: the fix where a rule has none of its own
    max_depth   brackets inside of each other, deeper than this, are refused
    trailing    whether a comma may stand before a closing bracket

    token       the next token; "" at the end of the text, and where no token begins
    at, after   where it begins and ends [characters]

    >>> class Sizes(Reader):
    ...     tokens, noun, example = r"-?[0-9]+|[(),]", "a shape", "write (4,2)"
    ...     def shape(self):
    ...         return self.listed("()", self.shape) if self.token == "(" else self.integer("an integer or '('")
    >>> Sizes("(4, (2, 3))").shape()
    [4, [2, 3]]
    >>> Sizes("(4, x)").shape()
    Traceback (most recent call last):
    tla.core.errors.ParseError: unexpected 'x', at position 4
        (4, x)
            ^
      expected  an integer or '('
      fix       write (4,2)
    """

    tokens: ClassVar[str]
    noun: ClassVar[str]
    example: ClassVar[str]
    blank: ClassVar[str] = r"[ \t\n\r\f\v]*"
    max_depth: ClassVar[int] = 64
    trailing: ClassVar[bool] = False

    def __init__(self, text: str, start: int = 0) -> None:
        self.text: str = self.checked(text)
        self.after, self.depth = start, 0
        self._match, self._skip = compiled(self.tokens).match, compiled(self.blank).match
        self.advance()

    @classmethod
    def checked(cls, text: Any) -> str:
        """`text`, if it is one, and not too long."""
        if not isinstance(text, str):
            raise LeafTypeError(f"{cls.noun} of type {type(text).__name__}", "a text", cls.example)
        if len(text) > MAX_TEXT:
            raise ParseError(
                text, MAX_TEXT, f"{cls.noun} of {len(text):,} characters", f"{MAX_TEXT:,} at most", "give a part of it"
            )
        return text

    def whole(self, rule: Callable[[], R]) -> R:
        """The value that a rule reads; nothing may stand behind it."""
        value = rule()
        self.end()
        return value

    # ------------------------------------------------------------------------------------------------ tokens

    def advance(self) -> None:
        """Go on to the next token."""
        found = self._match(self.text, self.after)
        if not found:
            self.at = self._skip(self.text, self.after).end()  # type: ignore[union-attr]  # it matches the empty text too
            found = self._match(self.text, self.at)
            if not found:
                self.token, self.after = "", self.at
                return
        self.token = found[0]
        self.at, self.after = found.span()

    def go_to(self, place: int) -> None:
        """Go on to the first token from a place on: another grammar has read as far as that."""
        self.after = place
        self.advance()

    def next(self) -> str:
        """The token that stands here, which is taken."""
        token = self.token
        self.advance()
        return token

    def take(self, token: str) -> bool:
        """Go past this token, if it is the next."""
        if self.token != token:
            return False
        self.advance()
        return True

    def expect(self, token: str, where: str = "", fix: str = "") -> None:
        """Go past this token; anything else is refused. where: what the token is there for, for the error."""
        if not self.take(token):
            self.unexpected(f"{token!r} {where}".rstrip(), fix)

    def end(self) -> None:
        """Refuse what stands behind the value."""
        if self.at < len(self.text):
            self.unexpected("the end of the text")

    # ------------------------------------------------------------------------------------------------- rules

    def integer(self, expected: str, least: int = INT64_MIN) -> int:
        """An integer of 64 bits, from `least` on."""
        token = self.token
        if not (token.isascii() and token.removeprefix("-").isdecimal()):
            self.unexpected(expected)
        value = int64_of(token)
        if value is None:
            self.fail(f"{token:.24} does not fit in 64 bits", f"{INT64_MIN} to {INT64_MAX}", "use a smaller one")
        if value < least:
            self.fail(f"{expected}: {value}", f"{least} or more")
        self.advance()
        return value

    def word(self, words: Collection[str], kind: str, given: Collection[str] = ()) -> str:
        """One of the words that a grammar knows, and not one of those that are given already. kind: what they
        are, for errors."""
        word = self.token
        if word not in words:
            self.unexpected(f"{kind}: {', '.join(words) or 'none'}", write_nearest(word, words))
        if word in given:
            self.fail(f"{word!r} is given twice", f"{kind} once", "leave one of the two out")
        self.advance()
        return word

    def listed(self, brackets: str, read: Callable[[], R], what: str = "", empty: bool = True) -> list[R]:
        """The values that `read` reads, between commas in a pair of brackets. what: they are, for errors; empty: there
        may be none."""
        close = brackets[1] if empty else ""
        return self.enclosed(brackets, lambda: self.several(close, read), what, "',' or ")

    def enclosed(self, brackets: str, read: Callable[[], R], what: str = "", otherwise: str = "") -> R:
        """The value that `read` reads in a pair of brackets; `otherwise` may stand there too, for errors."""
        start, depth = self.at, self.depth
        if self.token != brackets[0]:
            self.unexpected(f"{brackets[0]!r}{what and f' and {what}'}")
        self.depth = self.deeper()
        self.advance()
        value = read()
        self.depth = depth
        if not self.take(brackets[1]):
            self.unexpected(f"{otherwise}{brackets[1]!r}", f"close the {brackets[0]!r} at position {start}")
        return value

    def deeper(self) -> int:
        """The depth inside of one bracket more, if that may be."""
        if self.depth >= self.max_depth:
            what = f"more than {self.max_depth} levels of brackets"
            self.fail(what, f"at most {self.max_depth}", "give the parts one by one")
        return self.depth + 1

    def part_from(self, at: int, read: Callable[[], R]) -> R:
        """The value that another reader reads of a part of the text; its errors show the place in the whole text."""
        try:
            return read()
        except ParseError as error:
            raise ParseError(self.text, at + error.position, *error.args[2:]) from None

    def several(self, close: str, read: Callable[[], R]) -> list[R]:
        """The values that `read` reads, between commas, as far as these go; none where `close` stands here."""
        out: list[R] = []
        while self.token != close or (out and not self.trailing):
            out.append(read())
            if not self.take(","):
                break
        return out

    # ---------------------------------------------------------------------------------------------- refusals

    def fail(self, what: str, expected: str, fix: str = "", at: int | None = None) -> NoReturn:
        """Refuse the text, at the next token or another place."""
        raise ParseError(self.text, self.at if at is None else at, what, expected, fix or self.example)

    def unexpected(self, expected: str, fix: str = "", at: int | None = None) -> NoReturn:
        """Refuse what stands here."""
        at = self.at if at is None else at
        found = self.token if at == self.at else ""
        found = found or getattr(compiled(_STRAY).match(self.text, at), "group", str)()
        self.fail(f"unexpected {found[:40]!r}" if found else "the text ends", expected, fix, at)


def nearest(word: str, known: Collection[str], least: float = 0.6) -> str:
    """The one of the known words that was meant by a misspelt one; nothing where none is near. least: 1 is the same
    word, 0 another one.

    >>> nearest("fp4padded", ["fp4Padded", "rank"]), nearest("order", ["rank"])
    ('fp4Padded', '')
    """
    return next(iter(difflib.get_close_matches(word[:80], known, 1, least)), "")


def write_nearest(word: str, known: Collection[str]) -> str:
    """The fix for a misspelt word; empty where no known word is near.

    >>> write_nearest("fp4padded", ["fp4Padded", "rank"])
    'write fp4Padded'
    """
    return (close := nearest(word, known)) and f"write {close}"


def closings(text: str) -> Mapping[int, int]:
    """The positions behind the parentheses that close those of a text, by the positions of these; those that
    stay open are left out.

    >>> closings("f(a(b)c)d(")
    {3: 6, 1: 8}
    """
    opened: list[int] = []
    found: dict[int, int] = {}
    for mark in compiled("[()]").finditer(text):
        if mark[0] == "(":
            opened.append(mark.start())
        elif opened:
            found[opened.pop()] = mark.end()
    return found
