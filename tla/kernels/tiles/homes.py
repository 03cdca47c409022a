"""The tile that each of a kernel's registers are: these have no coordinates, what they are copied from or to has.

Registers get the tile of a product, else that of shared memory, else that of an argument; what they are computed
from, or with, has the same. Where one register stands for several others, as the largest of a row does, those others
have a mode of their own in the tile, and it is a tile without that mode.

Source: ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core.int_tuple import size
from ..block.lines import Line
from ..program.instructions import is_of_tensor_memory
from ..program.statements import Access, Atomic, Axpby, Copy, Fill, Product, Program, Shuffle, Statement, Transform
from .products import Operands, from_tensor_memory, loaded, of_tiles, warp_of
from .tiles import Argument, Columns, Memory, Piece, Registers, Side, Tile, owners, refused, side_of, tile_of

#: Statements that are element by element.
EACH = Copy, Fill, Axpby, Transform, Shuffle, Atomic


class Homes:
    """The tiles of a program's registers, and of its products.

    sides      statement -> what it accesses, by name; statements by their place in Python's memory
    tiles      registers -> their tile
    products   a product -> its tiles
    warp       the number of threads of a warp

    Raises     LeafTypeError for what is no tile
    """

    def __init__(self, program: Program) -> None:
        of_tiles = (s for s in program.statements() if isinstance(s, (*EACH, Product)))
        self._statements = [
            s for s in of_tiles if not isinstance(s, Product) or not is_of_tensor_memory(s.step.mma.atom)
        ]
        self.sides = {
            id(s): {name: _side(program, s, x) for name, x in operands_of(s).items()} for s in self._statements
        }
        self.warp = warp_of(program)
        self._require_apart()
        self.tiles: dict[Piece, Tile] = {}
        self.products: dict[int, Operands] = {}
        self._split = {piece for s in self._statements for piece in self._halved(s)}
        by_memory = (functools.partial(self._from, rule) for rule in (_of_memory, _of_argument))
        rules: list[Callable[[Statement], bool]] = [self._by_product, self._by_others, *by_memory]
        while any(rule(s) for rule in rules for s in self._statements):
            pass

    def _require_apart(self) -> None:
        """Require registers that are parts of others nowhere: each part is a tensor of its own."""
        found: dict[tuple[int, int], Piece] = {}
        for s in self._statements:
            for x in self.sides[id(s)].values():
                if isinstance(x, Registers) and any(found.setdefault((x.buffer, o), x.piece) != x.piece for o in x.at):
                    fix = "use all of the registers, or each part of them, everywhere"
                    raise refused(s.line, "registers that are a part of others elsewhere", "parts that lie apart", fix)

    def tile(self, s: Statement) -> Tile:
        """The tile of a statement that is element by element, its values in its order. Raises LeafTypeError."""
        sides = [*self.sides[id(s)].values()]
        for x in self._whole(sides):
            if x.piece in self.tiles:
                return self.tiles[x.piece].values(_slots(x))
        found = _of_memory(s.line, sides, self.warp) or _of_argument(s.line, sides, self.warp)
        if found is None:
            what = "registers that nobody copies from or to memory"
            raise refused(s.line, what, "a tile of memory, which says where they are", "copy them")
        return found

    @staticmethod
    def _whole(sides: Sequence[Side]) -> list[Registers]:
        """The registers of a statement of which each value has one of its own."""
        return [x for x in sides if isinstance(x, Registers) and len(x.piece[1]) == count_of(sides)]

    def _halved(self, s: Statement) -> list[Piece]:
        """The registers of which each thread has several for one of the same statement."""
        if not isinstance(s, EACH):
            return []
        sides = [*self.sides[id(s)].values()]
        fewer = any(isinstance(x, Registers) and len(x.piece[1]) < count_of(sides) for x in sides)
        return [x.piece for x in self._whole(sides)] if fewer else []

    def _give(self, line: Line, x: Registers, tile: Tile) -> bool:
        """Say that registers are a tile, whose values are in a statement's order; whether that is new."""
        if x.piece in self.tiles:
            return False
        slots = _slots(x)
        mine = tile.values([slots.index(k) for k in range(len(slots))])
        self.tiles[x.piece] = _split(line, mine) if x.piece in self._split and mine.whole is None else mine
        return True

    def _by_others(self, s: Statement) -> bool:
        if not isinstance(s, EACH):
            return False
        sides, new = [*self.sides[id(s)].values()], False
        whole = self._whole(sides)
        known = next((x for x in whole if x.piece in self.tiles), None)
        if known is None:
            return False
        tile = self.tiles[known.piece].values(_slots(known))
        for x in whole:
            new |= self._give(s.line, x, tile)
        for small in sides:
            if isinstance(small, Registers) and small not in whole and small.piece not in self.tiles:
                self.tiles[small.piece], new = _reduced(s.line, tile, len(small.piece[1])), True
        return new

    def _from(self, rule: Any, s: Statement) -> bool:
        if not isinstance(s, EACH):
            return False
        sides = [*self.sides[id(s)].values()]
        left = [x for x in self._whole(sides) if x.piece not in self.tiles]
        tile = rule(s.line, sides, self.warp) if left else None
        return tile is not None and bool([x for x in left if self._give(s.line, x, tile)])

    def _by_product(self, s: Statement) -> bool:
        if not isinstance(s, Product) or id(s) in self.products:
            return False
        sides = self.sides[id(s)]
        a, b = (self._operand(s, sides[name]) for name in "AB")
        if a is None or b is None:
            return False
        found = self.products[id(s)] = of_tiles(s, a, b)
        for name, tile in zip("ABCD", (found.a, found.b, found.c, found.c)):
            x = sides[name]
            if isinstance(x, Registers):
                self._of_product(s, x, tile)
            elif name in "CD":
                fix = "add up in make_fragment_like(...), and copy them"
                raise refused(s.line, "a product to memory", "accumulators in registers", fix)
        return True

    def _operand(self, s: Product, x: Side) -> Tile | None:
        if isinstance(x, Memory):
            return _of_memory(s.line, [x], self.warp)
        if isinstance(x, Registers):
            return self.tiles[x.piece].values(_slots(x)) if x.piece in self.tiles else None
        what = "a product of what is in global memory"
        raise refused(s.line, what, "shared memory, or registers", "copy it to shared memory first")

    def _of_product(self, s: Product, x: Registers, tile: Tile) -> None:
        """Say that registers are a product's tile."""
        slots = _slots(x)
        mine, before = tile.values([slots.index(k) for k in range(len(slots))]), self.tiles.get(x.piece)
        same = before is None or before.same(mine) or (before.layout is None and before.turned.same(mine))
        if not same or (before is not None and before.layout not in (None, mine.layout)):
            what = "registers that are one tile of this product and another elsewhere"
            raise refused(s.line, what, "one tile", "copy them to others")
        self.tiles[x.piece] = mine


def operands_of(s: Statement) -> dict[str, Access]:
    """The accesses of a statement by name, those that it writes last."""
    if isinstance(s, (Copy, Shuffle)):
        return {"source": s.source, "target": s.target}
    if isinstance(s, Fill):
        return {"target": s.target}
    if isinstance(s, Atomic):
        raise refused(s.line, "atomic_add", "statements of whole tiles", "write CUDA, HIP or C")
    if isinstance(s, Axpby):
        return {"x": s.x, "y": s.y}
    if isinstance(s, Transform):
        return {str(k): x for k, x in enumerate(s.operands)}
    assert isinstance(s, Product)
    return s.operands


def _side(program: Program, s: Statement, access: Access) -> Side:
    found = side_of(program, s.line, access)
    if isinstance(s, Copy) and int(size(s.atom.thr_id)) > 1 and access is s.source:
        if isinstance(found, Columns):
            return from_tensor_memory(s.line, s.atom, found)
        if not isinstance(found, Memory):
            what = f"the copy {s.atom.name}"
            raise refused(s.line, what, "a copy of each thread, or ldmatrix from shared memory", "use UniversalCopy")
        return loaded(s.line, s.atom, found)
    return found


def count_of(sides: Sequence[Side]) -> int:
    """The number of values that a thread has in a statement."""
    return max(len(x.at) if isinstance(x, Registers) else x.at[0].shape[1] for x in sides)


def _slots(x: Registers) -> list[int]:
    """The register of each value, by its number among these."""
    return [x.piece[1].index(o) for o in x.at]


def _of_memory(line: Line, sides: Sequence[Side], warp: int) -> Tile | None:
    """The tile of shared memory among the sides."""
    found = next((x for x in sides if isinstance(x, (Memory, Columns))), None)
    if found is None:
        return None
    return tile_of(line, (x - x.min() for x in found.at), "a part of shared memory", warp)


def _of_argument(line: Line, sides: Sequence[Side], warp: int) -> Tile | None:
    """The tile of an argument among the sides, of that with the fewest modes; modes of one element are left out."""
    found = [x for x in sides if isinstance(x, Argument)]
    if not found:
        return None
    modes = [[a for a in x.at if a.any()] or [*x.at[:1]] for x in found]
    chosen = min(range(len(found)), key=lambda k: len(modes[k]))
    return tile_of(line, modes[chosen], f"a part of {found[chosen].name}", warp)


def _split(line: Line, tile: Tile) -> Tile:
    """The tile with modes of its own for what each thread has several of."""
    shape, at = [], []
    for n, x, first, end, _own in _parts(line, tile):
        shape.append(end // first)
        at.append(x % min(end, n) // first)
    return Tile(tuple(shape), tuple(at), warp=tile.warp)


def _reduced(line: Line, tile: Tile, count: int) -> Tile:
    """The tile without what each thread has several of."""
    if count != 1 or tile.whole is not None:
        what = f"{count} registers of a thread that stand for several others each"
        fix = "reduce a row at a time, or use another target"
        raise refused(line, what, "one of a thread, for all of the others", fix)
    axes: list[int] = []
    kept: list[int] = []
    for k, (n, _x, first, end, own) in enumerate(parts := [*_parts(line, tile)]):
        if own and (first, end) != (1, n):
            what = "registers that have another tile elsewhere"
            raise refused(line, what, "a mode of a thread's own elements", "copy them to others")
        (axes if own else kept).append(k)
    if len(parts) != len(tile.shape) or not kept:
        what = "registers that have another tile elsewhere"
        raise refused(line, what, "a mode of a thread's own elements", "copy them to others")
    shape, at = tuple(tile.shape[k] for k in kept), tuple(tile.at[k][:, :1] for k in kept)
    return Tile(shape, at, None, (tile, tuple(axes)), tile.warp)


def _parts(line: Line, tile: Tile) -> Iterator[tuple[int, Any, int, int, bool]]:
    """The parts of each mode, the highest first.

    Of each the mode's extent and coordinates, the part's unit and end, and whether it is a thread's own.
    """
    bases = owners(line, tile, "the registers").bases
    of_threads = [v for who in ("lane", "warp") for v in bases[who]]
    for d, (n, x) in enumerate(zip(tile.shape, tile.at)):
        kinds = [not any(v[d] >> k & 1 for v in of_threads) for k in range(n.bit_length() - 1)]
        found, end = [], len(kinds)
        while end > 0:
            first = end
            while first > 0 and kinds[first - 1] is kinds[end - 1]:
                first -= 1
            found.append((n, x, 1 << first, 1 << end, kinds[end - 1]))
            end = first
        yield from found or [(n, x, 1, 1, False)]
