"""Matrix products in blocks of sizes that are not known: one program for all sizes and all cores.

Source: CATLASS `BasicMatmulTla` with `BlockMmadTla`.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ...core.errors import RangeError, Unproven, require_type
from ...core.int_tuple import shown
from ...core.ints import IntLike, known
from ...core.leaf_arithmetic import ceil_div
from ...symbolic.conditions import Condition, assuming
from ..schedules import BlockSwizzle
from ..transfers.halves import SPLITS
from .activations import BESIDE
from .any_activations import ActivatedCore
from .any_names import CORE, CORES, around, facts_of, require_few, unit_of
from .any_order import MANY, Tiles, prove_order
from .any_paddings import AnyPaddings
from .any_sizes import AnyCore, buffers_of, conditions_of
from .any_text import ascendc
from .block import Plan
from .catlass import catlass_of
from .channels import channel_numbers
from .check import FEW_FRACTALS, check_program
from .dsl import dsl
from .matmul import MatmulBlock, executed, tensors_of
from .results import Report, together
from .scales import padded_scales
from .sparse import densified
from .statements import Buffer, Program
from .text import require_in, require_language
from .values import numbers_of
from .vector_cores import share

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class AnyMatmulBlock:
    """A matrix product in blocks for sizes that are names: `ascend.block(dims("M N K"), ...)` makes it.

    problem    (m, n, k): names, or numbers [elements]
    plan       matrices, tiles, buffers, and what is done with the result
    swizzle    how blocks are dealt to cores
    cores      how many there are where it is executed or checked: the text is for any number
    slices     of k, which are added in C
    made       gives the block of a problem whose sizes are numbers
    paddings   the matrices that vector cores lay out anew before (AnyPaddings), or None

    >>> from tla import dims
    >>> from tla.ascend import block
    >>> b = block(dims("M N K", at_most=2**16), (32, 32, 64), (32, 32, 32))
    >>> report = b.check()
    >>> report.holds, report.proved[0]
    (True, 'each transfer and Mmad, for all sizes of its tile: it moves the tile and nothing else, inside of its stage')

    Source: CATLASS `BasicMatmulTla`.
    """

    problem: tuple[Any, Any, Any]
    plan: Plan
    swizzle: BlockSwizzle
    cores: int
    slices: int
    made: Callable[[tuple[int, int, int]], MatmulBlock]
    paddings: AnyPaddings | None = None

    @property
    def buffers(self) -> Mapping[str, Buffer]:
        """The buffers of the core by name, with their addresses [bytes]: all stages of one side by side."""
        return buffers_of(self.plan)

    @functools.cached_property
    def _written(self) -> tuple[Program, tuple[Condition, ...]]:
        names = {str(n): n for n in self.problem if known(n) is None}
        made = AnyCore if self.plan.activation is None else ActivatedCore
        core = made(self.plan, self.problem, self.swizzle, self.slices)
        with assuming() as recorded:
            body = tuple(core.any_blocks())
        before = self.paddings
        tensors = {**tensors_of(self.plan, self.problem[1]), **({} if before is None else before.tensors)}
        buffers = {**dict(sorted(tensors.items(), key=lambda x: x[1].address)), **self.buffers}
        program = Program(self.plan.arch, buffers, body, {**names, "core": CORE, "cores": CORES})
        own = () if before is None else before.conditions
        return program, (*dict.fromkeys((*own, *conditions_of(core, recorded, names))),)

    @property
    def program(self) -> Program:
        """The program of every core: loops over its blocks and over k, by the names of sizes, `core` and `cores`."""
        return self._written[0]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions on sizes under which the program is right: a host has to ask those that facts do not imply."""
        return self._written[1]

    def at(self, values: Mapping[str, IntLike] = {}, **named: IntLike) -> MatmulBlock:
        """The block of a problem whose sizes have values.

        >>> from tla import dims
        >>> from tla.ascend import block
        >>> block(dims("M N K"), (32, 32, 64), (32, 32, 32)).at(M=40, N=50, K=70).problem
        (40, 50, 70)

        Raises RangeError for values that break a fact of a name, Unproven for a size without one.
        """
        require_type(values, Mapping, "at(...) of", "values by the names of sizes", "write at(M=100, N=200, K=300)")
        m, n, k = (x.at({**values, **named}) if known(x) is None else int(x) for x in self.problem)
        if left := [x for x in (m, n, k) if known(x) is None]:
            raise Unproven(f"the block of ({m},{n},{k})", "a value for each size", f"write at(..., {left[0]}=100)")
        given = {**values, **named}
        for c in self.conditions:
            if not c.at({str(s): int(given[str(s)]) for s in self.program.parameters.values() if str(s) in given}):
                raise RangeError(f"sizes for which it does not hold that {c}", str(c), "take other sizes")
        return self.made((m, n, k))

    def program_at(self, known_block: MatmulBlock, core: int) -> tuple[Program, dict[str, int]]:
        """The program with the tensors of a problem whose sizes are known, and the values of its names on a core."""
        sizes = {str(x): n for x, n in zip(self.problem, known_block.problem) if known(x) is None}
        program = replace(self.program, buffers={**self.program.buffers, **known_block.tensors})
        return program, {**sizes, "core": core, "cores": self.cores}

    def execute(
        self,
        a: npt.NDArray[Any],
        b: npt.NDArray[Any],
        bias: npt.NDArray[Any] | None = None,
        scale: npt.NDArray[Any] | None = None,
        before: npt.NDArray[Any] | None = None,
        scales: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = None,
    ) -> Any:
        """Execute the program of all cores on numpy arrays, every instruction as its fields say for their sizes; before:
        what C holds, of a block that adds slices of k to it; scales: of a block with scales, those of A and B.

        >>> import numpy as np
        >>> from tla import dims
        >>> from tla.ascend import block
        >>> x, y = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
        >>> block(dims("M N K"), (32, 32, 32), (32, 32, 16)).execute(x, y)
        array([[20., 23., 26., 29.],
               [56., 68., 80., 92.]], dtype=float16)

        Raises RangeError for arrays whose sizes do not go together, and what MatmulBlock.execute raises.
        """
        shapes = numbers_of("A", a).shape, numbers_of("B", b).shape
        if any(len(shape) != 2 for shape in shapes) or shapes[0][1] != shapes[1][0]:
            raise RangeError(f"arrays of {shapes[0]} and {shapes[1]}", "(m, k) and (k, n)", "give both matrices whole")
        block = self._block_of((shapes[0][0], shapes[1][1], shapes[0][1]))
        beside = padded_scales(block.problem, self.plan.scales, scales)
        beside |= channel_numbers(block.problem[1], self.plan.channels, scale)
        if self.plan.sparse:
            b, beside["index"] = densified(b, (block.problem[2], block.problem[1]))
        if self.paddings is not None and block.paddings is not None:
            block = replace(block, paddings=self.paddings.at(block.paddings))
        busy = [core for core, blocks in enumerate(block.schedule.table) if blocks]
        return executed(block, [self.program_at(block, core) for core in busy], a, b, bias, beside, before)

    def _block_of(self, sizes: tuple[int, int, int]) -> MatmulBlock:
        """The block of a problem of these sizes; RangeError where a number, or a name that stands twice, is another."""
        values: dict[str, int] = {}
        for x, n in zip(self.problem, sizes):
            if (known(x) if known(x) is not None else values.setdefault(str(x), n)) != n:
                what = f"sizes {sizes} for ({', '.join(map(str, self.problem))})"
                raise RangeError(what, "the same size for the same name", "give others")
        return self.at(values)

    def check(self) -> Report:
        """Check the program for all sizes: what is proved for all of them stands in `proved` of the report,
        word by word.

        That each transfer and Mmad is right was proved when the program was made. Flags and buffers are gone through in
        every state that any number of blocks and of tiles of k leads to. And for sizes of every class of tails (a tile
        or its tail alone, both, and of k every number of parts) the program is checked like any other: each element of
        C, and all memories.

        Raises Unproven where a transfer is not proved for all sizes.
        """
        proof = prove_order(self.program, [*self._kinds()], self._tiles())
        told = [self._known(require_few(sizes)) for sizes in self._classes()]
        before, laid = ((), Report((), (), {})) if self.paddings is None else self.paddings.check()
        wrong = (*proof.findings, *before)
        reports = [self._checked(b) for b in told if b is not None] if not wrong else []
        report = together([*reports, laid])
        if not (reports or wrong):
            what = f"a block of ({', '.join(map(str, self.problem))})"
            raise Unproven(what, "sizes that the facts of names allow", "give fewer facts")
        sizes = ", ".join(shown(b.problem) for b in told if b is not None)
        proved = (
            "each transfer and Mmad, for all sizes of its tile: it moves the tile and nothing else, inside of its "
            "stage",
            f"flags and stages, for any number of blocks and tiles of k: all {proof.states} states, by {proof.blocks} "
            "blocks",
            f"each element of C, and all of memory, for every class of tails: {sizes}",
        )
        findings, every = (*wrong, *report.findings), (*proved, *laid.proved)
        return Report(findings, report.notes, report.counts, every if not findings else (), self.conditions)

    def _checked(self, b: MatmulBlock) -> Report:
        """The report of the program for one problem."""
        for blocks in b.schedule.table:
            b.require_few(blocks)
        made = ((*self.program_at(b, core), b.results(blocks)) for core, blocks in enumerate(b.schedule.table))
        return together(check_program(program, results, values) for program, values, results in made)

    def _known(self, sizes: tuple[int, int, int]) -> MatmulBlock | None:
        """The block of a problem; None where facts of names do not allow it."""
        try:
            return self._block_of(sizes)
        except RangeError:
            return None

    def _kinds(self) -> Iterator[dict[str, int]]:
        """The sizes of blocks whose statements differ: those of few fractals, which facts may exclude, have a barrier between
        Mmads."""
        m, n, _ = self.plan.tiling.l1
        least = [math.gcd(t, unit_of(x)) for t, x in zip((m, n), self.problem)]
        rows, columns = least if min(least) >= 16 else (16, 16)
        extents = [(rows, columns)]
        if self.plan.split in SPLITS:  # of few rows or columns the second core has none
            extents.append((least[0], least[1]))
        if m // 16 * (n // 16) >= FEW_FRACTALS or self.plan.vectors:
            extents.append((m, n))
        # of slices the last has the end of k, whose parts are gone through; where k is a number, each that has a tile
        step, k = self.plan.tiling.l1[2], known(self.problem[2])
        cuts = range(self.slices)[-1:] if k is None else range(min(self.slices, -(-k // step)))
        for (high, wide), cut in itertools.product(dict.fromkeys(extents), cuts):
            yield {"tileM": high, "tileN": wide, "rowsM": high, "slice": cut}

    def _tiles(self) -> dict[str, Tiles]:
        """The numbers of tiles of a block, of k and of each vector core, by the variables of loops."""
        found, of = {"kTile": self._tiles_of_k()}, self.plan.activation
        if of is not None:
            (m, n), (rows, columns) = share(self.plan, *self.plan.tiling.l1[:2], 0)[1], of.tile
            step = BESIDE if self.plan.split is None else 1
            most = ceil_div(ceil_div(m, rows) * ceil_div(n, columns), step)
            tiles = Tiles(0, int(most), 1, lambda turns: [dict.fromkeys(("ubTiles0", "ubTiles1"), step * turns)])
            found |= dict.fromkeys(("ubTurn0", "ubTurn1"), tiles)
        return found

    def _tiles_of_k(self) -> Tiles:
        """The numbers of tiles of k of a block, by what is known of its size; of a slice any number of them."""
        (_, _, step), k = self.plan.tiling.l1, self.problem[2]
        if self.slices > 1 and known(k) is None:
            return Tiles(1, MANY, 1, lambda tiles: self._ends(tiles * self.slices))
        if self.slices > 1:
            return Tiles(1, 1, 1, lambda _tiles: self._ends(1))
        low, high, unit = facts_of(k)
        fewest, period = -(-low // step), math.lcm(unit, step) // step
        if period > MANY:
            what = f"a block whose tiles of k repeat after {period}: {k} is a multiple of {unit}"
            raise RangeError(what, f"at most {MANY}", f'declare {k} without it: dim("{k}")')
        most = fewest + MANY if high is None else min(fewest + MANY, -(-high // step))
        return Tiles(fewest, most, period, self._depths)

    def _ends(self, tiles: int) -> list[dict[str, int]]:
        """The sizes of problems of so many tiles of k, for every number of parts of the last."""
        (_, _, step), (_, _, deep), k = self.plan.tiling.l1, self.plan.tiling.l0, self.problem[2]
        rest = {str(x): 1 for x in self.problem[:2] if known(x) is None}
        if known(k) is not None:
            return [rest]
        return [{**rest, str(k): end} for end in range((tiles - 1) * step + deep, tiles * step + 1, deep)]

    def _depths(self, tiles: int) -> list[dict[str, int]]:
        """The sizes of problems of so many tiles of k, for every number of parts of the last that facts allow."""
        (_, _, step), (_, _, deep), k = self.plan.tiling.l1, self.plan.tiling.l0, self.problem[2]
        rest = {str(x): 1 for x in self.problem[:2] if known(x) is None}
        low, high, unit = facts_of(k)
        found = []
        for end in range((tiles - 1) * step + deep, tiles * step + 1, deep):
            size = min(end, end if high is None else high) // unit * unit
            if size > end - deep and size >= low:
                found.append({**rest, **({str(k): size} if known(k) is None else {})})
        return found

    def _classes(self) -> list[tuple[int, int, int]]:
        """Sizes of every class of tails.

        Of m and n a tile, less than one (one row too), and both, and of tiles of vector cores a whole one and less; of k
        every number of parts, the last of them whole or not, in one tile of L1 and behind two whole ones. A name that
        stands twice has what any of its places asks for.
        """
        (m, n, k), (_, _, deep) = self.plan.tiling.l1, self.plan.tiling.l0
        inside = self._ends_of_vector_tiles()
        near = (m + 5, 1, m, *inside[0]), (7, n, n + 9, *inside[1])
        rows, columns = map(around, self.problem, near)
        parts = [size for part in range(0, k, deep) for size in (part + deep, part + deep // 2 + 1)]
        cut = [self.slices * k - n for n in (k, 1, 0)] if self.slices > 1 else []
        depths = around(self.problem[2], [*parts, k + 1, *(2 * k + size for size in parts[:2]), *cut])
        count = max(len(rows) * len(columns), len(depths))
        pairs = itertools.islice(itertools.cycle(itertools.product(rows, columns)), count)
        found = ((*pair, depth) for pair, depth in zip(pairs, itertools.cycle(depths)))
        return [*dict.fromkeys(same for sizes in found for same in self._by_name(sizes))]

    def _ends_of_vector_tiles(self) -> tuple[list[int], list[int]]:
        """Sizes of blocks, rows and columns, with a whole tile of a vector core and less than one; of two shares the first
        with more tiles."""
        of, split = self.plan.activation, self.plan.split
        if of is None:
            return [], []
        mode = SPLITS[split][0] if split in SPLITS else None
        part = share(self.plan, *self.plan.tiling.l1[:2], 0)[1]
        sizes = [2 * size + 1 if i == mode else size + size // 2 + 1 for i, size in enumerate(of.tile)]
        rows, columns = ([n] if tile < whole else [] for n, tile, whole in zip(sizes, of.tile, part))
        return rows, columns

    def _by_name(self, sizes: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
        """These sizes, with one for each name: that of the first place, but of each place once its own."""
        names = [str(x) for x in self.problem]
        first = dict(zip(names[::-1], sizes[::-1]))
        for name, size in zip(names, sizes):
            m, n, k = ({**first, name: size}[x] for x in names)
            yield m, n, k

    def text(self, language: str = "ascendc", name: str = "kernel_main") -> str:
        """The kernel as text, for problems of any size on any number of cores.

        language   "ascendc": every statement, in its loops, with the names of sizes as parameters; "catlass": the types
                   of BasicMatmulTla; "dsl": CATLASS's Python DSL, for Ascend950
        name       of the kernel
        Raises     LeafTypeError for what CATLASS's kernel or DSL does not compute, and for types without a name;
                   RangeError for another language

        >>> from tla import dims
        >>> from tla.ascend import block
        >>> b = block(dims("M N K"), (64, 64, 64), (64, 64, 32))
        >>> [line.strip() for line in b.text().splitlines() if "kTile" in line][:1]
        ['for (int64_t kTile = 0; kTile < tiles; ++kTile) {']

        Source: AscendC; CATLASS examples/13_basic_matmul_tla.
        """
        require_language(language, name)
        require_in(language, self.plan)
        proved = f"proved by tla for ({', '.join(map(str, self.problem))}) on any number of cores"
        if language == "catlass":
            return catlass_of(self.plan, repr(self.swizzle), proved, name)
        if language == "dsl":
            return dsl(self.plan, self.swizzle, proved, name, self.slices)
        before = None if self.paddings is None else self.paddings.program
        return ascendc(self.plan, self.program, self.conditions, repr(self.swizzle), name, before)
