"""Accesses to memory of open sizes: the answer at each of many values, or two that differ; and owners that are
partitions."""

import itertools

import numpy as np
import pytest

from tla import (
    ComposedLayout,
    GetTile,
    MakeLayout,
    Swizzle,
    TlaError,
    Unproven,
    at,
    dim,
    gpu as g,
    local_tile,
    make_identity_tensor,
    make_tensor,
    parse,
)
from tla.access import access
from tla.linear import LinearLayout, triton

from night import NIGHT

ROWS = LinearLayout({"register": [(0, 1), (0, 2), (0, 4)], "lane": [(1, 0), (2, 0), (4, 0)]}, {"dim0": 8, "dim1": 8})
COLUMNS = LinearLayout({"register": [], "lane": [(1, 0), (2, 0), (4, 0), (0, 1), (0, 2)]}, {"dim0": 8, "dim1": 8})


def layouts(n):
    m = dim("M", at_least=8)
    yield MakeLayout((8, n), (n, 1))
    yield MakeLayout((m, n), (n, 1))
    yield ComposedLayout(Swizzle[3, 3, 3](), 0, MakeLayout((8, n), (n, 1)))
    yield ComposedLayout(Swizzle[2, 1, 4](), 0, MakeLayout((8, 64), (n, 1)))
    yield MakeLayout((8, 64), (n + 8, 1))
    yield MakeLayout((8, 8), (n, 2 * n))
    yield MakeLayout((8, (4, n)), (n, (1, 4)))


def counted_everywhere(owners, layout, bits, memory, values):
    return {access(owners, at(layout, {"N": n, "M": 8}), bits, memory=memory).counts for n in values}


@pytest.mark.parametrize("unit", [48, 64] if not NIGHT else [8, 16, 24, 32, 48, 64, 128, 512])
def test_one_answer_for_all_sizes(unit):
    """Against every value up to some periods: proved answers hold for each, what is refused has two that differ."""
    answers = {True: 0, False: 0}
    for owners, (bits, memory) in itertools.product((ROWS, COLUMNS), ((16, "NVIDIA_SHARED"), (32, "NVIDIA_GLOBAL"))):
        for layout in layouts(dim("N", multiple_of=unit, at_least=8)):
            everywhere = counted_everywhere(owners, layout, bits, memory, range(unit, max(577, 3 * unit), unit))
            try:
                found = access(owners, layout, bits, memory=memory)
                assert everywhere == {found.counts}, layout
                answers[True] += 1
                assert dict(found.sizes)["N"] % unit == 0
            except Unproven as refused:
                answers[False] += 1
                assert "differ" in refused.reason.what
                assert len(everywhere) > 1, layout
                assert refused.reason.fix.startswith("declare dim('N', multiple_of=")
                step = int(refused.reason.fix.split("multiple_of=")[1].split(")")[0])
                access(owners, at(layout, N=dim("N", multiple_of=step)), bits, memory=memory)
    assert answers[True] >= (
        8 if unit % 64 == 0 else 2 if unit > 8 else 0
    )  # of multiples of 8 each has two values that differ


def test_sizes_with_an_end_are_counted_one_by_one():
    between = dim("N", multiple_of=32, at_least=32, at_most=64)
    assert access(ROWS, ComposedLayout(Swizzle[3, 3, 3](), 0, MakeLayout((8, between), (between, 1))), 16).degree == 1
    with pytest.raises(Unproven, match="N = 32 and 64 differ"):
        access(ROWS, MakeLayout((8, between), (between, 1)), 16)


def test_a_conflict_is_proved():
    n = dim("N", multiple_of=64)
    found = access(ROWS, MakeLayout((8, n), (n, 1)), 16)
    assert (found.degree, found.sizes) == (8, (("N", 64),))
    assert found.witness.addresses == tuple(128 * k for k in range(8))


@pytest.mark.parametrize(
    ("layout", "says"),
    [
        (lambda n: MakeLayout((8, n), (n * n, 1)), "a sum of multiples of one size"),
        (lambda n: MakeLayout((8, 8), (n, dim("K"))), "one open size in strides"),
        (lambda n: MakeLayout(((n, 8), 8), ((1, n), 8)), "at the end"),
        (lambda n: MakeLayout((8, n // 8), (n, 1)), "one size"),
        (lambda n: MakeLayout((8, n), (2 * n, 1)), "differ"),
        (lambda n: MakeLayout((8, dim("K")), (n, 1)), "where K = 1, N = 8"),
        (lambda n: MakeLayout((8, dim("K", at_least=8)), (n // 8, 1)), "differ|too many"),
        (lambda n: MakeLayout((8, dim("K") // 2), (8, 1)), "one size"),
        (lambda n: MakeLayout((4, n), (n, 1)), "a place for each"),
        (lambda n: ComposedLayout(parse("(64,64):(64,1)"), 0, MakeLayout((8, n), (n, 1))), "swizzles over a layout"),
    ],
)
def test_what_is_refused(layout, says):
    with pytest.raises(TlaError, match=says):
        access(ROWS, layout(dim("N", multiple_of=8)), 16)


def test_owners_of_one_index_and_an_open_first_mode():
    with pytest.raises(TlaError, match="owners of coordinates"):
        access(parse("(8,8):(1,8)"), MakeLayout((dim("M", at_least=8), 64), (64, 1)), 16)


# ------------------------------------------------------------------------------------------------- tensors


def test_partitions_are_owners():
    """Of the memory itself, of a tensor over it, and of an identity tensor with the memory apart: one answer."""
    copy = g.make_tiled_copy(g.SM75_U32x4_LDSM_N[g.half], parse("(_16,_2):(_1,_16)"), parse("(_1,_8):(_0,_1)"))
    own = copy[np.arange(32)]
    for text, degree in (("Sw<3,3,3> o 0 o (16,64):(64,1)", 2), ("(16,64):(64,1)", 4)):
        memory = parse(text)
        identity = own.partition_S(make_identity_tensor((16, 64)))
        found = [
            access(own.partition_S(memory), None, 16),
            access(own.partition_S(make_tensor(None, memory)), None, 16),
            access(identity, memory, 16),
            access(identity, make_tensor(None, memory), 16),
        ]
        assert {f.counts for f in found} == {found[0].counts}
        assert found[0].degree == degree
        offsets = {int(memory(i, j)) for i in range(16) for j in range(64)}
        assert {int(x) for t in range(32) for x in [copy[t].partition_S(memory).offset]} <= offsets or "Sw" in text


def test_a_partition_by_hand():
    """sm80's gmem to smem copy of 128 threads, 8 halves each: the partition's own offsets, thread by thread."""
    copy = g.make_tiled_copy(
        g.Copy_Atom[g.UniversalCopy[g.uint128], g.half], parse("(_16,_8):(_8,_1)"), parse("(_1,_8):(_0,_1)")
    )
    memory = parse("(64,64):(64,1)")
    found = access(copy[np.arange(128)].partition_D(memory), None, 16)
    assert (found.vector, found.degree, found.instructions) == (128, 1, 16)
    open_rows = dim("N", multiple_of=64)
    part = copy[np.arange(128)].partition_D(make_identity_tensor((64, 64)))
    assert access(part, MakeLayout((64, open_rows), (open_rows, 1)), 16).counts == found.counts


def test_a_tensors_offset_counts():
    memory = make_tensor(np.zeros(4096, np.float16), parse("(8,64):(64,1)"))
    assert access(ROWS, memory, 16).vector == 128
    shifted = local_tile(memory, (8, 8), (0, 1))
    assert access(ROWS, shifted, 16).counts == access(ROWS, memory, 16).counts
    assert access(ROWS, shifted, 16).witness.addresses == tuple(128 * k + 16 for k in range(8))
    for swizzle in ("", "Sw<2,3,3> o 0 o "):
        whole = make_tensor(0, parse(f"{swizzle}(16,64):(64,1)"))
        for tile in (local_tile(whole, (8, 8), (1, 3)), GetTile(whole, (8, 24), (8, 8))):
            lanes = [[int(tile[i, j]) for j in range(8)] for i in range(8)]  # the tensor's own offsets
            words = {offset // 2 for row in lanes for offset in row}
            found = access(ROWS, tile, 16)
            assert found.degree == max(sum(w % 32 == b for w in words) for b in range(32))
            assert found.witness.addresses == tuple(2 * lanes[lane][0] for lane in found.witness.lanes)
    odd = make_tensor(3, parse("(8,64):(64,1)"))
    assert access(ROWS, odd, 16).vector == 16
    assert access(ROWS, odd, 16).witness.addresses == tuple(128 * k + 6 for k in range(8))


@pytest.mark.parametrize(
    ("owners", "memory", "says"),
    [
        (lambda own: own(5), None, "all threads"),
        (lambda own: own(dim("t", at_least=0, at_most=31)), None, "all threads"),
        (lambda own: own(np.arange(32)), make_identity_tensor((16, 16)), "known"),
    ],
)
def test_partitions_that_are_refused(owners, memory, says):
    copy = g.make_tiled_copy(
        g.Copy_Atom[g.UniversalCopy[g.uint128], g.half], parse("(_16,_2):(_2,_1)"), parse("(_1,_8):(_0,_1)")
    )
    with pytest.raises(TlaError, match=says):
        access(owners(lambda t: copy[t].partition_S(parse("(16,16):(16,1)"))), memory, 16)


def test_coordinates_need_a_memory():
    with pytest.raises(TlaError):
        access(triton.BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0]).linear([8, 32]), None, 16)
