"""Products of all threads at once, on numpy: fragments are put together to the atoms' matrices, and taken apart again.

Source: CuTe include/cute/algorithm/gemm.hpp.
"""

from __future__ import annotations

import math
from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import size
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor, require_data
from ..instructions.atom import MMAAtom
from ..instructions.elements import element_of
from ..instructions.entries import Family
from ..instructions.names import entry
from ..tiled.fragments import holds, numpy_type
from ..tiled.sparse import expanded
from ..tiled.tiled_mma import MODES, TiledMMA, make_tiled_mma
from .arithmetic import multiplied, require_accumulator
from .values import extents_of, places_of, thread_values, values_of, write

#: The ranks of A, B and C: what CuTe has, and what it has besides where a thread holds one value of the atom.
FORMS, ONE_VALUE = {(1, 1, 1), (2, 2, 3), (3, 3, 3)}, {(1, 1, 2), (2, 2, 2)}


def gemm(*operands: Any) -> None:
    """D = A * B + C by fragments of all threads: `gemm(mma, D, A, B, C)`, or `gemm(mma, A, B, C)` for D the same as C.

    mma   a TiledMMA, or an MMAAtom; left out, each thread multiplies and adds by itself, UniversalFMA of the tensors' types
    A     partition_fragment_A, or of an atom that reads shared memory that partition. Of a sparse atom a pair of it and the metadata,
          (A, E); of a block-scaled one (A, SFA) or (A, E, SFA)
    B     likewise: B is (N,K), as CuTe has it; of a block-scaled atom (B, SFB)
    C, D  the accumulators, of the atom's type or a wider one. In its own type sums of integers wrap, or stop at the ends where the
          instruction saturates, and floats are rounded for each instruction along K; a wider one holds the sum, or it is refused

    The modes are CuTe's: (V,M,K) x (V,N,K) => (V,M,N), (V,M) x (V,N) => (V,M,N), (V) x (V) => (V); where a thread of the atom has one
    value, (M,K) x (N,K) => (M,N) and (M) x (N) => (M,N) too. Raises RankError for others and where they do not fit, RangeError
    for threads that are not all of the tiled MMA's, LeafTypeError for operands that the atom does not take.

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

    mma, d, a, b, c = _arguments(operands)
    groups, lone = _groups(mma), _is_lone(mma, a, b, c)
    left, right = (_factor(mma, side, x, groups, lone) for side, x in (("A", a), ("B", b)))
    for side, t in (("D", d), ("C", c)):
        _require_type(mma.atom, side, t)
        require_accumulator(mma.atom, t.dtype)
    total = _matrices(mma, "C", c, groups, lone)
    if left.shape[2] != right.shape[2] or (left.shape[1], right.shape[1]) != total.shape[1:3]:
        rests = ", ".join(str(x.shape[1:3]) for x in (left, right, total))
        raise RankError(f"gemm of A, B, C of {rests} atoms", "(M,K), (N,K), (M,N)", "partition the tiles of one product")
    found = _fragments(mma, _product(mma.atom, left, right, total, d.dtype), groups)
    runs = np.isin(np.arange(found.shape[0]), groups)  # lanes of no quad pair do nothing
    shape = (found.shape[0], *extents_of(d))
    write("gemm", d, found.reshape(shape), np.broadcast_to(runs.reshape(-1, *(1,) * (len(shape) - 1)), shape))


def _product(atom: MMAAtom, left: Any, right: Any, total: Any, dtype: Any) -> Any:
    """D = A * B + C of all atoms, (group, M, N, block, row, column): one instruction after the other along K, as CuTe's loop has them."""
    groups, m, n, blocks, x, y = total.shape
    rows, columns = (t.transpose(2, 0, 3, 1, 4, 5).reshape(t.shape[2], groups, blocks, -1, t.shape[5]) for t in (left, right))
    whole = total.transpose(0, 3, 1, 4, 2, 5).reshape(groups, blocks, m * x, n * y)
    for a, b in zip(rows, columns):
        whole = multiplied(atom, a, b, whole, dtype)
    return whole.reshape(groups, blocks, m, x, n, y).transpose(0, 2, 4, 1, 3, 5)


def _arguments(given: tuple[Any, ...]) -> tuple[TiledMMA, Tensor, Any, Any, Tensor]:
    """The tiled MMA, D, A, B and C of a call."""
    mma, operands = (given[0], given[1:]) if given and isinstance(given[0], (TiledMMA, MMAAtom, Family)) else (None, given)
    if len(operands) not in (3, 4):
        raise RankError(f"gemm of {len(operands)} operands", "D, A, B, C, or A, B, C", "write gemm(mma, C, A, B, C)")
    *first, a, b, c = operands
    d, c = (_numbers(as_tensor("gemm", x)) for x in ((*first, c)[0], c))
    if extents_of(d) != extents_of(c):
        raise RankError(f"gemm to D of {extents_of(d)} from C of {extents_of(c)}", "the same extents", "partition both alike")
    if mma is None:
        mma = entry("UniversalFMA")[tuple(element_of("gemm", as_tensor("gemm", x), None) for x in (d, a, b, c))]
    if isinstance(mma, TiledMMA):
        return mma, d, a, b, c
    alone = isinstance(mma, MMAAtom) and size(mma.thr_id) == 1  # each of the threads that there are, by itself
    return make_tiled_mma(mma, (places_of(c).shape[0],) if alone else None), d, a, b, c


def _numbers(t: Tensor) -> Tensor:
    """A tensor of numbers in a buffer; LeafTypeError for any other."""
    require_data("gemm", t)
    if t.dtype.kind not in "iufcV":
        raise LeafTypeError(f"gemm of {t!r}", "numbers", "convert it to float32")
    return t


def _is_lone(mma: TiledMMA, *operands: Any) -> bool:
    """Whether operands leave out the mode of the atom's values, of which a thread has one; RankError for those of no product."""
    tensors = [as_tensor("gemm", x[0] if isinstance(x, (tuple, list)) and x else x) for x in operands]
    ranks = tuple(len(extents_of(t)) - (mma.atom.blocks > 1 and extents_of(t)[3:] == (1,)) for t in tensors)
    lone = ranks in ONE_VALUE and all(size(mma.atom.operand(side)) == size(mma.atom.thr_id) for side in "ABC")
    if ranks not in FORMS and not lone:
        a, b, c = map(extents_of, tensors)
        expected = "(V,M,K) x (V,N,K) => (V,M,N), (V,M) x (V,N) => (V,M,N), or (V) x (V) => (V)"
        raise RankError(f"gemm of A {a} by B {b} to C {c}", expected, "take slices of A and B alike: A[_, _, k] and B[_, _, k]")
    return lone


def _factor(mma: TiledMMA, side: str, given: Any, groups: Any, lone: bool) -> Any:
    """The matrices of A or B as they are multiplied: a sparse A is expanded, and scale factors are multiplied in."""
    atom = mma.atom
    names = [side, *(["E"] if atom.sparsity and side == "A" else []), *([f"SF{side}"] if atom.val_SF else [])]
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if len(parts) != len(names):
        text = f"({', '.join(names)})" if len(names) > 1 else side
        what = f"gemm by {atom.name}: {side} of {len(parts)} tensor{'s' * (len(parts) != 1)}"
        raise LeafTypeError(what, text, f"write gemm(mma, D, ..., C) with {text} for {side}")
    found = {name: _matrices(mma, name, _numbers(as_tensor("gemm", x)), groups, lone) for name, x in zip(names, parts)}
    whole = expanded(atom, found["A"], found["E"]) if "E" in found else found[side]
    for name, x in found.items():
        if x.shape != found[side].shape:
            raise RankError(
                f"gemm: {name} of {x.shape[1:3]} atoms for {side} of {found[side].shape[1:3]}", "as many", "partition both alike"
            )
    return whole.astype(float) * found[names[-1]].astype(float) if atom.val_SF else whole  # exact in 64 bits


def _operand(mma: TiledMMA, side: str, t: Tensor, lone: bool) -> Any:
    """The values of an operand: (thread, value, rest, rest); that numpy's type can be the atom's is checked."""
    if side in ("A", "B"):
        _require_type(mma.atom, side, t)
    values = values_of(t)
    values = values[:, None] if lone else values[..., 0] if values.ndim == 5 else values
    return values.reshape(*values.shape, *(1,) * (4 - values.ndim))


def _require_type(atom: MMAAtom, side: str, t: Tensor) -> None:
    """LeafTypeError for a buffer of no numpy type that holds the operand's elements; accumulators may be wider."""
    element = atom.element(side)
    if not holds(element, t.dtype, wider=side in "CD"):
        natural = numpy_type(element)
        raise LeafTypeError(f"gemm by {atom.name}: {side} of {t.dtype}", f"{natural}, for {element}", f"convert it to {natural}")


def _groups(mma: TiledMMA) -> Any:
    """(group of an atom's threads, atom's thread) -> thread."""
    import numpy as np

    layout = mma.thr_layout_vmnk
    lanes = int(size(layout[0]))
    v, rest = np.ogrid[:lanes, : mma.threads // lanes]
    return np.broadcast_to(layout(v + lanes * rest), (lanes, mma.threads // lanes)).T


def _matrices(mma: TiledMMA, side: str, t: Tensor, groups: Any, lone: bool) -> Any:
    """Fragments as the atoms' matrices: (group, rest 1, rest 2, block, row, column)."""
    import numpy as np

    values = _operand(mma, side, t, lone)
    places = thread_values(mma.atom.operand(side), groups.shape[1])
    if values.shape[0] != (count := int(groups.max()) + 1):
        what = f"gemm: operand {side} of {values.shape[0]} threads"
        raise RangeError(what, f"threads 0 to {count - 1}, for the {groups.size} of {mma!r}", f"write mma[numpy.arange({count})]")
    if values.shape[1] != places.shape[1]:
        what = f"gemm: operand {side} of {values.shape[1]} values a thread"
        fix = "partition it with this tiled MMA" if places.shape[1] > 1 else "take slices of one value: A[v, _, _]"
        raise RankError(what, f"the {places.shape[1]} of {mma.atom.name} in the first mode", fix)
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
