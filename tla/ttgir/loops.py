"""Repeats of an operation: the trip counts of the loops around it, numbers or formulas in the kernel's arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..algebra.divide import ceil_div
from ..core.cache import compiled
from ..core.errors import TlaError
from ..core.ints import known
from ..symbolic import SymInt, dim
from .program import Op, Program

#: A number, or a formula of sizes that have names.
Size: TypeAlias = int | SymInt
#: An integer that is worked out of more operations than this is not known.
MAX_STEPS = 200
_CASTS = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast")
#: Operations that leave what is known as it is.
KEPT = (*_CASTS, "ttg.convert_layout", "tt.bitcast")
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
}
#: Operations that round to 0, but down where nothing is negative.
QUOTIENTS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("arith.divsi", "arith.divui"), operator.floordiv),
    **dict.fromkeys(("arith.remsi", "arith.remui"), operator.mod),
}


class Loops:
    """The trip counts of a program's loops.

    sizes   values of arguments, and of loops whose count is not known: name -> value

    >>> from tla.ttgir.text import program_of
    >>> text = '''module {
    ...   tt.func public @f(%N: i32 {tt.divisibility = 16 : i32}) {
    ...     %c0 = arith.constant 0 : i32
    ...     %c32 = arith.constant 32 : i32
    ...     scf.for %i = %c0 to %N step %c32  : i32 {
    ...       %x = tt.get_program_id x : i32
    ...     }
    ...   }
    ... }'''
    >>> program = program_of(text)
    >>> print(Loops(program).times(program.ops[-1]), Loops(program, {"N": 100}).times(program.ops[-1]))
    ceil(N/32) 4
    """

    def __init__(self, program: Program, sizes: Mapping[str, int] | None = None) -> None:
        self.program, self.sizes = program, dict(sizes or {})
        self.arguments = {argument.name: argument for argument in program.arguments}
        self._known: dict[str, Size | None] = {}
        self._steps = 0

    def times(self, op: Op) -> Size:
        """Count the runs of an operation in one program: what is in a branch counts as if the branch were taken.

        A loop whose count is not known is a size of its own, named after its line, such as loop87.
        """
        found: Size = 1
        for around in self.program.around(op):
            if around.name in ("scf.for", "scf.while"):
                trips = self._counted(around) if around.name == "scf.for" else None
                found = found * (self._named(f"loop{around.line}", 1) if trips is None else trips)
        return found

    def is_dead(self, op: Op) -> bool:
        """Whether an operation never runs: it is in a branch whose condition is a constant."""
        inner = op
        for around in self.program.around(op):
            taken = self.integer(around.operands[0]) if around.name == "scf.if" and around.operands else None
            if isinstance(taken, int) and bool(taken) == inner.otherwise:
                return True
            inner = around
        return False

    def _named(self, name: str, divisor: int) -> Size:
        return self.sizes[name] if name in self.sizes else dim(name, multiple_of=divisor, at_least=1)

    def _counted(self, loop: Op) -> Size | None:
        """The trip count of a loop from, to and by integers that are known; None where it is not known to be
        0 or more."""
        low, high, step = (self.integer(name) for name in (*loop.operands, "", "", "")[:3])
        if low is None or high is None or step is None or not _at_least(step, 1):
            return None
        reach = high - low
        if (n := known(reach)) is not None and n <= 0:
            return 0
        found = ceil_div(reach, step)
        return found if _at_least(found, 0) else None

    def integer(self, name: str) -> Size | None:
        """The value of a scalar: a number, a formula of arguments, or None."""
        if name not in self._known:
            self._known[name] = None  # of one that needs itself, too
            self._steps += 1
            if self._steps <= MAX_STEPS:
                self._known[name] = self._worked_out(name)
                self._steps -= 1
        return self._known[name]

    def _worked_out(self, name: str) -> Size | None:
        if (argument := self.arguments.get(name)) is not None:
            return self._named(argument.size, argument.divisibility) if argument.is_integer else None
        op = self.program.definitions.get(name)
        if op is None:
            return None
        if op.name == "arith.constant":
            return constant(op)
        if op.name in ("tt.get_program_id", "tt.get_num_programs"):
            return self._named(f"{op.name[7:]}_{op.body.strip() or 'x'}", 1)
        values = [self.integer(operand) for operand in op.operands]
        if op.name in _CASTS and values:
            return values[0]
        if len(values) != 2 or values[0] is None or values[1] is None:
            return None
        a, b = values[0], values[1]
        compute = SUMS.get(op.name)
        if compute is None and _at_least(a, 0) and _at_least(b, 1):
            compute = ceil_div if op.name == "arith.ceildivsi" else QUOTIENTS.get(op.name)
        return compute and compute(a, b)


def has_size(program: Program, name: str) -> bool:
    """Whether a program has a size of this name: an argument, a loop whose count is not known, or the program's place.

    >>> from tla.ttgir.text import program_of
    >>> [has_size(program_of("tt.func @f(%N: i32)"), name) for name in ("N", "program_id_x", "loop4", "M")]
    [True, True, True, False]
    """
    of_arguments = (argument.size for argument in program.arguments)
    return name in of_arguments or bool(compiled("loop[0-9]+|(program_id|num_programs)_[xyz]").fullmatch(name))


def constant(op: Op) -> int | None:
    """The integer of an arith.constant: of a scalar, or of a tensor whose elements are all the same.

    >>> from tla.ttgir.text import program_of
    >>> constant(program_of("%c = arith.constant dense<32> : tensor<8xi32>").ops[0])
    32
    """
    word = op.body.removeprefix("dense<").removesuffix(">").strip()
    if word in ("true", "false"):
        return int(word == "true")
    return int(word) if word.removeprefix("-").isdecimal() and len(word) < 20 else None


def _at_least(n: Size, least: int) -> bool:
    """Whether an integer is proved to be this or more."""
    try:
        return bool(n >= least)
    except TlaError:
        return False
