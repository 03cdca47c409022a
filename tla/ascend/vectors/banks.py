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
    ports = (WIDE_BANKS, WIDE_GROUPS) if wide else (GROUPS, GROUPS)
    cycles = least = both = 0
    witness: tuple[int, int, int] | None = None
    for repeat, own in enumerate(written):
        sources = np.unique(np.concatenate([r[repeat] for r in read])) if read else own[:0]
        taken = [_most(blocks, n) for blocks, n in zip((sources, np.unique(own)), ports)]
        slow = max(taken, key=lambda x: x[1])
        enough = max(1, *(-(-len(np.unique(blocks)) // n) for blocks, n in zip((sources, own), ports)))
        cycles, least = cycles + max(1, slow[1]), least + enough
        both += bool({*_banks(sources, wide)} & {*_banks(own, wide)})
        if witness is None and slow[1] > enough:
            witness = repeat, *slow
    return Banks(cycles, least, both, witness)


def _most(blocks: Any, ports: int) -> tuple[int, int]:
    """The bank group, or of reads of Ascend950 the bank, that most blocks lie in, and how many."""
    import numpy as np

    # numpy 2.5 types its methods for arrays of a known type alone
    counts: Any = np.bincount(blocks % ports, minlength=ports)
    return int(counts.argmax()), int(counts.max())


def _banks(blocks: Any, wide: bool) -> list[int]:
    """The bank of each block: a group has one for each 64 KiB; on Ascend950 two, one behind the other, for
    every 512 bytes."""
    if wide:
        return (blocks % WIDE_BANKS).tolist()  # type: ignore[no-any-return]
    return (blocks % GROUPS + blocks // (GROUPS * ROWS_OF_BANK) * GROUPS).tolist()  # type: ignore[no-any-return]
