"""What type checkers must report: each line with `# E`, and no other."""

from tla import (
    GetTile,
    Int,
    Layout,
    MakeLayout,
    MakeLayoutTile,
    MakeShape,
    MakeTensor,
    Shape,
    complement,
    copy,
    crd2idx,
    gcd,
    gemm,
    get,
    parse,
)
from tla import product_each, rank, transpose, xla
from tla import MakeLayuot  # E
from tla.ascend import RowMajor, half, recognize, zN

Int["4"]  # E
Int[4]().no_such_thing  # E
MakeLayout((4, 2)).no_such_thing  # E
MakeLayout()  # E
MakeLayoutTile((4, 2), (2, 2))  # E
rank["0"]  # E
get[0.5]  # E
parse(4)  # E
xla.lower(4)  # E
xla.byte_sise("f32[3]")  # E
layout: Layout = Shape[Int[4]]()  # E
MakeLayout[half](4, 2)  # E
MakeLayout[half, zN].shape  # E
zN.no_such_thing  # E
RowMajor(4, 6).sise  # E
recognize()  # E
tensor = MakeTensor(None, MakeLayout((4, 2)))
tensor.originShape  # E
GetTile(tensor, (0, 0))  # E
GetTile("tensor", (0, 0), (2, 2))  # E
transpose(MakeLayout((4, 2)))  # E
copy(tensor)  # E
gemm(tensor, tensor, tensor, tile=16)  # E
gcd("4", 2)  # E
product_each("(4,2)")  # E
crd2idx((1, 0), "(4,2)")  # E
complement(MakeLayout(4), "24")  # E
MakeShape("4")  # E
