"""Sparse operands: half of A's elements are stored, and metadata say which.

Of each group of elements along K half are kept: two of four; of TF32 one of two; of 4-bit types two pairs of four
pairs. Four bits of metadata are two places of two bits each, in units of a quarter of the group; a byte is for two
groups, the first in its low bits. Tensors of what is stored have the coordinates (M,K) of the whole, and stride 0 where
elements share a place: CuTe's sparse_elem says the same.

Source: the PTX manual, "Sparse matrix storage"; CuTe include/cute/numeric/integral_ratio.hpp, sparse_elem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.arrays import as_int64
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from ...core.layout import Layout
from ...core.values import held
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ..instructions.atom import MMAAtom

if TYPE_CHECKING:
    import numpy.typing as npt


def group_of(atom: MMAAtom) -> int:
    """The number of neighbours along K that four bits of metadata describe; half of the neighbours are kept."""
    assert atom.sparsity is not None
    return atom.sparsity[1] // 2


def compress(atom: MMAAtom, a: npt.NDArray[Any]) -> tuple[Tensor, Tensor]:
    """A for a sparse instruction: its kept elements and their metadata, as tensors over the whole's coordinates (M,K).

    atom   a sparse matrix instruction: it says how many elements of which groups may be kept
    a      numpy array (M,K): zeros but for the elements that are kept, one number an element
    Returns  (A, E): partition_A of the first and partition_E of the second are what gemm takes
    Raises LeafTypeError for a dense atom, RankError for an array that is no matrix of whole groups, RangeError
    for a group with
             more elements than may be kept

    >>> import numpy as np
    >>> from tla.gpu import atom, compress
    >>> mma = atom("SM90::GMMA::SPARSE::GMMA_64x64x32_F32F16F16_SS")
    >>> stored, metadata = compress(mma, np.array([[0, 5, 0, 7, 1, 0, 0, 0]], np.float16))
    >>> stored.data.tolist(), [bin(n) for n in metadata.data]
    ([5.0, 7.0, 1.0, 0.0], ['0b1001101'])

    Source: CUTLASS `StructuredSparseCompressor`; the PTX manual, "Sparse matrix storage".
    """
    import numpy as np

    if not isinstance(atom, MMAAtom) or atom.sparsity is None:
        fix = "give a dense instruction A as it is"
        raise LeafTypeError(f"compress for {shown(atom)}", "the atom of a sparse instruction", fix)
    a, group = np.asarray(a), group_of(atom)
    if a.ndim != 2 or a.shape[1] % (2 * group) or not a.size:
        expected = f"(M,K), K in multiples of {2 * group}"
        raise RankError(f"compress of an array of {a.shape}", expected, "pad K with zeros")
    m, k = a.shape
    unit = max(group // 4, 1)
    units = a.reshape(m, k // group, group // unit, unit)
    places = _kept(atom, (units != 0).any(-1))
    stored = np.take_along_axis(units, places[..., None], 2)
    # of TF32 a place is two units of metadata
    wide = places if group > 2 else np.concatenate([2 * places, 2 * places + 1], -1)
    nibbles = wide[..., 0] | wide[..., 1] << 2
    metadata = held("metadata", nibbles[:, ::2] | nibbles[:, 1::2] << 4, np.dtype(np.uint8))
    whole = MakeTensor(stored.ravel(), stored_layout(m, k, group))
    return whole, MakeTensor(metadata.ravel(), metadata_layout(m, k, group))


def stored_layout(m: int, k: int, group: int) -> Layout:
    """(M,K) of the whole -> kept element, row after row: two units of a group are stored as one."""
    unit = max(group // 4, 1)
    return Layout((m, (unit, 2, k // (2 * unit))), (k // 2, (1, 0, unit)))


def metadata_layout(m: int, k: int, group: int) -> Layout:
    """(M,K) of the whole -> byte of metadata, row after row."""
    return Layout((m, (2 * group, k // (2 * group))), (k // (2 * group), (0, 1)))


def _kept(atom: MMAAtom, used: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(row, group, which) -> the unit that is kept, rising; where fewer are used, others make up the number."""
    import numpy as np

    count = used.shape[-1] // 2
    if (used.sum(-1) > count).any():
        row, group = map(int, np.argwhere(used.sum(-1) > count)[0])
        has = f"group {group} of row {row} has {int(used[row, group].sum())} elements that are not 0"
        what = f"compress for {atom.name}: {has}"
        raise RangeError(what, f"{count} of {used.shape[-1]}", f"prune A: keep the {count} largest of each group")
    return np.sort(np.argsort(~used, axis=-1, kind="stable")[..., :count], axis=-1)


def expanded(atom: MMAAtom, stored: npt.NDArray[Any], metadata: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The whole A, (..., row, column), from its kept elements and the metadata at the same coordinates.

    Raises RangeError for metadata that name no two units in rising order.
    """
    import numpy as np

    group = group_of(atom)
    unit, width = max(group // 4, 1), min(group, 4)
    shape = (*stored.shape[:-1], stored.shape[-1] // group, width, unit)
    kept = stored.reshape(shape)[..., ::2, :]
    nibbles = as_int64(metadata)[..., ::group] >> 4 * (np.arange(shape[-3]) % 2)
    places = np.stack([nibbles & 3, nibbles >> 2 & 3], -1)
    if (places[..., 0] >= places[..., 1]).any() or (width == 2 and (places != places[..., :1] // 2 * 2 + [0, 1]).any()):
        what = f"gemm by {atom.name}: metadata that name no elements"
        raise RangeError(what, "two places in rising order", "use compress(atom, a)")
    out = np.zeros(shape, stored.dtype)
    np.put_along_axis(out, (places if width == 4 else places[..., :1] // 2)[..., None], kept, -2)
    return out.reshape(stored.shape)
