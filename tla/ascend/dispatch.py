"""C++'s dispatch: the predicates of TLA as they see a type, static integers only.

`iszN[half](layout)` asks whether a layout is a tag's, by its values. A `TileCopyTla` is chosen by the type: a dynamic
integer is no number there, and counts as 0. A table of what each predicate looks at.

Source: CATLASS include/tla/layout.hpp, `tla::detail`.
"""

from __future__ import annotations

from typing import Any

from ..core.element import C0_BITS, Element, fp8_e8m0
from ..core.errors import LeafTypeError
from ..core.int_tuple import modes_of, shown
from ..core.ints import Int
from ..core.kinds import layout_fix
from ..core.layout import Layout
from .element import as_element

#: A condition: shape or stride, the mode, the integer in it (None for a mode that is one), and its value.
_Condition = tuple[str, int, "int | None", "int | str"]
_PAIRS, _FLAT = (2, 2), (1, 1)

#: Predicate -> (ranks of the modes, whether it is of scales, conditions, conditions that must not hold).
_TABLE: dict[str, tuple[Any, bool, tuple[_Condition, ...], tuple[_Condition, ...]]] = {
    "isVector": ((1,), False, (("stride", 0, None, 1),), ()),
    "isRowMajor": (_FLAT, False, (("stride", 1, None, 1),), ()),
    "isColumnMajor": (_FLAT, False, (("stride", 0, None, 1),), ()),
    "iszN": (
        _PAIRS,
        False,
        (("shape", 0, 0, 16), ("shape", 1, 0, "C0"), ("stride", 1, 0, 1), ("stride", 0, 1, "FR")),
        (),
    ),
    "iszNUnAlign": (
        _PAIRS,
        False,
        (("shape", 0, 1, 1), ("shape", 1, 0, "C0"), ("stride", 0, 0, "C0"), ("stride", 1, 0, 1)),
        (),
    ),
    "iszZ": (
        _PAIRS,
        False,
        (("shape", 0, 0, 16), ("shape", 1, 0, "C0"), ("stride", 1, 0, 1), ("stride", 1, 1, "FR")),
        (),
    ),
    "isnZ": (
        _PAIRS,
        False,
        (("shape", 0, 0, "C0"), ("shape", 1, 0, 16), ("stride", 0, 0, 1), ("stride", 1, 1, "FR")),
        (),
    ),
    "isMxScaleForRowMajorA": ((1, 2), True, (), (("stride", 0, None, 2),)),
    "isMxScaleForColumnMajorA": ((1, 2), True, (("stride", 0, None, 2),), ()),
    "isMxScaleForRowMajorB": ((2, 1), True, (), (("stride", 0, 1, 2),)),
    "isMxScaleForColumnMajorB": ((2, 1), True, (("stride", 0, 1, 2),), ()),
    "isMxScaleForzZ": (_PAIRS, True, (), ()),
    "isMxScaleFornN": (_PAIRS, True, (), ()),
}


def dispatches(layout: object, element: Any) -> tuple[str, ...]:
    """The predicates of TLA that hold for the type of a layout: what C++ dispatches to.

    element   the element type; bytes may be scales only as fp8_e8m0 itself
    Returns   their names, in the order of TLA

    >>> from tla import MakeLayout, parse
    >>> from tla.ascend import L0C, dispatches, half, isRowMajor, zN
    >>> dispatches(MakeLayout[half, zN](100, 60), half), dispatches(MakeLayout[half, L0C](100, 60), half)
    (('iszN',), ('iszN',))
    >>> rows = parse("(4,6):(6,1)")                             # a stride of 1 that is dynamic
    >>> isRowMajor(rows), dispatches(rows, half)
    (True, ())

    Raises LeafTypeError for anything but a Layout. Source: CATLASS `tla::detail::isRowMajor` and its siblings.
    """
    if not isinstance(layout, Layout):
        what = shown(layout) if isinstance(layout, tuple) else f"a {type(layout).__name__}"
        raise LeafTypeError(f"dispatches of {what}", "a Layout: C++ has no other type", layout_fix(layout))
    element = as_element(element)
    return tuple(name for name in _TABLE if _holds(name, layout, element))


def _holds(name: str, layout: Layout, element: Element) -> bool:
    ranks, scales, conditions, unless = _TABLE[name]
    if scales and element != fp8_e8m0:
        return False
    if tuple(len(mode) if isinstance(mode, tuple) else 1 for mode in modes_of(layout.shape)) != ranks:
        return False
    return all(_is(c, layout, element) for c in conditions) and not any(_is(c, layout, element) for c in unless)


def _is(condition: _Condition, layout: Layout, element: Element) -> bool:
    """Whether an integer is static and has a value."""
    where, mode, place, value = condition
    wanted = {"C0": C0_BITS // element.bits, "FR": 16 * C0_BITS // element.bits}.get(str(value), value)
    n = modes_of(getattr(layout, where))[mode]
    n = n if place is None else n[place]
    return type(n) is Int and int(n) == wanted
