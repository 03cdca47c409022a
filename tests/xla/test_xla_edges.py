"""Edges of XLA's values: of each refusal with several conditions a bad input for each, and the last good
ones beside it."""

import gzip
import io
import itertools
import re

import pytest

import tla
from tla import LeafTypeError, LoweringError, RangeError, RankError, xla
from tla.xla import ArrayLayout, ArrayShape, RegisterLayout, Split
from tla.xla.programs import text_file
from tla.xla.programs.ranges import _apart, _merged
from tla.xla.shapes import curve
from tla.xla.shapes.array_shape import BITS

#: The element types of xla_data.proto that an array may have.
TYPES = """
pred s1 s2 s4 s8 s16 s32 s64 u1 u2 u4 u8 u16 u32 u64 f16 f32 f64 c64 bf16 c128 f8e5m2 f8e4m3fn f8e4m3b11fnuz f8e5m2fnuz f8e4m3fnuz
f8e4m3 f8e3m4 f4e2m1fn f8e8m0fnu f6e3m2fn f6e2m3fn
"""


def test_bits_are_those_that_the_name_says():
    """The number in the name, behind its first letters; pred is one bit. Less than a byte is stored in one, unless E
    says otherwise."""
    known = {name: int(re.match(r"[a-z]+(\d+)", name)[1]) if name != "pred" else 1 for name in TYPES.split()}
    assert known == BITS
    for name, bits in known.items():
        assert xla.parse_shape(f"{name}[3]{{0}}").bits == max(8, -(-bits // 8) * 8)
        assert xla.parse_shape(f"{name}[3]{{0:E({bits})}}").bits == bits


ORDER = tuple(reversed(range(17)))
MOST = 2**63 - 1


def shape(dims, order=None, tiles=(), element_type="f32", **more):
    return ArrayShape(
        element_type, dims, ArrayLayout(tuple(reversed(range(len(dims)))) if order is None else order, tiles, **more)
    )


GOOD = [
    lambda: ArrayShape("s8", (MOST,)),
    lambda: ArrayShape("s4", (MOST,)),
    lambda: ArrayShape("f32", (MOST // 4,)),
    lambda: ArrayShape("c128", (MOST // 16,)),
    lambda: ArrayShape("f32", (None, MOST)),
    lambda: ArrayShape("f32", (0, MOST)),
    lambda: shape((1,), tiles=((1,),) * 64),
    lambda: shape((1,), tiles=((MOST // 4,),)),
    lambda: shape((7,), element_type="s4", element_size_in_bits=8),
    lambda: shape((7,), element_type="s4", element_size_in_bits=16),
    lambda: shape((7,), element_type="s4", element_size_in_bits=32),
    lambda: shape((7,), element_type="s4", element_size_in_bits=4),
    lambda: shape((7,), element_type="s8", element_size_in_bits=8),
    lambda: shape((5, 9), split_configs=(Split(0, (1,)), Split(1, (8,)))),
    lambda: shape((5, 9), (0, 1), split_configs=(Split(0, (8,)), Split(1, (1, 4)))),
    lambda: shape((5, 6, 7), split_configs=(Split(0, (4,)), Split(1, (5,)), Split(2, (6,)))),
    lambda: shape((None,), split_configs=(Split(0, (1, 1000)),)),
    lambda: RegisterLayout(32, (7, 127)),
    lambda: RegisterLayout(1, (7, 128 * 32 - 1)),
    lambda: RegisterLayout(32, (None, None), (1, 1024)),
    lambda: RegisterLayout(16, (0, 0), (16, 128), -1),
    lambda: RegisterLayout(32, (0, 0), (8, 128), -2),
    lambda: xla.block("f32", (2**20, 2**20), (8, 128)),
    lambda: xla.block("f32", (1, 1), (1, 1)),
    lambda: xla.block("pred", (8, 128), (8, 128)),
    lambda: xla.default_layout("f32", (1,) * 64),
    lambda: xla.Axis("a", 2, 1),
    lambda: xla.Axis("a"),
    lambda: xla.Mesh((("a", 1),)),
    lambda: xla.Mesh((), (0,)),
]


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_the_last_good_ones_are_taken(number):
    assert GOOD[number]()


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: ArrayShape("s8", (2**63,)), RangeError, "overflows|64 bits"),
        (lambda: ArrayShape("s4", (2**62, 2)), RangeError, "overflows"),
        (lambda: ArrayShape("f32", (2**61,)), RangeError, "overflows"),
        (lambda: ArrayShape("c128", (2**59,)), RangeError, "overflows"),
        (lambda: ArrayShape("f32", (-1,)), RangeError, "a negative dimension"),
        (lambda: ArrayShape("f31", (1,)), RangeError, "element type 'f31'"),
        (lambda: ArrayShape("f32", (tla.dim("M") - 9,)), RangeError, "may be negative"),
        (lambda: ArrayShape("f32", (1, 2), None, (True,)), RankError, "1 dynamic marks for 2 dimensions"),
        (lambda: ArrayShape(7, (1,)), LeafTypeError, "ArrayShape of int"),
        (lambda: ArrayShape("f32", (1,), "{0}"), LeafTypeError, "ArrayShape of str, ..., str"),
        (lambda: ArrayShape("f32", 7), LeafTypeError, "of type int"),
        (lambda: shape((1,), tiles=((1,),) * 65), RangeError, "65 tile levels"),
        (lambda: shape((1,), tiles=((2**61,),)), RangeError, "the tiled array overflows"),
        (lambda: shape((1,), tiles=((),)), RangeError, "a tile with no entries"),
        (lambda: shape((1, 2), tiles=((0, 1),)), RangeError, r"tile \(0,1\) has the entry 0"),
        (lambda: shape((1, 2), tiles=((2, "*"),)), RangeError, r"tile \(2,\*\) ends with \*"),
        (lambda: shape((1,) * 17, tiles=((1,) * 16 + (0,),)), RangeError, r"tile \(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,\.\.\.\) has the entry 0"),
        (lambda: shape((1,) * 16, tiles=((1,) * 15 + (0,),)), RangeError, r"tile \(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,0\) has"),
        (lambda: shape((1,) * 16, ORDER), RangeError, r"\{16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,\.\.\.\} has 17 entries for 16"),
        (lambda: shape((1,) * 17, ORDER[1:]), RangeError, r"\{15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0\} has 16 entries for 17"),
        (lambda: shape((1, 2), (1, 1)), RangeError, "names dimension 1 twice"),
        (lambda: shape((1, 2), (2, 0)), RangeError, "names dimension 2\n"),
        (lambda: shape((1, 2), (-1, 0)), RangeError, "names dimension -1\n"),
        (lambda: shape((), (0,)), RangeError, "none: the array has no dimensions"),
        (lambda: ArrayLayout((0,), memory_space=-1), RangeError, "memory_space -1\n +expected  0 or more"),
        (lambda: ArrayLayout((0,), tail_padding_alignment_in_elements=0), RangeError, "expected  1 or more"),
        (lambda: ArrayLayout((0,), dynamic_shape_metadata_prefix_bytes=-1), RangeError, "expected  0 or more"),
        (lambda: ArrayLayout((0,), element_size_in_bits=-1), RangeError, "expected  0 or more"),
        (lambda: shape((7,), element_type="s4", element_size_in_bits=2), RangeError, r"E\(2\) on s4, which has 4 bits\n +expected  4, or 8, 16, 32"),
        (lambda: shape((7,), element_type="s4", element_size_in_bits=64), RangeError, r"E\(64\) on s4"),
        (lambda: shape((7,), element_type="s8", element_size_in_bits=16), RangeError, r"E\(16\) on s8, which has 8 bits\n +expected  8\n"),
        (lambda: shape((7,), element_type="f32", element_size_in_bits=8), RangeError, r"E\(8\) on f32"),
        (lambda: shape((5, 9), split_configs=(Split(2, (1,)),)), RangeError, "cuts physical dimension 2\n +expected  0 to 1"),
        (lambda: shape((5, 9), split_configs=(Split(-1, (1,)),)), RangeError, "cuts physical dimension -1"),
        (lambda: shape((5, 9), split_configs=(Split(0, (1,)), Split(0, (2,)))), RangeError, "cuts physical dimension 0 twice"),
        (lambda: shape((5, 9), split_configs=(Split(1, (4, 2)),)), RangeError, "indices 4,2"),
        (lambda: shape((5, 9), split_configs=(Split(1, (2, 2)),)), RangeError, "indices 2,2"),
        (lambda: shape((5, 9), split_configs=(Split(1, (0,)),)), RangeError, "cuts a dimension of 9"),
        (lambda: shape((5, 9), split_configs=(Split(1, (9,)),)), RangeError, "cuts a dimension of 9"),
        (lambda: shape((5, 9), split_configs=(Split(0, (5,)),)), RangeError, "cuts a dimension of 5"),
        (lambda: shape((5, 9), (0, 1), split_configs=(Split(1, (5,)),)), RangeError, "cuts a dimension of 5"),
        (lambda: shape((5, 6, 7), split_configs=(Split(1, (6,)),)), RangeError, "cuts a dimension of 6"),
        (lambda: shape((5, 6, 7), (0, 2, 1), split_configs=(Split(0, (6,)),)), RangeError, "cuts a dimension of 6"),
        (lambda: RegisterLayout(64), RangeError, "elements of 64 bits in registers"),
        (lambda: RegisterLayout(3), RangeError, "elements of 3 bits"),
        (lambda: RegisterLayout(32, (0,)), RankError, "two of each"),
        (lambda: RegisterLayout(32, (0, 0), (8, 128, 1)), RankError, "two of each"),
        (lambda: RegisterLayout(32, (0, 0), (0, 128)), RangeError, "rows x 128 n that divide 1024"),
        (lambda: RegisterLayout(32, (0, 0), (8, 0)), RangeError, "rows x 128 n that divide 1024"),
        (lambda: RegisterLayout(32, (0, 0), (1, 64)), RangeError, "rows x 128 n that divide 1024"),
        (lambda: RegisterLayout(32, (0, 0), (16, 128)), RangeError, "rows x 128 n that divide 1024"),
        (lambda: RegisterLayout(32, (0, 0), (-8, -128)), RangeError, "rows x 128 n that divide 1024"),
        (lambda: RegisterLayout(32, (0, 0), (2, 256)), RangeError, "128 columns, or one row"),
        (lambda: RegisterLayout(32, (8, 0)), RangeError, "offsets"),
        (lambda: RegisterLayout(32, (-1, 0)), RangeError, "offsets"),
        (lambda: RegisterLayout(32, (0, 128)), RangeError, "offsets"),
        (lambda: RegisterLayout(32, (None, 128)), RangeError, "offsets"),
        (lambda: RegisterLayout(32, (0, 0), (8, 128), -3), RangeError, "implicit -3"),
        (lambda: RegisterLayout(32, (0, 0), (8, 128), 0), RangeError, "implicit 0"),
        (lambda: RegisterLayout(32, (0, 0), (8, 128), -1.0), RangeError, "implicit -1.0"),
        (lambda: RegisterLayout(32).count((0, 128)), RangeError, "extents of 1 or more"),
        (lambda: RegisterLayout(32).count((2**22, 2**22)), RangeError, r"at most 2\*\*43"),
        (lambda: RegisterLayout(32).count((128,)), RankError, "a vector of 1 dimensions"),
        (lambda: RegisterLayout(32, (0, 0), (1, 128), -2).count(()), RankError, "a vector of 0 dimensions"),
        (lambda: RegisterLayout(32, (None, 0)).layout((8, 128)), LoweringError, "an offset for"),
        (lambda: xla.block("c64", (8, 128), (8, 128)), RangeError, "a block of c64"),
        (lambda: xla.block("f6e2m3fn", (8, 128), (8, 128)), RangeError, "a block of f6e2m3fn"),
        (lambda: xla.block("s1", (8, 128), (8, 128)), RangeError, "a block of s1"),
        (lambda: xla.block("f32", (2**20, 2**20 + 1), (8, 128)), RangeError, r"at most 2\*\*40 elements"),
        (lambda: xla.block("f32", (8, 128), (2**20, 2**20 + 1)), RangeError, r"at most 2\*\*40 elements"),
        (lambda: xla.block("f32", (8, 0), (8, 1)), RangeError, "extents of 1 or more"),
        (lambda: xla.block("f32", (8, 128), (8, 0)), RangeError, "extents of 1 or more"),
        (lambda: xla.block("f32", (), ()), RankError, "as many, and one at least"),
        (lambda: xla.block("f32", (8, 128), (8, 128), 0), RangeError, "0 buffers"),
        (lambda: xla.block("f32", (8, 128), (8, 128), True), RangeError, "True buffers"),
        (lambda: xla.default_layout("f32", (1,) * 65), RangeError, "at most 64"),
        (lambda: xla.default_layout("f6e2m3fn", (8, 128)), RangeError, "a type whose bits divide 32"),
        (lambda: xla.combined_shape("f32[2,<=3]{1,0:T(*,2)}"), LoweringError, "dimensions that change, or are cut"),
        (lambda: xla.combined_shape("f32[8,9]{1,0:T(*,2)SC(0:3)}"), LoweringError, "dimensions that change, or are cut"),
        (lambda: xla.combined_shape("f32[8,9]{1,0:T(2,2)(*,2)}"), LoweringError, "its first tile combines no dimensions"),
        (lambda: xla.combined_shape("f32[8,9]{1,0}"), LoweringError, "its first tile combines no dimensions"),
        (lambda: xla.dimension_letters(5), RangeError, "0 to 4"),
        (lambda: xla.dimension_letters(-1), RangeError, "0 to 4"),
        (lambda: xla.dimension_number("f32[]", 0), RangeError, "none: it has no dimensions"),
        (lambda: xla.waste_by_dimension("f32[8,9]{1,0:T(*,2)}"), LoweringError, "its first tile merges dimensions"),
        (lambda: xla.Axis("a", 1), RangeError, "1"),
        (lambda: xla.Axis("a", -2), RangeError, "-2"),
        (lambda: xla.Axis("a", 2, 0), RangeError, "0"),
        (lambda: xla.Axis("a", 0, 2), RangeError, "2"),
        (lambda: xla.Mesh(()), RankError, "a mesh without axes"),
        (lambda: xla.Mesh((), (-1,)), tla.TlaError, "-1|a mesh without axes"),
        (lambda: xla.Mesh((), (0, 1)), tla.TlaError, "a mesh without axes"),
        (lambda: xla.Mesh((("", 2),)), RangeError, "an axis named ''"),
        (lambda: xla.Mesh((("a'b", 2),)), RangeError, "an axis named"),
        (lambda: xla.Mesh(((7, 2),)), tla.TlaError, "7"),
    ],
)  # fmt: skip
def test_each_condition_is_refused(make, error, says):
    with pytest.raises(error, match=says):
        make()


# ------------------------------------------------------------------------------------------------- registers, curves


def test_registers_of_vectors_at_the_edge_of_one():
    for bits, rows, columns in itertools.product((32, 16, 8), (8, 9, 16), (128, 129, 256)):
        assert RegisterLayout(bits).count((rows, columns)) == -(-rows // 8) * -(-columns // (128 * 32 // bits))
    assert RegisterLayout(32, (7, 0)).count((1, 128)) == 1
    assert RegisterLayout(32, (7, 0)).count((2, 128)) == 2
    assert RegisterLayout(32, (0, 127)).count((8, 1)) == 1
    assert RegisterLayout(32, (0, 127)).count((8, 2)) == 2
    assert RegisterLayout(32, (None, 0)).count((3, 5, 64, 130)) == 3 * 5 * 2
    assert RegisterLayout(32).count((2**22, 2**21)) == 2**43 // 1024


def test_bytes_for_people():
    edges = {
        0: "0 B",
        1023: "1023 B",
        1024: "1 KiB",
        1536: "1.5 KiB",
        2**20 - 1: "1024 KiB",
        2**20: "1 MiB",
        2**30: "1 GiB",
        2**40: "1 TiB",
        2**50: "1024 TiB",
    }
    assert {n: curve.in_units(n) for n in edges} == edges


def test_the_curve_of_a_program_as_text_and_as_picture():
    """Each column is the largest of its steps; a row is filled where that passes the row below, a little of it
    is one row."""
    assert curve.columns([1, 5, 2, 3, 9], 5) == [1, 5, 2, 3, 9]
    assert curve.columns([1, 5, 2, 3, 9], 2) == [5, 9]
    assert curve.columns([1, 5, 2, 3, 9], 99) == [1, 5, 2, 3, 9]
    assert curve.columns([], 4) == []
    assert curve.as_text([0, 1, 4, 8], 72, 4).splitlines() == ["   #", "   #", "  ##", " ###"]
    assert curve.as_text([0, 0], 72, 2) == "\n"
    assert curve.as_text([3] * 100).splitlines() == ["#" * 72] * 8
    picture = curve.as_svg([1024, 2048, 0, 512], "a<b&c")
    assert picture == (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 240" font-family="sans-serif" font-size="14">'
        '<text x="40" y="28">a&lt;b&amp;c: 2 KiB at the peak, 4 steps</text>'
        '<polygon points="40,200 40.00,120.00 220.00,120.00 220.00,40.00 400.00,40.00 400.00,200.00 580.00,200.00 580.00,160.00 '
        '760.00,160.00 760,200" fill="#4c78a8"/><path d="M40 200H760" stroke="#333"/></svg>\n'
    )
    assert '<text x="40" y="28">0 B at the peak, 0 steps</text>' in curve.as_svg([])
    long = re.search(r'points="([^"]*)"', curve.as_svg(range(1000)))[1].split()
    assert len(long) == 2 + 2 * 720  # a column a pixel
    assert long[-2:] == ["760.00,40.00", "760,200"]


# ------------------------------------------------------------------------------------------------- limits


def calls(depth, how="call({0}), to_apply={1}"):
    """A program that calls so many computations inside of each other."""
    inner = "%test {\n  %q = f32[] parameter(0)\n  ROOT %s = f32[] negate(%q)\n}\n" + "".join(
        f"%c{k} (p.{k}: f32[]) -> f32[] {{\n  %p.{k} = f32[] parameter(0)\n"
        f"  ROOT %r.{k} = f32[] {how.format(f'%p.{k}', f'%c{k + 1}') if k < depth else f'negate(%p.{k})'}\n}}\n"
        for k in range(1, depth + 1)
    )
    main = "ENTRY %m (a: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  ROOT %b = f32[] call(%a), to_apply=%c1\n}\n"
    return io.StringIO(f"HloModule m, is_scheduled=true\n{inner}{main}")


def named(count):
    names = [f"n{k}" for k in range(count)]
    return xla.parse_shape(f"s8[{','.join(names)}]", symbols=[tla.dim(name) for name in names])


def nested(depth):
    value = ArrayShape("f32", (3,))
    for _ in range(depth):
        value = xla.TupleShape((value,))
    return value


def protos(depth):
    return xla.from_proto(
        "element_type: TUPLE tuple_shapes { " * depth + "element_type: F32 dimensions: 3 " + "}" * depth
    )


LIMITS = {
    "tuples in tuples": (lambda n: xla.parse_shape("(" * n + "f32[3]" + ")" * n), 64),
    "tuples of values": (nested, 64),
    "tuples of protos": (protos, 64),
    "names": (named, 256),
    "characters": (lambda n: xla.parse_shape("f32[3]" + " " * (n - 6)), 2**20),
    "ranks of alternatives": (lambda n: xla.alternatives(shape((1,) * n, tiles=((8, 128),))), 16),
    "axes": (lambda n: xla.Mesh(tuple((f"a{k}", 1) for k in range(n))), 64),
    "devices one by one": (lambda n: [*xla.Iota((n,))], 2**20),
    "calls": (lambda n: xla.memory(calls(n)), 100),
    "loops": (lambda n: xla.memory(calls(n, "while({0}), condition=%test, body={1}")), 100),
    "conditions": (lambda n: xla.memory(calls(n, "while({0}), condition={1}, body=%test")), 100),
    "branches": (lambda n: xla.memory(calls(n, "conditional({0}, {0}), branch_computations={{{1}}}")), 100),
    "dimensions of default_layout": (lambda n: xla.default_layout("f32", (1,) * n), 64),
}


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_that_are_said(name):
    make, most = LIMITS[name]
    assert make(most) is not None
    with pytest.raises(
        tla.TlaError, match=rf"at most {most}\b|{most:,} at most|{most} at most|up to there|than {most}"
    ):
        make(most + 1)


@pytest.mark.parametrize(
    ("read", "text"), [(xla.parse_register_layout, "32,{0,0},(8,128)"), (xla.parse_memref, "memref<8x128xf32>")]
)
def test_texts_of_one_value_are_of_a_megabyte_at_most(read, text):
    assert read(text.ljust(2**20)) == read(text)
    with pytest.raises(tla.ParseError, match="1,048,576 at most"):
        read(text.ljust(2**20 + 1))


def test_a_census_keeps_the_20_largest_peaks():
    peaks = [xla.ProgramPeak(f"{k % 7}.txt", 0, k // 2, 0) for k in range(30)]
    found = xla.merge([xla.Census(1, peaks=tuple(peaks[k::3])) for k in range(3)])
    assert found.peaks == tuple(sorted(peaks, key=lambda p: (-p.bytes, p.path, p.space))[:20])


def test_a_strip_has_a_million_slots_at_most():
    assert len(xla.strip("s8[]{:T(1048576)}")) == 2**20  # noqa: B005
    with pytest.raises(RangeError, match="1,048,576 at most"):
        xla.strip("s8[]{:T(1048577)}")  # noqa: B005


def test_arrays_of_no_known_size_have_no_alternatives():
    for text in (
        "f32[?,3]{1,0:T(8,128)}",
        "f32[0,3]{1,0:T(8,128)}",
        "f32[3,0]{1,0:T(8,128)}",
        "f32[8,3]{1,0}",
        "f32[8,3]",
    ):
        assert xla.alternatives(text) == []
    assert xla.alternatives(xla.parse_shape("f32[M,3]{1,0:T(8,128)}", symbols=[tla.dim("M")])) == []


def test_dimensions_are_split_into_what_tiles_have():
    whats = {a.what for a in xla.alternatives("f32[65536,3]{1,0:T(8,128)}") if a.kind == "split"}
    assert {f"dimension 0 as {65536 // n} of {n}" for n in (8, 16, 32, 128, 256)} == whats


# ------------------------------------------------------------------------------------------------- places in texts


def wire(depth):
    """As `protos`, in bytes: field 2 is the element type, 11 for f32, 13 for a tuple; 3 a dimension; 4 an element
    of a tuple."""
    out = b"\x10\x0b\x18\x03"
    for _ in range(depth):
        out = b"\x10\x0d\x22" + bytes([len(out) & 127 | 128, len(out) >> 7]) + out
    return xla.from_proto(out)


@pytest.mark.parametrize(
    ("made", "says"), [(protos, "^more than 128 levels of brackets"), (wire, "^a ShapeProto deeper than 128 messages")]
)
def test_messages_in_messages_are_read_as_far_as_twice_the_depth_of_tuples(made, says):
    assert made(64) == nested(64)
    with pytest.raises(tla.TlaError, match=r"^a ShapeProto deeper than 64"):
        made(128)
    with pytest.raises(tla.TlaError, match=says):
        made(129)


@pytest.mark.parametrize(
    ("line", "position", "fix"),
    [
        ("%a = (f32[3], f32[4]", 20, "close the '(' at position 5"),
        ("%a = b(f32[3]", 13, "close the '(' at position 6"),
        ("%a = b(f32[3]]", 13, "close the '(' at position 6"),
        ("%a = b(", 7, "close the '(' at position 6"),
    ],
)
def test_an_open_bracket_is_named_with_its_place(line, position, fix):
    with pytest.raises(tla.ParseError) as caught:
        xla.parse_instruction(line)
    assert (caught.value.position, caught.value.args[4]) == (position, fix)


def test_what_is_said_of_a_whole_file_has_no_place_in_it():
    said = []
    whole = b"HloModule m\n\nENTRY %m {\n  ROOT %a = f32[3]{0} copy(%gone)\n}\n"
    for given in (
        b"module @m {\n}",
        b"ML\xefR",
        gzip.compress(whole)[:-9],
        b"x" * (text_file.MAX_LINE + 1),
        whole[:-2],
    ):
        try:
            [*xla.read_hlo(io.BytesIO(given), said.append)]
        except tla.ParseError as error:
            said.append(error)
    xla.relayouts(io.BytesIO(whole), on_error=said.append)
    assert len(said) == 6
    for error in said:
        assert (error.position, error.text) == (0, ""), error


# ------------------------------------------------------------------------------------------------ when buffers are held


def test_buffers_are_apart_where_no_step_holds_both():
    """But for one step, which reads the last of the first and writes the first of the second: every pair of up
    to two spans."""
    spans = [(a, b) for a in range(5) for b in range(a, 5)]
    held = [*itertools.combinations_with_replacement(spans, 2)]
    for some in (*held, *itertools.combinations(spans, 3)):  # those that share a step are one
        merged = _merged(some)
        for last in (0, 1):  # the steps, each once, and the pairs of steps that one span has
            assert [n for a, b in merged for n in range(a, b + 1 - last)] == sorted(
                {n for a, b in some for n in range(a, b + 1 - last)}
            )
    for before, after in itertools.product(held, held[::3]):
        steps = [{n for a, b in h for n in range(a, b + 1)} for h in (before, after)]
        both = steps[0] & steps[1]
        for now in (0, 2, 3):
            handed = not any(a < now < b or a == now < b for a, b in _merged(before)) and not any(
                a < now for a, b in _merged(after) if b >= now
            )
            assert _apart([*before], [*after], now) is (not both or (both == {now} and handed)), (before, after, now)


# --------------------------------------------------------------------------------------------- tilings of real programs


@pytest.mark.parametrize(
    "text",
    [
        "f32[100]{0}",
        *(f"f32[100]{{0:T{t}}}" for t in ("(8)", "(16)", "(128)", "(256)", "(512)", "(1024)")),
        *(
            f"f32[100]{{0:T{t}}}"
            for t in ("(1024)(128)(4,1)", "(1024)(128)(2,1)", "(256)(128)(2,1)", "(512)(128)(4,1)", "(512)(128)(2,1)")
        ),
        *(f"f32[100,300]{{1,0:T{t}}}" for t in ("(8)", "(32)", "(128)", "(256)")),
        *(f"f32[100,300]{{1,0:T{t}}}" for t in ("(8,128)", "(4,128)", "(2,128)", "(16,128)", "(32,128)")),
        *(
            f"f32[100,300]{{1,0:T({n},128)({m},1)}}"
            for n, m in ((8, 2), (8, 4), (4, 2), (16, 2), (16, 4), (32, 4), (32, 8))
        ),
    ],
)
def test_tilings_of_real_programs_come_back_as_they_are(text):
    """Others have the same map, of more levels or of tiles that no program has."""
    assert str(xla.raise_(xla.lower(text))) == text


def test_copies_inside_of_fusions_are_counted_on_request():
    text = """HloModule m, is_scheduled=true
%f (p: f32[16,128]) -> f32[16,128] {
  %p = f32[16,128]{1,0:T(8,128)} parameter(0)
  %q = f32[16,128]{0,1:T(8,128)} copy(%p)
  ROOT %n = f32[16,128]{0,1:T(8,128)} negate(%q)
}
ENTRY %m {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %t = f32[16,128]{0,1:T(8,128)} fusion(%a), kind=kLoop, calls=%f
}
"""
    counts = [
        [t.count for t in xla.totals(xla.read_hlo(io.StringIO(text)), "copy", interiors=inside)]
        for inside in (False, True)
    ]
    assert counts == [[], [1]]


@pytest.mark.parametrize("tiles", [((-1, -1, 2, -1, 3),), (("*", "*", 2, "*", 3),), ((-1, "*", 2, -(2**63), 3),)])
def test_a_tile_that_merges_dimensions_is_written_as_the_documents_write_it(tiles):
    """Texts with -1 were read, and values with it refused."""
    layout = xla.ArrayLayout((4, 3, 2, 1, 0), tiles)
    for text in ("\u2217,\u2217,2,\u2217,3", "*,*,2,*,3", "-1,-1,2,-1,3"):
        assert layout == xla.parse_shape(f"f32[2,3,5,7,8]{{4,3,2,1,0:T({text})}}").layout
    assert str(layout) == "{4,3,2,1,0:T(*,*,2,*,3)}"


@pytest.mark.parametrize("size", [2**31, 300])
def test_sizes_of_numpy_are_sizes(size):
    numpy = pytest.importorskip("numpy")
    shape = xla.ArrayShape(
        "f32", (numpy.int64(size), numpy.uint8(5)), xla.ArrayLayout((numpy.int8(1), 0), ((numpy.int64(8), 128),))
    )
    assert shape == xla.parse_shape(f"f32[{size},5]{{1,0:T(8,128)}}")
    assert xla.default_layout("f32", (numpy.int64(size), 5)) == xla.default_layout("f32", (size, 5))
