"""Mmad as an instruction: its fields, the layouts that it reads and writes by them, and the proof that these are those
of the tensors.

Mmad has no strides. On AtlasA2 L0A holds rows of fractals, on Ascend950 columns; L0B rows; L0C columns of 16 by 16
accumulators: each in as many blocks as m, n and k take. So a tile in L0 must be laid out with just these sizes.

Source: AscendC `Mmad`, `MmadParams` (tables 1 to 8, GEMV, kDirectionAlign), `MmadWithSparse`; CATLASS
include/catlass/gemm/tile/tile_mmad.hpp.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...core import element as types
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import quoted, shown
from ...core.ints import is_int, known
from ...core.layout import Layout
from ...core.leaf_arithmetic import ceil_div
from ...core.questions import divides, require
from ...tensors.tensor import Tensor
from ..architecture import Architecture, AtlasA2, as_architecture, position_of
from ..element import as_element, element_of
from ..recognize import Is
from ..tags import zN, zZ
from ..transfers.digits import Given, axes_of, merged
from ..transfers.instruction import c_text
from ..transfers.proof import require_place
from ..transfers.side import Side, plain, side_of

#: The bytes that Mmad's operands begin at a multiple of.
ALIGNED = {"L0C": 1024, "L0A": 512, "L0B": 512, "Bias": 64}
#: The largest m, n and k.
MOST = 4095
#: How many elements along k have one scale of an MX type, and how many a pair of scales: k of Mmad is a multiple of it.
MX_BLOCK, MX_PAIR = 32, 64
#: How many rows of a 4:2 sparse matrix have one byte of the index: two bits for each of four that are stored.
INDEXED = 8

_A2 = ("AtlasA2", "AtlasA3")


def _types(lines: str) -> dict[tuple[str, str], Element]:
    """{(a, b): accumulator} of lines "a b accumulator"."""
    return {(a, b): getattr(types, total) for a, b, total in map(str.split, lines.strip().splitlines())}


_BOTH = "int8 int8 int32\nhalf half float\nfloat float float\nbf16 bf16 float\n"
_FP8 = [f"{a} {b} float" for a in ("fp8_e4m3", "fp8_e5m2") for b in ("fp8_e4m3", "fp8_e5m2")]
_FP4 = [f"{a} {b} float" for a in ("fp4_e2m1", "fp4_e1m2") for b in ("fp4_e2m1", "fp4_e1m2")]
#: The accumulator of each pair of element types: AscendC's tables 7 and 5, and those of MmadMx, whose scales lie beside
#: L0A and L0B.
A2_TYPES = _types(_BOTH + "int4b int4b int32")
ASCEND950_TYPES = _types(_BOTH + "hif8 hif8 float\n" + "\n".join(_FP8 + _FP4))


#: The types that may have scales.
MX_TYPES = {"fp8_e4m3", "fp8_e5m2", "fp4_e2m1", "fp4_e1m2"}


class Operands(NamedTuple):
    """The layouts that a Mmad reads and writes, from its places on: a is (m, k), b (k, n), c (m, n)."""

    a: Layout
    b: Layout
    c: Layout


@dataclass(frozen=True)
class MmadInstruction:
    """One Mmad: c = a * b, or c += a * b, or c = a * b + bias.

    dst, a, b    where the operands begin, in elements of each;  bias   that of the biases, None without
    parameters   the fields of MmadParams: m, n, k, unitFlag, kDirectionAlign, cmatrixInitVal and,
                 on Ascend950, disableGemv
    elements     the types of c, a and b
    scaled       whether a and b are of MX types: each block of 32 along k has a scale beside it, in L0AMx or L0BMx at a
                 sixteenth of the address
    sparse       whether it is a MmadWithSparse: of each four rows of b two are stored, (k / 2, n), and LoadDataWithSparse
                 has brought beside them which

    >>> from tla.ascend import MmadInstruction, float32, half
    >>> i = MmadInstruction(0, 0, 0, None, {"m": 20, "n": 30, "k": 40, "cmatrixInitVal": 1}, (float32, half, half))
    >>> print(i.operands("AtlasA2").a, i.operands("Ascend950").a, i.operands("AtlasA2").c)
    ((16,2),(16,3)):((16,768),(1,256)) ((16,2),(16,3)):((16,256),(1,512)) ((16,2),(16,2)):((16,256),(1,512))

    Source: AscendC `Mmad`.
    """

    dst: Any
    a: Any
    b: Any
    bias: Any
    parameters: Mapping[str, Any]
    elements: tuple[Element, Element, Element]
    scaled: bool = False
    sparse: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether m, n or k is 0: Mmad does nothing then, and does not begin its sums at 0 either."""
        return 0 in (known(self.parameters[name]) for name in "mnk")

    @property
    def scales(self) -> tuple[Layout, Layout]:
        """The layouts of the scales of a, (m, k / 32), and of b, (k / 32, n): blocks of 16 by 2.

        >>> from tla.ascend import MmadInstruction, float32, fp8_e4m3
        >>> i = MmadInstruction(0, 0, 0, None, {"m": 20, "n": 30, "k": 128}, (float32, fp8_e4m3, fp8_e4m3), scaled=True)
        >>> print(*i.scales)
        ((16,2),(2,2)):((2,64),(1,32)) ((2,2),(16,2)):((1,32),(2,64))
        """
        m, n, k = (self.parameters[name] for name in "mnk")
        pairs, blocks = ceil_div(k, MX_PAIR), ceil_div(k, MX_BLOCK)
        (high, wide), along = (ceil_div(x, 16) for x in (m, n)), ((2, pairs), (1, 32))
        a = Layout(((16, high), along[0]), ((2, 32 * pairs), along[1]), (m, blocks))
        return a, Layout((along[0], (16, wide)), (along[1], (2, 32 * pairs)), (blocks, n))

    def operands(self, arch: Any = AtlasA2) -> Operands:
        """The layouts of its operands; of one row in GEMV mode a is a vector."""
        arch = as_architecture(arch)
        p, (_, left, right) = self.parameters, self.elements
        m, n, k = (p[name] for name in "mnk")
        (high, wide), c0a, c0b = (ceil_div(x, 16) for x in (m, n)), int(left.C0), int(right.C0)
        deep = ceil_div(k, 16) * (16 // c0a) if p.get("kDirectionAlign") and left.bits == 32 else ceil_div(k, c0a)
        if known(m) == 1 and not p.get("disableGemv"):
            a = Layout((1, k), (0, 1))
        else:
            rows, columns = (16 * c0a * deep, 16 * c0a) if arch.name in _A2 else (16 * c0a, 16 * c0a * high)
            a = Layout(((16, high), (c0a, deep)), ((c0a, rows), (1, columns)), (m, k))
        held = k // 2 if self.sparse else k
        b = Layout(((c0b, ceil_div(held, c0b)), (16, wide)), ((1, 16 * c0b * wide), (c0b, 16 * c0b)), (held, n))
        return Operands(a, b, Layout(((16, high), (16, wide)), ((16, 256), (1, 256 * high)), (m, n)))

    def call(self, dst: str = "c", a: str = "a", b: str = "b", bias: str = "bias") -> str:
        """The call in AscendC, as one block, on tensors of these names."""
        fields = " ".join(f"p.{name} = {c_text(value)};" for name, value in self.parameters.items())
        third = "" if self.bias is None else f", {bias}[{c_text(self.bias)}]"
        operands = zip((dst, a, b), (self.dst, self.a, self.b), self.elements, (False, self.scaled, self.scaled))
        places = ", ".join(f"{name}[{c_text(at)}]{_with_scales(e) * there}" for name, at, e, there in operands)
        return f"{{ AscendC::MmadParams p; {fields} AscendC::{self.name}({places}{third}, p); }}"

    @property
    def name(self) -> str:
        """The call's name in AscendC: Mmad, or MmadWithSparse."""
        return "MmadWithSparse" if self.sparse else "Mmad"

    @property
    def text(self) -> str:
        """The call in AscendC, on tensors named c, a, b and bias."""
        return self.call()

    def __str__(self) -> str:
        more = "" if self.bias is None else f", bias={self.bias}"
        fields = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.name}(c={self.dst}, a={self.a}, b={self.b}{more}, {fields})"


def _with_scales(e: Element) -> str:
    """The cast to a type whose elements have scales; types of 4 bits always have them."""
    return f".template ReinterpretCast<AscendC::mx_{e.name}_t>()" if e.bits == 8 else ""


def accumulator_of(a: Element, b: Element, arch: Architecture) -> Element:
    """The type that products of two types are added in; LeafTypeError where no Mmad has them."""
    table = A2_TYPES if arch.name in _A2 else ASCEND950_TYPES
    found = table.get((a.name, b.name))
    if found is None:
        pairs = ", ".join(f"{x} by {y}" for x, y in table)
        fix = "name the types: element=half, or element=(fp8_e4m3, fp8_e5m2)"
        raise LeafTypeError(f"a Mmad of {a} by {b} on {arch}", pairs, fix)
    return found


def mmad(
    a: Tensor,
    b: Tensor,
    c: Tensor,
    arch: Architecture = AtlasA2,
    *,
    element: Any = None,
    init: bool = True,
    bias: Tensor | None = None,
    unit_flag: int = 0,
    vector: bool = False,
    scaled: bool = False,
    sparse: bool = False,
) -> MmadInstruction:
    """The Mmad of tiles in L0A, L0B and L0C: its fields, proved to read and write the tiles as they are laid out.

    a, b, c     tensors at L0A (m, k), L0B (k, n) and L0C (m, n), of sizes that are known or not
    arch        AtlasA2, AtlasA3, Ascend950, or a name
    element     the type of a and b, or a pair of types, where no buffer and no block of 32 bytes tells it
    init        whether c begins at 0; without, what c holds is added to. With biases c begins with these
    bias        a vector of n at Bias
    unit_flag   2 or 3: the accumulators are handed to Fixpipe one by one; 3 in the last Mmad
    vector      whether a is one row, as a vector (GEMV mode)
    scaled      whether a and b are of MX types, with scales beside them: on Ascend950, k in whole 64
    sparse      whether b is what is stored of a 4:2 sparse matrix, (k / 2, n), with its index beside it: int8 on AtlasA2
                and AtlasA3, k in whole 8, no biases (MmadWithSparse)
    Returns     MmadInstruction
    Raises      LeafTypeError for positions and types that Mmad has not; RangeError for tiles that begin off their unit
                and sizes that a field does not hold; Unproven where a layout is not the one that Mmad reads or writes,
                with the layout that is

    One row is multiplied as 16 on AtlasA2, as CATLASS does: of one row a would be read as a vector. Of m, n or k of 0 Mmad
    does nothing: taken where that is the sum.

    >>> from tla import MakeLayout, MakeTensor
    >>> from tla.ascend import L0C, half, mmad, nZ, zZ
    >>> a, b, c = (MakeTensor(None, x, position=p) for x, p in (
    ...     (MakeLayout[half, zZ](100, 40), "L0A"), (MakeLayout[half, nZ](40, 60), "L0B"), (L0C(100, 60).layout, "L0C")))
    >>> print(mmad(a, b, c))
    Mmad(c=0, a=0, b=0, m=100, n=60, k=40, unitFlag=0, kDirectionAlign=0, cmatrixInitVal=1)

    Law: the element (i, j) of c becomes the sum of a(i, k) * b(k, j), besides what it begins with.
    Source: AscendC `Mmad`; CATLASS `TileMmadTla`.
    """
    arch = as_architecture(arch)
    for name, given in (("init", init), ("vector", vector), ("scaled", scaled), ("sparse", sparse)):
        if not isinstance(given, bool):
            raise LeafTypeError(f"mmad with {name}={quoted(given, 40)}", "True or False", f"write {name}=True")
    ends = [(a, "L0A"), (b, "L0B"), (c, "L0C"), *([(bias, "Bias")] if bias is not None else [])]
    for t, place in ends:
        _require_position(t, place)
    left, right = _elements(a, b, element)
    total = accumulator_of(left, right, arch)
    sides = [side_of(t, e) for (t, _), e in zip(ends, (left, right, total, total))]
    for (_, place), side in zip(ends, sides):
        require_place(place, side, arch)
        _require_aligned(place, side)
    m, n, k = _sizes(sides[0], sides[1], sides[2], sparse)
    if bias is not None and not require("<=", n, sides[3].valid[-1], lambda: "mmad: a bias for each column"):
        raise RangeError(
            f"mmad of {n} columns with {sides[3].valid[-1]} biases", f"{n} biases", "give one of each column"
        )
    _require_sums(m, n, k, init or bias is not None)
    fields = _fields(m, n, k, arch, init and bias is None, unit_flag, vector)
    require_scaled(left, right, arch, k, scaled)
    if sparse:
        require_sparse((left, right), arch, k, bias is not None)
    bias_at = sides[3].at if bias is not None else None
    made = MmadInstruction(sides[2].at, sides[0].at, sides[1].at, bias_at, fields, (total, left, right), scaled, sparse)
    if left == types.float and arch.name in _A2 and not _same(made.operands(arch).a, sides[0], (m, k)):
        made = MmadInstruction(made.dst, made.a, made.b, made.bias, {**fields, "kDirectionAlign": 1}, made.elements)
    if made.is_empty:
        return made
    shapes = (m, k), (k // 2 if sparse else k, n), (m, n)
    for layout, side, place, extents in zip(made.operands(arch), sides, ("L0A", "L0B", "L0C"), shapes):
        if not _same(layout, side, extents):
            what = f"Mmad {'writes' if place == 'L0C' else 'reads'} {shown(side.layout)} at {place}"
            expected = f"{shown(layout)}: blocks for {shown(extents)}, and no more"
            raise Unproven(what, expected, _advice(place, left, arch, extents))
    return made


def _require_sums(m: Any, n: Any, k: Any, anew: bool) -> None:
    """RangeError for sums of no products that begin at 0, or with biases: Mmad writes none of them."""
    if not anew or 0 in (known(m), known(n)):
        return
    if not require("<=", 1, k, lambda: "mmad: products to add, of sums that begin"):
        expected = "k of 1 or more: of k = 0 Mmad does nothing, and writes no 0"
        raise RangeError("Mmad: k = 0 of sums that begin", expected, "leave it out, or write init=False")


def _require_position(t: object, place: str) -> None:
    found = position_of(t.position) if isinstance(t, Tensor) else None
    if found != place:
        what = f"a tensor at {found}" if isinstance(t, Tensor) else f"a {type(t).__name__}"
        expected = f"one at {place}: a at L0A, b at L0B, c at L0C, biases at Bias"
        raise LeafTypeError(f"mmad of {what}", expected, f"give a tensor at {place}")


def _elements(a: Tensor, b: Tensor, given: Any) -> tuple[Element, Element]:
    """The types of a and b: given, or those of the buffers, or told by blocks of 32 bytes."""
    if given is not None:
        pair = given if isinstance(given, tuple) and len(given) == 2 else (given, given)
        return as_element(pair[0]), as_element(pair[1])
    held = [element_of(t.data) for t in (a, b) if t.data is not None]
    if len(held) == 2:
        return held[0], held[1]
    told = held or [e for e in (types.half, types.float) if any(Is(tag)[e](a.layout) for tag in (zZ, zN))]
    if len(told) == 1:
        return told[0], told[0]
    raise LeafTypeError(f"mmad of {a!r} and {b!r}", "an element type", "write mmad(..., element=half)")


def _require_aligned(place: str, side: Side) -> None:
    bits, unit = 32 if place in ("L0C", "Bias") else side.element.bits, ALIGNED[place]
    elements = unit * 8 // bits
    if not require("divides", elements, side.at, lambda: f"a tile at element {side.at} of {place}"):
        what = f"mmad of a tile at element {side.at} of {place}, byte {side.at * bits // 8}"
        raise RangeError(what, f"a multiple of {unit} bytes", "begin the tile at a whole column of blocks")


def _sizes(a: Side, b: Side, c: Side, sparse: bool) -> tuple[Any, Any, Any]:
    """m, n and k: what is valid of c, and of a along k."""
    (m, n), k = c.valid, a.valid[1]
    pairs = (a.valid[0], m), (b.valid[1], n), (b.valid[0], k // 2 if sparse else k)
    for name, (have, wanted) in zip(("rows of a", "columns of b", "rows of b"), pairs):
        if not require("<=", wanted, have, lambda name=name: f"mmad: as many {name} as are multiplied"):  # type: ignore[misc]
            what = f"mmad of {shown(a.valid)} by {shown(b.valid)} into {shown(c.valid)}"
            raise RangeError(what, f"{wanted} {name}", "take tiles that agree")
    return m, n, k


def require_sparse(kinds: tuple[Element, Element], arch: Architecture, k: Any, bias: bool) -> None:
    """LeafTypeError for types, architectures and biases that MmadWithSparse has not; RangeError for a k that is cut
    inside of a byte of the index."""
    if set(kinds) != {types.int8} or arch.name not in _A2:
        what = f"a sparse product of {kinds[0]} by {kinds[1]} on {arch}"
        raise LeafTypeError(what, "int8 by int8 on AtlasA2 or AtlasA3", "leave out sparse=True")
    if bias:
        raise LeafTypeError("a sparse product with biases", "none: MmadWithSparse has no biases", "leave out bias")
    if not require("divides", INDEXED, k, lambda: "a sparse product: k in whole bytes of the index"):
        fix = f"fill up to {ceil_div(k, INDEXED) * INDEXED} with zeros"
        raise RangeError(f"a sparse product of k = {k}", f"a multiple of {INDEXED}: whole bytes of the index", fix)


def require_scaled(a: Element, b: Element, arch: Architecture, k: Any, scaled: bool) -> None:
    """LeafTypeError where types have no scales, or only scaled products; RangeError for a k that cuts a pair."""
    names = {a.name, b.name}
    if scaled and not (names <= MX_TYPES and arch.name not in _A2):
        what = f"a scaled Mmad of {a} by {b} on {arch}"
        raise LeafTypeError(what, f"{', '.join(sorted(MX_TYPES))} on Ascend950", "leave out the scales")
    if not scaled and any(name.startswith("fp4") for name in names):
        fix = "write scaled=True; of a block scales=True"
        raise LeafTypeError(f"a Mmad of {a} by {b} without scales", "scales beside L0A and L0B", fix)
    if scaled and not require("divides", MX_PAIR, k, lambda: "a scaled Mmad: k in whole pairs of scales"):
        fix = f"fill up to {ceil_div(k, MX_PAIR) * MX_PAIR} with zeros"
        raise RangeError(f"a scaled Mmad of k = {k}", f"a multiple of {MX_PAIR}: whole pairs of scales", fix)


def _fields(m: int, n: int, k: int, arch: Architecture, init: bool, unit_flag: int, vector: bool) -> dict[str, Any]:
    """The fields of MmadParams."""
    if not is_int(unit_flag) or unit_flag not in (0, 2, 3):
        fix = "use 2, and 3 in the last Mmad of an accumulator"
        raise RangeError(f"mmad with unit_flag={shown(unit_flag, 40)}", "0, 2 or 3", fix)
    if vector:
        if not require("<=", m, 1, lambda: "mmad of a vector"):
            raise RangeError(f"mmad of a vector with {m} rows", "one row", "leave out vector=True")
    elif arch.name in _A2 and known(m) == 1:
        m = 16
    elif arch.name in _A2:
        require("<=", 2, m, lambda: "mmad of one row, which is read as a vector (GEMV): take 16 rows then")
    for name, size in zip("mnk", (m, n, k)):
        if not require("<=", size, MOST, lambda name=name: f"Mmad: {name}"):  # type: ignore[misc]
            raise RangeError(f"Mmad: {name} = {size}", f"0 to {MOST}", "multiply smaller tiles, one after another")
    fields = {"m": m, "n": n, "k": k, "unitFlag": unit_flag, "kDirectionAlign": 0, "cmatrixInitVal": int(init)}
    return fields if arch.name in _A2 else {**fields, "disableGemv": int(not vector)}


def _same(layout: Layout, side: Side, extents: tuple[Any, Any]) -> bool:
    """Whether a layout is that of a tile, for as many of its elements from the start on."""
    if len(side.start) != 2 or not all(divides(side.block(i), s) for i, s in enumerate(side.start)):
        return False
    try:
        whole, parts = merged(axes_of(layout, side.layout, extents), Given())
    except Unproven:
        return False
    digits = [*whole, *(d for axis in parts for d in axis.digits)]
    return all(d.src == d.dst or Given().equal(d.src, d.dst) for d in digits)


def _advice(place: str, element: Element, arch: Architecture, extents: tuple[Any, Any]) -> str:
    tag = {"L0A": "zZ" if arch.name in _A2 else "zN", "L0B": "nZ"}.get(place)
    sizes = ", ".join(map(str, map(plain, extents)))
    return f"lay it out as MakeLayout[{element}, {tag}]({sizes})" if tag else f"lay it out as L0C({sizes}).layout"
