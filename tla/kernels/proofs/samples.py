"""Arguments of small sizes for a kernel whose sizes are symbols: for these it can run.

Source: ours.
"""

from __future__ import annotations

from typing import Any

from ...algebra.codomain import cosize
from ...core.composed import innermost
from ...core.int_tuple import leaves
from ...core.ints import known
from ...core.leaf_arithmetic import add
from ...symbolic import Condition, SymInt, at
from ...symbolic.facts import symbols_in
from ...symbolic.poly import Symbol
from ...symbolic.symint import poly_of
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ..program.elements import Scalar
from ..program.statements import Loop, Program
from ..run.trace import sizes_of

#: What extents are near to at least: no multiple of a tile.
_NEAR = 19
#: Steps that each loop has, and blocks that each mode of the grid has: a pipeline of three stages comes round, and
#: blocks meet.
_STEPS, _BLOCKS = 5, 2
#: How often an extent is doubled for these, and how often what that is too much is halved.
_MOST_DOUBLED, _HALVED = 10, 2
#: How many steps of its unit a size goes on to meet a condition: past every multiple that instructions ask for.
_MOST_STEPS = 256


def small_sizes(program: Program) -> dict[str, int]:
    """A value for each size that its facts allow, so that loops have several steps and grids several blocks.

    Of extents it is near to 19, or as often doubled as that takes, of a number of blocks 2; of strides the largest
    extent, or more, so that rows and batches do not overlap.
    """
    tensors = [x.layout for x in program.arguments.values() if isinstance(x, Tensor)]
    sizes = [n for layout in tensors for n in leaves(layout.shape)]
    extents = {s.name for n in sizes if known(n) is None for s in symbols_in(poly_of(n))}
    symbols = [s for n in sizes_of(program) for s in symbols_in(poly_of(n))]
    of_grid = {str(n) for n in program.grid}  # an extent that blocks are of one by one
    found = {s.name: _near(_BLOCKS if s.name in of_grid else _NEAR, s) for s in symbols if s.name in extents}
    largest = {name: add(s.below, -1) for name, s in program.reads.items()}  # as arguments_at has them
    counts = [(at(s.count, largest), _STEPS) for s in program.statements() if isinstance(s, Loop)]
    counts += [(n, _BLOCKS) for n in program.grid]
    for count, least in counts:
        _grow(found, count, least, symbols)
    widest = max([*found.values(), *(int(n) for n in sizes if known(n) is not None)], default=_NEAR)
    values = {s.name: found.get(s.name) or _near(widest, s) for s in symbols}
    for layout in tensors:
        _lay_apart(values, layout, {s.name: s for s in symbols if s.name not in found})
    for condition in program.conditions:
        _meet(values, condition, symbols)
    return values


def _lay_apart(values: dict[str, int], layout: Any, strides: dict[str, Symbol]) -> None:
    """Let strides grow until elements lie apart: each goes past all that modes of smaller ones have."""
    modes = [*zip(leaves(layout.shape), leaves(innermost(layout).stride))]
    of_symbol = [str(d) in strides for _n, d in modes]
    last = sum((int(at(n, values)) - 1) * int(at(d, values)) for (n, d), own in zip(modes, of_symbol) if not own)
    for n, d in (mode for mode, own in reversed([*zip(modes, of_symbol)]) if own):
        values[str(d)] = max(values[str(d)], _near(last + 1, strides[str(d)]))
        last += (int(at(n, values)) - 1) * values[str(d)]


def _meet(values: dict[str, int], condition: Condition, symbols: list[Symbol]) -> None:
    """Let one size of a condition grow until it holds, where that is soon."""
    for n in (s for s in symbols if s in condition.a.scope | condition.b.scope):
        for steps in range(_MOST_STEPS):
            wanted = values | {n.name: _near(values[n.name] + steps * n.unit, n)}
            if condition.at(wanted):
                values |= wanted
                return


def _grow(found: dict[str, int], count: Any, least: int, symbols: list[Symbol]) -> None:
    """Double the extents that a count is of until it is what is wanted or cannot grow; then less if that suffices."""
    about = [s for s in symbols if s.name in found and isinstance(count, SymInt) and s in symbols_in(poly_of(count))]

    def is_enough(sizes: dict[str, int]) -> bool:
        value = known(at(count, found | sizes))
        return value is None or value >= least

    low = high = {s.name: found[s.name] for s in about}
    for _time in range(_MOST_DOUBLED):
        if not is_enough(high):
            low, high = high, {s.name: _near(2 * high[s.name] + 1, s) for s in about}
    for _time in range(_HALVED):
        middle = {s.name: _near((low[s.name] + high[s.name]) // 2, s) for s in about}
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    found |= high


def _near(wanted: int, n: Symbol) -> int:
    """The multiple of a symbol's unit that is wanted or a little more, within the bounds that are numbers."""
    least, most = ([c for p in bounds if (c := p.const) is not None] for bounds in (n.lowers, n.uppers))
    return n.unit * min([max([-(-wanted // n.unit), *least]), *most])


def arguments_at(program: Program, values: dict[str, int]) -> tuple[Any, ...]:
    """A program's arguments at sizes. Elements that are read as integers are the largest that they may be, or each
    another one: loops that they count have steps then, and what they choose is the last."""
    found = {name: of_sizes(x, values) for name, x in program.arguments.items()}
    for s in program.reads.values():
        name, below = program.argument_of(s.source.tensor), known(at(s.below, values))
        if name is not None and below is not None:
            data = found[name].data
            data[:] = range(len(data)) if s.distinct else below - 1
    return tuple(found.values())


def of_sizes(x: Any, values: dict[str, int]) -> Any:
    """An argument at sizes: a tensor over a buffer of zeros, a number."""
    import numpy as np

    if isinstance(x, Scalar):
        return x.dtype.type(1)
    if isinstance(x, Tensor):
        layout = at(x.layout, values)
        return MakeTensor(np.zeros(max(1, int(cosize(layout))), x.dtype), layout)
    return x if known(x) is not None else int(at(x, values))
