import pytest
from hypothesis import given, strategies as st

import tla
from tla import Layout, LeafTypeError, ParseError, RankError, TlaError, is_static, parse
from tla.codegen import source


@pytest.mark.parametrize(
    "text",
    [
        "_4",
        "4",
        "-4",
        "_-30",
        "()",
        "(5)",
        "(_2,(4,_3))",
        "((),1)",
        "4:1",
        "():()",
        "(_2,4):(_12,_1)",
        "((_4,_2),(_4,_3)):((_4,_16),(_1,_32))",
    ],
)
def test_what_is_read_prints_the_same(text):
    assert str(parse(text)) == text


def test_kinds_of_result():
    assert is_static(parse("_4"))
    assert type(parse("4")) is int
    assert parse("(_2,(4,_3))") == (2, (4, 3))
    assert parse("(_2,(4,),)") == (2, (4,))  # as Python prints tuples
    assert isinstance(parse("4:1"), Layout)
    assert str(parse(" ( _4 , 2 ) : ( _1 , 4 ) ")) == "(_4,2):(_1,4)"
    assert parse("(4,8):(8,1)", origin_shape=(3, 5)).origin_shape == (3, 5)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("  ", 2),
        ("(", 1),
        ("(4", 2),
        ("(4,", 3),
        ("(4,,)", 3),
        ("(,4)", 1),
        ("(4 2)", 3),
        ("4)", 1),
        ("(4,2):", 6),
        ("(4,2):(1,4):(1)", 11),
        ("(4,x)", 3),
        ("(4,2.0)", 3),
        ("(4,1e3)", 3),
        ("(4,0x10)", 3),
        ("(4,+2)", 3),
        ("(4,--2)", 3),
        ("(4,__2)", 3),
        ("(4,_)", 3),
        ("(4,2_)", 3),
        ("(4,2;3)", 4),
        ("[4,2]", 0),
        ("(4,2):(1,4) ", None),
        ("__import__('os')", 0),
        ("(4,9223372036854775808)", 3),
        ("(4,-9223372036854775809)", 3),
        ("(4," + "9" * 5000 + ")", 3),
        ("(4,٣)", 3),
    ],
)
def test_malformed_text_says_where(text, position):
    if position is None:
        parse(text)
        return
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.position == position
    shown = str(caught.value).splitlines()
    line, mark = (s for s in shown[1:3])
    assert mark.strip() == "^"
    if position < len(text) and len(text) < 60:
        assert line[mark.index("^")] == text[position]


def test_limits_of_numbers_and_nesting():
    assert parse("(9223372036854775807,-9223372036854775808)") == (2**63 - 1, -(2**63))
    assert parse("(" * 64 + "1" + ")" * 64)
    for n in (65, 500_000):
        with pytest.raises(ParseError, match="more than 64 levels"):
            parse("(" * n + "1" + ")" * n)
    assert len(parse("(" + "1," * 50_000 + "1)")) == 50_001


def test_what_is_no_text():
    for wrong in (4, None, b"4", (4, 2)):
        with pytest.raises(LeafTypeError, match="text"):
            parse(wrong)
    with pytest.raises(ParseError, match="no layout"):
        parse("(4,2)", origin_shape=(4, 2))
    with pytest.raises(RankError):
        parse("(4,2):(1)")


@given(st.text(alphabet="(),:_-0123456789 x", max_size=30))
def test_any_text_is_read_or_refused(text):
    try:
        value = parse(text)
    except TlaError as error:
        assert "\n" in str(error)
    else:
        assert str(parse(str(value))) == str(value)


def test_long_texts_are_cut_in_the_message():
    with pytest.raises(ParseError) as caught:
        parse("(" + "1," * 5000 + "x)")
    assert len(str(caught.value)) < 400
    assert "..." in str(caught.value)


@pytest.mark.parametrize("text", ["(4%0,2):(1,4)", "M//0", "ceil(M/(4-4))"])
def test_a_division_by_0_is_a_parse_error(text):
    with pytest.raises(ParseError, match="a division by 0"):
        parse(text, symbols=[tla.dim("M")])


def test_no_name_is_known_where_none_is_given():
    with pytest.raises(ParseError, match="one of the symbols: none"):
        parse("(Q+1,2):(1,Q)", symbols=[])


def test_a_text_of_another_says_what_reads_it():
    """Strides over bits: the fix reads the text."""
    with pytest.raises(tla.ParseError) as caught:
        parse("(8,8):(F1,F9)")
    assert caught.value.reason.fix.startswith("write tla.linear.from_xor_strides(text)")
    tla.linear.from_xor_strides("(8,8):(F1,F9)")


def test_maps_of_isl():
    """They are read as layout_of reads them; what is none is refused in the words of isl's reader."""
    text = "{ [i, j] -> [8*i + j] : 0 <= i < 4 and 0 <= j < 8 }"
    assert str(parse(text)) == str(parse(text.replace(" : ", "\n:"))) == "(_4,_8):(_8,_1)"
    assert parse("\n" + text, origin_shape=(3, 8)).origin_shape == (3, 8)
    swizzled = "{[i]->[i mod 2 + 2*((i + floor(i/2)) mod 2) + 4*floor(i/4)] : 0 <= i < 8}"
    signs = parse("{ [i] -> [-i + -2*(i mod 4) - -3 + " + "-" * 2000 + "i] : 0 <= i < 8 }")
    assert [signs(i) for i in range(8)] == [3 - 2 * (i % 4) for i in range(8)]
    with pytest.raises(ParseError, match="an origin_shape, and no plain layout"):
        parse("{ [i] -> [7 - i] : 0 <= i < 8 }", origin_shape=(4,))
    assert [parse(swizzled)(i) for i in range(8)] == [tla.layout_of(swizzled)(i) for i in range(8)]
    for text, message in (
        ("[N] -> { [i] -> [i] : 0 <= i < N }", "a map with parameters"),
        ("{ [i] : 0 <= i < 4 }", "unexpected ':'"),
        ("{ [i] -> [i, i] : 0 <= i < 4 }", "a map to 2 numbers"),
        ("{ [i] -> [] : 0 <= i < 4 }", "a map to 0 numbers"),
        (source(parse("():()"), "isl"), "a map of no coordinates"),
        (source(parse("(_4,_0):(_1,_4)"), "isl"), "i1 from 0 to -1, an empty range: a layout of no elements"),
        ("{ [i] -> [o0] : false }", "a map without coordinates: false"),
        ("{", "the text ends, at position 1"),
        ("{4,2}:{1,4}", "unexpected '4'"),
        ("{ [i] -> [i] : 0 <= i < 99999999999999999999 }", "does not fit in 64 bits"),
        ("{ [i] -> [i] : 0 <= i < 99999999999 }", "99,999,999,999 coordinates"),
        ("{ [i] -> [" + "(" * 100 + "i" + ")" * 100 + "] : 0 <= i < 4 }", "more than 64 levels of brackets"),
    ):
        with pytest.raises(tla.TlaError, match=message):
            parse(text)
