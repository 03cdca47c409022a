"""Swizzles for the shared memory of CuTe's DSL: every Sw<b,m,s> that keeps the vectors whole, counted as
the kernel's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.composed import ComposedLayout
from ..core.errors import TlaError
from ..core.kinds import AnyLayout
from ..core.swizzle import Swizzle
from ..linear import bits
from .advice import Advice
from .costs import Cost, Costs
from .program import Program
from .tiled_copies import Side, sides

#: Operations that take a tensor of any layout. What they give of its address has to be unused.
_FREE = ("cute.tiled.copy.partition_S", "cute.tiled.copy.partition_D", "cute.tiled.mma.partition")
_OF_A_TENSOR = ("cute.get_iter", "cute.get_layout")
_MOST_BITS, _MOST_SHIFT = 5, 7


def swizzles(found: Costs) -> Iterator[Advice]:
    """Advice on memories with conflicts whose accesses are all by tiled copies."""
    groups: dict[str, list[tuple[Cost, Side]]] = {}
    for row in found.rows:
        for side in (
            sides(found.program, row.op, found.machine)
            if row.op.name == "cute.copy" and any(p.unit == "wavefronts" for p in row.parts)
            else ()
        ):
            if isinstance(side, Side) and side.space == "smem":
                groups.setdefault(side.memory, []).append((row, side))
    for memory, uses in groups.items():
        conflicts = any(p.cost != p.least for row, _ in uses for p in row.parts if p.unit == "wavefronts")
        if conflicts and _is_free(found.program, memory) and (advice := _better(found, uses)):
            yield advice


def _is_free(program: Program, memory: str) -> bool:
    """Whether nothing has the address of a memory but what takes any layout of it."""
    users = [op for op in program.ops if memory in op.operands]
    return all(
        op.name in _FREE
        or (op.name in _OF_A_TENSOR and (op.name == "cute.get_layout" or not program.used & {*op.results}))
        for op in users
    )


def _better(found: Costs, uses: Sequence[tuple[Cost, Side]]) -> Advice | None:
    """The swizzle by which all accesses of a memory take the fewest wavefronts, if that is fewer: of
    the fewest bits."""
    layout = uses[0][1].layout
    plain = layout.inner if isinstance(layout, ComposedLayout) and isinstance(layout.outer, Swizzle) else layout
    if any(side.layout != layout for _, side in uses) or (isinstance(plain, ComposedLayout)):
        return None
    now = _wavefronts(found, uses, layout)
    vector = max(side.counted(found.machine).access.vector // side.width for _, side in uses)
    best: tuple[AnyLayout, list[int]] | None = None
    for b in range(_MOST_BITS + 1):
        for shift in range(max(1, b), _MOST_SHIFT + 1):
            other = ComposedLayout(Swizzle[b, bits.log2(vector), shift](), 0, plain) if b else plain
            try:
                there = _wavefronts(found, uses, other)
            except TlaError:  # an access that the layout does not allow
                continue
            if sum(there) < sum(now if best is None else best[1]):
                best = other, there
    if best is None:
        return None
    before, after = (sum((row.times * n for (row, _), n in zip(uses, each)), 0) for each in (now, best[1]))
    rows = tuple(row for row, _ in uses)
    return Advice("swizzle", "", str(layout), str(best[0]), rows, "wavefronts", before, after, sum(now) - sum(best[1]))


def _wavefronts(found: Costs, uses: Sequence[tuple[Cost, Side]], layout: AnyLayout) -> list[int]:
    return [side.counted(found.machine, layout).access.total for _, side in uses]
