"""The build that is imported: pure Python, or extension modules that Cython made of the same files
(`TLA_COMPILED=1 pip install .`).

The build leaves a record beside the package: a hash of each source that it compiled, and the bytes of its extension
module. These modules are used only where all of it is true of what stands there now, so that neither an older source
nor half a copy of a module is; this file, which is always Python, sees to that before any other is imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import EXTENSION_SUFFIXES, SOURCE_SUFFIXES, FileFinder, ModuleSpec, SourceFileLoader
from importlib.util import source_hash
from types import ModuleType
from typing import NamedTuple

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A line `HASH BYTES tla/core/ints.py` for each source that was compiled; or `refused ` and the reason why none was.
_RECORD = os.path.join(_ROOT, f"compiled.{sys.implementation.cache_tag}.txt")
_REFUSED = "refused "
_FIX = "TLA_COMPILED=1 pip install . compiles it anew"


class BuildInfo(NamedTuple):
    """The build that `tla` was imported from.

    compiled   whether extension modules are used
    modules    the names of the modules that are
    why        where it is pure Python, the reason for that

    >>> print(BuildInfo(False, (), "not compiled"))
    pure Python, not compiled
    """

    compiled: bool
    modules: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"compiled, {len(self.modules)} modules" if self.compiled else f"pure Python, {self.why}"


def build_info() -> BuildInfo:
    """The build that is imported: pure Python, or compiled.

    `TLA_COMPILED=1 pip install .` compiles, where there is a C compiler. TLA_COMPILED=0 in the environment of a process
    makes it use the Python files all the same.

    >>> import tla
    >>> info = tla.build_info()
    >>> info.compiled == bool(info.modules)
    True
    """
    return _BUILD


def _read_build() -> BuildInfo:
    """The build that the record beside the package tells of, if what it compiled is what is there."""
    try:
        with open(_RECORD, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, ValueError):
        return BuildInfo(False, (), "not compiled")
    if lines and lines[0].startswith(_REFUSED):
        return BuildInfo(False, (), f"for it could not be compiled: {lines[0].removeprefix(_REFUSED)}")
    if os.environ.get("TLA_COMPILED") == "0":
        return BuildInfo(False, (), "as TLA_COMPILED=0 says")
    if not lines:
        return BuildInfo(False, (), "not compiled")
    sources = [line.rpartition(" ")[::2] for line in lines]
    for wanted, path in sources:
        if _fingerprint(path) != wanted:
            return BuildInfo(False, (), f"for {path or 'the record'} is not what was compiled: {_FIX}")
    return BuildInfo(True, tuple(path.removesuffix(".py").replace("/", ".") for _fingerprint, path in sources), "")


def _fingerprint(path: str) -> str | None:
    """The record of a source, `tla/core/ints.py`: its hash, and the bytes of the extension module; None where
    one is missing."""
    source = os.path.join(os.path.dirname(_ROOT), path)
    try:
        with open(source, "rb") as file:
            return (
                f"{source_hash(file.read()).hex()} "
                f"{os.path.getsize(source.removesuffix('.py') + EXTENSION_SUFFIXES[0])}"
            )
    except (OSError, ValueError):
        return None


class _Sources:
    """A finder of tla's Python files, whatever lies beside them."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if not name.startswith("tla."):
            return None
        finders = (FileFinder(folder, (SourceFileLoader, SOURCE_SUFFIXES)) for folder in path or ())
        return next((spec for finder in finders if (spec := finder.find_spec(name))), None)


def _has_extensions() -> bool:
    """Whether extension modules lie beside the sources: of the core, which each build compiles."""
    return any(name.endswith(EXTENSION_SUFFIXES[0]) for name in os.listdir(os.path.join(_ROOT, "core")))


_BUILD = _read_build()
if not _BUILD.compiled and _has_extensions():
    sys.meta_path.insert(0, _Sources)
    if _BUILD.why.endswith(_FIX):
        print(f"tla: {_BUILD}", file=sys.stderr)
