"""Instructions of several threads on a CPU: what each lane has goes into a tile by the layouts of the atom, and comes out of it so.

Threads are a loop around each statement there, so an asynchronous copy has ended when it is stated, and a whole warp's registers are there
when its instruction is.

Source: CuTe's layouts of the atoms, (thread, value) -> element of the tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...core.int_tuple import leaves, size
from ...core.layout import Layout
from ...gpu.instructions.atom import CopyAtom, MMAAtom
from ...symbolic import index
from ..instructions import Instructions, Registers


class Lanes(Instructions):
    """Instructions in C. functions: those of the text that are called, by name.

    threads   the number of threads of a block
    values    writes integers: of expressions the lines that compute them, and their texts
    """

    def __init__(self, threads: int, values: Callable[[list[Any]], tuple[list[str], list[str]]]) -> None:
        super().__init__()
        self.threads, self.values, self.rows = threads, values, 0
        self.row_kind = ""
        self.forms: dict[str, list[Any]] = {}

    def has(self, atom: CopyAtom | MMAAtom | None) -> bool:
        """Whether it is one of any machine: what an instruction does is in its layouts."""
        return True

    def copied(self, atom: CopyAtom, source: str, target: str, width: int, condition: str) -> list[str]:
        copy = f"memcpy(&{target}, &{source}, {width});"
        if not condition:
            return [copy]
        return [f"if ({condition}) {copy}", *([f"else memset(&{target}, 0, {width});"] if atom.fills_zeros else [])]

    def commit(self) -> list[str]:
        return []

    def wait(self, pending: int) -> list[str]:
        return []

    def matrices(self, atom: CopyAtom, rows: list[str], targets: list[Registers]) -> Iterator[tuple[list[str], bool]]:
        kind, lanes = targets[0].kind, int(size(atom.thr_id))
        self.rows, self.row_kind = max(self.rows, len(rows)), kind
        yield [f"rows[{i}][tid] = &{row};" for i, row in enumerate(rows)], True
        calls = []
        for i, target in enumerate(targets):
            at = self._relative(target)
            name = self._named(atom.instruction.replace(".", "_"), (kind, at))
            if name not in self.functions:
                count = int(size(atom.val_src[1]))
                self.functions[name] = [
                    f"static inline void {name}(const {kind} *const *rows, {kind} *d, int d_each) {{",
                    f"    {kind} tile[{lanes * count}];",
                    *self._lanes(lanes, atom.val_src, [f"tile[{{}}] = rows[lane][{v}];" for v in range(count)]),
                    *self._lanes(lanes, atom.val_dst, [f"d[d_each * lane + {n}] = tile[{{}}];" for n in at]),
                    "}",
                ]
            calls.append(f"{name}(&rows[{i}][tid], &{target.name}[tid][{target.elements[0]}], {self._each(target)});")
        yield self._warps(lanes, calls), False

    def product(self, atom: MMAAtom, operands: list[dict[str, Registers]]) -> Iterator[tuple[list[str], bool]]:
        lanes = int(size(atom.thr_id))
        calls = [self._product(atom, lanes, given) for given in operands]
        yield self._warps(lanes, calls), False

    def _product(self, atom: MMAAtom, lanes: int, given: dict[str, Registers]) -> str:
        at = {x: self._relative(r) for x, r in given.items()}
        name = self._named(atom.instruction.replace(".", "_").replace("::", "_"), tuple((given[x].kind, at[x]) for x in "DABC"))
        if name not in self.functions:
            m, n, k = map(int, leaves(atom.shape_mnk))
            total = "double" if given["C"].kind == "double" else "int" if "int" in given["C"].kind else "float"
            parameters = ", ".join(f"{'' if x == 'D' else 'const '}{given[x].kind} *{x.lower()}, int {x.lower()}_each" for x in "DABC")
            tiles = [
                f"    {given['A'].kind} a_tile[{m * k}];",
                f"    {given['B'].kind} b_tile[{n * k}];",
                *self._lanes(lanes, atom.A, [f"a_tile[{{}}] = a[a_each * lane + {i}];" for i in at["A"]]),
                *self._lanes(lanes, atom.B, [f"b_tile[{{}}] = b[b_each * lane + {i}];" for i in at["B"]]),
            ]
            sums = [
                f"{{{{ const int at = {{}}; {total} sum = c[c_each * lane + {i}]; "
                f"for (int k = 0; k < {k}; ++k) sum += ({total})a_tile[at % {m} + {m} * k] * ({total})b_tile[at / {m} + {n} * k]; "
                f"d[d_each * lane + {j}] = ({given['D'].kind})sum; }}}}"
                for i, j in zip(at["C"], at["D"])
            ]
            self.functions[name] = [f"static inline void {name}({parameters}) {{", *tiles, *self._lanes(lanes, atom.C, sums), "}"]
        arguments = [f"&{r.name}[tid][{r.elements[0]}], {self._each(r)}" for r in (given[x] for x in "DABC")]
        return f"{name}({', '.join(arguments)});"

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
