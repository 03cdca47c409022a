"""PyCuTe's own tests (NVlabs/CuTe, test/*.py): the layouts of their statements, and what each has to meet, on tla.

A row of tests/data/pycute_nvlabs.txt is a statement: its layouts as text, and the answer where they say one. Numbers
are known; N, M, X and Y are not. What is not here is in docs/compat.md, with the reason.
"""

import itertools
from pathlib import Path

import pytest

import tla
from tla import E, TlaError, dims, parse, size, static

from night import amount

SYMBOLS = dict(zip("NMXY", dims("N M X Y", at_least=1)))


def read(text):
    """A layout, or a shape, whose layout is compact; of tuples of tilers in brackets a tuple."""
    if text.startswith("["):
        return tuple(read(part) for part in text[1:-1].split(";"))
    value = static(parse(text.strip(), symbols=SYMBOLS))
    return value if isinstance(value, tla.Layout) else static(tla.make_layout(value))


def same(one, two):
    """Equal values; zeros at the end of a coordinate may be left out, as they are there: (1,) and (1, 0)."""
    return without_zeros(one) == without_zeros(two)


def without_zeros(value):
    if isinstance(value, tla.ScaledBasis):
        nested = value.value
        for axis in reversed(value.path):
            nested = (0,) * axis + (nested,)
        value = nested
    if not isinstance(value, tuple):
        return value
    parts = [*map(without_zeros, value)]
    while parts and parts[-1] in (0, ()):
        parts.pop()
    return tuple(parts) or 0


DATA = (Path(__file__).parents[1] / "data" / "pycute_nvlabs.txt").read_text()


def rows(name):
    """The rows of a part of the data, each as its texts."""
    part = DATA.split(f"# {name}\n")[1].split("\n\n")[0]
    return [[*map(str.strip, line.split(" | "))] for line in part.strip().split("\n")]


SMALL = [(f"{a}:{c}", f"{b}:{d}") for a, b, c, d in itertools.product(range(1, 4), range(1, 4), range(4), range(4))]
COMPOSITIONS = rows("compositions")


@pytest.mark.parametrize(("first", "second"), [*SMALL, *COMPOSITIONS], ids=lambda text: text)
def test_composition(first, second):
    a, b = read(first), read(second)
    found = tla.composition(a, b)
    assert tla.compatible(tla.shape(b), tla.shape(found))
    assert all(same(found(i), a(b(i))) for i in range(size(b)))


@pytest.mark.parametrize(("first", "second"), [("(5,3):(7,1)", "7:1"), ("(N,8):(X,Y)", "4:1")])
def test_composition_fails(first, second):
    with pytest.raises(ValueError, match="expected"):
        tla.composition(read(first), read(second))


def test_composition_that_pycute_does_not_look_for():
    """It refuses it, for 3 does not divide 5; it exists."""
    assert tla.composition(read("(5,3):(7,1)"), read("2:3")) == read("2:21")


@pytest.mark.parametrize(("first", "second", "third"), rows("composition_is_associative"))
def test_composition_is_associative(first, second, third):
    a, b, c = map(read, (first, second, third))
    ways = tla.composition(tla.composition(a, b), c), tla.composition(a, tla.composition(b, c))
    assert all(way(i) == a(b(c(i))) for i in range(size(c)) for way in ways)


def test_modes_in_brackets():
    a, b = read("((6,2),5):((8,2),1)"), read("(4,3):(3,1)")
    assert tla.composition[0](a, b) == tla.composition(a, (b, tla._)) == tla.make_layout(tla.composition(a[0], b), a[1])
    assert tla.composition[0, 0](a, read("3:2")) == tla.make_layout(
        tla.make_layout(tla.composition(a[0][0], read("3:2")), a[0][1]), a[1]
    )
    a, b = read("((3,8),5):((1,3),24)"), read("4:2")
    assert tla.logical_divide[0](a, b) == tla.make_layout(tla.logical_divide(a[0], b), a[1])
    assert tla.logical_divide[1](read("(5,24):(1,5)"), b) == tla.make_layout(
        read("5"), tla.logical_divide(read("24:5"), b)
    )
    inner = tla.make_layout(a[0][0], tla.logical_divide(a[0][1], b))
    assert tla.logical_divide[0, 1](a, b) == tla.make_layout(inner, a[1])
    a, b = read("(3,5):(1,20)"), read("4")
    assert tla.logical_product[0](a, b) == tla.make_layout(tla.logical_product(a[0], b), a[1])
    assert tla.logical_product[1](a, b) == tla.make_layout(a[0], tla.logical_product(a[1], b))
    for operation in (tla.composition, tla.logical_divide, tla.logical_product):
        with pytest.raises(ValueError, match="mode 2"):
            operation[2](a, b)


COALESCED = rows("coalesced")


@pytest.mark.parametrize("text", [row[0] for row in COALESCED])
def test_coalesce(text):
    a = read(text)
    found = tla.coalesce(a)
    assert tla.depth(found) <= 1
    assert size(found) == size(a)
    assert all(same(found(i), a(i)) for i in range(size(a)))
    assert tla.coalesce(found) == found == tla.composition(a, tla.make_layout(static(size(a))))


@pytest.mark.parametrize(
    ("text", "wanted"), [("(N,M):(1,N)", "N*M:1"), ("(N,M):(X,Y)", "(N,M):(X,Y)"), ("(1,N):(X,Y)", "N:Y")]
)
def test_coalesce_unknown_sizes(text, wanted):
    assert tla.coalesce(read(text)) == read(wanted)


COMPLETE = [row[0] for row in rows("complete")]


@pytest.mark.parametrize(
    "text", [*COMPLETE, "(4,2):(1,6)", "(4,2):(1,5)", "(4,2):(1,10)", "(4,2):(1,11)", "(2,4):(11,1)"]
)
def test_complement(text):
    """Ordered, apart from the layout, and with it everything where strides divide; here up to a size that is asked,
    there without an end."""
    a = read(text)
    beyond = tla.cosize(a) * 11
    found = tla.complement(a, beyond)
    offsets, taken = [found(i) for i in range(size(found))], {a(i) for i in range(size(a))}
    assert offsets == sorted({*offsets})
    assert not taken & {*offsets[1:]}
    if text in COMPLETE:
        assert {x + y for x in taken for y in offsets} >= {*range(beyond)}


@pytest.mark.parametrize(
    "text",
    ["3:1@0", "3:4@2", "(2,5,3):(4@1,5@0,16@1)", *amount([], ["(2,3,5):(4@1,5@0,7@1@2)", "(2,3,5):(4@1,0,7@1@2)"])],
)
def test_complement_of_coordinates(text):
    a = read(text)
    found = tla.complement(a)
    both = tla.make_layout(a, found)
    back = tla.right_inverse(both)
    assert tla.weakly_congruent(tla.coprofile(a), tla.shape(found))
    assert all(both(back(both(i))) == both(i) for i in range(size(both)))
    assert all(found(i) != a(j) for i in range(1, size(found)) for j in range(size(a)))


RIGHT = [row[0] for row in rows("right")]
COORDINATES = [row[0] for row in rows("coordinates")]


def coordinates(text):
    """A layout of coordinates; of `tile o layout` the tile's coordinates in the order of a layout."""
    tile, _, inner = text.partition("o")
    return tla.composition(tla.make_identity_layout(static(parse(tile))), read(inner)) if inner else read(text)


@pytest.mark.parametrize("text", [*RIGHT, *COORDINATES])
def test_right_inverse(text):
    a = coordinates(text)
    back = tla.right_inverse(a)
    assert tla.weakly_congruent(tla.coprofile(a), tla.shape(back))
    assert all(back(a(back(i))) == back(i) for i in range(size(back)))
    assert all(a(back(i)) == i for i in range(size(back)) if isinstance(a(0), int))


@pytest.mark.parametrize(
    ("text", "wanted"), [("N:1", "N:1"), ("(N,M):(1,N)", "N*M:1"), ("N:X", "1:0"), ("(M,N):(X,Y)", "1:0")]
)
def test_right_inverse_of_unknown_sizes(text, wanted):
    assert tla.right_inverse(read(text)) == read(wanted)


LEFT = [row[0] for row in rows("left")]


@pytest.mark.parametrize("text", LEFT)
def test_left_inverse(text):
    a = coordinates(text)
    back = tla.left_inverse(a)
    assert tla.weakly_congruent(tla.coprofile(a), tla.shape(back))
    assert all(a(back(a(i))) == a(i) for i in range(size(a)))


@pytest.mark.parametrize("text", ["(63,2):(1,1)", "(2,2):(1,1)", "(2,3):(2,1)"])
def test_left_inverse_of_what_overlaps(text):
    with pytest.raises(ValueError, match="share"):
        tla.left_inverse(read(text))


@pytest.mark.parametrize("text", ["(2,2):(2,3)", "(2,2):(2,5)"])
def test_left_inverse_that_pycute_does_not_look_for(text):
    """It refuses these on purpose, where there is one."""
    a = read(text)
    back = tla.left_inverse(a)
    assert [back(a(i)) for i in range(size(a))] == [*range(size(a))]


UNKNOWN = [
    (tla.coalesce, "(4,N):(1,4)", "(4,N):(1,4)"),
    (tla.coalesce, "(N,4):(1,N)", "(N,4):(1,N)"),
    (tla.coalesce, "(2,N):(1,2)", "(2,N):(1,2)"),
    (tla.right_inverse, "(4,N):(1,4)", "(4,N):(1,4)"),
    (tla.right_inverse, "(N,4):(1,N)", "(N,4):(1,N)"),
    (tla.complement, "N:1", "1:N"),
    (tla.complement, "N:X", "(X,1):(1,N*X)"),
    (tla.complement, "(4,N):(1,4)", "1:4*N"),
    (tla.complement, "(2,N):(1,2)", "1:2*N"),
    (tla.complement, "(N,4):(1,N)", "1:4*N"),
]


@pytest.mark.parametrize(("operation", "text", "wanted"), UNKNOWN)
def test_unknown_sizes_are_merged_here(operation, text, wanted):
    """The same functions: PyCuTe keeps a known extent apart from one that is not, and an extent of 1 at the end."""
    assert operation(read(text)) == tla.coalesce(read(wanted))


def test_left_inverse_of_a_cotiling():
    atom, data = read("((32,4),(16,32)):((0,2097152),(1,65536))"), read("(128,16):(65536,1)")
    back = tla.make_layout(tla.left_inverse(data), read("1:0"))
    assert tla.coalesce(tla.composition(data, tla.composition(back, atom))) == tla.coalesce(atom)


DIVIDES = rows("divides")


@pytest.mark.parametrize(("text", "tile"), DIVIDES)
def test_zipped_divide(text, tile):
    a, b = read(text), read(tile)
    found = tla.zipped_divide(a, b)
    assert tla.rank(found) == 2
    picked = (
        [*itertools.product(*([t(i) for i in range(size(t))] for t in b[::-1]))]
        if isinstance(b, tuple)
        else [b(i) for i in range(size(b))]
    )
    assert [found(i, 0) for i in range(len(picked))] == [a(x[::-1]) if isinstance(b, tuple) else a(x) for x in picked]
    assert {a(i) for i in range(size(a))} <= {found(i) for i in range(size(found))}


def test_zipped_divide_by_what_does_not_divide():
    """There the result is rounded up, and has places past the layout; here it is refused."""
    with pytest.raises(TlaError, match="do not make up _8"):
        tla.zipped_divide(read("(8,8):(9,1)"), read("(5,7):(3@1,2@0)"))


@pytest.mark.parametrize("data", ["(32,64)", "(32,64):(64,1)"])
def test_zipped_divide_is_associative(data):
    tiler, values = (read("8"), read("8")), read("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")
    tile = tla.make_identity_layout(static((8, 8)))
    one = tla.composition(tla.zipped_divide(read(data), tiler), (values, tla._))
    assert one == tla.zipped_divide(read(data), tla.composition(tile, values))


@pytest.mark.parametrize(("text", "tile"), rows("logical_product"))
def test_logical_product(text, tile):
    a, b = read(text), read(tile)
    found = tla.logical_product(a, b)
    assert tla.rank(found) == 2
    assert found[0] == a
    assert tla.compatible(tla.shape(b), tla.shape(found[1]))


@pytest.mark.parametrize("product", [tla.blocked_product, tla.raked_product])
def test_blocked_and_raked_products(product):
    for tile, grid, sizes in (
        ("(2,5):(5,1)", "(3,4)", (6, 20)),
        ("(2,3)", "(4,5)", (8, 15)),
        ("(2,2)", "(3,3)", (6, 6)),
    ):
        found = product(read(tile), read(grid))
        assert tuple(size[k](found) for k in range(2)) == sizes
        assert len({found(i) for i in range(size(found))}) == size(found)
    assert tla.blocked_product(read("(2,2)"), read("(3,3)")) != tla.raked_product(read("(2,2)"), read("(3,3)"))


@pytest.mark.parametrize(("one", "two", "wanted"), rows("greatest_common_domain"))
def test_greatest_common_domain(one, two, wanted):
    a, b = read(one), read(two)
    found = tla.greatest_common_domain(a, b)
    assert tla.same_map(tla.coalesce(found), tla.coalesce(read(wanted)))
    assert found == tla.greatest_common_domain(b, a)
    assert [size(x) % size(found) for x in (a, b)] == [0, 0]
    rest = [tla.logical_divide(tla.make_identity_layout(tla.shape(x)), found)[1] for x in (a, b)]
    assert size(tla.greatest_common_domain(*rest)) == 1


SUMS = [
    "12:0 12:1 12:2 (4,3):(1,4) (4,3):(3,1) (4,3):(1,0) (2,6):(1,2) ((2,2),3):((2,1),4)".split(),
    "12:0 12:1@0 12:2@0 (4,3):(1@0,1@1) (4,3):(1@1,1@0) (4,3):(1@0,1@0) (4,3):(2@0,3@1) (2,6):(1@0,1@1)".split(),
]


@pytest.mark.parametrize("layouts", SUMS, ids=["integers", "coordinates"])
def test_layout_add(layouts):
    """Every sum that there is, by its values, whichever comes first; the zero layout is neutral; triples are
    associative."""
    values = [*map(read, layouts)]
    sums = 0
    for a, b in itertools.product(values, values):
        try:
            found = tla.layout_add(a, b)
        except TlaError:
            continue
        sums += 1
        assert all(found(i) == a(i) + b(i) for i in range(size(a)))
        assert tla.layout_add(b, a) == found
        if b == values[0]:
            assert found == tla.coalesce(a)
        for c in values:
            try:
                one, two = tla.layout_add(found, c), tla.layout_add(a, tla.layout_add(b, c))
            except TlaError:
                continue
            assert all(one(i) == two(i) for i in range(size(a)))
    assert sums >= len(values) ** 2 - 8


@pytest.mark.parametrize(("one", "two", "wanted"), rows("layout_add_values"))
def test_layout_add_values(one, two, wanted):
    a, b, c = map(read, (one, two, wanted))
    found = tla.layout_add(a, b)
    assert size(found) == size(c)
    assert all(found(i) == c(i) == a(i) + b(i) for i in range(size(a) if size(a) > 1 else 0))


@pytest.mark.parametrize(("one", "two"), rows("layout_add_fails"))
def test_layout_add_fails(one, two):
    with pytest.raises((ValueError, TypeError)):
        tla.layout_add(read(one), read(two))


NULLSPACES = [row[0] for row in rows("nullspaces")]


@pytest.mark.parametrize("text", NULLSPACES)
def test_nullspace(text):
    a = coordinates(text)
    found = tla.nullspace(a)
    zero = a(0)
    assert all(a(found(i)) == zero for i in range(size(found)))


RECASTS = rows("recasts")


@pytest.mark.parametrize(("text", "answers"), RECASTS)
def test_recast(text, answers):
    a = read(text)
    for answer in answers.split(";"):
        scale, wanted = answer.split()
        down, _, up = scale.partition("/")
        found = tla.downcast[int(up)](a) if up else tla.upcast[int(down)](a)
        assert tla.same_map(found, read(wanted)), (scale, found)
        assert tla.shape(found) == tla.shape(read(wanted))


@pytest.mark.parametrize("scale", [4, 8])
def test_recast_that_is_no_layout(scale):
    """PyCuTe answers (2,4,3):(1,0,1) by 4; 3 and 2 lie at 3 and 4, so both at once in element 1 of 4, where
    that says 0."""
    with pytest.raises(ValueError, match="two modes step inside of one wide element"):
        tla.upcast[scale](read("(8,4,6):(1,0,2)"))


LIKE = rows("like")


@pytest.mark.parametrize(("text", "wanted"), LIKE)
def test_make_layout_like(text, wanted):
    found = tla.make_layout_like(read(text))
    assert tla.shape(found) == tla.shape(read(wanted))
    moved = [
        (a, b)
        for n, a, b in zip(*(tla.flatten((x,)) for x in (found.shape, found.stride, read(wanted).stride)))
        if n != 1
    ]
    assert all(a == b for a, b in moved)


@pytest.mark.parametrize(("shape", "order", "stride"), [
    (8, 0, 1), ((4, 8), (0, 1), (1, 4)), ((4, 8), (1, 0), (8, 1)), ((2, 3, 4), (0, 1, 2), (1, 2, 6)), ((2, 3, 4), (2, 1, 0), (12, 4, 1)),
    ((2, 2, 2, 2), (0, 2, 3, 1), (1, 4, 8, 2)), ((2, 3, 4), (2, 0, 1), (12, 1, 3)), ((4, 8), (5, 7), (1, 4)),
    ((2, 3, 4, 5), (2, 67, 42, 50), (1, 40, 2, 8)), ((4, 8), (5, 5), (1, 4)), ((8, 4), (5, 5), (1, 8)), ((2, 3, 4, 2), (0, 2, 3, 0), (1, 4, 12, 2)),
    (((2, 2), (2, 2)), ((0, 1), (2, 3)), ((1, 2), (4, 8))), ((2, (3, 4)), (0, (1, 2)), (1, (2, 6))), ((2, (3, 4)), (2, (1, 0)), (12, (4, 1))),
    ((1, 4), (0, 1), (1, 1)), ((4, 1, 8), (0, 1, 2), (1, 4, 4)),
])  # fmt: skip
def test_make_ordered_layout(shape, order, stride):
    with static():
        assert tla.same_map(tla.make_ordered_layout(shape, order), tla.make_layout(shape, stride))


def test_layouts_and_tuples():
    """Coordinates of three forms, slices, parts; and what shapes are to each other."""
    a = read("(3,(2,4)):(2,(1,6))")
    offsets = [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11, 12, 14, 16, 13, 15, 17, 18, 20, 22, 19, 21, 23]
    assert (
        [a(i) for i in range(24)]
        == [a(i % 3, i // 3) for i in range(24)]
        == [a(i % 3, (i // 3 % 2, i // 6)) for i in range(24)]
        == offsets
    )
    assert (a[0], a[1], a[1][0], a(100)) == (read("3:2"), read("(2,4):(1,6)"), read("2:1"), 99)
    assert (tla.coshape(read("(4,8):(1@1,1@0)")), tla.cosize(read("8:0")), tla.coprofile(read("(4,8):(8,1)"))) == (
        (8, 4),
        1,
        0,
    )
    assert (tla.idx2crd(42, (3, 7, 2)), tla.idx2crd(7, ((3, 2), 4)), tla.crd2idx((2, 5), (3, (2, 3)))) == (
        (0, 0, 2),
        ((1, 0), 1),
        17,
    )
    assert tla.inner_product(((2, 3), 4), ((2, 1), 2)) == 15
    for one, two, does in (
        (30, (2, 15), True),
        ((2, 15), (2, (3, 5)), True),
        ((2, (3, 5)), ((3, 2), 5), False),
        (24, 32, False),
        (24, (24,), True),
    ):
        assert bool(tla.compatible(one, two)) == does
    for one, two, does in (
        ((3, 4), (5, (6, 7)), True),
        ((3, (4, 5)), (5, 6), False),
        (30, ((3, 4), 5), True),
        ((1, 2, 3), (1, 2), False),
    ):
        assert bool(tla.weakly_congruent(one, two)) == does


def test_order_of_coordinates():
    """By their last axes, as indices are: 0 comes before all of them."""
    shape = (4, (5, 6), 2)
    coordinates = [tla.ArithmeticTuple(*tla.idx2crd(i, shape)) for i in range(size(shape))]
    for i, (one, two) in enumerate(itertools.pairwise(coordinates)):
        assert tla.colex_less(0, two)
        assert all(tla.colex_less(one, x) and tla.colex_gtr(x, one) for x in coordinates[i + 1 :: 7])
    paths = [(i,) for i in range(3)] + [*itertools.product(range(3), repeat=2)]
    assert all(tla.colex_less(0, E[path]) and not tla.colex_less(E[path], 0) for path in paths)


def test_coordinates():
    assert (E[0] + E[1]) + (7, 8) == (7, 8) + (E[0] + E[1]) == (8, 9)
    assert 4 * E[0] - E[0] == 3 * E[0]
    assert 0 - E[0] == -1 * E[0]
    assert E[0] != E[1] != E[0, 1] != E[1, 0]
    for text, at in (
        ("(5,4):(1@0,1@2)", lambda i, j: (i, 0, j)),
        ("(5,4):(1@2,1@3@1)", lambda i, j: (0, (0, 0, 0, j), i)),
    ):
        a = read(text)
        assert all(a(i, j) == at(i, j) for i, j in itertools.product(range(5), range(4)))
    a = read("(4,(4,2)):(1@1,(1@0,4@1))")
    assert all(a(i, j) == (j % 4, i + 4 * (j // 4)) for i, j in itertools.product(range(4), range(8)))
