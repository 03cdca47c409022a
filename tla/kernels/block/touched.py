"""The elements of a buffer that a statement touches, and what is known of them.

Source: ours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...gpu.run.sides import memory_of
from ...gpu.run.values import places_of, valid_of
from ...tensors import packed
from ...tensors.tensor import Tensor
from .allocation import PLACES, place_of

#: In place of a thread's number.
NOBODY, SEVERAL = -1, -2


class Access(NamedTuple):
    """The elements that a statement reads or writes.

    tensor   a tensor of threads
    chosen   which of its elements; None for all that are valid
    vector   how many of them an instruction has of each thread
    together   how many threads ask for them as one, whose elements are those of the first: a warpgroup's
               product; else 1
    adds       whether it is a write that adds atomically
    """

    tensor: Tensor
    chosen: Any = None
    vector: int = 1
    together: int = 1
    adds: bool = False


class Marks:
    """Elements of buffers that a thread is said to hold: who, and by which statement."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[Tensor, Any, Any]] = {}

    def put(self, t: Tensor, places: Any, who: Any, number: int) -> None:
        """Mark elements."""
        import numpy as np

        fresh = t, np.full(count_of(t), NOBODY), np.zeros(count_of(t), int)
        _t, holder, at = self._held.setdefault(key_of(t), fresh)
        holder[places], at[places] = who, number

    def each(self, t: Tensor, places: Any) -> list[tuple[int, int, int]]:
        """Who holds elements that are marked, the number of the statement, and a place: of each statement one."""
        import numpy as np

        if key_of(t) not in self._held:
            return []
        _t, holder, at = self._held[key_of(t)]
        marked = places[holder[places] != NOBODY]
        numbers, firsts = np.unique(at[marked], return_index=True)
        return [(int(holder[place]), int(n), int(place)) for n, place in zip(numbers, marked[firsts])]

    def clear(self) -> None:
        """Take all marks away."""
        self._held.clear()

    def first(self, t: Tensor, places: Any) -> tuple[int, int, int] | None:
        """The index of the first marked element, who holds it, the statement's number; None where none is marked."""
        if key_of(t) not in self._held:
            return None
        _t, holder, at = self._held[key_of(t)]
        marked = holder[places] != NOBODY
        if not marked.any():
            return None
        i = int(marked.argmax())
        return i, int(holder[places[i]]), int(at[places[i]])


def key_of(t: Tensor) -> int:
    """The place of a tensor's buffer, which tells it from others while it is held."""
    place: int = packed.memory_of(t.data).__array_interface__["data"][0]
    return place


def name_of(t: Tensor) -> str:
    """The name of a tensor's memory, in words."""
    return {"smem": "shared memory", "TMEM": "tensor memory"}.get(memory_of(t) or "", "global memory")


def count_of(t: Tensor) -> int:
    """The number of places of a tensor's buffer that are told apart."""
    return PLACES if memory_of(t) == "TMEM" else int(t.data.size)


def places_and_chosen(access: Access, threads: int) -> tuple[Any, Any]:
    """The places in the buffer, and which are accessed: of (thread, modes). What no thread has alone, all access."""
    import numpy as np

    places = places_of(access.tensor)
    if memory_of(access.tensor) == "TMEM":
        places = place_of(places)
    chosen = valid_of(access.tensor) if access.chosen is None else access.chosen
    several, *modes = np.broadcast_shapes(places.shape, np.shape(chosen))
    shape = threads if several == 1 else several, *modes
    return np.broadcast_to(places, shape), np.broadcast_to(chosen, shape)


def accessed(access: Access, threads: int) -> tuple[Any, Any]:
    """The places in the buffer that are accessed, and the thread of each: of several as one SEVERAL."""
    import numpy as np

    places, chosen = places_and_chosen(access, threads)
    if access.together > 1:
        places, chosen = (x[:: access.together] for x in (places, chosen))
    who = np.arange(len(places)) if access.together == 1 else np.full(len(places), SEVERAL)
    return places[chosen], np.broadcast_to(who.reshape(-1, *(1,) * (places.ndim - 1)), places.shape)[chosen]
