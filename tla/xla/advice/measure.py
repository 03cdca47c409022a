"""The account of a compile, the changes of a function that were compiled, and which of them help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..programs.targets import TARGETS

#: The least part of a number that counts as a gain.
_LEAST = 0.001


@dataclass(frozen=True, slots=True)
class Measure:
    """The account of one compile.

    peaks     by memory space, as S(n) numbers it: the bytes at its peak
    reported  what XLA reports as peak_memory_in_bytes
    moved     bytes that moves read and write in the whole run, loops as often as they run; prefetches apart
    prefetched   those of prefetches
    sent      bytes that collectives read in the whole run, on one device
    """

    peaks: Mapping[int, int]
    reported: int
    moved: int
    prefetched: int
    sent: int = 0

    def gains_on(self, other: Measure) -> bool:
        """Whether HBM at its peak, the moves, or what is sent are smaller than in another compile, by a thousandth at
        least. XLA's peak is no gain by itself: where its temporaries are in VMEM, the compiler has prefetched less."""
        pairs = [(m.peaks.get(0, 0), m.moved, m.sent) for m in (self, other)]
        return any(now < (1 - _LEAST) * was for now, was in zip(*pairs))

    def no_worse(self, other: Measure) -> bool:
        """Whether neither a peak nor the moves, nor what is sent, are larger than in another compile."""
        return (
            self.peaks.get(0, 0) <= other.peaks.get(0, 0)
            and self.reported <= other.reported
            and self.moved <= other.moved
            and self.moved + self.prefetched <= other.moved + other.prefetched
            and self.sent <= other.sent
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of a function, compiled.

    kind        of an argument "order", "auto", "donate", "type", "merge", "split"; of all of a size "pad"; of where
                they are "shard"; of a value inside "again", "keep", "lay"; or "all": those that help, together
    what        the change in words
    code        how to write it with JAX
    predicted   HBM at its peak, from what the argument takes less; None where nothing is predicted: the compiler is to
                choose, or the program itself moves or converts the argument, and what it makes of it changes too
    measured    the account of the compile; None where it was refused
    refused     why; empty where it compiles
    helps       whether HBM at its peak, the moves or what is sent are smaller, by a thousandth at least, and neither one of
                them nor XLA's peak is larger
    better      whether one of them is smaller at all; where another is larger it is a trade
    assumes     what the prediction takes for granted; empty where nothing is predicted
    """

    kind: str
    what: str
    code: str
    predicted: int | None
    measured: Measure | None
    refused: str = ""
    helps: bool = False
    better: bool = False
    assumes: str = ""

    @property
    def verdict(self) -> str:
        """One word or two for it: recommended, a trade, no gain, refused."""
        if self.measured is None:
            return "refused"
        return "recommended" if self.helps else "a trade" if self.better else "no gain"


@dataclass(frozen=True, slots=True)
class Trials:
    """The changes that were tried on a function. Its str() is an account of them.

    before   the function as it is
    tried    every change, those that help most first
    target   the generation
    """

    before: Measure
    tried: tuple[Trial, ...]
    target: str

    @property
    def recommended(self) -> tuple[Trial, ...]:
        """The changes that measured better, and made nothing worse."""
        return tuple(trial for trial in self.tried if trial.helps)

    def __str__(self) -> str:
        lines = [f"before      {_account(self.before, self.target)}"]
        for trial in self.tried:
            if trial.measured is None:
                lines.append(f"{trial.verdict:11} {trial.what}: {trial.refused}")
            else:
                guess = "" if trial.predicted is None else f"; HBM predicted {trial.predicted:,}"
                guess += f", if {trial.assumes}" if trial.assumes else ""
                lines.append(f"{trial.verdict:11} {trial.what}: {_account(trial.measured, self.target)}{guess}")
                lines += [f"            {trial.code}"] if trial.helps else []
        return "\n".join(lines)


def _account(m: Measure, target: str) -> str:
    hbm, capacity = m.peaks.get(0, 0), TARGETS[target].capacity[0]
    sent = f", sent {m.sent:,}" if m.sent else ""
    moves = f"moved {m.moved:,}, prefetched {m.prefetched:,}{sent}"
    return f"HBM {hbm:,} ({hbm / capacity:.1%}), XLA's peak {m.reported:,}, {moves}"
