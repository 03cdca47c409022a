"""Canonical layouts of shared memory: what wgmma, tcgen05.mma and TMA read, as atoms that tile a whole buffer.

An atom is 8 rows of 16 bytes, or of as many bytes as its swizzle spans: 32, 64, 128. K atoms are contiguous along K, MN atoms
along M or N. A swizzle of bytes is Sw<B,4,3>; here it acts on elements, so its base is 4 less the log of their bytes.

Source: CuTe include/cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp, Layout_K_SW128_Atom and its kin.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..algebra.divide import tile_to_shape, tiled_divide
from ..core.composed import ComposedLayout
from ..core.element import Element
from ..core.errors import DivisibilityError, LeafTypeError, RankError, Reason
from ..core.int_tuple import product_each, shown
from ..core.ints import static
from ..core.layout import Layout
from ..core.swizzle import make_swizzle
from .atom import Major
from .elements import as_element

_0 = static(0)
#: The bits of a unit of shared memory, 16 bytes, and the rows of a core matrix.
UNIT_BITS, ROWS = 128, 8


class Mode(NamedTuple):
    """A swizzle mode: the bytes that a row of its atom has, and the swizzle of bytes.

    span       16, 32, 64 or 128 [bytes]
    bits, base, shift   of the swizzle of byte addresses, Sw<bits,base,shift>
    """

    name: str
    span: int
    bits: int
    base: int = 4
    shift: int = 3


MODES = {m.name: m for m in (Mode("INTER", 16, 0), Mode("SW32", 32, 1), Mode("SW64", 64, 2), Mode("SW128", 128, 3))}
#: 128 bytes in atoms of 32 bytes, for MN-major operands of 32 bits on SM100.
MODES["SW128_32B"] = Mode("SW128_32B", 128, 2, 5, 2)


class CanonicalAtom:
    """An atom of shared memory: `GMMA.K_SW128[half]` is its layout in elements.

    >>> from tla import tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, half
    >>> print(GMMA.K_SW128[half], tile_to_shape(GMMA.MN_SW32[half], (_128, _64)))
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1) Sw<1,3,3> o _0 o ((_16,_8),(_8,_8)):((_1,_128),(_16,_1024))

    The swizzle acts on elements; CuTe keeps it on bytes, Sw<3,4,3>, in the pointer. Raises DivisibilityError for elements that
    do not fill 16 bytes. Source: CuTe `GMMA::Layout_K_SW128_Atom<half_t>`.
    """

    def __init__(self, major: Major, mode: Mode) -> None:
        self.major, self.mode = major, mode
        self.name = f"{major}_{mode.name}"

    def __getitem__(self, element: Any) -> Any:
        bits = as_element(element).bits
        if UNIT_BITS % bits:
            what = f"{self.name} of elements of {bits} bits"
            raise DivisibilityError(what, f"elements that fill {UNIT_BITS} bits", "take their 8-bit containers, as uint8")
        row = static(self.mode.span * 8 // bits)
        rows = static(4 if self.mode.name == "SW128_32B" else ROWS)
        shape, stride = ((rows, row), (row, static(1))) if self.major is Major.K else ((row, rows), (static(1), row))
        return swizzled(self.mode, bits, Layout(shape, stride))

    def __repr__(self) -> str:
        return f"GMMA.{self.name}"


def swizzled(mode: Mode, bits: int, layout: Layout) -> Any:
    """A layout of elements behind the swizzle of a mode."""
    return ComposedLayout(make_swizzle(mode.bits, element_base(mode, bits), mode.shift), _0, layout)


def element_base(mode: Mode, bits: int) -> int:
    """The base of a mode's swizzle where it acts on elements: 2**base of them fill its 16 or 32 bytes."""
    return mode.base - (bits.bit_length() - 4)


class _Canonical:
    """The atoms of an instruction set as attributes: `GMMA.K_INTER`, `GMMA.MN_SW64` ..."""

    def __init__(self, name: str, modes: dict[str, str]) -> None:
        self._name = name
        self.atoms = {
            f"{major}_{mode}": CanonicalAtom(Major[major], MODES[mode]) for mode, majors in modes.items() for major in majors.split()
        }

    def __getattr__(self, name: str) -> CanonicalAtom:
        found = self.__dict__.get("atoms", {}).get(name)
        if found is None:
            raise AttributeError(f"{self._name} has {', '.join(self.__dict__.get('atoms', {}))}, and no {name}")
        return found  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self._name


_BOTH = dict.fromkeys(("INTER", "SW32", "SW64", "SW128"), "K MN")
#: What wgmma reads (SM90), and what tcgen05.mma reads (SM100).
GMMA = _Canonical("GMMA", _BOTH)
UMMA = _Canonical("UMMA", {**_BOTH, "SW128_32B": "MN"})


def tile_to_mma_shape(atom: Any, shape: Any, order: Any = None) -> Any:
    """An atom repeated to the shape ((MMA_M, MMA_K), M_MMAs, K_MMAs, ...) of an operand, one mode for each.

    >>> from tla import _1, _16, _4, _64
    >>> from tla.gpu import GMMA, half, tile_to_mma_shape
    >>> print(tile_to_mma_shape(GMMA.K_SW128[half], ((_64, _16), _1, _4)))
    Sw<3,3,3> o _0 o ((_64,_16),_1,_4):((_64,_1),_0,_16)

    Source: CuTe `UMMA::tile_to_mma_shape`.
    """
    if not isinstance(shape, tuple) or len(shape) < 3 or not isinstance(shape[0], tuple) or len(shape[0]) != 2:
        raise RankError(f"tile_to_mma_shape of {shown(shape)}", "((MMA_M, MMA_K), M_MMAs, K_MMAs, ...)", "take partition_shape_A's")
    (m, k), whole = shape[0], (*shape[1:],)
    extents = tuple(product_each((m, k)))
    full = ((extents[0], whole[0]), (extents[1], whole[1]), *whole[2:])
    tiled = tile_to_shape(atom, full) if order is None else tile_to_shape(atom, full, order)
    return tiled_divide(tiled, extents)


class Swizzled(NamedTuple):
    """A layout of shared memory taken apart: the mode of its swizzle, the offset before it, the layout inside [elements]."""

    mode: Mode
    offset: Any
    inner: Layout


def taken_apart(layout: Any, element: Element) -> Swizzled | Reason:
    """The swizzle mode, offset and inner layout of a layout of shared memory; the reason if it has another swizzle."""
    if isinstance(layout, Layout):
        return Swizzled(MODES["INTER"], _0, layout)
    if not isinstance(layout, ComposedLayout):
        raise LeafTypeError(f"a layout of shared memory: {type(layout).__name__}", "a layout, swizzled or not", "take tensor.layout")
    if not isinstance(layout.inner, Layout) or isinstance(layout.outer, (Layout, ComposedLayout)):
        return Reason(f"{shown(layout)}: more than one swizzle over a layout", "Sw<B,M,S> o offset o layout", "compose its parts")
    swizzle = layout.outer
    for mode in MODES.values():
        if (swizzle.bits, swizzle.base, swizzle.shift) == (mode.bits, element_base(mode, element.bits), mode.shift):
            return Swizzled(mode, layout.offset, layout.inner)
    given = [f"Sw<{m.bits},{element_base(m, element.bits)},{m.shift}>" for m in MODES.values() if m.bits]
    what = f"the swizzle {swizzle} of elements of {element.bits} bits"
    return Reason(what, ", ".join(given[:-1]) + f" or {given[-1]}: no other is one of 32, 64 or 128 bytes", "take an atom of GMMA or UMMA")
