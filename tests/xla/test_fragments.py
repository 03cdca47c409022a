"""Mosaic GPU's layouts: every element of every thread, by reshapes and transposes of numpy; texts as MLIR and Python print them."""

import itertools
import math
import random

import numpy as np
import pytest

from tla import MakeTensor, _16, _64, coalesce, gpu, local_tile, size, xla
from tla.access import access
from tla.core.errors import DivisibilityError, LoweringError, ParseError, RangeError, RankError, TlaError
from tla.xla.mosaic.fragment_text import NAMED

WARPS, LANES = 4, 32


# ------------------------------------------------------------------------------------------------- the oracle


def column_major(shape):
    """The index of each element, the first dimension fastest."""
    return np.arange(math.prod(shape)).reshape(shape, order="F")


def tiled(array, tiles):
    """Each tile unfolds the trailing dimensions in two and moves the minor ones to the end: the text of Mosaic GPU's Tiling."""
    for tile in tiles:
        lead, cut = array.shape[: array.ndim - len(tile)], array.shape[array.ndim - len(tile) :]
        pairs = [part for n, t in zip(cut, tile) for part in (n // t, t)]
        k = len(lead)
        order = [*range(k), *range(k, k + 2 * len(tile), 2), *range(k + 1, k + 2 * len(tile), 2)]
        array = array.reshape(*lead, *pairs).transpose(order)
    return array


def places(dims, extents, number):
    """The index of each dimension for a warp or a lane: the first dimension is the slowest."""
    counts = [d.times if isinstance(d, tuple) else extents[d] for d in dims]
    found = np.unravel_index(number, counts)
    return {d: int(i) for d, i in zip(dims, found) if not isinstance(d, tuple)}


def elements(fragment, shape):
    """A row for each thread: its elements in order, those of a vector after each other, then register after register in row-major order."""
    array = tiled(column_major(shape), fragment.tiles)
    rows = []
    for warp, lane in itertools.product(range(WARPS), range(LANES)):
        at = {**places(fragment.warp_dims, array.shape, warp), **places(fragment.lane_dims, array.shape, lane)}
        index = [slice(None)] * array.ndim
        for d, i in at.items():
            index[d] = slice(i, i + 1)
        own = np.moveaxis(array[tuple(index)], fragment.vector_dim, -1)
        rows.append(own.reshape(-1).tolist())
    return rows


def of_layout(layout):
    threads, values = (size(mode) for mode in layout)
    return [[layout(t, v) for v in range(values)] for t in range(threads)]


SHAPES = [(64, 32), (128, 64), (256, 96), (3, 128, 32)]


@pytest.mark.parametrize("name", NAMED)
def test_named_layouts_by_numpy(name):
    fragment = NAMED[name]
    rank = len(fragment.tiles[0])
    done = 0
    for shape in [(128,), (64,), (384,), (5, 256)] if rank == 1 else SHAPES:
        if all(n % t == 0 for n, t in zip(shape[-rank:], fragment.tiles[0])):
            assert of_layout(fragment.layout(shape)) == elements(fragment, shape), (name, shape)
            done += 1
        else:
            with pytest.raises(DivisibilityError, match="does not divide"):
                fragment.layout(shape)
    assert done >= 2


def random_fragment(draw):
    """Tiles that divide each other, and dimensions of them for 4 warps and 32 lanes."""
    while True:
        shape = tuple(draw.choice((4, 8, 16, 32, 64)) for _ in range(draw.choice((1, 2, 2, 3))))
        tiles, now = [shape], shape
        for _ in range(draw.randint(1, 4)):
            now = now[draw.randint(0, len(now) - 1) :] if draw.random() < 0.4 else now
            now = tuple(n // draw.choice([k for k in (1, 2, 4, 8) if n % k == 0]) for n in now)
            tiles.append(now)
        extents = tiled(column_major(shape), tiles).shape[len(shape) :]
        dims = [d - len(extents) for d in range(len(extents))]
        draw.shuffle(dims)
        vector, rest = dims[0], dims[1:]
        chosen = []
        for wanted in (WARPS, LANES):
            picked = []
            for d in [*rest]:
                if extents[d] > 1 and wanted % extents[d] == 0:
                    picked.append(d)
                    rest.remove(d)
                    wanted //= extents[d]
            if wanted > 1:
                picked.insert(draw.randint(0, len(picked)), xla.Replicated(wanted))
            chosen.append(tuple(picked))
        if any(not isinstance(d, tuple) for dims in chosen for d in dims):
            return xla.TiledFragment(tuple(tiles), *chosen, vector)


def test_random_layouts_by_numpy():
    draw = random.Random(20261126)
    for _ in range(60):
        fragment = random_fragment(draw)
        shape = tuple(n * draw.choice((1, 1, 2, 3)) for n in fragment.tiles[0])
        if math.prod(shape) <= 2**13:
            assert of_layout(fragment.layout(shape)) == elements(fragment, shape), fragment
        assert xla.parse_fragment_layout(str(fragment)) == fragment


def test_accumulators_are_those_of_cutlass():
    for n in (8, 16, 64, 128, 256):
        expected = coalesce(gpu.atom(f"SM90_64x{n}x16_F32F16F16_SS").C, (1, 1))
        assert coalesce(xla.parse_fragment_layout("WGMMA").layout((64, n)), (1, 1)) == expected


def test_strided_layouts_by_numpy():
    for shape, vector in (((64, 16), 4), ((128, 64), 8), ((1024,), 2), ((3, 128, 4), 4), ((6, 64), 1), ((48, 40), 1)):
        rows = column_major(shape).reshape(-1, WARPS * LANES, vector)
        expected = [rows[:, t].reshape(-1).tolist() for t in range(WARPS * LANES)]
        fragment = xla.StridedFragment(shape, vector)
        assert of_layout(fragment.layout()) == expected, shape
        assert xla.parse_fragment_layout(str(fragment)) == fragment


# -------------------------------------------------------------------------------------------------- shared memory


def in_memory(shape, bits, tile, swizzle):
    """The element at each coordinate's place: the reference unfolded by reshape and transpose, bytes XORed by hand."""
    k = len(shape) - len(tile)
    inner = [min(t, n) for t, n in zip(tile, shape[k:])]
    pairs = [part for n, t in zip(shape[k:], inner) for part in (n // t, t)]
    order = [*range(k), *range(k, k + 2 * len(tile), 2), *range(k + 1, k + 2 * len(tile), 2)]
    slots = np.arange(math.prod(shape)).reshape(*shape[:k], *pairs).transpose(order).reshape(-1)  # slot -> row-major element
    place = np.empty(slots.size, np.int64)
    place[slots] = np.arange(slots.size)
    byte = place * bits // 8
    return (byte ^ (byte >> 7 & (swizzle // 16 - 1)) << 4) * 8 // bits


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("swizzle", [16, 32, 64, 128])
def test_shared_memory_by_numpy(bits, swizzle):
    for shape, tile in (
        ((64, 128), (8, 64)),
        ((128, 64), (8, 128)),
        ((2, 64, 32), (8, 32)),
        ((64, 96), (64, 32)),
        ((256,), (64,)),
        ((64, 64), ()),
    ):
        texts = [f"#mosaic_gpu.tile<{list(tile)}>"] * bool(tile) + [f"#mosaic_gpu.swizzle<{swizzle} : i32>"]
        layout = xla.shared_layout(shape, bits, *texts)
        assert [layout(*c) for c in np.ndindex(*shape)] == in_memory(shape, bits, tile, swizzle).tolist(), (shape, tile)


def test_what_wgmma_reads():
    """A K-major operand under both transforms is what wgmma takes: CUTLASS's atom of 128 bytes, over all rows."""
    layout = xla.shared_layout((128, 128), 16, "TileTransform(tiling=(8, 64), rounding=None)", "SwizzleTransform(swizzle=128)")
    operand = local_tile(MakeTensor(None, layout), (_64, _16), (1, 4))
    found = gpu.wgmma_descriptor(operand, "K", gpu.half, base=0x400)
    assert found.layout_type == 1
    assert found.start_address * 16 == 0x400 + layout(64, 64) * 2


def test_fragments_are_owners():
    """What an accumulator's store costs: rows of 128 bytes collide, and the swizzle mends it."""
    owners = xla.parse_fragment_layout("WGMMA").layout((64, 64))
    plain, swizzled = (xla.shared_layout((64, 64), 16, "#mosaic_gpu.tile<[8, 64]>", f"#mosaic_gpu.swizzle<{n}>") for n in (16, 128))
    assert access(owners, plain, 16).wavefronts == 8 * access(owners, swizzled, 16).wavefronts
    assert access(owners, swizzled, 16).wavefronts == access(owners, swizzled, 16).least


# ----------------------------------------------------------------------------------------------------------- text

#: What JAX 0.10.2 prints: Python's repr, and MLIR's attribute.
PRINTED = {
    "WGMMA": (
        "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), vector_dim=-1)",
        "#mosaic_gpu.TiledLayout<[[64, 8], [16, 8], [8, 8], [2]], warp_dims = [-7], lane_dims = [-3, -2], vector_dim = -1>",
    ),
    "WGMMA_ROW": (
        "TiledLayout(tiling=Tiling(tiles=((64,), (16,), (8,), (1,))), warp_dims=(-4,), lane_dims=(-2, Replicated(times=4)), vector_dim=-1)",
        "#mosaic_gpu.TiledLayout<[[64], [16], [8], [1]], warp_dims = [-4], lane_dims = [-2, #mosaic_gpu.Replicated<times = 4>], vector_dim = -1>",
    ),
    "TCGEN05_TRANSPOSED": (
        "TiledLayout(tiling=Tiling(tiles=((128, 8), (32, 8), (8, 8), (2, 2), (2, 1))), warp_dims=(-10,), lane_dims=(-6, -3, -5), vector_dim=-2)",
        "TMEMLayout(tiling=Tiling(tiles=((128, 8), (32, 8), (8, 8), (2, 2), (2, 1))), warp_dims=(-10,), lane_dims=(-6, -3, -5), vector_dim=-2)",
    ),
    "TCGEN05_TMEM_NATIVE": (
        "#mosaic_gpu.TiledLayout<[[128 : i64, 2 : i64], [32 : i64, 2 : i64]], warp_dims = [-4 : i64], lane_dims = [-2 : i64], vector_dim = -1>",
        "TMEM_NATIVE_LAYOUT",
    ),
}


@pytest.mark.parametrize("name", PRINTED)
def test_what_jax_prints(name):
    for text in (*PRINTED[name], name, f"Layout.{name}", f"{name}_LAYOUT"):
        assert xla.parse_fragment_layout(text) == NAMED[name], text


def test_every_layout_of_the_installed_jax():
    fragmented = pytest.importorskip("jax.experimental.mosaic.gpu.fragmented_array", reason="needs JAX's Mosaic GPU", exc_type=ImportError)
    names = [n for n in dir(fragmented) if "_LAYOUT" in n and isinstance(getattr(fragmented, n), fragmented.TiledLayout)]
    assert len(names) > 10
    for name in names:
        assert xla.parse_fragment_layout(name) == xla.parse_fragment_layout(repr(getattr(fragmented, name))), name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "the text ends"),
        ("WGMMAX", "unexpected 'WGMMAX'"),
        ("#mosaic_gpu.TiledLayout<[[64, 8]], warp_dims = [-7], lane_dims = [-3], vector_dim = -1>", "dimensions"),
        ("#mosaic_gpu.TiledLayout<[[64, 8], [16, 8], [8, 8], [2]], warp_dims = [-7], lane_dims = [-3], vector_dim = -1>", "lane_dims of 8"),
        ("#mosaic_gpu.TiledLayout<[[64, 8], [16, 8], [8, 8], [2]], warp_dims = [-7], lane_dims = [-3, -2], vector_dim = -2>", "dimensions"),
        (
            "#mosaic_gpu.TiledLayout<[[64, 8], [16, 8], [8, 8], [3]], warp_dims = [-7], lane_dims = [-3, -2], vector_dim = -1>",
            "does not divide",
        ),
        ("#mosaic_gpu.TiledLayout<[[8], [4, 2]], warp_dims = [-1], lane_dims = [-2], vector_dim = -1>", "tiles"),
        ("#mosaic_gpu.TiledLayout<[[64, 0]], warp_dims = [-1], lane_dims = [-2], vector_dim = -1>", "an extent: 0"),
        ("#mosaic_gpu.TiledLayout<[[64, 8]], warps = [-7], lane_dims = [-3], vector_dim = -1>", "warps"),
        ("#mosaic_gpu.WGStridedFragLayout<[64, 64], 4", "the text ends"),
        ("#mosaic_gpu.WGStridedFragLayout<[64, 64], 4> x", "unexpected 'x'"),
        ("[" * 1000, "unexpected"),
        ("#mosaic_gpu.TiledLayout<" + "[" * 1000, "unexpected"),
    ],
)
def test_other_texts_are_refused(text, expected):
    with pytest.raises(ParseError, match=expected):
        xla.parse_fragment_layout(text)


def test_bad_values_are_refused():
    with pytest.raises(LoweringError, match="one value"):
        xla.parse_fragment_layout("#mosaic_gpu.WGSplatFragLayout<[64, 64]>")
    with pytest.raises(DivisibilityError):
        xla.StridedFragment((64, 3), 4)
    with pytest.raises(RankError):
        NAMED["WGMMA"].layout((64,))
    for shape in ((), (0, 8), (2**40, 2**40)):
        with pytest.raises(RangeError):
            NAMED["WGMMA"].layout(shape)
    for transforms, kind in (
        (["#mosaic_gpu.swizzle<128>", "#mosaic_gpu.tile<[8, 64]>"], ParseError),
        (["#mosaic_gpu.tile<[8, 64]>", "#mosaic_gpu.tile<[8, 64]>"], ParseError),
        (["#mosaic_gpu.swizzle<48>"], RangeError),
        (["#mosaic_gpu.tile<[8, 48]>"], DivisibilityError),
        (["#mosaic_gpu.tile<[8, 8, 64]>"], RankError),
        (["TileTransform(tiling=(8, 64), rounding=Rounding.UP)"], ParseError),
        (["#mosaic_gpu.transpose<[1, 0]>"], ParseError),
    ):
        with pytest.raises(kind):
            xla.shared_layout((64, 64), 16, *transforms)
    with pytest.raises(RangeError, match="6 bits"):
        xla.shared_layout((64, 64), 6)
    with pytest.raises(TlaError):
        xla.shared_layout((64, 64), 16, 3)
