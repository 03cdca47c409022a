"""Changes inside of a function: values that are held at the peak, and moves of what the program computed.

A value that is read late is computed again there, or kept in a shape that takes less until then; a value that is moved
is laid out at once as it is moved to. What the compiler makes of it is measured, never predicted.

Source: jax.checkpoint and jax.experimental.layout.with_layout_constraint, by which the same is written in a program.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..programs.alternatives import other_shapes
from ..programs.memory import Buffer
from ..programs.relayouts import Move
from ..shapes.array_shape import ArrayShape
from ..shapes.foreign import element_type
from .arguments import Uses
from .bench import Bench, Change, in_turn
from .steps import Edit, Step, Steps

#: What is not computed twice: its time is not to be had back, or it has effects.
_HEAVY = frozenset(
    "scan while cond sort custom_call pallas_call shard_map fft cholesky qr eigh svd checkpoint".split()  # noqa: SIM905
)
_PRODUCTS = frozenset({"dot_general", "conv_general_dilated", "ragged_dot_general", "ragged_dot"})
#: How many steps at most compute a value again.
_LONGEST = 24
#: How many buffers at the peak, and how many moves, are looked at.
_MOST = 3


@dataclass(frozen=True, slots=True)
class _Life:
    """A value, and where it is read again after a while.

    program   the function, or the body of a loop
    number    of the value
    step      that writes it
    late      the step from which on it is read again, after the longest time in which nothing reads it
    """

    program: Steps
    number: int
    step: Step
    late: int


def inside_changes(bench: Bench, uses: Uses) -> Iterator[Change]:
    """The changes inside of a function to try, those of most bytes first."""
    program = bench.steps
    moves = [move for move in uses.others if "order" in move.changes][:_MOST]
    yield from in_turn(_all_laid(program, moves), _all_later(program, _held(uses)))


def _all_laid(program: Steps, moves: Sequence[Move]) -> Iterator[Change]:
    for move in moves:
        yield from _laid(program, move)


def _all_later(program: Steps, held: Sequence[Buffer]) -> Iterator[Change]:
    lives = [*_lives(program)]
    for buffer in held:
        yield from in_turn(_computed_again(program, lives, buffer), _kept(program, lives, buffer))


def _held(uses: Uses) -> list[Buffer]:
    """One temporary of each shape that is held where a memory space is fullest; those of most bytes first."""
    found: dict[ArrayShape, Buffer] = {}
    count: Counter[ArrayShape] = Counter()
    for peak in uses.account.peak.values():
        for buffer in peak.buffers:
            if buffer.kind == "temporary" and isinstance(buffer.shape, ArrayShape):
                shape = buffer.shape.with_layout()
                found.setdefault(shape, buffer)
                count[shape] += buffer.bytes
    return [found[shape] for shape, _ in count.most_common(_MOST)]


def _lives(program: Steps) -> Iterator[_Life]:
    """The values that are read again after other steps."""
    for part in program.everywhere():
        places = {step.number: k for k, step in enumerate(part.steps)}
        readers: dict[int, list[int]] = {}
        for step in part.steps:
            for x in step.reads:
                if isinstance(x, int):
                    readers.setdefault(x, []).append(step.number)
        for step in part.steps:
            for number in step.writes:
                times = [step.number, *sorted({*readers.get(number, ())})]
                gaps = [(places[b] - places[a], b) for a, b in itertools.pairwise(times)]
                gap, late = max(gaps, key=lambda pair: pair[0], default=(0, -1))
                if gap > 1:
                    yield _Life(part, number, step, late)


def _same_values(program: Steps, lives: Sequence[_Life], buffer: Buffer) -> tuple[ArrayShape, list[_Life]]:
    """The shape of a buffer, and the values that may be in one."""
    assert isinstance(buffer.shape, ArrayShape)
    return buffer.shape, [life for life in lives if _is(program, life.number, buffer.shape)]


def _computed_again(program: Steps, lives: Sequence[_Life], buffer: Buffer) -> Iterator[Change]:
    """Values that are held at the peak, computed again where they are read late: first without products."""
    shape, same = _same_values(program, lives, buffer)
    for products in (False, True):
        found = {life.number: _chain(life, products) for life in same}
        again = [life for life in same if found[life.number]]
        if products and not any(step.name in _PRODUCTS for life in again for step in found[life.number]):
            return
        for some in _some(again):
            edits = tuple(Edit(x.number, chain=tuple(s.number for s in found[x.number]), at=x.late) for x in some)
            names = ", ".join(dict.fromkeys(s.name for x in some for s in found[x.number]))
            what = f"{_these(some, shape)} computed again where {_they(some)} read late ({names})"
            code = f"jax.checkpoint, with a policy that does not save what {_place(some[0], buffer)} gives"
            yield Change("again", what, code, edits=edits)


def _kept(program: Steps, lives: Sequence[_Life], buffer: Buffer) -> Iterator[Change]:
    """Values that are held at the peak, kept until they are read late in a shape that takes less."""
    shape, same = _same_values(program, lives, buffer)
    exact = [life for life in same if tuple(program.types[life.number].shape) == shape.dimensions]
    kinds = set()
    for other in other_shapes(shape) if exact else ():
        dims = tuple(n for n in other.shape.dimensions if n is not None)
        if other.kind in ("merge", "split") and other.kind not in kinds:
            kinds.add(other.kind)
            edits = tuple(Edit(x.number, dims=dims, at=x.late) for x in exact)
            what = f"{_these(exact, shape)} kept with {other.what} until {_they(exact)} read late"
            place, back = _place(exact[0], buffer), shape.dimensions
            code = f"optimization_barrier(x.reshape({dims})), and .reshape({back}) there, of what {place} gives"
            yield Change("keep", what, code, edits=edits)


def _some(lives: Sequence[_Life]) -> Iterator[Sequence[_Life]]:
    """All of these values; of many every other one, too, for what is computed from the one before holds that one."""
    if lives:
        yield lives
    if len(lives) > 2:
        yield lives[1::2]


def _they(some: Sequence[object]) -> str:
    return "it is" if len(some) == 1 else "they are"


def _these(lives: Sequence[_Life], shape: ArrayShape) -> str:
    dims = ",".join(map(str, shape.dimensions))
    return f"{len(lives)} value{'s' if len(lives) > 1 else ''} of {shape.element_type}[{dims}]"


def _place(life: _Life, buffer: Buffer) -> str:
    """The operation that gives a value, and the line of the user's program that the buffer is from."""
    return " at ".join([life.step.name, *map(str, buffer.source[:1])])


def _is(program: Steps, number: int, shape: ArrayShape) -> bool:
    """Whether a value may be an array of the compiled program, by its elements: that one may have other dimensions."""
    kind = program.types[number]
    if not hasattr(kind, "dtype") or 0 in kind.shape:
        return False
    count = math.prod(n or 0 for n in shape.dimensions)
    return math.prod(kind.shape) == count > 1 and _type(kind.dtype) == shape.element_type


def _type(dtype: object) -> str:
    try:
        return element_type(dtype)
    except ValueError:  # a key of random numbers
        return ""


def _chain(life: _Life, products: bool) -> list[Step]:
    """The steps that compute a value from what is there when it is read late; none where that takes too much."""
    writers = {number: step for step in life.program.steps for number in step.writes}
    last = {x: step.number for step in life.program.steps for x in step.reads if isinstance(x, int)}
    results = {x for x in life.program.results if isinstance(x, int)}
    chain: dict[int, Step] = {}
    waiting = [life.number]
    while waiting:
        number = waiting.pop()
        step = writers.get(number)
        there = number != life.number and (number in results or last.get(number, -1) >= life.late)
        if step is None or there or step.number in chain:
            continue
        is_heavy = step.name in _HEAVY or (step.name in _PRODUCTS and not products)
        if len(chain) == _LONGEST or is_heavy or step.equation.effects:
            return []
        chain[step.number] = step
        waiting += [x for x in step.reads if isinstance(x, int)]
    return [chain[number] for number in sorted(chain)]


def _laid(program: Steps, move: Move) -> Iterator[Change]:
    """The values that may be what is moved, laid out at once as it is moved to: all of them, and the first alone."""
    order = _order(move)
    steps = [step for part in program.everywhere() for step in part.steps]
    written = [(n, step) for step in steps for n in step.writes if _same(program, n, move.source)]
    operation = move.line.instruction.metadata.get("op_name", "").rpartition("/")[2]
    written = [pair for pair in written if pair[1].name == operation] or written
    for some in (written, written[:1])[: len(written)] if order else ():
        dims = ",".join(map(str, move.source.dimensions))
        names = ", ".join(dict.fromkeys(step.name for _, step in some))
        text = ",".join(map(str, reversed(order)))
        count = "1 value" if len(some) == 1 else f"{len(some)} values"
        what = f"{count} of {move.source.element_type}[{dims}] ({names}) laid out at once in the order {{{text}}}"
        code = f"with_layout_constraint(x, Layout(major_to_minor={order})) of what {names} gives"
        yield Change("lay", what, code, edits=tuple(Edit(number, order=order) for number, _ in some))


def _same(program: Steps, number: int, shape: ArrayShape) -> bool:
    return _is(program, number, shape) and tuple(program.types[number].shape) == shape.dimensions


def _order(move: Move) -> tuple[int, ...]:
    """The dimensions of what is moved, major to minor, as they are afterwards; none where a reshape moves it."""
    order = move.destination.effective_layout.minor_to_major
    if move.source.dimensions == move.destination.dimensions:
        return tuple(reversed(order))
    return ()
