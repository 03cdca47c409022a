"""Matrix instructions whose operands are registers: SM61 (a thread), SM70 (a quad pair), SM75 to SM120 (a warp).

From SM75 on one formula says where everything lies. Lane t is in group t // 4, its place in the group is t % 4; group
and place are a row and a step along K (of C: a row and a step along N). A register holds v neighbours along K,
32 bits of them.

Source: the PTX manual, "Matrix Fragments for mma.m16n8k16" and its kin; CuTe
include/cute/atom/mma_traits_sm61.hpp to sm120.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from ...core.element import (
    Element,
    float,
    fp4_e2m1,
    fp6_e2m3,
    fp6_e3m2,
    fp8_e4m3,
    fp8_e5m2,
    fp8_e8m0,
    fp8_ue4m3,
    half,
    uint4,
    uint8,
)
from ...core.layout import Layout
from .arithmetic import PARTS
from .atom import MMAAtom, shape_of, tv, tv_of
from .elements import CODES, ptx_name
from .entries import Entry, Parameter, element, integer

ONE = tv((1, 1), (0, 0))
THREAD = tv(1, 0)
WARP = tv(32, 1)


def fragment(rows: int, columns: int, v: int, one_tuple: bool = False) -> Layout:
    """(lane, value) -> (row, column) of an operand of 8 or 16 rows whose registers hold v neighbours along the columns.

    one_tuple   whether a single mode of values is written in parentheses, as CuTe writes it for 4-bit types
    """
    return tv_of([(4, rows * v), (8, 1)], [(v, rows), (rows // 8, 8), (columns // (4 * v), 4 * v * rows)], one_tuple)


def _split(codes: str) -> list[Element]:
    """The element types that a run of codes names: D, A, B, C of "F32BF16BF16F32"."""
    out, rest = [], codes
    while rest:
        code = max((c for c in CODES if rest.startswith(c)), key=len)
        out.append(CODES[code])
        rest = rest[len(code) :]
    return out


def ptx(m: int, n: int, k: int, types: list[Element], part: str = "", order: str = "row.col") -> str:
    """The text of a warp's mma.sync. part: of its name, in the table PARTS."""
    names = ".".join("f64" if t.bits > 64 or t.name == "complex128" else ptx_name(t) for t in types)
    return f"mma.sync.aligned.m{m}n{n}k{k}.{order}.{names}{PARTS[part][1]}"


def _warp(name: str, arch: str, m: int, k: int, codes: str, part: str) -> MMAAtom:
    """An instruction of SM75 to SM90 by its shape and types."""
    d, a, b, c = _split(codes)
    v = max(32 // a.bits, 1)
    rows, columns = fragment(m, k, v, a.bits == 4), fragment(8, k, v, a.bits == 4)
    text, tvs = ptx(m, 8, k, [d, a, b, c], part), (rows, columns, fragment(m, 8, 2))
    return MMAAtom(name, arch, d, a, b, c, shape_of(m, 8, k), WARP, *tvs, text, arithmetic=PARTS[part][0])


_INT8 = [f"S32{a}{b}S32" for a, b in itertools.product(("S8", "U8"), repeat=2)]
_INT4 = [f"S32{a}{b}S32" for a, b in itertools.product(("S4", "U4"), repeat=2)]
_FP8 = [f"{d}{a}{b}{d}" for d, a, b in itertools.product(("F32", "F16"), ("E4M3", "E5M2"), ("E4M3", "E5M2"))]
_HALVES = ["F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32"]
#: architecture, (M, K) shapes, types of D, A, B, C, parts of the name behind _TN
ROWS: list[tuple[str, list[tuple[int, int]], list[str], tuple[str, ...]]] = [
    ("sm75", [(16, 8)], ["F32F16F16F32", "F16F16F16F16"], ("",)),
    ("sm75", [(8, 16)], ["S32S8S8S32"], ("",)),
    ("sm80", [(16, 8), (16, 16)], _HALVES, ("",)),
    ("sm80", [(16, 4), (16, 8)], ["F32TF32TF32F32"], ("",)),
    ("sm80", [(8, 4)], ["F64F64F64F64", "C64C64C64C64", "GC64C64C64GC64"], ("",)),
    ("sm80", [(8, 16), (16, 16), (16, 32)], _INT8, ("", "SATURATE")),
    ("sm80", [(8, 32), (16, 32), (16, 64)], _INT4, ("", "SATURATE")),
    ("sm80", [(8, 128), (16, 128), (16, 256)], ["S32U1U1S32"], ("XORPOPC", "ANDPOPC")),
    ("sm89", [(16, 32)], _FP8, ("",)),
    ("sm90", [(16, 4), (16, 8), (16, 16)], ["F64F64F64F64", "C64C64C64C64"], ("",)),
]


def _registers() -> Iterator[Entry]:
    """Every instruction of SM61 to SM90 that has no template arguments."""
    for k, code, text in ((4, "S8", "dp4a.s32.s32"), (2, "S16", "dp2a.lo.s32.s32")):
        yield Entry(f"SM61_DP{k}A", "sm61", partial(_dot, k=k, t=CODES[code], text=text))
    for types, majors in itertools.product(("F16F16F16F16", "F32F16F16F32"), ("TN", "NT", "NN", "TT")):
        yield Entry(f"SM70_8x8x4_{types}_{majors}", "sm70", partial(_quad_pair, codes=types, majors=majors))
    for arch, shapes, types_of, parts in ROWS:
        for (m, k), codes, part in itertools.product(shapes, types_of, parts):
            name = f"{arch.upper()}_{m}x8x{k}_{codes}_TN" + (f"_{part}" if part else "")
            yield Entry(name, arch, partial(_warp, arch=arch, m=m, k=k, codes=codes, part=part))
    for m, n in ((2, 1), (1, 2)):
        yield Entry(f"SM100_{m}x{n}x1_F32F32F32F32", "sm100", partial(_pair, m=m, n=n))


def _dot(name: str, k: int, t: Element, text: str) -> MMAAtom:
    """A dot product of bytes, or of pairs of bytes with bytes, by one thread."""
    d, row = CODES["S32"], tv((1, k), (0, 1))
    # the header declares dp2a with B of 16 bits; the instruction's are bytes
    return MMAAtom(name, "sm61", d, t, t, d, shape_of(1, 1, k), THREAD, row, row, ONE, text, types=(t, CODES["S8"]))


def _pair(name: str, m: int, n: int) -> MMAAtom:
    """Two fused multiply-adds of one thread, which share one factor."""
    vector = {1: ONE, 2: tv((1, 2), (0, 1))}
    types, tvs = (float, float, float, float), (vector[m], vector[n], vector[2])
    return MMAAtom(name, "sm100", *types, shape_of(m, n, 1), THREAD, *tvs, "fma.rn.f32x2", register_bits=64)


#: Of a quad pair: the operand whose K is contiguous ("row" of A, "col" of B), and the other one.
_K_MAJOR = tv((8, 4), (1, 8))
_MN_MAJOR = tv(((4, 2), 4), ((8, 4), 1))
_C_OF_16 = tv((8, 8), (1, 8))
_C_OF_32 = tv(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))


def _quad_pair(name: str, codes: str, majors: str) -> MMAAtom:
    """Volta's instruction: eight threads, lanes 0 to 3 and 16 to 19 of a half of the warp."""
    d, a, b, c = _split(codes)
    left = _K_MAJOR if majors[0] == "T" else _MN_MAJOR
    right = _K_MAJOR if majors[1] == "N" else _MN_MAJOR
    order = f"{'row' if majors[0] == 'T' else 'col'}.{'col' if majors[1] == 'N' else 'row'}"
    text = ptx(8, 8, 4, [d, a, b, c], order=order)
    total = _C_OF_16 if d is half else _C_OF_32
    return MMAAtom(name, "sm70", d, a, b, c, shape_of(8, 8, 4), tv((4, 2), (1, 16)), left, right, total, text)


# ------------------------------------------------------------------------------------------------------ templates

#: The types of UniversalFMA: A's is D's where it is not given, B's is A's, C's is D's.
_TYPES = (element("D", "D"), *(element(x, x, default={other}) for x, other in (("A", "D"), ("B", "A"), ("C", "D"))))


def _fma(name: str, D: Element, A: Element, B: Element, C: Element) -> MMAAtom:
    """One multiply-add by one thread, of any types."""
    return MMAAtom(name, "universal", D, A, B, C, shape_of(1, 1, 1), THREAD, ONE, ONE, ONE, "fma")


F8F6F4 = (fp4_e2m1, fp6_e3m2, fp6_e2m3, fp8_e4m3, fp8_e5m2)
#: namespace and name, K, sparse, scaled
_SM120: list[tuple[str, int, bool, bool]] = [
    ("SM120_16x8x32_TN", 32, False, False),
    ("SM120::BLOCKSCALED::SM120_16x8x32_TN_VS", 32, False, True),
    ("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS", 64, False, True),
    ("SM120::SPARSE::SM120_SPARSE_16x8x64_TN", 64, True, False),
    ("SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x64_TN_VS", 64, True, True),
    ("SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x128_TN_VS", 128, True, True),
]


def _sm120(
    name: str,
    k: int,
    sparse: bool,
    scaled: bool,
    a_type: Element,
    b_type: Element,
    c_type: Element,
    sf_type: Element | None = None,
    VS: int | None = None,
) -> MMAAtom:
    """A warp's instruction of SM120: narrow floats, with a scale factor for every `VS` elements of a row, with
    a sparse A."""
    four_bits = _is_of_four_bits(k, sparse, scaled)
    stored = uint4 if four_bits else uint8
    v = (8 if four_bits else 4) * (1 + sparse)
    more: dict[str, Any] = {"types": (a_type, b_type)}
    if scaled:  # lanes 0 and 1 of a group have A's scales, lane 0 B's
        more |= {"SFA": tv(((2, 2, 8), k), ((8, 0, 1), 16)), "SFB": tv(((4, 8), k), ((0, 1), 8))}
        more |= {"val_SF": sf_type, "sf_vec": VS}
    if sparse:
        shape = (k // 2,) if four_bits else k // 2
        e = tv(((2, 2, 8), shape), ((8, 8 * k, 1), (16,) if four_bits else 16))
        more |= {"E": e, "val_E": uint8, "sparsity": (4, 16) if four_bits else (2, 8)}
        more["frg_A"] = f"sparse_elem<{more['sparsity'][0]}, uint8_t>"
    val_a = uint8 if sparse and four_bits else a_type if sparse else stored
    text = _sm120_ptx(k, sparse, [c_type, a_type, b_type, c_type], more, four_bits)
    rows, columns = fragment(16, k, v), fragment(8, k, 8 if four_bits else 4)
    types = (c_type, val_a, stored, c_type)
    return MMAAtom(name, "sm120", *types, shape_of(16, 8, k), WARP, rows, columns, fragment(16, 8, 2), text, **more)


def _is_of_four_bits(k: int, sparse: bool, scaled: bool) -> bool:
    """Whether A and B are of fp4 alone, which take as many of them as there are bits."""
    return scaled and k == (128 if sparse else 64)


def _parameters(k: int, sparse: bool, scaled: bool) -> Iterator[Parameter]:
    four_bits = _is_of_four_bits(k, sparse, scaled)
    yield from (element(f"{x}_type", x.upper(), *((fp4_e2m1,) if four_bits else F8F6F4)) for x in "ab")
    yield element("c_type", "C", *((float,) if scaled else (float, half)))
    if scaled:
        yield element("sf_type", "the scale", *((fp8_e8m0, fp8_ue4m3) if four_bits else (fp8_e8m0,)))
        yield integer("VS", "the vector", *((16, 32, 64) if k > 32 else (32,)))


def _sm120_ptx(k: int, sparse: bool, types: list[Element], more: dict[str, Any], four_bits: bool) -> str:
    names = ".".join(map(ptx_name, types))
    sp = ".sp::ordered_metadata" if sparse else ""
    if "sf_vec" not in more:
        return f"mma.sync.aligned.kind::f8f6f4{sp}.m16n8k{k}.row.col.{names}"
    count = k // more["sf_vec"]
    kind = "mxf8f6f4" if not four_bits else "mxf4nvf4"
    return f"mma.sync.aligned.kind::{kind}{sp}.block_scale.scale_vec::{count}X.m16n8k{k}.row.col.{names}.{ptx_name(more['val_SF'])}"


def _examples(k: int, sparse: bool, scaled: bool) -> Iterator[tuple[Any, ...]]:
    four_bits = _is_of_four_bits(k, sparse, scaled)
    for a, b in itertools.product((fp4_e2m1,) if four_bits else F8F6F4, repeat=2):
        if not scaled:
            yield from ((a, b, c) for c in (float, half))
        elif four_bits:
            yield from ((a, b, float, sf, vs * (1 + sparse)) for sf, vs in ((fp8_e8m0, 32), (fp8_ue4m3, 16)))
        else:
            yield (a, b, float, fp8_e8m0, 32 * (1 + sparse))


def entries() -> Iterator[Entry]:
    """Every matrix instruction whose operands are registers."""
    yield from _registers()
    yield Entry("UniversalFMA", "universal", _fma, _TYPES, ((float,),))
    for name, k, sparse, scaled in _SM120:
        make = partial(_sm120, k=k, sparse=sparse, scaled=scaled)
        parameters = tuple(_parameters(k, sparse, scaled))
        yield Entry(name, "sm120", make, parameters, tuple(_examples(k, sparse, scaled)))
