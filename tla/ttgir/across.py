"""Operations in which the threads of a program work together: reductions, scans, gathers, histograms and atomics.

A reduction is three steps: each thread reduces its registers, lanes exchange by shuffles, and warps by a conversion of
layout that makes their bits into bits of the lane, after which lanes exchange again; a last conversion brings the
result to its layout.

Source: Triton 3.9's lowering of tt.reduce, tt.scan, tt.gather, tt.histogram and tt.atomic_rmw; each count is
that of its PTX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..core.element import Width
from ..core.errors import RangeError
from ..linear import LinearLayout
from .conversions import Conversion, conversion
from .machines import Machine

Columns = dict[str, list[list[int]]]
_WORD, _WIDEST = 32, 128


class Together(NamedTuple):
    """The instructions of a warp in which lanes exchange values.

    shuffles      of 32 bits
    redux         instructions that reduce over all lanes at once
    conversions   through shared memory
    """

    shuffles: int = 0
    redux: int = 0
    conversions: tuple[Conversion, ...] = ()


def reduction(
    owners: LinearLayout,
    axis: int,
    result: LinearLayout | None,
    elements: Sequence[Width],
    machine: Machine,
    combined_by: Sequence[str],
    used: Sequence[bool] = (),
) -> Together:
    """The instructions of a reduction of one tile, or of several of one layout, along an axis.

    result        the layout of the result; None of a scalar
    elements      of each tile
    combined_by   the names of the operations that combine two elements
    used          whether each result is, by default all
    Raises        RangeError for a layout without lanes whose warps would have to exchange values

    >>> from tla.linear.triton import BlockedLayout
    >>> from tla.ttgir.machines import machine
    >>> owners = BlockedLayout([1, 4], [1, 32], [1, 4], [1, 0]).linear([4, 1024])
    >>> found = reduction(owners, 1, None, [Width(32, "f32")], machine("cuda:80"), ["arith.addf"])
    >>> found.shuffles, len(found.conversions)
    (28, 1)
    """
    columns: Columns = {name: [[*v] for v in owners.bases.get(name, ())] for name in ("register", "lane", "warp")}
    _reduced(columns, axis, "register")
    columns["register"] = [v for v in columns["register"] if any(v)]
    shuffles, redux, passed = 0, 0, list[Conversion]()
    fast = _has_redux(elements, combined_by, machine)
    while True:
        count, lanes = 1 << len(columns["register"]), _reduced(columns, axis, "lane")
        groups = 1 << sum(map(any, columns["lane"]))  # of lanes that reduce together
        if fast and groups < lanes:  # one redux for each group, where that is fewer than the shuffles
            redux += count * groups
        else:
            shuffles += count * lanes * _words(elements)
        if not any(v[axis] for v in columns["warp"]):
            break
        if not columns["lane"]:
            raise RangeError("warps of no lanes", "a layout with lanes", "give the layout that Triton prints")
        moved = _warps_to_lanes(columns, axis)
        passed += _converted(_layout(columns, owners), _layout(moved, owners), elements, machine)
        columns = moved
    if result is not None:
        here = LinearLayout(
            {name: [v[:axis] + v[axis + 1 :] for v in c] for name, c in columns.items()}, result.out_dims
        )
        last = zip(_converted(here, result, elements, machine), used or [True] * len(elements))
        passed += [
            c if read else c._replace(read=None) for c, read in last
        ]  # what nobody uses is stored, and not loaded
    return Together(shuffles + sum(c.shuffles for c in passed), redux, tuple(c for c in passed if c.write is not None))


def _has_redux(elements: Sequence[Width], combined_by: Sequence[str], machine: Machine) -> bool:
    """Whether lanes reduce by redux: one tile, of integers of up to 32 bits, or of f32 where the machine has that."""
    if len(elements) != 1 or not combined_by or not {*combined_by} <= {*machine.redux}:
        return False
    return elements[0].bits == _WORD or (
        elements[0].bits < _WORD and not any(name.endswith("f") for name in combined_by)
    )


def _reduced(columns: Columns, axis: int, name: str) -> int:
    """Reduce along an axis the elements that bits of registers, or of lanes, are of: how many bits these are.

    The partial sums that are left have no number of their own: they are numbered as they come.
    """
    count = sum(v[axis] != 0 for v in columns[name])
    for v in columns[name]:
        v[axis] = 0
    for k, v in enumerate(v for c in columns.values() for v in c if v[axis]):
        v[axis] = 1 << k
    return count


def _words(elements: Sequence[Width]) -> int:
    return sum(-(-element.bits // _WORD) for element in elements)


def _warps_to_lanes(columns: Columns, axis: int) -> Columns:
    """The columns with those of warps along the axis exchanged for lanes': for lanes that hold what others do, if there
    are enough."""
    found = {name: [[*v] for v in c] for name, c in columns.items()}
    lane, warp = found["lane"], found["warp"]
    along = [k for k, v in enumerate(warp) if v[axis]]
    spare = [k for k, v in enumerate(lane) if not any(v)]
    places = spare if len(spare) >= len(along) else range(len(lane))
    for place, k in zip(places, along):
        lane[place], warp[k] = warp[k], lane[place]
    return found


def _layout(columns: Columns, like: LinearLayout) -> LinearLayout:
    """The linear layout of columns; its dimensions are as large as these say."""
    sizes = [1 << max(v[d].bit_length() for c in columns.values() for v in c) for d in range(len(like.out_dims))]
    return LinearLayout(columns, dict(zip(like.out_dims, sizes)))


def _converted(
    src: LinearLayout, dst: LinearLayout, elements: Sequence[Width], machine: Machine
) -> Iterator[Conversion]:
    """The conversions of tiles."""
    return (conversion(src, dst, element, machine) for element in elements)


class Scan(NamedTuple):
    """The instructions of a warp of a scan: shuffles of 32 bits, and the stores and loads of what each warp has, of one
    element each."""

    shuffles: int
    stores: int = 0
    loads: int = 0


def scan(owners: LinearLayout, axis: int, elements: Sequence[Width]) -> Scan:
    """The instructions of a scan along an axis: of each run of a thread the last element goes through the lanes, then
    through the warps.

    >>> from tla.linear.triton import BlockedLayout
    >>> owners = BlockedLayout([1, 4], [1, 32], [2, 2], [1, 0]).linear([4, 256])
    >>> scan(owners, 1, [Width(32, "f32")])
    Scan(shuffles=12, stores=2, loads=2)
    """
    register, lane, warp = (
        [v for v in owners.bases.get(name, ()) if any(v) or name != "register"] for name in ("register", "lane", "warp")
    )
    registers, lanes, warps = (sum(v[axis] != 0 for v in columns) for columns in (register, lane, warp))
    run = run_of(owners, axis)
    runs, blocks = 1 << len(register) - run, 1 << registers - run
    if not warps:  # the sum of the lanes before goes to the rest of a run, and to the next block
        further = (run > 0 or blocks > 1) + (blocks > 1)
        return Scan(runs * (lanes + further) * _words(elements) if lanes else 0)
    loads = (blocks << warps) - 1
    if len(lane) + len(warp) == lanes + warps:  # these follow on one another in memory: vectors
        each = sum(-(-loads * element.bits // _WIDEST) for element in elements)
    else:
        each = loads * len(elements)
    return Scan(runs * (lanes + 1) * _words(elements), runs * len(elements), runs // blocks * each)


def run_of(owners: LinearLayout, axis: int) -> int:
    """The bits of a run of a thread's elements that follow on one another along an axis."""
    run = 0
    while any(v[axis] == 1 << run for v in owners.bases["register"]):
        run += 1
    return run


def gathered(source: LinearLayout, index: LinearLayout, axis: int, element: Width) -> int | None:
    """The shuffles of a gather whose elements are in the warp that has the index; None of one through shared memory.

    >>> from tla.linear.triton import BlockedLayout
    >>> owners = BlockedLayout([1, 2], [1, 32], [4, 1], [1, 0]).linear([32, 64])
    >>> gathered(owners, owners, 1, Width(32, "f32"))
    32
    """
    if any(v[axis] for layout in (source, index) for name in ("warp", "block") for v in layout.bases.get(name, ())):
        return None
    others = [[v[:axis] + v[axis + 1 :] for v in layout.bases["lane"]] for layout in (source, index)]
    if others[0] != others[1]:
        return None
    if [*source.out_dims.values()][axis] == 1:
        return 0
    registers = [[v for v in layout.bases["register"] if any(v)] for layout in (source, index)]
    return (1 << len(registers[1]) + sum(v[axis] != 0 for v in registers[0])) * _words([element])
