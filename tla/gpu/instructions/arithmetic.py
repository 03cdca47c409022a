"""The arithmetic of a matrix instruction, where its name says more than D = A * B + C.

One table, PARTS, has the parts of names that say so: the atoms are made by it, `gemm` computes by it, and the PTX text
comes from it.

Source: the PTX manual, "mma", ".satfinite", ".xor.popc", "wgmma.mma_async", imm-scale-a, "tcgen05.mma", scale-input-d.
"""

from __future__ import annotations

import enum
from typing import NamedTuple


class ScaleIn(enum.Enum):
    """The sign of an operand of wgmma or tcgen05.mma: One leaves it, Neg negates it. Source: CuTe `UMMA::ScaleIn`,
    `GMMA::ScaleIn`.

    >>> from tla.gpu import K, SM90_64x64x16_F32F16F16_SS, ScaleIn
    >>> SM90_64x64x16_F32F16F16_SS[K, K, ScaleIn.Neg, ScaleIn.One].arithmetic.negate_A
    True
    """

    One = "ScaleIn::One"
    Neg = "ScaleIn::Neg"

    def __repr__(self) -> str:
        return f"ScaleIn.{self.name}"

    def __str__(self) -> str:
        return self.value


class Arithmetic(NamedTuple):
    """The arithmetic of an instruction: D = combine(A, B) summed along K, + C / 2**shift_C, clamped or wrapped.

    combine             "mul"; of bits "and" or "xor": the ones of the result are counted; "parts": the product of the
                        real parts and the product of the imaginary parts, added up
    saturate            whether sums of integers stop at the ends of the accumulator's type, where others wrap
    negate_A, negate_B  whether A or B is negated
    shift_C             the power of two that C is divided by

    >>> from tla.gpu import SM80_16x8x256_S32U1U1S32_TN_XORPOPC, SM80_16x8x32_S32S8S8S32_TN_SATURATE
    >>> SM80_16x8x256_S32U1U1S32_TN_XORPOPC.arithmetic.combine, SM80_16x8x32_S32S8S8S32_TN_SATURATE.arithmetic.saturate
    ('xor', True)
    """

    combine: str = "mul"
    saturate: bool = False
    negate_A: bool = False
    negate_B: bool = False
    shift_C: int = 0


PLAIN = Arithmetic()
#: A part of CUTLASS's name of an instruction: its arithmetic, and what PTX writes.
PARTS: dict[str, tuple[Arithmetic, str]] = {
    "": (PLAIN, ""),
    "SATURATE": (Arithmetic(saturate=True), ".satfinite"),
    "XORPOPC": (Arithmetic(combine="xor"), ".xor.popc"),
    "ANDPOPC": (Arithmetic(combine="and"), ".and.popc"),
}
