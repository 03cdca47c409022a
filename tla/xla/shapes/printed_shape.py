"""A shape in the form in which XLA prints it, taken apart by regular expressions.

Nearly all shapes have this form. Of any other (blanks, comments, rare properties, errors) the answer is None, and the
reader of grammar.py, which goes token by token, reads it or says what is wrong.

Law: where `printed_shape` answers, that reader gives the same.
Source: XLA xla/shape_util.cc and xla/layout.cc (their printers).
"""

from __future__ import annotations

import re

from ...core.arrays import INT64_MAX
from ...core.cache import compiled, plain_memo
from .array_shape import BITS, MAX_TILES, ArrayLayout, ArrayShape, Split, product, unchecked, why_not_valid
from .values import MAX_DEPTH, Shape, TokenShape, TupleShape

_INTS = r"[0-9]{1,18}(?:,[0-9]{1,18})*"
_SIZES = r"(?:<=)?[0-9]{1,18}(?:,(?:<=)?[0-9]{1,18})*"
_PROPERTIES = rf"(?:T((?:\({_INTS}\))+))?(?:L\(([1-9][0-9]{{0,8}})\))?(?:E\(([1-9][0-9]?)\))?(?:S\(([1-9][0-9]?)\))?"
_PROPERTIES += rf"(?:SC((?:\([0-9]{{1,9}}:{_INTS}\))+))?(?:M\(([1-9][0-9]{{0,9}})\))?"
_ARRAY = re.compile(
    rf"([a-z][a-z0-9]*)\[((?:{_SIZES})?)\](?:\{{((?:{_INTS})?)(?::(?=[TLESM]){_PROPERTIES})?(?<!\{{)\}})?(?=[,)]|\Z)"
)
_INDEX = r"(?<= )/\*index=[0-9]+\*/"
_TOKEN = TokenShape()


def printed_shape(text: str) -> Shape | None:
    """The shape of a text, where XLA prints it so.

    >>> print(printed_shape("(s32[], (f32[8,128]{1,0:T(8,128)S(1)}, token[]))"))
    (s32[], (f32[8,128]{1,0:T(8,128)S(1)}, token[]))
    >>> printed_shape("f32[ 8]")
    """
    if text.startswith("("):
        return _tuple(text)
    return _TOKEN if text == "token[]" else _array(text)


def array_at(text: str, at: int) -> tuple[ArrayShape, int] | None:
    """The array whose shape stands in a text at a position, and where it ends.

    >>> shape, end = array_at("(s32[], f32[8,128]{1,0:T(8,128)S(1)})", 8)
    >>> print(shape, end)
    f32[8,128]{1,0:T(8,128)S(1)} 36
    """
    found = _ARRAY.match(text, at)
    array = found and _array(found[0])
    return (array, found.end()) if found and array else None


def _tuple(text: str) -> Shape | None:
    """The tuple of a text. Blanks stand between elements only, so what is between two blanks is an element with the
    brackets around it."""
    stack: list[list[Shape]] = [[]]  # the elements so far: at last those of the innermost tuple
    for piece in (compiled(_INDEX).sub("", text) if "/*" in text else text).split(", "):
        begins = piece.lstrip("(")
        leaf = begins.rstrip(")")
        for _ in range(len(piece) - len(begins)):
            stack.append([])
        if not 1 < len(stack) <= MAX_DEPTH + 1:
            return None
        if leaf or not begins or begins == piece:  # but for that of an empty tuple
            shape = _TOKEN if leaf == "token[]" else _array(leaf)
            if shape is None:
                return None
            stack[-1].append(shape)
        for _ in range(len(begins) - len(leaf)):
            if len(stack) == 1:
                return None
            whole = TupleShape(tuple(stack.pop()))
            stack[-1].append(whole)
    return stack[0][0] if len(stack) == len(stack[0]) == 1 else None


@plain_memo
def _array(text: str) -> ArrayShape | None:
    """The array of a text; None where it is not plain that its parts fit each other."""
    found = _ARRAY.fullmatch(text)
    if found is None:
        return None
    name, dims, order, *properties = found.groups()
    own, bounded = BITS.get(name, 0), "<" in dims
    sizes = _ints(dims.replace("<=", "") if bounded else dims)
    layout, entries = (None, 1) if order is None else _layout(order, *properties)
    if not own or not entries or product(sizes) * entries * max(own, 8) > INT64_MAX:
        return None
    if layout is not None:
        if len(layout.minor_to_major) != len(sizes) or not _may_have(own, layout.element_size_in_bits):
            return None
        if layout.split_configs and why_not_valid(name, sizes, layout):
            return None
    dynamic = tuple([n[0] == "<" for n in dims.split(",")]) if bounded else (False,) * len(sizes)
    return unchecked(ArrayShape, name, sizes, layout, dynamic)


@plain_memo
def _layout(
    order: str,
    tiles: str | None,
    tail: str | None,
    bits: str | None,
    space: str | None,
    splits: str | None,
    prefix: str | None,
) -> tuple[ArrayLayout, int]:
    """The layout of these texts, and how many times larger its tiles make an array at most; 0 where it may be none.

    Proof: a tile of t makes at most n*t of a dimension of n, and L(n) at most n times as many elements.
    """
    minor_to_major = _ints(order)
    levels = tuple(map(_ints, tiles[1:-1].split(")("))) if tiles else ()
    cuts = [cut.split(":") for cut in splits[1:-1].split(")(")] if splits else []
    pieces = tuple([Split(int(d), _ints(at)) for d, at in cuts])
    numbers = int(tail or 1), int(bits or 0), int(space or 0)
    layout = unchecked(ArrayLayout, minor_to_major, levels, *numbers, pieces, int(prefix or 0))
    valid = sorted(minor_to_major) == [*range(len(minor_to_major))] and len(levels) <= MAX_TILES
    return layout, product([*map(product, levels)]) * int(tail or 1) if valid else 0


def _may_have(own: int, given: int) -> bool:
    """Whether E(given) may stand on a type of `own` bits."""
    return given in (0, own) or (own < 8 and given in (8, 16, 32))


def _ints(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()
