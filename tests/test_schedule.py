"""Schedules of Ascend against CATLASS's formulas, written again with its own names; traffic against sets of what a wave reads."""

import itertools

import pytest

from tla import RangeError
from tla.ascend import BlockSwizzle, grouped


def ceil_div(a, b):
    return -(-a // b)


def block_coord(task, loops_m, loops_n, offset, direction):
    """GemmIdentityBlockSwizzle::GetBlockCoord."""
    inner = task % (loops_m * loops_n)
    along, across = (loops_m, loops_n) if direction == 0 else (loops_n, loops_m)
    tile_block_loop = ceil_div(along, offset)
    tile_block, in_tile = divmod(inner, offset * across)
    n_row = along - offset * tile_block if tile_block == tile_block_loop - 1 else offset
    first, second = tile_block * offset + in_tile % n_row, in_tile // n_row
    if tile_block % 2 == 1:
        second = across - second - 1
    return (first, second) if direction == 0 else (second, first)


@pytest.mark.parametrize("direction", [0, 1])
@pytest.mark.parametrize("offset", [1, 2, 3, 5, 9])
def test_the_order_is_catlass_and_covers_every_block_once(offset, direction):
    for m, n in itertools.product((1, 33, 200), (1, 64, 170)):
        s = BlockSwizzle((m, n, 40), (32, 32, 16), offset=offset, direction=direction)
        blocks = [*s.order()]
        assert [(b.m, b.n) for b in blocks] == [block_coord(t, *s.blocks[:2], offset, direction) for t in range(s.tasks)]
        assert sorted((b.m, b.n) for b in blocks) == [*itertools.product(range(s.blocks[0]), range(s.blocks[1]))]
        assert sum(b.extents[0] * b.extents[1] for b in blocks) == m * n


@pytest.mark.parametrize("split", [1, 2, 3, 7])
def test_slices_of_k_cover_k_once(split):
    s = BlockSwizzle((64, 32, 100), (32, 32, 16), split_k=split)
    for part in range(split):
        slices = len(range(7)) // split + (part < 7 % split)  # seven blocks of k; the first slices have one more
        assert all(b.extents[2] <= slices * 16 for b in [*s.order()][part * 2 : part * 2 + 2])
    assert sum(b.extents[2] for b in s.order() if (b.m, b.n) == (0, 0)) == 100


def test_traffic_counts_what_a_wave_reads_once():
    s = BlockSwizzle((300, 200, 70), (64, 64, 32), offset=2)
    elements = 0
    for wave in s.waves(6):
        a = {(row, k) for b in wave for row in range(b.m * 64, b.m * 64 + b.extents[0]) for k in range(70)}
        b_ = {(column, k) for b in wave for column in range(b.n * 64, b.n * 64 + b.extents[1]) for k in range(70)}
        elements += len(a) + len(b_)
    assert s.traffic(6, 16) == elements * 2
    assert [BlockSwizzle((4096,) * 3, (128, 256, 256), offset=o).traffic(20) >> 20 for o in (1, 3, 5)] == [779, 444, 348]


def test_cores_share_the_tasks():
    s = BlockSwizzle((300, 200, 70), (64, 64, 32))
    assert sorted(b for i in range(6) for b in s.core(6, i)) == sorted(s.order())
    tasks = [*grouped([(300, 64, 8), (0, 64, 8), (64, 64, 8)], (64, 64, 8), cores=4)]
    assert [len(t) for t in tasks] == [2, 2, 1, 1]
    assert [g for g, _ in tasks[1]] == [0, 2]  # the sixth task in all, and the first of its problem, after five on cores 0 to 3 and 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: BlockSwizzle((0, 1, 1), (1, 1, 1)),
        lambda: BlockSwizzle((4, 4, 4), (2, 2, 2), direction=2),
        lambda: BlockSwizzle((4, 4, 4), (2, 2, 2)).block(4),
        lambda: BlockSwizzle((4, 4, 4), (2, 2, 2)).core(2, 2),
        lambda: [*BlockSwizzle((4, 4, 4), (2, 2, 2)).waves(0)],
        lambda: [*grouped([], (1, 1, 1), 0)],
    ],
)
def test_refusals(make):
    with pytest.raises(RangeError):
        make()
