"""Linear maps over bits as expressions of C."""

from __future__ import annotations

from collections.abc import Sequence

from ..linear import bits


def linear_text(columns: Sequence[int], name: str) -> str:
    """The image of the integer `name` as an expression: each diagonal of the matrix is one mask and one shift.

    columns    what each bit of the integer changes; there are no other bits
    Returns    an expression of unsigned integers, in parentheses where it has an operator

    >>> linear_text([2, 4, 1], "x")
    '((x & 3u) << 1 ^ x >> 2)'
    >>> linear_text([1, 2], "x"), linear_text([0, 0], "x")
    ('x', '0u')
    """
    diagonals: dict[int, int] = {}
    for k, column in enumerate(columns):
        for row in bits.ones(column):
            diagonals[row - k] = diagonals.get(row - k, 0) | 1 << k
    terms = [_shifted(name, diagonals[d], d, (1 << len(columns)) - 1) for d in sorted(diagonals, reverse=True)]
    text = " ^ ".join(terms) or "0u"
    return f"({text})" if " " in text else text


def _shifted(name: str, mask: int, by: int, all_bits: int) -> str:
    """The bits of a mask, shifted to the left, or to the right where `by` is below 0."""
    if mask == all_bits >> max(0, -by) << max(0, -by):
        taken = name  # a shift to the right drops the bits below by itself
    elif mask >= 10:
        taken = f"({name} & {mask:#x}u)"
    else:
        taken = f"({name} & {mask}u)"
    return f"{taken} << {by}" if by > 0 else f"{taken} >> {-by}" if by else taken


def parity_text(mask: int, name: str) -> str:
    """The condition that an odd number of the bits in a mask are set.

    >>> parity_text(4, "lane"), parity_text(5, "lane")
    ('lane & 4u', '__popc(lane & 5u) & 1')
    """
    return f"{name} & {mask}u" if bits.is_power_of_two(mask) else f"__popc({name} & {mask}u) & 1"
