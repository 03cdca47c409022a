"""A place in a text that is read token by token: the start of every reader of texts from outside."""

from __future__ import annotations

import re

from ..core.errors import ParseError

#: Values nested deeper than this are refused.
MAX_DEPTH = 40


class Cursor:
    """A text, the form of its tokens, and how far it is read.

    >>> c = Cursor("a = 1", re.compile("[a-z]+|[0-9]+|="), "write it as a = 1")
    >>> c.next(), c.take("="), c.peek()
    ('a', True, '1')
    """

    def __init__(self, text: str, token: re.Pattern[str], fix: str) -> None:
        self.text, self.at, self._fix = text, 0, fix
        self._token = re.compile(rf"\s*({token.pattern})")

    def peek(self) -> str:
        """The next token; nothing where there is none."""
        found = self._token.match(self.text, self.at)
        return found[1] if found else ""

    def next(self) -> str:
        found = self._token.match(self.text, self.at)
        if not found:
            raise self.wrong("a word, a number, or a bracket")
        self.at = found.end()
        return found[1]

    def take(self, token: str) -> bool:
        """Go past this token, if it is the next."""
        if self.peek() != token:
            return False
        self.next()
        return True

    def need(self, token: str) -> None:
        if not self.take(token):
            raise self.wrong(f"'{token}'")

    def wrong(self, expected: str) -> ParseError:
        """The error for the text that stands here."""
        at = len(self.text) - len(self.text[self.at :].lstrip())
        found = self.text[at : at + 16].split("\n")[0]
        return ParseError(self.text, at, f"unexpected {found!r}" if found else "the text ends", expected, self._fix)

    def end(self) -> None:
        if self.text[self.at :].strip():
            raise self.wrong("the end of the text")
