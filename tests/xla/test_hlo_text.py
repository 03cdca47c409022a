"""HLO texts as people and tools write them: over several lines, packed, and what is no HLO text at all."""

import bz2
import copy
import dataclasses
import gzip
import io
import lzma
import pickle
import re

import pytest

from tla import ParseError, xla

from night import amount
from truth import DATA

PROGRAMS = sorted((DATA / "hlo").glob("*__*.txt"))
SEED = (DATA / "hlo" / "documents.txt").read_text()


def read(text):
    errors = []
    return list(xla.read_hlo(io.StringIO(text), errors.append)), errors


def squeezed(text):
    return re.sub(r"\s+", " ", str(text)).strip()


def test_the_examples_of_the_documents_are_two_instructions():
    found, errors = read(SEED)
    assert not errors
    assert [(x.line, x.instruction.name, x.instruction.opcode) for x in found] == [
        (1, "add.936", "add"),
        (3, "fusion.3", "fusion"),
    ]
    assert [o.name for o in found[0].instruction.operands] == ["exponential.183", "broadcast.3115"]
    assert found[1].instruction.attributes == {"kind": "kCustom", "calls": "%all-reduce-scatter.3"}
    assert "\n".join(str(x.instruction) for x in found) == SEED.rstrip("\n")


def test_an_instruction_that_is_read_is_one_that_is_made():
    """Reading sets the fields one by one, and knows what follows from them; making one works that out."""
    for path in PROGRAMS[:6]:
        for x in xla.read_hlo(path):
            it = x.instruction
            made = [xla.Instruction(it.head, it.shape, it.gap, it.opcode, it.operands, it.tail), copy.copy(it)]
            for other in (*made, pickle.loads(pickle.dumps(it))):
                assert type(other) is type(it) is xla.Instruction
                assert (other, hash(other), str(other)) == (it, hash(it), str(it))
                for name in (
                    "name",
                    "is_root",
                    "operand_names",
                    "called",
                    "attributes",
                    "metadata",
                    "parameter_number",
                ):
                    assert getattr(other, name) == getattr(it, name)
                assert (other._tail.metadata, other._tail.config) == (it._tail.metadata, it._tail.config)
            assert dataclasses.replace(it, head="  ROOT %a.1 = ").name == "a.1"
            for name in ("head", "operands"):
                with pytest.raises(dataclasses.FrozenInstanceError):
                    setattr(it, name, "x")
    buffer = xla.memory(PROGRAMS[0], scheduled=True).buffers[0]
    assert type(buffer) is type(dataclasses.replace(buffer))
    with pytest.raises(dataclasses.FrozenInstanceError):
        buffer.bytes = 3


def test_an_attribute_that_is_cut_behind_its_name_is_empty():
    for line in (
        "%a = f32[3]{0} add(%b), kind=x, backend_config=",
        "%a = f32[3]{0} add(%b), metadata={}, backend_config=",
    ):
        assert xla.parse_instruction(line).attributes["backend_config"] == ""
        assert str(xla.parse_instruction(line)) == line


def broken_up(line, every):
    """The line with a line break instead of each k-th blank that stands in no string."""
    pieces, count = re.split(r'("(?:[^"\\]|\\.)*")', line), 0
    for k in range(0, len(pieces), 2):
        words = pieces[k].split(" ")
        for j in range(1, len(words)):
            count += 1
            words[j] = ("\n    " if count % every == 0 else " ") + words[j]
        pieces[k] = "".join(words)
    return "".join(pieces)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
def test_instructions_of_real_programs_over_several_lines_are_those_of_one(every):
    for path in PROGRAMS:
        text = path.read_text()
        expected = [squeezed(x.instruction) for x in xla.read_hlo(path)]
        lines = []
        for line in text.splitlines():
            head = re.match(r"\s+(ROOT )?%[\w.-]+ = ", line)
            lines.append(line if head is None else head[0] + broken_up(line[head.end() :], every))
        found, errors = read("\n".join(lines))
        assert not errors
        assert [squeezed(x.instruction) for x in found] == expected


def test_an_instruction_that_never_ends_hides_no_other():
    head = "ENTRY %m {\n  %a = f32[3] parameter(0)\n"
    for broken in (
        "%b = f32[3]",
        "%b = f32[3] add(%a,",
        "%b = f32[3] add(%a), x={",
        "%b =",
        "%b = f32[3] add(%a), k=1,",
    ):
        found, errors = read(f"{head}  {broken}\n  %c = f32[3] copy(%a)\n}}\n")
        assert [x.instruction.name for x in found] == ["a", "c"]
        assert [e.reason.what.split(":")[0] for e in errors] == ["line 3"]
        found, errors = read(f"{head}  {broken}\n")
        assert [x.instruction.name for x in found] == ["a"]
        assert len(errors) == 2  # and the computation is open
    found, errors = read(
        f'{head}  %b = f32[3] custom-call(%a), backend_config={{\n  "x": [\n  1],\n  "y": "}}"\n  }}\n}}\n'
    )
    assert ([x.instruction.name for x in found], errors) == (["a", "b"], [])


@pytest.mark.parametrize("opcode", ["copy", "all-reduce", "copy-start"])
def test_an_operation_that_is_cut_before_its_bracket_is_reported_once(opcode):
    """The line behind it may belong to it: that is no error of its own."""
    found, errors = read(
        f"ENTRY %m {{\n  %a = f32[3] parameter(0)\n  %b = f32[3] {opcode}\n  (%a)\n  %c = f32[3] copy(%a)\n}}\n"
    )
    assert [x.instruction.name for x in found] == ["a", "c"]
    assert [e.reason.what.split(":")[0] for e in errors] == ["line 3"]


def test_long_continuations_take_no_time():
    many = amount(25_000, 100_000)
    for tail in ("x,\n" * many, "\n" * many, "(\n" * many, "k=1,\n" * many):
        found, errors = read(f"ENTRY %m {{\n  %a = f32[3] constant(0), b=1,\n{tail}")
        assert (found, len(errors)) == ([], 2)


def test_packed_files_are_read(tmp_path):
    for path in PROGRAMS[:2]:
        packed = gzip.compress(path.read_bytes())
        target = tmp_path / "p.gz"
        target.write_bytes(packed)
        expected = list(xla.read_hlo(path))
        assert list(xla.read_hlo(target)) == expected
        assert list(xla.read_hlo(io.BytesIO(packed))) == expected
        for cut in (10, len(packed) // 2, len(packed) - 3):
            with pytest.raises(ParseError, match="packed file is broken"):
                list(xla.read_hlo(io.BytesIO(packed[:cut])))


FOREIGN = {
    "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n func.func public @main(%arg0: tensor<3xf32>) {\n %0 = stablehlo.add %arg0, %arg0": "StableHLO",
    '#loc = loc(unknown)\n"builtin.module"() ({\n "stablehlo.return"': "StableHLO",
    "module {\n func.func @main() { %0 = mhlo.add %1, %2 }\n}": "MHLO",
    "module attributes {stable_mosaic.version = 9 : i64} {\n  func.func @main(%arg0: memref<8x128xf32>) {": "Mosaic",
    "module {\n func.func @main() {\n return } }": "MLIR",
}


@pytest.mark.parametrize(("text", "name"), FOREIGN.items())
def test_other_languages_are_refused_by_their_names(text, name):
    for source in (io.StringIO(text), io.BytesIO(text.encode()), io.StringIO("\n// a comment\n" + text)):
        with pytest.raises(ParseError, match=rf"the file is {name}\b"):
            list(xla.read_hlo(source, lambda error: None))
    with pytest.raises(ParseError, match="MLIR bytecode"):
        list(xla.read_hlo(io.BytesIO(b"ML\xefR\x03\x00StableHLO_v1.0.0"), lambda error: None))


BINARY = {
    "packed by bzip2": bz2.compress,
    "packed by xz": lzma.compress,
    "packed by zip": lambda raw: b"PK\3\4" + raw,
    "packed by zstd": lambda raw: b"\x28\xb5\x2f\xfd" + raw,
    "a text of UTF-16": lambda raw: raw.decode().encode("utf-16"),
}


@pytest.mark.parametrize("name", [*BINARY])
def test_what_is_packed_or_encoded_otherwise_is_refused_by_its_name(name):
    """Each was lines that are no text."""
    with pytest.raises(ParseError, match=f"the file is {name}, at position 0"):
        xla.memory(io.BytesIO(BINARY[name](b"HloModule m\n")))


def test_the_mark_of_a_text_of_utf_8_is_no_part_of_its_header():
    """The header could not be read, so the module was not scheduled."""
    text = "\ufeffHloModule m, is_scheduled=true\nENTRY %main {\n  ROOT %a = f32[8]{0} parameter(0)\n}\n"
    for source in (io.StringIO(text), io.BytesIO(text.encode())):
        assert xla.read_module(source).is_scheduled


def test_a_name_that_only_looks_foreign_is_read():
    assert [x.instruction.name for x in read("module = f32[3] parameter(0)\n")[0]] == ["module"]


@pytest.mark.parametrize("indent", [1, 2, 8])
def test_a_module_that_is_indented_is_the_same_module(indent):
    """As XLA prints it with indent_amount: its first line and its tables too."""
    text = """HloModule jit_f, is_scheduled=true

FileNames
1 "a.py"

%c.1 (p: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  ROOT %n = f32[] negate(%p)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  ROOT %r = f32[8]{0} map(%a), dimensions={0}, to_apply=%c.1
}
"""
    indented = "".join(" " * indent + line if line.strip() else line for line in text.splitlines(keepends=True))
    one, other = (
        [
            (x.instruction.name, str(x.instruction.shape), x.computation, x.is_entry)
            for x in xla.read_hlo(io.StringIO(t))
        ]
        for t in (text, indented)
    )
    assert one == other
    assert len(one) == 4
    assert xla.read_module(io.StringIO(indented)).name == "jit_f"


def test_what_is_wrong_inside_of_an_instruction_is_told_at_once():
    """Only what ends too early may go on in the next line; the lines after a wrong one are by themselves."""
    found, errors = read("%b = f31[3]{0} add(%a)\n  metadata={}\n%c = f32[3] copy(%a)\n")
    assert [x.instruction.name for x in found] == ["c"]
    assert [str(e).partition(",")[0] for e in errors] == [
        "line 1: element type 'f31' is not known",
        "line 2: no shape stands here",
    ]


@pytest.mark.parametrize("shift", [0, 1])
def test_the_lines_of_the_users_program(shift):
    """From the innermost call outwards. Parents are numbers of frames, 0 for none; since 2025 one more, so that
    1 is none."""
    text = f"""HloModule m

FileNames
1 "outer.py"
2 "inner.py"

FunctionNames
1 "main"
2 "layer"

FileLocations
1 {{file_name_id=1 function_name_id=1 line=10 end_line=10 column=1 end_column=9}}
2 {{file_name_id=2 function_name_id=2 line=20 end_line=20 column=1 end_column=9}}
3 {{file_name_id=9 column=1}}

StackFrames
1 {{file_location_id=1 parent_frame_id={shift}}}
2 {{file_location_id=2 parent_frame_id={1 + shift}}}
3 {{file_location_id=7 parent_frame_id={1 + shift}}}
4 {{file_location_id=3}}
5 {{parent_frame_id={1 + shift}}}

ENTRY %main {{
  %a = f32[] parameter(0), metadata={{op_name="x" stack_frame_id=2}}
  %b = f32[] negate(%a), metadata={{op_name="x" stack_frame_id=1}}
  %c = f32[] negate(%a), metadata={{source_file="c.py" source_line=7 stack_frame_id=1}}
  %d = f32[] negate(%a), metadata={{source_file="d.py"}}
  %e = f32[] negate(%a), metadata={{stack_frame_id=3}}
  %f = f32[] negate(%a), metadata={{stack_frame_id=9}}
  %h = f32[] negate(%a), metadata={{stack_frame_id=4}}
  %i = f32[] negate(%a), metadata={{stack_frame_id=5}}
  ROOT %g = f32[] negate(%a)
}}
"""
    module = xla.read_module(io.StringIO(text))
    found = {
        x.instruction.name: [tuple(line) for line in module.frames(x.instruction)] for x in module.computations["main"]
    }
    outer, inner = ("outer.py", 10, "main"), ("inner.py", 20, "layer")
    known = {
        "a": [inner, outer],
        "b": [outer],
        "c": [("c.py", 7, ""), outer],
        "d": [("d.py", 0, "")],
        "e": [],
        "f": [],
        "g": [],
        "h": [("", 0, "")],
        "i": [],
    }
    assert found == known


REPORTS = {
    "a report on the use of memory": "Memory Space: default (color=0)\nTotal bytes: 1626144 (1.55MiB)\n",
    "a buffer assignment": "BufferAssignment:\nallocation 0: size 512, page 0, thread-local:\n",
    "a list of live ranges": "HloLiveRange (max 10):\n  InstructionSequence:\n",
    "a list of buffers": "\nTotal bytes used: 28532772 (27.21MiB)\n",
}


@pytest.mark.parametrize("name", [*REPORTS])
def test_reports_of_a_dump_are_refused_by_their_names(name):
    for source in (io.StringIO(REPORTS[name]), io.BytesIO(REPORTS[name].encode())):
        with pytest.raises(ParseError, match=f"the file is {name}, and no HLO text") as refused:
            xla.memory(source)
        assert "after_optimizations.txt" in refused.value.reason.fix


def test_a_file_of_another_kind_has_no_place_that_is_shown():
    """There was an empty line, and a caret below it."""
    for raw in (b"module @jit_f attributes {} {\n stablehlo.add\n", b"BZh91AY", b"BufferAssignment:\n"):
        with pytest.raises(ParseError, match=r"\Athe file is ") as refused:
            xla.memory(io.BytesIO(raw))
        lines = str(refused.value).splitlines()
        assert [line.split()[0] for line in lines[1:]] == ["expected", "fix"]
        assert str(copy.copy(refused.value)) == str(refused.value)
