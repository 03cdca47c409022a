"""Complements: what of them is static, what they cover, and what is refused."""

import pytest

import tla
from tla import DivisibilityError, InjectivityError, Int, LeafTypeError, RangeError, Unproven, dims, parse

import laws
from laws import plain


@pytest.mark.parametrize(
    ("layout", "cotarget", "result"),
    [
        ("_1:_0", "(8,_5)", "(8,_5):(_1,8)"),
        ("_1:_0", "(_8,5)", "(_8,5):(_1,_8)"),
        ("_1:_0", "((2,_8),_2)", "(2,_16):(_1,2)"),
        ("_1:_0", "(3,4)", "12:_1"),
        ("_1:_0", "1", "1:_1"),
        ("_1:_0", "_1", "_1:_0"),
        ("_4:_1", "(_8,5,_3,2)", "(_2,30):(_4,_8)"),
        ("_4:_1", "(_16,2)", "(_4,2):(_4,_16)"),
        ("_4:_1", "(8,_5)", "10:_4"),
        ("_4:_1", "_4", "_1:_0"),
        ("_4:_1", "_5", "_2:_4"),
        ("_4:_1", "_3", "_1:_0"),
        ("_4:_1", "4", "1:_4"),
        ("_4:_1", "None", "_1:_0"),
        ("_8:_2", "(_8,5)", "(_2,3):(_1,_16)"),
        ("_8:_2", "None", "_2:_1"),
        ("_8:_2", "_1", "_2:_1"),
        ("4:_2", "(_16,2)", "(_2,4):(_1,8)"),
        ("4:_2", "_8", "(_2,1):(_1,8)"),
        ("(_2,_2):(_1,_16)", "_32", "_8:_2"),
        ("(_2,_2):(_1,_16)", "_33", "(_8,_2):(_2,_32)"),
        ("(_1,_4):(_7,_1)", "_8", "_2:_4"),
        ("(_3,_4):(_0,_1)", "_8", "_2:_4"),
        ("(_2,_1,_3):(_4,_4,_8)", "_48", "(_4,_2):(_1,_24)"),
        ("_4:_2", "_24", "(_2,_3):(_1,_8)"),
        ("(4,_3):(_1,_0)", "_8", "2:4"),
        ("(_1,4):(_7,_1)", "_8", "2:4"),
        ("(_1,4):(7,_1)", "_8", "2:4"),
        ("(4,_2):(_2,_16)", "_64", "(_2,2,_2):(_1,8,_32)"),
        ("(_2,2):(_16,_2)", "_64", "(_2,4,_2):(_1,4,_32)"),
    ],
)
def test_complements_and_what_of_them_is_static(layout, cotarget, result):
    found = tla.complement(parse(layout), None if cotarget == "None" else parse(cotarget))
    assert str(found) == result
    if cotarget != "None":
        every = set(laws.function(plain(tla.MakeLayout(parse(layout), found))))
        assert every >= {*range(int(tla.product(parse(cotarget))))}


@pytest.mark.parametrize(
    ("layout", "cotarget", "error"),
    [
        ("_4:_2", "-1", RangeError),
        ("_4:_2", "_-7", RangeError),
        ("_1:_0", "(-1,3)", RangeError),
        ("_1:_0", "(3,-1)", RangeError),
        ("_4:_1", "(3,4)", DivisibilityError),
        ("(2,2):(1,2)", "_8", Unproven),
        ("(_2,2):(_1,2)", "_8", Unproven),
        ("(_4,_2):(_1,_3)", "_8", InjectivityError),
        ("(_4,2):(_1,_3)", "_8", InjectivityError),
        ("_4:_-1", "_8", RangeError),
        ("(_0,_2):(_3,_1)", "_8", RangeError),
        ("(0):(_3)", "_8", RangeError),
        ("(_2,_2):(1@0,_1)", "_8", LeafTypeError),
    ],
)
def test_complements_that_are_refused(layout, cotarget, error):
    with pytest.raises(error, match="complement"):
        tla.complement(parse(layout), parse(cotarget))


def test_up_to_nothing_there_is_nothing_to_cover():
    for layout in ("_4:_1", "_4:_2", "(_4,_2):(_2,_16)", "4:_2"):
        found = [tla.complement(parse(layout), n) for n in (0, Int[0](), (Int[0](),))]
        assert found[0] == found[1] == found[2]
        assert tla.size(found[0]) == 0


M, N = dims("M N")


@pytest.mark.parametrize(
    ("layout", "cotarget", "result"),
    [
        ("_4:_1", "(4*M,N)", "M*N:_4"),
        ("_1:_0", "(M,4)", "4*M:_1"),
        ("_1:_0", "(_4,M,3)", "12*M:_1"),
        ("_4:_1", "4*M", "M:_4"),
        ("_4:_1", "M", "ceil(M/4):_4"),
        ("M:_1", "(M,N)", "N:M"),
        ("(_4,M):(_1,_4)", "8*M", "_2:4*M"),
        ("_4:M", "(M,8)", "(M,_2):(_1,4*M)"),
    ],
)
def test_complements_up_to_sizes_are_one_mode(layout, cotarget, result):
    a, n = (parse(x, symbols=[M, N]) for x in (layout, cotarget))
    found = tla.complement(a, n)
    assert str(found) == result
    for sizes in ({"M": 1, "N": 3}, {"M": 2, "N": 1}, {"M": 6, "N": 2}):
        pair, whole = plain(tla.at(a, sizes)), int(tla.at(tla.product(n), sizes))
        laws.complements(pair, plain(tla.at(found, sizes)), whole)
