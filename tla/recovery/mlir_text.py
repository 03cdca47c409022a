"""The grammar of MLIR: affine maps, and functions of the dialects arith, affine and index, as lists of operations.

A name stands without its %: the coordinates of `func.func @f(%i: i32, %j: i32)` are i and j. Of operations without a
sign, negative operands are refused.

Source: mlir.llvm.org, dialects affine, arith, builtin, func, gpu and index.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from ..codegen.proofs.reading import Tree
from ..core.reader import nearest
from .reading import NAME, NUMBER, Address, Call, Code, Op, names_of

_SIGNED = {
    **dict(
        zip(
            ("addi", "subi", "muli", "divsi", "remsi", "floordivsi", "ceildivsi"),
            ("+", "-", "*", "quot", "rem", "//", "ceildiv"),
        )
    ),
    **dict(zip(("shli", "shrsi", "andi", "ori", "xori", "minsi", "maxsi"), ("<<", ">>", "&", "|", "^", "min", "max"))),
}
_UNSIGNED = {"divui": "quot", "remui": "rem", "ceildivui": "ceildiv", "shrui": ">>", "minui": "min", "maxui": "max"}
_TESTS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_CASTS = ("index_cast", "index_castui", "extsi", "extui", "trunci", "casts", "castu")
KINDS = {"index": "int64", "i64": "int64", "i32": "int32", "i16": "int16", "i8": "int8", "i1": "bool"}
#: What a thread is told of itself: a name whose value is given, or a coordinate.
_REGISTER = re.compile(
    r"(gpu\.(?:thread_id|block_id|block_dim|grid_dim)) "
    r"+([xyz])|((?:gpu\.lane_id|nvvm\.read\.ptx\.sreg\.|rocdl\.work)[\w.]*)",
    re.ASCII,
)
#: What changes no value, behind an operation or instead of one.
_IGNORED = re.compile(
    r"#\w+ *= *loc\([^\n]*|cf\.assert\b[^\n]*|overflow<[\w, "
    r"]*>|attributes\s*\{[^{}]*\}|loc\([^()\n]*\)|\{[^{}%=\n]*=[^{}%\n]*\}"
)
_MAP = re.compile(r"(?:affine_map\s*<\s*)?\(([\w, ]*)\)\s*(?:\[([\w, ]*)\]\s*)?->\s*(?=\()")
_PREDICATES = ("eq", "ne", *(sign + test for sign in "su" for test in ("lt", "le", "gt", "ge")))
_MODULES, _FUNCTIONS, _RETURNS = (
    ("module", "gpu.module"),
    ("func.func", "gpu.func"),
    ("return", "func.return", "gpu.return"),
)
#: An operation with more values than this is refused.
_MOST_VALUES = 64
_APPLIED = {"affine.apply": "", "affine.min": "min", "affine.max": "max"}


#: Names of values, and their places.
Names: TypeAlias = "Sequence[tuple[str, int]]"
#: The scope, the steps and the suffix of names outside of a routine.
Outside: TypeAlias = "tuple[dict[str, str], list[tuple[str, Tree | Call]], str]"


class Routine(NamedTuple):
    """An affine map or a function of the text.

    parameters  what they are called where the routine is entered: "i 2" is the i of the second
    types       theirs
    dimensions  how many of them are coordinates; the others are the symbols of a map
    steps       what is computed on the way
    values      the results
    operations  how many it has
    """

    parameters: tuple[str, ...]
    types: tuple[str, ...]
    dimensions: int
    steps: tuple[tuple[str, Tree | Call], ...]
    values: tuple[Tree, ...]
    operations: int


class MlirProgram(Address):
    """The grammar of affine expressions and maps, of operations, and of functions of these.

    scope      names that have a value -> what their values are called
    types      those of these values
    routines   maps by #name, functions by @name
    """

    tokens = rf"->|%[\w.$-]+#[0-9]+|[%@#][\w.$-]+|{NAME}|{NUMBER}|[-+*(){{}}\[\]<>,:=?]"
    blank = r"(?:[ \t\r\n\f\v]|//[^\n]*(?:\n|\Z))*"
    noun, example = "a text of MLIR", "write affine_map<(i, j) -> (i * 64 + j)>, or a function of arith"

    def __init__(self, text: str, language: str) -> None:
        self.scope: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self.steps: list[tuple[str, Tree | Call]] = []
        self.routines: dict[str, Routine] = {}
        self.suffix, self.made = "", 0
        super().__init__(text, language)

    def code(self) -> Code:
        """The whole text: the value is that of the last map or function, else of an expression or
        the last operation."""
        value: Tree | None = None
        last: Routine | None = None
        modules = 0
        self.past_attributes()
        while self.token and (value is None or self.is_statement() or self.token == "}"):
            if self.token in _MODULES:
                modules += self.module()
            elif modules and self.take("}"):
                modules -= 1
            elif self.is_statement():
                last, value = None, self.statement()
            else:
                last = self.routine_here()
                value = None if last else self.expression()
            self.past_attributes()
        if modules:
            self.expect("}")
        self.end()
        coordinates = self.enter(last) if last else ()
        value = self.result(last) if last else value
        if value is None:
            self.unexpected("an expression")
        return Code(self.text, self.written, tuple(self.steps), value, coordinates, self.seen, {})

    def module(self) -> int:
        """The beginning of `module { ... }` or `gpu.module @m { ... }`: one more."""
        self.advance()
        if self.token[:1] == "@":
            self.advance()
        self.past_attributes()
        self.expect("{")
        return 1

    def is_statement(self) -> bool:
        """Whether an operation stands here."""
        return self.token[:1] == "%"

    def statement(self) -> Tree | None:
        """The name of an operation's value."""
        return self.operation_here()

    def enter(self, routine: Routine) -> tuple[str, ...]:
        """Go into a routine with names of its own as what it is given: its coordinates. A symbol that it does not use
        needs no value."""
        used = {*routine.parameters[: routine.dimensions], *(n for value in routine.values for n in names_of(value))}
        given = {n: n.partition(" ")[0] for n in routine.parameters if n in used}
        self.seen = {**dict.fromkeys(given.values(), 0), **self.seen}
        self.steps += [
            (n, self.of_type(given[n], kind, 0)) for n, kind in zip(routine.parameters, routine.types) if n in used
        ]
        self.steps += routine.steps
        return tuple(given[n] for n in routine.parameters[: routine.dimensions])

    def result(self, routine: Routine) -> Tree:
        """The value of a routine, or what an index map makes."""
        return routine.values[0] if len(routine.values) == 1 else self.tree(Op("results", 0), *routine.values)

    def past_attributes(self) -> None:
        """Go past what changes no value: attributes, places in the source, assertions."""
        while found := _IGNORED.match(self.text, self.at):
            self.go_to(found.end())

    def of_type(self, value: Tree | Call, kind: str, at: int) -> Tree:
        return self.tree(Op(f"as {KINDS[kind]}", at), value)

    # ---------------------------------------------------------------------------------------- maps, functions

    def routine_here(self) -> Routine | None:
        """A map with a name or without, or a function, if one stands here."""
        name = self.token
        if name[:1] == "#":
            self.advance()
            self.expect("=")
            self.routines[name] = self.affine_map()
            return self.routines[name]
        if name in _FUNCTIONS:
            return self.function()
        return self.affine_map() if _MAP.match(self.text, self.at) else None

    def affine_map(self) -> Routine:
        """`affine_map<(d0, d1)[s0] -> (d0 * s0 + d1)>`, or what stands in its brackets."""
        found = _MAP.match(self.text, self.at)
        if not found:
            self.unexpected("an affine map, such as affine_map<(i, j) -> (i * 64 + j)>")
        dimensions, symbols = ([n.strip() for n in (found[k] or "").split(",") if n.strip()] for k in (1, 2))
        whole = found[0][0] == "a"
        given = [(n, "index") for n in (*dimensions, *symbols)]
        outer, operations = self.begin(given, found.start(1)), self.operations
        parameters = tuple(self.scope.values())
        self.go_to(found.end())
        values = tuple(self.listed("()", self.expression, empty=False))
        if whole:
            self.expect(">")
        self.leave(outer)
        return Routine(parameters, ("index",) * len(given), len(dimensions), (), values, self.operations - operations)

    def function(self) -> Routine:
        """`func.func @f(%i: index, %j: i32) -> i32 { ... }`."""
        self.advance()
        if self.token in ("private", "public"):
            self.advance()
        name, at, operations = self.token, self.at, self.operations
        if name[:1] != "@":
            self.unexpected("the name of a function, such as @offset")
        self.advance()
        given = [found for found in self.listed("()", self.parameter) if found is not None]
        results: list[str] = []
        if self.take("->"):
            results = self.listed("()", self.result_type) if self.token == "(" else [self.result_type()]
        self.take("kernel")
        self.past_attributes()
        outer = self.begin(given, at)
        parameters = tuple(self.scope.values())
        self.expect("{")
        self.past_attributes()
        while self.token not in _RETURNS:
            self.statement()
            self.past_attributes()
        self.advance()
        values = self.returned(name, results, at)
        self.past_attributes()
        self.expect("}")
        kinds, steps = tuple(kind for _, kind in given), tuple(self.steps)
        self.leave(outer)
        self.routines[name] = Routine(parameters, kinds, len(kinds), steps, values, self.operations - operations)
        return self.routines[name]

    def begin(self, given: list[tuple[str, str]], at: int) -> Outside:
        """Begin a routine with these names and types, which are its own. Returns what is outside, for `leave`."""
        if len({n for n, _ in given}) < len(given):
            self.fail("two parameters of one name", "each name once", "give it another name", at)
        outer = self.scope, self.steps, self.suffix
        self.made += 1
        self.suffix = f" {self.made}"
        self.scope, self.steps = {n: n + self.suffix for n, _ in given}, []
        self.types.update((self.scope[n], kind) for n, kind in given)
        return outer

    def leave(self, outer: Outside) -> None:
        self.scope, self.steps, self.suffix = outer

    def returned(self, name: str, results: list[str], at: int, names: Names = ()) -> tuple[Tree, ...]:
        """The values that a function returns, behind these names."""
        if not results:
            what = f"{name:.40}, which returns nothing"
            self.fail(what, "a function that returns an offset", "let it return the index", at)
        return tuple(self.typed(names or self.names_here(), results))

    def parameter(self) -> tuple[str, str] | None:
        """The name and the type of a parameter; None of one that is no integer."""
        name = self.value_name()[0]
        self.expect(":")
        kind = self.type()
        self.past_attributes()
        return name, kind

    def type(self) -> str:
        return self.word(KINDS, "a type of integers")

    def result_type(self) -> str:
        return self.type()

    # --------------------------------------------------------------------------------------------- operations

    def operation_here(self) -> Tree:
        """`%0 = arith.addi %i, %j : i32`: what the value is called."""
        name, at = self.value_name()
        names = [f"{name}#{k}" for k in range(self.count_of_values())] if self.take(":") else [name]
        self.expect("=", "and an operation")
        if name in self.scope or names[0] in self.scope:
            self.fail(f"%{name:.40} has two values", "each name once", "give it another name", at)
        if self.token == "affine.delinearize_index" or len(names) > 1:
            return self.delinearized(names)
        value, kind = self.computed()
        return self.step(name, value, kind)

    def count_of_values(self) -> int:
        """The number behind the colon of `%0:3`."""
        at, count = self.at, self.integer("the number of values", 1)
        if count > _MOST_VALUES:
            self.fail(f"{count} values", f"{_MOST_VALUES} at most", "give the digits that it needs", at)
        return count

    def delinearized(self, names: list[str]) -> Tree:
        """`%0:2 = affine.delinearize_index %i into (4, 16) : index, index`: what the first value is called."""
        at = self.at
        self.expect("affine.delinearize_index", "of which there are several values")
        operand = self.value_name()
        self.expect("into")
        basis = self.basis(len(names), at)
        self.expect(":", "and the types")
        self.several("", self.type)
        value: Tree = self.known(*operand, "index")
        for name, extent in reversed([*zip(names[1:], basis)]):
            self.step(name, self.tree(Op("%", at), value, extent), "index")
            value = self.tree(Op("//", at), value, extent)
        return self.step(names[0], value, "index")

    def linearized(self, at: int) -> tuple[Tree, str]:
        """`affine.linearize_index disjoint [%a, %b] by (4, 16) : index`."""
        self.take("disjoint")
        names = self.listed("[]", self.value_name, empty=False)
        self.expect("by")
        basis = self.basis(len(names), at)
        kind = self.type_behind()
        first, *others = [self.known(*n, kind) for n in names]
        value: Tree = first
        for extent, other in zip(basis, others):
            value = self.tree(Op("+", at), self.tree(Op("*", at), value, extent), other)
        return value, kind

    def basis(self, count: int, at: int) -> list[Tree]:
        """The extents of so many indices in parentheses, but of the first, which may be there."""

        def extent() -> Tree:
            return self.number() if self.token[:1].isdigit() else self.known(*self.value_name(), "index")

        found = self.listed("()", extent)
        if not 0 <= count - len(found) <= 1:
            self.fail(f"{len(found)} extents of {count} indices", "one for each", "give it as many", at)
        return found[len(found) - count + 1 :]

    def step(self, name: str, value: Tree | Call, kind: str) -> str:
        """Give a name a value of a type: what the value is called."""
        self.scope[name] = called = name + (self.suffix or " 0")
        self.types[called] = kind
        self.steps.append((called, value))
        return called

    def value_name(self) -> tuple[str, int]:
        """The name of a value without its %, and its place."""
        if self.token[:1] != "%":
            self.unexpected("the name of a value, such as %0")
        at = self.at
        return self.next()[1:], at

    def names_here(self) -> Names:
        """Names of values between commas."""
        names = self.several("", self.value_name)
        self.past_attributes()
        return names

    def typed(self, names: Names, kinds: list[str]) -> list[Tree]:
        """The values of these names, behind which their types stand."""
        self.expect(":", "and the type")
        for k, kind in enumerate(kinds):
            if k:
                self.expect(",")
            self.expect(kind)
        if len(names) != len(kinds):
            self.fail(f"{len(names)} values of {len(kinds)} types", "a type for each", at=names[0][1])
        return [self.known(*name, kind) for name, kind in zip(names, kinds)]

    def known(self, name: str, at: int, kind: str) -> str:
        """Look up the value of a name, which has to be of a type. Outside of functions a new name is one
        that is given."""
        if name not in self.scope:
            if self.suffix:
                what = f"%{name:.40}, which nothing computes"
                self.fail(what, "a value that stands before", "compute it, or make it a parameter", at)
            self.seen.setdefault(name, at)
            self.step(name, self.of_type(name, kind, at), kind)
        called = self.scope[name]
        if self.types[called] != kind:
            self.fail(f"%{name:.40} as {kind}, which is {self.types[called]}", "its type", "cast it", at)
        return called

    def computed(self) -> tuple[Tree, str]:
        """The value of an operation, and its type."""
        self.count()
        at = self.at
        if register := _REGISTER.match(self.text, at):
            self.go_to(register.end())
            kind = self.type() if self.take(":") else "index"
            return self.of_type(super().free(" ".join(part for part in register.groups() if part), at), kind, at), kind
        dialect, _, name = (word := self.name()).partition(".")
        name += "i" if dialect == "index" and f"{name}i" in {**_SIGNED, **_UNSIGNED} else ""
        if word in _APPLIED:
            return self.applied(_APPLIED[word], at), "index"
        if word == "affine.linearize_index":
            return self.linearized(at)
        if word in ("func.call", "call"):
            return self.called(at)
        if dialect in ("arith", "index") and name == "constant":
            return self.constant(dialect, at)
        if dialect in ("arith", "index") and name in _CASTS:
            return self.converted(name, at)
        if dialect == "arith" and name in ("cmpi", "select"):
            return self.compared(at) if name == "cmpi" else self.selected(at)
        if dialect not in ("arith", "index") or name not in {**_SIGNED, **_UNSIGNED}:
            fix = f"write {nearest(word, [f'arith.{n}' for n in (*_SIGNED, *_UNSIGNED)]) or 'what it computes'}"
            self.fail(
                f"the operation {word:.40}", "operations of integers of the dialects arith, affine and index", fix, at
            )
        names = self.two(at)
        kind = "index" if dialect == "index" else self.type_behind()
        operands = [self.known(*n, kind) for n in names]
        if name in _SIGNED:
            return self.tree(Op(_SIGNED[name], at), *operands), kind
        return self.of_type(self.tree(Op(_UNSIGNED[name], at), *self.without_sign(operands, kind, at)), kind, at), kind

    def two(self, at: int) -> Names:
        names = self.names_here()
        if len(names) != 2:
            self.fail(f"{len(names)} operands", "two", "give it as many", at)
        return names

    def type_behind(self) -> str:
        self.expect(":", "and the type")
        return self.type()

    def without_sign(self, operands: list[str], kind: str, at: int) -> list[Tree]:
        """Operands as integers without a sign: what is negative is none."""
        return [self.tree(Op(f"as u{KINDS[kind]}", at), a) for a in operands] if kind != "i1" else [*operands]

    def constant(self, dialect: str, at: int) -> tuple[Tree, str]:
        """`arith.constant -5 : i32`, `arith.constant true`, `index.constant 3`."""
        self.past_attributes()
        if self.token in ("true", "false"):
            return int(self.next() == "true"), "i1"
        negative = self.take("-")
        if not self.token[:1].isdigit():
            self.unexpected("an integer")
        value = self.number()
        kind = "index" if dialect == "index" else self.type_behind()
        return self.of_type(self.tree(Op("neg", at), value) if negative else value, kind, at), kind

    def converted(self, name: str, at: int) -> tuple[Tree, str]:
        """A value as another type; of i1, 1 with a sign is -1."""
        operand, old = self.value_name(), self.type_behind()
        self.expect("to")
        kind, value = self.type(), self.known(*operand, old)
        unsigned = name in ("extui", "index_castui", "castu") and old != "i1"
        tree: Tree = self.tree(Op(f"as u{KINDS[old]}", at), value) if unsigned else value
        if old == "i1" and name in ("extsi", "index_cast", "casts"):
            tree = self.tree(Op("neg", at), self.of_type(tree, kind, at))
        return self.of_type(tree, kind, at), kind

    def compared(self, at: int) -> tuple[Tree, str]:
        """`arith.cmpi slt, %a, %b : i32`."""
        predicate = self.word(_PREDICATES, "a predicate")
        self.expect(",")
        names, kind = self.two(at), self.type_behind()
        operands = [self.known(*n, kind) for n in names]
        op = Op(_TESTS[predicate[-2:]], at)
        return self.tree(op, *(self.without_sign(operands, kind, at) if predicate[0] == "u" else operands)), "i1"

    def selected(self, at: int) -> tuple[Tree, str]:
        """`arith.select %c, %a, %b : i32`."""
        names, kind = self.names_here(), self.type_behind()
        if len(names) != 3:
            self.fail(f"{len(names)} operands", "a condition and two values", "give it as many", at)
        values = [self.known(*n, k) for n, k in zip(names, ("i1", kind, kind))]
        return self.tree(Op("select", at), *values), kind

    def applied(self, op: str, at: int) -> Tree:
        """`affine.apply #map(%i)[%n]`, or affine.min and max of a map's results."""
        if self.token[:1] == "#" and self.token not in self.routines:
            self.unexpected("a map that stands before", "write its affine_map<...> here")
        routine = self.routines[self.next()] if self.token[:1] == "#" else self.affine_map()
        names = [(n, "index") for n in self.listed("()", self.value_name)]
        names += [(n, "index") for n in self.listed("[]", self.value_name)] if self.token == "[" else []
        values = routine.values
        if len(values) > 1 and not op:
            self.fail(f"a map to {len(values)} values", "one value", "apply a map for each", at)
        value = functools.reduce(lambda one, other: self.tree(Op(op, at), one, other), values)
        return self.entered(routine, [self.known(*n, kind) for n, kind in names], value, at)

    def called(self, at: int) -> tuple[Tree, str]:
        """`func.call @f(%a, %b) : (i32, i32) -> i32`."""
        routine = self.routines.get(self.token)
        if not routine or len(routine.values) != 1:
            self.unexpected("a function of one value that stands before")
        self.advance()
        names = self.listed("()", self.value_name)
        self.expect(":")
        kinds = self.listed("()", self.type)
        self.expect("->")
        if len(kinds) != len(names):
            self.fail(f"{len(names)} arguments of {len(kinds)} types", "a type for each", at=at)
        given = [self.known(*n, kind) for n, kind in zip(names, kinds)]
        return self.entered(routine, given, routine.values[0], at), self.type()

    def entered(self, routine: Routine, given: list[str], value: Tree, at: int) -> Tree:
        """The value of a routine for these arguments."""
        types = tuple(self.types[n] for n in given)
        if types != routine.types:
            what = f"arguments of types {', '.join(types)}"
            self.fail(what, ", ".join(routine.types), "give it as many, of these types", at)
        return self.call_of(routine, routine.parameters, given, value, at)

    # -------------------------------------------------------------------------------------------- expressions

    def free(self, name: str, at: int) -> str:
        if self.suffix and name not in self.scope:
            self.fail(f"{name:.40}, which is no parameter of the map", ", ".join(self.scope), at=at)
        return self.scope.get(name) or super().free(name, at)
