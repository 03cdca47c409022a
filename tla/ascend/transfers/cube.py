"""Plans of AtlasA2 and AtlasA3 for the matrix unit: global memory to L1, and L1 to L0A and L0B.

A plan reads the strides of both layouts as CATLASS's TileCopyTla does. That it is right is proved afterwards.

Source: CATLASS include/catlass/gemm/tile/atlasa2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .instruction import TransferInstruction
from .moved import ROWS, fractal_of
from .side import Side

#: Strides of this many elements, or blocks, and more do not go into one instruction: CATLASS moves row by row then.
STRIDE_LIMIT = 65536

#: An image of one row without border, told apart from LoadData3D.
_FMATRIX = (
    "constexpr uint8_t pad[4] = {{0, 0, 0, 0}}; AscendC::SetFmatrix(1, {width}, pad, AscendC::FmatrixMode::FMATRIX_{side}); "
    "static constexpr AscendC::IsResetLoad3dConfig config = {{false, false}};"
)

Plan = Callable[[Side, Side], Iterator[TransferInstruction]]


def nd_to_nz(rows: int, inner: bool = False) -> Plan:
    """Rows of a plain matrix into blocks of C0; `rows` is the mode that counts them, in the blocks of a padded one."""
    columns = 1 - rows

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        c0, n, step = int(src.element.C0), src.valid[rows], src.inner(rows) if inner else src.outer(rows)
        unit, form = (2, "bytes of pairs") if src.element.bits == 4 else (1, "")  # 4 bits are moved as 8, in fields of bytes
        fields = {"ndNum": 1, "nValue": n, "dValue": -(-src.valid[columns] // unit), "srcNdMatrixStride": 0, "srcDValue": -(-step // unit)}
        fields |= {"dstNzC0Stride": dst.outer(columns) // c0, "dstNzNStride": 1, "dstNzMatrixStride": 0}
        if step < STRIDE_LIMIT:
            yield TransferInstruction("Nd2Nz", dst.at, src.at, fields, src.element, form)
            return
        fields |= {"nValue": 1, "srcDValue": 0, "dstNzNStride": 0}
        for i in range(n):
            yield TransferInstruction("Nd2Nz", dst.at + i * c0, src.at + i * step, fields, src.element, form)

    return plan


def nz_to_nz(rows: int) -> Plan:
    """Columns of blocks, each a burst; `rows` is the mode that counts rows."""
    columns = 1 - rows

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        c0, length, count = int(src.element.C0), src.valid[rows], src.blocks(columns)
        a, b = src.outer(columns), dst.outer(columns)
        if a // c0 <= STRIDE_LIMIT:
            gaps = {"srcStride": (a // c0 - length) % STRIDE_LIMIT, "dstStride": (b // c0 - length) % STRIDE_LIMIT}
            yield TransferInstruction("DataCopy", dst.at, src.at, {"blockCount": count, "blockLen": length, **gaps}, src.element)
            return
        for i in range(count):
            fields = {"blockCount": 1, "blockLen": length, "srcStride": 0, "dstStride": 0}
            yield TransferInstruction("DataCopy", dst.at + i * b, src.at + i * a, fields, src.element)

    return plan


def fractals(transposes: bool) -> Plan:
    """Fractals, a row of blocks after another; all at once where both lie alike."""

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        size = fractal_of(src.element)
        down, across = dst.blocks(0), dst.blocks(1)
        fields = {"repeatTimes": across, "srcStride": src.outer(1) // size, "dstGap": 0, "ifTranspose": int(transposes)}
        alike = not transposes and src.outer(1) == size and src.outer(0) == dst.outer(0)
        if alike:
            yield TransferInstruction("LoadData2D", dst.at, src.at, {**fields, "repeatTimes": down * across}, src.element)
            return
        for i in range(down):
            yield TransferInstruction("LoadData2D", dst.at + i * dst.outer(0), src.at + i * src.outer(0), fields, src.element)

    return plan


def bytes_to_l0a(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Squares of 32 by 32 bytes, transposed: nZ to zZ."""
    across = dst.blocks(1)
    fields = {"repeatTimes": across, "srcStride": 1, "dstGap": 0, "dstFracGap": across - 1}
    for i in range(src.blocks(0)):
        yield TransferInstruction("LoadData2DTranspose", dst.at + i * dst.outer(0) * 2, src.at + i * src.outer(0), fields, src.element)


def bytes_to_l0b(src: Side, dst: Side) -> Iterator[TransferInstruction]:
    """Squares of C0 by C0 elements, transposed: zN to nZ."""
    rows = int(src.element.C0) // ROWS
    stride = src.outer(1) // fractal_of(src.element) // rows
    fields = {"repeatTimes": src.blocks(1), "srcStride": stride, "dstGap": rows - 1, "dstFracGap": 0}
    for i in range(dst.blocks(0)):
        yield TransferInstruction("LoadData2DTranspose", dst.at + i * dst.outer(0), src.at + i * src.outer(0) * rows, fields, src.element)


def words(points: int, align: int, transposes: bool, to_b: bool) -> Plan:
    """Elements of 32 bits by im2col; `points` is the mode that counts the points of the image."""
    channels = 1 - points

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        up = [-(-n // align) * align for n in dst.valid]
        width = src.outer(channels) // int(src.element.C0)
        fields = {"mExtension": up[points], "kExtension": up[channels], "channelSize": up[channels], "l1W": width}
        fields |= {"enTranspose": int(transposes), "fMatrixCtrl": int(to_b)}
        side = "RIGHT" if to_b else "LEFT"
        settings = {"Unset": "l1W", "Call": "LoadData<{type}, config>", "Before": _FMATRIX.format(width=width, side=side)}
        yield TransferInstruction("LoadData3D", dst.at, src.at, fields, src.element, "", settings)

    return plan


# ------------------------------------------------------------------------------------------------------- Ascend950


def wide_nd_to_nz(rows: int, inner: bool = False) -> Plan:
    """As nd_to_nz, with strides of 40 bits; 4 bits are counted in bytes, as pairs."""
    columns = 1 - rows

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        c0, unit = int(src.element.C0), 2 if src.element.bits == 4 else 1
        step = src.inner(rows) if inner else src.outer(rows)
        fields = {"ndNum": 1, "nValue": src.valid[rows], "dValue": -(-src.valid[columns] // unit), "srcNdMatrixStride": 0}
        fields |= {"srcDValue": -(-step // unit), "dstNzC0Stride": dst.outer(columns) // c0, "dstNzNStride": 1}
        form = "pairs" if unit == 2 else "wide"
        yield TransferInstruction("Nd2Nz", dst.at, src.at, {**fields, "dstNzMatrixStride": 0}, src.element, form)

    return plan


def scales(along_k: int, name: str) -> Plan:
    """Scales of MX types, in pairs along the mode of k: Nd2Nz where the pairs of one k lie side by side, else Dn2Nz."""
    across = 1 - along_k

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        step, prefix = (src.outer(along_k), "nd") if name == "Nd2Nz" else (src.outer(across), "dn")
        matrix = f"src{prefix.capitalize()}MatrixStride"
        fields = {f"{prefix}Num": 1, "nValue": -(-src.valid[along_k] // 2), "dValue": src.valid[across], matrix: 0}
        fields |= {"srcDValue": -(-step // 2), "dstNzC0Stride": dst.outer(across) // 32, "dstNzNStride": 1, "dstNzMatrixStride": 0}
        yield TransferInstruction(name, dst.at, src.at, fields, src.element, "pairs")

    return plan


def scales_to_l0(along_k: int) -> Plan:
    """Blocks of 16 by 2 scales from L1 to beside the operand that they scale."""
    x, y = 1 - along_k, along_k

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        fields = {"xStartPosition": -(-src.start[x] // ROWS), "yStartPosition": -(-src.start[y] // 2)}
        fields |= {"xStep": dst.blocks(x), "yStep": dst.blocks(y), "srcStride": -(-src.outer(x) // 32), "dstStride": dst.outer(x) // 32}
        yield TransferInstruction("LoadData2DMx", dst.at, src.base, fields, src.element)

    return plan


def fractals_v2(m: int, transposes: bool) -> Plan:
    """Fractals of L1 as one rectangle: `m` is the mode along 16 rows. Transposed, whole squares of C0 by C0 elements.

    Where the rows of the destination are no whole squares, the squares go one column after another, so that what one writes
    past the end of its column is overwritten by the next.
    """
    k = 1 - m

    def plan(src: Side, dst: Side) -> Iterator[TransferInstruction]:
        element, c0, size = src.element, int(src.element.C0), fractal_of(src.element)
        square = max(1, c0 // ROWS) if transposes else 1
        to_even = 2 if transposes and element.bits == 32 else 1
        fields = {"mStartPosition": -(-src.start[m] // ROWS), "kStartPosition": -(-src.start[k] // c0)}
        m_step, k_step = (-(-dst.valid[mode] // unit) for mode, unit in ((m, ROWS), (k, c0)))
        steps = {"mStep": -(-m_step // square) * square, "kStep": -(-k_step // to_even) * to_even}
        fields |= {**steps, "srcStride": -(-src.outer(k) // size), "dstStride": -(-dst.outer(m if transposes else k) // size)}
        fields["ifTranspose"] = int(transposes)
        if square == 1 or -(-dst.valid[k] // ROWS) * ROWS % c0 == 0:
            yield TransferInstruction("LoadData2DV2", dst.at, src.base, fields, element)
            return
        column = dst.outer(m)
        for i in range(-(-dst.valid[m] // c0)):
            part = {**fields, "mStartPosition": fields["mStartPosition"] + i * square, "mStep": square}
            yield TransferInstruction("LoadData2DV2", dst.at + i * column, src.base, part, element)

    return plan
