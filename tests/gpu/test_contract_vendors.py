"""AMD's buffers and operands in LDS, Intel's 2D blocks: the fields against simulations that know the
vendors' rules alone."""

import itertools
import random
import re

import numpy as np
import pytest

from tla import (
    DivisibilityError,
    Int,
    Layout,
    LeafTypeError,
    MakeTensor,
    RangeError,
    RankError,
    TlaError,
    Unproven,
    assuming,
    dim,
    make_layout,
    offsets,
    parse,
    tile_to_shape,
)
from tla.core.element import double, float, uint8
from tla.gpu import (
    GMMA,
    BufferResource,
    SM80_16x8x16_F32F16F16F32_TN,
    atom,
    atoms,
    block_2d,
    buffer_resource,
    half,
    operand_reads,
    read_buffer_resource,
)
from tla.gpu.instructions.elements import as_element

from batches import in_batches

# --------------------------------------------------------------------------------------------------------- AMD: buffers


def buffer_load(words, index, offset):
    """The address of a byte by the ISA manual, from the four words alone."""
    bits = sum(w << 32 * i for i, w in enumerate(words))
    base, stride, swizzle = bits & (1 << 48) - 1, bits >> 48 & 0x3FFF, bits >> 63 & 1
    if not swizzle:
        return base + stride * index + offset
    group = (8, 16, 32, 64)[bits >> 117 & 3]
    return base + (index // group * stride + offset // 4 * 4) * group + index % group * 4 + offset % 4


def test_buffers_read_the_layout_that_they_are_made_of():
    """Random strides and groups: every byte of every record, and what is no buffer is refused with a true
    coordinate."""
    rng, made, refused = random.Random(4), 0, 0
    for _ in range(300):
        element = rng.choice([uint8, half, float])
        size = element.bits // 8
        each = 4 // size
        group = rng.choice([0, 8, 16, 24, 32, 64])
        records, count = rng.choice([1, 3, 8, 40, 128]), each * rng.randint(1, 5)
        stride = count + each * rng.choice([0, 0, 1, 3])
        if not group:
            layout = Layout((records, count), (stride, 1))
        else:
            groups = -(-records // group)
            layout = Layout(((group, groups), (each, count // each)), ((each, stride * group), (1, each * group)))
        image = offsets(layout)
        try:
            resource = buffer_resource(layout, element, base=0x1000)
        except DivisibilityError as why:
            at = tuple(map(int, re.search(r"\((\d+), (\d+)\) lies at byte (\d+)$", why.reason.what).groups()))
            assert image[at[:2]] * size == at[2]
            assert f"byte {at[2]}," not in why.reason.expected
            assert group == 24
            refused += 1
            continue
        made += 1
        assert read_buffer_resource(resource.words) == resource
        index, offset = np.indices(image.shape)
        assert (resource.addresses(index, offset * size) == 0x1000 + image * size).all()
        for i, j in rng.sample([*np.ndindex(*image.shape)], min(20, image.size)):
            assert buffer_load(resource.words, i, j * size) == 0x1000 + image[i, j] * size
    assert made > 200
    assert refused > 20


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: buffer_resource(parse("_64:_1"), float), RankError, "(record, element)"),
        (lambda: buffer_resource(parse("(64,16):(16,1)")), LeafTypeError, "an element type"),
        (lambda: buffer_resource(make_layout((dim("N"), 16), stride=(16, 1)), float), Unproven, "at(layout, N=128)"),
        (lambda: buffer_resource(parse("(64,16):(4096,1)"), double), RangeError, "0 to 2**14 - 1"),
        (lambda: buffer_resource(parse("(64,16):(16,1)"), as_element("float_e2m1_t")), LeafTypeError, "8 bits or more"),
        (lambda: buffer_resource(parse("(64,16):(16,1)"), float, base="a"), LeafTypeError, "a known integer"),
        (lambda: buffer_resource(parse("(64,16):(16,2)"), float), DivisibilityError, "(0, 1) lies at byte 8"),
        (lambda: buffer_resource(None, float), RankError, "two modes"),
        (lambda: BufferResource(base=1 << 48), RangeError, "0 to 2**48 - 1"),
        (lambda: BufferResource(stride=1 << 14), RangeError, "0 to 2**14 - 1"),
        (lambda: BufferResource(base=2), RangeError, "align the buffer"),
        (lambda: BufferResource(index_stride=24, stride=64), RangeError, "8, 16, 32, 64"),
        (lambda: BufferResource(index_stride=64, stride=66), RangeError, "pad records to 68 bytes"),
        (lambda: BufferResource(stride=64).addresses("x", 0), LeafTypeError, "integers"),
        (lambda: BufferResource(stride=64).addresses(-1, 0), LeafTypeError, "integers"),
        (lambda: read_buffer_resource((0, 0, 0)), RankError, "four words"),
        (lambda: read_buffer_resource((0, 0, 0, 0)), RangeError, "the fields of words"),
        (lambda: read_buffer_resource((1, 0, 0, 0x20000)), RangeError, "the fields of words"),
        (lambda: read_buffer_resource((0, 0, 0, 1 << 40)), RangeError, "the fields of words"),
    ],
)
def test_refusals_of_buffers(make, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make()


# ------------------------------------------------------------------------------------------------- AMD: operands in LDS


def banks_of(owners, image, bits, width, phases, banks):
    """Wavefronts of the first load of each lane, counted from the atom's layout: (lane, value) -> index in the tile."""
    count = width // bits
    flat = image.ravel(order="F")
    total = 0
    for phase in phases:
        words = {int(flat[int(owners(lane, v))]) * bits // 32 for lane in phase for v in range(count)}
        per_bank = [w % banks for w in words]
        total += max(per_bank.count(b) for b in set(per_bank))
    return total


def test_operands_of_mfma_from_lds():
    """Loads of 64 bits go by 16 lanes in LDS: rows of 8 halves collide, padded by 4 they do not; counted here
    from the lanes."""
    mfma = atom("v_mfma_f32_32x32x8_f16", "cdna3")
    phases = [range(k, k + 16) for k in range(0, 64, 16)]
    for row in (8, 12, 16, 20, 36):
        smem = Layout((32, 8), (row, 1))
        reads = operand_reads(mfma, "A", smem)
        assert (reads.instruction, reads.loads) == ("ds_read_b64", 1)
        assert reads.access.wavefronts == banks_of(mfma.A, offsets(smem), 16, 64, phases, 32)
    narrow = operand_reads(mfma, "A", parse("(32,8):(1,32)"))
    assert (narrow.instruction, narrow.loads) == ("ds_read_u16", 4)
    assert operand_reads(mfma, "B", parse("(32,8):(8,1)"), width=32).instruction == "ds_read_b32"
    f64 = operand_reads(
        atom("v_mfma_f64_4x4x4f64", "cdna2"), "A", parse("(4,4,4):(4,1,16)"), memory="AMD_LDS_GFX942_READ"
    )
    assert (f64.instruction, f64.loads) == ("ds_read_b64", 1)


def test_operands_of_wmma_from_lds():
    """Lanes 0 to 15 have a row of A each, and 16 to 31 the same: two loads of 128 bits by groups of 8 lanes, rows of 16
    halves collide."""
    wmma = atom("v_wmma_f32_16x16x16_f16", "rdna3")
    groups = [
        [0, 1, 2, 3, 20, 21, 22, 23],
        [4, 5, 6, 7, 16, 17, 18, 19],
        [8, 9, 10, 11, 28, 29, 30, 31],
        [12, 13, 14, 15, 24, 25, 26, 27],
    ]
    for row in (16, 20, 24, 40):
        smem = Layout((16, 16), (row, 1))
        reads = operand_reads(wmma, "A", smem, width=64)
        assert reads.instruction == "ds_load_b64"
        assert reads.access.wavefronts == banks_of(
            wmma.A, offsets(smem), 16, 64, [range(k, k + 16) for k in (0, 16)], 32
        )
    wide = operand_reads(wmma, "A", parse("(16,16):(16,1)"))
    assert (wide.instruction, wide.loads) == ("ds_load_b128", 2)
    assert wide.access.wavefronts == banks_of(wmma.A, offsets(parse("(16,16):(16,1)")), 16, 128, groups, 32)
    wave64 = atom("v_wmma_f32_16x16x16_f16", "rdna3/64")
    with pytest.raises(LeafTypeError, match="rdna3 in waves of 64 is known") as refused:
        operand_reads(wave64, "A", parse("(16,16):(16,1)"))
    memory = re.search("memory='(.*?)'", refused.value.reason.fix)[1]
    with pytest.raises(RangeError, match="a load of 256 bits") as refused:  # a memory of another machine
        operand_reads(wmma, "A", parse("(16,16):(16,1)"), memory="ASCEND_UB")
    own = re.search("memory='(.*?)'", refused.value.reason.fix)[1]
    assert operand_reads(wmma, "A", parse("(16,16):(16,1)"), memory=own) == wide
    assert operand_reads(wave64, "A", parse("(16,16):(16,1)"), memory=memory).loads == 2


def test_every_mfma_reads_a_row_major_operand():
    """Any atom of CDNA, rows of K: a lane's loads cover its values, no wider than its run along K."""
    for a in atoms(arch="cdna3"):
        m, _n, k = map(int, a.shape_mnk)
        shape = (m, k, a.blocks) if a.blocks > 1 else (m, k)
        smem = Layout(shape, (k, 1, m * k)[: len(shape)])
        reads = operand_reads(a, "A", smem)
        values = int(np.prod([int(n) for n in np.ravel([*a.A.shape[1:]])]))
        assert reads.loads * reads.access.vector == values * a.val_A.bits


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: operand_reads(None, "A", parse("(32,8):(8,1)")), LeafTypeError, "A or B of an MFMA"),
        (
            lambda: operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "C", parse("(32,8):(8,1)")),
            LeafTypeError,
            "A or B of an MFMA",
        ),
        (
            lambda: operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", parse("(32,16):(16,1)")),
            RankError,
            "a layout of (32,8)",
        ),
        (lambda: operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", None), RankError, "a layout of (32,8)"),
        (
            lambda: operand_reads(atom("v_mfma_f64_4x4x4f64", "cdna2"), "A", parse("(4,4,4):(4,1,16)")),
            LeafTypeError,
            "memory=",
        ),
        (
            lambda: operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", parse("(32,8):(8,1)"), width=256),
            RangeError,
            "256 bits",
        ),
        (
            lambda: operand_reads(atom("v_mfma_f32_32x32x8_f16", "cdna3"), "A", parse("(32,8):(8,1)"), memory="x"),
            RangeError,
            "the memory",
        ),
    ],
)
def test_refusals_of_operands(make, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make()


def test_operands_of_nvidias_warps():
    reads = operand_reads(SM80_16x8x16_F32F16F16F32_TN, "A", parse("(16,16):(16,1)"))
    assert (reads.instruction, reads.loads) == ("ld.shared.u32", 4)


# ----------------------------------------------------------------------------------------------------- Intel: 2D blocks

MATRIX = parse("(512,1024):(1024,_1)")


def registers(operation, bits, rows, columns, count):
    """(lane, value) -> (row, column) by registers that are filled in order: a block's rows (or columns), lanes taking
    16 pieces at a time."""
    held = {}
    for block in range(count):
        if operation == "read_transform":
            pack = 32 // bits
            order = [(r + i, c) for r in range(0, rows, pack) for c in range(columns) for i in range(pack)]
        elif operation == "read_transpose":
            order = [(r, c) for c in range(columns) for r in range(rows)]
        else:
            order = [(r, c) for r in range(rows) for c in range(columns)]
        piece = {"read_transform": 32 // bits, "read_transpose": 1}.get(operation, max(1, columns // 16))
        per_lane = len(order) // 16
        for at, (r, c) in enumerate(order):
            lane, value = at // piece % 16, at // (piece * 16) * piece + at % piece
            held[lane, block * per_lane + value] = (r, block * columns + c)
    return held


SHAPES = [
    *(("read", 8, r, 32, n) for r in (1, 2, 4, 8, 16, 32) for n in (1, 2)),
    *(("read", 8, r, 16, 4) for r in (8, 16, 32)),
    *(("read", 16, r, 16, n) for r in (1, 2, 4, 8, 16, 32) for n in (1, 2)),
    *(("read", 32, r, 8, n) for r in (2, 4, 8, 16, 32) for n in (1, 2)),
    *(("read", 32, r, 16, 1) for r in (1, 2, 4, 8, 16, 32)),
    *(("read_transform", 8, 32, 16, n) for n in (1, 2, 4)),
    *(("read_transform", 16, r, 16, n) for r in (16, 32) for n in (1, 2)),
    ("read_transpose", 32, 16, 8, 1),
    *(("write", bits, r, c, 1) for bits, c in ((8, 16), (8, 32), (16, 16), (32, 16)) for r in (1, 2, 4, 8)),
]
ELEMENTS = {8: uint8, 16: half, 32: float}


@in_batches(SHAPES)
def test_every_block_gives_each_lane_what_the_extension_says(shape):
    operation, bits, rows, columns, count = shape
    block = block_2d(operation, MATRIX, rows, columns, count, element=ELEMENTS[bits])
    image = offsets(block.TV).reshape(16, -1)
    wanted = registers(*shape)
    assert image.size == len(wanted) == rows * columns * count
    for (lane, value), (r, c) in wanted.items():
        assert divmod(int(image[lane, value]), rows) == (c, r)
    assert block.name == f"intel_sub_group_2d_block_{operation}_{bits}b_{rows}r{columns}x{count}c"


def test_other_shapes_are_refused():
    """Every other shape of small powers of two, for every operation and width of an element."""
    lawful = {*SHAPES, ("read_transpose", 32, 32, 8, 1), *(("read", 32, 1, 8, n) for n in (1, 2))}
    for shape in itertools.product(
        ("read", "read_transform", "read_transpose", "write"), (8, 16, 32), *[(1, 2, 4, 8, 16, 32, 64)] * 2, (1, 2, 4)
    ):
        operation, bits, rows, columns, count = shape
        if shape in lawful:
            block_2d(operation, MATRIX, rows, columns, count, element=ELEMENTS[bits])
        else:
            with pytest.raises(RangeError) as why:
                block_2d(operation, MATRIX, rows, columns, count, element=ELEMENTS[bits])
            use = re.search(r"use (\d+) rows of (\d+) columns", why.value.reason.fix)
            if use:
                assert any((operation, bits, int(use[1]), int(use[2])) == s[:4] for s in lawful)


def test_conditions_on_memory():
    n, m = dim("N", multiple_of=32, at_least=32, at_most=1 << 20), dim("M", at_least=1, at_most=1 << 20)
    block = block_2d("read", make_layout((m, n), stride=(n, Int[1]())), 8, 16, element=half)
    assert [str(x) for x in block.memory] == ["2*N", "M", "2*N"]
    open_n = dim("N", at_least=32, at_most=1 << 20)
    with assuming() as conditions:
        block_2d("read", make_layout((m, open_n), stride=(open_n, Int[1]())), 8, 16, element=half)
    assert {str(c) for c in conditions} == {"4 divides 2*N", "16 divides 2*N"}


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: block_2d("load", MATRIX, 8, 16, element=half), LeafTypeError, "one of read"),
        (lambda: block_2d("read", MATRIX, 8, 16), LeafTypeError, "an element type"),
        (lambda: block_2d("read", MATRIX, 8, 16, element=double), RangeError, "elements of 16, 32, 8 bits"),
        (lambda: block_2d("read", MATRIX, "8", 16, element=half), LeafTypeError, "a known integer"),
        (lambda: block_2d("read", parse("(512,16):(16,_1)"), 8, 16, element=half), RangeError, "64 or more"),
        (
            lambda: block_2d("read", parse("(512,33):(40,_1)"), 8, 16, element=half),
            DivisibilityError,
            "a multiple of 4",
        ),
        (
            lambda: block_2d("read", parse("(512,64):(68,_1)"), 8, 16, element=half),
            DivisibilityError,
            "pad the rows to 144 bytes",
        ),
        (lambda: block_2d("read", parse("(512,64):(32,_1)"), 8, 16, element=half), RangeError, "at least the width"),
        (lambda: block_2d("read", parse("(0,64):(64,_1)"), 8, 16, element=half), RangeError, "a height of 0 rows"),
        (
            lambda: block_2d("read", parse("(64,16777216):(16777216,_1)"), 8, 16, element=half),
            RangeError,
            "at most 2**24",
        ),
        (lambda: block_2d("read", parse("(512,64):(1,512)"), 8, 16, element=half), DivisibilityError, "read_transpose"),
        (lambda: block_2d("read", parse("(512,64,2):(64,1,32768)"), 8, 16, element=half), RankError, "a matrix"),
        (
            lambda: block_2d("read", MakeTensor(None, MATRIX, offset=8), 8, 16, element=half),
            RangeError,
            "a multiple of 64 bytes",
        ),
        (lambda: block_2d("read", None, 8, 16, element=half), RankError, "a matrix"),
        (lambda: block_2d("prefetch", MATRIX, 8, 16, element=half).TV, RangeError, "a read or a write"),
        (lambda: block_2d("read_transpose", MATRIX, 32, 8, element=float).TV, RangeError, "16 rows"),
        (lambda: block_2d("read", MATRIX, 1, 8, element=float).TV, RangeError, "lanes 8 to 15 are undefined"),
        (
            lambda: block_2d("read", tile_to_shape(GMMA.K_SW128[half], (64, 64)), 8, 16, element=half),
            RankError,
            "a matrix",
        ),
    ],
)
def test_refusals_of_blocks(make, error, says):
    with pytest.raises(error, match=re.escape(says)):
        make()
    assert issubclass(error, TlaError)
