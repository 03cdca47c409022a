"""Conversions between two thread-value layouts of a tile: in registers, by shuffles in a warp, or by shared memory."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any, NamedTuple, overload

from ..core.errors import RangeError, RankError
from ..linear import LinearLayout, RadixLayout, bits
from ..linear.value import integer
from ..notation.width import ASSUMED, element_width
from .digit_plan import RadixPlan, convert_digits
from .machines import Machine
from .plan import ConversionPlan
from .rounds import stays_in_warps, within_warps
from .shuffled import Shuffled
from .sides import machine_of, on_one_tile
from .slices import onto_reached
from .steps import BYTE_BITS, Move, Shuffle, Step
from .through_memory import through_memory

#: More registers in a thread than this are refused.
MAX_REGISTERS = 4096
_INPUTS = ("register", "lane", "warp")


@overload
def convert(
    src: LinearLayout,
    dst: LinearLayout,
    element_bits: Any = ...,
    memory: Any = ...,
    through: str | None = ...,
    scratch_bytes: int | None = ...,
    tile: Any = ...,
) -> ConversionPlan: ...
@overload
def convert(
    src: RadixLayout,
    dst: object,
    element_bits: Any = ...,
    memory: Any = ...,
    through: str | None = ...,
    scratch_bytes: int | None = ...,
    tile: Any = ...,
) -> RadixPlan: ...
@overload
def convert(
    src: object,
    dst: object,
    element_bits: Any = ...,
    memory: Any = ...,
    through: str | None = ...,
    scratch_bytes: int | None = ...,
    tile: Any = ...,
) -> ConversionPlan | RadixPlan: ...
def convert(
    src: Any,
    dst: Any,
    element_bits: Any = None,
    memory: Any = None,
    through: str | None = None,
    scratch_bytes: int | None = None,
    tile: Any = None,
) -> ConversionPlan | RadixPlan:
    """A plan that brings values from the owners of `src` to those of `dst`: in registers, by shuffles in warps, or
    through memory.

    src, dst       who holds what, as access() takes owners: linear layouts of register, lane and warp onto one tile;
                   (thread, value) layouts onto its index, first mode fastest, or its coordinates, whose threads are
                   those of warps in order; partitions by an array of all threads; names of usual accesses, for what
                   registers hold behind an "ldmatrix.x4", before an "stmatrix.x4", and for a lane's vectors of others.
                   Or RadixLayouts of register, lane and warp, or of thread and value. Blocks of linear layouts have to
                   be the same on both sides: each converts what it holds
    element_bits   of an element [bits], or an element type: narrow ones are shuffled as words of 32 bits, where both
                   layouts have them together, and those of less than a byte take a byte; by default what src or dst
                   say, else 32
    memory         what there is: a machine by its name, as "sm_90" or "gfx942", or a row of the table of memories, or
                   its name, or a pair of these for writes and reads; best_swizzle chooses the layout. By default the
                   machine of a usual access that is named, else NVIDIA_SHARED
    through        "shuffle" or "memory"; by default what takes fewer cycles by the table of machines, shuffles where
                   both take as many, and neither where each lane holds its values before
    scratch_bytes  of shared memory that there is [bytes]; where the tile needs more it goes in rounds, each a
                   part of the tile
    tile           extents of the tile, first fastest; where no side says them, as beside the name of a usual access
    Returns        ConversionPlan; a RadixPlan where a side is no layout over bits; plan.why says why it goes this way
    Raises         RankError for different tiles, or none that is known; RangeError for different warps, elements that
                   the source does not hold, shuffles where values leave their warp, or too little memory

    >>> a = LinearLayout({"register": [(1,)], "lane": [(2,), (4,)]}, {"dim0": 8})
    >>> b = LinearLayout({"register": [(4,)], "lane": [(1,), (2,)]}, {"dim0": 8})
    >>> plan = convert(a, b)
    >>> plan.kind, plan.shuffles, plan.why
    ('shuffles', 2, '2 cycles of NVIDIA_SHARED, predicted; shared memory takes 2 at least')
    >>> convert(a, b, through="memory").kind
    'shared memory'
    >>> from tla.gpu import SM80_16x8x16_F32F16F16F32_TN as mma                  # its A is what ldmatrix.x4 gives
    >>> [convert(name, mma.A, 16, tile=(16, 16)).kind for name in ("ldmatrix.x4", "cp.async.16")]
    ['registers', 'shuffles']

    Source: Linear Layouts, arXiv 2505.23819, section 5.
    """
    machine, width = machine_of(memory, (src, dst)), element_width(src, dst, bits=element_bits, default=ASSUMED).bits
    if through not in (None, "shuffle", "memory"):
        what = f"convert through {through!r:.40}"
        raise RangeError(what, "'shuffle', 'memory' or None", "leave it out for the cheaper one")
    if scratch_bytes is not None and integer("convert: scratch_bytes", scratch_bytes) < 1:
        raise RangeError(f"convert through {scratch_bytes} bytes", "1 or more", 'write through="shuffle" for none')
    first, second = on_one_tile((src, dst), machine, width, tile)
    if isinstance(first, RadixLayout) and isinstance(second, RadixLayout):
        plan = functools.partial(
            convert, element_bits=width, memory=machine, through=through, scratch_bytes=scratch_bytes
        )
        return convert_digits(first, second, width, machine, through, scratch_bytes, plan)
    assert isinstance(first, LinearLayout)
    assert isinstance(second, LinearLayout)
    src, dst = _checked(first, second)
    asked = _Asked(src, dst, width, machine, scratch_bytes)
    steps = within_warps(src, dst, width)
    if through == "memory":
        return asked.by_memory("as asked")
    if steps is None:
        stays = stays_in_warps(src, dst)
        why = "lanes need many words of one lane at once" if stays else "values leave their warps"
        if through:
            expected = "at most two at once" if stays else "layouts of which each warp holds what it did"
            raise RangeError(f"convert through shuffles: {why}", expected, 'write through="memory", or leave it out')
        return asked.by_memory(why)
    return asked.within(steps, "as asked") if through or isinstance(steps[0], Move) else asked.cheaper(steps)


class _Asked(NamedTuple):
    """A conversion between checked layouts."""

    src: LinearLayout
    dst: LinearLayout
    width: int
    machine: Machine
    scratch_bytes: int | None

    @property
    def _warps(self) -> int:
        return self.src.get_in_dim_size("warp")

    def by_memory(self, why: str) -> ConversionPlan:
        carried = max(BYTE_BITS, self.width)
        found = through_memory(self.src, self.dst, carried, self.machine, self.scratch_bytes)
        cost = (0, found.bytes, found.wavefronts, found.instructions, found.wavefronts)
        return ConversionPlan("shared memory", found.steps, *cost, why, self.width, self.src, self.dst)

    def within(self, steps: tuple[Step, ...], why: str) -> ConversionPlan:
        """The plan of steps within warps."""
        if not any(isinstance(step, Shuffle) for step in steps):
            why = "each lane holds all of its values before"
            return ConversionPlan("registers", steps, 0, 0, 0, 0, 0, why, self.width, self.src, self.dst)
        found = Shuffled.of(steps, self.src, self.dst, self.width, self.machine)
        counts = (found.shuffles, 0, 0, found.shuffles, max(found.pipes) * self._warps)
        sides = (self.width, self.src, self.dst)
        return ConversionPlan("shuffles", found.steps, *counts, why, *sides, lane_moves=found.moves)

    def cheaper(self, steps: tuple[Step, ...]) -> ConversionPlan:
        """The plan of steps within warps, or by memory if that takes fewer cycles; it is looked at where it might."""
        name, plan = self.machine.name, self.within(steps, "")
        least = self._least()
        if plan.cycles <= least:
            return replace(plan, why=f"{plan.cycles} cycles of {name}, predicted; shared memory takes {least} at least")
        try:
            other = self.by_memory("")
        except RangeError as refused:
            return replace(plan, why=f"there is no way through memory: {refused.args[0]}")
        if other.cycles < plan.cycles:
            why = f"{other.cycles} cycles of {name}, predicted; shuffles and their selects take {plan.cycles}"
            return replace(other, why=why)
        return replace(plan, why=f"{plan.cycles} cycles of {name}, predicted; shared memory takes {other.cycles}")

    def _least(self) -> int:
        """Wavefronts that no way through memory avoids: each warp writes what it holds, and reads what it gets."""
        least = 0
        for layout, row in ((self.src, self.machine.write), (self.dst, self.machine.read)):
            held = 1 << bits.rank(layout.pack(v) for name in ("register", "lane") for v in layout.bases[name])
            served = max(1, row.banks) * row.word_bits
            least += self._warps * max(1, -(-held * max(BYTE_BITS, self.width) // served))
        return least


def _checked(src: LinearLayout, dst: LinearLayout) -> tuple[LinearLayout, LinearLayout]:
    """Both layouts over register, lane and warp, with outputs in one order; refused where no plan converts them."""
    if {**src.out_dims} != {**dst.out_dims}:
        what = f"convert of {src.out_dims} to {dst.out_dims}"
        raise RankError(what, "layouts of one tile", "give both the same shape")
    dst = dst.transpose_outs(src.get_out_dim_names())
    if src.bases.get("block", ()) != dst.bases.get("block", ()):
        what = "convert between several blocks: values leave their block"
        raise RangeError(what, "the same bases of block", "give what one block has")
    full = [LinearLayout({d: x.bases.get(d, ()) for d in _INPUTS}, x.out_dims) for x in (src, dst)]
    for d in ("lane", "warp"):
        if full[0].get_in_dim_size(d) != full[1].get_in_dim_size(d):
            sizes = [x.get_in_dim_size(d) for x in full]
            fix = f"write resize_in_dim({d!r}, {max(sizes)}) of the smaller: what is added holds the same"
            raise RangeError(f"convert from {sizes[0]} {d}s to {sizes[1]}", "as many", fix)
    if max(x.get_in_dim_size("register") for x in full) > MAX_REGISTERS:
        what = "convert of more registers than threads have"
        raise RangeError(what, f"{MAX_REGISTERS} at most", "convert a part of the tile")
    reached = bits.Echelon(full[0].columns)
    for v in (v for vectors in full[1].bases.values() for v in vectors):
        if not reached.spans(full[1].pack(v)):
            expected, fix = "a source that holds it", "give the source this basis, or convert to the part that it holds"
            raise RangeError(f"convert: nobody holds element ({', '.join(map(str, v))}) before", expected, fix)
    if src.bases.get("block"):
        full = [part for x in full if (part := onto_reached(x, full[0]))]
    return full[0], full[1]
