"""Two layouts compared: where their offsets differ, by coordinate, or by index if their extents differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...algebra.predicates import same_map
from ...core.conversions import idx2crd
from ...core.errors import TlaError
from ...viz.drawable import View
from .figures import by_index


def compared(views: Sequence[View]) -> dict[str, Any] | None:
    """The verdict on two layouts, and a character for each index: 1 where they differ. None if values are unknown.

    >>> from tla import parse
    >>> from tla.viz.draw import prepare
    >>> from tla.viz.drawable import as_subject
    >>> seen = prepare([as_subject(parse(x)) for x in ("(2,2):(1,2)", "(2,2):(2,1)")], color_by="auto", limit=64).views
    >>> compared(seen)
    {'same': False, 'text': 'they differ at 2 of 4 coordinates, first at (1,0): 1 and 2', 'differs': '0110'}
    """
    a, b = views
    if not (a.has_numbers and b.has_numbers and a.is_whole and b.is_whole):
        return _by_proof(a, b)
    by_coordinate = a.extents == b.extents
    first, second = by_index(a.values, a.shape), by_index(b.values, b.shape)
    count = min(len(first), len(second))
    differs = [k >= count or first[k] != second[k] for k in range(max(len(first), len(second)))]
    wrong = sum(differs[:count])
    what = "coordinates" if by_coordinate else "indices"
    head = "" if by_coordinate else f"{_by(a)} and {_by(b)}, compared by the index: "
    if not any(differs):
        text = f"{head}the same at all {count:,} {what}"
    elif not wrong:
        text = f"{head}the same at the first {count:,} {what}; one goes on to {len(differs):,}"
    else:
        k = differs.index(True)
        at = idx2crd(k, a.shape) if by_coordinate else k
        text = f"{head or 'they '}differ at {wrong:,} of {count:,} {what}, first at {at}: {first[k]} and {second[k]}"
    return {"same": not any(differs), "text": text, "differs": "".join("01"[d] for d in differs)}


def _by(view: View) -> str:
    return " x ".join(map(str, view.extents))


def _by_proof(a: View, b: View) -> dict[str, Any] | None:
    """The verdict on layouts that are not drawn whole: same_map's, with its reason."""
    layouts = a.subject.layout, b.subject.layout
    try:
        same = same_map(*layouts)
    except TlaError:  # of what is no layout, or of other kinds
        return None
    if same is None:
        return None
    why = None if same else same_map.why_not(*layouts)
    return {"same": same, "text": "the same map" if same else f"other maps: {why.what if why else ''}", "differs": ""}
