"""MFMA of AMD's CDNA and WMMA of its RDNA, by their instructions' names.

An instruction may multiply several blocks of matrices at once: then A is (M,K,block), B (N,K,block) and C (M,N,block),
in this order, the first mode fastest. Values are counted in a lane's registers; where only every second half of one is
used, those alone.

Source: the ISA manuals of CDNA1 to 4, RDNA3 and 4; AMD's matrix instruction calculator; for f8f6f4 of CDNA4
composable_kernel test/mx_mfma_op/mx_mfma_op.hpp, and AMD's "Matrix Core Programming on CDNA3 and CDNA4".
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

from ...core.cache import plain_memo
from ...core.element import (
    Element,
    bf16,
    double,
    float,
    fp4_e2m1,
    fp6_e2m3,
    fp6_e3m2,
    fp8_e4m3,
    fp8_e4m3fnuz,
    fp8_e5m2,
    fp8_e5m2fnuz,
    fp8_e8m0,
    half,
    int4b,
    int8,
    int32,
    tf32,
    uint4,
    uint8,
)
from ...core.errors import RangeError
from ...core.layout import Layout
from .arithmetic import Arithmetic
from .atom import MMAAtom, shape_of, tv, tv_of
from .entries import Entry, element, option


@dataclass(frozen=True)
class Row:
    """One instruction: M and N, K, how many blocks, the types of A, B and D, lanes."""

    arch: str
    name: str
    m: int
    k: int
    blocks: int
    a: Element
    b: Element
    d: Element
    wave: int


_TYPES = {"f32": float, "f16": half, "bf16": bf16, "bf16_1k": bf16, "i8": int8, "f64": double, "xf32": tf32}
_TYPES |= {"i32": int32, "iu8": uint8, "iu4": uint4}
_FNUZ = {"fp8": fp8_e4m3fnuz, "bf8": fp8_e5m2fnuz}
_OCP = {"fp8": fp8_e4m3, "bf8": fp8_e5m2}
#: type of D, type of A and B, the shapes: M = N, K, blocks
_CDNA1: list[tuple[str, str, list[tuple[int, int, int]]]] = [
    ("f32", "f32", [(32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)]),
    ("f32", "f16", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("i32", "i8", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("f32", "bf16", [(32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)]),
]
_CDNA2 = [
    *_CDNA1,
    ("f32", "bf16_1k", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("f64", "f64", [(16, 4, 1), (4, 4, 4)]),
]
_CDNA3: list[tuple[str, str, list[tuple[int, int, int]]]] = [
    ("f32", "xf32", [(16, 8, 1), (32, 4, 1)]),
    _CDNA1[0],
    _CDNA1[1],
    ("i32", "i8", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 16, 1), (16, 32, 1)]),
    ("f32", "bf16", [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)]),
    ("f64", "f64", [(16, 4, 1), (4, 4, 4)]),
    *(("f32", f"{a}_{b}", [(16, 32, 1), (32, 16, 1)]) for a in ("bf8", "fp8") for b in ("bf8", "fp8")),
]
_CDNA4: list[tuple[str, str, list[tuple[int, int, int]]]] = [
    *((d, types, [(32, 16, 1), (16, 32, 1), *shapes]) for d, types, shapes in _CDNA3 if types in ("f16", "bf16")),
    *((d, types, [(32, 32, 1), (16, 64, 1), *shapes]) for d, types, shapes in _CDNA3 if types == "i8"),
    *(row for row in _CDNA3 if row[1] not in ("xf32", "f16", "bf16", "i8")),
]
#: M = N and K of the instructions whose A and B may each be any of the narrow floats.
_F8F6F4 = [(32, 64), (16, 128)]
_NARROW = (fp8_e4m3, fp8_e5m2, fp6_e2m3, fp6_e3m2, fp4_e2m1)  # by their codes in cbsz and blgp
_RDNA3 = [
    ("f32", "f16", 16),
    ("f32", "bf16", 16),
    ("f16", "f16", 16),
    ("bf16", "bf16", 16),
    ("i32", "iu8", 16),
    ("i32", "iu4", 16),
]
_RDNA4 = [*_RDNA3, ("i32", "iu4", 32), *(("f32", f"{a}_{b}", 16) for a in ("fp8", "bf8") for b in ("fp8", "bf8"))]


def _pair(types: str, narrow: dict[str, Element]) -> tuple[Element, Element]:
    """The types of A and B of "f16", or of "bf8_fp8"."""
    if types in _TYPES:
        return _TYPES[types], _TYPES[types]
    a, b = types.split("_")
    return narrow[a], narrow[b]


@plain_memo
def rows() -> tuple[Row, ...]:
    """Every dense matrix instruction."""
    out = []
    for arch, shapes in (("cdna1", _CDNA1), ("cdna2", _CDNA2), ("cdna3", _CDNA3), ("cdna4", _CDNA4)):
        for d, types, found in shapes:
            for m, k, blocks in found:
                several = f"{blocks}b_" if blocks > 1 else ""
                tail = f"_{several}{types}" if arch in ("cdna3", "cdna4") else types
                a, b = _pair(types, _OCP if arch == "cdna4" else _FNUZ)
                out.append(Row(arch, f"v_mfma_{d}_{m}x{m}x{k}{tail}", m, k, blocks, a, b, _TYPES[d], 64))
    for arch, matrices in (("rdna3", _RDNA3), ("rdna4", _RDNA4)):
        for d, types, k in matrices:
            a, b = _pair(types, _OCP)
            out += [Row(arch, f"v_wmma_{d}_16x16x{k}_{types}", 16, k, 1, a, b, _TYPES[d], wave) for wave in (32, 64)]
    return tuple(out)


def _mfma_operand(m: int, k: int, blocks: int = 1, most: int = 32) -> Layout:
    """A or B, which lie alike: lanes go down rows, over blocks, then along K by runs of `most` values at most."""
    over = 64 // m // blocks
    values = k // over
    run = min(values, most)
    return tv_of([(m, 1), (blocks, m * k), (over, m * run)], [(run, m), (values // run, m * run * over)])


def _mfma_result(r: Row) -> Layout:
    """D: lanes go along the columns; four rows at a time (of f64 one) are values."""
    m, run = r.m, 1 if r.d is double else 4
    if m == 4:
        return tv_of([(m, m), (r.blocks, m * m), (m // run, run)], [(run, 1)])
    down = 64 // m
    return tv_of([(m, m), (down, run)], [(run, 1), (m // (run * down), run * down), (r.blocks, m * m)])


def _wmma_operand(r: Row) -> Layout:
    """A or B of RDNA: on RDNA3 each half of the wave, or quarter, has a copy of all."""
    if r.arch == "rdna3":
        return tv_of([(16, 1), (r.wave // 16, 0)], [(r.k, 16)])
    bits, k = r.a.bits, r.k
    if bits == 16:  # a lane's run is 4 elements, its second one 8 further on
        lanes = [(2, 64)] if r.wave == 32 else [(4, 64)]
        return tv_of([(16, 1), *lanes], [(4, 16), (2 if r.wave == 32 else 1, 128)])
    if r.wave == 32:
        return tv_of([(16, 1), (2, 8 * k)], [(k // 2, 16)])
    if _has_notv_of(r):
        what = f"{r.name} for waves of 64: where A and B lie is no layout of lanes and values"
        raise RangeError(what, "waves of 32, or K of 32", f'write atom("{r.name}", "{r.arch}/32")')
    return tv_of([(16, 1), (2, 8 * k), (2, 4 * k)], [(k // 4, 16)])


def _wmma_result(r: Row) -> Layout:
    """D of RDNA: lanes go along the columns."""
    parts = r.wave // 16
    if r.arch == "rdna3":
        return tv_of([(16, 16), (parts, 1)], [(16 // parts, parts)])
    lanes = [(2, 8)] if parts == 2 else [(2, 8), (2, 4)]
    return tv_of([(16, 16), *lanes], [(16 // parts, 1)])


def _matrix(name: str, r: Row) -> MMAAtom:
    """The atom of a row."""
    mfma = r.arch.startswith("cdna")
    operand = _mfma_operand(r.m, r.k, r.blocks) if mfma else _wmma_operand(r)
    tvs = operand, operand, _mfma_result(r) if mfma else _wmma_result(r)
    types, shape, lanes = (r.d, r.a, r.b, r.d), shape_of(r.m, r.m, r.k), tv(r.wave, 1)
    return MMAAtom(name, r.arch, *types, shape, lanes, *tvs, r.name, blocks=r.blocks, wave=r.wave)


def _f8f6f4(_name: str, m: int, k: int, scaled: bool, cbsz: Element, blgp: Element) -> MMAAtom:
    """An MFMA of any two narrow floats: of 8 bits half of K lies over all lanes, of fewer a lane has 32 neighbours."""
    kind = "v_mfma_scale" if scaled else "v_mfma"
    codes = [f"{name}:{_NARROW.index(t)}" for name, t in (("cbsz", cbsz), ("blgp", blgp)) if t is not _NARROW[0]]
    text = " ".join([f"{kind}_f32_{m}x{m}x{k}_f8f6f4", *codes])
    left, right = (_mfma_operand(m, k, most=16 if t.bits == 8 else 32) for t in (cbsz, blgp))
    atom = replace(_matrix(text, Row("cdna4", text, m, k, 1, cbsz, blgp, float, 64)), A=left, B=right)
    if not scaled:
        return atom
    scales = tv(((m, 64 // m), 32), ((1, 32 * m), m))  # a lane has that of 32 neighbours of its row
    return replace(atom, SFA=scales, SFB=scales, val_SF=fp8_e8m0, sf_vec=32)


#: The types of integers without and with a sign, by their bits.
_INTEGERS = {8: (uint8, int8), 4: (uint4, int4b)}


def _wmma_of_integers(_name: str, r: Row, sign_A: bool, sign_B: bool, clamp: bool) -> MMAAtom:
    """A WMMA of integers. Modifiers say the rest: neg_lo that A or B has a sign, clamp that sums stop at the ends."""
    signs = [f"neg_lo:[{int(sign_A)},{int(sign_B)},0]"] * (sign_A or sign_B)
    text = " ".join([r.name, *signs, *["clamp"] * clamp])
    a, b = (_INTEGERS[r.a.bits][sign] for sign in (sign_A, sign_B))
    return replace(_matrix(text, r), val_A=a, val_B=b, instruction=text, arithmetic=Arithmetic(saturate=clamp))


def read_modifiers(name: str, text: str) -> tuple[object, ...]:
    """The template arguments that modifiers stand for.

    Of "neg_lo:[1,0,0] clamp" a signed A, a B without a sign, clamped sums; of "cbsz:4 blgp:2" the types of A and B.
    """
    of_types = name.endswith("_f8f6f4")
    numbers, signs = r"(?:cbsz:([0-4]))?\s*(?:blgp:([0-4]))?", r"(?:neg_lo:\[([01]),([01])(?:,0)?\])?\s*(clamp)?"
    found = re.fullmatch(numbers if of_types else signs, text.strip())
    if found is None:
        known = "cbsz:4 blgp:4" if of_types else "neg_lo:[1,1,0] clamp"
        raise RangeError(f"{name} {text.strip()}", f"{known}, one of them or none", f"write {name} {known}")
    return tuple(_NARROW[int(x or 0)] if of_types else x in ("1", "clamp") for x in found.groups())


def entries() -> Iterator[Entry]:
    """Every dense matrix instruction, of an architecture and for waves of a size."""
    for r in rows():
        if r.d is int32 and r.arch.startswith("rdna"):
            flags = tuple(option(x, "", False) for x in ("sign_A", "sign_B", "clamp"))
            make = partial(_wmma_of_integers, r=r)
            yield Entry(r.name, r.arch, make, flags, ((), (True, True)), r.wave, unlisted=_has_notv_of(r))
        else:
            yield Entry(r.name, r.arch, partial(_matrix, r=r), wave=r.wave)

    for (m, k), scaled in itertools.product(_F8F6F4, (False, True)):
        types = tuple(element(name, noun, *_NARROW, default=fp8_e4m3) for name, noun in (("cbsz", "A"), ("blgp", "B")))
        pairs = tuple(itertools.product(_NARROW, repeat=2))
        name = f"v_mfma_{'scale_' if scaled else ''}f32_{m}x{m}x{k}_f8f6f4"
        yield Entry(name, "cdna4", partial(_f8f6f4, m=m, k=k, scaled=scaled), types, pairs, 64)


def _has_notv_of(r: Row) -> bool:
    """Whether no layout of lanes and values says where A and B lie."""
    return r.arch == "rdna4" and r.wave == 64 and (r.a.bits, r.k) == (4, 16)
