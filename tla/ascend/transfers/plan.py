"""Transfers: the instructions that move a tile from one position to another, planned from the two layouts and proved.

A path is a row of a table: two positions, the tags that source and destination have there, and the plan. A plan reads
the strides of both layouts as CATLASS's TileCopyTla does. What it gives is then executed, as the pairs of layouts that
the instructions are, and compared with the copy of the valid elements: what moves anything else is refused.

Source: CATLASS include/catlass/gemm/tile, TileCopyTla and CopyL0CToGmTla.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ...algebra.modes import group
from ...core import element as types
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Reason, Unproven, require_type
from ...core.int_tuple import quoted, rank, shown
from ...core.layout import Layout
from ...core.leaf_arithmetic import smaller
from ...core.questions import require
from ...tensors.tensor import Tensor
from .. import tags
from ..architecture import Architecture, AtlasA2, as_architecture, position_of
from ..element import as_element, element_of
from ..recognize import Is
from ..tags import Tag
from .convolution import Conv2d
from .cube import Plan
from .digits import Given
from .fixpipe import settings_of
from .halves import to_both
from .instruction import TransferInstruction
from .moved import ROWS
from .open_proof import require_lawful_for_all
from .paths import BY_SOURCE, Path, path_of
from .proof import aligned_to, require_apart, require_lawful, require_place
from .side import Side, side_of
from .sparse import to_l0b
from .steps import Loop, Step, steps_at, text_of, value_at
from .vectors import rows

_NOTHING = Given()


class Transfer(tuple[Any, ...]):
    """The instructions of one transfer, a tuple in order. `str()` is their text in AscendC.

    Of sizes that are not known the fields are expressions, and there may be loops (Loop) and conditions (When) around
    instructions; `at(...)` gives the symbols values.

    beyond         how many bytes behind the tile are written: squares of L0 that a transpose moves whole, units of a
                   vector. A tile that is laid out in whole squares has none
    reads_beyond   how many bytes are read behind the tensor that src is, or is a tile of: what the last unit of a
                   vector has in global memory, and the last squares of a transpose in L1

    >>> from tla import MakeLayout, MakeTensor
    >>> from tla.ascend import half, nZ, transfer
    >>> made = transfer(*(MakeTensor(None, MakeLayout[half, nZ](32, 32), position=place) for place in ("L1", "L0B")))
    >>> str(made).split("; ")[:3]
    ['{ AscendC::LoadData2DParams p', 'p.repeatTimes = 4', 'p.srcStride = 1']

    Source: AscendC.
    """

    beyond: Any = 0
    reads_beyond: Any = 0

    def __str__(self) -> str:
        return "\n".join(text_of(self))

    def at(self, values: Mapping[str, Any] = {}, **named: Any) -> Transfer:
        """The instructions for sizes that have values; loops and conditions are gone where these are known.

        >>> from tla import MakeLayout, MakeTensor, dim
        >>> from tla.ascend import RowMajor, half, transfer, zN
        >>> K = dim("K")
        >>> a = MakeTensor(None, MakeLayout[half, RowMajor](16, 40, ld=K), position="GM")
        >>> made = transfer(a, MakeTensor(None, MakeLayout[half, zN](16, 48), position="L1"))
        >>> len(made.at(K=100)), made.at(K=100)[0].parameters["srcDValue"], len(made.at(K=100000))
        (1, 100, 16)

        Raises what `x.at` of a size raises.
        """
        require_type(values, Mapping, "at(...) of", "values by the names of sizes", "write at(M=100)")
        found = Transfer(steps_at(self, {**values, **named}))
        found.beyond, found.reads_beyond = (value_at(n, {**values, **named}) for n in (self.beyond, self.reads_beyond))
        return found


def transfer(
    src: Tensor,
    dst: Tensor,
    arch: object = AtlasA2,
    *,
    element: Element | None = None,
    quant: str = "NO_QUANT",
    accumulator: Element | None = None,
    relu: bool = False,
    conv: Conv2d | None = None,
    tag: Tag | None = None,
    pad: bool = False,
    split: str = "NO_SPLIT",
    index: Tensor | None = None,
) -> Transfer:
    """The instructions that copy the valid elements of `src` to `dst`, as CATLASS chooses them.

    src, dst      tensors with positions (GM, L1, L0A, L0B, L0C, UB, Bias, FixBuf; on Ascend950 L0AMx and L0BMx, the
                  scales of MX types); of a larger dst the corner is filled; into L1 the rows of a matrix are the
                  first two modes of a source of three. Of sizes that are not known the fields are
                  expressions, proved for all of them; what is asked of them besides is a condition, as
                  of every operation
    arch          AtlasA2, AtlasA3, Ascend950, or a name
    element       the element type, where no buffer, no block of 32 bytes and no tag of scales tells it; of dst, as L0C
                  holds 32 bits. Buffers of another type are taken for what it says
    quant         out of L0C, how finely values are scaled: NO_QUANT, PER_TENSOR or PER_CHANNEL
    accumulator   out of L0C, the type there, float or int32: by default that of its buffer, float without one
    relu          out of L0C, whether negative values become 0 on the way
    conv          from an image in L1 to L0A, the window that moves over it: dst has a row for each of its places
    tag           the tag of dst, where its layout has several: an image's NC1HWC0 and a filter's CI1KHKWCOCI0
    pad           from GM into UB, whether what is left of each row's last 32 bytes becomes 0
    split         from L0C to UB, on Ascend950: SPLIT_M or SPLIT_N moves half of the rows, or columns, to each of two
                  vector cores; dst is the tile of one, at the same place in both
    index         from L1 to L0B, of a 4:2 sparse matrix, the bytes that say which elements are stored:
                  MakeLayout[int32, nZ](k / 8, n)
    Returns       Transfer: instructions with `name`, `dst`, `src` [elements] and `parameters`
    Raises        LeafTypeError for positions, tags or types that no instruction joins, and for options that the way has
                  not; RangeError for what does not fit a field, a buffer or its alignment; Unproven for conditions on
                  sizes that are not known, and for instructions that would move other elements than `copy`

    >>> from tla import GetTile, MakeLayout, MakeTensor
    >>> from tla.ascend import RowMajor, half, transfer, zN
    >>> a = GetTile(MakeTensor(None, MakeLayout[half, zN](576, 270), position="GM"), (400, 16), (23, 139))
    >>> b = MakeTensor(None, MakeLayout[half, zN](128, 256), position="L1")
    >>> print(*transfer(a, b))
    DataCopy(dst=0, src=15616, blockCount=9, blockLen=23, srcStride=553, dstStride=105)
    >>> c = GetTile(MakeTensor(None, MakeLayout[half, RowMajor](449, 73, ld=105), position="GM"), (130, 24), (42, 46))
    >>> print([(i.name, i.src, i.parameters["nValue"], i.parameters["srcDValue"]) for i in transfer(c, b)])
    [('Nd2Nz', 13674, 42, 105)]

    Law: executed one after another, the instructions do to the valid elements what `copy(src, dst)` does, and write
    nothing else but the padding of the last blocks in a core's buffer.
    Source: CATLASS `TileCopyTla`, `CopyL0CToGmTla`.
    """
    arch = as_architecture(arch)
    ends = _position("transfer", src), _position("transfer", dst)
    if conv is not None and not isinstance(conv, Conv2d):
        raise LeafTypeError(f"conv={type(conv).__name__}", "a Conv2d", "write conv=Conv2d((3, 3))")
    given = {"quant": quant, "accumulator": accumulator, "relu": relu, "pad": pad, "split": split, "index": index}
    _require_options(ends, given)
    src = _rows_of_several(src, dst, ends)
    total = _accumulator(src, accumulator) if ends[0] == "L0C" else None
    width = _element(src, dst, element, total)
    path = path_of(ends, (src.layout, dst.layout), width, arch, conv is not None, tag)
    a, b = side_of(src, width), side_of(dst, width)
    if 0 in a.valid or 0 in b.valid:
        return Transfer()
    for place, side in zip(ends, (a, b)):
        require_place(place, side, arch)
    if split != "NO_SPLIT":
        instruction, behind = to_both(split, a, b, settings_of(width, total or width, quant, relu, True), arch)
        return _proved((instruction,), behind)
    if index is not None:
        _require_room(path, b, a.valid)
        return _proved(*to_l0b(a, b, index, arch))
    if (conv or path.wanted) and (a.symbols or b.symbols):
        expected = "sizes that are known: of windows and images"
        raise Unproven(f"a transfer of {src!r} to {dst!r}", expected, "make the layouts of numbers")
    if conv or path.wanted:
        wanted = conv.wanted(a, b) if conv else path.wanted(a, b)
        _require_same(wanted.shape, b.valid, ends)
    else:
        wanted = None
        _require_room(path, b, a.valid)
    wide = "AtlasA" not in arch.name
    plan = path.plan
    if conv:
        plan = functools.partial(conv.plan, wide=wide)
    elif total:
        plan = functools.partial(path.plan, settings=settings_of(width, total, quant, relu, wide))
    elif pad:
        if path.src_tag not in (tags.RowMajor, tags.VectorLayout):
            raise LeafTypeError(f"pad=True of a transfer of {path.src_tag}", "rows, or a vector", "leave out pad=")
        plan = rows("to UB", pad=True)
    made = Transfer(plan(a, b))
    if (reason := _over_fields(made)) is not None:
        fix = _legal_tile(plan, a, b, ends, arch) if wanted is None else reason.fix
        raise RangeError(reason.what, reason.expected, fix)
    if a.symbols or b.symbols:
        return _proved(made, require_lawful_for_all(made, ends, a, b, arch))
    if ends[0] == ends[1]:
        require_apart(made, src, dst)
    try:
        return _proved(made, require_lawful(made, ends, a, b, arch, wanted))
    except Unproven as error:
        fix = _wider(plan, a, b, ends, arch) or error.reason.fix
        raise Unproven(error.reason.what, error.reason.expected, fix) from None


def _proved(made: Iterable[Step], behind: tuple[Any, Any]) -> Transfer:
    """A transfer with the bytes that are written and read behind its tiles."""
    found = Transfer(made)
    found.beyond, found.reads_beyond = behind
    return found


def unproved(src: Tensor, dst: Tensor, arch: Architecture, element: Element, **options: Any) -> Iterable[Step]:
    """The instructions that `transfer` proves to be right, before it does: for what is asked of many tiles, and
    believed of none.

    options   quant, accumulator and relu, out of L0C
    """
    ends = _position("transfer", src), _position("transfer", dst)
    path = path_of(ends, (src.layout, dst.layout), element, arch, False, None)
    a, b = side_of(src, element), side_of(dst, element)
    if ends[0] != "L0C":
        return tuple(path.plan(a, b))
    total = _accumulator(src, options["accumulator"])
    settings = settings_of(element, total, options["quant"], options["relu"], "AtlasA" not in arch.name)
    return tuple(path.plan(a, b, settings))


#: The options that only some ways have: what they are without saying, where they are, and how that is told.
_OPTIONS: dict[str, tuple[Any, Callable[[tuple[str, str]], bool], str]] = {
    "quant": ("NO_QUANT", lambda ends: ends[0] == "L0C", "out of L0C"),
    "accumulator": (None, lambda ends: ends[0] == "L0C", "out of L0C"),
    "relu": (False, lambda ends: ends[0] == "L0C", "out of L0C"),
    "pad": (False, lambda ends: ends == ("GM", "UB"), "from GM to UB"),
    "split": ("NO_SPLIT", lambda ends: ends == ("L0C", "UB"), "from L0C to UB"),
    "index": (None, lambda ends: ends == ("L1", "L0B"), "from L1 to L0B"),
}


def _require_options(ends: tuple[str, str], given: dict[str, Any]) -> None:
    """LeafTypeError for an option that a way between two positions has not."""
    for name, value in given.items():
        unsaid, has, where = _OPTIONS[name]
        if isinstance(unsaid, bool) and not isinstance(value, bool):
            raise LeafTypeError(f"{name}={quoted(value, 40)} of a transfer", "True or False", f"write {name}=True")
        if not (value is unsaid or (isinstance(value, str) and value == unsaid)) and not has(ends):
            what = f"{name}={quoted(value, 40)} of a transfer from {ends[0]} to {ends[1]}"
            raise LeafTypeError(what, f"{name}= {where} only", f"leave out {name}=")


def _position(where: str, t: object) -> str:
    if not isinstance(t, Tensor):
        fix = "write MakeTensor(None, layout, position='L1')"
        raise LeafTypeError(f"{where} of a {type(t).__name__}", "a tensor with a position", fix)
    return position_of(t.position)


def _rows_of_several(src: Tensor, dst: Tensor, ends: tuple[str, str]) -> Tensor:
    """A source of three modes, for a matrix in L1, as rows of several matrices: its first two modes are their rows."""
    ranks = [rank(t.layout.shape) if isinstance(t.layout, Layout) else 0 for t in (src, dst)]
    return group[0, 2](src) if ends == ("GM", "L1") and ranks == [3, 2] else src


def _accumulator(src: Tensor, given: Element | None) -> Element:
    """The type in L0C: given, or that of its buffer, which say the same where both do; float where none does."""
    held = None if src.data is None else element_of(src.data)
    total = as_element(given) if given is not None else held or types.float
    if held not in (None, total):
        fix = f"write accumulator={held}, or make the buffer of {total}"
        raise LeafTypeError(f"accumulator={total} of a buffer of {held} in L0C", f"accumulator={held}", fix)
    return total


def _element(src: Tensor, dst: Tensor, given: Element | None, total: Element | None) -> Element:
    """The element type of dst: given, its buffer's, or of a block of 32 bytes; out of L0C by default that there."""
    if given is not None:
        return as_element(given)
    held = [element_of(t.data) for t in (dst, *(() if total else (src,))) if t.data is not None]
    alike = len({e.bits for e in held}) == 1 and any(e.name.isdigit() for e in held)
    if len({*held}) == 2 and not alike:
        what = f"a transfer from a buffer of {held[1]} to one of {held[0]}"
        fix = f"make both of one type; element={held[0]} takes the bits of both for {held[0]}"
        raise LeafTypeError(what, "one element type: a transfer moves bytes, and converts none", fix)
    if held:
        return held[0]
    for layout in (dst.layout,) if total else (dst.layout, src.layout):
        if not total and any(Is(tag)[types.fp8_e8m0](layout) for tag in (tags.MxScalezZ, tags.MxScalenN)):
            return types.fp8_e8m0
        for bits in (8, 16, 32, 4):
            if any(Is(tag)[bits](layout) for tag in (tags.zN, tags.nZ, tags.zZ)):
                return as_element(bits)
    if total:
        return total
    raise LeafTypeError(f"a transfer from {src!r} to {dst!r}", "an element type", "write transfer(..., element=half)")


def _require_room(path: Path, dst: Side, src_valid: tuple[int, ...]) -> None:
    """Into a core's buffer goes what is valid of the source; into L0 and out of it what is valid of the destination."""
    by_source = (path.src, path.dst) in BY_SOURCE
    if len(src_valid) != len(dst.valid):
        what = f"{len(src_valid)} modes into {len(dst.valid)}"
        raise LeafTypeError(what, "as many modes in src as in dst", "slice one of them: t[0, _, _]")
    if by_source and not _all_at_most(src_valid, dst.room, "a tile that holds what is valid of src"):
        start, part = (0,) * len(src_valid), tuple(map(smaller, dst.room, src_valid))
        expected, fix = "a tile that holds them", f"move a part at a time: GetTile(src, {shown(start)}, {shown(part)})"
        raise RangeError(f"{shown(src_valid)} valid elements into a tile of {shown(dst.room)}", expected, fix)
    if not by_source and not _all_at_most(dst.valid, src_valid, "as many valid elements in src as in dst"):
        what = f"a tile of {shown(dst.valid)} elements from one with {shown(src_valid)} valid"
        raise RangeError(what, "as many valid elements in src", "take GetTile of dst")


def _all_at_most(xs: tuple[Any, ...], ys: tuple[Any, ...], where: str) -> bool:
    """Whether no x is more than its y."""
    return all(require("<=", x, y, lambda: f"a transfer: {where}") for x, y in zip(xs, ys))


def _over_fields(made: Iterable[Step], given: Given = _NOTHING) -> Reason | None:
    """The first field that does not hold its value; None where all do."""
    for step in made:
        if isinstance(step, TransferInstruction):
            reason = step.over_fields(given.at_most)
        elif isinstance(step, Loop):
            reason = _over_fields(step.body, given)
        else:
            reason = _over_fields(step.body, Given([step.condition])) or _over_fields(step.otherwise, given)
        if reason:
            return reason
    return None


def _legal_tile(plan: Plan, a: Side, b: Side, ends: tuple[str, str], arch: Architecture) -> str:
    """The advice for a tile whose fields overflow: the largest shorter along one mode that has none that does."""
    sizes = (a if ends in BY_SOURCE else b).valid
    if a.symbols or b.symbols:
        return "take smaller tiles"
    found = []
    for mode, n in enumerate(sizes):
        block = math.lcm(*(side.unit(mode, aligned_to(place, side, arch)) for place, side in zip(ends, (a, b))))
        lo, hi = 0, (n - 1) // block  # tiles of `lo` blocks are legal, of 0 by convention
        while lo < hi:
            middle = (lo + hi + 1) // 2
            tile = (*sizes[:mode], middle * block, *sizes[mode + 1 :])
            over = _over_fields(plan(a._replace(valid=tile), b._replace(valid=tile)))
            lo, hi = (lo, middle - 1) if over else (middle, hi)
        if lo:
            found.append((*sizes[:mode], lo * block, *sizes[mode + 1 :]))
    if not found:
        return "bring the rows closer together: copy the matrix into one of blocks first (PaddingRowMajor)"
    return f"move {shown(max(found, key=math.prod))} elements at a time: GetTile of both"


def _wider(plan: Plan, a: Side, b: Side, ends: tuple[str, str], arch: Architecture) -> str | None:
    """The advice for a tile of L0A that is right with k in whole 16: Mmad reads 32-bit so, told kDirectionAlign."""
    if ends != ("L1", "L0A") or Is(tags.zZ)[a.element](b.layout) is not True or any(b.start):
        return None
    ld = -(-b.valid[1] // ROWS) * ROWS
    wide = b._replace(layout=tags.zZ(*b.valid, ld=ld, element=a.element).layout)
    try:
        require_lawful(Transfer(plan(a, wide)), ends, a, wide, arch)
    except Unproven:
        return None
    made = f"MakeLayout[{a.element}, zZ]({b.valid[0]}, {b.valid[1]}, ld={ld})"
    return f"lay dst out as {made}, which Mmad reads with kDirectionAlign"


def _require_same(have: tuple[int, ...], valid: tuple[int, ...], ends: tuple[str, str]) -> None:
    """Require that the destination asks for no more than there is."""
    if tuple(have) != valid:
        what = f"{shown(tuple(map(int, have)))} of the {shown(valid)} elements of {ends[1]}"
        fix = "make dst with the sizes that the window and the channels give"
        raise RangeError(what, "as many in src as are valid in dst", fix)
