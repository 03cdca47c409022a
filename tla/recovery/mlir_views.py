"""The grammar of MLIR's memrefs: their types and the views of them, each an offset, sizes and strides.

A size, a stride or an offset of a parameter that its type leaves open (`?`) is a name whose value is given:
`m.size(0)`, `m.stride(1)`, `m.offset`.

Source: mlir.llvm.org, dialect memref, and MemRefLayoutAttrInterface.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ..codegen.proofs.reading import Tree
from .mlir_text import MlirProgram, Routine as Map
from .reading import Address, Op, names_of

MEMREF = re.compile(
    r"memref\s{0,9}<\s{0,9}(?:\*x)?((?:(?:[0-9]{1,12}|\?)\s{0,9}x\s{0,9}){0,16})(?:vector<[0-9x]{1,40}\w{1,9}>|complex<\w{1,9}>|[a-z]\w{0,20})"
)
TYPE = re.compile(r"!?[A-Za-z][\w.]{0,60}(?:<[^<>\n]{0,200}(?:<[^<>\n]{0,200}>[^<>\n]{0,200}){0,3}>)?")
_SPACE = re.compile(r"""[0-9]{1,9}(?:\s{0,9}:\s{0,9}i[0-9]{1,2})?|"[^"\n]{0,40}"|#[\w.]{1,60}(?:<[\w.]{1,60}>)?""")


class View(NamedTuple):
    """A memref: where it begins in its memory, and its sizes and strides; or by which map its coordinates lie."""

    offset: Tree
    sizes: tuple[Tree, ...]
    strides: tuple[Tree, ...]
    map: Map | None = None


class MlirViews(MlirProgram):
    """The grammar of MLIR with memrefs.

    views    memrefs by name
    opened   the names of what types leave open
    """

    def __init__(self, text: str, language: str) -> None:
        self.views: dict[str, View] = {}
        self.opened: set[str] = set()
        super().__init__(text, language)

    # ---------------------------------------------------------------------------------------------- types

    def memref(self, name: str, at: int) -> View:
        """The memref of a type; `name` is what its open sizes are called by."""
        found = MEMREF.match(self.text, self.at)
        if not found:
            self.unexpected("the type of a memref, such as memref<64x64xf32>")
        sizes = tuple(self.open(s, f"{name}.size({k})", at) for k, s in enumerate(re.findall(r"[0-9]+|\?", found[1])))
        self.go_to(found.end())
        view: View | None = None
        while self.take(","):
            if self.token in ("strided", "affine_map") or self.token in self.routines:
                view = self.strided(name, sizes, at) if self.token == "strided" else self.mapped(sizes)
            elif space := _SPACE.match(self.text, self.at):
                self.go_to(space.end())
            else:
                self.unexpected("a layout or a memory space")
        self.expect(">")
        return view or View(0, sizes, self.row_major_strides(sizes))

    def open(self, text: str, name: str, at: int) -> Tree:
        """A number of a type, or the name that stands for one that it leaves open."""
        if text != "?":
            return int(text)
        self.opened.add(name)
        return self.of_type(Address.free(self, name, at), "index", at)

    def row_major_strides(self, sizes: tuple[Tree, ...]) -> tuple[Tree, ...]:
        strides: list[Tree] = [1]
        for size in sizes[:0:-1]:
            strides.insert(0, self.times(size, strides[0]))
        return tuple(strides[: len(sizes)])

    def strided(self, name: str, sizes: tuple[Tree, ...], at: int) -> View:
        """`strided<[64, 1], offset: ?>`."""
        self.advance()
        self.expect("<")
        numbers = iter(range(len(sizes) + 1))
        strides = self.listed("[]", lambda: self.number_or_open(f"{name}.stride({next(numbers, 0)})", at))
        offset: Tree = 0
        if self.take(","):
            self.expect("offset")
            self.expect(":")
            offset = self.number_or_open(f"{name}.offset", at)
        self.expect(">")
        if len(strides) != len(sizes):
            self.fail(f"{len(strides)} strides of {len(sizes)} sizes", "a stride for each", at=at)
        return View(offset, sizes, tuple(strides))

    def number_or_open(self, name: str, at: int) -> Tree:
        if self.take("?"):
            return self.open("?", name, at)
        return self.signed()

    def signed(self) -> int:
        negative = self.take("-")
        if not self.token[:1].isdigit():
            self.unexpected("an integer or ?")
        value = self.number()
        assert isinstance(value, int)
        return -value if negative else value

    def mapped(self, sizes: tuple[Tree, ...]) -> View:
        """A memref whose coordinates lie as an affine map says."""
        at = self.at
        routine = self.routines[self.next()] if self.token in self.routines else self.affine_map()
        if routine.dimensions != len(sizes) or len(routine.parameters) != len(sizes):
            self.fail(f"a map of {len(routine.parameters)} coordinates for {len(sizes)} sizes", "one for each", at=at)
        return View(0, sizes, (), routine)

    def any_type(self) -> str:
        """A type of any kind; nothing is asked of it."""
        if MEMREF.match(self.text, self.at):
            self.memref(" ", self.at)
            return "memref"
        found = TYPE.match(self.text, self.at)
        if not found:
            self.unexpected("a type")
        self.go_to(found.end())
        return str(found[0])

    # ---------------------------------------------------------------------------------------------- arithmetic

    def times(self, a: Tree, b: Tree) -> Tree:
        return self._computed("*", operator.mul, 1, a, b)

    def plus(self, a: Tree, b: Tree) -> Tree:
        return self._computed("+", operator.add, 0, a, b)

    def _computed(self, op: str, of: Callable[[int, int], int], nothing: int, a: Tree, b: Tree) -> Tree:
        """The value of an operation: of numbers a number, and with `nothing` the other side."""
        if isinstance(a, int) and isinstance(b, int):
            return of(a, b)
        if nothing in (a, b):
            return b if a == nothing else a
        return self.tree(Op(op, self.at), a, b)

    def numbers(self) -> tuple[Tree, ...]:
        """`[%i, 4]`: values and numbers."""
        return tuple(
            self.listed(
                "[]", lambda: self.known(*self.value_name(), "index") if self.token[:1] == "%" else self.signed()
            )
        )

    def constant_of(self, value: Tree) -> int | None:
        """The number that a value is; None where it is not known here."""
        step: Any = (
            next((tree for name, tree in self.steps if name == value), None) if isinstance(value, str) else value
        )
        while isinstance(step, tuple) and str(step[0]).startswith("as "):
            step = step[1]
        return step if isinstance(step, int) else None

    # ---------------------------------------------------------------------------------------------- maps

    def laid_out(self, view: View, at: int) -> Tree:
        """The value of a map: one, or several, which are coordinates of the least box from 0 that has all
        of the memref's."""
        routine = view.map
        assert routine is not None
        if len(routine.values) == 1:
            return routine.values[0]
        sizes = [self.constant_of(size) for size in view.sizes]
        if None in sizes:
            self.fail(
                "a map to several values of a memref whose sizes are open", "numbers", "give the sizes in the type", at
            )
        ranges = {p: (0, max(0, n - 1)) for p, n in zip(routine.parameters, sizes) if n is not None}
        value: Tree = 0
        for part in routine.values:
            named = [*names_of(part)]
            if len({*named}) < len(named):
                self.fail(
                    "a coordinate twice in one value of a map", "each once", "write the place as one expression", at
                )
            low, high = self.range_of(part, ranges, at)
            if low < 0:
                self.fail("a map to coordinates below 0", "0 or more", "add what it lacks", at)
            value = self.plus(self.times(value, high + 1), part)
        return value

    def range_of(self, value: Tree, ranges: dict[str, tuple[int, int]], at: int) -> tuple[int, int]:
        """The least and the greatest value of an affine expression: of its parts, which are exact where each name
        stands once."""
        if isinstance(value, int):
            return value, value
        if isinstance(value, str):
            return ranges[value]
        op, *parts = value
        (a, b), (c, d) = (*(self.range_of(part, ranges, at) for part in parts), (1, 1))[:2]
        if op == "neg":
            return -b, -a
        if op in ("+", "-"):
            return (a + c, b + d) if op == "+" else (a - d, b - c)
        if c != d or (op != "*" and c < 1):
            self.fail(
                f"the map's {op}", "sums, and products and quotients by numbers", "give the sizes in the type", at
            )
        if op == "%" and a // c != b // c:
            if "*" in _operations(parts[0]):
                what = "the map's remainder of a product"
                self.fail(what, "one of a sum of coordinates", "write the place as one expression", at)
            return 0, c - 1
        if op == "%":
            return a % c, b % c
        of: dict[str, Callable[[int], int]] = {
            "*": lambda x: x * c,
            "//": lambda x: x // c,
            "ceildiv": lambda x: -(-x // c),
        }
        return min(map(of[op], (a, b))), max(map(of[op], (a, b)))

    # ---------------------------------------------------------------------------------------------- views

    def _alloc(self, at: int) -> View:
        """`memref.alloc(%n) : memref<?x64xf32>`."""
        given = [self.known(*name, "index") for name in self.listed("()", self.value_name)]
        self.past_attributes()
        self.expect(":", "and the type")
        view = self.memref("alloc", at)
        is_open = [self.constant_of(size) is None for size in view.sizes]
        if sum(is_open) != len(given):
            self.fail(f"{len(given)} sizes of a memref with {sum(is_open)} that are open", "one for each ?", at=at)
        if not given or view.map is not None:
            return view
        values = iter(given)
        sizes = tuple(next(values) if opened else size for opened, size in zip(is_open, view.sizes))
        return View(view.offset, sizes, self.row_major_strides(sizes))

    def _get_global(self, at: int) -> View:
        """`memref.get_global @x : memref<64xf32>`."""
        self.advance()
        self.expect(":", "and the type")
        return self.memref("global", at)

    def _cast(self, at: int) -> View:
        """`memref.cast %m : memref<8x8xf32> to memref<?x?xf32>`."""
        return self.declared(self.view_here(), "to", at)

    def typed_view(self, separator: str) -> View:
        """The types behind a view, of which that of the result is returned."""
        self.past_attributes()
        self.expect(":", "and the types")
        self.any_type()
        self.expect(separator)
        return self.memref("result", self.at)

    def declared(self, view: View, separator: str, at: int) -> View:
        """A view, whose type stands behind it: refused where that says other numbers."""
        return self.agreed(view, self.typed_view(separator), at)

    def agreed(self, view: View, said: View, at: int) -> View:
        pairs = ((view.offset, said.offset), *zip(view.strides, said.strides), *zip(view.sizes, said.sizes))
        for a, b in pairs if said.map is None else ():
            one, other = self.constant_of(a), self.constant_of(b)
            if one is not None and other is not None and one != other:
                what = f"a view of {one} where its type says {other}"
                self.fail(what, "its own offset, sizes and strides", "give its type", at)
        return view

    def dimension(self, at: int) -> Tree:
        """`memref.dim %m, %c1 : memref<?x?xf32>`."""
        view = self.view_here()
        self.expect(",")
        name, place = self.value_name()
        which = self.constant_of(self.known(name, place, "index"))
        self.expect(":", "and the type")
        self.any_type()
        if which is None or not 0 <= which < len(view.sizes):
            self.fail("a size that is not known which", f"a constant, 0 to {len(view.sizes) - 1}", at=place)
        return self.of_type(view.sizes[which], "index", at)

    def plain(self, view: View, at: int) -> View:
        """A view by strides: one of a memref that a map lays out is not read."""
        if view.map is not None:
            self.fail(
                "a view of a memref that an affine map lays out", "one with strides", "load from the memref itself", at
            )
        return view

    def _subview(self, at: int) -> View:
        """`memref.subview %m[%i, 0] [8, 8] [1, 1] : memref<...> to memref<...>`, which may leave out sizes of 1."""
        view = self.plain(self.view_here(), at)
        offsets, sizes, steps = self.numbers(), self.numbers(), self.numbers()
        if not len(offsets) == len(sizes) == len(steps) == len(view.sizes):
            self.fail(
                "offsets, sizes and steps of other ranks", f"{len(view.sizes)} of each", "give one for each size", at
            )
        offset = view.offset
        for o, d in zip(offsets, view.strides):
            offset = self.plus(offset, self.times(o, d))
        said = self.typed_view("to")
        kept = list[int]()
        for k, size in enumerate(sizes):
            spare = len(sizes) - k > len(said.sizes) - len(kept)
            wanted = len(kept) < len(said.sizes) and self.constant_of(said.sizes[len(kept)]) == 1
            if not spare or wanted or self.constant_of(size) != 1:
                kept.append(k)
        if len(kept) != len(said.sizes):
            what = f"a result of {len(said.sizes)} sizes"
            self.fail(what, "those of the view, without some that are 1", "give its type", at)
        found = View(offset, tuple(sizes[k] for k in kept), tuple(self.times(steps[k], view.strides[k]) for k in kept))
        return self.agreed(found, said, at)

    def groups(self) -> list[list[int]]:
        """`[[0, 1], [2]]`: which sizes belong together."""
        return self.listed("[]", lambda: self.listed("[]", self.signed))

    def require_groups(self, groups: list[list[int]], count: int, of: int, at: int) -> None:
        if [k for group in groups for k in group] != [*range(count)] or len(groups) != of:
            self.fail(
                "groups that do not have each size once, in order", f"0 to {count - 1}", "write [[0, 1], [2]]", at
            )

    def _expand_shape(self, at: int) -> View:
        """`memref.expand_shape %m [[0, 1]] output_shape [4, 16] : memref<64xf32> into memref<4x16xf32>`."""
        view, found = self.plain(self.view_here(), at), self.groups()
        sizes = self.numbers() if self.take("output_shape") else ()
        said = self.typed_view("into")
        sizes = sizes or said.sizes
        self.require_groups(found, len(sizes), len(view.sizes), at)
        strides = list[Tree]()
        for group, stride in zip(found, view.strides):
            strides += [self.times(step, stride) for step in self.row_major_strides(tuple(sizes[k] for k in group))]
        return self.agreed(View(view.offset, sizes, tuple(strides)), said, at)

    def _collapse_shape(self, at: int) -> View:
        """`memref.collapse_shape %m [[0, 1]] : memref<4x16xf32> into memref<64xf32>`: sizes that follow on
        one another as one."""
        view, found = self.plain(self.view_here(), at), self.groups()
        said = self.typed_view("into")
        self.require_groups(found, len(view.sizes), len(said.sizes), at)
        sizes, strides = list[Tree](), list[Tree]()
        for group in found:
            size: Tree = 1
            stride: Tree | None = None
            for k in group[::-1]:
                if self.constant_of(view.sizes[k]) == 1:
                    continue
                if stride is not None and not self.same(view.strides[k], self.times(stride, size)):
                    what = "sizes that are not known to follow on one another"
                    self.fail(what, "contiguous ones", "collapse a memref without padding", at)
                stride = view.strides[k] if stride is None else stride
                size = self.times(size, view.sizes[k])
            sizes.append(size)
            strides.append(1 if stride is None else stride)  # of one element, at which the index is 0
        return View(view.offset, tuple(sizes), tuple(strides))

    def same(self, a: Tree, b: Tree) -> bool:
        """Whether two values are known to be one."""
        numbers = self.constant_of(a), self.constant_of(b)
        return a == b if None in numbers else numbers[0] == numbers[1]

    def _reinterpret_cast(self, at: int) -> View:
        """`memref.reinterpret_cast %m to offset: [%o], sizes: [8, 8], strides: [64, 1] : ...`: from where
        the memory begins."""
        self.view_here()
        parts = []
        for word, before in (("offset", "to"), ("sizes", ","), ("strides", ",")):
            self.expect(before)
            self.expect(word)
            self.expect(":")
            parts.append(self.numbers())
        (offset, *more), sizes, strides = parts[0] or (0, 0), *parts[1:]
        if more or len(sizes) != len(strides):
            self.fail("an offset, sizes and strides that do not fit", "one offset, and a stride for each size", at=at)
        return self.declared(View(offset, sizes, strides), "to", at)

    def _transpose(self, at: int) -> View:
        """`memref.transpose %m (i, j) -> (j, i) : ...`."""
        view, begin = self.plain(self.view_here(), at), self.at
        before = self.listed("()", self.name)
        self.expect("->")
        after = self.listed("()", self.name)
        said = self.typed_view("to")
        if sorted(before) != sorted(after) or len({*before}) != len(view.sizes):
            self.fail("a transpose that is no permutation", f"each of {len(view.sizes)} names once", at=begin)
        order = [before.index(name) for name in after]
        return self.agreed(
            View(view.offset, tuple(view.sizes[k] for k in order), tuple(view.strides[k] for k in order)), said, at
        )

    def view_here(self) -> View:
        """The memref of this name."""
        name, at = self.value_name()
        if name not in self.views:
            self.no_memref(name, at)
        return self.views[name]

    def no_memref(self, name: str, at: int) -> NoReturn:
        fix = "give the operation that makes it"
        self.fail(f"%{name:.40}, which is no memref here", "a parameter, an allocation or a view", fix, at)


#: Operations that make a memref.
VIEWS: dict[str, Callable[[MlirViews, int], View]] = {
    **dict.fromkeys(("memref.alloc", "memref.alloca"), MlirViews._alloc),
    **dict.fromkeys(("memref.cast", "memref.memory_space_cast"), MlirViews._cast),
    "memref.get_global": MlirViews._get_global,
    "memref.subview": MlirViews._subview,
    "memref.expand_shape": MlirViews._expand_shape,
    "memref.collapse_shape": MlirViews._collapse_shape,
    "memref.reinterpret_cast": MlirViews._reinterpret_cast,
    "memref.transpose": MlirViews._transpose,
}


def _operations(tree: Tree) -> set[str]:
    """The operations of a tree."""
    return {str(tree[0])}.union(*map(_operations, tree[1:])) if isinstance(tree, tuple) else set()
