"""The names and types of a kernel's text in the C family, and the integers that its statements compute.

Source: ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...codegen.c_languages import CLanguage
from ...codegen.expressions.graph import ops_in
from ...codegen.expressions.integer_types import Integer
from ...codegen.expressions.plan import plan
from ...codegen.expressions.target import statements
from ...codegen.indices.c import HELPERS, helper, syntax_of
from ...codegen.narrow_floats import NarrowFloat, cast
from ...core.errors import LeafTypeError
from ...core.ints import IntLike, known
from ...gpu.descriptors.tensor_map import TensorMap
from ...symbolic.poly import Symbol
from ...symbolic.symint import poly_of
from ...tensors.tensor import Tensor
from ..program.digits import Lanes, lanes_of
from ..program.elements import Scalar
from ..program.instructions import Instructions, require_written
from ..program.offsets import Offsets
from ..program.statements import Copy, Counter, Product, Program, Statement
from ..run.trace import sizes_of

#: numpy's type -> its name in the C family. Integers are as wide everywhere; floats of less than 32 bits are a
#: language's own.
TYPES = {
    "float32": "float",
    "float64": "double",
    "int32": "int",
    "uint32": "unsigned int",
    "int16": "short",
    "uint16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
    "uint64": "unsigned long long",
}
_SYNTAX = syntax_of("kernel")
#: The most multiples of strides that a statement adds in 64 bits: more take so many registers that the compiler computes
#: each anew in every step (mma_sm100 has 15).
_MOST_WIDE = 8
#: A name, or a number.
WORD = re.compile(r"\w+")


class Names:
    """The names of a program in a text.

    program    the program
    language   its row of the table of C languages
    own        how a thread's register is written: "{}[{}]" of its array and its number
    instructions   what writes asynchronous copies and instructions of several threads
    loops      whether threads are loops, over the digits of a thread's number

    Found while the text is written: registers, each thread's arrays by their buffers; bits, of the integers; operations
    that call a function of the text; vectors, the arrays of which several elements are accessed at once; maps, the
    tensor maps of arguments; used, what its language's head has on use; floats, of less than 32 bits; counters, of the
    loops that a statement is in; in_bytes, those that count bytes, with how many each.

    Source: ours.
    """

    def __init__(
        self, program: Program, language: CLanguage, own: str, instructions: Instructions, *, loops: bool
    ) -> None:
        self.program, self.language, self.own = program, language, own
        self._instructions, self._loops = instructions, loops
        self._sizes = {str(n) for x in sizes_of(program) for n in x.symbols}
        self.registers: dict[int, tuple[str, Tensor]] = {}
        self.bits = 32
        self.operations: set[str] = set()
        self.vectors: set[str] = set()
        self.maps: list[tuple[str, TensorMap]] = []
        self.used: set[str] = set()
        self.floats: dict[str, NarrowFloat] = {}
        self.counters: dict[str, Counter] = {}
        self.in_bytes: dict[str, tuple[Counter, int]] = {}

    def values(self, wanted: Sequence[Any], *places: Offsets) -> Values:
        """The text of expressions and of the terms of offsets, by one plan: what they share is computed once."""
        added = {} if wanted else self._added(places)  # predicates need registers too: the edge loop of sgemm_2 spilled
        wanted = [*(x for offsets in places for x in offsets.wanted if poly_of(x) not in added), *wanted]
        return Values(self, wanted, self.by_digits(wanted), added)

    def _added(self, places: Sequence[Offsets]) -> dict[Any, str]:
        """The multiples of strides in offsets of arguments, as a target of 64-bit addresses adds each at once.

        A wide multiply-add adds n times a stride to an address. A product of 32 bits needs a register of its own, and a
        sum of 32 bits has to be widened behind it.
        """
        if not self._instructions.has_wide_sums:
            return {}
        of_arguments = [x for x in places if self.program.argument_of(x.tensor) is not None]
        found: dict[Any, str] = {}
        for terms, _number in (part for offsets in of_arguments for part in offsets.parts):
            for x in map(poly_of, terms):
                match [*x]:
                    case [((Symbol() as n,), factor)] if (
                        factor % n.unit == 0 and factor != n.unit and str(n) in self._sizes
                    ):
                        found[x] = f"({self.language.integers['int64']}){n} * {factor // n.unit}"
        return found if len(found) <= _MOST_WIDE else {}

    def lanes(self, wanted: Sequence[Any], *places: Offsets) -> Lanes | None:
        """The innermost loop over threads of a statement of expressions and offsets; None where threads are no loops."""
        if not self._loops:
            return None
        return lanes_of([*wanted, *(x for offsets in places for x in offsets.wanted)], self.program.threads)

    def by_digits(self, wanted: Sequence[Any]) -> tuple[Any, ...]:
        """Expressions of the digits of a thread's number, where threads are loops over these."""
        lanes = self.lanes(wanted)
        return tuple(wanted) if lanes is None else tuple(map(lanes.by_step, wanted))

    def element_type(self, t: Tensor) -> str:
        return self.type_named(f"elements of {t.dtype} in a kernel's text", str(t.dtype))

    def type_named(self, what: str, name: str) -> str:
        """The text's name of a type of numpy."""
        narrow = self.language.floats.get(name)
        if narrow is not None:
            self.floats[narrow.name] = narrow
            return narrow.name
        if name not in TYPES:
            expected = f"one of {', '.join([*self.language.floats, *TYPES])}"
            raise LeafTypeError(what, expected, "use run for this type, or give it another")
        return TYPES[name]

    def head(self) -> list[str]:
        """The parts of the file that make known what the text uses."""
        narrow = [part for _name, x in sorted(self.floats.items()) for part in x.head]
        return [*dict.fromkeys([*self.language.head(*sorted(self.used)), *narrow])]

    def computed_in(self, kind: str) -> str:
        """The type that elements are computed in: float for narrower ones."""
        return "float" if kind in self.floats else kind

    def converted(self, text: str, of: str, to: str) -> str:
        """The text of an element, or of what is computed of one, in another type."""
        if of == to:
            return text
        if of in self.floats:
            return self.converted(self.floats[of].as_float(text), "float", to)
        return self.floats[to].of_float(text) if to in self.floats else cast(to, text)

    def buffer(self, t: Tensor) -> str:
        """The name of the array that a tensor's elements are in."""
        name = self.program.argument_of(t)
        if name is not None:
            return name
        for k, held in enumerate(self.program.shared):
            if held.data is t.data:
                return f"smem{k}"
        allocated = self.program.allocation_of(t)
        if allocated is not None:
            return f"tmem{allocated}"
        return self.registers.setdefault(id(t.data), (f"r{len(self.registers)}", t))[0]

    def place(self, t: Tensor, at: str) -> str:
        """The element of a tensor's array at an offset."""
        name = self.buffer(t)
        return self.own.format(name, at) if id(t.data) in self.registers else f"{name}[{at}]"

    def addressed(self, t: Tensor, *, counts_bytes: bool = True) -> tuple[Offsets, Callable[[str], str]]:
        """The offsets of a tensor's elements, and the text of a place by an offset.

        In addresses of shared memory loops count the bytes of their stages. An instruction then adds a register of the
        thread, one of the warp and a number: no step has to compute the sum.
        """
        offsets = Offsets(t)
        counted = offsets.counted_apart(self.counters) if counts_bytes and self._instructions.counts_bytes else {}
        names = []
        for symbol, factor in counted.items():
            each = factor * t.dtype.itemsize
            names.append(f"{symbol}_by_{each}")
            self.in_bytes[names[-1]] = self.counters[symbol], each

        def place(at: str) -> str:
            found = self.place(t, at)
            return self._instructions.behind(found, " + ".join(names)) if names else found

        return offsets, place

    def number(self, x: int | float | Scalar, kind: str) -> str:
        """A number, or a scalar argument, as a value of an element type."""
        if isinstance(x, Scalar):
            return self.converted(x.name, self.type_named(f"the scalar {x.name} of {x.dtype}", str(x.dtype)), kind)
        if kind in self.floats:
            return self.converted(self.number(x, "float"), "float", kind)
        if kind not in ("float", "double"):
            return str(int(x))
        suffix = "f" if kind == "float" else ""
        if math.isfinite(x):
            return f"{float(x)!r}{suffix}"
        return f"({'-' if x < 0 else ''}{int(x == x)}.0{suffix} / 0.0{suffix})"  # infinity, or 0 / 0

    def texts(self, wanted: list[Any]) -> tuple[list[str], list[str]]:
        """The lines that compute integers, and their texts; by the thread's number, not its digits."""
        values = Values(self, wanted, tuple(wanted))
        return values.lines, [values.of(x) for x in wanted]

    def map_of(self, argument: str, made: TensorMap) -> str:
        """The name of the tensor map of an argument, one for all loads by the same."""
        if (argument, made) not in self.maps:
            self.maps.append((argument, made))
        return f"map{self.maps.index((argument, made))}"

    def functions(self) -> list[str]:
        """The functions of the instructions."""
        kind = self.language.integers[str(Integer(self.bits, True))]
        return [line.replace("{int}", kind) for lines in self._instructions.functions.values() for line in lines]

    def instructions(self, s: Statement) -> Instructions:
        """The instructions of the target; LeafTypeError where it does not have this one."""
        atom = s.atom if isinstance(s, Copy) else s.step.mma.atom if isinstance(s, Product) else None
        require_written(s.line, self._instructions, atom)
        return self._instructions

    def barrier(self) -> str:
        """The line by which the threads of a block wait for each other."""
        return self._instructions.barrier()

    def cluster_sync(self) -> str:
        """The line by which the threads of a cluster wait for each other."""
        return self._instructions.cluster_sync()

    def held(self, s: Statement, t: Tensor) -> list[int]:
        """The elements of a thread's registers that a tensor has, in order; LeafTypeError for other memory."""
        self.buffer(t)
        parts = Offsets(t).parts
        if id(t.data) not in self.registers or any(terms for terms, _n in parts):
            operand = "an operand of an instruction of several threads"
            what = f"{s.line}: {operand} that is not in registers, or that symbols choose"
            raise LeafTypeError(what, "registers by number", "copy it to partition_fragment_A(...) or the like first")
        return [n for _terms, n in parts]


class Values:
    """Texts of a statement's expressions, as they are to be written. lines computes those of symbols, each once.

    named   the texts of those that need no line
    """

    def __init__(
        self, names: Names, wanted: Sequence[Any], written: Sequence[Any], named: Mapping[Any, str] | None = None
    ) -> None:
        self.names = dict(named or {})
        self.lines: list[str] = []
        found = {poly_of(x): y for x, y in zip(wanted, written) if known(x) is None}
        if not found:
            return
        made = plan(tuple(found.values()), name="kernel")
        names.bits = max(names.bits, made.integer.bits)
        names.operations |= ops_in(made.results)
        temporaries, results = statements(made, _SYNTAX)
        self.lines = [f"const {{int}} {name} = {text};" for name, text in temporaries]
        for k, (poly, text) in enumerate(zip(found, results)):
            if WORD.fullmatch(text):
                self.names[poly] = text
            else:
                self.names[poly] = f"e{k}"
                self.lines.append(f"const {{int}} e{k} = {text};")

    def of(self, x: IntLike) -> str:
        """The text of an expression that was wanted, or of a number."""
        return str(known(x)) if known(x) is not None else self.names[poly_of(x)]

    def comparisons(self, pairs: Sequence[tuple[Any, Any]]) -> str:
        """Comparisons, all of which are to hold."""
        return " && ".join(dict.fromkeys(f"{self.of(c)} < {self.of(n)}" for c, n in pairs))

    def condition(self, pairs: Sequence[tuple[Any, Any]]) -> str:
        """The text before a statement that is executed where all comparisons hold."""
        return f"if ({self.comparisons(pairs)}) " if pairs else ""

    def sum(self, symbols: Sequence[Any], number: int) -> str:
        texts = [self.of(x) for x in symbols]
        return " + ".join([*texts, *([str(number)] if number or not texts else [])]).replace("+ -", "- ")


def helpers_of(names: Names, function: str) -> list[str]:
    """The functions that operations of the text call."""
    kind = names.language.integers[str(Integer(names.bits, True))]
    return [helper("kernel", op, kind, function) for op in sorted(names.operations & {*HELPERS})]


def parameter_list(program: Program, order: Sequence[str], names: Names, written: set[str]) -> list[str]:
    """The parameters of the text's function, in order."""
    kind = names.language.integers[str(Integer(names.bits, True))]
    out = []
    for name in order:
        x = program.arguments.get(name)
        if isinstance(x, Tensor):
            out.append(f"{'' if name in written else 'const '}{names.element_type(x)} *{name}")
        elif isinstance(x, Scalar):
            kind_of = names.type_named(f"the scalar {name} of {x.dtype}", str(x.dtype))
            out.append(f"{kind_of} {name}")
        else:
            out.append(f"{kind} {name}")
    return out
