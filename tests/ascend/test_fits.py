"""What fits into a core's buffers: names of AscendC that share one, stages under any of its names, and sizes
that are none."""

import itertools

import pytest

from tla import LeafTypeError, MakeLayout, RangeError, ascend, dim
from tla.ascend import AtlasA2, fits, half, zN

#: The names of each buffer: CATLASS's, and those of AscendC's TPosition that lie in it.
NAMES = {
    "L1": ("L1", "A1", "B1", "C1"),
    "UB": ("UB", "VECCALC", "VECIN", "VECOUT"),
    "L0A": ("L0A", "A2"),
    "L0B": ("L0B", "B2"),
    "L0C": ("L0C", "CO1"),
    "Bias": ("Bias", "C2"),
    "FixBuf": ("FixBuf", "C2PIPE2GM"),
}


@pytest.mark.parametrize("place", NAMES)
def test_names_of_one_buffer_share_it(place):
    """Any parts under any of its names: what they take is their sum, and full is full."""
    unit, size = AtlasA2.alignment[place], AtlasA2.sizes[place]
    names = NAMES[place]
    for count in range(1, len(names) + 1):
        for chosen in itertools.combinations(names, count):
            part = size // count // unit * unit
            found = fits(dict.fromkeys(chosen, (part, 8)))
            assert {p: fit.used for p, fit in found.items()} == {place: part * count}
            with pytest.raises(RangeError, match=f"bytes in {place} of AtlasA2"):
                fits(dict.fromkeys(chosen, (part + (size - part * count) + unit, 8)))


def test_stages_are_told_under_any_name_of_the_buffer():
    tile = ((256, 256), half)  # 128 KiB
    for told, name in itertools.product(NAMES["L1"], repeat=2):
        assert fits({name: tile}, AtlasA2, {told: 3})["L1"].used == 3 * 2**17
        with pytest.raises(RangeError, match="655360 bytes in L1"):
            fits({name: tile}, AtlasA2, {told: 5})
    assert fits({"A1": tile, "B1": tile}, AtlasA2, {"A1": 1, "B1": 2})["L1"].used == 3 * 2**17  # each queue its own
    assert fits({"A1": tile}, AtlasA2, {"L1": 4, "A1": 1})["L1"].used == 2**17  # its own name says it
    with pytest.raises(
        RangeError, match=r"the stages \{'A1': 1, 'B1': 2\} for tiles in L1\n.*\n +fix +write \{'L1': 2\}"
    ):
        fits({"L1": tile}, AtlasA2, {"A1": 1, "B1": 2})
    assert fits({"L1": tile}, AtlasA2, {"L1": 2})["L1"].used == 2**18


@pytest.mark.parametrize("name", ["l1", "L2", "", 3, None])
def test_stages_of_no_position_are_refused(name):
    with pytest.raises(LeafTypeError, match=r"the position .*\n +expected +one of GM, L1"):
        fits({"L1": ((16, 16), half)}, AtlasA2, {name: 3})


@pytest.mark.parametrize("count", [0, -1, -(2**40)])
def test_stages_below_1_are_refused(count):
    for stages in (count, {"L1": count}, {"A1": count}):
        with pytest.raises(RangeError, match=f"{count} stages\n +expected +1 or more"):
            fits({"L1": ((16, 16), half)}, AtlasA2, stages)


@pytest.mark.parametrize("tile", [-1, (-256, 512), (256, -512), (-2, -2), ((4, -4), 8)])
def test_sizes_below_0_are_refused(tile):
    with pytest.raises(RangeError, match=r"the tile .*\n +expected +sizes of 0 or more"):
        fits({"L1": (tile, half)})
    assert fits({"L1": (((0, 4)), half)})["L1"].used == 0


def test_tiles_are_refused_where_they_have_no_size():
    for tile in (dim("M"), MakeLayout[half, zN](dim("M"), 16)):
        with pytest.raises(LeafTypeError, match="sizes that are known"):
            fits({"L1": (tile, half)})
    with pytest.raises(LeafTypeError, match="tiles in GM"):
        fits({"GM": (64, ascend.half)})
