"""emit_guard: the text is run, and says of every coordinate whether it is below origin_shape."""

import inspect
import itertools

import numpy as np
import pytest

from tla import (
    ArithmeticTuple,
    GetTile,
    Layout,
    LeafTypeError,
    MakeLayout,
    MakeTensor,
    RankError,
    Swizzle,
    at,
    composition,
    dims,
    make_tensor,
    parse,
    xla,
)
from tla.ascend import half, zN
from tla.codegen import emit_guard, plan
from tla.codegen.expressions.signature import arguments_of
from tla.core.int_tuple import product_each

M, N = dims("M N")
LAYOUTS = [
    MakeLayout[half, zN](M, N),
    xla.lower("bf16[M,N]{1,0:T(8,128)(2,1)}", M=M, N=N),
    at(MakeLayout[half, zN](M, N), M=20),
    composition(Swizzle[1, 0, 1](), MakeLayout((M, 8))),
]


def compiled(text):
    scope = {}
    exec(text, scope)
    return scope["is_valid"]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
@pytest.mark.parametrize("target", ["python", "numpy"])
def test_it_says_what_is_below_origin_shape(layout, target):
    text = emit_guard(layout, target)
    valid = compiled(text)
    for m, n in [(1, 1), (16, 128), (17, 130), (20, 5)]:
        known = at(layout, {"M": m, "N": n})
        values = {"M": m, "N": n, **{f"valid_{k}": int(v) for k, v in enumerate(known.origin_shape)}}
        sizes = [values[name] for name in inspect.signature(valid).parameters if name in values]
        extents = [int(s) for s in product_each(known.shape)]
        for c in itertools.product(
            *(sorted({0, 1, v - 1, v, e - 1} & {*range(e)}) for v, e in zip(map(int, known.origin_shape), extents))
        ):
            assert bool(valid(*c, *sizes)) == all(i < v for i, v in zip(c, known.origin_shape)), (str(known), c)


def test_nested_names_and_one_name_for_all():
    layout = parse("((_4,_3),_5):((_1,_4),_12)", origin_shape=(10, 4))
    nested, one = compiled(emit_guard(layout, "python", "(i0,i1),j")), compiled(emit_guard(layout, "python", "x"))
    for j, i1, i0 in itertools.product(range(5), range(3), range(4)):
        truth = i0 + 4 * i1 < 10 and j < 4
        values = [10, 4]
        assert nested(i0, i1, j, *values) == truth
        assert one(i0 + 4 * i1 + 12 * j, *values) == truth


def test_a_tile_has_its_own_end():
    tile = GetTile(MakeTensor(None, parse("(_20,_30):(_30,_1)")), (16, 10), (8, 16))
    text = emit_guard(tile, "python")
    valid = compiled(text)
    values = [int(n) for n in tile.origin_shape if type(n) is int]
    truth = [[i < 4 for j in range(16)] for i in range(8)]
    assert [[valid(i, j, *values) for j in range(16)] for i in range(8)] == truth


def test_what_has_no_padding_is_not_asked():
    assert "return True" in emit_guard(parse("(_4,_5):(_5,_1)"), "python")
    assert "return true" in emit_guard(parse("(_4,_5):(_5,_1)"), "cpp")
    assert np.all(compiled(emit_guard(parse("_4:_1"), "numpy"))(np.arange(4)))


def test_dynamic_ends_are_parameters():
    text = emit_guard(MakeLayout[half, zN](100, 60), "c")
    assert "return i < valid_0 && j < valid_1;" in text
    assert [p.name for p in plan(arguments_of(parse("(4,_8):(_8,_1)"), None)).parameters] == ["i", "j"]


def test_a_whole_layout_has_no_ends_and_those_of_a_tensor_are_parameters():
    layout = parse("(4,8):(8,1)")
    assert "return true;" in emit_guard(layout)
    assert "return i < valid_0 && j < valid_1;" in emit_guard(MakeTensor(None, layout))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (3, 3)])
@pytest.mark.parametrize("static", [False, True])
def test_steps_back_past_the_first_element(shape, static):
    """The text says what the tensor does: an element before the first is none."""
    for stride in itertools.product((-2, -1, 1, 3), repeat=len(shape)):
        b = Layout(shape, stride)
        b = parse(str(b).replace("(", "(_").replace(",", ",_").replace("_(", "(")) if static else b
        view = composition(MakeTensor(None, parse("_8:_1")), b)
        text = emit_guard(view, "python")
        valid = compiled(text)
        values = {
            name: stride[int(name[-1])] for name in inspect.signature(valid).parameters if name.startswith("place")
        }
        values |= {name: 8 for name in inspect.signature(valid).parameters if name.startswith("valid")}
        for c in itertools.product(*map(range, shape)):
            assert valid(*c, **values) == (0 <= sum(map(int.__mul__, c, stride)) < 8), (text, c)


@pytest.mark.parametrize(
    ("call", "error", "part"),
    [
        (lambda: emit_guard("A"), LeafTypeError, "a guard of a str"),
        (lambda: emit_guard(parse("(_4,_5):(_5,_1)"), "c", "i,j,k"), RankError, "coordinate (i,j,k)"),
        (lambda: emit_guard(parse("_4:_1"), "c", "class"), LeafTypeError, "class"),
    ],
)
def test_bad_input(call, error, part):
    with pytest.raises(error) as caught:
        call()
    assert part in str(caught.value)


def test_one_element_is_where_its_tensor_starts():
    """A tensor of coordinates with one element has no stride: the guard compares its start alone."""
    text = emit_guard(make_tensor(ArithmeticTuple(3, 2), parse("_1:_0")), "python", "i", below=(4, 9))
    valid = compiled(text)
    assert [valid(0, m, n) for m, n in ((4, 3), (4, 2), (3, 3), (3, 2))] == [True, False, False, False]
