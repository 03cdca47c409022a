"""The text of TTGIR read: aliases, operations with their types and regions, and places in the source.

    text      = { alias | operation | end of a region }      one a line, as MLIR prints it
    alias     = "#" word "=" ( layout | location )
    operation = [ values "=" ] name ... [ ":" types ] [ "{" ] [ "loc(" location ")" ]

An operation that is not known is kept: its name, its operands, and the types that stand behind its last
colon. Nothing is evaluated.

Source: the printers of MLIR and of Triton 3.9's dialects.
"""

from __future__ import annotations

import math
import os
import zlib
from collections.abc import Iterator
from typing import IO, NamedTuple, NoReturn

from ..core.cache import compiled
from ..core.errors import LeafTypeError, ParseError
from .locations import Locations
from .program import Argument, Op, Program

#: A longer text is refused [characters]; so are more regions inside of each other, and more brackets in a line.
MAX_TEXT, MAX_DEPTH, MAX_BRACKETS = 2**24, 64, 64
MAX_LINES = 2**17
#: So many lines may be one operation.
MAX_JOINED = 64
_GZIP = b"\x1f\x8b"
_EXPECTED = "the TTGIR of a kernel, as Triton prints it"
_FIX = "write kernel.asm['ttgir'] of a compiled kernel to a file, or take NAME.ttgir of Triton's cache"

_VALUE = r"%[A-Za-z0-9_$.-]+(?:#[0-9]+)?"
_TOKEN = r'"(?:[^"\\]|\\.)*"|->|[][(){}<>]|[^][(){}<>"-]+|.'
_HEAD = rf'\s*(?:({_VALUE}(?::[0-9]+)?(?:\s*,\s*{_VALUE}(?::[0-9]+)?)*)\s*=\s*)?("?)([a-z_][a-z0-9_]*(?:\.[a-zA-Z0-9_$]+)+)\2'
_ALIAS = r"(?:#|(?=!))(!?[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)"
_BEGIN = rf"({_VALUE})\s*=\s*({_VALUE})"
_COUNTER = rf"\s*({_VALUE})\s*=\s*({_VALUE})\s+to\b"
_REGION = r"(?:default|partition[0-9]+)\b.*\{"
#: Of Triton, and of CuTe's DSL, whose kernels say their threads themselves.
_FUNCTIONS = ("tt.func", "cuda.kernel", "func.func")
_THREADS = r"exact_block_dim = array<i64: ([0-9]{1,4}), ([0-9]{1,4}), ([0-9]{1,4})>"
_OPENING, _CLOSING = "([{<", ")]}>"


def read_program(source: str | os.PathLike[str] | IO[bytes]) -> Program:
    """The program of a file of TTGIR, which may be gzipped: a path, or an open file of bytes.

    Raises     ParseError with the line for what is no TTGIR, for a text that is cut off, and where it is too
               large or too deep

    >>> import io
    >>> found = read_program(io.BytesIO(b'module attributes {"ttg.num-warps" = 8 : i32} {\\n  %c = arith.constant 4 : i32\\n}'))
    >>> found.warps, [op.name for op in found.ops]
    (8, ['arith.constant'])
    """
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return read_program(file)
    data = source.read(MAX_TEXT + 1)
    if not isinstance(data, bytes):
        raise LeafTypeError("read_program of a file of text", "a path, or a file of bytes", "open it with mode 'rb'")
    if data.startswith(_GZIP):
        data = _unpacked(data)
    return program_of(data.decode("utf-8", "replace"))


def _unpacked(data: bytes) -> bytes:
    """The text of a gzipped file, as far as a text may go."""
    try:
        return zlib.decompressobj(wbits=31).decompress(data, MAX_TEXT + 1)
    except zlib.error as error:
        raise ParseError("", 0, f"a gzipped file that is broken: {error}", "a whole file", _FIX) from error


def program_of(text: str) -> Program:
    """The program of a text of TTGIR.

    >>> program_of("%c = arith.constant 4 : i32").ops[0].result_types
    ('i32',)
    """
    if len(text) > MAX_TEXT:
        raise ParseError(
            text[:80], 0, f"a text of more than {MAX_TEXT:,} characters", "the TTGIR of one kernel", "give one kernel"
        )
    return _ProgramReader(text).program()


class _Line(NamedTuple):
    """A line of the text without its location: where it begins, its number, and what it is."""

    start: int
    number: int
    text: str
    location: str


class _ProgramReader:
    """A text, and what was read of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ops: list[Op] = []
        self.arguments: list[Argument] = []
        self.attributes: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.locations = Locations()
        self.places: list[str] = []
        self.otherwise = set[int | None]()  # those whose region behind `else` has begun
        self.open: list[int | None] = []  # the operations whose regions are open; None for the module and for functions
        self.modules = 0
        self.names: dict[str, str] = {}  # a name may come again in another region: what it stands for here

    def program(self) -> Program:
        for line in self.lines():
            self.read(line)
        if self.open:
            what = len(self.text)
            self.fail(what, "the text ends inside a region", "a '}' for each '{'", "give the whole text: it is cut off")
        if not (self.modules or self.ops or self.arguments):
            self.fail(0, "no operation and no module", _EXPECTED, _FIX)
        ops = (op._replace(sources=self.locations.resolved(place)) for op, place in zip(self.ops, self.places))
        return Program(tuple(ops), tuple(self.arguments), self.attributes, self.aliases)

    def lines(self) -> Iterator[_Line]:
        """The lines that say something; the location that stands at the end of each apart from it."""
        at, first = 0, 1
        held: _Line | None = None  # a line whose parentheses do not close goes on in the next
        for number, raw in enumerate(self.text.split("\n"), 1):
            if number > MAX_LINES:
                self.fail(at, f"more than {MAX_LINES:,} lines", "the TTGIR of one kernel", "give one kernel")
            start, at = at, at + len(raw) + 1
            text = raw.strip()
            if not text or text.startswith("//"):
                continue
            text = f"{held.text} {text}" if held else text
            cut = _location_at(text)
            line = _Line(held.start if held else start, number, text[:cut].rstrip(), text[cut:])
            held = line._replace(text=text) if _goes_on(line.text) and number - first < MAX_JOINED else None
            if held is None:
                first = number + 1
                yield line
        if held:
            yield held

    def read(self, line: _Line) -> None:
        text = line.text
        if text.startswith(("#", "!")):
            self.alias(line)
        elif text == "return" or text.startswith("return "):
            pass  # of the DSL's functions
        elif text.startswith("}"):
            self.close(line)
        elif text.startswith("^"):
            pass  # the arguments of a block: of a reduction, or of a loop whose operands say their types
        elif compiled(_REGION).fullmatch(text):
            self.descend(line, len(self.ops) - 1)
        elif text.startswith("module"):
            self.modules += 1
            if self.modules > 1:
                self.fail(
                    line.start, f"line {line.number} begins another module", "one module", "give the modules one by one"
                )
            self.attributes |= _pairs(text)
            self.descend(line, None)
        elif found := compiled(_HEAD).match(text):
            self.operation(line, found[1] or "", found[3], found.end())
        else:
            self.fail(line.start, f"line {line.number} is no operation of TTGIR", _EXPECTED, _FIX)

    def alias(self, line: _Line) -> None:
        found = compiled(_ALIAS).fullmatch(f"{line.text}{line.location}")
        if not found:
            self.fail(line.start, f"line {line.number} is no alias", "#name = a layout, or a location", _FIX)
        if found[2].startswith("loc("):
            self.locations.aliases[found[1]] = found[2]
        elif self.aliases.setdefault(found[1], found[2]) != found[2]:
            what = f"line {line.number}: #{found[1]:.40} is another layout before"
            self.fail(line.start, what, "one layout for a name", "give the modules one by one")

    def descend(self, line: _Line, op: int | None) -> None:
        if len(self.open) >= MAX_DEPTH:
            expected = f"more than {MAX_DEPTH} regions inside of each other"
            self.fail(line.start, expected, f"at most {MAX_DEPTH}", "give one kernel")
        self.open.append(op)

    def close(self, line: _Line) -> None:
        """The end of a region; types may stand behind it, and another region of the same operation may begin."""
        if not self.open:
            expected = f"line {line.number} closes a region that is not open"
            self.fail(line.start, expected, "a '{' before it", "give the whole text")
        op = self.open.pop()
        if line.text.endswith("{"):
            if "else" in line.text and op is not None:
                self.otherwise.add(op)
            self.descend(line, op)
        elif op is not None:
            behind = line.text.lstrip("}) \t")
            if behind.startswith(":"):
                operands, results = self.signature(line, behind)
                self.ops[op] = self.ops[op]._replace(operand_types=operands, result_types=results)
            self.places[op] = line.location or self.places[op]

    def operation(self, line: _Line, values: str, name: str, after: int) -> None:
        if name in _FUNCTIONS:
            if threads := compiled(_THREADS).search(line.text):
                self.attributes["ttg.num-warps"] = str(-(-math.prod(map(int, threads.groups())) // 32))
            self.arguments += [a._replace(name=self.defined(a.name, line)) for a in _arguments(line.text)]
            if line.text.endswith("{"):
                self.descend(line, None)
            return
        opens = line.text.endswith("{")
        rest = line.text[after:].rstrip("({ \t") if opens else line.text[after:]
        colon = self.last_colon(line, rest)
        body, types = rest[:colon], rest[colon:]
        begins = dict[str, str]()
        if opens and "->" in body:  # of a loop or a condition the results stand before the type of its counter
            body, _, types = body.rpartition("->")
            types = f"-> {types}"
        if name in ("scf.for", "scf.while"):
            begins = dict(compiled(_BEGIN).findall(body[max(body.find("("), 0) :]))
            if counter := compiled(_COUNTER).match(body):
                begins[counter[1]] = counter[2]  # behind those that have the types of results
        written = _results(values)
        operands, results = self.signature(line, types)
        if not results and values:
            results = _unsaid(name, operands, len(written))
        parent = next((op for op in reversed(self.open) if op is not None), None)
        read = tuple(self.names.get(v, v) for v in map(str, compiled(_VALUE).findall(body)) if v not in begins)
        begins = {argument: self.names.get(begin, begin) for argument, begin in begins.items()}
        begins = {self.defined(argument, line): begin for argument, begin in begins.items()}
        names = tuple(self.defined(value, line) for value in written)
        self.ops.append(
            Op(
                *(name, names, read, operands, results, _pairs(body), body.strip(), line.number, (), parent, begins),
                otherwise=parent in self.otherwise,
            )
        )
        self.places.append(line.location)
        if opens:
            self.descend(line, len(self.ops) - 1)

    def defined(self, name: str, line: _Line) -> str:
        """The name of a value in the whole program, which is its own: with its line where another has it too."""
        self.names[name] = f"{name}@{line.number}" if name in self.names else name
        return self.names[name]

    def last_colon(self, line: _Line, text: str) -> int:
        """The place of the last colon outside of brackets, from which on types stand; the end where there is none."""
        found, at, depth = len(text), 0, 0
        for token in compiled(_TOKEN).findall(text):
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            elif not depth and ":" in token and token[0] != '"':
                found = at + token.rindex(":")
            at += len(token)
            if depth < 0 or depth > MAX_BRACKETS:
                break
        if depth:
            what = f"line {line.number}: {'brackets that do not close' if depth > 0 else 'a bracket too many'}"
            fix = f"pairs of brackets, {MAX_BRACKETS} inside of each other at most"
            self.fail(line.start, what, fix, "give the whole text")
        return found

    def signature(self, line: _Line, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The types of operands and of results, of `: T, T -> T` in all the forms that operations print it in."""
        before, after, current, depth = list[str](), list[str](), list[str](), 0
        target = before

        def finish() -> None:
            word = "".join(current).strip()
            if word:
                target.extend(_ungrouped(word))
            current.clear()

        for token in compiled(_TOKEN).findall(text.lstrip(" :")):
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                depth -= 1
            if depth or token[0] in '"[({<' or token in _CLOSING:
                current.append(token)
            elif token == "->":
                finish()
                target = after
            else:
                parts = compiled(r",|\*|\bto\b").split(token)
                current.append(parts[0])
                if len(parts) > 1:
                    for separator, part in zip(compiled(r",|\*|\bto\b").findall(token), parts[1:]):
                        finish()
                        target = after if separator == "to" else target
                        current.append(part)
        finish()
        return tuple(before), tuple(after)

    def fail(self, at: int, what: str, expected: str, fix: str) -> NoReturn:
        raise ParseError(self.text, at, what, expected, fix)


def _goes_on(text: str) -> bool:
    """Whether a line of an operation ends inside of parentheses: `({` opens a region."""
    return text.startswith(("%", "tt.func")) and not text.endswith("{") and text.count("(") > text.count(")")


def _location_at(text: str) -> int:
    """The place of the location at the end of a line; the end where there is none."""
    if not text.endswith(")"):
        return len(text)
    at = text.rfind(" loc(")
    inner = text.rfind("(#") if at < 0 else at
    return at + 1 if at >= 0 and inner >= 0 else len(text)


def _ungrouped(text: str) -> list[str]:
    """The types of a list in parentheses, or the one type."""
    if not text.startswith("(") or not text.endswith(")"):
        return [f"!ttg.memdesc{text}" if text.startswith("<") else text]
    return _parts(text[1:-1])


def _parts(text: str) -> list[str]:
    """The parts of a text between commas outside of brackets."""
    found, current, depth = list[str](), list[str](), 0
    for token in compiled(_TOKEN).findall(text):
        depth += (token in _OPENING) - (token in _CLOSING)
        if depth or "," not in token or token[0] == '"':
            current.append(token)
            continue
        first, *middle, last = token.split(",")
        found += ["".join([*current, first]), *middle]
        current = [last]
    return [part for part in map(str.strip, (*found, "".join(current))) if part]


def _unsaid(name: str, operands: tuple[str, ...], count: int) -> tuple[str, ...]:
    """The types of results that an operation without an arrow does not write: those of its last operands."""
    if name == "tt.addptr":
        return operands[:1]
    found = operands[-count:]
    if name != "tt.load":
        return found
    return tuple(compiled(r"!tt\.ptr<([^<>,]*)(?:, [0-9]+)?>").sub(r"\1", t) for t in found)


def _pairs(text: str) -> dict[str, str]:
    """The attributes of a text: name = value in braces."""
    inside = text[text.find("{") + 1 : text.rfind("}")] if "{" in text else ""
    pairs = (part.partition("=") for part in _parts(inside))
    return {name.strip().strip('"'): value.strip() for name, _, value in pairs}


def _results(values: str) -> tuple[str, ...]:
    """The names of results: `%x:2` are %x#0 and %x#1."""
    found = list[str]()
    for value in filter(None, (v.strip() for v in values.split(","))):
        name, _, count = value.partition(":")
        found += [f"{name}#{k}" for k in range(min(int(count[:6]), 10_000))] if count else [name]
    return tuple(found)


def _arguments(text: str) -> list[Argument]:
    """The arguments of a function, each with what is known to divide it."""
    found = list[Argument]()
    for part in _parts(text[text.find("(") + 1 : text.rfind(")")]):
        name, _, rest = part.partition(":")
        if name.startswith("%"):
            divisor = _pairs(rest).get("tt.divisibility", "").partition(":")[0].strip()
            type_ = rest.partition("{")[0].partition(" loc(")[0].strip()
            found.append(
                Argument(name.strip(), type_, max(1, int(divisor)) if divisor.isdecimal() and len(divisor) < 10 else 1)
            )
    return found
