"""The questions of tensor-layouts about layouts: their offsets, what memory makes of them, their permutations, and
atoms' coverage.

An answer of several numbers is a dictionary with the names of that library. Everything is counted over all elements.

Source: tensor-layouts 0.3.2, analysis.py.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from ..door import guard
from .atoms import MMAAtom
from .explained import explain
from .layouts import (
    Layout,
    LayoutError,
    LayoutExpr,
    as_affine_layout,
    as_layout_expr,
    cosize,
    is_int,
    max_common_vector,
    mode,
    size,
)
from .matrices import from_F2_matrix, to_F2_matrix
from .modes import modes
from .tuples import Coordinate

__all__ = [
    "aliasing_profile",
    "atom_summary",
    "bank_conflicts",
    "coalescing_efficiency",
    "contiguity",
    "cycles",
    "explain",
    "fixed_points",
    "footprint",
    "from_F2_matrix",
    "functionally_equal",
    "gap_profile",
    "image",
    "is_bijective",
    "is_contiguous",
    "is_even_permutation",
    "is_injective",
    "is_surjective",
    "mode_contiguity",
    "offset_table",
    "operand_analysis",
    "order",
    "per_group_bank_conflicts",
    "per_group_coalescing",
    "permutation_parity",
    "segment_analysis",
    "slice_contiguity",
    "thread_stride_profile",
    "to_F2_matrix",
]

#: An answer of several numbers, by their names.
Answer = dict[str, Any]

# --------------------------------------------------------------------------------------------------------- offsets


def _offsets(layout: object) -> list[int]:
    """The offsets of all elements, by index."""
    found = as_layout_expr(layout)
    return [found(i) for i in range(size(found))]


def image(layout: LayoutExpr) -> list[int]:
    """The offsets that there are, each once, in order.

    >>> image(Layout((4, 2), (0, 1))), is_injective(Layout(4, 2)), is_surjective(Layout(4, 2)), is_bijective(Layout((2, 2), (2, 1)))
    ([0, 1], True, False, True)
    """
    return sorted(set(_offsets(layout)))


def is_injective(layout: LayoutExpr) -> bool:
    return len(image(layout)) == size(layout)


def is_surjective(layout: LayoutExpr, codomain_size: int | None = None) -> bool:
    """True if there is no gap between the offsets; with a size, if they are all from 0 to it."""
    found = image(layout)
    if codomain_size is None:
        return not found or len(found) == found[-1] - found[0] + 1
    if not is_int(codomain_size) or codomain_size < 0:
        raise LayoutError(f"a codomain of {codomain_size}", "a non-negative integer", "give how many offsets there are")
    return found == [*range(codomain_size)]


def is_bijective(layout: LayoutExpr) -> bool:
    """True if each offset of a gapless range is there once."""
    return len(image(layout)) == size(layout) == cosize(layout)


is_contiguous = is_bijective


def functionally_equal(a: LayoutExpr, b: LayoutExpr) -> bool:
    """True if both are the same function of an index."""
    return _offsets(a) == _offsets(b)


def offset_table(layout: LayoutExpr) -> dict[int, list[Any]]:
    """The coordinates of each offset.

    >>> offset_table(Layout((2, 2), (0, 1)))
    {0: [(0, 0), (1, 0)], 1: [(0, 1), (1, 1)]}
    """
    found = as_layout_expr(layout)
    table: dict[int, list[Any]] = {}
    for coordinate, offset in zip(found, _offsets(found)):
        table.setdefault(offset, []).append(coordinate)
    return table


def aliasing_profile(layout: LayoutExpr) -> Answer:
    """The elements that share an offset, counted.

    >>> aliasing_profile(Layout((4, 2), (0, 1)))["reuse_histogram"]
    {4: 2}
    """
    times = Counter(_offsets(layout))
    shared = sorted(offset for offset, n in times.items() if n > 1)
    return {
        "has_aliasing": bool(shared),
        "max_alias_ways": max(times.values(), default=0),
        "aliased_offset_count": len(shared),
        "duplicate_elements": sum(times.values()) - len(times),
        "reuse_histogram": dict(sorted(Counter(times.values()).items())),
        "aliased_offsets": shared,
    }


def footprint(layout: LayoutExpr) -> Answer:
    """The span of the offsets, and how much of it is there."""
    found, total = image(layout), size(layout)
    low, high = (found[0], found[-1]) if found else (0, -1)
    return {
        "min_offset": low,
        "max_offset": max(high, 0) if not found else high,
        "span": high - low + 1,
        "unique_offsets": len(found),
        "total_elements": total,
        "reuse_factor": total / len(found) if found else 0.0,
        "holes": high - low + 1 - len(found),
    }


def gap_profile(layout: LayoutExpr) -> Answer:
    """The runs of offsets without a gap, and the gaps between them.

    >>> gap_profile(Layout((2, 2), (1, 4)))["runs"], gap_profile(Layout((2, 2), (1, 4)))["gap_sizes"]
    ([(0, 1), (4, 5)], [2])
    """
    found = image(layout)
    starts = [i for i, offset in enumerate(found) if i == 0 or offset != found[i - 1] + 1]
    runs = [(found[i], found[end - 1]) for i, end in zip(starts, [*starts[1:], len(found)])]
    gaps = [after[0] - before[1] - 1 for before, after in itertools.pairwise(runs)]
    return {
        "runs": runs,
        "gap_sizes": gaps,
        "max_gap": max(gaps, default=0),
        "avg_gap": sum(gaps) / len(gaps) if gaps else 0.0,
        "run_count": len(runs),
        "isolated_offsets": sum(begin == end for begin, end in runs),
    }


# ---------------------------------------------------------------------------------------------------------- memory


def _groups(layout: object, group_size: int, name: str) -> list[list[tuple[int, list[int]]]]:
    """The threads that go together, each with the offsets of its values: the first mode counts the threads."""
    if group_size <= 0:
        raise LayoutError(f"{name} must be positive: {group_size}", "1 or more", "give how many threads go together")
    offsets, threads = _offsets(layout), size(mode(layout, 0))
    own = [(t, offsets[t::threads]) for t in range(threads)]
    return [own[i : i + group_size] for i in range(0, threads, group_size)] or [[]]


def _cells(offset: int, element_bytes: int, width: int) -> Iterable[int]:
    """The cells of so many bytes in which an element lies."""
    return range(offset * element_bytes // width, ((offset + 1) * element_bytes - 1) // width + 1)


def bank_conflicts(
    layout: LayoutExpr, *, element_bytes: int, num_banks: int = 32, bank_width_bytes: int = 4, group_size: int = 32
) -> Answer:
    """The conflicts in the banks of shared memory, of the first threads that go together: a word more of a bank
    is a way more.

    layout  the offset of a thread, or of a thread and its values

    >>> bank_conflicts(Layout(32, 32), element_bytes=4)["max_ways"], bank_conflicts(Layout(32, 0), element_bytes=4)["max_ways"]
    (32, 1)
    """
    return _conflicts(_groups(layout, group_size, "group_size")[0], element_bytes, num_banks, bank_width_bytes)


def _conflicts(group: list[tuple[int, list[int]]], element_bytes: int, num_banks: int, width: int) -> Answer:
    threads: dict[int, list[int]] = {}
    words: dict[int, set[int]] = {}
    for thread, offsets in group:
        for word in (word for offset in offsets for word in _cells(offset, element_bytes, width)):
            threads.setdefault(word % num_banks, []).append(thread)
            words.setdefault(word % num_banks, set()).add(word)
    ways = max(map(len, words.values()), default=1)
    return {"conflict_free": ways == 1, "max_ways": ways, "bank_to_threads": threads}


def per_group_bank_conflicts(
    layout: LayoutExpr, *, element_bytes: int, group_size: int = 32, num_banks: int = 32, bank_width_bytes: int = 4
) -> Answer:
    """The bank conflicts of all threads, group by group, and the worst group."""
    offsets = _groups(layout, group_size, "group_size")
    groups = [_conflicts(g, element_bytes, num_banks, bank_width_bytes) for g in offsets]
    worst = max(range(len(groups)), key=lambda i: groups[i]["max_ways"])
    return {"groups": groups, "worst_group": worst, "worst_max_ways": groups[worst]["max_ways"]}


def coalescing_efficiency(
    layout: LayoutExpr, *, element_bytes: int, warp_size: int = 32, cache_line_bytes: int = 128
) -> Answer:
    """The cache lines that the first threads touch, and the part of these that they use; the smallest offset
    begins a line.

    >>> coalescing_efficiency(Layout(32, 64), element_bytes=2)["transactions"]
    32
    """
    return _coalesced(_groups(layout, warp_size, "warp_size")[0], element_bytes, cache_line_bytes)


def _coalesced(group: list[tuple[int, list[int]]], element_bytes: int, line: int) -> Answer:
    offsets = _rebased(group)
    lines = {cell for offset in offsets for cell in _cells(offset, element_bytes, line)}
    used = len({*offsets}) * element_bytes
    return {
        "transactions": len(lines),
        "efficiency": used / (len(lines) * line) if lines else 0.0,
        "cache_lines": sorted(lines),
    }


def _rebased(group: list[tuple[int, list[int]]]) -> list[int]:
    """The offsets of a group, from its smallest one on."""
    offsets = [offset for _, own in group for offset in own]
    return [offset - min(offsets) for offset in offsets]


def per_group_coalescing(
    layout: LayoutExpr, *, element_bytes: int, group_size: int = 32, cache_line_bytes: int = 128
) -> Answer:
    """The use of cache lines by all threads, group by group, and the worst group."""
    groups = [_coalesced(g, element_bytes, cache_line_bytes) for g in _groups(layout, group_size, "group_size")]
    worst = min(range(len(groups)), key=lambda i: groups[i]["efficiency"])
    return {"groups": groups, "worst_group": worst, "worst_efficiency": groups[worst]["efficiency"]}


def segment_analysis(
    layout: LayoutExpr, *, element_bytes: int, warp_size: int = 32, segment_bytes: int = 32, cache_line_bytes: int = 128
) -> Answer:
    """The segments and cache lines that the first threads touch, and the bytes of these that they use."""
    offsets = _rebased(_groups(layout, warp_size, "warp_size")[0])
    segments = {cell for offset in offsets for cell in _cells(offset, element_bytes, segment_bytes)}
    lines = {cell for offset in offsets for cell in _cells(offset, element_bytes, cache_line_bytes)}
    used, first = len({*offsets}) * element_bytes, offsets[0] * element_bytes if offsets else 0
    return {
        "segments": len(segments),
        "cache_lines": len(lines),
        "unique_bytes": used,
        "requested_bytes": len(offsets) * element_bytes,
        "transferred_bytes": len(segments) * segment_bytes,
        "segment_efficiency": used / (len(segments) * segment_bytes) if segments else 0.0,
        "first_byte_addr": first,
        "first_alignment": first % segment_bytes,
    }


def thread_stride_profile(layout: LayoutExpr) -> Answer:
    """The steps from each thread to the next, for each of a thread's values."""
    offsets, threads = _offsets(layout), size(mode(layout, 0))
    lanes = [offsets[i : i + threads] for i in range(0, len(offsets), threads)] if threads else []
    deltas = [[after - before for before, after in itertools.pairwise(lane)] for lane in lanes]
    steps = [sorted({*lane}) for lane in deltas]
    all_steps = sorted({step for lane in steps for step in lane})
    return {
        "thread_count": threads,
        "value_count": len(lanes),
        "per_value_deltas": deltas,
        "per_value_unique_strides": steps,
        "per_value_constant_stride": [lane[0] if len(lane) == 1 else None for lane in steps],
        "per_value_is_constant": [len(lane) <= 1 for lane in steps],
        "global_unique_strides": all_steps,
        "is_uniform": len(all_steps) <= 1,
        "has_broadcast_lane": [0] in steps,
    }


# ---------------------------------------------------------------------------------------------------- permutations


def _permutation(layout: LayoutExpr) -> list[int]:
    """The offsets from the smallest one on, which are all from 0 to the size, each once."""
    offsets, found = _offsets(layout), image(layout)
    if len(found) != len(offsets):
        raise LayoutError(f"{layout} is not injective", "each offset once", "take its modes of stride 0 away")
    if found and found[-1] - found[0] + 1 != len(found):
        what = f"the image of {layout} is not a dense interval"
        raise LayoutError(what, "offsets without a gap", "take a contiguous layout")
    return [offset - found[0] for offset in offsets]


def cycles(layout: LayoutExpr) -> list[list[int]]:
    """The cycles of a layout that is a permutation.

    >>> cycles(Layout((2, 2), (2, 1))), order(Layout((2, 2), (2, 1))), permutation_parity(Layout((2, 2), (2, 1)))
    ([[0], [1, 2], [3]], 2, -1)
    """
    after, found, seen = _permutation(layout), [], set[int]()
    for start in range(len(after)):
        if start not in seen:
            cycle = [start]
            while after[cycle[-1]] != start:
                cycle.append(after[cycle[-1]])
            seen.update(cycle)
            found.append(cycle)
    return found


def fixed_points(layout: LayoutExpr) -> list[int]:
    """The indices that are their own offsets."""
    return [i for i, offset in enumerate(_offsets(layout)) if i == offset]


def order(layout: LayoutExpr) -> int:
    """The number of times that a permutation is done until everything is where it was."""
    return math.lcm(*map(len, cycles(layout)))


def permutation_parity(layout: LayoutExpr) -> int:
    """1 for an even permutation, -1 for an odd one."""
    return -1 if sum(len(cycle) - 1 for cycle in cycles(layout)) % 2 else 1


def is_even_permutation(layout: LayoutExpr) -> bool:
    return permutation_parity(layout) == 1


# ------------------------------------------------------------------------------------------------------ contiguity


def contiguity(layout: LayoutExpr) -> int:
    """The number of elements beside each other, from the first on.

    >>> contiguity(Layout((4, 8), (1, 8))), mode_contiguity(Layout((4, 8), (8, 1))), slice_contiguity(Layout((4, 8), (8, 1)), (0, None))
    (4, [1, 8], 8)
    """
    found = as_affine_layout(layout)
    return max_common_vector(found, Layout(size(found)))


def mode_contiguity(layout: LayoutExpr) -> list[int]:
    """The contiguity of each mode."""
    return [contiguity(one) for one in modes(as_affine_layout(layout))] or [1]


def slice_contiguity(layout: LayoutExpr, coord: Coordinate) -> int:
    """The contiguity of what a coordinate leaves open."""
    rest = as_affine_layout(layout)(coord)
    return 1 if is_int(rest) else contiguity(rest)


# ----------------------------------------------------------------------------------------------------------- atoms


def operand_analysis(atom: MMAAtom) -> dict[str, Answer]:
    """The places of each operand of an instruction that its threads' values cover."""
    m, n, k = atom.shape_mnk
    operands = {"a": (atom.a_layout, m * k), "b": (atom.b_layout, n * k), "c": (atom.c_layout, m * n)}
    return {name: _coverage(_offsets(layout), places) for name, (layout, places) in operands.items()}


def _coverage(offsets: Sequence[int], places: int) -> Answer:
    found, wanted = {*offsets}, {*range(places)}
    return {
        "domain_size": places,
        "unique_offsets": len(found),
        "total_accesses": len(offsets),
        "duplicates": len(offsets) - len(found),
        "coverage_ok": found == wanted,
        "missing": sorted(wanted - found),
        "extra": sorted(found - wanted),
        "thread_utilization": len(found) / len(offsets) if offsets else 0.0,
    }


def atom_summary(atom: MMAAtom) -> Answer:
    """The threads and values of an instruction, and whether C is covered once; printed, and in the answer's `text`."""
    operands = {"a": atom.a_layout, "b": atom.b_layout, "c": atom.c_layout}
    covered = operand_analysis(atom)["c"]
    found: Answer = {"name": atom.name, "shape_mnk": atom.shape_mnk, "threads": size(mode(atom.c_layout, 0))}
    found |= {f"values_{name}": size(mode(layout, 1)) for name, layout in operands.items()}
    found["c_coverage_ok"] = covered["coverage_ok"] and not covered["duplicates"]
    found |= {f"{name}_broadcast": operands[name].filter() != operands[name] for name in "ab"}
    found["text"] = _summary(found)
    print(found["text"])
    return found


def _summary(found: Answer) -> str:
    lines = [
        found["name"],
        f"  Shape (M, N, K): {' x '.join(map(str, found['shape_mnk']))}",
        f"  Threads:          {found['threads']}",
        f"  Values per thread: A={found['values_a']}, B={found['values_b']}, C={found['values_c']}",
        f"  C covers M*N:     {found['c_coverage_ok']}",
        *(f"  {name.upper()} has broadcast (stride-0) modes" for name in "ab" if found[f"{name}_broadcast"]),
    ]
    return "\n".join(lines)


guard(globals())
