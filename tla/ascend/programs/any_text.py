"""A block of any size as the text of a kernel in AscendC: its statements and loops, names of sizes as parameters.

Source: AscendC.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...core.element import Element
from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...notation.cpp_words import CPP_WORDS
from ...symbolic.conditions import Condition
from ..transfers.instruction import c_condition, c_text
from ..transfers.steps import Loop, When, text_of as step_lines
from .block import Plan
from .paddings import BESIDE
from .statements import Assign, Buffer, Part, Program, chosen, walk, with_bodies
from .text import formula, global_tensor, memories, of_both, require_names, sides_of, statement_text
from .trace import PIPES, pipe_of_statement

#: Functions of integers that AscendC has not.
_FUNCTIONS = (
    "static __aicore__ inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }",
    "static __aicore__ inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }",
)
_CALLS = {"min": "smaller", "max": "larger"}


def ascendc(
    plan: Plan,
    program: Program,
    conditions: Sequence[Condition],
    swizzle: str,
    name: str,
    before: Program | None = None,
) -> str:
    """The kernel of a block of any size in AscendC; before: the program of its vector cores. Raises what AnyMatmulBlock.text raises."""
    require_names((*program.buffers.values(),))
    held = [b for b in program.buffers.values() if b.position == "GM"]
    local = [b for b in program.buffers.values() if b.position != "GM"]
    sizes = [str(n) for n in program.parameters if n not in ("core", "cores")]
    given = ", ".join([*(f"int64_t {n}" for n in sizes), *(f"GM_ADDR {b.name}_gm" for b in held)])
    over_ub = plan.split is not None or plan.activation is None
    first = None
    if before is not None:
        number, count = "AscendC::GetBlockIdx()", f"AscendC::GetBlockNum() * {BESIDE}"
        own = [b for b in before.buffers.values() if b.position != "GM"]
        first = _side(before, own, (*PIPES, "ALL"), number, count)
    lines = sides_of(local, functools.partial(_side, program), over_ub, first)
    text = "\n".join(
        [
            f"// {name}: {formula(plan)} on {plan.arch}, for any {', '.join(sizes)} and number of cores.",
            "// Made by tla from the statements that its check looks at.",
            *(f"// The host has to ask: {_functions(c_condition(c))}" for c in conditions),
            f"// Tiles of {shown(plan.tiling.l1)} in L1 and {shown(plan.tiling.l0)} in L0; blocks by {swizzle}.",
            '#include "kernel_operator.h"',
            *_FUNCTIONS,
            f'extern "C" __global__ __aicore__ void {name}({given}) {{',
            *(f"    {line}" for b in held for line in global_tensor(b)),
            *(f"    {line}" for line in lines),
            "}",
            "",
        ]
    )
    for size in sizes:
        _require_no_other(size, text)
    return text


def _require_no_other(size: str, text: str) -> None:
    """LeafTypeError for a size with the name of something else in a text: one that stands where no integer does."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("//"))
    other = rf"[\w>*&] +{size}\b|(::|\.|<){size}\b|\b{size}(::|[(.[>]| \w)"
    if size in CPP_WORDS or re.search(other, re.sub(rf"int64_t {size}\b", "", lines, count=1)):
        what, fix = f"a size named {size} in a text of C++, which has the name for something else", 'write dim("M")'
        raise LeafTypeError(what, "a name of its own", fix)


def _side(
    program: Program, local: Iterable[Buffer], pipes: Sequence[str], core: str, cores: str = "AscendC::GetBlockNum()"
) -> Iterator[str]:
    """The buffers and the statements of the pipes of one side of every core; core, cores: its number and theirs in C++."""
    own_flags = "AtlasA" not in program.arch.name
    found = chosen(program.body, lambda s: pipe_of_statement(s, program.buffers) in pipes)
    body = found if own_flags else (*_with_flags_of_both(found, pipes),)
    own = dict.fromkeys(str(s.variable) for s in walk(body) if isinstance(s, Assign))
    yield from memories(local, dict(program.arch.sizes))
    yield f"const int64_t core = {core}, cores = {cores};"
    yield f"int64_t {', '.join(own)};"
    yield from _lines(body, program.buffers["C"].element if "C" in program.buffers else None, own_flags)


def _with_flags_of_both(body: Iterable[Any], pipes: Sequence[str]) -> Iterator[Any]:
    """Statements, those inside of others too, with one flag for both vector cores."""
    for s in of_both(body, pipes):
        yield with_bodies(s, lambda x: _with_flags_of_both(x, pipes)) if isinstance(s, (Loop, When, Part)) else s


def _lines(body: Iterable[Any], added: Element | None, own: bool) -> Iterator[str]:
    """The lines of statements; added: the type of what is added in global memory; own: whether a flag between cores is for
    one vector core."""

    def one(s: Any) -> Iterator[str]:
        if isinstance(s, Part):
            yield from _lines(s.body, added, own)
        elif isinstance(s, Assign):
            yield f"{s.variable} = {_functions(c_text(s.value))};"
        else:
            yield _functions(statement_text(s, added, own))

    return step_lines(body, one, _functions)


def _functions(text: str) -> str:
    """A text of C with functions that it has."""
    return re.sub(r"\b(min|max)\(", lambda x: f"{_CALLS[x[1]]}(", text)
