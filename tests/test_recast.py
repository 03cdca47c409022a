"""What is valid of elements of another width."""

import itertools
import random
from collections import Counter

import tla
from tla import DivisibilityError

from corpus import partly_valid


def valid_offsets(layout):
    """The offsets of the valid coordinates, by the definition."""
    coords = itertools.product(*map(range, map(int, layout.origin_shape)))
    return {layout(c if isinstance(layout.shape, tuple) else c[0]) for c in coords}


def test_what_is_valid_of_elements_of_another_width():
    """Wide elements are valid where they are so as a whole; it is None exactly where one is not."""
    rng, seen = random.Random(5), Counter()
    for _k in range(300):
        a, n = partly_valid(rng, [4, 8, (2, 4), (2, 2), (2, 2, 3), (2, 2, 2)]), rng.choice((2, 4))
        old = valid_offsets(a)
        narrow, wide = {n * x + k for x in old for k in range(n)}, {x // n for x in old}
        down = tla.downcast[n](a)
        assert down.origin_shape is None or valid_offsets(down) == narrow, (a, a.origin_shape)
        try:
            up = tla.upcast[n](a)
        except DivisibilityError:
            continue
        whole = old == {n * x + k for x in wide for k in range(n)}
        assert (up.origin_shape is not None) is whole, (a, a.origin_shape, up)
        assert not whole or valid_offsets(up) == wide, (a, a.origin_shape, up)
        seen[down.origin_shape is not None, whole] += 1
    assert min(seen[True, True], seen[True, False], seen[False, False]) > 20, seen
