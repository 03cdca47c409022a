"""AMD's loads from global memory straight to LDS: which layouts of LDS they fill, and what each lane reads then.

One address of LDS goes for a whole wave, in M0: what lane l loads comes to M0 + width * l. Lanes choose what they read,
not where it goes. So LDS is filled in runs of 64 widths, each width a vector of elements that lie together in global
memory. A swizzle of whole vectors is no hindrance: it is the lanes' addresses in global memory that are swizzled.
Padding is one within a run.

Source: the ISA manuals of CDNA 3 and 4, "Memory buffer load to LDS": the address is LDS_base + M0 + offset + lane *
width; LLVM's AMDGPU backend for the widths of gfx942 and gfx950.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...access import Access, access
from ...access.counting import Asked
from ...access.memories import as_memory
from ...core.arrays import as_int64
from ...core.conversions import idx2crd, modulo, over
from ...core.element import Element
from ...core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError, TlaError
from ...core.int_tuple import modes_of, product_each, shown
from ...core.ints import known
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus, times
from ...tensors.offsets import offsets
from ...tensors.tensor import Tensor
from ..instructions.elements import element_of, require_number, require_one_of

if TYPE_CHECKING:
    import numpy.typing as npt

#: Lanes of a wave, and the elements of a tile that are looked at, at most.
LANES, MOST = 64, 1 << 20


class _Machine(NamedTuple):
    """The loads by their width [bits], the widest first, the bytes of LDS, and the memory that counts writes."""

    names: MappingProxyType[int, str]
    size: int
    row: str


_DWORD = {32: "dword"}
_MACHINES = MappingProxyType(
    {
        "gfx942": _Machine(MappingProxyType(_DWORD), 64 << 10, "AMD_LDS_GFX942_WRITE"),
        "gfx950": _Machine(
            MappingProxyType({128: "dwordx4", 96: "dwordx3", **_DWORD}), 160 << 10, "AMD_LDS_GFX950_WRITE"
        ),
    }
)
#: What a run of such loads begins at a multiple of [bytes]: vectors of 12 bytes are three words.
_ALIGNED = MappingProxyType({32: 4, 96: 4, 128: 16})


class LoadsToLds(NamedTuple):
    """The loads by which waves fill a layout of LDS.

    arch, width   the machine, and what each lane loads [bits]
    along         the mode of the tile whose elements lie together in global memory; None where a lane loads one element
    m0            [wave][load]: where LDS is written from, in M0 [bytes]
    elements      an array [wave, load, lane, element]: the index in the tile of what is loaded, first mode fastest
    access        what the writes cost, counted as ds_write of the width, which is inferred; None of 96 bits,
                  of which no row knows

    >>> from tla import parse
    >>> from tla.gpu import half, loads_to_lds
    >>> found = loads_to_lds(parse("Sw<3,3,3> o 0 o (_16,_64):(_64,_1)"), half, arch="gfx950", waves=2)
    >>> found.instructions, found.m0
    (('global_load_lds_dwordx4', 'buffer_load_dwordx4 lds'), ((0,), (1024,)))
    >>> [divmod(int(i), 16)[::-1] for i in found.elements[0, 0, 8:11, 0]]        # (row, column) that lanes 8 to 10 read first
    [(1, 8), (1, 0), (1, 24)]

    Source: the ISA manuals of CDNA 3 and 4.
    """

    arch: str
    width: int
    along: int | None
    m0: tuple[tuple[int, ...], ...]
    elements: npt.NDArray[Any]
    access: Access | None

    @property
    def instructions(self) -> tuple[str, str]:
        """The names of the load by an address, and by a buffer resource."""
        name = _MACHINES[self.arch].names[self.width]
        return f"global_load_lds_{name}", f"buffer_load_{name} lds"


def loads_to_lds(
    smem: object,
    element: object = None,
    *,
    arch: str = "gfx942",
    width: int | None = None,
    along: int | None = None,
    waves: int = 1,
    threads: object = None,
    base: int = 0,
) -> LoadsToLds:
    """The loads that fill a layout of LDS from global memory without registers, or the first lane to write elsewhere.

    smem      the layout or tensor of the tile in LDS, static, swizzled or not
    element   the element type, where the tensor has no buffer
    arch      "gfx942" (32 bits a lane) or "gfx950" (32, 96 or 128)
    width     of a lane's load [bits]; by default the widest that fills the layout
    along     the mode that is contiguous in global memory; by default that of the vectors in LDS
    waves     how many share the loads, run by run; with `threads` that says it
    threads   a (thread, value) layout onto the tile's index that is asked for; by default the lanes that fill
              LDS in its own order
    base      where the tile begins in LDS [bytes]
    Raises    DivisibilityError with the first element that lies elsewhere than its lane writes, or for a tile of no
              whole loads; InjectivityError for elements of one place, or that are not loaded once; RangeError,
              RankError, LeafTypeError

    >>> from tla import parse
    >>> from tla.gpu import half, loads_to_lds
    >>> loads_to_lds(parse("(_16,_64):(_64,_1)"), half).width
    32
    >>> loads_to_lds(parse("(_16,_64):(_72,_1)"), half, arch="gfx950")
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: loads_to_lds of (_16,_64):(_72,_1): lane 32 of wave 0 writes (1, 0) to byte 128
      expected  byte 144, where it lies
      fix       pad behind whole runs of 256 bytes only, or swizzle vectors of 4 bytes
    """
    element = element_of("loads_to_lds(layout, half)", smem, element)
    layout, begin = (smem.layout, smem.offset) if isinstance(smem, Tensor) else (smem, 0)
    start = require_number("where the tile begins in LDS", base)
    start += require_number("the tensor's offset", begin) * element.bits // 8
    require_one_of("loads_to_lds of", arch, _MACHINES, 'write arch="gfx950"')
    tile = _Tile.of(layout, element, start, arch)
    count = require_number("waves", waves)
    if not 1 <= count <= 16:
        raise RangeError(f"loads_to_lds by {count} waves", "1 to 16", "give the waves of one block")
    widths = _widths(arch, width, element)
    refused: TlaError | None = None
    for bits in widths:
        try:
            dealt = tile.in_order(bits, count) if threads is None else tile.of_threads(threads, bits)
            return tile.checked(dealt, bits, along)
        except TlaError as error:
            refused = error
    assert refused is not None
    raise refused


def _widths(arch: str, width: int | None, element: Element) -> list[int]:
    """The widths to try, the widest first: whole elements of them."""
    has = _MACHINES[arch].names
    width = None if width is None else require_number("width", width)
    if width is not None and width not in has:
        what = f"loads to LDS of {width} bits on {arch}"
        raise RangeError(what, f"one of {', '.join(map(str, has))}", f"write width={max(has)}")
    found = [w for w in (has if width is None else (width,)) if w % element.bits == 0]
    if not found:
        what = f"loads to LDS of elements of {element.bits} bits on {arch}"
        raise LeafTypeError(what, f"divisors of {max(has)} bits", "see the tile as elements of 32 bits: recast[uint32]")
    return found


class _Tile(NamedTuple):
    """A tile of LDS: its layout, the extents, where each element lies [bytes], in the order of their index."""

    layout: Any
    arch: str
    bits: int
    extents: tuple[int, ...]
    places: npt.NDArray[Any]

    @staticmethod
    def of(layout: Any, element: Element, base: int, arch: str) -> _Tile:
        import numpy as np

        extents = tuple(map(known, product_each(layout.shape))) if hasattr(layout, "shape") else ()
        what = f"loads_to_lds of {shown(layout)}"
        if not extents or None in extents:
            raise RankError(what, "a layout of known extents", "give its symbols values: at(layout, N=64)")
        if element.bits % 8:
            fix = "see the tile as uint8: recast[uint8]"
            raise LeafTypeError(f"loads_to_lds of {element}", "elements of whole bytes", fix)
        numbers = tuple(int(n) for n in extents if n is not None)
        if not 1 <= math.prod(numbers) <= MOST:
            raise RangeError(f"loads_to_lds of {math.prod(numbers)} elements", f"1 to {MOST}", "give one stage")
        places = plus(times(as_int64(offsets(layout)).ravel(order="F"), element.bits // 8), base)
        size = _MACHINES[arch].size
        if places.min() < 0 or places.max() + element.bits // 8 > size:
            worst = int(places.min() if places.min() < 0 else places.max())
            far = f"loads_to_lds: an element at byte {worst} of LDS"
            raise RangeError(far, f"0 to {size - 1} on {arch}", "take a smaller stage")
        if len(np.unique(places)) < len(places):
            raise InjectivityError(f"{what}: two elements of one place", "one each", "give a stage without repeats")
        return _Tile(layout, arch, element.bits, numbers, places)

    def in_order(self, width: int, waves: int) -> npt.NDArray[Any]:
        """The elements of each [wave, load, lane, element], in the order in which they lie."""
        import numpy as np

        each, run = width // self.bits, LANES * width // self.bits
        if len(self.places) % (run * waves):
            what, size = f"loads_to_lds of {len(self.places) * self.bits // 8} bytes", run * waves * self.bits // 8
            expected = f"a multiple of {size}: {waves} waves of {LANES} lanes of {width} bits"
            raise DivisibilityError(what, expected, "give a larger stage")
        runs: npt.NDArray[Any] = np.argsort(self.places).reshape(-1, waves, LANES, each).swapaxes(0, 1)
        return runs

    def of_threads(self, threads: Any, width: int) -> npt.NDArray[Any]:
        """The elements that a (thread, value) layout says."""
        each = width // self.bits
        sizes = tuple(map(known, product_each(threads.shape))) if hasattr(threads, "shape") else ()
        what = f"loads_to_lds by {shown(threads)}"
        if len(sizes) != 2 or None in sizes or (sizes[0] or 1) % LANES or (sizes[1] or 1) % each:
            expected = f"(thread, value), waves of {LANES} threads, {each} values a load"
            raise RankError(what, expected, "give a layout onto the tile's index")
        table: Any = offsets(threads)
        if table.min() < 0 or table.max() >= len(self.places):
            raise RangeError(what, f"elements 0 to {len(self.places) - 1}", "give a layout onto the tile")
        found: npt.NDArray[Any] = table.reshape(-1, LANES, table.shape[1] // each, each).swapaxes(1, 2)
        return found

    def checked(self, dealt: npt.NDArray[Any], width: int, along: int | None) -> LoadsToLds:
        """The loads, once it is proved that each lane writes what it loads to its place, element by element."""
        import numpy as np

        size, each = self.bits // 8, width // self.bits
        mode = self._along(dealt, along) if each > 1 else None
        at = self.places[dealt]
        starts = at[:, :, 0, 0]
        wanted = starts[:, :, None, None] + np.arange(LANES)[:, None] * (width // 8) + np.arange(each) * size
        if (wrong := _first(at != wanted)) is not None:
            wave, _load, lane, _element = wrong
            writes = f"lane {lane} of wave {wave} writes {self._coordinate(dealt[wrong])} to byte {int(wanted[wrong])}"
            what = f"loads_to_lds of {shown(self.layout)}: {writes}"
            fix = f"pad behind whole runs of {LANES * width // 8} bytes only, or swizzle vectors of {width // 8} bytes"
            raise DivisibilityError(what, f"byte {int(at[wrong])}, where it lies", fix)
        if (odd := _first(starts % _ALIGNED[width] != 0)) is not None:
            what = f"loads_to_lds: a run of {width}-bit loads begins at byte {int(starts[odd])}"
            raise DivisibilityError(what, f"a multiple of {_ALIGNED[width]}", "align the stage, and its padding")
        missing = np.bincount(dealt.ravel(), minlength=len(self.places)) != 1
        if (index := _first(missing)) is not None:
            what = f"loads_to_lds: {self._coordinate(index[0])} is not loaded once"
            fix = "give the threads the whole tile, without repeats"
            raise InjectivityError(what, "every element by one lane", fix)
        m0 = tuple(map(tuple, starts.tolist()))
        return LoadsToLds(self.arch, width, mode, m0, dealt, self._written(dealt, width))

    def _along(self, dealt: npt.NDArray[Any], along: int | None) -> int:
        """The mode that the vectors go along, all of them, from a whole word of 4 bytes on."""
        steps = [math.prod(self.extents[:k]) for k in range(len(self.extents))]
        second, begin = (int(dealt[0, 0, 0, k]) for k in (1, 0))
        found = next((k for k, d in enumerate(steps) if d == second - begin and self.extents[k] > 1), None)
        mode = found if along is None else along
        if mode is None or not 0 <= require_number("along", mode) < len(steps):
            follows = f"{self._coordinate(second)} is behind {self._coordinate(begin)}"
            what = f"loads_to_lds of {shown(self.layout)}: {follows}"
            raise DivisibilityError(what, "vectors along one mode", "swizzle whole vectors, or name the mode: along=0")
        start = modulo(over(dealt[..., 0], steps[mode]), self.extents[mode])
        count = dealt.shape[-1]
        inside = (modulo(times(start, self.bits), 32) == 0) & (plus(start, count) <= self.extents[mode])
        follows = (dealt == plus(dealt[..., :1], times(_range(count), steps[mode]))).all(-1)
        if (wrong := _first(~(inside & follows))) is not None:
            what = f"loads_to_lds of {shown(self.layout)}: the {count} elements"
            what += f" from {self._coordinate(dealt[wrong][0])} on"
            expected = f"one after another along mode {mode}, from a whole word on"
            raise DivisibilityError(what, expected, "swizzle whole vectors, or load narrower ones")
        return mode

    def _coordinate(self, index: Any) -> tuple[Any, ...]:
        return tuple(modes_of(idx2crd(int(index), self.extents)))

    def _written(self, dealt: npt.NDArray[Any], width: int) -> Access | None:
        """The writes to LDS, counted for what each lane has, in the order of waves, loads, lanes and elements."""
        if width not in as_memory(_MACHINES[self.arch].row).widths:
            return None
        waves, loads, _, each = dealt.shape
        owners = Layout(((LANES, waves), (each, loads)), ((each, loads * LANES * each), (1, LANES * each)))
        offsets_of = self.places[dealt].ravel() // (self.bits // 8)
        return access(owners, offsets_of, self.bits, Asked(width, True), _MACHINES[self.arch].row)


def _range(count: int) -> npt.NDArray[Any]:
    import numpy as np

    return np.arange(count)


def _first(wrong: npt.NDArray[Any]) -> tuple[int, ...] | None:
    """The first index where an array is true; None where it is nowhere."""
    import numpy as np

    if not wrong.any():
        return None
    found: Sequence[Any] = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return tuple(int(i) for i in found)
