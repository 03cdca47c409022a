"""Composed layouts in the algebra: each condition on both sides, and values by the definition."""

import itertools

import numpy as np
import pytest

import tla
from tla import (
    ComposedLayout,
    DivisibilityError,
    E,
    Int,
    Layout,
    LeafTypeError,
    RankError,
    Swizzle,
    TlaError,
    Unproven,
    dim,
    parse,
)
from tla.core.composed import values_between

import oracle

_0 = Int[0]()
M = dim("M")


def read(text):
    return parse(text, symbols=[M])


def image(layout):
    return [layout(i) for i in range(int(tla.size(layout)))]


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("_4:_1", "Sw<1,0,1> o _0 o _4:_1"),
        ("(_2,_2):(_1,_8)", "Sw<1,0,1> o _0 o _4:_1"),
        ("_4:_1", "Sw<2,0,2> o _0 o (_4,_2):(_1,_4)"),
        ("_256:_1", "Sw<1,0,1> o _0 o _256:_1"),  # 65,536 elements
    ],
)
def test_products_by_a_swizzled_tile(a, b):
    """Copies begin where the complement of the block has them, in the order of the tile."""
    a, b = read(a), read(b)
    r = tla.logical_product(a, b)
    n = int(tla.size(a))
    rest = tla.complement(a, n * int(tla.cosize(b)))
    for i, j in itertools.product((0, 1, n // 2, n - 1), range(0, int(tla.size(b)), max(1, int(tla.size(b)) // 9))):
        assert r(i, j) == a(i) + rest(b(j))


@pytest.mark.parametrize(
    ("a", "b", "error"),
    [
        ("_256:_1", "Sw<1,0,1> o _0 o _257:_1", Unproven),
        ("4:_1", "Sw<1,0,1> o _0 o _4:_1", Unproven),
        ("(M):(_1)", "Sw<1,0,1> o _0 o _4:_1", Unproven),
        ("_4:_1", "Sw<1,0,1> o _0 o (M):(_1)", Unproven),
        ("_0:_1", "Sw<1,0,1> o _0 o _4:_1", Unproven),
        ("_4:_1", "Sw<1,0,1> o _0 o _0:_1", Unproven),
        ("_3:_1", "Sw<1,0,1> o _0 o _4:_1", DivisibilityError),
    ],
)
def test_products_by_a_swizzled_tile_that_are_refused(a, b, error):
    with pytest.raises(error):
        tla.logical_product(read(a), read(b))


def test_a_swizzle_is_no_tile_of_copies():
    for f in (tla.logical_product, tla.logical_divide):
        with pytest.raises(LeafTypeError, match="a tiler of type Swizzle"):
            f(parse("_4:_1"), Swizzle[1, 0, 1]())


@pytest.mark.parametrize("swizzle", ["Sw<1,0,1>", "Sw<2,1,2>", "Sw<1,0,-1>", "Sw<2,0,3>"])
def test_inverses_of_swizzled_layouts(swizzle):
    """Right: as far as the swizzle stays inside of what the inner layout reaches; left: of every value."""
    for inner in (
        "_16:_1",
        "(_4,_8):(_8,_1)",
        "(_4,_4):(_1,_4)",
        "_13:_1",
        "(_3,_4):(_4,_1)",
        "_5:_1",
        "16:_1",
        "_1:_0",
    ):
        a = parse(f"{swizzle} o _0 o {inner}")
        values, r = image(a), tla.right_inverse(a)
        n = next(k for k in range(len(values) + 1) if k not in values)
        assert [a(r(i)) for i in range(int(tla.size(r)))] == [*range(int(tla.size(r)))]
        assert tla.size(r) == n if inner not in ("16:_1",) else tla.size(r) >= 1
        left = tla.left_inverse(a)
        assert [left(x) for x in values] == [*range(len(values))]
        moved = parse(f"{swizzle} o _6 o {inner}")
        assert [tla.left_inverse(moved)(x) for x in image(moved)] == [*range(len(values))]
        for f in (tla.right_inverse, tla.nullspace):
            with pytest.raises(DivisibilityError, match="at offset 0"):
                f(moved)
        with pytest.raises(DivisibilityError, match="nothing is at offset 0"):
            tla.max_common_layout(moved, parse("_16:_1"))


def test_common_vectors_stay_inside_of_what_a_swizzle_keeps_together():
    for base, inner in itertools.product(
        (0, 1, 2, 3), ("_64:_1", "(_8,_8):(_8,_1)", "(_3,_16):(_1,_3)", "(_6,_8):(_1,_6)")
    ):
        a = parse(f"Sw<2,{base},2> o _0 o {inner}")
        plain = tla.max_common_layout(parse(inner), parse("_64:_1"))
        for r in (tla.max_common_layout(a, parse("_64:_1")), tla.max_common_layout(parse("_64:_1"), a)):
            n = int(tla.size(r))
            assert [a(r(i)) for i in range(n)] == [r(i) for i in range(n)] == [*range(n)]
            assert n == min(int(tla.size(plain)), 2**base)
            assert all(s != 1 for s in oracle.leaves(oracle.plain(r.shape))) or n == 1
    assert (
        tla.size(tla.max_common_layout(ComposedLayout(Swizzle[0, 0, 2](), _0, parse("_64:_1")), parse("_64:_1"))) == 64
    )


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
def test_swizzles_of_other_widths(n):
    """Element x of n old ones: where no bit inside of a wide element moves another, x // n goes where x does."""
    for bits, base, shift in itertools.product((0, 1, 2, 3), range(4), (-4, -3, 3, 4)):
        sw, k = Swizzle[bits, base, shift](), n.bit_length() - 1
        down = tla.downcast[n](sw)
        assert [down(n * x + n - 1) for x in range(64)] == [n * sw(x) + n - 1 for x in range(64)]
        if bits and base < k and shift < 0:
            with pytest.raises(DivisibilityError, match=f"a base of {k} or more"):
                tla.upcast[n](sw)
            continue
        try:
            up = tla.upcast[n](sw)
        except TlaError:
            continue
        assert [up(x) for x in range(64)] == [sw(n * x) // n for x in range(64)], (sw, n)
    for f in (tla.upcast, tla.downcast):
        with pytest.raises(DivisibilityError, match="a power of 2"):
            f[3](Swizzle[2, 0, 3]())


@pytest.mark.parametrize("offset", [0, 4, 8, 6])
def test_composed_layouts_of_other_widths(offset):
    a = parse(f"Sw<2,2,3> o _{offset} o (_8,_8):(_8,_1)")
    down = tla.downcast[4](a)
    assert down.offset == 4 * offset
    assert {*image(down)} == {4 * x + k for x in image(a) for k in range(4)}
    if offset % 4:
        with pytest.raises(DivisibilityError, match="an offset that 4 divides"):
            tla.upcast[4](a)
    else:
        up = tla.upcast[4](a)
        assert up.offset == offset // 4
        assert {*image(up)} == {x // 4 for x in image(a)}


def test_questions_about_composed_layouts():
    """By the values: of swizzled layouts, and of layouts of layouts."""
    texts = ["Sw<1,0,1> o _0 o _4:_1", "Sw<1,0,1> o _0 o _3:_1", "Sw<1,0,1> o _1 o _4:_1", "Sw<2,0,2> o _0 o (_4,_2):(_1,_8)", "Sw<1,0,1> o _0 o (_4,_3):(_1,_0)",
             "(_4,_4):(_4,_1) o _0 o (_2,_4):(_4,_1)", "(_4,_4):(_1,_0) o _0 o _16:_1", "_8:_2 o _1 o _4:_1", "_8:_-1 o _0 o _4:_1", "Sw<1,0,1> o _0 o (_0,_4):(_0,_2)",
             "Sw<1,0,2> o _0 o (_8,_3):(_1,_8)", "Sw<1,0,1> o _0 o (_0):(_1)", "(_4):(_1) o _0 o (4,_1):(_1,_7)"]  # fmt: skip
    for a in map(parse, texts):
        values = image(a)
        assert tla.is_injective(a) is (len({*values}) == len(values)), a
        for n in (None, 0, 1, 3, 4, 8, len(values)):
            span = max(values, default=0) + 1 - min(0, *values, 0) if values else 0
            assert tla.is_surjective(a, n) is ({*values} >= {*range(span if n is None else n)}), (a, n)
        assert tla.is_bijective(a) is (sorted(values) == [*range(len(values))]), a
        assert tla.cosize(a) == span
        assert tla.is_static(tla.cosize(a)) is a.is_static
        kept = [
            (s, d)
            for s, d in zip(*(oracle.leaves(oracle.plain(x)) for x in (a.inner.shape, a.inner.stride)))
            if d or not s
        ]
        once = sorted(
            image(ComposedLayout(a.outer, a.offset, Layout(tuple(s for s, _ in kept), tuple(d for _, d in kept))))
        )
        assert tla.is_compact(a) is (once == [*range(len(once))]), a
        assert tla.same_map(a, a) is True
    a, b = parse("Sw<1,0,1> o _0 o (_4,_2):(_1,_4)"), parse("Sw<1,0,1> o _0 o (_4,_2):(_4,_1)")
    assert tla.same_map(a, b) is tla.same_map(b, a) is tla.same_map(a, parse("(_4,_2):(_1,_4)")) is False
    assert (
        tla.same_map(parse("Sw<1,0,3> o _0 o _8:_1"), parse("_8:_1"))
        is tla.same_map(parse("_8:_1"), parse("Sw<1,0,3> o _0 o _8:_1"))
        is True
    )
    assert tla.same_map(a, parse("Sw<1,0,1> o _0 o (_2,_4):(_1,_2)")) is False  # other extents
    part = parse("Sw<1,0,1> o _0 o (_4,_2):(_1,_4)", origin_shape=(3, 2))
    assert tla.same_map(a, part) is tla.same_map(part, a) is False
    unknown = parse("Sw<1,0,1> o _0 o (_4,_2):(_1,_4)", origin_shape=...)
    assert tla.same_map(a, unknown) is tla.same_map(unknown, a) is None
    assert tla.same_map(a, read("Sw<1,0,1> o _0 o (M,_2):(_1,_4)")) is None
    with pytest.raises(LeafTypeError):
        tla.same_map(a, (4, 2))


def test_layouts_beside_a_swizzled_one():
    """Whole periods of 64 pass the swizzle unchanged."""
    a = parse("Sw<2,1,3> o _0 o (_8,_8):(_8,_1)")
    for other in ("_3:_64", "_3:_128", "(_3,_1):(_64,_5)", "_3:_0", "3:_-64", "3:64"):
        for modes in ((a, parse(other)), (parse(other), a), (parse(other), a, parse(other))):
            r, at = tla.MakeLayout(*modes), modes.index(a)
            sizes = [range(int(tla.size(m))) for m in modes]
            for c in itertools.islice(itertools.product(*sizes), 0, None, 7):
                assert r(*c) == a(c[at]) + sum(m(x) for k, (m, x) in enumerate(zip(modes, c)) if k != at)
    for other in ("_3:_32", "_3:_1", "3:63", "(_3,_2):(_64,_1)"):
        with pytest.raises(DivisibilityError, match="a multiple of 64"):
            tla.MakeLayout(a, parse(other))
    for other in (a, parse("_8:_1 o _0 o _4:_1")):
        with pytest.raises(LeafTypeError, match="one swizzled layout"):
            tla.MakeLayout(a, other)


def test_what_a_composed_layout_is_made_of():
    assert image(ComposedLayout(parse("(_4,_8):(_8,_1)"), (1, 2), parse("(_2,_3):(_1@0,_1@1)"))) == [
        8 * (1 + i) + 2 + j for j in range(3) for i in range(2)
    ]
    for outer, offset, inner in (
        (Swizzle[1, 0, 1](), (1, 2), parse("(2,3):(1@0,1@1)")),
        (Swizzle[1, 0, 1](), _0, parse("(2,3):(1@0,1@1)")),
        (Swizzle[1, 0, 1](), E[0], parse("4:1")),
        (parse("_8:_1"), (1, 2), parse("4:1")),
        (4, _0, parse("4:1")),
        (parse("_8:_1"), _0, 4),
    ):
        with pytest.raises(LeafTypeError):
            ComposedLayout(outer, offset, inner)
    long = parse("_8:_1")
    for _part in range(127):
        long = ComposedLayout(parse("_8:_1"), _0, long)
    with pytest.raises(RankError, match="at most 256"):
        ComposedLayout(parse("_8:_1"), _0, long)
    assert long(5) == 5


class Traced:
    """An integer that computes in its dtype: where that cannot hold the offsets, it is refused."""

    def __init__(self, value, dtype):
        self.value, self._dtype = value, dtype

    dtype = property(lambda self: self._dtype)


for _name in ("add", "mul", "floordiv", "mod", "rshift", "lshift", "and", "xor"):

    def _forward(a, b, op=f"__{_name}__"):
        return Traced(getattr(a.value, op)(int(getattr(b, "value", b))), a.dtype)

    def _backward(a, b, op=f"__{_name}__"):
        return Traced(getattr(int(b), op)(a.value), a.dtype)

    setattr(Traced, f"__{_name}__", _forward)
    setattr(Traced, f"__r{_name}__", _backward)


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("Sw<2,1,3> o _0 o _64:_1", 63),
        ("Sw<2,1,3> o _64 o _64:_1", 127),
        ("Sw<2,1,3> o _65 o _64:_1", 128),
        ("Sw<2,1,3> o _0 o _129:_1", 128),
        ("Sw<1,0,7> o _0 o _4:_1", 128),
        ("Sw<1,0,6> o _0 o _4:_1", 64),
        ("_8:_1 o _120 o _8:_1", 127),
        ("_8:_1 o _121 o _8:_1", 128),
        ("_8:_20 o _0 o _8:_1", 140),
        ("_8:_1 o _0 o Sw<1,0,1> o _120 o _8:_1", 127),
    ],
)
def test_a_dtype_holds_what_arises_in_a_chain(text, largest):
    """int8 where the largest sum on the way is 127 at most; the values are those of integers."""
    a = parse(text)
    if largest <= 127:
        assert [a(Traced(x, "int8")).value for x in range(4)] == [a(x) for x in range(4)]
    else:
        with pytest.raises(TlaError, match="wider dtype"):
            a(Traced(1, "int8"))
    assert a(np.arange(4, dtype=np.int8)).tolist() == [a(x) for x in range(4)]


def test_the_least_and_the_largest_value_bound_all():
    """Of layouts that are moved and swizzled, below 0 too: no value lies outside, and without a swizzle both
    ends are met."""
    for outer, offset, strides in itertools.product(
        (None, "Sw<2,0,3>", "Sw<1,2,4>", "Sw<2,3,-3>"), (-9, -1, 0, 6), ((1, 4), (-1, 4), (-3, -8))
    ):
        inner = f"(_4,_3):(_{strides[0]},_{strides[1]})"
        layout = parse(f"{outer} o _{offset} o {inner}") if outer else parse(inner)
        moved = 0 if outer else offset
        seen = {int(layout(i, j)) + moved for i in range(4) for j in range(3)} | {0}
        low, high = values_between(layout, Int[moved]())
        assert low <= min(seen), (outer, offset, strides)
        assert max(seen) <= high, (outer, offset, strides)
        if not outer and offset >= 0 <= min(strides):
            assert (low, high) == (min(seen), max(seen))
