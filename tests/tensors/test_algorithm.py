"""The algorithms against numpy and against loops over coordinates: one source, every kind of layout."""

import functools
import itertools
import math
import random

import numpy as np
import pytest

import tla
from tla import (
    ComposedLayout,
    GetTile,
    Layout,
    LayoutRight,
    MakeLayout,
    MakeTensor,
    RangeError,
    Swizzle,
    copy,
    cosize,
    fill,
    fill_padding,
    gemm,
    im2col,
    padded,
    reduce,
    transpose,
    xla,
)
from tla.ascend import L0C, ColumnMajor, PaddingRowMajor, RowMajor, nN, nZ, zN, zZ
from tla.tensors import transfer
from tla.tensors.refinement import Cell

import oracle
from batches import in_batches
from night import amount, some
from tensor_model import Model, random_tensor


def swizzled(rows, columns):
    """Rows of 64 elements of shared memory, swizzled as CuTe does."""
    layout = MakeLayout((rows, -(-columns // 64) * 64), LayoutRight, (rows, columns))
    return ComposedLayout(Swizzle[3, 3, 3](), tla.Int[0](), layout)


def tiled(rows, columns):
    return xla.lower(f"f32[{rows},{columns}]{{1,0:T(8,128)}}")


def pairs(rows, columns):
    return xla.lower(f"bf16[{rows},{columns}]{{1,0:T(8,128)(2,1)}}")


def strided(rows, columns):
    return Layout((rows, columns), (columns + 5, 1))


KINDS = {
    **{
        str(tag): (lambda m, n, tag=tag: MakeLayout[16, tag](m, n))
        for tag in (RowMajor, ColumnMajor, zN, nZ, zZ, nN, L0C)
    },
    "padded": lambda m, n: MakeLayout[16, PaddingRowMajor](m, n, 16, 32),
    "pitch": strided,
    "swizzled": swizzled,
    "T(8,128)": tiled,
    "T(8,128)(2,1)": pairs,
    "gap": lambda m, n: Layout((m, n), (2 * n + 3, 2)),
}


def room(layout):
    """How many elements a buffer for a layout needs: of a swizzled one, whole rows of its pattern."""
    return (
        1 << int(cosize(layout.inner) - 1).bit_length() if isinstance(layout, ComposedLayout) else int(cosize(layout))
    )


def empty(layout, dtype, mark=0):
    return MakeTensor(np.full(room(layout), mark, dtype), layout)


def holding(values, layout):
    t = empty(layout, values.dtype, 99)
    copy(values, t)
    return t


@functools.cache
def numbered(kind, m, n):
    """A matrix that numbers its elements, with them as an array: what only reads it shares it."""
    values = np.arange(m * n, dtype=np.int32).reshape(m, n)
    t = holding(values, KINDS[kind](m, n))
    assert np.array_equal(Model.of(t).dense(), values)
    return t, values


def untouched(t, before):
    """Whatever of t's buffer is not valid is as it was."""
    mask = np.ones(t.data.size, bool)
    mask[Model.of(t).places()] = False
    return np.array_equal(t.data[mask], before[mask])


@pytest.mark.parametrize("target", KINDS)
def test_copy_between_all_kinds(target):
    for source, (m, n) in itertools.product(KINDS, ((1, 1), (16, 16), (37, 45), (5, 130))):
        a, values = numbered(source, m, n)
        b = empty(KINDS[target](m, n), np.int32, -1)
        before = b.data.copy()
        copy(a, b)
        assert np.array_equal(Model.of(b).dense(), values), source
        assert untouched(b, before), source
        assert np.array_equal(np.asarray(b), values), source


@in_batches(range(300))
def test_copy_of_random_tiles(seed):
    rng = random.Random(seed)
    a, b = random_tensor(rng, ranks=(2,)), random_tensor(rng, ranks=(2,))
    starts = [tuple(rng.randint(0, n) for n in oracle.plain(t.origin_shape)) for t in (a, b)]
    extents = [
        min(n - s, o - r)
        for n, s, o, r in zip(oracle.plain(a.origin_shape), starts[0], oracle.plain(b.origin_shape), starts[1])
    ]
    if 0 in extents:
        return
    x, y = (GetTile(t, start, tuple(extents)) for t, start in zip((a, b), starts))
    before, values = b.data.copy(), Model.of(x).dense()
    copy(x, y)
    assert np.array_equal(Model.of(y).dense(), values)
    assert untouched(y, before)
    fill(y, 5)
    assert (Model.of(y).dense() == 5).all()
    assert untouched(y, before)


@in_batches(range(200))
def test_fill_padding_of_tensors_and_tiles(seed):
    rng = random.Random(1000 + seed)
    t = random_tensor(rng)
    start = tuple(rng.randint(0, n) for n in oracle.plain(t.origin_shape))
    tile = tuple(rng.randint(1, n + 3) for n in oracle.plain(tla.product_each(t.shape)))
    for part in (t, GetTile(t, start, tile)):
        model = Model.of(part)
        shape = oracle.plain(tla.product_each(t.shape))
        inside = (
            [min(n, s - c) for n, s, c in zip(tile, shape, start)] if part is not t else shape
        )  # of the tile what lies in the padded whole
        whole = Model(model.buffer, model.function, model.start, tuple(inside))
        everything, valid = whole.offsets(), model.offsets()
        before = t.data.copy()
        fill_padding(part, -7)
        want = before.copy()
        want[[place for c, place in everything.items() if c not in valid]] = -7
        assert np.array_equal(t.data, want)
        t.data[:] = before
        assert oracle.plain(padded(part).origin_shape) == tuple(max(0, n) for n in inside)


SIZES = [(37, 45, 53), (16, 32, 48), (1, 7, 1), (33, 17, 65)]


@in_batches(some(zip(itertools.product(KINDS, repeat=2), itertools.cycle(KINDS)), 2))
def test_one_matrix_multiply_for_all_layouts(kinds):
    """By day every second pair, each kind with a half of the others."""
    (a, b), c = kinds
    m, n, k = SIZES[0]
    rng = np.random.default_rng(0)
    x, y = rng.integers(-50, 50, (m, k)), rng.integers(-50, 50, (k, n))
    out = empty(KINDS[c](m, n), np.int64, 7)
    before = out.data.copy()
    gemm(holding(x, KINDS[a](m, k)), holding(y, KINDS[b](k, n)), out, tile=(16, 16, 20))
    assert np.array_equal(np.asarray(out), x @ y)
    assert untouched(out, before)


TILES = [(16, 16, 16), (5, 7, 11), (256, 256, 256), (1, 64, 3)]


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("tile", TILES)
def test_every_tail_of_the_matrix_multiply(sizes, tile):
    """By day with one pair of layouts, by turns."""
    m, n, k = sizes
    rng = np.random.default_rng(1)
    x, y = rng.integers(-50, 50, (m, k)), rng.integers(-50, 50, (k, n))
    turn = SIZES.index(sizes) + TILES.index(tile)
    for left, right in [("zN", "nZ"), ("RowMajor", "ColumnMajor"), ("swizzled", "padded")][
        amount(turn % 3, 0) :: amount(3, 1)
    ]:
        out = empty(KINDS["L0C"](m, n), np.int64)
        gemm(holding(x, KINDS[left](m, k)), holding(y, KINDS[right](k, n)), out, tile)
        assert np.array_equal(np.asarray(out), x @ y)


def test_half_is_summed_in_float():
    x = np.full((1, 4096), 1, np.float16)
    out = np.zeros((1, 1), np.float16)
    gemm(x, np.full((4096, 1), 0.7, np.float16), out)
    assert out[0, 0] == np.float16(4096 * np.float32(np.float16(0.7)))


@pytest.mark.parametrize("kind", KINDS)
def test_reduce_transpose(kind):
    values = np.random.default_rng(2).integers(-99, 99, (37, 45))
    signs = np.where(values < 0, -1, 1 + (values == 7))  # whose products fit
    for given, operation in ((signs, np.multiply), (values, np.maximum), (values, np.add)):
        t = holding(given, KINDS[kind](37, 45))
        for modes, kept in ((0, (45,)), (1, (37,)), ((0, 1), ()), ((), (37, 45))):
            out = np.zeros(kept, np.int64)
            reduce(t, out, modes, operation)
            assert np.array_equal(out, operation.reduce(given, axis=modes))
    turned = empty(KINDS["zN"](45, 37), np.int64)
    copy(transpose(t), turned)
    assert np.array_equal(np.asarray(turned), values.T)


def windows(x, kernel, stride, dilation):
    """im2col by its definition, of an NHWC array."""
    n, h, w, _c = x.shape
    (kh, kw), (sh, sw), (dh, dw) = kernel, stride, dilation
    places = [((h - dh * (kh - 1) - 1) // sh + 1), ((w - dw * (kw - 1) - 1) // sw + 1)]
    rows = []
    for b, i, j in itertools.product(range(n), *map(range, places)):
        rows.append([x[b, i * sh + p * dh, j * sw + q * dw] for p, q in itertools.product(range(kh), range(kw))])
    return np.array(rows).reshape(len(rows), -1)


@pytest.mark.parametrize("stride", [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
@pytest.mark.parametrize("kernel", [(1, 1), (3, 3), (2, 3)])
def test_im2col_and_a_convolution(kernel, stride, dilation):
    x = np.random.default_rng(3).integers(-9, 9, (2, 8, 9, 5))
    truth = windows(x, kernel, stride, dilation)
    nhwc = MakeLayout(x.shape, LayoutRight)
    nchw = Layout(x.shape, (5 * 8 * 9, 9, 1, 72))
    blocked = Layout((2, 8, 9, (5, 1)), (512, 45, 5, (1, 4096)))
    for layout in (nhwc, nchw, blocked, ComposedLayout(Swizzle[2, 1, 3](), tla.Int[0](), nhwc)):
        t = holding(x, layout)
        matrix = im2col(t, kernel, stride, dilation)
        assert np.array_equal(np.asarray(matrix), truth)
        out = empty(KINDS["zN"](len(truth), 7), np.int64)
        weights = np.random.default_rng(4).integers(-9, 9, (truth.shape[1], 7))
        gemm(matrix, weights, out, tile=(16, 4, 8))
        assert np.array_equal(np.asarray(out), truth @ weights)
    inner = GetTile(holding(x, nhwc), (1, 1, 2, 1), (1, 7, 7, 4))
    assert np.array_equal(
        np.asarray(im2col(inner, kernel, stride, dilation)), windows(x[1:2, 1:8, 2:9, 1:5], kernel, stride, dilation)
    )


@pytest.mark.parametrize("border", [0, 1, ((1, 0), (0, 2)), ((0, 3), (2, 1))])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"), [((3, 3), (1, 1), (1, 1)), ((2, 3), (2, 1), (2, 1)), ((5, 1), (1, 3), (1, 2))]
)
def test_im2col_with_a_border(kernel, stride, dilation, border):
    """The zeros are around what the tensor has: of a tile they take the place of its neighbours."""
    (top, bottom), (left, right) = border if isinstance(border, tuple) else ((border, border),) * 2
    x = np.random.default_rng(6).integers(1, 9, (2, 5, 6, 3))
    for part, corner in ((x, (0, 0, 0, 0)), (x[1:, 1:, :5, 1:], (1, 1, 0, 1))):
        n, h, w, c = part.shape
        framed = np.zeros((n, top + h + bottom, left + w + right, c), x.dtype)
        for i, j in itertools.product(range(h), range(w)):
            framed[:, top + i, left + j] = part[:, i, j]
        for layout in (MakeLayout(x.shape, LayoutRight), Layout(x.shape, (90, 6, 1, 30))):
            given = GetTile(holding(x, layout), corner, part.shape)
            if h + top + bottom <= dilation[0] * (kernel[0] - 1):
                with pytest.raises(RangeError, match="give the map a border"):
                    im2col(given, kernel, stride, dilation, border=border)
                continue
            made = im2col(given, kernel, stride, dilation, border=border)
            assert np.array_equal(np.asarray(made), windows(framed, kernel, stride, dilation))


def test_im2col_of_blocks_of_channels():
    """NC1HWC0: two modes of channels, and each pixel's block of 16 stays together."""
    x = np.random.default_rng(5).integers(-9, 9, (2, 3, 6, 7, 16))
    t = holding(x, tla.MakeLayoutFmap[16](2, 3, 6, 7))
    matrix = im2col(t, (3, 2), spatial=(2, 3))
    truth = windows(x.transpose(0, 2, 3, 1, 4).reshape(2, 6, 7, 48), (3, 2), (1, 1), (1, 1))
    assert np.array_equal(np.asarray(matrix), truth)


def test_a_copy_within_one_buffer_reads_first():
    for (a, b), size in itertools.product(
        itertools.product(("RowMajor", "ColumnMajor", "zN", "T(8,128)"), repeat=2), ((16, 16), (33, 20))
    ):
        one, other = KINDS[a](*size), KINDS[b](*size)
        data = np.arange(max(room(one), room(other)))
        source, target = MakeTensor(data, one), MakeTensor(data, other)
        values = Model.of(source).dense()
        copy(source, target)
        assert np.array_equal(Model.of(target).dense(), values)


def test_large_copies_are_unrolled_and_blocked_alike():
    """Sizes at which moves are cut into loops of their own, tails included."""
    for m, n in ((513, 700), (256, 2048), (1030, 130)):
        values = np.arange(m * n, dtype=np.int32).reshape(m, n)
        for one, other in itertools.product(
            ("RowMajor", "ColumnMajor", "zN", "nZ", "T(8,128)(2,1)", "pitch"), repeat=2
        ):
            a, b = holding(values, KINDS[one](m, n)), empty(KINDS[other](m, n), np.int32)
            copy(a, b)
            assert np.array_equal(np.asarray(b), values), (one, other)
            assert np.array_equal(b.data[tla.offsets(b.layout)[:m, :n]], values)


@pytest.fixture
def _loops_of_their_own(monkeypatch):
    """Small copies are cut as large ones are."""
    for name, value in (("WORTH_A_LOOP", 1), ("LINE", 4), ("LONGEST_UNIT", 4), ("MAX_UNROLLED", 4)):
        monkeypatch.setattr(tla.tensors.transfer, name, value)
    tla.cache_clear()
    yield
    tla.cache_clear()


@pytest.mark.usefixtures("_loops_of_their_own")
@pytest.mark.parametrize(("m", "n"), [(17, 40), (33, 16), (4, 31)])
def test_copies_in_loops_of_their_own_move_the_same(m, n):
    values = np.arange(m * n, dtype=np.int32).reshape(m, n)
    for one, other in itertools.product(("RowMajor", "ColumnMajor", "zN", "nZ", "T(8,128)(2,1)", "gap"), repeat=2):
        for dtype in (np.int32, np.int64):
            a, b = holding(values, KINDS[one](m, n)), empty(KINDS[other](m, n), dtype, -1)
            before = b.data.copy()
            copy(a, b)
            assert np.array_equal(Model.of(b).dense(), values), (one, other)
            assert untouched(b, before)


@pytest.mark.parametrize(("axes", "packed", "expected"), [
    # (count, (step of the target, of the source)); expected: elements as one, loops, axes left, indices at a time
    # The longest common run goes as one element where both have elements of one kind, and it is short.
    ([(9, (2000, 3000)), (1024, (1, 1))], True, (1024, 1, 1, 0)),
    ([(9, (2000, 3000)), (1025, (1, 1))], True, (1, 1, 2, 0)),
    ([(9, (2000, 3000)), (1024, (1, 1))], False, (1, 1, 2, 0)),
    ([(9, (2000, 3000)), (4, (1, 2))], True, (1, 1, 2, 0)),
    ([(1, (1, 1))], True, (1, 1, 0, 0)),
    ([], True, (1, 1, 0, 0)),
    # The target's smallest step is the last axis, whatever its sign; shorter than 8 it is unrolled, from
    # 8192 elements on.
    ([(4096, (16, 100)), (7, (2, 3))], False, (1, 7, 1, 0)),
    ([(7, (-2, 3)), (4096, (16, 100))], False, (1, 7, 1, 0)),
    ([(4096, (16, 100)), (8, (2, 3))], False, (1, 1, 2, 0)),
    ([(2048, (16, 100)), (4, (2, 3))], False, (1, 4, 1, 0)),
    ([(2047, (16, 100)), (4, (2, 3))], False, (1, 1, 2, 0)),
    ([(4096, (16, 100)), (4, (1, 1))], False, (1, 1, 2, 0)),
    ([(4, (2, 3))], False, (1, 1, 1, 0)),
    ([(7, (2, 3))] * 5, True, (1, 7, 4, 0)),
    # So are the axes before it, as long as there are enough elements, and no more than 64 loops.
    ([(2048, (100, 3000)), (4, (10, 7)), (4, (2, 3))], False, (1, 16, 1, 0)),
    ([(2047, (100, 3000)), (4, (10, 7)), (4, (2, 3))], False, (1, 4, 2, 0)),
    ([(2**20, (10**6, 7)), *((4, (10**k, 3 * 11**k)) for k in (5, 4, 3, 2, 1))], False, (1, 256, 2, 16)),
    ([(2**20, (10**6, 7)), *((5, (10**k, 3 * 11**k)) for k in (5, 4, 3, 2, 1))], False, (1, 125, 3, 16)),
    # A long one that leaves a line of the source with each step goes in blocks of 16, from 16384 elements on.
    ([(1024, (16, 1)), (16, (1, 32))], False, (1, 1, 2, 16)),
    ([(1024, (16, 1)), (16, (1, -32))], True, (1, 1, 2, 16)),
    ([(1024, (16, 1)), (16, (1, 31))], False, (1, 1, 2, 0)),
    ([(1023, (16, 1)), (16, (1, 32))], False, (1, 1, 2, 0)),
    ([(16384, (1, 32))], False, (1, 1, 1, 0)),
])  # fmt: skip
def test_how_a_move_is_cut_into_loops(axes, packed, expected):
    """As `_copies` says; and whatever it is cut into, each element moves once."""
    copies = [*transfer._copies(Cell((5, 11), (tuple(axes),)), packed)]
    assert {(c.unit, len(copies), len(c.axes), c.block) for c in copies} == {expected}
    if math.prod(n for n, _steps in axes) < 2**17:
        moved = np.sort(np.concatenate([*map(_moves, copies)]))
        assert np.array_equal(moved, np.sort(_moves(transfer._Copy(1, (5, 11), tuple(axes), 0))))


def _moves(c):
    """From where to where each element of a strided copy moves, both in one number."""
    axes = [*c.axes, (c.unit, (1, 1))]
    grid = np.ogrid[tuple(slice(n) for n, _steps in axes)]
    to, begin = (
        first + sum(i * steps[side] for i, (_n, steps) in zip(grid, axes)) for side, first in enumerate(c.begins)
    )
    return (to * 2**32 + begin).ravel()


@pytest.mark.parametrize("ask", [transfer.offsets_of, transfer.all_offsets, lambda t: transfer.admitted(t, t._guard)])
def test_more_offsets_or_axes_than_there_may_be_are_refused(ask, monkeypatch):
    assert (transfer.MOST_OFFSETS, transfer.MAX_AXES) == (2**30, 32)
    monkeypatch.setattr(transfer, "MOST_OFFSETS", 64)
    for shape in ((8, 8), (1,) * 32):
        assert ask(MakeTensor(None, MakeLayout(shape))).shape == shape
    for shape, what in (((5, 13), "65 offsets of 2 modes"), ((1,) * 33, "1 offsets of 33 modes")):
        with pytest.raises(RangeError, match=f"{what} one by one\n +expected  at most 64, of 32 modes"):
            ask(MakeTensor(None, MakeLayout(shape)))


def test_an_array_has_32_axes_at_most():
    for n in (31, 32):
        assert np.asarray(MakeTensor(np.ones(1), Layout((1,) * n, (0,) * n))).shape == (1,) * n
    with pytest.raises(tla.RankError, match="an array of 33 axes"):
        np.asarray(MakeTensor(np.ones(1), Layout((1,) * 33, (0,) * 33)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_of_products(kind):
    """What a kernel does: block after block of k is added to what stands in the target, its padding left alone."""
    rng = np.random.default_rng(6)
    x, y, z = rng.integers(-9, 9, (37, 50)), rng.integers(-9, 9, (50, 45)), rng.integers(-9, 9, (37, 45))
    out = holding(z, KINDS[kind](37, 45))
    for k in range(0, 50, 16):
        gemm(x[:, k : k + 16], y[k : k + 16], out, tile=(16, 32, 16), accumulate=True)
    assert np.array_equal(np.asarray(out), z + x @ y)
    assert untouched(out, np.full_like(out.data, 99))
    gemm(np.zeros((37, 0), int), np.zeros((0, 45), int), out, accumulate=True)
    assert np.array_equal(np.asarray(out), z + x @ y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_a_product_in_tiles_is_summed_in_the_type_of_its_target(dtype):
    """2^k and 1 in different tiles: a narrower sum loses the 1."""
    large = 2.0 ** (23 if dtype in (np.float32, np.complex64) else 52)
    out = np.zeros((1, 1), dtype)
    gemm(np.array([[large, 1]], dtype), np.ones((2, 1), dtype), out, tile=(1, 1, 1))
    assert out[0, 0] == large + 1


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32])
def test_a_product_fits_its_target_or_is_refused(dtype):
    """On both sides of each end of the type: sums do not wrap."""
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    below = [(least, 0), (least + 1, -1), (least, -1), (least // 2, least // 2, -1)] if least else []
    for terms in [(most, 0), (most - 1, 1), (most, 1), (most // 2, most // 2, 1), (most // 2, most // 2, 2), *below]:
        row, column, out = np.array([terms], dtype), np.ones((len(terms), 1), dtype), np.zeros((1, 1), dtype)
        if least <= sum(terms) <= most:
            gemm(row, column, out, tile=(1, 1, 2))
            assert out[0, 0] == sum(terms)
        else:
            with pytest.raises(RangeError, match=f"expected  {least} to {most}"):
                gemm(row, column, out, tile=(1, 1, 2))
    out = np.ones((1, 1), bool)
    gemm(np.zeros((1, 2), bool), np.ones((2, 1), bool), out)
    assert not out[0, 0]


@pytest.mark.parametrize(("a", "b", "c", "more", "says"), [
    ((2, 3), (4, 5), (2, 5), {}, "gemm of \\(2, 3\\) by \\(4, 5\\) into \\(2, 5\\)"),
    ((2, 3), (3, 5), (3, 5), {}, "into \\(3, 5\\)"),
    ((2, 3), (3, 5), (2, 4), {}, "into \\(2, 4\\)"),
    ((2, 3), (3, 5), (10,), {}, "into \\(10,\\)"),
    ((6,), (3, 5), (2, 5), {}, "by \\(3, 5\\)"),
    ((2, 3), (15,), (2, 5), {}, "by \\(15,\\)"),
    ((2, 3), (5, 3), (2, 5), {}, "B as \\(n,k\\)"),
    ((2, 3), (3, 5), (2, 5), {"tile": (2, 2)}, "in tiles of"),
    ((2, 3), (3, 5), (2, 5), {"tile": [2, 2, 2]}, "in tiles of"),
    ((2, 3), (3, 5), (2, 5), {"tile": (2, 0, 2)}, "0 is not positive"),
    ((2, 3), (3, 5), (2, 5), {"tile": (2, 2, -1)}, "-1 is not positive"),
])  # fmt: skip
def test_what_a_product_refuses(a, b, c, more, says):
    out = np.zeros(c, int)
    with pytest.raises(tla.TlaError, match=says):
        gemm(np.ones(a, int), np.ones(b, int), out, **more)
    assert not out.any()


@pytest.mark.parametrize(("more", "says"), [
    ({"border": ((1, 1),)}, "a border of"),
    ({"border": ((1, 1), 1)}, "a border of"),
    ({"border": ((1, 1), (1, 1, 1))}, "a border of"),
    ({"border": -1}, "0 or more zeros"),
    ({"border": ((0, 0), (0, -1))}, "0 or more zeros"),
    ({"kernel": (2, 2, 2)}, "for 2 spatial modes"),
    ({"kernel": (2, 0)}, "0 is not positive"),
    ({"stride": (1, 0)}, "0 is not positive"),
    ({"dilation": 0}, "0 is not positive"),
    ({"kernel": (4, 1)}, "a window of 4 in the 3 of mode 1"),
    ({"kernel": (2, 3), "dilation": (1, 2)}, "a window of 3 in the 4 of mode 2"),
])  # fmt: skip
def test_what_im2col_refuses(more, says):
    x = MakeTensor(np.arange(12), tla.parse("(1,3,4,1):(12,4,1,1)"))
    with pytest.raises(tla.TlaError, match=says):
        im2col(x, **{"kernel": (2, 2), **more})


def test_a_window_as_large_as_the_map_has_one_place():
    x = np.arange(15).reshape(1, 3, 5, 1)
    for kernel, dilation, taken in (
        ((3, 5), 1, x[0, :, :, 0]),
        ((3, 3), (1, 2), x[0, :, ::2, 0]),
        ((2, 5), (2, 1), x[0, ::2, :, 0]),
    ):
        assert np.asarray(im2col(MakeTensor(x), kernel, dilation=dilation)).tolist() == [taken.ravel().tolist()]


def test_a_product_in_the_memory_of_an_operand():
    data = np.arange(48)
    a = MakeTensor(data, MakeLayout((4, 4), LayoutRight))
    b, truth = np.asarray(a).copy(), np.asarray(a) @ np.asarray(a)
    gemm(a, b, a, tile=(2, 2, 2))
    assert np.array_equal(np.asarray(a), truth)
    low = np.full((2, 2), 100, np.int8)
    wide = np.zeros((2, 2), np.int32)
    gemm(low, low, wide)
    assert (wide == 20000).all()


@in_batches(range(200))
def test_runs_that_a_swizzle_keeps_move_as_one(seed):
    """Swizzles of every base, at starts, offsets and tails in and between their runs, against the definition."""
    rng = random.Random(seed)
    inner = rng.choice(
        [
            MakeLayout((24, 40), LayoutRight),
            MakeLayout((32, 24)),
            MakeLayout[rng.choice((8, 16, 32)), rng.choice((zN, nZ))](33, 40),
            tla.parse("((8,4),(4,6)):((1,512),(8,64))"),
            tla.parse("(4,(8,3),6):(24,(1,8),96)"),
        ]
    )
    swizzle = Swizzle[rng.randint(1, 3), rng.randint(0, 5), rng.choice((3, 4, -3))]()
    layout = ComposedLayout(swizzle, rng.choice((0, 8, 16, 3)), inner)
    whole = MakeTensor[np.int32](layout)
    dtype = rng.choice((np.int32, np.int64))
    whole = MakeTensor(np.arange(whole.data.size + 1 + 16, dtype=dtype), layout, offset=rng.choice((0, 16, 1)))
    at, extents = zip(
        *(
            (rng.choice((0, 0, 8, n // 2, n - 1)), rng.choice((8, 16, n, n - 1, 5)))
            for n in map(int, whole.origin_shape)
        )
    )
    tile = GetTile(whole, at, extents)
    truth = Model.of(tile).dense()
    assert np.array_equal(np.asarray(tile), truth)
    values = -1 - np.arange(truth.size, dtype=np.int32).reshape(truth.shape)
    expected = whole.data.copy()
    expected[Model.of(tile).places()] = values
    copy(values, tile)
    assert np.array_equal(whole.data, expected)


@pytest.mark.parametrize("spatial", [(1, 1), (1, 7), (-1, 2), (0, 1)])
def test_im2col_takes_each_mode_once(spatial):
    x = MakeTensor(np.arange(12), tla.parse("(1,3,4,1):(12,4,1,1)"))
    with pytest.raises(tla.RankError, match="each once"):
        im2col(x, (2, 2), spatial=spatial)
