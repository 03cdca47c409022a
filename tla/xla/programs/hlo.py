"""The array shapes in the text of an HLO module.

Source: XLA's HLO printer, xla/hlo/ir/hlo_instruction.cc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ...core.cache import plain_memo
from ...core.composed import ComposedLayout
from ...core.errors import LeafTypeError, TlaError, require_type
from ...core.layout import Layout
from ..shapes.array_shape import BITS
from ..shapes.grammar import REMEMBERED, as_shape
from ..shapes.lower import lower
from ..shapes.sizes import bytes_and_waste

# A string, which may hold anything, or a shape. Braces after the dimensions are a layout only where a number or a colon
# follows: else they open the body of a computation. Each begins with one of a few characters, so that all others are
# skipped at once.
_FIRST = "".join(sorted({name[0] for name in BITS}))
_REST = "|".join(
    rf"(?<={c})(?:{'|'.join(sorted((n[1:] for n in BITS if n[0] == c), key=len, reverse=True))})" for c in _FIRST
)
_SHAPE = re.compile(
    rf'["{_FIRST}](?:(?<=")[^"\\\n]*(?:\\.[^"\\\n]*)*(?:"|\\?$)'  # an open string goes to the end of its line: no second try inside of it
    rf"|(?<![\w.%-].)(?:{_REST})\[[^\][]*\](?:\{{\s*[0-9:][^{{}}]*\}})?)"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """One distinct array shape of a program.

    text      the shape as the program has it
    count     how often it stands there
    bytes     what one such array takes, by `byte_size`; None where that is not known
    waste     how many of these bytes hold no element
    layout    its layout, by `lower`; None if that refuses it
    refused   why it does
    """

    text: str
    count: int
    bytes: int | None
    waste: int | None
    layout: Layout | ComposedLayout | None
    refused: str | None


def shape_texts(lines: Iterable[str]) -> Iterator[str]:
    """The texts of the array shapes in lines of HLO, in their order; what stands in quotes is passed over.

    >>> list(shape_texts(['  %p = (s8[4]{0:T(512)}, f32[]) f(), metadata={op_name="f32[9]"}']))
    ['s8[4]{0:T(512)}', 'f32[]']
    """
    require_type(lines, Iterable, "lines of type", "a text, or its lines", "open the file first")
    for line in lines.splitlines() if isinstance(lines, str) else lines:
        if not isinstance(line, str):
            what = f"a line of type {type(line).__name__}"
            raise LeafTypeError(what, "text", "open the file as text, with errors='replace'")
        for text in _SHAPE.findall(line):
            if text[0] != '"':
                yield text


def shape_usage(lines: Iterable[str]) -> list[Usage]:
    """Each distinct array shape in lines of HLO, the most wasteful first. No shape raises: one says why it is refused.

    lines   a text, an open text file, or any iterable of str

    >>> [(u.text, u.count, u.waste) for u in shape_usage(["f32[3,5]{1,0:T(8,128)} add(f32[3,5]{1,0:T(8,128)} %a, f32[128]{0} %b)"])]
    [('f32[3,5]{1,0:T(8,128)}', 2, 4036), ('f32[128]{0}', 1, 0)]
    """
    found = [_usage(text, count) for text, count in Counter(shape_texts(lines)).items()]
    return sorted(found, key=lambda u: (-(u.waste or 0), -(u.bytes or 0), u.text))


def _usage(text: str, count: int) -> Usage:
    return Usage(text, count, *(_remembered(text) if len(text) <= REMEMBERED else _measured(text)))


def _measured(text: str) -> tuple[int | None, int | None, Layout | ComposedLayout | None, str | None]:
    """The fields of a Usage from bytes on."""
    size = lost = None
    try:
        shape = as_shape(text)
        size, lost = bytes_and_waste(shape)
        return size, lost, lower(shape), None
    except TlaError as error:
        return size, lost, None, error.reason.what.splitlines()[0].removeprefix(f"{text}: ")


_remembered = plain_memo(_measured)
