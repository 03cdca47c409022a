"""Kernels of CATLASS's examples, run on a host by a stand-in for AscendC: what each core issues, as lines of JSON.

CATLASS_INCLUDE names the folder `include` of CATLASS; the host stubs of its unit tests lie beside it. clang++ compiles,
as the kernels specialise members inside of classes. What is compiled here is written from the documents: the types that
an example names, and its arguments.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

HERE = Path(__file__).parent
#: Where the tensors of a kernel lie.
ADDRESSES = {
    "A": 0x1 << 40,
    "B": 0x2 << 40,
    "C": 0x3 << 40,
    "Bias": 0x4 << 40,
    "W": 0x5 << 40,
    "ScaleA": 0x6 << 40,
    "ScaleB": 0x7 << 40,
}


@dataclass(frozen=True)
class Example:
    """An example: its number and name, what is compiled, and what its tensors are.

    kernel    the header of the kernel;  code   the body of main: m, n, k, cores are there, and pointers A, B, C, ...
    a, b, c   (element, tag) of each;  more   what else: "bias", "splitk"
    """

    name: str
    arch: str
    kernel: str
    code: str
    a: tuple = ("half", "RowMajor")
    b: tuple = ("half", "RowMajor")
    c: tuple = ("half", "RowMajor")
    l1: tuple = (128, 256, 256)
    l0: tuple = (128, 256, 64)
    swizzle: str = "GemmIdentityBlockSwizzle[3, 0]"
    more: dict = field(default_factory=dict)


CPP = {
    "half": "half",
    "float": "float",
    "bf16": "bfloat16_t",
    "int8": "int8_t",
    "int32": "int32_t",
    "fp8_e4m3": "float8_e4m3_t",
    "fp4_e2m1": "float4_e2m1x2_t",
}


def types(e):
    """The element types and tags of an example, in C++."""
    parts = [("A", e.a), ("B", e.b), ("C", e.c)]
    return " ".join(f"using E{n} = {CPP[element]}; using L{n} = layout::{tag};" for n, (element, tag) in parts)


def shapes(e, kind):
    if kind == "tla":
        return "".join(
            f" using {n} = tla::Shape<{', '.join(f'tla::Int<{x}>' for x in s)}>;"
            for n, s in (("L1", e.l1), ("L0", e.l0))
        )
    return "".join(f" using {n} = GemmShape<{', '.join(map(str, s))}>;" for n, s in (("L1", e.l1), ("L0", e.l0)))


OLD = """using AType = Gemm::GemmType<EA, LA>; using BType = Gemm::GemmType<EB, LB>; using CType = Gemm::GemmType<EC, LC>;
using BlockMmad = Gemm::Block::BlockMmad<%(policy)s, L1, L0, AType, BType, CType%(bias)s>;
using Kernel = Gemm::Kernel::%(kernel)s<BlockMmad, void, %(scheduler)s%(last)s>;
"""
NEW = """auto layoutA = tla::MakeLayout<EA, LA>(m, k); auto layoutB = tla::MakeLayout<EB, LB>(k, n); auto layoutC = tla::MakeLayout<EC, LC>(m, n);
using TileCopy = Gemm::Tile::PackedTileCopyTla<ArchTag, EA, LA, EB, LB, EC, LC%(bias)s>;
using BlockMmad = Gemm::Block::BlockMmadTla<%(policy)s, L1, L0, EA, EB, EC, %(element_bias)s, TileCopy>;
using Kernel = Gemm::Kernel::%(kernel)s<BlockMmad, void, %(scheduler)s%(last)s>;
"""
RUN = (
    "Kernel::Arguments arguments{%s}; auto params = Kernel::ToUnderlyingArguments(arguments, W); Kernel kernel; "
    "run(kernel, params);"
)
RUN_PARAMS = "Kernel::Params params{%s}; Kernel kernel; run(kernel, params);"


def old(policy, kernel, arguments, scheduler="Gemm::Block::GemmIdentityBlockSwizzle<3, 0>", bias="", last="", run=RUN):
    made = OLD % {"policy": policy, "kernel": kernel, "scheduler": scheduler, "bias": bias, "last": last}
    return made + run % arguments


def new(
    policy,
    kernel,
    arguments,
    scheduler="Gemm::Block::GemmIdentityBlockSwizzle<3, 0>",
    bias="",
    element_bias="void",
    last="",
    run=RUN,
):
    made = NEW % {
        "policy": policy,
        "kernel": kernel,
        "scheduler": scheduler,
        "bias": bias,
        "element_bias": element_bias,
        "last": last,
    }
    return made + run % arguments


SPARSE = """struct Problem { uint32_t m, n, k, b; };
auto layoutA = tla::MakeLayout<EA, LA>(m, k); auto layoutB = tla::MakeLayout<EB, LB>(k / 2, n); auto layoutC = tla::MakeLayout<EC, LC>(m, n);
using TileCopy = Gemm::Tile::SparseTileCopyTla<ArchTag, EA, LA, EB, LB, EC, LC>;
using BlockMmadTla = Gemm::Block::BlockMmadSparseTla<Gemm::SparseMatmulMultiBlockOnKAxis<ArchTag, false>, L1, L0, EA, EB, EC, void, TileCopy>;
using Scheduler = Gemm::Block::BlockSchedulerIterateK<Problem, L1, L0>;
using Kernel = Gemm::Kernel::KernelSparseMatmul<Problem, BlockMmadTla, void, Scheduler>;
Kernel::Params params; params.problemShape = Problem{m, n, k, 1}; params.schedulerParams = {int64_t(cores)};
params.mmadParams = {A, B, C, nullptr, W, layoutA, layoutB, layoutC}; Kernel kernel; kernel(params);"""
#: Matrices one behind another, each of them whole.
BATCHED = """auto one = tla::Int<1>{};
auto layoutA = tla::MakeLayout(tla::MakeShape(batch, m, k), tla::MakeStride(int64_t(m) * k, int64_t(k), one));
auto layoutB = tla::MakeLayout(tla::MakeShape(batch, k, n), tla::MakeStride(int64_t(k) * n, int64_t(n), one));
auto layoutC = tla::MakeLayout(tla::MakeShape(batch, m, n), tla::MakeStride(int64_t(m) * n, int64_t(n), one));
using TileCopy = Gemm::Tile::PackedTileCopyTla<ArchTag, EA, LA, EB, LB, EC, LC>;
using BlockMmad = Gemm::Block::BlockMmadTla<Gemm::MmadPingpongTlaV2<ArchTag, true>, L1, L0, EA, EB, EC, void, TileCopy>;
using Kernel = Gemm::Kernel::StridedBatchedMatmulTla<BlockMmad, void, Gemm::Block::GemmIdentityBlockSwizzle<3, 0>>;
"""
#: A matrix product whose matrices may be padded before: here none is.
OPTIMIZED = """using AType = Gemm::GemmType<EA, LA>; using BType = Gemm::GemmType<EB, LB>; using CType = Gemm::GemmType<EC, LC>;
using TileCopy = Gemm::Tile::%s<ArchTag, AType, BType, CType>;
using BlockMmad = Gemm::Block::BlockMmad<Gemm::MmadAtlasA2Preload<true, true>, L1, L0, AType, BType, CType, void, TileCopy>;
using Kernel = Gemm::Kernel::OptimizedMatmul<void, void, BlockMmad, void, Gemm::Block::GemmIdentityBlockSwizzle<3, 0>>;
"""
OPTIMIZED_TLA = """LA tagA = LA::MakeLayout<EA>(m, k); LB tagB = LB::MakeLayout<EB>(k, n); LC tagC = LC::MakeLayout<EC>(m, n);
auto layoutA = tla::MakeLayoutFromTag(tagA); auto layoutB = tla::MakeLayoutFromTag(tagB); auto layoutC = tla::MakeLayoutFromTag(tagC);
auto layoutWA = tla::MakeLayout(layoutA.shape(), layoutA.stride()); auto layoutWB = tla::MakeLayout(layoutB.shape(), layoutB.stride());
using Zero = tla::Coord<tla::_0, tla::_0>;
using TensorWA = tla::Tensor<AscendC::GlobalTensor<EA>, decltype(layoutWA), Zero, AscendC::TPosition::GM>;
using TensorWB = tla::Tensor<AscendC::GlobalTensor<EB>, decltype(layoutWB), Zero, AscendC::TPosition::GM>;
using TensorC = tla::Tensor<AscendC::GlobalTensor<EC>, decltype(layoutC), Zero, AscendC::TPosition::GM>;
using TileCopy = Gemm::Tile::PaddingPackedTileCopyTla<ArchTag, TensorWA, LA, TensorWB, LB, TensorC, LC, void, void, false, false>;
using BlockMmad = Gemm::Block::BlockMmadTla<Gemm::MmadAtlasA2Preload<true, true>, L1, L0, TensorWA, TensorWB, TensorC, void, TileCopy>;
using Kernel = Gemm::Kernel::OptimizedMatmulTla<BlockMmad, void, Gemm::Block::GemmIdentityBlockSwizzle<3, 0>, void, void>;
"""
SHAPE = "GemmCoord{m, n, k}"
#: Example 43's tiles, of float.
WORDS = dict.fromkeys("abc", ("float", "RowMajor")) | {"l1": (256, 256, 128), "l0": (256, 256, 32)}
ABC, TLA_ABC = f"{SHAPE}, A, B, C", f"{SHAPE}, A, layoutA, B, layoutB, C, layoutC"
COL, NZ = ("half", "ColumnMajor"), ("half", "zN")
PINGPONG_950 = "Gemm::MmadPingpong<Arch::Ascend950, true, false>"
ASYNC = "Gemm::MmadAtlasA2PreloadAsync<1, 2, 4, 2, 1, true, true>"

EXAMPLES = {
    e.name.split("_")[0]: e
    for e in (
        Example("00_basic_matmul", "AtlasA2", "basic_matmul", old("Gemm::MmadAtlasA2Pingpong<true>", "BasicMatmul", ABC)),
        Example("01_batched_matmul", "AtlasA2", "batched_matmul", old("Gemm::MmadAtlasA2Pingpong<true>", "BatchedMatmul", f"batch, {ABC}"), more={"batch": 3}),
        Example("02_grouped_matmul_slice_m", "AtlasA2", "grouped_matmul_slice_m",
            old(ASYNC, "GroupedMatmulSliceM", f"{SHAPE}, groups, list, A, B, C", "Gemm::Block::GemmIdentityBlockSwizzle<3, 1>", last=", int64_t"), b=COL, more={"slice": "m"}),
        Example("05_grouped_matmul_slice_k", "AtlasA2", "grouped_matmul_slice_k",
            old(ASYNC, "GroupedMatmulSliceK", f"{SHAPE}, groups, list, A, B, C", "Gemm::Block::GemmIdentityBlockSwizzle<3, 1>", last=", int64_t"), a=COL, more={"slice": "k"}),
        Example("06_optimized_matmul", "AtlasA2", "optimized_matmul", OPTIMIZED % "TileCopy" + RUN % ABC, b=COL, l1=(256, 128, 256), l0=(256, 128, 64)),
        Example("14_optimized_matmul_tla", "AtlasA2", "optimized_matmul_tla",
            OPTIMIZED_TLA + RUN % f"{TLA_ABC}, A, layoutWA, B, layoutWB", b=COL),
        Example("22_padding_splitk_matmul", "AtlasA2", "padding_splitk_matmul",
            old("Gemm::MmadAtlasA2Pingpong<true>", "PaddingSplitkMatmul", f"{SHAPE}, cores, 256, false, false, sizeof(float), A, B, C",
                "Gemm::Block::SplitkGemmIdentityBlockSwizzle<3, 0>", last=", Catlass::Gemm::Kernel::SplitkReduceAdd<ArchTag, float, half, 1, 49152>"),
            b=COL, c=("float", "RowMajor"), more={"splitk": True}),
        Example("26_matmul_relu", "AtlasA2", "optimized_matmul", OPTIMIZED % "ReluTileCopy" + RUN % ABC, b=COL, l1=(256, 128, 256), l0=(256, 128, 64)),
        Example("09_splitk_matmul", "AtlasA2", "splitk_matmul",
            old("Gemm::MmadAtlasA2Pingpong<true>", "SplitkMatmul", f"{SHAPE}, cores, sizeof(float), A, B, C", "Gemm::Block::SplitkGemmIdentityBlockSwizzle<3, 0>",
                last=", Gemm::Kernel::SplitkReduceAdd<ArchTag, float, half, 1, 49152>"), b=COL, c=("float", "RowMajor"), more={"splitk": True}),
        Example("13_basic_matmul_tla", "AtlasA2", "basic_matmul_tla", new("Gemm::MmadPingpong<ArchTag, true, false>", "BasicMatmulTla", TLA_ABC)),
        Example("20_matmul_bias", "AtlasA2", "matmul_bias",
            old("Gemm::MmadAtlasA2PingpongBias<true>", "MatmulBias", f"{ABC}, Bias", bias=", Gemm::GemmType<half, layout::VectorLayout>"), more={"bias": "half"}),
        Example("21_basic_matmul_preload_zN", "AtlasA2", "basic_matmul_preload", old("Gemm::MmadAtlasA2Preload<true, true>", "BasicMatmulPreload", ABC), b=NZ),
        Example("25_matmul_full_loadA", "AtlasA2", "matmul_full_loadA", old("Gemm::MmadAtlasA2FullLoadA<true>", "MatmulFullLoadA", ABC)),
        Example("31_small_matmul", "AtlasA2", "small_matmul",
            old("Gemm::MmadAtlasA2Small<2, true, false>", "SmallMatmul", f"{SHAPE}, A, LA::MakeLayout<EA>(m, k), B, LB::MakeLayout<EB>(k, n), C, LC::MakeLayout<EC>(m, n)", run=RUN_PARAMS),
            l1=(128, 128, 128), l0=(128, 128, 64)),
        Example("37_streamk_matmul", "AtlasA2", "streamk_matmul",
            old("Gemm::MmadAtlasA2Streamk<true, true>", "StreamkMatmul", f"{SHAPE}, cores, A, B, C", "Gemm::Block::StreamkGemmIdentityBlockSwizzle<3, 0>",
                last=", Gemm::Kernel::StreamkReduceAdd<ArchTag, Gemm::Block::StreamkGemmIdentityBlockSwizzle<3, 0>, float, half, 49152>"), more={"streamk": True}),
        Example("41_sparse_matmul_tla", "AtlasA2", "sparse_matmul_tla", SPARSE, a=("int8", "RowMajor"), b=("int8", "ColumnMajor"), c=("int32", "RowMajor"),
            l1=(128, 256, 128), l0=(128, 256, 64), more={"sparse": True}),
        Example("45_strided_batched_matmul_tla", "AtlasA2", "strided_batched_matmul_tla",
            BATCHED + RUN % f"batch, {SHAPE}, A, layoutA, B, layoutB, C, layoutC", more={"batch": 3}),
        Example("43_ascend950_basic_matmul", "Ascend950", "basic_matmul_tla", new(PINGPONG_950, "BasicMatmulTla", TLA_ABC),
            l1=(256, 256, 128), l0=(256, 256, 64)),
        Example("73_ascend950_matmul_full_loadA", "Ascend950", "matmul_full_loadA_tla",
            new("Gemm::MmadAscend950FullLoadA<ArchTag, true, false, 1, false, 1, 2, 2, 2>", "MatmulFullLoadATla", TLA_ABC), l1=(256, 256, 128), l0=(256, 256, 32)),
        Example("60_ascend950_grouped_matmul_slice_m", "Ascend950", "grouped_matmul_slice_m_tla",
            new(PINGPONG_950, "GroupedMatmulSliceMTla", f"{SHAPE}, groups, list, A, layoutA, B, layoutB, C, layoutC", last=", int64_t"),
            l1=(256, 256, 128), l0=(256, 256, 64), more={"slice": "m"}),
        Example("66_ascend950_streamk_matmul", "Ascend950", "streamk_matmul_tla",
            new(PINGPONG_950, "StreamkMatmulTla", f"{TLA_ABC}, cores, nullptr", "Gemm::Block::StreamkGemmIdentityBlockSwizzle<3, 0>"),
            **WORDS, more={"streamk": True}),
        Example("67_ascend950_batched_matmul", "Ascend950", "batched_matmul_tla",
            new(PINGPONG_950, "BatchedMatmulTla", f"batch, {SHAPE}, A, layoutA, B, layoutB, C, layoutC"), **WORDS, more={"batch": 3}),
        Example("69_ascend950_tail_multi_core_splitk_matmul", "Ascend950", "tail_multi_core_splitk_matmul_tla",
            new(PINGPONG_950, "TailMultiCoreSplitkMatmulTla", f"{TLA_ABC}, cores, nullptr", "Gemm::Block::TailSplitkGemmIdentityBlockSwizzle<3, 0>"), **WORDS),
        Example("68_ascend950_multi_core_splitk_matmul", "Ascend950", "multi_core_splitk_matmul_tla",
            new(PINGPONG_950, "MultiCoreSplitkMatmulTla", f"{TLA_ABC}, cores", "Gemm::Block::SplitkGemmIdentityBlockSwizzle<3, 0>"),
            a=("float", "RowMajor"), b=("float", "RowMajor"), c=("float", "RowMajor"), l1=(256, 256, 128), l0=(256, 256, 32), more={"splitk": True}),
    )
}  # fmt: skip

MAIN = """
#include "kernel_operator.h"
#include "catlass/catlass.hpp"
%(first)s
#include "catlass/arch/arch.hpp"
#include "catlass/gemm/block/block_mmad.hpp"
#include "catlass/gemm/block/block_swizzle.hpp"
#include "catlass/gemm/dispatch_policy.hpp"
#include "catlass/gemm/gemm_type.hpp"
#include "catlass/layout/layout.hpp"
#include "tla/layout.hpp"
#include "tla/tensor.hpp"
using namespace Catlass;
template <class K, class P> void run(K& kernel, P const& params)
{
    if constexpr (requires { kernel.template operator()<AscendC::AIC>(params); }) kernel.template operator()<AscendC::AIC>(params);
    else kernel(params);
}
int main(int argc, char** argv)
{
    uint32_t m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    uint32_t core = atoi(argv[4]), cores = atoi(argv[5]), batch = atoi(argv[6]), groups = argc - 7;
    tla_log::block_index() = core;
    tla_log::block_count() = cores;
    int64_t ends[64];
    for (uint32_t i = 0; i < groups; ++i) ends[i] = atoi(argv[7 + i]);
    uint8_t* list = reinterpret_cast<uint8_t*>(ends);
    %(addresses)s
    using ArchTag = Arch::%(arch)s;
    %(types)s
    %(code)s
}
"""


#: Example 24: a convolution of three axes, of one core. Its arguments are batch, depth, blocks of channels, height and width;
#: depth, height, width and number of the filters; strides, dilations and borders. What it asks of AscendC and the stubs lack
#: is here.
CONVOLUTION = """
#define half half_of_stubs
#define InitConstValueParams InitConstValueParams_of_stubs
#include "kernel_operator.h"
#undef half
#undef InitConstValueParams
struct half { uint16_t _; half() = default; half(int n) : _(n) {} };
namespace AscendC {
struct FixpipeParams : FixpipeParamsV220 {
    using FixpipeParamsV220::FixpipeParamsV220;
    FixpipeParams(uint32_t n, uint32_t m, uint32_t src, uint32_t dst, bool relu) { nSize = n; mSize = m; srcStride = src; dstStride = dst; reluEn = relu; }
};
template <typename T> struct InitConstValueParams {
    uint16_t repeatTimes = 0, blockNum = 0, dstGap = 0; T initValue = 0;
    InitConstValueParams() = default;
    InitConstValueParams(uint16_t n, uint16_t blocks, uint16_t gap, T value) : repeatTimes(n), blockNum(blocks), dstGap(gap), initValue(value) {}
};
template <typename T> void InitConstValue(const LocalTensor<T>& dst, const InitConstValueParams<T>& p)
{ ASCENDC_LOG_CALL_T(InitConstValue, std::vector<Arg>{Arg::MakeArg<T>()}, (std::vector<Arg>{dst, p})); }
}
#define FixpipeParamsV220 FixpipeParams
#include "catlass/catlass.hpp"
#include "catlass/conv/kernel/conv3d_bias.hpp"
#include "catlass/arch/arch.hpp"
#include "catlass/conv/block/block_conv.hpp"
#include "catlass/conv/block/block_swizzle.hpp"
#include "catlass/conv/dispatch_policy.hpp"
#include "catlass/gemm/gemm_type.hpp"
#include "catlass/layout/layout.hpp"
using namespace Catlass;
int main(int argc, char** argv)
{
    uint32_t v[24]; for (int i = 1; i < argc; ++i) v[i - 1] = atoi(argv[i]);
    tla_log::block_index() = 0; tla_log::block_count() = 1;
    uint32_t fmap[] = {v[0], v[1], v[2], v[3], v[4], 16}, filter[] = {v[5], v[6], v[7], v[8]};
    auto problem = Conv3dParams::MakeConvCoord(fmap, filter, v + 15, v + 9, v + 12);
    using ArchTag = Arch::AtlasA2;
    using DispatchPolicy = Conv::ConvAtlasA2Pingpong<1, 1, 2, 2, 1, true>;
    using Image = Gemm::GemmType<half, layout::NDC1HWC0>;
    using BlockConv = Conv::Block::BlockConv<DispatchPolicy, ConvCoreShape<2, 2, 2, 2>, ConvFmapL1Shape<16, 1, 1>, ConvFilterL1Shape<1, 1, 16>, ConvL0Shape<16, 16, 16>,
        Image, Gemm::GemmType<half, layout::KDC1KHKWN1N0C0>, Image, Gemm::GemmType<half, layout::VectorLayout>>;
    using Kernel = Conv::Kernel::ConvBias<BlockConv, void, Conv::Block::Conv3dIdentityBlockSwizzle<3, 0>>;
    auto at = [](uint64_t n) { return reinterpret_cast<uint8_t*>(n << 40); };
    auto params = Kernel::ToUnderlyingArguments(Kernel::Arguments{problem, at(1), at(2), at(3), at(4)}, nullptr);
    Kernel kernel; kernel.template operator()<AscendC::AIC>(params);
}
"""


#: The product of example 38, whose columns have a scale each, as its BlockMmad computes it: its kernel's constructor is
#: none of C++20. On a host CATLASS takes int4b_t for 8 bits: here it has 4, as on a device. Its arguments are m, n and k.
CHANNELS = """
#include "kernel_operator.h"
#include "catlass/catlass.hpp"
#include "catlass/numeric_size.hpp"
namespace Catlass { template <> struct SizeOfBits<AscendC::int4b_t> { static constexpr size_t value = 4; }; }
#include "catlass/arch/arch.hpp"
#include "catlass/gemm/gemm_type.hpp"
#include "catlass/gemm/dispatch_policy.hpp"
#include "catlass/layout/layout.hpp"
#include "catlass/gemm/block/block_mmad.hpp"
using namespace Catlass;
int main(int argc, char** argv)
{
    uint32_t m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]);
    tla_log::block_index() = 0; tla_log::block_count() = 1;
    using ArchTag = Arch::AtlasA2; using E = AscendC::int4b_t; using LA = layout::RowMajor; using LB = layout::nZ;
    using Policy = Gemm::MmadAtlasA2W4A4MatmulPerTokenPerChannelDequant<1, 2, 2, 2, 1, false, false>;
    using A = Gemm::GemmType<E, LA>; using B = Gemm::GemmType<E, LB>; using C = Gemm::GemmType<half, layout::RowMajor>;
    using Tile = Gemm::Tile::QuantTileCopy<ArchTag, A, B, C, void, Gemm::Tile::ScaleGranularity::PER_CHANNEL>;
    using BlockMmad = Gemm::Block::BlockMmad<Policy, GemmShape<128, 256, 1024>, GemmShape<128, 256, 256>, A, B, C, void, Tile>;
    Arch::Resource<ArchTag> resource; BlockMmad blockMmad(resource);
    AscendC::GlobalTensor<E> a, b; AscendC::GlobalTensor<half> c; AscendC::GlobalTensor<uint64_t> scale;
    a.SetGlobalBuffer(reinterpret_cast<E*>(1ull << 40)); b.SetGlobalBuffer(reinterpret_cast<E*>(2ull << 40));
    c.SetGlobalBuffer(reinterpret_cast<half*>(3ull << 40)); scale.SetGlobalBuffer(reinterpret_cast<uint64_t*>(4ull << 40));
    LA la(m, k); auto lb = LB::MakeLayout<E>(k, n); layout::RowMajor lc(m, n); layout::VectorLayout ls(n);
    for (uint32_t i = 0; i < m; i += 128)
        for (uint32_t j = 0; j < n; j += 256)
            blockMmad(scale[j], ls, a[la.GetOffset(MakeCoord(i, 0u))], la, b[lb.GetOffset(MakeCoord(0u, j))], lb,
                      c[lc.GetOffset(MakeCoord(i, j))], lc, GemmCoord{std::min(128u, m - i), std::min(256u, n - j), k}, Callback{}, Callback{});
    blockMmad.SynchronizeBlock();
}
"""

#: What vector cores do before and after a product: rows copied into fractals (example 06), or transposed into these, into
#: rows farther apart, into blocks of 16 by 32; slices of k added (example 09); rows of 24 by 64 scaled each by its own number, as the per-token dequantisation of
#: example 10 does, and their sums. Their arguments are rows and columns, or elements and slices.
VECTOR = """
#define half half_of_stubs
#include "kernel_operator.h"
#undef half
struct half { uint16_t _; half() = default; half(int n) : _(n) {} };
#include "catlass/catlass.hpp"
#include "catlass/arch/arch.hpp"
#include "catlass/layout/layout.hpp"
#include "catlass/gemm/kernel/padding_matmul.hpp"
#include "catlass/gemm/kernel/splitk_matmul.hpp"
#include "catlass/gemm/gemm_type.hpp"
#include "catlass/epilogue/tile/tile_broadcast_one_blk.hpp"
#include "catlass/epilogue/tile/tile_broadcast_mul.hpp"
using namespace Catlass;
void scaled(AscendC::GlobalTensor<float> sums, AscendC::GlobalTensor<float> a, AscendC::GlobalTensor<float> scales)
{
    using Shape = MatrixShape<24, 64>; using Type = Gemm::GemmType<float, layout::RowMajor>;
    auto ub = [](uint32_t at) { AscendC::LocalTensor<float> t; t.address_.position = 9; t.address_.address = at; return t; };
    auto x = ub(0), each = ub(24 * 64 * 4), block = ub(24 * 64 * 4 + 128), sum = ub(24 * 64 * 4 + 1024);
    AscendC::DataCopy(x, a, 24 * 64);
    AscendC::DataCopy(each, scales, 24);
    AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0); AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
    Epilogue::Tile::TileBroadcastOneBlk<Arch::AtlasA2, Type, 24>()(block, each);
    AscendC::PipeBarrier<PIPE_V>();
    Epilogue::Tile::TileOneBlkColumnBroadcastMul<Arch::AtlasA2, Type, Shape>()(x, x, block);
    AscendC::PipeBarrier<PIPE_V>();
    AscendC::WholeReduceSum<float>(sum, x, 64, 24, 1, 1, 8);
    AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0); AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    AscendC::DataCopy(sums, sum, 24);
}
int main(int argc, char** argv)
{
    uint32_t rows = atoi(argv[2]), columns = atoi(argv[3]);
    tla_log::block_index() = 0; tla_log::block_count() = 1;
    using ArchTag = Arch::AtlasA2; using Row = layout::RowMajor;
    Arch::Resource<ArchTag> resource;
    AscendC::GlobalTensor<half> a, b; AscendC::GlobalTensor<float> w;
    a.SetGlobalBuffer(reinterpret_cast<half*>(1ull << 40)); b.SetGlobalBuffer(reinterpret_cast<half*>(2ull << 40));
    w.SetGlobalBuffer(reinterpret_cast<float*>(3ull << 40));
    if (argv[1] == std::string("PaddingMatrixNZ")) {
        using Padding = Gemm::Kernel::PaddingMatrixNZ<ArchTag, half, Row, layout::zN, 1024>;
        Row in(rows, columns); Padding padding(resource); padding(b, a, Padding::GetWorkspaceLayout(in), in);
    } else if (argv[1] == std::string("VnchwND2NZ")) {  // more than 1024 rows, without gaps
        using Padding = Gemm::Kernel::PaddingMatrixNZ<ArchTag, half, Row, layout::zN, 24 * 1024>;
        Row in(rows, columns); Padding padding(resource); padding(b, a, Padding::GetWorkspaceLayout(in), in);
    } else if (argv[1] == std::string("VnchwND2NZ of words")) {
        using Padding = Gemm::Kernel::PaddingMatrixNZ<ArchTag, float, Row, layout::zN, 12 * 1024>;
        AscendC::GlobalTensor<float> x, z; x.SetGlobalBuffer(reinterpret_cast<float*>(1ull << 40));
        z.SetGlobalBuffer(reinterpret_cast<float*>(2ull << 40));
        Row in(rows, columns); Padding padding(resource); padding(z, x, Padding::GetWorkspaceLayout(in), in);
    } else if (argv[1] == std::string("PaddingMatrixND")) {
        using Padding = Gemm::Kernel::PaddingMatrixND<ArchTag, half, Row, 1024>;
        Row in(rows, columns); Padding padding(resource); padding(b, a, Padding::GetWorkspaceLayout(in, 256), in);
    } else if (argv[1] == std::string("PaddingMatrixBlockND")) {
        using Padding = Gemm::Kernel::PaddingMatrixBlockND<ArchTag, half, Row, layout::PaddingRowMajor, 1024>;
        Row in(rows, columns); Padding padding(resource); padding(b, a, Padding::GetWorkspaceLayout(in, 16, 32), in);
    } else if (argv[1] == std::string("RowsScaled")) {
        AscendC::GlobalTensor<float> x; x.SetGlobalBuffer(reinterpret_cast<float*>(1ull << 40));
        AscendC::GlobalTensor<float> sums; sums.SetGlobalBuffer(reinterpret_cast<float*>(2ull << 40));
        scaled(sums, x, w);
    } else {
        Gemm::Kernel::SplitkReduceAdd<ArchTag, float, half, 1, 1024> add(resource); add(b, w, rows, columns);
    }
}
"""


def source(e):
    """The C++ that is compiled for an example."""
    addresses = " ".join(f"uint8_t* {name} = reinterpret_cast<uint8_t*>({at:#x}ull);" for name, at in ADDRESSES.items())
    made = types(e) + shapes(e, "tla" if "BlockMmadTla" in e.code else "old")
    first = f'#include "catlass/gemm/kernel/{e.kernel}.hpp"'
    return MAIN % {"first": first, "addresses": addresses, "arch": e.arch, "types": made, "code": e.code}


def available():
    """Whether CATLASS and a compiler are there; else why not."""
    if not os.environ.get("CATLASS_INCLUDE"):
        return "CATLASS_INCLUDE is not set: the folder include of CATLASS"
    return None if compiler() else "no clang++, which CATLASS's kernels need"


def compiler():
    return next((c for c in ("clang++", "clang++-19", "clang++-18", "clang++-17") if shutil.which(c)), None)


def built(text, arch, folder, name, core="AIC"):
    """The program that a text compiles to; core: AIC, or AIV of a vector core."""
    include = Path(os.environ["CATLASS_INCLUDE"])
    number = {"AtlasA2": 2201, "Ascend950": 3510}[arch]
    (folder / f"{name}.cpp").write_text(text)
    flags = [
        "-std=c++20",
        "-w",
        "-O0",
        f"-DCATLASS_ARCH={number}",
        f"-D__NPU_ARCH__={number}",
        f"-DTLA_LOG_CORE=AscendC::{core}",
        "-include",
        str(HERE / "ascendc" / "stand_in.h"),
    ]
    paths = ["-I", str(include), "-I", str(include.parent / "tests" / "unittest" / "stub")]
    made = subprocess.run(
        [compiler(), *flags, *paths, str(folder / f"{name}.cpp"), "-o", str(folder / name)],
        capture_output=True,
        text=True,
    )
    if made.returncode:
        errors = "\\n".join(line for line in made.stderr.splitlines() if "error" in line)
        raise RuntimeError(f"{name}: {errors or made.stderr}"[:3000])
    return folder / name


def built_side(text, arch, folder, side, call, sub=0):
    """The program of one side of a kernel, of which main does `call`; sub: the number of a vector core beside its core."""
    told = "".join(
        f"#undef ASCEND_IS_{x}\n#define ASCEND_IS_{x} constexpr ({int(x == side)})\n" for x in ("AIC", "AIV")
    )
    told += f"#define GetSubBlockIdx() GetBlockIdx() * 0 + {sub}\n#ifndef __global__\n#define __global__\n#endif\n"
    return built(f"{told}{text}int main(int, char **v) {{ {call} }}", arch, folder, f"{side}{sub}", side)


#: What main does first in a program that takes the number of its core, and how many there are; and behind it in one that
#: takes m, n and k too.
NUMBERED = "tla_log::block_index() = atoi(v[1]); tla_log::block_count() = atoi(v[2]);"
OF_ANY_SIZE = NUMBERED + " kernel_main(atoi(v[3]), atoi(v[4]), atoi(v[5]), {});"


def places_of(tensors):
    """Tensors as arguments of a kernel."""
    return [f"reinterpret_cast<uint8_t *>({t.address:#x}ull)" for t in tensors]


def convolved(program, numbers):
    """The lines that example 24 logs."""
    return subprocess.run([program, *map(str, numbers)], capture_output=True, text=True, check=True).stdout.splitlines()


def logged(program, m, n, k, core=0, cores=1, batch=1, groups=()):
    """The lines that a core logs."""
    arguments = [program, *map(str, (m, n, k, core, cores, batch, *groups))]
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.splitlines()


# ------------------------------------------------------------------------------------------------------ several cores


def on_cores(e):
    """Tiles in L1 and L0, problem, cores, batches, and ends of groups, for which an example is logged on all cores: so
    that some have more blocks than others, and tails are on every side; where k is cut, more cores than blocks."""
    words, cut = e.a[0] == "float", "splitk" in e.more
    tiles = ((32, 32, 64), (32, 32, 16)) if words else ((32, 64, 64), (32, 64, 32))
    if "batch" in e.more:
        return *tiles, (40, 70, 20 if words else 40), 3, 2, ()
    if "slice" in e.more:
        return (
            (*tiles, (70, 130, 90), 3, 1, (33, 70))
            if e.more["slice"] == "m"
            else (*tiles, (40, 130, 90), 3, 1, (33, 90))
        )
    if words:
        return *tiles, (40, 40, 150) if cut else (70, 70, 100), 8 if cut else 4, 1, ()
    if e.name.startswith("31"):  # each core has one block, and L1 all of k
        return (32, 64, 128), (32, 64, 32), (40, 70, 90), 4, 1, ()
    if e.name.startswith("41"):  # whole fractals: what it does with others is in WRONG of test_foreign_kernels.py
        return (32, 64, 128), (32, 64, 64), (80, 144, 136), 4, 1, ()
    if cut:  # 22 pads what begins off 256 elements
        return *tiles, (40, 70, 256 if e.name.startswith("22") else 300), 8, 1, ()
    return *tiles, (70, 130, 90), 4, 1, ()


def logged_on_cores(e, folder):
    """The record of an example in tests/data/catlass_cores.json.gz: the lines of each core, and what they are of."""
    l1, l0, problem, cores, batch, groups = on_cores(e)
    program = built(source(replace(e, l1=l1, l0=l0)), e.arch, folder, e.name)
    lines = [logged(program, *problem, core, cores, batch, groups) for core in range(cores)]
    made = {"l1": l1, "l0": l0, "problem": problem, "batch": batch, "groups": groups, "lines": lines}
    return {"arch": e.arch, "a": e.a, "b": e.b, "c": e.c, **made}
