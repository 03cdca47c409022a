"""Matrix products as blocks: all that a kernel of CATLASS has for one, in one value that is checked, executed, counted and written out.

Source: CATLASS `BasicMatmulTla` with `BlockMmadTla`; the swizzles are those of block_swizzle.hpp.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.element import half
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown, size
from ...core.ints import IntLike, leaf
from ...core.layout import Layout, require_origin
from ...core.values import rounded
from ..architecture import AtlasA2, as_architecture
from ..element import as_element
from ..recognize import recognize
from ..schedules import Block, BlockSwizzle, GemmIdentityBlockSwizzle, Schedule
from ..schedules.schedule import sizes_of
from ..tags import RowMajor, Tag, zN
from .block import L1_TAGS, Core, Operand, Plan, Tiling
from .check import Product, Report, check_program
from .estimate import Clock, Estimate, Span, estimated, rates_of
from .mmad import accumulator_of
from .statements import Buffer, Move, Multiply, Program
from .text import text_of
from .trace import Event, events
from .values import dtype_of, execute_program

if TYPE_CHECKING:
    import numpy.typing as npt

#: How far apart the tensors of a program begin in global memory [bytes].
_APART = 1 << 40
#: The stages of each memory, where nothing else is said.
STAGES = {"L1": 2, "L0A": 2, "L0B": 2, "L0C": 1}


class Work(NamedTuple):
    """The instructions of a pipe along one path, counted over all cores of a block.

    pipe           MTE2, MTE1, M or FIX;  path   "GM to L1"; of Mmad "L0A, L0B to L0C"
    instructions   how many
    bytes          that they write, elements behind the edge of a fractal included; of Mmad 0
    products       the multiplications of a Mmad's m * n * k; of a move 0

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

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The buffers of the core by name, with their addresses [bytes]: each stage is one."""
        return self.plan.buffers

    @functools.cached_property
    def tensors(self) -> Mapping[str, Buffer]:
        """The tensors in global memory by name: A, B, C, and bias where there is one, in a buffer of whole 32 bytes."""
        plan = self.plan
        found = [Buffer(n, "GM", x.element, x.layout, i * _APART) for i, (n, x) in enumerate(zip("ABC", (plan.a, plan.b, plan.c)), 1)]
        if plan.bias:
            n, unit = self.problem[1], int(plan.total.C0)
            room = Layout((-(-n // unit) * unit,), (1,), (n,))  # the last unit of a vector is read whole
            found.append(Buffer("bias", "GM", plan.total, room, 4 * _APART))
        return {b.name: b for b in found}

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each core: its buffers, and its statements in the order of issue."""
        return tuple(self._program(blocks) for blocks in self.schedule.table)

    def _program(self, blocks: tuple[Block, ...]) -> Program:
        return Program(self.plan.arch, {**self.tensors, **self.buffers}, tuple(Core(self.plan).statements(blocks)))

    def check(self, core: IntLike | None = None) -> Report:
        """Check the program of every core, or of one: what it writes is what it should be, whatever runs first that may.

        Returns   Report: the findings, with `holds`; notes are what CATLASS takes for granted too

        >>> from tla.ascend import block, float32, ColumnMajor
        >>> block((33, 17, 85), (32, 32, 64), (32, 32, 32), a=(float32, ColumnMajor), b=float32, c=float32).check().holds
        True
        """
        table = [*zip(self.programs, self.schedule.table)]
        chosen = table if core is None else [table[int(leaf(core))]]
        return functools.reduce(_both, (check_program(p, [self._result(blocks)]) for p, blocks in chosen))

    def _result(self, blocks: tuple[Block, ...]) -> Product:
        made = tuple(b for b in blocks if min(b.extents) > 0)
        return Product("C", "A", "B", "bias" if self.plan.bias else None, made, self.plan.adds)

    def text(self, language: str = "ascendc", name: str = "kernel_main") -> str:
        """The kernel as text: of all cores, each by its number.

        language   "ascendc": every statement that check looks at, those that repeat in loops; for this problem alone. "catlass": the types
                   of CATLASS's BasicMatmulTla, for problems of any size
        name       of the kernel
        Raises     LeafTypeError for what CATLASS's kernel does not compute (biases, an epilogue, slices of k, other stages and swizzles),
                   and for types without a name; RangeError for another language, and for more than a million statements

        >>> from tla.ascend import block
        >>> b = block((64, 64, 256), (64, 64, 64), (64, 64, 32))
        >>> [line.strip() for line in b.text().splitlines() if "l1A1 =" in line]
        ['auto l1A1 = L1.Get<uint8_t>()[8192].ReinterpretCast<half>();']
        >>> [line for line in b.text("catlass").splitlines() if "Policy =" in line]
        ['using Policy = Gemm::MmadPingpong<ArchTag, false, false>;']

        Source: AscendC; CATLASS examples/13_basic_matmul_tla.
        """
        return text_of(self.plan, self.schedule, lambda: self.programs, language, name)

    @property
    def traffic(self) -> tuple[Work, ...]:
        """The work of the pipes of all cores in all: a row for each pair of memories, and one for Mmad, in the order of first use.

        >>> from tla.ascend import block
        >>> for work in block((150, 300, 520), (128, 256, 256), (128, 256, 64)).traffic: print(*work)
        MTE2 GM to L1 24 936000 0
        MTE1 L1 to L0A 180 337920 0
        MTE1 L1 to L0B 132 642048 0
        M L0A, L0B to L0C 36 0 23400000
        FIX L0C to GM 4 90000 0
        """
        found: dict[tuple[str, str], Work] = {}
        for program in self.programs:
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

        Raises LeafTypeError where no rates are published (Ascend950), and none are given.
        """
        return estimated(self.plan, self.schedule, rates_of(self.plan.arch, rates))

    def execute(self, a: npt.NDArray[Any], b: npt.NDArray[Any], bias: npt.NDArray[Any] | None = None) -> Any:
        """Execute the programs of all cores on numpy arrays: every instruction as its fields say, in memories that hold nothing before.

        a, b      arrays of (m, k) and (k, n);  bias  of n, where the block has one
        Returns   the array of (m, n) that is in global memory then, of C's type; NaN is an element that nothing has written

        >>> import numpy as np
        >>> from tla.ascend import block
        >>> x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
        >>> block((2, 4, 3), (32, 32, 32), (32, 32, 16)).execute(x, y)
        array([[20., 23., 26., 29.],
               [56., 68., 80., 92.]], dtype=float16)

        Raises RangeError for arrays of other sizes, values that a type does not hold, and for biases without need.
        """
        import numpy as np

        if (bias is not None) != self.plan.bias:
            given = "biases for a block without them" if bias is not None else "no biases for a block with them"
            raise RangeError(given, f"bias={'None' if bias is not None else f'an array of {self.problem[1]}'}", "make the block so")
        held = {"A": a, "B": b, **({"bias": bias} if bias is not None else {})}
        result: Any = np.zeros(self.problem[:2]) if self.plan.adds else None
        for program in self.programs:
            done = execute_program(program, {**held, **({"C": result} if self.plan.adds else {})})
            result = _merged(result, done.get("C"), self.plan.adds)
        dtype = dtype_of(self.plan.c.element)
        if dtype.kind in "iu" and np.isnan(result).any():
            raise RangeError(f"{int(np.isnan(result).sum())} elements of C that nothing has written", "all", "check() says why")
        return rounded(np.asarray(result), dtype)


def _work_of(event: Event, program: Program) -> Work | None:
    """The work of an event that moves or multiplies; None of others."""
    s = event.statement
    if isinstance(s, Move):
        dst, src = (program.buffers[name].position for name in (s.dst, s.src))
        valid = size(require_origin("what an instruction writes", s.instruction.moved.dst))
        return Work(event.pipe, f"{src} to {dst}", 1, int(valid) * s.instruction.element.bits // 8, 0)
    if isinstance(s, Multiply):
        return Work(event.pipe, "L0A, L0B to L0C", 1, 0, math.prod(int(s.instruction.parameters[x]) for x in "mnk"))
    return None


def _merged(before: npt.NDArray[Any] | None, after: npt.NDArray[Any], adds: bool) -> npt.NDArray[Any]:
    """Merge what global memory holds with what one more core has written."""
    import numpy as np

    return after if before is None or adds else np.where(np.isnan(after), before, after)


def _both(x: Report, y: Report) -> Report:
    """Two reports as one."""
    counts = {name: x.counts[name] + y.counts[name] for name in x.counts}
    notes = {n.what: n for n in (*x.notes, *y.notes)}
    return Report((*x.findings, *y.findings), tuple(notes.values()), counts)


def block(
    problem: Any,
    l1: Any,
    l0: Any,
    arch: Any = AtlasA2,
    *,
    a: Any = half,
    b: Any = half,
    c: Any = half,
    bias: bool = False,
    stages: Any = 2,
    unit_flag: bool = False,
    quant: str = "NO_QUANT",
    scale: float | None = None,
    relu: bool = False,
    swizzle: BlockSwizzle = GemmIdentityBlockSwizzle[3, 0],
    cores: Any = 1,
    splitkFactor: Any = 1,
) -> MatmulBlock:
    """A matrix product in blocks, as CATLASS's BlockMmadTla computes it: C = A @ B + bias.

    problem        (m, n, k) [elements]
    l1, l0         (m, n, k) of what L1 and L0 hold at a time; m and n are the same, k of L1 is a multiple of that of L0
    arch           AtlasA2, AtlasA3, Ascend950, or a name
    a, b, c        the element type, or (type, tag), or (type, layout) of each matrix: A is (m, k), B (k, n), C (m, n)
    bias           whether a vector of n, of the accumulator's type, is added
    stages         how many tiles L1, L0A and L0B hold of each matrix: an integer for all three, or {"L1": 2, "L0A": 2, "L0B": 2, "L0C": 1}
    unit_flag      whether Fixpipe begins while Mmad still runs, by the hardware's own flags
    quant, scale   how values are scaled on the way out (随路量化): "PER_TENSOR" by `scale`;  relu  whether negative ones become 0
    swizzle        how blocks are dealt to `cores`;  splitkFactor  into how many slices k is cut, which are added in C by atomic adds
    Returns        MatmulBlock
    Raises         LeafTypeError for types and tags that no instruction has; RangeError for tiles that do not fit, or lie at no whole unit;
                   Unproven for a transfer that is not proved to be right, and for sizes that are names

    >>> from tla.ascend import block, int8, int32, ColumnMajor, Ascend950
    >>> b = block((100, 90, 300), (64, 64, 128), (64, 64, 64), Ascend950, a=int8, b=(int8, ColumnMajor), c=int32, cores=2)
    >>> b.check().holds, b.schedule.tasks
    (True, 4)

    Source: CATLASS `BlockMmadTla`, `BasicMatmulTla`.
    """
    arch = as_architecture(arch)
    sizes, tiles, inner = (_sizes(what, x) for what, x in (("problem", problem), ("l1", l1), ("l0", l0)))
    m, n, k = sizes
    left, right, out = (_operand(name, given, shape) for name, given, shape in (("a", a, (m, k)), ("b", b, (k, n)), ("c", c, (m, n))))
    _require_tiles(tiles, inner, max(16, int(left.element.C0), int(right.element.C0)))
    total = accumulator_of(left.element, right.element, arch)
    factor = int(leaf(splitkFactor))
    if factor > 1 and (bias or out.element != total):
        what = "biases" if bias else f"C of {out.element}"
        raise LeafTypeError(f"splitkFactor={factor} with {what}", f"c={total}, and no biases: slices are added in C", "add them afterwards")
    schedule = swizzle(sizes, tiles, cores=cores, splitkFactor=splitkFactor)
    adds = factor > 1 or any(b.extents[2] < k for blocks in schedule.table for b in blocks)
    tiling = Tiling(tiles, inner, _stages(stages, unit_flag, bias))
    plan = Plan(arch, left, right, out, total, bias, tiling, unit_flag, quant, scale, relu, adds)
    _ = plan.buffers
    return MatmulBlock(sizes, plan, schedule)


def _sizes(what: str, given: object) -> tuple[int, int, int]:
    m, n, k = sizes_of(f"the {what} of a block", given)
    return m, n, k


def _require_tiles(l1: tuple[int, int, int], l0: tuple[int, int, int], unit: int) -> None:
    """RangeError for tiles that do not go together, or that a transpose would not move in whole squares."""
    if l1[:2] != l0[:2] or min(*l1, *l0) < 1 or l1[2] % l0[2]:
        expected = "the same m and n, and in L1 a k that is a multiple"
        raise RangeError(f"tiles of {shown(l1)} in L1 and {shown(l0)} in L0", expected, f"write l0=({l1[0]}, {l1[1]}, {l1[2]})")
    if any(n % unit for n in (*l1, *l0)):
        near = shown(tuple(-(-n // unit) * unit for n in l1))
        raise RangeError(f"tiles of {shown(l1)} and {shown(l0)}", f"multiples of {unit}", f"take {near} in L1")


def _operand(name: str, given: Any, shape: tuple[int, int]) -> Operand:
    """A matrix by its element type, or with its tag or its layout."""
    element, how = given if isinstance(given, tuple) and len(given) == 2 else (given, RowMajor)
    element = as_element(element)
    if isinstance(how, Layout):
        found = recognize(how, element)
        tag, layout = (found.tag if found else None), how
        if tuple(map(int, require_origin("a matrix", layout))) != shape:
            raise RangeError(f"{name} of {shown(layout.origin_shape)}", f"{shown(shape)}", "make the layout with these sizes")
    elif isinstance(how, Tag):
        tag, layout = how, how.MakeLayout(element, *shape)
    else:
        raise LeafTypeError(f"{name}={given!r:.60}", "an element type, (type, tag) or (type, layout)", f"write {name}=(half, RowMajor)")
    wanted = (RowMajor, zN) if name == "c" else (*L1_TAGS,)
    if tag is None or tag not in wanted:
        raise LeafTypeError(f"{name} of the tag {tag}", f"one of {', '.join(map(str, wanted))}", f"write {name}=({element}, RowMajor)")
    return Operand(element, tag, layout)


def _stages(given: Any, unit_flag: bool, bias: bool) -> dict[str, int]:
    """The stages of each memory; RangeError where there are more than there are events."""
    told = {**STAGES, **given} if isinstance(given, Mapping) else {**STAGES, **dict.fromkeys(("L1", "L0A", "L0B"), int(leaf(given)))}
    if unknown := sorted({*told} - {*STAGES}):
        raise LeafTypeError(f"stages of {unknown[0]}", f"of {', '.join(STAGES)}", 'write stages={"L1": 2}')
    found = {name: int(leaf(n)) for name, n in told.items()}
    if min(found.values()) < 1 or (unit_flag and found["L0C"] != 1):
        raise RangeError(f"the stages {found}", "1 or more, and one of L0C with unit_flag", "write stages=2")
    if max(2 * found["L1"], found["L0A"] + found["L0B"]) + bias > 8:
        raise RangeError(f"the stages {found}", "at most 8 events of A and B in L1, and in L0, 7 with biases", "take fewer stages")
    return found
