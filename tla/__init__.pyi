# What `tla` gives, for type checkers. At run time __init__.py loads each name when it is first asked for.

from . import (
    ascend as ascend,
    xla as xla,
)
from .algebra import (
    coalesce as coalesce,
    complement as complement,
    composition as composition,
    filter as filter,
    filter_zeros as filter_zeros,
    with_shape as with_shape,
)
from .algorithm import (
    copy as copy,
    fill as fill,
    fill_padding as fill_padding,
    gemm as gemm,
    im2col as im2col,
    reduce as reduce,
)
from .arithmetic import (
    elem_geq as elem_geq,
    elem_gtr as elem_gtr,
    elem_leq as elem_leq,
    elem_less as elem_less,
    elem_scale as elem_scale,
    gcd as gcd,
    inner_product as inner_product,
    lcm as lcm,
    max as max,
    min as min,
    reverse as reverse,
    round_up as round_up,
    safe_div as safe_div,
    shape_div as shape_div,
    signum as signum,
    sum as sum,
)
from .ascend.make import (
    MakeLayoutFilter as MakeLayoutFilter,
    MakeLayoutFmap as MakeLayoutFmap,
    MakeLayoutFromTag as MakeLayoutFromTag,
    MakeLayoutL0C as MakeLayoutL0C,
    MakeMxScaleLayout as MakeMxScaleLayout,
)
from .basis import (
    ArithmeticTuple as ArithmeticTuple,
    E as E,
    MakeBasisLike as MakeBasisLike,
    ScaledBasis as ScaledBasis,
)
from .common import (
    domain_distribute as domain_distribute,
    greatest_common_domain as greatest_common_domain,
    layout_add as layout_add,
    max_alignment as max_alignment,
    max_common_layout as max_common_layout,
    max_common_vector as max_common_vector,
    nullspace as nullspace,
)
from .composed import (
    ComposedLayout as ComposedLayout,
    compose as compose,
)
from .coord import (
    Coord as Coord,
    MakeCoord as MakeCoord,
    crd2crd as crd2crd,
    crd2idx as crd2idx,
    crd2offset as crd2offset,
    idx2crd as idx2crd,
)
from .cotarget import (
    MakeIdentityLayout as MakeIdentityLayout,
    coprofile as coprofile,
    coshape as coshape,
    cosize as cosize,
    get_1d_coord as get_1d_coord,
    get_flat_coord as get_flat_coord,
    get_hier_coord as get_hier_coord,
)
from .errors import (
    DivisibilityError as DivisibilityError,
    InjectivityError as InjectivityError,
    LeafTypeError as LeafTypeError,
    LoweringError as LoweringError,
    ParseError as ParseError,
    RangeError as RangeError,
    RankError as RankError,
    Reason as Reason,
    TlaError as TlaError,
    Unproven as Unproven,
)
from .evaluate import (
    offsets as offsets,
)
from .int_tuple import (
    IntTuple as IntTuple,
    _ as _,
    compatible as compatible,
    congruent as congruent,
    depth as depth,
    flatten as flatten,
    get as get,
    product as product,
    product_each as product_each,
    rank as rank,
    size as size,
    unflatten as unflatten,
    weakly_compatible as weakly_compatible,
    weakly_congruent as weakly_congruent,
)
from .ints import (
    Int as Int,
    add as add,
    is_constant as is_constant,
    is_int as is_int,
    is_static as is_static,
    mul as mul,
)
from .inverse import (
    left_inverse as left_inverse,
    right_inverse as right_inverse,
)
from .layout import (
    Layout as Layout,
    LayoutLeft as LayoutLeft,
    LayoutRight as LayoutRight,
    MakeLayout as MakeLayout,
    MakeShape as MakeShape,
    MakeStride as MakeStride,
    Shape as Shape,
    Stride as Stride,
    compact_col_major as compact_col_major,
    compact_row_major as compact_row_major,
    shape as shape,
    stride as stride,
)
from .memo import (
    cache_clear as cache_clear,
)
from .modes import (
    append as append,
    dice as dice,
    group as group,
    prepend as prepend,
    replace as replace,
    select as select,
    slice_ as slice_,
    slice_and_offset as slice_and_offset,
    take as take,
)
from .notation import (
    parse as parse,
)
from .predicates import (
    is_bijective as is_bijective,
    is_compact as is_compact,
    is_injective as is_injective,
    is_ordered as is_ordered,
    is_surjective as is_surjective,
    same_map as same_map,
)
from .swizzle import (
    MakeSwizzle as MakeSwizzle,
    Swizzle as Swizzle,
)
from .symbolic import (
    CeilDiv as CeilDiv,
    Condition as Condition,
    FloorDiv as FloorDiv,
    Mod as Mod,
    SymInt as SymInt,
    assuming as assuming,
    dim as dim,
    dims as dims,
    explain as explain,
    index as index,
    prove as prove,
    simplify as simplify,
    to_python as to_python,
)
from .tensor import (
    MakeTensor as MakeTensor,
    Tensor as Tensor,
    padded as padded,
)
from .tilers import (
    MakeLayoutLike as MakeLayoutLike,
    MakeOrderedLayout as MakeOrderedLayout,
    blocked_product as blocked_product,
    ceil_div as ceil_div,
    compact_order as compact_order,
    evenly_divides as evenly_divides,
    flat_divide as flat_divide,
    flat_product as flat_product,
    logical_divide as logical_divide,
    logical_product as logical_product,
    raked_product as raked_product,
    tile_to_shape as tile_to_shape,
    tiled_divide as tiled_divide,
    tiled_product as tiled_product,
    zipped_divide as zipped_divide,
    zipped_product as zipped_product,
)
from .tiles import (
    GetTileLayout as GetTileLayout,
    MakeBatchedLayout as MakeBatchedLayout,
    MakeLayoutTile as MakeLayoutTile,
    is_on_block as is_on_block,
    padding as padding,
)
from .views import (
    GetTile as GetTile,
    MakeTensorLike as MakeTensorLike,
    TileView as TileView,
    local_partition as local_partition,
    local_tile as local_tile,
    recast as recast,
    transpose as transpose,
)
from .widths import (
    downcast as downcast,
    recast_layout as recast_layout,
    upcast as upcast,
)

__version__: str
__all__: list[str]

# The static literals that checkers know by name; at run time `from tla import _N` gives any of them.
_0: Int
_1: Int
_2: Int
_3: Int
_4: Int
_5: Int
_6: Int
_7: Int
_8: Int
_9: Int
_10: Int
_11: Int
_12: Int
_13: Int
_14: Int
_15: Int
_16: Int
_17: Int
_18: Int
_19: Int
_20: Int
_21: Int
_22: Int
_23: Int
_24: Int
_25: Int
_26: Int
_27: Int
_28: Int
_29: Int
_30: Int
_31: Int
_32: Int
_33: Int
_34: Int
_35: Int
_36: Int
_37: Int
_38: Int
_39: Int
_40: Int
_41: Int
_42: Int
_43: Int
_44: Int
_45: Int
_46: Int
_47: Int
_48: Int
_49: Int
_50: Int
_51: Int
_52: Int
_53: Int
_54: Int
_55: Int
_56: Int
_57: Int
_58: Int
_59: Int
_60: Int
_61: Int
_62: Int
_63: Int
_64: Int
_72: Int
_80: Int
_96: Int
_100: Int
_112: Int
_120: Int
_127: Int
_128: Int
_144: Int
_160: Int
_192: Int
_200: Int
_224: Int
_255: Int
_256: Int
_320: Int
_384: Int
_448: Int
_512: Int
_640: Int
_768: Int
_896: Int
_1000: Int
_1024: Int
_1152: Int
_1280: Int
_1536: Int
_1792: Int
_2048: Int
_3072: Int
_4096: Int
_8192: Int
_16384: Int
_32768: Int
_65536: Int
