"""Instructions of HLO: each line of real programs printed back, and every class of bad input refused with its place."""

import io
import itertools
import pickle
import random
import re
import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

import tla
from tla import LeafTypeError, LoweringError, ParseError, xla
from tla.xla.programs import text_file
from tla.xla.shapes.values import arrays

from night import amount
from truth import DATA

PROGRAMS = sorted((DATA / "hlo").glob("*__*.txt"))
INSTRUCTION = re.compile(r"\s+(ROOT )?%([\w.-]+) = ")


def lines_of(path):
    return path.read_bytes().decode().split("\n")


LINES = [line for path in PROGRAMS for line in lines_of(path) if INSTRUCTION.match(line)]


# ------------------------------------------------------------------------------------------------ real programs


def test_every_instruction_of_real_programs_prints_back():
    assert len(LINES) == 231
    for line in LINES:
        instruction = xla.parse_instruction(line)
        assert str(instruction) == line
        assert instruction.is_root == (" ROOT " in line[:8])
        assert instruction.name == INSTRUCTION.match(line)[2]
        assert ("metadata" in instruction.attributes) == bool(instruction.metadata)
        for shape in (instruction.shape, *(x.shape for x in instruction.operands if x.shape)):
            assert xla.parse_shape(str(shape)) == shape
            assert str(shape) in line


def test_a_program_is_read_in_order_and_whole():
    for path in PROGRAMS:
        lines = lines_of(path)
        found = list(xla.read_hlo(path))
        assert [x.line for x in found] == [k for k, line in enumerate(lines, 1) if INSTRUCTION.match(line)]
        assert all(str(x.instruction) == lines[x.line - 1] for x in found)
        computations = re.findall(r"^(?:ENTRY )?%([\w.-]+) \(", "\n".join(lines), re.MULTILINE)
        assert list(dict.fromkeys(x.computation for x in found)) == computations
        assert {x.computation for x in found if x.is_entry} == {
            *re.findall(r"^ENTRY %([\w.-]+)", "\n".join(lines), re.MULTILINE)
        }
        assert sum(x.instruction.is_root for x in found) == len(computations)


def test_a_path_its_text_a_file_of_bytes_and_one_of_text_are_the_same():
    path = PROGRAMS[0]
    found = list(xla.read_hlo(path))
    assert list(xla.read_hlo(str(path))) == found
    for mode in ("r", "rb"):
        with open(path, mode) as file:
            assert list(xla.read_hlo(file)) == found
    windows = io.BytesIO(path.read_bytes().replace(b"\n", b"\r\n"))
    assert [str(x.instruction) for x in xla.read_hlo(windows)] == [f"{x.instruction}\r" for x in found]


# ------------------------------------------------------------------------- computations inside of instructions

CALLED = re.compile(r"(calls|to_apply|condition|body)=%([\w.-]+)")


def bodies_of(lines):
    """The lines of each computation between its braces."""
    starts = {k: re.match(r"(?:ENTRY )?%([\w.-]+) \(.*\{$", line) for k, line in enumerate(lines)}
    ends = [k for k, line in enumerate(lines) if line.startswith("}")]
    return {found[1]: lines[k + 1 : next(end for end in ends if end > k)] for k, found in starts.items() if found}


def canonical(line, bodies):
    """An instruction as XLA's canonical print has it: the computations that it calls inside of it."""
    indent = line[: len(line) - len(line.lstrip())]
    for found in reversed([*CALLED.finditer(line)]):
        inner = "\n".join(canonical("  " + x, bodies) for x in bodies[found[2]])
        line = f"{line[: found.start()]}{found[1]}=\n{indent}{{\n{inner}\n{indent}}}{line[found.end() :]}"
    return line


def test_a_program_with_its_computations_inside_of_its_instructions():
    nested = 0
    for path in PROGRAMS:
        given = lines_of(path)
        bodies = bodies_of(given)
        text = "\n".join(canonical(line, bodies) if INSTRUCTION.match(line) else line for line in given)
        lines = text.split("\n")
        found = list(xla.read_hlo(io.StringIO(text)))
        for x in found:
            whole = str(x.instruction)
            assert "\n".join(lines[x.line - 1 :]).startswith(whole)
            assert lines[x.line - 1 + whole.count("\n")] == whole.split("\n")[-1]
        assert [x.instruction.name for x in found if "/" not in x.computation] == [
            x.instruction.name for x in xla.read_hlo(path)
        ]
        assert sum(INSTRUCTION.match(line) is not None for line in lines) == len(found)
        assert not any(x.is_entry for x in found if "/" in x.computation)
        nested += sum("/" in x.computation for x in found)
        callers = {(x.computation, x.instruction.name): str(x.instruction) for x in found}
        for x in found:
            place, _, caller = x.computation.rpartition("/")
            assert not caller or not place or str(x.instruction) in callers[place, caller]
    assert nested > 50, nested


TEXT = """ENTRY main {
  a = f32[16,128]{1,0:T(8,128)} parameter(0)
  w = (s32[]) while((s32[]) a), condition=
  {
    p = (s32[]) parameter(0)
    ROOT c = pred[] fusion(p), calls=
    {
      ROOT x = pred[] constant(true)
    }
  }, body=
  {
    ROOT q = (s32[]) parameter(0)
  }
  b = f32[2]{0} conditional(a), branch_computations={
  {
    ROOT r = f32[2]{0} parameter(0)
  },
  {
    ROOT s = f32[2]{0} parameter(0)
  }
}, metadata={op_name="{"}
  ROOT d = f32[16,128]{0,1:T(8,128)} copy(a)
}
"""


def test_every_way_in_which_computations_stand_inside():
    found = [(x.instruction.name, x.computation, x.is_entry, x.line) for x in xla.read_hlo(io.StringIO(TEXT))]
    assert found == [
        ("a", "main", True, 2),
        ("p", "main/w", False, 5),
        ("x", "main/w/c", False, 8),
        ("c", "main/w", False, 6),
        ("q", "main/w", False, 12),
        ("w", "main", True, 3),
        ("r", "main/b", False, 16),
        ("s", "main/b", False, 19),
        ("b", "main", True, 14),
        ("d", "main", True, 22),
    ]
    for way in ("copy", "shape"):  # what is inside has no name to be followed by: a copy there would be lost
        with pytest.raises(LoweringError, match="as in main/w"):
            xla.totals(xla.read_hlo(io.StringIO(TEXT)), way)
    assert ("copy", 1, 65536) in [
        (t.key, t.count, t.bytes) for t in xla.totals(xla.read_hlo(io.StringIO(TEXT)), "operation", interiors=True)
    ]
    nameless = TEXT.replace("ENTRY main {", "ENTRY {")
    assert {x.computation for x in xla.read_hlo(io.StringIO(nameless))} == {"", "/w", "/w/c", "/b"}


@pytest.mark.parametrize("depth", [1, 63, 64, 65])
def test_instructions_inside_of_each_other_are_read_64_deep(depth):
    head = b"".join(b"b%d = f32[3] call(a), to_apply=\n{\n" % k for k in range(depth))
    found, said = read(b"ENTRY m {\n" + head + b"ROOT x = f32[3] parameter(0)\n" + b"}\n" * depth + b"}\n")
    assert (len(found), said) == (depth + 1, [])
    assert max(computation.count("/") for _line, computation, _entry in found) == min(depth, 64)


def test_what_follows_a_list_of_branches_that_is_cut_is_outside_of_it():
    head = (
        "ENTRY m {\n  b = f32[2]{0} conditional(a), branch_computations={\n  {\n    ROOT r = f32[2]{0} parameter(0)\n  "
        "},\n"
    )
    found, said = read(f"{head}  c = f32[2]{{0}} copy(a)\n}}\n".encode())
    assert found == [(4, "m/b", False), (6, "m", True)]
    assert [s.split(":")[0] for s in said] == ["line 2"]
    found, said = read(
        f"{head}  {{\n    ROOT s = f32[2]{{0}} parameter(0)\n  }}\n}}\n  c = f32[2]{{0}} copy(a)\n}}\n".encode()
    )
    assert (found, said) == ([(4, "m/b", False), (7, "m/b", False), (2, "m", True), (10, "m", True)], [])


def test_a_brace_alone_goes_on_with_an_instruction():
    found, said = read(b"ENTRY m {\n  %b = f32[3] custom-call(%a), x=[\n{\n1\n}\n]\n  %c = f32[3] copy(%b)\n}\n")
    assert (found, said) == ([(2, "m", True), (7, "m", True)], [])


def test_computations_inside_that_are_broken(monkeypatch):
    head, lines = "ENTRY m {\n", TEXT.splitlines(keepends=True)
    for cut in range(len(lines)):  # at any line: what is whole is read, and it is said what is not
        found, said = read("".join(lines[:cut]).encode())
        assert len(found) + len(said) >= sum(" = " in line for line in lines[:cut])
        assert bool(said) == bool(cut)
    found, said = read(f"{head}  %b = f32[3] add(%a), metadata=\n{BODY}}}\n".encode())
    assert [line for line, *_ in found] == [2, 3, 4]  # nothing is inside of it
    found, said = read(f"{head}  %b = f32[3] call(%a), to_apply=\n  {{\n    words\n{BODY}f {{\n{BODY}}}\n".encode())
    assert [line for line, *_ in found] == [5, 6, 8, 9]
    assert [s.split(":")[0] for s in said] == ["line 4", "line 7"]
    found, said = read(b"  b = f32[3] call(a), to_apply=\n{\n" * 200 + b"x = f32[3] parameter(0)\n" + b"}\n" * 200)
    assert len(found) + len(said) == 201
    monkeypatch.setattr(text_file, "MAX_LINE", 100)
    found, said = read(TEXT.encode())
    assert [line for line, *_ in found] == [2, 5, 8, 6, 12, 16, 19, 22]
    assert said == ["line 3: more than 100 characters", "line 14: more than 100 characters"]


# -------------------------------------------------------------------------------------------------------- parts


def test_the_parts_of_an_instruction():
    line = (
        "  ROOT %while.3 = (s32[]{:T(128)}, /*note*/ bf16[8,1]{1,0}) fusion(s32[] /*a*/ %x.1, (f32[2], b(f32[2])) %t, "
        '%y, b(s8[3]) %z, token[] %k, /*index=5*/%w), kind=kLoop, calls=%f.1, slice={[0:2], [1:3:1]}, note="a, b=\\"}", '
        'dim_labels=bf_io->bf, metadata={op_name="jit(f)/a \\"b\\", c=1" source_line=3 ids={1, 2}}, backend_config={"a":[{"b":"}"}]}'
    )
    it = xla.parse_instruction(line)
    assert str(it) == line.replace("/*note*/ ", "")  # a comment inside of a shape is no part of its print
    assert (it.name, it.is_root, it.opcode) == ("while.3", True, "fusion")
    assert it.shape == xla.parse_shape("(s32[]{:T(128)}, bf16[8,1]{1,0})")
    assert [x.name for x in it.operands] == ["x.1", "t", "y", "z", "k", "w"]
    assert [x.shape and str(x.shape) for x in it.operands] == [
        "s32[]",
        "(f32[2], b(f32[2]))",
        None,
        "b(s8[3])",
        "token[]",
        None,
    ]
    assert it.attributes["slice"] == "{[0:2], [1:3:1]}"
    assert it.attributes["note"] == '"a, b=\\"}"'
    assert it.attributes["dim_labels"] == "bf_io->bf"
    assert list(it.attributes) == ["kind", "calls", "slice", "note", "dim_labels", "metadata", "backend_config"]
    assert it.metadata == {"op_name": 'jit(f)/a "b", c=1', "source_line": "3", "ids": "{1, 2}"}
    assert hash(it) == hash(xla.parse_instruction(line))
    assert pickle.loads(pickle.dumps(it)) == it
    with pytest.raises(AttributeError):
        it.opcode = "copy"
    assert str(replace(it, operands=(), tail="")).endswith("fusion()")


def test_literals_stay_as_they_are():
    for text in (
        "1.5",
        "{1, 2, 3}",
        "{ { 1, 2 }, { 3, /*i0=1*/ 4 } }",
        "(1, {2, f32[3]})",
        "{...}",
        "-inf",
        '"a, )"',
        "",
        "f32[2] {1,2}",
    ):
        line = f"c = f32[2,2] constant({text}), sharding={{replicated}}"
        it = xla.parse_instruction(line)
        assert str(it) == line
        assert [x.text for x in it.operands] == ([text] if text else [])
        assert all(x.shape is None for x in it.operands)
    assert xla.parse_instruction("%p = f32[3] parameter(12)").operands[0].name == "12"


@pytest.mark.parametrize(
    "line",
    [
        "a=f32[3]add(b,c)",
        "\ta = f32[3]   add( b , %c )  ,  x = y  \n",
        "/* c */ ROOT /*r*/ %a.b-c /*d*/ = /*e*/ f32[3] /*f*/ add(%b)",
        "a = () tuple()",
        "a = token[] after-all()",
        'a = opaque[] custom-call(token[] %b), custom_call_target="x"',
        "a = b(f32[3]{0}) custom-call(b(f32[3]{0}) %a)",
        "add.936 = bf16[8,1,1280,16384]{3,2,0,1:T(8,128)(2,1)} add(exponential.183, broadcast.3115)",
        "a = f32[<=30,?] copy(f32[<=30,?] b), replica_groups=[2,4]<=[8]T(1,0), empty=",
    ],
)
def test_what_is_no_shape_is_kept_as_it_stands(line):
    assert str(xla.parse_instruction(line)) == line


def test_a_shape_prints_canonically():
    line = "%a = F32 [3, 5]{1, 0:(2,2)S(0)} copy(f32[3,5]{1,0:} %b)"
    assert str(xla.parse_instruction(line)) == "%a = f32[3,5]{1,0:T(2,2)} copy(f32[3,5]{1,0} %b)"


# ---------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("line", "what", "at"),
    [
        ("", "no instruction begins here", 0),
        ("   ", "no instruction begins here", 3),
        ("%a f32[3] add()", "no instruction begins here", 0),
        ("ROOT = f32[3] add()", "no instruction begins here", 0),
        ("%a = add(%b)", "no shape stands here", 5),
        ("%a = f31[3] add(%b)", "element type 'f31' is not known", 5),
        ("%a = f32[3]{0:T(0)} add(%b)", "entry 0", 15),
        ("%a = (f32[3], s99[]) add(%b)", "element type 's99' is not known", 14),
        ("%a = (f32[3] add(%b)", "the line ends", 20),
        ("%a = (f32[3]} add(%b)", "unexpected '}'", 12),
        ("%a = f32[3] Add(%b)", "no operation stands here", 11),
        ("%a = f32[3] add", "no operation stands here", 11),
        ("%a = f32[3]{} add(%b)", "no operation stands here", 11),
        ("%a = f32[3] add(%b", "the line ends", 18),
        ("%a = f32[3] add(%b, {1)", "unexpected ')'", 22),
        ("%a = f32[3] add(%b]", "unexpected ']'", 18),
        ("%a = f32[3] add(%b,, %c)", "an operand is empty", 19),
        ("%a = f32[3] add(%b,)", "an operand is empty", 19),
        ("%a = f32[3] add(f32[3]{0,0} %b)", "2 entries for 1", 23),
        ("%a = f32[3] add(%b) x", "unexpected 'x'", 20),
        ("%a = f32[3] add(%b), x", "unexpected ','", 19),
        ("%a = f32[3] add(%b), x={", "the line ends inside of brackets", 24),
        ("%a = f32[3] add(%b), x={(})", "unexpected '}'", 25),
        ("%a = f32[3] add(%b), x=1}", "unexpected '}'", 24),
        ('%a = f32[3] add(%b), x="1', "this string is not closed", 23),
        ("%a = f32[" + "9" * 5000 + "] add(%b)", "does not fit", 9),
        ("%a = " + "(" * 5000 + ")" * 5000 + " add(%b)", "more than 64 levels", 69),
    ],
)
def test_what_a_refusal_says_and_where(line, what, at):
    with pytest.raises(ParseError) as caught:
        xla.parse_instruction(line)
    assert what in caught.value.reason.what
    assert caught.value.position == at
    assert caught.value.reason.expected
    assert len(str(caught.value)) < 700


def test_every_line_cut_short_is_read_or_refused():
    rng = random.Random(7)
    for line in LINES[::5]:
        for at in rng.sample(range(len(line)), min(len(line), 30)):
            for broken in (
                line[:at],
                line[:at] + rng.choice('[](){}",=%\\/*\0é') + line[at:],
                line[:at] + line[at + 1 :],
            ):
                try:
                    again = str(xla.parse_instruction(broken))
                except ParseError as error:
                    assert 0 <= error.position <= len(broken)
                    continue
                assert str(xla.parse_instruction(again)) == again


@given(st.text(alphabet='%a=f32[]{}(),:"\\/* T01\n', max_size=40))
def test_any_line_is_read_or_refused(text):
    for line in (text, f"%a = f32[3]{text}", f"%a = f32[3] add({text}", f"%a = f32[3] add(%b){text}"):
        try:
            instruction = xla.parse_instruction(line)
        except ParseError:
            continue
        assert xla.parse_instruction(str(instruction)) == instruction


def test_no_line_takes_long():
    """Each of these took minutes, or all memory, when a line was tried in more ways than one."""
    many, head = amount(25_000, 100_000), "%a = f32[3]{0} f(%b), x="
    for line in (
        head + "(" * many,
        head + "{}" * many + "}",
        head + '"' + '\\"' * many,
        head + "{/" * many,
        head + '"a" ' * many + ")",
        "/**/" * many + "!",
        "%a = f32[3] " + "/**/" * many + "!",
        "%a = f32[3] f(/*" + "*" * many,
        "a" * many,
        " " * many,
        "%a = f32[3]" + " " * many + "{",
        "%a = (" + "f32[3], " * many,
    ):
        with pytest.raises(ParseError):
            xla.parse_instruction(line)
    for line in (" " * many + "y", "= " * many + "y", "= " * many + "\nb = f32[3] g(), c=\n{" * 3000):
        assert len([*xla.read_hlo(io.StringIO(f"e {{\na = f32[3] f(), x={line}"), lambda error: None)]) <= 3000
    assert len(xla.parse_instruction("%a = f32[3] tuple(" + "f32[3]{0} %b, " * 50_000 + "%c)").operands) == 50_001
    assert len(xla.parse_instruction(head + "1" + "".join(f", k{k}={k}" for k in range(50_000))).attributes) == 50_001


def test_what_is_no_text():
    for wrong in (b"%a = f32[3] add(%b)", None, 3):
        with pytest.raises(LeafTypeError):
            xla.parse_instruction(wrong)
    for wrong in (3, None, ["%a = f32[3] add(%b)"], "HloModule m\n"):
        with pytest.raises(LeafTypeError):
            xla.read_hlo(wrong)
    with pytest.raises(FileNotFoundError):
        next(xla.read_hlo("/no/such/file"))


@pytest.mark.parametrize("reader", [xla.read_hlo, xla.memory, xla.relayouts, xla.collectives, xla.census])
@pytest.mark.parametrize("times", [1, 500])
def test_the_text_of_a_module_is_no_path(reader, times):
    """It is longer than the name of any file."""
    with pytest.raises(LeafTypeError, match=r"the text of a module[\s\S]*io\.StringIO\(text\)"):
        reader("HloModule m, is_scheduled=true\n" * times)


# ------------------------------------------------------------------------------------------------- broken files

BODY = "  %a = f32[3]{0} parameter(0)\n  ROOT %n = f32[3]{0} negate(%a)\n"


def read(data):
    """What is read of a file, and the first line of each error."""
    errors = []
    found = [(x.line, x.computation, x.is_entry) for x in xla.read_hlo(io.BytesIO(data), errors.append)]
    return found, [error.reason.what.split(", at position")[0] for error in errors]


@pytest.mark.parametrize(
    ("text", "lines", "errors"),
    [
        (f"ENTRY main {{\n{BODY}}}\n", [2, 3], []),
        (f'// c\nHloModule m\n\nf (a: f32[3]) -> f32[3] {{\n// c\n\n{BODY}}}, execution_thread="x"\n', [7, 8], []),
        (f'FileNames\n1 "a = b {{"\n{BODY}', [3, 4], []),
        (f"ENTRY main {{\n{BODY}", [2, 3], ["line 3: the file ends inside of the computation main"]),
        (
            f"ENTRY main {{\n{BODY}  %c = f32[3",
            [2, 3],
            ["line 4: no shape stands here", "line 4: the file ends inside of the computation main"],
        ),
        (f"e {{\n{BODY}f {{\n{BODY}}}\n", [2, 3, 5, 6], ["line 4: a computation begins inside of e"]),
        ("}\n", [], ["line 1: '}' closes nothing"]),
        ("HloModule = f32[3] add(b)  \nHloModule.2  = f32[3] add(b)  \nHloModule m.x\n", [1, 2], []),
        ("some words\n\x00\x01\n", [], ["line 1: no part of an HLO module", "line 2: no part of an HLO module"]),
        (f"f {{\nsome words\n{BODY}}}", [3, 4], ["line 2: no instruction begins here"]),
    ],
)
def test_files_that_are_broken_and_files_that_are_not(text, lines, errors):
    found, said = read(text.encode())
    assert [line for line, *_ in found] == lines
    assert said == errors
    if errors:
        with pytest.raises(ParseError, match=re.escape(errors[0])):
            list(xla.read_hlo(io.StringIO(text)))
    whole, places = ("no part", "a computation begins", "'}' closes nothing", "the file ends"), []
    list(xla.read_hlo(io.StringIO(text), places.append))
    assert all(e.position == 0 for e in places if e.reason.what.partition(": ")[2].startswith(whole))


def test_bytes_that_are_no_text():
    data = f"ENTRY %m {{\n{BODY}".encode() + b"  %\xc3\xa9 = \xff\xfe\n" + BODY.encode() + b"}\n"
    errors = []
    assert [x.line for x in xla.read_hlo(io.BytesIO(data), errors.append)] == [2, 3, 5, 6]
    assert [(e.position, e.reason.what.split(",")[0]) for e in errors] == [(7, "line 4: bytes that are no text")]
    garbage = bytes(range(256)) * 100
    found, said = read(garbage)
    assert found == []
    assert len(said) == 101
    with pytest.raises(ParseError, match="line 1"):
        next(xla.read_hlo(io.BytesIO(garbage)))


def test_a_line_that_is_too_long(monkeypatch):
    monkeypatch.setattr(text_file, "MAX_LINE", 100)
    data = f"ENTRY %m {{\n{BODY}  %b = f32[3] add({'x, ' * 1000}y)\n{BODY}}}\n"
    assert read(data.encode()) == ([(k, "m", True) for k in (2, 3, 5, 6)], ["line 4: more than 100 characters"])
    assert [x.line for x in xla.read_hlo(io.StringIO(data), lambda error: None)] == [2, 3, 5, 6]
    assert read(b"x" * 250) == ([], ["line 1: more than 100 characters"])


class Endless(io.RawIOBase):
    """A module of so many instructions that is never in memory."""

    def __init__(self, count):
        self.lines = iter([b"ENTRY %m {\n", *[BODY.encode().splitlines(keepends=True)[0]] * count, b"}\n"])

    def readline(self, size=-1):
        return next(self.lines, b"")


def test_memory_does_not_grow_with_the_file():
    def peak(count):
        source = Endless(count)
        tracemalloc.start()
        assert sum(1 for _ in xla.read_hlo(source)) == count
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(10)
    assert peak(20_000) < 2 * peak(2_000) + 50_000


def test_the_file_is_closed_when_the_reader_has_seen_enough():
    reader = xla.read_hlo(PROGRAMS[0])
    next(reader)
    reader.close()  # pytest turns a file left open into an error


# ---------------------------------------------------------------------------------------------------- totals


def test_totals_of_the_text_are_those_of_the_arrays():
    files = sorted((DATA / "hlo").glob("*__*.txt"))
    for path in files:
        sizes = [
            (
                it.instruction.opcode,
                it.computation,
                xla.byte_size(a),
                xla.waste(a),
                a.effective_layout.memory_space,
                str(a),
            )
            for it in xla.read_hlo(path)
            for a in arrays(it.instruction.shape)
        ]
        for by, key in (("operation", 0), ("computation", 1), ("space", 4), ("shape", 5)):
            found = xla.totals(xla.read_hlo(path), by, interiors=True)
            assert sum(t.count for t in found) == len(sizes)
            assert sum(t.bytes for t in found) == sum(s[2] for s in sizes)
            assert sum(t.waste for t in found) == sum(s[3] for s in sizes)
            assert len(found) == len({s[key] for s in sizes})
            assert [t.bytes for t in found] == sorted((t.bytes for t in found), reverse=True)


def test_totals_take_what_read_hlo_takes():
    found = xla.totals(xla.read_hlo(io.StringIO(TEXT)), "shape", True)
    assert xla.totals(io.StringIO(TEXT), "shape", True) == found == xla.totals(io.BytesIO(TEXT.encode()), "shape", True)
    assert xla.totals(DATA / "hlo" / "documents.txt", "shape", True) == xla.totals(
        str(DATA / "hlo" / "documents.txt"), "shape", True
    )
    for wrong in (None, 7, [7], "x\ny"):
        with pytest.raises(LeafTypeError):
            xla.totals(wrong, "shape", True)
    with pytest.raises(LeafTypeError, match="merge of a NoneType"):
        xla.merge(None)


def test_totals_are_what_is_allocated():
    for path in sorted((DATA / "hlo").glob("*__*.txt")):
        memory = xla.memory(path)
        held = [b for b in memory.buffers if b.shape is not None]
        for by in ("operation", "computation", "space", "shape"):
            found = xla.totals(xla.read_hlo(path), by)
            assert sum(t.count for t in found) == len(held)
            assert sum(t.bytes for t in found) == sum(b.bytes for b in held)
            assert sum(t.waste for t in found) == sum(b.waste for b in held)


def test_copies_that_move_nothing_are_left_out():
    text = """ENTRY %main {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %b = f32[8,128]{1,0:T(8,128)S(1)} copy(%a)
  %c = f32[8,128]{0,1:T(8,128)} copy(f32[8,128]{1,0:T(8,128)S(1)} %b)
  %d = f32[8,128]{0,1:T(8,128)} copy(%missing)
  %f = bf16[8,128]{0,1:T(8,128)(2,1)} convert(%c)
  ROOT %e = f32[?]{0} custom-call(%d)
}"""
    kind, order = xla.totals(xla.read_hlo(io.StringIO(text)), "copy")
    assert (order.count, order.bytes) == (1, 4096 + 65536)
    assert order.key == "f32[8,128]{1,0:T(8,128)S(1)} -> f32[8,128]{0,1:T(8,128)}"
    assert (kind.key.split(" -> ")[1], kind.bytes) == ("bf16[8,128]{0,1:T(8,128)(2,1)}", 65536 + 32768)
    with pytest.raises(tla.RangeError, match="operation"):
        xla.totals([], "colour")


def test_totals_are_sums_by_kind_and_space_the_largest_first():
    """Of equal bytes more pieces first, then by name."""
    outside = "%o = f32[256,128]{1,0:T(8,128)} parameter(0)\n"
    body = """  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  %b = f32[8,128]{1,0:T(8,128)S(1)} slice(%a)
  %c = (f32[8,128]{1,0:T(8,128)}, (f32[3,128]{1,0:T(8,128)S(1)}, token[])) custom-call(%b)
  %d = f32[8,128]{1,0:T(8,128)S(1)} copy(%b)
  %e = bf16[16,128]{1,0:T(8,128)(2,1)S(1)} convert(%a)
  %g = f32[16,128]{0,1:T(8,128)S(6)} copy(%a)
  %h = f32[16,128]{1,0:T(8,128)S(1)} copy(%a)
  ROOT %r = f32[16,128]{1,0:T(8,128)} bitcast(%a)
"""

    def sums(rows):
        found = {}
        for key, size, lost in rows:
            n, b, w = found.get(key, (0, 0, 0))
            found[key] = n + 1, b + size, w + lost
        return sorted(((key, *of) for key, of in found.items()), key=lambda t: (-t[2], -t[1], t[0]))

    def totals(text, by, *more, **given):
        return [
            (t.key, t.count, t.bytes, t.waste) for t in xla.totals(xla.read_hlo(io.StringIO(text)), by, *more, **given)
        ]

    written = [
        (x, a) for x in xla.read_hlo(io.StringIO(f"{outside}%m {{\n{body}}}")) for a in arrays(x.instruction.shape)
    ]
    memory = xla.memory(io.StringIO(f"ENTRY %m {{\n{body}}}"), scheduled=True)
    held = [(b.line, b.shape) for b in memory.buffers if b.shape is not None]
    keys = {
        "shape": lambda _x, a: str(a),
        "operation": lambda x, _a: x.instruction.opcode,
        "computation": lambda x, _a: x.computation or "(none)",
        "space": lambda _x, a: f"S({a.effective_layout.memory_space})",
    }
    assert len(written) == 10
    assert len(held) == 8
    assert [b.name for b in memory.buffers if b.shape is None] == ["c{}", "c{1}"]  # tables, which are no arrays
    for (by, key), space in itertools.product(keys.items(), (None, 0, 1, 6, 7)):
        for text, found in ((f"{outside}%m {{\n{body}}}", written), (f"ENTRY %m {{\n{body}}}", held)):
            rows = [
                (key(x, a), xla.byte_size(a), xla.waste(a))
                for x, a in found
                if space in (None, a.effective_layout.memory_space)
            ]
            assert totals(text, by, space=space) == sums(rows), (by, space)
    assert len(totals(f"ENTRY %m {{\n{body}}}", "shape", True)) == len({str(a) for _x, a in written[1:]})
    order, kind = (
        ("f32[16,128]{1,0:T(8,128)} -> f32[16,128]{0,1:T(8,128)S(6)}", 1, 8192 + 65536, 0),
        ("f32[16,128]{1,0:T(8,128)} -> bf16[16,128]{1,0:T(8,128)(2,1)S(1)}", 1, 8192 + 4096, 0),
    )
    copies = {None: [order, kind], 0: [order, kind], 1: [kind], 6: [order], 7: []}
    assert {space: totals(f"ENTRY %m {{\n{body}}}", "copy", space=space) for space in copies} == copies


def test_a_text_file_with_other_bytes_says_how_to_read_it(tmp_path):
    path = tmp_path / "module"
    path.write_bytes(b"ENTRY %m {\n  %a = f32[3] parameter(0)\n  %b = f32[3] neg\xff(%a)\n}\n")
    with path.open(encoding="utf-8") as file, pytest.raises(ParseError, match="no utf-8") as caught:
        [*xla.read_hlo(file)]
    assert "as bytes" in caught.value.reason.fix
    errors = []
    assert [x.line for x in xla.read_hlo(path, errors.append)] == [2]
    assert len(errors) == 1
