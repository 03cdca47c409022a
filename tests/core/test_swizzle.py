import copy
import itertools
import pickle
from collections import Counter

import numpy as np
import pytest

import tla
from tla import (
    ComposedLayout,
    DivisibilityError,
    Int,
    Layout,
    LeafTypeError,
    MakeSwizzle,
    RangeError,
    Swizzle,
    TlaError,
    _,
    compose,
    composition,
    left_inverse,
    logical_divide,
    parse,
    right_inverse,
    slice_and_offset,
    zipped_divide,
)

import oracle
from corpus import made, small, static
from night import amount, some

_0 = Int[0]()
NUMBERS = [(b, m, s) for b in range(4) for m in range(4) for s in range(-4, 5) if abs(s) >= b]


def swizzled(x, bits, base, shift):
    """The definition, bit by bit, of an integer or of an array of them."""
    for k in range(bits):
        read, change = (base + shift + k, base + k) if shift >= 0 else (base + k, base - shift + k)
        x = x ^ (x >> read & 1) << change
    return x


def values(layout):
    return [layout(i) for i in range(int(tla.size(layout)))]


def test_a_swizzle_is_its_definition_and_its_own_inverse():
    for numbers in NUMBERS:
        s = Swizzle[numbers]()
        image = [s(x) for x in range(1024)]
        assert image == [swizzled(x, *numbers) for x in range(1024)]
        assert [s(y) for y in image] == [*range(1024)]
        assert s(np.arange(1024)).tolist() == image
        assert type(s(Int[77]())) is Int


def test_text_and_values():
    a = ComposedLayout(Swizzle[3, 4, 3](), _0, parse("(8,_3):(24,_1)"))
    assert str(a) == "Sw<3,4,3> o _0 o (8,_3):(24,_1)"
    b = ComposedLayout(parse("(_4,_5):(_1,_4)"), 2, a)
    c = ComposedLayout(Swizzle[1, 2, 3](), Int[8](), parse("(4,6):(6,1)", origin_shape=(3, 5)))
    coordinates = ComposedLayout(parse("(4,8):(8,1)"), (1, 2), parse("(2,3):(1@0,1@1)"))
    for x in (a, b, c, coordinates, Swizzle[3, 0, 3](), Swizzle[0, 2, -1](), a[0]):
        assert parse(str(x)) == (x if x is not c else parse(str(c)))
        assert eval(repr(x), {"parse": parse, "Swizzle": Swizzle}) == x
        assert pickle.loads(pickle.dumps(x)) == x == copy.deepcopy(x)
        assert hash(x) == hash(copy.copy(x))
    assert c.origin_shape == (3, 5)
    assert coordinates(1, 2) == parse("(4,8):(8,1)")(2, 4)
    assert a.is_static is False
    assert tla.rank(a) == 2
    assert [str(m) for m in a] == ["Sw<3,4,3> o _0 o 8:24", "Sw<3,4,3> o _0 o _3:_1"]
    assert a != parse("(8,_3):(24,_1)")
    with pytest.raises(AttributeError):
        a.offset = 3


def test_chains_lean_right_and_nothing_swapped_collapses():
    a, b, c = parse("(_8,_8):(_8,_1)"), parse("(_4,_4):(_4,_2)"), parse("(_2,_2):(_1,_2)")
    left = ComposedLayout(ComposedLayout(a, 1, b), 2, c)
    assert str(left) == "(_8,_8):(_8,_1) o 1 o (_4,_4):(_4,_2) o 2 o (_2,_2):(_1,_2)"
    assert values(left) == [a(1 + b(2 + c(i))) for i in range(4)]
    assert parse("Sw<0,4,3> o _0 o (_8,_8):(_8,_1)") == a
    assert isinstance(parse("Sw<0,4,3> o 4 o (_8,_8):(_8,_1)"), ComposedLayout)
    assert compose(Swizzle[0, 1, 2](), a) is a


@pytest.mark.parametrize(
    "f",
    [
        lambda: Swizzle[-1, 0, 3],
        lambda: Swizzle[1, -1, 3],
        lambda: Swizzle[3, 0, 2],
        lambda: Swizzle[3, 60, 3],
        lambda: Swizzle[3, 0],
        lambda: Swizzle[1.5, 0, 3],
        lambda: Swizzle(3, 0, 3),
        lambda: MakeSwizzle[8, 3],
        lambda: MakeSwizzle[0b1100, 0b0110],
        lambda: MakeSwizzle[0b101, 0b1010000],
        lambda: Swizzle[3, 0, 3]()((1, 2)),
        lambda: Swizzle[3, 0, 3]()(1.5),
        lambda: ComposedLayout(Swizzle[3, 0, 3](), _0, (8, 8)),
        lambda: ComposedLayout((8, 8), _0, parse("4:1")),
        lambda: ComposedLayout(Swizzle[3, 0, 3](), 1.5, parse("4:1")),
        lambda: ComposedLayout(Swizzle[3, 0, 3](), _0, parse("4:1@0")),
        lambda: parse("Sw<3,0>"),
        lambda: parse("Sw<3,0,\x1f3> o _0 o 8:1"),
        lambda: parse("Sw<3,0,2> o 0 o 4:1"),
        lambda: parse("Sw<3,0,3> o (8,8):(8,1)"),
        lambda: parse("Sw<3,0,3> o"),
        lambda: parse("4:1 o 0"),
        lambda: parse("So<3,0,3> o 0 o 4:1"),
        lambda: parse(" o ".join(["4:1"] * 999)),
        lambda: tla.complement(parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)"), 128),
        lambda: tla.MakeLayoutLike(parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")),
        lambda: tla.stride(parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")),
        lambda: tla.flat_divide(Swizzle[3, 0, 3](), 4),
        lambda: composition(Swizzle[3, 0, 3](), 4),
        lambda: composition(Swizzle[3, 0, 3](), Swizzle[2, 1, 2]()),
        lambda: composition(parse("(_8,_8):(_8,_1)"), Swizzle[2, 3, -2]()),
        lambda: composition(parse("(_4,_4):(_5,_1)"), Swizzle[1, 0, 2]()),
        lambda: logical_divide(parse("(_8,_8):(_8,_1)"), Swizzle[2, 3, -2]()),
        lambda: right_inverse(parse("Sw<1,0,2> o _8 o (_4,_4):(_4,_1)")),
        lambda: right_inverse(parse("(_4,_4):(_4,_1) o _0 o (_4,_4):(_1,_4)")),
        lambda: tla.upcast[2](Swizzle[1, 0, -2]()),
        lambda: tla.upcast[3](Swizzle[1, 2, 3]()),
        lambda: tla.upcast[2](parse("Sw<1,2,3> o 3 o _8:_1")),
        lambda: tla.cosize(parse("Sw<3,0,3> o _0 o (1000,1001):(1000,1)")),
        lambda: slice_and_offset((0,), parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")),
    ],
)
def test_refused_and_no_crash(f):
    with pytest.raises(TlaError) as caught:
        f()
    assert caught.value.reason.fix


def test_cosize_of_whole_blocks_needs_no_list_of_offsets():
    assert tla.cosize(parse("Sw<3,0,3> o _0 o (1000,1000):(1000,1)")) == 10**6
    small = parse("Sw<3,0,3> o _0 o (16,8):(8,1)")
    assert tla.cosize(small) == 1 + max(small(i) for i in range(128))


def test_the_fixes_of_swizzles_work():
    with pytest.raises(RangeError, match="use the shift 3"):
        Swizzle[3, 0, 2]
    assert str(Swizzle[3, 0, 3]()) == "Sw<3,0,3>"


def test_composition_of_two_swizzles_is_right_or_refused():
    """All pairs; by day of every third second one."""
    seen, x = Counter(), np.array([*range(64), 999, 4095])
    inner = {b: swizzled(x, *b) for b in NUMBERS}
    for a, b in itertools.product(NUMBERS, some(NUMBERS, 3)):
        try:
            r = composition(Swizzle[a](), Swizzle[b]())
        except DivisibilityError:
            seen["refused"] += 1
            continue
        assert np.array_equal(r(x), swizzled(inner[b], *a)), (a, b)
        seen["found"] += 1
    assert seen["found"] > amount(1000, 3000), seen


def test_a_swizzle_moved_through_a_layout_is_right_or_refused():
    seen = Counter()
    for shape, stride in [
        ("(_8,_8)", "(_8,_1)"),
        ("(_8,_8)", "(_1,_8)"),
        ("(_4,_16)", "(_32,_2)"),
        ("(_4,_8)", "(_3,_12)"),
        ("(_16)", "(_1)"),
    ]:
        a = parse(f"{shape}:{stride}")
        for numbers in NUMBERS:
            s = Swizzle[numbers]()
            try:
                r = composition(a, s)
            except DivisibilityError:
                r = compose(a, s)
                seen["refused"] += 1
                assert [r(i) for i in range(16)] == [a(swizzled(i, *numbers)) for i in range(16)]
                continue
            seen["found"] += 1
            assert [r(i) for i in range(int(tla.size(a)))] == [
                a(swizzled(i, *numbers)) for i in range(int(tla.size(a)))
            ]
    assert seen["found"] > 150, seen


def test_compose_is_exact_over_pairs_of_small_layouts():
    pairs = [*small()]
    for a, b in itertools.product(pairs[::7], pairs[::11]):
        r = compose(made(a), made(b))
        for c in oracle.coordinates(b[0]):
            assert r(c) == oracle.offset(oracle.offset(c, *b), *a)


def test_compose_with_a_tuple_of_tilers():
    a = parse("(_6,_4):(_1,_7)")
    tiler = (parse("_4:_5"), 3)
    with pytest.raises(DivisibilityError):
        composition(parse("(_6,(_3,_2)):(_1,(_7,_1))"), (2, 4))
    r = compose(parse("(_6,(_3,_2)):(_1,(_7,_1))"), static((2, 4)))
    assert str(r) == "(_6,(_3,_2)):(_1,(_7,_1)) o _0 o (_2,_4):(_1@0,_1@1)"
    with pytest.raises(DivisibilityError, match=r"ComposedLayout\(a, _0, b\)"):
        compose(parse("(_6,(_3,_2)):(_1,(_7,_1))"), (2, 4))
    kept = compose(parse("((_3,_2),(_3,_2)):((_5,_1),(_7,_1))"), (_, Int[4]()))
    assert [kept(i, j) for j in range(4) for i in range(6)] == [
        [0, 5, 10, 1, 6, 11][i] + [0, 7, 14, 1][j] for j in range(4) for i in range(6)
    ]
    assert [r(i, j) for j in range(4) for i in range(2)] == [i + [0, 7, 14, 1][j] for j in range(4) for i in range(2)]
    assert [compose(a, tiler)(i, j) for i in range(4) for j in range(3)] == [
        5 * i + 7 * j for i in range(4) for j in range(3)
    ]


def test_what_changes_the_coordinates_keeps_the_offsets():
    a = parse("Sw<2,1,3> o _4 o (_8,(_4,_4)):(_16,(_1,_4))")
    inner = a.inner
    for f in (
        tla.coalesce,
        tla.flatten,
        tla.group[0, 2],
        tla.select[1, 0],
        tla.take[0, 1],
        lambda x: composition(x, (Int[4](), parse("_8:_2"))),
        lambda x: logical_divide(x, (Int[4](), Int[2]())),
        lambda x: zipped_divide(x, (Int[4](), Int[2]())),
        lambda x: tla.tiled_divide(x, (Int[4](), Int[2]())),
        lambda x: tla.append(x, parse("_3:_128")),
        lambda x: tla.prepend[4](x),
        lambda x: tla.replace[0](x, parse("_2:_16")),
        lambda x: tla.with_shape(x, (Int[16](), Int[8]())),
        lambda x: tla.dice((0, _), x),
        lambda x: x[1],
    ):
        assert values(f(a)) == [swizzled(4 + f(inner)(i), 2, 1, 3) for i in range(int(tla.size(f(inner))))]


@pytest.mark.parametrize("c", [Int[2](), 2, 5], ids=repr)
def test_a_mode_of_one_element_and_one_of_stride_0_change_no_slice(c):
    for numbers, (inner, more) in itertools.product(
        NUMBERS[::9], (("(_8,_8", "(_8,_1"), ("(_8,_8", "(_1,_8"), ("(_8,_4", "(_4,_1"))
    ):
        rest, offset = slice_and_offset((c, _), ComposedLayout(Swizzle[numbers](), _0, parse(f"{inner}):{more})")))
        for extent, stride in (("_1", "_3"), ("_1", "_-1"), ("_4", "_0")):
            wider = ComposedLayout(Swizzle[numbers](), _0, parse(f"{inner},{extent}):{more},{stride})"))
            found, at = slice_and_offset((c, _, _), wider)
            assert (type(found), at, getattr(found, "outer", None)) == (
                type(rest),
                offset,
                getattr(rest, "outer", None),
            ), (wider, c)


def test_slices_are_right_over_every_swizzle_and_coordinate():
    """By day of every fourth swizzle."""
    seen = Counter()
    for numbers in some(NUMBERS, 4):
        for text in ("(_8,_8):(_8,_1)", "(_4,_4,_4):(_4,_1,_16)", "(_4,_6):(_6,_1)"):
            a = ComposedLayout(Swizzle[numbers](), _0, parse(text))
            for k, c, fixed in itertools.product(range(int(tla.rank(a))), range(4), (True, False)):
                coord = tuple((Int[c]() if fixed else c) if i == k else _ for i in range(int(tla.rank(a))))
                rest, offset = slice_and_offset(coord, a)
                seen[type(rest).__name__] += 1
                point = [*np.indices([int(n) for i, n in enumerate(a.shape) if i != k])]
                assert np.array_equal(offset + rest(*point), a(*point[:k], c, *point[k:])), (a, coord)
    assert seen["Layout"] > amount(450, 2000), seen


@pytest.mark.parametrize("numbers", [(1, 0, 1), (1, 0, 2), (2, 0, 2), (1, 0, -2), (1, 1, 1), (2, 1, 3)])
def test_what_is_static_of_a_slice_is_so_for_every_dynamic_coordinate(numbers):
    """Also where modes add up to more bits than each of them has: of one stride, of odd extents, negative."""
    for of_coord, of_rest in itertools.product(
        ["_1:_1", "_2:_1", "_4:_2", "_3:_1", "_2:_3", "(_2,_2):(_1,_1)", "(_2,_4):(_2,_1)", "(_4,_2):(_1,_8)", "(_2,_2):(_-1,_4)", "(_2,_1,_2):(_1,_4,_0)"],
        ["_4:_1", "_8:_4", "(_2,_2):(_8,_1)", "_2:_2", "_3:_1", "(_2,_2):(_4,_4)"],
    ):  # fmt: skip
        a = ComposedLayout(Swizzle[numbers](), _0, tla.MakeLayout(parse(of_coord), parse(of_rest)))
        n, m = (int(tla.size(mode)) for mode in a.shape)
        kinds = set()
        for i in range(n):
            rest, offset = slice_and_offset((i, _), a)
            assert [offset + rest(k) for k in range(m)] == [a(i, k) for k in range(m)], (a, i)
            plain = rest.inner if isinstance(rest, ComposedLayout) else rest
            kinds.add((type(rest), *(d if type(d) is Int else "dynamic" for d in tla.flatten((plain.stride,)))))
        assert len(kinds) == 1, (a, kinds)


@pytest.mark.parametrize("row", [0, 1, 3])
def test_a_slice_whose_bits_stand_apart_from_a_dynamic_coordinate_is_a_layout(row):
    for text, expected in [
        ("Sw<1,1,2> o _0 o (_4,_2):(_2,_1)", "(_2):(_1)"),
        ("Sw<1,0,2> o _0 o (_4,_2):(_4,_2)", "(_2):(_2)"),
        ("Sw<1,0,3> o _0 o (_4,(_2,_2)):(_8,(_1,_4))", f"((_2,_2)):(({(1, -1)[row & 1]},_4))"),
        ("Sw<1,0,2> o _0 o (_4,_4):(_4,_1)", f"((_2,_2)):(({(1, -1)[row & 1]},_2))"),
    ]:
        assert str(slice_and_offset((row, _), parse(text))[0]) == expected, (text, row)


def test_inverses():
    seen = Counter()
    for numbers in NUMBERS:
        for text in ("(_8,_8):(_8,_1)", "(_4,_8):(_1,_4)", "(_4,_4):(_8,_1)", "_6:_1"):
            a = ComposedLayout(Swizzle[numbers](), _0, parse(text))
            image = values(a)
            r = right_inverse(a)
            assert [image[r(i)] for i in range(int(tla.size(r)))] == [*range(int(tla.size(r)))]
            seen[int(tla.size(r)) > 1] += 1
            back = left_inverse(a)
            assert [back(x) for x in image] == [*range(len(image))]
            shifted = ComposedLayout(Swizzle[numbers](), 8, parse(text))
            back = left_inverse(shifted)
            assert [back(x) for x in values(shifted)] == [*range(len(image))]
    assert seen[True] > 200, seen
    assert str(right_inverse(parse("Sw<1,0,2> o _0 o (_4,_4):(_4,_1)"))) == "Sw<1,0,-2> o _0 o (_4,_4):(_4,_1)"


def test_common_vectors_of_swizzled_layouts():
    for numbers in NUMBERS:
        a = ComposedLayout(Swizzle[numbers](), _0, parse("(_8,_8):(_8,_1)"))
        r = tla.max_common_layout(a, parse("(_8,_8):(_8,_1)"))
        n = int(tla.size(r))
        assert [a(r(i)) for i in range(n)] == [*range(n)]
        assert n == 64 if numbers[0] == 0 else n >= min(1 << numbers[1], 8)


def test_wider_and_narrower_elements():
    x = np.arange(1024)
    for numbers, k in itertools.product(NUMBERS, (0, 1, 2)):
        s = Swizzle[numbers]()
        assert np.array_equal(tla.downcast[1 << k](s)(x << k), s(x) << k)
        try:
            wide = tla.upcast[1 << k](s)
        except DivisibilityError:
            assert numbers[1] < k
            continue
        assert np.array_equal(wide(x >> k), s(x) >> k)
    a = parse("Sw<3,4,3> o _0 o (_64,_16):(_1,_64)")
    assert str(tla.recast_layout[8, 32](a)) == "Sw<3,2,3> o _0 o (_16,_16):(_1,_16)"
    with pytest.raises(DivisibilityError):
        tla.upcast[2](parse("(_4,_4):(_4,_1) o _0 o (_4,_4):(_1,_4)"))


def test_questions():
    a = parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)")
    assert tla.is_injective(a) is True
    assert tla.is_bijective(a) is True
    assert tla.is_compact(a) is True
    assert tla.is_surjective(a, 65) is False
    assert tla.is_surjective.why_not(a, 65)
    assert tla.is_injective(parse("(_4,_4):(_1,_1) o _0 o (_4,_4):(_1,_4)")) is False
    assert tla.is_injective(parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_0)")) is False
    assert tla.same_map(a, parse("Sw<3,0,3> o _0 o ((_2,_4),_8):((_8,_16),_1)")) is True
    assert tla.same_map(a, parse("(_8,_8):(_8,_1)")) is False
    assert tla.same_map(parse("(_8,_8):(_8,_1)"), a) is False
    assert tla.cosize(a) == 64
    with pytest.raises(LeafTypeError):
        tla.is_ordered(a)


def test_offsets_in_numpy():
    for text in (
        "Sw<2,1,3> o _4 o (_8,(_4,_4)):(_16,(_1,_4))",
        "(_4,_5):(_1,_4) o _2 o _4:_3",
        "(4,8):(8,1) o _0 o (2,3):(1@0,2@1)",
    ):
        a = parse(text)
        assert tla.offsets(a).ravel(order="F").tolist() == values(a)
    with pytest.raises(RangeError):
        tla.offsets(parse("Sw<3,0,3> o _0 o (100000,100000):(1,1)"))


def test_a_layout_of_a_swizzle_is_all_that_it_knows():
    for numbers in NUMBERS:
        a = tla.MakeLayout(Swizzle[numbers]())
        assert sorted(values(a)) == [*range(1 << (numbers[0] + numbers[1] + abs(numbers[2])))]


def test_products_by_a_swizzled_tile():
    r = tla.logical_product(parse("_4:_1"), parse("Sw<1,0,2> o _0 o (_4,_2):(_1,_4)"))
    assert [r(i, j) for j in range(8) for i in range(4)] == [
        i + 4 * swizzled(j, 1, 0, 2) for j in range(8) for i in range(4)
    ]
    assert isinstance(tla.logical_product(parse("_4:_1"), Layout(Int[8](), Int[1]())), Layout)


# --------------------------------------------------------------------- what an independent reader broke, kept


DEEP = 1
for _level in range(2000):
    DEEP = (DEEP,)


@pytest.mark.parametrize(
    "f",
    [
        lambda: tla.offsets(parse("Sw<1,0,2> o 9223372036854775807 o 4:1")),
        lambda: tla.is_surjective(parse("Sw<1,0,2> o 0 o 4:1"), 1.5),
        lambda: tla.is_surjective(parse("Sw<1,0,2> o 0 o 4:1"), "a"),
        lambda: tla.MakeLayout(Swizzle[1, 0, 2](), Swizzle[1, 0, 2]()),
        lambda: parse("Sw<3,4,3>", origin_shape=(3,)),
        lambda: tla.ceil_div(4, parse("Sw<1,0,2> o 0 o 2:1")),
        lambda: tla.evenly_divides(4, parse("Sw<1,0,2> o 0 o 2:1")),
        lambda: compose(parse("((_3,_2),_2):((_5,_1),_7)"), (parse("(_2,_2):(_1,_2)"), [1])),
        lambda: compose(parse("((_3,_2),_2):((_5,_1),_7)"), (parse("(_2,_2):(_1,_2)"), "a")),
        lambda: compose(parse("((_3,_2),_2):((_5,_1),_7)"), (parse("(_2,_2):(_1,_2)"), None)),
        lambda: compose(parse("(3,_2):(_5,_1)"), parse("_4:_1")),
        lambda: Swizzle[1, 2, 3]()(np.array([True])),
        lambda: Swizzle[1, 2, 3]()(np.array([1.5])),
        lambda: Swizzle[1, 2, 3]()(None),
        lambda: Swizzle[1, 2, 3]()([1]),
        lambda: Swizzle[1, 2, 3]()(parse("4:1")),
        lambda: Swizzle[1, 2, 3](5),
        lambda: MakeSwizzle[3],
        lambda: MakeSwizzle[1, 2, 3],
        lambda: tla.logical_product(parse("_4096:_1"), parse("Sw<1,0,1> o _0 o _4096:_1")),
        lambda: tla.max_common_layout(parse("_64:_1"), parse("Sw<2,2,3> o _8 o _64:_1")),
        lambda: tla.max_common_vector(parse("Sw<3,3,3> o _5 o (_64,_64):(_64,_1)"), parse("(_64,_64):(_64,_1)")),
        lambda: tla.offsets(parse("(4,4):(1@0,1@1) o 0 o (2,2):(1,4)")),
        lambda: tla.same_map(parse("4:1 o 0 o 4:1"), None),
        lambda: ComposedLayout(parse("4:1"), DEEP, parse("(4,4):(1@0,1@1)")),
        lambda: parse("(4,4):(1,4) o (1,2) o 4:1"),
        lambda: composition(parse("64:2"), Swizzle[1, 0, 2]()),
    ],
)
def test_refused_too(f):
    with pytest.raises(TlaError) as caught:
        f()
    assert caught.value.reason.fix


def test_a_chain_has_a_limit():
    chain = parse("(_4):(_1)")
    with pytest.raises(tla.RankError, match="parts"):
        for _part in range(200):
            chain = ComposedLayout(parse("_8:_2"), 0, chain)
    assert parse(str(chain)) == chain


def test_broadcasts_aside_for_swizzled_layouts_too():
    assert tla.is_compact(parse("Sw<1,0,2> o _0 o (4,2,8):(1,4,0)")) is True
    assert tla.is_compact(parse("(_8):(_1) o _0 o Sw<1,0,2> o _0 o (4,2,8):(1,4,0)")) is True
    assert tla.is_surjective(parse("Sw<1,0,2> o 0 o 4:1"), 2**62) is False


def test_dynamic_integers_stay_dynamic():
    assert str(tla.downcast[2](parse("Sw<1,0,1> o 1 o _8:_1"))) == "Sw<1,1,1> o 2 o _16:_1"
    for text in ("Sw<1,0,2> o _0 o 8:_1", "Sw<1,0,2> o _0 o 6:_1", "Sw<1,0,2> o _0 o (_8,8):(_1,_8)"):
        assert not right_inverse(parse(text)).is_static
    for text in ("Sw<2,1,3> o 0 o (16):(_2)", "Sw<2,1,3> o 5 o (16):(_2)"):
        assert not left_inverse(parse(text)).is_static
    a = parse("Sw<2,0,-3> o _1 o (_8,_3):(_4,_-1)")
    assert {type(slice_and_offset((_, c), a)[0]) for c in range(3)} == {ComposedLayout}


def test_narrow_arrays_are_widened():
    assert Swizzle[3, 4, 3]()(np.uint8(200)) == swizzled(200, 3, 4, 3)
    assert Swizzle[3, 4, 3]()(np.arange(120, dtype=np.int8)).tolist() == [swizzled(x, 3, 4, 3) for x in range(120)]
    assert Swizzle[3, 40, 8]()(np.arange(4, dtype=np.int32)).tolist() == [0, 1, 2, 3]


def test_what_a_kernel_author_tried():
    smem = parse("Sw<3,3,3> o _0 o (_64,_64):(_64,_1)")
    plain = smem.inner
    assert (
        tla.max_common_vector(plain, smem)
        == tla.max_common_vector(smem, plain)
        == tla.max_common_vector(smem, smem)
        == 8
    )
    shifted = parse("Sw<3,3,3> o 64 o (_8,_64):(_64,_1)")
    assert tla.cosize(shifted) == max(values(shifted)) + 1 == 576
    padded = parse("Sw<3,3,3> o _0 o (_64,_64):(_72,_1)")
    for row in range(8):
        rest, offset = slice_and_offset((row, _), padded)
        assert [offset + rest(j) for j in range(64)] == [padded(row, j) for j in range(64)]
    assert tla.offsets(smem).dtype == np.int32
    assert parse("Sw< 3, 3 ,3 > o _0 o _8:_1") == parse("Sw<3,3,3> o _0 o _8:_1")
    owner = tla.idx2crd(right_inverse(smem)(77), smem.shape)
    assert smem(owner) == 77


@pytest.mark.parametrize(
    ("f", "fix"),
    [
        (lambda: tla.E(0), r"E\[0\]"),
        (lambda: MakeSwizzle(3, 3), r"MakeSwizzle\["),
        (lambda: tla.upcast(8), r"upcast\["),
        (lambda: tla.size(parse("4:1"), 0), r"size\[0\]"),
        (lambda: Int[4]() + Int[4], r"Int\[4\]\(\)"),
        (lambda: parse("(4,8):(8,1)")(_, 3), "slice_"),
        (lambda: parse("(4,8):(8,1)")[0, 1], r"get\[0, 1\]"),
        (lambda: tla.MakeLayout([4, 8]), "tuple"),
        (lambda: composition(parse("(4,8):(8,1)"), Int[4]), r"Int\[4\]\(\)"),
        (lambda: composition(Swizzle[3, 3, 3], parse("4:1")), r"Swizzle\[3, 3, 3\]\(\)"),
    ],
)
def test_the_fix_of_what_a_newcomer_writes(f, fix):
    with pytest.raises(LeafTypeError, match=fix):
        f()


@pytest.mark.parametrize("coord", [(1, _), (_, 1), (Int[1](), _), (3, _), (_, 0), (Int[3](), _)])
def test_slices_of_swizzles_of_swizzles(coord):
    a = parse("Sw<1,3,-2> o _0 o Sw<2,0,-3> o _0 o (4,2):(64,128)")
    for x in (
        a,
        parse("Sw<1,3,-2> o _0 o Sw<2,0,-3> o _0 o (_4,_2):(_64,_128)"),
        parse("Sw<2,1,3> o _4 o Sw<2,0,2> o _1 o (_4,_2):(_2,_8)"),
    ):
        rest, offset = slice_and_offset(coord, x)
        for i in range(int(tla.size(rest))):
            place = tuple(i if c is _ else c for c in coord)
            assert rest(i) + offset == x(place), (x, coord, i)


@pytest.mark.parametrize("rows", [128, 256, 257, 512, 1000, 2048])
@pytest.mark.parametrize("swizzle", ["Sw<3,4,3>", "Sw<2,0,5>", "Sw<3,0,-4>"])
def test_right_inverses_of_swizzled_layouts_of_any_size(rows, swizzle):
    """The law on the whole domain, on both sides of 65,536 offsets; and as large as it can be."""
    a = parse(f"{swizzle} o _0 o (_{rows},_256):(_256,_1)")
    found = tla.right_inverse(a)
    n = int(tla.size(found))
    x = np.arange(n)
    assert np.array_equal(a(found(x)), x)
    reached = np.sort(a(np.arange(rows * 256)))
    assert n == np.count_nonzero(np.cumprod(reached == np.arange(len(reached))))


@pytest.mark.parametrize(
    "text",
    [
        "Sw<3,3,3> o _0 o (_16,_16):(_16,_1)",
        "Sw<3,3,3> o 8 o (16,17):(17,1)",
        "Sw<2,0,3> o _5 o (_32,_9):(_-9,_2)",
        "Sw<2,0,-3> o _0 o ((_2,_8),_32):((_1,_64),_2)",
        "(_16,_16):(_16,_1) o _0 o (_32,_8):(_8,_1)",
        "(_4,_4):(_1,_1) o _3 o (_20,_20):(_1,_20)",
        "(_16,_32):(_32,_1) o (_0,_0) o (_16,_32):(_1@0,_1@1)",
        "Sw<3,4,3> o _0 o (_300,_2):(_4611686018427387904,_1)",
    ],
)
def test_a_whole_image_is_what_its_coordinates_have_one_by_one(monkeypatch, text):
    """Above and below the size from which on numpy goes through an image at once."""
    a, plain = parse(text), parse("(_16,_16):(_16,_1)")

    def told(f):
        try:
            return repr(f())
        except TlaError as error:
            return f"{type(error).__name__}: {error}"

    questions = (
        lambda: tla.cosize(a),
        lambda: tla.is_injective(a),
        lambda: tla.is_surjective(a),
        lambda: tla.is_bijective(a),
        lambda: tla.same_map(a, plain),
        lambda: left_inverse(a),
        lambda: right_inverse(a),
        lambda: composition(plain, a),
        lambda: slice_and_offset((_, 3), a),
        lambda: tla.logical_product(parse("_8:_1"), a),
        lambda: composition(parse("(_15,_17):(_17,_1)"), parse("(_16,_16):(_1,_16)")),
        lambda: composition(parse("(_14,_18):(_18,_1)"), parse("(_14,_9):(_18,_2)")),
    )
    at_once = [told(f) for f in questions]
    tla.cache_clear()
    monkeypatch.setattr(tla.core.arrays, "FEW", 10**9)
    assert at_once == [told(f) for f in questions]


def test_a_right_inverse_checks_65536_offsets_past_whole_blocks():
    assert tla.size(right_inverse(parse("Sw<1,16,1> o _0 o _65536:_1"))) == 65536
    with pytest.raises(tla.Unproven, match="65537 offsets past whole blocks"):
        right_inverse(parse("Sw<1,16,1> o _0 o _65537:_1"))
