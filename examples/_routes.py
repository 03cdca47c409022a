"""What the examples of kernels share: each route is run where its tool is installed, and gives what numpy gives. No script itself."""

import atexit
import ctypes
import functools
import hashlib
import importlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tla.codegen import emit

os.environ.setdefault("TRITON_INTERPRET", "1")  # Triton reads it when it is imported: kernels run on this machine's CPU
_FOLDER = tempfile.TemporaryDirectory()
atexit.register(_FOLDER.cleanup)


class Missing(Exception):
    """A tool or a module that is not installed."""


def compare(routes, cases):
    """Run each route on each (arguments, expected); one that gives None has compiled only."""
    for name, route in routes.items():
        try:
            for arguments, expected in cases:
                found = route(*arguments)
                assert found is None or np.array_equal(found, expected), f"{name} differs for {[np.shape(a) or a for a in arguments]}"
        except Missing as missing:
            print(f"{name}: skipped, {missing}")
        else:
            print(f"{name}: {'compiles' if found is None else f'right for {len(cases)} sizes'}")


def functions(language, coords=None, /, **layouts):
    """The offsets of layouts as functions of these names."""
    return "\n".join(emit(layout, language, coords, name=name) for name, layout in layouts.items())


def module(name):
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Missing(f"{error.name} is not installed") from None


def _written(text, ending):
    """A file of a text, and its name."""
    path = Path(_FOLDER.name) / f"k{hashlib.sha256(text.encode()).hexdigest()[:16]}{ending}"
    path.write_text(text)
    return path


def _compiled(tool, text, ending, made, *flags):
    if shutil.which(tool) is None:
        raise Missing(f"{tool} is not installed")
    path = _written(text, ending)
    subprocess.run([tool, *flags, str(path), "-o", str(path.with_suffix(made))], check=True)
    return path.with_suffix(made)


@functools.cache
def c(text):
    """The library of a text of C, compiled by gcc; `static` goes, so that its functions can be called from here."""
    return ctypes.CDLL(str(_compiled("gcc", text, ".c", ".so", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", "-Dstatic=", "-Dinline=")))


def call(function, *arguments):
    """A function of C on arrays and integers of 64 bits."""
    function(*(ctypes.c_void_p(x.ctypes.data) if isinstance(x, np.ndarray) else ctypes.c_int64(x) for x in arguments))


@functools.cache
def cuda(text):
    """A text of CUDA, compiled by nvcc."""
    _compiled("nvcc", text, ".cu", ".ptx", "-ptx")


@functools.cache
def triton(text):
    """The module of a text: Triton reads the sources of its kernels, so they have to stand in a file."""
    module("torch"), module("triton")
    path = _written(text, ".py")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def tensor(array):
    """A torch tensor over the memory of an array."""
    return module("torch").from_numpy(array)
