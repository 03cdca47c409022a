"""Blocks as text: the loops of AscendC are the statements that were checked, and both texts do on a host
what they should."""

import re
import subprocess

import pytest
from catlass_examples import NUMBERED, available, built_side, places_of

from tla.ascend import (
    Ascend950,
    AtlasA2,
    ColumnMajor,
    RowMajor,
    SplitkGemmIdentityBlockSwizzle,
    block,
    check,
    float32,
    fp4_e2m1,
    fp8_e4m3,
    half,
    int8,
    int32,
    zN,
)
from tla.ascend.programs import Fill, Move, Multiply, PipeBarrier, SetAtomic, SetFlag
from tla.ascend.programs.trace import events
from tla.core.errors import LeafTypeError, RangeError

from night import some

#: Blocks of every kind: the problem, tiles, and what else.
BLOCKS = {
    "tails": ((150, 300, 520), (128, 256, 256), (128, 256, 64), {"cores": 3}),
    "many blocks": ((200, 200, 300), (32, 32, 64), (32, 32, 32), {"cores": 7}),
    "words": ((33, 17, 85), (32, 32, 64), (32, 32, 32), {"a": (float32, ColumnMajor), "b": float32, "c": float32}),
    "biases": ((37, 41, 77), (32, 64, 64), (32, 64, 32), {"bias": True, "cores": 2}),
    "quantised": (
        (64, 90, 130),
        (32, 64, 64),
        (32, 64, 32),
        {"a": int8, "b": (int8, ColumnMajor), "c": half, "quant": "PER_TENSOR", "scale": 0.5},
    ),
    **{
        f"scales of columns {arch}{' of ' + c[1].name if isinstance(c, tuple) else ''}": (
            (64, 90, 130),
            (32, 64, 64),
            (32, 64, 32),
            {"arch": arch, "a": int8, "b": (int8, ColumnMajor), "c": c, "quant": "PER_CHANNEL", "cores": 2},
        )
        for arch in (AtlasA2, Ascend950)
        for c in (half, (half, zN))
    },
    "a scale on Ascend950 of zN": (
        (64, 90, 130),
        (32, 64, 64),
        (32, 64, 32),
        {"arch": Ascend950, "a": int8, "b": (int8, ColumnMajor), "c": (int8, zN), "quant": "PER_TENSOR", "scale": 0.5},
    ),
    "slices of k": (
        (64, 64, 300),
        (32, 32, 64),
        (32, 32, 32),
        {"c": float32, "splitkFactor": 3, "swizzle": SplitkGemmIdentityBlockSwizzle[3, 0], "cores": 2},
    ),
    "Ascend950": (
        (100, 90, 300),
        (64, 64, 128),
        (64, 64, 64),
        {"arch": Ascend950, "a": int8, "b": (int8, ColumnMajor), "c": int32, "cores": 2},
    ),
    "sparse": (
        (70, 90, 328),
        (64, 64, 128),
        (64, 64, 64),
        {"a": int8, "b": (int8, ColumnMajor), "c": int32, "sparse": True, "cores": 2},
    ),
    **{
        f"MX of {kind}, {a.name} and {b.name}": (
            (70, 90, 200),
            (64, 64, 128),
            (64, 64, 64),
            {"arch": Ascend950, "a": (kind, a), "b": (kind, b), "c": float32, "scales": True, "cores": 2},
        )
        for kind in (fp8_e4m3, fp4_e2m1)
        for a, b in ((RowMajor, ColumnMajor), (ColumnMajor, RowMajor))
    },
    "unit flags": ((70, 70, 200), (32, 64, 64), (32, 64, 32), {"unit_flag": True}),
    "one element": ((1, 1, 1), (32, 32, 32), (32, 32, 32), {}),
}


def made(name):
    problem, l1, l0, more = BLOCKS[name]
    return block(problem, l1, l0, more.get("arch", AtlasA2), **{k: v for k, v in more.items() if k != "arch"})


def expanded(lines, core):
    """The statements of a core: loops and conditions on the core gone through, integers computed."""

    def value(text, names):
        total = 0
        for sign, term in re.findall(r"([+-]?)\s*([^+-]+)", text.replace("(", "").replace(")", "")):
            product = -1 if sign == "-" else 1
            for factor in term.split("*"):
                factor = factor.strip()
                product *= int(factor) if factor.isdigit() else names[factor]
            total += product
        return total

    def numbers(line, names):
        line = re.sub(r"\(core - (\d+)\)", lambda x: str(names["core"] - int(x[1])), line)
        term = r"(?:\d+|core|i\d)"
        pattern = rf"(?<![\w.<]){term}(?: [+*-] {term})*(?![\w.>])"
        return re.sub(pattern, lambda x: str(value(x[0], names)), line)

    def body(at, names, out):
        """The lines from one on up to the end of their block; the place behind it."""
        while (line := lines[at].strip()) != "}":
            loop = re.fullmatch(r"for \(uint64_t (i\d) = 0; i\d < (\d+); \+\+i\d\) \{", line)
            if loop:
                end = at
                for turn in range(int(loop[2])):
                    end = body(at + 1, {**names, loop[1]: turn}, out)
                at = end
            else:
                out.append(numbers(line, names))
                at += 1
        return at + 1

    out, at = [], 0
    while at < len(lines):
        found = re.fullmatch(r"if \((?:core == (\d+)|(\d+) <= core && core < (\d+))\) \{", lines[at].strip())
        if found is None:
            at += 1
            continue
        mine = core == int(found[1]) if found[1] else int(found[2]) <= core < int(found[3])
        at = body(at + 1, {"core": core}, out if mine else [])
    return out


def told(s, program):
    """A statement as AscendC has it."""
    if isinstance(s, Fill):
        kind, cast = ("uint16_t", ".template ReinterpretCast<uint16_t>()") if s.element.bits < 16 else ("half", "")
        fields = "".join(f"p.{x} = {s.parameters[x]}; " for x in ("repeatTimes", "blockNum", "dstGap"))
        call = f"AscendC::InitConstValue({s.dst}[{s.at}]{cast}, p);"
        return f"{{ AscendC::InitConstValueParams<{kind}> p; {fields}p.initValue = 0; {call} }}"
    if isinstance(s, Move) and s.instruction.name == "LoadData2DMx":
        p, i = s.instruction.parameters, s.instruction
        fields = [p[x] for x in ("xStartPosition", "yStartPosition", "xStep", "yStep", "srcStride", "dstStride")]
        source = f"(__cbuf__ void *)({s.src}[{i.src}].GetPhyAddr())"
        return f"load_cbuf_to_c{s.dst[2].lower()}_mx({s.dst} + {i.dst}, {source}, {', '.join(map(str, fields))});"
    if isinstance(s, Move):
        text = s.instruction.text.replace("(dst[", f"({s.dst}[").replace(", src[", f", {s.src}[")
        return text.replace(", index[", f", {s.beside}[") if s.beside else text
    if isinstance(s, Multiply):
        return s.instruction.call(s.dst, s.a, s.b, s.bias or "")
    if isinstance(s, PipeBarrier):
        return f"AscendC::PipeBarrier<PIPE_{s.pipe}>();"
    if isinstance(s, SetAtomic):
        return "AscendC::SetAtomicAdd<float>();" if s.adds else "AscendC::SetAtomicNone();"
    return f"AscendC::{'SetFlag' if isinstance(s, SetFlag) else 'WaitFlag'}<AscendC::HardEvent::{s.event}>({s.id});"


@pytest.mark.parametrize("name", some(BLOCKS, 3))
def test_the_loops_are_the_statements(name):
    b = made(name)
    lines = b.text().splitlines()
    for core, program in enumerate(b.programs):
        assert expanded(lines, core) == [told(e.statement, program) for e in events(program)]


def test_what_repeats_is_a_loop():
    b = block((128, 256, 4096), (128, 256, 256), (128, 256, 64))
    assert len([*events(b.programs[0])]) == 1400
    assert len(b.text().splitlines()) < 400
    alike = block((512, 256, 256), (128, 256, 256), (128, 256, 64), cores=4).text()
    assert "if (0 <= core && core < 4) {" in alike
    assert "A[32768 * core]" in alike


def test_bad_input_is_refused():
    b = block((32, 32, 32), (32, 32, 32), (32, 32, 32))
    with pytest.raises(RangeError, match="a block in cuda"):
        b.text("cuda")
    with pytest.raises(RangeError, match="a kernel named"):
        b.text(name="a b")
    for name in ("biases", "quantised", "slices of k"):
        with pytest.raises(LeafTypeError, match="in CATLASS's text"):
            made(name).text("catlass")
    wide = half, RowMajor.MakeLayout(half, 32, 32, ld=64)
    with pytest.raises(LeafTypeError, match="a layout of A"):
        block((32, 32, 32), (32, 32, 32), (32, 32, 32), a=wide).text("catlass")
    with pytest.raises(LeafTypeError, match="the stages"):
        block((32, 32, 32), (32, 32, 32), (32, 32, 32), stages=1).text("catlass")


# ------------------------------------------------------------------------------------------------ compiled on a host

needs_catlass = pytest.mark.skipif(available() is not None, reason=str(available()))


def log_of(b, language, folder, core, sizes=()):
    """What a core logs that runs the text of a block."""
    call = f"{NUMBERED} kernel_main({', '.join([*map(str, sizes), *places_of(b.tensors.values())])});"
    program = built_side(b.text(language), b.plan.arch.name, folder, "AIC", call)
    return subprocess.run(
        [program, str(core), str(len(b.programs))], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def tensors_of(b):
    return {name: (t.address, t.element, t.layout) for name, t in b.tensors.items()}


@needs_catlass
@pytest.mark.parametrize(
    "name", sorted({*BLOCKS} - {"words"})
)  # the stub does not log what LoadData3D is configured with
def test_ascendc_does_what_the_block_does(name, tmp_path):
    b = made(name)
    for core, blocks in enumerate(b.schedule.table):
        lines = log_of(b, "ascendc", tmp_path, core)
        report = check(lines, tensors_of(b), [b.result(blocks)], b.plan.arch)
        assert report.holds, str(report)
        more = sum('"SetFixPipeConfig"' in x for x in lines)  # each has a barrier of its own
        wanted = b.check(core).counts
        assert report.counts == {**wanted, "events": wanted["events"] + more}


@needs_catlass
# of fp4 CATLASS calls load_cbuf_to_ca_s4, which its stubs lack
@pytest.mark.parametrize(
    "name", ["tails", "many blocks", "unit flags", "Ascend950", *(x for x in BLOCKS if x.startswith("MX of fp8"))]
)
def test_catlass_does_what_the_block_does(name, tmp_path):
    b = made(name)
    for core, blocks in enumerate(b.schedule.table):
        lines = log_of(b, "catlass", tmp_path, core, b.problem)
        report = check(lines, tensors_of(b), [b.result(blocks)], b.plan.arch)
        if name == "unit flags":  # BlockMmadTla gives MTE1_M whatever id is on the stack, as the text says
            assert {(f.kind, f.what.split()[1]) for f in report.findings} <= {("flag", "MTE1_M")}
            assert "an id of MTE1_M that is not set" in b.text("catlass")
        else:
            assert report.holds, str(report)
