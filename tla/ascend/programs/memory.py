"""The memories of a core as arrays of cells: where the places of an instruction lie in them, and who touched each last.

A cell has as many bits as the narrowest elements of a program; an element is one cell, or several.

Source: ours.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from ...core.cache import plain_memo
from ...core.element import Element
from ...core.errors import RangeError, Reason
from ...core.int_tuple import modes_of, size
from ...core.layout import require_origin
from ..transfers.halves import parts_of
from ..transfers.instruction import TransferInstruction
from ..transfers.moved import ROWS
from ..transfers.proof import executed
from ..transfers.side import offsets_in
from ..transfers.sparse import FRACTAL, STORED
from ..vectors.instruction import VectorInstruction
from .mmad import ALIGNED
from .queues import Begun
from .statements import FILLED, SCALE_BITS, Compute, Fill, Move, Multiply, Program, walk
from .trace import Event

R = TypeVar("R")
S = TypeVar("S")

#: The bytes behind a tensor in global memory that hold nothing: what is read there is told, and goes on as poison.
BEHIND = 1 << 16
#: More elements than any memory of a core has: 1 MiB, of 4 bits.
MOST_ELEMENTS = 1 << 21
#: The most cells of places that are kept: 64 MiB.
MOST_CELLS = 1 << 23
#: An element that an instruction writes as a zero, read from nowhere.
NOWHERE = -1
#: The memory beside L0B that LoadDataWithSparse brings the index to: a byte for each four elements.
INDEX = "L0B's index"
#: The unified buffer of the second of two vector cores, by that of the first.
_OTHER = {"UB0": "UB1"}
_UNIFIED = ("UB0", "UB1")


@dataclass(frozen=True, eq=False)
class Places:
    """Elements of one memory: its name, where each begins [cells], and how many cells an element has.

    Source: ours.
    """

    memory: str
    cells: Any
    width: int

    @functools.cached_property
    def every(self) -> Any:
        """Every cell of them in a row, in numpy."""
        import numpy as np

        cells = self.cells if self.width == 1 else self.cells[..., None] + np.arange(self.width)
        return cells.ravel()


def _kept(f: Callable[[S, Memories], R]) -> Callable[[S, Memories], R]:
    """f of a statement, worked out once for all that are alike: a program has the same few on a core's buffers."""

    @functools.wraps(f)
    def kept(s: S, memories: Memories) -> R:
        return memories.kept((f, *key), lambda: f(s, memories)) if (key := _alike(s)) else f(s, memories)

    return kept


def _alike(s: Any) -> tuple[Any, ...]:
    """The buffers and the instruction of a move or a product: of those that have the same the places are the same; of
    others ()."""
    if isinstance(s, Move):
        i = s.instruction
        return (*s[:2], *s[3:], i.name, i.dst, i.src, (*i.parameters.items(),), i.element, i.form)
    if isinstance(s, Multiply):
        m = s.instruction
        return (*s[:4], m.a, m.b, m.dst, m.bias, (*m.parameters.items(),), m.elements, m.scaled, m.sparse)
    return ()


class Memories:
    """The memories of a program: their sizes, and the cells of the elements that instructions name."""

    def __init__(self, program: Program) -> None:
        self.program = program
        ends = (
            n for b in program.buffers.values() for n in (b.element.bits, 0 if b.position == "GM" else b.address * 8)
        )
        self.bits = math.gcd(*ends, *_widths(program)) or 8  # of a program of flags alone none
        self._made: dict[Any, Any] = {}
        self._cells = 0
        arch = program.arch
        self.sizes = {place: size * 8 // self.bits for place, size in arch.sizes.items()}
        self.ends = {
            b.name: b.size * 8 // self.bits  # whole bytes: the last one of 4 bits has another beside it
            for b in program.buffers.values()
            if b.position == "GM"
        }
        self.sizes |= {name: end + BEHIND * 8 // self.bits for name, end in self.ends.items()}
        self.sizes |= {b.position: self.sizes["UB"] for b in program.buffers.values() if b.position in _UNIFIED}
        if any(isinstance(s, Move) and _with_index(s) for s in walk(program.body)):
            self.sizes[INDEX] = self.sizes["L0B"] // STORED

    def kept(self, key: Any, make: Callable[[], R]) -> R:
        """Make a value for a key, or find it: values are kept as long as the places of all have few cells."""
        if self._cells > MOST_CELLS:
            self._made.clear()
            self._cells = 0
        if key not in self._made:
            self._made[key] = make()
        found: R = self._made[key]
        return found

    def memory_of(self, name: str) -> str:
        """The memory that a buffer lies in: its position, or itself in global memory."""
        buffer = self.program.buffers[name]
        return name if buffer.position == "GM" else buffer.position

    def width_at(self, name: str, element: Element) -> int:
        """The bits of an element that an instruction of this type moves, in a buffer: of accumulators and biases 32."""
        return 32 if self.program.buffers[name].position in ("L0C", "Bias") else element.bits

    def places(self, name: str, offsets: Any, bits: int) -> Places:
        """The elements at these offsets behind the beginning of a buffer; RangeError for one outside of its memory."""
        buffer = self.program.buffers[name]
        address = 0 if buffer.position == "GM" else buffer.address
        return self.inside(self.memory_of(name), offsets, bits, address)

    def inside(self, memory: str, offsets: Any, bits: int, address: int = 0) -> Places:
        """The elements at these offsets behind an address of a memory; RangeError where one lies outside of it."""
        width = bits // self.bits
        found = Places(memory, address * 8 // self.bits + offsets * width, width)
        self._cells += found.cells.size
        if reason := self.outside(found, self.sizes[memory]):
            raise RangeError(*reason)
        return found

    def outside(self, places: Places, end: int) -> Reason | None:
        """The reason that places do not lie in a memory that ends so [cells]; None where they do."""
        memory, cells, width = places.memory, places.cells, places.width
        if not cells.size or (cells.min() >= 0 and cells.max() + width <= end):
            return None
        low, high = int(cells.min()) * self.bits // 8, (int(cells.max()) + width) * self.bits // 8
        size = self.ends.get(memory, self.sizes[memory]) * self.bits // 8
        what = f"bytes {low} to {high - 1} of {memory}, which has {size}"
        return Reason(what, f"bytes 0 to {size - 1}", "make the buffer larger, or the tile smaller")


def _widths(program: Program) -> Iterable[int]:
    """The widths of the elements that instructions move [bits]."""
    for statement in walk(program.body):
        if isinstance(statement, Move):
            yield statement.instruction.element.bits
        elif isinstance(statement, Fill):
            yield statement.element.bits
        elif isinstance(statement, (Multiply, Compute)):
            yield from (e.bits for e in statement.instruction.elements)


def require_few(name: str, count: int) -> None:
    """RangeError for an instruction of more elements than any memory of a core has."""
    if count > MOST_ELEMENTS:
        raise RangeError(f"{name} of {count} elements", f"at most {MOST_ELEMENTS}", "move smaller tiles")


@plain_memo
def _relative(name: str, fields: tuple[tuple[str, int], ...], element: Element, form: str) -> tuple[Any, Any]:
    """The offsets that an instruction writes and reads, from its places on; NOWHERE for zeros."""
    i = TransferInstruction(name, 0, 0, dict(fields), element, form)
    require_few(name, math.prod(int(n) for n in require_origin("an instruction", i.moved.dst)))
    return executed(i)


def offsets_of(i: TransferInstruction) -> tuple[Any, Any]:
    """The offsets that an instruction writes, and those that it reads for them; NOWHERE for a zero."""
    import numpy as np

    p = i.parameters
    to, begin = _relative(i.name, tuple(p.items()), i.element, i.form)
    m, k = p.get("mStartPt", 0), p.get("kStartPt", 0)
    if m or k:  # a part of the points and columns from 0 on
        ends = {**p, "mExtension": p["mExtension"] + m, "kExtension": p["kExtension"] + k}
        _, whole = _relative(i.name, tuple(ends.items()), i.element, i.form)
        begin = whole.reshape(ends["mExtension"], ends["kExtension"])[m:, k:].ravel()
    return i.dst + to, np.where(begin == NOWHERE, NOWHERE, i.src + begin)


def zeros_of(i: TransferInstruction) -> Any:
    """The offsets behind the columns of Nd2Nz and Dn2Nz, up to whole blocks of 32 bytes, which become 0."""
    import numpy as np

    p, unit = i.parameters, 2 if "pairs" in i.form else 1
    c0 = int(i.element.C0) // unit
    n, d = p["nValue"], p["dValue"]
    column, row = np.arange(d, -(-d // c0) * c0), np.arange(n)[:, None]
    at = row * p["dstNzNStride"] * c0 + column // c0 * p["dstNzC0Stride"] * c0 + column % c0
    return i.dst + (at[..., None] * unit + np.arange(unit)).ravel()


def filled(s: Fill, memories: Memories) -> Places:
    """The zeros that an InitConstValue writes."""
    import numpy as np

    require_few("InitConstValue", s.parameters["repeatTimes"] * s.parameters["blockNum"])
    p, block = s.parameters, FILLED[memories.program.buffers[s.dst].position] * 8 // s.element.bits
    repeat = np.arange(p["repeatTimes"])[:, None] * (p["blockNum"] + p["dstGap"])
    offsets = (s.at + (repeat + np.arange(p["blockNum"]))[..., None] * block + np.arange(block)).ravel()
    return memories.places(s.dst, offsets, s.element.bits)


class Reach(NamedTuple):
    """The places of memories that an event reads and writes.

    Source: ours.
    """

    reads: tuple[Places, ...]
    writes: tuple[Places, ...]


class Copy(NamedTuple):
    """The elements that a move copies to one memory: where they come to lie, which of them come from somewhere, and
    from where; the others are zeros. Of a Fixpipe with scales of columns, the scale of each.

    Source: ours.
    """

    dst: Places
    inside: Any
    src: Places
    scale: Places | None = None


@_kept
def moves_of(s: Move, memories: Memories) -> list[Copy]:
    """The elements that a move copies; of one to two vector cores the half of each."""
    i, found = s.instruction, []
    read, written = (memories.width_at(name, i.element) for name in (s.src, s.dst))
    for number, part in enumerate(parts_of(i)):
        to, begin = offsets_of(part)
        inside, target = begin != NOWHERE, memories.places(s.dst, to, written)
        src = memories.places(s.src, begin if inside.all() else begin[inside], read)
        scaled = bool(s.beside) and not _with_index(s)
        scale = memories.places(s.beside, s.first + _columns(i, begin), SCALE_BITS) if scaled else None
        found.append(Copy(replace(target, memory=_OTHER[target.memory]) if number else target, inside, src, scale))
    return found


@_kept
def faults_of(s: Any, memories: Memories) -> list[tuple[str, str]]:
    """The faults of an instruction by itself, each as its kind and what it does: it begins off the unit of a memory, or
    writes a place twice."""
    found = [
        ("outside", f"begins at byte {at} of {place}, which is no multiple of {unit}")
        for place, at, unit in _begins(s, memories)
        if at % unit
    ]
    double = _twice(s, memories) if isinstance(s, Move) else None
    if double is not None:
        byte = int(double.cells[0]) * memories.bits // 8
        found.append(("order", f"writes byte {byte} of {double.memory} twice, in no order"))
    return found


def _twice(s: Move, memories: Memories) -> Places | None:
    """The first place that a move writes twice, from two places: which of the two stays, no manual says. None of others."""
    import numpy as np

    for copy in moves_of(s, memories):
        if not (cells := copy.dst.cells).size:
            continue
        there = np.zeros(int(cells.max() - cells.min()) + 1, bool)
        there[cells - cells.min()] = True
        if np.count_nonzero(there) == cells.size:
            continue
        begin = np.full(cells.shape, NOWHERE)
        begin[copy.inside] = copy.src.cells
        _to, first, which = np.unique(cells, return_index=True, return_inverse=True)
        if (odd := begin != begin[first][which.reshape(begin.shape)]).any():
            return replace(copy.dst, cells=cells[odd][:1])
    return None


def _begins(s: Any, memories: Memories) -> Iterator[tuple[str, int, int]]:
    """The memories that a move or a product has a tile in, the byte that each begins at, and the bytes that it begins at
    a multiple of."""
    found, units = [], memories.program.arch.alignment
    if isinstance(s, Move):
        i = s.instruction
        found = [(name, at, memories.width_at(name, i.element)) for name, at in ((s.dst, i.dst), (s.src, i.src))]
    elif isinstance(s, Multiply):
        m, units = s.instruction, {**units, **ALIGNED}
        total, left, right = (e.bits for e in m.elements)
        found = [(s.dst, m.dst, total), (s.a, m.a, left), (s.b, m.b, right)]
        found += [(s.bias, m.bias, total)] if s.bias is not None else []
    for name, at, bits in found:
        buffer = memories.program.buffers[name]
        if buffer.position != "GM":
            place = "UB" if buffer.position in _UNIFIED else buffer.position
            yield buffer.position, buffer.address + at * bits // 8, units[place]


def _with_index(s: Move) -> bool:
    """Whether what a move has beside is the index of a LoadDataWithSparse."""
    return bool(s.beside) and "index" in s.instruction.parameters


def _columns(i: TransferInstruction, read: Any) -> Any:
    """The columns of accumulators that a Fixpipe reads, by their offsets: blocks of 16 columns, srcStride rows apart."""
    at = read - i.src
    return at // (i.parameters["srcStride"] * ROWS) * ROWS + at % ROWS


@_kept
def reach_of(s: Any, memories: Memories) -> Reach:
    """The elements that a statement touches; of a Mmad whole fractals."""
    if isinstance(s, Move):
        copies, index = moves_of(s, memories), index_moved(s, memories)
        reads, writes = ([c.src for c in copies], [c.dst for c in copies])
        reads += [c.scale for c in copies if c.scale is not None]
        return Reach((*reads, *([] if index is None else index[:1])), (*writes, *([] if index is None else index[1:])))
    if isinstance(s, Multiply) and s.instruction.is_empty:
        return Reach((), ())
    if isinstance(s, Multiply):
        a, b, c, bias = mmad_offsets(s, memories)
        chosen = index_of(s, memories)
        beside = scales_of(s, memories) or (() if chosen is None else (chosen,))
        return Reach((a, b, *beside, *([] if bias is None else [bias]), *([] if starts_anew(s) else [c])), (c,))
    if isinstance(s, Fill):
        return Reach((), (filled(s, memories),))
    if isinstance(s, Compute):
        sides = [operands_of(s, i, memories) for i in s.instructions]
        return Reach(tuple(x for _dst, *read in sides for x in read), tuple(dst for dst, *_read in sides))
    return Reach((), ())


def operands_of(s: Compute, i: VectorInstruction, memories: Memories) -> list[Places]:
    """The elements of the result and of the sources of one instruction of a computation: a row for each repeat."""
    sides = zip(s.operands, i.by_repeats(), i.elements)
    return [memories.places(name, offsets, e.bits) for name, offsets, e in sides]


def starts_anew(s: Multiply) -> bool:
    """Whether a Mmad does not add to what its accumulators hold."""
    return bool(s.instruction.parameters["cmatrixInitVal"]) or s.bias is not None


@_kept
def mmad_offsets(s: Multiply, memories: Memories) -> tuple[Places, Places, Places, Places | None]:
    """The elements of the operands of a Mmad, in the order of their coordinates: whole fractals."""
    import numpy as np

    i, arch = s.instruction, memories.program.arch
    total, left, right = i.elements
    found = []
    names, places, widths = (s.a, s.b, s.dst), (i.a, i.b, i.dst), (left.bits, right.bits, total.bits)
    for name, at, layout, bits in zip(names, places, i.operands(arch), widths):
        sizes = [int(size(mode)) for mode in modes_of(layout.shape)]
        found.append(memories.places(name, at + offsets_in(layout, sizes), bits))
    n = int(i.parameters["n"])
    bias = None if s.bias is None else memories.places(s.bias, i.bias + np.arange(n), total.bits)
    return found[0], found[1], found[2], bias


def scales_of(s: Multiply, memories: Memories) -> tuple[Places, Places] | None:
    """The scales beside the operands of a Mmad of MX types: (m, k / 32) and (k / 32, n), at a sixteenth of
    the addresses of these; None of others."""
    i, found = s.instruction, []
    if not i.scaled:
        return None
    ends = (s.a, i.a, i.elements[1], "L0AMx"), (s.b, i.b, i.elements[2], "L0BMx")
    for (name, at, element, memory), layout in zip(ends, i.scales):
        begin = (memories.program.buffers[name].address + at * element.bits // 8) // 16
        found.append(memories.inside(memory, begin + offsets_in(layout), 8))
    return found[0], found[1]


def index_moved(s: Move, memories: Memories) -> tuple[Places, Places] | None:
    """The bytes of the index that a LoadDataWithSparse reads, and where they come to lie; None of others.

    It reads them one fractal's behind the other's.
    """
    import numpy as np

    i = s.instruction
    if not _with_index(s):
        return None
    size, count, fractals = FRACTAL // STORED, i.parameters["repeatTimes"], np.arange(i.parameters["repeatTimes"])
    read = memories.places(s.beside, i.parameters["index"] + np.arange(count * size), 8)
    begin = memories.program.buffers[s.dst].address + i.dst + fractals * (i.parameters["dstGap"] + 1) * FRACTAL
    return read, _index_at((begin[:, None] // STORED + np.arange(size)).ravel(), memories)


def index_of(s: Multiply, memories: Memories) -> Places | None:
    """The bytes of the index beside the right operand of a MmadWithSparse, (k / 8, n); None of others."""
    import numpy as np

    i, buffer = s.instruction, memories.program.buffers[s.b]
    if not i.sparse:
        return None
    rows, columns = np.ogrid[: int(i.parameters["k"]) // 2 : STORED, : int(i.parameters["n"])]
    at = buffer.address + i.b + i.operands(memories.program.arch).b(rows, columns)
    return _index_at(np.broadcast_to(at, (rows.size, columns.size)) // STORED, memories)


def _index_at(offsets: Any, memories: Memories) -> Places:
    """Bytes of the memory of the index; RangeError where they lie outside, or there is none."""
    if INDEX not in memories.sizes:
        raise RangeError("a MmadWithSparse without an index", "a LoadDataWithSparse before it", "load b so")
    return memories.inside(INDEX, offsets, 8)


# ------------------------------------------------------------------------------------------------ who touched what last


class Touched(NamedTuple):
    """Two events that touch the same place in no order that is known, the one that is issued first before the other.

    memory   where, and the first `byte` of it;  in_pipe   whether both are in one pipe
    written  whether the first writes there;  writes  whether the second does

    Source: ours.
    """

    first: Event
    second: Event
    memory: str
    byte: int
    in_pipe: bool
    written: bool
    writes: bool


def _touched(first: Event, second: Event, memory: str, byte: int, writes: tuple[bool, bool]) -> Touched:
    """Two events as they are issued: the later one may have begun before, where nothing orders them."""
    if first.index > second.index:
        first, second, writes = second, first, (writes[1], writes[0])
    return Touched(first, second, memory, byte, first.pipe == second.pipe, *writes)


class Ledger:
    """For every cell of every memory, the last turn in which each pipe read it, and wrote it."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._last: dict[tuple[str, str, str], Any] = {}
        self._events: dict[tuple[str, int], Event] = {}

    def touch(self, begun: Begun, reach: Reach) -> list[Touched]:
        """Note what an event touches. Returns what it meets there that may not be done, the latest of each pipe."""
        found = [t for places in reach.reads for t in self._met(begun, places, writes=False)]
        found += [t for places in reach.writes for t in self._met(begun, places, writes=True)]
        self._events[begun.event.pipe, begun.turn] = begun.event
        for kind, side in (("read", reach.reads), ("write", reach.writes)):
            for places in side:
                self._array(places.memory, kind, begun.event.pipe)[places.every] = begun.turn
        return found

    def _array(self, memory: str, kind: str, pipe: str) -> Any:
        import numpy as np

        if (memory, kind, pipe) not in self._last:
            self._last[memory, kind, pipe] = np.zeros(self._memories.sizes[memory], np.int32)
        return self._last[memory, kind, pipe]

    def _met(self, begun: Begun, places: Places, *, writes: bool) -> list[Touched]:
        """The events that one meets: at places that it reads those that wrote there, at those that it writes all."""
        cells, found = places.every, []
        for (memory, kind, other), turns in self._last.items():
            if memory != places.memory or not (writes or kind == "write") or not cells.size:
                continue
            last = turns[cells]
            at = int(last.argmax())
            if last[at] > begun.done.get(other, 0):
                first, byte = self._events[other, int(last[at])], int(cells[at]) * self._memories.bits // 8
                found.append(_touched(first, begun.event, memory, byte, (kind == "write", writes)))
        return found
