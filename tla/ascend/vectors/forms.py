"""Vector instructions whose result has another shape than their sources: reductions, broadcasts, comparisons,
selections, tables.

A repeat takes 256 bytes as ever. WholeReduce makes one element of it, BlockReduce one of each block of 32 bytes,
PairReduceSum one of each two; Brcb takes 8 elements and makes a block of each; Compare makes a bit of each element, and
Select takes one, 64 or 128 bits for a repeat, one repeat's behind another's. Gather moves single elements by a
table of byte offsets.

Source: AscendC: WholeReduceSum, BlockReduceSum, PairReduceSum, Brcb, Compare, Select (mode 2), Gather.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.layout import Layout
from ...core.values import held

_REAL, _ALL = ("half", "float"), ("half", "int16", "int32", "float")


class Special(NamedTuple):
    """An instruction of another form.

    form      what makes its result: whole, block, pair, spread, bits, select or gather
    operands  the names of its operands, as fields call them; types that it has; compute numpy's function of a reduction
    scalar    whether a number is its last source
    """

    form: str
    operands: tuple[str, ...]
    types: tuple[str, ...]
    compute: str = ""
    scalar: bool = False


_TO_ONE, _OF_TWO = ("dst", "src"), ("dst", "src0", "src1")
SPECIAL: Mapping[str, Special] = {
    **{
        f"{form.capitalize()}Reduce{name}": Special(form, _TO_ONE, _REAL, function)
        for form in ("whole", "block")
        for name, function in (("Sum", "add"), ("Max", "maximum"), ("Min", "minimum"))
    },
    "PairReduceSum": Special("pair", _TO_ONE, _REAL, "add"),
    "Brcb": Special("spread", _TO_ONE, _ALL),
    "Compare": Special("bits", _OF_TWO, _REAL),
    **dict.fromkeys(("Compares", "CompareScalar"), Special("bits", _TO_ONE, _REAL, scalar=True)),
    "Select": Special("select", ("dst", "sel", "src0", "src1"), _REAL),
    "Gather": Special("gather", _TO_ONE, _ALL),
}
#: CMPMODE -> numpy's function.
MODES = {"LT": "less", "GT": "greater", "EQ": "equal", "LE": "less_equal", "GE": "greater_equal", "NE": "not_equal"}

Fields = Mapping[str, int]


def repeat_of(elements: tuple[Element, ...]) -> int:
    """The elements of a repeat: 256 bytes of what is computed."""
    return 256 * 8 // elements[-1].bits


def blocks_of_repeat(side: str, p: Fields, element: Element, most: int) -> Layout:
    """An operand in blocks of 32 bytes: element j of repeat r, as many of each repeat as the mask has."""
    c0 = int(element.C0)
    steps = (1, p[f"{side}BlkStride"] * c0), p[f"{side}RepStride"] * c0
    return Layout(((c0, most // c0), p["repeatTimes"]), steps, (p["mask"], p["repeatTimes"]))


def operand_of(special: Special, side: str, p: Fields, element: Element, most: int) -> Layout:
    """The layout of an operand from its place on: (element of a repeat, repeat)."""
    c0, count, mask = int(element.C0), p.get("repeatTimes", 1), p.get("mask", 0)
    match special.form, side:
        case "whole", "dst":
            return Layout((1, count), (0, p["dstRepStride"]))
        case "block", "dst":
            return Layout((8, count), (1, 8 * p["dstRepStride"]), (-(-mask // c0), count))
        case "pair", "dst":
            return Layout((most // 2, count), (1, most // 2 * p["dstRepStride"]), (-(-mask // 2), count))
        case "spread", "dst":
            return Layout(((c0, 8), count), ((1, p["dstBlkStride"] * c0), p["dstRepStride"] * c0))
        case "spread", "src":
            return Layout((8, count), (1, 8))
        case ("bits", "dst") | ("select", "sel"):
            return Layout((most // 8, count), (1, most // 8))
        case "gather", _:
            return Layout((p["count"], 1), (1, 0))
    return blocks_of_repeat(side, p, element, most)


def result_of(special: Special, values: list[Any], p: Fields, c0: int, mode: str) -> Any:
    """The elements that an instruction stores, from those that it reads: arrays of (repeats, elements of a repeat)."""
    import numpy as np

    if special.form in ("whole", "block", "pair"):
        size = {"whole": p["mask"], "block": c0, "pair": 2}[special.form]
        starts = range(0, p["mask"], size)
        return np.concatenate([_reduced(values[0][:, i : i + size], special.compute) for i in starts], 1)
    if special.form == "spread":
        return np.repeat(values[0], c0, 1)
    if special.form == "bits":
        return np.packbits(getattr(np, MODES[mode])(*values), axis=1, bitorder="little")
    if special.form == "select":
        bits, one, other = values
        unknown = np.isnan(bits)  # bytes that nothing was written to
        known = held("bits", np.where(unknown, 0, bits), np.dtype(np.uint8))
        chosen = np.unpackbits(known, axis=1, bitorder="little")
        made = np.where(chosen[:, : one.shape[1]] == 1, one, other)
        return np.where(np.repeat(unknown, 8, 1)[:, : one.shape[1]], np.nan, made) if unknown.any() else made
    return values[0]


def _reduced(x: Any, compute: str) -> Any:
    """Each row reduced to one element, in a binary tree, as the manual says."""
    import numpy as np

    function = getattr(np, compute)
    while x.shape[1] > 1:
        pairs = x.shape[1] // 2 * 2
        x = np.concatenate([function(x[:, 0:pairs:2], x[:, 1:pairs:2]), x[:, pairs:]], 1)
    return x


def arguments_of(name: str, special: Special, p: Fields, mode: str) -> str:
    """The arguments of the call behind the tensors."""
    match special.form:
        case "whole":
            order = "" if name.endswith("Sum") else ", AscendC::ReduceOrder::ORDER_ONLY_VALUE"
            return "{mask}, {repeatTimes}, {dstRepStride}, {srcBlkStride}, {srcRepStride}".format(**p) + order
        case "block" | "pair":
            return "{repeatTimes}, {mask}, {dstRepStride}, {srcBlkStride}, {srcRepStride}".format(**p)
        case "spread":
            return "{repeatTimes}, {{{dstBlkStride}, {dstRepStride}}}".format(**p)
        case "gather":
            return "srcOffset[0], {srcBaseAddr}, {count}".format(**p)
    what = f"AscendC::CMPMODE::{mode}" if special.form == "bits" else "AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE"
    sides = dict.fromkeys(("dst", *(x for x in special.operands if x != "sel")))
    told = {"dstBlkStride": 1, "dstRepStride": 8, **p}
    steps = ", ".join(str(told[f"{side}{kind}Stride"]) for kind in ("Blk", "Rep") for side in sides)
    return f"{what}, {p['mask']}, {p['repeatTimes']}, {{{steps}}}"


def unit_of(special: Special, side: str, element: Element) -> int:
    """The number of elements that an operand begins at a multiple of."""
    if side == "dst" and special.form in ("whole", "block"):
        return 1 if special.form == "whole" else 8
    return int(element.C0)
