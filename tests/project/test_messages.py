"""What the errors say: what was given, what was expected, how to fix it. Where a fix is a recipe, it is tried."""

import itertools
import re

import pytest

import tla
from tla import (
    DivisibilityError,
    Int,
    MakeLayout,
    MakeLayoutTile,
    RankError,
    Reason,
    TlaError,
    compose,
    composition,
    dim,
    parse,
    xla,
)

from messages import message


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (
            lambda: MakeLayout((4, 2), (1,)),
            "Layout: (4,2) has 2 modes and (1) has 1\n  expected  the same nesting\n  fix       give each mode its "
            "counterpart",
        ),
        (
            lambda: MakeLayout((-4, 2), (1, 4)),
            "Layout: extent -4 in (-4,2)\n  expected  extents of 0 or more\n  fix       use 4, or a negative stride",
        ),
        (
            lambda: MakeLayout((4, 2.0), (1, 4)),
            "2.0 is of type float\n  expected  an integer: int, Int[N](), a numpy integer\n  fix       convert it with "
            "int() if that is meant",
        ),
        (lambda: MakeLayout((4, True), (1, 4)), "True is a bool\n  expected  an integer\n  fix       write 1"),
        (lambda: MakeLayout((4, Int[2])), "Int[2] is a type\n  expected  its value\n  fix       write Int[2]()"),
        (
            lambda: parse("(4,2):(1,4)")(1, 2, 3),
            "coordinate (1,2,3) has 3 modes and the shape (4,2) has 2\n  expected  2 of them, or one integer for all\n "
            " fix       give one coordinate per mode",
        ),
        (
            lambda: MakeLayoutTile(parse("(4,2):(1,4)"), (4, 2, 1)),
            "tile (4,2,1) of (4,2):(1,4)\n  expected  extents like (4,2): one integer per top-level mode\n  fix       "
            "give the size of the tile in each mode",
        ),
        (
            lambda: tla.shape_div(4, 6),
            "shape_div: 4 and 6: neither divides the other\n  expected  4 % 6 == 0 or 6 % 4 == 0\n  fix       use 2 "
            "for 6",
        ),
        (
            lambda: parse("(_4,2:(1,4)"),
            "unexpected ':', at position 5\n    (_4,2:(1,4)\n         ^\n  expected  ',' or ')'\n  fix       close the "
            "'(' at position 0",
        ),
        (
            lambda: xla.plan("f32[6,10]{1,0:T(3,5)(2,2)}"),
            "f32[6,10]{1,0:T(3,5)(2,2)}: the 2 of tile 1 does not divide the 3 that tile 0 leaves of dimension 0\n"
            "  expected  a tile that divides the tile before it, for one plan\n"
            "  fix       use xla.lower, which composes several plans",
        ),
        (
            lambda: xla.parse_shape("float32[3]"),
            "element type 'float32' is not known, at position 0\n    float32[3]\n    ^\n  expected  an XLA name such "
            "as f32, bf16, s8, pred\n  fix       write f32",
        ),
    ],
)
def test_the_text(f, text):
    assert message(f) == text


def test_the_fixes_work():
    assert MakeLayout((4, 2), (-1, 4)).stride == (-1, 4)
    assert MakeLayout((4, 1), (1, 4)).shape == (4, 1)
    assert MakeLayout((4, Int[2]())).shape == (4, 2)
    assert tla.shape_div(4, 2) == 2
    assert xla.lower("f32[6,10]{1,0:T(3,5)(2,2)}")(5, 9) == 92
    pieces = [
        xla.lower("f32[5,256]{1,0:T(8,128)}"),
        xla.lower("f32[5,44]{1,0:T(8,128)}"),
    ]  # of f32[5,300]{1,0:T(8,128)SC(1:256)}
    assert [p.origin_shape for p in pieces] == [(5, 256), (5, 44)]


def test_a_reason_is_a_value():
    why = tla.core.profiles.why_not_congruent((4, 2), (1,))
    assert why == Reason("(4,2) has 2 modes and (1) has 1", "the same nesting", "give each mode its counterpart")
    assert tla.core.profiles.why_not_congruent((4, 2), (1, 1)) is None
    with pytest.raises(TlaError) as caught:
        MakeLayout((4, 2), (1,))
    assert caught.value.reason == why._replace(what=f"Layout: {why.what}")


def test_long_values_are_cut():
    long = tuple(range(1, 200))
    assert len(message(lambda: MakeLayout(long, (1,)))) < 400


def test_the_fixes_of_composition_work():
    """Every stride and every extent that the error names, on all small pairs of an outer layout of two modes and an
    inner one of one."""
    tried = 0
    for (m, n), d, (s, x) in itertools.product(
        itertools.product(range(1, 9), range(2, 5)), (7, 64), itertools.product(range(2, 5), range(1, 12))
    ):
        a, b = parse(f"(_{m},_{n}):(_1,_{d})"), parse(f"_{s}:_{x}")
        try:
            composition(a, b)
        except DivisibilityError as error:
            fix = error.reason.fix
            if fix.startswith("use compose"):
                assert all(compose(a, b)(i) == a(b(i)) for i in range(s))
                continue
            (extent, mode) = (int(k) for k in re.search(r"extent (\d+) \(mode (\d)", error.reason.what).groups())
            strides, pad = re.search(r"use stride ([\d or]+)", fix), re.search(r"pad that mode to (\d+)", fix)
            for stride in re.findall(r"\d+", strides[1]) if strides else ():
                assert composition(a, parse(f"_{s}:_{stride}"))
                tried += 1
            if pad:
                assert (m, n)[mode] == extent
                padded = (pad[1], n) if mode == 0 else (m, pad[1])
                assert composition(parse(f"(_{padded[0]},_{padded[1]}):(_1,_{d})"), b)
                tried += 1
    assert tried > 100


def test_the_error_of_composition_names_stride_extent_and_numbers_that_do():
    with pytest.raises(DivisibilityError) as caught:
        composition(parse("(_6,_2):(_1,_7)"), parse("_4:_4"))
    assert str(caught.value) == (
        "composition: (_6,_2):(_1,_7) o _4:_4: stride 4 does not step evenly through extent 6 (mode 0 of "
        "(_6,_2):(_1,_7))\n"
        "  expected  6 % 4 == 0 or 4 % 6 == 0\n"
        "  fix       use stride 3 or 6, or pad that mode to 8"
    )


def test_the_error_of_composition_names_modes_as_they_are_merged():
    for text, where in [("((_2,_3),_2):((_1,_2),_7)", "(_6,_2):(_1,_7)"), ("(_6,_1,_2):(_1,_9,_7)", "(_6,_2):(_1,_7)")]:
        with pytest.raises(DivisibilityError) as caught:
            composition(parse(text), parse("_4:_4"))
        assert str(caught.value).startswith(
            f"composition: {text} o _4:_4: stride 4 does not step evenly through extent 6 (mode 0 of {where})\n"
        )


def test_the_fixes_of_sizes_and_modes_work():
    M, N = dim("M"), dim("N", at_least=2)
    with pytest.raises(RankError, match="its rank is 2: use one of these"):
        tla.get[2]((4, 2))
    for question in (tla.compatible, tla.weakly_compatible):
        why = question.why_not(7, (4, 2))
        assert why.fix == "use 8 for 7"
        assert question(8, (4, 2))
    assert tla.safe_div(tla.round_up(M, N), N) == -(-M // N)
    with pytest.raises(TlaError, match="use xla"):
        xla.plan("f32[6,10]{1,0:T(3,5)(2,2)}")
    assert xla.lower("f32[6,10]{1,0:T(3,5)(2,2)}")
