"""Structs of the C family, and templates of functions and structs whose parameters are integers.

A struct that is a template is read where it is used, with what it is given there: `S<64>::at(i, j)`, `S<64>::stride`,
`S<64>{}(i, j)`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..codegen.proofs.reading import Tree
from . import c_forms
from .c_text import CExpression, TemplateParameter, qualified
from .languages import FRACTIONS
from .reading import Call


class StructTemplate(NamedTuple):
    """A struct that is a template: its parameters, where its body begins, and what names mean there."""

    template: tuple[TemplateParameter, ...]
    body: int
    scope: dict[str, str]


class CStructs(CExpression):
    """The grammar of structs, classes and namespaces, and of templates.

    structs     templates of structs by name
    aliases     names that `using` gives a struct
    template    the parameters of the function or struct that follows
    last        the last function of the text
    steps       what is computed on the way, under the condition `guard`
    loops       the names of loops around a store; None inside of functions
    """

    def __init__(self, text: str, language: str) -> None:
        self.structs: dict[str, StructTemplate] = {}
        self.aliases: dict[str, str] = {}
        self.template: tuple[TemplateParameter, ...] = ()
        self.last = ""
        self.steps: list[tuple[str, Tree | Call]] = []
        self.guard, self.names_made = "", 0
        self.loops: dict[str, int] | None = {}
        super().__init__(text, language)

    def statement(self, end: str) -> Tree | Call | None:
        """A statement of a body."""
        raise NotImplementedError

    def routine(self, name: str, words: str, body: re.Match[str]) -> None:
        """A function, which the text may call behind it."""
        raise NotImplementedError

    def fresh(self, name: str) -> str:
        """A name that no other value has."""
        self.names_made += 1
        return f"{name} {self.names_made}"

    def declared_kind(self, name: str, words: str, at: int) -> str:
        """The integers of a declared type; "" for auto."""
        if found := FRACTIONS.intersection(re.findall(r"\w+", words)):
            self.fail(f"{name:.40}, which is a {min(found)}", "integers", "declare it as one", at)
        if "&" in words and "const" not in words:
            self.fail(f"{name:.40}, which is a reference", "a value", "leave the & out, or say const", at)
        left = c_forms.QUALIFIERS.sub("", words).strip(" &\n\t")
        kind = self.kind(left)
        if left and not kind:
            what = f"{name:.40} of the type {left:.40}"
            self.fail(what, "a type of integers", f"write using {left.split()[-1]:.40} = int; before it", at)
        return kind

    # ------------------------------------------------------------------------------------------------- bodies

    def templated(self, found: re.Match[str]) -> None:
        """`template <int N, int step = 8, typename T>`: parameters of the function or the struct behind it."""
        behind, place, given = self.at, found.start(1), []
        for text in found[1].split(","):
            parameter = c_forms.TEMPLATE_PARAMETER.match(text)
            default: Tree | None = None
            if parameter and parameter[3]:
                self.go_to(place + parameter.end())
                default = self.expression(self.tightest)
            type_ = not parameter or bool({"typename", "class"} & {*parameter[1].split()})
            name = "" if type_ else self.fresh(parameter[2])  # type: ignore[index]
            kind = "" if type_ else self.declared_kind(parameter[2], parameter[1], place)  # type: ignore[index]
            given.append(TemplateParameter(name, default, kind))
            place += len(text) + 1
        self.go_to(behind)
        self.template = tuple(given)
        if self.token in ("template", "union"):
            self.unexpected("a function or a struct", "write it with one list of parameters")

    def struct(self, found: re.Match[str]) -> None:
        """`struct S { ... };`: what it has is called S::name behind it; a template is passed over until it is used."""
        if not self.template:
            self.body(found[1])
            self.take(";")
            return
        self.structs[found[1]] = StructTemplate(self.template, self.at, {**self.scope})
        self.template, depth = (), 1
        for bracket in c_forms.BRACES.finditer(self.text, self.at):
            depth += 1 if bracket[0] == "{" else -1
            if depth == 0:
                self.go_to(bracket.end())
                self.take(";")
                return
        self.go_to(len(self.text))
        self.expect("}")

    def body(self, name: str) -> None:
        """The body of a struct behind its brace, to the one that closes it."""
        scope, routines, arrays = {**self.scope}, {**self.routines}, {**self.arrays}
        while self.token != "}":
            if self.inside(lambda: self.statement("}")) is not None:
                self.unexpected("a constant or a function")
        self.expect("}")
        self.scope = qualified(name, self.scope, scope)
        self.routines = qualified(name, self.routines, routines)
        self.arrays = qualified(name, self.arrays, arrays)
        self.last = self.last if self.last in self.routines else f"{name}::{self.last}"

    def call_operator(self, found: re.Match[str]) -> None:
        """`int operator()(int i, int j) const { ... }`."""
        body = c_forms.BODY.match(self.text, self.at)
        if not body:
            self.unexpected("the parameters of operator() and its body in braces")
        self.routine("operator()", found[1], body)

    # --------------------------------------------------------------------------------------------------- uses

    def word_here(self) -> Tree:
        at, name = self.at, self.aliases.get(self.token, self.token)
        if name in self.structs:
            self.advance()
            return self.member(self.made_of(name, at), at)
        if f"{name}::operator()" in self.routines and self.text[self.after : self.after + 1] in ("{", "("):
            self.advance()
            return self.member(name, at)
        if (owner := self.aliases.get(name.rpartition("::")[0])) is not None:
            self.advance()
            return self.named_member(f"{owner}::{name.rpartition('::')[2]}", at)
        return super().word_here()

    def member(self, owner: str, at: int) -> Tree:
        """Read what is behind a struct: `::name`, or `{}(...)` and `()(...)`, which call it."""
        if self.take(":"):
            self.expect(":")
            return self.named_member(f"{owner}::{self.name()}", at)
        for token in "{}" if self.token == "{" else "()":
            self.expect(token)
        return self.named_member(f"{owner}::operator()", at)

    def named_member(self, name: str, at: int) -> Tree:
        if name in self.routines:
            return self.called(name, at, self.template_arguments() if self.token == "<" else [])
        if name not in self.scope:
            what = f"{name.rpartition('::')[2]:.60}, which is not in {name.partition(' ')[0]:.60}"
            self.fail(what, "a constant or a function of it", "write one that it has", at)
        return self.scope[name]

    def made_of(self, name: str, at: int) -> str:
        """A template of a struct with what it is given: what its members are called by."""
        given = self.values_given(name, self.structs[name].template, self.template_arguments(), at)
        behind = self.at
        outer = self.scope, self.loops, self.guard, self.last, self.began, self.read_at, self.recast_at
        self.scope, self.loops, self.guard = {**self.structs[name].scope}, {}, ""
        for parameter, value in given:
            plain = parameter.name.rpartition(" ")[0]
            self.scope[plain] = unique = self.fresh(plain)
            self.kinds[unique] = parameter.kind
            self.steps.append((unique, self.of_kind(parameter.kind, value, at)))
        self.go_to(self.structs[name].body)
        made = self.fresh(name)
        self.inside(lambda: self.body(made))
        members = {n: value for n, value in self.scope.items() if n.startswith(f"{made}::")}
        self.scope, self.loops, self.guard, self.last, self.began, self.read_at, self.recast_at = outer
        self.scope = {**self.scope, **members}
        self.go_to(behind)
        return made
