"""Layouts over digits of mixed radix, by brute force over whole domains: the definition, every
operation, every refusal."""

import functools
import itertools
import math
import operator
import pickle
import random
import re
from types import SimpleNamespace

import numpy as np
import pytest

from tla import E, MakeLayout, TlaError, dim, left_inverse, make_layout, parse
from tla.linear import LinearLayout, RadixLayout, layout_of, linear, radix, triton

import oracle
from night import amount


def split(x, radices):
    out = []
    for m in radices:
        out.append(x % m)
        x //= m
    return out


def number(digits, radices):
    total = 0
    for c, m in zip(digits[::-1], radices[::-1]):
        total = total * m + c
    return total


def table(digits, radices):
    """The definition: digits of one input and radices of one output, as the list of all values."""
    found = []
    for x in range(math.prod(n for n, _ in digits)):
        sums = [0] * len(radices)
        for c, (_, v) in zip(split(x, [n for n, _ in digits]), digits):
            sums = [(s + c * g) % m for s, g, m in zip(sums, split(v, radices), radices)]
        found.append(number(sums, radices))
    return found


def values(layout):
    """All values of a layout of one input and one output."""
    (name, size), *_ = layout.in_sizes.items()
    return np.broadcast_to(layout.apply({name: np.arange(size)})[next(iter(layout.out_sizes))], size).tolist()


def factorings(n):
    """All ordered lists of factors of n, each above 1."""
    return [[]] if n == 1 else [[m, *rest] for m in range(2, n + 1) if n % m == 0 for rest in factorings(n // m)]


def random_digits(rng, extents, radices):
    size = math.prod(radices)
    return [(n, rng.randrange(size)) for n in extents]


def linear_over(found, extents, radices):
    """Whether a list of values is linear over these digits: by the definition from the values of single digits."""
    places = [math.prod(extents[:k]) for k in range(len(extents))]
    return table([(n, found[p]) for n, p in zip(extents, places)], radices) == found


def is_a_map_of(found, radices):
    """Whether some cut of the input makes a list of values linear over these radices."""
    return any(linear_over(found, extents, radices) for extents in factorings(len(found)))


def is_a_sum(layout):
    """Whether all values are sums of integers below the size, as those of shape and stride are."""
    (size,) = layout.out_sizes.values()
    return layout.radices == (size,) and sum((d.extent - 1) * d.step[0] for d in layout.digits) < size


CASES = [
    (n, radices, steps)
    for size in range(1, 13)
    for radices in factorings(size)
    for n in ([2], [3], [4], [6], [2, 2], [2, 3], [3, 2])
    for steps in itertools.product(range(size), repeat=len(n))
]


def cases(by_day):
    return random.Random(5).sample(CASES, amount(by_day, len(CASES)))


def test_the_definition():
    for extents, radices, steps in cases(400):
        layout = RadixLayout({"i": [*zip(extents, steps)]}, {"o": radices})
        assert values(layout) == table([*zip(extents, steps)], radices)
        assert (
            eval(repr(layout), {"radix": radix}) == layout == pickle.loads(pickle.dumps(layout)) == radix(str(layout))
        )


@pytest.mark.once
def test_equal_layouts_are_equal_maps():
    """Of all layouts of one input and the same radices: equal values, equal layouts, and no others."""
    rng = random.Random(2)
    for size in (4, 6, 8, 12):
        for radices in factorings(size):
            seen = {}
            for extents in factorings(12) + factorings(8):
                for _ in range(40):
                    layout = RadixLayout({"i": random_digits(rng, extents, radices)}, {"o": radices})
                    assert seen.setdefault(tuple(values(layout)), layout) == layout
                    assert hash(seen[tuple(values(layout))]) == hash(layout)


def test_other_radices_exactly_or_refused():
    """reshape_outs keeps every value; of layouts of shape and stride it refuses only what nothing makes linear
    over the radices."""
    refused = missed = 0
    for extents, radices, steps in cases(500):
        layout = RadixLayout({"i": [*zip(extents, steps)]}, {"o": radices})
        there = values(layout)
        for new in factorings(math.prod(radices)):
            try:
                found = layout.reshape_outs({"o": new})
            except TlaError:
                refused += 1
                missed += is_a_map_of(there, new)
                assert not (is_a_sum(layout) and is_a_map_of(there, new)), (layout, new)
            else:
                assert values(found) == there
                assert found.out_dims == {"o": tuple(new)}
                assert layout.same_map(found)
                assert found.same_map(layout)
    assert refused > 100
    assert missed < refused / 10  # digits that wrap, and would have to be cut at other places


def test_inputs_are_cut_anew_where_only_that_is_linear():
    """Over (2,3,2) the values of (2,3):(3,4) are a map, of an input that is cut at 3 instead of 2."""
    found = radix("i=(2,3):(3,4), j=2:6 -> o=12").reshape_outs({"o": (2, 3, 2)})
    assert str(found) == "i=(3,2):(3,7), j=2:6 -> o=(2,3,2)"
    assert str(radix("i=(2,3):(3,4) -> o=12").reshape_outs({"o": (2, 3, 2)})) == "i=(3,2):(3,7) -> o=(2,3,2)"


def test_numpys_integers():
    n = np.int8
    found = RadixLayout({"i": [(n(4), n(1))]}, {"o": (n(2), n(4))})
    assert found == RadixLayout({"i": [(4, 1)]}, {"o": (2, 4)})
    assert found.reshape_ins({"a": n(2), "b": n(2)}) == found.reshape_ins({"a": 2, "b": 2})
    assert found.reshape_outs({"o": n(8)}).resize_out("o", np.uint64(16)).out_sizes == {"o": 16}
    assert radix(parse("(4,6):(6,1)"), out_dims={"o": (n(6), n(4))}).out_dims == {"o": (6, 4)}
    bits = LinearLayout({"i": [(n(1),), (n(2),)]}, {"o": np.uint16(4)})
    assert bits.resize_in_dim("i", n(8)).get_in_dim_size("i") == 8
    assert bits.get_basis("i", n(1)) == (2,)
    assert LinearLayout({}, {"a": 64, "b": 64}).pack((n(63), n(63))) == 4095
    assert triton.BlockedLayout([n(1), n(4)], [8, 4], [4, 1], [n(1), 0]).linear([n(64), n(32)]) == triton.BlockedLayout(
        [1, 4], [8, 4], [4, 1], [1, 0]
    ).linear([64, 32])


def test_same_map():
    rng = random.Random(4)
    for _ in range(amount(500, 40000)):
        size = rng.choice([4, 6, 8, 12])
        two = [
            RadixLayout({"i": random_digits(rng, rng.choice(factorings(rng.choice([4, 6]))), m)}, {"o": m})
            for m in rng.choices(factorings(size), k=2)
        ]
        assert two[0].same_map(two[1]) == (values(two[0]) == values(two[1]))


def test_compose_exactly_or_refused():
    rng = random.Random(6)
    count = refused = 0
    for _ in range(amount(500, 40000)):
        size = rng.choice([4, 6, 8, 12, 16, 18])
        middle, low, high = (
            rng.choice(factorings(size)),
            rng.choice(factorings(size)),
            rng.choice(factorings(rng.choice([4, 6, 12]))),
        )
        inner = RadixLayout(
            {"i": random_digits(rng, rng.choice(factorings(rng.choice([4, 6, 12]))), middle)}, {"o": middle}
        )
        outer = RadixLayout({"o": random_digits(rng, low, high)}, {"p": high})
        there = [values(outer)[x] for x in values(inner)]
        try:
            found = inner.compose(outer)
        except TlaError:
            refused += 1
        else:
            count += 1
            assert values(found) == there, (inner, outer)
    assert count > amount(200, 400)
    assert refused > amount(50, 100)


def test_inverses():
    """What an inverse answers is one; of maps that are groups' it refuses only what is none."""
    rng = random.Random(7)
    seen = dict.fromkeys(("invert", "right", "left", "none"), 0)
    for _ in range(amount(800, 60000)):
        size = rng.choice([4, 6, 8, 12, 16, 24])
        layout = RadixLayout(
            {
                "i": random_digits(
                    rng, rng.choice(factorings(rng.choice([4, 6, 12, size]))), m := rng.choice(factorings(size))
                )
            },
            {"o": m},
        )
        there = values(layout)
        onto, injective = {*there} == {*range(size)}, len({*there}) == len(there)
        for name, way, exists in (
            ("right", layout.right_inverse, onto),
            ("left", layout.left_inverse, injective),
            ("invert", layout.invert, onto and injective),
        ):
            try:
                back = values(way())
            except TlaError:
                seen["none"] += exists
                continue
            assert exists
            seen[name] += 1
            assert (name == "left") or [there[y] for y in back] == [*range(size)]
            assert (name == "right") or [back[x] for x in there] == [*range(len(there))]
    assert min(seen.values()) > 20


@pytest.mark.once
def test_layouts_of_shape_and_stride_are_a_case():
    """Every small layout, with every swizzle of it that is linear: the same offsets, and back."""
    rng = random.Random(8)
    swizzled = 0
    for _ in range(amount(300, 20000)):
        shape = [rng.choice([1, 2, 3, 4, 6, 8]) for _ in range(rng.choice([1, 2, 3]))]
        stride = [rng.choice([0, 1, 2, 3, 4, 8, 12, 16, 24]) for _ in shape]
        plain = MakeLayout(tuple(shape), tuple(stride))
        found = radix(plain, ["i"])
        assert values(found) == oracle.offsets(tuple(shape), tuple(stride))
        back = layout_of(found)
        assert [back(x) for x in range(math.prod(shape))] == values(found)
        b, m, s = rng.randint(1, 2), rng.randint(0, 2), rng.randint(2, 3)
        text = f"Sw<{b},{m},{s}> o 0 o {plain}"
        try:
            found = radix(parse(text), ["i"])
        except TlaError:
            continue
        swizzled += 1
        assert values(found) == [x ^ (x >> s & (1 << b) - 1 << m) for x in oracle.offsets(tuple(shape), tuple(stride))]
        back = layout_of(found)
        assert [back(x) for x in range(math.prod(shape))] == values(found)
    assert swizzled > 100


def way_back(layout):
    """The left inverse, or none and the refusal; a fix that names a size is followed."""
    try:
        return layout.left_inverse(), None
    except TlaError as refused:
        size = re.search(r"write resize_out\('(\w+)', (\d+)\)", str(refused))
        return way_back(layout.resize_out(size[1], int(size[2]))) if size else (None, refused)


def test_layouts_of_coordinates():
    """Every stride along one axis or two: where each coordinate is of one index only a way back is found, or
    counted as missed."""
    found = missed = 0
    for shape in ((3,), (4, 2), (3, 2), (4, 3)):
        for at in itertools.product([(0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 3), (0, 4)], repeat=len(shape)):
            strides = [[n * E[k] for k, n in enumerate(v) if n] for v in at]
            layout = make_layout(
                shape, tuple(functools.reduce(operator.add, terms) if terms else 0 for terms in strides)
            )
            axes = [k for k in (0, 1) if any(v[k] for v in at)]
            if not axes:
                continue
            points = [
                np.dot(c[::-1], np.array(at))[axes].tolist() for c in itertools.product(*map(range, reversed(shape)))
            ]
            there = radix(layout, ["index"])
            assert [[*there.apply({"index": k}).values()] for k in range(len(points))] == points
            back, refused = way_back(there)
            if refused:
                missed += len({*map(tuple, points)}) == len(points)
            else:
                found += 1
                assert [back.apply(dict(zip(there.out_sizes, p)))["index"] for p in points] == [*range(len(points))]
    assert missed < found / 4
    with pytest.raises(TlaError, match=r"write tla\.linear\.radix\(layout\)\.left_inverse\(\)"):
        left_inverse(make_layout(4, E[0] + E[1]))
    assert radix(make_layout(4, E[0] + E[1])).left_inverse().apply({"axis0": 3, "axis1": 3}) == {"dim0": 3}


def test_linear_layouts_are_a_case():
    """Random linear layouts: applied, composed, inverted and multiplied as RadixLayouts they are what they are as
    themselves."""
    rng = random.Random(9)

    def some(ins, outs):
        return LinearLayout(
            {d: [tuple(rng.randrange(n) for n in outs.values()) for _ in range(k)] for d, k in ins.items()}, outs
        )

    for _ in range(amount(150, 4000)):
        a = some({"r": 2, "l": 3}, {"x": 4, "y": 8})
        b = some({"x": 2, "y": 3}, {"o": 32})
        assert linear(radix(a)) == a
        assert linear(radix(a).compose(radix(b))) == a.compose(b)
        assert linear(radix(a) * radix(b)) == a * b
        assert radix(a).is_injective() == a.is_injective()
        assert radix(a).is_surjective() == a.is_surjective()
        if a.is_invertible():
            assert linear(radix(a).invert()) == a.invert()


def test_linear_layouts_of_triton():
    for layout, shape in (
        (triton.BlockedLayout([1, 4], [8, 4], [4, 1], [1, 0]), [64, 32]),
        (triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), [64, 64]),
    ):
        found = layout.linear(shape)
        assert linear(radix(found)) == found
        sizes = {d: found.get_in_dim_size(d) for d in found.get_in_dim_names()}
        at = np.unravel_index(np.arange(math.prod(sizes.values())), [*sizes.values()])
        inputs = dict(zip(sizes, at))
        theirs, ours = found.apply(inputs), radix(found).apply(inputs)
        assert all((theirs[d] == ours[d]).all() for d in theirs)


def test_a_tile_of_96_columns():
    """Twelve threads along a row of 96 halves, eight rows: who has what, and back, in closed form and whole."""
    threads = radix(parse("((12,8),8):((64,1),8)"), ["thread", "value"], {"row": 8, "column": 96})
    t, v = np.meshgrid(np.arange(96), np.arange(8), indexing="ij")
    found = threads.apply({"thread": t, "value": v})
    assert (found["row"] == t // 12).all()
    assert (found["column"] == t % 12 * 8 + v).all()
    back = threads.invert().apply(found)
    assert (back["thread"] == t).all()
    assert (back["value"] == v).all()


def test_rotated_rows_are_sums_modulo_the_row():
    """Rows of 48, each turned 16 further: sums modulo 48, no swizzle says it."""
    turned = RadixLayout({"column": [(48, (1, 0))], "row": [(8, (16, 1))]}, {"place": 48, "line": 8})
    memory = turned.reshape_outs({"offset": (48, 8)})
    c, r = np.meshgrid(np.arange(48), np.arange(8), indexing="ij")
    there = memory.apply({"column": c, "row": r})["offset"]
    assert (there == (c + 16 * r) % 48 + 48 * r).all()
    back = memory.invert().apply({"offset": np.arange(384)})
    assert (there[back["column"], back["row"]] == np.arange(384)).all()
    with pytest.raises(TlaError, match="keep the RadixLayout"):
        layout_of(memory)


def test_symbols():
    t = dim("t", at_least=0, at_most=95)
    found = radix(parse("(12,8):(8,96)"), ["thread"]).resize_out("offset", 768).apply({"thread": t})["offset"]
    assert (
        all(found.subs({"t": x}) == 8 * (x % 12) + 96 * (x // 12) for x in range(96))
        if hasattr(found, "subs")
        else "t" in str(found)
    )


ERRORS = {
    "no pair": (lambda: RadixLayout({"i": [4]}, {"o": 4}), "a pair of extent and basis"),
    "too far": (lambda: RadixLayout({"i": [(4, 4)]}, {"o": 4}), "0 to 3"),
    "extent 0": (lambda: RadixLayout({"i": [(0, 1)]}, {"o": 4}), "an extent of 1 or more"),
    "radix 0": (lambda: RadixLayout({}, {"o": 0}), "radix of 0"),
    "length": (lambda: RadixLayout({"i": [(4, (1, 1))]}, {"o": 4}), "1 integers, one for each of o"),
    "a name": (lambda: RadixLayout({"a b": []}, {"o": 4}), "letters, digits and underscores"),
    "named twice": (lambda: radix(parse("(4,8):(8,1)"), ["a", "a"]), "names that differ"),
    "bits named twice": (lambda: linear(parse("(4,8):(8,1)"), ["a", "a"]), "names that differ"),
    "twice": (lambda: RadixLayout([("i", []), ("i", [])], {"o": 4}), "names that differ"),
    "too large": (lambda: RadixLayout({}, {"o": 2**62, "p": 3}), r"2\^62 in all"),
    "names": (
        lambda: RadixLayout({"i": [(4, 1)]}, {"o": 4}).compose(RadixLayout({"p": [(4, 1)]}, {"q": 4})),
        "the same names",
    ),
    "sizes": (
        lambda: RadixLayout({"i": [(4, 1)]}, {"o": 4}).compose(RadixLayout({"o": [(8, 1)]}, {"q": 8})),
        r"write resize_out\('o', 8\)",
    ),
    "apply": (lambda: RadixLayout({"i": [(4, 1)]}, {"o": 4}).apply({"j": 1}), "one value for each of i"),
    "text": (lambda: radix("i=4 -> o=4"), "':' and the strides"),
    "strides": (lambda: radix("i=(4,2):(1) -> o=8"), "one stride for each extent"),
    "not onto": (lambda: RadixLayout({"i": [(4, 2)]}, {"o": 8}).right_inverse(), "a layout that reaches every output"),
    "two": (
        lambda: RadixLayout({"i": [(4, 2)]}, {"o": 4}).invert(),
        r"^invert of i=4:2 -> o=4.*\n.*a layout that reaches every output",
    ),
    "two, to the left": (lambda: radix("i=6:2 -> o=6").left_inverse(), "^left_inverse of i=6:2 -> o=6: there is none"),
    "turns": (lambda: radix(parse("4:2")).left_inverse(), r"write resize_out\('offset', 8\)"),
    "open": (
        lambda: radix(parse("M:1", symbols=SimpleNamespace(M=dim("M")).__dict__)),
        "give its symbols values first",
    ),
    "bits": (lambda: linear(radix("i=3:1 -> o=4")), "powers of two"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_refusals(name):
    make, message = ERRORS[name]
    with pytest.raises(TlaError, match=message):
        make()


def test_the_fixes_work():
    assert RadixLayout({"i": [(4, 1)]}, {"o": 4}).resize_out("o", 8).compose(
        RadixLayout({"o": [(8, 1)]}, {"q": 8})
    ).in_sizes == {"i": 4}
    assert values(radix(parse("4:2"), ["i"]).resize_out("offset", 8).left_inverse()) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert RadixLayout({"i": [(4, 2)]}, {"o": 4}).is_injective() is False
