"""The statements of a core and its vector cores for a product with an activation, of sizes that are not known.

Each block goes over the workspace or over unified buffers to vector cores, which have loops over their tiles, dealt as those
of a known size are. Of a tile only what there is comes and leaves; computed is all of its stage in UB, as CATLASS's tiles
are: what lies behind is of no element, and stays there.

Source: CATLASS `MatmulActivation`, `TileElemWiseGelu`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...core.ints import known
from ...core.layout import require_origin
from ...core.leaf_arithmetic import ceil_div, smaller
from ...symbolic.declare import dim, index
from ...tensors.views import GetTile
from ..transfers import Transfer
from ..transfers.side import tensor_at
from ..transfers.steps import Loop, choose
from .activations import BESIDE, STAGES, Activation, tile_statements
from .any_names import Sizes
from .any_sizes import AnyCore, in_gm
from .queues import MOST_UP
from .statements import Assign, Compute, Part
from .vector_cores import in_ub, over_workspace


class ActivatedCore(AnyCore):
    """The statements of a core, and of the two vector cores beside it, whose C goes through an activation to D."""

    @property
    def _of(self) -> Activation:
        assert self.plan.activation is not None
        return self.plan.activation

    def stages_of(self, name: str) -> int:
        """The number of stages, of tiles of a vector core too; and of what "told" counts."""
        return STAGES if name.startswith("tile") else MOST_UP + 1 if name == "told" else super().stages_of(name)

    def _shift(self, name: str) -> Any:
        if not name.startswith("ub") or (self.plan.split is not None and name.endswith("C")):
            return super()._shift(name)
        return self.stage[f"tile{name[2]}"] * self._size(name)

    def _moved_on(self, part: Part, made: Transfer) -> Iterable[Any]:
        if self.plan.split is not None:
            return super()._moved_on(part, made)
        told = self.stage["told"]
        return [*over_workspace(part, self._from_core, told), Assign(told, told % MOST_UP + 1)]

    def _from_core(self, core: int) -> Iterator[Any]:
        """The tiles of a vector core, row after row: every second of a block, or all of its share of one."""
        share = self._share(core)
        (rows, columns), (m, n) = self._of.tile, share.sizes
        step, first = (BESIDE, core) if self.plan.split is None else (1, 0)
        turn, count = (dim(f"ub{name}{core}", at_least=0) for name in ("Turn", "Tiles"))
        high, wide = dim(f"ubHigh{core}", at_most=rows), dim(f"ubWide{core}", at_most=columns)
        most, names, place = ceil_div(n.tile, columns), [*share.names], list[Assign]()
        across = _named(names, dim(f"ubAcross{core}", at_most=most), ceil_div(n.size, columns))
        names.append(Assign(count, ceil_div(m.size, rows) * across + (step - 1 - first)))
        yield from choose(share.there, names, [Assign(count, 0)])
        tile = step * turn + first
        down = _named(place, index(f"ubDown{core}", ceil_div(m.tile, rows)), tile // across)
        over = _named(place, index(f"ubOver{core}", most), tile % across)
        place += [
            Assign(high, smaller(rows, m.size - rows * down)),
            Assign(wide, smaller(columns, n.size - columns * over)),
        ]
        sides = (
            self.inside(m, rows * down, high, f"ubRestM{core}"),
            self.inside(n, columns * over, wide, f"ubRestN{core}"),
        )
        made = self._of_vector_tile(core, sides, (rows * down, columns * over))
        yield Loop(turn, count // step, (*place, *made, *self._next(f"tile{core}")))

    def _of_vector_tile(self, core: int, sides: tuple[Sizes, Sizes], start: tuple[Any, Any]) -> Iterator[Any]:
        """The statements of a tile, which begins there: moved to UB where it is not, computed, and moved to D."""
        plan, of, sizes = self.plan, self._of, (sides[0].size, sides[1].size)
        (last, out), (_, d) = of.leaving(sizes), plan.result
        comes, begin = None, in_ub(plan, *plan.tiling.l1[:2])(*start) if plan.split is not None else 0
        if plan.split is None:
            c = tensor_at("UB", of.layout(plan.c.element, sizes))
            made: Any = plan.move(in_gm(plan.c, sides), c, plan.c.element)
            self._within("C to UB", f"ub{core}C", c.layout, made.beyond, 8)
            comes = self._part("C to UB", f"ub{core}C", "C", made)
        self._within("D to GM", f"ub{core}{last}", out.layout, 0, 8)
        leaves = self._part("D to GM", "D", f"ub{core}{last}", plan.move(out, in_gm(d, sides), d.element))
        computed = self._computed(core, begin)
        yield from tile_statements(f"AIV{core}.", self.stage[f"tile{core}"], comes, computed, leaves)

    def _computed(self, core: int, begin: Any) -> Iterator[Any]:
        """The instructions that compute all of a stage; begin: where what came begins in its own [elements]."""
        plan, came = self.plan, f"ub{core}C"
        (m, n, _), tile = plan.tiling.l1, self._of.tile
        if plan.split is None:
            src = tensor_at("UB", self._of.layout(plan.c.element, tile))
        else:
            whole = in_ub(plan, m, n)
            src = GetTile(tensor_at("UB", whole), (0, 0), tuple(map(min, tile, require_origin("C", whole))))

        def moved_on(s: Compute) -> Compute:
            shifts = [self._shift(name) + (begin if name == came else 0) for name in s.operands]
            made = (replace(i, places=tuple(a + b for a, b in zip(i.places, shifts))) for i in s.instructions)
            return s._replace(instructions=tuple(made))

        for s in self._of.computed(f"ub{core}", "", f"AIV{core}.V", came, src):
            yield s._replace(body=tuple(map(moved_on, s.body))) if isinstance(s, Part) else s


def _named(names: list[Assign], variable: Any, value: Any) -> Any:
    """A name of a value, which comes behind other `names`; where the value is a number, that."""
    if known(value) is not None:
        return value
    names.append(Assign(variable, value))
    return variable
