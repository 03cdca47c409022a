"""Linear layouts by their definition: xors of bases, brute force over all inputs."""

import itertools
import pickle
import random

import numpy as np
import pytest

from tla import RangeError, TlaError
from tla.linear import LinearLayout, bits, triton

from night import amount


def random_layout(rng, ins=None, outs=None, largest=3):
    """A random layout of few bits, singular ones included."""
    outs = outs or {f"o{k}": 1 << rng.randrange(largest + 1) for k in range(rng.randrange(1, 4))}
    names = ins or {f"i{k}": rng.randrange(largest + 1) for k in range(rng.randrange(1, 4))}
    return LinearLayout(
        {name: [tuple(rng.randrange(n) for n in outs.values()) for _ in range(count)] for name, count in names.items()},
        outs,
    )


def inputs(layout):
    sizes = [layout.get_in_dim_size(name) for name in layout.get_in_dim_names()]
    return [dict(zip(layout.get_in_dim_names(), p)) for p in itertools.product(*map(range, sizes))]


def image(layout, point):
    """The definition: the xor of the bases whose bit is set."""
    total = [0] * layout.num_out_dims
    for name, vectors in layout.bases.items():
        for k, v in enumerate(vectors):
            if point[name] >> k & 1:
                total = [a ^ b for a, b in zip(total, v)]
    return dict(zip(layout.out_dims, total))


RANDOM = [random_layout(random.Random(seed)) for seed in range(200)]


def test_apply_and_predicates():
    for layout in RANDOM:
        images = [tuple(image(layout, p).values()) for p in inputs(layout)]
        assert [tuple(layout.apply(p).values()) for p in inputs(layout)] == images
        assert layout.is_injective() == (len({*images}) == len(images))
        assert layout.is_surjective() == (len({*images}) == np.prod([*layout.out_dims.values()]))
        masks = layout.get_free_variable_masks()
        fixed = [p for p in inputs(layout) if not any(p[name] & mask for name, mask in masks.items())]
        assert len({tuple(image(layout, p).values()) for p in fixed}) == len(fixed) == len({*images})
        arrays = {name: np.array([p[name] for p in inputs(layout)]) for name in layout.get_in_dim_names()}
        found = layout.apply(arrays)
        for k, name in enumerate(layout.out_dims):
            assert np.array_equal(np.broadcast_to(found[name], len(images)), [i[k] for i in images])


def test_consecutive_elements():
    for layout in RANDOM:
        first, out = layout.get_in_dim_names()[0], next(iter(layout.out_dims))
        best = 1
        for n in (2, 4, 8):
            if n <= layout.get_in_dim_size(first) and all(
                layout.apply({**p, first: p[first] + k}) == {**layout.apply(p), out: layout.apply(p)[out] + k}
                and layout.apply(p)[out] % n == 0
                for p in inputs(layout)
                if p[first] % n == 0
                for k in range(n)
            ):
                best = n
        assert layout.get_num_consecutive_in_out() == best, layout


def test_compose_invert_divide():
    rng = random.Random(7)
    for layout in RANDOM:
        outer = random_layout(rng, {name: bits.log2(n) + rng.randrange(2) for name, n in layout.out_dims.items()})
        both = layout.compose(outer)
        assert all(both.apply(p) == outer.apply(layout.apply(p)) for p in inputs(layout))
        if layout.is_surjective():
            back = layout.pseudoinvert()
            assert all(layout.apply(back.apply(p)) == p for p in inputs(back))
        if layout.is_invertible():
            back = layout.invert()
            assert all(back.apply(layout.apply(p)) == p for p in inputs(layout))
        else:
            with pytest.raises(TlaError):
                layout.invert()
        other = random_layout(rng)
        product = layout * other
        assert layout.transpose_outs(layout.get_out_dim_names()) == layout
        assert product.divide_left(layout) is not None
        assert (layout * product.divide_left(layout)) == product
        assert (product.divide_right(other) * other) == product


def test_the_product_is_the_layouts_side_by_side():
    for a, b in itertools.pairwise(RANDOM):
        product = a * b
        for p, q in itertools.islice(itertools.product(inputs(a), inputs(b)), 40):
            joined = {
                name: p.get(name, 0) + (q.get(name, 0) * (a.get_in_dim_size(name) if a.has_in_dim(name) else 1))
                for name in {**p, **q}
            }
            x, y = a.apply(p), b.apply(q)
            assert product.apply(joined) == {
                name: x.get(name, 0) + y.get(name, 0) * a.out_dims.get(name, 1) for name in product.out_dims
            }


def test_invert_and_compose_holds_what_it_says():
    rng, refused, count = random.Random(3), 0, amount(60, 300)
    for _ in range(count):
        outs = {"x": 1 << rng.randrange(4), "y": 1 << rng.randrange(3)}
        a, b = random_layout(rng, None, outs), random_layout(rng, {"i0": rng.randrange(4), "m": rng.randrange(4)}, outs)
        reached = {tuple(b.apply(p).values()) for p in inputs(b)}
        if {tuple(a.apply(p).values()) for p in inputs(a)} <= reached:
            r = a.invert_and_compose(b)
            assert all(b.apply(r.apply(p)) == a.apply(p) for p in inputs(a))
        else:
            refused += 1
            with pytest.raises(TlaError):
                a.invert_and_compose(b)
    assert count / 6 < refused < count * 5 / 6


def test_shapes_and_names():
    a = LinearLayout.identity_1d(8, "register", "dim0") * LinearLayout.identity_1d(4, "lane", "dim1")
    assert a.flatten_ins().reshape_ins({"register": 8, "lane": 4}) == a
    assert a.flatten_outs().reshape_outs({"dim0": 8, "dim1": 4}) == a
    assert a.sublayout(["lane"], ["dim1"]) == LinearLayout.identity_1d(4, "lane", "dim1")
    assert a.sublayout_is_zero(["lane"], ["dim0"])
    assert a.resize_in_dim("lane", 8).bases["lane"] == ((0, 1), (0, 2), (0, 0))
    assert a.resize_in_dim("lane", 8).remove_zero_bases_along_dim("lane") == a
    assert a.rename({"lane": "warp"}).get_in_dim_names() == ["register", "warp"]
    both = LinearLayout.identity_1d(4, "warp", "warp") * a
    assert both.is_trivial_over(["warp"])
    assert both.quotient(["warp"]) == a
    assert a.quotient(["lane"]) is None
    assert a.concat_ins(LinearLayout({"block": [(1, 1)]}, a.out_dims)).bases["block"] == ((1, 1),)
    assert a.concat_outs(a.rename({"dim0": "x", "dim1": "y"})).bases["lane"] == ((0, 1, 0, 1), (0, 2, 0, 2))
    tile = LinearLayout.identity_1d(2, "register", "dim0")
    assert a.get_reps(tile).bases == {"register": ((0, 0), (2, 0), (4, 0)), "lane": ((0, 1), (0, 2))}
    assert a.get_reps(LinearLayout({"register": [(3,)]}, {"dim0": 4})) is None


def test_it_is_a_value():
    for layout in RANDOM[:40]:
        assert pickle.loads(pickle.dumps(layout)) == layout
        assert eval(repr(layout)) == layout
        assert hash(layout) == hash(pickle.loads(pickle.dumps(layout)))
        assert layout != layout.bases
    with pytest.raises(AttributeError):
        RANDOM[0].bases = {}
    assert str(LinearLayout({"lane": [(1,)], "warp": []}, {"dim0": 2})) == (
        " - lane=1 -> (1)\n - warp is a size 1 dimension\nwhere out dims are: [dim0 (size 2)]"
    )


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: LinearLayout({"i": [(1,)]}, {"o": 3}), "size of o is 3"),
        (lambda: LinearLayout({"i": [(4,)]}, {"o": 4}), "make the size of o 8"),
        (lambda: LinearLayout({"i": [(1, 2)]}, {"o": 4}), "one for each of o"),
        (lambda: LinearLayout({"i": [(1.0,)]}, {"o": 4}), "a known integer"),
        (lambda: LinearLayout({"i": [(-1,)]}, {"o": 4}), "is -1"),
        (lambda: LinearLayout({"i": [1]}, {"o": 4}), "one for each of o"),
        (lambda: LinearLayout({"i": 3}, {"o": 4}), "a list of vectors"),
        (lambda: LinearLayout({3: []}, {"o": 4}), "a name"),
        (lambda: LinearLayout({"i": [(0,)] * 63}, {"o": 4}), "62 bits"),
        (lambda: LinearLayout({}, {"o": 1 << 63}), "62 bits"),
        (lambda: RANDOM[0].apply({"nothing": 1}), "write apply"),
        (lambda: RANDOM[0].get_in_dim_size("nothing"), "one of i0"),
        (lambda: RANDOM[0].sublayout(["nothing"], []), "some of i0"),
        (lambda: RANDOM[0].reshape_ins({"a": 1 << 20}), "as many as it has"),
        (lambda: LinearLayout({"i": [(1,), (1,)]}, {"o": 4}).invert(), "i=3 goes where all zeros go"),
        (lambda: LinearLayout({"i": [(1,)]}, {"o": 4}).invert(), r"nothing reaches \(2\)"),
        (lambda: LinearLayout.from_bases({"i": [[1]]}, ["o"], None, False), "give one for each output"),
        (lambda: LinearLayout({"a": [(1,)]}, {"o": 2}).get_shared_view(False), "inputs among offset, block"),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f()


def test_bits():
    rng = random.Random(1)
    for _ in range(200):
        n = rng.randrange(1, 7)
        a, b = ([rng.randrange(1 << n) for _ in range(rng.randrange(7))] for _ in range(2))

        def span(columns):
            return {bits.apply(columns, x) for x in range(1 << len(columns))}

        assert len(span(a)) == 1 << bits.rank(a)
        assert span(bits.intersection(a, b)) == span(a) & span(b)
        assert len(span([*a, *bits.complement(a, n)])) == 1 << n
        assert all(bits.apply(a, x) == 0 for x in bits.kernel(a))
        assert 1 << len(bits.kernel(a)) == sum(bits.apply(a, x) == 0 for x in range(1 << len(a)))


def test_layouts_of_no_dimensions_have_one_element():
    """Every layout of Triton that may have rank 0: all of its inputs hold the one element, and each input is there."""
    blocked, shared = ["register", "lane", "warp", "block"], ["offset", "block"]
    layouts = [
        (triton.BlockedLayout([], [], [], []), blocked),
        (triton.SliceLayout(0, triton.BlockedLayout([1], [1], [1], [0])), blocked),
        (triton.SwizzledSharedLayout(1, 1, 1, []), shared),
        (triton.NVMMASharedLayout(0, 16, 0), shared),
        (triton.NVMMASharedLayout(0, 16, 0, transposed=True), shared),
    ]
    for layout, inputs in layouts:
        found = layout.linear([])
        assert (found.get_in_dim_names(), found.get_total_in_dim_size_log2(), found.get_out_dim_names()) == (
            inputs,
            0,
            [],
        ), layout
    with pytest.raises(RangeError, match=r"a swizzle of rank 0\n  expected  rank 2 or more"):
        triton.NVMMASharedLayout(32, 16, 0).linear([])


def test_every_sum_of_columns_is_found():
    """All sets of columns of 4 bits: what they span, and of which columns each sum is."""
    for columns in itertools.chain.from_iterable(itertools.product(range(1, 16), repeat=n) for n in (1, 2, 3)):
        sums = {bits.apply(columns, mask) for mask in range(1 << len(columns))}
        echelon = bits.Echelon(columns)
        assert 1 << echelon.rank == len(sums)
        for target in range(16):
            found = echelon.solve(target)
            assert (found is not None) == (target in sums) == echelon.spans(target)
            assert found is None or bits.apply(columns, found) == target
