"""An instruction that moves elements, as data: its name, its addresses and its fields.

Source: AscendC.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from ...core.element import Element
from ...core.errors import RangeError, Reason
from ...core.ints import IntLike, known
from ...core.layout import Layout
from ...core.leaf_arithmetic import plus
from ...core.questions import at_most, require
from ...symbolic import SymInt
from ...symbolic.conditions import Condition
from ...symbolic.facts import symbols_in, whole
from ...symbolic.forms import best
from ...symbolic.poly import ONE, Poly
from ...symbolic.proofs import is_positive
from ...symbolic.reading import read
from ...symbolic.text import python
from ...symbolic.tree import Tree, number, operation, product, total
from ..element import CPP_NAMES
from .moved import FIELD, KINDS, Fields, Moved
from .side import offsets_in

#: The bytes that a burst is best aligned to, and is a multiple of.
BEST_ALIGNMENT = 512
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Bursts(NamedTuple):
    """The part of memory that one side of an instruction touches: runs of bytes side by side.

    runs        how many;  length  of the longest [bytes]
    alignment   the largest power of two, 512 at most, that every run begins at a multiple of, in bytes from the
                tensor's start

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

    name         Nd2Nz, DataCopy, DataCopyPad, LoadData2D, LoadData2DTranspose, LoadData3D or Fixpipe; of Ascend950 also
                 Dn2Nz, LoadData2DV2, LoadData2DMx, FixpipeC310 and DataCopyCO12Dst
    dst, src     where it begins to write and to read, in elements of each side
    parameters   the fields that say what is moved, by AscendC's names
    element      the element type of dst, and of src but for Fixpipe
    form         what else decides: the configuration of Fixpipe, the direction of DataCopyPad, the unit of DataCopy's
                 bursts where it is not 32 bytes, "pairs" where the fields count pairs of elements, told as elements
                 twice as wide, "bytes of pairs" where the type stays that of 4 bits, "wide" on Ascend950, as a
                 configuration that ends so
    settings     what changes no address, as text of C++: in small letters fields, how Fixpipe converts; in capitals
                 what stands around the call

    >>> from tla.ascend import TransferInstruction, half
    >>> i = TransferInstruction("DataCopy", 0, 64, {"blockCount": 2, "blockLen": 3, "srcStride": 5, "dstStride": 0}, half)
    >>> print(i.moved.dst, i.moved.src)
    (16,3,2):(1,16,48) (16,3,2):(1,16,128)
    >>> i.text.split("; ")[0], i.text.split("; ")[-2]
    ('{ AscendC::DataCopyParams p', 'AscendC::DataCopy(dst[0], src[64], p)')

    Source: AscendC.
    """

    name: str
    dst: Any
    src: Any
    parameters: Fields
    element: Element
    form: str = ""
    settings: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def moved(self) -> Moved:
        """The move as two layouts over one domain; what is valid of the domain is their origin_shape."""
        return KINDS[self.name].moved(self.parameters, self.element, self.form)

    @property
    def text(self) -> str:
        """The call in AscendC, as one block, from a tensor named src to one named dst."""
        return self.call()

    def call(self, dst: str = "dst", src: str = "src", index: str = "index") -> str:
        """The call in AscendC, as one block, on tensors of these names; index: of LoadDataWithSparse."""
        kind = KINDS[self.name]
        unset = (*kind.unset, self.settings.get("Unset"))
        fields = {f: c_text(v) for f, v in self.parameters.items() if f not in unset}
        fields |= {f: v for f, v in self.settings.items() if f[0].islower() and f not in unset}
        assigned = " ".join(f"p.{kind.spelled.get(name, name)} = {value};" for name, value in fields.items())
        names = {"type": CPP_NAMES.get(self.element.name, "ElementDst"), "form": self.form}
        names["source"] = self.settings.get("Source", "float")
        config = self.form.removesuffix("_WIDE")
        names["co2"] = config.removeprefix("CFG_").removesuffix("_UB")
        names["config"] = config if config.endswith("_UB") else f"AscendC::{config}"
        values = {name: c_text(value) for name, value in self.parameters.items()}
        struct, call = (text.format(**names, **values) for text in (kind.struct, self.settings.get("Call", kind.call)))
        first = kind.before.format(**values), self.settings.get("Before", ""), f"AscendC::{struct} p;", assigned
        before = " ".join(filter(None, first))
        between, after = (self.settings.get(x, "") for x in ("Between", "After"))
        if "index" in self.parameters:
            between = f", {index}[{c_text(self.parameters['index'])}]"
        arguments = f"{self._address(dst, self.dst)}, {self._address(src, self.src)}{between}, p{after}"
        return f"{{ {before} AscendC::{call}({arguments}); }}"

    def _address(self, name: str, at: Any) -> str:
        """A tensor from an element on, as elements of another type, twice as wide, where the fields count those."""
        wide = "half" if self.element.bits == 8 else "int8_t"
        return f"{name}[{c_text(at)}]{f'.template ReinterpretCast<{wide}>()' if self.form == 'pairs' else ''}"

    def __str__(self) -> str:
        fields = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.name}(dst={self.dst}, src={self.src}, {fields})"

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
        """RangeError where a field does not hold its value; Unproven where that is not known."""
        if reason := self.over_fields(at_most):
            raise RangeError(*reason)

    def over_fields(self, proved: Callable[[Any, Any], bool | None]) -> Reason | None:
        """The first field that does not hold its value, or None. proved: whether a <= b, or None where not known."""
        kind = KINDS[self.name]
        limits = {**kind.most, **(kind.wide if self.form == "pairs" or self.form.lower().endswith("wide") else {})}
        for name, value in self.parameters.items():
            most, what = limits.get(name, FIELD), f"{self.name}: {name} = {value}"
            for a, b in ((0, value), (value, most if known(value) is not None or most < _FAR else value)):
                if not (proved(a, b) or require("<=", a, b, lambda what=what: what)):  # type: ignore[misc]
                    return Reason(what, f"0 to {most}", "move smaller tiles, one after another")
        return None


#: Rows that are so many elements apart, or more, lie in no memory.
_FAR = 2**40 - 1


def c_text(n: IntLike) -> str:
    """An integer as an expression of C, whose names hold integers with a sign: what Python rounds down, C cuts off."""
    return _c(n.poly, n.form) if isinstance(n, SymInt) else str(n)


def c_condition(c: Condition) -> str:
    """A condition on sizes as an expression of C."""
    if c.question == "divides":
        return f"{_c(c.b, best(c.b), inside='%')} % {_c(c.a, best(c.a), inside='%')} == 0"
    return f"{_c(c.a, best(c.a), inside='<')} {c.question} {_c(c.b, best(c.b), inside='<')}"


def _c(p: Poly, t: Tree, inside: str = "") -> str:
    """A form of p as an expression of C; inside: an operation that it is a side of. C compares before it takes bits."""
    t = _of_c(t, {n.name: whole(n) for n in symbols_in(p)})
    text = python(t).replace("//", "/")
    return f"({text})" if (inside == "%" and t.op not in "nv") or (inside and t.op == "^") else text


def _of_c(t: Tree, names: Mapping[str, Poly]) -> Tree:
    """The tree that has in C the value of t in Python: what is divided there is never negative, or a multiple.

    names   what the names in it stand for
    """
    if t.op in "nv":
        return t
    args = tuple(_of_c(a, names) for a in t.args)
    if t.op in ("min", "max"):  # there of two
        return functools.reduce(functools.partial(operation, t.op), args)
    if t.op not in ("//", "%"):
        return t._replace(args=args)
    (x, d), (divided, by) = args, (read(a, names) for a in t.args)
    turned = is_positive(-by)  # x//d is -x//-d then, and x%d is -(-x%-d)
    if turned:
        x, d, divided = _minus(x), _minus(d), -divided
    if is_positive(divided + ONE):
        quotient, rest = operation("//", x, d), operation("%", x, d)
    elif is_positive(ONE - divided):
        quotient = _minus(operation("//", total([_minus(x), d, number(-1)]), d))
        rest = operation("%", total([d, _minus(operation("%", _minus(x), d))]), d)
    else:
        rest = operation("%", total([d, operation("%", x, d)]), d)
        quotient = operation("//", total([x, _minus(rest)]), d)
    return quotient if t.op == "//" else _minus(rest) if turned else rest


def _minus(t: Tree) -> Tree:
    """The tree of -t."""
    return t.args[0] if t.op == "-" else total(map(_minus, t.args)) if t.op == "+" else product(-1, [t])


def _bursts(layout: Layout, begin: int, bits: int) -> Bursts:
    """The runs of the offsets of a layout, valid as it is, from `begin` on."""
    import numpy as np

    offsets = np.unique(plus(begin, offsets_in(layout)))
    starts = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 2) != 1)
    lengths = np.diff(starts, append=offsets.size)
    aligned = math.gcd(BEST_ALIGNMENT * 8, *(n * bits for n in offsets[starts].tolist())) // 8
    return Bursts(starts.size, int(lengths.max()) * bits // 8, aligned)
