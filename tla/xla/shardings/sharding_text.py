"""XLA's sharding annotations, read: `{devices=[2,4]<=[8]}`, `{mesh['a'=2,'b'=4], [{'a'}, {'b'}]}`.

    sharding = "{" "}" | "{" single { "," single } "}" | single
    single   = "{" item { item } "}" | "{" mesh [ "," "[" [ dim { "," dim } ] "]" ] { "," axes } "}" | "{" mesh "," word "}"
    item     = "replicated" | "manual" | "unknown" | "unreduced" | "maximal" | "device=" int | "shard_as" int | "shard_like" int
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
from typing import Any

from ...core.cache import compiled
from ...core.errors import LeafTypeError
from ..shapes.grammar import BLANK
from .devices import Devices, Iota
from .mesh import Axis, Mesh, MeshSharding
from .mesh_text import MeshReader
from .sharding import SUBGROUPS, WHOLE, AnySharding, ShardGroup, Sharding, TupleSharding

# A string runs to its end or, where it has none, to that of the text: it is not tried again from inside of it.
_STRING = r"\"(?:[^\"\\]|\\.)*(?:\"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)"
_TOKEN = rf"(?s)-?[0-9]+(?![A-Za-z0-9_.])|[A-Za-z_][A-Za-z0-9_]*=?|<=|[][(){{}},:?=]|{_STRING}"
_LISTS = ("replicated", "unreduced", "manual")
_EMPTY_MESH = re.compile(r"mesh\s*\[\s*\]")
_BRACE = re.compile(rf"[{{}}]|{_STRING}", re.DOTALL)


def parse_sharding(text: str) -> AnySharding:
    """The sharding that an XLA annotation stands for. str() of it is XLA's canonical text, without metadata.

    Returns   a Sharding (V1, V2), a MeshSharding (V3), or a TupleSharding of these; {replicated} for mesh[], which has no devices
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
    if not isinstance(text, str):
        raise LeafTypeError(
            f"a sharding of type {type(text).__name__}", "a text such as '{devices=[2,4]<=[8]}'", "give its text: str() of one"
        )
    reader = _ShardingReader(text)
    sharding = reader.sharding()
    reader.end()
    return sharding


def parse_mesh_axes(text: str) -> tuple[Mesh, tuple[Axis, ...]]:
    """A mesh, and axes of it: `mesh['a'=2,'b'=4] {'b'}`, as the groups of a collective are written, or once were: `@mesh<a=2,b=4> {b}`."""
    found = OLDER_MESH_AXES.fullmatch(text)
    reader = _ShardingReader(_in_quotes(*found.groups()) if found else text)
    if reader.token != "mesh":
        reader.unexpected("mesh[...]")
    mesh = reader.mesh()
    axes = reader.axes(mesh)
    reader.end()
    return mesh, axes


#: A mesh and axes of it without quotes: the axes of the mesh, the order of its devices, the axes.
OLDER_MESH_AXES = re.compile(r"@mesh<([^<>]*)>(?:\s*,\s*device_ids=)?\s*(\([^{}]*\))?\s*\{([^{}]*)\}")


def _in_quotes(mesh: str, devices: str | None, axes: str) -> str:
    """
    >>> _in_quotes("a=2,b=4", "([4,2]T(1,0))", "a,b:(1)2")
    "mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)) {'a','b':(1)2}"
    """
    sizes, chosen = (re.sub(r"(?<![^,])\s*([^\s,=:]+)", r"'\1'", text) for text in (mesh, axes))
    return f"mesh[{sizes}]{f', device_ids={devices}' if devices else ''} {{{chosen}}}"


class _ShardingReader(MeshReader):
    tokens, known = _TOKEN, "words, integers, quoted names and [](){},:?=<="
    noun, example = "sharding", "a sharding reads {replicated}, {devices=[2,4]<=[8]} or {mesh['a'=8], [{'a'}]}"

    def sharding(self) -> AnySharding:
        self.expect("{", "before a sharding")
        if self.token not in ("{", "}"):
            return self.single()
        elements = self.listed("}", self.element)
        self.expect("}", "or ',' after a sharding of a tuple")
        return TupleSharding(tuple(elements))

    def element(self) -> AnySharding:
        self.expect("{", "before a sharding of a tuple")
        if self.token == "{":
            self.fail("a tuple in a tuple of shardings", "one sharding per leaf", "flatten it")
        return self.single()

    def single(self) -> AnySharding:
        """The text after the brace of a sharding of an array, up to its end."""
        if _EMPTY_MESH.match(self.text, self.at):
            sharding: AnySharding = self.over_empty_mesh()
        else:
            sharding = self.over_mesh() if self.token in ("mesh", "maximal_mesh") else self.items()
        self.expect("}", "to close a sharding")
        return sharding

    def integers(self, what: str) -> tuple[int, ...]:
        return tuple(self.listed("", lambda: self.integer(what)))

    def bracketed(self, what: str) -> tuple[int, ...]:
        self.expect("[", f"and {what}")
        out = self.integers(what)
        self.expect("]", f"or ',' in {what}")
        return out

    # -- V1, V2

    def items(self) -> Sharding:
        start, found, at = self.at, {}, {}
        while self.token not in ("}", ""):
            word, place = self.token, self.at
            field, value = self.item(word)
            if field in found:
                self.fail(f"{word!r} says another time what the {field} is", "once at most", "drop one", at=place)
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
        known = (*WHOLE, "device=", "devices=", "last_tile_dim_replicate", "last_tile_dims=", "shard_as", "shard_like", "metadata=")
        if word not in known:
            self.unexpected(f"one of {' '.join(known)}, or '}}'")
        if word == "metadata=":
            self.metadata()
            return "metadata", True
        self.advance()
        if word == "device=":
            return "device", self.integer("a device number")
        if word == "devices=":
            return "devices", (self.bracketed("the number of tiles of each dimension"), self.devices())
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
                self.fail(f"{field} beside {kind}", "none: that is about the whole array", "leave one of them out", at=at[field])
        if "device" in at and kind != "maximal":
            self.fail("device= without maximal", "{maximal device=3}", "write maximal, or leave it out", at=at["device"])
        if kind == "maximal" and "device" not in at:
            self.fail("a maximal sharding without a device", "{maximal device=3}", "write device=", at=at["kind"])
        if kind == "tiled" and "devices" not in at:
            self.fail("a sharding without devices", "devices=[...], or a word such as replicated", "write {replicated}", at=start)

    def devices(self) -> Devices:
        return self.iota() if self.take("<=") else self.integers("device numbers, or <=[...]")

    def iota(self) -> Iota:
        at = self.at
        extents: tuple[int, ...] = self.bracketed("the extents of an iota")
        order: tuple[int, ...] = ()
        if len(extents) > 1:
            self.expect("T", "and the order of the dimensions", "write T(0,1,...) to leave them as they are")
            self.expect("(", "and the order of the dimensions")
            order = self.integers("a dimension number")
            self.expect(")", "or ',' in the order of the dimensions")
        return self.made(at, Iota, extents, order)

    def subgroups(self) -> tuple[str, ...]:
        self.expect("{", "and kinds of subgroups")
        kinds = self.listed("", self.subgroup)
        self.expect("}", "or ',' after a kind of subgroup")
        return tuple(kinds)

    def subgroup(self) -> str:
        kind = self.token
        if kind not in SUBGROUPS:
            self.unexpected(f"one of {' '.join(SUBGROUPS)}")
        self.advance()
        return kind

    def metadata(self) -> None:
        """Pass over metadata={...}: it says nothing about where elements are."""
        depth, start = 0, self.at
        for found in _BRACE.finditer(self.text, self.after) if self.text.startswith("{", self.after) else ():
            depth += {"{": 1, "}": -1}.get(found[0], 0)
            if not depth:
                self.after = found.end()
                self.advance()
                return
        self.fail("metadata that does not end", "metadata={...}", "leave it out", at=start)

    # -- V3

    def over_empty_mesh(self) -> Sharding:
        """A sharding over mesh[], which has neither axes nor devices: all is replicated."""
        for token in ("mesh", "[", "]", ","):
            self.expect(token, "as in mesh[], replicated")
        if self.take("["):
            self.listed("]", lambda: self.dim_over(lambda: self.unexpected("'?' or '}': mesh[] has no axes")))
            self.expect("]", "or ',' after a dimension")
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
            field, value = self.part(mesh, found)
            found[field] = value
        if word := found.get("word"):
            found[word] = () if word == "replicated" else tuple(map(Axis, mesh.names))
        return self.made(start, MeshSharding, mesh, *(found.get(field, ()) for field in ("dims", *_LISTS)), found.get("reduction", "sum"))

    def part(self, mesh: Mesh, found: dict[str, Any]) -> tuple[str, Any]:
        """The dimensions, a list of axes, or one word for all of them."""
        word = self.token
        field = "dims" if word == "[" else word.removesuffix("=")
        alone = field == word
        if not mesh.axes:
            self.unexpected("metadata= or '}' after a maximal_mesh")
        if field not in ("dims", *_LISTS) or field in found or "word" in found or (found and (alone or field == "dims")):
            self.unexpected("[{...}, ...] first, then replicated=, unreduced= and manual=, each once; or one word alone")
        self.advance()
        if field == "dims":
            dims = self.listed("]", lambda: self.dim_over(lambda: self.axis(mesh)))
            self.expect("]", "or ',' after the axes of a dimension")
            return field, tuple(dims)
        if alone:
            return "word", field
        if field == "unreduced":
            found["reduction"] = self.reduction()
        return field, self.axes(mesh)

    def maximal_mesh(self) -> Mesh:
        self.expect("[", "after maximal_mesh")
        self.expect("device_id=", "in a maximal_mesh")
        at = self.at
        mesh = self.made(at, Mesh, (), (self.integer("a device number"),))
        self.expect("]", "to close maximal_mesh")
        return mesh

    def mesh(self) -> Mesh:
        at = self.at
        self.advance()
        self.expect("[", "after mesh")
        axes = tuple(self.listed("", self.mesh_axis))
        self.expect("]", "or ',' after an axis of a mesh")
        return self.made(at, Mesh, axes, self.device_ids())

    def device_ids(self) -> Devices:
        """The numbers after `, device_ids=`; () where that does not come."""
        following = compiled(BLANK).match(self.text, self.after).end()  # type: ignore[union-attr]  # it matches the empty text too
        if self.token != "," or not self.text.startswith("device_ids=", following):
            return ()
        self.advance()
        self.advance()
        self.expect("(", "and device numbers")
        devices = self.iota() if self.token == "[" else self.integers("device numbers, or an iota: [4,2]T(1,0)")
        self.expect(")", "to close device_ids")
        return devices

    def axes(self, mesh: Mesh) -> tuple[Axis, ...]:
        self.expect("{", "and axes")
        axes = self.listed("}", lambda: self.axis(mesh))
        self.expect("}", "or ',' after an axis")
        return tuple(axes)

    def axis(self, mesh: Mesh) -> Axis:
        at = self.at
        name = self.name()
        if name not in mesh.names:
            self.fail(f"axis {name!r:.40} is not in the mesh", f"one of {', '.join(map(repr, mesh.names)):.200}", at=at)
        if not self.take(":"):
            return Axis(name)
        self.expect("(", "as in 'a':(1)2")
        pre = self.integer("the product of the digits before, as in 'a':(1)2")
        self.expect(")", "as in 'a':(1)2")
        at, size = self.at, self.integer("the size of a digit, as in 'a':(1)2")
        if size < 2:
            self.fail(f"a digit of size {size}", "2 or more", "leave it out", at=at)
        return self.made(at, Axis, name, size, pre)
