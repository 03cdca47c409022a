"""Shardings as Shardy writes them, which JAX's programs have today: `#sdy.sharding<@mesh, [{"data"}, {}]>`.

    sharding = [ "#sdy.sharding" ] "<" mesh "," "[" [ dim { "," dim } ] "]" { "," list "{" [ axis { "," axis } ]
    "}" } ">"
    mesh     = "@" name | "mesh<" axes ">" axes = "[" [ name "=" int { "," name "=" int } ] "]" [
             "," "device_ids=[" ints "]" ]
    dim      = "{" [ axis { "," axis } ] [ [","] "?" ] "}" [ "p" int ]        axis = name [ ":(" int ")" int ]
    list     = "replicated=" | "unreduced" [ "=" [ "sum" | "max" | "min" ] ]

Source: OpenXLA Shardy, shardy/dialect/sdy/ir (attrs.td, parsers.cc, printers.cc).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from ...core.errors import LeafTypeError, LoweringError, ParseError, require_type
from .mesh import Axis, DimSharding, Mesh, MeshSharding
from .mesh_text import MeshReader
from .sharding import AnySharding, Sharding, TupleSharding

_TOKENS = r'-?[0-9]+(?![A-Za-z0-9_.])|p[0-9]+(?![\w.])|[#@]?[A-Za-z_][\w.$-]*|"(?:[^"\\\n]|\\.)*"|@"(?:[^"\\\n]|\\.)*"|[][(){}<>,:?=]'
#: The axes of a mesh and the order of its devices; the name of an axis may have any character but a quote.
_AXES = r'(<\[(?:"[^"\n]*"|[^<>"\n])*>)'
#: A mesh in a StableHLO module, and in the header of an HLO module.
_MODULE_MESH = re.compile(r'sdy\.mesh\s+@("?[\w.$-]+"?)\s*=\s*' + _AXES)
_HEADER_MESH = re.compile(r"(?<![\w.$-])([\w.$-]+)\s*=\s*#sdy\.mesh" + _AXES)

#: The meshes of a program by their names; None for one that has no devices.
Meshes = Mapping[str, Mesh | None]


def shardy_meshes(text: str) -> dict[str, Mesh | None]:
    """The meshes that a program names: of StableHLO `sdy.mesh @mesh = <["data"=2]>`, of HLO those of `xla.sdy.meshes`
    in the header.

    text     of the program, or its header
    Returns  by name; None for the empty mesh, on which all is replicated

    >>> for name, mesh in shardy_meshes('sdy.mesh @mesh = <["data"=2, "model"=8]>').items():
    ...     print(name, mesh)
    mesh mesh['data'=2,'model'=8]

    Raises ParseError for a text that is not a mesh. Source: Shardy's MeshOp; XLA's frontend attribute xla.sdy.meshes.
    """
    require_type(text, str, "a program of type", "its text", "read the file first")
    text = text.replace('\\"', '"')
    meshes: dict[str, Mesh | None] = {}
    for found in itertools.chain(_MODULE_MESH.finditer(text), _HEADER_MESH.finditer(text)):
        name, mesh = found[1].strip('"'), parse_shardy_mesh(found[2])
        if meshes.setdefault(name, mesh) != mesh:
            what = f"mesh @{name:.40} is given twice"
            raise ParseError(found[0], 0, what, "one mesh of this name", "give the text of one program")
    return meshes


def parse_shardy_mesh(text: str) -> Mesh | None:
    """The mesh of `#sdy.mesh<["a"=2, "b"=4], device_ids=[...]>`; None for `<[]>`, which has no devices.

    >>> print(parse_shardy_mesh('#sdy.mesh<["a"=2, "b"=4]>'), parse_shardy_mesh("#sdy.mesh<[], device_ids=[3]>"))
    mesh['a'=2,'b'=4] maximal_mesh[device_id=3]

    Raises ParseError for a text that is not a mesh. Source: Shardy's MeshAttr.
    """
    reader = _ShardyReader(_unescaped(text))
    return reader.whole(reader.mesh_attribute)


def parse_shardy(text: str, meshes: Meshes | None = None) -> AnySharding:
    """The sharding that Shardy's text stands for: over the mesh that it has in itself, or one of `meshes`.

    meshes    those of the program: shardy_meshes(text of the program)
    Returns   a MeshSharding; of the empty mesh {replicated}; of sdy.sharding_per_value a TupleSharding. The priority of
              a dimension is the partitioner's business alone, and left out
    Raises    ParseError with the position for a text that the grammar or the meaning does not allow

    >>> meshes = shardy_meshes('sdy.mesh @mesh = <["data"=2, "model"=8]>')
    >>> sharding = parse_shardy('#sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}]>', meshes)
    >>> print(sharding, sharding.slices((16, 24), 16)[9])
    {mesh['data'=2,'model'=8], [{'data'}, {'model':(1)2, ?}]} ((8, 16), (0, 12))

    Source: Shardy's TensorShardingAttr.
    """
    reader = _ShardyReader(_unescaped(text))
    reader.meshes = {} if meshes is None else meshes
    if not isinstance(reader.meshes, Mapping):
        what = f"meshes of type {type(meshes).__name__}"
        raise LeafTypeError(what, "a dict of names to meshes", "shardy_meshes(text) gives it")
    return reader.whole(reader.shardings)


def shardy_text(sharding: MeshSharding | Sharding, mesh: str | None = None, rank: int | None = None) -> str:
    """A sharding over a mesh as Shardy's text, its mesh in it; with `mesh` under that name.

    rank     of the array; needed where the sharding has no dimensions: Shardy lists each, but of an array on
             one device none
    Raises   LoweringError for tiles without axes and manual axes, which Shardy has no text for

    >>> from tla.xla import parse_sharding
    >>> sharding = parse_sharding("{mesh['a'=2,'b'=4], [{'b'}, {}]}")
    >>> print(shardy_text(sharding))
    #sdy.sharding<mesh<["a"=2, "b"=4]>, [{"b"}, {}]>
    >>> print(shardy_text(sharding, "mesh"))
    #sdy.sharding<@mesh, [{"b"}, {}]>

    Law: parse_shardy(shardy_text(sharding)) is the same sharding; devices of an iota are listed.
    Source: Shardy's printers.
    """
    if not isinstance(sharding, MeshSharding) or sharding.manual:
        what = f"{sharding!s:.80} as a text of Shardy"
        fix = "give its mesh: {mesh['a'=8], [{'a'}]}"
        raise LoweringError(what, "a sharding over named axes, none of them manual", fix)
    dims = sharding.dims or (DimSharding(),) * ((rank or 0) if sharding.mesh.axes else 0)
    if rank is not None and sharding.mesh.axes and len(dims) != rank:
        raise LoweringError(f"{sharding} for {rank} dimensions", f"{len(dims)}", "give the rank of the array")
    parts = [f"@{mesh}" if mesh else f"mesh<{_mesh_text(sharding.mesh)}>", f"[{', '.join(map(_dim_text, dims))}]"]
    for name, axes in sharding.lists():
        if axes:
            parts.append(f"{name}={sharding.reduced(name)}{{{', '.join(map(_axis_text, axes))}}}")
    return f"#sdy.sharding<{', '.join(parts)}>"


def _mesh_text(mesh: Mesh) -> str:
    axes = "[" + ", ".join(f'"{name}"={size}' for name, size in mesh.axes) + "]"
    devices = [*mesh.devices]
    plain = bool(mesh.axes) and devices == [*range(len(devices))]
    return axes if plain else f"{axes}, device_ids=[{', '.join(map(str, devices))}]"


def _dim_text(d: DimSharding) -> str:
    return "{" + ", ".join([*map(_axis_text, d.axes), *["?"] * d.open]) + "}"


def _axis_text(a: Axis) -> str:
    return f'"{a.name}":({a.pre}){a.size}' if a.size else f'"{a.name}"'


def _unescaped(text: Any) -> str:
    """A text as it stands in a string of HLO's frontend_attributes, or in StableHLO."""
    return _ShardyReader.checked(text).replace('\\"', '"')


class _ShardyReader(MeshReader):
    tokens = _TOKENS
    noun, example = "a sharding", 'a sharding reads #sdy.sharding<@mesh, [{"data"}, {}]>'
    meshes: Meshes

    def shardings(self) -> AnySharding:
        if not self.take("#sdy.sharding_per_value"):
            return self.sharding()
        what = "the shardings of the values"
        return TupleSharding(tuple(self.enclosed("<>", lambda: self.listed("[]", self.sharding, what), "shardings")))

    def sharding(self) -> AnySharding:
        """#sdy.sharding<mesh, [dimensions], replicated={...}, unreduced={...}>."""
        self.take("#sdy.sharding")
        return self.enclosed("<>", self.parts, "a mesh", "',' or ")

    def parts(self) -> AnySharding:
        start = self.at
        mesh = self.named_mesh()
        self.names = mesh.names if mesh else ()
        self.expect(",", "behind the mesh")
        dims = self.dims()
        lists: dict[str, tuple[Axis, ...]] = {}
        reduction = "sum"
        while self.take(","):
            name = self.word(("replicated", "unreduced"), "a list of axes", lists)
            if name == "replicated":
                self.expect("=", "after replicated")
            elif self.take("="):
                reduction = self.reduction()
            lists[name] = self.axes()
        if mesh is None:
            return Sharding("replicated")
        named = lists.get("replicated", ()), lists.get("unreduced", ())
        return self.made(start, MeshSharding, mesh, dims, *named, (), reduction)

    def named_mesh(self) -> Mesh | None:
        name, at = self.token, self.at
        if self.take("mesh"):
            return self.mesh()
        if not name.startswith("@"):
            self.unexpected("@ and the name of a mesh, or mesh<...>")
        self.advance()
        key = name[1:].strip('"')
        if key == "empty_mesh" and key not in self.meshes:
            return None
        if key not in self.meshes:
            known = ", ".join(map(str, self.meshes)) or "none is given"
            what = f"mesh @{key:.40} is not known"
            self.fail(what, f"one of: {known:.200}", "give meshes=shardy_meshes(text of the program)", at=at)
        return self.meshes[key]

    def mesh_attribute(self) -> Mesh | None:
        self.take("#sdy.mesh")
        return self.mesh()

    def mesh(self) -> Mesh | None:
        """The axes of <[axes], device_ids=[...]>; None for a mesh of no axes and no devices."""
        return self.enclosed("<>", self.axes_and_devices, "the axes of a mesh")

    def axes_and_devices(self) -> Mesh | None:
        at, axes = self.at, self.mesh_axes()
        devices: tuple[int, ...] = ()
        if self.take(","):
            self.expect("device_ids", "and device numbers")
            self.expect("=", "after device_ids")
            devices = tuple(self.listed("[]", lambda: self.integer("a device number"), "device numbers"))
        if not axes and not devices:
            return None
        if axes and devices == tuple(range(len(devices))):
            devices = ()
        return self.made(at, Mesh, axes, devices)

    def dim(self) -> DimSharding:
        found, priority = super().dim(), self.token
        if re.fullmatch("p(0|[1-9][0-9]{0,17})", priority):
            if not found.axes and not found.open:
                self.fail(f"the priority {priority} of a dimension that is not cut", "none", "leave it out")
            self.advance()
        return found
