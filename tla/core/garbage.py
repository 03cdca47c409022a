"""Python's search for cycles of dead objects, left out for a while.

Each time some hundred objects are made it begins, and now and then it goes through all that there are. What a long text
is read into is hundreds of thousands of objects that live on and have no cycles: it finds nothing there, and takes as
long as the reading.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

#: A caller who freezes has more objects than these; Python 3.12 begins with some hundred of its own.
_MINE = 2000


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
            if gc.get_freeze_count() < _MINE:  # what was made counts as old: else the next search begins with all of it
                gc.freeze()
                gc.unfreeze()
            gc.enable()
