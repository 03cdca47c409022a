"""Statements of a block as steps from the state before one to that before the next; or the reason why one may race.

Until its thread has waited for an asynchronous copy nobody may touch what it writes, and others not before a barrier
behind that. A load by TMA is waited for by the phase of its mbarrier, which tells too what those who arrived knew; a
product of tcgen05 by the phase that it arrives at; a warpgroup's product by its group. What blocks of a cluster do to
each other's memory is in `beside`.

Source: the PTX manual, "cp.async.wait_group", "mbarrier", "wgmma", "cp.async.bulk.wait_group", "tcgen05.commit".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ...algebra.make import make_layout
from ...core.int_tuple import size
from ...core.ints import Int
from ...gpu.instructions.tmem import LANES, PATH_BITS
from ...tensors.guard import whole
from ...tensors.tensor import Tensor, tensor_of
from ..program.instructions import is_asynchronous, is_of_tensor_memory
from ..program.statements import (
    Atomic,
    Barrier,
    Copy,
    Load,
    Order,
    Product,
    Program,
    Reserve,
    Signal,
    Statement,
    accesses,
)
from .before import Block, Products, Unordered, added, ended, with_group
from .touches import Known, Stages, Touches

#: The groups that are followed.
_MOST_GROUPS = 32
#: The first thread alone; all threads of the block, whose elements those of the first one are.
FIRST = slice(1)


class Ordering:
    """The statements of a block, each a step from one state to the next."""

    def __init__(self, program: Program) -> None:
        self._program, self._touches = program, Touches(program)
        self._threads = program.threads
        made = [s for s in program.statements() if isinstance(s, Signal) and s.word == "initialize_barrier"]
        keys = [(id(s.barriers.data), at) for s in made for at in range(int(size(s.barriers.shape)))]
        self._phases = {key: place for place, key in enumerate(keys)}
        self._columns: dict[int, Tensor] = {}
        self._waits = {place: -1 - place for place in range(len(keys))}  # numbers that no touch has

    def _of_block(self, s: Statement, before: Block, stages: Stages) -> Block:
        """The state of a block behind a statement that is its own alone."""
        if isinstance(s, Barrier):
            return before.met()
        if isinstance(s, Order):
            return self._ordered(s, before)
        if isinstance(s, Load):
            return self._stored(s, before, stages)
        if isinstance(s, Reserve):
            return self._reserved(s, before, stages)
        if isinstance(s, Product) and is_asynchronous(s.step.mma.atom):
            return self._multiplied(s, before, stages)
        return self._by_threads(s, before, stages)

    # ---------------------------------------------------------------------------------------- touches of threads

    def _by_threads(self, s: Statement, before: Block, stages: Stages) -> Block:
        """Each thread reads and writes elements; those of an asynchronous copy are under way."""
        for verb, access in accesses(s):
            writes = verb == "writes"
            before = self._of_registers(access.tensor, before, writes=writes)
            if self._touches.memory(access.tensor) not in ("shared", "tmem"):
                continue
            adds = writes and isinstance(s, Atomic)
            fills = writes and isinstance(s, Copy) and s.atom.fills_zeros  # it writes where the predicate does not hold
            where = s.where if isinstance(s, Copy) and not fills else None
            number = self._touches.number(s.line, access.tensor, stages, writes, adds=adds, where=where)
            before = self._touched(number, before)
            if writes and isinstance(s, Copy) and s.atom.asynchronous:
                before = before._replace(copies=added(before.copies, number))
            if isinstance(s, Copy) and is_of_tensor_memory(s.atom):
                loaded = before.loaded | {id(s.target.tensor.data)}
                after = self._of_registers(s.target.tensor, before, writes=True)
                return after._replace(columns=before.columns | {number}, loaded=loaded)
        return before

    def _touched(self, number: int, before: Block) -> Block:
        """Touch elements. Raises Unordered for a race."""
        self._require_free(number, before)
        if self._touches.meet(number, number, Known()):
            raise Unordered("shared memory that another thread may touch")
        return before.touch(number, unseen=self._touches.writes(number))

    def _require_free(self, number: int, before: Block, *, of_products: bool = False) -> None:
        """Require that a touch is ordered with what is before it. Raises Unordered.

        of_products   whether it is what a product of tcgen05 adds to, which comes behind those before it
        """
        writes, overlap = self._touches.writes(number), self._touches.overlap
        if any(self._touches.meet(x, number, who) for x, who in before.touched if x >= 0):
            raise Unordered("shared memory that another thread may touch")
        if any(overlap(x, number) for x in before.written()):
            raise Unordered("shared memory that an asynchronous copy may still write")
        if not of_products and any(overlap(x, number) for x in before.ummas if writes or self._touches.writes(x)):
            raise Unordered("memory that a product of tcgen05 may still touch")
        if writes and any(overlap(x, number) for x in before.read()):
            raise Unordered("memory that an asynchronous instruction may still read")

    def _of_registers(self, t: Tensor, before: Block, *, writes: bool) -> Block:
        """Let threads touch registers. Raises Unordered for those of a product, or of a load, under way."""
        if self._touches.memory(t) != "registers":
            return before
        held = {key for group in before.products for key, adds in group.registers if adds or writes}
        if id(t.data) in held | before.loaded:
            raise Unordered("registers that an asynchronous instruction may still touch")
        return before._replace(registers=before.registers | {id(t.data)})

    def _require_seen(self, number: int, before: Block) -> None:
        """Require that what threads wrote is seen by an instruction that goes by descriptors. Raises Unordered."""
        if any(self._touches.overlap(x, number) for x in before.unseen):
            raise Unordered("shared memory that threads wrote, with no fence_view_async_shared between")

    # ---------------------------------------------------------------------------------------- groups, and fences

    def _ordered(self, s: Order, before: Block) -> Block:
        """A word that ends a group, waits for groups, or is a fence."""
        if s.word == "cp_async_fence":
            before = before._replace(copies=with_group(before.copies))
        elif s.word == "tma_store_arrive":
            before = before._replace(stores=with_group(before.stores))
        elif s.word == "warpgroup_commit_batch":
            before = before._replace(products=(*before.products, Products()))
        elif s.word == "cp_async_wait":
            over, copies = ended(before.copies, s.pending)
            before = self._again(over, before._replace(copies=copies))
        elif s.word == "tma_store_wait":
            over, stores = ended(before.stores, s.pending)
            before = self._again(over, before._replace(stores=stores))
        elif s.word == "warpgroup_wait":
            before = self._waited(s.pending, before)
        elif s.word == "warpgroup_arrive":
            before = before._replace(registers=frozenset())
        elif s.word == "fence_view_async_shared":
            before = before._replace(unseen=frozenset())
        elif s.word == "fence_view_async_tmem_load":
            before = self._again(before.columns, before)._replace(columns=frozenset(), loaded=frozenset())
        if max(len(before.copies), len(before.stores), len(before.products)) > _MOST_GROUPS:
            raise Unordered("groups of asynchronous copies that nobody waits for")
        return before

    def _again(self, numbers: Iterable[int], before: Block) -> Block:
        """Let threads touch what instructions have touched that they have waited for."""
        for number in sorted(numbers):
            before = before.touch(number, unseen=self._touches.writes(number))
        return before

    def _waited(self, pending: int, before: Block) -> Block:
        """Wait for a warpgroup's products, all groups but the newest: what they read other warpgroups do not know of."""
        count = max(0, len(before.products) - 1 - pending)
        over, together = before.products[:count], self._together
        before = before._replace(products=before.products[count:])
        if self._phases:  # as a watched run has it, where barriers alone tell
            told = {x: Known(together) for group in over for x in group.before}
            before = before.learn(told, self._threads)
        if together < self._threads:
            before = self._again({x for group in over for x in group.reads}, before)
        return before

    @property
    def _together(self) -> int:
        """The threads of a warpgroup."""
        atoms = [s.step.mma.atom for s in self._program.statements() if isinstance(s, Product)]
        return max(int(size(atom.thr_id)) for atom in atoms if is_asynchronous(atom))

    # ---------------------------------------------------------------------------------------- instructions under way

    def _multiplied(self, s: Product, before: Block, stages: Stages) -> Block:
        """A warpgroup's product, which reads what all threads know of, and adds to registers."""
        together, reads, registers = int(size(s.step.mma.atom.thr_id)), set(), set()
        for name, access in s.operands.items():
            t = access.tensor
            if self._touches.memory(t) == "registers":
                registers |= {(id(t.data), name == "D")} if name in "DA" else set()
            elif name in "AB":
                number = self._touches.number(s.line, t, stages, False, by=slice(None, None, together))
                self._require_free(number, before)
                self._require_seen(number, before)
                reads.add(number)
                if together < self._threads:
                    before = before.touch(number)
        if any(key in before.registers for key, _adds in registers):
            raise Unordered("registers that threads touched, with no warpgroup_arrive between")
        *groups, last = before.products
        more = last.before | {x for x, _who in before.touched}
        group = Products(last.reads | reads, last.registers | registers, more)
        return before._replace(products=(*groups, group))

    def _stored(self, s: Load, before: Block, stages: Stages) -> Block:
        """A store by TMA, which reads shared memory until its group has ended."""
        number = self._touches.number(s.line, s.source.tensor, stages, False, by=FIRST)
        self._require_free(number, before)
        self._require_seen(number, before)
        return before._replace(stores=added(before.stores, number))

    # ---------------------------------------------------------------------------------------- tensor memory

    def _reserved(self, s: Reserve, before: Block, stages: Stages) -> Block:
        """A statement about columns: the first warp's first thread has their address written, all read it."""
        if s.allocation is None:
            return before
        if s.word == "free":
            return self._freed(s, before, stages)
        allocates = s.word == "allocate"
        by = FIRST if allocates else slice(None, None, self._threads)
        number = self._touches.number(s.line, s.allocation.address, stages, allocates, by=by)
        return self._touched(number, before)

    def _freed(self, s: Reserve, before: Block, stages: Stages) -> Block:
        """Nobody touches the columns any more."""
        allocation: Any = s.allocation
        if allocation.data is not None:
            paths = make_layout((LANES, allocation.columns), stride=(1 << PATH_BITS, 1))
            made = tensor_of(None, allocation.data, Int[0](), paths, (Int[0](), Int[0]()), whole(paths.shape))
            columns = self._columns.setdefault(id(allocation), made)
            self._require_free(self._touches.number(s.line, columns, stages, True, by=FIRST), before)
        return before
