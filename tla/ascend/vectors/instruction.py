"""A vector instruction as data: its name, its addresses and its fields, and what it computes.

A repeat takes 256 bytes of its widest operand, in blocks of 32 bytes that each operand has at steps of its own (block
stride); repeats follow at steps of their own (repeat stride). A mask says how many elements of each
repeat are computed.

Source: AscendC: high-dimensional tensor sharding computation, BinaryRepeatParams, UnaryRepeatParams.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.cache import plain_memo
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Reason
from ...core.ints import known, leaf
from ...core.layout import Layout
from ...core.values import rounded
from ..architecture import AtlasA2, as_architecture
from ..element import CPP_NAMES
from ..transfers.instruction import c_text
from ..transfers.side import offsets_in
from .banks import Banks, counted
from .forms import SPECIAL, arguments_of, blocks_of_repeat, operand_of, repeat_of, result_of, unit_of
from .functions import FUNCTIONS

if TYPE_CHECKING:
    import numpy.typing as npt

#: The bits of a repeat, and of a block.
REPEAT, BLOCK = 256 * 8, 32 * 8
#: The most repeats of one instruction.
MOST_REPEATS = 255


class Operation(NamedTuple):
    """A kind of vector instruction: how many sources, whether a scalar, the types that it has, and its function: numpy's, or
    one of FUNCTIONS. reads_dst: whether what dst held before is its last source."""

    sources: int
    scalar: bool
    types: tuple[str, ...]
    compute: str
    reads_dst: bool = False


_ALL, _REAL = ("half", "int16", "int32", "float"), ("half", "float")

#: Name -> the operation; Cast has pairs of types of its own.
OPERATIONS: Mapping[str, Operation] = {
    **{name: Operation(2, False, _ALL, f) for name, f in (("Add", "add"), ("Sub", "subtract"), ("Mul", "multiply"))},
    **{name: Operation(2, False, _ALL, f) for name, f in (("Max", "maximum"), ("Min", "minimum"))},
    "Div": Operation(2, False, _REAL, "divide"),
    **{
        name: Operation(1, False, _REAL, f)
        for name, f in (("Exp", "exp"), ("Ln", "log"), ("Abs", "absolute"), ("Sqrt", "sqrt"))
    },
    "Reciprocal": Operation(1, False, _REAL, "reciprocal"),
    "Relu": Operation(1, False, ("half", "int32", "float"), "maximum"),
    **{
        name: Operation(1, True, _ALL, f)
        for name, f in (("Adds", "add"), ("Muls", "multiply"), ("Maxs", "maximum"), ("Mins", "minimum"))
    },
    "Rsqrt": Operation(1, False, _REAL, "rsqrt"),
    "LeakyRelu": Operation(1, True, _REAL, "leaky"),
    "Prelu": Operation(2, False, _REAL, "leaky"),
    "AddRelu": Operation(2, False, ("half", "int16", "float"), "add_relu"),
    "SubRelu": Operation(2, False, ("half", "int16", "float"), "subtract_relu"),
    "Subs": Operation(1, True, _REAL, "subtract"),
    "Divs": Operation(1, True, _REAL, "divide"),
    "Axpy": Operation(1, True, _REAL, "axpy", True),
    "MulAddDst": Operation(2, False, _REAL, "multiply_add", True),
    "FusedMulAdd": Operation(2, False, _REAL, "fused_multiply_add", True),
    "Duplicate": Operation(0, True, _ALL, "positive"),
    "Cast": Operation(1, False, (), "positive"),
    "Copy": Operation(1, False, (*_ALL, "bf16"), "positive"),
}
#: The operations whose scalar may stand before the source, and the mode that says so; Ascend950 alone has them.
SCALAR_FIRST, EITHER = "SCALAR_FIRST", ("Subs", "Divs")
#: Operations that take elements in a row and their count, and no mask or strides.
COUNT_ONLY = ("Prelu",)
#: (source, destination) of Cast -> how it rounds.
CASTS: Mapping[tuple[str, str], str] = {
    **dict.fromkeys((("half", "float"), ("int8", "half"), ("uint8", "half"), ("int16", "float")), "CAST_NONE"),
    **dict.fromkeys(
        (("half", "int32"), ("half", "int16"), ("half", "int8"), ("half", "uint8"), ("int16", "half")), "CAST_RINT"
    ),
    ("float", "half"): "CAST_RINT",
    ("float", "bf16"): "CAST_RINT",
    ("float", "int32"): "CAST_RINT",
    ("int32", "float"): "CAST_RINT",
}


@plain_memo
def _relative(name: str, fields: tuple[tuple[str, int], ...], elements: tuple[Element, ...]) -> tuple[Any, ...]:
    """The offsets of the elements of each operand from its place on: a row for each repeat."""
    i = VectorInstruction(name, (0,) * len(elements), dict(fields), elements)
    return tuple(offsets_in(layout).T for layout in i.operands)


@dataclass(frozen=True)
class VectorInstruction:
    """One vector instruction on tensors of the unified buffer.

    name         one of OPERATIONS: Add, Exp, Muls, Cast and the like; WholeReduceSum, BlockReduceSum and the like;
                 PairReduceSum, Brcb, Compare, Select, Gather
    places       where dst and the sources begin [elements of each]
    parameters   mask, repeatTimes, and of each operand BlkStride and RepStride [blocks of 32 bytes; of a result of
                 WholeReduce elements, of BlockReduce 8 elements, of PairReduce 128 bytes]; of Gather
                 count and srcBaseAddr
    elements     the types of dst and the sources; scalar the number that it takes, or None; mode of Compare: LT, GT,
                 EQ, LE, GE, NE; of Subs and Divs SCALAR_FIRST where the scalar stands before the source
    table        of Gather, how many bytes behind the beginning of src each element lies: what the kernel
                 has in srcOffset

    >>> from tla.ascend import VectorInstruction, half
    >>> p = {"mask": 100, "repeatTimes": 3, "dstBlkStride": 1, "srcBlkStride": 1, "dstRepStride": 8, "srcRepStride": 16}
    >>> i = VectorInstruction("Exp", (0, 64), p, (half, half))
    >>> print(i.operands[1], i.operands[1].origin_shape)
    ((16,8),3):((1,16),256) (100,3)
    >>> i.text
    'AscendC::Exp(dst[0], src[64], 100, 3, {1, 1, 8, 16});'

    Source: AscendC.
    """

    name: str
    places: tuple[int, ...]
    parameters: Mapping[str, int]
    elements: tuple[Element, ...]
    scalar: float | None = None
    mode: str = ""
    table: tuple[int, ...] = ()

    @property
    def _sides(self) -> tuple[str, ...]:
        """The operands as fields call them."""
        if self.name in SPECIAL:
            return SPECIAL[self.name].operands
        return sides_of(self.name, len(self.elements))

    @property
    def operands(self) -> tuple[Layout, ...]:
        """The layout of each operand, from its place on: element j of repeat r, as many of each repeat as the mask has,
        or as it makes.

        Of Gather that of dst for both: its source has a table.
        """
        p, sides = self.parameters, zip(self._sides, self.elements)
        if self.name in SPECIAL:
            return tuple(operand_of(SPECIAL[self.name], side, p, e, repeat_of(self.elements)) for side, e in sides)
        most = REPEAT // max(e.bits for e in self.elements)
        return tuple(blocks_of_repeat(side, p, e, most) for side, e in sides)

    @property
    def _limits(self) -> dict[str, tuple[int, int]]:
        """The least and the largest value of each field."""
        p, special = self.parameters, SPECIAL.get(self.name)
        most = repeat_of(self.elements) if special else REPEAT // max(e.bits for e in self.elements)
        wide = 2**8 - 1 if special or len(self.elements) == 3 else 2**16 - 1
        limits = {"mask": (1, most), "repeatTimes": (0, MOST_REPEATS)}
        limits |= {"count": (1, 2**32 - 1), "srcBaseAddr": (0, 2**32 - 1)}
        limits |= {n: (0, 2**16 - 1) for n in p if self.name in ("Copy", "Brcb") and n.endswith("Stride")}
        limits |= {n: (0, wide if n.endswith("BlkStride") else 255) for n in p if n not in limits}
        return limits

    def require_fields(self) -> None:
        """RangeError for what the hardware does not take: places off 32 bytes; masks, repeats, strides too large."""
        if reason := self.over_fields():
            raise RangeError(*reason)

    def over_fields(self) -> Reason | None:
        """The first thing that the hardware does not take; None if there is none."""
        p, special = self.parameters, SPECIAL.get(self.name)
        for side, e, at in zip(self._sides, self.elements, self.places):
            unit = unit_of(special, side, e) if special else int(e.C0)
            if at % unit:
                what = f"{self.name}: {side} at element {at}, byte {at * e.bits // 8}"
                return Reason(what, f"a multiple of {unit * e.bits // 8} bytes", f"begin it at {at // unit * unit}")
        limits = self._limits
        for field, value in p.items():
            low, high = limits[field]
            if not low <= value <= high:
                what = f"{self.name}: {field} = {value}"
                return Reason(what, f"{low} to {high}", "compute smaller tiles, one after another")
        return None

    def offsets(self) -> tuple[Any, ...]:
        """The offsets of the elements that are computed, in numpy: of dst and of each source, from its beginning."""
        return tuple(x.ravel() for x in self.by_repeats())

    def by_repeats(self) -> list[Any]:
        """The offsets of the elements of each operand: a row for each repeat."""
        import numpy as np

        found = [at + x for x, at in zip(_relative(self.name, (*self.parameters.items(),), self.elements), self.places)]
        if self.table:
            size = self.elements[1].bits // 8
            found[1] = self.places[1] + np.array([self.table]) // size + self.parameters["srcBaseAddr"] // size
        return found

    def execute(self, *buffers: npt.NDArray[Any]) -> None:
        """Compute on numpy: buffers are flat arrays of dst and of the sources.

        >>> import numpy as np
        >>> from tla.ascend import VectorInstruction, half
        >>> p = {"mask": 4, "repeatTimes": 1, "dstBlkStride": 1, "dstRepStride": 8}
        >>> x = np.zeros(16, np.float16)
        >>> VectorInstruction("Duplicate", (0,), p, (half,), 1.5).execute(x)
        >>> x[:6].tolist()
        [1.5, 1.5, 1.5, 1.5, 0.0, 0.0]

        Raises LeafTypeError for another number of arrays.
        """
        if self.name in OPERATIONS and OPERATIONS[self.name].reads_dst and buffers:
            buffers = (*buffers, buffers[0])
        if len(buffers) != len(self.elements):
            expected = f"{len(self.elements)}: dst, and the sources"
            raise LeafTypeError(f"{self.name} of {len(buffers)} arrays", expected, "give each operand's")
        target, *source = self.by_repeats()
        read = [buffer[at] for buffer, at in zip(buffers[1:], source)]
        kind = buffers[-1 if self.name in SPECIAL else 0].dtype.type
        made = self.computed(read, kind(self.scalar or 0))
        buffers[0][target] = made if self.name in SPECIAL else _stored(made, buffers[0].dtype)

    def computed(self, read: list[Any], scalar: Any) -> Any:
        """The elements that it makes of those that it reads, as numpy computes them: arrays with a row for each repeat;
        scalar: its own, in a type of numpy."""
        import numpy as np

        if self.name in SPECIAL:
            read = [*read, scalar] if SPECIAL[self.name].scalar else read
            return result_of(SPECIAL[self.name], read, self.parameters, int(self.elements[-1].C0), self.mode)
        operation = OPERATIONS[self.name]
        function: Callable[..., Any] = FUNCTIONS.get(operation.compute) or getattr(np, operation.compute)
        given = [*read, *([scalar] if operation.scalar or self.name == "Relu" else [])]
        return function(*(given[::-1] if self.mode == SCALAR_FIRST else given))

    def banks(self, *addresses: int, arch: Any = AtlasA2) -> Banks:
        """The cycles that its accesses take of the banks of the unified buffer.

        addresses   of dst and the sources [bytes], by default 0;  arch   AtlasA2, AtlasA3, Ascend950, or a name

        >>> from tla.ascend import VectorInstruction, float32
        >>> p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 1, "srcBlkStride": 16, "dstRepStride": 8, "srcRepStride": 8}
        >>> VectorInstruction("Exp", (0, 0), p, (float32, float32)).banks(0, 65536).cycles
        8

        Raises LeafTypeError for another number of addresses, and of Gather, of which no manual says how many
        elements a cycle reads.
        Source: AscendC, avoiding bank conflicts in the unified buffer.
        """
        if self.table:
            expected = "an instruction of blocks: no manual says what a cycle reads"
            raise LeafTypeError("the banks of a Gather", expected, "count its repeats")
        if addresses and len(addresses) != len(self.elements):
            what = f"{len(addresses)} addresses of {self.name}"
            raise LeafTypeError(what, f"{len(self.elements)}", "give one of each operand")
        arch = as_architecture(arch)
        given = tuple(int(leaf(x)) for x in addresses) or (0,) * len(self.elements)
        if odd := [x for x in given if not 0 <= x < arch.sizes["UB"]]:
            expected = f"0 to {arch.sizes['UB'] - 1}: bytes of the unified buffer"
            raise RangeError(f"{self.name} at address {odd[0]}", expected, "give addresses in the unified buffer")
        blocks = [self._blocks(k, address) for k, address in enumerate(given)]
        return counted(blocks[0], blocks[1:], arch)

    def _blocks(self, k: int, address: int) -> Any:
        """The number of each block of 32 bytes that an operand touches, a row for each repeat."""
        return (self.by_repeats()[k] * self.elements[k].bits // 8 + address) // 32

    @property
    def text(self) -> str:
        """The call in AscendC, on tensors named dst, and src, or src0 and src1."""
        return self.call(*self._sides)

    def call(self, *names: str) -> str:
        """The call in AscendC, on tensors of these names."""
        sides = [*dict.fromkeys(self._sides)]
        operands = [f"{name}[{c_text(at)}]" for name, at, _side in zip(names, self.places, sides)]
        if self.name in SPECIAL:
            number = [self._number] if SPECIAL[self.name].scalar else []
            arguments = arguments_of(self.name, SPECIAL[self.name], self.parameters, self.mode)
            return f"AscendC::{self.name}({', '.join([*operands, *number])}, {arguments});"
        operation = OPERATIONS[self.name]
        if operation.scalar:
            operands.insert(1 if self.mode == SCALAR_FIRST else len(operands), self._number)
        if self.name == "Cast":
            source, to = self.elements[1].name, self.elements[0].name
            operands.append(f"AscendC::RoundMode::{CASTS[source, to]}")
        strides = ", ".join(self._stride_text(f"{side}{kind}Stride") for kind in ("Blk", "Rep") for side in sides)
        last = strides if self.name == "Duplicate" else f"{{{strides}}}"
        mask, repeats = (c_text(self.parameters[field]) for field in ("mask", "repeatTimes"))
        return f"AscendC::{self.name}({', '.join(operands)}, {mask}, {repeats}, {last});"

    def _stride_text(self, field: str) -> str:
        """A stride in C++, of the type of its field where it is no number."""
        value = self.parameters[field]
        bits = 16 if self._limits[field][1] >= 2**8 else 8
        return str(value) if known(value) is not None else f"static_cast<uint{bits}_t>({c_text(value)})"

    @property
    def _number(self) -> str:
        """Its scalar in C++, of the type that it computes in."""
        e = self.elements[-1 if self.name in SPECIAL else 0]
        return f"static_cast<{CPP_NAMES[e.name]}>({self.scalar})"

    def __str__(self) -> str:
        return f"{self.name}{self.places}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


def sides_of(name: str, count: int) -> tuple[str, ...]:
    """So many operands as fields call them: dst, and src, or src0 and src1; last dst again where it is read."""
    reads = name in OPERATIONS and OPERATIONS[name].reads_dst
    sources = count - 1 - reads
    return ("dst", *(("src0", "src1") if sources == 2 else ("src",) * sources), *(("dst",) * reads))


def _stored(values: Any, dtype: Any) -> Any:
    """Values as a type holds them: to integers rounded to the nearest, the even one of two, and cut off at its ends."""
    import numpy as np

    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.clip(np.rint(values), ends.min, ends.max)
    return rounded(values, dtype)
