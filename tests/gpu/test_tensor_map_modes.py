"""Tensor maps of Blackwell: swizzles by atoms of 32 and 64 bytes and flips, and elements of 4 and 6 bits, byte by byte
as cuda.h says them."""

import itertools
import re

import numpy as np
import pytest

from tla import DivisibilityError, LeafTypeError, RangeError, TlaError, _64, _128, _256, parse, tile_to_shape
from tla.codegen import emit_tma
from tla.core.element import uint8
from tla.gpu import GMMA, Im2colMap, TensorMap, half, make_im2col_copy, make_tma_copy
from tla.gpu.instructions.elements import as_element

FP4, FP6 = as_element("float_e2m1_t"), as_element("float_e3m2_t")


def chunk_moved(address, chunk, flip):
    """Chunks of so many bytes within 128: number c of row r lies at c xor r; a flip swaps the halves of 16 bytes
    in odd rows."""
    row, within = divmod(address, 128)
    number, rest = divmod(within, chunk)
    if flip and row % 2:
        rest = rest // 16 * 16 + (rest + 8) % 16
    return row * 128 + (number ^ row % (128 // chunk)) * chunk + rest


@pytest.mark.parametrize(
    ("swizzle", "chunk", "flip"),
    [
        ("128B", 16, False),
        ("128B_ATOM_32B", 32, False),
        ("128B_ATOM_32B_FLIP_8B", 32, True),
        ("128B_ATOM_64B", 64, False),
    ],
)
def test_a_swizzle_byte_by_byte(swizzle, chunk, flip):
    m = TensorMap(element=uint8, shape=(128, 32), strides=(1, 128), box=(128, 32), swizzle=swizzle)
    place = m.offsets((0, 0))[0].ravel()
    assert place.tolist() == [chunk_moved(address, chunk, flip) for address in range(128 * 32)]
    assert m.since == ("sm_100" if "ATOM" in swizzle else "sm_90")
    assert f"CU_TENSOR_MAP_SWIZZLE_{swizzle}, " in emit_tma(m)


@pytest.mark.parametrize(
    ("element", "unpacked", "name", "values", "read", "written"),
    [
        (FP4, False, "16U4_ALIGN8B", 16, 8, 8),
        (FP4, True, "16U4_ALIGN16B", 16, 8, 16),
        (FP6, True, "16U6_ALIGN16B", 16, 12, 16),
    ],
)
def test_packed_elements_lie_as_the_driver_says(element, unpacked, name, values, read, written):
    """16 values of 8 or 12 bytes in the tensor go to every 8 or 16 bytes of shared memory; whole bytes of
    these are listed."""
    width, rows = 256, 4
    pitch = width // values * read
    m = TensorMap(
        element=element, shape=(width, rows), strides=(0, pitch), box=(128, rows), swizzle="none", unpacked=unpacked
    )
    assert m.format == name
    place, begin, inside = m.offsets((128, 1), 1024)
    per_entry = 128 // place.shape[1]  # values of one entry of the arrays
    for row, k in itertools.product(range(rows), range(place.shape[1])):
        group, rest = divmod(k * per_entry, values)
        part = rest * read // values
        assert place[row, k] == 1024 + (row * 128 // values + group) * written + part
        assert begin[row, k] == (row + 1) * pitch + (128 // values + group) * read + part
        assert inside[row, k] == (row + 1 < rows)
    assert f"CU_TENSOR_MAP_DATA_TYPE_{name}, 2," in emit_tma(m)
    assert (m.since, m.alignment) == ("sm_100", 32 if unpacked else 16)


TILED = {"element": FP4, "shape": (256, 64), "strides": (0, 128), "box": (128, 8), "swizzle": "128B", "unpacked": True}


def test_directions_of_copies():
    """Unpacked 4 bits are loaded only; atoms of 64 bytes of 6 bits are stored only."""
    six = TILED | {"element": FP6, "strides": (0, 192)}
    assert TensorMap(**TILED).directions == ("load",)
    assert TensorMap(**six).directions == ("load", "store")
    assert TensorMap(**six | {"swizzle": "128B_ATOM_64B"}).directions == ("store",)
    assert TensorMap(element=half, shape=(64,), strides=(2,), box=(64,)).directions == ("load", "store")


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"shape": (192, 64)}, RangeError, "rows of 192 elements of 4 bits"),
        ({"strides": (0, 144)}, RangeError, "a multiple of 32"),
        ({"box": (64, 8)}, RangeError, "a box of 64 elements of 16U4_ALIGN16B"),
        ({"swizzle": "64B"}, LeafTypeError, "one of none, 128B, 128B_ATOM_32B"),
        ({"swizzle": "128B_ATOM_64B"}, LeafTypeError, "the swizzle 128B_ATOM_64B of 16U4_ALIGN16B"),
        ({"unpacked": False, "shape": (255, 64)}, RangeError, "a multiple of 2"),
        ({"unpacked": False, "box": (16, 8)}, RangeError, "rows of 8 bytes"),
        ({"element": FP6, "unpacked": False}, LeafTypeError, "packed in shared memory"),
        (
            {"element": FP6, "shape": (256, 8, 8), "strides": (0, 192, 1536), "box": (128, 8, 1), "interleave": "16B"},
            LeafTypeError,
            "interleave 16B of 16U6_ALIGN16B",
        ),
    ],
)
def test_what_the_driver_refuses_of_packed_elements(changed, error, says):
    with pytest.raises(error, match=re.escape(says)):
        TensorMap(**TILED | changed)


def test_a_box_begins_at_whole_groups():
    assert TensorMap(**TILED).offsets((128, 0))[1][0, 0] == 64
    with pytest.raises(RangeError, match=r"at element 64\n.*a multiple of 128\n.*begin at 0"):
        TensorMap(**TILED).offsets((64, 0))


def test_a_copy_of_packed_elements():
    """make_tma_copy of 4 bits: strides in bytes, boxes of 256 values; steps that are no whole bytes are refused."""
    tma = make_tma_copy(
        "SM90_TMA_LOAD", parse("(1024,512):(512,_1)"), tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)), element=FP4
    )
    assert (tma.map.shape, tma.map.strides, tma.map.box) == ((512, 1024), (0, 256), (256, 64))
    assert "16U4_ALIGN8B" in emit_tma(tma)
    place, begin, _ = tma.map.offsets((256, 3))
    assert place[1].tolist() == [128 + (16 * (k // 16 ^ 1) + k % 16) for k in range(128)]
    assert begin[1].tolist() == [4 * 256 + 128 + k for k in range(128)]
    with pytest.raises(DivisibilityError, match="pad the rows of gmem"):
        make_tma_copy(
            "SM90_TMA_LOAD", parse("(1024,511):(511,_1)"), tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)), element=FP4
        )
    with pytest.raises(TlaError, match="next to each other in gmem"):
        make_tma_copy(
            "SM90_TMA_LOAD", parse("(1024,512):(1024,2)"), tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)), element=FP4
        )


@pytest.mark.parametrize("system", ["triton", "gluon"])
def test_triton_has_no_tensors_of_parts_of_bytes(system):
    """The text had strides of 0; in bytes, as the message says, it is right."""
    tma = make_tma_copy(
        "SM90_TMA_LOAD", parse("(1024,512):(512,_1)"), tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)), element=FP4
    )
    with pytest.raises(RangeError, match=r"elements of whole bytes\n.*give both layouts in uint8"):
        emit_tma(tma, system)
    smem = tile_to_shape(GMMA.K_SW128[uint8], (_64, _128))
    again = make_tma_copy("SM90_TMA_LOAD", parse("(1024,256):(256,_1)"), smem, element=uint8)
    assert emit_tma(again, system).startswith(
        "TensorDescriptor(x, shape=[1024, 256], strides=[256, 1], block_shape=[64, 128]"
    )
    assert [x.tolist() for x in again.map.offsets((128, 3))] == [x.tolist() for x in tma.map.offsets((256, 3))]


# ------------------------------------------------------------------------------------------------- convolutions

COLUMN = {"element": FP4, "shape": (256, 9, 3), "strides": (0, 128, 1152), "lower": (-1,), "upper": (-1,)}
COLUMN |= {"element_strides": (1, 2, 1), "channels": 128, "pixels": 8, "swizzle": "none", "unpacked": True}


@pytest.mark.parametrize(
    ("changed", "name", "values", "read", "written"),
    [
        ({"unpacked": False}, "16U4_ALIGN8B", 16, 8, 8),
        ({}, "16U4_ALIGN16B", 16, 8, 16),
        ({"element": FP6, "strides": (0, 192, 1728)}, "16U6_ALIGN16B", 16, 12, 16),
    ],
)
def test_packed_channels_of_a_column(changed, name, values, read, written):
    """Each pixel's 128 channels in groups of 16: where they lie in the tensor and in shared memory, and which pixels
    are outside."""
    m = Im2colMap(**COLUMN | changed)
    assert (m.format, m.since, m.pixel_counts) == (name, "sm_100", (5, 3))
    place, begin, inside = m.offsets(
        (128, 3, 1), (0,), 2048
    )  # the third pixel of the second image, then two more, then the third image's
    per_entry = 128 // place.shape[1]
    for pixel, k in itertools.product(range(8), range(place.shape[1])):
        image, along = divmod(5 + 2 + pixel, 5)
        w = -1 + 2 * along
        group, rest = divmod(k * per_entry, values)
        part = rest * read // values
        assert place[pixel, k] == 2048 + (pixel * 128 // values + group) * written + part
        assert inside[pixel, k] == (0 <= w < 9 and image < 3)
        assert begin[pixel, k] == image * m.strides[2] + w * m.strides[1] + (128 // values + group) * read + part
    assert f"CU_TENSOR_MAP_DATA_TYPE_{name}, 3," in emit_tma(m)


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"channels": 64}, RangeError, "a box of 64 elements of 16U4_ALIGN16B"),
        ({"shape": (192, 9, 3)}, RangeError, "a multiple of 128"),
        ({"strides": (0, 144, 1296)}, RangeError, "a multiple of 32"),
        ({"swizzle": "32B"}, LeafTypeError, "one of none, 128B, 128B_ATOM_32B"),
        ({"element": FP6, "unpacked": False}, LeafTypeError, "packed in shared memory"),
        ({"unpacked": False, "channels": 16}, RangeError, "rows of 8 bytes"),
    ],
)
def test_what_the_driver_refuses_of_packed_channels(changed, error, says):
    with pytest.raises(error, match=re.escape(says)):
        Im2colMap(**COLUMN | changed)


def test_a_column_begins_at_whole_groups():
    with pytest.raises(RangeError, match=r"a column of 16U4_ALIGN16B at element 64\n.*a multiple of 128\n.*begin at 0"):
        Im2colMap(**COLUMN).offsets((64, -1, 0), (0,))


def test_a_convolution_of_packed_channels():
    """make_im2col_copy of 4 bits is the copy of the bytes, two values in each."""
    of = {"lower_padding": (1, 1), "upper_padding": (1, 1)}
    four = make_im2col_copy(
        parse("((8,8,2),512):((512,4096,32768),_1)"),
        tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)),
        (3, 3),
        element=FP4,
        **of,
    )
    smem = tile_to_shape(GMMA.K_SW128[uint8], (_64, _128))
    whole = make_im2col_copy(parse("((8,8,2),256):((256,2048,16384),_1)"), smem, (3, 3), element=uint8, **of)
    assert (four.map.strides, four.map.channels, four.map.pixels) == ((0, 256, 2048, 16384), 256, 64)
    assert "16U4_ALIGN8B, 4, " in emit_tma(four)
    for m, k in itertools.product((0, 1), ((1, 0, 2), (0, 1, 1))):
        (one,), (other,) = four.boxes(m, k), whole.boxes(m, k)
        assert [x.tolist() for x in four.map.offsets(*one)] == [x.tolist() for x in whole.map.offsets(*other)]
    with pytest.raises(DivisibilityError, match="make_im2col_copy: a step of 511 elements of 4 bits"):
        make_im2col_copy(
            parse("((8,8,2),511):((511,4088,32704),_1)"),
            tile_to_shape(GMMA.K_SW128[FP4], (_64, _256)),
            (3, 3),
            element=FP4,
        )


def test_a_map_alone_is_written_for_the_driver():
    m = TensorMap(element=half, shape=(64, 8), strides=(2, 128), box=(64, 8), swizzle="128B")
    assert (
        emit_tma(m)
        .splitlines()[-1]
        .startswith("cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, address")
    )
    with pytest.raises(RangeError, match=r"emit_tma for gluon\n.*one of cuda"):
        emit_tma(m, "gluon")
    assert np.asarray(m.offsets((0, 0))[2]).all()
