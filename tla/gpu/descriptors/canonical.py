"""Canonical layouts of shared memory: what wgmma, tcgen05.mma and TMA read, as atoms that tile a whole buffer.

An atom is 8 rows of 16 bytes, or of as many bytes as its swizzle spans: 32, 64, 128. K atoms are contiguous along K, MN
atoms along M or N. A swizzle of bytes is Sw<B,4,3>; here it acts on elements, so its base is 4 less the log
of their bytes.

Source: CuTe include/cute/atom/mma_traits_sm90_gmma.hpp and mma_traits_sm100.hpp, Layout_K_SW128_Atom and its kin.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ...algebra.divide import tile_to_shape, tiled_divide
from ...core.composed import ComposedLayout
from ...core.element import Element
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError, Reason, Unproven
from ...core.int_tuple import product_each, rank, shown
from ...core.ints import IntTree, IntTupleLike, known, static
from ...core.kinds import AnyLayout
from ...core.layout import Layout
from ...core.swizzle import Swizzle, make_swizzle
from ...tensors.offsets import offsets
from ...tensors.tensor import Tensor
from ..instructions.atom import Major, tv
from ..instructions.elements import as_element

if TYPE_CHECKING:
    import numpy.typing as npt

C = TypeVar("C")
_0 = static(0)
#: The bits of a unit of shared memory, 16 bytes, and the rows of a core matrix.
UNIT_BITS, ROWS = 128, 8


class Mode(NamedTuple):
    """A swizzle mode: the bytes that a row of its atom has, and the swizzle of bytes.

    span       16, 32, 64 or 128 [bytes]
    bits, base, shift   of the swizzle of byte addresses, Sw<bits,base,shift>
    rows   of an atom, and of a core matrix
    """

    name: str
    span: int
    bits: int
    base: int = 4
    shift: int = 3
    rows: int = ROWS

    @property
    def swizzle(self) -> Swizzle:
        """The swizzle of byte addresses."""
        return make_swizzle(self.bits, self.base, self.shift)

    @property
    def pattern(self) -> int:
        """The bytes after which the swizzle repeats, which a buffer is aligned to; of no swizzle a unit's."""
        return 1 << self.base + self.shift + self.bits if self.bits else UNIT_BITS // 8


MODES = {m.name: m for m in (Mode("INTER", 16, 0), Mode("SW32", 32, 1), Mode("SW64", 64, 2), Mode("SW128", 128, 3))}
#: 128 bytes in atoms of 32 bytes, for MN-major operands of 32 bits on SM100.
MODES["SW128_32B"] = Mode("SW128_32B", 128, 2, 5, 2, 4)


class CanonicalAtom:
    """An atom of shared memory: `GMMA.K_SW128[half]` is its layout in elements.

    >>> from tla import tile_to_shape, _64, _128
    >>> from tla.gpu import GMMA, half
    >>> print(GMMA.K_SW128[half], tile_to_shape(GMMA.MN_SW32[half], (_128, _64)))
    Sw<3,3,3> o _0 o (_8,_64):(_64,_1) Sw<1,3,3> o _0 o ((_16,_8),(_8,_8)):((_1,_128),(_16,_1024))

    The swizzle acts on elements; CuTe keeps it on bytes, Sw<3,4,3>, in the pointer. Raises DivisibilityError for
    elements that do not fill 16 bytes. Source: CuTe `GMMA::Layout_K_SW128_Atom<half_t>`.
    """

    def __init__(self, family: str, major: Major, mode: Mode) -> None:
        self.family, self.major, self.mode = family, major, mode
        self.name = f"{major}_{mode.name}"

    def __getitem__(self, element: object) -> Any:
        bits = as_element(element).bits
        if UNIT_BITS % bits:
            what, expected = f"{self.name} of elements of {bits} bits", f"elements that fill {UNIT_BITS} bits"
            raise DivisibilityError(what, expected, "take their 8-bit containers, as uint8")
        row, rows = self.mode.span * 8 // bits, self.mode.rows
        layout = tv((rows, row), (row, 1)) if self.major is Major.K else tv((row, rows), (1, row))
        return swizzled(self.mode, bits, layout)

    def __repr__(self) -> str:
        return f"{self.family}.{self.name}"


def swizzled(mode: Mode, bits: int, layout: Layout) -> Any:
    """A layout of elements behind the swizzle of a mode."""
    return ComposedLayout(make_swizzle(mode.bits, element_base(mode, bits), mode.shift), _0, layout)


def element_base(mode: Mode, bits: int) -> int:
    """The base of a mode's swizzle where it acts on elements: 2**base of them fill its 16 or 32 bytes."""
    return mode.base - (bits.bit_length() - 4)


class _Canonical:
    """The atoms of an instruction set as attributes: `GMMA.K_INTER`, `GMMA.MN_SW64` ...

    >>> from tla.gpu import GMMA, UMMA, float
    >>> print(GMMA.MN_SW32[float], UMMA.MN_SW128_32B[float])
    Sw<1,2,3> o _0 o (_8,_8):(_1,_8) Sw<2,3,2> o _0 o (_32,_4):(_1,_32)

    Source: CuTe `GMMA::Layout_MN_SW32_Atom` and its kin.
    """

    def __init__(self, name: str, modes: dict[str, str]) -> None:
        self._name = name
        self.atoms = {
            f"{major}_{mode}": CanonicalAtom(name, Major[major], MODES[mode])
            for mode, majors in modes.items()
            for major in majors.split()
        }

    def __getattr__(self, name: str) -> CanonicalAtom:
        found = self.__dict__.get("atoms", {}).get(name)
        if found is None:
            raise AttributeError(f"{self._name} has {', '.join(self.__dict__.get('atoms', {}))}, and no {name}")
        return found  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return self._name


_BOTH: dict[str, str] = dict.fromkeys(("INTER", "SW32", "SW64", "SW128"), "K MN")
#: What wgmma reads (SM90), and what tcgen05.mma reads (SM100).
GMMA = _Canonical("GMMA", _BOTH)
UMMA = _Canonical("UMMA", {**_BOTH, "SW128_32B": "MN"})


def tile_to_mma_shape(atom: Any, shape: IntTree, order: IntTupleLike | None = None) -> AnyLayout:
    """An atom repeated to the shape ((MMA_M, MMA_K), M_MMAs, K_MMAs, ...) of an operand, one mode for each.

    >>> from tla import _1, _16, _4, _64
    >>> from tla.gpu import GMMA, half, tile_to_mma_shape
    >>> print(tile_to_mma_shape(GMMA.K_SW128[half], ((_64, _16), _1, _4)))
    Sw<3,3,3> o _0 o ((_64,_16),_1,_4):((_64,_1),_0,_16)

    Source: CuTe `UMMA::tile_to_mma_shape`.
    """
    if not isinstance(shape, tuple) or len(shape) < 3 or not isinstance(shape[0], tuple) or len(shape[0]) != 2:
        expected = "((MMA_M, MMA_K), M_MMAs, K_MMAs, ...)"
        raise RankError(f"tile_to_mma_shape of {shown(shape)}", expected, "take partition_shape_A's")
    (m, k), whole = shape[0], (*shape[1:],)
    extents = tuple(product_each((m, k)))
    full = ((extents[0], whole[0]), (extents[1], whole[1]), *whole[2:])
    tiled = tile_to_shape(atom, full) if order is None else tile_to_shape(atom, full, order)
    return tiled_divide(tiled, extents)


class Swizzled(NamedTuple):
    """A layout of shared memory taken apart: its swizzle's mode, the offset before it, the layout inside [elements]."""

    mode: Mode
    offset: Any
    inner: Layout


def taken_apart(where: str, layout: object, element: Element) -> Swizzled:
    """The swizzle mode, offset and inner layout of shared memory or its tensor; DivisibilityError for another swizzle.

    where   what a message begins with
    """
    layout = layout.layout if isinstance(layout, Tensor) else layout
    if isinstance(layout, Layout):
        return Swizzled(MODES["INTER"], _0, layout)
    if not isinstance(layout, ComposedLayout):
        what = f"a layout of shared memory: {type(layout).__name__}"
        raise LeafTypeError(what, "a layout, swizzled or not", "take tensor.layout")
    if not isinstance(layout.inner, Layout) or isinstance(layout.outer, (Layout, ComposedLayout)):
        what = f"{where}{shown(layout)}: more than one swizzle over a layout"
        raise DivisibilityError(what, "Sw<B,M,S> o offset o layout", "leave one of the swizzles out")
    swizzle = layout.outer
    for mode in MODES.values():
        if (swizzle.bits, swizzle.base, swizzle.shift) == (mode.bits, element_base(mode, element.bits), mode.shift):
            return Swizzled(mode, layout.offset, layout.inner)
    given = [f"Sw<{m.bits},{element_base(m, element.bits)},{m.shift}>" for m in MODES.values() if m.bits]
    expected = ", ".join(given[:-1]) + f" or {given[-1]}: no other is one of 32, 64 or 128 bytes"
    what = f"{where}the swizzle {swizzle} of elements of {element.bits} bits"
    raise DivisibilityError(what, expected, "take an atom of GMMA or UMMA")


class Canonical(NamedTuple):
    """The canonical layout that a buffer has: which atom is repeated, and in which order.

    atom      its name, as "GMMA.K_SW128": getattr(GMMA, "K_SW128")[element] is its layout
    order     of the repetitions over the modes, _1 the fastest: tile_to_shape(atom, shape, order) is the buffer

    >>> from tla import _1, _2
    >>> from tla.gpu import Canonical
    >>> str(Canonical("GMMA.K_SW128", (_1, _2)))
    'GMMA.K_SW128 in the order (_1,_2)'

    Source: CuTe `tile_to_shape`.
    """

    atom: str
    order: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.atom} in the order {shown(self.order)}"


#: The elements that shared memory has at most: 256 KiB, the reach of a descriptor, of 1 bit.
MOST = 1 << 21


def canonical(layout: Any, element: Any) -> Canonical | Reason:
    """The canonical layout of shared memory that a layout is: which atom is repeated to its shape, in which order.

    layout    a layout or tensor (MN, K) or (MN, K, stages) with known extents and strides, swizzled or not
    element   the element type
    Returns   Canonical; or the Reason why it is none: the first coordinate, the first mode fastest, whose address is
              not that of the canonical layout that agrees with it at the most coordinates
    Raises    RankError for other ranks, RangeError for more than 256 KiB, Unproven for unknown sizes; LeafTypeError;
              DivisibilityError for an element type that no atom has

    >>> from tla import parse, tile_to_shape, _1, _2, _64, _128
    >>> from tla.gpu import GMMA, canonical, half
    >>> print(canonical(tile_to_shape(GMMA.K_SW64[half], (_128, _64), (_2, _1)), half))
    GMMA.K_SW64 in the order (_2,_1)
    >>> why = canonical(parse("(_64,_64):(_72,_1)"), half)
    >>> print(why.what, "|", why.expected, "|", why.fix)
    (_64,_64):(_72,_1): (8, 0) lies at byte 1152 | byte 1024, as in GMMA.K_SW128 in the order (_1,_2) | \
write tile_to_shape(GMMA.K_SW128[half], (_64,_64), (_1,_2))

    Tiles of a buffer, which descriptors read, need not be whole atoms: ask for the buffer's. Source: CuTe
    `GMMA::Layout_K_SW128_Atom`.
    """
    element = as_element(element)
    layout = layout.layout if isinstance(layout, Tensor) else layout
    shape = _known_shape(layout)
    given = offsets(layout)
    found = nearest(given, _candidates(shape, element))
    if found is None:
        what, least = f"{shown(layout)}: an extent that no atom divides", product_each(GMMA.K_INTER[element].shape)
        return Reason(what, f"multiples of {shown(least)} at least", "pad it to these")
    closest, wanted, at = found
    if at is None:
        return closest
    own, other = (f"byte {int(x[at]) * element.bits / 8:g}" for x in (given, wanted))
    fix = f"write tile_to_shape({closest.atom}[{element}], {shown(tuple(map(static, shape)))}, {shown(closest.order)})"
    return Reason(f"{shown(layout)}: {at} lies at {own}", f"{other}, as in {closest}", fix)


def _candidates(shape: tuple[int, ...], element: Element) -> Iterator[tuple[Canonical, npt.NDArray[Any]]]:
    """Every canonical layout of a shape, with its offsets; atoms of UMMA that GMMA has too are GMMA's."""
    umma = {f"UMMA.{n}": a for n, a in UMMA.atoms.items() if n not in GMMA.atoms}
    for name, atom in (umma | {f"GMMA.{n}": a for n, a in GMMA.atoms.items()}).items():
        tile = atom[element]
        if any(n % int(m) or not n for n, m in zip(shape, product_each(tile.shape))):
            continue
        for order in itertools.permutations(map(static, range(1, len(shape) + 1))):
            yield Canonical(name, order), offsets(tile_to_shape(tile, shape, order))


def nearest(
    given: npt.NDArray[Any], candidates: Iterable[tuple[C, Any]]
) -> tuple[C, Any, tuple[int, ...] | None] | None:
    """The candidate whose values agree with the given ones at the most coordinates; the first of those that are equal.

    Returns   the candidate, its values, the first coordinate that differs, the first mode fastest; None
              for no candidates
    """
    import numpy as np

    best: tuple[int, C, Any] | None = None
    for candidate, values in candidates:
        wrong = int(np.count_nonzero(given != values))
        if not wrong:
            return candidate, values, None
        if best is None or wrong < best[0]:
            best = (wrong, candidate, values)
    if best is None:
        return None
    index = int(np.argmax((given != best[2]).ravel(order="F")))
    return *best[1:], tuple(int(i) for i in np.unravel_index(index, given.shape, order="F"))


def _known_shape(layout: Any) -> tuple[int, ...]:
    """The extents of a layout of shared memory, 2 or 3 known ones."""
    what = f"canonical of {shown(layout)}"
    if not isinstance(layout, (Layout, ComposedLayout)):
        raise LeafTypeError(what, "a layout of shared memory", "take tensor.layout")
    if rank(layout) not in (2, 3):
        raise RankError(what, "two modes, (MN, K), or three with the stages", "group its modes with group")
    extents = known_extents(what, layout)
    if math.prod(extents) > MOST:
        raise RangeError(what, f"at most {MOST} elements, 256 KiB", "take the layout of one buffer")
    return extents


def known_extents(what: str, layout: Layout | ComposedLayout) -> tuple[int, ...]:
    """The extents of a layout's modes; Unproven where one is not known."""
    extents = tuple(int(n) for n in map(known, product_each(layout.shape)) if n is not None)
    if len(extents) < rank(layout):
        raise Unproven(what, "known extents and strides", "give its symbols values: at(layout, N=128)")
    return extents
