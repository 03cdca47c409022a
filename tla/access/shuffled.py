"""The cycles of each pipe that steps within warps take, and which of their shuffles are moves between lanes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from ..linear import LinearLayout, bits
from .exchanges import Exchanges
from .lane_moves import lane_move
from .machines import Machine
from .steps import WORD_BITS, Shuffle, Step


class Shuffled(NamedTuple):
    """Steps within warps that have shuffles, and their cost for each warp.

    steps      the steps; shuffles that are moves say so
    shuffles   of words of 32 bits, moves among them
    moves      of these, moves from lane to lane on the pipe of selects
    pipes      cycles of the pipe of shared memory, and of that of selects
    """

    steps: tuple[Step, ...]
    shuffles: int
    moves: int
    pipes: tuple[int, int]

    @staticmethod
    def of(
        steps: Sequence[Step],
        src: LinearLayout,
        dst: LinearLayout,
        width: int,
        machine: Machine,
        beside: int | Fraction = 0,
    ) -> Shuffled:
        """Steps between two layouts of elements of `width` bits, with as many moves as make the busier pipe, then both,
        least busy.

        beside   cycles of the pipe of shared memory that each warp takes besides
        """
        words = -(-width // WORD_BITS)
        rounds = [step for step in steps if isinstance(step, Shuffle)]
        selects = Exchanges.of(rounds, *(bits.log2(x.get_in_dim_size("register")) for x in (src, dst))).selects * words
        crossing = sum(step.crosses for step in rounds)
        shuffled = [(k, s) for k, s in enumerate(steps) if isinstance(s, Shuffle) and s.crosses and s.warps == 1]
        moves = ((k, s, lane_move(s.source, machine.lane_moves)) for k, s in shuffled)
        found = {k: s._replace(move=move) for k, s, move in moves if move}

        def pipes(count: int) -> tuple[int, int]:
            """The cycles where so many rounds are moves."""
            own = -(-(selects + count * words) // machine.selects)
            return (crossing - count) * words * machine.shuffle, own

        def busy(count: int) -> tuple[int | Fraction, int]:
            shared, own = pipes(count)
            return max(shared + beside, own), shared * machine.selects + selects + count * words

        count = min(range(len(found) + 1), key=busy)
        chosen = dict([*found.items()][:count])
        done = tuple(chosen.get(k, step) for k, step in enumerate(steps))
        return Shuffled(done, crossing * words, count * words, pipes(count))
