"""Facts of arguments by which global accesses would be wider: what 16 would divide, and which sizes are 1.

Triton proves the width of an access by what it knows of the kernel's arguments. It learns that 16 divides an argument,
or that it is 1, when the kernel is called, unless the annotation of the argument forbids it, or the kernel
was compiled without.

Source: Triton 3.9, the specialization of arguments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from .addresses import pointee_bits
from .advice import Advice
from .alignment import Alignment, extents, provable
from .costs import Cost, Costs, mask_of
from .shared import registers_of

#: Triton looks for this divisor.
_DIVISOR = 16


def facts(found: Costs) -> Iterator[Advice]:
    """Advice on arguments: the fewest of which more has to be known for the widest accesses."""
    rows = [
        row for row in found.rows if row.parts and row.parts[0].unit == "sectors" and extents(row.op.operand_types[0])
    ]
    divisors, ones = _unknown(found)
    now, most = _widths(found, rows, (), ()), _widths(found, rows, divisors, ones)
    if now == most:
        return
    for names in (divisors, ones):  # without those that no width needs
        for name in [*names]:
            names.remove(name)
            if _widths(found, rows, divisors, ones) != most:
                names.append(name)
    fewer = [(row, _elements(found, row) // wide) for row, wide, width in zip(rows, most, now) if wide > width]
    fewer = [(row, count) for row, count in fewer if count < row.parts[0].instructions]
    if fewer:
        before = sum((row.times * row.parts[0].instructions for row, _ in fewer), 0)
        after = sum((row.times * count for row, count in fewer), 0)
        saved = sum(row.parts[0].instructions - count for row, count in fewer)
        was = "not known: " + ", ".join(
            [f"{_DIVISOR} divides {name}" for name in divisors] + [f"{name} is 1" for name in ones]
        )
        change = ", ".join(
            [f"{name} {{tt.divisibility = {_DIVISOR} : i32}}" for name in divisors]
            + [f"{name[1:]}: tl.constexpr" for name in ones]
        )
        kind = "divisibility" if divisors else "constant"
        yield Advice(kind, "", was, change, tuple(row for row, _ in fewer), "instructions", before, after, saved)


def _unknown(found: Costs) -> tuple[list[str], list[str]]:
    """The arguments that 16 may divide, as far as is given, though the program does not say it; and those that are
    given as 1."""
    divisors, ones = list[str](), list[str]()
    for a in found.program.arguments:
        value = found.loops.sizes.get(a.name[1:]) if a.is_integer else None
        if value == 1:
            ones.append(a.name)
        elif (
            (a.is_integer or a.type.startswith("!tt.ptr"))
            and a.divisibility % _DIVISOR
            and (value or 0) % _DIVISOR == 0
        ):
            divisors.append(a.name)
    return divisors, ones


def _widths(found: Costs, rows: Sequence[Cost], divisors: Collection[str], ones: Collection[str]) -> list[int]:
    """The elements of one access, of each row, that can be proved with more known of arguments."""
    known = Alignment(found.program, dict.fromkeys(divisors, _DIVISOR), ones)
    return [_width(found, row, known) for row in rows]


def _width(found: Costs, row: Cost, known: Alignment) -> int:
    type_, pointer = row.op.operand_types[0], row.op.operands[0]
    bits = max(8, pointee_bits(type_))
    widths = (provable(known, pointer, axis, bits, mask_of(row.op)) for axis in range(len(extents(type_))))
    return min(max(widths), _elements(found, row))


def _elements(found: Costs, row: Cost) -> int:
    """The elements that a thread has."""
    return registers_of(found.program.typed(row.op.operand_types[0]).linear)
