"""One instruction of an HLO module, as a value: `%add.1 = f32[3]{0} add(%a, f32[3]{0} %b), metadata={...}`.

    instruction = [ "ROOT" ] name "=" shape opcode "(" [ operand { "," operand } ] ")" { "," key "=" text }
    operand     = [ shape ] text            ; the text of `parameter` is its number, that of `constant` its literal

Shapes are read; all else is kept as it stands, blanks and comments included. So str() of the value is the line again.

Source: XLA xla/hlo/ir/hlo_instruction.cc (its printer) and xla/hlo/parser/hlo_parser.cc.
"""

from __future__ import annotations

import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ...core.cache import known_memo, plain_memo
from ...core.errors import ParseError, require_type
from ...core.value import open_twin, put
from ..shapes.grammar import REMEMBERED, parse_shape
from ..shapes.values import Shape
from .printed_line import INDEX, LONG, OPERAND, line_parts, tail_parts

# Each comment can be matched in one way only: two ways each, and a line that fails to match would be tried in 2**n.
_COMMENT = r"/\*[^*]*(?:\*(?!/)[^*]*)*\*/"
_GAP = rf"\s*(?:{_COMMENT}\s*)*"
_NAME = r"[A-Za-z_0-9][\w.-]*"
_HEAD = re.compile(rf"(?P<before>{_GAP})(?P<root>ROOT\s{_GAP})?(?!ROOT\s*=)%?(?P<name>{_NAME}){_GAP}={_GAP}")
_BLANKS = re.compile(_GAP)
_OPCODE = re.compile(rf"({_GAP})([a-z][a-z0-9_-]*)(?=\()")
_ARRAY = re.compile(r"[A-Za-z][A-Za-z0-9]*\s*\[[^][]*\](?:\s*\{\s*[0-9:][^{}]*\})?")
_KEY = re.compile(rf"{_GAP},{_GAP}({_NAME}){_GAP}=")
# What counts in nested text. Brackets with nothing but strings in them are passed over in one match.
_FLAT = r'[^][(){}"/]*(?:"[^"\\]*"[^][(){}"/]*)*'
_MARK = re.compile(rf'"[^"\\]*(?:\\.[^"\\]*)*"|{_COMMENT}|@mesh<[^<>]*>|\{{{_FLAT}\}}|\[{_FLAT}\]|[][(){{}},"]')
# What says nothing where a bracket is open, strings and commas too: most of a backend_config. It may be empty.
_INSIDE = re.compile(rf"{_FLAT}(?:(?:\{{{_FLAT}\}}|\[{_FLAT}\]){_FLAT})*")
_CLOSES = {"(": ")", "[": "]", "{": "}"}


#: What these take in parentheses is no name.
LITERALS = frozenset({"parameter", "constant"})


class Operand(NamedTuple):
    """An operand of an instruction: the shape, where the line has it in place, between the texts around it.

    before   blanks and comments before the shape
    shape    None where the line has none
    text     all the rest: a name, the number of a parameter, a literal

    >>> parse_instruction("a = f32[3] add(f32[3]{0} %b, /*index=1*/%c.2)").operands[0].shape.dimensions
    (3,)

    Source: XLA xla/hlo/ir/hlo_instruction.cc.
    """

    before: str
    shape: Shape | None
    text: str

    def __str__(self) -> str:
        return f"{self.before}{'' if self.shape is None else self.shape}{self.text}"

    @property
    def name(self) -> str:
        """The text without blanks, comments and %: an instruction's name; what a `parameter` or `constant` holds."""
        text = self.text.strip()
        while text.startswith("/*"):
            text = text[_BLANKS.match(text).end() :]  # type: ignore[union-attr]  # it matches the empty text too
        return text.removeprefix("%")


@dataclass(frozen=True, slots=True, eq=False)
class Tail:
    """The text behind the operands of an instruction, taken apart once for all lines that have the same.

    text       as it stands
    words      the attributes as XLA prints them, without metadata, and without the backend_config where that is the last
    metadata   with its braces; empty where there is none
    config     the text of the backend_config; empty where there is none
    called     the names of the computations in it
    """

    text: str
    words: str
    metadata: str
    config: str
    called: tuple[str, ...]


class _Said:
    """The parts of an instruction that follow from its fields, known from the start, for each step reads them."""

    __slots__ = ("_before", "_operands", "_tail", "is_root", "name")
    name: str
    is_root: bool
    _before: str  # what stands before the name of a printed line
    _operands: str  # where XLA prints names alone; else empty
    _tail: Tail


@dataclass(frozen=True, slots=True)
class Instruction(_Said):
    """An instruction of an HLO module. Its str() is the line, with shapes in XLA's canonical print.

    head       all before the shape: blanks, ROOT, the name, `=`
    shape      what it results in
    gap        what stands between shape and opcode: a blank
    opcode     `add`, `fusion`, `custom-call`
    operands   what it takes
    tail       all behind the operands: `, key=text, key=text`

    What follows from these: `name`, without %; `is_root`, whether it is the result of its computation; `operand_names`;
    `called`, the names of the computations that it calls.

    >>> add = parse_instruction("  ROOT %add.1 = f32[3]{0} add(%a, %b), metadata={op_name=\\"jit(f)/add\\" stack_frame_id=3}")
    >>> add.name, add.is_root, add.opcode, add.operand_names, add.metadata
    ('add.1', True, 'add', ('a', 'b'), {'op_name': 'jit(f)/add', 'stack_frame_id': '3'})
    >>> from dataclasses import replace
    >>> print(replace(add, shape=parse_shape("bf16[3]{0:T(256)}"), tail=""))
      ROOT %add.1 = bf16[3]{0:T(256)} add(%a, %b)

    Source: XLA xla/hlo/ir/hlo_instruction.cc.
    """

    head: str
    shape: Shape
    gap: str
    opcode: str
    operands: tuple[Operand, ...]
    tail: str

    def __post_init__(self) -> None:
        found = _head(self.head, 0)
        put(self, "name", found["name"])
        put(self, "is_root", found["root"] is not None)
        put(self, "_before", "")
        put(self, "_operands", "")
        put(self, "_tail", _tail_by_marks(self.tail))

    def __reduce__(self) -> tuple[type[Instruction], tuple[object, ...]]:
        return Instruction, (self.head, self.shape, self.gap, self.opcode, self.operands, self.tail)

    def __str__(self) -> str:
        return f"{self.head}{self.shape}{self.gap}{self.opcode}({','.join(map(str, self.operands))}){self.tail}"

    @property
    def operand_names(self) -> tuple[str, ...]:
        """The names of the operands without %; what a `parameter` or `constant` holds."""
        text = INDEX.sub("", self._operands) if "/" in self._operands else self._operands
        return tuple(text.replace("%", "").split(", ")) if text else tuple([o.name for o in self.operands])

    @property
    def parameter_number(self) -> int | None:
        """The number of the argument of its computation: 7 of `parameter(7)`; None of any other instruction.

        >>> parse_instruction("%p = f32[3]{0} parameter(7)").parameter_number
        7
        """
        operands = self.operands if self.opcode == "parameter" else ()
        return _number(operands[0]) if operands else None

    @property
    def attributes(self) -> dict[str, str]:
        """The attributes in their order, each with its text as it stands: `{"kind": "kLoop", "calls": "%f"}`.

        Raises ParseError for one that is given twice.
        """
        text, config = self.tail, self._tail.config
        said = text.removesuffix(f", backend_config={config}") if config else text
        found = _attributes(said) if len(said) <= REMEMBERED else attributes_of(said)
        return {**found, "backend_config": config} if len(said) < len(text) else {**found}

    @property
    def metadata(self) -> dict[str, str]:
        """The entries of the attribute metadata, quotes taken off: op_name, source_file, stack_frame_id."""
        return {**entries(self._tail.metadata)}

    @property
    def called(self) -> tuple[str, ...]:
        """The names of the computations that it calls, as its line has them.

        >>> parse_instruction("%w = s32[] while(%a), condition=%c, body=%b").called
        ('c', 'b')
        """
        return self._tail.called


_ENTRY = re.compile(r'\b([A-Za-z_]\w*)=("[^"\\]*(?:\\.[^"\\]*)*"|\{[^{}]*\}|[^\s,{}"]+)')
_CALLS = re.compile(
    r", (?:(?:to_apply|calls|body|condition|true_computation|false_computation)=%?([\w.-]+)"
    r"|(?:branch_computations|called_computations)=\{([^{}]*)\})"
)


@plain_memo
def entries(metadata: str) -> dict[str, str]:
    """The entries of the text of metadata, which nobody may change."""
    return {key: unquoted(text) for key, text in _ENTRY.findall(metadata[1:-1])}


@known_memo
def _number(operand: Operand) -> int | None:
    """The number that an operand of a `parameter` is; None where it is none."""
    text = operand.name
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _called_by(text: str) -> tuple[str, ...]:
    """The names of the computations that a text of attributes names."""
    found = _CALLS.findall(text)
    if found and '"' in text:  # a string may hold anything
        found = _CALLS.findall("".join(f", {key}={value}" for key, value in _said(text) if '"' not in value))
    names: list[str] = []
    for one, several in found:
        names += [one] if one else [name.strip().removeprefix("%") for name in several.split(",") if name.strip()]
    return tuple(names)


def _said(text: str) -> Iterator[tuple[str, str]]:
    return ((key, text[begin:end].strip()) for key, begin, end in attribute_spans(text, 0))


class _Later:
    """A field of an instruction that is made when it is first asked for, where it was not set before."""

    def __init__(self, name: str, make: Callable[[Instruction], object]) -> None:
        slot = vars(Instruction)[name]
        self.make, self.get, self.set = make, slot.__get__, slot.__set__
        setattr(Instruction, name, self)

    def __get__(self, it: Instruction | None, kind: type | None = None) -> Any:
        if it is None:
            return self
        try:
            return self.get(it)
        except AttributeError:
            found = self.make(it)
            self.set(it, found)
            return found

    def __set__(self, it: Instruction, value: object) -> None:
        self.set(it, value)


def _tail_by_marks(text: str) -> Tail:
    said = [*_said(text)]
    metadata = next((value for key, value in said if key == "metadata"), "")
    config = ", ".join(value for key, value in said if key == "backend_config")
    attributes = "".join(f", {key}={value}" for key, value in said)
    words = attributes.replace(f", metadata={metadata}", "", 1)
    return Tail(text, words, metadata, config, _called_by(words))


def _printed_tail(text: str) -> Tail | None:
    """A tail as XLA prints it; None of any other."""
    found = tail_parts(text)
    if found is None:
        return None
    before, metadata, behind, config = found
    words = before + behind
    new = _Tail()
    new.text, new.words, new.metadata, new.config = text, words, metadata, config
    new.called = _called_by(words) if words else ()
    new.__class__ = Tail
    made: Tail = new
    return made


_Tail = open_twin(Tail)


_remembered_tail = known_memo(_printed_tail)


def parse_instruction(line: str) -> Instruction:
    """The instruction that a line of an HLO module holds. str() of it is the line, as far as its shapes are canonical.

    line      one line; blanks around it are kept, a line end as well
    Raises    ParseError with the position where the line is no instruction, or a shape in it is none

    >>> fusion = parse_instruction("%f = (f32[8]{0}, s32[]) fusion(f32[8]{0} %p), kind=kLoop, sharding={{replicated}, {manual}}")
    >>> print(fusion.shape, fusion.attributes)
    (f32[8]{0}, s32[]) {'kind': 'kLoop', 'sharding': '{{replicated}, {manual}}'}
    >>> parse_instruction("%c = f32[8]{0,0} copy(%a)")
    Traceback (most recent call last):
    tla.core.errors.ParseError: minor_to_major {0,0} has 2 entries for 1 dimensions, at position 12
        %c = f32[8]{0,0} copy(%a)
                    ^
      expected  each of 0 to 0 once
      fix       name each dimension once

    Law: str(parse_instruction(line)) == line for every instruction that XLA prints.
    Source: XLA xla/hlo/parser/hlo_parser.cc.
    """
    require_type(line, str, "a line of type", "a text such as '%c = f32[8]{0} copy(%a)'", "decode bytes first")
    return printed_instruction(line) or _by_marks(line)


def printed_instruction(line: str) -> Instruction | None:
    """The instruction of a line in the form in which XLA prints it; None of any other."""
    found = line_parts(line)
    if found is None:
        return None
    before, name, text, opcode, literal, called, operands = found.groups()
    behind = line[found.end() :]
    tail = _remembered_tail(behind) if len(behind) <= LONG else _printed_tail(behind)
    if tail is None:
        return None
    new = _Instruction()
    try:
        new.shape = _remembered(text) if len(text) <= REMEMBERED else parse_shape(text)
        if called is None:
            called, names = opcode, ""
            new.operands = _remembered_literal(literal) if len(literal) <= REMEMBERED else _literal(literal)
        elif "[" in operands or not operands:
            places, names = OPERAND.finditer(line, *found.span(7)) if operands else (), ""
            new.operands = tuple([_operand(line, *m.span(), literal=False) for m in places])
        else:
            names = operands
    except ParseError:  # of a shape; the line may have another fault before it
        return None
    (new._before, new.is_root), new.name, new.opcode = _begun(before), name, sys.intern(called)
    new._operands, new._tail = names, tail
    new.__class__ = Instruction
    made: Instruction = new
    return made


def _literal(text: str) -> tuple[Operand, ...]:
    """The operand of a constant or a parameter, where it has one."""
    return (_name_alone(("", None, text)),) if text and not text.isspace() else ()


_remembered_literal = known_memo(_literal)


@known_memo
def _begun(before: str) -> tuple[str, bool]:
    """The text before a name, one for all lines that begin so, and whether it says ROOT."""
    return before, "ROOT" in before


_Instruction = open_twin(Instruction)

# Most of what there is to make: operands that are names alone, made at once.
_NO_TEXT, _NO_SHAPE = itertools.repeat(""), itertools.repeat(None)
_name_alone: Callable[[tuple[str, None, str]], Operand] = functools.partial(tuple.__new__, Operand)

_Later("head", lambda it: f"{it._before}{it.name} = ")
_Later("gap", lambda it: " ")
_Later("tail", lambda it: it._tail.text)
_Later("operands", lambda it: tuple(map(_name_alone, zip(_NO_TEXT, _NO_SHAPE, it._operands.split(",")))))


def _by_marks(line: str) -> Instruction:
    """The instruction of any line, bracket by bracket; what is wrong with the line is said here."""
    start = _head(line, 0).end()
    end = _shape_end(line, start)
    if end is None:
        _fail(line, start, "no shape stands here", "a shape such as f32[8]{0} behind '='")
    opcode = _OPCODE.match(line, end)
    if opcode is None:
        what = "no operation stands here"
        _fail(line, end, what, "an opcode and '(', as in add(", "a layout stands in braces right behind ']'")
    operands, after = _operands(line, opcode.end(), literal=opcode[2] in LITERALS)
    for _ in attribute_spans(line, after):
        pass  # they are read when they are asked for; a line where that fails is refused here
    return Instruction(line[:start], _shape(line, start, end), opcode[1], opcode[2], operands, line[after:])


def _fail(line: str, at: int, what: str, expected: str, fix: str = "") -> NoReturn:
    raise ParseError(line, at, what, expected, fix or "an instruction reads %c = f32[8]{0} copy(%a), key=text")


def _head(line: str, at: int) -> re.Match[str]:
    found = _HEAD.match(line, at)
    if found is None:
        start = _BLANKS.match(line, at).end()  # type: ignore[union-attr]  # it matches the empty text too
        _fail(line, start, "no instruction begins here", "a name and '=', as in %add.1 =")
    return found


_remembered = plain_memo(parse_shape)


def _shape(line: str, start: int, end: int) -> Shape:
    """The shape at a place of the line."""
    try:
        return _remembered(line[start:end]) if end - start <= REMEMBERED else parse_shape(line[start:end])
    except ParseError as error:
        raise ParseError(line, start + error.position, *error.args[2:]) from None


def _shape_end(line: str, start: int) -> int | None:
    """The end of the shape that begins at `start`; None where none does."""
    if line.startswith("(", start):
        return _close(line, start)
    if line.startswith("b(", start):
        return _close(line, start + 1)
    found = _ARRAY.match(line, start)
    return found.end() if found else None


def _close(line: str, start: int) -> int:
    """The position behind the bracket that closes the one at `start`."""
    for at, mark in _marks(line, start + 1):
        if mark == ")":
            return at + 1
        if mark != ",":
            _fail(line, at, f"unexpected {mark!r}", "')'", f"close the '(' at position {start}")
    _fail(line, len(line), "the line ends", "')'", f"close the '(' at position {start}")


def _operands(line: str, start: int, literal: bool) -> tuple[tuple[Operand, ...], int]:
    """The operands of a line whose '(' is at `start`, and where the ')' ends."""
    out: list[Operand] = []
    begin = start + 1
    for at, mark in _marks(line, begin):
        if mark == "," and literal:
            continue
        if mark not in (",", ")"):
            _fail(line, at, f"unexpected {mark!r}", "',' or ')'", f"close the '(' at position {start}")
        if out or mark == "," or line[begin:at].strip():
            out.append(_operand(line, begin, at, literal))
        begin = at + 1
        if mark == ")":
            return tuple(out), begin
    _fail(line, len(line), "the line ends", "')' behind the operands", f"close the '(' at position {start}")


def _operand(line: str, start: int, end: int, literal: bool) -> Operand:
    if literal:
        return Operand("", None, line[start:end])
    begin = _BLANKS.match(line, start, end).end()  # type: ignore[union-attr]  # it matches the empty text too
    if begin == end:
        _fail(line, begin, "an operand is empty", "a name, as in add(%a, %b)")
    after = None if line[begin] == "%" else _shape_end(line, begin)
    if after is None:
        return Operand("", None, line[start:end])
    return Operand(line[start:begin], _shape(line, begin, after), line[after:end])


def attributes_of(line: str, start: int = 0) -> dict[str, str]:
    """The texts of the attributes from `start` on, by their keys."""
    found: dict[str, str] = {}
    for key, begin, end in attribute_spans(line, start):
        if key in found:
            _fail(line, begin, f"attribute {key:.60} is given twice", "each attribute once", "leave one of the two out")
        found[key] = line[begin:end].strip()
    return found


_attributes = plain_memo(attributes_of)


def attribute_spans(line: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The key of each attribute from `start` on, and where its text begins and ends."""
    at = start
    while key := _KEY.match(line, at):
        at = next((at for at, mark in _marks(line, key.end()) if _is_comma(line, at, mark)), len(line))
        yield key[1], key.end(), at
    behind = _BLANKS.match(line, at).end()  # type: ignore[union-attr]  # it matches the empty text too
    if behind < len(line):
        _fail(line, behind, f"unexpected {line[behind]!r}", "', key=text', or the end of the line")


def _is_comma(line: str, at: int, mark: str) -> bool:
    if mark != ",":
        _fail(line, at, f"unexpected {mark!r}", "', key=text', or the end of the line")
    return True


def _marks(line: str, start: int) -> Iterator[tuple[int, str]]:
    """The commas from `start` on that stand in no bracket, string or comment, and each bracket that closes none."""
    opened: list[str] = []
    while found := _MARK.search(line, start):
        mark, start = found[0], found.end()
        if mark in _CLOSES:
            opened.append(mark)
        elif mark == '"':
            _fail(line, found.start(), "this string is not closed", '"', 'a quote inside of it reads \\"')
        elif mark in (")", "]", "}"):
            if not opened:
                yield found.start(), mark
            elif _CLOSES[opened.pop()] != mark:
                what = f"unexpected {mark!r}"
                _fail(line, found.start(), what, "brackets that are closed in the order in which they are opened")
        elif mark == "," and not opened:
            yield found.start(), mark
        if opened:
            start = _INSIDE.match(line, start).end()  # type: ignore[union-attr]  # it matches the empty text too
    if opened:
        _fail(line, len(line), "the line ends inside of brackets", f"{_CLOSES[opened[-1]]!r}", "the line may be cut")


def unquoted(text: str) -> str:
    """The content of a text in quotes; any other text as it is.

    >>> unquoted('"a\\\\"b"'), unquoted("3")
    ('a"b', '3')
    """
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
