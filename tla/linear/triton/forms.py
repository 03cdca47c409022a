"""The attributes of Triton's IR as a table: the class of each, its fields as the text has them, and the layout
of what a text says.

Source: the printer of Triton 3.9's dialects.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields, replace
from typing import Any, NamedTuple

from ..value import power_of_two
from . import tiles
from .distributed import BlockedLayout, DistributedLinearLayout, SliceLayout
from .mma import AMDMFMALayout, AMDWMMALayout, DotOperandLayout, NVMMADistributedLayout
from .shared import (
    AMDRotatingSharedLayout,
    NVMMASharedLayout,
    PaddedSharedLayout,
    PartitionedSharedLayout,
    SharedLinearLayout,
    SwizzledSharedLayout,
)
from .tensor_memory import MN_THEN_K, TensorMemoryLayout, TensorMemoryScalesLayout

Pairs = dict[str, Any]


class Attributes(Pairs):
    """The attributes of a text by name. An attribute that nothing asked for is one that its layout does not know:
    it is refused.

    places   where each stands in the text [characters]
    asked    the names that were asked for, given or not
    """

    def __init__(self) -> None:
        super().__init__()
        self.places, self.asked = dict[str, int](), dict[str, None]()

    def __getitem__(self, name: str) -> Any:
        self.asked[name] = None
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.asked[str(name)] = None
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked[name] = None
        return super().get(name, default)

    def unknown(self) -> Iterator[tuple[str, int, Collection[str]]]:
        """The attributes that nothing asked for: their names and places, and the names that were asked for."""
        yield from ((name, at, self.asked) for name, at in self.places.items() if name not in self.asked)
        for value in self.values():
            if isinstance(value, Attributes):
                yield from value.unknown()


class Form(NamedTuple):
    """One attribute: the class, its fields as the text has them, and the layout of what a text says."""

    kind: type
    write: Callable[[Any], Pairs]
    read: Callable[[Pairs], Any]
    braces: bool = True


def _cga(layout: Any) -> Pairs:
    return {"CGALayout": layout.cga_layout} if layout.cga_layout else {}


def _read_cga(p: Pairs) -> Any:
    """The blocks of a text; those of Triton before 3.6 say them as three lists."""
    if "CTAsPerCGA" not in p:
        return p.get("CGALayout", ())
    order, per_cga, split = p["CTAOrder"], p["CTAsPerCGA"], p["CTASplitNum"]
    vectors = []
    for d in order:
        parts = tiles.log2(power_of_two("CTASplitNum: a size", split[d]))
        vectors += [tuple(1 << k if i == d else 0 for i in range(len(order))) for k in range(parts)]
        vectors += [(0,) * len(order)] * (tiles.log2(power_of_two("CTAsPerCGA: a size", per_cga[d])) - parts)
    return vectors


def _unless(value: Any, default: Any, name: str) -> Pairs:
    return {} if value == default else {name: value}


def _of_fields(kind: type, attributes: str, *, braces: bool = True, **optional: Any) -> Form:
    """The form of a class whose fields are attributes, in its order. optional: what a text leaves out if it is this."""
    names, left_out = attributes.split(), {"CGALayout": (), **optional}

    def write(layout: Any) -> Pairs:
        given = {name: getattr(layout, field.name) for name, field in zip(names, fields(kind))}
        return {name: value for name, value in given.items() if name not in left_out or value != left_out[name]}

    def read(p: Pairs) -> Any:
        def value(name: str) -> Any:
            if name == "CGALayout":
                return _read_cga(p)
            return p.get(name, left_out[name]) if name in left_out else p[name]

        return kind(*map(value, names))

    return Form(kind, write, read, braces)


def _wmma_tile(x: AMDWMMALayout) -> Pairs:
    said = x.rank == 2 or x.reg_bases or x.warp_bases or x.cga_layout
    what = "the text of an AMDWMMALayout of rank 3 without bases, of which Triton prints no rank"
    fix = "give it reg_bases, warp_bases or cga_layout"
    tiles.require("to_text", bool(said), what, "a basis of registers, warps or blocks", fix)
    return {**({"register": x.reg_bases} if x.reg_bases else {}), **({"warp": x.warp_bases} if x.warp_bases else {})}


def _read_wmma(p: Pairs) -> AMDWMMALayout:
    tile = p["ctaLayout"]
    bases = [*tile.get("register", ()), *tile.get("warp", ()), *p.get("CGALayout", ())]
    rank = len(bases[0]) if bases else 2
    warps, registers, shape = tile.get("warp", ()), tile.get("register"), p.get("instrShape")
    return AMDWMMALayout(p["version"], p["isTranspose"], warps, registers, shape, _read_cga(p), rank)


def _read_slice(p: Pairs) -> SliceLayout:
    """A slice; the third dimension of WMMA's layout without bases, whose text says no rank, says that it has three."""
    dim, parent = p["dim"], p["parent"]
    return SliceLayout(dim, with_rank(parent, 3) if dim == 2 else parent)


def with_rank(layout: object, rank: int) -> Any:
    """A layout as a text has it with the rank that its tensor says: only WMMA's without bases leaves it open."""
    if isinstance(layout, AMDWMMALayout) and rank == 3:
        return layout if layout.reg_bases or layout.warp_bases or layout.cga_layout else replace(layout, rank=rank)
    if isinstance(layout, DotOperandLayout):
        return replace(layout, parent=with_rank(layout.parent, rank))
    return replace(layout, parent=with_rank(layout.parent, rank + 1)) if isinstance(layout, SliceLayout) else layout


def _least_shape(vectors: Sequence[Sequence[int]]) -> list[int]:
    return tiles.least_shape(vectors, len(vectors[0]) if vectors else 1)


def _read_linear(p: Pairs) -> DistributedLinearLayout:
    register, lane, warp, block = (p.get(name, ()) for name in ("register", "lane", "warp", "block"))
    return DistributedLinearLayout(register, lane, warp, block, _least_shape([*register, *lane, *warp, *block]))


def _padded_parts(x: PaddedSharedLayout) -> Pairs:
    """Offsets in an order of the dimensions, where they are; else their bases."""
    order = [*dict.fromkeys(next((k for k, n in enumerate(v) if n), 0) for v in x.offset_bases)]
    order += [d for d in tiles.matrix_order(x.rank) if d not in order]
    in_order = PaddedSharedLayout.with_identity_for(x.interval_padding_pairs, x.shape, order, x.cga_layout)
    if x == in_order and not x.cga_layout:
        return {"order": order, "shape": x.shape}
    return {"offset": x.offset_bases, "block": x.linear(x.shape).bases["block"]}


def _read_padded(p: Pairs) -> PaddedSharedLayout:
    pairs = p["padding"]
    if "order" in p:
        return PaddedSharedLayout.with_identity_for(pairs, p["shape"], p["order"], _read_cga(p))
    block = p.get("block", ())
    part = _least_shape(p["offset"])
    cga = [[x // n for x, n in zip(v, part)] for v in block]
    return PaddedSharedLayout(pairs, p["offset"], cga, _least_shape([*p["offset"], *block]))


FORMS: dict[str, Form] = {
    "ttg.blocked": _of_fields(BlockedLayout, "sizePerThread threadsPerWarp warpsPerCTA order CGALayout"),
    "ttg.linear": Form(
        DistributedLinearLayout,
        lambda x: {"register": x.reg_bases, "lane": x.lane_bases, "warp": x.warp_bases, "block": x.block_bases},
        _read_linear,
    ),
    "ttg.slice": Form(SliceLayout, lambda x: {"dim": x.dim, "parent": x.parent}, _read_slice),
    "ttg.dot_op": _of_fields(DotOperandLayout, "opIdx parent kWidth", kWidth=0),
    "ttg.nvidia_mma": Form(
        NVMMADistributedLayout,
        lambda x: {
            "versionMajor": x.version[0],
            "versionMinor": x.version[1],
            "warpsPerCTA": x.warps_per_cta,
            **_cga(x),
            "instrShape": x.instr_shape,
        },
        lambda p: NVMMADistributedLayout(
            [p["versionMajor"], p.get("versionMinor", 0)], p["warpsPerCTA"], p["instrShape"], _read_cga(p)
        ),
    ),
    "ttg.amd_mfma": Form(
        AMDMFMALayout,
        lambda x: {
            "version": x.version,
            "warpsPerCTA": x.warps_per_cta,
            "instrShape": x.instr_shape,
            "isTransposed": x.transposed,
            **_cga(x),
            **_unless(x.tiles_per_warp, (1,) * x.rank, "tilesPerWarp"),
            **_unless(x.element_bitwidth, 32, "elementBitWidth"),
        },
        lambda p: AMDMFMALayout(
            p["version"],
            p["instrShape"],
            p["isTransposed"],
            p["warpsPerCTA"],
            p.get("elementBitWidth"),
            p.get("tilesPerWarp"),
            _read_cga(p),
        ),
    ),
    "ttg.amd_wmma": Form(
        AMDWMMALayout,
        lambda x: {
            "version": x.version,
            "isTranspose": x.transposed,
            "ctaLayout": _wmma_tile(x),
            **_cga(x),
            **_unless(x.instr_shape, (16, 16, 16), "instrShape"),
        },
        _read_wmma,
    ),
    "ttg.swizzled_shared": _of_fields(SwizzledSharedLayout, "vec perPhase maxPhase order CGALayout"),
    "ttg.amd_rotating_shared": _of_fields(AMDRotatingSharedLayout, "vec perPhase maxPhase order CGALayout"),
    "ttg.partitioned_shared": _of_fields(
        PartitionedSharedLayout, "numPartitions numGroups partitionDim partitionLayout"
    ),
    "ttg.nvmma_shared": Form(
        NVMMASharedLayout,
        lambda x: {
            "swizzlingByteWidth": x.swizzle_byte_width,
            "transposed": x.transposed,
            "elementBitWidth": x.element_bitwidth,
            **_unless(x.fp4_padded, False, "fp4Padded"),
            **_cga(x),
            **({} if x.cga_layout else _unless(x.rank, 2, "rank")),  # the bases of blocks say the rank too
        },
        lambda p: NVMMASharedLayout(
            p["swizzlingByteWidth"],
            p["elementBitWidth"],
            p.get("rank", len(_read_cga(p)[0]) if _read_cga(p) else 2),
            p["transposed"],
            p.get("fp4Padded", False),
            _read_cga(p),
        ),
    ),
    "ttg.shared_linear": Form(
        SharedLinearLayout,
        lambda x: {"offset": x.offset_bases, **({"block": x.block_bases} if x.block_bases else {})},
        lambda p: SharedLinearLayout(p["offset"], p.get("block", ()), p.get("alignment", 16)),
    ),
    "ttg.padded_shared": Form(PaddedSharedLayout, _padded_parts, _read_padded),
    "ttng.tensor_memory_encoding": Form(
        TensorMemoryLayout,
        lambda x: {
            "blockM": x.block[0],
            "blockN": x.block[1],
            "colStride": x.col_stride,
            **_cga(x),
            **_unless(x.two_ctas, False, "twoCTAs"),
            **_unless(x.fp4_padded, False, "fp4Padded"),
        },
        lambda p: TensorMemoryLayout(
            (p["blockM"], p["blockN"]), p["colStride"], _read_cga(p), p.get("twoCTAs", False), p.get("fp4Padded", False)
        ),
        braces=False,
    ),
    "ttng.tensor_memory_scales_encoding": _of_fields(
        TensorMemoryScalesLayout, "CGALayout blockRepOrder", braces=False, blockRepOrder=MN_THEN_K
    ),
}
