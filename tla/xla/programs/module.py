"""A whole HLO module as a value: its computations, which of them call which, and the tables of source lines.

Source: XLA xla/hlo/ir/hlo_module.cc and hlo_computation.cc (their printers); xla/hlo/ir/stack_frames.h.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...core.cache import plain_memo
from ...core.errors import LoweringError, ParseError, printable
from ...core.reader import nearest
from .instruction import LITERALS, Instruction, attributes_of, entries
from .program import Located, Source, read_lines
from .text_file import OnError

_HEADER = re.compile(r"HloModule\s+([^\s,]+)")
_TITLE = re.compile(r"\s*(FileNames|FunctionNames|FileLocations|StackFrames)\s*$")
_ROW = re.compile(r'\s*([0-9]+)\s*(?:"((?:[^"\\]|\\.)*)"|\{([^{}]*)\})')
_FIELD = re.compile(r"\b(\w+)=(-?[0-9]+)")


#: What is said of a text that begins behind its first line.
HEADLESS = "the text has no header: which arguments are donated is not known"


class SourceLine(NamedTuple):
    """A line of the user's program.

    >>> print(SourceLine("model.py", 12, "loss"))
    model.py:12 (loss)
    """

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return printable(f"{self.file}:{self.line} ({self.function})" if self.function else f"{self.file}:{self.line}")


class Body:
    """A computation's parameters, root and callers, found in one pass over its lines.

    lines        its lines in their order
    parameters   those whose number is known, with it
    root         the line that is its result; None where no line says so
    callers      the lines that call computations
    """

    def __init__(self, lines: Sequence[Located]) -> None:
        self.lines = lines
        self.root: Located | None = None
        self.parameters: list[tuple[int, Located]] = []
        self.callers: list[Located] = []
        for x in lines:
            it = x.instruction
            if it.is_root and self.root is None:
                self.root = x
            if it.opcode == "parameter" and (number := it.parameter_number) is not None:
                self.parameters.append((number, x))
            elif it._tail.called:
                self.callers.append(x)

    @functools.cached_property
    def given(self) -> dict[str, Located]:
        """The lines by name."""
        return {x.instruction.name: x for x in self.lines}

    def undefined(self) -> Iterator[tuple[Located, str]]:
        """The operands that no line of it has, each with the line that takes it."""
        given = self.given
        for x in self.lines:
            if x.instruction.opcode not in LITERALS:
                for name in x.instruction.operand_names:
                    if name not in given:
                        yield x, name

    def instruction(self, name: str) -> Instruction | None:
        """The instruction of a name; None where no line has it."""
        found = self.given.get(name)
        return None if found is None else found.instruction


@dataclass(frozen=True, slots=True)
class Module:
    """An HLO module: its computations, and the tables around them.

    name           the module's name; None where the text has no header
    header         the first line as it stands; empty where the text has none
    computations   by name, each with its instructions in their order
    entry          the name of the ENTRY computation; None where the text has none
    tables         the tables of source lines: title -> number -> a name, or fields

    Source: XLA xla/hlo/ir/hlo_module.h.
    """

    name: str | None
    header: str
    computations: dict[str, tuple[Located, ...]]
    entry: str | None
    tables: Mapping[str, Mapping[int, str | dict[str, int]]]
    _frames: dict[str, tuple[SourceLine, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _bodies: dict[str, Body] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def is_scheduled(self) -> bool:
        """Whether instructions stand in the order in which they run. ParseError for a header that cannot be read."""
        return header_list(self.header, "is_scheduled") == "true"

    def body(self, name: str) -> Body:
        """A computation's Body by its name; one of nothing where it is not there."""
        if name not in self._bodies:
            self._bodies[name] = Body(self.computations.get(name, ()))
        return self._bodies[name]

    def frames(self, instruction: Instruction) -> tuple[SourceLine, ...]:
        """The lines of the user's program that an instruction is from, the innermost call first."""
        if instruction._tail.metadata not in self._frames:
            self._frames[instruction._tail.metadata] = tuple(self._source_lines(instruction.metadata))
        return self._frames[instruction._tail.metadata]

    def _source_lines(self, metadata: Mapping[str, str]) -> Iterator[SourceLine]:
        if "source_file" in metadata:
            yield SourceLine(metadata["source_file"], int(metadata.get("source_line", "0")), "")
        number, seen = int(metadata.get("stack_frame_id", "0")), set[int]()
        while number and number not in seen:
            seen.add(number)
            frame = self._fields("StackFrames", number)
            place = self._fields("FileLocations", frame.get("file_location_id", 0))
            if not place:
                return
            names = (self.tables.get(t, {}).get(place[k], "") if k in place else "" for t, k in _NAMES)
            file, function = (n if isinstance(n, str) else "" for n in names)
            yield SourceLine(file, place.get("line", 0), function)
            number = frame.get("parent_frame_id", 0) - self._shift

    def origins(self, lines: Sequence[Located]) -> list[str]:
        """The operation of the user's program that each line is from: its op_name; without one `copy of w`, by the
        first operand with one.

        >>> import io
        >>> text = '''ENTRY %main {
        ...   %a = f32[8]{0} parameter(0), metadata={op_name="w"}
        ...   %b = (f32[8]{0}, f32[8]{0}, u32[]) copy-start(%a)
        ...   ROOT %c = f32[8]{0} copy-done(%b)
        ... }'''
        >>> module = read_module(io.StringIO(text))
        >>> module.origins(module.computations["main"])
        ['w', 'copy of w', 'copy of w']
        """
        without: dict[str, dict[str, Located]] = defaultdict(dict)
        for x in lines:
            if not _op_name(x.instruction):
                without[x.computation or ""][x.instruction.name] = x
        names = {name: _led_back(self.body(name).given, asked) for name, asked in without.items()}
        return [_op_name(x.instruction) or _made_of(x.instruction, names[x.computation or ""]) for x in lines]

    @property
    def _shift(self) -> int:
        """1 where the table counts parents from 1 for none, as XLA prints since 2025: the first frame names itself."""
        return int(self._fields("StackFrames", 1).get("parent_frame_id") == 1)

    def _fields(self, table: str, number: int) -> dict[str, int]:
        row = self.tables.get(table, {}).get(number)
        return row if isinstance(row, dict) else {}


def _op_name(it: Instruction) -> str:
    return entries(it._tail.metadata).get("op_name", "")


def _led_back(given: Mapping[str, Located], asked: Mapping[str, Located]) -> dict[str, str]:
    """By instruction without an op_name: that of the first operand which has one, or is led back to one.

    given   the lines of a computation by name;  asked   those without an op_name that are to be led back
    """
    without = {**asked}
    waiting = [*asked.values()]
    for x in waiting:  # which grows by operands without one
        for o in x.instruction.operand_names:
            source = given.get(o)
            if source is not None and o not in without and not _op_name(source.instruction):
                without[o] = source
                waiting.append(source)
    names: dict[str, str] = {}
    for x in sorted(waiting, key=_LINE):  # operands stand before what takes them
        found = (
            names.get(o, "") if o in without else _op_name(given[o].instruction)
            for o in x.instruction.operand_names
            if o in given
        )
        names[x.instruction.name] = next(filter(None, found), "")
    return names


_LINE = operator.attrgetter("line")


def _made_of(it: Instruction, names: Mapping[str, str]) -> str:
    name = names.get(it.name)
    return f"{it.opcode.removesuffix('-start').removesuffix('-done')} of {name}" if name else ""


_NAMES = (("FileNames", "file_name_id"), ("FunctionNames", "function_name_id"))


def read_module(source: Source, on_error: OnError | None = None) -> Module:
    """The HLO module that a file holds, whole in memory; `read_hlo` reads one of any size.

    Source, on_error and errors as those of read_hlo.

    >>> import io
    >>> module = read_module(io.StringIO("HloModule m, is_scheduled=true\\nENTRY %main {\\n  ROOT %a = f32[] parameter(0)\\n}"))
    >>> module.name, module.is_scheduled, module.entry, [x.instruction.name for x in module.computations["main"]]
    ('m', True, 'main', ['a'])

    Source: XLA xla/hlo/ir/hlo_module.cc.
    """
    around: list[str] = []
    return module_of(read_lines(source, on_error, around.append), around)


def module_of(lines: Iterable[Located], around: list[str] | None = None) -> Module:
    """The module of instructions that are read.

    around   the lines of its text that are no part of a computation; filled when the last instruction is taken
    """
    computations: dict[str, list[Located]] = {}
    for name, body in itertools.groupby(lines, _OF):
        if name is not None:
            computations.setdefault(name, []).extend(body)
    entry = next((name for name in reversed(computations) if any(x.is_entry for x in computations[name])), None)
    around = around or []
    header = next((line for line in map(str.lstrip, around) if line.startswith("HloModule")), "")
    titled = _HEADER.match(header)
    bodies = {k: tuple(v) for k, v in computations.items()}
    return Module(titled[1] if titled else None, header, bodies, entry, _Tables(around))


_OF = operator.attrgetter("computation")


class _Tables(Mapping[str, Mapping[int, "str | dict[str, int]"]]):
    """The tables of lines of text: read when they are first asked for, since most questions are about none."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    @functools.cached_property
    def read(self) -> dict[str, dict[int, str | dict[str, int]]]:
        out: dict[str, dict[int, str | dict[str, int]]] = {}
        rows: dict[int, str | dict[str, int]] = {}
        for line in self.lines:
            if title := _TITLE.match(line):
                rows = out.setdefault(title[1], {})
            elif row := _ROW.match(line):
                fields = row[3]
                rows[int(row[1])] = row[2] if fields is None else {k: int(n) for k, n in _FIELD.findall(fields)}
        return out

    def __getitem__(self, title: str) -> dict[int, str | dict[str, int]]:
        return self.read[title]

    def __iter__(self) -> Iterator[str]:
        return iter(self.read)

    def __len__(self) -> int:
        return len(self.read)

    def __repr__(self) -> str:
        return repr(self.read)


def require_computations(module: Module, errors: Sequence[ParseError] = ()) -> None:
    """Refuse a text in which there is no computation: with the first error of its lines, where there is one."""
    if not module.computations:
        what = f"no computation in {module.name or 'the text'}"
        if errors:
            raise errors[0]
        raise LoweringError(what, "the text of an HLO module", "dump the whole module: the file may be cut")


def require_apart(module: Module) -> None:
    """Refuse a module printed with computations inside of the instructions that call them: they have no names."""
    inside = next((name for name in module.computations if "/" in name), None)
    if inside is not None:
        name = module.name or "without a header"
        what = f"module {name} is printed with computations inside of instructions, as in {inside}"
        fix = "take what compile().as_text() or --xla_dump_to gives; totals(..., interiors=True) counts this print too"
        raise LoweringError(what, "one computation after the other", fix)


def entry_name(module: Module) -> str:
    """The name of the ENTRY computation, which comes last in a module's text; a module without one is refused."""
    if module.entry is None:
        what = f"module {module.name or 'without a name'} has no ENTRY computation"
        raise LoweringError(what, "a computation that begins with ENTRY", "dump the whole module: the file may be cut")
    return module.entry


def header_list(header: str, key: str) -> str | None:
    """The text of an attribute of the header, its braces included; None where the header does not have it.

    >>> header_list("HloModule m, input_output_alias={ {0}: (1, {}, may-alias) }, x={}", "input_output_alias")
    '{ {0}: (1, {}, may-alias) }'

    Raises ParseError for a header that is cut, an attribute that is given twice, and one whose name is nearly `key`.
    """
    return said(header, header_attributes(header), key)


@plain_memo  # of one module it is asked nine times
def header_attributes(header: str) -> Mapping[str, str]:
    """The attributes of a header. ParseError for one that is cut, and for an attribute that is given twice."""
    found = _HEADER.match(header)
    return attributes_of(header, found.end() if found else 0)


def said(text: str, attributes: Mapping[str, str], key: str) -> str | None:
    """The text of an attribute; None where there is none. One whose name is nearly `key` is refused, not left out."""
    if key in attributes or not (near := nearest(key, [*attributes], 0.85)):
        return attributes.get(key)
    what = f"attribute {near:.60} is not known"
    raise ParseError(text, max(text.find(f"{near}="), 0), what, key, f"write {key} for {near:.60}")
