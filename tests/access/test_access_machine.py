"""Conversions as machine code: NVRTC compiles them, their PTX is executed and its accesses counted, the machine code's
instructions too."""

import itertools
import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from tla import TlaError, parse
from tla.access import Load, Store, access, convert
from tla.access.rounds import within_warps
from tla.linear import LinearLayout, bits, triton

import hip
import nvrtc
import ptx
from conversions import USUAL, held, kernel, moved_plan, pair, registers, threads, usual
from night import amount, some

#: More words than this in a thread leave too few of its 255 registers.
MOST_WORDS = 64


def values(layout, count, element_bits):
    """An array [register, thread] of bytes that differ between elements."""
    index = held(layout).reshape(count, -1).T.astype(np.uint64)
    parts = [
        (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(7 + k)
        for k in range(-(-element_bits // 64))
    ]
    return np.stack([p.astype(f"u{min(8, element_bits // 8)}") for p in parts], -1)


def require_true(plan, folder, arch="sm_90"):
    """The compiled code does what the definition says, with the instructions and the wavefronts that
    the plan states."""
    text, cubin = nvrtc.compiled(kernel(plan, plan.cuda("f")), arch)
    wanted = values(plan.dst, threads(plan), plan.element_bits)
    block = ptx.Block(threads(plan), values(plan.src, threads(plan), plan.element_bits), wanted.nbytes)
    assert block.run(text).tobytes() == wanted.tobytes(), plan
    if plan.src.get_in_dim_size("lane") == ptx.WARP:  # smaller warps of a layout are several in one of the machine
        assert block.wavefronts == plan.wavefronts, plan
    found = nvrtc.opcodes(cubin, folder)
    counts = {name: sum(n for op, n in found.items() if op.split(".")[0] in ops) for name, ops in COUNTED.items()}
    stored, loaded = (matrix_instructions(plan, kind) for kind in (Store, Load))
    vectors = plan.instructions - plan.shuffles - stored - loaded
    wanted = {"shuffles": plan.shuffles, "vectors": vectors, "stmatrix": stored, "ldmatrix": loaded, "local": 0}
    assert counts == wanted, (counts, plan)


COUNTED = {
    "shuffles": ["SHFL"],
    "vectors": ["LDS", "STS"],
    "stmatrix": ["STSM"],
    "ldmatrix": ["LDSM"],
    "local": ["LDL", "STL"],
}


def matrix_instructions(plan, kind):
    """The matrix instructions of a plan's stores or loads: each lane's elements, in the words of all
    matrices of one."""
    layout = plan.src if kind is Store else plan.dst
    elements = held(layout)[0, 0]
    steps = [step for step in plan.steps if isinstance(step, kind) and step.matrices]
    each = [len({*elements[[*(step.registers or range(len(elements)))]]}) for step in steps]
    return sum(n >> len(step.matrices.word) + len(step.matrices.together) for n, step in zip(each, steps))


def small(plan):
    return max(registers(plan.src), registers(plan.dst)) * max(32, plan.element_bits) <= 32 * MOST_WORDS


def way(rng, src, dst, width):
    """Nothing asked, or shuffles where they are possible, or a buffer of half the tile."""
    chosen = rng.randrange(4)
    if chosen == 0 and within_warps(src, dst, width):
        return {"through": "shuffle"}
    if chosen == 1:
        return {"through": "memory"}
    half = src.get_total_out_dim_size_log2() - 1
    return {"through": "memory", "scratch_bytes": width // 8 << half} if chosen == 2 and parts_of(src, dst) > 2 else {}


def parts_of(src, dst):
    """The number of parts that a tile may go in: what lanes and warps hold is in one."""
    lanes = bits.rank(x.pack(v) for x in (src, dst) for name in ("lane", "warp") for v in x.bases[name])
    return 1 << src.get_total_out_dim_size_log2() - lanes


def plans(rng, count, machine="sm_90", wave=32):
    kinds = {"registers": 0, "shuffles": 0, "shared memory": 0}
    while sum(kinds.values()) < count:
        src, dst = usual(rng, wave) if rng.random() < 0.7 else pair(rng, rng.random() < 0.4, 5 if wave == 32 else 6)
        width = rng.choice([8, 16, 32, 64])
        plan = convert(src, dst, width, machine, **way(rng, src, dst, width))
        if small(plan) and kinds[plan.kind] <= count // 2:
            kinds[plan.kind] += 1
            yield plan


def test_the_machine_code_is_the_plan(tmp_path):
    for plan in plans(random.Random(41), amount(8, 500)):
        require_true(plan, tmp_path)


def test_an_epilogue_takes_what_it_states(tmp_path):
    """An accumulator of 128 by 64 halves to rows of 16 bytes: it took 2,048 wavefronts for 256."""
    acc = triton.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]).linear([128, 64])
    plan = convert(acc, triton.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]).linear([128, 64]), 16)
    assert (plan.wavefronts, plan.instructions) == (256, 16)
    require_true(plan, tmp_path)


@pytest.mark.parametrize("width", [8, 32])
def test_warps_that_hold_all(tmp_path, width):
    """Registers and lanes that the warp's number chooses; what two lanes want of one goes to both, and each
    keeps its own."""
    whole = triton.BlockedLayout([1, 8], [32, 1], [1, 2], [1, 0]).linear([64, 8])
    for held_, lanes, warps in (([1, 8], [32, 1], [2, 1]), ([1, 2], [16, 2], [2, 1])):
        plan = convert(
            whole, triton.BlockedLayout(held_, lanes, warps, [1, 0]).linear([64, 8]), width, "sm_90", "shuffle"
        )
        assert plan.steps[0].warps == 2
        require_true(plan, tmp_path)


#: Conversions of a tile of 64 by 64, by the names of tests/access/test_access_triton.py, and what stores and loads in
#: rounds of half of it.
BY_MATRICES = [
    ("rows of 8", "columns of 8", 16, "sm_80", ["-", "matrix.x4.trans"]),
    ("mma, 2 by 2", "rows of 8", 16, "sm_90", ["matrix.x4", "-"]),
    ("mma, 4 by 1", "operand B", 8, "sm_90", ["matrix.x4", "matrix.x4.trans"]),  # pairs of bytes are transposed
    ("columns of 8", "rows of 1", 16, "sm_90", ["matrix.x4.trans", "matrix.x4"]),
    ("columns of 8", "rows of 4", 32, "sm_90", ["matrix.x4", "-"]),
]


@pytest.mark.parametrize(("a", "b", "width", "arch", "forms"), BY_MATRICES)
def test_matrix_instructions(tmp_path, a, b, width, arch, forms):
    plan = convert(USUAL[a].linear([64, 64]), USUAL[b].linear([64, 64]), width, arch)
    assert [step.matrices.name if step.matrices else "-" for step in plan.steps] == forms
    require_true(plan, tmp_path, arch)
    vectors = convert(
        plan.src, plan.dst, width, through="memory"
    )  # of a memory alone, which says nothing of instructions
    assert not any(step.matrices for step in vectors.steps)
    assert (plan.wavefronts, plan.instructions) < (vectors.wavefronts, vectors.instructions)
    with pytest.raises(TlaError, match="a plan of vectors"):
        plan.hip()


def test_all_matrix_instructions(tmp_path):
    """All pairs of the usual layouts, whole and in rounds, executed; one in so many compiled."""
    rng, found, compiled = random.Random(44), Counter(), amount(60, 2)
    for a, b in some(itertools.permutations(USUAL.values(), 2), 36):
        for width, arch, parts in itertools.product((8, 16, 32), ("sm_80", "sm_90"), (1, 2)):
            src, dst = a.linear([64, 64]), b.linear([64, 64])
            if parts_of(src, dst) < parts:
                continue
            plan = convert(src, dst, width, arch, "memory", 64 * 64 * width // 8 // parts)
            assert np.array_equal(plan.run(held(plan.src)), held(plan.dst))
            forms = [step.matrices.name if step.matrices else "-" for step in plan.steps[:2]]
            found.update([(width, parts, *forms)])
            if {*forms} != {"-"} and rng.randrange(compiled) == 0:
                require_true(plan, tmp_path, arch)
    names = {form for key in found for form in key[2:]}
    assert {"matrix.x4", "matrix.x4.trans"} < names, found


@pytest.mark.parametrize(
    ("layout", "vector", "element_bits"),
    [
        ("Sw<2,0,4> o 0 o (_32,_16):(_16,_1)", 4, 16),  # lanes have the values of a vector in other orders
        ("Sw<3,0,4> o 0 o (_32,_16):(_16,_1)", 8, 8),
        ("Sw<1,0,4> o 0 o (_32,_16):(_16,_1)", 2, 64),
        ("(_32,_16):(_20,_1)", 4, 32),  # padding: a sum of what thread and register say
        ("(_32,_16):(_17,_1)", 1, 16),
    ],
)
def test_memory_as_it_is_given(tmp_path, layout, vector, element_bits):
    last, warp = (
        ((0, 4), (16, 0)) if vector == 8 else ((16, 0), (0, 4))
    )  # vectors that lie together are joined by the compiler
    owners = LinearLayout(
        {"register": [(0, 1), (0, 2), last], "lane": [(1, 0), (2, 0), (4, 0), (8, 0), (0, 8)], "warp": [warp]},
        {"dim0": 32, "dim1": 16},
    )
    memory = parse(layout)
    found = access(owners, memory, element_bits, vector * element_bits)
    plan = convert(owners, owners, element_bits)
    steps = Store(memory, vector), Load(memory, vector)
    size = 32 * 20 * element_bits // 8
    counts = {"wavefronts": 2 * found.total, "instructions": found.instructions}  # of two warps, to and fro
    require_true(replace(plan, kind="shared memory", steps=steps, bytes=size, shuffles=0, **counts), tmp_path)


def test_wide_values(tmp_path):
    src, dst = pair(random.Random(5), spread=False)
    plan = convert(src, dst, 128)
    assert plan.shuffles % 4 == 0
    require_true(plan, tmp_path)


@pytest.mark.parametrize(("arch", "wave"), [("gfx942", 64), ("gfx950", 64), ("gfx1100", 32), ("gfx1200", 32)])
def test_hip_has_the_instructions_that_are_planned(tmp_path, arch, wave):
    """An instruction with two offsets (ds_read2_b64, ds_load_2addr_b32) is two accesses; it has no wavefronts
    of its own."""
    rng = random.Random(43)
    for plan in [*plans(rng, amount(2, 125), arch, wave), *(moved_plan(rng, arch, wave) for _ in range(amount(3, 60)))]:
        found = hip.opcodes(kernel(plan, plan.hip("f")), arch, tmp_path)
        lds = {op: n for op, n in found.items() if op.startswith("ds_")}
        moves = sum(n for op, n in found.items() if op.endswith("_dpp") or op.startswith("v_permlane"))
        assert moves == plan.lane_moves, (found, plan)
        shuffles = lds.pop("ds_bpermute_b32", 0) + moves
        accesses = sum(n * (2 if re.search("read2|write2|2addr", op) else 1) for op, n in lds.items())
        assert (shuffles, accesses) == (plan.shuffles, plan.instructions - plan.shuffles), (lds, plan)
        assert not any(op.startswith("scratch_") for op in found), plan
