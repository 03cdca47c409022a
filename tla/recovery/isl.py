"""Maps of isl, read: the index expression in Python's words, and the box that is its domain.

    map    = "{" [ name ] "[" names "]" "->" [ name ] "[" sum "]" ":" conditions "}"
    conditions = condition { "and" condition }
    condition  = sum compare sum { compare sum } | "exists" names ":" conditions | "exists" "(" names ":" conditions ")"
    names  = name [ "=" sum ] { "," name [ "=" sum ] }
    sum    = product { ( "+" | "-" ) product }
    product = { "-" } ( integer [ atom ] | atom ) { "*" ( integer | atom ) }, with one name at most
    atom   = ( name | "(" sum ")" | "floor" "(" sum [ "/" integer ] ")" ) [ "mod" integer ]

Both quotients and remainders round down, as in isl. A name in the value that is no coordinate, and those of exists,
have the values that the conditions leave (`isl_relations.py`). Source: the isl manual, "Sets and relations".
"""

from __future__ import annotations

from ..core.cache import compiled
from ..core.reader import Reader
from .isl_relations import Condition, Form, IslMap, Relation, added

_COMPARED = ("<=", "<", ">=", ">", "=")
_WORDS = ("floor", "mod", "and", "or", "exists")


#: A map's beginning, behind parameters, with tuples that may have names: `[N] -> { S[i, j] -> A[`.
_BEGINS = r"\s*(?:\[[^]]*\]\s*->\s*)?\{\s*(?:\[|[A-Za-z_]\w*\s*\[[^]]*\]\s*->\s*(?:\w+\s*)?\[)"


def is_isl(text: str) -> bool:
    return bool(compiled(_BEGINS).match(text))


def read_isl(text: str) -> IslMap:
    """A map of isl, read.

    >>> read_isl("{ [i, j] -> [8i + floor((j)/4) + (j mod 4)] : 0 <= i < 4 and j >= 0 and j <= 7 }")
    IslMap(expression='8*i + ((j)//4) + ((j)%4)', names=('i', 'j'), shape=(4, 8), values=())
    >>> read_isl("{ [i] -> [o0] : exists (e0 : 4e0 <= i <= 3 + 4e0 and o0 = i + 12e0) and 0 <= i < 16 }").expression
    '(i + 12*(-1*((3 + -1*i)//4)))'
    """
    reader = _IslReader(text)
    return reader.whole(reader.map)


class _IslReader(Reader):
    tokens = r"[0-9]+|[A-Za-z_]\w*|->|<=|>=|[][{}():,+*/<>=-]"
    noun, example = "a map of isl", "write { [i, j] -> [8*i + j] : 0 <= i < 4 and 0 <= j < 8 }"

    def of_tuple(self) -> None:
        """Leave out the name of a tuple, which says nothing of its numbers."""
        if self.token[:1].isalpha() or self.token[:1] == "_":
            self.advance()

    def map(self) -> IslMap:
        if self.token == "[":
            self.fail(
                "a map with parameters", "numbers alone", "write numbers for them, without what stands before '{'"
            )
        self.expect("{")
        self.of_tuple()
        names = self.listed("[]", self.name, "names")
        if not names:
            self.fail("a map of no coordinates", "one at least", "write { [i] -> [0] : 0 <= i < 1 }", 0)
        if len({*names}) < len(names):
            self.fail("a name that is given twice", "a name for each coordinate")
        self.relation = Relation(tuple(names), lambda what, expected, fix: self.fail(what, expected, fix, 0))
        self.expect("->", "and the value")
        self.of_tuple()
        self.new_names = True
        values = self.listed("[]", self.sum, "one value")
        self.new_names = False
        if len(values) != 1:
            self.fail(f"a map to {len(values)} numbers", "one number, an offset", "give the map of each by itself")
        self.expect(":", "and the ranges of the coordinates")
        self.conditions()
        self.expect("}", "or 'and': a domain is a box, without or")
        return self.relation.solved(values[0])

    def name(self) -> str:
        if not (self.token[:1].isalpha() or self.token[:1] == "_") or self.token in _WORDS:
            self.unexpected("a name")
        return self.next()

    def conditions(self) -> None:
        while True:
            if not self.take("exists"):
                self.comparison()
            elif self.token == "(":
                self.enclosed("()", self.existing)
            else:
                self.declared()
                continue
            if not self.take("and"):
                return

    def existing(self) -> None:
        self.declared()
        self.conditions()

    def declared(self) -> None:
        """Names that there are, some with their values, up to the colon."""
        while True:
            name = self.name()
            if name in self.relation.names or name in self.relation.unknown:
                self.fail(f"{name!r}, which is a name already", "another name")
            self.relation.unknown.append(name)
            if self.take("="):
                self.relation.conditions.append(Condition(added(self.sum(), {name: 1}, -1), True))
            if not self.take(","):
                break
        self.expect(":", "and the conditions")

    def comparison(self) -> None:
        """One comparison or more, side by side."""
        if self.token == "false":
            self.fail("a map without coordinates: false", "a box of coordinates", "write the map of a box", 0)
        left = self.sum()
        if self.token not in _COMPARED:
            self.unexpected("a comparison, such as 0 <= i < 4")
        while self.token in _COMPARED:
            compare, right = self.next(), self.sum()
            less, more = (left, right) if compare[0] == "<" else (right, left)
            form = added(more, less, -1)
            self.relation.conditions.append(
                Condition(added(form, {"": 1}, -1) if compare in ("<", ">") else form, compare == "=")
            )
            left = right

    def known(self) -> Form:
        at, name = self.at, self.name()
        if name not in self.relation.names and name not in self.relation.unknown:
            if not self.new_names:
                self.fail(f"{name!r} is no coordinate", ", ".join(self.relation.names), at=at)
            self.relation.unknown.append(name)
        return {name: 1}

    # ------------------------------------------------------------------------------------------------ sums

    def sum(self) -> Form:
        out = self.product()
        many = False
        while self.token in ("+", "-"):
            sign = 1 if self.next() == "+" else -1
            out, many = added(out, self.product(), sign), True
        self.added = many
        return out

    def product(self) -> Form:
        sign = 1
        while self.take("-"):
            sign = -sign
        if not self.token[:1].isdecimal():
            out = self.atom()
        else:
            out = self.number()
            if self.token == "(" or (self.token[:1].isalpha() and self.token not in ("mod", "and")):
                out = self.times(out, self.atom())
        while self.take("*"):
            out = self.times(out, self.number() if self.token[:1].isdecimal() else self.atom())
        return added({}, out, sign)

    def number(self) -> Form:
        n = self.integer("a number")
        return {"": n} if n else {}

    def times(self, a: Form, b: Form) -> Form:
        if {*a} - {""} and {*b} - {""}:
            self.fail("a product of two names", "a sum of multiples, as all maps of isl are", "multiply by a number")
        sum_, factor = (a, b) if {*a} - {""} else (b, a)
        return added({}, sum_, factor.get("", 0))

    def atom(self) -> Form:
        """A name, a bracket or a floor; a remainder is of these alone: 2*i mod 4 is 2*(i mod 4)."""
        if self.token == "(":
            out = self.enclosed("()", self.sum)
        else:
            out = self.enclosed("()", self.quotient) if self.take("floor") else self.known()
        if self.take("mod"):
            out = self.relation.quotient("%", out, self.integer("a number", 1))
        return out

    def quotient(self) -> Form:
        at, out = self.at, self.sum()
        if not self.take("/"):
            return out
        if self.added:  # isl divides the last term alone
            self.fail("a sum over a number without brackets", "floor((i + 1)/4)", "put brackets around the sum", at)
        return self.relation.quotient("//", out, self.integer("a number", 1))
