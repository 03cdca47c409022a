"""The files of a dump: which of them tell of one program, and which is the program as it runs.

`--xla_dump_to=DIR` writes of each program a dozen files, module_0001.jit_step.cl_123.STAGE.txt: the module before and
after optimizations, before and after buffer assignment and code generation, and reports. Only one of them is the
scheduled program.

Source: XLA xla/service/dump.cc (file names); the dumps of libtpu 0.0.51.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import RangeError, require_type

#: Endings of files that may hold a program's text.
ENDINGS = (".txt", ".hlo", ".gz")
#: The stages of a program that are the program as it runs, the one that is read first.
_STAGES = ("after_optimizations", "after_codegen", "after_optimizations_after_buffer_assignment")
#: A file of a dump: the program, then the stage. A platform may stand before it: cpu_after_optimizations.
_FILE = re.compile(r"(module_\d+\..+)\.(?:\w+?_(?=before_|after_))?([\w-]+)((?:\.(?:txt|hlo|gz))+)")


def programs_in(folder: str | os.PathLike[str]) -> tuple[tuple[Path, ...], int]:
    """The programs of a folder, folders in it included: one file of each, and how many files tell of the same programs
    or are reports.

    Of the files of one program in a dump that is the module after optimizations; a file that no dump wrote is a program
    of its own. Raises RangeError for what is no folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as at:
    ...     for stage in ("before_optimizations", "after_optimizations", "after_optimizations-memory-usage-report", "after_codegen"):
    ...         _ = Path(at, f"module_0001.jit_f.cl_7.{stage}.txt").write_text("")
    ...     found, others = programs_in(at)
    >>> [path.name for path in found], others
    (['module_0001.jit_f.cl_7.after_optimizations.txt'], 3)
    """
    path = _path(folder)
    if not path.is_dir():
        raise RangeError(f"the programs of {path}", "a folder", "give the folder that --xla_dump_to names")
    files = _texts(path.rglob("*"))
    chosen = tuple(_chosen(files))
    return chosen, len(files) - len(chosen)


def program_file(*paths: str | os.PathLike[str]) -> Path:
    """The file that tells how a program runs, of its many files in a dump: the last one that has its memory.

    paths     files of one program, or the folder that has them; a single file stands for itself
    Raises    RangeError where none of them is a program after optimizations, and where they are of several programs

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as at:
    ...     for stage in ("before_optimizations", "after_optimizations", "after_optimizations_before_buffer_assignment"):
    ...         _ = Path(at, f"module_0001.jit_f.cl_7.{stage}.txt").write_text("")
    ...     program_file(at).name
    'module_0001.jit_f.cl_7.after_optimizations.txt'
    """
    given = [_path(path) for path in paths]
    if not given:
        what = "program_file of no files"
        raise RangeError(what, "the files of a program, or their folder", "write program_file('dumps')")
    if len(given) == 1 and not os.path.isdir(paths[0]):
        return given[0]
    files = sorted({file for path in given for file in (_texts(path.iterdir()) if path.is_dir() else [path])})
    files = _texts(files) or files  # module_0007.* has flags and options too
    chosen = sorted(_chosen(files), key=lambda path: (-path.stat().st_size, path))
    if not chosen:
        fix = "dump with --xla_dump_hlo_as_text, and give module_....after_optimizations.txt"
        what = f"{given[0]}: {len(files)} files, and no program after optimizations"
        raise RangeError(what, "the files of a program", fix)
    if len(chosen) > 1:
        names = ", ".join(path.name for path in chosen[:3])
        what = f"{given[0]}: {len(chosen)} programs: {names}{', ...' if chosen[3:] else ''}"
        fix = f"give {chosen[0]}, which is the largest; xla.census reads all of a folder"
        raise RangeError(what, "the files of one", fix)
    return chosen[0]


def run_beside(path: str | os.PathLike[str]) -> Path | None:
    """The file of a dump that tells how the program of another file of it runs; None where there is none, or the file
    tells it itself."""
    path = Path(path)
    found = _FILE.fullmatch(path.name)
    if found is None or found[2] in _STAGES or not path.is_file():
        return None
    chosen = _chosen(p for p in path.parent.iterdir() if p.name.startswith(f"{found[1]}.") and p.suffix in ENDINGS)
    return chosen[0] if len(chosen) == 1 else None


def _path(given: str | os.PathLike[str]) -> Path:
    require_type(given, str | os.PathLike, "the programs of a", "the path of a folder", "write programs_in('dumps')")
    return Path(given)


def _texts(files: Iterable[Path]) -> list[Path]:
    return sorted(p for p in files if p.suffix in ENDINGS and p.is_file())


def _chosen(files: Iterable[Path]) -> list[Path]:
    """Choose of the files of each program in a dump the one that tells of its run; any other file stands for itself."""
    out: list[Path] = []
    groups: dict[tuple[Path, str], dict[str, Path]] = {}
    for path in files:
        found = _FILE.fullmatch(path.name)
        if found is None:
            out.append(path)
        else:
            groups.setdefault((path.parent, found[1]), {})[found[2]] = path
    for stages in groups.values():
        best = [stages[stage] for stage in _STAGES if stage in stages][:1]
        out += best if any(stage.startswith(("before_", "after_")) for stage in stages) else stages.values()
    return sorted(out)
