"""The layouts of Axe, TVM's TIRx, read: axes with names, as a program writes them and as TVM prints them.

    text    = shards | "TileLayout" "(" shards ")"
            | "ComposeLayout" "(" integer "," integer "," integer "," text [ "," "swizzle_inner" "=" ( "True" | "False" ) ] ")"
    shards  = "S" box { "+" ( "R" box | step | "(" step { "+" step } ")" ) }
    box     = "[" row [ ":" row ] "]"                  without steps: compact, the last mode fastest
    row     = step { "," step } | "(" step { "," step } [ "," ] ")" | "(" ")"
    step    = integer [ "@" [ "Axis." ] name ]         a step without a name is of memory, m

"T." may stand before TileLayout, ComposeLayout, S and R.

    S[(8,4):(4@laneid,1)] + R[4:8@laneid]
    T.ComposeLayout(3, 3, 3, T.TileLayout(T.S[(8, 64):(64, 1)]))

Source: python/tvm/tirx/layout.py of TVM.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias, cast

from ..core.basis import E
from ..core.composed import ComposedLayout
from ..core.ints import Int, IntTree, static
from ..core.kinds import AnyLayout
from ..core.layout import Layout
from ..core.strides import compact_row_major
from ..core.swizzle import make_swizzle
from .peers import PeerReader

_1 = Int[1]()
#: How far, and along which axis.
Step: TypeAlias = "tuple[int, str]"


class AxeReader(PeerReader):
    """A reader of layouts with named axes. Each name is one mode of coordinates, in the order of their first
    appearance; where nothing has a name the values are offsets. Replicas are one more mode: all the places that
    hold an element."""

    tokens = r"-?[0-9]+(?![0-9A-Za-z_.])|[A-Za-z_]\w*|[][():,.+@=]"
    noun, example = "a layout of Axe", "write S[(8,4):(4@laneid,1)]"

    def value(self) -> AnyLayout:
        self.module()
        if self.take("TileLayout"):
            return self.enclosed("()", self.value, "a layout")
        return self.swizzled() if self.take("ComposeLayout") else self.shards()

    def module(self) -> None:
        """Go past the name of TVM's module."""
        if self.take("T"):
            self.expect(".")

    def swizzled(self) -> AnyLayout:
        """Offsets with bits xored: those that are read are above those that change, or below where
        swizzle_inner is False."""
        at = self.at
        base, bits, shift, layout, inner = self.enclosed("()", self.swizzle_and_layout, "a swizzle and a layout")
        begin: IntTree = static(0)
        if isinstance(layout, ComposedLayout) and layout.outer == Layout(_1, _1):
            begin, layout = layout.offset, layout.inner
        if not isinstance(layout, Layout) or not isinstance(layout(0), int):
            self.fail("a swizzle of axes with names, or of a swizzle", "one swizzle of memory", at=at)
        return cast(AnyLayout, ComposedLayout(make_swizzle(bits, base, shift if inner else -shift), begin, layout))

    def swizzle_and_layout(self) -> tuple[int, int, int, AnyLayout, bool]:
        numbers = []
        for _ in range(3):
            numbers.append(self.integer("a number of a swizzle", 0))
            self.expect(",")
        layout, inner = self.value(), True
        if self.take(","):
            self.expect("swizzle_inner")
            self.expect("=")
            inner = self.word(("True", "False"), "which bits change") == "True"
        return numbers[0], numbers[1], numbers[2], layout, inner

    def shards(self) -> AnyLayout:
        names: dict[str, int] = {}
        starts: list[Step] = []
        boxes = [self.box("S", names)]
        while self.take("+"):
            self.module()
            if self.token == "R":
                boxes.append(self.box("R", names))
            elif self.token == "(":
                starts += self.enclosed("()", lambda: self.sum(names), "where it begins")
            else:
                starts.append(self.step(names))
        if len(boxes) > 2:
            self.fail("several replicas", "one R[...]", "write them as one, R[(2,4):(1@a,2@a)]")
        named = {*names} - {"m"}
        sides = ([[pair[k] for pair in box] for k in (0, 1)] for box in boxes)
        made = [Layout(*(tuple(self.along(x, names, bool(named)) for x in side) for side in two)) for two in sides]
        layout = made[0] if len(made) == 1 else Layout(tuple(x.shape for x in made), tuple(x.stride for x in made))
        if not starts:
            return layout
        begin = dict.fromkeys(names, 0)
        for n, name in starts:
            begin[name] += n
        if not named:
            return cast(AnyLayout, ComposedLayout(Layout(_1, _1), static(begin["m"]), layout))
        identity = Layout((_1,) * len(names), tuple(E[k] for k in range(len(names))))
        return cast(AnyLayout, ComposedLayout(identity, tuple(map(static, begin.values())), layout))

    def along(self, step: Step, names: dict[str, int], named: bool) -> IntTree:
        n, name = step
        return E[names[name]] * static(n) if name and named else static(n)

    def sum(self, names: dict[str, int]) -> list[Step]:
        steps = [self.step(names)]
        while self.take("+"):
            steps.append(self.step(names))
        return steps

    def box(self, kind: str, names: dict[str, int]) -> list[tuple[Step, Step]]:
        """The extents with their steps."""
        self.module()
        self.expect(kind, "and [extents : steps]")
        return self.enclosed("[]", lambda: self.extents_and_steps(names), "extents and steps")

    def extents_and_steps(self, names: dict[str, int]) -> list[tuple[Step, Step]]:
        at, extents = self.at, self.row(lambda: (self.integer("an extent", 0), ""))
        if not extents and self.token != ":":
            self.fail("no extents", "one at least", at=at)
        if not self.take(":"):
            names.setdefault("m", len(names))
            return [*zip(extents, [(int(d), "m") for d in compact_row_major(tuple(n for n, _ in extents))])]
        steps = self.row(lambda: self.step(names))
        if len(extents) != len(steps):
            self.fail(f"{len(extents)} extents and {len(steps)} steps", "a step for each extent")
        return [*zip(extents, steps)]

    def row(self, read: Callable[[], Step]) -> list[Step]:
        return self.listed("()", read, "numbers") if self.token == "(" else self.several("", read)

    def step(self, names: dict[str, int]) -> Step:
        """A number along an axis; of memory, m, where none is named."""
        n = self.integer("a step")
        name = "m"
        if self.take("@"):
            if not self.token[:1].isalpha():
                self.unexpected("the name of an axis, such as laneid")
            name = self.next()
            if name == "Axis" and self.take("."):
                name = self.next()
        names.setdefault(name, len(names))
        return n, name
