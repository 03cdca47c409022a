"""A block as the text of a kernel in AscendC: every statement that was checked, in loops; and which languages there are.

The text in AscendC is the list of a core's statements, written shorter: statements that repeat, with numbers that grow
by the same steps, are a loop; and cores whose lists differ so are one list with the core's number in it. So what is
printed is what was proved.

Source: AscendC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...notation.cpp_words import CPP_WORDS
from ..element import CPP_NAMES
from ..schedules import BlockSwizzle, Schedule
from ..transfers.instruction import c_text
from .block import Plan
from .catlass import catlass
from .dsl import dsl
from .statements import Buffer, Compute, Fill, Move, Multiply, PipeBarrier, Program, SetAtomic, SetFlag, WaitFlag
from .trace import PIPES, VECTOR_CORES, VECTOR_PIPES, between_cores, ends_of, events, kind_of

#: A position -> AscendC's TPosition.
_POSITIONS = {"L1": "A1", "L0A": "A2", "L0B": "B2", "L0C": "CO1", "Bias": "C2", "FixBuf": "C2PIPE2GM"}
_POSITIONS |= dict.fromkeys(("UB", "UB0", "UB1"), "VECCALC")
#: Where the scales of an operand lie: beside it, at a sixteenth of its address -> what moves them there. `LoadData` of an
#: operand with its scales issues it behind the operand's own.
_BESIDE = {"L0AMx": "load_cbuf_to_ca_mx", "L0BMx": "load_cbuf_to_cb_mx"}
_SCALES = ("xStartPosition", "yStartPosition", "xStep", "yStep", "srcStride", "dstStride")
#: What the elements of buffers are called: those of matrices, and the words that the scales of columns are in.
_NAMES = {**CPP_NAMES, "uint64": "uint64_t"}
#: An integer of a statement that may be another one in another turn: no part of a name, of a fraction, of a template's
#: arguments, or of a list in braces, which C++ does not narrow to the strides of vector instructions.
_NUMBER = re.compile(r"(?<![\w.<])\d+(?![\w.>]|[\d, ]*\})")
#: The ids of the flags between cores by which all vector cores meet, and by which each tells its core that they have.
_MEET, _DONE = 8, 0
#: The longest run of statements that is looked for as the body of a loop.
_LONGEST = 400


class _Item(NamedTuple):
    """A statement, or a loop: the number of its form, and its integers; of a loop those of the first turn."""

    form: int
    numbers: tuple[int, ...]


class _Loop(NamedTuple):
    """The form of a loop: how many turns it has, the forms of its body, and each integer's growth from turn to turn."""

    turns: int
    body: tuple[int, ...]
    steps: tuple[int, ...]


class _Forms:
    """The forms of statements and loops, each once: a text with a place for each integer, or a loop."""

    def __init__(self) -> None:
        self.of: list[str | _Loop] = []
        self._numbers: dict[str | _Loop, int] = {}

    def number(self, form: str | _Loop) -> int:
        """The number of a form."""
        if form not in self._numbers:
            self._numbers[form] = len(self.of)
            self.of.append(form)
        return self._numbers[form]


def ascendc(
    plan: Plan, schedule: Schedule, programs: Callable[[], Sequence[Program]], name: str, before: Sequence[Program] = ()
) -> str:
    """The kernel of a block in AscendC; before: the programs of vector cores that lay matrices out anew. Raises what
    MatmulBlock.text raises."""
    cores = len(schedule.table)
    remarks = [
        f"{name}: {formula(plan)} of (m, n, k) = {shown(schedule.problem)} on {plan.arch}, {cores} cores.",
        "Made by tla from the statements that its check looks at.",
        f"Tiles of {shown(plan.tiling.l1)} in L1 and {shown(plan.tiling.l0)} in L0; blocks by {schedule.swizzle}.",
    ]
    return of_programs(programs(), name, remarks, before)


def formula(plan: Plan) -> str:
    """The formula of what a block computes."""
    product = f"A * B{' + bias' * plan.bias}"
    return f"C = {product}" if plan.activation is None else f"D = {plan.activation.name}({product})"


def of_programs(made: Sequence[Program], name: str, remarks: Iterable[str], before: Sequence[Program] = ()) -> str:
    """A kernel of its cores' programs in AscendC, below remarks; before: those of vector cores that all await."""
    held, local = _by_place(made)
    require_names([*held, *local])
    given = ", ".join(f"GM_ADDR {b.name}_gm" for b in held)
    lines = [*(f"// {line}" for line in remarks), '#include "kernel_operator.h"']
    lines += [f'extern "C" __global__ __aicore__ void {name}({given}) {{']
    lines += [f"    {line}" for b in held for line in global_tensor(b)]
    over_ub, first = not {"C", "D"} <= {b.name for b in held}, None
    if before:
        first = _side(before, _by_place(before)[1], (*PIPES, "ALL"), "AscendC::GetBlockIdx()")
    lines += [f"    {line}" for line in sides_of(local, functools.partial(_side, made), over_ub, first)]
    return "\n".join([*lines, "}", ""])


def _by_place(made: Sequence[Program]) -> tuple[list[Buffer], list[Buffer]]:
    """The buffers of programs in global memory, and those of the core."""
    buffers = made[0].buffers.values()
    return [b for b in buffers if b.position == "GM"], [b for b in buffers if b.position != "GM"]


#: What writes one side of a kernel: of its buffers, its pipes, and the number of its core in C++.
_Side = Callable[[Sequence[Buffer], Sequence[str], str], Iterable[str]]


def sides_of(
    local: Sequence[Buffer], side: _Side, over_ub: bool = True, before: Iterable[str] | None = None
) -> Iterator[str]:
    """The statements of a kernel; where vector cores have some, of each side those of its own.

    over_ub   whether Fixpipe moves to the unified buffers of vector cores
    before    the lines of vector cores that do something before: they meet, and each tells its core
    """
    vector = {b.position for b in local} & {*VECTOR_PIPES.values()}
    cube, pipes = [b for b in local if b.position != VECTOR_CORES["AIV1"]], (*PIPES, "ALL")
    if not over_ub:
        cube = [b for b in cube if b.position not in vector]
    lines = side(cube, pipes, "AscendC::GetBlockIdx()")
    if not vector and before is None:
        yield from lines
        return
    if before is not None:
        wait, mode = "AscendC::CrossCoreWaitFlag", "AscendC::CrossCoreSetFlag"
        meet = [f"{mode}<0x0, PIPE_MTE3>({_MEET});", f"{wait}({_MEET});", f"{mode}<0x2, PIPE_MTE3>({_DONE});"]
        yield from _where("ASCEND_IS_AIV", [*before, *meet])
        lines = [f"{wait}({_DONE});", *lines]
    if vector and over_ub:
        yield "static constexpr AscendC::FixpipeConfig CFG_ROW_MAJOR_UB = {AscendC::CO2Layout::ROW_MAJOR, true};"
    yield from _where("ASCEND_IS_AIC", lines)
    for i, (core, place) in enumerate(VECTOR_CORES.items()):
        if place in vector:
            own = [b for b in local if b.position == place]
            mine = side(own, _pipes_of(core), "AscendC::GetBlockIdx() / 2")
            yield from _where("ASCEND_IS_AIV", _where(f"(AscendC::GetSubBlockIdx() == {i})", mine))


def _where(condition: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines of a kernel for those of whom a condition holds."""
    yield f"if {condition} {{"
    yield from (f"    {line}" for line in lines)
    yield "}"


def _pipes_of(core: str) -> tuple[str, ...]:
    """The pipes of a vector core."""
    return tuple(pipe for pipe in VECTOR_PIPES if pipe.startswith(f"{core}."))


def _side(made: Sequence[Program], local: Iterable[Buffer], pipes: Sequence[str], core: str) -> Iterator[str]:
    """The buffers and the statements of the pipes of one side of every core; core: its number in C++."""
    forms = _Forms()
    shortened = [_shortened(_items(program, forms, pipes), forms) for program in made]
    cores = [_Item(forms.number(_Loop(1, tuple(x.form for x in items), ())), _all(items)) for items in shortened]
    yield from memories(local, dict(made[0].arch.sizes))
    yield f"const int64_t core = {core};"
    yield from _of_cores(cores, forms)


def require_names(buffers: Iterable[Buffer]) -> None:
    """LeafTypeError for an element type without a name in AscendC."""
    if any(b.element.name not in _NAMES for b in buffers):
        what = "a block of an element type without a name in AscendC"
        raise LeafTypeError(what, f"one of {', '.join(CPP_NAMES)}", "use execute for it")


def global_tensor(b: Buffer) -> list[str]:
    """The lines that name a tensor in global memory."""
    kind = _NAMES[b.element.name]
    return [
        f"AscendC::GlobalTensor<{kind}> {b.name};",
        f"{b.name}.SetGlobalBuffer(reinterpret_cast<__gm__ {kind} *>({b.name}_gm));",
    ]


def memories(buffers: Iterable[Buffer], sizes: dict[str, int]) -> Iterator[str]:
    """The lines that name the buffers of a core's memories."""
    met: set[str] = set()
    yield "AscendC::TPipe pipe;"
    for b in buffers:
        if b.position in _BESIDE:
            yield f"const uint64_t {b.name} = {b.address};"
            continue
        if b.position not in met:
            met.add(b.position)
            yield f"AscendC::TBuf<AscendC::TPosition::{_POSITIONS[b.position]}> {b.position};"
            size = sizes["UB" if b.position in VECTOR_PIPES.values() else b.position]
            yield f"pipe.InitBuffer({b.position}, {size});"
        kind = _NAMES[b.element.name]
        yield f"auto {b.name} = {b.position}.Get<uint8_t>()[{b.address}].ReinterpretCast<{kind}>();"


def _items(program: Program, forms: _Forms, pipes: Sequence[str]) -> list[_Item]:
    """The statements of a core that these pipes have."""
    adds = program.buffers["C"].element if "C" in program.buffers else None
    told = (e.statement for e in events(program) if e.pipe in pipes)
    own = "AtlasA" not in program.arch.name
    texts = (statement_text(s, adds, own) for s in (told if own else of_both(told, pipes)))
    return [_Item(forms.number(_NUMBER.sub("\0", x)), tuple(map(int, _NUMBER.findall(x)))) for x in texts]


def of_both(told: Iterable[Any], pipes: Sequence[str]) -> Iterator[Any]:
    """Statements of one side with one flag for both vector cores, as AtlasA2 has it, where a core for matrices has one for
    each."""
    before: Any = None
    for s in told:
        second = isinstance(s, (SetFlag, WaitFlag)) and between_cores(s.event) and "FIX" in pipes and "AIV1" in s.event
        assert not second or before == s._replace(event=s.event.replace("AIV1", "AIV0"))
        if not second:
            yield s
        before = s


def statement_text(s: Any, added: Element | None, own: bool = True) -> str:
    """An instruction, a flag or a barrier in AscendC.

    added   the type of what is added in global memory
    own     whether a flag between cores is for one vector core; of AtlasA2 it is for both
    """
    if isinstance(s, Move) and s.instruction.name == "LoadData2DMx":
        return _scales_beside(s)
    if isinstance(s, Move):
        return str(s.instruction.call(s.dst, s.src, s.beside))
    if isinstance(s, Multiply):
        return s.instruction.call(s.dst, s.a, s.b, s.bias or "")
    if isinstance(s, Fill):
        wide = "uint16_t" if s.element.bits <= 8 else ""  # it has no types of 8 bits: blocks are filled as they are
        cast = f".template ReinterpretCast<{wide}>()" if wide else ""
        fields = " ".join(f"p.{x} = {c_text(s.parameters[x])};" for x in ("repeatTimes", "blockNum", "dstGap"))
        struct = f"AscendC::InitConstValueParams<{wide or CPP_NAMES[s.element.name]}>"
        return f"{{ {struct} p; {fields} p.initValue = 0; AscendC::InitConstValue({s.dst}[{c_text(s.at)}]{cast}, p); }}"
    if isinstance(s, PipeBarrier):
        return f"AscendC::PipeBarrier<PIPE_{kind_of(s.pipe)}>();"
    if isinstance(s, Compute):
        return "".join(i.call(*s.operands) for i in s.instructions)
    if isinstance(s, SetAtomic):
        kind = "" if added is None else CPP_NAMES[added.name]
        return f"AscendC::SetAtomicAdd<{kind}>();" if s.adds else "AscendC::SetAtomicNone();"
    call = "SetFlag" if isinstance(s, SetFlag) else "WaitFlag"
    if between_cores(s.event):
        return _between_cores(s, own)
    first, second = map(kind_of, ends_of(s.event))
    return f"AscendC::{call}<AscendC::HardEvent::{first}_{second}>({s.id});"


def _scales_beside(s: Move) -> str:
    """A transfer of scales beside their operand, by the intrinsic of LoadData."""
    i, call = s.instruction, _BESIDE[s.dst.rstrip("0123456789").replace("l0", "L0")]
    fields = ", ".join(c_text(i.parameters[x]) for x in _SCALES)
    source = f"(__cbuf__ void *)({s.src}[{c_text(i.src)}].GetPhyAddr())"
    return f"{call}({s.dst} + {c_text(i.dst)}, {source}, {fields});"


def _between_cores(s: SetFlag | WaitFlag, own: bool) -> str:
    """A flag between a core for matrices and a vector core.

    own   whether each vector core has flags of its own, the second's counted 16 higher; if not they are of all three
          cores, and who waits for one waits with all of its pipes
    """
    sets, (first, second) = isinstance(s, SetFlag), ends_of(s.event)
    pipe = first if sets else second
    if not own:
        return f"AscendC::{f'CrossCoreSetFlag<0x2, PIPE_{kind_of(pipe)}>' if sets else 'CrossCoreWaitFlag'}({s.id});"
    number = s.id + 16 * (pipe == "FIX" and "AIV1" in s.event)
    call = "CrossCoreSetFlag" if sets else "CrossCoreWaitFlag"
    return f"AscendC::{call}<4, PIPE_{kind_of(pipe)}>({number});"


# ------------------------------------------------------------------------------------------------------------- loops


def _shortened(items: list[_Item], forms: _Forms) -> list[_Item]:
    """Statements with repeats in loops, and loops of loops: first what repeats three times or more, then twice."""
    for least in (3, 2):
        while len(found := _once(items, forms, least)) < len(items):
            items = found
    return items


def _once(items: Sequence[_Item], forms: _Forms, least: int) -> list[_Item]:
    """Items with the shortest runs that repeat in loops; least: how often."""
    out: list[_Item] = []
    own, at = [x.form for x in items], 0
    while at < len(items):
        for length in range(1, min(_LONGEST, (len(items) - at) // least) + 1):
            if own[at] != own[at + length]:
                continue
            turns = _turns(items, own, at, length)
            if turns >= max(least, 3 if length < 3 else 2):
                first, second = (_all(items[at + k * length : at + (k + 1) * length]) for k in (0, 1))
                body = tuple(x.form for x in items[at : at + length])
                out.append(_Item(forms.number(_Loop(turns, body, tuple(b - a for a, b in zip(first, second)))), first))
                at += turns * length
                break
        else:
            out.append(items[at])
            at += 1
    return out


def _turns(items: Sequence[_Item], forms: Sequence[int], at: int, length: int) -> int:
    """The number of times that a run of items repeats, each number growing by one step; forms: those of the items."""
    run = forms[at : at + length]
    turns, steps = 1, None
    before: tuple[int, ...] = ()
    while forms[at + turns * length : at + (turns + 1) * length] == run:
        before = before or _all(items[at : at + length])
        after = _all(items[at + turns * length : at + (turns + 1) * length])
        grown = [y - x for x, y in zip(before, after)]
        if steps is not None and grown != steps:
            break
        steps, before, turns = grown, after, turns + 1
    return turns


def _all(items: Sequence[_Item]) -> tuple[int, ...]:
    return tuple(n for x in items for n in x.numbers)


def _of_cores(cores: Sequence[_Item], forms: _Forms) -> Iterator[str]:
    """The statements of every core: one list for those whose numbers grow by one step from core to core."""
    at = 0
    while at < len(cores):
        turns = _turns(cores, [x.form for x in cores], at, 1)
        first = cores[at].numbers
        steps = tuple(b - a for a, b in zip(first, cores[at + 1].numbers)) if turns > 1 else (0,) * len(first)
        values = [_plus(str(n), step, f"(core - {at})" if at else "core") for n, step in zip(first, steps)]
        whole = forms.of[cores[at].form]
        assert isinstance(whole, _Loop)  # of one turn
        yield f"if ({f'core == {at}' if turns == 1 else f'{at} <= core && core < {at + turns}'}) {{"
        yield from (f"    {line}" for line in _printed(whole.body, values, forms, 0)[0])
        yield "}"
        at += turns


def _printed(body: Sequence[int], values: Sequence[str], forms: _Forms, depth: int) -> tuple[list[str], int]:
    """The lines of items by their forms, with the texts of their numbers; and how many of these they have."""
    lines, at = [], 0
    for form in (forms.of[n] for n in body):
        if isinstance(form, str):
            parts = form.split("\0")
            count = len(parts) - 1
            lines.append("".join(x for pair in zip(parts, (*values[at : at + count], "")) for x in pair))
        else:
            count, name = len(form.steps), f"i{depth}"
            inside = [_plus(x, step, name) for x, step in zip(values[at:], form.steps)]
            made, _count = _printed(form.body, inside, forms, depth + 1)
            lines += [f"for (uint64_t {name} = 0; {name} < {form.turns}; ++{name}) {{"]
            lines += [*(f"    {line}" for line in made), "}"]
        at += count
    return lines, at


def _plus(x: str, step: int, name: str) -> str:
    """A text of an integer, and a step of a loop's variable more."""
    term = name if step == 1 else f"{step} * {name}" if step > 0 else f"- {-step} * {name}"
    return x if not step else f"{x} {term}" if step < 0 else term if x == "0" else f"{x} + {term}"


# --------------------------------------------------------------------------------------------------------- languages


def _dsl(plan: Plan, schedule: Schedule, name: str) -> str:
    """The program of a block in CATLASS's DSL. Raises what MatmulBlock.text raises."""
    given, _bracket, _arguments = schedule.swizzle.partition("[")
    swizzle = BlockSwizzle(
        given, schedule.deal, schedule.order_of, offset=schedule.offset, direction=schedule.direction
    )
    if plan.adds and schedule.splitkFactor == 1:
        what = f"a block dealt by {schedule.swizzle} in CATLASS's DSL"
        expected = "slices of k that are told by splitkFactor: a DSL's program is for any number of cores"
        raise LeafTypeError(what, expected, "write text('ascendc'), which has every statement")
    proved = f"proved by tla for {shown(schedule.problem)} on {schedule.cores} cores"
    return dsl(plan, swizzle, proved, name, schedule.splitkFactor)


#: A language of kernels for problems of any size -> what writes a block in it.
_OF_ANY_SIZE = {"catlass": catlass, "dsl": _dsl}
LANGUAGES = ("ascendc", *_OF_ANY_SIZE)


def require_language(language: object, name: object) -> None:
    """RangeError for a language that no block is written in, and for what is no name of C++."""
    if not isinstance(language, str) or language not in LANGUAGES:
        raise RangeError(f"a block in {shown(language)}", f"one of {', '.join(LANGUAGES)}", "write text('ascendc')")
    require_kernel_name(name)


def require_kernel_name(name: object) -> None:
    """RangeError for what is no name of C++."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in CPP_WORDS:
        raise RangeError(f"a kernel named {shown(name)}", "a name of C++", "write name='kernel_main'")


def text_of(
    plan: Plan,
    schedule: Schedule,
    programs: Callable[[], Sequence[Program]],
    language: str,
    name: str,
    before: Sequence[Program],
) -> str:
    """The kernel of a block as text; programs: gives those of its cores; before: those of vector cores that lay matrices
    out anew. Raises what MatmulBlock.text raises."""
    require_language(language, name)
    require_in(language, plan)
    if language == "ascendc":
        return ascendc(plan, schedule, programs, name, before)
    return _OF_ANY_SIZE[language](plan, schedule, name)


def require_in(language: str, plan: Plan) -> None:
    """LeafTypeError for what a language does not say of a block."""
    if plan.scales and language == "dsl":
        what = "a block with scales in CATLASS's DSL"
        raise LeafTypeError(what, "ascendc or catlass", "write text('ascendc')")
    for there, what in (
        (plan.sparse, "a sparse block"),
        (plan.split, "a block over unified buffers"),
        (plan.padded, "a block with padding="),
        (plan.activation is not None and language == "dsl", "a block with activation="),
    ):
        if there and language != "ascendc":
            raise LeafTypeError(f"{what} in {language}", "in ascendc", "write text('ascendc')")
