"""The instructions that could take a layout of shared memory, and for each that could not, the first reason.

Source: the contracts of this package: descriptors, TMA, and the rows of ldmatrix and cp.async by the PTX manual.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..algebra.modes import take
from ..algebra.recast import upcast
from ..core.element import Element
from ..core.errors import DivisibilityError, Reason, TlaError
from ..core.int_tuple import product_each, rank, shown, size
from ..core.ints import static
from ..core.layout import Layout
from ..tensors.make_tensor import MakeTensor
from ..tensors.tensor import Tensor
from ..tensors.views import local_tile
from .canonical import UNIT_BITS, taken_apart
from .elements import as_element, require_number
from .matrix_descriptor import umma_descriptor, wgmma_descriptor
from .tma import make_tma_copy


class Contract(NamedTuple):
    """An instruction, and whether it could take a layout.

    instruction   what it is;  holds  whether it could
    given         what it is given then: a Descriptor, a TMACopy, or the layout of 16-byte units
    reason        why not, with what was expected and a fix

    >>> from tla import parse
    >>> from tla.gpu import contracts, half
    >>> found = contracts(parse("(_128,_64):(_72,_1)"), half)
    >>> print(found[4].holds, found[-1])
    True TMA: make_tma_copy: boxes 144 bytes apart in shared memory

    Source: the contracts of this package.
    """

    instruction: str
    holds: bool
    given: Any = None
    reason: Reason | None = None

    def __str__(self) -> str:
        return f"{self.instruction}: {'yes' if self.reason is None else self.reason.what}"


def contracts(layout: Any, element: Any) -> list[Contract]:
    """Every instruction that reads or writes shared memory, and whether it could take a layout (MN, K) of it.

    layout    of one stage: a layout or tensor of two modes, static
    element   the element type
    Returns   a Contract for each: wgmma and tcgen05.mma by its first tile of 64 or 128 rows and 32 bytes of K, ldmatrix, cp.async
              and AMD's ds_read_b128 by rows of 16 bytes, TMA by a global tensor with the layout's own contiguous mode

    >>> from tla import tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, contracts, half
    >>> for c in contracts(tile_to_shape(GMMA.K_SW128[half], (_128, _64)), half): print(c.instruction, c.holds)
    wgmma K True
    wgmma MN False
    tcgen05.mma K True
    tcgen05.mma MN False
    ldmatrix True
    ldmatrix.trans False
    cp.async 16 True
    ds_read_b128 True
    TMA True

    Source: the PTX manual.
    """
    element = as_element(element)
    return [_tried(name, check, layout, element) for name, check in _CHECKS.items()]


def _tried(name: str, check: Callable[[Any, Element], Any], layout: Any, element: Element) -> Contract:
    try:
        return Contract(name, True, check(layout, element))
    except TlaError as error:
        return Contract(name, False, None, error.reason)


def _descriptor(make: Callable[..., Any], rows: int, major: str) -> Callable[[Any, Element], Any]:
    def check(layout: Any, element: Element) -> Any:
        k = static(2 * UNIT_BITS // element.bits)
        tensor = layout if isinstance(layout, Tensor) else MakeTensor(None, layout)
        if rank(tensor.layout) == 2:
            tensor = local_tile(tensor, (static(min(rows, int(size(tensor.layout[0])))), k), (0, 0))
        return make(tensor, major, element)

    return check


def _rows_of_16_bytes(mode: int | None) -> Callable[[Any, Element], Any]:
    """Whether 16 bytes along a mode, or along any, lie together and at a multiple of 16 bytes."""

    def check(layout: Any, element: Element) -> Any:
        parts = taken_apart(layout.layout if isinstance(layout, Tensor) else layout, element)
        if isinstance(parts, Reason):
            raise DivisibilityError(*parts)
        count = UNIT_BITS // element.bits
        reason = None
        for i in range(rank(parts.inner)) if mode is None else (mode,):
            units = _units(parts.inner, count)
            if size(units[i]) * count == size(parts.inner[i]):
                return units
            parted = int(size(parts.inner[i])) % count
            reason = f"16 bytes along mode {i} of {shown(parts.inner)} {'reach past its end' if parted else 'are not contiguous'}"
        raise DivisibilityError(
            str(reason), f"{count} contiguous elements at a multiple of 16 bytes", "pad rows to 16 bytes, or use another major"
        )

    return check


def _units(inner: Layout, count: int) -> Any:
    """The layout in units of 16 bytes; DivisibilityError where some would be cut, or begin at no multiple of 16 bytes."""
    try:
        return upcast[count](inner)
    except TlaError as error:
        why = error.reason.what.rpartition(": ")[2]
        what = f"{shown(inner)} has no whole units of 16 bytes, {count} elements: {why}"
        raise DivisibilityError(what, error.reason.expected, "pad rows to 16 bytes, or use another major") from None


def _tma(layout: Any, element: Element) -> Any:
    """A TMA load of a global tensor that has the layout's extents and its contiguous mode."""
    inner = taken_apart(layout.layout if isinstance(layout, Tensor) else layout, element)
    if isinstance(inner, Reason):
        raise DivisibilityError(*inner)
    extents = product_each(inner.inner.shape)
    first = min(range(len(extents)), key=lambda i: _step(inner.inner, i))
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
    "wgmma K": _descriptor(wgmma_descriptor, 64, "K"),
    "wgmma MN": _descriptor(wgmma_descriptor, 64, "MN"),
    "tcgen05.mma K": _descriptor(umma_descriptor, 128, "K"),
    "tcgen05.mma MN": _descriptor(umma_descriptor, 128, "MN"),
    "ldmatrix": _rows_of_16_bytes(1),
    "ldmatrix.trans": _rows_of_16_bytes(0),
    "cp.async 16": _rows_of_16_bytes(None),
    "ds_read_b128": _rows_of_16_bytes(None),
    "TMA": _tma,
}
