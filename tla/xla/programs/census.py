"""Many programs at once: what each kind of array takes in a folder of dumps, as values that add up.

Source: ours.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ...core.errors import LeafTypeError, RangeError, TlaError, require_type
from .dumps import programs_in
from .memory import memory
from .text_file import is_text

#: The largest peaks that a census keeps.
KEPT = 20


@dataclass(frozen=True, slots=True)
class ProgramPeak:
    """The peak of one memory space of one program.

    path    the file
    space   the number n of S(n)
    bytes, waste   what is held there, and how much of it holds no element
    capacity       what one core has of the space [bytes]; None where the generation or the size is not known
    """

    path: str
    space: int
    bytes: int
    waste: int
    capacity: int | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """The memory of many programs, added up.

    programs   how many programs were read; of the files that a dump has of one program, the one that tells of its run
    shapes     of each shape text: how many buffers, their bytes, their waste
    peaks      the largest peaks, 20 at most
    refused    files that cannot be read, each with the reason
    warned     files that are read in part, each with how many warnings `memory` has, and the first of them
    others     how many files tell of the same programs: earlier stages, reports

    Law: merge is associative and commutative, and Census() is its neutral element.
    """

    programs: int = 0
    shapes: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    peaks: tuple[ProgramPeak, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    warned: tuple[tuple[str, str], ...] = ()
    others: int = 0


def census(source: str | os.PathLike[str], workers: int | None = 1) -> Census:
    """The memory that the programs of a folder allocate, or that of one file.

    source    a file of HLO text, or a folder: the programs of its .txt, .hlo and .gz, folders in it included, as
              programs_in has them
    workers   how many processes read, 1 or more; None for one a core. A script that asks for several keeps what it runs
              under `if __name__ == "__main__":`, for each process imports the script
    Raises    RangeError for what is no file or folder, or no number of processes. A file that is refused is listed,
              with the reason

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = "HloModule m, is_scheduled=true\\nENTRY %e {\\n  ROOT %a = f32[3]{0:T(128)} parameter(0)\\n}\\n"
    ...     _ = pathlib.Path(folder, "a.txt").write_text(text), pathlib.Path(folder, "b.txt").write_text(text)
    ...     found = census(folder)
    >>> found.programs, found.shapes
    (2, {'f32[3]{0:T(128)}': (2, 1024, 1000)})

    Source: `memory`, file by file.
    """
    require_type(source, str | os.PathLike, "a census of a", "the path of a file or a folder", "write census('dumps')")
    if is_text(source):
        what = "a census of the text of a module"
        raise LeafTypeError(what, "the path of a file or a folder", "ask memory(io.StringIO(text))")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or workers < 1):
        what = f"a census by {workers!r} processes"
        raise RangeError(what, "1 or more, or None for one a core", "write census(folder, workers=4)")
    path = Path(source)
    if path.is_file():
        return _of_file(path)
    if not path.is_dir():
        raise RangeError(f"a census of {path}", "a file or a folder", "check the path")
    files, others = programs_in(path)
    rest = Census(others=others)
    if workers == 1 or len(files) < 2:
        return merge([rest, *map(_of_file, files)])
    # Else one process may end with the largest, alone.
    largest_first = sorted(files, key=lambda file: -file.stat().st_size)
    # Processes are started anew: a fork of a process with threads (JAX has them) may wait for ever.
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
        return merge([rest, *pool.map(_of_file, largest_first)])


def merge(parts: Iterable[Census]) -> Census:
    """Several censuses as one.

    >>> merge([Census(programs=1), Census(programs=2)]).programs
    3
    """
    require_type(parts, Iterable, "merge of a", "censuses", "write merge([census(a), census(b)])")
    programs, others, shapes = 0, 0, dict[str, tuple[int, int, int]]()
    peaks: list[ProgramPeak] = []
    refused: list[tuple[str, str]] = []
    warned: list[tuple[str, str]] = []
    for part in parts:
        require_type(part, Census, "merge of a", "censuses", "write merge([census(a), census(b)])")
        programs += part.programs
        others += part.others
        peaks += part.peaks
        refused += part.refused
        warned += part.warned
        for text, counts in part.shapes.items():
            a, b, c = shapes.get(text, (0, 0, 0))
            shapes[text] = (a + counts[0], b + counts[1], c + counts[2])
    peaks.sort(key=lambda p: (-p.bytes, p.path, p.space))
    told = tuple(sorted(refused)), tuple(sorted(warned))
    return Census(programs, dict(sorted(shapes.items())), tuple(peaks[:KEPT]), *told, others)


def _of_file(path: Path) -> Census:
    """The census of one file; what is refused of it is counted too."""
    try:
        found = memory(path)
    except TlaError as error:
        return Census(1, refused=((str(path), error.reason.what.splitlines()[0]),))
    except OSError as error:
        return Census(1, refused=((str(path), str(error.strerror)),))
    shapes: dict[str, tuple[int, int, int]] = {}
    for b in found.buffers:
        if b.shape is not None:
            count, size, lost = shapes.get(str(b.shape), (0, 0, 0))
            shapes[str(b.shape)] = (count + 1, size + b.bytes, lost + b.waste)
    peaks = [ProgramPeak(str(path), p.space, p.bytes, p.waste, p.capacity) for p in found.peak.values()]
    peaks.sort(key=lambda p: (-p.bytes, p.path, p.space))
    warned = ((str(path), f"the first of {len(found.warnings)}: {found.warnings[0]}"),) if found.warnings else ()
    return Census(1, dict(sorted(shapes.items())), tuple(peaks[:KEPT]), warned=warned)
