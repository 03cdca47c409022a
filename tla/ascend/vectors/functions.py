"""Functions of vector instructions that numpy has not, each of arrays in the instruction's own type: every step is rounded
to it, in the order that AscendC's page writes it in.

Source: CANN asc-devkit, docs/zh/api/SIMD-API, the pages `LeakyRelu`, `AddRelu`, `SubRelu`, `Axpy`, `MulAddDst`,
`FusedMulAdd`, `Rsqrt`, `Prelu`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def _leaky(x: Any, slope: Any) -> Any:
    import numpy as np

    return np.where(x >= 0, x, x * slope)


def _cut_off(x: Any) -> Any:
    import numpy as np

    return np.maximum(x, x.dtype.type(0))


def _one_by_root(x: Any) -> Any:
    import numpy as np

    return x.dtype.type(1) / np.sqrt(x)


#: Name -> the function. Of an instruction that reads dst that is the last array; where there is a scalar, that is.
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "rsqrt": _one_by_root,
    "leaky": _leaky,
    "add_relu": lambda x, y: _cut_off(x + y),
    "subtract_relu": lambda x, y: _cut_off(x - y),
    "axpy": lambda x, dst, a: x * a + dst,
    "multiply_add": lambda x, y, dst: x * y + dst,
    "fused_multiply_add": lambda x, y, dst: x * dst + y,
}
