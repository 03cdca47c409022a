"""Triton 3.9, asked by its own C++, against random layouts: their bases, their texts, and that their repr is Gluon.

Without Triton: what its text says is read, and layouts that Gluon has no class of are counted element by element.
"""

import itertools
import math
import random

import pytest
from triton_asked import asked

from tla import TlaError, gpu as g, parse, same_map
from tla.access import access
from tla.linear import LinearLayout
from tla.linear.triton import (
    AMDMFMALayout,
    AMDRotatingSharedLayout,
    AMDWMMALayout,
    BlockedLayout,
    DistributedLinearLayout,
    DotOperandLayout,
    NVMMADistributedLayout,
    NVMMASharedLayout,
    PaddedSharedLayout,
    PartitionedSharedLayout,
    SharedLinearLayout,
    SliceLayout,
    SwizzledSharedLayout,
    TensorMemoryLayout,
    TensorMemoryScalesLayout,
    from_text,
    from_thread_values,
    from_type,
    to_text,
    to_thread_values,
)

from night import amount


def power(rng, most):
    return 1 << rng.randint(0, most)


def split(rng, rank, bits):
    """A power of two as one for each dimension."""
    found = [1] * rank
    for _ in range(bits):
        found[rng.randrange(rank)] *= 2
    return found


def order(rng, rank):
    return rng.sample(range(rank), rank)


def cga(rng, rank):
    """Blocks of a cluster: parts of the tensor, or the same part again."""
    if rng.random() < 0.7:
        return []
    sizes, vectors = [1] * rank, []
    for _ in range(rng.randint(1, 3)):
        d = rng.randrange(rank + 1)
        vectors.append([sizes[k] if k == d else 0 for k in range(rank)])
        if d < rank:
            sizes[d] *= 2
    return vectors


def blocked(rng, rank):
    return BlockedLayout(
        split(rng, rank, rng.randint(0, 4)),
        split(rng, rank, 5),
        split(rng, rank, rng.randint(0, 3)),
        order(rng, rank),
        cga(rng, rank),
    )


def mma(rng, rank):
    batch = [1] * (rank - 2)
    warps = split(rng, rank, rng.randint(0, 3))
    if rng.random() < 0.5 or rank == 3:
        return NVMMADistributedLayout([2, 0], warps, [*batch, 16, 8], cga(rng, rank))
    return NVMMADistributedLayout(
        [3, 0], [4 * power(rng, 1), power(rng, 1)], [16, 8 * power(rng, 4), 16], cga(rng, rank)
    )


def mfma(rng, rank):
    shape = rng.choice([[32, 32, 8], [16, 16, 16], [64, 4, 4], [4, 64, 4]])
    transposed = rng.random() < 0.5 or shape[:2] == [64, 4]
    bits = 64 if shape[0] == 16 and rng.random() < 0.3 else 32
    per_warp = [1] * (rank - 2) + [power(rng, 1), power(rng, 1)] if rng.random() < 0.3 else None
    return AMDMFMALayout(
        rng.randint(1, 4), shape, transposed, split(rng, rank, rng.randint(0, 3)), bits, per_warp, cga(rng, rank)
    )


def wmma(rng, rank):
    version = rng.randint(1, 3)
    shape = rng.choice({1: [[16, 16, 16]], 2: [[16, 16, 16]], 3: [[16, 16, 32], [16, 16, 64], [16, 16, 128]]}[version])
    sizes, vectors = [1] * rank, []
    for _ in range(rng.randint(0, 4)):
        d = rng.randrange(rank)
        vectors.append([sizes[k] if k == d else 0 for k in range(rank)])
        sizes[d] *= 2
    rng.shuffle(vectors)
    cut = rng.randint(0, len(vectors))
    return AMDWMMALayout(version, rng.random() < 0.5, vectors[:cut], vectors[cut:], shape, cga(rng, rank), rank)


def operand(rng, rank):
    parent = rng.choice([blocked, mma, mfma, wmma])(rng, rank)
    index = rng.randint(0, 1)
    if isinstance(parent, BlockedLayout):
        return DotOperandLayout(index, parent, 0)
    widths = (
        {1: (16,), 2: (8, 16), 3: (2, 4, 8, 16)}[parent.version] if isinstance(parent, AMDWMMALayout) else (1, 2, 4, 8)
    )
    return DotOperandLayout(index, parent, rng.choice(widths))


def sliced(rng, rank):
    if rank < 3:
        parent = rng.choice([blocked, mma, mfma, wmma, operand])(rng, rank + 1) if rank else blocked(rng, 1)
        return SliceLayout(rng.randrange(parent.rank), parent)
    return SliceLayout(rng.randrange(4), blocked(rng, 4))


def linear(rng, rank):
    """Bases of a tensor of powers of two, in any order; some hold nothing of their own."""
    shape = [power(rng, 5) for _ in range(rank)]
    vectors = [
        [1 << k if i == d else 0 for i in range(rank)] for d, n in enumerate(shape) for k in range(n.bit_length() - 1)
    ]
    rng.shuffle(vectors)
    zero = [0] * rank
    lanes = [vectors.pop() if vectors and rng.random() < 0.9 else zero for _ in range(5)]
    warps = [vectors.pop() if vectors and rng.random() < 0.9 else zero for _ in range(rng.randint(0, 3))]
    return DistributedLinearLayout(vectors, lanes, warps, [], shape)


def swizzled(rng, rank):
    return SwizzledSharedLayout(power(rng, 4), power(rng, 3), power(rng, 4), order(rng, rank), cga(rng, rank))


def nvmma_shared(rng, rank):
    padded = rng.random() < 0.15
    width, bits = (128, 8) if padded else (rng.choice([0, 32, 64, 128]), rng.choice([8, 16, 32]))
    return NVMMASharedLayout(width, bits, rank, rng.random() < 0.5 and rank == 2, padded, cga(rng, rank))


def shared_linear(rng, rank):
    shape = [power(rng, 5) for _ in range(rank)]
    vectors = [
        [1 << k if i == d else 0 for i in range(rank)] for d, n in enumerate(shape) for k in range(n.bit_length() - 1)
    ]
    rng.shuffle(vectors)
    return SharedLinearLayout(vectors or [[1] + [0] * (rank - 1)], [], power(rng, 7))


def partitioned(rng, rank):
    return PartitionedSharedLayout(
        2 * power(rng, 1),
        power(rng, 2),
        rng.randrange(rank),
        SwizzledSharedLayout(power(rng, 3), power(rng, 2), power(rng, 3), order(rng, rank)),
    )


def tensor_memory(rng, _rank):
    padded = rng.random() < 0.3
    return TensorMemoryLayout(
        [rng.choice([64, 128]), 8 * power(rng, 5)], 1 if padded else power(rng, 1), fp4_padded=padded
    )


def scales(rng, _rank):
    return TensorMemoryScalesLayout([], rng.choice(["mnThenK", "kThenMn"]))


KINDS = [
    blocked,
    mma,
    mfma,
    wmma,
    operand,
    sliced,
    linear,
    swizzled,
    nvmma_shared,
    shared_linear,
    partitioned,
    tensor_memory,
    scales,
]


def a_case(rng):
    """A layout, and a shape of a tensor that may be smaller or larger than what the layout tiles."""
    kind = rng.choice(KINDS)
    rank = {
        mma: (2, 2, 3),
        mfma: (2, 2, 3),
        wmma: (2, 3),
        operand: (2, 2, 3),
        linear: (1, 2, 3),
        tensor_memory: (2,),
        scales: (2,),
    }.get(kind)
    layout = kind(rng, rng.choice(rank or (1, 2, 2, 3)))
    if isinstance(layout, (SharedLinearLayout, DistributedLinearLayout)) and rng.random() < 0.7:
        return layout, [*layout.shape]
    return layout, [power(rng, 8 if layout.rank < 3 else 6) for _ in range(layout.rank)]


def cases(rng, count):
    """Cases that are answered here; those refused are counted."""
    found, refused = [], []
    while len(found) < count:
        layout, shape = a_case(rng)
        if math.prod(shape) <= 1 << 16:
            try:
                found.append((layout, shape, layout.linear(shape)))
            except TlaError:
                refused.append((layout, shape))
    return found, refused


def gluon(layout):
    """The Python of a layout: its repr, but of what Gluon has no parameter of."""
    if isinstance(layout, TensorMemoryScalesLayout) and layout.block_rep_order != "mnThenK":
        return f"repeated_scales({[*layout.cga_layout]!r}, {layout.block_rep_order!r})"
    return repr(layout)


def bases_of(linear):
    return {name: [[*v] for v in vectors] for name, vectors in linear.bases.items()}


def texts_differ(layout, shape, text):
    """Whether Triton prints a layout otherwise, or its text is read as another one."""
    try:
        mine = to_text(layout)
    except TlaError:  # of WMMA's of rank 3 without bases, of which Triton's text says no rank
        return "ctaLayout = {}" not in text
    return mine != text or from_text(text).linear(shape) != layout.linear(shape)


def test_random_layouts_are_tritons():
    """Bases and text of each, from its repr as Python; what Triton refuses or aborts on is left out."""
    release = pytest.importorskip("triton").__version__
    if tuple(map(int, release.split(".")[:2])) < (3, 9):
        pytest.skip(f"Triton {release}, not 3.9")
    found, _ = cases(random.Random(9), amount(50, 3150))
    answers = asked([(gluon(layout), shape) for layout, shape, _ in found])
    answered, different = 0, []
    for (layout, shape, linear), answer in zip(found, answers):
        assert eval(repr(layout)) == layout
        if answer is not None:
            answered += 1
            if bases_of(linear) != {**bases_of(linear), **answer["bases"]} or texts_differ(
                layout, shape, answer["text"]
            ):
                different.append((layout, shape, bases_of(linear), answer))
    assert not different, (len(different), different[:2])
    assert answered >= amount(40, 3000)


@pytest.mark.parametrize(("vec", "per_phase", "max_phase"), [(1, 1, 1), (2, 1, 4), (4, 2, 2), (1, 2, 8), (2, 4, 4)])
def test_rotating_rows_by_their_definition(vec, per_phase, max_phase):
    """Row r is xored with its phase and its block's number, whatever r: counted element by element, in both orders."""
    rows, columns = 32, 32
    for order_, shape in (([1, 0], [rows, columns]), ([0, 1], [columns, rows])):
        memory = AMDRotatingSharedLayout(vec, per_phase, max_phase, order_).linear(shape).invert()
        for r, c in itertools.product(range(rows), range(columns)):
            phase = (r // per_phase % max_phase) ^ (r // (max_phase * per_phase) % max_phase)
            offset = r * columns + (c // vec ^ phase % (columns // vec)) * vec + c % vec
            slow, fast = ("dim0", "dim1") if order_ == [1, 0] else ("dim1", "dim0")
            assert memory.apply({slow: r, fast: c})["offset"] == offset


def test_partitions_by_their_definition():
    """Piece number p of 8 along a dimension lies in partition p % 2, behind p // 2 others."""
    piece = SwizzledSharedLayout(1, 1, 1, [1, 0])
    layout = PartitionedSharedLayout(2, 4, 0, piece).linear([64, 8])
    for partition, offset in itertools.product(range(2), range(256)):
        group, inside = divmod(offset, 64)
        row, column = divmod(inside, 8)
        assert layout.apply({"offset": offset, "block": 0, "partition": partition}) == {
            "dim0": (2 * group + partition) * 8 + row,
            "dim1": column,
        }
    padded = PaddedSharedLayout.with_identity_for([[64, 8]], [8, 8], [1, 0])
    assert PartitionedSharedLayout(2, 4, 0, padded).linear([64, 8]) == layout


def test_allocations_are_counted_one_by_one():
    memory = PartitionedSharedLayout(2, 2, 0, SwizzledSharedLayout(1, 1, 1, [1, 0])).linear([32, 32])
    with pytest.raises(TlaError, match=r"a memory of 2 allocations\n.*offsets in one"):
        access(BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0]).linear([32, 32]), memory, 16)


def test_what_triton_prints_for_amd_is_read():
    """A memdesc of tl.dot on gfx942 and gfx1100, and WMMA of rank 3 whose text says no rank but whose tensor does."""
    rotating = "#ttg.amd_rotating_shared<{vec = 4, perPhase = 1, maxPhase = 16, order = [1, 0]}>"
    found = from_type(f"!ttg.memdesc<64x64xf16, {rotating}, #ttg.shared_memory, mutable>")
    assert (found.layout, found.shape, found.bits) == (AMDRotatingSharedLayout(4, 1, 16, [1, 0]), (64, 64), 16)
    assert to_text(found.layout) == rotating
    wmma = "#ttg.amd_wmma<{version = 2, isTranspose = true, ctaLayout = {}}>"
    whole = AMDWMMALayout(2, True, [], rank=3)
    assert from_type(f"tensor<1x16x16xf16, {wmma}>").layout == whole
    assert from_type(f"tensor<1x16xf16, #ttg.slice<{{dim = 2, parent = {wmma}}}>>").layout == SliceLayout(2, whole)
    assert from_type(f"tensor<1x16x16xf16, #ttg.dot_op<{{opIdx = 0, parent = {wmma}, kWidth = 8}}>>").layout.rank == 3
    assert from_type(f"tensor<16x16xf16, {wmma}>").layout == AMDWMMALayout(2, True, [])
    with pytest.raises(TlaError, match="of which Triton prints no rank"):
        to_text(whole)
    assert from_text(to_text(AMDWMMALayout(2, True, [], cga_layout=[[1, 0, 0]], rank=3))).rank == 3


def test_registers_beyond_the_shape():
    """3.9 leaves them out, 3.8 kept them; another release is not known."""
    layout = BlockedLayout([2, 8], [4, 8], [1, 1], [1, 0])
    assert layout.linear([16, 4]).bases["register"] == ((0, 1), (0, 2), (1, 0), (8, 0))
    assert layout.linear([16, 4], "3.8").bases["register"] == ((0, 1), (0, 2), (0, 0), (1, 0), (8, 0))
    with pytest.raises(TlaError, match=r"release '3\.7' of Triton"):
        layout.linear([16, 4], "3.7")


# ------------------------------------------------------------------------------------------ CuTe's thread-value layouts


def test_accumulators_of_cute_are_tritons():
    """The C of a TiledMMA of four warps is #ttg.nvidia_mma, the warps split from 128 threads; and so is wgmma's."""
    ampere = g.make_tiled_mma(g.atom("SM80_16x8x16_F32F16F16F32_TN"), parse("(_2,_2,_1):(_2,_1,_0)"))
    for mma, tile, theirs in (
        (ampere, [32, 16], NVMMADistributedLayout([2, 0], [2, 2], [16, 8])),
        (
            g.make_tiled_mma(g.atom("SM90_64x64x16_F32F16F16_SS")),
            [64, 64],
            NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]),
        ),
    ):
        found = from_thread_values(mma.C_TV, tile)
        assert found.linear(tile) == theirs.linear(tile)
        assert same_map(to_thread_values(theirs, tile), to_thread_values(found, tile))


def test_thread_values_there_and_back():
    """Random layouts of registers: each thread's values are the same elements, counted."""
    rng, seen = random.Random(3), 0
    while seen < amount(25, 400):
        layout, shape = a_case(rng)
        try:
            tv = to_thread_values(layout, shape)
        except TlaError:
            continue
        seen += 1
        whole = layout.linear(shape)
        lanes, warps, registers = (whole.get_in_dim_size(name) for name in ("lane", "warp", "register"))
        for thread, register in [(rng.randrange(lanes * warps), rng.randrange(registers)) for _ in range(12)]:
            at = whole.apply({"register": register, "lane": thread % lanes, "warp": thread // lanes, "block": 0})
            index = sum(x * math.prod(shape[:k]) for k, x in enumerate(at.values()))
            assert int(tv(thread, register)) == index
        again = from_thread_values(tv, shape, lanes).linear(shape)
        assert [again.bases[n] for n in ("lane", "warp")] == [whole.bases[n] for n in ("lane", "warp")]


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: from_thread_values(parse("(16,2):(1,16)"), (32,)), "16 threads in warps of 32"),
        (lambda: from_thread_values(parse("(128,2):(1,128)"), (256,), 16), "threads_per_warp is 16"),
        (lambda: from_thread_values(parse("(32,2):(1,32)"), (32,)), "offsets up to 63"),
        (lambda: from_thread_values(parse("(96,2):(1,96)"), (256,)), "extent 96"),
        (lambda: from_thread_values(parse("(32,2,2):(1,32,64)"), (128,)), "two modes"),
        (lambda: to_thread_values(BlockedLayout([1], [16], [1], [0]), [16]), "warps of 16 lanes"),
        (
            lambda: to_thread_values(LinearLayout({"lane": [(1 << k,) for k in range(7)]}, {"dim0": 128}), [128]),
            "warps of 128 lanes",
        ),
        (lambda: to_thread_values(BlockedLayout([1], [32], [1], [0], [[1]]), [64]), "a layout of 2 blocks"),
    ],
)
def test_threads_that_are_no_warps(f, says):
    with pytest.raises(TlaError, match=says):
        f()


MFMA = "#ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [32, 32, 8], isTransposed = true}>"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: AMDMFMALayout(3, [32, 32, 8], True, [4]), "rank 1\n.*at least 2"),
        (lambda: AMDMFMALayout(3, [32, 32, 8], True, []), "rank 0\n.*at least 2"),
        (lambda: from_text(MFMA.replace("[4, 1]", "[4, ]")), "rank 1"),
        (lambda: NVMMADistributedLayout([3, 0], [4, 1], [16, 0, 16]).linear([64, 64]), "of 16 by 0"),
        (lambda: NVMMADistributedLayout([2, 0], [4, 1], [0, 8]).linear([64, 64]), "of 0 by 8"),
    ],
)
def test_accumulators_of_no_instruction(make, says):
    with pytest.raises(TlaError, match=says):
        make()
