"""What a program moves: against opcodes and layouts of real programs, and an element-by-element comparison."""

import gzip
import io
import itertools
import re

import numpy as np
import pytest

from tla import RankError, xla

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
    """Fusions of one operand, at schedule level, whose computation has copies, transposes, reshapes, conversions and bitcasts alone."""
    bodies = dict(re.findall(r"^%([\w.-]+) \(.*\{\n((?:  .*\n)*)\}", gzip.decompress(path.read_bytes()).decode(), re.MULTILINE))
    moves = "copy|transpose|reshape|convert"
    only = {k for k, body in bodies.items() if all(re.search(rf" ({moves}|bitcast|parameter)\(", x) for x in body.splitlines())}
    only = {k for k in only if re.search(rf" ({moves})\(", bodies[k])}
    hits = (re.match(r"  (?:ROOT )?%([\w.-]+) = \w+\[.*? fusion\(%[\w.-]+\),.*calls=%([\w.-]+)", x) for x in at_schedule_level(path))
    return {hit[1]: "fusion" for hit in hits if hit and hit[2] in only}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.name.split(".")[0])
def test_every_move_is_found_and_no_other(path):
    found = {m.line.instruction.name: m for m in xla.relayouts(path)}
    expected = fusions_of_moves(path)
    for line in at_schedule_level(path):
        if hit := re.match(r"  (?:ROOT )?%([\w.-]+) = .*? (copy|copy-start|transpose|reshape|convert|bitcast)\(%[\w.-]+\)", line):
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
        for (order_a, tiles_a), (order_b, tiles_b), permutation in itertools.product(LAYOUTS, LAYOUTS, ((0, 1), (1, 0))):
            target = tuple(dims[p] for p in permutation)
            a, b = oracle.xla_offsets(dims, order_a, tiles_a), oracle.xla_offsets(target, order_b, tiles_b)
            shapes = [
                str(xla.ArrayShape("f32", d, xla.ArrayLayout(o, t))) for d, o, t in ((dims, order_a, tiles_a), (target, order_b, tiles_b))
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
    assert xla.is_bitcast("bf16[3,12,64,257]{3,2,1,0:T(8,128)(2,1)}", "bf16[3,257,768]{1,2,0:T(8,128)(2,1)}", permutation=(0, 3, 1, 2))
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
