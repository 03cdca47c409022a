"""A Gather as a log has it: its table of offsets lies in UB, and is known when what is there is.

Source: AscendC `Gather`, of the first n elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...core import element as types
from ...core.errors import LeafTypeError, RangeError, Reason, Unproven
from .instruction import VectorInstruction

#: The widths of elements that are gathered [bits].
WIDTHS = (16, 32)


@dataclass(frozen=True)
class LoggedGather(VectorInstruction):
    """One Gather of a log: dst, src and the table begin at its places; `table` is empty while it is not known.

    >>> from tla.ascend import half
    >>> i = LoggedGather("Gather", (0, 64, 0), {"count": 3, "srcBaseAddr": 8}, (half, half, types.uint32))
    >>> [x.tolist() for x in i.with_table((4, 0, 2)).by_repeats()]
    [[[0, 1, 2]], [[70, 68, 69]], [[0, 1, 2]]]

    Source: AscendC.
    """

    def over_fields(self) -> Reason | None:
        """The first thing that the hardware does not take; None if there is none."""
        p, e = self.parameters, self.elements
        if len({x.name for x in e[:2]}) > 1 or e[0].bits not in WIDTHS or e[2] != types.uint32:
            what = f"Gather of {', '.join(map(str, e))}"
            return Reason(what, "elements of 16 or 32 bits, and a table of uint32", "log it with the stand-in")
        for side, x, at in zip(("dst", "src", "srcOffset"), e, self.places):
            if at % int(x.C0):
                what = f"Gather: {side} at element {at}, byte {at * x.bits // 8}"
                return Reason(what, "a multiple of 32 bytes", f"begin it at {at // int(x.C0) * int(x.C0)}")
        for field, n in p.items():
            if n < 0 or (field == "srcBaseAddr" and n % (e[0].bits // 8)):
                return Reason(
                    f"Gather: {field} = {n}", f"a multiple of {e[0].bits // 8} bytes, 0 or more", "count bytes"
                )
        return None

    def with_table(self, offsets: tuple[float, ...]) -> LoggedGather:
        """This Gather with what its table holds [bytes]; RangeError for what is no offset of an element."""
        size = self.elements[1].bits // 8
        odd = next((x for x in offsets if not x >= 0 or x % size), None)
        if odd is not None:
            what = f"Gather by a table with {'what nothing was written to' if odd != odd else f'{odd:.12g}'}"
            raise RangeError(what, f"multiples of {size} bytes", "give the numbers of the tensor: check(..., values=)")
        return replace(self, table=tuple(map(int, offsets)))

    def by_repeats(self) -> list[Any]:
        """The offsets of the elements of each operand, in one row; Unproven while its table is not known."""
        import numpy as np

        if len(self.table) != self.parameters["count"]:
            expected = "Computed of what it makes, and the numbers of its table"
            raise Unproven("a Gather by a table that is not known", expected, "write check(..., values={'T': numbers})")
        size = self.elements[1].bits // 8
        row = np.arange(len(self.table))[None]
        source = (np.array([self.table], np.int64) + self.parameters["srcBaseAddr"]) // size
        return [self.places[0] + row, self.places[1] + source, self.places[2] + row]

    def computed(self, read: list[Any], scalar: Any) -> Any:
        """The elements that it reads, as they are."""
        return read[0]

    def call(self, *names: str) -> str:
        """LeafTypeError: it is read from logs, and not written."""
        raise LeafTypeError(
            "the text of a logged Gather", "an instruction that is planned", 'plan it: vector("Gather", ...)'
        )
