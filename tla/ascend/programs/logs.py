"""The instructions that a C++ kernel logged, as a program.

`stand_in.h` logs each call of AscendC as a line of JSON: what is called, its types, and its arguments. A tensor is
told by its position and its address, a struct by its fields. Text from outside is data: every call, struct, field and
type is looked up, and what is not known is refused.

Source: CATLASS tests/unittest/stub, whose structs and functions the stand-in uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ...core import element as types
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, TlaError
from ...core.int_tuple import quoted, shown
from ...core.layout import Layout
from ..architecture import Architecture, as_architecture
from ..element import CPP_NAMES
from ..transfers.instruction import TransferInstruction
from .log_rules import Logged, require_ends, require_mode, require_operands, require_zeros
from .mmad import INDEXED, MmadInstruction
from .statements import (
    FILLED,
    SCALE_BITS,
    Buffer,
    Fill,
    Move,
    Multiply,
    PipeBarrier,
    Program,
    SetAtomic,
    SetFlag,
    WaitFlag,
)
from .trace import PIPES, VECTOR_PIPES, ends_of
from .vector_logs import ALL_BITS, CALLS, GATHERS, TRANSPOSES, Operand, computation, gather, transposition, whole

#: AscendC's TPosition by number: the memory that a local tensor lies in.
_POSITIONS = {1: "L1", 2: "L0A", 3: "L1", 4: "L0B", 5: "L1", 6: "Bias", 7: "L0C", 13: "L1", 14: "FixBuf"}
_POSITIONS |= dict.fromkeys((9, 10, 11), "UB")

#: C++'s names of element types.
_ELEMENTS = {cpp.rpartition("::")[2]: getattr(types, name) for name, cpp in CPP_NAMES.items()} | {
    "signed char": types.int8,
    "unsigned char": types.uint8,
    "short": types.int16,
    "unsigned short": types.uint16,
    "int": types.int32,
    "unsigned int": types.uint32,
    "long": types.int64,
    "unsigned long": types.uint64,
    "mx_fp8_e4m3_t": types.fp8_e4m3,
    "mx_fp8_e5m2_t": types.fp8_e5m2,
    "fp8_e4m3fn_t": types.fp8_e4m3,
    "fp8_e5m2_t": types.fp8_e5m2,
    "fp8_e8m0_t": types.fp8_e8m0,
    "fp4x2_e2m1_t": types.fp4_e2m1,
    "fp4x2_e1m2_t": types.fp4_e1m2,
}

#: Calls that move.
_MOVES = ("DataCopy", "DataCopyPad", "LoadData", "LoadDataWithTranspose", "LoadDataWithSparse", "Fixpipe")

#: The intrinsics that move scales beside an operand, which LoadData of both issues too -> where they move them; and the fields of
#: such a transfer.
_BESIDE = {"load_cbuf_to_ca_mx": "L0AMx", "load_cbuf_to_cb_mx": "L0BMx"}
_SCALES = ("xStartPosition", "yStartPosition", "xStep", "yStep", "srcStride", "dstStride")

#: Calls that move nothing and order nothing.
_SILENT = frozenset(
    [
        "GetBlockNum",
        "GetBlockIdx",
        "GetSubBlockIdx",
        "GetSubBlockNum",
        "GetTaskRatio",
        "GetDataBlockSizeInBytes",
        "SetFixpipePreQuantFlag",
        "SetHF32Mode",
        "SetMMLayoutTransform",
        "SetMaskNorm",
    ]
)


#: AscendC's QuantMode_t with a scale of each column, by number: VDEQF16 and every second one behind it.
_OF_COLUMNS = range(4, 17, 2)
#: The bits of a fractal, in which LoadData2D counts where it begins.
_FRACTAL = 512 * 8
#: The filterConfig of LoadData3DParamsV2Pro for strides, sizes and dilations of 1.
_ONE_PLACE = 0x10101010101


class _State:
    """The settings of earlier calls for later ones."""

    def __init__(self, arch: Architecture) -> None:
        self.wide = arch.name == "Ascend950"
        self.matrix: Mapping[str, int] = MappingProxyType({})
        self.nd: tuple[int, int, int] | None = None
        self.adds = ""
        self.columns: Logged | None = None
        self.mask = ALL_BITS


def read_log(lines: Iterable[str], arch: str | Architecture, tensors: Iterable[Buffer]) -> Program:
    """The program that a log tells.

    lines     of JSON, as the stand-in prints them
    arch      AtlasA2, AtlasA3, Ascend950, or a name
    tensors   those in global memory, with the addresses that the kernel was given; and tiles elsewhere that are
              to be checked
    Returns   Program: a buffer for each tensor, and one for each memory of the core

    >>> from tla.ascend.programs.logs import read_log
    >>> read_log(['{"call": "SetFlag", "event": "M_FIX", "id": 0}'], "AtlasA2", []).body
    (SetFlag(event='M_FIX', id=0),)

    Raises LeafTypeError for calls, structs and types that are not known, RangeError for addresses in no tensor.
    """
    arch = as_architecture(arch)
    buffers = {b.name: b for b in tensors}
    if taken := sorted({*buffers} & {*arch.sizes, *VECTOR_PIPES.values()}):
        raise LeafTypeError(f"a tensor named {taken[0]}", "a name that is no memory's", f"call it gm{taken[0]}")
    local = {place: Buffer(place, place, types.uint8, Layout(size, 1)) for place, size in arch.sizes.items()}
    local |= {place: Buffer(place, place, types.uint8, local["UB"].layout) for place in VECTOR_PIPES.values()}
    state = _State(arch)
    body = [s for line in lines if line.strip() for s in _of_line(line, state, buffers)]
    return Program(arch, {**buffers, **local}, tuple(body))


def _of_line(line: str, state: _State, buffers: Mapping[str, Buffer]) -> list[Any]:
    """The statements of a line; LeafTypeError for one that has other fields and arguments than the stand-in prints."""
    record = _record(line)
    try:
        return [*_statements(record, state, buffers)]
    except TlaError:
        raise
    except (AttributeError, IndexError, KeyError, OverflowError, TypeError, ValueError) as why:
        what, fix = f"the line {quoted(line, 60)}, in which {type(why).__name__}: {why}", "log it with the stand-in"
        raise LeafTypeError(what, "the fields and arguments of the call, as the stand-in prints them", fix) from None


def _record(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (json.JSONDecodeError, RecursionError):
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("call"), str):
        expected = "a call in JSON, as the stand-in prints it"
        raise LeafTypeError(f"the line {quoted(line, 60)}", expected, "include stand_in.h before AscendC")
    return found


def _statements(record: dict[str, Any], state: _State, buffers: Mapping[str, Buffer]) -> Iterator[Any]:
    name, args = record["call"], record.get("args", [])
    if name in _SILENT:
        return
    if name in ("SetFlag", "WaitFlag"):
        ends_of(record["event"])
        yield (SetFlag if name == "SetFlag" else WaitFlag)(record["event"], whole(record["id"]))
    elif name == "PipeBarrier":
        if record["pipe"] not in (*PIPES, "ALL"):
            raise LeafTypeError(f"the pipe {shown(record['pipe'])}", f"one of {', '.join(PIPES)}", "log its name")
        yield PipeBarrier(record["pipe"])
    elif name in ("SetAtomicAdd", "SetAtomicNone"):
        state.adds = str([*record.get("types", []), ""][0]) if name == "SetAtomicAdd" else ""
        yield SetAtomic(name == "SetAtomicAdd")
    elif name in ("SetFmatrix", "Load3DSetFMatrixCal"):
        state.matrix = {"l1H": whole(args[0]), "l1W": whole(args[1])}
    elif name == "SetFixpipeNz2ndFlag":
        state.nd = (whole(args[0]), whole(args[1]), whole(args[2]))
    elif name == "SetFixPipeConfig":  # alone, or behind the scales of a ReLU
        state.columns = _tensor(args[len(args) - 2])
    elif name in ("Mmad", "MmadWithSparse"):
        yield _multiply(args, buffers, sparse=name == "MmadWithSparse")
    elif name == "InitConstValue":
        yield _fill(args, buffers)
    elif name in ("SetVectorMask", "ResetMask"):
        high, low = args or (-1, -1)
        state.mask = (whole(high) << 64 | whole(low) & ALL_BITS >> 64) & ALL_BITS
    elif name == TRANSPOSES:
        yield transposition(args, _element(record["types"][0]))
    elif name == GATHERS:
        yield gather(args, lambda x: _operand(x, buffers))
    elif name in CALLS:
        yield computation(name, args, lambda x: _operand(x, buffers), state.mask)
    elif name in _BESIDE:
        fields: dict[str, int] = dict(zip(_SCALES, map(int, args[2:]), strict=True))
        yield _scales_beside(_BESIDE[name], whole(args[0]), whole(args[1]), fields)
    elif name in _MOVES:
        yield from _with_scales(record, state, buffers)
    else:
        expected = "calls of AscendC that move, multiply or order"
        raise LeafTypeError(f"the call {name}", expected, "leave it out of the log, or check a part")


def _tensor(argument: Any) -> Logged:
    """A tensor of a log."""
    if not isinstance(argument, dict) or "address" not in argument:
        expected = "a tensor: its type, position and address"
        raise LeafTypeError(f"the argument {quoted(argument, 60)}", expected, "log it with the stand-in")
    element = _element(argument["type"])
    position = whole(argument["position"])
    if position not in _POSITIONS and position != -1:
        expected = f"-1 for global memory, or one of {[*_POSITIONS]}"
        raise LeafTypeError(f"the position {position}", expected, "log AscendC's TPosition")
    return Logged(_POSITIONS.get(position, "GM"), whole(argument["address"]), element)


def _element(name: Any) -> Element:
    """An element type by C++'s name of it."""
    element: Element | None = _ELEMENTS.get(str(name).rpartition("::")[2])
    if element is None:
        raise LeafTypeError(
            f"the type {quoted(name, 40)}", f"one of {', '.join(_ELEMENTS)}", "log a kernel of these types"
        )
    return element


def _operand(argument: Any, buffers: Mapping[str, Buffer]) -> Operand:
    """A tensor of a computation: its memory, where it begins there, and its element type."""
    t = _tensor(argument)
    return (*_place(t, buffers, t.element.bits), t.element)


def _place(t: Logged, buffers: Mapping[str, Buffer], bits: int) -> tuple[str, int]:
    """The buffer that a tensor lies in, and where in it [elements of so many bits]; RangeError inside of one."""
    if t.place != "GM":
        _require_whole(t, t.address, bits)
        return t.place, t.address * 8 // bits
    inside = [b for b in buffers.values() if b.position == "GM" and b.address <= t.address]
    if not inside:
        known = ", ".join(f"{b.name} at {b.address:#x}" for b in buffers.values() if b.position == "GM")
        what = f"the address {t.address:#x} in global memory"
        raise RangeError(what, f"one in a tensor: {known}", "give the tensor, with its address")
    b = max(inside, key=lambda b: b.address)
    _require_whole(t, t.address - b.address, bits)
    return b.name, (t.address - b.address) * 8 // bits


def _require_whole(t: Logged, begin: int, bits: int) -> None:
    """RangeError for a tensor that begins inside of an element."""
    if begin * 8 % bits:
        what = f"the address {t.address:#x} of {t.place}, inside of an element of {bits} bits"
        raise RangeError(what, f"a multiple of {bits // 8} bytes", "log a kernel of whole elements")


def _fill(args: list[Any], buffers: Mapping[str, Buffer]) -> Fill:
    t = _tensor(args[0])
    if t.place not in FILLED or t.address % FILLED[t.place] or args[1].get("initValue"):
        filled = ", ".join(f"{n} of {p}" for p, n in FILLED.items())
        expected = f"zeros in L1, L0A or L0B, from a whole block on: {filled}"
        raise LeafTypeError(f"an InitConstValue at {t.place} {t.address}", expected, "check a part of the log")
    name, at = _place(t, buffers, t.element.bits)
    fields = {f: whole(args[1][f]) for f in ("repeatTimes", "blockNum", "dstGap")}
    _require_no_less("InitConstValue", fields)
    return Fill(name, at, t.element, fields)


def _multiply(args: list[Any], buffers: Mapping[str, Buffer], sparse: bool) -> Multiply:
    c, a, b, *third = (_tensor(x) for x in args[:-1])
    fields = {name: whole(args[-1][name]) for name in ("m", "n", "k", "unitFlag", "kDirectionAlign", "cmatrixInitVal")}
    fields |= {name: whole(args[-1][name]) for name in ("disableGemv",) if name in args[-1]}
    require_zeros("Mmad", args[-1])
    require_operands((c, a, b, *third), fields, INDEXED if sparse else 1)
    (dst, at_c), (left, at_a), (right, at_b) = (_place(t, buffers, t.element.bits) for t in (c, a, b))
    bias = _place(third[0], buffers, third[0].element.bits) if third else None
    if args[-1].get("cmatrixSource") and not fields["cmatrixInitVal"] and bias is None:
        expected = "biases among its arguments, or sums in L0C that it adds to"
        raise LeafTypeError("a Mmad with cmatrixSource=1, and no biases", expected, "log a kernel that multiplies so")
    elements = (c.element, a.element, b.element)
    scaled = "mx_" in str(args[1]["type"]) or a.element.name.startswith("fp4")
    i = MmadInstruction(at_c, at_a, at_b, bias[1] if bias else None, fields, elements, scaled, sparse)
    return Multiply(dst, left, right, bias[0] if bias else None, i)


def _with_scales(record: dict[str, Any], state: _State, buffers: Mapping[str, Buffer]) -> Iterator[Move]:
    """The transfer that a line tells; of an operand with its scales, LoadData of five arguments, both."""
    args = record["args"]
    if len(args) != 5 or record["call"] != "LoadData":
        yield _move(record, state, buffers)
        return
    dst, src, scales, fields, more = args
    to, begin = _tensor(dst), _tensor(scales)
    if to.place not in ("L0A", "L0B") or begin.place != "L1" or begin.element != types.fp8_e8m0:
        what = f"a LoadData to {to.place} with scales of {begin.element} in {begin.place}"
        raise LeafTypeError(what, "scales of fp8_e8m0 in L1, to L0A or L0B", "log it with the stand-in")
    yield _move({**record, "args": [dst, src, fields]}, state, buffers)
    told = {name: whole(more[name]) for name in _SCALES}
    yield _scales_beside(f"{to.place}Mx", to.address // 16, begin.address, told)


def _scales_beside(place: str, at: int, begin: int, fields: dict[str, int]) -> Move:
    """A transfer of scales out of L1 beside an operand; at, begin: bytes."""
    _require_no_less("LoadData2DMx", fields)
    return Move(place, "L1", TransferInstruction("LoadData2DMx", at, begin, fields, types.fp8_e8m0))


def _move(record: dict[str, Any], state: _State, buffers: Mapping[str, Buffer]) -> Move:
    dst, src, *rest = record["args"]
    index = rest.pop(0) if record["call"] == "LoadDataWithSparse" and rest else None
    to, begin = _tensor(dst), _tensor(src)
    fields = next((x for x in rest if isinstance(x, dict) and "address" not in x), None)
    kind = str(fields["struct"]).partition("<")[0].rpartition("::")[2] if fields else "count"
    if kind not in _READ:
        fix = "log a kernel that moves with these"
        raise LeafTypeError(f"{record['call']} with {kind}", f"one of {', '.join(_READ)}", fix)
    fields = {"count": rest[0]} if fields is None else fields
    name, parameters, form = _READ[kind](fields, state, record, (to, begin))
    require_ends(name, begin, to)
    for more in (x for x in rest if isinstance(x, dict) and "address" not in x):
        require_zeros(name, more)
    if to.place == "GM" and state.adds and _element(state.adds) != to.element:
        what, fix = f"a {name} to {to.element} under SetAtomicAdd<{_element(state.adds)}>", "log a kernel that adds so"
        raise LeafTypeError(what, f"SetAtomicAdd<{to.element}>", fix)
    element = begin.element if to.place == "Bias" else to.element
    read, written = (32 if t.place in ("L0C", "Bias") else element.bits for t in (begin, to))
    (d, at), (s, start), beside, first = _place(to, buffers, written), _place(begin, buffers, read), "", 0
    if index is not None:
        beside, place = _place(_tensor(index), buffers, 8)
        name, parameters = "LoadDataWithSparse", {**parameters, "index": place}
    if begin.place == "L0C" and fields and whole(fields.get("quantPre", 0)) in _OF_COLUMNS:
        given = next((_tensor(x) for x in rest if isinstance(x, dict) and "address" in x), state.columns)
        beside, first = _place(_require_columns(given, to.place, parameters), buffers, SCALE_BITS)
    if parameters.get("dualDstCtl"):  # to two vector cores, at the same place in both
        d = "UB0"
        _require_halves(to.place, parameters)
    _require_no_less(name, parameters)
    if (begun := parameters.get("startIndex", 0)) and name in ("LoadData2D", "LoadDataWithSparse"):
        start += begun * _FRACTAL // read
        parameters = {**parameters, "startIndex": 0}
    require_zeros(name, parameters, ("startIndex",))
    if begin.place == "L0C":
        require_mode(begin, to, fields)
    relu = {"reluEn": "true"} if fields.get("reluEn") or fields.get("reluPre") else {}
    i = TransferInstruction(name, at, start, parameters, element, form, relu)
    _ = i.moved  # where a field is missing, this raises
    return Move(d, s, i, beside, first)


def _require_columns(given: Logged | None, place: str, p: Mapping[str, int]) -> Logged:
    """The scales of the columns of a Fixpipe; LeafTypeError where none are set, and for what no manual says."""
    if given is None:
        expected = "SetFixPipeConfig with the scales before it, or these among its arguments"
        raise LeafTypeError(
            f"a Fixpipe to {place} with a scale of each column", expected, "log the kernel from its start"
        )
    if p["srcStride"] < 1:
        raise RangeError(f"a Fixpipe with srcStride={p['srcStride']}", "1 or more", "log a kernel that moves so")
    if given.element != types.uint64 or p.get("ndNum", 1) > 1:
        what = f"a Fixpipe of {p.get('ndNum', 1)} matrices with scales of {given.element}"
        raise LeafTypeError(what, "one matrix, with scales in words of 64 bits", "log a kernel that moves so")
    return given


def _require_no_less(name: str, fields: Mapping[str, int]) -> None:
    """RangeError for a field below 0."""
    for field, n in fields.items():
        if n < 0:
            raise RangeError(f"{name}: {field} = {n}", "0 or more", "log it with the stand-in")


def _require_halves(place: str, p: Mapping[str, int]) -> None:
    """LeafTypeError for a Fixpipe to two vector cores whose halves no manual has."""
    odd = {1: p["mSize"] % 2, 2: p["nSize"] % 32}.get(p["dualDstCtl"], 1)
    if place != "UB" or odd:
        what = f"a Fixpipe to {place} with dualDstCtl={p['dualDstCtl']} of {p['mSize']} by {p['nSize']}"
        expected = "1 of an even mSize, or 2 of an nSize in whole 32, to UB"
        raise LeafTypeError(what, expected, "log a kernel that moves so")


_Ends = tuple[Logged, Logged]
_Fields = Mapping[str, Any]
#: The name of the instruction, its parameters, and its form.
_Told = tuple[str, dict[str, int], str]
_Read = Callable[[_Fields, _State, Mapping[str, Any], _Ends], _Told]


def _plain(name: str, form: str = "") -> _Read:
    """A struct whose fields are the instruction's."""

    def read(fields: _Fields, state: _State, _record: Mapping[str, Any], ends: _Ends) -> _Told:
        told = {f: whole(v) for f, v in fields.items() if f != "struct"}
        if name == "Nd2Nz" and ends[0].element == types.int4b:
            return name, told, "bytes of pairs"
        return name, told, form if state.wide or form != "wide" else ""

    return read


def _data_copy(fields: _Fields, state: _State, _record: Mapping[str, Any], ends: _Ends) -> _Told:
    unit = {"Bias": 32 if state.wide else 64, "FixBuf": 64 if state.wide else 128}.get(ends[0].place, 32)
    if "count" in fields:
        length = -(-whole(fields["count"]) * ends[1].element.bits // (8 * unit))
        fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
    told = {f: whole(fields[f]) for f in ("blockCount", "blockLen", "srcStride", "dstStride")}
    return "DataCopy", told, "" if unit == 32 else str(unit)


def _data_copy_pad(fields: _Fields, _state: _State, record: Mapping[str, Any], ends: _Ends) -> _Told:
    found = {f: whole(fields[f]) for f in ("blockCount", "blockLen", "srcStride", "dstStride")}
    if ends[0].place == "GM":
        return "DataCopyPad", found, "to GM"
    pad = record["args"][3]
    return (
        "DataCopyPad",
        {**found, **({"rightPadding": whole(pad["rightPadding"])} if pad.get("isPad") else {})},
        "to UB",
    )


def _load_3d(fields: _Fields, state: _State, record: Mapping[str, Any], _ends: _Ends) -> _Told:
    found = {f: whole(v) for f, v in fields.items() if f != "struct"}
    told = (x for x in record.get("types", []) if isinstance(x, dict) and "isSetFMatrix" in x)
    own = next(told, {"isSetFMatrix": found["l1H"] > 0})  # not spelled out: an image of no lines is none
    image = {f: found[f] for f in ("l1H", "l1W")} if own["isSetFMatrix"] else dict(state.matrix)
    if image.get("l1H") == found["filterW"] == found["filterH"] == found["strideW"] == found["strideH"] == 1:
        return "LoadData3D", _of_one_row(found, image["l1W"]), ""
    pads = {f"pad{side}": found[f"padList[{i}]"] for i, side in enumerate(("Left", "Right", "Top", "Bottom"))}
    return "LoadData3D", {**found, **image, **pads}, ""


def _of_one_row(found: dict[str, int], width: int) -> dict[str, int]:
    """The fields of a LoadData3D of an image of one row, with a window of one place."""
    kept = ("mExtension", "kExtension", "channelSize", "enTranspose", "fMatrixCtrl")
    starts = {f: found[f] for f in ("mStartPt", "kStartPt") if found[f]}
    return {**{f: found[f] for f in kept}, "l1W": width, **starts}


def _load_3d_pro(fields: _Fields, state: _State, _record: Mapping[str, Any], _ends: _Ends) -> _Told:
    """LoadData3DParamsV2Pro, whose numbers are 16 bits each of one; of a window of one place, as all of CATLASS's."""
    if whole(fields["filterConfig"]) != _ONE_PLACE or state.matrix.get("l1H") != 1:
        what = f"LoadData3DParamsV2Pro with filterConfig = {whole(fields['filterConfig']):#x} of an image {dict(state.matrix)}"
        raise LeafTypeError(what, "a window of one place over one row", "log a kernel that moves so")
    packed = whole(fields["extConfig"])
    names = ("kExtension", "mExtension", "kStartPt", "mStartPt")
    found = {name: packed >> 16 * i & 0xFFFF for i, name in enumerate(names)}
    found |= {name: whole(fields[name]) for name in ("channelSize", "enTranspose", "fMatrixCtrl")}
    return "LoadData3D", _of_one_row(found, state.matrix["l1W"]), ""


def _fixpipe(name: str) -> _Read:
    def read(fields: _Fields, state: _State, record: Mapping[str, Any], ends: _Ends) -> _Told:
        config = next((x for x in record.get("types", []) if isinstance(x, dict) and "format" in x), {"format": 1})
        names = ["nSize", "mSize", "srcStride", "dstStride", "unitFlag"]
        names += ["ndNum", "srcNdStride", "dstNdStride", "dualDstCtl", "subBlockId"]
        found = {f: whole(fields[f]) for f in names if f in fields}
        split = whole(fields.get("isChannelSplit", fields.get("channelSplit", 0)))
        if name == "DataCopyCO12Dst":
            if state.nd is None and fields.get("nz2ndEn"):
                what, fix = "a DataCopy out of L0C with nz2ndEn=1", "log the kernel from its start"
                raise LeafTypeError(what, "SetFixpipeNz2ndFlag before it", fix)
            number, source, target = state.nd if state.nd and fields.get("nz2ndEn") else (1, 0, 0)
            found |= {
                "ndNum": number,
                "srcNdStride": source,
                "dstNdStride": target,
                "nz2ndEn": whole(fields["nz2ndEn"]),
            }
            form = "WIDE" if state.wide else ""
        else:
            form = "CFG_ROW_MAJOR" if whole(config["format"]) == 1 else "CFG_NZ_WIDE" if state.wide else "CFG_NZ"
            form += "_UB" if ends[0].place == "UB" and whole(config["format"]) == 1 else ""
        return name, {**found, "channelSplit": split}, form

    return read


#: AscendC's structs: how each is read.
_READ: dict[str, _Read] = {
    "count": _data_copy,
    "DataCopyParams": _data_copy,
    "DataCopyExtParams": _data_copy_pad,
    "Nd2NzParams": _plain("Nd2Nz", "wide"),
    "Dn2NzParams": _plain("Dn2Nz"),
    "LoadData2DParams": _plain("LoadData2D"),
    "LoadData2DParamsV2": _plain("LoadData2DV2"),
    "LoadData2DMxParams": _plain("LoadData2DMx"),
    "LoadData2dTransposeParams": _plain("LoadData2DTranspose"),
    "LoadData3DParamsV2": _load_3d,
    "LoadData3DParamsV2Pro": _load_3d_pro,
    "FixpipeParamsV220": _fixpipe("Fixpipe"),
    "FixpipeParamsArch3510": _fixpipe("FixpipeC310"),
    "FixpipeParamsC310": _fixpipe("FixpipeC310"),
    "DataCopyCO12DstParams": _fixpipe("DataCopyCO12Dst"),
}
