"""An XLA array shape as a value: element type, dimensions, layout.

Source: XLA xla/shape.h, xla/layout.h and their printers; docs/tiled_layout.md. Field names are those of XLA's protos.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from ..errors import RangeError, Reason
from ..ints import INT64_MAX

#: A tile entry that merges its dimension with the next more minor one, before the rest of the tile is applied: `*`.
COMBINE = "*"
TileEntry = int | str

#: Bits of each element type. XLA stores a type of less than a byte in a byte, unless E(n) says otherwise.
BITS = {
    **dict.fromkeys(("pred", "s1", "u1"), 1),
    **dict.fromkeys(("s2", "u2"), 2),
    **dict.fromkeys(("s4", "u4", "f4e2m1fn"), 4),
    **dict.fromkeys(("f6e2m3fn", "f6e3m2fn"), 6),
    **dict.fromkeys(("s8", "u8", "f8e3m4", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"), 8),
    **dict.fromkeys(("s16", "u16", "f16", "bf16"), 16),
    **dict.fromkeys(("s32", "u32", "f32"), 32),
    **dict.fromkeys(("s64", "u64", "f64", "c64"), 64),
    "c128": 128,
}


class Split(NamedTuple):
    """SC: a physical dimension (0 is the most major) cut at `indices`; the pieces lie in different memories.

    >>> print(Split(1, (200,)))
    (1:200)
    """

    dimension: int
    indices: tuple[int, ...]

    def __str__(self) -> str:
        return f"({self.dimension}:{','.join(map(str, self.indices))})"


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """How an array lies in memory: what stands in braces.

    minor_to_major                          logical dimensions, the fastest first
    tiles                                   one tuple a level, major to minor, of sizes [elements] or COMBINE
    tail_padding_alignment_in_elements      L: the element count is rounded up to a multiple of it
    element_size_in_bits                    E: bits of an element; 0 is the default of the type
    memory_space                            S
    split_configs                           SC
    dynamic_shape_metadata_prefix_bytes     M: bytes of run-time sizes before the data

    >>> print(ArrayLayout((1, 0), ((8, 128), (2, 1)), memory_space=1))
    {1,0:T(8,128)(2,1)S(1)}
    """

    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[TileEntry, ...], ...] = ()
    tail_padding_alignment_in_elements: int = 1
    element_size_in_bits: int = 0
    memory_space: int = 0
    split_configs: tuple[Split, ...] = ()
    dynamic_shape_metadata_prefix_bytes: int = 0

    def __str__(self) -> str:
        order, properties = ",".join(map(str, self.minor_to_major)), "".join(self._properties())
        return f"{{{order}{':' if properties else ''}{properties}}}" if order or properties else ""

    def _properties(self) -> Iterator[str]:
        if self.tiles:
            yield "T" + "".join(f"({','.join(map(str, t))})" for t in self.tiles)
        if self.tail_padding_alignment_in_elements != 1:
            yield f"L({self.tail_padding_alignment_in_elements})"
        if self.element_size_in_bits:
            yield f"E({self.element_size_in_bits})"
        if self.memory_space:
            yield f"S({self.memory_space})"
        if self.split_configs:
            yield "SC" + "".join(map(str, self.split_configs))
        if self.dynamic_shape_metadata_prefix_bytes:
            yield f"M({self.dynamic_shape_metadata_prefix_bytes})"


@dataclass(frozen=True, slots=True)
class ArrayShape:
    """The shape of an array: `bf16[8,128]{1,0:T(8,128)(2,1)}`. Its str() is XLA's canonical text.

    element_type   a name of BITS
    dimensions     extents [elements]; the bound of a dynamic dimension, None for one without a bound
    layout         None where the text has none: it is not specified, and read as last dimension fastest
    dynamic        which dimensions are dynamic (`<=n` or `?`)
    Raises         RangeError where these do not fit each other

    >>> print(ArrayShape("f32", (3, 5), ArrayLayout((1, 0), ((2, 2),))))
    f32[3,5]{1,0:T(2,2)}
    >>> ArrayShape("f32", (3, 5), ArrayLayout((1, 1)))
    Traceback (most recent call last):
    tla.errors.RangeError: minor_to_major {1,1} names dimension 1 twice
      expected  each of 0 to 1 once
    """

    element_type: str
    dimensions: tuple[int | None, ...]
    layout: ArrayLayout | None = None
    dynamic: tuple[bool, ...] = ()

    def __post_init__(self) -> None:
        if not self.dynamic:
            object.__setattr__(self, "dynamic", tuple(d is None for d in self.dimensions))
        for _, why in why_not_valid(self.element_type, self.dimensions, self.layout):
            raise RangeError(*why)

    def __str__(self) -> str:
        dims = ",".join("?" if d is None else f"<={d}" if dyn else str(d) for d, dyn in zip(self.dimensions, self.dynamic))
        return f"{self.element_type}[{dims}]{self.layout or ''}"

    def with_layout(self) -> ArrayShape:
        """This shape, with the default layout (last dimension fastest, no tiles) where it has none."""
        return self if self.layout else replace(self, layout=ArrayLayout(tuple(reversed(range(len(self.dimensions))))))

    @property
    def bits(self) -> int:
        """Bits that one element takes in memory: E(n), else whole bytes."""
        return (self.layout.element_size_in_bits if self.layout else 0) or 8 * -(-BITS[self.element_type] // 8)


def tiled(sizes: tuple[int, ...], tile: tuple[TileEntry, ...]) -> tuple[int, ...]:
    """The dimensions after one tile level, major to minor: those it leaves, its tile counts, its in-tile extents.

    >>> tiled((3, 5), (2, 2)), tiled((7,), (8, 128)), tiled((2, 7, 8, 11, 10), ("*", "*", 2, "*", 3))
    ((2, 3, 2, 2), (1, 1, 8, 128), (56, 37, 2, 3))
    """
    sizes = (1,) * (len(tile) - len(sizes)) + sizes
    left, covered = sizes[: len(sizes) - len(tile)], sizes[len(sizes) - len(tile) :]
    pairs = [(math.prod(group), t) for group, t in groups(covered, tile)]
    return (*left, *(-(-n // t) for n, t in pairs), *(t for _, t in pairs))


def groups(covered: tuple[int, ...], tile: tuple[TileEntry, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The dimensions that a tile covers, each with its tile size: those that `*` merges together."""
    group: tuple[int, ...] = ()
    for n, t in zip(covered, tile):
        group += (n,)
        if isinstance(t, int):
            yield group, t
            group = ()


# ------------------------------------------------------------------------------------------------ validity


def why_not_valid(element_type: str, dims: tuple[int | None, ...], layout: ArrayLayout | None) -> Iterator[tuple[str, Reason]]:
    """What is wrong with the parts of an ArrayShape: each time the field, and the reason."""
    if element_type not in BITS:
        yield "element_type", Reason(f"element type {element_type!r} is not known", "one of " + " ".join(BITS))
        return
    for d in dims:
        if d is not None and not 0 <= d <= INT64_MAX:
            yield "dimensions", Reason(f"dimension {d}", "0 up to what a signed 64-bit integer holds")
            return
    if _bytes_overflow(element_type, math.prod(d or 0 for d in dims)):
        yield "dimensions", Reason(f"the size of {element_type}{list(dims)} overflows", "a byte count that 64 bits hold")
    if layout:
        if why := _why_not_order(layout.minor_to_major, len(dims)):
            yield "minor_to_major", why
            return
        yield from _why_not_tiles(element_type, dims, layout)
        yield from _why_not_numbers(element_type, layout)
        yield from _why_not_splits(dims, layout)


def _bytes_overflow(element_type: str, count: int) -> bool:
    return count * max(8, BITS[element_type]) // 8 > INT64_MAX


def _why_not_order(order: tuple[int, ...], rank: int) -> Reason | None:
    text = f"minor_to_major {{{','.join(map(str, order))}}}"
    every = f"each of 0 to {rank - 1} once" if rank else "none: the array has no dimensions"
    if len(order) != rank:
        return Reason(f"{text} has {len(order)} entries for {rank} dimensions", every)
    for k, d in enumerate(order):
        if not 0 <= d < rank:
            return Reason(f"{text} names dimension {d}", every)
        if d in order[:k]:
            return Reason(f"{text} names dimension {d} twice", every)
    return None


def _why_not_tiles(element_type: str, dims: tuple[int | None, ...], layout: ArrayLayout) -> Iterator[tuple[str, Reason]]:
    sizes = tuple(dims[d] or 0 for d in reversed(layout.minor_to_major))
    for tile in layout.tiles:
        if why := _why_not_tile(tile):
            yield "tiles", why
            return
        sizes = tiled(sizes, tile)
        if _bytes_overflow(element_type, math.prod(n or 1 for n in sizes)):  # a zero elsewhere must not hide it
            yield "tiles", Reason("the tiled array overflows", "a byte count that 64 bits hold", "use smaller tiles")
            return


def _why_not_tile(tile: tuple[TileEntry, ...]) -> Reason | None:
    text = f"tile ({','.join(map(str, tile))})"
    if not tile:
        return Reason("a tile with no entries", "sizes of 1 or more", "drop the tile")
    for t in tile:
        if t != COMBINE and (isinstance(t, str) or t < 1):
            return Reason(f"{text} has the entry {t}", "sizes of 1 or more, or *")
    if tile[-1] == COMBINE:
        return Reason(f"{text} ends with *", "a size last", "* merges a dimension with the next more minor one: there is none")
    return None


def _why_not_numbers(element_type: str, layout: ArrayLayout) -> Iterator[tuple[str, Reason]]:
    bits, given = BITS[element_type], layout.element_size_in_bits
    if not (given in (0, bits) or (bits < 8 and given in (8, 16, 32))):
        what = f"E({given}) on {element_type}, which has {bits} bits"
        yield "element_size_in_bits", Reason(what, f"{bits}" + (", or 8, 16, 32 for one element in so many bits" if bits < 8 else ""))
    for field, least in (("tail_padding_alignment_in_elements", 1), ("memory_space", 0), ("dynamic_shape_metadata_prefix_bytes", 0)):
        if getattr(layout, field) < least:
            yield field, Reason(f"{field} {getattr(layout, field)}", f"{least} or more")


def _why_not_splits(dims: tuple[int | None, ...], layout: ArrayLayout) -> Iterator[tuple[str, Reason]]:
    seen: set[int] = set()
    for split in layout.split_configs:
        d, at = split
        if not 0 <= d < len(dims):
            yield "split_configs", Reason(f"SC{split} cuts physical dimension {d}", f"0 to {len(dims) - 1}")
            return
        if d in seen:
            yield "split_configs", Reason(f"SC cuts physical dimension {d} twice", "each once", "list all its indices in one")
        if list(at) != sorted(set(at)):
            yield "split_configs", Reason(f"SC{split}: indices {','.join(map(str, at))}", "strictly increasing ones")
        extent = dims[layout.minor_to_major[-1 - d]]
        if any(i < 1 or (extent is not None and i >= extent) for i in at):
            yield "split_configs", Reason(f"SC{split} cuts a dimension of {extent}", f"indices between 1 and {(extent or 0) - 1}")
        seen.add(d)
