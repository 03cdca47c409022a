"""Matrix instructions whose operands are registers: SM61 (a thread), SM70 (a quad pair), SM75 to SM120 (a warp).

From SM75 on one formula says where everything lies. Lane t is in group t // 4, its place in the group is t % 4; group and place
are a row and a step along K (of C: a row and a step along N). A register holds v neighbours along K, 32 bits of them.

Source: the PTX manual, "Matrix Fragments for mma.m16n8k16" and its kin; CuTe include/cute/atom/mma_traits_sm61.hpp to sm120.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...core.element import Element, float, fp4_e2m1, fp6_e2m3, fp6_e3m2, fp8_e4m3, fp8_e5m2, fp8_e8m0, fp8_ue4m3, half, uint4, uint8
from ...core.layout import Layout
from .atom import Family, MMAAtom, extent, one_of, shape_of, side_by_side, tv
from .elements import CODES, as_element, cpp_name, ptx_name

ONE = tv((1, 1), (0, 0))
THREAD = tv(1, 0)
WARP = tv(32, 1)


def fragment(rows: int, columns: int, v: int, one_tuple: bool = False) -> Layout:
    """(lane, value) -> (row, column) of an operand of 8 or 16 rows whose registers hold v neighbours along the columns.

    one_tuple   whether a single mode of values is written in parentheses, as CuTe writes it for 4-bit types
    """
    modes = [(v, rows), (rows // 8, 8), (columns // (4 * v), 4 * v * rows)]
    shape, stride = side_by_side(modes, one_tuple)
    return tv(((4, 8), shape), ((rows * v, 1), stride))


def _split(codes: str) -> list[Element]:
    """The element types that a run of codes names: D, A, B, C of "F32BF16BF16F32"."""
    out, rest = [], codes
    while rest:
        code = max((c for c in CODES if rest.startswith(c)), key=len)
        out.append(CODES[code])
        rest = rest[len(code) :]
    return out


def ptx(m: int, n: int, k: int, types: list[Element], suffix: str = "") -> str:
    """The text of a warp's mma.sync."""
    end = {"SATURATE": ".satfinite", "XORPOPC": ".xor.popc", "ANDPOPC": ".and.popc"}.get(suffix, "")
    names = ".".join("f64" if t.bits > 64 or t.name == "complex128" else ptx_name(t) for t in types)
    return f"mma.sync.aligned.m{m}n{n}k{k}.row.col.{names}{end}"


def _warp(name: str, arch: str, m: int, k: int, codes: str, suffix: str) -> MMAAtom:
    """An instruction of SM75 to SM90 by its shape and types."""
    d, a, b, c = _split(codes)
    v = max(32 // a.bits, 1)
    return MMAAtom(
        name,
        arch,
        d,
        a,
        b,
        c,
        shape_of(m, 8, k),
        WARP,
        fragment(m, k, v, a.bits == 4),
        fragment(8, k, v, a.bits == 4),
        fragment(m, 8, 2),
        ptx(m, 8, k, [d, a, b, c], suffix),
    )


_INT8 = [f"S32{a}{b}S32" for a, b in itertools.product(("S8", "U8"), repeat=2)]
_INT4 = [f"S32{a}{b}S32" for a, b in itertools.product(("S4", "U4"), repeat=2)]
_FP8 = [f"{d}{a}{b}{d}" for d, a, b in itertools.product(("F32", "F16"), ("E4M3", "E5M2"), ("E4M3", "E5M2"))]
_HALVES = ["F16F16F16F16", "F32F16F16F32", "F32BF16BF16F32"]
#: architecture, (M, K) shapes, types of D, A, B, C, what is written behind _TN
ROWS: list[tuple[str, list[tuple[int, int]], list[str], tuple[str, ...]]] = [
    ("sm75", [(16, 8)], ["F32F16F16F32"], ("",)),
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


def table() -> Iterator[tuple[str, Callable[[], MMAAtom]]]:
    """Every instruction of SM61 to SM90 that has no template arguments, by its name."""
    for k, code in ((4, "S8"), (2, "S16")):
        yield f"SM61_DP{k}A", partial(_dot, k, CODES[code])
    for types, majors in itertools.product(("F16F16F16F16", "F32F16F16F32"), ("TN", "NT", "NN", "TT")):
        yield f"SM70_8x8x4_{types}_{majors}", partial(_quad_pair, types, majors)
    for arch, shapes, types_of, suffixes in ROWS:
        for (m, k), codes, suffix in itertools.product(shapes, types_of, suffixes):
            name = f"{arch.upper()}_{m}x8x{k}_{codes}_TN" + (f"_{suffix}" if suffix else "")
            yield name, partial(_warp, name, arch, m, k, codes, suffix)
    for m, n in ((2, 1), (1, 2)):
        yield f"SM100_{m}x{n}x1_F32F32F32F32", partial(_pair, m, n)


def _dot(k: int, t: Element) -> MMAAtom:
    """A dot product of bytes or pairs of bytes by one thread."""
    d, row = CODES["S32"], tv((1, k), (0, 1))
    # dp2a is for 16-bit A and B here, as the header declares it; the instruction's B is bytes
    return MMAAtom(f"SM61_DP{k}A", "sm61", d, t, t, d, shape_of(1, 1, k), THREAD, row, row, ONE, f"dp{k}a.s32.s32")


def _pair(m: int, n: int) -> MMAAtom:
    """Two fused multiply-adds of one thread, which share one factor."""
    vector = {1: ONE, 2: tv((1, 2), (0, 1))}
    name = f"SM100_{m}x{n}x1_F32F32F32F32"
    types = (float, float, float, float)
    return MMAAtom(name, "sm100", *types, shape_of(m, n, 1), THREAD, vector[m], vector[n], vector[2], "fma.rn.f32x2")


#: Of a quad pair: the operand whose K is contiguous ("row" of A, "col" of B), and the other one.
_K_MAJOR = tv((8, 4), (1, 8))
_MN_MAJOR = tv(((4, 2), 4), ((8, 4), 1))
_C_OF_16 = tv((8, 8), (1, 8))
_C_OF_32 = tv(((2, 2, 2), (2, 2, 2)), ((1, 16, 4), (8, 2, 32)))


def _quad_pair(codes: str, majors: str) -> MMAAtom:
    """Volta's instruction: eight threads, lanes 0 to 3 and 16 to 19 of a half of the warp."""
    d, a, b, c = _split(codes)
    order = f"{'row' if majors[0] == 'T' else 'col'}.{'col' if majors[1] == 'N' else 'row'}"
    return MMAAtom(
        f"SM70_8x8x4_{codes}_{majors}",
        "sm70",
        d,
        a,
        b,
        c,
        shape_of(8, 8, 4),
        tv((4, 2), (1, 16)),
        _K_MAJOR if majors[0] == "T" else _MN_MAJOR,
        _K_MAJOR if majors[1] == "N" else _MN_MAJOR,
        _C_OF_16 if d is half else _C_OF_32,
        ptx(8, 8, 4, [d, a, b, c]).replace("row.col", order),
    )


# ------------------------------------------------------------------------------------------------------ templates


def _fma(*types: Any) -> MMAAtom:
    """One multiply-add by one thread, of any types."""
    given = [as_element(t) for t in types]
    d, a, b, c = given if len(given) == 4 else given * 4 if len(given) == 1 else [given[0], given[1 % len(given)], given[-1], given[0]]
    name = f"UniversalFMA<{','.join(cpp_name(t) for t in given)}>"
    return MMAAtom(name, "universal", d, a, b, c, shape_of(1, 1, 1), THREAD, ONE, ONE, ONE, "fma")


F8F6F4 = (fp4_e2m1, fp6_e3m2, fp6_e2m3, fp8_e4m3, fp8_e5m2)
#: namespace and name, K, sparse, scaled
_SM120 = [
    ("SM120_16x8x32_TN", 32, False, False),
    ("SM120::BLOCKSCALED::SM120_16x8x32_TN_VS", 32, False, True),
    ("SM120::BLOCKSCALED::SM120_16x8x64_TN_VS", 64, False, True),
    ("SM120::SPARSE::SM120_SPARSE_16x8x64_TN", 64, True, False),
    ("SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x64_TN_VS", 64, True, True),
    ("SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x128_TN_VS", 128, True, True),
]


def _sm120(name: str, k: int, sparse: bool, scaled: bool, a: Any, b: Any, c: Any, sf: Any = None, vs: Any = None) -> MMAAtom:
    """A warp's instruction of SM120: narrow floats, with a scale factor for every `vs` elements of a row, with a sparse A."""
    four_bits = k == (128 if sparse else 64) and scaled
    a, b = (one_of(f"{x} of {name}", t, (fp4_e2m1,) if four_bits else F8F6F4) for x, t in (("A", a), ("B", b)))
    c = one_of(f"C of {name}", c, (float,) if scaled else (float, half))
    stored = uint4 if four_bits else uint8
    v = (8 if four_bits else 4) * (1 + sparse)
    parameters = [cpp_name(t) for t in (a, b, c)]
    more: dict[str, Any] = {"types": (a, b)}
    if scaled:
        more |= _scales(name, k, one_of(f"the scale of {name}", sf, (fp8_e8m0, fp8_ue4m3) if four_bits else (fp8_e8m0,)), vs, sparse)
        parameters += [cpp_name(more["val_SF"]), str(more["sf_vec"])]
    if sparse:
        shape = (k // 2,) if four_bits else k // 2
        e = tv(((2, 2, 8), shape), ((8, 8 * k, 1), (16,) if four_bits else 16))
        more |= {"E": e, "val_E": uint8, "sparsity": (4, 16) if four_bits else (2, 8)}
        more["frg_A"] = f"sparse_elem<{more['sparsity'][0]}, uint8_t>"
    val_a = uint8 if sparse and four_bits else a if sparse else stored
    text = _sm120_ptx(k, sparse, [c, a, b, c], more, four_bits)
    return MMAAtom(
        f"{name}<{','.join(parameters)}>",
        "sm120",
        c,
        val_a,
        stored,
        c,
        shape_of(16, 8, k),
        WARP,
        fragment(16, k, v),
        fragment(8, k, 8 if four_bits else 4),
        fragment(16, 8, 2),
        text,
        **more,
    )


def _scales(name: str, k: int, sf: Element, vs: Any, sparse: bool) -> dict[str, Any]:
    """The places of the scale factors: lanes 0 and 1 of a group have A's, lane 0 has B's."""
    allowed = (16, 32, 64) if k > 32 else (32,)
    return {
        "SFA": tv(((2, 2, 8), k), ((8, 0, 1), 16)),
        "SFB": tv(((4, 8), k), ((0, 1), 8)),
        "val_SF": sf,
        "sf_vec": extent(f"the vector of {name}", vs, allowed),
    }


def _sm120_ptx(k: int, sparse: bool, types: list[Element], more: dict[str, Any], four_bits: bool) -> str:
    names = ".".join(map(ptx_name, types))
    sp = ".sp::ordered_metadata" if sparse else ""
    if "sf_vec" not in more:
        return f"mma.sync.aligned.kind::f8f6f4{sp}.m16n8k{k}.row.col.{names}"
    count = k // more["sf_vec"]
    kind = "mxf8f6f4" if not four_bits else "mxf4nvf4"
    return f"mma.sync.aligned.kind::{kind}{sp}.block_scale.scale_vec::{count}X.m16n8k{k}.row.col.{names}.{ptx_name(more['val_SF'])}"


def _examples(sparse: bool, scaled: bool, k: int) -> Iterator[tuple[Any, ...]]:
    four_bits = k == (128 if sparse else 64) and scaled
    for a, b in itertools.product((fp4_e2m1,) if four_bits else F8F6F4, repeat=2):
        if not scaled:
            yield from ((a, b, c) for c in (float, half))
        elif four_bits:
            yield from ((a, b, float, sf, vs * (1 + sparse)) for sf, vs in ((fp8_e8m0, 32), (fp8_ue4m3, 16)))
        else:
            yield (a, b, float, fp8_e8m0, 32 * (1 + sparse))


def families() -> Iterator[Family]:
    """The templates of registers' instructions."""
    yield Family("UniversalFMA", "universal", "D, ...", _fma, ((float,),))
    for name, k, sparse, scaled in _SM120:
        parameters = "a_type, b_type, c_type" + (", sf_type, VS" if scaled else "")
        yield Family(name, "sm120", parameters, partial(_sm120, name, k, sparse, scaled), tuple(_examples(sparse, scaled, k)))
