"""wgmma of SM90, dense and sparse: a warpgroup of 128 threads, M is 64, N any multiple of 8 up to 256.

A is in shared memory (SS) or in registers (RS), B in shared memory; every thread's values of an operand there are the whole tile.

Source: the PTX manual, "Register Fragments for wgmma.mma_async.m64nNk16" and its kin; CuTe mma_traits_sm90_gmma.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...core.element import Element, uint8
from ...core.layout import Layout
from .atom import Major, MMAAtom, shape_of, tv
from .elements import CODES, ptx_name, tensor_core_type

_BYTES = [f"{d} {a} {b}" for d, a, b in itertools.product(("F16", "F32"), ("E4M3", "E5M2"), ("E4M3", "E5M2"))]
_INTS = [f"S32 {a} {b}" for a, b in itertools.product(("S8", "U8"), repeat=2)]
#: types of D, A, B; what is written behind SS or RS
ROWS: list[tuple[list[str], tuple[str, ...]]] = [
    (["F16 F16 F16", "F32 F16 F16", "F32 BF16 BF16"], ("",)),
    (["F32 TF32 TF32"], ("_TN",)),
    (_BYTES, ("_TN",)),
    (_INTS, ("_TN", "_TN_SATURATE")),
]
#: N of floats; of integers only multiples of 16 above 32.
N = (*range(8, 257, 8),)
N_OF_INTEGERS = (8, 16, 24, 32, *range(48, 257, 16))


def registers(k: int, v: int) -> Layout:
    """(thread, value) -> (M,K) of 64 rows whose registers hold v neighbours along K."""
    modes = [(v, 64), (2, 8), (k // (4 * v), 256 * v)]
    shape, stride = zip(*[m for i, m in enumerate(modes) if i != 0 or m[0] > 1])
    return tv(((4, 8, 4), shape), ((64 * v, 1, 16), stride))


def shared(rows: int, columns: int) -> Layout:
    """(thread, value) -> the whole of an operand in shared memory, whichever thread."""
    return tv((128, (rows, columns)), (0, (1, rows)))


def _metadata(k: int, bits: int) -> Layout:
    """(thread, value) -> (M,K) of the metadata: of 8 bits every thread has some, else two threads of four."""
    if bits == 8:
        return tv(((2, 2, 8, 4), (k // 2,)), ((8, 32 * k, 1, 16), (64,)))
    return tv(((2, 2, 8, 4), (k // 2, 2)), ((32 * k, 0, 1, 16), (64, 8)))


def _wgmma(name: str, codes: str, n: int, where: str, suffix: str, sparse: bool) -> MMAAtom:
    """The atom of a warpgroup's MMA. codes: D, A and B; where: "SS" or "RS", the memory of A and B."""
    d, a, b = (CODES[c] for c in codes.split())
    k = 256 // a.bits * (1 + sparse)
    v = 32 // a.bits * (1 + sparse)
    more: dict[str, Any] = {}
    if sparse:
        more = {"E": _metadata(k, a.bits), "val_E": uint8, "sparsity": (2, 4 if a.bits == 32 else 8)}
    sp, end = ".sp" if sparse else "", ".satfinite" if suffix.endswith("SATURATE") else ""
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
        f"wgmma.mma_async{sp}.sync.aligned.m64n{n}k{k}.{'.'.join(map(ptx_name, (d, a, b)))}{end}",
        frg_A="smem_desc<K>" if where == "SS" else None,
        frg_B="smem_desc<K>",
        major_A=Major.K,
        major_B=Major.K,
        majors=True,
        wave=128,
        **more,
    )


def table() -> Iterator[tuple[str, Callable[[], MMAAtom]]]:
    """Every wgmma by its name: those of the sparse ones are in the namespace SM90::GMMA::SPARSE."""
    for sparse, (types, suffixes) in itertools.product((False, True), ROWS):
        extents = N_OF_INTEGERS if types is _INTS else N
        for codes, suffix, where, n in itertools.product(types, suffixes, ("SS", "RS"), extents):
            k = 256 // CODES[codes.split()[1]].bits * (1 + sparse)
            prefix = "SM90::GMMA::SPARSE::GMMA" if sparse else "SM90"
            name = f"{prefix}_64x{n}x{k}_{codes.replace(' ', '')}_{where}{suffix}"
            yield name, partial(_wgmma, name, codes, n, where, suffix, sparse)


def majors(element: Element) -> tuple[Major, ...]:
    """The ways that wgmma takes operands of a type from shared memory; none for a type that it does not multiply.

    >>> from tla.gpu import float, half
    >>> print(*majors(half)), print(*majors(float))
    K MN
    K
    (None, None)

    Source: the PTX manual, wgmma.mma_async, imm-trans-a and imm-trans-b.
    """
    for types, suffixes in ROWS:
        if tensor_core_type(element) in {CODES[code] for codes in types for code in codes.split()[1:]}:
            return (Major.K,) if suffixes[0].startswith("_TN") else (Major.K, Major.MN)
    return ()
