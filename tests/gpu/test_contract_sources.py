"""Descriptors in C, compiled and called; tensor maps as Triton, Gluon, Pallas and CuTe's DSL take them, read back."""

import ast
import ctypes
import re

import numpy as np
import pytest

from tla import Int, LeafTypeError, MakeTensor, RangeError, Unproven, dim, local_tile, parse, tile_to_shape
from tla.codegen import emit_descriptor, emit_tma
from tla.core.element import complex64, float, int8
from tla.gpu import GMMA, half, make_tma_copy, umma_descriptor, wgmma_descriptor
from tla.gpu.instructions.elements import as_element

from compiled import build


def test_descriptors_in_c_are_those_of_each_base(tmp_path):
    """For every canonical layout and a tile in it: the function of an address is the descriptor made with that base,
    and the constant too."""
    texts, wanted = [], []
    for name, atom in GMMA.atoms.items():
        for make, rows in ((wgmma_descriptor, 64), (umma_descriptor, 128)):
            buffer = MakeTensor(None, tile_to_shape(atom[half], (Int[256](), Int[64]())))
            tile = local_tile(buffer, (Int[rows](), Int[16]()), (1, 3))
            texts.append(emit_descriptor(make(tile, name.split("_")[0], half), name=f"f{len(wanted)}"))
            texts.append(
                emit_descriptor(
                    make(tile, name.split("_")[0], half, base=0x800), name=f"c{len(wanted)}", base="constant"
                )
            )
            wanted.append([make(tile, name.split("_")[0], half, base=at).bits for at in (0, 0x400, 0x800, 0x1C000)])
    library = build(tmp_path, "\n".join(texts))
    for i, (at0, at1, at2, at3) in enumerate(wanted):
        f = getattr(library, f"f{i}")
        f.restype, f.argtypes = ctypes.c_ulonglong, [ctypes.c_uint]
        assert [f(0), f(0x400), f(0x800), f(0x1C000)] == [at0, at1, at2, at3]
        assert ctypes.c_ulonglong.in_dll(library, f"c{i}").value == at2


def tma_of(atom, shape, gmem="(1000,4096):(4096,_1)", element=half, **more):
    return make_tma_copy(
        "SM90_TMA_LOAD", parse(gmem), tile_to_shape(GMMA.atoms[atom][element], shape), element=element, **more
    )


@pytest.mark.parametrize("element", [half, float, int8], ids=str)
@pytest.mark.parametrize("mode", ["INTER", "SW32", "SW64", "SW128"])
def test_blocks_of_other_systems_lie_in_shared_memory_as_the_box_does(element, mode):
    """Triton's, Gluon's and Pallas's block, placed by these systems' own rules, has every element where the
    box has it."""
    tma = tma_of(f"K_{mode}", (Int[64](), Int[128]()), element=element)
    place, begin, _inside = tma.map.offsets((0, 0))
    for system in ("triton", "gluon", "pallas"):
        text = emit_tma(tma, system)
        block = ast.literal_eval(
            re.search(r"block_shape=(\[.*?\])|BlockSpec\((\(.*?\))", text).group(1 if system != "pallas" else 2)
        )
        assert [*block] == [*place.shape]
        if system == "gluon":
            assert (
                f"swizzle_byte_width={0 if mode == 'INTER' else int(mode[2:])}, element_bitwidth={element.bits}, rank=2"
                in text
            )
        if system != "pallas":
            shape, strides = (ast.literal_eval(re.search(rf"{x}=(\[.*?\])", text)[1]) for x in ("shape", "strides"))
            assert (shape, strides) == ([1000, 4096], [4096, 1])
            m, n = np.ogrid[: block[0], : block[1]]
            assert (begin == (m * strides[0] + n * strides[1]) * element.bits // 8).all()
        tiling = re.search(r"TilingTransform\(\((\d+), (\d+)\)\)", text)
        assert (tiling is None) == (mode == "INTER" or system != "pallas")
        assert (placed(block, tiling and [*map(int, tiling.groups())], mode, element.bits // 8) == place).all()


def placed(block, tiling, mode, size):
    """Byte of each element of a block: row-major, or tiled as (rows, columns) and row-major then;
    address bits swizzled."""
    m, n = np.ogrid[: block[0], : block[1]]
    a, b = tiling or block
    index = ((m // a) * (block[1] // b) + n // b) * a * b + m % a * b + n % b
    span = {"INTER": 0, "SW32": 1, "SW64": 3, "SW128": 7}[mode]
    return index * size ^ (index * size >> 7 & span) << 4


def test_texts():
    tma = tma_of("MN_SW64", (Int[64](), Int[32]()), "(512,256):(_1,512)", l2_promotion="256B")
    assert "CU_TENSOR_MAP_L2_PROMOTION_L2_256B" in emit_tma(tma)
    assert "CU_TENSOR_MAP_L2_PROMOTION_NONE" in emit_tma(tma_of("K_SW128", (Int[64](), Int[64]()), l2_promotion="none"))
    dsl = emit_tma(tma, "cute_dsl")
    assert "SmemLayoutAtomKind.MN_SW64, cutlass.Float16), (64, 32), (1, 2))" in dsl
    assert dsl.endswith(
        "make_tiled_tma_atom(cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(), gmem, smem_layout, (64, 32))"
    )
    plain = make_tma_copy("SM90_TMA_STORE", parse("(512,512):(512,_1)"), parse("(_64,_32):(_32,_1)"), element=float)
    assert "smem_layout = cute.make_layout((64, 32), stride=(32, 1))" in emit_tma(plain, "cute_dsl")
    assert "CopyBulkTensorTileS2GOp()" in emit_tma(plain, "cute_dsl")
    shared = make_tma_copy(
        "SM90_TMA_LOAD_MULTICAST",
        parse("(256,128):(128,_1)"),
        tile_to_shape(GMMA.K_SW128[half], (Int[128](), Int[64]())),
        cluster=4,
        element=half,
    )
    assert "CopyBulkTensorTileG2SMulticastOp(), gmem, smem_layout, (128, 64), num_multicast=4)" in emit_tma(
        shared, "cute_dsl"
    )
    assert "DATA_TYPE_UINT64" in emit_tma(
        make_tma_copy("SM90_TMA_LOAD", parse("(64,64):(64,_1)"), parse("(_8,_16):(_16,_1)"), element=complex64)
    )


D = wgmma_descriptor(parse("((_8,_8),(_8,_2)):((_8,_64),(_1,_512))"), "K", half)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: emit_descriptor(5), LeafTypeError, "a Descriptor"),
        (lambda: emit_descriptor(D, name="int"), LeafTypeError, "the name int"),
        (lambda: emit_descriptor(D, name="a b"), LeafTypeError, "letters, digits"),
        (lambda: emit_descriptor(D, base=4), LeafTypeError, "'dynamic' or 'constant'"),
        (lambda: emit_tma(D), LeafTypeError, "a TMACopy"),
        (lambda: emit_tma(tma_of("K_SW128", (Int[64](), Int[64]())), "cutile"), RangeError, "one of cuda, cute_dsl"),
        (lambda: emit_tma(tma_of("K_SW128", (Int[64](), Int[64]())), []), RangeError, "one of cuda, cute_dsl"),
        (lambda: emit_tma(tma_of("K_SW128", (Int[24](), Int[64]())), "triton"), RangeError, "take tiles of 16"),
        (lambda: tma_of("K_SW128", (Int[64](), Int[64]()), l2_promotion="512B"), LeafTypeError, "one of none, 64B"),
        (lambda: tma_of("K_SW128", (Int[64](), Int[64]()), cluster="2"), LeafTypeError, "a known integer"),
        (lambda: tma_of("K_SW128", (Int[64](), Int[64]()), cluster=dim("C")), LeafTypeError, "a known integer"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=re.escape(text)):
        make()


def test_where_tensors_begin():
    smem = tile_to_shape(GMMA.K_SW64[half], (Int[64](), Int[32]()))
    gmem = parse("(512,512):(512,_1)")
    make_tma_copy("SM90_TMA_LOAD", MakeTensor(None, gmem, offset=8), MakeTensor(None, smem, offset=256), element=half)
    with pytest.raises(RangeError, match="gmem begins 8 bytes into its buffer"):
        make_tma_copy("SM90_TMA_LOAD", MakeTensor(None, gmem, offset=4), smem, element=half)
    with pytest.raises(RangeError, match=r"smem begins 256 bytes into its buffer\n.*a multiple of 512"):
        make_tma_copy("SM90_TMA_LOAD", gmem, MakeTensor(None, smem, offset=128), element=half)
    with pytest.raises(Unproven, match="the first bit of gmem"):
        make_tma_copy("SM90_TMA_LOAD", MakeTensor(None, gmem, offset=dim("N")), smem, element=half)
    with pytest.raises(LeafTypeError, match="elements of 4, 6, 8, 16, 32 or 64 bits"):
        make_tma_copy("SM90_TMA_LOAD", gmem, parse("(_64,_32):(_32,_1)"), element=as_element("uint1_t"))
    with pytest.raises(LeafTypeError, match="write make_im2col_copy"):
        make_tma_copy("SM90_TMA_LOAD_IM2COL", gmem, smem, element=half)
    with pytest.raises(LeafTypeError, match="a tensor or layout of global memory"):
        make_tma_copy("SM90_TMA_LOAD", "(512,512)", smem, element=half)
