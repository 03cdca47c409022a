"""CUTLASS's own examples of CuTe's DSL: TMA, wgmma, tcgen05 and stmatrix of their IR against the PTX, the DSL's boxes,
and the definition."""

import gzip
import json
import random
import re
from collections import Counter

import pytest

from tla.core.errors import TlaError
from tla.ttgir import advise, costs, dots, faults, program_of
from tla.ttgir.cute_bulk import tensor_map
from tla.ttgir.cute_products import product

from night import amount, some
from places import DATA

KERNELS = {
    row["name"]: row for row in json.loads(gzip.decompress((DATA / "ttgir" / "cute_examples.json.gz").read_bytes()))
}
CLASSES = {"cp.async.bulk": "cp.async.bulk.tensor", "cp.async": "cp.async.cg"}
PRODUCTS = {"sm80": "mma.sync", "sm90": "wgmma.mma_async", "sm100": "tcgen05.mma"}
#: What the PTX has more or less than the IR says, and why.
DIFFERENT = {
    "gemm_sm80": {"cp.async.cg": 6},  # of a loop of four passes, which LLVM unrolls by itself
    # behind each product the operands of its first step are loaded again, which nothing reads: LLVM leaves them out
    "attention_sm80": {"ldmatrix": -28},
    "gemm_sm100": {"ld.shared": 1},  # the address of tensor memory
    # the address of tensor memory; loads in front of the main loop are prefetched
    "gemm_nvfp4_sm100": {"ld.shared": 1, "cp.async.bulk.tensor": 4},
}


def found(name, text=None):
    sm = re.search(r"\d+\Z", name)[0]
    return costs(program_of(text or KERNELS[name]["ir"]), target=f"cuda:{sm}")


def unrolled(text):
    """The lines of loops that the IR says to unroll whole."""
    whole = {m[1] for m in re.finditer(r"#(loop_annotation\w*) = #llvm.loop_annotation<unroll = #(loop_unroll\w*)>", text)
             if f"#{m[2]} = #llvm.loop_unroll<full = true>" in text}  # fmt: skip
    lines, begins = set(), []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if line.startswith("}"):
            begin, said = begins.pop(), re.search(r"loop_annotation = #(\w+)", line)
            lines |= {begin} if said and said[1] in whole else set()
        if line.endswith("{"):
            begins.append(number)
    return lines


def instructions(name):
    """How often the IR has each instruction, loops unrolled that are to be."""
    costs_, here = found(name), Counter()
    loops = unrolled(KERNELS[name]["ir"])

    def repeats(op):
        count = 1
        for around in costs_.program.around(op):
            if around.line in loops:
                count *= int(costs_.loops.times(costs_.program.inside(around)[0]) // costs_.loops.times(around))
        return count

    for row in costs_.rows:
        for part in row.parts:
            kind = part.instruction.partition(".x")[0]
            here[CLASSES.get(kind, kind)] += part.instructions * repeats(row.op)
    for op in costs_.program.ops:
        if op.name == "cute.gemm" and not costs_.loops.is_dead(op):
            arch = re.search(r"cute_nvgpu\.(sm\d+)", costs_.program.named(op.operand_types[0]))[1]
            here[PRODUCTS[arch]] += product(costs_.program, op).instructions * repeats(op)
    return here


@pytest.mark.once
@pytest.mark.parametrize("name", some(KERNELS, 3))
def test_instructions_are_those_of_the_ptx(name):
    here, there = instructions(name), Counter(KERNELS[name]["ptx"])
    different = {kind: there[kind] - here[kind] for kind in {*here, *there} if here[kind] != there[kind]}
    assert different == DIFFERENT.get(name, {})
    assert not [row.refused for row in found(name).rows if row.refused]
    assert faults(found(name)) == ()


def test_boxes_are_those_of_the_dsl():
    """Of each tensor map the box by our own make_tma_copy, and that which the DSL printed; of a multicast
    a CTA's part."""
    count = 0
    for name, row in KERNELS.items():
        program = program_of(row["ir"])
        for op in program.ops:
            said = re.search(r'tma_gbasis = <"\(([0-9,]+)\):', "".join(op.result_types))
            if "make_non_exec_tiled_tma" in op.name and said and "nvfp4" not in name:
                ctas = int((re.search(r"num_multicast = (\d+)", op.body) or (0, 1))[1])
                *outer, last, one = (
                    [*map(int, said[1].split(",")), 1] if said[1].count(",") == 1 else map(int, said[1].split(","))
                )
                box = tensor_map(program, op).box
                assert [*outer, last // ctas, one][: len(box)] == [*box]
                count += 1
    assert count == 18


def test_conflicts_of_stores_through_a_swizzle_of_bytes_by_the_definition():
    """Accumulators of f32, stored as pairs of 64 x 32 tiles under S<3,4,3>: lane l has rows l // 4, columns 2
    (l % 4)."""
    rows = [row for row in found("gemm_columns_sm90").rows if row.parts and row.parts[0].instruction == "st.shared"]
    byte = [(lane // 4) * 128 + (lane % 4) * 8 for lane in range(32)]
    swizzled = [b ^ (b >> 7 & 7) << 4 for b in byte]
    groups = [Counter(b // 4 % 32 for b in swizzled[half : half + 16]) for half in (0, 16)]  # 64 bits: 16 lanes at once
    wavefronts = sum(max(group.values()) for group in groups)
    assert {(row.parts[0].cost, row.parts[0].least) for row in rows} == {(8 * 4 * wavefronts, 8 * 4 * 2)}


def test_stmatrix_has_no_conflict_and_nothing_is_advised():
    rows = [part for row in found("gemm_sm90").rows for part in row.parts if part.instruction == "stmatrix.x4"]
    assert len(rows) == 8
    assert all(part.cost == part.least == 32 for part in rows)
    assert advise(found("gemm_sm90")) == ()


def test_the_transpose_of_the_tma_tutorial_is_advised_a_swizzle():
    """64 lanes read rows of one bank group; advised is none where the TMA reads the memory too."""
    rows = {part.instruction: part for row in found("tma_transpose_sm100").rows for part in row.parts}
    assert rows["ld.shared"].cost == 4 * rows["ld.shared"].least
    assert advise(found("tma_transpose_sm100")) == ()


def test_products_and_their_operands():
    assert next((d.shape, d.times, *d.operands) for d in dots(found("gemm_cluster_sm90"))) == (
        *((128, 256, 16), 4), *("shared memory, 128-byte swizzle",) * 2)  # fmt: skip
    assert [d.shape for d in dots(found("gemm_sm100"))] == [(128, 128, 8)]
    assert [d.operands for d in dots(found("gemm_sm80"))] == [("registers", "registers")]


@pytest.mark.parametrize(
    ("was", "now", "kind", "what"),
    [
        (
            "S<3,4,3> o 0 o ((8,16),(64,1))",
            "S<2,4,3> o 0 o ((8,16),(64,1))",
            "copy",
            "rows of 128 bytes under the swizzle of 64B",
        ),
        (
            "S<3,4,3> o 0 o ((8,16),(64,1))",
            "S<3,5,3> o 0 o ((8,16),(64,1))",
            "copy",
            "the swizzle Sw<3,4,3> of elements of 16 bits",
        ),
        (
            'gmem, align<16>, "(512,512,1):(512,1',
            'gmem, align<16>, "(512,512,1):(515,1',
            "copy",
            "a stride of 1030 bytes",
        ),
        (
            'S<3,4,3>, "((64,16),2,4',
            'S<3,3,3>, "((64,16),2,4',
            "dot",
            "operand a is none that wgmma reads: the swizzle Sw<3,2,3>",
        ),
        (
            "((64,16),2,4,(1,7)):((64,1)",
            "((64,16),2,4,(1,7)):((72,1)",
            "dot",
            "rows 0 and 1 of mode 0 are 144 bytes apart",
        ),
    ],
)
def test_what_the_hardware_does_not_take_is_said(was, now, kind, what):
    text = KERNELS["gemm_sm90"]["ir"].replace("generic", "gmem")
    text = re.sub(
        r'(f16, gmem, align<16>, ")\(\?,\?,\?\):\(\?\{i64\},1,\?\{i64\}\)', r"\1(512,512,1):(512,1,262144)", text
    )
    assert was in text
    assert faults(found("gemm_sm90", text)) == ()
    wrong = faults(found("gemm_sm90", text.replace(was, now)))
    assert wrong
    assert {(fault.kind, what in fault.what) for fault in wrong} == {(kind, True)}


def test_ir_cut_off_or_changed_is_read_or_refused():
    choose = random.Random(36)
    texts = [KERNELS[name]["ir"] for name in ("gemm_nvfp4_sm100", "tma_transpose_sm100", "gemm_sm90")]
    for _ in range(amount(12, 1500)):
        changed = [*choose.choice(texts)]
        for _ in range(choose.randrange(1, 30)):
            changed[choose.randrange(len(changed))] = choose.choice('%#!<>(){}[]:=,-> 0x9?\n"at')
        try:
            program = costs(program_of("".join(changed)), target="cuda:100")
            program.totals(), dots(program), faults(program)
        except TlaError:
            continue
