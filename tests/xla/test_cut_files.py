"""Files that are cut: no reader of programs answers for the part that is there as if it were the whole."""

import gzip
import io
import random

import pytest

from tla import TlaError, xla
from tla.apps.cli import main

from night import amount, some
from truth import DATA

TEXT = gzip.decompress((DATA / "xla" / "programs" / "booleans__v3.txt.gz").read_bytes()).decode()
LOOPS = gzip.decompress((DATA / "xla" / "programs" / "branches__v5e.txt.gz").read_bytes()).decode()


def places(text):
    """Where a text is cut: anywhere, at the end of a line, and between two computations; not behind
    its last bracket."""
    last = text.rstrip().rfind("}")
    ends = [k + 1 for k, c in enumerate(text) if c == "\n" and k < last]
    rng = random.Random(len(text))
    return sorted(
        {
            *rng.sample(range(last + 1), amount(5, last)),
            *rng.sample(ends, min(len(ends), amount(5, len(ends)))),
            last,
        }
    )


@pytest.mark.once
@pytest.mark.parametrize("text", [TEXT, LOOPS], ids=["booleans", "branches"])
@pytest.mark.parametrize("kind", ["memory", "relayouts", "totals"])
def test_what_is_missing_is_said(text, kind):
    for at in places(text):
        said = []
        try:
            if kind == "memory":
                said += xla.memory(io.StringIO(text[:at])).warnings
            elif kind == "relayouts":
                xla.relayouts(io.StringIO(text[:at]), on_error=said.append)
            else:
                lines = [*xla.read_hlo(io.StringIO(text[:at]), said.append)]
                if not xla.totals(lines, "shape", on_warning=said.append) and not lines:
                    continue  # nothing is answered
        except TlaError:
            continue
        assert any("the file ends inside of" in str(s) or "no ENTRY computation" in str(s) for s in said), at


@pytest.mark.parametrize("by", ["shape", "space", "peak", "relayout"])
def test_the_command_says_it_too(capsys, tmp_path, by):
    path = tmp_path / "cut.txt"
    for at in some(places(TEXT), 12):
        path.write_text(TEXT[:at])
        code = main(["hlo", str(path), "--by", by])
        error = capsys.readouterr().err
        assert code or "the file ends inside of" in error, at
        assert error, at


def test_the_command_says_that_the_first_line_is_missing(capsys, tmp_path):
    """Without it no schedule is known, so that buffers are added up by shape: it said nothing of what is missing."""
    path = tmp_path / "cut.txt"
    path.write_text(TEXT[TEXT.index("\n") :])
    assert main(["hlo", str(path)]) == 0
    assert "the text has no header: which arguments are donated is not known" in capsys.readouterr().err


def test_a_part_before_the_entry_is_no_program():
    """Where the callers of fusions are cut off, their insides are no memory."""
    part = TEXT[: TEXT.index("ENTRY")]
    for ask in (xla.memory, xla.relayouts):
        with pytest.raises(TlaError, match="has no ENTRY computation"):
            ask(io.StringIO(part))
    warnings = []
    xla.totals(xla.read_hlo(io.StringIO(part)), "shape", on_warning=warnings.append)
    assert warnings == ["no ENTRY computation: every array of the text is counted, the inside of fusions too"]


@pytest.mark.once
def test_a_packed_file_that_is_cut():
    packed = gzip.compress(TEXT.encode())
    for at in range(20, len(packed) - 8, len(packed) // amount(10, 400)):
        try:
            said = xla.memory(io.BytesIO(packed[:at])).warnings
        except TlaError:
            continue
        assert any("packed file is broken" in s for s in said), at


@pytest.mark.once
@pytest.mark.parametrize("text", [TEXT, LOOPS], ids=["booleans", "branches"])
def test_a_file_without_its_beginning_or_a_computation_in_its_middle(text):
    """No line of what is left is wrong by itself."""
    inside = [k for k in range(len(text)) if text.startswith("\n%", k)]
    for at in random.Random(3).sample(inside, amount(4, len(inside))):
        end = text.index("\n}\n", at) + 2
        name = text[at + 2 : end].split()[0]
        for part in (text[:at] + text[end:], text[end:]):
            try:
                said = xla.memory(io.StringIO(part), scheduled=True).warnings
            except TlaError:
                continue
            assert any(f"computation {name} is called, and not there" in s for s in said), name
            errors = []
            xla.relayouts(io.StringIO(text[:at] + text[end:]), True, errors.append)
            assert any("is called, and not there" in str(e) for e in errors), name
            assert any("the text has no header" in s for s in said) == (part == text[end:])


UPDATE = """HloModule m, is_scheduled=true
%update (p0: f32[8,128], p1: f32[1,128], p2: s32[]) -> f32[8,128] {
  %p0 = f32[8,128]{1,0:T(8,128)} parameter(0)
  %p1 = f32[1,128]{1,0:T(8,128)} parameter(1)
  %p2 = s32[] parameter(2)
  %zero = s32[] constant(0)
  %same = f32[8,128]{1,0:T(8,128)} bitcast(%p0)
  ROOT %u = f32[8,128]{1,0:T(8,128)} dynamic-update-slice(%same, %p1, %p2, /*index=3*/%zero)
}
ENTRY %main (a: f32[8,128], b: f32[1,128], i: s32[]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %b = f32[1,128]{1,0:T(8,128)} parameter(1)
  %i = s32[] parameter(2)
  %n = f32[8,128]{1,0:T(8,128)} negate(%a)
  %q = f32[8,128]{1,0:T(8,128)} fusion(%n, %b, %i), kind=kLoop, calls=%update
  ROOT %r = f32[8,128]{1,0:T(8,128)} negate(%q)
}
"""


def test_a_line_that_is_missing_inside_of_a_fusion_is_said():
    """Without %same it was not seen that the fusion updates its operand: 4096 bytes more, and no word."""
    lines = UPDATE.splitlines(keepends=True)
    whole = xla.memory(io.StringIO(UPDATE))
    assert (whole.peak[0].bytes, whole.warnings) == (20480, ())
    for k in (*range(2, 8), *range(10, 15)):
        part = xla.memory(io.StringIO("".join(lines[:k] + lines[k + 1 :])))
        assert part.missing, lines[k]
    part = xla.memory(io.StringIO(UPDATE.replace(lines[6], "")))
    assert part.missing == ("line 7: u: operand same is not there",)
    shaped = UPDATE.replace("update-slice(%same", "update-slice(f32[8,128]{1,0:T(8,128)} %gone")
    assert xla.memory(io.StringIO(shaped)).missing == ("line 8: u: operand gone is not there",)
    part = xla.memory(io.StringIO(UPDATE.replace("ROOT %u", "%u")))
    assert part.missing == ("line 8: u: it is the last line of a computation without a ROOT",)


@pytest.mark.once
@pytest.mark.parametrize("text", [TEXT, LOOPS], ids=["booleans", "branches"])
def test_lines_that_are_missing_in_the_middle_change_no_answer_without_a_word(text):
    """Without its ROOT, or the start of a copy, a program was answered as if it were whole."""
    lines = text.splitlines(keepends=True)
    first = next(k for k, line in enumerate(lines) if line.startswith(("%", "ENTRY")))
    rng = random.Random(len(text))
    held, moved = answers(text)
    roots = [k for k, line in enumerate(lines) if line.lstrip().startswith("ROOT")]
    for k in {*rng.sample(range(first, len(lines) - 1), amount(12, 400)), *rng.sample(roots, min(len(roots), 6))}:
        count = rng.choice([1, 1, 2, 7, 30])
        part = "".join([*lines[:k], *lines[k + count :]])
        for kind, was in (("memory", held), ("relayouts", moved)):
            said = []
            try:
                if kind == "memory":
                    memory = xla.memory(io.StringIO(part))
                    now, said = account(memory), memory.missing
                else:
                    module = xla.read_module(io.StringIO(part), said.append)
                    now = account_of_moves(xla.relayouts(module, on_error=said.append))
                    said += [*xla.unknown_names(module), *xla.contradictions(module)]
            except TlaError:
                continue
            assert said or now == was, (kind, k, count, lines[k])


def account(memory):
    return memory.reported, {n: peak.bytes for n, peak in memory.peak.items()}


def account_of_moves(moves):
    return sorted((m.bytes, m.times or 0) for m in moves)


def answers(text):
    return account(xla.memory(io.StringIO(text))), account_of_moves(xla.relayouts(io.StringIO(text)))


@pytest.mark.parametrize("kind", ["entry", "applied", "called"])
def test_a_computation_without_its_root_is_said(kind):
    text = """HloModule m, is_scheduled=true

%f (p: f32[], q: f32[]) -> f32[] {
  %p = f32[]{:T(128)} parameter(0)
  %q = f32[]{:T(128)} parameter(1)
  ROOT %applied = f32[]{:T(128)} add(%p, %q)
}

%g (x: f32[8,128]) -> f32[8,128] {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %y = f32[8,128]{1,0:T(8,128)} negate(%x)
  ROOT %called = f32[8,128]{1,0:T(8,128)} copy(%y)
}

ENTRY %main (a: f32[8,128]) -> f32[8] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %z = f32[]{:T(128)} constant(0)
  %c = f32[8,128]{1,0:T(8,128)} call(%a), to_apply=%g
  ROOT %entry = f32[8]{0:T(128)} reduce(%c, %z), dimensions={1}, to_apply=%f
}
"""
    assert xla.memory(io.StringIO(text)).warnings == ()
    lines = text.splitlines(keepends=True)
    k = next(k for k, line in enumerate(lines) if line.startswith(f"  ROOT %{kind} "))
    part = "".join(lines[:k] + lines[k + 1 :])
    assert any("the last line of a computation without a ROOT" in w for w in xla.memory(io.StringIO(part)).missing)
    said = []
    xla.relayouts(io.StringIO(part), on_error=said.append)
    assert any("without a ROOT" in str(error) for error in said) is (kind != "applied")  # it moves nothing


NEEDED = """HloModule m, is_scheduled=true

%f (p: f32[], q: f32[]) -> f32[] {
  %p = f32[]{:T(128)} parameter(0)
  %q = f32[]{:T(128)} parameter(1)
  ROOT %applied = f32[]{:T(128)} add(%p, %q)
}

%g (x: f32[8,128]) -> (f32[8,128], f32[8,128]) {
  %x = f32[8,128]{1,0:T(8,128)} parameter(0)
  %y = f32[8,128]{1,0:T(8,128)} negate(%x)
  ROOT %called = (f32[8,128]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)}) tuple(%x, %y)
}

%h (x.1: f32[8,128]) -> f32[8,128] {
  %x.1 = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %updated = f32[8,128]{1,0:T(8,128)} negate(%x.1)
}

ENTRY %main (a: f32[8,128], k: s32[]) -> f32[8] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %k = s32[]{:T(128)} parameter(1)
  %z = f32[]{:T(128)} constant(0)
  %c = (f32[8,128]{1,0:T(8,128)}, f32[8,128]{1,0:T(8,128)}) conditional(%k, %a, %a), branch_computations={%g, %g}
  %e = f32[8,128]{1,0:T(8,128)} get-tuple-element(%c), index=1
  %s = f32[8,128]{1,0:T(8,128)} sort(%e), dimensions={0}, to_apply=%f
  %l = f32[8,128]{1,0:T(8,128)} all-reduce(%s), replica_groups={}, to_apply=%f
  %u = f32[8,128]{1,0:T(8,128)} fusion(%l), kind=kLoop, calls=%h
  ROOT %entry = f32[8]{0:T(128)} reduce(%u, %z), dimensions={1}, to_apply=%f
}
"""
LACKING = [
    ("conditional", ", branch_computations={%g, %g}"),
    ("get-tuple-element", ", index=1"),
    ("sort", ", to_apply=%f"),
    ("all-reduce", ", to_apply=%f"),
    ("fusion", ", calls=%h"),
    ("reduce", ", to_apply=%f"),
]


@pytest.mark.parametrize(("opcode", "attribute"), LACKING)
def test_an_attribute_that_is_missing_is_said_and_no_peak_is_judged(opcode, attribute, tmp_path, capsys):
    """It was a warning alone, and of these but two none: --fail-if-peak-grows passed a program of 24 MB as one of 3."""
    assert xla.memory(io.StringIO(NEEDED)).warnings == ()
    before, found, after = NEEDED.partition(f" {opcode}(")
    part = before + found + after.replace(attribute, "", 1)
    said = f"{opcode} without {attribute[2:].partition('=')[0]}: what that says is not known"
    memory = xla.memory(io.StringIO(part))
    assert any(said in text for text in memory.missing)
    warnings = []
    xla.totals(io.StringIO(part), "shape", on_warning=warnings.append)
    assert any(said in text for text in warnings)
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_text(NEEDED)
    two.write_text(part)
    assert main(["hlo", str(two), "--against", str(one), "--fail-if-peak-grows", "50%"]) == 1
    assert "no verdict on the peak" in capsys.readouterr().err


def test_branches_of_a_conditional_by_either_names():
    text = NEEDED.replace("branch_computations={%g, %g}", "true_computation=%g, false_computation=%g")
    assert xla.memory(io.StringIO(text)).warnings == ()
    part = text.replace(", false_computation=%g", "")
    assert any("conditional without false_computation" in text for text in xla.memory(io.StringIO(part)).missing)


def test_an_opcode_that_is_a_misprint_is_no_new_one():
    """Half of a word was cut out: 10 MB more, and a verdict on the peak."""
    memory = xla.memory(io.StringIO(NEEDED.replace(" fusion(", " fusio(")))
    assert memory.missing == ("line 28: opcode fusio is not known: its result counts as new memory (is it fusion?)",)
    assert xla.memory(io.StringIO(NEEDED.replace(" sort(", " frobnicate("))).missing == ()
    started = xla.memory(io.StringIO(NEEDED.replace(" all-reduce(", " all-reduce-strt("))).missing
    assert [text for text in started if "all-reduce-strt is not known" in text and "(is it all-reduce-start?)" in text]


def test_an_attribute_that_is_given_twice_is_missing_as_one_of_them_may_be_anothers():
    part = NEEDED.replace("calls=%h", "calls=%h, calls=%g")
    assert any("attribute calls is given twice" in text for text in xla.memory(io.StringIO(part)).missing)


def test_totals_say_what_memory_says():
    """They were silent on opcodes that are not known, and on lines that contradict each other."""
    for old, new, says in (
        ("negate(%x.1)", "frobnicate(%x.1)", "opcode frobnicate is not known"),
        ("ROOT %updated = f32[8,128]", "ROOT %updated = f32[16,128]", "with h for its result is"),
    ):
        for by in ("shape", "copy"):
            warnings = []
            xla.totals(io.StringIO(NEEDED.replace(old, new)), by, on_warning=warnings.append)
            assert sum(says in text for text in warnings) == 1, (by, says)


def test_collectives_say_what_they_cannot_read():
    """An operand that is not there counted as nothing, without a word."""
    said = []
    found = xla.collectives(io.StringIO(NEEDED.replace("all-reduce(%s)", "all-reduce(%gone)")), on_error=said.append)
    assert [c.read for c in found] == [0]
    what = "line 27: l: operand gone is not defined before it, so that what it moves is not known"
    assert [e.reason.what.partition(", at position")[0] for e in said] == [what]
    part = NEEDED[: NEEDED.index("  ROOT %entry")]
    said = []
    xla.collectives(io.StringIO(part), on_error=said.append)
    assert any("the file ends inside of" in str(e) for e in said)
