"""The plan of a conversion as text: a CUDA device function, and a function of Triton's Gluon."""

from __future__ import annotations

import keyword
import operator
from collections.abc import Iterator, Sequence

from ..core.errors import LeafTypeError, RangeError, TlaError
from ..core.int_tuple import shown
from ..linear import LinearLayout, bits, linear
from .places import Placed, offsets, owned
from .steps import Load, Move, Shuffle, Spread, Step, Store

#: __shfl_sync is among so many lanes.
MAX_LANES = 32


def cuda_function(name: str, steps: Sequence[Step], src: LinearLayout, dst: LinearLayout) -> str:
    """A device function of these steps, from the registers of a thread in `src` to those in `dst`."""
    require_name("cuda", name)
    lanes = src.get_in_dim_size("lane")
    if lanes > MAX_LANES:
        raise RangeError(f"cuda of warps of {lanes} lanes", f"{MAX_LANES} at most", "use plan.steps, or plan.gluon()")
    body = [line for step in steps for line in _step(step, lanes, src, dst)]
    smem = ", T* smem" if any(isinstance(step, Store) for step in steps) else ""
    lane = [f"const unsigned lane = threadIdx.x & {lanes - 1};"] if any("lane" in line for line in body) else []
    head = ["template <class T>", f"__device__ void {name}(const T* src, T* dst{smem}) {{"]
    return "\n".join([*head, *(f"  {x}" for x in (*lane, *body)), "}"])


def require_name(where: str, name: str) -> None:
    if not (name.isascii() and name.isidentifier() and not keyword.iskeyword(name)):
        raise LeafTypeError(f"{where}: the name {name!r:.40}", "a name of a function", "write letters, digits and underscores")


def _step(step: Step, lanes: int, src: LinearLayout, dst: LinearLayout) -> Iterator[str]:
    if isinstance(step, Move):
        yield " ".join(f"dst[{r}] = src[{s}];" for r, s in enumerate(step.table))
    elif isinstance(step, Spread):
        yield " ".join(f"dst[{r}] = dst[{s}];" for r, s in enumerate(step.table) if r != s)
    elif isinstance(step, Shuffle):
        yield from _round(step, lanes, src.get_in_dim_size("register"), dst.get_in_dim_size("register"))
    elif isinstance(step, Store):
        yield from _at("src", offsets(owned(src, lanes), step.layout), lanes)
    elif isinstance(step, Load):
        yield "__syncthreads();"
        yield from _at("dst", offsets(owned(dst, lanes), step.layout), lanes)


def _round(step: Shuffle, lanes: int, sources: int, targets: int) -> Iterator[str]:
    """One round: registers are chosen by compares, so that none is addressed; a word is copied as bytes."""
    yield "{"
    tables, (send, source, into) = _chosen(step)
    yield from (f"  {line}" for line in tables)
    yield f"  T part[{len(step.sends)}] = {{{', '.join(f'src[{(step.send[0] if send is None else 0) ^ a}]' for a in step.sends)}}};"
    if send is not None:
        yield "  #pragma unroll"
        taken = " ".join(f"part[{s}] = src[r ^ {a}];" if a else f"part[{s}] = src[r];" for s, a in enumerate(step.sends))
        yield f"  for (int r = 1; r < {sources}; ++r) if ({send} == r) {{ {taken} }}"
    if step.crosses:
        yield "  unsigned word[(sizeof part + 3) / 4] = {};"
        yield "  memcpy(word, part, sizeof part);"
        yield "  #pragma unroll"
        yield f"  for (unsigned& w : word) w = __shfl_sync(0xffffffffu, w, {source}, {lanes});"
        yield "  memcpy(part, word, sizeof part);"
    if into is None:
        yield "  " + " ".join(f"dst[{step.into[0] ^ b}] = part[{s}];" for s, b in enumerate(step.keeps))
    else:
        yield "  #pragma unroll"
        kept = " ".join(f"dst[r ^ {b}] = part[{s}];" if b else f"dst[r] = part[{s}];" for s, b in enumerate(step.keeps))
        yield f"  for (int r = 0; r < {targets}; ++r) if ({into} == r) {{ {kept} }}"
    yield "}"


def _chosen(step: Shuffle) -> tuple[list[str], tuple[str | None, str, str | None]]:
    """Tables by lane, and what is read of them: None where one register is that of all lanes."""
    tables = {name: table for name, table in (("send", step.send), ("into", step.into)) if len({*table}) > 1}
    source = "source[lane]"
    changes = {k ^ n for k, n in enumerate(step.source)}
    if len(changes) == 1:
        source = f"lane ^ {changes.pop()}"
    elif step.crosses:
        tables["source"] = step.source
    lines = [f"static constexpr short {name}[{len(table)}] = {{{', '.join(map(str, table))}}};" for name, table in tables.items()]
    send, into = (f"{name}[lane]" if name in tables else None for name in ("send", "into"))
    return lines, (send, source, into)


def _at(name: str, at: Placed, lanes: int) -> Iterator[str]:
    """All registers of `src` stored, or of `dst` loaded, at offsets [warp, lane, register]."""
    sign = _joined(at)
    if sign is None:
        raise RangeError("cuda of a layout of memory that neither xors nor adds", "a swizzle, or padding", "use plan.steps and a table")
    parts = [f"(lane >> {k} & 1) * {at.at(0, 1 << k, 0)}" for k in range(bits.log2(at.lanes))]
    parts += [f"(threadIdx.x >> {bits.log2(lanes) + k} & 1) * {at.at(1 << k, 0, 0)}" for k in range(bits.log2(at.warps))]
    yield f"const unsigned {name}_at = {f' {sign} '.join(parts) or '0'};"
    for r in range(at.registers):
        place = f"smem[{name}_at {sign} {at.at(0, 0, r)}]"
        yield f"{place} = src[{r}];" if name == "src" else f"dst[{r}] = {place};"


def _joined(at: Placed) -> str | None:
    """The way that offsets of warp, lane and register go together, bit by bit of each: by xor, by a sum, or by neither."""
    warps, lanes = [at.at(w, 0, 0) for w in range(at.warps)], [at.at(0, k, 0) for k in range(at.lanes)]
    registers = at.of[: at.registers]
    for sign, join in (("^", operator.xor), ("+", operator.add)):
        joined = [join(join(w, k), r) for w in warps for k in lanes for r in registers]
        if joined == at.of and _by_bit(warps, sign) and _by_bit(lanes, sign):
            return sign
    return None


def _by_bit(table: Sequence[int], sign: str) -> bool:
    images = [table[1 << k] for k in range(bits.log2(len(table)))]
    if sign == "^":
        return all(n == bits.apply(images, k) for k, n in enumerate(table))
    return all(n == sum(images[b] for b in bits.ones(k)) for k, n in enumerate(table))


def gluon_function(name: str, steps: Sequence[Step], dst: LinearLayout) -> str:
    """A function of Gluon that gives a tensor in the layout `dst`."""
    require_name("gluon", name)
    names = dst.get_out_dim_names()
    order = sorted(range(len(names)), key=lambda k: (len(names[k]), names[k]))  # dim0, dim1, ...: Gluon's dimensions have no names
    owners = [_vectors(dst.bases[d], order) for d in ("register", "lane", "warp")]
    layout = ", ".join(map(str, [*owners, [], [dst.out_dims[names[k]] for k in order]]))
    lines = ["@gluon.jit", f"def {name}(x):", f"    layout: gl.constexpr = gl.DistributedLinearLayout({layout})"]
    stored = next((step.layout for step in steps if isinstance(step, Store)), None)
    if stored is None:
        return "\n".join([*lines, "    return gl.convert_layout(x, layout)"])
    try:
        bases = linear(stored).invert().bases["offset"]
    except TlaError as not_linear:
        raise RangeError(f"gluon of the memory layout {shown(stored)}", "swizzles, without padding", "use plan.cuda()") from not_linear
    lines += [f"    memory: gl.constexpr = gl.SharedLinearLayout({_vectors(bases, order)})"]
    lines += ["    smem = gl.allocate_shared_memory(x.dtype, x.shape, memory, x)", "    return smem.load(layout)"]
    return "\n".join(lines)


def _vectors(bases: Sequence[Sequence[int]], order: Sequence[int]) -> list[list[int]]:
    return [[v[k] for k in order] for v in bases]
