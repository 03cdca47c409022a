"""A machine that does what events say to the cells of memories; what a cell holds, numbers or where a value is from, is left
to its kinds.

Source: ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from ..vectors.instruction import VectorInstruction
from .memory import Memories, Places, filled, index_moved, moves_of, operands_of, zeros_of
from .statements import Compute, Fill, Move, Multiply
from .trace import Event


class Machine(ABC):
    """The memories of a program, each cell with what it holds."""

    memories: Memories
    held: dict[str, Any]
    #: What a cell holds that is 0.
    zero: Any

    @abstractmethod
    def read(self, places: Places) -> Any:
        """Tell what elements hold."""

    @abstractmethod
    def write(self, places: Places, values: Any) -> None:
        """Make elements hold values."""

    @abstractmethod
    def _multiply(self, s: Multiply) -> None: ...

    @abstractmethod
    def _computed(self, i: VectorInstruction, sources: list[Places], shape: tuple[int, ...]) -> Any: ...

    @abstractmethod
    def _added(self, held: Any, values: Any) -> Any: ...

    @abstractmethod
    def _leaving(self, _s: Move, values: Any, scale: Any) -> Any:
        """Accumulators as they leave L0C; scale: what the places of their columns' scales hold, or None."""

    def resolved(self, event: Event) -> Event:
        """An event with what only the memories say: the table of a Gather."""
        return event

    def run(self, event: Event) -> None:
        """Do what an event does."""
        s = event.statement
        if isinstance(s, Move):
            self._move(s, event.adds)
        elif isinstance(s, Multiply):
            if not s.instruction.is_empty:
                self._multiply(s)
        elif isinstance(s, Fill):
            self.clear(filled(s, self.memories))
        elif isinstance(s, Compute):
            for i in s.instructions:
                dst, *sources = operands_of(s, i, self.memories)
                self.write(dst, self._computed(i, sources, dst.cells.shape))

    def clear(self, places: Places) -> None:
        """Make elements hold zeros."""
        self.write(places, self._zeros(places.cells.shape))

    def _zeros(self, shape: tuple[int, ...]) -> Any:
        import numpy as np

        return np.full(shape, self.zero, np.asarray(self.zero).dtype)

    def _move(self, s: Move, adds: bool) -> None:
        i, buffers = s.instruction, self.memories.program.buffers
        for copy in moves_of(s, self.memories):
            values = self._zeros(copy.inside.shape)
            values[copy.inside] = self.read(copy.src)
            if buffers[s.src].position == "L0C":
                values = self._leaving(s, values, None if copy.scale is None else self.read(copy.scale))
            if adds and buffers[s.dst].position == "GM":
                values = self._added(self.read(copy.dst), values)
            self.write(copy.dst, values)
        if (index := index_moved(s, self.memories)) is not None:
            self.write(index[1], self.read(index[0]))
        if i.name in ("Nd2Nz", "Dn2Nz") and (zeros := zeros_of(i)).size:
            self.clear(self.memories.places(s.dst, zeros, i.element.bits))
