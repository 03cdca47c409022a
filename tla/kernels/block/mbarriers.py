"""Mbarriers of a block that runs: the arrivals and bytes that the phase of each still waits for.

Source: the PTX manual, "mbarrier".
"""

from __future__ import annotations

from typing import NamedTuple

from ...core.errors import RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike, Leaf, leaf
from ...core.questions import at_most
from ...tensors.tensor import Tensor

#: The most arrivals that a phase waits for, and the most bytes. Source: the PTX manual, "Contents of
#: the mbarrier object".
MOST_ARRIVALS, MOST_BYTES = (1 << 20) - 1, (1 << 20) - 1


class Mbarriers:
    """Mbarriers in the block's shared memory: `full[k]` is the one of a stage. `mbarriers` makes them.

    held       the tensor that they are, of 64 bits each
    arrivals   the arrivals that a phase of each waits for
    pending    how many are left of the phase that goes on
    bytes      how many bytes are left
    ended      how many phases have ended

    Source: the PTX manual, "mbarrier"; CUTLASS `ClusterTransactionBarrier`.
    """

    def __init__(self, held: Tensor, arrivals: int) -> None:
        count = int(held.data.size)
        self.held, self.arrivals = held, arrivals
        self.pending, self.bytes, self.ended = [arrivals] * count, [0] * count, [0] * count

    def __getitem__(self, at: IntLike) -> Mbarrier:
        count = len(self.ended)
        at = leaf(at)
        if at_most(0, at) is not True or at_most(at, count - 1) is not True:
            raise RangeError(f"mbarrier {shown(at)} of {count}", f"0 to {count - 1}", f"write full[stage(k, {count})]")
        return Mbarrier(self, at)


class Mbarrier(NamedTuple):
    """One of a block's mbarriers.

    of   all of them
    at   its number, of a kernel that is traced a symbol
    """

    of: Mbarriers
    at: Leaf

    def arrive(self, count: int, nbytes: int) -> None:
        """Count arrivals, and bytes that are to come. Raises RangeError for more than the phase waits for."""
        of, at = self.of, int(self.at)
        of.bytes[at] += nbytes
        of.pending[at] -= count
        if of.pending[at] < 0 or of.bytes[at] > MOST_BYTES:
            what = f"mbarrier {at}: {count} arrivals where {of.pending[at] + count} are left, {of.bytes[at]} bytes"
            fix = "make mbarriers of as many arrivals"
            raise RangeError(what, f"{of.arrivals} arrivals of a phase, and {MOST_BYTES} bytes", fix)
        self._end()

    def receive(self, nbytes: int) -> None:
        """Count bytes that have come."""
        self.of.bytes[int(self.at)] -= nbytes
        self._end()

    def _end(self) -> None:
        of, at = self.of, int(self.at)
        if of.pending[at] == 0 and of.bytes[at] == 0:
            of.pending[at], of.ended[at] = of.arrivals, of.ended[at] + 1

    def has_ended(self, parity: int) -> bool:
        """Whether the phase of a parity has ended, and the next one goes on."""
        return self.of.ended[int(self.at)] % 2 != parity

    def wait(self, parity: int) -> None:
        """Wait for the end of the phase of a parity. Raises RangeError where nothing before ends it."""
        of, at = self.of, int(self.at)
        if not self.has_ended(parity):
            misses = f"{of.pending[at]} arrivals and {of.bytes[at]} bytes"
            what = f"mbarrier {at}: a wait for phase {of.ended[at]}, which misses {misses}"
            states = "state before it what arrives, of the bytes that are loaded: tma_transaction_bytes"
            fix = f"{states}; and wait for phase(k, stages)"
            raise RangeError(what, "a phase that ends", fix)
