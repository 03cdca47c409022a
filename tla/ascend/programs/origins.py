"""Values as what they are made of: which element of which tensor, or which sum of products of which elements.

A cell holds a number that says so. A program is right if each element of its results holds the sum that it should;
what is wrong is told by the element that is there instead. No value is computed, so that it is right for all of them.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.errors import RangeError
from ..transfers.side import offsets_in
from ..transfers.sparse import STORED
from ..vectors.instruction import OPERATIONS, VectorInstruction
from .machine import Machine
from .memory import Memories, Places, index_of, mmad_offsets, scales_of, starts_anew
from .mmad import MX_BLOCK
from .statements import Buffer, Move, Multiply

if TYPE_CHECKING:
    import numpy.typing as npt

#: What a cell holds that nothing was written to; a zero; and what is no element and no sum.
POISON, ZERO, GARBAGE = -1, -2, -3

#: What holds one number everywhere: cells from here on down, by the number of its term.
_CONSTANT = -4
#: A sum of products: its number, its row and its column lie in these bits behind the one that says that it is one.
_SUM, _BITS = 1 << 62, 20
_MOST = 1 << _BITS
#: The vector instructions that move elements as they are.
_MOVES = ("Copy", "TransDataTo5HD")


class Term(NamedTuple):
    """A part of a sum: products of rows of `a` by columns of `b` from `begin` to `end` of k; the biases `a` where
    b is None; that each column was multiplied by its own element of `a` (scale_term); or what functions of such sums
    make, `a` in words (function_term).

    Source: ours.
    """

    a: str
    b: str | None
    begin: int = 0
    end: int = 0

    def __str__(self) -> str:
        k = f"{self.begin}:{self.end}"
        return self.a if self.b in (None, _FACTOR, _FUNCTION) else f"{self.a}[:, {k}] @ {self.b}[{k}, :]"


Sum = tuple[Term, ...]
#: The b of a term that is a factor of the whole sum, and of one that is what a function makes of sums.
_FACTOR, _FUNCTION = "*", "f()"


def scale_term(name: str) -> Term:
    """The term that says that a sum was multiplied by the element of a vector that its column has."""
    return Term(name, _FACTOR)


def function_term(i: VectorInstruction, sums: Sequence[Sum]) -> Term:
    """The term that a vector instruction makes of its sources: two are the same where instruction, types and sources are."""
    given = [*(" + ".join(map(str, s)) or "0" for s in sums), *([] if i.scalar is None else [repr(i.scalar)])]
    kind = f"{i.name}{f'[{i.mode}]' if i.mode else ''}<{', '.join(e.name for e in i.elements)}>"
    return Term(f"{kind}({', '.join(given)})", _FUNCTION)


class Tensor2(NamedTuple):
    """A tensor of global memory: where its cells begin, which are valid, the first of each row and column."""

    name: str
    first: int
    valid: Any
    row: Any
    column: Any


class Origins(Machine):
    """The memories of a program, each cell with what it is made of."""

    zero = ZERO

    def __init__(self, memories: Memories) -> None:
        import numpy as np

        self.memories = memories
        self.sums: list[Sum] = []
        self._numbers: dict[Sum, int] = {}
        self._next: dict[tuple[int, Sum], int] = {}
        self.held = {name: np.full(size, POISON, np.int64) for name, size in memories.sizes.items()}
        self.tensors: list[Tensor2] = []
        first = 0
        for buffer in memories.program.buffers.values():
            if buffer.position == "GM":
                self.tensors.append(_tensor(buffer, memories, first))
                first += memories.sizes[buffer.name]
        self._firsts = np.array([t.first for t in self.tensors] + [first])

    def fill(self, name: str) -> None:
        """Put a tensor into global memory: each valid element is itself."""
        (t,) = (t for t in self.tensors if t.name == name)
        self.held[name][:] = self.filled(t)

    def empty(self, name: str) -> None:
        """Put zeros into the valid elements of a tensor."""
        import numpy as np

        (t,) = (t for t in self.tensors if t.name == name)
        self.held[name][:] = np.where(t.valid, ZERO, POISON)

    def filled(self, t: Tensor2) -> npt.NDArray[Any]:
        """Tell what the cells of a tensor hold that nothing has changed."""
        import numpy as np

        return np.where(t.valid, t.first + np.arange(t.valid.size), POISON)

    # ------------------------------------------------------------------------------------------------- elements

    def read(self, places: Places) -> Any:
        """Tell what elements hold; GARBAGE where the cells of one do not belong together."""
        import numpy as np

        held, first = self.held[places.memory], self.held[places.memory][places.cells]
        ok = np.ones(first.shape, bool)
        for k in range(1, places.width):
            next_ = held[places.cells + k]
            ok &= next_ == np.where((first >= 0) & (first < _SUM), first + k, first)
        return first if places.width == 1 else np.where(ok, first, GARBAGE)

    def write(self, places: Places, values: Any) -> None:
        """Make elements hold values."""
        import numpy as np

        for k in range(places.width):
            self.held[places.memory][places.cells + k] = np.where((values >= 0) & (values < _SUM), values + k, values)

    # ------------------------------------------------------------------------------------------------- instructions

    def _computed(self, i: VectorInstruction, sources: list[Places], shape: tuple[int, ...]) -> Any:
        """The elements that an instruction moves, and what one that goes element by element makes of sums; what another
        one makes is no element and no sum."""
        import numpy as np

        read = [self.read(x) for x in sources]
        if i.name in _MOVES:
            return read[0]
        by_element = i.name in OPERATIONS and all(x.shape == shape for x in read)
        return np.broadcast_to(self.applied(i, read) if by_element else GARBAGE, shape)

    def applied(self, i: VectorInstruction, read: Sequence[Any]) -> Any:
        """Tell what a vector instruction makes of its sources, sums of one row and column and constants; of others
        GARBAGE; of no source a constant."""
        import numpy as np

        if not read:
            return np.array(_CONSTANT - self._number((function_term(i, ()),)))
        sides = np.broadcast_arrays(*(self._as_sums(x) for x in read))
        place = np.full(sides[0].shape, -1)
        for x in sides:
            place = np.where((place < 0) & (x >= _SUM), x & ((1 << 2 * _BITS) - 1), place)
        same = [(x <= _CONSTANT) | (x >= _SUM) & (x & ((1 << 2 * _BITS) - 1) == place) for x in sides]
        good = np.all([*same, place >= 0], axis=0)
        own = (np.where(x <= _CONSTANT, _CONSTANT - x, x >> 2 * _BITS & (_MOST - 1)) for x in sides)
        numbers = sum(x[good] << _BITS * j for j, x in enumerate(own))  # of three sources at most
        found, which = np.unique(numbers, return_inverse=True)
        given = ([self.sums[n >> _BITS * j & (_MOST - 1)] for j in range(len(sides))] for n in found.tolist())
        every = [self._number((function_term(i, sums),)) for sums in given]
        out = np.full(place.shape, GARBAGE, np.int64)
        if every:
            out[good] = _SUM | np.array(every)[which.ravel()] << 2 * _BITS | place[good]
        return out

    def _as_sums(self, held: Any) -> Any:
        """Elements of tensors as sums, each of itself."""
        import numpy as np

        if not ((held >= 0) & (held < _SUM)).any():
            return held
        which, row, column = self._coordinates(held)
        out = np.where(which >= 0, GARBAGE, held)
        for number in np.unique(which[which >= 0]).tolist():
            own = _SUM | self._number((Term(self.tensors[number].name, None),)) << 2 * _BITS
            out = np.where(which == number, own | row << _BITS | column, out)
        return out

    def _multiply(self, s: Multiply) -> None:
        import numpy as np

        p = s.instruction.parameters
        m, n, k = (int(p[name]) for name in "mnk")
        a, b, c, bias = mmad_offsets(s, self.memories)
        index, kept = index_of(s, self.memories), np.ones(k, bool)
        first, second = self.read(a)[:m, :k], self.read(b)[: k if index is None else k // 2, :n]
        if index is None:  # products of zeros add nothing
            kept = ~((first == ZERO).all(0) & (second == ZERO).all(1))
            kept |= not kept.any()
            first, second = first[:, kept], second[kept]
        rows, left = self._lines(first, along=1)
        columns, right = self._lines(second, along=0)
        if index is not None:
            columns, right = self._chosen(columns, right, self.read(index))
        if (beside := scales_of(s, self.memories)) is not None:
            block = np.flatnonzero(kept) // MX_BLOCK
            rows, left = self._scaled(rows, left, self.read(beside[0])[:, block], along=1)
            columns, right = self._scaled(columns, right, self.read(beside[1])[block], along=0)
        out = np.full(c.cells.shape, GARBAGE, np.int64)
        terms = _terms(left, right)
        if terms is not None:
            begin = self._beginning(s, c, bias, (m, n), rows, columns)
            sums = self._plus(begin, terms)
            good = (rows[:, None] >= 0) & (columns[None, :] >= 0) & (sums >= 0)
            coordinates = np.maximum(rows, 0)[:, None] << _BITS | np.maximum(columns, 0)
            out[:m, :n] = np.where(good, _SUM | sums << 2 * _BITS | coordinates, GARBAGE)
        self.write(c, out)

    def _lines(self, held: npt.NDArray[Any], along: int) -> tuple[Any, tuple[str, Any] | None]:
        """Return the row of each line of a, or the column of each of b, -1 where it is none; and the tensor
        with the places of k.

        These are the same in all lines.
        """
        import numpy as np

        lines = held if along == 1 else held.T
        which, first, second = self._coordinates(lines)
        own, k = (first, second) if along == 1 else (second, first)
        good = (which >= 0).all(1) & (own == own[:, :1]).all(1) & (which == which[:, :1]).all(1)
        if not good.any():
            return np.full(len(lines), -1), None
        at = int(good.argmax())
        good &= (k == k[at]).all(1) & (which[:, 0] == which[at, 0])
        return np.where(good, own[:, 0], -1), (self.tensors[int(which[at, 0])].name, k[at])

    def _scaled(
        self, own: Any, told: tuple[str, Any] | None, held: npt.NDArray[Any], along: int
    ) -> tuple[Any, tuple[str, Any] | None]:
        """Return lines whose elements each have the scale of their own line and of their block of k, -1 for others; and
        the tensor with that of the scales.

        held   the scale of each element
        """
        import numpy as np

        if told is None:
            return own, None
        which, first, second = self._coordinates(held if along == 1 else held.T)
        line, block = (first, second) if along == 1 else (second, first)
        name, k = told
        scales = which[int((own >= 0).argmax()), 0]
        good = (own >= 0) & (scales >= 0) & (which == scales).all(1)
        good &= (line == own[:, None]).all(1) & (block == k // MX_BLOCK).all(1)
        return np.where(good, own, -1), (f"{name}*{self.tensors[int(scales)].name}", k)

    def _chosen(self, own: Any, told: tuple[str, Any] | None, held: Any) -> tuple[Any, tuple[str, Any] | None]:
        """Return columns of a sparse matrix whose stored elements each have their own bits of the index, -1 for others;
        and the tensor with that of the index, with the rows that its bytes are for.

        held   the byte of each four that are stored
        """
        import numpy as np

        if told is None or (told[1] % STORED != np.arange(told[1].size) % STORED).any():
            return own, None
        which, byte, column = self._coordinates(held.T)
        name, stored = told
        index = which[int((own >= 0).argmax()), 0]
        good = (own >= 0) & (index >= 0) & (which == index).all(1) & (column == own[:, None]).all(1)
        good &= (byte.repeat(STORED, 1) == stored // STORED).all(1)
        rows = stored[::STORED, None] * 2 + np.arange(2 * STORED)
        return np.where(good, own, -1), (f"{name}*{self.tensors[int(index)].name}", rows.ravel())

    def _coordinates(self, held: Any) -> tuple[Any, Any, Any]:
        """The tensor of each element, its row and its column; -1 where it is none of a tensor."""
        import numpy as np

        which = np.searchsorted(self._firsts, held, "right") - 1
        which = np.where((held >= 0) & (held < _SUM), which, -1)
        row, column = np.full(held.shape, -1), np.full(held.shape, -1)
        for number, t in enumerate(self.tensors):
            here = which == number
            if here.any():
                row[here], column[here] = t.row[held[here] - t.first], t.column[held[here] - t.first]
        return np.where(row >= 0, which, -1), row, column

    def _beginning(
        self,
        s: Multiply,
        c: Places,
        bias: Places | None,
        sizes: tuple[int, int],
        rows: npt.NDArray[Any],
        columns: npt.NDArray[Any],
    ) -> npt.NDArray[Any]:
        """The number of the sum that each accumulator begins with; -1 where that is none."""
        import numpy as np

        m, n = sizes
        if bias is not None:
            which, first, second = self._coordinates(self.read(bias))
            index = np.maximum(first, second)
            good = (which >= 0) & (which == which[0]) & (index == columns)
            number = self._number((Term(self.tensors[int(which[0])].name, None),)) if good.any() else 0
            return np.broadcast_to(np.where(good, number, -1), sizes)
        if starts_anew(s):
            return np.full(sizes, self._number(()))
        held = self.read(c)[:m, :n]
        row, column = held >> _BITS & (_MOST - 1), held & (_MOST - 1)
        good = (held >= _SUM) & (row == rows[:, None]) & (column == columns[None, :])
        return np.where(good, held >> 2 * _BITS & (_MOST - 1), -1)

    # ------------------------------------------------------------------------------------------------- sums

    def _number(self, s: Sum) -> int:
        """The number of a sum."""
        if s not in self._numbers:
            if len(self.sums) >= _MOST:
                raise RangeError(f"{len(self.sums)} different sums", f"less than {_MOST}", "check a smaller problem")
            self._numbers[s] = len(self.sums)
            self.sums.append(s)
        return self._numbers[s]

    def _plus(self, begin: npt.NDArray[Any], terms: Sum) -> npt.NDArray[Any]:
        """The numbers of sums with more terms."""
        import numpy as np

        out = np.full(begin.shape, -1)
        for number in np.unique(begin[begin >= 0]).tolist():
            if (number, terms) not in self._next:
                self._next[number, terms] = self._number(joined((*self.sums[number], *terms)))
            out[begin == number] = self._next[number, terms]
        return out

    def _leaving(self, _s: Move, values: Any, scale: Any) -> Any:
        """Sums as they leave L0C: with the scale of its own column each; GARBAGE where that is another."""
        import numpy as np

        if scale is None or not values.size:
            return values
        which, _, column = self._coordinates(scale)
        good = (values >= _SUM) & (which >= 0) & (which == which.max()) & (column == (values & (_MOST - 1)))
        out = np.full(values.shape, GARBAGE, np.int64)
        if good.any():
            numbers, place = values[good] >> 2 * _BITS & (_MOST - 1), values[good] & ((1 << 2 * _BITS) - 1)
            sums = self._plus(numbers, (scale_term(self.tensors[int(which.max())].name),))
            out[good] = _SUM | sums << 2 * _BITS | place
        return out

    def _added(self, held: Any, values: Any) -> npt.NDArray[Any]:
        """Sums that are added to what global memory holds, where it holds zeros or sums of the same row and column."""
        import numpy as np

        place = (1 << 2 * _BITS) - 1
        fresh = held == ZERO
        both = (held >= _SUM) & (values >= _SUM) & ((held & place) == (values & place))
        out = np.where(fresh, values, GARBAGE)
        for number in np.unique(values[both] >> 2 * _BITS & (_MOST - 1)).tolist():
            here = both & ((values >> 2 * _BITS & (_MOST - 1)) == number)
            sums = self._plus(held[here] >> 2 * _BITS & (_MOST - 1), self.sums[number])
            out[here] = _SUM | sums << 2 * _BITS | (values[here] & place)
        return out

    # ------------------------------------------------------------------------------------------------- results

    def sums_of(self, terms: Sum, sizes: tuple[int, ...], start: tuple[int, int] = (0, 0)) -> npt.NDArray[Any]:
        """Tell what the elements of a matrix of such sums hold, of the rows and columns from `start` on."""
        import numpy as np

        row, column = np.indices(sizes) if len(sizes) == 2 else (np.zeros(sizes, np.int64), np.arange(sizes[0]))
        return _SUM | self._number(terms) << 2 * _BITS | (row + start[0]) << _BITS | (column + start[1])

    def sum_of(self, held: int) -> tuple[int, int, Sum] | None:
        """The row, the column and the sum that a cell holds; None where it holds none."""
        if held < _SUM:
            return None
        return held >> _BITS & (_MOST - 1), held & (_MOST - 1), self.sums[held >> 2 * _BITS & (_MOST - 1)]

    def told(self, held: int) -> str:
        """Tell what a cell holds, for people."""
        if held in _TOLD:
            return _TOLD[held]
        if held <= _CONSTANT:
            return str(self.sums[_CONSTANT - held][0])
        found = self.sum_of(held)
        if found is not None:
            row, column, terms = found
            added, factors = ([str(t) for t in terms if (t.b == _FACTOR) is x] for x in (False, True))
            return f"({' + '.join(added) or '0'})[{row}, {column}]" + "".join(f" * {x}[{column}]" for x in factors)
        which, row, column = (int(x[0]) for x in self._coordinates(_array(held)))
        return f"{self.tensors[which].name}[{row}, {column}]" if which >= 0 else "padding of a tensor"


_TOLD = {POISON: "what nothing was written to", ZERO: "a zero", GARBAGE: "what is no element and no sum"}


def _array(held: int) -> npt.NDArray[Any]:
    import numpy as np

    return np.array([held])


def _tensor(buffer: Buffer, memories: Memories, first: int) -> Tensor2:
    """The rows and columns of the cells of a tensor; a vector is one row."""
    import numpy as np

    width = buffer.element.bits // memories.bits
    row, column = (np.full(memories.sizes[buffer.name], -1) for _ in range(2))
    at = offsets_in(buffer.layout) * width
    high, wide = at.shape if at.ndim == 2 else (1, at.size)
    row[at.ravel()], column[at.ravel()] = (x.ravel() for x in np.indices((high, wide)))
    inside = np.zeros(row.size, bool)
    for k in range(width):
        inside[at.ravel() + k] = True
    return Tensor2(buffer.name, first, inside, row, column)


def _terms(left: tuple[str, Any] | None, right: tuple[str, Any] | None) -> Sum | None:
    """The products of a Mmad: the runs of k, which a and b have in the same order; None where they have not."""
    if left is None or right is None or not (left[1] == right[1]).all():
        return None
    runs: list[Term] = []
    for k in left[1].tolist():
        if runs and runs[-1].end == k:
            runs[-1] = runs[-1]._replace(end=k + 1)
        else:
            runs.append(Term(left[0], right[0], k, k + 1))
    return joined(runs)


def joined(terms: Sequence[Term]) -> Sum:
    """A sum with its terms in order, neighbours joined."""
    found: list[Term] = []
    for t in sorted(terms, key=lambda t: (t.a, t.b or "", t.begin, t.end)):
        if found and t.b is not None and found[-1][:2] == t[:2] and found[-1].end == t.begin:
            found[-1] = found[-1]._replace(end=t.end)
        else:
            found.append(t)
    return tuple(found)
