"""A kernel as Gluon, Triton's language of tiles and layouts: a statement of each thread is one of a whole tile.

Who holds which element of a tile is its layout, and the compiler's code has the accesses that follow; it also puts
the barriers.

Source: triton.experimental.gluon of Triton 3.9.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from typing import Any

from ...codegen.expressions.plan import plan
from ...codegen.expressions.target import expression, required, required_names, statements
from ...codegen.indices.python import SYNTAX, definition
from ...core.errors import RangeError
from ...core.ints import known
from ..program.elements import Scalar
from ..program.statements import Barrier, Either, Loop, Product, Program
from ..run.trace import sizes_of
from ..text.source import Parts, Source, shared_bytes
from ..tiles.homes import EACH
from ..tiles.tiles import WARP, refused
from .gluon_statements import ORDERS, Writer
from .gluon_tiles import INDENT

_WORDS = {*keyword.kwlist, "range", "float", "min", "max"}
_WORDS |= {"gl", "gluon", "async_copy", "mma_v2", "libdevice", "begin_copy"}
_HEAD = ["from triton.experimental import gluon", "from triton.experimental.gluon import language as gl"]
_AMPERE, _HOPPER = (f"from triton.experimental.gluon.language.nvidia.{x} import" for x in ("ampere", "hopper"))
_MODULES = {
    "begin_copy": [
        f"{_AMPERE} async_copy",
        "",
        "# its names in Triton 3.9, and before",
        'begin_copy = getattr(async_copy, "async_load", async_copy.async_copy_global_to_shared)',
    ],
    "async_copy": [f"{_AMPERE} async_copy"],
    "warpgroup_mma(": [f"{_HOPPER} warpgroup_mma"],
    "warpgroup_mma_wait": [f"{_HOPPER} warpgroup_mma_wait"],
    "fence_async_shared": [f"{_HOPPER} fence_async_shared"],
    "mma_v2": [f"{_AMPERE} mma_v2"],
    "block_barrier": ['block_barrier = getattr(gl, "barrier", None) or gl.thread_barrier  # its names, then and now'],
    "libdevice": ["from triton.language.extra import libdevice"],
}


def write(parts: Parts) -> Source:
    """The text of a program as Gluon. Raises LeafTypeError for what is no statement of tiles. Source: ours."""
    p = parts.program
    _require(p, parts.order)
    writer = Writer(p)
    writer.body(p.body)
    lines = [*writer.prologue(), *writer.lines]
    text = "\n".join(lines)
    modules = [line for word in _MODULES if word in text for line in _MODULES[word]]
    conditions, asked, tests = _required(p, parts.name)
    made, grid = _grid(p.grid)
    given = ", ".join(f"float({n})" if _is_float(p, n) else n for n in parts.order)
    refusal = f"if not {parts.name}_requires({', '.join(asked)}):", f'{INDENT}raise ValueError("sizes of {parts.name}")'
    blocks = " by ".join(map(str, p.grid))
    comment = [f"{parts.name}: the kernel {p.name}, {p.threads} threads a block, {blocks} blocks. Made by tla."]
    barriers = ["Triton's compiler puts the barriers that it needs."] if p.shared else []
    comment += [parts.checked, *barriers, *required(conditions)]
    launched = [
        *(refusal if asked else []),
        *made,
        f"grid = ({', '.join(grid)}{',' * (len(grid) == 1)})",
        "if 0 not in grid:",
        f"{INDENT}{parts.name}[grid]({given}, num_warps={p.threads // WARP})",
    ]
    head = [*(f"# {line}" for line in comment), *_HEAD, *dict.fromkeys(modules)]
    function = [f"def {parts.name}({', '.join(parts.order)}):", *(f"{INDENT}{line}" for line in lines or ["pass"])]
    launch = definition(f"{parts.name}_launch", parts.order, launched).splitlines()
    out = [*head, "", "", "@gluon.jit", *function, "", "", *tests, *launch]
    return Source("\n".join(out) + "\n", parts.order, p.grid, p.threads, shared_bytes(p), conditions)


def _require(p: Program, order: Sequence[str]) -> None:
    """Refuse names that are Python's, or the text's own, and statements that Gluon has not."""
    for name in order:
        if name in _WORDS:
            raise RangeError(f"a parameter named {name}", "another name: Gluon's text has this word", "rename it")
        x = p.arguments.get(name)
        if isinstance(x, Scalar) and str(x.dtype) not in ("float16", "float32", "int32"):
            what = f"the scalar {name} of {x.dtype}"
            raise RangeError(what, "float16, float32 or int32: Triton passes no other", "give it as a tensor")
    for s in p.statements():
        word = getattr(s, "word", type(s).__name__)
        if not isinstance(s, (*EACH, Product, Barrier, Loop, Either)) and word not in ORDERS:
            fix = "load tiles by cp.async or by copies, multiply by mma.sync or wgmma; or use target 'cuda'"
            expected = "copies, products of mma.sync, wgmma or multiply-adds, functions of elements"
            raise refused(s.line, f"the statement {word}", expected, fix)


def _required(p: Program, name: str) -> tuple[tuple[Any, ...], list[str], list[str]]:
    """The conditions of the sizes, the sizes that they are about, and the host's function that asks them."""
    sizes = sizes_of(p)
    made = plan(sizes, name=name, conditions=p.conditions) if sizes else None
    if made is None or not made.requires:
        return (), [], []
    asked = required_names(made)
    both = " and ".join(expression(node, SYNTAX, {}, 1) for node in made.checks)
    text = definition(f"{name}_requires", asked, [f"return {both}"])
    return tuple(c for c, _node in made.requires), asked, [*text.splitlines(), "", ""]


def _grid(grid: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The host's lines before a grid, and the texts of its extents."""
    open_ = [n for n in grid if known(n) is None]
    temporaries, results = statements(plan(tuple(open_), name="grid"), SYNTAX) if open_ else ([], [])
    texts = iter(results)
    lines = [f"{name} = {text}" for name, text in temporaries]
    return lines, [next(texts) if known(n) is None else str(known(n)) for n in grid]


def _is_float(p: Program, name: str) -> bool:
    x = p.arguments.get(name)
    return isinstance(x, Scalar) and x.dtype.kind == "f"
