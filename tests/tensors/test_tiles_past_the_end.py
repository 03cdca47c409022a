"""A tile that lies past the last one has no element that is valid, and its coordinates say so: as a predicate they are
false everywhere."""

import numpy as np
import pytest

from tla import RangeError, elem_less, local_tile, make_identity_tensor, parse
from tla.gpu import make_fragment_like, values_of
from tla.kernels import clear, copy_if, kernel, local_partition, thread

SHAPE, TILE = (5, 33), (4, 32)


@pytest.mark.parametrize("at", [(0, 1), (1, 1), (0, 2), (2, 0), (7, 9)])
def test_coordinates_of_any_tile(at):
    found = values_of(local_tile(make_identity_tensor(SHAPE), TILE, at))
    for mode in range(2):
        moved = np.moveaxis(np.broadcast_to(found[mode][0], TILE), mode, 0)
        assert (moved.T == at[mode] * TILE[mode] + np.arange(TILE[mode])).all()


def test_a_tile_before_the_first():
    with pytest.raises(RangeError):
        local_tile(make_identity_tensor(SHAPE), TILE, (-1, 2))


def test_steps_past_the_end_copy_nothing():
    @kernel(threads=128)
    def copied(a, b):
        for k in range(4):
            parts = [
                local_partition(local_tile(x, TILE, (k // 2, k)), parse("(_4,_32):(_32,_1)"), thread())
                for x in (a, b, make_identity_tensor(a.shape))
            ]
            held, inside = make_fragment_like(parts[0]), elem_less(parts[2], a.shape)
            clear(held)
            copy_if(inside, parts[0], held)
            copy_if(inside, held, parts[1])

    a, b = np.arange(5.0 * 33).reshape(SHAPE), np.zeros(SHAPE)
    copied.run(a, b)
    assert (b[:4] == a[:4]).all()
    assert not b[4].any()
    assert copied.check(a, b).holds
