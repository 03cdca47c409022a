"""A program's use of memory: its arrays by operation, by computation or by memory space, and its copies.

Source: the HLO text as XLA prints it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ..core.errors import RangeError, TlaError
from .array_shape import ArrayShape
from .compare import relayout
from .program import Located
from .shapes import Shape, TupleShape
from .sizes import byte_size, waste


@dataclass(frozen=True, slots=True)
class Total:
    """The arrays that the instructions of one kind write.

    key       the operation, the computation, the memory space, or for a copy its two layouts
    count     how many arrays
    bytes     what these take together, by `byte_size`
    waste     how many of these bytes hold no element
    """

    key: str
    count: int
    bytes: int
    waste: int


def totals(program: Iterable[Located], by: str) -> list[Total]:
    """The arrays that a program's instructions write, added up, the largest total first.

    program   as read_hlo gives it; it is read once, and only the totals are kept
    by        "operation", "computation", "space" (as S(n) numbers them), or "copy": the copies that change a layout, by the
              two, with the bytes of elements that they move
    Raises    RangeError for another word

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
    [('f32[16,128]{1,0:T(8,128)} -> f32[16,128]{0,1:T(8,128)}', 8192)]

    Arrays of no known size (`?`) do not count. Source: ours; sizes are those of the TPU compiler.
    """
    if by not in _KEYS:
        raise RangeError(f"totals by {by!r}", "one of " + ", ".join(_KEYS), "choose one of these")
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for key, size, lost in _KEYS[by](program):
        for k, n in enumerate((1, size, lost)):
            found[key][k] += n
    return sorted((Total(key, *sums) for key, sums in found.items()), key=lambda t: (-t.bytes, -t.count, t.key))


def arrays(shape: Shape) -> Iterator[ArrayShape]:
    """The arrays of a shape: itself, or those in a tuple."""
    if isinstance(shape, TupleShape):
        yield from (leaf for _at, leaf in shape.leaves() if isinstance(leaf, ArrayShape))
    elif isinstance(shape, ArrayShape):
        yield shape


Row = tuple[str, int, int]


def _written(key: Callable[[Located, ArrayShape], str]) -> Callable[[Iterable[Located]], Iterator[Row]]:
    """The arrays that are written, each with its key, its bytes and its waste."""

    def rows(program: Iterable[Located]) -> Iterator[Row]:
        sizes: dict[ArrayShape, tuple[int, int] | None] = {}
        for line in program:
            for array in arrays(line.instruction.shape):
                if array not in sizes:
                    sizes[array] = _size(array)
                if size := sizes[array]:
                    yield key(line, array), *size

    return rows


def _size(array: ArrayShape) -> tuple[int, int] | None:
    try:
        return byte_size(array), waste(array)
    except TlaError:  # a dimension without a bound
        return None


def _copied(program: Iterable[Located]) -> Iterator[Row]:
    """The copies that change a layout, each with the bytes that it moves."""
    outermost: str | None = None
    names: dict[tuple[str, str], Shape] = {}
    for line in program:
        it, place = line.instruction, line.computation or ""
        if place.partition("/")[0] != outermost:
            outermost, names = place.partition("/")[0], {}
        names[place, it.name] = it.shape
        if it.opcode in ("copy", "copy-start") and it.operands:
            source = it.operands[0].shape or names.get((place, it.operands[0].name))
            destination = next(arrays(it.shape), None)
            if isinstance(source, ArrayShape) and destination and (moved := _moved(source, destination)):
                yield f"{source} -> {destination}", moved, 0


def _moved(source: ArrayShape, destination: ArrayShape) -> int:
    try:
        return relayout(source, destination).bytes
    except TlaError:  # in pieces, or without a bound
        return 0


_KEYS: dict[str, Callable[[Iterable[Located]], Iterator[Row]]] = {
    "operation": _written(lambda line, _array: line.instruction.opcode),
    "computation": _written(lambda line, _array: line.computation or "(none)"),
    "space": _written(lambda _line, array: f"S({array.effective_layout.memory_space})"),
    "copy": _copied,
}
