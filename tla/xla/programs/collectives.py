"""The collectives of a program: what devices send to each other, and how often.

Source: HLO semantics of all-gather, all-reduce, all-to-all, collective-broadcast, collective-permute and
reduce-scatter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..shapes.sizes import size_if_known
from ..shapes.values import arrays
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
    walked = reached(module, False)
    found = [c for name, loops, _inside in walked for c in _of_computation(module, name, loops, on_error)]
    return sorted(found, key=lambda c: (-c.bytes, c.line.line))


def _of_computation(
    module: Module, name: str, loops: tuple[Loop, ...], on_error: OnError | None
) -> Iterator[Collective]:
    body = module.body(name)
    for line, operand in body.undefined() if on_error is not None else ():
        why = f"operand {operand} is not defined before it"
        report(on_error, undefined(line.instruction, why, "its instruction"), line.line)
    for line in body.lines:
        it = line.instruction
        opcode = it.opcode.removesuffix("-start")
        if opcode in COLLECTIVES:
            groups = it.attributes.get("replica_groups") or it.attributes.get("source_target_pairs", "")
            yield Collective(line, opcode, _read(it, body), groups, loops)
        elif it.opcode == "async-start":
            for inner in it.called:
                yield from _of_computation(module, inner, loops, on_error)


def _read(it: Instruction, body: Body) -> int:
    """The bytes of the operands."""
    total = 0
    for operand in it.operands:
        line = body.instruction(operand.name)
        shape = line.shape if operand.shape is None and line is not None else operand.shape
        total += sum(size_if_known(array) or 0 for array in arrays(shape)) if shape is not None else 0
    return total
