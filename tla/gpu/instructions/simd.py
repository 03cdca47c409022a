"""Vector registers of a CPU: a fused multiply-add of a whole register, by one value of A that is broadcast.

A value is an element of a register. Elements of B and C lie along N; a product whose C is contiguous along M is the
transposed one's.

Source: Intel's Software Developer's Manual, volume 2, VFMADD231PS, VFMADD231PD; Arm's Architecture Reference Manual,
FMLA by element.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...core.element import Element, double, float
from .atom import MMAAtom, shape_of, tv
from .entries import Entry

#: An architecture, the bits of its registers, and its mnemonics by the type of an element.
ROWS: list[tuple[str, int, dict[Element, str]]] = [
    ("neon", 128, {float: "FMLA_4S", double: "FMLA_2D"}),
    ("avx2", 256, {float: "VFMADD231PS", double: "VFMADD231PD"}),
    ("avx512", 512, {float: "VFMADD231PS", double: "VFMADD231PD"}),
]


def _vector(name: str, arch: str, bits: int, t: Element) -> MMAAtom:
    """D (1,N) = A (1,1) * B (N,1) + C, of one register of N elements."""
    n = bits // t.bits
    one, row = tv((1, 1), (0, 0)), tv((1, n), (0, 1))
    tile, thread, text = shape_of(1, n, 1), tv(1, 0), name.lower()
    return MMAAtom(name, arch, t, t, t, t, tile, thread, one, row, row, text, register_bits=bits, wave=1)


def entries() -> Iterator[Entry]:
    """Every multiply-add of a register by its mnemonic."""
    return (
        Entry(name, arch, partial(_vector, arch=arch, bits=bits, t=t))
        for arch, bits, rows in ROWS
        for t, name in rows.items()
    )
