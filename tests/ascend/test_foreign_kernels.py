"""Kernels of others, checked by what they have logged: CATLASS's own, with what is wrong in them, and with faults that
are put in."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from ascend_blocks import EXAMPLES, example, row_of
from catlass_logs import LOGS, tensors_of
from test_catlass_cores import CUT
from test_convolution_blocks import convolved

from tla import Layout, MakeLayout
from tla.ascend import (
    KDC1KHKWN1N0C0,
    NDC1HWC0,
    Buffer,
    Computed,
    Copied,
    Product,
    RowMajor,
    bf16,
    check,
    float32,
    half,
    int4b,
    nZ,
    programs,
    zN,
)
from tla.ascend.programs.check import check_numbers
from tla.ascend.programs.convolution_numbers import Window, blocked, held
from tla.ascend.programs.logs import read_log
from tla.core.errors import LeafTypeError, RangeError

from night import some

#: What is wrong in CATLASS: example 20 reads a whole tile of biases where fewer are left; BlockMmadTla with unit flags
#: gives MTE1_M an id that it has not set (l0CEventList), so that it is what the stack holds.
WRONG = {
    "20_matmul_bias 37x41x77": ("outside", "bytes 0 to 511 of bias, which has 82"),
    "20_matmul_bias 131x260x270": ("outside", "bytes 512 to 1023 of bias, which has 520"),
    "67_ascend950_batched_matmul 3x37x41x77": ("flag", "MTE1_M 825351412: ids go from 0 to 7"),
    "68_ascend950_multi_core_splitk_matmul 37x41x77": ("flag", "MTE1_M 77: ids go from 0 to 7"),
}


def checked(name, lines=None):
    log = LOGS[name]
    tensors = tensors_of(log)
    bias, index = (name if name in tensors else None for name in ("bias", "index"))
    batches = [name[1:] for name in tensors if name[0] == "C"]  # "", or a number of each
    relu = name.startswith("26_matmul_relu")
    results = [Product(f"C{i}", f"A{i}", f"B{i}", bias, sparse=index, relu=relu) for i in batches]
    return check(lines or log["lines"], tensors, results, log["arch"])


#: BlockMmadSparseTla takes the last blocks of m and n for whole units of 16: what it stores then is behind them.
TAILS = "41_sparse_matmul_tla 131x260x136"


@pytest.mark.parametrize(
    "name", some([n for n in LOGS if n not in (*WRONG, TAILS) and {"C", "C0"} & {*LOGS[n]["tensors"]}], 2)
)
def test_a_kernel_of_catlass_is_right(name):
    report = checked(name)
    assert report.holds, str(report)
    assert {n.kind for n in report.notes} <= {"flag", "pipe"}


def test_matrices_of_a_batch_are_tensors_one_behind_another():
    log = LOGS["45_strided_batched_matmul_tla 3x37x41x77"]
    results = [Product(f"C{i}", f"A{i}", f"B{i}") for i in range(3)]
    report = check(log["lines"], tensors_of(log), results, log["arch"])
    assert report.holds, str(report)
    wrong = check(log["lines"], tensors_of(log), [*results[:2], Product("C2", "A2", "B1")], log["arch"])
    assert [f.kind for f in wrong.findings] == ["value"]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_in_catlass_is_found(name):
    report = checked(name)
    kind, what = WRONG[name]
    assert [f.kind for f in report.findings] == [kind]
    assert what in report.findings[0].what


def test_what_a_sparse_kernel_of_catlass_writes_behind_its_tails_is_found():
    report = checked(TAILS)
    assert checked("41_sparse_matmul_tla 37x41x72").holds
    assert {f.kind for f in report.findings} == {"outside", "value"}
    (value,) = (f.what for f in report.findings if f.kind == "value")  # 16 columns of a tail of 4, in the row behind
    assert value.startswith("C[1, 0] is what is no element and no sum, not (A[:, 0:136] @ B*index[0:136, :])[1, 0]")


CHANNELS = [n for n in LOGS if n.startswith("BlockMmadW4A4")]


def scaled_columns(name, room=1):
    """The tensors of example 38's product; the scales lie in a buffer of whole `room`."""
    m, n, k = LOGS[name]["problem"]
    return {
        "A": (1 << 40, int4b, MakeLayout[int4b, RowMajor](m, k)),
        "B": (2 << 40, int4b, MakeLayout[int4b, nZ](k, n)),
        "C": (3 << 40, half, MakeLayout[half, RowMajor](m, n)),
        "scale": (4 << 40, 64, Layout((-(-n // room) * room,), (1,), (n,))),
    }


@pytest.mark.parametrize("name", CHANNELS)
def test_columns_of_a_kernel_of_catlass_have_their_scales_but_those_of_whole_tiles_are_read(name):
    """BlockMmad of example 38 reads the scales of a whole tile where fewer are left, as example 20 reads biases."""
    result = [Product("C", "A", "B", channels="scale")]
    report = check(LOGS[name]["lines"], scaled_columns(name), result)
    n = LOGS[name]["problem"][1]
    first = (n - 1) // 256 * 256
    assert [f.kind for f in report.findings] == ["outside"]
    assert f"touches bytes {8 * first} to {8 * first + 2047} of scale, which has {8 * n}" in report.findings[0].what
    assert check(LOGS[name]["lines"], scaled_columns(name, 256), result).holds
    plain = check(LOGS[name]["lines"], scaled_columns(name, 256), [Product("C", "A", "B")])
    assert "* scale[0], not" in plain.findings[0].what


def of_call(name, call, number, change):
    lines = [json.loads(line) for line in LOGS[name]["lines"]]
    i = [i for i, x in enumerate(lines) if x["call"] == call and change(x, False)][number]
    if change(lines[i], True) is None:
        del lines[i]
    return [json.dumps(x) for x in lines]


def to_fixpipe(x):
    return x["args"][0]["position"] == 14


def at(k, name, by):
    """Another value of a field of an argument."""

    def change(x, do):
        x["args"][k][name] += by if do else 0
        return True

    return change


def scales_that_move(k, name, by):
    """Another value of a field of the copy of the scales to Fixpipe's buffer."""

    def change(x, do):
        return to_fixpipe(x) and at(k, name, by)(x, do)

    return change


def lost(which):
    """A call that is lost, of those that `which` tells."""
    return lambda x, do: None if do else which(x)


#: The call, which of them, what is changed, and the kinds of what is found.
SCALE_FAULTS = {
    "scales of other columns are set": ("SetFixPipeConfig", 0, at(0, "address", 128), {"value"}),
    "scales of a block more are skipped": ("DataCopy", 0, scales_that_move(1, "address", 128), {"value"}),
    "scales lie a block further": ("DataCopy", 0, scales_that_move(0, "address", 128), {"value"}),
    "fewer scales come": ("DataCopy", 0, scales_that_move(2, "blockLen", -15), {"value"}),
    "the scales do not come": ("DataCopy", 0, lost(to_fixpipe), {"value"}),
    "no barrier behind the scales": ("PipeBarrier", 0, lost(lambda x: x["pipe"] == "FIX"), {"pipe"}),
    "the scales are not waited for": ("WaitFlag", 0, lost(lambda x: x["event"] == "MTE2_FIX"), {"flag"}),
    "a mode without scales of columns": ("Fixpipe", 0, at(2, "quantPre", -1), {"value"}),
}


@pytest.mark.parametrize("fault", SCALE_FAULTS)
def test_a_fault_of_scales_is_found(fault):
    name = CHANNELS[0]
    call, number, change, kinds = SCALE_FAULTS[fault]
    lines = of_call(name, call, number, change)
    if "barrier" in fault:  # SetFixPipeConfig has one too
        lines = [x for x in lines if json.loads(x) != {"call": "PipeBarrier", "pipe": "FIX"}]
    report = check(lines, scaled_columns(name, 256), [Product("C", "A", "B", channels="scale")])
    assert kinds <= {f.kind for f in report.findings}, str(report)


def test_scales_that_are_not_set_and_several_matrices_of_them_are_refused():
    name = CHANNELS[0]
    result = [Product("C", "A", "B", channels="scale")]
    lines = [x for x in LOGS[name]["lines"] if '"SetFixPipeConfig"' not in x]
    with pytest.raises(LeafTypeError, match="a Fixpipe to GM with a scale of each column"):
        check(lines, scaled_columns(name, 256), result)
    with pytest.raises(LeafTypeError, match="a Fixpipe of 2 matrices with scales of uint64"):
        check(of_call(name, "Fixpipe", 0, at(2, "ndNum", 1)), scaled_columns(name, 256), result)


@pytest.mark.parametrize("name", [n for n in LOGS if "convolution" in LOGS[n]])
def test_convolutions_of_catlass_are_right_but_for_a_flag(name):
    """Example 24: its sums are right. BlockConv sets the flags of MTE1_MTE2 before its loop, and again in it, with no wait
    between."""
    log, rng = LOGS[name], np.random.default_rng(1)
    batch, depth, blocks, high, wide, *kernel, count = log["convolution"][:9]
    steps, gaps, borders = (log["convolution"][i : i + 3] for i in (9, 12, 15))
    windows = [Window(*x) for x in zip((depth, high, wide), kernel, steps, gaps, borders)]
    x, w, bias = (
        rng.integers(1, 99, s)
        for s in ((batch, 16 * blocks, depth, high, wide), (count, 16 * blocks, *kernel), (count,))
    )
    places, out = [a.places for a in windows], -(-count // 16)
    layouts = (
        ("A", NDC1HWC0.MakeLayout(half, batch, depth, blocks, high, wide)),
        ("B", KDC1KHKWN1N0C0.MakeLayout(half, int(np.prod(kernel)) * blocks, out, 16)),
        ("C", NDC1HWC0.MakeLayout(half, batch, places[0], out, *places[1:])),
        ("bias", Layout(16 * out, 1)),
    )
    tensors = [Buffer(which, "GM", half, layout, i << 40) for i, (which, layout) in enumerate(layouts, 1)]
    wanted = blocked(convolved(x, w, bias, steps, gaps, borders))
    report = check_numbers(read_log(log["lines"], log["arch"], tensors), held(x, w, bias), {"C": wanted})
    assert [str(f) for f in report.findings] == [
        f"flag: SetFlag MTE1_MTE2 {i} twice, with no WaitFlag between" for i in (0, 1)
    ]


@pytest.mark.parametrize(
    ("step", "wrong"),
    [(1000, None), (70000, "value: tile[1, 0] is Q[5, 0], not Q[1, 0], and 1535 more elements are wrong")],
)
def test_queries_of_attention_are_found_not_to_be_read(step, wrong):
    """TileCopyFAQTla with Q (5,4,96):(70000,96,1) repeats nValue where ndNum is meant: it never comes to the second
    position's heads."""
    log = LOGS[f"TileCopyFAQTla {step}"]
    q = Layout(((5, 4), 96), ((step, 96), 1), (20, 96))  # a row of the tile for each position, heads one behind another
    tile = Buffer("tile", "L1", half, MakeLayout[half, zN](20, 96))
    report = check(log["lines"], {"Q": (log["address"], half, q), "tile": tile}, [Copied("tile", "Q")], log["arch"])
    assert [str(f) for f in report.findings] == ([] if wrong is None else [wrong])


# ------------------------------------------------------------------------------------------------------------- faults


def events_of(program):
    from tla.ascend.programs.trace import events

    return [e.statement for e in events(program)]


def of(kind, *names):
    """The places of statements of a kind, transfers by their names."""

    def places(body):
        return [i for i, s in enumerate(body) if isinstance(s, kind) and (not names or s.instruction.name in names)]

    return places


def drop(body, i):
    return body[:i] + body[i + 1 :]


def field(name, by):
    """An instruction with another value of a field."""

    def made(body, i):
        from dataclasses import replace

        s = body[i]
        p = s.instruction.parameters
        return [
            *body[:i],
            s._replace(instruction=replace(s.instruction, parameters={**p, name: p[name] + by})),
            *body[i + 1 :],
        ]

    return made


def moved(side, by):
    """An instruction that begins elsewhere."""

    def made(body, i):
        from dataclasses import replace

        s = body[i]
        return [
            *body[:i],
            s._replace(instruction=replace(s.instruction, **{side: getattr(s.instruction, side) + by})),
            *body[i + 1 :],
        ]

    return made


def other_id(body, i):
    return [*body[:i], body[i]._replace(id=body[i].id ^ 1), *body[i + 1 :]]


def renamed(body, i):
    """A transfer into the other stage."""
    s = body[i]
    return [*body[:i], s._replace(dst=s.dst[:-1] + str(1 - int(s.dst[-1]))), *body[i + 1 :]]


def told(parameters=(), settings=(), lost=(), **more):
    """An instruction of other fields and settings, without those that are lost."""

    def made(body, i):
        from dataclasses import replace

        s = body[i]
        old = s.instruction
        own = {k: v for k, v in getattr(old, "settings", {}).items() if k not in lost}
        fields = {"parameters": {**old.parameters, **dict(parameters)}, **more}
        fields |= {"settings": {**own, **dict(settings)}} if settings or lost else {}
        return [*body[:i], s._replace(instruction=replace(old, **fields)), *body[i + 1 :]]

    return made


OUT = of(programs.Move, "Fixpipe", "DataCopyCO12Dst")
#: What is done to a block, and where: the n-th of such statements.
FAULTS = {
    "a wait for L1 is lost": (of(programs.WaitFlag), drop, 17),
    "a wait for L0 is lost": (of(programs.WaitFlag), drop, 20),
    "a set of L1 is lost": (of(programs.SetFlag), drop, 17),
    "a set of L0 is lost": (of(programs.SetFlag), drop, 21),
    "a wait has another id": (of(programs.WaitFlag), other_id, 8),
    "a set has another id": (of(programs.SetFlag), other_id, 14),
    "A goes to the other stage": (of(programs.Move, "Nd2Nz"), renamed, 2),
    "B begins a row later": (of(programs.Move, "Nd2Nz"), moved("src", 1), 1),
    "A is written a block later": (of(programs.Move, "Nd2Nz"), moved("dst", 16), 0),
    "a row is not loaded": (of(programs.Move, "Nd2Nz"), field("nValue", -1), 0),
    "a column is not loaded": (of(programs.Move, "Nd2Nz"), field("dValue", -1), 1),
    "a row more is loaded": (of(programs.Move, "Nd2Nz"), field("nValue", 1), -2),
    "rows lie elsewhere": (of(programs.Move, "Nd2Nz"), field("srcDValue", 1), 0),
    "a transfer is lost": (of(programs.Move), drop, 3),
    "an L0 stage is that of before": (of(programs.Move, "LoadData2D", "LoadData2DV2"), renamed, 9),
    "k is one less": (of(programs.Multiply), field("k", -1), 0),
    "k is one more": (of(programs.Multiply), field("k", 1), -1),
    "n is one less": (of(programs.Multiply), field("n", -1), 1),
    "m is a fractal less": (of(programs.Multiply), field("m", -16), 1),
    "the sum begins anew": (of(programs.Multiply), field("cmatrixInitVal", 1), 1),
    "the sum does not begin anew": (of(programs.Multiply), field("cmatrixInitVal", -1), 0),
    "a product is lost": (of(programs.Multiply), drop, 1),
    "a barrier is lost": (of(programs.PipeBarrier), drop, 0),
    "the result is one row less": (OUT, field("mSize", -1), -1),
    "the result is one column more": (OUT, field("nSize", 1), -1),
    "the result has other rows": (OUT, field("dstStride", 1), -1),
    "the result is elsewhere": (OUT, moved("dst", 1), 0),
    "the result is moved too soon": (OUT, drop, 0),
    "negative ones become 0": (OUT, told(settings={"reluEn": "true"}), 0),
    "the result is converted to bf16": (OUT, told(settings={"quantPre": "QuantMode_t::F322BF16"}), -1),
    "the result is not converted": (OUT, told(lost=["quantPre"]), 0),
    "the result is multiplied by 3": (OUT, told(settings={"deqScalar": "3.0"}), 0),
    "products are of bf16": (of(programs.Multiply), told(elements=(float32, bf16, bf16)), 1),
    "an accumulator is handed over, and not taken": (of(programs.Multiply), told({"unitFlag": 3}), 1),
    "an accumulator is not taken as the last": (OUT, told({"unitFlag": 2}), -1),
    "there is no such unit flag": (of(programs.Multiply), told({"unitFlag": 1}), 0),
}


@pytest.mark.parametrize(
    ("name", "fault"),
    some(itertools.product(["25_matmul_full_loadA", "43_ascend950_basic_matmul"], FAULTS), 9),
)
def test_a_fault_in_a_block_is_found(name, fault):
    from dataclasses import replace

    from tla.ascend.programs.check import check_program

    made = example(name, (70, 90, 150))
    program, blocks = made.programs[0], made.schedule.table[0]
    body, (places, change, number) = events_of(program), FAULTS[fault]
    assert check_program(replace(program, body=tuple(body)), [made.result(blocks)]).holds
    changed = tuple(change(body, places(body)[number]))
    assert not check_program(replace(program, body=changed), [made.result(blocks)]).holds


def test_stages_that_lie_over_one_another_are_found():
    from dataclasses import replace

    from tla.ascend.programs.check import check_program

    made = example("00_basic_matmul", (30, 60, 300))
    for first, second in (("l1A0", "l1A1"), ("l1B0", "l1B1"), ("l0A0", "l0A1"), ("l0B0", "l0B1"), ("l1A1", "l1B0")):
        program = made.programs[0]
        buffers = {**program.buffers, second: replace(program.buffers[second], address=program.buffers[first].address)}
        report = check_program(replace(program, buffers=buffers), [made.result(made.schedule.table[0])])
        assert "order" in {f.kind for f in report.findings}, (first, second)


@pytest.mark.parametrize(
    ("buffer", "by", "unit"), [("l1A0", 16, 32), ("l0A1", 256, 512), ("l0B0", 32, 512), ("l0C0", 512, 1024)]
)
def test_a_buffer_off_its_unit_is_found(buffer, by, unit):
    from dataclasses import replace

    from tla.ascend.programs.check import check_program

    made = example("00_basic_matmul", (30, 60, 70))
    program = made.programs[0]
    moved = replace(program.buffers[buffer], address=program.buffers[buffer].address + by)
    changed = replace(program, buffers={**program.buffers, buffer: moved})
    report = check_program(changed, [made.result(made.schedule.table[0])])
    assert any(f"which is no multiple of {unit}" in f.what for f in report.findings), str(report)


@pytest.mark.parametrize("fault", ["reluEn", "deqScalar", "quantPre"])
def test_a_conversion_of_a_block_that_is_lost_is_found(fault):
    from dataclasses import replace

    from tla.ascend.programs.check import check_program

    made = example("43_ascend950_quant", (30, 60, 70))
    program = made.programs[0]
    body = events_of(program)
    places = of(programs.Move, "FixpipeC310")(body)
    changed = tuple(told(lost=[fault])(body, places[0]))
    report = check_program(replace(program, body=changed), [made.result(made.schedule.table[0])])
    assert [f.kind for f in report.findings] == ["value"], str(report)


def test_a_place_that_an_instruction_writes_twice_is_found():
    """Rows over one another: which of the two stays, no manual says; where both are the same it is nothing."""
    ends = ({"type": "half", "position": p, "address": at} for p, at in ((1, 0), (-1, 4096)))
    fields = {"struct": "AscendC::Nd2NzParams", "ndNum": 1, "nValue": 2, "dValue": 16, "srcNdMatrixStride": 0}
    fields |= {"srcDValue": 16, "dstNzC0Stride": 1, "dstNzNStride": 0, "dstNzMatrixStride": 0}
    record = {"call": "DataCopy", "args": [*ends, fields]}
    last = (4096 + 32, half, MakeLayout[half, RowMajor](1, 16))
    tensors = {"before": (4096, half, MakeLayout[half, RowMajor](1, 16)), "A": last}
    tile = Buffer("tile", "L1", half, MakeLayout[half, zN](1, 16))
    whole = {"A": (4096, half, MakeLayout[half, RowMajor](2, 16)), "tile": tile}
    report = check([json.dumps(record)], whole, [])
    assert [f.kind for f in report.findings] == ["order"]
    assert "writes byte 0 of L1 twice" in report.findings[0].what
    fields |= {"srcDValue": 0}
    assert check([json.dumps(record)], {**tensors, "tile": tile}, [Copied("tile", "before")]).holds


def in_call(name, number, field, by):
    """The lines of a log in which a number of the n-th call of a name is another."""

    def made(lines):
        at = [i for i, line in enumerate(lines) if json.loads(line)["call"] == name][number]
        record = json.loads(lines[at])
        target = (
            record
            if field in record
            else record["args"][-1]
            if field in record["args"][-1]
            else record["args"][field[1]]
        )
        key = field[0] if isinstance(field, tuple) else field
        target[key] += by
        return [*lines[:at], json.dumps(record), *lines[at + 1 :]]

    return made


def without(name, number):
    def made(lines):
        at = [i for i, line in enumerate(lines) if json.loads(line)["call"] == name][number]
        return lines[:at] + lines[at + 1 :]

    return made


def renumbered(event, number):
    """The lines of a log in which every flag of an event and a number has another one: its sets and its waits."""

    def made(lines):
        records = [json.loads(line) for line in lines]
        chosen = [r for r in records if r.get("event") == event and r["id"] == 0]
        for record in chosen:
            record["id"] = number
        assert chosen
        return [json.dumps(r) for r in records]

    return made


LOG_FAULTS = {
    "no wait": without("WaitFlag", 14),
    "no set": without("SetFlag", 14),
    "no load": without("LoadData", 1),
    "no product": without("Mmad", 1),
    "no result": without("Fixpipe", 0),
    "another id": in_call("WaitFlag", 2, "id", 1),
    "a row less": in_call("DataCopy", 0, "nValue", -1),
    "another step": in_call("DataCopy", 1, "srcDValue", 1),
    "another place in L1": in_call("DataCopy", 1, ("address", 0), 512),
    "another place of A": in_call("DataCopy", 0, ("address", 1), 2),
    "less of k": in_call("Mmad", 0, "k", -16),
    "a wider result": in_call("Fixpipe", 0, "nSize", 1),
    "an id below 0": renumbered("MTE2_MTE1", -1),
    "an id past the last": renumbered("MTE2_MTE1", 8),
    "a unit flag that there is not": in_call("Mmad", 0, "unitFlag", 256),
    "a Fixpipe that leaves its accumulators": in_call("Fixpipe", 0, "unitFlag", -1),
    "A in L0 off its unit": in_call("LoadData", 0, ("address", 0), 32),
}


def given(call, argument, field, value, which=lambda fields: True):
    """The lines of a log in which a field of the first call of a name that `which` tells has another value."""

    def made(lines):
        records = [json.loads(line) for line in lines]
        chosen = [r for r in records if r["call"] == call and which(r["args"][argument])]
        assert chosen[0]["args"][argument][field] != value
        chosen[0]["args"][argument][field] = value
        return [json.dumps(r) for r in records]

    return made


def of_type(before, after, *calls):
    """The lines of a log in which these calls take elements for another type."""

    def made(lines):
        return [line.replace(before, after) if json.loads(line)["call"] in calls else line for line in lines]

    return made


def adds(fields):
    return not fields["cmatrixInitVal"]


#: What no element of a sum tells: the fault, and what is said.
SILENT = {
    "another mode": (given("Fixpipe", -1, "quantPre", 0), "a Fixpipe of float to half with quantPre=0"),
    "the mode of bf16": (given("Fixpipe", -1, "quantPre", 2), "a Fixpipe of float to half with quantPre=2"),
    "a mode that scales": (given("Fixpipe", -1, "quantPre", 5), "a Fixpipe of float to half with quantPre=5"),
    "the mode of integers": (given("Fixpipe", -1, "quantPre", 3), "a Fixpipe of float to half with quantPre=3"),
    "C of bf16": (of_type("half", "bfloat16_t", "Fixpipe"), "a Fixpipe of float to bf16 with quantPre=1"),
    "sums of int32": (of_type("float", "int32_t", "Fixpipe"), "a Fixpipe of int32 to half with quantPre=1"),
    "a ReLU": (given("Fixpipe", -1, "reluEn", 1), "C with ReLU, not without it"),
    "products of bf16": (of_type("half", "bfloat16_t", "Mmad"), "a Mmad of bf16 by bf16, not half by half"),
    "all of bf16": (
        of_type("half", "bfloat16_t", "Mmad", "LoadData", "DataCopy"),
        "a Mmad of bf16 by bf16, not half by half",
    ),
    "the table of biases": (given("Mmad", -1, "cmatrixSource", 1, adds), "a Mmad with cmatrixSource=1, and no biases"),
    "a fractal later": (given("LoadData", -1, "startIndex", 1), "C[0, 0] is"),
    "fractals backwards": (given("LoadData", -1, "addrMode", 1), "a LoadData2D with addrMode=1"),
    "inside of an element of A": (given("Mmad", 1, "address", 1), "the address 0x1 of L0A, inside of an element"),
    "inside of a sum": (given("Mmad", 0, "address", 2), "the address 0x2 of L0C, inside of an element of 32 bits"),
    "A out of L1": (given("Mmad", 1, "position", 1), "a Mmad with a at L1"),
    "more of k than there is": (given("Mmad", -1, "k", 4096), "Mmad: k = 4096"),
    "what the manual calls obsolete": (given("Mmad", -1, "isBias", 1), "a Mmad with isBias=1"),
    "no mode": (given("Fixpipe", -1, "quantPre", 513), "a Fixpipe of float to half with quantPre=513"),
    "out of L1": (given("Fixpipe", 1, "position", 1), "a Fixpipe from L1 to GM"),
    "to L0C": (given("LoadData", 0, "position", 7), "a LoadData2D from L1 to L0C"),
    "another type of A": (given("DataCopy", 1, "type", "float"), "a Nd2Nz from float to half"),
    "inside of a result": (given("Fixpipe", 0, "address", (3 << 40) + 1), "of GM, inside of an element of 16 bits"),
}


@pytest.mark.parametrize("fault", SILENT)
def test_a_fault_that_no_sum_tells_is_found(fault):
    change, what = SILENT[fault]
    name = "00_basic_matmul 37x41x77"
    assert checked(name).holds
    try:
        text = str(checked(name, change(LOGS[name]["lines"])))
    except (LeafTypeError, RangeError) as error:
        text = str(error)
    assert what in text
    assert not text.startswith("holds")


def test_a_relu_that_is_lost_is_found():
    name = "26_matmul_relu 37x41x77"
    assert checked(name).holds
    report = checked(name, given("Fixpipe", -1, "reluEn", 0)(LOGS[name]["lines"]))
    assert [str(f) for f in report.findings] == ["value: C without ReLU, not with it"]


@pytest.mark.parametrize("fault", LOG_FAULTS)
def test_a_fault_in_a_log_is_found(fault):
    name = "13_basic_matmul_tla 37x41x77"
    assert checked(name).holds
    assert not checked(name, LOG_FAULTS[fault](LOGS[name]["lines"])).holds


# ---------------------------------------------------------------------------------------------------- text from outside


ATOMIC = json.dumps({"call": "SetAtomicAdd", "types": ["half"]})
PARAMS = {"struct": "AscendC::DataCopyParams", "blockCount": 1, "blockLen": 1, "srcStride": 0, "dstStride": 0}


def copied(fields):
    """A line of a log: from global memory to L1."""
    ends = ({"type": "half", "position": p, "address": at} for p, at in ((1, 0), (-1, 4096)))
    return json.dumps({"call": "DataCopy", "args": [*ends, fields]})


def out_of_l0c(fields):
    """A line of a log: from L0C to global memory."""
    ends = ({"type": "float", "position": p, "address": at} for p, at in ((-1, 4096), (7, 0)))
    whole = {"struct": "AscendC::DataCopyCO12DstParams", "nSize": 4, "mSize": 4, "srcStride": 16, "dstStride": 4}
    whole |= {"channelSplit": 0, "quantPre": 0, "unitFlag": 0, **fields}
    return json.dumps({"call": "DataCopy", "args": [*ends, whole]})


def filled(position, address, **fields):
    """A line of a log: zeros."""
    params = {"repeatTimes": 1, "blockNum": 1, "dstGap": 0, "initValue": 0, **fields}
    return json.dumps(
        {"call": "InitConstValue", "args": [{"type": "half", "position": position, "address": address}, params]}
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"call": "SetFixPipeClipRelu", "args": [1]}', "the call SetFixPipeClipRelu"),
        (out_of_l0c({"nz2ndEn": 1}), "a DataCopy out of L0C with nz2ndEn=1"),
        ("{", "the line '{'"),
        ("[1]", "the line"),
        ('{"call": "SetFlag", "event": "MTE9_M", "id": 0}', "the event MTE9_M"),
        ('{"call": "GatherMask", "args": []}', "the call GatherMask"),
        ('{"call": "PipeBarrier", "pipe": "X"}', "the pipe X"),
        ('{"call": "DataCopy", "args": [1, 2]}', "the argument 1"),
        ('{"call": "DataCopy", "args": [{"type": "foo", "position": 1, "address": 0}, {}]}', "the type 'foo'"),
        ('{"call": "DataCopy", "args": [{"type": "half", "position": 99, "address": 0}, {}]}', "the position 99"),
        ('{"call": "SetFlag"}', "in which KeyError: 'event'"),
        ('{"call": "SetFlag", "event": 5, "id": 0}', "in which AttributeError"),
        ('{"call": "SetFlag", "event": "M_FIX", "id": "x"}', "in which TypeError: 'x' is no integer"),
        ('{"call": "SetFlag", "event": "M_FIX", "id": 1.5}', "in which TypeError: 1.5 is no integer"),
        ('{"call": "DataCopy"}', "in which KeyError: 'args'"),
        ('{"call": "DataCopy", "args": null}', "in which TypeError"),
        ('{"call": "Mmad", "args": []}', "in which"),
        (copied({"struct": "AscendC::Nd2NzParams", "ndNum": 1}), "in which KeyError: 'srcDValue'"),
        (copied({**PARAMS, "blockCount": None}), "in which TypeError"),
        (copied({**PARAMS, "blockCount": -1}), "DataCopy: blockCount = -1"),
        (filled(2, 32), "an InitConstValue at L0A 32"),
        (filled(7, 0), "an InitConstValue at L0C 0"),
        (filled(1, 0, repeatTimes=-1), "InitConstValue: repeatTimes = -1"),
    ],
)
def test_what_is_not_known_in_a_log_is_refused(line, message):
    with pytest.raises((LeafTypeError, RangeError)) as error:
        check([line], {"A": (4096, half, MakeLayout[half, RowMajor](4, 4))}, [])
    assert message in str(error.value)


@pytest.mark.parametrize(
    "line", [copied({**PARAMS, "blockCount": 10**9, "blockLen": 10**9}), filled(1, 0, blockNum=10**12)]
)
def test_an_instruction_of_more_than_any_memory_is_found(line):
    report = check([line], {"A": (4096, half, MakeLayout[half, RowMajor](4, 4))}, [])
    assert [f.kind for f in report.findings] == ["outside"]


def test_an_atomic_add_of_another_type_is_refused():
    name = "09_splitk_matmul 37x41x77"
    lines = LOGS[name]["lines"]
    assert checked(name, [ATOMIC.replace("half", "float"), *lines]).findings  # what C held before is not known
    with pytest.raises(LeafTypeError, match="a Fixpipe to float under SetAtomicAdd<half>"):
        checked(name, [ATOMIC, *lines])


def test_sizes_that_no_instruction_takes_are_refused():
    name = "41_sparse_matmul_tla 37x41x72"
    with pytest.raises(RangeError, match="MmadWithSparse: k = 60"):
        checked(name, given("MmadWithSparse", -1, "k", 60)(LOGS[name]["lines"]))
    scaled, result = scaled_columns(CHANNELS[0], 256), [Product("C", "A", "B", channels="scale")]
    with pytest.raises(RangeError, match="a Fixpipe with srcStride=0"):
        check(given("Fixpipe", -1, "srcStride", 0)(LOGS[CHANNELS[0]]["lines"]), scaled, result)
    report = check(given("Fixpipe", -1, "mSize", 0)(LOGS[CHANNELS[0]]["lines"]), scaled, result)
    assert "nothing was written to" in report.findings[0].what


def test_a_padding_on_the_left_is_refused():
    ends = ({"type": "half", "position": p, "address": at} for p, at in ((9, 0), (-1, 4096)))
    params = {"struct": "AscendC::DataCopyExtParams", "blockCount": 1, "blockLen": 8, "srcStride": 0, "dstStride": 0}
    pad = {"struct": "AscendC::DataCopyPadExtParams<half>", "isPad": 1, "leftPadding": 2, "rightPadding": 0}
    line = json.dumps({"call": "DataCopyPad", "args": [*ends, params, pad]})
    with pytest.raises(LeafTypeError, match="a DataCopyPad with leftPadding=2"):
        check([line], {"A": (4096, half, MakeLayout[half, RowMajor](4, 4))}, [])


def test_tensors_and_results_that_are_none_are_refused():
    layout = MakeLayout[half, RowMajor](4, 4)
    with pytest.raises(LeafTypeError, match=r"the tensor A.*\n.*address, element type, layout"):
        check([], {"A": layout}, [])
    with pytest.raises(LeafTypeError, match="a tensor named L1"):
        check([], {"L1": (0, half, layout)}, [])
    with pytest.raises(LeafTypeError, match="one of"):
        check([], {"A": (0, half, layout)}, [Copied("B", "A")])
    with pytest.raises(LeafTypeError, match="the result 'A'"):
        check([], {"A": (0, half, layout)}, ["A"])
    with pytest.raises(LeafTypeError, match=r"Computed\('A', 3, ...\)"):
        check([], {"A": (0, half, layout)}, [Computed("A", 3, ())])
    with pytest.raises(RangeError, match="the tensor A at -4"):
        check([], {"A": (-4, half, layout)}, [])
    for address in (4096, 4096 + 30):
        with pytest.raises(RangeError, match="the tensors A at 0x1000 to 0x101f and B at"):
            check([], {"A": (4096, half, layout), "B": (address, half, layout)}, [Copied("B", "A")])
    assert check([], {"A": (4096, half, layout), "B": (4096 + 32, half, layout)}, []).holds
    line = '{"call": "DataCopy", "args": [{"type": "half", "position": 1, "address": 0}, {"type": "half", "position": -1, "address": 5}, 16]}'
    with pytest.raises(RangeError, match="the address 0x5 in global memory"):
        check([line], {"A": (4096, half, layout)}, [])


def logged(name):
    """What the logs of an example show: its statements are the block's, or they are right, or a fault is found."""
    logs = [n for n in LOGS if n.split(" ")[0] == name]
    if any(LOGS[n].get("block") for n in logs) and name not in CUT:  # the slices of these come first
        return "equal"
    return "fault found" if {*logs} & {*WRONG} else "right" if logs else "-"


def test_the_table_of_examples_in_the_docs_is_what_is_tested():
    rows = [row_of(name, logged(name)) for name in EXAMPLES]
    docs = Path(__file__).parents[2] / "docs"
    for page in ("transfers.md", "transfers_zh.md"):
        lines = (docs / page).read_text().splitlines()
        first = lines.index(rows[0])
        assert lines[first : first + len(rows)] == rows, page
        assert not lines[first + len(rows)]


def test_every_example_has_a_log_or_a_block():
    assert len({name.split("_")[0] for name in EXAMPLES}) >= 24
    logged = {n.split("_")[0] for n in LOGS if n[0].isdigit()}
    assert len(logged) >= 24
    assert {n.split("_")[0] for n in EXAMPLES} >= logged - {"24", "41"}  # a convolution, and a sparse product
    assert {LOGS[n]["arch"] for n in LOGS} == {"AtlasA2", "Ascend950"}
