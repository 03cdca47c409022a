"""tla.compat.tensor_layouts: by definition, and beside tensor-layouts where it is installed."""

import random

import pytest
from test_pycute import offset, some, values

from tla import TlaError
from tla.compat import tensor_layouts as ours

CASES = [(some(rng), some(rng)) for rng in [random.Random(11)] for _ in range(60)]


def test_operations_by_definition():
    found = 0
    for one, two in CASES:
        a, b = ours.Layout(*one), ours.Layout(*two)
        at = values(a)
        assert [a(c) for c in a] == at
        assert values(ours.coalesce(a)) == at
        assert [at[i] for i in values(ours.right_inverse(a))] == [*range(ours.size(ours.right_inverse(a)))]
        assert [ours.left_inverse(a)(x) for x in at] == [*range(len(at))]
        try:
            c = ours.compose(a, b)
        except TlaError:
            continue
        found += 1
        assert values(c) == [offset(x, *one) for x in values(b)]
    assert found > 30


def test_beside_tensor_layouts():
    """The same texts of layouts and of what takes their modes; the same functions of what they both divide."""
    theirs = pytest.importorskip("tensor_layouts", reason="needs tensor-layouts: pip install tensor-layouts==0.3.2")
    same = 0
    for one, _ in CASES:
        a, b = (m.Layout(*one) for m in (ours, theirs))
        assert (str(a), repr(a), list(a), ours.cosize(a)) == (str(b), repr(b), list(b), theirs.cosize(b))
        assert str(ours.append(a, ours.Layout(3, 500))) == str(theirs.append(b, theirs.Layout(3, 500)))
        assert str(ours.complement(a, 96)) == str(theirs.complement(b, 96))
        for name in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"):
            try:
                found, wanted = getattr(ours, name)(a, 2), getattr(theirs, name)(b, 2)
            except (TlaError, ValueError):
                continue
            assert values(found)[: a.size()] == values(a)
            if found.size() == theirs.size(wanted) == a.size():  # theirs rounds up where the first mode is shorter than the tile
                same += 1
                assert [wanted(i) for i in range(a.size())] == values(found)
    assert same > 100


def test_modes():
    a = ours.Layout((2, 3, 4))
    assert ours.group(a, 1, 3) == ours.Layout((2, (3, 4)), (1, (2, 6)))
    assert ours.replace(a, 1, ours.Layout(5, 7)) == ours.Layout((2, 5, 4), (1, 7, 6))
    assert ours.prepend(a, ours.Layout(5, 7)) == ours.Layout((5, 2, 3, 4), (7, 1, 2, 6))
    assert (ours.rank(a), ours.mode(a, 2)) == (3, ours.Layout(4, 6))
