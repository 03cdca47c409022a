"""Layouts as other libraries write them: written, read back, and executed by those that are here. The oracle is in
plain integers."""

import itertools
import math
import random

import numpy as np
import pytest

import tla
from tla import ParseError, TlaError, parse
from tla.codegen import source


def flat(x):
    return [n for m in x for n in flat(m)] if isinstance(x, tuple) else [x]


def at(c, shape, stride):
    """The offset of an integer in a mode, first digit fastest."""
    total = 0
    for n, d in zip(flat(shape)[:-1], flat(stride)):
        c, rest = divmod(c, n)
        total += rest * d
    return total + c * flat(stride)[-1]


def table(shape, stride):
    sizes = [math.prod(flat(s)) for s in shape]
    return {c: sum(at(x, s, d) for x, s, d in zip(c, shape, stride)) for c in itertools.product(*map(range, sizes))}


def written(x):
    return f"({','.join(map(written, x))})" if isinstance(x, tuple) else f"_{x}"


def random_mode(rng, compact=None):
    shape = tuple(rng.choice((1, 2, 3, 4)) for _ in range(rng.choice((1, 1, 2, 3))))
    stride = tuple(rng.choice((0, 1, 2, 3, 8, 12, 32)) for _ in shape)
    return (shape[0], stride[0]) if len(shape) == 1 else (shape, stride)


def random_layout(rng):
    modes = [random_mode(rng) for _ in range(rng.randrange(1, 4))]
    return tuple(m[0] for m in modes), tuple(m[1] for m in modes)


def compact_layout(rng):
    """Each offset once: the digits in any order."""
    shape = tuple(rng.choice([rng.choice((1, 2, 3, 4)), (2, rng.choice((2, 3)))]) for _ in range(rng.randrange(1, 4)))
    order = [*range(len(flat(shape)))]
    rng.shuffle(order)
    strides, place = [0] * len(order), 1
    for k in order:
        strides[k] = place
        place *= flat(shape)[k]
    given = iter(strides)
    return shape, tuple(tuple(next(given) for _n in s) if isinstance(s, tuple) else next(given) for s in shape)


@pytest.mark.parametrize("system", ["flydsl", "pycute", "mojo", "axe", "torch_view"])
def test_what_is_written_is_read(system):
    rng, exact = random.Random(system), 0
    for k in range(150):
        shape, stride = random_layout(rng) if k % 2 else compact_layout(rng)
        if system == "axe":
            shape, stride = tuple(flat(shape)), tuple(flat(stride))
        layout = parse(f"{written(shape)}:{written(stride)}")
        back = parse(source(layout, system))
        assert {c: back(*c) for c in table(shape, stride)} == table(shape, stride), (layout, back)
        exact += back == layout
    assert exact == 150 or system == "torch_view"


def test_coordinates_are_read_back():
    for text in ("(_4,_8):(_1@0,_2@1)", "(_4,(_2,_3)):(_1@1,(_1@0,_4@1))", "(_3,_2):(_2@2,_1@0)", "_8:_3@1"):
        for system in ("flydsl", "pycute"):
            assert parse(source(parse(text), system)) == parse(text)
    assert str(parse(source(parse("(_4,_8):(_1@0,_2@1)"), "axe"))) == "(_4,_8):(_1@0,_2@1)"
    assert str(parse(source(parse("():()"), "axe"))) == "():()"
    assert parse(source(parse("_4:_1@0+_2@1"), "pycute")) == parse("_4:_1@0+_2@1")


@pytest.mark.parametrize(
    "text",
    [
        "Sw<3,4,3> o _0 o (_8,_64):(_64,_1)",
        "_32:_2 o _5 o _32:_1 o _7 o (_4,_8):(_1,_4)",
        "(_8,_8):(_8,_1) o (_0,_0) o CS<3,0,[0],0,[1]> o (_0,_0) o (_8,_8):(_1@0,_1@1)",
        "CS<3,0,[1],0,[2]> o (_0,_0,_0) o (_4,_8,_8):(_1@0,_1@1,_1@2) o (_1,_2,_3) o (_2,_4,_8):(_1@0,_1@1,_1@2)",
        "_64:_1 o _0 o Sw<1,0,3> o _2 o (_8,_8):(_8,_1)",
    ],
)
def test_chains_of_flydsl(text):
    layout = parse(text)
    back = parse(source(layout, "flydsl"))
    assert all(back(i) == layout(i) for i in range(int(tla.size(layout))))
    assert str(back) == text


def test_flydsl_as_its_printer_writes():
    assert source(parse("(_4,_8):(_1@0,_1@1)"), "flydsl") == "!fly.layout<(4,8):(1E0,1E1)>"
    assert (
        source(parse("(_4,(_2,_2)):(_1@0,(_1@0@1,_4@1@1))"), "flydsl") == "!fly.layout<(4,(2,2)):(1E0,(1E1E0,4E1E1))>"
    )
    assert source(parse("(_16,4):(_1,16)"), "flydsl") == "!fly.layout<(16,?):(1,?)>"
    assert (
        source(parse("_32:_2 o _0 o _32:_1 o _0 o (_4,_8):(_1,_4)"), "flydsl")
        == "!fly.composed_layout<32:2 o 0 o [32:1 o 0 o (4,8):(1,4)]>"
    )
    assert source((4, tla.Int[2]()), "flydsl") == "!fly.int_tuple<(?,2)>"


def test_views_are_the_offsets():
    """What is written for numpy, and for torch where it is here, is executed."""
    rng = random.Random(7)
    for _ in range(120):
        shape, stride = compact_layout(rng)
        text = source(parse(f"{written(shape)}:{written(stride)}"), "numpy_view")
        made = eval(text, {"numpy": np})  # what we wrote ourselves
        assert {c: int(made[c]) for c in np.ndindex(made.shape)} == table(shape, stride), text
    with pytest.raises(tla.LeafTypeError, match="each offset from 0 on once"):
        source(parse("(_4,_2):(_1,_8)"), "numpy_view")


class Tile:
    """cuTile's tiles, by numpy: what the documents of cuda.tile say of them."""

    int32 = np.int32

    def __init__(self, array):
        self.array = array

    @classmethod
    def arange(cls, size, dtype):
        assert size & (size - 1) == 0
        return cls(np.arange(size, dtype=dtype))

    def reshape(self, shape):
        assert isinstance(shape, tuple)
        return Tile(self.array.reshape(shape))

    def permute(self, axes):
        assert isinstance(axes, tuple)
        return Tile(self.array.transpose(axes))

    def transpose(self, axis0=None, axis1=None):
        assert axis0 is not None or self.array.ndim == 2
        return Tile(self.array.T if axis0 is None else self.array.swapaxes(axis0, axis1))


def test_tiles_of_cutile_are_the_offsets():
    """What is written is executed, and read back; what is read has the elements of the tile."""
    rng, written_ones = random.Random(9), 0
    for _ in range(120):
        shape, stride = compact_layout(rng)
        layout = parse(f"{written(shape)}:{written(stride)}")
        try:
            text = source(layout, "cutile")
        except tla.LeafTypeError as error:
            assert "powers of two" in str(error)
            continue
        made = eval(text, {"ct": Tile}).array  # what we wrote ourselves
        assert {c: int(made[c]) for c in np.ndindex(made.shape)} == table(shape, stride), text
        assert tla.same_map(tla.flatten(parse(text)), tla.flatten(layout)), text
        written_ones += 1
    assert written_ones > 10
    for text in (
        "reshape((4, 8)).transpose()",
        "reshape((2, -1, 4)).transpose(0, 2)",
        "reshape((2, 4, 4)).permute((2, 0, 1)).reshape((8, 4))",
    ):
        text = f"ct.arange(32, dtype=ct.int32).{text}"
        made, read = eval(text, {"ct": Tile}).array, parse(text)
        assert all(read(*c) == int(made[c]) for c in np.ndindex(made.shape)), text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ct.arange(24, dtype=ct.int32)", "a tile of 24 elements"),
        ("ct.arange(32)", "dtype"),
        ("ct.arange(32, dtype=ct.int32).view((8, 4))", "the operation 'view'"),
        ("ct.arange(32, dtype=ct.int32).reshape(8, 4)", "reshape with these arguments"),
        ("ct.arange(32, dtype=ct.int32).reshape((2, 4, 4)).transpose()", "without the two dimensions"),
        ("ct.arange(32, dtype=ct.int32).reshape((5, 4))", "a reshape to"),
    ],
)
def test_what_is_no_tile_of_cutile(text, says):
    with pytest.raises(ParseError, match=says):
        parse(text)


def test_views_of_torch_are_the_offsets():
    torch = pytest.importorskip("torch")
    rng = random.Random(8)
    for k in range(120):
        shape, stride = random_layout(rng) if k % 2 else compact_layout(rng)
        text = source(parse(f"{written(shape)}:{written(stride)}"), "torch_view")
        made = eval(text, {"torch": torch}).numpy()  # what we wrote ourselves
        assert {c: int(made[c]) for c in np.ndindex(made.shape)} == table(shape, stride), text


def chain(rng, of_torch):
    """A random chain of shape operations, some of which the library refuses."""
    sizes, text = [24], f"{'torch' if of_torch else 'numpy'}.arange(24)"
    for _ in range(rng.randrange(1, 5)):
        n = len(sizes)
        reshape = rng.choice(["4, 6", "2, 3, 4", "24", "3, 8", "-1, 2", "2, 2, 6", "(4, 6)"])
        order = [*range(n)]
        rng.shuffle(order)
        given = ", ".join(map(str, order))
        i, j = rng.randrange(n), rng.randrange(n)
        if of_torch:
            step = rng.choice(
                [
                    f"reshape({reshape})",
                    f"permute({given})",
                    f"transpose({i}, {j})",
                    f"movedim({i}, {j})",
                    f"flatten({i}, -1)",
                    f"unsqueeze({i})",
                    "contiguous()",
                ]
            )
        else:
            step = rng.choice(
                [
                    f"reshape({reshape})",
                    f"transpose({given})",
                    f"swapaxes({i}, {j})",
                    "T",
                    "transpose()",
                    "ravel()",
                    "flatten()",
                ]
            )
        text += f".{step}"
        if "reshape" in step:
            sizes = [0] * (2 if reshape in ("4, 6", "3, 8", "-1, 2", "(4, 6)") else 1 if reshape == "24" else 3)
        elif step in ("ravel()", "flatten()"):
            sizes = [0]
        elif "flatten" in step:
            sizes = [0] * (i + 1)
        elif "unsqueeze" in step:
            sizes = [0] * (n + 1)
    return text


@pytest.mark.parametrize("of_torch", [False, True])
def test_chains_are_read(of_torch):
    names = {"torch": pytest.importorskip("torch")} if of_torch else {"numpy": np}
    rng, found = random.Random(9), 0
    for _ in range(400):
        text = chain(rng, of_torch)
        made = np.asarray(eval(text, names))  # a chain of our own making
        try:
            layout = parse(text)
        except ParseError:
            continue
        found += 1
        assert tuple(int(n) for n in tla.product_each(layout.shape)) == made.shape, text
        assert np.array_equal(tla.offsets(layout), made), text
    assert found > 250


def test_isl_is_the_same_relation():
    isl = pytest.importorskip("islpy")
    rng = random.Random(10)
    texts = [f"{written(s)}:{written(d)}" for s, d in (random_layout(rng) for _ in range(40))]
    texts += [
        "Sw<1,0,2> o _0 o (_4,_4):(_4,_1)",
        "Sw<2,0,2> o _3 o (_4,_4):(_4,_1)",
        "Sw<1,1,-2> o _0 o (_4,_8):(_8,_1)",
    ]
    texts += [
        "(_4,_4):(_4,_1) o _0 o CS<2,0,[0],0,[1]> o _0 o (_4,_4):(_1@0,_1@1)",
        "(_4,_3):(_1@0,_2@1)",
        "_4:_1@0+_2@1",
        "(_2,_3):(_1,_5) o _2 o (_2,_2):(_2,_1)",
        "():()",
    ]
    for text in texts:
        layout = parse(text)
        sizes = (
            tuple(int(n) for n in tla.product_each(layout.shape))
            if isinstance(layout.shape, tuple)
            else (int(layout.shape),)
        )
        relation = isl.Map(source(layout, "isl"))
        points = []
        relation.wrap().foreach_point(
            lambda p, points=points: points.append(
                tuple(
                    p.get_coordinate_val(isl.dim_type.set, k).to_python()
                    for k in range(p.get_space().dim(isl.dim_type.set))
                )
            )
        )
        wanted = []
        for c in itertools.product(*map(range, sizes)):
            value = layout(*c)
            value = (
                tuple(int(n) for n in tla.ArithmeticTuple(0, 0) + value)
                if tla.rank(tla.coshape(layout) if isinstance(layout, tla.Layout) else 1) > 1
                else (int(value),)
            )
            wanted.append((*c, *value))
        assert sorted(points) == sorted(wanted), text


def test_constructors_of_tensor_layouts():
    tensor_layouts = pytest.importorskip("tensor_layouts")
    rng = random.Random(11)
    for _ in range(60):
        shape, stride = random_layout(rng)
        text = source(parse(f"{written(shape)}:{written(stride)}"), "pycute")
        made = eval(text, {"Layout": tensor_layouts.Layout})  # what we wrote ourselves
        assert {c: made(*c) for c in table(shape, stride)} == table(shape, stride)
        assert parse(repr(made)) == parse(text)


READ = {
    "Layout((4, 8), (1, 4))": "(_4,_8):(_1,_4)",
    "Layout((4, 8))": "(_4,_8):(_1,_4)",
    "Layout(8, 1)": "_8:_1",
    "Layout((8), (1))": "_8:_1",
    "Layout((8,), (1,))": "(_8):(_1)",
    "Layout((4, (2, 2)), (E(0), (2*E(1), E(1, 0)*3)))": "(_4,(_2,_2)):(_1@0,(_2@1,_3@0@1))",
    "Layout((4, 3), (1@0, 2@1@0))": "(_4,_3):(_1@0,_2@1@0)",
    "Layout(IntTuple(4, IntTuple(2, 2)), IntTuple(1, IntTuple(4, 8)))": "(_4,(_2,_2)):(_1,(_4,_8))",
    "Layout(IntTuple(8), IntTuple(1))": "(_8):(_1)",
    "Layout.row_major(4, 8)": "(_4,_8):(_8,_1)",
    "Layout.col_major(4, 8)": "(_4,_8):(_1,_4)",
    "((4, 8):(1, 4))": "(_4,_8):(_1,_4)",
    "(((2, 2), 8):((1, 16), 2))": "((_2,_2),_8):((_1,_16),_2)",
    "S[(8,4):(4@laneid,1)] + R[4:1@laneid]": "((_8,_4),(_4)):((_4@0,_1@1),(_1@0))",
    "S[(8, 2, 4, 2) : (4@laneid, 1@warpid, 1@laneid, 1)]": "(_8,_2,_4,_2):(_4@0,_1@1,_1@0,_1@2)",
    "S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1@m)] + R[2:4@warpid] + 5@warpid": "(_1,_1,_1):(_1@0,_1@1,_1@2) o (_0,_5,_0) o ((_8,_2,_4,_2),(_2)):((_4@0,_1@1,_1@0,_1@2),(_4@1))",
    "S[(32,4) : (1@TLane, 1@TCol)] + R[4 : 32@TLane]": "((_32,_4),(_4)):((_1@0,_1@1),(_32@0))",
    "S[(2, 4) : (4@m, 1@m)]": "(_2,_4):(_4,_1)",
    "S[(2, 4) : (4, 1)] + 7": "_1:_1 o _7 o (_2,_4):(_4,_1)",
    "S[8 : 4@laneid]": "(_8):(_4@0)",
    "S[2, 3, 4]": "(_2,_3,_4):(_12,_4,_1)",
    "T.TileLayout(T.S[(8, 2):(4 @ Axis.laneid, 1)] + T.R[4:1 @ Axis.laneid] + (2 @ Axis.laneid + 64))": "(_1,_1):(_1@0,_1@1) o (_2,_64) o ((_8,_2),(_4)):((_4@0,_1@1),(_1@0))",
    "T.ComposeLayout(3, 2, 3, T.TileLayout(T.S[(8, 64):(64, 1)] + 5), swizzle_inner=False)": "Sw<2,3,-3> o _5 o (_8,_64):(_64,_1)",
    "torch.arange(253).as_strided((4, 2, 8), (8, 4, 32)).reshape(8, 8)": "((_2,_4),_8):((_4,_8),_32)",
    "torch.arange(8).view(1, 8).squeeze(0).unsqueeze(-1)": "(_8,_1):(_1,_0)",
}  # fmt: skip


@pytest.mark.parametrize("given", READ)
def test_read(given):
    assert str(parse(given)) == READ[given]


def test_axes_swizzles_and_replicas_are_written():
    for text in (
        "S[(8,2):(4@laneid,1@m)] + R[(4):(1@laneid)] + 2@laneid",
        "S[(2,4):(4,1)] + 7",
        "ComposeLayout(3, 2, 3, TileLayout(S[(8,64):(64,1)] + 5), swizzle_inner=False)",
        "ComposeLayout(4, 3, 3, TileLayout(S[(8,64):(64,1)]))",
    ):
        assert source(parse(text), "axe", axes=["laneid", "m"], replicas="R[" in text) == text


def test_replicas_are_all_places_that_hold_an_element():
    """The set of TIRx's documents: an element of the 8 by 16 tile is in two warps."""
    a = parse("S[(8,2,4,2):(4@laneid,1@warpid,1@laneid,1@m)] + R[2:4@warpid] + 5@warpid")
    for r, w, c, v in itertools.product(range(8), range(2), range(4), range(2)):
        held = {tuple(a((r, w, c, v), (k,))) for k in range(2)}
        assert held == {(4 * r + c, w + 5 + 4 * k, v) for k in range(2)}


@pytest.mark.parametrize(
    "given",
    [
        "Layout(",
        "Layout((4, 8), (1, 4), 3)",
        "Layout((4, 8), (1, x))",
        "Layout((4, 8), (1, 4)) junk",
        "Layout.rowmajor(3)",
        "Layout((4, 3), (1, 2, 3))",
        "Layout(__import__('os'), 1)",
        "Layout((4,), (E(0) + 1,))",
        "S[(8,4):(4@laneid)]",
        "S[()]",
        "R[8:1]",
        "T.Q[8]",
        "ComposeLayout(3, 3, 3, S[8:1@laneid])",
        "ComposeLayout(3, 3, 3, S[8:1], swizzle_inner=Maybe)",
        "ComposeLayout(3, 3, S[8:1])",
        "S[8:1] + R[2:1] + R[2:1]",
        "S[8:1@]",
        "torch.arange(32).reshape(5, 6)",
        "torch.arange(32).foo(3)",
        "torch.arange(32).T()",
        "torch.arange(32).t",
        "torch.arange(32).view(2, 4, 4).t()",
        "numpy.arange(32).t()",
        "torch.arange(32).permute(0, 1)",
        "torch.arange(32).as_strided((4, 9), (9, 1))",
        "torch.arange(0)",
        "torch.arange(6).view(2, 3).T.reshape(2, 3)",
        "numpy.arange(6).permute(0)",
        "torch.arange(8).view((1, (2, 4)))",
        "((4, 8):(1, 4)",
        "(" * 70 + "4:1" + ")" * 70,
    ],
)
def test_refused(given):
    with pytest.raises(TlaError):
        parse(given)


def test_t_of_torch():
    """A matrix is turned, a vector is not."""
    assert str(parse("torch.arange(32).view(-1, 4).t()")) == "(_4,_8):(_1,_4)"
    assert str(parse("torch.arange(32).t().view(8, 4)")) == "(_8,_4):(_4,_1)"


def test_what_a_system_cannot_say():
    swizzled, coordinates = parse("Sw<3,0,3> o _0 o (_8,_8):(_8,_1)"), parse("(_4,_8):(_1@0,_2@1)")
    for system in ("pycute", "mojo", "torch_view", "numpy_view", "cutile"):
        with pytest.raises(tla.LeafTypeError):
            source(swizzled, system)
    with pytest.raises(tla.RankError, match="2 modes: elements and places"):
        source(parse("(_4):(_1)"), "axe", replicas=True)
    with pytest.raises(tla.LeafTypeError, match="source for pycute with axes"):
        source(parse("_4:_1"), "pycute", axes=["laneid"])
    for system in ("mojo", "torch_view", "numpy_view", "cutile"):
        with pytest.raises(tla.LeafTypeError, match="a layout of offsets"):
            source(coordinates, system)
    for system in ("pycute", "mojo", "axe", "torch_view", "numpy_view", "cutile", "isl"):
        with pytest.raises(tla.LeafTypeError, match="known"):
            source(tla.MakeLayout((tla.dim("M"), 4)), system)
    with pytest.raises(ParseError, match="an origin_shape"):
        parse("S[8:1] + 4", origin_shape=(7,))
    assert parse("Layout((8,), (1,))", origin_shape=(7,)).origin_shape == (7,)


@pytest.mark.parametrize("axes", [["a", "a"], ["a1"], ["a b", "c"], [""], [None], [1, 2], "ab", 5, {"a": 1}])
def test_axes_of_one_name_and_what_are_no_names_are_refused(axes):
    """Two axes of one name would be one axis, which is another layout."""
    with pytest.raises(tla.TlaError, match=r"names that differ|a name for each axis|a list of names"):
        source(parse("(_8,_4):(_4@0,_1@1)"), "axe", axes=axes)


@pytest.mark.parametrize("system", ["torch_view", "numpy_view", "cutile"])
@pytest.mark.parametrize("text", ["_8589934592:_2147483648", "(_4294967296,_4294967296):(_0,_0)"])
def test_a_view_of_2_to_the_63_places_is_refused(system, text):
    """Neither torch nor numpy has so many, and no text is written that `parse` would not read; one place fewer is."""
    with pytest.raises(TlaError, match=r"as a view"):
        source(parse(text), system)
    most = parse("_2:_9223372036854775806")
    assert parse(source(most, "torch_view"))(1) == 2**63 - 2
