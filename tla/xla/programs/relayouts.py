"""The instructions of a program that do nothing but move an array: copies, transposes, reshapes,
conversions, fusions of these.

Source: HLO semantics of copy, transpose, reshape, convert and bitcast.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.cache import plain_memo
from ...core.errors import ParseError, TlaError
from ..shapes.array_shape import ArrayShape
from ..shapes.compare import is_bitcast, relayout, transposed
from ..shapes.sizes import size_if_known
from ..shapes.values import Shape, arrays
from .aliasing import behind, element_of
from .instruction import LITERALS, Instruction
from .module import Body, Module, entry_name, read_module, require_apart, require_computations
from .program import DUMP_WHOLE, Located, Source
from .text_file import OnError, report

_MOVES = frozenset({"copy", "copy-start", "transpose", "reshape", "convert", "bitcast", "bitcast-convert"})
_IN_FUSIONS = frozenset({"parameter", "copy", "transpose", "reshape", "convert", "bitcast"})


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop that an instruction is in.

    name    the while instruction
    times   how often its body runs; None where the text does not say
    """

    name: str
    times: int | None


@dataclass(frozen=True, slots=True)
class Move:
    """An instruction that moves an array, or gives it another shape; or a fusion that does nothing else.

    line           the instruction with its place
    source, destination   what it reads and writes
    changes        what becomes different: "order" of the bytes, "pieces" (SC) that these are split in, "type" of
                   the elements, memory "space"; empty for a plain copy
    free           whether nothing moves
    read, written  bytes, padding included, each time that it runs
    run            how many elements follow each other in both, from the first one on; None where that is not known
    loops          the loops around it, the outermost first
    inside         the fusion that it is a part of, or None
    """

    line: Located
    source: ArrayShape
    destination: ArrayShape
    changes: tuple[str, ...]
    free: bool
    read: int
    written: int
    run: int | None
    loops: tuple[Loop, ...]
    inside: str | None

    @property
    def times(self) -> int | None:
        """The number of times that it runs; None where the text does not say."""
        return times(self.loops)

    @property
    def overlapped(self) -> bool:
        """Whether other work runs meanwhile: a copy-start, as a prefetch is. Any other move waits."""
        return self.line.instruction.opcode == "copy-start"

    @property
    def bytes(self) -> int:
        """Bytes read and written in the whole run; a loop of an unknown count once."""
        return 0 if self.free else (self.read + self.written) * (1 if self.times is None else self.times)


def times(loops: tuple[Loop, ...]) -> int | None:
    """The number of times that what is in some loops runs; None where the text does not say."""
    counts = [loop.times for loop in loops]
    return None if None in counts else math.prod(n for n in counts if n is not None)


def relayouts(source: Source | Module, interiors: bool = False, on_error: OnError | None = None) -> list[Move]:
    """Every copy, transpose, reshape, conversion and bitcast that a program runs, and fusions of nothing else, those
    that move most first.

    source      a module, or what read_hlo takes
    interiors   also those inside of fusions, which move nothing in memory by themselves; then fusions of moves
                are not told as one
    on_error    as that of read_hlo; it is given moves of what is not defined, too, which are left out, and computations
                that are called and not there

    >>> import io
    >>> text = '''ENTRY %main {
    ...   %a = f32[16,128]{1,0:T(8,128)} parameter(0)
    ...   %b = f32[128,16]{0,1:T(8,128)} transpose(%a), dimensions={1,0}
    ...   ROOT %c = f32[128,16]{1,0:T(8,128)} copy(%b)
    ... }'''
    >>> for move in relayouts(io.StringIO(text)):
    ...     print(move.line.instruction.opcode, move.changes, move.free, move.read, move.written, move.run)
    copy ('order',) False 8192 65536 1
    transpose () True 0 0 2048

    Raises LoweringError for a module that is printed with computations inside of instructions, or is cut: it has a
    header and no ENTRY, or no computation at all.
    Source: HLO semantics.
    """
    module = source if isinstance(source, Module) else read_module(source, on_error)
    require_computations(module)
    require_apart(module)
    walked = reached(module, interiors)
    found = [move for place in walked for move in _moves(module, *place, on_error, not interiors)]
    return sorted(found, key=lambda m: (m.free, -m.bytes, m.line.line))


Reached = tuple[str, tuple[Loop, ...], str | None]


def reached(module: Module, interiors: bool) -> Iterator[Reached]:
    """Walk the computations that run, each once, with the loops around it and the fusion that it is."""
    waiting: list[Reached] = [(name, (), None) for name in _first(module)]
    seen: set[str] = set()
    while waiting:
        name, loops, inside = waiting.pop()
        if name in seen or name not in module.computations:
            continue
        seen.add(name)
        yield name, loops, inside
        for line in module.computations[name]:
            it = line.instruction
            if it.opcode == "while":
                inner = (*loops, Loop(it.name, trip_count(module, name, it)))
                waiting += [(c, inner, inside) for c in it.called]
            elif it.opcode in ("call", "conditional"):
                waiting += [(c, loops, inside) for c in it.called]
            elif it.opcode == "fusion" and interiors:
                waiting += [(c, loops, inside or it.name) for c in it.called]


def _first(module: Module) -> list[str]:
    """The computations that nothing calls: of a module its ENTRY, of a part of one all that nothing there calls."""
    if module.header or module.entry is not None:
        return [entry_name(module)]
    inner = {name for lines in module.computations.values() for x in lines for name in x.instruction.called}
    return [name for name in module.computations if name not in inner]


def _moves(
    module: Module, name: str, loops: tuple[Loop, ...], inside: str | None, on_error: OnError | None, fused: bool
) -> Iterator[Move]:
    """The moves of a computation, the fusions of moves among them if `fused`."""
    shapes: dict[str, Shape] = {}
    lines = module.computations[name]
    if on_error is not None and module.header and module.body(name).root is None:
        what = "the last line of a computation without a ROOT"
        report(on_error, ParseError("", 0, what, "its ROOT", DUMP_WHOLE), lines[-1].line)
    for line in lines:
        it = line.instruction
        shapes[it.name] = it.shape
        for called in it.called if on_error is not None else ():
            if called not in module.computations:
                why = f"computation {called} is called, and not there"
                report(on_error, undefined(it, why, "its text"), line.line)
        for operand in it.operand_names if on_error is not None and it.opcode not in LITERALS else ():
            if operand not in shapes:
                why = f"operand {operand} is not defined before it"
                report(on_error, undefined(it, why, "its instruction"), line.line)
        if it.opcode in _MOVES and it.operands:
            a = it.operands[0].shape or shapes.get(it.operands[0].name)
            b = next(arrays(it.shape), None)
            if isinstance(a, ArrayShape) and b is not None:
                try:
                    yield _move(line, a, b, loops, inside)
                except ParseError as error:  # of its attributes
                    report(on_error, error, line.line)
        elif fused and it.opcode == "fusion" and len(it.operands) == 1:
            a = it.operands[0].shape or shapes.get(it.operands[0].name)
            if isinstance(a, ArrayShape) and isinstance(it.shape, ArrayShape) and (parts := _parts(module, it)):
                yield _fused(line, a, it.shape, parts, loops, inside)


def _parts(module: Module, fusion: Instruction) -> list[Move]:
    """The moves that a fusion is made of, bitcasts apart; none if it has another instruction, too."""
    name = next(iter(fusion.called), "")
    lines = module.computations.get(name, ())
    if not lines or {x.instruction.opcode for x in lines} - _IN_FUSIONS:
        return []
    return [move for move in _moves(module, name, (), None, None, False) if not move.free]


def _fused(
    line: Located, a: ArrayShape, b: ArrayShape, parts: list[Move], loops: tuple[Loop, ...], inside: str | None
) -> Move:
    """A fusion of moves as one: from what it reads to what it writes."""
    apart = a.effective_layout.memory_space != b.effective_layout.memory_space
    inner = {change for move in parts for change in move.changes}
    changes = (*(change for change in ("order", "pieces", "type") if change in inner), *["space"] * apart)
    sizes, run = (size_if_known(a) or 0, size_if_known(b) or 0), parts[0].run if len(parts) == 1 else None
    return Move(line, a, b, changes, False, *sizes, run, loops, inside)


def undefined(it: Instruction, why: str, expected: str) -> ParseError:
    what = f"{it.name}: {why}, so that what it moves is not known"
    return ParseError("", 0, what, expected, DUMP_WHOLE)


def _move(line: Located, a: ArrayShape, b: ArrayShape, loops: tuple[Loop, ...], inside: str | None) -> Move:
    it = line.instruction
    order = _permutation(it)
    changes, run = _compared(a, b, order)
    spaces = [x.effective_layout.memory_space for x in (a, b)]
    if spaces[0] != spaces[1]:
        changes += ("space",)
    free = it.opcode == "bitcast" or (not changes and it.opcode in ("transpose", "reshape"))
    sizes = (0, 0) if free else (size_if_known(a) or 0, size_if_known(b) or 0)
    return Move(line, a, b, () if it.opcode == "bitcast" else changes, free, *sizes, run, loops, inside)


def _permutation(it: Instruction) -> tuple[int, ...] | None:
    if it.opcode != "transpose":
        return None
    text = it.attributes.get("dimensions", "")
    if not re.fullmatch(r"\{[0-9, ]*\}", text):
        what = f"{it.name} is a transpose without dimensions={{...}}"
        raise ParseError(it.tail, 0, what, "its dimensions", "dump the whole module")
    return tuple(map(int, re.findall("[0-9]{1,18}", text)))


@plain_memo
def _compared(a: ArrayShape, b: ArrayShape, order: tuple[int, ...] | None) -> tuple[tuple[str, ...], int | None]:
    """The changes of a move but for the memory space, and the run of elements that it keeps."""
    if a.element_type != b.element_type:
        moved = a.dimensions != b.dimensions or a.effective_layout.minor_to_major != b.effective_layout.minor_to_major
        return ("type", "order") if moved else ("type",), None
    try:
        a = transposed(a, order) if order else a
        same = is_bitcast(a, b)
    except TlaError:
        there = a.effective_layout._replace(memory_space=b.effective_layout.memory_space)
        same = a._replace(layout=there) == b.with_layout()
    one, two = a.effective_layout, b.effective_layout
    if not same and a.dimensions == b.dimensions and one.split_configs != two.split_configs:
        one = one._replace(memory_space=two.memory_space, split_configs=two.split_configs)
        return ("pieces" if one == two else "order",), _run(a, b)
    return () if same else ("order",), _run(a, b)


def _run(a: ArrayShape, b: ArrayShape) -> int | None:
    try:
        return relayout(a, b).run
    except TlaError:  # a reshape, or what is not lowered
        return None


# ------------------------------------------------------------------------------------------------ trip counts

_KNOWN = re.compile(r'"known_trip_count":\{"n":"([0-9]+)"\}')


def trip_count(module: Module, name: str, loop: Instruction) -> int | None:
    """The number of times that the body of a loop of computation `name` runs; None where the text does not say.

    It is said by known_trip_count, or by a counter: it starts at a constant, is compared with one, and a
    constant is added to it.
    """
    if known := _KNOWN.search(loop.tail):
        return int(known[1])
    condition, inside = (module.body(loop.attributes.get(k, "").removeprefix("%")) for k in ("condition", "body"))
    if condition.root is None or inside.root is None or not loop.operands:
        return None
    test, root = condition.root.instruction, inside.root.instruction
    if test.opcode != "compare" or test.attributes.get("direction") != "LT" or len(test.operands) != 2:
        return None
    index, end = _element(test.operands[0].name, condition), _constant(test.operands[1].name, condition)
    around = module.body(name)
    start = around.instruction(loop.operands[0].name)
    if index is None or end is None or start is None or root.opcode != "tuple" or start.opcode != "tuple":
        return None
    if index >= min(len(root.operands), len(start.operands)):
        return None
    step = _added(root.operands[index].name, index, inside)
    begin = _constant(start.operands[index].name, around)
    return None if step is None or begin is None or step <= 0 else max(0, -(-(end - begin) // step))


def _followed(name: str, body: Body) -> Instruction | None:
    """The instruction behind copies."""
    return behind(name, body, ("copy", "bitcast"))


def _element(name: str, body: Body) -> int | None:
    """The number of the loop's parameter's part."""
    it = _followed(name, body)
    return element_of(it) if it is not None and it.opcode == "get-tuple-element" else None


def _constant(name: str, body: Body) -> int | None:
    it = _followed(name, body)
    text = it.operands[0].text if it is not None and it.opcode == "constant" and it.operands else ""
    return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else None


def _added(name: str, index: int, body: Body) -> int | None:
    """The constant that is added to the counter."""
    it = _followed(name, body)
    if it is None or it.opcode != "add" or len(it.operands) != 2:
        return None
    for one, two in (it.operands, it.operands[::-1]):
        if _element(one.name, body) == index:
            return _constant(two.name, body)
    return None
