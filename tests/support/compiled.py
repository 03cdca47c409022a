"""Emitted text, compiled and called: C by gcc, C++ by g++, and kernels of CUDA and OpenCL as C++,
thread after thread."""

import atexit
import ctypes
import functools
import hashlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

#: What stands before a kernel so that a C++ compiler takes it, and its thread is a variable.
CUDA = """
#include <cstdint>
struct Any { void *p; template <class T> operator T *() const { return (T *)p; } };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct Dim { unsigned x; };
static Dim blockIdx, blockDim, threadIdx, gridDim;
#define __global__
#define __device__
#define __host__
#define __forceinline__
"""
OPENCL = """
#include <cstdint>
typedef unsigned char uchar; typedef unsigned short ushort; typedef unsigned int uint; typedef unsigned long ulong;
struct Any { void *p; template <class T> operator T *() const { return (T *)p; } };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
static long thread_, threads_;
static long get_global_id(int) { return thread_; }
static long get_global_size(int) { return threads_; }
#define kernel extern "C"
#define global
#define restrict __restrict
"""

TOOLS = {"c": ("gcc", ["-std=c11", "-Dstatic=", "-Dinline="]), "c++": ("g++", ["-std=c++17"])}
WARNINGS = "-O1", "-Wall", "-Wextra", "-Werror"


def require(tool):
    if shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")


def build(folder, text, *flags, language="c", headers=""):
    """The shared library of a text of C or C++, whose functions are made visible. headers: C++ that many texts begin
    with, compiled once by each process."""
    tool, standard = TOOLS[language]
    require(tool)
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    source, library = folder / f"{name}.{'c' if language == 'c' else 'cc'}", folder / f"{name}.so"
    source.write_text(text)
    words = [*standard, *WARNINGS, "-shared", "-fPIC", *flags]
    _compiled(tool, *words, *(["-include", precompiled(headers, *words)] if headers else []), source, "-o", library)
    return ctypes.CDLL(str(library))


@functools.cache
def precompiled(headers, *words):
    """The file to include by the same words, beside which its precompiled form is."""
    folder = tempfile.mkdtemp(prefix="tla-headers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder, "all.h")
    file.write_text(headers)
    _compiled("g++", *words, "-x", "c++-header", file, "-o", f"{file}.gch")
    return file


def _compiled(*command):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def aligned(n, dtype, value=0):
    """An array of n elements that begins at a multiple of 64 bytes."""
    width = np.dtype(dtype).itemsize
    raw = np.zeros(n * width + 64, np.uint8)
    at = -raw.ctypes.data % 64
    out = raw[at : at + n * width].view(dtype)
    out[:] = value
    return out
