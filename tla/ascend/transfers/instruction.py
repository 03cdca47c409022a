"""An instruction that moves elements, as data: its name, its addresses and its fields.

Source: AscendC.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from ...core.element import Element
from ...core.errors import RangeError
from ...core.int_tuple import leaves
from ...core.layout import Layout, require_origin
from ..element import CPP_NAMES
from .moved import KINDS, Fields, Moved

#: The bytes that a burst is best aligned to, and is a multiple of.
BEST_ALIGNMENT = 512
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Bursts(NamedTuple):
    """What one side of an instruction touches: runs of bytes side by side.

    runs        how many;  length  of each [bytes]
    alignment   the largest power of two, 512 at most, that every run begins at a multiple of, in bytes from the tensor's start

    >>> from tla.ascend import TransferInstruction, half
    >>> i = TransferInstruction("DataCopy", 0, 64, {"blockCount": 2, "blockLen": 3, "srcStride": 5, "dstStride": 0}, half)
    >>> i.reads, i.writes
    (Bursts(runs=2, length=96, alignment=128), Bursts(runs=1, length=192, alignment=512))

    Source: ours; DataCopy's bursts of AscendC.
    """

    runs: int
    length: int
    alignment: int


@dataclass(frozen=True)
class TransferInstruction:
    """One instruction that moves elements.

    name         Nd2Nz, DataCopy, DataCopyPad, LoadData2D, LoadData2DTranspose, LoadData3D or Fixpipe; of Ascend950 also Dn2Nz,
                 LoadData2DV2, LoadData2DMx, FixpipeC310 and DataCopyCO12Dst
    dst, src     where it begins to write and to read, in elements of each side
    parameters   the fields that say what is moved, by AscendC's names
    element      the element type of dst, and of src but for Fixpipe
    form         what else decides: the configuration of Fixpipe, the direction of DataCopyPad, the unit of DataCopy's bursts
                 where it is not 32 bytes, "pairs" where the fields count pairs of elements, "wide" on Ascend950
    settings     fields that change no address, as text of C++: how Fixpipe converts

    >>> from tla.ascend import TransferInstruction, half
    >>> i = TransferInstruction("DataCopy", 0, 64, {"blockCount": 2, "blockLen": 3, "srcStride": 5, "dstStride": 0}, half)
    >>> print(i.moved.dst, i.moved.src)
    (16,3,2):(1,16,48) (16,3,2):(1,16,128)
    >>> print(i.text.replace("; ", ";\n  "))
    { AscendC::DataCopyParams p;
      p.blockCount = 2;
      p.blockLen = 3;
      p.srcStride = 5;
      p.dstStride = 0;
      AscendC::DataCopy(dst[0], src[64], p);
      }

    Source: AscendC.
    """

    name: str
    dst: int
    src: int
    parameters: Fields
    element: Element
    form: str = ""
    settings: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def moved(self) -> Moved:
        """What it moves, as two layouts over one domain; what is valid of the domain is their origin_shape."""
        return KINDS[self.name].moved(self.parameters, self.element, self.form)

    @property
    def text(self) -> str:
        """The call in AscendC, as one block, from a tensor named src to one named dst."""
        kind = KINDS[self.name]
        fields = {f: str(v) for f, v in self.parameters.items() if f not in kind.unset or self.parameters.get("filterW")}
        fields |= {f: v for f, v in self.settings.items() if f[0].islower()}
        assigned = " ".join(f"p.{kind.spelled.get(name, name)} = {value};" for name, value in fields.items())
        names = {"type": CPP_NAMES.get(self.element.name, "ElementDst"), "source": self.settings.get("Source", "float"), "form": self.form}
        names["co2"] = self.form.removeprefix("CFG_").removesuffix("_UB")
        names["config"] = self.form if self.form.endswith("_UB") else f"AscendC::{self.form}"
        struct, call = (text.format(**names, **self.parameters) for text in (kind.struct, kind.call))
        before = " ".join(
            filter(None, (kind.before.format(**self.parameters), self.settings.get("Before", ""), f"AscendC::{struct} p;", assigned))
        )
        return f"{{ {before} AscendC::{call}({self._address('dst')}, {self._address('src')}{self.settings.get('Between', '')}, p); }}"

    def _address(self, side: str) -> str:
        """One side's tensor from its first element on, as elements of another type, twice as wide, where the fields count those."""
        wide = "half" if self.element.bits == 8 else "int8_t"
        return f"{side}[{getattr(self, side)}]{f'.template ReinterpretCast<{wide}>()' if self.form == 'pairs' else ''}"

    def __str__(self) -> str:
        return f"{self.name}(dst={self.dst}, src={self.src}, {', '.join(f'{k}={v}' for k, v in self.parameters.items())})"

    @property
    def reads(self) -> Bursts:
        """The runs of bytes that it reads; of an image with a border, those of the whole window."""
        moved = self.moved
        return _bursts(moved.src, self.src + moved.begin, 32 if "quantPre" in self.settings else self.element.bits)

    @property
    def writes(self) -> Bursts:
        """The runs of bytes that it writes."""
        return _bursts(self.moved.dst, self.dst, self.element.bits)

    def require_fields(self) -> None:
        """RangeError where a field does not hold its value."""
        kind = KINDS[self.name]
        widths = {**kind.bits, **(kind.wide if self.form in ("wide", "pairs") else {})}
        for name, value in self.parameters.items():
            bits = widths.get(name, 16)
            if not 0 <= value < 2**bits:
                what = f"{self.name}: {name} = {value}, in a field of {bits} bits"
                raise RangeError(what, f"0 to {2**bits - 1}", "move smaller tiles, one after another")


def _bursts(layout: Layout, begin: int, bits: int) -> Bursts:
    """The runs of a layout whose modes, valid as they are, are each taken whole or cut once."""
    extents = _valid_extents(layout)
    modes = sorted((abs(int(d)), n) for n, d in zip(extents, map(int, leaves(layout.stride))) if n > 1)
    run, rest = 1, []
    for step, n in modes:
        if step == run:
            run *= n
        else:
            rest.append((step, n))
    steps = [begin, *(step for step, _ in rest)]
    aligned = math.gcd(BEST_ALIGNMENT * 8, *(step * bits for step in steps)) // 8
    return Bursts(math.prod(n for _, n in rest), run * bits // 8, aligned)


def _valid_extents(layout: Layout) -> list[int]:
    """How much of each integer of the shape is valid: all but the last of a mode whole."""
    found: list[int] = []
    for n, mode in zip(require_origin("an instruction", layout), layout.shape):
        left = int(n)
        inner = [*map(int, leaves(mode))]
        for extent in inner[:-1]:
            found.append(min(extent, left))
            left = -(-left // extent)
        found.append(left)
    return found
