"""A block as a kernel of CATLASS: the types that make it, of `BasicMatmulTla`, and with scales of `MxMatmulTla`.

Both take problems of any size, and plan the transfers themselves.

Source: CATLASS examples/13_basic_matmul_tla, examples/53_ascend950_fp8_mx_matmul.
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import LeafTypeError
from ...core.int_tuple import shown
from ...core.layout import require_origin
from ..element import CPP_NAMES
from ..schedules import Schedule
from ..tags import GIVEN
from .block import Plan


def catlass(plan: Plan, schedule: Schedule, name: str) -> str:
    """The kernel of a block as CATLASS's BasicMatmulTla. Raises what MatmulBlock.text raises."""
    proved = f"proved by tla for {shown(schedule.problem)} on {schedule.cores} cores"
    return catlass_of(plan, schedule.swizzle, proved, name)


def catlass_of(plan: Plan, dealt: str, proved: str, name: str) -> str:
    """The kernel of a block as CATLASS's BasicMatmulTla, with what was proved. Raises what MatmulBlock.text raises."""
    swizzle, _bracket, arguments = dealt.removesuffix("]").partition("[")
    _require_basic(plan, swizzle)
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
        for x, o in (("A", plan.a), ("B", plan.b), ("C", plan.c))
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
            raise LeafTypeError(f"a block with {what} in CATLASS's text", "what BasicMatmulTla computes", fix)
