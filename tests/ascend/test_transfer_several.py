"""Transfers of several matrices at once, of sparse operands with their index, and of images and filters
of several depths."""

import random

import numpy as np
import pytest

from tla import GetTile, LeafTypeError, MakeLayout, MakeTensor, RangeError, Unproven, ascend, dim
from tla.ascend import KDC1KHKWN1N0C0, L0C, NDC1HWC0, Conv2d, RowMajor, float32, half, int8, int32, nZ, transfer, zN, zZ

from night import amount
from transfer_oracle import executed, offset_of

ARCHS = ("AtlasA2", "Ascend950")


def at(layout, position):
    return MakeTensor(None, layout, position=position)


def coordinates(t):
    return list(np.ndindex(*map(int, t.origin_shape)))


def require_moved(made, src, dst, pairs, exact=False):
    """Every pair (coordinate of dst, coordinate of src, or None for a zero) is moved; exact: and nothing else."""
    moved = executed(made)
    for to, begin in pairs:
        assert moved.pop(offset_of(dst, to)) == (None if begin is None else offset_of(src, begin)), (to, begin)
    assert not (exact and moved)


# ---------------------------------------------------------------------------------------------- accumulators of a batch


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("seed", range(amount(12, 200)))
def test_accumulators_of_a_batch_leave_in_one_instruction_or_one_by_one(arch, seed):
    rng = random.Random(f"{arch} {seed}")
    (m, n), count = (rng.randint(1, 60) for _ in "mn"), rng.randint(1, 5)
    element = rng.choice((half, float32, int8))
    quant = {"quant": "PER_TENSOR", "accumulator": int32} if element is int8 else {}
    far = rng.random() < 0.3
    whole = at(MakeLayout[element, RowMajor]((m + 3, n + 900 * far), count + 1), "GM")
    dst = GetTile(whole, (2, n // 2 if far else 0, 1), (m, n, count))
    src = at(MakeLayout[32, L0C]((m, n), count), "L0C")
    made = transfer(src, dst, arch, element=element, **quant)
    require_moved(made, src, dst, [(c, c) for c in coordinates(dst)], exact=True)
    fits = int(dst.layout.stride[2]) < 65536 or arch == "Ascend950"
    assert len(made) == (1 if fits else count)
    assert made[0].parameters.get("ndNum", 1) == (count if fits else 1)


def test_matrices_of_a_batch_that_lie_too_far_apart_leave_one_by_one():
    src = at(MakeLayout[32, L0C]((16, 16), 3), "L0C")
    dst = at(MakeLayout[half, RowMajor]((300, 300), 3), "GM")
    corner = GetTile(dst, (0, 0, 0), (16, 16, 3))
    assert [len(transfer(src, corner, arch, element=half)) for arch in ARCHS] == [3, 1]
    (one,) = transfer(src, corner, "Ascend950", element=half)
    assert one.text.startswith(
        "{ AscendC::SetFixpipeNz2ndFlag(3, 16, 90000); AscendC::DataCopyCO12DstParams p; p.nSize = 16;"
    )
    with pytest.raises(LeafTypeError, match="its sizes are not known"):
        transfer(at(MakeLayout[32, L0C]((16, 16), dim("N")), "L0C"), corner, element=half)
    with pytest.raises(LeafTypeError, match="several L0C to several RowMajor"):
        transfer(src, at(MakeLayout[half, zN]((16, 16), 3), "GM"), element=half)


# -------------------------------------------------------------------------------------------------- 4:2 sparse operands


def operand(k, n, position="L1"):
    return at(MakeLayout[int8, nZ](k, n), position)


@pytest.mark.parametrize("seed", range(amount(20, 300)))
def test_a_sparse_operand_has_its_own_index_beside_each_element(seed):
    """Each fractal brings 128 bytes of index: 8 of each column, four stored elements a byte. By the manual's words,
    element by element."""
    rng = random.Random(seed)
    k, n = 32 * rng.randint(1, 6), 16 * rng.randint(1, 5)
    row, column = 32 * rng.randrange(k // 32), 16 * rng.randrange(n // 16)
    high, wide = rng.randint(1, k - row), rng.randint(1, n - column)
    src, dst = GetTile(operand(k, n), (row, column), (high, wide)), operand(high, wide, "L0B")
    index = GetTile(at(MakeLayout[int32, nZ](k // 4, n), "L1"), (row // 4, column), (-(-high // 4), wide))
    made = transfer(src, dst, element=int8, index=index)
    require_moved(made, src, dst, [(c, c) for c in coordinates(dst)])
    byte = {}
    for i in made:
        assert (i.name, i.parameters["srcStride"], i.parameters["dstGap"]) == ("LoadDataWithSparse", 1, 0)
        for repeat in range(i.parameters["repeatTimes"]):
            for j in range(512):  # of a fractal: 16 columns of 32 elements
                byte[i.dst + repeat * 512 + j] = i.parameters["index"] + repeat * 128 + j // 32 * 8 + j % 32 // 4
    for r, c in coordinates(dst):
        assert byte[offset_of(dst, (r, c))] == offset_of(index, (r // 4, c))
    assert f"src[{made[0].src}], index[{made[0].parameters['index']}], p);" in made[0].text


def test_what_is_no_sparse_operand_is_refused_and_the_fix_works():
    src, dst, index = operand(64, 32), operand(64, 32, "L0B"), at(MakeLayout[int32, nZ](16, 32), "L1")
    assert len(transfer(src, dst, element=int8, index=index)) == 1
    for error, match, given in (
        (LeafTypeError, "AtlasA2 or AtlasA3", (src, dst, "Ascend950", int8, index)),
        (
            LeafTypeError,
            "int8 on AtlasA2",
            (*(at(MakeLayout[half, nZ](64, 32), p) for p in ("L1", "L0B")), "AtlasA2", half, index),
        ),
        (LeafTypeError, "blocks of 8 by 16", (src, dst, "AtlasA2", int8, operand(16, 32))),
        (
            RangeError,
            r"\(16,32\): one for four rows",
            (src, dst, "AtlasA2", int8, at(MakeLayout[int32, nZ](8, 32), "L1")),
        ),
        (Unproven, "64 <= K", (at(MakeLayout[int8, nZ](dim("K", at_most=64), 32), "L1"), dst, "AtlasA2", int8, index)),
    ):
        a, b, arch, element, beside = given
        with pytest.raises(error, match=match):
            transfer(a, b, arch, element=element, index=beside)
    with pytest.raises(LeafTypeError, match="index= from L1 to L0B only"):
        transfer(at(MakeLayout[int8, nZ](64, 32), "GM"), src, element=int8, index=index)
    wider = at(MakeLayout[int32, nZ](16, 64), "L1")  # its blocks of rows lie farther apart than those of B
    with pytest.raises(Unproven, match="is not beside its elements"):
        transfer(src, dst, element=int8, index=GetTile(wider, (0, 0), (16, 32)))
    with pytest.raises(RangeError, match="a multiple of 32 bytes"):
        transfer(src, operand(32, 32, "L0B"), element=int8, index=GetTile(index, (4, 0), (8, 32)))


# --------------------------------------------------------------------------------------------- images of several depths


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("seed", range(amount(8, 120)))
def test_volumes_and_their_filters_move_as_their_layouts_say(arch, seed):
    """NDC1HWC0 to L1, its windows to L0A, KDC1KHKWN1N0C0 over L1 to L0B, and the result to NDC1HWC0: each coordinate by
    coordinate."""
    rng = random.Random(f"{arch} {seed}")
    n, d, c1, h, w = rng.randint(1, 2), rng.randint(1, 4), rng.randint(1, 2), rng.randint(3, 7), rng.randint(3, 7)
    whole = at(MakeLayout[half, NDC1HWC0](n, d, c1, h, w), "GM")
    start = (*(rng.randrange(x) for x in (n, d, c1)), rng.randint(0, 1), rng.randint(0, 1), 0)
    sizes = (1, rng.randint(1, d - start[1]), rng.randint(1, c1 - start[2]), h - start[3], w - start[4], 16)
    tile, image = GetTile(whole, start, sizes), at(MakeLayout[half, NDC1HWC0](*sizes[:5]), "L1")
    made = transfer(tile, image, arch, element=half)
    require_moved(made, tile, image, [(c, c) for c in coordinates(image)], exact=True)

    window = Conv2d((rng.randint(1, 3), rng.randint(1, 3)), padding=tuple(rng.randint(0, 1) for _ in range(4)))
    (kh, kw), (left, _, top, _) = window.kernel, window.padding
    _, depth, blocks, high, wide, c0 = sizes
    if kh > high + top + window.padding[3] or kw > wide + left + window.padding[1]:
        with pytest.raises(RangeError, match="a window of"):
            window.places((high, wide))
        return
    ho, wo = window.places((high, wide))
    columns = at(MakeLayout[half, zZ if arch == "AtlasA2" else zN](ho * wo, depth * blocks * kh * kw * c0), "L0A")
    pairs = []
    for point, column in coordinates(columns):
        place, c = divmod(column, c0)
        place, j = divmod(place, kw)
        (block, i), (y, x) = divmod(place, kh), divmod(point, wo)
        y, x = y + i - top, x + j - left
        inside = 0 <= y < high and 0 <= x < wide
        pairs.append(((point, column), (0, *divmod(block, blocks), y, x, c) if inside else None))
    require_moved(transfer(image, columns, arch, element=half, conv=window), image, columns, pairs)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_window_that_is_larger_than_the_image_is_refused_and_the_fix_works(arch):
    image = at(MakeLayout[half, NDC1HWC0](1, 1, 1, 2, 5), "L1")
    columns = at(MakeLayout[half, zZ if arch == "AtlasA2" else zN](4, 3 * 2 * 16), "L0A")
    for refused in (Conv2d((3, 2)), Conv2d((2, 2), dilation=(2, 1)), Conv2d((1, 8), padding=(1, 1, 0, 0))):
        with pytest.raises(RangeError, match=r"a window of \d along the (height|width) of"):
            transfer(image, columns, arch, element=half, conv=refused)
    assert transfer(image, columns, arch, element=half, conv=Conv2d((3, 2), padding=(0, 0, 1, 0)))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("seed", range(amount(8, 120)))
def test_filters_of_several_depths_and_results(arch, seed):
    rng = random.Random(f"{arch} {seed}")
    k, n1 = rng.randint(1, 9), rng.randint(1, 4)
    whole = at(MakeLayout[half, KDC1KHKWN1N0C0](k, n1, 16), "GM")
    first, group = rng.randrange(k), rng.randrange(n1)
    sizes = (rng.randint(1, k - first), rng.randint(1, n1 - group), 16, 16)
    tile, filters = GetTile(whole, (first, group, 0, 0), sizes), at(MakeLayout[half, KDC1KHKWN1N0C0](*sizes[:3]), "L1")
    made = transfer(tile, filters, arch, element=half)
    assert len(made) == 1
    require_moved(made, tile, filters, [(c, c) for c in coordinates(filters)], exact=True)
    b = at(MakeLayout[half, nZ](sizes[0] * 16, sizes[1] * 16), "L0B")
    pairs = [((r, c), (r // 16, c // 16, c % 16, r % 16)) for r, c in coordinates(b)]
    require_moved(transfer(filters, b, arch, element=half), filters, b, pairs)

    n, d, c1, h, w = (rng.randint(1, 3) for _ in range(5))
    out = at(MakeLayout[half, NDC1HWC0](n + 1, d + 1, c1 + 1, h + 2, w), "GM")
    box = GetTile(out, (1, 0, 1, 2, 0, 0), (n, d, c1, h, w, 16))
    acc = at(L0C(n * d * h * w, c1 * 16).layout, "L0C")
    places = {(*map(int, (i, j, y, x)),): p for p, (i, j, y, x) in enumerate(np.ndindex(n, d, h, w))}
    pairs = [(c, (places[c[0], c[1], c[3], c[4]], c[2] * 16 + c[5])) for c in coordinates(box)]
    require_moved(transfer(acc, box, arch, element=half), acc, box, pairs, exact=True)


def test_a_channel_of_filters_in_parts_and_layouts_of_other_modes_are_refused():
    with pytest.raises(LeafTypeError, match="4 modes of KDC1KHKWN1N0C0"):
        src, dst = (
            at(MakeLayout[half, KDC1KHKWN1N0C0](4, 2, 16), "GM"),
            at(MakeLayout[half, NDC1HWC0](1, 1, 1, 4, 4), "L1"),
        )
        transfer(src, dst, element=half, tag=KDC1KHKWN1N0C0)
    x = at(MakeLayout[half, NDC1HWC0](1, 3, 2, 4, 4), "L1")
    every_other = MakeTensor(None, ascend.NDC1HWC0[half](1, 2, 2, 4, 4).layout, position="L0A")
    with pytest.raises(LeafTypeError, match="NDC1HWC0 to zZ"):
        transfer(x, every_other, element=half, conv=Conv2d((1, 1)))
