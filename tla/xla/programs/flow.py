"""The values of a program in the order in which it runs: who writes each, who reads it, and which share memory.

Loops, calls and branches are put in place of the instructions that call them: a loop's condition and body once, before
the loop. What a loop changes is one value for its start, one for each parameter of its condition and body, and one for
its result, all in one buffer; what it hands on as it stands is one value.

Source: XLA xla/hlo/analysis/hlo_dataflow_analysis.cc, hlo_alias_analysis.cc; xla/hlo/utils/hlo_live_range.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from ...core.cache import plain_memo
from ...core.errors import LoweringError, RangeError
from ...core.leaf_arithmetic import ceil_div
from ..shapes.array_shape import ArrayShape
from ..shapes.sizes import size_if_known
from ..shapes.values import BufferShape, Shape, TupleShape
from . import aliasing
from .instruction import Instruction
from .module import Module, entry_name, header_list, require_apart, said
from .program import Located
from .ranges import normalise, reuse, share_scratch
from .targets import line_of
from .values import Flow, Table, Tree, Value, arrays, leaves, part

#: A program of more instructions than this, calls put in place, is refused.
MAX_STEPS = 2**22
#: Calls inside of each other, deeper than this, are refused.
MAX_CALLS = 100
#: A pointer in the table of a tuple [bytes].
POINTER = 4
#: Spaces of sync flags.
_FLAGS = frozenset({2, 8, 10})
#: An array without tiles takes a multiple of this many elements in the spaces that the compiler tiles arrays in.
_UNTILED, _TILED_SPACES = 1024, frozenset({0, 4, 6})

#: Results that are other names for what operands have: reading it is not reading these.
_NAMES = frozenset({"tuple", "get-tuple-element", "while", "call", "conditional", "parameter"})
#: Those of them that no buffer of a computation applied to elements is for.
_UNWRITTEN = _NAMES - {"parameter"}
_size = plain_memo(size_if_known)
#: Spaces of the context of a SparseCore's operation that are not the SparseCore's own: the TensorCore waits there.
_WAITED_FOR = frozenset({2, 4})


def flow(module: Module, target: str | None = None) -> Flow:
    """The values of a module from its entry on. The order is that of the text.

    target   the generation that it is for; None where it is not known
    Raises LoweringError for a module without an entry, or with computations inside of instructions; RangeError for
    calls without end.
    """
    require_apart(module)
    entry, follow = entry_name(module), _Follow(module)
    follow.out.results = follow.computation(entry, None, 0)
    follow.entry_aliases()
    follow.out.settle()
    _allocate(follow.out, target)
    groups = normalise(follow.out)
    reuse(follow.out, follow.offered, groups)
    share_scratch(follow.out)
    return follow.out


class _Follow:
    """Going through a module in the order in which it runs."""

    def __init__(self, module: Module) -> None:
        self.module, self.out = module, Flow(module)
        self.arguments: dict[int, Tree] = {}
        self.entered: dict[str | None, int] = {}  # by computation, the step of its parameter
        self.span = 0  # the number of the computation that runs
        # How many asynchronous operations run what is followed: a SparseCore's kernels are custom calls there.
        self.apart_now = 0
        # By the table of an asynchronous operation, the values of the computation that it runs.
        self.inside: dict[int, range] = {}
        # Bytes and memory space, by identity of the shape, for equal texts are one; with what keeps that.
        self.sizes: dict[int, tuple[int | None, int, ArrayShape]] = {}
        self.seen: set[str] = set()  # computations that are applied to elements
        self.offered: list[tuple[int, int]] = []  # results that may overwrite an operand which nobody reads later

    # ---------------------------------------------------------------------------------------------- computations

    def computation(self, name: str, arguments: list[Tree] | None, depth: int) -> Tree:
        """The value of a computation for its arguments; for those of the entry, None."""
        if name not in self.module.computations:
            what = f"computation {name} is called, and not there"
            raise LoweringError(what, "its text", "dump the whole module: the file may be cut")
        if depth > MAX_CALLS:
            what = f"calls more than {MAX_CALLS} deep, at computation {name}"
            raise RangeError(what, "a program that ends", "give a module of XLA")
        around, number, start = self.span, len(self.out.spans), len(self.out.steps)
        self.span = number
        self.out.spans.append((start, start))
        values: dict[str, Tree] = {}
        lines = self.module.computations[name]
        root = self.module.body(name).root or self.without_root(lines)
        for line in lines:
            it = line.instruction
            if it.name in values:
                what = f"line {line.line}: {it.name} is defined twice in computation {name}"
                raise LoweringError(what, "each name once in a computation", "give one module at a time")
            values[it.name] = found = self.instruction(line, values, arguments, depth)
            if line is root:
                for value in leaves(found):
                    if self.out.values[value].line is not line:
                        self.read(value, len(self.out.steps) - 1)
        end = len(self.out.steps)
        self.out.spans[number], self.span = (start, end), around
        self.keep(values[root.instruction.name], end)  # it is there to the end of the computation
        return values[root.instruction.name]

    def without_root(self, lines: Sequence[Located]) -> Located:
        """The last line of a computation that has no ROOT, which is said: its end may be missing."""
        self.warn(lines[-1], "it is the last line of a computation without a ROOT")
        return lines[-1]

    def instruction(self, line: Located, values: dict[str, Tree], arguments: list[Tree] | None, depth: int) -> Tree:
        it = line.instruction
        if it.opcode == "parameter":
            return self.parameter(line, arguments)
        names = () if it.opcode == "constant" else it.operand_names
        operands = [values.get(name) for name in names]
        for name in names if None in operands else ():
            if name not in values:
                self.warn(line, f"operand {name} is not defined before it")
        if it.opcode in _CALLERS:
            return _CALLERS[it.opcode](self, line, operands, depth)
        return self.plain(line, operands)

    def plain(self, line: Located, operands: list[Tree]) -> Tree:
        """The result of an instruction that calls nothing in place."""
        it, now = line.instruction, self.step(line)
        if it.opcode not in _NAMES:
            for operand in operands:
                self.read(operand, now)
        if (found := self.forwarded(line, operands, now)) is not _NEW:
            self.keep(found, now)
            return found
        result = self.new(line, it.shape, now, "constant" if it.opcode == "constant" else "temporary")
        if it.called:
            self.applied(it, now)
        self.in_place(it, result, operands)
        if it.opcode == "custom-call" and 'custom_call_target="ConcatBitcast"' in it._tail.text:
            for value in (v for o in operands for v in leaves(o)):  # they are parts of the result, side by side
                self.out.values[value].end = min(self.out.values[value].end, now - 1)
        return result

    def applied(self, it: Instruction, now: int, of_host: bool = False) -> None:
        """The buffers that computations applied to elements write: the compiler has memory of their own for each. Of what
        the host runs it is the host's, but for constants, which the compiler counts with the program's.

        of_host   whether the host runs what the instruction is in
        """
        of_host = of_host or 'custom_call_target="HostExecute"' in it._tail.words
        for name in it.called if of_host or not (self.apart_now and it.opcode == "custom-call") else ():
            if name in self.seen or name not in self.module.computations:
                continue
            self.seen.add(name)
            body = self.module.body(name)
            if body.root is None:
                self.without_root(body.lines)
            if it.opcode != "fusion" or aliasing.may_overwrite(body):  # else what is inside makes no difference here
                for inner, operand in body.undefined():
                    self.warn(inner, f"operand {operand} is not there")
            for inner in self.module.computations[name] if it.opcode != "fusion" else ():
                inside = inner.instruction
                if inside.opcode == "constant" or (inside.opcode not in _UNWRITTEN and not of_host):
                    self.new(inner, inside.shape, now, "constant" if inside.opcode == "constant" else "local")
            for inner in body.callers:
                self.applied(inner.instruction, now, of_host)

    def forwarded(self, line: Located, operands: list[Tree], now: int) -> Tree:
        """The result where it is made of what operands are; _NEW where it is not."""
        it = line.instruction
        first = operands[0] if operands else None
        if it.opcode in aliasing.SAME:
            return first
        if it.opcode == "tuple":
            return Table(self.value(line, None, now, "temporary", (), len(operands)), tuple(operands))
        if it.opcode == "get-tuple-element":
            if isinstance(first, Table):
                self.read(first.value, now)
            k = aliasing.element_of(it)
            return None if k is None else part(first, (k,))
        if it.opcode.endswith("-done") and isinstance(first, Table):
            return self.done(line, first, now)
        if (it.opcode == "send" or it.opcode.endswith("-start")) and isinstance(it.shape, TupleShape):
            return self.started(line, it.shape, operands, operands, now)
        return _NEW

    def done(self, line: Located, started: Table, now: int) -> Tree:
        """The result of a -done: a part of what its -start gives."""
        it = line.instruction
        for number in self.inside.get(started.value, ()):
            self.out.values[number].end = max(self.out.values[number].end, now)
        if it.opcode == "recv-done":
            return Table(started.value, (part(started, (0,)), None))
        if it.opcode == "send-done":
            return None
        found = part(started, (aliasing.element_of_done(it, len(started.elements)),))
        return self.renamed(line, found, now) if it.opcode == "async-done" else found

    def renamed(self, line: Located, tree: Tree, now: int, path: aliasing.Path = ()) -> Tree:
        """A tuple with a table of its own."""
        if not isinstance(tree, Table):
            return tree
        return Table(self.value(line, None, now, "temporary", path, len(tree.elements)), tree.elements)

    def started(
        self,
        line: Located,
        shape: TupleShape,
        operands: list[Tree],
        brought: list[Tree],
        now: int,
        computed: Tree = None,
    ) -> Tree:
        """The result of a -start, or of send: its operands as they stand, its result, and what counts its progress.

        brought    the operands that it hands on
        computed   the result where a computation that is called has written it
        """
        it = line.instruction
        table = self.value(line, None, now, "temporary", (), len(shape.elements))
        parts: list[Tree] = []
        for k, element in enumerate(shape.elements):
            if k != (1 if it.opcode == "copy-start" else 0) or it.opcode == "all-reduce-start":
                kind = "scratch" if k == 2 and isinstance(element, TupleShape) else "temporary"
                made = k == 1 and computed is not None
                new = self.renamed(line, computed, now, (k,)) if made else self.new(line, element, now, kind, (k,))
                parts.append(new)
            elif isinstance(element, TupleShape) and not (brought and isinstance(brought[0], Table)):
                parts.append(Table(self.value(line, None, now, "temporary", (k,), len(brought)), tuple(brought)))
            else:
                parts.append(brought[0] if brought else None)
        result = Table(table, tuple(parts))
        self.in_place(it, result, operands)
        return result

    def in_place(self, it: Instruction, result: Tree, operands: list[Tree]) -> None:
        """One buffer for the parts of the result and the operands that they overwrite."""
        pairs = [*aliasing.stated(it._tail.words)]
        if it.opcode == "fusion":
            pairs += aliasing.of_fusion(it, self.module)
        elif it.opcode in aliasing.IN_PLACE:
            count = len(result.elements) if isinstance(result, Table) else None
            pairs += [((), 0, ())] if count is None else [((k,), k, ()) for k in range(count)]
        for out, operand, path in pairs:
            if operand < len(operands):
                self.out.share(part(result, out), part(operands[operand], path))
        if not (noted := aliasing.shared(it._tail.config)):
            return
        outs = [*arrays(result)]
        for numbers in noted:
            for k in numbers:
                source = operands[min(numbers)] if min(numbers) < len(operands) else None
                if k >= len(operands) and k - len(operands) < len(outs) and isinstance(source, int):
                    self.offered.append((outs[k - len(operands)], source))

    # ------------------------------------------------------------------------------------------------- callers

    def loop(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        """A loop: its condition, its body, itself. What it carries is in one buffer from its start to its result."""
        it = line.instruction
        start = operands[0] if operands else None
        names = {k: self.callee(line, k, said(it.tail, it.attributes, k)) for k in ("condition", "body")}
        tested = self.carried(self.taken(names["condition"], line), start, len(self.out.steps))
        self.computation(names["condition"], [tested], depth + 1)
        inner = self.carried(self.taken(names["body"], line), start, len(self.out.steps))
        end = self.computation(names["body"], [inner], depth + 1)
        self.keep(start, self.entered.get(names["body"], 0))  # then its memory is that of the body's parameter
        now = self.step(line)
        self.use(start, now)
        result = self.carried(line, start, now)
        rows, same = [*zip(*map(leaves, (start, tested, inner, result, end)))], self.out.same
        for given, *others in rows:
            for other in others:
                self.out.share(given, other)
        # What the body hands on as it stands, be it by the name of an element that began as the same value.
        while handed := {row for row in rows if same(row[-1]) in (same(row[2]), same(row[0]))}:
            rows = [row for row in rows if row not in handed]
            for given, *others, _last in handed:
                for other in others:
                    self.out.merge(given, other)
        self.keep(result, now)
        return result

    def callee(self, line: Located, key: str, name: str | None) -> str:
        """The computation that an instruction runs; LoweringError where it names none."""
        if not name:
            what = f"line {line.line}: {line.instruction.name} is a {line.instruction.opcode} without {key}"
            raise LoweringError(what, f"{key}=%name", f"write {key}, or dump the whole module")
        return name.removeprefix("%")

    def taken(self, name: str, line: Located) -> Located:
        """The parameter of a computation; `line` where it has none."""
        return next((x for x in self.module.computations.get(name, ()) if x.instruction.opcode == "parameter"), line)

    def carried(self, line: Located, start: Tree, now: int, path: aliasing.Path = ()) -> Tree:
        """New values of the shapes of `start`, from step `now` on."""
        if isinstance(start, Table):
            elements = tuple(self.carried(line, e, now, (*path, k)) for k, e in enumerate(start.elements))
            return Table(self.again(line, start.value, now, path), elements)
        return None if start is None else self.again(line, start, now, path)

    def again(self, line: Located, value: int, now: int, path: aliasing.Path) -> int:
        """A value of the shape of another one."""
        old, number = self.out.values[value], len(self.out.values)
        name, taken = line.instruction.name, (old.shape, old.bytes, old.space)
        self.out.values.append(Value(name, path, line, *taken, "temporary", now, now, [], number, number))
        return number

    def call(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        name = self.callee(line, "to_apply", next(iter(line.instruction.called), None))
        result = self.computation(name, operands, depth + 1)
        now = self.step(line)
        for operand in operands:
            self.use(operand, now)
        self.keep(result, now)
        return result

    def asynchronous(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        """An async-start, or an async-update: the one that brings the operands runs the computation that is called."""
        it = line.instruction
        update = it.opcode == "async-update"
        brought = operands[1:] if update else operands
        name = self.called_by(line)
        inside = self.module.computations.get(name or "", ())
        bound = (brought or not update) and sum(x.instruction.opcode == "parameter" for x in inside) == len(brought)
        first = len(self.out.values)
        self.apart_now += 1
        computed = self.computation(name, brought, depth + 1) if name and inside and bound else None
        self.apart_now -= 1
        now, written = self.step(line), range(first, len(self.out.values))
        for operand in operands:
            self.read(operand, now)
        if update and not brought:
            found = operands[0] if operands else None
        elif isinstance(it.shape, TupleShape):
            found = self.started(line, it.shape, operands, brought, now, computed)
        else:
            found = self.new(line, it.shape, now, "temporary")
        self.keep(found, now)
        self.apart(found, operands[0] if update else found, written)
        return found

    def apart(self, found: Tree, begun: Tree, written: range) -> None:
        """Let what an asynchronous operation's computation writes live from the operation's -start at the earliest, and
        up to its -done."""
        if isinstance(found, Table) and isinstance(begun, Table):
            self.inside.setdefault(found.value, written)
            for number in written:
                value = self.out.values[number]
                value.start = max(value.start, self.out.values[begun.value].start)
                value.end = max(value.end, value.start)

    def called_by(self, line: Located) -> str | None:
        """The computation of an asynchronous operation, which its -start names."""
        start = aliasing.behind(line.instruction.name, self.module.body(line.computation or ""), ("async-update",))
        return next(iter(start.called), None) if start is not None else None

    def branches(self, line: Located, operands: list[Tree], depth: int) -> Tree:
        """A conditional: each of its branches, itself. The results of the branches share their memory."""
        names, spans = line.instruction.called, []
        results = []
        for name, operand in zip(names, operands[1:]):
            spans.append(len(self.out.spans))
            results.append(self.computation(name, [operand], depth + 1))
        now = self.step(line)
        self.out.branches[now] = spans
        for operand in operands:
            self.read(operand, now)
        if not results:
            return self.new(line, line.instruction.shape, now, "temporary")
        result = self.carried(line, results[0], now)
        for given, one, *others in zip(leaves(result), *map(leaves, results)):
            for other in (one, *others):
                self.out.share(other, given)
            if all(self.out.same(other) == self.out.same(one) for other in others):
                self.out.merge(one, given)
        self.keep(result, now)
        return result

    # -------------------------------------------------------------------------------------------------- values

    def parameter(self, line: Located, arguments: list[Tree] | None) -> Tree:
        it, now = line.instruction, self.step(line)
        number = it.parameter_number or 0
        if arguments is None:
            self.arguments[number] = self.new(line, it.shape, 0, "argument")
            return self.arguments[number]
        if number >= len(arguments):
            return self.new(line, it.shape, now, "temporary")
        self.entered[line.computation] = now
        self.keep(arguments[number], now)
        return arguments[number]

    def new(self, line: Located, shape: Shape, now: int, kind: str, path: aliasing.Path = ()) -> Tree:
        """Memory for a result."""
        if isinstance(shape, TupleShape):
            table = self.value(line, None, now, kind, path, len(shape.elements))
            return Table(table, tuple(self.new(line, e, now, kind, (*path, k)) for k, e in enumerate(shape.elements)))
        if isinstance(shape, BufferShape):
            shape = shape.array
        return self.value(line, shape, now, kind, path) if isinstance(shape, ArrayShape) else None

    def value(
        self, line: Located, shape: ArrayShape | None, now: int, kind: str, path: aliasing.Path, pointers: int = 0
    ) -> int:
        values = self.out.values
        number = len(values)
        size: int | None
        if shape is None:
            size, space = POINTER * pointers * (not self.apart_now), 0
        elif (found := self.sizes.get(id(shape))) is not None:
            size, space, _shape = found
        else:
            size, space = _size(shape), shape.effective_layout.memory_space
            self.sizes[id(shape)] = size, space, shape
        if size is None:
            self.warn(line, f"the size of {shape} is not known: it counts as nothing")
            size = 0
        if kind == "scratch" and (shape is None or space in _WAITED_FOR):
            kind = "temporary"
        values.append(Value(line.instruction.name, path, line, shape, size, space, kind, now, now, [], number, number))
        return number

    def step(self, line: Located) -> int:
        steps = self.out.steps
        if (now := len(steps)) >= MAX_STEPS:
            what = f"more than {MAX_STEPS:,} instructions, calls put in place"
            raise RangeError(what, "fewer", "give a part of the program")
        steps.append(line)
        return now

    def read(self, tree: Tree, now: int) -> None:
        """Note what a step reads."""
        values, use = self.out.values, (now, self.span)
        for number in leaves(tree):
            found = values[number]
            if found.end < now:
                found.end = now
            found.uses.append(use)

    def use(self, tree: Tree, now: int) -> None:
        """Note what a loop or a call takes: it is read by what runs there, which says how long it lives."""
        for number in leaves(tree):
            self.out.values[number].uses.append((now, self.span))

    def keep(self, tree: Tree, now: int) -> None:
        """Let values live up to a step at which they have a name."""
        values = self.out.values
        for number in leaves(tree):
            found = values[number]
            if found.end < now:
                found.end = now

    def warn(self, line: Located, what: str) -> None:
        self.out.warnings.append(f"line {line.line}: {line.instruction.name}: {what}")

    def entry_aliases(self) -> None:
        """One buffer for each donated argument and the result's part in its place; the others are there to the end."""
        donated = set()
        text = header_list(self.module.header, "input_output_alias") or "{}"
        for out, number, path, _must in aliasing.aliases(text):
            donated |= {*leaves(part(self.arguments.get(number), path))}
            self.out.share(part(self.out.results, out), part(self.arguments.get(number), path))
        for number in {v for tree in self.arguments.values() for v in leaves(tree)} - donated:
            self.out.values[number].end = len(self.out.steps)


_NEW: Tree = cast(Table, object())  # no value of an operand
_Caller = Callable[[_Follow, Located, list[Tree], int], Tree]
_CALLERS: dict[str, _Caller] = {
    "while": _Follow.loop,
    "call": _Follow.call,
    "conditional": _Follow.branches,
    "async-start": _Follow.asynchronous,
    "async-update": _Follow.asynchronous,
}


def is_flag(shape: ArrayShape) -> bool:
    """Whether a shape is that of one sync flag, which is a word, whatever tiles it has."""
    return not shape.dimensions and shape.effective_layout.memory_space in _FLAGS


def _allocate(found: Flow, target: str | None) -> None:
    """Give tables of tuples, and untiled arrays of a program that has tiles, the bytes that the compiler gives them."""
    shapes = {id(v.shape): v.shape for v in found.values if v.shape is not None}.values()
    tiles = {(s.bits, s.dimensions, s.effective_layout.tiles) for s in shapes}
    line = line_of(target, frozenset(v.space for v in found.values), (32, (), ((256,),)) in tiles)
    tiled = any(t for _bits, _dims, t in tiles)
    for value in found.values:
        if value.shape is None:
            value.bytes = ceil_div(value.bytes, line) * line
        elif is_flag(value.shape):
            value.bytes = value.shape.bits // 8
        elif tiled and value.space in _TILED_SPACES and not value.shape.effective_layout.tiles:
            unit = _UNTILED * max(value.shape.bits, 8) // 8
            value.bytes = ceil_div(value.bytes, unit) * unit
