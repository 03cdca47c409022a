"""Arguments and results of a program, as values: entry layouts, layout modes, memory spaces, donation;
groups of replicas.

Source: XLA xla/hlo/ir/hlo_module.cc (its printer), HloInputOutputAliasConfig, CollectiveDeviceList; JAX
jax/_src/interpreters/mlir.py for mhlo.layout_mode and its frontend attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...core.cache import compiled, plain_memo
from ...core.errors import LoweringError, ParseError, RangeError, require_type
from ...core.reader import write_nearest
from ..shapes.arguments import joined
from ..shapes.array_shape import ArrayLayout
from ..shapes.grammar import parse_layout, parse_shape
from ..shapes.values import Shape, TupleShape
from ..shardings.devices import MAX_LISTED, Devices, Iota
from ..shardings.mesh import grouped
from ..shardings.sharding_text import IotaGroups, parse_groups, parse_mesh_axes
from . import aliasing
from .aliasing import Alias
from .instruction import Instruction, attributes_of, unquoted
from .module import Module, header_list, said


@dataclass(frozen=True, slots=True)
class EntryValue:
    """An argument of a program, or a part of its result.

    shape          with the layout that the caller meets
    layout_mode    what was asked for: "default", "auto" for the compiler's choice, or a layout; None where
                   the text does not say
    memory_space   the number n of S(n) that was asked for; None where the text does not say
    """

    shape: Shape
    layout_mode: str | ArrayLayout | None = None
    memory_space: int | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """The arguments and results of a program.

    arguments   in the order of their numbers: arguments[7] is parameter(7)
    results     one for each element of a result that is a tuple
    aliases     which parts of the result take the place of an argument: input_output_alias
    donors      arguments, and parts of them, whose memory the program may use otherwise: buffer_donor
    """

    arguments: tuple[EntryValue, ...]
    results: tuple[EntryValue, ...]
    aliases: tuple[Alias, ...]
    donors: tuple[tuple[int, aliasing.Path], ...]

    @property
    def donated(self) -> frozenset[int]:
        """The numbers of the arguments whose memory is given away, whole or in part."""
        return frozenset([*(a.argument for a in self.aliases), *(number for number, _part in self.donors)])


def entry(module: Module) -> Entry:
    """The arguments and results of a module, from its header.

    Raises   LoweringError for a module whose header has no entry_computation_layout, ParseError where it cannot be read

    >>> import io
    >>> from tla.xla import read_module
    >>> header = "HloModule m, input_output_alias={ {}: (1, {}, may-alias) }, entry_computation_layout={(f32[2]{0}, s32[3]{0})->s32[3]{0}}"
    >>> found = entry(read_module(io.StringIO(header + ', frontend_attributes={arg_layout_modes="default;{0}"}')))
    >>> print(found.arguments[1].shape, found.arguments[1].layout_mode, found.donated)
    s32[3]{0} {0} frozenset({1})

    Source: XLA HloModule::ToString; JAX's frontend attributes arg_layout_modes and arg_memory_spaces.
    """
    require_type(module, Module, "the entry of a", "a Module", "read_module(path) gives one")
    header = module.header
    text = header_list(header, "entry_computation_layout")
    if text is None:
        what = f"module {module.name}: no entry_computation_layout"
        raise LoweringError(what, "one in its header", "dump the whole module")
    before, arrow, after = text[1:-1].rpartition(")->")
    if not arrow:
        what = "no entry layout"
        raise ParseError(text, 0, what, "(arguments)->result", "dump the whole module: the file may be cut")
    taken, given = parse_shape(before + ")"), parse_shape(after)
    arguments = taken.elements if isinstance(taken, TupleShape) else (taken,)
    results = given.elements if isinstance(given, TupleShape) else (given,)
    aliases = aliasing.aliases(header_list(header, "input_output_alias") or "{}")
    donors = aliasing.donors(header_list(header, "buffer_donor") or "{}")
    return Entry(tuple(_values(header, "arg", arguments)), tuple(_values(header, "out", results)), aliases, donors)


def _values(header: str, kind: str, shapes: tuple[Shape, ...]) -> Iterator[EntryValue]:
    modes, spaces = _asked(header, f"{kind}_layout_modes"), _asked(header, f"{kind}_memory_spaces")
    for k, shape in enumerate(shapes):
        mode = parse_layout_mode(modes[k]) if len(modes) == len(shapes) and modes[k] else None
        space = _space(spaces[k]) if len(spaces) == len(shapes) and spaces[k] else None
        yield EntryValue(shape, mode, space)


def _asked(header: str, name: str) -> list[str]:
    """The parts of a text among the attributes that a framework gives a program."""
    text = header_list(header, "frontend_attributes") or "{}"
    return unquoted(said(text, _given(text), name) or "").split(";")


@plain_memo  # of one module it is asked four times
def _given(text: str) -> Mapping[str, str]:
    return attributes_of(f",{text[1:-1]}") if text[1:-1].strip() else {}


def _space(text: str) -> int:
    """The number n of a memory space S(n)."""
    if not compiled("[0-9]{1,9}").fullmatch(text.strip()):
        what = f"{text!r:.40} is no memory space"
        raise ParseError(text, 0, what, "the n of S(n)", "dump the whole module: the header may be cut")
    return int(text)


def parse_layout_mode(text: str) -> str | ArrayLayout:
    """Read the text of mhlo.layout_mode: "default", "auto", or a layout such as {0,1:T(8,128)}.

    >>> parse_layout_mode("auto"), str(parse_layout_mode("{0,1:T(8,128)}"))
    ('auto', '{0,1:T(8,128)}')

    Raises ParseError for anything else. Source: XLA xla/pjrt/layout_mode.cc.
    """
    require_type(text, str, "a layout mode of type", "'default', 'auto' or a layout", "str() of one is its text")
    word = text.strip()
    if word in ("default", "auto"):
        return word
    if not word.startswith("{"):
        fix = write_nearest(word, ("default", "auto")) or "write {1,0}"
        raise ParseError(text, 0, "no layout mode", "default, auto, or a layout in braces", fix)
    return parse_layout(text)


@dataclass(frozen=True, slots=True)
class ReplicaGroups:
    """The devices of a collective, in groups that work together. Its str() is XLA's text.

    groups   one tuple of devices for each; none for one group of all
    iota     the devices without a list: groups side by side; None where they are listed

    >>> found = parse_replica_groups("[2,4]<=[4,2]T(1,0)")
    >>> found.groups, str(found)
    (((0, 2, 4, 6), (1, 3, 5, 7)), '[2,4]<=[4,2]T(1,0)')

    Source: XLA CollectiveDeviceList, IotaReplicaGroupList.
    """

    groups: tuple[tuple[int, ...], ...]
    iota: Iota | None = None

    def __str__(self) -> str:
        if self.iota is not None:
            return f"[{len(self.groups)},{len(self.groups[0])}]<={self.iota}"
        return "{" + joined("{" + joined(g) + "}" for g in self.groups) + "}"


def parse_replica_groups(text: str | Instruction) -> ReplicaGroups:
    """The groups of devices of `replica_groups={{0,1},{2,3}}`, `[2,4]<=[8]` or `mesh['a'=2,'b'=4] {'b'}`; of an
    instruction, its own.

    >>> parse_replica_groups("{{0,2},{1,3}}").groups, parse_replica_groups("[2,4]<=[8]").groups[1], parse_replica_groups("{}").groups
    (((0, 2), (1, 3)), (4, 5, 6, 7), ())
    >>> print(parse_replica_groups("mesh['a'=2,'b'=4] {'a'}"))
    [4,2]<=[2,4]T(1,0)

    Raises   ParseError for a text that is none; RangeError where numbers of devices do not fit each other, or one
             is in two groups
    Source: XLA xla/hlo/parser/hlo_parser.cc, ParseReplicaGroupsOnly; MeshAxesReplicaGroupList.
    """
    if isinstance(text, Instruction):
        attributes = text.attributes
        if "replica_groups" not in attributes:
            what = f"instruction {text.name}: no replica_groups"
            raise LoweringError(what, "a collective", "give an all-reduce, or another collective")
        text = attributes["replica_groups"]
        if "device_ids" in attributes:  # of a mesh: its comma is no end of the attribute
            text = f"{text}, device_ids={attributes['device_ids']}"
    require_type(text, str, "replica_groups of type", "a text such as '[2,4]<=[8]'", "str() of one is its text")
    text = text.strip()
    if text.startswith(("mesh", "@mesh")):
        return _in_groups(*grouped(*parse_mesh_axes(text)))
    found = parse_groups(text)
    if isinstance(found, IotaGroups):
        return _of_iota(*found)
    every = [d for g in found for d in g]
    if len(every) != len({*every}):
        what = f"replica_groups {text:.60}: a device in two groups"
        raise RangeError(what, "each device once", "drop it from one of them")
    return ReplicaGroups(found)


def _of_iota(iota: Iota, groups: int, n: int) -> ReplicaGroups:
    if groups * n != len(iota):
        what = f"{groups} groups of {n} of {len(iota)} devices"
        raise RangeError(what, "as many devices as the iota has", "give [groups,size]")
    return _in_groups(iota, n)


def _in_groups(devices: Devices, size: int) -> ReplicaGroups:
    """Groups of `size` devices, one after the other."""
    if len(devices) > MAX_LISTED:
        raise RangeError(f"{len(devices)} devices", f"{MAX_LISTED} at most", "give a part of them")
    every = [*devices]
    groups = tuple(tuple(every[k : k + size]) for k in range(0, len(every), size))
    return ReplicaGroups(groups, devices if isinstance(devices, Iota) else None)
