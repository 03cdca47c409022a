"""The text of instructions of several threads, and of vectors: loads and stores of matrices, products, loads
and stores by TMA.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeGuard

from ...core.basis import as_coordinate
from ...core.element import DTYPES, tf32
from ...core.errors import LeafTypeError
from ...core.int_tuple import leaves, modes_of, shown, size
from ...core.ints import IntLike, Leaf
from ...core.leaf_arithmetic import add
from ...gpu.descriptors.matrix_descriptor import require_tiles
from ...gpu.descriptors.tma import OF_PAIRS
from ...tensors.tensor import Tensor
from ..program.instructions import (
    Cells,
    Element,
    MovedTile,
    Part,
    Registers,
    Tile,
    is_asynchronous,
    is_of_tensor_memory,
    is_of_vectors,
    lanes_and_rows,
    matrix_extents,
    products,
    stores_rows,
    tile_of,
)
from ..program.offsets import Offsets
from ..program.statements import Copy, Either, Load, Loop, Order, Product, Signal, Statement
from ..proofs.bounds import coordinate_of
from .names import Names, Values


def several(names: Names, s: Statement) -> Iterator[tuple[list[str], bool]] | None:
    """The lines of an instruction of several threads or vectors, and whether of each thread; None of others."""
    if is_of_matrices(s):
        return _matrices(names, s)
    if isinstance(s, Copy) and is_of_tensor_memory(s.atom):
        return _cells(names, s)
    if isinstance(s, Product) and is_of_tensor_memory(s.step.mma.atom):
        return _sums(names, s)
    if isinstance(s, Product) and int(size(s.step.mma.atom.thr_id)) > 1:
        return _products(names, s)
    if isinstance(s, Product) and is_of_vectors(s.step.mma.atom):
        return _by_vectors(names, s)
    return _boxes(names, s) if isinstance(s, Load) else None


def is_of_matrices(s: Statement) -> TypeGuard[Copy]:
    """Whether a statement is a load or a store of matrices by several threads, each with the address of a row."""
    return isinstance(s, Copy) and int(size(s.atom.thr_id)) > 1 and not is_of_tensor_memory(s.atom)


def _by_vectors(names: Names, s: Product) -> Iterator[tuple[list[str], bool]]:
    """Products by vector registers: where each operand begins, and how far from there each of its elements is."""
    atom, t = s.step.mma.atom, {name: s.operands[name].tensor for name in "DABC"}
    (m, k), (n, _k) = (matrix_extents(t[name], s.step.one_value) for name in "AB")
    offsets = {name: Offsets(x).parts for name, x in t.items()}
    values = names.values([x for parts in offsets.values() for x in parts[0][0]])
    found = {}
    for name, parts in offsets.items():
        terms, first = parts[0]
        if any(others != terms for others, _n in parts):
            what = f"{s.line}: {name} of vectors whose distances have symbols, {shown(t[name].layout)}"
            raise LeafTypeError(what, "distances that are numbers", "copy it to shared memory or registers first")
        place = names.place(t[name], values.sum(terms, first))
        found[name] = Part(place, names.element_type(t[name]), tuple(number - first for _terms, number in parts))
    yield [*values.lines, *names.instructions(s).by_vectors(atom, (m, n, k), found)], True


def _boxes(names: Names, s: Load) -> Iterator[tuple[list[str], bool]]:
    """The boxes of a load or a store by TMA: where each begins in shared memory, and its coordinate in the tensor."""
    tma, (outside, inside) = s.step.tma, (s.target, s.source) if s.step.stores else (s.source, s.target)
    places, held = outside.places, Offsets(inside.tensor)
    argument = names.program.argument_of(outside.tensor)
    if places is None or argument is None:
        what = f"{s.line}: a copy by TMA of what is no argument"
        raise LeafTypeError(what, "a tile of an argument", "make the map of an argument")
    boxes = tma.TV[1][0][1]
    firsts = [int(boxes(i)) for i in range(int(size(boxes)))]
    at = [tuple(leaves(as_coordinate(tma.tma_tensor(tuple(modes_of(coordinate_of(places, i))))))) for i in firsts]
    values = names.values([*(x for c in at for x in c), s.at, *shifts_of(s)], held)
    starts = [names.place(inside.tensor, values.sum(*held.parts[i])) for i in firsts]
    extents = tuple(leaves(names.program.arguments[argument].layout.shape))

    def element(i: IntLike) -> Element:
        """The offsets of an element, and the comparisons by which it is inside of the tensor."""
        where = leaves(as_coordinate(coordinate_of(places, i)))
        offsets = [add(t.offset, t.layout(i)) for t in (inside.tensor, outside.tensor)]
        return Element(offsets[0], offsets[1], [*zip(where, extents)])

    made, moved = names.map_of(argument, tma.map), [*zip(starts, ([values.of(x) for x in c] for c in at))]
    barrier = None if s.barriers is None else names.place(s.barriers, values.of(s.at))
    arrays = (names.buffer(inside.tensor), argument)
    zero, count = names.number(0, names.element_type(inside.tensor)), int(size(inside.tensor.shape))
    masks = (s.mask, mask_of(s, values))
    tile = MovedTile(made, moved, barrier, arrays, zero, count, element, *masks, tma.operation in OF_PAIRS)
    lines, threads = names.instructions(s).move(tile)
    yield ([*values.lines, *lines] if threads else lines), threads


def shifts_of(s: Load | Signal) -> list[Leaf]:
    """The integers that the mask of a statement is of."""
    return [] if s.mask is None else s.mask.shifts


def mask_of(s: Load | Signal, values: Values) -> str:
    """The mask of a statement as text; empty for none."""
    return "" if s.mask is None else s.mask.text(map(values.of, s.mask.shifts))


def _matrices(names: Names, s: Copy) -> Iterator[tuple[list[str], bool]]:
    """Loads and stores of matrices: of each instruction the address of the thread's row, and its registers."""
    memory, registers = s.source.tensor, s.target.tensor
    if stores_rows(s.atom):
        memory, registers = registers, memory
    name, kind, held = names.buffer(registers), names.element_type(registers), names.held(s, registers)
    count, width = (int(size(layout[1])) for layout in lanes_and_rows(s.atom))
    places, place = names.addressed(memory)
    values = names.values([], places)
    rows = [place(values.sum(*part)) for part in places.parts[::width]]
    found = [Registers(name, kind, tuple(held[i : i + count])) for i in range(0, len(held), count)]
    for lines, threads in names.instructions(s).matrices(s.atom, rows, found):
        yield ([*values.lines, *lines] if threads else lines), threads


def _products(names: Names, s: Product) -> Iterator[tuple[list[str], bool]]:
    """Matrix products of instructions of several threads."""
    atom = s.step.mma.atom
    _require_own_types(s)
    t = {name: s.operands[name].tensor for name in "DABC"}
    extents = {name: matrix_extents(t[name], s.step.one_value) for name in "ABC"}
    tiles = {name: require_tiles("gemm", atom, name, t[name]) for name in "AB" if atom.memory(name) == "smem"}
    held = {name: names.held(s, x) for name, x in t.items() if name not in tiles}
    held |= {name: [*range(int(size(x.steps)))] for name, x in tiles.items()}
    named = {name: (names.buffer(x), names.element_type(x)) for name, x in t.items()}
    values = names.values([x.start for x in tiles.values()])

    def tile(name: str, part: int) -> Tile:
        found = tiles[name]
        start, step = values.of(found.start), int(found.steps(part))
        return Tile(*named[name], start, found.descriptor.bits, step, tile_of(t[name], part))

    found, read = [], []
    for at in products(extents, held):
        # what an instruction adds to is what the one before has written
        of = {x: "D" if at[x] is at["D"] else x for x in at}
        found.append({x: Registers(*named[of[x]], tuple(at[x])) for x in at if x not in tiles})
        read.append({x: tile(x, at[x][0]) for x in tiles})
    for lines, threads in names.instructions(s).product(atom, found, read):
        yield ([*values.lines, *lines] if threads else lines), threads


def _require_own_types(s: Product) -> None:
    """LeafTypeError for operands of another type than the instruction's: run takes any that has its values."""
    atom = s.step.mma.atom
    own = {"D": atom.val_D, "A": atom.val_A, "B": atom.val_B, "C": atom.val_C}
    for name, element in own.items():
        given = str(s.operands[name].tensor.dtype)
        wanted = "float32" if element == tf32 else DTYPES.get(element.name, element.name)
        if given != wanted:
            what = f"{s.line}: {name} of {given} for {atom.name}, in a kernel's text"
            raise LeafTypeError(what, f"elements of {wanted}", f"make its tensor of {element}")


def _cells(names: Names, s: Copy) -> Iterator[tuple[list[str], bool]]:
    """Loads of tensor memory: of each instruction the address where it begins, and its registers."""
    source, target = s.source.tensor, s.target.tensor
    name, kind, held = names.buffer(target), names.element_type(target), names.held(s, target)
    lanes = int(size(s.atom.thr_id))
    width, count = (int(size(layout)) // lanes for layout in (s.atom.val_src, s.atom.val_dst))
    firsts, instructions = range(0, int(size(source.shape)), width), names.instructions(s)
    values = names.values([_at(source, i) for i in firsts] if instructions.has_addresses else [])
    cells = [_cells_of(names, values if instructions.has_addresses else None, source, i) for i in firsts]
    found = [Registers(name, kind, tuple(held[i : i + count])) for i in range(0, len(held), count)]
    lines, threads = instructions.cells(s.atom, cells, found)
    yield [*values.lines, *lines], threads


def _at(t: Tensor, i: IntLike) -> Leaf:
    """The offset of an element by its index."""
    return add(t.offset, t.layout(i))


def _cells_of(names: Names, values: Values | None, t: Tensor, first: int = 0) -> Cells:
    """A part of tensor memory, from an element on; values: of addresses, where they are wanted."""
    return Cells(names.buffer(t), "" if values is None else values.of(_at(t, first)), lambda i: _at(t, add(i, first)))


def _sums(names: Names, s: Product) -> Iterator[tuple[list[str], bool]]:
    """Products that add to tensor memory."""
    _require_own_types(s)
    atom, total, one = s.step.mma.atom, s.operands["D"].tensor, {x: s.operands[x].tensor for x in "AB"}
    tiles = {name: require_tiles("gemm", atom, name, t) for name, t in one.items()}
    (m, k), (n, _k) = (matrix_extents(t, s.step.one_value) for t in one.values())
    parts = [tile_of(total, i) for i in range(m * n)]
    asked = () if isinstance(s.accumulates, bool) else s.accumulates
    instructions = names.instructions(s)
    addresses = [*(x.start for x in tiles.values()), *(_at(x, 0) for x in parts)] if instructions.has_addresses else []
    values = names.values([*addresses, *(side for pair in asked for side in pair)])

    def tile(name: str, part: int) -> Tile:
        found, t = tiles[name], one[name]
        start, step = values.of(found.start) if instructions.has_addresses else "", int(found.steps(part))
        return Tile(names.buffer(t), names.element_type(t), start, found.descriptor.bits, step, tile_of(t, part))

    order = [(i, j, step) for step in range(k) for j in range(n) for i in range(m)]
    read = [{"A": tile("A", i + m * step), "B": tile("B", j + n * step)} for i, j, step in order]
    addressed = values if instructions.has_addresses else None
    cells = [_cells_of(names, addressed, parts[i + m * j]) for i, j, _step in order]
    chosen = [f"const int accumulates = {values.comparisons(asked)};"] if asked else []
    lines, threads = instructions.sums(atom, read, cells, "accumulates" if asked else str(int(s.accumulates is True)))
    lines = [*values.lines, *chosen, *lines]
    yield lines if threads else ["{", *(f"    {line}" for line in lines), "}"], threads


def asynchronous_registers(names: Names, word: str, loaded: Sequence[Tensor]) -> list[Registers]:
    """The registers of what a word waits for: products of warpgroups add to them, or they are being loaded."""
    if word.startswith("fence_view_async_tmem"):
        tensors = [*loaded]
    else:
        products = (s for s in names.program.statements() if isinstance(s, Product))
        tensors = [s.operands["D"].tensor for s in products if is_asynchronous(s.step.mma.atom)]
    found = {id(t.data): Registers(names.buffer(t), names.element_type(t), tuple(range(len(t.data)))) for t in tensors}
    return [*found.values()]


def loaded_before(body: Sequence[Statement]) -> dict[int, list[Tensor]]:
    """The registers that loads of tensor memory may still write at each wait for them, by the statement's id."""
    found: dict[int, dict[int, Tensor]] = {}

    def through(statements: Sequence[Statement], held: dict[int, Tensor]) -> dict[int, Tensor]:
        for s in statements:
            if isinstance(s, Copy) and is_of_tensor_memory(s.atom):
                held = held | {id(s.target.tensor.data): s.target.tensor}
            elif isinstance(s, Order) and s.word == "fence_view_async_tmem_load":
                found[id(s)] = found.get(id(s), {}) | held
                held = {}
            elif isinstance(s, Loop):
                held = held | through(s.body, held)
                held = held | through(s.body, held)  # what the step before has begun
            elif isinstance(s, Either):
                held = through(s.inside, held) | through(s.otherwise, held)
        return held

    through(body, {})
    return {at: [*tensors.values()] for at, tensors in found.items()}
