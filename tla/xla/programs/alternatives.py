"""Other shapes for an array, with the bytes that each takes, and what they would save where a program's
memory is fullest.

Source: XLA ShapeUtil::ArraySize by way of `byte_size`; the tilings are those that the TPU compiler chooses
(`default_layout`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.errors import RangeError, TlaError, require_type
from ..shapes.array_shape import COMBINE, ArrayLayout, ArrayShape
from ..shapes.default import default_layout, orders
from ..shapes.grammar import as_shape
from ..shapes.sizes import byte_size, waste
from ..shapes.values import Shape
from .memory import Buffer, Memory
from .module import header_list

#: Arrays of more dimensions than this are refused.
MAX_RANK = 16

#: A dimension is split so that its inner part has one of these sizes: rows and lanes of tiles.
_INNER = (8, 16, 32, 128, 256)
#: Element types that hold the same kind of values in half of the bits.
_NARROWER = {"f32": "bf16", "f64": "f32", "s32": "s16", "u32": "u16", "s64": "s32", "u64": "u32"}


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another shape for an array.

    kind      "order": the same array, its dimensions in another order in memory; "size": a dimension grown to where its
              padding ends, which costs nothing; "merge" and "split": a reshape, in row-major order; "type": elements of
              half the bits, which changes values. All but "order" change the program
    what      the change in words
    shape     the array as it would be
    bytes     what it takes, padding included
    saved     how many bytes less than now
    waste     how many of its bytes hold no element
    """

    kind: str
    what: str
    shape: ArrayShape
    bytes: int
    saved: int
    waste: int


def alternatives(shape: Shape | str) -> list[Alternative]:
    """Other shapes for a tiled array that take fewer bytes, the most saved first; then sizes that its dimensions could
    have for nothing.

    Tried are every choice of the two minor dimensions, with the compiler's tiles; two neighbours merged; a dimension
    split at a tile's size; a narrower element type. An array without tiles has no padding, and no alternatives.

    >>> for a in alternatives("f32[1000,3]{1,0:T(8,128)}")[:3]:
    ...     print(a.kind, a.shape, a.bytes, a.saved)
    type bf16[1000,3]{0,1:T(4,128)(2,1)} 8192 503808
    merge f32[3000]{0:T(1024)} 12288 499712
    split f32[125,8,3]{0,1,2:T(8,128)} 12288 499712
    >>> [(a.what, a.saved) for a in alternatives("f32[8,100]{1,0:T(8,128)}") if a.kind == "size"]
    [('dimension 1 may have up to 128', 0)]

    Raises RangeError for more than 16 dimensions, and for a first tile that merges dimensions (*).
    Source: `byte_size`; measured tiles.
    """
    shape = as_shape(shape)
    layout = shape.effective_layout
    if len(shape.dimensions) > MAX_RANK or (layout.tiles and COMBINE in layout.tiles[0]):
        is_long = len(shape.dimensions) > MAX_RANK
        fix = f"reshape it to {MAX_RANK} dimensions" if is_long else "take a first tile without *"
        raise RangeError(f"alternatives of {shape}", f"at most {MAX_RANK} dimensions, and tiles without *", fix)
    if not layout.tiles or not all(isinstance(n, int) and n for n in shape.dimensions):
        return []
    now = byte_size(shape)
    found: dict[ArrayShape, Alternative] = {}
    for kind, what, other in (*in_orders(shape), *_reshapes(shape), *_types(shape)):
        size = byte_size(other)
        if size < now and other not in found:
            found[other] = Alternative(kind, what, other, size, now - size, waste(other))
    grown = [Alternative("size", what, other, now, 0, waste(other)) for what, other in _sizes(shape)]
    return sorted(found.values(), key=lambda a: (-a.saved, a.kind, str(a.shape))) + grown


Try = tuple[str, str, ArrayShape]


def _sized(shape: ArrayShape) -> tuple[int, ...]:
    return tuple(n for n in shape.dimensions if isinstance(n, int))


def _in_space(shape: ArrayShape, like: ArrayShape) -> ArrayShape:
    return shape._replace(layout=shape.effective_layout._replace(memory_space=like.effective_layout.memory_space))


def in_orders(shape: ArrayShape) -> Iterator[Try]:
    """The array in each order of its two minor dimensions, in the compiler's tiles."""
    for order, tiles, bits in orders(shape.element_type, _sized(shape)):
        layout = ArrayLayout(order, tiles, element_size_in_bits=bits)
        other = _in_space(ArrayShape(shape.element_type, shape.dimensions, layout, shape.dynamic), shape)
        text = ",".join(map(str, order))
        yield "order", f"dimensions in the order {{{text}}} in memory, minor to major", other


def _reshapes(shape: ArrayShape) -> Iterator[Try]:
    dims = _sized(shape)
    if any(shape.dynamic):
        return
    for k in range(len(dims) - 1):
        merged = (*dims[:k], dims[k] * dims[k + 1], *dims[k + 2 :])
        other = _in_space(default_layout(shape.element_type, merged), shape)
        yield "merge", f"dimensions {k} and {k + 1} as one", other
    for k, n in enumerate(dims):
        for inner in _INNER:
            if n % inner == 0 and n > inner:
                split = (*dims[:k], n // inner, inner, *dims[k + 1 :])
                other = _in_space(default_layout(shape.element_type, split), shape)
                yield "split", f"dimension {k} as {n // inner} of {inner}", other


def _types(shape: ArrayShape) -> Iterator[Try]:
    if narrow := _NARROWER.get(shape.element_type):
        yield "type", f"elements of {narrow}", _in_space(default_layout(narrow, _sized(shape)), shape)


def _sizes(shape: ArrayShape) -> Iterator[tuple[str, ArrayShape]]:
    """The array with each dimension as large as it can be for the same bytes."""
    dims, layout = _sized(shape), shape.effective_layout
    physical = [*reversed(layout.minor_to_major)]
    tile = [int(t) for t in layout.tiles[0]]  # `alternatives` refuses those that merge dimensions
    for place, t in zip(reversed(physical), reversed(tile)):
        n = dims[place]
        if n % t:
            grown = -(-n // t) * t
            other = shape._replace(dimensions=tuple(grown if k == place else d for k, d in enumerate(dims)))
            yield f"dimension {place} may have up to {grown}", other


@dataclass(frozen=True, slots=True)
class Advice:
    """A change that makes a program's peak smaller.

    shape         the array as it is
    count         how many such buffers are held at the peak
    alternative   what it could be
    saved         bytes that this saves at the peak, all of them together
    names         the buffers
    assumes       what the prediction takes for granted: nothing was compiled. `try_advice` measures
    """

    shape: ArrayShape
    count: int
    alternative: Alternative
    saved: int
    names: tuple[str, ...]
    assumes: str = ""


def advise(memory: Memory, space: int = 0) -> list[Advice]:
    """Changes that make the peak of a memory space smaller: the best of each kind for each shape there, the
    most saved first.

    The peak may then be at another step: saved is what goes at this one. It is predicted: `assumes` says on what. An
    order, and two dimensions as one or one as two, are advised for arguments alone: of what the program computes, the
    operation fixes the layout, and the compiler does not take another. Nor is a narrower type advised where an
    operation fixes it: of integers that are computed, of what the compiler makes itself, of parts of complex numbers and
    of doubles, and of transforms and factors of matrices. Where the program is split over devices, no two dimensions
    are advised as one: each may be split, which the text does not say.

    >>> import io
    >>> from tla.xla import memory
    >>> text = '''HloModule m, is_scheduled=true
    ... ENTRY %main {
    ...   ROOT %a = f32[1000,3]{1,0:T(8,128)} parameter(0)
    ... }'''
    >>> for a in advise(memory(io.StringIO(text)))[:3]:
    ...     print(a.alternative.kind, a.alternative.shape, a.saved, a.names)
    type bf16[1000,3]{0,1:T(4,128)(2,1)} 503808 ('a',)
    merge f32[3000]{0:T(1024)} 499712 ('a',)
    split f32[125,8,3]{0,1,2:T(8,128)} 499712 ('a',)

    Raises RangeError for a memory space that holds nothing. Source: `alternatives`.
    """
    require_type(memory, Memory, "advise of a", "what tla.xla.memory gives", "write advise(memory(path))")
    if space not in memory.peak:
        what = f"advice for S({space})"
        raise RangeError(what, f"one of {', '.join(map(str, memory.peak))}", "take one of memory.peak")
    groups: dict[tuple[ArrayShape, bool], list[str]] = defaultdict(list)
    for b in _changeable(memory, space):
        if b.shape is not None:
            groups[b.shape, b.kind == "argument"].append(b.name)
    apart = header_list(memory.module.header, "num_partitions") not in (None, "1")
    of_given = {"order", "split", "type", *(() if apart else ("merge",))}
    out = []
    for (shape, given), names in groups.items():
        kinds = {*of_given} if given else {"type"}
        for other in other_shapes(shape):
            if other.saved and other.kind in kinds:
                kinds.remove(other.kind)
                saved, assumes = len(names) * other.saved, _GIVEN if given else _COMPUTED
                out.append(Advice(shape, len(names), other, saved, tuple(names), assumes))
    return sorted(out, key=lambda a: (-a.saved, str(a.shape), a.alternative.kind))


def _changeable(memory: Memory, space: int) -> Iterator[Buffer]:
    """The buffers at a peak that may be of another shape: arguments, and what is computed in a type that no operation
    fixes."""
    held = memory.peak[space].buffers
    parted = {b.shape.element_type for b in memory.buffers if b.shape is not None} & _IN_PARTS
    for b, origin in zip(held, memory.module.origins([b.line for b in held])):
        if b.kind == "argument":
            yield b
        elif b.shape is not None and b.shape.element_type in ("f32", "f64") and b.kind != "scratch":
            whole = b.shape.element_type == "f64" or not parted
            own = not origin and b.line.instruction.opcode == "custom-call"
            if whole and not own and not _FIXED.search(origin):
                yield b


#: Types that the compiler keeps as two arrays of float32.
_IN_PARTS = frozenset({"f64", "c64", "c128"})
#: Operations of JAX that take nothing narrower than float32, in the names of operations.
_FIXED = re.compile(
    r"(?<![a-z])(fft|cholesky|eigh?|svd|schur|lu|qr|householder_product|triangular_solve|tridiagonal_solve)(?![a-z])"
)


#: What a prediction assumes of an argument, and of what the program computes.
_GIVEN = "the caller gives it so, and the program does not copy it into another layout"
_COMPUTED = "the operations that write and read it work on the narrower type"


def other_shapes(shape: ArrayShape) -> list[Alternative]:
    """The alternatives of a shape; none where it has none."""
    try:
        return alternatives(shape)
    except TlaError:
        return []
