"""Copies of CuTe's DSL by the TMA: the bytes of each, and whether the driver takes the tensor map that
the program makes.

Source: CuTe DSL 4.8, the IR that CUTE_DSL_KEEP_IR=1 writes; the driver's cuTensorMapEncodeTiled.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.cache import compiled
from ..core.each_leaf import static
from ..core.errors import RangeError, Reason, TlaError, Unproven
from ..core.int_tuple import modes_of, size
from ..gpu.descriptors.tensor_map import TensorMap
from ..gpu.descriptors.tma import shared_of
from ..gpu.descriptors.tma_basis import map_of, tma_basis
from ..notation.text import parse
from ..symbolic import assuming
from .cute_types import shared_layout_of, tensor_of
from .program import Op, Program

_TO_TENSOR_MEMORY = r"!cute_nvgpu\.atom\.s2t_copy<[^,]*, ([0-9]{1,3}) DP, ([0-9]{1,3}) bit\b"
_DESCRIPTORS = r'!cute_nvgpu\.smem_desc_view<!cute_nvgpu\.smem_desc, "([^"]*)"'
_TENSOR_MEMORY = r"!cute_nvgpu\.atom\.tmem_(load|store)<[^,]*, ([0-9]{1,3}) DP, ([0-9]{1,3}) bit, x([0-9]{1,3})\b"
_ATOM = r"!cute_nvgpu\.atom\.tma_[a-z_]+<.*?\bcopy_bits = ([0-9]{1,9})\b"
_MAKES = r"cute_nvgpu\.atom\.make_non_exec_tiled_tma_(?:load|store|reduce)"
_MULTICAST = r"\bnum_multicast = ([0-9]{1,2})\b"
_TILE = r'!cute\.layout<"([^"]*)">'


class Bulk(NamedTuple):
    """Instructions that copy a whole tile, and the bytes of it: by the TMA, of a block; from and to tensor
    memory, of all warps."""

    name: str
    instructions: int
    bytes: int


def bulk(program: Program, op: Op) -> Bulk | None:
    """The instructions of a cute.copy by the TMA, or from and to tensor memory; None of another copy."""
    atom, *sides = [program.named(text) for text in op.operand_types[:3]] or [""]
    if found := compiled(_ATOM).match(atom):
        total = _bits(sides, "smem")
        return Bulk("cp.async.bulk", max(1, total // int(found[1])), total // 8)
    if found := compiled(_TENSOR_MEMORY).search(atom):
        total, name = _bits(sides, "tmem"), "tcgen05.ld" if found[1] == "load" else "tcgen05.st"
        return Bulk(
            name, max(1, total // math.prod(map(int, found.groups()[1:]))), total // 8 * program.warps
        )  # each warp has a part
    if (found := compiled(_TO_TENSOR_MEMORY).search(atom)) and (tiles := compiled(_DESCRIPTORS).match(sides[0])):
        count = math.prod(int(size(mode)) for mode in modes_of(parse(tiles[1]).shape)[1:])
        return Bulk("tcgen05.cp", count, count * int(found[1]) * int(found[2]) // 8)
    return None


def _bits(types: Sequence[str], space: str) -> int:
    """The bits of the tensor in a memory.

    Raises     RangeError where there is none
    """
    for tensor in (tensor_of(text) for text in types if text.startswith("!cute.memref")):
        if tensor.space == space:
            return int(size(tensor.layout)) * tensor.width
    raise RangeError("a copy of a tile without its tensor", f"one in {space}", "look at another operation")


def tensor_map(program: Program, op: Op) -> TensorMap:
    """The tensor map of an operation that makes one, by the tensor, the shared memory and the tile that its types say.

    What is not known of the tensor's sizes is taken to be as the driver wants it.

    Raises     what make_tma_copy does where the TMA takes no such map
    """
    given = [program.named(text) for text in op.operand_types[:3]]
    tensor, tile = tensor_of(given[0]), compiled(_TILE).match(given[2])
    if not tile:
        raise RangeError(f"the type {given[2]:.60}", "a cute.layout, the tile", "look at another operation")
    shared = shared_of("the tensor map", shared_layout_of(given[1], tensor.element), tensor.element)
    said, gmem = compiled(_MULTICAST).search(op.body), tensor.layout
    with assuming():
        basis = tma_basis(gmem, shared.inner, static(parse(tile[1])))  # type: ignore[arg-type]
        return map_of(gmem, basis, shared.mode, tensor.element, int(said[1]) if said else 1, "none")  # type: ignore[arg-type]


def refused_maps(program: Program) -> Iterator[tuple[Op, Reason]]:
    """The operations whose tensor map the TMA does not take, each with why. What depends on sizes that are not
    known is passed."""
    for op in program.ops:
        if compiled(_MAKES).fullmatch(op.name):
            try:
                tensor_map(program, op)
            except Unproven:
                continue
            except TlaError as error:
                yield op, error.reason
