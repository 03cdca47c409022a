"""Activations of tiles in UB: the vector instructions of each, and the statements by which a vector core takes a tile through
UB.

An activation is a list of vector instructions, those of CATLASS's epilogue tiles, with a barrier between two as each reads
what the one before has written. UB has two stages of a tile, what comes and what leaves.

Source: CATLASS `TileElemWiseGelu`, `TileElemWiseSilu` (examples 27 and 28), `BlockEpilogue` of
`EpilogueAtlasA2ElemWiseNoSource`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from ...core.arithmetic import round_up
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import quoted
from ...core.ints import leaf
from ...core.layout import Layout, require_origin
from ...tensors.tensor import Tensor
from ..architecture import Architecture
from ..tags import RowMajor
from ..transfers.side import tensor_at
from ..vectors.instruction import VectorInstruction
from ..vectors.plan import vector
from .statements import Compute, Part, PipeBarrier, SetFlag, WaitFlag

V = TypeVar("V")

#: The vector cores beside a core for matrices, and the tiles that are in UB at a time.
BESIDE, STAGES = 2, 2


class Step(NamedTuple):
    """A vector instruction of an activation: its name, whether each source is in the buffer of what came (C) or of what is
    made (D), its scalar, and in which of them the result comes to lie."""

    name: str
    sources: str
    scalar: float | None = None
    dst: str = "D"


def _inverse(begin: tuple[Step, ...], over: float) -> tuple[Step, ...]:
    """The steps of over / (1 + exp(x)), where `begin` makes x: what came is not read any more, so its place takes numbers
    that are all `over`. AtlasA2 has no Divs, and how exact Reciprocal is no manual says."""
    return (*begin, *_EXP, Step("Duplicate", "", over, "C"), Step("Div", "CD"))


_EXP = (Step("Exp", "D"), Step("Adds", "D", 1.0))
_MINUS = (Step("Muls", "C", -1.0),)
#: Activation -> its instructions. GELU is by tanh: x / (1 + exp(-1.595769121 (x + 0.044715 x^3))); tanh is 1 - 2 / (1 +
#: exp(2 x)).
ACTIVATIONS: Mapping[str, tuple[Step, ...]] = {
    "gelu": (
        Step("Mul", "CC"),
        Step("Mul", "DC"),
        Step("Axpy", "C", 1 / 0.044715),
        Step("Muls", "D", -1.595769121 * 0.044715),
        *_EXP,
        Step("Div", "CD"),
    ),
    "silu": (*_MINUS, *_EXP, Step("Div", "CD")),
    "sigmoid": _inverse(_MINUS, 1.0),
    "tanh": (*_inverse((Step("Muls", "C", 2.0),), -2.0), Step("Adds", "D", 1.0)),
    "relu": (Step("Relu", "C"),),
    "leaky_relu": (Step("LeakyRelu", "C", 0.01),),
}

#: A part of a matrix: where it begins, and its sizes.
Box = tuple[tuple[int, int], tuple[int, int]]


def boxes(shape: tuple[int, int], tile: tuple[int, int], first: int, step: int) -> list[Box]:
    """The tiles of one of `step` vector cores, as CATLASS's EpilogueIdentityTileSwizzle deals them: every one so far
    behind the `first`."""
    (m, n), (rows, columns) = shape, tile
    every = itertools.product(range(0, m, rows), range(0, n, columns))
    return [((i, j), (min(rows, m - i), min(columns, n - j))) for i, j in [*every][first::step]]


@dataclass(frozen=True)
class Activation:
    """An activation of tiles in UB.

    name         of ACTIVATIONS;  arch  the architecture
    element, to  the types of what comes, which is computed in, and of what leaves
    tile         the rows and columns of a tile at most
    slope        of leaky_relu, what negative numbers are multiplied by

    Source: CATLASS `BlockEpilogue`.
    """

    name: str
    arch: Architecture
    element: Element
    to: Element
    tile: tuple[int, int]
    slope: float | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, with the slope of leaky_relu."""
        found = ACTIVATIONS[self.name]
        return found if self.slope is None else tuple(s._replace(scalar=self.slope) for s in found)

    @property
    def casts(self) -> bool:
        """Whether what is made becomes another type."""
        return self.to != self.element

    @property
    def made(self) -> list[tuple[str, Element]]:
        """The buffers of what is made, and of it in another type where it becomes one, each with its type."""
        return [("D", self.element), *([("Cast", self.to)] if self.casts else [])]

    def layout(self, e: Element, sizes: tuple[int, int]) -> Layout:
        """The layout of a tile in UB: rows of whole 32 bytes of both types, as far apart as those of a whole tile."""
        unit = max(int(self.element.C0), int(self.to.C0))
        made: Layout = RowMajor.MakeLayout(e, *sizes, ld=round_up(self.tile[1], unit))
        return made

    def taken(self, tile: tuple[int, int], comes: bool) -> int:
        """The bytes that the buffers of such tiles take of UB; comes: whether what comes has some of its own."""
        layout = replace(self, tile=tile).layout
        elements = [*([self.element] if comes else []), *(e for _name, e in self.made)]
        return sum(STAGES * tile[0] * int(layout(e, tile).stride[0]) * e.bits // 8 for e in elements)

    def leaving(self, sizes: tuple[int, int]) -> tuple[str, Tensor]:
        """The last buffer of a tile, and the tensor there."""
        name, e = self.made[-1]
        return name, tensor_at("UB", self.layout(e, sizes))

    def computed(
        self, prefix: str, stage: int | str, pipe: str, came: str, tile: Tensor
    ) -> Iterator[Part | PipeBarrier]:
        """The instructions of a tile, with a barrier between two.

        prefix   that the names of the buffers begin with;  stage  that they end with, "" of one that a name tells
        pipe     V, as the program calls it
        came     the buffer that the tile lies in, and the tensor there
        """
        m, n = map(int, require_origin("a tile", tile.layout))
        names = {"C": came, **{x: f"{prefix}{x}{stage}" for x, _e in self.made}}
        tensors = {"C": tile, **{x: tensor_at("UB", self.layout(e, (m, n))) for x, e in self.made}}
        for number, (dst, sources, made) in enumerate(self._planned(tensors)):
            yield from [PipeBarrier(pipe)] if number else []
            read = sources + dst * (len(made[0].elements) - 1 - len(sources))
            operands = (names[dst], *(names[x] for x in read))
            yield Part(f"{self.name}: {made[0].name}", None, None, tuple(Compute(operands, (i,)) for i in made))

    def _planned(self, tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, str, tuple[VectorInstruction, ...]]]:
        """The result, the sources and the instructions of each step."""
        for s in self.steps:
            more: dict[str, Any] = {"scalar": s.scalar, "element": self.element}
            sides = (tensors[s.dst], *(tensors[x] for x in s.sources))
            yield s.dst, s.sources, vector(s.name, *sides, arch=self.arch, **more)
        if self.casts:
            kinds = (self.to, self.element)
            yield "Cast", "D", vector("Cast", tensors["Cast"], tensors["D"], element=kinds, arch=self.arch)

    def applied(self, x: V, apply: Callable[[VectorInstruction, list[V]], V]) -> V:
        """Apply the activation to x.

        apply   gives what an instruction makes of its sources, of which the last may be what was there before
        """
        held, tensor = {"C": x, "D": x}, tensor_at("UB", Layout((8,), (1,)))
        made = ""
        for made, sources, (i, *_more) in self._planned(dict.fromkeys(("C", "D", "Cast"), tensor)):
            read = sources + made * (len(i.elements) - 1 - len(sources))
            held[made] = apply(i, [held[s] for s in read])
        return held[made]


def tile_flags(core: str, comes: bool) -> Iterator[tuple[str, int]]:
    """The flags that say that the buffers of tiles may be filled, before the first too.

    core    what the pipes of a vector core are called by, before their names: "" of a program of its own
    comes   whether tiles come from global memory
    """
    events = [f"{core}V_{core}MTE2"] * comes + [f"{core}MTE3_{core}V"]
    yield from itertools.product(events, range(STAGES))


def tile_statements(core: str, stage: Any, comes: Part | None, computed: Iterable[Any], leaves: Part) -> Iterator[Any]:
    """The statements of a tile: MTE2 fills a stage when V has read it, V writes one when MTE3 has.

    comes    the load of the tile; None of one that is in UB already
    """
    mte2, v, mte3 = (f"{core}{pipe}" for pipe in ("MTE2", "V", "MTE3"))
    if comes is not None:
        yield from (WaitFlag(f"{v}_{mte2}", stage), comes)
        yield from (SetFlag(f"{mte2}_{v}", stage), WaitFlag(f"{mte2}_{v}", stage))
    yield WaitFlag(f"{mte3}_{v}", stage)
    yield from computed
    yield from [SetFlag(f"{v}_{mte2}", stage)] if comes is not None else []
    yield from (SetFlag(f"{v}_{mte3}", stage), WaitFlag(f"{v}_{mte3}", stage))
    yield from (leaves, SetFlag(f"{mte3}_{v}", stage))


def require_activation(given: object) -> tuple[str, float | None]:
    """The name of an activation, and the slope of leaky_relu where it is given; LeafTypeError for others."""
    name, slope = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    if not isinstance(name, str) or name not in ACTIVATIONS:
        expected = f"one of {', '.join(ACTIVATIONS)}"
        raise LeafTypeError(f"the activation {quoted(given, 40)}", expected, "compute it by vector(), step by step")
    number = isinstance(slope, (int, float)) and not isinstance(slope, bool) and math.isfinite(slope)
    if name is not given and (name != "leaky_relu" or not number):
        expected = "of leaky_relu alone, a number"
        raise LeafTypeError(f"the activation {quoted(given, 40)} with a slope", expected, 'write ("leaky_relu", 0.01)')
    return name, slope


def require_pair(name: str, of: str, given: object) -> tuple[int, int]:
    """Rows and columns, an option of a name; LeafTypeError and RangeError for others."""
    what, fix = f"{name}={quoted(given, 40)} of {of}", f"write {name}=(64, 128)"
    if not isinstance(given, tuple) or len(given) != 2:
        raise LeafTypeError(what, "rows and columns", fix)
    rows, columns = (int(leaf(n)) for n in given)
    if min(rows, columns) < 1:
        raise RangeError(what, "1 or more of both", fix)
    return rows, columns
