"""Kernels of Triton as people write them: matrix products, attention, softmax, normalisations, transposes, gathers."""

import triton
import triton.language as tl


@triton.jit
def matmul(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rn[None, :] * sbn
    if a.dtype.element_ty == tl.int8:
        acc = tl.zeros((BM, BN), tl.int32)
    else:
        acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        x = tl.load(pa)
        y = tl.load(pb)
        acc = tl.dot(x, y, acc)
        pa += BK * sak
        pb += BK * sbk
    pc = c + rm[:, None] * scm + rn[None, :] * scn
    tl.store(pc, acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def matmul_tma(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    da = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    db = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    dc = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    m = tl.program_id(0) * BM
    n = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(da.load([m, k]), db.load([n, k]).T, acc)
    dc.store([m, n], acc.to(c.dtype.element_ty))


@triton.jit
def attention(q, k, v, o, sm, T, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    rn = tl.arange(0, BN)
    base = tl.program_id(1) * T * D
    x = tl.load(q + base + rm[:, None] * D + rd[None, :])
    acc = tl.zeros((BM, D), tl.float32)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    for n in range(0, T, BN):
        y = tl.load(k + base + (n + rn)[:, None] * D + rd[None, :])
        s = tl.dot(x, y.T) * sm
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(top - new)
        total = total * old + tl.sum(p, 1)
        acc = acc * old[:, None]
        z = tl.load(v + base + (n + rn)[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(z.dtype), z, acc)
        top = new
    acc = acc / total[:, None]
    tl.store(o + base + rm[:, None] * D + rd[None, :], acc.to(o.dtype.element_ty))


@triton.jit
def softmax(x, y, sx, sy, N, B: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * sx + at, mask=at < N, other=float("-inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(y + row * sy + at, e / tl.sum(e, 0), mask=at < N)


@triton.jit
def layernorm(x, y, w, b, N, eps, B: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((B,), tl.float32)
    square = tl.zeros((B,), tl.float32)
    for start in range(0, N, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
        total += v
        square += v * v
    mean = tl.sum(total, 0) / N
    scale = tl.rsqrt(tl.sum(square, 0) / N - mean * mean + eps)
    for start in range(0, N, B):
        at = start + tl.arange(0, B)
        v = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
        out = (v - mean) * scale * tl.load(w + at, mask=at < N) + tl.load(b + at, mask=at < N)
        tl.store(y + row * N + at, out.to(y.dtype.element_ty), mask=at < N)


@triton.jit
def transpose(x, y, M, N, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    j = tl.program_id(1) * B1 + tl.arange(0, B1)
    v = tl.load(x + i[:, None] * N + j[None, :])
    tl.store(y + j[:, None] * M + i[None, :], v.T)


@triton.jit
def row_sums(x, y, N, B0: tl.constexpr, B1: tl.constexpr):
    i = tl.program_id(0) * B0 + tl.arange(0, B0)
    v = tl.load(x + i[:, None] * B1 + tl.arange(0, B1)[None, :])
    tl.store(y + i, tl.sum(v, 1))


@triton.jit
def gather(x, index, y, N, D, B: tl.constexpr, W: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.load(index + at)
    w = tl.arange(0, W)
    tl.store(y + at[:, None] * D + w[None, :], tl.load(x + rows[:, None] * D + w[None, :]))


@triton.jit
def permute(x, y, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    v = tl.load(x + a * (B * C) + b * C + c)
    v = tl.permute(v, (2, 0, 1))
    at = tl.arange(0, C)[:, None, None] * (A * B) + tl.arange(0, A)[None, :, None] * B + tl.arange(0, B)[None, None, :]
    tl.store(y + at, v)


@triton.jit
def copy_columns(x, y, S, B0: tl.constexpr, B1: tl.constexpr):
    """A copy whose threads go down columns: the stride between neighbours is S."""
    at = tl.arange(0, B0)[:, None] * S + tl.arange(0, B1)[None, :] * (S * B0)
    tl.store(y + at, tl.load(x + at))


@triton.jit
def matmul_split(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, S: tl.constexpr):
    """A matrix product whose k is divided between programs, which add to the result by atomics."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.program_id(2) * BK + tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK * S):
        acc = tl.dot(
            tl.load(a + rm[:, None] * K + (k + rk)[None, :]), tl.load(b + (k + rk)[:, None] * N + rn[None, :]), acc
        )
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc)


@triton.jit
def matmul_quantized(a, b, s, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights of 8 bits, converted while they are loaded; a scale for each column."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :])
        w = tl.load(b + (k + rk)[:, None] * N + rn[None, :]).to(x.dtype)
        acc = tl.dot(x, w, acc)
    acc *= tl.load(s + rn)[None, :]
    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(c.dtype.element_ty))


@triton.jit
def cross_entropy(x, label, y, V, B: tl.constexpr):
    row = tl.program_id(0)
    top = float("-inf")
    total = 0.0
    for start in range(0, V, B):
        v = tl.load(x + row * V + start + tl.arange(0, B)).to(tl.float32)
        new = tl.maximum(top, tl.max(v, 0))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(v - new), 0)
        top = new
    tl.store(y + row, tl.log(total) + top - tl.load(x + row * V + tl.load(label + row)).to(tl.float32))


@triton.jit
def rope(x, cos, sin, y, N, H: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, H)
    a = tl.load(x + row * N + at)
    b = tl.load(x + row * N + H + at)
    c = tl.load(cos + row * H + at)
    s = tl.load(sin + row * H + at)
    tl.store(y + row * N + at, a * c - b * s)
    tl.store(y + row * N + H + at, b * c + a * s)


@triton.jit
def cumulative(x, y, N, A: tl.constexpr, B: tl.constexpr):
    at = (tl.program_id(0) * A + tl.arange(0, A))[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.cumsum(tl.load(x + at), 1))


@triton.jit
def best(x, y, N, A: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * A + tl.arange(0, A)
    tl.store(y + i, tl.argmax(tl.load(x + i[:, None] * B + tl.arange(0, B)[None, :]), 1))


@triton.jit
def bins(x, y, N, A: tl.constexpr, B: tl.constexpr):
    tl.atomic_add(y + tl.arange(0, B), tl.histogram(tl.load(x + tl.program_id(0) * A + tl.arange(0, A)), B))


@triton.jit
def column_sums(x, y, N, A: tl.constexpr, B: tl.constexpr):
    """The gradient of a bias: columns summed by all programs."""
    v = tl.load(x + (tl.program_id(0) * A + tl.arange(0, A))[:, None] * N + tl.arange(0, B)[None, :]).to(tl.float32)
    tl.atomic_add(y + tl.arange(0, B), tl.sum(v, 0))


@triton.jit
def quantized(x, y, s, N, B: tl.constexpr):
    """Rows to 8 bits, each by its largest value."""
    row = tl.program_id(0)
    at = tl.arange(0, B)
    v = tl.load(x + row * N + at).to(tl.float32)
    scale = tl.max(tl.abs(v), 0) / 127.0
    tl.store(s + row, scale)
    tl.store(y + row * N + at, (v / scale).to(tl.int8))


@triton.jit
def sorted_rows(x, y, N, A: tl.constexpr, B: tl.constexpr):
    at = (tl.program_id(0) * A + tl.arange(0, A))[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(y + at, tl.sort(tl.load(x + at)))
