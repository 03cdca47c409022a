"""Architectures of Ascend as rows: the buffers of a core with their sizes, and what fits into them.

Source: CATLASS include/catlass/arch/arch.hpp for the sizes; AscendC's `TPosition` for the positions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from types import MappingProxyType
from typing import Any

from ..algebra.codomain import cosize
from ..core.arithmetic import round_up
from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import leaves, product, quoted, require_depth, shown
from ..core.ints import is_int, known, leaf
from ..core.layout import Layout
from ..core.questions import at_most
from .element import as_element

_ALIGNMENT = MappingProxyType(
    {
        "GM": 1,
        "L1": 32,
        "L0A": 512,
        "L0B": 512,
        "L0C": 64,
        "UB": 32,
        "Bias": 64,
        "FixBuf": 128,
        "L0AMx": 32,
        "L0BMx": 32,
    }
)

#: The positions of AscendC by the names that CATLASS's tensors have, and by AscendC's own (`TPosition::A1`).
POSITIONS = {
    "GM": "GM",
    "L1": "A1",
    "L0A": "A2",
    "L0B": "B2",
    "L0C": "CO1",
    "Bias": "C2",
    "UB": "VECCALC",
    "FixBuf": "C2PIPE2GM",
}
#: Beside L0A and L0B of Ascend950 lie the scales of MX types, at a sixteenth of the address. AscendC has no
#: name for them.
POSITIONS |= {"L0AMx": "L0AMx", "L0BMx": "L0BMx"}

#: AscendC's other names of the same buffers: of L1 for B and the biases, of UB for the ends of a queue.
_SHARED = {"B1": "L1", "C1": "L1", "VECIN": "UB", "VECOUT": "UB"}


@dataclass(frozen=True)
class Architecture:
    """An architecture of Ascend: `AtlasA2`, `AtlasA3`, `Ascend950`.

    name        as CATLASS has it
    sizes       of each position, the bytes of one core's buffer; global memory is not among them
    cores       how many cores for matrices its chips have: chips of one architecture differ
    alignment   of each position, the bytes that addresses and rows are aligned to

    >>> from tla.ascend import AtlasA2, Ascend950
    >>> AtlasA2, AtlasA2.sizes["L1"], Ascend950.sizes["L0C"], AtlasA2.cores
    (AtlasA2, 524288, 262144, (20, 24))

    Source: CATLASS `Catlass::Arch`; the cores are those of its documents and examples
    (docs 11_matmul_optimization, example 73).
    """

    name: str
    sizes: Mapping[str, int]
    cores: tuple[int, ...]
    alignment: Mapping[str, int] = field(default_factory=lambda: _ALIGNMENT)

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)  # a mapping of sizes has none


def _row(name: str, cores: tuple[int, ...], **sizes: int) -> Architecture:
    return Architecture(name, MappingProxyType({place: kib * 1024 for place, kib in sizes.items()}), cores)


AtlasA2 = _row("AtlasA2", (20, 24), L1=512, L0A=64, L0B=64, L0C=128, UB=192, Bias=1, FixBuf=7)
#: Two dies of the cores of AtlasA2: a core's buffers are the same, and CATLASS builds it as AtlasA2.
AtlasA3 = _row("AtlasA3", (20, 24), L1=512, L0A=64, L0B=64, L0C=128, UB=192, Bias=1, FixBuf=7)
Ascend950 = _row("Ascend950", (32,), L1=512, L0A=64, L0B=64, L0C=256, UB=248, Bias=4, FixBuf=16, L0AMx=4, L0BMx=4)
ARCHITECTURES = {arch.name: arch for arch in (AtlasA2, AtlasA3, Ascend950)}


def as_architecture(x: object) -> Architecture:
    """x as an architecture: one of them, or its name."""
    found = ARCHITECTURES.get(x) if isinstance(x, str) else x
    if not isinstance(found, Architecture):
        expected = f"one of {', '.join(ARCHITECTURES)}"
        raise LeafTypeError(f"the architecture {shown(x)}", expected, "write AtlasA2, or 'AtlasA2'")
    return found


def position_of(x: object) -> str:
    """A position by CATLASS's name: "L1", or AscendC's "A1" for it."""
    names = {**{name: name for name in POSITIONS}, **{theirs: name for name, theirs in POSITIONS.items()}, **_SHARED}
    if not isinstance(x, str) or x not in names:
        fix = "write MakeTensor(..., position='L1')"
        raise LeafTypeError(f"the position {shown(x)}", f"one of {', '.join(POSITIONS)}", fix)
    return names[x]


@dataclass(frozen=True)
class Fit:
    """The bytes that the tiles of a position take, of those that it has; `fits` gives them.

    >>> from tla.ascend import Fit
    >>> Fit("L1", 393216, 524288).free
    131072

    Source: CATLASS `Catlass::Arch`.
    """

    position: str
    used: int
    size: int

    @property
    def free(self) -> int:
        """The bytes that are left; negative where it does not fit."""
        return self.size - self.used


def fits(tiles: Mapping[str, Any], arch: object = AtlasA2, stages: object = 1) -> dict[str, Fit]:
    """The bytes that the tiles of a kernel take in each position, if they fit.

    tiles     of each position a (tile, element) or a list of them: a tile is a Layout, of which the cosize counts, or a
              shape [elements]. AscendC's names of one buffer (A1 and B1; VECIN, VECOUT and VECCALC) share it
    stages    how many buffers each tile has: an integer for all, or one for each position, as {"L1": 2, "L0A": 2}
    Returns   for each position, by CATLASS's name, its Fit [bytes]; every buffer begins at a multiple of
              the position's alignment
    Raises    RangeError where a position is full, with what each tile takes, and for stages below 1 and sizes below 0

    >>> from tla import MakeLayout
    >>> from tla.ascend import AtlasA2, fits, half, zN
    >>> tile = MakeLayout[half, zN](128, 256)
    >>> fits({"L1": [(tile, half), (MakeLayout[half, zN](256, 256), half)], "L0C": ((128, 256), 32)}, AtlasA2, {"L1": 2})
    {'L1': Fit(position='L1', used=393216, size=524288), 'L0C': Fit(position='L0C', used=131072, size=131072)}
    >>> fits({"A1": (tile, half), "B1": (tile, half)})
    {'L1': Fit(position='L1', used=131072, size=524288)}

    Source: CATLASS include/catlass/arch/arch.hpp.
    """
    arch = as_architecture(arch)
    if not isinstance(tiles, Mapping):
        what = f"fits of a {type(tiles).__name__}"
        raise LeafTypeError(what, "the tiles of each position", 'write fits({"L1": (tile, half)})')
    for name in stages if isinstance(stages, Mapping) else ():
        position_of(name)
    taken: dict[str, list[int]] = {}
    for given, wanted in tiles.items():
        place = position_of(given)
        if place not in arch.sizes:
            fix = f"leave {place} out: it has no limit"
            raise LeafTypeError(f"tiles in {place}", f"one of {', '.join(arch.sizes)}", fix)
        count = _stages_of(given, stages)
        sizes = [_bytes(tile, element, arch.alignment[place]) * count for tile, element in _pairs(wanted)]
        taken.setdefault(place, []).extend(sizes)
    return {place: _fit(place, sizes, arch) for place, sizes in taken.items()}


def _fit(place: str, sizes: list[int], arch: Architecture) -> Fit:
    """The Fit of a position whose buffers have these sizes [bytes]; RangeError where it is full."""
    fit = Fit(place, sum(sizes), arch.sizes[place])
    if fit.free < 0:
        what = f"{fit.used} bytes in {place} of {arch}: {' + '.join(map(str, sizes))}"
        raise RangeError(what, f"at most {fit.size}", f"take tiles that are {-fit.free} bytes smaller, or fewer stages")
    return fit


def _stages_of(given: str, stages: Any) -> int:
    """The stages of the tiles under one name of a position: told under it, or under another of the same buffer."""
    if not isinstance(stages, Mapping):
        return _stage_count(stages)
    told = {name: _stage_count(n) for name, n in stages.items() if position_of(name) == position_of(given)}
    counts = {told[given]} if given in told else {*told.values()} or {1}
    if len(counts) > 1:
        what = f"the stages {told} for tiles in {given}"
        raise RangeError(what, f"one number for {given}", f"write {{{given!r}: {max(counts)}}}")
    return counts.pop()


def _stage_count(given: int | str) -> int:
    count = int(leaf(given))
    if count < 1:
        raise RangeError(f"{count} stages", "1 or more", "leave stages out for 1")
    return count


def _pairs(wanted: object) -> list[Any]:
    pairs = wanted if isinstance(wanted, list) else [wanted]
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise LeafTypeError(
                f"{quoted(pair, 60)} among the tiles", "a tile and its element type", "write (tile, half)"
            )
    return pairs


def _bytes(tile: Any, element: Any, alignment: int) -> int:
    if isinstance(tile, tuple):
        require_depth(tile)
    if not isinstance(tile, Layout) and any(at_most(n, -1) for n in leaves(leaf(tile) if is_int(tile) else tile)):
        raise RangeError(f"the tile {shown(tile)}", "sizes of 0 or more", "count elements")
    count = known(cosize(tile) if isinstance(tile, Layout) else leaf(tile) if is_int(tile) else product(tile))
    if count is None:
        raise LeafTypeError(f"the tile {shown(tile)}", "sizes that are known", "give its symbols values")
    return int(round_up(-(-prod((count, as_element(element).bits)) // 8), alignment))
