"""The values of names in a text that layout_of reads: integers, or sizes that are not known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..core.arrays import INT64_MAX, INT64_MIN
from ..core.errors import LeafTypeError
from ..core.int_tuple import shown
from ..core.ints import is_int, is_sympy
from ..symbolic import SymInt

_INTEGER = re.compile(r"-?[0-9]{1,20}")


def values_of(given: object) -> dict[str, Any]:
    """The values of names: a dict, or a text of them.

    Raises    LeafTypeError for what is no integer of 64 bits, and no size

    >>> values_of("ld=72, p->n = -4, blockDim.x=8*K")
    {'ld': 72, 'p->n': -4, 'blockDim.x': '8*K'}
    """
    pairs = _pairs(given) if isinstance(given, str) else given
    if not isinstance(pairs, Mapping):
        raise _refused(given)
    named = {str(name) if is_sympy(name) else name: value for name, value in pairs.items()}
    for name, value in named.items():
        if not isinstance(name, str) or not re.fullmatch(r"[^\s'\"=][^'\"=]*", name) or not _is_size(value):
            raise _refused({name: value})
    return named


def _pairs(text: str) -> dict[str, Any]:
    """The names and values of a text, between commas; a name may have brackets, and a value may be an expression."""
    found = [part.rpartition("=") for part in text.split(",")] if text.strip() else []
    return {
        name.strip(): int(value) if _INTEGER.fullmatch(value.strip()) else value.strip() for name, _, value in found
    }


def _is_size(value: object) -> bool:
    """Whether a value is an integer of 64 bits, or the text or SymInt of a size that is not known."""
    return isinstance(value, (str, SymInt)) or (is_int(value) and INT64_MIN <= int(value) <= INT64_MAX)  # type: ignore[call-overload]


def _refused(given: object) -> LeafTypeError:
    return LeafTypeError(
        f"values={shown(given)}", "for each name an integer of 64 bits, or a size", "write values='ld=72'"
    )
