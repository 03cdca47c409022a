"""The public names of `tla`, which has them of this module: the core, the algebra and tensors, and other
packages on demand."""

from importlib import import_module
from typing import TYPE_CHECKING

from .algebra import composed as composed, swizzled as swizzled  # the algebra of composed layouts
from .algebra.coalesce import coalesce, filter as filter, filter_zeros
from .algebra.codomain import (
    MakeIdentityLayout,
    coprofile,
    coshape,
    cosize,
    get_1d_coord,
    get_flat_coord,
    get_hier_coord,
)
from .algebra.common import (
    domain_distribute,
    greatest_common_domain,
    layout_add,
    max_alignment,
    max_common_layout,
    max_common_vector,
    nullspace,
)
from .algebra.complement import complement
from .algebra.compose import compose
from .algebra.composition import composition, with_shape
from .algebra.divide import (
    blocked_product,
    ceil_div,
    evenly_divides,
    flat_divide,
    flat_product,
    logical_divide,
    logical_product,
    raked_product,
    tile_to_shape,
    tiled_divide,
    tiled_product,
    zipped_divide,
    zipped_product,
)
from .algebra.inverse import left_inverse, right_inverse
from .algebra.make import (
    make_basis_like,
    make_composed_layout,
    make_coord,
    make_identity_layout,
    make_inttuple_iter,
    make_layout,
    make_layout_like,
    make_ordered_layout,
    make_shape,
    make_stride,
    make_tile,
)
from .algebra.modes import append, dice, group, prepend, replace, reverse, select, slice_, slice_and_offset, take
from .algebra.ordered import MakeLayoutLike, MakeOrderedLayout, compact_order
from .algebra.predicates import is_bijective, is_compact, is_injective, is_ordered, is_surjective, same_map
from .algebra.recast import downcast, recast_layout, upcast
from .algebra.tiles import GetTileLayout, MakeBatchedLayout, MakeLayoutTile, is_on_block, padding
from .core import literals
from .core.arithmetic import (
    colex_geq,
    colex_gtr,
    colex_leq,
    colex_less,
    elem_geq,
    elem_gtr,
    elem_leq,
    elem_less,
    elem_scale,
    gcd,
    inner_product,
    lcm,
    lex_geq,
    lex_gtr,
    lex_leq,
    lex_less,
    max as max,
    min as min,
    round_up,
    safe_div,
    shape_div,
    signum,
    sum as sum,
)
from .core.basis import ArithmeticTuple, E, MakeBasisLike, ScaledBasis
from .core.build import BuildInfo, build_info
from .core.cache import cache_clear
from .core.composed import ComposedLayout
from .core.conversions import crd2crd, crd2idx, crd2offset, idx2crd
from .core.coord import Coord, MakeCoord
from .core.errors import (
    DivisibilityError,
    InjectivityError,
    LeafTypeError,
    LoweringError,
    ParseError,
    RangeError,
    RankError,
    Reason,
    TlaError,
    Unproven,
)
from .core.int_tuple import IntTuple, _, depth, get, product, product_each, rank, size
from .core.ints import Int, is_constant_of as is_constant, is_int, is_static, static_literal
from .core.layout import Layout
from .core.leaf_arithmetic import add, mul
from .core.literals import *  # noqa: F403
from .core.make_layout import MakeLayout, shape, stride
from .core.profiles import compatible, congruent, flatten, unflatten, weakly_compatible, weakly_congruent
from .core.strides import (
    LayoutLeft,
    LayoutRight,
    MakeShape,
    MakeStride,
    Shape,
    Stride,
    compact_col_major,
    compact_row_major,
)
from .core.swizzle import CoordSwizzle, MakeSwizzle, Swizzle
from .notation.text import parse
from .tensors import operations as operations  # the algebra on tensors
from .tensors.algorithm import copy, fill, fill_padding, gemm, im2col, reduce
from .tensors.make import make_fragment_like, make_identity_tensor, make_tensor, make_tensor_like
from .tensors.make_tensor import MakeTensor, padded
from .tensors.offsets import offsets
from .tensors.packed import Packed
from .tensors.predicated import copy_if
from .tensors.tensor import Tensor
from .tensors.views import (
    GetTile,
    MakeTensorLike,
    TileView,
    domain_offset,
    inner_partition,
    local_partition,
    local_tile,
    outer_partition,
    recast,
    transpose,
)

if TYPE_CHECKING:
    from . import (
        access as access,
        ascend as ascend,
        codegen as codegen,
        gpu as gpu,
        kernels as kernels,
        linear as linear,
        symbolic as symbolic,
        ttgir as ttgir,
        viz as viz,
        xla as xla,
    )
    from .ascend.make import (
        MakeLayoutFilter,
        MakeLayoutFmap,
        MakeLayoutFromTag,
        MakeLayoutL0C,
        MakeMxScaleLayout,
        MakeTuple,
        RoundDown,
        RoundUp,
        tuple_size,
    )
    from .core.each_leaf import dynamic, static
    from .recovery.between import swizzle_between
    from .recovery.disagreement import recover
    from .recovery.door import layout_of
    from .symbolic import Condition, SymInt, assuming, at, dim, dims, explain, index, prove, simplify, to_python
    from .symbolic.nodes import CeilDiv, FloorDiv, Mod
    from .viz.print_layout import print_layout, print_tensor

#: Module -> what of it is loaded when it is first asked for: with it comes numpy or sympy, or what not
#: every program needs.
_ON_DEMAND = {
    "tla.ascend.make": [
        *("MakeLayoutFilter", "MakeLayoutFmap", "MakeLayoutFromTag", "MakeLayoutL0C", "MakeMxScaleLayout"),
        *("MakeTuple", "RoundDown", "RoundUp", "tuple_size"),
    ],
    "tla.core.each_leaf": ["dynamic", "static"],
    "tla.recovery.between": ["swizzle_between"],
    "tla.recovery.disagreement": ["recover"],
    "tla.recovery.door": ["layout_of"],
    "tla.symbolic": [
        "Condition",
        "SymInt",
        "assuming",
        "at",
        "dim",
        "dims",
        "explain",
        "index",
        "prove",
        "simplify",
        "to_python",
    ],
    "tla.viz.print_layout": ["print_layout", "print_tensor"],
    "tla.symbolic.nodes": ["CeilDiv", "FloorDiv", "Mod"],
}
_MODULE_OF = {name: module for module, names in _ON_DEMAND.items() for name in names}

# filter, max, min and sum are here too, but `from tla import *` leaves Python's alone.
__all__ = [
    "ArithmeticTuple",
    "BuildInfo",
    "CeilDiv",
    "ComposedLayout",
    "Condition",
    "Coord",
    "CoordSwizzle",
    "DivisibilityError",
    "E",
    "FloorDiv",
    "GetTile",
    "GetTileLayout",
    "InjectivityError",
    "Int",
    "IntTuple",
    "Layout",
    "LayoutLeft",
    "LayoutRight",
    "LeafTypeError",
    "LoweringError",
    "MakeBasisLike",
    "MakeBatchedLayout",
    "MakeCoord",
    "MakeIdentityLayout",
    "MakeLayout",
    "MakeLayoutFilter",
    "MakeLayoutFmap",
    "MakeLayoutFromTag",
    "MakeLayoutL0C",
    "MakeLayoutLike",
    "MakeLayoutTile",
    "MakeMxScaleLayout",
    "MakeOrderedLayout",
    "MakeShape",
    "MakeStride",
    "MakeSwizzle",
    "MakeTensor",
    "MakeTensorLike",
    "MakeTuple",
    "Mod",
    "Packed",
    "ParseError",
    "RangeError",
    "RankError",
    "Reason",
    "RoundDown",
    "RoundUp",
    "ScaledBasis",
    "Shape",
    "Stride",
    "Swizzle",
    "SymInt",
    "Tensor",
    "TileView",
    "TlaError",
    "Unproven",
    "_",
    "add",
    "append",
    "ascend",
    "assuming",
    "at",
    "blocked_product",
    "build_info",
    "cache_clear",
    "ceil_div",
    "coalesce",
    "codegen",
    "colex_geq",
    "colex_gtr",
    "colex_leq",
    "colex_less",
    "compact_col_major",
    "compact_order",
    "compact_row_major",
    "compatible",
    "complement",
    "compose",
    "composition",
    "congruent",
    "coprofile",
    "copy",
    "copy_if",
    "coshape",
    "cosize",
    "crd2crd",
    "crd2idx",
    "crd2offset",
    "depth",
    "dice",
    "dim",
    "dims",
    "domain_distribute",
    "domain_offset",
    "downcast",
    "dynamic",
    "elem_geq",
    "elem_gtr",
    "elem_leq",
    "elem_less",
    "elem_scale",
    "evenly_divides",
    "explain",
    "fill",
    "fill_padding",
    "filter_zeros",
    "flat_divide",
    "flat_product",
    "flatten",
    "gcd",
    "gemm",
    "get",
    "get_1d_coord",
    "get_flat_coord",
    "get_hier_coord",
    "gpu",
    "greatest_common_domain",
    "group",
    "idx2crd",
    "im2col",
    "index",
    "inner_partition",
    "inner_product",
    "is_bijective",
    "is_compact",
    "is_constant",
    "is_injective",
    "is_int",
    "is_on_block",
    "is_ordered",
    "is_static",
    "is_surjective",
    "kernels",
    "layout_add",
    "layout_of",
    "lcm",
    "left_inverse",
    "lex_geq",
    "lex_gtr",
    "lex_leq",
    "lex_less",
    "linear",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_basis_like",
    "make_composed_layout",
    "make_coord",
    "make_fragment_like",
    "make_identity_layout",
    "make_identity_tensor",
    "make_inttuple_iter",
    "make_layout",
    "make_layout_like",
    "make_ordered_layout",
    "make_shape",
    "make_stride",
    "make_tensor",
    "make_tensor_like",
    "make_tile",
    "max_alignment",
    "max_common_layout",
    "max_common_vector",
    "mul",
    "nullspace",
    "offsets",
    "outer_partition",
    "padded",
    "padding",
    "parse",
    "prepend",
    "print_layout",
    "print_tensor",
    "product",
    "product_each",
    "prove",
    "raked_product",
    "rank",
    "recast",
    "recast_layout",
    "recover",
    "reduce",
    "replace",
    "reverse",
    "right_inverse",
    "round_up",
    "safe_div",
    "same_map",
    "select",
    "shape",
    "shape_div",
    "signum",
    "simplify",
    "size",
    "slice_",
    "slice_and_offset",
    "static",
    "stride",
    "swizzle_between",
    "take",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "to_python",
    "transpose",
    "ttgir",
    "tuple_size",
    "unflatten",
    "upcast",
    "viz",
    "weakly_compatible",
    "weakly_congruent",
    "with_shape",
    "xla",
    "zipped_divide",
    "zipped_product",
]
__all__ += literals.__all__

if not TYPE_CHECKING:  # a name that is not there is an error for type checkers too

    def __getattr__(name):
        if name in _MODULE_OF:
            return globals().setdefault(name, getattr(import_module(_MODULE_OF[name]), name))
        literal = static_literal(name)
        if literal is None:
            raise AttributeError(f"module 'tla' has no attribute {name!r}")
        return literal
