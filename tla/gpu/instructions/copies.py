"""Copy instructions: by one thread, ldmatrix, stmatrix, movmatrix, shuffles, and everything into and out of tensor memory.

Source: the PTX manual, "ldmatrix", "stmatrix", "tcgen05.ld", "tcgen05.cp"; CuTe include/cute/atom/copy_traits*.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ...core.element import Element, half, uint32, uint64, uint128
from ...core.errors import LeafTypeError
from ...core.layout import Layout
from .atom import CopyAtom, CopySide, Family, TmemCells, extent, tv
from .elements import as_element, cpp_name
from .warp import THREAD, WARP

# ------------------------------------------------------------------------------------------------------- matrices


def _rows(count: int) -> Layout:
    """(lane, bit) of the shared memory that lanes point to: 8 * count rows of 128 bits, each of the first lanes one."""
    return tv((32, 128), (128, 1)) if count == 4 else tv(((8 * count, 4 // count), 128), ((128, 0), 1))


def _plain(count: int) -> Layout:
    """(lane, bit) of registers: the 8x8 matrices of 16 bits as they lie, 32 bits a lane of each."""
    return tv((32, 32), (32, 1)) if count == 1 else tv((32, (32, count)), (32, (1, 1024)))


def _transposed(count: int) -> Layout:
    """As _plain, each matrix transposed."""
    shape, stride = ((16, 2), (1, 128)) if count == 1 else ((16, 2, count), (1, 128, 1024))
    return tv(((4, 8), shape), ((256, 16), stride))


def _bytes_transposed(count: int) -> Layout:
    """As _transposed, of 16x8 matrices of bytes."""
    shape, stride = ((8, 2, 2), (1, 128, 64)) if count == 1 else ((8, 2, 2, count), (1, 128, 64, 1024))
    return tv(((4, 8), shape), ((256, 8), stride))


#: A row of a matrix in shared memory; registers of 32 bits; columns of tensor memory.
_ROW, _REGISTERS, _COLUMNS = CopySide("smem", 128), CopySide("registers", 32), CopySide("TMEM", 32)


def _copy(name: str, arch: str, text: str, src: Layout, dst: Layout, ref: Layout, thr_id: Layout = WARP, **meaning: Any) -> CopyAtom:
    return CopyAtom(name, arch, thr_id, src, dst, ref, text, **meaning)


def _of_rows(name: str, arch: str, text: str, src: Layout, dst: Layout, ref: Layout) -> CopyAtom:
    """A copy of matrices between shared memory and registers, or between registers."""
    reads, writes = (_ROW if text.startswith(way) else _REGISTERS for way in ("ldmatrix", "stmatrix"))
    return _copy(name, arch, text, src, dst, ref, reads=reads, writes=writes, transposes=text.startswith("movmatrix"))


def _matrices() -> Iterator[tuple[str, str, str, Layout, Layout, Layout]]:
    """name, architecture, text, source, destination, reference."""
    for n in (1, 2, 4):
        flat, turned, narrow = _plain(n), _transposed(n), _bytes_transposed(n)
        yield f"SM75_U32x{n}_LDSM_N", "sm75", f"ldmatrix.sync.aligned.x{n}.m8n8.shared.b16", _rows(n), flat, flat
        yield f"SM75_U16x{2 * n}_LDSM_T", "sm75", f"ldmatrix.sync.aligned.x{n}.trans.m8n8.shared.b16", _rows(n), turned, turned
        yield f"SM90_U32x{n}_STSM_N", "sm90", f"stmatrix.sync.aligned.x{n}.m8n8.shared.b16", flat, _rows(n), flat
        yield f"SM90_U16x{2 * n}_STSM_T", "sm90", f"stmatrix.sync.aligned.x{n}.trans.m8n8.shared.b16", turned, _rows(n), turned
        yield f"SM100_U8x{4 * n}_STSM_T", "sm100", f"stmatrix.sync.aligned.m16n8.x{n}.trans.shared.b8", narrow, _rows(n), narrow
        for bits, pad in ((4, 64), (6, 32)):
            text = f"ldmatrix.sync.aligned.m8n16.x{n}.shared.b8x16.b{bits}x16_p{pad}"
            yield f"SM100_SU{bits}_DU8x16_x{n}_LDSM_N", "sm100", text, _rows(n), flat, flat
    for n in (1, 2):
        rows = tv(((2, 2, 4, 2), 128), ((128, 1024, 256, 2048 if n == 2 else 0), 1))
        narrow = tv(((4, 8), (8, 2, 2, 2 * n)), ((256, 8), (1, 128, 64, 1024)))
        yield f"SM100_U8x{8 * n}_LDSM_T", "sm100", f"ldmatrix.sync.aligned.m16n16.x{n}.trans.shared.b8", rows, narrow, narrow
    # movmatrix transposes; CuTe says nothing of that in its layouts, and neither do we: see docs/differences.md
    yield "SM75_U32x1_MOVM_T", "sm75", "movmatrix.sync.aligned.m8n8.trans.b16", _plain(1), _plain(1), _plain(1)
    pairs = tv((32, 64), (64, 1))
    crossed = tv(((2, 16), (32, 2)), ((32, 128), (1, 64))), tv(((4, 2, 4), (32, 2)), ((64, 32, 512), (1, 256)))
    for distance, dst in zip((1, 4), crossed):
        yield f"SM50_Shuffle_U32_2x2Trans_XOR{distance}", "sm50", f"shfl.sync.bfly.b32 by {distance}", pairs, dst, pairs


# -------------------------------------------------------------------------------------------------- tensor memory

#: the most repetitions, the text, data paths and the bits of each in one repetition, and (lane, bit) -> bit for n repetitions
_TMEM: dict[str, tuple[int, str, int, int, Callable[[int], Any]]] = {
    "16dp256b": (32, "16x256b", 16, 256, lambda n: (((4, 8), (64, 2, n)), ((64, 256 * n), (1, 2048 * n, 256)))),
    "16dp128b": (64, "16x128b", 16, 128, lambda n: (((4, 8), (32, 2, n)), ((32, 128 * n), (1, 1024 * n, 128)))),
    "16dp64b": (128, "16x64b", 16, 64, lambda n: (((2, 2, 8), (32, n)), ((512 * n, 32, 64 * n), (1, 64)))),
    "16dp32b": (128, "16x32bx2", 16, 64, lambda n: (((16, 2), 32 * n), ((64 * n, 32 * n), 1))),
    "32dp32b": (128, "32x32b", 32, 32, lambda n: ((32, 32 * n), (32 * n, 1))),
}


def _without_ones(shape: Any, stride: Any) -> Layout:
    """The layout without the values' last mode where that has extent 1: one repetition is not counted."""
    values: list[Any] = [shape[1], stride[1]]
    if not isinstance(values[0], tuple) or values[0][-1] > 1:
        return tv(shape, stride)
    cut: list[Any] = [v[:-1] if len(v) > 2 else v[0] for v in values]
    return tv((shape[0], cut[0]), (stride[0], cut[1]))


def _tmem() -> Iterator[tuple[str, Callable[[], CopyAtom]]]:
    for cell, row in _TMEM.items():
        for n in (1 << i for i in range(row[0].bit_length())):
            for pack in ("", "_16b"):
                yield f"SM100_TMEM_LOAD_{cell}{n}x{pack}", partial(_tmem_copy, cell, n, pack, True)
                yield f"SM100_TMEM_STORE_{cell}{n}x{pack}", partial(_tmem_copy, cell, n, pack, False)


def _tmem_copy(cell: str, n: int, pack: str, load: bool) -> CopyAtom:
    """tcgen05.ld or .st: a warp, and its tensor memory as one run of bits, row after row."""
    _most, text, paths, bits, lanes = _TMEM[cell]
    memory, registers = tv((32, paths * bits * n), (0, 1)), _without_ones(*lanes(n))
    packed = "" if not pack else ".pack::16b" if load else ".unpack::16b"
    name = f"SM100_TMEM_{'LOAD' if load else 'STORE'}_{cell}{n}x{pack}"
    src, dst = (memory, registers) if load else (registers, memory)
    text = f"tcgen05.{'ld' if load else 'st'}.sync.aligned.{text}.x{n}{packed}.b32"
    cells = TmemCells(((bits * n, 0), (paths, 1)), bool(pack))
    reads, writes = (_COLUMNS, _REGISTERS)[:: 1 if load else -1]
    return _copy(name, "sm100", text, src, dst, memory, reads=reads, writes=writes, asynchronous=True, cells=cells)


#: tcgen05.cp: its text, the source's bits and strides, and what it fills; the destination is compact
_CP: dict[str, tuple[str, Any, Any, tuple[tuple[int, int], ...]]] = {
    "128dp256bit": ("128x256b", 32768, 1, ((128, 1), (256, 0))),
    "128dp128bit": ("128x128b", 16384, 1, ((128, 1), (128, 0))),
    "4dp256bit": ("4x256b", (4, 256), (32, 128), ((128, 1), (256, 0))),
    "4x32dp128bit": ("32x128b.warpx4", (32, 128, 4), (1, 32, 0), ((32, 1), (128, 0), (4, 32))),
    "2x64dp128bitlw0213": ("64x128b.warpx2::02_13", (64, 128, 2), (1, 64, 0), ((64, 1), (128, 0), (2, 64))),
    "2x64dp128bitlw0123": ("64x128b.warpx2::01_23", (32, 128, 2, 2), (1, 32, 4096, 0), ((32, 1), (128, 0), (2, 64), (2, 32))),
}


def _tmem_fill(cell: str, sms: int) -> CopyAtom:
    text, shape, stride, cells = _CP[cell]
    src = tv((sms, shape), (0, stride))
    dst = src if cell == "4dp256bit" else tv((sms, 32768 if cell == "128dp256bit" else 16384), (0, 1))
    thr_id = tv(sms, 1 if sms == 2 else 0)
    name, text = f"SM100_UTCCP_{cell}_{sms}cta", f"tcgen05.cp.cta_group::{sms}.{text}"
    return _copy(name, "sm100", text, src, dst, dst, thr_id, reads=_ROW, writes=_COLUMNS, asynchronous=True, cells=TmemCells(cells))


def table() -> Iterator[tuple[str, Callable[[], CopyAtom]]]:
    """Every copy instruction that has no template arguments, by its name."""
    for row in _matrices():
        yield row[0], partial(_of_rows, *row)
    yield from _tmem()
    for cell in _CP:
        for sms in (1, 2):
            yield f"SM100_UTCCP_{cell}_{sms}cta", partial(_tmem_fill, cell, sms)
    for way, text in (("LOAD", "ld.global.L1::no_allocate.v8.f32"), ("STORE", "st.global.L1::no_allocate.v8.f32")):
        name, sides = f"SM100_{way}_256bit_CACHE_NOALLOCATION", ("gmem", "registers")[:: 1 if way == "LOAD" else -1]
        yield name, partial(_of_bits, name, "sm100", text, 256, *sides)
    yield "DefaultCopy", partial(_unsized, "DefaultCopy", 8)
    yield "AutoVectorizingCopy", partial(_unsized, "AutoVectorizingCopy", 128)


# ------------------------------------------------------------------------------------------------- by one thread


def _of_bits(name: str, arch: str, text: str, bits: int, source: str = "any", target: str = "any", **meaning: Any) -> CopyAtom:
    layout = tv((1, bits), (0, 1))
    reads, writes = (CopySide(memory, 32 if memory == "registers" else bits) for memory in (source, target))
    return _copy(name, arch, text, layout, layout, layout, THREAD, reads=reads, writes=writes, **meaning)


def _unsized(name: str, bits: int) -> CopyAtom:
    """A copy that takes as many bits at once as it can, at most so many: its layouts say nothing."""
    layout = tv((1, 1), (0, 0))
    return _copy(name, "universal", "ld and st", layout, layout, layout, THREAD, most_bits=bits)


def _universal(*types: Any) -> CopyAtom:
    s, d = as_element(types[0]), as_element(types[-1])
    _same_width("UniversalCopy", s, d)
    return _of_bits(f"UniversalCopy<{','.join(cpp_name(as_element(t)) for t in types)}>", "universal", "ld and st", s.bits)


def _same_width(name: str, s: Element, d: Element) -> None:
    if s.bits != d.bits:
        raise LeafTypeError(f"{name} of {s} to {d}", "one width", f"write {name}[{s}]")


def _vectorizing(bits: Any) -> CopyAtom:
    n = extent("the alignment of AutoVectorizingCopyWithAssumedAlignment", bits, tuple(8 << i for i in range(6)))
    return _unsized(f"AutoVectorizingCopyWithAssumedAlignment<{n}>", n)


def _cp_async(name: str, widths: tuple[int, ...], fills: bool, *types: Any) -> CopyAtom:
    s, d = as_element(types[0]), as_element(types[-1])
    _same_width(name, s, d)
    if s.bits not in widths:
        what = f"{name}[{s}], {s.bits} bits"
        raise LeafTypeError(what, " or ".join(map(str, widths)) + " bits", f"write {name}[uint{widths[-1]}]")
    level = "ca" if "ALWAYS" in name else "cg"
    full, text = f"{name}<{','.join(cpp_name(as_element(t)) for t in types)}>", f"cp.async.{level}.shared.global"
    return _of_bits(full, "sm80", text, s.bits, "gmem", "smem", asynchronous=True, fills_zeros=fills)


def families() -> Iterator[Family]:
    """The templates of copies."""
    yield Family("UniversalCopy", "universal", "S, ...", _universal, ((half,), (uint32,), (uint64,), (uint128,)))
    yield Family("AutoVectorizingCopyWithAssumedAlignment", "universal", "MaxVecBits", _vectorizing, ((128,),))
    for level, fill in (("ALWAYS", ""), ("GLOBAL", ""), ("ALWAYS", "_ZFILL"), ("GLOBAL", "_ZFILL")):
        name = f"SM80_CP_ASYNC_CACHE{level}{fill}"
        widths = (32, 64, 128) if level == "ALWAYS" else (128,)
        examples = tuple((t,) for t in (uint32, uint64, uint128) if t.bits in widths)
        yield Family(name, "sm80", "TS, ...", partial(_cp_async, name, widths, bool(fill)), examples)
