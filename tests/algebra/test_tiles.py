"""Tiles, batches and padding, against the definition on whole domains."""

import itertools

import numpy as np
import pytest

import tla
from tla import (
    GetTileLayout,
    Int,
    Layout,
    MakeBatchedLayout,
    MakeLayout,
    MakeLayoutTile,
    RangeError,
    ascend,
    idx2crd,
    is_on_block,
    is_static,
    padding,
    parse,
)

import oracle
from night import amount, some

ZN = MakeLayout[64, ascend.zN](20, 7)  # blocks of 16 by 4
# Each of these with an origin_shape that leaves padding in every mode.
LAYOUTS = [
    MakeBatchedLayout(ZN, 2, tla.size(ZN)),
    Layout((2, (4, 2), (2, 3)), (48, (2, 8), (1, 16)), (2, 7, 5)),  # a batch of fractals
    Layout(((2, (3, 2)), (2, 2)), ((1, (2, 6)), (12, 24)), (11, 3)),  # three levels
    Layout(((2, 3, 2), 3), ((1, 2, 6), 12), (10, 3)),  # three levels side by side
    Layout(((4, 3),), ((1, 8),), (10,)),  # a blocked vector
    Layout((5, 4), (7, 1), (3, 4)),
    Layout(6, 3, (5,)),
    MakeLayout[8, ascend.MxScaleRowMajorA](3, 5),
    MakeLayout[8, ascend.MxScaleColumnMajorB](5, 3),
    MakeLayout[256, ascend.NC1HWC0](2, 2, 3, 2),
]


def boxes(extents):
    return itertools.product(*map(range, extents))


def extents(layout):
    return [oracle.size(s) for s in (layout.shape if isinstance(layout.shape, tuple) else (layout.shape,))]


def at(layout, coord):
    """The offset by the definition, at one integer per mode."""
    rank_1 = not isinstance(layout.shape, tuple)
    return oracle.offset(coord[0] if rank_1 else coord, layout.shape, layout.stride)


def tiles(layout):
    """Tiles of all sizes, and starts up to past the end; of larger layouts some of them."""
    sizes = [range(1, n + 3) for n in extents(layout)]
    starts = [range(n + 2) for n in extents(layout)]
    pairs = list(itertools.product(itertools.product(*sizes), itertools.product(*starts)))
    return pairs[:: max(1, len(pairs) // amount(300, 1500))]


@pytest.mark.parametrize("layout", some(LAYOUTS, 2), ids=str)
def test_a_tile_is_the_whole_seen_from_its_start(layout):
    blocks = [
        oracle.size(tuple(oracle.leaves(s))[:-1])
        for s in (layout.shape if isinstance(layout.shape, tuple) else (layout.shape,))
    ]
    for tile, start in tiles(layout):
        as_given = (tile, start) if isinstance(layout.shape, tuple) else (tile[0], start[0])
        made = GetTileLayout(layout, *as_given)
        assert made.stride == layout.stride
        assert tuple(made.origin_shape) == tuple(
            max(0, min(t, o - c)) for t, o, c in zip(tile, layout.origin_shape, start)
        )
        whole = tuple(extents(made))
        assert all(t <= n < t + b for t, n, b in zip(tile, whole, blocks))  # as many blocks as it takes, and no more
        on_block = all(c % b == 0 for c, b in zip(start, blocks))
        assert is_on_block(layout, as_given[1]) is on_block
        for c in itertools.islice(boxes(tile), 40):
            absolute = tuple(a + b for a, b in zip(start, c))
            assert at(made, absolute) == at(layout, absolute)
            if on_block:
                assert at(layout, start) + at(made, c) == at(layout, absolute)
        if not any(start):
            assert made == MakeLayoutTile(layout, as_given[0])


def test_a_start_in_blocks():
    layout = parse("((_4,2),(_4,3)):((_4,_16),(_1,_32))")
    for row, col in boxes((9, 14)):
        nested = idx2crd((row, col), layout.shape)
        assert GetTileLayout(layout, (4, 4), nested) == GetTileLayout(layout, (4, 4), (row, col))
        assert (tla.get[0, 1](nested), tla.get[1, 1](nested)) == (row // 4, col // 4)
    assert GetTileLayout(layout, (4, 4), ((0, 1), 8)).origin_shape == (4, 4)


def test_static_tiles_stay_static():
    layout = MakeLayout[16, ascend.zN](Int[100](), Int[60]())
    for tile in (
        GetTileLayout(layout, (Int[32](), Int[32]()), (Int[96](), Int[0]())),
        MakeLayoutTile(layout, (Int[32](), Int[32]())),
    ):
        assert is_static(tile)
        assert is_static(tile.origin_shape)
    tile = GetTileLayout(layout, (Int[32](), Int[32]()), (96, 0))
    assert str(tile) == "((_16,_2),(_16,_2)):((_16,_256),(_1,_1792))"
    assert str(tile.origin_shape) == "(4,32)"


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_padding_is_the_shape_less_the_valid_part(layout):
    seen = []
    for box in padding(layout):
        for c in boxes(box.layout.origin_shape):
            absolute = tuple(a + b for a, b in zip(box.coord, c))
            seen.append(absolute)
            assert at(box.layout, absolute) == at(layout, absolute)
    valid = set(boxes(layout.origin_shape))
    assert len(seen) == len(set(seen))
    assert set(seen) == set(boxes(extents(layout))) - valid


def test_padding_of_nothing_and_of_everything():
    assert list(padding(parse("(4,6):(6,1)"))) == []
    assert [tuple(box.layout.origin_shape) for box in padding(Layout((4, 6), (6, 1), (0, 0)))] == [(4, 6)]
    assert list(padding(parse("(0,6):(6,1)"))) == []


def test_batches():
    one = MakeLayout[16, ascend.zN](100, 60)
    batch = MakeBatchedLayout(one, Int[3](), 8000)
    assert str(batch) == "(_3,(_16,7),(_16,4)):(8000,(_16,_256),(_1,1792))"
    assert batch.origin_shape == (3, 100, 60)
    assert np.array_equal(tla.offsets(batch)[2], tla.offsets(one) + 16000)
    assert MakeBatchedLayout(batch, 2, 24000).origin_shape == (2, 3, 100, 60)
    assert MakeBatchedLayout(MakeLayout(7), 2, 8) == parse("(2,7):(8,_1)")


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (
            lambda: GetTileLayout(ZN, (4, 4), (-1, 0)),
            "GetTileLayout: the start (-1,0) is before the layout\n  expected  0 or more in each mode",
        ),
        (lambda: GetTileLayout(ZN, (4, 4), ((-1, 0), 0)), "GetTileLayout: the start ((-1,0),0) is before the layout"),
        (lambda: GetTileLayout(ZN, (4, 4), (0,)), "GetTileLayout: the start (0) in ((_16,2),(_4,2))"),
        (lambda: GetTileLayout(ZN, (4, 4), 0), "GetTileLayout: the start 0 in"),
        (lambda: GetTileLayout(ZN, (4, 4), ((0, (0, 0)), 0)), "GetTileLayout: the start ((0,(0,0)),0) in"),
        (lambda: GetTileLayout(ZN, (4, 4), (0.5, 0)), "0.5 is of type float"),
        (lambda: GetTileLayout(ZN, (4, 4), (tla._, 0)), "`_` in a coordinate"),
        (lambda: GetTileLayout(ZN, (4, -1), (0, 0)), "GetTileLayout: a tile of -1"),
        (lambda: GetTileLayout(ZN, (4, 4, 1), (0, 0)), "tile (4,4,1) of"),
        (lambda: GetTileLayout(ZN, 4, (0, 0)), "tile 4 of"),
        (lambda: GetTileLayout((4, 4), (4, 4), (0, 0)), "GetTileLayout of a tuple"),
        (lambda: GetTileLayout(parse("((),4):((),1)"), (1, 4), (0, 0)), "a tile of 1 of a mode without extents"),
        (lambda: MakeBatchedLayout(ZN, -1, 4), "Layout: extent -1 in -1"),
        (lambda: MakeBatchedLayout(ZN, 2, None), "None is of type NoneType"),
        (lambda: list(padding((4, 4))), "padding of a tuple"),
    ],
)
def test_refused(ask, says):
    with pytest.raises(tla.TlaError) as caught:
        ask()
    assert str(caught.value).startswith(says), str(caught.value)


def test_the_fixes_work():
    a = parse("((_4,2),(_4,3)):((_4,_16),(_1,_32))")
    assert (
        is_on_block.why_not(a, (5, 8)).fix == "start at the block before, or address the tile by absolute coordinates"
    )
    assert is_on_block(a, (4, 8)) is True
    assert GetTileLayout(a, (4, 4), (5, 8))(5 + 3, 8 + 1) == a(8, 9)
    assert GetTileLayout(a, (4, 4), (0, 0)).origin_shape == (4, 4)


def test_a_start_in_blocks_is_a_coordinate():
    """Of its integers only the last of a mode has no end, as with tiles past the end."""
    a = parse("((4,2),(4,3)):((4,16),(1,32))")
    assert GetTileLayout(a, (4, 4), ((3, 9), (0, 2))).origin_shape == (0, 4)
    for start in (((4, 0), 0), ((-1, 1), 0), (0, (5, 0)), (0, (1, -1))):
        with pytest.raises(RangeError):
            GetTileLayout(a, (4, 4), start)
    deep = parse("((2,(3,4)),5):((1,(2,6)),24)")
    assert GetTileLayout(deep, (6, 5), ((1, 7), 0)) == GetTileLayout(deep, (6, 5), (15, 0))
    with pytest.raises(RangeError):
        GetTileLayout(deep, (6, 5), ((1, (3, 1)), 0))


@pytest.mark.parametrize("layout", [ZN, tla.parse("(20,30):(30,1)"), tla.parse("((4,2),(4,3)):((4,16),(1,32))")])
@pytest.mark.parametrize("tile", [(0, 4), (4, 0), (0, 0)])
def test_a_tile_of_0_has_no_elements_and_the_strides_of_the_whole(layout, tile):
    for start in ((0, 0), (3, 5), (8, 12)):
        found = GetTileLayout(layout, tile, start)
        assert found.stride == layout.stride
        assert np.size(tla.offsets(found)) == 0
        assert [n for n, t in zip(found.origin_shape, tile) if t == 0] == [0] * tile.count(0)


def test_a_shape_of_coordinates_beside_symbols_is_refused():
    m = tla.dim("M")
    with pytest.raises(tla.LeafTypeError, match="coordinates have no order"):
        tla.tile_to_shape(tla.make_layout((m, 4), (1, m)), (2 * tla.E[1], tla.E[0], m))
