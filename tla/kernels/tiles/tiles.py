"""Who holds which element of a tile: the parts of all threads, put together again.

A statement of a program is over the part of one thread. Here its elements are found for every thread and value, as
coordinates in a tile of the argument or of shared memory, apart from where the tile begins. A tile that is linear over
bits is a layout of Triton's.

Source: Linear Layouts, arXiv 2505.23819.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError
from ...core.int_tuple import product_each, size
from ...core.ints import Int, Leaf, known
from ...core.leaf_arithmetic import add
from ...core.questions import divides
from ...linear import LinearLayout, bits
from ...symbolic import SymInt
from ...symbolic.evaluate import array_of
from ...symbolic.facts import symbols_in
from ...symbolic.poly import poly
from ...symbolic.symint import poly_of, wrap
from ...tensors.tensor import Tensor
from ...tensors.transfer import all_offsets
from ..block.lines import Line
from ..program.offsets import Offsets
from ..program.statements import Access, Program
from ..proofs.bounds import coordinate

#: The rank from which the last mode of a tensor in shared memory is one of stages, of which a statement has one.
STAGED = 3
#: Threads of a warp: of NVIDIA's GPUs.
WARP = 32


class Argument(NamedTuple):
    """A part of an argument: of each integer of a coordinate the tile's first, and how far from it, (thread, value)."""

    name: str
    starts: tuple[Leaf, ...]
    at: tuple[Any, ...]


class Memory(NamedTuple):
    """A part of a tensor in shared memory: its number, the stage, if any, and (thread, value) -> each coordinate."""

    number: int
    stage: Leaf | None
    at: tuple[Any, ...]


class Columns(NamedTuple):
    """A part of tensor memory: the number of the allocation, the first column, and (thread, value) -> data path,
    column from there."""

    number: int
    start: Leaf
    at: tuple[Any, ...]


class Registers(NamedTuple):
    """A part of a thread's registers: the buffer, by its place in Python's memory, and the register of each value."""

    buffer: int
    at: tuple[int, ...]

    @property
    def piece(self) -> Piece:
        """The registers, each once, in order."""
        return self.buffer, tuple(sorted({*self.at}))


Side = Argument | Memory | Columns | Registers
Piece = tuple[int, tuple[int, ...]]


class Tile(NamedTuple):
    """A tile, and who holds its elements.

    shape    its extents, powers of two
    at       for each mode an array of (thread, value): the coordinate
    layout   Gluon's layout of it, where an instruction asks for one; else None
    whole    of a tile whose modes are some of another one's, that one, and the modes that it leaves out
    warp     the number of threads of a warp
    """

    shape: tuple[int, ...]
    at: tuple[Any, ...]
    layout: Any = None
    whole: tuple[Tile, tuple[int, ...]] | None = None
    warp: int = WARP

    def same(self, other: Tile) -> bool:
        """Whether each thread and value holds the same."""
        pairs = zip(self.at, other.at)
        return self.shape == other.shape and all(a.shape == b.shape and bool((a == b).all()) for a, b in pairs)

    @property
    def turned(self) -> Tile:
        """The tile with its modes the other way round."""
        return self._replace(shape=self.shape[::-1], at=self.at[::-1])

    def values(self, order: Sequence[int]) -> Tile:
        """The tile with its values in another order."""
        return self._replace(at=tuple(x[:, [*order]] for x in self.at))


def refused(line: Line, what: str, expected: str, fix: str) -> LeafTypeError:
    """The error of a statement that Gluon has no words for."""
    return LeafTypeError(f"{line}: {what}, in Gluon", expected, fix)


def side_of(program: Program, line: Line, access: Access) -> Side:
    """An access of all threads at once. Raises LeafTypeError where it is no tile."""
    name = program.argument_of(access.tensor)
    if name is not None:
        assert access.places is not None
        return of_argument(program, line, name, access.places)
    for number, held in enumerate(program.shared):
        if held.data is access.tensor.data:
            return _of_memory(program, line, number, access)
    allocation = program.allocation_of(access.tensor)
    if allocation is not None:
        found, rests = _places(line, Offsets(access.tensor), program.threads)
        if len(rests) > 1:
            what = "tensor memory from several columns on"
            raise refused(line, what, "one column, and the rest static", "cut it by static extents")
        columns = found % (1 << 16)
        start = add(next(iter(rests)), int(columns.min()))
        return Columns(allocation, start, (found >> 16, columns - columns.min()))
    parts = Offsets(access.tensor).parts
    if any(terms for terms, _number in parts):
        fix = "write Python's loop in place of loop(n)"
        raise refused(line, "registers that symbols choose", "registers by number", fix)
    return Registers(id(access.tensor.data), tuple(number for _terms, number in parts))


def of_argument(program: Program, line: Line, name: str, places: Any) -> Argument:
    import numpy as np

    each = [coordinate(places, i) for i in range(int(size(places.shape)))]
    starts, arrays = [], []
    for column in zip(*each):
        start, threads = split_thread(line, column[0], program.threads)
        steps = [known(add(x, -column[0])) for x in column]
        if None in steps:
            what = f"{name} at coordinates that are steps of unknown length apart"
            raise refused(line, what, "numbers", "give the tile a static shape")
        local = threads[:, None] + np.asarray(steps)[None, :]
        starts.append(add(start, int(local.min())))
        arrays.append(local - local.min())
    return Argument(name, tuple(starts), tuple(arrays))


def split_thread(line: Line, x: Any, threads: int) -> tuple[Leaf, Any]:
    """An integer as a sum of what has no thread in it, and an array of what each thread adds."""
    import numpy as np

    moving, fixed = [], []
    for term in poly_of(x):
        names = {n.name for n in symbols_in(poly([term]))}
        if "tid" not in names:
            fixed.append(term)
        elif names == {"tid"}:
            moving.append(term)
        else:
            what = f"a place of {wrap(poly([term]))}"
            raise refused(line, what, "a part of the thread, plus the rest", "cut the tile by static extents")
    found = array_of(poly(moving), {"tid": np.arange(threads)})
    return wrap(poly(fixed)), np.broadcast_to(found, threads)


def _of_memory(program: Program, line: Line, number: int, access: Access) -> Memory:
    import numpy as np

    held = program.shared[number]
    table = all_offsets(held).ravel(order="F")
    sizes = [int(size(m)) for m in product_each(held.layout.shape)]
    found, rests = _places(line, Offsets(access.tensor), program.threads)
    staged = len(sizes) >= STAGED
    step = _stage_step(line, table.reshape(sizes[-1], -1)) if staged else 0
    index = np.full(max(int(table.max()), int(found.max())) + 1, -1)
    index[table] = np.arange(table.size)
    at = index[found]
    if len(rests) > 1 or (not staged and any(known(x) != 0 for x in rests)) or (at < 0).any():
        what = f"smem{number} at places that are no coordinates of a tile"
        fix = "make the stage the last mode of three: shared(element, (M, K, STAGES))"
        raise refused(line, what, "one stage, and the rest static", fix)
    coordinates = []
    for n in sizes:
        coordinates.append(at % n)
        at = at // n
    if not staged:
        return Memory(number, None, tuple(coordinates))
    stage, rest = coordinates.pop(), next(iter(rests))
    if (stage != stage.flat[0]).any() or (known(rest) != 0 and divides(step, rest) is not True):
        raise refused(line, f"several stages of smem{number} at once", "one", "write tensor[_, _, stage(k, n)]")
    return Memory(number, add(_over(rest, step), int(stage.flat[0])), tuple(coordinates))


def stage_of(program: Program, line: Line, t: Tensor) -> tuple[int, Leaf | None]:
    """The tensor in shared memory that a tensor is all of, or all of a stage of: its number, and the stage."""
    number = next(k for k, held in enumerate(program.shared) if held.data is t.data)
    held = program.shared[number]
    sizes = [int(size(m)) for m in product_each(held.layout.shape)]
    terms, constant = Offsets(t).parts[0]
    first = functools.reduce(add, terms, Int[constant]())
    if len(sizes) < STAGED:
        return number, None
    step = _stage_step(line, all_offsets(held).ravel(order="F").reshape(sizes[-1], -1))
    if divides(step, first) is not True:
        raise refused(line, f"several stages of smem{number} at once", "one", "write tensor[_, _, stage(k, n)]")
    return number, _over(first, step)


def _over(x: Leaf, step: int) -> Leaf:
    value = known(x)
    return wrap(poly_of(x)) // step if value is None else Int[value // step]()


def _stage_step(line: Line, stages: Any) -> int:
    """The elements from one stage to the next."""
    step = int(stages[1, 0] - stages[0, 0]) if len(stages) > 1 else 0
    for k, row in enumerate(stages):
        if (row != stages[0] + k * step).any():
            what = "stages of shared memory that lie in other orders"
            raise refused(line, what, "stages of one layout", "use tile_to_shape")
    return step


def _places(line: Line, offsets: Offsets, threads: int) -> tuple[Any, set[Leaf]]:
    """The places of all threads and values, and what is added to all of them: the stage."""
    import numpy as np

    seen: dict[Any, tuple[Leaf, Any]] = {}
    columns, rests = [], {}
    for terms, number in offsets.parts:
        x = functools.reduce(add, terms, Int[0]())
        key = poly_of(x)
        if key not in seen:
            seen[key] = split_thread(line, x, threads)
        rest, local = seen[key]
        constant = sum(c for m, c in poly_of(rest) if not m)
        rest = add(rest, -constant)
        rests[poly_of(rest)] = rest
        columns.append(local + number + constant)
    return np.stack(columns, 1), {*rests.values()}


def tile_of(line: Line, at: Iterable[Any], what: str, warp: int = WARP) -> Tile:
    """The tile of coordinates from 0 on: a box of powers of two, linear over the bits of thread and value."""
    arrays = tuple(at)
    found = Tile(tuple(int(x.max()) + 1 for x in arrays), arrays, warp=warp)
    owners(line, found, what)
    return found


def owners(line: Line, tile: Tile, what: str) -> LinearLayout:
    """Who holds a tile's elements, as a linear layout. Raises LeafTypeError where it is none."""
    import numpy as np

    threads, values = tile.at[0].shape
    extents = ((n, f"of the extents {tile.shape}") for n in tile.shape)
    for n, kind in ((values, "elements of a thread"), (threads, "threads"), *extents):
        if not bits.is_power_of_two(n):
            fix = "take tiles, and parts of threads, whose extents are powers of two, or another target"
            raise refused(line, f"{what}: {n} {kind}", "a power of two", fix)
    flat, shift = np.zeros((threads, values), np.int64), 0
    for n, x in zip(tile.shape, tile.at):
        flat += x << shift
        shift += bits.log2(n)
    columns = [int(flat[0, 1 << k]) for k in range(bits.log2(values))]
    rows = [int(flat[1 << k, 0]) for k in range(bits.log2(threads))]
    made = xors(rows)[:, None] ^ xors(columns)[None, :]
    if (made != flat).any() or bits.Echelon([*rows, *columns]).rank < shift:
        fix = "let each thread take a part by a layout of powers of two: local_partition, or a tiled copy"
        expected = "one, as Gluon's are"
        raise refused(line, f"{what}: threads whose parts are no linear layout of a box of {tile.shape}", expected, fix)
    if threads < tile.warp:
        fix = f"write @kernel(threads={tile.warp})"
        raise refused(line, f"a block of {threads} threads", f"whole warps of {tile.warp}", fix)
    ins = (("register", len(columns)), ("lane", bits.log2(tile.warp)), ("warp", len(rows) - bits.log2(tile.warp)))
    outs = tuple((f"dim{k}", n) for k, n in enumerate(tile.shape))
    return LinearLayout._of_columns(ins, outs, [*columns, *rows])


def xors(basis: Sequence[int]) -> Any:
    """The xor of the bases of each number's bits."""
    import numpy as np

    found = np.zeros(1, np.int64)
    for v in basis:
        found = np.concatenate([found, found ^ v])
    return found


def as_expression(line: Line, tile: Tile, values: Any, indices: Sequence[SymInt], what: str) -> Leaf:
    """An array of (thread, value) as an expression of the coordinates in a tile, which are named.

    Raises LeafTypeError where it is no sum of parts of the coordinates.
    """
    import numpy as np

    flat, count = np.zeros_like(tile.at[0]), 1
    for n, x in zip(tile.shape, tile.at):
        flat = flat + x * count
        count *= n
    table = np.full(count, -1)
    table[flat] = np.broadcast_to(values, flat.shape)
    terms: list[Leaf] = []
    made, before = np.zeros(count, np.int64), 0
    for n, i in zip(tile.shape, indices):
        each = [int(table[1 << before + k]) for k in range(bits.log2(n))]
        made += _sums(each, before, count)
        terms += _runs(i, each)
        before += bits.log2(n)
    if (table[flat] != values).any() or (made != table).any():
        fix = "partition both sides alike"
        raise refused(line, f"{what} at another place than its coordinate in the tile says", "one tile", fix)
    return functools.reduce(add, terms, Int[0]())


def _sums(each: Sequence[int], before: int, count: int) -> Any:
    """The part of a sum that the bits of one coordinate add, for every element of a tile."""
    import numpy as np

    index = np.arange(count) >> before
    return functools.reduce(operator.add, ((index >> k & 1) * v for k, v in enumerate(each)), np.zeros(count, np.int64))


def _runs(i: SymInt, each: Sequence[int]) -> list[Leaf]:
    """The parts of a coordinate, times what they add: bits in a row, each twice the one before, are one part."""
    terms: list[Leaf] = []
    k = 0
    while k < len(each):
        first, v = k, each[k]
        while k + 1 < len(each) and each[k + 1] == 2 * each[k]:
            k += 1
        k += 1
        if v:
            part: Any = i // (1 << first) if first else i
            part = part % (1 << k - first) if k < len(each) else part
            terms.append(part * v)
    return terms
