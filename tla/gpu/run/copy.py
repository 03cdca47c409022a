"""Copies of all threads at once, on numpy: what an instruction moves between threads goes by its layouts alone.

Source: CuTe include/cute/algorithm/copy.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.errors import RankError
from ...core.int_tuple import size
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor, require_data
from ..descriptors.tma import TMACopy
from ..instructions.atom import CopyAtom
from .bulk import bulk_facts, run_bulk
from .copy_facts import CopyStep, copy_facts, plain_copy, require_whole_instructions
from .values import extents_of, read, thread_values, write

if TYPE_CHECKING:
    import numpy.typing as npt


def copy(*operands: object) -> None:
    """Copy what all threads read to where they write, by a copy's atom: `copy(tiled_copy, source, target)`.

    tiled_copy   a TiledCopy, or a CopyAtom with its element type; left out, as `copy(source, target)`, each thread
                 copies by itself, in the order of one index and in accesses as wide as static layouts allow, as CuTe's
                 `copy(src, dst)`; or a TMACopy, which loads a tile of global memory to one of shared memory, as
                 bulk_facts says
    source       partition_S, or registers that retile_S made fit: ((V, atoms), RestM, RestN, ...), for all threads
    target       partition_D, or registers
    Raises       RankError where the two do not fit, RangeError for elements that are not valid or threads that are no
                 whole atoms, LeafTypeError for buffers of different types

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy, float, make_fragment_like, make_tiled_copy
    >>> tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (4, 2), (1, 2)), np.arange(8)
    >>> a, b = np.arange(16, dtype=np.float32).reshape(4, 4), np.zeros((4, 4), np.float32)
    >>> copy(tiled, tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b)))
    >>> bool((a == b).all())
    True
    >>> registers = make_fragment_like(tiled[t].partition_S(MakeTensor(a)))
    >>> copy(tiled[t].partition_S(MakeTensor(a)), registers)
    >>> registers.data[:4].tolist()
    [0.0, 1.0, 4.0, 5.0]

    Source: CuTe `copy(TiledCopy, src, dst)`, `copy(src, dst)`. `tla.copy(source, target)` copies whole tensors
    of one shape.
    """
    if isinstance(operands[0] if operands else None, TMACopy):
        tma, source, target = _operands("copy", operands, "source, target")
        run_bulk(bulk_facts(tma, source, target))
    else:
        run_copy(copy_of(*operands))


def copy_if(*operands: object) -> None:
    """As copy, where a predicate is true: `copy_if(tiled_copy, predicate, source, target)`, or without the tiled copy.

    Where it is not, the target stays, but for atoms that fill zeros (ZFILL). Without a tiled copy each thread copies
    element by element.

    predicate   a tensor of truth values or an array of them, for all threads: of every value, or of the modes behind
                the first, for which one value stands; or a function of values_of(identity partition)

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
    run_copy(copy_if_of(*operands))


def copy_of(*operands: object) -> CopyStep:
    """The copy that `copy(...)` of these operands executes. Raises what copy_facts does, RankError for other counts."""
    *given, source, target = _operands("copy", operands, "source, target")
    source, target = _with_data("copy", source), _with_data("copy", target)
    return copy_facts(given[0] if given else plain_copy(source, target), source, target)


def copy_if_of(*operands: object) -> CopyStep:
    """The copy that `copy_if(...)` of these operands executes, as copy_of."""
    *given, predicate, source, target = _operands("copy_if", operands, "predicate, source, target")
    source, target = _with_data("copy_if", source), _with_data("copy_if", target)
    return copy_facts(given[0] if given else plain_copy(source, target, predicated=True), source, target, predicate)


def _operands(where: str, given: tuple[Any, ...], names: str) -> tuple[Any, ...]:
    """The operands of a copy, the tiled copy first or left out; RankError for more or fewer."""
    least = names.count(",") + 1
    if len(given) not in (least, least + 1):
        what = f"{where} of {len(given)} operands"
        raise RankError(what, f"tiled_copy, {names}, or {names}", f"write {where}({names})")
    return given


def _with_data(where: str, x: Tensor) -> Tensor:
    t = as_tensor(where, x)
    require_data(where, t)
    return t


def run_copy(step: CopyStep) -> None:
    """Execute a copy on numpy, for all the threads that its tensors are of.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy_facts, float, make_tiled_copy, run_copy
    >>> tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[float], float], (4, 2)), np.arange(8)
    >>> a, b = np.ones((4, 2), np.float32), np.zeros((4, 2), np.float32)
    >>> run_copy(copy_facts(tiled, tiled[t].partition_S(MakeTensor(a)), tiled[t].partition_D(MakeTensor(b))))
    >>> b.sum()
    np.float32(8.0)

    Raises RangeError for elements that are not valid, or threads that are no whole instructions. Source: CuTe
    `copy(TiledCopy, src, dst)`.
    """
    import numpy as np

    where, truth, extents = "copy" if step.where is None else "copy_if", step.where, extents_of(step.target)
    moved = read(where, step.source, None if truth is None else truth.read)
    require_whole_instructions(f"{where} by {step.atom.name}", step.atom, step.source, moved.shape[0])
    moved = _in_extents(moved if step.atom.most_bits else _through(step.atom, moved, extents[0]), extents)
    writes = None if truth is None else truth.written
    if writes is not None and step.atom.fills_zeros:
        moved, writes = np.where(writes, moved, np.zeros((), moved.dtype)), None
    write(where, step.target, moved, writes)


def _in_extents(values: npt.NDArray[Any], extents: tuple[int, ...]) -> Any:
    """The values of each thread, (thread, modes ...), in modes of other extents: by index, the first mode fastest."""
    if values.shape[1:] == extents:
        return values
    backward = values.transpose(0, *range(values.ndim - 1, 0, -1)).reshape(values.shape[0], *reversed(extents))
    return backward.transpose(0, *range(len(extents), 0, -1))


def _through(atom: CopyAtom, values: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """The values of an atom's threads after it, of those before: (threads, value and atom, rest ...)."""
    import numpy as np

    lanes = int(size(atom.thr_id))
    if lanes == 1 and values.shape[1] == count:
        return values
    src, dst = (thread_values(layout, lanes) for layout in (atom.val_src, atom.val_dst))
    if atom.transposes:
        dst = _of_transposed(dst, int(size(atom.dst)) // int(size(atom.val_dst)))
    threads, n, *rest = values.shape
    atoms = n // src.shape[1]
    held = values.reshape(threads // lanes, lanes, atoms, src.shape[1], *rest)
    buffer = np.zeros((threads // lanes, int(max(src.max(), dst.max())) + 1, atoms, *rest), values.dtype)
    buffer[:, src] = np.moveaxis(held, 3, 2)
    out = np.moveaxis(buffer[:, dst], 2, 3)
    return out.reshape(threads, atoms * dst.shape[1], *rest)


def _of_transposed(places: Any, bits: int) -> Any:
    """The places in an 8x8 matrix of 16 bits, of elements of so many bits, from which its transpose has its own."""
    parts = 16 // bits
    unit = places // parts
    return (unit % 8 * 8 + unit // 8) * parts + places % parts
