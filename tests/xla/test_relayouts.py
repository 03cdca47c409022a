"""What a program moves: against opcodes and layouts of real programs, and an element-by-element comparison."""

import gzip
import io
import itertools
import re

import numpy as np
import pytest

from tla import RankError, TlaError, xla
from tla.apps.cli import main

import oracle
from truth import DATA

PROGRAMS = sorted((DATA / "xla" / "programs").glob("*.txt.gz"))


def at_schedule_level(path):
    """The lines of computations that are no fusions and not applied to elements, by regular expressions alone."""
    text = gzip.decompress(path.read_bytes()).decode()
    bodies = dict(re.findall(r"^(?:ENTRY )?%([\w.-]+) \(.*\{\n((?:  .*\n)*)\}", text, re.MULTILINE))
    entry = re.search(r"^ENTRY %([\w.-]+)", text, re.MULTILINE)[1]
    seen, waiting = [], [entry]
    while waiting:
        name = waiting.pop()
        seen.append(name)
        for line in bodies[name].splitlines():
            if re.search(r" (while|call|conditional)\(", line):
                waiting += re.findall(r"(?:condition|body|to_apply)=%([\w.-]+)", line)
                waiting += re.findall(r"%([\w.-]+)", "".join(re.findall(r"branch_computations=\{(.*?)\}", line)))
    return [line for name in seen for line in bodies[name].splitlines()]


def fusions_of_moves(path):
    """Fusions of one operand, at schedule level, whose computation has copies, transposes, reshapes, conversions and
    bitcasts alone."""
    bodies = dict(
        re.findall(r"^%([\w.-]+) \(.*\{\n((?:  .*\n)*)\}", gzip.decompress(path.read_bytes()).decode(), re.MULTILINE)
    )
    moves = "copy|transpose|reshape|convert"
    only = {
        k
        for k, body in bodies.items()
        if all(re.search(rf" ({moves}|bitcast|parameter)\(", x) for x in body.splitlines())
    }
    only = {k for k in only if re.search(rf" ({moves})\(", bodies[k])}
    hits = (
        re.match(r"  (?:ROOT )?%([\w.-]+) = \w+\[.*? fusion\(%[\w.-]+\),.*calls=%([\w.-]+)", x)
        for x in at_schedule_level(path)
    )
    return {hit[1]: "fusion" for hit in hits if hit and hit[2] in only}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.name.split(".")[0])
def test_every_move_is_found_and_no_other(path):
    found = {m.line.instruction.name: m for m in xla.relayouts(path)}
    expected = fusions_of_moves(path)
    for line in at_schedule_level(path):
        if hit := re.match(
            r"  (?:ROOT )?%([\w.-]+) = .*? "
            r"(copy|copy-start|transpose|reshape|convert|bitcast|bitcast-convert)\(%[\w.-]+\)",
            line,
        ):
            expected[hit[1]] = hit[2]
    assert {name: m.line.instruction.opcode for name, m in found.items()} == expected
    for name, m in found.items():
        assert m.free == (expected[name] == "bitcast")  # the compiler leaves no transpose or reshape that moves nothing
        if expected[name].startswith("copy"):
            a, b = (re.sub(r"S\(\d+\)", "", str(x)) for x in (m.source, m.destination))
            assert ("order" in m.changes) == (a != b)
        if not m.free:
            assert (m.read, m.written) == (xla.byte_size(m.source), xla.byte_size(m.destination))
    order = [m.bytes for m in xla.relayouts(path)]
    assert order == sorted(order, reverse=True)


def test_loops_are_counted():
    loops = {loop for path in PROGRAMS for m in xla.relayouts(path) for loop in m.loops}
    assert {(loop.name, loop.times) for loop in loops} >= {
        ("while.13", 100),
        ("while.10", 5),
        ("while.9", 3),
        ("while.12", 50),
        ("while", None),
    }
    nested = next(p for p in PROGRAMS if p.name.startswith("nested__v5e"))
    assert {m.times for m in xla.relayouts(nested) if len(m.loops) == 2} == {15}


def test_the_inside_of_fusions_is_on_request():
    path = next(p for p in PROGRAMS if p.name.startswith("transformer"))
    outside, everything = xla.relayouts(path), xla.relayouts(path, interiors=True)
    assert {m.inside for m in outside} == {None}
    assert len(everything) > len(outside) > 50
    assert {m.line.instruction.opcode for m in everything if m.inside} >= {"transpose", "convert", "bitcast"}


def test_a_fusion_of_moves_is_a_move():
    text = """HloModule m, is_scheduled=true
%f (p: f32[16,128]) -> bf16[128,16] {
  %p = f32[16,128]{1,0:T(8,128)} parameter(0)
  %q = f32[16,128]{0,1:T(8,128)} copy(%p)
  %c = bf16[16,128]{0,1:T(8,128)(2,1)} convert(%q)
  ROOT %b = bf16[128,16]{1,0:T(8,128)(2,1)} bitcast(%c)
}
%g (p: f32[16,128]) -> f32[16,128] {
  %p.1 = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %b.1 = f32[16,128]{1,0:T(8,128)} bitcast(%p.1)
}
ENTRY %m {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  %t = bf16[128,16]{1,0:T(8,128)(2,1)S(1)} fusion(%a), kind=kLoop, calls=%f
  ROOT %u = f32[16,128]{1,0:T(8,128)} fusion(%a), kind=kLoop, calls=%g
}"""
    (move,) = xla.relayouts(io.StringIO(text))
    assert (move.line.instruction.name, move.changes, move.free, move.read, move.written) == (
        "t",
        ("order", "type", "space"),
        False,
        8192,
        32768,
    )
    order = (
        text.replace("  %c = bf16[16,128]{0,1:T(8,128)(2,1)} convert(%q)\n", "")
        .replace("bitcast(%c)", "bitcast(%q)")
        .replace("bf16", "f32")
    )
    (move,) = xla.relayouts(io.StringIO(order))
    assert (move.changes, move.run) == (("order", "space"), 1)
    assert [m.line.instruction.name for m in xla.relayouts(io.StringIO(text), interiors=True)] == ["c", "q", "b", "b.1"]
    assert xla.relayouts(io.StringIO(text.replace("%q)", "%q, %q)").replace("convert", "add"))) == []
    assert xla.relayouts(io.StringIO(text.replace("calls=%f", "calls=%gone"))) == []


LAYOUTS = [
    ((1, 0), ()),
    ((0, 1), ()),
    ((1, 0), ((2, 4),)),
    ((0, 1), ((2, 4),)),
    ((1, 0), ((4, 2), (2, 1))),
    ((1, 0), ((1, 4),)),
    ((0, 1), ((4, 2),)),
]


def test_transposes_that_are_free_are_those_that_move_nothing():
    """Element by element: the transposed array at its place in b is the element at that place in a."""
    free = 0
    for dims in itertools.product((1, 2, 4, 6), repeat=2):
        for (order_a, tiles_a), (order_b, tiles_b), permutation in itertools.product(
            LAYOUTS, LAYOUTS, ((0, 1), (1, 0))
        ):
            target = tuple(dims[p] for p in permutation)
            a, b = oracle.xla_offsets(dims, order_a, tiles_a), oracle.xla_offsets(target, order_b, tiles_b)
            shapes = [
                str(xla.ArrayShape("f32", d, xla.ArrayLayout(o, t)))
                for d, o, t in ((dims, order_a, tiles_a), (target, order_b, tiles_b))
            ]
            same = bool((np.transpose(np.reshape(a, dims), permutation) == np.reshape(b, target)).all())
            same = same and xla.byte_size(shapes[0]) == xla.byte_size(shapes[1])
            assert xla.is_bitcast(*shapes, permutation=permutation) == same, (shapes, permutation)
            free += same
    assert free > 100


def test_large_bitcasts_are_decided():
    a, b = "bf16[12,64,8,1000]{3,1,0,2:T(8,128)(2,1)S(1)}", "bf16[8,12,1000,64]{2,3,1,0:T(8,128)(2,1)}"
    assert not xla.is_bitcast(a, b)
    assert xla.is_bitcast(a, b, permutation=(2, 0, 3, 1))
    assert xla.is_bitcast(
        "bf16[3,12,64,257]{3,2,1,0:T(8,128)(2,1)}", "bf16[3,257,768]{1,2,0:T(8,128)(2,1)}", permutation=(0, 3, 1, 2)
    )
    for wrong in ((0, 1), (0, 1, 2, 2), (0, 1, 2, 4)):
        with pytest.raises(RankError, match="permutation"):
            xla.is_bitcast(a, b, permutation=wrong)


def test_a_transpose_in_text():
    text = """ENTRY %m {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  %t = f32[128,16]{0,1:T(8,128)} transpose(%a), dimensions={1,0}
  %u = f32[128,16]{1,0:T(8,128)} transpose(f32[16,128]{1,0:T(8,128)} %a), dimensions={1,0}
  %r = f32[2048]{0:T(1024)} reshape(%a)
  %v = bf16[16,128]{1,0:T(8,128)(2,1)S(1)} convert(%a)
  ROOT %c = f32[16,128]{1,0:T(8,128)S(1)} copy(%a)
}"""
    found = {m.line.instruction.name: (m.changes, m.free, m.run) for m in xla.relayouts(io.StringIO(text))}
    assert found == {
        "t": ((), True, 2048),
        "u": (("order",), False, 1),
        "r": ((), True, None),
        "v": (("type", "space"), False, None),
        "c": (("space",), False, 2048),
    }


# --------------------------------------------------------------------------------------------- each condition by itself

A, T = "f32[16,128]{1,0:T(8,128)}", "f32[16,128]{0,1:T(8,128)}"  # 8,192 and 65,536 bytes


def moves(body, *functions, **given):
    """The moves of an entry computation of these lines, by name."""
    text = "\n".join([*functions, "ENTRY %main {", *(f"  {line}" for line in body), "}"])
    return {m.line.instruction.name: m for m in xla.relayouts(io.StringIO(text), **given)}


@pytest.mark.parametrize(
    ("opcode", "source", "target", "changes", "free", "run"),
    [
        ("copy", A, A, (), False, 2048),
        ("copy", A, T, ("order",), False, 1),
        ("copy", A, A[:-1] + "S(1)}", ("space",), False, 2048),
        ("copy", A[:-1] + "S(1)}", A, ("space",), False, 2048),
        ("copy", A, T[:-1] + "S(1)}", ("order", "space"), False, 1),
        ("bitcast", A, T, (), True, 1),
        ("bitcast", A, "s32[2048]{0:T(1024)}", (), True, None),
        ("reshape", A, "f32[2048]{0:T(1024)}", (), True, None),
        ("reshape", A, "f32[16,128]{1,0:T(8,128)S(1)}", ("space",), False, 2048),
        ("convert", A, "bf16[16,128]{1,0:T(8,128)(2,1)}", ("type",), False, None),
        ("convert", A, "bf16[16,128]{0,1:T(8,128)(2,1)}", ("type", "order"), False, None),
        ("convert", A, "bf16[128,16]{1,0:T(8,128)(2,1)}", ("type", "order"), False, None),
        ("convert", A, "bf16[16,128]", ("type",), False, None),
        ("copy", "f32[8,9]{1,0:SC(0:3)}", "f32[8,9]{1,0:SC(0:3)}", (), False, None),  # of pieces there is no one map
        ("copy", "f32[8,9]{1,0:SC(0:3)}", "f32[8,9]{1,0:S(1)SC(0:3)}", ("space",), False, None),
        ("copy", "f32[8,9]{1,0:SC(0:3)}", "f32[8,9]{1,0:SC(0:4)}", ("pieces",), False, None),
        (
            "copy",
            "f32[480,160]{0,1:T(8,128)}",
            "f32[480,160]{0,1:T(8,128)S(1)SC(0:80)}",
            ("pieces", "space"),
            False,
            None,
        ),
        ("copy", "f32[480,160]{0,1:T(8,128)}", "f32[480,160]{1,0:T(8,128)SC(0:80)}", ("order",), False, None),
        ("copy", "f32[8,9]{1,0:SC(0:3)}", "f32[8,9]{0,1:S(1)SC(1:3)}", ("order", "space"), False, None),
    ],
)
def test_what_changes_in_a_move(opcode, source, target, changes, free, run):
    found = moves([f"%a = {source} parameter(0)", f"ROOT %b = {target} {opcode}(%a)"])["b"]
    assert (found.changes, found.free, found.run) == (changes, free, run)
    sizes = (0, 0) if free else (xla.byte_size(source), xla.byte_size(target))
    assert (found.read, found.written, found.bytes) == (*sizes, sum(sizes))
    assert (str(found.source), str(found.destination), found.loops, found.inside) == (source, target, (), None)


def test_arrays_of_no_known_size_move_nothing_that_is_counted():
    found = moves(["%a = f32[?] parameter(0)", "ROOT %b = f32[8]{0} copy(%a)"])["b"]
    assert (found.read, found.written, found.changes) == (0, 32, ("order",))


def test_what_is_no_move_of_an_array():
    lines = [
        "%a = f32[16,128]{1,0:T(8,128)} parameter(0)",
        "%p = (f32[8]{0}) parameter(1)",
        "%t = token[] parameter(2)",
    ]
    others = [
        "%b = f32[8]{0} copy(%p)",
        "%c = token[] copy(%a)",
        "%d = f32[8]{0} copy()",
        "%e = f32[8]{0} copy(%gone)",
        "%f = f32[8]{0} copy(%t)",
        "%g = f32[16,128]{1,0:T(8,128)} negate(%a)",
    ]
    assert moves([*lines, *others]) == {}
    errors = []
    assert moves([*lines, *others], on_error=errors.append) == {}
    assert [e.reason.what.split(",")[0] for e in errors] == ["line 8: e: operand gone is not defined before it"]
    (pair,) = moves(
        ["%p = (f32[8]{0}) parameter(0)", "%b = (f32[8]{0:S(1)}, f32[8]{0}) copy-start(f32[8]{0} %p)"]
    ).values()
    assert (str(pair.source), str(pair.destination)) == (
        "f32[8]{0}",
        "f32[8]{0:S(1)}",
    )  # what the line says, and its first array


def body_of(name, *lines):
    return "\n".join([f"%{name} {{", *(f"  {line}" for line in lines), "}"])


FUSED = body_of("f", f"%p = {A} parameter(0)", f"ROOT %q = {T} copy(%p)")


@pytest.mark.parametrize(
    ("line", "function", "changes", "run"),
    [
        (f"%t = {T} fusion(%a), calls=%f", FUSED, ("order",), 1),
        (f"%t = {T[:-1]}S(1)}} fusion(%a), calls=%f", FUSED, ("order", "space"), 1),
        (f"%t = {T} fusion({A} %gone), calls=%f", FUSED, ("order",), 1),
        (f"%t = {T} fusion(%gone), calls=%f", FUSED, None, None),
        (f"%t = {T} fusion(%a, %a), calls=%f", FUSED, None, None),
        (f"%t = ({T}) fusion(%a), calls=%f", FUSED, None, None),
        (f"%t = {T} fusion(%a), calls=%other", FUSED, None, None),
        (f"%t = {T} fusion(%a)", FUSED, None, None),
        (f"%t = {T} custom-call(%a), calls=%f", FUSED, None, None),
        (f"%t = {T} fusion(%a), calls=%f", FUSED.replace("copy", "negate"), None, None),
        (f"%t = {T} fusion(%a), calls=%f", FUSED.replace("copy", "bitcast"), None, None),
        (  # into another space and back: in the end no change of the space
            f"%t = {A} fusion(%a), calls=%f",
            body_of("f", f"%p = {A} parameter(0)", f"%q = {A[:-1]}S(1)}} copy(%p)", f"ROOT %r = {A} copy(%q)"),
            (),
            None,
        ),
        (
            f"%t = {T} fusion(%a), calls=%f",
            body_of("f", f"%p = {A} parameter(0)", f"%q = {T} copy(%p)", f"ROOT %r = {T} bitcast(%q)"),
            ("order",),
            1,
        ),
    ],
)
def test_fusions_that_are_moves(line, function, changes, run):
    found = moves([f"%a = {A} parameter(0)", line], function).get("t")
    assert (found is None) == (changes is None)
    if found:
        assert (found.changes, found.run) == (changes, run)
        assert not found.free
        assert (found.read, found.written) == (xla.byte_size(found.source), xla.byte_size(found.destination))


LOOP = """%cond {
  %q = (f32[8], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%q), index=1
  %k = s32[] constant(7)
  ROOT %l = pred[] compare(%i, %k), direction=LT
}
%body {
  %v = (f32[8], s32[]) parameter(0)
  %e = f32[8]{0} get-tuple-element(%v), index=0
  %x = f32[8]{0:S(1)} copy(%e)
  %h = s32[] get-tuple-element(%v), index=1
  %o = s32[] constant(2)
  %j = s32[] add(%h, %o)
  ROOT %t = (f32[8], s32[]) tuple(%x, %j)
}
ENTRY %main {
  %a = f32[8]{0} parameter(0)
  %z = s32[] constant(0)
  %s = (f32[8], s32[]) tuple(%a, %z)
  ROOT %w = (f32[8], s32[]) while(%s), condition=%cond, body=%body
}"""


def times_of(*changes):
    text = LOOP
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    move = {m.line.instruction.name: m for m in xla.relayouts(io.StringIO(text))}["x"]
    assert move.loops == (xla.Loop("w", move.times),)
    assert move.bytes == 64 * (1 if move.times is None else move.times)
    return move.times


@pytest.mark.parametrize("step", [1, 2, 3, 10**17, 0, -1])
def test_a_counter_that_is_run_says_how_often(step):
    for begin, end in ((0, 7), (0, 6), (-3, 4), (7, 7), (8, 7), (9, 2), (7, 8)):
        truth = len(range(begin, end, step)) if step > 0 else None
        changes = (
            (f"%{name} = s32[] constant({old})", f"%{name} = s32[] constant({n})")
            for name, old, n in (("z", 0, begin), ("k", 7, end), ("o", 2, step))
        )
        assert times_of(*changes) == truth, (begin, end, step)


@pytest.mark.parametrize(
    ("old", "new", "times"),
    [
        ("body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"19"}}', 19),
        ("body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"0"}}', 0),
        ("add(%h, %o)", "add(%o, %h)", 4),
        ("%j = s32[] add(%h, %o)", "%c = s32[] copy(%h)\n  %d = s32[] bitcast(%c)\n  %j = s32[] add(%d, %o)", 4),
        ("compare(%i, %k)", "compare(%k, %i)", None),
        ("compare(%i, %k)", "compare(%gone, %k)", None),
        ("compare(%i, %k)", "compare(%i, %gone)", None),
        ("tuple(%a, %z)", "tuple(%a, %gone)", None),
        ("compare(%i, %k)", "compare(%k, %k)", None),
        ("compare(%i, %k)", "compare(%i, %i)", None),
        ("compare(%i, %k)", "compare(%i, %k, %k)", None),
        ("compare(%i, %k)", "compare(%i)", None),
        ("compare(", "custom-call(", None),
        ("direction=LT", "direction=LE", None),
        (", direction=LT", "", None),
        ("ROOT %l", "%l", None),
        ("condition=%cond", "condition=%gone", None),
        ("constant(7)", "constant(1234567890123456789)", None),
        ("constant(7)", "constant(123456789012345678)", 61728394506172839),
        ("constant(7)", "constant({7})", None),
        ("constant(7)", "constant()", None),
        ("%k = s32[] constant(7)", "%k = s32[] iota(7)", None),
        ("%i = s32[] get-tuple-element(%q), index=1", "%i = s32[] custom-call(%q), index=1", None),
        ("index=1\n  %k", "index=0\n  %k", None),
        ("index=1\n  %k", "index=2\n  %k", None),
        ("ROOT %t", "%t", None),
        ("tuple(%x, %j)", "custom-call(%x, %j)", None),
        ("tuple(%x, %j)", "tuple(%x)", None),
        ("tuple(%x, %j)", "tuple(%x, %o)", None),
        ("tuple(%x, %j)", "tuple(%x, %gone)", None),
        ("add(%h, %o)", "subtract(%h, %o)", None),
        ("add(%h, %o)", "add(%h, %o, %o)", None),
        ("add(%h, %o)", "add(%h)", None),
        ("add(%h, %o)", "add(%o, %o)", None),
        ("add(%h, %o)", "add(%h, %h)", None),
        ("add(%h, %o)", "add(%e, %o)", None),
        ("tuple(%a, %z)", "custom-call(%a, %z)", None),
        ("tuple(%a, %z)", "tuple(%a)", None),
        ("tuple(%a, %z)", "tuple(%a, %a)", None),
        ("while(%s)", "while()", None),
        ("while(%s)", "while(%gone)", None),
        ("%z = s32[] constant(0)", "%y = s32[] constant(1)\n  %z = s32[] copy(%y)", 3),
    ],
)
def test_a_loop_whose_text_says_how_often(old, new, times):
    assert times_of((old, new)) == times


def test_moves_in_calls_branches_and_loops_are_found_once_and_those_that_move_most_first():
    one = [f"%p = {A} parameter(0)", f"ROOT %c = {T} copy(%p)"]
    text = "\n".join([
        body_of("one", *one), body_of("two", *(x.replace("%c", "%d") for x in one)), body_of("three", *(x.replace("%c", "%e") for x in one)),
        body_of("inner", f"%q = {A} parameter(0)", f"ROOT %n = {A} copy(%q)"),
        body_of("outer", f"%r = {A} parameter(0)", f"ROOT %m = {A} fusion(%r), calls=%inner"),
        body_of("never", *(x.replace("%c", "%g") for x in one)),
        body_of("main", f"%a = {A} parameter(0)", f"%b = {A} bitcast(%a)", f"%u = {T} call(%a), to_apply=%one",
                f"%v = {T} call(%a), to_apply=%one", f"%k = {T} conditional(%a, %a, %a), branch_computations={{%two, %three}}",
                f"%f = {A} fusion(%a), calls=%outer", f"ROOT %h = {A} copy(%a)").replace("%main", "ENTRY %main"),
    ])  # fmt: skip
    found = xla.relayouts(io.StringIO(text))
    assert [m.line.instruction.name for m in found] == ["c", "d", "e", "h", "b"]
    assert {m.times for m in found} == {1}
    inside = xla.relayouts(io.StringIO(text), interiors=True)
    assert [(m.line.instruction.name, m.inside) for m in inside if m.inside] == [("n", "f")]
    assert len(inside) == len(found) + 1
    whole = xla.relayouts(
        io.StringIO(text.replace("ENTRY ", ""))
    )  # without an entry: what nothing calls, and what that runs
    assert {m.line.instruction.name for m in whole} == {*"cdeghb"}


@pytest.mark.parametrize("raw", [b"", b"\x7fELF\xff\n", b"no HLO\n", b'{"a": 1}'])
def test_a_text_without_a_computation_has_no_moves_and_is_refused(raw, tmp_path, capsys):
    """The answer was that nothing moves."""
    for ask in (lambda: xla.relayouts(io.BytesIO(raw), on_error=[].append), lambda: xla.collectives(io.BytesIO(raw))):
        with pytest.raises(TlaError):
            ask()
    path = tmp_path / "odd.txt"
    path.write_bytes(raw)
    for by in ([], ["--by", "relayout"], ["--by", "peak"], ["--advise"], ["--by", "shape"]):
        assert main(["hlo", str(path), *by]) == 1
        said = capsys.readouterr()
        assert not said.out
        assert "HLO" in said.err or "no text" in said.err


def test_a_target_that_is_not_known_is_refused_by_the_summary_too(tmp_path, capsys):
    """It was another report, of shapes, and no word of the target."""
    path = tmp_path / "m.txt"
    path.write_text("HloModule m, is_scheduled=true\nENTRY %main {\n  ROOT %a = f32[8]{0} parameter(0)\n}\n")
    assert main(["hlo", str(path), "--target", "v99"]) == 1
    assert "the target 'v99'" in capsys.readouterr().err
