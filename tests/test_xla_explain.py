"""What XLA's documents say, item by item: steps of the linear index, names of dimensions, padding, figures, protos."""

import contextlib
import itertools
import json
import math
import re

import numpy as np
import pytest

import tla
from tla import LoweringError, ParseError, RangeError, RankError, TlaError, dim, xla
from tla.apps.cli import main

import oracle
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
    assert xla.parse_shape(minus) == xla.parse_shape(star)
    assert xla.parse_shape(star).text(combine="-1") == minus
    assert str(xla.parse_shape(minus)) == star
    assert xla.parse_shape(xla.parse_shape(star).text("-1")) == xla.parse_shape(star)
    assert xla.linear_index_with_tile((2, 7, 1), (3, 8, 4), (-1, -1, 3)) == xla.linear_index("f32[3,8,4]{2,1,0:T(*,*,3)}", (2, 7, 1))
    for last in ("f32[7,8]{1,0:T(2,-1)}", "f32[7,8]{1,0:T(2,-2)}"):
        with pytest.raises(ParseError):
            xla.parse_shape(last)


@pytest.mark.parametrize("case", INDEX[::7], ids=lambda case: case["spec"])
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
    assert named.offset.at({"M": 100, "N": 300, "y": 77, "x": 299}) == xla.linear_index("f32[100,300]{1,0:T(8,128)}", (77, 299))
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


@pytest.mark.parametrize("case", INDEX[::23], ids=lambda case: case["spec"])
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
    for name, number in {"INVALID_PAD": 0, "ZERO_PAD": 1, "ONE_PAD": 2, "LOWEST_PAD": 3, "HIGHEST_PAD": 4, "UNKNOWN_PAD": 5}.items():
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


# ----------------------------------------------------------------------------------- symbols, arrays, tracers


@pytest.mark.parametrize("case", INDEX[::5], ids=lambda case: case["spec"])
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
    assert [part.at(k=7) for part in xla.multi_index("f32[2,6]{1,0:T(2,2)}", k)] == [*xla.multi_index("f32[2,6]{1,0:T(2,2)}", 7)]


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


# ------------------------------------------------------------------------------------------------ in the shell


def test_the_command_explains(capsys):
    assert main(["explain", "F32[3,5]{1,0:T(2,2)}", "2,3"]) == 0
    assert capsys.readouterr().out.strip() == str(xla.explain("F32[3,5]{1,0:T(2,2)}", (2, 3)))
    assert main(["explain", "f32[3,5]{1,0:T(2,2)}", "--strip", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["strip"][9:12] == [None, [1, 4], None]
    assert main(["explain", "f32[3,5]{1,0:T(2,2)}", "--strip"]) == 0
    assert "(0,0) (0,1) (1,0) (1,1)" in capsys.readouterr().out
    assert main(["explain", "f32[3,5]", "9,9"]) == 1
