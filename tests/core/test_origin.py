"""What of a result is valid: by brute force, never more than there is, and None where it is no box."""

import itertools
import pickle
import random

import pytest

import tla
from tla import Layout, RangeError, TlaError, ascend, parse, xla
from tla.codegen import emit_copy, emit_guard, source
from tla.core.valid import first

import oracle
from night import amount


def valid_places(layout):
    """The offsets of what is valid, by the definition: every coordinate below origin_shape. Layouts
    here are injective."""
    extents = layout.origin_shape
    coords = itertools.product(*map(range, map(int, extents)))
    return sorted(layout(c if isinstance(layout.shape, tuple) else c[0]) for c in coords)


def random_layout(rng):
    """An injective layout of two modes, some nested, that are partly valid."""
    shape = tuple(rng.choice([4, 6, 8, (2, 4), (4, 2), (2, 3)]) for _ in range(2))
    flat = tla.MakeLayout(shape, rng.choice([tla.LayoutLeft, tla.LayoutRight]))
    origin = tuple(rng.randint(1, int(n)) for n in tla.product_each(shape))
    return Layout(flat.shape, flat.stride, origin)


#: Operations that keep all elements: the valid ones must be the same, or None.
KEEP = {
    "flatten": tla.flatten,
    "coalesce": tla.coalesce,
    "coalesce by": lambda a: tla.coalesce(a, (1, 1)),
    "reverse": tla.reverse,
    "group": tla.group[0, 2],
    "modes joined": lambda a: tla.MakeLayout(a[0], a[1]),
    "filter_zeros": tla.filter_zeros,
    "filter": tla.filter,
    "with_shape": lambda a: tla.with_shape(a, tla.size(a)),
    "logical_divide": lambda a: tla.logical_divide(a, (2, 2)),
    "logical_divide by one": lambda a: tla.logical_divide(a, 4),
    "zipped_divide": lambda a: tla.zipped_divide(a, (2, 2)),
    "tiled_divide": lambda a: tla.tiled_divide(a, (2, 2)),
    "flat_divide": lambda a: tla.flat_divide(a, (2, 2)),
    "strided tiles": lambda a: tla.logical_divide(a, (parse("2:2"), parse("2:2"))),
    "composition": lambda a: tla.composition(a, tla.MakeLayout(tla.size(a), 1)),
    "unflatten": lambda a: tla.unflatten(tla.flatten(a), a.shape),
    "append": lambda a: tla.append(a, parse("1:0")),
}


@pytest.mark.parametrize("name", KEEP)
def test_the_valid_part_is_the_same_or_none(name):
    rng, carried = random.Random(name), 0
    for _ in range(amount(50, 150)):
        a = random_layout(rng)
        try:
            result = KEEP[name](a)
        except TlaError:
            continue
        if result.origin_shape is not None and tla.size(result) == tla.size(a):
            carried += 1
            assert valid_places(result) == valid_places(a), (a, result)
    assert carried > amount(1, 5), carried


def test_a_part_has_what_is_valid_of_it():
    rng, carried = random.Random(1), 0
    for _ in range(300):
        a = random_layout(rng)
        tile = (rng.choice([1, 2, 4]), rng.choice([1, 2, 4]))
        try:
            part = tla.composition(a, tile)
        except TlaError:
            continue
        places = {a(c) for c in itertools.product(*map(range, map(int, tla.product_each(part.shape))))}
        if part.origin_shape is not None:
            carried += 1
            assert valid_places(part) == sorted(places & {*valid_places(a)}), (a, part)
        i = rng.randrange(int(tla.product_each(a.shape)[0]))
        row = tla.slice_((i, tla._), a)
        if row.origin_shape is not None:
            assert i < a.origin_shape[0]
            assert row.origin_shape == (a.origin_shape[1],)
        else:
            assert i >= a.origin_shape[0]
    assert carried > 100


@pytest.mark.parametrize(
    ("old", "new", "made", "origin"),
    [
        (8, 16, tla.MakeLayout[8, ascend.zN](100, 50), (100, 25)),
        (16, 8, tla.MakeLayout[16, ascend.zN](100, 50), (100, 100)),
        (16, 16, tla.MakeLayout[16, ascend.zN](100, 50), (100, 50)),
        (8, 16, tla.MakeLayout[8, ascend.zN](100, 51), None),
        (4, 8, tla.MakeLayout[4, ascend.RowMajor](7, 10, ld=16), (7, 5)),
    ],
)
def test_elements_of_another_width_keep_what_is_valid(old, new, made, origin):
    assert tla.recast_layout[old, new](made).origin_shape == origin


def test_the_tile_of_a_padded_array_never_claims_to_be_all_valid():
    array = xla.lower("f32[3,5]{1,0:T(8,128)}")
    tiles = tla.zipped_divide(array, (tla._8, tla._128))
    assert tiles.origin_shape is None
    assert tla.logical_divide(array, (tla._8, tla._128)).origin_shape == (3, 5)
    for x in (tiles, pickle.loads(pickle.dumps(tiles)), eval(repr(tiles), {"parse": parse})):
        assert x == tiles
        assert x.origin_shape is None
    assert tiles != Layout(tiles.shape, tiles.stride)
    assert tla.same_map(tiles, Layout(tiles.shape, tiles.stride)) is None
    for ask in (
        lambda: tla.MakeTensor(None, tiles),
        lambda: tla.GetTileLayout(tiles, (8, 1), (0, 0)),
        lambda: [*tla.padding(tiles)],
        lambda: emit_copy(tiles, tiles, "c"),
        lambda: emit_guard(tiles, "c", ("i", "j")),
        lambda: xla.raise_(tiles),
        lambda: source(tiles, "tla_cpp"),
    ):
        with pytest.raises(RangeError, match="part of it is padding"):
            ask()


DIVIDES = (tla.logical_divide, tla.zipped_divide, tla.tiled_divide, tla.flat_divide)


def test_a_divide_whose_tiles_reach_past_the_end_claims_what_there_is_or_nothing():
    """Small sizes by small tiles: the valid coordinates go to the offsets of the layout, each of them; or it is said
    that it is no box."""
    carried = said = 0
    tiles = [2, 3, 4, 5, 8, tla._4, tla._8, *map(parse, ("_2:_2", "3:1", "2:4", "(2,2):(1,4)", "_4:_1"))]
    for n, divide, tile in itertools.product((1, 3, 4, 5, 7, 10, 12), DIVIDES, tiles):
        for a, tiler in (
            (Layout(n, 1), tile),
            (tla.MakeLayout((n, 3), (1, 100)), (tile, 2)),
            (tla.MakeLayout((n, 3), (1, 100)), (tile,)),
        ):
            try:
                made = divide(a, tiler)
            except TlaError:  # a tile with gaps
                continue
            if made.origin_shape is None:
                said += tla.size(made) > tla.size(a)
                continue
            carried += tla.size(made) > tla.size(a)
            assert valid_places(made) == valid_places(a), (divide.__name__, a, tiler, made, made.origin_shape)
    assert carried > 80
    assert said > 100


def test_the_divides_of_the_issue():
    ten, matrix = parse("_10:_1"), parse("(_10,_4):(_1,_10)")
    assert tla.zipped_divide(ten, 4).origin_shape is None
    assert tla.zipped_divide(ten, 16).origin_shape == (10, 1)
    assert tla.logical_divide(matrix, (4, 4)).origin_shape == (10, 4)
    assert tla.logical_divide(matrix, (4, 3)).origin_shape == (10, 4)
    assert tla.logical_divide(matrix, (parse("4:1"), tla._)).origin_shape == (10, 4)
    assert tla.logical_divide(matrix, 4).origin_shape == (4, 10)
    assert tla.zipped_divide(matrix, (4, 4)).origin_shape is None


@pytest.mark.parametrize(("rows", "cols"), [(100, 60), (1, 1), (16, 16), (33, 17)])
def test_a_tag_that_is_recognised_has_the_valid_sizes(rows, cols):
    for tag in (ascend.zN, ascend.nZ, ascend.zZ, ascend.RowMajor, ascend.L0C):
        layout = tla.MakeLayout[ascend.half, tag](rows, cols)
        found = ascend.recognize(layout, ascend.half)
        assert found.layout == layout
        assert tla.same_map(found.layout, layout)


def test_modes_that_are_taken_keep_what_is_valid_of_them():
    """By (extent, stride) * a mode: of each mode of the array its valid part, of a mode in a mode what is
    known of it."""
    array = xla.lower("f32[3,5]{1,0:T(8,128)}")
    for tiler, origin in (
        ("(_4,_8):(_1@0,_1@1)", (3, 5)),
        ("(_8,_4):(_1@1,_1@0)", (5, 3)),
        ("(_2,_8):(_1@0,_1@1)", (2, 5)),
    ):
        assert tla.composition(array, parse(tiler)).origin_shape == origin
    nested = Layout(((4, 2), 8), ((1, 4), 8), (3, 5))
    assert tla.composition(nested, parse("(_4,_8):(_1@0@0,_1@1)")).origin_shape == (3, 5)
    assert tla.composition(nested, parse("(_2,_8):(_1@1@0,_1@1)")).origin_shape == (1, 5)


def apart(layout):
    """The layout with strides that keep the coordinates of its modes apart, past their ends too."""
    strides = [oracle.compact(s) for s in layout.shape]
    return Layout(
        layout.shape,
        tuple(tuple(100**i * d for d in m) if isinstance(m, tuple) else 100**i * m for i, m in enumerate(strides)),
    )


#: Operations on all coordinates of a layout, and where the result begins: those of KEEP, and cuts.
CUTS = {
    **{
        name: (operation, None)
        for name, operation in KEEP.items()
        if name not in ("modes joined", "filter_zeros", "filter", "append")
    },
    "tiles of (3,4)": (lambda a: tla.zipped_divide(a, (3, 4)), None),
    "tiles of (5,5)": (lambda a: tla.tiled_divide(a, (5, 5)), None),
    "tiles of 16": (lambda a: tla.logical_divide(a, 16), None),
    "a part": (lambda a: tla.composition(a, (3, 2)), None),
    "a part of steps": (lambda a: tla.composition(a, (parse("2:2"), 3)), None),
    "another shape": (lambda a: tla.with_shape(a, (2, tla.size(a) // 2)), None),
    "the transpose": (lambda a: tla.composition(a, tla.MakeLayout((2, 2), (tla.E[1], 2 * tla.E[0]))), None),
    "a row": (lambda a: tla.slice_((1, tla._), a), (1, 0)),
    "a column": (lambda a: tla.slice_((tla._, 2), a), (0, 2)),
    "rows of blocks": (lambda a: tla.slice_((tla._, (tla._, 1)), a), (0, (0, 1))),
    "rows in blocks": (lambda a: tla.slice_(((1, tla._), tla._), a), ((1, 0), 0)),
}


@pytest.mark.parametrize("name", CUTS)
def test_what_is_said_to_be_valid_is_so_coordinate_by_coordinate(name):
    """The element at an index of the result is one of the layout's coordinates: it is valid where each of these is
    below origin_shape."""
    operation, start = CUTS[name]
    rng, boxes = random.Random(name), 0
    for _ in range(amount(60, 200)):
        a = random_layout(rng)
        try:
            made, places = operation(a), operation(apart(a))
        except TlaError:
            continue
        begin = 0 if start is None else apart(a)(start)
        found = [[n // 100**i % 100 for i in range(2)] for n in (places(k) + begin for k in range(int(tla.size(made))))]
        valid = [all(c < o for c, o in zip(coord, a.origin_shape)) for coord in found]
        extents = [int(n) for n in tla.product_each(made.shape)]
        coords = [c[::-1] for c in itertools.product(*map(range, extents[::-1]))]
        if made.origin_shape is None:
            continue
        boxes += True in valid
        assert [all(x < o for x, o in zip(c, made.origin_shape)) for c in coords] == valid, (a, made, made.origin_shape)
    assert boxes > amount(1, 5), boxes


def test_what_of_symbols_is_valid_asks_for_nothing():
    """Under assuming(), a padded layout records the conditions that the whole one does."""
    M, N, K = tla.dims("M N K")
    for operation in (
        lambda a: tla.zipped_divide(a, (K, 4)),
        lambda a: tla.logical_divide(a, tla._16),
        lambda a: tla.composition(a, 8),
        lambda a: tla.coalesce(tla.flatten(a)),
    ):
        for shape, origin in (((M, N), (M, K)), (((4, M), N), (4 * K, N))):
            whole = tla.MakeLayout(shape)
            recorded = []
            for a in (whole, Layout(whole.shape, whole.stride, origin)):
                with tla.assuming() as conditions:
                    operation(a)
                recorded.append([*map(str, conditions)])
            assert recorded[0] == recorded[1]


def test_the_first_coordinates_of_a_box():
    """How many coordinates a box has, where they are the first ones; by counting."""
    for extents in itertools.product((1, 2, 3), repeat=3):
        for counts in itertools.product(*(range(1, n + 1) for n in extents)):
            places = sorted(i + extents[0] * (j + extents[1] * k) for i, j, k in itertools.product(*map(range, counts)))
            expected = len(places) if places == [*range(len(places))] else None
            assert first(extents, counts) == expected, (extents, counts)
