"""What a refused composition offers works, and nothing nearer does."""

import itertools
import re
from collections import Counter

import pytest

import tla
from tla import DivisibilityError, parse


def is_layout(a, b):
    try:
        return bool(tla.composition(parse(a), parse(b)))
    except DivisibilityError:
        return False


@pytest.mark.parametrize("place", [1, 3])
def test_the_strides_and_extents_that_a_refused_composition_offers(place):
    """The next smaller and larger stride that divides the extent or is divided by it, and the extent rounded up to
    whole strides: each where there is a composition then, which every other number of these is tried for too."""
    seen = Counter()
    for n, s, d in itertools.product(range(3, 14, 2), (2, 3), range(2, 20)):
        outer = "(_{},_2):(_1,_100)" if place == 1 else "(_3,_{},_2):(_1000,_1,_100)"
        a, b = outer.format(n), f"_{s}:_{d * place}"
        if n % d == 0 or d % n == 0 or is_layout(a, b):
            continue
        with pytest.raises(
            DivisibilityError, match=f"stride {d * place} does not step evenly through extent {n} "
        ) as caught:
            tla.composition(parse(a), parse(b))
        fix = caught.value.reason.fix
        near = [
            next((k for k in side if n % k == 0 or k % n == 0), 0) for side in (range(d - 1, 0, -1), range(d + 1, 99))
        ]
        strides = [k * place for k in near if k and is_layout(a, f"_{s}:_{k * place}")]
        extents = [k for k in [-(-n // d) * d] if is_layout(outer.format(k), b)]
        offered = [
            [int(k) for k in re.findall(r"\d+", part)]
            for part in re.findall(r"use stride ([\d or]+)|pad that mode to (\d+)", fix)
            for part in part
            if part
        ]
        assert offered == [x for x in (strides, extents) if x], (a, b, fix)
        seen[len(strides), len(extents)] += 1
    assert min(seen[2, 1], seen[2, 0]) > 15, seen


def test_strides_that_are_far_off_are_not_offered():
    for d, offered in ((16, "use stride 1 or 4111$"), (15, "use stride 1$")):  # 4,095 and 4,096 away from the next
        with pytest.raises(DivisibilityError, match=offered):
            tla.composition(parse("(_4111,_2):(_1,_10000)"), parse(f"_300:_{d}"))
