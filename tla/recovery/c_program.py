"""Statements and functions of the C family before an address, or around it: straight code with conditions, read to
steps in order.

A loop around a store, `for (int i = a; i < b; i += s) smem[f(i)] = ...;`, is a coordinate, and its passes are the
extent. It stores once in each pass: nothing may be carried to the next, and what is stored is not read. A pass that
ends without a store is out of bounds: -1.

Names of a block are made different from those outside of it (`x` of the third block is "x 3"), so all values stand in
one table, and a name means what it means where it is written. Under a condition a name keeps its value where
that does not hold.
"""

from __future__ import annotations

import re
from typing import TypeVar

from ..codegen.proofs.reading import Tree
from . import c_forms
from .c_structs import CStructs
from .c_text import Routine
from .reading import ASSIGNS, Call, Code, Op

T = TypeVar("T")


class CProgram(CStructs):
    """The grammar of statements and functions; the address is what is returned, or the expression at the end, or the
    last function."""

    def code(self) -> Code:
        """The whole text."""
        self.returned: list[tuple[str, str]] = []
        self.forms = {c_forms.TEMPLATE: self.templated, c_forms.STRUCT: self.struct, c_forms.USING: self.named_type}
        self.forms |= {c_forms.LAMBDA: self.last_lambda, c_forms.ENUM: self.enumeration}
        self.forms |= {c_forms.OPERATOR: self.call_operator, c_forms.ALIAS: self.named_struct}
        self.forms |= dict.fromkeys((c_forms.IGNORED, c_forms.ACCESS), self.passed_over)
        self.frozen = False
        self.reads: set[bool] = set()
        self.kept: frozenset[str] = frozenset()
        value = self.block("")
        self.end()
        parameters: tuple[str, ...] = ()
        if value is None:
            if not self.last:
                self.unexpected("an expression")
            routine, at = self.routines[self.last], 0
            plain = [p.rpartition(" ")[0] for p in routine.parameters]
            self.bases |= {n for p, n in zip(routine.parameters, plain) if p in routine.pointers}
            given = [
                self.free(t.name.rpartition(" ")[0], at) if t.default is None else t.default
                for t in routine.template
                if t.name
            ]
            names = (*(t.name for t in routine.template if t.name), *routine.parameters)
            value = Call(Op("call", at), names, (*given, *plain), routine.steps, routine.value)
            parameters = tuple(n for n in plain if n not in self.bases)
        parameters = parameters or tuple(self.loops or ())
        kinds = {**dict.fromkeys(self.bases, "int64"), **self.kinds}
        free = {**dict.fromkeys(parameters, 0), **self.seen}
        return Code(self.text, self.written, tuple(self.steps), value, parameters, free, kinds, frozenset(self.bases))

    # -------------------------------------------------------------------------------------------- statements

    def block(self, end: str) -> Tree | Call | None:
        """The value that a function's statements return, up to its end; None if they return none."""
        steps_before = len(self.returned)
        value: Tree | Call | None = None
        while self.token != end and value is None:
            value = self.statement(end)
        if value is not None and self.token != end:
            if not end and self.token in ASSIGNS:
                self.side_effect()
            self.unexpected("the end of the text" if not end else f"{end!r} behind what is returned")
        for guard, name in reversed(self.returned[steps_before:]):
            nothing: Tree = self.tree(Op("neg", self.at), 1) if self.loops else self.tree(Op("missing", self.at))
            value = nothing if value is None else value
            value = self.tree(Op("select", self.at), guard, name, value)
        del self.returned[steps_before:]
        return value

    def statement(self, end: str) -> Tree | Call | None:
        """A statement; the value, if it is what is returned, or an expression at the end of the text."""
        self.count()
        if self.token == "for" and self.loops is not None and not self.guard:
            return self.loop()
        if self.token in ("for", "while", "do", "switch", "goto"):
            expected = "statements, functions, and loops around one store"
            self.fail(f"{self.token!r}", expected, "write one pass of it: its variable is a coordinate")
        if self.take(";"):
            return None
        for form, take in self.forms.items():
            if found := form.match(self.text, self.at):
                self.go_to(found.end())
                take(found)
                return None
        if self.token == "{":
            return self.inner()
        if self.take("return"):
            return self.result()
        if self.token == "if":
            self.condition()
            return None
        if self.loops and self.token == "continue":
            self.passed_by()
            return None
        if self.loops and (found := c_forms.FRACTION.match(self.text, self.at)):
            self.go_to(found.end())
            return None
        if (found := c_forms.DECLARED.match(self.text, self.at)) and self.declares(found):
            self.declaration(found)
            return None
        if self.token in self.scope and (name := self.token):
            at = self.after
            self.advance()
            if self.token in ASSIGNS[:-2]:
                self.assignment(name)
                return None
            self.go_to(at - len(name))
        if self.loops:
            return self.stored()
        if end:
            self.unexpected("a declaration, an assignment of a local name, or return")
        value = self.value()
        self.take(";")
        return value

    # ------------------------------------------------------------------------------------------------- loops

    def loop(self) -> Tree | Call | None:
        """`for (int i = a; i < b; i += s)`, whose variable is a coordinate, and the address that it stores at."""
        assert self.loops is not None
        at, outer, kept = self.at, {**self.scope}, self.kept
        self.expect("for")
        self.expect("(")
        found = c_forms.DECLARED.match(self.text, self.at)
        if not found:
            self.unexpected("the variable of the loop, such as int i = 0")
        self.go_to(found.end())
        name, kind = found[2], self.declared_kind(found[2], found[1], at)
        if name in self.seen:
            self.two_meanings(name, at)
        self.free(name, found.start(2))
        self.scope[name] = unique = self.fresh(name)
        self.kept |= {*self.scope.values()}
        self.kinds[name] = self.kinds[unique] = kind
        self.expect("=")
        start = self.expression()
        self.expect(";")
        bound, test = self.bound(unique)
        step = self.increment(name, unique)
        count: Tree = self.tree(Op("-", at), bound, start)
        count = self.tree(Op("+", at), count, 1) if test == "<=" else count
        self.steps.append((name, self.tree(Op("extent", at), name, self.tree(Op("ceil_div", at), count, step))))
        passes = self.tree(Op("*", at), self.tree(Op(f"as {kind or 'int32'}", at), name), step)
        self.steps.append((unique, self.of_kind(kind, self.tree(Op("+", at), start, passes), at)))
        self.loops[name] = at
        value, returned = self.inside(lambda: self.statement("}")), len(self.returned)
        self.scope, self.kept = outer, kept
        if value is None and not returned:
            self.fail("a loop without an address", "a store, such as smem[i] = x", "write what it stores to", at)
        return value

    def bound(self, unique: str) -> tuple[Tree, str]:
        """The end of `i < b`, and the comparison."""
        at, found = self.at, self.expression()
        self.expect(";")
        test, first, second = found if isinstance(found, tuple) and len(found) == 3 else ("", "", "")
        if second == unique:
            test, first, second = {">": "<", ">=": "<="}.get(test, test if test == "!=" else ""), second, first
        if first != unique or test not in ("<", "<=", "!="):
            self.fail("a loop of another form", "one that counts up: i < n", "write for (int i = 0; i < n; ++i)", at)
        return second, str(test)

    def increment(self, name: str, unique: str) -> Tree:
        """The step of `++i` or `i += s`."""
        at, before = self.at, self.take("++")
        self.expect(name)
        if before or self.take("++"):
            self.expect(")")
            return 1
        if self.token != "+=":
            self.fail(
                "a loop of another form", "one that counts up: ++i or i += s", "write for (int i = 0; i < n; ++i)", at
            )
        self.advance()
        step = self.expression()
        self.expect(")")
        return step

    def stored(self) -> Tree | Call | None:
        """The address of a store in a loop; what is stored is passed over."""
        at, value = self.at, self.value()
        if self.token in ASSIGNS:
            if self.read_at < 0:
                self.side_effect()
            end = c_forms.STORED.match(self.text, self.after)
            self.go_to(end.end() if end else self.after)
        else:
            self.take(";")
        if any(name.startswith("store ") for _guard, name in self.returned):
            self.fail("a second address", "one store in each pass", "give the loop of each store alone", at)
        if not self.guard:
            if self.token not in ("", "}"):
                what = "statements behind a store"
                self.fail(what, "a loop whose last statement stores", "give the loop of each store alone")
            return value
        self.returned.append((self.guard, self.step(self.fresh("store"), value)))
        return None

    def passed_by(self) -> None:
        """`continue`: no store in this pass."""
        at = self.at
        self.advance()
        self.expect(";")
        if not self.guard:
            self.fail("continue in every pass", "a condition", "leave it out", at)
        self.returned.append((self.guard, self.step(self.fresh("continue"), self.tree(Op("neg", at), 1))))

    def value(self) -> Tree:
        """An expression, which may be an address."""
        self.began, self.read_at, self.recast_at = self.at, -1, -1
        return self.expression()

    def inner(self) -> Tree | Call | None:
        """Statements in braces: their names end there."""
        outer, value = {**self.scope}, None
        self.expect("{")
        while self.token != "}" and value is None:
            value = self.inside(lambda: self.statement("}"))
        self.expect("}")
        self.scope = outer
        return value

    def result(self) -> Tree | Call | None:
        """The value of `return`: it ends the block, or is kept for where its condition holds."""
        value = self.value()
        self.expect(";")
        self.reads.add(self.read_at >= 0 or self.recast_at >= 0)
        self.read_at = self.recast_at = -1
        if not self.guard:
            return value
        self.returned.append((self.guard, self.step(self.fresh("return"), value)))
        return None

    def condition(self) -> None:
        """`if`: its statements, where the condition holds; what follows a `return` in it, where it does not."""
        at, outer, before = self.at, self.guard, len(self.returned)
        self.expect("if")
        self.take("constexpr")
        holds = self.step(self.fresh("if"), self.enclosed("()", self.expression))
        self.guard = self.both(outer, holds, at)
        self.inside(lambda: self.statement("}"))
        if self.take("else"):
            self.guard = self.both(outer, self.tree(Op("not", at), holds), at)
            self.inside(lambda: self.statement("}"))
        self.guard = outer
        for guard, _ in self.returned[before:]:
            self.guard = self.both(self.guard, self.tree(Op("not", at), guard), at)

    def both(self, outer: str, condition: Tree, at: int) -> str:
        """The name of two conditions together."""
        name = self.fresh("where")
        self.steps.append((name, self.tree(Op("both", at), outer or 1, condition)))
        return name

    def step(self, name: str, value: Tree | Call, old: Tree = 0) -> str:
        """A value under a name; where its condition does not hold, the old one."""
        self.steps.append((name, self.tree(Op("select", self.at), self.guard, value, old) if self.guard else value))
        return name

    # ------------------------------------------------------------------------------------------ declarations

    def enumeration(self, found: re.Match[str]) -> None:
        """`enum Name { A, B = 4 };`: each is one more than that before, unless it says what; Name::A is A."""
        value: Tree = -1
        while self.token != "}":
            at, name = self.at, self.name()
            value = self.expression() if self.take("=") else self.tree(Op("+", at), value, 1) if value != -1 else 0
            unique = self.fresh(name)
            self.kinds[unique] = self.kind(found[2] or "") or "int32"
            self.step(unique, self.of_kind(self.kinds[unique], value, at))
            self.scope[name] = value = unique
            if found[1]:
                self.scope[f"{found[1]}::{name}"] = unique
            if not self.take(","):
                break
        self.expect("}")
        self.expect(";")

    def passed_over(self, found: re.Match[str]) -> None:
        """Pass over what changes no value."""

    def named_type(self, found: re.Match[str]) -> None:
        """`using index_t = int;`, `typedef int index_t;`."""
        name, words = (found[1], found[2]) if found[1] else (found[4], found[3])
        self.types[name] = self.kind(words)

    def named_struct(self, found: re.Match[str]) -> None:
        """`using L = S<64>;`: a struct that is a template, as it is made there."""
        at, name = self.at, self.aliases.get(self.token, self.token)
        if name not in self.structs:
            self.unexpected("a struct that is a template of the text")
        self.advance()
        self.aliases[found[1]] = self.made_of(name, at)
        self.expect(";")

    def declares(self, found: re.Match[str]) -> bool:
        """Whether words and a name are a declaration: i * j is one only if i is a type."""
        after = self.text[found.end() : found.end() + 1]
        words = found[1].split()
        if after == "(":
            return bool(c_forms.BODY.match(self.text, found.end()))
        if words[0] == "return":
            return False
        is_plain = after == "=" or not {"*", "&"} & {*found[1]}
        return is_plain or bool(self.kind(c_forms.QUALIFIERS.sub("", found[1]).strip(" *&\n")))

    def declaration(self, found: re.Match[str]) -> None:
        """The declaration of names, each with its value, or of an array or a function."""
        words, at = found[1], self.at
        if body := c_forms.BODY.match(self.text, found.end()):
            self.routine(found[2], words, body)
            return
        self.go_to(found.start(2))
        while True:
            pointer = "*" in words or self.take("*")
            name = self.name()
            if self.token == "[":
                self.array(name)
            else:
                self.declared(name, words, pointer, at)
            if not self.take(","):
                break
        self.expect(";")

    def array(self, name: str) -> None:
        """An array: its extents; its elements are data."""
        extents = []
        while self.token == "[":
            self.count()
            empty = c_forms.EMPTY.match(self.text, self.at)
            if empty:
                self.go_to(empty.end())
            extents.append(1 if empty else self.enclosed("[]", self.expression))
        if self.token == "=":
            self.fail(f"the table {name:.40}", "arithmetic of the coordinates", "give layout_of the table itself")
        self.arrays[name] = extents

    def declared(self, name: str, words: str, pointer: bool, at: int) -> None:
        """A name of a type, and its value, if it has one yet."""
        if self.token == "=" and (found := c_forms.LAMBDA.match(self.text, self._skip(self.text, self.after).end())):  # type: ignore[union-attr]
            self.go_to(found.end())
            self.lambda_of(name, found)
            return
        kind = "" if pointer else self.declared_kind(name, words, at)
        unique = self.fresh(name)
        self.kinds[unique] = kind
        if pointer:
            self.pointers.add(unique)
        if self.take("=") or self.token == "{":
            value = self.enclosed("{}", self.value) if self.token == "{" else self.value()
            if self.recast_at >= 0:
                self.two_types(self.recast_at)
            if self.read_at >= 0:
                self.data(name, at)
            self.step(unique, self.of_kind(kind, self.based(value) if pointer else value, at))
        else:
            self.steps.append((unique, 0))
        self.scope[name] = unique
        self.arrays.pop(name, None)

    def assignment(self, name: str) -> None:
        """Another value of a name that the text declares."""
        unique, op = self.scope[name], Op(self.token, self.at)
        if unique in self.kept:
            self.carried(name)
        if self.frozen:
            what = f"{name:.40} has another value behind a lambda that copied it"
            self.fail(what, "one value", "give it another name")
        self.advance()
        value: Tree | Call = self.value()
        if self.recast_at >= 0:
            self.two_types(self.recast_at)
        if self.read_at >= 0:
            self.data(name, op.at)
        if op != "=":
            value = self.tree(Op(self.language.means.get(op[:-1], op[:-1]), op.at), unique, value)
        self.step(unique, self.of_kind(self.kinds.get(unique, ""), value, op.at), unique)
        self.expect(";")

    # --------------------------------------------------------------------------------------------- functions

    def last_lambda(self, found: re.Match[str]) -> None:
        """A lambda that is the whole text, or its last part."""
        self.lambda_of("lambda", found)
        self.take(";")

    def lambda_of(self, name: str, found: re.Match[str]) -> None:
        self.frozen |= bool(found[1].replace("&", "").strip())
        body = c_forms.BODY.match(self.text, self.at)
        if not body:
            self.unexpected("the parameters of a lambda and its body in braces")
        self.routine(name, body[2] or "auto", body)

    def routine(self, name: str, words: str, body: re.Match[str]) -> None:
        """A function, which the text may call behind it."""
        at, operations = self.at, self.operations
        outer = {**self.scope}, self.steps, self.returned, self.guard, {**self.arrays}, self.reads, self.loops
        self.steps, self.returned, self.guard, self.reads, self.loops = [], [], "", set(), None
        template, self.template = self.template, ()
        for t in template:
            if t.name:
                self.scope[t.name.rpartition(" ")[0]] = t.name
                self.kinds[t.name] = t.kind
        given = [self.parameter(text, body.start(1)) for text in body[1].split(",") if text.strip() not in ("", "void")]
        if len({name.rpartition(" ")[0] for name, _ in given}) < len(given):
            self.fail("two parameters of one name", "each name once", "give it another name", at)
        self.go_to(body.end())
        value = self.inside(lambda: self.block("}"))
        if value is None:
            what = f"{name:.40}, which returns nothing"
            self.fail(what, "a function that returns an offset", "let it return the index", at)
        if len(self.reads) == 2:
            what = f"{name:.40}, which returns an element here and a value there"
            self.fail(what, "one of them", "return the index", at)
        reads = True in self.reads
        kind = "" if "*" in words or reads else self.declared_kind(name, words, at)
        value = self.of_kind(kind, value, at)
        pointers = frozenset(unique for unique, pointer in given if pointer)
        steps, operations = tuple(self.steps), self.operations - operations
        self.scope, self.steps, self.returned, self.guard, self.arrays, self.reads, self.loops = outer
        self.routines[name] = Routine(tuple(u for u, _ in given), pointers, template, steps, value, operations, reads)
        self.last = name
        self.expect("}")

    def parameter(self, text: str, at: int) -> tuple[str, bool]:
        """The name of a parameter in the table of values, and whether it is a pointer."""
        found = c_forms.PARAMETER.match(text.partition("=")[0])
        if not found:
            self.fail(f"the parameter {text.strip():.40}", "a type and a name, as in int i", at=at)
        words, name = found[1], found[2]
        pointer = "*" in words or bool(found[3])
        unique = self.fresh(name)
        if pointer:
            self.pointers.add(unique)
            self.parameters.add(unique)
        self.kinds[unique] = "int64" if pointer else self.declared_kind(name, words, at)
        self.scope[name] = unique
        self.arrays.pop(name, None)
        return unique, pointer
