"""Conversions as Gluon's text, compiled by Triton 3.9: its PTX is executed and its accesses counted, its machine code's
instructions too."""

import random
import re
from collections import Counter

import numpy as np
import pytest

from tla import TlaError
from tla.access import convert
from tla.linear import LinearLayout, triton

import gluon_compiled
import ptx
from conversions import USUAL, held, pair, registers, threads, usual
from night import amount

#: More words than this in a thread take long to compile.
MOST_WORDS = 32


def require_true(plan, arch, folder):
    """The compiled text has the plan's instructions; of PTX also the wavefronts, and every element comes
    to its place."""
    text = gluon_compiled.compiled(plan, arch, folder)
    accesses, shuffles = gluon_compiled.counted(text, arch)
    equal = (accesses, shuffles) == (plan.instructions - plan.shuffles, plan.shuffles)
    if arch.startswith("gfx"):  # LLVM does not see the alignment of all vectors, and takes shorter ones for these
        moved = sum(len({*held(x)[0, 0]}) for x in (plan.src, plan.dst)) * plan.element_bits if plan.bytes else 0
        assert shuffles == plan.shuffles, plan
        assert gluon_compiled.moved_bits(text) == moved, plan
    else:
        assert equal, plan
        size = (1 << plan.src.get_total_out_dim_size_log2()) * plan.element_bits // 8
        given = np.random.default_rng(1).integers(0, 256, size).astype(np.uint8)
        block = ptx.Block(threads(plan), given, size)
        assert block.run(text).tobytes() == given.tobytes(), plan
        assert block.wavefronts == plan.wavefronts, plan
    return equal


def plans(rng, count, machine, wave):
    """Conversions that have a text of Gluon; of those refused as many again at most."""
    found = refused = 0
    while found < count:
        src, dst = usual(rng, wave) if rng.random() < 0.8 else pair(rng, rng.random() < 0.4, wave.bit_length() - 1)
        width = rng.choice([8, 16, 32, 64])
        if src.get_in_dim_size("lane") != wave or max(map(registers, (src, dst))) * max(32, width) > 32 * MOST_WORDS:
            continue
        plan = convert(src, dst, width, machine, rng.choice([None, None, "memory"]))
        try:
            plan.gluon()
        except TlaError as error:
            refused += 1
            assert re.search(
                "between registers and lanes|several bits|sums of bits|registers to|apart|matrix instructions|in another order",
                str(error),
            )
            continue
        found += 1
        yield plan
    assert refused <= found + 8


@pytest.mark.parametrize(
    ("arch", "by_day"), [("sm_80", 1), ("sm_90", 2), ("gfx942", 1), ("gfx1100", 0), ("gfx1200", 1)]
)
def test_tritons_code_is_the_plan(tmp_path, arch, by_day):
    gluon_compiled.require()
    kinds, equal = Counter(), 0
    for plan in plans(
        random.Random(int(arch[-2:], 16)), amount(by_day, 100), arch, 64 if arch.startswith("gfx9") else 32
    ):
        equal += require_true(plan, arch, tmp_path)
        kinds[plan.kind] += 1
    assert sum(kinds.values()) < 50 or (len(kinds) == 3 and equal >= 90)


@pytest.mark.parametrize(("arch", "version", "width"), [("gfx1100", 1, 16), ("gfx1200", 2, 8)])
def test_wmma_of_waves_of_32_lanes(tmp_path, arch, version, width):
    """The accumulator stored in rows, and what is loaded in rows or columns as operands: as many
    instructions as planned."""
    gluon_compiled.require()
    wmma = triton.AMDWMMALayout(version, True, [[0, 1], [1, 0]])
    rows, columns = (
        triton.BlockedLayout(*x) for x in (([1, 8], [4, 8], [4, 1], [1, 0]), ([8, 1], [8, 4], [1, 4], [0, 1]))
    )
    a, b = (triton.DotOperandLayout(k, wmma, width) for k in range(2))
    for src, dst in [(wmma, rows), (rows, a), (wmma, a), (columns, b)][: amount(1, 4)]:
        for bits_ in (16, 32)[: amount(1, 2)]:
            assert require_true(convert(src.linear([64, 64]), dst.linear([64, 64]), bits_, arch), arch, tmp_path)


def test_an_epilogue_by_matrices(tmp_path):
    plan = convert(*(USUAL[name].linear([64, 64]) for name in ("mma, 2 by 2", "columns of 8")), 16, "sm_90")
    assert [step.matrices.name for step in plan.steps if step.matrices] == ["matrix.x4.trans"]
    require_true(plan, "sm_90", tmp_path)


def test_layouts_that_triton_has_no_name_for(tmp_path):
    """Lanes and warps that change several bits, and registers that hold what others do: stored with a value, Triton
    refused them."""
    lanes = [(4,), (24,), (16,), (32,), (64,)]
    src = LinearLayout({"register": [(1,), (2,), (0,)], "lane": lanes, "warp": [(132,)]}, {"dim0": 256})
    dst = LinearLayout(
        {"register": [(64,), (128,)], "lane": [(1,), (2,), (4,), (8,), (24,)], "warp": [(33,)]}, {"dim0": 256}
    )
    require_true(convert(src, dst, 16, "sm_90"), "sm_90", tmp_path)


def test_bits_that_change_the_same(tmp_path):
    """Bits of registers, lanes or warps that change what others together change: Triton goes through memory where a
    plan shuffles, or aborts; what has a text is the plan."""
    gluon_compiled.require()
    bases = [(1,), (2,), (4,), (8,), (16,)]

    def layout(register, lane, warp=()):
        parts = {"register": register, "lane": lane, "warp": [*warp]}
        return LinearLayout({name: [(c,) for c in of] for name, of in parts.items()}, {"dim0": 64})

    turned, lanes = [2, 1, 4, 8, 16], [c for (c,) in bases]
    for given, wanted, through in (
        (layout([32], [1, 2, 4, 8, 8], [16]), layout([32], [2, 1, 4, 8, 8], [16]), "shuffle"),
        (layout([32], lanes, [16]), layout([32], turned, [16]), "shuffle"),
        (layout([32, 32], lanes), layout([32, 32], turned), "memory"),
        (layout([32, 1], lanes), layout([1, 32], lanes), None),
        (layout([32], [1, 2, 4, 8, 24], [16]), layout([32], [2, 1, 4, 8, 24], [16]), "shuffle"),
        (layout([32], [1, 2, 4, 8, 24], [16]), layout([32], [1, 2, 4, 8, 24], [16]), None),
        (layout([1, 32], [3, 2, 4, 8, 16]), layout([32, 1], [3, 2, 4, 8, 16]), None),
    ):
        with pytest.raises(TlaError, match=r"several bits of registers, lanes or warps that go on by \("):
            convert(given, wanted, 32, "sm_80", through).gluon()
    for given, wanted, through in (
        (layout([32], [1, 2, 4, 8, 8], [16]), layout([32], [2, 1, 4, 16, 16], [8]), "memory"),
        (layout([32, 0], [1, 2, 4, 8, 0], [16]), layout([0, 32], [2, 1, 4, 8, 0], [16]), "shuffle"),
        (layout([32, 16], [1, 2, 4, 8, 12]), layout([16, 32], [1, 2, 4, 8, 12]), None),  # lanes among themselves
    )[: amount(1, 2)]:
        require_true(convert(given, wanted, 32, "sm_80", through), "sm_80", tmp_path)


def test_what_triton_would_do_otherwise():
    """Refused with what to do; what is done then has a text."""
    blocked = triton.BlockedLayout
    whole = {"lane": [(1 << k,) for k in range(2, 7)], "warp": []}
    swizzled = LinearLayout({"register": [(3,), (2,)], **whole}, {"dim0": 128})
    rows, columns = (
        blocked([1, 8], [8, 4], [1, 1], [1, 0]).linear([8, 32]),
        blocked([8, 1], [1, 32], [1, 1], [0, 1]).linear([8, 32]),
    )
    with pytest.raises(TlaError, match=r"registers \(3\) apart, on which Triton aborts"):
        convert(swizzled, swizzled, 32).gluon()
    rows_first = triton.BlockedLayout([1, 1], [4, 8], [1, 1], [1, 0]).linear([4, 8])
    crossed = LinearLayout({**rows_first.bases, "lane": [(1, 1), *rows_first.bases["lane"][1:]]}, rows_first.out_dims)
    with pytest.raises(TlaError, match=r"lanes \(1, 1\) apart, on which Triton aborts"):
        convert(crossed, rows_first, 32).gluon()
    exchanged = convert(rows, columns, 32, "sm_90", "shuffle")
    with pytest.raises(TlaError, match=r"exchange 3 bits between registers and lanes(.|\n)*through=\"memory\""):
        exchanged.gluon()
    assert "smem.load" in convert(rows, columns, 32, "sm_90", "memory").gluon()
    less = (
        LinearLayout({"register": [(32,)], "lane": [(1,), (2,), (4,), (8,), (16,)]}, {"dim0": 64}),
        LinearLayout({"register": [], "lane": [(2,), (1,), (4,), (8,), (16,)]}, {"dim0": 64}),
    )
    narrow = LinearLayout({"register": [(16,)], "lane": [(1,), (2,), (4,), (8,)]}, {"dim0": 32})
    with pytest.raises(TlaError, match=r"warps of 16 lanes(.|\n)*32, or 64 on CDNA(.|\n)*resize_in_dim\('lane', 32\)"):
        convert(narrow, narrow, 32).gluon()
    assert "convert_layout" in convert(*[narrow.resize_in_dim("lane", 32)] * 2, 32).gluon()
    with pytest.raises(TlaError, match=r"shuffles of 2 registers to 1: Triton shuffles all"):
        convert(*less, 32, through="shuffle").gluon()
    sums = (
        LinearLayout({"lane": [(c,) for c in (*lanes, 16)], "register": []}, {"dim0": 32})
        for lanes in ((1, 2, 4, 8), (2, 4, 1, 10))
    )
    with pytest.raises(TlaError, match=r"sums of bits of the lane: Triton goes through memory"):
        convert(*sums, 32).gluon()
    turned = LinearLayout({**whole, "register": [(1,), (2,)], "lane": [(5,), *whole["lane"][1:]]}, {"dim0": 128})
    with pytest.raises(TlaError, match=r"vectors of 4 elements in another order in other lanes"):
        convert(turned, LinearLayout({**whole, "register": [(1,), (2,)]}, {"dim0": 128}), 32, through="memory").gluon()
    sides = [USUAL[name].linear([64, 64]) for name in ("mma, 4 by 1", "operand B")]
    with pytest.raises(TlaError, match=r"bytes that matrix instructions transpose(.|\n)*NVIDIA_SHARED"):
        convert(*sides, 8, "sm_90").gluon()
    assert "smem.load" in convert(*sides, 8, "NVIDIA_SHARED").gluon()
