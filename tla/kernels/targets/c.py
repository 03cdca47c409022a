"""A kernel as C: blocks in parallel by OpenMP, the threads of a block one after the other, statement by statement.

Every statement ends for all threads before the next begins, so a barrier has nothing to do. A thread's registers are a row of an
array, for they are kept from statement to statement.

Source: the C standard, ISO/IEC 9899:2018; OpenMP 4.5, "parallel for".
"""

from __future__ import annotations

from ...codegen.c_languages import C_FAMILY
from ...codegen.expressions.integer_types import Integer
from ..allocation import PLACES
from ..digits import loops
from ..names import WORD
from ..source import Form, Parts, Source
from ..text import Writer
from ..whole_tiles import with_whole_copies
from .lanes import Lanes

#: Before a loop over threads, for compilers that make it one of vectors: no step of it touches what another one writes, as the check has
#: seen. clang asks that itself where it runs, and is told to use vectors, not that it may.
APART = ["THREADS_ARE_APART"]
_APART = [
    "#if defined __GNUC__ && !defined __clang__",
    '#define THREADS_ARE_APART _Pragma("GCC ivdep")',
    "#else",
    "#define THREADS_ARE_APART",
    "#endif",
]


def write(parts: Parts) -> Source:
    """The text of a program as C. Source: ours."""
    parts = parts._replace(program=with_whole_copies(parts.program))
    p, language = parts.program, C_FAMILY["c"]
    lanes = Lanes(p.threads, lambda wanted: writer.texts(wanted))
    writer = Writer(p, language, "{}[tid][{}]", "{0}[tid ^ {2}][{1}]", lanes, loops=True)
    blocks = [*writer.blocks()]
    grid = writer.values(p.grid)
    kind = language.integers[str(Integer(writer.bits, True))]
    body: list[str] = [line.format(int=kind) for line in grid.lines]
    body += ["#ifdef _OPENMP", f"#pragma omp parallel for collapse({len(p.grid)})", "#endif"]
    body += [f"for ({kind} bid{k} = 0; bid{k} < {grid.of(n)}; ++bid{k})" for k, n in reversed([*enumerate(p.grid)])]
    words = {*WORD.findall("\n".join(line for block in blocks for line in block.lines))}  # mbarriers have nothing to do
    held = [(f"smem{k}", t) for k, t in enumerate(p.shared) if f"smem{k}" in words]
    inner = [f"_Alignas(16) {writer.element_type(t)} {name}[{len(t.data)}];" for name, t in held]
    inner += [f"_Alignas(16) {writer.element_type(t)} {name}[{p.threads}][{len(t.data)}];" for name, t in writer.registers.values()]
    inner += [
        f"_Alignas(16) {writer.type_named('tensor memory', str(x.data.dtype))} tmem{k}[{PLACES}];"
        for k, x in enumerate(p.tmem)
        if x.data is not None
    ]
    inner += [f"void *rows[{lanes.rows}][{p.threads}];"] if lanes.rows else []
    for block in blocks:
        lines = [line.replace("{int}", kind).replace("{barrier}", ";") for line in block.lines]
        if block.threads:
            comment, *lines = lines
            lines = [comment, *loops(lines, kind, p.threads, APART)]
        inner += [f"{'    ' * block.indent}{line}" for line in lines if line != ";"]
    body += ["{", *(f"    {line}" for line in inner), "}"]
    head = ["#include <assert.h>", "#include <stdint.h>", "#include <string.h>", *_APART]
    return parts.source(writer, body, Form(head, "void", "static inline", kind, requires="assert({});"))
