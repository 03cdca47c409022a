"""The grammar of meshes that HLO and Shardy share: names of axes in quotes, their sizes, dimensions over them.

    axes = "[" [ name "=" int { "," name "=" int } ] "]"        of a mesh
    dim  = "{" [ axis { "," axis } ] [ [","] "?" ] "}"          axis = name [ ":(" int ")" int ]

Source: XLA xla/hlo/parser/hlo_parser.cc; Shardy's attributes (shardy/dialect/sdy/ir/attrs.td).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.errors import TlaError
from ...core.reader import R
from ..shapes.grammar import XlaReader
from .mesh import REDUCTIONS, Axis, DimSharding


class MeshReader(XlaReader):
    """A reader of shardings over a mesh. names: those of the axes of the mesh, when it is read."""

    names: tuple[str, ...] = ()

    def made(self, at: int, make: Callable[..., R], *parts: Any) -> R:
        """A value of its parts; where it refuses them, an error at `at`."""
        try:
            return make(*parts)
        except TlaError as error:
            self.fail(*error.reason, at=at)

    def integers(self, what: str) -> tuple[int, ...]:
        """Integers between commas, one at least."""
        return tuple(self.several("", lambda: self.integer(what)))

    def reduction(self) -> str:
        """The reduction of the axes after `unreduced=`, a word before them; none is sum."""
        return self.next() if self.token in REDUCTIONS else "sum"

    def mesh_axes(self) -> tuple[tuple[str, int], ...]:
        """The axes of a mesh: their names and sizes."""
        return tuple(self.listed("[]", self.mesh_axis, "the axes of a mesh"))

    def mesh_axis(self) -> tuple[str, int]:
        name = self.name()
        self.expect("=", "and the size of an axis")
        return name, self.integer("the size of an axis")

    def dims(self) -> tuple[DimSharding, ...]:
        """The axes of each dimension."""
        return tuple(self.listed("[]", self.dim, "the dimensions"))

    def dim(self) -> DimSharding:
        """The axes of a dimension; with ? last it is open."""
        axes = self.listed("{}", self.axis_or_open, "the axes of a dimension")
        return DimSharding(tuple(a for a in axes if a), axes[-1:] == [None])

    def axis_or_open(self) -> Axis | None:
        """An axis, or None of ?."""
        if not self.take("?"):
            return self.axis()
        if self.token == ",":
            self.fail("an axis after ?", "'}'", "write ? last")
        return None

    def axes(self) -> tuple[Axis, ...]:
        return tuple(self.listed("{}", self.axis, "axes"))

    def axis(self) -> Axis:
        at, name = self.at, self.name()
        if name not in self.names:
            what = f"axis {name!r:.40} is not in the mesh"
            self.fail(what, f"{', '.join(map(repr, self.names)) or 'none: it has no axes'}"[:200], at=at)
        if not self.take(":"):
            return Axis(name)
        before = "the product of the digits before, as in 'a':(1)2"
        pre = self.enclosed("()", lambda: self.integer(before), "a digit, as in 'a':(1)2")
        at, size = self.at, self.integer("the size of a digit, as in 'a':(1)2")
        if size < 2:
            self.fail(f"a digit of size {size}", "2 or more", "leave it out", at=at)
        return self.made(at, Axis, name, size, pre)

    def name(self) -> str:
        quote = self.token[:1]
        if quote not in ("'", '"') or not quote:
            self.unexpected("the name of an axis in quotes")
        if len(self.token) < 2 or self.token[-1] != quote:
            self.fail("this name is not closed", quote)
        return self.next()[1:-1]
