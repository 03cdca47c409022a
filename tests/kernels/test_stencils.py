"""A depthwise convolution whose taps are a column of the weights, seen as a matrix; windows as many as a row has; a triangle
of a matrix: proved, and as C, beside numpy."""

import ctypes

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import (
    Int,
    RangeError,
    _,
    _1,
    ceil_div,
    composition,
    dim,
    domain_offset,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
)
from tla.gpu import make_fragment_like
from tla.kernels import block, clear, copy_if, fill, kernel, local_partition, tensor, thread, transform
from tla.kernels.proofs.bounds import not_inside
from tla.kernels.proofs.race_freedom import why_not_free

from night import NIGHT, some
from sources_of_kernels import c_function

ROWS, COLS, TAPS = 2, 8, 2
THREADS = parse("(_2,_8):(_8,_1)")
M, N = dim("m", at_least=0, at_most=2**15), dim("n", at_least=1, at_most=2**15)


def part(x):
    return local_partition(local_tile(x, (ROWS, COLS), (block(0), block(1))), THREADS, thread())


def depthwise_of(reach):
    """The kernel; reach: the columns from a tap to the next."""

    @kernel(threads=16, grid=lambda x, w, y: (ceil_div(y.shape[0], ROWS), ceil_div(y.shape[1], COLS)))
    def depthwise(x, w, y):
        inside, target = elem_less(part(make_identity_tensor(y.shape)), y.shape), part(y)
        total, a, b = (make_fragment_like(target) for _each in range(3))
        clear(total)
        for tap in range(TAPS):
            moved = domain_offset((0, reach * tap), x)
            taps = composition(w[_, tap], make_layout(y.shape, stride=(_1, Int[0]())))
            for source, to in (moved, a), (taps, b):
                clear(to)
                copy_if(inside, part(source), to)
            transform(total, a, b, total, lambda s, v, u: s + v * u)
        copy_if(inside, total, target)

    return depthwise


def given(m, n):
    return [
        tensor(np.float32, make_layout(shape, stride=(shape[1], _1))) for shape in ((m, n + 1), (m, Int[2]()), (m, n))
    ]


def test_a_depthwise_convolution_is_proved():
    program = depthwise_of(1).program(*given(M, N))
    assert not [*not_inside(program)]
    assert why_not_free(program) is None


@pytest.mark.skipif(not NIGHT, reason="seconds of a processor: at night")
def test_a_depthwise_convolution_beside_numpy(tmp_path):
    made, rng = depthwise_of(1), np.random.default_rng(1)
    call = c_function(tmp_path, made.source("c", *given(M, N), parameters="x w y m n"))
    for m, n in [(0, 1), *rng.integers(1, 20, (30, 2)).tolist()]:
        x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((m, n + 1), (m, 2)))
        expected = sum(w[:, t, None] * x[:, t : t + n] for t in range(2))
        y, z = (np.full((m, n), np.nan, np.float32) for _way in range(2))
        made.run(x, w, y)
        call(*map(pointer, (x, w, z)), ctypes.c_int(m), ctypes.c_int(n))
        assert (y == expected).all()
        assert (z == expected).all()


def test_a_tap_past_the_end_is_refused():
    with pytest.raises(RangeError, match=r"reads x at .*, which is not proved to be inside of \(m,n\+1\)"):
        depthwise_of(2).source("c", *given(M, N))


# ------------------------------------------------------------------------------------ windows and triangles of any size


def pooled_of(reach, step):
    """The largest of each window of `reach` elements of a row, a window every `step`."""

    @kernel(threads=16, grid=lambda x, y: (ceil_div(y.shape[0], ROWS), ceil_div(y.shape[1], COLS)))
    def pooled(x, y):
        inside = elem_less(part(make_identity_tensor(y.shape)), y.shape)
        best, held = (make_fragment_like(part(y)) for _each in range(2))
        fill(best, -99)
        for tap in range(reach):
            windows = composition(domain_offset((0, tap), x), (_, make_layout((y.shape[1],), stride=(step,))))
            fill(held, -99)
            copy_if(inside, part(windows), held)
            transform(best, held, best, np.fmax)
        copy_if(inside, best, part(y))

    return pooled


def rows_of(*shape):
    return tensor(np.float32, make_layout(shape, stride=(shape[1], _1)))


@pytest.mark.parametrize(("reach", "step"), some([(2, 2), (2, 3), (3, 2)], 3))
def test_windows_that_a_row_has_are_inside_of_it(reach, step, tmp_path):
    """Of the predicate i < (n - reach) // step + 1 it follows that step * i + reach - 1 < n; no fact of n is asked for."""
    wide = dim("n", at_least=reach, at_most=2**10)
    source = pooled_of(reach, step).source(
        "c", rows_of(M, wide), rows_of(M, (wide - reach) // step + 1), parameters="x y m n"
    )
    assert [str(x) for x in source.conditions if "divides" in str(x)] == []
    call, rng = c_function(tmp_path, source), np.random.default_rng(1)
    for m, n in [(0, reach), (1, reach), (3, 2 * reach + 1), (4, 40), (5, 41), (2, 42)]:
        x = rng.integers(-9, 9, (m, n)).astype(np.float32)
        expected = np.lib.stride_tricks.sliding_window_view(x, reach, 1)[:, ::step].max(axis=2, initial=-99)
        y, z = (np.full(expected.shape, np.nan, np.float32) for _way in range(2))
        pooled_of(reach, step).run(x, y)
        call(*map(pointer, (x, z)), *map(ctypes.c_int, (m, n)))
        assert (y == expected).all()
        assert (z == expected).all()
    with pytest.raises(RangeError, match=r"reads x at .*, which is not proved to be inside"):
        pooled_of(reach + step, step).source("c", rows_of(M, wide), rows_of(M, (wide - reach) // step + 1))
    with pytest.raises(RangeError, match=r"reads x at .*, which is not proved to be inside"):
        pooled_of(reach, step + 1).source("c", rows_of(M, wide), rows_of(M, (wide - reach) // step + 1))


@kernel(threads=16, grid=lambda x, y: (ceil_div(x.shape[0], ROWS), ceil_div(x.shape[1], COLS)))
def triangle(x, y):
    """y = x below the diagonal and on it, 0 above, by the number of an element's diagonal."""
    m, n = x.shape
    diagonals = composition(domain_offset((m,), make_identity_tensor((m + n,))), make_layout((m, n), stride=(-1, 1)))
    below = elem_less(part(diagonals), (m + 1,))
    inside = elem_less(part(make_identity_tensor(x.shape)), x.shape)
    held, kept = (make_fragment_like(part(x)) for _each in range(2))
    for registers in held, kept:
        clear(registers)
    copy_if(inside, part(x), held)
    copy_if(below, held, kept)
    copy_if(inside, kept, part(y))


def test_a_triangle_by_its_diagonals(tmp_path):
    call = c_function(tmp_path, triangle.source("c", rows_of(M, N), rows_of(M, N), parameters="x y m n"))
    assert triangle.check(rows_of(M, N), rows_of(M, N)).proved
    for m, n in [(0, 3), (1, 1), (3, 17), (17, 3), (8, 8)]:
        x = np.random.default_rng(1).integers(1, 9, (m, n)).astype(np.float32)
        y, z = (np.full_like(x, np.nan) for _way in range(2))
        triangle.run(x, y)
        call(*map(pointer, (x, z)), ctypes.c_int(m), ctypes.c_int(n))
        assert (y == np.tril(x)).all()
        assert (z == np.tril(x)).all()
