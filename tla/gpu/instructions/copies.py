"""Copy instructions: by one thread, ldmatrix, stmatrix, movmatrix, shuffles, and everything into and out
of tensor memory.

Source: the PTX manual, "ldmatrix", "stmatrix", "tcgen05.ld", "tcgen05.cp"; CuTe include/cute/atom/copy_traits*.hpp.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from ...core.element import Element, half, uint32, uint64, uint128
from ...core.errors import LeafTypeError
from ...core.layout import Layout
from .atom import CopyAtom, CopySide, Modes, TmemCells, tv, tv_of
from .entries import Entry, Parameter, element, integer
from .warp import THREAD, WARP

# ------------------------------------------------------------------------------------------------------- matrices


def _rows(count: int) -> Layout:
    """(lane, bit) of the shared memory that lanes point to: 8 * count rows of 128 bits, each of the first lanes one."""
    return tv_of([(8 * count, 128), (4 // count, 0)], [(128, 1)])


def _plain(count: int) -> Layout:
    """(lane, bit) of registers: the 8x8 matrices of 16 bits as they lie, 32 bits a lane of each."""
    return tv_of([(32, 32)], [(32, 1), (count, 1024)])


def _transposed(count: int) -> Layout:
    """As _plain, each matrix transposed."""
    return tv_of([(4, 256), (8, 16)], [(16, 1), (2, 128), (count, 1024)])


def _bytes_transposed(count: int) -> Layout:
    """As _transposed, of 16x8 matrices of bytes."""
    return tv_of([(4, 256), (8, 8)], [(8, 1), (2, 128), (2, 64), (count, 1024)])


#: A row of a matrix in shared memory; registers of 32 bits; columns of tensor memory.
_ROW, _REGISTERS, _COLUMNS = CopySide("smem", 128), CopySide("registers", 32), CopySide("TMEM", 32)


def _of_rows(name: str, text: str, src: Layout, dst: Layout) -> CopyAtom:
    """A copy of matrices between shared memory and registers, or between registers."""
    reads, writes = (_ROW if text.startswith(way) else _REGISTERS for way in ("ldmatrix", "stmatrix"))
    held, transposes = dst if reads is _ROW else src, text.startswith("movmatrix")
    return CopyAtom(name, _arch_of(name), WARP, src, dst, held, text, reads=reads, writes=writes, transposes=transposes)


def _arch_of(name: str) -> str:
    return name.partition("_")[0].lower()


def _matrices() -> Iterator[tuple[str, str, Layout, Layout]]:
    """Yield name, text, source, destination."""
    for n in (1, 2, 4):
        flat, turned, narrow = _plain(n), _transposed(n), _bytes_transposed(n)
        yield f"SM75_U32x{n}_LDSM_N", f"ldmatrix.sync.aligned.x{n}.m8n8.shared.b16", _rows(n), flat
        yield f"SM75_U16x{2 * n}_LDSM_T", f"ldmatrix.sync.aligned.x{n}.trans.m8n8.shared.b16", _rows(n), turned
        yield f"SM90_U32x{n}_STSM_N", f"stmatrix.sync.aligned.x{n}.m8n8.shared.b16", flat, _rows(n)
        yield f"SM90_U16x{2 * n}_STSM_T", f"stmatrix.sync.aligned.x{n}.trans.m8n8.shared.b16", turned, _rows(n)
        yield f"SM100_U8x{4 * n}_STSM_T", f"stmatrix.sync.aligned.m16n8.x{n}.trans.shared.b8", narrow, _rows(n)
        for bits, pad in ((4, 64), (6, 32)):
            text = f"ldmatrix.sync.aligned.m8n16.x{n}.shared.b8x16.b{bits}x16_p{pad}"
            yield f"SM100_SU{bits}_DU8x16_x{n}_LDSM_N", text, _rows(n), flat
    for n in (1, 2):
        rows = tv(((2, 2, 4, 2), 128), ((128, 1024, 256, 2048 if n == 2 else 0), 1))
        narrow = tv(((4, 8), (8, 2, 2, 2 * n)), ((256, 8), (1, 128, 64, 1024)))
        yield f"SM100_U8x{8 * n}_LDSM_T", f"ldmatrix.sync.aligned.m16n16.x{n}.trans.shared.b8", rows, narrow
    # movmatrix transposes; CuTe says nothing of that in its layouts, and neither do we: see docs/differences.md
    yield "SM75_U32x1_MOVM_T", "movmatrix.sync.aligned.m8n8.trans.b16", _plain(1), _plain(1)
    pairs = tv((32, 64), (64, 1))
    crossed = tv(((2, 16), (32, 2)), ((32, 128), (1, 64))), tv(((4, 2, 4), (32, 2)), ((64, 32, 512), (1, 256)))
    for distance, dst in zip((1, 4), crossed):
        yield f"SM50_Shuffle_U32_2x2Trans_XOR{distance}", f"shfl.sync.bfly.b32 by {distance}", pairs, dst


# -------------------------------------------------------------------------------------------------- tensor memory

#: the most repetitions, the text, data paths and the bits of each in one repetition, and lanes and bits of n
#: repetitions
_TMEM: dict[str, tuple[int, str, int, int, Callable[[int], tuple[Modes, Modes]]]] = {
    "16dp256b": (32, "16x256b", 16, 256, lambda n: ([(4, 64), (8, 256 * n)], [(64, 1), (2, 2048 * n), (n, 256)])),
    "16dp128b": (64, "16x128b", 16, 128, lambda n: ([(4, 32), (8, 128 * n)], [(32, 1), (2, 1024 * n), (n, 128)])),
    "16dp64b": (128, "16x64b", 16, 64, lambda n: ([(2, 512 * n), (2, 32), (8, 64 * n)], [(32, 1), (n, 64)])),
    "16dp32b": (128, "16x32bx2", 16, 64, lambda n: ([(16, 64 * n), (2, 32 * n)], [(32 * n, 1)])),
    "32dp32b": (128, "32x32b", 32, 32, lambda n: ([(32, 32 * n)], [(32 * n, 1)])),
}


def _tmem() -> Iterator[Entry]:
    for cell, row in _TMEM.items():
        for n in (1 << i for i in range(row[0].bit_length())):
            for pack in ("", "_16b"):
                for way in ("LOAD", "STORE"):
                    make = partial(_tmem_copy, cell=cell, n=n, pack=pack, load=way == "LOAD")
                    yield Entry(f"SM100_TMEM_{way}_{cell}{n}x{pack}", "sm100", make)
    for n in (32, 128):
        yield Entry(f"SM100_TMEM_LOAD_STAT_32dp32b{n}x", "sm100", partial(_tmem_load_with_max, n=n))


def _tmem_copy(name: str, cell: str, n: int, pack: str, load: bool) -> CopyAtom:
    """tcgen05.ld or .st: a warp, and its tensor memory as one run of bits, row after row."""
    _most, text, paths, bits, lanes = _TMEM[cell]
    memory, registers = tv((32, paths * bits * n), (0, 1)), tv_of(*lanes(n))
    packed = "" if not pack else ".pack::16b" if load else ".unpack::16b"
    src, dst = (memory, registers) if load else (registers, memory)
    text = f"tcgen05.{'ld' if load else 'st'}.sync.aligned.{text}.x{n}{packed}.b32"
    cells = TmemCells(((bits * n, 0), (paths, 1)), bool(pack))
    reads, writes = (_COLUMNS, _REGISTERS)[:: 1 if load else -1]
    return CopyAtom(
        name, "sm100", WARP, src, dst, memory, text, reads=reads, writes=writes, asynchronous=True, cells=cells
    )


def _tmem_load_with_max(name: str, n: int) -> CopyAtom:
    """tcgen05.ld.red: the load, and besides the largest float of those that each lane loads, which is in no layout."""
    atom = _tmem_copy(name, "32dp32b", n, "", True)
    return replace(atom, instruction=f"tcgen05.ld.red.sync.aligned.32x32b.x{n}.max.f32")


#: tcgen05.cp: its text, the source's bits and strides, and what it fills; the destination is compact
_CP: dict[str, tuple[str, Any, Any, tuple[tuple[int, int], ...]]] = {
    "128dp256bit": ("128x256b", 32768, 1, ((128, 1), (256, 0))),
    "128dp128bit": ("128x128b", 16384, 1, ((128, 1), (128, 0))),
    "4dp256bit": ("4x256b", (4, 256), (32, 128), ((128, 1), (256, 0))),
    "4x32dp128bit": ("32x128b.warpx4", (32, 128, 4), (1, 32, 0), ((32, 1), (128, 0), (4, 32))),
    "2x64dp128bitlw0213": ("64x128b.warpx2::02_13", (64, 128, 2), (1, 64, 0), ((64, 1), (128, 0), (2, 64))),
    "2x64dp128bitlw0123": (
        "64x128b.warpx2::01_23",
        (32, 128, 2, 2),
        (1, 32, 4096, 0),
        ((32, 1), (128, 0), (2, 64), (2, 32)),
    ),
}


def _tmem_fill(name: str, cell: str, sms: int) -> CopyAtom:
    text, shape, stride, modes = _CP[cell]
    src = tv((sms, shape), (0, stride))
    dst = src if cell == "4dp256bit" else tv((sms, 32768 if cell == "128dp256bit" else 16384), (0, 1))
    thr_id, text, cells = tv(sms, 1 if sms == 2 else 0), f"tcgen05.cp.cta_group::{sms}.{text}", TmemCells(modes)
    return CopyAtom(
        name, "sm100", thr_id, src, dst, dst, text, reads=_ROW, writes=_COLUMNS, asynchronous=True, cells=cells
    )


# ------------------------------------------------------------------------------------------------- by one thread


def _of_bits(
    name: str, arch: str, text: str, bits: int, source: str = "any", target: str = "any", **meaning: Any
) -> CopyAtom:
    layout = tv((1, bits), (0, 1))
    reads, writes = (CopySide(memory, 32 if memory == "registers" else bits) for memory in (source, target))
    return CopyAtom(name, arch, THREAD, layout, layout, layout, text, reads=reads, writes=writes, **meaning)


def _unsized(name: str, MaxVecBits: int) -> CopyAtom:
    """A copy that takes as many bits at once as it can, at most so many: its layouts say nothing."""
    layout = tv((1, 1), (0, 0))
    return CopyAtom(name, "universal", THREAD, layout, layout, layout, "ld and st", most_bits=MaxVecBits)


def _universal(name: str, S: Element, D: Element) -> CopyAtom:
    _require_one_width("UniversalCopy", S, D)
    return _of_bits(name, "universal", "ld and st", S.bits)


def _require_one_width(name: str, s: Element, d: Element) -> None:
    if s.bits != d.bits:
        raise LeafTypeError(f"{name} of {s} to {d}", "one width", f"write {name}[{s}]")


def _cp_async(name: str, widths: tuple[int, ...], level: str, fills: bool, TS: Element, TD: Element) -> CopyAtom:
    operation = name.partition("<")[0]
    _require_one_width(operation, TS, TD)
    if TS.bits not in widths:
        what = f"{operation}[{TS}], {TS.bits} bits"
        raise LeafTypeError(what, " or ".join(map(str, widths)) + " bits", f"write {operation}[uint{widths[-1]}]")
    text = f"cp.async.{level}.shared.global"
    return _of_bits(name, "sm80", text, TS.bits, "gmem", "smem", asynchronous=True, fills_zeros=fills)


def _types(s: str, d: str) -> tuple[Parameter, ...]:
    """The types of source and destination: one, where only the first is given."""
    return element(s, "the source"), element(d, "the destination", default={s})


def entries() -> Iterator[Entry]:
    """Every copy instruction."""
    for name, text, src, dst in _matrices():
        yield Entry(name, _arch_of(name), partial(_of_rows, text=text, src=src, dst=dst))
    yield from _tmem()
    for cell, sms in itertools.product(_CP, (1, 2)):
        yield Entry(f"SM100_UTCCP_{cell}_{sms}cta", "sm100", partial(_tmem_fill, cell=cell, sms=sms))
    for way, text in (("LOAD", "ld.global.L1::no_allocate.v8.f32"), ("STORE", "st.global.L1::no_allocate.v8.f32")):
        source, target = ("gmem", "registers")[:: 1 if way == "LOAD" else -1]
        make = partial(_of_bits, arch="sm100", text=text, bits=256, source=source, target=target)
        yield Entry(f"SM100_{way}_256bit_CACHE_NOALLOCATION", "sm100", make)
    yield Entry("DefaultCopy", "universal", partial(_unsized, MaxVecBits=8))
    yield Entry("AutoVectorizingCopy", "universal", partial(_unsized, MaxVecBits=128))
    alignments = integer("MaxVecBits", "the alignment", *(8 << i for i in range(6)))
    yield Entry("AutoVectorizingCopyWithAssumedAlignment", "universal", _unsized, (alignments,), ((128,),))
    yield Entry("UniversalCopy", "universal", _universal, _types("S", "D"), ((half,), (uint32,), (uint64,), (uint128,)))
    for kept, fill in itertools.product(("ALWAYS", "GLOBAL"), ("", "_ZFILL")):
        widths, level = ((32, 64, 128), "ca") if kept == "ALWAYS" else ((128,), "cg")
        examples = tuple((t,) for t in (uint32, uint64, uint128) if t.bits in widths)
        make = partial(_cp_async, widths=widths, level=level, fills=bool(fill))
        yield Entry(f"SM80_CP_ASYNC_CACHE{kept}{fill}", "sm80", make, _types("TS", "TD"), examples)
