"""The plan of a vector computation: which instructions compute a tile, repeat by repeat, and the proof that they do.

Rows may follow one another at any whole number of blocks of 32 bytes, and so may the blocks of a row; of a source
either step may be 0. There are several ways: all elements as one row where no operand has gaps, row by row, 256 bytes
of all rows at a time, or a block where steps are more than a field holds. Of those that the fields hold the one with
the fewest repeats is taken, and of these the one with the fewest instructions.

Source: AscendC; CATLASS include/catlass/epilogue/tile (TileBroadcastMul, TileBroadcastOneBlk).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from ...core.cache import LIMIT, memory
from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError, Unproven
from ...core.int_tuple import quoted, shown
from ...core.values import require_numbers
from ...tensors.tensor import Tensor
from ..architecture import AtlasA2, as_architecture
from ..element import as_element, dtype_of, element_of
from .forms import SPECIAL
from .instruction import (
    CASTS,
    COUNT_ONLY,
    EITHER,
    MOST_REPEATS,
    OPERATIONS,
    REPEAT,
    SCALAR_FIRST,
    VectorInstruction,
    sides_of,
)
from .operands import Operand, offsets_of, operand, require_apart, require_in_ub, shape_of
from .special import planned


def vector(
    name: str,
    dst: Tensor,
    *srcs: Tensor,
    scalar: float | None = None,
    mode: str = "",
    element: Any = None,
    arch: Any = AtlasA2,
) -> tuple[VectorInstruction, ...]:
    """The vector instructions that compute the valid elements of `dst` from those of the sources, each from
    the same coordinates.

    name        of the operation: Add, Sub, Mul, Div, Max, Min, AddRelu and SubRelu of two sources; Exp, Ln, Abs,
                Sqrt, Rsqrt, Reciprocal, Relu, Cast and Copy of one; Adds, Subs, Muls, Divs, Maxs, Mins and LeakyRelu of
                one and a scalar; Duplicate of a scalar. Axpy adds a source times a scalar to dst, MulAddDst the product of
                two sources, FusedMulAdd multiplies dst and adds. Of a matrix of
                m rows WholeReduceSum, ...Max and ...Min give a vector of m; BlockReduceSum, ...Max and ...Min one for
                each 32 bytes, PairReduceSum one for each two elements of a row; Brcb gives a row of 32 bytes for each
                element of a vector. Compare and Compares give bytes, a bit for each element, and Select takes such as
                its first source. Gather moves elements of any layout into one row
    dst, srcs   tensors at UB of one shape, vectors or matrices: columns lie side by side, or in blocks of 32 bytes. A
                source may have strides 0. Those without buffers are taken to lie apart
    mode        of Compare and Compares (CompareScalar before): LT, GT, EQ, LE, GE or NE; of Subs and Divs SCALAR_FIRST:
                scalar - src, scalar / src
    element     their type where no buffer tells it; of Cast (dst, src)
    arch        AtlasA2, AtlasA3, Ascend950, or a name. Ascend950 takes the same calls, and 8 KiB of UB to compute them by
                its vector registers
    Returns     VectorInstruction, one after another
    Raises      LeafTypeError for names, types, positions and layouts that the instructions have not; RangeError for
                places, rows and blocks off a block of 32 bytes, and for operands of other sizes; Unproven for sizes
                that are names, and for a source that dst overlaps in part

    >>> from tla import Layout, MakeLayout, MakeTensor
    >>> from tla.ascend import RowMajor, float32, vector
    >>> x = MakeTensor(None, MakeLayout[float32, RowMajor](20, 100, ld=104), position="UB")
    >>> row = MakeTensor(None, Layout((20, 100), (0, 1)), position="UB")
    >>> for i in vector("Mul", x, x, row, element=float32): print(i.text)
    AscendC::Mul(dst[0], src0[0], src1[0], 64, 20, {1, 1, 1, 13, 13, 0});
    AscendC::Mul(dst[64], src0[64], src1[64], 36, 20, {1, 1, 1, 13, 13, 0});

    Law: executed one after another, the instructions write the valid elements of dst, and nothing else.
    Source: AscendC.
    """
    arch = as_architecture(arch)
    if isinstance(name, str) and name in SPECIAL:
        if SPECIAL[name].scalar and scalar is None:
            raise LeafTypeError(f"{name} without a scalar", "the number to compare with", "write scalar=1.5")
        if not SPECIAL[name].scalar and scalar is not None:
            raise LeafTypeError(f"{name} with a scalar", "tensors alone", "leave out scalar=")
        made = planned(name, (dst, *srcs), mode, element, arch.sizes["UB"])
        if scalar is None or not made:
            return made
        _require_scalar(name, scalar, made[0].elements[-1])
        return tuple(replace(i, scalar=scalar) for i in made)
    _require_operation(name, len(srcs), scalar)
    first = isinstance(mode, str) and mode == SCALAR_FIRST and name in EITHER
    if mode is not None and not first and not (isinstance(mode, str) and not mode):
        expected = f"mode= of Compare, or {SCALAR_FIRST!r} of {', '.join(EITHER)}"
        raise LeafTypeError(f"{name} with mode={quoted(mode, 40)}", expected, "leave out mode=")
    if name in COUNT_ONLY:
        what = f"{name}, which has no mask and no strides"
        raise LeafTypeError(
            what, "an operation that is planned in repeats", f"call {name} with a count, or write Select"
        )
    if name in EITHER and "AtlasA" in arch.name:
        raise LeafTypeError(f"{name} on {arch}", "Ascend950, which has it", _INSTEAD[name])
    tensors = (dst, *srcs, *((dst,) if OPERATIONS[name].reads_dst else ()))
    elements = _elements(name, tensors, element)
    if scalar is not None:
        _require_scalar(name, scalar, elements[0])
    sizes = _sizes(name, tensors)
    operands = [operand(name, t, e) for t, e in zip(tensors, elements)]
    if 0 in sizes:
        return ()
    made = _proved(name, operands, sizes, scalar, arch.sizes["UB"])
    return tuple(replace(i, mode=mode) for i in made) if first else made


#: An operation that Ascend950 alone has -> what another architecture does instead.
_INSTEAD = {
    "Subs": "write Adds of the number below 0",
    "Divs": "write Muls of its inverse, or Div of a Duplicate",
}


def _require_operation(name: str, sources: int, scalar: float | None) -> None:
    found = OPERATIONS.get(name) if isinstance(name, str) else None
    if found is None:
        what = f"the vector operation {shown(name)}"
        expected = f"one of {', '.join((*OPERATIONS, *SPECIAL))}"
        raise LeafTypeError(what, expected, 'write vector("Add", dst, a, b)')
    if sources != found.sources or (scalar is None) == found.scalar:
        given = f"{sources} sources and {'no' if scalar is None else 'a'} scalar"
        expected = f"{found.sources} sources and {'a' if found.scalar else 'no'} scalar"
        raise LeafTypeError(f"{name} of {given}", expected, "give these")


def _require_scalar(name: str, scalar: Any, element: Element) -> None:
    """Require a number that the element type holds."""
    import numpy as np

    if isinstance(scalar, bool) or not isinstance(scalar, (int, float)):
        raise LeafTypeError(f"{name} with scalar={quoted(scalar, 40)}", "a number", "write scalar=1.5")
    require_numbers(f"the scalar of {name}", np.asarray(scalar), dtype_of(element))


def _elements(name: str, tensors: tuple[Tensor, ...], given: Any) -> tuple[Element, ...]:
    """The element type of each operand: given, or that of its buffer."""
    require_in_ub(name, tensors)
    told = given if isinstance(given, tuple) and len(given) == len(tensors) else (given,) * len(tensors)
    if any(e is None and t.data is None for t, e in zip(tensors, told)):
        fix = f"write vector({name!r}, ..., element=half)"
        raise LeafTypeError(f"{name} of tensors without buffers", "an element type", fix)
    found = tuple(element_of(t.data) if e is None else as_element(e) for t, e in zip(tensors, told))
    names = tuple(e.name for e in found)
    pairs = [(names[1], names[0])] if name == "Cast" and len(names) == 2 else []
    takes = pairs[0] in CASTS if pairs else len({*names}) == 1 and names[0] in OPERATIONS[name].types
    if not takes:
        expected, fix = f"one of {', '.join(OPERATIONS[name].types)}", "make all operands of one of these types"
        if name == "Cast":
            expected, fix = ", ".join(f"{a} to {b}" for a, b in CASTS), "write element=(dst, src)"
        raise LeafTypeError(f"{name} of {' and '.join(dict.fromkeys(names))}", expected, fix)
    return found


def _sizes(name: str, tensors: tuple[Tensor, ...]) -> tuple[int, int]:
    """The rows and columns that are computed: all that is valid of dst."""
    shapes = [shape_of(name, t) for t in tensors]
    if len({*shapes}) > 1 or len(shapes[0]) > 2:
        what = f"{name} of {' and '.join(map(shown, shapes))}"
        raise RangeError(what, "vectors or matrices of one shape", "give a source strides of 0 where it repeats")
    return (1, *shapes[0]) if len(shapes[0]) == 1 else shapes[0]  # type: ignore[return-value]


# -------------------------------------------------------------------------------------------------------------- ways

Made = tuple[VectorInstruction, ...]


#: Ways that are proved, by all that decides them: for tensors without buffers, which lie apart.
_PROVED: dict[Any, Made] = memory()


def _proved(name: str, operands: list[Operand], sizes: tuple[int, int], scalar: float | None, room: int) -> Made:
    """The best way, once it is proved."""
    tensors = [o.tensor for o in operands]
    layouts = tuple((t.layout, t.offset, t.coord, o.element) for t, o in zip(tensors, operands))
    key, apart = (name, repr(scalar), sizes, room, layouts), all(t.data is None for t in tensors)
    if apart and (found := _PROVED.get(key)):
        return tuple(replace(i) for i in found)  # others on other buffers: programs know instructions by identity
    made = _best(name, operands, sizes, scalar)
    _require_lawful(made, operands, sizes, room)
    if apart:
        if len(_PROVED) >= LIMIT:
            _PROVED.clear()
        _PROVED[key] = made
    return made


def _best(name: str, operands: list[Operand], sizes: tuple[int, int], scalar: float | None) -> Made:
    """The way with the fewest repeats of those that the fields hold; RangeError where none is."""
    ways = sorted(_ways(operands, sizes), key=lambda w: (sum(part.repeats for part in w), len(w)))
    if not ways:
        raise _no_way(name, operands)
    reason = None
    for way in ways:
        made = tuple(_made(name, part, scalar) for part in way)
        wrong = next(filter(None, (i.over_fields() for i in made)), None)
        if wrong is None:
            return made
        reason = reason or wrong
    assert reason is not None
    raise RangeError(*reason)


class _Repeats(NamedTuple):
    """The repeats of an instruction: each computes `mask` columns, the first from (row, column) on.

    steps   from repeat to repeat, of each operand [elements]
    """

    operands: list[Operand]
    start: tuple[int, int]
    mask: int
    repeats: int
    steps: list[int]


def _ways(operands: list[Operand], sizes: tuple[int, int]) -> Iterator[list[_Repeats]]:
    """The instructions of each way that the operands have."""
    m, n = sizes
    whole = all(o.block == int(o.element.C0) for o in operands)
    if whole and (m == 1 or all(o.row == n for o in operands)):
        yield [*_by_rows(operands, (1, m * n))]
    steps = [(o.row, o.element) for o in operands if m > 1] + [(o.block, o.element) for o in operands]
    if any(step % int(e.C0) for step, e in steps):
        return
    yield [*_by_rows(operands, sizes)]
    repeat, block = REPEAT // max(o.element.bits for o in operands), max(int(o.element.C0) for o in operands)
    for width, rows in itertools.product((repeat, block), (MOST_REPEATS, 1)):
        yield [*_by_columns(operands, sizes, width, rows)]
    if len({o.element.bits for o in operands}) == 1:
        yield from ([*_by_blocks(operands, sizes, along)] for along in (False, True))


def _by_rows(operands: list[Operand], sizes: tuple[int, int]) -> Iterator[_Repeats]:
    """Row by row: as many repeats as there are 256 bytes, and one for the rest."""
    (m, n), most = sizes, REPEAT // max(o.element.bits for o in operands)
    (whole, rest), steps = divmod(n, most), [_part(o, most) for o in operands]
    for i in range(m):
        for first in range(0, whole, MOST_REPEATS):
            yield _Repeats(operands, (i, first * most), most, min(MOST_REPEATS, whole - first), steps)
        if rest:
            yield _Repeats(operands, (i, whole * most), rest, 1, steps)


def _by_columns(operands: list[Operand], sizes: tuple[int, int], width: int, rows: int) -> Iterator[_Repeats]:
    """So many columns of each row at a time: a repeat for each row, of so many rows at most."""
    (m, n), steps = sizes, [o.row for o in operands]
    for column, first in itertools.product(range(0, n, width), range(0, m, rows)):
        yield _Repeats(operands, (first, column), min(width, n - column), min(rows, m - first), steps)


def _by_blocks(operands: list[Operand], sizes: tuple[int, int], along_rows: bool) -> Iterator[_Repeats]:
    """A block of each of 8 rows in a repeat, by blocks, or 8 rows after 8 rows; the columns left row by row."""
    (m, n), c0, steps = sizes, int(operands[0].element.C0), [o.row for o in operands]
    turned = [o._replace(row=o.block, block=o.row) for o in operands]  # rows and blocks change places
    if along_rows:
        for block, first in itertools.product(range(n // c0), range(0, m // 8, MOST_REPEATS)):
            count, of_8 = min(MOST_REPEATS, m // 8 - first), [8 * o.block for o in turned]
            yield _Repeats(turned, (block, first * 8 * c0), 8 * c0, count, of_8)
    for row, first in itertools.product(range(m // 8 * 8 if along_rows else 0, m, 8), range(0, n // c0, MOST_REPEATS)):
        count, high = min(MOST_REPEATS, n // c0 - first), min(8, m - row)
        yield _Repeats(turned, (first, row * c0), high * c0, count, [o.row for o in turned])
    if rest := n % c0:
        for row in range(0, m, MOST_REPEATS):
            yield _Repeats(operands, (row, n - rest), rest, min(MOST_REPEATS, m - row), steps)


def _part(o: Operand, count: int) -> int:
    """The step over so many columns, whole blocks [elements]."""
    return count // int(o.element.C0) * o.block


def _made(name: str, part: _Repeats, scalar: float | None) -> VectorInstruction:
    """The instruction of a part."""
    operands, (row, column), mask, repeats, steps = part
    sides = sides_of(name, len(operands))
    fields = {"mask": mask, "repeatTimes": repeats}
    one = [mask <= int(o.element.C0) for o in operands]  # no block follows, and a step may be more than the field holds
    fields |= {f"{side}BlkStride": 1 if x else o.block // int(o.element.C0) for side, o, x in zip(sides, operands, one)}
    fields |= {f"{side}RepStride": step // int(o.element.C0) for side, o, step in zip(sides, operands, steps)}
    if repeats == 1:  # no repeat follows
        fields |= {f"{side}RepStride": 8 for side, _ in zip(sides, operands)}
    places = tuple(o.at + row * o.row + _part(o, column) for o in operands)
    return VectorInstruction(name, places, fields, tuple(o.element for o in operands), scalar)


def _no_way(name: str, operands: list[Operand]) -> RangeError:
    """The error of rows or blocks that lie off blocks of 32 bytes."""
    for o in operands:
        c0 = int(o.element.C0)
        for what, step in (("rows", o.row), ("blocks", o.block)):
            if step % c0:
                text = f"{name} of {what} that are {step} elements apart, {step * o.element.bits // 8} bytes"
                return RangeError(text, "whole blocks of 32 bytes", f"lay it out with ld={-(-step // c0) * c0}")
    what = f"{name} of {shown(operands[0].tensor.layout)}"
    return RangeError(what, "rows in whole blocks of 32 bytes", "copy it into such rows")


# ------------------------------------------------------------------------------------------------------------- proof


def _require_lawful(made: Made, operands: list[Operand], sizes: tuple[int, int], room: int) -> None:
    """Require that each valid element is computed once, from those at its coordinates, in the buffer, and no more."""
    import numpy as np

    found = [np.concatenate(parts) for parts in zip(*(i.offsets() for i in made))]
    wanted = [offsets_of(o.tensor, sizes) for o in operands]
    by_place, order = np.argsort(found[0], kind="stable"), np.argsort(wanted[0], kind="stable")
    if np.unique(wanted[0]).size < wanted[0].size:
        layout = operands[0].tensor.layout
        what = f"{made[0].name} into {shown(layout)}"
        raise LeafTypeError(what, "a place for each element", "give dst strides of its own")
    for have, want in zip(found, wanted):
        if have.shape != want.shape or (have[by_place] != want[order]).any():
            expected = "each element from its own coordinates, once"
            raise Unproven(f"{made[0].name} of {shown(sizes)}", expected, "copy the operands into rows")
    require_apart(made[0].name, [o.tensor for o in operands], [o.element for o in operands], wanted, room)
