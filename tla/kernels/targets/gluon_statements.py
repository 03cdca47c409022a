"""The statements of a kernel as Gluon's text, each of a whole tile.

Registers are tensors, each in the layout of its tile; a predicate is a mask; the order of statements is the kernel's.

Source: triton.experimental.gluon of Triton 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ...core.int_tuple import leaves
from ...core.ints import Leaf, known
from ...linear.triton import AMDMFMALayout, BlockedLayout
from ...symbolic import SymInt
from ...tensors.tensor import Tensor
from ..program.elements import Scalar, numbers_of
from ..program.statements import (
    Access,
    Axpby,
    Barrier,
    Copy,
    Either,
    Fill,
    Load,
    Loop,
    Order,
    Product,
    Program,
    Reserve,
    Shuffle,
    Signal,
    Statement,
    Transform,
    accesses,
    statements_of,
)
from ..proofs.bounds import is_less
from ..tiles.homes import EACH, Homes, count_of, operands_of
from ..tiles.products import by_descriptors
from ..tiles.tiles import Argument, Columns, Memory, Piece, Registers, Side, Tile, of_argument, refused
from ..tiles.whole import is_filled_before
from .gluon_elements import FUNCTIONS, REDUCTIONS, function_text, literal, operands_in
from .gluon_tensor_memory import TensorMemory, joined
from .gluon_tiles import INDENT, NARROW, NARROW_FLOATS, TYPES, type_of


class Writer(TensorMemory):
    """The text of a program's statements."""

    def __init__(self, program: Program, bits: int = NARROW) -> None:
        super().__init__(program, bits)
        self.homes = Homes(program)
        self.registers: dict[Piece, str] = {}
        self.known: set[Piece] = set()
        self.stored: set[int] = set()
        self._under_way: list[str] = []
        self._waits = _is_read_and_written(program)

    def body(self, body: Sequence[Statement]) -> None:
        """The lines of statements in order."""
        filled: Fill | None = None
        together = joined(body)
        for s, after in zip(together, (*together[1:], None)):
            if isinstance(s, Fill) and is_filled_before(s, after) and isinstance(after, Copy) and self._is_one(after):
                filled = s
                continue
            if isinstance(s, Loop):
                self._begin(s.body)
                count = self.scalars([s.count])
                steps = "gl.static_range" if self._is_unrolled(s) else "range"
                self.put(f"for {s.step} in {steps}({count[0]}):")
                self._inside(s.body)
            elif isinstance(s, Either):
                self._begin(s.inside)
                self._begin(s.otherwise)
                self._either(s)
            elif isinstance(s, Order):
                self._order(s)
            elif isinstance(s, tuple):
                self.put(f"# {s[0].line}")
                self.multiply(s)
            elif isinstance(s, (Signal, Load)):
                self.put(f"# {s.line}")
                self.signal(s) if isinstance(s, Signal) else self.load(s)
            elif isinstance(s, Barrier):
                self.lines += [f"{INDENT * self.depth}block_barrier()"] if self._waits else []
            elif not isinstance(s, Reserve):  # the compiler allocates and frees tensor memory
                self.put(f"# {s.line}" if filled is None else f"# {filled.line}, {s.line}")
                self._statement(s, filled)
            filled = None

    def _order(self, s: Order) -> None:
        """A statement that orders asynchronous instructions; a wait for warpgroups gives what they add to."""
        if s.word == "warpgroup_wait":
            if s.pending:
                fix = "write warpgroup_wait[0](), or use target 'cuda'"
                raise refused(s.line, "a wait that leaves products under way", "a wait for all of them", fix)
            for name in self._under_way:
                self.put(f"{name} = warpgroup_mma_wait(num_outstanding=0, deps=[{name}])")
            self._under_way = []
        else:
            self.ordered(s)

    def _either(self, s: Either) -> None:
        pairs = self.scalars([x for pair in s.asked for x in pair])
        self.put(f"if {' and '.join(f'{c} < {n}' for c, n in zip(pairs[::2], pairs[1::2]))}:")
        self._inside(s.inside)
        if s.otherwise:
            self.put("else:")
            self._inside(s.otherwise)

    def _inside(self, body: Sequence[Statement]) -> None:
        self.depth, before = self.depth + 1, len(self.lines)
        self.body(body)
        if all(x.lstrip().startswith("#") for x in self.lines[before:]):
            self.put("pass")
        self.depth -= 1

    def _is_one(self, s: Copy) -> bool:
        """Whether a copy, and what fills its target before, are one statement of the text."""
        sides = self.homes.sides[id(s)]
        return not isinstance(sides["target"], Argument) and not self._is_asynchronous(s)

    def _is_asynchronous(self, s: Statement) -> bool:
        """Whether a statement is an asynchronous copy to shared memory: loads of tensor memory Triton waits for."""
        return isinstance(s, Copy) and s.atom.asynchronous and isinstance(self.homes.sides[id(s)]["target"], Memory)

    def _is_unrolled(self, s: Loop) -> bool:
        """Whether the compiler unrolls a loop: of a number of steps, that choose columns of tensor memory."""
        sides = (x for t in statements_of(s.body) if isinstance(t, EACH) for x in self.homes.sides[id(t)].values())
        starts = [x.start for x in sides if isinstance(x, Columns)]
        return known(s.count) is not None and any(
            isinstance(x, SymInt) and str(s.step) in map(str, x.symbols) for x in starts
        )

    def _begin(self, body: Sequence[Statement]) -> None:
        """Zeros for the registers that statements of a loop write, and that are read before, or touched elsewhere."""
        inside = [*statements_of(body)]
        elsewhere = {x for s in self.statements if not any(s is t for t in inside) for x, _verb in self._touched(s)}
        written: set[Piece] = set()
        for s in inside:
            for piece, verb in self._touched(s):
                if piece not in written and (verb == "reads" or piece in elsewhere):
                    self._define(piece)
                written |= {piece} if verb == "writes" else set()
        self.stored |= {x.number for s in inside if isinstance(s, EACH) for x in self._targets(s)}

    def _targets(self, s: Statement) -> list[Memory]:
        """The parts of shared memory that a statement writes."""
        target = [*self.homes.sides[id(s)].values()][-1]
        return [target] if isinstance(target, Memory) else []

    def _touched(self, s: Statement) -> Iterator[tuple[Piece, str]]:
        """The registers that a statement reads, and those that it writes."""
        if id(s) not in self.homes.sides:
            return
        sides = self.homes.sides[id(s)]
        *_others, last = sides
        for name, x in sides.items():
            asks = isinstance(s, (Copy, Transform)) and self._asks(s)
            kept = name != last or isinstance(s, (Axpby, Product)) or asks
            if isinstance(x, Registers) and kept:
                yield x.piece, "reads"
        if isinstance(x := sides["D" if isinstance(s, Product) else last], Registers):
            yield x.piece, "writes"

    def _asks(self, s: Copy | Transform) -> bool:
        """Whether a statement leaves elements as they were: which a predicate says, or an argument's end."""
        return s.where is not None if isinstance(s, Copy) else bool([*self._pairs(s)])

    def _define(self, piece: Piece) -> None:
        """Zeros for registers that nothing was written to before: a name has a value in Python."""
        if piece in self.known:
            return
        tile = self.homes.tiles[piece]
        self.known.add(piece)
        those = (s for s in self.statements if isinstance(s, (*EACH, Product)))
        touched = (x.tensor for s in those for x in operands_of(s).values())
        kind = type_of(next(t for t in touched if id(t.data) == piece[0]))
        self.put(f"{self.name(piece)} = gl.zeros({[*tile.shape]}, {kind}, {self.layout_of(tile)})")

    def name(self, piece: Piece) -> str:
        """The name of registers."""
        return self.registers.setdefault(piece, f"r{len(self.registers)}")

    def _pairs(self, s: Statement) -> Iterator[tuple[Leaf, Leaf]]:
        """The comparisons of a statement that are not proved: of its predicate, or of the ends of arguments."""
        tile = self.homes.tile(s)
        asked: list[tuple[Argument, Sequence[Any]]] = []
        if isinstance(s, Copy) and s.where is not None:
            places = of_argument(self.program, s.line, "a predicate", s.where.coordinates)
            asked.append((places, [*leaves(s.where.bounds)]))
        elif not isinstance(s, Copy):
            for x in self.homes.sides[id(s)].values():
                if isinstance(x, Argument):
                    asked.append((x, [*leaves(self.program.arguments[x.name].layout.shape)]))
        for places, bounds in asked:
            for c, n in zip(self.coordinates(s.line, places, tile), bounds):
                if not is_less(c, n):
                    yield c, n

    def _access(self, s: Statement, tile: Tile) -> Any:
        """The text of each argument's pointers in a statement, and of its mask; None where all is inside."""
        sides = {k: x for k, x in self.homes.sides[id(s)].items() if isinstance(x, Argument)}
        pairs = [*self._pairs(s)]
        wanted = [self.offset(s.line, x, tile) for x in sides.values()]
        texts = self.scalars([*wanted, *(x for pair in pairs for x in pair)])
        offsets, compared = texts[: len(sides)], texts[len(sides) :]
        pointers = {}
        for (name, x), of, offset in zip(sides.items(), wanted, offsets):
            named = {*map(str, of.symbols)} if isinstance(of, SymInt) else set()
            whole = all(n == 1 or str(i) in named for i, n in zip(self.symbols(tile), tile.shape))
            more = "" if whole else f" + gl.zeros({[*tile.shape]}, gl.int32, {self.layout_of(tile)})"
            term = offset if re.fullmatch(r"\w+", offset) else f"({offset})"
            pointers[name] = x.name if offset == "0" and not more else f"{x.name} + {term}{more}"
        asked = dict.fromkeys(f"{c} < {n}" for c, n in zip(compared[::2], compared[1::2]))
        mask = " & ".join(f"({x})" if len(asked) > 1 else x for x in asked) or None
        if isinstance(s, Axpby):  # which loads and stores y
            pointers = {name: self.named(text) if name == "y" else text for name, text in pointers.items()}
        if mask and (isinstance(s, Axpby) or len(sides) > 1):
            mask = self.named(mask)
        return pointers, mask

    def _statement(self, s: Statement, filled: Fill | None) -> None:
        if isinstance(s, Product):
            self._product(s)
        elif isinstance(s, Shuffle):
            self._shuffle(s)
        elif isinstance(s, Transform) and _is_reduction([*self.homes.sides[id(s)].values()]):
            self._reduce(s)
        else:
            self._each(s, filled)

    def _each(self, s: Statement, filled: Fill | None) -> None:
        tile = self.homes.tile(s)
        pointers, mask = self._access(s, tile)
        sides, given = self.homes.sides[id(s)], operands_of(s)
        *sources, target = sides
        if isinstance(s, Copy) and self._is_asynchronous(s):
            view = self.view(s.line, sides["target"], tile)  # type: ignore[arg-type]
            if mask and not s.atom.fills_zeros:
                what = f"the copy {s.atom.name} under a predicate"
                raise refused(s.line, what, "zeros where it is false", "use ..._ZFILL")
            self.put(f"begin_copy({view}, {pointers['source']}{f', mask={mask}' if mask else ''})")
            return
        names = {}
        for name in [*sources, *([target] if isinstance(s, Axpby) and s.beta != 0 else [])]:
            if isinstance(x := sides[name], Argument):
                other = self._other(s, sides[target], tile, filled) if mask and isinstance(s, Copy) else None
                masked = f", mask={mask}{f', other={other}' if other else ''}" if mask else ""
                names[name] = f"gl.load({pointers[name]}{masked})"
            else:
                names[name] = self._read(s, x, tile)
        value = self._value(s, names, given, tile)
        if isinstance(x := sides[target], Argument):
            self.put(f"gl.store({pointers[target]}, {value}{f', mask={mask}' if mask else ''})")
            return
        kept = mask if not (isinstance(s, Copy) and isinstance(sides["source"], Argument)) else None
        before = self._other(s, x, tile, filled) if kept else None
        self._keep(s, x, f"gl.where({kept}, {value}, {before})" if before else value, tile)

    def _other(self, s: Statement, target: Side, tile: Tile, filled: Fill | None) -> Any:
        """The text of what a target has where a mask does not hold; None for anything."""
        if filled is not None:
            return self._number(filled.value, str(filled.target.tensor.dtype))
        if isinstance(target, Registers) and target.piece in self.known:
            return self.name(target.piece)
        if isinstance(target, Memory) and target.number in self.stored:
            view = self.view(s.line, target, tile)
            return f"{view}.load({self.layout_of(tile)})"
        return None

    def _read(self, s: Statement, x: Memory | Columns | Registers, tile: Tile) -> str:
        """The text of a tile that is read."""
        if isinstance(x, Columns):
            return self.columns(s.line, x, tile)
        if isinstance(x, Memory):
            view = self.view(s.line, x, tile)
            return f"{view}.load({self.layout_of(tile)})"
        self._define(x.piece)
        mine = self.homes.tiles[x.piece]
        if len(x.piece[1]) < count_of([*self.homes.sides[id(s)].values()]):
            if mine.whole is None or not mine.whole[0].same(tile):
                what = "registers that stand for those of another tile"
                raise refused(s.line, what, "one tile", "copy them to others")
            modes = ", ".join("None" if k in mine.whole[1] else ":" for k in range(len(tile.shape)))
            return f"{self.name(x.piece)}[{modes}]"
        self._require_same(s, x, tile)
        return self.name(x.piece)

    def _require_same(self, s: Statement, x: Registers, tile: Tile) -> None:
        """Refuse registers that are another tile than the statement's, or are held otherwise."""
        mine = self.homes.tiles[x.piece]
        slots = [x.piece[1].index(o) for o in x.at]
        if not mine.values(slots).same(tile) or self.layout_of(mine) != self.layout_of(tile):
            what = "registers that are one tile here and another elsewhere"
            fix = "copy through shared memory"
            raise refused(s.line, what, "one tile: registers do not change who holds them", fix)

    def _value(self, s: Statement, names: dict[str, str], given: dict[str, Access], tile: Tile) -> str:
        """The text of the value that a statement writes."""
        if isinstance(s, Fill):
            value = self._number(s.value, str(s.target.tensor.dtype))
            return f"gl.full({[*tile.shape]}, {value}, {type_of(s.target.tensor)}, {self.layout_of(tile)})"
        if isinstance(s, Copy):
            return _cast(names["source"], s.source.tensor, str(s.target.tensor.dtype))
        if isinstance(s, Axpby):
            if s.x.tensor.dtype != s.y.tensor.dtype:
                what = f"axpby of {s.x.tensor.dtype} to {s.y.tensor.dtype}"
                raise refused(s.line, what, "one type", "write transform, which converts")
            kind = str(s.y.tensor.dtype)
            wide = "float32" if kind in NARROW_FLOATS else kind
            a, b = (self._number(x, wide) for x in (s.alpha, s.beta))
            texts = {name: _cast(text, s.y.tensor, wide) for name, text in names.items()}
            made = first = f"{a} * {texts['x']}"
            if "y" in texts:
                made = f"{first} + {b} * {texts['y']}"
            if "y" in texts and isinstance(s.beta, Scalar):
                made = f"gl.where({s.beta.name} == 0, {first}, {made})"
            return made if wide == kind else f"({made}).to({TYPES[kind]})"
        import numpy as np

        assert isinstance(s, Transform)
        kind = "float64" if any(str(given[name].tensor.dtype) == "float64" for name in names) else "float32"
        operands = [_cast(names[name], given[name].tensor, kind) for name in names]
        operands = [x if re.fullmatch(r"[\w\[\]:, ]+", x) else self.named(x) for x in operands]
        if kind == "float64" and any(float(np.float32(x)) != x for x in numbers_of(s.value)):
            fix = "take numbers that float32 has, or another target"
            what = "a number of float64 among elements"
            raise refused(s.line, what, "one of float32, as Triton's constants are", fix)
        made = function_text(s.value, operands, self.named)
        sides = [*self.homes.sides[id(s)].values()]
        used = [x for k, x in enumerate(sides[:-1]) if k in operands_in(s.value)]
        if all(isinstance(x, Registers) and len(x.piece[1]) < count_of(sides) for x in used):
            everywhere = f"gl.full({[*tile.shape]}, True, gl.int1, {self.layout_of(tile)})"
            made = f"gl.where({everywhere}, {made}, 0.0)"
        to = str(s.target.tensor.dtype)
        return made if to == kind else f"({made}).to({TYPES[to]})"

    def _keep(self, s: Statement, x: Memory | Columns | Registers, value: str, tile: Tile) -> None:
        """Write a tile to shared memory or registers."""
        if isinstance(x, Columns):
            fix = "let products write it, or use target 'cuda'"
            raise refused(s.line, "a store to tensor memory", "a load of it", fix)
        if isinstance(x, Memory):
            self.stored.add(x.number)
            self.put(f"{self.view(s.line, x, tile)}.store({value})")
        else:
            self._require_same(s, x, tile)
            self.known.add(x.piece)
            self.put(f"{self.name(x.piece)} = {value}")

    def _reduce(self, s: Transform) -> None:
        """A reduction of what each thread has several of."""
        total, source, _target = self.homes.sides[id(s)].values()
        f, tile = s.value, self.homes.tile(s)
        is_known = f.op in REDUCTIONS and [x.op for x in f.args] == ["x", "x"]
        if not (is_known and isinstance(total, Registers) and isinstance(source, Registers)):
            expected = f"registers by {', '.join(f'numpy.{x}' for x in REDUCTIONS)}"
            raise refused(s.line, f"a reduction by {f}", expected, "use another function, or target")
        mine = self.homes.tiles[total.piece]
        if mine.whole is None or not mine.whole[0].same(tile):
            what = "a reduction of what several threads have"
            raise refused(s.line, what, "of a thread's own registers", "reduce, then shuffle_xor")
        self._require_same(s, source, tile)
        kind = str(s.target.tensor.dtype)
        wide = "float32" if kind in NARROW_FLOATS else kind
        text = _cast(self.name(source.piece), s.operands[1].tensor, wide)
        for axis in reversed(mine.whole[1]):
            text = f"{REDUCTIONS[f.op]}({text}, {axis})"
        self._define(total.piece)
        made = FUNCTIONS[f.op].format(_cast(self.name(total.piece), s.target.tensor, wide), text)
        made = made if wide == kind else f"({made}).to({TYPES[kind]})"
        self.put(f"{self.name(total.piece)} = {made}")

    def _shuffle(self, s: Shuffle) -> None:
        """A shuffle: along each mode of the tile in which the other thread's coordinate differs."""
        tile = self.homes.tile(s)
        source, target = self.homes.sides[id(s)].values()
        assert isinstance(source, Registers)
        assert isinstance(target, Registers)
        self._define(source.piece)
        self._require_same(s, source, tile)
        text = self.name(source.piece)
        for d, (at, i) in enumerate(zip(tile.at, self.symbols(tile))):
            change = int(at[s.mask, 0] ^ at[0, 0])
            if change:
                zeros = f"gl.zeros({[*tile.shape]}, gl.int32, {self.layout_of(tile)})"
                text = f"gl.gather({text}, ({i} ^ {change}) + {zeros}, {d})"
        self._require_same(s, target, tile)
        self.known.add(target.piece)
        self.put(f"{self.name(target.piece)} = {_cast(text, s.source.tensor, str(s.target.tensor.dtype))}")

    def _product(self, s: Product) -> None:
        sides, found = self.homes.sides[id(s)], self.homes.products[id(s)]
        texts, of_warpgroups = [], by_descriptors(s)
        for name, tile in (("A", found.a), ("B", found.b)):
            x = sides[name]
            if isinstance(x, Registers):
                self._define(x.piece)
                texts.append(self.name(x.piece))
            else:
                view = self.view(s.line, x, tile)  # type: ignore[arg-type]
                texts.append(view if of_warpgroups else f"{view}.load({self.layout_of(tile)})")
        c, d = sides["C"], sides["D"]
        assert isinstance(c, Registers)
        assert isinstance(d, Registers)
        self._define(c.piece)
        word = "mma_v2"
        if isinstance(found.c.layout, BlockedLayout):
            word = "gl.dot_fma"
            kind = str(s.operands["C"].tensor.dtype)
            texts = [_cast(text, s.operands[name].tensor, kind) for text, name in zip(texts, "AB")]
        if isinstance(found.c.layout, AMDMFMALayout):
            word = "mfma"
        self.known.add(d.piece)
        more = ", is_async=True" if of_warpgroups else ""
        if of_warpgroups:
            word, self._under_way = "warpgroup_mma", [*self._under_way, self.name(d.piece)]
        self.put(f"{self.name(d.piece)} = {word}({', '.join(texts)}, {self.name(c.piece)}{more})")

    def _number(self, x: int | float | Scalar, kind: str) -> str:
        """A number, or a scalar argument, as a value of an element type."""
        if isinstance(x, Scalar):
            return x.name if str(x.dtype) == kind else f"{x.name}.to({TYPES[kind]})"
        return literal(x) if "float" in kind else str(int(x))


def _is_reduction(sides: Sequence[Side]) -> bool:
    """Whether the first of a statement's operands, which is the last one too, has fewer elements than another."""
    first, *_others, last = sides
    both = isinstance(first, Registers) and isinstance(last, Registers) and first == last
    return both and count_of([first]) < count_of(sides)


def _is_read_and_written(program: Program) -> bool:
    """Whether some statement reads an argument that another one writes."""
    found: dict[tuple[str | None, str], set[int]] = {}
    for s in program.statements():
        for verb, access in accesses(s):
            found.setdefault((program.argument_of(access.tensor), verb), set()).add(id(s))
    names = {name for name, _verb in found if name is not None}
    both = ((found.get((name, "writes"), set()), found.get((name, "reads"), set())) for name in names)
    return any(writes and reads - writes for writes, reads in both)


def _cast(text: str, t: Tensor, kind: str) -> str:
    return text if str(t.dtype) == kind else f"{text}.to({TYPES[kind]})"
