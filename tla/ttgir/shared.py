"""Loads and stores of shared memory: the instruction that Triton takes for a layout of registers, and its wavefronts.

A matrix instruction (ldmatrix, stmatrix) moves matrices of 8 rows of 16 bytes: lane l of a warp holds word l % 4 of row
l / 4. So bits 0 and 1 of the lane are the words of a row, behind the elements of a word, which are registers; bits 2 to
4 are rows, at any addresses of whole rows. Transposed, bits 2 to 4 are the elements of a row. Its addresses are those
of a 128-bit access by the rows' lanes, of which 8 go together.

Source: the PTX manual, ldmatrix and stmatrix; Triton 3.9, lib/Conversion/TritonGPUToLLVM.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..access.by_bits import ByBits, by_bits
from ..access.counting import Access, Asked, access, counted_by_bits
from ..core.element import Width
from ..core.errors import RangeError
from ..linear import LinearLayout, bits
from .machines import Machine

#: Bits of a row of a matrix, and of the words that its lanes hold; bits of the number of a row, and of matrices of one
#: instruction.
_ROW, _WORD, _ROWS, _MATRICES = 128, 32, 3, 2


@dataclass(frozen=True)
class Moved:
    """Instructions of one kind that move a tile between registers and shared memory.

    name          ldmatrix.x4, ldmatrix.x4.trans, stmatrix.x2, load, store
    instructions  of a warp
    access        what they cost: of all warps
    """

    name: str
    instructions: int
    access: Access

    @property
    def vector(self) -> int:
        """The width of a lane's access [bits]."""
        return self.access.vector


def moved(owners: LinearLayout, memory: Any, element: Width, machine: Machine, store: bool) -> Moved:
    """The instructions that move what owners hold to or from shared memory.

    owners   the linear layout of registers
    memory   the layout of shared memory, as tla.access.access takes it
    """
    row = machine.write if store else machine.read
    if (at := by_bits(owners, memory, row.lanes)) is not None:
        return moved_by_bits(at, element, machine, store)
    counted = access(without_copies(owners), memory, element, memory=row)
    return Moved("store" if store else "load", counted.instructions // _warps(owners), counted)


def moved_by_bits(
    at: ByBits, element: Width, machine: Machine, store: bool, together: int = 1 << 30, most: int = _ROW
) -> Moved:
    """The same of owners whose offsets are known by bits.

    together   one matrix instruction moves offsets below that; 0 for none
    most       the widest access of a lane [bits]
    """
    found = _matrices(at, element, machine, store, together) if together else None
    return found or _vectors(at, element, machine, store, most)


def _warps(owners: LinearLayout) -> int:
    return math.prod(owners.get_in_dim_size(name) for name in ("warp", "block") if owners.has_in_dim(name))


def without_copies(owners: LinearLayout) -> LinearLayout:
    """The layout without registers that hold what others do."""
    register = [v for v in owners.bases.get("register", ()) if any(v)]
    return LinearLayout({**owners.bases, "register": register}, owners.out_dims)


def registers_of(owners: LinearLayout) -> int:
    """The registers of a thread that hold what no others do."""
    return without_copies(owners).get_in_dim_size("register")


def _vectors(at: ByBits, element: Width, machine: Machine, store: bool, most: int) -> Moved:
    """Instructions of vectors: the widest of which each step is one bit of the register's number, and all else
    a whole vector."""
    at = at._replace(register=[c for c in at.register if c])
    widths = (
        w
        for w in machine.read.widths
        if w <= most and w % element.bits == 0 and bits.is_power_of_two(w // element.bits)
    )
    width = next((w for w in widths if at.walks_alike(w // element.bits)), None)
    row = machine.write if store else machine.read
    found = None if width is None else counted_by_bits(at, element, Asked(width), row)
    if found is None:
        raise RangeError(
            f"elements of {element} in {row.name}", "elements of 8 to 128 bits", "look at another operation"
        )
    return Moved("store" if store else "load", found.instructions >> len(at.warp), found)


def _matrices(at: ByBits, element: Width, machine: Machine, store: bool, limit: int) -> Moved | None:
    """The same by matrix instructions; None where the machine has none, or the layout is none of theirs."""
    if not (machine.stmatrix if store else machine.ldmatrix) or element.bits not in (8, 16, 32) or len(at.lane) != 5:
        return None
    registers = [c for c in at.register if c]
    row, word = bits.log2(_ROW // element.bits), bits.log2(_WORD // element.bits)
    plain = {1 << k for k in range(word)} <= {*registers} and at.lane[: row - word] == [
        1 << k for k in range(word, row)
    ]
    if plain:
        rest = [c for c in registers if c >= 1 << word]
        return _by_rows(at, rest, at.lane[row - word :], "", element, machine, store, limit)
    transposed = element.bits == 16 or (element.bits == 8 and machine.narrow and not store)
    if transposed and row == _ROWS and at.lane[5 - row :] == [1 << k for k in range(row)] and registers:
        return _by_rows(
            at, registers[1:], [registers[0], *at.lane[: 5 - row]], ".trans", element, machine, store, limit
        )
    return None


def _by_rows(
    at: ByBits, rest: list[int], rows: list[int], form: str, element: Width, machine: Machine, store: bool, limit: int
) -> Moved | None:
    """Matrix instructions whose rows begin where bits `rows` say, of as many matrices at once as the rest of the
    registers has."""
    per_row = _ROW // element.bits
    together = [c for c in rest if c < limit][:_MATRICES]
    further = [c for c in rest if c not in together]
    if any(c % per_row for c in (*rows, *rest, *at.warp)):
        return None
    by_row = ByBits([*(1 << k for k in range(bits.log2(per_row))), *further], [*rows, *together], at.warp)
    counted = counted_by_bits(by_row, element, Asked(_ROW), machine.write if store else machine.read)
    if counted is None:
        return None
    name = f"{'st' if store else 'ld'}matrix.x{1 << len(together)}{form}"
    return Moved(name, counted.instructions >> len(at.warp), counted)
