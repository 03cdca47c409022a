"""A block as a kernel of CATLASS: the types that make it, of `BasicMatmulTla`, with scales of `MxMatmulTla`, and with an
activation of `MatmulActivation`.

All take problems of any size, and plan the transfers themselves.

Source: CATLASS examples/13_basic_matmul_tla, examples/53_ascend950_fp8_mx_matmul, examples/27_matmul_gelu.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.layout import require_origin
from ..element import CPP_NAMES
from ..schedules import Schedule
from ..tags import GIVEN
from .activations import Activation
from .block import Plan


def catlass(plan: Plan, schedule: Schedule, name: str) -> str:
    """The kernel of a block as CATLASS's BasicMatmulTla. Raises what MatmulBlock.text raises."""
    proved = f"proved by tla for {shown(schedule.problem)} on {schedule.cores} cores"
    return catlass_of(plan, schedule.swizzle, proved, name)


def catlass_of(plan: Plan, dealt: str, proved: str, name: str) -> str:
    """The kernel of a block as CATLASS's BasicMatmulTla, with what was proved. Raises what MatmulBlock.text raises."""
    swizzle, _bracket, arguments = dealt.removesuffix("]").partition("[")
    _require_basic(plan, swizzle)
    if plan.activation is not None:
        return _activated(plan, plan.activation, f"{swizzle}<{arguments}>", proved, name)
    l1, l0 = (", ".join(f"tla::Int<{n}>" for n in x) for x in (plan.tiling.l1, plan.tiling.l0))
    matrices = (("A", plan.a, "m, k"), ("B", plan.b, "k, n"), ("C", plan.c, "m, n"))
    kernel = _MX if plan.scales else _BASIC
    unit = str(plan.unit_flag).lower()
    named = ((x, CPP_NAMES[o.element.name], o.tag) for x, o, _sizes in matrices)
    types = [f"using Element{x} = {element}; using Layout{x} = layout::{tag};" for x, element, tag in named]
    arch = f"Arch::{plan.arch.name}"
    tensors = ("a", "b", *(("scaleA", "scaleB") if plan.scales else ()), "c")
    ends = ", ".join(f"{x}, layout{x[0].upper()}{x[1:]}" for x in tensors)
    given = ", ".join(f"GM_ADDR {x}" for x in _given(plan))
    return "\n".join(
        [
            f"// {name}: C = A * B by CATLASS, for blocks of any (m, n, k); {proved}. Made by tla.",
            *(
                [
                    "// CATLASS's BlockMmadTla with unit flags uses an id of MTE1_M that is not set: see l0CEventList "
                    "there."
                ]
                if plan.unit_flag and not plan.scales
                else []
            ),
            *(f'#include "{x}"' for x in (*_HEADERS, f"catlass/gemm/kernel/{kernel.header}.hpp")),
            "using namespace Catlass;",
            f"namespace {name}_types {{",
            *types,
            f"using ArchTag = {arch};",
            *kernel.types,
            f"using TileCopy = Gemm::Tile::{kernel.copies}<ArchTag, {', '.join(kernel.ends)}>;",
            f"using Policy = Gemm::{kernel.policy}<ArchTag, {unit}, {kernel.last}>;",
            f"using L1Tile = tla::Shape<{l1}>;",
            f"using L0Tile = tla::Shape<{l0}>;",
            "using BlockMmad = Gemm::Block::BlockMmadTla<Policy, L1Tile, L0Tile, ElementA, ElementB, ElementC, void, "
            "TileCopy>;",
            f"using Kernel = Gemm::Kernel::{kernel.name}<BlockMmad, void, Gemm::Block::{swizzle}<{arguments}>>;",
            "}",
            f'extern "C" CATLASS_GLOBAL void {name}(uint32_t m, uint32_t n, uint32_t k, {given}) {{',
            f"    using namespace {name}_types;",
            *(f"    auto layout{x} = tla::MakeLayout<Element{x}, Layout{x}>({sizes});" for x, _o, sizes in matrices),
            "    Kernel kernel;",
            *(f"    {line}" for line in kernel.layouts),
            f"    kernel.template operator()<AscendC::AIC>(Kernel::Params{{GemmCoord{{m, n, k}}, {ends}}});",
            "}",
            "",
        ]
    )


def _activated(plan: Plan, of: Activation, swizzle: str, proved: str, name: str) -> str:
    """The kernel of a block with an activation as CATLASS's MatmulActivation. Raises what MatmulBlock.text raises."""
    tile, length = _TILES.get(of.name, ""), -(-plan.tiling.l1[0] // 2) * plan.tiling.l1[1]
    for wrong, what, expected in (
        (plan.arch.name != "AtlasA2", f"on {plan.arch}", "one on AtlasA2: it has no kernel for others"),
        (not tile, f"with activation={of.name!r}", f"one of {', '.join(_TILES)}: it has no tile for others"),
        (of.element.name != "float", f"with c={of.element}", "c=float32, in which its BlockEpilogue computes"),
    ):
        if wrong:
            raise LeafTypeError(f"an activation in CATLASS's text {what}", expected, "write text('ascendc')")
    assert plan.d is not None
    sides = (("A", plan.a), ("B", plan.b), ("C", plan.c), ("D", plan.d))
    l1, l0 = (", ".join(map(str, x)) for x in (plan.tiling.l1, plan.tiling.l0))
    headers = ("gemm/kernel/matmul_activation", *(f"epilogue/{x}" for x in ("block/block_epilogue", "tile/tile_copy")))
    return "\n".join(
        [
            f"// {name}: D = {of.name}(A * B) by CATLASS, for blocks of any (m, n, k); {proved}. Made by tla.",
            "// C is the workspace of m * n floats. CATLASS's tile has no barrier between two instructions of one place.",
            *(f'#include "{x}"' for x in _HEADERS),
            *(f'#include "catlass/{x}.hpp"' for x in (*headers, f"epilogue/tile/tile_elemwise_{of.name}")),
            "using namespace Catlass;",
            f"namespace {name}_types {{",
            *(f"using {x}Type = Gemm::GemmType<{CPP_NAMES[o.element.name]}, layout::{o.tag}>;" for x, o in sides),
            "using ArchTag = Arch::AtlasA2;",
            f"using Policy = Gemm::MmadAtlasA2Pingpong<{str(plan.unit_flag).lower()}>;",
            f"using BlockMmad = Gemm::Block::BlockMmad<Policy, GemmShape<{l1}>, GemmShape<{l0}>, AType, BType, CType>;",
            f"using Activation = Epilogue::Tile::{tile}<ArchTag, CType, {length}>;",
            "using BlockEpilogue = Epilogue::Block::BlockEpilogue<Epilogue::EpilogueAtlasA2ElemWiseNoSource, CType, "
            "DType, Activation, Epilogue::Tile::TileCopy<ArchTag, CType, DType>>;",
            f"using Kernel = Gemm::Kernel::MatmulActivation<BlockMmad, BlockEpilogue, Gemm::Block::{swizzle}>;",
            "}",
            f'extern "C" CATLASS_GLOBAL void {name}(uint32_t m, uint32_t n, uint32_t k, '
            "GM_ADDR a, GM_ADDR b, GM_ADDR c, GM_ADDR d) {",
            f"    using namespace {name}_types;",
            "    Kernel::Arguments arguments{GemmCoord{m, n, k}, sizeof(float), a, b, d};",
            "    auto params = Kernel::ToUnderlyingArguments(arguments, c);",
            "    Kernel kernel;",
            "    if ASCEND_IS_AIC {",
            "        kernel.template operator()<AscendC::AIC>(params);",
            "    }",
            "    if ASCEND_IS_AIV {",
            "        kernel.template operator()<AscendC::AIV>(params);",
            "    }",
            "}",
            "",
        ]
    )


class _Kernel(NamedTuple):
    """A kernel of CATLASS: its name, its header, its policy with the last of its arguments, what copies its tiles and
    between which ends, and the types and layouts that it has besides."""

    name: str
    header: str
    policy: str
    last: str
    copies: str
    ends: tuple[str, ...]
    types: tuple[str, ...] = ()
    layouts: tuple[str, ...] = ()


#: The tiles of CATLASS that compute an activation.
_TILES = {"gelu": "TileElemWiseGelu", "silu": "TileElemWiseSilu"}
_A, _B, _C = (f"Element{x}, Layout{x}" for x in "ABC")
_BASIC = _Kernel("BasicMatmulTla", "basic_matmul_tla", "MmadPingpong", "false", "PackedTileCopyTla", (_A, _B, _C))
#: With scales that come with each tile of k: a factor of 1.
_MX = _Kernel(
    "MxMatmulTla",
    "mx_matmul_tla",
    "MmadMx",
    "1",
    "PackedMxTileCopyTla",
    (_A, _B, "float8_e8m0_t, LayoutScaleA", "float8_e8m0_t, LayoutScaleB", _C, "void"),
    tuple(
        f"using LayoutScale{x} = decltype(tla::MakeMxScaleLayout<float8_e8m0_t, Layout{x}, {second}>(1u, 1u));"
        for x, second in (("A", "false"), ("B", "true"))
    ),
    (
        "uint32_t scales = (k + 31) / 32;",
        "auto layoutScaleA = tla::MakeMxScaleLayout<float8_e8m0_t, LayoutA, false>(m, scales);",
        "auto layoutScaleB = tla::MakeMxScaleLayout<float8_e8m0_t, LayoutB, true>(scales, n);",
    ),
)
_HEADERS = (
    "kernel_operator.h",
    "catlass/catlass.hpp",
    "catlass/arch/arch.hpp",
    "catlass/gemm/block/block_mmad.hpp",
    "catlass/gemm/block/block_swizzle.hpp",
    "catlass/gemm/dispatch_policy.hpp",
    "catlass/gemm/gemm_type.hpp",
    "catlass/layout/layout.hpp",
    "tla/layout.hpp",
    "tla/tensor.hpp",
)


def _given(plan: Plan) -> tuple[str, ...]:
    """The tensors that the kernel is given, in the order of the block's."""
    return ("a", "b", "c", *(("scaleA", "scaleB") if plan.scales else ()))


def _require_basic(plan: Plan, swizzle: str) -> None:
    """LeafTypeError for a block that CATLASS's BasicMatmulTla does not compute."""
    fix = "write text('ascendc'), which has every statement"
    made = [
        (x, o)
        for x, o in (("A", plan.a), ("B", plan.b), ("C", plan.c), *([("D", plan.d)] if plan.d is not None else []))
        if GIVEN in o.tag.blocks or o.layout != o.tag.MakeLayout(o.element, *require_origin(x, o.layout))
    ]
    for wrong, what in (
        (plan.bias, "biases"),
        (plan.quant != "NO_QUANT" or plan.scale is not None or plan.relu, "an epilogue"),
        (plan.adds, "slices of k that are added"),
        (plan.tiling.stages != {"L1": 2, "L0A": 2, "L0B": 2, "L0C": 1}, f"the stages {plan.tiling.stages}"),
        (swizzle != "GemmIdentityBlockSwizzle", f"the swizzle {swizzle}"),
        (bool(made), f"a layout of {made[0][0] if made else ''} that is not its tag's"),
    ):
        if wrong:
            raise LeafTypeError(f"a block with {what} in CATLASS's text", "what its kernel computes", fix)
