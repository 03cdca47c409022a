"""The layout that the TPU compiler gives an argument by default.

Source: arguments of programs compiled by libtpu 0.0.51 for v2 to tpu7x, 2,206 of random types and sizes on each
generation and a few more of two bits, all of which this rule explains (tests/data/xla/defaults.json.gz); the choice is
not in XLA's open sources.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...core.errors import RangeError
from .arguments import integers_of
from .array_shape import BITS, ArrayLayout, ArrayShape, TileEntry
from .foreign import type_name

TARGETS = ("v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x")

Tiles = tuple[tuple[TileEntry, ...], ...]


def default_layout(element_type: str, dims: Sequence[int], target: str = "v5e") -> ArrayShape:
    """The shape with the layout that the TPU compiler chooses for an argument or a result of a program.

    element_type   XLA's name, such as bf16, or a dtype
    dims           the dimensions [elements]
    target         the generation: v2 v3 v4 v5e v5p v6e tpu7x
    Raises         RangeError for a target that is not known, a type of 6 bits, which was not measured, more than 64
                   dimensions, and what ArrayShape raises

    >>> print(default_layout("bf16", (8, 300)), default_layout("s4", (33, 128)), default_layout("f32", (3,)))
    bf16[8,300]{1,0:T(8,128)(2,1)} s4[33,128]{1,0:T(8,128)(8,1)E(4)} f32[3]{0:T(128)}
    >>> print(default_layout("bf16", (3, 1, 300)))
    bf16[3,1,300]{2,0,1:T(4,128)(2,1)}

    Two minor dimensions are tiled, those of all pairs that pad the array least; of equals the order as it is, then the
    later ones. Inside of a program the compiler may choose others.

    Source: measured, see above.
    """
    if target not in TARGETS:
        what = f"default_layout for {target!r}"
        raise RangeError(what, "one of " + " ".join(TARGETS), "use one of these: for them the rule is known")
    sizes = integers_of("default_layout: dims", dims)
    if len(sizes) > 64:
        raise RangeError(f"default_layout of {len(sizes)} dimensions", "at most 64", "group dimensions first")
    element_type = type_name(element_type)
    shape = ArrayShape(element_type, sizes)  # which checks them
    if 32 % BITS[element_type] and BITS[element_type] % 32:
        fix = "give the layout: those of this target were not measured"
        raise RangeError(f"default_layout of {element_type}", "a type whose bits divide 32, or that 32 divide", fix)
    kind = _Kind(element_type, target in ("v2", "v3"))
    order = min(_orders(sizes, kind))[-1]
    minor = [sizes[i] for i in order[:2]]
    tiles = () if 0 in sizes else _tiles(kind, minor)
    layout = ArrayLayout(order, tiles, element_size_in_bits=kind.bits if kind.packed else 0)
    return ArrayShape(shape.element_type, sizes, layout)


def orders(element_type: str, dims: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Tiles, int]]:
    """Each choice of the two minor dimensions, with the tiles that the compiler would take for it and E(n), from v4 on.

    >>> for order, tiles, bits in orders("bf16", (300, 3)):
    ...     print(order, tiles, bits)
    (1, 0) ((8, 128), (2, 1)) 0
    (0, 1) ((4, 128), (2, 1)) 0
    """
    kind, sizes = _Kind(element_type, first=False), tuple(dims)
    for *_cost, order in _orders(sizes, kind):
        yield order, _tiles(kind, [sizes[i] for i in order[:2]]), kind.bits if kind.packed else 0


class _Kind:
    """A generation's way to store an element type.

    two      whether the element type has two bits: orders are compared as if its tiles had 8 rows; of equals those that
             pad nothing go first
    first    whether it is one of the first generations: nothing of less than a byte is packed, tiles have 8 rows or few
    bits     of an element in memory
    """

    def __init__(self, element_type: str, first: bool) -> None:
        bits = BITS[element_type]
        self.two, self.first = bits == 2, first
        self.packed = element_type != "pred" and bits < 8 and not first
        self.bits = bits if self.packed else max(8, bits)
        self.packing = max(1, 32 // self.bits)


def _orders(sizes: tuple[int, ...], kind: _Kind) -> Iterator[tuple[int, bool, bool, int, int, tuple[int, ...]]]:
    """Each choice of the two minor dimensions, with the elements that it takes and what decides between equals."""
    natural = tuple(reversed(range(len(sizes))))
    if len(sizes) < 2 or 0 in sizes:
        yield 0, False, False, 0, 0, natural
        return
    for minor in natural:
        for second in natural:
            if minor != second:
                order = (minor, second, *(i for i in natural if i not in (minor, second)))
                rows = _rows(kind, sizes[second])
                taken, compared = (_tiled(sizes, order, n) for n in (rows, 8 if kind.two else rows))
                yield compared, taken > math.prod(sizes), order != natural, -minor, -second, order


def _tiled(sizes: tuple[int, ...], order: tuple[int, ...], rows: int) -> int:
    """The elements that an array takes, its two minor dimensions in tiles of `rows` by 128."""
    minor, second = sizes[order[0]], sizes[order[1]]
    return -(-second // rows) * rows * (-(-minor // 128) * 128) * math.prod(sizes[i] for i in order[2:])


def _rows(kind: _Kind, n: int) -> int:
    """The number of rows of a tile, for n of them."""
    if kind.first:
        return 16 if kind.two else next((k for k in (1, 2, 4) if n <= k >= 2 * kind.packing), 8)
    if kind.bits < 8:
        return 8 * kind.packing if n % (8 * kind.packing) == 0 else kind.packing
    if kind.bits == 8 and n > 4 and n % 32 == 0:
        return 32
    return next((k for k in (1, 2, 4) if n <= k >= kind.packing), 8)


def _tiles(kind: _Kind, minor: list[int]) -> Tiles:
    pack = ((kind.packing, 1),) if kind.packing > 1 else ()
    if len(minor) == 2:
        return ((_rows(kind, minor[1]), 128), *pack)
    first = 128 * kind.packing * (2 if kind.first else 1)
    last = 2048 if kind.two else 1024
    while minor and first < minor[0] and first < last:
        first *= 2
    return ((min(first, last),), *(((128,), *pack) if minor and pack else ()))
