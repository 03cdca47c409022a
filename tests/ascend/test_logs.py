"""Logs of single calls: what each call moves, by the fields that it was logged with."""

import json
import random

import pytest

from tla import MakeLayout, MakeTensor
from tla.ascend import L0C, NC1HWC0, Buffer, half, transfer, zN
from tla.ascend.programs.logs import read_log
from tla.ascend.programs.memory import offsets_of
from tla.ascend.transfers.proof import executed as by_layouts
from tla.core.errors import LeafTypeError

from night import amount
from transfer_oracle import executed, offset_of

C = 0x3000


def at(position, kind="half", address=0):
    return {"type": kind, "position": position, "address": address}


def logged(i, form):
    """A Fixpipe of Ascend950 as the stand-in for AscendC logs it: from L0C to global memory."""
    fields = {name: int(n) for name, n in i.parameters.items() if name != "channelSplit"}
    struct = {"struct": f"AscendC::FixpipeParamsC310<{form}>", **fields, "isChannelSplit": 0}
    args = [at(-1, address=C + 2 * int(i.dst)), at(7, "float", 4 * int(i.src)), struct]
    return json.dumps({"call": "Fixpipe", "types": ["half", "float", {"format": form}], "args": args})


@pytest.mark.parametrize("seed", range(amount(8, 100)))
def test_accumulators_to_blocks_on_ascend950_step_in_elements_or_blocks(seed):
    """dstStride of FixpipeParamsC310 in NZ is counted in elements, that of DataCopyCO12DstParams in blocks of 32 bytes."""
    rng = random.Random(seed)
    m, columns = rng.randint(1, 50), rng.randint(1, 4)
    layout = MakeLayout[half, zN](m + rng.randint(0, 40), 16 * columns)
    step = int(layout.stride[1][1])
    acc, dst = L0C(m, 16 * columns).layout, MakeTensor(None, layout, position="GM")
    fields = {"nSize": 16 * columns, "mSize": m, "srcStride": int(acc.stride[1][1]) // 16}
    if seed % 2:
        call, types = "Fixpipe", ["half", "float", {"format": 0}]
        struct = {"struct": "AscendC::FixpipeParamsC310<0>", **fields, "dstStride": step, "isChannelSplit": 0}
    else:
        call, types = "DataCopy", ["half", "float"]
        struct = {
            "struct": "AscendC::DataCopyCO12DstParams",
            **fields,
            "dstStride": step // 16,
            "channelSplit": 0,
            "nz2ndEn": 0,
        }
    args = [at(-1, address=C), at(7, "float"), struct]
    line = json.dumps({"call": call, "types": types, "args": args})
    (move,) = read_log([line], "Ascend950", [Buffer("C", "GM", half, layout, C)]).body
    assert (move.dst, move.src) == ("C", "L0C")
    wanted = {offset_of(dst, (i, j)): int(acc(i, j)) for i in range(m) for j in range(16 * columns)}
    assert executed([move.instruction]) == wanted
    to, begin = by_layouts(move.instruction)
    assert dict(zip(to.ravel().tolist(), begin.ravel().tolist())) == wanted


def test_an_image_on_ascend950_is_read_as_it_was_written():
    image = MakeTensor(None, MakeLayout[half, NC1HWC0](1, 2, 3, 5, 16), position="GM")
    acc = MakeTensor(None, L0C(15, 32).layout, position="L0C")
    made = transfer(acc, image, "Ascend950", element=half)
    assert {i.form for i in made} == {"CFG_NZ_WIDE"}
    program = read_log([logged(i, 0) for i in made], "Ascend950", [Buffer("C", "GM", half, image.layout, C)])
    assert executed([s.instruction for s in program.body]) == executed(made)


@pytest.mark.parametrize(
    ("position", "fields"),
    [
        (-1, {"dualDstCtl": 1}),
        (11, {"dualDstCtl": 3}),
        (11, {"dualDstCtl": 1, "mSize": 15}),
        (11, {"dualDstCtl": 2, "nSize": 48}),
    ],
)
def test_halves_that_no_manual_has_are_refused(position, fields):
    struct = {
        "struct": "AscendC::FixpipeParamsC310<AscendC::CO2Layout::ROW_MAJOR>",
        "nSize": 32,
        "mSize": 16,
        "srcStride": 16,
    }
    args = [at(position, "float", C if position == -1 else 0), at(7, "float"), {**struct, "dstStride": 32, **fields}]
    line = json.dumps({"call": "Fixpipe", "types": ["float", "float", {"format": 1}], "args": args})
    c = Buffer("C", "GM", half, L0C(16, 32).layout, C)
    with pytest.raises(LeafTypeError, match="dualDstCtl"):
        read_log([line], "Ascend950", [c])
    with pytest.raises(LeafTypeError, match="a tensor named UB0"):
        read_log([], "Ascend950", [Buffer("UB0", "GM", half, L0C(16, 32).layout, C)])


def test_what_begins_inside_of_an_image_is_moved_from_there():
    """LoadData3DParamsV2Pro of one row of 32 points by 64 channels: 16 of each, from point 16 and channel 32 on."""
    fields = {"channelSize": 64, "enTranspose": 0, "fMatrixCtrl": 0, "filterConfig": 0x10101010101}
    fields |= {"struct": "AscendC::LoadData3DParamsV2Pro", "extConfig": 16 << 48 | 32 << 32 | 16 << 16 | 16}
    lines = [
        {"call": "Load3DSetFMatrixCal", "args": [1, 32, [0, 0, 0, 0]]},
        {"call": "LoadData", "args": [at(2), at(1), fields]},
    ]
    (move,) = read_log(map(json.dumps, lines), "AtlasA2", []).body
    to, begin = offsets_of(move.instruction)
    assert to.tolist() == [*range(256)]  # channels in blocks of 16, each of 32 points
    assert begin.tolist() == [2 * 32 * 16 + (16 + i) * 16 + j for i in range(16) for j in range(16)]
    for wrong in ({"filterConfig": 0x10101010102}, {}):
        with pytest.raises(LeafTypeError, match="LoadData3DParamsV2Pro with filterConfig"):
            read_log([json.dumps({"call": "LoadData", "args": [at(2), at(1), {**fields, **wrong}]})], "AtlasA2", [])


@pytest.mark.parametrize(("told", "wide"), [("AscendC::IsResetLoad3dConfig", 64), ({"isSetFMatrix": 1}, 48)])
def test_a_config_that_a_log_does_not_spell_out_is_told_by_the_image(told, wide):
    """A LoadData3D of an image of no lines is of that of SetFmatrix, where its config is not there to say so."""
    fields = dict.fromkeys(
        ("kStartPt", "mStartPt", "enTranspose", "fMatrixCtrl", *(f"padList[{i}]" for i in range(4))), 0
    )
    fields |= dict.fromkeys(("strideW", "strideH", "filterW", "filterH", "dilationFilterW", "dilationFilterH"), 1)
    image = {"l1H": 0, "l1W": 0} if isinstance(told, str) else {"l1H": 1, "l1W": wide}
    fields |= {"struct": "AscendC::LoadData3DParamsV2<float>", "channelSize": 32, "kExtension": 32, "mExtension": 24}
    ends = [{"type": "float", "position": p, "address": 0} for p in (2, 1)]
    lines = [
        {"call": "SetFmatrix", "args": [1, 64]},
        {"call": "LoadData", "types": ["float", told], "args": [*ends, {**fields, **image}]},
    ]
    (move,) = read_log(map(json.dumps, lines), "AtlasA2", []).body
    assert move.instruction.parameters["l1W"] == wide
