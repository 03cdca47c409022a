"""Registers of a thread that hold what is still read: from each write of an element to the last read before
the next one.

Source: live ranges, as compilers have them; of fragments alone, and in the order of the kernel's
statements: an estimate.
"""

from __future__ import annotations

import math
from typing import Any

from ...gpu.run.values import places_of
from ...tensors.tensor import Tensor
from ..block.lines import Line
from ..block.touched import key_of


class LiveRegisters:
    """The registers of a block's first thread, while its statements are executed.

    >>> import numpy as np
    >>> from tla import MakeTensor, parse
    >>> from tla.kernels.block.lines import Line
    >>> live, held = LiveRegisters(), MakeTensor(np.zeros(4, np.float32), parse("_4:_1"), position="registers")
    >>> live.touch(held, Line("k.py", 1), written=True)
    >>> live.touch(held, Line("k.py", 2), written=False)
    >>> live.end_block()
    >>> live.most
    (4, Line(file='k.py', number=1))

    Source: ours.
    """

    _BYTES = 4

    def __init__(self) -> None:
        self.most: tuple[int, Line | None] = 0, None
        self._start_block()

    def _start_block(self) -> None:
        self._lines: list[Line] = []
        self._changes: dict[int, int] = {}
        self._held: dict[int, tuple[Tensor, Any, Any]] = {}

    def touch(self, t: Tensor, line: Line, *, written: bool) -> None:
        """Note that a statement reads, or writes, registers."""
        import numpy as np

        places, now = places_of(t)[0].ravel(), len(self._lines)
        self._lines.append(line)
        fresh = t, np.full(t.data.size, -1), np.full(t.data.size, -1)
        _t, since, until = self._held.setdefault(key_of(t), fresh)
        if written:
            self._end(t, since, until, places)
            since[places], until[places] = now, -1
        else:
            until[places] = now

    def _end(self, t: Tensor, since: Any, until: Any, places: Any) -> None:
        """End the ranges of elements not read before their next write; one that nobody reads is of its statement."""
        import numpy as np

        places = np.unique(places)
        written = places[since[places] >= 0]
        for at, sign in (since[written], 1), (np.maximum(until[written], since[written] + 1), -1):
            for event, count in zip(*(x.tolist() for x in np.unique(at, return_counts=True))):
                self._changes[event] = self._changes.get(event, 0) + sign * count * t.data.itemsize

    def end_block(self) -> None:
        """Find the statement at which most is held."""
        import numpy as np

        for t, since, until in self._held.values():
            self._end(t, since, until, np.arange(t.data.size))
        held = 0
        for event in sorted(self._changes):
            held += self._changes[event]
            if (count := math.ceil(held / self._BYTES)) > self.most[0]:
                self.most = count, self._lines[event]
        self._start_block()
