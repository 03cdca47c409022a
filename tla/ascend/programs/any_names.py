"""The names of a program of any sizes: those of its tiles and of what lies behind them, and what is known of a size.

Source: ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...core.errors import Unproven
from ...core.ints import known
from ...core.questions import divides
from ...symbolic.declare import dim
from ...symbolic.facts import symbols_in
from ...symbolic.poly import split
from ...symbolic.proofs import greatest, least
from ...symbolic.symint import wrap

_NAMES = """
core cores shared turn task strip inside width blocksM blocksN blockM blockN tileM tileN rowsM
tiles kTile tileK fillTile fillStage fillK parts kPart partK restM restN restK
l1Stage l0AStage l0BStage l0CStage ubStage i slice number tilesK firstTile
splitAt0 share0 shareRest0 ubRest0 splitAt1 share1 shareRest1 ubRest1 fillPairs restPairs partPairs
tile0Stage tile1Stage toldStage
ubTurn0 ubTiles0 ubAcross0 ubDown0 ubOver0 ubHigh0 ubWide0 ubRestM0 ubRestN0
ubTurn1 ubTiles1 ubAcross1 ubDown1 ubOver1 ubHigh1 ubWide1 ubRestM1 ubRestN1
"""
#: The names that a matrix has which vector cores lay out anew, without its own.
_PADDING = """
padFirst padCount padSpan padStep padUnits padAcross padTurn padTile padLine padPart padRows padColumns padBelow
padBehind padCopy padBlocks padBlocksBehind padTurnDown padInsideDown padSizeDown padTurnOver
padInsideOver padSizeOver
"""
_OF_MATRICES = (name for x in "AB" for name in (f"pad{x}Stage", *(f"{n}{x}" for n in _PADDING.split())))
#: The names of a program besides those of its sizes.
NAMES = (*_NAMES.split(), *_OF_MATRICES)
_Few = TypeVar("_Few", tuple[int, int], tuple[int, int, int])
#: The most elements of a matrix that a check goes through.
MOST_ELEMENTS = 2**24
CORE, CORES = dim("core", at_least=0), dim("cores")


@dataclass(frozen=True)
class Sizes:
    """A tile along one mode, by names: where it begins [tiles], its size, and how much of the matrix is behind it; of a
    part of a tile, inside: where that begins in it."""

    at: Any
    size: Any
    rest: Any
    tile: int
    whole: Any
    inside: Any = 0

    @property
    def start(self) -> Any:
        """The coordinate that the tile begins at."""
        return self.at * self.tile + self.inside

    @property
    def extent(self) -> Any:
        """The size of the matrix along this mode, by these names."""
        return self.start + self.size + self.rest

    @property
    def told(self) -> dict[str, Any]:
        """The rest behind the tile by the size of the matrix: 0 or more, as a tile's size is what is left at most."""
        left = self.whole - self.start - self.size
        assert divides(unit_of(self.rest), left), f"{left} for {self.rest}, of which the proofs take more for granted"
        return {str(self.rest): left}


def sizes_of(at: str, size: str, rest: str, tile: int, whole: Any) -> Sizes:
    """A tile along one mode; at, size, rest: the names of where it begins, of its size, and of what is behind it."""
    unit = math.gcd(tile, unit_of(whole))
    return Sizes(
        dim(at, at_least=0),
        dim(size, at_most=tile, multiple_of=unit),
        dim(rest, at_least=0, multiple_of=unit),
        tile,
        whole,
    )


def facts_of(x: Any) -> tuple[int, int | None, int]:
    """The least and the largest value of a size, None where there is no largest, and what it is a multiple of."""
    if (n := known(x)) is not None:
        return n, n, 1
    (symbol,) = symbols_in(x.poly)
    return max(least(x.poly) or 0, symbol.unit), greatest(x.poly), symbol.unit


def around(x: Any, sizes: Iterable[int]) -> list[int]:
    """Sizes like these that a name may have by its facts; the number, where it is one."""
    low, high, unit = facts_of(x)
    inside = (max(size, low) if high is None else min(max(size, low), high) for size in sizes)
    near = (n for size in inside for n in (-(-size // unit) * unit, size // unit * unit))
    return [*dict.fromkeys(n for n in near if low <= n <= (high or n))]


def require_few(sizes: _Few) -> _Few:
    """Sizes of matrices whose elements are soon gone through; Unproven for others."""
    if any(a * b > MOST_ELEMENTS for a, b in itertools.combinations(sizes, 2)):
        what = f"each element of matrices of ({', '.join(map(str, sizes))}), the least that facts of names allow"
        raise Unproven(what, f"at most {MOST_ELEMENTS} of each", 'declare names with fewer facts: dim("M")')
    return sizes


def unit_of(x: Any) -> int:
    """The largest number that a size is known to be a multiple of; of a number itself."""
    if (n := known(x)) is not None:
        return n
    (symbol,) = symbols_in(x.poly)
    return int(symbol.unit)


def named_by(x: Any, size: int) -> dict[str, int]:
    """The value of the name that a size is a number of times; none of a number."""
    if known(x) is not None:
        return {}
    (symbol,) = symbols_in(x.poly)
    factor = known(wrap(split(x.poly, symbol)[0]))
    assert factor is not None
    return {symbol.name: size // factor * symbol.unit}
