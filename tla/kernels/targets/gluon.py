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
from ..program.statements import Barrier, Either, Load, Loop, Product, Program, Reserve, word_of
from ..run.trace import sizes_of
from ..text.source import Parts, Source, shared_bytes
from ..tiles.homes import EACH
from ..tiles.tiles import refused
from .gluon_loads import ORDERS, SIGNALS
from .gluon_statements import Writer
from .gluon_tiles import INDENT, NARROW

_WORDS = {*keyword.kwlist, "range", "float", "min", "max"}
_WORDS |= {"gl", "gluon", "async_copy", "mbarrier", "mma_v2", "mfma", "tma", "libdevice", "begin_copy"}
_HEAD = ["from triton.experimental import gluon", "from triton.experimental.gluon import language as gl"]
_AMPERE, _HOPPER, _BLACKWELL = (
    f"from triton.experimental.gluon.language.nvidia.{x} import" for x in ("ampere", "hopper", "blackwell")
)
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
    "mbarrier.": [f"{_HOPPER} mbarrier"],
    "tma.": [f"{_HOPPER} tma"],
    **{
        x: [f"{_BLACKWELL} {x}"]
        for x in ("tcgen05_mma", "tcgen05_commit", "allocate_tensor_memory", "TensorMemoryLayout")
    },
    "TensorDescriptor": ["from triton.experimental.gluon.nvidia.hopper import TensorDescriptor"],
    "mma_v2": [f"{_AMPERE} mma_v2"],
    "mfma(": ["from triton.experimental.gluon.language.amd.cdna3 import mfma"],
    "block_barrier": ['block_barrier = getattr(gl, "barrier", None) or gl.thread_barrier  # its names, then and now'],
    "libdevice": ["from triton.language.extra import libdevice"],
}


def write(parts: Parts) -> Source:
    """The text of a program as Gluon. Raises LeafTypeError for what is no statement of tiles. Source: ours."""
    p = parts.program
    _require(p, parts.order)
    writer = Writer(p)
    writer.body(p.body)
    if writer.bits > NARROW:  # then all integers are wide, but stages, phases and coordinates of maps
        writer = Writer(p, bits=writer.bits)
        writer.body(p.body)
    lines = [*writer.prologue(), *writer.lines]
    maps = [f"map{k}" for k in range(len(writer.maps))]
    made_maps = _maps(writer)
    text = "\n".join([*lines, *made_maps])
    modules = [line for word in _MODULES if word in text for line in _MODULES[word]]
    conditions, asked, tests = _required(p, parts.name)
    made, grid = _computed(p.grid)
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
        *(f"{INDENT}{line}" for line in made_maps),
        f"{INDENT}{parts.name}[grid]({', '.join([given, *maps])}, num_warps={p.threads // writer.homes.warp})",
    ]
    head = [*(f"# {line}" for line in comment), *_HEAD, *dict.fromkeys(modules)]
    order = (*parts.order, *maps)
    function = [f"def {parts.name}({', '.join(order)}):", *(f"{INDENT}{line}" for line in lines or ["pass"])]
    launch = definition(f"{parts.name}_launch", parts.order, launched).splitlines()
    out = [*head, "", "", "@gluon.jit", *function, "", "", *tests, *launch]
    found = tuple((name, x.argument, x.made) for name, x in zip(maps, writer.maps))
    return Source("\n".join(out) + "\n", order, p.grid, p.threads, shared_bytes(p), conditions, found)


def _require(p: Program, order: Sequence[str]) -> None:
    """Refuse names that are Python's, or the text's own, and statements that Gluon has not."""
    for name in order:
        if name in _WORDS:
            raise RangeError(f"a parameter named {name}", "another name: Gluon's text has this word", "rename it")
        x = p.arguments.get(name)
        if isinstance(x, Scalar) and str(x.dtype) not in ("float16", "float32", "int32"):
            what = f"the scalar {name} of {x.dtype}"
            raise RangeError(what, "float16, float32 or int32: Triton passes no other", "give it as a tensor")
    if p.cluster:
        what = f"a cluster of {' by '.join(map(str, p.cluster))} blocks"
        expected = "blocks by themselves: a cluster is one program of Gluon's, whose tiles are of all its blocks"
        raise refused(next(p.statements()).line, what, expected, "use target 'cuda'")
    for s in p.statements():
        word = word_of(s)
        known_words = (*ORDERS, *SIGNALS, "initialize_barrier")
        if not isinstance(s, (*EACH, Product, Barrier, Load, Loop, Either, Reserve)) and word not in known_words:
            fix = "load tiles by TMA, cp.async or copies, multiply by mma.sync or wgmma; or use target 'cuda'"
            expected = "copies, products of matrices or multiply-adds, functions of elements"
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


def _computed(wanted: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The host's lines before integers, as extents of a grid, and the texts of these."""
    open_ = [n for n in wanted if known(n) is None]
    temporaries, results = statements(plan(tuple(open_), name="grid"), SYNTAX) if open_ else ([], [])
    texts = iter(results)
    lines = [f"{name} = {text}" for name, text in temporaries]
    return lines, [next(texts) if known(n) is None else str(known(n)) for n in wanted]


def _maps(writer: Writer) -> list[str]:
    """The host's lines that make tensor maps."""
    made = []
    for k, of in enumerate(writer.maps):
        sizes, text = writer.descriptor(of)
        before, given = _computed(sizes)
        made += [*before, f"map{k} = {text.format(*given)}"]
    return made


def _is_float(p: Program, name: str) -> bool:
    x = p.arguments.get(name)
    return isinstance(x, Scalar) and x.dtype.kind == "f"
