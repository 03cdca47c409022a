"""AMX of Intel's processors: one core multiplies tiles of 16 rows of 64 bytes.

A value is an element of a tile register, row after row. A's rows are M, along K; C's are M, along N; a row of B has 32
bits of neighbours along K for each N.

Source: Intel's Architecture Instruction Set Extensions reference, chapter 3, TDPBF16PS, TDPFP16PS, TDPBSSD and its kin.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.element import Element, bf16, float, half, int8, int32, uint8
from .atom import MMAAtom, shape_of, tv
from .entries import Entry

#: The types of C, A and B.
ROWS: dict[str, tuple[Element, Element, Element]] = {
    "TDPBF16PS": (float, bf16, bf16),
    "TDPFP16PS": (float, half, half),
    "TDPBSSD": (int32, int8, int8),
    "TDPBSUD": (int32, int8, uint8),
    "TDPBUSD": (int32, uint8, int8),
    "TDPBUUD": (int32, uint8, uint8),
}
N = 16


def _tile(name: str) -> MMAAtom:
    c, a, b = ROWS[name]
    k, packed = 512 // a.bits, 32 // a.bits
    left = tv((1, (k, N)), (0, (N, 1)))
    right = tv((1, (packed, N, N)), (0, (N, 1, packed * N)))
    total = tv((1, (N, N)), (0, (N, 1)))
    return MMAAtom(name, "amx", c, a, b, c, shape_of(N, N, k), tv(1, 0), left, right, total, name.lower(), wave=1)


def entries() -> Iterator[Entry]:
    """Every product of tiles by its mnemonic."""
    return (Entry(name, "amx", _tile) for name in ROWS)
