"""XLA arrays of sizes that are not known: at every size, what lower gives for the numbers."""

import random
from collections import Counter

import numpy as np
import pytest

from tla import Int, LeafTypeError, LoweringError, ParseError, TlaError, Unproven, at, dim, dims, prove, xla

import oracle
from night import amount, some
from truth import rows

NAMES = "ABCDEFGH"


def named(shape, rng):
    """The text of a shape with names for some of its dimensions, and the names."""
    names = [NAMES[k] if rng.random() < 0.7 else n for k, n in enumerate(shape.dimensions)]
    return str(shape).replace(f"[{','.join(map(str, shape.dimensions))}]", f"[{','.join(map(str, names))}]"), names


def test_every_layout_of_the_truth_with_names_for_sizes():
    rng = random.Random(12)
    seen = Counter()
    for case in some(rows("xla/index.json"), 5):
        shape = xla.parse_shape(case["spec"])
        if any(shape.dynamic) or not shape.dimensions:
            continue
        text, names = named(shape, rng)
        unit = rng.choice((1, 1, 8, 128))
        layout = xla.lower(text, **{n: dim(n, multiple_of=unit, at_least=1) for n in names if isinstance(n, str)})
        for _ in range(3):
            dims = tuple(unit * rng.randint(1, max(1, 12 // unit)) if isinstance(n, str) else n for n in names)
            if oracle.size(dims) > 20_000:
                continue
            mine = at(layout, {name: n for name, n in zip(names, dims) if isinstance(name, str)})
            tiles, order = shape.effective_layout.tiles, shape.effective_layout.minor_to_major
            truth = oracle.xla_offsets(dims, order, tiles)
            assert np.array_equal(mine(*np.indices(dims)), truth), (text, dims)
            if truth.size:
                index = tuple(rng.randrange(n) for n in dims)
                assert mine(*index) == truth[index], (text, dims, index)
            assert mine.origin_shape == dims
            seen[type(layout).__name__] += 1
    assert seen["Layout"] > amount(300, 1500), seen
    assert seen["ComposedLayout"] > amount(40, 200), seen


def test_sizes_are_symbolic_too():
    rng = random.Random(13)
    M, N = dims("M N")
    for text in (
        "bf16[M,N]{1,0:T(8,128)(2,1)}",
        "s4[N,M]{0,1:T(8,128)(8,1)E(4)}",
        "f32[M,3,N]{2,1,0:T(8,128)L(4096)}",
        "pred[M]{0:T(512)}",
    ):
        shape = xla.parse_shape(text, symbols=[M, N])
        for f in (xla.element_count, xla.padded_element_count, xla.byte_size, xla.waste):
            for _ in range(20):
                sizes = {"M": rng.randint(1, 500), "N": rng.randint(1, 500)}
                numbers = xla.parse_shape(text, symbols=sizes)
                value = f(shape)
                assert at(value, sizes) == f(numbers), (text, f, sizes)
    assert prove(
        xla.waste(
            xla.parse_shape("f32[M,N]{1,0:T(8,128)}", symbols=[dim("M", multiple_of=8), dim("N", multiple_of=128)])
        )
        <= 0
    )


def test_a_name_may_stand_for_a_static_integer():
    for sizes in ({"N": Int[7]()}, {"N": Int[7](), "M": dim("M")}):
        text = f"f32[{'M,' if 'M' in sizes else ''}N]"
        assert str(xla.lower(text, **sizes)) == str(
            xla.lower(text.replace("N", "7"), **{k: n for k, n in sizes.items() if k == "M"})
        )


def test_the_strides_of_the_documents():
    tiled = "bf16[M,N]{1,0:T(8,128)(2,1)}"
    assert str(xla.lower(tiled)) == "((_2,_4,ceil(M/8)),(_128,ceil(N/128))):((_1,_256,ceil(N/128)*1024),(_2,_1024))"
    assert (
        str(xla.lower(tiled, N=dim("N", multiple_of=128)))
        == "((_2,_4,ceil(M/8)),(_128,N//128)):((_1,_256,8*N),(_2,_1024))"
    )
    both = xla.lower(tiled, M=dim("M", multiple_of=16), N=dim("N", multiple_of=128))
    assert str(both) == "((_2,_4,M//8),(_128,N//128)):((_1,_256,8*N),(_2,_1024))"
    assert str(xla.lower("f32[2*M,7]{1,0:T(2,2)}")) == "((_2,M),(_2,_4)):((_2,_16),(_1,_4))"
    assert xla.lower("f32[M,N]{1,0}", M=3, N=5) == xla.lower("f32[3,5]{1,0}")


@pytest.mark.parametrize(
    ("text", "sizes", "error", "message"),
    [
        ("f32[M,N]", {"K": 3}, LeafTypeError, "K= of f32"),
        ("f32[3,5]", {"M": 3}, LeafTypeError, "M= of f32"),
        ("f32[M]", {"M": -1}, ParseError, "dimension -1"),
        ("f32[M-100]", {}, ParseError, "may be negative"),
        ("f32[M]", {"M": "3"}, LeafTypeError, "type str"),
        ("f32[M+]", {}, ParseError, "unexpected"),
        ("f32[M,ceil]", {}, LeafTypeError, "the name 'ceil'"),
        ("f32[M{0}", {}, ParseError, "unexpected"),
        (f"f32[{','.join(f'N{k}' for k in range(10_000))}]", {}, ParseError, "at most 256"),
    ],
)
def test_names_that_are_none(text, sizes, error, message):
    with pytest.raises(error, match=message):
        xla.lower(text, **sizes)


def test_names_are_no_part_of_xlas_own_language():
    for text in ("f32[M]", "f32[3,b]", "f32[2*3]"):
        with pytest.raises(ParseError):
            xla.parse_shape(text)


def test_what_hangs_on_sizes_that_are_names_is_not_answered():
    """is_bitcast said no where some sizes make it yes."""
    M, N = dims("M N")
    tiled, other, plain = (
        xla.parse_shape(text, symbols=[M, N])
        for text in ("f32[M,N]{1,0:T(8,128)}", "f32[N,M]{1,0:T(8,128)}", "f32[M,N]{0,1}")
    )
    assert xla.is_bitcast(tiled, tiled)
    assert xla.is_bitcast(tiled, xla.parse_shape("f32[M,N]{1,0:T(8,128)S(1)}", symbols=[M, N]))
    assert not xla.is_bitcast(tiled, xla.parse_shape("s8[M,N]{1,0:T(8,128)(4,1)}", symbols=[M, N]))
    for a, b in (
        (tiled, other),
        (plain, tiled),
        (plain, "f32[3,5]"),
        (plain, xla.parse_shape("f32[M,N]{1,0}", symbols=[M, N])),
    ):
        with pytest.raises(Unproven, match="not known"):
            xla.is_bitcast(a, b)
        with pytest.raises(TlaError):
            xla.relayout(a, b)
    with pytest.raises(LoweringError, match="sizes are not known"):
        xla.raise_(xla.lower(tiled))


@pytest.mark.parametrize("text", ["f32[o]", "f32[if]", "f32[3,ceil]", "(f32[M], s32[])"])
def test_the_fix_of_a_name_that_is_none_works(text):
    with pytest.raises(TlaError) as caught:
        xla.lower(text)
    assert "dim('o')" not in str(caught.value)
    assert "lower takes names;" not in str(caught.value)
