"""Shared memory under Mosaic GPU's transforms: each place by reshape and transpose of numpy, and by XOR of bytes."""

import math

import numpy as np
import pytest

from tla import MakeTensor, TlaError, _16, _64, gpu, local_tile
from tla.access import access
from tla.core.errors import ParseError, RangeError, RankError
from tla.linear import mosaic


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
        layout = mosaic.shared_layout(shape, bits, *texts)
        assert [layout(*c) for c in np.ndindex(*shape)] == in_memory(shape, bits, tile, swizzle).tolist(), (shape, tile)


def test_what_wgmma_reads():
    """A K-major operand under both transforms is what wgmma takes: CUTLASS's atom of 128 bytes, over all rows."""
    layout = mosaic.shared_layout((128, 128), 16, "TileTransform(tiling=(8, 64), rounding=None)", "SwizzleTransform(swizzle=128)")
    operand = local_tile(MakeTensor(None, layout), (_64, _16), (1, 4))
    found = gpu.wgmma_descriptor(operand, "K", gpu.half, base=0x400)
    assert found.layout_type == 1
    assert found.start_address * 16 == 0x400 + layout(64, 64) * 2


def test_the_store_of_an_accumulator():
    """Rows of 128 bytes collide eight times, and the swizzle mends it."""
    owners = mosaic.from_text("WGMMA_LAYOUT").linear([64, 64])
    plain, swizzled = (mosaic.shared_layout((64, 64), 16, "#mosaic_gpu.tile<[8, 64]>", f"#mosaic_gpu.swizzle<{n}>") for n in (16, 128))
    assert access(owners, plain, 16).wavefronts == 8 * access(owners, swizzled, 16).wavefronts
    assert access(owners, swizzled, 16).wavefronts == access(owners, swizzled, 16).least


def test_other_transforms_are_refused():
    for transforms, kind in (
        (["#mosaic_gpu.swizzle<128>", "#mosaic_gpu.tile<[8, 64]>"], RangeError),
        (["#mosaic_gpu.tile<[8, 64]>", "#mosaic_gpu.tile<[8, 64]>"], RangeError),
        ([3], RangeError),
        (["#mosaic_gpu.swizzle<48>"], RangeError),
        (["#mosaic_gpu.tile<[8, 48]>"], RangeError),
        (["#mosaic_gpu.tile<[0, 64]>"], RangeError),
        (["#mosaic_gpu.tile<[]>"], TlaError),
        (["#mosaic_gpu.tile<[8, 8, 64]>"], RankError),
        (["TileTransform(tiling=(8, 64), rounding=1)"], RangeError),
        (["#mosaic_gpu.transpose<[1, 0]>"], ParseError),
        (["WGMMA_LAYOUT"], ParseError),
        (["#mosaic_gpu.tile<[8, 64]"], ParseError),
    ):
        with pytest.raises(kind):
            mosaic.shared_layout((64, 64), 16, *transforms)
    for shape, bits in (((64, 64), 6), ((), 16), ((0, 4), 16), ((2**40, 2**40), 16), (64, 16), ((64, 1.5), 16)):
        with pytest.raises(TlaError):
            mosaic.shared_layout(shape, bits)
    with pytest.raises(ParseError, match="no layout of registers"):
        mosaic.from_text("#mosaic_gpu.tile<[8, 64]>")
