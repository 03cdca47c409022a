"""Plans out of L0C, and how Fixpipe converts on the way.

Source: CATLASS include/catlass/gemm/tile: CopyL0CToGmTla, CopyL0CToUBTla, CopyL0CToGmQuantMode, CopyL0CToDstQuantMode;
to L1 AscendC `DataCopy` of DataCopyCO12DstParams.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike, Leaf
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most, require
from ..element import CPP_NAMES
from .instruction import TransferInstruction
from .moved import ROWS, gap_of
from .side import Side
from .steps import Step

#: How finely values are scaled, as CATLASS's ScaleGranularity has it.
GRANULARITIES = ("NO_QUANT", "PER_TENSOR", "PER_CHANNEL")

#: The settings that decide how a value becomes another.
CONVERTS = ("quantPre", "reluEn", "deqScalar")

Settings = Mapping[str, str]
OutPlan = Callable[[Side, Side, Settings], Iterator[Step]]


def _modes(lines: str) -> dict[tuple[str, str, str], str]:
    """{(accumulator, element, granularity): QuantMode_t} of lines "accumulator element mode mode mode", - for none."""
    found: dict[tuple[str, str, str], str] = {}
    for line in lines.strip().splitlines():
        source, element, *modes = line.split()
        found |= {(source, element, g): mode for g, mode in zip(GRANULARITIES, modes) if mode != "-"}
    return found


_BYTES = """
float uint8 - QF322B8_PRE VQF322B8_PRE
float int8 - QF322B8_PRE VQF322B8_PRE
int32 int32 NoQuant - -
int32 half - DEQF16 VDEQF16
int32 uint8 - REQ8 VREQ8
int32 int8 - REQ8 VREQ8
"""
#: QuantMode_t by accumulator, element and granularity: of AtlasA2 and AtlasA3, and of Ascend950.
A2_MODES = _modes("float float NoQuant - -\nfloat half F322F16 F322F16 -\nfloat bf16 F322BF16 F322BF16 -" + _BYTES)
ASCEND950_MODES = _modes(
    """
float float NoQuant QF322F32_PRE VQF322F32_PRE
float half F322F16 QF322F16_PRE VQF322F16_PRE
float bf16 F322BF16 QF322BF16_PRE VQF322BF16_PRE
int32 bf16 - QS322BF16_PRE VQS322BF16_PRE"""
    + _BYTES
)


def scaled_by(granularity: str, wide: bool, name: str = "scale") -> Settings:
    """The settings of a granularity besides its mode; name: of the tensor of the columns' scales, in Fixpipe's buffer,
    on Ascend950 in L1."""
    if granularity == "PER_CHANNEL" and wide:
        return {"Between": f", {name}"}
    if granularity == "PER_CHANNEL":
        call = f"AscendC::SetFixPipeConfig<uint64_t, false>({name}, false);"
        return {"Before": f"{call} AscendC::PipeBarrier<PIPE_FIX>();"}
    return {"deqScalar": "deqScalar"} if granularity == "PER_TENSOR" else {}


def settings_of(element: Element, source: Element, granularity: str, relu: bool, wide: bool) -> Settings:
    """The fields of Fixpipe that convert; LeafTypeError where the hardware has no such conversion."""
    modes = ASCEND950_MODES if wide else A2_MODES
    if not isinstance(granularity, str) or granularity not in GRANULARITIES:
        expected = f"one of {', '.join(GRANULARITIES)}"
        raise LeafTypeError(f"quant={shown(granularity)}", expected, 'write quant="PER_TENSOR"')
    name = source.name if element.name == "32" else element.name
    if name.isdigit() and granularity == "NO_QUANT" and source.name == "float":
        return {"quantPre": "quantPre"}  # the type decides: a kernel's own name for it
    mode = modes.get((source.name, name, granularity))
    if mode is None:
        to = [e if g == granularity else f"{e} with quant={g!r}" for s, e, g in modes if s == source.name]
        given = f"elements of {name} bits" if name.isdigit() else name
        what = f"Fixpipe of {source} to {given} with quant={granularity!r}"
        expected = f"to {', '.join(to) or 'another from float or int32'}"
        other = next((g for s, e, g in modes if (s, e) == (source.name, name)), None)
        fix = f'write quant="{other}"' if other else "name the types: element=half, accumulator=int32"
        raise LeafTypeError(what, expected, fix)
    made = {"quantPre": f"QuantMode_t::{mode}", "Source": CPP_NAMES[source.name]}
    return {**made, **scaled_by(granularity, wide), **({"reluEn": "true"} if relu else {})}


def _fields(src: Side, dst: Side, step: IntLike, split: bool) -> dict[str, Any]:
    fields = {"nSize": dst.valid[1], "mSize": dst.valid[0], "srcStride": src.outer(1) // src.inner(0)}
    return {**fields, "dstStride": step, "channelSplit": int(split)}


def _row_step(dst: Side) -> Leaf:
    """The step between rows of global memory."""
    return gap_of(dst.outer(0), dst.valid[0], 2**32)


def to_rows(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """An accumulator to rows of global memory."""
    fields = _fields(src, dst, _row_step(dst), split=False)
    yield TransferInstruction("Fixpipe", dst.at, src.at, fields, dst.element, "CFG_ROW_MAJOR", settings)


def to_blocks(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """An accumulator to blocks of C0; float splits the channels."""
    fields = _fields(src, dst, dst.outer(1) // int(dst.element.C0), split=dst.element.bits == 32)
    yield TransferInstruction("Fixpipe", dst.at, src.at, fields, dst.element, "CFG_NZ", settings)


def to_l1(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """An accumulator to blocks of C0 in L1, in whole columns of 16, as the manual asks of blocks."""
    fields = {**_fields(src, dst, dst.outer(1) // int(dst.element.C0), split=False), "nz2ndEn": 0}
    fields["nSize"] = ceil_div(dst.valid[1], ROWS) * ROWS
    if "deqScalar" in settings:  # the struct has no field for it
        settings = {**settings, "Unset": "deqScalar", "Before": "AscendC::SetFixpipePreQuantFlag(deqScalar);"}
    yield TransferInstruction("DataCopyCO12Dst", dst.at, src.at, fields, dst.element, "", settings)


def matrices_to_rows(wide: bool) -> OutPlan:
    """Accumulators one behind another to as many matrices of rows: one instruction where its fields hold it."""
    plan_of_one, unit = (wide_to_rows, ROWS) if wide else (to_rows, ROWS * ROWS)

    def plan(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
        (one,) = plan_of_one(src, dst, settings)
        assert isinstance(one, TransferInstruction)
        count, apart, step = dst.valid[2], src.outer(2), dst.outer(2)
        many = {"ndNum": count, "srcNdStride": apart // unit, "dstNdStride": step}
        form, told = ("CFG_ROW_MAJOR_WIDE" if wide else one.form), one.settings
        if one.name == "DataCopyCO12Dst":
            told = {**told, "Before": f"AscendC::SetFixpipeNz2ndFlag({', '.join(map(str, many.values()))});"}
        whole = replace(one, parameters={**one.parameters, **many}, form=form, settings=told)
        if count > 1 and apart % unit == 0 and whole.over_fields(at_most) is None:
            yield whole
        else:
            yield from (replace(one, dst=one.dst + i * step, src=one.src + i * apart) for i in range(count))

    return plan


def to_image(wide: bool) -> OutPlan:
    """An accumulator whose rows are the points of an image, line after line of it."""

    def plan(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
        *outer, _, high, across, _ = dst.valid
        step = dst.outer(len(outer)) // (1 if wide else int(dst.element.C0))
        fields = {"nSize": src.blocks(1) * ROWS, "mSize": across, "srcStride": src.outer(1) // src.inner(0)}
        fields |= {"dstStride": step, "channelSplit": 0}
        name, form = ("FixpipeC310", "CFG_NZ_WIDE") if wide else ("Fixpipe", "CFG_NZ")
        for number, (*coord, line) in enumerate(itertools.product(*map(range, outer), range(high))):
            to = dst.at + sum(n * dst.outer(i) for i, n in enumerate(coord)) + line * dst.outer(len(outer) + 1)
            at = src.at + number * across * src.inner(0)
            yield TransferInstruction(name, to, at, fields, dst.element, form, settings)

    return plan


# ------------------------------------------------------------------------------------------------------- Ascend950


def wide_to_rows(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """As to_rows; what is not scaled goes by DataCopy."""
    fields = _fields(src, dst, _row_step(dst), split=False)
    if _is_scaled(settings):
        yield TransferInstruction("FixpipeC310", dst.at, src.at, fields, dst.element, "CFG_ROW_MAJOR", settings)
        return
    settings = {**settings, "Before": "AscendC::SetFixpipeNz2ndFlag(1, 1, 1);"}
    yield TransferInstruction("DataCopyCO12Dst", dst.at, src.at, {**fields, "nz2ndEn": 1}, dst.element, "", settings)


def wide_to_blocks(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """As to_blocks; what is scaled goes by Fixpipe, which counts the step of blocks in elements: the struct of DataCopy
    has no field for a scale, and no tensor of scales."""
    scaled = _is_scaled(settings)
    fields = _fields(src, dst, dst.outer(1) // (1 if scaled else int(dst.element.C0)), split=dst.element.bits == 32)
    name, form = ("FixpipeC310", "CFG_NZ_WIDE") if scaled else ("DataCopyCO12Dst", "")
    fields |= {} if scaled else {"nz2ndEn": 0}
    yield TransferInstruction(name, dst.at, src.at, fields, dst.element, form, settings)


def _is_scaled(settings: Settings) -> bool:
    """Whether Fixpipe of Ascend950 multiplies by a scale, or by one of each column."""
    return "deqScalar" in settings or "Between" in settings


def to_unified_buffer(src: Side, dst: Side, settings: Settings) -> Iterator[Step]:
    """An accumulator to rows of UB, each in whole blocks of 32 bytes."""
    c0, high, step = int(dst.element.C0), dst.valid[0], dst.outer(0)
    if not at_most(high, 1) and not require("divides", c0, step, lambda: f"rows of UB that are {step} elements apart"):
        what = f"rows of UB that are {step} elements apart, {step * dst.element.bits // 8} bytes"
        raise RangeError(what, "whole blocks of 32 bytes", f"lay it out with ld={ceil_div(step, c0) * c0}")
    fields = {**_fields(src, dst, dst.outer(0), split=False), "nSize": ceil_div(dst.valid[1], c0) * c0}
    yield TransferInstruction("FixpipeC310", dst.at, src.at, fields, dst.element, "CFG_ROW_MAJOR_UB", settings)
