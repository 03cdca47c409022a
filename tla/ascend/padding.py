"""Whether a matrix in global memory is better padded before it is moved.

Source: CATLASS examples/common/helper.hpp, `IsNeedPadding`.
"""

from __future__ import annotations

from ..core.errors import LeafTypeError, RangeError
from ..core.int_tuple import quoted, shown
from ..core.ints import is_int, leaf
from ..core.layout import Layout
from ..core.questions import at_most, divides
from . import tags
from .recognize import Is
from .tags import Tagged

#: A stride of so many elements does not fit the field of Nd2Nz.
_LIMIT = 65536


def IsNeedPadding(layout: object, align: object) -> bool | None:
    """Whether a matrix is better copied into a padded one first: its rows begin off `align`, or lie too far
    apart for one Nd2Nz.

    layout    of rows or of columns; one of blocks (zN, nZ, ...) needs none. Or a tag with its sizes: RowMajor(m, k)
    align     what the leading dimension should be a multiple of [elements]: 512 bytes read best, which are 256 of half
    Returns   True, False, or None where sizes are not known

    >>> from tla.ascend import IsNeedPadding, RowMajor, half, zN
    >>> IsNeedPadding(RowMajor(100, 300), 256), IsNeedPadding(RowMajor(100, 512), 256), IsNeedPadding(zN[half](100, 300), 256)
    (True, False, False)

    Raises LeafTypeError for anything but layouts and tags, RangeError for an align below 1. Source: CATLASS
    `IsNeedPadding`.
    """
    layout = layout.layout if isinstance(layout, Tagged) else layout
    if not isinstance(layout, Layout):
        what = f"IsNeedPadding of a {type(layout).__name__}"
        raise LeafTypeError(what, "a layout, or a tag with its sizes", "write RowMajor(m, k)")
    if not is_int(align) or at_most(leaf(align), 0):
        what = f"IsNeedPadding with align={shown(align) if is_int(align) else quoted(align, 40)}"
        raise RangeError(what, "1 or more elements", "write 256: 512 bytes of half")
    for tag, mode in ((tags.RowMajor, 0), (tags.ColumnMajor, 1)):
        if Is(tag)(layout) is not False:
            far = at_most(_LIMIT, layout.stride[mode])
            aligned = divides(leaf(align), layout.stride[mode])
            return True if far or aligned is False else None if far is None or aligned is None else False
    return False
