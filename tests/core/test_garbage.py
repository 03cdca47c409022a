"""Objects that are made while nothing looks for cycles among them."""

import subprocess
import sys

#: Whether it goes on searching, and whether what was made is old then, which the next search passes over.
MADE = """
import gc
from tla.core.garbage import uncollected

gc.get_freeze_count = lambda: {frozen}
with uncollected():
    made = [[k] for k in range(3000)]
print(gc.isenabled(), any(x is made[7] for x in gc.get_objects(generation=2)))
"""


def test_what_is_made_is_not_searched_next():
    for frozen in (0, 375):  # which Python 3.12 begins with
        command = [sys.executable, "-c", MADE.format(frozen=frozen)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["True", "True"], frozen
