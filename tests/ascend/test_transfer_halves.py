"""Accumulators to the unified buffers of two vector cores: what Fixpipe does by its manual, row by row,
against the tiles."""

import itertools
import random

import pytest

from tla import GetTile, MakeLayout, MakeTensor, dim
from tla.ascend import L0C, Ascend950, AtlasA2, ColumnMajor, RowMajor, bf16, float32, half, transfer
from tla.core.errors import TlaError

from night import amount


def by_manual(p, element_bytes, dst, src):
    """Pairs (core, offset in UB, offset in L0C) of a Fixpipe to rows with dualDstCtl: loops over rows and columns, as
    AscendC has them."""
    m, n, split = p["mSize"], p["nSize"], p["dualDstCtl"]
    assert (n * element_bytes) % 32 == 0
    assert (p["dstStride"] * element_bytes) % 32 == 0
    assert m % 2 == 0 if split == 1 else n % 32 == 0
    for row, column in itertools.product(range(m), range(n)):
        core, i = divmod(row, m // 2) if split == 1 else (0, row)
        core, j = divmod(column, n // 2) if split == 2 else (core, column)
        yield core, dst + i * p["dstStride"] + j, src + column // 16 * p["srcStride"] * 16 + row * 16 + column % 16


def tensors(m, n, tile, ld, element, start=(0, 0)):
    whole = MakeTensor(None, L0C(start[0] + m, start[1] + n).layout, position="L0C")
    return GetTile(whole, start, (m, n)), MakeTensor(None, MakeLayout[element, RowMajor](*tile, ld=ld), position="UB")


def test_each_core_has_its_half_and_no_other_element():
    rng, odd = random.Random(46), 0
    for _ in range(amount(60, 2000)):
        split, element = rng.choice(["SPLIT_M", "SPLIT_N"]), rng.choice([float32, half, bf16])
        m, n = rng.randint(1, 70), rng.randint(1, 70)
        size = element.bits // 8
        c0, whole = 32 // size, (-(-m // 2) * 2, -(-n // 32) * 32)
        tile = (min(whole[0] // 2, m), n) if split == "SPLIT_M" else (m, min(whole[1] // 2, n))
        ld = -(-max(tile[1], 0 if split == "SPLIT_M" else whole[1] // 2) // c0) * c0 + c0 * rng.randint(0, 2)
        start = (16 * rng.randint(0, 1), 16 * rng.randint(0, 1))
        acc, ub = tensors(m, n, tile, ld, element, start)
        made = transfer(acc, ub, Ascend950, element=element, split=split)
        (i,) = made
        written = {}
        for core, to, begin in by_manual(i.parameters, size, i.dst, i.src):
            assert (core, to) not in written
            written[core, to] = begin
        first = (whole[0] // 2, n) if split == "SPLIT_M" else (m, whole[1] // 2)
        for row, column in itertools.product(range(m), range(n)):
            core, at = (
                (row // first[0], (row % first[0], column))
                if split == "SPLIT_M"
                else (column // first[1], (row, column % first[1]))
            )
            high = -(-(start[0] + m) // 16)
            wanted = (start[1] + column) // 16 * high * 256 + (start[0] + row) * 16 + (start[1] + column) % 16
            assert written.pop((core, at[0] * ld + at[1])) == wanted
        end = (tile[0] - 1) * ld + tile[1]
        assert all(to < end + made.beyond // size for _, to in written)
        odd += bool(m % 2 or n % 32)
    assert odd > 20


def test_the_text_names_the_split():
    acc, ub = tensors(64, 64, (32, 64), 64, float32)
    (i,) = transfer(acc, ub, Ascend950, element=float32, split="SPLIT_M")
    assert "p.dualDstCtl = 1;" in i.text
    assert "CFG_ROW_MAJOR_UB" in i.text
    assert {name: i.parameters[name] for name in ("mSize", "nSize", "dstStride")} == {
        "mSize": 64,
        "nSize": 64,
        "dstStride": 64,
    }
    acc, ub = tensors(64, 40, (64, 32), 32, float32)
    (i,) = transfer(acc, ub, Ascend950, element=float32, split="SPLIT_N")
    assert {name: i.parameters[name] for name in ("mSize", "nSize", "dualDstCtl")} == {
        "mSize": 64,
        "nSize": 64,
        "dualDstCtl": 2,
    }


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: transfer(*tensors(64, 64, (64, 64), 64, float32), Ascend950, element=float32, split="SPLIT_M"),
            r"\(32,64\), for each",
        ),
        (
            lambda: transfer(*tensors(64, 64, (32, 64), 64, float32), Ascend950, element=float32, split="M"),
            "one of SPLIT_M, SPLIT_N",
        ),
        (
            lambda: transfer(*tensors(64, 63, (32, 63), 63, float32), Ascend950, element=float32, split="SPLIT_M"),
            "ld=64",
        ),
        (
            lambda: transfer(*tensors(64, 20, (64, 16), 8, float32), Ascend950, element=float32, split="SPLIT_N"),
            "ld=|leading|below",
        ),
        (
            lambda: transfer(*tensors(64, 64, (32, 64), 64, float32), AtlasA2, element=float32, split="SPLIT_M"),
            "on AtlasA2",
        ),
        (
            lambda: transfer(
                *tensors(dim("M"), 64, (32, 64), 64, float32), Ascend950, element=float32, split="SPLIT_M"
            ),
            "not known",
        ),
        (
            lambda: transfer(
                tensors(64, 64, (32, 64), 64, float32)[0],
                MakeTensor(None, MakeLayout[float32, RowMajor](64, 64), position="GM"),
                Ascend950,
                element=float32,
                split="SPLIT_M",
            ),
            "split= from L0C to UB only",
        ),
        (
            lambda: transfer(
                tensors(64, 64, (32, 64), 64, float32)[0],
                MakeTensor(None, MakeLayout[float32, ColumnMajor](32, 64), position="UB"),
                Ascend950,
                element=float32,
                split="SPLIT_M",
            ),
            "RowMajor",
        ),
    ],
)
def test_what_cannot_be_split_is_refused(make, message):
    with pytest.raises(TlaError, match=message):
        make()
