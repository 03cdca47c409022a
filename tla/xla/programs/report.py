"""A program's use of memory: what it allocates by shape, operation, computation or memory space; what it copies.

Source: the HLO text as XLA prints it.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from ...core.errors import LeafTypeError, RangeError, TlaError
from ..shapes.array_shape import ArrayShape
from ..shapes.sizes import bytes_and_waste
from ..shapes.values import arrays
from .consistency import contradictions
from .flow import flow
from .memory import held_buffers
from .module import Module, module_of
from .program import Located, Source, read_hlo
from .relayouts import relayouts
from .vocabulary import unknown_names

Row = tuple[str, int, int]
OnWarning: TypeAlias = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Total:
    """The memory that the instructions of one kind allocate.

    key       the shape, the operation, the computation, the memory space, or for a copy its two layouts
    count     how many pieces of memory; of copies, how many instructions
    bytes     what these take together, by `byte_size`; of copies, what is read and written
    waste     how many of these bytes hold no element
    """

    key: str
    count: int
    bytes: int
    waste: int


def totals(
    program: Iterable[Located] | Source | Module,
    by: str,
    interiors: bool = False,
    space: int | None = None,
    on_warning: OnWarning | None = None,
) -> list[Total]:
    """The sums of what a program allocates, the largest total first; or what it copies.

    program     instructions, as read_hlo gives them; or what it takes: a path, or an open file; or a module
    by          "shape", "operation", "computation", "space" (as S(n) numbers them), or "copy": the copies, transposes,
                reshapes and conversions that move data, by what they read and write; those in loops once
    interiors   count every array that an instruction writes, as the text has them: the inside of fusions, which stays
                on the chip, and other names of what is there (bitcast, tuple, get-tuple-element, -done,
                updates in place)
    space       only what is in this memory space, the n of S(n); of copies what is read there or written there
    on_warning  is given what could not be followed, what is not known or contradicts another line, and arrays of no
                known size, with their lines; with interiors the last alone
    Raises      RangeError for another word

    Memory is counted as `memory` counts it: once for each buffer that holds an array at some time. Text without an
    ENTRY computation is counted as with interiors.

    >>> import io
    >>> from tla.xla import read_hlo
    >>> text = '''ENTRY %main {
    ...   %a = f32[16,128]{1,0:T(8,128)} parameter(0)
    ...   %c = f32[16,128]{0,1:T(8,128)} copy(%a)
    ...   ROOT %n = f32[16,128]{0,1:T(8,128)S(1)} negate(%c)
    ... }'''
    >>> for t in totals(read_hlo(io.StringIO(text)), "operation"):
    ...     print(t.key, t.count, t.bytes, t.waste)
    copy 1 65536 57344
    negate 1 65536 57344
    parameter 1 8192 0
    >>> [(t.key, t.bytes) for t in totals(read_hlo(io.StringIO(text)), "copy")]
    [('f32[16,128]{1,0:T(8,128)} -> f32[16,128]{0,1:T(8,128)}', 73728)]

    Source: ours; sizes are those of the TPU compiler.
    """
    if by not in (*_KEYS, "copy"):
        raise RangeError(f"totals by {by!r}", "one of " + ", ".join((*_KEYS, "copy")), "choose one of these")
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    lines = program if isinstance(program, Module) else _instructions(program)
    for key, size, lost in _rows(lines, by, interiors, space, on_warning or _ignored):
        for k, n in enumerate((1, size, lost)):
            found[key][k] += n
    return sorted((Total(key, *sums) for key, sums in found.items()), key=lambda t: (-t.bytes, -t.count, t.key))


def _instructions(program: Iterable[Located] | Source) -> Iterator[Located]:
    """The instructions of a program; LeafTypeError for what has none."""
    is_file = isinstance(program, (str, os.PathLike)) or hasattr(program, "readline")
    is_source = is_file or not isinstance(program, Iterable)
    lines: Iterable[Any] = read_hlo(cast("Source", program)) if is_source else cast("Iterable[Any]", program)
    for x in lines:
        if not isinstance(x, Located):
            what = f"a {type(x).__name__} as an instruction"
            raise LeafTypeError(what, "what read_hlo gives", "write totals(path, by)")
        yield x


def _ignored(_warning: str) -> None:
    pass


def _rows(
    program: Iterable[Located] | Module, by: str, interiors: bool, space: int | None, on_warning: OnWarning
) -> Iterator[Row]:
    every = itertools.chain(*program.computations.values()) if isinstance(program, Module) else program
    if interiors and by != "copy":
        yield from _written(every, by, space, on_warning)
        return
    lines = list(every)
    module = program if isinstance(program, Module) else module_of(lines)
    for warning in (*unknown_names(module), *contradictions(module)):
        on_warning(warning)
    if by == "copy":
        yield from _copied(module, interiors, space)
    elif module.entry is None:
        if module.computations:
            on_warning("no ENTRY computation: every array of the text is counted, the inside of fusions too")
        yield from _written(lines, by, space, on_warning)
    else:
        found = flow(module)
        for warning in found.warnings:
            on_warning(warning)
        for b in held_buffers(found):
            if b.shape is not None and space in (None, b.space):
                yield _KEYS[by](b.line, b.shape), b.bytes, b.waste


def _copied(module: Module, interiors: bool, space: int | None) -> Iterator[Row]:
    for move in relayouts(module, interiors):
        spaces = {x.effective_layout.memory_space for x in (move.source, move.destination)}
        if {"order", "type"} & {*move.changes} and (space is None or space in spaces):
            yield f"{move.source} -> {move.destination}", move.read + move.written, 0


def _written(program: Iterable[Located], by: str, space: int | None, on_warning: OnWarning) -> Iterator[Row]:
    """The arrays that are written, each with its key, its bytes and its waste."""
    sizes: dict[ArrayShape, tuple[int, int] | None] = {}
    for line in program:
        for array in arrays(line.instruction.shape):
            if array not in sizes:
                sizes[array] = _size(array)
            if (size := sizes[array]) is None:
                name = f"line {line.line}: {line.instruction.name}"
                on_warning(f"{name}: the size of {array} is not known: it counts as nothing")
            elif space in (None, array.effective_layout.memory_space):
                yield _KEYS[by](line, array), *size


def _size(array: ArrayShape) -> tuple[int, int] | None:
    try:
        return bytes_and_waste(array)
    except TlaError:  # a dimension without a bound
        return None


_KEYS: dict[str, Callable[[Located, ArrayShape], str]] = {
    "shape": lambda _line, array: str(array),
    "operation": lambda line, _array: line.instruction.opcode,
    "computation": lambda line, _array: line.computation or "(none)",
    "space": lambda _line, array: f"S({array.effective_layout.memory_space})",
}
