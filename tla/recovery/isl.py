"""Maps of isl, read: the index expression in Python's words, and the box that is its domain.

    map    = "{" "[" names "]" "->" "[" sum "]" ":" range { "and" range } "}"
    range  = side compare side [ compare side ]            0 <= i < 4: a name, and numbers
    sum    = [ "-" ] product { ( "+" | "-" ) product }
    product = ( integer [ atom ] | atom ) { "*" ( integer | atom ) }
    atom   = ( name | "(" sum ")" | "floor" "(" sum [ "/" integer ] ")" ) [ "mod" integer ]

Both quotients and remainders round down, as in isl. Source: the isl manual, "Sets and relations".
"""

from __future__ import annotations

from typing import NamedTuple

from ..core.cache import compiled
from ..core.reader import Reader

_COMPARED = ("<=", "<", ">=", ">")


class IslMap(NamedTuple):
    """A map of a box to one number. expression: in Python's words; names: its coordinates; shape: their extents,
    from 0 on"""

    expression: str
    names: tuple[str, ...]
    shape: tuple[int, ...]


def is_isl(text: str) -> bool:
    return bool(compiled(r"\s*\{\s*\[").match(text))


def read_isl(text: str) -> IslMap:
    """A map of isl, read.

    >>> read_isl("{ [i, j] -> [8i + floor((j)/4) + (j mod 4)] : 0 <= i < 4 and j >= 0 and j <= 7 }")
    IslMap(expression='8*i + ((j)//4) + ((j%4))', names=('i', 'j'), shape=(4, 8))
    """
    reader = _IslReader(text)
    return reader.whole(reader.map)


class _IslReader(Reader):
    tokens = r"[0-9]+|[A-Za-z_]\w*|->|<=|>=|[][{}():,+*/<>-]"
    noun, example = "a map of isl", "write { [i, j] -> [8*i + j] : 0 <= i < 4 and 0 <= j < 8 }"

    def map(self) -> IslMap:
        self.expect("{")
        names = self.listed("[]", self.name, "names", empty=False)
        if len({*names}) < len(names):
            self.fail("a name that is given twice", "a name for each coordinate")
        self.names = {name: [0, -1] for name in names}
        self.expect("->", "and the value")
        values = self.listed("[]", self.sum, "one value", empty=False)
        if len(values) > 1:
            self.fail(f"a map to {len(values)} numbers", "one number, an offset", "give the map of each by itself")
        self.expect(":", "and the ranges of the coordinates")
        self.range()
        while self.take("and"):
            self.range()
        self.expect("}", "or 'and': a domain is a box, without exists and or")
        for name, (low, high) in self.names.items():
            if low != 0 or high < 0:
                self.fail(
                    f"{name} from {low} to {high}", "coordinates from 0 on, with an end", f"write 0 <= {name} < 8", 0
                )
        return IslMap(values[0], tuple(names), tuple(high + 1 for _low, high in self.names.values()))

    def name(self) -> str:
        if not (self.token[:1].isalpha() or self.token[:1] == "_") or self.token in (
            "floor",
            "mod",
            "and",
            "or",
            "exists",
        ):
            self.unexpected("a name")
        return self.next()

    def range(self) -> None:
        """One comparison or two: what they say of a name."""
        left = self.side()
        if self.token not in _COMPARED:
            self.unexpected("a comparison, such as 0 <= i < 4")
        while self.token in _COMPARED:
            compare, right = self.next(), self.side()
            self.bound(left, compare, right)
            left = right

    def side(self) -> str | int:
        negative = self.take("-")
        if not negative and not self.token[:1].isdecimal():
            return self.known()
        value = self.integer("a number")
        return -value if negative else value

    def bound(self, left: str | int, compare: str, right: str | int) -> None:
        if isinstance(left, int) and isinstance(right, str):
            left, right, compare = right, left, compare.translate({ord("<"): ">", ord(">"): "<"})
        if not isinstance(left, str) or not isinstance(right, int):
            self.fail("a range that is not of one name and a number", "0 <= i < 4", "give the map of a box")
        ends = self.names[left]
        if compare[0] == "<":
            end = right - (compare == "<")
            ends[1] = end if ends[1] < 0 else min(ends[1], end)
        else:
            ends[0] = max(ends[0], right + (compare == ">"))

    def known(self) -> str:
        at, name = self.at, self.name()
        if name not in self.names:
            self.fail(f"{name!r} is no coordinate", ", ".join(self.names), at=at)
        return name

    # ------------------------------------------------------------------------------------------------ expressions

    def sum(self) -> str:
        out = "-" + self.product() if self.take("-") else self.product()
        added = False
        while self.token in ("+", "-"):
            out, added = f"{out} {self.next()} {self.product()}", True
        self.added = added
        return out

    def product(self) -> str:
        if not self.token[:1].isdecimal():
            out = self.atom()
        else:
            out = str(self.integer("a number"))
            if self.token == "(" or (self.token[:1].isalpha() and self.token not in ("mod", "and")):
                out += f"*{self.atom()}"
        while self.take("*"):
            out += f"*{self.integer('a number') if self.token[:1].isdecimal() else self.atom()}"
        return out

    def atom(self) -> str:
        """A name, a bracket or a floor; a remainder is of these alone: 2*i mod 4 is 2*(i mod 4)."""
        if self.token == "(":
            out = f"({self.enclosed('()', self.sum)})"
        else:
            out = self.enclosed("()", self.quotient) if self.take("floor") else self.known()
        if self.take("mod"):
            out = f"({out}%{self.integer('a number', 1)})"
        return out

    def quotient(self) -> str:
        at, out = self.at, self.sum()
        if not self.take("/"):
            return out
        if self.added:  # isl divides the last term alone
            self.fail("a sum over a number without brackets", "floor((i + 1)/4)", "put brackets around the sum", at)
        return f"({out}//{self.integer('a number', 1)})"
