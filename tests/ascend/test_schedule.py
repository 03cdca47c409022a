"""Schedules of Ascend against CATLASS's own block swizzles, compiled; against the definition; traffic against sets of
what a wave reads."""

import itertools
import math
import random

import numpy as np
import pytest

from tla import ArithmeticTuple, LeafTypeError, RangeError, TlaError, ascend, size
from tla.ascend import (
    Block,
    BlockSchedulerAswt,
    BlockSchedulerIterateK,
    BlockSwizzle,
    ColumnBlockSwizzle,
    EpilogueHorizontalTileSwizzle,
    EpilogueIdentityTileSwizzle,
    GemmGroupedAswtTailSplitSwizzle,
    GemmIdentityBlockSwizzle,
    SingleCoreSplitkGemmIdentityBlockSwizzle,
    SplitkGemmIdentityBlockSwizzle,
    StreamkGemmIdentityBlockSwizzle,
    grouped,
)
from tla.ascend.schedules.block import elements_read
from tla.ascend.schedules.dealt import Dealt

from night import amount
from truth import rows

KINDS = [x for x in vars(ascend).values() if isinstance(x, BlockSwizzle)]
EPILOGUES = (EpilogueIdentityTileSwizzle, EpilogueHorizontalTileSwizzle)
PRODUCTS = [x for x in KINDS if x not in EPILOGUES]


def with_arguments(kind, *arguments):
    return (
        kind
        if kind in (ColumnBlockSwizzle, BlockSchedulerAswt, BlockSchedulerIterateK, *EPILOGUES)
        else kind[arguments]
    )


def schedule_of(case):
    kind = with_arguments(getattr(ascend, case["kind"]), case["offset"], case["direction"])
    return kind(tuple(case["problem"]), tuple(case["tile"]), cores=case["cores"], splitkFactor=case["split"])


@pytest.mark.parametrize(
    "name", [kind.name for kind in PRODUCTS if "Gemm" in kind.name and "Aswt" not in kind.name] + ["ColumnBlockSwizzle"]
)
def test_the_blocks_of_each_core_are_those_of_the_headers(name):
    """Where k has fewer blocks than slices, C++ gives extents past the end of k, or below 0: docs/differences.md."""
    cases = [case for case in rows("tla/swizzles.json") if case["kind"] == name]
    beyond = 0
    for case in cases:
        k, tile_k = case["problem"][2], case["tile"][2]
        known = [[(*b[:6], max(0, min(b[6], k - b[2] * tile_k))) for b in core] for core in case["blocks"]]
        beyond += known != [[(*b,) for b in core] for core in case["blocks"]]
        s = schedule_of(case)
        assert [[(b.m, b.n, b.k, b.start[1], *b.extents) for b in core] for core in s.table] == known, case
        assert s.blocks[2] < case["split"] or known == [[(*b,) for b in core] for core in case["blocks"]]
    assert len(cases) >= 8
    assert beyond == (11 if name == "SplitkGemmIdentityBlockSwizzle" else 0)


@pytest.mark.parametrize("kind", PRODUCTS, ids=str)
def test_every_element_is_multiplied_once(kind):
    """Over all blocks, each (m, n, k) of the problem in exactly one, also where there are more cores than blocks."""
    for problem, cores, arguments in itertools.product(((1, 1, 1), (20, 33, 9)), (3, 4, 50), ((2, 1), (3, 0))):
        swizzle = with_arguments(kind, *arguments)
        more = {"splitkFactor": 2} if kind.splits else {}
        s = swizzle(problem, (8, 8, 4), cores=cores, **more)
        seen = [
            point
            for b in s.order()
            for point in itertools.product(*(range(first, first + n) for first, n in zip(b.start, b.extents)))
        ]
        assert sorted(seen) == [*itertools.product(*map(range, problem))]
        if kind is not BlockSchedulerAswt:  # its last blocks are cut along m
            assert [b.start[i] for b in s.order() for i in (0, 2)] == [x for b in s.order() for x in (b.m * 8, b.k * 4)]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_strips_are_the_order_as_layouts(kind):
    for problem, (offset, direction) in itertools.product(
        ((70, 50, 8), (8, 90, 8), (33, 9, 8)), ((1, 0), (2, 0), (4, 1), (5, 0), (5, 1))
    ):
        swizzle = with_arguments(kind, offset, direction)
        s = swizzle(problem[: kind.rank], (8, 8, 8)[: kind.rank])
        coords = []
        for strip in s.strips:
            assert strip.first == len(coords)
            count = [*strip.coords()]
            assert count == [
                tuple(map(int, ArithmeticTuple(*strip.start) + strip.layout(i))) for i in range(len(count))
            ]
            coords += count
        assert coords == [(b.m, b.n) for b in s.order()]
        if swizzle.order_of is GemmIdentityBlockSwizzle.order_of:
            assert len(s.strips) == -(-s.blocks[direction] // offset)


def test_the_next_block_of_a_snake_shares_a_panel():
    for arguments in ((2, 0), (3, 1), (4, 0)):
        s = SingleCoreSplitkGemmIdentityBlockSwizzle[arguments]((50, 70, 16), (8, 8, 16))
        assert all(a.m == b.m or a.n == b.n for a, b in itertools.pairwise(s.core(0)))


@pytest.mark.parametrize(
    ("direction", "widths"),
    [(0, {4: [4], 5: [5], 6: [6], 7: [4, 3], 9: [4, 5]}), (1, {5: [5], 6: [4, 2], 7: [4, 3], 9: [4, 5]})],
)
def test_a_short_last_strip_of_a_snake_is_part_of_the_one_before_it(direction, widths):
    for along, expected in widths.items():
        strips = SingleCoreSplitkGemmIdentityBlockSwizzle[4, direction](
            ((8 * along, 8, 16), (8, 8 * along, 16))[direction], (8, 8, 16)
        )
        assert [int(size(strip.layout)) for strip in strips.strips] == expected


@pytest.mark.parametrize(
    "kind", [GemmIdentityBlockSwizzle[2, 0], StreamkGemmIdentityBlockSwizzle[1, 0], ColumnBlockSwizzle], ids=str
)
def test_traffic_counts_what_a_wave_reads_once(kind):
    s = kind((200, 100, 40), (40, 40, 16), cores=6)
    once = total = 0
    for i, wave in enumerate(s.waves()):
        a, b = set(), set()
        for (row, column, first), (high, wide, depth) in ((block.start, block.extents) for block in wave):
            a |= {*itertools.product(range(row, row + high), range(first, first + depth))}
            b |= {*itertools.product(range(column, column + wide), range(first, first + depth))}
            total += (high + wide) * depth
        once += len(a) + len(b)
        assert s.traffic(8, i).gm == len(a) + len(b)
    assert s.traffic(16) == (once * 2, (total - once) * 2)


def test_what_several_blocks_have_of_one_panel_is_read_once():
    """Parts of k that overlap, touch, hold one another or lie apart, in rows and columns of several
    heights and widths."""
    rng = random.Random(7)
    for _ in range(60):
        wave = []
        for _block in range(rng.randint(0, 6)):
            begin, depth = rng.randint(0, 8), rng.randint(0, 6)
            start, extents = (
                (4 * rng.randint(0, 1), 4 * rng.randint(0, 1), begin),
                (rng.randint(2, 3), rng.randint(2, 3), depth),
            )
            wave.append(Block(0, 0, 0, start, extents))
        panels = {
            (side, b.start[side], b.extents[side], b.start[2] + k)
            for b in wave
            for side in (0, 1)
            for k in range(b.extents[2])
        }
        total = sum((b.extents[0] + b.extents[1]) * b.extents[2] for b in wave)
        assert elements_read(wave) == (sum(size for _side, _start, size, _k in panels), total)


def test_traffic_of_a_large_product():
    known = [GemmIdentityBlockSwizzle[o]((4096,) * 3, (128, 256, 256), cores=20).traffic() for o in (1, 3, 5)]
    assert [t.gm >> 20 for t in known] == [779, 444, 348]
    assert {sum(t) for t in known} == {512 * (128 + 256) * 4096 * 2}


def test_groups_and_batches_roll_over_the_cores():
    blocks = grouped([(300, 64, 8), (0, 64, 8), (64, 64, 8)], (64, 64, 8), cores=4)
    assert [len(t) for t in blocks] == [2, 2, 1, 1]
    assert [g for g, _ in blocks[1]] == [
        0,
        2,
    ]  # the first five go to cores 0 to 3 and 0, and the sixth, of the third problem, to core 1
    problem, tile, swizzle = (70, 50, 8), (32, 32, 8), GemmIdentityBlockSwizzle[2, 1]
    batched, one = grouped([problem] * 3, tile, cores=4, swizzle=swizzle), swizzle(problem, tile)
    for core, blocks_ in enumerate(batched):  # GetBatchIdx and GetBlockCoord of the tasks of a core
        assert [*blocks_] == [
            (task // one.tasks, one.core(0)[task % one.tasks]) for task in range(core, 3 * one.tasks, 4)
        ]


@pytest.mark.parametrize(
    "make",
    [
        lambda: GemmIdentityBlockSwizzle((10**6, 10**6, 4), (128, 128, 4)).table,
        lambda: GemmIdentityBlockSwizzle((10**9, 4, 4), (1, 4, 4)).strips,
        lambda: GemmIdentityBlockSwizzle((4, 4, 4), (4, 4, 4), cores=10**9),
        lambda: grouped([(4, 4, 4)], (4, 4, 4), cores=10**9),
        lambda: SingleCoreSplitkGemmIdentityBlockSwizzle((4, 4, 10**9), (4, 4, 1)).table,
        lambda: SplitkGemmIdentityBlockSwizzle((4, 4, 10**9), (4, 4, 1), splitkFactor=10**9).order(),
        lambda: grouped([(10**6, 10**6, 4)], (128, 128, 4)),
        lambda: GemmIdentityBlockSwizzle((4, 4, 4), (4, 4, 4), cores=2**20),
        lambda: GemmIdentityBlockSwizzle((1024, 1024, 4), (1, 1, 4)).numbered,
        lambda: GemmIdentityBlockSwizzle((2**20, 1, 4), (1, 1, 4)).strips,
        lambda: SplitkGemmIdentityBlockSwizzle((4, 4, 4), (4, 4, 4), splitkFactor=2**20),
    ],
)
def test_more_blocks_than_memory_should_hold_are_refused(make):
    with pytest.raises(RangeError, match=r"take larger tiles|take fewer (cores|splitkFactor)"):
        make()


def test_just_less_is_taken():
    assert GemmIdentityBlockSwizzle((4, 4, 4), (4, 4, 4), cores=2**20 - 1).cores == 2**20 - 1
    assert len(ascend.EpilogueHorizontalTileSwizzle((2**20 - 1, 1), (1, 1)).strips) == 1


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_swizzle_and_its_schedule_are_values(kind):
    s = kind((8, 8, 8)[: kind.rank], (4, 4, 4)[: kind.rank])
    assert kind in {*KINDS}
    assert s == kind((8, 8, 8)[: kind.rank], (4, 4, 4)[: kind.rank])
    assert hash(s) == hash(kind((8, 8, 8)[: kind.rank], (4, 4, 4)[: kind.rank]))
    for x, name in ((kind, "offset"), (s, "cores"), (GemmGroupedAswtTailSplitSwizzle.deal, "m")):
        with pytest.raises(AttributeError):
            setattr(x, name, 2)


def test_the_blocks_of_a_convolution_are_places_by_channels():
    """Conv2dIdentityBlockSwizzle of the headers: batches, blocks along the height and the width, of channels."""
    for case in rows("tla/swizzles.json", "conv2d"):
        batches, high, wide, channels = case["loops"]
        swizzle = GemmIdentityBlockSwizzle[case["offset"], case["direction"]]
        (blocks,) = grouped([(high * wide, channels, 1)] * batches, (1, 1, 1), swizzle=swizzle)
        assert [[batch, *divmod(b.m, wide), b.n] for batch, b in blocks] == case["blocks"]


def test_the_blocks_of_a_convolution_in_three_dimensions():
    """Conv3dIdentityBlockSwizzle of the headers: places by batches, depths and channels in turn."""
    for case in rows("tla/swizzles.json", "conv3d"):
        _, deep, channels, places = case["loops"]
        across = case["loops"][0] * deep * channels
        (blocks,) = GemmIdentityBlockSwizzle[case["offset"], case["direction"]]((places, across, 1), (1, 1, 1)).table
        assert [[b.n // channels // deep, b.n // channels % deep, b.n % channels, b.m] for b in blocks] == case[
            "blocks"
        ]


def place_by_headers(number, down, across, offset, direction):
    """(place, channel) of `GetBlockCoord` in conv/block/block_swizzle.hpp, in its own words."""
    along, other = (down, across) if direction == 0 else (across, down)
    loop, at, inside = -(-along // offset), number // (offset * other), number % (offset * other)
    width = along - offset * at if at == loop - 1 else offset
    major, minor = at * offset + inside % width, inside // width
    if at % 2 == 1:
        minor = other - minor - 1
    return (major, minor) if direction == 0 else (minor, major)


def test_convolutions_by_name_exhaustively():
    """Every block of small convolutions of two and three dimensions, by the formulas of the headers."""
    for (offset, direction), cores in itertools.product(itertools.product((1, 2, 3), (0, 1)), (1, 4)):
        two, three = (
            x[offset, direction] for x in (ascend.Conv2dIdentityBlockSwizzle, ascend.Conv3dIdentityBlockSwizzle)
        )
        for loops in itertools.product((1, 2), (1, 3), (1, 2), (1, 2, 4)):
            batches, high, wide, channels = loops
            whole = (batches, 4 * high - 1, 3 * wide - 2, 16 * channels - 5)
            found = two(whole, (4, 3, 16), cores=cores)
            for task in range(batches * high * wide * channels):
                batch, inner = divmod(task, high * wide * channels)
                place, channel = place_by_headers(inner, high * wide, channels, offset, direction)
                ho, wo = divmod(place, wide)
                block = found[task % cores][task // cores]
                assert block.coord == (batch, ho, wo, channel)
                last = [ho == high - 1, wo == wide - 1, channel == channels - 1]
                tails = [
                    n - i * t if end else t for n, i, t, end in zip(whole[1:], (ho, wo, channel), (4, 3, 16), last)
                ]
                assert block.extents == (1, *tails)
            assert sum(map(len, found)) == batches * high * wide * channels
            n, d, c1, hw = loops
            shape = (2 * n, d, 3 * c1, 5 * hw)
            found = three(shape, loops, cores=cores)
            for task in range(n * d * c1 * hw):
                place, rest = place_by_headers(task, hw, n * d * c1, offset, direction)
                block = found[task % cores][task // cores]
                assert block.coord == (rest // (d * c1), rest // c1 % d, rest % c1, place)
                assert block.start == (2 * block.coord[0], block.coord[1], 3 * block.coord[2], 5 * place)
                assert block.extents == (2, 1, 3, 5)


def test_parts_of_three_dimensions_that_do_not_divide_stay_inside():
    """Five places in four parts are tiles of 2: the third has one, the fourth none; CATLASS's header has 2 and
    5 - 6."""
    (blocks,) = ascend.Conv3dIdentityBlockSwizzle((1, 1, 1, 5), (1, 1, 1, 4))
    assert [(b.start[3], b.extents[3]) for b in blocks] == [(0, 2), (2, 2), (4, 1), (6, 0)]


def test_offsets_at_run_time_give_the_blocks_of_those_in_brackets():
    for name in ("GemmIdentity", "SplitkGemmIdentity", "StreamkGemmIdentity", "SingleCoreSplitkGemmIdentity"):
        fixed, dynamic = getattr(ascend, f"{name}BlockSwizzle"), getattr(ascend, f"Dynamic{name}BlockSwizzle")
        more = {"splitkFactor": 2} if name.startswith("Splitk") else {}
        for offset, direction, m, n in itertools.product((1, 2, 3), (0, 1), (1, 3, 5), (2, 4)):
            problem = (8 * m, 8 * n, 24)
            found = dynamic(problem, (8, 8, 8), offset, direction, cores=3, **more)
            assert found.table == fixed[offset, direction](problem, (8, 8, 8), cores=3, **more).table
        assert repr(dynamic) == f"Dynamic{name}BlockSwizzle"


def test_the_tiles_of_an_epilogue():
    for case in rows("tla/swizzles.json", "epilogue"):
        s = getattr(ascend, case["kind"])((*case["problem"],), (*case["tile"],), cores=case["cores"])
        assert [[[b.m, b.n, *b.extents[:2]] for b in core] for core in s.table] == case["blocks"]
        assert repr(s) == f"{case['kind']}({tuple(case['problem'])}, {tuple(case['tile'])}, cores={case['cores']})"
        assert s.traffic() == (0, 0)  # it reads neither A nor B
        assert all(b.start == (b.m * s.tile[0], b.n * s.tile[1], 0) and b.extents[2] == 0 for b in s.order())


def test_a_repr_has_the_split_of_k_where_there_is_one():
    for split, end in ((1, ""), (2, ", splitkFactor=2")):
        s = SplitkGemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2), splitkFactor=split)
        assert repr(s) == f"SplitkGemmIdentityBlockSwizzle[1, 0]((4, 4, 4), (2, 2, 2), cores=1{end})"


def test_windows_of_groups_and_the_pieces_of_their_tail():
    """GemmGroupedAswtTailSplitSwizzle of the headers: `GetTileIdx` and `GetBlockShape` of each core,
    problem after problem."""
    cut = 0
    for case in rows("tla/swizzles.json", "aswt"):
        tile, swizzle = (*case["tile"], 16), GemmGroupedAswtTailSplitSwizzle[tuple(case["arguments"])]
        made = grouped([*map(tuple, case["problems"])], tile, cores=case["cores"], swizzle=swizzle)
        assert [[[g, b.m, b.n, *b.start[:2], *b.extents[:2]] for g, b in core] for core in made] == case["blocks"], case
        cut += any(b.start != (b.m * tile[0], b.n * tile[1], 0) for core in made for _, b in core)
    assert cut == 11
    assert repr(GemmGroupedAswtTailSplitSwizzle) == "GemmGroupedAswtTailSplitSwizzle[4, False, True]"


def covers_once(case):
    """Whether a case of the headers computes each element once: of groups it does not always."""
    seen = [np.zeros(problem[:2], int) for problem in case["problems"]]
    for core in case["blocks"]:
        for g, _m, _n, row, column, high, wide in core:
            seen[g][row : row + high, column : column + wide] += 1
    return all((x == 1).all() for x in seen)


def test_schedulers_are_those_of_the_headers():
    """BlockSchedulerAswt and BlockSchedulerIterateK, whose batches are a group; groups that CATLASS computes twice are
    differences."""
    differ = 0
    for case in rows("tla/schedulers.json", "aswt"):
        made = grouped(
            [*map(tuple, case["problems"])], (*case["tile"], 64), cores=case["cores"], swizzle=BlockSchedulerAswt
        )
        blocks = [[[g, b.m, b.n, *b.start[:2], *b.extents[:2]] for g, b in core] for core in made]
        assert covers_once(case | {"blocks": blocks})
        assert (blocks == case["blocks"]) == covers_once(case), case
        differ += blocks != case["blocks"]
        if len(case["problems"]) == 1:
            (problem,) = case["problems"]
            alone = BlockSchedulerAswt(tuple(problem), (*case["tile"], 64), cores=case["cores"])
            assert [[(0, b) for b in core] for core in alone.table] == [[*core] for core in made]
    assert differ == 11
    for case in rows("tla/schedulers.json", "iterateK"):
        *problem, batches = case["problem"]
        made = grouped(
            [tuple(problem)] * batches, (*case["tile"], 64), cores=case["cores"], swizzle=BlockSchedulerIterateK
        )
        assert [[[g, *b.start[:2], *b.extents[:2]] for g, b in core] for core in made] == case["blocks"], case
    assert (repr(BlockSchedulerAswt), repr(BlockSchedulerIterateK)) == ("BlockSchedulerAswt", "BlockSchedulerIterateK")


@pytest.mark.parametrize("turned", list(itertools.product((False, True), repeat=2)))
def test_pieces_cover_each_element_once(turned):
    for problems, cores in (
        ([(200, 300, 9)], 24),
        ([(64, 300, 9), (130, 129, 9), (0, 4, 4)], 20),
        ([(500, 40, 9), (1, 300, 9)], 7),
    ):
        seen = [np.zeros(problem[:2], int) for problem in problems]
        for core in grouped(problems, (64, 128, 4), cores=cores, swizzle=GemmGroupedAswtTailSplitSwizzle[(3, *turned)]):
            for g, b in core:
                (row, column, first), (high, wide, depth) = b.start, b.extents
                seen[g][row : row + high, column : column + wide] += 1
                assert (first, depth) == (0, problems[g][2])
                assert min(high, wide) > 0
                assert column % (16 if turned[1] else 128) == 0  # of tiles of 64 by 128
                assert row % (64 if turned[0] else 1) == 0
        assert all((x == 1).all() for x in seen)


def pieces_of(problems, tile, cores, arguments):
    """Of the last problem, for each core: where its pieces begin, and how large they are."""
    made = grouped(problems, tile, cores=cores, swizzle=GemmGroupedAswtTailSplitSwizzle[arguments])
    return {
        core: [(b.start[:2], b.extents[:2]) for g, b in own if g == len(problems) - 1] for core, own in enumerate(made)
    }


def test_a_tail_is_cut_where_half_of_the_cores_have_nothing_to_do():
    """NeedTailSplit of the headers counts the cores up to the last one that has a block, also those that had the
    problem before."""
    for before, cut in ((10, True), (11, False), (12, False)):
        found = pieces_of([(64 * before, 128, 4), (64, 256, 4)], (64, 128, 4), 24, (3, False, False))
        whole = {before: [((0, 0), (64, 128))], before + 1: [((0, 128), (64, 128))]}
        busy = {core: own for core, own in found.items() if own}
        assert (busy != whole) == cut
        assert len(busy) == (8 if cut else 2)  # of the 7 pieces that there are cores for, 4 of 16 rows


@pytest.mark.parametrize(("high", "wide"), [(5, 5), (5, 2), (2, 5), (1, 3)])
def test_a_block_is_cut_as_evenly_as_there_are_cores(high, wide):
    """Into 16 rows and columns at least; one less of the more, or of the rows, until there is a core for each piece."""
    for cores in range(2, 27):
        h, w = min(high, cores), min(wide, cores)
        steps = [*((n, w) for n in range(h, w, -1)), *((h, n) for n in range(w, h, -1))]
        steps += [pair for n in range(min(h, w), 0, -1) for pair in ((n, n), (n - 1, n))]
        h, w = next(pair for pair in steps if math.prod(pair) <= cores)
        found = pieces_of([(16 * high, 16 * wide, 4)], (80, 80, 4), cores, (3, False, True))
        rows_, columns = range(0, 16 * high, -(-16 * high // h)), range(0, 16 * wide, -(-wide // w) * 16)
        assert sorted(b[0] for own in found.values() for b in own) == [*itertools.product(rows_, columns)], cores


def test_a_piece_that_would_be_empty_is_none():
    """512 rows in three pieces of 128 and more: two of 256, and nothing left for the third."""
    found = pieces_of([(812, 16, 4)], (512, 512, 4), 8, (3, True, False))
    assert [found[core] for core in range(3)] == [[((0, 0), (256, 16))], [((256, 0), (256, 16))], []]
    found = pieces_of([(16, 812, 4)], (512, 512, 4), 8, (3, False, False))
    assert [found[core] for core in range(3)] == [[((0, 0), (16, 256))], [((0, 256), (16, 256))], []]


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: GemmIdentityBlockSwizzle((0, 1, 1), (1, 1, 1)), RangeError, "sizes of 1 or more"),
        (lambda: GemmIdentityBlockSwizzle((4, 4, 4), (2, 2, -2)), RangeError, "sizes of 1 or more"),
        (lambda: GemmIdentityBlockSwizzle((4, 4), (2, 2, 2)), LeafTypeError, r"\(m, n, k\)"),
        (lambda: GemmIdentityBlockSwizzle[1, 2], RangeError, "direction 0 or 1"),
        (lambda: GemmIdentityBlockSwizzle[0], RangeError, "an offset of 1 or more"),
        (lambda: GemmIdentityBlockSwizzle[1, 0, 0], LeafTypeError, "an offset, and a direction"),
        (lambda: GemmIdentityBlockSwizzle[()], LeafTypeError, "an offset, and a direction"),
        (lambda: GemmGroupedAswtTailSplitSwizzle[()], LeafTypeError, "TransA and TransB"),
        (lambda: ColumnBlockSwizzle[1], LeafTypeError, "it has one order"),
        (
            lambda: GemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2), splitkFactor=2),
            LeafTypeError,
            "write SplitkGemmIdentityBlockSwizzle",
        ),
        (lambda: SplitkGemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2), splitkFactor=0), RangeError, "1 or more"),
        (lambda: GemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2), cores=2).core(2), RangeError, "0 to 1"),
        (lambda: GemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2)).traffic(16, 4), RangeError, "0 to 3"),
        (lambda: GemmIdentityBlockSwizzle((4, 4, 4), (2, 2, 2), cores=0), RangeError, "1 or more"),
        (lambda: grouped([], (1, 1, 1), cores=0), RangeError, "1 or more"),
        (lambda: grouped([(1, 1, 1)], (1, 1, 1), swizzle=ColumnBlockSwizzle), LeafTypeError, "from core to core"),
        (
            lambda: grouped([(1, 1, 1)], (1, 1, 1), swizzle="GemmIdentityBlockSwizzle"),
            LeafTypeError,
            "from core to core",
        ),
        (
            lambda: EpilogueHorizontalTileSwizzle((4, 4, 4), (2, 2)),
            LeafTypeError,
            r"expected +\(m, n\)\n +fix +write \(128, 256\)",
        ),
        (lambda: EpilogueIdentityTileSwizzle[1], LeafTypeError, "it has one order"),
        (lambda: GemmGroupedAswtTailSplitSwizzle[0], RangeError, "a window of 1 or more"),
        (lambda: GemmGroupedAswtTailSplitSwizzle[4, 2], RangeError, "False or True"),
        (lambda: GemmGroupedAswtTailSplitSwizzle[4, 0, 1, 1], LeafTypeError, "TransA and TransB"),
        (lambda: GemmIdentityBlockSwizzle("a", (1, 1, 1)), LeafTypeError, r"\(m, n, k\)"),
        (lambda: GemmIdentityBlockSwizzle["x"], TlaError, "'x'"),
    ],
)
def test_refusals(make, error, text):
    with pytest.raises(error, match=text):
        make()


@pytest.mark.parametrize("seed", range(amount(30, 600)))
def test_blocks_in_turn_have_the_sizes_and_the_traffic_of_blocks_one_by_one(seed):
    rng = random.Random(seed)
    problem, tile = (tuple(rng.choice((rng.randint(1, 300), 16 * rng.randint(1, 9))) for _ in range(3)) for _ in "pt")
    swizzle = GemmIdentityBlockSwizzle[rng.randint(1, 9), rng.randint(0, 1)]
    s = swizzle(problem, tuple(map(max, tile, (8, 8, 8))), cores=rng.choice((1, 2, 5, 24, 60)))
    dealt = Dealt(s)
    assert [[dealt.sizes[kind] for kind in kinds] for kinds in dealt.lists] == [
        [b.extents for b in blocks] for blocks in s.table
    ]
    assert dealt.traffic(ascend.half) == s.traffic()
    assert dealt.traffic(ascend.int4b) == s.traffic(ascend.int4b)
    # cores with blocks of the same sizes, in the same order, have the same list
    assert len({*dealt.lists}) == len({tuple(b.extents for b in blocks) for blocks in s.table})
