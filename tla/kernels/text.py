"""The text of a kernel's statements, in what the C family has in common; targets say the rest: where threads, memory and loops are.

Every address is a sum of what changes from element to element, which is a number where the strides are known, and of a start,
computed once in each statement in its simplest form.

Source: ours.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..codegen.c_languages import CLanguage
from ..codegen.expressions.graph import ops_in
from ..codegen.expressions.integer_types import Integer
from ..codegen.expressions.plan import plan
from ..codegen.expressions.target import statements
from ..codegen.indices.c import HELPERS, helper, syntax_of
from ..core.basis import as_coordinate
from ..core.errors import LeafTypeError
from ..core.int_tuple import leaves, modes_of, shown, size
from ..core.ints import IntLike, is_int, known
from ..core.leaf_arithmetic import add, mul
from ..core.questions import divides
from ..gpu.descriptors.operand_tiles import require_tiles
from ..gpu.descriptors.tensor_map import TensorMap
from ..symbolic.symint import poly_of
from ..tensors.tensor import Tensor
from .bounds import comparisons, coordinate_of, in_argument, is_less
from .elements import Scalar, calls_functions, written
from .instructions import (
    Element,
    Instructions,
    LoadedTile,
    Registers,
    Tile,
    is_asynchronous,
    matrix_extents,
    products,
    require_written,
    tile_of,
)
from .offsets import Offsets
from .program import (
    Access,
    Axpby,
    Barrier,
    Copy,
    Counter,
    Either,
    Fill,
    Load,
    Loop,
    Order,
    Product,
    Program,
    Shuffle,
    Signal,
    Statement,
    Transform,
)

#: numpy's type -> its name in the C family. Integers are as wide everywhere.
TYPES = {
    "float16": "half",
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
#: A name, or a number.
WORD = re.compile(r"\w+")


class Block(NamedTuple):
    """Lines of the text: of one thread, with its own variables; or of the block itself.

    lines     the text
    threads   whether it is of each thread
    indent    how many loops it is in
    """

    lines: list[str]
    threads: bool
    indent: int


class Writer:
    """The text of a program's statements.

    program    the program
    language   its row of the table of C languages
    own        how a thread's register is written: "{}[{}]" of its array and its number
    others     how the register of a thread is that differs by the bits of a mask: of its array, its number and the mask
    instructions   what writes asynchronous copies and instructions of several threads

    Found while it is written: registers, each thread's arrays by their buffers; bits, of the integers; operations that call a function
    of the text; vectors, the arrays of which several elements are accessed at once; maps, the tensor maps of arguments; used, what its
    language's head has on use.
    """

    def __init__(self, program: Program, language: CLanguage, own: str, others: str, instructions: Instructions) -> None:
        self.program, self.language, self.own, self._others, self._instructions = program, language, own, others, instructions
        self.registers: dict[int, tuple[str, Tensor]] = {}
        self.bits = 32
        self.operations: set[str] = set()
        self.vectors: set[str] = set()
        self.maps: list[tuple[str, TensorMap]] = []
        self.used: set[str] = set()

    def blocks(self, body: Sequence[Statement] | None = None, indent: int = 0) -> Iterator[Block]:
        """The blocks of a body in order."""
        body, written = self.program.body if body is None else body, None
        for s, after in zip(body, (*body[1:], None)):
            if isinstance(s, Copy) and written is s:
                continue
            if isinstance(s, Loop):
                values = self.values([s.count])
                inside = yield from self._scope(values, indent)
                yield Block([f"{{int}} {c.symbol} = {c.first};" for c in s.counters], False, inside)
                yield Block([f"for ({{int}} {s.step} = 0; {s.step} < {values.of(s.count)}; ++{s.step}) {{"], False, inside)
                yield from self.blocks(s.body, inside + 1)
                yield Block([_next(c) for c in s.counters], False, inside + 1)
                yield from self._ends(inside, indent)
            elif isinstance(s, Either):
                values = self.values(_both([[*s.asked]]))
                inside = yield from self._scope(values, indent)
                yield Block([f"if ({values.comparisons(s.asked)}) {{"], False, inside)
                yield from self.blocks(s.inside, inside + 1)
                if s.otherwise:
                    yield Block(["} else {"], False, inside)
                    yield from self.blocks(s.otherwise, inside + 1)
                yield from self._ends(inside, indent)
            elif isinstance(s, Fill) and (following := _filled_before(s, after)) is not None:
                value = self.number(s.value, self.element_type(s.target.tensor))
                yield Block([f"// {s.line}, {following.line}", *self._copy(following, value)], True, indent)
                written = following
            elif isinstance(s, Barrier):
                yield Block(["{barrier}"], False, indent)
            elif isinstance(s, Order):
                yield Block(self.instructions(s).order(s.word, s.pending, self._accumulators()), False, indent)
            elif isinstance(s, Signal):
                values = self.values([s.at, s.number])
                barrier, count = self.place(s.barriers, values.of(s.at)), len(s.barriers.data)
                lines, threads = self.instructions(s).signal(s.word, barrier, count, values.of(s.number))
                yield Block([f"// {s.line}", *values.lines, *lines], threads, indent)
            elif (several := self._several(s)) is not None:
                for lines, threads in several:
                    yield Block([f"// {s.line}", *lines], threads, indent)
            else:
                yield Block([f"// {s.line}", *self._statement(s)], True, indent)

    @staticmethod
    def _scope(values: Values, indent: int) -> Generator[Block, None, int]:
        """A scope for the variables of values, where they have any: the indent of what is in it."""
        if not values.lines:
            return indent
        yield Block(["{"], False, indent)
        yield Block(values.lines, False, indent + 1)
        return indent + 1

    @staticmethod
    def _ends(inside: int, indent: int) -> Iterator[Block]:
        """The ends of a statement and of the scope around it."""
        for k in range(inside, indent - 1, -1):
            yield Block(["}"], False, k)

    def values(self, wanted: Sequence[Any]) -> Values:
        """The text of expressions, by one plan: what they share is computed once."""
        return Values(self, wanted)

    def element_type(self, t: Tensor) -> str:
        return self.type_named(f"elements of {t.dtype} in a kernel's text", str(t.dtype))

    def type_named(self, what: str, name: str) -> str:
        """The text's name of a type of numpy."""
        if name not in TYPES:
            raise LeafTypeError(what, f"one of {', '.join(TYPES)}", "use run for this type, or give it another")
        if name == "float16":
            self.used.add("half")
            return self.language.half
        return TYPES[name]

    def buffer(self, t: Tensor) -> str:
        """The name of the array that a tensor's elements are in."""
        name = self.program.argument_of(t)
        if name is not None:
            return name
        for k, held in enumerate(self.program.shared):
            if held.data is t.data:
                return f"smem{k}"
        return self.registers.setdefault(id(t.data), (f"r{len(self.registers)}", t))[0]

    def place(self, t: Tensor, at: str) -> str:
        """The element of a tensor's array at an offset."""
        name = self.buffer(t)
        return self.own.format(name, at) if id(t.data) in self.registers else f"{name}[{at}]"

    def number(self, x: int | float | Scalar, kind: str) -> str:
        """A number, or a scalar argument, as a value of an element type."""
        if isinstance(x, Scalar):
            return x.name
        if kind == self.language.half:
            return f"({kind}){self.number(x, 'float')}"
        if kind not in ("float", "double"):
            return str(int(x))
        suffix = "f" if kind == "float" else ""
        if math.isfinite(x):
            return f"{float(x)!r}{suffix}"
        return f"({'-' if x < 0 else ''}{int(x == x)}.0{suffix} / 0.0{suffix})"  # infinity, or 0 / 0

    def _statement(self, s: Statement) -> list[str]:
        if isinstance(s, Copy):
            return self._copy(s)
        if isinstance(s, Fill):
            value = self.number(s.value, self.element_type(s.target.tensor))
            return self._each([s.target], lambda y: f"{y} = {value};")
        if isinstance(s, Axpby):
            kind = self.element_type(s.y.tensor)
            a, b = self.number(s.alpha, kind), self.number(s.beta, kind)
            if isinstance(s.beta, Scalar):
                zero = "0" if kind != self.language.half else self.number(0, kind)
                return self._each([s.x, s.y], lambda x, y: f"{y} = {b} == {zero} ? {a} * {x} : {a} * {x} + {b} * {y};")
            return self._each([s.x, s.y], lambda x, y: f"{y} = {a} * {x}{'' if s.beta == 0 else f' + {b} * {y}'};")
        if isinstance(s, Transform):
            return self._transform(s)
        if isinstance(s, Shuffle):
            return self._shuffle(s)
        assert isinstance(s, Product)
        return self._product(s)

    def _transform(self, s: Transform) -> list[str]:
        """A function of elements: computed in the widest of their types, in float at least."""
        accesses = [*s.operands.values()]
        kinds = [self.element_type(x.tensor) for x in accesses]
        kind = "double" if "double" in kinds[:-1] else "float"
        if calls_functions(s.value):
            self.used.add("math")

        def cast(text: str, of: str, to: str) -> str:
            return text if of == to else f"({to}){text}"

        def number(x: Any, _kind: str) -> str:
            return cast(x.name, self.type_named("a scalar", str(x.dtype)), kind) if isinstance(x, Scalar) else self.number(x, kind)

        def line(*at: str) -> str:
            *operands, target = at
            lines, made = written(s.value, kind, [cast(x, k, kind) for x, k in zip(operands, kinds)], number)
            if kind != kinds[-1]:
                made = f"({kinds[-1]})({made})"
            return " ".join(["{", *lines, f"{target} = {made};", "}"]) if lines else f"{target} = {made};"

        return self._each(accesses, line)

    def _shuffle(self, s: Shuffle) -> list[str]:
        (source, target), mask = ([self._held(s, x.tensor) for x in (s.source, s.target)]), s.mask
        name = self.buffer(s.source.tensor)
        pairs = zip(source * (len(target) if len(source) == 1 else 1), target)
        return [f"{self.place(s.target.tensor, str(b))} = {self._others.format(name, a, mask)};" for a, b in pairs]

    def _each(self, accesses: Sequence[Access], write: Callable[..., str]) -> list[str]:
        """A line for each element of tensors of one size, those of arguments where they are valid; one element stands for all."""
        starts = [Offsets(x.tensor) for x in accesses]
        count = max(len(start.parts) for start in starts)
        each = [*zip(accesses, starts)]
        left = [_left(pair for x, start in each for pair in in_argument(self.program, x, i % len(start.parts))) for i in range(count)]
        values = self.values([*(x for start in starts for x in start.wanted), *_both(left)])
        places = zip(*(self._places(start, values) * (count // len(start.parts)) for start in starts))
        return [*values.lines, *(f"{values.condition(pairs)}{write(*at)}" for pairs, at in zip(left, places))]

    def _places(self, start: Offsets, values: Values) -> list[str]:
        return [self.place(start.tensor, values.sum(*parts)) for parts in start.parts]

    def _copy(self, s: Copy, otherwise: str | None = None) -> list[str]:
        """A copy; otherwise: what the target is where the predicate does not hold, instead of as it was."""
        atom = s.atom
        each = 8 * s.target.tensor.dtype.itemsize
        count = 1 if atom.most_bits is not None else max(atom.reads.bits, atom.writes.bits, each) // each
        source, target = Offsets(s.source.tensor), Offsets(s.target.tensor)
        left = [[] if s.where is None else _left(comparisons(s.where, i)) for i in range(len(source.parts))]
        for i in range(0, len(left), count):
            _require_one(s, count, left[i : i + count], *(side.parts[i : i + count] for side in (source, target)))
        values = self.values([*source.wanted, *target.wanted, *_both(left[::count])])
        lines = list(values.lines)
        places = [*zip(self._places(source, values), self._places(target, values))]
        if count > 1:
            self.vectors |= {self.buffer(s.source.tensor), self.buffer(s.target.tensor)}
        for i in range(0, len(places), count):
            a, b = places[i]
            if atom.asynchronous:
                condition = values.comparisons(left[i]) if left[i] else ""
                lines += self.instructions(s).copied(atom, a, b, count * each // 8, condition)
            elif count == 1 and otherwise is not None and left[i]:
                lines.append(f"{b} = {values.comparisons(left[i])} ? {a} : {otherwise};")
            else:
                lines.append(values.condition(left[i]) + (f"{b} = {a};" if count == 1 else self._vector(a, b, count * each // 8)))
        return lines

    def _vector(self, source: str, target: str, width: int) -> str:
        """A copy of several elements at once."""
        word = self.language.words.get(width)
        if word is None or "memcpy" in self.language.includes:
            return f"memcpy(&{target}, &{source}, {width});"
        return f"*reinterpret_cast<{word} *>(&{target}) = *reinterpret_cast<const {word} *>(&{source});"

    def functions(self) -> list[str]:
        """The functions of the instructions."""
        kind = self.language.integers[str(Integer(self.bits, True))]
        return [line.replace("{int}", kind) for lines in self._instructions.functions.values() for line in lines]

    def texts(self, wanted: list[Any]) -> tuple[list[str], list[str]]:
        """The lines that compute integers, and their texts."""
        values = self.values(wanted)
        return values.lines, [values.of(x) for x in wanted]

    def instructions(self, s: Statement) -> Instructions:
        """The instructions of the target; LeafTypeError where it does not have this one."""
        require_written(s.line, self._instructions, s.atom if isinstance(s, Copy) else s.step.mma.atom if isinstance(s, Product) else None)
        return self._instructions

    def _several(self, s: Statement) -> Iterator[tuple[list[str], bool]] | None:
        """The lines of an instruction of several threads, and whether they are of each; None of another statement."""
        if isinstance(s, Copy) and int(size(s.atom.thr_id)) > 1:
            return self._matrices(s)
        if isinstance(s, Product) and int(size(s.step.mma.atom.thr_id)) > 1:
            return self._products(s)
        return self._boxes(s) if isinstance(s, Load) else None

    def _boxes(self, s: Load) -> Iterator[tuple[list[str], bool]]:
        """The boxes of a load by TMA: where each begins in shared memory, and its coordinate in the tensor."""
        tma, places, target = s.step.tma, s.source.places, Offsets(s.target.tensor)
        source = self.program.argument_of(s.source.tensor)
        if places is None or source is None:
            raise LeafTypeError(f"{s.line}: a load by TMA of what is no argument", "a tile of an argument", "make the map of an argument")
        boxes = tma.TV[1][0][1]
        firsts = [int(boxes(i)) for i in range(int(size(boxes)))]
        at = [tuple(leaves(as_coordinate(tma.tma_tensor(tuple(modes_of(coordinate_of(places, i))))))) for i in firsts]
        values = self.values([*target.wanted, *(x for c in at for x in c), s.at])
        starts = [self.place(s.target.tensor, values.sum(*target.parts[i])) for i in firsts]
        extents = tuple(leaves(self.program.arguments[source].layout.shape))

        def element(i: IntLike) -> Element:
            """The offsets of an element, and the comparisons by which it is inside of the tensor."""
            where = leaves(as_coordinate(coordinate_of(places, i)))
            offsets = [add(t.offset, t.layout(i)) for t in (s.target.tensor, s.source.tensor)]
            return Element(offsets[0], offsets[1], [*zip(where, extents)])

        tile = LoadedTile(
            self.map_of(source, tma.map),
            [*zip(starts, ([values.of(x) for x in c] for c in at))],
            self.place(s.barriers, values.of(s.at)),
            (self.buffer(s.target.tensor), source),
            self.number(0, self.element_type(s.target.tensor)),
            int(size(s.target.tensor.shape)),
            element,
        )
        lines, threads = self.instructions(s).load(tile)
        yield ([*values.lines, *lines] if threads else lines), threads

    def map_of(self, argument: str, made: TensorMap) -> str:
        """The name of the tensor map of an argument, one for all loads by the same."""
        if (argument, made) not in self.maps:
            self.maps.append((argument, made))
        return f"map{self.maps.index((argument, made))}"

    def _matrices(self, s: Copy) -> Iterator[tuple[list[str], bool]]:
        """Loads of matrices: of each instruction the address of the thread's row, and its registers."""
        target, source = s.target.tensor, Offsets(s.source.tensor)
        name, kind, held = self.buffer(target), self.element_type(target), self._held(s, target)
        count, width = (int(size(layout[1])) for layout in (s.atom.val_dst, s.atom.val_src))
        values = self.values(source.wanted)
        rows = [self.place(s.source.tensor, values.sum(*part)) for part in source.parts[::width]]
        found = [Registers(name, kind, tuple(held[i : i + count])) for i in range(0, len(held), count)]
        for lines, threads in self.instructions(s).matrices(s.atom, rows, found):
            yield ([*values.lines, *lines] if threads else lines), threads

    def _held(self, s: Statement, t: Tensor) -> list[int]:
        """The elements of a thread's registers that a tensor has, in order; LeafTypeError for other memory."""
        self.buffer(t)
        parts = Offsets(t).parts
        if id(t.data) not in self.registers or any(terms for terms, _n in parts):
            what = f"{s.line}: an operand of an instruction of several threads that is not in registers, or that symbols choose"
            raise LeafTypeError(what, "registers by number", "copy it to partition_fragment_A(...) or the like first")
        return [n for _terms, n in parts]

    def _products(self, s: Product) -> Iterator[tuple[list[str], bool]]:
        """Matrix products of instructions of several threads."""
        atom = s.step.mma.atom
        t = {name: s.operands[name].tensor for name in "DABC"}
        extents = {name: matrix_extents(t[name], s.step.one_value) for name in "ABC"}
        tiles = {name: require_tiles("gemm", atom, name, t[name]) for name in "AB" if atom.memory(name) == "smem"}
        held = {name: [*range(int(size(tiles[name].steps)))] if name in tiles else self._held(s, x) for name, x in t.items()}
        named = {name: (self.buffer(x), self.element_type(x)) for name, x in t.items()}
        values = self.values([x.start for x in tiles.values()])

        def tile(name: str, part: int) -> Tile:
            found = tiles[name]
            return Tile(*named[name], values.of(found.start), found.descriptor.bits, int(found.steps(part)), tile_of(t[name], part))

        found, read = [], []
        for at in products(extents, held):
            of = {x: "D" if at[x] is at["D"] else x for x in at}  # what an instruction adds to is what the one before has written
            found.append({x: Registers(*named[of[x]], tuple(at[x])) for x in at if x not in tiles})
            read.append({x: tile(x, at[x][0]) for x in tiles})
        for lines, threads in self.instructions(s).product(atom, found, read):
            yield ([*values.lines, *lines] if threads else lines), threads

    def _accumulators(self) -> list[Registers]:
        """The registers that asynchronous products add to."""
        found = {}
        for s in self.program.statements():
            if isinstance(s, Product) and is_asynchronous(s.step.mma.atom):
                t = s.operands["D"].tensor
                found[id(t.data)] = Registers(self.buffer(t), self.element_type(t), tuple(range(len(t.data))))
        return [*found.values()]

    def _product(self, s: Product) -> list[str]:
        atom = s.step.mma.atom
        if tuple(map(int, leaves(atom.shape_mnk))) != (1, 1, 1) or atom.val_SF or atom.sparsity:
            what = f"{s.line}: the instruction {atom.name} in a kernel's text"
            raise LeafTypeError(what, "a multiply-add of one value", "make the tiled MMA of UniversalFMA[float]")
        t = {name: s.operands[name].tensor for name in "DABC"}
        kinds = {name: self.element_type(x) for name, x in t.items()}
        extents = {name: matrix_extents(x, s.step.one_value) for name, x in t.items()}
        (m, k), (n, _k) = extents["A"], extents["B"]
        starts = {name: Offsets(x) for name, x in t.items()}
        values = self.values([x for start in starts.values() for x in start.wanted])
        at = {name: self._places(start, values) for name, start in starts.items()}
        lines = list(values.lines)
        for step in range(k):
            lines += [f"const {kinds['A']} a{i}_{step} = {at['A'][i + m * step]};" for i in range(m)]
            lines += [f"const {kinds['B']} b{j}_{step} = {at['B'][j + n * step]};" for j in range(n)]
            for j in range(n):
                for i in range(m):
                    before = at["D" if step else "C"][i + m * j]
                    lines.append(f"{at['D'][i + m * j]} = a{i}_{step} * b{j}_{step} + {before};")
        return lines


class Values:
    """Texts of expressions of one statement. lines computes those that have symbols, each once."""

    def __init__(self, writer: Writer, wanted: Sequence[Any]) -> None:
        self.names: dict[Any, str] = {}
        self.lines: list[str] = []
        found = {poly_of(x): x for x in wanted if known(x) is None}
        if not found:
            return
        made = plan(tuple(found.values()), name="kernel")
        writer.bits = max(writer.bits, made.integer.bits)
        writer.operations |= ops_in(made.results)
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


def _next(c: Counter) -> str:
    """The line by which a loop's counter goes on."""
    return f"{c.symbol} = {c.symbol} == {c.count - 1} ? 0 : {c.symbol} + 1;" if c.of is None else f"{c.symbol} ^= {c.of} == 0;"


def _left(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The comparisons that are not proved."""
    return [(c, n) for c, n in pairs if not is_less(c, n)]


def _require_one(s: Copy, count: int, left: list[list[tuple[Any, Any]]], *sides: list[tuple[tuple[Any, ...], int]]) -> None:
    """LeafTypeError for elements of an access that have several predicates, or do not lie one behind the other."""
    if not all(_as_first(left[0], pairs, count) for pairs in left):
        what = f"{s.line}: a predicate of its own for each element of an access of {count}"
        fix = f"copy element by element, or give extents the fact multiple_of={count}"
        raise LeafTypeError(what, "one truth value for all of them", fix)
    if any(part != (parts[0][0], parts[0][1] + k) for parts in sides for k, part in enumerate(parts)):
        what = f"{s.line}: an access of {count} elements in another order than that of memory"
        raise LeafTypeError(what, "elements one behind the other", "partition along the contiguous mode")


def _as_first(first: list[tuple[Any, Any]], pairs: list[tuple[Any, Any]], count: int) -> bool:
    """Whether comparisons hold where those of the first element of an access of `count` do.

    c + d < n where c < n: of the same c; or of 0 <= d < count, if count divides c and n, for then n - c is count or more.
    """

    def follows(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
        d = known(add(b[0], mul(a[0], -1)))
        same = d is not None and poly_of(a[1]) == poly_of(b[1])
        return same and (d == 0 or (0 < (d or 0) < count and divides(count, a[0]) is True and divides(count, a[1]) is True))

    return all(any(follows(a, b) for a in first) for b in pairs)


def _both(left: Iterable[list[tuple[Any, Any]]]) -> list[Any]:
    """Every expression of comparisons."""
    return [x for pairs in left for pair in pairs for x in pair]


def _filled_before(s: Fill, after: Statement | None) -> Copy | None:
    """The predicated copy behind a fill that writes the same elements, one at a time: both are one statement of the text."""
    if (
        not isinstance(after, Copy)
        or after.where is None
        or max(after.atom.reads.bits, after.atom.writes.bits) > 8 * s.target.tensor.dtype.itemsize
    ):
        return None
    a, b = s.target.tensor, after.target.tensor
    return after if a.data is b.data and a.layout == b.layout and a.offset == b.offset else None


def helpers_of(writer: Writer, function: str) -> list[str]:
    """The functions that operations of the text call."""
    kind = writer.language.integers[str(Integer(writer.bits, True))]
    return [helper("kernel", op, kind, function) for op in sorted(writer.operations & {*HELPERS})]


def parameter_list(program: Program, order: Sequence[str], writer: Writer, written: set[str]) -> list[str]:
    """The parameters of the text's function, in order."""
    kind = writer.language.integers[str(Integer(writer.bits, True))]
    out = []
    for name in order:
        x = program.arguments.get(name)
        if isinstance(x, Tensor):
            out.append(f"{'' if name in written else 'const '}{writer.element_type(x)} *{name}")
        elif isinstance(x, Scalar):
            kind_of = writer.type_named(f"the scalar {name} of {x.dtype}", str(x.dtype))
            out.append(f"{kind_of} {name}")
        else:
            out.append(f"{kind} {name}")
    return out


def shown_sizes(xs: Sequence[Any]) -> str:
    """Sizes in a comment."""
    return ", ".join(shown(x) if is_int(x) else str(x) for x in xs)
