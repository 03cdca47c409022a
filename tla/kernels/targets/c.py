"""A kernel as C: blocks in parallel by OpenMP, the threads of a block one after the other, statement by statement.

Every statement ends for all threads before the next begins, so a barrier has nothing to do. A thread's registers are a
row of an array, for they are kept from statement to statement.

Source: the C standard, ISO/IEC 9899:2018; OpenMP 4.5, "parallel for".
"""

from __future__ import annotations

import math

from ...codegen.c_languages import C_FAMILY
from ...codegen.expressions.integer_types import Integer
from ..block.allocation import PLACES
from ..program.statements import Program, accesses
from ..text.names import WORD
from ..text.source import Form, Parts, Source
from ..text.statements import Writer
from ..tiles.whole import with_whole_copies
from .c_cluster import ADDED, ClusterWriter, assembled
from .lanes import Lanes

#: Before a loop over threads, for compilers that make it one of vectors: no step of it touches what another one writes,
#: as the check has seen. clang asks that itself where it runs, and is told to use vectors, not that it may.
APART = ["THREADS_ARE_APART"]
_APART = [
    "#if defined __GNUC__ && !defined __clang__",
    '#define THREADS_ARE_APART _Pragma("GCC ivdep")',
    "#else",
    "#define THREADS_ARE_APART",
    "#endif",
]


#: An addition that blocks, which run in parallel, make one after the other; as a word, so that no loop has APART.
_ADDS = [
    "#ifdef _OPENMP",
    f'#define {ADDED}(place, x) {{ _Pragma("omp atomic") place += x; }}',
    "#else",
    f"#define {ADDED}(place, x) place += x",
    "#endif",
]


def write(parts: Parts) -> Source:
    """The text of a program as C. Source: ours."""
    parts = parts._replace(program=with_whole_copies(parts.program))
    p, language = parts.program, C_FAMILY["c"]
    lanes = Lanes(
        p.threads, math.prod(p.cluster), lambda wanted: writer.texts(wanted), lambda *given: writer.converted(*given)
    )
    writer = _writer(p, lanes)
    lines = assembled([*writer.blocks()], p.threads, APART)
    grid = writer.values(p.grid)
    kind = language.integers[str(Integer(writer.bits, True))]
    body: list[str] = list(grid.lines)
    body += ["#ifdef _OPENMP", f"#pragma omp parallel for collapse({len(p.grid)})", "#endif"]
    for k, n in reversed([*enumerate(p.grid)]):
        index, end = f"{'cluster' if p.cluster else 'bid'}{k}", grid.of(n)
        end = f"{end} / {p.cluster[k]}" if k < len(p.cluster) else end
        body.append(f"for ({{int}} {index} = 0; {index} < {end}; ++{index})")
    words = {*WORD.findall("\n".join(lines))}  # mbarriers have nothing to do
    first, last = (
        writer.arrays(words) if isinstance(writer, ClusterWriter) else (_of_block(p, writer, lanes, words), [])
    )
    body += ["{", *(f"    {line}" for line in (*first, *lines, *last)), "}"]
    body = [line.replace("{int}", kind) for line in body]
    headers = ["assert.h", "stdint.h", *["stdlib.h"] * bool(p.cluster), "string.h"]
    head = [*(f"#include <{x}>" for x in headers), *_APART, *(_ADDS if ADDED in words else [])]
    return parts.source(writer, body, Form(head, "void", "static inline", kind, requires="assert({});"))


def _writer(p: Program, lanes: Lanes) -> Writer:
    """The writer of a program, whose registers are those of all threads."""
    own, others, adds = "{}[tid][{}]", "{0}[tid ^ {2}][{1}]", f"{ADDED}({{}}, {{}});"
    if p.cluster:
        return ClusterWriter(p, own, others, adds, lanes, APART)
    return Writer(p, C_FAMILY["c"], own, others, adds, lanes, loops=True)


def _of_block(p: Program, writer: Writer, lanes: Lanes, words: set[str]) -> list[str]:
    """The arrays of a block: shared memory, the registers of its threads, tensor memory."""
    held = [(f"smem{k}", t) for k, t in enumerate(p.shared) if f"smem{k}" in words]
    arrays = [f"{writer.element_type(t)} {name}[{len(t.data)}]" for name, t in held]
    own = writer.registers.values()
    arrays += [f"{writer.element_type(t)} {name}[{p.threads}][{len(t.data)}]" for name, t in own]
    columns = [(k, x.data.dtype) for k, x in enumerate(p.tmem) if x.data is not None]
    arrays += [f"{writer.type_named('tensor memory', str(kind))} tmem{k}[{PLACES}]" for k, kind in columns]
    lines = [f"_Alignas(64) {array};" for array in arrays]
    read = {id(x.tensor.data) for s in p.statements() for verb, x in accesses(s) if verb == "reads"}
    lines += [f"(void){name};" for name, t in (*held, *own) if id(t.data) not in read]
    return [*lines, *([f"void *rows[{lanes.rows}][{p.threads}];"] if lanes.rows else [])]
