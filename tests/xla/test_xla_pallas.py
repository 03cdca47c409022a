"""Mosaic's memory references and registers, and blocks of Pallas kernels: against kernels that libtpu compiled."""

import gzip
import itertools
import json
import math
import random

import pytest

import tla
from tla import LoweringError, ParseError, RangeError, RankError, TlaError, offsets, xla

from truth import DATA

CASES = json.loads(gzip.decompress((DATA / "xla" / "blocks.json.gz").read_bytes()))["cases"]


def block_of(row):
    return xla.block(row["type"], tuple(row["shape"]), tuple(row["block"]), target=row["target"])


def test_blocks_are_legal_where_pallas_takes_them():
    assert len(CASES) > 1500
    for row in CASES:
        found = block_of(row)
        assert found.legal == row["legal"], row
        assert bool(found.advice) >= (not found.legal)


def test_memory_references_of_blocks_are_those_of_the_compiler():
    rows = [row for row in CASES if "memref" in row]
    assert len(rows) > 600
    for row in rows:
        assert str(block_of(row).memref).replace("vmem, tc", "vmem") == row["memref"], row
        assert str(xla.parse_memref(row["memref"])) == row["memref"]


def test_blocks_take_the_vmem_that_the_compiler_says():
    """An argument and a result of one shape, which begins at a whole KiB."""
    rows = [row for row in CASES if "vmem" in row]
    assert len(rows) > 500
    for row in rows:
        size = block_of(row).vmem
        assert -(-size // 1024) * 1024 + size == row["vmem"], row


def test_blocks_take_the_registers_that_the_compiler_stores():
    rows = [row for row in CASES if "registers" in row]
    assert len(rows) > 400
    for row in rows:
        found = block_of(row)
        assert found.vregs == row["registers"], row
        counts = [xla.parse_register_layout(text).count(row["block"]) for text in row["vpads"]]
        assert row["registers"] in counts
        assert [str(xla.parse_register_layout(text)) for text in row["vpads"]] == row["vpads"]


def test_what_a_block_is_advised_to_be_is_legal():
    tried = 0
    for row in CASES:
        if row["legal"] or len(row["block"]) < 2:
            continue
        found, extents = block_of(row), list(row["block"])
        for text in found.advice:
            if text.startswith("dimension ") and " all " in text:
                d, whole = int(text.split()[1][:-1]), int(text.rsplit(" ", 1)[1])
                extents[d] = whole
        assert xla.block(row["type"], tuple(row["shape"]), tuple(extents)).legal, (row, found.advice)
        tried += 1
    assert tried > 300


def test_an_efficient_block_fills_its_registers():
    assert xla.block("bf16", (512, 512), (256, 256)).efficient
    narrow = xla.block("s8", (512, 512), (8, 128))
    assert narrow.legal
    assert not narrow.efficient
    assert any("512" in text for text in narrow.advice)
    assert not xla.block("f32", (512, 512), (4, 128)).efficient
    squeezed = xla.block("f32", (4, 512, 512), (None, 8, 128))
    assert squeezed.legal
    assert squeezed.memref.dimensions == (1, 8, 128)
    assert xla.block("f32", (64, 128), (64, 128)).buffers == 1
    assert xla.block("f32", (64, 128), (32, 128), buffers=3).vmem == 3 * 32 * 128 * 4


def test_what_is_said_of_a_refused_block():
    """The rule of _check_block_mappings in words, and the extents next to the one that is refused."""
    odd = xla.block("f32", (512, 512), (4, 256))  # 4 kB, which fill a register, but rows of 4 are refused
    assert (odd.legal, odd.vregs, odd.efficient) == (False, 1, False)
    assert odd.refused == "dimension 0: 4 of 512: the last extents have to be multiples of (8, 128), or whole"
    assert xla.block("f32", (512, 512), (8, 128)).efficient
    rule = "the last extents have to be whole, n * 1024, or a power of two of"
    for kind, extent, refused, advice in (
        ("f32", 100, f"dimension 0: 100 of 3000: {rule} 128 or more", "dimension 0: 128, or all 3000"),
        ("bf16", 128, f"dimension 0: 128 of 3000: {rule} 256 or more", "dimension 0: 256, or all 3000"),
        ("s8", 511, f"dimension 0: 511 of 3000: {rule} 512 or more", "dimension 0: 512, or all 3000"),
        ("f32", 1500, f"dimension 0: 1500 of 3000: {rule} 128 or more", "dimension 0: 1024, 2048, or all 3000"),
        ("f32", 1025, f"dimension 0: 1025 of 3000: {rule} 128 or more", "dimension 0: 1024, 2048, or all 3000"),
        ("f32", 1023, f"dimension 0: 1023 of 3000: {rule} 128 or more", "dimension 0: 896, 1024, or all 3000"),
        ("f32", 2500, f"dimension 0: 2500 of 3000: {rule} 128 or more", "dimension 0: 2048, or all 3000"),
    ):
        found = xla.block(kind, (3000,), (extent,))
        assert (found.refused, found.advice[0]) == (refused, advice)
    for legal in (3000, 1024, 2048, 128, 256):
        assert xla.block("f32", (3000,), (legal,)).legal
    both = xla.block("f32", (100, 300), (4, 200))
    assert (
        both.refused
        == "dimension 0: 4 of 100, dimension 1: 200 of 300: the last extents have to be multiples of (8, 128), or whole"
    )
    assert both.advice[:2] == ("dimension 0: 8, or all 100", "dimension 1: 128, 256, or all 300")


FILLS = "{} fills {} of the last {} that a register holds; full with {}"
PAD = ", which the array does not reach: pad it"


@pytest.mark.parametrize(
    ("kind", "shape", "extents", "advice"),
    [
        ("f32", (512, 512), (8, 128), []),
        ("s8", (512, 512), (8, 128), [f"dimension 1: {FILLS.format(128, 128, 512, 512)}"]),
        ("s8", (512, 500), (8, 128), [f"dimension 1: {FILLS.format(128, 128, 512, 512)}{PAD}"]),
        ("s8", (512, 512), (8, 640), [f"dimension 1: {FILLS.format(640, 128, 512, 1024)}{PAD}"]),
        ("f32", (512, 512), (4, 256), ["dimension 0: 8, or all 512"]),
        ("f32", (12, 130), (12, 130), [f"dimension 1: {FILLS.format(130, 2, 128, 256)}{PAD}", f"dimension 0: {FILLS.format(12, 4, 8, 16)}{PAD}"]),
        ("bf16", (3000,), (512,), [f"dimension 0: {FILLS.format(512, 512, 2048, 2048)}"]),
        ("bf16", (2048,), (512,), [f"dimension 0: {FILLS.format(512, 512, 2048, 2048)}"]),
        ("bf16", (2047,), (2047,), [f"dimension 0: {FILLS.format(2047, 2047, 2048, 2048)}{PAD}"]),
        ("f32", (4, 512, 512), (None, 8, 100), ["dimension 2: 128, or all 512"]),
        ("f32", (4, 512, 512), (3, 8, 128), []),
    ],
)  # fmt: skip
def test_each_advice_on_a_block(kind, shape, extents, advice):
    assert [*xla.block(kind, shape, extents).advice] == advice


@pytest.mark.parametrize(
    ("kind", "shape", "extents", "legal", "buffers", "vregs", "size", "waste"),
    [
        ("f32", (1, 1), (None, None), False, 1, 1, 512, 508),
        ("f32", (4, 1, 512), (4, None, 512), True, 1, 2, 8192, 0),
        ("f32", (4, 2, 512), (4, None, 512), False, 2, 2, 16384, 8192),  # a dimension of 2 is no dimension of 1
        ("f32", (1, 128), (8, 128), True, 1, 1, 4096, 0),  # more than the array: one step
        ("f32", (1, 128), (1, 128), True, 1, 1, 512, 0),
        ("f32", (100, 300), (100, 300), True, 1, 13 * 3, 104 * 384 * 4, (104 * 384 - 100 * 300) * 4),
        ("s4", (7, 5), (7, 5), True, 1, 1, 512, 512 - 18),
        ("f32", (2**40,), (2**40,), True, 1, 2**30, 2**42, 0),
    ],
)
def test_what_a_block_takes(kind, shape, extents, legal, buffers, vregs, size, waste):
    found = xla.block(kind, shape, extents)
    assert (found.legal, found.buffers, found.vregs, found.bytes, found.waste) == (legal, buffers, vregs, size, waste)


def test_rows_of_the_tiles_of_a_block():
    """The fewest of 1, 2, 4 that hold all rows and whole words; 32 of bytes where the array has such tiles, but of pred
    no byte is stored."""
    for kind, rows, tile in (
        *(("f32", n, k) for n, k in ((1, 1), (2, 2), (3, 4), (4, 4), (5, 8), (32, 8))),
        *(("bf16", n, k) for n, k in ((1, 2), (2, 2), (3, 4), (4, 4), (5, 8), (32, 8))),
        *(("s8", n, k) for n, k in ((1, 4), (4, 4), (5, 8), (16, 8), (31, 8), (32, 32), (64, 32))),
        *(("pred", n, k) for n, k in ((1, 1), (4, 4), (32, 8), (64, 8))),
    ):
        assert xla.block(kind, (rows, 256), (rows, 256)).memref.tiles[0] == (tile, 128), (kind, rows)
    assert xla.block("s8", (1024, 256), (64, 128)).memref.tiles[0] == (32, 128)
    assert xla.block("s8", (1000, 256), (64, 128)).memref.tiles[0] == (8, 128)  # of 1000 rows the array has tiles of 8
    assert xla.block("s8", (1024, 256), (48, 128)).memref.tiles[0] == (8, 128)


# --------------------------------------------------------------------------------------- memory references


def tile_oracle(dims, tiles, strides, index):
    """The offset of an element: which tile, by the strides; where in it, by pad, reshape and transpose of
    the levels below."""
    first = tiles[0]
    left = len(dims) - len(first)
    number = sum(i * s for i, s in zip(index[:left], strides))
    number += sum(i // t * s for i, t, s in zip(index[left:], first, strides[left:]))
    inside = tuple(i % t for i, t in zip(index[left:], first))
    spec = f"f32[{','.join(map(str, first))}]{{{','.join(map(str, reversed(range(len(first)))))}{':T' if tiles[1:] else ''}"
    spec += "".join(f"({','.join(map(str, t))})" for t in tiles[1:]) + "}"
    return number * math.prod(first) + xla.linear_index(spec, inside)


@pytest.mark.parametrize("seed", range(40))
def test_memory_references_lower_to_what_their_strides_say(seed):
    rng = random.Random(seed)
    tiles = rng.choice(
        [((8, 128),), ((8, 128), (2, 1)), ((32, 128), (4, 1)), ((4, 128), (4, 1)), ((4, 4), (2, 1)), ((2, 3),)]
    )
    dims = (*(rng.randrange(1, 4) for _ in range(rng.randrange(3))), rng.randrange(1, 40), rng.randrange(1, 300))
    counts = [*dims[:-2], -(-dims[-2] // tiles[0][0]), -(-dims[-1] // tiles[0][1])]
    order = rng.sample(range(len(dims)), len(dims))
    strides, step = [0] * len(dims), 1
    for d in order:
        strides[d] = step
        step *= counts[d] + rng.choice([0, 0, 1])
    m = xla.MemRef("f32", dims, tiles, tuple(strides), "vmem")
    layout = m.lower()
    assert xla.parse_memref(str(m)) == m
    for _ in range(60):
        index = tuple(rng.randrange(n) for n in dims)
        assert layout(*index) == tile_oracle(dims, tiles, strides, index)


def test_memory_references_go_to_xla_and_back():
    for text in (
        "bf16[256,256]{1,0:T(8,128)(2,1)S(1)}",
        "f32[3,8,128]{2,1,0:T(8,128)S(1)}",
        "s32[7]{0:S(6)}",
        "f32[300]{0:T(128)S(1)}",
        "s8[2048]{0:T(512)(128)(4,1)S(1)}",
    ):
        shape = xla.parse_shape(text)
        m = xla.to_memref(shape)
        assert m.shape() == shape
        assert tla.same_map(m.lower(), xla.lower(shape))
        assert xla.parse_memref(str(m)) == m
    swapped = xla.parse_memref("memref<16x256xf32, #tpu.tiled<(8,128),[1,2]>>")
    assert str(swapped.lower()) == "(_16,(_128,_2)):(_128,(_1,_2048))"
    with pytest.raises(LoweringError, match="strides"):
        swapped.shape()
    with pytest.raises(LoweringError, match="as a memref"):
        xla.to_memref("f32[16,256]{0,1:T(8,128)}")
    assert (
        str(xla.parse_memref("memref<8x128xf32, strided<[256, 1], offset: 3>>"))
        == "memref<8x128xf32, strided<[256, 1], offset: 3>>"
    )
    assert xla.parse_memref("memref<f32>").lower()() == 0
    for text in (
        "memref<8xf32, #tpu.memory_space<vmem, tc>>",
        "memref<8xf32, #tpu.memory_space<vmem>>",
        "memref<8xf32>",
    ):
        assert str(xla.parse_memref(text)) == text
    assert (
        xla.parse_memref("memref<8xf32, #tpu.memory_space< smem , tc >>").core,
        xla.parse_memref("memref<8xf32>").core,
    ) == ("tc", "")
    assert (
        str(xla.parse_memref("memref< ?x128xi32,#tpu.memory_space<smem>>"))
        == "memref<?x128xi32, #tpu.memory_space<smem>>"
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "memref", "memref<>", "memref<8x128>", "memref<8x128xq7>", "memref<8x128xf32, #tpu.tiled<(8,128)>>", "memref<8xf32, x>",
        "memref<8x128xf32, #tpu.tiled<(8,128),[1]>>", "memref<8x128xf32, #tpu.tiled<(0,128),[1,1]>>", "memref<-8xf32>",
        "memref<8x128xf32, #tpu.memory_space<vmem>, #tpu.memory_space<vmem>>", "memref<8xf32, #tpu.tiled<(8,128),[1]>>",
        "memref<8x128xf32, #tpu.tiled<(8,128),[1,1]>, #tpu.tiled<(8,128),[1,1]>>",
        "memref<8x128xf32, #tpu.tiled<(8,128),[1,1]>, strided<[128, 1]>>", "memref<8x128xf32, strided<[128, 1]>, strided<[128, 1]>>",
        f"memref<{'9' * 30}xf32>", "memref<8xf32" + "," * 20_000,
    ],
)  # fmt: skip
def test_texts_that_are_no_memory_reference_are_refused(text):
    with pytest.raises(TlaError):
        xla.parse_memref(text)


@pytest.mark.parametrize(
    ("fields", "error", "says"),
    [
        (("f31", (8,)), RangeError, "element type 'f31'"),
        ((["f32"], (8,)), RangeError, "element type"),
        (("f32", (-1,)), RangeError, r"a memref of \(-1,\)"),
        (("f32", (8, 128), ((8, 0),)), RangeError, "tiles of 1 or more"),
        (("f32", (8, 128), ((8, 128), (0, 1))), RangeError, "tiles of 1 or more"),
        (("f32", (8, 128), ((),)), RankError, "a tile of 0 for 2 dimensions"),
        (("f32", (8,), ((8, 128),), (1,)), RankError, "a tile of 2 for 1 dimensions"),
        (("f32", (8, 128), (), (1,)), RankError, "1 strides for 2 dimensions"),
        (("f32", (8, 128), (), (1, 1, 1)), RankError, "3 strides for 2 dimensions"),
        (("f32", (8,), (), (-1,)), RangeError, r"strides \(-1,\) and offset 0"),
        (("f32", (8,), (), (1,), "", "", -1), RangeError, r"strides \(1,\) and offset -1"),
        (("f32", (8, 128), ((8, 128),), (1, 1), "", "", 1), RangeError, "no offset with tiles"),
        (("f32", (8,), (), (1,), 7), tla.LeafTypeError, "the memory space 7"),
        (("f32", (8,), (), (1,), "vmem", 7), tla.LeafTypeError, "the memory space 'vmem'"),
        (("f32", 8), tla.LeafTypeError, "dimensions of type int"),
        (("f32", (2**32, 2**32)), RangeError, "its size overflows"),
        (("f32", (2**32,), (), (2**32,)), RangeError, "its size overflows"),
        (("f32", (2**40,), ((2**24,),), (1,)), RangeError, "its size overflows"),
    ],
)
def test_values_that_are_no_memory_reference_are_refused(fields, error, says):
    with pytest.raises(error, match=says):
        xla.MemRef(*fields)


def test_memory_references_at_the_edge_are_taken():
    assert xla.MemRef("f32", (2, 3, 16, 256), ((8, 128),)).strides == (12, 4, 2, 1)
    assert xla.MemRef("f32", (2, None, 3)).strides == (0, 3, 1)
    assert xla.parse_memref("memref<8x128xf32, strided<[256, 1]>>").offset == 0
    with pytest.raises(LoweringError, match=r"as a shape of XLA"):
        xla.MemRef("f32", (8,), (), (1,), "", "", 1).shape()
    for text, at in (
        ("memref<8x128xq7>", 13),
        ("memref<8x128xf32 x>", 17),
        ("memref<8xf32, x<1>>", 14),
        ("tensor<8xf32>", 0),
    ):
        with pytest.raises(ParseError) as caught:
            xla.parse_memref(text)
        assert caught.value.position == at
    assert xla.MemRef("f32", (0,), (), (0,)).lower().shape == (0,)
    assert str(xla.MemRef("f32", (8,), ((1,),), (1,))) == "memref<8xf32, #tpu.tiled<(1),[1]>>"
    assert str(xla.MemRef("f32", (8,), (), (1,), "", "", 1)) == "memref<8xf32, strided<[1], offset: 1>>"
    for edge in (("f32", (2**62,)), ("f32", (2**62, 1, None), (), (1, 1, 1)), ("bf16", (2**52, 1), ((8, 128), (2, 1)))):
        assert xla.MemRef(*edge).dimensions == edge[1]  # of 2**62 elements
    names = {0: "hbm", 1: "vmem", 6: "smem", 3: "any"}
    assert {n: xla.to_memref(f"f32[8]{{0:S({n})}}").memory_space for n in names} == names
    assert {
        name: xla.MemRef("f32", (8,), memory_space=name).shape().effective_layout.memory_space
        for name in names.values()
    } == {
        "hbm": 0,
        "vmem": 1,
        "smem": 6,
        "any": 0,
    }


#: MLIR's names of element types, with XLA's; in kernels an integer has no sign.
MLIR = """ i1 pred i2 s2 i4 s4 i8 s8 i16 s16 i32 s32 i64 s64 si2 s2 si4 s4 si8 s8 si16 s16 si32 s32 si64 s64 ui2 u2 ui4
u4 ui8 u8 ui16 u16 ui32 u32 ui64 u64 f16 f16 bf16 bf16 f32 f32 f64 f64 f4E2M1FN f4e2m1fn f8E3M4 f8e3m4 f8E4M3 f8e4m3
f8E4M3FN f8e4m3fn f8E4M3FNUZ f8e4m3fnuz f8E4M3B11FNUZ f8e4m3b11fnuz f8E5M2 f8e5m2 f8E5M2FNUZ f8e5m2fnuz f8E8M0FNU
f8e8m0fnu""".split()


def test_names_and_widths_of_element_types_of_mlir():
    for mlir, name in zip(MLIR[::2], MLIR[1::2]):
        m = xla.parse_memref(f"memref<3x{mlir}>")
        assert m.shape().element_type == name
        assert m.bits == int("".join(c if c.isdigit() else " " for c in mlir).split()[0])
        back = xla.to_memref(f"{name}[3]{{0}}")
        assert str(back) == f"memref<3x{mlir.removeprefix('s') if mlir[:2] == 'si' else mlir}, #tpu.memory_space<hbm>>"


# ------------------------------------------------------------------------------------------------ registers


def register_oracle(v, rows, columns, i, j):
    """The register, sublane, lane and part of element (i, j) of a vector of two dimensions, as
    Mosaic's VectorLayout says."""
    (s, lane0), (t0, t1) = v.offsets, v.tiling
    packing = 32 // v.bits
    per = 8 * 128 * packing // (t0 * t1)
    i, j = i + s, j + lane0
    across = -(-(lane0 + columns) // (t1 * per))
    register = i // t0 * across + j // (t1 * per)
    tile, r, c = j % (t1 * per) // t1, i % t0, j % t1
    row = r * (t1 // 128) + c // 128  # a row of more than 128 columns is several rows of 128
    words = t0 * t1 // 128 // packing  # sublanes of a tile
    return ((register * 8 + tile * words + row // packing) * 128 + c % 128) * packing + row % packing


@pytest.mark.parametrize(
    "text",
    ["32,{0,0},(8,128)", "16,{0,0},(8,128)", "8,{0,0},(8,128)", "8,{0,0},(32,128)", "16,{0,0},(16,128)", "32,{0,0},(1,128)", "16,{0,0},(1,256)",
     "8,{0,0},(4,128)", "32,{3,0},(8,128)", "32,{0,77},(8,128)", "16,{5,130},(8,128)", "32,{0,0},(2,128)", "4,{0,0},(8,128)"],
)  # fmt: skip
def test_elements_are_where_the_register_layout_says(text):
    v = xla.parse_register_layout(text)
    assert str(v) == text
    for rows, columns in ((1, 1), (5, 130), (40, 300), (64, 1100)):
        layout = v.layout((rows, columns))
        seen = set()
        for i, j in itertools.product({0, rows // 3, rows // 2, rows - 1}, {0, 1, columns // 2, columns - 1}):
            if i < rows and 0 <= j < columns:
                assert layout(i, j) == register_oracle(v, rows, columns, i, j), (i, j)
                seen.add(layout(i, j))
        assert max(seen) < v.count((rows, columns)) * 1024 * v.packing


def test_implicit_and_replicated_dimensions_of_registers():
    assert xla.parse_register_layout("32,{0,0},(1,128),-2").count((3000,)) == 3
    assert xla.parse_register_layout("32,{*,0},(8,128)").count((64, 128)) == 1
    assert xla.parse_register_layout("32,{0,0},(8,128),-1").count((64,)) == 8  # each element a row of its own
    assert [*offsets(xla.RegisterLayout(32, (0, 0), (1, 128), -2).layout((256,)))][:3] == [0, 1, 2]
    with pytest.raises(LoweringError, match="vpad"):
        xla.parse_register_layout("32,{*,0},(8,128)").layout((8, 128))
    for bad in (
        (7,),
        (64,),
        (32, (9, 0)),
        (32, (0, 0), (8, 100)),
        (32, (0, 0), (3, 128)),
        (16, (0, 0), (8, 256)),
        (32, (0,)),
        (32, (0, 0), (8, 128), -3),
    ):
        with pytest.raises((RangeError, RankError)):
            xla.RegisterLayout(*bad)
    for text in ("", "none", "32", "32,{0,0}", "32,{0,0},(8,128),-3", "x" * 5000):
        with pytest.raises(ParseError):
            xla.parse_register_layout(text)


def test_blocks_that_are_none_are_refused():
    for bad, error in (
        (("f64", (8, 128), (8, 128)), RangeError),
        (("f31", (8, 128), (8, 128)), RangeError),
        (("f32", (8, 128), (8,)), RankError),
        (("f32", (), ()), RankError),
        (("f32", (8, 128), (0, 128)), RangeError),
        (("f32", (8, 128), "ab"), TlaError),
        (("f32", None, (8, 128)), TlaError),
        (("f32", (8, 2**62), (8, 128)), RangeError),
        (("f32", (8, 128), (8, 128), 0), RangeError),
    ):
        with pytest.raises(error):
            xla.block(*bad)


@pytest.mark.parametrize(
    ("shape", "block", "buffers"),
    [
        ((1, 16, 256), (None, 16, 256), 1),
        ((4, 16, 256), (None, 16, 256), 2),
        ((4, 16, 256), (4, 16, 256), 1),
        ((1, 32, 256), (None, 16, 256), 2),
    ],
)
def test_an_array_that_is_one_block_is_not_buffered_twice(shape, block, buffers):
    assert xla.block("f32", shape, block).buffers == buffers


@pytest.mark.parametrize("text", ["f32[128]{0:T(8,128)}", "f32[2,128]{1,0:T(4,8,128)}", "f32[8,128]{1,0:T(*,128)}"])
def test_tiles_that_no_memory_reference_has_are_refused(text):
    with pytest.raises(LoweringError, match="a first tile over dimensions that the array has"):
        xla.to_memref(text)


@pytest.mark.parametrize("text", ["f32[8]{0:#(u32}", "f32[8]{0:*(u32,}"])
def test_a_property_of_sparse_arrays_that_is_not_closed(text):
    with pytest.raises(TlaError, match=r"close the '\(' at position 10"):
        xla.parse_shape(text)
