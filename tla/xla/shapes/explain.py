"""Each step from the index of an element to its offset, as XLA's documents go; and their ways to name dimensions.

Source: XLA docs/tiled_layout.md and docs/shapes.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core.errors import LeafTypeError, LoweringError, RangeError, require_type
from ...core.int_tuple import shown
from ...core.ints import IntLike, Leaf, is_int, known, leaf
from ...core.questions import equal
from ...symbolic.declare import dim, index as index_below
from .arguments import joined
from .array_shape import COMBINE, ArrayLayout, ArrayShape, TileEntry, cover, groups, tiled
from .grammar import as_shape, named_shape
from .index import into_tiles, linear_index, logical_dimensions, physical_dimensions, row_major
from .values import Shape

#: What the dimensions of an array are called, by its rank.
LETTERS = {0: (), 1: ("x",), 2: ("y", "x"), 3: ("z", "y", "x"), 4: ("p", "z", "y", "x")}


def true_rank(shape: Shape | str) -> int:
    """The number of dimensions of an array that are larger than 1.

    >>> true_rank("f32[8,1,1280,16384]"), true_rank("f32[1,1]")
    (3, 0)

    Source: XLA docs/shapes.md.
    """
    return sum(not equal(n, 1) for n in as_shape(shape).dimensions)


def dimension_letters(rank: int) -> tuple[str, ...]:
    """The letters of the dimensions of an array, the first one is dimension 0: the last one is x.

    >>> dimension_letters(2), dimension_letters(4)
    (('y', 'x'), ('p', 'z', 'y', 'x'))

    Raises RangeError for more than 4 dimensions, which have no letters. Source: XLA docs/shapes.md.
    """
    n = int(leaf(rank))
    if n not in LETTERS:
        raise RangeError(f"letters for {n} dimensions", "0 to 4", "number them: 0 is the first, -1 the last")
    return LETTERS[n]


def dimension_number(shape: Shape | str, dimension: int | str) -> int:
    """The number of a dimension, from 0 on; a negative one counts from the last; a letter is one of dimension_letters.

    >>> dimension_number("f32[2,3,5]", -1), dimension_number("f32[2,3,5]", "y")
    (2, 1)

    Raises RangeError for a dimension that the array does not have. Source: XLA docs/shapes.md.
    """
    rank = len(as_shape(shape).dimensions)
    if isinstance(dimension, str):
        letters = dimension_letters(rank)
        if dimension not in letters:
            what = f"dimension {dimension!r:.40} of {shape!s:.80}"
            raise RangeError(what, f"one of {' '.join(letters) or 'none'}", "number it from 0")
        return letters.index(dimension)
    n = int(leaf(dimension))
    if not -rank <= n < rank:
        expected = f"{-rank} to {rank - 1}" if rank else "none: it has no dimensions"
        what = f"dimension {n} of {shape!s:.80}"
        raise RangeError(what, expected, "dimensions are numbered from 0, or from -1 backwards")
    return n % rank


def combined_shape(shape: Shape | str) -> ArrayShape:
    """The array that the `*` of a first tile makes: its dimensions merged, in the order of memory, and the
    tile without `*`.

    >>> print(combined_shape("F32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"))
    f32[112,110]{1,0:T(2,3)}

    The elements stay where they are. Raises LoweringError where `*` stands in a later tile alone, or
    dynamic dimensions are merged.
    Source: XLA docs/tiled_layout.md, combining dimensions.
    """
    shape = as_shape(shape)
    layout = shape.effective_layout
    if not layout.tiles or COMBINE not in layout.tiles[0]:
        what = f"{shape}: its first tile combines no dimensions"
        raise LoweringError(what, "a tile with *", "see tiled_dimensions for the others")
    if any(shape.dynamic) or layout.split_configs:
        what = f"{shape}: dimensions that change, or are cut"
        raise LoweringError(what, "static dimensions in one piece", "give their bounds")
    first = layout.tiles[0]
    dims = _merged(physical_dimensions(shape), first)
    tiles = (tuple(t for t in first if t != COMBINE), *layout.tiles[1:])
    order = tuple(reversed(range(len(dims))))
    return ArrayShape(shape.element_type, dims, layout._replace(minor_to_major=order, tiles=tiles))


def _merged(sizes: tuple[Any, ...], tile: tuple[TileEntry, ...]) -> tuple[Any, ...]:
    left, covered = cover(sizes, tile)
    return (*covered[:left], *(row_product(group) for group, _t in groups(covered[left:], tile)))


def row_product(sizes: Sequence[Any]) -> Any:
    """The product of sizes, symbols among them."""
    product: Any = 1
    for n in sizes:
        product = product * n
    return product


class IndexStep(NamedTuple):
    """One step from an index to an offset: the dimensions that it leads to, and where the element is in them.

    name         "index", "order", "combine" or "tile", with what it does
    dimensions   major to minor from "order" on [elements]
    coord        integers or symbols: after a tile the combined coordinate, numbers of tiles before places in a tile

    >>> explain("f32[3,5]{1,0:T(2,2)}", (2, 3)).steps[-1]
    IndexStep(name='tile (2,2)', dimensions=(2, 3, 2, 2), coord=(1, 1, 0, 1))
    """

    name: str
    dimensions: tuple[Any, ...]
    coord: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """The place of an element of an array, and the reason. Its str() is the account, line by line.

    shape    the array
    steps    from the logical index to the combined coordinate of the last tile
    offset   the row-major index of that coordinate [elements]
    """

    shape: ArrayShape
    steps: tuple[IndexStep, ...]
    offset: Any

    def __str__(self) -> str:
        wide = max(len(step.name) for step in self.steps) + 2
        lines = [f"{step.name:<{wide}}({joined(step.coord)}) in ({joined(step.dimensions)})" for step in self.steps]
        return "\n".join([str(self.shape), *lines, f"{'offset':<{wide}}{self._sum()}"])

    def _sum(self) -> str:
        last = self.steps[-1]
        if not all(known(i) is not None for i in (*last.coord, *last.dimensions)):
            return f"linear_index(({joined(last.coord)}), ({joined(last.dimensions)})) = {self.offset}"
        return " = ".join([_nested(last), str(self.offset)]) if len(last.coord) > 1 else str(self.offset)


def explain(shape: Shape | str, index: Sequence[Any] | None = None, /, **sizes: Any) -> Explanation:
    """Each step from the index of an element to its offset: order of the dimensions, combined ones,
    tiles, row-major index.

    index    one for each logical dimension: integers, symbols, or names of symbols; by default names: the dimensions'
             letters, or i0, i1, ... of more than four
    sizes    what the names stand for that are dimensions of the text, as lower takes them
    Raises   what linear_index raises

    >>> print(explain("F32[3,5]{1,0:T(2,2)}", (2, 3)))
    f32[3,5]{1,0:T(2,2)}
    index (y,x)  (2,3) in (3,5)
    order {1,0}  (2,3) in (3,5)
    tile (2,2)   (1,1,0,1) in (2,3,2,2)
    offset       ((1*3+1)*2+0)*2+1 = 17
    >>> print(explain("F32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}", (1, 2, 3, 4, 5)).steps[2])
    IndexStep(name='combine into f32[112,110]', dimensions=(112, 110), coord=(75, 45))
    >>> print(explain("F32[4,6]{1,0:T(2,2)}").offset)
    (y+x//2+(y//2)*4)*2+x

    Source: XLA docs/tiled_layout.md, linear_index_with_tile.
    """
    shape = named_shape(shape, sizes)
    dims = logical_dimensions(shape)
    index = _symbols(shape, dims, index)
    offset = linear_index(shape, index)
    return Explanation(shape, tuple(_steps(shape, dims, index)), offset)


def _symbols(shape: ArrayShape, dims: tuple[Any, ...], index: Sequence[Any] | None) -> tuple[Any, ...]:
    if index is None:
        index = LETTERS.get(len(dims)) or tuple(f"i{d}" for d in range(len(dims)))
    expected = f"a tuple of {len(dims)} integers"
    require_type(index, (tuple, list), "an index of type", expected, "write (i,) for one dimension")
    if wrong := [i for i in index if not (isinstance(i, str) or is_int(i))]:
        what = f"{shown(wrong[0])} in an index of {shape}"
        raise LeafTypeError(what, "an integer, a symbol or a name", "explain goes element by element")
    ends = [*dims, *[None] * len(index)]
    return tuple(_named(i, n) if isinstance(i, str) else leaf(i) for i, n in zip(index, ends))


def _named(name: str, extent: IntLike) -> Leaf:
    """An index that runs through a dimension."""
    return dim(name) if extent is None or equal(extent, 0) else index_below(name, extent)


def _steps(shape: ArrayShape, dims: tuple[Any, ...], index: tuple[Any, ...]) -> Iterator[IndexStep]:
    layout = shape.effective_layout
    letters = LETTERS.get(len(dims), ())
    yield IndexStep(f"index ({','.join(letters)})" if letters else "index", dims, index)
    sizes, place = physical_dimensions(shape), tuple(index[d] for d in reversed(layout.minor_to_major))
    yield IndexStep(f"order {ArrayLayout(layout.minor_to_major)}", sizes, place)
    for tile in layout.tiles:
        if COMBINE in tile:
            sizes, place = _merged(sizes, tile), _merged_place(sizes, place, tile)
            tile = tuple(t for t in tile if t != COMBINE)
            yield IndexStep(f"combine into {shape.element_type}[{joined(sizes)}]", sizes, place)
        sizes, place = tiled(sizes, tile), into_tiles(sizes, place, tile)
        yield IndexStep(f"tile ({joined(tile)})", sizes, place)


def _merged_place(sizes: tuple[Any, ...], place: tuple[Any, ...], tile: tuple[TileEntry, ...]) -> tuple[Any, ...]:
    left, covered = cover(sizes, tile)
    place = (0,) * (len(covered) - len(sizes)) + place
    out, at = [*place[:left]], left
    for group, _t in groups(covered[left:], tile):
        out.append(row_major(group, place[at : at + len(group)]))
        at += len(group)
    return tuple(out)


def _nested(step: IndexStep) -> str:
    """The row-major index as it is computed, with its numbers: ((1*3+1)*2+0)*2+1."""
    text = str(step.coord[0])
    for k, (n, i) in enumerate(zip(step.dimensions[1:], step.coord[1:])):
        text = f"({text})*{n}+{i}" if k else f"{text}*{n}+{i}"
    return text
