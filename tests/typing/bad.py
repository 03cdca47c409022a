"""What type checkers must report: each line with `# E`, and no other."""

from tla import Int, Layout, MakeLayout, MakeLayoutTile, Shape, get, parse, rank, xla
from tla import MakeLayuot  # E
from tla.ascend import half, zN

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
