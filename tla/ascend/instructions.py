"""Instructions that move tiles, as data: each is a pair of layouts over one domain, made of its fields.

The element c of the domain goes from src(c) to dst(c), both counted in elements from the addresses of the instruction. The
fields have the names and units of AscendC's parameter structs: blocks of 32 bytes (C0 elements), fractals of 512 bytes.

Source: AscendC's Nd2NzParams, DataCopyParams, DataCopyExtParams, LoadData2DParams, LoadData2dTransposeParams,
LoadData3DParamsV2, FixpipeParamsV220; their use in CATLASS include/catlass/gemm/tile/atlasa2.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ..core.element import C0_BITS, Element
from ..core.errors import RangeError
from ..core.layout import Layout

#: The bits of a fractal, and its rows; the columns of a block of L0C are as many.
FRACTAL_BITS, ROWS = 4096, 16
Fields = Mapping[str, int]


class Moved(NamedTuple):
    """Two layouts over one domain, each from its own address on [elements]: element c goes from src(c) to dst(c).

    >>> from tla.ascend import TransferInstruction, half
    >>> TransferInstruction("LoadData2D", 0, 0, {"repeatTimes": 2, "srcStride": 3, "dstGap": 0, "ifTranspose": 1}, half).moved
    Moved(dst=parse('((16,16),2):((1,16),256)'), src=parse('((16,16),2):((16,1),768)'))

    Source: ours.
    """

    dst: Layout
    src: Layout


@dataclass(frozen=True)
class TransferInstruction:
    """One instruction that moves elements.

    name         Nd2Nz, DataCopy, DataCopyPad, LoadData2D, LoadData2DTranspose, LoadData3D or Fixpipe
    dst, src     where it begins to write and to read, in elements of each side
    parameters   the fields that say what is moved, by AscendC's names
    element      the element type of dst, and of src but for Fixpipe
    form         what else decides: the template argument of Fixpipe, the direction of DataCopyPad

    >>> from tla.ascend import TransferInstruction, half
    >>> i = TransferInstruction("DataCopy", 0, 64, {"blockCount": 2, "blockLen": 3, "srcStride": 5, "dstStride": 0}, half)
    >>> print(i.moved.dst, i.moved.src)
    (16,3,2):(1,16,48) (16,3,2):(1,16,128)
    >>> print(i.text)
    AscendC::DataCopy(dst[0], src[64], AscendC::DataCopyParams{.blockCount = 2, .blockLen = 3, .srcStride = 5, .dstStride = 0});

    Source: AscendC.
    """

    name: str
    dst: int
    src: int
    parameters: Fields
    element: Element
    form: str = ""

    @property
    def moved(self) -> Moved:
        """The move as two layouts over one domain; what is valid of the domain is their origin_shape."""
        return KINDS[self.name].moved(self.parameters, self.element, self.form)

    @property
    def text(self) -> str:
        """The call in AscendC, from a tensor named src to one named dst."""
        kind = KINDS[self.name]
        fields = ", ".join(f".{kind.spelled.get(f, f)} = {v}" for f, v in self.parameters.items() if f not in kind.unset)
        call = kind.call.format(form=self.form, **self.parameters)
        return f"AscendC::{call}(dst[{self.dst}], src[{self.src}], AscendC::{kind.struct}{{{fields}}});"

    def __str__(self) -> str:
        return f"{self.name}(dst={self.dst}, src={self.src}, {', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    def require_fields(self) -> None:
        """RangeError where a field does not hold its value."""
        for field, value in self.parameters.items():
            bits = KINDS[self.name].bits.get(field, 16)
            if not 0 <= value < 2**bits:
                what = f"{self.name}: {field} = {value}, in a field of {bits} bits"
                raise RangeError(what, f"0 to {2**bits - 1}", "move smaller tiles, one after another")


class Kind(NamedTuple):
    """A kind of instruction.

    moved      what its fields move
    struct     AscendC's parameter struct;  call  AscendC's function
    bits       the bits of the fields that have not 16
    spelled    fields that the struct has under another name;  unset  fields that it has not
    """

    moved: Callable[[Fields, Element, str], Moved]
    struct: str
    call: str
    bits: Fields = MappingProxyType({})
    spelled: Mapping[str, str] = MappingProxyType({})
    unset: tuple[str, ...] = ()


def _blocks(n: int, size: int) -> int:
    return -(-n // size)


def _fractal(element: Element) -> int:
    """The elements of a fractal."""
    return FRACTAL_BITS // element.bits


def _nd2nz(p: Fields, element: Element, _form: str) -> Moved:
    """Rows of nValue by dValue elements, each row cut into blocks of C0."""
    n, d, c0 = p["nValue"], p["dValue"], int(element.C0)
    dst = Layout((n, (c0, _blocks(d, c0))), (p["dstNzNStride"] * c0, (1, p["dstNzC0Stride"] * c0)), (n, d))
    return Moved(dst, Layout((n, d), (p["srcDValue"], 1)))


def _data_copy(p: Fields, element: Element, _form: str) -> Moved:
    """blockCount bursts of blockLen blocks; the strides are the gaps between bursts."""
    c0, length, count = int(element.C0), p["blockLen"], p["blockCount"]
    return Moved(*(Layout((c0, length, count), (1, c0, (length + p[gap]) * c0)) for gap in ("dstStride", "srcStride")))


def _data_copy_pad(p: Fields, element: Element, form: str) -> Moved:
    """blockCount bursts of blockLen bytes; gaps are bytes in global memory, and blocks behind whole blocks in the buffer."""
    size, length, count = element.bits // 8, p["blockLen"], p["blockCount"]
    outside = {gap: (length + p[gap]) // size for gap in ("dstStride", "srcStride")}
    inside = {gap: (_blocks(length, 32) + p[gap]) * 32 // size for gap in ("dstStride", "srcStride")}
    steps = (inside["dstStride"], outside["srcStride"]) if form == "to UB" else (outside["dstStride"], inside["srcStride"])
    return Moved(*(Layout((length // size, count), (1, step)) for step in steps))


def _load_2d(p: Fields, element: Element, _form: str) -> Moved:
    """repeatTimes fractals, each as it is, or with its 16 rows and 16 columns exchanged."""
    size, repeat = _fractal(element), p["repeatTimes"]
    shape = ((ROWS, size // ROWS), repeat)
    rows = (size // ROWS, 1)
    inner = (1, ROWS) if p["ifTranspose"] else rows
    return Moved(Layout(shape, (inner, (1 + p["dstGap"]) * size)), Layout(shape, (rows, p["srcStride"] * size)))


def _load_2d_transpose(p: Fields, element: Element, _form: str) -> Moved:
    """repeatTimes squares of C0 by C0 elements with rows and columns exchanged, in fractals of 16 rows."""
    size, c0, repeat = _fractal(element), int(element.C0), p["repeatTimes"]
    fractals = c0 // ROWS
    src = Layout((c0, c0, repeat), (c0, 1, p["srcStride"] * fractals * size))
    rows = (c0, (1 + p["dstFracGap"]) * size)
    return Moved(Layout((c0, (ROWS, fractals), repeat), (1, rows, (1 + p["dstGap"]) * size)), src)


def _load_3d(p: Fields, element: Element, _form: str) -> Moved:
    """mExtension points by kExtension channels of an image of one row of l1W points: im2col of a kernel of 1 by 1.

    Fractals have 16 rows of C0 columns: rows of points, or of channels where it transposes; L0A has them row by row, L0B
    (fMatrixCtrl) column by column.
    """
    size, c0, points, channels = _fractal(element), int(element.C0), p["mExtension"], p["kExtension"]
    src = Layout((points, (c0, _blocks(channels, c0))), (c0, (1, p["l1W"] * c0)), (points, channels))
    rows, columns = (channels, points) if p["enTranspose"] else (points, channels)
    down, across = _blocks(rows, ROWS), _blocks(columns, c0)
    steps = (size, size * down) if p["fMatrixCtrl"] else (size * across, size)
    row, column = Layout((ROWS, down), (c0, steps[0])), Layout((c0, across), (1, steps[1]))
    modes = (column, row) if p["enTranspose"] else (row, column)
    return Moved(Layout(tuple(m.shape for m in modes), tuple(m.stride for m in modes), (points, channels)), src)


def _fixpipe(p: Fields, element: Element, form: str) -> Moved:
    """mSize by nSize elements out of blocks of 16 columns; to rows, or to blocks of 16 columns, of 8 where it splits channels."""
    m, n = p["mSize"], p["nSize"]
    src = Layout((m, (ROWS, _blocks(n, ROWS))), (ROWS, (1, p["srcStride"] * ROWS)), (m, n))
    if form == "CFG_ROW_MAJOR":
        return Moved(Layout((m, n), (p["dstStride"], 1)), src)
    width, c0 = 8 if p["channelSplit"] else ROWS, C0_BITS // element.bits
    return Moved(Layout((m, (width, _blocks(n, width))), (width, (1, p["dstStride"] * c0)), (m, n)), src)


#: LoadData repeats up to 255 times; Nd2Nz has 16384 rows at most, which its field alone does not say.
KINDS: dict[str, Kind] = {
    "Nd2Nz": Kind(_nd2nz, "Nd2NzParams", "DataCopy", {"nValue": 14, "dstNzC0Stride": 14, "dstNzNStride": 14}),
    "DataCopy": Kind(_data_copy, "DataCopyParams", "DataCopy", {"blockCount": 12}),
    "DataCopyPad": Kind(
        _data_copy_pad, "DataCopyExtParams", "DataCopyPad", {"blockCount": 12, "blockLen": 21, "srcStride": 32, "dstStride": 32}
    ),
    "LoadData2D": Kind(_load_2d, "LoadData2DParams", "LoadData", {"repeatTimes": 8, "ifTranspose": 1}),
    "LoadData2DTranspose": Kind(_load_2d_transpose, "LoadData2dTransposeParams", "LoadDataWithTranspose", {"repeatTimes": 8}),
    "LoadData3D": Kind(_load_3d, "LoadData3DParamsV2", "LoadData", {"enTranspose": 1, "fMatrixCtrl": 1}, unset=("l1W",)),
    "Fixpipe": Kind(
        _fixpipe,
        "FixpipeParamsV220",
        "Fixpipe<AscendC::{form}>",
        {"nSize": 12, "dstStride": 32, "channelSplit": 1},
        {"channelSplit": "isChannelSplit"},
    ),
}
