"""Accesses by brute force: lanes, words and banks counted in plain Python, from the definition."""

import dataclasses
import functools
import json
import random
import re
from fractions import Fraction

import numpy as np
import pytest

import tla
from tla import ComposedLayout, MakeLayout, Swizzle, TlaError, parse
from tla.access import (
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX950_READ,
    ASCEND_UB,
    NVIDIA_GLOBAL,
    NVIDIA_SHARED,
    Memory,
    access,
    bank_conflicts,
    best_swizzle,
    convert,
)
from tla.access.counting import _instructions
from tla.access.memories import MEMORIES
from tla.linear import LinearLayout, triton

from gluon_layouts import made
from night import NIGHT, amount
from places import DATA

ROWS = json.loads((DATA / "linear" / "bank_conflicts.json").read_text())


def simulated(addresses, width, lanes_together, banks):
    """Wavefronts and the most words of one bank: addresses [bits] of each lane, in groups of so many neighbours."""
    wavefronts = degree = 0
    for start in range(0, len(addresses), lanes_together):
        words = {a // 32 + k for a in addresses[start : start + lanes_together] for k in range(max(1, width // 32))}
        most = max(sum(w % banks == b for w in words) for b in range(banks))
        wavefronts, degree = wavefronts + most, max(degree, most)
    return wavefronts, degree


def test_random_accesses():
    """Lanes at random places of a random layout, each with one vector."""
    rng = random.Random(11)
    for _ in range(amount(300, 5000)):
        bits = rng.choice([8, 16, 32, 64])
        count = rng.choice([n for n in (1, 2, 4, 8, 16) if bits * n in (8, 16, 32, 64, 128)])
        step = rng.choice([1, 2, 3, 4, 5, 8, 16, 32, 33, 64]) * count
        rows = rng.choice([4, 8, 16, 32])
        owners = MakeLayout(((rows, 32 // rows), count), ((step, rng.choice([0, 1, 2, 7, 64]) * count), 1))
        memory = ComposedLayout(Swizzle[rng.choice([0, 1, 2, 3]), 4, 3](), 0, MakeLayout((1 << 17,), (1,)))
        addresses = [memory(owners(lane, 0)) * bits for lane in range(32)]
        wavefronts, degree = simulated(addresses, bits * count, min(32, 1024 // (bits * count)), 32)
        found = access(owners, memory, bits, bits * count)
        assert (found.wavefronts, found.degree) == (wavefronts, degree)
        if degree > 1:
            clash = found.witness
            assert len(clash.lanes) == degree
            words = {addresses[lane] // 32 + k for lane in clash.lanes for k in range(max(1, bits * count // 32))}
            assert sum(w % 32 == clash.bank for w in words) >= degree
            assert [addresses[lane] // 8 for lane in clash.lanes] == [*clash.addresses]
        else:
            assert found.witness is None


def test_a_padded_layout_and_several_instructions():
    rng = random.Random(12)
    for _ in range(60):
        pad = rng.choice([0, 1, 2, 4, 8])
        memory = MakeLayout((32, 64), (64 + pad, 1))
        owners = MakeLayout((32, 4), (rng.choice([1, 32, 33]), rng.choice([1, 32])))
        found = access(owners, memory, 32, 32)
        each = [simulated([memory(owners(lane, v)) * 32 for lane in range(32)], 32, 32, 32) for v in range(4)]
        assert found.wavefronts == max(w for w, _ in each)
        assert found.total == sum(w for w, _ in each)
        assert found.instructions == 4


def span(bases, width):
    """What all sums of some vectors are, packed into one number: an index to the vector of its bits' xor."""
    packed = [sum(x << width * k for k, x in enumerate(v)) for v in bases]
    return functools.reduce(lambda out, v: np.concatenate([out, out ^ v]), packed, np.zeros(1, np.int64))


def counted(row, vector, aligned=True):
    """Wavefronts of an instruction over the fewest, less one, from the bases alone: of vectors of so many
    bits, the worst of all.

    The registers of an instruction are those that in lane 0 lie in one vector: in every lane they then fill one vector.
    That is where it begins; unaligned, at the first register, wherever in it that is, of the first instruction.
    """
    width, bits = max(row["shape"]).bit_length(), row["bitwidth"]
    owners, shared = (made(row[name]).linear(row["shape"]).bases for name in ("reg", "shared"))
    elements = span(shared["offset"], width)
    offset = np.zeros(elements.max() + 1, np.int64)
    offset[elements[::-1]] = np.arange(len(elements))[::-1]
    at = offset[span(owners["lane"], width)[:, None] ^ span(owners["register"], width)]
    count = vector // bits
    firsts = np.unique(at[0], return_index=True)[1]
    together = at[:, firsts].reshape(len(at), -1, count)
    assert (np.sort(together % count) == np.arange(count)).all()
    assert (together // count == together[..., :1] // count).all()
    begin = together[..., :1] // count * vector if aligned else together[:, :1, :1] * bits
    words = begin // 32 + np.arange(max(1, vector // 32) + (not aligned))
    words = np.minimum(words, (begin + vector - 1) // 32)
    groups = max(1, len(at) // min(32, 1024 // vector))
    words = np.sort(words.transpose(1, 0, 2).reshape(words.shape[1], groups, -1))
    new = np.diff(words, prepend=-1) > 0
    most = np.max([(new & (words % 32 == bank)).sum(2) for bank in range(32)], axis=0)
    return max(Fraction(int(n), groups) for n in most.sum(1)) - 1 if aligned else most.max() - 1


#: Rows where we are not the number of truth: it was counted of vectors that begin at the first register's offset, which
#: swizzles put anywhere in an aligned vector. One has no count, only Triton's number, which is of ranks.
UNALIGNED, OF_RANKS = {36, 39, 321, 325, 423, 502, 680, 683, 713, 744, 830, 1125, 1334, 1406}, {56}


#: The banks of NVIDIA's shared memory for Triton's waves of 64, as its rows of these count.
WAVES = dataclasses.replace(
    NVIDIA_SHARED,
    name="waves of 64 on 32 banks",
    lanes=64,
    phases={
        width: (32, tuple(tuple(g) for g in np.arange(64).reshape(-1, len(groups[0])).tolist()))
        for width, (_, groups) in NVIDIA_SHARED.phases.items()
    },
)


def test_bank_conflicts_are_counted():
    """As counted from the bases; as in the row, by Triton or counted there, but for those whose vectors the
    row does not align."""
    for i in range(len(ROWS)) if NIGHT else [*sorted(UNALIGNED)[::3], *OF_RANKS, *range(0, len(ROWS), 60)]:
        row = ROWS[i]
        owners = made(row["reg"]).linear(row["shape"])
        memory = WAVES if owners.get_in_dim_size("lane") == 64 else NVIDIA_SHARED
        found = access(owners, made(row["shared"]).linear(row["shape"]), row["bitwidth"], memory=memory)
        conflicts, theirs = Fraction(found.wavefronts, found.least) - 1, row.get("counted", row["result"])
        assert conflicts == counted(row, found.vector)
        assert (conflicts != theirs) == (i in UNALIGNED | OF_RANKS)
        assert i not in UNALIGNED or theirs == counted(row, found.vector, aligned=False)


def test_operand_loads_of_sm80():
    """The tutorials' A tile of 64 halves a row: conflict free with Swizzle<3,3,3>, 8-way without."""
    owners = MakeLayout(((16, 2), 8), ((1, 128), 16))
    plain = MakeLayout((16, 64), (64, 1))
    assert access(owners, plain, 16).degree == 8
    swizzled = ComposedLayout(Swizzle[3, 3, 3](), 0, plain)
    assert access(owners, swizzled, 16).degree == 1
    assert access(owners, plain, 16).vector == 128


@pytest.mark.parametrize(("width", "swizzle"), [(16, (1, 3, 3)), (32, (2, 3, 3)), (64, (3, 3, 3))])
def test_operand_loads_of_sm90(width, swizzle):
    """8 rows of a core matrix of SW32, SW64, SW128: conflict free as CUTLASS says, and not without."""
    owners = MakeLayout((8, 8), (1, 8))
    plain = MakeLayout((8, width), (width, 1))
    assert access(owners, plain, 16).degree == width // 8
    assert access(owners, ComposedLayout(Swizzle[swizzle](), 0, plain), 16).degree == 1


def test_global_sectors():
    found = access(parse("(32,1):(1,0)"), parse("64:1"), 32, memory=NVIDIA_GLOBAL)
    assert (found.wavefronts, found.least, found.lines, found.used, found.moved) == (4, 4, 1, 128, 128)
    strided = access(parse("(32,1):(1,0)"), parse("32:8"), 32, memory=NVIDIA_GLOBAL)
    assert (strided.wavefronts, strided.least, strided.lines, strided.used, strided.moved) == (32, 4, 8, 128, 1024)
    shifted = access(parse("(32,1):(1,0)"), parse("(_64):(_1) o 1 o 32:1"), 32, 32, "NVIDIA_GLOBAL")
    assert (shifted.wavefronts, shifted.lines) == (5, 2)


def test_other_memories():
    """Ascend's documented cases: blocks 16 apart all collide, 8 apart in fours."""
    assert access(parse("(8,8):(128,1)"), parse("1024:1"), 32, memory=ASCEND_UB).degree == 8
    assert access(parse("(8,8):(64,1)"), parse("1024:1"), 32, memory=ASCEND_UB).degree == 4
    assert access(parse("(8,8):(8,1)"), parse("1024:1"), 32, memory=ASCEND_UB).degree == 1
    lanes = parse("(64,4):(4,1)")
    assert access(lanes, parse("256:1"), 32, memory=AMD_LDS_GFX950_READ).degree == 1
    assert access(lanes, parse("256:1"), 32, memory=AMD_LDS_GFX942_READ).wavefronts == 8
    for memory in MEMORIES.values():
        assert memory.source
        for _banks, groups in memory.phases.values():
            assert sorted(lane for group in groups for lane in group) == [*range(memory.lanes)]


#: The phases of an instruction as the measurements print them: lanes from and to, of waves of 64 and of 32.
PHASES = {
    ("AMD_LDS_GFX942_READ", 32): "0-31|32-63",
    ("AMD_LDS_GFX942_READ", 64): "0-15|16-31|32-47|48-63",
    (
        "AMD_LDS_GFX942_READ",
        128,
    ): "0-3,20-23|32-35,52-55|4-7,16-19|36-39,48-51|8-11,28-31|40-43,60-63|12-15,24-27|44-47,56-59",
    ("AMD_LDS_GFX942_WRITE", 128): "0-7|8-15|16-23|24-31|32-39|40-47|48-55|56-63",
    ("AMD_LDS_GFX950_READ", 32): "0-63",
    ("AMD_LDS_GFX950_READ", 64): "0-31|32-63",
    (
        "AMD_LDS_GFX950_READ",
        128,
    ): "0-3,12-15,20-23,24-27|32-35,44-47,52-55,56-59|4-7,8-11,16-19,28-31|36-39,40-43,48-51,60-63",
    ("AMD_LDS_GFX11_READ", 64): "0-15|16-31",
    ("AMD_LDS_GFX11_READ", 128): "0-3,20-23|4-7,16-19|8-11,28-31|12-15,24-27",
    ("AMD_LDS_GFX12_READ", 128): "0-7|8-15|16-23|24-31",
    ("NVIDIA_SHARED", 32): "0-31",
    ("NVIDIA_SHARED", 64): "0-15|16-31",
    ("NVIDIA_SHARED", 128): "0-7|8-15|16-23|24-31",
}


@pytest.mark.parametrize(("name", "width"), PHASES)
def test_phases_as_measured(name, width):
    def lanes(phase):
        return frozenset(
            k for part in phase.split(",") for a, b in [map(int, part.split("-"))] for k in range(a, b + 1)
        )

    memory = MEMORIES[name]
    banks, groups = memory.phases[width]
    assert {*map(frozenset, groups)} == {*map(lanes, PHASES[name, width].split("|"))}
    assert banks == (64 if name == "AMD_LDS_GFX950_READ" else 32)
    assert memory.convention
    one = access(
        LinearLayout({"lane": [(1 << k,) for k in range(memory.lanes.bit_length() - 1)]}, {"dim0": memory.lanes}),
        parse(f"{memory.lanes}:1"),
        width,
        width,
        memory,
    )
    assert one.wavefronts == len(groups)
    assert "a convention, not a specification" in str(one)


def test_what_several_lanes_hold_is_one_word():
    broadcast = LinearLayout({"register": [], "lane": [(0,)] * 5}, {"dim0": 1})
    found = access(broadcast, parse("1:1"), 32)
    assert (found.wavefronts, found.degree, found.used) == (1, 1, 4)


def test_owners_of_coordinates():
    """Lane i holds row i, value by value: by coordinates, and by the index in the tile."""
    memory = parse("(32,8):(9,1)")
    found = access(parse("(32,8):(1@0,1@1)"), memory, 32)
    assert found.counts == access(parse("(32,8):(1,32)"), memory, 32).counts
    assert (found.vector, found.wavefronts) == (32, simulated([9 * 32 * lane for lane in range(32)], 32, 32, 32)[0])


def test_triton_layouts_in_shared_memory():
    blocked = triton.BlockedLayout([1, 8], [8, 4], [1, 1], [1, 0]).linear([16, 32])
    assert bank_conflicts(blocked, triton.SwizzledSharedLayout(8, 2, 4, [1, 0]).linear([16, 32]), 16) == 0
    padded = triton.PaddedSharedLayout.with_identity_for([[32, 8]], [16, 32], [1, 0])
    assert access(blocked, padded, 16).vector == 128


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: access(parse("(32,2):(2,1)"), parse("64:1"), 32, 128), "lane 0 of warp 0 holds offsets 0, 1"),
        (lambda: access(parse("(32,2):(2,1)"), parse("64:1"), 32, 96), "one of 8, 16, 32, 64, 128 bits"),
        (lambda: access(parse("(32,2):(2,1)"), parse("64:1"), 32, 48), "use 32"),
        (lambda: access(parse("(32,2):(2,1)"), parse("64:1"), 32, memory="H100"), "one of NVIDIA_SHARED"),
        (lambda: access(parse("(32,2):(2,1)"), parse("64:1"), 32, memory=3), "write NVIDIA_SHARED"),
        (lambda: access(parse("(32,2):(2,1)"), parse("32:1"), 32), "a place for each"),
        (lambda: access(parse("(48,2):(2,1)"), parse("96:1"), 32), "a multiple of 32"),
        (lambda: access(parse("32:1"), parse("32:1"), 32), "thread and value"),
        (lambda: access(parse("(32,0):(1,1)"), parse("32:1"), 32), "0 values"),
        (lambda: access(parse("(0,8):(1,1)"), parse("32:1"), 32), "0 values"),
        (lambda: access(parse("(32,1):(1,0)"), parse("(8,4):(1@0,1@1)"), 32), "a layout to offsets"),
        (lambda: access(parse("(32,8):(8,1)"), parse("256:1"), 3), "elements of 3 bits"),
        (lambda: access(parse("(32,1):(1,0)"), parse("32:1"), 0), "1 or more"),
        (lambda: access(parse("(32,1):(1,0)"), parse("32:1"), 256), "cut them into words"),
        (lambda: access(triton.BlockedLayout([1], [32], [1], [0]), parse("32:1"), 32), "linear"),
        (lambda: access(LinearLayout({"row": []}, {"dim0": 1}), parse("32:1"), 32), "register, lane, warp, block"),
        (lambda: access(parse("(32,1):(1,0)"), LinearLayout({"row": []}, {"dim0": 1}), 32), "offset"),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f()


def test_a_memory_of_ones_own():
    mine = Memory("MINE", 4, 2, 32, {32: (2, ((0, 1, 2, 3),))}, True, "measured")
    assert access(parse("(4,1):(1,0)"), parse("4:1"), 32, memory=mine).wavefronts == 2
    assert NVIDIA_SHARED == MEMORIES["NVIDIA_SHARED"]


LANES = [(1,), (2,), (4,), (8,), (16,), (32,), (64,)]
#: Layouts onto 512 elements whose warps have more lanes than NVIDIA's, by whatever order of inputs.
WIDE = [
    {"lane": LANES, "register": [(128,), (256,)]},
    {"register": [(128,), (256,)], "lane": LANES},
    {"register": [(256,)], "lane": LANES, "warp": [(128,)]},
    {"warp": [(256,)], "register": [(128,)], "lane": LANES[:6], "block": [(64,)]},
]


@pytest.mark.parametrize("bases", WIDE, ids=lambda x: " ".join(x))
@pytest.mark.parametrize("call", ["access", "best_swizzle", "convert"])
def test_more_lanes_than_a_warp_has(bases, call):
    """Lanes of several warps in one: refused, with the layout whose thread t holds what thread t held, counted
    as warp by warp."""
    wide = LinearLayout(bases, {"dim0": 512})
    memory, calls = (
        parse("512:1"),
        {"access": lambda x: access(x, memory, 32), "best_swizzle": lambda x: best_swizzle([x], [], 32)},
    )
    calls["convert"] = lambda x: convert(x, x)
    with pytest.raises(
        tla.RangeError, match=f"^{call}: warps of {wide.get_in_dim_size('lane')} lanes in NVIDIA_SHARED"
    ) as refused:
        calls[call](wide)
    split = eval(re.search(r"layout\S.*", refused.value.reason.fix)[0], {"layout": wide})
    assert split.get_in_dim_size("lane") == 32
    if call == "convert" and "block" in bases:
        return  # one block is all that convert takes
    assert calls[call](split)
    threads, values = (
        wide.get_in_dim_size("lane") * (wide.get_in_dim_size("warp") if wide.has_in_dim("warp") else 1),
        range(2),
    )

    def held(x, thread, value):
        lanes = x.get_in_dim_size("lane")
        place = {"lane": thread % lanes, "warp": thread // lanes, "register": value, "block": 0}
        return x.apply({name: place[name] for name in x.get_in_dim_names()})

    assert all(held(wide, t, v) == held(split, t, v) for t in range(threads) for v in values)
    assert access(split, memory, 32).wavefronts == 1  # 32 neighbours


def test_a_warp_of_the_memory_may_have_less():
    for lanes, memory in ((32, "NVIDIA_SHARED"), (16, "NVIDIA_SHARED"), (64, "AMD_LDS_GFX942_READ")):
        assert access(
            LinearLayout({"lane": LANES[: lanes.bit_length() - 1]}, {"dim0": lanes}),
            parse(f"{lanes}:1"),
            32,
            memory=memory,
        )


def test_lanes_whose_vectors_come_in_other_orders():
    """Two lanes, of which one repeats its vector: the k-th instruction has each lane's k-th vector, or its last."""
    assert _instructions([[0, 0, 16, 16], [32, 48, 32, 64]]) == [(0, [0, 32]), (1, [16, 48]), (2, [16, 64])]
    assert _instructions([[0, 0, 16, 16], [32, 32, 48, 48]]) == [(0, [0, 32]), (2, [16, 48])]
