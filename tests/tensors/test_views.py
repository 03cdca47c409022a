"""Views of tensors against slices of arrays: partitions, the same bytes as other elements, tensors like others."""

import math
import random

import numpy as np
import pytest

import tla
from tla import (
    ComposedLayout,
    GetTile,
    MakeLayout,
    MakeTensor,
    Swizzle,
    TileView,
    TlaError,
    _,
    local_partition,
    local_tile,
    padded,
    parse,
    recast,
    transpose,
)

import oracle
from batches import in_batches
from night import amount
from tensor_model import Model, check, random_tensor


@in_batches(range(amount(40, 1000)))
def test_local_tile_and_partition(seed):
    rng = random.Random(seed)
    shape = tuple(rng.randint(1, 9) for _ in range(rng.choice((1, 2, 3))))
    layout = MakeLayout(shape, rng.choice((tla.LayoutLeft, tla.LayoutRight)), tuple(rng.randint(0, n) for n in shape))
    layout = ComposedLayout(Swizzle[2, 0, 3](), tla.Int[0](), layout) if rng.random() < 0.3 else layout
    t = MakeTensor(np.arange(1024), layout)
    truth = np.asarray(t)
    tiler = tuple(rng.choice((rng.randint(1, 4), _)) for _n in shape[: rng.randint(1, len(shape))])
    sizes = [n if tile is _ else tile for n, tile in zip(shape, tiler)]
    coord = tuple(rng.randrange(math.ceil(n / size)) for n, size in zip(shape, sizes))
    rest = tuple(rng.choice((_, rng.randrange(n))) if n else _ for n in truth.shape[len(tiler) :])
    got = local_tile(t, tiler, (*coord, *rest))
    cut = truth[
        (*(slice(c * n, c * n + n) for c, n in zip(coord, sizes)), *(slice(None) if c is _ else c for c in rest))
    ]
    assert np.array_equal(check(got), cut)

    threads = MakeLayout(tuple(rng.randint(1, 4) for _n in shape), rng.choice((tla.LayoutLeft, tla.LayoutRight)))
    seen = []
    for index in range(int(tla.size(threads))):
        at = next(c for c in np.ndindex(*oracle.plain(threads.shape)) if threads(*c) == index)
        part = check(local_partition(t, threads, index))
        assert np.array_equal(part, truth[tuple(slice(c, None, n) for c, n in zip(at, oracle.plain(threads.shape)))])
        seen += part.ravel().tolist()
    assert sorted(seen) == sorted(truth.ravel().tolist())


@in_batches(range(150))
def test_recast_is_the_same_bytes(seed):
    rng = random.Random(seed)
    t = random_tensor(rng, ranks=(1, 2))
    old, new = rng.choice(
        [(np.int16, np.int8), (np.int8, np.int16), (np.int8, np.int32), (np.int32, np.int16), (np.int16, np.int16)]
    )
    data = np.random.default_rng(seed).integers(-100, 100, -(-t.data.size // 4) * 4).astype(old)
    t = MakeTensor(data, t.layout)
    if rng.random() < 0.5:
        t = GetTile(t, tuple(rng.randint(0, 2) for _n in t.coord), tuple(rng.randint(1, 8) for _n in t.coord))
    try:
        other = recast[new](t)
    except TlaError:
        return
    assert other.data.base is not None
    check(other)
    ratio = (np.dtype(old).itemsize, np.dtype(new).itemsize)
    places = [
        {place * w + k for place in Model.of(x).offsets().values() for k in range(w)} for x, w in zip((t, other), ratio)
    ]
    assert places[0] == places[1]


def test_recast_of_tails_and_fractals():
    bytes_ = np.arange(64, dtype=np.uint8)
    t = MakeTensor(bytes_, parse("(_4,_16):(_16,_1)", origin_shape=(3, 12)))
    words = recast[np.uint32](t)
    assert words.origin_shape == (3, 3)
    assert np.array_equal(np.asarray(words), bytes_.view(np.uint32).reshape(4, 4)[:3, :3])
    assert np.array_equal(np.asarray(recast[np.uint8](words)), np.asarray(t))
    blocks = MakeTensor(np.arange(128, dtype=np.uint8), parse("((_4,_2),(_8,_2)):((_8,_64),(_1,_32))"))
    assert np.array_equal(
        np.asarray(recast[np.uint16](blocks)), np.ascontiguousarray(np.asarray(blocks)).view(np.uint16)
    )
    for bad in (
        GetTile(t, (0, 0), (3, 10)),
        GetTile(t, (0, 1), (3, 4)),
        MakeTensor(bytes_, parse("(_4,_16):(_1,_4)", origin_shape=(2, 16))),
    ):
        with pytest.raises(TlaError, match="whole elements"):
            recast[np.uint32](bad)


def test_an_array_stands_for_the_tensor_over_it():
    a = np.arange(12).reshape(3, 4)
    assert np.array_equal(np.asarray(GetTile(a, (1, 1), (2, 2))), a[1:, 1:3])
    assert np.array_equal(np.asarray(TileView(a, (1, 1), (2, 2))), a[2:, 2:])
    assert np.array_equal(np.asarray(transpose(a)), a.T)
    assert np.array_equal(np.asarray(local_tile(a, (1, 2), (1, 1))), a[1:2, 2:])
    assert padded(a).origin_shape == (3, 4)
    assert tla.MakeTensorLike(a).origin_shape == (3, 4)
    assert MakeTensor(a).stride == (4, 1)


def test_like():
    tile = GetTile(
        MakeTensor(np.arange(6000, dtype=np.float32), MakeLayout((100, 60), tla.LayoutRight)), (90, 40), (16, 32)
    )
    like = tla.MakeTensorLike(tile)
    assert (like.layout.stride, like.origin_shape, like.dtype) == ((32, 1), (10, 20), np.float32)
    base = tla.MakeLayout[32, tla.ascend.zN](16, 32)
    l1 = tla.MakeTensorLike[tla.ascend.zN](np.zeros(512, np.float32), tile, "L1", base)
    assert (l1.layout.shape, l1.origin_shape, l1.position) == (base.shape, (10, 20), "L1")
    tla.copy(tile, l1)
    assert np.array_equal(np.asarray(l1), np.asarray(tile))


R = parse("(4,8):(8,1)")


def whole(n=32):
    return MakeTensor(np.arange(n), R)


@pytest.mark.parametrize(("ask", "says"), [
    (lambda: local_tile(whole(), (2,), (0, 8)), "0 or more and less than 8"),
    (lambda: local_tile(whole(), (2,), (0, -1)), "0 or more and less than 8"),
    (lambda: local_tile(whole(), (2,), (-1, 0)), "0 or more\n"),
    (lambda: tla.outer_partition(whole(), (2, 4), (2, 0)), "0 or more and less than 2"),
    (lambda: tla.outer_partition(whole(), (2, 4), (0, 4)), "0 or more and less than 4"),
    (lambda: tla.outer_partition(whole(), (2, 4), (0, -1)), "0 or more and less than 4"),
    (lambda: tla.outer_partition(whole(), (2,), (0, 0)), "at most 1 integers"),
    (lambda: local_partition(whole(), parse("(2,2):(1,2)"), -1), "thread -1 of"),
    (lambda: local_tile(whole(), 2, (0, 0), proj=(1, _)), "proj of 2 entries for 2"),
    (lambda: recast[object](whole()), "whole elements of 8 bytes"),
    (lambda: recast["V0"](whole()), "whole elements of 0 bytes"),
    (lambda: recast[np.int16](MakeTensor(np.zeros(3, np.int8), parse("2:1"))), "3 bytes, from byte _?0 on"),
    (lambda: recast[np.int16](MakeTensor(np.zeros(4, np.int8), parse("2:1"), offset=1)), "4 bytes, from byte 1 on"),
    (lambda: GetTile(MakeTensor(np.zeros(8), parse("((2,2),2):((1,4),2)")), (1, 0), (2, 2)).numpy(nested=True), "inside of a block"),
    (lambda: tla.reduce(whole(), np.zeros(4, int), 2), "modes 0 to 1"),
    (lambda: tla.reduce(whole(), np.zeros(4, int), -1), "modes 0 to 1"),
    (lambda: tla.reduce(whole(), np.zeros(4, int), (1, 1)), "each once"),
    (lambda: tla.reduce(MakeTensor(np.zeros(32, int), parse("((2,2),8):((8,16),1)")), np.zeros(8, int), ((0, 2),)), "mode j of mode i"),
    (lambda: tla.reduce(MakeTensor(np.zeros(32, int), parse("((2,2),8):((8,16),1)")), np.zeros(8, int), ((0, -1),)), "mode j of mode i"),
    (lambda: tla.reduce(MakeTensor(np.zeros(32, int), parse("((2,2),8):((8,16),1)")), np.zeros(8, int), ((0, 1, 0),)), "mode j of mode i"),
    (lambda: tla.reduce(MakeTensor(np.zeros(32, int), parse("((2,2),8):((8,16),1)")), np.zeros(8, int), ((1, 0),)), "mode j of mode i"),
    (lambda: tla.reduce(whole(), np.zeros(4, int), 1, np.negative), "a numpy ufunc of two arguments"),
    (lambda: tla.reduce(whole(), np.zeros(4, int), 1, max), "a numpy ufunc of two arguments"),
    (lambda: transpose(whole(), (0,)), "0 to 1 in some order"),
])  # fmt: skip
def test_each_limit_of_a_view_is_its_own(ask, says):
    with pytest.raises(TlaError, match=says):
        ask()


def test_what_is_at_the_limit_is_taken():
    t = whole()
    assert np.array_equal(np.asarray(local_tile(t, (2,), (1, 7))), [23, 31])
    assert np.array_equal(np.asarray(tla.outer_partition(t, (2, 4), (1, 3))), [[11, 15], [27, 31]])
    assert np.array_equal(np.asarray(local_partition(t, parse("(2,2):(1,2)"), 3)), [[9, 11, 13, 15], [25, 27, 29, 31]])
    assert np.array_equal(
        recast[np.int16](MakeTensor(np.arange(4, dtype=np.int8), parse("_2:_1"), offset=2)).numpy(), [2 + 3 * 256]
    )
    blocks, out = MakeTensor(np.arange(32), parse("((2,2),8):((8,16),1)")), np.zeros((2, 8), int)
    tla.reduce(blocks, out, ((0, 1),))
    assert np.array_equal(out, np.arange(32).reshape(2, 2, 8).sum(0))


def test_a_coordinate_that_is_short_leaves_the_other_tiles():
    for t in (tla.make_identity_tensor((8, 16, 3)), MakeTensor(np.arange(384), tla.MakeLayout((8, 16, 3)))):
        short, whole = (tla.inner_partition(t, (4, 4), coord) for coord in ((1,), (1, _, _)))
        assert short.shape == whole.shape == (4, 4, 4, 3)
        assert short(1, 2, 3, 2) == whole(1, 2, 3, 2) == t(4 + 1, 3 * 4 + 2, 2)
