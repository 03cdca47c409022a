"""How much is gone through: a sample by default, much more with `pytest --night` (or HYPOTHESIS_PROFILE=night)."""

import os

NIGHT = os.environ.get("HYPOTHESIS_PROFILE") == "night"


def amount(by_day, at_night):
    """How many cases, seconds or choices a test takes."""
    return at_night if NIGHT else by_day


def some(rows, every):
    """The last of each `every` rows by day, or the last one of fewer; all of them by night."""
    rows = [*rows]
    return rows if NIGHT else rows[every - 1 :: every] or rows[-1:]
