"""Whole kernels drawn: for each statement that reads or writes memory, which thread has which element of each tensor.

It is of the first block and the first step of each loop, with 0 for what is read as an index, at sizes that the
program's facts allow, elements behind an edge included. A cell names the first thread that has the element, and which of
the thread's values it is. Registers and tensor memory have no cells: notes say what is there.

Source: ours; the cells are those of CuTe's print_latex of a TiledCopy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..core.errors import LeafTypeError, RangeError, printable
from ..core.int_tuple import leaves, product_each, size
from ..core.layout import Layout
from ..core.leaf_arithmetic import add
from ..kernels.kernel import Kernel
from ..kernels.program.statements import Access, Either, Loop, Program, Statement, accesses, word_of
from ..kernels.proofs.bounds import coordinate
from ..kernels.proofs.samples import small_sizes
from ..symbolic.evaluate import array_of
from ..symbolic.symint import poly_of
from .drawing import Drawing
from .scene import Figure
from .threads import Held, caption_of, checked_thread, grids_of, require_rule

if TYPE_CHECKING:
    import numpy.typing as npt

#: What is drawn by its statements.
KINDS = (Program, Kernel)
#: Of a statement's tensor no more integers, of the coordinates of all threads' elements, are looked at.
MOST_INTEGERS = 1 << 20


def drawn(x: Any, *, color_by: str, title: str | None, limit: int, thread: int | str | None) -> Drawing:
    """The drawing of a Program, as draw makes it: a figure for each statement that reads or writes memory.

    color_by   "thread" or "value"
    thread     the one whose cells alone have colours, and a star; None for all
    Raises     LeafTypeError for a Kernel, whose sizes are not known, and for a program that touches no memory
    """
    if isinstance(x, Kernel):
        fix = f"write draw({x.__name__}.program(...)), with the arguments that source takes"
        raise LeafTypeError(f"draw of {x!r}", "its program, for some arguments", fix)
    require_rule(color_by, x.name)
    chosen = None if thread is None else checked_thread(x, thread, {*range(x.threads)})
    sizes = small_sizes(x)
    figures = [*_figures(x, sizes, color_by, chosen, limit)]
    if not figures:
        what = f"draw of {x.name}, whose statements touch no memory"
        raise LeafTypeError(what, "a statement that reads or writes a tensor", "print it")
    known = (f"{n} = {v}" for n, v in sizes.items())
    about = [f"block 0 of {' by '.join(map(str, x.grid))}", f"{x.threads} threads", *known]
    first, name = figures[0], printable(x.name if title is None else title)
    figures[0] = first._replace(title=f"{name}, {first.title}", notes=(printable(", ".join(about)), *first.notes))
    return Drawing(tuple(figures), (), caption_of(color_by, chosen))


def _figures(
    program: Program, sizes: dict[str, int], color_by: str, thread: int | None, limit: int
) -> Iterator[Figure]:
    """A figure for each statement with memory; those without are a note of the next one."""
    import numpy as np

    first = {**sizes, str(program.thread): np.arange(program.threads)}
    first |= dict.fromkeys((*map(str, program.blocks), *program.reads), 0)
    named, before = program.namer(), list[str]()
    for s, loops, steps in _in_order(program.body, (), {}):
        sides: dict[str, dict[str, Access]] = {"writes": {}, "reads": {}}
        for verb, access in accesses(s):
            sides[verb].setdefault(named(access.tensor), access)
        what = f"{word_of(s)} {' = '.join(', '.join(side) for side in sides.values() if side)}".strip()
        each = {**sides["writes"], **sides["reads"]}
        found = {name: _tile(program, name, x, {**first, **steps}) for name, x in each.items()}
        tiles = {name: tile for name, tile in found.items() if tile is not None}
        if not tiles:
            before.append(f"{what} ({s.line})")
            continue
        step = ": the first step" * any(x.startswith("loop") for x in loops)
        notes = [f"in {' in '.join(loops)}{step}"] if loops else []
        notes += [_held(program, name, x) for name, x in each.items() if name not in tiles]
        notes += [f"after {', '.join(before)}"] if before else []
        grids, cut = grids_of([*tiles.values()], color_by, thread, limit)
        yield Figure(printable(f"{s.line}  {what}"), tuple(map(printable, [*notes, *cut])), grids)
        before.clear()


def _held(program: Program, name: str, access: Access) -> str:
    """The note of a tensor that has no cells: registers, or tensor memory."""
    of_threads = program.allocation_of(access.tensor) is None
    return f"{'each thread holds' if of_threads else 'in tensor memory'} {name}: {access.tensor.layout}"


_InLoops = tuple[Statement, tuple[str, ...], dict[str, int]]


def _in_order(body: Sequence[Statement], loops: tuple[str, ...], values: dict[str, int]) -> Iterator[_InLoops]:
    """Each statement with what is around it, the innermost first, and its loops' symbols in the first step."""
    for s in body:
        if isinstance(s, Loop):
            counted = ((s.step, 0), *((c.symbol, c.first) for c in s.counters))
            first = {str(symbol): value for symbol, value in counted}
            yield from _in_order(s.body, (f"loop({s.count})", *loops), {**values, **first})
        elif isinstance(s, Either):
            asked = " and ".join(f"{c} < {n}" for c, n in s.asked)
            yield from _in_order(s.inside, (f"when({asked})", *loops), values)
            yield from _in_order(s.otherwise, (f"when(not {asked})", *loops), values)
        else:
            yield s, loops, values


def _tile(program: Program, name: str, access: Access, values: dict[str, Any]) -> Held | None:
    """The box of a tensor in memory that the threads' elements are in, and who has each; None of registers."""
    t = access.tensor
    whole = next((x for x in program.shared if x.data is t.data), None)
    count = int(size(t.shape))
    if count > MOST_INTEGERS:
        raise _too_many(program, name, count, MOST_INTEGERS)
    if access.places is not None:
        layout = program.arguments[name].layout
        found = _of_threads(program, name, [coordinate(access.places, i) for i in range(count)], values)
    elif whole is None:
        return None
    else:
        layout = whole.layout
        offsets = _of_threads(program, name, [(add(t.offset, t.layout(i)),) for i in range(count)], values)
        found = _coordinates(layout)[offsets[..., 0]]
    if not found.size:
        return None
    corner, beyond = found.min(axis=(0, 1)), found.max(axis=(0, 1)) + 1
    down, *across = [1] * (found.shape[2] == 1) + [int(n) for n in beyond - corner]
    # from row to row, then along each mode across
    steps = [math.prod(across), *(math.prod(across[:k]) for k in range(len(across)))]
    places = ((found - corner) @ steps[-found.shape[2] :]).tolist()
    title = f"{name} {layout}" + (f" from ({','.join(map(str, corner))})" if corner.any() else "")
    named, columns = len(places) == program.threads, math.prod(across)
    title = title if named else f"{title}, of all threads"
    return Held(title, down, columns, [*range(len(places))], places, named=named)


def _of_threads(
    program: Program, name: str, elements: list[tuple[Any, ...]], values: dict[str, Any]
) -> npt.NDArray[Any]:
    """The integers of each thread's elements, by (thread, element, integer); of one thread if all have the same."""
    import numpy as np

    if not elements:
        return np.empty((program.threads, 0, 1), int)
    found = [array_of(poly_of(leaf), values) for element in elements for leaf in element]
    threads = max((x.size for x in found), default=1)
    if threads * len(found) > MOST_INTEGERS:
        raise _too_many(program, name, threads * len(elements), MOST_INTEGERS // len(elements[0]))
    table: npt.NDArray[Any] = np.array([np.broadcast_to(x, threads) for x in found]).T
    return table.reshape(threads, len(elements), -1)


def _too_many(program: Program, name: str, count: int, most: int) -> RangeError:
    """The error for more elements than a drawing has."""
    what = f"draw of {program.name}, whose threads have {count} elements of {name}"
    return RangeError(what, f"{most} at most", "print it, or draw it with smaller tiles")


def _coordinates(layout: Layout) -> npt.NDArray[Any]:
    """The coordinate of each offset of a layout of shared memory, one integer for each mode; -1 where nothing is."""
    import numpy as np

    extents = [*map(int, leaves(product_each(layout.shape)))]
    offsets = [int(layout(i)) for i in range(math.prod(extents))]
    found = np.full((max(offsets, default=0) + 1, len(extents)), -1)
    found[offsets] = np.stack(np.unravel_index(np.arange(len(offsets)), extents, order="F"), axis=1)
    return found
