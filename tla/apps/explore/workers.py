"""Processes that make the answers of the page: an answer that takes too long is ended with its process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...core.errors import RangeError, TlaError
from .answer import as_json, refusal

#: An answer takes no longer [seconds]; so many are made at once; of more the oldest ends, if none ends so soon by
#: itself [seconds].
MAX_SECONDS, MAX_AT_ONCE, PATIENCE = 10.0, 4, 1.0

_PROGRAM = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from tla.apps.explore.workers import work; work()"
_READY = b"ready\n"


def work() -> None:
    """Answer the questions on standard input, a line of JSON each. A refusal is an answer too."""
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    for line in sys.stdin.buffer:
        path, question = json.loads(line)
        sys.stdout.buffer.write(as_json(path, question).encode() + b"\n")
        sys.stdout.buffer.flush()


class _Worker:
    """A process that answers. `why` is the reason for which it was ended, None while it was not."""

    def __init__(self) -> None:
        command = [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)]
        pipe = subprocess.PIPE  # in a session of its own: Ctrl-C is for the server
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True)
        self._started = False
        self.why: TlaError | None = None

    def ask(self, question: tuple[Any, ...]) -> bytes:
        """The answer as JSON; b"" of a process that ends meanwhile."""
        assert self._process.stdin
        assert self._process.stdout
        late = threading.Timer(MAX_SECONDS, self.end, (_late(),))
        try:
            self._started = self._started or self._process.stdout.readline() == _READY
            late.start()
            self._process.stdin.write(json.dumps(question).encode() + b"\n")
            self._process.stdin.flush()
            found = self._process.stdout.readline()
        except (OSError, ValueError):  # it is gone, or its pipes are closed
            found = b""
        late.cancel()
        if late.ident is not None:  # it was started
            late.join()  # so that `why` stays as it is
        if not found and self.why is None:
            what, expected = "an answer that ended its process", "one that takes less memory"
            self.end(RangeError(what, expected, "look at a part, or take smaller extents"))
        return found

    def end(self, why: TlaError) -> None:
        self.why = self.why or why
        self._process.kill()

    def close(self) -> None:
        """Reap the process, and close its pipes."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:  # what was not read is lost
                    continue


def _late() -> TlaError:
    fix = "give sizes values, look at a part, or take smaller extents"
    return RangeError(f"an answer of more than {MAX_SECONDS:g} seconds", "less work", fix)


class Workers:
    """So many processes as are asked at once, MAX_AT_ONCE at most; one that waits is kept ready.

    >>> workers = Workers()
    >>> workers.answer("/answer", {"text": "(2,3):(3,1)"})[:23]
    b'{"value":"(2,3):(3,1)",'
    >>> workers.close()
    """

    def __init__(self) -> None:
        self._busy, self._free = list[_Worker](), threading.Condition()
        self._idle, self._closed = [_Worker()], False

    def answer(self, *question: object) -> bytes:
        """The answer of a path to a question, as JSON; if it takes too long, an error that says so."""
        with self._taken() as worker:
            return worker.ask(question) or json.dumps(refusal(worker.why or _late())).encode()

    @contextmanager
    def _taken(self) -> Iterator[_Worker]:
        with self._free:
            if not self._free.wait_for(lambda: len(self._busy) < MAX_AT_ONCE, PATIENCE):
                what = f"an answer that made way for {MAX_AT_ONCE} newer questions"
                self._busy.pop(0).end(RangeError(what, "less work at once", "ask again"))
            worker = self._idle.pop() if self._idle else _Worker()
            self._busy.append(worker)
        try:
            yield worker
        finally:
            with self._free:
                self._busy = [w for w in self._busy if w is not worker]
                if not self._closed:
                    self._idle += [] if worker.why and self._idle else [_Worker() if worker.why else worker]
                self._free.notify()
            if worker.why or self._closed:
                worker.close()

    def close(self) -> None:
        """End all of them."""
        with self._free:
            self._closed = True  # what is busy starts no other when it ends
            for worker in (*self._idle, *self._busy):
                worker.close()
            self._idle.clear()
