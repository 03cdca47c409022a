"""One door: convert takes what access takes as owners. Each such input beside each other one, run on the elements that
it holds by hand."""

import functools
import itertools

import numpy as np
import pytest

from tla import TlaError, make_identity_tensor, make_tensor, parse
from tla.access import access, convert, patterns
from tla.gpu import Copy_Atom, SM80_16x8x16_F32F16F16F32_TN, UniversalCopy, half, make_tiled_copy, uint128
from tla.linear import LinearLayout, radix

from night import some
from ptx_rules import matrix_loaded

#: Lane, register; the tile is 16 by 16, the index of an element is row + 16 * column.
LANE, REGISTER = np.meshgrid(np.arange(32), np.arange(8), indexing="ij")
ROWS = LANE // 2 + 16 * (LANE % 2 * 8 + REGISTER)


def fragment(transposed):
    """What ldmatrix.x4 gives of the tile: lane i gives the address of row i % 16, columns 0 to 7 or 8 to 15."""
    lane, k = np.arange(32)[:, None], np.arange(8)
    rows = lane % 16 + 16 * (lane // 16 * 8 + k)
    return matrix_loaded(4, transposed, rows[None, :, :, None])[0, :, :, 0]


def operand():
    """A of mma.m16n8k16, by the figure of the PTX manual: a pair of a row, below it 8 rows on, then 8 columns on."""
    row = LANE // 4 + REGISTER // 2 % 2 * 8
    return row + 16 * (LANE % 4 * 2 + REGISTER % 2 + REGISTER // 4 * 8)


@functools.cache
def part(of):
    """The partition of 16 by 16 by lanes that have 8 elements of a row each: of coordinates, or of a memory whose
    columns are contiguous."""
    copy = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_16,_2):(_2,_1)"), parse("(_1,_8):(_0,_1)"))
    tensor = make_identity_tensor((16, 16)) if of == "coordinates" else make_tensor(None, parse("(_16,_16):(_1,_16)"))
    return copy[np.arange(32)].partition_S(tensor)


def bases(register, lane, name=""):
    if name:
        return LinearLayout({"register": [(x,) for x in register], "lane": [(x,) for x in lane]}, {name: 256})
    return LinearLayout(
        {d: [(x % 16, x // 16) for x in of] for d, of in (("register", register), ("lane", lane))},
        {"dim0": 16, "dim1": 16},
    )


INPUTS = {
    "linear onto coordinates": (bases([16, 32, 64], [128, 1, 2, 4, 8]), ROWS),
    "linear onto the index": (bases([1, 2, 4], [8, 16, 32, 64, 128], "index"), 8 * LANE + REGISTER),
    "thread and value": (parse("(32,8):(8,1)"), 8 * LANE + REGISTER),
    "an atom's operand": (SM80_16x8x16_F32F16F16F32_TN.A, operand()),
    "swizzled": (parse("Sw<2,0,3> o 0 o (32,8):(8,1)"), 8 * LANE + REGISTER ^ LANE % 4),
    "coordinates": (parse("((2,16),8):((8@1,1@0),1@1)"), ROWS),
    "a partition of coordinates": (part("coordinates"), ROWS),
    "ldmatrix": ("ldmatrix.x4", fragment(False)),
    "ldmatrix transposed": ("LDMATRIX.x4.trans", fragment(True)),
    "stmatrix": ("stmatrix", fragment(False)),
    "a pattern": (next(p for p in patterns() if p.name == "cp.async.16"), ROWS),
    "a row": ("a row", (16 * LANE + LANE // 16) % 256 + 2 * REGISTER),
    "a column": ("global column", LANE % 16 + 16 * (LANE // 16 + 2 * REGISTER)),
    "digits": (radix("thread=32:8, value=8:1 -> index=256"), 8 * LANE + REGISTER),
}


def ran(plan, given, wanted):
    """Whether the plan brings the elements of each lane to where they are wanted."""
    shape = (1, *given.shape) if "warp" in getattr(plan.src, "in_sizes", {"warp": 1}) else given.shape
    return np.array_equal(plan.run(given.reshape(shape)).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("first", some(INPUTS, 2))
def test_each_input_beside_each_other(first):
    for second in INPUTS:
        (src, given), (dst, wanted) = INPUTS[first], INPUTS[second]
        plan = convert(src, dst, 16, tile=(16, 16))
        assert ran(plan, given, wanted), (first, second, str(plan))
        if (given == wanted).all():
            assert plan.kind == "registers", (first, second)
        if "digits" not in first:
            access(src, parse("(16,16):(1,16)"), 16)


def test_the_tile_is_what_a_side_says():
    for first, second in itertools.product(
        ["linear onto coordinates", "coordinates", "a partition of coordinates"], ["ldmatrix", "a pattern"]
    ):
        for a, b in ((first, second), (second, first)):
            (src, given), (dst, wanted) = INPUTS[a], INPUTS[b]
            assert ran(convert(src, dst, 16), given, wanted)


def test_partitions_of_memory_are_owners_of_its_offsets():
    src, dst = part("offsets"), parse("(32,8):(8,1)")
    assert ran(convert(src, dst, 16), ROWS, 8 * LANE + REGISTER)
    assert convert(src, src).kind == "registers"


def test_odd_extents():
    """Coordinates and names of a tile of 24 by 8: lanes of digits, values that are no powers of two."""
    lane, k = np.meshgrid(np.arange(32), np.arange(6), indexing="ij")
    by_hand = (lane // 4 + 8 * (k // 2)) + 24 * (lane % 4 * 2 + k % 2)
    owners = parse("((4,8),(2,3)):((2@1,1@0),(1@1,8@0))")
    plan = convert(owners, parse("(32,6):(6,1)"), tile=(24, 8))
    assert ran(plan, by_hand, 6 * lane + k)
    assert ran(convert("a row", owners, tile=(24, 8)), plan_of_rows(lane, k), by_hand)
    with pytest.raises(TlaError, match="whole matrices of 8 rows"):
        convert("ldmatrix.x4", owners, 16, tile=(24, 8))


def plan_of_rows(lane, k):
    """An element a lane along rows of 8, four rows at a time."""
    return lane // 8 + 4 * k + 24 * (lane % 8)


def test_other_matrices():
    """x1 and x2, bytes and words: a lane has 32 bits of its row of each matrix."""
    for n, bits in itertools.product((1, 2, 4), (8, 16, 32)):
        count, together = 128 // bits, 32 // bits
        rows, columns = (16, 2 * count) if n == 4 else (8, n * count)
        lane, k = np.meshgrid(np.arange(32), np.arange(together * n), indexing="ij")
        matrix = k // together
        below, beside = (matrix % 2, matrix // 2) if n == 4 else (0, matrix)
        wanted = lane // 4 + 8 * below + rows * (lane % 4 * together + k % together + beside * count)
        plan = convert(parse(f"(32,{together * n}):({together * n},1)"), f"ldmatrix.x{n}", bits, tile=(rows, columns))
        assert ran(plan, together * n * lane + k, wanted)


def test_each_usual_access_is_as_access_has_it():
    """Of lanes' vectors the owners are those that are counted; the machine is that of the access."""
    for p in patterns():
        if p.matrices or p.fills or p.memory.name == "ASCEND_UB":
            continue
        owners = p.owners((64, 64), 16)
        plan = convert(p.name, owners, 16, tile=(64, 64))
        assert plan.kind == "registers"
        plan = convert(owners, p, half, tile=(64, 64), through="memory")
        held = np.array([[int(owners(t, v)) for v in range(4096 // p.lanes)] for t in range(p.lanes)])
        assert ran(plan, held, held)
    asked = convert("ds_read_b128 gfx950", parse("(64,16):(16,1)"), 16, tile=(32, 32))
    assert asked.why.split(" of ")[1].startswith("gfx950")


def test_the_width_is_what_a_side_says():
    held = make_tensor(np.arange(256, dtype=np.float16), parse("(_16,_16):(_1,_16)"))
    copy = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_16,_2):(_2,_1)"), parse("(_1,_8):(_0,_1)"))
    src = copy[np.arange(32)].partition_S(held)
    assert convert(src, parse("(32,8):(8,1)")).element_bits == 16
    assert convert(parse("(32,8):(1,32)"), parse("(32,8):(8,1)")).element_bits == 32
    assert convert(parse("(32,8):(1,32)"), parse("(32,8):(8,1)"), half).element_bits == 16
    with pytest.raises(TlaError, match="16 bits"):
        convert(src, parse("(32,8):(8,1)"), 32)


def test_blocks_convert_what_they_hold():
    """Blocks of 64 elements each: the plan is that of one, and the buffer as small."""
    block = {"block": [(64,), (128,)]}
    registers, lanes = [(1,)], [(2,), (4,), (8,), (16,), (32,)]
    first = LinearLayout({"register": registers, "lane": lanes, **block}, {"dim0": 256})
    second = LinearLayout({"register": [lanes[-1]], "lane": [*registers, *lanes[:-1]], **block}, {"dim0": 256})
    lane, k = np.meshgrid(np.arange(32), np.arange(2), indexing="ij")
    for through in ("shuffle", "memory"):
        plan = convert(first, second, through=through)
        assert ran(plan, 2 * lane + k, lane + 32 * k)
        assert plan.bytes in (0, 256)
    with pytest.raises(TlaError, match="values leave their block"):
        convert(first, LinearLayout({**second.bases, "block": [(128,), (64,)]}, {"dim0": 256}))


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda tv: convert("ldmatrix.x4", tv, 16), r"write tile=\(rows, columns\)"),
        (lambda tv: convert("ldmatrix.x3", tv, 16, tile=(16, 16)), "an access by ldmatrix.x3"),
        (lambda tv: convert("ldmatrix.x4", tv, 64, tile=(16, 16)), "elements of 32 bits at most"),
        (lambda tv: convert("ldmatrix.x4", tv, 16, tile=(8, 8)), "whole matrices"),
        (lambda tv: convert("UB rows", tv, 16, tile=(16, 16)), "it has blocks of one instruction"),
        (lambda tv: convert("ds_read_b128", "ds_read_b128 gfx950", 16, tile=(32, 32)), "one machine"),
        (lambda tv: convert("ldmatrix.x4", parse("(128,8):(8,1)"), 16, tile=(32, 32)), "of one warp"),
        (lambda tv: convert(tv, tv, tile=(16, 8)), "owners of 256 elements in a tile of 128"),
        (lambda tv: convert(tv, tv, tile=(16, 0)), "extents of 1 or more"),
        (lambda tv: convert(tv, tv, tile=()), "extents of 1 or more"),
        (lambda tv: convert(bases([16, 32, 64], [128, 1, 2, 4, 8]), tv, tile=(8, 32)), "one tile"),
        (lambda tv: convert(part("offsets"), bases([16, 32, 64], [128, 1, 2, 4, 8])), "partition make_identity_tensor"),
        (lambda tv: convert(part("offsets"), part("coordinates")), "coordinates and of offsets"),
        (lambda tv: convert(part("coordinates"), tv, tile=(8, 32)), "in a tile of"),
        (lambda tv: convert(INPUTS["coordinates"][0], INPUTS["digits"][0]), r"write tile=\(16, 16\)"),
        (lambda tv: convert(tv, parse("(2,4,8):(1,2,8)")), "two modes, thread and value"),
        (lambda tv: convert(tv, [1, 2]), r"as mma\.C_TV"),
    ],
)
def test_refused(f, says):
    with pytest.raises(TlaError, match=says):
        f(parse("(32,8):(8,1)"))


def test_a_partition_that_no_layout_is():
    tensor = make_identity_tensor((16, 16))
    copy = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], parse("(_16,_2):(_2,_1)"), parse("(_1,_8):(_0,_1)"))
    turned = copy[np.array([0, 1, 2, 5])].partition_S(tensor)
    with pytest.raises(TlaError, match="no layout of threads and values"):
        convert(turned, part("coordinates"))
    with pytest.raises(TlaError, match="where a tile begins"):
        convert(copy[np.arange(8, 16)].partition_S(tensor), part("coordinates"))
