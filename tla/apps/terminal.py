"""Terminal output of commands: tables that fit it, and how far a file is read."""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

from ..core.errors import Reason, printable
from ..core.ints import IntLike, value_of
from ..core.on_demand import OnDemand
from ..xla.shapes.curve import in_units

if TYPE_CHECKING:
    import argparse
    import json
    import shlex
    import shutil
    import textwrap
else:  # a table that fits, and no JSON, needs none of them
    json, shlex, shutil, textwrap = OnDemand("json"), OnDemand("shlex"), OnDemand("shutil"), OnDemand("textwrap")

#: What the help says of a layout, and of who holds the elements of a tile.
LAYOUT = (
    "shape:stride, such as '((4,2),3):((3,12),1)', an XLA shape, or an expression, such as 'MakeLayout[half, zN](100, "
    "60)'"
)
OWNERS = (
    "who holds what: the name of an access, such as ldmatrix; a copy atom or a tiled copy; a (thread, value) layout; a "
    "layout of Triton's"
)

#: What a command answers: the value for --json, and how that reads.
Answer = tuple[Any, Callable[[Any], str]]

#: How long a file is read before it shows, and how long between two updates [seconds].
_PATIENCE, _PERIOD = 0.5, 0.1

#: The end of a text that is longer than the screen is kept if it has no more lines.
_END = 3

#: Options of commands, by the arguments of Python that they stand for.
_NAMES = "color_by tile bits thread width memory name integer target coords language values shape"
_OPTIONS = {name: f"--{name.replace('_', '-')}" for name in _NAMES.split()}
_GIVEN = rf"\b({'|'.join(_OPTIONS)})=('[^']*'|\([^()]*\)|\w+)"
#: Fixes that name what only Python has, and what they are in a shell.
IN_SHELL = {
    "give who writes, or who reads": "add --write OWNERS, or --read OWNERS",
    "use one of these, or make a Memory of what you measured": "use one of these, as in --memory NVIDIA_SHARED",
    "use one of these, or make it known with register(Target(...))": "use one of these, as in --target c",
    "give the width of an element, such as 16": "give the width of an element, such as --bits 16",
    "count from 0; the layout, lower(shape), has no bounds": "count from 0",
}
_LEFT_OUT = rf"\bleave ({'|'.join(_OPTIONS)}) out"


def in_shell_words(reason: Reason) -> Reason:
    """A reason whose fix names options of the command where the library's fix names arguments.

    >>> print(in_shell_words(Reason("tile 3", "2 integers", "give one in each mode, as in tile=(4, 8)")).fix)
    give one in each mode, as in --tile 4,8
    """
    fix = IN_SHELL.get(reason.fix, reason.fix)
    fix = re.sub(_GIVEN, lambda m: f"{_OPTIONS[m[1]]} {shlex.quote(_plain(m[2]))}", fix)
    return reason._replace(fix=re.sub(_LEFT_OUT, lambda m: f"leave {_OPTIONS[m[1]]} out", fix))


def _plain(value: str) -> str:
    """A value of Python as a shell has it: without brackets around it, quotes and blanks."""
    inside = value[1:-1] if value[0] in "'(" else value
    return re.sub("[ '\"]", "", inside)


def option(sub: argparse.ArgumentParser, said: str, text: str, **more: Any) -> None:
    """Add an option or an argument to a command, as its help writes it: "--top N" has a value, "--strip" is a switch.

    text   what the help says of it;  more  what argparse takes besides
    """
    name, _, value = said.partition(" ")
    form: dict[str, Any] = {"metavar": value} if value else {"action": "store_true"}
    sub.add_argument(name, help=text, **form, **more)


def open_missing_streams() -> None:
    """Standard output and error that the shell closed (`>&-`) take what is written, and drop it."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  # as long as the program


def complain(message: str) -> None:
    """Print a message on standard error, in lines that a terminal holds."""
    text = printable(message, lines=True)
    text = wrapped(text.split("\n"), shutil.get_terminal_size().columns) if sys.stderr.isatty() else text
    print(text, file=sys.stderr)


def say(answer: Answer, as_json: bool, whole: bool = True) -> None:
    """Print what a command answers.

    whole   more lines than the screen has, too
    """
    value, text = answer
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a text of a program may hold what the terminal cannot show
    shown = json.dumps(value, indent=2) if as_json else text(value)
    print(shown if whole else within_screen(shown, "--all shows them"), flush=True)


def summary(operation: object) -> str:
    """The first paragraph of a docstring, in one line; none under `python -OO`, which drops docstrings.

    >>> summary(summary)
    'The first paragraph of a docstring, in one line; none under `python -OO`, which drops docstrings.'
    """
    return " ".join((operation.__doc__ or "").partition("\n\n")[0].split())


def width() -> int | None:
    """The number of characters that a line of standard output holds; None for any number, as it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def colours() -> int:
    """The number of colours of standard output: 0 if it is no terminal, NO_COLOR forbids them, or TERM is dumb.

    Source: https://no-color.org; terminfo.
    """
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", None):
        return 0
    if os.environ.get("COLORTERM"):
        return 256
    try:
        import curses
    except ModuleNotFoundError:  # as on Windows
        return 256
    try:
        curses.setupterm()
    except curses.error:  # a terminal that terminfo does not know: many say it in their name
        said = re.search(r"-(\d+)color$", os.environ["TERM"])
        return int(said[1]) if said else 0
    return max(curses.tigetnum("colors"), 0)


def filled(text: str) -> str:
    """A text of one line as lines that the terminal holds; of several lines, as it is."""
    return text if "\n" in text else textwrap.fill(text, shutil.get_terminal_size().columns - 2)


def within_screen(text: str, fix: str) -> str:
    """The text; on a screen of fewer lines its first lines, the number left out, and a short last paragraph.

    fix   how to see them all
    """
    if not sys.stdout.isatty():
        return text
    lines, room = text.split("\n"), max(shutil.get_terminal_size().lines - 2, 4)
    if len(lines) <= room:
        return text
    end = text.rpartition("\n\n")[2].split("\n")
    end = ["", *end] if len(end) <= min(_END, room - 4) else []
    count = room - 1 - len(end)
    return "\n".join([*lines[:count], f"{len(lines) - count - len(end):,} more lines: {fix}", *end])


def holds(text: str) -> bool:
    """Whether the encoding of standard output has these characters."""
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def plain(n: IntLike) -> int | str:
    """An integer or a coordinate as JSON has it: a number, or its text."""
    value = value_of(n)
    return str(n) if value is None else value


def table(rows: list[list[str]], texts: int, limit: int | None = None) -> list[str]:
    """The rows as lines, with aligned columns; the last `texts` columns are texts, the others numbers.

    limit   characters of a line; where a row needs more, the texts stand below the numbers, and go on in further lines

    >>> rows = [["count", "shape"], ["3", "f32[128]{0:T(128)}"]]
    >>> print(*table(rows, 1), sep="\\n")
    count  shape
        3  f32[128]{0:T(128)}
    >>> print(*table(rows, 1, 16), sep="\\n")
    count  shape
        3
      f32[128]{0:T(1
      28)}
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows)]
    numbers = len(widths) - texts
    if limit is None or sum(widths) + 2 * (len(widths) - 1) <= limit:
        return [
            "  ".join(c.rjust(w) if k < numbers else c.ljust(w) for k, (c, w) in enumerate(zip(row, widths))).rstrip()
            for row in rows
        ]
    lines = []
    for row in rows:
        lines.append("  ".join(c.rjust(w) for c, w in zip(row, widths[:numbers])))
        for text in row[numbers:] if len(lines) > 1 else ():
            lines += textwrap.TextWrapper(max(limit, 10), "  ", "  ", break_on_hyphens=False).wrap(text)
    lines[0] += "  " + ", ".join(rows[0][numbers:])
    return lines


def wrapped(lines: Iterable[str], limit: int | None = None) -> str:
    """The lines as one text, each in as many lines as the terminal needs for it; those after the first are indented."""
    limit = max(limit or width() or 2**31, 20)
    long = textwrap.TextWrapper(limit, subsequent_indent="        ", break_on_hyphens=False)
    return "\n".join(long.fill(line) if len(line) > limit else line for line in lines)


class _Watched(io.RawIOBase):
    """A file that says on standard error how far it is read."""

    def __init__(self, raw: io.FileIO) -> None:
        self._raw, self._size, self._read = raw, os.fstat(raw.fileno()).st_size, 0
        self._next = time.monotonic() + _PATIENCE

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n = self._raw.readinto(buffer) or 0
        self._read += n
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PERIOD
            _over(_bar(self._read, self._size))
        return n


def _bar(read: int, size: int) -> str:
    """
    >>> _bar(150_000_000, 600_000_000), _bar(150_000_000, 0)
    ('[#####...............]  25 %  150 of 600 MB', '150 MB')
    """
    if not size:  # a pipe
        return f"{read / 1e6:.0f} MB"
    part = min(read / size, 1)
    return f"[{'#' * round(20 * part):.<20}] {part:4.0%}  {read / 1e6:.0f} of {size / 1e6:.0f} MB".replace("%", " %")


def _over(text: str) -> None:
    """Write over the line of the terminal that the cursor is in."""
    print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


@contextmanager
def opened(path: str) -> Iterator[IO[bytes]]:
    """A file for reading, `-` for standard input. How far it is read shows where standard error is a terminal."""
    source: Any = path if path != "-" else sys.stdin.fileno() if sys.stdin else os.devnull
    with open(source, "rb", buffering=0, closefd=isinstance(source, str)) as raw:
        watched = bool(sys.stderr and sys.stderr.isatty())
        try:
            with io.BufferedReader(_Watched(raw) if watched else raw) as file:
                yield file
        finally:
            if watched:
                _over("")


def percent(part: int, whole: int) -> str:
    """A share in percent.

    >>> percent(1, 8)
    '12.5 %'
    """
    return f"{100 * part / whole:.1f} %" if whole else "0.0 %"


def part_of(size: int, capacity: int | None) -> str:
    """The part of a memory that bytes are; empty where its size is not known.

    >>> part_of(64 * 1024, 128 * 1024)
    '50.0% of 128 KiB'
    """
    return "" if capacity is None else f"{size / capacity:.1%} of {in_units(capacity)}"


def grouped(n: int | str) -> str:
    """A number with commas; the text of a symbol as it is."""
    return f"{n:,}" if isinstance(n, int) else n


def binary(n: int | str) -> str:
    """A number of bytes in parentheses, in KiB and more; nothing for less, and for a symbol."""
    return f" ({in_units(n)})" if isinstance(n, int) and n >= 1024 else ""
