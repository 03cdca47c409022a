"""The grammar of an expression of the C family: casts, addresses, elements of arrays, calls of functions that
the text has."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeVar

from ..codegen.proofs.reading import Tree
from .languages import SIZES, UNSIGNED, WORK_ITEMS, kind_of
from .macros import expanded
from .reading import NAME, NUMBER, OPERATORS, Address, Call, Op

T = TypeVar("T")

_CAST = re.compile(r"\(\s{0,9}((?:[A-Za-z_][\w:]*\s{1,9}){0,9}[A-Za-z_][\w:]*)\s{0,9}(\*?)\s{0,9}\)")
_TEMPLATE = re.compile(r"<\s{0,9}((?:[\w:]+\s{1,9}){0,9}[\w:]+)\s{0,9}(\*?)\s{0,9}>")
_FIXED = re.compile(r"\[\s{0,9}([0-9]{1,9})\s{0,9}\]\s{0,9}")
_AXIS, _NONE = re.compile(r"\(\s*([0-2])\s*\)"), re.compile(r"\(\s*\)")
#: A name of C: a member behind a pointer, too.
_NAME = NAME.replace(r"(?:::|\.)", r"(?:::|\.|->)")
#: Calls that read what is at an address.
_LOADS = ("__ldg", "__ldcs", "__ldcg", "__ldca")


class TemplateParameter(NamedTuple):
    """A parameter of a template: its name in the table of values, "" for a type; what it is where none is
    given; its integers."""

    name: str
    default: Tree | None
    kind: str


class Routine(NamedTuple):
    """A function of the text: its parameters, which of them are pointers, its steps, its value, and how
    many operations it has.

    reads    whether it returns an element of memory: then its value is where that stands
    """

    parameters: tuple[str, ...]
    pointers: frozenset[str]
    template: tuple[TemplateParameter, ...]
    steps: tuple[tuple[str, Tree | Call], ...]
    value: Tree | Call
    operations: int
    reads: bool


class CExpression(Address):
    """The grammar of an expression in C, C++, CUDA, HIP and OpenCL.

    scope      names that the text declares -> what their values are called: "x 3" is the x of the third block
    arrays     arrays that it declares -> their extents
    pointers   those of these values that are addresses
    parameters, recast  those of these that are parameters, and those of them that count in elements of another type
    bases      names of memory: an address is counted from there
    """

    tokens = rf"{_NAME}|{NUMBER}|\+\+|--|&&|\|\||{OPERATORS}".replace("|//|", "|")
    separator = "'"

    def __init__(self, text: str, language: str) -> None:
        self.scope: dict[str, str] = {}
        self.arrays: dict[str, list[Tree]] = {}
        self.pointers: set[str] = set()
        self.parameters: set[str] = set()
        self.recast: set[str] = set()

        self.kinds: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self.routines: dict[str, Routine] = {}
        self.recast_at = -1
        super().__init__(expanded(self.checked(text)), language)

    def kind(self, words: str) -> str:
        """The integers of a type, those that the text names too."""
        last = words.split()[-1:]
        return self.types.get(last[0], "") if last and last[0] in self.types else kind_of(words)

    def kind_called(self, name: str) -> str:
        return self.kind(name)

    def of_kind(self, kind: str, value: Tree | Call, at: int) -> Tree | Call:
        return self.tree(Op(f"as {kind}", at), value) if kind else value

    def operation(self) -> str:
        if self.recast_at >= 0:
            self.two_types(self.recast_at)
        return super().operation()

    def two_types(self, at: int) -> NoReturn:
        self.fail("an address in elements of two types", "one type", "write the offset in elements of one", at)

    # ---------------------------------------------------------------------------------------------- operands

    def operand(self) -> Tree:
        at, token, first = self.at, self.token, self.at == self.began
        if token in ("++", "--"):
            self.side_effect()
        if token == "not":
            self.unexpected("an operand", "write ! for not")
        if token == "/" and self.text[at - 1 : at] == "/":
            fix = "write / for a quotient, or leave the remark out; where // rounds down, say language='python'"
            self.fail("//, which begins a remark in C's family", "an operand", fix, at - 1)
        if token in ("&", "*") and first:
            return self.address()
        if token == "(" and (found := _CAST.match(self.text, at)) and found[1] not in {*self.scope, *self.seen}:
            if found[2] and first:
                self.go_to(found.end())
                return self.pointer(self.opened_operand, at)
            if not found[2] and (kind := self.kind(found[1])):
                self.go_to(found.end())
                return self.tree(Op(f"as {kind}", at), self.inside(self.operand))
        if token == "(" and first:
            return self.indexed(self.parenthesis())
        return super().operand()

    def opened_operand(self) -> Tree:
        """An operand that is an address as well as the expression around it."""
        self.began = self.at
        return self.inside(self.operand)

    def parenthesis(self) -> Tree:
        """An expression in parentheses, which is an address as well as the expression around it."""
        return self.enclosed("()", self.beginning)

    def beginning(self) -> Tree:
        self.began = self.at
        return self.expression()

    def address(self) -> Tree:
        """`&smem[...]`, the address of an element, or `*p`, what is at an address."""
        at, read = self.at, self.next() == "*"
        value = self.based(self.opened_operand())
        if read:
            self.read_at, self.recast_at = at, -1
        elif self.read_at < 0:
            self.fail("& of what is not in memory", "an element of memory, as in &smem[i]", "leave the & out", at)
        else:
            self.read_at = -1
        return value

    def pointer(self, read: Callable[[], Tree], at: int) -> Tree:
        """An address as one of another type: the memory itself, or whole, with nothing added behind it."""
        value = self.based(read())
        self.require_unread()
        if isinstance(value, str) and value in self.parameters:
            self.recast.add(value)
        elif not (isinstance(value, str) and value in self.bases):
            self.recast_at = at
        return self.indexed(value)

    def indexed(self, value: Tree) -> Tree:
        """An address and the index behind it."""
        if self.token != "[" or self.read_at >= 0:
            return value
        at, recast_at, self.recast_at = self.at, self.recast_at, -1
        index = self.enclosed("[]", self.expression)
        if recast_at >= 0 and index != 0:
            self.two_types(recast_at)
        value = self.based(value)
        self.read_at = at
        return value if index == 0 else self.tree(Op("+", at), value, index)

    # ------------------------------------------------------------------------------------------------- words

    def number(self) -> Tree:
        """An integer, as C has it: int, or what holds it; of base 16, 8 or 2 without a sign too; or as
        its suffix says."""
        at, end, decimal = self.at, self.after, self.token[0] != "0"
        value = super().number()
        assert isinstance(value, int)
        has_suffix = self.at == end and re.fullmatch(r"(?i)u?(?:ll?|z)?|(?:ll?|z)u", self.token) and self.token
        suffix = self.next().lower() if has_suffix else ""
        wide, unsigned = bool({*suffix} & {*"lz"}) or value >= 2**32, "u" in suffix
        if unsigned or (not decimal and not wide and value >= 2**31):
            return self.tree(Op("as uint64" if wide else "as uint32", at), value)
        return self.tree(Op("as int64", at), value) if wide else value

    def of_zero(self, digits: str, at: int) -> int:
        """The integer of digits behind a 0: of base 8."""
        return int(digits, 8) if not digits.strip("01234567") and len(digits) < 30 else super().of_zero(digits, at)

    def word_here(self) -> Tree:
        at, first = self.at, self.at == self.began
        name = self.name()
        if name in ("static_cast", "reinterpret_cast", "const_cast") and (found := _TEMPLATE.match(self.text, self.at)):
            return self.template_cast(found, first, at)
        if name in _LOADS and first:
            value = self.based(self.parenthesis())
            self.read_at = at
            return value
        if name == "sizeof":
            return self.size(at)
        if name in WORK_ITEMS and (found := _AXIS.match(self.text, self.at)):
            self.go_to(found.end())
            return self.free(f"{name}({found[1]})", at)
        if self.token == "<" and name in self.routines:
            return self.called(name, at, self.template_arguments())
        if name in ("Swizzle", "cute::Swizzle") and self.token == "<":
            return self.swizzled(at)
        typed = self.token == "<" and name.split("::")[-1] in ("min", "max")
        if typed and (found := _TEMPLATE.match(self.text, self.at)):
            return self.typed_call(name, found, at)
        if self.token == "(":
            return self.call(name, at)
        if self.token == "[":
            return self.element(name, at)
        if self.token in ("++", "--"):
            self.side_effect()
        if name in self.arrays:
            return 0
        return 1 if name == "true" else 0 if name == "false" else self.scope.get(name) or self.free(name, at)

    def free(self, name: str, at: int) -> str:
        """A name that the text does not declare."""
        super().free(name, at)
        if name.startswith(UNSIGNED) or name.partition("(")[0] in WORK_ITEMS:
            self.kinds[name] = "uint64" if "(" in name else "uint32"
        return name

    def template_cast(self, found: re.Match[str], first: bool, at: int) -> Tree:
        """`static_cast<int>(...)`, `reinterpret_cast<float4*>(...)`."""
        kind = self.kind(found[1])
        if (not kind and not found[2]) or (found[2] and not first):
            self.unexpected("a type of integers")
        self.go_to(found.end())
        if found[2]:
            return self.pointer(self.parenthesis, at)
        return self.tree(Op(f"as {kind}", at), self.enclosed("()", self.expression))

    def typed_call(self, name: str, found: re.Match[str], at: int) -> Tree:
        """`std::min<int>(a, b)`: each argument as that type."""
        kind = self.kind(found[1])
        if not kind or found[2]:
            self.unexpected("a type of integers")
        self.go_to(found.end())
        value = self.call(name, at)
        assert isinstance(value, tuple)
        return self.tree(value[0], *(self.tree(Op(f"as {kind}", at), part) for part in value[1:]))

    def size(self, at: int) -> Tree:
        """sizeof of a type that is known [bytes]."""
        found = _CAST.match(self.text, self.at)
        kind = found and self.kind(found[1])
        size = found and (
            8 if found[2] else SIZES.get(found[1].split("::")[-1]) or (kind and int(kind.strip("uintbol") or 8) // 8)
        )
        if not found or not size:
            self.unexpected("a type whose size is known", "write its size in bytes")
        self.go_to(found.end())
        return self.tree(Op("as uint64", at), size)

    def index(self, name: str) -> Tree:
        """The index behind a name: of an array by its extents, of a pointer counted from there."""
        if name not in self.arrays:
            at, value = self.at, super().index(name)
            if name in self.scope and self.scope[name] not in self.pointers:
                self.fail(
                    f"an index of {name:.40}, which is no address", "a pointer or an array", "declare it as one", at
                )
            return self.tree(Op("+", at), self.scope[name], value) if name in self.scope else value
        offset: Tree = 0
        for extent in self.arrays[name]:
            at, step = self.at, self.enclosed("[]", self.expression) if self.token == "[" else 0
            offset = self.tree(Op("+", at), self.tree(Op("*", at), offset, extent), step) if offset else step
        return offset

    def call(self, name: str, at: int) -> Tree:
        if name in self.routines:
            return self.called(name, at, [])
        if found := _NONE.match(self.text, self.at):  # lane_id(), coord.contiguous(): a name whose value is given
            self.go_to(found.end())
            return self.free(f"{name}()", at)
        return super().call(name, at)

    def element(self, name: str, at: int) -> Tree:
        """An element; strides[0] between other things is a name whose value is given."""
        found = _FIXED.match(self.text, self.at) if name not in {*self.scope, *self.arrays} else None
        if found and (at != self.began or self.text[found.end() :][:1] not in ("", ")", ";")):
            self.go_to(found.end())
            if self.token != "[":
                return self.free(f"{name}[{found[1]}]", at)
            self.data(name, at)
        return super().element(name, at)

    @property
    def tightest(self) -> int:
        """The level of operators in which < and > end a template's arguments."""
        return next(k for k, level in enumerate(self.levels) if "<" in level) + 1

    def template_arguments(self) -> list[Tree]:
        """`<8, true>`; of a type, 0."""
        given: list[Tree] = []
        self.expect("<")
        while self.token != ">":
            known = (kind_of(self.token) or self.token in SIZES) and self.token not in self.scope
            given.append(0 if known else self.inside(lambda: self.expression(self.tightest)))
            if known:
                self.advance()
            if not self.take(",") and self.token != ">":
                self.unexpected("',' or '>'")
        self.advance()
        return given

    def values_given(
        self, name: str, template: tuple[TemplateParameter, ...], given: list[Tree], at: int, call: str = ""
    ) -> list[tuple[TemplateParameter, Tree]]:
        """The parameters of a template that are integers, with what each is given or is by default. call: what stands
        behind the template, for errors."""
        if len(given) > len(template):
            what = f"{len(given)} parameters of the template {name:.40}"
            self.fail(what, f"at most {len(template)}", "leave some out", at)
        found = []
        for parameter, value in zip(template, [*given, *(t.default for t in template[len(given) :])]):
            if parameter.name and value is None:
                what = f"{parameter.name.rpartition(' ')[0]:.40} of the template {name:.40}, which has no value"
                self.fail(what, "a value for each parameter", f"write {name:.40}<8>{call}", at)
            if parameter.name and value is not None:
                found.append((parameter, value))
        return found

    def swizzled(self, at: int) -> Tree:
        """CuTe's `Swizzle<B, M, S>{}(offset)` and `Swizzle<B, M, S>::apply(offset)`."""
        numbers = self.template_arguments()
        if len(numbers) != 3 or not all(isinstance(n, int) and 0 <= n < 31 for n in numbers):
            what = "a Swizzle of other than three small integers"
            self.fail(what, "Swizzle<B, M, S>", "write it as in Swizzle<3, 4, 3>{}(offset)", at)
        for token in ("{", "}") if self.token == "{" else ("(", ")") if self.token == "(" else (":", ":", "apply"):
            self.expect(token)
        value = self.enclosed("()", self.expression)
        bits, base, shift = (n for n in numbers if isinstance(n, int))
        chosen = self.tree(Op("&", at), value, ((1 << bits) - 1) << (base + shift))
        return self.tree(Op("^", at), value, self.tree(Op(">>", at), chosen, shift))

    def called(self, name: str, at: int, template: list[Tree]) -> Tree:
        """A call of a function that the text has, with what its template is given."""
        routine = self.routines[name]
        if routine.reads:
            self.data(name, at)
        first = self.values_given(name, routine.template, template, at, "(...)")
        if found := _NONE.match(self.text, self.at):
            self.go_to(found.end())
        given = self.arguments([] if found else self.listed("()", self.expression), len(routine.parameters), name, at)
        for parameter, argument in zip(routine.parameters, given):
            if parameter in routine.pointers:
                self.based(argument)
            if parameter in self.recast and isinstance(argument, str) and argument in self.parameters:
                self.recast.add(argument)
            elif parameter in self.recast and argument not in self.bases:
                self.two_types(at)
        names = (*(t.name for t, _ in first), *routine.parameters)
        return self.call_of(routine, names, [*(value for _, value in first), *given], routine.value, at)


def qualified(name: str, known: dict[str, T], outer: dict[str, T]) -> dict[str, T]:
    """The names outside of a struct, with those in it as S::name."""
    return {**outer, **{f"{name}::{n}": value for n, value in known.items() if value is not outer.get(n)}}
