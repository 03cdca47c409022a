"""Logs of vector cores: CATLASS's paddings and sums of slices, calls drawn at random, and faults that are put in."""

import json
import random

import numpy as np
import pytest
from catlass_logs import LOGS

from tla import Layout, MakeLayout
from tla.ascend import (
    Computed,
    Copied,
    PaddingRowMajor,
    Product,
    RowMajor,
    check,
    float32,
    half,
    int8,
    int32,
    uint32,
    zN,
)
from tla.ascend.programs.logs import read_log
from tla.core.errors import LeafTypeError, RangeError, TlaError, Unproven

from night import amount

A, B, W = 1 << 40, 2 << 40, 3 << 40
BARRIER = json.dumps({"call": "PipeBarrier", "pipe": "V"})
#: A log, its tensors, and what it makes of them.
KERNELS = {
    "PaddingMatrixNZ 21x70": (
        {"A": (A, half, MakeLayout[half, RowMajor](21, 70)), "B": (B, half, MakeLayout[half, zN](21, 70))},
        [Copied("B", "A")],
    ),
    "PaddingMatrixBlockND 21x70": (
        {
            "A": (A, half, MakeLayout[half, RowMajor](21, 70)),
            "B": (B, half, MakeLayout[half, PaddingRowMajor](21, 70, 16, 32)),
        },
        [Copied("B", "A")],
    ),
    "PaddingMatrixND 5x300": (
        {
            "A": (A, half, MakeLayout[half, RowMajor](5, 300)),
            "B": (B, half, MakeLayout[half, RowMajor](5, 300, ld=512)),
        },
        [Copied("B", "A")],
    ),
    "SplitkReduceAdd 700x3": (
        {"W": (W, float32, MakeLayout[float32, RowMajor](3, 700)), "B": (B, half, MakeLayout(700))},
        [Computed("B", lambda w: w.sum(0), ("W",))],
    ),
    "RowsScaled 24x64": (
        {
            "A": (A, float32, MakeLayout[float32, RowMajor](24, 64)),
            "S": (W, float32, MakeLayout(24)),
            "B": (B, float32, MakeLayout(24)),
        },
        [Computed("B", lambda a, s: (a * s[:, None]).sum(1), ("A", "S"))],
    ),
}


@pytest.mark.parametrize("name", KERNELS)
def test_a_vector_core_of_catlass_is_right(name):
    report = check(LOGS[name]["lines"], *KERNELS[name])
    assert report.holds, str(report)
    assert not report.notes


def changed(name, call, number, change):
    """The lines of a log with its n-th such call changed; None drops it."""
    lines = [json.loads(line) for line in LOGS[name]["lines"]]
    i = [i for i, x in enumerate(lines) if x["call"] == call][number]
    if change is None:
        del lines[i]
    else:
        change(lines[i])
    return [json.dumps(x) for x in lines]


def field(at, name, by):
    return lambda x: x["args"][at].update({name: x["args"][at][name] + by})


def number(at, by):
    return lambda x: x["args"].__setitem__(at, x["args"][at] + by)


NZ, SUM, SCALED = "PaddingMatrixNZ 21x70", "SplitkReduceAdd 700x3", "RowsScaled 24x64"
FAULTS = {
    "rows are copied before they come": (NZ, "WaitFlag", 1, None, "order"),
    "blocks leave before they are copied": (NZ, "WaitFlag", 3, None, "order"),
    "a copy is lost": (NZ, "Copy", 1, None, "value"),
    "a column of blocks is not copied": (NZ, "Copy", 0, number(3, -1), "value"),
    "half of the rows": (NZ, "Copy", 0, number(2, -64), "value"),
    "rows lie elsewhere": (NZ, "Copy", 0, field(4, "srcStride", 1), "value"),
    "blocks lie elsewhere": (NZ, "Copy", 0, field(4, "dstRepeatSize", 8), "value"),
    "blocks are written elsewhere": (NZ, "DataCopy", 0, field(0, "address", 32), "value"),
    "a slice is not added": (SUM, "Add", 0, None, "value"),
    "a slice is added twice": (SUM, "Add", 1, field(2, "address", -1280), "value"),
    "an element less is added": (SUM, "Add", 0, number(3, -1), "value"),
    "nothing between two sums": (SUM, "PipeBarrier", 0, None, "pipe"),
    "sums leave too soon": (SUM, "WaitFlag", 2, None, "order"),
    "the next slices come too soon": (SUM, "WaitFlag", 3, None, "order"),
    "scales are not spread": (SCALED, "Brcb", 0, None, "value"),
    "scales are spread too far apart": (SCALED, "Brcb", 0, field(3, "dstBlkStride", 1), "value"),
    "eight scales less": (SCALED, "Brcb", 0, number(2, -1), "value"),
    "a row has its neighbour's scale": (SCALED, "Mul", 1, field(5, "src1BlkStride", -1), "value"),
    "a sum of a column less": (SCALED, "WholeReduceSum", 0, number(2, -1), "value"),
    "a row less is summed": (SCALED, "WholeReduceSum", 0, number(3, -1), "value"),
    "sums lie elsewhere": (SCALED, "WholeReduceSum", 0, number(4, 1), "value"),
    "nothing before the sums": (SCALED, "PipeBarrier", 1, None, "pipe"),
    "a sum more leaves": (SUM, "DataCopyPad", -1, field(2, "blockLen", 2), "outside"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_log_of_a_vector_core_is_found(fault):
    name, call, place, change, kind = FAULTS[fault]
    report = check(changed(name, call, place, change), *KERNELS[name])
    assert kind in {f.kind for f in report.findings}, str(report)


def test_an_address_behind_every_memory_is_refused():
    for call, at in (("Add", 0), ("Cast", 1)):
        with pytest.raises(RangeError, match=f"{call} that reaches byte 109951162"):
            check(changed(SUM, call, 0, field(at, "address", 1 << 40)), *KERNELS[SUM])
    name, change = "VnchwND2NZ 1030x6", lambda x: x["args"][0].__setitem__(3, 1 << 40)
    with pytest.raises(RangeError, match="TransDataTo5HD that reaches byte 109951162"):
        check(changed(name, "TransDataTo5HD", 0, change), transposed_tensors(name), [Copied("B", "A")])


# ------------------------------------------------------------------------------------------------------- transposes

#: Paddings by TransDataTo5HD: the element type, and the sizes.
TRANSPOSED = {"VnchwND2NZ 1030x6": (half, 1030, 6), "VnchwND2NZ of words 1030x3": (float32, 1030, 3)}


def transposed_tensors(name):
    element, *sizes = TRANSPOSED[name]
    return {
        "A": (A, element, MakeLayout[element, RowMajor](*sizes)),
        "B": (B, element, MakeLayout[element, zN](*sizes)),
    }


def with_barriers(lines):
    """The lines with a barrier of V before each transpose."""
    return [x for line in lines for x in ([BARRIER, line] if '"TransDataTo5HD"' in line else [line])]


@pytest.mark.parametrize("name", TRANSPOSED)
def test_paddings_by_transposes_are_right_but_for_a_barrier(name):
    """VnchwND2NZ has no barrier between a transpose and the next one, which reads what the first has written."""
    lines = LOGS[name]["lines"]
    report = check(lines, transposed_tensors(name), [Copied("B", "A")])
    assert [str(f) for f in report.findings] == ["pipe: TransDataTo5HD may not wait for TransDataTo5HD: both touch UB"]
    assert check(with_barriers(lines), transposed_tensors(name), [Copied("B", "A")]).holds
    assert check(with_barriers(lines), transposed_tensors(name), [Computed("B", np.positive, ("A",))]).holds


def swapped(side):
    """Two blocks of an operand in each other's place."""

    def change(line):
        blocks = line["args"][side]
        blocks[2], blocks[5] = blocks[5], blocks[2]

    return change


TRANSPOSE_FAULTS = {
    "two blocks of dst are exchanged": swapped(0),
    "two blocks of src are exchanged": swapped(1),
    "a repeat less": field(2, "repeatTimes", -1),
    "results too far apart": field(2, "dstRepStride", 1),
    "sources too far apart": field(2, "srcRepStride", 1),
    "it is lost": None,
}


@pytest.mark.parametrize("name", TRANSPOSED)
@pytest.mark.parametrize("fault", TRANSPOSE_FAULTS)
@pytest.mark.parametrize("place", [0, 1])
def test_a_fault_in_a_transpose_is_found(name, fault, place):
    lines = with_barriers(changed(name, "TransDataTo5HD", place, TRANSPOSE_FAULTS[fault]))
    report = check(lines, transposed_tensors(name), [Copied("B", "A")])
    assert {"value"} <= {f.kind for f in report.findings}, str(report)


def by_manual(bits, table, p):
    """{place in bytes of each element of dst: that in src} of a TransDataTo5HD: block by block, element by element, as
    AscendC's page has it."""
    size, found = bits // 8, {}
    for repeat in range(p["repeatTimes"]):
        turn = 1 if p["repeatTimes"] == 1 else repeat
        to = [x + 32 * turn * p["dstRepStride"] for x in table[:16]]
        begin = [x + 32 * turn * p["srcRepStride"] for x in table[16:]]
        for i, block in enumerate(begin):
            for j in range(16 if bits < 32 else 8):
                at = block + j * size + 16 * p["srcHighHalf"]
                place = to[j] + i * size + 16 * p["dstHighHalf"] if bits < 32 else to[2 * j + i // 8] + i % 8 * size
                found[place] = at
    return found


@pytest.mark.parametrize("seed", range(amount(12, 300)))
def test_a_transpose_moves_what_the_manual_says(seed):
    rng = random.Random(seed)
    kind, element = rng.choice([("signed char", int8), ("half", half), ("float", float32)])
    p = {
        "dstHighHalf": int(element is int8 and rng.random() < 0.5),
        "srcHighHalf": int(element is int8 and rng.random() < 0.5),
        "repeatTimes": rng.randint(1, 4),
        "dstRepStride": rng.choice([0, 1, 16]) if rng.random() < 0.5 else 16,
        "srcRepStride": rng.choice([0, 1, 2]),
    }
    to = [32 * x for x in rng.sample(range(16), 16)]
    if p["repeatTimes"] > 1:
        p["dstRepStride"] = 16
    table = [8192 + x for x in to] + [32 * x for x in rng.sample(range(32), 16)]
    line = {"call": "TransDataTo5HD", "types": [kind], "args": [table[:16], table[16:], {"struct": "P", **p}]}
    (compute,) = read_log([json.dumps(line)], "AtlasA2", []).body
    dst, src = (x.ravel() * element.bits // 8 for x in compute.instruction.by_repeats())
    assert dict(zip(dst.tolist(), src.tolist())) == by_manual(element.bits, table, p)
    assert len(set(dst.tolist())) == dst.size


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([[0] * 15, [0] * 16, {}], "15 and 16 blocks"),
        ([0, [0] * 16, {}], "two lists of addresses"),
        ([{}, {}, {}], "two lists of addresses"),
        ([[8] + [32] * 15, [64] * 16, {}], "a block at byte 8"),
        ([[32] * 16, [64] * 16, {"dstHighHalf": 1}], "dstHighHalf = 1"),
        ([[32] * 16, [64] * 16, {"repeatTimes": 256}], "repeatTimes = 256"),
        ([[*range(512, 1024, 32)], [*range(0, 512, 32)], {"repeatTimes": 2, "srcRepStride": 16}], "an earlier one"),
    ],
)
def test_what_is_no_transpose_is_refused(args, message):
    fields = {"dstHighHalf": 0, "srcHighHalf": 0, "repeatTimes": 1, "dstRepStride": 0, "srcRepStride": 0, **args[2]}
    line = json.dumps({"call": "TransDataTo5HD", "types": ["half"], "args": [*args[:2], fields]})
    with pytest.raises(TlaError, match=message):
        read_log([line], "AtlasA2", [])


# -------------------------------------------------------------------------------------------------- calls at random


def ub(kind, address):
    return {"type": kind, "position": 9, "address": address}


def call(name, *args):
    return json.dumps({"call": name, "args": args})


def flag(event):
    return [json.dumps({"call": x, "event": event, "id": 0}) for x in ("SetFlag", "WaitFlag")]


def in_and_out(body, kind, sizes, count):
    """A log: vectors come into UB 8 KiB apart, something is computed, and the last of these leaves."""
    width = {"half": 2, "float": 4, "int32_t": 4}[kind]
    params = {"blockCount": 1, "blockLen": count * width, "srcStride": 0, "dstStride": 0}
    struct = {"struct": "AscendC::DataCopyExtParams", **params}
    pad = {"struct": f"AscendC::DataCopyPadExtParams<{kind}>", "isPad": 0, "rightPadding": 0}
    loads = [
        call("DataCopyPad", ub(kind, i * 8192), {"type": kind, "position": -1, "address": (i + 1) << 40}, struct, pad)
        for i in range(sizes)
    ]
    out = {"type": kind, "position": -1, "address": (sizes + 1) << 40}
    store = call("DataCopyPad", out, ub(kind, sizes * 8192), struct)
    return [*loads, *flag("MTE2_V"), *body, *flag("V_MTE3"), store]


TWO = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}
WITH = {"Adds": np.add, "Muls": np.multiply, "Maxs": np.maximum, "Mins": np.minimum}


@pytest.mark.parametrize("seed", range(amount(6, 120)))
def test_calls_of_so_many_elements_compute_what_numpy_does(seed):
    rng = random.Random(seed)
    kind, element = rng.choice([("half", half), ("float", float32), ("int32_t", int32)])
    count = rng.randint(1, 2000)
    if seed % 2:
        name, function = rng.choice([*TWO.items()])
        body, sizes = [call(name, ub(kind, 16384), ub(kind, 0), ub(kind, 8192), count)], 2
    else:
        name, plain = rng.choice([*WITH.items()])
        scalar = rng.randint(2, 9)
        body, sizes = [call(name, ub(kind, 8192), ub(kind, 0), scalar, count)], 1

        def function(x):
            return plain(x, scalar)

    names = "XY"[:sizes]
    vector = Layout((count,), (1,))
    tensors = {n: ((i + 1) << 40, element, vector) for i, n in enumerate((*names, "R"))}
    lines = in_and_out(body, kind, sizes, count)
    assert check(lines, tensors, [Computed("R", function, (*names,))]).holds
    wrong = check(lines, tensors, [Computed("R", lambda *x: function(*x) + 1, (*names,))])
    assert {f.kind for f in wrong.findings} == {"value"}


def test_repeats_with_a_mask_and_strides_are_those_of_the_manual():
    """Of 4 repeats of 40 elements each block of the second source is one, and the result has a gap behind each."""
    strides = {"dstBlkStride": 1, "src0BlkStride": 1, "src1BlkStride": 0}
    strides |= {"dstRepStride": 9, "src0RepStride": 5, "src1RepStride": 1}
    add = call(
        "Add",
        ub("float", 16384),
        ub("float", 0),
        ub("float", 8192),
        40,
        4,
        {"struct": "AscendC::BinaryRepeatParams", **strides},
    )
    lines = in_and_out([add], "float", 2, 40 + 3 * 72)
    tensors = {n: ((i + 1) << 40, float32, Layout((256,), (1,))) for i, n in enumerate("XY")}
    tensors["R"] = 3 << 40, float32, Layout((40, 4), (1, 72))

    def wanted(x, y):
        return np.array([[x[40 * r + j] + y[8 * r + j % 8] for r in range(4)] for j in range(40)])

    report = check(lines, tensors, [Computed("R", wanted, ("X", "Y"))])
    assert {f.kind for f in report.findings} <= {"outside"}, str(report)  # what lies between the rows leaves too
    assert not any(f.kind == "value" for f in report.findings)


def test_a_narrower_result_may_lie_where_its_source_does_and_no_other():
    vector = Layout((640,), (1,))
    tensors = {"X": (A, float32, vector), "R": (B, half, vector)}

    def lines(address, kinds=("half", "float")):
        struct = {"struct": "AscendC::DataCopyExtParams", "blockCount": 1, "srcStride": 0, "dstStride": 0}
        pad = {"struct": "AscendC::DataCopyPadExtParams<float>", "isPad": 0}
        load = call(
            "DataCopyPad",
            ub("float", 0),
            {"type": "float", "position": -1, "address": A},
            {**struct, "blockLen": 2560},
            pad,
        )
        cast = call("Cast", ub(kinds[0], address), ub(kinds[1], 0), 1, 640)
        store = call(
            "DataCopyPad",
            {"type": "half", "position": -1, "address": B},
            ub("half", address),
            {**struct, "blockLen": 1280},
        )
        return [load, *flag("MTE2_V"), cast, *flag("V_MTE3"), store]

    assert check(lines(0), tensors, [Computed("R", np.positive, ("X",))]).holds
    with pytest.raises(RangeError, match="one of which reads what an earlier one has written"):
        check(lines(256), tensors, [Computed("R", np.positive, ("X",))])


def through(out, body, sizes, kind="float"):
    """A log: vectors of so many elements come into UB 8 KiB apart, something is computed, and `out` elements leave from
    behind them."""
    lines = in_and_out(body, kind, len(sizes), out)
    for i, size in enumerate(sizes):
        load = json.loads(lines[i])
        load["args"][2]["blockLen"] = size * {"half": 2, "float": 4}[kind]
        lines[i] = json.dumps(load)
    return lines


def report_of(body, function, sizes, out, kind="float"):
    element = {"half": half, "float": float32}[kind]
    tensors = {f"X{i}": ((i + 1) << 40, element, MakeLayout(n)) for i, n in enumerate(sizes)}
    tensors["R"] = ((len(sizes) + 1) << 40, element, MakeLayout(out))
    return check(
        through(out, body, sizes, kind), tensors, [Computed("R", function, tuple(f"X{i}" for i in range(len(sizes))))]
    )


REDUCE = {"Sum": np.sum, "Max": np.max, "Min": np.min}


@pytest.mark.parametrize("seed", range(amount(9, 200)))
def test_reductions_in_a_log_are_numpys(seed):
    """WholeReduce of rows, BlockReduce of blocks, PairReduceSum; RepeatReduceSum, whose mask is the register's."""
    rng = random.Random(seed)
    kind, (name, function) = rng.choice(["half", "float"]), rng.choice([*REDUCE.items()])
    most = {"half": 128, "float": 64}[kind]
    rows, dst, src = rng.randint(1, 20), ub(kind, 8192), ub(kind, 0)
    form = ("Whole", "Block", "Pair", "Repeat")[seed % 4]
    if form in ("Whole", "Repeat"):
        mask, step = rng.randint(1, most), 8
        order = [] if name == "Sum" or form == "Repeat" else [2]
        body = [call(f"WholeReduce{name}", dst, src, mask, rows, 1, 1, step, *order)]
        if form == "Repeat":
            name, function = "Sum", np.sum
            bits = (1 << mask) - 1
            body = [
                call("SetVectorMask", bits >> 64, bits & (1 << 64) - 1),
                call("RepeatReduceSum", dst, src, rows, 0, 0, 1, 1, step),
                call("SetVectorMask", 2**64 - 1, 2**64 - 1),
            ]
        made, out = lambda x: function(x.reshape(rows, most)[:, :mask], axis=1), rows
    else:
        size = 2 if form == "Pair" else most // 8
        name = "Sum" if form == "Pair" else name
        function = REDUCE[name]
        body = [call(f"{form}Reduce{name}", dst, src, rows, most, 1, 1, 8)]
        made, out = lambda x: function(x.reshape(-1, size), axis=1), rows * most // size
    assert report_of(body, made, [rows * most], out, kind).holds
    assert not report_of(body, lambda x: made(x) + 1, [rows * most], out, kind).holds
    if form == "Block":
        with pytest.raises(RangeError, match="no manual says what others are"):
            report_of([call(f"BlockReduce{name}", dst, src, rows, 8, 1, 1, 8)], made, [rows * most], out, kind)


def test_a_broadcast_in_a_log_is_a_block_of_each_element():
    body = [
        call(
            "Brcb",
            ub("float", 8192),
            ub("float", 0),
            3,
            {"struct": "BrcbRepeatParams", "dstBlkStride": 1, "dstRepStride": 8},
        )
    ]
    assert report_of(body, lambda x: np.repeat(x, 8), [24], 192).holds
    assert not report_of(body, lambda x: np.tile(x, 8), [24], 192).holds


@pytest.mark.parametrize("count", [64, 640, 64 * 257])
@pytest.mark.parametrize("mode", ["LT", "GT", "EQ", "LE", "GE", "NE"])
def test_a_selection_in_a_log_takes_what_was_compared(mode, count):
    """Of so many elements: Compare makes the bits by which Select takes one of two. UB is as large as these ask."""
    functions = (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal)
    number = ["LT", "GT", "EQ", "LE", "GE", "NE"].index(mode)
    size = 4 * count
    params = {"blockCount": 1, "blockLen": size, "srcStride": 0, "dstStride": 0}
    struct = {"struct": "AscendC::DataCopyExtParams", **params}
    gm = [{"type": "float", "position": -1, "address": (i + 1) << 40} for i in range(3)]
    bits = {"type": "unsigned char", "position": 9, "address": 2 * size}
    x, y = ub("float", 0), ub("float", size)
    lines = [
        *(
            call("DataCopyPad", t, g, struct, {"struct": "AscendC::DataCopyPadExtParams<float>", "isPad": 0})
            for t, g in zip((x, y), gm)
        ),
        *flag("MTE2_V"),
        call("Compare", bits, x, y, number, count),
        BARRIER,
        call("Select", x, bits, x, y, 2, count),
        *flag("V_MTE3"),
        call("DataCopyPad", gm[2], x, struct),
    ]
    tensors = {n: ((i + 1) << 40, float32, MakeLayout(count)) for i, n in enumerate("XYR")}
    wanted = [Computed("R", lambda x, y: np.where(functions[number](x, y), x, y), ("X", "Y"))]
    assert check(lines, tensors, wanted).holds
    assert not check([*lines[:4], *lines[5:]], tensors, wanted).holds  # no Compare: bits that nothing was written to
    assert {f.kind for f in check([*lines[:5], *lines[6:]], tensors, wanted).findings} == {"pipe"}
    assert not check([*lines[1:]], tensors, wanted).holds  # no X: bits of nothing


def test_what_moves_inside_of_the_unified_buffer_is_in_the_vector_pipe():
    """As `transfer` plans it: 3 blocks of every 5, side by side."""
    params = {"struct": "DataCopyParams", "blockCount": 4, "blockLen": 3, "srcStride": 2, "dstStride": 0}
    moved = call("DataCopy", ub("float", 8192), ub("float", 0), params)
    doubled = call("Muls", ub("float", 8192), ub("float", 8192), 2, 96)
    one, two = lambda x: x.reshape(4, 40)[:, :24].ravel(), lambda x: 2 * x.reshape(4, 40)[:, :24].ravel()
    assert report_of([moved], one, [160], 96).holds
    assert report_of([moved, BARRIER, doubled], two, [160], 96).holds
    assert {f.kind for f in report_of([moved, doubled], two, [160], 96).findings} == {"pipe"}
    assert {f.kind for f in report_of([moved], two, [160], 96).findings} == {"value"}


# ---------------------------------------------------------------------------------------------------------- tables


def gathered(count, base=0, kind="float", at=(16384, 0, 8192), waits=True):
    """A log: elements and a table come into UB, a Gather moves some of them, and they leave."""
    width = {"float": 4, "half": 2}[kind]
    struct = {"struct": "AscendC::DataCopyExtParams", "blockCount": 1, "srcStride": 0, "dstStride": 0}
    pad = {"struct": "AscendC::DataCopyPadExtParams", "isPad": 0}
    gm = [{"type": t, "position": -1, "address": (i + 1) << 40} for i, t in enumerate((kind, "unsigned int", kind))]
    return [
        call("DataCopyPad", ub(kind, at[1]), gm[0], {**struct, "blockLen": 512 * width}, pad),
        call("DataCopyPad", ub("unsigned int", at[2]), gm[1], {**struct, "blockLen": 4 * count}, pad),
        *(flag("MTE2_V") if waits else []),
        call("Gather", ub(kind, at[0]), ub(kind, at[1]), ub("unsigned int", at[2]), base, count),
        *flag("V_MTE3"),
        call("DataCopyPad", gm[2], ub(kind, at[0]), {**struct, "blockLen": width * count}),
    ]


def gather_report(lines, table, kind="float", shift=0, **more):
    element, width = {"half": (half, 2), "float": (float32, 4)}[kind]
    tensors = {"X": (1 << 40, element, MakeLayout(512)), "T": (2 << 40, uint32, MakeLayout(len(table)))}
    tensors["R"] = 3 << 40, element, MakeLayout(len(table))
    wanted = Computed("R", lambda x, t: np.take(x, t.astype(int) // width + shift, mode="clip"), ("X", "T"))
    return check(lines, tensors, [wanted], values={"T": np.array(table)}, **more)


@pytest.mark.parametrize("seed", range(amount(6, 100)))
def test_a_gather_in_a_log_takes_what_its_table_says(seed):
    rng = random.Random(seed)
    kind, count, base = rng.choice(["half", "float"]), rng.randint(1, 300), rng.randint(0, 8)
    width = {"half": 2, "float": 4}[kind]
    table = [width * rng.randint(0, 480) for _ in range(count)]
    lines = gathered(count, base * width, kind)
    assert gather_report(lines, table, kind, shift=base).holds
    assert {f.kind for f in gather_report(lines, table, kind, shift=base + 1).findings} == {"value"}
    early = gathered(count, base * width, kind, waits=False)
    assert "order" in {f.kind for f in gather_report(early, table, kind, shift=base).findings}


def test_a_table_of_no_offsets_is_found():
    lines = gathered(4)
    assert gather_report(lines, [0, 8, 4, 4]).holds
    (odd, *_rest) = gather_report(lines, [0, 6, 4, 4]).findings
    assert (odd.kind, odd.what) == ("value", "Gather by a table with 6")
    (far, *_rest) = gather_report(lines, [0, 4, 8, 1 << 20]).findings
    assert far.kind == "outside"
    (none, *_rest) = gather_report([lines[0], *lines[2:]], [0, 4, 8, 12]).findings
    assert none.what == "Gather by a table with what nothing was written to"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"at": (16384, 0, 8196)}, "srcOffset at element 2049, byte 8196"),
        ({"base": 2}, "srcBaseAddr = 2"),
        ({"count": 1 << 19}, "Gather of 524288 elements"),
    ],
)
def test_what_is_no_gather_is_refused(change, message):
    with pytest.raises(RangeError, match=message):
        gather_report(gathered(**{"count": 4, **change}), [0, 4, 8, 12])


def test_a_gather_and_its_numbers_are_of_computed_results():
    tensors = {"X": (1 << 40, float32, MakeLayout(512)), "T": (2 << 40, uint32, MakeLayout(4))}
    tensors["R"] = 3 << 40, float32, MakeLayout(4)
    with pytest.raises(Unproven, match="a Gather by a table that is not known"):
        check(gathered(4), tensors, [Copied("R", "X")])
    with pytest.raises(LeafTypeError, match="values= beside Computed"):
        check(gathered(4), tensors, [Copied("R", "X")], values={"T": [0, 4, 8, 12]})
    copied = [Computed("R", np.positive, ("R",))]
    with pytest.raises(RangeError, match=r"values of T of the shape \(2,\)\n +expected +\(4,\)"):
        check(gathered(4), tensors, copied, values={"T": [0, 4]})
    with pytest.raises(LeafTypeError, match="values=3"):
        check(gathered(4), tensors, copied, values=3)
    with pytest.raises(LeafTypeError, match="Computed of 'Z'"):
        check(gathered(4), tensors, [Computed("R", np.positive, ("R",))], values={"Z": [0]})


# ---------------------------------------------------------------------------------------------------- text from outside


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (call("Add", ub("half", 0), ub("half", 512), 16), "Add of 2 tensors|the argument 16"),
        (call("Add", ub("half", 0), ub("half", 512), ub("half", 1024)), "how many elements"),
        (call("Muls", ub("half", 0), ub("half", 512), None, 16), "the scalar None"),
        (call("Exp", ub("half", 0), {"type": "half", "position": 1, "address": 0}, 16), "tensors in UB"),
        (call("Exp", ub("half", 0), ub("half", 512), 16, 2, {"struct": "UnaryRepeatParams"}), "without dstBlkStride"),
        (call("Exp", ub("half", 2), ub("half", 512), 16), "a multiple of 32 bytes"),
        (call("Add"), "Add of 0 tensors"),
        (call("Muls", *[ub("half", 0)] * 2, 3, 64, 2), "Muls of 64, 2 and no strides"),
        (call("Cast", ub("half", 0), ub("float", 0), 1, 64, 2), "Cast of 64, 2 and no strides"),
        (call("Exp", *[ub("half", 0)] * 2, 1, 64, 2, {"struct": "UnaryRepeatParams"}), "Exp of 1, 64, 2 and strides"),
        (call("Add", *[ub("half", 0)] * 3, 10**12), "Add of 1000000000000 elements"),
        (call("Add", *[ub("half", 0)] * 3, -5), "Add of -5 elements"),
        (call("Exp", ub("half", 0), ub("half", 512), {"struct": "UnaryRepeatParams"}), "how many elements"),
        (call("WholeReduceMax", *[ub("half", 0)] * 2, 64, 1, 1, 1, 8, 0), "WholeReduceMax with the order 0"),
        (call("WholeReduceMax", *[ub("half", 0)] * 2, 64, 1, 1, 1, 8), "WholeReduceMax of 64, 1, 1, 1, 8 and 0 fields"),
        (call("WholeReduceSum", *[ub("half", 0)] * 2, 129, 1, 1, 1, 8), "mask = 129"),
        (call("WholeReduceSum", ub("float", 0), ub("half", 0), 64, 1, 1, 1, 8), "WholeReduceSum of float, half"),
        (call("WholeReduceSum", ub("half", 0)), "WholeReduceSum of 1 tensors"),
        (call("Brcb", *[ub("half", 0)] * 2, 3, {"struct": "BrcbRepeatParams"}), "Brcb of 3 and 1 fields"),
        (call("Compare", *[ub("half", 0)] * 3, 9, 128), "Compare with the mode 9"),
        (call("Compare", *[ub("half", 0)] * 3, 0, 100), "Compare of 100 elements"),
        (call("Compare", *[ub("half", 0)] * 3, 0, -128), "Compare of -128 elements"),
        (call("Select", *[ub("half", 0)] * 4, 1, 128), "Select with the mode 1"),
        (call("Gather", *[ub("half", 0)] * 3, 0, 128), "a table of uint32"),
        (call("GatherMask", *[ub("half", 0)] * 3, 0, 128), "the call GatherMask"),
        (call("SetVectorMask", 5), "the line"),
        (call("SetVectorMask", "x", 5), "the line"),
    ],
)
def test_a_call_that_there_is_none_of_is_refused(line, message):
    with pytest.raises(TlaError, match=message):
        check([line], {}, [])


def test_a_mask_with_gaps_is_refused():
    strides = {"dstBlkStride": 1, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 8}
    lines = [
        call("SetVectorMask", 0, 5),
        call("Exp", *[ub("float", 0)] * 2, 0, 1, {"struct": "UnaryRepeatParams", **strides}),
    ]
    with pytest.raises(LeafTypeError, match="Exp with the mask 0x5"):
        check(lines, {}, [])
    for between in (["ResetMask"], ["SetVectorMask", 0, 7]):
        check([lines[0], call(*between), lines[1]], {}, [])
    with pytest.raises(RangeError, match="mask = 0"):
        check([call("SetVectorMask", 0, 0), lines[1]], {}, [])


def test_results_that_do_not_go_together_are_refused():
    tensors, lines = KERNELS[SUM][0], LOGS[SUM]["lines"]
    with pytest.raises(LeafTypeError, match="Product beside Computed"):
        check(lines, tensors, [Product("B", "W", "W"), *KERNELS[SUM][1]])
    with pytest.raises(LeafTypeError, match="one of W, B"):
        check(lines, tensors, [Computed("B", np.sum, ("V",))])
    with pytest.raises(LeafTypeError, match=r"numbers of the shape \(700,\)"):
        check(lines, tensors, [Computed("B", np.sum, ("W",))])
    assert not check([*lines[:-8]], tensors, KERNELS[SUM][1]).holds


@pytest.mark.parametrize(
    ("call_", "function", "count"),
    [
        (call("Axpy", ub("float", 0), ub("float", 4096), 3, 100), lambda x, y: x + 3 * y, 2),
        (call("MulAddDst", ub("float", 0), *[ub("float", 4096)] * 2, 100), lambda x, y: x + y * y, 2),
        (call("LeakyRelu", ub("float", 0), ub("float", 0), 2, 100), lambda x: np.where(x < 0, 2 * x, x), 1),
        (call("Subs", ub("float", 0), 5, ub("float", 0), 100), lambda x: 5 - x, 1),
        (call("Subs", ub("float", 0), ub("float", 0), 5, 100), lambda x: x - 5, 1),
        (call("SubRelu", ub("float", 0), ub("float", 0), ub("float", 4096), 100), lambda x, y: np.maximum(x - y, 0), 2),
    ],
)
def test_calls_that_read_dst_and_that_cut_off_are_read_from_a_log(call_, function, count):
    kind = {"type": "float", "position": -1}
    struct = {"struct": "AscendC::DataCopyExtParams", "blockCount": 1, "srcStride": 0, "dstStride": 0, "blockLen": 400}
    pad = {"struct": "AscendC::DataCopyPadExtParams<float>", "isPad": 0}
    loads = [
        call("DataCopyPad", ub("float", 4096 * i), {**kind, "address": (i + 1) << 40}, struct, pad)
        for i in range(count)
    ]
    out = call("DataCopyPad", {**kind, "address": 3 << 40}, ub("float", 0), struct)
    tensors = {n: ((i + 1) << 40, float32, MakeLayout(100)) for i, n in enumerate("XYR")}

    def holds(lines, made=function):
        return check(lines, tensors, [Computed("R", made, tuple("XY"[:count]))]).holds

    lines = [*loads, *flag("MTE2_V"), call_, *flag("V_MTE3"), out]
    assert holds(lines)
    assert not holds(lines, lambda *given: function(*given) + 1)
    assert not holds([*lines[1:]])  # what dst, or the source, held before


@pytest.mark.parametrize("mode", range(6))
def test_a_comparison_with_a_scalar_in_a_log(mode):
    """As CATLASS's example of attention masks: bits of what is less than a number, by which Select takes."""
    function = (np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal)[mode]
    kind, bits = {"type": "float", "position": -1}, {"type": "unsigned char", "position": 9, "address": 8192}
    struct = {"struct": "AscendC::DataCopyExtParams", "blockCount": 1, "srcStride": 0, "dstStride": 0, "blockLen": 512}
    pad = {"struct": "AscendC::DataCopyPadExtParams<float>", "isPad": 0}
    loads = [
        call("DataCopyPad", ub("float", 1024 * i), {**kind, "address": (i + 1) << 40}, struct, pad) for i in range(2)
    ]
    compared = call("CompareScalar", bits, ub("float", 0), 500000, mode, 128)
    chosen = call("Select", ub("float", 0), bits, ub("float", 0), ub("float", 1024), 2, 128)
    out = call("DataCopyPad", {**kind, "address": 3 << 40}, ub("float", 0), struct)
    tensors = {n: ((i + 1) << 40, float32, MakeLayout(128)) for i, n in enumerate("XYR")}
    wanted = [Computed("R", lambda x, y: np.where(function(x, 500000), x, y), ("X", "Y"))]
    lines = [*loads, *flag("MTE2_V"), compared, BARRIER, chosen, *flag("V_MTE3"), out]
    assert check(lines, tensors, wanted).holds
    other = call("CompareScalar", bits, ub("float", 0), 500000, mode - 1 if mode % 2 else mode + 1, 128)
    assert not check([other if x == compared else x for x in lines], tensors, wanted).holds
