"""The records of matrix and copy instructions of tensor-layouts, of the instructions that tla knows.

Source: tensor-layouts 0.3.2, atoms.py; CUTLASS and the manuals of the vendors.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...core.cache import plain_memo
from ...core.errors import TlaError
from ...gpu.instructions.atom import CopyAtom as ExactCopy
from ...gpu.instructions.names import atom as exact_atom
from .expressions import Layout, plain


@dataclass(frozen=True)
class MMAAtom:
    """A matrix instruction: its shape, its threads, and the place of each thread's values in A, B and C,
    column by column.

    >>> print(MMAAtom("m16n8k16", "mma.sync", (16, 8, 16), None, Layout(1), Layout(1), Layout(1)))
    MMAAtom('m16n8k16', 16x8x16)
    """

    name: str
    ptx: str
    shape_mnk: tuple[int, int, int]
    thr_id: Layout | None
    a_layout: Layout
    b_layout: Layout
    c_layout: Layout

    def __str__(self) -> str:
        return f"MMAAtom('{self.name}', {'x'.join(map(str, self.shape_mnk))})"


@dataclass(frozen=True)
class CopyAtom:
    """A copy instruction: its threads, and the bits that each moves from and to."""

    name: str
    ptx: str
    thr_id: Layout
    src_layout_bits: Layout
    dst_layout_bits: Layout

    def __str__(self) -> str:
        return f"CopyAtom('{self.name}')"


Atom = MMAAtom | CopyAtom


@plain_memo
def named(name: str, texts: tuple[str, ...], arch: str | None = None) -> Atom:
    """The first instruction that one of these texts names in `tla.gpu.atom`, as a record with the
    name. AttributeError if none does.

    >>> named("MFMA", ("v_mfma_f32_32x32x8f16",)).c_layout
    Layout(((32, 2), (4, 4)), ((32, 4), (1, 8)))
    """
    for text in texts:
        try:
            found = exact_atom(text, arch)
        except TlaError:
            continue
        threads = plain(found.thr_id)
        if isinstance(found, ExactCopy):
            return CopyAtom(name, found.instruction, threads, plain(found.src), plain(found.dst))
        operands = map(plain, (found.A, found.B, found.C))
        return MMAAtom(name, found.instruction, plain(found.shape_mnk), threads, *operands)
    raise AttributeError(f"no instruction {name}: tla.gpu.atom knows no {' and no '.join(texts) or name}")
