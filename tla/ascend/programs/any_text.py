"""A block of any size as the text of a kernel in AscendC: its statements and loops, names of sizes as parameters.

Source: AscendC.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ...core.element import Element
from ...core.int_tuple import shown
from ...symbolic.conditions import Condition
from ..transfers.instruction import c_text
from ..transfers.steps import text_of as step_lines
from .block import Plan
from .statements import Assign, Part, Program, walk
from .text import global_tensor, memories, require_names, statement_text

#: Functions of integers that AscendC has not.
_FUNCTIONS = (
    "static __aicore__ inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }",
    "static __aicore__ inline int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }",
)
_CALLS = {"min": "smaller", "max": "larger"}


def ascendc(plan: Plan, program: Program, conditions: Sequence[Condition], swizzle: str, name: str) -> str:
    """The kernel of a block of any size in AscendC. Raises what AnyMatmulBlock.text raises."""
    require_names((*program.buffers.values(),))
    held = [b for b in program.buffers.values() if b.position == "GM"]
    local = [b for b in program.buffers.values() if b.position != "GM"]
    sizes = [str(n) for n in program.parameters if n not in ("core", "cores")]
    given = ", ".join([*(f"int64_t {n}" for n in sizes), *(f"GM_ADDR {b.name}_gm" for b in held)])
    own = dict.fromkeys(str(s.variable) for s in walk(program.body) if isinstance(s, Assign))
    return "\n".join(
        [
            f"// {name}: C = A * B{' + bias' * plan.bias} on {plan.arch}, for any {', '.join(sizes)} and number of "
            "cores.",
            "// Made by tla from the statements that its check looks at.",
            *(f"// The host has to ask: {_functions(c.to_python().replace('//', '/'))}" for c in conditions),
            f"// Tiles of {shown(plan.tiling.l1)} in L1 and {shown(plan.tiling.l0)} in L0; blocks by {swizzle}.",
            '#include "kernel_operator.h"',
            *_FUNCTIONS,
            f'extern "C" __global__ __aicore__ void {name}({given}) {{',
            *(f"    {line}" for b in held for line in global_tensor(b)),
            *(f"    {line}" for line in memories(local, dict(plan.arch.sizes))),
            "    const int64_t core = AscendC::GetBlockIdx(), cores = AscendC::GetBlockNum();",
            f"    int64_t {', '.join(own)};",
            *(f"    {line}" for line in _lines(program.body, plan.c.element)),
            "}",
            "",
        ]
    )


def _lines(body: Iterable[Any], added: Element) -> Iterator[str]:
    """The lines of statements; added: the type of what is added in global memory."""

    def one(s: Any) -> Iterator[str]:
        if isinstance(s, Assign):
            yield f"{s.variable} = {_functions(c_text(s.value))};"
        elif isinstance(s, Part):
            yield from _lines(s.body, added)
        else:
            yield _functions(statement_text(s, added))

    return step_lines(body, one, "int64_t", _functions)


def _functions(text: str) -> str:
    """A text of C with functions that it has."""
    return re.sub(r"\b(min|max)\(", lambda x: f"{_CALLS[x[1]]}(", text)
