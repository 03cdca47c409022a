"""A kernel: a Python function of tensors, run for every block of a grid.

Source: CuTe's kernels, and CUDA's launch of them.
"""

from __future__ import annotations

import copy
import functools
import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..core.errors import LeafTypeError, RangeError, RankError, TlaError
from ..core.int_tuple import shown
from ..core.ints import is_int, known
from ..tensors import packed
from ..tensors.make_tensor import MakeTensor
from ..tensors.tensor import Tensor, tensor_of
from .block.lines import line_of
from .checks.beside import Beside
from .checks.report import Report
from .checks.watch import Watch
from .program.elements import Scalar
from .program.grids import cluster_of, clusters_of, require_whole_clusters
from .program.statements import Program
from .proofs.apart import no_strides_of_0
from .proofs.bounds import not_inside
from .proofs.race_freedom import not_apart, why_not_free
from .proofs.samples import arguments_at, small_sizes
from .run.launch import Launch, run_block
from .run.trace import traced
from .targets import require_target, require_types, source_of
from .text.source import Source
from .words.cluster import run_together

#: The most threads of a block. Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MOST_THREADS = 1024
#: The most registers of a thread. Source: the same table.
MOST_REGISTERS = 255

Grid = Sequence[int] | Callable[..., Sequence[int]]


class Kernel:
    """A function that the threads of each block execute. `@kernel(threads=...)` makes one.

    function   the Python function; its parameters are tensors, sizes and scalars
    threads    the number of threads of a block
    grid       the number of blocks along each mode, or a function of the arguments that gives it
    registers  the most registers that CUDA's compiler may give a thread; None for as many as there are
    cluster    the blocks of a cluster along each mode; none without clusters

    >>> from tla.kernels import block, kernel
    >>> @kernel(threads=32, grid=(3,))
    ... def printed():
    ...     print("block", block(0))
    >>> printed.run(), printed
    block 0
    block 1
    block 2
    (None, Kernel(printed, threads=32))

    Source: CUDA's launch, `<<<grid, block>>>`.
    """

    def __init__(
        self,
        function: Callable[..., None],
        threads: int,
        grid: Grid,
        registers: int | None = None,
        cluster: tuple[int, ...] = (),
    ) -> None:
        self.function, self.threads, self.grid = function, threads, grid
        self.registers, self.cluster = registers, cluster
        self.__name__, self.__doc__, self.__module__ = function.__name__, function.__doc__, function.__module__

    def __repr__(self) -> str:
        return f"Kernel({self.__name__}, threads={self.threads})"

    def run(self, *arguments: Any) -> None:
        """Run every block on numpy, one after the other, each with all of its threads at once.

        arguments   numpy arrays, which are written in place; tensors; sizes and scalars
        Raises      RangeError for an access past the end that no predicate guards, and for a grid that is none; what
                    the statements raise

        >>> import numpy as np
        >>> from tla import local_tile, parse, _4
        >>> from tla.kernels import block, copy, kernel, local_partition, thread
        >>> @kernel(threads=4, grid=lambda a, b: (a.shape[0] // 4,))
        ... def reversed_blocks(a, b):
        ...     source, target = local_tile(a, (_4,), (block(0),)), local_tile(b, (_4,), (1 - block(0),))
        ...     copy(*(local_partition(x, parse("_4:_1"), thread()) for x in (source, target)))
        >>> b = np.zeros(8, int)
        >>> reversed_blocks.run(np.arange(8), b)
        >>> b.tolist()
        [4, 5, 6, 7, 0, 1, 2, 3]

        Source: ours.
        """
        self._launch(arguments, None)

    def check(self, *arguments: Any, arch: str | None = None) -> Report:
        """Look at every access of every thread: whether it can be made, what it costs, and with what it races; buffers
        are not written.

        arguments   as run takes them: then it is of their sizes. Or as program takes them: then every access is proved
                    to be inside of its tensor for all sizes, or is among `.bounds`; the rest is of small sizes, which
                    the report names
        arch        "sm_80", "gfx942": the banks that are counted, and what a block may take of shared
                    memory and registers
        Returns     a Report: `.holds`, and the rows `.races`, `.bounds`, `.conflicts`, `.resources`, each with its line
        Raises      what program raises; what run raises is a row, with its line

        >>> import numpy as np
        >>> from tla import parse
        >>> from tla.kernels import copy, kernel, local_partition, shared, thread
        >>> @kernel(threads=4)
        ... def rotated(a, b):
        ...     t, smem = thread(), shared(a.dtype, parse("_4:_1"))
        ...     copy(local_partition(a, parse("_4:_1"), t), local_partition(smem, parse("_4:_1"), t))
        ...     copy(local_partition(smem, parse("_4:_1"), (t + 1) % 4), local_partition(b, parse("_4:_1"), t))
        >>> report = rotated.check(np.arange(4), np.zeros(4, int))
        >>> print(*report.races)  # doctest: +ELLIPSIS
        <doctest ...>:5: thread 0 reads element 1 of shared memory, which thread 1 writes at <doctest ...>:4: no barrier between
        >>> print(report.conflicts[0])  # doctest: +ELLIPSIS
        <doctest ...>:4  reads global memory  1 of 64 bits  1 sectors, 1 at least

        Source: ours.
        """
        if any(map(_is_open, arguments)):
            return self._checked(self.program(*arguments), arch, counting=True)
        return self._watched(tuple(map(_copied, arguments)), arch, counting=True)

    def program(self, *arguments: Any) -> Program:
        """The kernel as data: its statements, with symbols for blocks, threads and steps of loops.

        arguments   for each parameter a tensor (`tensor(np.float32, layout)` of sizes that may be symbols), an array, a
                    size, or a type of numpy for a scalar
        Returns     a Program
        Raises      what the statements raise; Unproven where Python asks for the value of a symbol, as `if k < 2:`
                    does: a kernel has no such conditions

        >>> import numpy as np
        >>> from tla import dim, make_layout, parse, _1, ceil_div, elem_less, local_tile, make_identity_tensor
        >>> from tla.kernels import block, copy_if, kernel, local_partition, tensor, thread
        >>> @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape, 64),))
        ... def copied(a, b):
        ...     t = parse("_32:_1")
        ...     x, y, at = (local_partition(local_tile(t0, 64, block(0)), t, thread()) for t0 in (a, b, make_identity_tensor(a.shape)))
        ...     copy_if(elem_less(at, a.shape), x, y)
        >>> N = dim("N")
        >>> program = copied.program(*2 * [tensor(np.float32, make_layout(N, stride=_1))])
        >>> [type(s).__name__ for s in program.body], program.body[0].source.tensor.offset
        (['Copy'], parse('tid+64*bid0', symbols=[index('bid0', below=parse('ceil(N/64)', symbols=[dim('N')])), index('tid', below=32)]))

        Source: ours.
        """
        names = self._parameters(arguments)
        made = traced(self.function, names, arguments, self.threads, self.grid, self.cluster, run_block)
        conditions = tuple(dict.fromkeys((*made.conditions, *no_strides_of_0(made))))
        return replace(made, registers=self.registers, conditions=conditions)

    def source(
        self,
        target: str,
        *arguments: Any,
        arch: str | None = None,
        name: str = "kernel_main",
        parameters: str | Sequence[str] | None = None,
    ) -> Source:
        """The whole kernel as text; every access of global and shared memory is proved to be inside of
        its tensor before.

        target       "c", "cuda", "hip" or "gluon"
        arguments    as program takes them
        arch         the architecture that it is for, "sm_80" or "gfx942", which is asked for each instruction
        name         the name of the text's function
        parameters   the names of its parameters in order, arguments' and sizes': "m n A ldA"; by default the arguments
                     in their order, then sizes
        Returns      Source: `.text`, `.grid`, `.block`, `.shared_bytes`, `.conditions`
        Raises       RangeError for an access that is not proved to be inside, with its line; for races of the kernel at
                     the small sizes at which it is checked; LeafTypeError for instructions and types that the text has
                     not; what program raises

        >>> import numpy as np
        >>> from tla import dim, make_layout, parse, _1, ceil_div, elem_less, local_tile, make_identity_tensor
        >>> from tla.kernels import block, copy_if, kernel, local_partition, tensor, thread
        >>> @kernel(threads=32, grid=lambda a, b: (ceil_div(a.shape, 64),))
        ... def copied(a, b):
        ...     t = parse("_32:_1")
        ...     x, y, at = (local_partition(local_tile(t0, 64, block(0)), t, thread()) for t0 in (a, b, make_identity_tensor(a.shape)))
        ...     copy_if(elem_less(at, a.shape), x, y)
        >>> N = dim("N", at_most=2**20)
        >>> source = copied.source("cuda", *2 * [tensor(np.float32, make_layout(N, stride=_1))])
        >>> [line.strip() for line in source.text.splitlines() if "] = a[" in line]
        ['if (e0 < N) b[e0] = a[e0];', 'if (e2 < N) b[e0 + 32] = a[e0 + 32];']

        Source: ours.
        """
        require_target(target, arch)
        program = self.program(*arguments)
        require_types(program, target, arch)
        report = self._checked(program, arch, counting=False)
        self._require(report)
        looked = f"; races were looked for at {report.at}, and none was found"
        if report.proved:
            looked = ", and no threads to race"
        checked = f"Accesses are proved to be inside of their tensors for all sizes{looked}."
        return source_of(program, target, name, parameters, checked)

    def _checked(self, program: Program, arch: str | None, *, counting: bool) -> Report:
        """A program's accesses proved for all sizes, and the kernel watched at small ones that meet the facts."""
        refused, values = (*not_inside(program), *not_apart(program)), small_sizes(program)
        if refused:
            return Report((), refused, (), (), (), (), 0, self.threads)
        report = self._watched(arguments_at(program, values), arch, counting=counting)
        return report._replace(sizes=tuple(values.items()), unproved=why_not_free(program))

    def _watched(self, arguments: tuple[Any, ...], arch: str | None, *, counting: bool) -> Report:
        watch = Watch(self.threads, arch, counting=counting)
        blocks = self._launch(arguments, watch)
        races, unwritten = tuple(watch.findings.races), tuple(watch.findings.unwritten.values())
        rows = (races, tuple(watch.refused.values()), watch.counted, watch.used, watch.idle, unwritten)
        return Report(*rows, blocks, self.threads)

    def _require(self, report: Report) -> None:
        """RangeError for the first thing that a report refuses."""
        for refused in report.bounds:
            raise refused.at_its_line
        for race in report.races:
            fix = f"write {race.fix} between, or let each thread have its own"
            if race.who == "block" and not self.cluster:
                fix = "let each block have its own, by tiles that do not overlap or a predicate; or add by atomic_add"
            if race.line == race.at and race.writes and race.written and race.who == "thread":
                fix = "let one thread write it, by copy_if(elem_less(lane, 1), ...), or let each thread have its own"
            raise RangeError(f"{self.__name__} at {report.at}: {race}", "no race", fix)
        for used in report.resources:
            if not used.holds:
                fix = "take smaller tiles, fewer stages or more threads, or leave out arch="
                raise RangeError(f"{self.__name__}: {used.used} {used.what}", f"{used.most} at most", fix)

    def _parameters(self, arguments: tuple[Any, ...]) -> tuple[str, ...]:
        """The names of the function's parameters; RankError for arguments that are not one for each."""
        signature = inspect.signature(self.function)
        names = tuple(signature.parameters)
        try:
            signature.bind(*arguments)
        except TypeError:
            what = f"{len(arguments)} arguments of {self.__name__}({', '.join(names)})"
            fix = "give a tensor, an array, a size or a scalar for each parameter"
            raise RankError(what, f"{len(names)} of them", fix) from None
        return names

    def _launch(self, arguments: tuple[Any, ...], watch: Watch | None) -> int:
        """Run every block; the number of them."""
        self._parameters(arguments)
        tensors = tuple(MakeTensor(x) if _is_array(x) else x for x in arguments)
        grid = _extents(self.grid(*tensors) if callable(self.grid) else self.grid)
        require_whole_clusters(grid, self.cluster)
        for places in clusters_of(grid, self.cluster):
            watches = (self._watch_of(watch, at, grid, rank) for rank, at in enumerate(places))
            launches = [Launch(at, self.threads, own) for at, own in zip(places, watches)]
            run_together(launches, self.cluster, functools.partial(self._run_block, tensors))
        return math.prod(grid)

    def _watch_of(self, watch: Watch | None, at: tuple[int, ...], grid: tuple[int, ...], rank: int) -> Watch | None:
        """The watch of a block, by its place in the grid and its number in its cluster."""
        if watch is None:
            return None
        number = functools.reduce(lambda above, pair: above * pair[1] + pair[0], reversed([*zip(at, grid)]), 0)
        return watch.of_block(number, Beside(rank) if self.cluster else None)

    def _run_block(self, arguments: tuple[Any, ...], launch: Launch) -> None:
        """Run a block; what is watched goes on behind one that is refused."""
        try:
            run_block(self.function, arguments, launch)
        except TlaError as error:
            if launch.watch is None:
                raise
            launch.watch.refuse(line_of(self.function, error), error)


def kernel(
    threads: int, grid: Grid = (1,), registers: int | None = None, cluster: Sequence[int] | None = None
) -> Callable[[Callable[..., None]], Kernel]:
    """Make a Python function a kernel: `@kernel(threads=128, grid=lambda a, b: (a.shape[0] // 64,))`.

    threads     the number of threads of a block, 1 to 1024
    grid        the number of blocks along one to three modes, or a function of the arguments (arrays as
                tensors) that gives it
    registers   the most registers that CUDA's compiler may give a thread, 1 to 255; None for as many as there are
    cluster     the blocks along each mode that run together, at most 16: the grid has whole clusters; None without
    Returns     a decorator, which gives a Kernel
    Raises      RangeError for a number of threads that no block has, of registers that no thread has, or for no cluster

    >>> import numpy as np
    >>> from tla import parse
    >>> from tla.kernels import fill, kernel, local_partition, thread
    >>> @kernel(threads=4, grid=lambda a: (1,))
    ... def ones(a):
    ...     fill(local_partition(a, parse("_4:_1"), thread()), 1)
    >>> a = np.zeros(6)
    >>> ones.run(a), a.tolist()
    (None, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0])

    Source: CUDA's launch; its `__maxnreg__`.
    """
    if registers is not None and not _is_from_1_to(MOST_REGISTERS, registers):
        what = f"kernel(registers={shown(registers)})"
        fix = "leave it out, or write @kernel(threads=128, registers=96)"
        raise RangeError(what, f"1 to {MOST_REGISTERS} registers of a thread", fix)
    if not _is_from_1_to(MOST_THREADS, threads):
        what = f"kernel(threads={shown(threads)})"
        raise RangeError(what, f"1 to {MOST_THREADS} threads of a block", "write @kernel(threads=128)")
    blocks = cluster_of(cluster)
    return lambda function: Kernel(function, int(threads), grid, None if registers is None else int(registers), blocks)


def _is_from_1_to(most: int, n: Any) -> bool:
    return is_int(n) and known(n) is not None and 1 <= int(n) <= most


def _extents(grid: Any) -> tuple[int, ...]:
    """The extents of a grid as integers. Raises LeafTypeError for what is none, RangeError for more than three."""
    modes = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not all(is_int(n) and known(n) is not None for n in modes):
        raise LeafTypeError(f"a grid of {shown(grid)}", "the number of blocks along each mode", "write grid=(4, 2)")
    if not 1 <= len(modes) <= 3 or any(int(n) < 0 for n in modes):
        raise RangeError(f"a grid of {shown(grid)}", "one to three modes of 0 blocks or more", "write grid=(4, 2)")
    return tuple(map(int, modes))


def _is_array(x: Any) -> bool:
    return hasattr(x, "__array_interface__") and not isinstance(x, Tensor) and x.shape != ()


def _is_open(x: Any) -> bool:
    """Whether an argument is known by its type and layout alone: a kernel cannot run with it."""
    if isinstance(x, Tensor):
        return x.data is None or packed.memory_of(x.data).size == 0
    return isinstance(x, (type, Scalar)) or hasattr(x, "fields") or (is_int(x) and known(x) is None)


def _copied(x: Any) -> Any:
    """An argument over a buffer of its own."""
    if _is_array(x):
        return x.copy(order="K")  # in its own order: instructions ask for it
    if isinstance(x, Tensor) and x.data is not None:
        return tensor_of(None, copy.deepcopy(x.data), x.offset, x.layout, tuple(x.coord), x._guard, x.memory)
    return x
