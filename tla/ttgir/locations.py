"""The locations of MLIR: file, line and column, through names, calls and fusions."""

from __future__ import annotations

from ..core.cache import compiled
from .program import Source

#: Locations of more steps are cut short.
MAX_STEPS = 1000
_FILE = r'"((?:[^"\\]|\\.)*)":([0-9]{1,9}):([0-9]{1,9})'
_PART = rf"{_FILE}|#([A-Za-z_][A-Za-z0-9_]*)"


class Locations:
    """The locations of a text by their names.

    aliases    name -> text

    >>> known = Locations()
    >>> known.aliases |= {"loc1": 'loc("k.py":3:1)', "loc2": 'loc("x"(#loc1))', "loc3": 'loc(callsite("lib.py":9:2 at #loc2))'}
    >>> [str(s) for s in known.resolved("loc(#loc3)")]
    ['lib.py:9:2', 'k.py:3:1']
    """

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}
        self._known: dict[str, tuple[Source, ...]] = {}

    def resolved(self, text: str) -> tuple[Source, ...]:
        """The places of a location, the innermost function first: parts in the order of the text, names replaced by
        what they are."""
        if text not in self._known:
            self._known[text] = tuple(self._places(text))
        return self._known[text]

    def _places(self, text: str) -> list[Source]:
        found, waiting, seen = list[Source](), [text], set[str]()
        for _ in range(MAX_STEPS):
            if not waiting:
                break
            part, rest = waiting.pop(), list[str]()
            for match in compiled(_PART).finditer(part):
                if match[4] is None:
                    rest.append(match[0])
                elif match[4] not in seen and match[4] in self.aliases:
                    seen.add(match[4])
                    rest.append(self.aliases[match[4]])
            if len(rest) == 1 and (only := compiled(_FILE).fullmatch(rest[0])):
                found.append(Source(only[1], int(only[2]), int(only[3])))
            else:
                waiting += reversed(rest)
        return found
