"""Emitted functions, run: many in one file of C, compiled once; each at every coordinate.

The C file itself walks through the coordinates, first mode fastest, and writes what each function gives as int64.
"""

from __future__ import annotations

import math
import subprocess
from typing import Any, NamedTuple

import numpy as np

FLAGS = {"c": ("gcc", "-std=c11"), "cpp": ("g++", "-std=c++17")}
HEAD = """#include <stdio.h>
#include <stdint.h>
static void place(int64_t *c, const int64_t *extents, int rank, int64_t n) {
    for (int k = 0; k < rank; ++k) { c[k] = n % extents[k]; n /= extents[k]; }
}
static void put(FILE *f, int64_t v) { fwrite(&v, sizeof v, 1, f); }
"""
DRIVER = """
static void write_{k}(FILE *driver_file) {{
    const int64_t extents[] = {{{extents}}};
    for (int64_t n = 0; n < {count}; ++n) {{
        int64_t c[{rank}];
        place(c, extents, {rank}, n);
        {body}
    }}
}}
"""


class Case(NamedTuple):
    """A function, and what it gives.

    text       of emit()
    name       of the function
    extents    of its coordinates
    sizes      the arguments after these
    wanted     what it gives at all coordinates, first mode fastest; a row of several for each
    integer    the type of its integers
    """

    text: str
    name: str
    extents: tuple[int, ...]
    sizes: tuple[int, ...]
    wanted: Any
    integer: str


def run(cases: list[Case], folder: Any, target: str = "c", flags: tuple[str, ...] = ("-O1",)) -> list[np.ndarray]:
    """What each case gives."""
    source, program, out = folder / f"all.{target}", folder / f"all_{target}", folder / "out.bin"
    texts = dict.fromkeys(c.text for c in cases)
    parts = [HEAD, *texts, *(_driver(k, c, target) for k, c in enumerate(cases))]
    calls = " ".join(f"write_{k}(driver_file);" for k in range(len(cases)))
    parts.append(
        f'int main(void) {{ FILE *driver_file = fopen("{out}", "wb"); {calls} return fclose(driver_file); }}\n'
    )
    source.write_text("\n".join(parts))
    warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
    compile_and_run([*FLAGS[target], *warnings, *flags, "-o", str(program), str(source)], [str(program)])
    data, at, found = np.fromfile(out, np.int64), 0, []
    for c in cases:
        n = np.size(c.wanted)
        found.append(data[at : at + n].reshape(np.shape(c.wanted)))
        at += n
    assert at == data.size
    return found


def compile_and_run(*commands: list[str]) -> None:
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr[:3000]) == (0, "")


def _driver(k: int, c: Case, target: str) -> str:
    arguments = [*(f"c[{n}]" for n in range(len(c.extents))), *map(literal, c.sizes)]
    kind = {"cpp": "std::"}.get(target, "") + f"{c.integer}_t"
    arguments = [f"({kind}){a}" for a in arguments]
    rows = np.shape(c.wanted)[1:]
    if rows:
        body = f"{kind} r[{rows[0]}]; {c.name}({', '.join([*arguments, 'r'])});"
        body += f" for (int k = 0; k < {rows[0]}; ++k) put(driver_file, (int64_t)r[k]);"
    else:
        body = f"put(driver_file, (int64_t){c.name}({', '.join(arguments)}));"
    extents = c.extents or (1,)
    return DRIVER.format(
        k=k, rank=len(extents), extents=", ".join(map(str, extents)), count=math.prod(extents), body=body
    )


def literal(n: int) -> str:
    return f"(-{-n - 1}LL - 1)" if n < 0 else f"{n}LL"


def python(c: Case) -> Any:
    """What an emitted Python function gives, integer by integer."""
    f = function(c.text, c.name)
    values = [f(*map(int, coord), *c.sizes) for coord in _coordinates(c.extents)]
    return np.array(values, np.int64)


def numpy(c: Case) -> Any:
    """What an emitted numpy function gives for arrays of coordinates."""
    got = function(c.text, c.name)(*_coordinates(c.extents).T, *c.sizes)
    count = math.prod(c.extents)
    columns = [np.broadcast_to(x, count) for x in (got if isinstance(got, tuple) else (got,))]
    return np.stack(columns, -1).reshape(np.shape(c.wanted))


def function(text: str, name: str) -> Any:
    """The function of an emitted Python text."""
    scope: dict[str, Any] = {}
    exec(text, scope)
    return scope[name]


def _coordinates(extents: tuple[int, ...]) -> np.ndarray:
    if not extents:
        return np.zeros((1, 0), np.int64)
    return np.stack([x.ravel(order="F") for x in np.indices(extents)], -1)
