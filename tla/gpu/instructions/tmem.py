"""Tensor memory of SM100: 128 data paths (lanes) of 512 columns of 32 bits, and where operands and accumulators
lie in it.

An address is a data path in its upper and a column in its lower 16 bits. In a layout's offsets both count elements, so
that an offset is the address in bits over the bits of an element: a data path is 65536 columns of 32 bits away
from the next.

Source: the PTX manual, "Tensor Memory" and "Data path layout organization"; CuTe
include/cute/atom/mma_traits_sm100_frag.hpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ...algebra.composition import composition
from ...algebra.divide import tiled_product
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import leaves, shown, size
from ...core.ints import Int, static
from ...core.layout import Layout
from ...core.strides import Shape, compact_col_major
from .atom import tv
from .elements import as_element, require_number

if TYPE_CHECKING:
    from ...core.element import Element

#: Data paths, columns of 32 bits, and the bits of the address below a data path.
LANES, COLUMNS, PATH_BITS = 128, 512, 16


def _cells(m: int, n: int, sms: int, allocation: str) -> tuple[Layout, int]:
    """The place of an instruction's (M, N) tile of an SM, as the layout into path + 128 * column, and the
    step of tiles.

    By the rows of the PTX manual's table of data path layouts, which go by M of one SM.
    """
    whole = tv((m, n), (1, LANES))
    rows = {
        (1, 128): (whole, 1),
        (1, 64): (tv(((16, 4), n), ((1, 32), LANES)), 1 if allocation == "Interleaved" else 2),
        (2, 128): (whole, 1),
        (2, 64): (tv((64, (n // 2, 2)), (1, (LANES, 64))), 1),
        (2, 32): (tv((32, (n // 4, 4)), (1, (LANES, 32))), 1),
    }
    if (sms, m) == (2, 64) and allocation == "Duplicated":
        return tv((LANES, n), (1, LANES)), 1
    if (sms, m) not in rows:
        known = " or ".join(map(str, sorted({a for s, a in rows if s == sms})))
        raise DivisibilityError(f"an operand of {m} rows on {sms} SM", f"{known} rows", "take M of the instruction")
    return rows[sms, m]


ALLOCATIONS = {1: ("Interleaved", "NonInterleaved"), 2: ("Interleaved", "Duplicated")}


def tmem_layout(
    shape: object, element: object, *, sms: int = 1, storage: int = 32, allocation: str = "Interleaved"
) -> Layout:
    """The place of an operand's part ((M, N), rest...) in tensor memory: a layout into addresses, in elements.

    shape       of one SM's part, as partition_C leaves it: M is 64 or 128 (of two SMs 32, 64 or 128), all static
    element     the element type; storage the bits that each takes: 32 of accumulators, those of the type of
                an A operand
    sms         1, or 2 for instructions of two SMs
    allocation  Interleaved: two tiles of 64 rows share columns;  NonInterleaved;  Duplicated
    Raises      RangeError for more than 512 columns; DivisibilityError for rows that no instruction has; LeafTypeError

    >>> from tla import _1, _2, _64, _128
    >>> from tla.gpu import float, half, tmem_address, tmem_layout
    >>> c = tmem_layout(((_64, _64), _2, _1), float)
    >>> print(c, tmem_layout(((_128, _128), _1, _1), half))
    (((_16,_4),_64),_2,_1):(((_65536,_2097152),_1),_1048576,_0) ((_128,_128),_1,_1):((_131072,_2),_0,_0)
    >>> tmem_address(int(c((17, 5), 1, 0)), float)
    TmemAddress(lane=49, column=5, bit=0)

    Source: CuTe `UMMA::tmem_frg`.
    """
    element = as_element(element)
    kinds = ALLOCATIONS.get(require_number("the SMs of an instruction", sms), ())
    if not isinstance(allocation, str) or allocation not in kinds:
        expected = "Interleaved; NonInterleaved of 1, Duplicated of 2"
        raise LeafTypeError(f"{allocation} tensor memory of {sms} SMs", expected, "use one of these")
    what = f"tensor memory of the shape {shown(shape)}"
    if not isinstance(shape, tuple) or not shape or not isinstance(shape[0], tuple) or len(shape[0]) != 2:
        raise RankError(what, "((M, N), rest...)", "take the shape of partition_C")
    if not all(type(n) is Int for n in leaves(shape)):
        raise LeafTypeError(what, "static extents: it is allocated", "write static(shape)")
    storage = require_number("the bits of an element's storage", storage)
    if storage < element.bits:
        raise RangeError(f"{element} in {storage} bits", f"{element.bits} or more", "leave out storage")
    if storage % element.bits:
        raise DivisibilityError(f"{element} in {storage} bits", f"a multiple of {element.bits}", "leave out storage")
    m, n = (int(size(x)) for x in shape[0])
    cells, step = _cells(m, n, sms, allocation)
    rest = Shape(*shape[1:])
    logical = tiled_product(cells, Layout(rest, compact_col_major(rest, static(step)))) if rest else cells
    path = (1 << PATH_BITS) * 32 // element.bits
    layout = composition(tv((LANES, 1 << 14), (path, storage // element.bits)), logical)
    used = tmem_columns(layout, element)
    if used > COLUMNS:
        raise RangeError(f"{what}: {used} columns", f"at most {COLUMNS}", "use a smaller tile, or fewer stages")
    return layout


class TmemAddress(NamedTuple):
    """An address of tensor memory: the data path, the column of 32 bits, and the bit in it.

    >>> from tla.gpu import TmemAddress
    >>> TmemAddress(lane=49, column=5, bit=0).lane // 32    # the warp that may reach it
    1

    Source: the PTX manual, "Tensor Memory Addressing".
    """

    lane: int
    column: int
    bit: int


def tmem_address(offset: int, element: object) -> TmemAddress:
    """The address of an offset of a layout of tensor memory; RangeError past its 128 data paths of 512 columns.

    >>> from tla.gpu import half, tmem_address
    >>> tmem_address(131072 + 3, half)
    TmemAddress(lane=1, column=1, bit=16)
    """
    bits = require_number("an offset of tensor memory", offset) * as_element(element).bits
    address = TmemAddress(bits >> (PATH_BITS + 5), bits >> 5 & (1 << PATH_BITS) - 1, bits & 31)
    if not 0 <= address.lane < LANES or address.column >= COLUMNS:
        what = f"the offset {offset} of tensor memory: data path {address.lane}, column {address.column}"
        expected = f"data paths below {LANES}, columns below {COLUMNS}"
        raise RangeError(what, expected, "take an offset of a layout of tmem_layout")
    return address


def tmem_columns(layout: Layout, element: Element) -> int:
    """The columns that a layout of tensor memory reaches, which is what tcgen05.alloc is asked for, rounded up to a
    power of two."""
    bits = as_element(element).bits
    path = (1 << PATH_BITS) * 32 // bits
    last = sum((int(s) - 1) * (int(d) % path) for s, d in zip(leaves(layout.shape), leaves(layout.stride)))
    return last * bits // 32 + 1


def tmem_allocation(columns: int) -> int:
    """The number of columns that tcgen05.alloc allocates for `columns`: a power of two from 32 to 512.

    >>> from tla.gpu import tmem_allocation
    >>> tmem_allocation(130)
    256
    """
    columns = require_number("columns of tensor memory", columns)
    found = max(32, 1 << (columns - 1).bit_length()) if columns > 0 else 0
    if not 32 <= found <= COLUMNS:
        raise RangeError(f"{columns} columns of tensor memory", f"1 to {COLUMNS}", "use smaller tiles")
    return found
