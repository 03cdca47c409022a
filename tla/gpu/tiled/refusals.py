"""Tiled MMAs and copies that cannot be made: refused when they are made, with a change of them that can.

CuTe does not compile them ("Static shape_div failure"), or has layouts with threads twice, or that run past the tile.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from ...algebra.divide import zipped_divide
from ...core.errors import DivisibilityError, Reason, TlaError
from ...core.int_tuple import product_each, shown, size
from ...core.ints import Int
from ...core.layout import Layout
from ...core.make_layout import MakeLayout
from .tiled import vector


def require_layouts(mma: Any) -> None:
    """DivisibilityError where the threads of a tiled MMA, or what they hold of an operand, are no layout."""
    if why := _why_not(mma, ["thr_layout_vmnk"]):
        groups = f"the threads {mma.thr_layout} of groups {mma.atom.thr_id} of {mma.atom.name}"
        shapes = (replace(mma, thr_layout=MakeLayout(s)) for s in _smaller(product_each(mma.thr_layout.shape)))
        works = next(x for x in shapes if _why_not(x, ["thr_layout_vmnk"]) is None)
        what, fix = f"make_tiled_mma: {groups}: {why.what}", f"take {shown(works.thr_layout.shape)}"
        raise DivisibilityError(what, "threads that step evenly over the atom's groups", fix)
    bent = [i for i, p in enumerate(mma.permutations) if isinstance(p, Layout)]  # integers cut every operand evenly
    if bent and (why := _why_not(mma, ["A_TV", "B_TV", "C_TV"])):
        works = next(x for x in _straightened(mma, bent) if _why_not(x, ["A_TV", "B_TV", "C_TV"]) is None)
        changed = [i for i in bent if works.permutations[i] is not mma.permutations[i]]
        named = " and ".join(f"{mma.permutations[i]} of {'MNK'[i]}" for i in changed)
        bend = f"the permutation {named} for the {shown(mma.atom.shape_mnk)} of {mma.atom.name}"
        expected = "permutations whose first modes hold an atom's extent, and its threads, together"
        fix = f"write {shown(works.permutations)}, which keeps the order of {'MNK'[changed[0]]}"
        raise DivisibilityError(f"make_tiled_mma: {bend}: {why.what}", expected, fix)


def _why_not(x: Any, names: Iterable[str]) -> Reason | None:
    """The reason why a layout of a tiled MMA or copy cannot be computed; None where all can."""
    try:
        for name in names:
            getattr(x, name)
    except TlaError as error:
        return error.reason
    return None


def _smaller(extents: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """Shapes of extents of at most these, the largest first; the last is that of one atom."""
    options = [range(int(n), 0, -1) for n in extents]
    yield from sorted(itertools.product(*options), key=lambda s: -int(size(s)))


def _straightened(mma: Any, bent: list[int]) -> Iterator[Any]:
    """The tiled MMA with as few of its permutations as can be replaced by their extents, which keep the order."""
    for count in range(1, len(bent) + 1):
        for some in itertools.combinations(bent, count):
            yield replace(mma, permutations=tuple(size(p) if i in some else p for i, p in enumerate(mma.permutations)))


def require_whole_atoms(where: str, copy: Any) -> None:
    """DivisibilityError where the threads and values of a tiled copy are no layout of whole atoms."""
    if (why := _why_not(copy, ["S_TV", "D_TV"])) is None:
        return
    atom, parts = copy.atom, list(zip(("threads", "values"), copy.TV, product_each(copy.atom.val_ref.shape)))
    name, mode, need = next((p for p in parts if not _divides(p[2], p[1])), parts[1])
    fits = next(n for n in range(int(need) - 1, 0, -1) if int(need) % n == 0 and _divides(Int[n](), mode))
    what = f"{where} of {atom.name} for {atom.val_type}: the {name} {mode}, of which an atom takes {need}: {why.what}"
    fix = f"order them so that the first modes have {need} of them together, or use an atom of {fits} {name}"
    raise DivisibilityError(what, f"the atom's {need} {name} evenly in the first modes", fix)


def _divides(count: Any, mode: Layout) -> bool:
    """Whether a mode is cut into runs of `count`."""
    try:
        zipped_divide(mode, vector(count))
    except TlaError:
        return False
    return True
