"""Conversions of owners over digits of any extents: in slices over bits, as a larger tile wrapped, by padded rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import RangeError, RankError, TlaError
from ..linear import LinearLayout, RadixLayout
from ..linear.arguments import checked
from .device_text import function_text, loaded, require_name, stored
from .dialects import CUDA, HIP, Dialect
from .exchanged import through_shared, with_exchanges
from .inside_warps import Inside
from .machines import Machine
from .plan import ConversionPlan, require_shape
from .slices import Registers, Slices, ways
from .steps import BYTE_BITS
from .through_rows import AnySide, Rows, elements

if TYPE_CHECKING:
    import numpy.typing as npt

_HARDWARE = ("register", "lane", "warp")


@dataclass(frozen=True)
class RadixPlan:
    """The way of values from the owners of one layout over digits to those of another.

    kind           "registers", "shuffles" or "shared memory"
    shuffles, bytes, wavefronts, instructions, cycles, why, element_bits   as of a ConversionPlan
    slices         where the tile goes in slices: their registers in both layouts, None for padding, and `part`, the
                   plan of each, of all warps or of one of them; of values that stay in their thread one
                   slice, without a part
    rows           where it goes through shared memory whole: both sides of it
    exchanged      where lanes exchange slices beside that: "src" before values are stored, "dst" after they are loaded
    inside         where what stays in its warp is shuffled, and the rest goes through memory: both
    src, dst       the layouts

    >>> from tla.access import convert
    >>> from tla.linear import radix
    >>> a = radix("register=(2,3):(1,32), lane=16:2 -> column=96")               # pairs along a row, three times
    >>> b = radix("register=(2,3):(16,32), lane=16:1 -> column=96")
    >>> plan = convert(a, b)
    >>> plan.kind, plan.shuffles, len(plan.slices)
    ('shuffles', 6, 3)
    """

    kind: str
    shuffles: int
    bytes: int
    wavefronts: int
    instructions: int
    cycles: int
    why: str
    element_bits: int
    slices: tuple[tuple[Registers, Registers], ...]
    part: ConversionPlan | None
    rows: Rows | None
    src: RadixLayout = field(repr=False)
    dst: RadixLayout = field(repr=False)
    exchanged: str = ""
    inside: Inside | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """The plan in words: its way, why, and what it costs."""
        lines = [f"{self.kind}: {self.why}"]
        if self.shuffles:
            lines.append(f"{self.shuffles} shuffles of each warp")
        if self.bytes:
            counts = f"{self.instructions} instructions of each warp, {self.wavefronts} wavefronts of all"
            lines.append(f"{counts}, {self.bytes} bytes of memory")
        return "\n".join(lines)

    def run(self, values: object) -> npt.NDArray[Any]:
        """The plan executed on an array [warp, lane, register], or [thread, value] as its layouts are: what the
        destination holds.

        >>> import numpy as np
        >>> from tla.access import convert
        >>> from tla.linear import radix
        >>> a, b = radix("thread=6:1, value=2:6 -> index=12"), radix("thread=6:2, value=2:1 -> index=12")
        >>> convert(a, b).run(np.arange(12).reshape(2, 6).T).tolist()
        [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
        """
        import numpy as np

        given = np.asarray(values)
        require_shape(given.shape, _sizes(self.src), _axes(self.src))
        if self.inside:
            return self.inside.run(given.reshape(-1, given.shape[-1])).reshape(_sizes(self.dst))
        if self.exchanged == "src":
            given = self._by_slices(given, given.shape)
        if self.rows is None:
            return self._by_slices(given, _sizes(self.dst))
        memory = np.zeros(self.rows.elements, given.dtype)
        memory[np.array(self.rows.store.offsets())] = given.reshape(-1, given.shape[-1])
        found = memory[np.array(self.rows.load.offsets())].reshape(_sizes(self.dst))
        return self._by_slices(found, found.shape) if self.exchanged == "dst" else found

    def _by_slices(self, given: npt.NDArray[Any], sizes: tuple[int, ...]) -> npt.NDArray[Any]:
        """The plan of slices executed, to an array of these sizes."""
        import numpy as np

        found = np.zeros(sizes, given.dtype)
        if self.part is None:
            ((held, _),) = self.slices
            found.reshape(-1, found.shape[-1])[:] = given.reshape(-1, given.shape[-1])[:, np.array(held)]
            return found
        groups = given.reshape(-1, *_warps(self.part.src), given.shape[-1])
        into = found.reshape(-1, *_warps(self.part.dst), found.shape[-1])
        for (group, held), (src, dst) in itertools.product(enumerate(groups), self.slices):
            moved = self.part.run(held[:, :, [r or 0 for r in src]])
            for k, r in enumerate(dst):
                if r is not None:
                    into[group, :, :, r] = moved[:, :, k]
        return found

    @checked
    def cuda(self, name: str = "convert") -> str:
        """The plan as a CUDA device function, as ConversionPlan.cuda has it; of slices that one function and a
        call for each.

        >>> from tla.access import convert
        >>> from tla.linear import radix
        >>> a, b = radix("thread=6:1, value=2:6 -> index=12"), radix("thread=6:2, value=2:1 -> index=12")
        >>> for line in convert(a, b).cuda().splitlines()[3:7]:
        ...     print(line.strip())
        const unsigned src_at = thread;
        smem[src_at + 0] = src[0];
        smem[src_at + 6] = src[1];
        __syncthreads();
        """
        return self._text(CUDA, name)

    @checked
    def hip(self, name: str = "convert") -> str:
        """The plan as a HIP device function, as cuda() has it.

        >>> from tla.access import convert
        >>> from tla.linear import radix
        >>> a, b = radix("register=(2,3):(3,1) -> column=6"), radix("register=(3,2):(1,3) -> column=6")
        >>> print(convert(a, b, memory="gfx942").hip().splitlines()[-1])
        }
        """
        return self._text(HIP, name)

    def gluon(self, name: str = "convert") -> str:
        """Refuse, by RangeError: Gluon's layouts are of extents that are powers of two, and these are not."""
        what = f"Gluon of a conversion of {self.src} to {self.dst}"
        fix = "write cuda() or hip(); or convert the tile padded to powers of two, as linear layouts"
        raise RangeError(what, "layouts of extents that are powers of two, as Triton's are", fix)

    def _text(self, dialect: Dialect, name: str) -> str:
        require_name(dialect.name, name)
        if self.slices and self.part is None:
            ((held, _),) = self.slices
            return function_text(name, False, [f"dst[{k}] = src[{r}];" for k, r in enumerate(held)])
        functions, lines = [], []
        if self.inside:
            lines = [*self.inside.text(dialect, max(BYTE_BITS, self.element_bits))]
        elif self.rows is not None:
            lines = [*_rows_text(dialect, self.rows, max(BYTE_BITS, self.element_bits))]
        if self.part is not None:
            slice_name = f"{name}_slice"
            functions.append(self.part.cuda(slice_name) if dialect is CUDA else self.part.hip(slice_name))
            if self.rows is None:
                lines = [*self._calls(slice_name, bool(self.bytes))]
            else:
                functions.append(function_text(f"{name}_memory", True, lines))
                lines = [*self._around(name)]
        return "\n".join([*functions, function_text(name, bool(self.bytes), lines)])

    def _around(self, name: str) -> Iterator[str]:
        """The exchanges before or after the way through memory."""
        yield f"T mid[{sum(len(of) for of, _ in self.slices)}];"
        if self.exchanged == "src":
            yield from self._calls(f"{name}_slice", False, into="mid")
            yield f"{name}_memory(mid, dst, smem);"
        else:
            yield f"{name}_memory(src, mid, smem);"
            yield from self._calls(f"{name}_slice", False, of="mid")

    def _calls(self, slice_name: str, memory: bool, of: str = "src", into: str = "dst") -> Iterator[str]:
        """A call for each slice, in memory of its own, or one after the other in the same; each group of warps
        in its own."""
        assert self.part
        groups = _groups(self.src, self.part)
        again = self.bytes == _share(self.part) * groups
        width = max(BYTE_BITS, self.element_bits)
        step = 0 if again else _share(self.part) * 8 // width
        threads = math.prod(_warps(self.part.src))
        own = f" + threadIdx.x / {threads}u * {self.bytes // groups * 8 // width}" if groups > 1 else ""
        for k, (src, dst) in enumerate(self.slices):
            if k and again and memory:
                yield "__syncthreads();"
            smem = f", smem + {k * step}{own}" if memory else ""
            held = ", ".join("T()" if r is None else f"{of}[{r}]" for r in src)
            kept = " ".join(f"{into}[{r}] = got[{i}];" for i, r in enumerate(dst) if r is not None)
            yield f"{{ const T held[] = {{{held}}}; T got[{len(dst)}]; {slice_name}(held, got{smem}); {kept} }}"


def convert_digits(
    src: RadixLayout,
    dst: RadixLayout,
    element_bits: int,
    machine: Machine,
    through: str | None,
    scratch_bytes: int | None,
    over_bits: Callable[[LinearLayout, LinearLayout], ConversionPlan],
) -> RadixPlan:
    """The plan of two layouts over digits; over_bits plans those of a slice.

    Raises     as convert() does, and RangeError for layouts that are no slices alike and whose sums wrap
    """
    src, dst = _of_hardware(src), _of_hardware(dst)
    if src.out_sizes != dst.out_sizes:
        what = f"convert of {src.out_sizes} to {dst.out_sizes}"
        raise RankError(what, "layouts of one tile", "give both the same shape")
    if (found := _over_bits(src, dst, machine, scratch_bytes, over_bits)) is not None:
        return found
    first, second = _of_threads(src), _of_threads(dst)
    if first.in_sizes["thread"] != second.in_sizes["thread"]:
        what = f"convert from {first.in_sizes['thread']} threads to {second.in_sizes['thread']}"
        raise RangeError(what, "as many", "give both layouts the same threads")
    if through != "memory" and (held := _before(first, second)) is not None:
        why = "each thread holds all of its values before"
        registers = ((held, (*range(len(held)),)),)
        return RadixPlan("registers", 0, 0, 0, 0, 0, why, element_bits, registers, None, None, src, dst)
    if through == "shuffle":
        what = "convert through shuffles: odd digits change their owners"
        raise RangeError(what, "slices that are alike", "leave `through` out")
    plan = _through_memory((src, dst), (first, second), element_bits, machine, through, scratch_bytes)
    inside = None if through else Inside.of(first, second, max(BYTE_BITS, element_bits), machine)
    return _inside_warps(inside, plan, scratch_bytes) if inside and inside.cycles < plan.cycles else plan


def _inside_warps(inside: Inside, other: RadixPlan, scratch_bytes: int | None) -> RadixPlan:
    """The plan by shuffles of what stays in its warp; another one where it takes more memory than there is."""
    rows, width = inside.rows, max(BYTE_BITS, other.element_bits)
    size = rows.elements * width // 8
    if scratch_bytes is not None and size > scratch_bytes:
        return other
    counts = (inside.shuffles, size, rows.wavefronts, rows.instructions + inside.shuffles, inside.cycles)
    why = "odd digits change their owners; what stays in its warp is shuffled"
    sides = (other.src, other.dst)
    return RadixPlan("shared memory", *counts, why, other.element_bits, (), None, None, *sides, inside=inside)


def _through_memory(
    layouts: Sequence[RadixLayout],
    of_threads: Sequence[RadixLayout],
    element_bits: int,
    machine: Machine,
    through: str | None,
    scratch_bytes: int | None,
) -> RadixPlan:
    """The plan through memory of the layouts, which are also given over thread and value."""
    width, why = max(BYTE_BITS, element_bits), "odd digits change their owners"
    (src, dst), (first, second) = layouts, of_threads
    rows = through_shared(first, second, width, machine)
    if rows is None:
        what = f"convert of {element_bits} bits through memory: no access of whole values"
        expected = "a width that memory has, and threads in whole warps or in digits of the tile"
        raise RangeError(what, expected, "cut elements into words first, or give whole warps")
    beside = None if through else with_exchanges(first, second, width, machine, rows.wavefronts)
    rows = beside.rows if beside else rows
    size = rows.elements * width // 8
    if scratch_bytes is not None and size > scratch_bytes:
        what = f"convert through {scratch_bytes} bytes"
        raise RangeError(what, f"{size} at least, the whole tile", f"give {size} bytes")
    if beside is None:
        counts = (0, size, rows.wavefronts, rows.instructions, rows.wavefronts)
        return RadixPlan("shared memory", *counts, why, element_bits, (), None, rows, src, dst)
    shuffles = beside.part.shuffles * len(beside.slices)
    counts = (shuffles, size, rows.wavefronts, rows.instructions + shuffles, beside.cycles)
    why += f"; lanes exchange values {'before they are stored' if beside.side == 'src' else 'after they are loaded'}"
    parts = (beside.slices, beside.part, rows)
    return RadixPlan("shared memory", *counts, why, element_bits, *parts, src, dst, beside.side)


def _over_bits(
    src: RadixLayout,
    dst: RadixLayout,
    machine: Machine,
    scratch_bytes: int | None,
    over_bits: Callable[[LinearLayout, LinearLayout], ConversionPlan],
) -> RadixPlan | None:
    """The plan in slices, or of the larger tile that both wrap; None where neither is."""
    split = [_of_warps(x, machine.read.lanes) for x in (src, dst)]
    if split[0] is None or split[1] is None:
        return None
    plans = []
    for way in ways(split[0], split[1]):
        try:
            plans.append(_of_slices(way, over_bits(way.src, way.dst), src, dst, scratch_bytes))
        except TlaError:  # of other warps, or a part that nobody holds: the whole may have it
            continue
    return min(plans, key=lambda plan: (plan.cycles, plan.bytes), default=None)


def _of_slices(
    way: Slices, part: ConversionPlan, src: RadixLayout, dst: RadixLayout, scratch_bytes: int | None
) -> RadixPlan:
    """The plan of slices, which go one after the other through the same memory where that is small."""
    n, groups = len(way.registers), _groups(src, part)
    one = _share(part) * groups
    if scratch_bytes is not None and one > scratch_bytes:
        what = f"convert through {scratch_bytes} bytes"
        raise RangeError(what, f"{one} at least, a part of each warp", f"give {one} bytes")
    size = one * n if scratch_bytes is None or one * n <= scratch_bytes else one
    counts = (part.shuffles * n, size, part.wavefronts * n * groups, part.instructions * n, part.cycles * n * groups)
    why = f"{way.why}; {part.why}"
    return RadixPlan(part.kind, *counts, why, part.element_bits, way.registers, part, None, src, dst)


# ------------------------------------------------------------------------------------------------- owners


def _of_hardware(layout: RadixLayout) -> RadixLayout:
    """The layout over register, lane and warp, or over thread and value, in this order."""
    names = {*layout.in_sizes}
    if names == {"thread", "value"}:
        wanted: Sequence[str] = ("thread", "value")
    elif names <= {*_HARDWARE}:
        wanted = _HARDWARE
    else:
        what = f"convert of a layout of {', '.join(layout.in_sizes) or 'no inputs'}"
        raise RankError(what, "register, lane and warp, or thread and value", "rename its inputs")
    return RadixLayout({name: layout.bases.get(name, []) for name in wanted}, layout.outs)


def _of_warps(layout: RadixLayout, lanes: int) -> RadixLayout | None:
    """The layout over register, lane and warp; None where threads are no digits of lanes and warps."""
    if "lane" in layout.in_sizes:
        return layout
    threads, values = layout.in_sizes["thread"], layout.in_sizes["value"]
    width = min(lanes, threads)
    turned = RadixLayout({name: layout.bases[name] for name in ("value", "thread")}, layout.outs)
    try:
        return turned.reshape_ins({"register": values, "lane": width, "warp": threads // width})
    except RangeError:
        return None


def _of_threads(layout: RadixLayout) -> RadixLayout:
    """The layout over thread and value."""
    if "thread" in layout.in_sizes:
        return layout
    values, lanes, warps = (layout.in_sizes[name] for name in _HARDWARE)
    turned = layout.reshape_ins({"value": values, "thread": lanes * warps})
    return RadixLayout({name: turned.bases[name] for name in ("thread", "value")}, turned.outs)


def _before(src: RadixLayout, dst: RadixLayout) -> Registers | None:
    """The values of every thread that hold before what it is to hold, one after another; None where there are none."""
    held, wanted = elements(src), elements(dst)
    first = held[0].tolist()
    found = [first.index(x) for x in wanted[0].tolist() if x in first]
    return (*found,) if len(found) == wanted.shape[1] and (held[:, found] == wanted).all() else None


def _sizes(layout: RadixLayout) -> tuple[int, ...]:
    return tuple(layout.in_sizes[name] for name in _axes(layout).split(", "))


def _axes(layout: RadixLayout) -> str:
    return "thread, value" if "thread" in layout.in_sizes else "warp, lane, register"


def _groups(layout: RadixLayout, part: ConversionPlan) -> int:
    """The number of groups of warps that each do the conversion of a part."""
    threads = math.prod(n for name, n in layout.in_sizes.items() if name in ("thread", "lane", "warp"))
    return threads // math.prod(_warps(part.src))


def _share(part: ConversionPlan) -> int:
    """The bytes from one part's memory to the next: vectors begin at multiples of 16; a part of less takes its own."""
    return part.bytes if part.bytes < 16 else -(-part.bytes // 16) * 16


def _warps(layout: LinearLayout) -> tuple[int, int]:
    return layout.get_in_dim_size("warp"), layout.get_in_dim_size("lane")


# ------------------------------------------------------------------------------------------------- text


def _rows_text(dialect: Dialect, rows: Rows, width: int) -> Iterator[str]:
    yield "const unsigned thread = threadIdx.x;"
    yield from rows.text
    yield from _side_text(dialect, rows.store, width, "src")
    yield "__syncthreads();"
    yield from _side_text(dialect, rows.load, width, "dst")


def _side_text(dialect: Dialect, side: AnySide, width: int, name: str) -> Iterator[str]:
    yield from side.head(name)
    mover = [*side.mover(dialect, name, width)]
    yield from mover
    for place, vector in side.accesses(name):
        yield (stored if name == "src" else loaded)(vector, place, bool(mover))
