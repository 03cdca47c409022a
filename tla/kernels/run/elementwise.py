"""Algorithms that are element by element, executed on numpy for all threads at once: transform, reduce, shuffle_xor.

Floats of less than 32 bits, and integers, are computed in float32, and rounded where they are written; so are they in a
kernel's text.

Source: CuTe include/cute/algorithm/tensor_algorithms.hpp, transform; CUDA `__shfl_xor_sync`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import InjectivityError, LeafTypeError, RankError
from ...core.int_tuple import shown
from ...core.values import converted
from ...gpu.run.sides import memory_of
from ...gpu.run.values import places_of, put, valid_of
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor, require_data, require_mutable

#: The types that instructions add atomically on every GPU.
_ATOMIC = "float32", "float64", "int32", "uint32"
#: The integers that functions of elements take as float32, to the nearest.
_CONVERTED = frozenset(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32))


def run_transform(operands: Sequence[Any], f: Callable[..., Any]) -> list[Tensor]:
    """The last of the operands = f(the others), for every element that is valid of all; the operands as tensors."""
    *sources, target = tensors = [as_tensor("transform", x) for x in operands]
    require_elements("transform", tensors)
    valid, parts = aligned("transform", tensors)
    require_own_places("transform", target, parts[-1], valid)
    with _quiet():
        found = _of_elements("transform", f, [_computed("transform", x, places) for x, places in zip(sources, parts)])
    _write("transform", target, parts[-1], found, valid)
    return tensors


def run_reduce(source: Any, target: Any, f: Callable[..., Any]) -> list[Tensor]:
    """target = f(target, element of source), one element after the other, as several may have one place there."""
    tensors = [as_tensor("reduce", x) for x in (source, target)]
    source, target = tensors
    require_registers("reduce", target)
    valid, (places, into) = aligned("reduce", _floats("reduce", tensors))
    with _quiet():
        given = _computed("reduce", source, places)
        for i in range(places.shape[1]):
            so_far = _computed("reduce", target, into[:, i])
            _write("reduce", target, into[:, i], _of_elements("reduce", f, [so_far, given[:, i]]), valid[:, i])
    return tensors


def run_shuffle(source: Any, target: Any, mask: int, threads: int) -> list[Tensor]:
    """target of each thread = source of the thread whose number differs by the bits of a mask."""
    import numpy as np

    tensors = [as_tensor("shuffle_xor", x) for x in (source, target)]
    source, target = tensors
    for t in tensors:
        require_registers("shuffle_xor", t)
    require_other_registers(source, target)
    valid, (places, into) = aligned("shuffle_xor", _floats("shuffle_xor", tensors))
    require_own_places("shuffle_xor", target, into, valid)
    shape = (threads, places.shape[1])
    places, into = (np.broadcast_to(x, shape) for x in (places, into))
    _write("shuffle_xor", target, into, source.data[places[np.arange(threads) ^ mask]], np.broadcast_to(valid, shape))
    return tensors


def run_atomic_add(source: Any, target: Any, threads: int) -> list[Tensor]:
    """target = target + source for every element that is valid of both, by all threads one after the other."""
    import numpy as np

    tensors = [as_tensor("atomic_add", x) for x in (source, target)]
    source, target = tensors
    require_atomic(source, target)
    require_mutable("atomic_add", target)
    valid, (places, into) = aligned("atomic_add", tensors)
    shape = (threads, places.shape[1])
    valid, places, into = (np.broadcast_to(x, shape) for x in (valid, places, into))
    with _quiet():
        np.add.at(target.data, into[valid], source.data[places[valid]])
    return tensors


def require_atomic(source: Tensor, target: Tensor) -> None:
    """LeafTypeError for elements that no instruction adds atomically, and for a target in registers."""
    for t in (source, target):
        require_data("atomic_add", t)
    if str(target.dtype) not in _ATOMIC or source.dtype != target.dtype:
        what = f"atomic_add of {source.dtype} to {target.dtype}"
        fix = "copy the source to registers of the target's type"
        raise LeafTypeError(what, f"one type of {', '.join(_ATOMIC)}", fix)
    if memory_of(target) == "registers":
        what = "atomic_add to registers"
        fix = "use axpby(1, source, 1, target)"
        raise LeafTypeError(what, "shared memory or an argument, to which others add", fix)


def require_registers(where: str, t: Tensor) -> None:
    """LeafTypeError for a tensor that is not in registers."""
    if memory_of(t) != "registers":
        raise not_registers(where, memory_of(t) or "memory")


def not_registers(where: str, memory: str) -> LeafTypeError:
    """The error of a tensor that is in another memory."""
    what = f"{where} of a tensor in {memory}"
    fix = "copy it to make_fragment_like(partition) first"
    return LeafTypeError(what, "registers, which each thread has of its own", fix)


def require_other_registers(source: Tensor, target: Tensor) -> None:
    """LeafTypeError for one tensor's registers, of which another thread may read what is written already."""
    if source.data is target.data:
        what = "shuffle_xor of registers to themselves"
        raise LeafTypeError(what, "registers of two tensors", "make_fragment_like(source) for the target")


def require_as_many(where: str, tensors: Sequence[Tensor], counts: Sequence[int]) -> None:
    """RankError for tensors whose numbers of elements differ, and are not 1."""
    if len({*counts} - {1}) > 1 or (counts[-1] < max(counts, default=1) and where in ("transform", "atomic_add")):
        shapes = ", ".join(shown(t.shape) for t in tensors)
        what = f"{where} of tensors of {shapes}"
        raise RankError(what, "as many elements, or one that stands for all", "partition them the same way")


def require_floats(where: str, t: Tensor) -> None:
    """LeafTypeError for elements that are no floats, which a function of elements is of."""
    require_data(where, t)
    if t.dtype.kind in "biuc":
        what = f"{where} of {t.dtype}"
        expected = "floats, which functions of elements are of; integers of 8 to 32 bits as sources of transform"
        raise LeafTypeError(what, expected, "transform it to registers of float32, or use axpby or copy")


def require_elements(where: str, tensors: Sequence[Tensor]) -> None:
    """LeafTypeError for what is no float; of transform the sources may be integers that instructions convert."""
    for t in tensors:
        require_data(where, t)
        if where != "transform" or t is tensors[-1] or str(t.dtype) not in _CONVERTED:
            require_floats(where, t)


def _floats(where: str, tensors: list[Tensor]) -> list[Tensor]:
    require_elements(where, tensors)
    return tensors


def aligned(where: str, tensors: Sequence[Tensor]) -> tuple[Any, list[Any]]:
    """Whether all elements are valid, and the places of each tensor, of (thread, element) in one index's order."""
    import numpy as np

    found = []
    for t in tensors:
        places = places_of(t)
        both = (np.broadcast_to(x, places.shape) for x in (places, valid_of(t)))
        found.append([x.reshape(len(places), -1, order="F") for x in both])
    require_as_many(where, tensors, [p.shape[1] for p, _valid in found])
    shape = (max(len(p) for p, _valid in found), max(p.shape[1] for p, _valid in found))
    valid = functools.reduce(np.logical_and, (np.broadcast_to(v, shape) for _places, v in found))
    return valid, [np.broadcast_to(p, shape) for p, _valid in found]


def _computed(where: str, t: Tensor, places: Any) -> Any:
    """Elements in the type that functions compute in: float32 for smaller floats, and integers. Any where not valid."""
    import numpy as np

    found, least = t.data[np.minimum(places, t.data.size - 1)], np.dtype(np.float32)
    wide = found.dtype.itemsize >= least.itemsize and str(found.dtype) not in _CONVERTED
    return found if wide else converted(where, found, least)


def _of_elements(where: str, f: Callable[..., Any], given: list[Any]) -> Any:
    """The elements that a function makes of these, all in the widest of their types."""
    import numpy as np

    kind = np.result_type(*given)
    found = np.asarray(f(*(converted(where, x, kind) for x in given)))
    if found.shape not in ((), given[0].shape):
        what = f"{where}: an array of {found.shape} for one of {given[0].shape}"
        raise RankError(what, "an element for each", "leave out sums and shapes")
    return np.broadcast_to(found, given[0].shape)


def _write(where: str, t: Tensor, places: Any, values: Any, chosen: Any) -> None:
    put(where, t, places[chosen], converted(where, values[chosen], t.dtype))


def require_own_places(where: str, t: Tensor, places: Any, valid: Any) -> None:
    """InjectivityError for a target with one place for several elements of a thread: of (thread, element)."""
    import numpy as np

    apart = -1 - np.arange(places.shape[1])  # what is not valid is not written
    ordered = np.sort(np.where(valid, places, apart), axis=1)
    if (ordered[:, 1:] == ordered[:, :-1]).any():
        raise of_one_place(where, t)


def of_one_place(where: str, t: Tensor) -> InjectivityError:
    """The error of a target whose elements a text would write one after the other, and numpy at once."""
    what = f"{where} to {shown(t.layout)}: several elements of a thread have one place"
    return InjectivityError(what, "a place for each element", "write to the tensor of the places, or reduce(...)")


def _quiet() -> Any:
    """No warnings of numpy: infinities and NaNs are answers here, as they are in C."""
    import numpy as np

    return np.errstate(all="ignore")
