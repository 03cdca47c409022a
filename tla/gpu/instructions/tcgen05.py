"""tcgen05.mma of SM100 and SM103: one thread starts it for an SM, or for two of them; C is in tensor memory.

A is in shared memory (SS) or in tensor memory (TS), B in shared memory. Of two SMs each has half of the rows of
A, B and C.

Source: the PTX manual, "tcgen05.mma"; CuTe include/cute/arch/mma_sm100_umma.hpp and atom/mma_traits_sm100.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...core.element import (
    Element,
    bf16,
    complex_tf32,
    float,
    fp4_e2m1,
    fp8_e4m3,
    fp8_e8m0,
    fp8_ue4m3,
    half,
    int8,
    int32,
    tf32,
    uint8,
)
from ...core.errors import LeafTypeError
from ...core.layout import Layout
from .arithmetic import Arithmetic, ScaleIn
from .atom import Major, MMAAtom, TmemFragment, shape_of, tv
from .elements import cpp_name
from .entries import Entry, Parameter, element, extent, integer, major, option
from .warp import F8F6F4


@dataclass(frozen=True)
class Kind:
    """A kind of tcgen05.mma: its operands' types and how many bytes of them one instruction takes along K."""

    name: str  # as PTX has it
    inputs: tuple[Element, ...]
    outputs: tuple[Element, ...]
    bits: int  # what an element counts for along K, of 256 bits
    scales: tuple[Element, ...] = ()
    vectors: tuple[int, ...] = ()  # elements to a scale factor, dense
    takes_vector: bool = False  # whether the template has it


#: By CUTLASS's name of a kind.
KINDS: dict[str, Kind] = {
    "TF32": Kind("tf32", (tf32, float), (float,), 32),
    "F16BF16": Kind("f16", (half, bf16), (float, half), 16),
    "S8": Kind("i8", (int8, uint8), (int32,), 8),
    "F8F6F4": Kind("f8f6f4", F8F6F4, (float, half), 8),
    "MXF8F6F4": Kind("mxf8f6f4", F8F6F4, (float,), 8, (fp8_e8m0,), (32,)),
    "MXF4": Kind("mxf4nvf4", (fp4_e2m1,), (float,), 4, (fp8_e8m0, fp8_ue4m3), (16, 32), True),
    "MXF4NVF4": Kind("mxf4nvf4", (fp4_e2m1,), (float,), 4, (fp8_e8m0, fp8_ue4m3), (16, 32), True),
}
#: kind; the memories of A and B, what follows
_NAMES: list[tuple[str, str]] = [
    *((kind, form) for kind in ("TF32", "F16BF16", "S8", "F8F6F4") for form in ("SS", "TS", "SS_SPARSE")),
    *((kind, form) for kind in ("TF32", "F16BF16") for form in ("SS_SCALED", "TS_SCALED")),
    ("MXF8F6F4", "SS"),
    ("MXF8F6F4", "SS_SPARSE"),
    ("MXF4", "SS"),
    ("MXF4NVF4", "SS_SPARSE"),
]


def operand(sms: int, rows: int, columns: int, split: int) -> Layout:
    """(SM, value) -> (row, column): of one SM all, of two each `split` rows."""
    return tv((sms, (split, columns)), (split if sms == 2 else 0, (1, rows)))


def _umma(
    name: str,
    kind: Kind,
    form: str,
    sms: int,
    k_scale: int,
    a_type: Element,
    b_type: Element,
    c_type: Element,
    M: int,
    N: int,
    a_major: Major,
    b_major: Major,
    sf_type: Element | None = None,
    VS: int | None = None,
    ScaleC: int = 0,
    a_neg: ScaleIn = ScaleIn.One,
    b_neg: ScaleIn = ScaleIn.One,
    c_sat: bool = False,
) -> MMAAtom:
    """The instruction of its template's arguments."""
    family = name.partition("<")[0]
    if kind.inputs == (half, bf16) and a_type is not b_type:
        raise LeafTypeError(f"{family} of {a_type} and {b_type}", "one type of A and B", f"take {a_type} for both")
    sparse, four_bits = form.endswith("SPARSE"), kind.bits == 4
    vectors = _vectors(kind, sf_type, sparse)
    vector = extent("the vector", vectors, family, VS) if kind.takes_vector else vectors[0] if vectors else None
    n = extent("N", _columns(kind, form, sms, M, b_major, k_scale), family, N)
    k = 256 // kind.bits * (1 + sparse) * k_scale // 2
    half_m, half_n = M // sms, n // sms
    return MMAAtom(
        name,
        "sm103" if k_scale == 3 else "sm100",
        c_type,
        uint8 if four_bits and sparse else a_type,
        b_type,
        c_type,
        shape_of(M, n, k),
        tv(sms, 1 if sms == 2 else 0),
        operand(sms, M, k, half_m),
        operand(sms, n, k, half_n),
        operand(sms, M, n, half_m),
        f"tcgen05.mma{'.sp' if sparse else ''}.cta_group::{sms}.kind::{kind.name}{'.block_scale' if kind.scales else ''}",
        val_E=uint8 if sparse else None,
        val_SF=sf_type,
        sf_vec=vector,
        sparsity=((4, 16) if four_bits else (2, 4 if kind.bits == 32 else 8)) if sparse else None,
        major_A=a_major,
        major_B=b_major,
        arithmetic=_arithmetic(family, kind, a_neg is ScaleIn.Neg, b_neg is ScaleIn.Neg, c_sat, ScaleC),
        kind=kind.name,
        types=(a_type, b_type),
        wave=sms,
        **_fragments(form, sms, a_type, c_type, a_major, b_major),
    )


def _arithmetic(family: str, kind: Kind, negate_a: bool, negate_b: bool, saturate: bool, shift: int) -> Arithmetic:
    """The arithmetic of a template's arguments."""
    if (negate_a or negate_b) if kind.name == "i8" else saturate:
        what = f"{family} that {'negates' if kind.name == 'i8' else 'saturates'}"
        raise LeafTypeError(what, "negation of floating point, saturation of 8-bit integers", "leave it out")
    return Arithmetic("parts" if kind is _COMPLEX else "mul", saturate, negate_a, negate_b, shift)


def _columns(kind: Kind, form: str, sms: int, m: int, major_b: Major, k_scale: int) -> tuple[int, ...]:
    """Every N that CuTe's headers take: multiples of 8 for one SM and of 16 for two, or of twice that."""
    many_rows = sms == 2 or m == 128
    twice = kind.name == "i8" or (form.startswith("TS") and many_rows) or (k_scale == 3 and sms == 1)
    if kind.name == "f8f6f4":
        twice = twice or (form == "SS_SPARSE" and many_rows) or (form == "SS" and major_b is Major.MN)
    step = 8 * sms * (1 + twice)
    least = (8,) if kind.name == "i8" and sms == 1 else ()
    return (*least, *range(step, 257, step))


def _fragments(form: str, sms: int, a: Element, c: Element, major_a: Major, major_b: Major) -> dict[str, Any]:
    """The form of a fragment of each operand: a descriptor, or tensor memory and how it is allocated."""
    ts = form.startswith("TS")
    mode = "NonInterleaved" if sms == 1 else "Duplicated"
    desc = "sparse_smem_desc" if form.endswith("SPARSE") else "smem_desc"
    interleaved = not ts or sms == 2
    stored, allocated = ("uint32_t", "Interleaved") if interleaved else ("int32_t", "NonInterleaved")
    return {
        "frg_A": TmemFragment(a, a.bits, sms, mode, cpp_name(a)) if ts else f"{desc}<{major_a}>",
        "frg_B": f"smem_desc<{major_b}>",
        "frg_C": TmemFragment(c, 32, sms, allocated, stored),
    }


def _vectors(kind: Kind, sf: Element | None, sparse: bool) -> tuple[int, ...]:
    """The numbers of elements that may share a scale factor, of a sparse A twice as many.

    A scale that is no power of two, fp8_ue4m3, is that of the shorter vector alone.
    """
    return tuple(v * (1 + sparse) for v in kind.vectors[: 1 if sf is fp8_ue4m3 else None])


def _parameters(kind: Kind, form: str, sms: int) -> Iterator[Parameter]:
    """The parameters of a template, in CUTLASS's order."""
    yield from (element(f"{x}_type", x.upper(), *kind.inputs) for x in "ab")
    yield element("c_type", "C", *kind.outputs)
    if kind.scales:
        yield element("sf_type", "the scale", *kind.scales)
    yield integer("M", "M", *((128, 256) if sms == 2 else (128,) if kind.scales else (64, 128)))
    yield Parameter("N", _as_it_is)
    if kind.takes_vector:
        yield Parameter("VS", _as_it_is)
    yield major("a_major", "A", "UMMA", why_k="it is in tensor memory" if form.startswith("TS") else "")
    yield major("b_major", "B", "UMMA")
    if form.endswith("SCALED"):
        yield integer("ScaleC", "ScaleC", *range(16))
    if kind.name != "i8" or form == "TS":
        yield from (option(x, "UMMA", ScaleIn.One) for x in ("a_neg", "b_neg"))
    if kind.name == "i8" or form.startswith("TS"):
        yield option("c_sat", "UMMA::Saturate", False)


def _as_it_is(_where: str, x: object) -> object:
    """An argument whose limits depend on others."""
    return x


def _examples(kind: Kind, form: str, sms: int) -> tuple[tuple[Any, ...], ...]:
    sparse, more = form.endswith("SPARSE"), (0,) * form.endswith("SCALED")
    a = fp8_e4m3 if fp8_e4m3 in kind.inputs else kind.inputs[0]
    vectors = [(v * (1 + sparse),) for v in kind.vectors] if kind.takes_vector else [()]
    types = a, a, kind.outputs[0], *kind.scales[:1]
    return tuple((*types, 128 * sms, n, *v, Major.K, Major.K, *more) for v in vectors for n in (64, 128))


#: Products of complex numbers, real and imaginary parts as neighbours: of these the instruction makes the sum of the
#: products by parts.
_COMPLEX = Kind("tf32", (complex_tf32,), (float,), 64)


def entries() -> Iterator[Entry]:
    """The templates of tcgen05.mma."""
    for sms in (1, 2):
        two = "2x1SM_" if sms == 2 else ""
        for base, form in _NAMES:
            yield _entry(f"SM100_MMA_{base}_{two}{form}", "sm100", KINDS[base], form, sms)
        yield _interleaved(f"SM100_MMA_TF32_{two}TS_INTERLEAVED_CF32CTF32CTF32CF32_TN", sms)
        yield _entry(f"SM103::SM103_MXF4_ULTRA_{two}SS_VS", "sm103", KINDS["MXF4"], "SS", sms)


def _entry(name: str, arch: str, kind: Kind, form: str, sms: int) -> Entry:
    make = partial(_umma, kind=kind, form=form, sms=sms, k_scale=3 if arch == "sm103" else 2)
    return Entry(name, arch, make, tuple(_parameters(kind, form, sms)), _examples(kind, form, sms))


def _interleaved(name: str, sms: int) -> Entry:
    """An instruction whose types its name says, and whose operands are K-major."""
    types: dict[str, Any] = {"a_type": complex_tf32, "b_type": complex_tf32, "c_type": float}
    make = partial(_umma, kind=_COMPLEX, form="TS", sms=sms, k_scale=2, **types)
    k_major = major("b_major", "B", "UMMA", why_k="it is not transposed")
    others = (p for p in _parameters(_COMPLEX, "TS", sms) if p.name not in types)
    parameters = (k_major if p.name == "b_major" else p for p in others)
    return Entry(name, "sm100", make, tuple(parameters), tuple((128 * sms, n, Major.K, Major.K) for n in (64, 128)))


def majors(element: Element) -> tuple[Major, ...]:
    """The ways that tcgen05.mma takes operands of a type from shared memory; none for a type that it does not multiply.

    A type of fewer than 8 bits is that of the kinds that have as many: others take it from containers of 8 bits.

    >>> from tla.gpu import fp4_e2m1, half
    >>> print(*majors(half)), print(*majors(fp4_e2m1))
    K MN
    K
    (None, None)

    Source: the PTX manual, instruction descriptors of tcgen05; CUTLASS media/docs/cpp/blackwell_functionality.md.
    """
    if not any(element in kind.inputs and kind.bits == element.bits for kind in KINDS.values()):
        return ()
    return (Major.K,) if element.bits < 8 else (Major.K, Major.MN)
