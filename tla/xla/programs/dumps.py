"""The files of a dump: which of them tell of one program, and which is the program as it runs.

`--xla_dump_to=DIR` writes of each program a dozen files, module_0001.jit_step.cl_123.STAGE.txt: the module before and after optimizations,
before and after buffer assignment and code generation, and reports. Only one of them is the scheduled program.

Source: XLA xla/service/dump.cc (file names); the dumps of libtpu 0.0.51.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from ...core.errors import LeafTypeError, RangeError

#: Endings of files that may hold a program's text.
ENDINGS = (".txt", ".hlo", ".gz")
#: The stages of a program that are the program as it runs, the one that is read first.
_STAGES = ("after_optimizations", "after_codegen", "after_optimizations_after_buffer_assignment")
#: A file of a dump: the program, then the stage. A platform may stand before it: cpu_after_optimizations.
_FILE = re.compile(r"(module_\d+\..+)\.(?:\w+?_(?=before_|after_))?([\w-]+)((?:\.(?:txt|hlo|gz))+)")


def programs_in(folder: str | os.PathLike[str]) -> tuple[tuple[Path, ...], int]:
    """The programs of a folder, folders in it included: one file of each, and how many files tell of the same programs or are reports.

    Of the files of one program in a dump that is the module after optimizations; a file that no dump wrote is a program of its own.
    Raises RangeError for what is no folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as at:
    ...     for stage in ("before_optimizations", "after_optimizations", "after_optimizations-memory-usage-report", "after_codegen"):
    ...         _ = Path(at, f"module_0001.jit_f.cl_7.{stage}.txt").write_text("")
    ...     found, others = programs_in(at)
    >>> [path.name for path in found], others
    (['module_0001.jit_f.cl_7.after_optimizations.txt'], 3)
    """
    if not isinstance(folder, str | os.PathLike):
        raise LeafTypeError(f"the programs of a {type(folder).__name__}", "the path of a folder", "write programs_in('dumps')")
    path = Path(folder)
    if not path.is_dir():
        raise RangeError(f"the programs of {path}", "a folder", "give the folder that --xla_dump_to names")
    files = sorted(p for p in path.rglob("*") if p.suffix in ENDINGS and p.is_file())
    chosen = tuple(_chosen(files))
    return chosen, len(files) - len(chosen)


def _chosen(files: Iterable[Path]) -> list[Path]:
    """Choose of the files of each program in a dump the one that tells of its run; every other file stands for itself."""
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
