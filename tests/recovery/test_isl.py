"""Maps of isl read by layout_of: as isl itself enumerates them, and as `source` writes them."""

import itertools
import random

import pytest

import tla
from tla import TlaError, layout_of, parse
from tla.codegen import source
from tla.recovery.isl import read_isl


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
        assert [back(i) for i in range(int(tla.size(layout)))] == [layout(i) for i in range(int(tla.size(layout)))]


def test_a_map_has_its_box():
    assert (
        str(layout_of("{ [i, j] -> [8i + 4*floor((j)/4) + (j mod 4)] : 0 <= i < 4 and j >= 0 and j <= 7 }"))
        == "(_4,_8):(_8,_1)"
    )
    assert str(layout_of("{ [a] -> [2*a + 5] : a >= 0 and 4 > a }")) == str(parse("Sw<0,0,0> o _5 o _4:_2"))


@pytest.mark.parametrize(
    "text",
    [
        "{ [i] -> [i, i] : 0 <= i < 4 }",
        "{ [i] -> [i] : 1 <= i < 4 }",
        "{ [i] -> [i] }",
        "{ [i] -> [o0] : 0 <= i < 4 and exists o0 : o0 = i }",
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
