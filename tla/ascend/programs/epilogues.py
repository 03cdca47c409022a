"""Activations behind a product that is there already: vector cores move tiles of C to UB, compute there, and move them on to
D.

Source: CATLASS `BlockEpilogue` of `EpilogueAtlasA2ElemWiseNoSource` (examples 27 and 28).
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...core.element import half
from ...core.errors import RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike
from ...tensors.views import GetTile
from ..architecture import Architecture, AtlasA2, as_architecture
from ..element import as_element
from ..schedules.schedule import positive
from ..tags import RowMajor
from ..transfers import transfer
from ..transfers.side import tensor_at
from .activations import (
    BESIDE,
    STAGES,
    Activation,
    Box,
    boxes,
    require_activation,
    require_pair,
    tile_flags,
    tile_statements,
)
from .block import placed
from .check import check_program
from .results import Copied, Report, of_cores, together
from .statements import Buffer, Move, Part, Program, SetFlag, WaitFlag, in_gm
from .text import of_programs, require_kernel_name
from .values import execute_program, merged, numbers_of

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class Epilogue:
    """The work of vector cores behind a product: D is an activation of C, element by element.

    shape        of C and D
    activation   what is computed, of which types, in which tiles (Activation)
    cores        the number of cores for matrices, each of which has two vector cores

    >>> import numpy as np
    >>> from tla.ascend import epilogue, float32
    >>> e = epilogue("silu", (100, 60), (32, 64), element=float32, cores=2)
    >>> [(x.name, x.address) for x in e.buffers.values()][:2]
    [('ubC0', 0), ('ubC1', 8192)]
    >>> e.check(0).holds, float(e.execute(np.ones((100, 60)))[99, 59])
    (True, 0.7310585975646973)

    Source: CATLASS `BlockEpilogue` of `EpilogueAtlasA2ElemWiseNoSource`.
    """

    shape: tuple[int, int]
    activation: Activation
    cores: int

    @functools.cached_property
    def tensors(self) -> dict[str, Buffer]:
        """C and D in global memory."""
        ends = (("C", self.activation.element), ("D", self.activation.to))
        return {name: in_gm(name, e, RowMajor.MakeLayout(e, *self.shape)) for name, e in ends}

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers of UB: of each stage a tile that comes, one that is made, and one of another type where D has it."""
        of = self.activation
        ends = (("C", of.element), *of.made)
        rows = [(f"ub{name}", "UB", e, of.layout(e, of.tile), "tiles") for name, e in ends]
        return {b.name: b for b in placed(rows, {"tiles": STAGES}, of.arch)}

    def boxes(self, core: int) -> list[Box]:
        """The tiles of a vector core, where each begins and its sizes: every n-th of n cores."""
        return boxes(self.shape, self.activation.tile, core, BESIDE * self.cores)

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each vector core."""
        every = {**self.tensors, **self.buffers}
        cores = range(BESIDE * self.cores)
        return tuple(Program(self.activation.arch, every, tuple(self._body(core))) for core in cores)

    def _body(self, core: int) -> Iterator[Any]:
        """The statements of a vector core."""
        of, free = self.activation, [*tile_flags("", comes=True)]
        yield from (SetFlag(*flag) for flag in free)
        for number, (start, sizes) in enumerate(self.boxes(core)):
            i = number % STAGES
            tile, (last, out) = tensor_at("UB", of.layout(of.element, sizes)), of.leaving(sizes)
            c, d = (GetTile(tensor_at("GM", x.layout), start, sizes) for x in self.tensors.values())
            comes = self._moved(f"ubC{i}", "C", transfer(c, tile, of.arch, element=of.element))
            leaves = self._moved("D", f"ub{last}{i}", transfer(out, d, of.arch, element=of.to))
            yield from tile_statements("", i, comes, of.computed("ub", i, "V", f"ubC{i}", tile), leaves)
        yield from (WaitFlag(*flag) for flag in free)

    def _moved(self, dst: str, src: str, made: Any) -> Part:
        return Part(f"{src} to {dst}", dst, src, tuple(Move(dst, src, i) for i in made))

    def check(self, core: IntLike | None = None) -> Report:
        """Check the programs of all vector cores, or of one: each element of its tiles of D is the activation of C's, by
        the instructions one after another, in every order that the flags allow; all else of D stays.

        Raises RangeError for a core that there is not.
        """
        chosen = of_cores([*enumerate(self.programs)], core)
        return together(check_program(p, [self.result(number)]) for number, p in chosen)

    def result(self, core: int) -> Copied:
        """The part of D that a vector core makes."""
        return Copied("D", "C", tuple(self.boxes(core)), self.activation)

    def execute(self, c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Execute the programs of all vector cores on a matrix: D. Each instruction's result is rounded to its type.

        Raises RangeError for an array of another shape.
        """
        import numpy as np

        if (given := numbers_of("C", c)).shape != self.shape:
            raise RangeError(f"C of the shape {given.shape}", str(self.shape), "give all of C")
        made: Any = None
        with np.errstate(over="ignore"):
            for program in self.programs:
                made = merged(made, execute_program(program, {"C": given}).get("D"))
        return made.reshape(self.shape)  # type: ignore[no-any-return]

    def text(self, name: str = "epilogue_main") -> str:
        """The kernel of the vector cores in AscendC. Raises RangeError for a name that C++ has not.

        >>> from tla.ascend import epilogue
        >>> lines = epilogue("relu", (64, 64), (32, 64), cores=1).text().splitlines()
        >>> [line.strip() for line in lines if "::Relu(" in line]
        ['AscendC::Relu(ubD0[0], ubC0[0], 128, 16, {1, 1, 8, 8});']
        """
        require_kernel_name(name)
        of = self.activation
        kind = f"{of.name} of {shown(self.shape)}, from {of.element} to {of.to}"
        remarks = [f"{name}: {kind}, on {BESIDE * self.cores} vector cores of {of.arch}.", "Made by tla."]
        return of_programs(self.programs, name, remarks)


def epilogue(
    activation: str | tuple[str, float],
    shape: tuple[int, int],
    tile: tuple[int, int] = (64, 128),
    arch: Architecture | str = AtlasA2,
    *,
    element: Any = half,
    to: Any = None,
    cores: int = 1,
) -> Epilogue:
    """Make the work of vector cores that computes an activation of a product.

    activation   gelu, silu, sigmoid, tanh, relu, leaky_relu, or ("leaky_relu", slope)
    shape, tile  the rows and columns of C, and those of a tile of it
    element, to  the types of C and D; to: by default that of C
    cores        the number of cores for matrices, each with two vector cores beside
    Returns      Epilogue
    Raises       LeafTypeError for other activations and types; RangeError for tiles that UB does not hold

    >>> import numpy as np
    >>> from tla.ascend import epilogue, float32, half
    >>> e = epilogue("gelu", (70, 90), (32, 64), element=float32, to=half)
    >>> x = np.linspace(-3, 3, 6300).reshape(70, 90)
    >>> wanted = x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    >>> bool(abs(e.execute(x) - wanted).max() < 1e-3)
    True

    Source: CATLASS examples 27 and 28.
    """
    arch, given = as_architecture(arch), as_element(element)
    target = given if to is None else as_element(to)
    (name, slope), whole = require_activation(activation), require_pair("shape", "an epilogue", shape)
    of = Activation(name, arch, given, target, require_pair("tile", "an epilogue", tile), slope)
    made = Epilogue(whole, of, positive("cores", cores))
    _ = made.buffers, made.programs
    return made
