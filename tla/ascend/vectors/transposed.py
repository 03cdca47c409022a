"""TransDataTo5HD: 16 blocks of 32 bytes, as the rows of a matrix, stored as its columns.

Of 16 bits a repeat exchanges the rows and columns of 16 by 16 elements. Of 32 bits each block has 8 columns, and a
column takes two blocks; of 8 bits one half of each block is taken, and one is stored.

Source: AscendC `TransDataTo5HD`; CATLASS `PaddingMatrixNZ::VnchwND2NZ`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...core.errors import LeafTypeError, RangeError, Reason
from ...core.int_tuple import quoted
from .instruction import MOST_REPEATS, VectorInstruction

#: The blocks of each operand, and the bytes of one.
BLOCKS, BYTES = 16, 32
#: The widths of elements [bits].
WIDTHS = (8, 16, 32)
FIELDS = ("dstHighHalf", "srcHighHalf", "repeatTimes", "dstRepStride", "srcRepStride")


@dataclass(frozen=True)
class Transposition(VectorInstruction):
    """One TransDataTo5HD; its table has the bytes that the 16 blocks of dst begin at, then those of src.

    >>> from tla.ascend import half
    >>> blocks = tuple(range(0, 512, 32))
    >>> fields = {"dstHighHalf": 0, "srcHighHalf": 0, "repeatTimes": 1, "dstRepStride": 0, "srcRepStride": 0}
    >>> i = Transposition("TransDataTo5HD", (0, 0), fields, (half, half), table=blocks + blocks)
    >>> [x[0, :3].tolist() for x in i.by_repeats()]
    [[0, 1, 2], [0, 16, 32]]

    Source: AscendC.
    """

    def over_fields(self) -> Reason | None:
        """The first thing that the hardware does not take; None if there is none."""
        p, bits = self.parameters, self.elements[0].bits
        if bits not in WIDTHS:
            return Reason(f"{self.name} of {bits} bits", "elements of 8, 16 or 32 bits", "log it with the stand-in")
        if odd := [n for n in self.table if n % BYTES or n < 0]:
            return Reason(f"{self.name}: a block at byte {odd[0]}", f"a multiple of {BYTES}", "begin it at a block")
        most = {"repeatTimes": MOST_REPEATS, "dstHighHalf": bits == 8, "srcHighHalf": bits == 8}
        for field in FIELDS:
            if not 0 <= p[field] <= most.get(field, 2**16 - 1):
                expected = f"0 to {int(most.get(field, 2**16 - 1))}"
                return Reason(
                    f"{self.name}: {field} = {p[field]}", expected, "transpose smaller tiles, one after another"
                )
        return None

    def by_repeats(self) -> list[Any]:
        """The offsets of the elements of each operand: a row for each repeat, column after column of the source.

        The only repeat of a call begins a stride behind its blocks, as the manual says.
        """
        import numpy as np

        p, size = self.parameters, self.elements[0].bits // 8
        first, count = p["repeatTimes"] == 1, p["repeatTimes"]
        step = (np.arange(count) + first)[:, None] * BYTES
        to, begin = (np.array(x) // size for x in (self.table[:BLOCKS], self.table[BLOCKS:]))
        column, row = np.divmod(np.arange(BLOCKS * min(BLOCKS, BYTES // size)), BLOCKS)
        half = BLOCKS // size  # of 8 bits
        parts = 2 if size == 4 else 1  # the blocks of a column
        dst = to[parts * column + row * parts // BLOCKS] + row % (BLOCKS // parts) + half * p["dstHighHalf"]
        src = begin[row] + column + half * p["srcHighHalf"]
        return [dst + step // size * p["dstRepStride"], src + step // size * p["srcRepStride"]]

    def computed(self, read: list[Any], scalar: Any) -> Any:
        """The elements that it reads, as they are."""
        return read[0]

    def call(self, *names: str) -> str:
        """LeafTypeError: it is read from logs, and not written."""
        raise LeafTypeError(
            f"the text of a {self.name}", "an instruction that is planned", "write it with its 16 addresses"
        )


def require_table(name: str, lists: list[Any]) -> tuple[int, ...]:
    """The addresses of two lists of 16 blocks each; LeafTypeError for others, RangeError for another number of them."""
    if len(lists) != 2 or any(
        not isinstance(x, list) or any(isinstance(n, bool) or not isinstance(n, int) for n in x) for x in lists
    ):
        raise LeafTypeError(f"{name} of {quoted(lists, 60)}", "two lists of addresses", "log it with the stand-in")
    if [len(x) for x in lists] != [BLOCKS, BLOCKS]:
        what = f"{name} of {' and '.join(str(len(x)) for x in lists)} blocks"
        raise RangeError(what, f"{BLOCKS} of each operand", "log it with the stand-in")
    return (*lists[0], *lists[1])
