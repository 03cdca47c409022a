"""Recognise the tag of a layout: the table read the other way.

A layout has a tag if it is the tag's layout for some sizes and leading dimension, as a function: strides of extents
that are known to be 1 do not count. Several tags may have one layout in common, as zN and L0C of 16-bit elements; then
the first of the table is the one that `recognize` finds, and each predicate says yes.

Source: CATLASS include/tla/layout.hpp, the predicates of `tla::detail`, which see static integers only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..core.conversions import over
from ..core.element import Element
from ..core.errors import LeafTypeError, Predicate, Reason, Unproven
from ..core.int_tuple import leaves, modes_of, product_each, shown
from ..core.ints import Int, IntLike, IntTree, is_int
from ..core.kinds import AnyLayout, layout_fix
from ..core.layout import Layout
from ..core.leaf_arithmetic import mul
from ..core.profiles import congruent
from ..core.questions import at_most, divides, equal
from . import tags
from .element import as_element
from .tags import ALL, C0, GIVEN, TAGS, Tag, Tagged

_1 = Int[1]()
# One condition: whether it holds, and what it says.
Condition = tuple["bool | None", str]


def recognize(layout: Layout, element: int | Element | None = None) -> Tagged | None:
    """The tag of a layout with its parameters: sizes, block, order, leading dimension, contiguous mode. None if
    it has none.

    element   the element type; without one, only tags that need none are found
    Returns   Tagged, whose `layout` has the same shape and strides. Its sizes are the valid ones, and `layout` the same
              with its padding, where these fill the last blocks; of a tile that ends before its last block they are
              whole blocks [elements]. A batch has no tag, a matrix of it has one:
              `recognize(select[1, 2](batch), half)`
    Raises    Unproven where a tag might be, and sizes that are not known decide

    >>> from tla import GetTileLayout, MakeLayout, parse
    >>> from tla.ascend import float, half, recognize, zN
    >>> recognize(GetTileLayout(MakeLayout[half, zN](100, 60), (32, 32), (16, 32)), half)
    zN[half](32, 28, ld=112)
    >>> print(recognize(parse("((_16,4),(_16,4)):((_16,_256),(_1,1024))"), float), recognize(parse("(4,6):(1,2)")))
    L0C[float](64, 64, ld=64) None

    Source: the predicates of TLA, as one answer.
    """
    _require_layout("recognize", layout)
    element, open_tag = None if element is None else as_element(element), None
    for tag in TAGS.values():
        if element is None and C0 in tag.blocks:
            continue
        holds = _fits(tag, layout, element)
        if holds is True:
            return _tagged(tag, layout, element)
        open_tag = open_tag or (tag if holds is None else None)
    if open_tag:
        raise Unproven(f"recognize({shown(layout)})", f"to know whether it is {open_tag}", "use sizes that are known")
    return None


def _require_layout(where: str, x: object) -> None:
    if not isinstance(x, AnyLayout):
        raise LeafTypeError(f"{where} of a {type(x).__name__}", "a layout", layout_fix(x))


def _fits(tag: Tag, layout: Layout, element: Element | None) -> Reason | bool | None:
    """Whether `layout` is one of the layouts of `tag`: True, the reason why not, or None where that is not known."""
    answer: bool | None = True
    for holds, what in _conditions(tag, layout, element):
        if holds is False:
            what = f"{shown(layout)} is not {tag}: {what}"
            return Reason(what, f"what MakeLayout[..., {tag}] makes", "make it with the tag")
        answer = answer and holds
    return answer


def _conditions(tag: Tag, layout: Layout, element: Element | None) -> Iterator[Condition]:
    yield isinstance(layout, Layout), "it has no one shape and stride"
    yield tag.takes(element), f"the tag is for {tag.element}"
    yield congruent(modes_of(layout.shape), tag.step), f"its shape is not nested like {tag.step}"
    yield all(map(is_int, leaves(layout.stride))), "its strides are no integers"
    yield from _blocks_fit(tag, modes_of(layout.shape), element)
    modes = _by_speed(tag, layout)
    expected: Any = _1
    for n, d in modes[:-1] if tag.is_matrix else modes:
        yield _unless_one(n, equal(d, expected)), f"a stride is {d}, not {expected}"
        expected = mul(expected, n)
    if tag.is_matrix:
        n, d = modes[-1]
        for holds, what in _ld_fits(_read(tag, layout, element), d, _valid(layout)[tag.ld_mode]):
            yield _unless_one(n, holds), what


def _by_speed(tag: Tag, layout: Layout) -> list[tuple[Any, Any]]:
    """The extents and strides of a layout nested like the tag, the fastest first."""
    modes = sorted(zip(leaves(tag.step), leaves(layout.shape), leaves(layout.stride)), key=lambda mode: mode[0])
    return [(n, d) for _place, n, d in modes]


def _blocks_fit(tag: Tag, shape: IntTree, element: Element | None) -> Iterator[Condition]:
    for i, (block, extents) in enumerate(zip(tag.blocks, shape)):
        if block == ALL:
            yield equal(extents[1], 1), f"mode {i} is more than one block"
        elif block == GIVEN:
            yield not at_most(extents[0], 0), f"the blocks of mode {i} are empty"
        elif block is not None:
            n = element.C0 if block == C0 and element else block
            yield equal(extents[0], n), f"the blocks of mode {i} are of {extents[0]}, not {n}"
    if tag.sizes.endswith(" c0") and element:
        yield equal(shape[-1], element.C0), f"the last extent is {shape[-1]}, not {element.C0}"


def _ld_fits(made: Tagged, d: IntLike, valid: IntLike) -> Iterator[Condition]:
    """Whether the slowest stride d is that of a leading dimension which has room for what is valid."""
    slow = made.slow_block
    yield divides(slow, d), f"the slowest stride is {d}, no multiple of {slow}"
    ld = over(d, slow)
    yield at_most(valid, ld), f"{valid} elements do not fit in a leading dimension of {ld}"
    yield divides(made.ld_group, ld), f"a leading dimension of {ld} is no multiple of {made.ld_group}"


def _unless_one(n: IntLike, holds: bool | None) -> bool | None:
    """Whether a condition on the stride of an extent n holds, or does not matter."""
    one = equal(n, 1)
    return True if one else holds if one is False or holds else None


def _read(tag: Tag, layout: Layout, element: Element | None) -> Tagged:
    """The tag with what its layout's shape says: the valid sizes where these take as many blocks, else whole blocks."""
    blocks = [extents[0] for block, extents in zip(tag.blocks, modes_of(layout.shape)) if block == GIVEN]
    valid = Tagged(tag, element, (*_valid(layout), *blocks))
    return valid if valid.shape == layout.shape else replace(valid, sizes=(*product_each(layout.shape), *blocks))


def _valid(layout: Layout) -> Any:
    """The valid part of each mode; all of it where that is no box: then its padding is asked too."""
    return layout.origin_shape or product_each(layout.shape)


def _tagged(tag: Tag, layout: Layout, element: Element | None) -> Tagged:
    """The tag of a layout that fits it."""
    made = _read(tag, layout, element)
    if not tag.is_matrix:
        return made
    d = _by_speed(tag, layout)[-1][1]
    alone = not all(holds for holds, _what in _ld_fits(made, d, _valid(layout)[tag.ld_mode]))  # of an extent 1
    return replace(made, ld=made.least_ld if alone else over(d, made.slow_block))


# ------------------------------------------------------------------------------------------------ the predicates


class Is:
    """A predicate of TLA: `iszN[half](layout)`, and `isRowMajor(layout)` of a tag that needs no element type.

    True, False, or None where sizes are not known; `iszN[half].why_not(layout)` says why it is False.

    >>> from tla import MakeLayout, parse
    >>> from tla.ascend import float, half, isL0C, isRowMajor, iszN, zN
    >>> a = MakeLayout[half, zN](100, 60)
    >>> iszN[half](a), iszN[float](a), isRowMajor(a), isRowMajor(parse("(4,6):(6,1)")), isL0C(a)
    (True, False, False, True, True)
    >>> print(iszN[float].why_not(a).what)
    ((_16,7),(_16,4)):((_16,_256),(_1,1792)) is not zN: the blocks of mode 1 are of _16, not _8

    Source: CATLASS `tla::detail::iszN<Element, Layout>` and its siblings.
    """

    def __init__(self, tag: Tag) -> None:
        self.tag = tag

    def __getitem__(self, element: Any) -> Predicate[[Any]]:
        return self._of(as_element(element))

    def __call__(self, layout: object) -> bool | None:
        return self._of(None)(layout)

    def why_not(self, layout: Layout) -> Reason | None:
        """The reason that the answer is False; None where it is not."""
        return self._of(None).why_not(layout)

    def _of(self, element: Element | None) -> Predicate[[Any]]:
        if element is None:
            self.tag.require_element(element)

        def decide(layout: Any) -> Reason | bool | None:
            _require_layout(decide.__name__, layout)
            return _fits(self.tag, layout, element)

        decide.__name__ = self.tag.predicate
        return Predicate(decide)

    def __repr__(self) -> str:
        return f"<predicate {self.tag.predicate}>"


isVector = Is(tags.VectorLayout)
isRowMajor = Is(tags.RowMajor)
isColumnMajor = Is(tags.ColumnMajor)
iszN = Is(tags.zN)
isnZ = Is(tags.nZ)
iszZ = Is(tags.zZ)
isnN = Is(tags.nN)
isL0C = Is(tags.L0C)
iszNUnAlign = Is(tags.zNUnAlign)
isMxScaleForRowMajorA = Is(tags.MxScaleRowMajorA)
isMxScaleForRowMajorB = Is(tags.MxScaleRowMajorB)
isMxScaleForColumnMajorA = Is(tags.MxScaleColumnMajorA)
isMxScaleForColumnMajorB = Is(tags.MxScaleColumnMajorB)
isMxScaleForzZ = Is(tags.MxScalezZ)
isMxScaleFornN = Is(tags.MxScalenN)
