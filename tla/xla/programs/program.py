"""The instructions of an HLO module, one after the other, from a file of any size.

A module is a line `HloModule ...`, tables of source lines, and computations: `%name (parameters) -> shape {`, an
instruction a line, `}`. One of them is ENTRY. XLA's canonical print has the computations that an instruction calls
inside of it, between braces in lines of their own: then it goes on up to the line where these are closed.

Source: XLA xla/hlo/ir/hlo_module.cc and hlo_computation.cc (their printers).
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, TypeAlias

from ...core.errors import LeafTypeError, ParseError
from . import text_file
from .instruction import Instruction, parse_instruction, printed_instruction
from .text_file import OnError, is_text, text_lines

#: Instructions inside of each other, deeper than this, are no part of those around them.
MAX_DEPTH = 64

# XLA's fingerprint print has no names.
_OPENS = re.compile(r"\s*(ENTRY\b\s*)?(?:%\s*|%?([A-Za-z_0-9][\w.-]*)\s*)?(?=[({])")
_CLOSES = re.compile(r"\s*\}\s*(,|$)")
_NOTHING = re.compile(r"\s*(//|$)")
_ASSIGNS = re.compile(r"\s*(ROOT\s+)?%?([A-Za-z_0-9][\w.-]*)\s*=")
# A name and a shape behind '=': no attribute, whose value is no shape.
_BEGINS = re.compile(r"\s*(ROOT\s+)?%?[A-Za-z_0-9][\w.-]*\s*=\s*(\(|b\(|[A-Za-z]\w*\[)")
_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
_AROUND = re.compile(
    r"\s*(HloModule\b(?![\w.-]*\s*=)|(FileNames|FunctionNames|FileLocations|StackFrames)\s*$|[0-9]+\s*[\"{])"
)
DUMP_WHOLE = "dump the whole module: a part may be missing"
_SPLIT = "split the file: one for each module"
#: What a warning of a file says that is cut off.
CUT = "the file ends inside of the"
# A row of a table of source lines, as XLA prints it: most lines outside of computations are such.
_ROW = re.compile(r'[0-9]+ (?:"[^"\\]*"|\{[^{}]+\})\Z')

Source: TypeAlias = str | os.PathLike[str] | IO[str] | IO[bytes]


class Located(NamedTuple):
    """An instruction, and where it stands.

    instruction   the instruction
    computation   the name of its computation without %; "main/tmp_5" for one inside of instruction tmp_5 of main; None
                  for a line outside of any
    is_entry      whether that is the ENTRY computation
    line          number of the line, from 1 on; of several lines, the first

    >>> import io
    >>> [x.computation for x in read_hlo(io.StringIO("ENTRY %main {\\n  ROOT %a = f32[] parameter(0)\\n}"))]
    ['main']

    Source: XLA xla/hlo/ir/hlo_computation.cc.
    """

    instruction: Instruction
    computation: str | None
    is_entry: bool
    line: int


#: Located(*parts) of a tuple, in less than half the time.
_located: Callable[[tuple[Instruction, str | None, bool, int]], Located] = functools.partial(tuple.__new__, Located)


def read_hlo(source: Source, on_error: OnError | None = None) -> Iterator[Located]:
    """The instructions of an HLO module in their order; one line is in memory at a time.

    An instruction may go on in further lines. One with computations printed inside of it comes behind
    the instructions of these.

    source     a path, or a file that is open for reading; bytes are UTF-8
    on_error   is given the error of each line that cannot be read, and reading goes on; without it the first
               one is raised
    Raises     ParseError with the number of the line: a broken instruction, bytes that are no text, a line of more than
               16 MiB, a line that belongs in no module, a second module, a file that ends inside of a computation.
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
      fix       close the '(' at position 25

    Law: str(x.instruction) is the text of the file from line x.line on, one line of it but for XLA's canonical print.
    Source: XLA xla/hlo/ir/hlo_module.cc.
    """
    return read_lines(source, on_error, None)


def read_lines(source: Source, on_error: OnError | None, around: Callable[[str], Any] | None) -> Iterator[Located]:
    """read_hlo; `around` is given each line that is no part of a computation: the header, tables of source lines."""
    if is_text(source):
        raise LeafTypeError("the text of a module", "a path, or an open file", "wrap it: io.StringIO(text)")
    if not (isinstance(source, (str, os.PathLike)) or hasattr(source, "readline")):
        what = f"a source of type {type(source).__name__}"
        raise LeafTypeError(what, "a path, or an open file", "open the file first")
    return _instructions(source, on_error, around)


def _instructions(source: Source, on_error: OnError | None, around: Callable[[str], Any] | None) -> Iterator[Located]:
    place = _Place(functools.partial(text_file.report, on_error), around)
    number, plain, computation, is_entry = 0, True, None, False
    for number, line in text_lines(source, on_error):
        if plain:
            if not line:
                continue
            if computation is None:
                if _ROW.match(line):
                    if around:
                        around(line)
                    continue
            elif found := printed_instruction(line):
                yield _located((found, computation, is_entry, number))
                continue
        yield from place.read(number, line)
        if place.is_second:
            break
        plain, computation, is_entry = place.is_plain, place.computation, place.is_entry
    place.give_up()
    for what in place.open_at_the_end():
        inside = f"{CUT} {what}"
        place.report(ParseError("", 0, inside, "'}'", "dump the whole module: the file may be cut"), number)


class _Call:
    """An instruction with computations in it, as far as it is read."""

    def __init__(self, name: str, number: int, line: str) -> None:
        self.name, self.number = name, number
        self.lines: list[str] = []
        self.size, self.depth = 0, int(line.rstrip().endswith("{"))
        self.waits = True  # for the '{' of a computation
        self.add(line)

    def add(self, line: str) -> None:
        self.size += len(line) + 1
        if self.size <= text_file.MAX_LINE:
            self.lines.append(line)


class _Unfinished:
    """An instruction of several lines, as far as it is read, and why it is no whole one."""

    def __init__(self, number: int, text: str, error: ParseError) -> None:
        self.number, self.error = number, error
        self.lines: list[str] = []
        self.depth = self.braces = self.size = 0
        self.add(text)

    def add(self, line: str) -> None:
        self.lines.append(line)
        self.size += len(line) + 1
        bare = _STRING.sub("", line)
        self.braces += bare.count("{") - bare.count("}")
        self.depth += sum(map(bare.count, "([{")) - sum(map(bare.count, ")]}"))

    def ends_before(self, line: str) -> bool:
        """Whether the line begins something else."""
        if self.size > text_file.MAX_LINE or _BEGINS.match(line):
            return True
        if line.lstrip().startswith("}"):
            return self.braces <= 0
        opens = _OPENS.match(line) if line.rstrip().endswith("{") else None
        return opens is not None and bool(opens[2])

    @property
    def may_be_whole(self) -> bool:
        return self.depth <= 0 and not self.lines[-1].rstrip().endswith(",")


def _may_go_on(text: str, error: ParseError) -> bool:
    """Whether an instruction that cannot be read may go on in the next line: what is wrong with it is that it ends."""
    rest = text[error.position :].strip().removesuffix(",")
    return not rest or (error.position > 0 and rest.replace("-", "").isalnum())


class _Place:
    """The computation of the line that is read."""

    def __init__(self, report: Callable[[ParseError, int], None], around: Callable[[str], Any] | None) -> None:
        self.report, self.around = report, around
        self.unfinished: _Unfinished | None = None
        self.computation: str | None = None
        self.is_entry = False
        self.is_second = False  # whether the line begins another module
        self.begun: set[str] = set()
        self.calls: list[_Call] = []  # the instructions that the line stands inside of, the outermost first

    @property
    def is_plain(self) -> bool:
        """Whether the next line is inside of no instruction."""
        return self.unfinished is None and not self.calls

    def read(self, number: int, line: str) -> tuple[Located, ...]:
        """The instructions that end with the next line: none for a line that is another part of a module."""
        if self.unfinished is not None:
            if not self.unfinished.ends_before(line):
                return self.go_on(self.unfinished, line)
            self.give_up()
        opens = _OPENS.match(line) if line.rstrip().endswith("{") else None
        if self.calls and not (opens and opens[2]):
            return self.inside(number, line)
        if opens:
            self.open(number, line, opens[2] or "", opens[1] is not None)
        elif self.computation is None and (found := _AROUND.match(line)):
            if not (found[1].startswith("HloModule") and self.begins("module", number, line)) and self.around:
                self.around(line)
        elif _NOTHING.match(line):
            pass
        elif _CLOSES.match(line):
            self.close(number, line)
        elif self.computation is not None or _ASSIGNS.match(line):
            return self.instruction(number, line)
        else:
            what, expected = "no part of an HLO module", "a computation, an instruction, a table"
            self.report(ParseError(line, 0, what, expected, "give the text of one"), number)
        return ()

    def go_on(self, unfinished: _Unfinished, line: str) -> tuple[Located, ...]:
        """The next line of an instruction of several lines."""
        for outer in self.calls:
            outer.add(line)
        if _NOTHING.match(line):
            return ()
        unfinished.add(line)
        if not unfinished.may_be_whole:
            return ()
        self.unfinished = None
        return self.whole(unfinished.number, "\n".join(unfinished.lines))

    def give_up(self) -> None:
        """The instruction of several lines ends before it is whole."""
        if self.unfinished is not None:
            self.report(self.unfinished.error, self.unfinished.number)
        self.unfinished = None

    def instruction(self, number: int, line: str) -> tuple[Located, ...]:
        if line[-1:].isspace() or line[-1:] in "={":
            # `calls=`, `branch_computations={`: a computation may stand in the next lines.
            calls = line.rstrip().removesuffix("{").rstrip().endswith("=") and len(self.calls) < MAX_DEPTH
            if calls and (head := _ASSIGNS.match(line)) and head.end() < len(line.rstrip()):
                self.calls.append(_Call(head[2], number, line))
                return ()
        return self.whole(number, line)

    def inside(self, number: int, line: str) -> tuple[Located, ...]:
        """The next line of an instruction with computations in it: '{', an instruction, or what begins with '}'."""
        call, text = self.calls[-1], line.strip()
        if call.waits and text != "{":  # nothing is inside of it
            return (*self.end_call(), *self.read(number, line))
        for outer in self.calls:
            outer.add(line)
        call.waits = False
        if text == "{":
            call.depth += 1
        elif text.startswith("}"):
            call.depth += text.endswith("{") - 1
            call.waits = text.endswith(("=", "{")) or (text.endswith(",") and call.depth > 0)
            if call.depth <= 0 and not call.waits:
                return self.end_call()
        else:
            return self.instruction(number, line)
        return ()

    def end_call(self) -> tuple[Located, ...]:
        call = self.calls.pop()
        if call.size <= text_file.MAX_LINE:
            return self.whole(call.number, "\n".join(call.lines))
        self.report(text_file.too_long(), call.number)
        return ()

    def whole(self, number: int, text: str) -> tuple[Located, ...]:
        try:
            instruction = parse_instruction(text)
        except ParseError as error:
            if _may_go_on(text, error) and len(text) <= text_file.MAX_LINE:
                self.unfinished = _Unfinished(number, text, error)
            else:
                self.report(error, number)
            return ()
        if not self.calls:
            return (Located(instruction, self.computation, self.is_entry, number),)
        inside = "/".join([self.computation or "", *(call.name for call in self.calls)])
        return (Located(instruction, inside, False, number),)

    def begins(self, what: str, number: int, line: str) -> bool:
        """Whether a header or an ENTRY begins a second module, which is said: one stands before all that is in it."""
        self.is_second = what in self.begun
        if self.is_second:
            error = ParseError(line, 0, f"a second {what} begins, which is not read", f"one {what}", _SPLIT)
            self.report(error, number)
        self.begun |= {what}
        return self.is_second

    def open(self, number: int, line: str, name: str, is_entry: bool) -> None:
        self.begun.add("module")
        if is_entry and self.begins("ENTRY", number, line):
            return
        before = [*self.open_at_the_end()]
        self.computation, self.is_entry, self.calls = name, is_entry, []
        if before:
            what = f"a computation begins inside of {before[0].removeprefix('computation ')}"
            self.report(ParseError(line, 0, what, "'}' before it", DUMP_WHOLE), number)

    def close(self, number: int, line: str) -> None:
        before, self.computation, self.is_entry = self.computation, None, False
        if before is None:
            self.report(ParseError(line, 0, "'}' closes nothing", "a computation before it", DUMP_WHOLE), number)

    def open_at_the_end(self) -> Iterator[str]:
        """The instruction and the computation that the file ends inside of, the innermost first."""
        if self.calls:
            yield f"instruction {self.calls[-1].name}"
        if self.computation is not None:
            yield f"computation {self.computation}"
