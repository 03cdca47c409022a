"""Live ranges: against the compiler's own account, against programs that are run step by step, and bad input."""

import gzip
import importlib
import io
import json
import random

import pytest

from tla import LoweringError, ParseError, RangeError, xla
from tla.xla.programs.flow import flow

from batches import in_batches
from night import amount, some
from truth import DATA

FOLDER = DATA / "xla" / "programs"
TRUTH = json.loads(gzip.decompress((FOLDER / "memory.json.gz").read_bytes()))["programs"]
FOUND = {}


def target(name):
    return TRUTH[name]["topology"].partition(":")[0]


def found(name):
    if name not in FOUND:
        FOUND[name] = xla.memory(FOLDER / f"{name}.txt.gz", target=target(name))
    return FOUND[name]


@pytest.mark.parametrize("name", some(TRUTH, 4))
def test_peaks_are_those_of_the_compiler(name):
    memory, truth = found(name), TRUTH[name]
    assert memory.warnings == ()
    assert memory.reported == truth["peak"]
    for space, heap in truth["heap"].items():
        peak = memory.peak.get(int(space))
        assert (peak.bytes if peak else 0) <= heap  # a heap holds what is held at the peak


@pytest.mark.parametrize("name", TRUTH)
def test_sizes_are_those_of_the_compiler_and_a_curve_is_their_sum(name):
    memory, truth = found(name), TRUTH[name]["values"]
    known = [b for b in memory.buffers if b.kind != "scratch" and b.name in truth]
    assert {b.name: b.bytes for b in known} == {b.name: truth[b.name] for b in known}
    assert len(known) >= 0.3 * len(truth)
    for space, curve in memory.curves.items():
        peak = memory.peak[space]
        assert len(curve) == len(memory.steps)
        for step in {0, len(curve) // 3, peak.step, len(curve) - 1}:
            held = [b for b in memory.buffers if b.space == space and b.first <= step <= b.last]
            assert sum(b.bytes for b in held) == curve[step]
        assert max(curve) == peak.bytes == sum(b.bytes for b in peak.buffers) == curve[peak.step]
        assert peak.waste == sum(b.waste for b in peak.buffers)
        assert peak.at is memory.steps[peak.step]
        assert [b.bytes for b in peak.buffers] == sorted((b.bytes for b in peak.buffers), reverse=True)


@pytest.mark.parametrize("name", [name for name in TRUTH if "ranges" in TRUTH[name]])
def test_values_live_for_as_long_as_the_compiler_says(name):
    """Every value that XLA's live ranges have, tables and what loops carry included, and no other one."""
    found, truth = flow(xla.read_module(FOLDER / f"{name}.txt.gz"), target(name)), dict(TRUTH[name]["ranges"])
    values = [v for v in map(found.values.__getitem__, found.own()) if v.kind != "local"]
    ranges = {f"{v.name}{{{','.join(map(str, v.path))}}}": [v.start, v.end] for v in values}
    joined = [step for step, x in enumerate(found.steps) if 'custom_call_target="ConcatBitcast"' in x.instruction.tail]
    for v in values:  # of this one the operands are parts, which end before it
        for step in joined:
            name = f"{v.name}{{{','.join(map(str, v.path))}}}"
            if any(now == step for now, _span in v.uses) and name in truth:
                truth[name] = [truth[name][0], min(truth[name][1], step - 1)]
    assert {k: r for k, r in ranges.items() if k in truth} == truth
    entry = {x.instruction.name for x in found.module.computations[found.module.entry]}
    assert not [k for k in ranges if k not in truth and k.partition("{")[0] in entry]


def test_buffers_know_where_they_are_from():
    big = found("transformer_train").peak[0].buffers[0]
    assert big.op_name.startswith("jit(step)/")
    assert big.source
    assert all(frame.file.endswith(".py") and frame.line > 0 for frame in big.source)
    assert str(big.source[-1]).endswith("(<module>)")
    assert sum(big.waste_by_dimension) >= 0


# ------------------------------------------------------------------------------------- programs that are run


class Machine:
    """A program that is written and run at once: arrays are objects, and one is held from its write to
    its last read."""

    def __init__(self, seed):
        self.random, self.lines, self.clock = random.Random(seed), [], 0
        self.sizes, self.born, self.read, self.kept = {}, {}, {}, set()
        self.names = {}  # of an array in the text -> its object

    def array(self, rows):
        return f"f32[{rows},128]{{1,0:T(8,128)}}"

    def new(self, rows, name, kept=False):
        item = len(self.sizes)
        self.sizes[item] = -(-rows // 8) * 8 * 128 * 4
        self.born[item] = self.read[item] = self.clock
        self.names[name] = (item, rows)
        if kept:
            self.kept.add(item)

    def write(self, text, reads=()):
        """A line, which reads objects; the clock goes on behind it."""
        for name in reads:
            self.read[self.names[name][0]] = self.clock
        self.lines.append("  " + text)
        self.clock += 1

    def run(self, count):
        for k in range(2):
            rows = self.random.choice((5, 8, 100, 1000))
            self.new(rows, f"p{k}", kept=True)
            self.write(f"%p{k} = {self.array(rows)} parameter({k})")
        for k in range(count):
            self.one(f"v{k}")
        last = list(self.names)[-1]
        rows = self.names[last][1]
        self.new(rows, "end", kept=True)
        self.write(f"ROOT %end = {self.array(rows)} negate(%{last})", [last])
        return "HloModule m, is_scheduled=true\n\nENTRY %main {\n" + "\n".join(self.lines) + "\n}\n"

    def one(self, name):
        source = self.random.choice(list(self.names))
        rows = self.names[source][1]
        shape, kind = self.array(rows), self.random.choice(("op", "op", "two", "bitcast", "tuple", "update", "async"))
        if kind == "update" and self.names[source][0] in self.kept:
            kind = "op"  # an argument is not overwritten
        if kind == "op":
            self.new(rows, name)
            self.write(f"%{name} = {shape} negate(%{source})", [source])
        elif kind == "two":
            other = self.random.choice(list(self.names))
            self.new(rows, name)
            self.write(f'%{name} = {shape} custom-call(%{source}, %{other}), custom_call_target="f"', [source, other])
        elif kind == "bitcast":
            self.names[name] = self.names[source]
            self.write(f"%{name} = {shape} bitcast(%{source})", [source])
        elif kind == "update":
            self.names[name] = self.names[source]
            self.write(f"%{name} = {shape} dynamic-update-slice(%{source}, %p0, %p1, %p1)", [source, "p0", "p1"])
        elif kind == "tuple":
            self.names[name] = self.names[source]
            self.write(f"%{name}t = ({shape}) tuple(%{source})", [source])  # what has a name is there, and may be read
            self.write(f"%{name} = {shape} get-tuple-element(%{name}t), index=0", [source])
        else:
            self.new(rows, name)
            self.write(f"%{name}s = ({shape}, {shape}, u32[]{{:S(2)}}) copy-start(%{source})", [source])
            self.write(f"%{name} = {shape} copy-done(%{name}s)", [source, name])

    def curve(self):
        """Bytes of arrays held while each line runs."""
        out = [0] * self.clock
        for item, size in self.sizes.items():
            first, last = (0, self.clock - 1) if item in self.kept else (self.born[item], self.read[item])
            for t in range(first, last + 1):
                out[t] += size
        return out


@pytest.mark.once
@in_batches(range(amount(20, 400)))
def test_programs_that_are_run_hold_what_is_said(seed):
    machine = Machine(seed)
    text = machine.run(machine.random.randrange(1, 25))
    memory = xla.memory(io.StringIO(text))
    tables = [
        sum(b.bytes for b in memory.buffers if b.shape is None and b.first <= t <= b.last) for t in range(machine.clock)
    ]
    assert [x - y for x, y in zip(memory.curves[0], tables)] == machine.curve()
    assert memory.warnings == ()


LOOP = """HloModule m, is_scheduled=true, input_output_alias={ {0}: (0, {}, may-alias) }

%body (s: (f32[1024,128], s32[])) -> (f32[1024,128], s32[]) {
  %s = (f32[1024,128]{1,0:T(8,128)}, s32[]{:T(128)}) parameter(0)
  %x = f32[1024,128]{1,0:T(8,128)} get-tuple-element(%s), index=0
  %i = s32[]{:T(128)} get-tuple-element(%s), index=1
  %big = f32[4096,128]{1,0:T(8,128)} custom-call(%x), custom_call_target="f"
  %y = f32[1024,128]{1,0:T(8,128)} custom-call(%big), custom_call_target="g"
  %j = s32[]{:T(128)} negate(%i)
  ROOT %t = (f32[1024,128]{1,0:T(8,128)}, s32[]{:T(128)}) tuple(%y, %j)
}

%cond (s.1: (f32[1024,128], s32[])) -> pred[] {
  %s.1 = (f32[1024,128]{1,0:T(8,128)}, s32[]{:T(128)}) parameter(0)
  %i.1 = s32[]{:T(128)} get-tuple-element(%s.1), index=1
  ROOT %p = pred[]{:T(512)} custom-call(%i.1), custom_call_target="h"
}

ENTRY %main (a: f32[1024,128], z: s32[]) -> (f32[1024,128], s32[]) {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %z = s32[]{:T(128)} parameter(1)
  %c = s32[]{:T(128)} copy(%z)
  %start = (f32[1024,128]{1,0:T(8,128)}, s32[]{:T(128)}) tuple(%a, %c)
  ROOT %w = (f32[1024,128]{1,0:T(8,128)}, s32[]{:T(128)}) while(%start), condition=%cond, body=%body
}
"""
ARRAY = 1024 * 128 * 4


def test_a_loop_works_in_place_on_what_it_carries():
    memory = xla.memory(io.StringIO(LOOP))
    assert [x.instruction.name for x in memory.steps] == "a z c start s.1 i.1 p s x i big y j t w".split()
    peak = memory.peak[0]
    assert peak.at.instruction.name == "big"
    assert sum(b.bytes for b in peak.buffers if b.shape and b.shape.dimensions) == 5 * ARRAY
    donated_not = xla.memory(io.StringIO(LOOP.replace(", input_output_alias={ {0}: (0, {}, may-alias) }", "")))
    assert donated_not.peak[0].bytes == peak.bytes  # the loop overwrites its argument all the same


@pytest.mark.parametrize("kind", ["loop", "branches"])
def test_what_is_handed_on_as_it_stands_lives_to_its_last_reader(kind):
    """Read after the loop, by the loop's name: it ended with the loop, 5 % of XLA's peak in a program of doubles."""
    array = "f32[1024,128]{1,0:T(8,128)S(1)}"
    pair = f"({array}, {array})"
    text = f"""HloModule m, is_scheduled=true
%cond (s.1: (f32[1024,128], f32[1024,128])) -> pred[] {{
  %s.1 = {pair} parameter(0)
  ROOT %p = pred[]{{:T(512)}} custom-call(%s.1), custom_call_target="h"
}}
%body (s: (f32[1024,128], f32[1024,128])) -> (f32[1024,128], f32[1024,128]) {{
  %s = {pair} parameter(0)
  %x = {array} get-tuple-element(%s), index=0
  %k.1 = {array} get-tuple-element(%s), index=1
  %y = {array} negate(%x)
  ROOT %t = {pair} tuple(%y, %k.1)
}}
ENTRY %main (a: f32[1024,128]) -> f32[1024,128] {{
  %a = f32[1024,128]{{1,0:T(8,128)}} parameter(0)
  %one = s32[]{{:T(128)}} constant(1)
  %k = {array} custom-call(%a), custom_call_target="f"
  %c = {array} custom-call(%a), custom_call_target="g"
  %start = {pair} tuple(%c, %k)
  %w = {pair} while(%start), condition=%cond, body=%body
  %first = {array} get-tuple-element(%w), index=0
  %n = {array} negate(%first)
  %m = {array} negate(%n)
  %kept = {array} get-tuple-element(%w), index=1
  ROOT %r = f32[1024,128]{{1,0:T(8,128)}} add(%m, %kept)
}}
"""
    if kind == "branches":
        text = text.replace("while(%start), condition=%cond", "conditional(%one, %start, %start)").replace(
            "body=%body", "branch_computations={%body, %other}"
        )
        text = text.replace(
            "ENTRY", text[text.index("%body (") : text.index("ENTRY")].replace("%body (", "%other (") + "ENTRY"
        )
    memory = xla.memory(io.StringIO(text))
    assert memory.warnings == ()
    (kept,) = [b for b in memory.buffers if b.name == "k"]
    assert memory.steps[kept.last].instruction.name == "r"
    assert memory.curves[1][[x.instruction.name for x in memory.steps].index("m")] == 3 * ARRAY  # k, n, m


def test_elements_of_a_loop_that_are_one_value_are_one():
    """A loop is given a value twice, and its body hands on the one for the other: XLA has one value, which lives on in
    the loop. It was none there, for its readers had the other's name."""
    array = "f32[1024,128]{1,0:T(8,128)S(1)}"
    three = f"({array}, {array}, {array})"
    text = f"""HloModule m, is_scheduled=true
%cond (s.1: (f32[1024,128], f32[1024,128], f32[1024,128])) -> pred[] {{
  %s.1 = {three} parameter(0)
  ROOT %p = pred[]{{:T(512)}} custom-call(), custom_call_target="h"
}}
%body (s: (f32[1024,128], f32[1024,128], f32[1024,128])) -> (f32[1024,128], f32[1024,128], f32[1024,128]) {{
  %s = {three} parameter(0)
  %k.1 = {array} get-tuple-element(%s), index=1
  %x = {array} get-tuple-element(%s), index=2
  %y = {array} custom-call(%x), custom_call_target="y"
  %z = {array} custom-call(%y), custom_call_target="z"
  ROOT %t = {three} tuple(%k.1, %k.1, %z)
}}
ENTRY %main (a: f32[1024,128]) -> f32[1024,128] {{
  %a = f32[1024,128]{{1,0:T(8,128)}} parameter(0)
  %k = {array} custom-call(%a), custom_call_target="f"
  %c = {array} custom-call(%a), custom_call_target="g"
  %start = {three} tuple(%k, %k, %c)
  %w = {three} while(%start), condition=%cond, body=%body
  %kept = {array} get-tuple-element(%w), index=0
  ROOT %r = f32[1024,128]{{1,0:T(8,128)}} negate(%kept)
}}
"""
    found = flow(xla.read_module(io.StringIO(text)))
    values = {found.values[v].name + str([*found.values[v].path]) for v in found.own() if found.values[v].shape}
    assert values == {"a[]", "k[]", "c[]", "r[]", "p[]", "s.1[2]", "s[2]", "y[]", "z[]", "w[2]"}
    assert xla.memory(io.StringIO(text)).reported == (2 + 3) * ARRAY  # a and r; k with x and y, or y and z


def test_of_what_the_host_runs_constants_count_and_a_flag_is_a_word():
    """As libtpu 0.0.52 has a program with compute_on("device_host"): it was 8,192 bytes below XLA's peak, and its sync
    flag 512 bytes, by the tiles that its shape has there."""
    text = """HloModule m, is_scheduled=true

%on_host (p: f32[512,384]) -> f32[512,384] {
  %p = f32[512,384]{1,0} parameter(0)
  %two = f32[] constant(2)
  %b = f32[512,384]{1,0} broadcast(%two), dimensions={}
  ROOT %m = f32[512,384]{1,0} multiply(%p, %b)
}, execution_thread="host"

%async (p.1: f32[512,384]) -> f32[512,384] {
  %p.1 = f32[512,384]{1,0:T(1)L(1024)} parameter(0)
  ROOT %call = f32[512,384]{1,0:T(1)L(1024)} custom-call(%p.1), custom_call_target="HostExecute", called_computations={%on_host}
}, execution_thread="host"

ENTRY %main (a: f32[196608]) -> f32[196608] {
  %a = f32[196608]{0:T(1024)} parameter(0)
  %n = f32[196608]{0:T(1024)} negate(%a)
  %x = f32[512,384]{1,0:T(1)L(1024)} bitcast(%n)
  %s = ((f32[512,384]{1,0:T(1)L(1024)}), f32[512,384]{1,0:T(1)L(1024)}, u32[]{:T(128)S(2)}) async-start(%x), async_execution_thread="host", calls=%async
  %d = f32[512,384]{1,0:T(1)L(1024)} async-done(%s), async_execution_thread="host"
  ROOT %r = f32[196608]{0:T(1024)} bitcast(%d)
}
"""
    memory, array = xla.memory(io.StringIO(text), target="v5e"), 512 * 384 * 4
    assert memory.warnings == ()
    assert {(b.name, b.bytes) for b in memory.buffers if b.kind == "constant"} == {("two", 4096)}
    assert not [b for b in memory.buffers if b.kind == "local"]
    assert memory.reported == 3 * array + 4096  # a, n, what the host gives, which is the result
    assert (memory.peak[2].bytes, memory.peak[2].waste) == (4, 0)


def test_what_a_branch_writes_is_gone_when_the_other_one_runs():
    text = """HloModule m, is_scheduled=true
%one (x: f32[1024,128]) -> f32[1024,128] {
  %x = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %u = f32[2048,128]{1,0:T(8,128)} custom-call(%x), custom_call_target="f"
  ROOT %v = f32[1024,128]{1,0:T(8,128)} custom-call(%u), custom_call_target="g"
}
%two (y: f32[1024,128]) -> f32[1024,128] {
  %y = f32[1024,128]{1,0:T(8,128)} parameter(0)
  ROOT %n = f32[1024,128]{1,0:T(8,128)} negate(%y)
}
ENTRY %main (a: f32[1024,128], k: pred[]) -> f32[1024,128] {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %k = pred[]{:T(512)} parameter(1)
  %c = f32[1024,128]{1,0:T(8,128)} conditional(%k, %a, %a), branch_computations={%one, %two}
  ROOT %r = f32[1024,128]{1,0:T(8,128)} negate(%c)
}
"""
    memory = xla.memory(io.StringIO(text))
    assert memory.peak[0].bytes == (1 + 1 + 2 + 1) * ARRAY + 512  # a, r, u and v, k
    for old, new in (("branch_computations={%one, %two}", "true_computation=%one, false_computation=%two"),):
        assert xla.memory(io.StringIO(text.replace(old, new))).peak[0].bytes == memory.peak[0].bytes


def test_fusions_that_end_with_an_update_overwrite_their_operand():
    text = """HloModule m, is_scheduled=true
%f (p: f32[1024,128], q: f32[8,128]) -> f32[1024,128] {
  %p = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %q = f32[8,128]{1,0:T(8,128)} parameter(1)
  %k = s32[]{:T(128)} constant(0)
  %d = f32[1024,128]{1,0:T(8,128)} dynamic-update-slice(%p, %q, %k, %k)
  ROOT %b = f32[1024,128]{1,0:T(8,128)} bitcast(%d)
}
ENTRY %main (a: f32[1024,128], q.1: f32[8,128]) -> f32[8,128] {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %q.1 = f32[8,128]{1,0:T(8,128)} parameter(1)
  %c = f32[1024,128]{1,0:T(8,128)} copy(%a)
  %u = f32[1024,128]{1,0:T(8,128)} fusion(%c, %q.1), kind=kLoop, calls=%f
  ROOT %r = f32[8,128]{1,0:T(8,128)} custom-call(%u), custom_call_target="g"
}
"""
    memory = xla.memory(io.StringIO(text))
    assert memory.peak[0].bytes == 2 * ARRAY + 2 * 4096
    assert {b.name for b in memory.buffers} == {"a", "q.1", "c", "r"}


@pytest.mark.once
def test_fusions_whose_text_is_odd_have_no_alias_and_no_raw_error():
    """What cannot be followed to a parameter is new memory: an instruction without operands, a parameter
    without a number."""
    text = """HloModule m, is_scheduled=true
%f (p: f32[1024,128], q: f32[8,128]) -> f32[1024,128] {
  %p = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %q = f32[8,128]{1,0:T(8,128)} parameter(1)
  ROOT %d = f32[1024,128]{1,0:T(8,128)} dynamic-update-slice(%p, %q, %q, %q)
}
ENTRY %main (a: f32[1024,128], q.1: f32[8,128]) -> f32[1024,128] {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %q.1 = f32[8,128]{1,0:T(8,128)} parameter(1)
  %c = f32[1024,128]{1,0:T(8,128)} copy(%a)
  ROOT %u = f32[1024,128]{1,0:T(8,128)} fusion(%c, %q.1), kind=kLoop, calls=%f
}
"""
    assert {b.name for b in xla.memory(io.StringIO(text)).buffers} == {"a", "q.1", "c"}
    for odd in ("bitcast()", "iota(), iota_dimension=0", "parameter()", "get-tuple-element(), index=0"):
        memory = xla.memory(io.StringIO(text.replace("parameter(0)", odd, 1)))
        assert {b.name for b in memory.buffers} == {"a", "q.1", "c", "u"}, odd
    for odd in (
        "dynamic-update-slice()",
        "scatter()",
        "bitcast()",
        "fusion(), kind=kLoop, calls=%f",
        "fusion(%p), kind=kLoop, calls=%g",
    ):
        memory = xla.memory(io.StringIO(text.replace("dynamic-update-slice(%p, %q, %q, %q)", odd)))
        assert {b.name for b in memory.buffers} == {"a", "q.1", "c", "u"}, odd


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("negate(%p)", "fusion(%p), kind=kLoop, calls=%f"),
        ("negate(%p)", "bitcast(%n)"),
        ("negate(%p)", "get-tuple-element(%n), index=0"),
        ("negate(%p)", "get-tuple-element(%p), index=x"),
        ("negate(%p)", "dynamic-update-slice(%n)"),
        ("%p = f32[8]{0} parameter(0)", "%p = f32[8]{0} bitcast(%p)"),
        ("index=1\n  %k", "index=x\n  %k"),
        ("index=1\n  %k", "index=9\n  %k"),
        ("%i = s32[] get-tuple-element(%q), index=1", "%i = s32[] copy(%i)"),
        ("tuple(%x, %j)", "tuple(%x)"),
        ("tuple(%a, %z)", "tuple(%a)"),
        ("%z = s32[] constant(0)", "%z = s32[] copy(%z)"),
        ("while(%s)", "while()"),
    ],
)
def test_texts_that_name_themselves_or_what_is_not_there_end(old, new):
    """A text is data: its chains may come back to where they began, its indices be none. Then nothing is known, and
    that is all."""
    text = """HloModule m, is_scheduled=true
%f (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%p)
}
%cond (q: (f32[8], s32[])) -> pred[] {
  %q = (f32[8]{0}, s32[]) parameter(0)
  %i = s32[] get-tuple-element(%q), index=1
  %k = s32[] constant(7)
  ROOT %l = pred[] compare(%i, %k), direction=LT
}
%body (v: (f32[8], s32[])) -> (f32[8], s32[]) {
  %v = (f32[8]{0}, s32[]) parameter(0)
  %e = f32[8]{0} get-tuple-element(%v), index=0
  %x = f32[8]{0} copy(%e)
  %h = s32[] get-tuple-element(%v), index=1
  %o = s32[] constant(1)
  %j = s32[] add(%h, %o)
  ROOT %t = (f32[8]{0}, s32[]) tuple(%x, %j)
}
ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %z = s32[] constant(0)
  %s = (f32[8]{0}, s32[]) tuple(%a, %z)
  %w = (f32[8]{0}, s32[]) while(%s), condition=%cond, body=%body
  %r = f32[8]{0} get-tuple-element(%w), index=0
  ROOT %u = f32[8]{0} fusion(%r), kind=kLoop, calls=%f
}
"""
    assert [m.times for m in xla.relayouts(io.StringIO(text))] == [7]
    assert old in text
    text = text.replace(old, new, 1)
    assert xla.memory(io.StringIO(text)).peak[0].bytes > 0
    assert all(m.times in (1, 7, None) for m in xla.relayouts(io.StringIO(text)))


def test_what_a_recv_gives_is_its_first_part():
    """recv gives (data, context, token), recv-done (data, token): the data are in one buffer from the one to the
    end of the other."""
    text = """HloModule m, is_scheduled=true
ENTRY %main (a: f32[1024,128]) -> f32[1024,128] {
  %a = f32[1024,128]{1,0:T(8,128)} parameter(0)
  %t = token[] after-all()
  %s = (f32[1024,128]{1,0:T(8,128)}, u32[]{:T(128)S(2)}, token[]) recv(%t), channel_id=1
  %e = (f32[1024,128]{1,0:T(8,128)}, token[]) recv-done(%s), channel_id=1
  %g = f32[1024,128]{1,0:T(8,128)} get-tuple-element(%e), index=0
  ROOT %r = f32[1024,128]{1,0:T(8,128)} negate(%g)
}
"""
    buffers = {b.name: b for b in xla.memory(io.StringIO(text)).buffers}
    assert buffers["s{0}"].bytes == ARRAY
    assert (buffers["s{0}"].first, buffers["s{0}"].last) == (2, 5)
    assert {name for name in buffers if "e" in name} == set()


def test_names_of_memory_spaces():
    """Those of TPUs by the number n of S(n); and those of the compiler's memory usage report, which
    names numbers alone."""
    lines = "".join(f"  %a{n} = f32[8,128]{{1,0:T(8,128)S({n})}} parameter({n})\n" for n in range(10))
    text = (
        "HloModule m, is_scheduled=true\nENTRY %main "
        f"{{\n{lines}  ROOT %r = f32[8,128]{{1,0:T(8,128)}} negate(%a0)\n}}\n"
    )
    memory = xla.memory(io.StringIO(text))
    names = "HBM,VMEM,sync flags,CMEM,constants,host,SMEM,S(7),SparseCore sync flags,S(9)".split(",")
    reported = "default vmem smem hbm host cmem color_6 color_7 color_8 color_9".split()
    assert [(memory.peak[n].name, memory.peak[n].reported_name) for n in range(10)] == [*zip(names, reported)]
    assert [w.split(": ")[1].split(" is ")[0] for w in memory.warnings] == ["memory space S(7)", "memory space S(9)"]


def test_a_result_overwrites_an_operand_only_if_nobody_reads_that_later():
    """`aliasing_operands` is leave, no order: of a loop over rows XLA has copy.4 and add.32, which has such a note, at
    two places."""
    note = 'backend_config={"aliasing_operands":{"lists":[{"indices":["0","2"]}]}}'
    text = f"""HloModule m, is_scheduled=true
ENTRY %main (a: f32[1024,128]) -> f32[1024,128] {{
  %a = f32[1024,128]{{1,0:T(8,128)}} parameter(0)
  %c = f32[1024,128]{{1,0:T(8,128)}} copy(%a)
  %d = f32[1024,128]{{1,0:T(8,128)}} add(%c, %a), {note}
  %e = f32[1024,128]{{1,0:T(8,128)}} custom-call(%c, %d), custom_call_target="f"
  ROOT %r = f32[1024,128]{{1,0:T(8,128)}} custom-call(%e), custom_call_target="g"
}}
"""
    assert xla.memory(io.StringIO(text)).peak[0].bytes == 5 * ARRAY  # a, r, c, d, e
    assert (
        xla.memory(io.StringIO(text.replace("(%c, %d)", "(%d, %d)"))).peak[0].bytes == 4 * ARRAY
    )  # a, r, c and d as one, e
    for kept in ("add(%a, %c)", "add(%c, %a)"):  # neither an argument is overwritten, nor what is read later
        assert xla.memory(io.StringIO(text.replace("add(%c, %a)", kept))).peak[0].bytes == 5 * ARRAY


def test_an_update_in_place_on_the_host_is_one_buffer_in_what_is_reported():
    """As in layers whose inputs are offloaded and read back: XLA reports 378,412,032, twice the host's buffer would be
    532,944,896."""
    host = "f32[1024,128]{1,0:T(8,128)S(5)}"
    text = f"""HloModule m, is_scheduled=true
ENTRY %main (a: f32[8,128], z: s32[]) -> f32[8,128] {{
  %a = f32[8,128]{{1,0:T(8,128)}} parameter(0)
  %z = s32[]{{:T(128)}} parameter(1)
  %h = {host} custom-call(), custom_call_target="AllocateBuffer"
  %u = {host} dynamic-update-slice(%h, %a, %z, %z)
  ROOT %r = f32[8,128]{{1,0:T(8,128)}} custom-call(%u), custom_call_target="f"
}}
"""
    memory = xla.memory(io.StringIO(text))
    assert (memory.reported, memory.peak[5].bytes) == (ARRAY + 2 * 4096 + 512, ARRAY)


A, B, U = "f32[8,128]{1,0:T(8,128)}", "f32[16,128]{1,0:T(8,128)}", "u32[]{:T(128)S(2)}"  # 4,096, 8,192 and 4 bytes
VMEM = A[:-1] + "S(1)}"
ADD = ("add", "%x = f32[] parameter(0)", "%y = f32[] parameter(1)", "%t = (f32[]) tuple(%x)", "%g = f32[] get-tuple-element(%t), index=0",
       "ROOT %z = f32[] add(%g, %y)")  # fmt: skip
NOTE = 'backend_config={"aliasing_operands":{"lists":[{"indices":["0","2"]}]}}'


@pytest.mark.parametrize(
    ("entry", "functions", "held"),
    [
        pytest.param(  # element 0 is the operand, the last counts the progress
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%s = ({A}, {B}, {U}) all-gather-start(%b)", f"%n = {A} negate(%a)",
             f"%d = {B} all-gather-done(%s)", f"ROOT %r = {B} negate(%d)"], [],
            {"b": "t1-4", "s{}": "t2-4", "s{1}": "t2-5", "s{2}": "t2-4", "n": "t3-3"}, id="gather"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%s = (({A}, {A}), ({B}, {B}), {U}) all-gather-start(%a, %b)",
             f"%d = ({B}, {B}) all-gather-done(%s)", f"%g = {B} get-tuple-element(%d), index=1", f"ROOT %r = {B} negate(%g)"], [],
            {"b": "t1-3", "s{}": "t2-3", "s{0}": "t2-3", "s{1}": "t2-4", "s{1,0}": "t2-3", "s{1,1}": "t2-5", "s{2}": "t2-3"}, id="gather of two"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%p = ({A}, {A}) tuple(%a, %a)", f"%s = (({A}, {A}), ({B}, {B})) all-gather-start(%p)",
             f"%d = ({B}, {B}) all-gather-done(%s)", f"%g = {B} get-tuple-element(%d), index=0", f"ROOT %r = {B} negate(%g)"], [],
            {"p{}": "t1-3", "s{}": "t2-3", "s{1}": "t2-4", "s{1,0}": "t2-5", "s{1,1}": "t2-3"}, id="gather of a tuple"),
        pytest.param(  # its result is all results, and no operand
            [f"%a = {A} parameter(0)", f"%s = ({A}, {A}) all-reduce-start(%a)", f"%n = {A} negate(%a)",
             f"%d = ({A}, {A}) all-reduce-done(%s)", f"%g = {A} get-tuple-element(%d), index=0", f"ROOT %r = {A} negate(%g)"], [],
            {"s{}": "t1-4", "s{0}": "t1-5", "s{1}": "t1-3", "n": "t2-2"}, id="reduce"),
        pytest.param(  # element 1 is the operand
            [f"%a = {A} parameter(0)", f"%c = {A} negate(%a)", f"%s = ({VMEM}, {A}, {U}) copy-start(%c)", f"%n = {A} negate(%a)",
             f"%d = {VMEM} copy-done(%s)", f"ROOT %r = {A} negate(%d)"], [],
            {"c": "t1-4", "s{}": "t2-4", "s{0}": "t2-5", "s{2}": "t2-4", "n": "t3-3"}, id="copy"),
        pytest.param(  # what is sent is not copied
            [f"%a = {A} parameter(0)", f"%c = {A} negate(%a)", "%t = token[] after-all()", f"%s = ({A}, {U}, token[]) send(%c, %t)",
             "%e = token[] send-done(%s)", f"ROOT %r = {A} negate(%a)"], [],
            {"c": "t1-4", "s{}": "t3-4", "s{1}": "t3-4"}, id="send"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%s = {B} slice-start(%a)", f"%d = {B} slice-done(%s)", f"ROOT %r = {B} negate(%d)"], [],
            {"s": "t1-2", "d": "t2-3"}, id="no tuple"),
        pytest.param(  # once for each computation, and not for what is inside of a fusion
            [f"%a = {A} parameter(0)", "%i = f32[] constant(0)", "%q = f32[8]{0:T(128)} reduce(%a, %i), to_apply=%add",
             "%w = f32[8]{0:T(128)} reduce(%a, %i), to_apply=%add", "%f = f32[8]{0:T(128)} fusion(%a), calls=%fused",
             'ROOT %r = f32[8]{0:T(128)} custom-call(%q, %w, %f), custom_call_target="f", to_apply=%gone'],
            [ADD, ("fused", f"%p = {A} parameter(0)", "%k = f32[] constant(1)", "ROOT %v = f32[8]{0:T(128)} reduce(%p, %k), to_apply=%other"),
             ("other", "%x.1 = f32[] parameter(0)", "ROOT %z.1 = f32[] negate(%x.1)")],
            {"i": "c0-5", **dict.fromkeys(["x", "y", "z", "x.1", "z.1"], "l0-5"), "q": "t2-5", "w": "t3-5", "f": "t4-5"}, id="applied"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%c = {A} negate(%b)", f'%k = {B} custom-call(%b, %c), custom_call_target="ConcatBitcast"',
             f"ROOT %r = {B} negate(%k)"], [], {"b": "t1-2", "c": "t2-2", "k": "t3-4"}, id="side by side"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%c = {A} negate(%b)",
             f'%k = {B} concatenate(%b, %c), frontend_attributes={{custom_call_target="ConcatBitcast"}}', f"ROOT %r = {B} negate(%k)"], [],
            {"b": "t1-3", "c": "t2-3", "k": "t3-4"}, id="no custom call"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%c = {A} negate(%a)", "%i = s32[]{:T(128)} constant(0)",
             f"%k = ({A}, {A}) scatter(%b, %c, %i, %a, %a), to_apply=%f", f"%g = {A} get-tuple-element(%k), index=1", f"ROOT %r = {A} negate(%g)"], [],
            {"i": "c0-6", "b": "t1-4", "c": "t2-6", "k{}": "t4-5"}, id="scatter"),
        pytest.param(  # there is no operand 2
            [f"%a = {A} parameter(0)", f"%b = {A} negate(%a)", f"%c = {A} negate(%a)",
             f'%k = ({A}, {B}) custom-call(%b, %c), custom_call_target="f", output_to_operand_aliasing={{{{0}}: (1, {{}}), {{1}}: (2, {{}})}}',
             f"%g = {A} get-tuple-element(%k), index=0", f"ROOT %r = {A} negate(%g)"], [],
            {"b": "t1-3", "c": "t2-5", "k{}": "t3-4", "k{1}": "t3-3"}, id="stated"),
        pytest.param(  # the last one is the result
            [f"%a = {A} parameter(0)", f"%b = {A} call(%a), to_apply=%f", f"ROOT %r = {A} negate(%b)"],
            [("f", f"%x = {A} parameter(0)", f"%y = {A} negate(%x)", f"%v = {A} negate(%y)")], {"y": "t2-3", "v": "t3-5"}, id="no root"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} call(%a), to_apply=%f", f"%c = {A} negate(%b)", f"ROOT %r = {A} negate(%c)"],
            [("f", f"%x = {A} parameter(0)", f"ROOT %y = {A} negate(%x)", f"%v = {A} negate(%x)")],
            {"y": "t2-5", "v": "t3-3", "c": "t5-6"}, id="a root that is not last"),
        pytest.param(  # nobody reads what it gives, but it is there until it ends
            [f"%a = {A} parameter(0)", f"%b = {A} call(%a), to_apply=%f", f"ROOT %r = {A} negate(%a)"],
            [("f", f"%x = {A} parameter(0)", f"ROOT %y = {A} negate(%x)", f"%v = {A} negate(%x)", f"%w = {A} negate(%x)")],
            {"y": "t2-5", "v": "t3-3", "w": "t4-4"}, id="a result that nobody reads"),
        pytest.param(  # one after the other without a step between: one buffer, held for as long as both
            [f"%a = {A} parameter(0)", "%k = pred[]{:T(512)} parameter(1)", f"%c = {A} conditional(%k, %a, %a), branch_computations={{%f, %g}}",
             f"ROOT %r = {A} negate(%c)"],
            [("f", f"%x = {A} parameter(0)", f"ROOT %y = {A} negate(%x)"), ("g", f"ROOT %w = {A} iota(), iota_dimension=0")],
            {"k": "a0-6", "y": "t3-6"}, id="branches side by side"),
        pytest.param(  # what both branches write is in one buffer; what they read is held until the end of both
            [f"%a = {A} parameter(0)", "%k = pred[]{:T(512)} parameter(1)", f"%n = {A} negate(%a)",
             f"%c = {A} conditional(%k, %a, %n), branch_computations={{%f, %g}}", f"%e = {A} negate(%a)", f"ROOT %r = {A} negate(%c)"],
            [("f", f"%x = {A} parameter(0)", f"ROOT %y = {A} negate(%x)"),
             ("g", f"%v = {A} parameter(0)", f"%u = {A} negate(%v)", f"ROOT %w = {A} negate(%u)")],
            {"k": "a0-10", "n": "t2-8", "y": "t4-5", "u": "t6-7", "w": "t7-10", "e": "t9-9"}, id="branches"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%c = {A} conditional(%a)", f"ROOT %r = {A} negate(%c)"], [], {"c": "t1-2"}, id="no branches"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%b = {A} call(%a), to_apply=%f", f"ROOT %r = {A} negate(%b)"],
            [("f", f"%x = {A} parameter(1)", f"ROOT %y = {A} negate(%x)")], {"x": "t1-2", "y": "t2-4"}, id="an argument that is missing"),
        pytest.param(  # its number, if it has one, is that of an argument
            [f"%a = {A} parameter(0)", f"%n = {A} negate(%a)", f"%b = {A} call(%a, %n), to_apply=%f", f"ROOT %r = {A} negate(%b)"],
            [("f", f"%x = {A} parameter()", f"%v = {A} parameter(x)", f"%u = {A} negate(%x)", f"ROOT %y = {A} negate(%v)")],
            {"n": "t1-1", "u": "t4-4", "y": "t5-7"}, id="parameters without a number"),
        pytest.param(  # operand 0, and not what comes behind it
            [f"%a = {A} parameter(0)", f"%c = {A} negate(%a)", f"%n = {A} negate(%a)", f"%b = {A} add-dependency(%c, %n)", f"ROOT %r = {A} negate(%b)"], [],
            {"c": "t1-4", "n": "t2-3"}, id="dependency"),
        pytest.param(  # by the compiler's note d is in the memory of c
            [f"%a = {A} parameter(0)", f"%c = {A} copy(%a)", f"%d = {A} add(%c, %a), {NOTE}", f"%e = {A} negate(%d)", f"ROOT %r = {A} negate(%e)"], [],
            {"c": "t1-3", "e": "t3-4"}, id="note"),
        pytest.param(
            [f"%a = {A} parameter(0)", f"%c = {A} copy(%a)", f"%d = ({A}, {A}) custom-call(%c, %a), {NOTE.replace('2', '3')}",
             f"%e = {A} get-tuple-element(%d), index=1", f"ROOT %r = {A} negate(%e)"], [],
            {"c": "t1-4", "d{}": "t2-3", "d{0}": "t2-2"}, id="note of the second result"),
        *(pytest.param(
            [f"%a = {A} parameter(0)", f"%c = {A} copy(%a)", f"%d = {A} add(%c, %a), {note}", f"%e = {A} negate(%d)", f"ROOT %r = {A} negate(%e)"], [],
            {"c": "t1-2", "d": "t2-3", "e": "t3-4"}, id=f"note of what is not there, {k}")
            for k, note in enumerate((NOTE.replace("2", "3"), NOTE.replace("0", "2").replace('"2","2"', '"2","3"'), NOTE.replace('"0",', "")))),
        pytest.param(  # a tuple is no array
            [f"%a = {A} parameter(0)", f"%c = {A} copy(%a)", f"%p = ({A}) tuple(%c)", f"%d = {A} custom-call(%p, %a), {NOTE}", f"%e = {A} negate(%d)",
             f"ROOT %r = {A} negate(%e)"], [], {"c": "t1-3", "p{}": "t2-3", "d": "t3-4", "e": "t4-5"}, id="note of a tuple"),
        pytest.param(  # what the condition does not read is held while it runs
            [f"%a = {A} parameter(0)", f"%c = {A} negate(%a)", f"%s = ({A}) tuple(%c)", f"%w = ({A}) while(%s), condition=%f, body=%g",
             f"%e = {A} get-tuple-element(%w), index=0", f"ROOT %r = {A} negate(%e)"],
            [("f", f"%x = ({A}) parameter(0)", f"%m = {A} iota()", f"%n = {A} negate(%m)", f"ROOT %q = {A} negate(%n)"),
             ("g", f"%v = ({A}) parameter(0)", f"%i = {A} get-tuple-element(%v), index=0", f"%u = {A} negate(%i)", f"ROOT %z = ({A}) tuple(%u)")],
            {"c": "t1-13", "s{}": "t2-8", "z{}": "t10-12", "m": "t4-5", "n": "t5-6", "q": "t6-7"}, id="loop"),
        pytest.param(  # the literal of a constant is no name
            [f"%a = {A} parameter(0)", f"%c = {A} constant({{...}})", f"%o = {A} constant(%gone)",
             f'%b = b({A}) custom-call(%a), custom_call_target="f"', f"ROOT %r = {A} negate(%c)"], [],
            {"c": "c0-4", "o": "c0-4", "b": "t3-3"}, id="constants and buffers"),
    ],
)  # fmt: skip
def test_each_kind_of_instruction_holds_what_it_says(entry, functions, held):
    """By the meaning of each: a temporary from its write to its last read, arguments, constants, results and locals for
    the whole run."""
    bodies = "".join(f"%{name} {{\n  " + "\n  ".join(lines) + "\n}\n" for name, *lines in functions)
    memory = xla.memory(
        io.StringIO(f"HloModule m, is_scheduled=true\n{bodies}ENTRY %main {{\n  " + "\n  ".join(entry) + "\n}\n")
    )
    end = len(memory.steps) - 1
    found = {b.name: f"{b.kind[0]}{b.first}-{b.last}" for b in memory.buffers}
    assert found == {"a": f"a0-{end}", "r": f"r0-{end}", **held}
    sizes = {
        None: 512,
        "f32[8,128]": 4096,
        "f32[16,128]": 8192,
        "u32[]": 4,
        "s32[]": 512,
        "pred[]": 512,
        "f32[]": 4096,
        "f32[8]": 512,
    }
    assert all(b.bytes == sizes[b.shape and str(b.shape).partition("{")[0]] for b in memory.buffers)
    known = "parameter(1), and 1", "is called, and not there", "without a ROOT", "what that says is not known"
    assert not [w for w in memory.warnings if not any(text in w for text in known)]
    assert all(b.space == (0 if b.shape is None else b.shape.effective_layout.memory_space) for b in memory.buffers)


def test_a_donated_argument_is_where_its_result_is():
    lines = [
        f"%a = {A} parameter(0)",
        f"%b = {A} parameter(1)",
        f"%c = {A} negate(%b)",
        f"%d = {A} negate(%a)",
        f"ROOT %r = ({A}, {A}) tuple(%c, %d)",
    ]
    for header, names in (
        ("", "a b c d r{}"),
        (", input_output_alias={ {1}: (1, {}, may-alias) }", "a b c r{}"),
        (", input_output_alias={ {0}: (1, {}), {1}: (0, {}) }", "a b r{}"),
    ):
        memory = xla.memory(
            io.StringIO(f"HloModule m, is_scheduled=true{header}\nENTRY %main {{\n  " + "\n  ".join(lines) + "\n}\n")
        )
        assert sorted(b.name for b in memory.buffers) == names.split()


def test_programs_of_too_many_steps_are_refused(monkeypatch):
    text = (
        "HloModule m, is_scheduled=true\nENTRY %main {\n  %a = f32[] parameter(0)\n  %b = f32[] negate(%a)\n  ROOT %c "
        "= f32[] negate(%b)\n}\n"
    )
    module = importlib.import_module("tla.xla.programs.flow")
    monkeypatch.setattr(module, "MAX_STEPS", 3)
    assert len(xla.memory(io.StringIO(text)).steps) == 3
    monkeypatch.setattr(module, "MAX_STEPS", 2)
    with pytest.raises(RangeError, match="more than 2 instructions"):
        xla.memory(io.StringIO(text))


# ------------------------------------------------------------------------------------------------- bad input


def test_modules_without_a_schedule_are_refused_and_say_how_to_go_on():
    text = LOOP.replace("is_scheduled=true, ", "")
    with pytest.raises(LoweringError, match="is not scheduled"):
        xla.memory(io.StringIO(text))
    assert xla.memory(io.StringIO(text), scheduled=True).peak[0] == xla.memory(io.StringIO(LOOP)).peak[0]


def test_parts_that_are_missing_are_named():
    with pytest.raises(LoweringError, match="computation body is called"):
        xla.memory(io.StringIO(LOOP.replace("%body (", "%body.2 (")))
    with pytest.raises(LoweringError, match="no ENTRY"):
        xla.memory(io.StringIO(LOOP.replace("ENTRY ", "")))
    with pytest.raises(RangeError, match="deep"):
        xla.memory(
            io.StringIO(
                LOOP.replace('custom-call(%big), custom_call_target="g"', "while(%big), condition=%cond, body=%body")
            )
        )
    with pytest.raises(ParseError, match="StableHLO"):
        xla.memory(io.StringIO("module @m {\n %0 = stablehlo.add %1, %2\n}"))


def test_a_file_without_a_program_says_so():
    with pytest.raises(LoweringError, match="no computation in the text"):
        xla.memory(io.StringIO(""))
    with pytest.raises(ParseError, match="line 1: bytes that are no text"):
        xla.memory(io.BytesIO(b"\xfa\xfb\n\x80\n"))


def test_a_copy_of_what_is_not_there_is_reported():
    errors = []
    text = "ENTRY %m {\n  ROOT %c = f32[8,128]{1,0:T(8,128)} copy(%gone)\n}"
    assert xla.relayouts(io.StringIO(text), on_error=errors.append) == []
    assert [e.reason.what.split(" is not defined")[0] for e in errors] == ["line 2: c: operand gone"]


def test_computations_inside_of_instructions_are_refused():
    """Their names are not there: a conditional would lose its branches, a loop its body."""
    text = """HloModule m, is_scheduled=true
ENTRY %main {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %b = f32[16,128]{1,0:T(8,128)} call(%a), to_apply=
  {
    %p = f32[16,128]{1,0:T(8,128)} parameter(0)
    ROOT %c = f32[16,128]{0,1:T(8,128)} copy(%p)
  }
}"""
    for follow in (xla.memory, xla.relayouts, lambda file: xla.totals(xla.read_hlo(file), "shape")):
        with pytest.raises(LoweringError, match="computations inside of instructions, as in main/b"):
            follow(io.StringIO(text))
    assert [t.count for t in xla.totals(xla.read_hlo(io.StringIO(text)), "operation", interiors=True)] == [1, 2, 1]


def test_what_is_behind_a_barrier_is_no_copy():
    text = LOOP.replace(
        "%c = s32[]{:T(128)} copy(%z)",
        "%c = s32[]{:T(128)} copy(%z)\n  %o = f32[1024,128]{1,0:T(8,128)} opt-barrier(%a)",
    )
    text = text.replace("tuple(%a, %c)", "tuple(%o, %c)")
    assert xla.memory(io.StringIO(text)).peak[0].bytes == xla.memory(io.StringIO(LOOP)).peak[0].bytes
    assert xla.memory(io.StringIO(text)).warnings == ()


def test_opcodes_and_spaces_that_are_not_known_are_named_with_their_lines():
    text = (
        LOOP.replace("negate(%i)", "frobnicate(%i)")
        .replace("copy(%z)", "frobnicate(%z)")
        .replace("s32[]{:T(128)} f", "s32[]{:T(128)S(9)} f")
    )
    memory = xla.memory(io.StringIO(text))
    assert memory.warnings[:2] == (
        "lines 9, 22: opcode frobnicate is not known: its result counts as new memory",
        "lines 9, 22: memory space S(9) is not known: it counts by itself",
    )
    assert memory.peak[9].name == "S(9)"
    assert memory.peak[9].bytes == 512  # carried in place: one scalar of 128 s32
    many = "ENTRY %m {\n" + "".join(f"  %a{k} = f32[] frobnicate()\n" for k in range(25)) + "}"
    assert xla.unknown_names(xla.read_hlo(io.StringIO(many)))[0].startswith(
        "lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 15 more: "
    )


def test_every_opcode_of_real_programs_is_known():
    for path in sorted(FOLDER.glob("*.txt.gz"))[::3]:
        assert xla.unknown_names(xla.read_hlo(path)) == ()
    for opcode in ("all-gather-start", "async-update", "call-done", "tan", "opt-barrier", "ragged-dot"):
        assert xla.unknown_names(xla.read_hlo(io.StringIO(f"%a = f32[] {opcode}(%b)"))) == ()


def test_totals_say_what_they_leave_out():
    text = LOOP.replace(
        "%c = s32[]{:T(128)} copy(%z)", "%u = f32[?] custom-call(%z)\n  %c = s32[]{:T(128)} copy(%gone)"
    )
    for interiors in (False, True):
        warnings = []
        xla.totals(xla.read_hlo(io.StringIO(text)), "shape", interiors, on_warning=warnings.append)
        assert "line 22: u: the size of f32[?] is not known: it counts as nothing" in warnings
        assert interiors or "line 23: c: operand gone is not defined before it" in warnings
        assert xla.totals(xla.read_hlo(io.StringIO(text)), "shape", interiors)  # nobody asks


def test_a_file_that_is_cut_is_answered_in_part_with_warnings():
    broken = LOOP.replace(
        '  %y = f32[1024,128]{1,0:T(8,128)} custom-call(%big), custom_call_target="g"\n',
        "  %y = f32[1024,128]{1,0:T(8,128)} custom-ca\n",
    )
    memory = xla.memory(io.StringIO(broken))
    assert memory.warnings[0].startswith("line 8: ")
    assert any("line 10: t: operand y is not defined" in w for w in memory.warnings)
    unbounded = LOOP.replace(
        "%c = s32[]{:T(128)} copy(%z)", "%u = f32[?] custom-call(%z)\n  %c = s32[]{:T(128)} copy(%z)"
    )
    assert any("size of f32[?]" in w for w in xla.memory(io.StringIO(unbounded)).warnings)


def test_a_name_twice_in_a_computation_is_refused():
    """Following both as one took 30 s for 1 MB."""
    text = (
        "HloModule m, is_scheduled=true\nENTRY %m {\n  %a = f32[3]{0} parameter(0)\n  %a = f32[3]{0} negate(%a)\n"
        "  ROOT %b = f32[3]{0} add(%a, %a)\n}\n"
    )
    with pytest.raises(LoweringError, match="line 4: a is defined twice in computation m"):
        xla.memory(io.StringIO(text))


ONE = """HloModule one, is_scheduled=true

%sum (p: f32[], q: f32[]) -> f32[] {
  %p = f32[] parameter(0)
  %q = f32[] parameter(1)
  ROOT %s = f32[] add(%p, %q)
}

ENTRY %main (a: f32[16,128]) -> f32[16,128] {
  %a = f32[16,128]{1,0:T(8,128)} parameter(0)
  %b = f32[16,128]{0,1:T(8,128)} copy(%a)
  ROOT %d = f32[16,128]{1,0:T(8,128)} copy(%b)
}
"""
OTHER = """
ENTRY %other (x: f32[16,128]) -> f32[16,128] {
  %x = f32[16,128]{1,0:T(8,128)} parameter(0)
  ROOT %y = f32[16,128]{1,0:T(8,128)} negate(%x)
}
"""
BODIES = ONE.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ONE + ONE, "line 14: a second module begins, which is not read"),
        (ONE + "\nHloModule two, is_scheduled=true\n" + OTHER, "line 15: a second module begins, which is not read"),
        (ONE + "  HloModule two\r\n" + OTHER, "line 14: a second module begins, which is not read"),
        (ONE + OTHER, "line 15: a second ENTRY begins, which is not read"),
        (ONE + OTHER.replace("%other", "%main"), "line 15: a second ENTRY begins, which is not read"),
        (BODIES + ONE, "line 12: a second module begins, which is not read"),
    ],
    ids=["twice", "two", "windows", "two entries", "entries of one name", "a part before"],
)
def test_a_second_module_in_a_file_is_said_and_not_read(text, says):
    """Its ENTRY was followed in place of the first, and its arrays counted with those of the first."""
    said = []
    lines = [*xla.read_hlo(io.StringIO(text), said.append)]
    assert [str(x.instruction) for x in lines] == [str(x.instruction) for x in xla.read_hlo(io.StringIO(ONE))]
    assert [str(error).splitlines()[0].partition(", at")[0] for error in said] == [says]
    memory = xla.memory(io.StringIO(text), scheduled=True)
    assert memory.peak[0].bytes == xla.memory(io.StringIO(ONE)).peak[0].bytes
    assert memory.warnings[0].startswith(says)
    assert memory.missing
    with pytest.raises(ParseError, match="split the file"):
        [*xla.read_hlo(io.StringIO(text))]
