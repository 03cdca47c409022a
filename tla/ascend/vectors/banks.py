"""Bank conflicts of a vector instruction: its blocks of 32 bytes, repeat by repeat, over the bank groups of
the unified buffer.

AtlasA2's has 16 groups of three banks: in a cycle a row of 32 bytes of each group is read, and one is written.
Ascend950's has 8 groups of two banks, and a row of each bank is read, and one of each group written. A bank that is
read and written at once is a conflict of its own, which the manual gives no number of cycles for.

Source: AscendC best practices, avoiding bank conflicts in the unified buffer (NPU architecture 220x, and Atlas 350).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..architecture import Architecture

#: The bank groups of the unified buffer, as ASCEND_UB of `tla.access` has them, and the rows of 32 bytes of a bank.
GROUPS, ROWS_OF_BANK = 16, 128
#: Of Ascend950: the banks, of which as many rows are read in a cycle, and the groups, of which as many are written.
WIDE_BANKS, WIDE_GROUPS = 16, 8


class Banks(NamedTuple):
    """The cycles that an instruction's reads and writes take of the banks, whichever take longer in each repeat.

    cycles       in all; least without conflicts: one for each repeat, two where two sources have more than
                 16 blocks between them
    read_write   in how many repeats a bank is read and written
    witness      (repeat, bank group, blocks in it) of the first repeat that takes more than the least, or None

    >>> from tla import MakeLayout, MakeTensor
    >>> from tla.ascend import RowMajor, float32, vector
    >>> t = [MakeTensor(None, MakeLayout[float32, RowMajor](4, 64), position="UB") for _ in range(3)]
    >>> (i,) = vector("Add", *t, element=float32)
    >>> i.banks(0, 0x10000, 0x20000)                      # both sources begin in group 0
    Banks(cycles=8, least=4, read_write=0, witness=(0, 0, 2))
    >>> i.banks(0, 0x10000, 0x20100)                      # the second begins in group 8
    Banks(cycles=4, least=4, read_write=0, witness=None)

    Source: AscendC.
    """

    cycles: int
    least: int
    read_write: int
    witness: tuple[int, int, int] | None


def counted(written: Any, read: list[Any], arch: Architecture) -> Banks:
    """Count the cycles of blocks by their numbers in the buffer: a row for each repeat, of dst and of each source."""
    import numpy as np

    wide = "AtlasA" not in arch.name
    ports, count = ((WIDE_BANKS, WIDE_GROUPS) if wide else (GROUPS, GROUPS)), len(written)
    sides = [_distinct(x) for x in (np.concatenate(read, axis=1) if read else written[:, :0], written)]
    # of each repeat how many blocks lie in each bank group, and of how many blocks in all
    taken = [_table(repeats, blocks % n, count, n) for (repeats, blocks), n in zip(sides, ports)]
    slow = np.maximum(taken[0].max(axis=1), taken[1].max(axis=1))
    fewest = (-(-x.sum(axis=1) // n) for x, n in zip(taken, ports))
    least = np.maximum(1, np.maximum(*fewest))
    banks = [_banks(blocks, wide) for _, blocks in sides]
    most = 1 + max(int(x.max(initial=0)) for x in banks)
    met = [_table(repeats, x, count, most) > 0 for (repeats, _), x in zip(sides, banks)]
    witness: tuple[int, int, int] | None = None
    if (slow > least).any():
        repeat = int((slow > least).argmax())
        side = taken[0][repeat] if taken[0][repeat].max() == slow[repeat] else taken[1][repeat]
        witness = repeat, int(side.argmax()), int(slow[repeat])
    both = int((met[0] & met[1]).any(axis=1).sum())
    return Banks(int(np.maximum(1, slow).sum()), int(least.sum()), both, witness)


def _distinct(rows: Any) -> tuple[Any, Any]:
    """The blocks of each repeat, each once: the number of its repeat, and its own."""
    import numpy as np

    blocks = np.sort(rows, axis=1)
    first = np.ones(blocks.shape, bool)
    first[:, 1:] = blocks[:, 1:] != blocks[:, :-1]
    return first.nonzero()[0], blocks[first]


def _table(repeats: Any, places: Any, count: int, most: int) -> Any:
    """Count how often each place is there in each of `count` repeats: a row for each."""
    import numpy as np

    # numpy 2.5 types its methods for arrays of a known type alone
    counts: Any = np.bincount(repeats * most + places, minlength=count * most)
    return counts.reshape(count, most)


def _banks(blocks: Any, wide: bool) -> Any:
    """The bank of each block: a group has one for each 64 KiB; on Ascend950 two, one behind the other, for
    every 512 bytes."""
    return blocks % WIDE_BANKS if wide else blocks % GROUPS + blocks // (GROUPS * ROWS_OF_BANK) * GROUPS
