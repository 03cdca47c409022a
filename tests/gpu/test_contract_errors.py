"""Contracts under hostile arguments: every argument in turn is of a wrong kind, size, rank or sign; only TlaErrors with
a fix come out."""

import numpy as np
import pytest

from tla import Int, Layout, MakeTensor, TlaError, dim, group, parse, tile_to_shape, zipped_divide
from tla.codegen import emit_descriptor, emit_tma
from tla.core.element import float
from tla.gpu import (
    GMMA,
    SM100_MMA_F16BF16_SS,
    BufferResource,
    Copy_Atom,
    Descriptor,
    Im2colMap,
    K,
    SM90_64x64x16_F32F16F16_SS,
    SM100_TMEM_LOAD_32dp32b4x,
    TensorMap,
    atom,
    block_2d,
    buffer_resource,
    canonical,
    contracts,
    descriptor_steps,
    half,
    instruction_descriptor,
    make_im2col_copy,
    make_tma_copy,
    make_tmem_copy,
    operand_reads,
    plain_scales,
    read_buffer_resource,
    read_descriptor,
    require_scale_strides,
    scale_factor_atom,
    scale_factor_layout,
    tile_to_mma_shape,
    tma_partition,
    tmem_address,
    tmem_allocation,
    tmem_layout,
    umma_descriptor,
    wgmma_descriptor,
)
from tla.gpu.descriptors.canonical import MODES
from tla.gpu.descriptors.descriptor import WGMMA

SMEM, GMEM = parse("(_64,_32):(_32,_1)"), parse("(512,512):(512,_1)")
TMA = make_tma_copy("SM90_TMA_LOAD", GMEM, SMEM, element=half)
TILE = parse("((_8,_8),(_8,_2)):((_8,_64),(_1,_512))")
DESCRIPTOR = wgmma_descriptor(TILE, "K", half)
C = tmem_layout(((Int[128](), Int[128]()), Int[1](), Int[1]()), float)
LOAD = Copy_Atom[SM100_TMEM_LOAD_32dp32b4x, float]
SCALES = scale_factor_layout(256, 256, 32)
MMA = SM100_MMA_F16BF16_SS[half, half, float, 128, 128, K, K]
MFMA = atom("v_mfma_f32_32x32x8_f16", "cdna3")
IMAGE = parse("((32,32,8),64):((64,2048,65536),_1)")
MAP = {
    "element": half,
    "shape": (64, 32, 8),
    "strides": (2, 128, 4096),
    "box": (64, 8, 1),
    "element_strides": (1, 2, 1),
    "swizzle": "128B",
    "interleave": "none",
    "l2_promotion": "64B",
}
IM2COL_MAP = {
    "element": half,
    "shape": (64, 16, 16, 4),
    "strides": (2, 128, 2048, 32768),
    "lower": (-1, 0),
    "upper": (-1, -2),
    "channels": 64,
    "pixels": 32,
    "element_strides": (1, 1, 2, 1),
    "swizzle": "128B",
}

#: Each function with arguments that it takes.
CALLS = [
    (canonical, (tile_to_shape(GMMA.K_SW128[half], (64, 64)), half)),
    (contracts, (tile_to_shape(GMMA.K_SW128[half], (Int[64](), Int[64]())), half)),
    (lambda tile, major, element, base: wgmma_descriptor(tile, major, element, base=base), (TILE, "K", half, 0)),
    (umma_descriptor, (TILE, K, half)),
    (read_descriptor, (DESCRIPTOR.bits, "K", WGMMA)),
    (descriptor_steps, (parse("((_64,_16),_2,_4):((_64,_1),_4096,_16)"), half)),
    (DESCRIPTOR.advanced, (2,)),
    (DESCRIPTOR.addresses, ((64, 16), half)),
    (lambda atom, a, b, s: instruction_descriptor(atom, a_negate=a, b_negate=b, saturate=s), (MMA, True, False, False)),
    (instruction_descriptor(MMA).__getitem__, ("n_dim",)),
    (lambda g, m, a, *n: Descriptor(g, m, a, *n), (WGMMA, K, MODES["SW128"], 1, 1, 64)),
    (lambda *fields: TensorMap(**dict(zip(MAP, fields))), tuple(MAP.values())),
    (lambda *fields: Im2colMap(**dict(zip(IM2COL_MAP, fields))), tuple(IM2COL_MAP.values())),
    (TensorMap(**MAP).offsets, ((0, 0, 0), 1024)),
    (Im2colMap(**IM2COL_MAP).offsets, ((0, -1, 0, 0), (0, 1), 1024)),
    (
        lambda g, s, f, low, high, step, gap, e, l2: make_im2col_copy(
            g, s, f, lower_padding=low, upper_padding=high, stride=step, dilation=gap, element=e, l2_promotion=l2
        ),
        (IMAGE, GMMA.K_SW128[half], (3, 3), (1, 1), (1, 1), (2, 1), (1, 1), half, "64B"),
    ),
    (make_im2col_copy(IMAGE, GMMA.K_SW128[half], (3, 3), element=half).boxes, (1, (0, 1, 1))),
    (
        lambda a, o, s, m, w: operand_reads(a, o, s, memory=m, width=w),
        (MFMA, "A", parse("(32,8):(8,1)"), "AMD_LDS_GFX942_READ", 64),
    ),
    (lambda x, e, b: buffer_resource(x, e, base=b), (parse("(64,16):(16,1)"), float, 256)),
    (BufferResource, (256, 64, 128, 32)),
    (BufferResource(256, 64, 128, 32).addresses, (3, 4)),
    (read_buffer_resource, (BufferResource(256, 64, 128, 32).words,)),
    (lambda o, g, r, c, n, e: block_2d(o, g, r, c, n, element=e), ("read", GMEM, 8, 16, 2, half)),
    (scale_factor_atom, (32, "cdna4")),
    (
        lambda *a: make_tma_copy(*a[:5], element=a[5], l2_promotion=a[6]),
        ("SM90_TMA_LOAD_MULTICAST", GMEM, SMEM, (64, 32), 2, half, "64B"),
    ),
    (TMA.partition_S, (TMA.tma_tensor, 0)),
    (tma_partition, (TMA, group[0, 2](SMEM), zipped_divide(TMA.tma_tensor, (Int[64](), Int[32]())))),
    (
        lambda s, e, n, b, a: tmem_layout(s, e, sms=n, storage=b, allocation=a),
        (((Int[64](), Int[64]()), Int[1]()), float, 1, 32, "Interleaved"),
    ),
    (tmem_address, (3, half)),
    (tmem_allocation, (64,)),
    (make_tmem_copy, (SM100_TMEM_LOAD_32dp32b4x, C[0], float)),
    (make_tmem_copy, (LOAD, C[0])),
    (scale_factor_layout, (128, 128, 32, "sm100")),
    (plain_scales, (128, 128, 32, "cdna4")),
    (require_scale_strides, (SCALES, 32, "sm100")),
    (tile_to_mma_shape, (GMMA.K_SW128[half], ((Int[64](), Int[16]()), 1, 4))),
    (lambda element: GMMA.K_SW128[element], (half,)),
    (lambda d, name, base: emit_descriptor(d, name=name, base=base), (DESCRIPTOR, "d", "dynamic")),
    (emit_tma, (TMA, "triton")),
]
N = dim("N")
HOSTILE = [
    None,
    True,
    0,
    1,
    -1,
    7,
    1 << 70,
    1.5,
    np.nan,
    2j,
    "",
    "K",
    "x" * 5000,
    b"",
    [],
    {},
    (),
    (1, 2),
    ((1, 2), 3),
    N,
]
HOSTILE += [
    *map(
        parse,
        (
            "_64:_1",
            "(_64,_16):(_16,_1)",
            "(_64,_16):(_-16,_1)",
            "(_60,_17):(_17,_1)",
            "(64,16):(16,1)",
            "(_0,_16):(_16,_1)",
        ),
    )
]
HOSTILE += [
    *map(
        parse,
        ("(_64,_16,_2):(_16,_1,_1024)", "(_64,_16):(_1@0,_1@1)", "(_1099511627776,_16):(_16,_1)", "(_64,_16):(_0,_0)"),
    )
]
HOSTILE += [
    Layout((N, 16), (16, 1)),
    Layout((64, 16), (N, 1)),
    tile_to_shape(GMMA.K_SW64[half], (Int[64](), Int[64]())),
]
HOSTILE += [
    MakeTensor(np.zeros(1024, np.float16), parse("(_64,_16):(_16,_1)")),
    MakeTensor(None, SMEM, offset=N),
    DESCRIPTOR,
    TMA,
    LOAD,
]
HOSTILE += [
    GMMA,
    GMMA.K_SW128,
    SM100_MMA_F16BF16_SS,
    SM90_64x64x16_F32F16F16_SS,
    K,
    half,
    Int[4](),
    np.int64(5),
    np.zeros(3),
    print,
    object(),
]


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_integers_of_numpy_are_the_numbers_that_they_hold(kind):
    """Never what fits into their bits: a stride of 16 bits was shifted out of its word."""
    changed = 0
    for call, arguments in CALLS:
        for i, x in enumerate(arguments):
            if type(x) is not int or kind(x % 128) != x:
                continue
            try:
                found = call(*arguments[:i], kind(x), *arguments[i + 1 :])
            except TlaError:
                continue
            wanted = call(*arguments)
            assert str(found) == str(wanted)
            assert not isinstance(wanted, (Descriptor, BufferResource)) or int_of(found) == int_of(wanted)
            changed += 1
    assert changed > 10


def int_of(found):
    return int(found) if isinstance(found, Descriptor) else found.words


@pytest.mark.parametrize(
    ("call", "arguments"), CALLS, ids=[getattr(f, "__name__", "") + str(i) for i, (f, _arguments) in enumerate(CALLS)]
)
def test_hostile_arguments(call, arguments):
    call(*arguments)
    refused = 0
    for i in range(len(arguments)):
        for hostile in HOSTILE:
            try:
                call(*arguments[:i], hostile, *arguments[i + 1 :])
            except TlaError as error:
                refused += 1
                assert all((error.reason.what, error.reason.expected, error.reason.fix)), error
    assert refused > 10
