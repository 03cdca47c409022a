"""XLA's sharding annotations as values: which slice of an array each device holds.

A tiled sharding is an array of device numbers, one per tile. Listed (V1) or, without a list, as a transposed iota (V2),
which is a layout: position to device. Tile dimensions past those of the array number the members of a group that hold
one slice. Values are canonical: two annotations that XLA prints alike are equal.

Source: XLA xla/hlo/ir/hlo_sharding.cc and tile_assignment.cc for the meaning and the canonical form; the code is ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ...algebra.coalesce import coalesce
from ...algebra.composition import composition
from ...core.arrays import INT64_MAX
from ...core.basis import E
from ...core.errors import LeafTypeError, LoweringError, RangeError, RankError, TlaError
from ...core.int_tuple import shown
from ...core.ints import static
from ...core.layout import Layout
from ..shapes.arguments import as_tuple, integer, integers, joined
from .devices import Devices, Iota, in_runs, layout_of, listed, places_of, require_count, taken

#: What an annotation without tiles says.
WHOLE = ("replicated", "maximal", "manual", "unknown", "unreduced")
#: What the members of a group are to each other, in XLA's canonical order.
SUBGROUPS = ("maximal", "manual", "unreduced", "replicated")

Bounds = tuple[tuple[int, int], ...]


class AnySharding:
    """The result of `parse_sharding`: a Sharding (V1, V2), a MeshSharding (V3), or a TupleSharding of these.

    Devices are numbered by their place in the device assignment (logical ids), not by hardware.

    >>> from tla import xla
    >>> xla.parse_sharding("{maximal device=1}").slices((5,), 2)
    {1: ((0, 5),)}

    Source: XLA `HloSharding`.
    """

    __slots__ = ()

    def tiled(self, rank: int = 0) -> Sharding:
        """The same in the older forms, V1 and V2, as XLA converts it.

        rank   of the array, where the annotation has none because it cuts nothing

        >>> from tla import xla
        >>> print(xla.parse_sharding("{mesh['a'=2,'b'=4], [{'b'}, {}]}").tiled())
        {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}

        Raises LoweringError for a tuple.
        """
        raise NotImplementedError

    def places(self, rank: int) -> Sharding:
        """The tiles and their devices of an array of `rank` dimensions."""
        return self.tiled(rank)

    def slices(self, dims: Sequence[int], num_devices: int) -> dict[int, Bounds]:
        """The slice of each device: (first, past the last) per dimension; a device that is left out holds nothing.

        dims          the dimensions of the array [elements]
        num_devices   how many devices there are, numbered from 0
        Returns       at the end of a dimension slices are short, or empty: XLA pads these
        Raises        RankError or RangeError where these do not fit the annotation; LoweringError where it defines no
                      slices: manual, unknown, unreduced, a tuple

        >>> from tla import xla
        >>> xla.parse_sharding("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}").slices((5, 3), 4)
        {0: ((0, 3), (0, 3)), 1: ((3, 5), (0, 3)), 2: ((0, 3), (0, 3)), 3: ((3, 5), (0, 3))}

        Source: XLA `HloSharding::TileOffsetForDevice`, `TileLimitForDevice`.
        """
        tiled, dims, count = self._of(dims, num_devices)
        whole = tuple((0, n) for n in dims)
        if tiled.kind == "replicated":
            return dict.fromkeys(listed(Iota((count,))), whole)
        if tiled.kind == "maximal":
            return {tiled.devices[0]: whole}
        devices = iter(listed(tiled.devices))
        sizes = zip(dims, tiled.tiles, tiled.pieces(dims))
        cuts = [[(min(k * c, n), min((k + 1) * c, n)) for k in range(tiles)] for n, tiles, c in sizes]
        held: dict[int, Bounds] = {}
        for bounds in itertools.product(*cuts):
            held |= dict.fromkeys(itertools.islice(devices, tiled.members), bounds)
        return dict(sorted(held.items()))

    def devices_of(self, index: Sequence[int], dims: Sequence[int], num_devices: int) -> tuple[int, ...]:
        """The devices that hold an element, ascending; with unreduced members each holds a part of it.

        index     one integer per dimension
        Raises    as `slices`; RankError, RangeError for an index outside of the array

        >>> from tla import xla
        >>> xla.parse_sharding("{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}").devices_of((4, 0), (5, 3), 4)
        (1, 3)

        Law: d in devices_of(index, ...) exactly if slices(...)[d] holds the index.
        """
        tiled, dims, count = self._of(dims, num_devices)
        index = integers(index)
        if len(index) != len(dims):
            what = f"an index of {len(index)} for {len(dims)} dimensions"
            raise RankError(what, "one integer each", "give the missing ones")
        if not all(0 <= i < n for i, n in zip(index, dims)):
            what = f"index {shown(index)} in an array of {shown(dims)}"
            raise RangeError(what, "0 to the dimension - 1", "count from 0")
        if tiled.kind == "replicated":
            return tuple(listed(Iota((count,))))
        if tiled.kind == "maximal":
            return (tiled.devices[0],)
        tile = 0
        for i, tiles, c in zip(index, tiled.tiles, tiled.pieces(dims)):
            tile = tile * tiles + i // c
        members = listed(Iota((tiled.members,)))
        return tuple(sorted(tiled.devices[tile * tiled.members + k] for k in range(len(members))))

    def tile_layout(self, num_devices: int) -> Layout:
        """The layout from a device number to the coordinate of its tile: strides are E[d] for dimension d.

        num_devices   the layout is defined on every device number below it
        Raises        LoweringError where there is none: a list of devices (V1), devices that hold nothing, an iota that
                      the tiles cut unevenly, an annotation without slices; RangeError for too few devices

        >>> from tla import xla
        >>> tiles = xla.parse_sharding("{devices=[2,4]<=[4,2]T(1,0)}").tile_layout(8)
        >>> print(tiles, tiles(5))
        (_2,_4):(_1@0,_1@1) (1,2)
        """
        tiled = self.places(0)
        _, _, count = tiled._of((0,) * tiled.rank, num_devices)
        return tiled.coordinates([1] * tiled.rank, count)

    def origin_layout(self, dims: Sequence[int], num_devices: int) -> Layout:
        """The layout from a device number to the first index of its slice; past the array's end where the
        slice is empty.

        Raises as `slices` and `tile_layout`.

        >>> from tla import xla
        >>> print(xla.parse_sharding("{devices=[2,4]<=[8]}").origin_layout((16, 24), 8))
        (_4,_2):(_6@1,_8@0)

        Law: slices(dims, n)[d][i][0] == min(origin_layout(dims, n)(d)[i], dims[i]).
        """
        tiled, dims, count = self._of(dims, num_devices)
        return tiled.coordinates(tiled.pieces(dims), count)

    def _of(self, dims: Sequence[int], num_devices: int) -> tuple[Sharding, tuple[int, ...], int]:
        """The annotation for arrays of `dims`, with its arguments checked."""
        tiled, dims, count = self.places(len(integers(dims))), integers(dims), integer(num_devices)
        if tiled.kind in ("manual", "unknown", "unreduced"):
            fix = "take the sharding from the compiled program"
            raise LoweringError(f"{tiled}: no slices are defined", "a replicated, maximal or tiled sharding", fix)
        if any(n < 0 for n in dims):
            raise RangeError(f"dimensions {shown(dims)}", "0 or more", "give the array's extents")
        if tiled.kind == "tiled" and len(dims) != tiled.rank:
            what = f"{len(dims)} dimensions for tiles of {tiled.rank}"
            raise RankError(what, f"{tiled.rank}", "give the dimensions of the whole array")
        if count < tiled.least_devices:
            what = f"{count} devices"
            raise RangeError(what, f"{tiled.least_devices} or more, for {shown_sharding(tiled)}", "count all devices")
        return tiled, dims, count


class ShardGroup(NamedTuple):
    """Shardings that the compiler keeps alike: `shard_as 5` makes a group, `shard_like 5` follows it.

    >>> print(ShardGroup("shard_as", 5))
    shard_as 5

    Source: XLA `ShardGroup`.
    """

    kind: str
    number: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


@dataclass(frozen=True, slots=True)
class Sharding(AnySharding):
    """The sharding of an array in the forms V1 (devices listed) and V2 (an iota). Its str() is XLA's canonical text.

    kind        tiled; or, for the whole array: replicated, maximal (on one device), manual, unknown, unreduced
    tiles       tiled: how many pieces each dimension is cut into, then the sizes of the subgroups
    devices     tiled: the device of each tile, row-major, an Iota or a tuple; maximal: a tuple of one
    subgroups   what the last tile dimensions are: replicated (the same data), manual (the compiler does not partition),
                unreduced (partial sums), maximal
    group       shard_as or shard_like
    Raises      RankError, RangeError where these do not fit each other

    Subgroups are merged and ordered, replicated members sorted, and what only replicates becomes replicated.

    >>> print(Sharding("tiled", (2, 2, 2), (3, 1, 4, 0, 5, 2, 6, 7), ("replicated",)))
    {devices=[2,2,2]1,3,0,4,2,5,6,7 last_tile_dim_replicate}
    >>> print(Sharding("tiled", (1, 1, 8), Iota((8,)), ("replicated",)), Sharding("maximal", devices=(3,)))
    {replicated} {maximal device=3}

    Source: XLA `HloSharding`, its `PartialTile` and `Subgroup` for the canonical form.
    """

    kind: str
    tiles: tuple[int, ...] = ()
    devices: Devices = ()
    subgroups: tuple[str, ...] = ()
    group: ShardGroup | None = None

    def __post_init__(self) -> None:
        tiles, subgroups = integers(self.tiles), as_tuple(self.subgroups)
        devices = self.devices if isinstance(self.devices, Iota) else integers(self.devices)
        _check_group(self.group)
        if self.kind == "tiled":
            _check_tiled(tiles, devices, subgroups)
            kind, tiles, devices, subgroups = _canonical(tiles, devices, subgroups)
        else:
            kind = _checked_whole(self.kind, tiles, devices, subgroups)
        for field, value in zip(("kind", "tiles", "devices", "subgroups"), (kind, tiles, devices, subgroups)):
            object.__setattr__(self, field, value)

    def __str__(self) -> str:
        words = [self.kind]
        if self.kind == "maximal":
            words += [f"device={self.devices[0]}"]
        elif self.kind == "tiled":
            devices = f"<={self.devices}" if isinstance(self.devices, Iota) else joined(self.devices)
            words = [f"devices=[{joined(self.tiles)}]{devices}"]
        if self.subgroups == ("replicated",):
            words += ["last_tile_dim_replicate"]
        elif self.subgroups:
            words += [f"last_tile_dims={{{', '.join(self.subgroups)}}}"]
        return f"{{{' '.join([*words, *map(str, filter(None, [self.group]))])}}}"

    def tiled(self, rank: int = 0) -> Sharding:
        """Itself: it is in these forms."""
        return self

    @property
    def rank(self) -> int:
        """The number of tile dimensions that are those of the array."""
        return len(self.tiles) - len(self.subgroups)

    @property
    def members(self) -> int:
        """The number of devices that hold one slice."""
        return math.prod(self.tiles[self.rank :])

    @property
    def least_devices(self) -> int:
        """The least number of devices that it can be about: one more than the largest device number."""
        return len(self.devices) if isinstance(self.devices, Iota) else max(self.devices, default=0) + 1

    def pieces(self, dims: Sequence[int]) -> list[int]:
        """The extent of a full slice in each dimension [elements]."""
        return [-(-n // tiles) for n, tiles in zip(dims, self.tiles)]

    def coordinates(self, steps: Sequence[int], num_devices: int) -> Layout:
        """The layout from a device to its tile coordinate, where the next tile is `steps` away in each dimension."""
        if self.kind == "replicated" or (self.kind == "maximal" and num_devices == 1):
            return layout_of([(num_devices, 0)])
        if not isinstance(self.devices, Iota):
            what = f"{shown_sharding(self)} lists its devices"
            raise LoweringError(what, "an iota: <=[...]", "give it to slices or devices_of")
        if num_devices != (count := len(self.devices)):
            what = f"{shown_sharding(self)}: devices from {count} to {num_devices - 1} hold nothing"
            raise LoweringError(what, f"{count} devices", "ask for the devices that it has")
        strides = [E[d] * static(step) if step else 0 for d, step in enumerate(steps)] + [0] * len(self.subgroups)
        coordinate = layout_of((n, stride) for n, stride in zip(reversed(self.tiles), reversed(strides)) if n != 1)
        try:
            return coalesce(composition(coordinate, self.devices.inverse))
        except TlaError:
            text = shown_sharding(self)
            what = f"{text}: its tiles cut the iota unevenly"
            raise LoweringError(what, "sizes that divide each other", "give it to slices") from None


@dataclass(frozen=True, slots=True)
class TupleSharding(AnySharding):
    """The shardings of a tuple, one per leaf, in order.

    >>> print(TupleSharding((Sharding("replicated"), Sharding("maximal", devices=(0,)))))
    {{replicated}, {maximal device=0}}

    Raises LeafTypeError for other elements, tuples among them. Source: XLA `HloSharding::FlatTuple`.
    """

    elements: tuple[AnySharding, ...]

    def __post_init__(self) -> None:
        elements = as_tuple(self.elements)
        if any(isinstance(e, TupleSharding) or not isinstance(e, AnySharding) for e in elements):
            what = "a TupleSharding of something else"
            raise LeafTypeError(what, "shardings of arrays", "give one per leaf, flattened")
        object.__setattr__(self, "elements", elements)

    def __str__(self) -> str:
        marks = (f"/*index={k}*/" if k and k % 5 == 0 else "" for k in itertools.count())
        return f"{{{', '.join(f'{mark}{element}' for mark, element in zip(marks, self.elements))}}}"

    def tiled(self, rank: int = 0) -> Sharding:
        """Raises LoweringError."""
        what = f"a tuple of {len(self.elements)} shardings"
        raise LoweringError(what, "the sharding of an array", "take one of its elements")


def shown_sharding(sharding: Sharding) -> str:
    """Its text, cut where it is long."""
    is_short = isinstance(sharding.devices, Iota) or len(sharding.devices) < 64
    text = str(sharding) if is_short else "a sharding of listed devices"
    return text if len(text) <= 80 else f"{text[:77]}..."


# --------------------------------------------------------------------------------------------- validity, canonical form


def _check_group(group: ShardGroup | None) -> None:
    if group is not None and not (isinstance(group, ShardGroup) and group.kind in ("shard_as", "shard_like")):
        what = f"the group {group!r:.60}"
        raise LeafTypeError(what, "ShardGroup('shard_as', n), or shard_like", "leave it out for none")
    if group is not None and integer(group.number) < 0:
        raise RangeError(f"{group}", "a group of 0 or more", "number the groups from 0")


def _checked_whole(kind: str, tiles: tuple[int, ...], devices: Devices, subgroups: tuple[str, ...]) -> str:
    if kind not in WHOLE:
        raise RangeError(f"a sharding of kind {kind!r:.40}", f"tiled, {', '.join(WHOLE)}", "write one of these")
    if tiles or subgroups:
        raise RankError(f"a {kind} sharding with tiles", "none: it is about the whole array", "leave them out")
    if len(devices) != (kind == "maximal"):
        what = f"a {kind} sharding of {len(devices)} devices"
        raise RankError(what, "one for maximal, none for others", "list devices with tiles")
    _check_listed(devices)
    return kind


def _check_tiled(tiles: tuple[int, ...], devices: Devices, subgroups: tuple[str, ...]) -> None:
    count = require_count(tiles, "tiles")
    for kind in subgroups:
        if kind not in SUBGROUPS:
            raise RangeError(f"a subgroup of kind {kind!r:.40}", ", ".join(SUBGROUPS), "write one of these")
    if len(subgroups) > len(tiles):
        what = f"{len(subgroups)} subgroups in {len(tiles)} tile dimensions"
        raise RankError(what, "at most as many", "put theirs last")
    if count != len(devices):
        what = f"{len(devices)} devices for {count} tiles of {shown(tiles)}"
        raise RangeError(what, "one for each tile", "give as many")
    if count == 1:
        raise RangeError("tiles on one device", "more than one device", "write {replicated}, or {maximal device=0}")
    _check_listed(devices)


def _check_listed(devices: Devices) -> None:
    if isinstance(devices, Iota):
        return
    seen: set[int] = set()
    for device in devices:
        if not 0 <= device <= INT64_MAX:
            raise RangeError(f"device {shown(device)}", "0 or more, in 64 bits", "number devices from 0")
        if device in seen:
            what = f"device {device} is listed twice"
            raise RangeError(what, "each device once", "name each device once: it holds one slice")
        seen.add(device)


def _canonical(
    tiles: tuple[int, ...], devices: Devices, subgroups: tuple[str, ...]
) -> tuple[str, tuple[int, ...], Devices, tuple[str, ...]]:
    """The parts of a tiled sharding as XLA has them: subgroups merged and ordered, replicated members sorted."""
    rank = len(tiles) - len(subgroups)
    dims = {kind: [d for d, k in enumerate(subgroups, rank) if k == kind and tiles[d] != 1] for kind in SUBGROUPS}
    kinds = tuple(kind for kind in SUBGROUPS if dims[kind])
    if len(kinds) == 1 and kinds[0] != "maximal" and math.prod(tiles[:rank]) == 1:
        return kinds[0], (), (), ()
    order = [*range(rank), *(d for kind in kinds for d in dims[kind])]
    devices = taken(devices, _reordered(tiles, order))
    sizes = tuple(math.prod(tiles[d] for d in dims[kind]) for kind in kinds)
    if kinds[-1:] == ("replicated",):
        devices = in_runs(devices, sizes[-1])
    return "tiled", tiles[:rank] + sizes, devices, kinds


def _reordered(tiles: tuple[int, ...], order: Sequence[int]) -> Iota:
    """The positions of tiles, with their dimensions in another order; those that it leaves out are 1."""
    places = places_of(tiles)
    return Iota.of([(tiles[d], places[d]) for d in order])
