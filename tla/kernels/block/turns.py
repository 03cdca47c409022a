"""Functions that take turns: each runs until it has to wait for another one, as the blocks of a cluster do.

Each runs in a thread of Python's, of which one goes on at a time, the first that can: so a run is the same every time.

Source: ours; coroutines, M. Conway, "Design of a Separable Transition-Diagram Compiler", 1963.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable


class _Abandoned(BaseException):
    """The end of a function whose turn does not come again, because another one has raised an error."""


class _Turn:
    """A function's thread: `ready` tells whether it can go on, `stuck` that it never can."""

    def __init__(self, function: Callable[[], None], back: threading.Semaphore) -> None:
        self.go, self.back = threading.Semaphore(0), back
        self.ready: Callable[[], bool] = lambda: True
        self.ended = self.stuck = self.abandoned = False
        self.error: BaseException | None = None
        self._function = function
        self.thread = threading.Thread(target=contextvars.copy_context().run, args=(self._run,), daemon=True)

    def _run(self) -> None:
        self.go.acquire()
        try:
            if not self.abandoned:
                self._function()
        except _Abandoned:
            pass
        except BaseException as error:  # raised again where the turns are taken
            self.error = error
        self.ended = True
        self.back.release()


class Turns:
    """Functions that run one at a time. `take` runs them all; a function calls `wait` where it needs others to go on.

    >>> from tla.kernels.block.turns import Turns
    >>> said, turns = [], Turns()
    >>> def first():
    ...     print(turns.wait(lambda: bool(said)), said)
    >>> turns.take([first, lambda: said.append("second")])
    True ['second']
    >>> turns.take([lambda: print(turns.wait(lambda: False))])
    False

    Source: ours.
    """

    def __init__(self) -> None:
        self._now: _Turn | None = None

    def take(self, functions: list[Callable[[], None]]) -> None:
        """Run functions to their ends; an error of one ends all, and is raised."""
        back = threading.Semaphore(0)
        turns = [_Turn(f, back) for f in functions]
        for turn in turns:
            turn.thread.start()
        try:
            while left := [x for x in turns if not x.ended]:
                able = next((x for x in left if x.ready()), None)
                turn = able or left[0]
                turn.stuck = able is None
                self._give(turn, back)
                if turn.error is not None:
                    raise turn.error
        finally:
            for turn in turns:
                turn.abandoned = True
                while not turn.ended:
                    self._give(turn, back)
                turn.thread.join()

    def _give(self, turn: _Turn, back: threading.Semaphore) -> None:
        """Let a function run until it waits or ends."""
        self._now = turn
        turn.go.release()
        back.acquire()

    def wait(self, ready: Callable[[], bool]) -> bool:
        """Let others run until something holds; False where nobody can bring it about, then the caller refuses."""
        turn = self._now
        assert turn is not None  # functions wait while they run
        if ready():
            return True
        turn.ready = ready
        turn.back.release()
        turn.go.acquire()
        if turn.abandoned:
            raise _Abandoned
        turn.ready = lambda: True
        return not turn.stuck
