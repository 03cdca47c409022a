"""wgmma of SM90, dense and sparse: a warpgroup of 128 threads, M is 64, N any multiple of 8 up to 256.

A is in shared memory (SS) or in registers (RS), B in shared memory; every thread's values of an operand there
are the whole tile.

Source: the PTX manual, "Register Fragments for wgmma.mma_async.m64nNk16" and its kin; CuTe mma_traits_sm90_gmma.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from ...core.cache import plain_memo
from ...core.element import Element, uint8
from ...core.layout import Layout
from .arithmetic import PARTS, ScaleIn
from .atom import Major, MMAAtom, shape_of, tv, tv_of
from .elements import CODES, ptx_name, tensor_core_type
from .entries import Entry, Parameter, choice, major, option

_BYTES = [f"{d} {a} {b}" for d, a, b in itertools.product(("F16", "F32"), ("E4M3", "E5M2"), ("E4M3", "E5M2"))]
_INTS = [f"S32 {a} {b}" for a, b in itertools.product(("S8", "U8"), repeat=2)]
_HALVES = ["F16 F16 F16", "F32 F16 F16", "F32 BF16 BF16"]
#: types of D, A, B; parts of the name behind SS or RS
ROWS: list[tuple[list[str], tuple[str, ...]]] = [
    (_HALVES, ("",)),
    (["F32 TF32 TF32"], ("",)),
    (_BYTES, ("",)),
    (_INTS, ("", "SATURATE")),
]
#: N of floats; of integers only multiples of 16 above 32.
N = (*range(8, 257, 8),)
N_OF_INTEGERS = (8, 16, 24, 32, *range(48, 257, 16))


def registers(k: int, v: int) -> Layout:
    """(thread, value) -> (M,K) of 64 rows whose registers hold v neighbours along K."""
    return tv_of([(4, 64 * v), (8, 1), (4, 16)], [(v, 64), (2, 8), (k // (4 * v), 256 * v)])


def shared(rows: int, columns: int) -> Layout:
    """(thread, value) -> the whole of an operand in shared memory, whichever thread."""
    return tv((128, (rows, columns)), (0, (1, rows)))


def _metadata(k: int, bits: int) -> Layout:
    """(thread, value) -> (M,K) of the metadata: of 8 bits every thread has some, else two threads of four."""
    if bits == 8:
        return tv(((2, 2, 8, 4), (k // 2,)), ((8, 32 * k, 1, 16), (64,)))
    return tv(((2, 2, 8, 4), (k // 2, 2)), ((32 * k, 0, 1, 16), (64, 8)))


def _wgmma(
    name: str,
    codes: str,
    n: int,
    where: str,
    part: str,
    sparse: bool,
    tnspA: Major,
    tnspB: Major,
    scaleA: ScaleIn = ScaleIn.One,
    scaleB: ScaleIn = ScaleIn.One,
    spsel: str = "",
) -> MMAAtom:
    """The atom of a warpgroup's MMA. codes: D, A and B; where: "SS" or "RS", the memory of A and B; part: of
    the name, in PARTS."""
    d, a, b = (CODES[c] for c in codes.split())
    k = 256 // a.bits * (1 + sparse)
    v = 32 // a.bits * (1 + sparse)
    more: dict[str, Any] = {}
    if sparse:
        more = {"E": _metadata(k, a.bits), "val_E": uint8, "sparsity": (2, 4 if a.bits == 32 else 8)}
    arithmetic, end = PARTS[part]
    return MMAAtom(
        name,
        "sm90",
        d,
        a,
        b,
        d,
        shape_of(64, n, k),
        tv(128, 1),
        shared(64, k) if where == "SS" else registers(k, v),
        shared(n, k),
        tv(((4, 8, 4), (2, 2, n // 8)), ((128, 1, 16), (64, 8, 512))),
        f"wgmma.mma_async{'.sp' if sparse else ''}.sync.aligned.m64n{n}k{k}.{'.'.join(map(ptx_name, (d, a, b)))}{end}",
        frg_A=f"smem_desc<{tnspA}>" if where == "SS" else None,
        frg_B=f"smem_desc<{tnspB}>",
        major_A=tnspA,
        major_B=tnspB,
        arithmetic=arithmetic._replace(negate_A=scaleA is ScaleIn.Neg, negate_B=scaleB is ScaleIn.Neg),
        wave=128,
        **more,
    )


@plain_memo
def _parameters(bits: int, integers: bool, where: str, sparse: bool) -> tuple[Parameter, ...]:
    """The majors of A and B, their signs, and the threads that have the metadata."""
    only_k = "" if bits == 16 else "only 16-bit types may lie the other way"
    why_k = only_k or ("" if where == "SS" else "it is in registers")
    reasons = (("tnspA", "A", why_k), ("tnspB", "B", only_k))
    majors = (major(name, noun, "GMMA", Major.K, why, named=bits == 16) for name, noun, why in reasons)
    signs = () if integers else (option(x, "GMMA", ScaleIn.One) for x in ("scaleA", "scaleB"))
    threads = (choice("spsel", "GMMA::SparseSel::Zero", "GMMA::SparseSel::One"),) if sparse else ()
    return (*majors, *signs, *threads)


def entries() -> Iterator[Entry]:
    """Every wgmma: the sparse ones are in the namespace SM90::GMMA::SPARSE."""
    for sparse, (types, parts) in itertools.product((False, True), ROWS):
        extents = N_OF_INTEGERS if types is _INTS else N
        for codes, part, where, n in itertools.product(types, parts, ("SS", "RS"), extents):
            bits = CODES[codes.split()[1]].bits
            prefix = "SM90::GMMA::SPARSE::GMMA" if sparse else "SM90"
            end = ("" if bits == 16 else "_TN") + (f"_{part}" if part else "")
            name = f"{prefix}_64x{n}x{256 // bits * (1 + sparse)}_{codes.replace(' ', '')}_{where}{end}"
            make = partial(_wgmma, codes=codes, n=n, where=where, part=part, sparse=sparse)
            yield Entry(name, "sm90", make, _parameters(bits, types is _INTS, where, sparse))


def majors(element: Element) -> tuple[Major, ...]:
    """The ways that wgmma takes operands of a type from shared memory; none for a type that it does not multiply.

    >>> from tla.gpu import float, half
    >>> print(*majors(half)), print(*majors(float))
    K MN
    K
    (None, None)

    Source: the PTX manual, wgmma.mma_async, imm-trans-a and imm-trans-b.
    """
    taken = tensor_core_type(element)
    if not any(taken is CODES[code] for types, _parts in ROWS for codes in types for code in codes.split()[1:]):
        return ()
    return (Major.K, Major.MN) if taken.bits == 16 else (Major.K,)
