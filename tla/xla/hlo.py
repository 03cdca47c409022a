"""The array shapes in the text of an HLO module.

Source: XLA's HLO printer, xla/hlo/ir/hlo_instruction.cc.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ..errors import TlaError
from ..layout import Layout
from .lower import lower
from .sizes import byte_size, waste
from .spec import BITS

# A string, which may hold anything, or a shape. Braces after the dimensions are a layout only where a number or a colon
# follows: else they open the body of a computation.
_SHAPE = re.compile(
    r'"(?:[^"\\]|\\.)*"|(?<![\w.%-])((?:' + "|".join(sorted(BITS, key=len, reverse=True)) + r")\[[^\][]*\](?:\{[0-9:][^{}]*\})?)"
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
    layout: Layout | None
    refused: str | None


def shape_texts(lines: Iterable[str]) -> Iterator[str]:
    """The texts of the array shapes in lines of HLO, in their order; what stands in quotes is passed over.

    >>> list(shape_texts(['  %p = (s8[4]{0:T(512)}, f32[]) f(), metadata={op_name="f32[9]"}']))
    ['s8[4]{0:T(512)}', 'f32[]']
    """
    for line in lines:
        yield from filter(None, _SHAPE.findall(line))


def shape_usage(lines: Iterable[str]) -> list[Usage]:
    """Each distinct array shape in lines of HLO, the most wasteful first. No shape raises: one says why it is refused.

    lines   an open text file, or any iterable of str

    >>> [(u.text, u.count, u.waste) for u in shape_usage(["f32[3,5]{1,0:T(8,128)} add(f32[3,5]{1,0:T(8,128)} %a, f32[128]{0} %b)"])]
    [('f32[3,5]{1,0:T(8,128)}', 2, 4036), ('f32[128]{0}', 1, 0)]
    """
    found = [_usage(text, count) for text, count in Counter(shape_texts(lines)).items()]
    return sorted(found, key=lambda u: (-(u.waste or 0), -(u.bytes or 0), u.text))


def _usage(text: str, count: int) -> Usage:
    size = lost = layout = None
    try:
        size, lost = byte_size(text), waste(text)
        layout = lower(text)
    except TlaError as error:
        return Usage(text, count, size, lost, None, error.reason.what.splitlines()[0].removeprefix(f"{text}: "))
    return Usage(text, count, size, lost, layout, None)
