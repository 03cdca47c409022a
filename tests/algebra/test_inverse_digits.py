"""The search for digits where no one order of strides is the answer: by hand, and along modes of stride 0."""

import pytest

import tla
from tla import parse

import oracle


@pytest.mark.parametrize(
    ("a", "b", "r"),
    [
        # all steps of the first mode, which only b sees: 4 - 3 = 1
        ("(_4,_512):(_0,_1)", "(_4,_512):(_-1,_4)", "_2:_7"),
        ("(_4,_8):(_0,_1)", "(_4,_8):(_-1,_4)", "_2:_7"),
        ("(_3,_512):(_0,_1)", "(_3,_512):(_-1,_4)", "_1:_0"),
        ("(_5,_512):(_0,_1)", "(_5,_512):(_-1,_5)", "_2:_9"),
    ],
)
def test_what_is_common_along_a_mode_of_stride_0(a, b, r):
    a, b = parse(a), parse(b)
    for x, y in ((a, b), (b, a)):
        found = tla.max_common_layout(x, y)
        assert str(found) == r
        assert (
            [a(found(i)) for i in range(int(tla.size(found)))]
            == [b(found(i)) for i in range(int(tla.size(found)))]
            == [*range(int(tla.size(found)))]
        )


@pytest.mark.parametrize(
    "text",
    [
        "(_4,_3):(_1,_2)",
        "(_4,_3,_256):(_1,_2,_0)",  # more than 1,024 coordinates: along the modes
        "(_256,_4,_3):(_0,_1,_2)",
        "(_4,_3,_256):(_1,_2,_-1)",
        "(_1024,_3):(_1,_512)",
        "(_512,_3,_2):(_1,_256,_-1)",
        "(_2048,_2):(_-1,_2047)",
        "(_2,_2048):(_-1,_2)",
        "(_3,_512):(_-2,_3)",
    ],
)
def test_right_inverses_of_strides_that_overlap_are_the_largest(text):
    a = parse(text)
    r = tla.right_inverse(a)
    assert [a(r(i)) for i in range(int(tla.size(r)))] == [*range(int(tla.size(r)))]
    assert tla.size(r) == oracle.largest_inverse(oracle.image(oracle.plain(a.shape), oracle.plain(a.stride)))
