"""The tiles that a divide or a product made. A result alone does not tell them: its extents may be split anywhere."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import viz, xla
from ...algebra.divide import zipped_divide, zipped_product
from ...core.int_tuple import Underscore, modes_of, product_each
from ...core.ints import IntLike, IntTupleLike, known
from ...core.kinds import AnyLayout
from ...viz.drawable import Subject, as_subject
from .operations import Call, Program, Term, drawn

_ZIPPED = {"divide": zipped_divide, "product": zipped_product}


def subjects(program: Program) -> tuple[Subject, ...]:
    """The subjects drawn of a program's value: its layouts, their elements' width, the tiles that a divide made.

    >>> from .grammar import read
    >>> [(str(s.element_width), s.tiling) for s in subjects(read("MakeLayout[half, zN](64, 64)"))]
    [('16 bits (half)', None)]
    """
    value = program.value
    parts = (value.parts or tuple(Term(x, "") for x in value.value)) if isinstance(value.value, tuple) else (value,)
    if isinstance(value.value, xla.Relayout):
        return tuple(map(as_subject, drawn(value.value)))
    made = {id(call.result.value): tiling(call) for call in program.calls}
    return tuple(_subject(x, made.get(id(x.value))) for x in parts if drawn(x.value) == (x.value,))


def _subject(term: Term, tiles: viz.Tiling | None) -> Subject:
    subject = as_subject(term.value)
    return replace(subject, bits=term.element_width or subject.bits, tiling=tiles or subject.tiling)


def tiling(call: Call) -> viz.Tiling | None:
    """The tiles of a call's result, over its modes; None unless it is a divide or product of known sizes.

    >>> from .grammar import read
    >>> found = tiling(read("zipped_divide((_8,_12):(_12,_1), (_4,_3))").calls[0])
    >>> found.extents, str(found)
    ((12, 1), '4 x 3')
    """
    form, _, kind = call.name.rpartition("_")
    if kind not in _ZIPPED or not isinstance(call.result.value, AnyLayout) or len(call.arguments) != 2:
        return None
    a, b = (x.value for x in call.arguments)
    extents, counts, tile = _EXTENTS[form](kind, call.result.value, a, b)
    found = [*map(known, (*extents, *counts, *tile))]
    if None in found or 0 in extents:
        return None
    return viz.Tiling(_ints(extents), _ints(counts), " x ".join(map(str, _ints(tile))), in_memory=True)


_Found = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]


def _logical(kind: str, result: Any, a: IntLike, b: IntLike) -> _Found:
    """Each mode that has a tile is of two modes: the tile, and the others like it."""
    modes = modes_of(result.shape)
    if not isinstance(b, tuple):
        return _zipped(kind, result, a, b)
    cut = [k < len(b) and not isinstance(b[k], Underscore) for k in range(len(modes))]
    extents = tuple(_size(m[0] if c else m) for m, c in zip(modes, cut))
    return extents, (), extents


def _zipped(kind: str, result: Any, a: IntLike, b: object) -> _Found:
    """Mode 0 is the tile, and each index of the others another tile."""
    tile, *others = modes_of(result.shape)
    return (_size(tile), *(1 for _n in others)), (), _sizes(tile) if isinstance(b, tuple) else (_size(tile),)


def _flat(kind: str, result: Any, a: Any, b: Any) -> _Found:
    """The modes of the tile are followed by those of the others."""
    tile = modes_of(_ZIPPED[kind](a, b).shape)[0]
    sizes, rank = _sizes(tile), len(modes_of(result.shape))
    return (*sizes, *(1,) * (rank - len(sizes))), (), sizes


def _blocked(kind: str, result: Any, a: Any, b: IntLike) -> _Found:
    """In each mode the blocks are one behind the other."""
    extents = _padded(_sizes(a.shape), len(modes_of(result.shape)))
    return extents, (), extents


def _raked(kind: str, result: Any, a: Any, b: Any) -> _Found:
    """In each mode the elements of all the blocks alternate."""
    rank = len(modes_of(result.shape))
    return (1,) * rank, _padded(_sizes(b.shape if isinstance(b, AnyLayout) else b), rank), _sizes(a.shape)


_EXTENTS = {
    "logical": _logical,
    "zipped": _zipped,
    "tiled": _zipped,
    "flat": _flat,
    "blocked": _blocked,
    "raked": _raked,
}


def _size(shape: IntTupleLike) -> Any:
    return product_each((shape,))[0]


def _sizes(shape: IntTupleLike) -> tuple[Any, ...]:
    return tuple(map(_size, modes_of(shape)))


def _padded(sizes: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    return (*sizes, *(1,) * (rank - len(sizes)))


def _ints(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    return tuple(known(n) or 0 for n in sizes)
