"""Python's search for cycles of dead objects, left out for a while.

Each time some hundred objects are made it begins, and now and then it goes through all that there are. What a long text
is read into is hundreds of thousands of objects that live on and have no cycles: it finds nothing there, and takes as
long as the reading.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Leave out the search for cycles, in a block or in a function that this decorates; what has no cycles is
    freed as ever.

    >>> import gc
    >>> with uncollected():
    ...     print(gc.isenabled())
    False
    >>> gc.isenabled()
    True
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            if not gc.get_freeze_count():  # what was made counts as old: else the next search begins with all of it
                gc.freeze()
                gc.unfreeze()
            gc.enable()
