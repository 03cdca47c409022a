"""Blocks of a 4:2 sparse B: against numpy, with its bits by hand, and with faults at the index, each of which is found."""

from dataclasses import replace

import numpy as np
import pytest
from ascend_blocks import require_found, stated

from tla import GetTile, LeafTypeError, MakeLayout, MakeTensor, RangeError, Unproven, dim, dims
from tla.ascend import (
    L0C,
    Ascend950,
    BlockSchedulerAswt,
    BlockSchedulerIterateK,
    ColumnBlockSwizzle,
    ColumnMajor,
    GemmIdentityBlockSwizzle,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    block,
    densify,
    half,
    int8,
    int32,
    mmad,
    nZ,
    plan,
    programs,
    transfer,
    zZ,
)

from night import amount, some

TILES = (64, 64, 128), (64, 64, 64)


def sparse(problem, tiles=TILES, **more):
    return block(problem, *tiles, a=int8, **{"b": (int8, ColumnMajor), "c": int32, "sparse": True, **more})


def matrix(rng, k, n):
    """A matrix with at most two of four rows that are not zero."""
    kept = np.argsort(rng.random((k // 4, 4, n)), axis=1) < rng.integers(0, 3, (k // 4, 1, n))
    return (rng.integers(-5, 6, (k // 4, 4, n)) * kept).reshape(k, n)


def by_hand(stored, index):
    """The matrix of stored elements, one by one: its row in its four is what the bits say, counted from 0 or 1."""
    found = np.zeros((2 * stored.shape[0], stored.shape[1]), int)
    for row, column in np.ndindex(*stored.shape):
        bits = int(index[row // 4, column]) // 4 ** (row % 4) % 4
        assert bits < 3
        found[row // 2 * 4 + bits + row % 2, column] += stored[row, column]
    return found


def test_what_is_stored_with_its_index_is_the_matrix():
    fours = np.stack([np.array(x) for x in np.ndindex(3, 3, 3, 3) if np.count_nonzero(x) <= 2])
    whole = np.concatenate([fours.T, fours[::-1].T])  # each of the 33 of these above each other one's mirror
    np.testing.assert_array_equal(by_hand(*densify(whole)), whole)
    with pytest.raises(RangeError, match="3 elements of rows 4 to 7 in column 1"):
        densify(np.array([[0, 0]] * 4 + [[0, 1], [0, 1], [1, 0], [0, 1]]))
    for wrong in (np.ones(8), np.ones((4, 2)), np.ones((9, 2))):
        with pytest.raises(RangeError, match="a multiple of 8"):
            densify(wrong)
    with pytest.raises(RangeError, match="rows of several lengths"):
        densify([[1, 2], [3]])
    for wrong in (np.array([["a"]] * 8), np.ones((8, 1), complex), np.array([[None]] * 8)):
        with pytest.raises(LeafTypeError, match="a sparse matrix of"):
            densify(wrong)
    assert [x.shape for shape in ((0, 5), (8, 0)) for x in densify(np.zeros(shape))] == [(0, 5), (0, 5), (4, 0), (1, 0)]


@pytest.mark.parametrize("seed", range(amount(3, 200)))
def test_products_are_numpys_with_every_tail(seed):
    rng = np.random.default_rng(seed)
    m, n = (int(x) for x in rng.integers(1, 90, 2))
    k = 8 * int(rng.integers(1, 40))
    made = sparse((m, n, k), b=(int8, (ColumnMajor, nZ)[seed % 2]), cores=2, unit_flag=seed % 3 == 0)
    x, y = rng.integers(-4, 5, (m, k)), matrix(rng, k, n)
    np.testing.assert_array_equal(made.execute(x, y), x @ y)
    if seed % 3 == 0:
        report = made.check()
        assert report.holds, str(report)


def test_the_example_of_catlass_in_its_own_tiles():
    tiles = (128, 256, 128), (128, 256, 64)
    made = sparse((140, 30, 136), tiles, swizzle=BlockSchedulerIterateK, cores=3)
    assert [made.buffers[x].address for x in ("l1A0", "l1B0", "l1Index0", "l1Index1")] == [0, 32768, 65536, 69632]
    assert made.check(0).holds
    assert sum(w.products for w in made.traffic) == 140 * 30 * 68


def field(**by):
    def change(s):
        p = s.instruction.parameters
        return [
            s._replace(instruction=replace(s.instruction, parameters={**p, **{n: p[n] + d for n, d in by.items()}}))
        ]

    return change


def moves(what):
    return lambda s: isinstance(s, programs.Move) and (s.dst.startswith(what) or bool(what == "sparse" and s.beside))


FAULTS = {
    "the index is not loaded": (moves("l1Index"), 1, lambda s: []),
    "of the index a block is left out": (moves("l1Index"), 0, field(blockCount=-1)),
    "the index of the tile before": (moves("l1Index"), 1, lambda s: [s._replace(dst="l1Index0")]),
    "the index begins a fractal later": (moves("sparse"), 1, field(index=128)),
    "the index is that of the other stage": (moves("sparse"), 2, lambda s: [s._replace(beside="l1Index0")]),
    "a fractal less is loaded": (moves("sparse"), 0, field(repeatTimes=-1)),
    "B is loaded without its index": (moves("sparse"), 3, lambda s: [s._replace(beside="")]),
    "of k a byte less": (lambda s: isinstance(s, programs.Multiply), 0, field(k=-8)),
    "a dense product": (
        lambda s: isinstance(s, programs.Multiply),
        1,
        lambda s: [s._replace(instruction=replace(s.instruction, sparse=False))],
    ),
    "B begins a row of stored elements later": (
        moves("l1B"),
        1,
        lambda s: [s._replace(instruction=replace(s.instruction, src=s.instruction.src + 1))],
    ),
}


@pytest.mark.parametrize("fault", some(FAULTS, 3))
def test_a_fault_at_the_index_is_found(fault):
    require_found(sparse((40, 50, 328)), *FAULTS[fault])


def test_what_no_instruction_has_is_refused():
    for error, match, problem, more in (
        (RangeError, "a multiple of 8: whole bytes of the index", (32, 32, 100), {}),
        (RangeError, "take 128 and 64", (32, 32, 128), {"tiles": ((64, 64, 96), (64, 64, 32))}),
        (LeafTypeError, "int8 by int8 on AtlasA2", (32, 32, 64), {"b": (half, ColumnMajor)}),
        (LeafTypeError, "int8 by int8 on AtlasA2", (32, 32, 64), {"arch": Ascend950}),
        (LeafTypeError, "ColumnMajor or nZ", (32, 32, 64), {"b": (int8, RowMajor)}),
        (LeafTypeError, "none: MmadWithSparse has no biases", (32, 32, 64), {"bias": True}),
        (LeafTypeError, "True or False", (32, 32, 64), {"sparse": 1}),
        (Unproven, 'dim\\("K", multiple_of=8\\)', dims("M N K"), {}),
    ):
        with pytest.raises(error, match=match):
            sparse(problem, **more)
    made = sparse((32, 32, 64))
    for language in ("catlass", "dsl"):
        with pytest.raises(LeafTypeError, match="text\\('ascendc'\\)"):
            made.text(language)
    with pytest.raises(RangeError, match=r"shape \(32, 32\)\n  expected  \(64, 32\)"):
        made.execute(np.ones((32, 64)), np.zeros((32, 32)))
    with pytest.raises(LeafTypeError, match="plan with sparse="):
        plan((32, 32, 64), sparse=True, a=int8, b=(int8, ColumnMajor), c=int32)
    with pytest.raises(RangeError, match="more than 1000000 events"):
        sparse((16, 16, 2**31)).check()
    with pytest.raises(RangeError, match="3 elements of rows"):
        made.execute(np.ones((32, 64)), np.array([[1], [1], [1], [0]] * 16) * np.ones(32, int))
    assert "MmadWithSparse(l0C0[0]" in made.text()


#: Blocks of any size with an index: what they have besides.
ANY = [
    {"cores": 2, "stages": {"L0C": 2}},
    {"b": (int8, nZ), "unit_flag": True, "quant": "PER_CHANNEL", "c": half},
    {"c": int32, "splitkFactor": 2, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0]},
    {"b": (int8, nZ), "stages": 1},
]


@pytest.mark.parametrize("more", some(ANY, 4))
def test_blocks_of_any_size_are_proved_and_issue_what_those_of_each_size_do(more):
    k = dim("K", at_most=2**20, multiple_of=8)
    made = sparse((*dims("M N", at_most=2**17), k), **more)
    report = made.check()
    assert report.holds, str(report)
    assert len(report.proved) == 3
    assert not report.conditions
    rng = np.random.default_rng(12)
    for m, n, k in [(1, 33, 8), (65, 64, 264), *rng.integers(1, 150, (amount(1, 60), 3)).tolist()]:
        k = -(-k // 8) * 8
        known, x, y = made.at(M=m, N=n, K=k), rng.integers(-4, 5, (m, k)), matrix(rng, k, n)
        for core, program in enumerate(known.programs):
            assert [*stated(*made.program_at(known, core))] == [*stated(program, {})], (m, n, k)
        scale = np.ones(n) if made.plan.channels else None
        np.testing.assert_array_equal(made.execute(x, y, scale=scale), x @ y)


def test_an_index_that_does_not_lie_as_its_elements_do_is_not_proved_for_all_sizes():
    n, elements = dim("n", at_most=64), MakeLayout[int8, nZ](64, 64)
    tile = GetTile(MakeTensor(None, elements, position="L1"), (32, 0), (32, n))
    l0b = MakeTensor(None, MakeLayout[int8, nZ](32, n), position="L0B")

    def index(columns):
        whole = MakeTensor(None, MakeLayout[int32, nZ](16, columns), position="L1")
        return GetTile(whole, (8, 0), (8, n))

    (when,) = transfer(tile, l0b, element=int8, index=index(64))
    assert {str(i.parameters["index"]) for side in (when.body, when.otherwise) for i in side} == {"512"}
    with pytest.raises(Unproven, match="an index that lies as the elements do"):
        transfer(tile, l0b, element=int8, index=index(80))
    with pytest.raises(RangeError, match="make the index larger"):
        transfer(tile, l0b, element=int8, index=GetTile(index(64), (0, 0), (4, n)))
    with pytest.raises(RangeError, match="as many valid elements in src"):
        transfer(tile, MakeTensor(None, MakeLayout[int8, nZ](64, n), position="L0B"), element=int8, index=index(64))


@pytest.mark.parametrize(
    ("swizzle", "problem", "cores"),
    [(BlockSchedulerAswt, (1, 15, 8), 3), (BlockSchedulerAswt, (136, 2, 40), 6), (ColumnBlockSwizzle, (2, 16, 16), 5)],
)
def test_blocks_that_begin_inside_of_a_block_of_the_index_are_refused(swizzle, problem, cores):
    """The index is read in blocks of 16 columns: of the last, from another column on, what lies behind it."""
    with pytest.raises(LeafTypeError, match=f"a sparse B with {swizzle}, which has blocks that begin at column"):
        sparse(problem, swizzle=swizzle, cores=cores)
    assert sparse(problem, swizzle=GemmIdentityBlockSwizzle[3, 0], cores=cores).check().holds
    assert sparse((70, 32, 72), swizzle=swizzle, cores=1).check().holds


def test_the_instruction_has_half_of_the_rows_of_b():
    def at(layout, place):
        return MakeTensor(None, layout, position=place)

    a, c = at(MakeLayout[int8, zZ](20, 72), "L0A"), at(L0C(20, 30).layout, "L0C")
    made = mmad(a, at(MakeLayout[int8, nZ](36, 30), "L0B"), c, element=int8, sparse=True)
    assert (
        str(made) == "MmadWithSparse(c=0, a=0, b=0, m=20, n=30, k=72, unitFlag=0, kDirectionAlign=0, cmatrixInitVal=1)"
    )
    with pytest.raises(LeafTypeError, match="mmad with sparse='yes'"):
        mmad(a, at(MakeLayout[int8, nZ](36, 30), "L0B"), c, element=int8, sparse="yes")
    with pytest.raises(RangeError, match="36 rows of b"):
        mmad(a, at(MakeLayout[int8, nZ](32, 30), "L0B"), c, element=int8, sparse=True)
