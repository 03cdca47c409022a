"""The addresses of global accesses: the integer operations of a program, worked out for one instance and
the first iteration.

The instance is the second along each axis. Sizes that are not known get a value that they may have: an odd multiple of
what is known to divide them. Buffers begin at multiples of 128 bytes. So what is counted of these addresses is an
example; what a load from memory decides has no address here.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

from ..core.arrays import computed
from ..core.cache import compiled
from .alignment import extents
from .loops import KEPT, QUOTIENTS, SUMS, constant
from .program import Argument, Op, Program

#: The value of a size that nothing is known of, over what divides it.
ODD = 257
#: Operations deeper than this have no addresses, nor have tensors of more elements.
MAX_DEPTH, MAX_ELEMENTS = 200, 2**20
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{sign + name: getattr(operator, name) for sign in "su" for name in ("lt", "le", "gt", "ge")},
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    **SUMS,
    **QUOTIENTS,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
    "arith.shrui": operator.rshift,
}
_OF_NONNEGATIVE = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.shrui")
_PROGRAM = "tt.get_program_id"


class Addresses:
    """The integers of a program's values, as arrays; of pointers bytes.

    sizes    values of arguments: name -> value
    assumed  the values that were taken for sizes that are not in `sizes`

    >>> from tla.ttgir.text import program_of
    >>> text = "%r = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>"
    >>> Addresses(program_of(text)).of("%r").tolist()
    [0, 1, 2, 3]
    """

    def __init__(self, program: Program, sizes: Mapping[str, int] | None = None) -> None:
        self.program, self.sizes = program, dict(sizes or {})
        self.assumed: dict[str, int] = {}
        self._arguments = {argument.name: argument for argument in program.arguments}
        self._begins = {name: begin for op in program.ops for name, begin in op.begins.items()}
        self._known: dict[str, Any] = {}
        self._depth = 0

    def of(self, name: str) -> Any:
        """The integers of a value, in an array of its shape, or one integer; None where they are not known."""
        if name not in self._known:
            self._known[name] = None  # of one that needs itself
            if self._depth < MAX_DEPTH:
                self._depth += 1
                self._known[name] = self._worked_out(name)
                self._depth -= 1
        return self._known[name]

    def _worked_out(self, name: str) -> Any:
        if name in self._begins:
            return self.of(self._begins[name])
        if (argument := self._arguments.get(name)) is not None:
            return self._argument(argument)
        op = self.program.definitions.get(name)
        if op is None or len(op.results) != 1:
            return None
        if op.name == _PROGRAM:
            return self._size(f"program_id_{op.body.strip() or 'x'}", 1)
        given = [self.of(operand) for operand in op.operands]
        if any(x is None for x in given):
            return None
        try:
            return self._done(op, given)
        except (ArithmeticError, LookupError, ValueError, TypeError):  # no program; or integers that no array holds
            return None

    def _argument(self, argument: Argument) -> Any:
        if argument.type.startswith("!tt.ptr"):
            return 0
        return self._size(argument.size, argument.divisibility * ODD) if argument.is_integer else None

    def _size(self, name: str, otherwise: int) -> int:
        if name in self.sizes:
            return self.sizes[name]
        self.assumed[name] = otherwise
        return otherwise

    def _done(self, op: Op, given: list[Any]) -> Any:
        import numpy as np

        shape = extents(op.result_types[0]) if op.result_types else ()
        if np.prod(shape, dtype=object) > MAX_ELEMENTS:
            return None
        if op.name == "arith.constant":
            value = constant(op)
            return None if value is None else np.full(shape, value, np.int64) if shape else value
        if op.name == "tt.make_range":
            return np.arange(op.integer("start") or 0, op.integer("end") or 0, dtype=np.int64)
        if op.name in ("tt.splat", "tt.broadcast"):
            return np.broadcast_to(np.asarray(given[0]), shape)
        if op.name == "tt.expand_dims":
            return np.expand_dims(given[0], op.integer("axis") or 0)
        if op.name == "tt.trans":
            return np.transpose(given[0], op.integers("order"))
        if op.name in KEPT:
            return given[0]
        if op.name == "arith.select":
            return np.where(*given) if shape else given[1] if given[0] else given[2]
        return self._calculated(op, given)

    def _calculated(self, op: Op, given: list[Any]) -> Any:
        import numpy as np

        if op.name == "tt.addptr":
            return computed(operator.add, given[0], computed(operator.mul, given[1], pointee_bytes(op.result_types[0])))
        if op.name == "arith.cmpi":
            return _COMPARED[op.body.split(",")[0]](*given)
        if op.name not in _ARITHMETIC or (op.name in _OF_NONNEGATIVE and np.min(given[0]) < 0):
            return None
        return computed(_ARITHMETIC[op.name], *given)


def pointee_bytes(type_: str) -> int:
    """The bytes of what a pointer, or a tensor of pointers, points to.

    >>> pointee_bytes("tensor<64x!tt.ptr<bf16>, #blocked>"), pointee_bytes("!tt.ptr<i1>")
    (2, 1)
    """
    return max(1, pointee_bits(type_) // 8)


def pointee_bits(type_: str) -> int:
    """The bits of an element that a pointer points to."""
    found = compiled(r"!tt\.ptr<[a-z]{1,4}([0-9]{1,4})").search(type_)
    return int(found[1]) if found else 8
