"""Copies of all threads at once, on numpy: what an instruction moves between threads goes by its layouts alone.

Source: CuTe include/cute/algorithm/copy.hpp.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown, size
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor, require_data
from ..instructions.atom import CopyAtom
from ..tiled.fragments import numpy_has
from ..tiled.tiled_copy import TiledCopy
from .values import extents_of, holds_coordinates, places_of, read, thread_values, values_of, write


def copy(tiled_copy: Any, source: Any, target: Any) -> None:
    """Copy what all threads read to where they write, by the layouts of a copy's atom.

    tiled_copy   a TiledCopy, or a CopyAtom with its element type
    source       partition_S, or registers that retile_S made fit: ((V, atoms), RestM, RestN, ...), for all threads
    target       partition_D, or registers
    Raises       RankError where the two do not fit, RangeError for elements that are not valid or threads that are no whole
                 atoms, LeafTypeError for buffers of different types

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy, float, make_tiled_copy
    >>> tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (4, 2), (1, 2)), np.arange(8)
    >>> a, b = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    >>> copy(tiled, tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b)))
    >>> bool((a == b).all())
    True

    Source: CuTe `copy(TiledCopy, src, dst)`. `tla.copy(source, target)` copies whole tensors.
    """
    _copy("copy", tiled_copy, None, source, target)


def copy_if(tiled_copy: Any, predicate: Any, source: Any, target: Any) -> None:
    """As copy, where a predicate is true; where it is not, the target stays, but for atoms that fill zeros (ZFILL).

    predicate   a tensor of truth values or an array of them, for all threads: of every value, or of the modes behind the
                first, for which one value stands; or a function of values_of(identity partition)

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy_if, float, make_tiled_copy
    >>> tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (4, 2)), np.arange(8)
    >>> a, b = np.ones((4, 2), np.float32), np.zeros((4, 2), np.float32)
    >>> copy_if(tiled, (t < 3)[:, None, None], tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b)))
    >>> b.tolist()
    [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]

    Raises what copy raises. Source: CuTe `copy_if`.
    """
    _copy("copy_if", tiled_copy, predicate, source, target)


def _copy(where: str, tiled_copy: Any, predicate: Any, source: Any, target: Any) -> None:
    """Move what a copy's threads read from source to target; with a predicate, what that admits."""
    import numpy as np

    atom = tiled_copy.atom if isinstance(tiled_copy, TiledCopy) else tiled_copy
    if not isinstance(atom, CopyAtom) or atom.val_type is None:
        raise LeafTypeError(
            f"{where} by {shown(tiled_copy)}", "a tiled copy, or a copy atom of a type", "tla.copy(source, target) takes whole tensors"
        )
    if "movmatrix" in atom.instruction:
        raise LeafTypeError(
            f"{where} by {atom.name}", "an atom whose layouts say what moves: this one transposes besides", "use ldmatrix.trans"
        )
    source, target = as_tensor(where, source), as_tensor(where, target)
    require_data(where, source)
    require_data(where, target)
    if source.dtype != target.dtype:
        raise LeafTypeError(f"{where} of {source.dtype} to {target.dtype}", "one type", "convert with transform between registers")
    if numpy_has(atom.val_type) and 8 * source.dtype.itemsize != atom.val_type.bits:
        what = f"{where} of {source.dtype} by {atom!r}"
        raise LeafTypeError(what, f"elements of {atom.val_type.bits} bits", "convert the buffer, or make the atom one of its type")
    if extents_of(source)[1:] != extents_of(target)[1:]:
        raise RankError(f"{where} of {source!r} to {target!r}", "the same modes behind the first", "partition both by the same tiled copy")
    reads = None if predicate is None else _mask(where, predicate, source)
    moved = _through(where, atom, read(where, source, reads), extents_of(target)[0])
    writes = None if predicate is None else _mask(where, predicate, target)
    if writes is not None and "ZFILL" in atom.name:
        moved, writes = np.where(writes, moved, np.zeros((), moved.dtype)), None
    write(where, target, moved, writes)


def _mask(where: str, predicate: Any, t: Tensor) -> Any:
    """A predicate with the axes of a tensor's elements."""
    import numpy as np

    if isinstance(predicate, Tensor) and holds_coordinates(predicate):
        raise LeafTypeError(f"{where} with coordinates for a predicate", "truth values", "compare first: coordinates < extents")
    given = values_of(predicate) if isinstance(predicate, Tensor) else np.asarray(predicate)
    if given.dtype != bool:
        raise LeafTypeError(f"{where} with a predicate of {given.dtype}", "truth values", "compare first: coordinates < extents")
    shape = (places_of(t).shape[0], *extents_of(t))
    if given.ndim == len(shape) - 1:
        given = given[:, None]
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        what = f"{where} with a predicate of {given.shape} for {shape}, threads first"
        raise RankError(what, "one truth value of each value, or of each mode behind the first", "partition it the same way") from None


def _through(where: str, atom: CopyAtom, values: Any, count: int) -> Any:
    """The values of an atom's threads after it, of those before: (threads, value and atom, rest ...)."""
    import numpy as np

    lanes = int(size(atom.thr_id))
    src, dst = (thread_values(layout, lanes) for layout in (atom.val_src, atom.val_dst))
    if lanes == 1 and values.shape[1] == count:
        return values
    threads, n, *rest = values.shape
    if threads % lanes or n % src.shape[1]:
        what = f"{where} by {atom.name}: {threads} threads of {n} values"
        raise RangeError(what, f"all the threads, {lanes} to an atom, of {src.shape[1]} values each", "partition for an array of threads")
    atoms = n // src.shape[1]
    held = values.reshape(threads // lanes, lanes, atoms, src.shape[1], *rest)
    buffer = np.zeros((threads // lanes, int(max(src.max(), dst.max())) + 1, atoms, *rest), values.dtype)
    buffer[:, src] = np.moveaxis(held, 3, 2)
    out = np.moveaxis(buffer[:, dst], 2, 3)
    return out.reshape(threads, atoms * dst.shape[1], *rest)
