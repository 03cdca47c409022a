"""Shardings as Shardy writes them, which JAX's programs have today: `#sdy.sharding<@mesh, [{"data"}, {}]>`.

    sharding = [ "#sdy.sharding" ] "<" mesh "," "[" [ dim { "," dim } ] "]" { "," list "{" [ axis { "," axis } ] "}" } ">"
    mesh     = "@" name | "mesh<" axes ">"        axes = "[" [ name "=" int { "," name "=" int } ] "]" [ "," "device_ids=[" ints "]" ]
    dim      = "{" [ axis { "," axis } ] [ [","] "?" ] "}" [ "p" int ]        axis = name [ ":(" int ")" int ]
    list     = "replicated=" | "unreduced" [ "=" [ "sum" | "max" | "min" ] ]

Source: OpenXLA Shardy, shardy/dialect/sdy/ir (attrs.td, parsers.cc, printers.cc).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...core.errors import LeafTypeError, LoweringError
from .mesh import Axis, DimSharding, Mesh, MeshSharding
from .mesh_text import MeshReader
from .sharding import AnySharding, Sharding, TupleSharding

_TOKEN = r'-?[0-9]+(?![A-Za-z0-9_.])|p[0-9]+(?![\w.])|[#@]?[A-Za-z_][\w.$-]*|"(?:[^"\\\n]|\\.)*"|@"(?:[^"\\\n]|\\.)*"|[][(){}<>,:?=]'
#: The axes of a mesh and the order of its devices; the name of an axis may have any character but a quote.
_AXES = r'(<\[(?:"[^"\n]*"|[^<>"\n])*>)'
#: A mesh in a StableHLO module, and in the header of an HLO module.
_MODULE_MESH = re.compile(r'sdy\.mesh\s+@("?[\w.$-]+"?)\s*=\s*' + _AXES)
_HEADER_MESH = re.compile(r"([\w.$-]+)\s*=\s*#sdy\.mesh" + _AXES)

#: The meshes of a program by their names; None for one that has no devices.
Meshes = Mapping[str, Mesh | None]


def shardy_meshes(text: str) -> dict[str, Mesh | None]:
    """The meshes that a program names: of StableHLO `sdy.mesh @mesh = <["data"=2]>`, of HLO those of `xla.sdy.meshes` in the header.

    text     of the program, or its header
    Returns  by name; None for the empty mesh, on which all is replicated

    >>> for name, mesh in shardy_meshes('sdy.mesh @mesh = <["data"=2, "model"=8]>').items():
    ...     print(name, mesh)
    mesh mesh['data'=2,'model'=8]

    Raises ParseError for a mesh that is none. Source: Shardy's MeshOp; XLA's frontend attribute xla.sdy.meshes.
    """
    if not isinstance(text, str):
        raise LeafTypeError(f"a program of type {type(text).__name__}", "its text", "read the file first")
    text = text.replace('\\"', '"')
    found = [*_MODULE_MESH.findall(text), *_HEADER_MESH.findall(text)]
    return {name.strip('"'): parse_shardy_mesh(mesh) for name, mesh in found}


def parse_shardy_mesh(text: str) -> Mesh | None:
    """The mesh of `#sdy.mesh<["a"=2, "b"=4], device_ids=[...]>`; None for `<[]>`, which has no devices.

    >>> print(parse_shardy_mesh('#sdy.mesh<["a"=2, "b"=4]>'), parse_shardy_mesh("#sdy.mesh<[], device_ids=[3]>"))
    mesh['a'=2,'b'=4] maximal_mesh[device_id=3]

    Raises ParseError for a text that is none. Source: Shardy's MeshAttr.
    """
    reader = _ShardyReader(_text(text))
    reader.take("#sdy.mesh")
    mesh = reader.mesh()
    reader.end()
    return mesh


def parse_shardy(text: str, meshes: Meshes | None = None) -> AnySharding:
    """The sharding that Shardy's text stands for: over the mesh that it has in itself, or one of `meshes`.

    meshes    those of the program: shardy_meshes(text of the program)
    Returns   a MeshSharding; of the empty mesh {replicated}; of sdy.sharding_per_value a TupleSharding. The priority of a
              dimension is the partitioner's business alone, and left out
    Raises    ParseError with the position for a text that the grammar or the meaning does not allow

    >>> meshes = shardy_meshes('sdy.mesh @mesh = <["data"=2, "model"=8]>')
    >>> sharding = parse_shardy('#sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}]>', meshes)
    >>> print(sharding, sharding.slices((16, 24), 16)[9])
    {mesh['data'=2,'model'=8], [{'data'}, {'model':(1)2, ?}]} ((8, 16), (0, 12))

    Source: Shardy's TensorShardingAttr.
    """
    reader = _ShardyReader(_text(text))
    reader.meshes = {} if meshes is None else meshes
    if not isinstance(reader.meshes, Mapping):
        raise LeafTypeError(f"meshes of type {type(meshes).__name__}", "a dict of names to meshes", "shardy_meshes(text) gives it")
    per_value = reader.take("#sdy.sharding_per_value")
    sharding: AnySharding = reader.per_value() if per_value else reader.sharding()
    reader.end()
    return sharding


def shardy_text(sharding: MeshSharding | Sharding, mesh: str | None = None, rank: int | None = None) -> str:
    """A sharding over a mesh as Shardy's text, its mesh in it; with `mesh` under that name.

    rank     of the array; needed where the sharding has no dimensions: Shardy lists each, but of an array on one device none
    Raises   LoweringError for tiles without axes and manual axes, which Shardy has no text for

    >>> from tla.xla import parse_sharding
    >>> sharding = parse_sharding("{mesh['a'=2,'b'=4], [{'b'}, {}]}")
    >>> print(shardy_text(sharding))
    #sdy.sharding<mesh<["a"=2, "b"=4]>, [{"b"}, {}]>
    >>> print(shardy_text(sharding, "mesh"))
    #sdy.sharding<@mesh, [{"b"}, {}]>

    Law: parse_shardy(shardy_text(sharding)) is the same sharding; devices of an iota are listed. Source: Shardy's printers.
    """
    if not isinstance(sharding, MeshSharding) or sharding.manual:
        what = f"{sharding!s:.80} as a text of Shardy"
        raise LoweringError(what, "a sharding over named axes, none of them manual", "give its mesh: {mesh['a'=8], [{'a'}]}")
    dims = sharding.dims or (DimSharding(),) * ((rank or 0) if sharding.mesh.axes else 0)
    if rank is not None and sharding.mesh.axes and len(dims) != rank:
        raise LoweringError(f"{sharding} for {rank} dimensions", f"{len(dims)}", "give the rank of the array")
    parts = [f"@{mesh}" if mesh else f"mesh<{_mesh_text(sharding.mesh)}>", f"[{', '.join(map(_dim_text, dims))}]"]
    parts += [f"{name}={sharding.reduced(name)}{{{', '.join(map(_axis_text, axes))}}}" for name, axes in sharding.lists() if axes]
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


def _text(text: Any) -> str:
    if not isinstance(text, str):
        raise LeafTypeError(
            f"a sharding of type {type(text).__name__}", "a text such as '#sdy.sharding<@mesh, [{\"a\"}]>'", "decode bytes first"
        )
    return text.replace('\\"', '"')  # as it stands in a string of HLO's frontend_attributes


class _ShardyReader(MeshReader):
    tokens, known = _TOKEN, "names, quoted axes, integers and [](){}<>,:?="
    noun, example = "sharding", 'a sharding reads #sdy.sharding<@mesh, [{"data"}, {}]>'
    meshes: Meshes

    def per_value(self) -> TupleSharding:
        self.expect("<", "after #sdy.sharding_per_value")
        self.expect("[", "and the shardings of the values")
        elements = self.listed("]", self.sharding)
        self.expect("]", "or ',' after a sharding")
        self.expect(">", "to close #sdy.sharding_per_value")
        return TupleSharding(tuple(elements))

    def sharding(self) -> AnySharding:
        """#sdy.sharding<mesh, [dimensions], replicated={...}, unreduced={...}>."""
        self.take("#sdy.sharding")
        self.expect("<", "before a mesh")
        start = self.at
        mesh = self.named_mesh()
        self.expect(",", "behind the mesh")
        self.expect("[", "and the dimensions")
        dims = tuple(self.listed("]", self.dim))
        self.expect("]", "or ',' after a dimension")
        lists: dict[str, tuple[Axis, ...]] = {}
        reduction = "sum"
        while self.take(","):
            name = self.token
            if name not in ("replicated", "unreduced") or name in lists:
                self.unexpected("replicated={...} or unreduced={...}, each once")
            self.advance()
            if name == "replicated":
                self.expect("=", "after replicated")
            elif self.take("="):
                reduction = self.reduction()
            self.expect("{", "and axes")
            lists[name] = tuple(self.listed("}", self.axis))
            self.expect("}", "or ',' after an axis")
        self.expect(">", "to close a sharding")
        return self.over(start, mesh, dims, lists, reduction)

    def over(
        self, at: int, mesh: Mesh | None, dims: tuple[DimSharding, ...], lists: dict[str, tuple[Axis, ...]], reduction: str
    ) -> AnySharding:
        if mesh is None:
            if any(d.axes for d in dims) or any(lists.values()):
                self.fail("axes of a mesh that has none", "a mesh with these axes", "name another mesh", at=at)
            return Sharding("replicated")
        return self.made(at, MeshSharding, mesh, dims, lists.get("replicated", ()), lists.get("unreduced", ()), (), reduction)

    def named_mesh(self) -> Mesh | None:
        name, at = self.token, self.at
        if name == "mesh":
            self.advance()
            return self.mesh()
        if not name.startswith("@"):
            self.unexpected("@ and the name of a mesh, or mesh<...>")
        self.advance()
        key = name[1:].strip('"')
        if key == "empty_mesh" and key not in self.meshes:
            return None
        if key not in self.meshes:
            known = ", ".join(map(str, self.meshes)) or "none is given"
            self.fail(f"mesh @{key:.40} is not known", f"one of: {known:.200}", "give meshes=shardy_meshes(text of the program)", at=at)
        return self.meshes[key]

    def mesh(self) -> Mesh | None:
        """The axes of <[axes], device_ids=[...]>; None for a mesh of no axes and no devices."""
        self.expect("<", "before the axes of a mesh")
        at = self.at
        self.expect("[", "and the axes of a mesh")
        axes = tuple(self.listed("]", self.mesh_axis))
        self.expect("]", "or ',' after an axis of a mesh")
        devices: tuple[int, ...] = ()
        if self.take(","):
            if not self.take("device_ids"):
                self.unexpected("device_ids=[...]")
            self.expect("=", "after device_ids")
            self.expect("[", "and device numbers")
            devices = tuple(self.listed("]", lambda: self.integer("a device number")))
            self.expect("]", "or ',' after a device number")
        self.expect(">", "to close a mesh")
        if not axes and not devices:
            return None
        if axes and devices == tuple(range(len(devices))):
            devices = ()
        return self.made(at, Mesh, axes, devices)

    def dim(self) -> DimSharding:
        found, priority = self.dim_over(self.axis), self.token
        if re.fullmatch("p(0|[1-9][0-9]{0,17})", priority):
            if not found.axes and not found.open:
                self.fail(f"the priority {priority} of a dimension that is not cut", "none", "leave it out")
            self.advance()
        return found

    def axis(self) -> Axis:
        name, at = self.name(), self.at
        if not self.take(":"):
            return Axis(name)
        self.expect("(", 'as in "a":(1)2')
        pre = self.integer('the product of the digits before, as in "a":(1)2')
        self.expect(")", 'as in "a":(1)2')
        size = self.integer('the size of a digit, as in "a":(1)2')
        if not size:
            self.fail("a digit of size 0", "2 or more", "leave it out", at=at)
        return self.made(at, Axis, name, size, pre)
