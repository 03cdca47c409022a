"""Values that can be drawn: a layout, or a value that has one, and the part of it that fits in a drawing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..algebra.image import at_index, image, outer_sums
from ..core.element import Width
from ..core.errors import LeafTypeError, RankError, Unproven
from ..core.int_tuple import leaves, modes_of, product_each, shown
from ..core.ints import IntTree, IntTupleLike, is_int, known
from ..core.kinds import AnyLayout, layout_fix
from ..notation.width import ASSUMED, element_width

if TYPE_CHECKING:
    from ..xla.shapes.tile_padding import Digit

#: More coordinates than this are not drawn, if nothing else is said.
LIMIT = 2**16
#: More grids than this are not drawn beside each other.
MAX_GRIDS = 256
#: Of offsets that are not known more than so many are not drawn: each takes milliseconds.
MAX_UNKNOWN = 2**9
#: Layouts of more modes are not drawn.
MAX_MODES = 32
#: What is drawn of a layout that is too large: so many rows and columns.
CORNER = 8, 16


@dataclass(frozen=True, slots=True)
class Tiling:
    """The tiles of a layout, for its borders and its colours.

    extents    of a tile, one integer per top-level mode
    counts     after so many tiles of a mode the first comes again, as in a raked product; 0 where none does; ()
               is 0 everywhere
    text       the extents that are said; "" for those above
    in_memory  a tile is a part of memory, as that of a divide is: a layout of that memory, drawn beside it,
               has its colours

    >>> print(Tiling((4, 3)))
    4 x 3
    """

    extents: tuple[int, ...]
    counts: tuple[int, ...] = ()
    text: str = ""
    in_memory: bool = False

    def __str__(self) -> str:
        return self.text or " x ".join(map(str, self.extents))


@dataclass(frozen=True, slots=True)
class Subject:
    """A layout to be drawn, with its title, tile and element width.

    layout   any kind of layout
    title    its text
    notes    what else is to be said of it
    axes     the modes that are down and across; None for the first two
    bits     what says the width of an element, as tla.access.element_width takes it; None where nothing does
    start    of a tile, one integer per top-level mode: where it starts in the whole, whose blocks these are; () is 0
    digits   of a tiled XLA array: the digits of each mode
    tiling   its tiles; None where these are the blocks of its shape, all levels of it but the outermost

    >>> from tla import parse
    >>> from tla.viz import draw, Subject
    >>> subject = Subject(parse("(4,2):(2,1)"), "A", bits=16)
    >>> print(draw(subject))
    A
        0 1
      ┌─────┐
    0 │ 0 1 │
    1 │ 2 3 │
    2 │ 4 5 │
    3 │ 6 7 │
      └─────┘
    """

    layout: Any
    title: str
    notes: tuple[str, ...] = ()
    axes: tuple[int, int] | None = None
    bits: Any = None
    start: tuple[Any, ...] = ()
    digits: tuple[tuple[Digit, ...], ...] = ()
    tiling: Tiling | None = None

    @property
    def element_width(self) -> Width:
        """The width of an element; 32 bits where nothing says it."""
        return element_width(self.bits, default=ASSUMED)


_SUBJECTS: dict[type, Callable[[Any], Subject]] = {}


def register_subject(kind: type, make: Callable[[Any], Subject]) -> None:
    """Register make(x) as the subject drawn for values of this kind: a layout, and what else is known of it.

    >>> from tla import parse
    >>> class Buffer:
    ...     layout, bits = parse("(2,2):(2,1)"), 8
    >>> register_subject(Buffer, lambda x: Subject(x.layout, "buffer", bits=x.bits))
    >>> as_subject(Buffer()).title
    'buffer'
    """
    if not isinstance(kind, type) or not callable(make):
        fix = "write register_subject(Kind, make)"
        raise LeafTypeError(f"register_subject of {kind!r:.60}", "a class, and a function", fix)
    _SUBJECTS[kind] = make


def has_layout(x: object) -> bool:
    """Whether x is drawn by its layout."""
    return isinstance(x, tuple(_SUBJECTS))


def as_subject(x: object) -> Subject:
    """x as what is drawn; LeafTypeError if it is nothing that has a layout."""
    for kind in reversed(_SUBJECTS):  # the last that was registered knows best
        if isinstance(x, kind):
            return _SUBJECTS[kind](x)
    raise LeafTypeError(f"draw of a {type(x).__name__}", "a layout, or an XLA shape", layout_fix(x))


def _of_layout(layout: Any) -> Subject:
    origin = layout.origin_shape
    if origin is None:
        return Subject(layout, str(layout), ("part of it is padding",))
    padded = any(o is not n and known(o) != known(n) for o, n in zip(origin, product_each(layout.shape)))
    return Subject(layout, str(layout), (f"origin_shape {origin}",) if padded else ())


register_subject(AnyLayout, _of_layout)
register_subject(Subject, lambda subject: subject)


# ------------------------------------------------------------------------------------------------- the part drawn


@dataclass(frozen=True, slots=True)
class View:
    """A box of coordinates at the origin of a layout, with the values there.

    axes      the modes that are down and across; -1 for a single row
    extents   of the whole layout, one per top-level mode
    shape     of the box
    values    of each coordinate, the last mode fastest: offsets; texts where these are coordinates, or not known
    """

    subject: Subject
    axes: tuple[int, int]
    extents: tuple[int, ...]
    shape: tuple[int, ...]
    values: Sequence[Any]

    @property
    def has_numbers(self) -> bool:
        """Whether the values are offsets that are known."""
        return not self.values or is_int(self.values[0])

    @property
    def coords(self) -> Iterator[tuple[int, ...]]:
        """The coordinate of each value."""
        return itertools.product(*map(range, self.shape))

    @property
    def start(self) -> tuple[int, ...]:
        """The start, one integer per top-level mode."""
        start = self.subject.start or (0,) * len(self.extents)
        return known_sizes("the start of", self.subject.layout, start)

    @property
    def tiling(self) -> Tiling:
        """The tiles of the subject, or the blocks of its shape: all levels but the outermost; a flat mode is whole."""
        shapes = zip(modes_of(self.subject.layout.shape), self.extents)
        return self.subject.tiling or Tiling(tuple((steps(s) or (max(n, 1),))[-1] for s, n in shapes))

    @property
    def is_whole(self) -> bool:
        return self.shape == self.extents

    @property
    def padding(self) -> list[bool]:
        """Whether each element is past origin_shape."""
        layout = self.subject.layout
        if layout.origin_shape is None:
            return [False] * len(self.values)
        origin = known_sizes("origin_shape of", layout, layout.origin_shape)
        if all(o >= n for o, n in zip(origin, self.shape)):
            return [False] * len(self.values)
        return [n > 0 for n in outer_sums([[int(c >= o) for c in range(n)] for o, n in zip(origin, self.shape)])]


def view(subject: Subject, axes: tuple[int, int], limit: int) -> View:
    """All of the subject, or if it has more than `limit` coordinates the corner of it."""
    layout = subject.layout
    if (rank := len(modes_of(layout.shape))) > MAX_MODES:
        fix = f"make one of some, as group[2, {rank}](layout) does"
        raise RankError(f"draw of {rank} modes", f"at most {MAX_MODES}", fix)
    extents = known_sizes("draw of", layout, product_each(layout.shape))
    corner = tuple(min(n, dict(zip(axes, CORNER)).get(k, 1)) for k, n in enumerate(extents))
    grids = math.prod(n for k, n in enumerate(extents) if k not in axes)
    # of a mode of no elements too the others are no longer than a drawing
    whole = math.prod(max(n, 1) for n in extents) <= limit and grids <= MAX_GRIDS
    last = at_index(layout, tuple(max(n - 1, 0) for n in extents))
    if is_int(last) and known(last) is None:
        whole = whole and math.prod(extents) <= MAX_UNKNOWN
    box = extents if whole else corner
    return View(subject, axes, extents, box, _values(layout, box))


def axes_of(subject: Subject, axes: Sequence[int] | None) -> tuple[int, int]:
    """The modes that are down and across. A vector is across."""
    rank = len(modes_of(subject.layout.shape))
    if axes is None:
        return subject.axes if subject.axes and rank > 1 else (0, 1) if rank > 1 else (-1, 0)
    pair = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    if len(pair) != 2 or pair[0] == pair[1] or not all(is_int(k) and 0 <= k < rank for k in pair):
        what = f"the axes {shown(pair)} of {shown(subject.layout)}"
        fix = "give the modes that are down and across, as in axes=(0, 1)"
        raise RankError(what, f"two different modes of {rank}", fix)
    return pair[0], pair[1]


def known_sizes(what: str, layout: AnyLayout, sizes: IntTree) -> tuple[int, ...]:
    """The sizes as ints; Unproven if one of them is not known."""
    found = [*map(known, sizes)]
    if None in found:
        raise Unproven(f"{what} {shown(layout)}", "a layout of known sizes", "give its symbols values first")
    return tuple(map(int, found))  # type: ignore[arg-type]  # none is None


def _values(layout: Any, box: tuple[int, ...]) -> list[Any]:
    """The values in a box, the last mode fastest: offsets, or coordinates, and what is not known, as texts."""
    if not math.prod(box):
        return []
    if (found := image(layout, box)) is None:
        return [str(at_index(layout, index)) for index in itertools.product(*map(range, box))]
    return [*map(_pattern(found.first).format, *found.leaves)] if isinstance(found.first, tuple) else found.leaves[0]


def _pattern(coordinate: object) -> str:
    """
    >>> _pattern((1, (2, 3)))
    '({},({},{}))'
    """
    return f"({','.join(map(_pattern, coordinate))})" if isinstance(coordinate, tuple) else "{}"


# ------------------------------------------------------------------------------------------------- levels


def steps(shape: IntTupleLike) -> tuple[int, ...]:
    """The elements of a mode in a block of each level but the outermost, the innermost first; one is no block.

    >>> from tla import parse
    >>> steps(parse("(4,(2,1),3)")), steps(8)
    ((4, 8), ())
    """
    products = itertools.accumulate((known(n) or 1 for n in tuple(leaves(shape))[:-1]), int.__mul__)
    return tuple(sorted({*products} - {1}))


def levels(coords: range, blocks: Sequence[int]) -> Iterator[int]:
    """The height of the block that begins at each coordinate: 0 for none.

    >>> [*levels(range(8), (2, 4))]
    [2, 0, 1, 0, 2, 0, 1, 0]
    """
    return (max((level for level, n in enumerate(blocks, 1) if k % n == 0), default=0) for k in coords)
