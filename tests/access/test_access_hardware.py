"""Wavefronts of shared memory as an H200 counts them, beside those of `access` and of the simulator that judges plans:
equal, but for loads whose lanes read the same in pairs, of which the hardware takes fewer."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from tla.access import access
from tla.linear import LinearLayout

import ptx

DATA = Path(__file__).parents[1] / "data/gpu/wavefronts.json"
BANKS, LANES = 32, 32


def most_words(places, size):
    """The most words of one bank, of lanes that are served together."""
    words = {w for a in places if a >= 0 for w in range(a // 4, (a + size) // 4)}
    return max(Counter(w % BANKS for w in words).values(), default=0)


def by_halves(places, size):
    """The wavefronts of a load. Lanes whose accesses are 256 bytes go in two halves, but at once where that takes one
    wavefront and each lane reads what its neighbour does, or each what the one after the neighbour does."""
    together = min(LANES, 256 // size)
    if together * size <= 128:
        return most_words(places, size)
    total = 0
    for start in range(0, LANES, together):
        part = places[start : start + together]
        paired = any(
            all(len({part[i], part[i ^ step]} - {-1}) < 2 or -1 in (part[i], part[i ^ step]) for i in range(together))
            for step in (1, 2)
        )
        halves = sum(most_words(part[k : k + together // 2], size) for k in (0, together // 2))
        total += 1 if paired and most_words(part, size) == 1 else halves
    return total


def bases(first, count):
    """What the bits of a number below `count` change, of elements in steps of `first`."""
    return [(first << k,) for k in range(count.bit_length() - 1)]


def test_accesses_take_what_the_hardware_counts():
    rows, fewer, others, counted = json.loads(DATA.read_text()), 0, 0, []
    for operation, bits, places, wavefronts in rows:
        at, size = np.array(places), bits // 8
        planned = ptx.wavefronts(np.maximum(at, 0), size, at >= 0)
        others += operation == "ld" and by_halves(places, size) != wavefronts
        fewer += wavefronts < planned
        assert wavefronts <= planned
        assert operation == "ld" or wavefronts == planned
        if min(places) >= 0:
            unit = bits // 32  # elements of 32 bits; a lane's are neighbours
            owners = LinearLayout(
                {"register": bases(1, unit), "lane": bases(unit, LANES), "warp": []}, {"dim0": LANES * unit}
            )
            memory = (at[:, None] // 4 + np.arange(unit)).ravel()
            counted.append(access(owners, memory, 32, width=bits).wavefronts == planned)
    assert (len(rows), fewer, others) == (972, 54, 1)
    assert all(counted)
    assert len(counted) > 600
