"""A reader of what the texts of HLO and of Shardy both have of meshes: names of axes in quotes, their sizes, dimensions over them.

Source: XLA xla/hlo/parser/hlo_parser.cc; Shardy's attributes (shardy/dialect/sdy/ir/attrs.td).
"""

from __future__ import annotations

from collections.abc import Callable

from ...core.errors import TlaError
from ..shapes.grammar import R, Reader
from .mesh import REDUCTIONS, Axis, DimSharding


class MeshReader(Reader):
    """A reader of shardings over a mesh."""

    def made(self, at: int, make: Callable[..., R], *parts: object) -> R:
        """A value of its parts; where it refuses them, an error at `at`."""
        try:
            return make(*parts)
        except TlaError as error:
            self.fail(*error.reason, at=at)

    def reduction(self) -> str:
        """The reduction of the axes after `unreduced=`, a word before them; none is sum."""
        word = self.token
        if word not in REDUCTIONS:
            return "sum"
        self.advance()
        return word

    def mesh_axis(self) -> tuple[str, int]:
        name = self.name()
        self.expect("=", "and the size of an axis")
        return name, self.integer("the size of an axis")

    def dim_over(self, axis: Callable[[], Axis]) -> DimSharding:
        """A dimension: the axes that `axis` reads, in braces; with ? last it is open."""
        self.expect("{", "and the axes of a dimension")
        axes = self.listed("}", lambda: None if self.take("?") else axis())
        if None in axes[:-1]:
            self.fail("an axis after ?", "'}'", "write ? last")
        self.expect("}", "or ',' after an axis")
        return DimSharding(tuple(a for a in axes if a), axes[-1:] == [None])

    def name(self) -> str:
        quote = self.token[:1]
        if quote not in ("'", '"') or not quote:
            self.unexpected("the name of an axis in quotes")
        if len(self.token) < 2 or self.token[-1] != quote:
            self.fail("this name is not closed", quote)
        name = self.token[1:-1]
        self.advance()
        return name
