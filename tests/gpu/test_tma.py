"""TMA: CUTLASS's own maps and partitions, and box copies simulated byte by byte."""

import itertools
import math
import random
import re

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    DivisibilityError,
    InjectivityError,
    Int,
    Layout,
    LeafTypeError,
    RangeError,
    TlaError,
    Unproven,
    dim,
    group,
    offsets,
    parse,
    tile_to_shape,
    zipped_divide,
)
from tla.codegen import emit_tma
from tla.core.basis import ArithmeticTuple, as_coordinate
from tla.core.element import double, float, uint8
from tla.gpu import GMMA, half, make_tma_copy, tma_partition
from tla.gpu.instructions.elements import as_element

import oracle
from night import amount
from truth import rows

CASES = rows("atoms/tma.json")


def smem_of(case):
    s, element = case["smem"], as_element(case["type"])
    if isinstance(s, str):
        return parse(s)
    order = [parse(s["order"])] if s["order"] else []
    return tile_to_shape(GMMA.atoms[re.match("Layout_(.*)_Atom", s["atom"])[1]][element], parse(s["shape"]), *order)


def plain(layout):
    return layout.inner if isinstance(layout, ComposedLayout) else layout


def made(case):
    smem = smem_of(case)
    return make_tma_copy(
        case["copy_op"],
        parse(case["gmem"]),
        smem,
        parse(case["tile"]),
        case["cluster"],
        element=as_element(case["type"]),
    ), smem


#: Why CUTLASS asserts or does not compile, and why it is refused here: the same reason.
REASONS = {
    "smem_box_shape[0] <=": "a box of 512 elements",
    "not static": "a static tile",
    "0b1111": "a multiple of 16",
    "Majorness": "contiguous",
}


@pytest.mark.parametrize("case", [pytest.param(c, id=f"{c['kind']}-{i}") for i, c in enumerate(CASES)])
def test_maps_and_partitions(case):
    if "refused" in case:
        ours = next(reason for theirs, reason in REASONS.items() if theirs in case["refused"])
        with pytest.raises((DivisibilityError, RangeError), match=ours):
            made(case)
        return
    tma, smem = made(case)
    if case["kind"] == "tma_copy":
        assert str(tma.gbasis) == case["gbasis"]
        assert [*tma.map.shape] == case["gmem_shape"]
        assert [*tma.map.strides] == case["gmem_stride_bytes"]
        assert [*tma.map.box] == case["box"]
        assert [*tma.map.element_strides] == case["box_stride"]
        assert (tma.map.swizzle, tma.element.bits) == (case["swizzle"], case["element_bits"])
        assert str(tma.tma_tensor) == case["tma_tensor"]
        assert str(tma.TV) == case["tv"]
        assert str(tma.partition_S(tma.tma_tensor).layout) == case["partition_s"]
        assert str(tma.partition_D(smem).layout) == case["partition_d"]
    else:
        tiles = zipped_divide(tma.tma_tensor, parse(case["tile"]))
        whole = Layout((tiles[0].shape, *(m.shape for m in tiles[1])), (tiles[0].stride, *(m.stride for m in tiles[1])))
        g, s = tma_partition(tma, group[0, len(plain(smem).shape)](smem), whole)
        assert (str(g.layout), str(s.layout)) == (case["g"], case["s"])


# ---------------------------------------------------------------------------------------------- the hardware, simulated


def box_copy(tma, gmem, smem, at, base):
    """One instruction: the box's elements in the order of the map, each to its address, whose bits 4 to 6
    the swizzle changes."""
    m, size = tma.map, tma.element.bits // 8
    span = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[m.swizzle]
    i, at, inside, offset = np.arange(math.prod(m.box)), [*at], True, 0
    address = base + i * size
    for count, first, extent, stride in zip(m.box, at, m.shape, m.strides):
        where = first + i % count
        inside, offset = inside & (0 <= where) & (where < extent), offset + where * stride
        i = i // count
    address = address ^ (address >> 7 & span) << 4
    smem[address // size] = np.where(inside, gmem[np.where(inside, offset // size, 0)], 0)


def coordinate(layout, *at):
    """A TMA coordinate as a plain tuple of 5."""
    c = layout(*at)
    c = c if isinstance(c, tuple) else c.coordinate if hasattr(c, "coordinate") else (c,)
    return [int(x) for x in c] + [0] * (5 - len(c))


def random_case(rng):
    """A lawful tensor of rank 1 to 5, a tile of it, and shared memory in one of the canonical layouts or compact."""
    element = rng.choice([half, float, uint8])
    count, size = rng.randint(1, 5), element.bits // 8
    order = rng.sample(range(count), count)  # order[0] is the contiguous mode
    unit = 16 // size
    tile = [rng.choice([1, 2, 4, 8]) for _ in range(count)]
    tile[order[0]] = unit * rng.choice([1, 2, 4, 8])
    shape = [
        t * rng.randint(1, 3) + rng.randint(0, t - 1) if rng.random() < 0.6 else rng.randint(1, 2 * t) for t in tile
    ]
    strides, step = [0] * count, 1
    for i, mode in enumerate(order):
        strides[mode] = 1 if i == 0 else step
        step = -(-step * shape[mode] // unit) * unit + rng.choice([0, 0, unit])
    gmem = Layout(tuple(shape), tuple(Int[1]() if i == order[0] else d for i, d in enumerate(strides)))
    extents = tuple(Int[n]() for n in tile)
    if count == 2 and rng.random() < 0.7 and tile[1 - order[0]] % 8 == 0:
        mode = rng.choice(
            [m for m, w in (("INTER", 1), ("SW32", 2), ("SW64", 4), ("SW128", 8)) if tile[order[0]] % (w * unit) == 0]
        )
        atom = GMMA.atoms[f"{'MN' if order[0] == 0 else 'K'}_{mode}"][element]
        return element, gmem, tile, tile_to_shape(atom, extents, rng.choice([(1, 2), (2, 1)]))
    compact, step = [0] * count, 1
    for mode in [order[0], *rng.sample(order[1:], count - 1)]:
        compact[mode], step = step, step * tile[mode]
    return element, gmem, tile, Layout(extents, tuple(Int[d]() for d in compact))


def test_every_element_lands_where_the_layout_says():
    rng, done = random.Random(2), 0
    for _ in range(amount(60, 2600)):
        element, gmem, tile, smem = random_case(rng)
        if math.prod(tile) > 4096:
            continue
        tma = make_tma_copy("SM90_TMA_LOAD", gmem, smem, element=element)
        size = element.bits // 8
        memory = np.arange(1, 1 + int(offsets(gmem).max()) + 1 if offsets(gmem).size else 1)
        boxes, into = tma.partition_S(tma.tma_tensor).layout, tma.partition_D(smem).layout
        count = int(oracle.size(boxes[0].shape)) // math.prod(tma.map.box)
        tiles = [-(-n // t) for n, t in zip(gmem.shape, tile)]
        coord = [rng.randrange(n) for n in tiles]
        buffer = np.full(math.prod(tile), -1)
        for i in range(count):
            at = coordinate(boxes, i * math.prod(tma.map.box), *coord)
            box_copy(tma, memory, buffer, at, int(into(i * math.prod(tma.map.box), *[0] * len(tile))) * size)
        image, c = offsets(smem).reshape(tile), np.indices(tile)
        where = [a * t + x for a, t, x in zip(coord, tile, c)]
        inside = np.logical_and.reduce([w < n for w, n in zip(where, gmem.shape)])
        source = sum(w * int(d) for w, d in zip(where, gmem.stride))
        wanted = np.where(inside, memory[np.where(inside, source, 0)], 0)
        assert (buffer[image] == wanted).all(), (str(gmem), str(smem))
        done += 1
    assert done > amount(40, 2000)


def test_our_own_reading_of_the_map_is_the_simulation():
    tma = make_tma_copy("SM90_TMA_LOAD", parse("(100,70):(72,_1)"), GMMA.K_SW128[half], element=half)
    place, begin, inside = tma.map.offsets((64, 96), base=1024)
    assert place.shape == (8, 64) == inside.shape
    buffer, memory = np.zeros(2048, int), np.arange(7200)
    box_copy(tma, memory, buffer, [64, 96], 1024)
    assert (np.where(inside, memory[np.where(inside, begin // 2, 0)], 0) == buffer[place // 2]).all()
    assert inside.sum() == 4 * 6


def test_a_cluster_loads_the_tile_once():
    smem = tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))
    tma = make_tma_copy("SM90_TMA_LOAD_MULTICAST", parse("(256,128):(128,_1)"), smem, cluster=4, element=half)
    places = [int(tma.partition_D(smem, cta).offset) for cta in range(4)]
    assert tma.map.box == (64, 32)
    assert places == [0, 2048, 4096, 6144]
    assert [str(tma.partition_S(tma.tma_tensor, cta).offset) for cta in range(4)] == [
        "(0,0)",
        "(0,32)",
        "(0,64)",
        "(0,96)",
    ]
    with pytest.raises(RangeError, match="CTA 4 of a cluster of _4"):
        tma.partition_S(tma.tma_tensor, 4)


def test_multicast_slices_of_a_partition():
    """Each CTA's slice begins where its part of the tile does, and the boxes of all four together are the tile."""
    smem = tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))
    tma = make_tma_copy("SM90_TMA_LOAD_MULTICAST", parse("(200,128):(128,_1)"), smem, cluster=4, element=half)
    tiles = zipped_divide(tma.tma_tensor, (Int[128](), Int[64]()))
    memory, buffer = np.arange(1, 200 * 128 + 1), np.full(128 * 64, -1)
    for cta in range(4):
        g, s = tma_partition(tma, group[0, 2](smem), tiles, cta, parse("_4:_1"))
        assert int(s.offset) == int(tma.partition_D(smem, cta).offset)
        at = [int(x) for x in tma.partition_S(tma.tma_tensor, cta).offset] + [0] * 3
        assert at == ([int(x) for x in as_coordinate(ArithmeticTuple(0, 0) + g.offset)] + [0] * 3)
        box_copy(
            tma, memory, buffer, [64 + at[0], 128 + at[1], *at[2:]], int(s.offset) * 2
        )  # tile (1, 1), whose last 56 rows are past the end
    image = offsets(smem)
    for m, k in itertools.product(range(128), range(64)):
        assert buffer[image[m, k]] == (memory[(128 + m) * 128 + 64 + k] if 128 + m < 200 else 0)
    with pytest.raises(TlaError, match="a layout of the CTAs"):
        tma_partition(tma, group[0, 2](smem), tiles, 1, 4)
    with pytest.raises(RangeError, match="0 to 3"):
        tma_partition(tma, group[0, 2](smem), tiles, 4, parse("_4:_1"))


@pytest.mark.parametrize(
    ("gmem", "smem", "element", "error", "text"),
    [
        ("(100,60):(60,2)", "(_32,_16):(_16,_1)", half, DivisibilityError, "a stride of 4 bytes in gmem"),
        ("(128,31):(31,_1)", "(_32,_8):(_8,_1)", float, RangeError, "pad the rows of gmem to 128 bytes"),
        ("(512,2048):(2048,_1)", "(_8,_512):(_512,_1)", uint8, RangeError, "a box of 512 elements"),
        ("(64,64):(64,_1)", "(_8,_4):(_4,_1)", half, RangeError, "rows of 8 bytes"),
        ("(64,64):(64,_1)", "Sw<1,3,3> o _0 o (_8,_64):(_64,_1)", half, RangeError, "at most 32, its span"),
        ("(64,64):(64,_1)", "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)", half, DivisibilityError, "the swizzle Sw<3,4,3>"),
        ("(64,64):(64,_1)", "(8,64):(64,_1)", half, DivisibilityError, "a static tile"),
        ("(64,64):(64,_1)", "(_8,_64):(_0,_1)", half, InjectivityError, "(0,0) and (1,0) share the offset 0"),
        ("(64,64):(64,_1)", "(_8,_64):(_32,_1)", half, InjectivityError, "share the offset 32"),
        ("(64,64):(64,_1)", "(_8,_32):(_64,_2)", half, DivisibilityError, "along no mode of the tensor with step 1"),
        ("(64,1099511627776):(1099511627776,_1)", "(_8,_64):(_64,_1)", half, RangeError, "1 to 2**32"),
    ],
)
def test_refusals(gmem, smem, element, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make_tma_copy("SM90_TMA_LOAD", parse(gmem), parse(smem), element=element)


def test_more_refusals():
    with pytest.raises(LeafTypeError, match="the TMA operation"):
        make_tma_copy("TMA", parse("(64,64):(64,_1)"), GMMA.K_SW128[half], element=half)
    with pytest.raises(LeafTypeError, match=re.escape("make_im2col_copy(...)")):
        make_tma_copy("SM90_TMA_LOAD_IM2COL", parse("(64,64):(64,_1)"), GMMA.K_SW128[half], element=half)
    with pytest.raises(LeafTypeError, match="a matrix of pixels: SM90_TMA_STORE"):
        make_tma_copy(
            "SM90_TMA_STORE_IM2COL", parse("((32,32,8),64):((64,2048,65536),_1)"), GMMA.K_SW128[half], element=half
        )
    assert make_tma_copy("SM90_TMA_STORE", parse("(8192,64):(64,_1)"), GMMA.K_SW128[half], element=half).map.box == (
        64,
        8,
    )
    with pytest.raises(LeafTypeError, match=re.escape("make_tma_copy(..., element=half)")):
        make_tma_copy("SM90_TMA_LOAD", parse("(64,64):(64,_1)"), GMMA.K_SW128[half])
    with pytest.raises(RangeError, match="or a _MULTICAST operation"):
        make_tma_copy("SM90_TMA_LOAD", parse("(64,64):(64,_1)"), GMMA.K_SW128[half], cluster=2, element=half)
    with pytest.raises(Unproven, match="M <= 4294967296"):
        make_tma_copy("SM90_TMA_LOAD", Layout((dim("M"), 64), (64, Int[1]())), GMMA.K_SW128[half], element=half)


def test_vectors_of_one_integer():
    """A layout of one integer is a tensor of rank 1: its coordinates are tuples all the same."""
    tma = make_tma_copy("SM90_TMA_LOAD", parse("_4096:_1"), parse("_128:_1"), element=half)
    assert (tma.map.shape, tma.map.box) == ((4096,), (128,))
    assert str(tma.partition_S(tma.tma_tensor).layout) == "((_128,_1),_32):((_1@0,_0),_128@0)"
    assert str(tma.partition_D(parse("_128:_1")).layout.shape) == "((_128,_1),_1)"


def test_the_text_of_a_map():
    text = emit_tma(make_tma_copy("SM90_TMA_LOAD", parse("(64,128):(128,_1)"), GMMA.K_SW128[double], element=double))
    assert "dim[] = {128, 64};" in text
    assert "strides[] = {1024};" in text
    assert "CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 2, address, dim, strides, box, steps" in text
    assert "CU_TENSOR_MAP_SWIZZLE_128B" in text
