"""The predicate of a copy: one truth value for all that an instruction moves.

Source: CuTe include/cute/atom/copy_atom.hpp, Copy_Atom::call, which asks the first value's alone; the
PTX manual, ".aligned".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.errors import LeafTypeError, RankError
from ...core.int_tuple import size
from ...tensors.tensor import Tensor
from ..instructions.atom import CopyAtom
from .sides import Side
from .values import extents_of, holds_coordinates, places_of, values_of

if TYPE_CHECKING:
    import numpy.typing as npt


class Truth(NamedTuple):
    """A predicate with the axes of what is read, and of what is written: (thread, value, rest ...).

    Source: CuTe `copy_if`.
    """

    read: Any
    written: Any

    def of_instructions(self, where: str, atom: CopyAtom, sides: tuple[Side, Side]) -> Any:
        """Whether each instruction is executed, for each of its threads: an array of (thread, instruction, rest ...).

        Raises LeafTypeError where it would be for some of its values, or of its threads, and not for the others.
        """
        lanes, executed = (
            int(size(atom.thr_id)),
            self.written,
        )  # once it is one for an instruction, the same of each side
        for mask, side in zip(self, sides):
            threads, values, *rest = mask.shape
            lanes = min(lanes, threads)  # a single thread, of a symbol, stands for all
            grouped = mask.reshape(threads // lanes, lanes, values // side.values, side.values, *rest)
            executed = grouped.all((1, 3))
            if (grouped.any((1, 3)) != executed).any():
                raise _several_values(where, side, grouped, executed)
        return executed.repeat(lanes, 0)


def _several_values(where: str, side: Side, grouped: npt.NDArray[Any], executed: npt.NDArray[Any]) -> LeafTypeError:
    """The refusal of a predicate that is true for some values of an instruction."""
    import numpy as np

    lanes, values = grouped.shape[1], side.values
    at = np.argwhere(grouped.any((1, 3)) != executed)[0]
    group, true = at[0], int(grouped.sum((1, 3))[tuple(at)])
    whose = f"thread {group} moves" if lanes == 1 else f"threads {group * lanes} to {group * lanes + lanes - 1} move"
    what = f"{where} with a predicate that is true for {true} of the {lanes * values} values that {whose} at once"
    fix = f"make edges multiples of {values} elements, or copy by UniversalCopy[{side.vectors.element}]"
    return LeafTypeError(what, f"one truth value for all {lanes * values}", fix)


def truth_of(where: str, predicate: npt.NDArray[Any] | Tensor, tensors: tuple[Tensor, Tensor]) -> Truth:
    """A predicate with the axes of source and target; LeafTypeError for no predicate, RankError for other extents."""
    return Truth(*(_mask(where, predicate, t) for t in tensors))


def _mask(where: str, predicate: npt.NDArray[Any] | Tensor, t: Tensor) -> npt.NDArray[Any]:
    """A predicate with the axes of a tensor's elements."""
    import numpy as np

    fix = "compare first: coordinates < extents"
    if isinstance(predicate, Tensor) and holds_coordinates(predicate):
        raise LeafTypeError(f"{where} with coordinates for a predicate", "truth values", fix)
    given = values_of(predicate) if isinstance(predicate, Tensor) else np.asarray(predicate)
    if given.dtype != bool:
        raise LeafTypeError(f"{where} with a predicate of {given.dtype}", "truth values", fix)
    shape = (places_of(t).shape[0], *extents_of(t))
    if given.ndim == len(shape) - 1:
        given = given[:, None]
    try:
        return np.broadcast_to(given, shape)
    except ValueError:
        what = f"{where} with a predicate of {given.shape} for {shape}, threads first"
        expected = "one truth value of each value, or of each mode behind the first"
        raise RankError(what, expected, "partition it the same way") from None
