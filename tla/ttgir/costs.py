"""The cost of each operation of a program that moves data: instructions of a warp, wavefronts of shared memory, sectors
of global memory.

Every count is that of tla.access: of the linear layout of the registers, and of the layout of shared memory
or the addresses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..access.by_bits import by_bits
from ..access.counting import Access, Asked, access
from ..core.cache import compiled
from ..core.element import Width
from ..core.errors import RangeError, TlaError
from ..linear import LinearLayout
from ..linear.triton import NVMMASharedLayout, PaddedSharedLayout, SwizzledSharedLayout, Typed
from .across import gathered, reduction, run_of, scan as scanned
from .addresses import Addresses, pointee_bits
from .alignment import Alignment, extents, vector_of
from .conversions import Conversion, conversion
from .cute_bulk import bulk
from .loops import Loops, Size, has_size
from .machines import Machine, machine
from .program import Op, Program
from .shared import Moved, moved, registers_of, without_copies
from .tiled_copies import Alone, Side, sides

#: Of elements narrower than a byte each has one of its own.
_BYTE = 8


class Part(NamedTuple):
    """Instructions of one kind, of an operation that runs once.

    unit          what the instructions cost: wavefronts, sectors, shuffles, atomics, or bytes of a bulk copy
    instruction   what moves the data: ldmatrix.x4, ld.shared, st.global, cp.async, shfl
    instructions  of one warp
    vector        the width of a lane's access [bits]
    cost, least   of all warps; least is what so many accesses need without conflicts, or with no byte unused. None
                  where it is not known
    degree        how many lanes want one bank at once, at most
    bytes         that all warps move

    >>> Part("wavefronts", "ldmatrix.x4", 2, 128, 32, 32, 1, 4096).cost
    32
    """

    unit: str
    instruction: str
    instructions: int
    vector: int
    cost: int | None
    least: int | None
    degree: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The cost of an operation.

    op        the operation
    times     how often it runs in one instance of the program: a number, or a formula
    parts     its instructions; none of an operation that moves nothing, as a conversion between equal layouts
    kind      of a conversion the way that it takes; else nothing
    shared    the layout of shared memory; None where there is none
    buffer    bytes of shared memory that a conversion uses meanwhile
    refused   why it is not counted; nothing where it is

    >>> from tla.ttgir import program_of
    >>> text = "%m = ttg.local_alloc %x : (tensor<8xf16, #no>) -> !ttg.memdesc<8xf16, #no, #ttg.shared_memory>"
    >>> Costs(program_of(f'module attributes {{ttg.target = "cuda:80"}} {{\\n{text}\\n}}')).rows[0].refused
    '#no is a name, at position 14'
    """

    op: Op
    times: Size
    parts: tuple[Part, ...]
    kind: str = ""
    shared: Typed | None = None
    buffer: int = 0
    refused: str = ""


def costs(program: Program, sizes: Mapping[str, int] | None = None, target: str | None = None) -> Costs:
    """Count what each operation of a program costs that moves data.

    sizes      values of the kernel's arguments, and of loops whose count is not known: name -> value
    target     the machine, such as cuda:90 or hip:gfx942, where the program does not say it
    Raises     RangeError for a machine whose shared memory is not known, or another than the program says, and for
               sizes that the program has not

    >>> from tla.ttgir import program_of
    >>> text = '''
    ... #rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
    ... #plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    ... module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:80"} {
    ...   %x = arith.constant dense<0.0> : tensor<8x64xf16, #rows>
    ...   %m = ttg.local_alloc %x : (tensor<8x64xf16, #rows>) -> !ttg.memdesc<8x64xf16, #plain, #ttg.shared_memory>
    ... }'''
    >>> row = costs(program_of(text)).rows[0]
    >>> row.op.name, row.parts[0].instruction, row.parts[0].instructions, row.parts[0].cost, row.parts[0].least
    ('ttg.local_alloc', 'st.shared', 16, 128, 16)

    Source: Triton 3.9's lowering of each operation; the memories of tla.access.
    """
    return Costs(program, sizes, target)


def _require_own(program: Program, sizes: Mapping[str, int], target: str | None) -> None:
    """Require that the sizes that are given are the program's, and that the target is no other than its own."""
    if target and program.target not in ("", target):
        raise RangeError(f"a program of {program.target} for {target}", program.target, "leave target out")
    for name in sizes:
        if not has_size(program, name):
            known = ", ".join(a.name[1:] for a in program.arguments if not a.type.startswith("!"))
            fix = "give one of these" if known else "leave it out"
            raise RangeError(f"the size {name:.40}", f"of the kernel: {known or 'it has none'}", fix)


class Costs:
    """The costs of a program's operations.

    sizes   values of the kernel's arguments, and of loops whose count is not known
    loops   how often each operation runs
    rows    a Cost for each operation that moves data, in the order of the text

    >>> from tla.ttgir import program_of
    >>> Costs(program_of('module attributes {ttg.target = "cuda:80"} {\\n}')).totals()
    {}
    """

    def __init__(self, program: Program, sizes: Mapping[str, int] | None = None, target: str | None = None) -> None:
        _require_own(program, sizes or {}, target)
        self.program, self.machine = program, machine(program.target or target or "")
        self.loops = Loops(program, sizes)
        self.addresses = Addresses(program, sizes)
        self._moved: dict[Any, Any] = {}
        counted = (op for op in program.ops if op.name in _COUNTED and _moves(op) and not self.loops.is_dead(op))
        rows = map(self._cost, counted)  # none of what is moved between registers
        self.rows = tuple(row for row in rows if row.parts or row.refused or row.op.name not in _OF_ELEMENTS)

    @functools.cached_property
    def alignment(self) -> Alignment:
        """The analysis of pointers and masks."""
        return Alignment(self.program)

    def _cost(self, op: Op) -> Cost:
        times = self.loops.times(op)
        try:
            return _COUNTED[op.name](self, op, times)
        except TlaError as error:
            return Cost(op, times, (), refused=error.reason.what.splitlines()[0])
        except (IndexError, StopIteration):
            return Cost(op, times, (), refused="fewer operands, types or dimensions than the operation has")

    def totals(self) -> dict[str, Size]:
        """The cost of all operations together, each as often as it runs: by unit.

        What is not known is left out: Cost.parts say which.
        """
        found: dict[str, Size] = {}
        for row in self.rows:
            for part in row.parts:
                cost: Size = 0 if part.cost is None else part.cost
                found[part.unit] = found.get(part.unit, 0) + row.times * cost
        return found

    # ---------------------------------------------------------------------------------------------- shared memory

    def once(self, key: tuple[Any, ...], count: Callable[[], Any]) -> Any:
        """A count that is made once for equal types."""
        if key not in self._moved:
            self._moved[key] = count()
        return self._moved[key]

    def local(self, op: Op, times: Size, registers: str, memory: str, store: bool) -> Cost:
        """A load or a store between registers and shared memory."""
        typed, shared = self.program.typed(registers), self.program.typed(allocated(memory))
        found: Moved = self.once(
            (registers, memory, store), lambda: moved(typed.linear, placed(shared), wide(typed), self.machine, store)
        )
        return Cost(op, times, (_part(found, self.machine, store),), shared=shared)

    def convert(self, op: Op, times: Size) -> Cost:
        """A conversion between two layouts of registers."""
        types = op.operand_types[0], op.result_types[0]
        src, dst = map(self.program.typed, types)
        found = self.once(types, lambda: conversion(src.linear, dst.linear, wide(src), self.machine))
        parts = self._through_memory(found)
        if found.shuffles:
            parts.append(self._exchanges("shfl", found.shuffles))
        return Cost(op, times, tuple(parts), found.kind, buffer=found.bytes)

    def _through_memory(self, c: Conversion) -> list[Part]:
        """The stores and the loads of a conversion, where it has them."""
        return [_part(x, self.machine, store) for x, store in ((c.write, True), (c.read, False)) if x is not None]

    # ---------------------------------------------------------------------------------------------- global memory

    def memory(self, op: Op, times: Size, store: bool) -> Cost:
        """A load or a store of global memory by each thread."""
        type_, name = op.operand_types[0], "st.global" if store else "ld.global"
        if extents(type_):
            return Cost(op, times, (self._sectors(op, type_, name),))
        bits = pointee_bits(type_)
        return Cost(op, times, (Part("sectors", name, 1, bits, 1, 1, 1, max(1, bits // 8)),))

    def _sectors(self, op: Op, type_: str, name: str, contiguity: int | None = None) -> Part:
        """The instructions of a global access, and its sectors where the addresses are known."""
        typed, bits = self.program.typed(type_), max(_BYTE, pointee_bits(type_))
        pointer, mask = op.operands[0], mask_of(op)
        owners = without_copies(typed.linear)
        count = contiguity or vector_of(self.alignment, pointer, typed.linear, bits, mask, self.machine.widest)
        registers = owners.get_in_dim_size("register")
        count = min(count, registers)
        size = math.prod(owners.out_dims.values()) * bits // 8
        at = self.addresses.of(pointer)
        found: Access | None = None
        places = at if self.machine.nvidia and hasattr(at, "shape") and at.size else None
        if places is not None and (places % (bits // 8) == 0).all() and places.min() >= 0:
            found = access(owners, at // (bits // 8), Width(bits, typed.element), count * bits, self.machine.memory)
        lines = None if found is None else found.total
        return Part("sectors", name, registers // count, count * bits, lines, max(1, -(-size // 32)), 1, size)

    def copied(self, op: Op, times: Size) -> Cost:
        """A copy from global memory to shared memory, by each thread."""
        source, target = op.operand_types[0], op.result_types[-1]
        if not extents(source):  # buffer_load_to_local: a pointer and offsets
            return Cost(op, times, (), refused=f"{op.name} is not counted")
        name = "cp.async" if self.machine.nvidia else "load to LDS"
        typed, shared = self.program.typed(source), self.program.typed(allocated(target))
        bits = max(_BYTE, pointee_bits(source))
        at = by_bits(typed.linear, placed(shared), self.machine.write.lanes)
        proved = vector_of(self.alignment, op.operands[0], typed.linear, bits, mask_of(op))
        most = max(proved, op.integer("contiguity") or 1)
        while most > 1 and at is not None and not at.in_sequence(most):
            most //= 2
        part = self._sectors(op, source, name, most)
        there = self.written(source, placed(shared), part.vector)
        inside = Part("wavefronts", name, 0, part.vector, there.total, _least(there), there.degree, part.bytes)
        return Cost(op, times, (part, inside), shared=shared)

    def written(self, source: str, memory: Any, width: int) -> Access:
        """The cost in shared memory of a copy by the threads that hold pointers, in accesses of this width [bits].

        Raises     RangeError where the elements of an access would not follow on one another
        """
        typed = self.program.typed(source)
        element = Width(max(_BYTE, pointee_bits(source)), typed.element)
        return access(without_copies(typed.linear), memory, element, Asked(width, True), self.machine.write)

    def buffered(self, op: Op, times: Size, store: bool) -> Cost:
        """An access by AMD's buffer instructions: a pointer, and offsets of the elements."""
        typed = self.program.typed(op.result_types[0])
        registers, bits = registers_of(typed.linear), wide(typed).bits
        count = min(op.integer("contiguity") or 1, registers, max(1, 128 // bits))
        size = math.prod(typed.shape) * bits // 8
        name = "buffer_store" if store else "buffer_load"
        part = Part("sectors", name, registers // count, count * bits, None, max(1, -(-size // 32)), 1, size)
        return Cost(op, times, (part,))

    def bulk(self, op: Op, times: Size) -> Cost:
        """A copy of a tile by the TMA: bytes, and whether it is legal."""
        memory = next(t for t in (*op.result_types, *reversed(op.operand_types)) if "memdesc" in t and "xi64" not in t)
        shared = self.program.typed(allocated(memory))
        size = math.prod(shared.shape) * (shared.bits or _BYTE) // 8
        parts, refused = (Part("bytes", "cp.async.bulk", 1, 0, size, size, 1, size),), illegal(shared)
        return Cost(op, times, parts, shared=None if refused else shared, refused=refused)

    def tiled(self, op: Op, times: Size) -> Cost:
        """A copy, a load or a store of CuTe's DSL: by the TMA, by a tiled copy, or of vectors."""
        if (copied := bulk(self.program, op)) is not None:
            part = Part("bytes", copied.name, copied.instructions, 0, copied.bytes, copied.bytes, 1, copied.bytes)
            return Cost(op, times, (part,))
        return Cost(op, times, tuple(self._side(side) for side in sides(self.program, op, self.machine)))

    def _side(self, side: Side | Alone) -> Part:
        """The accesses of one side of a copy; where no type says their addresses, their instructions
        alone are known."""
        if isinstance(side, Side):
            return _part(side.counted(self.machine), self.machine, False)._replace(unit=side.unit)
        bytes_ = side.instructions * side.vector // 8 * self.program.warps * self.program.lanes
        return Part(side.unit, side.name, side.instructions, side.vector, None, None, 1, bytes_)

    # -------------------------------------------------------------------------------------------- threads together

    def reduce(self, op: Op, times: Size) -> Cost:
        """A reduction: shuffles, and conversions of what warps have."""
        tiles = [self.program.typed(text) for text in op.operand_types]
        result = self.program.typed(op.result_types[0]).linear if extents(op.result_types[0]) else None
        combined = [inner.name for inner in self.program.inside(op) if inner.name != "tt.reduce.return"]
        elements = [wide(typed) for typed in tiles]
        used = [name in self.program.used for name in op.results]
        found = reduction(_one_block(tiles[0].linear), _axis(op), result, elements, self.machine, combined, used)
        parts = [self._exchanges("redux", found.redux), self._exchanges("shfl", found.shuffles)]
        parts += [part for c in found.conversions for part in self._through_memory(c)]
        buffer = max((c.bytes for c in found.conversions), default=0)
        return Cost(op, times, tuple(p for p in parts if p.instructions), buffer=buffer)

    def _exchanges(self, name: str, count: int) -> Part:
        total = count * self.program.warps
        return Part("shuffles", name, count, 32, total, None, 1, total * self.program.lanes * 4)

    def scan(self, op: Op, times: Size) -> Cost:
        """A scan: shuffles, and what warps have through shared memory."""
        tiles = [self.program.typed(text) for text in op.operand_types]
        found = scanned(_one_block(tiles[0].linear), _axis(op), [wide(typed) for typed in tiles])
        counts = {True: found.stores, False: found.loads}
        plain = (self._plain(store, n, wide(tiles[0]).bits) for store, n in counts.items())
        parts = [self._exchanges("shfl", found.shuffles), *plain]
        return Cost(op, times, tuple(p for p in parts if p.instructions))

    def _plain(self, store: bool, count: int, bits: int) -> Part:
        """Accesses of shared memory to one element each, of neighbours by neighbours: without conflicts."""
        names = ("st.shared", "ld.shared") if self.machine.nvidia else ("ds_write", "ds_read")
        each, lanes = max(1, self.program.lanes * bits // (32 * 32)), self.program.warps * self.program.lanes
        total = count * self.program.warps * each
        return Part("wavefronts", names[not store], count, bits, total, total, 1, count * lanes * bits // 8)

    def gather(self, op: Op, times: Size) -> Cost:
        """A gather of a tile's elements by their numbers: shuffles; through shared memory its conflicts are those of
        the indices."""
        source, index = map(self.program.typed, (op.operand_types[0], op.operand_types[1]))
        shuffles = gathered(_one_block(source.linear), _one_block(index.linear), _axis(op), wide(source))
        if shuffles is not None:
            return Cost(op, times, (self._exchanges("shfl", shuffles),))
        stores, loads = (registers_of(x.linear) for x in (source, index))
        width = wide(source).bits
        read = self._plain(False, loads, width)._replace(cost=None, least=None)
        buffer = math.prod(source.shape) * width // 8
        return Cost(op, times, (self._plain(True, stores, width), read), buffer=buffer)

    def histogram(self, op: Op, times: Size) -> Cost:
        """A histogram: an atomic in shared memory for each element; the conflicts are those of the elements."""
        source, result = (self.program.typed(text) for text in (op.operand_types[0], op.result_types[0]))
        elements, bins = (registers_of(x.linear) for x in (source, result))
        width = wide(result).bits
        zeroed = max(1, math.prod(result.shape) // (self.program.warps * self.program.lanes))
        vector = min(1 << run_of(result.linear, 0), 128 // width)
        read = self._plain(False, max(1, bins // vector), width * vector)
        parts = self._plain(True, zeroed, width), self._atomics("atom.shared", elements, width), read
        return Cost(op, times, parts, buffer=math.prod(result.shape) * width // 8)

    def _atomics(self, name: str, count: int, width: int) -> Part:
        total = count * self.program.warps
        return Part("atomics", name, count, width, total, None, 1, total * self.program.lanes * width // 8)

    def atomic(self, op: Op, times: Size) -> Cost:
        """An atomic of global memory: one for each element that a thread has, or for each vector where the
        machine has such.

        Where several threads have an element, one of them does it, and the result that is used goes to the others
        through shared memory.
        """
        type_, pointer = op.operand_types[0], op.operands[0]
        bits = max(_BYTE, pointee_bits(type_))
        registers, count, shared = 1, 1, True
        if extents(type_):
            owners = without_copies(self.program.typed(type_).linear)
            registers = owners.get_in_dim_size("register")
            shared = not all(any(v) for name in ("lane", "warp") for v in owners.bases.get(name, ()))
            if "fadd" in op.body and self.machine.nvidia:
                most = 128 if self.machine.atomics else 32
                count = min(max(1, most // bits), vector_of(self.alignment, pointer, owners, bits, mask_of(op)))
        parts = [self._atomics("atom.global", registers // count, bits * count)]
        if shared and self.program.used & {*op.results}:
            parts += [self._plain(store, registers, bits) for store in (True, False)]
        return Cost(op, times, tuple(parts))


def _axis(op: Op) -> int:
    """The axis of a reduction, a scan or a gather.

    Raises     RangeError where the operation does not say it
    """
    axis = op.integer("axis")
    if axis is None or axis < 0:
        raise RangeError(f"{op.name} of the axis {axis}", "axis = 0 or more", "give the text as Triton prints it")
    return axis


def _one_block(owners: LinearLayout) -> LinearLayout:
    """The layout of register, lane and warp.

    Raises     RangeError where several blocks hold it
    """
    if any(any(v) for v in owners.bases.get("block", ())):
        raise RangeError("threads of several blocks together", "one block", "compile with num_ctas=1")
    return owners


def _moves(op: Op) -> bool:
    return op.name != "ttg.local_alloc" or bool(op.operands)


def _part(found: Moved, machine: Machine, store: bool) -> Part:
    names = {"load": "ld.shared", "store": "st.shared"} if machine.nvidia else {"load": "ds_read", "store": "ds_write"}
    name, cost = names.get(found.name, found.name), found.access
    size = cost.instructions * cost.memory.lanes * cost.vector // 8
    counts = found.instructions, cost.vector, cost.total, _least(cost), cost.degree
    return Part("wavefronts", name, *counts, size)


def _least(cost: Access) -> int:
    """The wavefronts of all instructions without conflicts."""
    return cost.least * cost.instructions


def mask_of(op: Op) -> str | None:
    """The mask of a load, a store, a copy or an atomic: the operand behind the pointer and what is stored."""
    if op.name == "ttg.async_copy_global_to_local":
        found = compiled(r"\bmask\s+(%[\w$.#-]+)").search(op.body)
        return found[1] if found else None
    at = 2 if op.name in ("tt.store", "tt.atomic_rmw") else 1
    return op.operands[at] if len(op.operands) > at else None


def wide(typed: Typed) -> Width:
    """The width of an element in memory: a byte at least."""
    return Width(max(_BYTE, typed.bits or _BYTE), typed.element)


def placed(shared: Typed, layout: Any = None) -> Any:
    """The layout of shared memory, its own or another, as tla.access takes it."""
    layout = layout or shared.layout
    return layout if isinstance(layout, PaddedSharedLayout) else layout.linear(shared.shape)


def allocated(memory: str) -> str:
    """The type of the whole memory that a part is of: `64x16xf16, ..., 64x32` is a part of 64 by 32.

    >>> allocated("!ttg.memdesc<64x16xf16, #shared, #smem, mutable, 64x32>")
    '!ttg.memdesc<64x32xf16, #shared, #smem, mutable>'
    """
    start, _, whole = memory.removesuffix(">").rpartition(", ")
    if not all(n.isdecimal() for n in whole.split("x")):
        return memory
    part = compiled(r"!ttg\.memdesc<(?:[0-9]{1,9}x)+").match(start)
    return f"!ttg.memdesc<{whole}x{start[part.end() :]}>" if part else memory


def illegal(shared: Typed) -> str:
    """The reason that the TMA does not take a tile of this layout; nothing where it does."""
    extent = shared.shape[0 if getattr(shared.layout, "transposed", False) else -1]
    row = extent * (shared.bits or _BYTE) // 8
    if row % 16:
        return f"the TMA takes rows of a multiple of 16 bytes, not {row}"
    if isinstance(shared.layout, NVMMASharedLayout) and row < (width := shared.layout.swizzle_byte_width):
        return f"rows of {row} bytes under a swizzle of {width}: the TMA's box is narrower than its swizzle"
    if isinstance(shared.layout, SwizzledSharedLayout) and shared.layout.max_phase > 1:
        return "the TMA writes #ttg.nvmma_shared, not the swizzle of #ttg.swizzled_shared"
    return ""


#: Accesses of CuTe's DSL to memory or to registers.
_OF_ELEMENTS = ("cute.copy", "cute.memref.load", "cute.memref.store")
_COUNTED: dict[str, Callable[[Costs, Op, Size], Cost]] = {
    "ttg.local_load": lambda c, op, n: c.local(op, n, op.result_types[0], op.operand_types[0], False),
    "ttg.local_store": lambda c, op, n: c.local(op, n, op.operand_types[0], op.result_types[0], True),
    "ttg.local_alloc": lambda c, op, n: c.local(op, n, op.operand_types[0], op.result_types[0], True),
    "ttg.convert_layout": lambda c, op, n: c.convert(op, n),
    "tt.load": lambda c, op, n: c.memory(op, n, False),
    "tt.store": lambda c, op, n: c.memory(op, n, True),
    "ttg.async_copy_global_to_local": lambda c, op, n: c.copied(op, n),
    "amdg.buffer_load": lambda c, op, n: c.buffered(op, n, False),
    "amdg.buffer_store": lambda c, op, n: c.buffered(op, n, True),
    "ttng.async_tma_copy_global_to_local": lambda c, op, n: c.bulk(op, n),
    "ttng.async_tma_copy_local_to_global": lambda c, op, n: c.bulk(op, n),
    "cute.copy": lambda c, op, n: c.tiled(op, n),
    "cute.memref.load": lambda c, op, n: c.tiled(op, n),
    "cute.memref.store": lambda c, op, n: c.tiled(op, n),
    "tt.reduce": lambda c, op, n: c.reduce(op, n),
    "tt.scan": lambda c, op, n: c.scan(op, n),
    "tt.gather": lambda c, op, n: c.gather(op, n),
    "tt.histogram": lambda c, op, n: c.histogram(op, n),
    "tt.atomic_rmw": lambda c, op, n: c.atomic(op, n),
    "tt.atomic_cas": lambda c, op, n: c.atomic(op, n),
}
