"""Coordinates to offsets and back: of each kind of coordinate the same, or refused where its dtype would wrap."""

import itertools

import numpy as np
import pytest

import tla
from tla import Int, RangeError, RankError, crd2crd, crd2idx, crd2offset, idx2crd, parse
from tla.core.conversions import ends_empty, offset_range

import oracle
from corpus import small_shapes, static

SHAPES = [*small_shapes()][::61]
LAYOUTS = [
    (s, oracle.nest(s, itertools.cycle(d)))
    for k, s in enumerate(SHAPES)
    for d in [[(1, -2, 5), (0, 3, 1), (7, 2, 0)][k % 3]]
]


class Traced:
    """An integer that computes in its dtype and shows its value to nobody else: a tracer."""

    def __init__(self, value, dtype="int32"):
        self.value, self._dtype, self.done = value, dtype, []

    @property
    def dtype(self):
        return self._dtype


def _traced(name):
    def forward(a, b):
        return _noted(name, a, b, getattr(int, f"__{name}__")(a.value, getattr(b, "value", b)))

    def backward(a, b):
        return _noted(name, a, b, getattr(int, f"__{name}__")(b, a.value))

    return forward, backward


def _noted(name, a, b, value):
    assert not isinstance(b, Int)  # it meets plain integers
    new = Traced(value, a.dtype)
    new.done = [*a.done, *getattr(b, "done", []), name]
    return new


for _op in ("add", "mul", "floordiv", "mod", "rshift", "and"):
    _forward, _backward = _traced(_op)
    setattr(Traced, f"__{_op}__", _forward)
    setattr(Traced, f"__r{_op}__", _backward)


def value(x):
    return tuple(map(value, x)) if isinstance(x, tuple) else getattr(x, "value", x)


def with_kind(coord, kind):
    return tuple(with_kind(c, kind) for c in coord) if isinstance(coord, tuple) else kind(coord)


@pytest.mark.parametrize("kind", [int, lambda n: Int[n](), np.int64, np.array, lambda n: np.array([n, n]), Traced])
def test_offsets_of_every_kind_of_coordinate(kind):
    for shape, stride in LAYOUTS:
        for k, coord in [*enumerate(oracle.coordinates(shape))][:: max(1, oracle.size(shape) // 5)]:
            for x in (coord, k):
                wanted = oracle.offset(x, shape, stride)
                for s, d in ((shape, stride), (static(shape), static(stride))):
                    found = crd2offset(with_kind(x, kind), s, d)
                    found = found if isinstance(found, Traced) else np.ravel(found)[0]
                    assert value(found) == wanted, (x, s, d)
                    if isinstance(shape, tuple):
                        assert np.ravel(value(tla.Layout(s, d)(with_kind(x, kind))))[0] == wanted


@pytest.mark.parametrize("kind", [int, lambda n: Int[n](), np.array, Traced])
def test_indices_and_back(kind):
    for shape in SHAPES:
        stride = oracle.compact(shape)
        for k, coord in [*enumerate(oracle.coordinates(shape))][:: max(1, oracle.size(shape) // 5)]:
            for s in (shape, static(shape)):
                assert value(crd2idx(with_kind(coord, kind), s)) == k
                assert value(idx2crd(kind(k), s)) == coord
                assert value(idx2crd(with_kind(coord, kind), s)) == coord
                assert value(crd2crd(with_kind(coord, kind), s, s)) == coord
                assert value(crd2crd(kind(k), oracle.size(shape), s)) == coord
                ones = [n != 1 for n in oracle.leaves(shape)]
                if all(ones):
                    assert value(idx2crd(kind(k), s, stride)) == coord
                    assert value(idx2crd(kind(k), s, static(stride))) == coord
        if isinstance(shape, tuple):
            last = oracle.size(shape) + 5  # the last mode has no bound
            assert oracle.offset(idx2crd(last, shape), shape, stride) == oracle.offset(last, shape, stride)


def test_what_is_static_stays_so():
    assert str(idx2crd(Int[11](), (Int[4](), Int[3]()))) == "(_3,_2)"
    assert str(idx2crd(11, (Int[4](), Int[1](), 3))) == "(3,_0,2)"
    assert str(idx2crd(11, (Int[1](), 12), (Int[1](), Int[1]()))) == "(_0,11)"
    assert str(crd2idx((Int[1](), 2), (Int[4](), 3))) == "9"
    assert tla.is_static(crd2idx((Int[1](), Int[2]()), (Int[4](), 3)))
    assert str(crd2offset((3, 5), (4, 8), (Int[0](), Int[0]()))) == "_0"
    assert str(crd2offset(0, (4, 8), (1, 4))) == "0"


def test_powers_of_two_are_shifts_and_masks_of_what_is_traced():
    x = Traced(45)
    row, column = idx2crd(x, (Int[8](), 5))
    assert (row.done, column.done) == (["and"], ["rshift"])
    row, column = idx2crd(x, (6, 5))
    assert (row.done, column.done) == (["mod"], ["floordiv"])
    odd = Traced(45, "")  # of no dtype
    assert [c.done for c in idx2crd(odd, (8, 5))] == [["mod"], ["floordiv"]]
    assert idx2crd(x, (2, 9))[0].done == ["and"]
    assert idx2crd(x, (Int[1](), 9))[1].done == []
    assert parse("(_4,_8):(_1,_4)")(x).done == []  # one mode of stride 1
    assert parse("(_4,_8):(_0,_1)")(x).done == ["rshift"]
    assert parse("(_4,_8):(_8,_1)")(x).done == ["and", "mul", "rshift", "add"]


DTYPES = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-(2**15), 2**15 - 1)}


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_has_to_hold_every_sum_inside_of_the_shape(dtype):
    low, high = DTYPES[dtype]
    for text in ("_100:_1", "_128:_1", "_129:_1", "_256:_1", "_257:_1", "_2:_127", "_2:_128", "_2:_255", "_2:_256", "_2:_-1", "_2:_-128",
                 "_2:_-129", "(_2,_2):(_100,_27)", "(_2,_2):(_100,_28)", "(_2,_2):(_200,_-100)", "(_2,_2):(_100,_-128)", "(_300,_2):(_0,_1)",
                 "(_2,_300):(_1,_0)", "_32768:_1", "_32769:_1"):  # fmt: skip
        layout = parse(text)
        extents, strides = [*oracle.leaves(oracle.plain(layout.shape))], [*oracle.leaves(oracle.plain(layout.stride))]
        ends = [(max(s - 1, 0) * d) for s, d in zip(extents, strides)]
        assert offset_range(layout.shape, layout.stride) == (
            sum(e for e in ends if e < 0),
            sum(e for e in ends if e > 0),
        )
        for traced in itertools.product((True, False), repeat=len(extents)):
            if not any(traced):
                continue
            coord = tuple(Traced(1, dtype) if t else 1 for t in traced)
            places = [s - 1 for s, t in zip(extents, traced) if t]
            fits = (
                low <= min(0, sum(e for e in ends if e < 0)) and max(0, *places, sum(e for e in ends if e > 0)) <= high
            )
            if fits:
                assert value(layout(*coord)) == sum(strides)
            else:
                with pytest.raises(RangeError, match="wider dtype"):
                    layout(*coord)
        if len(extents) > 1:  # an index reaches as far as the size
            whole = max(oracle.size(tuple(extents)) - 1, 0)
            fits = low <= min(0, sum(e for e in ends if e < 0)) and max(whole, sum(e for e in ends if e > 0)) <= high
            if not fits:
                with pytest.raises(RangeError, match="wider dtype"):
                    layout(Traced(1, dtype))
            else:
                assert value(layout(Traced(1, dtype))) == oracle.offset(1, tuple(extents), tuple(strides))


def test_what_is_not_known_is_no_range():
    M = tla.dim("M")
    for shape, stride in (((M, 4), (1, 4)), ((4, 4), (1, M)), ((4, 4), (M, 1))):
        assert offset_range(shape, stride) is None
    assert tla.Layout((4, M), (1, 4))(Traced(1, "int8"), 0).value == 1
    assert tla.Layout((M, 4), (1, 4))(Traced(1, "int8"), 0).value == 1
    assert offset_range((4, 3), (tla.E[0], -2 * tla.E[1])) == (-4, 3)
    assert offset_range((4, 3, 2), (tla.E[0], 5 * tla.E[1], 7 * tla.E[0])) == (0, 10)
    assert offset_range((), ()) == (0, 0)


def test_the_last_leaf_of_a_shape():
    for shape, empty in (
        (4, False),
        ((4, 2), False),
        ((), True),
        ((4, ()), True),
        (((), 4), False),
        ((4, (2, ())), True),
        ((4, ((), 2)), False),
    ):
        assert ends_empty(shape) is empty
    for layout in (parse("(4,()):(1,())"), parse("(_4,(_2,())):(_1,(_8,()))"), parse("((),_4):((),_3)")):
        flat = [*zip(oracle.leaves(oracle.plain(layout.shape)), oracle.leaves(oracle.plain(layout.stride)))]
        for x in range(20):
            inside = x if str(layout) == "((),_4):((),_3)" else x % oracle.size(oracle.plain(layout.shape))
            assert layout(x) == value(layout(Traced(x))) == oracle.at(inside, *zip(*flat))


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (lambda: crd2offset((1, 2), 4, 1), RankError),
        (lambda: crd2offset((1, 2), (4,), (1,)), RankError),
        (lambda: crd2offset((1, 2, 3), (4, 5), (1, 4)), RankError),
        (lambda: crd2offset(((1, 2), 3), (4, 5), (1, 4)), RankError),
        (lambda: crd2idx((1, (2, 3)), (4, 5)), RankError),
        (lambda: idx2crd((1, 2), 4), RankError),
        (lambda: idx2crd((1, 2), 4, 1), RankError),
        (lambda: idx2crd((1, 2, 3), (4, 5), (1, 4)), RankError),
        (lambda: crd2crd((1, 2), (4, 5), (4, 5, 6)), RankError),
        (lambda: crd2crd((1, 2, 3), (4, 5), (4, 5)), RankError),
        (lambda: crd2crd((1, 2), (4, 5, 6), (4, 5)), RankError),
        (lambda: idx2crd(3, (4, 0), (1, 4)), RangeError),
        (lambda: idx2crd(3, (4, 2), (0, 4)), RangeError),
        (lambda: idx2crd(3, (0, 2)), RangeError),
        (lambda: parse("(_0,_4):(_3,_0)")(3), RangeError),
        (lambda: parse("(_0,_4):(_3,_1)")(3), RangeError),
        (lambda: parse("(0,4):(3,0)")(3), RangeError),
    ],
)
def test_refused(f, error):
    with pytest.raises(error):
        f()


def test_coordinates_that_layouts_give_are_those_of_a_shape():
    """Basis elements, sums of them and values of layouts: 0 in the modes that they do not name."""
    shape, strides = (3, (2, 2)), (tla.E[0], (tla.E[1, 0], tla.E[1, 1]))
    layout = tla.make_layout(shape, strides)
    for i, (a, b, c) in enumerate((a, b, c) for c in range(2) for b in range(2) for a in range(3)):
        for coord in (layout(i), tla.E[0] * a + tla.E[1, 0] * b + tla.E[1, 1] * c):
            if not isinstance(coord, int):  # the sum of nothing is 0
                assert crd2idx(coord, shape) == i
                assert crd2crd(coord, shape, 12) == i
                assert tuple(idx2crd(coord, shape)) == (a, (b, c))
    for wrong in (tla.E[2], tla.E[0, 0], tla.E[0] + tla.E[3]):
        for f in (crd2idx, idx2crd):
            with pytest.raises(RankError, match="modes that the shape has"):
                f(wrong, shape)
