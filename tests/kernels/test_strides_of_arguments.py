"""Strides that are 0 at the launch: an input may have them, what is written is refused, what is added to takes all."""

import ctypes

import numpy as np
import pytest

from tests.kernels.test_kernel_source import pointer
from tla import (
    Int,
    MakeTensor,
    TlaError,
    _1,
    ceil_div,
    dim,
    elem_less,
    local_tile,
    make_identity_tensor,
    make_layout,
    parse,
)
from tla.kernels import atomic_add, block, copy_if, kernel, local_partition, tensor, thread

import compiled

N = dim("N", at_least=0, at_most=2**20)
SA, SB = (dim(name, at_least=0, at_most=2**10) for name in ("sa", "sb"))


def parts(*tensors):
    return [local_partition(local_tile(x, (32,), (block(0),)), parse("_32:_1"), thread()) for x in tensors]


def grid(a, b):
    return (ceil_div(a.shape[0], 32),)


@kernel(threads=32, grid=grid)
def copied(a, b):
    x, y, at = parts(a, b, make_identity_tensor(a.shape))
    copy_if(elem_less(at, a.shape), x, y)


@kernel(threads=32, grid=grid)
def added(a, b):
    atomic_add(*parts(a, b))


def vector(stride):
    return tensor(np.float32, make_layout((N,), stride=(stride,)))


def conditions(made, *given):
    return {str(c) for c in made.program(*given).conditions}


def test_a_stride_of_what_is_written_is_1_or_more():
    assert conditions(copied, vector(SA), vector(SB)) == {"min(1,N-1) <= sb"}
    assert conditions(copied, vector(SB), vector(SB)) == {"min(1,N-1) <= sb"}
    assert conditions(copied, vector(SA), vector(2 * SB)) == {"min(1,N-1) <= 2*sb"}
    assert conditions(added, vector(SA), vector(SB)) == set()
    for stride in _1, Int[3](), dim("sc"), -SB:
        assert conditions(copied, vector(SA), vector(stride)) == set()


def test_a_stride_that_is_an_extent_is_0_where_there_are_no_elements():
    @kernel(threads=32)
    def rows(a):
        tile, at = (local_tile(x, (4, 8), (0, 0)) for x in (a, make_identity_tensor(a.shape)))
        own, places = (local_partition(x, parse("(_4,_8):(_8,_1)"), thread()) for x in (tile, at))
        copy_if(elem_less(places, a.shape), own, own)

    m, n = dim("m", at_least=0, at_most=9), dim("n", at_least=0, at_most=9)
    assert conditions(rows, tensor(np.float32, make_layout((m, n), stride=(n, _1)))) == set()
    assert conditions(rows, tensor(np.float32, make_layout((m, n), stride=(SA, _1)))) == {"min(1,m-1,n) <= sa"}


def test_the_launch_takes_inputs_of_stride_0_and_refuses_such_outputs(tmp_path):
    source = copied.source("c", vector(SA), vector(SB))
    assert "min(1,N-1) <= sb" in source.text.splitlines()[2]
    library = compiled.build(tmp_path, source.text)
    library.kernel_main_requires.restype = ctypes.c_bool
    assert [library.kernel_main_requires(5, *strides) for strides in ((0, 1), (1, 0), (0, 0), (2, 3))] == [1, 0, 0, 1]
    assert [library.kernel_main_requires(n, 0, 0) for n in range(4)] == [1, 1, 0, 0]  # of no element, or of one
    a, b = np.array([7, 8], np.float32), np.zeros(5, np.float32)
    library.kernel_main(pointer(a), pointer(b), 5, 0, 1)
    assert b.tolist() == [7] * 5


def test_arrays_of_stride_0():
    same, four = make_layout((4,), stride=(0,)), np.zeros(4, np.float32)
    copied.run(MakeTensor(np.full(1, 3, np.float32), same), four)
    assert four.tolist() == [3] * 4
    one = MakeTensor(np.zeros(1, np.float32), same)
    with pytest.raises(TlaError, match="elements that differ go to one place"):
        copied.run(np.arange(4, dtype=np.float32), one)
    assert copied.check(np.zeros(4, np.float32), one).races
    added.run(np.arange(4, dtype=np.float32), one)
    assert one.data.tolist() == [6]
    assert added.check(np.arange(4, dtype=np.float32), one).holds
