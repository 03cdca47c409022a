"""LDS of each generation: which lanes go together, written down again from the sources, and counts by these alone."""

import random
from collections import Counter

import pytest

from tla import TlaError, parse
from tla.access import access, best_swizzle, patterns
from tla.access.memories import MEMORIES
from tla.linear import LinearLayout, bits

from night import amount


def neighbours(lanes, together):
    return [[*range(k, k + together)] for k in range(0, lanes, together)]


def listed(text):
    """Phases as AMD's guide lists them: "0-3,20-23; ..."."""
    return [
        [lane for run in phase.split(",") for lane in range(int(run.split("-")[0]), int(run.split("-")[1]) + 1)]
        for phase in text.split(";")
    ]


MI300_READ = "0-3,20-23; 32-35,52-55; 4-7,16-19; 36-39,48-51; 8-11,28-31; 40-43,60-63; 12-15,24-27; 44-47,56-59"
MI350_READ = "0-3,12-15,20-23,24-27; 32-35,44-47,52-55,56-59; 4-7,8-11,16-19,28-31; 36-39,40-43,48-51,60-63"
RDNA3_READ = "0-3,20-23; 4-7,16-19; 8-11,28-31; 12-15,24-27"
#: row -> lanes, banks, and the phases of 32, 64 and 128 bits.
PHASES = {
    "AMD_LDS_GFX942_READ": (64, 32, neighbours(64, 32), neighbours(64, 16), listed(MI300_READ)),
    "AMD_LDS_GFX942_WRITE": (64, 32, neighbours(64, 32), neighbours(64, 16), neighbours(64, 8)),
    "AMD_LDS_GFX950_READ": (64, 64, neighbours(64, 64), neighbours(64, 32), listed(MI350_READ)),
    "AMD_LDS_GFX950_WRITE": (64, 32, neighbours(64, 32), neighbours(64, 16), neighbours(64, 8)),
    "AMD_LDS_GFX11_READ": (32, 32, neighbours(32, 32), neighbours(32, 16), listed(RDNA3_READ)),
    "AMD_LDS_GFX11_WRITE": (32, 32, neighbours(32, 32), neighbours(32, 16), neighbours(32, 8)),
    "AMD_LDS_GFX12_READ": (32, 32, neighbours(32, 32), neighbours(32, 16), neighbours(32, 8)),
    "AMD_LDS_GFX12_WRITE": (32, 32, neighbours(32, 32), neighbours(32, 16), neighbours(32, 8)),
}


@pytest.mark.parametrize("row", PHASES)
def test_every_phase_is_that_of_the_source(row):
    lanes, banks, *phases = PHASES[row]
    memory = MEMORIES[row]
    assert (memory.lanes, memory.convention) == (lanes, True)
    assert "measured" in memory.source or "inferred" in memory.source
    for width, groups in zip((32, 64, 128), phases):
        found = memory.phases[width]
        assert found[0] == banks
        assert {frozenset(g) for g in found[1]} == {frozenset(g) for g in groups}
        assert sorted(lane for g in groups for lane in g) == [*range(lanes)]


@pytest.mark.parametrize("row", PHASES)
def test_an_instruction_by_its_addresses(row):
    """Random linear owners: the words of each phase's lanes, and how many the fullest bank has."""
    lanes, banks, *phases = PHASES[row]
    rng, count = random.Random(2), bits.log2(lanes)
    for width, groups in zip((32, 64, 128), phases):
        for _ in range(amount(4, 100)):
            vector, lanes_at = width // 32, [rng.randrange(256) * width // 32 for _ in range(count)]
            owners = LinearLayout(
                {"register": [(1 << k,) for k in range(bits.log2(vector))], "lane": [(x,) for x in lanes_at]},
                {"dim0": 1024},
            )
            starts = [0]
            for x in lanes_at:
                starts += [s ^ x for s in starts]
            wavefronts = sum(
                max(
                    Counter(
                        word % banks for word in {starts[lane] + k for lane in group for k in range(vector)}
                    ).values()
                )
                for group in groups
            )
            found = access(owners, parse("1024:1"), 32, width, row)
            assert (found.wavefronts, found.vector) == (wavefronts, width)


@pytest.mark.parametrize(
    ("machine", "rows"),
    [
        ("gfx942", ("AMD_LDS_GFX942_WRITE", "AMD_LDS_GFX942_READ")),
        ("gfx950", ("AMD_LDS_GFX950_WRITE", "AMD_LDS_GFX950_READ")),
        ("gfx1100", ("AMD_LDS_GFX11_WRITE", "AMD_LDS_GFX11_READ")),
        ("gfx1200", ("AMD_LDS_GFX12_WRITE", "AMD_LDS_GFX12_READ")),
    ],
)
def test_a_machine_prices_writes_and_reads_apart(machine, rows):
    accesses = ["cp.async.16"], ["16 bytes down the rows"]
    for tile, element in (((64, 64), 16), ((32, 128), 8), ((64, 32), 32)):
        found = best_swizzle(*accesses, element, machine, tile)
        same = best_swizzle(*accesses, element, rows, tile)
        assert (found.layout, found.cost, found.certificate.met) == (same.layout, same.cost, True)


def test_usual_accesses_bring_their_rows():
    """Of each generation reads and writes of 8 and 16 bytes; a swizzle for them is counted by these rows."""
    named = {p.name: p for p in patterns() if p.memory.name.startswith("AMD") and not p.fills}
    assert len(named) == 16
    for chip in ("", " gfx950", " gfx1100", " gfx1200"):
        load, store = ("ds_load", "ds_store") if chip.startswith(" gfx1") else ("ds_read", "ds_write")
        for n in (64, 128):
            write, read = f"{store}_b{n}{chip}", f"{load}_b{n}{chip}"
            assert (named[write].memory.name[-5:], named[read].memory.name[-4:]) == ("WRITE", "READ")
            found = best_swizzle([write], [read], 16, tile=(64, 64))
            assert found.cost == access(write, found.layout, 16).total + access(read, found.layout, 16).total
            assert found.certificate.met
            assert access(read, parse("(64,64):(64,1)"), 16).degree > 1 == access(read, found.layout, 16).degree


def test_a_machine_that_is_not_known():
    with pytest.raises(TlaError, match="the machine 'gfx90a'"):
        best_swizzle(["cp.async.16"], [], 16, "gfx90a", (64, 64))
