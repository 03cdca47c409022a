"""Accesses of the drawn layout, counted for the page; and the layout of memory that has fewer conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...algebra.modes import select
from ...core.composed import ComposedLayout
from ...core.element import Width
from ...core.errors import RangeError, TlaError
from ...core.int_tuple import product_each, size
from ...core.ints import known
from ...core.kinds import AnyLayout
from ...core.on_demand import OnDemand
from ...core.swizzle import Swizzle
from ...notation.width import ASSUMED, element_width
from ...viz.drawable import Subject
from .. import owners
from .question import Question

if TYPE_CHECKING:
    from ...access.counting import Access

_access, _pattern, _codegen = OnDemand("tla.access"), OnDemand("tla.access.pattern"), OnDemand("tla.codegen")
_conflicts = OnDemand("tla.viz.bank_conflicts")

#: A better layout is found for accesses that are written so: along what is contiguous.
WRITTEN = "cp.async.16"


def counted(question: Question, subject: Subject) -> dict[str, Any]:
    """The count of an access of a layout, for the page, and the offsets that collide in its worst instruction.

    "element" is the width that was taken: that of the text, of the access, of the question, or 32

    >>> from tla import parse
    >>> from tla.viz.drawable import as_subject
    >>> found = counted(Question("", access="a column"), as_subject(parse("(32,32):(32,1)")))
    >>> found["degree"], found["offsets"][:3]
    (32, ['0', '32', '64'])
    """
    try:
        found = _found(question, subject)
    except TlaError as error:
        what, expected, fix = error.reason
        said = {"text": what.split("\n")[0], "width": "", "fix": f"expected: {expected}; fix: {fix}"}
        return said | {"degree": None, "offsets": [], "element": None}
    text, width, source = str(found).split("\n")
    said = {"text": text, "width": width, "fix": source}
    return said | {"degree": found.degree, "offsets": _conflicts.collisions(found), "element": found.element}


def _found(question: Question, subject: Subject) -> Any:
    who = owners.owners(question.access, _extents(subject.layout))
    element = element_width(subject.bits, who.width, bits=question.bits, default=ASSUMED)
    return _access.access(who.held, subject.layout, element, who.vector)


def _extents(layout: AnyLayout) -> tuple[int, ...]:
    extents = tuple(int(known(n) or 0) for n in product_each(layout.shape))
    if 0 in extents:
        raise RangeError("an access of a layout of no elements", "one of some", "give sizes of 1 or more")
    return extents


# ------------------------------------------------------------------------------------------------- the better layout


def mended(question: Question, subject: Subject) -> tuple[Any, Width, dict[str, Any]]:
    """A layout of memory with the fewest wavefronts for an access of a tile, which is written along what is contiguous.

    Returns    the layout, the width of an element, and for the page: its text, why none is better, the counts before
               and after, the formula of its offset, and the bits that its swizzle changes

    >>> from tla import parse
    >>> from tla.viz.drawable import as_subject
    >>> layout, _width, found = mended(Question("", access="ldmatrix", bits=16), as_subject(parse("(64,64):(64,1)")))
    >>> print(layout, found["before"]["degree"], found["after"]["degree"])
    Sw<3,3,3> o _0 o (_64,_64):(_64,_1) 8 1
    """
    layout, tile = subject.layout, _extents(subject.layout)
    who, before = owners.owners(question.access, tile), _found(question, subject)
    element, columns = before.element, _pattern.has_columns(layout)
    turned = columns and isinstance(who.held, _pattern.Pattern) and who.held.bits > 0
    extents = tile[::-1] if turned else tile
    try:
        best = _access.best_swizzle([WRITTEN], [who.held], element, before.memory, extents)
    except TlaError:  # the tile is too narrow for 16 bytes of a row, or not written so: the access alone
        best = _access.best_swizzle([], [who.held], element, before.memory, extents)
    found = _turned(best.layout) if turned else best.layout
    after = _access.access(who.held, found, element, who.vector, before.memory)
    said = {
        "layout": str(found),
        "why": best.certificate.text,
        "written": WRITTEN,
        "before": _counts(before),
        "after": _counts(after),
        "formula": _formula(found),
        "bits": _bits(found, element.bits),
        "better": after.wavefronts < before.wavefronts,
    }
    return found, element, said


def _turned(layout: Any) -> Any:
    """A layout of a tile whose modes were exchanged, as one of the tile."""
    if isinstance(layout, ComposedLayout):
        return ComposedLayout(layout.outer, layout.offset, _turned(layout.inner))
    return select[1, 0](layout)


def _counts(found: Access) -> dict[str, Any]:
    text, width, _source = str(found).split("\n")
    return {"text": text, "width": width, "degree": found.degree, "wavefronts": found.wavefronts, "least": found.least}


def _formula(layout: AnyLayout) -> str:
    """The offset of (i, j) as an expression of C."""
    try:
        text: str = _codegen.emit(layout, "c", "i,j").splitlines()[-2].strip()
    except (TlaError, IndexError):
        return ""
    return text.removeprefix("return ").rstrip(";")


def _bits(layout: AnyLayout, element_bits: int) -> list[dict[str, Any]]:
    """The bits of an offset, the highest first: what each chooses, and which other bit a swizzle xors into it."""
    if not isinstance(layout, ComposedLayout) or not isinstance(swizzle := layout.outer, Swizzle):
        return []
    count = max(int(size(layout)) - 1, 1).bit_length()
    found = []
    for k in reversed(range(count)):
        source = [b for b in range(count) if b != k and swizzle(1 << b) >> k & 1]
        first = (1 << k) * element_bits
        role = "in a word" if first < 32 else "bank" if first < 1024 else "row of banks"
        found.append({"bit": k, "xor": source[0] if source else None, "role": role})
    return found
