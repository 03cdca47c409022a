"""Moves from lane to lane that AMD has beside ds_bpermute: the lanes that they read, by the ISA manuals; found where
there is one, and chosen by cost."""

import itertools
import random

import numpy as np

from tla.access import Shuffle, convert
from tla.access.lane_moves import LaneMove, lane_move
from tla.access.machines import MACHINES
from tla.linear import LinearLayout

from conversions import held, pair, usual
from night import amount

DPP, ALL = ("dpp",), ("dpp", "row_xmask", "permlane16")


def read(move, lane):
    """The lane that an instruction reads: RDNA 3 ISA manual, DPP_CTRL, V_PERMLANE16_B32."""
    row, at = lane // 16 * 16, lane % 16
    if move.kind != "dpp":
        word, shift = move.numbers[at // 8], 4 * (at % 8)
        return (row ^ 16 if move.kind == "permlanex16" else row) + (word >> shift) % 16
    (control,) = move.numbers
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4)) % 4
    if control >= 0x160:
        return row + (at ^ control - 0x160)
    return {0x128: row + (at - 8) % 16, 0x140: row + 15 - at, 0x141: row + at // 8 * 8 + 7 - at % 8}[control]


def reads_by(known, lanes):
    """All that one DPP instruction can read, as tuples by lane; without permlane, which has too many."""
    controls = [*range(0x100), 0x128, 0x140, 0x141, *(range(0x160, 0x170) if "row_xmask" in known else [])]
    for control in controls:
        found = tuple(read(LaneMove("dpp", (control,)), lane) for lane in range(lanes))
        if max(found) < lanes:
            yield found


def affine(rng, lanes):
    """A map of lanes: a constant, xored with what each bit changes; most bits stay."""
    bits = lanes.bit_length() - 1
    columns = [1 << k for k in range(bits)]
    for _ in range(rng.randrange(3)):
        columns[rng.randrange(bits)] = rng.randrange(lanes)
    constant = rng.randrange(lanes)
    return tuple(
        constant ^ int(np.bitwise_xor.reduce([c for k, c in enumerate(columns) if lane >> k & 1] or [0]))
        for lane in range(lanes)
    )


def test_the_lanes_that_a_move_reads():
    rng, kinds = random.Random(1), set()
    for known, lanes in itertools.product((DPP, ALL, ()), (2, 4, 8, 16, 32, 64)):
        possible = set(reads_by(known, lanes)) if known else set()
        for source in itertools.chain((affine(rng, lanes) for _ in range(300)), possible):
            move = lane_move(source, known)
            if move is None:
                assert source not in possible
                if "permlane16" in known:  # no permutation of all rows alike
                    low = [source[lane % 16] % 16 for lane in range(lanes)]
                    rows = [lane // 16 * 16 for lane in range(lanes)]
                    for other in (0, 16):
                        assert any(x != (r ^ other) + y for x, r, y in zip(source, rows, low))
            else:
                kinds.add(move.kind)
                assert all(read(move, 64 - lanes + lane) == 64 - lanes + x for lane, x in enumerate(source))
                assert move.kind == "dpp" or "permlane16" in known
    assert kinds == {"dpp", "permlane16", "permlanex16"}


def one_register(columns):
    return LinearLayout({"register": [], "lane": [(c,) for c in columns], "warp": []}, {"dim0": 1 << len(columns)})


def test_moves_where_they_are_cheaper():
    """A word of each lane: a DPP of one cycle for a ds_bpermute of two on gfx942, half of one for one on gfx1100; never
    on NVIDIA's."""
    for arch, columns, moves in (
        ("gfx942", [2, 1, 4, 8, 16, 32], 1),
        ("gfx942", [4, 2, 1, 8, 16, 32], 0),
        ("gfx1100", [4, 2, 1, 8, 16], 1),
        ("gfx1100", [1, 2, 4, 16, 8], 0),
        ("sm_90", [2, 1, 4, 8, 16], 0),
    ):
        src, dst = one_register([1 << k for k in range(len(columns))]), one_register(columns)
        plan = convert(src, dst, 32, arch, through="shuffle")
        assert (plan.shuffles, plan.lane_moves) == (1, moves)
        assert np.array_equal(plan.run(held(src)), held(dst))
        assert plan.cycles == (1 if moves or arch != "gfx942" else 2)
        assert ("of them DPP or permlane" in str(plan)) == bool(moves)


def test_no_plan_is_dearer_with_moves():
    rng, fewer = random.Random(3), 0
    for arch, wave in (("gfx942", 64), ("gfx1100", 32)):
        for k in range(amount(10, 40)):
            src, dst = usual(rng, wave) if k % 2 else pair(rng, False, wave.bit_length() - 1)
            plan = convert(src, dst, 32, arch)
            plain = convert(src, dst, 32, plain_machine(arch))
            assert plan.cycles <= plain.cycles
            fewer += plan.cycles < plain.cycles
            crossing = [s for s in plan.steps if isinstance(s, Shuffle) and s.move]
            assert len(crossing) == plan.lane_moves
    assert fewer


def plain_machine(arch):
    return MACHINES[arch]._replace(lane_moves=())
