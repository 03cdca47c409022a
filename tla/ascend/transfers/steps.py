"""The steps of a transfer: instructions, loops over them, and the two sides of a condition on sizes that are not known.

Where all sizes are known, a loop is unrolled and a condition decided when they are made: what is left are instructions.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Union

from ...core.ints import IntLike, Leaf, known
from ...symbolic.conditions import Condition
from ...symbolic.declare import index
from ...symbolic.symint import SymInt, poly_of, wrap
from .instruction import TransferInstruction, c_condition, c_text
from .side import Side, plain

Step = Union[TransferInstruction, "Loop", "When"]


class Loop(NamedTuple):
    """Steps that are taken once for each value of a variable, from 0 on.

    variable   the symbol that stands for it in the steps;  turns   how many values it has
    body       the steps of one

    >>> from tla import MakeLayout, MakeTensor, dim
    >>> from tla.ascend import half, nZ, transfer, zZ
    >>> m = dim("m", at_most=128)
    >>> (loop,) = transfer(*(MakeTensor(None, MakeLayout[half, tag](m, 64), position=p) for tag, p in ((nZ, "L1"), (zZ, "L0A"))))
    >>> print(loop.variable, loop.turns, *loop.body)
    i ceil(m/16) LoadData2D(dst=1024*i, src=1024*i, repeatTimes=4, srcStride=1, dstGap=0, ifTranspose=1)

    Source: ours.
    """

    variable: Any
    turns: IntLike
    body: tuple[Any, ...]


class When(NamedTuple):
    """Steps that are taken where a condition on sizes holds, and those that are taken where it does not.

    condition   what is asked;  body   where it holds;  otherwise   where it does not

    >>> from tla import MakeLayout, MakeTensor, dim
    >>> from tla.ascend import RowMajor, half, transfer, zN
    >>> K = dim("K")
    >>> src = MakeTensor(None, MakeLayout[half, RowMajor](16, 16, ld=K), position="GM")
    >>> (when,) = transfer(src, MakeTensor(None, MakeLayout[half, zN](16, 16), position="L1"))
    >>> print(when.condition, len(when.body), when.otherwise[0].turns)
    K < 65536 1 16

    Source: ours.
    """

    condition: Condition
    body: tuple[Any, ...]
    otherwise: tuple[Any, ...]


def repeat(count: IntLike, step: Callable[[Any], TransferInstruction], *sides: Side) -> Iterator[Step]:
    """The steps step(0), step(1), ... of a loop: one after another where all sizes are known, else a Loop.

    sides   the two sides of the transfer: the variable is told apart from their sizes
    """
    n, taken = known(count), frozenset[str]().union(*(side.symbols for side in sides))
    if n is not None and (n < 2 or not taken):
        yield from map(step, range(n))
        return
    i = index(next(name for name in ("i", *(f"i{k}" for k in range(1, len(taken) + 2))) if name not in taken), count)
    yield Loop(i, count, (step(i),))


def equals(a: IntLike, b: IntLike) -> bool | Condition:
    """Whether two sizes have the same value: True, False, or the condition."""
    return a.equals(b) if isinstance(a, SymInt) else b.equals(a) if isinstance(b, SymInt) else a == b


def choose(condition: Any, body: Iterable[Any], otherwise: Iterable[Any]) -> Iterator[Any]:
    """The steps of the side of a condition that holds; both where that is not known."""
    answer = condition.holds if isinstance(condition, Condition) else bool(condition)
    if answer is None:
        yield When(condition, tuple(body), tuple(otherwise))
    else:
        yield from body if answer else otherwise


def all_of(steps: Iterable[Step]) -> Iterator[TransferInstruction]:
    """Every instruction among steps, those of loops once."""
    for step in steps:
        if isinstance(step, TransferInstruction):
            yield step
        elif isinstance(step, Loop):
            yield from all_of(step.body)
        else:
            yield from all_of((*step.body, *step.otherwise))


def changed(steps: Iterable[Any], one: Callable[[Any], Any]) -> Iterator[Any]:
    """Steps in which each that is no loop and no condition is exchanged for what `one` makes of it."""
    for step in steps:
        if isinstance(step, Loop):
            yield step._replace(body=tuple(changed(step.body, one)))
        elif isinstance(step, When):
            yield step._replace(body=tuple(changed(step.body, one)), otherwise=tuple(changed(step.otherwise, one)))
        else:
            yield one(step)


def value_at(n: IntLike, values: Mapping[str, Any]) -> Leaf:
    """An integer where sizes have values."""
    return plain(n.at(values)) if isinstance(n, SymInt) else n


def condition_at(condition: Condition, values: Mapping[str, Any]) -> Condition:
    """A condition where sizes have values, some or all."""
    a, b = (poly_of(value_at(wrap(side), values)) for side in (condition.a, condition.b))
    return Condition(condition.question, a, b)


def steps_at(steps: Iterable[Step], values: Mapping[str, Any]) -> Iterator[Step]:
    """Steps where sizes have values: loops of known counts turn after turn, and of decided conditions one side."""
    for step in steps:
        if isinstance(step, TransferInstruction):
            fields = {name: value_at(n, values) for name, n in step.parameters.items()}
            yield replace(step, dst=value_at(step.dst, values), src=value_at(step.src, values), parameters=fields)
        elif isinstance(step, When):
            body, otherwise = steps_at(step.body, values), steps_at(step.otherwise, values)
            yield from choose(condition_at(step.condition, values), body, otherwise)
        elif known(count := value_at(step.turns, values)) is None:
            yield Loop(step.variable, count, tuple(steps_at(step.body, values)))
        else:
            for i in range(count):
                yield from steps_at(step.body, {**values, str(step.variable): i})


def text_of(
    steps: Iterable[Any],
    one: Callable[[Any], Iterable[str]] = lambda step: [step.text],
    spelled: Callable[[str], str] = str,
) -> Iterator[str]:
    """The lines of steps in AscendC.

    one       the lines of a step that is no loop and no condition
    spelled   an expression of C with the functions that there are
    """
    for step in steps:
        if isinstance(step, Loop):
            i = step.variable
            yield f"for (int64_t {i} = 0; {i} < {spelled(c_text(step.turns))}; ++{i}) {{"
            yield from (f"    {line}" for line in text_of(step.body, one, spelled))
            yield "}"
        elif isinstance(step, When):
            yield f"if ({spelled(c_condition(step.condition))}) {{"
            yield from (f"    {line}" for line in text_of(step.body, one, spelled))
            yield from ["} else {"] if step.otherwise else []
            yield from (f"    {line}" for line in text_of(step.otherwise, one, spelled))
            yield "}"
        else:
            yield from one(step)
