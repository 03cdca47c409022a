"""The best layout: nothing is better, by exhaustion on small tiles; the atoms of CUTLASS are found."""

import itertools
import random

import numpy as np
import pytest

from tla import ComposedLayout, MakeLayout, TlaError, gpu as g, make_identity_tensor, parse, same_map
from tla.access import Memory, access, best_swizzle
from tla.linear import LinearLayout, bits, triton

from night import NIGHT, amount

#: Four lanes and two banks: so small that every linear layout can be tried.
SMALL = Memory("SMALL", 4, 2, 32, {32: (2, ((0, 1, 2, 3),)), 64: (2, ((0, 1), (2, 3)))}, True, "a test")


def invertible(n):
    return [c for c in itertools.product(range(1, 1 << n), repeat=n) if bits.rank(c) == n]


def random_owners(rng, n):
    """Who holds what of 2^n elements: a random linear layout of 4 lanes that reaches all of it, or a blocked one."""
    while True:
        columns = [rng.randrange(1 << n) for _ in range(n)]
        if rng.random() < 0.6:
            columns = [1 << k for k in rng.sample(range(n), n)]
        if bits.rank(columns) == n:
            return LinearLayout({"register": [(c,) for c in columns[2:]], "lane": [(c,) for c in columns[:2]]}, {"dim0": 1 << n})


def test_no_linear_layout_is_better():
    """Every invertible linear layout of 8 elements, and a sample of those of 16, for two access patterns."""
    rng = random.Random(4)
    for n, rounds, sample in ((3, amount(4, 40), None), (4, amount(2, 40), None if NIGHT else 300)):
        every = invertible(n)
        for _ in range(rounds):
            write, read = random_owners(rng, n), random_owners(rng, n)
            found = best_swizzle([write], [read], 32, SMALL)
            assert found.cost == sum(access(a, found.layout, 32, memory=SMALL).total for a in (write, read))
            for columns in every if sample is None else rng.sample(every, sample):
                memory = LinearLayout({"offset": [(c,) for c in columns]}, {"dim0": 1 << n})
                assert sum(access(a, memory, 32, memory=SMALL).total for a in (write, read)) >= found.cost


def classes(n):
    """A linear layout of each class that SMALL can tell apart, columns of the offset's bits: which elements share a bank is a
    hyperplane, and which vector of 64 bits an element is in, a vector outside of it. test_no_linear_layout_is_better has them all."""
    for mask in range(1, 1 << n):  # elements of bank 0: those with an even number of bits in the mask
        inside = [x for x in range(1, 1 << n) if not (x & mask).bit_count() % 2]
        found = bits.Echelon()
        basis = [x for x in inside if found.add(x)]
        for first in range(1, 1 << n):
            if (first & mask).bit_count() % 2:
                yield [first, *basis]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6] if NIGHT else [4, 5])
def test_no_linear_layout_is_better_on_any_tile_of_64_elements(n):
    """All linear layouts of all tiles of 2^n elements, by their classes, for two access patterns."""
    rng, sample = random.Random(n), None if NIGHT else 60
    every = [*classes(n)]
    assert len(every) == ((1 << n) - 1) << (n - 1)
    for rows in range(n + 1) if NIGHT else [1]:
        for _ in range(6 if NIGHT else 2):
            shape = {"dim0": 1 << rows, "dim1": 1 << (n - rows)} if 0 < rows < n else {"dim0": 1 << n}
            write, read = (random_owners(rng, n).reshape_outs(shape) for _ in range(2))
            found = best_swizzle([write], [read], 32, SMALL)
            for columns in every if sample is None else rng.sample(every, sample):
                memory = LinearLayout({"offset": [(c,) for c in columns]}, {"dim0": 1 << n}).reshape_outs(shape)
                assert sum(access(a, memory, 32, memory=SMALL).total for a in (write, read)) >= found.cost


@pytest.mark.parametrize(("width", "swizzle"), [(16, "Sw<1,3,3>"), (32, "Sw<2,3,3>"), (64, "Sw<3,3,3>")])
def test_the_atoms_of_cutlass(width, swizzle):
    writes = MakeLayout(((width // 8, 8), 8), ((64, 1), 8))
    reads = MakeLayout(((8, width // 8), 8), ((1, 64), 8))
    found = best_swizzle([writes], [reads], 16, tile=(8, width))
    assert str(found.layout) == f"{swizzle} o _0 o (_8,_{width}):(_{width},_1)"
    assert found.certificate.met


def written(rows, width, element):
    """A tile written by one warp in vectors of 128 bits along the rows, as cp.async does, again and again."""
    vector = 128 // element
    across = [(0, vector << k) for k in range(bits.log2(width // vector))]
    places = [*across, *((1 << k, 0) for k in range(bits.log2(rows)))]
    register = [(0, 1 << k) for k in range(bits.log2(vector))]
    return LinearLayout({"register": [*register, *places[5:]], "lane": places[:5]}, {"dim0": rows, "dim1": width})


def matrices(rows, width, element):
    """ldmatrix, and wgmma's core matrices: eight lanes take 16 bytes of eight rows, then of the next ones."""
    vector = 128 // element
    register = [(0, 1 << k) for k in range(bits.log2(vector))]
    rest = [(8 << k, 0) for k in range(bits.log2(rows // 8))] + [(0, vector << k) for k in range(bits.log2(width // vector))]
    lane, more = [(1, 0), (2, 0), (4, 0), *rest[:2]], rest[2:]
    return LinearLayout({"register": [*register, *more], "lane": lane}, {"dim0": rows, "dim1": width})


def atom(swizzle, rows, width):
    return ComposedLayout(parse(f"{swizzle} o 0 o 1:1").outer, 0, MakeLayout((rows, width), (width, 1)))


#: name -> rows and columns of the tile, bits of an element, their layout of memory from (row, column) to elements.
#: CUTLASS: mma_sm90_common GMMA::Layout_K_SW*, and the swizzles of examples/cute/tutorial sgemm_sm80 and of FlashAttention-2's
#: tiles; Triton: #ttg.swizzled_shared of dot operands, #ttg.nvmma_shared; ThunderKittens: st.cuh, addr ^ (addr % repeat >> 7) << 4.
TILES = {
    "cutlass K_SW32 half": (8, 16, 16, atom("Sw<1,3,3>", 8, 16)),
    "cutlass K_SW64 half": (8, 32, 16, atom("Sw<2,3,3>", 8, 32)),
    "cutlass K_SW128 half": (8, 64, 16, atom("Sw<3,3,3>", 8, 64)),
    "cutlass K_SW32 tf32": (8, 8, 32, atom("Sw<1,2,3>", 8, 8)),
    "cutlass K_SW64 tf32": (8, 16, 32, atom("Sw<2,2,3>", 8, 16)),
    "cutlass K_SW128 tf32": (8, 32, 32, atom("Sw<3,2,3>", 8, 32)),
    "cutlass K_SW64 int8": (8, 64, 8, atom("Sw<2,4,3>", 8, 64)),
    "cutlass K_SW128 int8": (8, 128, 8, atom("Sw<3,4,3>", 8, 128)),
    "cutlass K_INTER half": (8, 8, 16, MakeLayout((8, 8), (8, 1))),
    "cutlass sgemm_sm80 half, flash attention of 64": (16, 64, 16, atom("Sw<3,3,3>", 16, 64)),
    "flash attention of 32": (16, 32, 16, atom("Sw<2,3,3>", 16, 32)),
    "triton dot operand of 32 halves": (16, 32, 16, triton.SwizzledSharedLayout(8, 2, 4, [1, 0])),
    "triton dot operand of 64 halves": (16, 64, 16, triton.SwizzledSharedLayout(8, 1, 8, [1, 0])),
    "triton dot operand of 16 halves": (16, 16, 16, triton.SwizzledSharedLayout(8, 4, 2, [1, 0])),
    "triton dot operand of 32 tf32": (16, 32, 32, triton.SwizzledSharedLayout(4, 1, 8, [1, 0])),
    "triton nvmma 128": (16, 64, 16, triton.NVMMASharedLayout(128, 16, 2)),
    "triton nvmma 64": (16, 32, 16, triton.NVMMASharedLayout(64, 16, 2)),
    "triton nvmma 32": (16, 16, 16, triton.NVMMASharedLayout(32, 16, 2)),
    "thunderkittens st_bf 16x64": (16, 64, 16, atom("Sw<3,3,3>", 16, 64)),
    "thunderkittens st_bf 16x32": (16, 32, 16, atom("Sw<2,3,3>", 16, 32)),
    "thunderkittens st_bf 16x16": (16, 16, 16, atom("Sw<1,3,3>", 16, 16)),
    "thunderkittens st_fl 16x32": (16, 32, 32, atom("Sw<3,2,3>", 16, 32)),
    "thunderkittens st_fp8 16x64": (16, 64, 8, atom("Sw<2,4,3>", 16, 64)),
}


@pytest.mark.parametrize("name", TILES if NIGHT else [*TILES][::3])
def test_never_worse_than_kernels_of_today(name):
    """A tile written in rows and read as matrices: as CUTLASS, Triton and ThunderKittens lay it out, and as it is found here."""
    rows, width, element, theirs = TILES[name]
    theirs = theirs.linear([rows, width]) if hasattr(theirs, "linear") else theirs
    write, read = written(rows, width, element), matrices(rows, width, element)
    cost = [access(a, theirs, element, 128) for a in (write, read)]
    found = best_swizzle([write], [read], element)
    assert found.cost <= sum(c.total for c in cost)
    assert found.certificate.met
    if "INTER" not in name:
        assert [c.degree for c in cost] == [1, 1]  # theirs are free of conflicts: the bound is met, not passed
        assert found.cost == sum(c.total for c in cost)


def test_never_worse_than_tritons_swizzle():
    """Accumulator to rows of 16 bytes, and a transpose: against Triton's swizzled layouts."""
    acc = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]).linear([32, 32])
    rows = triton.BlockedLayout([1, 8], [8, 4], [4, 1], [1, 0]).linear([32, 32])
    columns = triton.BlockedLayout([8, 1], [4, 8], [1, 4], [0, 1]).linear([32, 32])
    for write, read, element in ((acc, rows, 16), (rows, columns, 32)):
        found = best_swizzle([write], [read], element)
        for vec, per_phase, max_phase in itertools.product((1, 4, 8), (1, 2), (1, 4, 8)):
            other = triton.SwizzledSharedLayout(vec, per_phase, max_phase, [1, 0]).linear([32, 32])
            assert sum(access(a, other, element).total for a in (write, read)) >= found.cost


def test_partitions_are_owners():
    """Of an identity tensor, by the same threads as the (thread, value) layouts of CUTLASS's SW128."""
    tensor, atom = make_identity_tensor((8, 64)), g.Copy_Atom[g.UniversalCopy[g.uint128], g.half]
    parts = [
        g.make_tiled_copy(atom, parse(threads), parse("(_1,_8):(_0,_1)"))[np.arange(32)].partition_S(tensor)
        for threads in ("(_4,_8):(_8,_1)", "(_8,_4):(_1,_8)")
    ]
    found = best_swizzle(parts[:1], parts[1:], 16)
    assert str(found.layout) == "Sw<3,3,3> o _0 o (_8,_64):(_64,_1)"
    assert found.certificate.met
    assert found.cost == sum(access(part, found.layout, 16).total for part in parts)
    for tile, says in (((8, 32), "a place for each"), ((8, 64, 2), "2 extents")):
        with pytest.raises(TlaError, match=says):
            best_swizzle(parts, [], 16, tile=tile)


def test_the_certificate():
    free = best_swizzle([parse("(32,1):(1,0)")], [], 32)
    assert str(free.layout) == "_32:_1"
    assert free.certificate.met
    assert free.cost == 1
    found = best_swizzle([triton.BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0]).linear([8, 32])], [], 16)
    memory = found.triton.linear([8, 32]).invert()
    assert all(memory.apply({"dim0": i, "dim1": j})["offset"] == found.layout(i, j) for i in range(8) for j in range(32))


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: best_swizzle([], [], 16), "no accesses"),
        (lambda: best_swizzle([parse("(32,1):(1,0)")], [parse("(32,2):(1,32)")], 32), "one tile"),
        (lambda: best_swizzle([parse("(32,1):(3,0)")], [], 32), "a power of two"),
        (lambda: best_swizzle([parse("(4,2):(1,3)")], [], 32, tile=(8,)), "not linear over bits"),
        (lambda: best_swizzle([parse("(32,8):(8,1)")], [], 16, tile=(8, 16)), "a place for each"),
        (lambda: best_swizzle([parse("(32,1):(1,0)")], [], 32, "NVIDIA_GLOBAL"), "a memory with banks"),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f()


def test_registers_that_depend_on_each_other():
    """Values with several owners: the vectors are those registers that are independent."""
    rng = random.Random(9)
    for _ in range(30):
        made = []
        for _side in range(2):
            columns = [rng.randrange(1 << 5) for _ in range(7)]
            made.append(LinearLayout({"register": [(c,) for c in columns[2:]], "lane": [(c,) for c in columns[:2]]}, {"dim0": 32}))
        found = best_swizzle([made[0]], [made[1]], 32, SMALL)
        assert found.cost >= found.certificate.bound


def test_the_same_as_a_map():
    assert same_map(best_swizzle([parse("(32,1):(1,0)")], [], 32).layout, parse("_32:_1"))
