"""Matrix products as blocks: all that a kernel of CATLASS has for one, in one value that is checked, executed, counted
and written out.

Source: CATLASS `BasicMatmulTla` with `BlockMmadTla`; the swizzles are those of block_swizzle.hpp.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.element import fp8_e8m0, uint8
from ...core.errors import RangeError
from ...core.int_tuple import size
from ...core.ints import IntLike
from ...core.layout import Layout, require_origin
from ...core.leaf_arithmetic import ceil_div
from ...core.values import rounded
from ..element import dtype_of
from ..schedules import Block, Schedule
from ..transfers.side import plain
from .block import Core, Plan
from .channels import channel_numbers, scale_in_gm
from .check import check_program
from .estimate import Clock, Estimate, Span, estimated, rates_of
from .paddings import Paddings
from .results import Product, Report, of_cores, together
from .scales import padded_scales, scales_in_gm
from .sparse import densified, index_layout
from .statements import Buffer, Compute, Move, Multiply, Program, in_gm
from .text import text_of
from .trace import VECTOR_PIPES, Event, events, kind_of, require_events
from .values import execute_program, merged

if TYPE_CHECKING:
    import numpy.typing as npt


#: The events of a part of k at least: flags, the loads to L0, and Mmad.
_EVENTS = 9
#: The memories of vector cores, as one is called.
_MEMORY = dict.fromkeys(VECTOR_PIPES.values(), "UB")


class Work(NamedTuple):
    """The instructions of a pipe along one path, counted over all cores of a block.

    pipe           MTE2, MTE1, M or FIX; MTE2, V or MTE3 of vector cores;  path   "GM to L1"; of Mmad "L0A, L0B to L0C"
    instructions   how many
    bytes          that they write, elements behind the edge of a fractal included; of Mmad and of V 0
    products       the multiplications of a Mmad's m * n * k, of a sparse one half as many; of a move 0

    >>> from tla.ascend import block
    >>> block((32, 32, 32), (32, 32, 32), (32, 32, 32)).traffic[0]
    Work(pipe='MTE2', path='GM to L1', instructions=2, bytes=4096, products=0)

    Source: ours; counted from the fields of the instructions.
    """

    pipe: str
    path: str
    instructions: int
    bytes: int
    products: int


@dataclass(frozen=True)
class MatmulBlock:
    """A matrix product in blocks, for cores of Ascend: `ascend.block(...)` makes it.

    problem    (m, n, k) [elements];  plan  matrices, tiles, buffers, and what is done with the result
    schedule   which core computes which block
    paddings   the matrices that vector cores lay out anew before (Paddings), or None

    >>> from tla.ascend import block
    >>> b = block((150, 300, 520), (128, 256, 256), (128, 256, 64))
    >>> print(b.buffers["l1B1"].address, b.check())
    262144 holds: 731 events, 45000 elements of results
    note: SetFlag MTE1_M 0 may come before the one before it is waited for

    Source: CATLASS `BasicMatmulTla`.
    """

    problem: tuple[int, int, int]
    plan: Plan
    schedule: Schedule
    paddings: Paddings | None = None

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The buffers of the core by name, with their addresses [bytes]: one a stage; of paddings those in UB too."""
        return self.plan.buffers if self.paddings is None else {**self.plan.buffers, **self.paddings.buffers}

    @functools.cached_property
    def tensors(self) -> Mapping[str, Buffer]:
        """The tensors in global memory by name: A, B, C, and bias where there is one, in a buffer of whole 32 bytes; WA
        is the workspace of an A that is laid out anew."""
        found = tensors_of(self.plan, self.problem[1])
        every = {**found, **({} if self.paddings is None else self.paddings.tensors)}
        return dict(sorted(every.items(), key=lambda x: x[1].address))

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each core for matrices: its buffers, and its statements in the order of issue."""
        idle = self._program(())  # of any number of cores without a block
        return tuple(self._program(blocks) if blocks else idle for blocks in self.schedule.table)

    def require_few(self, blocks: tuple[Block, ...]) -> None:
        """RangeError for blocks of a core of more statements than are gone through one by one."""
        require_events(sum(-(-b.extents[2] // self.plan.tiling.l0[2]) * _EVENTS for b in blocks))

    def _program(self, blocks: tuple[Block, ...]) -> Program:
        self.require_few(blocks)
        return Program(self.plan.arch, {**self.tensors, **self.plan.buffers}, tuple(Core(self.plan).statements(blocks)))

    def check(self, core: IntLike | None = None) -> Report:
        """Check the program of every core, or of one: what it writes is what it should be, whatever runs
        first that may.

        core      the number of a core for matrices; None: of all, and of the vector cores that lay matrices out anew
        Returns   Report: the findings, with `holds`; notes are what CATLASS takes for granted too
        Raises    RangeError for a core that there is not

        >>> from tla.ascend import block, float32, ColumnMajor
        >>> block((33, 17, 85), (32, 32, 64), (32, 32, 32), a=(float32, ColumnMajor), b=float32, c=float32).check().holds
        True
        """
        chosen = of_cores([*zip(self.programs, self.schedule.table)], core)
        before = self.paddings.reports() if self.paddings is not None and core is None else ()
        checked: dict[int, Report] = {}  # cores without a block have one program
        for p, blocks in chosen:
            checked[id(p)] = checked.get(id(p)) or check_program(p, self.results(blocks))
        return together([*before, *(checked[id(p)] for p, _ in chosen)])

    def results(self, blocks: tuple[Block, ...]) -> list[Product]:
        """The results that a core with these blocks leaves in global memory; before that of an activation C in the
        workspace that it is taken from."""
        made, of = self.result(blocks), self.plan.activation
        return [made] if of is None else [*[made] * ("C" in self.tensors), made._replace(c="D", activation=of)]

    def result(self, blocks: tuple[Block, ...]) -> Product:
        """The part of the product that a core with these blocks makes."""
        made = tuple(b for b in blocks if min(b.extents) > 0)
        scales = ("scaleA", "scaleB") if self.plan.scales else None
        bias, index = ("bias" if self.plan.bias else None), ("index" if self.plan.sparse else None)
        left, right = map(self.plan.source, "AB")
        channels = "scale" if self.plan.channels else None
        more: dict[str, Any] = {"relu": self.plan.relu, "conversion": self.plan.conversion}
        return Product("C", left, right, bias, made, self.plan.adds, scales, index, channels, **more)

    def text(self, language: str = "ascendc", name: str = "kernel_main") -> str:
        """The kernel as text: of all cores, each by its number.

        language   "ascendc": every statement that check looks at, those that repeat in loops; for this problem alone.
                   For problems of any size: "catlass": the types of CATLASS's BasicMatmulTla; "dsl": the kernel in
                   CATLASS's Python DSL, which is for Ascend950, with the same flags, stages and tiles
        name       of the kernel
        Raises     LeafTypeError for what CATLASS's kernel or DSL does not compute (biases, an epilogue, slices of k,
                   other stages and swizzles), and for types without a name; RangeError for another language, and for
                   more than a million statements

        >>> from tla.ascend import block
        >>> b = block((64, 64, 256), (64, 64, 64), (64, 64, 32))
        >>> [line.strip() for line in b.text().splitlines() if "l1A1 =" in line]
        ['auto l1A1 = L1.Get<uint8_t>()[8192].ReinterpretCast<half>();']
        >>> [line for line in b.text("catlass").splitlines() if "Policy =" in line]
        ['using Policy = Gemm::MmadPingpong<ArchTag, false, false>;']

        Source: AscendC; CATLASS examples/13_basic_matmul_tla.
        """
        before = () if self.paddings is None else self.paddings.programs
        return text_of(self.plan, self.schedule, lambda: self.programs, language, name, before)

    @property
    def traffic(self) -> tuple[Work, ...]:
        """The work of the pipes of all cores in all: a row for each pair of memories, and one for Mmad, in the
        order of first use.

        >>> from tla.ascend import block
        >>> for work in block((150, 300, 520), (128, 256, 256), (128, 256, 64)).traffic: print(*work)
        MTE2 GM to L1 24 936000 0
        MTE1 L1 to L0A 180 337920 0
        MTE1 L1 to L0B 132 642048 0
        M L0A, L0B to L0C 36 0 23400000
        FIX L0C to GM 4 90000 0
        """
        found: dict[tuple[str, str], Work] = {}
        for program in (*(() if self.paddings is None else self.paddings.programs), *self.programs):
            for event in events(program):
                work = _work_of(event, program)
                if work is not None:
                    before = found.get(work[:2], Work(*work[:2], 0, 0, 0))
                    found[work[:2]] = Work(*work[:2], *(x + y for x, y in zip(before[2:], work[2:])))
        return (*found.values(),)

    def timeline(self, core: IntLike = 0, rates: Any = None) -> tuple[Span, ...]:
        """The transfers and products of a core over time, predicted, in the order of issue.

        core    its number;  rates  a Rates; by default those published for the architecture

        >>> from tla.ascend import block
        >>> for span in block((64, 64, 64), (64, 64, 64), (64, 64, 32)).timeline()[:4]: print(*span)
        MTE2 0 274 A to L1 0
        MTE2 274 548 B to L1 0
        MTE1 274 316 A to L0 0
        MTE1 548 606 B to L0 0

        Raises RangeError for a core that there is not, LeafTypeError where no rates are published.
        """
        return tuple(Clock(self.plan, rates_of(self.plan.arch, rates)).spans(self.schedule.core(core)))

    def estimate(self, rates: Any = None) -> Estimate:
        """Predict how long the kernel takes: from bytes, runs and products of its instructions, and from its flags.

        rates   a Rates; by default those published for the architecture

        >>> from tla.ascend import block
        >>> e = block((4096, 4096, 4096), (128, 256, 256), (128, 256, 64), cores=20).estimate()
        >>> e.bound, e.cycles, e.steps[1]
        ('M', 880830, {'MTE2': 1956, 'MTE1': 1488, 'M': 2048})

        Raises LeafTypeError where no rates are published (Ascend950), and none are given; RangeError for more than a
        million products of one core.
        """
        return estimated(self.plan, self.schedule, rates_of(self.plan.arch, rates), self.paddings)

    def execute(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        bias: npt.NDArray[Any] | None = None,
        scales: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
        before: npt.NDArray[Any] | None = None,
        scale: npt.NDArray[Any] | None = None,
    ) -> Any:
        """Execute the programs of all cores on numpy arrays: every instruction as its fields say, in memories that hold
        nothing before.

        a, b      arrays of (m, k) and (k, n), of a sparse block all of b;  bias  of n, where the block has one
        scales    of a block with scales, those of A and B: arrays of (m, k / 32) and (k / 32, n), rounded up
        before    what C holds before, of a block that adds slices of k to it; None for zeros
        scale     of a block with quant="PER_CHANNEL", an array of n: float32, by which the columns are multiplied
        Returns   the array of (m, n) that is in global memory then, of C's type, with an activation of D's; NaN is an element that
                  nothing has written

        >>> import numpy as np
        >>> from tla.ascend import block
        >>> x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
        >>> block((2, 4, 3), (32, 32, 32), (32, 32, 16)).execute(x, y)
        array([[20., 23., 26., 29.],
               [56., 68., 80., 92.]], dtype=float16)

        Raises RangeError for arrays of other sizes, values that a type does not hold, and for biases without need.
        """
        beside = padded_scales(self.problem, self.plan.scales, scales)
        beside |= channel_numbers(self.problem[1], self.plan.channels, scale)
        if self.plan.sparse:
            b, beside["index"] = densified(b, (self.problem[2], self.problem[1]))
        busy: Iterable[tuple[Program, dict[str, int]]] = (
            (p, {}) for p, blocks in zip(self.programs, self.schedule.table) if blocks
        )
        return executed(self, busy, a, b, bias, beside, before)


def _work_of(event: Event, program: Program) -> Work | None:
    """The work of an event that moves or multiplies; None of others."""
    s = event.statement
    if isinstance(s, Move):
        dst, src = (_MEMORY.get(p := program.buffers[name].position, p) for name in (s.dst, s.src))
        valid = size(require_origin("what an instruction writes", s.instruction.moved.dst))
        return Work(kind_of(event.pipe), f"{src} to {dst}", 1, int(valid) * s.instruction.element.bits // 8, 0)
    if isinstance(s, Compute):
        return Work("V", "UB", len(s.instructions), 0, 0)
    if isinstance(s, Multiply):
        products = math.prod(int(s.instruction.parameters[x]) for x in "mnk") // (2 if s.instruction.sparse else 1)
        return Work(event.pipe, "L0A, L0B to L0C", 1, 0, products)
    return None


def tensors_of(plan: Plan, n: Any) -> dict[str, Buffer]:
    """The tensors in global memory by name, of n columns; biases in whole 32 bytes, as the last unit is read whole."""
    names = *map(plan.source, "AB"), "C"
    found = [in_gm(name, x.element, x.layout) for name, x in zip(names, (plan.a, plan.b, plan.c))]
    if plan.d is not None:
        found = [*found[: 2 if plan.split is not None else 3], in_gm("D", plan.d.element, plan.d.layout)]
    if plan.bias:
        unit = int(plan.total.C0)
        found.append(in_gm("bias", plan.total, Layout((ceil_div(n, unit) * unit,), (1,), (n,))))
    if plan.channels:
        found.append(scale_in_gm(n))
    if plan.sparse:
        found.append(in_gm("index", uint8, index_layout(plan.sizes[2], n)))
    if plan.scales:
        (m, k), sides = require_origin("A", plan.a.layout), (("A", plan.a.tag), ("B", plan.b.tag))
        for (which, tag), other in zip(sides, (m, n)):
            found.append(in_gm(f"scale{which}", fp8_e8m0, scales_in_gm(which, tag, plain(other), plain(k))))
    return {b.name: b for b in found}


def executed(
    block: MatmulBlock,
    programs: Iterable[tuple[Program, Mapping[str, int]]],
    a: Any,
    b: Any,
    bias: Any,
    beside: Mapping[str, Any] = {},
    before: Any = None,
) -> Any:
    """Execute the programs of a block's cores, each with its sizes; return C. Raises what MatmulBlock.execute does."""
    import numpy as np

    if (bias is not None) != block.plan.bias:
        given = "biases for a block without them" if bias is not None else "no biases for a block with them"
        expected = f"bias={'None' if bias is not None else f'an array of {block.problem[1]}'}"
        raise RangeError(given, expected, "make the block so")
    if before is not None and not block.plan.adds:
        raise RangeError("before= of a block that writes whole sums", "None", "leave it out")
    held = {"A": a, "B": b, **({"bias": bias} if bias is not None else {}), **beside}
    held |= {} if block.paddings is None else block.paddings.execute(held)
    name, x = block.plan.result
    result: Any = (np.zeros(block.problem[:2]) if before is None else before) if block.plan.adds else None
    for program, sizes in programs:
        with np.errstate(over="ignore"):  # an Exp of what is large is an infinity, as it is there
            done = execute_program(program, {**held, **({"C": result} if block.plan.adds else {})}, sizes)
        result = merged(None if block.plan.adds else result, done.get(name))
    dtype = dtype_of(x.element)
    if dtype.kind in "iu" and np.isnan(result).any():
        what = f"{int(np.isnan(result).sum())} elements of {name} that nothing has written"
        raise RangeError(what, "all", "check() says why")
    return rounded(np.asarray(result), dtype)
