"""The shared memories of a program: which allocation each value is a view of, and what is written to."""

from __future__ import annotations

from .program import Op, Program

COPY = "ttg.async_copy_global_to_local"
#: Operations that are another view of the same memory.
VIEWS = ("ttg.memdesc_index", "ttg.memdesc_subslice", "ttg.memdesc_trans", "ttg.memdesc_reshape")
#: Operations whose memory may have any layout.
FREE = (
    "ttg.local_load",
    "ttg.local_store",
    "ttg.local_alloc",
    "ttg.local_dealloc",
    COPY,
    *VIEWS,
    "scf.yield",
    "scf.for",
)


def allocations(program: Program) -> dict[str, str]:
    """The allocation that each value is a view of, through loops too, whose values in turn count as one.

    A view by another layout counts as an allocation of its own.

    >>> from tla.ttgir.text import program_of
    >>> allocations(program_of("%m = ttg.local_alloc : () -> !m\\n%v = ttg.memdesc_trans %m : !m -> !m"))
    {'%m': '%m', '%v': '%m'}
    """
    roots = ("ttg.local_alloc", "ttg.memdesc_reinterpret")
    found = {op.results[0]: op.results[0] for op in program.ops if op.name in roots and op.results}
    for op in program.ops:
        if op.name in VIEWS and op.operands and op.operands[0] in found:
            found[op.results[0]] = found[op.operands[0]]
        for name, begin in (*op.begins.items(), *zip(op.results, op.begins.values())):
            if begin in found:
                found[name] = found[begin]
        if op.name == "scf.yield" and op.parent is not None:
            for value, argument in zip(op.operands, program.ops[op.parent].begins):
                _join(found, found.get(argument), found.get(value))
    return found


def _join(found: dict[str, str], one: str | None, other: str | None) -> None:
    """Count two allocations as one: what a loop begins with, and what it goes on with."""
    if one is not None and other is not None and one != other:
        found.update({name: one for name, root in found.items() if root == other})


def memory_of(op: Op) -> str:
    """The memory that a load loads from, or a store or a copy stores to."""
    return op.operands[1] if op.name in ("ttg.local_store", COPY) else op.operands[0]


def written_by(op: Op) -> tuple[str, ...]:
    """The memories that an operation writes to."""
    if op.name in ("ttg.local_store", COPY):
        return op.operands[1:2]
    if op.name == "ttg.local_alloc":
        return op.results if op.operands else ()
    return op.operands if "global_to_local" in op.name or "gather" in op.name else ()
