"""CuTe's constructors under CuTe's names: the answers of its headers, and the law where ours go further."""

import numpy as np
import pytest

import tla
from tla import (
    E,
    LayoutLeft,
    LayoutRight,
    MakeLayout,
    TlaError,
    make_layout,
    make_shape,
    make_stride,
    make_tensor,
    parse,
)

from truth import agrees, rows, text

_2, _4, _8 = (tla.Int[n]() for n in (2, 4, 8))


def test_layouts_of_the_truth():
    for row in rows("cute/accepted.json"):
        if row["op"] == "make_layout":
            shape, *stride = (getattr(tla, x) if x.startswith("Layout") else parse(x) for x in row["args"])
            assert agrees(text(make_layout(shape, *stride)), row["result"]), row


def test_fragments_of_the_truth():
    found = [
        (row, text(tla.make_fragment_like(parse(row["args"][0]))))
        for row in rows("cute/tensors.json")
        if row["op"] == "make_fragment_like"
    ]
    other = [(row["args"][0], ours) for row, ours in found if not agrees(ours, row["result"])]
    assert len(found) == 35
    # two modes of one stride: CuTe gives both the same place, see differences.md
    assert other == [
        (
            "((_9,_3),_2,(_5),(_1,_1)):((_0,_0),_10,(_10),(_0,_32))",
            "((_9,_3),_2,(_5),(_1,_1)):((_0,_0),_1,(_2),(_0,_0))",
        )
    ]


def test_the_two_spellings():
    assert [text(f(_8)) for f in (make_layout, MakeLayout)] == ["_8:_1", "(_8):(_1)"]
    assert text(make_layout(8)) == "8:_1"
    assert text(make_layout(parse("(_4,_2):(_1,_4)"))) == "((_4,_2)):((_1,_4))"
    with pytest.raises(TlaError, match="put the shape in a tuple"):
        make_layout(4, 8, 2)


@pytest.mark.parametrize(
    ("swizzle", "shape", "stage"), [((3, 3, 3), (8, 64), 512), ((2, 4, 3), (8, 64), 512), ((3, 4, 3), (16, 64), 1024)]
)
def test_a_stage_beside_a_swizzle(swizzle, shape, stage):
    tile = tla.ComposedLayout(tla.Swizzle[swizzle](), 0, MakeLayout(shape, LayoutRight))
    for both in (MakeLayout(tile, parse(f"_3:{stage}")), make_layout(tile, parse(f"_3:_{stage}"))):
        assert all(both(i, s) == tile(i) + s * stage for i in range(tla.size(tile)) for s in range(3))
    front = MakeLayout(parse(f"_3:{stage}"), tile)
    assert all(front(s, i) == tile(i) + s * stage for i in range(tla.size(tile)) for s in range(3))
    with pytest.raises(tla.DivisibilityError, match="where the swizzle repeats"):
        MakeLayout(tile, parse("_3:_64"))
    with pytest.raises(tla.LeafTypeError, match="one swizzled layout"):
        MakeLayout(tile, tile)


def test_tensors():
    """CuTe's documentation, 03_tensor.md: owning and non-owning tensors."""
    a = np.arange(128, dtype=np.float32)
    prints = {
        "_8:_1": make_tensor(a, _8),
        "8:2": make_tensor(a, 8, 2),
        "(_8,16):(_1,_8)": make_tensor(a, make_shape(_8, 16)),
        "(8,_16):(_16,_1)": make_tensor(a, make_shape(8, tla.Int[16]()), make_stride(tla.Int[16](), tla.Int[1]())),
        "(_4,_8):(_8,_1)": make_tensor[np.float32](make_shape(_4, _8), LayoutRight),
        "(_4,_8):(_1,_4)": make_tensor[np.float32](make_shape(_4, _8), LayoutLeft),
        "(_4,_8):(_32,_2)": make_tensor[np.float32](tla.Shape[_4, _8](), parse("(_32,_2)")),
    }
    assert [text(t.layout) for t in prints.values()] == [*prints]
    assert text(tla.make_tensor_like(prints["(_4,_8):(_32,_2)"]).layout) == "(_4,_8):(_8,_1)"
    assert make_tensor(42, 8)[3] == 45
    assert make_tensor(tla.make_inttuple_iter(0, 0), (4, 5), (E[1], E[0]))[3, 1] == (1, 3)
    assert np.asarray(make_tensor(a)).size == 128
    for wrong in (
        lambda: make_tensor(parse("4:1")),
        lambda: make_tensor(4),
        lambda: tla.make_fragment_like(make_tensor(None, (2, 3))),
    ):
        with pytest.raises(TlaError):
            wrong()


def test_tiles_and_coordinates():
    assert tla.make_tile(_4, None) == (_4, tla._)
    assert text(tla.make_coord(1, 2, tla._)) == "(1,2,_)"
    with pytest.raises(tla.LeafTypeError, match="layouts, integers and _"):
        tla.make_tile("a")
