"""Words that go between the lanes of a wave without the crossbar of LDS: AMD's DPP, and v_permlane16.

A row is 16 lanes. DPP permutes the lanes of each four, or xors a lane's number, within its row; v_permlane16 permutes
the lanes of each row, v_permlanex16 reads the other row of 32 lanes. All lanes have to be permuted alike. Each is one
instruction that selects wait for as well.

Source: AMD's ISA manuals: CDNA 3, "Data Parallel Processing"; RDNA 3, "DPP16", V_PERMLANE16_B32, V_PERMLANEX16_B32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_ROW = 16
#: What xors a lane's number by so much -> the control of DPP, on all of AMD's GPUs.
_XORS = {7: 0x141, 8: 0x128, 15: 0x140}  # row_half_mirror, row_ror:8, row_mirror
_XMASK = 0x160


class LaneMove(NamedTuple):
    """One instruction by which each lane reads a lane near it.

    kind      "dpp", "permlane16" or "permlanex16"
    numbers   the control of DPP; of permlane the lane of a row that each lane reads, 4 bits each, of lanes 0 to
              7 and of 8 to 15

    >>> lane_move([1, 0, 3, 2, 5, 4, 7, 6], ("dpp",))
    LaneMove(kind='dpp', numbers=(177,))
    """

    kind: str
    numbers: tuple[int, ...]


def lane_move(source: Sequence[int], known: Sequence[str]) -> LaneMove | None:
    """The one instruction by which lane l reads lane source[l]; None where there is none.

    source   of each lane of a warp, a power of two of them
    known    the kinds that the machine has: "dpp", "row_xmask", "permlane16"

    >>> flipped = [lane ^ 16 ^ 5 for lane in range(32)]
    >>> lane_move(flipped, ("dpp",)), lane_move(flipped, ("dpp", "permlane16")).kind
    (None, 'permlanex16')
    """
    if "dpp" in known:
        four = _period(source, 4)
        if four is not None:
            return LaneMove("dpp", (sum(lane << 2 * k for k, lane in enumerate(four)),))
        mask = source[0]
        if mask < _ROW and all(x == lane ^ mask for lane, x in enumerate(source)):
            if "row_xmask" in known:
                return LaneMove("dpp", (_XMASK + mask,))
            if mask in _XORS:
                return LaneMove("dpp", (_XORS[mask],))
    if "permlane16" in known:
        for kind, other in (("permlane16", source), ("permlanex16", [lane ^ _ROW for lane in source])):
            row = _period(other, _ROW)
            if row is not None:
                halves = (sum(lane << 4 * k for k, lane in enumerate(row[at : at + 8])) for at in (0, 8))
                return LaneMove(kind, tuple(halves))
    return None


def _period(source: Sequence[int], count: int) -> list[int] | None:
    """The lanes that each lane of a group of so many reads, where all groups read alike; None else."""
    first = [lane - lane % len(source) + source[lane % len(source)] for lane in range(count)]
    alike = all(x == lane - lane % count + first[lane % count] for lane, x in enumerate(source))
    return first if alike and all(0 <= lane < count for lane in first) else None
