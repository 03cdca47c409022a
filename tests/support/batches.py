"""Rows of one test in batches: an item of pytest's own for each of hundreds costs more than what most of them check."""

import functools
import inspect

import pytest


def in_batches(rows, size=50):
    """Parametrize a test of one row by batches of `rows`. It is called once for each row, so that a failure shows the
    row among the arguments of the frame that failed."""
    rows = [*rows]
    batches = {f"{start}-{start + size - 1}": rows[start : start + size] for start in range(0, len(rows), size)}

    def decorated(test):
        @functools.wraps(test)
        def run(batch):
            for row in batch:
                test(row)

        run.__signature__ = inspect.signature(lambda batch: None)
        return pytest.mark.parametrize("batch", batches.values(), ids=batches.keys())(run)

    return decorated
