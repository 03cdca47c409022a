"""Vector cores behind a product, and the flags between them and their core for matrices. A `plan` is the Plan of block.py,
which stands on this.

Over unified buffers Fixpipe moves all of a block to one vector core, or half of it to each of two, and these move it to
global memory, with an activation computed on the way. Over a workspace in global memory each of two takes its tiles of a
block from there, and moves what it makes of them to the result.

Source: CATLASS `KernelMatmulMixFixpipeOpti` (examples/46), `CopyL0CToUBTla`; `MatmulActivation` (examples/27),
`GroupedMatmulSliceMGelu`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...algebra.codomain import cosize
from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import quoted
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div, smaller
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture
from ..tags import RowMajor, Tag
from ..transfers.halves import SPLITS, half_of
from ..transfers.instruction import TransferInstruction
from ..transfers.moved import ROWS
from ..transfers.side import tensor_at
from ..transfers.steps import choose
from .activations import BESIDE, Activation, Box, boxes, tile_flags
from .queues import MOST_UP
from .statements import Part, SetFlag, WaitFlag

#: The ways over unified buffers.
SPLIT_MODES = ("NO_SPLIT", *SPLITS)
#: The ids of the flags between a core for matrices and its vector cores: a buffer is empty; it is full.
EMPTY, FULL = 6, 8
#: The columns of which tiles of UB that are chosen have whole numbers: whole 32 bytes of each type.
COLUMNS = 16
#: The most stages of a unified buffer, each with an id of its own.
MOST_UB = FULL - EMPTY
#: The ids of the flags by which a block in the workspace is there, and by which those so far have been waited for.
THERE, TAKEN = 0, 1


def require_split(
    split: object, arch: Architecture, c: tuple[Element, Tag], total: Element, adds: bool, quant: str
) -> None:
    """LeafTypeError for another way, and for results that do not take it."""
    if not isinstance(split, str) or split not in SPLIT_MODES:
        expected = f"None, or one of {', '.join(SPLIT_MODES)}"
        raise LeafTypeError(f"split={quoted(split, 40)} of a block", expected, "leave it out")
    for wrong, what, expected in (
        ("AtlasA" in arch.name, f"on {arch}", "on Ascend950"),
        (c[1] is not RowMajor, f"with C of the tag {c[1]}", "C of RowMajor"),
        (split in SPLITS and c[0] != total, f"with C of {c[0]}", f"c={total}: nothing is converted on the way to two"),
        (
            split in SPLITS and quant != "NO_QUANT",
            f"with quant={quant!r}",
            "no quant=: nothing is scaled on the way to two",
        ),
        (adds, "with slices of k that are added", "whole sums"),
    ):
        if wrong:
            raise LeafTypeError(f"split={split!r} {what}", expected, "leave out split=")


def require_whole_halves(split: str, unit_flag: bool, widths: set[int], c: Element) -> None:
    """LeafTypeError for unit flags where Fixpipe takes fractals that no Mmad makes, as it would wait for them: where halves
    of columns have such, and where 32 bytes of a row of C do."""
    odd = sorted(n for n in widths if -(-n // 16) % 2)
    if unit_flag and odd and (split == "SPLIT_N" or int(c.C0) > ROWS):
        what = f"unit_flag=True with split={split!r} of blocks of {odd[0]} columns of {c}"
        raise LeafTypeError(what, "an even number of columns of 16 in each block", "leave out unit_flag")


def share(plan: Any, m: Any, n: Any, core: int) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """The part of a block of (m, n) that a vector core has: where it begins, and its sizes, 0 or less where it has none; all
    of it over a workspace, of which both take tiles in turn."""
    if plan.split in (None, "NO_SPLIT"):
        return (0, 0), (m, n)
    mode = SPLITS[plan.split][0]
    whole = (m, n)[mode]
    half = half_of(plan.split, whole)
    start, left = core * half, smaller(half, whole - core * half)
    return ((start, 0), (left, n)) if mode == 0 else ((0, start), (m, left))


def room_of_tiles(plan: Any, stages: int) -> tuple[tuple[int, int], int]:
    """The rows and columns of the largest tile of UB that is chosen, and the bytes that there are for tiles.

    stages   of C that UB has, 0 over a workspace
    """
    (m, n, _), room = plan.tiling.l1, plan.arch.sizes["UB"]
    high, wide = share(plan, m, n, 0)[1]
    if plan.split is None:
        return (-(-high // BESIDE), wide), room
    return (high, wide), room - stages * int(cosize(in_ub(plan, m, n))) * plan.c.element.bits // 8


def in_ub(plan: Any, m: Any, n: Any) -> Layout:
    """The layout of what a vector core has of a block of (m, n): rows of whole 32 bytes, with room for what is written; where
    something is computed of it, as far apart as those of a whole block."""
    (high, wide), c0 = share(plan, m, n, 0)[1], int(plan.c.element.C0)
    whole = n if plan.activation is None else plan.tiling.l1[1]
    room = half_of("SPLIT_N", whole) if plan.split == "SPLIT_N" else whole
    layout: Layout = RowMajor.MakeLayout(plan.c.element, high, wide, ld=ceil_div(room, c0) * c0)
    return layout


def from_ub(plan: Any, start: tuple[int, int], sizes: tuple[int, int], core: int) -> tuple[TransferInstruction, ...]:
    """The instructions that move what a vector core has of a block to global memory; none where it has nothing."""
    (row, column), part = share(plan, *sizes, core)
    if min(part) <= 0:
        return ()
    src = GetTile(tensor_at("UB", in_ub(plan, *sizes)), (0, 0), part)
    dst = GetTile(tensor_at("GM", plan.c.layout), (start[0] + row, start[1] + column), part)
    made: tuple[TransferInstruction, ...] = plan.move(src, dst, plan.c.element)
    return made


def buffer_rows(plan: Any) -> Iterator[tuple[str, str, Element, Layout, str]]:
    """The buffers of vector cores: C of a block or of a tile, and what an activation makes of a tile."""
    (m, n, _), c = plan.tiling.l1, plan.c.element
    of: Activation | None = plan.activation
    for i in range(plan.vectors):
        if plan.split is not None:
            yield f"ub{i}C", f"UB{i}", c, in_ub(plan, m, n), "UB"
        if of is not None:
            came = [("C", c)] * (plan.split is None)
            yield from ((f"ub{i}{name}", f"UB{i}", e, of.layout(e, of.tile), "tiles") for name, e in (*came, *of.made))


def tiles_of(plan: Any, sizes: tuple[int, int], core: int) -> list[Box]:
    """The tiles of a block that a vector core has: every second of the block, or all of its share of it."""
    if plan.split is None:
        return boxes(sizes, plan.activation.tile, core, BESIDE)
    (row, column), part = share(plan, *sizes, core)
    mine = boxes(part, plan.activation.tile, 0, 1) if min(part) > 0 else []
    return [((row + i, column + j), tile) for (i, j), tile in mine]


def came(plan: Any, sizes: tuple[int, int], core: int, box: Box) -> Tensor:
    """A tile of C in UB: in a buffer of its own, or in that of a vector core's share of a block of these sizes."""
    start, tile = box
    if plan.split is None:
        return tensor_at("UB", plan.activation.layout(plan.c.element, tile))
    first = share(plan, *sizes, core)[0]
    return GetTile(tensor_at("UB", in_ub(plan, *sizes)), (start[0] - first[0], start[1] - first[1]), tile)


def own_flags(plan: Any) -> Iterator[tuple[str, int]]:
    """The flags that say that a buffer of a vector core may be filled."""
    stages, pipe = range(plan.tiling.stages.get("UB", 0)), _first_pipe(plan)
    yield from ((f"AIV{i}.{pipe}_FIX", EMPTY + s) for i in range(plan.vectors) for s in stages)
    if plan.activation is not None:
        yield from (flag for i in range(plan.vectors) for flag in tile_flags(f"AIV{i}.", plan.split is None))


def _first_pipe(plan: Any) -> str:
    """The pipe of a vector core that takes C from its unified buffer."""
    return "MTE3" if plan.activation is None else "V"


def over_ub(plan: Any, out: Part, moves: Callable[[int], Iterable[Any]], stage: Any) -> Iterator[Any]:
    """A transfer of accumulators to unified buffers, and the statements of the vector cores then: moves, by the number of
    each."""
    cores, pipe = range(plan.vectors), _first_pipe(plan)
    yield from (WaitFlag(f"AIV{i}.{pipe}_FIX", EMPTY + stage) for i in cores)
    yield out
    yield from (SetFlag(f"FIX_AIV{i}.{pipe}", FULL + stage) for i in cores)
    for i in cores:
        yield WaitFlag(f"FIX_AIV{i}.{pipe}", FULL + stage)
        yield from moves(i)
        yield SetFlag(f"AIV{i}.{pipe}_FIX", EMPTY + stage)


def over_workspace(out: Part, moves: Callable[[int], Iterable[Any]], told: Any) -> Iterator[Any]:
    """A transfer of accumulators to the workspace, and the statements of the vector cores then.

    Each block has a place of its own there, so none waits for room. But a flag is a counter, which ends at MOST_UP: after
    so many blocks the core waits until the vector cores have waited for these.

    told   how many blocks they have been told of since then
    """
    cores = range(BESIDE)
    asks = [kind(f"AIV{i}.MTE2_FIX", TAKEN) for kind in (SetFlag, WaitFlag) for i in cores]
    yield from choose(told >= MOST_UP, asks, ())
    yield out
    yield from (SetFlag(f"FIX_AIV{i}.MTE2", THERE) for i in cores)
    for i in cores:
        yield WaitFlag(f"FIX_AIV{i}.MTE2", THERE)
        yield from moves(i)
