"""Activations behind a product: vector cores move tiles of C to UB, compute there, and move them on to D.

An activation is a list of vector instructions, those of CATLASS's epilogue tiles, with a barrier between two as each reads
what the one before has written. UB has two stages of a tile, what comes and what leaves.

Source: CATLASS `TileElemWiseGelu`, `TileElemWiseSilu` (examples 27 and 28), `Epilogue::Fusion::Sigmoid`.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.element import Element, half
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import shown
from ...core.ints import IntLike
from ...core.layout import Layout
from ...tensors.tensor import Tensor
from ...tensors.views import GetTile
from ..architecture import Architecture, AtlasA2, as_architecture
from ..element import as_element
from ..schedules.schedule import positive
from ..tags import RowMajor
from ..transfers import transfer
from ..transfers.side import tensor_at
from ..vectors.instruction import EITHER, SCALAR_FIRST, VectorInstruction
from ..vectors.plan import vector
from .check import SAME, check_numbers
from .results import Report, of_cores, together
from .statements import Buffer, Compute, Move, Part, PipeBarrier, Program, SetFlag, WaitFlag, in_gm
from .text import of_programs
from .values import execute_program, merged

if TYPE_CHECKING:
    import numpy.typing as npt

#: The vector cores beside a core for matrices, and the tiles that are in UB at a time.
BESIDE, STAGES = 2, 2


class Step(NamedTuple):
    """A vector instruction of an activation: its name, whether each source is what came (C) or what was made (D), its
    scalar, and its mode."""

    name: str
    sources: str
    scalar: float | None = None
    mode: str = ""


_SIGMOID = (Step("Muls", "C", -1.0), Step("Exp", "D"), Step("Adds", "D", 1.0))
#: Activation -> its instructions. GELU is by tanh: x / (1 + exp(-1.595769121 (x + 0.044715 x^3))).
ACTIVATIONS: Mapping[str, tuple[Step, ...]] = {
    "gelu": (
        Step("Mul", "CC"),
        Step("Mul", "DC"),
        Step("Axpy", "C", 1 / 0.044715),
        Step("Muls", "D", -1.595769121 * 0.044715),
        *_SIGMOID[1:],
        Step("Div", "CD"),
    ),
    "silu": (*_SIGMOID, Step("Div", "CD")),
    "sigmoid": (*_SIGMOID, Step("Divs", "D", 1.0, SCALAR_FIRST)),
    "relu": (Step("Relu", "C"),),
}


@dataclass(frozen=True)
class Epilogue:
    """The work of vector cores behind a product: D is an activation of C, element by element.

    activation   its name;  shape  of C and D;  tile  its rows and columns;  arch  the architecture
    element, to  the types of C, which is computed in, and of D
    cores        the number of cores for matrices, each of which has two vector cores

    >>> import numpy as np
    >>> from tla.ascend import epilogue, float32
    >>> e = epilogue("silu", (100, 60), (32, 64), element=float32, cores=2)
    >>> [(x.name, x.address) for x in e.buffers.values()][:2]
    [('ubC0', 0), ('ubD0', 8192)]
    >>> e.check(0).holds, float(e.execute(np.ones((100, 60)))[99, 59])
    (True, 0.7310585975646973)

    Source: CATLASS `BlockEpilogue` of `EpilogueAtlasA2ElemWiseNoSource`.
    """

    activation: str
    shape: tuple[int, int]
    tile: tuple[int, int]
    arch: Architecture
    element: Element
    to: Element
    cores: int

    @functools.cached_property
    def tensors(self) -> dict[str, Buffer]:
        """C and D in global memory."""
        ends = (("C", self.element), ("D", self.to))
        return {name: in_gm(name, e, RowMajor.MakeLayout(e, *self.shape)) for name, e in ends}

    @functools.cached_property
    def buffers(self) -> dict[str, Buffer]:
        """The buffers of UB: of each stage a tile that comes, one that is made, and one of another type where D has it."""
        found, at = {}, 0
        for i in range(STAGES):
            for name, e in (("C", self.element), ("D", self.element), *self._cast):
                layout = self._in_ub(e, self.tile)
                size = layout.shape[0] * layout.stride[0] * e.bits // 8
                found[f"ub{name}{i}"] = Buffer(f"ub{name}{i}", "UB", e, Layout((size * 8 // e.bits,), (1,)), at)
                at += size
        if at > self.arch.sizes["UB"]:
            what = f"tiles of {shown(self.tile)} in UB: {at} bytes"
            raise RangeError(what, f"at most {self.arch.sizes['UB']}", "take half of the rows, or fewer")
        return found

    @property
    def _cast(self) -> list[tuple[str, Element]]:
        return [("Cast", self.to)] if self.to != self.element else []

    def _in_ub(self, e: Element, sizes: tuple[int, int]) -> Any:
        """Rows of whole 32 bytes of both types, as many as a tile has columns."""
        unit = max(int(self.element.C0), int(self.to.C0))
        return RowMajor.MakeLayout(e, *sizes, ld=-(-self.tile[1] // unit) * unit)

    def boxes(self, core: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The tiles of a vector core, where each begins and its sizes: every n-th of n cores."""
        (m, n), (rows, columns) = self.shape, self.tile
        every = itertools.product(range(0, m, rows), range(0, n, columns))
        mine = [*every][core :: BESIDE * self.cores]
        return [((i, j), (min(rows, m - i), min(columns, n - j))) for i, j in mine]

    @functools.cached_property
    def programs(self) -> tuple[Program, ...]:
        """The program of each vector core."""
        every = {**self.tensors, **self.buffers}
        return tuple(Program(self.arch, every, tuple(self._body(core))) for core in range(BESIDE * self.cores))

    def _body(self, core: int) -> Iterator[Any]:
        """The statements of a vector core: MTE2 fills a stage when V has read it, V writes one when MTE3 has."""
        free = [(event, i) for event in ("V_MTE2", "MTE3_V") for i in range(STAGES)]
        yield from (SetFlag(*flag) for flag in free)
        for number, (start, sizes) in enumerate(self.boxes(core)):
            i = number % STAGES
            into, leaves = f"ubC{i}", f"ub{'Cast' if self._cast else 'D'}{i}"
            tile, out = (tensor_at("UB", self._in_ub(e, sizes)) for e in (self.element, self.to))
            c, d = (GetTile(tensor_at("GM", x.layout), start, sizes) for x in self.tensors.values())
            yield WaitFlag("V_MTE2", i)
            yield self._moved(into, "C", transfer(c, tile, self.arch, element=self.element))
            yield from (SetFlag("MTE2_V", i), WaitFlag("MTE2_V", i), WaitFlag("MTE3_V", i))
            yield from self._computed(i, tile, out)
            yield from (SetFlag("V_MTE2", i), SetFlag("V_MTE3", i), WaitFlag("V_MTE3", i))
            yield self._moved("D", leaves, transfer(out, d, self.arch, element=self.to))
            yield SetFlag("MTE3_V", i)
        yield from (WaitFlag(*flag) for flag in free)

    def _moved(self, dst: str, src: str, made: Any) -> Part:
        return Part(f"{src} to {dst}", dst, src, tuple(Move(dst, src, i) for i in made))

    def _computed(self, stage: int, tile: Any, out: Any) -> Iterator[Any]:
        """The instructions of a tile, with a barrier between two."""
        ends = {"C": f"ubC{stage}", "D": f"ubD{stage}"}
        for number, step in enumerate(ACTIVATIONS[self.activation]):
            yield from [PipeBarrier("V")] if number else []
            sources = [ends[x] for x in step.sources]
            made = self._planned(step, tile)
            operands = (ends["D"], *sources, *[ends["D"]] * (len(made[0].elements) - 1 - len(sources)))
            yield from (Compute(operands, (i,)) for i in made)
        if self._cast:
            yield PipeBarrier("V")
            for i in vector("Cast", out, tile, element=(self.to, self.element), arch=self.arch):
                yield Compute((f"ubCast{stage}", ends["D"]), (i,))

    def _planned(self, step: Step, t: Tensor) -> tuple[VectorInstruction, ...]:
        """The instructions of a step, of tensors that lie as one does."""
        more: dict[str, Any] = {"scalar": step.scalar, "mode": step.mode}
        return vector(step.name, *(t,) * (1 + len(step.sources)), element=self.element, arch=self.arch, **more)

    def function(self, c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """The activation of an array, step by step, in the array's own type.

        >>> import numpy as np
        >>> from tla.ascend import epilogue
        >>> epilogue("relu", (4, 16), (4, 16)).function(np.array([-2.0, 3.0])).tolist()
        [0.0, 3.0]
        """
        import numpy as np

        held = {"C": c, "D": c}
        with np.errstate(over="ignore"):
            for step in ACTIVATIONS[self.activation]:
                i = self._planned(step, tensor_at("UB", Layout((8,), (1,))))[0]
                read = [held[x] for x in step.sources]
                read += [held["D"]] * (len(i.elements) - 1 - len(read))
                held["D"] = i.computed(read, c.dtype.type(step.scalar or 0))
        return held["D"]

    def check(self, core: IntLike | None = None) -> Report:
        """Check the programs of all vector cores, or of one, on random numbers between -4 and 4 with nothing rounded: its
        tiles of D are the activation of C, all else of D stays.

        Raises RangeError for a core that there is not.
        """
        import numpy as np

        c, d = np.random.default_rng(0).uniform(-4, 4, (2, *self.shape))
        return together(self._checked(*chosen, c, d) for chosen in of_cores([*enumerate(self.programs)], core))

    def _checked(self, core: int, program: Program, c: Any, d: Any) -> Report:
        wanted = d.copy()
        for (row, column), (rows, columns) in self.boxes(core):
            here = (slice(row, row + rows), slice(column, column + columns))
            wanted[here] = self.function(c[here])
        return check_numbers(program, {"C": c, "D": d}, {"D": wanted}, SAME)

    def execute(self, c: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Execute the programs of all vector cores on a matrix: D. Each instruction's result is rounded to its type.

        Raises RangeError for an array of another shape.
        """
        import numpy as np

        if np.shape(c) != self.shape:
            raise RangeError(f"C of the shape {np.shape(c)}", str(self.shape), "give all of C")
        made: Any = None
        with np.errstate(over="ignore"):
            for program in self.programs:
                made = merged(made, execute_program(program, {"C": c}).get("D"))
        return made.reshape(self.shape)  # type: ignore[no-any-return]

    def text(self, name: str = "epilogue_main") -> str:
        """The kernel of the vector cores in AscendC.

        >>> from tla.ascend import epilogue
        >>> lines = epilogue("relu", (64, 64), (32, 64), cores=1).text().splitlines()
        >>> [line.strip() for line in lines if "::Relu(" in line]
        ['AscendC::Relu(ubD0[0], ubC0[0], 128, 16, {1, 1, 8, 8});']
        """
        kind = f"{self.activation} of {shown(self.shape)}, from {self.element} to {self.to}"
        remarks = [f"{name}: {kind}, on {BESIDE * self.cores} vector cores of {self.arch}.", "Made by tla."]
        return of_programs(self.programs, name, remarks)


def epilogue(
    activation: str,
    shape: tuple[int, int],
    tile: tuple[int, int] = (64, 128),
    arch: Architecture | str = AtlasA2,
    *,
    element: Any = half,
    to: Any = None,
    cores: int = 1,
) -> Epilogue:
    """Make the work of vector cores that computes an activation of a product.

    activation   gelu, silu, relu, or on Ascend950 sigmoid
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
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        expected = f"one of {', '.join(ACTIVATIONS)}"
        raise LeafTypeError(f"the activation {activation!r:.40}", expected, "compute it by vector(), step by step")
    if any(x.name in EITHER for x in ACTIVATIONS[activation]) and "AtlasA" in arch.name:
        raise LeafTypeError(f"{activation} on {arch}", "Ascend950, which has Divs", "write arch=Ascend950")
    for what, sizes in (("shape", shape), ("tile", tile)):
        if not isinstance(sizes, tuple) or len(sizes) != 2:
            raise LeafTypeError(f"{what}={sizes!r:.40} of an epilogue", "rows and columns", f"write {what}=(64, 128)")
    (m, n), (rows, columns) = shape, tile
    whole = positive("rows of C", m), positive("columns of C", n)
    part = positive("rows of a tile", rows), positive("columns of a tile", columns)
    made = Epilogue(activation, whole, part, arch, given, target, positive("cores", cores))
    _ = made.buffers, made.programs
    return made
