"""The proof of a transfer: its instructions, executed as the pairs of layouts that they are, against the copy of the
valid elements.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...algebra.codomain import cosize
from ...core.errors import RangeError, Reason, Unproven
from ...core.int_tuple import product_each, shown
from ...core.layout import require_origin
from ...core.leaf_arithmetic import plus
from ...core.questions import require
from ...tensors.tensor import Tensor
from ..architecture import Architecture
from .instruction import TransferInstruction
from .moved import ROWS
from .paths import BY_SOURCE
from .side import Side, offsets_in, plain

if TYPE_CHECKING:
    import numpy.typing as npt

Instructions = Sequence[TransferInstruction]
_FIX = "begin tiles at whole blocks, and take blocks that the instruction moves whole"
_L0 = ("L0A", "L0B")


def require_lawful(
    made: Instructions,
    ends: tuple[str, str],
    src: Side,
    dst: Side,
    arch: Architecture,
    wanted: npt.NDArray[Any] | None = None,
) -> tuple[int, int]:
    """Require that exactly the valid elements move.

    wanted    where each element of dst comes from, in numpy, and -1 for a zero; by default where src has it
    Returns   how many bytes behind the tile are written, where the last units of a core's buffer reach past it; and how
              many are read behind the tensor that src is, or is a tile of
    """
    sizes = src.valid if ends in BY_SOURCE else dst.valid
    wanted = src.offsets(sizes) if wanted is None else wanted
    moves = [executed(i) for i in made]
    reason = _twice(moves) or _difference(*_in_order(moves), sizes, wanted, dst, _padded(ends[1], dst, sizes, arch))
    if reason:
        raise Unproven(f"{made[0].name}: {reason.what}", reason.expected, _advice(ends[1], src, dst, sizes))
    written, read = (max(int(side.max()) for side in sides) + 1 for sides in zip(*moves))
    behind = max(0, read - src.end) * bits_in(ends[0], src) // 8
    return 0 if ends[1] == "GM" else _beyond(written, ends[1], dst, arch), behind


def _beyond(end: int, place: str, dst: Side, arch: Architecture) -> int:
    """The number of bytes written behind the tile, up to the offset `end`; RangeError where the buffer ends before."""
    own = int(dst.offsets(dst.room).flat[-1]) + 1
    bits = dst.element.bits
    if end * bits > arch.sizes[place] * 8:  # the tile itself lies inside
        what = f"{(end - own) * bits // 8} bytes written behind a tile that fills {place}"
        raise RangeError(what, "room for its last units", "take a smaller tile")
    return max(0, end - own) * bits // 8


def bits_in(place: str, side: Side) -> int:
    """The bits of an element at a position: an accumulator has 32."""
    return 32 if place == "L0C" else side.element.bits


def aligned_to(place: str, side: Side, arch: Architecture) -> int:
    """The number of elements that a start at a position is a multiple of."""
    return max(1, arch.alignment[place] * 8 // bits_in(place, side))


def require_place(place: str, side: Side, arch: Architecture) -> None:
    """Require that a tile lies in its buffer, from a whole unit on."""
    bits, unit = bits_in(place, side), aligned_to(place, side, arch)
    if place in arch.sizes:
        _require_inside(place, side, arch.sizes[place] * 8 // bits, f"at most {arch.sizes[place]} bytes on {arch}")
    expected = f"a multiple of {arch.alignment[place]} bytes"
    if not require("divides", unit, side.at, lambda: f"a tile at element {side.at} of {place}, {expected}"):
        what = f"a tile at element {side.at} of {place}, byte {side.at * bits // 8}"
        near = " or ".join(f"({','.join(map(str, start))})" for start in _aligned_starts(side, unit))
        fix = f"begin the tile at {near}" if near else "begin the tile at a whole block of its layout"
        raise RangeError(what, expected, fix)


def _require_inside(place: str, side: Side, most: int, expected: str) -> None:
    """Require that a layout takes at most so many elements, and that its tile ends before as many."""
    if not require("<=", cosize(side.layout), most, lambda: f"a tile in {place}, padding included"):
        fix = f"take a tile of at most {most} elements, padding included{_fitting(side, most)}"
        raise RangeError(f"{cosize(side.layout)} elements of {bits_in(place, side)} bits in {place}", expected, fix)
    over = side.base + plain(side.layout(tuple(s + n - 1 for s, n in zip(side.start, side.room)))) + 1 - most
    if not require("<=", over, 0, lambda: f"the end of a tile in {place}"):
        fix = f"give the tensor an offset that is {over} elements less, or begin its tile earlier"
        raise RangeError(f"a tile that ends {over} elements behind the end of {place}", expected, fix)


def _fitting(side: Side, most: int) -> str:
    """The extents of a tile of so many elements at most, shorter along the first mode that can be in whole blocks."""
    if side.symbols:
        return ""
    sizes, total = tuple(map(int, product_each(side.layout.shape))), int(cosize(side.layout))
    for mode, n in enumerate(sizes):
        block = side.block(mode)
        if fitting := n // block * most // total * block:
            return f": {shown((*sizes[:mode], fitting, *sizes[mode + 1 :]))}"
    return ""


def _aligned_starts(side: Side, unit: int) -> list[tuple[int, ...]]:
    """The starts before and after a tile's that lie at whole blocks, or at whole units of a row, and so in memory."""
    steps = [side.unit(i, unit) for i in range(len(side.start))]
    before = tuple(s // n * n for s, n in zip(side.start, steps))
    after = tuple(-(-s // n) * n for s, n in zip(side.start, steps))
    ends = [s + n for s, n in zip(side.start, side.room)]
    found = (c for c in (before, after) if all(i < n for i, n in zip(c, ends)))
    return [*dict.fromkeys(c for c in found if (side.base + int(side.layout(c))) % unit == 0)]


def _advice(place: str, src: Side, dst: Side, sizes: tuple[int, ...]) -> str:
    """The advice for a tile that is not moved as it is: rows of whole bytes; into L0 the next size in whole squares."""
    if src.element.bits == 4 and any(src.outer(i) % 2 and src.outer(i) != 1 for i in range(len(src.valid))):
        return "make rows, or columns, of an even number of elements: MakeLayout[...](..., ld=...)"
    square = max(ROWS, int(dst.element.C0))
    whole = tuple(-(-n // square) * square for n in sizes)
    return f"{_FIX}: {shown(whole)}" if place in _L0 and whole != sizes else _FIX


def _padded(place: str, dst: Side, sizes: tuple[int, ...], arch: Architecture) -> tuple[int, ...] | None:
    """The extent in which a transfer may write a core's buffer: whole blocks, squares in L0, units of a vector. None in
    global memory."""
    if place == "GM":
        return None
    whole = dst.padded(sizes)
    if place in _L0:
        square = max(ROWS, int(dst.element.C0))
        whole = tuple(-(-n // square) * square for n in whole)
    elif all(dst.block(i) == 1 for i in range(len(whole))):
        unit = arch.alignment[place] * 8 // dst.element.bits
        whole = tuple(-(-n // unit) * unit if i == dst.along else n for i, n in enumerate(whole))
    return tuple(map(max, dst.room, whole)) if sizes == dst.valid else whole


def require_apart(made: Instructions, src: Tensor, dst: Tensor) -> None:
    """Require that instructions inside of one memory read nothing that they write: in which order they do, no manual says.

    Tensors without arrays are taken to lie apart.
    """
    import numpy as np

    if not all(isinstance(t.data, np.ndarray) for t in (src, dst)):
        return
    moves = [executed(i) for i in made]
    bytes_ = (
        np.concatenate([side[k] for side in moves]) * t.data.itemsize + t.data.ctypes.data
        for k, t in enumerate((dst, src))
    )
    if np.intersect1d(*bytes_).size:
        what = f"a transfer inside of UB that reads what it writes: {made[0]}"
        raise Unproven(what, "a source and a destination apart", "move it to another buffer")


def _twice(moves: list[tuple[Any, Any]]) -> Reason | None:
    """The first place that one instruction writes twice, or None: which of the two stays, no manual says."""
    import numpy as np

    for written, _ in moves:
        to = np.sort(written)
        twice = to[1:][to[1:] == to[:-1]]
        if twice.size:
            return Reason(f"it writes dst[{twice[0]}] twice, in an order that is not said", "each place once", _FIX)
    return None


def _in_order(moves: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The offsets that all instructions write, in order, and those read for them: of each the last writer's."""
    import numpy as np

    to, begin = (np.concatenate(parts)[::-1] for parts in zip(*moves))
    to, last = np.unique(to, return_index=True)
    return to, begin[last]


def _difference(
    to: npt.NDArray[Any],
    begin: npt.NDArray[Any],
    sizes: tuple[int, ...],
    source: Any,
    dst: Side,
    padded: tuple[int, ...] | None,
) -> Reason | None:
    """The first element that moves other than in the copy: to[i] is written from begin[i], sorted; None if none."""
    import numpy as np

    target, source = dst.offsets(sizes).ravel(), source.ravel()
    at = np.minimum(np.searchsorted(to, target), to.size - 1)
    wrong = (to[at] != target) | (begin[at] != source)
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        coord = shown(tuple(map(int, np.unravel_index(i, sizes))))
        place = f"src[{source[i]}]" if source[i] >= 0 else "a zero of the border"
        return Reason(f"element {coord} of the tile is not moved to its place", f"{place} in dst[{target[i]}]", _FIX)
    extra = np.setdiff1d(to, target, assume_unique=True)
    padding = extra if padded is None else np.setdiff1d(extra, dst.offsets(padded).ravel())
    if padding.size:
        return Reason(f"it writes dst[{padding[0]}] too, which is no part of the tile", "only the tile", _FIX)
    return None


def executed(instruction: TransferInstruction) -> tuple[Any, Any]:
    """The offsets that an instruction writes, and those that it reads for them; -1 for a zero of a border."""
    import numpy as np

    dst, src, begin, edges = instruction.moved
    sizes = tuple(map(int, require_origin("an instruction", dst)))
    to, read = (offsets_in(side, sizes) for side in (dst, src))
    read = plus(instruction.src + begin, read)
    for edge in edges:
        place = plus(offsets_in(edge.at, sizes), edge.begin)
        read = np.where((place < 0) | (place >= edge.limit), -1, read)
    return plus(instruction.dst, to).ravel(), read.ravel()
