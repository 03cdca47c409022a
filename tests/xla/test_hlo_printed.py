"""Lines and shapes in the form in which XLA prints them: read by one regular expression, they are what the readers by
marks give."""

import gzip
import random
import re

import pytest

from tla import ParseError, xla
from tla.xla.programs.instruction import printed_instruction
from tla.xla.shapes.printed_shape import array_at, printed_shape

from night import amount
from truth import DATA, rows

TEXTS = [p.read_text(encoding="utf-8") for p in sorted((DATA / "hlo").glob("*__*.txt"))]
TEXTS += [gzip.decompress(p.read_bytes()).decode() for p in sorted((DATA / "xla" / "programs").glob("*.txt.gz"))]
LINES = [line for text in TEXTS for line in text.split("\n") if " = " in line]
PIECES = [
    *'()[]{}",/=% \\*\n-0:T',
    ", ",
    "ROOT ",
    "/*index=5*/",
    "{}",
    "[]",
    '""',
    "backend_config=",
    "constant(",
    "S(1)",
    "%a",
    " = ",
]


def answer(read, text):
    try:
        return read(text)
    except ParseError as error:
        return error.reason.what


def by_marks(line):
    """The instruction by the other reader: a second blank before '=' is not XLA's."""
    found = answer(xla.parse_instruction, re.sub(" = ", "  = ", line, count=1))
    return found if isinstance(found, str) else str(found).replace("  = ", " = ", 1), found


def same(line):
    """Whether a line is in XLA's form; then both readers give the same."""
    found = printed_instruction(line)
    if found is not None:
        text, other = by_marks(line)
        assert text == str(found), line
        assert (found.shape, found.opcode, found.operands, found.tail) == (
            other.shape,
            other.opcode,
            other.operands,
            other.tail,
        ), line
    return found is not None


def mutated(text, rng):
    for _ in range(rng.randrange(1, 4)):
        at, end = rng.randrange(len(text)), rng.randrange(4)
        text = text[:at] + rng.choice(["", *PIECES]) + text[at + end :]
    return text


def test_lines_of_real_programs():
    lines = random.Random(1).sample(LINES, amount(1500, len(LINES)))
    assert sum(map(same, lines)) > 0.98 * len(lines)
    assert all(re.match("[ ]+(ROOT )?%", line) for line in lines if same(line))


def test_lines_with_faults():
    rng = random.Random(2)
    short = [line for line in LINES if len(line) < 300]
    lines = [mutated(rng.choice(short), rng) for _ in range(amount(4000, 200_000))]
    read = sum(map(same, lines))
    assert 0.05 * len(lines) < read < 0.9 * len(lines)


def test_operands_with_shapes_and_without_percent():
    for line in (
        "  %f = (f32[8]{0}, s32[]) fusion(f32[8,2]{1,0:T(2,2)} %p, /*index=1*/(s32[]) q), kind=kLoop",
        "a.1 = f32[3]{0} add(f32[3]{0} b, /*index=5*/f32[3] %c.2)",
        "a = f32[] add(b, c)",
        "a = f32[0]{0} constant({})",
        "a = f32[2]{0} constant({1, 2})",
        "a = f32[] constant()",
    ):
        assert same(line) == ("(s32[])" not in line)
        assert str(xla.parse_instruction(line)) == line
    for line in (
        "ROOT = f32[] add(b)",
        "a = f32[] add(, b)",
        "a = f32[] add({1})",
        "a = f32[] add(b), c",
        'a = f32[] add(b), c="d',
    ):
        assert not same(line)


# ----------------------------------------------------------------------------------------------------- shapes


def shape_by_tokens(text):
    """The shape by the other reader: a blank before '[' is not XLA's."""
    return answer(xla.parse_shape, text.replace("[", " ["))


def same_shape(text):
    found = printed_shape(text)
    if found is not None:
        other = shape_by_tokens(text)
        assert repr(found) == repr(other), text
        assert found == other
        assert not isinstance(found, xla.ArrayShape) or array_at(text, 0) == (found, len(text))
        assert getattr(found, "depth", 0) == getattr(other, "depth", 0), text
    return found is not None


def test_shapes_of_real_programs_and_of_xla():
    specs = sorted({shape for text in TEXTS for shape in xla.shape_texts(text)})
    assert sum(map(same_shape, specs)) > 0.98 * len(specs)
    for name in ("malformed", "tricky_valid"):
        sum(same_shape(row["spec"]) for row in rows(f"xla/{name}.json"))
    assert not any(same_shape(row["spec"]) for row in rows("xla/malformed.json"))


MOST = 2**61 - 1  # of 32 bits each


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        ([f"f32[{2**57}]", f"s4[{2**57}]", "s8[9,9]{1,0:T(8,128)}", "f32[1]{0:T(100000000000000000)}"], True),
        ([f"f32[{MOST}]", "s8[9223372036854775807]", "f32[1]{0:T(999999999999999999)}", f"f32[1]{{0:T({2**29},{2**30})}}"], False),  # may overflow
        ([f"s4[7]{{0:E({n})}}" for n in (4, 8, 16, 32)] + [f"s8[7]{{0{e}}}" for e in (":E(8)", "")], True),
        ([f"s4[7]{{0:E({n})}}" for n in (2, 7, 9, 15, 17, 31, 33, 64)] + [f"s8[7]{{0:E({n})}}" for n in (4, 16, 32)] + ["f32[7]{0:E(8)}"], False),
        ([f"f32[8,9]{{1,0:SC{c}}}" for c in ("(0:3)", "(0:7)", "(0:3)(1:4)", "(1:1,2)")] + ["f32[8,9]{1,0:S(1)SC(0:3)M(5)}"], True),
        ([f"f32[8,9]{{1,0:SC{c}}}" for c in ("(0:8)", "(0:0)", "(2:3)", "(0:3)(0:4)", "(1:2,1)")], False),
        (["f32[8]{0:" + "T" + "(1)" * 64 + "}", "f32[]", "f32[]{:T(128)}", "f32[<=8,9]{1,0}", "f32[8,<=9]", "pred[3]", "token[]"], True),
        (["f32[8]{0:" + "T" + "(1)" * 65 + "}", "f31[8]", "f32[8]{}", "f32[8,9]{0}", "f32[8,9]{1,1}", "f32[8]{1}", "f32[8]{0:}", "f32[1]{0:T(0)}"], False),
        (["F32[8]", "f32[8]{0:L(0)}", f"f32[{2**40}]{{0:L({2**29})}}", "f32[7,8]{1,0:T(*,2)}", "f32[?]", "f32[ 8]", "opaque[]", "b(f32[8])", "f32[8] "], False),
        (["(f32[8])", "(f32[8], (token[], s32[]))", "((((f32[8]))))", "(f32[8], /*index=1*/f32[9])", "((f32[8]), f32[9])"], True),
        (["(f32[8], )", "(f32[8]", "f32[8])", "(f32[8],f32[9])", "(f32[8])(f32[9])", "(f32[8]), (f32[9])", "f32[8], f32[9]", "((f32[8])"], False),
        (["(f32[8], /*x*/f32[9])", "(/*index=0*/f32[8])", "(f32[8]) ", "(f31[8])", "(f32[8] ())", "(opaque[])", "(())()", "())"], False),
        (["()", "(())", "(f32[8], ())", "((), (), (s32[0]{0:S(2)}, s32[128]{0:T(1)L(128)S(4)}))", "f32[8]{0:L(2)}"], True),
    ],
)  # fmt: skip
def test_which_shapes_are_read_at_once(texts, read):
    """Those of XLA's print that are plainly right; each text has the same answer by tokens."""
    for text in texts:
        assert same_shape(text) is read, text
        one, other = answer(xla.parse_shape, text), shape_by_tokens(text)
        assert one == other or isinstance(one, str), text


def test_where_an_array_in_a_text_ends():
    for text, at, end in (
        ("f32[8]", 0, 6),
        ("(f32[8]{0}, s32[])", 1, 10),
        ("(f32[8]{0}, s32[])", 12, 17),
        ("f32[8]{0}x", 0, None),
        ("f32[8]{0,0}", 0, None),
        ("(f32", 0, None),
    ):
        found = array_at(text, at)
        assert (found and found[1]) == end
        assert found is None or found[0] == xla.parse_shape(text[at:end])


def test_shapes_with_faults():
    rng = random.Random(3)
    specs = sorted({shape for text in TEXTS for shape in xla.shape_texts(text)})
    pieces = [*"0123456789[](){},:TES*-", "E(4)", "S(0)", "T(8)", "(2,1)", "s4", "pred", "999999999999999999"]
    read = 0
    for _ in range(amount(6000, 200_000)):
        text = rng.choice(specs)
        for _ in range(rng.randrange(1, 3)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["", *pieces]) + text[at + rng.randrange(2) :]
        read += bool(text) and same_shape(text)
    assert read > 500


TUPLES = sorted({text for line in LINES for text in re.findall(r" = (\(.{1,400}?\)) [a-z-]+\(", line)})


def test_tuples_of_real_programs_and_of_their_pieces():
    assert all(map(same_shape, random.Random(4).sample(TUPLES, amount(100, len(TUPLES)))))
    a, b = "(f32[2]{0}, s32[])", "((pred[], token[]), f32[<=3,2]{1,0:T(8,128)M(1024)})"
    for text in (f"({a}, {b})", f"(({a}))", f"({b}, s32[4096]{{0:T(1024)SC(0:2048)}})", "(" * 64 + "s32[]" + ")" * 64):
        assert same_shape(text)
    for text in (
        f"{a}, {b}",
        f"{a})",
        f"({a}",
        f"({a}), s32[]",
        f"s32[], {a}",
        "(,)",
        "(" * 65 + ")" * 65,
        "(s32[],)",
        "(" * 65 + "s32[]" + ")" * 65,
    ):
        assert not same_shape(text)


def test_tuples_with_faults():
    rng = random.Random(5)
    pieces = [*"()[]{},:<=", ", ", "/*index=5*/", "/*", "token[]", "()", "<=", "M(8)", "SC(0:1)", "SC(1:2,1)", "E(4)"]
    read = 0
    for _ in range(amount(2000, 100_000)):
        text = rng.choice(TUPLES)
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(["", *pieces]) + text[at + rng.randrange(2) :]
        read += same_shape(text)
    assert 0.35 * amount(2000, 100_000) < read < 0.75 * amount(2000, 100_000)


def test_a_line_that_is_not_of_this_form_takes_no_time():
    for line in (
        "%a = f32[3] add(" + "%b, " * 20_000 + "!",
        '%a = f32[3] add(%b), x={"' + '","' * 20_000,
        "%a = f32[3] add(%b), " + "x={[" * 20_000,
        "%a = (" + "f32[3]{0:T(8)}, " * 20_000 + "! add()",
        "%a = f32[3] add(%b), backend_config=" + '{"a":' * 20_000,
        "%a = f32[3] add(%b), x=" + "{}" * 20_000 + "}",
    ):
        assert not same(line)
