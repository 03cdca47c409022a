"""The contracts of a kernel's instructions as source: descriptors of shared memory in C, tensor maps as
other systems take them.

Source: the PTX manual, "Matrix descriptor format"; the CUDA driver API; the documentation of CuTe's DSL,
Triton and Pallas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...core.errors import LeafTypeError, RangeError, Reason
from ...core.int_tuple import product_each, shown
from ...core.layout import Layout
from ...gpu import Descriptor, Im2colCopy, Im2colMap, TensorMap, TMACopy
from ...gpu.descriptors.canonical import canonical
from ...symbolic import to_python
from ..expressions.target import target_of
from .cute_dsl import DSL_TYPES
from .sizes import cpp
from .source import source


def emit_descriptor(descriptor: object, *, name: str = "descriptor", base: str = "dynamic") -> str:
    """The text of a descriptor in C, which CUDA takes too: 64 bits from the address of the buffer in shared memory.

    descriptor   of a tile, made with base 0: its start is how far the tile begins behind the buffer
    name         of the function, or of the constant
    base         "dynamic": a function of the address, which __cvta_generic_to_shared gives; "constant": the
                 bits as they are
    Raises       LeafTypeError for what is no Descriptor, no name in C, or another base

    >>> from tla import MakeTensor, local_tile, tile_to_shape, _16, _64, _128
    >>> from tla.codegen import emit_descriptor
    >>> from tla.gpu import GMMA, half, wgmma_descriptor
    >>> a = MakeTensor(None, tile_to_shape(GMMA.K_SW128[half], (_128, _128)))
    >>> d = wgmma_descriptor(local_tile(a, (_64, _16), (1, 1)), "K", half)
    >>> print(emit_descriptor(d), end="")
    // wgmma, K-major, SW128: LBO 16, SBO 1024 bytes; the buffer's address is a multiple of 1024
    static inline unsigned long long descriptor(unsigned int address) {
        return 0x4000004000010000ull | ((address + 8224u) >> 4 & 0x3fffu);
    }
    >>> print(emit_descriptor(d, name="DESC", base="constant"), end="")
    // wgmma, K-major, SW128: LBO 16, SBO 1024 bytes
    static const unsigned long long DESC = 0x4000004000010202ull;

    Source: the PTX manual, "Matrix descriptor format".
    """
    if not isinstance(descriptor, Descriptor):
        raise LeafTypeError(
            f"emit_descriptor of {shown(descriptor)}", "a Descriptor", "write emit_descriptor(wgmma_descriptor(...))"
        )
    if not isinstance(base, str) or base not in ("dynamic", "constant"):
        raise LeafTypeError(
            f"emit_descriptor with the base {shown(base)}", "'dynamic' or 'constant'", "write base='dynamic'"
        )
    target_of("c").require_name(name)
    d, mode = descriptor, descriptor.mode
    steps = f"LBO {d.leading_byte_offset * 16}, SBO {d.stride_byte_offset * 16} bytes"
    about = f"// {d.generation.name}, {d.major}-major, {mode.name}: {steps}"
    if base == "constant":
        return f"{about}\nstatic const unsigned long long {name} = {d.bits:#x}ull;\n"
    return (
        f"{about}; the buffer's address is a multiple of {mode.pattern}\n"
        f"static inline unsigned long long {name}(unsigned int address) {{\n"
        f"    return {d.bits - d.start_address:#x}ull | ((address + {d.start_address * 16}u) >> 4 & 0x3fffu);\n}}\n"
    )


_DSL_OPERATIONS = {
    "SM90_TMA_LOAD": "CopyBulkTensorTileG2SOp()",
    "SM90_TMA_STORE": "CopyBulkTensorTileS2GOp()",
    "SM90_TMA_REDUCE_ADD": "CopyReduceBulkTensorTileS2GOp()",
    "SM90_TMA_LOAD_MULTICAST": "CopyBulkTensorTileG2SMulticastOp()",
    "SM100_TMA_2SM_LOAD": "CopyBulkTensorTileG2SOp(cute.nvgpu.tcgen05.CtaGroup.TWO)",
    "SM100_TMA_2SM_LOAD_MULTICAST": "CopyBulkTensorTileG2SMulticastOp(cute.nvgpu.tcgen05.CtaGroup.TWO)",
}
_C = cpp("std")
_SPANS = {"none": 0, "32B": 32, "64B": 64, "128B": 128}


def emit_tma(tma: object, system: str = "cuda") -> str:
    """A TMA copy as another system takes it: the text that makes its tensor map there.

    tma      what make_tma_copy gives, or make_im2col_copy; or a TensorMap or an Im2colMap alone, for "cuda"
    system   "cuda": the call of the driver; symbols are variables of 64 bits there; "cute_dsl": make_tiled_tma_atom of
             the tensor `gmem`, with the layout of shared memory; "triton" and "gluon": a TensorDescriptor of the tensor
             `x`, whose block is one box; "pallas": a BlockSpec of JAX's Mosaic GPU, whose block is one box
    Raises   LeafTypeError for what is no TMA copy and for a type that the system lacks; RangeError for a system that is
             not known, and for a box that it cannot say: im2col copies are written for "cuda" and "gluon"

    >>> from tla import parse, tile_to_shape, _64, _128
    >>> from tla.codegen import emit_tma
    >>> from tla.gpu import GMMA, half, make_tma_copy
    >>> smem = tile_to_shape(GMMA.K_SW128[half], (_128, _64))
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(1000,4096):(4096,_1)"), smem, element=half)
    >>> print(emit_tma(tma, "triton"))
    TensorDescriptor(x, shape=[1000, 4096], strides=[4096, 1], block_shape=[128, 64])
    >>> print(emit_tma(tma, "pallas"))
    plgpu.BlockSpec((128, 64), transforms=(plgpu.TilingTransform((8, 64)), plgpu.SwizzleTransform(128)))
    >>> print(emit_tma(tma, "cute_dsl"))
    smem_layout = cute.tile_to_shape(cute.nvgpu.warpgroup.make_smem_layout_atom(\
cute.nvgpu.warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16), (128, 64), (1, 2))
    atom, tensor = cute.nvgpu.cpasync.make_tiled_tma_atom(cute.nvgpu.cpasync.CopyBulkTensorTileG2SOp(), gmem, smem_layout, (128, 64))

    Source: the documentation of CuTe's DSL, of Triton and of JAX's Pallas.
    """
    if not isinstance(tma, (TMACopy, Im2colCopy, TensorMap, Im2colMap)):
        raise LeafTypeError(
            f"emit_tma of {shown(tma)}", "a TMACopy, an Im2colCopy, or a map", "write emit_tma(make_tma_copy(...))"
        )
    copies: dict[str, Callable[[Any], str]] = _WRITERS if isinstance(tma, TMACopy) else _IM2COL_WRITERS
    writers = {"cuda": _cuda} if isinstance(tma, (TensorMap, Im2colMap)) else copies
    if not isinstance(system, str) or system not in writers:
        raise RangeError(f"emit_tma for {shown(system)}", f"one of {', '.join(writers)}", "write 'cuda'")
    return writers[system](tma)


def _cuda(tma: TMACopy | Im2colCopy | TensorMap | Im2colMap) -> str:
    """The call of the driver, of a map named `map` and the tensor at `address`. Symbols are variables of 64 bits."""
    m = tma if isinstance(tma, (TensorMap, Im2colMap)) else tma.map
    arrays = {"cuuint64_t dim": m.shape, "cuuint64_t strides": m.strides[1:] or (0,)}
    if isinstance(m, Im2colMap):
        arrays |= {"int lower": m.lower, "int upper": m.upper}
        function, box = "cuTensorMapEncodeIm2col", f"lower, upper, {m.channels}, {m.pixels}"
    else:
        arrays |= {"cuuint32_t box": m.box}
        function, box = "cuTensorMapEncodeTiled", "box"
    arrays |= {"cuuint32_t steps": m.element_strides}
    lines = [f"{name}[] = {{{', '.join(map(_C.dynamic, values))}}};" for name, values in arrays.items()]
    promotion = "NONE" if m.l2_promotion == "none" else f"L2_{m.l2_promotion}"
    names = {"INTERLEAVE": m.interleave, "SWIZZLE": m.swizzle, "L2_PROMOTION": promotion, "FLOAT_OOB_FILL": "NONE"}
    tail = ", ".join(f"CU_TENSOR_MAP_{name}_{value.upper()}" for name, value in names.items())
    call = (
        f"{function}(&map, CU_TENSOR_MAP_DATA_TYPE_{m.format}, {m.rank}, address, dim, strides, {box}, steps, {tail});"
    )
    return "\n".join([*lines, call])


def _dsl(tma: TMACopy) -> str:
    tile = tuple(int(n) for n in product_each(tma.tiler_mn))
    operation = f"cute.nvgpu.cpasync.{_DSL_OPERATIONS[tma.operation]}"
    ctas = int(tma.TV.shape[0])
    cluster = f", num_multicast={ctas}" if ctas > 1 else ""
    call = f"cute.nvgpu.cpasync.make_tiled_tma_atom({operation}, gmem, smem_layout, {tile}{cluster})"
    return f"smem_layout = {_dsl_layout(tma)}\natom, tensor = {call}"


def _dsl_layout(tma: TMACopy) -> str:
    """Shared memory in the DSL: an atom by its name, tiled; or a plain layout."""
    if isinstance(tma.smem, Layout):
        return source(tma.smem, "cute_dsl")
    found = canonical(tma.smem, tma.element)
    name = DSL_TYPES.get(tma.element.name)
    if isinstance(found, Reason) or name is None or not found.atom.startswith("GMMA."):
        what, expected = shown(tma.smem), "an atom of GMMA, tiled, of a type that the DSL has"
        what = f"elements of {tma.element}" if name is None else what
        raise _refused("cute_dsl", what, expected, "make it with tile_to_shape(GMMA.K_SW128[half], shape)")
    where, shape = "cute.nvgpu.warpgroup", tuple(int(n) for n in product_each(tma.smem.shape))
    atom = f"{where}.make_smem_layout_atom({where}.SmemLayoutAtomKind.{found.atom.partition('.')[2]}, cutlass.{name})"
    return f"cute.tile_to_shape({atom}, {shape}, {tuple(int(i) for i in found.order)})"


def _refused(system: str, what: str, expected: str, fix: str) -> RangeError:
    return RangeError(f"emit_tma for {system}: {what}", expected, fix)


def _span(m: TensorMap | Im2colMap, system: str) -> int:
    """The bytes of the swizzle."""
    if m.swizzle not in _SPANS:
        what = f"the swizzle {m.swizzle} of {m.element}"
        raise _refused(system, what, "one of 32, 64 or 128 bytes", "write emit_tma(tma, 'cuda')")
    return _SPANS[m.swizzle]


def _listed(values: Iterable[Any]) -> str:
    return f"[{', '.join(map(to_python, values))}]"


def _tensor(m: TensorMap | Im2colMap) -> str:
    """Shape and strides in elements, the contiguous mode last."""
    if m.packing:
        fix = "give both layouts in uint8, two values in each, or write emit_tma(tma, 'cuda')"
        what = f"a tensor of {m.element}, {m.element.bits} bits"
        raise _refused("triton and gluon", what, "elements of whole bytes", fix)
    strides = (d * 8 // m.element.bits for d in m.strides[::-1])
    return f"x, shape={_listed(m.shape[::-1])}, strides={_listed(strides)}"


def _gluon_layout(m: TensorMap | Im2colMap, rank: int) -> str:
    width, bits = _span(m, "gluon"), m.element.bits
    return f"layout=gl.NVMMASharedLayout(swizzle_byte_width={width}, element_bitwidth={bits}, rank={rank})"


def _triton(tma: TMACopy) -> str:
    return f"TensorDescriptor({_tensor(tma.map)}, block_shape={_block(tma, 'triton')})"


def _gluon(tma: TMACopy) -> str:
    layout = _gluon_layout(tma.map, tma.map.rank)
    return f"TensorDescriptor({_tensor(tma.map)}, block_shape={_block(tma, 'gluon')}, {layout})"


def _block(tma: TMACopy, system: str) -> list[int]:
    box = [*tma.map.box[::-1]]
    _require_powers(box, system)
    _require_whole_rows(tma, box, _span(tma.map, system), system)
    return box


def _gluon_im2col(tma: Im2colCopy) -> str:
    """Corners and steps stand in the order of the shape there: D, H, W."""
    m, block, layout = tma.map, [tma.map.pixels, tma.map.channels], _gluon_layout(tma.map, 2)
    _require_powers(block, "gluon")
    corners = f"pixel_box_lower_corner={_listed(m.lower[::-1])}, pixel_box_upper_corner={_listed(m.upper[::-1])}"
    steps = f"element_strides={_listed(m.element_strides[::-1])}"
    return f"TensorDescriptorIm2Col({_tensor(m)}, block_shape={block}, {layout}, {steps}, {corners})"


def _pallas(tma: TMACopy) -> str:
    box, span = [*tma.map.box[::-1]], _span(tma.map, "pallas")
    _require_whole_rows(tma, box, span, "pallas")
    if not span:
        return f"plgpu.BlockSpec({tuple(box)})"
    if len(box) < 2 or box[-2] % 8:
        raise _refused("pallas", f"a box of {tuple(box)}", "a multiple of 8 rows", "take larger tiles")
    tiling = (8, span * 8 // tma.element.bits)
    transforms = f"(plgpu.TilingTransform({tiling}), plgpu.SwizzleTransform({span}))"
    return f"plgpu.BlockSpec({tuple(box)}, transforms={transforms})"


def _require_powers(box: list[int], system: str) -> None:
    for n in box:
        if n & (n - 1):
            fix = f"take tiles of {1 << n.bit_length() - 1}"
            raise _refused(system, f"a box of {tuple(box)}", "powers of two", fix)


def _require_whole_rows(tma: TMACopy, box: list[int], span: int, system: str) -> None:
    """Require that a row of the box fills the swizzle's span: these systems have the swizzle by the width
    of the block."""
    row = box[-1] * tma.element.bits // 8
    if span and row != span:
        what = f"rows of {row} bytes under the swizzle of {span}"
        raise _refused(system, what, f"{span} bytes", "take whole atoms")


_WRITERS: dict[str, Callable[[TMACopy], str]] = {
    "cuda": _cuda,
    "cute_dsl": _dsl,
    "triton": _triton,
    "gluon": _gluon,
    "pallas": _pallas,
}
_IM2COL_WRITERS: dict[str, Callable[[Im2colCopy], str]] = {"cuda": _cuda, "gluon": _gluon_im2col}
