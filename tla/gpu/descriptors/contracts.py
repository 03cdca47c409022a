"""The instructions that could take a layout of shared or global memory, and for each that could not, the first reason.

Source: the contracts of this package: descriptors, TMA, operands from LDS, block loads, buffers; and the rows of 16
bytes of ldmatrix, stmatrix and cp.async by the PTX manual.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ...algebra.modes import take
from ...algebra.recast import upcast
from ...core.element import Element
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, Reason, TlaError
from ...core.int_tuple import product_each, rank, shown, size
from ...core.ints import static
from ...core.layout import Layout
from ...tensors.make_tensor import MakeTensor
from ...tensors.tensor import Tensor
from ...tensors.views import local_tile
from ..instructions import tcgen05, wgmma
from ..instructions.atom import Major, MMAAtom
from ..instructions.elements import CODES, as_element, require_number
from ..instructions.names import atoms
from .block_2d import SHAPES, block_2d
from .buffer_resource import buffer_resource
from .canonical import UNIT_BITS, taken_apart
from .loads_to_lds import loads_to_lds
from .matrix_descriptor import umma_descriptor, wgmma_descriptor
from .operand_reads import operand_reads
from .tma import make_tma_copy
from .vectors import vectors_along

if TYPE_CHECKING:
    from .block_2d import Block2D
    from .descriptor import Descriptor
    from .operand_reads import OperandReads
    from .tma import TMACopy


class Contract(NamedTuple):
    """An instruction, and whether it could take a layout.

    instruction   what it is;  holds  whether it could
    given         what it is given then: a Descriptor, a TMACopy, OperandReads, LoadsToLds, a Block2D, a BufferResource,
                  or the layout of 16-byte units
    reason        why not, with what was expected and a fix

    >>> from tla import parse
    >>> from tla.gpu import contracts, half
    >>> found = {c.instruction: c for c in contracts(parse("(_128,_64):(_72,_1)"), half)}
    >>> print(found["ldmatrix"].holds, found["TMA"])
    True TMA: make_tma_copy: boxes 144 bytes apart in shared memory

    Source: the contracts of this package.
    """

    instruction: str
    holds: bool
    given: Any = None
    reason: Reason | None = None

    def __str__(self) -> str:
        return f"{self.instruction}: {'yes' if self.reason is None else self.reason.what}"


def contracts(layout: object, element: object) -> list[Contract]:
    """Every instruction with a form of memory of its own, and whether it could take a layout (MN, K).

    layout    of one stage: a layout or tensor of two modes, static
    element   the element type
    Returns   a Contract for each. Of shared memory: wgmma and tcgen05.mma by the first tile of 64 or 128 rows and 32
              bytes of K, tcgen05.cp by its 128 rows of 256 bits; ldmatrix, stmatrix, cp.async and AMD's ds_read_b128 by
              rows of 16 bytes; MFMA of CDNA 3 and WMMA of RDNA 4 by the loads of their first A; TMA by a global tensor
              with the layout's own contiguous mode; AMD's loads straight to LDS by one wave. Of global memory: Intel's
              2D block loads and stores of 8 rows, and AMD's buffer loads, by its resource

    >>> from tla import tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, contracts, half
    >>> for c in contracts(tile_to_shape(GMMA.K_SW128[half], (_128, _64)), half): print(c.instruction, c.holds)
    wgmma K True
    wgmma MN False
    tcgen05.mma K True
    tcgen05.mma MN False
    tcgen05.cp 128x256b True
    ldmatrix True
    ldmatrix.trans False
    stmatrix True
    stmatrix.trans False
    cp.async 16 True
    ds_read_b128 True
    MFMA A True
    WMMA A True
    TMA True
    block_2d read False
    block_2d write False
    buffer_load False
    load to LDS gfx942 True
    load to LDS gfx950 True

    Source: the PTX manual.
    """
    element = as_element(element)
    return [_tried(name, check, layout, element) for name, check in _CHECKS.items()]


def _tried(name: str, check: Callable[[Any, Element], Any], layout: object, element: Element) -> Contract:
    try:
        return Contract(name, True, check(layout, element))
    except TlaError as error:
        return Contract(name, False, None, error.reason)


def _tile(layout: Any, rows: int, k: int) -> Tensor:
    """The first tile of so many rows, or of all, and of k columns."""
    tensor = layout if isinstance(layout, Tensor) else MakeTensor(None, layout)
    if rank(tensor.layout) != 2:
        return tensor
    return local_tile(tensor, (static(min(rows, int(size(tensor.layout[0])))), static(k)), (0, 0))


def _wgmma(major: Major, layout: object, element: Element) -> Descriptor:
    _require_major("wgmma", wgmma.majors, major, element)
    return wgmma_descriptor(_tile(layout, 64, 2 * UNIT_BITS // element.bits), major, element)


def _tcgen05_mma(major: Major, layout: object, element: Element) -> Descriptor:
    _require_major("tcgen05.mma", tcgen05.majors, major, element)
    found = umma_descriptor(_tile(layout, 128, 2 * UNIT_BITS // element.bits), major, element)
    if major is Major.MN and element.bits == 32 and found.mode.name != "SW128_32B":
        what = f"tcgen05.mma of {element}, MN-major under {found.mode.name}"
        fix = f"tile UMMA.MN_SW128_32B[{element}]"
        raise RangeError(what, "128 bytes in pieces of 32, for elements of 32 bits", fix)
    return found


def _require_major(name: str, majors: Callable[[Element], tuple[Major, ...]], major: Major, element: Element) -> None:
    """Refuse an operand of a type that the instruction does not multiply, or not with this mode contiguous."""
    if not (has := majors(element)):
        known = ", ".join(e.name for e in CODES.values() if majors(e))
        raise LeafTypeError(f"{name} of {element}", f"one of {known}", "convert the elements first")
    if major not in has:
        both = ", ".join(e.name for e in CODES.values() if major in majors(e))
        expected = f"K-major: only {both} may lie the other way"
        raise RangeError(f"{name} of {element}, {major}-major", expected, "make K contiguous")


def _tcgen05_cp(layout: object, element: Element) -> Descriptor:
    """The descriptor of 128 rows of 256 bits, which tcgen05.cp.128x256b brings to the data paths of tensor memory."""
    tile = _tile(layout, 128, 2 * UNIT_BITS // element.bits)
    if size(tile.layout[0]) != 128:
        what = f"tcgen05.cp.128x256b of {size(tile.layout[0])} rows"
        raise DivisibilityError(what, "128", "give a stage of 128 rows")
    return umma_descriptor(tile, "K", element)


def _operand_a(arch: str, layout: object, element: Element) -> OperandReads:
    """The loads of A of an architecture's first matrix instruction for the type, of one block."""
    known = [a for a in atoms(arch=arch, kind=MMAAtom) if a.blocks == 1]
    atom = next((a for a in known if a.val_A is element), None)
    if atom is None:
        what, types = f"a matrix instruction of {arch} for {element}", dict.fromkeys(a.val_A.name for a in known)
        raise LeafTypeError(what, f"one of {', '.join(types)}", "convert the elements first")
    m, _n, k = map(int, atom.shape_mnk)
    return operand_reads(atom, "A", _tile(layout, m, k).layout)


def _block(operation: str, layout: object, element: Element) -> Block2D:
    columns = next((s.width for s in SHAPES[operation] if s.bits == element.bits), 16)
    return block_2d(operation, layout, 8, columns, element=element)


def _transposed_rows(layout: object, element: Element) -> Any:
    """Rows of the instructions that transpose: only elements of 8 and 16 bits."""
    if element.bits not in (8, 16):
        raise LeafTypeError(f"{element}, transposed", "elements of 8 or 16 bits", "use the other major, or plain loads")
    return _rows_of_16_bytes(0, layout, element)


def _rows_of_16_bytes(mode: int | None, layout: object, element: Element) -> Any:
    """The layout of 16-byte units, if 16 bytes along a mode, or along any, lie together, at multiples of 16 bytes."""
    inner = taken_apart("", layout, element).inner
    reason = Reason("a layout of no modes", "two, (MN, K)", "give a stage")
    for i in range(rank(inner)) if mode is None else (mode,):
        vectors = vectors_along(i, inner, UNIT_BITS, element, "pad rows to 16 bytes, or use another major")
        if (why := vectors.why_not(lambda: "contracts")) is None:
            return upcast[vectors.elements](inner)
        reason = why
    raise DivisibilityError(*reason)


def _tma(layout: object, element: Element) -> TMACopy:
    """A TMA load of a global tensor that has the layout's extents and its contiguous mode."""
    inner = taken_apart("", layout, element).inner
    extents = product_each(inner.shape)
    first = min(range(len(extents)), key=lambda i: _step(inner, i))
    strides, step = [0] * len(extents), 1
    for i in [first, *(i for i in range(len(extents)) if i != first)]:
        strides[i], step = step, step * int(extents[i])
    gmem = Layout(extents, tuple(static(d) for d in strides))
    return make_tma_copy("SM90_TMA_LOAD", gmem, layout, element=element)


def _step(inner: Layout, i: int) -> int:
    """The distance of the second element of a mode from the first; of one element, as far as can be."""
    mode = take[i, i + 1](inner)
    if int(size(mode)) <= 1:
        return 1 << 62
    return require_number(f"TMA: the step of {shown(mode)}", mode(1))


_CHECKS: dict[str, Callable[[Any, Element], Any]] = {
    "wgmma K": partial(_wgmma, Major.K),
    "wgmma MN": partial(_wgmma, Major.MN),
    "tcgen05.mma K": partial(_tcgen05_mma, Major.K),
    "tcgen05.mma MN": partial(_tcgen05_mma, Major.MN),
    "tcgen05.cp 128x256b": _tcgen05_cp,
    "ldmatrix": partial(_rows_of_16_bytes, 1),
    "ldmatrix.trans": _transposed_rows,
    "stmatrix": partial(_rows_of_16_bytes, 1),
    "stmatrix.trans": _transposed_rows,
    "cp.async 16": partial(_rows_of_16_bytes, None),
    "ds_read_b128": partial(_rows_of_16_bytes, None),
    "MFMA A": partial(_operand_a, "cdna3"),
    "WMMA A": partial(_operand_a, "rdna4"),
    "TMA": _tma,
    "block_2d read": partial(_block, "read"),
    "block_2d write": partial(_block, "write"),
    "buffer_load": buffer_resource,
    "load to LDS gfx942": partial(loads_to_lds, arch="gfx942"),
    "load to LDS gfx950": partial(loads_to_lds, arch="gfx950"),
}
