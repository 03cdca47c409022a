"""A program of Triton's TTGIR as values: its operations in one table, their types, where they are in the source, what
repeats them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..core.cache import compiled
from ..core.errors import printable
from ..linear.triton import Typed, from_type


class Source(NamedTuple):
    """A place in the kernel's source.

    >>> print(Source("kernels.py", 16, 13))
    kernels.py:16:13
    """

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return printable(f"{self.file.rpartition('/')[2]}:{self.line}:{self.column}")


class Op(NamedTuple):
    """An operation of a program.

    name            of the operation, such as ttg.local_load
    results         the names of its results, such as %acc_54, or %acc_57#0 of several
    operands        the names of its operands, in the order of the text
    operand_types   texts of the types that stand before the arrow; of an operation without an arrow, all that it has
    result_types    texts of the types behind the arrow
    attributes      name -> text of the value, such as axis -> 1 : i32
    body            the text between the name and the types
    line            in the text of the program
    sources         places in the kernel's source, the innermost function first; none where the text does not say it
    parent          the operation that it is inside of, as its place in the program's table; None at the top
    begins          of a loop, what its arguments are in the first iteration: argument -> name
    otherwise       whether it is behind the `else` of the operation that it is inside of

    >>> from tla.ttgir import program_of
    >>> op = program_of("%c = arith.addi %a, %b : i32").ops[0]
    >>> op.name, op.results, op.operands, op.result_types
    ('arith.addi', ('%c',), ('%a', '%b'), ('i32',))
    """

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    operand_types: tuple[str, ...]
    result_types: tuple[str, ...]
    attributes: Mapping[str, str]
    body: str
    line: int
    sources: tuple[Source, ...]
    parent: int | None
    begins: Mapping[str, str]
    otherwise: bool = False

    @property
    def source(self) -> str:
        """The place in the outermost function, where the text says it."""
        return str(self.sources[-1]) if self.sources else ""

    def integer(self, name: str) -> int | None:
        """The value of an attribute that is an integer, such as 16 of `16 : i32`."""
        word = self.attributes.get(name, "").partition(":")[0].strip()
        return int(word) if word.removeprefix("-").isdecimal() and len(word) < 20 else None

    def integers(self, name: str) -> list[int]:
        """The values of an attribute that is an array, such as 1 and 0 of `array<i32: 1, 0>`."""
        return [int(n) for n in compiled("[0-9]+").findall(self.attributes.get(name, "").partition(":")[2])]


class Argument(NamedTuple):
    """An argument of a kernel: its name, the text of its type, and what is known to divide it.

    >>> from tla.ttgir import program_of
    >>> program_of("tt.func @f(%N: i32 {tt.divisibility = 16 : i32})").arguments
    (Argument(name='%N', type='i32', divisibility=16),)
    """

    name: str
    type: str
    divisibility: int

    @property
    def is_integer(self) -> bool:
        return self.type.startswith("i") and self.type[1:].isdecimal()

    @property
    def size(self) -> str:
        """The name of its value as a size."""
        return self.name[1:].replace("@", "_line")


class Program:
    """A compiled program, as TTGIR says it.

    ops         its operations in the order of the text
    arguments   of its kernel; of several functions those of all
    attributes  of the module, such as ttg.num-warps -> 4 : i32
    aliases     the names of layouts that stand before it, and their texts

    >>> from tla.ttgir import program_of
    >>> program = program_of('module attributes {"ttg.num-warps" = 8 : i32, ttg.target = "cuda:90"} {\\n}')
    >>> program.target, program.warps, program.lanes
    ('cuda:90', 8, 32)
    """

    def __init__(
        self,
        ops: tuple[Op, ...],
        arguments: tuple[Argument, ...],
        attributes: Mapping[str, str],
        aliases: Mapping[str, str],
    ) -> None:
        self.ops, self.arguments, self.attributes, self.aliases = ops, arguments, attributes, aliases
        self._typed: dict[str, Typed] = {}

    def _module(self, name: str) -> str:
        return self.attributes.get(name, "").partition(":")[0].strip().strip('"')

    @property
    def target(self) -> str:
        """The machine that it was compiled for: cuda:90, hip:gfx942; nothing where the module does not say it."""
        return self.attributes.get("ttg.target", "").strip().strip('"')

    @property
    def warps(self) -> int:
        """The number of warps of a block; 4, Triton's default, where the module does not say it."""
        return self._count("ttg.num-warps", 4)

    @property
    def lanes(self) -> int:
        """The number of threads of a warp; 32 where the module does not say it."""
        return self._count("ttg.threads-per-warp", 32)

    def _count(self, name: str, default: int) -> int:
        word = self._module(name)
        return int(word) if word.isdecimal() and len(word) < 6 else default

    @functools.cached_property
    def definitions(self) -> dict[str, Op]:
        """The operation that makes a value, by the value's name."""
        return {name: op for op in self.ops for name in op.results}

    @functools.cached_property
    def carried(self) -> dict[str, list[str]]:
        """The values that arguments of loops, and results of loops and conditions, stand for: begins and yields."""
        found: dict[str, list[str]] = {}
        for op in self.ops:
            for name, begin in (*op.begins.items(), *zip(op.results, op.begins.values())):
                found.setdefault(name, []).append(begin)
            if op.name == "scf.yield" and op.parent is not None:
                around = self.ops[op.parent]
                for name, value in (*zip(around.begins, op.operands), *zip(around.results, op.operands)):
                    found.setdefault(name, []).append(value)
        return found

    @functools.cached_property
    def used(self) -> frozenset[str]:
        """The names of values that an operation has as operand."""
        return frozenset(name for op in self.ops for name in op.operands)

    @functools.cached_property
    def types(self) -> dict[str, str]:
        """The text of each value's type, where the program says it."""
        found = {argument.name: argument.type for argument in self.arguments}
        for op in self.ops:
            found |= dict(zip(op.results, op.result_types))
            found |= dict(zip(op.begins, op.result_types))
        return found

    def named(self, text: str) -> str:
        """The type that a name such as !memref_smem_f16 stands for; a type that is no name as it is."""
        return self.aliases.get(text, text)

    def typed(self, text: str) -> Typed:
        """The layout, the shape and the width of a type with a layout.

        Raises     ParseError for a type that has none
        """
        if text not in self._typed:
            self._typed[text] = from_type(text, self.aliases)
        return self._typed[text]

    @functools.cached_property
    def _inner(self) -> dict[int, list[Op]]:
        """The operations directly inside of an operation, by its line."""
        found: dict[int, list[Op]] = {}
        for op in self.ops:
            if op.parent is not None:
                found.setdefault(self.ops[op.parent].line, []).append(op)
        return found

    def inside(self, op: Op) -> tuple[Op, ...]:
        """The operations directly inside of an operation, such as those that combine two elements of a reduction."""
        return tuple(self._inner.get(op.line, ()))

    def around(self, op: Op) -> Iterator[Op]:
        """The operations that an operation is inside of, the innermost first."""
        while op.parent is not None:
            op = self.ops[op.parent]
            yield op
