"""Kernels of Gluon, whose layouts the author writes: a transpose, a copy by cp.async, matrix products by mma and by the
TMA and wgmma."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2


@gluon.jit
def gluon_transpose(x, y, M: gl.constexpr, N: gl.constexpr, V: gl.constexpr, P: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    columns: gl.constexpr = gl.BlockedLayout([4, 1], [8, 4], [1, 4], [0, 1])
    shared: gl.constexpr = gl.SwizzledSharedLayout(V, 1, P, [1, 0])
    i = gl.arange(0, M, gl.SliceLayout(1, rows))
    j = gl.arange(0, N, gl.SliceLayout(0, rows))
    memory = gl.allocate_shared_memory(x.dtype.element_ty, [M, N], shared)
    memory.store(gl.load(x + i[:, None] * N + j[None, :]))
    v = memory.load(columns)
    i = gl.arange(0, M, gl.SliceLayout(1, columns))
    j = gl.arange(0, N, gl.SliceLayout(0, columns))
    gl.store(y + j[None, :] * M + i[:, None], v)


@gluon.jit
def gluon_copy(x, y, M: gl.constexpr, N: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [1, 0])
    i = gl.arange(0, M, gl.SliceLayout(1, rows))
    j = gl.arange(0, N, gl.SliceLayout(0, rows))
    at = i[:, None] * N + j[None, :]
    memory = gl.allocate_shared_memory(x.dtype.element_ty, [M, N], shared)
    async_copy.async_load(memory, x + at)
    async_copy.commit_group()
    async_copy.wait_group(0)
    gl.store(y + at, memory.load(rows))


@gluon.jit
def gluon_mma(a, b, c, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, V: gl.constexpr, P: gl.constexpr):
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(V, 1, P, [1, 0])
    product: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    i = gl.arange(0, M, gl.SliceLayout(1, rows))
    j = gl.arange(0, K, gl.SliceLayout(0, rows))
    left = gl.allocate_shared_memory(a.dtype.element_ty, [M, K], shared)
    left.store(gl.load(a + i[:, None] * K + j[None, :]))
    i = gl.arange(0, K, gl.SliceLayout(1, rows))
    j = gl.arange(0, N, gl.SliceLayout(0, rows))
    right = gl.allocate_shared_memory(b.dtype.element_ty, [K, N], shared)
    right.store(gl.load(b + i[:, None] * N + j[None, :]))
    x = left.load(gl.DotOperandLayout(0, product, 2))
    y = right.load(gl.DotOperandLayout(1, product, 2))
    acc = mma_v2(x, y, gl.zeros([M, N], gl.float32, product))
    i = gl.arange(0, M, gl.SliceLayout(1, product))
    j = gl.arange(0, N, gl.SliceLayout(0, product))
    gl.store(c + i[:, None] * N + j[None, :], acc)
