"""PyCuTe's own tests (NVlabs/CuTe, test/*.py) of strides over F2 and of tuples, on tla: each layout of a statement with
what it has to meet there. What is refused here is in REFUSED, and in docs/compat.md with the reason.
"""

import functools
import itertools
import math
import operator

import pytest

import tla
from tla import Swizzle, TlaError, static
from tla.linear import from_xor_strides, linear, radix, to_xor_strides

EXTENTS = "powers of two: only these are bits"
COALESCED = {
    "1:F0": "1:F0", "1:F7": "1:F0", "(1,1):(F5,F7)": "1:F0", "8:F1": "8:F1", "(2,4):(F1,F2)": "8:F1", "(4,2):(F1,F4)": "8:F1",
    "(2,2,2,2):(F1,F2,F4,F8)": "16:F1", "(4,4):(F1,F4)": "16:F1", "(4,4):(F3,F12)": "16:F3", "(2,1,2):(F1,F7,F2)": "4:F1",
}  # fmt: skip
#: Ten statements of coalesce, six of them of coalesce_z besides.
REFUSED = [
    "(3,3):(F1,F3)", "(3,4):(F1,F3)", "(5,3):(F1,F5)", "(6,5):(F1,F6)", "(3,4):(F2,F6)", "(2,2,3):(F1,F2,F4)", "(3,2,2):(F1,F3,F6)",
    "((2,2),(3,2)):((F1,F2),(F4,F12))", "(3,1,3):(F1,F7,F3)", "(4,(4,3)):(F1,(F5,F16))",
]  # fmt: skip
RIGHT = "8:F0 8:F1 (4,8):(F1,F4) (4,8):(F1,0) (4,8):(0,F1) (4,4):(F1,F1) (8,8):(F1,F9) (8,8):(F9,F1) (4,4):(F1,F5) (8,8):(F1,F13)".split()
LEFT = "8:F1 (4,8):(F1,F4) 8:F2 (8,8):(F1,F9) (4,4):(F1,F5)".split()  # PyCuTe refuses the last three on purpose


def carryless(a, b):
    """The product over F2."""
    return functools.reduce(operator.xor, (a << k for k in range(b.bit_length()) if b >> k & 1), 0)


def values(text):
    """The definition: of each index the xor of each digit times its stride, without carries."""
    extents, strides = ([int(x.strip("()F")) for x in part.split(",")] for part in text.split(":"))
    found = []
    for i in range(math.prod(extents)):
        total = 0
        for n, d in zip(extents, strides):
            total, i = total ^ carryless(d, i % n), i // n
        found.append(total)
    return found


def at(layout, count):
    (name,), (out,) = layout.in_sizes, layout.out_sizes
    return [layout.apply({name: i})[out] for i in range(count)]


@pytest.mark.parametrize(("text", "wanted"), COALESCED.items())
def test_coalesce(text, wanted):
    found = from_xor_strides(text, ["i"])
    assert to_xor_strides(found) == wanted
    assert at(radix(found), len(values(text))) == values(text) == values(wanted)


@pytest.mark.parametrize("text", REFUSED)
def test_extents_that_are_no_powers_of_two_are_refused(text):
    with pytest.raises(TlaError, match=EXTENTS):
        from_xor_strides(text)


@pytest.mark.parametrize("text", RIGHT)
def test_right_inverse(text):
    """Of a layout that reaches every offset; of (8,8):(F1,F13) it is of 64 offsets, PyCuTe's of 8."""
    there, layout = values(text), radix(from_xor_strides(text, ["i"]))
    back = layout.right_inverse()
    size = max(there) + 1
    assert [there[i] for i in at(back, size)] == [*range(size)]


@pytest.mark.parametrize("text", ["8:F2", "8:F3"])
def test_right_inverse_of_what_does_not_reach_every_offset(text):
    with pytest.raises(TlaError, match="a layout that reaches every output"):
        radix(from_xor_strides(text, ["i"])).right_inverse()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("(8,8):(F1,F9)", "(8,8):(F1,F9)"), ("(4,4):(F1,F5)", "(4,4):(F1,F5)"), ("(8,8):(F9,F1)", "(8,8):(F8,F9)")],
)
def test_right_inverse_of_a_swizzle(text, wanted):
    size = len(values(text))
    assert at(radix(from_xor_strides(text, ["i"])).invert(), size) == values(wanted)


@pytest.mark.parametrize("text", LEFT)
def test_left_inverse(text):
    back = radix(from_xor_strides(text, ["i"])).left_inverse()
    assert [at(back, max(values(text)) + 1)[x] for x in values(text)] == [*range(len(values(text)))]


def test_swizzles():
    assert [Swizzle[2, 0, 2]()(i) for i in range(16)] == [0, 1, 2, 3, 5, 4, 7, 6, 10, 11, 8, 9, 15, 14, 13, 12]
    assert [Swizzle[0, 0, 0]()(i) for i in range(32)] == [*range(32)]
    for swizzle in (Swizzle[0, 0, 0](), Swizzle[1, 0, 1](), Swizzle[2, 0, 2](), Swizzle[2, 3, 3](), Swizzle[3, 0, 3]()):
        assert [swizzle(swizzle(i)) for i in range(64)] == [*range(64)]
    for bits, base, shift in ((-1, 0, 0), (0, -1, 0), (2, 0, -1)):
        with pytest.raises(ValueError, match="expected"):
            Swizzle[bits, base, shift]()
    found = from_xor_strides("(4,8):(F1,F8)")
    for i, j in itertools.product(range(4), range(8)):
        assert found.apply({"dim0": i, "dim1": j}) == {"offset": i ^ 8 * j}
    assert to_xor_strides(linear(tla.parse("Sw<3,0,3> o 0 o (8,8):(1,8)"))) == "(8,8):(F1,F9)"


TUPLES = [
    (tla.product, (2,), 2), (tla.product, ((3, 2),), 6), (tla.product, (((2, 3), 4),), 24),
    (tla.product_each, ((2, 3),), (2, 3)), (tla.product_each, ((2, 3, 4),), (2, 3, 4)), (tla.product_each, (((2, 3), 4),), (6, 4)),
    (tla.product_each, (((2, (3, 4)), (5, 6), 7),), (24, 30, 7)),
    (tla.inner_product, (2, 3), 6), (tla.inner_product, ((1, 2), (3, 2)), 7), (tla.inner_product, (((2, 3), 4), ((2, 1), 2)), 15),
    (tla.idx2crd, (7, 14), 7), (tla.idx2crd, (7, (3, 2, 4)), (1, 0, 1)), (tla.idx2crd, (7, (3, (2, 4))), (1, (0, 1))),
    (tla.idx2crd, (7, ((3, 2), 4)), ((1, 0), 1)), (tla.idx2crd, (42, (3, 7, 2)), (0, 0, 2)), (tla.idx2crd, (42, (3, 7, 2, 1)), (0, 0, 0, 1)),
    (tla.idx2crd, (42, (3, 7, (2, 1))), (0, 0, (0, 1))),
    (tla.get[0, 2, 3], (((0, 0, (0, 0, 0, 42)),),), 42), (tla.get[1, 1, 0], ((1, (2, (3, 4))),), 3),
    (tla.select[0, 2], ((1, 2, 3, 4),), (1, 3)), (tla.select[2], ((1, 2, 3, 4),), (3,)), (tla.select[0, 1, 3], ((1, 2, 3, 4),), (1, 2, 4)),
    (tla.take[1, 3], ((1, 2, 3, 4),), (2, 3)), (tla.take[0, 4], ((1, 2, 3, 4),), (1, 2, 3, 4)),
    (tla.take[1, 1], ((1, 2, 3, 4),), ()),
    (tla.flatten, (((1, (2, 3)), 4),), (1, 2, 3, 4)), (tla.unflatten, ((10, 20, 30, 40), ((1, (2, 3)), 4)), ((10, (20, 30)), 40)),
    (tla.rank, (((2, 3), 4),), 2), (tla.rank[0], (((2, 3), 4),), 2), (tla.rank[1], (((2, 3), 4),), 1), (tla.depth, (((2, 3), 4),), 2),
    (tla.depth[0], (((2, 3), 4),), 1), (tla.depth[1], (((2, 3), 4),), 0), (tla.size, (((2, 3), 4),), 24), (tla.size[0], (((2, 3), 4),), 6),
    (tla.size[0, 1], (((2, 3), 4),), 3),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "given", "wanted"), TUPLES, ids=lambda x: getattr(x, "__name__", str(x)[:30]))
def test_tuples(operation, given, wanted):
    assert operation(*given) == wanted


def test_coordinates_of_indices():
    shape = ((2, 3), (2, 1, 2))
    for i in range(7 * 24):
        assert tla.crd2idx(tla.idx2crd(i, shape), shape) == tla.crd2idx(i, shape) == i


def test_parts_of_layouts():
    with static():
        a = tla.make_layout((2, 3, 5, 7), (1, 2, 6, 30))
        assert tla.select[1, 3](a) == tla.make_layout((3, 7), (2, 30))
        assert tla.select[0, 1, 3](a) == tla.make_layout((2, 3, 7), (1, 2, 30))
        assert tla.take[1, 3](a) == tla.make_layout((3, 5), (2, 6))
        nested = tla.make_layout(((2, 3), 4), ((4, 8), 1))
        assert [tla.shape[0](nested), tla.shape[0, 1](nested), tla.shape[1](nested)] == [(2, 3), 3, 4]
    with pytest.raises(ValueError, match="expected"):
        tla.take[3, 1]((1, 2, 3, 4))
