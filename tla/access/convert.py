"""Conversions between two thread-value layouts of a tile: in registers, by shuffles in a warp, or through shared memory.

Where each value comes from is a linear map R, from the destination's register, lane and warp to the source's; where a value has
several owners, R takes the nearest: the same lane of the same warp before another lane, that before another warp.

Shuffles: in a round each lane sends one register and reads one lane. The rounds are the cosets of a space D of (register, lane)
with one register for each lane, on which no two lanes read one lane for different registers. D is a common complement of the
registers and of what R takes to a lane's registers; two spaces of one size always have one. So there are as many rounds as
registers, or fewer where a round moves nothing between lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.errors import RangeError, RankError
from ..linear import LinearLayout, bits
from ..linear.value import integer
from .counting import access
from .memories import NVIDIA_SHARED, Memory, as_memory
from .synthesis import best_swizzle

if TYPE_CHECKING:
    import numpy.typing as npt

#: More registers in a thread than this are refused.
MAX_REGISTERS = 4096
_INPUTS = ("register", "lane", "warp")


class Move(NamedTuple):
    """Registers copied within each thread: destination register -> source register.

    >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
    >>> b = LinearLayout({"register": [(2,), (1,)], "lane": []}, {"dim0": 4})
    >>> convert(a, b).steps
    (Move(table=(0, 2, 1, 3)),)
    """

    table: tuple[int, ...]


class Shuffle(NamedTuple):
    """One round in each warp: each lane sends a register, reads one lane, and keeps it in a register.

    send, source, into   one for each lane; into is -1 where a lane keeps nothing

    >>> a = LinearLayout({"register": [], "lane": [(1,), (2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [], "lane": [(2,), (1,)]}, {"dim0": 4})
    >>> convert(a, b).steps
    (Shuffle(send=(0, 0, 0, 0), source=(0, 2, 1, 3), into=(0, 0, 0, 0)),)
    """

    send: tuple[int, ...]
    source: tuple[int, ...]
    into: tuple[int, ...]

    @property
    def crosses(self) -> bool:
        """Whether any value leaves its lane: else it is a copy in registers, chosen by lane."""
        return any(i >= 0 and s != lane for lane, (s, i) in enumerate(zip(self.source, self.into)))


class Spread(NamedTuple):
    """Registers of the destination copied to those that hold the same: destination register -> the one that has it.

    >>> a = LinearLayout({"register": [], "lane": [(1,), (2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [(0,)], "lane": [(2,), (1,)]}, {"dim0": 4})
    >>> convert(a, b).steps[-1]
    Spread(table=(0, 0))
    """

    table: tuple[int, ...]


class Store(NamedTuple):
    """All registers written to shared memory of a layout from elements to offsets.

    >>> a = LinearLayout({"register": [], "lane": [(1,)], "warp": [(2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [], "lane": [(2,)], "warp": [(1,)]}, {"dim0": 4})
    >>> convert(a, b).steps
    (Store(layout=parse('_4:_1')), Load(layout=parse('_4:_1')))
    """

    layout: Any


class Load(NamedTuple):
    """All registers read from shared memory, after a barrier.

    >>> Load("the layout that was stored to").layout
    'the layout that was stored to'
    """

    layout: Any


@dataclass(frozen=True)
class ConversionPlan:
    """How values get from the owners of one layout to those of another.

    kind         "registers", "shuffles" or "shared memory"
    steps        Move, Shuffle, Spread, Store and Load, in order
    shuffles     rounds that move values between lanes
    bytes        of shared memory
    wavefronts   of all warps' stores and loads
    src, dst     the layouts

    run(values) executes it; cuda(name) is its text.

    >>> a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
    >>> convert(a, a).kind
    'registers'
    """

    kind: str
    steps: tuple[Any, ...]
    shuffles: int
    bytes: int
    wavefronts: int
    src: LinearLayout = field(repr=False)
    dst: LinearLayout = field(repr=False)

    def run(self, values: Any) -> npt.NDArray[Any]:
        """The plan executed on an array [warp, lane, register]: the array that the destination holds.

        >>> import numpy as np
        >>> a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,)], "lane": [(1,)]}, {"dim0": 4})
        >>> convert(a, b).run(np.arange(4).reshape(1, 2, 2)).tolist()
        [[[0, 2], [1, 3]]]
        """
        import numpy as np

        given = np.asarray(values)
        if given.shape != _sizes(self.src):
            raise RankError(
                f"run of an array of shape {given.shape}", f"{_sizes(self.src)}: warp, lane, register", "give one value for each"
            )
        found = np.zeros(_sizes(self.dst), given.dtype)
        memory: npt.NDArray[Any] = np.zeros(0, given.dtype)
        for step in self.steps:
            if isinstance(step, Move):
                found[:] = given[:, :, list(step.table)]
            elif isinstance(step, Shuffle):
                _shuffle(step, given, found)
            elif isinstance(step, Spread):
                found = found[:, :, list(step.table)]
            elif isinstance(step, Store):
                at = _offsets(self.src, step.layout)
                memory = np.zeros(int(at.max()) + 1, given.dtype)
                memory[at] = given
            else:
                found[:] = memory[_offsets(self.dst, step.layout)]
        return found

    def cuda(self, name: str = "convert") -> str:
        """The plan as a CUDA device function: `src` and `dst` are a thread's registers, `smem` shared memory.

        >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,), (1,)], "lane": []}, {"dim0": 4})
        >>> print(convert(a, b).cuda())
        template <class T>
        __device__ void convert(const T* src, T* dst) {
          dst[0] = src[0]; dst[1] = src[2]; dst[2] = src[1]; dst[3] = src[3];
        }
        """
        body = [line for step in self.steps for line in _cuda_of(step, self)]
        smem = ", T* smem" if self.bytes else ""
        return "\n".join(["template <class T>", f"__device__ void {name}(const T* src, T* dst{smem}) {{", *(f"  {x}" for x in body), "}"])


def convert(src: LinearLayout, dst: LinearLayout, element_bits: int = 32, memory: Any = NVIDIA_SHARED) -> ConversionPlan:
    """A plan that brings values from the owners of `src` to those of `dst`: in registers, else in warps, else through memory.

    src, dst       linear layouts of register, lane and warp onto one tile
    element_bits   of an element, for shared memory [bits]
    memory         a row of the table, or its name; best_swizzle chooses the layout in it
    Returns        ConversionPlan
    Raises         RankError for different tiles, RangeError for different warps, or elements that the source does not hold

    >>> a = LinearLayout({"register": [(1,)], "lane": [(2,), (4,)]}, {"dim0": 8})
    >>> b = LinearLayout({"register": [(4,)], "lane": [(1,), (2,)]}, {"dim0": 8})
    >>> plan = convert(a, b)
    >>> plan.kind, plan.shuffles
    ('shuffles', 2)

    Source: Linear Layouts, arXiv 2505.23819, section 5.
    """
    row, width = as_memory(memory), integer("convert: element_bits", element_bits)
    src, dst = _checked(src, dst)
    moved = _sources(src, dst)
    if moved is not None:
        table = _registers(moved, src, dst)
        if table is not None:
            return ConversionPlan("registers", (Move(table),), 0, 0, 0, src, dst)
        rounds = _rounds(moved, src, dst)
        crossing = sum(isinstance(r, Shuffle) and r.crosses for r in rounds)
        return ConversionPlan("shuffles", tuple(rounds), crossing, 0, 0, src, dst)
    return _through_memory(src, dst, width, row)


def _checked(src: LinearLayout, dst: LinearLayout) -> tuple[LinearLayout, LinearLayout]:
    for layout in (src, dst):
        if not isinstance(layout, LinearLayout) or any(d not in (*_INPUTS, "block") for d in layout.get_in_dim_names()):
            raise RankError(f"convert of {type(layout).__name__}", "linear layouts of register, lane, warp", "give layout.linear(shape)")
        if layout.has_in_dim("block") and layout.get_in_dim_size("block") > 1:
            raise RangeError("convert between several blocks", "one block", "give what one block has")
    if {**src.out_dims} != {**dst.out_dims}:
        raise RankError(f"convert of {src.out_dims} to {dst.out_dims}", "layouts of one tile", "give both the same shape")
    dst = dst.transpose_outs(src.get_out_dim_names())
    full = [LinearLayout({d: x.bases.get(d, ()) for d in _INPUTS}, x.out_dims) for x in (src, dst)]
    for d in ("lane", "warp"):
        if full[0].get_in_dim_size(d) != full[1].get_in_dim_size(d):
            sizes = [x.get_in_dim_size(d) for x in full]
            raise RangeError(
                f"convert from {sizes[0]} {d}s to {sizes[1]}", "as many", "resize_in_dim one of them: what is added holds the same"
            )
    if max(x.get_in_dim_size("register") for x in full) > MAX_REGISTERS:
        raise RangeError("convert of more registers than threads have", f"{MAX_REGISTERS} at most", "convert a part of the tile")
    reached = bits.Echelon(full[0].columns)
    for v in (v for vectors in full[1].bases.values() for v in vectors):
        if not reached.spans(full[1].pack(v)):
            raise RangeError(
                f"convert: nobody holds element ({', '.join(map(str, v))}) before", "a source that holds it", "give another source"
            )
    return full[0], full[1]


# ------------------------------------------------------------------------------------------------- within a warp

#: A (register, lane) of the destination -> (register, lane) of the source: columns, registers lowest.
Sources = list[int]


def _sources(src: LinearLayout, dst: LinearLayout) -> Sources | None:
    """Where the value of each bit of the destination's register and lane is; None where a value leaves its warp."""
    if src.bases["warp"] != dst.bases["warp"]:
        return None
    held = {name: [src.pack(v) for v in src.bases[name]] for name in _INPUTS}
    registers, lanes = len(held["register"]), len(held["lane"])
    order = [*range(registers), *range(registers, registers + lanes)]
    columns = [*held["register"], *held["lane"]]
    found = []
    for name in ("register", "lane"):
        for k, v in enumerate(dst.bases[name]):
            first = [registers + k] if name == "lane" else []  # the own lane, if it can help
            chosen = [*first, *(c for c in order if c not in first)]
            mask = bits.Echelon(columns[c] for c in chosen).solve(dst.pack(v))
            if mask is None:
                return None
            found.append(sum(1 << chosen[i] for i in bits.ones(mask)))
    return found


def _registers(moved: Sources, src: LinearLayout, dst: LinearLayout) -> tuple[int, ...] | None:
    """Destination register -> source register, where every lane finds all of its own; else None."""
    count, split = len(dst.bases["register"]), len(src.bases["register"])
    if any(c != 1 << split + k for k, c in enumerate(moved[count:])) or any(c >> split for c in moved[:count]):
        return None
    return tuple(bits.apply(moved[:count], r) for r in range(1 << count))


def _rounds(moved: Sources, src: LinearLayout, dst: LinearLayout) -> list[Shuffle | Spread]:
    """Rounds by cosets of a common complement; where the source's lanes are too few for one, by what fits."""
    registers, lanes = len(dst.bases["register"]), len(dst.bases["lane"])
    split = len(src.bases["register"])
    same = bits.kernel([src.pack(v) for name in ("register", "lane") for v in src.bases[name]])
    chosen = _complement(moved, same, registers, lanes, split)
    if chosen is None:
        return [*_greedy(moved, registers, lanes, split)]
    first: dict[int, int] = {}  # of registers that hold the same, one
    table = [first.setdefault(bits.apply(moved, r), r) for r in range(1 << registers)]
    rounds: list[Shuffle | Spread] = [_round(moved, r, chosen, table, lanes, split) for r in sorted({*table})]
    return rounds if len({*table}) == len(table) else [*rounds, Spread(tuple(table))]


#: For each lane bit, what it changes in a round: the register that the lane keeps, and the (register, lane) that it reads.
Graph = tuple[list[int], list[int]]


def _complement(moved: Sources, same: Sequence[int], registers: int, lanes: int, split: int) -> Graph | None:
    """A space of one register for each lane, in which lanes that read one lane want one register of it; None if none is found.

    same   a basis of what may be added to a (register, lane) of the source: it holds the same
    """
    n = registers + lanes
    found: list[tuple[int, int]] = []
    here, there = bits.Echelon(), bits.Echelon()  # the lanes of the space's vectors, and the lanes that they read
    for x in bits.kernel(moved):
        if here.add(x >> registers):
            found.append((x, 0))
    spare = [bits.apply(same, k) for k in range(1 << min(len(same), 6))]
    for x in sorted(range(1, 1 << n), key=lambda x: (x.bit_count(), x)) if n <= 12 else _light(n):
        if len(found) == lanes:
            break
        if here.spans(x >> registers):
            continue
        place = bits.apply(moved, x)
        source = next((place ^ k for k in spare if not there.spans((place ^ k) >> split)), None)
        if source is not None:
            here.add(x >> registers)
            there.add(source >> split)
            found.append((x, source))
    if len(found) < lanes:
        return None
    graph = bits.Echelon(x >> registers for x, _ in found)
    masks = [graph.solve(1 << k) or 0 for k in range(lanes)]
    low = (1 << registers) - 1
    return [bits.apply([x & low for x, _ in found], m) for m in masks], [bits.apply([q for _, q in found], m) for m in masks]


def _light(n: int) -> list[int]:
    """Vectors of at most three bits, of fewer first."""
    single = [1 << k for k in range(n)]
    pairs = [a | b for i, a in enumerate(single) for b in single[:i]]
    return [*single, *pairs, *(a | p for a in single for p in pairs if a > p)]


def _round(moved: Sources, first: int, chosen: Graph, table: Sequence[int], lanes: int, split: int) -> Shuffle:
    mask, start = (1 << split) - 1, bits.apply(moved, first)
    into = [table[first ^ bits.apply(chosen[0], lane)] for lane in range(1 << lanes)]
    found = [start ^ bits.apply(chosen[1], lane) for lane in range(1 << lanes)]
    send = [0] * (1 << lanes)
    for f in found:
        send[f >> split] = f & mask
    return Shuffle(tuple(send), tuple(f >> split for f in found), tuple(into))


def _greedy(moved: Sources, registers: int, lanes: int, split: int) -> list[Shuffle]:
    """Rounds one by one: each source lane sends the register that most lanes still want."""
    mask = (1 << split) - 1
    wanted: dict[tuple[int, int], int] = {}
    for lane in range(1 << lanes):
        for r in range(1 << registers):
            wanted[lane, r] = bits.apply(moved, r | lane << registers)
    rounds = []
    while wanted:
        asked: dict[int, Counter[int]] = {}
        for f in wanted.values():
            asked.setdefault(f >> split, Counter())[f & mask] += 1
        send = [asked[s].most_common(1)[0][0] if s in asked else 0 for s in range(1 << lanes)]
        into, source = [-1] * (1 << lanes), [*range(1 << lanes)]
        for (lane, r), f in [*wanted.items()]:
            if into[lane] < 0 and send[f >> split] == f & mask:
                into[lane], source[lane] = r, f >> split
                del wanted[lane, r]
        rounds.append(Shuffle(tuple(send), tuple(source), tuple(into)))
    return rounds


# ------------------------------------------------------------------------------------------------- through memory


def _through_memory(src: LinearLayout, dst: LinearLayout, width: int, row: Memory) -> ConversionPlan:
    best = best_swizzle([src], [dst], width, row)
    size = max(int(_offsets(src, best.layout).max()) + 1, 1) * width // 8
    cost = sum(access(x, best.layout, width, memory=row).total for x in (src, dst))
    return ConversionPlan("shared memory", (Store(best.layout), Load(best.layout)), 0, size, cost, src, dst)


def _sizes(layout: LinearLayout) -> tuple[int, int, int]:
    return layout.get_in_dim_size("warp"), layout.get_in_dim_size("lane"), layout.get_in_dim_size("register")


def _offsets(layout: LinearLayout, memory_layout: Any) -> npt.NDArray[Any]:
    from .places import offsets, owned

    return offsets(owned(layout, 32), memory_layout)


def _shuffle(step: Shuffle, given: npt.NDArray[Any], found: npt.NDArray[Any]) -> None:
    """One round on all warps."""
    for lane, (source, into) in enumerate(zip(step.source, step.into)):
        if into >= 0:
            found[:, lane, into] = given[:, source, step.send[source]]


# ------------------------------------------------------------------------------------------------- text


def _cuda_of(step: Any, plan: ConversionPlan) -> list[str]:
    if isinstance(step, Move):
        return [" ".join(f"dst[{r}] = src[{s}];" for r, s in enumerate(step.table))]
    if isinstance(step, Spread):
        return [" ".join(f"dst[{r}] = dst[{s}];" for r, s in enumerate(step.table) if r != s)]
    if isinstance(step, Shuffle):
        return _cuda_round(step, plan)
    layout, name = (plan.src, "src") if isinstance(step, Store) else (plan.dst, "dst")
    at = _offsets(layout, step.layout)
    start = "(threadIdx.x & 31)"
    lines = [] if isinstance(step, Store) else ["__syncthreads();"]
    base = [f"({start} >> {k} & 1) * {int(at[0, 1 << k, 0])}" for k in range(at.shape[1].bit_length() - 1)]
    base += [f"(threadIdx.x >> {5 + k} & 1) * {int(at[1 << k, 0, 0])}" for k in range(at.shape[0].bit_length() - 1)]
    if not _xors(at):
        raise RangeError("cuda of a padded layout of memory", "a swizzle", "use codegen.emit for the layout's offsets")
    lines.append(f"unsigned {name}_at = {' ^ '.join(base) or '0'};")
    for r in range(at.shape[2]):
        place = f"smem[{name}_at ^ {int(at[0, 0, r])}]"
        lines.append(f"{place} = src[{r}];" if name == "src" else f"dst[{r}] = {place};")
    return lines


def _xors(at: npt.NDArray[Any]) -> bool:
    return bool((at == at[:, :1, :1] ^ at[:1, :, :1] ^ at[:1, :1, :]).all())


def _cuda_round(step: Shuffle, plan: ConversionPlan) -> list[str]:
    """One round: tables by lane, registers chosen by compares, so that none is addressed."""
    lines = ["{", "  const unsigned lane = threadIdx.x & 31;"]
    for name, table in (("send", step.send), ("source", step.source), ("into", step.into)):
        lines.append(f"  static constexpr signed short {name}[{len(table)}] = {{{', '.join(map(str, table))}}};")
    sources, targets = plan.src.get_in_dim_size("register"), plan.dst.get_in_dim_size("register")
    lines += ["  T value = src[0];", "  #pragma unroll"]
    lines.append(f"  for (int r = 1; r < {sources}; ++r) if (send[lane] == r) value = src[r];")
    lines += ["  value = __shfl_sync(0xffffffffu, value, source[lane]);"] if step.crosses else []
    lines += ["  #pragma unroll", f"  for (int r = 0; r < {targets}; ++r) if (into[lane] == r) dst[r] = value;", "}"]
    return lines
