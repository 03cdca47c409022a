"""A program's memory, step by step: the peak of each memory space, and the buffers that make it.

Arguments, results and constants have their memory for the whole run, as the runtime gives it; all else from the
instruction that writes it to the last one that reads it. Bytes are those that the compiler allocates, padding included.

Source: the order of a scheduled module; XLA xla/hlo/utils/hlo_live_range.cc and xla/service/buffer_assignment.cc;
checked against libtpu's own account (tests/data/xla/programs).
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...core.cache import plain_memo
from ...core.errors import LoweringError, ParseError, TlaError
from ...core.garbage import uncollected
from ...core.value import open_twin
from ..shapes.array_shape import ArrayShape
from ..shapes.sizes import waste, waste_by_dimension
from .consistency import contradictions
from .flow import flow, is_flag
from .module import HEADLESS, Module, SourceLine, read_module, require_computations
from .program import Located, Source
from .ranges import Span, moved_values, whole_buffers
from .targets import TARGETS, checked_target, target_beside, target_in
from .values import Flow, Value
from .vocabulary import MOVED, REPORTED, may_lack, space_name, unknown_names


@dataclass(frozen=True, slots=True)
class Buffer:
    """One piece of memory that a program uses, while one value is in it.

    name       the instruction that writes it, and in braces which part of its result
    shape      its array; None for the table of pointers of a tuple
    bytes      what it takes, padding included
    waste      how many of these bytes hold no element
    space      the number n of its S(n)
    kind       "argument", "result", "constant", "temporary", or "local" to a computation that is applied to elements
    first, last   the steps of the schedule between which it is held, both included
    line       the instruction with its place in the file
    module     the program
    """

    name: str
    shape: ArrayShape | None
    bytes: int
    waste: int
    space: int
    kind: str
    first: int
    last: int
    line: Located
    module: Module = field(repr=False, compare=False)

    @property
    def source(self) -> tuple[SourceLine, ...]:
        """The lines of the user's program that it is from, the innermost call first."""
        return self.module.frames(self.line.instruction)

    @property
    def op_name(self) -> str:
        """The operation of the user's program, as the metadata has it; empty where there is none."""
        return self.line.instruction.metadata.get("op_name", "")

    @property
    def waste_by_dimension(self) -> tuple[int, ...]:
        """The bytes that each dimension costs by its padding; empty for a table, and where it is not known."""
        try:
            return () if self.shape is None else _waste_by_dimension(self.shape)
        except TlaError:
            return ()


@dataclass(frozen=True, slots=True)
class Peak:
    """The step of a schedule at which a memory space is fullest.

    space     the number n of S(n)
    bytes     what is held there at this step
    waste     how many of these bytes hold no element
    at        the instruction that runs then
    step      its place in the schedule, calls and loops put in place
    buffers   what is held, the largest first
    capacity  what one core has of the space for a program [bytes]; None where the generation or the size of
              the space is not known
    """

    space: int
    bytes: int
    waste: int
    at: Located
    step: int
    buffers: tuple[Buffer, ...]
    capacity: int | None = None

    @property
    def name(self) -> str:
        """The name of the space."""
        return space_name(self.space)

    @property
    def reported_name(self) -> str:
        """The name in the TPU compiler's memory usage report: "hbm" for S(3), which is CMEM, on v4."""
        return REPORTED.get(self.space, f"color_{self.space}")


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a program over its schedule.

    module     the program
    peak       by memory space, as S(n) numbers it: where it is fullest
    curves     by memory space: the bytes that are held at each step
    reported   arguments, results and constants, and the temporaries of the space that has most of them at one step:
               what XLA reports as peak_memory_in_bytes. In VMEM and CMEM it counts an update in place as two values,
               the old and the new one [bytes]
    steps      the instructions in the order in which they run; a loop's condition and body once
    buffers    everything that takes memory, in the order in which it is written
    warnings   what could not be followed, with line numbers
    target     the generation that it was compiled for; None where nothing says it
    missing    those warnings for which a part of the program may be missing from this account: all but names that are
               not known, which have their rule
    """

    module: Module
    peak: Mapping[int, Peak]
    curves: Mapping[int, tuple[int, ...]]
    reported: int
    steps: tuple[Located, ...]
    buffers: tuple[Buffer, ...]
    warnings: tuple[str, ...]
    target: str | None = None
    missing: tuple[str, ...] = ()


@uncollected()
def memory(source: Source, scheduled: bool | None = None, target: str | None = None) -> Memory:
    """The memory that a program uses while it runs, from the text of its optimized, scheduled HLO module.

    source      a path, or an open file; see read_hlo
    scheduled   whether the order of the text is that of the run; by default what the module's header says
    target      the generation that it was compiled for: v2 v3 v4 v5e v5p v6e tpu7x; by default what the file
                target_arguments.txt says that --xla_dump_to writes beside the text, or what the text shows
    Raises      LoweringError for a module that is not scheduled, or has no ENTRY, or calls what is not there;
                ParseError for a file that is no HLO text. A line that cannot be read becomes a warning.

    >>> import io
    >>> text = '''HloModule m, is_scheduled=true
    ... ENTRY %main (a: f32[16,128]) -> f32[16,128] {
    ...   %a = f32[16,128]{1,0:T(8,128)} parameter(0)
    ...   %b = f32[16,128]{1,0:T(8,128)} negate(%a)
    ...   %c = f32[16,128]{0,1:T(8,128)} copy(%b)
    ...   ROOT %d = f32[16,128]{1,0:T(8,128)} copy(%c)
    ... }'''
    >>> peak = memory(io.StringIO(text)).peak[0]
    >>> peak.bytes, peak.waste, peak.at.instruction.name
    (90112, 57344, 'c')
    >>> [(b.name, b.bytes, b.kind) for b in peak.buffers]
    [('c', 65536, 'temporary'), ('a', 8192, 'argument'), ('d', 8192, 'result'), ('b', 8192, 'temporary')]

    Source: XLA xla/hlo/utils/hlo_live_range.cc.
    """
    target = checked_target(target) or target_beside(source)
    errors: list[ParseError] = []
    module = read_module(source, errors.append)
    require_computations(module, errors)
    if not (module.is_scheduled if scheduled is None else scheduled):
        name = module.name or "without a header"
        what = f"module {name} is not scheduled: its text does not say in which order it runs"
        fix = "take the text after optimizations; or memory(path, scheduled=True) for the order as it is"
        raise LoweringError(what, "is_scheduled=true in its header", fix)
    found = flow(module, target)
    headless = () if module.header else (HEADLESS,)
    unread = [error.reason.what.splitlines()[0] for error in errors]
    unknown, contrary = unknown_names(module), contradictions(module)
    absent = [text for text in unknown if may_lack(text)]
    missing = (*unread, *headless, *absent, *found.warnings, *contrary)
    return _memory(found, (*unread, *headless, *unknown, *found.warnings, *contrary), missing, target)


def held_buffers(found: Flow) -> tuple[Buffer, ...]:
    """Everything that takes memory in a program, in the order in which it is written."""
    return _in_order(found, whole_buffers(found))


def _in_order(found: Flow, whole: Mapping[int, str]) -> tuple[Buffer, ...]:
    return tuple(sorted(_held(found, whole), key=_TIMES))


_TIMES = operator.attrgetter("first", "last")


def _memory(found: Flow, warnings: tuple[str, ...], missing: tuple[str, ...], target: str | None) -> Memory:
    whole, count = whole_buffers(found), len(found.steps)
    held = _in_order(found, whole)
    by_space: dict[int, list[Buffer]] = {space: [] for space in sorted({b.space for b in held})}
    for b in held:
        by_space[b.space].append(b)
    curves = {space: _curve(there, count) for space, there in by_space.items()}
    target = target or target_in(frozenset(curves))
    sizes = TARGETS[target].capacity if target else {}
    peaks = {space: _peak(space, curve, by_space[space], found, sizes.get(space)) for space, curve in curves.items()}
    ends = [b.bytes for b in held if b.kind in ("argument", "result", "constant")]
    rest = [_temporaries(found, there, space, whole) for space, there in by_space.items()]
    reported = sum(ends) + max((max(_curve(spans, count)) for spans in rest), default=0)
    return Memory(found.module, peaks, curves, reported, tuple(found.steps), held, warnings, target, missing)


def _held(found: Flow, whole: Mapping[int, str]) -> Iterator[Buffer]:
    """The buffers of a program, each for as long as it is held."""
    end = len(found.steps) - 1
    joined, done = found.joined(), set[tuple[int, int]]()
    lost: dict[int, int] = {}  # by identity of the shape: equal texts are one
    for number, value in enumerate(found.values):
        if not value.bytes or value.same != number:
            continue
        buffer, values = number, [value]
        if value.buffer != number or number in joined:
            buffer = found.buffer(number)
            if (buffer, value.space) in done:
                continue
            done.add((buffer, value.space))
            values = [v for v in joined[buffer] if v.bytes and v.space == value.space]
        kind = whole.get(buffer)
        for v, first, last in _spans(values) if kind is None else ((values[0], 0, end),):
            if (wasted := lost.get(id(v.shape))) is None:
                lost[id(v.shape)] = wasted = 0 if v.shape is None or is_flag(v.shape) else _waste(v.shape)
            yield _buffer(found, v, wasted, kind or v.kind, first, min(last, end))


_waste, _waste_by_dimension = plain_memo(waste), plain_memo(waste_by_dimension)


def _spans(values: list[Value]) -> list[tuple[Value, int, int]]:
    """The times in which a buffer is held: values that follow one another are one, with the name of the first."""
    if len(values) == 1:
        return [(values[0], values[0].start, values[0].end)]
    found, values = [], sorted(values, key=lambda v: (v.start, v.end))
    begin, end = values[0], values[0].end
    for value in values:
        if value.start > end + 1:
            found.append((begin, begin.start, end))
            begin = value
        end = max(end, value.end)
    found.append((begin, begin.start, end))
    return found


def _temporaries(found: Flow, there: Sequence[Buffer], space: int, whole: Mapping[int, str]) -> Sequence[Buffer | Span]:
    """The part of a memory space that XLA's peak counts, in addition to what is there for the whole run.

    In a space that the compiler moves values into (VMEM, CMEM) each value by itself: of an update in place the old
    value and the new one. In every other one the buffers.
    """
    if space in MOVED:
        return [*moved_values(found, space, whole)]
    return [b for b in there if b.kind == "temporary" and b.shape is not None]


def _buffer(found: Flow, value: Value, lost: int, kind: str, first: int, last: int) -> Buffer:
    name, line = value.name, value.line
    if value.path or value.shape is None:
        name = f"{name}{{{','.join(map(str, value.path))}}}"
    new = _Buffer()
    new.name, new.shape, new.bytes, new.waste, new.space = name, value.shape, value.bytes, lost, value.space
    new.kind, new.first, new.last, new.line, new.module = kind, first, last, line, found.module
    new.__class__ = Buffer
    made: Buffer = new
    return made


_Buffer = open_twin(Buffer)


def _curve(held: Sequence[Buffer | Span], count: int) -> tuple[int, ...]:
    change = [0] * (count + 1)
    for b in held:
        change[b.first] += b.bytes
        change[b.last + 1] -= b.bytes
    return tuple(itertools.accumulate(change[:-1]))


def _peak(space: int, curve: tuple[int, ...], held: Sequence[Buffer], found: Flow, capacity: int | None) -> Peak:
    top = max(curve)
    step = curve.index(top)
    there = [b for b in held if b.first <= step <= b.last]
    there.sort(key=lambda b: (-b.bytes, b.first, b.name))
    return Peak(space, top, sum(b.waste for b in there), found.steps[step], step, tuple(there), capacity)
