"""XLA's sharding annotations, read: `{devices=[2,4]<=[8]}`, `{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}`.

    sharding = "{" "}" | "{" single { "," single } "}" | single
    single   = "{" item { item } "}" | "{" mesh [ "," "[" [ dim { "," dim } ] "]" ] { "," axes } "}" | "{" mesh
             "," word "}"
    item     = "replicated" | "manual" | "unknown" | "unreduced" | "maximal" | "device=" int | "shard_as" int |
             "shard_like" int
             | "devices=" ints ( int { "," int } | "<=" iota ) | "last_tile_dim_replicate" | "last_tile_dims={" kind { "," kind } "}"
    iota     = ints [ "T(" int { "," int } ")" ]      ints = "[" int { "," int } "]"
    mesh     = "mesh[" [ name "=" int { "," name "=" int } ] "]" [ ", device_ids=(" ( int { "," int } | iota ) ")" ]
             | "maximal_mesh[device_id=" int "]"
    dim      = "{" [ axis { "," axis } ] [ [","] "?" ] "}"      axis = name [ ":(" int ")" int ]
    axes     = ( "replicated=" | "unreduced=" [ "sum" | "max" | "min" ] | "manual=" ) "{" axis { "," axis } "}"
    word     = "replicated" | "unreduced" | "manual"

`metadata={...}` may stand among the items or last, and is passed over. Blanks and comments may stand between tokens.

Source: XLA xla/hlo/parser/hlo_parser.cc. What XLA aborts on or fills with zeros is refused.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from .devices import Devices, Iota
from .mesh import Axis, Mesh, MeshSharding
from .mesh_text import MeshReader
from .sharding import SUBGROUPS, WHOLE, AnySharding, ShardGroup, Sharding, TupleSharding

# A string runs to its end or, where it has none, to that of the text: it is not tried again from inside of it.
_STRING = r"\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)"
_ITEMS: tuple[str, ...] = (*WHOLE, "device=", "devices=", "last_tile_dim_replicate", "last_tile_dims=")
_ITEMS += ("shard_as", "shard_like", "metadata=")
_LISTS = ("replicated", "unreduced", "manual")
_EMPTY_MESH = re.compile(r"mesh\s*\[\s*\]")
_BRACE = re.compile(rf"[{{}}]|{_STRING}", re.DOTALL)


def parse_sharding(text: str) -> AnySharding:
    """The sharding that an XLA annotation stands for. str() of it is XLA's canonical text, without metadata.

    Returns   a Sharding (V1, V2), a MeshSharding (V3), or a TupleSharding of these; {replicated} for mesh[],
              which has no devices
    Raises    ParseError with the position for a text that the grammar or the meaning does not allow

    >>> sharding = parse_sharding("{devices=[2,4]<=[2,2,2]T(2,0,1)}")
    >>> print(sharding, sharding.slices((16, 24), 8)[3])
    {devices=[2,4]<=[4,2]T(1,0)} ((8, 16), (6, 12))
    >>> parse_sharding("{devices=[2,4]0,1,2}")
    Traceback (most recent call last):
    tla.core.errors.ParseError: 3 devices for 8 tiles of (2,4), at position 1
        {devices=[2,4]0,1,2}
         ^
      expected  one for each tile
      fix       give as many

    Source: XLA `ParseSharding`; reference in docs/xla.md.
    """
    reader = _ShardingReader(text)
    return reader.whole(reader.sharding)


def parse_mesh_axes(text: str) -> tuple[Mesh, tuple[Axis, ...]]:
    """A mesh, and axes of it: `mesh['a'=2,'b'=4] {'b'}`, as the groups of a collective are written, or once were:
    `@mesh<a=2,b=4> {b}`."""
    reader = (_OlderReader if text.startswith("@") else _ShardingReader)(text)
    return reader.whole(reader.mesh_and_axes)


class IotaGroups(NamedTuple):
    """Groups of devices without a list: the devices, the number of groups, and the devices of each."""

    iota: Iota
    groups: int
    size: int


def parse_groups(text: str) -> IotaGroups | tuple[tuple[int, ...], ...]:
    """The groups of devices of a collective.

    >>> parse_groups("{{0,2},{1,3}}"), str(parse_groups("[2,4]<=[8]")[0])
    (((0, 2), (1, 3)), '[8]')
    """
    reader = _ShardingReader(text)
    return reader.whole(reader.groups)


class _ShardingReader(MeshReader):
    tokens = rf"(?s)-?[0-9]+(?![A-Za-z0-9_.])|[A-Za-z_][A-Za-z0-9_]*=?|<=|[][(){{}},:?=]|{_STRING}"
    noun, example = "a sharding", "a sharding reads {replicated}, {devices=[2,4]<=[8]} or {mesh['a'=8], [{'a'}]}"

    def sharding(self) -> AnySharding:
        return self.enclosed("{}", lambda: self.elements() if self.token in ("{", "}") else self.single(), "a sharding")

    def elements(self) -> TupleSharding:
        found = self.several("}", lambda: self.enclosed("{}", self.element, "a sharding of a tuple"))
        return TupleSharding(tuple(found))

    def element(self) -> AnySharding:
        if self.token == "{":
            self.fail("a tuple in a tuple of shardings", "one sharding per leaf", "flatten it")
        return self.single()

    def single(self) -> AnySharding:
        """The text between the braces of a sharding of an array."""
        if _EMPTY_MESH.match(self.text, self.at):
            return self.over_empty_mesh()
        return self.over_mesh() if self.token in ("mesh", "maximal_mesh") else self.items()

    def bracketed(self, brackets: str, integer: str, what: str) -> tuple[int, ...]:
        """Integers in brackets, one at least."""
        return tuple(self.listed(brackets, lambda: self.integer(integer), what, empty=False))

    # -- V1, V2

    def items(self) -> Sharding:
        start, found, at = self.at, {}, {}
        while self.token != "}":
            word, place = self.token, self.at
            field, value = self.item(word)
            if field in found:
                self.fail(f"{word!r}: the {field} is given twice", "once at most", "leave one of the two out", at=place)
            found[field], at[field] = value, place
        kind = found.get("kind", "tiled")
        self.check_items(kind, at, start)
        tiles, devices = found.get("devices", ((), ()))
        if "device" in found:
            devices = (found["device"],)
        group, subgroups = found.get("group"), found.get("subgroups", ())
        return self.made(at.get("devices", start), Sharding, kind, tiles, devices, subgroups, group)

    def item(self, word: str) -> tuple[str, Any]:
        """An item: what it is about, and what it says."""
        if word == "metadata=":
            self.metadata()
            return "metadata", True
        self.word(_ITEMS, "an item")
        if word == "device=":
            return "device", self.integer("a device number")
        if word == "devices=":
            tiles = self.bracketed("[]", "the number of tiles", "the number of tiles of each dimension")
            return "devices", (tiles, self.devices())
        if word == "last_tile_dims=":
            return "subgroups", self.subgroups()
        if word == "last_tile_dim_replicate":
            return "subgroups", ("replicated",)
        if word in WHOLE:
            return "kind", word
        return "group", ShardGroup(word, self.integer("the number of a group"))

    def check_items(self, kind: str, at: dict[str, int], start: int) -> None:
        """Refuse items that do not go together."""
        for field in ("devices", "subgroups") if kind != "tiled" else ():
            if field in at:
                what = f"{field} beside {kind}"
                self.fail(what, "none: that is about the whole array", "leave one of them out", at=at[field])
        if "device" in at and kind != "maximal":
            what = "device= without maximal"
            self.fail(what, "{maximal device=3}", "write maximal, or leave it out", at=at["device"])
        if kind == "maximal" and "device" not in at:
            self.fail("a maximal sharding without a device", "{maximal device=3}", "write device=", at=at["kind"])
        if kind == "tiled" and "devices" not in at:
            what = "a sharding without devices"
            self.fail(what, "devices=[...], or a word such as replicated", "write {replicated}", at=start)

    def devices(self) -> Devices:
        return self.iota() if self.take("<=") else self.integers("device numbers, or <=[...]")

    def iota(self) -> Iota:
        at = self.at
        extents: tuple[int, ...] = self.bracketed("[]", "an extent", "the extents of an iota")
        order: tuple[int, ...] = ()
        if len(extents) > 1:
            self.expect("T", "and the order of the dimensions", "write T(0,1,...) to leave them as they are")
            order = self.bracketed("()", "the number of a dimension", "the order of the dimensions")
        return self.made(at, Iota, extents, order)

    def subgroups(self) -> tuple[str, ...]:
        return tuple(
            self.listed("{}", lambda: self.word(SUBGROUPS, "a kind of subgroup"), "kinds of subgroups", empty=False)
        )

    def metadata(self) -> None:
        """Pass over metadata={...}: it says nothing about where elements are."""
        depth, start = 0, self.at
        for found in _BRACE.finditer(self.text, self.after) if self.text.startswith("{", self.after) else ():
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if not depth:
                self.go_to(found.end())
                return
        self.fail("metadata that does not end", "metadata={...}", "leave it out", at=start)

    # -- V3

    def over_empty_mesh(self) -> Sharding:
        """A sharding over mesh[], which has neither axes nor devices: all is replicated."""
        for token in ("mesh", "[", "]", ","):
            self.expect(token, "as in mesh[], replicated")
        if self.token == "[":
            self.dims()
        else:
            self.expect("replicated", "or [{}, ...]: mesh[] has no axes")
        if self.take(","):
            if self.token != "metadata=":
                self.unexpected("metadata= or '}'")
            self.metadata()
        return Sharding("replicated")

    def over_mesh(self) -> MeshSharding:
        start, found = self.at, dict[str, Any]()
        mesh = self.maximal_mesh() if self.take("maximal_mesh") else self.mesh()
        while self.take(","):
            if self.token == "metadata=":
                self.metadata()
                break
            start = self.at
            field, value = self.part(found)
            found[field] = value
        if word := found.get("word"):
            found[word] = () if word == "replicated" else tuple(map(Axis, mesh.names))
        lists = (found.get(field, ()) for field in ("dims", *_LISTS))
        return self.made(start, MeshSharding, mesh, *lists, found.get("reduction", "sum"))

    def part(self, found: dict[str, Any]) -> tuple[str, Any]:
        """The dimensions, a list of axes, or one word for all of them."""
        word = self.token
        field = "dims" if word == "[" else word.removesuffix("=")
        alone = field == word
        if not self.names:
            self.unexpected("metadata= or '}' after a maximal_mesh")
        is_late = bool(found) and (alone or field == "dims" or "word" in found)
        if field not in ("dims", *_LISTS) or field in found or is_late:
            expected = "[{...}, ...] first, then replicated=, unreduced= and manual=, each once; or one word alone"
            self.unexpected(expected)
        if field == "dims":
            return field, self.dims()
        self.advance()
        if alone:
            return "word", field
        if field == "unreduced":
            found["reduction"] = self.reduction()
        return field, self.axes()

    def maximal_mesh(self) -> Mesh:
        return self.enclosed("[]", self.only_device, "device_id=")

    def only_device(self) -> Mesh:
        self.expect("device_id=", "in a maximal_mesh")
        return self.made(self.at, Mesh, (), (self.integer("a device number"),))

    def mesh(self) -> Mesh:
        at = self.at
        self.advance()
        axes = self.mesh_axes()
        self.names = tuple(name for name, _ in axes)
        return self.made(at, Mesh, axes, self.device_ids())

    def device_ids(self) -> Devices:
        """The numbers after `, device_ids=`; () where that does not come."""
        following = self._skip(self.text, self.after).end()  # type: ignore[union-attr]  # it matches the empty text too
        if self.token != "," or not self.text.startswith("device_ids=", following):
            return ()
        self.advance()
        self.advance()
        return self.enclosed("()", self.devices_of_mesh, "device numbers", "',' or ")

    def devices_of_mesh(self) -> Devices:
        return self.iota() if self.token == "[" else self.integers("device numbers, or an iota: [4,2]T(1,0)")

    def groups(self) -> IotaGroups | tuple[tuple[int, ...], ...]:
        if self.token != "[":
            return tuple(self.listed("{}", self.group, "groups of devices"))
        expected = "the number of groups and of devices of each"
        at, count = self.at, self.bracketed("[]", "a number of groups, or of devices", expected)
        if len(count) != 2:
            self.fail(f"{len(count)} numbers in front of an iota", "[groups,devices of each]", at=at)
        self.expect("<=", "and an iota")
        return IotaGroups(self.iota(), *count)

    def group(self) -> tuple[int, ...]:
        return tuple(self.listed("{}", lambda: self.integer("the number of a device", least=0), "a group of devices"))

    def mesh_and_axes(self) -> tuple[Mesh, tuple[Axis, ...]]:
        if self.token != "mesh":
            self.unexpected("mesh[...]")
        return self.mesh(), self.axes()


class _OlderReader(_ShardingReader):
    """A reader of meshes and axes as XLA once wrote them, without quotes: @mesh<a=2,b=4>, device_ids=([8]) {a}."""

    tokens = r"<=|device_ids=|[][(){}<>,:=]|[^][(){}<>,:=\s]+"

    def mesh_and_axes(self) -> tuple[Mesh, tuple[Axis, ...]]:
        at = self.at
        self.expect("@mesh", "and its axes")
        axes = tuple(self.listed("<>", self.mesh_axis, "the axes of a mesh", empty=False))
        self.names = tuple(name for name, _ in axes)
        if self.take(","):
            self.expect("device_ids=", "and device numbers")
        devices = self.enclosed("()", self.devices_of_mesh) if self.token == "(" else ()
        return self.made(at, Mesh, axes, devices), self.axes()

    def name(self) -> str:
        if self.token in ("", *"[](){}<>,:="):
            self.unexpected("the name of an axis")
        return self.next()
