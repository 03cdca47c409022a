"""Products of all threads at once, on numpy: fragments are put together to the atoms' matrices, and taken apart again.

Source: CuTe include/cute/algorithm/gemm.hpp.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import size
from ..tensors.tensor import Tensor, as_tensor
from .atom import MMAAtom
from .tiled_mma import TiledMMA, make_tiled_mma
from .values import extents_of, thread_values, values_of, write


def gemm(mma: Any, *operands: Any) -> None:
    """D = A * B + C by fragments of all threads: `gemm(mma, D, A, B, C)`, or `gemm(mma, A, B, C)` for D the same as C.

    mma   a TiledMMA, or an MMAAtom
    A     (V, M, K) or (V, M): partition_fragment_A, or of an atom that reads shared memory that partition
    B     (V, N, K) or (V, N): B is (N,K), as CuTe has it
    C, D  (V, M, N): the accumulators

    Products are summed in D's type. Raises RankError where the modes do not fit, RangeError for threads that are not all of
    the tiled MMA's.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import SM80_16x8x8_F32F16F16F32_TN, gemm, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN, (2, 1))
    >>> a, b, c = np.ones((32, 16), np.float16), np.ones((8, 16), np.float16), np.zeros((32, 8), np.float32)
    >>> own = mma[np.arange(64)]
    >>> gemm(mma, own.partition_A(MakeTensor(a)), own.partition_B(MakeTensor(b)), own.partition_C(MakeTensor(c)))
    >>> c.min(), c.max()
    (np.float32(16.0), np.float32(16.0))

    Source: CuTe `gemm(MMA_Atom, D, A, B, C)`. `tla.gemm(a, b, c)` multiplies whole tensors, B as (K,N), and overwrites c.
    """
    import numpy as np

    mma = make_tiled_mma(mma) if isinstance(mma, MMAAtom) else mma
    if not isinstance(mma, TiledMMA):
        raise LeafTypeError(f"gemm by a {type(mma).__name__}", "a tiled MMA first", "tla.gemm(a, b, c) takes whole tensors, B as (K,N)")
    if len(operands) not in (3, 4):
        raise RankError(f"gemm of {len(operands)} operands", "D, A, B, C, or A, B, C", "write gemm(mma, C, A, B, C)")
    d, a, b, c = (as_tensor("gemm", x) for x in (operands[-1] if len(operands) == 3 else operands[0], *operands[-3:]))
    if mma.atom.sparsity or mma.atom.val_SF:
        raise LeafTypeError(f"gemm by {mma.atom.name}", "a dense atom without scales", "expand A, and scale A and B, first")
    groups = _groups(mma)
    values = [_matrices(mma, side, _operand(mma, side, x), groups) for side, x in (("A", a), ("B", b), ("C", c))]
    left, right, total = values
    if left.shape[2] != right.shape[2] or (left.shape[1], right.shape[1]) != total.shape[1:3]:
        shapes = ", ".join(str(extents_of(x)) for x in (a, b, c))
        raise RankError(f"gemm of A, B, C of {shapes}", "(V,M,K), (V,N,K), (V,M,N)", "partition the tiles of one product")
    wide = d.dtype if d.dtype.kind == "c" or d.dtype.itemsize > 2 else np.dtype(np.float32) if d.dtype.kind == "f" else d.dtype
    product = np.einsum("gmkxa,gnkya->gmnxy", left.astype(wide), right.astype(wide), optimize=True)
    found = _fragments(mma, (total.astype(wide) + product).astype(d.dtype), groups)
    runs = np.isin(np.arange(found.shape[0]), groups).reshape(-1, *(1,) * (found.ndim - 1))  # lanes of no quad pair do nothing
    write("gemm", d, found if _rank(d) == 3 else found[..., 0], runs if _rank(d) == 3 else runs[..., 0])


def _rank(t: Tensor) -> int:
    return len(extents_of(t))


def _operand(mma: TiledMMA, side: str, t: Tensor) -> Any:
    """The values of an operand with three modes behind the threads; that numpy's type can be the atom's is checked."""
    from .fragments import numpy_type

    element = getattr(mma.atom, f"val_{side}")
    natural = numpy_type(element)
    if t.dtype is not None and element.bits in (8, 16, 32, 64) and natural != "float32" and str(t.dtype) != natural and side != "C":
        raise LeafTypeError(f"gemm by {mma.atom.name}: {side} of {t.dtype}", f"{natural}, for {element}", f"convert it to {natural}")
    values = values_of(t)
    if values.ndim not in (3, 4):
        raise RankError(f"gemm: operand {side} of {extents_of(t)}", "two or three modes, the atom's values first", "take one slice along K")
    return values if values.ndim == 4 else values[..., None]


def _groups(mma: TiledMMA) -> Any:
    """(group of an atom's threads, atom's thread) -> thread."""
    import numpy as np

    layout = mma.thr_layout_vmnk
    lanes = int(size(layout[0]))
    v, rest = np.ogrid[:lanes, : mma.threads // lanes]
    return np.broadcast_to(layout(v + lanes * rest), (lanes, mma.threads // lanes)).T


def _matrices(mma: TiledMMA, side: str, values: Any, groups: Any) -> Any:
    """Fragments as the atoms' matrices: (group, rest 1, rest 2, row, column)."""
    import numpy as np

    layout = getattr(mma.atom, side)
    places = thread_values(layout, groups.shape[1])
    if values.shape[0] != (count := int(groups.max()) + 1):
        what = f"gemm: operand {side} of {values.shape[0]} threads"
        raise RangeError(what, f"threads 0 to {count - 1}, for the {groups.size} of {mma!r}", f"write mma[numpy.arange({count})]")
    if values.shape[1] != places.shape[1]:
        what = f"gemm: operand {side} of {values.shape[1]} values a thread"
        raise RankError(what, f"the {places.shape[1]} of {mma.atom.name} in the first mode", "partition it with this tiled MMA")
    i, j = {"A": (0, 2), "B": (1, 2), "C": (0, 1)}[side]
    m, n = int(mma.atom.shape_mnk[i]), int(mma.atom.shape_mnk[j])
    held = np.moveaxis(values[groups], (1, 2), (-2, -1))
    out = np.zeros((*held.shape[:-2], m * n), values.dtype)
    out[..., places] = held
    return np.swapaxes(out.reshape(*held.shape[:-2], n, m), -1, -2)


def _fragments(mma: TiledMMA, matrices: Any, groups: Any) -> Any:
    """The accumulators' matrices (group, M, N, row, column) as fragments: (thread, value, M, N)."""
    import numpy as np

    places = thread_values(mma.atom.C, groups.shape[1])
    flat = np.swapaxes(matrices, -1, -2).reshape(*matrices.shape[:3], math.prod(matrices.shape[3:]))
    own = np.moveaxis(flat[..., places], (-2, -1), (1, 2))
    out = np.zeros((int(groups.max()) + 1, *own.shape[2:]), matrices.dtype)
    out[groups] = own
    return out
