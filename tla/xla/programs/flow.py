"""The values of a program in the order in which it runs: who writes each, who reads it last, and which share memory.

Loops, calls and branches are put in place of the instructions that call them: a loop's condition and body once, before the
loop. A value is an array of an instruction's result (or the table of pointers of a tuple); what a loop carries is one
value for its start, one for its parameter, one for its result, all in one buffer.

Source: XLA xla/hlo/analysis/hlo_dataflow_analysis.cc, hlo_alias_analysis.cc; xla/hlo/utils/hlo_live_range.cc.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, cast

from ...core.cache import plain_memo
from ...core.errors import LoweringError, RangeError, TlaError
from ..shapes.array_shape import ArrayShape
from ..shapes.sizes import byte_size
from ..shapes.values import BufferShape, Shape, TupleShape
from . import aliasing
from .instruction import Instruction
from .module import Module, called, header_list, require_apart
from .program import Located

#: A program of more instructions than this, calls put in place, is refused.
MAX_STEPS = 2**22
#: Calls inside of each other, deeper than this, are refused.
MAX_CALLS = 100
#: The table of pointers of a tuple: one line of the TPU's memory [bytes].
TABLE_BYTES = 512

#: Results that are other names for what operands have: reading it is not reading these.
_NAMES = frozenset({"tuple", "get-tuple-element", "while", "call", "conditional", "parameter"})


class Table(NamedTuple):
    """The value of a tuple: its table of pointers, and its elements."""

    value: int
    elements: tuple[Tree, ...]


Tree = Table | int | None  # None: a token, which takes no memory


@dataclass(slots=True)
class Value:
    """An array, or the table of a tuple, that an instruction writes.

    name, path   the instruction, and which part of its result
    line         the instruction with its place; of a loop's result the loop
    shape        None for a table
    bytes, space
    start, end   steps: from the one that writes it to the last one that reads it, both included
    kind         "argument", "constant", "temporary", or "local" to a computation that is applied to elements
    buffer       the number of a value that shares memory with it, or its own
    same         the number of the value that a loop, or a branch, hands on as this one, or its own
    """

    name: str
    path: aliasing.Path
    line: Located
    shape: ArrayShape | None
    bytes: int
    space: int
    start: int
    end: int
    kind: str
    buffer: int
    same: int


@dataclass(slots=True)
class Flow:
    """The values of a module, its steps, the values of its result, and what could not be followed."""

    module: Module
    steps: list[Located] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)
    results: Tree = None
    warnings: list[str] = field(default_factory=list)
    depth: int = 0

    def buffer(self, value: int) -> int:
        """The number that stands for the buffer of a value."""
        values, root = self.values, value
        while values[root].buffer != root:
            root = values[root].buffer
        while values[value].buffer != root:
            values[value].buffer, value = root, values[value].buffer
        return root

    def share(self, a: Tree, b: Tree) -> None:
        """One buffer for each array of a and that of b."""
        for x, y in zip(leaves(a), leaves(b)):
            one, two = self.buffer(x), self.buffer(y)
            if one != two:
                self.values[max(one, two)].buffer = min(one, two)


def leaves(tree: Tree) -> Iterator[int]:
    """All values of a tree, tables included."""
    if isinstance(tree, Table):
        yield tree.value
        for element in tree.elements:
            yield from leaves(element)
    elif tree is not None:
        yield tree


def part(tree: Tree, path: aliasing.Path) -> Tree:
    """A part of a tree; None where it has none."""
    for k in path:
        if not isinstance(tree, Table) or k >= len(tree.elements):
            return None
        tree = tree.elements[k]
    return tree


def flow(module: Module) -> Flow:
    """The values of a module from its entry on. The order is that of the text.

    Raises LoweringError for a module without an entry, or with computations inside of instructions; RangeError for calls without end.
    """
    require_apart(module)
    if module.entry is None:
        what = f"module {module.name or 'without a name'} has no ENTRY computation"
        raise LoweringError(what, "a computation that begins with ENTRY", "dump the whole module: the file may be cut")
    follow = _Follow(module)
    follow.out.results = follow.computation(module.entry, None, 0)
    follow.entry_aliases()
    follow.reuse()
    return follow.out


class _Follow:
    """Going through a module in the order in which it runs."""

    def __init__(self, module: Module) -> None:
        self.module, self.out = module, Flow(module)
        self.bodies = {name: {x.instruction.name: x.instruction for x in lines} for name, lines in module.computations.items()}
        self.arguments: dict[int, Tree] = {}
        self.seen: set[str] = set()  # computations that are applied to elements
        self.offered: list[tuple[int, int]] = []  # results that may overwrite an operand which nobody reads later

    # ---------------------------------------------------------------------------------------------- computations

    def computation(self, name: str, arguments: list[Tree] | None, depth: int) -> Tree:
        """The value of a computation for its arguments; for those of the entry, None."""
        if name not in self.module.computations:
            raise LoweringError(f"computation {name} is called, and not there", "its text", "dump the whole module: the file may be cut")
        if depth > MAX_CALLS:
            raise RangeError(f"calls more than {MAX_CALLS} deep, at computation {name}", "a program that ends", "give a module of XLA")
        values: dict[str, Tree] = {}
        lines = self.module.computations[name]
        for line in lines:
            values[line.instruction.name] = self.instruction(line, values, arguments, depth)
        root = next((x for x in lines if x.instruction.is_root), lines[-1])
        result = values[root.instruction.name]
        for value in leaves(result):  # it is there to the end of the computation
            self.read(value, len(self.out.steps) - 1)
        return result

    def instruction(self, line: Located, values: dict[str, Tree], arguments: list[Tree] | None, depth: int) -> Tree:
        it = line.instruction
        if it.opcode == "parameter":
            return self.parameter(line, arguments)
        names = [] if it.opcode == "constant" else [o.name for o in it.operands]
        operands = [values.get(name) for name in names]
        for name in names:
            if name not in values:
                self.warn(line, f"operand {name} is not defined before it")
        if it.opcode in _CALLERS:
            return _CALLERS[it.opcode](self, line, operands, depth)
        return self.plain(line, operands)

    def plain(self, line: Located, operands: list[Tree]) -> Tree:
        """The result of an instruction that calls nothing in place."""
        it, now = line.instruction, self.step(line)
        if it.opcode not in _NAMES:
            for value in (v for operand in operands for v in leaves(operand)):
                self.read(value, now)
        if (found := self.forwarded(line, operands, now)) is not _NEW:
            return found
        result = self.new(line, it.shape, now, "constant" if it.opcode == "constant" else "temporary")
        self.applied(it, now)
        self.in_place(it, result, operands)
        if it.opcode == "custom-call" and 'custom_call_target="ConcatBitcast"' in it.tail:
            for value in (v for o in operands for v in leaves(o)):  # they are parts of the result, side by side
                self.out.values[value].end = min(self.out.values[value].end, now - 1)
        return result

    def applied(self, it: Instruction, now: int) -> None:
        """The buffers that computations which are applied to elements write: the compiler has memory of their own for each."""
        for name in called(it) if "=" in it.tail else ():
            if name in self.seen or name not in self.module.computations:
                continue
            self.seen.add(name)
            for inner in self.module.computations[name]:
                if it.opcode != "fusion" and inner.instruction.opcode not in _NAMES - {"parameter"}:
                    self.new(inner, inner.instruction.shape, now, "local")
                self.applied(inner.instruction, now)

    def forwarded(self, line: Located, operands: list[Tree], now: int) -> Tree:
        """The result where it is made of what operands are; _NEW where it is not."""
        it = line.instruction
        first = operands[0] if operands else None
        if it.opcode in aliasing.SAME:
            return first
        if it.opcode == "tuple":
            return Table(self.value(line, None, now, "temporary", ()), tuple(operands))
        if it.opcode == "get-tuple-element":
            if isinstance(first, Table):
                self.read(first.value, now)
            k = aliasing.element_of(it)
            return None if k is None else part(first, (k,))
        if it.opcode.endswith("-done") and isinstance(first, Table):
            return self.done(it, first)
        if (it.opcode == "send" or it.opcode.endswith("-start")) and isinstance(it.shape, TupleShape):
            return self.started(line, operands, now)
        return _NEW

    def done(self, it: Instruction, started: Table) -> Tree:
        """The result of a -done: a part of what its -start gives."""
        if it.opcode == "recv-done":
            return Table(started.value, (part(started, (0,)), None))
        if it.opcode == "send-done":
            return None
        return part(started, (aliasing.element_of_done(it, len(started.elements)),))

    def started(self, line: Located, operands: list[Tree], now: int) -> Tree:
        """The result of a -start, or of send: its operands as they stand, its result, and counters of its progress."""
        it = line.instruction
        shape = it.shape
        assert isinstance(shape, TupleShape)
        parts: list[Tree] = []
        for k, element in enumerate(shape.elements):
            source = 1 if it.opcode == "copy-start" else 0
            if k == source and it.opcode != "all-reduce-start":
                first = operands[0] if operands else None
                as_one = not isinstance(element, TupleShape) or isinstance(first, Table)
                parts.append(first if as_one else Table(self.value(line, None, now, "temporary", (k,)), tuple(operands)))
            else:
                parts.append(self.new(line, element, now, "temporary", (k,)))
        result = Table(self.value(line, None, now, "temporary", ()), tuple(parts))
        self.in_place(it, result, operands)
        return result

    def in_place(self, it: Instruction, result: Tree, operands: list[Tree]) -> None:
        """One buffer for the parts of the result and the operands that they overwrite."""
        pairs = list(aliasing.stated(it))
        if it.opcode in aliasing.IN_PLACE:
            pairs += [((k,), k, ()) for k, _ in enumerate(result.elements)] if isinstance(result, Table) else [((), 0, ())]
        elif it.opcode == "fusion":
            pairs += aliasing.of_fusion(it, self.bodies)
        for out, operand, path in pairs:
            if operand < len(operands):
                self.out.share(part(result, out), part(operands[operand], path))
        outs = [*_arrays(result)]
        for numbers in aliasing.shared(it):
            for k in numbers:
                source = operands[min(numbers)] if min(numbers) < len(operands) else None
                if k >= len(operands) and k - len(operands) < len(outs) and isinstance(source, int):
                    self.offered.append((outs[k - len(operands)], source))

    # ------------------------------------------------------------------------------------------------- callers

    def loop(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        """A loop: its condition, its body, itself. What it carries is in one buffer from its start to its result."""
        it = line.instruction
        start = operands[0] if operands else None
        names = {k: it.attributes.get(k, "").removeprefix("%") for k in ("condition", "body")}
        for value in leaves(start):
            self.read(value, len(self.out.steps))
        carried = self.carried(line, start, len(self.out.steps))
        self.computation(names["condition"], [carried], depth + 1)
        for value in leaves(start):
            self.read(value, len(self.out.steps))
        inner = self.carried(line, start, len(self.out.steps))
        for a, b in zip(leaves(carried), leaves(inner)):
            self.read(a, self.out.values[b].start)
        end = self.computation(names["body"], [inner], depth + 1)
        self.out.share(start, end)
        return self.carried(line, start, self.step(line))

    def carried(self, line: Located, start: Tree, now: int) -> Tree:
        """New values in the buffers of `start`, from step `now` on."""
        if isinstance(start, Table):
            return Table(self.again(line, start.value, now), tuple(self.carried(line, e, now) for e in start.elements))
        return None if start is None else self.again(line, start, now)

    def again(self, line: Located, value: int, now: int) -> int:
        """A value that a copy makes of another one, in the buffer of that."""
        old = self.out.values[value]
        number = len(self.out.values)
        made = replace(old, name=line.instruction.name, line=line, start=now, end=now, kind="temporary", buffer=self.out.buffer(value))
        self.out.values.append(made)
        return number

    def call(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        names = called(line.instruction)
        result = self.computation(names[0] if names else "", operands, depth + 1)
        self.step(line)
        return result

    def branches(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        """A conditional: each of its branches, itself. The results of the branches share their memory."""
        names = called(line.instruction)
        results = [self.computation(name, [operand], depth + 1) for name, operand in zip(names, operands[1:])]
        now = self.step(line)
        for operand in operands:
            for value in leaves(operand):
                self.read(value, now)
        if not results:
            return self.new(line, line.instruction.shape, now, "temporary")
        for other in results[1:]:
            self.out.share(results[0], other)
        return self.carried(line, results[0], now)

    # -------------------------------------------------------------------------------------------------- values

    def parameter(self, line: Located, arguments: list[Tree] | None) -> Tree:
        it, now = line.instruction, self.step(line)
        number = int(it.operands[0].name) if it.operands and it.operands[0].name.isdecimal() else 0
        if arguments is None:
            self.arguments[number] = self.new(line, it.shape, now, "argument")
            return self.arguments[number]
        return arguments[number] if number < len(arguments) else self.new(line, it.shape, now, "temporary")

    def new(self, line: Located, shape: Shape, now: int, kind: str, path: aliasing.Path = ()) -> Tree:
        """Memory for a result."""
        if isinstance(shape, TupleShape):
            table = self.value(line, None, now, kind, path)
            return Table(table, tuple(self.new(line, e, now, kind, (*path, k)) for k, e in enumerate(shape.elements)))
        if isinstance(shape, BufferShape):
            shape = shape.array
        return self.value(line, shape, now, kind, path) if isinstance(shape, ArrayShape) else None

    def value(self, line: Located, shape: ArrayShape | None, now: int, kind: str, path: aliasing.Path) -> int:
        number = len(self.out.values)
        size = TABLE_BYTES if shape is None else _size(shape)
        if size is None:
            self.warn(line, f"the size of {shape} is not known: it counts as nothing")
        space = 0 if shape is None else shape.effective_layout.memory_space
        self.out.values.append(Value(line.instruction.name, path, line, shape, size or 0, space, now, now, kind, number, number))
        return number

    def step(self, line: Located) -> int:
        if len(self.out.steps) >= MAX_STEPS:
            raise RangeError(f"more than {MAX_STEPS:,} instructions, calls put in place", "fewer", "give a part of the program")
        self.out.steps.append(line)
        return len(self.out.steps) - 1

    def read(self, value: int, now: int) -> None:
        found = self.out.values[value]
        found.end = max(found.end, now)

    def warn(self, line: Located, what: str) -> None:
        self.out.warnings.append(f"line {line.line}: {line.instruction.name}: {what}")

    def entry_aliases(self) -> None:
        """One buffer for each donated argument and the part of the result that takes its place."""
        text = header_list(self.module.header, "input_output_alias") or "{}"
        for out, number, path, _must in aliasing.aliases(text):
            self.out.share(part(self.out.results, out), part(self.arguments.get(number), path))

    def reuse(self) -> None:
        """One buffer for a result and the operand that it may overwrite, where all that is in the operand's buffer is dead by then.

        What is given to the program or by it has memory of its own.
        """
        values, buffer = self.out.values, self.out.buffer
        held: dict[int, list[tuple[int, int]]] = {}
        for number, value in enumerate(values if self.offered else ()):
            held.setdefault(buffer(number), []).append((value.start, value.end))
        fixed = {buffer(k) for k, v in enumerate(values) if v.kind != "temporary"} | {buffer(k) for k in leaves(self.out.results)}
        for result, operand in self.offered:
            one, two = buffer(result), buffer(operand)
            if one != two and not fixed & {one, two} and _apart(held[two], held[one], values[result].start):
                self.out.share(result, operand)
                held[buffer(result)] = _merged(held[one] + held[two])


_NEW: Tree = cast(Table, object())  # no value of an operand
_CALLERS = {"while": _Follow.loop, "call": _Follow.call, "conditional": _Follow.branches}


def _arrays(tree: Tree) -> Iterator[int]:
    """The arrays of a tree, without tables."""
    if isinstance(tree, Table):
        for element in tree.elements:
            yield from _arrays(element)
    elif tree is not None:
        yield tree


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of steps as few that do not touch, in order."""
    out: list[tuple[int, int]] = []
    for first, last in sorted(spans):
        if out and first <= out[-1][1]:
            out[-1] = out[-1][0], max(last, out[-1][1])
        else:
            out.append((first, last))
    return out


def _apart(before: list[tuple[int, int]], after: list[tuple[int, int]], now: int) -> bool:
    """Whether two buffers are never held at once, but for step `now`, which reads the first and writes the second."""
    return all(b < c or d < a or b == c == now for a, b in _merged(before) for c, d in _merged(after))


@plain_memo
def _size(shape: ArrayShape) -> int | None:
    try:
        return byte_size(shape)
    except TlaError:
        return None
