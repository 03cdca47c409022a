"""Changes that make a program's accesses cheaper: each is counted as the program's own, and kept where it takes less.

swizzle        another #ttg.swizzled_shared for a memory that only registers are moved to and from: Triton's own family,
               and both orders; of CuTe's DSL another Sw<b,m,s>
padding        the same by #ttg.padded_shared, of AMD's targets, whose lowering has it
order          another #ttg.blocked for a global access: which dimension threads go along first, and sizePerThread
vectors        the same where it takes no fewer sectors, but fewer instructions, as accesses are wider
kWidth         another width of the operands of a dot that come from shared memory, of NVIDIA's mma
divisibility   arguments that 16 would have to divide for wider accesses; constant: sizes that are 1, and that
               Triton is not told of
hoist          a conversion that can stand before the loop; repeat: one whose result is there without it

What is predicted is the cost of the accesses that are named. Another layout of registers may need
a conversion elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from ..access.counting import access
from ..core.cache import compiled
from ..core.errors import RangeError, TlaError
from ..linear import bits
from ..linear.triton import BlockedLayout, DotOperandLayout, PaddedSharedLayout, SwizzledSharedLayout, Typed, to_text
from .addresses import pointee_bits
from .advice import Advice
from .alignment import extents, vector_of
from .arguments import facts
from .costs import Cost, Costs, Part, allocated, mask_of, placed, wide
from .loops import Size
from .memories import COPY, FREE, allocations, memory_of
from .program import Op, Program
from .reuse import reuses
from .shared import Moved, moved, without_copies
from .swizzles import swizzles

T = TypeVar("T")

_VECTORS, _PHASES, _PER_PHASE = (1, 2, 4, 8, 16), (1, 2, 4, 8, 16), (1, 2, 4, 8)
_SIZES = (1, 2, 4, 8, 16)
#: A thread moves no more at once [bits]; the widest kWidth.
_WIDEST, _WIDEST_K, _WORD = 128, 16, 32


class _Counted(NamedTuple):
    """The cost of accesses: of all together, and of each, so that equal ones are known by their instructions."""

    total: Size
    each: tuple[int, ...]
    instructions: int

    @property
    def rank(self) -> tuple[int, int]:
        return sum(self.each), self.instructions

    @classmethod
    def of(cls, rows: Sequence[Cost], counts: Sequence[tuple[int, int]]) -> _Counted:
        """The cost of rows, of each its wavefronts and its instructions."""
        total: Size = sum((row.times * cost for row, (cost, _) in zip(rows, counts)), 0)
        return cls(total, tuple(cost for cost, _ in counts), sum(n for _, n in counts))


def advise(found: Costs) -> tuple[Advice, ...]:
    """Find changes of layouts that make accesses of a program cheaper, those that save most in one run of
    each access first.

    >>> from tla.ttgir import costs, program_of
    >>> text = '''
    ... #rows = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [1, 1], order = [1, 0]}>
    ... #plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
    ... module attributes {"ttg.num-warps" = 1 : i32, ttg.target = "cuda:80"} {
    ...   %x = arith.constant dense<0.0> : tensor<8x64xf16, #rows>
    ...   %m = ttg.local_alloc %x : (tensor<8x64xf16, #rows>) -> !ttg.memdesc<8x64xf16, #plain, #ttg.shared_memory>
    ... }'''
    >>> first = advise(costs(program_of(text)))[0]
    >>> first.kind, first.before, first.after
    ('swizzle', 128, 8)
    >>> first.change
    '#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>'
    """
    changes = [*_memories(found), *_orders(found), *_widths(found), *facts(found), *reuses(found), *swizzles(found)]
    return tuple(sorted(changes, key=lambda a: -a.saved))


# ------------------------------------------------------------------------------------------------- shared memory


def _memories(found: Costs) -> Iterator[Advice]:
    """A better layout of each memory that has conflicts or narrow accesses, and that no other unit reads."""
    groups: dict[str, list[Cost]] = {}
    fixed = set[str]()
    memory = allocations(found.program)
    for op in found.program.ops:
        used = {memory[name] for name in (*op.operands, *op.results) if name in memory}
        if op.name not in FREE:
            fixed |= used
    for row in found.rows:
        if row.shared is not None and row.parts:
            name = row.op.results[0] if row.op.name == "ttg.local_alloc" else memory_of(row.op)
            groups.setdefault(memory.get(name, name), []).append(row)
    for root, rows in groups.items():
        parts = [p for row in rows for p in row.parts if p.unit == "wavefronts"]
        if root not in fixed and not all(map(_is_best, parts)) and (advice := _better_memory(found, rows)):
            yield advice


def _is_best(part: Part) -> bool:
    """Whether accesses are as wide as they can be, and free of conflicts."""
    return part.vector == _WIDEST and part.cost == part.least


def _memory_type(op: Op) -> str:
    """The type of the memory that an operation loads from, or stores to."""
    return op.operand_types[0] if op.name == "ttg.local_load" else op.result_types[-1]


def _alias(type_: str) -> str:
    """The name of a type's layout, where it is an alias."""
    found = compiled(r"#([A-Za-z_][A-Za-z0-9_]*)[,>]").search(type_)
    return found[1] if found else ""


def _better_memory(found: Costs, rows: Sequence[Cost]) -> Advice | None:
    """The layout of Triton's family by which the accesses of a memory take the fewest wavefronts, if that is fewer."""
    shared = rows[0].shared
    if shared is None or any(row.shared is None or row.shared.layout != shared.layout for row in rows):
        return None
    try:
        now = _of_memory(found, rows, shared.layout)
    except TlaError:
        return None
    best = _best(now, _layouts(found, shared), lambda layout: _of_memory(found, rows, layout))
    if best is None:
        return None
    kind = "padding" if isinstance(best[0], PaddedSharedLayout) else "swizzle"
    return _saving(kind, _alias(_memory_type(rows[0].op)), to_text(shared.layout), to_text(best[0]), rows, now, best[1])


def _best(now: _Counted, changes: Iterable[T], count: Callable[[T], _Counted]) -> tuple[T, _Counted] | None:
    """The change by which accesses take the fewest wavefronts, if that is fewer than now."""
    best: tuple[T, _Counted] | None = None
    for change in changes:
        try:
            there = count(change)
        except TlaError:  # what the tile, the operand, or the width of an access, does not allow
            continue
        if there.rank < (now if best is None else best[1]).rank:
            best = change, there
    return best if best is not None and sum(best[1].each) < sum(now.each) else None


def _saving(
    kind: str, alias: str, was: str, change: str, rows: Sequence[Cost], now: _Counted, then: _Counted
) -> Advice:
    saved = sum(now.each) - sum(then.each)
    return Advice(kind, alias, was, change, tuple(rows), "wavefronts", now.total, then.total, saved)


def _layouts(found: Costs, shared: Typed) -> Iterator[Any]:
    """The layouts that a memory may have instead, plain ones first."""
    rank = len(shared.shape)
    orders = [*itertools.permutations(range(rank))][::-1] if rank <= 2 else [tuple(range(rank))[::-1]]
    for order in orders:
        yield SwizzledSharedLayout(1, 1, 1, list(order))
        for vector, per, most in itertools.product(_VECTORS, _PER_PHASE, _PHASES[1:]):
            if vector * most <= shared.shape[order[0]]:
                yield SwizzledSharedLayout(vector, per, most, list(order))
    if not found.machine.nvidia:
        for order, pad in itertools.product(orders, (4, 8, 16)):
            yield PaddedSharedLayout.with_identity_for([(shared.shape[order[0]], pad)], list(shared.shape), list(order))


def _of_memory(found: Costs, rows: Sequence[Cost], layout: Any) -> _Counted:
    """The wavefronts of accesses to a memory of another layout."""
    copies = (row.op.name == COPY for row in rows)
    counts = [
        _copied(found, row, layout) if copy else _loaded(found, row.op, layout) for row, copy in zip(rows, copies)
    ]
    return _Counted.of(rows, counts)


def _loaded(found: Costs, op: Op, layout: Any) -> tuple[int, int]:
    """The wavefronts and the instructions of a load or a store of registers."""
    store = op.name != "ttg.local_load"
    typed = found.program.typed(op.operand_types[0] if store else op.result_types[0])
    shared = found.program.typed(allocated(_memory_type(op)))
    key = (op.operand_types, op.result_types, repr(layout), store)
    one: Moved = found.once(key, lambda: moved(typed.linear, placed(shared, layout), wide(typed), found.machine, store))
    if found.machine.transposes and not store and one.vector == wide(typed).bits < _WORD:
        raise RangeError("a load that may transpose", "one of vectors, which does not", "compile it, and count")
    return one.access.total, one.instructions


def _copied(found: Costs, row: Cost, layout: Any) -> tuple[int, int]:
    """The wavefronts of a copy to shared memory, in accesses as wide as the program's."""
    shared, part = found.program.typed(allocated(_memory_type(row.op))), row.parts[0]
    return found.written(row.op.operand_types[0], placed(shared, layout), part.vector).total, part.instructions


# ------------------------------------------------------------------------------------------------- global memory


def _orders(found: Costs) -> Iterator[Advice]:
    """A better blocked layout for each global access whose sectors are known, and more than they need be, or whose
    accesses are narrow."""
    groups: dict[tuple[str, str], list[Cost]] = {}
    for row in found.rows:
        part = _sectors(row)
        if part is not None and _may_be_less(part, found.machine.widest) and extents(row.op.operand_types[0]):
            groups.setdefault((row.op.operand_types[0], row.op.source), []).append(row)
    for (type_, _source), rows in groups.items():
        typed, first = found.program.typed(type_), _sectors(rows[0])
        if not isinstance(typed.layout, BlockedLayout) or first is None or first.cost is None:
            continue
        now = first.cost, first.instructions
        if best := _better_order(found, rows[0], typed, first, now):
            k = int(best[1][0] == now[0])  # 0: sectors, 1: instructions
            before, after = (sum((row.times * n[k] for row in rows), 0) for n in (now, best[1]))
            kind, unit = (("order", "sectors"), ("vectors", "instructions"))[k]
            was, change, saved = to_text(typed.layout), to_text(best[0]), len(rows) * (now[k] - best[1][k])
            yield Advice(kind, _alias(type_), was, change, tuple(rows), unit, before, after, saved)


def _may_be_less(part: Part, widest: int) -> bool:
    """Whether an access moves more sectors than it needs, or is narrow; no where its sectors are not known."""
    return part.cost is not None and (part.cost > (part.least or 0) or part.vector < widest)


def _sectors(row: Cost) -> Part | None:
    return next((p for p in row.parts if p.unit == "sectors"), None)


def _better_order(
    found: Costs, row: Cost, typed: Typed, part: Part, now: tuple[int, int]
) -> tuple[BlockedLayout, tuple[int, int]] | None:
    """The blocked layout with the fewest sectors, then the fewest instructions of a warp, if they are
    fewer than now."""
    width = max(8, pointee_bits(row.op.operand_types[0]))
    at = found.addresses.of(row.op.operands[0]) // (width // 8)
    best: tuple[BlockedLayout, tuple[int, int]] | None = None
    for layout in _blocked(typed, found.program, width, found.machine.widest):
        linear = layout.linear(typed.shape)
        proved = vector_of(found.alignment, row.op.operands[0], linear, width, mask_of(row.op), found.machine.widest)
        count = part.vector // width if row.op.name == COPY else proved
        owners = without_copies(linear)
        try:
            there = access(owners, at, width, count * width, found.machine.memory)
        except TlaError:  # the addresses are no vectors of this width
            continue
        rank = there.total, owners.get_in_dim_size("register") // count
        if rank < (now if best is None else best[1]):
            best = layout, rank
    return best


def _blocked(typed: Typed, program: Program, width: int, widest: int) -> Iterator[BlockedLayout]:
    """Blocked layouts of a tile whose threads, then warps, go along one dimension as far as it goes, then
    along the next."""
    for order in itertools.permutations(range(len(typed.shape))) if len(typed.shape) <= 3 else ():
        for size in (n for n in _SIZES if n * width <= widest and n <= typed.shape[order[0]]):
            sizes, threads, warps = ([1] * len(order) for _ in range(3))
            sizes[order[0]] = size
            left = [program.lanes, program.warps]
            for d in order:
                for place, each in enumerate((threads, warps)):
                    rest = typed.shape[d] // (sizes[d] * threads[d] * warps[d])
                    each[d] = min(left[place], max(1, rest))
                    left[place] //= each[d]
            threads[order[-1]] *= left[0]
            warps[order[-1]] *= left[1]
            yield BlockedLayout(sizes, threads, warps, list(order))


# ------------------------------------------------------------------------------------------------------- operands


def _widths(found: Costs) -> Iterator[Advice]:
    """Another kWidth for the operands of a dot that are loaded from shared memory."""
    loads = {row.op.results[0]: row for row in found.rows if row.op.name == "ttg.local_load" and row.parts}
    seen = set[tuple[str, ...]]()
    for op in found.program.ops:
        rows = tuple(loads[name] for name in op.operands[:2] if name in loads) if op.name == "tt.dot" else ()
        key = tuple(row.op.result_types[0] + row.op.operand_types[0] for row in rows)
        if len(rows) == 2 and key not in seen:
            seen.add(key)
            if advice := _better_width(found, rows):
                yield advice


def _better_width(found: Costs, rows: Sequence[Cost]) -> Advice | None:
    layouts = [found.program.typed(row.op.result_types[0]).layout for row in rows]
    if not found.machine.nvidia or not all(isinstance(x, DotOperandLayout) and x.k_width for x in layouts):
        return None
    least = 32 // max(8, found.program.typed(rows[0].op.result_types[0]).bits or 32)
    own = layouts[0].k_width
    now = _of_width(found, rows, own)
    widths = (w for w in (1 << k for k in range(bits.log2(_WIDEST_K) + 1)) if w >= max(1, least) and w != own)
    best = _best(now, widths, lambda width: _of_width(found, rows, width))
    return best and _saving("kWidth", "", f"kWidth = {own}", f"kWidth = {best[0]}", rows, now, best[1])


def _of_width(found: Costs, rows: Sequence[Cost], width: int) -> _Counted:
    """The wavefronts of loads of operands of another kWidth."""
    counts = []
    for row in rows:
        typed = found.program.typed(row.op.result_types[0])
        shared = found.program.typed(allocated(row.op.operand_types[0]))
        layout = DotOperandLayout(typed.layout.operand_index, typed.layout.parent, width)
        one = moved(layout.linear(typed.shape), placed(shared), wide(typed), found.machine, False)
        counts.append((one.access.total, one.instructions))
    return _Counted.of(rows, counts)
