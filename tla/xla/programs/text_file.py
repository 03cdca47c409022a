"""The lines of a text file: bytes or characters, packed by gzip or not; and what it is if it is no HLO text.

Source: MLIR's printer and bytecode (mlir/docs/BytecodeFormat.md); RFC 1952 (gzip).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import re
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, TypeAlias

from ...core.errors import ParseError, TlaError

#: A longer line, or instruction of several lines, is refused, and passed over [bytes, or characters of a text file].
MAX_LINE = 2**24

#: So many lines are looked at for what an MLIR module holds.
MAX_LOOKED_AT = 1000

OnError: TypeAlias = Callable[[ParseError], Any]


class _Foreign(NamedTuple):
    """A kind of file that is no HLO text: by what it is known, what it is called, and what to do."""

    mark: str
    name: str
    fix: str


_HLO_TEXT = "HLO text, which begins with HloModule"
_COMPILE = "compile it: jax.jit(f).lower(...).compile().as_text() is HLO text"
_CALLER = "give the HLO text of the program that calls the kernel"
_FOREIGN = (
    _Foreign("stable_mosaic|tpu\\.|#tpu", "Mosaic, the language of Pallas kernels", _CALLER),
    _Foreign("stablehlo\\.|vhlo\\.", "StableHLO", _COMPILE),
    _Foreign("mhlo\\.|chlo\\.", "MHLO", _COMPILE),
    _Foreign("", "MLIR", _COMPILE),
)
_MLIR = re.compile(
    r'\s*(module\b(?!.*=)|module\b.*\{\s*$|"?builtin\.module|#\w[\w.]*\s*=|!\w+\s*=|func\.func\b|"?(func|stablehlo|mhlo|vhlo|tpu)\.)'
)
# By the words that a report of a dump begins with: what it is.
_REPORTS = {
    "BufferAssignment:": "a buffer assignment",
    "Memory Space: ": "a report on the use of memory",
    "Total bytes used: ": "a list of buffers",
    "HloLiveRange": "a list of live ranges",
}
_PROGRAM = "give the program beside it: module_....after_optimizations.txt, or the folder"
# By the bytes that a file begins with: what it is, and what to do.
_UNPACK, _AS_UTF_8 = "unpack it, or pack it by gzip", "write it as UTF-8: in PowerShell, Out-File -Encoding utf8"
_BINARY = {
    b"ML\xefR": ("MLIR bytecode, as StableHLO is stored", _COMPILE),
    b"\xfd7zXZ\0": ("packed by xz", _UNPACK),
    b"BZh": ("packed by bzip2", _UNPACK),
    b"PK\3\4": ("packed by zip", _UNPACK),
    b"\x28\xb5\x2f\xfd": ("packed by zstd", _UNPACK),
    b"\xff\xfe": ("a text of UTF-16", _AS_UTF_8),
    b"\xfe\xff": ("a text of UTF-16", _AS_UTF_8),
}


class _NoText(ParseError):
    """A file of another kind: it has no place to show, so its message has no line with a caret."""

    def __init__(self, text: str, position: int, what: str, expected: str, fix: str) -> None:
        super().__init__(text, position, what, expected, fix)
        TlaError.__init__(self, f"{what}, at position 0", expected, fix)
        self.args = (text, position, what, expected, fix)


#: The mark of UTF-8, which some editors of Windows write before a text.
_MARK = "\ufeff"


def is_text(source: object) -> bool:
    """Whether a source is the text of a program, where its path or a file belongs."""
    return isinstance(source, str) and "\n" in source


def report(on_error: OnError | None, error: ParseError, number: int) -> None:
    text, position, what, expected, fix = error.args
    numbered = ParseError(text, position, f"line {number}: {what}", expected, fix)
    if on_error is None:
        raise numbered from None
    on_error(numbered)


def text_lines(source: str | os.PathLike[str] | IO[Any], on_error: OnError | None) -> Iterator[tuple[int, str]]:
    """The lines of a file as texts without their ends, with their numbers.

    on_error   is given the error of each line that is too long, or no text; without it the first one is raised
    """
    with open(source, "rb") if isinstance(source, (str, os.PathLike)) else contextlib.nullcontext(source) as opened:
        file, most = _unpacked(opened), MAX_LINE + 1
        lines: Iterator[str | bytes] = itertools.takewhile(bool, map(file.readline, itertools.repeat(most)))
        number = 0
        try:
            for number, raw in enumerate(itertools.chain(_first(lines), lines), 1):
                if len(raw) > MAX_LINE:
                    piece = raw
                    while len(piece) > MAX_LINE and piece[-1] not in ("\n", ord("\n")):  # the rest is passed over
                        piece = file.readline(most)
                    report(on_error, too_long(), number)
                elif isinstance(raw, str):
                    yield number, raw.removesuffix("\n")
                else:
                    try:
                        text = raw.decode()
                    except UnicodeDecodeError as error:
                        report(on_error, _no_text(raw, error), number)
                    else:
                        yield number, text.removesuffix("\n")
        except UnicodeDecodeError:
            what = (
                f"line {number + 1}, or one soon after it, holds bytes that are no {getattr(file, 'encoding', 'text')}"
            )
            fix = "give the path, or open the file as bytes: then reading goes on behind that line"
            raise ParseError("", 0, what, "a text", fix) from None
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            what = f"line {number + 1}: the packed file is broken: {error}"
            raise ParseError("", 0, what, "gzip", "write it again: it may be cut") from None


def _unpacked(file: IO[Any]) -> IO[Any]:
    """The file, or what is packed in it."""
    return gzip.GzipFile(fileobj=file) if _head(file)[:2] == b"\x1f\x8b" else file  # type: ignore[return-value]


def _head(file: IO[Any]) -> bytes:
    """The first bytes of a binary file, as far as they can be seen without reading them."""
    if isinstance(file, io.BufferedReader):
        return file.peek(2)
    if isinstance(file, io.BytesIO):
        return file.getvalue()[file.tell() : file.tell() + 2]
    return b""


def _first(lines: Iterator[str | bytes]) -> Iterator[str | bytes]:
    """The lines up to the first one that says something; if it is another language's, that is refused by its name."""
    for raw in _unmarked(lines):
        text = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
        if _MLIR.match(text):
            raise _foreign(text + "".join(map(str, itertools.islice(lines, MAX_LOOKED_AT))))
        for head, name in _REPORTS.items():
            if text.startswith(head):
                raise _NoText("", 0, f"the file is {name}, and no HLO text", _HLO_TEXT, _PROGRAM)
        yield raw
        if not _SILENT.match(text):
            return


def _unmarked(lines: Iterator[str | bytes]) -> Iterator[str | bytes]:
    """The lines without a mark before the first; a file that is no text is refused by its name."""
    for first in lines:
        if isinstance(first, bytes):
            for head, (name, fix) in _BINARY.items():
                if first.startswith(head):
                    raise _NoText("", 0, f"the file is {name}", "HLO text", fix)
            yield first.removeprefix(_MARK.encode())
        else:
            yield first.removeprefix(_MARK)
        yield from lines


_SILENT = re.compile(r"\s*(//|$)")


def _foreign(text: str) -> ParseError:
    what = next(f for f in _FOREIGN if re.search(f.mark, text))
    return _NoText("", 0, f"the file is {what.name}, and no HLO text", _HLO_TEXT, what.fix)


def too_long() -> ParseError:
    what = f"more than {MAX_LINE:,} characters"
    return ParseError("", 0, what, "a line of an HLO module", "leave large constants out of the dump")


def _no_text(raw: bytes, error: UnicodeDecodeError) -> ParseError:
    at = len(raw[: error.start].decode())
    fix = "give the text of it: the file may be binary"
    return ParseError(raw.decode(errors="replace"), at, "bytes that are no text", "UTF-8", fix)
