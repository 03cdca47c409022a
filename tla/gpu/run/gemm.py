"""Products of all threads at once, on numpy: fragments are put together to the atoms' matrices, and taken apart again.

Source: CuTe include/cute/algorithm/gemm.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...algebra.make import make_layout
from ...core.int_tuple import size
from ...core.values import rounded
from ...tensors.guard import whole
from ...tensors.tensor import Tensor, tensor_of
from ..instructions.atom import MMAAtom
from ..tiled.sparse import expanded
from ..tiled.tiled_mma import MODES, TiledMMA
from .arithmetic import multiplied
from .mma_facts import MmaStep, mma_facts, require_all_threads
from .values import extents_of, thread_values, values_of, write

if TYPE_CHECKING:
    import numpy.typing as npt


def gemm(*operands: object) -> None:
    """D = A * B + C by fragments of all threads: `gemm(mma, D, A, B, C)`, or `gemm(mma, A, B, C)` for D the same as C.

    mma   a TiledMMA, or an MMAAtom; left out, each thread multiplies and adds by itself, UniversalFMA of
          the tensors' types
    A     partition_fragment_A, or of an atom that reads shared memory that partition. Of a sparse atom a pair of it and
          the metadata, (A, E); of a block-scaled one (A, SFA) or (A, E, SFA)
    B     likewise: B is (N,K), as CuTe has it; of a block-scaled atom (B, SFB)
    C, D  the accumulators, of the atom's type or a wider one. In its own type sums of integers wrap, or stop at the
          ends where the instruction saturates, and floats are rounded for each instruction along K; a wider one holds
          the sum, or it is refused

    The modes are CuTe's: (V,M,K) x (V,N,K) => (V,M,N), (V,M) x (V,N) => (V,M,N), (V) x (V) => (V); where a thread of
    the atom has one value, (M,K) x (N,K) => (M,N) and (M) x (N) => (M,N) too. Raises RankError for others and where
    they do not fit, RangeError for threads that are not all of the tiled MMA's, LeafTypeError for operands that the
    atom does not take.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import SM80_16x8x8_F32F16F16F32_TN, gemm, make_tiled_mma
    >>> mma = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN, (2, 1))
    >>> a, b, c = np.ones((32, 16), np.float16), np.ones((8, 16), np.float16), np.zeros((32, 8), np.float32)
    >>> own = mma[np.arange(64)]
    >>> gemm(mma, own.partition_A(MakeTensor(a)), own.partition_B(MakeTensor(b)), own.partition_C(MakeTensor(c)))
    >>> c.min(), c.max()
    (np.float32(16.0), np.float32(16.0))

    Source: CuTe `gemm(MMA_Atom, D, A, B, C)`. `tla.gemm(a, b, c)` multiplies whole tensors, B as (K,N),
    and overwrites c.
    """
    run_mma(mma_facts(*operands))


def run_mma(step: MmaStep) -> None:
    """Compute a product on numpy, by the fragments of all threads.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import UniversalFMA, float, make_tiled_mma, mma_facts, run_mma
    >>> mma = make_tiled_mma(UniversalFMA[float])
    >>> a, b, c = np.ones((2, 5), np.float32), np.ones((3, 5), np.float32), np.zeros((2, 3), np.float32)
    >>> run_mma(mma_facts(mma, *(mma[0].partition(x, MakeTensor(t)) for x, t in zip("ABC", (a, b, c)))))
    >>> c.tolist()
    [[5.0, 5.0, 5.0], [5.0, 5.0, 5.0]]

    Raises RangeError for elements that are not valid, or threads that are not all of the tiled MMA's. Source: CuTe
    `gemm(MMA_Atom, ...)`.
    """
    import numpy as np

    mma, groups, d = step.mma, _groups(step.mma), step.operands["D"]
    matrices = {name: _matrices(step, name, groups) for name in step.operands if name != "D"}
    if mma.accumulate_ is False:
        matrices["C"] = np.zeros_like(matrices["C"])
    left, right = (_factor(mma.atom, side, matrices) for side in "AB")
    found = _fragments(mma, _product(mma.atom, left, right, matrices["C"], d.dtype), groups)
    runs = np.isin(np.arange(found.shape[0]), groups)  # lanes of no quad pair do nothing
    shape = (found.shape[0], *extents_of(d))
    write("gemm", d, found.reshape(shape), np.broadcast_to(runs.reshape(-1, *(1,) * (len(shape) - 1)), shape))


def run_mma_together(step: MmaStep, operands: Sequence[Mapping[str, Tensor]]) -> None:
    """Compute a product of several CTAs on numpy, each of which has its part of A, B and C in memory of its own.

    step      of the operands of the first
    operands  by name, of each: tensors that lie alike

    >>> import numpy as np
    >>> from tla import MakeTensor, _32, _256
    >>> from tla.gpu import K, SM100_MMA_F16BF16_2x1SM_SS, UMMA, float, half, make_tiled_mma, mma_facts, partition_shape_A
    >>> from tla.gpu import partition_fragment_C, partition_shape_B, tile_to_mma_shape
    >>> from tla.gpu.run.gemm import run_mma_together
    >>> mma = make_tiled_mma(SM100_MMA_F16BF16_2x1SM_SS[half, half, float, 256, 32, K, K])
    >>> shapes = partition_shape_A(mma, (256, 16)), partition_shape_B(mma, (32, 16))
    >>> layouts = [tile_to_mma_shape(UMMA.K_SW32[half], shape) for shape in shapes]
    >>> total = partition_fragment_C(mma, (_256, _32)).layout
    >>> def operands():
    ...     a, b = (MakeTensor(np.ones(128 * 16, np.float16), x, position="smem") for x in layouts)
    ...     c = MakeTensor(np.zeros(128 << 16, np.float32), total, position="TMEM")
    ...     return {"A": a, "B": b, "C": c, "D": c}
    >>> pair = operands(), operands()
    >>> run_mma_together(mma_facts(mma, *(pair[0][name] for name in "DABC")), pair)
    >>> [x["D"].data.max().item() for x in pair]
    [16.0, 16.0]

    Raises what run_mma raises. Source: the PTX manual, "tcgen05.mma", cta_group::2.
    """
    import numpy as np

    found = {name: [values_of(x[name])[0] for x in operands] for name in "ABC"}
    held = {name: _of_threads(np.stack(values), step.operands[name]) for name, values in found.items()}
    held["D"] = _of_threads(np.zeros_like(np.stack(found["C"])), step.operands["D"])
    run_mma(replace(step, operands=held))
    for x, values in zip(operands, values_of(held["D"])):
        write("gemm", x["D"], values[None])


def _of_threads(values: npt.NDArray[Any], like: Tensor) -> Tensor:
    """A tensor of threads with values of its own, (thread, modes ...), in the shape and the memory of another one."""
    import numpy as np

    shape, count = like.layout.shape, values[0].size
    starts, guard = np.arange(len(values)) * count, whole(shape)
    data = np.ascontiguousarray(values.reshape(len(values), -1, order="F")).ravel()
    return tensor_of(None, data, starts, make_layout(shape), like.coord, guard, like.memory)


def _product(
    atom: MMAAtom, left: npt.NDArray[Any], right: npt.NDArray[Any], total: npt.NDArray[Any], dtype: object
) -> Any:
    """D = A * B + C of all atoms, (group, M, N, block, row, column): one instruction after the other along K."""
    groups, m, n, blocks, x, y = total.shape
    rows, columns = (
        t.transpose(2, 0, 3, 1, 4, 5).reshape(t.shape[2], groups, blocks, -1, t.shape[5]) for t in (left, right)
    )
    whole = total.transpose(0, 3, 1, 4, 2, 5).reshape(groups, blocks, m * x, n * y)
    for a, b in zip(rows, columns):
        whole = multiplied(atom, a, b, whole, dtype)
    return whole.reshape(groups, blocks, m, x, n, y).transpose(0, 2, 4, 1, 3, 5)


def _factor(atom: MMAAtom, side: str, matrices: Mapping[str, Any]) -> npt.NDArray[Any]:
    """The matrices of A or B as they are multiplied: a sparse A is expanded, and scale factors are multiplied in."""
    whole = expanded(atom, matrices["A"], matrices["E"]) if side == "A" and "E" in matrices else matrices[side]
    return rounded(whole, float) * rounded(matrices[f"SF{side}"], float) if atom.val_SF else whole  # exact in 64 bits


def _operand(step: MmaStep, name: str) -> Any:
    """The values of an operand: (thread, value, rest, rest)."""
    values = values_of(step.operands[name])
    require_all_threads(step.mma, name, values.shape[0])
    values = values[:, None] if step.one_value else values[..., 0] if values.ndim == 5 else values
    return values.reshape(*values.shape, *(1,) * (4 - values.ndim))


def _groups(mma: TiledMMA) -> Any:
    """(group of an atom's threads, atom's thread) -> thread."""
    import numpy as np

    layout = mma.thr_layout_vmnk
    lanes = int(size(layout[0]))
    v, rest = np.ogrid[:lanes, : mma.threads // lanes]
    return np.broadcast_to(layout(v + lanes * rest), (lanes, mma.threads // lanes)).T


def _matrices(step: MmaStep, name: str, groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Fragments as the atoms' matrices: (group, rest 1, rest 2, block, row, column)."""
    import numpy as np

    atom, values = step.mma.atom, _operand(step, name)
    places = thread_values(atom.operand(name), groups.shape[1])
    m, n = (int(atom.shape_mnk[i]) for i in MODES[name])
    held = np.moveaxis(values[groups], (1, 2), (-2, -1))
    out = np.zeros((*held.shape[:-2], m * n * atom.blocks), values.dtype)
    out[..., places] = held
    return np.swapaxes(out.reshape(*held.shape[:-2], atom.blocks, n, m), -1, -2)


def _fragments(mma: TiledMMA, matrices: npt.NDArray[Any], groups: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The accumulators' matrices (group, M, N, block, row, column) as fragments: (thread, value, M, N)."""
    import numpy as np

    places = thread_values(mma.atom.C, groups.shape[1])
    flat = np.swapaxes(matrices, -1, -2).reshape(*matrices.shape[:3], math.prod(matrices.shape[3:]))
    own = np.moveaxis(flat[..., places], (-2, -1), (1, 2))
    out = np.zeros((int(groups.max()) + 1, *own.shape[2:]), matrices.dtype)
    out[groups] = own
    return out
