"""A depthwise convolution whose taps are a column of the weights, seen as a matrix: proved, and as C, beside numpy."""

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
from tla.kernels import block, clear, copy_if, kernel, local_partition, tensor, thread, transform
from tla.kernels.proofs.bounds import not_inside
from tla.kernels.proofs.race_freedom import why_not_free

from night import NIGHT
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
