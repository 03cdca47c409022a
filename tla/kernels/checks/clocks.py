"""The statements of other threads that each thread knows to have ended: by barriers, and by mbarriers that
it has waited for.

Source: L. Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; vector clocks,
C. Fidge, 1988.
"""

from __future__ import annotations

from typing import Any

from ..block.touched import NOBODY, SEVERAL


class Clocks:
    """For each thread, by the number of a statement, up to where it knows that every thread has come; and what it would
    know without the last barrier, and those before it that nobody needs.

    >>> from tla.kernels.checks.clocks import Clocks
    >>> clocks = Clocks(4)
    >>> told = clocks.arriving(0, 7)
    >>> clocks.learn(told)
    >>> clocks.know(0, 7, 3), clocks.know(1, 7, 3)
    (True, False)

    Source: ours.
    """

    def __init__(self, threads: int) -> None:
        import numpy as np

        self._known = np.full((threads, threads), -1)
        self._without = self._known.copy()

    def arriving(self, thread: int | None, number: int) -> Any:
        """Up to where each thread has come, as a thread knows at a statement; None: as all of them know together."""
        import numpy as np

        if thread is None:
            return np.full(len(self._known), number)
        told = self._known[thread].copy()
        told[thread] = number
        return told

    def learn(self, told: Any) -> None:
        """Let every thread know what it is told."""
        import numpy as np

        for table in (self._known, self._without):
            np.maximum(table, told, out=table)

    def wait(self, number: int, *, needed: bool) -> None:
        """Let all know, by a barrier, that all have come to a statement. needed: whether the barrier before was."""
        import numpy as np

        if needed:
            self._without = self._known.copy()
        np.maximum(self._known, number, out=self._known)

    def meet(self, together: int, number: int) -> None:
        """Let the threads of each group of so many know that the others have come to a statement."""
        import numpy as np

        for table in (self._known, self._without):
            for begin in range(0, len(table), together):
                group = table[begin : begin + together, begin : begin + together]
                np.maximum(group, number, out=group)

    def unknown(self, number: int, *, without: bool = False) -> int | None:
        """A thread of which the first thread does not know that it has come to a statement; None where there is none.

        without   whether the last barrier does not count
        """
        known = (self._without if without else self._known)[0, 1:]
        return next((t + 1 for t, at in enumerate(known.tolist()) if at < number), None)

    def come_to(self, number: int) -> int:
        """The statement that all threads have come to, as the first one knows at a statement."""
        return int(min([number, *self._known[0, 1:].tolist()]))

    def know(self, before: Any, at: Any, who: Any) -> Any:
        """Whether `who` know that statements `at` of the threads `before` have ended; of SEVERAL all do, or of all."""
        import numpy as np

        n = len(self._known)
        table = np.full((n + 2, n + 2), -1)  # NOBODY and SEVERAL are the last rows and columns
        table[:n, :n] = self._known
        table[SEVERAL, :n] = self._known.min(axis=0)
        table[:n, SEVERAL] = self._known.min(axis=1)
        table[SEVERAL, SEVERAL] = self._known.min()
        found = (at <= table[who, before]) | np.equal(before, NOBODY)
        return bool(found) if found.ndim == 0 else found
