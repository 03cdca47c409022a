"""The check of a program: what its results are made of, in every order that its flags allow, inside of its memories.

Source: ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.errors import LeafTypeError, RangeError
from ...core.ints import leaf
from ...core.layout import Layout, require_origin
from ...symbolic.conditions import Condition
from ..architecture import AtlasA2
from ..element import as_element
from ..schedules import Block
from .logs import read_log
from .memory import Ledger, Memories, Reach, Touched, reach_of
from .origins import POISON, ZERO, Origins, Sum, Term, joined
from .queues import Queues
from .statements import Buffer, Fill, Move, Multiply, Program
from .trace import Event, events
from .values import Values

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..architecture import Architecture

#: The bits of a fractal of L0C: 16 by 16 accumulators.
FRACTAL_OF_L0C = 16 * 16 * 32
#: Below so many fractals a Mmad that is added to asks for a barrier of its pipe before the next.
FEW_FRACTALS = 10

#: So many findings are told; more are counted.
MOST_FINDINGS = 20


class Product(NamedTuple):
    """A result: c is a @ b, plus the biases, or plus what c held.

    c, a, b   the names of tensors in global memory;  bias   the name of a vector, or None
    blocks    the blocks of c that the program makes, with what it adds of k; None: all of c
    adds      whether it adds them to zeros that c holds before
    scales    the names of the tensors of scales of a and b, of MX types; None without
    sparse    the name of the index of a 4:2 sparse b, of which then half of the rows are stored; None of others

    >>> from tla.ascend import Product
    >>> Product("C", "A", "B").terms(64)
    (Term(a='A', b='B', begin=0, end=64),)

    Source: ours.
    """

    c: str
    a: str
    b: str
    bias: str | None = None
    blocks: tuple[Block, ...] | None = None
    adds: bool = False
    scales: tuple[str, str] | None = None
    sparse: str | None = None

    def terms(self, end: int, begin: int = 0) -> Sum:
        """The terms of each element of a block."""
        a, b = (self.a, self.b) if self.scales is None else map("*".join, zip((self.a, self.b), self.scales))
        b = b if self.sparse is None else f"{b}*{self.sparse}"
        return joined([Term(a, b, begin, end), *([] if self.bias is None else [Term(self.bias, None)])])


class Copied(NamedTuple):
    """A result: the elements of one tensor are those of another at the same coordinates.

    dst, src   the names of buffers

    >>> from tla.ascend import Copied
    >>> Copied("tile", "A")
    Copied(dst='tile', src='A')

    Source: ours.
    """

    dst: str
    src: str


class Finding(NamedTuple):
    """A thing that is wrong.

    kind   "value": an element of a result is not what it should be; "outside": a place outside of a memory or a tensor
           is read or written; "order": two instructions touch the same place in no order, "pipe": in the same pipe
           without a barrier between; "flag": a flag is set twice, waited for by nothing, or for ever
    what   in words;  event   where it shows, or None;  between   of an order the two events and their place (Touched)

    >>> from tla.ascend import Finding
    >>> print(Finding("order", "Mmad may not wait for LoadData2D"))
    order: Mmad may not wait for LoadData2D

    Source: ours.
    """

    kind: str
    what: str
    event: Any = None
    between: Touched | None = None

    def __str__(self) -> str:
        return f"{self.kind}: {self.what}"


@dataclass(frozen=True)
class Report:
    """The findings of a check.

    findings   what is wrong, the first of each kind and place
    notes      what is right if a pipe finishes what it begins in order, as CATLASS takes for granted and the manual
               does not promise
    counts     how much was gone through: events, elements of results
    proved     of a block of sizes that are names: what is proved, for which sizes; conditions on sizes under
               which it is

    >>> from tla.ascend import block
    >>> report = block((20, 20, 20), (32, 32, 32), (32, 32, 32)).check()
    >>> report.holds, report.counts["elements of results"]
    (True, 400)

    Source: ours.
    """

    findings: tuple[Finding, ...]
    notes: tuple[Finding, ...]
    counts: Mapping[str, int]
    proved: tuple[str, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def __str__(self) -> str:
        counted = ", ".join(f"{n} {what}" for what, n in self.counts.items())
        told = [str(f) for f in self.findings[:MOST_FINDINGS]]
        more = [f"and {len(self.findings) - MOST_FINDINGS} more"] if len(self.findings) > MOST_FINDINGS else []
        return "\n".join(
            [
                f"{'holds' if self.holds else 'does not hold'}: {counted}",
                *told,
                *more,
                *(f"proved: {what}" for what in self.proved),
                *(f"where {c}" for c in self.conditions),
                *(f"note: {n.what}" for n in self.notes),
            ]
        )


def check(
    log: object, layouts: Mapping[str, Any], results: Sequence[Product | Copied], arch: str | Architecture = AtlasA2
) -> Report:
    """Check the instructions of a foreign kernel, one core's, by the log that a stand-in for AscendC has written.

    log       a path, or lines of JSON: a call, its types and its arguments
    layouts   of each tensor in global memory, by name: (address, element type, layout)
    results   what the kernel makes: Product of a matrix product, Copied of a tile that is moved; all other
              tensors stay as they are
    arch      AtlasA2, AtlasA3, Ascend950, or a name
    Returns   Report: which element is wrong and what is there instead, which bytes outside are touched, which accesses
              are in no order

    >>> from tla import MakeLayout
    >>> from tla.ascend import Buffer, Copied, RowMajor, check, half, zN
    >>> log = ['{"call": "DataCopy", "args": [{"type": "half", "position": 1, "address": 0}, '
    ...        '{"type": "half", "position": -1, "address": 4096}, '
    ...        '{"struct": "AscendC::Nd2NzParams", "ndNum": 1, "nValue": 16, "dValue": 20, "srcNdMatrixStride": 0, "srcDValue": 20, '
    ...        '"dstNzC0Stride": 16, "dstNzNStride": 1, "dstNzMatrixStride": 0}]}']
    >>> tile = Buffer("tile", "L1", half, MakeLayout[half, zN](16, 20))
    >>> print(check(log, {"A": (4096, half, MakeLayout[half, RowMajor](16, 20)), "tile": tile}, [Copied("tile", "A")]))
    holds: 1 events, 320 elements of results
    >>> print(check(log, {"A": (4096, half, MakeLayout[half, RowMajor](16, 20, ld=24)), "tile": tile}, [Copied("tile", "A")]))
    does not hold: 1 events, 320 elements of results
    value: tile[1, 0] is what nothing was written to, not A[1, 0], and 299 more elements are wrong

    Raises LeafTypeError for calls that are not known, RangeError for addresses in no tensor. Source: CATLASS
    tests/unittest/stub.
    """
    if (
        not isinstance(layouts, Mapping)
        or not isinstance(log, (str, Path, list, tuple))
        or not isinstance(results, (list, tuple))
    ):
        what = f"check of {type(log).__name__}, {type(layouts).__name__} and {type(results).__name__}"
        raise LeafTypeError(
            what,
            "a log, the tensors by name, and a list of results",
            'write check(lines, {"A": ...}, [Product("C", "A", "B")])',
        )
    lines = Path(log).read_text().splitlines() if isinstance(log, (str, Path)) else log
    return check_program(read_log(lines, arch, [_buffer(name, given) for name, given in layouts.items()]), results)


def _buffer(name: str, given: Any) -> Buffer:
    """A tensor by its address, element type and layout; or the Buffer that it is."""
    if isinstance(given, Buffer):
        return given
    if not isinstance(given, tuple) or len(given) != 3 or not isinstance(given[2], Layout):
        raise LeafTypeError(
            f"the tensor {name}: {given!r:.60}", "(address, element type, layout)", "write (0x1000, half, layout)"
        )
    address, element, layout = given
    return Buffer(name, "GM", as_element(element), layout, int(leaf(address)))


def check_program(program: Program, results: Sequence[Product | Copied], values: Mapping[str, int] = {}) -> Report:
    """Check a program whose sizes have values.

    results   the tensors that it makes, all others stay as they are
    Returns   Report

    Raises LeafTypeError for names that it has not. Source: ours.
    """
    memories = Memories(program)
    origins = Origins(memories)
    made = {r.c if isinstance(r, Product) else r.dst for r in results}
    _require_names(program, results)
    for name, buffer in program.buffers.items():
        if buffer.position == "GM" and name not in made:
            origins.fill(name)
    for r in results:
        if isinstance(r, Product) and r.adds:
            origins.clear(r.c)
    found, notes, count = _in_order(program, memories, values, origins.run)
    elements = sum(_compare(r, origins, program, found) for r in results)
    for name, buffer in program.buffers.items():
        if buffer.position == "GM":
            _stays(name, origins, name in made, found)
    return Report(tuple(found.all), tuple(notes.all), {"events": count, "elements of results": elements})


def check_numbers(program: Program, tensors: Mapping[str, Any], wanted: Mapping[str, Any]) -> Report:
    """Check a program on numbers that no operation rounds: what it makes, in every order that its flags allow, and
    where it reaches.

    tensors   the numbers of tensors in global memory;  wanted  those of its results
    """
    import numpy as np

    numbers = Values(program, tensors, exact=True)
    before = {name: numbers.held[name].copy() for name in numbers.memories.ends}
    found, notes, count = _in_order(program, numbers.memories, {}, numbers.run)
    for name, values in wanted.items():
        have = numbers.get(name)
        if (wrong := (have != values) & ~(np.isnan(have) & np.isnan(values))).any():
            coord = tuple(int(x[0]) for x in np.nonzero(wrong))
            what = f"{name}[{', '.join(map(str, coord))}] is not its sum, nor are {int(wrong.sum()) - 1} more elements"
            found.add(Finding("value", what))
        numbers.write(numbers.places(name), np.full(have.shape, np.nan))
    for name, cells in before.items():
        changed = ~((numbers.held[name] == cells) | (np.isnan(numbers.held[name]) & np.isnan(cells)))
        if changed.any():
            found.add(
                Finding("outside", f"byte {int(changed.argmax()) * numbers.memories.bits // 8} of {name} is written")
            )
    return Report(
        tuple(found.all),
        tuple(notes.all),
        {"events": count, "elements of results": sum(np.size(v) for v in wanted.values())},
    )


def _in_order(
    program: Program, memories: Memories, values: Mapping[str, int], run: Callable[[Event], None]
) -> tuple[_Findings, _Findings, int]:
    """Run the events of a program in an order that its flags allow: the findings and the notes of flags, order and
    places, and how many."""
    ledger, found, notes, count = Ledger(memories), _Findings(), _Findings(), 0
    queues = Queues(events(program, values), lambda event: _units(event, memories))
    for begun in queues:
        count += 1
        reach = _reach(begun.event, memories, found)
        if reach is None:
            continue
        for touched in ledger.touch(begun, reach):
            _note(touched, begun.event, found, notes)
        run(begun.event)
    for where, troubles in ((found, queues.troubles), (notes, queues.early)):
        for trouble in troubles:
            where.add(Finding("flag", trouble.what, trouble.event))
    return found, notes, count


class _Findings:
    """Findings, each text once."""

    def __init__(self) -> None:
        self.all: list[Finding] = []
        self._seen: set[tuple[str, str]] = set()

    def add(self, finding: Finding) -> None:
        if finding[:2] not in self._seen:
            self._seen.add(finding[:2])
            self.all.append(finding)


def _require_names(program: Program, results: Iterable[Product | Copied]) -> None:
    for r in results:
        for name in (r.c, r.a, r.b, r.bias, r.sparse, *(r.scales or ())) if isinstance(r, Product) else r:
            if name is not None and name not in program.buffers:
                known = ", ".join(program.buffers)
                raise LeafTypeError(
                    f"{r!r} of a program with the buffers {known}", f"one of {known} for {name}", "give its tensor"
                )


def _units(event: Event, memories: Memories) -> Any:
    """The fractals of L0C that an instruction with a unit flag works on: it takes each whole."""
    import numpy as np

    reach, s = reach_of(event, memories), event.statement
    cells = reach.writes[0].cells if isinstance(s, Multiply) else np.concatenate([p.cells.ravel() for p in reach.reads])
    return np.unique(cells * memories.bits // FRACTAL_OF_L0C).tolist()


def _reach(event: Event, memories: Memories, found: _Findings) -> Reach | None:
    """The places that an event touches; None, and a finding, where one lies outside."""
    try:
        reach = reach_of(event, memories)
    except RangeError as error:
        found.add(Finding("outside", f"{_where(event)} touches {error.reason.what}", event))
        return None
    for places in (*reach.reads, *reach.writes):
        if reason := memories.outside(places, memories.ends.get(places.memory, memories.sizes[places.memory])):
            found.add(Finding("outside", f"{_where(event)} touches {reason.what}", event))
    return reach


def _where(event: Event) -> str:
    """An event, for people."""
    part = f" ({event.part})" if event.part else ""
    s = event.statement
    return f"{s.instruction if isinstance(s, (Move, Multiply)) else s}{part}"


def _note(touched: Touched, event: Event, found: _Findings, notes: _Findings) -> None:
    """Sort what two events touch in no known order: a finding, or a note where they are in one pipe that does not ask
    for a barrier."""
    first, second = touched.first, touched.second
    memory, kind = touched.memory, "order"
    if touched.in_pipe:
        if not _asks_for_barrier(first, second):
            if not _accumulates(first, second):
                notes.add(
                    Finding(
                        "pipe",
                        f"{_short(second)} touches what {_short(first)} does in {memory}, in the pipe {event.pipe}",
                        event,
                    )
                )
            return
        kind = "pipe"
    found.add(Finding(kind, f"{_short(second)} may not wait for {_short(first)}: both touch {memory}", event, touched))


def _short(event: Event) -> str:
    s = event.statement
    name = (
        s.instruction.name
        if isinstance(s, Multiply)
        else "InitConstValue"
        if isinstance(s, Fill)
        else s.instruction.name
    )
    return f"{name}{f' ({event.part})' if event.part else ''}"


def _accumulates(first: Event, second: Event) -> bool:
    return isinstance(first.statement, Multiply) and isinstance(second.statement, Multiply)


def _asks_for_barrier(first: Event, second: Event) -> bool:
    """Whether the manual asks for a barrier between two events of one pipe: moves to the same place; a small Mmad that
    is added to."""
    if _accumulates(first, second):
        p = first.statement.instruction.parameters
        return bool(p["m"] // 16 * (p["n"] // 16) < FEW_FRACTALS)
    return first.pipe in ("MTE2", "MTE3")


# ------------------------------------------------------------------------------------------------------------- results


def _compare(result: Product | Copied, origins: Origins, program: Program, found: _Findings) -> int:
    """Compare a result with what it should be; the number of its elements."""
    import numpy as np

    name = result.c if isinstance(result, Product) else result.dst
    buffer = program.buffers[name]
    valid = tuple(map(int, require_origin("a tensor", buffer.layout)))
    at = np.broadcast_to(buffer.layout(*np.ogrid[tuple(slice(n) for n in valid)]), valid)
    held = origins.read(origins.memories.places(name, at, buffer.element.bits))
    wanted = (
        _product(result, origins, valid) if isinstance(result, Product) else _copied(result, origins, program, valid)
    )
    wrong = held != np.broadcast_to(wanted, held.shape)
    if wrong.any():
        coord = tuple(int(x[0]) for x in np.nonzero(wrong))
        index, more = ", ".join(map(str, coord)), int(wrong.sum()) - 1
        what = f"{name}[{index}] is {origins.told(int(held[coord]))}, not {origins.told(int(wanted[coord]))}"
        found.add(Finding("value", what + (f", and {more} more elements are wrong" if more else "")))
    return int(np.prod(valid))


def _product(p: Product, origins: Origins, sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """Give what the elements of a product should hold; of those that are no part of the program what
    they held before."""
    import numpy as np

    k = int(next(t for t in origins.tensors if t.name == p.a).column.max()) + 1
    if p.blocks is None:
        return origins.sums_of(p.terms(k), sizes)
    wanted = np.full(sizes, ZERO if p.adds else POISON, np.int64)
    terms: dict[tuple[int, int, int, int], list[Term]] = {}
    for (m, n, first), (high, wide, depth) in (b[3:] for b in p.blocks):
        terms.setdefault((m, n, high, wide), []).extend(p.terms(first + depth, first))
    for (m, n, high, wide), parts in terms.items():
        wanted[m : m + high, n : n + wide] = origins.sums_of(joined(parts), (high, wide), (m, n))
    return wanted


def _copied(c: Copied, origins: Origins, program: Program, sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """Give what the elements of a copy should hold."""
    import numpy as np

    buffer = program.buffers[c.src]
    valid = tuple(map(int, require_origin("a tensor", buffer.layout)))
    if any(have < wanted for have, wanted in zip(valid, sizes)):
        raise RangeError(
            f"{c.dst} of {sizes} elements as a copy of {c.src} of {valid}",
            "as many elements",
            "give the tile that is copied",
        )
    at = np.broadcast_to(buffer.layout(*np.ogrid[tuple(slice(n) for n in sizes)]), sizes)
    t = next(t for t in origins.tensors if t.name == c.src)
    return t.first + at * (buffer.element.bits // origins.memories.bits)


def _stays(name: str, origins: Origins, made: bool, found: _Findings) -> None:
    """Require that nothing of a tensor is written but its valid elements, and of one that is no result nothing."""
    import numpy as np

    (t,) = (t for t in origins.tensors if t.name == name)
    before = np.full(t.valid.shape, POISON) if made else origins.filled(t)
    wrong = (origins.held[name] != before) & (~t.valid | (not made))
    if wrong.any():
        at = int(wrong.argmax()) * origins.memories.bits // 8
        what = f"byte {at} of {name}{', which is no element of it,' if made else ''} is written"
        found.add(Finding("outside", what))
