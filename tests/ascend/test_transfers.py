"""Transfers of Ascend: the instructions of real copies, what they move by a reading of AscendC's of its own, and what
is refused."""

import itertools
import math
import random
import re

import numpy as np
import pytest

from tla import (
    GetTile,
    Layout,
    LeafTypeError,
    MakeLayout,
    MakeLayoutFmap,
    MakeTensor,
    RangeError,
    TlaError,
    Unproven,
    ascend,
    dim,
)
from tla.ascend import AtlasA2, TransferInstruction, fits, half, nZ, transfer, zN, zZ
from tla.ascend.architecture import position_of

from batches import in_batches
from night import NIGHT
from transfer_oracle import executed, offset_of
from truth import rows

ELEMENTS = {"half": ascend.half, "int8": ascend.int8, "float": ascend.float}


def tensor(side, element, position):
    more = {"ld": side["ld"]} if "ld" in side else {}
    t = MakeTensor(None, MakeLayout[element, getattr(ascend, side["tag"])](*side["shape"], **more), position=position)
    return GetTile(t, tuple(side["coord"]), tuple(side["tile"])) if "coord" in side else t


def require_copied(src, dst, instructions):
    """Every valid element is in its place, and nothing else is written but in the tile's own padding."""
    moved = executed(instructions)
    extents = src.origin_shape if src.position == "GM" else dst.origin_shape
    for coord in itertools.product(*map(range, extents)):
        inside = dst if dst.position != "GM" else src
        assert moved.pop(offset_of(dst, coord)) == offset_of(src, coord), (coord, inside)
    if dst.position == "GM":
        assert not moved
    else:
        end = (
            int(dst.layout(tuple(s - 1 for s in _padded_shape(dst))))
            + int(dst.offset)
            + instructions.beyond * 8 // instructions[0].element.bits
        )
        assert all(0 <= to <= end for to in moved)


def _padded_shape(t):
    return [
        int(np.prod([int(n) for n in (m if isinstance(m, tuple) else (m,))])) + int(s) for m, s in zip(t.shape, t.coord)
    ]


# ---------------------------------------------------------------------------------------------------------------- truth


@in_batches(rows("tla/transfers.json"))
def test_the_instructions_of_real_copies(case):
    element, (begin, end) = ELEMENTS[case["element"]], case["copy"].split(" to ")
    made = transfer(tensor(case["src"], element, begin), tensor(case["dst"], element, end), AtlasA2)
    assert [{"instruction": i.name, "dst": i.dst, "src": i.src, **i.parameters} for i in made] == case["instructions"]


def test_real_copies_move_what_copy_moves():
    for case in random.Random(3).sample(rows("tla/transfers.json"), 40 if NIGHT else 12):
        element, (begin, end) = ELEMENTS[case["element"]], case["copy"].split(" to ")
        if case["src"].get("ld", 0) < 65536:
            src, dst = tensor(case["src"], element, begin), tensor(case["dst"], element, end)
            require_copied(src, dst, transfer(src, dst))


# ----------------------------------------------------------------------------------------------------- random transfers


def random_pair(rng):
    """Two tensors that a path may join: tags, tiles, starts on blocks or not, sizes with tails."""
    begin, end, a, b = rng.choice(
        [
            ("GM", "L1", "RowMajor", "zN"),
            ("GM", "L1", "ColumnMajor", "nZ"),
            ("GM", "L1", "zN", "zN"),
            ("GM", "L1", "nZ", "nZ"),
            ("L1", "L0A", "zN", "zZ"),
            ("L1", "L0A", "nZ", "zZ"),
            ("L1", "L0B", "zN", "nZ"),
            ("L1", "L0B", "nZ", "nZ"),
            ("L0C", "GM", "L0C", "RowMajor"),
            ("L0C", "GM", "L0C", "zN"),
            ("GM", "UB", "RowMajor", "RowMajor"),
            ("UB", "GM", "RowMajor", "RowMajor"),
        ]
    )
    narrow = [ascend.int8] if begin != "L0C" else []
    narrow += [ascend.int4b] if (begin, end) == ("GM", "L1") or (end, a) == ("L0B", "zN") else []
    element = rng.choice([ascend.half, ascend.float, *narrow])
    c0 = int(element.C0)
    tile = tuple(rng.choice([rng.randint(1, 48), 16, 32]) for _ in range(2))
    step = rng.choice([1, 16, c0, 32])
    start = tuple(rng.randint(0, 3) * step for _ in range(2))
    whole = tuple(s + t + rng.choice([0, 0, rng.randint(0, 40)]) for s, t in zip(start, tile))
    if (begin, end) == ("GM", "UB") or (begin, end) == ("UB", "GM"):
        small = MakeLayout[element, ascend.RowMajor](*tile, ld=-(-tile[1] // c0) * c0)
    else:
        small = MakeLayout[element, getattr(ascend, a if begin == "L0C" else b)](*tile)
    large = MakeLayout[element, getattr(ascend, b if end == "GM" else a)](*whole)
    outer = GetTile(MakeTensor(None, large, position=end if end == "GM" else begin), start, tile)
    inner = MakeTensor(None, small, position=begin if end == "GM" else end)
    return (inner, outer, element) if end == "GM" else (outer, inner, element)


@pytest.mark.once
def test_random_transfers_move_what_copy_moves_or_are_refused():
    rng, made, refused = random.Random(11), 0, 0
    for _ in range(1000 if NIGHT else 200):
        src, dst, element = random_pair(rng)
        try:
            instructions = transfer(src, dst, AtlasA2, element=element)
        except (Unproven, RangeError) as why:
            assert why.reason.expected, why
            refused += 1
            continue
        require_copied(src, dst, instructions)
        made += 1
    assert made > 80
    assert refused > 10


def test_a_start_inside_a_fractal_is_taken_where_it_moves_the_tile_and_refused_with_the_reason_elsewhere():
    src = GetTile(MakeTensor(None, MakeLayout[half, nZ](64, 64), position="L1"), (0, 8), (32, 16))
    require_copied(
        src, dst := MakeTensor(None, MakeLayout[half, zZ](32, 16), position="L0A"), transfer(src, dst)
    )  # whole rows of 32 bytes
    src = GetTile(MakeTensor(None, MakeLayout[half, nZ](64, 64), position="L1"), (0, 8), (32, 32))
    dst = MakeTensor(None, MakeLayout[half, zZ](32, 32), position="L0A")
    require_copied(src, dst, transfer(src, dst))
    src = GetTile(MakeTensor(None, MakeLayout[half, zN](64, 64), position="L1"), (0, 8), (16, 16))
    with pytest.raises(RangeError, match="a multiple of 32 bytes"):
        transfer(src, MakeTensor(None, MakeLayout[half, zZ](16, 16), position="L0A"))
    src = GetTile(MakeTensor(None, MakeLayout[ascend.int8, nZ](64, 96), position="L1"), (32, 16), (32, 32))
    dst = MakeTensor(None, MakeLayout[ascend.int8, zZ](32, 48), position="L0A")
    with pytest.raises(RangeError, match="as many valid elements in src"):
        transfer(src, dst)
    src = MakeTensor(None, MakeLayout[ascend.float, nZ](32, 24), position="L1")
    with pytest.raises(
        Unproven, match=r"LoadData3D: element \(16,0\) of the tile is not moved to its place"
    ):  # it moves whole 16 columns
        transfer(src, MakeTensor(None, MakeLayout[ascend.float, zZ](32, 24), position="L0A"))


@pytest.mark.parametrize(
    ("src", "dst", "error", "text"),
    [
        (("GM", zN), ("L0A", zZ), LeafTypeError, "a transfer from GM to L0A"),
        (("L1", zN), ("L0A", zN), LeafTypeError, r"from L1 \(zN\) to L0A \(zN\): zN to zZ: .* is not zZ"),
        (("L1", zN), ("L0B", zZ), LeafTypeError, r"from L1 \(zN\) to L0B \(zZ\): zN to nZ: .* is not nZ"),
        (
            ("GM", ascend.RowMajor),
            ("L1", nZ),
            LeafTypeError,
            r"from GM \(RowMajor\) to L1 \(nZ\)\n +expected +RowMajor to zN, or ColumnMajor to nZ",
        ),
        (("GM", zN), ("there", zN), LeafTypeError, "the position there"),
    ],
)
def test_refusals(src, dst, error, text):
    with pytest.raises(error, match=text):
        transfer(*(MakeTensor(None, MakeLayout[half, tag](32, 32), position=place) for place, tag in (src, dst)))


@pytest.mark.parametrize(
    ("ends", "arch", "expected", "fix"),
    [
        (("GM", "L0A"), "AtlasA2", "GM to L1 or UB; L1 to L0A", "go over L1"),
        (("L0C", "L0A"), "AtlasA2", "L0C to GM or L1; L1 to L0A", "go over L1"),
        (("L0C", "L0A"), "Ascend950", "L0C to GM or UB; L1 to L0A", "go over GM and L1"),
        (("GM", "GM"), "AtlasA2", "GM to L1 or UB; L0C or UB to GM", "go over UB"),
        (("L0A", "GM"), "AtlasA2", "L0C or UB to GM", "take one of these"),
        (("L0A", "L0C"), "AtlasA2", "positions that GM and L0C and L1 and UB reach", "take one of these"),
    ],
)
def test_positions_that_nothing_joins_are_refused_with_those_that_are_and_a_way(ends, arch, expected, fix):
    with pytest.raises(LeafTypeError) as error:
        transfer(*(MakeTensor(None, MakeLayout[half, zN](32, 32), position=place) for place in ends), arch)
    assert error.value.reason == (f"a transfer from {ends[0]} to {ends[1]} on {arch}", expected, fix)


def test_the_nearest_legal_start_and_size_are_told_and_are_legal():
    whole, dst = (
        MakeTensor(None, MakeLayout[half, zN](64, 64), position="L1"),
        MakeTensor(None, MakeLayout[half, zZ](16, 16), position="L0A"),
    )
    with pytest.raises(RangeError, match=r"begin the tile at \(0,0\) or \(0,16\)"):
        transfer(GetTile(whole, (0, 8), (16, 16)), dst)
    for start in ((0, 0), (0, 16)):
        require_copied(src := GetTile(whole, start, (16, 16)), dst, transfer(src, dst))
    row = MakeTensor(None, MakeLayout[half, ascend.RowMajor](4, 64), position="UB")
    out = MakeTensor(None, MakeLayout[half, ascend.RowMajor](4, 16), position="GM")
    with pytest.raises(RangeError, match=r"begin the tile at \(0,32\) or \(0,48\)"):
        transfer(GetTile(row, (0, 35), (4, 16)), out, element=half)
    for start in ((0, 32), (0, 48)):
        require_copied(src := GetTile(row, start, (4, 16)), out, transfer(src, out, element=half))
    sizes = (32, 24), (32, 32)
    odd, even = (
        [MakeTensor(None, MakeLayout[ascend.float, t](*n), position=p) for p, t in (("L1", nZ), ("L0A", zZ))]
        for n in sizes
    )
    require_copied(*even, transfer(*even))
    with pytest.raises(
        Unproven, match=r"lay dst out as MakeLayout\[32, zZ\]\(32, 24, ld=32\), which Mmad reads with kDirectionAlign"
    ):
        transfer(*odd)
    fixed = MakeTensor(None, MakeLayout[ascend.float, zZ](32, 24, ld=32), position="L0A")
    require_copied(odd[0], fixed, transfer(odd[0], fixed))


def at(position, layout):
    return MakeTensor(None, layout, position=position)


@pytest.mark.parametrize(
    ("src", "dst", "arch", "field", "legal", "next_start"),
    [
        (
            at("GM", MakeLayout[half, ascend.RowMajor](5000, 8)),
            at("UB", MakeLayout[half, ascend.RowMajor](5000, 8, ld=16)),
            "AtlasA2",
            "blockCount = 5000",
            (4095, 8),
            (4095, 0),
        ),
        (
            at("UB", MakeLayout[half, ascend.RowMajor](4, 16)),
            at("GM", MakeLayout[half, ascend.RowMajor](4, 16, ld=2**32)),
            "AtlasA2",
            "dstStride = 8589934560",
            (1, 16),
            (1, 0),
        ),
        (
            at("L0C", ascend.L0C(16, 32).layout),
            at("GM", MakeLayout[half, ascend.RowMajor](16, 32, ld=2**33)),
            "AtlasA2",
            "dstStride = 8589934592",
            (1, 32),
            (1, 0),
        ),
        (
            at("L0C", ascend.L0C(16, 4096).layout),
            at("GM", MakeLayout[half, ascend.RowMajor](16, 4096)),
            "Ascend950",
            "nSize = 4096",
            (16, 4080),
            (0, 4080),
        ),
        (
            GetTile(at("GM", MakeLayoutFmap[half](1, 2, 9, 70000)), (0, 0, 0, 0, 0), (1, 2, 3, 16, 16)),
            at("L1", MakeLayoutFmap[half](1, 2, 3, 16)),
            "AtlasA2",
            "srcStride = 69984",
            (1, 2, 1, 16, 16),
            (0, 0, 1, 0, 0),
        ),
    ],
    ids=["rows", "far rows", "far rows of L0C", "wide", "image"],
)
def test_a_field_that_overflows_names_the_largest_tile_that_is_legal(src, dst, arch, field, legal, next_start):
    with pytest.raises(RangeError) as error:
        transfer(src, dst, arch, element=half)
    assert field in error.value.reason.what
    assert error.value.reason.fix == f"move ({','.join(map(str, legal))}) elements at a time: GetTile of both"
    for start in ((0,) * len(legal), next_start):
        a, b = (GetTile(t, start, legal) for t in (src, dst))
        made = transfer(a, b, arch, element=half)
        if len(legal) == 2:
            require_copied(a, b, made)
    mode = next(i for i, n in enumerate(next_start) if n)
    more = tuple(n + (16 if arch == "Ascend950" else 1) if i == mode else n for i, n in enumerate(legal))
    with pytest.raises(RangeError):
        transfer(*(GetTile(t, (0,) * len(more), more) for t in (src, dst)), arch, element=half)


@pytest.mark.parametrize("step", [2**16 - 1, 2**16, 2**32 - 16, 2**32, 2**32 + 16, 3 * 2**32 + 48])
def test_the_step_behind_the_only_row_is_cut_off(step):
    """It does not matter, and a field of 32 bits holds no more."""
    l0c, out = at("L0C", ascend.L0C(1, 32).layout), at("GM", MakeLayout[half, ascend.RowMajor](1, 32, ld=step))
    for arch in ("AtlasA2", "Ascend950"):
        (i,) = transfer(l0c, out, arch, element=half)
        assert i.parameters["dstStride"] == step % 2**32
    image = GetTile(at("GM", MakeLayoutFmap[half](1, 2, 9, step % 2**20 + 16)), (0, 0, 0, 0, 0), (1, 1, 1, 16, 16))
    (i,) = transfer(image, at("L1", MakeLayoutFmap[half](1, 1, 1, 16)), element=half)
    assert i.parameters["srcStride"] == step % 2**16
    unified = at("UB", MakeLayout[half, ascend.RowMajor](1, 32))
    (i,) = transfer(unified, out, element=half)
    assert i.parameters["dstStride"] == 2 * (step - 32) % 2**32
    (i,) = transfer(out, unified, element=half)
    assert i.parameters["srcStride"] == 2 * (step - 32) % 2**32


def test_nd2nz_has_16384_rows_at_most():
    src, dst = at("GM", MakeLayout[half, ascend.RowMajor](16384, 16)), at("L1", MakeLayout[half, zN](16384, 16))
    (i,) = transfer(src, dst)
    assert i.parameters["nValue"] == i.parameters["dstNzC0Stride"] == 16384  # as AscendC's reference allows
    with pytest.raises(RangeError, match="nValue = 16385\n  expected  0 to 16384"):
        TransferInstruction("Nd2Nz", 0, 0, {**i.parameters, "nValue": 16385}, half).require_fields()


@pytest.mark.parametrize(
    ("src", "dst", "advice", "tag"),
    [
        (
            at("GM", MakeLayout[half, ascend.RowMajor](2048, 256)),
            at("L1", MakeLayout[half, zN](2048, 256)),
            "262144 elements",
            zN,
        ),
        (
            at("GM", MakeLayout[half, ascend.RowMajor](8000, 32)),
            at("UB", MakeLayout[half, ascend.RowMajor](8000, 32)),
            "98304 elements",
            None,
        ),
        (at("L1", MakeLayout[half, zN](16, 4096)), at("L0A", MakeLayout[half, zZ](16, 4096)), "32768 elements", zZ),
    ],
    ids=["L1", "UB", "L0A"],
)
def test_a_tile_larger_than_a_buffer_names_one_that_fits(src, dst, advice, tag):
    with pytest.raises(
        RangeError, match=rf"take a tile of at most {advice}, padding included: \((\d+),(\d+)\)"
    ) as error:
        transfer(src, dst, element=half)
    sizes = tuple(map(int, re.findall(r"\((\d+),(\d+)\)", error.value.reason.fix)[-1]))
    fits({dst.position: (MakeLayout[half, tag or ascend.RowMajor](*sizes), half)})
    small = MakeTensor(None, MakeLayout[half, tag or ascend.RowMajor](*sizes), position=dst.position)
    try:
        assert transfer(GetTile(src, (0, 0), sizes), small, element=half)
    except RangeError as more:  # it fits, but not into one instruction: the next advice does
        assert tag is None, more
        sizes = tuple(map(int, re.findall(r"\((\d+),(\d+)\)", more.reason.fix)[-1]))
        assert transfer(GetTile(src, (0, 0), sizes), GetTile(small, (0, 0), sizes), element=half)


def test_a_tile_of_l0c_may_begin_at_any_row():
    """Addresses there are aligned to 64 bytes: 16 accumulators, which are a row of a block."""
    whole = at("L0C", ascend.L0C(40, 48).layout)
    src, dst = GetTile(whole, (5, 16), (20, 32)), at("GM", MakeLayout[half, ascend.RowMajor](20, 32))
    require_copied(src, dst, transfer(src, dst, element=half))
    with pytest.raises(RangeError, match=r"begin the tile at \(5,0\) or \(5,16\)"):
        transfer(GetTile(whole, (5, 8), (20, 32)), dst, element=half)


@pytest.mark.parametrize(("tag", "inner"), [("RowMajor", zN), ("ColumnMajor", nZ)])
def test_elements_of_four_bits_are_moved_as_bytes(tag, inner):
    """AscendC counts the fields of Nd2Nz in bytes for int4b_t, and CATLASS's CopyGmToL1 halves dValue and srcDValue."""
    rows_, columns = (100, 70) if tag == "RowMajor" else (70, 100)
    src = GetTile(at("GM", MakeLayout[ascend.int4b, getattr(ascend, tag)](rows_, columns, ld=90)), (2, 4), (60, 60))
    dst = at("L1", MakeLayout[ascend.int4b, inner](60, 60))
    (i,) = made = transfer(src, dst)
    assert (i.parameters["nValue"], i.parameters["dValue"], i.parameters["srcDValue"]) == (60, 30, 45)
    assert "ReinterpretCast" not in i.text
    require_copied(src, dst, made)
    odd = at("GM", MakeLayout[ascend.int4b, getattr(ascend, tag)](rows_, columns, ld=91))
    with pytest.raises(Unproven, match="an even number of elements"):  # a row would begin inside of a byte
        transfer(odd, at("L1", MakeLayout[ascend.int4b, inner](rows_, columns)))


def test_rows_of_an_even_number_are_not_the_advice_where_they_are_even():
    src, dst = (at(place, MakeLayout[ascend.int4b, tag](80, 128)) for place, tag in (("L1", zN), ("L0B", nZ)))
    with pytest.raises(Unproven, match=r"begin tiles at whole blocks.* moves whole: \(128,128\)"):
        transfer(src, dst)


def test_four_bits_are_transposed_in_squares_of_64():
    src, dst = at("L1", MakeLayout[ascend.int4b, zN](128, 100)), at("L0B", MakeLayout[ascend.int4b, nZ](128, 100))
    made = transfer(src, dst)
    assert [(i.src, i.dst, *i.parameters.values()) for i in made] == [(0, 0, 2, 2, 3, 0), (4096, 7168, 2, 2, 3, 0)]
    require_copied(src, dst, made)


def test_widths_and_tags_without_a_path_are_refused_with_those_that_have_one():
    rows_ = [MakeTensor(None, MakeLayout[ascend.int4b, ascend.RowMajor](4, 64), position=p) for p in ("GM", "UB")]
    with pytest.raises(LeafTypeError, match=r"elements of 8 or 16 or 32 bits\n.*give an element type of this width"):
        transfer(*rows_, element=ascend.int4b)
    blocks = [MakeTensor(None, MakeLayout[half, zN](32, 32), position=p) for p in ("GM", "L1")]
    with pytest.raises(LeafTypeError, match=r"with tag=nN\n.*zN.*\n.*leave out tag="):
        transfer(*blocks, tag=ascend.nN)


def test_ascendc_has_more_names_for_a_buffer():
    source = MakeTensor(None, MakeLayout[half, zN](32, 32), position="GM")
    wanted = transfer(source, MakeTensor(None, MakeLayout[half, zN](32, 32), position="L1"))
    for name in ("A1", "B1"):
        assert transfer(source, MakeTensor(None, MakeLayout[half, zN](32, 32), position=name)) == wanted


def test_the_text_of_transfers(golden):
    """Review a change of these lines against AscendC's manual."""

    def at(position, element, tag, rows_, columns, **more):
        return MakeTensor(None, MakeLayout[element, tag](rows_, columns, **more), position=position)

    row_major, l0c = ascend.RowMajor, MakeTensor(None, ascend.L0C(20, 30).layout, position="L0C")
    image = MakeTensor(None, MakeLayoutFmap[half](1, 1, 14, 14), position="L1")
    cases = {
        "rows to blocks": transfer(at("GM", half, row_major, 20, 30), at("L1", half, zN, 20, 30)),
        "rows too far apart": transfer(at("GM", half, row_major, 2, 30, ld=65536), at("L1", half, zN, 2, 30)),
        "blocks to blocks": transfer(at("GM", half, zN, 20, 30), at("L1", half, zN, 32, 32)),
        "to L0A": transfer(at("L1", half, zN, 20, 30), at("L0A", half, zZ, 20, 30)),
        "bytes, transposed": transfer(at("L1", ascend.int8, zN, 32, 32), at("L0B", ascend.int8, nZ, 32, 32)),
        "words, transposed": transfer(
            at("L1", ascend.float, nZ, 32, 32), at("L0A", ascend.float, zZ, 32, 32), element=ascend.float
        ),
        "a window": transfer(
            image, at("L0A", half, zZ, 196, 144), element=half, conv=ascend.Conv2d((3, 3), padding=(1, 1, 1, 1))
        ),
        "out, scaled": transfer(
            l0c,
            at("GM", ascend.int8, row_major, 20, 30),
            element=ascend.int8,
            quant="PER_TENSOR",
            accumulator=ascend.int32,
            relu=True,
        ),
        "rows, padded": transfer(
            at("GM", half, row_major, 5, 21), at("UB", half, row_major, 5, 21, ld=32), element=half, pad=True
        ),
        "to L0A of Ascend950": transfer(at("L1", half, zN, 20, 30), at("L0A", half, zN, 20, 30), "Ascend950"),
        "4 bits, as bytes": transfer(
            at("GM", ascend.int4b, row_major, 20, 30, ld=90), at("L1", ascend.int4b, zN, 20, 30)
        ),
        "4 bits, transposed": transfer(at("L1", ascend.int4b, zN, 128, 64), at("L0B", ascend.int4b, nZ, 128, 64)),
        "4 bits of Ascend950": transfer(
            at("GM", ascend.fp4_e2m1, row_major, 20, 30, ld=90), at("L1", ascend.fp4_e2m1, zN, 20, 30), "Ascend950"
        ),
        "out of Ascend950": transfer(l0c, at("GM", half, row_major, 20, 30), "Ascend950", element=half),
    }
    golden("ascend/transfers.txt", "".join(f"// {name}\n{made}\n" for name, made in cases.items()))


def test_what_does_not_fit_is_refused():
    gm = MakeTensor(None, MakeLayout[half, zN](1024, 1024), position="GM")
    with pytest.raises(RangeError, match=r"at most 524288 bytes on AtlasA2\n.*a tile of at most 262144 elements"):
        transfer(gm, MakeTensor(None, MakeLayout[half, zN](1024, 1024), position="L1"))
    small = MakeTensor(None, MakeLayout[half, zN](128, 128), position="L1")
    with pytest.raises(RangeError, match=r"a tile that holds them\n.*GetTile\(src, \(0,0\), \(128,128\)\)"):
        transfer(gm, small)
    assert transfer(GetTile(gm, (0, 0), (128, 128)), small)
    with pytest.raises(Unproven, match=r'it is not known whether M <= 32\n.*\n +fix +declare dim\("M", at_most=32\)'):
        transfer(
            MakeTensor(None, MakeLayout[half, zN](dim("M"), 32), position="GM"),
            MakeTensor(None, MakeLayout[half, zN](32, 32), position="L1"),
        )


@pytest.mark.parametrize(("place", "element", "tag", "sizes", "most"), [
    ("L1", half, zN, (32, 32), 2**18), ("L0A", ascend.int8, zZ, (32, 32), 2**16), ("UB", ascend.float, ascend.RowMajor, (4, 8), 49152),
])  # fmt: skip
def test_a_tile_ends_inside_of_its_buffer(place, element, tag, sizes, most):
    """An offset counts, and no padding does that lies behind the tile's own."""
    layout = MakeLayout[element, tag](*sizes)
    begin = "L1" if place == "L0A" else "GM"
    src = at(begin, MakeLayout[element, zN if begin == "L1" else tag](*sizes))
    last = most - math.prod(sizes)
    (*_, i) = transfer(src, MakeTensor(None, layout, position=place, offset=last), element=element)
    assert i.dst >= last
    for more in (1, 8, most):
        dst = MakeTensor(None, layout, position=place, offset=last + more)
        with pytest.raises(
            RangeError,
            match=f"a tile that ends {more} elements behind the end of {place}\n.*\n.*an offset that is {more} el",
        ):
            transfer(src, dst, element=element)


def test_a_tile_that_fills_its_buffer_may_begin_inside_of_a_block():
    whole = at("L1", MakeLayout[half, zN](512, 512))
    tile, dst = GetTile(whole, (504, 496), (8, 16)), at("L0A", MakeLayout[half, zZ](8, 16))
    require_copied(tile, dst, transfer(tile, dst))
    with pytest.raises(RangeError, match="262400 elements of 16 bits in L1"):
        transfer(at("L1", MakeLayout[half, zN](16, 16400)), at("L0A", MakeLayout[half, zZ](16, 16)))


def test_what_is_empty():
    src, dst = (at(place, MakeLayout[half, zN](32, 32)) for place in ("GM", "L1"))
    for tile in (GetTile(dst, (32, 0), (16, 16)), GetTile(dst, (0, 48), (16, 16))):
        assert transfer(src, tile) == ()


@pytest.mark.parametrize(("places", "tags", "sizes", "steps"), [
    (("GM", "UB"), (ascend.RowMajor, ascend.RowMajor), ((5000, 8), (6000, 16)), (4095, 8)),
    (("UB", "GM"), (ascend.RowMajor, ascend.RowMajor), ((6000, 16), (5000, 8)), (4095, 8)),
])  # fmt: skip
def test_the_tile_that_is_advised_is_of_what_moves(places, tags, sizes, steps):
    src, dst = (at(place, MakeLayout[half, tag](*n, ld=16)) for place, tag, n in zip(places, tags, sizes))
    with pytest.raises(
        RangeError, match=rf"blockCount = 5000\n.*\n.*move \({steps[0]},{steps[1]}\) elements at a time"
    ):
        transfer(src, dst, element=half)


def test_the_step_of_the_only_row_is_no_gap_below_0():
    """The stride of an extent 1 may be anything."""
    row, tile = Layout((1, 32), (5, 1)), MakeLayout[half, ascend.RowMajor](1, 32)
    for src, dst in ((at("GM", row), at("UB", tile)), (at("UB", tile), at("GM", row)), (at("GM", tile), at("UB", row))):
        (i,) = transfer(src, dst, element=half)
        assert (i.parameters["srcStride"], i.parameters["dstStride"]) == (0, 0)


def test_bytes_behind_the_tile_are_told():
    """Squares that a transpose moves whole: of 37 rows of bytes it writes 64, of which the tile has 48. Units of 32
    bytes of a vector."""
    sides = [at("L1", MakeLayout[ascend.int8, nZ](37, 140)), at("L0A", MakeLayout[ascend.int8, zN](37, 140))]
    assert transfer(*sides, "Ascend950").beyond == 16 * 32
    whole = MakeLayout[ascend.int8, zN](64, 140)
    sides[1] = at("L0A", Layout(whole.shape, whole.stride, origin_shape=(37, 140)))
    assert transfer(*sides, "Ascend950").beyond == 0
    assert transfer(at("GM", MakeLayout[half, zN](20, 30)), at("L1", MakeLayout[half, zN](20, 30))).beyond == 0


@pytest.mark.parametrize(("n", "beyond"), [(16, 0), (20, 24), (32, 0), (33, 30)])
def test_bytes_behind_a_vector_are_those_of_its_last_unit(n, beyond):
    assert transfer(at("GM", MakeLayout(n)), at("L1", MakeLayout(n)), element=half).beyond == beyond
    assert transfer(at("UB", MakeLayout(n)), at("GM", MakeLayout(n)), element=half).beyond == 0


@pytest.mark.parametrize("n", [20, 37])
def test_what_is_behind_the_valid_rows_may_be_written_where_it_is_the_tiles_own(n):
    """CATLASS moves all squares of the source: into the padding of a tile that has room for them, and not behind a tile
    that has none."""
    src, room = at("L1", MakeLayout[ascend.int8, nZ](128, 64)), MakeLayout[ascend.int8, zZ](128, 64)
    dst = at("L0A", Layout(room.shape, room.stride, origin_shape=(n, 64)))
    made = transfer(src, dst, element=ascend.int8)
    assert made.beyond == 0
    require_copied(src, dst, made)
    with pytest.raises(Unproven, match=r"which is no part of the tile"):
        transfer(src, at("L0A", MakeLayout[ascend.int8, zZ](n, 64)), element=ascend.int8)


def test_the_last_unit_of_a_vector_lies_in_the_buffer_too():
    """512 KiB of L1: 16 halves of the last unit, of which 12 are the vector's, or none is behind the end."""
    for offset, n in ((2**18 - 16, 12), (2**18 - 16, 16)):
        dst = MakeTensor(None, MakeLayout(n), position="L1", offset=offset)
        assert transfer(at("GM", MakeLayout(n)), dst, element=half)[0].dst == offset
    with pytest.raises(RangeError, match="ends 4 elements behind the end of L1"):
        transfer(
            at("GM", MakeLayout(20)), MakeTensor(None, MakeLayout(20), position="L1", offset=2**18 - 16), element=half
        )


@pytest.mark.parametrize("element", [half, ascend.int8])
def test_rows_of_whole_bytes_are_not_advised_to_be_even(element):
    src, dst = (at(place, MakeLayout[element, ascend.RowMajor](4, 20, ld=ld)) for place, ld in (("GM", 33), ("UB", 21)))
    with pytest.raises(Unproven, match=r"expected  src\[33\] in dst\[21\]\n") as error:
        transfer(src, dst, element=element)
    assert error.value.reason.fix == "begin tiles at whole blocks, and take blocks that the instruction moves whole"


def test_a_size_in_whole_squares_is_not_advised_again():
    """Of 48 rows of the source the instruction would take squares of 32, which do not lie one behind another."""
    src = GetTile(at("L1", MakeLayout[ascend.int8, zN](48, 64)), (0, 0), (32, 64))
    with pytest.raises(Unproven, match="is not moved to its place") as error:
        transfer(src, at("L0B", MakeLayout[ascend.int8, nZ](32, 64)))
    assert error.value.reason.fix == "begin tiles at whole blocks, and take blocks that the instruction moves whole"


@pytest.mark.parametrize(("arch", "end", "bits", "form"), [
    ("AtlasA2", "L1", 16, ""), ("Ascend950", "L1", 16, ""), ("AtlasA2", "Bias", 32, "64"), ("Ascend950", "Bias", 32, ""),
    ("AtlasA2", "FixBuf", 64, "128"), ("Ascend950", "FixBuf", 64, "64"), ("AtlasA2", "L1", 32, ""), ("Ascend950", "Bias", 16, ""),
])  # fmt: skip
def test_bursts_of_vectors_have_the_unit_of_their_buffer(arch, end, bits, form):
    """32 bytes, which is not told; 64 of the biases and 128 of the scales of Fixpipe on AtlasA2, 32 and
    64 on Ascend950."""
    unit = int(form or 32) * 8 // bits
    for n in (1, unit, unit + 1, 7 * unit):
        begin = "GM" if end == "L1" else "L1"
        (i,) = transfer(at(begin, MakeLayout(n)), at(end, MakeLayout(n)), arch, element=bits)
        length = -(-n // unit)
        assert (i.form, i.parameters["blockLen"]) == (
            form,
            length + length % 2 * (form == "" and end == "Bias" and bits == 32),
        )


@pytest.mark.parametrize("sizes", [(17, 32), (16, 33), (32, 16)])
def test_a_tile_is_refused_that_is_too_small_along_one_mode(sizes):
    tile = at("L1", MakeLayout[half, zN](16, 32))
    with pytest.raises(RangeError, match=r"valid elements into a tile of \(16,32\)"):
        transfer(at("GM", MakeLayout[half, ascend.RowMajor](*sizes)), tile)
    whole = at("L1", MakeLayout[half, zN](*sizes))
    with pytest.raises(RangeError, match=r"a tile of .* valid"):
        transfer(whole, at("L0A", MakeLayout[half, zZ](sizes[0] + 1, sizes[1])))
    assert transfer(at("GM", MakeLayout[half, ascend.RowMajor](16, 32)), tile)


@pytest.mark.parametrize("tag", [ascend.RowMajor, ascend.ColumnMajor, zN, nZ])
def test_a_block_of_no_elements_is_a_tile_that_moves_nothing(tag):
    """Of more slices than k has blocks some have no elements: a core's loop needs no question for them."""
    schedule = ascend.SplitkGemmIdentityBlockSwizzle[3, 0]((64, 64, 16), (32, 32, 32), splitkFactor=3, cores=4)
    whole = MakeTensor(None, MakeLayout[half, tag](64, 16), position="GM")
    inner = MakeLayout[half, zN if tag in (ascend.RowMajor, zN) else nZ](32, 32)
    made = []
    for b in itertools.chain.from_iterable(map(schedule.core, range(4))):
        tile = GetTile(whole, (b.start[0], b.start[2]), (b.extents[0], b.extents[2]))
        assert tile.origin_shape == (32, b.extents[2])
        made.append(len(transfer(tile, MakeTensor(None, inner, position="L1"), element=half)))
    assert made.count(1) == 4
    assert made.count(0) == 8


def test_no_valid_element_is_no_instruction():
    gm = GetTile(MakeTensor(None, MakeLayout[half, zN](32, 32), position="GM"), (32, 0), (16, 16))
    assert transfer(gm, MakeTensor(None, MakeLayout[half, zN](16, 16), position="L1")) == ()


# -------------------------------------------------------------------------------------------------------- architectures


def test_the_buffers_of_the_architectures():
    """Sizes [KiB]: `Catlass::Arch` of arch.hpp. What addresses are aligned to [bytes]: AscendC's manual, of DataCopy,
    LoadData and Fixpipe. Positions: `TPosition`; on Ascend950 the scales beside L0A and L0B have no name there."""
    a2 = {"L1": 512, "L0A": 64, "L0B": 64, "L0C": 128, "UB": 192, "Bias": 1, "FixBuf": 7}
    wide = {"L1": 512, "L0A": 64, "L0B": 64, "L0C": 256, "UB": 248, "Bias": 4, "FixBuf": 16, "L0AMx": 4, "L0BMx": 4}
    for arch, name, sizes, cores in (
        (AtlasA2, "AtlasA2", a2, (20, 24)),
        (ascend.AtlasA3, "AtlasA3", a2, (20, 24)),
        (ascend.Ascend950, "Ascend950", wide, (32,)),
    ):
        assert (arch.name, {**arch.sizes}, arch.cores) == (
            name,
            {place: kib * 1024 for place, kib in sizes.items()},
            cores,
        )
        by_64 = {"L0C": 64, "Bias": 64, "FixBuf": 128, "L0A": 512, "L0B": 512, "GM": 1}
        assert {**arch.alignment} == {**dict.fromkeys(("L1", "UB", "L0AMx", "L0BMx"), 32), **by_64}
    names = {
        "GM": "GM",
        "A1": "L1",
        "A2": "L0A",
        "B1": "L1",
        "B2": "L0B",
        "C1": "L1",
        "CO1": "L0C",
        "C2": "Bias",
        "VECCALC": "UB",
    }
    names |= {"VECIN": "UB", "VECOUT": "UB", "C2PIPE2GM": "FixBuf", "L0AMx": "L0AMx", "L0BMx": "L0BMx"}
    assert {theirs: position_of(theirs) for theirs in names} == names


def test_tiles_that_fit():
    tile = MakeLayout[half, zN](128, 256)
    found = fits({"L1": [(tile, half), (tile, half)], "L0A": ((128, 64), half)}, AtlasA2, {"L1": 2, "L0A": 2})
    assert {p: (f.used, f.free) for p, f in found.items()} == {"L1": (262144, 262144), "L0A": (32768, 32768)}
    with pytest.raises(RangeError, match="262144 bytes in L0C of AtlasA2: 262144"):
        fits({"L0C": ((256, 256), 32)})
    assert fits({"L0C": ((256, 256), 32)}, "Ascend950")["L0C"].free == 0
    for small, used in (
        (((3,), ascend.int4b), 32),
        (((32,), ascend.int8), 32),
        (((33,), ascend.int8), 64),
        ((tile, half), 65536),
    ):
        assert fits({"L1": small}, AtlasA2, {"L0A": 2})["L1"].used == used  # in whole units of 32 bytes, and once
    with pytest.raises(RangeError, match="take tiles that are 32 bytes smaller, or fewer stages"):
        fits({"L1": (512 * 1024 + 1, 8)})
    assert fits({"L1": (512 * 1024, 8), "L0B": (32 * 1024, 16)}, stages=1)["L0B"].free == 0
    with pytest.raises(LeafTypeError, match="the architecture A5"):
        fits({}, "A5")
    for bad in ([[tile, half]], [(tile, half, 2)], (tile,), tile):
        with pytest.raises(LeafTypeError, match=r"among the tiles\n +expected  a tile and its element type"):
            fits({"L1": bad})
    with pytest.raises(TlaError):
        fits({"GM": (64, half)})


def test_an_instruction_says_what_it_moves():
    i = TransferInstruction("LoadData2D", 0, 0, {"repeatTimes": 2, "srcStride": 3, "dstGap": 0, "ifTranspose": 1}, half)
    assert str(i.moved.src) == "((16,16),2):((16,1),768)"
    assert str(i.moved.dst) == "((16,16),2):((1,16),256)"
    assert i.text.startswith("{ AscendC::LoadData2DParams p; p.repeatTimes = 2;")
    with pytest.raises(RangeError, match="repeatTimes = 256\n  expected  0 to 255"):
        TransferInstruction("LoadData2D", 0, 0, {**i.parameters, "repeatTimes": 256}, half).require_fields()
