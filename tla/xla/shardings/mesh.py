"""XLA's sharding annotations over a mesh of named axes (V3), and their conversion to tiles (V2).

Source: XLA xla/hlo/ir/named_sharding.cc and mesh_and_axis.cc for the meaning and the checks; the code is ours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...core.errors import LeafTypeError, LoweringError, RangeError, RankError
from ...core.int_tuple import shown
from ..shapes.arguments import as_tuple, integer, integers, joined
from .devices import Devices, Iota, places_of, require_count, taken
from .sharding import AnySharding, Sharding

#: What partial results become one by; XLA and Shardy write the first by nothing.
REDUCTIONS = ("sum", "max", "min")

#: More axes than this are refused: real meshes have a handful.
MAX_AXES = 64


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of a mesh, or a digit of one: `'a':(2)4` is (coordinate // (n / 8)) % 4 of an axis of n.

    name   that of the mesh
    size   of the digit; 0 for the whole axis
    pre    the product of the sizes of the digits before it, more significant ones
    Raises RangeError for a size of 1, or a pre below 1

    >>> print(Axis("a"), Axis("a", 4, 2))
    'a' 'a':(2)4

    Source: XLA `AxisRef`.
    """

    name: str
    size: int = 0
    pre: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", integer(self.size))
        object.__setattr__(self, "pre", integer(self.pre))
        if self.pre < 1 or self.size < 0 or self.size == 1 or (self.pre > 1 and not self.size):
            what = f"the digit ({self.pre}){self.size} of axis {self.name!r:.40}"
            raise RangeError(what, "(1 or more)2 or more", "leave it out")

    def __str__(self) -> str:
        return f"'{self.name}':({self.pre}){self.size}" if self.size else f"'{self.name}'"


@dataclass(frozen=True, slots=True)
class Mesh:
    """Devices in an array with named axes: `mesh['a'=2,'b'=4]`; without axes, one device: `maximal_mesh[device_id=3]`.

    axes      (name, size) of each, major to minor
    devices   the device of each position, row-major: an Iota, 0, 1, 2, ... if left out, or a tuple of all of these in
              another order; of a maximal mesh, a tuple of one
    Raises    RankError, RangeError where these do not fit each other

    >>> print(Mesh((("a", 2), ("b", 4)), Iota((4, 2), (1, 0))), Mesh((), (3,)))
    mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) maximal_mesh[device_id=3]

    Source: XLA `Mesh`.
    """

    axes: tuple[tuple[str, int], ...]
    devices: Devices = ()

    def __post_init__(self) -> None:
        given = [*map(as_tuple, as_tuple(self.axes))]
        if any(len(axis) != 2 for axis in given):
            what = f"the axes of a mesh {shown(self.axes)}"
            raise LeafTypeError(what, "pairs of a name and a size", 'write (("a", 8),)')
        axes = tuple((name, integer(size)) for name, size in given)
        devices = self.devices if isinstance(self.devices, Iota) else integers(self.devices)
        if axes:
            _check_names(axes)
            count = require_count([size for _, size in axes], "a mesh")
            devices = devices or Iota((count,))
            _check_mesh_devices(count, devices)
        elif isinstance(devices, Iota) or len(devices) != 1 or devices[0] < 0:
            what = "a mesh without axes"
            raise RankError(what, "one axis or more, or one device", "write mesh['a'=8], or maximal_mesh[device_id=0]")
        object.__setattr__(self, "axes", axes)
        object.__setattr__(self, "devices", devices)

    def __str__(self) -> str:
        if not self.axes:
            return f"maximal_mesh[device_id={joined(tuple(self.devices))}]"
        axes = ",".join(f"'{name}'={size}" for name, size in self.axes)
        if isinstance(self.devices, Iota):
            return f"mesh[{axes}]" + (f", device_ids=({self.devices})" if len(self.devices.extents) > 1 else "")
        return f"mesh[{axes}], device_ids=({joined(self.devices)})"

    def digit(self, axis: Axis) -> tuple[int, int]:
        """The extent of an axis or digit of one, and what a step of it is in the position."""
        sizes = [n for _, n in self.axes]
        at = self.names.index(axis.name)
        size = axis.size or sizes[at]
        return size, places_of(sizes)[at] * (sizes[at] // (axis.pre * size))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the axes."""
        return tuple(name for name, _ in self.axes)


@dataclass(frozen=True, slots=True)
class DimSharding:
    """The axes that cut one dimension of an array.

    axes   the first is the most significant
    open   `?`: the compiler may cut it further

    >>> print(DimSharding((Axis("a"), Axis("b", 2)), open=True))
    {'a', 'b':(1)2, ?}

    Source: XLA `NamedSharding::DimensionSharding`.
    """

    axes: tuple[Axis, ...] = ()
    open: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", _axes(self.axes))

    def __str__(self) -> str:
        return f"{{{', '.join([*map(str, self.axes), *['?'] * self.open])}}}"


@dataclass(frozen=True, slots=True)
class MeshSharding(AnySharding):
    """The sharding of an array over a mesh, form V3. Its str() is XLA's canonical text.

    mesh         the devices
    dims         what cuts each dimension; none at all where nothing is cut, whatever the rank
    replicated   axes whose devices hold the same data, as those do that nothing names
    unreduced    axes whose devices hold partial results
    manual       axes that the compiler does not partition along
    reduction    what the partial results become one by: sum, max or min
    Raises       RankError, RangeError where these do not fit each other

    >>> print(MeshSharding(Mesh((("a", 2), ("b", 4))), (DimSharding((Axis("b"),)), DimSharding())))
    {mesh['a'=2,'b'=4], [{'b'}, {}]}
    >>> print(MeshSharding(Mesh((("a", 2), ("b", 4)))))
    {mesh['a'=2,'b'=4], replicated}

    Source: XLA `NamedSharding`, as jaxlib 0.10.2 prints it; earlier ones leave out dimensions where none is cut.
    """

    mesh: Mesh
    dims: tuple[DimSharding, ...] = ()
    replicated: tuple[Axis, ...] = ()
    unreduced: tuple[Axis, ...] = ()
    manual: tuple[Axis, ...] = ()
    reduction: str = "sum"

    def __post_init__(self) -> None:
        put, dims = object.__setattr__, as_tuple(self.dims)
        if not isinstance(self.mesh, Mesh) or not all(isinstance(d, DimSharding) for d in dims):
            what = "a MeshSharding of something else"
            raise LeafTypeError(what, "a Mesh, and DimShardings", "use parse_sharding, which reads a text")
        put(self, "dims", dims)
        for field in ("replicated", "unreduced", "manual"):
            put(self, field, _axes(getattr(self, field)))
        _check_axes(self)
        if self.reduction not in REDUCTIONS:
            what = f"a reduction by {self.reduction!r:.40}"
            raise RangeError(what, f"one of {', '.join(REDUCTIONS)}", "leave it out for sum")
        put(self, "reduction", self.reduction if self.unreduced else "sum")

    def __str__(self) -> str:
        if not self.mesh.axes:
            return f"{{{self.mesh}}}"
        word = self._word()
        if word and not self.dims and self.reduction == "sum":
            return f"{{{self.mesh}, {word}}}"
        parts = [f"[{', '.join(map(str, self.dims))}]"]
        parts += [f"{name}={self.reduced(name)}{{{', '.join(map(str, axes))}}}" for name, axes in self.lists() if axes]
        return f"{{{', '.join([str(self.mesh), *parts])}}}"

    def lists(self) -> tuple[tuple[str, tuple[Axis, ...]], ...]:
        """The axes that cut no dimension, by what they do."""
        return ("replicated", self.replicated), ("unreduced", self.unreduced), ("manual", self.manual)

    def reduced(self, field: str) -> str:
        """The word before the axes of a list: max or min, where partial results become one by these."""
        return self.reduction if field == "unreduced" and self.reduction != "sum" else ""

    def _word(self) -> str:
        """The one word that describes all axes of the mesh, if one does."""
        if any(d.axes for d in self.dims) or not self.mesh.axes:
            return ""
        every = tuple(map(Axis, self.mesh.names))
        given = [(field, axes) for field, axes in self.lists() if axes]
        if not given:
            return "replicated"
        return given[0][0] if len(given) == 1 and given[0][0] != "replicated" and given[0][1] == every else ""

    def tiled(self, rank: int = 0) -> Sharding:
        """The same as tiles: V2, or V1 where the devices are no iota.

        Raises LoweringError for partial maxima and minima, which tiles cannot say.
        """
        if self.reduction != "sum":
            raise LoweringError(f"{self!s:.80} as tiles", "partial sums: tiles say no max or min", "keep its mesh")
        return self.places(rank)

    def places(self, rank: int) -> Sharding:
        """The tiles and their devices, whatever partial results become one by."""
        if word := self._word():
            return Sharding(word)
        if len(self.mesh.devices) == 1:
            words = [field for field, axes in self.lists() if axes] or ["replicated"]  # axes of size 1 cut nothing
            if self.mesh.axes and len(words) == 1:
                return Sharding(words[0])
            return Sharding("maximal", devices=tuple(self.mesh.devices))
        digit = self.mesh.digit
        cuts = [d.axes for d in self.dims or (DimSharding(),) * rank]
        groups = (*cuts, self.manual, self.unreduced, (*self.replicated, *self._rest()))
        parts = [[*map(digit, axes)] for axes in groups]
        devices = taken(self.mesh.devices, Iota.of([*itertools.chain(*parts)]))
        tiles = tuple(math.prod(n for n, _ in part) for part in parts)
        return Sharding("tiled", tiles, devices, ("manual", "unreduced", "replicated"))

    def axes(self) -> Iterator[Axis]:
        """Every axis that it names."""
        return itertools.chain(*(d.axes for d in self.dims), *(axes for _, axes in self.lists()))

    def _rest(self) -> Iterator[Axis]:
        """The digits of the mesh that it does not name."""
        named = [*self.axes()]
        for name, n in self.mesh.axes:
            at = 1
            for pre, end in [*_spans(named, name, n), (n, n)]:
                if pre > at:
                    yield Axis(name, pre // at, at)
                at = end


def grouped(mesh: Mesh, axes: tuple[Axis, ...]) -> tuple[Devices, int]:
    """The devices in groups, one after the other, and the size of a group: its devices differ in these axes alone, the
    last one fastest.

    Raises   RangeError for groups of one, which XLA has not
    Source: all-gathers over such groups that jaxlib 0.10.2 ran on eight devices (tests/xla/test_xla_entry.py, RAN).
    """
    rest = MeshSharding(mesh, (DimSharding(axes),))._rest()
    digits = [*map(mesh.digit, axes)]
    size = math.prod(n for n, _ in digits)
    if size < 2:
        what = f"groups of one device, over {len(axes)} axes"
        raise RangeError(what, "groups of two or more", "name an axis of more than one device")
    return taken(mesh.devices, Iota.of([*map(mesh.digit, rest), *digits])), size


def _spans(axes: Iterable[Axis], name: str, n: int) -> list[tuple[int, int]]:
    """The places of the digits of an axis of n: (pre, pre * size), ascending."""
    return sorted((a.pre, a.pre * (a.size or n)) for a in axes if a.name == name)


# ------------------------------------------------------------------------------------------------ validity


def _axes(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    if any(not isinstance(a, Axis) for a in as_tuple(axes)):
        raise LeafTypeError("axes of another type", "Axis values", "write Axis('a')")
    return as_tuple(axes)


def _check_names(axes: tuple[tuple[str, int], ...]) -> None:
    if len(axes) > MAX_AXES:
        raise RankError(f"a mesh of {len(axes)} axes", f"at most {MAX_AXES}", "leave out those of size 1")
    seen: set[str] = set()
    for name, _ in axes:
        if not isinstance(name, str) or not name or any(c in "'\\\n" for c in name):
            what = f"an axis named {name!r:.40}"
            raise RangeError(what, "a text without quotes and backslashes", "use letters and digits")
        if name in seen:
            raise RangeError(f"two axes named {name!r:.40}", "each name once", "rename one")
        seen.add(name)


def _check_mesh_devices(count: int, devices: Devices) -> None:
    if len(devices) != count:
        raise RangeError(f"{len(devices)} devices for a mesh of {count}", f"{count}", "give one for each position")
    if isinstance(devices, Iota):
        return
    if sorted(devices) != [*range(count)]:
        raise RangeError(f"device_ids {shown(devices)}", f"each of 0 to {count - 1} once", "number the devices from 0")
    if devices == tuple(range(count)):
        what = "device_ids 0, 1, 2, ..."
        raise RangeError(what, "another order", "leave device_ids out: this is the order without it")


def _check_axes(sharding: MeshSharding) -> None:
    sizes = dict(sharding.mesh.axes)
    if sharding.dims and not sizes:
        what = f"{len(sharding.dims)} dimensions on one device"
        raise RankError(what, "none: it holds the whole array", "leave the dimensions out")
    for axis in sharding.axes():
        _check_axis(axis, sizes)
    _check_overlap([*sharding.axes()], sizes)
    order = {name: k for k, name in enumerate(sizes)}
    for d in sharding.dims:
        _check_neighbours(d.axes)
    for field, axes in sharding.lists():
        _check_neighbours(axes)
        if [*axes] != sorted(axes, key=lambda a: (order[a.name], a.pre)):
            what = f"{field}={{{', '.join(map(str, axes))}}}"
            raise RangeError(what, "axes in the order of the mesh", "name them in its order")


def _check_axis(axis: Axis, sizes: dict[str, int]) -> None:
    if axis.name not in sizes:
        what = f"axis {axis.name!r:.40}"
        raise RangeError(what, f"one of {', '.join(map(repr, sizes)) or 'none'}"[:200], "name an axis of the mesh")
    n = sizes[axis.name]
    if axis.size and (axis.size >= n or n % (axis.pre * axis.size)):
        fix = "leave the digit out for all of it"
        raise RangeError(f"{axis} of an axis of {n}", "a part of it: (pre)size with pre * size dividing it", fix)


def _check_overlap(axes: list[Axis], sizes: dict[str, int]) -> None:
    for name in {a.name for a in axes}:
        for (_, end), (pre, _) in itertools.pairwise(_spans(axes, name, sizes[name])):
            if pre < end:
                raise RangeError(f"axis {name!r:.40} is used twice", "each axis, or digit of one, once", "drop one")
            if pre % end:
                what = f"digits of axis {name!r:.40} up to {end} and from {pre}"
                raise RangeError(what, "digits that nest", "let one divide the next")


def _check_neighbours(axes: tuple[Axis, ...]) -> None:
    for a, b in itertools.pairwise(axes):
        if a.name == b.name and a.size and a.pre * a.size == b.pre:
            fix = f"write {Axis(a.name, a.size * b.size, a.pre)}"
            raise RangeError(f"{a}, {b} are one digit", "digits that do not go on from one to the next", fix)
