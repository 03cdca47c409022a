"""Algorithms run by fragments, for all threads at once, on numpy: copies and products by the layouts of their atoms.

Partitions and fragments are those of an array of threads, `mma[numpy.arange(128)]`, in the order of the threads; of an
instruction of one thread, one thread's will do. What an instruction moves between threads goes by its layouts alone.

Source: CuTe include/cute/algorithm/copy.hpp, gemm.hpp, axpby.hpp, clear.hpp, fill.hpp.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ..core.basis import ArithmeticTuple, as_coordinate
from ..core.composed import innermost
from ..core.errors import LeafTypeError, RangeError, RankError
from ..core.int_tuple import modes_of, product_each, shown, size
from ..core.layout import Layout
from ..tensors.buffers import require_castable
from ..tensors.tensor import Tensor, as_element, as_tensor, gives_places, require_data
from .atom import CopyAtom, MMAAtom
from .tiled_copy import TiledCopy
from .tiled_mma import TiledMMA, make_tiled_mma

#: What to do about elements past the end.
GUARD = "guard them: copy_if with a predicate of an identity tensor, partitioned the same way"


def _grid(extents: tuple[int, ...]) -> list[Any]:
    import numpy as np

    return [*np.ogrid[tuple(map(slice, extents))]]


def _extents(t: Tensor) -> tuple[int, ...]:
    return tuple(map(int, product_each(innermost(t.layout).shape)))


def _by_thread(x: Any, rank: int) -> Any:
    """An offset of each thread, as an array with an axis for the threads in front of `rank` others."""
    import numpy as np

    array = np.asarray(x, dtype=np.int64) if not hasattr(x, "dtype") else x
    return array.reshape(array.size, *(1,) * rank)


def _places(t: Tensor) -> Any:
    """The offset in the buffer of every coordinate, valid or not: an axis for the threads, and one for each mode."""
    import numpy as np

    extents = _extents(t)
    grid = [g + int(c) for g, c in zip(_grid(extents), t.coord)]

    def at(layout: Any) -> Any:
        if isinstance(layout, Layout):
            found = layout(*grid) if isinstance(layout.shape, tuple) else layout(grid[0])
            return np.broadcast_to(found, extents)[None]
        return layout.outer(_by_thread(layout.offset, len(extents)) + at(layout.inner))

    return at(t.layout) + _by_thread(t.offset, len(extents))


def _valid(t: Tensor) -> Any:
    """Whether the element at every coordinate is valid, with the axes of _places; True where all are."""
    import numpy as np

    extents = _extents(t)
    grid = _grid(extents)
    if t._guard is None:
        if all(int(n) == m for n, m in zip(t.origin_shape, extents)):
            return np.True_
        return np.broadcast_to(functools.reduce(np.logical_and, (g < int(n) for g, n in zip(grid, t.origin_shape))), extents)[None]
    guard = t._guard
    place = guard.place(*grid) if isinstance(guard.place.shape, tuple) else guard.place(grid[0])
    start = modes_of(guard.start)
    inside = [
        _by_thread(s, len(extents)) + np.broadcast_to(p, extents)[None] < int(n)
        for s, p, n in zip(start, _components(place, len(start)), guard.valid)
    ]
    return functools.reduce(np.logical_and, inside)


def _components(place: Any, count: int) -> list[Any]:
    """The integers of a coordinate, as many as there are: those that are left out are 0."""
    return [*as_coordinate(ArithmeticTuple(*[0] * count) + place)]


def values_of(t: Tensor) -> Any:
    """The elements of a tensor of threads: an array with an axis for the threads, and one for each mode.

    Of a tensor of coordinates, as a partition of make_identity_tensor is, a tuple of such arrays, one for each of their integers:
    compared with extents they are predicates.

    Raises RangeError where an element is not valid, LeafTypeError without a buffer.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import SM80_16x8x8_F32F16F16F32_TN, make_tiled_mma, values_of
    >>> mma = make_tiled_mma(SM80_16x8x8_F32F16F16F32_TN)
    >>> values_of(mma[np.arange(32)].partition_A(MakeTensor(np.arange(128, dtype=np.float16).reshape(16, 8))))[1].ravel().tolist()
    [2.0, 3.0, 66.0, 67.0]
    """
    return _coordinates(t) if gives_places(t) else _read("values_of", t, None)


def _coordinates(t: Tensor) -> tuple[Any, ...]:
    """The coordinates that are the elements of a tensor, each integer as an array with the axes of _places."""
    import numpy as np

    extents = _extents(t)
    grid = _grid(extents)
    start = modes_of(t.offset)
    place = t.layout(*grid) if isinstance(t.layout.shape, tuple) else t.layout(grid[0])
    return tuple(_by_thread(s, len(extents)) + np.broadcast_to(p, extents)[None] for s, p in zip(start, _components(place, len(start))))


def _read(where: str, t: Tensor, mask: Any) -> Any:
    import numpy as np

    t = as_tensor(where, t)
    require_data(where, t)
    places, valid = _places(t), _valid(t)
    wanted = valid if mask is None else (valid | ~mask)
    if not np.all(wanted):
        what = f"{where} of {t!r}: {int(np.size(wanted) - np.count_nonzero(wanted))} of its elements are not valid"
        raise RangeError(what, "elements of the tensor", GUARD)
    found = t.data[np.where(valid, places, 0)]
    return np.where(valid, found, np.zeros((), found.dtype)) if valid is not np.True_ else found


def _write(where: str, t: Tensor, values: Any, mask: Any = None) -> None:
    import numpy as np

    require_data(where, t)
    places = _places(t)
    valid, values = (np.broadcast_to(x, places.shape) for x in (_valid(t), values))
    chosen = np.ones(places.shape, bool) if mask is None else np.broadcast_to(mask, places.shape)
    if not np.all(valid | ~chosen):
        what = f"{where} to {t!r}: {int(np.count_nonzero(chosen & ~valid))} of the elements are not valid"
        raise RangeError(what, "elements of the tensor", GUARD)
    t.data[places[chosen]] = _held(t, values[chosen])


def _held(t: Tensor, values: Any) -> Any:
    """Values as elements of t: LeafTypeError for another kind, RangeError for an integer that does not fit; floats are rounded."""
    if values.dtype.kind not in "iu" or t.dtype.kind not in "iu":
        require_castable(values.dtype, t.dtype)
    elif values.size:
        for n in (int(values.min()), int(values.max())):
            as_element(n, t)
    return values


# ------------------------------------------------------------------------------------------------------------ copy


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
    if _extents(source)[1:] != _extents(target)[1:]:
        raise RankError(f"{where} of {source!r} to {target!r}", "the same modes behind the first", "partition both by the same tiled copy")
    reads = None if predicate is None else _mask(where, predicate, source)
    moved = _through(where, atom, _read(where, source, reads), _extents(target)[0])
    writes = None if predicate is None else _mask(where, predicate, target)
    if writes is not None and "ZFILL" in atom.name:
        moved, writes = np.where(writes, moved, np.zeros((), moved.dtype)), None
    _write(where, target, moved, writes)


def _mask(where: str, predicate: Any, t: Tensor) -> Any:
    """A predicate with the axes of a tensor's elements."""
    import numpy as np

    given = values_of(predicate) if isinstance(predicate, Tensor) else np.asarray(predicate)
    if given.dtype != bool:
        raise LeafTypeError(f"{where} with a predicate of {given.dtype}", "truth values", "compare first: coordinates < extents")
    shape = (_places(t).shape[0], *_extents(t))
    if given.ndim == len(shape) - 1:
        given = given[:, None]
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        what = f"{where} with a predicate of {given.shape} for {shape}, threads first"
        raise RankError(what, "one truth value of each value, or of each mode behind the first", "partition it the same way") from None


def _through(where: str, atom: CopyAtom, values: Any, count: int) -> Any:
    """What an atom's threads hold after it, of what they held before: (threads, value and atom, rest ...)."""
    import numpy as np

    lanes = int(size(atom.thr_id))
    src, dst = (_places_of(layout, lanes) for layout in (atom.val_src, atom.val_dst))
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


def _places_of(layout: Layout, lanes: int) -> Any:
    """A thread-value layout as an array of (thread, value)."""
    import numpy as np

    count = int(size(layout)) // lanes
    thread, value = np.ogrid[:lanes, :count]
    return np.broadcast_to(layout(thread, value), (lanes, count))


# ------------------------------------------------------------------------------------------------------------ gemm


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
        shapes = ", ".join(str(_extents(x)) for x in (a, b, c))
        raise RankError(f"gemm of A, B, C of {shapes}", "(V,M,K), (V,N,K), (V,M,N)", "partition the tiles of one product")
    wide = d.dtype if d.dtype.kind == "c" or d.dtype.itemsize > 2 else np.dtype(np.float32) if d.dtype.kind == "f" else d.dtype
    product = np.einsum("gmkxa,gnkya->gmnxy", left.astype(wide), right.astype(wide), optimize=True)
    found = _fragments(mma, (total.astype(wide) + product).astype(d.dtype), groups)
    runs = np.isin(np.arange(found.shape[0]), groups).reshape(-1, *(1,) * (found.ndim - 1))  # lanes of no quad pair do nothing
    _write("gemm", d, found if _rank(d) == 3 else found[..., 0], runs if _rank(d) == 3 else runs[..., 0])


def _rank(t: Tensor) -> int:
    return len(_extents(t))


def _operand(mma: TiledMMA, side: str, t: Tensor) -> Any:
    """The values of an operand with three modes behind the threads; that numpy's type can be the atom's is checked."""
    from .fragments import numpy_type

    element = getattr(mma.atom, f"val_{side}")
    natural = numpy_type(element)
    if t.dtype is not None and element.bits in (8, 16, 32, 64) and natural != "float32" and str(t.dtype) != natural and side != "C":
        raise LeafTypeError(f"gemm by {mma.atom.name}: {side} of {t.dtype}", f"{natural}, for {element}", f"convert it to {natural}")
    values = values_of(t)
    if values.ndim not in (3, 4):
        raise RankError(f"gemm: operand {side} of {_extents(t)}", "two or three modes, the atom's values first", "take one slice along K")
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
    places = _places_of(layout, groups.shape[1])
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

    places = _places_of(mma.atom.C, groups.shape[1])
    flat = np.swapaxes(matrices, -1, -2).reshape(*matrices.shape[:3], math.prod(matrices.shape[3:]))
    own = np.moveaxis(flat[..., places], (-2, -1), (1, 2))
    out = np.zeros((int(groups.max()) + 1, *own.shape[2:]), matrices.dtype)
    out[groups] = own
    return out


# --------------------------------------------------------------------------------------------------- element by element


def clear(t: Any) -> None:
    """Zero every element of a tensor of threads.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import clear
    >>> a = np.ones(4)
    >>> clear(MakeTensor(a)), a.tolist()
    (None, [0.0, 0.0, 0.0, 0.0])

    Source: CuTe `clear`.
    """
    fill(t, 0)


def fill(t: Any, value: Any) -> None:
    """Set every element of a tensor of threads to a value; RangeError for an integer that does not fit.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import fill
    >>> a = np.ones(4)
    >>> fill(MakeTensor(a), 2), a.tolist()
    (None, [2.0, 2.0, 2.0, 2.0])

    Source: CuTe `fill`.
    """
    t = as_tensor("fill", t)
    _write("fill", t, value, _valid(t))


def transform(source: Any, target: Any, f: Callable[..., Any]) -> None:
    """target = f(source) for every element, by numpy: f takes and gives arrays; the types may differ.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import transform
    >>> a, b = np.arange(4.0), np.zeros(4, np.float16)
    >>> transform(MakeTensor(a), MakeTensor(b), np.sqrt), b[1].item()
    (None, 1.0)

    Raises RankError where the extents differ. Source: CuTe `transform`.
    """
    source, target = as_tensor("transform", source), as_tensor("transform", target)
    if math.prod(_extents(source)) != math.prod(_extents(target)):
        raise RankError(f"transform of {source!r} to {target!r}", "as many elements", "partition both the same way")
    values = values_of(source)
    found = f(values)
    _write("transform", target, found.reshape(found.shape[0], *_extents(target)) if found.ndim else found)


def axpby(alpha: Any, x: Any, beta: Any, y: Any) -> None:
    """y = alpha * x + beta * y for every element that is valid of both; where beta is 0, y is not read.

    >>> import numpy as np
    >>> from tla import MakeTensor
    >>> from tla.gpu import axpby
    >>> x, y = np.ones(3), np.arange(3.0)
    >>> axpby(2, MakeTensor(x), 1, MakeTensor(y)), y.tolist()
    (None, [2.0, 3.0, 4.0])

    Raises RankError where the extents differ. Source: CuTe `axpby`.
    """
    x, y = as_tensor("axpby", x), as_tensor("axpby", y)
    if _extents(x) != _extents(y):
        raise RankError(f"axpby of {x!r} and {y!r}", "the same extents", "partition both the same way")
    valid = _valid(x) & _valid(y)
    scaled = alpha * _read("axpby", x, valid)
    _write("axpby", y, scaled if beta == 0 else scaled + beta * _read("axpby", y, valid), valid)
