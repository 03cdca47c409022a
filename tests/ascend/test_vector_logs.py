"""Logs of vector cores: CATLASS's paddings and sums of slices, calls drawn at random, and faults that are put in."""

import json
import random

import numpy as np
import pytest
from catlass_logs import LOGS

from tla import Layout, MakeLayout
from tla.ascend import Computed, Copied, Product, RowMajor, check, float32, half, int32, zN
from tla.core.errors import LeafTypeError, RangeError, TlaError

from night import amount

A, B, W = 1 << 40, 2 << 40, 3 << 40
#: A log, its tensors, and what it makes of them.
KERNELS = {
    "PaddingMatrixNZ 21x70": (
        {"A": (A, half, MakeLayout[half, RowMajor](21, 70)), "B": (B, half, MakeLayout[half, zN](21, 70))},
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


NZ, SUM = "PaddingMatrixNZ 21x70", "SplitkReduceAdd 700x3"
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
    "a sum more leaves": (SUM, "DataCopyPad", -1, field(2, "blockLen", 2), "outside"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_a_log_of_a_vector_core_is_found(fault):
    name, call, place, change, kind = FAULTS[fault]
    report = check(changed(name, call, place, change), *KERNELS[name])
    assert kind in {f.kind for f in report.findings}, str(report)


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
    ],
)
def test_a_call_that_there_is_none_of_is_refused(line, message):
    with pytest.raises(TlaError, match=message):
        check([line], {}, [])


def test_results_that_do_not_go_together_are_refused():
    tensors, lines = KERNELS[SUM][0], LOGS[SUM]["lines"]
    with pytest.raises(LeafTypeError, match="Product beside Computed"):
        check(lines, tensors, [Product("B", "W", "W"), *KERNELS[SUM][1]])
    with pytest.raises(LeafTypeError, match="one of W, B"):
        check(lines, tensors, [Computed("B", np.sum, ("V",))])
    with pytest.raises(LeafTypeError, match=r"numbers of the shape \(700,\)"):
        check(lines, tensors, [Computed("B", np.sum, ("W",))])
    assert not check([*lines[:-8]], tensors, KERNELS[SUM][1]).holds
