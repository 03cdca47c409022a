"""The compiled build: with TLA_COMPILED=1, `pip install .` and `python -m build --wheel` make extension modules of the
Python files that pyproject.toml names, by Cython, beside these files. Without the variable, without a compiler, or
where compiling fails, the build is pure Python, and the record that it leaves says why; tla/core/build.py reads it."""

import os
import shutil
import sys
import sysconfig
import tempfile
from importlib.util import source_hash
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

#: Annotations are for checkers and readers: they type no C variable. Docstrings are found once, by doctest.
DIRECTIVES = {"language_level": "3", "annotation_typing": False, "autotestdict": False}
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
RECORD = f"compiled.{sys.implementation.cache_tag}.txt"
REFUSED = "refused "
#: Which files are used: it is always Python.
DECIDES = "tla/core/build.py"


def wanted():
    return os.environ.get("TLA_COMPILED", "0") not in ("", "0")


class Compiled(BuildHookInterface):
    def dependencies(self):
        return ["cython>=3.1", "setuptools>=68"] if wanted() else []

    def initialize(self, version, build_data):
        if self.target_name != "wheel":
            return
        package = Path(self.root, "tla")
        if version == "editable":  # beside the sources, where a build of this Python may have been before
            for path in (*package.rglob(f"*{SUFFIX}"), package / RECORD):
                path.unlink(missing_ok=True)
        if not wanted():
            return
        self._folder = tempfile.TemporaryDirectory()
        made = compiled(self.config["modules"], package.parent, Path(self._folder.name))
        if len(made) > 1:
            build_data["pure_python"], build_data["infer_tag"] = False, True
        if version == "editable":
            for path, name in made.items():
                shutil.copy(path, Path(self.root, name))
        else:
            build_data["force_include"].update(made)

    def finalize(self, version, build_data, artifact_path):
        if wanted() and self.target_name == "wheel":
            self._folder.cleanup()


def compiled(patterns, root, folder):
    """What to put beside the sources: file -> its path from `root`. The record alone where compiling fails."""
    record = folder / RECORD
    try:
        modules = compile_all(patterns, root, folder)
        lines = [
            f"{source_hash((root / source).read_bytes()).hex()} {path.stat().st_size} {source}"
            for source, path in modules.items()
        ]
    except Exception as error:  # whatever it is, the build goes on without
        modules, lines = {}, [f"{REFUSED}{type(error).__name__}: {error}".partition("\n")[0][:200]]
        print(f"tla: pure Python, for it could not be compiled: {lines[0].removeprefix(REFUSED)}", file=sys.stderr)
    record.write_text("\n".join(lines), encoding="utf-8")
    beside = {str(path): source.removesuffix(".py") + SUFFIX for source, path in modules.items()}
    return {**beside, str(record): f"tla/{RECORD}"}  # the record last: without it nothing is used that was copied half


def compile_all(patterns, root, folder):
    """source -> its extension module, of all files that the patterns match but those of packages themselves."""
    from Cython.Build import cythonize
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    found = {
        path.relative_to(root).as_posix()
        for pattern in patterns
        for path in root.glob(pattern)
        if path.name != "__init__.py"
    }
    names = {source: source.removesuffix(".py").replace("/", ".") for source in sorted(found - {DECIDES})}
    # Cython 3.3 makes a pointer of the bool in `a or (b and c is True)`: that is to fail here, and not in a kernel.
    flags = [] if sys.platform == "win32" else ["-g0", "-Werror=int-to-pointer-cast", "-Werror=int-conversion"]
    if flags and "CFLAGS" not in os.environ:  # there it is said how far to optimise
        flags.append("-O2")
    extensions = [Extension(name, [source], extra_compile_args=flags) for source, name in names.items()]
    workers = os.cpu_count() or 1
    made = cythonize(extensions, build_dir=str(folder), compiler_directives=DIRECTIVES, nthreads=workers, quiet=True)
    command = build_ext(Distribution({"ext_modules": made}))
    command.build_lib, command.build_temp, command.parallel = str(folder / "lib"), str(folder / "temp"), workers
    command.ensure_finalized()
    command.run()
    return {source: Path(command.get_ext_fullpath(name)) for source, name in names.items()}
