"""Times of a program's instructions, from a profiler's trace (XSpace, `*.xplane.pb`).

The trace is read by JAX's own reader, `jax.profiler.ProfileData`, which is C++ and knows the format of its version.

Source: XLA xla/tsl/profiler/protobuf/xplane.proto, and xla/tsl/profiler/utils/xplane_schema.cc for the names of planes,
lines and stats.
"""

from __future__ import annotations

import math
import os
import re
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...core.errors import RangeError, require_type
from ...core.on_demand import jax_module
from .module import Module

_ENDING = ".xplane.pb"
#: The lines of a TPU: the instructions that take the core's time, and the spans of asynchronous ones, beside
#: which it works.
_OPS, _ASYNC, _MODULES = "XLA Ops", "Async XLA Ops", "XLA Modules"
_PROGRAM_ID = re.compile(r"\([0-9]{1,20}\)\Z")
#: An instruction as a TPU names it, by its whole text, or other devices by its name.
_INSTRUCTION = re.compile(r"%?([^ =]+)(?: = .*)?", re.DOTALL)


class Time(NamedTuple):
    """The time of one instruction in a trace, over all devices.

    runs        how often it ran; on a CPU each thread that took a part of it counts
    devices     on how many devices
    seconds     the time that it took of them, together; of a loop, with what runs in it
    in_flight   the time of an asynchronous instruction from its start to its end, while other work runs,
                in seconds, together
    """

    runs: int
    devices: int
    seconds: float
    in_flight: float


class Profile(NamedTuple):
    """The times of a trace: of each module, by its name, the time of each instruction, by its name."""

    modules: Mapping[str, Mapping[str, Time]]

    def times(self, module: Module | str | None) -> Mapping[str, Time]:
        """The times of a module; of a text without a name, of the only module. RangeError for one that did not run.

        module   its name; or a module, which the trace's is not if most of what ran is not in it: names such as
                 jit_step are those of many programs
        """
        if isinstance(module, Module):
            times = self.times(module.name)
            if 2 * len(others := strangers(times, module)) > len(times):
                missing = f"{len(others)} of its {len(times)} instructions are not in this program, such as {others[0]}"
                what = f"the trace's {module.name or 'module'} is another program: {missing}"
                raise RangeError(what, "a trace of this program", "trace the program whose text this is")
            return times
        if module is None and len(self.modules) == 1:
            return next(iter(self.modules.values()))
        if not self.modules:
            what = "a trace without a module"
            raise RangeError(what, "one in which a program ran", "trace a step: jax.profiler.trace(folder)")
        if module is None or module not in self.modules:
            what = f"the trace has no module {module or 'without a name'}"
            raise RangeError(what, ", ".join(self.modules), "give the program of one of these")
        return self.modules[module]


def strangers(times: Mapping[str, Time], module: Module) -> list[str]:
    """The instructions of a trace that a program has not."""
    names = {x.instruction.name for body in module.computations.values() for x in body}
    return [name for name in times if name not in names]


class _Run(NamedTuple):
    """An event of a trace that is the run of an instruction."""

    device: str
    module: str
    instruction: str
    seconds: float
    overlapped: bool


def read_profile(path: str | os.PathLike[str]) -> Profile:
    """Read a profiler's trace: how long each instruction of each program ran.

    path      a file `*.xplane.pb`, or the folder that jax.profiler.trace was given: the newest trace in it,
              of all hosts
    Raises    RangeError for a folder without a trace, and for a file that is none; ModuleNotFoundError without JAX

    >>> import tempfile
    >>> from jax.profiler import ProfileData
    >>> text = (
    ...     'planes { name: "/device:TPU:0" '
    ...     'event_metadata { key: 1 value { id: 1 name: "jit_f(12)" } } '
    ...     'event_metadata { key: 2 value { id: 2 name: "%copy.7 = f32[8,128]{1,0} copy(%a)" } } '
    ...     'lines { name: "XLA Modules" events { metadata_id: 1 duration_ps: 9000000 } } '
    ...     'lines { name: "XLA Ops" events { metadata_id: 2 duration_ps: 3000000 } } }'
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "host.xplane.pb").write_bytes(ProfileData.text_proto_to_serialized_xspace(text))
    ...     read_profile(folder).times("jit_f")
    {'copy.7': Time(runs=1, devices=1, seconds=3e-06, in_flight=0.0)}

    Source: XLA xla/tsl/profiler/protobuf/xplane.proto.
    """
    reader = jax_module("jax.profiler").ProfileData
    # Newer Pythons warn of the reader's classes where they are made, in C++: under "error" that would end the process.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return _added_up(run for file in _files(path) for run in _runs_of_file(reader, file))


def _runs_of_file(reader: Any, file: Path) -> Iterator[_Run]:
    data = file.read_bytes()
    try:
        planes = [*reader.from_serialized_xspace(data).planes]
    except RuntimeError:
        what = f"{file}: {len(data)} bytes that are no XSpace"
        raise RangeError(what, f"a trace, {_ENDING}", "the file may be cut") from None
    for plane in _planes(planes):
        yield from _runs(f"{file}:{plane.name}", plane)


def _files(path: str | os.PathLike[str]) -> list[Path]:
    """The files of the newest trace at a path."""
    fix = f"give a file {_ENDING}, or its folder"
    require_type(path, (str, os.PathLike), "a profile of type", "the path of a trace", fix)
    at = Path(path)
    if not at.is_dir():
        return [at]
    found = sorted(at.rglob(f"*{_ENDING}"))
    if not found:
        what = f"{at}: no file *{_ENDING} in it"
        raise RangeError(what, "the folder of a trace", "give the folder that jax.profiler.trace was given")
    newest = max(found, key=lambda file: (file.stat().st_mtime_ns, file)).parent
    return [file for file in found if file.parent == newest]


def _planes(planes: list[Any]) -> list[Any]:
    """The planes whose events are instructions: those of devices, or where there is no device the host's."""
    return [p for p in planes if p.name.startswith("/device:")] or [p for p in planes if p.name.startswith("/host:")]


def _runs(device: str, plane: Any) -> Iterator[_Run]:
    """The runs of instructions in a plane."""
    lines = {line.name: line for line in plane.lines}
    if _OPS not in lines:
        for line in plane.lines:
            yield from _stated(device, line.events)
        return
    events = lines[_MODULES].events if _MODULES in lines else ()
    modules = sorted((e.start_ns, _PROGRAM_ID.sub("", e.name)) for e in events)
    starts = [start for start, _name in modules]
    for name in (_OPS, _ASYNC):
        for event in lines[name].events if name in lines else ():
            at = bisect_right(starts, event.start_ns) - 1
            match = _INSTRUCTION.fullmatch(event.name)
            if match and at >= 0:
                yield _Run(device, modules[at][1], match[1], event.duration_ns / 1e9, name == _ASYNC)


def _stated(device: str, events: Iterable[Any]) -> Iterator[_Run]:
    """The runs of instructions among events that say so by their stats, as those of CPUs and GPUs do."""
    for event in events:
        stats = dict(event.stats)
        if "hlo_op" in stats and "hlo_module" in stats:
            yield _Run(device, str(stats["hlo_module"]), str(stats["hlo_op"]), event.duration_ns / 1e9, False)


def _added_up(runs: Iterable[_Run]) -> Profile:
    of: dict[str, dict[str, list[_Run]]] = {}
    for run in runs:
        of.setdefault(run.module, {}).setdefault(run.instruction, []).append(run)
    return Profile({module: {name: _time(found) for name, found in by_name.items()} for module, by_name in of.items()})


def _time(runs: list[_Run]) -> Time:
    taken, in_flight = ([run.seconds for run in runs if run.overlapped is kind] for kind in (False, True))
    devices = len({run.device for run in runs})
    return Time(max(len(taken), len(in_flight)), devices, math.fsum(taken), math.fsum(in_flight))
