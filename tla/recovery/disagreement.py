"""The coordinates at which a writer and a reader of one memory disagree, and the changes that make them agree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..core.errors import RangeError, RankError
from ..core.int_tuple import shown
from ..core.ints import Leaf
from .between import swizzle_between
from .digits import largest, least
from .door import offsets_of
from .swizzles import swizzled_digits
from .tables import layout_of_table

if TYPE_CHECKING:
    from .digits import Table

Modes: TypeAlias = "tuple[tuple[Leaf, Leaf], ...]"

#: So many coordinates at which the two differ are listed.
LISTED = 4
#: Of more coordinates the orders are not tried.
MAX_ORDERED = 6


class Mend(NamedTuple):
    """A change to either side that makes both agree.

    kind    "offset", "swizzle" or "map" of offsets, "permutation" of coordinates, or "layout": the parts in which those
            of the two differ
    value   the number to add; the Swizzle; the Layout that takes the writer's offsets to the reader's; the order of the
            coordinates; of a layout (what, the writer's, the reader's) of each part
    writer  what the writer does to agree with the reader, in words
    reader  what the reader does instead
    """

    kind: str
    value: Any
    writer: str
    reader: str


class Difference(NamedTuple):
    """A coordinate at which two sides differ, and their offsets."""

    coordinate: tuple[int, ...]
    writer: int
    reader: int


class Disagreement(NamedTuple):
    """The answer of `recover`.

    different  how many coordinates have two offsets
    of         how many coordinates there are
    first      the first of those that differ, the first coordinate fastest
    mends      what would make the two agree, the simplest first
    """

    different: int
    of: int
    first: tuple[Difference, ...]
    mends: tuple[Mend, ...]

    @property
    def agree(self) -> bool:
        """Whether the two sides have the same offset at every coordinate."""
        return not self.different

    def __str__(self) -> str:
        if self.agree:
            return f"they agree at all {self.of} coordinates"
        lines = [f"they differ at {self.different} of {self.of} coordinates:"]
        lines += [f"  {shown(x.coordinate)} is written at {x.writer} and read at {x.reader}" for x in self.first]
        lines += [f"{x.kind}: the writer {x.writer}, or the reader {x.reader}" for x in self.mends]
        return "\n".join(lines if self.mends else [*lines, "nothing is found that mends either"])


def recover(
    writer: object,
    reader: object,
    shape: int | tuple[int, ...] | Mapping[str, int] | None = None,
    coords: str | Sequence[str] | None = None,
    language: str = "c",
    integer: str | None = None,
    values: str | Mapping[str, int] | None = None,
) -> Disagreement:
    """The first coordinates that a writer and a reader have at two places, and what would mend either.

    writer, reader  layouts, tables of offsets, functions of coordinates or index expressions as text, each
                    as layout_of takes it
    shape, coords, language, integer, values    as of layout_of, for both
    Returns  Disagreement; each of its mends is proved: compared with all coordinates
    Raises   what layout_of raises for what it cannot read; RankError for sides of different extents

    >>> from tla import parse, recover
    >>> print(recover(parse("Sw<3,3,3> o 0 o (64,64):(64,1)"), "i*64 + (j ^ (i & 3) * 8)", shape=(64, 64)))
    they differ at 2048 of 4096 coordinates:
      (4,0) is written at 288 and read at 256
      (5,0) is written at 360 and read at 328
      (6,0) is written at 432 and read at 400
      (7,0) is written at 504 and read at 472
    layout: the writer takes Sw<2,3,3> for Sw<3,3,3> as its swizzle, or the reader takes Sw<3,3,3> for Sw<2,3,3> as its swizzle
    swizzle: the writer sends its offset through Sw<1,5,3>, or the reader sends its offset through Sw<1,5,3>
    map: the writer sends its offset through Sw<1,5,3> o _0 o _4096:_1, or the reader goes the other way

    Where one side has padded rows, that is a part in which the two differ:

    >>> print(recover("i*72 + j", "i*64 + j", shape=(64, 64)).mends[0].writer)
    takes 64 for 72 as its stride of coordinate 0
    """
    one, other = (offsets_of(x, shape, coords, language, integer, values) for x in (writer, reader))
    if one.shape != other.shape:
        raise RankError(
            f"recover of extents {one.shape} and {other.shape}", "the same extents", "give both the same coordinates"
        )
    wrong = (one != other).T
    places = [tuple(map(int, c[::-1])) for c in itertools.islice(zip(*wrong.nonzero()), LISTED)]
    first = tuple(Difference(c, int(one[c]), int(other[c])) for c in places)
    mends = (f(one, other) for f in (_offset, _parts, _swizzle, _permutation, _map) if places)
    return Disagreement(int(wrong.sum()), one.size, first, tuple(mend for mend in mends if mend is not None))


def _offset(one: Table, other: Table) -> Mend | None:
    step = int(other.flat[0]) - int(one.flat[0])
    if not (other - one == step).all():
        return None
    return Mend("offset", step, f"adds {step} to its offset", f"adds {-step} to its offset")


def _parts(one: Table, other: Table) -> Mend | None:
    """The parts in which the layouts of both differ: a swizzle, the offset behind it, strides."""
    a, b = swizzled_digits(one), swizzled_digits(other)
    if a is None or b is None:
        return None
    strides = [*itertools.chain(*(_strides(k, *axes) for k, axes in enumerate(zip(a[1].axes, b[1].axes))))]
    if any(part is None for part in strides):
        return None
    names = [" o ".join(map(str, swizzles)) or "no swizzle" for swizzles, _ in (a, b)]
    parts = [("swizzle", *names), ("offset", a[1].offset, b[1].offset), *filter(None, strides)]
    parts = [part for part in parts if part[1] != part[2]]
    sides = (" and ".join(f"takes {p[k]} for {p[3 - k]} as its {p[0]}" for p in parts) for k in (2, 1))
    return Mend("layout", tuple(parts), *sides)


def _strides(k: int, one: Modes, other: Modes) -> Iterator[tuple[str, Any, Any] | None]:
    """The strides of the modes of a coordinate, cut where either side's end; None where these are not each a part of
    the other's."""
    a, b, place = [*one], [*other], 1
    while a and b:
        n, d, m, e = map(int, (*a.pop(0), *b.pop(0)))
        extent = min(n, m)
        if max(n, m) % extent:
            yield None
            return
        yield f"stride of coordinate {k}" + (f"//{place}" if place > 1 else ""), d, e
        a[:0] = [(n // extent, d * extent)] if n > extent else []
        b[:0] = [(m // extent, e * extent)] if m > extent else []
        place *= extent


def _swizzle(one: Table, other: Table) -> Mend | None:
    try:
        swizzle = swizzle_between(one, other)
    except RangeError:
        return None
    return Mend("swizzle", swizzle, *[f"sends its offset through {swizzle}"] * 2)


def _permutation(one: Table, other: Table) -> Mend | None:
    """Another order of the coordinates."""
    axes = range(one.ndim)
    for order in itertools.permutations(axes) if one.ndim <= MAX_ORDERED else ():
        if tuple(one.shape[a] for a in order) == one.shape and (one.transpose(order) == other).all():
            back = tuple(order.index(a) for a in axes)
            return Mend("permutation", back, *(f"takes its coordinates in the order {shown(p)}" for p in (back, order)))
    return None


def _map(one: Table, other: Table) -> Mend | None:
    """The layout that takes the one's offsets, where these are all from 0 on, to the other's, each to one
    of its own."""
    import numpy as np

    size = largest(one) + 1
    if least(one) < 0 or size > one.size:
        return None
    taken = np.full(size, -1)
    taken[one] = other
    if (taken < 0).any() or (taken[one] != other).any() or len(np.unique(taken)) < size:
        return None
    try:
        layout = layout_of_table(taken)
    except RangeError:
        return None
    return Mend("map", layout, f"sends its offset through {layout}", "goes the other way")
