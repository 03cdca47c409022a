"""Advice: a change of a program, and what its accesses cost before and after."""

from __future__ import annotations

from typing import NamedTuple

from .costs import Cost
from .loops import Size


class Advice(NamedTuple):
    """A change, and what it makes of the accesses that it is for.

    kind      swizzle, padding, order, vectors, kWidth, divisibility, constant, hoist or repeat
    alias     the name that the program has for the layout, such as shared1; nothing where it has none
    was       the layout, or what else is changed, as TTGIR writes it
    change    what it may be
    rows      the accesses
    unit      what is counted: wavefronts, sectors, shuffles or instructions
    before    of all of them, each as often as it runs
    after     the same with the change; predicted
    saved     the difference where each access runs once

    >>> Advice("kWidth", "", "kWidth = 2", "kWidth = 4", (), "wavefronts", 64, 32, 32).after
    32
    """

    kind: str
    alias: str
    was: str
    change: str
    rows: tuple[Cost, ...]
    unit: str
    before: Size
    after: Size
    saved: int
