"""Transfers: the instructions that move a tile from one position to another, planned from the two layouts and proved.

A path is a row of a table: two positions, the tags that source and destination have there, and the plan. A plan reads the
strides of both layouts as CATLASS's TileCopyTla does. What it gives is then executed, as the pairs of layouts that the
instructions are, and compared with the copy of the valid elements: what moves anything else is refused.

Source: CATLASS include/catlass/gemm/tile/atlasa2, TileCopyTla and CopyL0CToGmTla.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from ..algebra.codomain import cosize
from ..core.element import Element
from ..core.errors import LeafTypeError, RangeError, Reason, Unproven
from ..core.int_tuple import leaves, modes_of, shown
from ..core.ints import known
from ..core.layout import Layout, require_origin
from ..tensors.tensor import Tensor
from . import tags
from .architecture import Architecture, AtlasA2, as_architecture, position_of
from .element import as_element
from .instructions import FRACTAL_BITS, TransferInstruction
from .recognize import Is
from .tags import Tag

#: Strides of this many elements, or blocks, and more do not go into one instruction: CATLASS moves row by row then.
STRIDE_LIMIT = 65536


class Transfer(tuple[TransferInstruction, ...]):
    """The instructions of one transfer, a tuple in order. `str()` is their text in AscendC.

    >>> from tla import MakeLayout, MakeTensor
    >>> from tla.ascend import half, nZ, transfer
    >>> print(transfer(*(MakeTensor(None, MakeLayout[half, nZ](32, 32), position=place) for place in ("L1", "L0B"))))
    AscendC::LoadData(dst[0], src[0], AscendC::LoadData2DParams{.repeatTimes = 4, .srcStride = 1, .dstGap = 0, .ifTranspose = 0});

    Source: AscendC.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(i.text for i in self)


class Side(NamedTuple):
    """One end of a transfer in plain integers.

    layout   its layout;  start  the coordinate that the tile begins at;  valid  how much of each mode is valid from there on
    at       the offset of the first element;  element  the element type
    """

    layout: Layout
    start: tuple[int, ...]
    valid: tuple[int, ...]
    at: int
    element: Element

    def inner(self, mode: int) -> int:
        """The stride inside the blocks of a mode."""
        return int(next(leaves(modes_of(self.layout.stride)[mode])))

    def outer(self, mode: int) -> int:
        """The stride between the blocks of a mode."""
        return int([*leaves(modes_of(self.layout.stride)[mode])][-1])

    def blocks(self, mode: int) -> int:
        """The number of blocks of a mode that hold what is valid."""
        return -(-self.valid[mode] // int(next(leaves(modes_of(self.layout.shape)[mode]))))

    def offsets(self, sizes: tuple[int, ...]) -> Any:
        """The offsets of a box of coordinates from the start on, in numpy."""
        import numpy as np

        grid = np.ogrid[tuple(slice(s, s + n) for s, n in zip(self.start, sizes))]
        return self.at - int(self.layout(self.start)) + np.broadcast_to(self.layout(*grid), sizes)


def transfer(src: Tensor, dst: Tensor, arch: Any = AtlasA2, *, element: Any = None) -> Transfer:
    """The instructions that copy the valid elements of `src` to `dst`, as CATLASS chooses them.

    src, dst   tensors with positions (GM, L1, L0A, L0B, L0C, UB) and sizes that are known; a larger dst has its corner filled
    arch       AtlasA2, AtlasA3, or a name
    element    the element type, where no buffer and no block of 32 bytes tells it; of dst, as L0C holds 32 bits
    Returns    Transfer: instructions with `name`, `dst`, `src` [elements] and `parameters`
    Raises     LeafTypeError for positions, tags or types that no instruction joins; RangeError for what does not fit a field, a
               buffer or its alignment; Unproven for sizes that are not known, and for instructions that would move other
               elements than `copy`

    >>> from tla import GetTile, MakeLayout, MakeTensor
    >>> from tla.ascend import RowMajor, half, transfer, zN
    >>> a = GetTile(MakeTensor(None, MakeLayout[half, zN](576, 270), position="GM"), (400, 16), (23, 139))
    >>> b = MakeTensor(None, MakeLayout[half, zN](128, 256), position="L1")
    >>> print(*transfer(a, b))
    DataCopy(dst=0, src=15616, blockCount=9, blockLen=23, srcStride=553, dstStride=105)
    >>> c = GetTile(MakeTensor(None, MakeLayout[half, RowMajor](449, 73, ld=105), position="GM"), (130, 24), (42, 46))
    >>> print([(i.name, i.src, i.parameters["nValue"], i.parameters["srcDValue"]) for i in transfer(c, b)])
    [('Nd2Nz', 13674, 42, 105)]

    Law: executed one after another, the instructions do to the valid elements what `copy(src, dst)` does, and write nothing
    else but the padding of the last blocks in a core's buffer.
    Source: CATLASS `TileCopyTla`, `CopyL0CToGmTla`.
    """
    arch = as_architecture(arch)
    if arch.name not in ("AtlasA2", "AtlasA3"):
        raise LeafTypeError(f"transfers of {arch}", "AtlasA2 or AtlasA3", "its instructions have other fields; plan it for AtlasA2")
    ends = tuple(_position("transfer", t) for t in (src, dst))
    paths = [p for p in PATHS if (p.src, p.dst) == ends]
    if not paths:
        reached = sorted({p.dst for p in PATHS if p.src == ends[0]})
        raise LeafTypeError(f"a transfer from {ends[0]} to {ends[1]}", f"{ends[0]} to {' or '.join(reached) or 'nowhere'}", _detour(*ends))
    width = _element(src, dst, element)
    path = _matching(paths, src.layout, dst.layout, width)
    a, b = _side(src, width), _side(dst, width)
    _require_room(path, dst, a.valid, b.valid)
    if 0 in a.valid or 0 in b.valid:
        return Transfer()
    made = Transfer(path.plan(a, b))
    _require_lawful(made, path, a, b, arch)
    return made


def _position(where: str, t: Any) -> str:
    if not isinstance(t, Tensor):
        raise LeafTypeError(f"{where} of a {type(t).__name__}", "a tensor with a position", "write MakeTensor(None, layout, position='L1')")
    return position_of(t.position)


def _detour(a: str, b: str) -> str:
    """A way over one position between, if there is one."""
    ways = [p.dst for p in PATHS if p.src == a and any(q.src == p.dst and q.dst == b for q in PATHS)]
    return f"go over {ways[0]}" if ways else "take positions that an instruction joins"


def _element(src: Tensor, dst: Tensor, given: Any) -> Element:
    """The element type of dst: given, or as wide as the elements of its buffer, or told by a block of 32 bytes."""
    if given is not None:
        return as_element(given)
    for t in (dst, src) if src.position != "L0C" else (dst,):
        if t.data is not None:
            return as_element(8 * t.dtype.itemsize)
    for layout in (dst.layout, src.layout):
        for bits in (8, 16, 32, 4):
            if any(Is(tag)[bits](layout) for tag in (tags.zN, tags.nZ, tags.zZ)):
                return as_element(bits)
    if position_of(src.position) == "L0C":
        return as_element(32)
    raise LeafTypeError(f"a transfer from {src!r} to {dst!r}", "an element type", "write transfer(..., element=half)")


def _side(t: Tensor, element: Element) -> Side:
    numbers = [known(n) for n in (*t.coord, *t.origin_shape, t.offset, *leaves(t.layout.shape), *leaves(t.layout.stride))]
    if None in numbers:
        raise Unproven(f"a transfer of {t!r}", "sizes that are known", "give its symbols values: at(x, M=128)")
    start, valid = tuple(map(int, t.coord)), tuple(map(int, t.origin_shape))
    return Side(t.layout, start, valid, int(t.offset) + int(t.layout(start)), element)


def _require_room(path: Path, dst: Tensor, src_valid: tuple[int, ...], dst_valid: tuple[int, ...]) -> None:
    """Into L1 and UB goes what is valid of the source; everywhere else what is valid of the destination."""
    if path.src == "GM" and any(int(m) < n for m, n in zip(dst._room, src_valid)):
        what = f"{shown(src_valid)} valid elements into a tile of {shown(dst._room)}"
        raise RangeError(what, "a tile that holds them", "take GetTile of src")
    if path.src != "GM" and any(m < n for m, n in zip(src_valid, dst_valid)):
        what = f"a tile of {shown(dst_valid)} elements from one with {shown(src_valid)} valid"
        raise RangeError(what, "as many valid elements in src", "take GetTile of dst")


# ------------------------------------------------------------------------------------------------------- the plans


def _nd_to_nz(rows: int) -> Plan:
    """Rows of a plain matrix into blocks of C0; `rows` is the mode that counts them."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        c0, n, step = int(src.element.C0), src.valid[rows], src.outer(rows)
        fields = {"ndNum": 1, "nValue": n, "dValue": src.valid[1 - rows], "srcNdMatrixStride": 0, "srcDValue": step}
        fields |= {"dstNzC0Stride": dst.outer(1 - rows) // c0, "dstNzNStride": dst.inner(rows) // c0, "dstNzMatrixStride": 0}
        if step < STRIDE_LIMIT:
            yield TransferInstruction("Nd2Nz", dst.at, src.at, fields, src.element)
            return
        for i in range(n):
            yield TransferInstruction(
                "Nd2Nz", dst.at + i * c0, src.at + i * step, {**fields, "nValue": 1, "srcDValue": 0, "dstNzNStride": 0}, src.element
            )

    return plan


def _nz_to_nz(rows: int) -> Plan:
    """Columns of blocks, each a burst."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        c0, length, count = int(src.element.C0), src.valid[rows], src.blocks(1 - rows)
        a, b = src.outer(1 - rows), dst.outer(1 - rows)
        if a // c0 <= STRIDE_LIMIT:
            gaps = {"srcStride": (a // c0 - length) % STRIDE_LIMIT, "dstStride": (b // c0 - length) % STRIDE_LIMIT}
            yield TransferInstruction("DataCopy", dst.at, src.at, {"blockCount": count, "blockLen": length, **gaps}, src.element)
            return
        for i in range(count):
            fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
            yield TransferInstruction("DataCopy", dst.at + i * b, src.at + i * a, fields, src.element)

    return plan


def _fractals(transposes: bool) -> Plan:
    """Fractals, a row of blocks after another; all at once where both lie alike."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        size = FRACTAL_BITS // src.element.bits
        down, across = dst.blocks(0), dst.blocks(1)
        fields = {"repeatTimes": across, "srcStride": src.outer(1) // size, "dstGap": 0, "ifTranspose": int(transposes)}
        alike = not transposes and dst.outer(1) == src.outer(1) == size and src.outer(0) == dst.outer(0)
        if alike:
            yield TransferInstruction("LoadData2D", dst.at, src.at, {**fields, "repeatTimes": down * across}, src.element)
            return
        for i in range(down):
            yield TransferInstruction("LoadData2D", dst.at + i * dst.outer(0), src.at + i * src.outer(0), fields, src.element)

    return plan


def _bytes_to_l0a(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Squares of 32 by 32 bytes, transposed: nZ to zZ."""
    across = dst.blocks(1)
    fields = {"repeatTimes": across, "srcStride": 1, "dstGap": 0, "dstFracGap": across - 1}
    for i in range(src.blocks(0)):
        yield TransferInstruction("LoadData2DTranspose", dst.at + i * dst.outer(0) * 2, src.at + i * src.outer(0), fields, src.element)


def _bytes_to_l0b(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Squares of 32 by 32 bytes, transposed: zN to nZ."""
    stride = src.outer(1) // (FRACTAL_BITS // src.element.bits) // 2
    fields = {"repeatTimes": src.blocks(1), "srcStride": stride, "dstGap": 1, "dstFracGap": 0}
    for i in range(dst.blocks(0)):
        yield TransferInstruction("LoadData2DTranspose", dst.at + i * dst.outer(0), src.at + i * src.outer(0) * 2, fields, src.element)


def _words(points: int, align: int, transposes: bool, to_b: bool) -> Plan:
    """Elements of 32 bits by im2col; `points` is the mode that counts the points of the image."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        up = [-(-n // align) * align for n in dst.valid]
        width = src.outer(1 - points) // int(src.element.C0)
        fields = {"mExtension": up[points], "kExtension": up[1 - points], "channelSize": up[1 - points], "l1W": width}
        fields |= {"enTranspose": int(transposes), "fMatrixCtrl": int(to_b)}
        yield TransferInstruction("LoadData3D", dst.at, src.at, fields, src.element)

    return plan


def _out_of_l0c(form: str) -> Plan:
    """An accumulator to global memory; float to blocks of C0 splits the channels."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        rows = form == "CFG_ROW_MAJOR"
        step = dst.outer(0) if rows else dst.outer(1) // int(dst.element.C0)
        fields = {"nSize": dst.valid[1], "mSize": dst.valid[0], "srcStride": src.outer(1) // src.inner(0), "dstStride": step}
        split = int(not rows and dst.element.bits == 32)
        yield TransferInstruction("Fixpipe", dst.at, src.at, {**fields, "channelSplit": split}, dst.element, form)

    return plan


def _rows(form: str) -> Plan:
    """Rows of bytes between global memory and UB."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        valid = src.valid if form == "to UB" else dst.valid
        size = src.element.bits // 8
        gaps = {"srcStride": src.outer(0) - valid[1], "dstStride": dst.outer(0) - valid[1]}
        inside = "dstStride" if form == "to UB" else "srcStride"
        fields = {"blockCount": valid[0], "blockLen": valid[1] * size}
        fields |= {gap: n * size // 32 if gap == inside else n * size for gap, n in gaps.items()}
        yield TransferInstruction("DataCopyPad", dst.at, src.at, fields, src.element, form)

    return plan


Plan = Callable[[Side, Side], Iterator[TransferInstruction]]


class Path(NamedTuple):
    """A way between two positions: the tags that the layouts have there, the widths that it takes, and the plan."""

    src: str
    dst: str
    src_tag: Tag
    dst_tag: Tag
    plan: Plan
    bits: tuple[int, ...] = (4, 8, 16, 32)


PATHS = (
    Path("GM", "L1", tags.RowMajor, tags.zN, _nd_to_nz(0)),
    Path("GM", "L1", tags.ColumnMajor, tags.nZ, _nd_to_nz(1)),
    Path("GM", "L1", tags.zN, tags.zN, _nz_to_nz(0)),
    Path("GM", "L1", tags.nZ, tags.nZ, _nz_to_nz(1)),
    Path("L1", "L0A", tags.zN, tags.zZ, _fractals(transposes=False), (4, 8, 16)),
    Path("L1", "L0A", tags.zN, tags.zZ, _words(0, 8, transposes=False, to_b=False), (32,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, _fractals(transposes=True), (16,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, _bytes_to_l0a, (8,)),
    Path("L1", "L0A", tags.nZ, tags.zZ, _words(1, 16, transposes=True, to_b=False), (32,)),
    Path("L1", "L0B", tags.nZ, tags.nZ, _fractals(transposes=False)),
    Path("L1", "L0B", tags.zN, tags.nZ, _fractals(transposes=True), (16,)),
    Path("L1", "L0B", tags.zN, tags.nZ, _bytes_to_l0b, (8,)),
    Path("L1", "L0B", tags.zN, tags.nZ, _words(0, 16, transposes=True, to_b=True), (32,)),
    Path("L0C", "GM", tags.L0C, tags.RowMajor, _out_of_l0c("CFG_ROW_MAJOR")),
    Path("L0C", "GM", tags.L0C, tags.zN, _out_of_l0c("CFG_NZ")),
    Path("GM", "UB", tags.RowMajor, tags.RowMajor, _rows("to UB"), (8, 16, 32)),
    Path("UB", "GM", tags.RowMajor, tags.RowMajor, _rows("to GM"), (8, 16, 32)),
)


def _matching(paths: list[Path], src: Layout, dst: Layout, element: Element) -> Path:
    """The first path whose tags the two layouts have."""
    reasons = []
    for path in paths:
        why = None if element.bits in path.bits else f"elements of {element.bits} bits take another way"
        why = why or _why_not(path.src_tag, src, element) or _why_not(path.dst_tag, dst, element)
        if why is None:
            return path
        reasons.append(f"{path.src_tag} to {path.dst_tag}: {why}")
    ends = f"{paths[0].src} to {paths[0].dst}"
    raise LeafTypeError(
        f"a transfer of {element} from {ends}: {'; '.join(reasons)}", _tag_pairs(paths, element), "make the layouts with these tags"
    )


def _why_not(tag: Tag, layout: Layout, element: Element) -> str | None:
    """The reason that a layout has not the tag; None if it has."""
    why = Is(tag)[element].why_not(layout)
    return why.what if why else None


def _tag_pairs(paths: list[Path], element: Element) -> str:
    pairs = [f"{p.src_tag} to {p.dst_tag}" for p in paths if element.bits in p.bits]
    return ", or ".join(pairs) or f"elements of {' or '.join(map(str, sorted({b for p in paths for b in p.bits})))} bits"


# ------------------------------------------------------------------------------------------------------- the proof


def _require_lawful(made: Transfer, path: Path, src: Side, dst: Side, arch: Architecture) -> None:
    """Require that the fields hold their values, the tiles lie in their buffers on whole units, and exactly the valid elements move."""
    for instruction in made:
        instruction.require_fields()
    for place, side in ((path.src, src), (path.dst, dst)):
        bits = 32 if place == "L0C" else side.element.bits
        if place in arch.sizes and int(cosize(side.layout)) * bits > arch.sizes[place] * 8:
            what = f"{cosize(side.layout)} elements of {bits} bits in {place}"
            raise RangeError(what, f"at most {arch.sizes[place]} bytes on {arch}", "take a smaller tile")
        if side.at * bits % (arch.alignment[place] * 8):
            what = f"a tile at element {side.at} of {place}, byte {side.at * bits // 8}"
            raise RangeError(what, f"a multiple of {arch.alignment[place]} bytes", "begin the tile at a whole block of its layout")
    reason = _difference(made, path, src, dst)
    if reason:
        raise Unproven(*reason)


def _difference(made: Transfer, path: Path, src: Side, dst: Side) -> Reason | None:
    """The difference between the instructions and `copy`; None if they do the same."""
    import numpy as np

    sizes = dst.valid if path.src != "GM" else src.valid
    wanted = {"dst": dst.offsets(sizes).ravel(), "src": src.offsets(sizes).ravel()}
    moved = [_executed(i) for i in made]
    to, begin = (np.concatenate(parts) for parts in zip(*moved))
    order = np.argsort(to, kind="stable")
    to, begin = to[order], begin[order]
    at = np.searchsorted(to, wanted["dst"])
    found = at < to.size
    found[found] = to[at[found]] == wanted["dst"][found]
    fix = "begin tiles at whole blocks, and take blocks that the instruction moves whole"
    if not found.all() or (begin[at] != wanted["src"]).any():
        i = int(np.flatnonzero(~found | (begin[np.minimum(at, to.size - 1)] != wanted["src"]))[0])
        coord = shown(tuple(map(int, np.unravel_index(i, sizes))))
        return Reason(
            f"{made[0].name}: element {coord} of the tile is not moved to its place",
            f"src[{wanted['src'][i]}] in dst[{wanted['dst'][i]}]",
            fix,
        )
    extra = np.setdiff1d(to, wanted["dst"])
    padding = np.setdiff1d(extra, _padded(dst, sizes)) if path.dst != "GM" else extra
    if padding.size:
        return Reason(f"{made[0].name}: it writes dst[{padding[0]}] too, which is no part of the tile", "only the tile", fix)
    return None


def _executed(instruction: TransferInstruction) -> tuple[Any, Any]:
    """The offsets that an instruction writes, and those that it reads for them."""
    import numpy as np

    dst, src = instruction.moved
    sizes = tuple(map(int, require_origin("an instruction", dst)))
    grid = np.ogrid[tuple(slice(n) for n in sizes)]
    return tuple(at + np.broadcast_to(side(*grid), sizes).ravel() for at, side in ((instruction.dst, dst), (instruction.src, src)))  # type: ignore[return-value]


def _padded(side: Side, sizes: tuple[int, ...]) -> Any:
    """The offsets of the tile with its last blocks whole."""
    blocks = [int(next(leaves(m))) if isinstance(m, tuple) else 1 for m in modes_of(side.layout.shape)]
    return side.offsets(tuple(-(-n // b) * b for n, b in zip(sizes, blocks))).ravel()
