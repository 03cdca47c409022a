"""The algebra of sizes that are not known: at sizes that meet the facts and the conditions, each law holds, and the
numbers agree.

Layouts, facts and sizes are drawn at random. What is refused is counted; what is answered is compared everywhere, by
the definition.
"""

import os
import random
from collections import Counter

import pytest

import tla
from tla import Int, Layout, TlaError, assuming, at, dim, dims, parse
from tla.ascend import half, zN

import oracle
from expressions import count, value
from night import amount

COUNT, SIZES = int(os.environ.get("TLA_LAYOUTS", amount(5, 200))), 8
NAMES = "MNKPQ"
UNITS = (1, 1, 2, 4, 6, 8, 16)


class Drawn:
    """Random layouts of symbols, and random sizes for these."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.units = {name: self.rng.choice(UNITS) for name in NAMES}
        self.symbols = {name: dim(name, multiple_of=u) if u > 1 else dim(name) for name, u in self.units.items()}

    def sizes(self):
        return {name: u * self.rng.randint(1, max(1, 8 // u)) for name, u in self.units.items()}

    def leaf(self):
        kind = self.rng.random()
        if kind < 0.55:
            return self.rng.choice([*self.symbols.values()])
        return Int[self.rng.choice((2, 2, 3, 4, 8))]() if kind < 0.95 else self.rng.choice((2, 4))

    def shape(self, depth=2):
        modes = [
            self.shape(depth - 1) if depth and self.rng.random() < 0.25 else self.leaf()
            for _ in range(self.rng.randint(1, 3))
        ]
        return tuple(modes)

    def layout(self):
        """Compact in some order, perhaps padded, perhaps with a mode that is broadcast."""
        shape = self.shape()
        extents = [*oracle.leaves(shape)]
        order = [*range(len(extents))]
        self.rng.shuffle(order)
        strides, stride = {}, self.rng.choice((Int[1](), Int[1](), Int[2](), self.symbols["M"]))
        for k in order:
            strides[k] = stride if self.rng.random() < 0.93 else Int[0]()
            stride = tla.mul(stride, extents[k])
            stride = tla.mul(stride, self.rng.choice((Int[1](), Int[1](), Int[1](), Int[2](), self.symbols["N"])))
        return Layout(shape, oracle.nest(shape, iter([strides[k] for k in range(len(extents))])))

    def tile(self, layout):
        def one(_mode):
            kind = self.rng.random()
            if kind < 0.6:
                return Int[self.rng.choice((1, 2, 2, 4, 8))]()
            return tla._ if kind < 0.75 else self.leaf()

        return tuple(map(one, tuple(layout.shape)))


def drawn(seed):
    """COUNT draws; small at each of their sizes."""
    for k in range(COUNT):
        yield Drawn(seed * 1000 + k)


def coordinates(layout, limit=24):
    n = int(tla.size(layout))
    return range(n) if n <= limit else sorted(random.Random(n).sample(range(n), limit))


def checked(seed, operation, law):
    """How many layouts an operation answered, with and without conditions, and refused; its law is tried
    at SIZES sizes."""
    seen = Counter()
    for d in drawn(seed):
        arguments = operation.draw(d)
        with assuming() as conditions:
            try:
                result = operation.f(*arguments)
            except TlaError as error:
                assert error.reason.fix, error
                seen["refused"] += 1
                continue
        seen["on conditions" if conditions else "proved"] += 1
        for _ in range(SIZES):
            sizes = d.sizes()
            if all(c.at(sizes) for c in conditions):
                law(*(at(x, sizes) for x in arguments), at(result, sizes))
                seen["sizes"] += 1
    return seen


class Operation:
    def __init__(self, f, draw):
        self.f, self.draw = f, draw


def same(a, b):
    return all(a(i) == b(i) for i in coordinates(a))


def law_of_coalesce(a, r):
    assert tla.size(r) == tla.size(a)
    assert same(a, r)


def law_of_composition(a, b, r):
    assert tla.size(r) == tla.size(b)
    for i in coordinates(b):
        assert r(i) == a(b(i)), (a, b, r, i)


def law_of_complement(a, r):
    if int(tla.size(a)) * int(tla.size(r)) <= 256:
        kept = tla.filter(a)
        values = [x + y for x in map(kept, range(int(tla.size(kept)))) for y in map(r, range(int(tla.size(r))))]
        assert len(set(values)) == len(values), (a, r)


def law_of_right_inverse(a, r):
    for i in coordinates(r):
        assert a(r(i)) == i, (a, r, i)


def law_of_left_inverse(a, r):
    if all(oracle.leaves(a.stride)):
        for i in coordinates(a):
            assert r(a(i)) == i, (a, r, i)


def law_of_divide(form):
    def law(a, tiler, r):
        numbers = getattr(tla, form)(static(a), static(tiler))
        assert tla.size(r) == tla.size(numbers)
        assert same(numbers, r), (a, tiler, r)

    return law


def law_of_product(form):
    def law(a, b, r):
        assert tla.size(r) == tla.size(a) * tla.size(b)
        assert same(getattr(tla, form)(static(a), static(b)), r), (a, b, r)

    return law


def static(x):
    if isinstance(x, Layout):
        return Layout(static(x.shape), static(x.stride))
    if isinstance(x, tuple):
        return tuple(map(static, x))
    return Int[int(x)]() if isinstance(x, int) else x


def test_what_a_tiling_rests_on():
    a, tile = tla.MakeLayout(tla.dims("M N"), tla.LayoutRight), (Int[16](), Int[16]())
    with pytest.raises(tla.Unproven) as caught:
        tla.logical_divide(a, tile)
    assert caught.value.reason.expected == "16 divides M; 16 divides N"
    units = tla.dims("M N", multiple_of=16)
    exact = tla.logical_divide(tla.MakeLayout(units, tla.LayoutRight), tile)
    assert str(exact) == "((_16,M//16),(_16,N//16)):((N,16*N),(_1,_16))"
    with assuming() as conditions:
        divided = tla.logical_divide(a, tile)
    assert [c.to_python() for c in conditions] == ["M % 16 == 0", "N % 16 == 0"]
    for m, n in [(16, 16), (32, 48), (160, 16)]:
        numbers = tla.logical_divide(tla.MakeLayout((m, n), tla.LayoutRight), tile)
        assert at(divided, M=m, N=n) == at(exact, M=m, N=n) == numbers


def test_an_offset_in_zN_takes_six_operations():
    rows, columns = tla.dims("M N", multiple_of=16)
    layout = tla.MakeLayout[half, zN](rows, columns)
    text = tla.to_python(layout(tla.index("i", rows), tla.index("j", columns)))
    operations, divisions = count(text)
    assert operations <= 6
    assert divisions <= 2
    rng = random.Random(6)
    for _ in range(50):
        m, n = 16 * rng.randint(1, 20), 16 * rng.randint(1, 20)
        i, j = rng.randrange(m), rng.randrange(n)
        truth = (j // 16 * m + i) * 16 + j % 16
        assert value(text, {"M": m, "N": n, "i": i, "j": j}) == truth == tla.MakeLayout[half, zN](m, n)(i, j)


def pair(d):
    """A layout, and one into its domain."""
    a = d.layout()
    n = tla.size(a)
    shape = d.rng.choice((tla.product_each(a.shape), (n,), (Int[2](), n // 2), a.shape, (Int[4](), n // 4), d.shape(0)))
    return a, tla.MakeLayout(shape, d.rng.choice((tla.LayoutLeft, tla.LayoutLeft, tla.LayoutRight)))


def small(d):
    """Two layouts for a product."""
    return d.layout(), tla.MakeLayout(d.shape(0))


def law_of_numbers(f):
    def law(*arguments):
        *given, r = arguments
        numbers = f(*map(static, given))
        assert tla.size(numbers) == tla.size(r)
        assert same(numbers, r), (given, r)

    return law


def law_of_nullspace(a, r):
    assert not any(a(i) for i in map(r, coordinates(r))), (a, r)


def law_of_common(a, b, r):
    for i in coordinates(r):
        assert a(r(i)) == b(r(i)) == i, (a, b, r, i)


def law_of_downcast(a, r):
    if tla.size(a) <= 128:
        assert sorted(map(r, range(int(tla.size(r))))) == sorted(
            4 * a(i) + k for i in range(int(tla.size(a))) for k in range(4)
        )


def block_and_shape(d):
    return tla.MakeLayout((Int[d.rng.choice((2, 4))](), Int[d.rng.choice((1, 2, 8))]())), (
        d.leaf(),
        d.leaf(),
        d.leaf(),
    )[: d.rng.choice((2, 3))]


CASES = {
    "upcast": (Operation(tla.upcast[2], lambda d: (d.layout(),)), law_of_numbers(tla.upcast[2]), 0.3),
    "downcast": (Operation(tla.downcast[4], lambda d: (d.layout(),)), law_of_downcast, 0.3),
    "filter": (Operation(tla.filter, lambda d: (d.layout(),)), law_of_numbers(tla.filter), 1),
    "tile_to_shape": (Operation(tla.tile_to_shape, block_and_shape), law_of_numbers(tla.tile_to_shape), 0.3),
    "MakeLayoutTile": (
        Operation(tla.MakeLayoutTile, lambda d: (a := d.layout(), tuple(d.leaf() for _ in a.shape))),
        law_of_numbers(tla.MakeLayoutTile),
        0.9,
    ),
    "coalesce": (Operation(tla.coalesce, lambda d: (d.layout(),)), law_of_coalesce, 1),
    "composition": (Operation(tla.composition, pair), law_of_composition, 0.6),
    "complement": (Operation(tla.complement, lambda d: (d.layout(),)), law_of_complement, 0.6),
    "right_inverse": (Operation(tla.right_inverse, lambda d: (d.layout(),)), law_of_right_inverse, 1),
    "left_inverse": (Operation(tla.left_inverse, lambda d: (d.layout(),)), law_of_left_inverse, 0.6),
    **{
        form: (Operation(getattr(tla, form), lambda d: (a := d.layout(), d.tile(a))), law_of_divide(form), 0.6)
        for form in ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
    },
    **{
        form: (Operation(getattr(tla, form), small), law_of_product(form), 0.4)
        for form in (
            "logical_product",
            "blocked_product",
            "raked_product",
            "zipped_product",
            "tiled_product",
            "flat_product",
        )
    },
    "nullspace": (Operation(tla.nullspace, lambda d: (d.layout(),)), law_of_nullspace, 0.9),
    "max_common_layout": (Operation(tla.max_common_layout, lambda d: (d.layout(), d.layout())), law_of_common, 0.6),
}


@pytest.mark.parametrize("name", CASES)
def test_every_law_at_every_size(name):
    operation, law, least = CASES[name]
    seen = checked([*CASES].index(name), operation, law)
    assert seen["proved"] + seen["on conditions"] >= least * COUNT, seen
    assert seen["sizes"] > 4 * least * COUNT, seen


def test_predicates_of_sizes():
    """True and False are right at every size; and what is compact in any order is proved to be."""
    seen = Counter()
    for d in drawn(77):
        a = d.layout()
        for predicate in (tla.is_injective, tla.is_surjective, tla.is_bijective, tla.is_compact, tla.is_ordered):
            answer = predicate(a)
            seen[predicate.__name__, answer] += 1
            for _ in range(SIZES if answer is not None else 0):
                assert predicate(at(a, d.sizes())) is answer, (predicate.__name__, a)
    assert seen["is_injective", True] > 0.3 * COUNT, seen
    assert seen["is_compact", True] > 0.05 * COUNT, seen
    M, N = dims("M N")
    for layout in (tla.MakeLayout((M, N)), tla.MakeLayout((M, (N, 4)), tla.LayoutRight), tla.MakeLayout((Int[8](), M))):
        assert tla.is_bijective(layout) is tla.is_compact(layout) is tla.is_surjective(layout) is True
    assert tla.is_injective(parse("(_4,M):(_1,8)", symbols=[M])) is True
    assert tla.is_ordered(tla.MakeLayout((M, N))) is True
    assert tla.same_map(tla.MakeLayout(((M, N), 4)), parse("(M*N,4):(_1,M*N)", symbols=[M, N])) is True
    assert tla.same_map(tla.MakeLayout((M, N)), tla.MakeLayout((M, N), tla.LayoutRight)) is None
    may_be_0 = tla.index("i", 10)  # and then -1 is the only stride that counts
    assert tla.is_ordered(Layout((Int[4](), Int[4]()), (may_be_0, Int[-1]()))) is None


def test_a_layout_that_may_be_empty_needs_no_buffer_then():
    M, Z = dim("M"), dim("Z", at_least=0)
    for a in (tla.MakeLayout((Z, M)), tla.MakeLayout((M, Z)), parse("(Z,2):(_1,0)", symbols=[Z])):
        assert tla.cosize(a).at({"Z": 0, "M": 3}) == 0
    padded = parse("(Z,4):(_1,M)", symbols=[M, Z])
    with pytest.raises(tla.Unproven, match="1 <= Z"):
        tla.cosize(padded)
    with assuming() as conditions:
        assert tla.cosize(padded).at({"Z": 2, "M": 5}) == 17
    assert [*map(str, conditions)] == ["1 <= Z"]
    assert tla.is_surjective(padded) is tla.is_compact(padded) is None
    assert str(tla.nullspace(parse("Z:_-1", symbols=[Z]))) == "_1:_0"


def test_a_tile_of_known_extents_needs_a_mode_that_holds_it():
    M, N = dims("M N")
    rows = tla.MakeLayout((M, N), tla.LayoutRight)
    for tile, needed, expected in (
        ("2:1", "2 <= M", "2:N"),
        ("_16:_4", "61 <= M", "_16:4*N"),
        ("(_2,_3):(_1,_4)", "10 <= M", "(_2,_3):(N,4*N)"),
    ):
        with pytest.raises(tla.Unproven, match="it is not known whether"):
            tla.composition(rows, parse(tile))
        with assuming() as conditions:
            r = tla.composition(rows, parse(tile))
        assert (str(r), str(conditions[-1])) == (expected, needed)
        for m in (int(needed.split()[0]), 64, 97):
            a, b = at(rows, M=m, N=3), parse(tile)
            assert [at(r, N=3)(i) for i in range(tla.size(b))] == [a(b(i)) for i in range(tla.size(b))]
    enough = dim("M", at_least=16)
    assert str(tla.composition(tla.MakeLayout((enough, N), tla.LayoutRight), parse("_16:_1"))) == "_16:N"


def test_composed_layouts_of_sizes_that_may_be_equal():
    """Values that are other expressions may be the same number: what they decide is not known."""
    M, N = dims("M N")
    grid = tla.MakeLayout((M, N), tla.LayoutRight)
    a, b = (tla.ComposedLayout(grid, Int[0](), Layout((Int[2](), Int[2]()), strides)) for strides in ((M, N), (N, M)))
    assert tla.is_injective(at(a, M=3, N=3)) is False
    assert (
        tla.is_injective(a)
        is tla.is_surjective(a)
        is tla.is_bijective(a)
        is tla.is_compact(a)
        is tla.same_map(a, b)
        is None
    )
    swizzled = [tla.ComposedLayout(tla.Swizzle[1, 0, 1](), Int[0](), tla.MakeLayout(n)) for n in (M, N)]
    assert (tla.same_map(*swizzled), tla.same_map(swizzled[0], swizzled[0])) == (None, True)
    with pytest.raises(tla.Unproven, match="left_inverse"):
        tla.left_inverse(tla.ComposedLayout(tla.Swizzle[1, 0, 1](), Int[0](), Layout((Int[3](), 6), (M, 3 * M))))


def test_a_digit_of_nothing():
    """0 // x within a form: its leading term was asked for."""
    M = dim("M", at_least=0)
    with assuming() as conditions:
        r = tla.logical_divide(Layout((4, M, M // 16), (Int[1](), 4, 4 * M)), M)
    met = 0
    for m in range(1, 200):
        if all(c.at({"M": m}) for c in conditions):
            met += 1
            numbers = at(r, M=m)
            a = at(Layout((4, M, M // 16), (Int[1](), 4, 4 * M)), M=m)
            assert {int(numbers(i)) for i in range(int(tla.size(numbers)))} >= {
                int(a(i)) for i in range(int(tla.size(a)))
            }
    assert met == 1


def test_a_step_past_a_symbolic_extent_goes_on_in_the_next_mode():
    M, N = dims("M N")
    K = dim("K", multiple_of=8)
    for a, b, expected in (("(M,_2):(_2,_3)", "(M):(M*N)", "(M):(3*N)"), ("(K,K):(K,4*K)", "(N):(4*K)", "(N):(16*K)")):
        assert str(tla.composition(*(parse(x, symbols=[M, N, K]) for x in (a, b)))) == expected
