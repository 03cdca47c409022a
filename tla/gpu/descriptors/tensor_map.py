"""Tensor maps: what the driver encodes for TMA, with its conditions, and which elements a box reads.

A map says where a global tensor lies and what one instruction copies of it: a box (tiled), or pixels of a bounding box
and some of their channels (im2col). Extents and strides may be symbols: conditions that are not proved of them are
recorded by assuming().

Source: the CUDA driver API, cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col; the PTX manual, "Tensors",
for the modes.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from ...core.conversions import modulo, over
from ...core.element import Element
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import shown
from ...core.ints import is_int, known
from ...core.leaf_arithmetic import plus, times
from ...core.questions import require
from ...core.swizzle import make_swizzle
from ..instructions.elements import as_element, require_number, require_one_of
from .canonical import MODES, Mode
from .packed import BOTH, Packing, packing_of

#: The elements that a box has along one mode at most, the modes of a map, and the multiple of bytes of its strides.
MAX_BOX, MAX_RANK, STRIDE_BYTES = 256, 5, 16
#: Steps between the elements that a box takes, and pixels of a column, at most.
MAX_STEP, MAX_PIXELS = 8, 1024
#: The bytes that a miss of the L2 cache fetches.
PROMOTIONS = ("none", "64B", "128B", "256B")
#: The bytes of a slice of channels, of tensors such as NC/8HWC8: what starts and strides are multiples of.
INTERLEAVES = MappingProxyType({"none": 16, "16B": 16, "32B": 32})
#: Element types that the driver has by name; others of 8, 16, 32 or 64 bits are unsigned integers to it.
FORMATS = MappingProxyType(
    {
        "half": "FLOAT16",
        "bf16": "BFLOAT16",
        "float": "FLOAT32",
        "tf32": "TFLOAT32",
        "double": "FLOAT64",
        "int32": "INT32",
        "int64": "INT64",
        "uint16": "UINT16",
        "uint32": "UINT32",
        "uint64": "UINT64",
    }
)
#: A swizzle of the driver: the swizzle mode that it is.
SWIZZLES = MappingProxyType(
    {
        "none": MODES["INTER"],
        "32B": MODES["SW32"],
        "64B": MODES["SW64"],
        "128B": MODES["SW128"],
        "128B_ATOM_32B": MODES["SW128_32B"],
        "128B_ATOM_32B_FLIP_8B": MODES["SW128_32B"]._replace(name="SW128_32B_FLIP_8B"),
        "128B_ATOM_64B": Mode("SW128_64B", 128, 1, 6, 1, 2),
    }
)
#: What a flip does beside its atoms: in every other row of 128 bytes the halves of each 16 bytes change places.
FLIP = make_swizzle(1, 3, 4)
#: Rank of an im2col map: what its corners, and the filter's offsets, are below.
CORNERS = MappingProxyType({3: 1 << 15, 4: 1 << 7, 5: 1 << 4})


def swizzle_name(mode: Mode) -> str:
    """The driver's name of a swizzle mode."""
    return next(name for name, m in SWIZZLES.items() if m is mode)


@dataclass(frozen=True, kw_only=True)
class _Map:
    """The fields and conditions of all tensor maps."""

    element: Element
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    element_strides: tuple[int, ...] = ()
    swizzle: str = "none"
    interleave: str = "none"
    l2_promotion: str = "128B"
    unpacked: bool = False

    @property
    def rank(self) -> int:
        """The number of modes, 1 to 5."""
        return len(self.shape)

    @property
    def mode(self) -> Mode:
        """The swizzle mode."""
        return SWIZZLES[self.swizzle]

    @property
    def packing(self) -> Packing | None:
        """The packing of elements of 4 and 6 bits; None for others."""
        return packing_of(self.element, self.unpacked)

    @property
    def format(self) -> str:
        """The driver's name of the element type, behind CU_TENSOR_MAP_DATA_TYPE_."""
        return self.packing.name if self.packing else FORMATS.get(self.element.name, f"UINT{self.element.bits}")

    @property
    def alignment(self) -> int:
        """The bytes that the tensor's address is a multiple of."""
        return max(INTERLEAVES[self.interleave], self.packing.stride if self.packing else 0)

    @property
    def directions(self) -> tuple[str, ...]:
        """The copies that the map is for: "load", "store", or both."""
        return BOTH if self.packing is None or self.packing.swizzles is None else self.packing.swizzles[self.swizzle]

    @property
    def since(self) -> str:
        """The first architecture that takes the map: sm_100 for packed elements, and for atoms of 32 and 64 bytes.

        Source: ptxas 13 takes them in tensormap.replace for sm_100a, sm_103a, sm_110a, sm_120a and sm_121a, and refuses
        them for sm_90a.
        """
        return "sm_100" if self.packing or "ATOM" in self.swizzle else "sm_90"

    def _swizzled(self, place: Any) -> Any:
        """Addresses of shared memory, swizzled."""
        found = self.mode.swizzle(place)
        return FLIP(found) if self.swizzle.endswith("FLIP_8B") else found

    def _tuple(self, name: str, count: int) -> None:
        """Require that a field is a tuple of so many numbers; symbols too, in shape and strides."""
        given = getattr(self, name)
        symbols = name in ("shape", "strides")
        numbers = isinstance(given, tuple) and all(is_int(n) and (symbols or known(n) is not None) for n in given)
        if not numbers or len(given) != count:
            what = f"a tensor map of {name} {shown(given)}"
            raise RankError(what, f"a tuple of {count} integers", "give one for each mode")

    def _require_common(self) -> None:
        """The conditions of the driver that all maps have, after what makes them readable."""
        object.__setattr__(self, "element", as_element(self.element))
        require_one_of("the swizzle", self.swizzle, SWIZZLES, "write '128B_ATOM_64B'")
        require_one_of("the interleave", self.interleave, INTERLEAVES, "write '32B'")
        require_one_of("the L2 promotion", self.l2_promotion, PROMOTIONS, "write '256B'")
        if not isinstance(self.shape, tuple) or not 1 <= len(self.shape) <= MAX_RANK:
            what = f"a tensor map of the shape {shown(self.shape)}"
            raise RankError(what, f"1 to {MAX_RANK} extents", "merge modes of gmem")
        if isinstance(self.element_strides, tuple) and not self.element_strides:
            object.__setattr__(self, "element_strides", (1,) * self.rank)
        for name in ("shape", "strides", "element_strides"):
            self._tuple(name, self.rank)
        bits = self.element.bits
        if not isinstance(self.unpacked, bool):
            raise LeafTypeError(f"unpacked {shown(self.unpacked)}", "True or False", "leave it out, or write True")
        if not self.packing and self.element.name not in FORMATS and bits not in (8, 16, 32, 64):
            what, fix = f"a tensor map of {self.element}", "copy them as uint8, whole bytes of them"
            raise LeafTypeError(what, "elements of 4, 6, 8, 16, 32 or 64 bits", fix)
        if known(self.strides[0]) != bits // 8:
            what = f"a tensor map: the first mode of shared memory has a stride of {self.strides[0]} bytes in gmem"
            fix = "give shared memory the contiguous mode of gmem first"
            raise DivisibilityError(what, f"{bits // 8}, contiguous", fix)
        if self.packing:
            self._require_packing(self.packing)
        self._require_extents()

    def _require_packing(self, packing: Packing) -> None:
        """The conditions on elements that are parts of bytes."""
        n, multiple = self.shape[0], packing.extent
        what = f"rows of {n} elements of {self.element.bits} bits"
        _holds("divides", multiple, n, what, f"a multiple of {multiple}", f"pad them to {multiple}")
        if packing.swizzles is not None and self.swizzle not in packing.swizzles:
            what, have = f"the swizzle {self.swizzle} of {packing.name}", ", ".join(packing.swizzles)
            raise LeafTypeError(what, f"one of {have}", "write swizzle='128B'")
        if self.unpacked and self.element.bits == 6 and self.interleave != "none":
            raise LeafTypeError(f"interleave {self.interleave} of {packing.name}", "none", "write interleave='none'")

    def _require_extents(self) -> None:
        unit, multiple = self.alignment, f"a multiple of {self.alignment}"
        for n in self.shape:
            _holds("<=", 1, n, f"a mode of {n} elements", "1 to 2**32", "split the tensor")
            _holds("<=", n, 1 << 32, f"a mode of {n} elements", "1 to 2**32", "split the tensor")
        for d in self.strides[1:]:
            what, padded = f"a stride of {d} bytes", -(-d // unit) * unit if known(d) is not None else multiple
            _holds("<=", 0, d, what, "0 or more", "turn the tensor around")
            _holds("<=", d, (1 << 40) - 1, what, "less than 2**40", "split the tensor")
            _holds("divides", unit, d, what, multiple, f"pad the rows of gmem to {padded} bytes")
        for n in self.element_strides:
            what, expected = f"a step of {n} elements", f"1 to {MAX_STEP}"
            _holds("<=", 1, n, what, expected, "take every element: 1")
            _holds("<=", n, MAX_STEP, what, expected, "give the tensor itself this stride")

    def _require_row(self, count: int) -> None:
        """The conditions on the bytes of the box's first mode, by interleave and swizzle."""
        packing = self.packing
        if packing and packing.box and count != packing.box:
            what = f"a tensor map: a box of {count} elements of {packing.name}"
            raise RangeError(what, f"{packing.box}", f"take tiles of {packing.box}")
        row, span = count * (8 if self.unpacked else self.element.bits) // 8, self.mode.span
        if self.interleave == "none":
            what = f"rows of {row} bytes"
            _holds("divides", STRIDE_BYTES, row, what, f"a multiple of {STRIDE_BYTES}", "take wider tiles")
            if self.mode.bits:
                what += f" under the swizzle of {self.swizzle}"
                _holds("<=", row, span, what, f"at most {span}, its span", "tile with the swizzle's atom")
            return
        if self.rank < 3:
            what = f"a tensor map of {self.rank} modes, interleaved"
            raise RankError(what, "3 to 5", "give it all modes of NC/8HWC8")
        if self.interleave == "32B" and self.swizzle != "32B":
            what = f"interleave 32B with the swizzle {self.swizzle}"
            raise LeafTypeError(what, "32B", "write swizzle='32B', as the driver asks")

    def _known(self, what: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides as numbers."""
        if self.interleave != "none":
            why = f"{what}: which elements a box has with interleave {self.interleave}, the manuals do not say"
            slices = "give the tensor its slices of channels as a mode, of halves (8, W, H, C / 8, N)"
            raise RangeError(why, "interleave none", f"{slices}, and interleave='none'")
        shape, strides = (tuple(require_number(what, n) for n in x) for x in (self.shape, self.strides))
        return shape, strides

    def _entry(self, what: str, first: int) -> tuple[int, int, int]:
        """The elements that an entry of arrays of offsets stands for, and its bytes in shared memory and in the tensor.

        RangeError where a copy begins at an element within a group of packed ones.
        """
        packing, size = self.packing, self.element.bits // 8
        if packing is None:
            return 1, size, size
        if past := first % packing.coordinate:
            given = f"{what} of {packing.name} at element {first}"
            raise RangeError(given, f"a multiple of {packing.coordinate}", f"begin at {first - past}")
        return packing.values, packing.written, packing.read


def _holds(question: Literal["<=", "divides"], a: Any, b: Any, what: str, expected: str, fix: str) -> None:
    """Require a condition of the driver: RangeError if it fails, Unproven if it is unknown, outside assuming()."""
    if not require(question, a, b, lambda: f"a tensor map of {what}"):
        raise RangeError(f"a tensor map: {what}", expected, fix)


@dataclass(frozen=True, kw_only=True)
class TensorMap(_Map):
    """A tiled tensor map: what the driver encodes for TMA. Modes are TMA's, the contiguous one first.

    element          the element type
    shape            the extent of each mode of the global tensor [elements]; numbers, or symbols
    strides          the step of each mode [bytes]; the first is an element, and is not passed on: 0 of 4 and 6 bits
    box              what one instruction goes over [elements]
    element_strides  every n-th element of a mode of the box: 1 by default. Of the first mode the driver ignores it
    swizzle          "none", "32B", "64B", "128B", "128B_ATOM_32B", "128B_ATOM_32B_FLIP_8B" or "128B_ATOM_64B"
    interleave       "none", "16B" or "32B": channels in slices of so many bytes, as NC/8HWC8
    l2_promotion     the bytes that a miss of the L2 cache fetches: "none", "64B", "128B" or "256B"
    unpacked         whether elements of 4 or 6 bits lie in shared memory 16 in 16 bytes, with a gap behind them, as
                     MMAs that mix 4, 6 and 8 bits read them; those of 6 bits always do
    Raises           RangeError or DivisibilityError for what the driver refuses, RankError, LeafTypeError; Unproven for
                     symbols whose facts do not show a condition, outside assuming()

    >>> from tla import parse
    >>> from tla.gpu import GMMA, TensorMap, half, make_tma_copy
    >>> tma = make_tma_copy("SM90_TMA_LOAD", parse("(1024,256):(256,_1)"), GMMA.K_SW128[half], element=half)
    >>> tma.map.shape, tma.map.strides, tma.map.box, tma.map.swizzle
    ((256, 1024), (2, 512), (64, 8), '128B')
    >>> TensorMap(element=half, shape=(256, 1024), strides=(2, 512), box=(64, 8), swizzle="128B") == tma.map
    True

    Source: the CUDA driver API, `cuTensorMapEncodeTiled`.
    """

    box: tuple[int, ...]

    def __post_init__(self) -> None:
        self._require_common()
        self._tuple("box", self.rank)
        for n in self.box:
            what = f"a box of {n} elements in one mode"
            _holds("<=", 1, n, what, f"1 to {MAX_BOX}", "take tiles of 1 element or more")
            _holds("<=", n, MAX_BOX, what, f"at most {MAX_BOX}", f"take tiles of {MAX_BOX}")
        self._require_row(self.box[0])

    @property
    def loaded(self) -> tuple[int, ...]:
        """The elements of each mode that one instruction copies: the box, less what element strides leave out."""
        steps = (1, *self.element_strides[1:])
        return tuple(-(-n // step) for n, step in zip(self.box, steps))

    def offsets(self, at: tuple[int, ...], base: int = 0) -> tuple[Any, Any, Any]:
        """The offsets at which the hardware writes and reads a box that begins at a TMA coordinate, in numpy.

        at       the TMA coordinate of its first element; base where it lies in shared memory [bytes]. Of elements of 4
                 and 6 bits the contiguous mode of the arrays goes over whole bytes: 2 values, or 16 that are unpacked
        Returns  (bytes in shared memory, bytes in the tensor, whether they are inside it): arrays over what is loaded,
                 the contiguous mode last; what is outside is filled with zeros
        Raises   RankError, LeafTypeError for numbers that are not known, RangeError for interleaved maps

        >>> from tla.gpu import TensorMap, half
        >>> m = TensorMap(element=half, shape=(64, 8), strides=(2, 128), box=(8, 2))
        >>> place, begin, inside = m.offsets((0, 7))
        >>> print(place[:, 0], begin[:, 0], inside[:, 0])
        [ 0 16] [ 896 1024] [ True False]
        """
        import numpy as np

        shape, strides = self._known("offsets of a box")
        at = coordinate("offsets of a box", at, self.rank)
        values, size, read = self._entry("a box", at[0])
        at, shape, loaded = ((x[0] // values, *x[1:]) for x in (at, shape, self.loaded))
        strides = (read, *strides[1:])
        grid = [*np.ogrid[tuple(slice(n) for n in reversed(loaded))]][::-1]
        steps = [math.prod(loaded[:i]) * size for i in range(self.rank)]
        place = sum((c * d for c, d in zip(grid, steps)), np.int64(_base(base)))
        where = [a + c * step for a, c, step in zip(at, grid, (1, *self.element_strides[1:]))]
        begin = sum((w * d for w, d in zip(where, strides)), np.int64(0))
        inside = functools.reduce(np.logical_and, ((w >= 0) & (w < n) for w, n in zip(where, shape)))
        return self._swizzled(place), np.broadcast_to(begin, inside.shape), inside


@dataclass(frozen=True, kw_only=True)
class Im2colMap(_Map):
    """An im2col tensor map: an instruction copies a column of pixels of a bounding box, and some channels of each.

    element, shape, strides, swizzle, interleave, l2_promotion, unpacked   as of TensorMap; modes are C, W, (H, (D,)) N
    element_strides    of the convolution: every n-th pixel of W, H, D
    lower, upper       corners of the bounding box in W, H, D: the first pixel, and the last counted from the last of
                       the tensor; a pixel outside of the tensor is zero
    channels, pixels   what one instruction copies: at most 256 and 1024
    Raises             as TensorMap; RangeError for corners past the bits that the rank leaves, and for an empty box

    The instruction gives the first pixel, and the filter's offset that is added to each. Pixels follow on each other
    along W in the bounding box, then along H, D and N.

    >>> from tla.gpu import Im2colMap, half
    >>> Im2colMap(element=half, shape=(64, 32, 32, 8), strides=(2, 128, 4096, 131072), lower=(-1, -1), upper=(-1, -1), channels=64,
    ...     pixels=128, swizzle="128B").pixel_counts
    (32, 32, 8)

    Source: the CUDA driver API, `cuTensorMapEncodeIm2col`; the PTX manual, "Im2col mode".
    """

    lower: tuple[int, ...]
    upper: tuple[int, ...]
    channels: int
    pixels: int

    def __post_init__(self) -> None:
        self._require_common()
        if self.rank not in CORNERS:
            what = f"an im2col map of {self.rank} modes"
            raise RankError(what, "3 to 5: C, W, (H, (D,)) N", "give the tensor these modes")
        limit = CORNERS[self.rank]
        for name in ("lower", "upper"):
            self._tuple(name, self.rank - 2)
            for n in getattr(self, name):
                if not -limit <= n < limit:
                    expected = f"{-limit} to {limit - 1} of {self.rank} modes"
                    raise RangeError(f"a tensor map: the {name} corner {n}", expected, "pad less")
        for name, most in (("channels", MAX_BOX), ("pixels", MAX_PIXELS)):
            n = require_number(f"the {name} of an im2col map", getattr(self, name))
            object.__setattr__(self, name, n)
            if not 1 <= n <= most:
                raise RangeError(f"a tensor map: {n} {name}", f"1 to {most}", f"take tiles of {most}")
        for n, low, high in zip(self.shape[1:-1], self.lower, self.upper):
            what = f"a bounding box of {n + high - low} pixels"
            _holds("<=", low - high + 1, n, what, "1 or more", "pad more, or take a smaller filter")
        self._require_row(self.channels)

    @property
    def pixel_counts(self) -> tuple[Any, ...]:
        """The pixels of the bounding box that are taken along W, (H, (D,)) and N: the output's of a convolution."""
        sizes = zip(self.shape[1:-1], self.lower, self.upper, self.element_strides[1:-1])
        return (*((n + high - low - 1) // step + 1 for n, low, high, step in sizes), self.shape[-1])

    def offsets(self, at: tuple[int, ...], filter_offset: tuple[int, ...], base: int = 0) -> tuple[Any, Any, Any]:
        """The offsets at which the hardware writes and reads a column, in numpy: arrays (pixels, channels).

        at             the coordinate (c, w, (h, (d,)) n) of its first element, a pixel of the bounding box. Of elements
                       of 4 and 6 bits the channels of the arrays go over whole bytes, as in TensorMap.offsets
        filter_offset  what is added to each pixel along W, (H, (D)): the filter's coordinate times its dilation
        base           where it lies in shared memory [bytes]
        Returns        (bytes in shared memory, bytes in the tensor, whether they are inside it)

        >>> from tla.gpu import Im2colMap, half
        >>> m = Im2colMap(element=half, shape=(8, 4, 1), strides=(2, 16, 64), lower=(-1,), upper=(-1,), channels=8, pixels=4)
        >>> place, begin, inside = m.offsets((0, -1, 0), (0,))
        >>> print(begin[:, 0], inside[:, 0])
        [-16   0  16  32] [False  True  True  True]
        """
        import numpy as np

        shape, strides = self._known("offsets of a column")
        at = coordinate("offsets of a column", at, self.rank)
        shift = coordinate("the filter's offset", filter_offset, self.rank - 2)
        counts, rest = [int(n) for n in self.pixel_counts[:-1]], np.arange(self.pixels)
        where = []
        for first, low, step, count in zip(at[1:-1], self.lower, self.element_strides[1:-1], counts):
            begin, past = divmod(first - low, step)
            if past or not 0 <= begin < count:
                expected = f"{low} + i * {step}, i below {count}"
                raise RangeError(f"a column that begins at pixel {first}", expected, "begin it in the bounding box")
            rest = plus(rest, begin)
            where.append(plus(low, times(modulo(rest, count), step)))
            rest = over(rest, count)
        where = [*map(plus, where, shift), plus(at[-1], rest)]
        inside = functools.reduce(np.logical_and, ((w >= 0) & (w < n) for w, n in zip(where, shape[1:])))
        pixel = functools.reduce(plus, map(times, where, strides[1:]))
        values, size, read = self._entry("a column", at[0])
        entries = self.channels // values
        channel = plus(at[0] // values, np.arange(entries))
        place = plus(_base(base), times(np.arange(self.pixels * entries).reshape(self.pixels, -1), size))
        begin = plus(pixel[:, None], times(channel, read))
        return self._swizzled(place), begin, inside[:, None] & ((channel >= 0) & (channel < shape[0] // values))


def coordinate(what: str, at: object, rank: int) -> tuple[int, ...]:
    """A coordinate of known integers, with this number of modes."""
    if not isinstance(at, tuple) or len(at) != rank:
        expected = f"a coordinate of {rank} integers"
        raise RankError(f"{what} at {shown(at)}", expected, "give one for each mode of the map")
    numbers = tuple(require_number(what, n) for n in at)
    if any(not -(1 << 31) <= n < 1 << 31 for n in numbers):
        raise RangeError(f"{what} at {shown(numbers)}", "32-bit integers", "give a coordinate near the tensor")
    return numbers


def _base(base: object) -> int:
    """An address of shared memory [bytes]."""
    n = require_number("where a box lies in shared memory", base)
    if not 0 <= n < 1 << 18:
        what = f"a box at byte {n} of shared memory"
        raise RangeError(what, f"0 to {(1 << 18) - 1}", "give its offset in the buffer")
    return n
