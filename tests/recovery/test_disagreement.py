"""Where a writer and a reader disagree: the first coordinates by brute force, and each mend done to the writer's
offsets, and to the reader's."""

import itertools
import random

import numpy as np
import pytest
from test_tables import random_layout

from tla import RangeError, RankError, TlaError, dims, offsets, parse, recover

from night import amount


def swizzled(table, swizzle):
    """A swizzle by its definition."""
    bits, base, shift = swizzle.bits, swizzle.base, swizzle.shift
    read = table & ((1 << bits) - 1 << base + max(shift, 0))
    return table ^ (read >> shift if shift > 0 else read << -shift)


def mended(mend, writer, reader):
    """The writer's table after a mend, and the reader's."""
    if mend.kind == "offset":
        return writer + mend.value, reader - mend.value
    if mend.kind == "swizzle":
        return swizzled(writer, mend.value), swizzled(reader, mend.value)
    if mend.kind == "permutation":
        places = list(np.ndindex(writer.shape))
        moved = np.array([writer[tuple(c[a] for a in mend.value)] for c in places]).reshape(writer.shape)
        back = np.array([reader[tuple(c[mend.value.index(a)] for a in range(writer.ndim))] for c in places]).reshape(
            writer.shape
        )
        return moved, back
    assert mend.kind == "map"
    taken = np.array([int(mend.value(int(x))) for x in writer.flat]).reshape(writer.shape)
    back = {int(y): int(x) for x, y in zip(writer.flat, reader.flat)}
    return taken, np.array([back[int(x)] for x in reader.flat]).reshape(writer.shape)


def changed(rng, table):
    """A table that one change takes a table to, and what it is."""
    kind = rng.choice(("offset", "swizzle", "permutation", "map"))
    if kind == "offset":
        return kind, table + rng.randint(1, 99)
    if kind == "swizzle":
        bits, base = rng.randint(1, 2), rng.randint(0, 2)
        x = table ^ (table >> bits & ((1 << bits) - 1) << base)
        return kind, x
    if kind == "permutation":
        orders = [
            p for p in itertools.permutations(range(table.ndim)) if tuple(table.shape[a] for a in p) == table.shape
        ]
        return kind, table.transpose(rng.choice(orders))
    return kind, table * rng.randint(2, 5)


def test_random_changes_are_found_and_mend_both():
    rng, found_kinds = random.Random(33), set()
    for _ in range(amount(150, 5_000)):
        writer = np.atleast_1d(offsets(random_layout(rng, most=1 << 8)))
        if writer.ndim == 1 and rng.random() < 0.7:
            side = 1 << rng.randint(1, 4)
            writer = np.arange(side * side).reshape(side, side) * rng.randint(1, 3)
        if writer.min() < 0:
            continue
        kind, reader = changed(rng, writer)
        found = recover(writer, reader)
        differ = [c[::-1] for c in np.ndindex(writer.shape[::-1]) if writer[c[::-1]] != reader[c[::-1]]]
        assert (found.different, found.of, found.agree) == (len(differ), writer.size, not differ)
        assert [x.coordinate for x in found.first] == differ[:4]
        assert all((x.writer, x.reader) == (writer[x.coordinate], reader[x.coordinate]) for x in found.first)
        kinds = [x.kind for x in found.mends]
        injective = len({*writer.flat}) == writer.size
        whole = injective and writer.max() + 1 == writer.size
        assert not differ or kind in kinds or (kind == "map" and not whole), (kind, kinds)
        for mend in found.mends:
            found_kinds.add(mend.kind)
            if mend.kind != "layout":
                one, other = mended(mend, writer, reader)
                assert (one == reader).all(), mend
                assert (other == writer).all(), mend
    assert found_kinds == {"offset", "swizzle", "permutation", "map", "layout"}


@pytest.mark.parametrize(
    ("writer", "reader", "said"),
    [
        ("i*64 + j", "i*72 + j", "takes 72 for 64 as its stride of coordinate 0"),
        ("i*64 + (j ^ i%8*8)", "i*64 + (j ^ i%4*8)", "takes Sw<2,3,3> for Sw<3,3,3> as its swizzle"),
        ("i*64 + (j ^ i%8*8)", "i*64 + j", "takes no swizzle for Sw<3,3,3> as its swizzle"),
        ("i*64 + j", "i*72 + j + 16", "takes 16 for 0 as its offset and takes 72 for 64 as its stride of coordinate 0"),
        ("i*64 + j", "i*64 + j/8*512 + j%8", "takes 512 for 8 as its stride of coordinate 1//8"),
    ],
)
def test_the_parts_that_differ(writer, reader, said):
    found = recover(writer, reader, shape=(16, 64), coords="i,j")
    (mend,) = (x for x in found.mends if x.kind == "layout")
    assert mend.writer == said
    back = recover(reader, writer, shape=(16, 64), coords="i,j")
    assert next(x for x in back.mends if x.kind == "layout").reader == said


def test_the_parts_of_random_layouts_are_those_that_they_are_made_of():
    rng = random.Random(34)
    for _ in range(amount(100, 3_000)):
        extents = [rng.choice((2, 3, 4, 8)) for _ in range(rng.randint(2, 4))]
        strides, others = ([rng.choice((1, 5, 7, 11, 100, 1000)) for _ in extents] for _ in range(2))
        writer, reader = (sum(np.arange(n).reshape([-1 if a == k else 1 for a in range(len(extents))]) * d for k, (n, d) in enumerate(zip(extents, s))) for s in (strides, others))  # fmt: skip
        parts = [(f"stride of coordinate {k}", d, e) for k, (d, e) in enumerate(zip(strides, others)) if d != e]
        found = [x.value for x in recover(writer, reader).mends if x.kind == "layout"]
        assert found == ([tuple(parts)] if parts else [])


def test_sides_of_any_kind():
    layout = parse("Sw<3,3,3> o 0 o (8,64):(64,1)")
    same = [layout, offsets(layout), lambda i, j: i * 64 + (j ^ i * 8), "smem[i*64 + (j ^ (i << 3))]"]
    for writer, reader in itertools.product(same, repeat=2):
        assert recover(writer, reader, shape=(8, 64)).agree
    assert str(recover(layout, layout)) == "they agree at all 512 coordinates"


def test_bounds_differ():
    found = recover("i < 5 ? i*8 + j : -1", "i < 6 ? i*8 + j : -1", shape=(8, 8))
    assert [x.coordinate for x in found.first] == [(5, 0), (5, 1), (5, 2), (5, 3)]
    assert "nothing is found that mends either" in str(found)


def test_what_nothing_mends():
    rng = np.random.default_rng(5)
    found = recover(np.arange(64).reshape(8, 8), rng.permutation(64).reshape(8, 8))
    assert found.mends == ()
    assert found.different > 50


def test_bad_sides_are_refused():
    with pytest.raises(RankError, match=r"recover of extents \(8,\) and \(4, 2\)"):
        recover(np.arange(8), np.arange(8).reshape(4, 2))
    with pytest.raises(RankError, match="without a shape"):
        recover("i*64", "i*64")
    for writer in ("i*64 +", "2*table[i]", "i++", np.array([0.5]), "", None):
        with pytest.raises(TlaError):
            recover(writer, "i", shape=(4,))
    with pytest.raises(RangeError):
        recover("i", "i", shape=(1 << 30,))
    with pytest.raises(TlaError):
        recover("i*N", "i", shape=("N",))
    with pytest.raises(TlaError):
        recover(parse("(4,N):(N,1)", symbols=dims("N M")), "i", shape=(4,))
