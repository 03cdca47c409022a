"""The arithmetic of matrix instructions on numpy: D = A * B + C of whole matrices, by `atom.arithmetic` and the types.

Integers are exact, and then wrap or stop at the ends of the accumulator's type, as the instruction does. Floats are
rounded to the type of D once for each instruction; how the hardware rounds inside of one is not specified.

Source: the PTX manual, "mma", ".satfinite", ".xor.popc", "tcgen05.mma"; the ISA manuals of AMD and Intel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.arrays import INT64_MAX
from ...core.errors import LeafTypeError, RangeError
from ...core.values import rounded
from ..instructions.atom import MMAAtom
from ..tiled.fragments import numpy_type

if TYPE_CHECKING:
    import numpy.typing as npt

#: Sums of integers below this are exact in float64, whose products numpy hands to BLAS.
_EXACT = 1 << 53


def multiplied(atom: MMAAtom, left: npt.NDArray[Any], right: npt.NDArray[Any], total: Any, dtype: Any) -> Any:
    """D of one instruction, or of many side by side.

    left    (..., row, k), a sparse A whole, scale factors multiplied in;  right  (..., column, k)
    total   C: (..., row, column);  dtype  of D
    Raises  RangeError for sums of integers that a D wider than the atom's accumulators does not hold
    """
    import numpy as np

    if dtype.kind in "iu":
        return _integers(atom, left, right, total, dtype)
    wide = _wide(atom, dtype)
    left, right = _parts(atom, left, right)
    how = atom.arithmetic
    left, right = _signed(left, how.negate_A, wide), _signed(right, how.negate_B, wide)
    product = np.matmul(left, right.swapaxes(-1, -2))
    return rounded(rounded(total, wide) / 2**how.shift_C + product, dtype)


def require_accumulator(atom: MMAAtom, dtype: object) -> None:
    """LeafTypeError for accumulators of another type than those of an atom whose sums stop at their ends."""
    own = numpy_type(atom.val_D)
    if atom.arithmetic.saturate and str(dtype) != own:
        expected = f"{own}, at whose ends its sums stop"
        raise LeafTypeError(f"gemm by {atom.name}: D of {dtype}", expected, f"convert it to {own}")


def _wide(atom: MMAAtom, dtype: Any) -> Any:
    """The type that an instruction's sums are computed in: scale factors and narrow floats have products past
    their own types."""
    import numpy as np

    if dtype.kind == "c":
        return np.result_type(dtype, np.complex64)
    least = np.float64 if atom.val_SF is not None else np.float32
    return np.result_type(dtype, least) if dtype.kind == "f" else np.dtype(least)  # not so of bfloat16, whose kind is V


def _signed(x: Any, negated: bool, wide: Any) -> Any:
    return -rounded(x, wide) if negated else rounded(x, wide)


def _parts(atom: MMAAtom, left: Any, right: Any) -> tuple[Any, Any]:
    """Split complex numbers that are multiplied by parts: twice as many neighbours along K."""
    import numpy as np

    if atom.arithmetic.combine != "parts":
        return left, right
    return np.concatenate([left.real, left.imag], -1), np.concatenate([right.real, right.imag], -1)


def _integers(
    atom: MMAAtom, left: npt.NDArray[Any], right: npt.NDArray[Any], total: npt.NDArray[Any], dtype: Any
) -> Any:
    """D of integers: the exact sum, clamped or wrapped; refused where D is wider than the atom's and overflows."""
    import numpy as np

    bound = _largest(left) * _largest(right) * left.shape[-1] * 2 + _largest(total)
    exact = np.float64 if bound < _EXACT else np.int64 if bound <= INT64_MAX else object
    a, b = rounded(left, exact), rounded(right, exact).swapaxes(-1, -2)
    found = np.matmul(a, b)
    if atom.arithmetic.combine == "xor":  # of bits, a xor b is a + b - 2 * a * b
        found = a.sum(-1, keepdims=True) + b.sum(-2, keepdims=True) - 2 * found
    found = rounded(total, exact) + found
    ends = np.iinfo(dtype)
    if atom.arithmetic.saturate:
        return rounded(np.clip(found, ends.min, ends.max), dtype)
    if str(dtype) == numpy_type(atom.val_D):
        low, count = int(ends.min), int(ends.max) - int(ends.min) + 1
        return rounded((found - low) % count + low, dtype)
    if found.size and not ends.min <= found.min() <= found.max() <= ends.max:
        what = f"gemm by {atom.name}: sums from {int(found.min())} to {int(found.max())} in {dtype}"
        fix = "use smaller numbers, or accumulators of the atom's own type, which wrap"
        raise RangeError(what, f"{ends.min} to {ends.max}", fix)
    return rounded(found, dtype)


def _largest(x: npt.NDArray[Any]) -> int:
    return max(abs(int(x.min())), abs(int(x.max()))) if x.size else 0
