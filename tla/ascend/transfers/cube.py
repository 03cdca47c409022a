"""Plans of AtlasA2 and AtlasA3 for the matrix unit: global memory to L1, and L1 to L0A and L0B.

A plan reads the strides of both layouts as CATLASS's TileCopyTla does. That it is right is proved afterwards.

Source: CATLASS include/catlass/gemm/tile/atlasa2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.int_tuple import modes_of
from ...core.ints import IntLike, Leaf
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import at_most
from .instruction import TransferInstruction, c_text
from .moved import ROWS, fractal_of, gaps_of
from .side import Side, plain
from .steps import Step, choose, equals, repeat

#: Strides of this many elements, or blocks, and more do not go into one instruction: CATLASS moves row by row then.
STRIDE_LIMIT = 65536

#: An image of one row without border, told apart from LoadData3D.
_FMATRIX = (
    "constexpr uint8_t pad[4] = {{0, 0, 0, 0}}; AscendC::SetFmatrix(1, {width}, pad, "
    "AscendC::FmatrixMode::FMATRIX_{side}); "
    "static constexpr AscendC::IsResetLoad3dConfig config = {{false, false}};"
)

Plan = Callable[[Side, Side], Iterator[Step]]


def nd_to_nz(rows: int, inner: bool = False, wide: bool = False) -> Plan:
    """Rows of a plain matrix into blocks of C0; `rows` is the mode that counts them, in the blocks of a padded one.

    wide   on Ascend950, whose strides have 40 bits: one instruction always does. 4 bits are moved as pairs, in fields of
           bytes
    """
    columns = 1 - rows

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        c0, n, step = int(src.element.C0), src.valid[rows], src.inner(rows) if inner else src.outer(rows)
        unit = 2 if src.element.bits == 4 else 1
        form = (("", "bytes of pairs"), ("wide", "pairs"))[wide][unit - 1]
        fields = {"ndNum": 1, "nValue": n, "dValue": ceil_div(src.valid[columns], unit), "srcNdMatrixStride": 0}
        fields |= {"srcDValue": ceil_div(step, unit), "dstNzC0Stride": dst.outer(columns) // c0, "dstNzNStride": 1}
        fields["dstNzMatrixStride"] = 0
        one_row = {**fields, "nValue": 1, "srcDValue": 0, "dstNzNStride": 0}

        def row(i: Any) -> TransferInstruction:
            return TransferInstruction("Nd2Nz", dst.at + i * c0, src.at + i * step, one_row, src.element, form)

        whole = TransferInstruction("Nd2Nz", dst.at, src.at, fields, src.element, form)
        yield from [whole] if wide else choose(step < STRIDE_LIMIT, [whole], repeat(n, row, src, dst))

    return plan


def matrices_to_nz(form: str) -> Plan:
    """Rows that come from several matrices, at one step inside of a matrix and at another from one to the next.

    Either a matrix is what follows at the first step, or what does at the second, in one instruction for all or in one
    for each: the first of these that fits the fields is taken.
    """

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        rows, steps = (modes_of(modes_of(x)[0]) for x in (src.layout.shape, src.layout.stride))
        count, (step, apart), c0 = plain(rows[0]), map(plain, steps), int(src.element.C0)
        whole, rest = divmod(src.valid[0], count)

        def made(
            n: int, stride: int, to: int, more: tuple[int, int, int] = (1, 0, 0), row: int = 0, at: int = 0
        ) -> TransferInstruction:
            """Matrices of n rows at a stride, rows `to` apart in L1; more: how many, how far apart here and there."""
            fields = {"ndNum": more[0], "nValue": n, "dValue": src.valid[1], "srcDValue": stride, "dstNzNStride": to}
            fields |= {"srcNdMatrixStride": more[1], "dstNzMatrixStride": more[2] * c0}
            fields |= {"dstNzC0Stride": dst.outer(1) // c0}
            return TransferInstruction("Nd2Nz", dst.at + row * c0, src.at + at, fields, src.element, form)

        last = [made(rest, step, 1, row=whole * count, at=whole * apart)] if rest else []
        ways = [
            [*([made(count, step, 1, (whole, apart, count))] if whole else []), *last],
            [*([made(whole, apart, count, (count, step, 1))] if whole else []), *last],
            [*(made(count, step, 1, row=i * count, at=i * apart) for i in range(whole)), *last],
            [made(whole + (i < rest), apart, count, row=i, at=i * step) for i in range(count if whole else rest)],
        ]
        yield from next((w for w in ways if all(i.over_fields(at_most) is None for i in w)), ways[0])

    return plan


def nz_to_nz(rows: int) -> Plan:
    """Columns of blocks, each a burst; `rows` is the mode that counts rows."""
    columns = 1 - rows

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        c0, length, count = int(src.element.C0), src.valid[rows], src.blocks(columns)
        a, b = src.outer(columns), dst.outer(columns)
        fields = {"blockCount": count, "blockLen": length, **gaps_of((a // c0, b // c0), length, count)}
        whole = TransferInstruction("DataCopy", dst.at, src.at, fields, src.element)

        def burst(i: IntLike) -> TransferInstruction:
            fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
            return TransferInstruction("DataCopy", dst.at + i * b, src.at + i * a, fields, src.element)

        far = b if at_most(a // c0, STRIDE_LIMIT) else a  # one side is a core's buffer
        yield from choose(far // c0 <= STRIDE_LIMIT, [whole], repeat(count, burst, src, dst))

    return plan


def index_to_l1(src: Side, dst: Side) -> Iterator[Step]:
    """The index of a 4:2 sparse matrix: rows of blocks of 8 by 16 bytes, each a burst."""
    count, length, unit = src.blocks(0), src.blocks(1) * 4, int(src.element.C0)
    gaps = gaps_of((src.outer(0) // unit, dst.outer(0) // unit), length, count)
    fields = {"blockCount": count, "blockLen": length, **gaps}
    yield TransferInstruction("DataCopy", dst.at, src.at, fields, src.element)


def fractals(transposes: bool) -> Plan:
    """Fractals, a row of blocks after another; all at once where both lie alike."""

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        size = fractal_of(src.element)
        down, across = dst.blocks(0), dst.blocks(1)
        fields = {"repeatTimes": across, "srcStride": src.outer(1) // size, "dstGap": 0, "ifTranspose": int(transposes)}

        def row(i: Any) -> TransferInstruction:
            to, begin = dst.at + i * dst.outer(0), src.at + i * src.outer(0)
            return TransferInstruction("LoadData2D", to, begin, fields, src.element)

        whole = TransferInstruction("LoadData2D", dst.at, src.at, {**fields, "repeatTimes": down * across}, src.element)
        side_by_side = False if transposes else equals(src.outer(1), size)
        one_by_one = [*repeat(down, row, src, dst)]
        alike = [*choose(equals(src.outer(0), dst.outer(0)), [whole], one_by_one)]
        yield from choose(side_by_side, alike, one_by_one)

    return plan


def bytes_to_l0a(src: Side, dst: Side) -> Iterator[Step]:
    """Squares of 32 by 32 bytes, transposed: nZ to zZ."""
    across = dst.blocks(1)
    fields = {"repeatTimes": across, "srcStride": 1, "dstGap": 0, "dstFracGap": across - 1}

    def squares(i: Leaf) -> TransferInstruction:
        to, begin = dst.at + i * dst.outer(0) * 2, src.at + i * src.outer(0)
        return TransferInstruction("LoadData2DTranspose", to, begin, fields, src.element)

    yield from repeat(src.blocks(0), squares, src, dst)


def bytes_to_l0b(src: Side, dst: Side) -> Iterator[Step]:
    """Squares of C0 by C0 elements, transposed: zN to nZ."""
    rows = int(src.element.C0) // ROWS
    stride = src.outer(1) // fractal_of(src.element) // rows
    fields = {"repeatTimes": src.blocks(1), "srcStride": stride, "dstGap": rows - 1, "dstFracGap": 0}

    def squares(i: Leaf) -> TransferInstruction:
        to, begin = dst.at + i * dst.outer(0), src.at + i * src.outer(0) * rows
        return TransferInstruction("LoadData2DTranspose", to, begin, fields, src.element)

    yield from repeat(dst.blocks(0), squares, src, dst)


def words(points: int, align: int, transposes: bool, to_b: bool) -> Plan:
    """Elements of 32 bits by im2col; `points` is the mode that counts the points of the image."""
    channels = 1 - points

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        up = [ceil_div(n, align) * align for n in dst.valid]
        width = src.outer(channels) // int(src.element.C0)
        fields = {"mExtension": up[points], "kExtension": up[channels], "channelSize": up[channels], "l1W": width}
        fields |= {"enTranspose": int(transposes), "fMatrixCtrl": int(to_b)}
        before = _FMATRIX.format(width=c_text(width), side="RIGHT" if to_b else "LEFT")
        settings = {"Unset": "l1W", "Call": "LoadData<{type}, config>", "Before": before}
        yield TransferInstruction("LoadData3D", dst.at, src.at, fields, src.element, "", settings)

    return plan


# ------------------------------------------------------------------------------------------------------- Ascend950


def scales(along_k: int, name: str) -> Plan:
    """Scales of MX types, in pairs along the mode of k: Nd2Nz where the pairs of one k lie side by side, else Dn2Nz."""
    across = 1 - along_k

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        step, prefix = (src.outer(along_k), "nd") if name == "Nd2Nz" else (src.outer(across), "dn")
        matrix = f"src{prefix.capitalize()}MatrixStride"
        fields = {f"{prefix}Num": 1, "nValue": ceil_div(src.valid[along_k], 2), "dValue": src.valid[across], matrix: 0}
        fields |= {"srcDValue": ceil_div(step, 2), "dstNzC0Stride": dst.outer(across) // 32}
        fields |= {"dstNzNStride": 1, "dstNzMatrixStride": 0}
        yield TransferInstruction(name, dst.at, src.at, fields, src.element, "pairs")

    return plan


def scales_to_l0(along_k: int) -> Plan:
    """Blocks of 16 by 2 scales from L1 to beside the operand that they scale."""
    x, y = 1 - along_k, along_k

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        fields = {"xStartPosition": ceil_div(src.start[x], ROWS), "yStartPosition": ceil_div(src.start[y], 2)}
        fields |= {"xStep": dst.blocks(x), "yStep": dst.blocks(y)}
        fields |= {"srcStride": ceil_div(src.outer(x), 32), "dstStride": dst.outer(x) // 32}
        yield TransferInstruction("LoadData2DMx", dst.at, src.base, fields, src.element)

    return plan


def fractals_v2(m: int, transposes: bool) -> Plan:
    """Fractals of L1 as one rectangle: `m` is the mode along 16 rows. Transposed, whole squares of C0 by C0 elements.

    Where the rows of the destination are no whole squares, the squares go one column after another, so that what one
    writes past the end of its column is overwritten by the next.
    """
    k = 1 - m

    def plan(src: Side, dst: Side) -> Iterator[Step]:
        element, c0, size = src.element, int(src.element.C0), fractal_of(src.element)
        square = max(1, c0 // ROWS) if transposes else 1
        to_even = 2 if transposes and element.bits == 32 else 1
        fields = {"mStartPosition": ceil_div(src.start[m], ROWS), "kStartPosition": ceil_div(src.start[k], c0)}
        for name, i, unit, to in (("mStep", m, ROWS, square), ("kStep", k, c0, to_even)):
            fields[name] = ceil_div(ceil_div(dst.valid[i], unit), to) * to
        column = dst.outer(m if transposes else k)
        fields |= {"srcStride": ceil_div(src.outer(k), size), "dstStride": ceil_div(column, size)}
        fields["ifTranspose"] = int(transposes)
        start = fields["mStartPosition"]

        def squares(i: Leaf) -> TransferInstruction:
            part = {**fields, "mStartPosition": start + i * square, "mStep": square}
            return TransferInstruction("LoadData2DV2", dst.at + i * column, src.base, part, element)

        whole = TransferInstruction("LoadData2DV2", dst.at, src.base, fields, element)
        fit = True if square == 1 else equals(ceil_div(dst.valid[k], ROWS) * ROWS, ceil_div(dst.valid[k], c0) * c0)
        yield from choose(fit, [whole], repeat(ceil_div(dst.valid[m], c0), squares, src, dst))

    return plan
