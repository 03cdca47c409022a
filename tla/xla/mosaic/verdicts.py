"""Verdicts on a block of a Pallas kernel on TPU: what Pallas refuses, what Mosaic and XLA refuse behind it,
what to change.

Source: JAX jax/_src/pallas/mosaic/lowering.py, _check_block_mappings; 2,070 kernels that libtpu 0.0.51 compiled, or
refused, for v2 to tpu7x (tests/data/xla/kernels.json.gz).
"""

from __future__ import annotations

from collections.abc import Iterator

from ...core.leaf_arithmetic import ceil_div
from ..programs.targets import TARGETS
from .memref import MemRef
from .registers import LANES, SUBLANES, WORD, RegisterLayout

#: The number n of S(n) that XLA has for VMEM.
VMEM = 1
#: The first generations: nothing of less than a byte is packed there, and a word's rows are two at least.
FIRST = frozenset({"v2", "v3"})
#: Element types that a kernel cannot load, on any generation.
_NOT_LOADED = frozenset({"f16", "f8e3m4", "f8e4m3", "f8e4m3fnuz", "f8e5m2fnuz"})
#: The generations that store a part of a row of words, of elements of so many bits.
_MASKS = {
    32: frozenset({"v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"}),
    16: frozenset({"v4", "v5e", "v5p", "v6e", "tpu7x"}),
    8: frozenset({"v5e", "v5p", "v6e", "tpu7x"}),
}


def of_pallas(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...], buffers: int) -> str:
    """The reason that Pallas refuses a block."""
    if buffers > 2:
        return f"{buffers} buffers: pallas_call takes 1 or 2; pltpu.emit_pipeline takes more"
    if all(n is None for n in sizes):
        why = "every dimension is squeezed, and Pallas stores no scalar to VMEM"
        return f"{why}: keep one dimension, or take the block in SMEM"
    wrong = [f"dimension {d}: {sizes[d] or 1} of {dims[d]}" for d, _fix in _faults(bits, dims, sizes)]
    if not wrong:
        return ""
    rule = "multiples of (8, 128), or whole"
    if len(dims) == 1:
        rule = f"whole, n * 1024, or a power of two of {LANES * WORD // bits} or more"
    return f"{', '.join(wrong)}: the last extents have to be {rule}"


def of_mosaic(kind: str, target: str, dims: tuple[int, ...], memref: MemRef, vmem: int) -> str:
    """The reason that a kernel of a block, which Pallas takes, does not compile.

    kind     XLA's name of the element type
    dims     the extents of the array
    memref   the block in VMEM
    vmem     what its buffers take [bytes]
    """
    row, capacity = LANES * WORD // memref.bits, TARGETS[target].capacity[VMEM]
    if vmem > capacity:
        return f"{vmem:,} bytes, and VMEM of {target} has {capacity:,}: take a smaller block"
    if memref.bits < 8 and target in FIRST:
        wide = {"s": "s8", "u": "u8"}.get(kind[0], "bf16")
        return f"{target} packs no {kind}, and XLA has it as bytes: convert it to {wide} before the kernel"
    extent = memref.dimensions[0] or 1
    if len(dims) == 1 and extent % row and target not in _MASKS.get(memref.bits, ()):
        whole = ceil_div(extent, row) * row
        return f"{target} stores no part of a row of {row} elements of {kind}: pad {extent} to {whole}"
    if kind in _NOT_LOADED:
        return f"Mosaic loads no {kind}: convert it to bf16 or f32 before the kernel"
    tile = memref.tiles[0][0]
    if len(dims) == 1 and memref.dimensions != dims and extent % tile:
        return f"an array of one dimension has tiles of {tile} on {target}: take a block of n * {tile}"
    return ""


def _faults(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...]) -> Iterator[tuple[int, str]]:
    """Each extent that Pallas refuses, with those next to it that it takes."""
    if len(dims) == 1:
        n, least = sizes[0] or 1, LANES * WORD // bits
        if not (n == dims[0] or n % 1024 == 0 or (n >= least and n & (n - 1) == 0)):
            yield 0, _next(n, 1024 if n > 1024 else least, dims[0])
        return
    for d, unit in ((-2, SUBLANES), (-1, LANES)):
        n = sizes[d] or 1
        if n != dims[d] and n % unit:
            yield len(dims) + d, _next(n, unit, dims[d])


def _next(n: int, unit: int, whole: int) -> str:
    """The extents near n that are multiples of a unit, and the whole dimension."""
    near = sorted({k for k in (n // unit * unit, ceil_div(n, unit) * unit) if 0 < k < whole})
    return " or ".join([f"{', '.join(map(str, near))},"] if near else []) + (" or " if near else "") + f"all {whole}"


def advice(bits: int, dims: tuple[int, ...], sizes: tuple[int | None, ...], registers: RegisterLayout) -> Iterator[str]:
    """List what to change of a block, most useful first."""
    faults = [*_faults(bits, dims, sizes)]
    yield from (f"dimension {d}: {fix}" for d, fix in faults)
    kept = [(d, n) for d, n in enumerate(sizes) if n is not None]
    for (d, n), unit in zip(reversed(kept), reversed(registers.register)):
        if n % unit and d not in {f for f, _ in faults}:
            up = ceil_div(n, unit) * unit
            end = f"{up}, which the array does not reach: pad it" if up > dims[d] else str(up)
            yield f"dimension {d}: {n} fills {n % unit} of the last {unit} that a register holds; full with {end}"
