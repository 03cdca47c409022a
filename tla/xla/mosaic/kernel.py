"""A whole pallas_call on TPU before it is compiled: its blocks, its VMEM, and the bytes that its grid copies
from and to HBM.

Source: JAX docs/pallas/tpu/pipelining.md (a block is copied when its index differs from that of the step before);
places of windows in VMEM in kernels that libtpu 0.0.51 compiled (tests/data/xla/kernels.json.gz).
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.leaf_arithmetic import ceil_div
from ..programs.targets import TARGETS, checked_target
from ..shapes.arguments import integers_of
from . import verdicts
from .block import GRAIN, Block, block
from .specs import buffers_of, row_of, scratch_of

#: Grids of more steps than this are refused: each step is looked at.
MAX_STEPS = 2**20
#: Orders of a grid of more dimensions than this are not tried.
_MAX_ORDERED = 5

#: Numbers of steps that no grid has.
_BEYOND = (-1, MAX_STEPS)

#: The mending of a grid that leaves a block of a result and comes back.
_ORDER = "let the dimensions that it does not use run fastest"

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Window:
    """An argument or a result of a Pallas kernel, block by block.

    block       its block
    output      whether the kernel writes it
    copies      how many times a block of it is copied between HBM and VMEM in the whole run
    bytes       what these copies move, the padding of tiles included
    """

    block: Block
    output: bool
    copies: int
    bytes: int


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A pallas_call on TPU. Its str() is an account of it.

    grid       the steps of each dimension, the last one fastest
    windows    the arguments, then the results
    vmem       what its windows and scratch take in VMEM [bytes]
    refused    why it does not compile, or gives wrong results; empty where it is right
    advice     what to change, most useful first
    target     the generation: v5e
    """

    grid: tuple[int, ...]
    windows: tuple[Window, ...]
    vmem: int
    refused: str
    advice: tuple[str, ...]
    target: str = "v5e"

    @property
    def compiles(self) -> bool:
        """Whether nothing is refused."""
        return not self.refused

    @property
    def traffic(self) -> int:
        """The bytes that are copied between HBM and VMEM in the whole run."""
        return sum(w.bytes for w in self.windows)

    def __str__(self) -> str:
        capacity = TARGETS[self.target].capacity[verdicts.VMEM]
        lines = [
            f"grid       ({','.join(map(str, self.grid))}), {_counted(math.prod(self.grid), 'step')} on {self.target}",
            f"compiles   {'yes' if self.compiles else f'no: {self.refused}'}",
            f"VMEM       {self.vmem:,} of {capacity:,} bytes, {self.vmem / capacity:.1%}",
            f"HBM        {self.traffic:,} bytes copied",
        ]
        for w in self.windows:
            sizes = ",".join("None" if n is None else str(n) for n in w.block.extents)
            array = f"{w.block.element_type}[{','.join(map(str, w.block.array))}]"
            kind = "result" if w.output else "argument"
            lines.append(f"{kind:10} ({sizes}) of {array}: {_counted(w.copies, 'copy')}, {w.bytes:,} bytes")
        return "\n".join([*lines, *(f"change     {text}" for text in self.advice)])


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {_MANY[noun]}"


_MANY = {"copy": "copies", "step": "steps"}


def pallas_call(
    grid: Sequence[int],
    inputs: Sequence[tuple[Any, ...]],
    outputs: Sequence[tuple[Any, ...]],
    scratch: Sequence[tuple[Any, Sequence[int]]] = (),
    target: str | None = "v5e",
    prefetch: Sequence[Any] = (),
) -> KernelCall:
    """Judge a Pallas kernel on TPU as a whole: whether it compiles, what it takes in VMEM, what its grid copies.

    grid      the steps of each dimension; the last one runs fastest
    inputs    of each argument: (element type, shape, extents of a block, index map), and the number of buffers where it
              is no 2; or (element type, shape, pl.BlockSpec(...)). The index map takes a step, one integer a dimension
              of the grid, and gives the number of the block in each dimension. Arrays in another memory space than VMEM
              (pl.ANY, SMEM) have no window, and are left out
    outputs   of each result the same
    scratch   of each scratch operand: (element type, shape) in VMEM, or Pallas's own; SMEM and semaphores take none of it
    target    the generation: v2 v3 v4 v5e v5p v6e tpu7x
    prefetch  the values of scalars that are prefetched, which index maps take behind the step
    Raises    RangeError for a grid of more than 2**20 steps or a block outside of its array; RankError for an index map
              of another rank; LeafTypeError for one that does not take a step; and what `block` raises

    >>> matrix = (4096, 4096)
    >>> print(pallas_call(
    ...     (8, 8, 8),
    ...     [("bf16", matrix, (512, 512), lambda i, j, k: (i, k)), ("bf16", matrix, (512, 512), lambda i, j, k: (k, j))],
    ...     [("f32", matrix, (512, 512), lambda i, j, k: (i, j))],
    ... ))
    grid       (8,8,8), 512 steps on v5e
    compiles   yes
    VMEM       4,194,304 of 134,217,728 bytes, 3.1%
    HBM        603,979,776 bytes copied
    argument   (512,512) of bf16[4096,4096]: 512 copies, 268,435,456 bytes
    argument   (512,512) of bf16[4096,4096]: 512 copies, 268,435,456 bytes
    result     (512,512) of f32[4096,4096]: 64 copies, 67,108,864 bytes

    A block is copied when its number differs from that of the step before. A window whose block does not depend on the
    step has one buffer. A result that is left and visited again
    loses what it had: its memory in VMEM is written back, and not read.

    Source: JAX docs/pallas/tpu/pipelining.md; VMEM as measured.
    """
    steps = integers_of("the grid", grid)
    if any(n < 1 for n in steps) or math.prod(steps) > MAX_STEPS:
        what = f"a grid of {steps}"
        raise RangeError(what, f"1 step or more in each dimension, at most {MAX_STEPS:,}", "take larger blocks")
    if not outputs:
        raise RangeError("a pallas_call without results", "one at least", "give its outputs")
    for name, rows in (("inputs", inputs), ("outputs", outputs), ("scratch", scratch)):
        if not isinstance(rows, (tuple, list)):
            what = f"{name} of type {type(rows).__name__}"
            raise LeafTypeError(what, "a list with a row for each", "write [('f32', ...)]")
    target = checked_target(target) or "v5e"
    rows = [(row_of(row), k) for k, row in enumerate((*inputs, *outputs))]
    specs = [_spec(row, k, k >= len(inputs), steps, target, prefetch) for row, k in rows if row is not None]
    windows, problems = [], []
    order = tuple(range(len(steps)))
    for spec in specs:
        found, problem = _window(spec, steps, order)
        windows.append(_with_one_buffer(found) if found.copies == 1 and _is_constant(spec, steps) else found)
        problems += [problem] if problem else []
    kept = [block(kind, dims, dims, 1, target) for kind, dims in filter(None, map(scratch_of, scratch))]
    vmem = _vmem([w.block for w in windows], kept, target)
    reasons = [*(w.block.refused or w.block.mosaic for w in windows), *(b.mosaic for b in kept)]
    capacity = TARGETS[target].capacity[verdicts.VMEM]
    if vmem > capacity:
        reasons.append(f"{vmem:,} bytes, and VMEM of {target} has {capacity:,}: take smaller blocks")
    refused = next((reason for reason in (*reasons, *problems) if reason), "")
    return KernelCall(steps, tuple(windows), vmem, refused, tuple(_advice(specs, steps, windows)), target)


@dataclass(frozen=True, slots=True)
class _Spec:
    """A block with the map from a step to its number.

    place     the place of its array among arguments and results
    numbers   by step, as far as they are known: the map is asked once for each, whatever the orders that are tried
    sizes     by number: the bytes of a copy
    """

    block: Block
    index_map: Callable[..., Any]
    place: int
    output: bool
    numbers: dict[Index, Index] = field(default_factory=dict)
    sizes: dict[Index, int] = field(default_factory=dict)


def _spec(row: Sequence[Any], place: int, output: bool, grid: Index, target: str, prefetch: Sequence[Any]) -> _Spec:
    kind, shape, extents, index_map, *buffers = row
    count = buffers_of(buffers[0]) if buffers else min(2, math.prod(grid))
    try:
        with contextlib.suppress(ValueError):  # what is written in C may not say what it takes
            inspect.signature(index_map).bind(*grid, *prefetch)
    except TypeError as error:
        expected = f"one that takes {len(grid) + len(prefetch)}: the step, and what is prefetched"
        raise LeafTypeError(f"an index map: {error}", expected, "write lambda i: (i, 0), or give prefetch=") from None
    found = block(kind, shape, extents, count, target)
    return _Spec(found, (lambda *step: index_map(*step, *prefetch)) if prefetch else index_map, place, output)


def _asked(spec: _Spec, step: Index) -> Index:
    """The number of a block that the index map gives, wherever it is."""
    found = spec.index_map(*step)
    found = found if isinstance(found, (tuple, list)) else (found,)
    try:
        numbers = tuple(operator.index(n) for n in found if not isinstance(n, bool))  # of jax.numpy too
    except TypeError:
        numbers = ()
    if len(numbers) != len(spec.block.array):
        what = f"the index map gives {found!r:.60} for {spec.block.array}"
        raise RankError(what, "one integer a dimension", "give the block's number in each")
    return numbers


def _number(spec: _Spec, step: Index) -> Index:
    """The number of the block at a step."""
    numbers = _asked(spec, step)
    sizes = tuple(n or 1 for n in spec.block.extents)
    if any(not 0 <= n * size < whole for n, size, whole in zip(numbers, sizes, spec.block.array)):
        what = f"block {numbers} of {spec.block.array} at step {step}"
        raise RangeError(what, "a block that begins in the array", "mend the index map")
    return numbers


def _visits(spec: _Spec, grid: Index, order: Index) -> Iterator[Index]:
    """The blocks in the order in which they are copied, the grid's dimensions in `order`, the last one fastest."""
    before, known, where = None, spec.numbers, [order.index(d) for d in range(len(grid))]
    for place in itertools.product(*(range(grid[d]) for d in order)):
        step = tuple([place[k] for k in where])
        if step not in known:
            known[step] = _number(spec, step)
        number = known[step]
        if number != before:
            yield number
        before = number


def _window(spec: _Spec, grid: Index, order: Index) -> tuple[Window, str]:
    """The copies of a window, and what is wrong with their order."""
    seen: set[Index] = set()
    count, moved, problem = 0, 0, ""
    for number in _visits(spec, grid, order):
        if number not in spec.sizes:
            spec.sizes[number] = _bytes(spec.block, number)
        count, moved = count + 1, moved + spec.sizes[number]
        if spec.output and number in seen and not problem:
            problem = f"block {number} of the result is left and visited again: what it had is lost; " + _ORDER
        seen.add(number)
    return Window(spec.block, spec.output, count, moved), problem


def _is_constant(spec: _Spec, grid: Index) -> bool:
    """Whether the compiler sees that a window, which has one block in all steps, has no other one.

    It sees that of i * 0, and of dimensions with one step, but not of i // 8 in 8 steps: so the map is asked beyond
    the grid too.
    """
    try:
        return len({_asked(spec, tuple(at if n > 1 else 0 for n in grid)) for at in (0, *_BEYOND)}) == 1
    except Exception:  # what a map may raise there is not known: a table that it looks into ends
        return False


def _with_one_buffer(window: Window) -> Window:
    """The window with one buffer in place of two: it is filled once."""
    b = window.block
    return replace(window, block=block(b.element_type, b.array, b.extents, 1, b.target)) if b.buffers == 2 else window


def _bytes(found: Block, number: Index) -> int:
    """The bytes that a copy of one block moves: the part that is in the array, in whole tiles."""
    sizes = [min(n or 1, whole - k * (n or 1)) for n, whole, k in zip(found.extents, found.array, number)]
    tile = (1,) * (len(sizes) - len(found.memref.tiles[0])) + found.memref.tiles[0]
    moved: int = ceil_div(math.prod(ceil_div(n, t) * t for n, t in zip(sizes, tile)) * found.memref.bits, 8)
    return moved


def _vmem(blocks: Sequence[Block], scratch: Sequence[Block], target: str) -> int:
    """Bytes up to the end of the last window, and those of scratch.

    A window begins at a multiple of 1024, and scratch takes multiples of 512; on the first generations both are of 4096.
    """
    first = target in verdicts.FIRST
    grain, end = (4 * GRAIN if first else GRAIN), 0
    for found in blocks:
        end = ceil_div(end, grain) * grain + found.vmem
    part = grain if first else GRAIN // 2
    taken: int = end + sum(ceil_div(found.bytes, part) * part for found in scratch)
    return taken


def _advice(specs: Sequence[_Spec], grid: Index, windows: Sequence[Window]) -> Iterator[str]:
    """The order of the grid that copies least, counted; then what the blocks say."""
    used = [d for d, n in enumerate(grid) if n > 1]
    if 1 < len(used) <= _MAX_ORDERED and math.prod(grid) * math.factorial(len(used)) <= MAX_STEPS:
        now, best, least = sum(w.bytes for w in windows), tuple(range(len(grid))), sum(w.bytes for w in windows)
        for some in itertools.permutations(used):
            places = dict(zip(used, some))
            order = tuple(places.get(d, d) for d in range(len(grid)))
            found = [_window(spec, grid, order) for spec in specs]
            total = sum(w.bytes for w, _ in found)
            if total < least and not any(problem for _, problem in found):
                best, least = order, total
        if least < now:
            yield f"the grid's dimensions in the order {best}, the last one fastest, copy {least:,} bytes in place of {now:,}"
    for spec in specs:
        kind = "result" if spec.output else "argument"
        yield from (f"{kind} {spec.place}: {text}" for text in spec.block.advice)
