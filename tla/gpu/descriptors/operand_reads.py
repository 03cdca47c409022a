"""Operands of matrix instructions, read from shared memory lane by lane: by which load, and what its banks do.

AMD's MFMA and WMMA have no ldmatrix: each lane loads its own values from LDS, by ds_read of up to 128 bits. What goes
together is a row of tla.access.memories.

Source: the thread-value layouts of the atoms; tla.access, whose table of memories says its own.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, NamedTuple

from ...access import Access, access
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import product_each, shown
from ...core.ints import known
from ...tensors.tensor import Tensor
from ..instructions.atom import MMAAtom

#: how an architecture's name begins -> the memory of the table, None where none was measured, and how its
#: loads are called
_LOADS = MappingProxyType(
    {
        "cdna3": ("AMD_LDS_GFX942_READ", "ds_read_{}"),
        "cdna4": ("AMD_LDS_GFX950_READ", "ds_read_{}"),
        "cdna": (None, "ds_read_{}"),
        "rdna3": ("AMD_LDS_GFX11_READ", "ds_load_{}"),
        "rdna4": ("AMD_LDS_GFX12_READ", "ds_load_{}"),
        "sm": ("NVIDIA_SHARED", "ld.shared.{}"),
    }
)
#: What stands for a memory of AMD's that was not measured.
_MEASURED = "AMD_LDS_GFX942_READ"
_WIDTHS = MappingProxyType({8: "u8", 16: "u16", 32: "b32", 64: "b64", 96: "b96", 128: "b128"})
_NVIDIA_WIDTHS = MappingProxyType({8: "u8", 16: "u16", 32: "u32", 64: "v2.u32", 128: "v4.u32"})


class OperandReads(NamedTuple):
    """The loads by which the lanes of an instruction read an operand from shared memory.

    instruction   the load, as wide as each lane's values lie together
    loads         how many a lane needs
    access        wavefronts, conflicts and their witness: an Access

    >>> from tla import parse
    >>> from tla.gpu import atom, operand_reads
    >>> reads = operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", parse("(32,8):(8,1)"))
    >>> reads.instruction, reads.loads, reads.access.degree
    ('ds_read_b64', 1, 2)

    Source: tla.access.
    """

    instruction: str
    loads: int
    access: Access


def operand_reads(
    atom: MMAAtom, operand: str, smem: object, *, memory: object = None, width: int | None = None
) -> OperandReads:
    """The widest plain loads that read an MMA's A or B from a layout of shared memory, and their bank conflicts.

    atom      MMAAtom of AMD (MFMA, WMMA) or of NVIDIA's warps
    operand   "A" or "B"; smem a layout or tensor of one instruction's (M, K) or (N, K), or with its blocks
              (M, K, block)
    memory    a row of tla.access's table, or its name: by default that of CDNA 3 and 4, RDNA 3 and 4, and NVIDIA; of
              CDNA 1 and 2, and of RDNA's waves of 64, none was measured, and it has to be given
    width     of a load [bits]; by default the widest that the values of a lane allow
    Raises    LeafTypeError for other atoms and operands, and where no memory is known; RankError for other shapes;
              RangeError for a width that the layout or the memory does not have

    >>> from tla import parse
    >>> from tla.gpu import atom, operand_reads
    >>> mfma = atom("v_mfma_f32_32x32x8_f16", "cdna3")
    >>> for smem in ("(32,8):(8,1)", "(32,8):(12,1)", "(32,8):(1,32)"):
    ...     reads = operand_reads(mfma, "A", parse(smem))
    ...     print(smem, reads.instruction, reads.loads, reads.access.wavefronts, "of at least", reads.access.least)
    (32,8):(8,1) ds_read_b64 1 8 of at least 4
    (32,8):(12,1) ds_read_b64 1 4 of at least 4
    (32,8):(1,32) ds_read_u16 4 2 of at least 2

    Source: the ISA manuals, "LDS"; tla.access.
    """
    family = next((f for f in _LOADS if isinstance(atom, MMAAtom) and atom.arch.startswith(f)), None)
    if family is None or not isinstance(operand, str) or operand not in ("A", "B"):
        what = f"operand_reads of {shown(operand)} of {shown(atom)}"
        fix = 'write operand_reads(atom("v_mfma_..."), "A", smem)'
        raise LeafTypeError(what, "A or B of an MFMA, a WMMA or a warp's MMA", fix)
    row, name = _LOADS[family]
    if memory is None and (row is None or (atom.arch.startswith("rdna") and atom.wave == 64)):  # of which none is
        what = f"operand_reads of {atom.name}: no memory of {atom.arch} in waves of {atom.wave} is known"
        raise LeafTypeError(what, "a memory", f"give one: memory={row or _MEASURED!r}")
    element, owners = getattr(atom, f"val_{operand}"), atom.operand(operand)
    layout = smem.layout if isinstance(smem, Tensor) else smem
    _require_operand(atom, operand, layout)
    found = access(owners, layout, element, width, memory if memory is not None else row)
    per_lane = int(known(product_each(owners.shape)[1]) or 1) * element.bits
    widths = _NVIDIA_WIDTHS if family == "sm" else _WIDTHS
    if found.vector not in widths:
        what, expected = f"a load of {found.vector} bits by {atom.arch}", f"one of {', '.join(map(str, widths))} bits"
        raise RangeError(what, expected, f"write memory={row or _MEASURED!r}, the instruction's own, without width")
    return OperandReads(name.format(widths[found.vector]), -(-per_lane // found.vector), found)


def _require_operand(atom: MMAAtom, operand: str, layout: Any) -> None:
    """Require that shared memory has the extents of one instruction's operand."""
    m, n, k = map(int, product_each(atom.shape_mnk))
    wanted = (m if operand == "A" else n, k, *((atom.blocks,) if atom.blocks > 1 else ()))
    extents = tuple(map(known, product_each(layout.shape))) if hasattr(layout, "shape") else ()
    if extents != wanted:
        what, fix = f"operand {operand} of {atom.name} in {shown(layout)}", "local_tile(smem, shape, (0, 0))"
        raise RankError(what, f"a layout of {shown(wanted)}", f"take one instruction's tile: {fix}")
