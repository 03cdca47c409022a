"""Matrix products of CuTe's DSL: their sizes, where their operands lie, and whether wgmma and tcgen05 read them there.

Source: CuTe DSL 4.8, the IR that CUTE_DSL_KEEP_IR=1 writes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from ..algebra.modes import take
from ..core.cache import compiled
from ..core.composed import ComposedLayout
from ..core.errors import RangeError, Reason, TlaError
from ..core.int_tuple import modes_of, size
from ..gpu.descriptors.matrix_descriptor import umma_descriptor, wgmma_descriptor
from ..notation.text import parse
from .cute_types import Tensor, origin, tensor_of
from .program import Op, Program

_ATOM = r"!cute\.tiled_mma<!cute_nvgpu\.(\w+)\.\w+<([0-9]{1,4})x([0-9]{1,4})x([0-9]{1,4})\b(.*)$"
_REPEATED = r'\batom_layout_MNK = <"\(([0-9]{1,4}),([0-9]{1,4}),([0-9]{1,4})\)'
_MAJORS = r"\bab_major = \((k|mn), (k|mn)\)"
_LAYOUT = r'<!cute_nvgpu\.smem_desc, "([^"]*)"'
_FRAGMENT = "cute.mma.make_fragment"
_DESCRIPTORS = {"sm90": wgmma_descriptor, "sm100": umma_descriptor, "sm103": umma_descriptor}
_NAMES = {"sm90": "wgmma", "sm100": "tcgen05.mma", "sm103": "tcgen05.mma"}


class Product(NamedTuple):
    """A cute.gemm.

    shape         m, n, k of all threads
    operands      where a and b come from
    instructions  of a warp, a group of warps, or a block
    """

    shape: tuple[int, int, int]
    operands: tuple[str, str]
    instructions: int


class _Mma(NamedTuple):
    """The instruction of a tiled MMA: its architecture, m, n, k, how often threads repeat it, and the majors of
    a and b."""

    arch: str
    shape: tuple[int, ...]
    repeated: tuple[int, ...]
    majors: tuple[str, ...]


def _mma(text: str) -> _Mma:
    """The instruction of a type.

    Raises     RangeError for another type
    """
    atom, repeated = compiled(_ATOM).match(text), compiled(_REPEATED).search(text)
    if not atom or not repeated:
        raise RangeError(f"the type {text:.60}", "a cute.tiled_mma", "look at another operation")
    majors = compiled(_MAJORS).search(atom[5])
    shape, counts = (tuple(map(int, numbers)) for numbers in (atom.groups()[1:4], repeated.groups()))
    return _Mma(atom[1], shape, counts, majors.groups() if majors else ())


def product(program: Program, op: Op) -> Product | None:
    """The product of a cute.gemm: of a tiled MMA, d, a, b and c; None where its types do not say it."""
    types = [program.named(text) for text in op.operand_types]
    if len(types) < 4 or len(op.operands) < 4:
        return None
    try:
        mma = _mma(types[0])
        (m, k), (n, _) = (_rest(text) for text in types[2:4])
        operands = (_lies(program, op.operands[2], types[2]), _lies(program, op.operands[3], types[3]))
    except TlaError:  # a type that is not known
        return None
    whole = [extent * threads * rest for extent, threads, rest in zip(mma.shape, mma.repeated, (m, n, k))]
    return Product((whole[0], whole[1], whole[2]), operands, m * n * k)


def _rest(text: str) -> tuple[int, int]:
    """Count the instructions that an operand is for along m or n, and along k: its modes behind the first."""
    found = compiled(_LAYOUT).search(text)
    layout: Any = parse(found[1]) if found else tensor_of(text).layout
    extents = [int(size(mode)) for mode in modes_of(layout.shape)[1:]]
    return (extents[0] if extents else 1), math.prod(extents[1:2])


def _lies(program: Program, name: str, text: str) -> str:
    """The memory that an operand lies in, and how."""
    if not compiled(_LAYOUT).search(text):
        space = tensor_of(text).space
        return {"rmem": "registers", "tmem": "tensor memory"}.get(space, "shared memory")
    fragment = origin(program, name, (_FRAGMENT,))
    tensor = tensor_of(program.named(fragment.operand_types[1])) if fragment else None
    bits = tensor.layout.outer.bits if tensor and isinstance(tensor.layout, ComposedLayout) else 0
    if tensor is None:
        return "shared memory"
    return f"shared memory, {16 << bits}-byte swizzle" if bits else "shared memory, no swizzle"


def refused_operands(program: Program) -> Iterator[tuple[Op, Reason]]:
    """The operands in shared memory that wgmma and tcgen05.mma do not read, each with why."""
    for op in program.ops:
        side = op.body.partition("(")[0].strip()
        if op.name != _FRAGMENT or side not in ("A", "B") or len(op.operand_types) < 2:
            continue
        try:
            mma, tensor = _mma(program.named(op.operand_types[0])), tensor_of(program.named(op.operand_types[1]))
        except TlaError:  # a type that is not known
            continue
        if not (mma.arch in _DESCRIPTORS and mma.majors) or "sparse" in op.operand_types[0]:
            continue
        if tensor.space != "smem" or tensor.width < 8:
            continue
        try:
            _DESCRIPTORS[mma.arch](_first(tensor), mma.majors["AB".index(side)].upper(), tensor.element)
        except TlaError as error:
            why = error.reason.what.partition(": ")[2] or error.reason.what
            what = f"operand {side.lower()} is none that {_NAMES[mma.arch]} reads: {why}"
            yield op, error.reason._replace(what=what)


def _first(tensor: Tensor) -> Any:
    """The part of an operand that one instruction reads."""
    if not isinstance(tensor.layout, ComposedLayout):
        return take[0, 1](tensor.layout)[0]
    return ComposedLayout(tensor.layout.outer, tensor.layout.offset, take[0, 1](tensor.layout.inner)[0])
