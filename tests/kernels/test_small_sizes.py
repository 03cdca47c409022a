"""The small sizes at which kernels of symbols are checked: elements lie apart, and loops go round."""

import itertools

import numpy as np
import pytest

from tla import _, _1, ceil_div, dims, elem_less, local_tile, make_identity_tensor, make_layout, parse
from tla.kernels import block, copy_if, kernel, local_partition, loop, tensor, thread
from tla.kernels.proofs.samples import small_sizes

LANES = parse("_64:_1")


def copied_of(batch):
    """A kernel that copies the rows of several matrices; batch gives the one that a block writes to."""

    @kernel(threads=64, grid=lambda a, _b: (a.shape[1], a.shape[0]))
    def copied(a, b):
        rows = a[block(1), block(0), _], b[batch(), block(0), _]
        inside = make_identity_tensor(rows[0].shape)
        for k in loop(ceil_div(rows[0].shape[0], 64)):
            x, y, at = (local_partition(local_tile(t, (64,), (k,)), LANES, thread()) for t in (*rows, inside))
            copy_if(elem_less(at, rows[0].shape), x, y)

    return copied


def arguments():
    """Two tensors of batches, rows and columns, each with a pitch and a distance of batches."""
    n, m, k, *strides = dims("n m k pitch_a batch_a pitch_b batch_b")
    pairs = strides[:2], strides[2:]
    return [tensor(np.float32, make_layout((n, m, k), stride=(far, near, _1))) for near, far in pairs]


def test_batches_are_no_race():
    report = copied_of(lambda: block(1)).check(*arguments())
    assert report.holds, report
    assert report.proved, report


def test_one_batch_for_all_is_one():
    report = copied_of(lambda: 0).check(*arguments())
    assert [race.who for race in report.races] == ["block"]
    assert not report.proved


@pytest.mark.parametrize("order", [*itertools.permutations(range(3))])
def test_elements_lie_apart_whatever_the_order_of_modes(order):
    n, m, k, near, far = dims("n m k near far")
    modes = [(n, far), (m, near), (k, _1)]
    shape, strides = zip(*(modes[i] for i in order))

    @kernel(threads=64, grid=lambda _a: (1,))
    def nothing(_a):
        pass

    values = small_sizes(nothing.program(tensor(np.float32, make_layout(shape, stride=strides))))
    extents = [values[str(x)] for x in shape]
    steps = [1 if d is _1 else values[str(d)] for d in strides]
    places = {sum(c * d for c, d in zip(at, steps)) for at in itertools.product(*map(range, extents))}
    assert len(places) == np.prod(extents)


def test_a_loop_has_its_steps_and_few_more():
    k, pitch = dims("k pitch")

    @kernel(threads=64, grid=lambda _a: (1,))
    def steps(a):
        for _step in loop(ceil_div(a.shape[1], 64)):
            pass

    values = small_sizes(steps.program(tensor(np.float32, make_layout((4, k), stride=(pitch, _1)))))
    assert 5 <= -(-values["k"] // 64) <= 6
    assert values["k"] % 64
