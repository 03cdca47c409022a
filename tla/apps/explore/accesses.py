"""Accesses of shared memory that the page counts: the usual ones by name, others as an expression of who holds what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.element import Width
from ...core.errors import RangeError, RankError, TlaError
from ...core.int_tuple import product_each
from ...core.ints import known
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.on_demand import OnDemand
from ...linear import LinearLayout
from ...notation.width import ASSUMED, element_width
from ...viz.drawable import Subject
from .grammar import read

_access = OnDemand("tla.access")

LANES, VECTOR = 32, 128


def _lanes(extent: int) -> int:
    """The most lanes of a warp that divide an extent."""
    return next(n for n in range(min(LANES, extent), 0, -1) if extent % n == 0)


def _a_row(rows: int, columns: int, _count: int) -> Any:
    n = _lanes(columns)
    return (n, (columns // n, rows)), (rows, (rows * n, 1))


def _a_column(rows: int, columns: int, _count: int) -> Any:
    n = _lanes(rows)
    return (n, (rows // n, columns)), (1, (n, rows))


def _vectors_of_rows(rows: int, columns: int, count: int) -> Any:
    n = _lanes(rows)
    return (n, (count, columns // count, rows // n)), (1, (rows, rows * count, n))


def _vectors_of_columns(rows: int, columns: int, count: int) -> Any:
    n = _lanes(columns)
    return (n, (count, rows // count, columns // n)), (rows, (1, count, rows * n))


#: What the page calls an access -> whether lanes take vectors of 128 bits, along which mode, and shape and stride of (thread, value).
USUAL: dict[str, tuple[int | None, Callable[[int, int, int], Any]]] = {
    "a row, an element each": (None, _a_row),
    "a column, an element each": (None, _a_column),
    "down the rows, 16 bytes of each": (1, _vectors_of_rows),
    "along the columns, 16 bytes of each": (0, _vectors_of_columns),
}


def counted(asked: str, subject: Subject, bits: int | None) -> dict[str, Any]:
    """The count of an access of a layout, for the page: what it says, and the offsets that collide in its worst instruction.

    asked    one of USUAL, or an expression of a (thread, value) layout onto the tile, or of Triton's layout
    bits     the width of an element, if neither the text of the layout nor that of the access says it; "element" is what was taken

    >>> from tla import parse
    >>> from tla.viz.drawable import as_subject
    >>> found = counted("a column, an element each", as_subject(parse("(32,32):(32,1)")), None)
    >>> found["degree"], found["offsets"][:3]
    (32, ['0', '32', '64'])
    """
    try:
        held, element, vector = _owners(asked, subject, bits)
        found = _access.access(held, subject.layout, element, vector)
    except TlaError as error:
        what, expected, fix = error.reason
        return _uncounted(what, f"expected: {expected}; fix: {fix}")
    starts = found.witness.addresses if found.witness else ()
    offsets = [str(start * 8 // element.bits + k) for start in starts for k in range(found.vector // element.bits)]
    text, width, source = str(found).split("\n")
    return {"text": text, "width": width, "fix": source, "degree": found.degree, "offsets": offsets, "element": element}


def _uncounted(why: str, fix: str) -> dict[str, Any]:
    return {"text": why, "width": "", "fix": fix, "degree": None, "offsets": [], "element": None}


def _owners(asked: str, subject: Subject, bits: int | None) -> tuple[Any, Width, int | None]:
    """The owners, the width of an element, and of a lane's access."""
    if asked in USUAL:
        element = element_width(subject.bits, bits=bits, default=ASSUMED)
        along, make = USUAL[asked]
        rows, columns, *_others = (*_extents(subject.layout), 1, 1)
        count = 1 if along is None else _count(element.bits, (rows, columns)[along])
        return Layout(*make(rows, columns, count)), element, element.bits * count
    term = read(asked).value
    if not isinstance(term.value, (AnyLayout, LinearLayout)):
        what = f"an access by {asked:.60}"
        raise RankError(what, "a (thread, value) layout onto the tile, or one of Triton's", f"write {next(iter(USUAL))!r}, or (32,1):(1,0)")
    return term.value, element_width(subject.bits, term, bits=bits, default=ASSUMED), None


def _extents(layout: AnyLayout) -> list[int]:
    extents = [int(known(n) or 0) for n in product_each(layout.shape)]
    if 0 in extents:
        raise RangeError("an access of a layout of no elements", "one of some", "give sizes of 1 or more")
    return extents


def _count(bits: int, extent: int) -> int:
    """The number of elements of a vector."""
    count = VECTOR // bits
    if not count or VECTOR % bits or extent % count:
        raise RangeError(
            f"16 bytes of {extent} elements of {bits} bits",
            f"a multiple of {max(1, count)} elements",
            "choose an access that moves one element for each thread",
        )
    return count
