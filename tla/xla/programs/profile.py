"""A profiler's trace: how often each instruction of a program ran on a device, and for how long.

A trace is an XSpace: planes, one for each device and for the host, with lines of events. What ran is told apart in two ways: on a TPU the
line "XLA Ops" has an event for each instruction; elsewhere an event says its instruction itself (hlo_op).

Source: XLA xla/tsl/profiler/protobuf/xplane.proto; xprof's documentation of the trace viewer; traces of JAX 0.10 on CPUs.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeAlias

from ...core.errors import LeafTypeError, ParseError, RangeError
from ..shapes import wire

_NOUN = "an XSpace, a profiler's trace,"
_TPU_LINE = "XLA Ops"
_PROGRAM = re.compile(r"(.+)\((\d+)\)")
#: The name of an instruction in the text that a TPU's trace calls its event by.
_TEXT = re.compile(r"%?([A-Za-z_0-9][\w.-]*) = ")

#: The contents of a message by the number of the field.
Fields: TypeAlias = dict[int, list[Any]]
Trace: TypeAlias = str | os.PathLike[str] | bytes | IO[bytes]


@dataclass(frozen=True, slots=True)
class OpTime:
    """The runs of an instruction on a device. The time of a loop, or of a call, has that of what runs inside of it.

    name     the instruction, without %
    module   the name of its module; None where the trace does not say it
    device   the name of the plane: /device:TPU:0, or /host:CPU
    runs     how many times it ran
    picoseconds   in all of these
    """

    name: str
    module: str | None
    device: str
    runs: int
    picoseconds: int

    @property
    def microseconds(self) -> float:
        """The time of all runs [us]."""
        return self.picoseconds / 1e6


@dataclass(frozen=True, slots=True)
class Profile:
    """The times of a trace.

    ops      by device, module and instruction, those that took longest first
    """

    ops: tuple[OpTime, ...]
    _by_name: dict[tuple[str | None, str], list[OpTime]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names: dict[tuple[str | None, str], list[OpTime]] = {}
        for op in self.ops:
            names.setdefault((op.module, op.name), []).append(op)
        object.__setattr__(self, "_by_name", names)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the modules that ran, those that took longest first."""
        return tuple(dict.fromkeys(op.module for op in self.ops if op.module is not None))

    def of(self, name: str, module: str | None = None) -> OpTime | None:
        """The runs of an instruction on all devices together; None where it did not run.

        module   its module; what the trace has without a module counts for any
        """
        keys = [(module, name), (None, name)] if module is not None else [key for key in self._by_name if key[1] == name]
        found = [op for key in dict.fromkeys(keys) for op in self._by_name.get(key, ())]
        if not found:
            return None
        devices = ", ".join(dict.fromkeys(op.device for op in found))
        return OpTime(name, module or found[0].module, devices, sum(op.runs for op in found), sum(op.picoseconds for op in found))


def profile(source: Trace) -> Profile:
    """Read the trace of a profiler: the file NAME.xplane.pb, packed by gzip or not; or a folder of traces, of which the last one counts.

    Raises   ParseError for bytes that are no trace; RangeError for a folder without one; OSError for a file that cannot be opened

        >>> with jax.profiler.trace("trace"):                        # doctest: +SKIP
        ...     step(params).block_until_ready()
        >>> xla.profile("trace").of("fusion.12").microseconds        # doctest: +SKIP

    Source: XLA xplane.proto.
    """
    planes = [_Plane(content) for number, content in wire.fields(_bytes(source), _NOUN) if number == 1 and isinstance(content, bytes)]
    if not planes:
        wire.broken(b"", "no plane", _NOUN)
    programs = {n: name for plane in planes for n, name in plane.programs()}
    sums: dict[tuple[str, str | None, str], list[int]] = {}
    for plane in planes:
        for module, name, time in plane.ops(programs):
            counted = sums.setdefault((plane.name, module, name), [0, 0])
            counted[0] += 1
            counted[1] += time
    ops = (OpTime(name, module, device, *counted) for (device, module, name), counted in sums.items())
    return Profile(tuple(sorted(ops, key=lambda op: (-op.picoseconds, op.device, op.module or "", op.name))))


def _bytes(source: Trace) -> bytes:
    """The bytes of a trace."""
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.is_dir():
            traces = sorted(path.rglob("*.xplane.pb"), key=lambda p: (p.stat().st_mtime, p))
            if not traces:
                raise RangeError(f"{path}: no trace in it", "a file that ends in .xplane.pb", "give the folder of jax.profiler.trace")
            path = traces[-1]
        data = path.read_bytes()
    elif isinstance(source, bytes):
        data = source
    elif hasattr(source, "read"):
        data = source.read()
        if not isinstance(data, bytes):
            raise LeafTypeError("a trace from a file of text", "bytes", "open it with 'rb'")
    else:
        raise LeafTypeError(f"a trace of type {type(source).__name__}", "a path, bytes, or an open file", "give the path of the trace")
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, OSError) as error:
        raise ParseError("", 0, f"the packed trace is broken: {error}", "gzip", "write it again: it may be cut") from None


class _Plane:
    """A plane: its name, its lines, and the names of events and of what they say."""

    def __init__(self, data: bytes) -> None:
        self.name, self.lines = "", list[bytes]()
        self.events: dict[int, Fields] = {}
        self.stats: dict[int, str] = {}
        for number, content in wire.fields(data, _NOUN):
            if number == 2:
                self.name = _text(content)
            elif number == 3:
                self.lines.append(_message(content))
            elif number in (4, 5):
                entry = _repeated(_message(content))
                value = _repeated(_message(entry.get(2, [b""])[0]))
                if number == 4:
                    self.events[_number(entry, 1)] = value
                else:
                    self.stats[_number(entry, 1)] = _text(value.get(2, [b""])[0])

    def programs(self) -> Iterator[tuple[int, str]]:
        """The numbers of programs that the plane names, as in jit_step(4), each with its module."""
        for event in self.events.values():
            if found := _PROGRAM.fullmatch(_text(event.get(2, [b""])[0])):
                yield int(found[2]), found[1]

    def ops(self, programs: dict[int, str]) -> Iterator[tuple[str | None, str, int]]:
        """Each run of an instruction: its module, its name, its time [ps]."""
        lines = [_repeated(line) for line in self.lines]
        tpu = [line for line in lines if _text(line.get(2, [b""])[0]) == _TPU_LINE]
        for line in tpu or lines:
            for event in map(_repeated, map(_message, line.get(4, ()))):
                said = self.said(event)
                name = said.get("hlo_op") or (self.called(event) if tpu else "")
                if name:
                    module = said.get("hlo_module") or programs.get(said.get("program_id", -1))
                    yield module, str(name), _number(event, 3)

    def said(self, event: Fields) -> dict[str, Any]:
        """Statistics of an event: its own, and those of all events of its name."""
        about = self.events.get(_number(event, 1), {})
        return dict(self.statistic(_repeated(_message(x))) for x in (*about.get(5, ()), *event.get(4, ())))

    def statistic(self, stat: Fields) -> tuple[str, Any]:
        """The name and the value of a statistic: a text, or a number."""
        name = self.stats.get(_number(stat, 1), "")
        if 7 in stat:
            return name, self.stats.get(_number(stat, 7), "")
        if 5 in stat:
            return name, _text(stat[5][0])
        return name, _number(stat, 4 if 4 in stat else 3)

    def called(self, event: Fields) -> str:
        """The instruction of an event of a TPU: its short name, or the name in its text."""
        about = self.events.get(_number(event, 1), {})
        if short := _text(about.get(4, [b""])[0]):
            return short.removeprefix("%")
        text = _text(about.get(2, [b""])[0])
        found = _TEXT.match(text)
        return found[1] if found else text


def _repeated(data: bytes) -> Fields:
    """The contents of a message by the number of the field."""
    out: Fields = {}
    for number, content in wire.fields(data, _NOUN):
        out.setdefault(number, []).append(content)
    return out


def _message(content: Any) -> bytes:
    return content if isinstance(content, bytes) else wire.broken(b"", "a number in place of a message", _NOUN)


def _text(content: Any) -> str:
    return _message(content).decode(errors="replace")


def _number(fields: Fields, number: int) -> int:
    """A number of a message; 0 where it is left out."""
    found = fields.get(number, [0])[-1]
    return found if isinstance(found, int) else wire.broken(b"", f"bytes in field {number}", _NOUN)
