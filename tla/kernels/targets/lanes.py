"""Instructions of several threads on a CPU: what each lane has goes into a tile by the layouts of the atom,
and comes out of it so.

Threads are a loop around each statement there, so an asynchronous copy has ended when it is stated, and a whole warp's
registers are there when its instruction is.

Source: CuTe's layouts of the atoms, (thread, value) -> element of the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.int_tuple import leaves, size
from ...core.layout import Layout
from ...core.leaf_arithmetic import add
from ...gpu.instructions.arithmetic import PLAIN
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...symbolic import index
from ..block.allocation import place_of
from ..program.instructions import Cells, Instructions, MovedTile, Part, Registers, Tile, lanes_and_rows, stores_rows
from . import vectors


class Lanes(Instructions):
    """Instructions in C. functions: those of the text that are called, by name.

    threads   the number of threads of a block, and `blocks` that of blocks of a cluster
    values    writes integers: of expressions the lines that compute them, and their texts
    converted writes an element of a type, or what is computed of one, in another type
    """

    def __init__(
        self,
        threads: int,
        blocks: int,
        values: Callable[[list[Any]], tuple[list[str], list[str]]],
        converted: Callable[[str, str, str], str],
    ) -> None:
        super().__init__()
        self.converted = converted
        self.has_addresses = False
        self.threads, self.blocks, self.values, self.rows = threads, blocks, values, 0
        self.forms: dict[str, list[Any]] = {}

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is one of any machine that adds plain products: what an instruction does is in its layouts."""
        return not isinstance(atom, MMAAtom) or atom.arithmetic == PLAIN

    def require(self, condition: str) -> str:
        return f"assert({condition});"

    def copied(self, atom: CopyAtom, source: str, target: str, width: int, condition: str) -> list[str]:
        copy = f"memcpy(&{target}, &{source}, {width});"
        if not condition:
            return [copy]
        return [f"if ({condition}) {copy}", *([f"else memset(&{target}, 0, {width});"] if atom.fills_zeros else [])]

    def order(self, word: str, pending: int, accumulators: list[Registers]) -> list[str]:
        return []

    def signal(self, word: str, barrier: str, count: int, number: str, mask: str) -> tuple[list[str], bool]:
        return [], False

    def reserve(self, word: str, name: str, address: str, columns: int, sms: int) -> list[str]:
        return []

    def cells(self, atom: CopyAtom, cells: list[Cells], held: list[Registers]) -> tuple[list[str], bool]:
        thread, count = index("tid", self.threads), len(held[0].elements)
        elements = [atom.val_dst(thread % int(size(atom.thr_id)), v) for v in range(count)]
        places = [place_of(part.element(x)) for part in cells for x in elements]
        before, texts = self.values(places)
        names = [f"{own.name}[tid][{n}]" for own in held for n in own.elements]
        return [*before, *(f"{to} = {cells[0].name}[{at}];" for to, at in zip(names, texts))], True

    def sums(
        self, atom: MMAAtom, tiles: list[dict[str, Tile]], cells: list[Cells], accumulates: str
    ) -> tuple[list[str], bool]:
        if int(size(atom.thr_id)) > 1:
            return self._sums_of_pairs(atom, tiles, cells, accumulates), False
        m, n, k = map(int, leaves(atom.shape_mnk))
        total = "int" if atom.kind == "i8" else "float"
        given = {"0": "0", "1": "{}"}.get(accumulates, f"{accumulates} ? {{}} : 0")
        lines = []
        for read, part in zip(tiles, cells):
            before, (place,) = self.values([place_of(part.element(index("lane", m * n)))])
            product = f"a_tile[lane % {m} + {m} * k] * b_tile[lane / {m} + {n} * k]"
            body = [
                *(line.replace("{int}", "int") for line in before),
                f"{total} sum = {given.format(f'{part.name}[{place}]')};",
                f"for (int k = 0; k < {k}; ++k) sum += {product};",
                f"{part.name}[{place}] = sum;",
            ]
            gathered = [line for x, tile in read.items() for line in self._gathered(f"{x.lower()}_tile", tile, total)]
            loop = [f"for (int lane = 0; lane < {m * n}; ++lane) {{", *(f"    {x}" for x in body), "}"]
            lines += ["{", *(f"    {x}" for x in (*gathered, *loop)), "}"]
        return lines, False

    def _sums_of_pairs(
        self, atom: MMAAtom, tiles: list[dict[str, Tile]], cells: list[Cells], accumulates: str
    ) -> list[str]:
        """The lines of products of two blocks of a cluster: each has its part of the operands and sums at one place."""
        m, n, k = map(int, leaves(atom.shape_mnk))
        block, total = index("to_cta", 2), "int" if atom.kind == "i8" else "float"
        given, lines = {"0": "0", "1": "{}"}.get(accumulates, f"{accumulates} ? {{}} : 0"), []
        for read, part in zip(tiles, cells):
            body = []
            for x, tile in read.items():
                name, own, count = f"{x.lower()}_tile", tile.tensor, int(size(tile.tensor.shape))
                lane = index("lane", count)
                before, (place, at) = self.values([add(own.offset, own.layout(lane)), atom.operand(x)(block, lane)])
                element = self.converted(f"all_{tile.name}[cta + to_cta][{place}]", tile.kind, total)
                line = f"{name}[{at}] = {element};"
                body += [f"{total} {name}[{2 * count}];", *_of_both(count, [*before, line])]
            lane = index("lane", m * n // 2)
            before, (place, at) = self.values([place_of(part.element(lane)), atom.C(block, lane)])
            cell = f"all_{part.name}[cta + to_cta][{place}]"
            product = f"a_tile[lane_at % {m} + {m} * k] * b_tile[lane_at / {m} + {n} * k]"
            sums = [f"const int lane_at = {at};", f"{total} sum = {given.format(cell)};"]
            sums += [f"for (int k = 0; k < {k}; ++k) sum += {product};", f"{cell} = sum;"]
            body += _of_both(m * n // 2, [*before, *sums])
            lines += ["{", *(f"    {x}" for x in body), "}"]
        return lines

    def move(self, tile: MovedTile) -> tuple[list[str], bool]:
        x = tile.element(index("lane", tile.size))
        shifts = [] if tile.mask is None else tile.mask.shifts
        asked = [side for pair in x.inside for side in pair]
        before, (held, at, *texts) = self.values([x.shared, x.outside, *asked, *shifts])
        sides = texts[: 2 * len(x.inside)]
        inside = " && ".join(f"{c} < {n}" for c, n in zip(sides[::2], sides[1::2]))
        shared, outside = f"{tile.arrays[0]}[{held}]", f"{tile.arrays[1]}[{at}]"
        line = f"if ({inside}) {outside} = {shared};"
        if tile.barrier is not None:
            line = f"{shared} = {inside} ? {outside} : {tile.zero};"
        if tile.mask is not None:
            mask = tile.mask.text(texts[len(sides) :])
            line = f"all_{tile.arrays[0]}[to_cta][{held}] = {inside} ? {outside} : {tile.zero};"
            line = f"for (int to_cta = 0; to_cta < {self.blocks}; ++to_cta) if (({mask}) >> to_cta & 1) {line}"
        body = [f"    {x}" for x in (*before, line)]
        return [f"for (int lane = 0; lane < {tile.size}; ++lane) {{", *body, "}"], False

    def matrices(self, atom: CopyAtom, rows: list[str], held: list[Registers]) -> Iterator[tuple[list[str], bool]]:
        kind, lanes, (own, of_row) = held[0].kind, int(size(atom.thr_id)), lanes_and_rows(atom)
        self.rows = max(self.rows, len(rows))
        yield [f"rows[{i}][tid] = (void *)&{row};" for i, row in enumerate(rows)], True
        calls = []
        for i, x in enumerate(held):
            at = self._relative(x)
            name = self._named(atom.instruction.replace(".", "_"), (kind, at))
            if name not in self.functions:
                count = int(size(of_row[1]))
                in_rows = [(f"(({kind} *)rows[lane])[{v}]", of_row) for v in range(count)]
                sides = in_rows, [(f"d[d_each * lane + {n}]", own) for n in at]
                gathered, given = reversed(sides) if stores_rows(atom) else sides
                self.functions[name] = [
                    f"static inline void {name}(void *const *rows, {kind} *d, int d_each) {{",
                    f"    {kind} tile[{lanes * count}];",
                    *self._lanes(lanes, gathered[0][1], [f"tile[{{}}] = {place};" for place, _layout in gathered]),
                    *self._lanes(lanes, given[0][1], [f"{place} = tile[{{}}];" for place, _layout in given]),
                    "}",
                ]
            calls.append(f"{name}(&rows[{i}][tid], &{x.name}[tid][{x.elements[0]}], {self._each(x)});")
        yield self._warps(lanes, calls), False

    def product(
        self, atom: MMAAtom, operands: list[dict[str, Registers]], tiles: list[dict[str, Tile]]
    ) -> Iterator[tuple[list[str], bool]]:
        lanes = int(size(atom.thr_id))
        calls = [line for given, read in zip(operands, tiles) for line in self._product(atom, lanes, given, read)]
        yield self._warps(lanes, calls), False

    def _product(self, atom: MMAAtom, lanes: int, given: dict[str, Registers], read: dict[str, Tile]) -> list[str]:
        """The lines of one product; tiles of shared memory are gathered before."""
        kinds, at = {x: r.kind for x, r in (given | read).items()}, {x: self._relative(r) for x, r in given.items()}
        total = "double" if kinds["C"] == "double" else "int" if "int" in kinds["C"] else "float"
        word = atom.instruction.replace(".", "_").replace("::", "_")
        name = self._named(word, tuple((kinds[x], at.get(x)) for x in "DABC"))
        if name not in self.functions:
            m, n, k = map(int, leaves(atom.shape_mnk))
            types = kinds | dict.fromkeys(read, total)
            of = {x: f"{'' if x == 'D' else 'const '}{types[x]} *{x.lower()}" for x in "DABC"}
            parameters = ", ".join(f"{of[x]}_tile" if x in read else f"{of[x]}, int {x.lower()}_each" for x in "DABC")
            tiles = []
            for x, own, extent, layout in ("A", "a", m * k, atom.A), ("B", "b", n * k, atom.B):
                if x in given:
                    tiles += [f"    {total} {own}_tile[{extent}];"]
                    elements = [self.converted(f"{own}[{own}_each * lane + {i}]", kinds[x], total) for i in at[x]]
                    moved = [f"{own}_tile[{{}}] = {element};" for element in elements]
                    tiles += self._lanes(lanes, layout, moved)
            product = f"a_tile[at % {m} + {m} * k] * b_tile[at / {m} + {n} * k]"
            made = self.converted("sum", total, kinds["D"])
            firsts = [self.converted(f"c[c_each * lane + {i}]", kinds["C"], total) for i in at["C"]]
            sums = [
                f"{{{{ const int at = {{}}; {total} sum = {first}; "
                f"for (int k = 0; k < {k}; ++k) sum += {product}; d[d_each * lane + {j}] = {made}; }}}}"
                for first, j in zip(firsts, at["D"])
            ]
            head = f"static inline void {name}({parameters}) {{"
            self.functions[name] = [head, *tiles, *self._lanes(lanes, atom.C, sums), "}"]
        arguments = {x: f"&{r.name}[tid][{r.elements[0]}], {self._each(r)}" for x, r in given.items()}
        call = f"{name}({', '.join(arguments.get(x, f'{x.lower()}_tile') for x in 'DABC')});"
        gathered = [line for x, tile in read.items() for line in self._gathered(f"{x.lower()}_tile", tile, total)]
        return ["{", *(f"    {line}" for line in (*gathered, call)), "}"] if gathered else [call]

    def by_vectors(self, atom: MMAAtom, extents: tuple[int, int, int], parts: dict[str, Part]) -> list[str]:
        form = vectors.Form(atom, extents, parts)
        name = self._named(atom.instruction.replace(".", "_"), form.key)
        if name not in self.functions:
            self.functions[form.type_name] = [form.type_definition]
            self.functions[name] = form.function(name)
        return [f"{name}({', '.join(f'&{parts[x].place}' for x in form.names)});"]

    def _gathered(self, name: str, tile: Tile, total: str) -> list[str]:
        """The lines that make an array of a tile in shared memory, in the type of the sums."""
        count = int(size(tile.tensor.shape))
        before, (place,) = self.values([add(tile.tensor.offset, tile.tensor.layout(index("lane", count)))])
        element = self.converted(f"{tile.name}[{place}]", tile.kind, total)
        body = [*(line.replace("{int}", "int") for line in before), f"{name}[lane] = {element};"]
        loop = [f"for (int lane = 0; lane < {count}; ++lane) {{", *(f"    {x}" for x in body), "}"]
        return [f"{total} {name}[{count}];", *loop]

    def _lanes(self, lanes: int, layout: Layout, lines: list[str]) -> list[str]:
        """The loop over the lanes of lines, each for a value, with the place of it in the tile."""
        lane = index("lane", lanes)
        before, places = self.values([layout(lane, v) for v in range(len(lines))])
        body = [*before, *(line.format(place) for line, place in zip(lines, places))]
        return [f"    for (int lane = 0; lane < {lanes}; ++lane) {{", *(f"        {x}" for x in body), "    }"]

    def _warps(self, lanes: int, calls: list[str]) -> list[str]:
        return [f"for (int tid = 0; tid < {self.threads}; tid += {lanes}) {{", *(f"    {x}" for x in calls), "}"]

    def _named(self, name: str, form: Any) -> str:
        """The name of an instruction's function; registers in another order have another one."""
        forms = self.forms.setdefault(name, [])
        if form not in forms:
            forms.append(form)
        number = forms.index(form)
        return f"{name}_{number}" if number else name

    @staticmethod
    def _relative(x: Registers) -> tuple[int, ...]:
        return tuple(n - x.elements[0] for n in x.elements)

    @staticmethod
    def _each(x: Registers) -> str:
        """The elements from a thread's registers to the next thread's."""
        return f"(int)(sizeof {x.name}[0] / sizeof {x.name}[0][0])"


def _of_both(count: int, body: list[str]) -> list[str]:
    """Lines in loops over the blocks of a pair, and over the elements of each."""
    inner = [line.replace("{int}", "int") for line in body]
    lanes = f"for (int lane = 0; lane < {count}; ++lane) {{"
    return ["for (int to_cta = 0; to_cta < 2; ++to_cta)", lanes, *(f"    {x}" for x in inner), "}"]
