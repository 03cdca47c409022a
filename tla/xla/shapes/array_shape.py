"""An XLA array shape as a value: element type, dimensions, layout.

Source: XLA xla/shape.h, xla/layout.h and their printers; docs/tiled_layout.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ...core.arrays import INT64_MAX, INT64_MIN
from ...core.cache import plain_memo
from ...core.display import Displayed
from ...core.element import Width
from ...core.errors import LeafTypeError, RangeError, RankError, Reason
from ...core.ints import known, leaf, plain
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most
from ...core.value import Record, put
from .arguments import as_tuple, integer, integers

#: A tile entry that merges its dimension with the next more minor one, before the rest of the tile is applied: `*`.
COMBINE = "*"
TileEntry = int | str

#: More tile levels than this are refused: real programs have up to three.
MAX_TILES = 64

#: Bits of each element type. XLA stores a type of less than a byte in a byte, unless E(n) says otherwise.
BITS = {
    **dict.fromkeys(("pred", "s1", "u1"), 1),
    **dict.fromkeys(("s2", "u2"), 2),
    **dict.fromkeys(("s4", "u4", "f4e2m1fn"), 4),
    **dict.fromkeys(("f6e2m3fn", "f6e3m2fn"), 6),
    **dict.fromkeys(("s8", "u8", "f8e3m4", "f8e4m3", "f8e4m3fn", "f8e4m3b11fnuz"), 8),
    **dict.fromkeys(("f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "f8e8m0fnu"), 8),
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


class ArrayLayout(Record):
    """The layout of an array in memory: what stands in braces.

    minor_to_major                          logical dimensions, the fastest first
    tiles                                   one tuple a level, major to minor, of sizes [elements] or COMBINE, which
                                            may be written -1, as in XLA's documents
    tail_padding_alignment_in_elements      L: the element count is rounded up to a multiple of it
    element_size_in_bits                    E: bits of an element; 0 is the default of the type
    memory_space                            S
    split_configs                           SC
    dynamic_shape_metadata_prefix_bytes     M: bytes of run-time sizes before the data
    Raises                                  RangeError for what no array has: a size of a tile below 1, an order that
                                            names a dimension twice; what only the array decides, ArrayShape refuses

    >>> print(ArrayLayout((1, 0), ((8, 128), (2, 1)), memory_space=1))
    {1,0:T(8,128)(2,1)S(1)}
    """

    __slots__ = __match_args__ = (
        "minor_to_major",
        "tiles",
        "tail_padding_alignment_in_elements",
        "element_size_in_bits",
        "memory_space",
        "split_configs",
        "dynamic_shape_metadata_prefix_bytes",
    )
    minor_to_major: tuple[int, ...]
    tiles: tuple[tuple[TileEntry, ...], ...]
    tail_padding_alignment_in_elements: int
    element_size_in_bits: int
    memory_space: int
    split_configs: tuple[Split, ...]
    dynamic_shape_metadata_prefix_bytes: int

    def __init__(
        self,
        minor_to_major: Sequence[int],
        tiles: Sequence[Sequence[TileEntry]] = (),
        tail_padding_alignment_in_elements: int = 1,
        element_size_in_bits: int = 0,
        memory_space: int = 0,
        split_configs: Sequence[Split | tuple[int, Sequence[int]]] = (),
        dynamic_shape_metadata_prefix_bytes: int = 0,
    ) -> None:
        put(self, "minor_to_major", integers(minor_to_major))
        read = (integers(t, keep=COMBINE) for t in as_tuple(tiles))
        put(self, "tiles", tuple(tuple(COMBINE if n in (INT64_MIN, -1) else n for n in tile) for tile in read))
        put(self, "tail_padding_alignment_in_elements", integer(tail_padding_alignment_in_elements))
        put(self, "element_size_in_bits", integer(element_size_in_bits))
        put(self, "memory_space", integer(memory_space))
        put(self, "split_configs", tuple(Split(integer(d), integers(at)) for d, at in as_tuple(split_configs)))
        put(self, "dynamic_shape_metadata_prefix_bytes", integer(dynamic_shape_metadata_prefix_bytes))
        if why := _why_not_layout(self):
            raise RangeError(*why)

    def __str__(self) -> str:
        return self.text()

    def text(self, combine: str = COMBINE) -> str:
        """The layout in braces. combine: how a tile entry that merges dimensions is written; the documents write -1."""
        order, properties = ",".join(map(str, self.minor_to_major)), "".join(self._properties(combine))
        return f"{{{order}{':' if properties else ''}{properties}}}" if order or properties else ""

    def _properties(self, combine: str) -> Iterator[str]:
        if self.tiles:
            yield "T" + "".join(f"({','.join(combine if n == COMBINE else str(n) for n in t)})" for t in self.tiles)
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


class ArrayShape(Record, Displayed):
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
    tla.core.errors.RangeError: minor_to_major {1,1} names dimension 1 twice
      expected  each of 0 to 1 once
      fix       name each dimension once
    """

    __slots__ = __match_args__ = ("element_type", "dimensions", "layout", "dynamic")
    element_type: str
    dimensions: tuple[int | None, ...]
    layout: ArrayLayout | None
    dynamic: tuple[bool, ...]

    def __init__(
        self,
        element_type: str,
        dimensions: Sequence[int | None],
        layout: ArrayLayout | None = None,
        dynamic: Sequence[bool] = (),
    ) -> None:
        sizes, marks = _sizes(dimensions), as_tuple(dynamic)
        if marks and len(marks) != len(sizes):
            what = f"{len(marks)} dynamic marks for {len(sizes)} dimensions"
            raise RankError(what, "one for each", "leave it out for none")
        if not isinstance(element_type, str) or not isinstance(layout, (ArrayLayout, type(None))):
            what = f"ArrayShape of {type(element_type).__name__}, ..., {type(layout).__name__}"
            fix = "use parse_shape, which reads a text"
            raise LeafTypeError(what, "the name of an element type, and an ArrayLayout", fix)
        if found := why_not_valid(element_type, sizes, layout):
            raise RangeError(*found[1])
        put(self, "element_type", element_type)
        put(self, "dimensions", sizes)
        says_nothing = not sizes and layout == _default_layout(len(sizes))  # XLA does not print it
        put(self, "layout", None if says_nothing else layout)
        put(self, "dynamic", tuple(d is None or bool(dyn) for d, dyn in zip(sizes, marks or (False,) * len(sizes))))

    def __str__(self) -> str:
        return self.text()

    def text(self, combine: str = COMBINE) -> str:
        """XLA's text. combine: how a tile entry that merges dimensions is written.

        >>> shape = ArrayShape("f32", (7, 8), ArrayLayout((1, 0), (("*", 2),)))
        >>> print(shape, shape.text(combine="-1"))
        f32[7,8]{1,0:T(*,2)} f32[7,8]{1,0:T(-1,2)}
        """
        marked = zip(self.dimensions, self.dynamic)
        dims = ",".join("?" if d is None else f"<={d}" if dyn else str(d) for d, dyn in marked)
        return f"{self.element_type}[{dims}]{self.layout.text(combine) if self.layout else ''}"

    def with_layout(self) -> ArrayShape:
        """This shape, with the default layout (last dimension fastest, no tiles) where it has none."""
        if self.layout:
            return self
        return ArrayShape(self.element_type, self.dimensions, self.effective_layout, self.dynamic)

    @property
    def effective_layout(self) -> ArrayLayout:
        """The layout; where none is specified, the default."""
        return self.layout or _default_layout(len(self.dimensions))

    @property
    def bits(self) -> int:
        """Bits that one element takes in memory: E(n), else whole bytes."""
        return (self.layout.element_size_in_bits if self.layout else 0) or 8 * -(-BITS[self.element_type] // 8)

    @property
    def element_width(self) -> Width:
        """The width of an element in memory, and the element type, which says it."""
        return Width(self.bits, self.element_type)


@plain_memo
def _default_layout(rank: int) -> ArrayLayout:
    return ArrayLayout(tuple(reversed(range(rank))))


C = TypeVar("C", ArrayLayout, ArrayShape)


def unchecked(kind: type[C], *values: Any) -> C:
    """An ArrayLayout or an ArrayShape of the values of all fields, in their order, which the caller has checked."""
    new = object.__new__(kind)
    for put_field, value in zip(_PUT[kind], values):
        put_field(new, value)
    return new


# Setters of slots: an object is made in half the time that its __init__ takes.
_PUT: dict[type, list[Callable[[Any, Any], None]]] = {
    kind: [kind.__dict__[name].__set__ for name in kind.__match_args__] for kind in (ArrayLayout, ArrayShape)
}

#: The fields of a layout that are one number, each with the least that it may be, which it is by default.
NUMBERS = {
    "tail_padding_alignment_in_elements": 1,
    "element_size_in_bits": 0,
    "memory_space": 0,
    "dynamic_shape_metadata_prefix_bytes": 0,
}
_DEFAULTS: dict[str, Any] = {**dict.fromkeys(ArrayLayout.__match_args__, ()), **NUMBERS}


def unchecked_layout(minor_to_major: tuple[int, ...], **properties: Any) -> ArrayLayout:
    """An ArrayLayout of these fields, which are checked with the array's: a parser can say where the fault is then."""
    return unchecked(ArrayLayout, *{**_DEFAULTS, "minor_to_major": minor_to_major, **properties}.values())


def _sizes(x: object) -> tuple[Any, ...]:
    """x as a tuple of plain ints, symbols, and None."""
    return tuple(n if n is None else plain(leaf(n)) for n in as_tuple(x))


def cover(sizes: tuple[int, ...], tile: tuple[TileEntry, ...]) -> tuple[int, tuple[int, ...]]:
    """The number of sizes that a tile leaves, and all of them: a longer tile finds sizes of 1 before them."""
    sizes = (1,) * (len(tile) - len(sizes)) + sizes
    return len(sizes) - len(tile), sizes


def tiled(sizes: tuple[int, ...], tile: tuple[TileEntry, ...]) -> tuple[int, ...]:
    """The dimensions after one tile level, major to minor: those it leaves, its tile counts, its in-tile extents.

    >>> tiled((3, 5), (2, 2)), tiled((7,), (8, 128)), tiled((2, 7, 8, 11, 10), ("*", "*", 2, "*", 3))
    ((2, 3, 2, 2), (1, 1, 8, 128), (56, 37, 2, 3))
    """
    left, sizes = cover(sizes, tile)
    pairs = [(math.prod(group), t) for group, t in groups(sizes[left:], tile)]
    return (*sizes[:left], *(ceil_div(n, t) for n, t in pairs), *(t for _, t in pairs))


def groups(covered: tuple[int, ...], tile: tuple[TileEntry, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The dimensions that a tile covers, each with its tile size: those that `*` merges together."""
    group: tuple[int, ...] = ()
    for n, t in zip(covered, tile):
        group += (n,)
        if not isinstance(t, str):  # an integer, or the name of one
            yield group, t
            group = ()


# ------------------------------------------------------------------------------------------------ validity


def why_not_valid(
    element_type: str, dims: tuple[int | None, ...], layout: ArrayLayout | None
) -> tuple[str, Reason] | None:
    """The fault in the parts of an ArrayShape: the field, and the reason."""
    return next(_wrongs(element_type, dims, layout), None)


def _why_not_layout(layout: ArrayLayout) -> Reason | None:
    """The fault in a layout that no array has, if there is one."""
    found = [_why_not_order(layout.minor_to_major, len(layout.minor_to_major)), *map(why_not_tile, layout.tiles)]
    numbers = (_why_not_number(layout, field) for field in NUMBERS)
    return next((why for why in (*found, *numbers) if why), None)


def _why_not_number(layout: ArrayLayout, field: str) -> Reason | None:
    n, least = getattr(layout, field), NUMBERS[field]
    return None if n >= least else Reason(f"{field} {n}", f"{least} or more", "leave it out for the default")


def unknown_type(name: object) -> Reason:
    """The reason that XLA has no element type of this name."""
    return Reason(f"element type {name!r:.40} is not known", "one of " + " ".join(BITS), "write XLA's name")


def _wrongs(
    element_type: str, dims: tuple[int | None, ...], layout: ArrayLayout | None
) -> Iterator[tuple[str, Reason]]:
    """Lazily, and each is asked for only where those before it are right."""
    if element_type not in BITS:
        yield "element_type", unknown_type(element_type)
    if any(d is not None and at_most(d, -1) for d in dims):
        yield "dimensions", Reason("a negative dimension", "0 or more", "write the extent")
    for d in dims:
        if d is not None and not at_most(0, d):
            fix = "declare sizes so that it is not: at_least=..."
            yield "dimensions", Reason(f"the dimension {d} may be negative", "0 or more", fix)
    if _bytes_overflow(element_type, dims):
        what = f"the size of {element_type}{list(dims)} overflows"
        yield "dimensions", Reason(what, "a byte count that 64 bits hold", "use smaller dimensions")
    if layout is None:
        return
    if why := _why_not_order(layout.minor_to_major, len(dims)):
        yield "minor_to_major", why
    physical = tuple(0 if (n := dims[d]) is None else n for d in reversed(layout.minor_to_major))
    if why := _why_not_tiles(element_type, physical, layout.tiles):
        yield "tiles", why
    bits, given = BITS[element_type], layout.element_size_in_bits
    if not (given in (0, bits) or (bits < 8 and given in (8, 16, 32))):
        expected = f"{bits}" + (", or 8, 16, 32 for one element in so many bits" if bits < 8 else "")
        what = f"E({given}) on {element_type}, which has {bits} bits"
        yield "element_size_in_bits", Reason(what, expected, "leave E out")
    for field in NUMBERS:
        if why := _why_not_number(layout, field):
            yield field, why
    before = set[int]()
    for split in layout.split_configs:
        if why := _why_not_split(split, dims, layout, before):
            yield "split_configs", why
        before.add(split.dimension)


def _bytes_overflow(element_type: str, sizes: tuple[int | None, ...]) -> bool:
    """Whether the bytes pass 64 bits, as far as sizes are known: a symbol is taken to be 1, `?` has none."""
    if None in sizes:
        return False
    values = [1 if (value := known(n)) is None else value for n in sizes]
    return product(values) * max(8, BITS[element_type]) // 8 > INT64_MAX


def product(sizes: Sequence[int]) -> int:
    """The product of sizes, each 0 or more, up to the first that 64 bits do not hold: thousands of sizes
    are not multiplied.

    >>> product([2, 3, 4]), product([2**40] * 1000) == 2**80, product([2**40, 2**40, 0])
    (24, True, 0)
    """
    found = 0 if 0 in sizes else 1
    for n in sizes if found else ():
        found *= n
        if found > INT64_MAX:
            break
    return found


def _why_not_order(order: tuple[int, ...], rank: int) -> Reason | None:
    text = f"minor_to_major {{{','.join(map(str, order[:16]))}{'' if len(order) <= 16 else ',...'}}}"
    every = f"each of 0 to {rank - 1} once" if rank else "none: the array has no dimensions"
    if len(order) != rank:
        return Reason(f"{text} has {len(order)} entries for {rank} dimensions", every, "name each dimension once")
    seen: set[int] = set()
    for d in order:
        if not 0 <= d < rank:
            return Reason(f"{text} names dimension {d}", every, "number dimensions from 0")
        if d in seen:
            return Reason(f"{text} names dimension {d} twice", every, "name each dimension once")
        seen.add(d)
    return None


def _why_not_tiles(
    element_type: str, sizes: tuple[int, ...], tiles: tuple[tuple[TileEntry, ...], ...]
) -> Reason | None:
    if len(tiles) > MAX_TILES:
        return Reason(f"{len(tiles)} tile levels", f"at most {MAX_TILES}", "merge them")
    for tile in tiles:
        if why := why_not_tile(tile):
            return why
        sizes = tiled(sizes, tile)
        if _bytes_overflow(element_type, sizes):
            return Reason("the tiled array overflows", "a byte count that 64 bits hold", "use smaller tiles")
    return None


def why_not_tile(tile: tuple[TileEntry, ...]) -> Reason | None:
    """The fault in a tile, if it has one."""
    text = f"tile ({','.join(map(str, tile[:16]))}{'' if len(tile) <= 16 else ',...'})"
    if not tile:
        return Reason("a tile with no entries", "sizes of 1 or more", "drop the tile")
    for t in tile:
        if not isinstance(t, str) and at_most(t, 0):
            return Reason(f"{text} has the entry {t}", "sizes of 1 or more, or *", "write 1 to leave a dimension whole")
    if tile[-1] == COMBINE:
        what = f"{text} ends with *"
        return Reason(what, "a size last", "leave the last * out: it merges a dimension with the next more minor one")
    return None


def _why_not_split(split: Split, dims: tuple[int | None, ...], layout: ArrayLayout, before: set[int]) -> Reason | None:
    d, at = split
    if not 0 <= d < len(dims):
        what = f"SC{split} cuts physical dimension {d}"
        return Reason(what, f"0 to {len(dims) - 1}", "count dimensions from 0, the most major one")
    if d in before:
        return Reason(f"SC cuts physical dimension {d} twice", "each once", "list all its indices in one")
    if list(at) != sorted(set(at)):
        return Reason(f"SC{split}: indices {','.join(map(str, at))}", "strictly increasing ones", "sort them")
    extent = dims[layout.minor_to_major[-1 - d]]
    if any(i < 1 or (extent is not None and i >= extent) for i in at):
        what = f"SC{split} cuts a dimension of {'?' if extent is None else extent}"
        return Reason(what, "indices inside of it", "leave the split out")
    return None
