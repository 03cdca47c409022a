"""The text of a kernel's statements, in what the C family has in common; targets say the rest: where threads, memory
and loops are.

Every address is a sum of what changes from element to element, which is a number where the strides are known, and of a
start, computed once in each statement in its simplest form.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ...codegen.c_languages import CLanguage
from ...core.errors import LeafTypeError
from ...core.int_tuple import leaves
from ...core.ints import known
from ...core.leaf_arithmetic import add, mul
from ...core.questions import divides
from ...symbolic.symint import poly_of
from ..program.digits import loop_of
from ..program.elements import Scalar, calls_functions, written
from ..program.instructions import Instructions, matrix_extents
from ..program.offsets import Offsets
from ..program.statements import (
    Access,
    Atomic,
    Axpby,
    Barrier,
    Copy,
    Counter,
    Either,
    Fill,
    Loop,
    Order,
    Product,
    Program,
    Read,
    Reserve,
    Shuffle,
    Signal,
    Statement,
    Transform,
    statements_of,
)
from ..proofs.bounds import comparisons, in_argument, is_less
from ..tiles.whole import is_filled_before
from .ends import Guarded
from .names import WORD, Names, Values
from .several import asynchronous_registers, is_of_matrices, loaded_before, mask_of, several, shifts_of


class Block(NamedTuple):
    """Lines of the text: of one thread, with its own variables; or of the block itself.

    lines     the text
    threads   whether it is of each thread
    indent    how many loops it is in
    """

    lines: list[str]
    threads: bool
    indent: int


class Writer(Names):
    """The text of a program's statements.

    others     how the register of a thread is that differs by the bits of a mask: of its array, its number and the mask
    adds       how an element is added to atomically: of it, and what is added
    exchanged  what has that register's value where others is the thread's own: of this one, 32 bits or more, and the mask

    The others are those of Names. Source: ours.
    """

    def __init__(
        self,
        program: Program,
        language: CLanguage,
        own: str,
        others: str,
        adds: str,
        instructions: Instructions,
        *,
        exchanged: str = "",
        loops: bool = False,
    ) -> None:
        super().__init__(program, language, own, instructions, loops=loops)
        self._others, self._exchanged, self._adds = others, exchanged, adds
        self._loaded = loaded_before(program.body)

    def blocks(self, body: Sequence[Statement] | None = None, indent: int = 0) -> Iterator[Block]:
        """The blocks of a body in order."""
        body, written = self.program.body if body is None else body, None
        for s, after in zip(body, (*body[1:], None)):
            if isinstance(s, Copy) and written is s:
                continue
            if isinstance(s, Loop):
                values = self.values([s.count])
                inside = yield from self._scope(values, indent)
                if any(map(is_of_matrices, statements_of(s.body))):  # for copies alone it pays nothing: wgmma_sm90
                    self.counters |= {str(c.symbol): c for c in s.counters}
                held = [*self.blocks(s.body, inside + 1)]
                counters = _used(s.counters, held)
                bytes_counted = {name: x for name, x in self.in_bytes.items() if x[0] in s.counters}
                yield Block([f"{{int}} {c.symbol} = {c.first};" for c in counters], False, inside)
                firsts = ((name, c.first * each) for name, (c, each) in bytes_counted.items())
                yield Block([f"{{int}} {name} = {first};" for name, first in firsts], False, inside)
                yield Block([loop_of("{int}", str(s.step), values.of(s.count))], False, inside)
                yield from held
                yield Block([_next(c) for c in counters], False, inside + 1)
                goes_on = [_around(name, c.period, each) for name, (c, each) in bytes_counted.items()]
                yield Block(goes_on, False, inside + 1)
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
                yield Block(["{cluster_sync}" if s.of_cluster else "{barrier}"], False, indent)
            elif isinstance(s, Read):
                yield Block([f"// {s.line}", *self._read(s)], False, indent)
            elif isinstance(s, Order):
                registers = asynchronous_registers(self, s.word, self._loaded.get(id(s), ()))
                yield Block(self.instructions(s).order(s.word, s.pending, registers), False, indent)
            elif isinstance(s, Reserve):
                yield Block([f"// {s.line}", *self._reserve(s)], True, indent)
            elif isinstance(s, Signal):
                values = self.values([s.at, s.number, *shifts_of(s)])
                barrier, count = self.place(s.barriers, values.of(s.at)), len(s.barriers.data)
                number, mask = values.of(s.number), mask_of(s, values)
                lines, threads = self.instructions(s).signal(s.word, barrier, count, number, mask)
                yield Block([f"// {s.line}", *(values.lines if lines else []), *lines], threads, indent)
            elif (found := several(self, s)) is not None:
                for lines, threads in found:
                    yield Block([f"// {s.line}", *lines], threads, indent)
            else:
                yield Block([f"// {s.line}", *self._statement(s)], True, indent)

    def _reserve(self, s: Reserve) -> list[str]:
        """A statement about tensor memory."""
        of = s.allocation
        if of is None:
            return self.instructions(s).reserve(s.word, "", "", 0, s.sms)
        name = f"tmem{self.program.tmem.index(of)}"
        return self.instructions(s).reserve(s.word, name, self.place(of.address, "0"), of.columns, s.sms)

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

    def _statement(self, s: Statement) -> list[str]:
        if isinstance(s, Copy):
            return self._copy(s)
        if isinstance(s, Fill):
            value = self.number(s.value, self.element_type(s.target.tensor))
            return self._each([s.target], lambda y: f"{y} = {value};")
        if isinstance(s, Axpby):
            return self._axpby(s)
        if isinstance(s, Transform):
            return self._transform(s)
        if isinstance(s, Shuffle):
            return self._shuffle(s)
        if isinstance(s, Atomic):
            return self._each([s.source, s.target], lambda x, y: self._adds.format(y, x))
        assert isinstance(s, Product)
        return self._product(s)

    def _read(self, s: Read) -> list[str]:
        """An integer that an element is, in the scope of its body; the text stops where it is not below what it is to
        be."""
        start, name = Offsets(s.source.tensor), str(s.symbol)
        values = self.values([s.below], start)
        (place,) = self._places(start, values)
        asked = self._instructions.require(f"0 <= {name} && {name} < {values.of(s.below)}")
        if not values.lines:
            return [f"const {{int}} {name} = {place};", asked]
        within = [*values.lines, f"{name} = {place};", asked]
        return [f"{{int}} {name};", "{", *(f"    {line}" for line in within), "}"]

    def _axpby(self, s: Axpby) -> list[str]:
        """alpha * x + beta * y: computed in the widest of their types, floats of less than 32 bits in float."""
        kinds = [self.element_type(t.tensor) for t in (s.x, s.y)]
        computed = [self.computed_in(kind) for kind in kinds]
        kind = next((wide for wide in ("double", "float") if wide in computed), computed[1])
        a, b = self.number(s.alpha, kind), self.number(s.beta, kind)

        def line(x: str, y: str) -> str:
            x, before = (self.converted(text, *sides) for text, *sides in zip((x, y), kinds, computed))
            whole, scaled = f"{a} * {x} + {b} * {before}", f"{a} * {x}"
            if isinstance(s.beta, Scalar):
                whole = f"{b} == 0 ? {scaled} : {whole}"
            return f"{y} = {self.converted(scaled if s.beta == 0 else whole, kind, kinds[1])};"

        return self._each([s.x, s.y], line)

    def _transform(self, s: Transform) -> list[str]:
        """A function of elements: computed in the widest of their types, in float at least."""
        kinds = [self.element_type(x.tensor) for x in s.operands]
        kind = "double" if "double" in kinds[:-1] else "float"
        if calls_functions(s.value):
            self.used.add("math")

        def line(*at: str) -> str:
            *operands, target = at
            given = [self.converted(x, of, kind) for x, of in zip(operands, kinds)]
            lines, made = written(s.value, kind, given, self.number)
            made = self.converted(made, kind, kinds[-1])
            return " ".join(["{", *lines, f"{target} = {made};", "}"]) if lines else f"{target} = {made};"

        return self._each(s.operands, line)

    def _shuffle(self, s: Shuffle) -> list[str]:
        (source, target), mask = ([self.held(s, x.tensor) for x in (s.source, s.target)]), s.mask
        name = self.buffer(s.source.tensor)
        of, to = (self.element_type(x.tensor) for x in (s.source, s.target))
        wide = self.computed_in(of) if self._exchanged else of

        def made(a: int) -> str:
            x = self.converted(self._others.format(name, a, mask), of, wide)
            return self.converted(self._exchanged.format(x, mask) if self._exchanged else x, wide, to)

        pairs = zip(source * (len(target) if len(source) == 1 else 1), target)
        return [f"{self.place(s.target.tensor, str(b))} = {made(a)};" for a, b in pairs]

    def _each(self, accesses: Sequence[Access], write: Callable[..., str]) -> list[str]:
        """A line for each element of tensors of one size, those of arguments where valid; one stands for all."""
        starts = [Offsets(x.tensor) for x in accesses]
        count = max(len(start.parts) for start in starts)
        each = [*zip(accesses, starts)]
        asked = ([(x, i % len(start.parts)) for x, start in each] for i in range(count))
        left = [_left(pair for x, k in those for pair in in_argument(self.program, x, k)) for those in asked]
        guarded = Guarded(self, left, starts)
        places = zip(*(self._places(start, guarded.values) * (count // len(start.parts)) for start in starts))
        return guarded.lines([write(*at) for at in places])

    def _places(self, start: Offsets, values: Values) -> list[str]:
        return [self.place(start.tensor, values.sum(*parts)) for parts in start.parts]

    def _copy(self, s: Copy, otherwise: str | None = None) -> list[str]:
        """A copy; otherwise: what the target is where the predicate does not hold, instead of as it was."""
        atom = s.atom
        each = 8 * s.target.tensor.dtype.itemsize
        count = 1 if atom.most_bits is not None else max(atom.reads.bits, atom.writes.bits, each) // each
        source = Offsets(s.source.tensor)
        target, place = self.addressed(s.target.tensor, counts_bytes=atom.asynchronous)
        left = [[] if s.where is None else _left(comparisons(s.where, i)) for i in range(len(source.parts))]
        for i in range(0, len(left), count):
            _require_one(s, count, left[i : i + count], *(side.parts[i : i + count] for side in (source, target)))
        left = left[::count]
        splits = not atom.asynchronous and (otherwise is None or count > 1)
        guarded = Guarded(self, left, (source, target)) if splits else None
        values = self.values(_both(left), source, target) if guarded is None else guarded.values
        places = [*zip(self._places(source, values), (place(values.sum(*part)) for part in target.parts))][::count]
        if count > 1:
            self.vectors |= {self.buffer(s.source.tensor), self.buffer(s.target.tensor)}
        if guarded is not None:
            width = count * each // 8
            return guarded.lines([f"{b} = {a};" if count == 1 else self._vector(a, b, width) for a, b in places])
        lines = list(values.lines)
        for (a, b), pairs in zip(places, left):
            condition = values.comparisons(pairs)
            if atom.asynchronous:
                lines += self.instructions(s).copied(atom, a, b, count * each // 8, condition)
            else:
                lines.append(f"{b} = {condition} ? {a} : {otherwise};" if condition else f"{b} = {a};")
        return lines

    def _vector(self, source: str, target: str, width: int) -> str:
        """A copy of several elements at once."""
        word = self.language.words.get(width)
        if word is None or "memcpy" in self.language.includes:
            return f"memcpy(&{target}, &{source}, {width});"
        return f"*reinterpret_cast<{word} *>(&{target}) = *reinterpret_cast<const {word} *>(&{source});"

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
        values = self.values([], *starts.values())
        at = {name: self._places(start, values) for name, start in starts.items()}
        lines = list(values.lines)
        computed = {name: self.computed_in(kind) for name, kind in kinds.items()}
        for step in range(k):
            for name, count in ("A", m), ("B", n):
                of, to = kinds[name], "double" if computed["D"] == "double" else computed[name]
                read = [self.converted(at[name][i + count * step], of, to) for i in range(count)]
                lines += [f"const {to} {name.lower()}{i}_{step} = {x};" for i, x in enumerate(read)]
            for j in range(n):
                for i in range(m):
                    total = "D" if step else "C"
                    before = self.converted(at[total][i + m * j], kinds[total], computed[total])
                    made = self.converted(f"a{i}_{step} * b{j}_{step} + {before}", computed["D"], kinds["D"])
                    lines.append(f"{at['D'][i + m * j]} = {made};")
        return lines


def _used(counters: Sequence[Counter], body: Sequence[Block]) -> list[Counter]:
    """The counters of a loop that its body names, and those these go on by: a wait that is not written has none."""
    words = {*WORD.findall("\n".join(line for block in body for line in block.lines))}
    named = {str(c.symbol) for c in counters} & words
    named |= {str(c.of) for c in counters if str(c.symbol) in named}
    return [c for c in counters if str(c.symbol) in named]


def _next(c: Counter) -> str:
    """The line by which a loop's counter goes on."""
    if c.of is not None:
        return f"{c.symbol} ^= {c.of} == 0;"
    return _around(str(c.symbol), c.period, 1)


def _around(name: str, period: int, each: int) -> str:
    """The line by which what is counted goes on, and begins anew behind a period."""
    return f"{name} = {name} == {(period - 1) * each} ? 0 : {name} + {each};"


def _left(pairs: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The comparisons that are not proved."""
    return [(c, n) for c, n in pairs if not is_less(c, n)]


def _require_one(
    s: Copy, count: int, left: list[list[tuple[Any, Any]]], *sides: list[tuple[tuple[Any, ...], int]]
) -> None:
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

    c + d < n where c < n: of the same c; or of 0 <= d < count, if count divides c and n, for then n - c is
    count or more.
    """

    def follows(a: tuple[Any, Any], b: tuple[Any, Any]) -> bool:
        d = known(add(b[0], mul(a[0], -1)))
        same = d is not None and poly_of(a[1]) == poly_of(b[1])
        behind = 0 < (d or 0) < count and divides(count, a[0]) is True and divides(count, a[1]) is True
        return same and (d == 0 or behind)

    return all(any(follows(a, b) for a in first) for b in pairs)


def _both(left: Iterable[list[tuple[Any, Any]]]) -> list[Any]:
    """Every expression of comparisons."""
    return [x for pairs in left for pair in pairs for x in pair]


def _filled_before(s: Fill, after: Statement | None) -> Copy | None:
    """The predicated copy behind a fill of the same elements, one at a time: both are one statement of the text."""
    if not is_filled_before(s, after) or not isinstance(after, Copy):
        return None
    return after if max(after.atom.reads.bits, after.atom.writes.bits) <= 8 * s.target.tensor.dtype.itemsize else None
