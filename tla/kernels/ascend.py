"""A block of Ascend as a kernel: run, checked and written out as one of threads is, with the same answers.

The threads of a core of Ascend are its pipes, its barriers flags; a line is a statement of a core by its number, as its
program has them in the order of issue.

Source: ours; the blocks are CATLASS's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..ascend.programs import AnyMatmulBlock, ConvolutionBlocks, MatmulBlock
from ..ascend.programs.memory import NOWHERE, offsets_of
from ..ascend.programs.results import Report as BlockReport
from ..ascend.programs.statements import Move, Program
from ..ascend.programs.text import require_language
from ..ascend.programs.trace import VECTOR_PIPES, Event, events
from ..ascend.programs.values import numbers_of
from ..ascend.transfers.halves import parts_of
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import shown
from ..tensors.algorithm import copy
from .block.lines import Line
from .checks.race import Race
from .checks.report import Counted, Refused, Report, Used
from .text.source import Source

#: The bytes that global memory is asked for at once, at least: AscendC's block.
SECTOR = 32
#: A kind of finding -> what was expected, and how to mend it.
_MENDED = {
    "value": ("the sum that the block is of", "look at the statements that write it, and at what they read"),
    "outside": ("places inside", "make the buffer larger, or the tile smaller"),
    "flag": ("each flag set once, and then waited for", "write SetFlag and WaitFlag in turn"),
    "order": ("one that waits for the other", "write SetFlag and WaitFlag between"),
    "pipe": ("one that waits for the other", "write PipeBarrier between"),
}


class AscendKernel:
    """A block of Ascend as a kernel: with the uses of `Kernel`, and the same answers.

    block   what ascend.block or ascend.conv_block made: its body, for all blocks of the problem and all cores

    >>> import numpy as np
    >>> from tla.ascend import block
    >>> from tla.kernels import AscendKernel
    >>> k = AscendKernel(block((40, 50, 70), (32, 32, 64), (32, 32, 32), cores=2))
    >>> c = np.zeros((40, 50), np.float16)
    >>> k.run(np.ones((40, 70)), np.ones((70, 50)), c)
    >>> bool((c == 70).all()), k.check().holds, k.source("ascendc").grid
    (True, True, (2,))

    Source: ours; CATLASS `BasicMatmulTla`.
    """

    def __init__(self, block: MatmulBlock | AnyMatmulBlock | ConvolutionBlocks) -> None:
        if not isinstance(block, (MatmulBlock, AnyMatmulBlock, ConvolutionBlocks)):
            what = f"AscendKernel of {type(block).__name__}"
            raise LeafTypeError(what, "a block", "write AscendKernel(ascend.block((1000, 700, 500), ...))")
        self.block = block

    def __repr__(self) -> str:
        return f"AscendKernel({type(self.block).__name__} of {self._sizes}, cores={self._cores})"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arrays that run takes, in their order.

        >>> from tla.ascend import block
        >>> from tla.kernels import AscendKernel
        >>> AscendKernel(block((40, 50, 70), (32, 32, 64), (32, 32, 32), bias=True)).arguments
        ('a', 'b', 'c', 'bias')
        """
        if isinstance(self.block, ConvolutionBlocks):
            return ("a", "b", "c", *(["bias"] if self.block.bias else []))
        plan = self.block.plan
        beside = (plan.bias, ["bias"]), (plan.scales, ["scale_a", "scale_b"]), (plan.channels, ["scale"])
        return ("a", "b", plan.result[0].lower(), *(name for there, names in beside if there for name in names))

    def run(self, *arguments: Any) -> None:
        """Run every block of the problem on numpy, by the cores that the schedule deals them to: each instruction as
        its fields say.

        arguments   numpy arrays or tensors, as `.arguments` names them: c is written in place, or d that an activation
                    makes; where slices of k are added, they are added to what c holds. A sparse b is given whole
        Raises      RankError for another number of arrays; what the block's execute raises

        >>> import numpy as np
        >>> from tla import dims
        >>> from tla.ascend import block
        >>> from tla.kernels import AscendKernel
        >>> every = AscendKernel(block(dims("M N K"), (32, 32, 64), (32, 32, 32)))
        >>> x, y, c = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4), np.zeros((2, 4), np.float16)
        >>> every.run(x, y, c), c.tolist()
        (None, [[20.0, 23.0, 26.0, 29.0], [56.0, 68.0, 80.0, 92.0]])

        Source: ours.
        """
        names = self.arguments
        if len(arguments) != len(names):
            what = f"{len(arguments)} arrays of a kernel of ({', '.join(names)})"
            raise RankError(what, f"{len(names)}", f"give an array for each, {names[2]} among them")
        given = {name: numbers_of(name, x) for name, x in zip(names, arguments)}
        more: dict[str, Any] = {name: given[name] for name in ("bias", "scale") if name in given}
        if "scale_a" in given:
            more["scales"] = given["scale_a"], given["scale_b"]
        if not isinstance(self.block, ConvolutionBlocks) and self.block.plan.adds:
            more["before"] = given["c"]
        copy(self.block.execute(given["a"], given["b"], **more), arguments[2])

    def check(self) -> Report:
        """Check the program of every core, in every order that its flags allow: what each pipe touches, what it races
        with, and whether each element of c is its sum.

        Returns   a Report, as Kernel.check gives: `.races` are pairs of instructions that no flag orders; `.bounds`
                  what is touched outside, flags that are not set and waited for in turn, and elements that are not
                  their sum; `.conflicts` has the sectors of global memory; `.resources` each memory of a core. A block
                  of any size is proved for all sizes, as the `.notes` say; a line of it counts the statements of a block

        >>> from tla.ascend import block
        >>> from tla.kernels import AscendKernel
        >>> print(AscendKernel(block((40, 50, 72), (32, 32, 64), (32, 32, 32), cores=2)).check())
        core 0:10  reads global memory   8 of 16 bits  440 sectors, 360 at least
        core 0:13  reads global memory   8 of 16 bits  702 sectors, 450 at least
        core 0:67  writes global memory  4 of 16 bits  195 sectors, 125 at least
        16,384 bytes of L1, of 524,288
        4,096 bytes of L0A, of 65,536
        4,096 bytes of L0B, of 65,536
        4,096 bytes of L0C, of 131,072
        no race among the pipes of 4 blocks, for these sizes
        SetFlag MTE1_M 0 may come before the one before it is waited for

        Source: ours.
        """
        if isinstance(self.block, AnyMatmulBlock):
            made = self.block.check()
            notes = (*made.proved, *(f"where {c}" for c in made.conditions))
            return _report([_Core("a core", made)], (), self._used, 0, None if made.holds else "findings", notes)
        before = self.block.paddings if isinstance(self.block, MatmulBlock) else None
        reports = [_Core(f"vector core {i}", r) for i, r in enumerate(before.reports() if before else ())]
        reports += [_Core(f"core {i}", self.block.check(i)) for i in range(self._cores)]
        every = (*(before.programs if before else ()), *self.block.programs)
        counted = _counted(zip((x.name for x in reports), every))
        return _report(reports, counted, self._used, self._blocks, "sizes that are given", ())

    def source(self, target: str, *, name: str = "kernel_main") -> Source:
        """The whole kernel as text, with what its launch needs.

        target    "ascendc", "catlass" or "dsl"; a convolution is written in ascendc
        name      the name of the text's function
        Returns   Source: `.text`; `.grid`, how many cores it is launched on; `.memories`, the bytes of each that its
                  buffers take; `.conditions` on sizes that are names
        Raises    what the block's text raises

        >>> from tla.ascend import block
        >>> from tla.kernels import AscendKernel
        >>> source = AscendKernel(block((40, 50, 70), (32, 32, 64), (32, 32, 32), cores=2)).source("ascendc")
        >>> source.parameters, source.grid, dict(source.memories)["L1"]
        (('A_gm', 'B_gm', 'C_gm'), (2,), 16384)

        Source: AscendC; CATLASS.
        """
        require_language(target, name)
        if not isinstance(self.block, ConvolutionBlocks):
            text = self.block.text(target, name)
        elif target == "ascendc":
            text = self.block.text(name)
        else:
            raise LeafTypeError(f"a convolution in {target}", "in ascendc", "write source('ascendc')")
        conditions = self.block.conditions if isinstance(self.block, AnyMatmulBlock) else ()
        memories = tuple((x.what.removeprefix("bytes of "), x.used) for x in self._used)
        return Source(text, self._parameters(target), (self._cores,), 0, 0, conditions, memories=memories)

    def _parameters(self, target: str) -> tuple[str, ...]:
        """The parameters of the function of a text."""
        if target == "catlass":
            plan = self.block.plan  # type: ignore[union-attr]
            beside = (plan.scales, ("scaleA", "scaleB")), (plan.activation is not None, ("d",))
            return "m", "n", "k", "a", "b", "c", *(x for there, names in beside if there for x in names)
        if target == "dsl":
            return "gm_a", "gm_b", "gm_c"
        if not isinstance(self.block, AnyMatmulBlock):
            return tuple(f"{x}_gm" for x in self.block.tensors)
        program = self.block.program
        sizes = (x for x in program.parameters if x not in ("core", "cores"))
        return (*sizes, *(f"{b.name}_gm" for b in program.buffers.values() if b.position == "GM"))

    @property
    def _sizes(self) -> str:
        made = self.block
        return shown(made.result if isinstance(made, ConvolutionBlocks) else made.problem)

    @property
    def _cores(self) -> int:
        return self.block.cores if isinstance(self.block, AnyMatmulBlock) else len(self.block.programs)

    @property
    def _blocks(self) -> int:
        """The blocks of all cores."""
        if isinstance(self.block, MatmulBlock):
            return sum(min(b.extents) > 0 for blocks in self.block.schedule.table for b in blocks)
        return sum(map(len, self.block.table)) if isinstance(self.block, ConvolutionBlocks) else 0

    @property
    def _used(self) -> tuple[Used, ...]:
        """The bytes of each memory of a core that its buffers take, in the order in which data goes through them."""
        arch = self.block.arch if isinstance(self.block, ConvolutionBlocks) else self.block.plan.arch
        ends: dict[str, int] = {}
        for b in self.block.buffers.values():
            ends[b.position] = max(ends.get(b.position, 0), b.end)
        vectors = {*VECTOR_PIPES.values()}
        most = {place: arch.sizes["UB" if place in vectors else place] for place in ends}
        return tuple(Used(None, f"bytes of {place}", end, most[place]) for place, end in ends.items())


class _Core(NamedTuple):
    """The report of a core, by its name."""

    name: str
    report: BlockReport

    def line(self, event: Event | None) -> Line:
        """The line of an event; of none the one behind the last."""
        return Line(self.name, self.report.counts.get("events", 0) if event is None else event.index)

    @property
    def races(self) -> Iterator[Race]:
        """The pairs of instructions that nothing orders."""
        for found in self.report.findings:
            if (t := found.between) is not None:
                first, then = (f"{e.pipe} ({e.part})" if e.part else e.pipe for e in (t.first, t.second))
                who = "pipe" if t.in_pipe else "flag"
                ends = self.line(t.first), self.line(t.second)
                yield Race(who, t.memory, t.byte, first, t.written, ends[0], then, t.writes, ends[1])

    @property
    def refused(self) -> Iterator[Refused]:
        """All else that is wrong."""
        for found in self.report.findings:
            if found.between is None:
                yield Refused(self.line(found.event), RangeError(found.what, *_MENDED[found.kind]))


def _report(
    cores: Sequence[_Core],
    counted: tuple[Counted, ...],
    used: tuple[Used, ...],
    blocks: int,
    unproved: str | None,
    notes: tuple[str, ...],
) -> Report:
    """The report of a kernel, of those of its cores."""
    races = tuple(x for core in cores for x in core.races)
    refused = tuple(x for core in cores for x in core.refused)
    every = dict.fromkeys((*notes, *(n.what for core in cores for n in core.report.notes)))
    return Report(races, refused, counted, used, (), (), blocks, 0, unproved=unproved, notes=tuple(every))


def _counted(programs: Iterable[tuple[str, Program]]) -> tuple[Counted, ...]:
    """The accesses of global memory by named programs of cores: the sectors of each part, and how many it needs."""
    found: dict[tuple[str, bool], Counted] = {}
    for core, program in programs:
        for event in events(program):
            for writes, bits, offsets in _in_global(event.statement, program):
                line = Line(core, event.index)
                row = found.get((event.part, writes), Counted(line, "global memory", writes, bits, 0, 0, 0, 1))
                sectors, least = _sectors(offsets, bits)
                found[event.part, writes] = row._replace(
                    instructions=row.instructions + 1, wavefronts=row.wavefronts + sectors, least=row.least + least
                )
    return (*found.values(),)


def _in_global(statement: Any, program: Program) -> Iterator[tuple[bool, int, Any]]:
    """The sides of a move that lie in global memory: whether it writes there, the bits of an element, its offsets."""
    if not isinstance(statement, Move):
        return
    for writes, name in ((False, statement.src), (True, statement.dst)):
        if program.buffers[name].position == "GM":
            for part in parts_of(statement.instruction):
                to, begin = offsets_of(part)
                yield writes, part.element.bits, to if writes else begin[begin != NOWHERE]


def _sectors(offsets: Any, bits: int) -> tuple[int, int]:
    """The sectors that elements of so many bits touch, and the fewest that so many need."""
    import numpy as np

    first, sector = np.unique(offsets) * bits, 8 * SECTOR
    touched = np.unique(np.concatenate([first // sector, (first + bits - 1) // sector]))
    return touched.size, -(-first.size * bits // sector)
