"""The collectives of a program: what devices send to each other, and how often.

Source: HLO semantics of all-gather, all-reduce, all-to-all, collective-broadcast, collective-permute and
reduce-scatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..shapes.sizes import size_if_known
from ..shapes.values import Shape, arrays
from .instruction import Instruction
from .module import Body, Module, read_module, require_apart, require_computations
from .program import Located, Source
from .relayouts import Loop, reached, times, undefined
from .text_file import OnError, report

#: The opcodes of collectives; each may begin with -start.
COLLECTIVES = frozenset(
    "all-gather all-reduce all-to-all collective-broadcast collective-permute ragged-all-to-all reduce-scatter".split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Collective:
    """A collective that a program runs.

    line     the instruction with its place
    opcode   without -start
    read     the bytes of its operands on one device, each time that it runs
    groups   its replica groups, or pairs of source and target, as the text has them
    loops    the loops around it, the outermost first
    """

    line: Located
    opcode: str
    read: int
    groups: str
    loops: tuple[Loop, ...]

    @property
    def bytes(self) -> int:
        """Bytes of its operands in the whole run; a loop of an unknown count once."""
        return self.read * (times(self.loops) or 1)


def collectives(source: Source | Module, on_error: OnError | None = None) -> list[Collective]:
    """List the collectives that a program runs, those of most bytes first.

    source     a module, or what read_hlo takes
    on_error   as that of read_hlo; it is given operands that are not defined, too, which count as nothing

    >>> import io
    >>> text = '''ENTRY %main {
    ...   %a = f32[16,128]{1,0:T(8,128)} parameter(0)
    ...   ROOT %g = f32[64,128]{1,0:T(8,128)} all-gather(%a), replica_groups=[1,4]<=[4], dimensions={0}
    ... }'''
    >>> [(c.opcode, c.bytes, c.groups) for c in collectives(io.StringIO(text))]
    [('all-gather', 8192, '[1,4]<=[4]')]

    Raises LoweringError as relayouts does.
    Source: HLO semantics.
    """
    module = source if isinstance(source, Module) else read_module(source, on_error)
    require_computations(module)
    require_apart(module)
    return sorted(_found(module, on_error), key=lambda c: (-c.bytes, c.line.line))


def _found(module: Module, on_error: OnError | None) -> Iterator[Collective]:
    """The collectives of the computations that run, and of what is inside of their instructions, each of these once."""
    seen: set[str] = set()
    waiting = [(name, loops, False) for name, loops, _fusion in reached(module, False)]
    while waiting:
        name, loops, inside = waiting.pop()
        body = module.body(name)
        for line, operand in body.undefined() if on_error is not None else ():
            why = f"operand {operand} is not defined before it"
            report(on_error, undefined(line.instruction, why, "its instruction"), line.line)
        for line in body.lines:
            it = line.instruction
            opcode = it.opcode.removesuffix("-start")
            if opcode in COLLECTIVES:
                if not inside or not _goes_on(it, body):
                    groups = it.attributes.get("replica_groups") or it.attributes.get("source_target_pairs", "")
                    yield Collective(line, opcode, _read(it, body), groups, loops)
            elif it.opcode in _AROUND:
                waiting += [(inner, loops, True) for inner in it.called if inner not in seen]
                seen.update(it.called)


#: What may run a collective inside: a fusion, an asynchronous operation, and what a SparseCore runs.
_AROUND = frozenset({"async-start", "custom-call", "fusion"})
#: The memory space of sync flags.
_FLAGS = 2


def _goes_on(it: Instruction, body: Body) -> bool:
    """Whether a collective inside of a fusion was begun by another one, which gives it the flags of its progress."""
    given = any(_has_flags(x.instruction.shape) for _number, x in body.parameters)
    return given and not any(
        'custom_call_target="AsyncCollectiveStart"' in x.instruction._tail.words
        for x in body.lines
        if it.name in x.instruction.operand_names
    )


def _has_flags(shape: Shape) -> bool:
    return any(array.effective_layout.memory_space == _FLAGS for array in arrays(shape))


def _read(it: Instruction, body: Body) -> int:
    """The bytes of the operands."""
    total = 0
    for operand in it.operands:
        line = body.instruction(operand.name)
        shape = line.shape if operand.shape is None and line is not None else operand.shape
        total += sum(size_if_known(array) or 0 for array in arrays(shape)) if shape is not None else 0
    return total
