"""Tables and functions read back: against the definition, over whole domains; none that is a layout is refused, none
that is not is taken."""

import contextlib
import itertools
import random
import time

import numpy as np
import pytest

import tla
from tla import ComposedLayout, Layout, RangeError, Swizzle, layout_of, offsets, parse
from tla.linear import LinearLayout

from night import amount
from oracle import offsets as by_definition

BIG = [
    "Sw<3,3,3> o 0 o (128,(64,4)):(64,(1,8192))",
    "Sw<2,4,3> o 32 o (96,64):(80,1)",
    "((32,4),(16,8)):((4,2048),(128,1))",
    "Sw<3,4,3> o 0 o 1536:1",
    "Sw<0,0,0> o 63 o (8,8):(-8,1)",
    "Sw<1,3,-2> o 0 o (64,64):(1,64)",
]


def random_layout(rng, most=1 << 12):
    """A layout with two or three modes, nested, swizzled, with an offset, as chance has it."""
    while True:
        leaves = [rng.choice((2, 2, 3, 4, 4, 5, 6, 8, 16, 32)) for _ in range(rng.randint(1, 5))]
        if np.prod(leaves) <= most:
            break
    order, strides, step = rng.sample(range(len(leaves)), len(leaves)), [0] * len(leaves), rng.choice((1, 1, 1, 2, 8))
    for k in order:
        strides[k] = 0 if rng.random() < 0.05 else step
        step *= leaves[k] * (rng.choice((2, 3)) if rng.random() < 0.1 else 1)
    cut = sorted(rng.sample(range(1, len(leaves)), min(len(leaves) - 1, rng.randint(0, 2))))
    groups = [range(a, b) for a, b in itertools.pairwise((0, *cut, len(leaves)))]
    nest = [lambda v, g=g: tuple(v[k] for k in g) if len(g) > 1 else v[g[0]] for g in groups]
    layout = Layout(tuple(f(leaves) for f in nest), tuple(f(strides) for f in nest))
    bits = int(offsets(layout).max()).bit_length()
    offset = rng.choice((0, 0, 0, step, 3))
    for _ in range(rng.choice((0, 1, 1)) if bits > 1 else 0):
        count = rng.randint(1, min(3, bits // 2))
        base = rng.randint(0, bits - 2 * count)
        shift = rng.randint(count, max(count, bits - base - count)) * rng.choice((1, 1, 1, -1))
        layout, offset = ComposedLayout(Swizzle[count, base, shift](), offset, layout), 0
    return layout


def same(found, table):
    """Whether a layout has the offsets of a table, each by a call."""
    return all(int(found(*c)) == table[c] for c in np.ndindex(table.shape))


def test_every_small_layout_of_one_mode():
    for shape in itertools.product((1, 2, 3, 4), repeat=2):
        for stride in itertools.product((-2, 0, 1, 2, 3, 5), repeat=2):
            table = np.array(by_definition(shape, stride))
            found = layout_of(table)
            assert [found(i) for i in range(table.size)] == [*table]
            assert found == tla.coalesce(tla.static(Layout(shape, stride))) or table.size == 1


def test_every_table_of_four_and_six_small_offsets_is_right_or_refused():
    taken = {tuple(by_definition(*layout)) for layout in _layouts((1, 2, 3, 4, 6), range(-4, 5))}
    for table in itertools.product(range(5), repeat=3):
        table = (0, *table)
        try:
            assert [layout_of(table)(i) for i in range(4)] == [*table]
        except RangeError:
            assert table not in taken
    for a, b, c in itertools.product(range(-4, 5), repeat=3):
        table = (0, a, b, c, a + c, b + c)
        try:
            found = layout_of(table)
        except RangeError:
            assert table not in taken
        else:
            assert [found(i) for i in range(6)] == [*table]


def _layouts(extents, strides):
    for shape in itertools.product(extents, repeat=3):
        if np.prod(shape) in (4, 6):
            yield from ((shape, stride) for stride in itertools.product(strides, repeat=3))


@pytest.mark.parametrize("seed", range(4))
def test_random_layouts_are_found_again(seed):
    rng, times = random.Random(seed), []
    for _ in range(amount(60, 2500)):
        layout = random_layout(rng)
        table = offsets(layout)
        start = time.perf_counter()
        found = layout_of(table)
        times.append(time.perf_counter() - start)
        assert (offsets(found).reshape(table.shape, order="F") == table).all(), str(layout)
        if table.size <= 256:
            assert same(found, table), str(layout)
    assert sorted(times)[len(times) // 2] < 0.02


@pytest.mark.parametrize("text", BIG)
def test_layouts_of_kernels_are_found_as_they_are_written(text):
    layout = parse(text)
    found = layout_of(offsets(layout))
    assert (offsets(found).reshape(-1, order="F") == offsets(layout).reshape(-1, order="F")).all()
    assert str(found).replace("_", "") == str(tla.static(layout)).replace("_", "")


def test_shape_operations_are_tables():
    x = np.arange(8 * 12 * 4).reshape(8, 12, 4)
    chains = [
        *(x.T, x.transpose(1, 0, 2), x[::-1, :, ::-1], x[2:6, ::3], np.broadcast_to(x[:, :1], x.shape)),
        *(x.reshape(4, 2, 48).swapaxes(0, 1).reshape(8, 48), np.lib.stride_tricks.sliding_window_view(x[0, :, 0], 5)),
    ]
    for table in chains:
        assert same(layout_of(table), table)
    torch = pytest.importorskip("torch")
    table = torch.arange(96).reshape(2, 6, 8).permute(2, 0, 1).flip(0)
    assert same(layout_of(table), table.numpy())


def test_linear_layouts_where_bits_cross():
    i, j = np.ogrid[:8, :8]
    assert same(layout_of(i ^ j), i ^ j)
    gray = np.arange(64) ^ np.arange(64) >> 1
    assert same(layout_of(gray), gray)
    flipped = 21 ^ gray
    assert same(layout_of(flipped), flipped)
    crossed = LinearLayout({"i": [(3,), (6,), (5,)]}, {"offset": 8})
    assert same(layout_of(crossed), np.array([0, 3, 6, 5, 5, 6, 3, 0]))
    assert same(layout_of([0, 3, 6, 5, 5, 6, 3, 0]), np.array([0, 3, 6, 5, 5, 6, 3, 0]))


def test_functions():
    def branches(i, j):
        return i * 8 + j if i < 8 else 64 + (i - 8) * 8 + j

    assert str(layout_of(branches, shape=(16, 8))) == "(_16,_8):(_8,_1)"
    assert str(layout_of(lambda i: np.where(i < 4, i, i + 12), shape=8)) == "(_4,_2):(_1,_16)"
    assert str(layout_of(lambda i, j: 0, shape=(2, 2))) == "(_2,_2):(_0,_0)"
    assert layout_of(parse("((_4,_2),_8):((_1,_32),_4)"), shape=(8, 8)) == parse("((_4,_2),_8):((_1,_32),_4)")


@pytest.mark.parametrize(
    ("given", "shape", "error", "said"),
    [
        ([0.5, 1.0], None, "LeafTypeError", "integers of 64 bits"),
        ([[0, 1], [2]], None, "LeafTypeError", "a table of"),
        ([], None, "LeafTypeError|RangeError", "a table of"),
        (5, None, "RangeError", "1 to 16,777,216 offsets"),
        ([0, 1], (3,), "RankError", "shape=(3,)"),
        ([0, 1], "ij", "LeafTypeError", "positive integers"),
        (lambda i: i, None, "RankError", "as in shape=(64, 64)"),
        (lambda i: i, (4, 4), "RankError", "2 coordinates"),
        (lambda i: [1, 2][i], 4, "LeafTypeError", "at (2)"),
        (lambda i: 8 // i, 4, "LeafTypeError", "at (0): ZeroDivisionError"),
        (lambda i: i + 1 % (i - 3), 4, "LeafTypeError", "at (3): ZeroDivisionError"),
        (lambda i: i * 2**62 // 2**60, 8, "LeafTypeError", "at (7): -4 of arrays, 28 of integers"),
        ([0, 1, 2, 9], None, "RangeError", "(3) lies at 9"),
        ([[0, 1, 2], [3, 4, 6], [6, 7, 8]], None, "RangeError", "(1,0) lies at 3 and (0,2) at 2, but (1,2) at 6"),
    ],
)
def test_what_is_refused(given, shape, error, said):
    with pytest.raises(tla.TlaError) as info:
        layout_of(given, shape=shape)
    assert type(info.value).__name__ in error.split("|")
    assert said in str(info.value)


def test_a_function_that_changes_its_arguments_is_refused():
    def changes(i):
        i += 1
        return i

    with pytest.raises(tla.TlaError, match="side effects"):
        layout_of(changes, shape=8)


def test_large_tables_are_answered_or_refused_in_time():
    rng = np.random.default_rng(1)
    for table in (np.arange(1 << 20).reshape(1024, 1024).T, rng.permutation(1 << 20)):
        start = time.perf_counter()
        with contextlib.suppress(RangeError):
            layout_of(table)
        assert time.perf_counter() - start < 5


def test_what_has_a_layout_of_its_own_is_that():
    text = "f32[5,300]{0,1:T(4,128)(2,1)}"
    shape = tla.xla.parse_shape(text)
    assert str(layout_of(shape)) == str(tla.xla.lower(text))
    for x in (shape, tla.linear.linear(parse("4:1"))):
        with pytest.raises(tla.RankError, match="leave shape= out"):
            layout_of(x, shape=(5, 300))
    radix = tla.linear.radix(parse("((3,4),5):((20,1),4)"))
    assert (offsets(layout_of(radix)).ravel("F") == offsets(parse("((3,4),5):((20,1),4)")).ravel("F")).all()


def test_a_layout_of_jax_is_that_of_its_array():
    jax = pytest.importorskip("jax")
    layouts = pytest.importorskip("jax.experimental.layout")
    given = tla.xla.jax.to_layout("bf16[5,300]{0,1:T(4,128)(2,1)}")
    wanted = str(tla.xla.lower("bf16[5,300]{0,1:T(4,128)(2,1)}"))
    assert str(layout_of(given, shape=(5, 300))) == wanted
    assert (
        str(layout_of(layouts.Format(given, jax.sharding.SingleDeviceSharding(jax.devices()[0])), (5, 300))) == wanted
    )
    with pytest.raises(tla.RankError, match="without a shape"):
        layout_of(given)
