"""What XLA's documents say, item by item: steps of the linear index, names of dimensions, padding, figures, protos."""

import contextlib
import itertools
import json
import math
import re
from types import SimpleNamespace

import numpy as np
import pytest

import tla
from tla import LoweringError, ParseError, RangeError, RankError, TlaError, dim, xla
from tla.apps.cli import main
from tla.xla.shapes.foreign import array_like, element_type, type_name

import oracle
from batches import in_batches
from truth import DATA, rows

INDEX = [case for case in rows("xla/index.json") if math.prod(case["dims"]) <= 5000]


# --------------------------------------------------------------------------------------- docs/tiled_layout.md


def test_each_step_of_the_linear_index_to_17():
    found = xla.explain("F32[3,5]{1,0:T(2,2)}", (2, 3))
    assert found.offset == 17
    assert [step.coord for step in found.steps] == [(2, 3), (2, 3), (1, 1, 0, 1)]  # the combined coordinate
    assert [step.dimensions for step in found.steps] == [(3, 5), (3, 5), (2, 3, 2, 2)]
    assert str(found).endswith("((1*3+1)*2+0)*2+1 = 17")
    assert xla.linear_index_with_tile((2, 3), (3, 5), (2, 2)) == 17


def test_the_intermediate_shape_of_combined_dimensions():
    text = "F32[2,7,8,11,10]{4,3,2,1,0:T(*,*,2,*,3)}"
    assert str(xla.combined_shape(text)) == "f32[112,110]{1,0:T(2,3)}"
    assert xla.explain(text, (0, 0, 0, 0, 0)).steps[2].name == "combine into f32[112,110]"
    whole, merged = xla.parse_shape(text), xla.combined_shape(text)
    for index in itertools.product((0, 1), (0, 3, 6), (1, 7), (0, 10), (4, 9)):
        place = ((index[0] * 7 + index[1]) * 8 + index[2], index[3] * 10 + index[4])
        assert xla.linear_index(whole, index) == xla.linear_index(merged, place)
    with pytest.raises(LoweringError, match="combines no dimensions"):
        xla.combined_shape("f32[3,5]{1,0:T(2,2)}")


def test_minus_one_is_the_star_of_a_tile_in_and_out():
    star, minus = "f32[7,8]{1,0:T(*,2)}", "f32[7,8]{1,0:T(-1,2)}"
    assert xla.parse_shape("f32[7,8]{1,0:T(\u2217,2)}") == xla.parse_shape(star)  # as pasted from the document
    assert xla.parse_shape(minus) == xla.parse_shape(star)
    assert xla.parse_shape(star).text(combine="-1") == minus
    assert str(xla.parse_shape(minus)) == star
    assert xla.parse_shape(xla.parse_shape(star).text("-1")) == xla.parse_shape(star)
    assert xla.linear_index_with_tile((2, 7, 1), (3, 8, 4), (-1, -1, 3)) == xla.linear_index(
        "f32[3,8,4]{2,1,0:T(*,*,3)}", (2, 7, 1)
    )
    for last in ("f32[7,8]{1,0:T(2,-1)}", "f32[7,8]{1,0:T(2,-2)}"):
        with pytest.raises(ParseError):
            xla.parse_shape(last)


@in_batches(INDEX[::7])
def test_every_explanation_ends_at_the_linear_index(case):
    shape = xla.parse_shape(case["spec"])
    for coord, offset in case["samples"][:6]:
        found = xla.explain(shape, tuple(coord))
        last = found.steps[-1]
        assert found.offset == offset == int(np.ravel_multi_index(last.coord, last.dimensions) if last.coord else 0)
        assert all(0 <= i < max(n, 1) for step in found.steps for i, n in zip(step.coord, step.dimensions))
        assert [*found.steps[-1].dimensions] == case["final_shape"]
        text = str(found).splitlines()[-1]
        formula = text.removeprefix("offset").split("=")[0]
        assert set(formula) <= set("0123456789+*() ")  # arithmetic and nothing else
        assert eval(formula) == offset


def test_formulas_over_names_with_the_sizes_of_tiles_as_names_too():
    (y, x), (M, N, a, b) = (dim(n, at_least=0) for n in "yx"), (dim(n) for n in "MNab")
    formula = xla.linear_index_with_tile((y, x), (M, N), (a, b))
    for yv, xv, Mv, Nv, av, bv in itertools.product((0, 5), (0, 7), (6, 9), (8, 11), (2, 4), (3, 4)):
        assert formula.at({"y": yv, "x": xv, "M": Mv, "N": Nv, "a": av, "b": bv}) == xla.linear_index_with_tile(
            (yv, xv), (Mv, Nv), (av, bv)
        )
    named = xla.explain("f32[M,N]{1,0:T(8,128)}")
    assert named.offset.at({"M": 100, "N": 300, "y": 77, "x": 299}) == xla.linear_index(
        "f32[100,300]{1,0:T(8,128)}", (77, 299)
    )
    assert "linear_index((y//8,x//128,y%8,x%128), (ceil(M/8),ceil(N/128),8,128))" in str(named)
    assert xla.explain("f32[M,N]{1,0:T(8,128)}", (1, 2), M=3, N=5).offset == 130


def test_figure_1_the_strip_of_memory_with_padding():
    slots = xla.strip("f32[3,5]{1,0:T(2,2)}")  # noqa: B005  # no text's strip
    assert len(slots) == 24
    assert slots[:4] == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert slots.count(None) == 9
    for slot, index in enumerate(slots):
        assert index == xla.multi_index("f32[3,5]{1,0:T(2,2)}", slot)
    assert "".join(xla.strip("f32[3,5]{1,0:T(2,2)}", "abcdefghijklmno", ".")) == "abfgcdhie.j.kl..mn..o..."


def test_figure_2_is_drawn_in_four_tiles():
    from tla.viz import draw, svg

    picture = svg(draw(xla.parse_shape("bf16[4,8]{1,0:T(2,4)(2,1)}"), color_by="tile"))
    assert len({*re.findall(r'fill="(#\w{6})"', picture)} - {"#ffffff", "#666666"}) == 4


@in_batches(INDEX[::23])
def test_strips_are_the_array_in_memory(case):
    table = oracle.xla_offsets(case["dims"], case["minor_to_major"], case["tiles"])
    count = math.prod(case["dims"])
    strip = xla.strip(case["spec"], range(count), -1)
    expected = [-1] * len(strip)
    for k, at in enumerate(np.asarray(table).ravel()):
        expected[at] = k
    assert [*strip] == expected


# -------------------------------------------------------------------------------------------- docs/shapes.md


def test_rank_true_rank_numbers_and_letters():
    assert xla.true_rank("f32[2,1,3]") == 2
    assert xla.dimension_letters(2) == ("y", "x")
    assert xla.dimension_letters(3) == ("z", "y", "x")
    assert xla.dimension_letters(4) == ("p", "z", "y", "x")
    shape = "f32[2,3,5,7]"
    assert [xla.dimension_number(shape, d) for d in ("p", "z", "y", "x", -4, -1, 0, 3)] == [0, 1, 2, 3, 0, 3, 0, 3]
    for bad in (4, -5, "q", ""):
        with pytest.raises(RangeError):
            xla.dimension_number(shape, bad)
    with pytest.raises(RangeError, match="letters for 5"):
        xla.dimension_letters(5)


def test_minor_to_major_of_the_document():
    assert xla.strip("f32[2,3]{0,1}", "abcdef") == tuple("adbecf")
    assert xla.strip("f32[2,3]{1,0}", "abcdef") == tuple("abcdef")


def test_padding_of_the_early_form_and_what_it_holds():
    padded = xla.lower_padded((2, 3), (0, 1), (3, 5))
    assert "".join(map(str, xla.strip(padded, "abcdef", xla.padding_value("ZERO_PAD", "f32")))) == "ad0be0cf0000000"
    padded = xla.lower_padded((2, 3), (1, 0), (3, 5))
    assert "".join(map(str, xla.strip(padded, "abcdef", 0))) == "abc00def0000000"
    for name, number in {
        "INVALID_PAD": 0,
        "ZERO_PAD": 1,
        "ONE_PAD": 2,
        "LOWEST_PAD": 3,
        "HIGHEST_PAD": 4,
        "UNKNOWN_PAD": 5,
    }.items():
        for kind in ("f32", "s8", "u4", "pred", "f8e4m3fn"):
            assert xla.padding_value(name, kind) == xla.padding_value(number, kind)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint64"):
        info, kind = np.iinfo(name), ("u" if name[0] == "u" else "s") + name.strip("uint")
        assert (xla.padding_value("LOWEST_PAD", kind), xla.padding_value("HIGHEST_PAD", kind)) == (info.min, info.max)
    assert xla.padding_value("LOWEST_PAD", "bf16") == -math.inf
    assert xla.padding_value("HIGHEST_PAD", "f8e4m3fn") == 448
    for bad in ((6, "f32"), ("ZERO", "f32"), (1, "f31"), (None, "f32"), (1, None)):
        with pytest.raises(RangeError):
            xla.padding_value(*bad)
    with pytest.raises(LoweringError):
        xla.padding_value("LOWEST_PAD", "c64")


@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("f8e4m3fn", -448.0, 448.0), ("f8e4m3fnuz", -240.0, 240.0), ("f8e4m3b11fnuz", -30.0, 30.0), ("f8e5m2fnuz", -57344.0, 57344.0),
        ("f6e2m3fn", -7.5, 7.5), ("f6e3m2fn", -28.0, 28.0), ("f4e2m1fn", -6.0, 6.0), ("f8e8m0fnu", 2.0**-127, 2.0**127),
        ("f8e5m2", -math.inf, math.inf), ("f8e4m3", -math.inf, math.inf), ("f8e3m4", -math.inf, math.inf), ("f16", -math.inf, math.inf),
        ("f64", -math.inf, math.inf), ("pred", False, True), ("s1", -1, 0), ("u1", 0, 1), ("s2", -2, 1), ("u2", 0, 3), ("s4", -8, 7),
        ("u4", 0, 15), ("s8", -128, 127), ("u8", 0, 255), ("s64", -(2**63), 2**63 - 1), ("u64", 0, 2**64 - 1),
    ],
)  # fmt: skip
def test_what_padding_holds_of_each_type(kind, low, high):
    """The formats of OCP and of the fnuz family; infinities where a type has them; PaddingValue of xla_data.proto."""
    found = [
        xla.padding_value(name, kind)
        for name in ("INVALID_PAD", "ZERO_PAD", "ONE_PAD", "LOWEST_PAD", "HIGHEST_PAD", "UNKNOWN_PAD")
    ]
    zero, one = (False, True) if kind == "pred" else (0, 1)
    assert found == [None, zero, one, low, high, None]
    assert [type(x) for x in found[1:5]] == [type(x) for x in (zero, one, low, high)]


def test_offsets_of_few_numbers_are_told_plainly():
    assert str(xla.explain("f32[7]{0}", (5,))).splitlines()[-1] == "offset     5"
    assert str(xla.explain("f32[]", ())).splitlines()[-1].split() == ["offset", "0"]
    assert str(xla.explain("f32[3,7]{1,0}", (2, 5))).splitlines()[-1].split(maxsplit=1) == ["offset", "2*7+5 = 19"]


def test_strips_that_are_none_are_refused():
    for bad, error in (
        (("f32[3,5]", "abc"), RankError),
        (("f32[99999999]",), RangeError),
        ((tla.parse("(3,5):(0,1)"),), RangeError),
        (("f32[3,5]", 7), TlaError),
        (("(f32[3])",), LoweringError),
        ((tla.MakeLayout(tla.dims("M N")),), LoweringError),
    ):
        with pytest.raises(error):
            xla.strip(*bad)
    assert xla.strip("f32[0,5]{1,0:T(8,128)}") == ()  # noqa: B005
    assert xla.strip("f32[]") == ((),)


def test_the_edges_of_a_strip():
    for elements in (
        {1, 2, 3},
        type("Given", (), {"__getitem__": None})(),
        type("Sized", (), {"__len__": lambda _self: 3})(),
    ):
        with pytest.raises(tla.LeafTypeError, match=r"^elements of type"):
            xla.strip("f32[3]", elements)
    assert xla.strip("f32[3]", "abc") == ("a", "b", "c")
    assert xla.strip(xla.lower_padded((), (), ())) == ((),)
    assert xla.strip("f32[]{:T(4)}", "a", ".") == ("a", ".", ".", ".")
    assert xla.strip("f32[3]{0:T(2)L(8)}", "abc", ".") == (*"abc", *".....")
    for text, place in (
        ("(2,2):(1,4)", r"\(0, 1\) of .* is at 4"),
        ("(2,2):(2,-1)", r"\(0, 1\) of .* is at -1"),
        ("(2,2):(1,1)", r"\(1, 0\) of .* is at 1"),
    ):
        with pytest.raises(RangeError, match=place):
            xla.strip(tla.parse(text))
    assert xla.strip(tla.parse("(2,2):(1,2)")) == ((0, 0), (1, 0), (0, 1), (1, 1))
    with pytest.raises(RangeError, match="1,048,577 slots"):
        xla.strip(tla.parse("1048577:1"))


# ----------------------------------------------------------------------------------- symbols, arrays, tracers


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: xla.linear_index("f32[3,5]", (3, 0)), RangeError, "expected  0 to 2 in dimension 0\n"),
        (lambda: xla.linear_index("f32[3,5]", (0, 5)), RangeError, "expected  0 to 4 in dimension 1\n"),
        (lambda: xla.linear_index("f32[3,0]", (0, 0)), RangeError, "expected  none: dimension 1 is empty\n"),
        (lambda: xla.linear_index("f32[3,5]", (0, -1)), RangeError, "expected  0 to 4 in dimension 1\n"),
        (lambda: xla.linear_index("f32[3,5]", "ab"), tla.LeafTypeError, "index of type str"),
        (lambda: xla.linear_index("f32[3]", (np.array([2**63], "uint64"),)), RangeError, "an index from 9223372036854775808"),
        (lambda: xla.linear_index("f32[3]", (np.array([0, -1]),)), RangeError, "an index from -1 to 0"),
        (lambda: xla.linear_index("f32[3]", (np.array([0, 3]),)), RangeError, "expected  0 to 2 in dimension 0\n"),
        (lambda: xla.linear_index("f32[3]", (np.array([0.0]),)), tla.LeafTypeError, "an index of float64"),
        (lambda: xla.multi_index("f32[3,5]{1,0:T(2,2)}", 24), RangeError, "expected  0 to 23\n"),
        (lambda: xla.multi_index("f32[3,5]{1,0:T(2,2)}", -1), RangeError, "expected  0 to 23\n"),
        (lambda: xla.multi_index("f32[3]{0:T(4)L(16)}", 16), RangeError, "expected  0 to 15\n"),
        (lambda: xla.multi_index("f32[0]{0:T(4)L(16)}", 0), RangeError, "expected  none: the array is empty\n"),
        (lambda: xla.linear_index_with_tile((1,), (3, 5), (2, 2)), RankError, "an index of 1, 2 dims and a tile of 2"),
        (lambda: xla.linear_index_with_tile((1, 1), (3,), (2, 2)), RankError, "an index of 2, 1 dims and a tile of 2"),
        (lambda: xla.linear_index_with_tile((1, 1), (3, 5), (2,)), RankError, "an index of 2, 2 dims and a tile of 1"),
        (lambda: xla.linear_index_with_tile((1, 1), (3, 5), (2, -2)), RangeError, r"tile \(2,-2\) has the entry -2"),
        (lambda: xla.linear_index_with_tile((1, 1), (3, 5), (0, 2)), RangeError, r"tile \(0,2\) has the entry 0"),
        (lambda: xla.linear_index_with_tile((1, 1), (3, 5), (2, "*")), RangeError, r"ends with \*"),
        (lambda: xla.linear_index_with_tile((1, 1), 3, (2, 2)), tla.LeafTypeError, "dims of type int"),
        (lambda: xla.linear_index_with_tile((1, 1), (3, 5), 2), tla.LeafTypeError, "tile of type int"),
        (lambda: xla.explain("f32[0,5]"), RangeError, "expected  none: dimension 0 is empty"),
        (lambda: xla.explain("f32[5,0]{1,0:T(8,128)}"), RangeError, "expected  none: dimension 1 is empty"),
        (lambda: xla.explain("f32[3,5]", "ab"), tla.LeafTypeError, "an index of type str"),
        (lambda: xla.explain("f32[3,5]", (1, 1.5)), tla.LeafTypeError, "1.5 in an index of"),
        (lambda: xla.explain("f32[3,5]", (1, 1, 1)), RankError, "2 integers"),
    ],
)  # fmt: skip
def test_what_an_index_has_to_be(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_indices_at_the_edge_are_taken():
    assert xla.linear_index("f32[3,5]", (2, 4)) == 14
    assert xla.linear_index("f32[3]", (np.array([], int),)).tolist() == []
    assert xla.linear_index("f32[3]", [np.array([2, 0], "uint64")]).tolist() == [2, 0]
    assert xla.multi_index("f32[3,5]{1,0:T(2,2)}", 0) == (0, 0)
    assert [x.tolist() for x in xla.multi_index("f32[3]{0:T(4)L(16)}", np.arange(16))] == [[0, 1, 2, *[-1] * 13]]
    for tile in ((1, 2), (3, 5), (4, 1), ("*", 4), (-1, 4)):
        text = f"f32[3,5]{{1,0:T({','.join(map(str, tile))})}}"
        for index in itertools.product(range(3), range(5)):
            assert xla.linear_index_with_tile(index, (3, 5), tile) == xla.linear_index(text, index)
    assert str(xla.explain("f32[2,3,4,5,6]")).splitlines()[1] == "index              (i0,i1,i2,i3,i4) in (2,3,4,5,6)"
    assert str(xla.explain("f32[1,5]").offset) == "x+5*y"
    assert str(xla.explain("f32[4,6]", ("a", 2)).offset) == "6*a+2"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (np.int8, "s8"), (np.dtype("uint16"), "u16"), (np.float32(1.5), "f32"), (np.zeros(3, "int64"), "s64"), (bool, "pred"), (np.bool_, "pred"),
        (np.dtype("complex64"), "c64"), ("bf16", "bf16"), (np.str_("bf16"), "bf16"), ("float", "float"), (int, int), (float, float), (None, None), (3, 3),
        (type("Struct", (), {"dtype": np.dtype("int8")})(), "s8"),
    ],
)  # fmt: skip
def test_dtypes_and_what_is_none(given, name):
    assert type_name(given) == name


def test_dtypes_that_xla_does_not_have():
    for given in (complex, str, np.dtype("U3"), np.dtype("float128") if hasattr(np, "float128") else object, object):
        with pytest.raises(tla.LeafTypeError, match="one that XLA has"):
            type_name(given)
    kinds = {
        "int4": "s4",
        "uint2": "u2",
        "bfloat16": "bf16",
        "float16": "f16",
        "float8_e4m3b11fnuz": "f8e4m3b11fnuz",
        "complex128": "c128",
        "bool": "pred",
    }
    assert {k: element_type(k) for k in kinds} == kinds


def test_arrays_of_others_are_shapes():
    made = SimpleNamespace
    assert array_like(np.zeros((3, 5), "int16")) == xla.parse_shape("s16[3,5]")
    assert array_like(made(shape=(3,), dtype=np.dtype("f4"))) == xla.parse_shape("f32[3]")
    for none in (
        "f32[3]",
        np.str_("f32[3]"),
        b"x",
        np.bytes_(b"x"),
        made(shape=(3,)),
        made(dtype=np.dtype("f4")),
        made(shape=(3,), dtype=None),
        None,
    ):
        assert array_like(none) is None
    for layout, taken in (
        (made(major_to_minor=(0, 1), tiling=None), True), (made(major_to_minor=(0, 1), tiling=()), True), (made(tiling=()), True), (made(), True),
        (made(major_to_minor=(1, 0), tiling=None), False), (made(major_to_minor=(0, 1), tiling=((8, 128),)), False), (None, True),
    ):  # fmt: skip
        array = made(shape=(3, 5), dtype=np.dtype("f4"), format=made(layout=layout))
        if taken:
            assert array_like(array) == xla.parse_shape("f32[3,5]")
        else:
            with pytest.raises(tla.LeafTypeError, match="one in row-major order without tiles"):
                array_like(array)


@in_batches(INDEX[::5])
def test_indices_of_arrays_are_those_of_each_element(case):
    dims = case["dims"]
    grid = np.indices(dims)
    found = xla.linear_index(case["spec"], tuple(grid))
    expected = np.asarray(oracle.xla_offsets(dims, case["minor_to_major"], case["tiles"])).reshape(dims)
    assert (np.broadcast_to(found, dims) == expected).all()
    back = xla.multi_index(case["spec"], expected)
    assert all((a == b).all() for a, b in zip(back, grid))
    slots = np.arange(math.prod(case["final_shape"]))
    inside = np.isin(slots, expected)
    for part in xla.multi_index(case["spec"], slots) if dims else ():
        assert ((part >= 0) == inside).all()


def test_indices_of_arrays_and_symbols_are_checked():
    for bad in (np.array([3]), np.array([-1]), np.array([1.5])):
        with pytest.raises(TlaError):
            xla.linear_index("f32[3,5]{1,0:T(2,2)}", (bad, 0))
    with pytest.raises(RangeError):
        xla.multi_index("f32[3,5]{1,0:T(2,2)}", np.array([24]))
    assert xla.linear_index("f32[3,5]", (np.array([2], "int8"), np.array([4], "uint8"))).tolist() == [14]
    free = dim("free", at_least=0)
    with pytest.raises(tla.Unproven, match="free"):
        xla.linear_index("f32[3,5]{1,0:T(2,2)}", (free, 0))
    with tla.assuming() as conditions:
        formula = xla.linear_index("f32[3,5]{1,0:T(2,2)}", (free, 0))
    assert len(conditions) == 1
    assert [formula.at(free=k) for k in range(3)] == [0, 2, 12]
    k = tla.index("k", below=12)
    assert [part.at(k=7) for part in xla.multi_index("f32[2,6]{1,0:T(2,2)}", k)] == [
        *xla.multi_index("f32[2,6]{1,0:T(2,2)}", 7)
    ]


# -------------------------------------------------------------------------------------------------- protos


PROTOS = json.loads((DATA / "xla" / "protos.json").read_text())["cases"]


def test_protos_are_those_of_jaxlib():
    for row in PROTOS:
        shape = xla.parse_shape(row["shape"]).with_layout()
        assert xla.proto_bytes(shape).hex() == row["proto"], row
        assert xla.from_proto(bytes.fromhex(row["proto"])) == shape


@pytest.mark.parametrize("combine", [-(2**63), -1])
def test_protos_go_back(combine):
    texts = [case["spec"] for case in rows("xla/index.json")[::40]] + [row["shape"] for row in PROTOS]
    for text in [*texts, "f32[]", "token[]", "()", "b(f32[3]{0})", "opaque[]", "f32[?,<=3]"]:
        shape = xla.parse_shape(text)
        assert xla.from_proto(xla.to_proto(shape, combine)) == shape
        assert xla.from_proto(xla.proto_text(shape, combine)) == shape
        assert xla.from_proto(json.loads(json.dumps(xla.to_proto(shape)))) == shape
        if getattr(shape, "layout", None):
            assert xla.from_proto(xla.to_proto(shape.layout)) == shape.layout
            assert xla.from_proto(xla.proto_text(shape.layout)) == shape.layout


#: The enum of xla_data.proto, value by value; it has no 0 but PRIMITIVE_TYPE_INVALID.
PRIMITIVE_TYPES = """ 1 PRED 2 S8 3 S16 4 S32 5 S64 6 U8 7 U16 8 U32 9 U64 10 F16 11 F32 12 F64 13 TUPLE 14 OPAQUE_TYPE
15 C64 16 BF16 17 TOKEN 18 C128 19 F8E5M2 20 F8E4M3FN 21 S4 22 U4 23 F8E4M3B11FNUZ 24 F8E5M2FNUZ 25 F8E4M3FNUZ 26 S2 27
U2 28 F8E4M3 29 F8E3M4 30 S1 31 U1 32 F4E2M1FN 33 F8E8M0FNU 34 BUFFER 35 F6E3M2FN 36 F6E2M3FN""".split()


def test_numbers_of_element_types_and_fields_are_those_of_xla_data_proto():
    known = {name: int(n) for n, name in zip(PRIMITIVE_TYPES[::2], PRIMITIVE_TYPES[1::2])}
    for name, number in known.items():
        inner = [{"element_type": "F32"}] if name == "BUFFER" else []
        shapes = [
            xla.from_proto({"element_type": kind, "tuple_shapes": inner}) for kind in (name, number, name.lower())
        ]
        assert xla.to_proto(shapes[0])["element_type"] == name
        assert shapes[0] == shapes[1] == shapes[2]
        assert xla.proto_bytes(shapes[0])[:2] == bytes([2 << 3, number])
    for number in (0, 37, -1):
        with pytest.raises(RangeError, match="a PrimitiveType"):
            xla.from_proto({"element_type": number})
    # each field begins with its number << 3, and | 2 where a length follows: it is repeated, or a message
    layout = [
        "0a020100",
        "32050a03088001",
        "3820",
        "4003",
        "7805",
        "800102",
        "8a01050801120140",
    ]  # 1, 6, 7, 8, 15, 16 and 17
    shape = ["100b", "1a037f8001", f"2a{sum(map(len, layout)) // 2:02x}", *layout, "32020001"]  # 2, 3, 5 and 6
    assert xla.proto_bytes("f32[127,<=128]{1,0:T(8,128)L(2)E(32)S(3)SC(1:64)M(5)}").hex() == "".join(shape)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("element_type: F32 format: DENSE", ParseError, "unexpected 'format'"),
        ("element_type: F32 foo: 1", ParseError, "unexpected 'foo'"),
        ("minor_to_major: 0 foo: 1", ParseError, "unexpected 'foo'"),
        ("minor_to_major: 0 max_sparse_elements: 1", LoweringError, "field max_sparse_elements of a LayoutProto"),
        (
            {"minor_to_major": [0], "max_sparse_elements": 1},
            LoweringError,
            "field max_sparse_elements of a LayoutProto",
        ),
        (
            {"minor_to_major": [0], "max_sparse_elements": -1},
            LoweringError,
            "field max_sparse_elements of a LayoutProto",
        ),
        ({"minor_to_major": [0], "padding_value": "ZERO_PAD"}, LoweringError, "field padding_value of a LayoutProto"),
        ({"minor_to_major": [0], "physical_shape": {}}, LoweringError, "field physical_shape of a LayoutProto"),
        ({"minor_to_major": [0], "foo": 0}, RangeError, "field 'foo' of a LayoutProto"),
        ({"minor_to_major": [0], "foo": 1}, RangeError, "field 'foo' of a LayoutProto"),
        ({"element_type": "F32", "foo": None}, RangeError, "field 'foo' of a ShapeProto"),
    ],
)
def test_fields_that_are_none_or_gone_are_refused(text, error, says):
    with pytest.raises(error, match=says):
        xla.from_proto(text)


@pytest.mark.parametrize("empty", [None, 0, "PRIMITIVE_TYPE_INVALID", "INVALID_PAD", [], ()])
def test_fields_that_are_gone_may_be_there_and_say_nothing(empty):
    for name in (
        "padded_dimensions",
        "padding_value",
        "format",
        "max_sparse_elements",
        "dim_level_types",
        "dim_unique",
        "dim_ordered",
    ):
        assert str(xla.from_proto({"minor_to_major": [0], name: empty})) == "{0}"
    for name in ("index_primitive_type", "pointer_primitive_type", "physical_shape"):
        assert str(xla.from_proto({"minor_to_major": [0], name: empty})) == "{0}"


def test_protos_that_are_none_are_refused():
    good = xla.proto_bytes("f32[3,5]{1,0:T(2,2)}")
    for cut in range(1, len(good)):
        with contextlib.suppress(TlaError):
            xla.from_proto(good[:cut])
    for bad in (
        "element_type: F31", "element_type: F32 dimensions: x", "element_type: F32 layout {", "element_type: F32 }", "minor_to_major: x",
        "element_type: F32 dimensions: [3", "element_type: F32 element_type: F32", "element_type: F32 dimension: 3", "element_type F32 \0",
        {"element_type": None}, {"element_type": "F32", "dimensions": None}, {"element_type": "F32", "dimensions": ["x"]}, {"tiles": 3},
        {"element_type": "F32", "layout": 7}, {"element_type": "TUPLE", "tuple_shapes": [3]}, {"element_type": "BUFFER"}, None, 7, b"\xff", [],
        {"minor_to_major": [1, 0], "padded_dimensions": [3, 5]}, {"element_type": "F32", "is_dynamic_dimension": [True]},
        {"element_type": "F32", "dimensions": [2**70]}, "element_type: TUPLE " + "tuple_shapes { element_type: TUPLE " * 300 + "}" * 300,
    ):  # fmt: skip
        with pytest.raises(TlaError):
            xla.from_proto(bad)
    with pytest.raises(LoweringError):
        xla.to_proto(xla.parse_shape("f32[M]", symbols=[dim("M")]))


@pytest.mark.parametrize(
    ("text", "what", "expected", "at"),
    [
        ("element_type: F32 layout: 3", "unexpected '3'", "'{'", 26),
        ("element_type: F32 layout {", "the text ends", "a field of a LayoutProto: ", 26),
        ("element_type: F32 layout < minor_to_major: 0", "the text ends", "a field of a LayoutProto: ", 44),
        (
            "element_type: F32 layout < minor_to_major: 0 }",
            "unexpected '}'",
            "a field of a LayoutProto: minor_to_major, ",
            45,
        ),
        ("element_type: F32 }", "unexpected '}'", "a field of a ShapeProto: element_type, dimensions, ", 18),
        ("element_type: F32 element_type: F32", "element_type is given 2 times", "once", 18),
        ("element_type: [F32, F32]", "element_type is given 2 times", "once", 0),
        ("element_type: []", "element_type is given 0 times", "once", 0),
        ("element_type: F32 dimensions", "the text ends", "a value", 28),
        ("element_type: F32 dimensions: [3", "the text ends", "',' or ']'", 32),
        ("element_type: F32 dimensions: {", "unexpected '{'", "a value", 30),
        (
            "element_type: F32 dimensions: 123456789012345678901",
            "123456789012345678901 does not fit in 64 bits",
            "-9223372036854775808 to ",
            30,
        ),
        ("element_type: F32 dimensions: \0 3", "unexpected '\\x00'", "a value", 30),
    ],
)
def test_what_is_wrong_in_the_text_of_a_proto(text, what, expected, at):
    with pytest.raises(ParseError) as caught:
        xla.from_proto(text)
    assert (caught.value.reason.what.partition(", at position")[0], caught.value.position) == (what, at)
    assert caught.value.reason.expected.startswith(expected)


def test_no_text_of_a_proto_takes_long():
    """Blanks before a fault were tried in 2**n ways; of a comment that ends the text, its last letters were a name."""
    for blanks in (" " * 100_000, "#\n" * 50_000, "# x" * 50_000 + "\n"):
        assert str(xla.from_proto(f"element_type: F32{blanks}dimensions: 3{blanks}")) == "f32[3]"
        with pytest.raises(ParseError, match="unexpected"):
            xla.from_proto(f"element_type: F32{blanks}\0")


@pytest.mark.parametrize(
    ("proto", "shape"),
    [
        ("element_type: F32, dimensions: 3; dimensions: 5", "f32[3,5]"),
        ("# a comment\nelement_type: f32 dimensions: [3, 5] # another\n", "f32[3,5]"),
        ("element_type: F32 dimensions [3, 5] dimensions: [] dimensions: 7", "f32[3,5,7]"),
        ("element_type: F32 dimensions: 3 is_dynamic_dimension: true layout: < minor_to_major: 0 >", "f32[<=3]{0}"),
        ("element_type: F32 dimensions: 3 is_dynamic_dimension: false layout: [{ minor_to_major: 0 memory_space: 5 }]", "f32[3]{0:S(5)}"),
        ("element_type: 11 dimensions: -9223372036854775808", "f32[?]"),
        ("element_type: F32 dimensions: 9 layout { minor_to_major: 0 split_configs { split_indices: 4 } }", "f32[9]{0:SC(0:4)}"),
        ("element_type: F32 dimensions: [7, 8] layout { minor_to_major: [1, 0] tiles { dimensions: [-1, 2] } }", "f32[7,8]{1,0:T(*,2)}"),
        ("element_type: F32 layout { tail_padding_alignment_in_elements: 0 }", "f32[]"),
        ("element_type: F32 dimensions: 3 layout { minor_to_major: 0 tiles { dimensions: 2 } tail_padding_alignment_in_elements: 8 element_size_in_bits: 32 "
            "memory_space: 3 dynamic_shape_metadata_prefix_bytes: 5 }", "f32[3]{0:T(2)L(8)E(32)S(3)M(5)}"),
        ("element_type: OPAQUE", "opaque[]"),
        ("element_type: TUPLE", "()"),
        ({"element_type": "BUFFER", "tuple_shapes": {"element_type": "F32", "dimensions": 3}}, "b(f32[3])"),
        ({"element_type": "F32", "dimensions": "3"}, "f32[3]"),
        ({"element_type": "F32", "dimensions": ("3", 5), "is_dynamic_dimension": [0, 1]}, "f32[3,<=5]"),
        ({"element_type": "S8", "dimensions": [2**63 - 1]}, f"s8[{2**63 - 1}]"),
        (b"\x10\x0b\x18\x03\x18\x05", "f32[3,5]"),  # each number by itself
        (b"\x10\x0b\x1a\x03\x03\x80\x02", "f32[3,256]"),  # packed
        (b"\x10\x0a\x10\x0b", "f32[]"),  # the last one counts
        (b"\x12\x02\x0a\x0b\x12\x00", "f32[]"),
        (b"\x48\x07\x52\x02\xff\xff\x10\x0b\x18\x03", "f32[3]"),  # fields 9 and 10 are of no ShapeProto
        (b"\x10\x0b\x18\x03\x30\x02", "f32[<=3]"),
        (b"\x10\x0b\x18" + b"\x80" * 9 + b"\x01", "f32[?]"),
        (b"\x10\x02\x18" + b"\xff" * 8 + b"\x7f", f"s8[{2**63 - 1}]"),
    ],
)  # fmt: skip
def test_every_way_to_write_a_proto(proto, shape):
    assert xla.from_proto(proto) == xla.parse_shape(shape)


@pytest.mark.parametrize(
    ("proto", "error", "says"),
    [
        (b"\x11\x00", ParseError, "wire type 1 of field 2,"),
        (b"\x10\x0b\x25", ParseError, "wire type 5 of field 4,"),
        (b"\x13\x00", ParseError, "wire type 3 of field 2,"),
        (b"\x10\x0b\x1a\x02\x03", ParseError, "a field that is cut"),
        (b"\x10", ParseError, "a number that is cut"),
        (b"\x10\x8b", ParseError, "a number that is cut"),
        (b"\x10\x0b\x18" + b"\x80" * 10 + b"\x01", ParseError, "a number that is cut"),
        (b"\x10\x0b\x28\x01", ParseError, "a number in field layout"),
        (b"\x10\x0b\x18" + b"\xff" * 9 + b"\x01", RangeError, "a negative dimension"),
        ({"element_type": "BUFFER", "tuple_shapes": [{"element_type": "F32"}] * 2}, tla.LeafTypeError, "a buffer of a NoneType"),
        ({"element_type": "BUFFER"}, tla.LeafTypeError, "a buffer of a NoneType"),
        ({"element_type": "F32", "tuple_shapes": [{"element_type": "F32"}]}, RangeError, "tuple_shapes of f32"),
        ({"element_type": "TOKEN", "tuple_shapes": [{"element_type": "F32"}]}, RangeError, "tuple_shapes of token"),
        ({"element_type": "F32", "dimensions": [True]}, tla.LeafTypeError, "dimensions: True"),
        ({"element_type": "F32", "dimensions": ["1" * 21]}, tla.LeafTypeError, "dimensions: '1111"),
        ({"element_type": "F32", "dimensions": [2**63]}, tla.LeafTypeError, "dimensions: 9223372036854775808"),
        ({"element_type": "F32", "dimensions": [-(2**63) - 1]}, tla.LeafTypeError, "dimensions: -9223372036854775809"),
        ({"element_type": "F32", "dimensions": [1.0]}, tla.LeafTypeError, "dimensions: 1.0"),
        ({"element_type": 1.0}, RangeError, "element_type 1.0"),
        ({"element_type": "F32", "layout": 7}, tla.LeafTypeError, "a LayoutProto of type int"),
        (7, tla.LeafTypeError, "a proto of type int"),
    ],
)  # fmt: skip
def test_each_condition_of_a_proto_is_refused(proto, error, says):
    with pytest.raises(error, match=f"^{says}"):
        xla.from_proto(proto)


def test_a_number_on_the_wire_has_seven_bits_a_byte():
    for n, bits in (
        (0, "00"),
        (1, "01"),
        (127, "7f"),
        (128, "8001"),
        (300, "ac02"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2**60 - 1, "ff" * 8 + "0f"),
    ):
        length = len(bits) // 2
        assert xla.proto_bytes(f"s8[{n}]").hex() == f"10021a{length:02x}{bits}320100"
    assert xla.proto_bytes("s8[?]").hex() == "10021a0a" + "80" * 9 + "01" + "320101"


# ------------------------------------------------------------------------------------------------ in the shell


def test_the_command_explains(capsys):
    assert main(["explain", "F32[3,5]{1,0:T(2,2)}", "2,3"]) == 0
    assert capsys.readouterr().out.strip() == str(xla.explain("F32[3,5]{1,0:T(2,2)}", (2, 3)))
    assert main(["explain", "f32[3,5]{1,0:T(2,2)}", "--strip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["strip"][9:12] == [None, [1, 4], None]
    assert main(["explain", "f32[3,5]{1,0:T(2,2)}", "--strip"]) == 0
    assert "(0,0) (0,1) (1,0) (1,1)" in capsys.readouterr().out
    assert main(["explain", "f32[3,5]", "9,9"]) == 1
