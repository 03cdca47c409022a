"""tcgen05.mma of SM100 and SM103: one thread starts it for an SM, or for two of them; C is in tensor memory.

A is in shared memory (SS) or in tensor memory (TS), B in shared memory. Of two SMs each has half of the rows of A, B and C.

Source: the PTX manual, "tcgen05.mma"; CuTe include/cute/arch/mma_sm100_umma.hpp and atom/mma_traits_sm100.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from ...core.element import Element, bf16, float, fp4_e2m1, fp8_e4m3, fp8_e8m0, fp8_ue4m3, half, int8, int32, tf32, uint8
from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.layout import Layout
from .atom import Family, Major, MMAAtom, TmemFragment, extent, one_of, shape_of, tv
from .elements import cpp_name
from .warp import F8F6F4


@dataclass(frozen=True)
class Kind:
    """A kind of tcgen05.mma: its operands' types and how many bytes of them one instruction takes along K."""

    ptx: str
    inputs: tuple[Element, ...]
    outputs: tuple[Element, ...]
    bits: int  # what an element counts for along K, of 256 bits
    scales: tuple[Element, ...] = ()
    vectors: tuple[int, ...] = ()  # elements to a scale factor, dense
    takes_vector: bool = False  # whether the template has it


KINDS: dict[str, Kind] = {
    "TF32": Kind("tf32", (tf32, float), (float,), 32),
    "F16BF16": Kind("f16", (half, bf16), (float, half), 16),
    "S8": Kind("i8", (int8, uint8), (int32,), 8),
    "F8F6F4": Kind("f8f6f4", F8F6F4, (float, half), 8),
    "MXF8F6F4": Kind("mxf8f6f4.block_scale", F8F6F4, (float,), 8, (fp8_e8m0,), (32,)),
    "MXF4": Kind("mxf4nvf4.block_scale", (fp4_e2m1,), (float,), 4, (fp8_e8m0, fp8_ue4m3), (16, 32), True),
    "MXF4NVF4": Kind("mxf4nvf4.block_scale", (fp4_e2m1,), (float,), 4, (fp8_e8m0, fp8_ue4m3), (16, 32), True),
}
#: kind, SMs, where A is, what follows
_NAMES: list[tuple[str, str]] = [
    *((kind, form) for kind in ("TF32", "F16BF16", "S8", "F8F6F4") for form in ("SS", "TS", "SS_SPARSE")),
    ("F16BF16", "SS_SCALED"),
    ("F16BF16", "TS_SCALED"),
    ("MXF8F6F4", "SS"),
    ("MXF8F6F4", "SS_SPARSE"),
    ("MXF4", "SS"),
    ("MXF4NVF4", "SS_SPARSE"),
]


def operand(sms: int, rows: int, columns: int, split: int) -> Layout:
    """(SM, value) -> (row, column): of one SM all, of two each `split` rows."""
    return tv((sms, (split, columns)), (split if sms == 2 else 0, (1, rows)))


def _umma(name: str, kind: Kind, form: str, sms: int, k_scale: int, *arguments: Any) -> MMAAtom:
    """The instruction of some template arguments: types, M, N, majors, then how A and B are negated and C saturated."""
    given = list(arguments)
    a, b = (one_of(f"{x} of {name}", given.pop(0), kind.inputs) for x in "AB")
    c = one_of(f"C of {name}", given.pop(0), kind.outputs)
    if kind.inputs == (half, bf16) and a is not b:
        raise LeafTypeError(f"{name} of {a} and {b}", "one type of A and B", f"take {a} for both")
    sf = one_of(f"the scale of {name}", given.pop(0), kind.scales) if kind.scales else None
    m = extent(f"M of {name}", given.pop(0), (128, 256) if sms == 2 else (128,) if kind.scales else (64, 128))
    columns = given.pop(0)
    sparse = form.endswith("SPARSE")
    vs = _vector(name, kind, sf, sparse, given)
    majors = _majors(name, form, given)
    n = extent(f"N of {name}", columns, _columns(kind, form, sms, m, majors[1], k_scale))
    scale_c = [str(extent(f"ScaleC of {name}", given.pop(0) if given else None, range(16)))] if form.endswith("SCALED") else []
    k = 256 // kind.bits * (1 + sparse) * k_scale // 2
    types = [cpp_name(t) for t in (a, b, c, *([sf] if sf else []))]
    vector = [str(vs)] if kind.takes_vector else []
    parameters = [*types, str(m), str(n), *vector, *(f"UMMA::Major::{x}" for x in majors), *scale_c, *map(str, given)]
    four_bits = kind.bits == 4
    half_m, half_n = m // sms, n // sms
    return MMAAtom(
        f"{name}<{','.join(parameters)}>",
        "sm103" if k_scale == 3 else "sm100",
        c,
        uint8 if four_bits and sparse else a,
        b,
        c,
        shape_of(m, n, k),
        tv(sms, 1 if sms == 2 else 0),
        operand(sms, m, k, half_m),
        operand(sms, n, k, half_n),
        operand(sms, m, n, half_m),
        f"tcgen05.mma{'.sp' if sparse else ''}.cta_group::{sms}.kind::{kind.ptx}",
        val_E=uint8 if sparse else None,
        val_SF=sf,
        sf_vec=vs,
        sparsity=((4, 16) if four_bits else (2, 4 if kind.bits == 32 else 8)) if sparse else None,
        major_A=majors[0],
        major_B=majors[1],
        types=(a, b),
        wave=sms,
        **_fragments(form, sms, a, c, majors),
    )


def _columns(kind: Kind, form: str, sms: int, m: int, major_b: Major, k_scale: int) -> tuple[int, ...]:
    """Every N that CuTe's headers take: multiples of 8 for one SM and of 16 for two, or of twice that."""
    many_rows = sms == 2 or m == 128
    twice = kind.ptx == "i8" or (form.startswith("TS") and many_rows) or (k_scale == 3 and sms == 1)
    if kind.ptx == "f8f6f4":
        twice = twice or (form == "SS_SPARSE" and many_rows) or (form == "SS" and major_b is Major.MN)
    step = 8 * sms * (1 + twice)
    least = (8,) if kind.ptx == "i8" and sms == 1 else ()
    return (*least, *range(step, 257, step))


def _fragments(form: str, sms: int, a: Element, c: Element, majors: list[Major]) -> dict[str, Any]:
    """The form of a fragment of each operand: a descriptor, or tensor memory and how it is allocated."""
    ts = form.startswith("TS")
    mode = "NonInterleaved" if sms == 1 else "Duplicated"
    desc = "sparse_smem_desc" if form.endswith("SPARSE") else "smem_desc"
    interleaved = not ts or sms == 2
    stored, allocated = ("uint32_t", "Interleaved") if interleaved else ("int32_t", "NonInterleaved")
    return {
        "frg_A": TmemFragment(a, a.bits, sms, mode, cpp_name(a)) if ts else f"{desc}<{majors[0]}>",
        "frg_B": f"smem_desc<{majors[1]}>",
        "frg_C": TmemFragment(c, 32, sms, allocated, stored),
    }


def _vector(name: str, kind: Kind, sf: Element | None, sparse: bool, given: list[Any]) -> int | None:
    """The number of elements that share a scale factor, of a sparse A twice as many; taken from the template where it says so.

    A scale that is no power of two, fp8_ue4m3, is that of the shorter vector alone.
    """
    allowed = tuple(v * (1 + sparse) for v in kind.vectors[: 1 if sf is fp8_ue4m3 else None])
    if kind.takes_vector:
        return extent(f"the vector of {name}", given.pop(0), allowed)
    return allowed[0] if allowed else None


def _majors(name: str, form: str, given: list[Any]) -> list[Major]:
    if len(given) < 2:
        raise RankError(f"{name} without the majors of A and B", "K or MN for each", "write K, K behind N")
    majors = [given.pop(0), given.pop(0)]
    for x in majors:
        if not isinstance(x, Major):
            raise LeafTypeError(f"{name}: the major {x!r}", "K or MN", "write K")
    if form.startswith("TS") and majors[0] is Major.MN:
        raise RangeError(f"{name}: A in tensor memory is MN-major", "K", "write K for A")
    return majors


def _examples(kind: Kind, form: str, sms: int) -> tuple[tuple[Any, ...], ...]:
    sparse, more = form.endswith("SPARSE"), (0,) * form.endswith("SCALED")
    a = fp8_e4m3 if fp8_e4m3 in kind.inputs else kind.inputs[0]
    vectors: tuple[tuple[int, ...], ...] = tuple((v * (1 + sparse),) for v in kind.vectors) if kind.takes_vector else ((),)
    scale = kind.scales[:1]
    return tuple((a, a, kind.outputs[0], *scale, 128 * sms, n, *v, Major.K, Major.K, *more) for v in vectors for n in (64, 128))


def families() -> Iterator[Family]:
    """The templates of tcgen05.mma."""
    for (base, form), sms in ((x, s) for x in _NAMES for s in (1, 2)):
        name = f"SM100_MMA_{base}_{'2x1SM_' if sms == 2 else ''}{form}"
        yield _family(name, KINDS[base], form, sms, 2)
    for sms in (1, 2):
        yield _family(f"SM103::SM103_MXF4_ULTRA_{'2x1SM_' if sms == 2 else ''}SS_VS", KINDS["MXF4"], "SS", sms, 3)


def _family(name: str, kind: Kind, form: str, sms: int, k_scale: int) -> Family:
    scale = ", sf_type" if kind.scales else ""
    vector = ", VS" if kind.takes_vector else ""
    c = ", ScaleC" if form.endswith("SCALED") else ""
    parameters = f"a_type, b_type, c_type{scale}, M, N{vector}, a_major, b_major{c}, ..."
    make = partial(_umma, name, kind, form, sms, k_scale)
    return Family(name, "sm100" if k_scale == 2 else "sm103", parameters, make, _examples(kind, form, sms))


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
