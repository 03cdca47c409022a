"""The instructions of an HLO module, one after the other, from a file of any size.

A module is a line `HloModule ...`, tables of source lines, and computations: `%name (parameters) -> shape {`, an
instruction a line, `}`. One of them is ENTRY.

Source: XLA xla/hlo/ir/hlo_module.cc and hlo_computation.cc (their printers).
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, TypeAlias

from ..errors import LeafTypeError, ParseError
from .instruction import Instruction, parse_instruction

#: A longer line is refused, and passed over in pieces of this size [bytes, or characters of a text file].
MAX_LINE = 2**24

_OPENS = re.compile(r"\s*(ENTRY\s+)?%?([A-Za-z_0-9][\w.-]*)\s*(?=[({])")
_CLOSES = re.compile(r"\s*\}\s*(,|$)")
_NOTHING = re.compile(r"\s*(//|$)")
_ASSIGNS = re.compile(r"\s*(ROOT\s+)?%?[A-Za-z_0-9][\w.-]*\s*=")
_AROUND = re.compile(r"HloModule\b|(FileNames|FunctionNames|FileLocations|StackFrames)\s*$|[0-9]+\s*[\"{]")


Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]
OnError: TypeAlias = Callable[[ParseError], Any]


class Located(NamedTuple):
    """An instruction, and where it stands.

    instruction   the instruction
    computation   the name of its computation without %; None for a line outside of any
    is_entry      whether that is the ENTRY computation
    line          number of the line, from 1 on

    >>> import io
    >>> [x.computation for x in read_hlo(io.StringIO("ENTRY %main {\\n  ROOT %a = f32[] parameter(0)\\n}"))]
    ['main']

    Source: XLA xla/hlo/ir/hlo_computation.cc.
    """

    instruction: Instruction
    computation: str | None
    is_entry: bool
    line: int


def read_hlo(source: Source, on_error: OnError | None = None) -> Iterator[Located]:
    """The instructions of an HLO module in their order; one line is in memory at a time.

    source     a path, or a file that is open for reading; bytes are UTF-8
    on_error   is given the error of each line that cannot be read, and reading goes on; without it the first one is raised
    Raises     ParseError with the number of the line: a broken instruction, bytes that are no text, a line of more than
               MAX_LINE bytes, a line that belongs in no module, a file that ends inside of a computation.
               OSError for a file that cannot be opened

    >>> import io
    >>> text = "HloModule m\\n\\nENTRY %main (a: f32[3]) -> f32[3] {\\n  %a = f32[3]{0} parameter(0)\\n  ROOT %n = f32[3] negate(%a\\n}\\n"
    >>> errors = []
    >>> for x in read_hlo(io.StringIO(text), errors.append):
    ...     print(x.line, x.computation, x.is_entry, x.instruction.name, x.instruction.shape)
    4 main True a f32[3]{0}
    >>> print(errors[0])
    line 5: the line ends, at position 28
          ROOT %n = f32[3] negate(%a
                                    ^
      expected  ')' behind the operands
      to mend   close the '(' at position 25

    Law: str(x.instruction) is line x.line of the file.
    Source: XLA xla/hlo/ir/hlo_module.cc.
    """
    if isinstance(source, str) and "\n" in source:
        raise LeafTypeError("the text of a module", "a path, or an open file", "wrap it: read_hlo(io.StringIO(text))")
    if isinstance(source, (str, os.PathLike)):
        return _of_path(source, on_error)
    if hasattr(source, "readline"):
        return _of_file(source, on_error)
    raise LeafTypeError(f"a source of type {type(source).__name__}", "a path, or an open file", "open the file first")


def _of_path(path: str | os.PathLike[str], on_error: OnError | None) -> Iterator[Located]:
    with open(path, "rb") as file:
        yield from _of_file(file, on_error)


def _of_file(file: IO[str] | IO[bytes], on_error: OnError | None) -> Iterator[Located]:
    place = _Place()
    number = 0
    for number, raw in _raw_lines(file):
        try:
            instruction = place.read(_text(raw))
        except ParseError as error:
            _report(error, number, on_error)
            continue
        if instruction is not None:
            yield Located(instruction, place.computation, place.is_entry, number)
    if place.computation is not None:
        what = f"the file ends inside of the computation {place.computation}"
        _report(ParseError("", 0, what, "'}'", "the file may be cut"), number, on_error)


def _report(error: ParseError, number: int, on_error: OnError | None) -> None:
    text, position, what, expected, mend = error.args
    numbered = ParseError(text, position, f"line {number}: {what}", expected, mend)
    if on_error is None:
        raise numbered from None
    on_error(numbered)


def _raw_lines(file: IO[Any]) -> Iterator[tuple[int, str | bytes]]:
    """The lines with their numbers. Of one that is too long, as much as shows that it is; the rest is passed over."""
    for number in itertools.count(1):
        try:
            raw = piece = file.readline(MAX_LINE + 1)
        except UnicodeDecodeError:
            what = f"line {number}, or one soon after it, holds bytes that are no {getattr(file, 'encoding', 'text')}"
            mend = "give the path, or open the file as bytes: then reading goes on behind that line"
            raise ParseError("", 0, what, "a text", mend) from None
        if not raw:
            return
        while len(piece) > MAX_LINE and piece[-1] not in ("\n", ord("\n")):
            piece = file.readline(MAX_LINE + 1)
        yield number, raw


def _text(raw: str | bytes) -> str:
    """A line as text, without its end."""
    if len(raw) > MAX_LINE:
        raise ParseError("", 0, f"more than {MAX_LINE:,} characters", "a line of an HLO module", "leave large constants out of the dump")
    if isinstance(raw, str):
        return raw.removesuffix("\n")
    try:
        return raw.decode().removesuffix("\n")
    except UnicodeDecodeError as error:
        at = len(raw[: error.start].decode())
        raise ParseError(raw.decode(errors="replace"), at, "bytes that are no text", "UTF-8", "the file may be binary") from None


class _Place:
    """Which computation the line stands in that is read."""

    def __init__(self) -> None:
        self.computation: str | None = None
        self.is_entry = False

    def read(self, line: str) -> Instruction | None:
        """The instruction of the next line; None for a line that is another part of a module."""
        if _NOTHING.match(line):
            return None
        if _CLOSES.match(line):
            self.close(line)
        elif line.rstrip().endswith("{") and (found := _OPENS.match(line)):
            self.open(line, found[2], found[1] is not None)
        elif self.computation is not None or _ASSIGNS.match(line):
            return parse_instruction(line)
        elif not _AROUND.match(line):
            raise ParseError(line, 0, "no part of an HLO module", "a computation, an instruction, a table", "is it the text of one?")
        return None

    def open(self, line: str, name: str, is_entry: bool) -> None:
        before, self.computation, self.is_entry = self.computation, name, is_entry
        if before is not None:
            raise ParseError(line, 0, f"a computation begins inside of {before}", "'}' before it", "a part of the file may be missing")

    def close(self, line: str) -> None:
        before, self.computation, self.is_entry = self.computation, None, False
        if before is None:
            raise ParseError(line, 0, "'}' closes nothing", "a computation before it", "a part of the file may be missing")
