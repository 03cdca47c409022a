"""Tables of index expressions in C, by a compiler of the machine: every value is what C++ computes.
Imports nothing from tla."""

import ctypes
import re
import shutil
import subprocess

import numpy as np

#: What CUDA declares, for a host.
_CUDA = r"""
#include <cstddef>
#include <cstdint>
#include <algorithm>
#define __device__
#define __host__
#define __global__
#define __shared__ static
#define __forceinline__ inline
struct dim3 { unsigned x, y, z; };
struct half { short bits; };
struct bf16 { short bits; };
struct __nv_bfloat16 { short bits; };
struct float4 { float x, y, z, w; };
struct int4 { int x, y, z, w; };
struct uint4 { unsigned x, y, z, w; };
struct half2 { short x, y; };
static unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
static int __mul24(int a, int b) { return ((a << 8) >> 8) * ((b << 8) >> 8); }
static unsigned __umulhi(unsigned a, unsigned b) { return ((unsigned long long)a * b) >> 32; }
static int min(int a, int b) { return a < b ? a : b; }
static unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
static int max(int a, int b) { return a < b ? b : a; }
static unsigned max(unsigned a, unsigned b) { return a < b ? b : a; }
static unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
typedef unsigned int uint;
static int mul24(int a, int b) { return __mul24(a, b); }
namespace cute {
template <int B, int M, int S> struct Swizzle {
  int operator()(int x) const { return x ^ ((x & (((1 << B) - 1) << (M + S))) >> S); }
};
}
template <class T> static const T& __ldg(const T* p) { return *p; }
"""


def compiler():
    return shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")


def plain_names(row):
    """A row whose coordinates and values are names of C: coord.row() is q0."""
    row, coords = {**row}, [c.strip() for c in row["coords"].split(",")]
    given = [c for c in (*coords, *row.get("values", {})) if not re.fullmatch(r"\w+|\w+\.[xyz]", c)]
    for n, name in enumerate(given):
        row["text"] = row["text"].replace(name, f"q{n}")
        coords = [f"q{n}" if c == name else c for c in coords]
        row["values"] = {f"q{n}" if k == name else k: v for k, v in row.get("values", {}).items()}
    return row, coords


def c_tables(rows, folder):
    """The table of each row: its text at all coordinates, the last slowest... as numpy has it, in C order.

    before  what stands at file scope; text  statements, the last an expression; coords; shape; values
    memory  type and name of what is indexed; unit  the type of the elements that an index counts, its own by default
    call    the function that is called, for a row that is a function
    """
    parts = [_CUDA]
    for k, row in enumerate(rows):
        shape = row["shape"]
        row, coords = plain_names(row)
        loops = "".join(f"for (int c{n} = 0; c{n} < {extent}; ++c{n}) " for n, extent in enumerate(shape))
        plain = {c: n for n, c in enumerate(coords) if re.fullmatch(r"\w+", c)}
        given = "".join(f"const int {c} = c{n}; (void){c}; " for c, n in plain.items())
        fixed = {k: v for k, v in row.get("values", {}).items() if "." in k}
        given += "".join(
            f"dim3 {c} = {{0, 0, 0}}; (void){c}; "
            for c in sorted({c.partition(".")[0] for c in (*coords, *fixed) if "." in c})
        )
        given += "".join(f"{c} = c{n}; " for n, c in enumerate(coords) if "." in c)
        given += "".join(f"{name} = {value}; " for name, value in fixed.items())
        given += "".join(
            f"const int {name} = {value}; (void){name}; "
            for name, value in row.get("values", {}).items()
            if "." not in name
        )
        body = row.get("text", "")
        if "call" in row:
            body = f"{row['call']}({', '.join(coords)})"
        steps, last = re.fullmatch(r"(?s)(.*(?:;|\}(?!\()))?(.*)", body).groups("")
        if "memory" in row:
            kind, name = row["memory"]
            declared = f"static {kind} {name}[{1 << 20}];" if not row.get("declared") else ""
            unit = row.get("unit", kind)
            base = f"(const char*)&{name}[0]" if not row.get("declared") else f"(const char*){name}"
            value = (
                f"(((const char*)({last}) - {base}) / (long long)sizeof({unit}))"
                if row.get("address")
                else (f"(((const char*)&({last}) - {base}) / (long long)sizeof({unit}))")
            )
        else:
            declared, value = "", f"(long long)({last})"
        parts.append(f"namespace n{k} {{ {declared}\n{row.get('before', '')}\n")
        parts.append(f"static void fill(long long* out) {{ {loops}{{ {given}\n{steps} *out++ = {value}; }} }} }}\n")
        parts += [f"#undef {name}\n" for name in re.findall(r"#define (\w+)", row.get("before", ""))]
        parts.append(f'extern "C" void fill_{k}(long long* out) {{ n{k}::fill(out); }}\n')
    source, library = folder / "tables.cpp", folder / "tables.so"
    source.write_text("".join(parts))
    words = [compiler(), "-std=c++17", "-O1", "-w", "-fwrapv", "-shared", "-fPIC", str(source), "-o", str(library)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr[:4000]
    loaded = ctypes.CDLL(str(library))
    for k, row in enumerate(rows):
        table = np.empty(row["shape"], np.int64)
        loaded[f"fill_{k}"](table.ctypes.data_as(ctypes.c_void_p))
        yield table
