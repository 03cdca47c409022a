"""The grammar of Python's family: expressions, and statements and functions around them, of numpy, JAX, Triton,
TVM and sympy."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..codegen.proofs.reading import Tree
from .python_lines import by_lines
from .reading import ASSIGNS, NAME, NUMBER, OPERATORS, Address, Call, Code, Op, names_of

_PROGRAM = re.compile(r"\(\s{0,9}(?:axis\s{0,9}=\s{0,9})?([0-2])\s{0,9}\)")
_STATEMENTS = re.compile(r"(?m)^[ \t]{0,99}(?:(?:def|import|from|assert|for|if)\b|@|[A-Za-z_][\w, \t]{0,99}=(?!=))")
_ASSIGNED = re.compile(
    r"([A-Za-z_]\w*)[ \t]{0,99}(?::[ \t]{0,99}[\w.]{1,99}[ \t]{0,99})?(\*\*|//|<<|>>|[-+*%&|^])?=(?!=)[ \t]*"
)
_SEVERAL = re.compile(r"([A-Za-z_]\w*[ \t]{0,99}(?:,[ \t]{0,99}[A-Za-z_]\w*[ \t]{0,99}){1,99})=(?!=)[ \t]*")
_DIVMOD = re.compile(r"divmod(?=\()")
_BROADCAST = re.compile(r"(?:\w{1,40}\.){0,3}broadcast_arrays(?=\()")
#: Statements that change no value.
_IGNORED = re.compile(
    r"(?:import|from|assert|global|pass)\b[^;]*|@[^;]*|\"[^\";]*\"(?=\s*;)|if\b[^;:]*:[\s;]{0,99}raise\b[^;]*"
)
#: What makes an index map of a function, TVM's index_map and IndexMap.from_func, TileLang's Layout([64, 64], ...); its
#: other arguments.
_INDEX_MAP = re.compile(
    r"(?:[A-Za-z_]\w{0,40}\.){0,4}(?:index_map|IndexMap\.from_func|Layout)\(\s*(?:[\[(][\w\s,]*[\])]\s*,\s*)?(?=lambda\b)"
)
_OPTION = re.compile(r",\s*\w+\s*=\s*[\w.\"'\[\]]+")
_LAMBDA = re.compile(r"lambda\b([\w, ]*):")
#: A parameter: its name, behind it its type and what it is by default.
_PARAMETER = re.compile(r"\s*([A-Za-z_]\w*)\s*(?::[\s\w.]*)?(?:=\s*([^,()]*))?\Z")
_PARAMETERS = re.compile(r"\(([^()]*)\)\s*(?:->[\s\w.]*)?:")
#: A loop over ranges: its variables, each of which is a coordinate, and what it calls.
_LOOP = re.compile(
    r"for\s{1,9}(\w{1,99}(?:\s{0,9},\s{0,9}\w{1,99}){0,9})\s{1,9}in\s{1,9}(?:\w{1,40}\.){0,4}"
    r"(range|static_range|serial|unroll|vectorized|parallel|grid|Serial|Unroll|Vectorized|Parallel)(?=\()"
)
_STORED = re.compile(r"[^;]{0,9999}")
_UNREAD = ("if", "for", "while", "with", "try", "class", "def", "del", "async")


class PythonRoutine(NamedTuple):
    """A function of the text: its parameters, its steps, its value, how many operations it has, and whether
    it reads memory.

    defaults    what its last parameters are where a call does not give them
    """

    parameters: tuple[str, ...]
    defaults: tuple[Tree, ...]
    steps: tuple[tuple[str, Tree | Call], ...]
    value: Tree
    operations: int
    reads: bool


class PythonAddress(Address):
    """The grammar of Python, Triton, JAX, sympy's text and TVM's.

    scope      names that the text gives a value -> what their values are called: "a 3" is the a of the third function
    routines   functions that it has, by name
    aranges    coordinates whose extents the text says
    maps       whether a value may be a tuple: the coordinates of what an index map makes
    wrapped    whether it is an argument of a call: then its tuple has brackets
    """

    tokens = rf"{NAME}|{NUMBER}|\*\*=?|{OPERATORS}"
    blank = r"(?:[ \t\r\n\f\v]|\\\n|#[^\n]*(?:\n|\Z))*"
    maps = wrapped = False

    def __init__(self, text: str, language: str) -> None:

        self.aranges: list[str] = []
        self.scope: dict[str, str] = {}
        self.routines: dict[str, PythonRoutine] = {}
        self.steps: list[tuple[str, Tree | Call]] = []
        self.suffix, self.made = "", 0
        self.kept: frozenset[str] | None = None
        self.column = -1
        self.guard, self.branches = "", 0
        self.returned: list[tuple[str, Tree]] = []
        self.stores = False
        self.reads: set[bool] = set()
        self.original = self.checked(text)
        super().__init__(by_lines(text) if _STATEMENTS.search(text) else text, language)

    # --------------------------------------------------------------------------------------------- statements

    def code(self) -> Code:
        """The whole text: the value is an expression at its end, or what stands last, a name or a function."""
        value: Tree | None = None
        last, more = "", True
        while more and self.to_statement():
            self.require_inside()
            if loop := _LOOP.match(self.text, self.at):
                self.loop(loop)
                continue
            if self.token == "if":
                self.branched()
                value = self.ended() if self.returned else None
                continue
            whole = self.token == "def"
            last = self.routine_here()
            at = self.at
            value, more = (None, whole or self.token == ";") if last else self.statement()
            if self.kept is not None and not more:
                self.stored(value or 0, at)
                value = self.ended()
        if self.kept is not None and self.to_statement():
            self.require_inside()
        self.to_statement()
        self.end()
        parameters: tuple[str, ...] = ()
        if last:
            names, _, steps, value, *_ = self.routines[last]
            plain = [n.partition(" ")[0] for n in names]
            self.bases |= {p for p, n in zip(plain, names) if n in self.bases}
            parameters = tuple(p for p in plain if p not in self.bases)
            self.steps += [*zip(names, plain), *steps]
        if value is None:
            self.unexpected("an expression")
        free = {**dict.fromkeys(parameters, 0), **self.seen}
        coordinates = parameters or self.by_axis()
        return Code(self.original, self.written, tuple(self.steps), value, coordinates, free, {}, frozenset(self.bases))

    def to_statement(self) -> bool:
        """Go to the next statement, if there is one: past empty lines, imports, decorators and assertions."""
        while True:
            if self.begins_statement() and (found := _IGNORED.match(self.text, self.at)):
                self.go_to(found.end())
            elif not self.take(";"):
                return bool(self.token)

    def begins_statement(self) -> bool:
        """Whether a statement may begin here: at the beginning, behind another one's end or behind a colon."""
        at = self.at
        while at and self.text[at - 1] in " \t\r\n\f\v\\":
            at -= 1
        return not at or self.text[at - 1] in ";:"

    def statement(self) -> tuple[Tree, bool]:
        """The value of an assignment or of an expression, and whether another statement may follow."""
        if self.token in _UNREAD:
            self.unexpected(
                "assignments, functions and an expression",
                "write x = a if c else b for a branch, and one pass of a loop",
            )
        if several := _SEVERAL.match(self.text, self.at):
            return self.several_assigned(several), self.token == ";"
        if found := _ASSIGNED.match(self.text, self.at):
            return self.assigned(found), self.token == ";"
        value = self.whole_expression()
        if self.kept is not None and self.read_at >= 0 and self.token in ASSIGNS:  # what is stored is not read
            self.go_to(_STORED.match(self.text, self.after).end())  # type: ignore[union-attr]
        return value, False

    def loop(self, found: re.Match[str]) -> None:
        """`for i in range(a, b, s):`, `for i, j in T.Parallel(m, n):`: each variable is a coordinate, and its passes
        are the extent."""
        at, names = self.at, [n.strip() for n in found[1].split(",")]
        self.kept = frozenset(self.scope) | {*names}
        self.column = self.column_here()
        self.go_to(found.end())
        given = self.listed("()", self.expression, empty=False)
        self.expect(":")
        one = len(names) == 1 and len(given) < 4 and found[2] not in ("grid", "parallel", "Parallel")
        ranges = [[0, *given, 1][-3:] if len(given) == 1 else [*given, 1][:3]] if one else [[0, n, 1] for n in given]
        if len(ranges) != len(names):
            self.fail(f"{len(ranges)} ranges for {len(names)} names", "one for each", "give it as many", at)
        for name, (start, end, step) in zip(names, ranges):
            if name in self.seen or name in self.scope:
                self.two_meanings(name, at)
            count = self.tree(Op("ceil_div", at), self.tree(Op("-", at), end, start), step)
            self.steps.append((name, self.tree(Op("extent", at), super().free(name, at), count)))
            self.aranges.append(name)
            self.step(f"{name} of a loop", self.tree(Op("+", at), start, self.tree(Op("*", at), name, step)))
            self.scope[name] = self.scope.pop(f"{name} of a loop")

    def block(self, column: int) -> bool:
        """Statements to the right of a column: whether all ways through them end in a value."""
        while self.to_statement() and self.column_here() > column:
            if self.token == "if":
                if self.branched():
                    return True
                continue
            at = self.at
            if self.suffix and self.take("return"):
                self.returns(self.whole_expression())
                return True
            if self.kept is not None and self.take("continue"):
                self.returns(self.tree(Op("neg", at), 1))
                return True
            value, more = self.statement()
            if self.kept is not None and not more:
                self.stored(value, at)
                return True
            if not more and self.token:
                self.unexpected("the end of a statement")
        return False

    def returns(self, value: Tree) -> None:
        """Keep what is returned where the conditions around it hold."""
        self.reads.add(self.read_at >= 0)
        self.returned.append((self.guard, self.kept_step("value", value) if self.guard else value))

    def stored(self, value: Tree, at: int) -> None:
        """Keep where a loop stores: once in each pass."""
        if self.stores:
            self.fail("a second address", "one store in each pass", "give the loop of each store alone", at)
        self.stores = True
        self.returns(value)

    def branched(self) -> bool:
        """`if`, `elif` and `else`: a name has the value of the branch that is taken. Whether both end in a value."""
        at, own, outer, before, scope = self.at, self.column_here(), self.guard, len(self.returned), {**self.scope}
        self.advance()
        holds = self.kept_step("if", super().expression())
        self.expect(":")
        self.guard = self.both(outer, holds, at)
        ended, taken = self.inside(lambda: self.block(own)), self.scope
        self.guard, self.scope, other = outer, {**scope}, False
        self.guard = self.both(outer, self.tree(Op("not", at), holds), at)
        if self.to_statement() and self.column_here() == own and self.token in ("elif", "else"):
            if self.token == "elif":
                other = self.inside(self.branched)
            else:
                self.advance()
                self.expect(":")
                other = self.inside(lambda: self.block(own))
        self.guard = outer
        for guard, _ in self.returned[before:]:
            self.guard = self.both(self.guard, self.tree(Op("not", at), guard), at)
        if other:
            self.scope = taken
        elif not ended:
            self.merge(holds, taken, self.scope, at)
        return ended and other

    def both(self, outer: Tree, holds: Tree, at: int) -> str:
        """The name of two conditions together."""
        return self.kept_step("where", self.tree(Op("both", at), outer or 1, holds))

    def ended(self) -> Tree:
        """The value of what was returned; where nothing is, -1 of a loop, which does not store there, and none
        of a function."""
        value = self.tree(Op("neg", self.at), 1) if self.kept is not None else self.tree(Op("missing", self.at))
        for guard, name in reversed(self.returned):
            value = self.tree(Op("select", self.at), guard, name, value) if guard else name
        return value

    def merge(self, holds: Tree, taken: dict[str, str], other: dict[str, str], at: int) -> None:
        """The names behind an `if`: those of one branch alone have no value there."""
        self.scope = {name: called for name, called in other.items() if name in taken}
        for name, called in self.scope.items():
            if taken[name] != called:
                self.scope[name] = self.kept_step(name, self.tree(Op("select", at), holds, taken[name], called))

    def kept_step(self, name: str, value: Tree) -> str:
        """A value under a name that no other has."""
        self.branches += 1
        called = f"{name}{self.suffix} .{self.branches}"
        self.steps.append((called, self.tree(Op("select", self.at), self.guard, value, 0) if self.guard else value))
        return called

    def column_here(self) -> int:
        return self.column_of(self.at)

    def column_of(self, at: int) -> int:
        """The column of a statement; of what stands on the line of another, that place: it is to the right of it."""
        return at - self.original.rfind("\n", 0, at) - 1

    def require_inside(self) -> None:
        """Require that a statement behind a loop stands inside of it."""
        if self.column_here() <= self.column:
            self.fail("a statement behind a loop", "a loop at the end, and in it one store", "give the loop alone")

    def whole_expression(self) -> Tree:
        """An expression, which may be an address."""
        self.began, self.read_at = self.at, -1
        return self.based(self.expression())

    def assigned(self, found: re.Match[str]) -> Tree:
        """`x = ...` or `x += ...`: the value is that of the name."""
        name, operator = found[1], found[2]
        if operator and name not in self.scope:
            self.go_to(found.start(2))
            self.fail(f"a side effect: {operator}=", "an expression", "give the expression alone")
        self.require_own(name)
        self.go_to(found.end())
        value = self.whole_expression()
        self.require_unread()
        if operator:
            value = self.tree(Op(self.language.means.get(operator, operator), found.start(2)), self.scope[name], value)
        return self.step(name, value)

    def several_assigned(self, found: re.Match[str]) -> Tree:
        """`a, b = x, y`, and numpy's `a, b = broadcast_arrays(x, y)`, which changes no value."""
        names = [n.strip() for n in found[1].split(",")]
        for name in names:
            self.require_own(name)
        self.go_to(found.end())
        if divided := _DIVMOD.match(self.text, self.at):
            return self.divided(names, divided)
        if call := _BROADCAST.match(self.text, self.at):
            self.go_to(call.end())
        maps, self.maps = self.maps, False
        values = self.listed("()", self.expression) if call else self.several(";", self.expression)
        self.maps = maps
        if len(values) != len(names):
            self.fail(
                f"{len(values)} values for {len(names)} names", "one for each", "assign them one by one", found.start()
            )
        kept = [self.step(f"value {k}", value) for k, value in enumerate(values)]
        return [self.step(name, value) for name, value in zip(names, kept)][-1]

    def divided(self, names: list[str], found: re.Match[str]) -> Tree:
        """`q, r = divmod(x, y)`."""
        at = self.at
        self.go_to(found.end())
        given = self.listed("()", self.expression)
        if len(given) != 2 or len(names) != 2:
            self.fail(f"divmod of {len(given)} values for {len(names)} names", "two", "write q, r = divmod(x, y)", at)
        values = [self.kept_step("value", value) for value in given]
        ops = [Op(self.language.means.get(op, op), at) for op in ("//", "%")]
        return [self.step(name, self.tree(op, *values)) for name, op in zip(names, ops)][-1]

    def require_own(self, name: str) -> None:
        """Require that a name is none from outside of a loop."""
        if name in (self.kept or ()):
            self.carried(name)

    def step(self, name: str, value: Tree) -> str:
        """Give a name of the text a value, which is an operation: what the value is called."""
        self.count()
        if self.guard:
            self.scope[name] = called = self.kept_step(name, value)
            return called
        self.scope[name] = called = name + self.suffix
        self.steps.append((called, value))
        return called

    # ---------------------------------------------------------------------------------------------- functions

    def routine_here(self) -> str:
        """Read `def f(a, b): ... return ...`, `f = lambda a, b: ...` or a lambda, in an index map too: its name; "" for
        other things."""
        at, assigned = self.at, _ASSIGNED.match(self.text, self.at)
        begins = assigned.end() if assigned else at
        wrapper = _INDEX_MAP.match(self.text, begins)
        found = _LAMBDA.match(self.text, wrapper.end() if wrapper else begins)
        whole = not found and self.take("def")
        name = assigned[1] if assigned else self.name() if whole else "lambda"
        found = _PARAMETERS.match(self.text, self.at) if whole else found
        if not found and not whole:
            return ""
        if not found:
            self.unexpected("the parameters of a function and its colon, as in def f(i, j):")
        plain, defaults = list[str](), list[Tree]()
        place = found.start(1)
        for text in found[1].split(","):
            if text.strip():
                plain.append(self.parameter(text, place, defaults))
            place += len(text) + 1
        if len({*plain}) < len(plain):
            self.fail("two parameters of one name", "each name once", "give it another name", at)
        self.go_to(found.end())
        self.wrapped = bool(wrapper)
        self.routines[name] = self.body(plain, tuple(defaults), self.column_of(at) if whole else None)
        self.wrapped = False
        if wrapper:
            self.past_options()
        return name

    def past_options(self) -> None:
        """Go past the other arguments of what makes an index map, and its bracket."""
        while found := _OPTION.match(self.text, self.at):
            self.go_to(found.end())
        self.take(",")
        self.expect(")", "behind an index map")

    def parameter(self, text: str, at: int, defaults: list[Tree]) -> str:
        """The name of a parameter; what it is by default is added to those before."""
        found = _PARAMETER.match(text)
        if not found:
            self.fail(f"the parameter {text.strip():.40}", "a name, as in i", at=at)
        if found[2] is not None:
            self.go_to(at + found.start(2))
            defaults.append(super().expression())
        elif defaults:
            self.fail(
                f"the parameter {found[1]:.40} without a default behind one with it", "defaults at the end", at=at
            )
        return found[1]

    def body(self, plain: Sequence[str], defaults: tuple[Tree, ...], column: int | None) -> PythonRoutine:
        """Read the body of a function, whose names are its own: of a lambda an expression, else statements to the right
        of a column."""
        outer = {**self.scope}, self.steps, self.suffix, self.maps, self.guard, self.reads, self.kept, self.returned
        operations = self.operations
        self.guard, self.reads, self.kept, self.returned = "", set(), None, []
        self.made += 1
        self.steps, self.suffix, self.maps = [], f" {self.made}", True
        names = tuple(p + self.suffix for p in plain)
        self.scope.update(zip(plain, names))
        if column is not None and not self.block(column) and not self.returned:
            self.unexpected("return, and the offset")
        value = self.whole_expression() if column is None else self.ended()
        if column is not None and self.to_statement() and self.column_here() > column:
            self.unexpected("the end of the function behind return")
        reads = self.reads if column is not None else {self.read_at >= 0}
        if len(reads) > 1:
            self.fail("a function that returns an element here and a value there", "one of them", "return the index")
        found = PythonRoutine(names, defaults, tuple(self.steps), value, self.operations - operations, True in reads)
        self.scope, self.steps, self.suffix, self.maps, self.guard, self.reads, self.kept, self.returned = outer
        return found

    def called(self, name: str, at: int) -> Tree:
        """A call of a function that the text has."""
        routine = self.routines[name]
        if routine.reads:
            self.data(name, at)
        given = self.listed("()", self.expression)
        lacks = len(routine.parameters) - len(given)
        given += routine.defaults[-lacks:] if 0 < lacks <= len(routine.defaults) else []
        given = self.arguments(given, len(routine.parameters), name, at)
        return self.call_of(routine, routine.parameters, given, routine.value, at)

    # -------------------------------------------------------------------------------------------- expressions

    def expression(self, least: int = 0) -> Tree:
        value = super().expression(least)
        if least or self.depth or not self.maps or self.wrapped or self.token != ",":
            return value
        op, parts = self.named("results"), [value]
        while self.token:
            self.count()
            parts.append(super().expression())
            if not self.take(","):
                break
        return self.tree(op, *parts)

    def operand(self) -> Tree:
        value = self.operand_alone()
        return self.power(value) if self.token == "**" else value

    def power(self, base: Tree) -> Tree:
        """A name to a power that is known, as a product; 2**x as a shift."""
        op = self.named("**")
        exponent = self.inside(self.operand)
        if isinstance(base, int) and isinstance(exponent, int) and 0 <= exponent < 64 and base**exponent < 2**63:
            return int(base**exponent)
        if isinstance(base, str) and isinstance(exponent, int) and 0 < exponent < 64:
            factors: list[Tree] = [base] * exponent
            return functools.reduce(lambda one, other: self.tree(Op("*", op.at), one, other), factors)
        if not isinstance(base, int) or base < 2 or base & (base - 1):
            self.fail("a power of two values", "2**x, or a name to a number, as in x**3", "write its products", op.at)
        return self.tree(Op("<<", op.at), 1, self.tree(Op("*", op.at), exponent, base.bit_length() - 1))

    def operand_alone(self) -> Tree:
        if not self.maps or self.token not in ("(", "["):
            return super().operand()
        at, brackets = self.at, "()" if self.token == "(" else "[]"
        values = self.listed(brackets, self.expression, empty=False)
        return self.tree(Op("results", at), *values) if len(values) > 1 or brackets == "[]" else self.passed(values[0])

    def free(self, name: str, at: int) -> str:
        return self.scope.get(name) or super().free(name, at)

    def is_base(self, name: str) -> bool:
        return name.partition(" ")[0].endswith(("ptr", "PTR", "Ptr"))

    def call(self, name: str, at: int) -> Tree:
        """A call; `tl.arange(0, 64)` is a coordinate of its own."""
        if name in self.routines:
            return self.called(name, at)
        last = name.split(".")[-1]
        if last == "Piecewise":
            return self.pieces(at)
        if last in ("program_id", "num_programs") and (found := _PROGRAM.match(self.text, self.at)):
            self.go_to(found.end())
            return super().free(f"{name}({found[1]})", at)
        if last != "arange":
            return super().call(name, at)
        given = self.listed("()", self.expression)
        if len(given) not in (1, 2) or given[:-1] not in ([], [0]):
            what = f"{name}: {len(given)} arguments"
            self.fail(what, "an arange from 0", "write tl.arange(0, 64), and add where it begins", at)
        name = f"arange{len(self.aranges)}"
        self.aranges.append(name)
        self.steps.append((name, self.tree(Op("extent", at), super().free(name, at), given[-1])))
        return name

    def pieces(self, at: int) -> Tree:
        """sympy's Piecewise((value, condition), ...)."""
        given = self.listed("()", lambda: self.listed("()", self.expression))
        value = self.tree(Op("missing", at))
        for piece in reversed(given):
            if len(piece) != 2:
                self.fail(f"{len(piece)} parts of a piece", "a value and a condition", "write (value, condition)", at)
            value = self.tree(Op("select", at), piece[1], piece[0], value)
        return value

    def by_axis(self) -> tuple[str, ...]:
        """The coordinates that are aranges, by their axes in x[:, None], else as they are written."""
        axes = {**self.axes}
        for name, tree in reversed(self.steps):
            if name in axes:
                axes.update({n: axes[name] for n in names_of(tree) if n not in axes})
        return tuple(sorted(self.aranges, key=lambda n: axes.get(n, "[").replace("None", "").find(":")))
