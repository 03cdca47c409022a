"""The grammar of MLIR's memory: addresses of loads and stores, through views of a memref, as expressions
of the coordinates.

Elements are counted from where the memory begins. The value of a text that loads or stores is the place of the last
that it does. Loops around it are coordinates.

Source: mlir.llvm.org, dialects memref, affine, scf, gpu and vector.
"""

from __future__ import annotations

import re

from ..codegen.proofs.reading import Tree
from .mlir_text import KINDS, Names, Routine as Map
from .mlir_views import MEMREF, VIEWS, MlirViews, View
from .reading import Address, Code, Op, names_of

#: What may stand behind the operands of an access: it changes no address.
_BEHIND = re.compile(r"\s*\{[^{}\n]{0,999}\}")
#: Operations of values that are no integers: they are not read, and what they give is data.
_OPAQUE = re.compile(
    r"(?:arith\.\w{1,20}f|math\.\w{1,20}|vector\.(?!load|store|transfer)\w{1,30}"
    r"|arith\.(?:constant|bitcast|[su]itofp)\b(?=[^\n]*[:o] (?:vector|f|bf|tensor)))\b[^\n]*"
)
#: Statements that are no access.
_PASSED = re.compile(r"(?:memref\.(?:dealloc|assume_alignment)|gpu\.barrier|nvvm\.barrier0)\b[^\n]*")
_LOADS = ("memref.load", "affine.load", "vector.load", "vector.transfer_read", "affine.vector_load")
_STORES = ("memref.store", "affine.store", "vector.store", "vector.transfer_write", "affine.vector_store")
_LOOPS = ("scf.for", "affine.for", "scf.parallel", "affine.parallel", "scf.forall")


class MlirText(MlirViews):
    """The grammar of MLIR with memory.

    data      names of what was read from memory, or is no integer, and where
    address   the place of the last load or store
    loops     the names of the coordinates that loops are
    looped    the functions that have loops
    """

    def __init__(self, text: str, language: str) -> None:
        self.data_names: set[str] = set()
        self.address: Tree | None = None
        self.loops: list[str] = []
        self.looped: set[str] = set()
        super().__init__(text, language)

    def code(self) -> Code:
        found = super().code()
        used = {name for tree in (*(tree for _, tree in found.steps), found.value) for name in names_of(tree)}
        inner = {tree[1]: name for name, tree in found.steps if isinstance(tree, tuple) and len(tree) == 2}
        unused = {n for n in found.parameters if self.loops and inner.get(n) not in used} | (self.opened - used)
        names = {name: at for name, at in found.names.items() if name not in unused}
        steps = tuple((name, tree) for name, tree in found.steps if name not in {inner.get(n) for n in unused})
        parameters = (*(n for n in found.parameters if n not in unused), *self.loops)
        return found._replace(names=names, parameters=parameters, steps=steps)

    # ---------------------------------------------------------------------------------------------- statements

    def is_statement(self) -> bool:
        """Whether an operation, a store or a loop stands here."""
        return super().is_statement() or self.token in (*_STORES, *_LOOPS) or bool(_PASSED.match(self.text, self.at))

    def statement(self) -> Tree | None:
        """An operation, a store, or a loop around these: the value, or the place in memory."""
        self.count()
        if found := _PASSED.match(self.text, self.at):
            self.go_to(found.end())
            return self.address
        if self.token in _STORES:
            return self.stored()
        if self.token in _LOOPS:
            return self.loop()
        return self.operation_here()

    def operand(self) -> Tree:
        return self.known(*self.value_name(), "index") if self.token[:1] == "%" else super().operand()

    def operation_here(self) -> Tree | None:  # type: ignore[override]
        """`%0 = ...`, of integers, of memrefs, or of what is read there; a view is no value."""
        mark, (name, at) = self.at, self.value_name()
        if self.token == ":":
            self.go_to(mark)
            return super().operation_here()
        self.expect("=", "and an operation")
        begin, word = self.at, self.token
        if found := _OPAQUE.match(self.text, self.at):
            self.go_to(found.end())
            self.data_names.add(name)
            return self.address
        if word in _LOADS:
            self.advance()
            self.data_names.add(name)
            return self.accessed(begin)
        if word == "memref.dim":
            self.advance()
            return self.step(name, self.dimension(begin), "index")
        made = VIEWS.get(word)
        if made is None:
            self.go_to(mark)
            return super().operation_here()
        if name in self.views:
            self.fail(f"%{name:.40} has two values", "each name once", "give it another name", at)
        self.advance()
        self.views[name] = made(self, begin)
        return self.address

    def known(self, name: str, at: int, kind: str) -> str:
        if name in self.data_names:
            self.data(f"%{name}", at)
        return super().known(name, at, kind)

    # ---------------------------------------------------------------------------------------------- accesses

    def accessed(self, at: int) -> Tree:
        """`%m[%i, %j] : memref<64x64xf32>`: the place of the element. Outside of functions the type says a
        memref that is new."""
        name, place = self.value_name()
        indices = self.listed("[]", self.expression)
        typed = self.past_types(name)
        view = self.views.get(name) or (None if self.suffix else typed)
        if view is None:
            self.no_memref(name, place)
        if len(indices) != len(view.sizes):
            self.fail(
                f"{len(indices)} indices of %{name:.40}", str(len(view.sizes)), "give an index for each size", place
            )
        value: Tree = view.offset
        if view.map is not None:
            value = self.entered(view.map, [self.step_of(index, at) for index in indices], self.laid_out(view, at), at)
        for index, stride in zip(indices, view.strides):
            value = self.plus(value, self.times(index, stride))
        self.address = self.step_of(value, at)
        return self.address

    def step_of(self, value: Tree, at: int) -> str:
        """A value under a name of its own."""
        self.made += 1
        return self.step(f"place {self.made}", self.of_type(value, "index", at), "index")

    def past_types(self, name: str) -> View | None:
        """Go past what stands behind an access: padding, attributes and types, of which that of the
        memref is returned."""
        while self.take(","):
            self.value_name()
        if found := _BEHIND.match(self.text, self.at):
            self.go_to(found.end())
        self.expect(":", "and the types")
        view: View | None = None
        while True:
            view = self.memref(name, self.at) if MEMREF.match(self.text, self.at) else view if self.any_type() else None
            if not self.take(","):
                return view

    def stored(self) -> Tree:
        """`memref.store %x, %m[%i] : memref<64xf32>`."""
        at = self.at
        self.advance()
        self.value_name()
        self.expect(",")
        return self.accessed(at)

    # ---------------------------------------------------------------------------------------------- loops

    def loop(self) -> Tree | None:
        """`scf.for %i = %c0 to %n step %c1 { ... }`, `affine.for`, `scf.parallel (%i, %j) = ...`: each variable is a
        coordinate."""
        word, at = self.next(), self.at
        several = word not in ("scf.for", "affine.for")
        names = self.listed("()", self.value_name) if several else [self.value_name()]
        lows: list[Tree] = [0] * len(names)
        if not (several and self.take("in")):
            self.expect("=", "and where it begins")
            lows = self.bounds(several)
            self.expect("to")
        highs = self.bounds(several)
        steps = self.bounds(several) if self.take("step") else [1] * len(names)
        if self.token in ("iter_args", "init"):
            what = "a loop that carries values"
            self.fail(what, "one whose passes do not depend on one another", "write what they are in each pass")
        if not len(names) == len(lows) == len(highs) == len(steps):
            self.fail("bounds of another number than the loop's variables", "one for each", at=at)
        outer, views = {**self.scope}, {**self.views}
        for (name, place), low, high, step in zip(names, lows, highs, steps):
            self.variable(name, place, low, high, step)
        if self.take(":"):
            self.any_type()
        value = self.region(at)
        self.scope, self.views = outer, views
        return value

    def bounds(self, several: bool) -> list[Tree]:
        return self.listed("()", self.expression) if several else [self.expression()]

    def variable(self, name: str, at: int, low: Tree, high: Tree, step: Tree) -> None:
        """The variable of a loop: a coordinate with as many values as the loop has passes."""
        if name in self.scope or name in self.seen:
            self.fail(f"%{name:.40} has two values", "each name once", "give it another name", at)
        Address.free(self, name, at)
        count: Tree = self.tree(Op("ceil_div", at), self.tree(Op("-", at), high, low), step)
        self.steps.append((name, self.tree(Op("extent", at), name, count)))
        self.step(name, self.of_type(self.plus(low, self.times(name, step)), "index", at), "index")
        self.loops.append(name)

    def region(self, at: int) -> Tree | None:
        """The statements of a loop, whose last access is its value."""
        self.expect("{")
        while self.token != "}":
            self.count()
            if self.token in ("scf.yield", "affine.yield", "scf.reduce"):
                self.advance()
            else:
                self.inside(self.statement)
            self.past_attributes()
        self.expect("}")
        if self.address is None:
            self.fail(
                "a loop that neither loads nor stores", "an access in it", "write memref.load or memref.store", at
            )
        return self.address

    # ---------------------------------------------------------------------------------------------- functions

    def parameter(self) -> tuple[str, str] | None:
        name, at = self.value_name()
        self.expect(":")
        kind = None
        if MEMREF.match(self.text, self.at):
            self.views[name] = self.memref(name, at)
        elif self.token in KINDS:
            kind = self.type()
        else:
            self.any_type()
            self.data_names.add(name)
        self.past_attributes()
        return (name, kind) if kind else None

    def function(self) -> Map:
        outer = self.views, self.data_names, self.address
        self.views, self.data_names, self.address, self.loops = {**self.views}, {*self.data_names}, None, []
        found = super().function()
        self.views, self.data_names, self.address = outer
        self.looped |= {name for name, routine in self.routines.items() if routine is found and self.loops}
        return found

    def called(self, at: int) -> tuple[Tree, str]:
        if self.token in self.looped:
            self.fail(f"a call of {self.token:.40}, which has loops", "a function of one value", "give its text alone")
        return super().called(at)

    def result_type(self) -> str:
        return self.any_type()

    def returned(self, name: str, results: list[str], at: int, names: Names = ()) -> tuple[Tree, ...]:
        """The values that a function returns; of one that returns no integers, the place of its last access."""
        names = self.names_here() if self.token[:1] == "%" else []
        if self.address is None or ({*results} <= {*KINDS} and not {n for n, _ in names} <= self.data_names):
            return super().returned(name, results, at, names)
        if names:
            self.expect(":", "and the types")
            while self.any_type() and self.take(","):
                pass
        return (self.address,)
