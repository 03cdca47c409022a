"""What a matrix instruction computes, read from the vendor's name of it and from nothing else: an oracle that imports
nothing of tla.

Source: the PTX manual ("mma", "wgmma.mma_async", "tcgen05.mma"), the ISA manuals of CDNA and RDNA, Intel's AMX and
DPAS; OCP's MX formats.
"""

import itertools
import re
from typing import NamedTuple

import numpy as np


class Meaning(NamedTuple):
    """The parts of a name. shape: M, N, K; a, b, c, d: types; group: of sparse A, neighbours of which half are kept,
    `unit` together."""

    shape: tuple
    a: str
    b: str
    c: str
    d: str
    combine: str = "mul"
    saturate: bool = False
    negate_a: bool = False
    negate_b: bool = False
    shift_c: int = 0
    sparse: bool = False
    vector: int = 0


#: A type's numbers: sign, bits of the exponent, its bias, bits behind the point, how many of the largest codes
#: are no numbers.
FLOATS = {
    "f16": (1, 5, 15, 10, 1 << 10),
    "bf16": (1, 8, 127, 7, 1 << 7),
    "tf32": (1, 8, 127, 10, 1 << 10),
    "e4m3": (1, 4, 7, 3, 1),
    "e5m2": (1, 5, 15, 2, 4),
    "e4m3fnuz": (1, 4, 8, 3, 0),
    "e5m2fnuz": (1, 5, 16, 2, 0),
    "e3m2": (1, 3, 3, 2, 0),
    "e2m3": (1, 2, 1, 3, 0),
    "e2m1": (1, 2, 1, 1, 0),
    "ue8m0": (0, 8, 127, 0, 1),
    "ue4m3": (0, 4, 7, 3, 1),
}
INTEGERS = {"s8": (-128, 127), "u8": (0, 255), "s4": (-8, 7), "u4": (0, 15), "b1": (0, 1), "s16": (-(2**15), 2**15 - 1)}
INTEGERS |= {"s32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1)}


def numbers(kind):
    """Every number of a type of at most 16 bits, and of tf32 those around 1."""
    if kind in INTEGERS:
        low, high = INTEGERS[kind]
        return np.arange(low, high + 1)
    signed, exponent, bias, mantissa, none = FLOATS[kind]
    codes = np.arange((1 << (exponent + mantissa)) - none)
    power, digits = codes >> mantissa, codes & (1 << mantissa) - 1
    subnormal = (power == 0) & (kind != "ue8m0")  # which has neither subnormal numbers nor 0
    found = np.where(subnormal, 2 * digits, digits + (1 << mantissa)) * 2.0 ** (power - bias - mantissa)
    return np.unique(np.concatenate([found, -found])) if signed else found


CODES = {
    "F16": "f16",
    "BF16": "bf16",
    "TF32": "tf32",
    "F32": "f32",
    "F64": "f64",
    "C64": "c64",
    "GC64": "c64",
    "S32": "s32",
    "S16": "s16",
}
CODES |= {
    "S8": "s8",
    "U8": "u8",
    "S4": "s4",
    "U4": "u4",
    "U1": "b1",
    **{x: x.lower() for x in ("E4M3", "E5M2", "E3M2", "E2M3", "E2M1")},
}
CPP = {
    "half_t": "f16",
    "bfloat16_t": "bf16",
    "tfloat32_t": "tf32",
    "float": "f32",
    "double": "f64",
    "int8_t": "s8",
    "uint8_t": "u8",
}
CPP |= {
    "int32_t": "s32",
    "uint32_t": "u32",
    "int4_t": "s4",
    "uint4_t": "u4",
    "float_ue8m0_t": "ue8m0",
    "float_ue4m3_t": "ue4m3",
}
CPP |= {f"float_{x}_t": x for x in ("e4m3", "e5m2", "e3m2", "e2m3", "e2m1")}
AMD = {
    "f32": "f32",
    "f16": "f16",
    "bf16": "bf16",
    "bf16_1k": "bf16",
    "f64": "f64",
    "xf32": "tf32",
    "i8": "s8",
    "i32": "s32",
}
NARROW = ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"]
POPC = {"XORPOPC": "xor", "ANDPOPC": "and"}


def codes(text):
    return [CODES[x] for x in re.findall("|".join(sorted(CODES, key=len, reverse=True)), text)]


def meaning(name, arch):
    """The meaning of a name that CUTLASS, AMD or Intel has for an instruction."""
    for read in (_amd, _amx, _vector, _template, _warp):
        if found := read(name, arch):
            return found
    raise AssertionError(name)


def _amd(name, arch):
    found = re.match(r"v_(?:wmma|mfma)_(scale_)?([a-z]+\d+)_(\d+)x(\d+)x(\d+)_?(?:\d+b_)?([a-z]\w*)(.*)", name)
    if not found:
        return None
    m, n, k = map(int, found.group(3, 4, 5))
    types, modifiers = found[6], found[7]
    total, clamp = AMD[found[2]], "clamp" in modifiers
    if types == "f8f6f4":
        a, b = (NARROW[int((re.search(rf"{x}:(\d)", modifiers) or [0, 0])[1])] for x in ("cbsz", "blgp"))
        return Meaning((m, n, k), a, b, total, total, vector=32 if found[1] else 0)
    if types in ("iu8", "iu4"):
        signs = re.search(r"neg_lo:\[(\d),(\d)", modifiers) or (0, "0", "0")
        a, b = (("su"[signs[i] == "0"]) + types[2:] for i in (1, 2))
    elif "fp8" in types or "bf8" in types:
        other = "fnuz" if arch == "cdna3" else ""
        a, b = ({"fp8": "e4m3", "bf8": "e5m2"}[x] + other for x in types.split("_"))
    else:
        a = b = AMD[types]
    return Meaning((m, n, k), a, b, total, total, saturate=clamp)


def _amx(name, _arch):
    if found := re.fullmatch("TDPB([SU])([SU])D", name):
        return Meaning((16, 16, 64), *(f"{x.lower()}8" for x in found.groups()), "s32", "s32")
    kind = {"TDPBF16PS": "bf16", "TDPFP16PS": "f16"}.get(name)
    return Meaning((16, 16, 32), kind, kind, "f32", "f32") if kind else None


def _vector(name, arch):
    """A multiply-add of a vector register: of its bits as many elements as a mnemonic's type has."""
    found = re.fullmatch(r"VFMADD231P([SD])|FMLA_\d([SD])", name)
    if not found:
        return None
    kind = {"S": "f32", "D": "f64"}[found[1] or found[2]]
    return Meaning((1, {"neon": 128, "avx2": 256, "avx512": 512}[arch] // BITS[kind], 1), kind, kind, kind, kind)


def _template(name, _arch):
    """A name with template arguments, but of wgmma."""
    found = re.fullmatch(r"(?:\w+::)*(\w+?)<(.*)>", name)
    if not found or name.startswith("SM90"):
        return None
    base, given = found[1], [x.rpartition("::")[2] for x in found[2].split(",")]
    types = [CPP[x] for x in given if x in CPP]
    extents = [int(x) for x in given if x.isdigit()]
    if base == "UniversalFMA":
        d, a, b, c = {1: types * 4, 2: [types[0], types[-1], types[-1], types[0]], 3: [*types, types[0]], 4: types}[
            len(types)
        ]
        return Meaning((1, 1, 1), a, b, c, d)
    if base.startswith("XE_DPAS"):
        d, a, b = (types + types[-1:])[:3]
        c = types[3] if len(types) > 3 else d
        k = 256 // max(BITS[a], BITS[b])
        return Meaning((extents[0], 16, k) if base.endswith("TT") else (16, extents[0], k), a, b, c, d)
    if shape := re.match(r"SM120_(?:SPARSE_)?(\d+)x(\d+)x(\d+)", base):
        a, b, c = types[:3]
        return Meaning(
            tuple(map(int, shape.groups())), a, b, c, c, sparse="SPARSE" in base, vector=extents[0] if extents else 0
        )
    return _tcgen05(base, given, types, extents)


BITS = {"f32": 32, "f64": 64, "u32": 32, "bf16": 16, "f16": 16, "tf32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4}
#: Bits of an element along K, of 256; of one that is scaled by a default of 32 neighbours.
KINDS = {"TF32": 32, "F16BF16": 16, "S8": 8, "F8F6F4": 8, "MXF8F6F4": 8, "MXF4": 4, "MXF4NVF4": 4, "ULTRA": 4}


def _tcgen05(base, given, types, extents):
    kind = next(x for x in sorted(KINDS, key=len, reverse=True) if f"_{x}_" in base)
    sparse = base.endswith("SPARSE")
    m, n, *more = extents
    k = 256 // KINDS[kind] * (1 + sparse) * (3 if kind == "ULTRA" else 2) // 2
    signs = [x == "Neg" for x in given if x in ("One", "Neg")] + [False, False]
    rest = {"saturate": "True" in given, "negate_a": signs[0], "negate_b": signs[1], "sparse": sparse}
    if "INTERLEAVED" in base:
        return Meaning((m, n, k // 2), "ctf32", "ctf32", "f32", "f32", combine="parts", **rest)
    a, b, c = ["tf32" if x == "f32" and kind == "TF32" else x for x in types[:2]] + [types[2]]
    shift = more[0] if base.endswith("SCALED") else 0
    vector = more[0] if KINDS[kind] == 4 else 32 * (1 + sparse) if kind == "MXF8F6F4" else 0
    return Meaning((m, n, k), a, b, c, c, shift_c=shift, vector=vector, **rest)


def _warp(name, _arch):
    """An instruction of registers or of a warpgroup."""
    if name.startswith("SM61"):
        return (
            Meaning((1, 1, 4), "s8", "s8", "s32", "s32")
            if "4A" in name
            else Meaning((1, 1, 2), "s16", "s8", "s32", "s32")
        )
    found = re.fullmatch(r"(?:\w+::)*(?:SM\d+|GMMA)_(\d+)x(\d+)x(\d+)_([A-Z0-9]+)_?(\w*?)(?:<(.*)>)?", name)
    types = codes(found[4])
    d, a, b, c = types if len(types) == 4 else [*types, types[0]]
    signs = [x.endswith("Neg") for x in (found[6] or "").split(",") if "ScaleIn" in x] + [False, False]
    combine = next((POPC[x] for x in POPC if x in found[5]), "mul")
    rest = {"combine": combine, "saturate": "SATURATE" in found[5], "sparse": "SPARSE" in name}
    return Meaning(tuple(map(int, found.group(1, 2, 3))), a, b, c, d, negate_a=signs[0], negate_b=signs[1], **rest)


def group_of(m):
    """Of a sparse A: how many neighbours half of are kept, and how many are kept together."""
    return {"tf32": (2, 1), "e2m1": (8, 2) if m.shape[2] > 64 else (4, 1)}.get(m.a, (4, 1))


def pruned(m, a, rng):
    """A with half of each group 0."""
    group, unit = group_of(m)
    x = a.reshape(len(a), -1, group // unit, unit)
    kept = np.argsort(rng.random(x.shape[:3]), -1) < group // unit // 2
    return (x * kept[..., None]).reshape(a.shape)


def expanded(m, stored, metadata):
    """A of what is stored of it and its metadata, row after row: four bits for each group, the first in the low
    bits of a byte.

    Two bits name the place of each unit that is kept, in quarters of the group: of tf32 an element is two of them.
    """
    group, unit = group_of(m)
    out = np.zeros((len(stored), 2 * stored.shape[1]), stored.dtype)
    for row, i in itertools.product(range(len(out)), range(out.shape[1] // group)):
        nibble = int(metadata[row, i // 2]) >> 4 * (i % 2) & 15
        places = [nibble & 3, nibble >> 2]
        wide = 1 if group == 2 else unit
        places = [places[0] // 2] if group == 2 else places
        for j, place in enumerate(places):
            for u in range(wide):
                out[row, i * group + place * wide + u] = stored[row, (i * len(places) + j) * wide + u]
    return out


def multiplied(m, a, b, c):
    """D of A (M,K,...), B (N,K,...) and C (M,N,...): exact, scale factors multiplied in, then what the type of
    D makes of it."""
    if m.combine in ("and", "xor"):
        both = {"and": np.bitwise_and, "xor": np.bitwise_xor}[m.combine](a[:, None], b[None])
        product = both.sum(2).astype(object)
    elif m.d in INTEGERS:
        product = np.einsum("mk...,nk...->mn...", a.astype(np.int64), b.astype(np.int64)).astype(
            object
        )  # of 16 bits at most
    else:
        a, b = ((-x if negated else x) for x, negated in ((a, m.negate_a), (b, m.negate_b)))
        if m.combine == "parts":
            a, b = (np.concatenate([x.real, x.imag], 1) for x in (a, b))
        product = np.einsum("mk...,nk...->mn...", a, b)
        assert np.abs(product).max(initial=0) < 2**40  # float64 has them, and sums of as many, exactly
    total = (c.astype(object) if m.d in INTEGERS else c / 2.0**m.shift_c) + product
    if m.d not in INTEGERS:
        return total
    low, high = INTEGERS[m.d]
    return np.clip(total, low, high) if m.saturate else (total - low) % (high - low + 1) + low
