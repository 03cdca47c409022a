"""Tensor maps: the driver's conditions, element strides, symbols; im2col copies against the convolution's own
definition."""

import itertools
import math
import random
import re

import numpy as np
import pytest

from tla import (
    DivisibilityError,
    Int,
    Layout,
    LeafTypeError,
    RangeError,
    RankError,
    TlaError,
    Unproven,
    assuming,
    dim,
    dims,
    make_layout,
    offsets,
    parse,
    tile_to_shape,
)
from tla.codegen import emit_tma
from tla.core.element import float, uint1, uint8
from tla.gpu import GMMA, Im2colMap, TensorMap, half, make_im2col_copy, make_tma_copy
from tla.gpu.instructions.elements import as_element

from night import NIGHT

TILED = {"element": half, "shape": (64, 32, 8), "strides": (2, 128, 4096), "box": (64, 8, 1), "swizzle": "128B"}
IM2COL = {
    "element": half,
    "shape": (64, 16, 16, 4),
    "strides": (2, 128, 2048, 32768),
    "lower": (-1, -1),
    "upper": (-1, -1),
    "channels": 64,
    "pixels": 64,
    "swizzle": "128B",
}


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"shape": (64, 0, 8)}, RangeError, "a mode of 0 elements"),
        ({"shape": (64, (1 << 32) + 1, 8)}, RangeError, "1 to 2**32"),
        ({"shape": 64}, RankError, "1 to 5 extents"),
        ({"shape": (64,) * 6}, RankError, "1 to 5 extents"),
        ({"strides": (2, 128)}, RankError, "a tuple of 3 integers"),
        ({"strides": (4, 128, 4096)}, DivisibilityError, "2, contiguous"),
        ({"strides": (2, 130, 4096)}, RangeError, "pad the rows of gmem to 144 bytes"),
        ({"strides": (2, -128, 4096)}, RangeError, "0 or more"),
        ({"strides": (2, 1 << 40, 4096)}, RangeError, "less than 2**40"),
        ({"box": (64, 0, 1)}, RangeError, "a box of 0 elements"),
        ({"box": (64, 257, 1)}, RangeError, "take tiles of 256"),
        ({"box": (64, 8)}, RankError, "a tuple of 3 integers"),
        ({"box": (128, 8, 1)}, RangeError, "at most 128, its span"),
        ({"box": (60, 8, 1)}, RangeError, "rows of 120 bytes"),
        ({"element_strides": (1, 9, 1)}, RangeError, "a step of 9 elements"),
        ({"element_strides": (1, 0, 1)}, RangeError, "1 to 8"),
        ({"element": uint1}, LeafTypeError, "elements of 4, 6, 8, 16, 32 or 64 bits"),
        ({"element": as_element("float_e2m1_t")}, DivisibilityError, "0, contiguous"),
        ({"element": as_element("float_e2m3_t")}, LeafTypeError, "write unpacked=True"),
        ({"unpacked": True}, LeafTypeError, "leave unpacked out"),
        ({"unpacked": 1}, LeafTypeError, "True or False"),
        ({"swizzle": "256B"}, LeafTypeError, "one of none, 32B"),
        ({"interleave": "8B"}, LeafTypeError, "one of none, 16B, 32B"),
        ({"l2_promotion": "512B"}, LeafTypeError, "one of none, 64B"),
        ({"interleave": "32B"}, LeafTypeError, "interleave 32B with the swizzle 128B"),
        (
            {"interleave": "32B", "swizzle": "32B", "strides": (2, 144, 4608)},
            RangeError,
            "pad the rows of gmem to 160 bytes",
        ),
        ({"interleave": "16B", "shape": (8, 8), "strides": (2, 16), "box": (8, 8)}, RankError, "3 to 5"),
    ],
)
def test_what_the_driver_refuses(changed, error, says):
    TensorMap(**TILED)
    with pytest.raises(error, match=re.escape(says)):
        TensorMap(**TILED | changed)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"shape": (64, 16), "strides": (2, 128)}, RankError, "3 to 5"),
        ({"lower": (-129, 0)}, RangeError, "-128 to 127"),
        ({"upper": (0, 128)}, RangeError, "the upper corner 128"),
        ({"lower": (0,)}, RankError, "a tuple of 2 integers"),
        ({"lower": (10, 0), "upper": (-6, 0)}, RangeError, "a bounding box of 0 pixels"),
        ({"channels": 257}, RangeError, "257 channels"),
        ({"pixels": 1025}, RangeError, "take tiles of 1024"),
        ({"pixels": 0}, RangeError, "0 pixels"),
        ({"channels": 128}, RangeError, "at most 128, its span"),
        ({"channels": 4}, RangeError, "rows of 8 bytes"),
        ({"element_strides": (1, 9, 1, 1)}, RangeError, "a step of 9"),
    ],
)
def test_what_the_driver_refuses_of_im2col(changed, error, says):
    Im2colMap(**IM2COL)
    with pytest.raises(error, match=re.escape(says)):
        Im2colMap(**IM2COL | changed)


def test_corners_have_the_bits_that_the_rank_leaves():
    for rank, limit in ((3, 1 << 15), (4, 1 << 7), (5, 1 << 4)):
        spatial = rank - 2
        fields = {
            "element": half,
            "shape": (64, *[1 << 17] * spatial, 1),
            "strides": (2, *[128] * (rank - 1)),
            "channels": 8,
            "pixels": 8,
        }
        Im2colMap(**fields, lower=(-limit,) * spatial, upper=(limit - 1,) * spatial)
        for lower, upper in ((-limit - 1, 0), (0, limit)):
            with pytest.raises(RangeError, match="corner"):
                Im2colMap(**fields, lower=(lower,) * spatial, upper=(upper,) * spatial)


def test_interleaved_maps_are_encoded_and_not_simulated():
    m = TensorMap(**TILED | {"interleave": "16B", "box": (4, 8, 1)})  # rows of 8 bytes are lawful there
    with pytest.raises(RangeError, match="the manuals do not say"):
        m.offsets((0, 0, 0))
    slices = {
        "shape": (8, 4, 4, 2, 3),
        "strides": (2, 16, 64, 256, 512),
        "box": (8, 4, 2, 1, 1),
        "swizzle": "none",
    }  # N, C / 8, H, W, 8
    _place, begin, inside = TensorMap(**TILED | slices).offsets((0, 0, 2, 1, 2))
    assert inside.all()
    assert begin.ravel().tolist() == [1024 + 256 + 128 + 2 * i for i in range(64)]
    assert TensorMap(**TILED | {"interleave": "32B", "swizzle": "32B"}).interleave == "32B"


def test_element_strides_take_every_nth_element():
    m = TensorMap(element=uint8, shape=(64, 10, 9), strides=(1, 64, 640), box=(16, 5, 4), element_strides=(2, 2, 3))
    assert m.loaded == (16, 3, 2)  # of the first mode the driver ignores the step
    place, begin, inside = m.offsets((8, 6, 3), base=256)
    wanted = [(c, r, p) for p in (3, 6) for r in (6, 8, 10) for c in range(8, 24)]
    assert begin.ravel().tolist() == [c + 64 * r + 640 * p for c, r, p in wanted]
    assert inside.ravel().tolist() == [r < 10 for _c, r, _p in wanted]
    assert place.ravel().tolist() == [*range(256, 256 + 96)]


@pytest.mark.parametrize("at", [(0,), "xy", (0, 0, 0, 0, 0), None, (0, 0, dim("N")), (0, 0, 1.5)])
def test_coordinates_that_a_map_does_not_have(at):
    with pytest.raises(TlaError):
        TensorMap(**TILED).offsets(at)
    with pytest.raises(TlaError):
        Im2colMap(**IM2COL).offsets(at, (0, 0))
    with pytest.raises(TlaError):
        Im2colMap(**IM2COL).offsets((0, -1, -1, 0), at)
    with pytest.raises(TlaError):
        TensorMap(**TILED).offsets((0, 0, 0), base=at)


# -------------------------------------------------------------------------------------------------------------- symbols


def test_conditions_on_symbols_are_proved_or_recorded():
    """16-byte strides follow from the facts; what does not is recorded, and fails for a size that breaks it."""
    smem = tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))
    m, k = dim("M", at_least=1, at_most=1 << 20), dim("K", at_least=1, at_most=1 << 20, multiple_of=8)
    tma = make_tma_copy("SM90_TMA_LOAD", make_layout((m, k), stride=(k, Int[1]())), smem, element=half)
    assert [str(x) for x in (*tma.map.shape, *tma.map.strides)] == ["K", "M", "2", "2*K"]
    assert str(tma.tma_tensor) == "(M,K):(_1@1,_1@0)"
    open_k = dim("K", at_least=1, at_most=1 << 20)
    with pytest.raises(Unproven, match=r"16 divides 2\*K"):
        make_tma_copy("SM90_TMA_LOAD", make_layout((m, open_k), stride=(open_k, Int[1]())), smem, element=half)
    with assuming() as conditions:
        made = make_tma_copy("SM90_TMA_LOAD", make_layout((m, open_k), stride=(open_k, Int[1]())), smem, element=half)
    assert [c.to_python() for c in conditions] == ["(2*K) % 16 == 0"]
    for n in (8, 64, 100):
        lawful = 2 * n % 16 == 0
        assert eval(conditions[0].to_python(), {"K": n}) == lawful
        try:
            known = make_tma_copy("SM90_TMA_LOAD", Layout((500, n), (n, Int[1]())), smem, element=half)
        except RangeError:
            assert not lawful
            continue
        assert lawful
        assert known.map.box == made.map.box
    with assuming() as conditions:
        M, N = dims("M N")
        make_tma_copy("SM90_TMA_LOAD", make_layout((M, N), stride=(N, Int[1]())), smem, element=half)
    assert {"N <= 4294967296", "M <= 4294967296", "16 divides 2*N"} <= {*map(str, conditions)}


def test_symbols_as_source():
    smem = tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))
    m, k = dim("M", at_least=1, at_most=1 << 20), dim("K", at_least=1, at_most=1 << 20, multiple_of=8)
    tma = make_tma_copy("SM90_TMA_LOAD", make_layout((m, k), stride=(k, Int[1]())), smem, element=half)
    text = emit_tma(tma)
    assert "dim[] = {K, M};" in text
    assert "strides[] = {K * 2};" in text
    assert emit_tma(tma, "triton") == "TensorDescriptor(x, shape=[M, K], strides=[K, 1], block_shape=[128, 64])"
    with pytest.raises(LeafTypeError, match="a known integer"):
        tma.map.offsets((0, 0))


# --------------------------------------------------------------------------------------------------------------- im2col


def convolution(rng):
    """A random convolution of 1 to 3 axes whose map is lawful: sizes in W, H, D order."""
    axes = rng.randint(1, 3)
    element = rng.choice([half, float, uint8])
    unit = 128 // element.bits
    size, taps, gaps, steps, low, high = ([] for _ in range(6))
    for _ in range(axes):
        taps.append(rng.randint(1, 3))
        gaps.append(rng.randint(1, 2))
        steps.append(rng.randint(1, 3))
        low.append(rng.randint(0, 2))
        high.append(rng.randint(0, 2))
        size.append(rng.randint(max(1, (taps[-1] - 1) * gaps[-1] + 1 - low[-1] - high[-1]), 7))
    batch, channels = rng.randint(1, 3), unit * rng.randint(1, 3)
    mode = rng.choice(["INTER", "SW32", "SW64", "SW128"])
    columns = unit * max({"INTER": 1, "SW32": 2, "SW64": 4, "SW128": 8}[mode], rng.choice([1, 2]))
    return axes, element, (size, taps, gaps, steps, low, high), batch, channels, mode, columns


def matrix_element(image, conv, row, tap, channel):
    """The matrix of a convolution by its definition: the input pixel of output pixel `row` and a tap, 0 outside."""
    size, taps, gaps, steps, low, high = conv
    at = []
    for n, t, g, step, before, after, s in zip(size, taps, gaps, steps, low, high, tap):
        count = (n + before + after - (t - 1) * g - 1) // step + 1
        at.append(row % count * step - before + s * g)
        row //= count
    if row >= image.shape[0] or channel >= image.shape[-1] or any(not 0 <= x < n for x, n in zip(at, size)):
        return 0
    return image[(row, *reversed(at), channel)]


@pytest.mark.parametrize("seed", range(400 if NIGHT else 40))
def test_columns_are_the_convolutions_matrix(seed):
    """Copy tiles by the rules of the hardware; read them back by the layout of shared memory; compare with the
    definition."""
    rng = random.Random(seed)
    axes, element, conv, batch, channels, mode, columns = convolution(rng)
    size, taps, gaps, steps, low, high = conv
    image = np.arange(1, 1 + batch * math.prod(size) * channels).reshape(batch, *reversed(size), channels)
    strides = [channels * math.prod(size[:i]) for i in range(axes + 1)]
    gmem = Layout(((*size, batch), channels), (tuple(strides), Int[1]()))
    smem = tile_to_shape(GMMA.atoms[f"K_{mode}"][element], (Int[16](), Int[columns]()), (Int[1](), Int[2]()))
    copy = make_im2col_copy(
        gmem,
        smem,
        tuple(taps),
        lower_padding=tuple(low),
        upper_padding=tuple(high),
        stride=tuple(steps),
        dilation=tuple(gaps),
        element=element,
    )
    where = offsets(smem)
    rows = math.prod(copy.map.pixel_counts)
    for m in rng.sample(range(-(-rows // 16)), min(2, -(-rows // 16))):
        k = (rng.randrange(-(-channels // columns)), *map(rng.randrange, taps))
        buffer = np.full(16 * columns, -1)
        for box in copy.boxes(m, k):
            place, begin, inside = copy.map.offsets(*box)
            source = np.where(inside, begin * 8 // element.bits, 0)
            buffer[place * 8 // element.bits] = np.where(inside, image.ravel()[source], 0)
        for i, j in itertools.product(range(16), range(columns)):
            assert buffer[where[i, j]] == matrix_element(image, conv, m * 16 + i, k[1:], k[0] * columns + j)


IMAGE = parse("((32,32,8),64):((64,2048,65536),_1)")
TILE = tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]()))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: make_im2col_copy(parse("(32,64):(64,_1)"), TILE, (3,), element=half), RankError, "((w, n), c)"),
        (
            lambda: make_im2col_copy(parse("((4,4,4,4,4),64):((64,64,64,64,64),_1)"), TILE, (3,), element=half),
            RankError,
            "((w, n), c)",
        ),
        (
            lambda: make_im2col_copy(parse("((32,32,8),64):((1,32,65536),1024)"), TILE, (3, 3), element=half),
            DivisibilityError,
            "NHWC",
        ),
        (lambda: make_im2col_copy(IMAGE, TILE, (3,), element=half), RankError, "write filter_size=(1, 1)"),
        (lambda: make_im2col_copy(IMAGE, TILE, (), element=half), RankError, "write filter_size=(1, 1)"),
        (lambda: make_im2col_copy(IMAGE, TILE, (0, 3), element=half), RangeError, "1 or more"),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3), lower_padding=(-1, 0), element=half), RangeError, "0 or more"),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3), stride=(9, 1), element=half), RangeError, "a step of 9"),
        (
            lambda: make_im2col_copy(IMAGE, TILE, (3, 3), dilation=(200, 1), element=half),
            RangeError,
            "less than 256 for 4 modes",
        ),
        (lambda: make_im2col_copy(IMAGE, TILE, (33, 33), element=half), RangeError, "a bounding box of 0 pixels"),
        (
            lambda: make_im2col_copy(IMAGE, parse("(_128,_64):(_1,_128)"), (3, 3), element=half),
            DivisibilityError,
            "a K-major atom",
        ),
        (lambda: make_im2col_copy(IMAGE, parse("(128,64):(64,1)"), (3, 3), element=half), RankError, "a static tile"),
        (
            lambda: make_im2col_copy(IMAGE, parse("(_2048,_64):(_64,_1)"), (3, 3), element=half),
            RangeError,
            "at most 1024 and 256",
        ),
        (
            lambda: make_im2col_copy(IMAGE, parse("(_8,_64):(_72,_1)"), (3, 3), element=half),
            RangeError,
            "boxes 144 bytes apart",
        ),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3)), LeafTypeError, "an element type"),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3), element=half).boxes(64, 0), RangeError, "below 57"),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3), element=half).boxes(0, 9), RangeError, "below (1, 3, 3)"),
        (
            lambda: make_im2col_copy(IMAGE, TILE, (3, 3), element=half).boxes(0, (0, 3, 0)),
            RangeError,
            "below (1, 3, 3)",
        ),
        (lambda: make_im2col_copy(IMAGE, TILE, (3, 3), element=half).boxes("a", 0), LeafTypeError, "a known integer"),
        (
            lambda: make_im2col_copy(IMAGE, TILE, (3, 3), element=half).map.offsets((0, 31, 0, 0), (0, 0)),
            RangeError,
            "bounding box",
        ),
        (
            lambda: emit_tma(make_im2col_copy(IMAGE, TILE, (3, 3), element=half), "triton"),
            RangeError,
            "one of cuda, gluon",
        ),
    ],
)
def test_refusals_of_im2col(make, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make()


def test_im2col_as_source():
    copy = make_im2col_copy(
        IMAGE, TILE, (3, 5), stride=(2, 1), lower_padding=(1, 2), upper_padding=(0, 2), element=half
    )
    assert emit_tma(copy).splitlines()[2:] == [
        "int lower[] = {-1, -2};",
        "int upper[] = {-2, -2};",
        "cuuint32_t steps[] = {1, 2, 1, 1};",
        "cuTensorMapEncodeIm2col(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4, address, dim, strides, lower, upper, 64, "
        "128, steps, "
        "CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, "
        "CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);",
    ]
    assert emit_tma(copy, "gluon") == (
        "TensorDescriptorIm2Col(x, shape=[8, 32, 32, 64], strides=[65536, 2048, 64, 1], block_shape=[128, 64], "
        "layout=gl.NVMMASharedLayout(swizzle_byte_width=128, element_bitwidth=16, rank=2), element_strides=[1, 1, 2, "
        "1], "
        "pixel_box_lower_corner=[-2, -1], pixel_box_upper_corner=[-2, -2])"
    )
