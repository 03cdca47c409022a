"""The best layout: nothing is better, by exhaustion on small tiles; the atoms of CUTLASS are found."""

import itertools
import random

import pytest

from tla import MakeLayout, TlaError, parse, same_map
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


@pytest.mark.parametrize(("width", "swizzle"), [(16, "Sw<1,3,3>"), (32, "Sw<2,3,3>"), (64, "Sw<3,3,3>")])
def test_the_atoms_of_cutlass(width, swizzle):
    writes = MakeLayout(((width // 8, 8), 8), ((64, 1), 8))
    reads = MakeLayout(((8, width // 8), 8), ((1, 64), 8))
    found = best_swizzle([writes], [reads], 16, tile=(8, width))
    assert str(found.layout) == f"{swizzle} o _0 o (_8,_{width}):(_{width},_1)"
    assert found.certificate.met


def test_never_worse_than_tritons_swizzle():
    """Accumulator to rows of 16 bytes, and a transpose: against Triton's swizzled layouts."""
    acc = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]).linear([32, 64])
    rows = triton.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]).linear([32, 64])
    columns = triton.BlockedLayout([8, 1], [4, 8], [1, 4], [0, 1]).linear([32, 64])
    for write, read, element in ((acc, rows, 16), (rows, columns, 32)):
        found = best_swizzle([write], [read], element)
        for vec, per_phase, max_phase in itertools.product((1, 4, 8), (1, 2), (1, 4, 8)):
            other = triton.SwizzledSharedLayout(vec, per_phase, max_phase, [1, 0]).linear([32, 64])
            assert sum(access(a, other, element).total for a in (write, read)) >= found.cost


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
