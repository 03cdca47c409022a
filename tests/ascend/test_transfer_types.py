"""What a transfer asks besides the two layouts: element types of buffers, options that only some ways have, and what is
read behind a tensor."""

import dataclasses
import itertools
import random

import numpy as np
import pytest

from tla import GetTile, LeafTypeError, MakeLayout, MakeTensor, RangeError, TlaError, Unproven, ascend
from tla.ascend import L0C, RowMajor, half, int8, nZ, transfer, zZ
from tla.ascend.transfers import proof
from tla.ascend.transfers.side import side_of

from night import amount
from transfer_oracle import MEANING, executed, offset_of

DTYPES = {"int8": np.int8, "half": np.float16, "int16": np.int16, "int32": np.int32, "float": np.float32}


def held(layout, position, dtype):
    return MakeTensor(np.zeros(4096, dtype), layout, position)


def empty(layout, position):
    return MakeTensor(None, layout, position=position)


def tagged(element, tag, *sizes, **more):
    return MakeLayout[getattr(ascend, element), getattr(ascend, tag)](*sizes, **more)


#: Every way out of a position other than L0C, with the tags that it has for every width.
WAYS = [
    ("GM", "L1", "RowMajor", "zN", "AtlasA2"),
    ("GM", "L1", "zN", "zN", "AtlasA2"),
    ("GM", "UB", "RowMajor", "RowMajor", "AtlasA2"),
    ("UB", "GM", "RowMajor", "RowMajor", "AtlasA2"),
    ("L1", "L0A", "zN", "zZ", "AtlasA2"),
    ("L1", "L0B", "nZ", "nZ", "Ascend950"),
    ("UB", "L1", "zN", "zN", "Ascend950"),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda w: " ".join(w))
def test_buffers_of_two_types_are_refused_and_element_takes_their_bits(way):
    begin, end, a, b, arch = way
    for x, y in itertools.product(DTYPES, repeat=2):
        src, dst = held(tagged(x, a, 32, 32), begin, DTYPES[x]), held(tagged(y, b, 32, 32), end, DTYPES[y])
        if x == y:
            assert transfer(src, dst, arch)
            continue
        with pytest.raises(
            LeafTypeError, match=f"a transfer from a buffer of {x} to one of {y}\n +expected +one element type"
        ):
            transfer(src, dst, arch)
        same = held(tagged(y, a, 32, 32), begin, DTYPES[x])  # laid out for it
        (*_, i) = transfer(same, dst, arch, element=getattr(ascend, y))
        assert i.element.name == y


def test_a_buffer_of_a_type_without_a_name_is_its_bits():
    layout = MakeLayout[16, RowMajor](32, 32)
    for dtype in (np.float16, np.int16):
        src, dst = held(layout, "GM", np.uint16), held(layout, "UB", dtype)
        assert str(transfer(src, dst)[0]) == str(transfer(src, held(layout, "UB", np.uint16))[0])
    with pytest.raises(LeafTypeError, match="from a buffer of 16 to one of int8"):
        transfer(held(layout, "GM", np.uint16), held(MakeLayout[8, RowMajor](32, 32), "UB", np.int8))


@pytest.mark.parametrize("arch", ["AtlasA2", "Ascend950"])
def test_the_buffer_in_l0c_says_what_is_accumulated(arch):
    rows = MakeLayout[half, RowMajor](64, 64)
    total = {"float": held(L0C(64, 64).layout, "L0C", np.float32), "int32": held(L0C(64, 64).layout, "L0C", np.int32)}
    total["none"] = empty(L0C(64, 64).layout, "L0C")
    out = {name: held(rows, "GM", dtype) for name, dtype in DTYPES.items()}

    def mode(src, dst, **more):
        (i,) = transfer(total[src], out[dst], arch, **more)
        return i.settings["quantPre"].removeprefix("QuantMode_t::"), i.settings["Source"]

    assert mode("float", "half") == mode("none", "half") == ("F322F16", "float")
    assert mode("float", "float") == mode("none", "float") == ("NoQuant", "float")
    assert mode("int32", "int32") == mode("none", "int32", accumulator=ascend.int32) == ("NoQuant", "int32_t")
    assert mode("int32", "half", quant="PER_TENSOR") == ("DEQF16", "int32_t")
    for dst in ("half", "float"):
        with pytest.raises(LeafTypeError, match=f"Fixpipe of int32 to {dst} with quant='NO_QUANT'"):
            mode("int32", dst)
    with pytest.raises(LeafTypeError, match="Fixpipe of float to int32"):
        mode("float", "int32")
    for src, other in (("float", ascend.int32), ("int32", ascend.float)):
        with pytest.raises(
            LeafTypeError, match=f"accumulator={other} of a buffer of {src} in L0C\n +expected +accumulator={src}"
        ):
            transfer(total[src], out["half"], arch, accumulator=other)
        assert transfer(total[src], empty(rows, "GM"), arch, element=32)[0].settings["Source"] == (
            "float" if src == "float" else "int32_t"
        )
    with pytest.raises(LeafTypeError, match="Fixpipe of half to half"):
        transfer(held(L0C(64, 64).layout, "L0C", np.float16), out["half"], arch)
    assert transfer(total["int32"], empty(rows, "GM"), arch)[0].element == ascend.int32


OPTIONS = {
    "quant": ("PER_TENSOR", "NONSENSE"),
    "accumulator": (ascend.int32, ascend.float),
    "relu": (True,),
    "pad": (True,),
}


@pytest.mark.parametrize("way", [*WAYS, ("L0C", "GM", "L0C", "RowMajor", "AtlasA2")], ids=lambda w: " ".join(w))
def test_an_option_that_a_way_has_not_is_refused(way):
    begin, end, a, b, arch = way
    src, dst = empty(tagged("half", a, 32, 32), begin), empty(tagged("half", b, 32, 32), end)
    assert transfer(src, dst, arch, element=half, quant="NO_QUANT", accumulator=None, relu=False, pad=False)
    for name, values in OPTIONS.items():
        has = (begin, end) == ("GM", "UB") if name == "pad" else begin == "L0C"
        for value in () if has else values:
            with pytest.raises(
                LeafTypeError, match=rf"{name}=.* of a transfer from {begin} to {end}\n +expected .*{name}= .* only"
            ) as error:
                transfer(src, dst, arch, element=half, **{name: value})
            assert error.value.reason.fix == f"leave out {name}="
    for name in ("relu", "pad"):
        with pytest.raises(LeafTypeError, match=f"{name}='yes' of a transfer\n +expected +True or False"):
            transfer(src, dst, arch, element=half, **{name: "yes"})


# ------------------------------------------------------------------------------------------ rows of UB, each place once


@pytest.mark.once
def test_rows_of_ub_that_are_no_whole_32_bytes_are_refused():
    """Fixpipe to UB writes rows in whole units: the rest of one would lie over the next."""
    rng = random.Random(31)
    made = refused = 0
    for _ in range(200):
        element = rng.choice([ascend.float, half])
        rows, columns = rng.randint(1, 40), rng.randint(1, 40)
        ld = columns + rng.choice([0, rng.randint(0, 20), -columns % int(element.C0)])
        src = empty(L0C(rows, columns).layout, "L0C")
        dst = empty(MakeLayout[element, RowMajor](rows, columns, ld=ld), "UB")
        if rows > 1 and ld % int(element.C0):
            with pytest.raises(RangeError, match=r"rows of UB that are .* apart") as error:
                transfer(src, dst, "Ascend950", element=element)
            ld = int(error.value.reason.fix.removeprefix("lay it out with ld="))
            dst = empty(MakeLayout[element, RowMajor](rows, columns, ld=ld), "UB")
            refused += 1
        made += 1
        instructions = transfer(src, dst, "Ascend950", element=element)
        written = [offset for i in instructions for offset in executed([i])]
        assert len(written) == len({*written})
        moved = executed(instructions)
        for c in itertools.product(range(rows), range(columns)):
            assert moved[offset_of(dst, c)] == offset_of(src, c)
    assert refused > 40 < made


def test_an_instruction_that_writes_a_place_twice_is_refused():
    """Whichever way it walks: here the proof of a plan whose rows overlap."""
    src, dst = empty(L0C(3, 16).layout, "L0C"), empty(MakeLayout[ascend.float, RowMajor](3, 16), "GM")
    (i,) = transfer(src, dst, element=ascend.float)
    wrong = dataclasses.replace(i, parameters={**i.parameters, "dstStride": 8})
    with pytest.raises(
        Unproven, match=r"it writes dst\[8\] twice, in an order that is not said\n +expected +each place once"
    ):
        proof.require_lawful(
            [wrong], ("L0C", "GM"), side_of(src, ascend.float), side_of(dst, ascend.float), ascend.AtlasA2
        )


# ----------------------------------------------------------------------------------------- what is read behind a tensor


def behind(instructions, end, bits):
    """The bytes behind `end` that are read, by the oracle's loops."""
    last = max(
        (
            at + i.src
            for i in instructions
            for _, at in MEANING[i.name](i.parameters, 256 // i.element.bits, i.form)
            if at is not None
        ),
        default=-1,
    )
    return max(0, last + 1 - end) * bits // 8


@pytest.mark.parametrize(
    ("size", "start", "tile", "bytes_"), [(517, 512, 5, 12), (517, 509, 8, 0), (520, 512, 8, 0), (17, 16, 1, 28)]
)
def test_the_last_unit_of_a_vector_is_read_and_told(size, start, tile, bytes_):
    data = np.zeros(size, np.float32)
    src = GetTile(MakeTensor(data, MakeLayout(size), "GM"), (start,), (tile,))
    made = transfer(src, MakeTensor(np.zeros(8, np.float32), MakeLayout(8), "L1"))
    assert made.reads_beyond == bytes_
    assert transfer(src, empty(MakeLayout(8), "UB"), element=ascend.float).reads_beyond == 0  # DataCopyPad counts bytes


def test_squares_that_a_transpose_reads_behind_the_tile_are_told():
    made = transfer(
        empty(MakeLayout[ascend.float, nZ](1, 96), "L1"), empty(tagged("float", "zN", 1, 96), "L0A"), "Ascend950"
    )
    assert made.reads_beyond == 768 * 4
    assert (
        transfer(empty(MakeLayout[half, nZ](64, 64), "L1"), empty(tagged("half", "nZ", 64, 64), "L0B")).reads_beyond
        == 0
    )


@pytest.mark.once
def test_what_is_read_behind_the_tensor_is_what_the_oracle_reads():
    """Random tiles with tails of every way: the bytes behind the tensor's last place, by the manual's loops."""
    rng, found = random.Random(5), 0
    ways = [
        *WAYS,
        ("L1", "L0A", "nZ", "zZ", "AtlasA2"),
        ("L1", "L0B", "zN", "nZ", "AtlasA2"),
        ("L1", "L0A", "nZ", "zN", "Ascend950"),
    ]
    ways += [
        ("GM", "L1", "VectorLayout", "VectorLayout", "AtlasA2"),
        ("L1", "Bias", "VectorLayout", "VectorLayout", "AtlasA2"),
    ]
    for _ in range(400):
        begin, end, a, b, arch = rng.choice(ways)
        element = rng.choice([half, ascend.float] if end == "Bias" else [half, int8, ascend.float])
        sizes = tuple(rng.randint(1, 70) for _ in range(1 if a == "VectorLayout" else 2))
        whole = empty(MakeLayout[element, getattr(ascend, a)](*sizes), begin)
        start = tuple(rng.randrange(0, n, 32) for n in sizes)
        src = GetTile(whole, start, tuple(rng.randint(1, 64) for _ in sizes))
        dst = empty(MakeLayout[element, getattr(ascend, b)](*map(int, src.origin_shape)), end)
        try:
            made = transfer(src, dst, arch, element=element)
        except TlaError:
            continue
        last = int(whole.layout(tuple(int(n) - 1 for n in _padded(whole))))
        assert made.reads_beyond == behind(made, last + 1, element.bits), (src, dst)
        found += made.reads_beyond > 0
    assert found > 20


def _padded(t):
    """The extents of a tensor, padding included."""
    return [int(np.prod([int(n) for n in (m if isinstance(m, tuple) else (m,))])) for m in t.shape]


# ----------------------------------------------------------------------------------------------------- 32 bits into L0A


def test_words_of_a_transposed_a_lie_in_k_of_whole_16():
    """AtlasA2, float A of columns: every k is moved into a layout of k in whole 16, which Mmad reads with
    kDirectionAlign."""
    for k, m in itertools.product(amount((1, 7, 8, 9, 16, 17, 24, 31, 48), range(1, 49)), (16, 20, 48)):
        src = GetTile(empty(MakeLayout[ascend.float, nZ](48, 96), "L1"), (0, 32), (m, k))
        ld = -(-k // 16) * 16
        dst = empty(MakeLayout[ascend.float, zZ](m, k, ld=ld), "L0A")
        moved = executed(transfer(src, dst))
        for c in itertools.product(range(m), range(k)):
            assert moved[offset_of(dst, c)] == offset_of(src, c)
        tight = empty(MakeLayout[ascend.float, zZ](m, k), "L0A")
        if -(-k // 8) % 2 and m > 16:
            with pytest.raises(Unproven) as error:
                transfer(src, tight)
            assert (
                error.value.reason.fix
                == f"lay dst out as MakeLayout[32, zZ]({m}, {k}, ld={ld}), which Mmad reads with kDirectionAlign"
            )


def test_scales_of_mx_types_tell_their_type():
    """MxScalezZ and MxScalenN are layouts of fp8_e8m0 alone."""
    rng = random.Random(53)
    for _ in range(40):
        m, k = rng.randint(1, 90), 2 * rng.randint(1, 20)
        side, tag, local = rng.choice(
            [
                ("A", "MxScaleRowMajorA", "MxScalezZ"),
                ("A", "MxScaleColumnMajorA", "MxScalezZ"),
                ("B", "MxScaleRowMajorB", "MxScalenN"),
            ]
        )
        sizes, room = ((m, k), (96, 48)) if side == "A" else ((k, m), (48, 96))
        gm, l1, l0 = (
            MakeTensor(None, MakeLayout[ascend.fp8_e8m0, getattr(ascend, t)](*n), position=place)
            for t, n, place in ((tag, sizes, "GM"), (local, room, "L1"), (local, sizes, f"L0{side}Mx"))
        )
        for src, dst in ((gm, l1), (GetTile(l1, (0, 0), sizes), l0)):
            told = ascend.transfer(src, dst, ascend.Ascend950)
            assert told == ascend.transfer(src, dst, ascend.Ascend950, element=ascend.fp8_e8m0)
            assert told[0].element == ascend.fp8_e8m0
