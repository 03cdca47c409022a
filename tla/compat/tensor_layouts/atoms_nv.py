"""NVIDIA's instructions by the names of tensor-layouts: each is made when it is asked for.

>>> from tla.compat.tensor_layouts.atoms_nv import SM80_16x8x16_F32F16F16F32_TN
>>> SM80_16x8x16_F32F16F16F32_TN.a_layout
Layout(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))

Source: tensor-layouts 0.3.2, atoms_nv.py; CUTLASS.
"""

from __future__ import annotations

import re

from .atoms import Atom, MMAAtom, named
from .layouts import Layout

#: The types of CUTLASS of those in names.
TYPES = {"F32": "float", "F16": "half_t", "E4M3": "float_e4m3_t", "E5M2": "float_e5m2_t"}

#: The names of CUTLASS for names that have nothing of these.
OTHERS = {
    "SM80_CP_ASYNC_CACHEALWAYS_16B": "SM80_CP_ASYNC_CACHEALWAYS<uint128_t>",
    "SM80_CP_ASYNC_CACHEGLOBAL_16B": "SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>",
    "SM61_1x1x4_S32S8S8S32": "SM61_DP4A",
    "SM61_1x1x2_S32S16S16S32": "SM61_DP2A",
}


def __getattr__(name: str) -> Atom:
    umma = re.fullmatch(r"SM100_(\d+)x(\d+)x(\d+)_\w+_SS", name)
    if umma:
        m, n, k = map(int, umma.groups())
        operands = (umma_layout(m, k), umma_layout(n, k), umma_layout(m, n))
        return MMAAtom(name, "tcgen05.mma", (m, n, k), Layout(1), *operands)
    if not name.startswith("SM"):
        raise AttributeError(f"no instruction {name}")
    return named(name, _texts(name))


def _texts(name: str) -> tuple[str, ...]:
    """The names that CUTLASS may have for it."""
    eight_bits = re.fullmatch(r"SM120_(\w+)_(F\d\d)(E\dM\d)(E\dM\d)\2_TN", name)
    if eight_bits:
        shape, c, a, b = eight_bits.groups()
        return (f"SM120_{shape}_TN<{TYPES[a]},{TYPES[b]},{TYPES[c]}>",)
    if name.startswith("SM90_") and name.endswith("_SPARSE"):
        sparse = f"SM90::GMMA::SPARSE::GMMA_{name[5:-7]}"
        return sparse, f"{sparse}_TN"
    return OTHERS.get(name, name), f"{name}_TN"


def gmma_c_layout(n: int) -> Layout:
    """The places of a warp group's values in the 64 x n of a wgmma.

    >>> gmma_c_layout(16)
    Layout(((4, 8, 4), (2, 2, 2)), ((128, 1, 16), (64, 8, 512)))
    """
    return _matrix(f"SM90_64x{n}x16_F32F16F16_SS").c_layout


def gmma_ab_layout(m: int, k: int) -> Layout:
    """The places of an operand in shared memory, which all threads of a warp group see."""
    return Layout((128, (m, k)), (0, (1, m)))


def umma_layout(rows: int, cols: int) -> Layout:
    """The places of an operand or result of tcgen05.mma, which one thread asks for."""
    return Layout((1, (rows, cols)), (0, (1, rows)))


def _matrix(name: str) -> MMAAtom:
    found = __getattr__(name)
    assert isinstance(found, MMAAtom)
    return found
