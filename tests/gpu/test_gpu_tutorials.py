"""CuTe's tutorials on numpy: the indices that are emitted of them. test_gpu_tiled.py runs them, tests/kernels those that are kernels."""

import functools
import itertools
import runpy

import numpy as np
import pytest

from tla import Int, local_tile, make_identity_tensor
from tla.gpu import values_of

from places import EXAMPLES

KERNELS = ["sgemm_2", "sgemm_sm70", "wgmma_sm90"]
M, N, K = 70, 50, 40


@functools.cache
def tutorials():
    return runpy.run_path(str(EXAMPLES / "gpu_tutorials.py"))


def functions(texts):
    """The functions of emitted Python; each takes those of its parameters that it has."""
    space = {}
    exec("\n".join(texts.values()), space)

    def call(name, **given):
        f = space[name]
        return f(**{x: given[x] for x in f.__code__.co_varnames[: f.__code__.co_argcount]})

    return call


def kernel(name):
    """The texts of a kernel's indices, its tile, and the partitions that they are of."""
    made = tutorials()["TUTORIALS"][name]
    parts = {"a": made.g2s[np.arange(made.g2s.threads)].partition_S, "c": made.mma[np.arange(made.mma.threads)].partition_C}
    return tutorials()["indices"](name, "python"), made.tile, parts


@pytest.mark.parametrize("name", KERNELS)
def test_the_emitted_indices_are_the_partitions(name):
    texts, tile, parts = kernel(name)
    call, (bm, bn, bk) = functions(texts), (Int[n]() for n in tile)
    for side, function, shape, tiler, where in (
        ("a", "read_a", (M, K), (bm, bk), {"bx": 1, "step": 1}),
        ("c", "write_c", (M, N), (bm, bn), {"bx": 0, "by": 0}),
    ):
        found = np.broadcast_arrays(*values_of(parts[side](local_tile(make_identity_tensor(shape), tiler, tuple(where.values())))))
        rows, columns = found
        threads, values, *rest = rows.shape
        for t, v, i, j in itertools.product((0, 1, threads // 2, threads - 1), *(range(0, n, max(n // 3, 1)) for n in (values, *rest))):
            at = {"t": t, "v": v, "i": i, "j": j, "M": M, "N": N, "K": K, **where}
            row, column = int(rows[t, v, i, j]), int(columns[t, v, i, j])
            assert call(function, **at) == row * shape[1] + column
            assert bool(call(f"has_{side}", **at)) is (row < shape[0] and column < shape[1])


def test_no_tutorial_is_missing():
    assert {*tutorials()["TUTORIALS"]} == {*KERNELS}
