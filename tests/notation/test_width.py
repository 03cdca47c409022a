"""The width of an element from whatever says it, against a list made by hand; and that nothing which counts
bits drops it."""

import itertools

import numpy as np
import pytest

from tla import MakeTensor, Packed, RangeError, parse, viz, xla
from tla.access import Width, access, best_swizzle, element_width, patterns
from tla.apps.explore import answer, read
from tla.ascend import float as single, half, int4b
from tla.core.errors import LeafTypeError
from tla.gpu import Copy_Atom, UniversalCopy, make_tiled_copy, uint128
from tla.linear.triton import from_type

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"
NVMMA = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = %d}>"
ATOM = Copy_Atom[UniversalCopy[uint128], half]

#: A text -> the bits that it says: as CuTe, its DSL, C++ compilers, Triton, XLA and Ascend's and CuTe's
#: sources write them.
TEXTS = {
    "Sw<3,4,3>_smem_ptr[16b](0x0) o (_8,_64):(_64,_1)": 16,
    "Sw<3,4,3> o smem_ptr[8b](unset) o (_8,_128):(_128,_1)": 8,
    "gmem_ptr[32b](0x7f5b4c000000) o (_8,_64):(_64,_1)": 32,
    "ptr[64b](0x7ffd) o (_8,_8):(_8,_1)": 64,
    "tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>": 16,
    "tensor<ptr<bf16, gmem, align<16>> o (8,64):(64,1)>": 16,
    "tensor<ptr<tf32, rmem> o (8,64):(64,1)>": 32,
    "tensor<ptr<f8E4M3FN, smem, S<3,4,3>> o (8,128):(128,1)>": 8,
    "tensor<ptr<f8E8M0FNU, smem> o (8,128):(128,1)>": 8,
    "tensor<ptr<f6E3M2FN, smem> o (8,128):(128,1)>": 6,
    "tensor<ptr<f4E2M1FN, smem> o (8,128):(128,1)>": 4,
    "tensor<ptr<i1, smem> o (8,128):(128,1)>": 1,
    "tensor<ptr<f64, gmem> o (8,16):(16,1)>": 64,
    "raw_ptr(0x000000000736b0c0: f32, generic, align<4>) o (?,5):(5,1)": 32,
    "raw_ptr(0x00007ffd51463c00: f16, smem, align<1024>, S<3,4,3>) o (8,64):(64,1)": 16,
    '!cute.memref<bf16, smem, align<128>, "(8,64):(64,1)">': 16,
    "cute::ComposedLayout<cute::Swizzle<3,4,3>, cute::smem_ptr_flag_bits<16>, "
    "cute::Layout<cute::tuple<cute::C<8>, cute::C<64>>, cute::tuple<cute::C<64>, cute::C<1>>>>": 16,
    f"tensor<64x64xf16, {BLOCKED}>": 16,
    f"tensor<64x64xbf16, {BLOCKED}>": 16,
    f"tensor<64x64xi8, {BLOCKED}>": 8,
    f"tensor<64x64xf8E5M2, {BLOCKED}>": 8,
    f"tensor<64x64xi1, {BLOCKED}>": 1,
    f"tensor<64x64x!tt.ptr<f16>, {BLOCKED}>": 64,
    f"!ttg.memdesc<64x64xf16, {NVMMA % 16}, #smem, mutable>": 16,
    NVMMA % 8: 8,
    "bf16[16,256]{1,0:T(8,128)(2,1)}": 16,
    "s4[16,256]{1,0:E(4)}": 4,
    "pred[16,16]": 8,
    "lower(f32[16,16])": 32,
    "MakeLayout[half, zN](64,64)": 16,
    "MakeLayout[int8, zN](64,64)": 8,
    "MakeLayout[16, zN](64,64)": 16,
    "A = MakeLayout[half, zN](64,64); zipped_divide(A, (16,16))": 16,
    "MakeLayoutTile(MakeLayout[half, zN](64,64), (16,16))": 16,
    "tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_64{}, _64{}))": 16,
    "GMMA::Layout_MN_SW64_Atom<float>": 32,
    "upcast[2](MakeLayout[half, zN](64,64))": 32,
    "recast_layout[16, 8](MakeLayout[half, zN](64,64))": 8,
    "Copy_Atom[UniversalCopy[uint128], half]": 16,
    "make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (_16,_8):(_8,_1), (_1,_8):(_0,_1))": 16,
}
#: Texts that say none.
SILENT = (
    "(64,64):(64,1)",
    "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)",
    "SM75_U32x4_LDSM_N",
    BLOCKED,
    "logical_divide(_8:_1, _4)",
)


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_says_the_width_that_it_names(text):
    assert element_width(read(text).value).bits == TEXTS[text]
    assert element_width(read(text).value, bits=TEXTS[text]).said not in ("", "assumed")
    with pytest.raises(RangeError, match="leave bits out"):
        element_width(read(text).value, bits=2 * TEXTS[text])


@pytest.mark.parametrize("text", SILENT)
def test_other_texts_say_none(text):
    with pytest.raises(LeafTypeError, match="nothing says"):
        element_width(read(text).value)
    assert element_width(read(text).value, bits=8) == Width(8, "given")


#: A value -> the bits that it says.
VALUES = [
    (16, 16),
    (np.int64(16), 16),
    (half, 16),
    (int4b, 4),
    (np.float16, 16),
    (np.dtype("float16"), 16),
    (np.zeros(4, np.int8), 8),
    (MakeTensor(np.zeros(64, np.float64), parse("64:1")), 64),
    (MakeTensor(Packed(np.zeros(32, np.uint8)), parse("64:1")), 4),
    (MakeTensor(np.zeros(64, np.float16), parse("(8,8):(8,1)"))[1, :], 16),
    (xla.parse_shape("bf16[8]"), 16),
    (ATOM, 16),
    (make_tiled_copy(ATOM, parse("(_16,_8):(_8,_1)"), parse("(_1,_8):(_0,_1)")), 16),
    (from_type(f"tensor<64x64xf16, {BLOCKED}>"), 16),
    (Width(6, "half a dozen"), 6),
    ("tensor<ptr<f16, smem> o 8:1>", 16),
]


@pytest.mark.parametrize(("value", "bits"), VALUES, ids=range(len(VALUES)))
def test_values_say_their_width(value, bits):
    assert element_width(value).bits == bits
    assert element_width(None, parse("8:1"), value).bits == bits


def test_two_widths_contradict_each_other():
    for (a, n), (b, m) in itertools.product(VALUES, repeat=2):
        if n == m:
            assert element_width(a, b) == element_width(a)
        else:
            with pytest.raises(RangeError, match=f"of {n} bits .* and of {m} bits"):
                element_width(a, b)


@pytest.mark.parametrize("bits", [0, -1, 3.5, "wide", object(), True])
def test_what_is_no_width(bits):
    with pytest.raises((RangeError, LeafTypeError)):
        element_width(half, bits=bits)


# ------------------------------------------------------------------------------------------- where bits are counted

ROWS = parse("(8,8):(1,8)")  # 8 lanes, each 8 elements of its row


def test_an_access_takes_the_type_of_its_tensor():
    for dtype, degree in ((np.float16, 8), (np.float32, 8), (np.int8, 4)):
        memory = MakeTensor(np.zeros(512, dtype), parse("(8,64):(64,1)"))
        found = access(ROWS, memory)
        assert found == access(ROWS, memory, np.dtype(dtype))
        assert found.degree == degree
        assert f"elements of {8 * np.dtype(dtype).itemsize} bits ({np.dtype(dtype).name})" in str(found)
        with pytest.raises(RangeError, match="leave bits out"):
            access(ROWS, memory, 64)
    with pytest.raises(LeafTypeError, match="give them, such as 16"):
        access(ROWS, parse("(8,64):(64,1)"))
    with pytest.raises(LeafTypeError, match="give them, such as 16"):
        best_swizzle([ROWS], [])
    assert best_swizzle([ROWS], [], single).element == Width(32, "float")


def test_a_drawing_takes_the_type_of_its_tensor_or_of_who_accesses_it():
    packed = MakeTensor(Packed(np.zeros(32, np.uint8)), parse("(8,8):(8,1)"))
    assert "elements of 4 bits (packed uint8)" in viz.draw(packed, color_by="bank").caption
    part = MakeTensor(np.zeros(512, np.float16), parse("(8,8):(1,8)"))
    assert "of 16 bits (float16)" in viz.draw(part, color_by="bank").caption
    assert "of 32 bits (assumed)" in viz.draw(parse("(8,8):(8,1)"), color_by="bank").caption


#: The same tile of shared memory, as different systems say its type; and without one.
K_SW128 = [
    text
    for text, bits in TEXTS.items()
    if (bits == 16 and "Sw<3,4,3>_" in text) or "f16, smem, align<1024>, S<3,4,3>" in text
]


@pytest.mark.parametrize("text", K_SW128)
def test_the_page_counts_the_bits_that_a_print_names(text):
    for name in (p.name for p in patterns()):
        found, same = answer(text, access=name), answer("Sw<3,3,3> o _0 o (_8,_64):(_64,_1)", access=name, bits=16)
        assert {**found["access"], "width": ""} == {**same["access"], "width": ""}
        assert found["figures"][0]["grids"] == same["figures"][0]["grids"]
    assert (
        answer(text, access="down the rows, 16 bytes of each")["access"]["degree"] == 1
    )  # it is the conflict-free atom


def test_the_page_takes_the_width_of_who_accesses():
    owners = f"tensor<64x64xf16, {BLOCKED}>"
    found = answer("(_64,_64):(_64,_1)", access=owners)
    assert found["width"] == {"bits": 16, "said": "f16"}
    assert found["access"]["degree"] == 1
    assert "elements of 16 bits (f16)" in found["caption"]
    both = answer("MakeLayout[int8, zN](64,64)", access=owners)
    assert "elements of 8 bits (int8) and of 16 bits (f16)" in both["access"]["text"]
