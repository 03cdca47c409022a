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

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Reason
from ...core.layout import Layout
from ...core.values import rounded
from ..element import CPP_NAMES
from .banks import Banks, counted

if TYPE_CHECKING:
    import numpy.typing as npt

#: The bits of a repeat, and of a block.
REPEAT, BLOCK = 256 * 8, 32 * 8
#: The most repeats of one instruction.
MOST_REPEATS = 255


class Operation(NamedTuple):
    """A kind of vector instruction: how many sources, whether a scalar, the types that it has, and numpy's function."""

    sources: int
    scalar: bool
    types: tuple[str, ...]
    compute: str


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
    "Duplicate": Operation(0, True, _ALL, "positive"),
    "Cast": Operation(1, False, (), "positive"),
}
#: (source, destination) of Cast -> how it rounds.
CASTS: Mapping[tuple[str, str], str] = {
    **dict.fromkeys(
        (("half", "float"), ("int8", "half"), ("uint8", "half"), ("int16", "half"), ("int16", "float")), "CAST_NONE"
    ),
    **dict.fromkeys((("half", "int32"), ("half", "int16"), ("half", "int8"), ("half", "uint8")), "CAST_RINT"),
    ("float", "half"): "CAST_RINT",
    ("float", "int32"): "CAST_RINT",
    ("int32", "float"): "CAST_RINT",
}


@dataclass(frozen=True)
class VectorInstruction:
    """One vector instruction on tensors of the unified buffer.

    name         Add, Sub, Mul, Div, Max, Min, Exp, Ln, Abs, Sqrt, Reciprocal, Relu, Adds, Muls, Maxs,
                 Mins, Duplicate, Cast
    places       where dst and the sources begin [elements of each]
    parameters   mask, repeatTimes, and of each operand BlkStride and RepStride [blocks of 32 bytes]
    elements     the types of dst and the sources;  scalar  the number that it takes, or None

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

    @property
    def _sides(self) -> tuple[str, ...]:
        """The operands as fields call them."""
        sources = len(self.elements) - 1
        return ("dst", *(("src0", "src1") if sources == 2 else ("src",) * sources))

    @property
    def operands(self) -> tuple[Layout, ...]:
        """The layout of each operand, from its place on: element j of repeat r, as many of each repeat as
        the mask has."""
        p, most = self.parameters, REPEAT // max(e.bits for e in self.elements)
        found = []
        for side, e in zip(self._sides, self.elements):
            c0 = int(e.C0)
            steps = (1, p[f"{side}BlkStride"] * c0), p[f"{side}RepStride"] * c0
            found.append(Layout(((c0, most // c0), p["repeatTimes"]), steps, (p["mask"], p["repeatTimes"])))
        return tuple(found)

    def require_fields(self) -> None:
        """RangeError for what the hardware does not take: places off a block of 32 bytes, masks, repeats and strides
        past their fields."""
        if reason := self.over_fields():
            raise RangeError(*reason)

    def over_fields(self) -> Reason | None:
        """The first thing that the hardware does not take; None if there is none."""
        p, most = self.parameters, REPEAT // max(e.bits for e in self.elements)
        for side, e, at in zip(self._sides, self.elements, self.places):
            if at % int(e.C0):
                what = f"{self.name}: {side} at element {at}, byte {at * e.bits // 8}"
                return Reason(what, "a multiple of 32 bytes", f"begin it at {at // int(e.C0) * int(e.C0)}")
        wide = 2**8 - 1 if len(self.elements) == 3 else 2**16 - 1
        limits = {"mask": (1, most), "repeatTimes": (0, MOST_REPEATS)}
        limits |= {n: (0, wide if n.endswith("BlkStride") else 255) for n in p if n not in limits}
        for field, value in p.items():
            low, high = limits[field]
            if not low <= value <= high:
                return Reason(
                    f"{self.name}: {field} = {value}", f"{low} to {high}", "compute smaller tiles, one after another"
                )
        return None

    def offsets(self) -> tuple[Any, ...]:
        """The offsets of the elements that are computed, in numpy: of dst and of each source, from the
        beginning of each."""
        import numpy as np

        mask, repeats = self.parameters["mask"], self.parameters["repeatTimes"]
        grid = np.arange(mask)[:, None], np.arange(repeats)[None, :]
        found = []
        for layout, at in zip(self.operands, self.places):
            found.append(np.add(at, np.broadcast_to(layout(*grid), (mask, repeats))).T.ravel())  # repeat after repeat
        return tuple(found)

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
        import numpy as np

        if len(buffers) != len(self.elements):
            raise LeafTypeError(
                f"{self.name} of {len(buffers)} arrays",
                f"{len(self.elements)}: dst, and the sources",
                "give each operand's",
            )
        operation = OPERATIONS[self.name]
        to, *begin = self.offsets()
        values: list[Any] = [buffer[at] for buffer, at in zip(buffers[1:], begin)]
        if operation.scalar or self.name == "Relu":
            values.append(buffers[0].dtype.type(self.scalar or 0))
        function: Callable[..., Any] = getattr(np, operation.compute)
        buffers[0][to] = _stored(function(*values), buffers[0].dtype)

    def banks(self, *addresses: int) -> Banks:
        """The cycles that its accesses take of the banks of the unified buffer; addresses: of dst and the sources
        [bytes], by default 0.

        >>> from tla.ascend import VectorInstruction, float32
        >>> p = {"mask": 64, "repeatTimes": 1, "dstBlkStride": 1, "srcBlkStride": 16, "dstRepStride": 8, "srcRepStride": 8}
        >>> VectorInstruction("Exp", (0, 0), p, (float32, float32)).banks(0, 65536).cycles
        8

        Raises LeafTypeError for another number of addresses. Source: AscendC, avoiding bank conflicts in
        the unified buffer.
        """
        if addresses and len(addresses) != len(self.elements):
            raise LeafTypeError(
                f"{len(addresses)} addresses of {self.name}", f"{len(self.elements)}", "give one of each operand"
            )
        given = addresses or (0,) * len(self.elements)
        blocks = [self._blocks(k, address) for k, address in enumerate(given)]
        return counted(blocks[0], blocks[1:])

    def _blocks(self, k: int, address: int) -> Any:
        """The number of each block of 32 bytes that an operand touches, a row for each repeat."""
        import numpy as np

        layout, element, p = self.operands[k], self.elements[k], self.parameters
        count = -(-p["mask"] // int(element.C0))
        grid = np.arange(count)[None, :] * int(element.C0), np.arange(p["repeatTimes"])[:, None]
        at = np.add(self.places[k], np.broadcast_to(layout(*grid), (p["repeatTimes"], count)))
        return (at * element.bits // 8 + address) // 32

    @property
    def text(self) -> str:
        """The call in AscendC, on tensors named dst, and src, or src0 and src1."""
        p, operation = self.parameters, OPERATIONS[self.name]
        operands = [f"{name}[{at}]" for name, at in zip(self._sides, self.places)]
        if operation.scalar:
            operands.append(f"static_cast<{CPP_NAMES[self.elements[0].name]}>({self.scalar})")
        if self.name == "Cast":
            source, to = self.elements[1].name, self.elements[0].name
            operands.append(f"AscendC::RoundMode::{CASTS[source, to]}")
        strides = ", ".join(str(p[f"{side}{kind}Stride"]) for kind in ("Blk", "Rep") for side in self._sides)
        last = strides if self.name == "Duplicate" else f"{{{strides}}}"
        return f"AscendC::{self.name}({', '.join(operands)}, {p['mask']}, {p['repeatTimes']}, {last});"

    def __str__(self) -> str:
        return f"{self.name}{self.places}({', '.join(f'{k}={v}' for k, v in self.parameters.items())})"


def _stored(values: Any, dtype: Any) -> Any:
    """Values as a type holds them: to integers rounded to the nearest, the even one of two, and cut off at its ends."""
    import numpy as np

    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.clip(np.rint(values), ends.min, ends.max)
    return rounded(values, dtype)
