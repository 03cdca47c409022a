"""Mosaic GPU's layouts: its own arithmetic of tiles, as data, and the way back; XOR strides as PyCuTe has them, by
definition."""

import itertools
import json
import random
import re

import pytest

from tla import TlaError
from tla.linear import LinearLayout, from_xor_strides, layout_of, linear, mosaic, to_xor_strides
from tla.linear.mosaic import (
    NAMED_LAYOUTS,
    Replicated,
    TiledLayout,
    WGStridedFragLayout,
    from_text,
    tiled_layout,
    to_text,
)

from batches import in_batches
from places import DATA

ROWS = json.loads((DATA / "linear" / "mosaic.json").read_text())


def row_major(shape, coordinate):
    index = 0
    for n, x in zip(shape, coordinate):
        index = index * n + x
    return index


def test_names_are_not_rebound():
    """A view that cannot be written: one assignment would change what every text means."""
    with pytest.raises(TypeError):
        NAMED_LAYOUTS["WGMMA_LAYOUT"] = None


@in_batches(ROWS)
def test_as_mosaic_has_it(row):
    layout = from_text(row["text"])
    assert to_text(layout) == row["text"]
    assert from_text(row["python"]) == layout
    if row["name"] and not row["name"].startswith("TCGEN05_COL"):  # the same as WGMMA's
        assert NAMED_LAYOUTS[row["name"]] == layout
    found = layout.linear(row["shape"])
    for name, vectors in found.bases.items():
        assert [row_major(row["shape"], v) for v in vectors] == row[name]


@in_batches(row for row in ROWS if "Tiled" in row["text"])
def test_the_way_back(row):
    """A tiled layout that makes the same map: Mosaic's own, where it is one of those."""
    wanted = from_text(row["text"]).linear(row["shape"])
    found = tiled_layout(wanted)
    assert found.linear(row["shape"]) == wanted
    if row["name"] and max(row["shape"]) > 2:
        assert found in NAMED_LAYOUTS.values()
    assert from_text(to_text(found)) == found


def test_the_way_back_finds_all_there_are():
    """Random owners of single bits: found where registers go upwards in each dimension, else refused."""
    rng, kinds = random.Random(5), {True: 0, False: 0}
    for _ in range(150):
        sizes = [5 + rng.randrange(2), 4]
        places = [(d, k) for d, n in enumerate(sizes) for k in range(n)]
        rng.shuffle(places)
        vectors = [tuple(1 << k if i == d else 0 for i in range(2)) for d, k in places]
        layout = LinearLayout(
            {"register": vectors[7:], "lane": vectors[:5], "warp": vectors[5:7]},
            {f"dim{d}": 1 << n for d, n in enumerate(sizes)},
        )
        above = [[k for e, k in places[7:] if e == d] for d in range(2)]
        upwards = all(ks == sorted(ks) for ks in above)
        lowest = places[7:]
        runs = next(
            (n for n in range(1, len(lowest) + 1) if n == len(lowest) or lowest[n] != (lowest[0][0], lowest[0][1] + n)),
            0,
        )
        beside = [[k for e, k in places[7 + min(n, runs) :] if e == d] for n in range(runs + 1) for d in range(2)]
        some = upwards or any(a == sorted(a) and b == sorted(b) for a, b in zip(beside[::2], beside[1::2]))
        try:
            assert tiled_layout(layout).linear([1 << n for n in sizes]) == layout
            kinds[True] += 1
            assert some
        except TlaError:
            kinds[False] += 1
            assert not some, layout
    assert min(kinds.values()) > 20


@pytest.mark.parametrize(
    ("f", "says"),
    [
        (lambda: TiledLayout([(48, 8)], [-2], [-1], -1), "a power of two"),
        (lambda: TiledLayout([(64, 8), (128, 8)], [-2], [-1], -1), "divides"),
        (lambda: TiledLayout([(8,), (8, 8)], [-2], [-1], -1), "as many dimensions"),
        (lambda: TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], [-7], [-3, -3], -1), "each of them once"),
        (lambda: TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], [-7], [-3, -9], -1), "-7 to -1"),
        (lambda: TiledLayout([(64, 8), (16, 8), (8, 8), (2,)], [-7], [-3], -1), "lane_dims of 8"),
        (lambda: TiledLayout([(64, 8)], None, [-1], -1), "a list of dimensions"),
        (lambda: TiledLayout([(4,)], [Replicated(4)], [Replicated(32)], Replicated(1)), "TiledLayout: dimension"),
        (lambda: TiledLayout((), [-1], [-1], -1), "a list of tiles"),
        (lambda: NAMED_LAYOUTS["WGMMA_LAYOUT"].linear([32, 8]), "a smaller tile"),
        (lambda: NAMED_LAYOUTS["WGMMA_LAYOUT"].linear([96, 8]), "a power of two"),
        (lambda: NAMED_LAYOUTS["WGMMA_LAYOUT"].linear(None), "a list of extents"),
        (lambda: WGStridedFragLayout([64], 1), "a multiple of 128"),
        (lambda: WGStridedFragLayout([64, 16], 4).linear([64]), "leave it out"),
        (lambda: from_text("#mosaic_gpu.WGSplatFragLayout<[4, 8]>"), "one value"),
        (lambda: from_text("#mosaic_gpu.TiledLayout<[[64]], warp_dims = [-1]>"), "without lane_dims"),
        (lambda: from_text("TiledLayout(" * 100), "levels|positional|unexpected"),
        (lambda: from_text("[" * 100), "levels"),
        (lambda: from_text("3"), "no layout of registers"),
        (lambda: from_text("WGMMA_LAYOUT x"), "one of"),
        (lambda: from_text(None), "a text"),
        (lambda: to_text(3), "a TiledLayout"),
        (lambda: tiled_layout(3), "a LinearLayout"),
        (lambda: tiled_layout(LinearLayout({"register": [(1,)]}, {"dim0": 2})), "of a warpgroup"),
        (
            lambda: tiled_layout(
                LinearLayout({"lane": [(1 << k,) for k in range(6)], "warp": [(64,), (128,)]}, {"dim0": 256})
            ),
            "64 lanes",
        ),
        (
            lambda: from_text(
                to_text(NAMED_LAYOUTS["WGMMA_LAYOUT"]).replace("-7", "#mosaic_gpu.Replicated<times = 3>")
            ),
            "a power of two",
        ),
    ],
)
def test_bad_input(f, says):
    with pytest.raises(TlaError, match=says):
        f()


def test_unreduced_is_refused():
    text = (
        "TiledLayout(tiling=Tiling(tiles=((4,),)), warp_dims=(Replicated(times=4),), "
        "lane_dims=(Replicated(times=32),), vector_dim=-1, unreduced_operation={})"
    )
    assert from_text(text.format("None")) == mosaic.NAMED_LAYOUTS["TMA_INDICES_4_LAYOUT"]
    assert Replicated(32) in from_text(text.format("None")).lane_dims
    with pytest.raises(TlaError):
        from_text(text.format("3"))


# ------------------------------------------------------------------------------------------------- xor strides


def product(c, d):
    """c times an xor stride: PyCuTe's `F2`, without carries."""
    found = 0
    for k in range(c.bit_length()):
        found ^= (c >> k & 1) * d << k
    return found


def evaluated(text, *coordinate):
    """PyCuTe's inner product, from the text of a layout of flat modes."""
    shape, stride = (
        [[int(x) for x in re.findall(r"\d+", m)] for m in re.findall(r"\([\dF,]+\)|F?\d+", t.strip()[1:-1])]
        for t in text.split(":")
    )
    total = 0
    for x, extents, strides in zip(coordinate, shape, stride):
        for n, d in zip(extents, strides):
            total ^= product(x % n, d)
            x //= n
    return total


def test_pycutes_own_example():
    """docs/06_swizzle.md: (4,(4,4)):(F1,(F5,F16)), and the swizzle that it is."""
    found = from_xor_strides("(4,(4,4)):(F1,(F5,F16))")
    for i, j in itertools.product(range(4), range(16)):
        assert found.apply({"dim0": i, "dim1": j})["offset"] == evaluated("(4,(4,4)):(F1,(F5,F16))", i, j)
    assert str(layout_of(found)) == "Sw<2,0,2> o _0 o (_4,_16):(_1,_4)"
    assert to_xor_strides(linear(layout_of(found))) == "(4,(4,4)):(F1,(F5,F16))"


def test_xor_strides_both_ways():
    rng = random.Random(9)
    for _ in range(200):
        n = rng.randrange(2, 9)
        columns = [rng.randrange(1 << n) for _ in range(n)]
        split = rng.randrange(1, n)
        found = LinearLayout(
            {"a": [(c,) for c in columns[:split]], "b": [(c,) for c in columns[split:]]}, {"offset": 1 << n}
        )
        text = to_xor_strides(found)
        assert from_xor_strides(text, ["a", "b"], {"offset": 1 << n}) == found
        for _ in range(20):
            i, j = rng.randrange(1 << split), rng.randrange(1 << n - split)
            assert evaluated(text, i, j) == found.apply({"a": i, "b": j})["offset"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(4,3):(F1,F4)", "pad it to 4"),
        ("4:1", "an xor stride"),
        ("F4:F1", "an extent"),
        ("(4,4):(F1)", "other forms|one stride"),
        ("(4,4):F1", "one stride"),
        ("4", "':'"),
        ("4:F1 x", "the end"),
        ("0:F1", "use 1"),
        (f"{2**60}:F8", "62 bits"),
        ("(" * 70, "levels"),
        ("4:F99999999999999999999", "an xor stride"),
        (None, "a text"),
    ],
)
def test_bad_xor_strides(text, says):
    with pytest.raises(TlaError, match=says):
        from_xor_strides(text)


def test_bad_names():
    with pytest.raises(TlaError, match="2, one for each mode"):
        from_xor_strides("(4,4):(F1,F4)", ["a", "b", "c"])
    with pytest.raises(TlaError, match="outputs that hold them"):
        from_xor_strides("(4,4):(F1,F4)", None, {"offset": 4})
    with pytest.raises(TlaError, match="a LinearLayout"):
        to_xor_strides("4:F1")
