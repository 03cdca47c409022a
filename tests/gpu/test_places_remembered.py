"""Places of elements that are remembered: those of the layout itself, wherever a tensor begins, and of nobody to change."""

import itertools

import numpy as np
import pytest

from tla import MakeTensor, Swizzle, composition, parse
from tla.gpu.run import values
from tla.tensors.tensor import tensor_of

LAYOUTS = [
    parse("(_4,_8):(_8,_1)"),
    parse("((_2,_2),_8):((_1,_16),_2)"),
    composition(Swizzle[2, 0, 3](), parse("(_4,_8):(_8,_1)")),
]
STARTS = [0, 3, np.array([0, 5, 64])]


def at(t, start):
    return tensor_of(None, t.data, start, t.layout, t.coord, t._guard, t.memory)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_places_are_those_of_the_layout_from_any_start(layout):
    t = MakeTensor(np.zeros(256), layout, position="smem")
    for _time, start in itertools.product(range(2), STARTS):
        found = values.places_of(at(t, start))
        for thread, first in enumerate(np.atleast_1d(start).tolist()):
            expected = [[first + int(layout(i, j)) for j in range(8)] for i in range(4)]
            assert found[thread].tolist() == expected


def test_nobody_changes_what_is_remembered():
    t = MakeTensor(np.zeros(256), LAYOUTS[0])
    with pytest.raises(ValueError, match="read-only"):
        values.places_of(t)[...] = 7
    assert values.places_of(t).max() == 31


def test_so_many_are_remembered_and_no_more(monkeypatch):
    values._ARRAYS.clear()
    monkeypatch.setattr(values, "_MOST_ELEMENTS", 100)
    t = MakeTensor(np.zeros(256), LAYOUTS[0])
    for start in range(7):
        assert values.places_of(at(t, start)).ravel()[0] == start
        assert sum(x.size for x in values._ARRAYS.values()) <= 100
