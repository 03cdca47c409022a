"""Layouts, and what kernels make of them, as source of the systems that they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.composed import ComposedLayout
from ...core.coord import Coord
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import as_int_tuple, shown
from ...core.ints import is_int, is_leaf
from ...core.kinds import AnyLayout, layout_fix
from ...core.layout import Layout
from ...core.swizzle import CoordSwizzle, Swizzle
from ...gpu import CopyAtom, MMAAtom, TiledCopy, TiledMMA
from ...xla import raise_
from . import peers
from .catlass_dsl import catlass_dsl
from .cute_cpp import cute_cpp
from .cute_dsl import cute_dsl
from .kernels_cpp import kernel_cpp
from .kernels_dsl import kernel_dsl
from .tla_cpp import tla_cpp

#: The systems, and what writes a layout in each, with the options that it takes.
SYSTEMS: dict[str, tuple[Callable[..., str], tuple[str, ...]]] = {
    "cute_cpp": (cute_cpp, ()),
    "cute_dsl": (cute_dsl, ()),
    "tla_cpp": (tla_cpp, ("dtype",)),
    "catlass_dsl": (catlass_dsl, ("dtype",)),
    "xla": (lambda x, dtype="f32": str(raise_(x, dtype)), ("dtype",)),
    "flydsl": (peers.flydsl, ()),
    "pycute": (peers.pycute, ()),
    "mojo": (peers.mojo, ()),
    "axe": (peers.axe, ("axes", "replicas")),
    "torch_view": (peers.torch, ()),
    "numpy_view": (peers.numpy, ()),
    "cutile": (peers.cutile, ()),
    "isl": (peers.isl, ()),
}
#: What kernels are made of besides layouts: CuTe's two languages have it.
_KERNEL = (TiledMMA, TiledCopy, MMAAtom, CopyAtom)
_KERNELS: dict[str, Callable[[Any], str]] = {"cute_cpp": kernel_cpp, "cute_dsl": kernel_dsl}


def source(
    layout: AnyLayout,
    system: str,
    *,
    dtype: object = None,
    axes: Sequence[str] | None = None,
    replicas: bool | None = None,
) -> str:
    """A layout as source of another system: an expression that makes it there, with the same static-ness.

    layout   a layout of any kind; of CuTe and TLA an IntTuple, an integer or a Swizzle too; of CuTe a TiledMMA, a
             TiledCopy or an atom
    system   "cute_cpp", "cute_dsl" (Python), "tla_cpp", "catlass_dsl" (Python) or "xla"; or, of known numbers,
             "flydsl", "pycute" (tensor-layouts too), "mojo", "axe", "torch_view", "numpy_view", "cutile" or "isl":
             docs/rosetta.md says what each can say
    dtype    of XLA its element type, "f32" by default; of TLA and CATLASS's DSL a type of tla.ascend: then a layout
             that a tag makes is written with the tag, and there strides of static sizes are dynamic. The DSL has no
             layouts but those of tags
    axes     of Axe the names of the axes that the modes of coordinates are
    replicas of Axe whether the last of two modes counts the places that hold an element
    Raises   LeafTypeError and RankError for what the system cannot say (of TLA swizzles, coordinates and empty tuples;
             of the DSL two maps after a layout, and instructions that it does not have), RangeError for a Swizzle past
             31 bits and an unknown system, Unproven where a division would round the other way there, and for "xla"
             what raise_ raises

    >>> from tla import MakeLayout, ascend, dims, parse
    >>> from tla.codegen import source
    >>> print(source(parse("(_4,(_2,_3)):(_1,(_4,_8))"), "cute_cpp"))
    cute::Layout<cute::Shape<cute::_4, cute::Shape<cute::_2, cute::_3>>, cute::Stride<cute::_1, cute::Stride<cute::_4, cute::_8>>>{}
    >>> M, N = dims("M N")
    >>> a = MakeLayout((-(-M // 16), N), (16 * N, 1))
    >>> print(source(a, "cute_cpp"))
    cute::make_layout(cute::make_shape((M + 15) / 16, N), cute::make_stride(N * 16, 1))
    >>> print(source(parse("Sw<3,4,3> o _0 o (_8,4):(_1,_8)"), "cute_dsl"))
    cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, cute.make_layout((8, cutlass.Int32(4)), stride=(1, 8)))
    >>> b = MakeLayout[ascend.half, ascend.zN](100, 60)
    >>> print(source(b, "tla_cpp", dtype=ascend.half), source(MakeLayout((4, 8)), "xla", dtype="bf16"))
    tla::MakeLayout<half, Catlass::layout::zN>(uint32_t(100), uint32_t(60)) bf16[4,8]{0,1}

    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN, make_tiled_mma
    >>> print(source(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN, (2, 2)), "cute_dsl"))
    cute.make_tiled_mma(cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16)), \
cute.make_layout((2, 2, 1), stride=(1, 2, 0)))

    The threads that hold an element in Axe: those of element 0, and what moves them to each other, from a
    layout of threads.

    >>> from tla import E, composition, make_layout, nullspace, right_inverse
    >>> threads = parse("(_4,_8):(_0,_1)")                          # lane -> element: four lanes hold each
    >>> places = make_layout(right_inverse(threads), nullspace(threads))
    >>> print(source(composition(parse("_32:_1@0"), places), "axe", axes=["laneid"], replicas=True))
    S[(8):(4@laneid)] + R[(4):(1@laneid)]

    Names of C++ are written in full; Python's are those of `import cutlass, cutlass.cute as cute`, and of `import
    catlass as tla`. Sizes are expressions of variables of these names: signed ones, and of 64 bits where products of
    them pass 32. Numbers are of 64 bits where
    offsets or sizes pass 32, but for static ones of the DSL, which computes as wide as the coordinates are. Dynamic
    integers of TLA have the types of CATLASS's own layouts, uint32_t in shapes and int64_t in strides: what is written
    converts to its TagToLayout_t. TLA and XLA have the origin_shape, CuTe the padded shape only.

    Source: CuTe, nvidia-cutlass-dsl, CATLASS TLA; XLA's raise_.
    """
    if not isinstance(system, str) or system not in SYSTEMS:
        raise RangeError(f"source for {shown(system)!r}", f"one of {', '.join(SYSTEMS)}", 'write "cute_cpp"')
    if isinstance(layout, _KERNEL):
        if system not in _KERNELS or dtype is not None:
            raise LeafTypeError(
                f"source of {shown(layout)} for {system}", "CuTe, without a dtype", 'write source(x, "cute_cpp")'
            )
        return _KERNELS[system](layout)
    write, takes = SYSTEMS[system]
    options = {name: x for name, x in (("dtype", dtype), ("axes", axes), ("replicas", replicas)) if x is not None}
    for name in options:
        if name not in takes:
            raise LeafTypeError(f"source for {system} with {name}", f"no {name}: it has none", f"leave {name} out")
    return write(_checked(layout), **options)


def _checked(x: object) -> Any:
    if isinstance(x, (Layout, ComposedLayout, Swizzle, CoordSwizzle)):
        return x
    if isinstance(x, tuple) or is_int(x) or is_leaf(x):
        checked = as_int_tuple(x)
        return x if isinstance(x, Coord) else checked  # a coordinate stays one
    raise LeafTypeError(f"source of a {type(x).__name__}", "a layout, a Swizzle or an IntTuple", layout_fix(x))
