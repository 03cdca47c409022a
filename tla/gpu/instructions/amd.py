"""MFMA of AMD's CDNA and WMMA of its RDNA, by their instructions' names.

An instruction may multiply several blocks of matrices at once: then A is (M,K,block), B (N,K,block) and C (M,N,block), in this
order, the first mode fastest. Values are counted in a lane's registers; where only every second half of one is used, those alone.

Source: the ISA manuals of CDNA1 to 3, RDNA3 and 4; AMD's matrix instruction calculator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.cache import plain_memo
from ...core.element import Element, bf16, double, float, fp8_e4m3, fp8_e4m3fnuz, fp8_e5m2, fp8_e5m2fnuz, half, int4b, int8, int32, tf32
from ...core.errors import LeafTypeError, RangeError
from ...core.layout import Layout
from .atom import MMAAtom, shape_of, side_by_side, tv


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
_TYPES |= {"i32": int32, "iu8": int8, "iu4": int4b}
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
_RDNA3 = [("f32", "f16", 16), ("f32", "bf16", 16), ("f16", "f16", 16), ("bf16", "bf16", 16), ("i32", "iu8", 16), ("i32", "iu4", 16)]
_RDNA4 = [*_RDNA3, ("i32", "iu4", 32), *(("f32", f"{a}_{b}", 16) for a in ("fp8", "bf8") for b in ("fp8", "bf8"))]
ARCHITECTURES = ("cdna1", "cdna2", "cdna3", "rdna3", "rdna4")


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
    for arch, shapes in (("cdna1", _CDNA1), ("cdna2", _CDNA2), ("cdna3", _CDNA3)):
        for d, types, found in shapes:
            for m, k, blocks in found:
                several = f"{blocks}b_" if blocks > 1 else ""
                tail = f"_{several}{types}" if arch == "cdna3" else types
                out.append(Row(arch, f"v_mfma_{d}_{m}x{m}x{k}{tail}", m, k, blocks, *_pair(types, _FNUZ), _TYPES[d], 64))
    for arch, matrices in (("rdna3", _RDNA3), ("rdna4", _RDNA4)):
        for d, types, k in matrices:
            a, b = _pair(types, _OCP)
            out += [Row(arch, f"v_wmma_{d}_16x16x{k}_{types}", 16, k, 1, a, b, _TYPES[d], wave) for wave in (32, 64)]
    return tuple(out)


_Steps = list[tuple[int, int]]  # modes of a lane or of a value: extent, step in the operand


def _layout(lanes: _Steps, values: _Steps) -> Layout:
    """(lane, value) -> index of modes, those of extent 1 left out."""
    (s, d), (t, e) = side_by_side(lanes), side_by_side(values)
    return tv((s, t), (d, e))


def _mfma_operand(r: Row) -> Layout:
    """A or B, which lie alike: lanes go down the rows, then over the blocks, then along K by runs of values."""
    m, k, blocks = r.m, r.k, r.blocks
    over = 64 // m // blocks
    values = k // over
    return _layout([(m, 1), (blocks, m * k), (over, m * values)], [(values, m)])


def _mfma_result(r: Row) -> Layout:
    """D: lanes go along the columns; four rows at a time (of f64 one) are values."""
    m, run = r.m, 1 if r.d is double else 4
    if m == 4:
        return _layout([(m, m), (r.blocks, m * m), (m // run, run)], [(run, 1)])
    down = 64 // m
    return _layout([(m, m), (down, run)], [(run, 1), (m // (run * down), run * down), (r.blocks, m * m)])


def _wmma_operand(r: Row) -> Layout:
    """A or B of RDNA: on RDNA3 each half of the wave, or quarter, has a copy of all."""
    if r.arch == "rdna3":
        return _layout([(16, 1), (r.wave // 16, 0)], [(r.k, 16)])
    bits, k = r.a.bits, r.k
    if bits == 16:  # a lane's run is 4 elements, its second one 8 further on
        lanes = [(2, 64)] if r.wave == 32 else [(4, 64)]
        return _layout([(16, 1), *lanes], [(4, 16), (2 if r.wave == 32 else 1, 128)])
    if r.wave == 32:
        return _layout([(16, 1), (2, 8 * k)], [(k // 2, 16)])
    if bits == 4 and k == 16:
        what = f"{r.name} for waves of 64: where A and B lie is no layout of lanes and values"
        raise RangeError(what, "waves of 32, or K of 32", f'write atom("{r.name}", "{r.arch}/32")')
    return _layout([(16, 1), (2, 8 * k), (2, 4 * k)], [(k // 4, 16)])


def _wmma_result(r: Row) -> Layout:
    """D of RDNA: lanes go along the columns."""
    parts = r.wave // 16
    if r.arch == "rdna3":
        return _layout([(16, 16), (parts, 1)], [(16 // parts, parts)])
    lanes = [(2, 8)] if parts == 2 else [(2, 8), (2, 4)]
    return _layout([(16, 16), *lanes], [(16 // parts, 1)])


@plain_memo
def _made(r: Row) -> MMAAtom:
    mfma = r.arch.startswith("cdna")
    operand, result = (_mfma_operand(r), _mfma_result(r)) if mfma else (_wmma_operand(r), _wmma_result(r))
    shape = shape_of(r.m, r.m, r.k)
    return MMAAtom(r.name, r.arch, r.d, r.a, r.b, r.d, shape, tv(r.wave, 1), operand, operand, result, r.name, blocks=r.blocks, wave=r.wave)


def instruction(name: str, arch: str | None) -> MMAAtom:
    """The atom of an instruction's name; its architecture may end in /32 or /64, the lanes of a wave."""
    known = [r for r in rows() if r.name == name]
    if not known:
        raise RangeError(f"the instruction {name!r}", "a dense v_mfma or v_wmma", "atoms(arch='cdna3') lists those of one architecture")
    wanted, _slash, wave = (arch or known[-1].arch).partition("/")
    if wave and not re.fullmatch("32|64", wave):
        raise LeafTypeError(f"waves of {wave!r}", "32 or 64 lanes", f"write {wanted + '/32'!r}")
    found = [r for r in known if r.arch == wanted and wave in ("", str(r.wave))]
    if not found:
        has = sorted({f"{r.arch}/{r.wave}" for r in known})
        raise RangeError(f"{name} of {arch!r}", " or ".join(has), f"write {has[0]!r}")
    return _made(found[0])


def all_of(arch: str | None) -> Iterator[MMAAtom]:
    """The atoms of an architecture, for waves of each size, or all of them."""
    for r in rows():
        if arch in (None, r.arch) and not (r.a.bits == 4 and r.k == 16 and r.wave == 64 and r.arch == "rdna4"):
            yield _made(r)
