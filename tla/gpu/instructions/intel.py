"""DPAS of Intel's Xe: a subgroup of 16 lanes multiplies M rows (XE_DPAS_TT), or as many columns (XE_DPAS_NN), at once.

The operand of M rows lies row after row, lanes along K; the other one is packed, 32 bits of neighbours along K
to a lane.

Source: intel/sycl-tla include/cute/atom/mma_traits_xe.hpp; Intel's "Systolic DPAS" of Xe.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ...core.element import Element, bf16, float, half, int4b, int8, int32, tf32, uint4, uint8, uint32
from ...core.errors import LeafTypeError
from ...core.layout import Layout
from .atom import MMAAtom, shape_of, tv, tv_of
from .entries import Entry, element, integer, one_of

_INTS = (int8, uint8, int4b, uint4)
#: types of A (and B), and of D and C
ROWS: list[tuple[tuple[Element, ...], tuple[Element, ...]]] = [
    ((tf32,), (float,)),
    ((half,), (float, half)),
    ((bf16,), (float, bf16)),
    (_INTS, (int32, uint32)),
]
LANES = 16


def by_rows(rows: int, k: int, bits: int) -> Layout:
    """The operand of `rows` rows: lanes along K, a byte (or one element that is wider) each."""
    if bits == 32:  # K is 8: lanes are two rows at once. CuTe gives the upper ones row 1 of a matrix of one row too
        return tv(((8, 2), max(rows // 2, 1)), ((rows, 1 if rows > 1 else 0), 2 if rows > 2 else 0))
    each = max(8 // bits, 1)
    return tv_of([(LANES, rows * each)], [(each, rows), (k // (LANES * each), LANES * each * rows), (rows, 1)])


def packed(k: int, bits: int) -> Layout:
    """The operand of 16 columns: 32 bits of neighbours along K belong together, spread over as many lanes as they are
    bytes or elements."""
    p, each = 32 // max(bits, 8), max(8 // bits, 1)
    return tv_of([(p, 16 * each), (LANES // p, 1)], [(each, 16), (p, LANES // p), (k // (p * each), 16 * p * each)])


def _dpas(name: str, form: str, M: int, TypeD: Element, TypeA: Element, TypeB: Element, TypeC: Element) -> MMAAtom:
    inputs, outputs = next(row for row in ROWS if TypeA in row[0])
    one_of("B", inputs, f"XE_DPAS with A of {TypeA}", TypeB)
    for x, t in (("D", TypeD), ("C", TypeC)):
        one_of(x, outputs, f"XE_DPAS with A of {TypeA}", t)
    if inputs is _INTS and TypeD is not TypeC:
        raise LeafTypeError(f"XE_DPAS of D {TypeD} and C {TypeC}", "one type", f"take {TypeD} for both")
    k = 256 // max(TypeA.bits, TypeB.bits)
    # the layouts of NN are TT's of the same types, changed over: so the vendor has it, and the types are A's
    # and B's here too
    rows, columns = by_rows(M, k, TypeA.bits), packed(k, TypeB.bits)
    result = tv((LANES, M), (M, 1)) if form == "TT" else tv((LANES, M), (1, 16))
    operands = (rows, columns) if form == "TT" else (columns, rows)
    shape = shape_of(M, 16, k) if form == "TT" else shape_of(16, M, k)
    types = TypeD, TypeA, TypeB, TypeC
    return MMAAtom(name, "xe", *types, shape, tv(LANES, 1), *operands, result, f"dpas.8x{M}", wave=LANES)


def entries() -> Iterator[Entry]:
    """The two templates of DPAS."""
    for form in ("TT", "NN"):
        given = (
            integer("M", "rows", 1, 2, 4, 8),
            element("TypeD", "D"),
            element("TypeA", "A", *(t for row in ROWS for t in row[0])),
            element("TypeB", "B", default={"TypeA"}),
            element("TypeC", "C", default={"TypeD"}),
        )
        examples = tuple((n, d[0], a, a, d[0]) for a, d in ((row[0][0], row[1]) for row in ROWS) for n in (1, 2, 4, 8))
        yield Entry(f"XE_DPAS_{form}", "xe", partial(_dpas, form=form), given, examples)
