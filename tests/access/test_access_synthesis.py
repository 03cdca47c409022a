"""The best layout: nothing is better, by exhaustion on small tiles; the atoms of CUTLASS are found."""

import itertools
import random

import numpy as np
import pytest

from tla import ComposedLayout, MakeLayout, TlaError, gpu as g, make_identity_tensor, offsets, parse, same_map
from tla.access import Memory, access, best_swizzle
from tla.codegen import emit, plan
from tla.linear import LinearLayout, bits, triton

import executed
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
            return LinearLayout(
                {"register": [(c,) for c in columns[2:]], "lane": [(c,) for c in columns[:2]]}, {"dim0": 1 << n}
            )


def merit(accesses, memory):
    """What is compared: fewer wavefronts, then longer vectors."""
    found = [access(a, memory, 32, memory=SMALL) for a in accesses]
    return sum(f.total for f in found), -sum(f.vector for f in found)


def test_no_linear_layout_is_better():
    """Every invertible linear layout of 8 elements, and a sample of those of 16, for two access patterns,
    any linear ones."""
    rng = random.Random(4)
    for n, rounds, sample in ((3, amount(3, 40), None), (4, amount(2, 40), None if NIGHT else 120)):
        every = invertible(n)
        for _ in range(rounds):
            accesses = random_owners(rng, n), random_owners(rng, n)
            found = best_swizzle(accesses[:1], accesses[1:], 32, SMALL)
            mine = (found.cost, -sum(found.vectors))
            assert mine == merit(accesses, found.layout)
            for columns in every if sample is None else rng.sample(every, sample):
                memory = LinearLayout({"offset": [(c,) for c in columns]}, {"dim0": 1 << n})
                assert merit(accesses, memory) >= mine


def counted_classes(n):
    """Wavefronts and vector of each linear layout that SMALL can tell apart, counted for lanes of bits 0 and 1, as
    (mask, first).

    Bank 0 has the elements with an even number of bits in the mask; an aligned vector of 64 bits has an element and
    that with `first` xored, which is of the other bank. Registers are the other bits; where `first` is one of them,
    lanes have vectors of 64 bits.
    """
    found = {}
    for mask, first in itertools.product(range(1, 1 << n), repeat=2):
        if (first & mask).bit_count() % 2:
            wide = first in [1 << k for k in range(2, n)]
            total = 0
            for register in range(0, 1 << n, 4):
                if wide and register & first:
                    continue
                words = [
                    [register | lane, (register | lane) ^ first] if wide else [register | lane] for lane in range(4)
                ]
                for group in (words[:2], words[2:]) if wide else (words,):
                    banks = [(x & mask).bit_count() % 2 for lane in group for x in lane]
                    total += max(banks.count(0), banks.count(1))
            found[mask, first] = total, 64 if wide else 32
    return found


def renamed(order, x):
    """The bits of x under a pattern's own names of them: its bit k is bit order[k] of the tile."""
    return sum(1 << k for k, bit in enumerate(order) if x >> bit & 1)


def pairs_of_patterns(rng, n):
    """Two access patterns and the first extent of a tile of 2^n elements: each bit of it is a lane's or a register's,
    in any order."""
    patterns, splits = [*itertools.permutations(range(n))], range(n)
    if n < (5 if NIGHT else 4):
        return [*itertools.product(patterns, patterns, splits)]
    if n == 5 and NIGHT:
        return [(w, r, rng.choice(splits)) for w in patterns for r in patterns]
    some = [patterns[0], *rng.sample(patterns, 4)] if NIGHT else rng.sample(patterns, 2)
    return [(w, r, rng.choice(splits)) for w in some for r in (patterns if NIGHT else rng.sample(patterns, 12))]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_no_layout_is_better_on_any_tile_of_64_elements(n):
    """Against the count of all linear layouts, by their classes; and as every one meets the bound, no layout at all has
    fewer wavefronts.

    By night all pairs of up to 32 elements, of up to 16 for each tile of two extents, and of 64 all
    patterns beside five others.
    """
    rng, table = random.Random(n), counted_classes(n)
    assert len(table) == ((1 << n) - 1) << (n - 1)
    for *orders, rows in pairs_of_patterns(rng, n):
        shape = {"dim0": 1 << rows, "dim1": 1 << (n - rows)} if rows else {"dim0": 1 << n}
        bases = [[(1 << bit,) for bit in order] for order in orders]
        write, read = (
            LinearLayout({"lane": b[:2], "register": b[2:]}, {"dim0": 1 << n}).reshape_outs(shape) for b in bases
        )
        found = best_swizzle([write], [read], 32, SMALL)
        assert (
            found.cost == 2 * (1 << n) // SMALL.banks
        )  # each element is a word, which one bank has once for each access
        assert found.certificate.met
        both = [[table[renamed(o, mask), renamed(o, first)] for o in orders] for mask, first in table]
        best = min((w[0] + r[0], -w[1] - r[1]) for w, r in both)
        assert (found.cost, -sum(found.vectors)) == best
        assert merit((write, read), found.layout) == best


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
    rest = [(8 << k, 0) for k in range(bits.log2(rows // 8))] + [
        (0, vector << k) for k in range(bits.log2(width // vector))
    ]
    lane, more = [(1, 0), (2, 0), (4, 0), *rest[:2]], rest[2:]
    return LinearLayout({"register": [*register, *more], "lane": lane}, {"dim0": rows, "dim1": width})


def atom(swizzle, rows, width):
    return ComposedLayout(parse(f"{swizzle} o 0 o 1:1").outer, 0, MakeLayout((rows, width), (width, 1)))


#: name -> rows and columns of the tile, bits of an element, their layout of memory from (row, column) to elements.
#: CUTLASS: mma_sm90_common GMMA::Layout_K_SW*, and the swizzles of examples/cute/tutorial sgemm_sm80 and of
#: FlashAttention-2's tiles; Triton: #ttg.swizzled_shared of dot operands, #ttg.nvmma_shared; ThunderKittens: st.cuh,
#: addr ^ (addr % repeat >> 7) << 4.
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
    """A tile written in rows and read as matrices: as CUTLASS, Triton and ThunderKittens lay it out, and as it
    is found here."""
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
    phases = [(1, 1), *itertools.product((1, 2), (4, 8))]  # of one phase nothing is swizzled
    theirs = [
        triton.SwizzledSharedLayout(vec, *phase, [1, 0]).linear([32, 32])
        for vec, phase in itertools.product((1, 4, 8), phases)
    ]
    distinct = [other for k, other in enumerate(theirs) if other not in theirs[:k]]
    for write, read, element in ((acc, rows, 16), (rows, columns, 32)):
        found = best_swizzle([write], [read], element)
        for other in distinct:
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


def test_the_c_of_what_is_found(tmp_path):
    """codegen.emit of plain layouts, of one swizzle and of chains of them: compiled, it has their offsets; and so has
    the Triton layout."""
    rng, found = random.Random(4), [best_swizzle([parse("(32,1):(1,0)")], [], 32)]
    for width in (16, 32, 64):
        found.append(best_swizzle([written(8, width, 16)], [matrices(8, width, 16)], 16))
    for _ in range(4):
        accesses = [random_owners(rng, 5).reshape_outs({"dim0": 4, "dim1": 8}) for _ in range(3)]
        found.append(best_swizzle(accesses[:1], accesses[1:], 32, SMALL))
    written_, operand = (
        triton.BlockedLayout([2, 1], [8, 4], [2, 2], [0, 1]),
        triton.DotOperandLayout(1, triton.NVMMADistributedLayout([2, 0], [1, 4], [16, 8]), 1),
    )
    found.append(best_swizzle([written_.linear([32, 32])], [operand.linear([32, 32])], 32))
    assert {min(2, str(f.layout).count("Sw<")) for f in found} == {0, 1, 2}
    cases = []
    for k, f in enumerate(found):
        layout, name = f.layout, f"f{k}"
        wanted = np.asarray(offsets(layout), np.int64).ravel(order="F")
        extents = tuple(offsets(layout).shape)
        cases.append(executed.Case(emit(layout, "c", name=name), name, extents, (), wanted, str(plan(layout).integer)))
        memory = f.triton.linear([*extents])
        assert [memory.apply({"offset": int(n), "block": 0}) for n in wanted] == [
            {f"dim{i}": int(x) for i, x in enumerate(np.unravel_index(j, extents, order="F"))}
            for j in range(len(wanted))
        ]
    for got, c in zip(executed.run(cases, tmp_path), cases):
        assert (got == c.wanted).all(), c.text


def test_elements_narrower_than_any_access():
    """4 bits, of which a byte is the least that is read: lanes hold pairs down a column, so rows are no candidate."""
    columns = LinearLayout({"register": [(1, 0)], "lane": [(0, 1 << k) for k in range(5)]}, {"dim0": 2, "dim1": 32})
    found = best_swizzle([columns], [], 4)
    assert (str(found.layout), found.vectors) == ("(_2,_32):(_1,_2)", (8,))
    rows = LinearLayout(
        {"register": [(0, 1)], "lane": [(0, 2), (0, 4), (0, 8), (0, 16), (1, 0)]}, {"dim0": 2, "dim1": 32}
    )
    with pytest.raises(TlaError, match="in no layout has every lane whole vectors of 8 bits"):
        best_swizzle([columns], [rows], 4)


def test_the_certificate():
    free = best_swizzle([parse("(32,1):(1,0)")], [], 32)
    assert str(free.layout) == "_32:_1"
    assert free.certificate.met
    assert free.cost == 1
    found = best_swizzle([triton.BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0]).linear([8, 32])], [], 16)
    memory = found.triton.linear([8, 32]).invert()
    assert all(
        memory.apply({"dim0": i, "dim1": j})["offset"] == found.layout(i, j) for i in range(8) for j in range(32)
    )


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: best_swizzle([], [], 16), "no accesses"),
        (lambda: best_swizzle([parse("(32,1):(1,0)")], [], 0), "elements of 0 bits"),
        (lambda: best_swizzle([parse("(32,1):(1,0)")], [], 3), "elements of 3 bits"),
        (lambda: best_swizzle([parse("(32,1):(1,0)")], [], 256), "elements of 256 bits"),
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
    for _ in range(amount(15, 300)):
        made = []
        for _side in range(2):
            columns = [rng.randrange(1 << 5) for _ in range(7)]
            made.append(
                LinearLayout(
                    {"register": [(c,) for c in columns[2:]], "lane": [(c,) for c in columns[:2]]}, {"dim0": 32}
                )
            )
        found = best_swizzle([made[0]], [made[1]], 32, SMALL)
        assert found.cost >= found.certificate.bound


def test_the_same_as_a_map():
    assert same_map(best_swizzle([parse("(32,1):(1,0)")], [], 32).layout, parse("_32:_1"))
