"""Tiled copies of CuTe's DSL: who moves which element of a tile, by the types of its textual IR.

The type of a tiled copy says which element of a tile each thread and value is (layout_copy_tv, tiler_mn); that of a
memory, how the tensor lies in it. The tensor is that of the operation that partitions it for a thread, from which a
copy's operand comes through slices and groups of its modes.

Source: CuTe DSL 4.8, the IR that CUTE_DSL_KEEP_IR=1 writes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from ..access.counting import Asked, access
from ..access.memories import NVIDIA_GLOBAL
from ..algebra.coalesce import coalesce
from ..algebra.modes import take
from ..core.cache import compiled
from ..core.composed import ComposedLayout
from ..core.element import Width
from ..core.errors import RangeError
from ..core.int_tuple import modes_of, size
from ..core.kinds import AnyLayout
from ..linear import LinearLayout, bits, linear
from ..notation.text import parse
from .machines import Machine
from .program import Op, Program
from .shared import Moved, moved

_MEMORY = r'!cute\.memref<[a-z]{1,4}([0-9]{1,3})[A-Za-z0-9]*, ([a-z]mem)(?:, [a-z]+<[0-9]+>)*, "([^"]*)"'
_COPY = r'!cute\.tiled_copy<!(cute[^,]*?)<(.*)>, layout_copy_tv = <"([^"]*)">, tiler_mn = <"\[([^"\]]*)\]">>'
_BITS = r"([0-9]{1,4}) b\b"
_PARTITIONS = ("cute.tiled.copy.partition_S", "cute.tiled.copy.partition_D")
#: Operations that leave a thread's part of a tensor, or a part of that, at which an operand is looked for.
MAX_STEPS = 100


class Tensor(NamedTuple):
    """A tensor of the IR: the bits of an element, gmem, smem or rmem, and its layout.

    >>> tensor_of('!cute.memref<f16, smem, align<16>, "S<3,3,3> o 0 o (64,64):(64,1)">').space
    'smem'
    """

    width: int
    space: str
    layout: AnyLayout


def tensor_of(text: str) -> Tensor:
    """The tensor of a type.

    Raises     RangeError for another type
    """
    found = compiled(_MEMORY).match(text)
    if not found:
        raise RangeError(f"the type {text:.60}", "a cute.memref with its layout", "look at another operation")
    return Tensor(int(found[1]), found[2], parse(found[3]))


class Side(NamedTuple):
    """The loads of a tiled copy from one tensor, or its stores to the other.

    memory   the name of the tensor that is partitioned
    atom     of the copy, as the IR writes it
    owners   who has which element of a tile of it
    layout   of such a tile
    width    of an element [bits]
    space    gmem or smem
    store    whether it is stored to
    part     the elements of a thread that are copied, of `whole` that it has of a tile
    """

    memory: str
    atom: str
    owners: LinearLayout
    layout: AnyLayout
    width: int
    space: str
    store: bool
    part: int
    whole: int

    @property
    def unit(self) -> str:
        """The unit of its cost: wavefronts of shared memory, sectors of global memory."""
        return "sectors" if self.space == "gmem" else "wavefronts"

    def counted(self, machine: Machine, layout: AnyLayout | None = None) -> Moved:
        """The instructions, and what they cost: with another layout of the tile, if it is given.

        Raises     RangeError where the instruction does not take the layout
        """
        layout, element = layout or self.layout, Width(self.width, f"{self.width} bits")
        if self.space == "smem" and ("ldsm" in self.atom or "stsm" in self.atom):
            found = moved(self.owners, linear(layout).invert(), element, machine, self.store)
            if "matrix" not in found.name:
                what = f"{self.atom:.40} of {layout}"
                raise RangeError(
                    what, "rows of 16 bytes in one piece", "give the memory another layout, or copy vectors"
                )
        else:
            found = self._elements(machine, layout, element)
        return _part_of(found, self.part, self.whole)

    def _elements(self, machine: Machine, layout: AnyLayout, element: Width) -> Moved:
        """The same of a copy of elements, or of vectors of them."""
        said, asynchronous = compiled(_BITS).search(self.atom), "async" in self.atom
        width = Asked(int(said[1]) if said else self.width, asynchronous)
        row = NVIDIA_GLOBAL if self.space == "gmem" else machine.write if self.store else machine.read
        counted = access(self.owners, layout, element, width, row)
        if asynchronous:  # one instruction loads and stores: it is counted with the side that it loads from
            return Moved(
                "cp.async", 0 if self.store else counted.instructions >> len(self.owners.bases["warp"]), counted
            )
        name = f"{'st' if self.store else 'ld'}.{'global' if self.space == 'gmem' else 'shared'}"
        return Moved(name, counted.instructions >> len(self.owners.bases["warp"]), counted)


def sides(program: Program, op: Op) -> tuple[Side, ...]:
    """The sides of a cute.copy that are in memory.

    Raises     RangeError where it is not by a tiled copy, or its memory is not partitioned by one
    """
    found = list[Side]()
    for name, text, store in zip(op.operands[1:3], op.operand_types[1:3], (False, True)):
        here = tensor_of(program.named(text))
        if here.space != "rmem":
            partition = _partition(program, name)
            atom, owners, layout = _owners(program, partition)
            whole = _tile_size(tensor_of(program.named(partition.result_types[0])), layout)
            memory = partition.operands[1]
            found.append(Side(memory, atom, owners, layout, here.width, here.space, store, size(here.layout), whole))
    return tuple(found)


class Alone(NamedTuple):
    """The accesses of one thread to memory that no tiled copy partitions: how many of which width, at addresses
    that no type says.

    name          ld.global, st.global, ld.shared, st.shared
    instructions  of a warp
    vector        the width of a lane's access [bits]
    """

    name: str
    instructions: int
    vector: int

    @property
    def unit(self) -> str:
        """The unit of what it costs."""
        return "sectors" if "global" in self.name else "wavefronts"


def alone(program: Program, op: Op) -> tuple[Alone, ...]:
    """The accesses of a cute.copy of vectors, of cute.memref.load or of cute.memref.store.

    Raises     RangeError where it is none of these
    """
    if op.name != "cute.copy":
        here, store = tensor_of(program.named(op.operand_types[0])), op.name == "cute.memref.store"
        return (Alone(_named(here, store), 1, here.width),) if here.space != "rmem" else ()
    atom = program.named(op.operand_types[0])
    if "universal_copy" not in atom:
        raise RangeError(
            "a copy whose memory no tiled copy partitions",
            "partition_S or partition_D of it",
            "its addresses are in no type",
        )
    said = compiled(_BITS).search(atom)
    both = [tensor_of(program.named(text)) for text in op.operand_types[1:3]]
    run = min(_run(x) for x in both)
    found = []
    for here, store in zip(both, (False, True)):
        vector = int(said[1]) if said else run * here.width
        if here.space != "rmem":
            found.append(Alone(_named(here, store), max(1, int(size(here.layout)) * here.width // vector), vector))
    return tuple(found)


def _named(here: Tensor, store: bool) -> str:
    return f"{'st' if store else 'ld'}.{'global' if here.space == 'gmem' else 'shared'}"


def _run(tensor: Tensor) -> int:
    """The elements that follow on one another, as one vector of at most 128 bits takes them: other steps
    are multiples of it."""
    inner: Any = tensor.layout.inner if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    layout = coalesce(inner)
    steps = [(int(n), int(d)) for n, d in zip(*(modes_of(x) for x in (layout.shape, layout.stride)))]
    extent = steps[0][0] if steps[0][1] == 1 else 1
    others = [d for _, d in steps[1:]] if extent > 1 else []
    return max(
        1 << k
        for k in range(8)
        if extent % (1 << k) == 0 and tensor.width << k <= 128 and all(d % (1 << k) == 0 for d in others)
    )


def _tile_size(whole: Tensor, layout: AnyLayout) -> int:
    """The elements of a thread's part of one tile."""
    extra = len(modes_of(whole.layout.shape)) - 1 - len(modes_of(layout.shape))
    return int(size(take[0, len(modes_of(whole.layout.shape)) - max(0, extra)](whole.layout)))


def _part_of(found: Moved, count: int, whole: int) -> Moved:
    """The same of so many elements of a thread, of all that it has: each instruction costs as much as another."""
    if count == whole or whole % count:
        return found
    share, cost = whole // count, found.access
    less = replace(cost, instructions=cost.instructions // share, total=cost.total // share)
    return Moved(found.name, found.instructions // share, less)


def partitioned(program: Program, op: Op) -> bool:
    """Whether a tiled copy partitions the memory of a cute.copy."""
    spaces = [tensor_of(program.named(text)).space for text in op.operand_types[1:3]]
    try:
        return all(_partition(program, name) for name, space in zip(op.operands[1:3], spaces) if space != "rmem")
    except RangeError:
        return False


def _partition(program: Program, name: str) -> Op:
    """The operation that partitions the tensor which a value is a part of."""
    for _ in range(MAX_STEPS):
        op = program.definitions.get(name)
        if op is None or not op.operands:
            break
        if op.name in _PARTITIONS:
            return op
        name = op.operands[0]
    raise RangeError(
        "a copy whose memory no tiled copy partitions",
        "partition_S or partition_D of it",
        "its addresses are in no type",
    )


def _owners(program: Program, partition: Op) -> tuple[str, LinearLayout, AnyLayout]:
    """The atom of a tiled copy, who has which element of the tensor that it partitions, and the layout of that."""
    given = compiled(_COPY).match(program.named(partition.operand_types[0]))
    if not given:
        raise RangeError(f"the copy {partition.operand_types[0]:.60}", "a cute.tiled_copy", "look at another operation")
    tiler = [_contiguous(text) for text in given[4].split(";")]
    tensor = tensor_of(program.named(partition.operand_types[1]))
    layout = take[0, len(tiler)](tensor.layout)
    shape = [size(mode) for mode in modes_of(layout.shape)]
    names = [f"dim{k}" for k in range(len(tiler))]
    tile = linear(parse(given[3]), ["thread", "value"], dict(zip(names, tiler)))
    rest = [
        tuple(extent << j if d == k else 0 for d in range(len(tiler)))
        for k, extent in enumerate(tiler)
        for j in range(bits.log2(max(1, shape[k] // extent)))
    ]
    threads = tile.bases["thread"]
    bases = {"register": [*tile.bases["value"], *rest], "lane": threads[:5], "warp": threads[5:]}
    return f"{given[1]}<{given[2]}>", LinearLayout(bases, dict(zip(names, shape))), layout


def _contiguous(text: str) -> int:
    """The extent of a mode of a tiler, whose elements follow on one another."""
    extent, _, stride = text.partition(":")
    if not extent.isdecimal() or len(extent) > 6 or stride not in ("1", "0"):
        raise RangeError(f"the tiler {text:.40}", "N:1 for each dimension", "look at another operation")
    return int(extent)
