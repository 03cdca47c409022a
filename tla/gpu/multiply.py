"""Products of all threads at once, on numpy: fragments are put together to the atoms' matrices, and taken apart again.

Source: CuTe include/cute/algorithm/gemm.hpp.
"""

from __future__ import annotations

import math
from typing import Any

from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import size
from ..tensors.make_tensor import as_tensor
from ..tensors.tensor import Tensor, require_data
from .atom import MMAAtom
from .fragments import numpy_type
from .sparse import expanded
from .tiled_mma import MODES, TiledMMA, make_tiled_mma
from .values import extents_of, thread_values, values_of, write


def gemm(mma: Any, *operands: Any) -> None:
    """D = A * B + C by fragments of all threads: `gemm(mma, D, A, B, C)`, or `gemm(mma, A, B, C)` for D the same as C.

    mma   a TiledMMA, or an MMAAtom
    A     (V, M, K), (V, M) or (V): partition_fragment_A, or of an atom that reads shared memory that partition. Of a sparse atom a pair
          of it and the metadata, (A, E); of a block-scaled one (A, SFA) or (A, E, SFA)
    B     (V, N, K), (V, N) or (V): B is (N,K), as CuTe has it; of a block-scaled atom (B, SFB)
    C, D  (V, M, N), or (V): the accumulators

    Products are summed in D's type. Raises RankError where the modes do not fit, RangeError for threads that are not all of
    the tiled MMA's, LeafTypeError for operands that the atom does not take.

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
    d, c = (_numbers(as_tensor("gemm", operands[i])) for i in (-1 if len(operands) == 3 else 0, -1))
    if extents_of(d) != extents_of(c):
        raise RankError(f"gemm to D of {extents_of(d)} from C of {extents_of(c)}", "the same extents", "partition both alike")
    groups = _groups(mma)
    left, right = (_factor(mma, side, operands[i], groups) for side, i in (("A", -3), ("B", -2)))
    total = _matrices(mma, "C", c, groups)
    if left.shape[2] != right.shape[2] or (left.shape[1], right.shape[1]) != total.shape[1:3]:
        rests = ", ".join(str(x.shape[1:3]) for x in (left, right, total))
        raise RankError(f"gemm of A, B, C of {rests} atoms", "(M,K), (N,K), (M,N)", "partition the tiles of one product")
    wide = d.dtype if d.dtype.kind == "c" or d.dtype.itemsize > 2 else np.dtype(np.float32) if d.dtype.kind == "f" else d.dtype
    product = np.einsum("gmkzxa,gnkzya->gmnzxy", left.astype(wide), right.astype(wide), optimize=True)
    found = _fragments(mma, (total.astype(wide) + product).astype(d.dtype), groups)
    runs = np.isin(np.arange(found.shape[0]), groups)  # lanes of no quad pair do nothing
    shape = (found.shape[0], *extents_of(d))
    write("gemm", d, found.reshape(shape), np.broadcast_to(runs.reshape(-1, *(1,) * (len(shape) - 1)), shape))


def _numbers(t: Tensor) -> Tensor:
    """A tensor of numbers in a buffer; LeafTypeError for any other."""
    require_data("gemm", t)
    if t.dtype.kind not in "iufcV":
        raise LeafTypeError(f"gemm of {t!r}", "numbers", "convert it to float32")
    return t


def _factor(mma: TiledMMA, side: str, given: Any, groups: Any) -> Any:
    """The matrices of A or B as they are multiplied: a sparse A is expanded, and scale factors are multiplied in."""
    atom = mma.atom
    names = [side, *(["E"] if atom.sparsity and side == "A" else []), *([f"SF{side}"] if atom.val_SF else [])]
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if len(parts) != len(names):
        text = f"({', '.join(names)})" if len(names) > 1 else side
        what = f"gemm by {atom.name}: {side} of {len(parts)} tensor{'s' * (len(parts) != 1)}"
        raise LeafTypeError(what, text, f"write gemm(mma, D, ..., C) with {text} for {side}")
    found = {name: _matrices(mma, name, _numbers(as_tensor("gemm", x)), groups) for name, x in zip(names, parts)}
    whole = expanded(atom, found["A"], found["E"]) if "E" in found else found[side]
    for name, x in found.items():
        if x.shape != found[side].shape:
            raise RankError(
                f"gemm: {name} of {x.shape[1:3]} atoms for {side} of {found[side].shape[1:3]}", "as many", "partition both alike"
            )
    return whole if names[-1] not in ("SFA", "SFB") else whole * found[names[-1]]


def _operand(mma: TiledMMA, side: str, t: Tensor) -> Any:
    """The values of an operand: (thread, value, rest, rest); that numpy's type can be the atom's is checked."""
    values = values_of(t)
    if side in ("A", "B"):
        _require_type(mma.atom, side, t)
    if mma.atom.blocks > 1 and values.ndim == 5 and values.shape[4] == 1:
        values = values[..., 0]
    if values.ndim not in (2, 3, 4):
        raise RankError(f"gemm: operand {side} of {extents_of(t)}", "one to three modes, the atom's values first", "take one slice along K")
    return values.reshape(*values.shape, *(1,) * (4 - values.ndim))


def _require_type(atom: MMAAtom, side: str, t: Tensor) -> None:
    """LeafTypeError for a buffer whose numpy type is not that of A's or B's elements; those that numpy lacks are of any float."""
    element = atom.types["AB".index(side)] if atom.types else getattr(atom, f"val_{side}")
    natural = numpy_type(element)
    if t.dtype is not None and element.bits in (8, 16, 32, 64) and natural != "float32" and str(t.dtype) != natural:
        raise LeafTypeError(f"gemm by {atom.name}: {side} of {t.dtype}", f"{natural}, for {element}", f"convert it to {natural}")


def _groups(mma: TiledMMA) -> Any:
    """(group of an atom's threads, atom's thread) -> thread."""
    import numpy as np

    layout = mma.thr_layout_vmnk
    lanes = int(size(layout[0]))
    v, rest = np.ogrid[:lanes, : mma.threads // lanes]
    return np.broadcast_to(layout(v + lanes * rest), (lanes, mma.threads // lanes)).T


def _matrices(mma: TiledMMA, side: str, t: Tensor, groups: Any) -> Any:
    """Fragments as the atoms' matrices: (group, rest 1, rest 2, block, row, column)."""
    import numpy as np

    values = _operand(mma, side, t)
    places = thread_values(mma.atom.operand(side), groups.shape[1])
    if values.shape[0] != (count := int(groups.max()) + 1):
        what = f"gemm: operand {side} of {values.shape[0]} threads"
        raise RangeError(what, f"threads 0 to {count - 1}, for the {groups.size} of {mma!r}", f"write mma[numpy.arange({count})]")
    if values.shape[1] != places.shape[1]:
        what = f"gemm: operand {side} of {values.shape[1]} values a thread"
        raise RankError(what, f"the {places.shape[1]} of {mma.atom.name} in the first mode", "partition it with this tiled MMA")
    m, n = (int(mma.atom.shape_mnk[i]) for i in MODES[side])
    held = np.moveaxis(values[groups], (1, 2), (-2, -1))
    out = np.zeros((*held.shape[:-2], m * n * mma.atom.blocks), values.dtype)
    out[..., places] = held
    return np.swapaxes(out.reshape(*held.shape[:-2], mma.atom.blocks, n, m), -1, -2)


def _fragments(mma: TiledMMA, matrices: Any, groups: Any) -> Any:
    """The accumulators' matrices (group, M, N, block, row, column) as fragments: (thread, value, M, N)."""
    import numpy as np

    places = thread_values(mma.atom.C, groups.shape[1])
    flat = np.swapaxes(matrices, -1, -2).reshape(*matrices.shape[:3], math.prod(matrices.shape[3:]))
    own = np.moveaxis(flat[..., places], (-2, -1), (1, 2))
    out = np.zeros((int(groups.max()) + 1, *own.shape[2:]), matrices.dtype)
    out[groups] = own
    return out
