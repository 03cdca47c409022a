"""The steps of an operation, told with its layouts.

Source: tensor-layouts 0.3.2, analysis.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..door import guard
from .layouts import (
    Layout,
    blocked_product,
    coalesce,
    complement,
    compose,
    cosize,
    flat_divide,
    idx2crd,
    is_int,
    is_layout,
    is_tuple,
    left_inverse,
    logical_divide,
    logical_product,
    mode,
    raked_product,
    rank,
    right_inverse,
    size,
    tiled_divide,
    zipped_divide,
)
from .modes import modes
from .tuples import IntTree

#: How many elements are shown.
SHOWN = 8


def explain(fn: Callable[..., Any], *args: Any) -> str:
    """Print the steps of an operation, and give the text.

    >>> text = explain(complement, Layout(4, 2), 16)
    complement(4 : 2, 16)
      Fills the gaps in L's codomain up to bound=16.
    <BLANKLINE>
      L = 4 : 2
      image(L) = [0, 2, 4, 6]
      codomain = [0, 16)
      complement = (2, 2) : (1, 8)
      image(complement) = [0, 1, 8, 9]
    """
    lines = _EXPLAINED.get(fn)
    if lines is None:
        known = ", ".join(sorted(f.__name__ for f in _EXPLAINED))
        text = f"explain() does not support {getattr(fn, '__name__', fn)}.\nSupported: {known}."
    else:
        text = "\n".join(_lines(fn, args, lines(*args)))
    print(text)
    return text


def _lines(fn: Callable[..., Any], args: tuple[Any, ...], steps: list[str]) -> list[str]:
    return [f"{fn.__name__}({', '.join(map(str, args))})", *("  " + step if step else "" for step in steps)]


def _layout(x: Any) -> Any:
    return Layout(x, 1) if is_int(x) else tuple(map(_layout, x)) if is_tuple(x) else x


def _of_modes(fn: Callable[..., Any], a: Layout, b: tuple[Any, ...]) -> list[str]:
    done = [
        f"mode {i}: {fn.__name__}({mode(a, i)}, {_layout(x)}) = {fn(mode(a, i), _layout(x))}" for i, x in enumerate(b)
    ]
    return done + [f"mode {i}: unchanged = {mode(a, i)}" for i in range(len(b), rank(a))]


def _divide(a: Layout, b: Any) -> list[str]:
    if is_tuple(b):
        steps = [
            "Divides each mode of L by the corresponding tiler element.",
            "",
            f"L = {a}",
            f"T = {b}",
            *_of_modes(logical_divide, a, b),
        ]
    else:
        bound, tiler = coalesce(a).shape, _layout(b)
        rest = complement(tiler, bound)
        steps = [
            "= compose(L, Layout(T, complement(T, shape(coalesce(L)))))",
            "",
            f"L = {a}",
            f"T = {tiler}",
            f"complement(T, {bound}) = {rest}",
            f"compose(L, {Layout(tiler, rest)}) = {compose(a, Layout(tiler, rest))}",
        ]
    return [*steps, "", f"result = {logical_divide(a, b)}"]


def _product(a: Layout, b: Any) -> list[str]:
    if is_tuple(b):
        steps = [
            "For tuple tilers, applies logical_product mode-by-mode.",
            "",
            f"A = {a}",
            f"B = {b}",
            *_of_modes(logical_product, a, b),
        ]
    else:
        times = _layout(b)
        bound = size(a) * cosize(times)
        rest = complement(a, bound)
        steps = [
            "= Layout(A, compose(complement(A, size(A)*cosize(B)), B))",
            "",
            f"A = {a}",
            f"B = {times}",
            f"size(A) = {size(a)}",
            f"cosize(B) = {cosize(times)}",
            f"size(A) * cosize(B) = {bound}",
            f"complement(A, {bound}) = {rest}",
            f"compose(complement, B) = {compose(rest, times)}",
        ]
    return [*steps, "", f"result = {logical_product(a, b)}"]


def _complement(layout: Layout, cosize_bound: IntTree = None) -> list[str]:
    bound = cosize(layout) if cosize_bound is None else cosize_bound
    found = complement(layout, bound)
    return [
        f"Fills the gaps in L's codomain up to bound={bound}.",
        "",
        f"L = {layout}",
        f"image(L) = {sorted({*map(layout, range(size(layout)))})}",
        f"codomain = [0, {bound})",
        f"complement = {found}",
        f"image(complement) = {sorted({*map(found, range(size(found)))})}",
    ]


def _compose(a: Any, b: Any) -> list[str]:
    found = compose(a, b)
    shown = range(min(size(found), SHOWN))
    if is_layout(b):
        how, values = "C(i) = A(B(i))", [f"  i={i}: B({i})={b(i)}, A({b(i)})={found(i)}" for i in shown]
    else:
        how = "For tuple tilers, composition is applied mode-by-mode."
        values = [f"  coord={c}: result({c})={found(c)}" for c in (idx2crd(i, found.shape) for i in shown)]
    by_mode = _of_modes(compose, a, b) if is_tuple(b) else []
    return [how, "", f"A = {a}", f"B = {b}", f"result = {found}", *by_mode, "", f"First {len(shown)} values:", *values]


def _right_inverse(layout: Any) -> list[str]:
    found = right_inverse(layout)
    checked = [f"  R({i})={found(i)}, L(R({i}))={layout(found(i))}" for i in range(min(size(found), SHOWN))]
    return ["R such that L(R(i)) == i", "", f"L = {layout}", f"R = {found}", "", "Verification:", *checked]


def _left_inverse(layout: Any) -> list[str]:
    found = left_inverse(layout)
    checked = [f"  L({i})={layout(i)}, R(L({i}))={found(layout(i))}" for i in range(min(size(layout), SHOWN))]
    return ["R such that R(L(i)) == i", "", f"L = {layout}", f"R = {found}", "", "Verification:", *checked]


def _blocked(a: Layout, b: Layout) -> list[str]:
    found = blocked_product(a, b)
    return [
        "Like logical_product, but interleaves corresponding modes:",
        "((A0, B0), (A1, B1), ...) — A varies fastest (block-first).",
        "",
        f"logical_product(A, B) = {logical_product(a, b)}",
        f"blocked_product(A, B) = {found}",
        *(f"  mode {i}: {one}" for i, one in enumerate(modes(found))),
    ]


def _raked(a: Layout, b: Layout) -> list[str]:
    blocked, raked = blocked_product(a, b), raked_product(a, b)
    shown = range(min(size(raked), SHOWN))
    return [
        "Like blocked_product, but B varies fastest (rake-first):",
        "((B0, A0), (B1, A1), ...) — elements are interleaved.",
        "",
        f"blocked_product(A, B) = {blocked}",
        f"raked_product(A, B)   = {raked}",
        f"  blocked: {[*map(blocked, shown)]}",
        f"  raked:   {[*map(raked, shown)]}",
    ]


def _variant(fn: Callable[..., Any], form: str) -> Callable[..., list[str]]:
    def steps(a: Layout, b: Any) -> list[str]:
        return [
            "Rearrangement of logical_divide result.",
            "",
            f"logical_divide({a}, {b})",
            f"  = {logical_divide(a, b)}",
            f"{fn.__name__}:",
            f"  = {fn(a, b)}",
            "",
            f"Structure: {form}",
        ]

    return steps


_EXPLAINED: dict[Callable[..., Any], Callable[..., list[str]]] = {
    logical_divide: _divide,
    logical_product: _product,
    complement: _complement,
    compose: _compose,
    right_inverse: _right_inverse,
    left_inverse: _left_inverse,
    blocked_product: _blocked,
    raked_product: _raked,
    zipped_divide: _variant(zipped_divide, "((tiles), (rests))"),
    tiled_divide: _variant(tiled_divide, "((tiles), rest0, rest1, ...)"),
    flat_divide: _variant(flat_divide, "(tile0, tile1, ..., rest0, rest1, ...)"),
}


guard(globals())
