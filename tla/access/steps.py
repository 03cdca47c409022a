"""The steps of a conversion: registers copied, words shuffled between the lanes of a warp, values stored and loaded."""

from __future__ import annotations

from typing import Any, NamedTuple

from .lane_moves import LaneMove

#: A shuffle moves words of 32 bits, and a byte at least for each value.
WORD_BITS = 32
BYTE_BITS = 8


class Move(NamedTuple):
    """Registers copied within each thread: destination register -> source register.

    >>> from tla.access import convert
    >>> from tla.linear import LinearLayout
    >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
    >>> b = LinearLayout({"register": [(2,), (1,)], "lane": []}, {"dim0": 4})
    >>> convert(a, b).steps
    (Move(table=(0, 2, 1, 3)),)
    """

    table: tuple[int, ...]


class Shuffle(NamedTuple):
    """One round in each warp: each lane sends a word, reads one lane's, and keeps what it holds in registers.

    send, source, into   one for each lane, of each warp if `warps` is not 1: the register that its word begins with,
                         the lane that it reads, the register that keeps the beginning of what it reads; each is a
                         constant xored with what each bit of the lane's number changes. What is kept in a register that
                         the destination has not is dropped
    sends, keeps         value s of a word is that of register send ^ sends[s], and is kept in register into ^ keeps[s]

    warps                how many warps the tables are of, one after the other; 1 where all do alike
    move                 the one instruction of a machine that goes from lane to lane without shared memory's
                         pipe; None for a shuffle

    A word has several values where elements are narrower than 32 bits and both layouts have them together in registers.

    >>> from tla.access import convert
    >>> from tla.linear import LinearLayout
    >>> a = LinearLayout({"register": [], "lane": [(1,), (2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [], "lane": [(2,), (1,)]}, {"dim0": 4})
    >>> convert(a, b).steps
    (Shuffle(send=(0, 0, 0, 0), source=(0, 2, 1, 3), into=(0, 0, 0, 0), sends=(0,), keeps=(0,), move=None, warps=1),)
    """

    send: tuple[int, ...]
    source: tuple[int, ...]
    into: tuple[int, ...]
    sends: tuple[int, ...] = (0,)
    keeps: tuple[int, ...] = (0,)
    move: LaneMove | None = None
    warps: int = 1

    @property
    def lanes(self) -> int:
        """The lanes of a warp."""
        return len(self.source) // self.warps

    @property
    def crosses(self) -> bool:
        """Whether any value leaves its lane: else it is a copy in registers, chosen by lane."""
        return any(s != thread % self.lanes for thread, s in enumerate(self.source))


class Spread(NamedTuple):
    """Registers of the destination copied to those that hold the same: destination register -> the one that has it.

    >>> from tla.access import convert
    >>> from tla.linear import LinearLayout
    >>> a = LinearLayout({"register": [], "lane": [(1,), (2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [(0,)], "lane": [(2,), (1,)]}, {"dim0": 4})
    >>> convert(a, b).steps[-1]
    Spread(table=(0, 0))
    """

    table: tuple[int, ...]


class Matrices(NamedTuple):
    """The registers that one matrix instruction moves, as changes of a register's number.

    word         of the values of a word of 32 bits, lowest first
    together     of the matrices of an instruction, two at most
    transposed   whether memory has the columns of what lanes hold as rows

    >>> Matrices((1,), (2, 4), True).name
    'matrix.x4.trans'
    """

    word: tuple[int, ...]
    together: tuple[int, ...]
    transposed: bool

    @property
    def name(self) -> str:
        """The name of the instruction after ld or st."""
        return f"matrix.x{1 << len(self.together)}{'.trans' if self.transposed else ''}"


class Vector(NamedTuple):
    """One access of each lane: the place where thread 0 begins [elements], and the registers of each of its values,
    equal ones together.

    >>> Vector(8, [[0], [1]]).at
    8
    """

    at: int
    registers: list[list[int]]


class Store(NamedTuple):
    """Registers written to shared memory: to a layout from elements to offsets, in vectors of so many elements.

    registers   which ones, where memory holds a part of the tile at a time; None for all
    matrices    of stmatrix; None for vectors of each lane's own

    >>> from tla.access import convert
    >>> from tla.linear import LinearLayout
    >>> a = LinearLayout({"register": [], "lane": [(1,)], "warp": [(2,)]}, {"dim0": 4})
    >>> b = LinearLayout({"register": [], "lane": [(2,)], "warp": [(1,)]}, {"dim0": 4})
    >>> convert(a, b).steps[0]
    Store(layout=parse('_4:_1'), vector=1, registers=None, matrices=None)
    """

    layout: Any
    vector: int = 1
    registers: tuple[int, ...] | None = None
    matrices: Matrices | None = None


class Load(NamedTuple):
    """Registers read from shared memory, as Store has them, after a barrier, in vectors of so many elements,
    or by ldmatrix.

    >>> Load("the layout that was stored to").layout
    'the layout that was stored to'
    """

    layout: Any
    vector: int = 1
    registers: tuple[int, ...] | None = None
    matrices: Matrices | None = None


Step = Move | Shuffle | Spread | Store | Load
