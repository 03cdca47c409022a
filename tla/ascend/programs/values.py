"""A program executed on numbers: every instruction does to its memories what its fields say, in the order of issue.

A memory is an array of numbers, one for each cell; what nothing was written to is NaN. Accumulators are added in the
type that the Mmad has.

Source: ours; the conversions are those of AscendC's QuantMode_t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.layout import require_origin
from ...core.values import format_of, held, nearest, require_numbers, rounded
from ..element import DTYPES, dtype_of
from ..transfers.side import offsets_in
from ..vectors.forms import SPECIAL
from ..vectors.gathered import LoggedGather
from ..vectors.instruction import VectorInstruction
from .machine import Machine
from .memory import Memories, Places, index_of, mmad_offsets, scales_of, starts_anew
from .mmad import MX_BLOCK
from .sparse import dense
from .statements import Compute, Move, Multiply, Program
from .trace import Event, events

if TYPE_CHECKING:
    import numpy.typing as npt


def numbers_of(name: str, given: object) -> Any:
    """An array of numpy; LeafTypeError for what is none of real numbers that all count."""
    import numpy as np

    try:
        found = np.asarray(given)
    except ValueError:
        raise LeafTypeError(f"{name} of rows of several lengths", "an array of numbers", "give it whole") from None
    masked, kind = isinstance(given, np.ma.MaskedArray), format_of(found.dtype)
    if masked or found.dtype == object or kind is None or kind.kind == "complex":
        what = "a masked array" if masked else f"an array of {found.dtype}"
        raise LeafTypeError(f"{name}: {what}", "real numbers that all count", "convert it first")
    return found


class Values(Machine):
    """The memories of a program, each cell with its number: an element's is in its first cell."""

    zero = 0.0

    def __init__(self, program: Program, tensors: Mapping[str, Any], exact: bool = False) -> None:
        """tensors: by name, the values of tensors in global memory, as numpy arrays of their valid shape;
        of others NaN.

        exact   whether accumulators leave as they are, in no type and without a scale
        """
        import numpy as np

        self.exact = exact
        self.memories = Memories(program)
        self.held = {name: np.full(size, np.nan) for name, size in self.memories.sizes.items()}
        for name, values in tensors.items():
            self.put(name, values)

    def put(self, name: str, values: npt.NDArray[Any]) -> None:
        """Put numbers into a tensor in global memory."""

        buffer = self.memories.program.buffers.get(name)
        if buffer is None or buffer.position != "GM":
            known = ", ".join(b.name for b in self.memories.program.buffers.values() if b.position == "GM")
            raise LeafTypeError(f"values for {name}", f"tensors in global memory: {known}", "leave it out")
        values, valid = numbers_of(name, values), tuple(map(int, require_origin("a tensor", buffer.layout)))
        if values.shape != valid:
            raise RangeError(f"{name} of the shape {values.shape}", f"{valid}", "give the whole tensor")
        self.write(self.places(name), values if self.exact else _given(name, values, buffer.element))

    def get(self, name: str) -> Any:
        """The numbers of a tensor in global memory; NaN where nothing was written."""
        return self.read(self.places(name))

    def places(self, name: str) -> Places:
        """The elements of a tensor in global memory."""
        buffer = self.memories.program.buffers[name]
        return self.memories.places(name, offsets_in(buffer.layout), buffer.element.bits)

    def read(self, places: Places) -> Any:
        """The numbers of elements."""
        return self.held[places.memory][places.cells]

    def write(self, places: Places, values: Any) -> None:
        """Make elements hold numbers."""
        memory = self.held[places.memory]
        for k in range(1, places.width):
            memory[places.cells + k] = float("nan")
        memory[places.cells] = values

    def resolved(self, event: Event) -> Event:
        """An event with the table of a Gather as the memory has it; RangeError where that holds no offsets."""
        import numpy as np

        s = event.statement
        if not (isinstance(s, Compute) and isinstance(i := s.instruction, LoggedGather)):
            return event
        places = self.memories.places(s.operands[2], i.places[2] + np.arange(i.parameters["count"]), i.elements[2].bits)
        made = i.with_table(tuple(self.read(places).tolist()))
        return replace(event, statement=s._replace(instructions=(made,)))

    def _computed(self, i: VectorInstruction, sources: list[Places], shape: tuple[int, ...]) -> Any:
        import numpy as np

        read = [self.read(x) for x in sources]
        made = i.computed(read, i.scalar or 0.0)
        if i.name in SPECIAL and SPECIAL[i.name].form == "bits":  # a byte with a bit of what nothing was written to
            unknown = np.isnan(read).any(0).reshape(*made.shape, 8)
            made = np.where(unknown.any(2), np.nan, made)
        return made if self.exact else _as_held(_ended(made, i.elements[0]), i.elements[0])

    def _added(self, held: Any, values: Any) -> Any:
        import numpy as np

        with np.errstate(invalid="ignore"):
            return held + values

    def _leaving(self, s: Move, values: Any, scale: Any) -> Any:
        """Accumulators as they leave L0C: scaled, negative ones cut off, rounded to the type of the destination."""
        import numpy as np

        if self.exact:
            return values
        settings = s.instruction.settings
        with np.errstate(invalid="ignore", over="ignore"):
            if scale is not None:
                values = values * scale
            if (one := settings.get("deqScalar")) is not None:
                values = values * float(one)
        if settings.get("reluEn") == "true":
            values = np.maximum(values, 0)
        return _as_held(values, s.instruction.element)

    def _multiply(self, s: Multiply) -> None:
        import numpy as np

        p = s.instruction.parameters
        m, n, k = (int(p[name]) for name in "mnk")
        a, b, c, bias = mmad_offsets(s, self.memories)
        left, right, index = self.read(a)[:m, :k], self.read(b)[:k, :n], index_of(s, self.memories)
        if index is not None:
            right = dense(right[: k // 2], self.read(index))
        if (beside := scales_of(s, self.memories)) is not None:
            left = left * self.read(beside[0]).repeat(MX_BLOCK, 1)
            right = right * self.read(beside[1]).repeat(MX_BLOCK, 0)
        before: Any = np.zeros((m, n))
        if bias is not None:
            before = np.broadcast_to(self.read(bias), (m, n))
        elif not starts_anew(s):
            before = self.read(c)[:m, :n]
        out = np.full(c.cells.shape, np.nan)
        with np.errstate(invalid="ignore", over="ignore"):  # infinities are numbers of half and float
            out[:m, :n] = before + left @ right
        self.write(c, out)


def _given(name: str, values: Any, element: Element) -> Any:
    """A user's numbers as global memory holds them: floats rounded; RangeError for those that their type has not.

    A type whose numbers are not known, as hif8, holds what it is given, and so does a wide one that numpy has not: a scale is
    a word with a float in it.
    """
    import numpy as np

    numbers = format_of(element)
    if numbers is None or (element.name not in DTYPES and element.bits > 16):
        return values
    require_numbers(name, values, element)
    if numbers.kind == "real":
        return _as_held(values, element)
    if (wrong := values != np.rint(values)).any():
        what = f"{name}: {values[wrong][0]} as {element}"
        raise RangeError(what, "whole numbers", "round them first: numpy.rint(x)")
    return values


def _ended(made: Any, element: Element) -> Any:
    """Results of the vector unit: what is larger than half or float has is an infinity there."""
    import numpy as np

    if element.name not in ("half", "float"):
        return made
    ended = rounded(made, dtype_of(element))
    return np.where(np.isinf(ended), ended, made)


def _as_held(values: Any, element: Element) -> Any:
    """Numbers as a type holds them, integers rounded and cut off at its ends; NaN stays."""
    import numpy as np

    dtype = dtype_of(element)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return np.where(np.isnan(values), values, np.clip(np.rint(values), ends.min, ends.max))
    stored = held("a value", np.nan_to_num(values, posinf=np.inf, neginf=-np.inf), dtype)
    if element.name not in DTYPES and (numbers := format_of(element)) is not None and numbers.kind == "real":
        stored = nearest(stored, element)
    return np.where(np.isnan(values), values, stored)


def merged(before: npt.NDArray[Any] | None, after: npt.NDArray[Any]) -> Any:
    """Merge what global memory holds with what one more core has written: NaN is what that has left as it was."""
    import numpy as np

    return after if before is None else np.where(np.isnan(after), before, after)


def execute_program(program: Program, tensors: Mapping[str, Any], sizes: Mapping[str, int] = {}) -> Values:
    """Execute a program on numbers: the memories as they are at its end.

    tensors   by name, the values of tensors in global memory;  sizes   those of its parameters

    Raises RangeError for an instruction that reaches outside of its memory. Source: ours.
    """
    found = Values(program, tensors)
    for event in events(program, sizes):
        found.run(event)
    return found
