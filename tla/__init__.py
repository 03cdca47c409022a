"""tla: one language for memory layouts.

CuTe's layout algebra, the TLA layouts of Ascend's CATLASS and XLA's tiled layouts as one exact algebra over static
(`Int[N]`), dynamic and symbolic integers. What C++ writes as a template argument stands in square brackets here.

>>> from tla import MakeLayout, MakeShape, MakeStride, _1, _2, _12
>>> print(MakeLayout(MakeShape(_2, 4), MakeStride(_12, _1)))
(_2,4):(_12,_1)

`import tla` is light: names are loaded when they are first asked for. Type checkers read __init__.pyi.
"""

__version__ = "0.1.0"

# The public names, by the module that has them; "" is a module that is itself the name.
_PUBLIC = {
    "errors": "DivisibilityError InjectivityError LeafTypeError LoweringError ParseError RangeError RankError Reason TlaError Unproven",
    "memo": "cache_clear",
    "ints": "Int add is_constant is_int is_static mul",
    "int_tuple": "IntTuple _ compatible congruent depth flatten get product product_each rank size unflatten weakly_compatible "
    "weakly_congruent",
    "arithmetic": "elem_geq elem_gtr elem_leq elem_less elem_scale gcd inner_product lcm max min reverse round_up safe_div "
    "shape_div signum sum",
    "basis": "ArithmeticTuple E MakeBasisLike ScaledBasis",
    "notation": "parse",
    "coord": "Coord MakeCoord crd2crd crd2idx crd2offset idx2crd",
    "layout": "Layout LayoutLeft LayoutRight MakeLayout MakeShape MakeStride Shape Stride compact_col_major compact_row_major shape stride",
    "cotarget": "MakeIdentityLayout coprofile coshape cosize get_1d_coord get_flat_coord get_hier_coord",
    "tiles": "GetTileLayout MakeBatchedLayout MakeLayoutTile is_on_block padding",
    "modes": "append dice group prepend replace select slice_ slice_and_offset take",
    "algebra": "coalesce complement composition filter filter_zeros with_shape",
    "predicates": "is_bijective is_compact is_injective is_ordered is_surjective same_map",
    "inverse": "left_inverse right_inverse",
    "common": "domain_distribute greatest_common_domain layout_add max_alignment max_common_layout max_common_vector nullspace",
    "tilers": "MakeLayoutLike MakeOrderedLayout blocked_product ceil_div compact_order evenly_divides flat_divide flat_product "
    "logical_divide logical_product raked_product tile_to_shape tiled_divide tiled_product zipped_divide zipped_product",
    "widths": "downcast recast_layout upcast",
    "swizzle": "MakeSwizzle Swizzle",
    "composed": "ComposedLayout compose",
    "ascend.make": "MakeLayoutFilter MakeLayoutFmap MakeLayoutFromTag MakeLayoutL0C MakeMxScaleLayout",
    "symbolic": "CeilDiv Condition FloorDiv Mod SymInt assuming at dim dims explain index prove simplify to_python",
    "evaluate": "offsets",
    "tensor": "MakeTensor Tensor padded",
    "views": "GetTile MakeTensorLike TileView local_partition local_tile recast transpose",
    "algorithm": "copy fill fill_padding gemm im2col reduce",
    "": "ascend xla",
}
# The modules that make kinds of layouts and leaves known, and pictures to notebooks: any name brings them.
_KINDS = ("composed_algebra", "symbolic", "notebook")
_HOME = {name: module for module, names in _PUBLIC.items() for name in names.split()}
# `from tla import *` must not take these from Python; tla.max and the like are there all the same.
__all__ = sorted({*_HOME} - {"_", "filter", "max", "min", "sum"})  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _HOME:
        for kind in _KINDS:
            import_module(f"tla.{kind}")
        module = import_module(f"tla.{_HOME[name] or name}")
        value = getattr(module, name) if _HOME[name] else module
        globals()[name] = value
        return value
    snake = "".join(map(str.capitalize, name.split("_")))  # make_layout, as CuTe has it
    if snake in _HOME:
        raise AttributeError(f"module 'tla' has no attribute {name!r}: it is {snake} here")
    literal = import_module("tla.ints").static_literal(name)
    if literal is None:
        raise AttributeError(f"module 'tla' has no attribute {name!r}")
    return literal


def __dir__() -> list[str]:
    return [*globals(), *__all__]
