"""Maps of isl read by layout_of: as isl itself enumerates them, and as `source` writes them."""

import itertools
import random

import pytest

import tla
from tla import TlaError, layout_of, parse
from tla.codegen import source
from tla.recovery.isl import read_isl

from night import amount


def expression(rng, depth=2):
    """A random expression of i and j in isl's words."""
    atoms = ["i", "j", str(rng.randrange(5))]
    if depth:
        a, b = expression(rng, depth - 1), expression(rng, depth - 1)
        n = rng.randrange(1, 5)
        atoms += [
            f"floor(({a})/{n})",
            f"({a}) mod {n}",
            f"{a} + {b}",
            f"({a}) - {rng.choice('ij')}",
            f"{n}*({b})",
            f"{n}{rng.choice('ij')}",
            f"{n}*{rng.choice('ij')} mod 3",
            f"-{rng.choice('ij')} + {b}",
            f"floor(-i/{n})",
            f"(({b}) mod 3) mod 2",
        ]
    return rng.choice(atoms)


def test_expressions_are_what_isl_computes():
    isl = pytest.importorskip("islpy")
    rng = random.Random(12)
    for _ in range(200):
        text = f"{{ [i, j] -> [{expression(rng)}] : 0 <= i < 4 and 0 <= j <= 4 }}"
        points = {}

        def keep(p, points=points):
            i, j, value = (p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(3))
            points[i, j] = value

        isl.Map(text).wrap().foreach_point(keep)
        found = read_isl(text)
        assert found.shape == (4, 5)
        computed = {
            (i, j): eval(found.expression, {"i": i, "j": j}) for i, j in itertools.product(range(4), range(5))
        }  # sums of two names
        assert computed == points, (text, found.expression)


def points(relation, count):
    found = {}
    isl = pytest.importorskip("islpy")

    def keep(p):
        *at, value = (p.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(count + 1))
        found[tuple(at)] = value

    relation.wrap().foreach_point(keep)
    return found


def test_relations_as_isl_prints_them():
    """Compositions and inverses of layouts, which isl prints with exists, mod and bounds: the values of its
    points, or refused."""
    isl = pytest.importorskip("islpy")
    rng, read, refused = random.Random(14), [0] * 3, 0
    for _ in range(amount(60, 1000)):
        n, m = rng.choice([(4, 8), (6, 4), (8, 8), (3, 16)])
        a, b = rng.choice([2, 3, 4]), rng.choice([2, 4, 8])
        one = isl.Map(f"{{ [i, j] -> [{expression(rng, 1)}] : 0 <= i < {n} and 0 <= j < {m} }}")
        two = isl.Map(f"{{ [x] -> [{rng.choice([1, 8])}*(x mod {a}) + {rng.choice([3, 16])}*floor(x/{a})] }}")
        split = isl.Map(f"{{ [k] -> [k mod {b}, floor(k/{b})] : 0 <= k < {b * 4} }}")
        back = isl.Map(
            f"{{ [i, j] -> [{a}*i + floor(j/{b}) + {4 * a}*(j mod {b})] : 0 <= i < 4 and 0 <= j < {b * a} }}"
        ).reverse()
        inverse = back.apply_range(isl.Map(f"{{ [i, j] -> [i + {4}*j] }}"))
        chains = (one.apply_range(two), 2), (split.apply_range(isl.Map("{ [i, j] -> [5*i + 64*j] }")), 1), (inverse, 1)
        for kind, (relation, count) in enumerate(chains):
            for text in (str(relation), str(relation.compute_divs()), str(relation.coalesce())):
                try:
                    found = read_isl(text)
                except TlaError:
                    refused += 1
                    continue
                read[kind] += 1
                at = itertools.product(*map(range, found.shape))
                computed = {p: eval(found.expression, dict(zip(found.names, p))) for p in at}
                assert computed == points(relation, count), text
    assert read[0] > 0.75 * 3 * amount(60, 1000)
    assert read[1] == 3 * amount(60, 1000)
    assert refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{ [i] -> [o0] : exists (e0 : 4e0 <= i <= 3 + 4e0 and o0 = i + 12e0) and 0 <= i < 16 }", "(_4,_4):(_1,_16)"),
        ("{ [i] -> [o0] : exists (e0 = floor((i)/4): o0 = i + 12e0) and 0 <= i < 16 }", "(_4,_4):(_1,_16)"),
        (
            "{ [i] -> [o0] : exists e0, e1: i = 4e0 + e1 and 0 <= e1 < 4 and o0 = 8e1 + e0 and 0 <= i < 32 }",
            "(_4,_8):(_8,_1)",
        ),
        ("{ [i] -> [o] : (i - o) mod 4 = 0 and 0 <= o <= 3 and 0 <= i <= 15 }", "(_4,_4):(_1,_0)"),
        ("{ [i, j] -> [o] : o = 8i + j and 0 <= i < 4 and 0 <= j < 8 and 0 <= o < 32 }", "(_4,_8):(_8,_1)"),
    ],
)
def test_exists(text, value):
    assert str(layout_of(text)) == value


def test_a_relation_says_why_it_is_no_function():
    for text, why in (
        ("{ [i] -> [o0] : 0 <= i < 4 and i <= o0 <= i + 1 }", "the value of 'o0' is no floor division"),
        ("{ [i] -> [o0] : 0 <= i < 4 and 2o0 = i }", r"no value at \(1,\)"),
        ("{ [i, j] -> [i] : 0 <= i < 4 and 0 <= j < 4 and j <= i }", r"no value at \(0, 1\)"),
    ):
        with pytest.raises(TlaError, match=why):
            layout_of(text)


def test_what_source_writes_is_read_back():
    rng = random.Random(13)
    for _ in range(60):
        shape = tuple(
            (rng.choice((2, 4)), rng.choice((2, 3))) if rng.random() < 0.5 else rng.choice((2, 3, 8))
            for _ in range(rng.randrange(1, 4))
        )
        stride = tuple(
            tuple(rng.choice((1, 2, 8, 24)) for _ in s) if isinstance(s, tuple) else rng.choice((1, 3, 16))
            for s in shape
        )
        layout = tla.static(tla.Layout(shape, stride))
        back = layout_of(source(layout, "isl"))
        assert parse(source(layout, "isl")) == back
        assert [back(i) for i in range(int(tla.size(layout)))] == [layout(i) for i in range(int(tla.size(layout)))]


@pytest.mark.parametrize(
    "text",
    [
        "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)",
        "Sw<3,3,3> o _0 o (_64,_64):(_64,_1)",
        "Sw<2,0,2> o _3 o (_4,_4):(_4,_1)",
        "Sw<1,0,2> o _0 o Sw<2,1,3> o _0 o (_8,_8):(_8,_1)",
    ],
)
def test_swizzles_come_back(text):
    """The bits of a swizzle are many operations: the values that were solved for are read, not the expression."""
    layout = parse(text)
    back = parse(source(layout, "isl"))
    assert all(back(i) == layout(i) for i in range(int(tla.size(layout))))


@pytest.mark.parametrize(
    ("ranges", "given"),
    [
        ("i < 4", "no beginning to 3"),
        ("-2 <= i < 4", "-2 to 3"),
        ("2 <= i < 4", "2 to 3"),
        ("0 <= i", "0 to no end"),
        ("0 <= i < 0 and i < 8", "0 to -1"),
        ("0 <= i and -2 <= i and i < -3 and i < 8", "0 to -4"),
    ],
)
def test_a_domain_that_is_no_box_from_0_on(ranges, given):
    with pytest.raises(TlaError, match=f"i from {given}"):
        layout_of(f"{{ [i] -> [i] : {ranges} }}")


def test_a_map_has_its_box():
    assert (
        str(layout_of("{ [i, j] -> [8i + 4*floor((j)/4) + (j mod 4)] : 0 <= i < 4 and j >= 0 and j <= 7 }"))
        == "(_4,_8):(_8,_1)"
    )
    assert str(layout_of("{ [a] -> [2*a + 5] : a >= 0 and 4 > a }")) == str(parse("Sw<0,0,0> o _5 o _4:_2"))
    # tuples may have names, which say nothing of numbers
    assert str(layout_of("{ S[i, j] -> A[8i + j] : 0 <= i < 4 and 0 <= j < 8 }")) == "(_4,_8):(_8,_1)"
    assert str(layout_of("{ [i] -> mem[2i] : 0 <= i < 4 }")) == "_4:_2"
    with pytest.raises(TlaError, match="a map with parameters"):
        layout_of("[N] -> { [i] -> [i] : 0 <= i < N }")


@pytest.mark.parametrize(
    "text",
    [
        "{ [i] -> [i, i] : 0 <= i < 4 }",
        "{ S[i, j] -> A[j, i] : 0 <= i < 4 and 0 <= j < 8 }",
        "{ [i] -> [i] : 1 <= i < 4 }",
        "{ [i] -> [i] }",
        "{ [i] -> [i] : 0 <= i < 4 and exists i : i = 2 }",
        "{ [i] -> [o0] : 0 <= i < 4 and i <= o0 <= i + 1 }",
        "{ [i] -> [o0] : 0 <= i < 4 and 2o0 = i }",
        "{ [i] -> [o0] : 0 <= i < 4 and i <= o0 }",
        "{ [i] -> [o0] : 0 <= i < 8 and o0 mod 4 = i mod 4 and 0 <= o0 <= 4 }",
        "{ [i] -> [i] : 0 <= i < 4 and exists (e : 2e = i) }",
        "{ [i] -> [o0] : 0 <= i < 100000 and o0 = i }",
        "{ [i] -> [e0] : 0 <= i < 4 and exists " + ", ".join(f"e{k + 1}" for k in range(500)) + ": e0 = i }",
        "{ [i] -> [e0] : 0 <= i < 4 and exists e60: e60 = i"
        + "".join(f" and exists e{k}: e{k} = e{k + 1} + floor(e{k + 1}/2)" for k in range(59, 29, -1))
        + " and e0 = e30 }",
        "{ [i, j] -> [i*j] : 0 <= i < 4 and 0 <= j < 4 }",
        "{ [i] -> [i] : exists " + "(e : exists " * 100 + "0 <= i < 4 }",
        "{ [i, j] -> [i] : 0 <= i < 4 }",
        "{ [i, j] -> [i] : 0 <= i < 4 and 0 <= j <= i }",
        "{ [i] -> [floor(i + 1/4)] : 0 <= i < 4 }",
        "{ [i] -> [i mod 0] : 0 <= i < 4 }",
        "{ [i] -> [i mod 3 mod 2] : 0 <= i < 4 }",
        "{ [i, i] -> [i] : 0 <= i < 4 }",
        "{ [i] -> [__import__('os')] : 0 <= i < 4 }",
        "{ [i] -> [i] : 0 <= i < 4 or i = 9 }",
        "{ [i] -> [i",
        "{ [",
    ],
)
def test_refused(text):
    with pytest.raises(TlaError):
        layout_of(text)
