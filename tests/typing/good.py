"""What type checkers must accept, and what they must infer."""

from typing_extensions import assert_type

from tla import (
    ComposedLayout,
    Coord,
    GetTile,
    Int,
    Layout,
    LayoutRight,
    MakeCoord,
    MakeLayout,
    MakeLayoutFromTag,
    MakeLayoutTile,
    MakeShape,
    MakeStride,
    MakeTensor,
    MakeTensorLike,
    Shape,
    Stride,
    Tensor,
    TileView,
    _,
    _4,
    _128,
    complement,
    congruent,
    copy,
    crd2idx,
    dim,
    gcd,
    gemm,
    get,
    offsets,
    padded,
    parse,
    product,
    rank,
    recast,
    size,
    transpose,
    xla,
)
from tla.ascend import Tagged, half, isRowMajor, iszN, recognize, zN

assert_type(Int[4], type[Int])
assert_type(Int[4](), Int)
assert_type(_4, Int)
assert_type(_128, Int)
assert_type(MakeShape(_4, 2), Shape)
assert_type(MakeStride(_4, (2, 3)), Stride)
assert_type(MakeCoord(1, (2, 3)), Coord)
assert_type(Shape[_4, Int[2]], type[Shape])
assert_type(Shape[_4, Shape[_4, _4]](), Shape)
assert_type(Layout[Shape[_4], Stride[_4]](), Layout)
assert_type(MakeLayout((4, 2)), Layout)
assert_type(MakeLayout((4, 2), LayoutRight), Layout)
assert_type(MakeLayoutTile(MakeLayout((4, 2)), (2, 2)), Layout)
assert_type(MakeLayout[half, zN](100, 60, ld=128), Layout)
assert_type(MakeLayout[16, zN]((100, 60), 2), Layout)
assert_type(zN[half](100, 60), Tagged)
assert_type(recognize(MakeLayout((4, 2)), half), Tagged | None)
assert_type(iszN[half](MakeLayout((4, 2))), bool | None)
assert_type(isRowMajor(MakeLayout((4, 2))), bool | None)
assert_type(zN[half](100, 60).layout, Layout)
assert_type(MakeLayoutFromTag(zN[half](100, 60)), Layout)
tensor = MakeTensor(bytearray(8), MakeLayout((4, 2)), position="GM")
assert_type(tensor, Tensor)
assert_type(MakeTensor(None, MakeLayout((4, 2)), (0, 1), offset=4), Tensor)
assert_type(GetTile(tensor, (0, 0), (2, 2)), Tensor)
assert_type(TileView(tensor, MakeCoord(1, 0), MakeShape(2, _4)), Tensor)
assert_type(padded(transpose(tensor)), Tensor)
assert_type(MakeTensorLike(tensor), Tensor)
assert_type(tensor.coord, Coord)
made: list[Tensor] = [
    MakeTensorLike[zN](None, tensor, "L1"),
    MakeTensor["f4"](MakeLayout(4)),
    recast["i2"](tensor),
    tensor[_, 1],
]
tensor[1, 0] = 7
copy(tensor, transpose(tensor))
gemm(tensor, tensor, tensor, tile=(16, 16, 16), accumulate=True)
assert_type(rank(MakeLayout((4, 2))), Int)
assert_type(rank[0, 1](((4, 2), 3)), Int)
assert_type(congruent((4, 2), (1, 1)), bool | None)
assert_type(xla.lower("f32[3,5]"), Layout | ComposedLayout)
assert_type(xla.linear_index("f32[3,5]", (2, 3)), int)
assert_type(xla.multi_index("f32[3,5]", 3), tuple[int, ...] | None)
get[0, 1](parse("((4,2),3):((1,4),8)"))
size[0]((4, 2))
n: int = Int[4]()
offsets(MakeLayout((4, 2))).sum()
M = dim("M")
gcd(4, _4, M)
complement(parse("(_2,_2):(_4,_1)"), M)
crd2idx((1, _), (4, (2, M)))
product(((4, M), _4))
