"""Ten kernels of CATLASS, with tails on every side, by the instructions that move their tiles: equal to numpy.

A buffer is a numpy array, an instruction its two layouts: `issue` plans a transfer and executes it. Only the product of
two fractals, and what a vector unit does, is numpy's.
"""

import itertools

import numpy as np
import pytest

from tla import (
    GetTile,
    MakeBatchedLayout,
    MakeLayout,
    MakeLayoutFilter,
    MakeLayoutFmap,
    MakeMxScaleLayout,
    MakeTensor,
    _,
    ascend,
    copy,
)
from tla.ascend import (
    L0C,
    ColumnMajor,
    Conv2d,
    GemmIdentityBlockSwizzle,
    PaddingRowMajor,
    RowMajor,
    fp4_e2m1,
    fp8_e4m3,
    fp8_e8m0,
    grouped,
    half,
    nZ,
    transfer,
    zN,
    zZ,
)

from night import some

RNG = np.random.default_rng(5)


def issue(src, dst, element, arch="AtlasA2", **more):
    """Plan a transfer, execute it on the two buffers, and hand back the destination."""
    for i in transfer(src, dst, arch, element=element, **more):
        to, begin, at, edges = i.moved
        sizes = tuple(map(int, to.origin_shape))
        grid = np.ogrid[tuple(slice(n) for n in sizes)]
        inside = np.broadcast_to(True, sizes)
        for edge in edges:
            place = np.broadcast_to(edge.at(*grid), sizes) + edge.begin
            inside = inside & (place >= 0) & (place < edge.limit)
        read = np.broadcast_to(begin(*grid), sizes) + i.src + at
        where = np.clip(read, 0, src.data.size - 1)  # past the end is padding, or border
        dst.data[(np.broadcast_to(to(*grid), sizes) + i.dst)[inside]] = src.data[where[inside]]
        dst.data[(np.broadcast_to(to(*grid), sizes) + i.dst)[~inside]] = 0
    return dst


def memory(layout, position, room=0, dtype=np.float32):
    """A tensor over a buffer of its own, with room behind it for whole squares."""
    size = MakeTensor[np.float32](layout).data.size
    return MakeTensor(np.zeros(size + room, dtype), layout, position=position)


def in_gm(array, layout):
    t = memory(layout, "GM")
    copy(array.astype(np.float32), t)
    return t


def integers(*shape):
    return RNG.integers(-4, 5, shape).astype(np.float32)


def operand(tile, tag, side, element, arch):
    """A tile on its way from global memory over L1 to L0, as numpy has it there."""
    l1_tag = zN if tag in (RowMajor, PaddingRowMajor) else nZ
    l0_tag = nZ if side == "B" else zN if arch == "Ascend950" else zZ
    rows, columns = tile.origin_shape
    in_l1 = issue(tile, memory(MakeLayout[element, l1_tag](rows, columns), "L1"), element, arch)
    return np.asarray(
        issue(in_l1, memory(MakeLayout[element, l0_tag](rows, columns), f"L0{side}", 8192), element, arch)
    )


def out(total, tile, element=half, arch="AtlasA2", **more):
    in_l0c = memory(L0C(*total.shape).layout, "L0C", dtype=total.dtype)
    copy(total, in_l0c)
    issue(in_l0c, tile, element, arch, **more)


def block_of(a, b, c, block, tile, element=half, arch="AtlasA2", tags=(RowMajor, RowMajor)):
    """One block of a GEMM: a step of k after another into the accumulator, then out."""
    (m, n, first), (rows, columns, depth), k = block.start, block.extents, tile[2]
    total = np.zeros((rows, columns), np.float32)
    for start in range(first, first + depth, k):
        x = operand(GetTile(a, (m, start), (rows, k)), tags[0], "A", element, arch)
        y = operand(GetTile(b, (start, n), (k, columns)), tags[1], "B", element, arch)
        total += x @ y
    out(total, GetTile(c, (m, n), (rows, columns)), arch=arch)


def matmul(a, b, c, tile, cores=3, **more):
    (m, k), n = a.origin_shape, b.origin_shape[1]
    for block in GemmIdentityBlockSwizzle[3, 0]((int(m), int(n), int(k)), tile, cores=cores).order():
        block_of(a, b, c, block, tile, **more)
    return np.asarray(c)


def gm(rows, columns, tag=RowMajor, **more):
    return MakeLayout[half, tag](rows, columns, **more)


@pytest.mark.parametrize(
    ("tags", "arch"),
    some(itertools.product(itertools.product((RowMajor, ColumnMajor), repeat=2), ("AtlasA2", "Ascend950")), 3),
)
def test_basic(tags, arch):
    x, y = integers(70, 90), integers(90, 50)
    a, b = (in_gm(v, gm(*v.shape, tag)) for v, tag in zip((x, y), tags))
    np.testing.assert_array_equal(matmul(a, b, memory(gm(70, 50), "GM"), (32, 32, 48), tags=tags, arch=arch), x @ y)


def test_padding():
    """Rows that begin off 512 bytes are copied to blocks first: every tile is in one of them."""
    x, y, tile = integers(70, 90), integers(90, 50), (32, 32, 48)
    assert ascend.IsNeedPadding(RowMajor(70, 90), 256)
    a = in_gm(x, MakeLayout[half, PaddingRowMajor](70, 90, 32, 48))
    b = in_gm(y, MakeLayout[half, PaddingRowMajor](90, 50, 48, 32))
    made = matmul(a, b, memory(gm(70, 50), "GM"), tile, tags=(PaddingRowMajor, PaddingRowMajor))
    np.testing.assert_array_equal(made, x @ y)


def test_batched():
    x, y = integers(3, 33, 47), integers(3, 47, 20)
    a, b, c = (memory(MakeBatchedLayout(gm(*s), 3, s[0] * s[1] + 5), "GM") for s in ((33, 47), (47, 20), (33, 20)))
    copy(x, a)
    copy(y, b)
    for i in range(3):
        matmul(a[i, _, _], b[i, _, _], c[i, _, _], (32, 32, 32))
    np.testing.assert_array_equal(np.asarray(c), x @ y)


def test_grouped():
    problems, tile = [(33, 20, 40), (0, 8, 8), (17, 50, 24)], (16, 32, 32)
    x, y = ([integers(*(p[0], p[2])) for p in problems], [integers(p[2], p[1]) for p in problems])
    c = [memory(gm(m, n), "GM") for m, n, _k in problems]
    a, b = ([in_gm(v, gm(*v.shape)) if v.size else None for v in values] for values in (x, y))
    for g, block in itertools.chain.from_iterable(grouped(problems, tile, cores=4)):
        block_of(a[g], b[g], c[g], block, tile)
    for g, (m, _n, _k) in enumerate(problems):
        if m:
            np.testing.assert_array_equal(np.asarray(c[g]), x[g] @ y[g])


@pytest.mark.parametrize(("element", "k"), [(fp8_e4m3, 192), (fp8_e4m3, 139), (fp4_e2m1, 192), (fp4_e2m1, 138)])
def test_mx(element, k):
    """Each 32 elements along k have a scale of 8 bits, a power of two, the last ones that are left too; scales
    lie in pairs."""
    m, n, groups, arch = 37, 45, -(-k // 32), "Ascend950"
    x, y, sx, sy = (
        integers(m, k),
        integers(k, n),
        2.0 ** RNG.integers(-2, 3, (m, groups)),
        2.0 ** RNG.integers(-2, 3, (groups, n)),
    )
    a = in_gm(x, MakeLayout[element, RowMajor](m, k))
    b = in_gm(y, MakeLayout[element, ColumnMajor](k, n))
    scales = []
    for side, values, tag in (("A", sx, zZ), ("B", sy, ascend.nN)):
        is_b = side == "B"
        source = in_gm(values, MakeMxScaleLayout[fp8_e8m0, ColumnMajor if is_b else RowMajor, is_b](*values.shape))
        inner = MakeMxScaleLayout[fp8_e8m0, tag, is_b](*values.shape)
        in_l1 = issue(source, memory(inner, "L1"), fp8_e8m0, arch)
        scales.append(np.asarray(issue(in_l1, memory(inner, f"L0{side}Mx"), fp8_e8m0, arch)))
    left = operand(a, RowMajor, "A", element, arch) * np.repeat(scales[0], 32, axis=1)[:, :k]
    right = operand(b, ColumnMajor, "B", element, arch) * np.repeat(scales[1], 32, axis=0)[:k]
    c = memory(gm(m, n), "GM")
    out((left @ right).astype(np.float32), c, arch=arch)
    np.testing.assert_array_equal(np.asarray(c), (x * np.repeat(sx, 32, 1)[:, :k]) @ (y * np.repeat(sy, 32, 0)[:k]))


def test_paged_attention():
    """Keys and values lie in pages of 16 rows, in the order of a table; the last is not full."""
    heads, length, page, table = 24, 61, 16, [5, 0, 3, 6]
    q, keys, values = integers(9, heads), integers(7 * page, heads), integers(7 * page, heads)
    k_cache, v_cache = (in_gm(v, gm(*v.shape)) for v in (keys, values))
    rows = [min(page, length - i * page) for i in range(len(table))]
    k_l1, v_l1 = (memory(MakeLayout[half, zN](length, heads), "L1") for _i in range(2))
    for i, (block, n) in enumerate(zip(table, rows)):
        for cache, l1 in ((k_cache, k_l1), (v_cache, v_l1)):
            issue(GetTile(cache, (block * page, 0), (n, heads)), GetTile(l1, (i * page, 0), (n, heads)), half)
    left = operand(in_gm(q, gm(*q.shape)), RowMajor, "A", half, "AtlasA2")
    scores = left @ np.asarray(k_l1).T
    weights = np.exp(scores - scores.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    v_l0 = np.asarray(issue(v_l1, memory(MakeLayout[half, nZ](length, heads), "L0B"), half))
    c = memory(gm(9, heads), "GM")
    out((weights @ v_l0).astype(np.float32), c)
    order = np.concatenate([np.arange(n) + block * page for block, n in zip(table, rows)])
    wanted = (
        np.exp(s := q @ keys[order].T - (q @ keys[order].T).max(1, keepdims=True))
        / np.exp(s).sum(1, keepdims=True)
        @ values[order]
    )
    np.testing.assert_allclose(np.asarray(c), wanted, rtol=1e-5)


@pytest.mark.parametrize("arch", ["AtlasA2", "Ascend950"])
def test_conv2d(arch):
    c1, h, w, co, conv = 2, 9, 7, 20, Conv2d((3, 2), stride=(2, 1), padding=(1, 0, 1, 1))
    image, weights = integers(1, c1, h, w, 16), integers(c1, 3, 2, co, 16)
    ho, wo = conv.places((h, w))
    fmap = issue(
        in_gm(image, MakeLayoutFmap[half](1, c1, h, w)), memory(MakeLayoutFmap[half](1, c1, h, w), "L1"), half, arch
    )
    filters = MakeTensor(
        memory(MakeLayoutFilter[half, "L1"](c1, 3, 2, co), "L1").data, MakeLayoutFilter[half, "L1"](c1, 3, 2, co), "L1"
    )
    gm_filters = in_gm(weights, MakeLayoutFilter[half, "GM"](c1, 3, 2, co))
    issue(gm_filters, filters, half, arch, tag=ascend.CI1KHKWCOCI0)
    tag, k = (zN if arch == "Ascend950" else zZ), c1 * 6 * 16
    left = issue(fmap, memory(MakeLayout[half, tag](ho * wo, k), "L0A"), half, arch, conv=conv)
    right = issue(filters, memory(MakeLayout[half, nZ](k, 32), "L0B"), half, arch)
    result = memory(MakeLayoutFmap[half](1, 2, ho, wo), "GM")
    out(np.asarray(left) @ np.asarray(right), result, arch=arch)
    padded = np.pad(image[0], ((0, 0), (1, 1), (1, 0), (0, 0)))
    wanted = np.zeros((ho, wo, co), np.float32)
    for i, j in itertools.product(range(3), range(2)):
        wanted += np.einsum("chwx,cox->hwo", padded[:, i : i + 2 * ho - 1 : 2, j : j + wo], weights[:, i, j])
    np.testing.assert_array_equal(np.asarray(result)[0].transpose(1, 2, 0, 3).reshape(ho, wo, 32)[:, :, :co], wanted)


def test_sparse():
    """Of each four elements along k two are stored, with the place of each in its four: B has half its rows."""
    m, n, k = 33, 20, 52
    x, dense = integers(m, k), integers(k // 4, 4, n)
    kept = np.argsort(RNG.random((k // 4, 4, n)), axis=1)[:, :2]
    kept.sort(axis=1)
    stored = np.take_along_axis(dense, kept, 1)
    left = operand(in_gm(x, gm(m, k)), RowMajor, "A", half, "AtlasA2")
    right = operand(in_gm(stored.reshape(k // 2, n), gm(k // 2, n)), RowMajor, "B", half, "AtlasA2").reshape(
        k // 4, 2, n
    )
    chosen = (
        operand(in_gm(kept.reshape(k // 2, n), gm(k // 2, n)), RowMajor, "B", half, "AtlasA2")
        .reshape(k // 4, 2, n)
        .astype(int)
    )
    total = np.zeros((m, n), np.float32)
    for column in range(n):
        picked = left.reshape(m, k // 4, 4)[:, np.arange(k // 4)[:, None], chosen[:, :, column]]
        total[:, column] = (picked * right[:, :, column]).sum((1, 2))
    c = memory(gm(m, n), "GM")
    out(total, c)
    full = np.zeros_like(dense)
    np.put_along_axis(full, kept, stored, 1)
    np.testing.assert_array_equal(np.asarray(c), x @ full.reshape(k, n))


def test_quantised_epilogue():
    """int8 by int8, scaled on the way out by a number for each channel, which Fixpipe takes from its own buffer."""
    m, n, k = 35, 37, 90
    x, y, scale = integers(m, k), integers(k, n), 2.0 ** RNG.integers(-3, 3, n)
    left = operand(in_gm(x, MakeLayout[ascend.int8, RowMajor](m, k)), RowMajor, "A", ascend.int8, "AtlasA2")
    right = operand(in_gm(y, MakeLayout[ascend.int8, ColumnMajor](k, n)), ColumnMajor, "B", ascend.int8, "AtlasA2")
    in_l1 = issue(in_gm(scale, MakeLayout(n)), memory(MakeLayout(n), "L1", 32), ascend.int64)
    of_channel = np.asarray(issue(in_l1, memory(MakeLayout(n), "FixBuf", 32), ascend.int64))
    c = memory(gm(m, n), "GM")
    out((left @ right).astype(np.int32), c, half, quant="PER_CHANNEL")
    np.testing.assert_array_equal(np.asarray(c) * of_channel, (x @ y) * scale.astype(np.float32))
