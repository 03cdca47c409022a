"""Logs of single calls: what each call moves, by the fields that it was logged with."""

import json
import random

import pytest

from tla import MakeLayout, MakeTensor
from tla.ascend import L0C, NC1HWC0, Buffer, half, transfer, zN
from tla.ascend.programs.logs import read_log
from tla.ascend.transfers.proof import executed as by_layouts

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
