"""Races by every access: an element that one thread writes, and another touches with no barrier between.

Two levels ask the same: threads of a block between two barriers, and blocks of the grid, which never wait for each other.

Source: the PTX manual, "Memory Consistency Model", "Data-races".
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..gpu.run.sides import memory_of
from ..gpu.run.values import places_of, valid_of
from ..tensors import packed
from ..tensors.tensor import Tensor
from .lines import Line

_NOBODY, _SEVERAL = -1, -2


class Race(NamedTuple):
    """Two threads, or blocks, that touch one element with nothing that orders them; the second access is the one that was found.

    who       "thread" or "block"; "copy" of an asynchronous copy of a thread that nobody has waited for
    memory    where the element is: "shared memory" or "global memory"
    element   its place in the buffer [elements]
    before    who touched it first, and `written` whether that was a write; None where several read it
    line      of that access
    after     who touched it then; `writes` whether that is a write
    at        the line of that access

    >>> from tla.kernels import Race
    >>> from tla.kernels.lines import Line
    >>> print(Race("thread", "shared memory", 5, 1, True, Line("k.py", 7), 2, False, Line("k.py", 8)))
    k.py:8: thread 2 reads element 5 of shared memory, which thread 1 writes at k.py:7: no barrier between

    Source: ours.
    """

    who: str
    memory: str
    element: int
    before: int | None
    written: bool
    line: Line
    after: int
    writes: bool
    at: Line

    def __str__(self) -> str:
        first = f"several {self.who}s read" if self.before is None else f"{self.who} {self.before} {'writes' if self.written else 'reads'}"
        then = "writes" if self.writes else "reads"
        if self.who == "copy":
            first, missing = f"an asynchronous copy of thread {self.before} writes", "no cp_async_wait for it between"
        else:
            missing = "no barrier between" if self.who == "thread" else "blocks do not wait for each other"
        subject = "block" if self.who == "block" else "thread"
        return f"{self.at}: {subject} {self.after} {then} element {self.element} of {self.memory}, which {first} at {self.line}: {missing}"


class Unwritten(NamedTuple):
    """An element of shared memory that is read, and that no thread of the block has written.

    line      of the access, the first of this line
    element   its place in the buffer [elements]
    thread    who reads it

    >>> from tla.kernels import Unwritten
    >>> from tla.kernels.lines import Line
    >>> print(Unwritten(Line("k.py", 7), 5, 2))
    k.py:7: thread 2 reads element 5 of shared memory, which nobody has written

    Source: ours.
    """

    line: Line
    element: int
    thread: int

    def __str__(self) -> str:
        return f"{self.line}: thread {self.thread} reads element {self.element} of shared memory, which nobody has written"


class Access(NamedTuple):
    """The elements that a statement reads or writes.

    tensor   a tensor of threads
    chosen   which of its elements; None for all that are valid
    vector   how many of them an instruction has of each thread
    """

    tensor: Tensor
    chosen: Any = None
    vector: int = 1


class _Touched:
    """The thread that wrote each element of a buffer, the one that read it, and the statements that did."""

    def __init__(self, size: int) -> None:
        import numpy as np

        self.writer, self.reader = (np.full(size, _NOBODY) for _side in range(2))
        self.written_at, self.read_at = (np.zeros(size, int) for _side in range(2))

    def clash(self, places: Any, who: Any, *, writes: bool) -> tuple[int, bool] | None:
        """The index of the first access that races with what is noted, and whether a write was before it."""
        import numpy as np

        for before, wrote in ((self.writer, True), (self.reader, False)) if writes else ((self.writer, True),):
            clash = (before[places] != _NOBODY) & (before[places] != who)
            if clash.any():
                return int(np.argmax(clash)), wrote
        return None

    def note(self, places: Any, who: Any, lines: Any, *, writes: bool) -> tuple[int, bool] | None:
        """Note accesses; what clash finds of them, and of them with each other."""
        import numpy as np

        if (found := self.clash(places, who, writes=writes)) is not None:
            return found
        (self.written_at if writes else self.read_at)[places] = lines
        if not writes:
            others = (self.reader[places] != _NOBODY) & (self.reader[places] != who)
            self.reader[places] = np.where(others, _SEVERAL, who)
            self.reader[places[self.reader[places] != who]] = _SEVERAL  # two threads in this statement
            return None
        self.writer[places] = who
        clash = self.writer[places] != who
        return (int(np.argmax(clash)), True) if clash.any() else None


class _Level:
    """Accesses by threads since a barrier, or by blocks since the launch."""

    def __init__(self, who: str) -> None:
        self.who = who
        self.touched: dict[int, tuple[Tensor, _Touched]] = {}

    def clashes(self, t: Tensor, places: Any, who: Any, *, writes: bool) -> bool:
        """Whether accesses race with what is noted; these are not."""
        found = self.touched.get(_key(t))
        return found is not None and found[1].clash(places, who, writes=writes) is not None

    def of(self, t: Tensor) -> _Touched:
        return self.touched.setdefault(_key(t), (t, _Touched(t.data.size)))[1]  # the tensor keeps its buffer where it is


def _key(t: Tensor) -> int:
    """The place of a tensor's buffer, which tells it from others."""
    place: int = packed.memory_of(t.data).__array_interface__["data"][0]
    return place


class Races:
    """The races of a launch that runs: the first of each pair of lines; and its barriers, with those that were needed.

    A barrier is needed if without it something before it races with something behind it: before it up to the last that was needed,
    behind it up to the next.

    Source: ours.
    """

    def __init__(self, threads: int) -> None:
        self.found: list[Race] = []
        self.threads = threads
        self.unwritten: dict[Line, Unwritten] = {}
        self._written: dict[int, Any] = {}
        self.barriers: dict[Line, bool] = {}
        self._before: list[_Level] = []
        self._last: Line | None = None
        self._is_needed = False
        self._lines: list[Line] = []
        self._threads, self._blocks = _Level("thread"), _Level("block")
        self._block = 0
        self._groups: list[list[tuple[Line, Access]]] = [[]]
        self._under_way: dict[int, Any] = {}

    def commit(self) -> None:
        """End a group of asynchronous copies: cp_async_fence."""
        self._groups.append([])

    def wait_for_copies(self, pending: int) -> None:
        """End all groups but the `pending` newest: each thread has then written what its copies write."""
        ended = self._groups[: max(0, len(self._groups) - 1 - pending)]
        self._groups = self._groups[len(ended) :]
        for line, access in (copy for group in ended for copy in group):
            places, _threads = _accessed(access, self.threads)
            self._copies(access.tensor)[0][places] = _NOBODY
            self.note(line, [], [access])

    def start(self, line: Line, access: Access) -> None:
        """Note an asynchronous copy: until it is waited for nobody may touch what it writes."""
        places, threads = _accessed(access, self.threads)
        self._groups[-1].append((line, access))
        writer, at = self._copies(access.tensor)
        writer[places], at[places] = threads, len(self._lines)
        self._lines.append(line)

    def wait(self, line: Line) -> None:
        """Forget who touched which element: a barrier orders them."""
        self._end_phase()
        self._before.append(self._threads)
        self._threads, self._last, self._is_needed = _Level("thread"), line, False

    def _end_phase(self) -> None:
        """Judge the last barrier by what came behind it."""
        if self._last is not None:
            self.barriers[self._last] = self.barriers.get(self._last, False) or self._is_needed
        if self._is_needed:
            self._before.clear()

    def note(self, line: Line, reads: list[Access], writes: list[Access]) -> None:
        """Note what a statement of all threads reads, then what it writes."""
        number = len(self._lines)
        self._lines.append(line)
        for accesses, written in ((reads, False), (writes, True)):
            for access in accesses:
                if access.tensor.data is not None and memory_of(access.tensor) != "registers":
                    self._note(access, number, written)

    def end_block(self) -> None:
        """End a block: the next has other threads, and shared memory of its own."""
        self._end_phase()
        self._threads, self._before, self._last, self._is_needed = _Level("thread"), [], None, False
        self._groups, self._under_way, self._written = [[]], {}, {}
        self._block += 1

    def _copies(self, t: Tensor) -> Any:
        """The thread whose asynchronous copy is under way to each element of a buffer, and the number of its line."""
        import numpy as np

        fresh = np.full(t.data.size, _NOBODY), np.zeros(t.data.size, int)
        return self._under_way.setdefault(_key(t), fresh)

    def _note(self, access: Access, number: int, written: bool) -> None:
        t = access.tensor
        places, threads = _accessed(access, self.threads)
        self._ask_copies(t, (places, threads), number, written)
        self._ask(self._threads, t, (places, threads), number, written)
        if not self._is_needed:
            self._is_needed = any(level.clashes(t, places, threads, writes=written) for level in self._before)
        if memory_of(t) == "smem":
            self._ask_written(t, places, threads, self._lines[number], written)
        else:
            self._ask(self._blocks, t, (places, threads * 0 + self._block), number, written)

    def _ask(self, level: _Level, t: Tensor, accesses: tuple[Any, Any], number: int, written: bool) -> None:
        places, who = accesses
        touched = level.of(t)
        found = touched.note(places, who, number, writes=written)
        if found is None:
            return
        i, after_write = found
        place = int(places[i])
        before, at = (touched.writer, touched.written_at) if after_write else (touched.reader, touched.read_at)
        first, line = int(before[place]), self._lines[int(at[place])]
        name = None if first == _SEVERAL else first
        self._add(Race(level.who, name_of(t), place, name, after_write, line, int(who[i]), written, self._lines[number]))

    def _ask_written(self, t: Tensor, places: Any, threads: Any, line: Line, written: bool) -> None:
        """Note what a block has written of its shared memory, and the first of a line that it reads before."""
        import numpy as np

        held = self._written.setdefault(_key(t), np.zeros(t.data.size, bool))
        if written:
            held[places] = True
        elif line not in self.unwritten and not held[places].all():
            i = int(np.argmin(held[places]))
            self.unwritten[line] = Unwritten(line, int(places[i]), int(threads[i]))

    def _ask_copies(self, t: Tensor, accesses: tuple[Any, Any], number: int, written: bool) -> None:
        """Add the race of an access with an asynchronous copy that is under way."""
        if _key(t) not in self._under_way:
            return
        (places, who), (writer, at) = accesses, self._copies(t)
        clash = writer[places] != _NOBODY
        if clash.any():
            i = int(clash.argmax())
            place = int(places[i])
            line = self._lines[int(at[place])]
            self._add(Race("copy", name_of(t), place, int(writer[place]), True, line, int(who[i]), written, self._lines[number]))

    def _add(self, race: Race) -> None:
        if not any((race.line, race.at, race.who) == (r.line, r.at, r.who) for r in self.found):
            self.found.append(race)


def name_of(t: Tensor) -> str:
    return "shared memory" if memory_of(t) == "smem" else "global memory"


def places_and_chosen(access: Access, threads: int) -> tuple[Any, Any]:
    """The places in the buffer, and whether each is accessed: arrays of (thread, modes). What no thread has alone all access."""
    import numpy as np

    places = places_of(access.tensor)
    chosen = valid_of(access.tensor) if access.chosen is None else access.chosen
    several, *modes = np.broadcast_shapes(places.shape, np.shape(chosen))
    shape = threads if several == 1 else several, *modes
    return np.broadcast_to(places, shape), np.broadcast_to(chosen, shape)


def _accessed(access: Access, threads: int) -> tuple[Any, Any]:
    """The places in the buffer that are accessed, and the thread of each."""
    import numpy as np

    places, chosen = places_and_chosen(access, threads)
    who = np.arange(len(places)).reshape(-1, *(1,) * (places.ndim - 1))
    return places[chosen], np.broadcast_to(who, places.shape)[chosen]
