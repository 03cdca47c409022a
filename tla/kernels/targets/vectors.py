"""Products by a CPU's vector registers, as a function of C: the accumulators are variables of a vector type,
which stay in registers.

The steps along K are a loop of that function, around the registers that it adds to: so it reads each accumulator once,
and writes it once.

Source: GCC's manual, "Using Vector Instructions through Built-in Functions"; Van Zee and van de Geijn, "BLIS",
for the loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...core.errors import LeafTypeError
from ...core.int_tuple import size
from ...gpu.instructions.atom import MMAAtom
from ..program.instructions import Part

_BYTES = {"float": 4, "double": 8}


class Form:
    """The function of a product of M by N vectors, and K steps.

    names   the operands that it has as parameters
    key     what tells it from others of the atom

    Raises LeafTypeError for vectors whose elements do not lie one behind the other, and for elements of several types.
    """

    def __init__(self, atom: MMAAtom, extents: tuple[int, int, int], parts: dict[str, Part]) -> None:
        self.m, self.n, self.k = extents
        self.names = [x for x in "DCAB" if x != "C" or parts["C"] != parts["D"]]
        self.kind, self.wide = parts["D"].kind, int(size(atom.C))
        self._starts = {x: self._vectors(atom, x, parts[x]) for x in "DCAB"}
        self._is_wide = {x: int(size(atom.operand(x))) > 1 for x in "AB"}
        self.type_name = f"{self.kind}_{self.wide}"
        each = _BYTES[self.kind]
        attributes = f"vector_size({self.wide * each}), aligned({each}), may_alias"
        self.type_definition = f"typedef {self.kind} {self.type_name} __attribute__(({attributes}));"
        self.key: Any = (self.kind, extents, *self._starts.values(), len(self.names))

    def _vectors(self, atom: MMAAtom, name: str, part: Part) -> tuple[int, ...]:
        """The offsets of an operand's values, or of the first elements of its vectors."""
        if part.kind != self.kind or self.kind not in _BYTES:
            what = f"{atom.name} of {name} of {part.kind} for sums of {self.kind}"
            raise LeafTypeError(what, "one type of float32 or float64", "convert it first")
        count = int(size(atom.operand("C" if name == "D" else name)))
        starts = part.offsets[::count]
        if any(x != starts[i // count] + i % count for i, x in enumerate(part.offsets)):
            what = f"{atom.name} of {name} whose {count} elements of a vector do not lie one behind the other"
            fix = "give shared memory a layout in which they are, or copy to a fragment"
            raise LeafTypeError(what, "contiguous vectors", fix)
        return starts

    def function(self, name: str) -> list[str]:
        """The function's lines."""
        parameters = ", ".join(f"{'' if x == 'D' else 'const '}{self.kind} *{x.lower()}" for x in self.names)
        pairs = [(i, j) for j in range(self.n) for i in range(self.m)]
        before = "c" if "C" in self.names else "d"
        sides = self._starts[before.upper()], self._starts["D"]
        held = [(f"d{i}_{j}", *(side[i + self.m * j] for side in sides)) for i, j in pairs]
        return [
            f"static inline void {name}({parameters}) {{",
            *(f"    {self.type_name} {x} = *(const {self.type_name} *)&{before}[{start}];" for x, start, _end in held),
            *(f"    {line}" for line in self._steps()),
            *(f"    *({self.type_name} *)&d[{end}] = {x};" for x, _start, end in held),
            "}",
        ]

    def _steps(self) -> Iterator[str]:
        """The steps along K: a loop where each operand goes on by one distance; else one after the other."""
        strides = [_stride(self._starts[x], count) for x, count in (("A", self.m), ("B", self.n))]
        if None in strides or self.k == 1:
            for step in range(self.k):
                yield from ("{", *(f"    {line}" for line in self._step(step, ("", ""))), "}")
            return
        yield f"for (int k = 0; k < {self.k}; ++k) {{"
        yield from (f"    {line}" for line in self._step(0, tuple(f"{d} * k + " for d in strides)))
        yield "}"

    def _step(self, step: int, moved: Sequence[str]) -> Iterator[str]:
        """The lines of a step: the narrower operand's values are taken when they are needed, one after the other."""
        counts = {"A": self.m, "B": self.n}
        starts = {x: self._starts[x][step * n :][:n] for x, n in counts.items()}
        at = {x: [f"{x.lower()}[{go}{start}]" for start in starts[x]] for x, go in zip("AB", moved)}
        wide, single = ("A", "B") if self._is_wide["A"] else ("B", "A")
        for i, x in enumerate(at[wide]):
            yield f"const {self.type_name} v{i} = *(const {self.type_name} *)&{x};"
        for j, x in enumerate(at[single]):
            yield f"const {self.kind} s{j} = {x};"
            for i in range(counts[wide]):
                yield f"d{i}_{j} += s{j} * v{i};" if wide == "A" else f"d{j}_{i} += s{j} * v{i};"


def _stride(starts: Sequence[int], count: int) -> int | None:
    """The distance from each step of an operand of `count` places to the next; None where there are several."""
    found = {b - a for a, b in zip(starts, starts[count:])}
    return found.pop() if len(found) == 1 else None
