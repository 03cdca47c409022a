"""Parts of all the threads of a block at once, by a layout of the threads alone.

Source: CuTe include/cute/tensor_impl.hpp, local_partition, outer_partition.
"""

from __future__ import annotations

from typing import Any

from ...algebra.codomain import get_flat_coord
from ...algebra.divide import zipped_divide
from ...algebra.modes import dice
from ...algebra.predicates import is_bijective
from ...core.errors import RangeError
from ...core.int_tuple import _, product_each, shown, size
from ...core.ints import is_int, known
from ...core.layout import Layout, as_layout
from ...gpu.tiled.partition import part_of
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ...tensors.views import local_partition as of_one_thread


def local_partition(t: Any, threads: Any, index: Any, proj: Any = None) -> Tensor:
    """The part of each thread of a tensor cut by the shape of a thread layout, as tla.local_partition of one thread.

    threads  a compact layout of threads: coordinate to index
    index    the threads: an array of indices, 0 or more and less than size(threads), as thread() gives; a symbol of one
             that is traced
    proj     a tuple of _ and anything else: the modes of threads under `_` are left out
    Returns  a tensor of t's rank for all the threads
    Raises   RangeError for an index that no thread has, and for a layout by which threads share parts, or parts have
             no thread

    >>> import numpy as np
    >>> from tla import MakeTensor, parse
    >>> from tla.gpu import values_of
    >>> from tla.kernels import local_partition
    >>> print(values_of(local_partition(MakeTensor(np.arange(8)), parse("_4:_1"), np.arange(4))).tolist())
    [[0, 4], [1, 5], [2, 6], [3, 7]]

    Source: CuTe `local_partition`.
    """
    import numpy as np

    _require_one_each(as_layout("local_partition", threads))
    if is_int(index) and known(index) is None:
        return of_one_thread(t, threads, index, proj)
    t, threads, index = as_tensor("local_partition", t), as_layout("local_partition", threads), np.asarray(index)
    if index.size and not (index.min() >= 0 and index.max() < size(threads)):
        what = f"local_partition: threads {index.min()} to {index.max()} of {shown(threads)}"
        fix = f"write @kernel(threads={size(threads)}), or another layout of threads"
        raise RangeError(what, f"0 <= index < {size(threads)}", fix)
    own = threads if proj is None else dice(proj, threads)
    cut: Any = zipped_divide(t, tuple(product_each(own.shape)))
    return part_of(t, cut, index, get_flat_coord(own, index), (_,) * len(product_each(cut.layout.shape[1])))


def _require_one_each(threads: Layout) -> None:
    """Require a layout that gives each of its coordinates a thread of its own, from 0 on. Raises RangeError.

    CuTe takes a thread's coordinate to be (index // stride) % extent in each mode: where threads are left out two of
    the others have one coordinate, and a stride of 0 divides by 0.
    """
    if is_bijective(threads) is False:
        shape = shown(threads.shape)
        what = f"local_partition by {shown(threads)}, which does not number threads 0 to {size(threads) - 1}, each once"
        fix = f"write make_layout({shape}), or with the last mode fastest make_layout({shape}, LayoutRight)"
        raise RangeError(what, "a compact layout of threads", fix)
