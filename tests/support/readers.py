"""The readers of text from outside: how each is called, and texts that it reads. Whoever asks something of all readers
takes this table."""

import io
import json
from typing import NamedTuple

import tla
from tla import gpu, xla
from tla.apps.explore import grammar
from tla.linear import from_xor_strides, mosaic, triton

from truth import DATA, rows

M, N = tla.dims("M N")
HEADER = (
    "HloModule jit_f, is_scheduled=true, input_output_alias={ {1}: (1, {}, may-alias), {0}: (0, {2}, must-alias) }, "
    "buffer_donor={ (2, {}) }, "
    "entry_computation_layout={(bf16[256,128]{1,0:T(8,128)(2,1)}, f32[3]{0}, "
    "f32[3]{0})->(bf16[32,1024]{1,0:T(8,128)(2,1)}, f32[3]{0})}, "
    'num_partitions=16, frontend_attributes={arg_layout_modes="default;{0};auto",arg_memory_spaces="0;0;5"}'
)
PROGRAM = """HloModule m, is_scheduled=true, input_output_alias={ {}: (0, {}, must-alias) }, entry_computation_layout={(f32[8,128]{1,0}, s32[])->f32[8,128]{1,0}}

%body (p: (s32[], f32[8,128])) -> (s32[], f32[8,128]) {
  %p = (s32[], f32[8,128]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[8,128]{1,0} get-tuple-element(%p), index=1, metadata={op_name="jit(f)/while" source_file="f.py" source_line=3}
  %one = s32[] constant(1)
  %j = s32[] add(%i, %one)
  %y = f32[8,128]{1,0} custom-call(%x), custom_call_target="Update", output_to_operand_aliasing={{}: (0, {})}
  ROOT %t = (s32[], f32[8,128]{1,0}) tuple(%j, %y)
}

%condition (q: (s32[], f32[8,128])) -> pred[] {
  %q = (s32[], f32[8,128]{1,0}) parameter(0)
  %k = s32[] get-tuple-element(%q), index=0
  %end = s32[] constant(4)
  ROOT %less = pred[] compare(%k, %end), direction=LT
}

%inner (a: f32[8,128]) -> f32[128,8] {
  %a = f32[8,128]{1,0} parameter(0)
  ROOT %b = f32[128,8]{1,0} transpose(%a), dimensions={1,0}
}

ENTRY %main (x: f32[8,128], n: s32[]) -> f32[8,128] {
  %arg = f32[8,128]{1,0} parameter(0)
  %n = s32[] parameter(1)
  %f = f32[128,8]{1,0} fusion(%arg), kind=kLoop, calls=%inner
  %g = f32[8,128]{1,0} transpose(%f), dimensions={1,0}
  %s = (s32[], f32[8,128]{1,0}) tuple(%n, %g)
  %w = (s32[], f32[8,128]{1,0}) while(%s), condition=%condition, body=%body, backend_config={"known_trip_count":{"n":"4"}}
  ROOT %r = f32[8,128]{1,0} get-tuple-element(%w), index=1
}
"""


class Reader(NamedTuple):
    """A reader: a function of a text, and texts that it reads."""

    read: object
    texts: tuple[str, ...]


def triton_names():
    blocked = triton.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0])
    return {"mma": triton.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]), "blocked": blocked}


def module(text):
    """What is read of a whole module: its instructions, its arguments, its memory and moves, and what is said of it."""
    read = xla.read_module(io.StringIO(text))
    memory = xla.memory(io.StringIO(text))
    moves = [(str(m.source), str(m.destination), m.changes, m.times) for m in xla.relayouts(read)]
    return read, xla.entry(read), {k: (p.bytes, p.step) for k, p in memory.peak.items()}, moves, memory.warnings


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
SHARED = "#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>"
MESHES = xla.shardy_meshes('sdy.mesh @mesh = <["data"=2, "model"=8]>')

#: Every reader by its name.
READERS = {
    "peers": Reader(
        tla.parse,
        (
            "Layout((4, (2, 2)), (E(0), (2*E(1), E(1, 0) + E(2))))",
            "Layout(IntTuple(4, IntTuple(2, 2)), IntTuple(1, IntTuple(4, 8)))",
            "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1@m)] + R[2:4@warpid] + 5@warpid",
            "torch.arange(32).view(4, 8).unflatten(1, (2, 4)).permute(2, 0, 1)",
        ),
    ),
    "isl": Reader(tla.parse, ("{ [i, j] -> [8i + 4*floor((j)/4) + (j mod 4)] : 0 <= i < 4 and j >= 0 and j <= 7 }",)),
    "flydsl": Reader(
        tla.parse,
        (
            "!fly.composed_layout<32:2 o 5 o [S<1,0,2> o 2 o (4,?{div=4}):(1,8)]>",
            "!fly.memref<f16, shared, CS<3,0,[1],0,[2]> o (0,0,0) o (4,8,8):(1E0,1E1,1E2), align<16>>",
            "(4,8):(1@0+2@1,3@2)",
        ),
    ),
    "layout": Reader(
        tla.parse,
        ("((_2,4),8):((1,_16),2)", "Sw<3,4,3> o _0 o (8,_3):(24,_1)", "(4,(6,2)):(1@0,(2@1@0,1@1))", "(_4,-5,0)"),
    ),
    "sizes": Reader(
        lambda text: tla.parse(text, symbols=[M, N]),
        ("(M,ceil(N/4)):(_1,16*M)", "((M+1)//2%8^3,min(M,N-1)):(N@1,_1)", "max(M,2)"),
    ),
    "print": Reader(
        tla.parse,
        (
            "Sw<3,4,3>_smem_ptr[16b](0x7f8800000400) o ((_8,_16),(_64,_1),_3):((_64,_512),(_1,_0),_8192)",
            "Sw<3,4,3> o smem_ptr[16b](unset) o (_8,_64):(_64,_1)",
            "gmem_ptr[32b](0x7f42efc00000) o (_8,16):(_1,_8)",
            "ArithTuple(0,(4,8)) o (4,5):(_1@0,_1@1)",
            "counting_iter(42) o (4,5):(_1,4)",
            "tensor(raw_ptr(0x00007ffd51463d00: f32, rmem, align<32>) o (2,3):(1,2), data=\n       [[ 1.500000, nan, "
            "]])",
            "tensor<ptr<f16, smem, align<1024>, S<3,4,3>> o (8,64):(64,1)>",
            "tensor<(?{div=2},0) o (2,?):(1@0,1@1)>",
            "(?,?{div=16}):(?{i64 div=8},1)",
            '!cute.memref<f16, smem, align<1024>, S<3,4,3>, "(8,64):(64,1)">',
            '!cute.layout<"(8,(2,4)):(8,(1,2))">',
            "(2,(2,2)):(4,(2,1))\n      0   1   2   3\n    +---+---+---+---+\n 0  | 0 | 2 | 1 | 3 |\n    "
            "+---+---+---+---+",
        ),
    ),
    "C++ type": Reader(
        tla.parse,
        (
            "cute::Layout<cute::tuple<cute::C<4>, int>, cute::tuple<cute::C<1>, cute::C<4> > >",
            "const cute::Layout<cute::C<8>, cute::constant<int, 1>>&",
            "cute::ComposedLayout<cute::Swizzle<3, 4, 3>, cute::smem_ptr_flag_bits<16>, cute::Layout<cute::_8, "
            "cute::_1>>",
            "cute::Layout<cute::_8, cute::ScaledBasis<cute::_1, 0, 1>>",
        ),
    ),
    "xor strides": Reader(from_xor_strides, ("(4,(4,4)):(F1,(F5,F16))", "(2,2):(F1,0)")),
    "triton layout": Reader(
        lambda text: triton.from_text(text, triton_names()),
        (
            *(row["text"] for row in json.loads((DATA / "linear" / "texts.json").read_text())[::7]),
            "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>",
            "#ttg.padded_shared<[32:+4, 128:+8] {order = [1, 0], shape = [64, 64]}>",
            "#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1, twoCTAs = true>",
        ),
    ),
    "triton type": Reader(
        lambda text: triton.from_type(text, triton_names()),
        (
            f"tensor<64x64xf16, {BLOCKED}>",
            "tensor<64x64x!tt.ptr<f16, 1>, #blocked>",
            f"!ttg.memdesc<3x64x64xbf16, {SHARED}, #ttg.shared_memory, mutable, 4x64x64>",
        ),
    ),
    "mosaic layout": Reader(
        mosaic.from_text,
        (
            *(mosaic.to_text(layout) for layout in mosaic.NAMED_LAYOUTS.values()),
            "TiledLayout(tiling=Tiling(tiles=((64, 8), (16, 8), (8, 8), (2,))), warp_dims=(-7,), lane_dims=(-3, -2), "
            "vector_dim=-1)",
            "#mosaic_gpu.WGStridedFragLayout<[64, 16], 4>",
            "#mosaic_gpu.TiledLayout<[[4]], warp_dims = [#mosaic_gpu.Replicated<times = 4>], lane_dims = "
            "[#mosaic_gpu.Replicated<times = 32 : i32>], vector_dim = -1>",
        ),
    ),
    "shape": Reader(
        xla.parse_shape,
        (
            *(case["spec"] for case in rows("xla/index.json")[::5]),
            *(DATA / "hlo" / "shapes.txt").read_text().splitlines()[::5],
            "f32[2,3]{ 1,0 : D(D,D) T(2,2) L(2) E(32) S(3) SC(1:2) M(5) }",
        ),
    ),
    "shape with names": Reader(xla.lower, ("f32[M,2*N]{1,0:T(8,128)}", "bf16[ceil(M/8),128]{1,0:T(8,128)(2,1)}")),
    "proto": Reader(
        xla.from_proto,
        (
            xla.proto_text("f32[127,<=128]{1,0:T(8,128)L(2)E(32)S(3)SC(1:64)M(5)}"),
            xla.proto_text("(f32[3], (bf16[8]{0:T(256)}))"),
            "minor_to_major: [1, 0] tiles: { dimensions: [8, 128] }",
        ),
    ),
    "instruction": Reader(
        xla.parse_instruction,
        tuple(
            line
            for path in sorted((DATA / "hlo").glob("*__*.txt"))
            for line in path.read_text().split("\n")
            if " = " in line and len(line) < 500
        )[::9],
    ),
    "module": Reader(module, (PROGRAM,)),
    "header": Reader(lambda text: xla.entry(xla.read_module(io.StringIO(text))), (HEADER,)),
    "sharding": Reader(xla.parse_sharding, tuple(case["annotation"] for case in rows("xla/sharding.json")[::3])),
    "shardy": Reader(
        lambda text: xla.parse_shardy(text, MESHES),
        (
            '#sdy.sharding<@mesh, [{"data"}, {"model":(1)2, ?}], replicated={"model":(2)4}>',
            '#sdy.sharding<mesh<["a"=2, "b"=4], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>, [{"a"}p1, {?}], unreduced=max{"b"}>',
            '#sdy.sharding_per_value<[<@mesh, [{}]>, <@mesh, [{"data"}]>]>',
        ),
    ),
    "shardy meshes": Reader(
        xla.shardy_meshes,
        (
            'sdy.mesh @mesh = <["data"=2, "model"=8], device_ids=[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]>',
            'm = #sdy.mesh<["a"=2]>',
        ),
    ),
    "replica groups": Reader(
        xla.parse_replica_groups,
        (
            "{{0,2},{1,3}}",
            "[2,4]<=[4,2]T(1,0)",
            "mesh['x'=2,'y'=4], device_ids=([4,2]T(1,0)) {'x'}",
            "@mesh<a=2,b=4>, device_ids=([8]) {a}",
        ),
    ),
    "layout mode": Reader(xla.parse_layout_mode, ("default", "{0,1:T(8,128)}", "auto")),
    "memref": Reader(
        xla.parse_memref,
        (
            "memref<256x256xbf16, #tpu.tiled<(8,128)(2,1),[2,1]>, #tpu.memory_space<vmem>>",
            "memref<8x?xf32, strided<[128, 1], offset: 4>, #tpu.memory_space<smem, tc>>",
        ),
    ),
    "register layout": Reader(
        xla.parse_register_layout, ('#mosaic_tc.vpad<"32,{0,0},(1,128),-2">', "16,{*,0},(8,128)")
    ),
    "atom": Reader(
        gpu.atom,
        (
            "SM90_64x64x16_F32F16F16_SS<GMMA::Major::K,GMMA::Major::MN>",
            "UniversalCopy<uint128_t>",
            "XE_DPAS_TT<2,float,bfloat16_t,bfloat16_t,float>",
            "v_mfma_f32_16x16x2bf16",
        ),
    ),
    "page": Reader(
        lambda text: grammar.read(text).value.value,
        (
            "A = (_8,_6):(_1,_8); logical_divide(A, (_4, _2))",
            "MakeLayout[half, zN](100, 60, ld=112)",
            "auto a = composition(Swizzle<3,3,3>{}, Layout<Shape<_8,_64>,Stride<_64,_1>>{});",
            "make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (_2,_2,_1):(_1,_2,_0))",
            f"#shared = {SHARED}\n!ttg.memdesc<64x64xf16, #shared, #ttg.shared_memory>",
        ),
    ),
    "coordinates": Reader(
        lambda text: tla.codegen.emit(tla.parse("((_4,_2),_8):((_1,_32),_4)"), "c", coords=text), ("(t, j), i", "i, 3")
    ),
}
