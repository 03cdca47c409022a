"""The text of a whole kernel, and what its launch needs.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...codegen.expressions.plan import plan
from ...codegen.expressions.target import required, required_names
from ...codegen.indices.c import requirement
from ...gpu.descriptors.tensor_map import TensorMap
from ...symbolic import Condition
from ..program.resources import placed
from ..program.statements import Program, accesses
from ..run.trace import sizes_of
from .names import WORD, helpers_of, parameter_list
from .statements import Writer


class Source(NamedTuple):
    """A kernel as text, with what its launch needs.

    text           the whole source file
    parameters     the names of its function's parameters, in order
    grid           the number of blocks along each mode: integers, or expressions of the sizes
    block          the number of threads of a block; 0 on Ascend, whose cores have pipes
    shared_bytes   bytes of shared memory of a block
    conditions     what the sizes must meet; the text has `kernel_main_requires`, which tells whether they do
    cluster        the number of blocks of a cluster along each mode; none without clusters
    memories       on Ascend the bytes of each memory of a core that its buffers take, by its name
    maps           of each tensor map that the launch makes, of CUDA: its parameter's name, the argument that it is of,
                   and the TensorMap

    >>> import numpy as np
    >>> from tla import dim, make_layout, parse
    >>> from tla.kernels import fill, kernel, local_partition, tensor, thread
    >>> @kernel(threads=4)
    ... def ones(a):
    ...     fill(local_partition(a, parse("_4:_1"), thread()), 1)
    >>> source = ones.source("cuda", tensor(np.float32, parse("_8:_1")))
    >>> print(source.parameters, source.grid, source.block, source.shared_bytes)
    ('a',) (1,) 4 0

    Source: ours.
    """

    text: str
    parameters: tuple[str, ...]
    grid: tuple[Any, ...]
    block: int
    shared_bytes: int
    conditions: tuple[Condition, ...]
    maps: tuple[tuple[str, str, TensorMap], ...] = ()
    cluster: tuple[int, ...] = ()
    memories: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return self.text


class Parts(NamedTuple):
    """A program as every target is given it.

    program   the program
    name      the name of the text's function
    order     the names of its parameters
    checked   what was looked for in it, in words
    """

    program: Program
    name: str
    order: tuple[str, ...]
    checked: str

    def source(
        self,
        writer: Writer,
        body: Sequence[str],
        form: Form,
        after: Callable[[list[str], list[str]], list[str]] = lambda *_given: [],
    ) -> Source:
        """The source file around a function's body.

        after   the lines behind the function, of its parameters and of the sizes that `<name>_requires` is asked of
        """
        p = self.program
        conditions, asked, tests = _required(p, self.name, writer)
        names = (p.argument_of(x.tensor) for s in p.statements() for verb, x in accesses(s) if verb == "writes")
        written = {name for name in names if name}
        parameters = parameter_list(p, self.order, writer, written)
        first = [form.requires.format(f"{self.name}_requires({', '.join(asked)})")] if asked and form.requires else []
        lines = [f"    {line}" if not line.startswith("#") else line for line in (*first, *body)]
        maps = tuple((f"map{k}", *of) for k, of in enumerate(writer.maps)) if form.map else ()
        words = {*WORD.findall("\n".join(lines))}
        unused = [name for name in self.order if name not in words]
        aligned = ", ".join(name for name in self.order if name in {*writer.vectors, *(of for of, _map in writer.maps)})
        together = f", in clusters of {' by '.join(map(str, p.cluster))}" if p.cluster else ""
        blocks = f"{p.threads} threads a block, {' by '.join(map(str, p.grid))} blocks{together}"
        comment = [f"{self.name}: the kernel {p.name}, {blocks}. Made by tla."]
        comment += [self.checked, *required(conditions)]
        comment += [f"assumes that {aligned} begin at multiples of 16 bytes"] if aligned else []
        given = [*parameters, *(f"{form.map} {x}" for x, *_of in maps)]
        text = [
            *(f"// {line}" for line in comment),
            *form.head,
            *(part for part in writer.head() if part not in form.head),
            *helpers_of(writer, form.function),
            *writer.functions(),
            *(line for line in tests if line not in form.head),
            f"{form.before} {self.name}({', '.join(given) or 'void'}) {{",
            *(f"    (void){name};" for name in unused),
            *lines,
            "}",
            *after(parameters, asked),
        ]
        order = (*self.order, *(name for name, *_of in maps))
        return Source("\n".join(text) + "\n", order, p.grid, p.threads, shared_bytes(p), conditions, maps, p.cluster)


def shared_bytes(program: Program) -> int:
    """The bytes of a block's shared memory."""
    return placed(t.data.nbytes for t in program.shared)[1]


class Form(NamedTuple):
    """The parts of a source file around a function's body that differ between targets.

    head       lines of the file before all else
    before     what stands before the function's name
    function   what stands before the type of a function that it calls
    kind       the type of its integers
    requires   how the body refuses sizes that break a condition, of the call that tells; empty where the launch does
    map        the type of a tensor map that the launch makes; empty where loads need none
    """

    head: list[str]
    before: str
    function: str
    kind: str
    requires: str = ""
    map: str = ""


def _required(program: Program, name: str, writer: Writer) -> tuple[tuple[Condition, ...], list[str], list[str]]:
    """The conditions of sizes, the sizes that they are about, and the text's function that tells if they hold."""
    sizes = sizes_of(program)
    if not sizes:
        return (), [], []
    made = plan(sizes, name=name, conditions=program.conditions)
    if not made.requires:
        return (), [], []
    found = requirement(writer.language, name, required_names(made), made.checks)
    return tuple(c for c, _node in made.requires), required_names(made), [*writer.language.head("bool"), *found]
