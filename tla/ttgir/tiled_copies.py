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
from ..algebra.coalesce import coalesce
from ..algebra.flat_modes import flat_modes
from ..algebra.modes import take
from ..core.cache import compiled
from ..core.composed import ComposedLayout
from ..core.element import Width
from ..core.errors import RangeError
from ..core.int_tuple import modes_of, size
from ..core.ints import is_constant, is_static, known
from ..core.kinds import AnyLayout
from ..core.questions import divides
from ..linear import LinearLayout, bits, linear
from ..notation.text import parse
from .cute_types import Tensor, origin, tensor_of
from .machines import Machine
from .program import Op, Program
from .shared import Moved, moved

_COPY = r'!cute\.tiled_copy<!cute.*>, layout_copy_tv = <"([^"]*)">, tiler_mn = <"\[([^"\]]*)\]">>'
_BITS = r"([0-9]{1,4}) b\b"
_PARTITIONS = ("cute.tiled.copy.partition_S", "cute.tiled.copy.partition_D")
#: Memories that threads have addresses of; the others are registers, and tensor memory.
_ADDRESSED = ("gmem", "smem")


class Side(NamedTuple):
    """The loads of a tiled copy from one tensor, or its stores to the other.

    memory   the name of the tensor that is partitioned
    atom     the type of the copy, as the IR writes it
    owners   who has which element of a tile of it
    layout   of such a tile
    width    of an element [bits];  vector: of an access of it
    space    gmem or smem
    store    whether it is stored to
    part     the elements of a thread that are copied, of `whole` that it has of a tile
    """

    memory: str
    atom: str
    owners: LinearLayout
    layout: AnyLayout
    width: int
    vector: int
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
        asynchronous = "async" in self.atom
        width = Asked(self.vector, asynchronous)
        row = machine.memory if self.space == "gmem" else machine.write if self.store else machine.read
        counted = access(self.owners, layout, element, width, row)
        instructions = counted.instructions >> len(self.owners.bases["warp"])
        if asynchronous:  # one instruction loads and stores: it is counted with the side that it loads from
            return Moved("cp.async", 0 if self.store else instructions, counted)
        return Moved(_named(self.space, self.store), instructions, counted)


class Alone(NamedTuple):
    """The accesses of a thread to memory whose addresses no type says: how many of which width.

    name          ld.global, st.global, ld.shared, st.shared, cp.async
    instructions  of a warp
    vector        the width of a lane's access [bits]
    """

    name: str
    instructions: int
    vector: int

    @property
    def unit(self) -> str:
        """The unit of what it costs."""
        return "wavefronts" if "shared" in self.name else "sectors"


def sides(program: Program, op: Op, target: Machine) -> tuple[Side | Alone, ...]:
    """The accesses to memory of a cute.copy, of a cute.memref.load or of a cute.memref.store.

    Raises     RangeError for a copy of another kind
    """
    if op.name != "cute.copy":
        here = tensor_of(program.named(op.operand_types[0]))
        name = _named(here.space, op.name == "cute.memref.store")
        return (Alone(name, 1, here.width),) if here.space in _ADDRESSED else ()
    atom = program.named(op.operand_types[0])
    both = [tensor_of(program.named(text)) for text in op.operand_types[1:3]]
    said = compiled(_BITS).search(atom)
    vector = int(said[1]) if said else _vector(both, target)
    found = zip(op.operands[1:3], both, (False, True))
    return tuple(
        _side(program, atom, name, here, vector, store) for name, here, store in found if here.space in _ADDRESSED
    )


def _side(program: Program, atom: str, name: str, here: Tensor, vector: int, store: bool) -> Side | Alone:
    """The accesses of a copy to one tensor: their addresses are known of one that a tiled copy partitions,
    whose layout is known."""
    partition = origin(program, name, _PARTITIONS)
    if partition is not None and is_static(tensor_of(program.named(partition.operand_types[1])).layout):
        owners, layout = _owners(program, partition)
        whole = _tile_size(tensor_of(program.named(partition.result_types[0])), layout)
        part = int(size(here.layout))
        whose = partition.operands[1], atom, owners, layout
        return Side(*whose, here.width, vector, here.space, store, part, whole)
    if "universal_copy" not in atom and "async" not in atom:
        what = "a copy whose memory no tiled copy partitions"
        raise RangeError(what, "partition_S or partition_D of it", "its addresses are in no type")
    copies = max(1, int(size(here.layout)) * here.width // vector)
    if "async" in atom:
        return Alone("cp.async", 0 if store else copies, vector)
    return Alone(_named(here.space, store), copies, vector)


def _named(space: str, store: bool) -> str:
    return f"{'st' if store else 'ld'}.{'global' if space == 'gmem' else 'shared'}"


def _vector(both: list[Tensor], target: Machine) -> int:
    """The bits that one access of a copy takes: shared memory takes 128 at most."""
    most = target.widest if "smem" not in {x.space for x in both} else 128
    return min(_run(x, most) * x.width for x in both)


def _run(tensor: Tensor, most: int) -> int:
    """The elements that follow on one another, as one vector of at most so many bits takes them: other steps
    are multiples of it."""
    inner: Any = tensor.layout.inner if isinstance(tensor.layout, ComposedLayout) else tensor.layout
    kept = 1 << tensor.layout.outer.base if isinstance(tensor.layout, ComposedLayout) else 128
    steps = flat_modes(coalesce(inner))
    extent = known(steps[0][0]) if steps and is_constant(1, steps[0][1]) else 1
    others = [d for _, d in steps[1:]] if extent != 1 else []
    count = min(most, tensor.aligned) // tensor.width
    runs = (1 << k for k in range(9) if 1 << k <= min(count, kept))
    return max((n for n in runs if extent and extent % n == 0 and all(divides(n, d) for d in others)), default=1)


def _tile_size(whole: Tensor, layout: AnyLayout) -> int:
    """The elements of a thread's part of one tile."""
    extra = len(modes_of(whole.layout.shape)) - 1 - len(modes_of(layout.shape))
    return int(size(take[0, len(modes_of(whole.layout.shape)) - max(0, extra)](whole.layout)))


def _part_of(found: Moved, count: int, whole: int) -> Moved:
    """The same of so many elements of a thread, of those that it has of a tile: part of a tile, or several."""
    if whole % count and count % whole:
        return found
    cost = found.access
    less = replace(cost, instructions=cost.instructions * count // whole, total=cost.total * count // whole)
    return Moved(found.name, found.instructions * count // whole, less)


def _owners(program: Program, partition: Op) -> tuple[LinearLayout, AnyLayout]:
    """Who has which element of the tensor that a tiled copy partitions, and the layout of that."""
    given = compiled(_COPY).match(program.named(partition.operand_types[0]))
    if not given:
        raise RangeError(f"the copy {partition.operand_types[0]:.60}", "a cute.tiled_copy", "look at another operation")
    tiler = [_Extent.of(text) for text in given[2].split(";")]
    tensor = tensor_of(program.named(partition.operand_types[1]))
    layout = take[0, len(tiler)](tensor.layout)
    shape = [int(size(mode)) for mode in modes_of(layout.shape)]
    names = [f"dim{k}" for k in range(len(tiler))]
    tile = linear(parse(given[1]), ["thread", "value"], {name: mode.size for name, mode in zip(names, tiler)})
    found = {
        name: [tuple(mode.at(c) for mode, c in zip(tiler, basis)) for basis in bases]
        for name, bases in tile.bases.items()
    }
    rest = [
        tuple(1 << j if d == k else 0 for d in range(len(tiler)))
        for k, mode in enumerate(tiler)
        for j in range(bits.log2(max(1, shape[k])))
        if 1 << j not in mode.steps
    ]
    bases = {"register": [*found["value"], *rest], "lane": found["thread"][:5], "warp": found["thread"][5:]}
    return LinearLayout(bases, dict(zip(names, shape))), layout


class _Extent(NamedTuple):
    """A mode of a tiler: what it takes of a dimension.

    steps   the places of the coordinates 1, 2, 4, ... of the tile
    """

    steps: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> _Extent:
        """The mode of a text such as `128:1` or `(8,4,2):(1,16,8)`.

        Raises     RangeError where coordinates of a tile are no bits of those of the tensor
        """
        layout: Any = parse(text)
        steps = []
        for n, d in flat_modes(layout):
            steps += [int(d) << k for k in range(bits.log2(int(n)))] if bits.is_power_of_two(int(n)) else [0]
        if not all(map(bits.is_power_of_two, steps)) or len({*steps}) < len(steps):
            raise RangeError(
                f"the tiler {text:.60}", "extents and strides that are powers of two", "look at another operation"
            )
        return cls(tuple(steps))

    @property
    def size(self) -> int:
        return 1 << len(self.steps)

    def at(self, coordinate: int) -> int:
        """The place of a coordinate of the tile in the dimension."""
        return sum(step for k, step in enumerate(self.steps) if coordinate >> k & 1)
