"""The check of a program: what its results are made of, in every order that its flags allow, inside of its memories.

Source: ours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...core.element import Element
from ...core.errors import LeafTypeError, RangeError
from ...core.int_tuple import modes_of, quoted, size
from ...core.ints import leaf
from ...core.layout import Layout, require_origin
from ..architecture import AtlasA2
from ..element import as_element
from ..transfers.fixpipe import CONVERTS
from ..transfers.instruction import TransferInstruction
from ..transfers.side import offsets_in
from .logs import read_log
from .machine import Machine
from .memory import Ledger, Memories, Reach, Touched, faults_of, reach_of
from .origins import POISON, ZERO, Origins, Term, joined
from .queues import Queues
from .results import Computed, Copied, Finding, Product, Report
from .statements import Buffer, Compute, Fill, Move, Multiply, Program, walk
from .trace import Event, events, kind_of
from .values import Values, numbers_of

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..architecture import Architecture

#: The bits of a fractal of L0C: 16 by 16 accumulators.
FRACTAL_OF_L0C = 16 * 16 * 32
#: Below so many fractals a Mmad that is added to asks for a barrier of its pipe before the next.
FEW_FRACTALS = 10

#: Numbers that differ by less of themselves are the same: floating point adds and multiplies in another order.
SAME = 1e-12
#: The numbers of a tensor are less than this: sums of many, and products of two, are exact.
MOST_VALUE = 1 << 20


def check(
    log: object,
    layouts: Mapping[str, Any],
    results: Sequence[Product | Copied | Computed],
    arch: str | Architecture = AtlasA2,
    values: Mapping[str, Any] = {},
) -> Report:
    """Check the instructions of a foreign kernel, one core's, by the log that a stand-in for AscendC has written.

    log       a path, or lines of JSON: a call, its types and its arguments
    layouts   of each tensor in global memory, by name: (address, element type, layout)
    results   what the kernel makes: Product of a matrix product, Copied of a tile that is moved, Computed of what a
              vector core makes, compared at two points of random integers with nothing rounded; all other tensors stay
              as they are
    arch      AtlasA2, AtlasA3, Ascend950, or a name
    values    the numbers of tensors, by name, that say where others lie, as the table of a Gather: beside Computed
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
    is_list = isinstance(results, (list, tuple))
    if not isinstance(values, Mapping):
        raise LeafTypeError(
            f"values={quoted(values, 40)}", "numbers by the name of their tensor", 'write values={"T": array}'
        )
    if not (isinstance(layouts, Mapping) and isinstance(log, (str, Path, list, tuple)) and is_list):
        what = f"check of {type(log).__name__}, {type(layouts).__name__} and {type(results).__name__}"
        fix = 'write check(lines, {"A": ...}, [Product("C", "A", "B")])'
        raise LeafTypeError(what, "a log, the tensors by name, and a list of results", fix)
    for r in results:
        _require_result(r)
    lines = _lines(log) if isinstance(log, (str, Path)) else log
    if odd := [line for line in lines if not isinstance(line, str)]:
        raise LeafTypeError(
            f"a log with {quoted(odd[0], 40)}", "lines of text", "give the lines that the kernel has printed"
        )
    tensors = [_buffer(name, given) for name, given in layouts.items()]
    _require_tensors_apart(tensors)
    program = read_log(lines, arch, tensors)
    plain = [r for r in results if not isinstance(r, Computed)]
    # what a log converts is looked at where it is read
    plain = [r._replace(conversion=None) if isinstance(r, Product) else r for r in plain]
    computed = [r for r in results if isinstance(r, Computed)]
    for r in computed:
        if not callable(r.function):
            what = f"Computed({quoted(r.dst, 20)}, {quoted(r.function, 40)}, ...)"
            raise LeafTypeError(what, "a function of arrays", "write Computed('B', np.positive, ('A',))")
    if plain and computed:
        what = f"{type(plain[0]).__name__} beside Computed"
        raise LeafTypeError(what, "Computed of all results", "write Computed('B', np.positive, ('A',)) for a copy")
    if computed:
        return check_computed(program, computed, values)
    if values:
        what = f"the numbers of {quoted(next(iter(values)), 20)} beside {type(plain[0]).__name__ if plain else 'no result'}"
        raise LeafTypeError(what, "values= beside Computed", "leave out values=")
    return check_program(program, plain)


def _lines(path: str | Path) -> list[str]:
    """The lines of a log in a file; LeafTypeError for one that is no text, or cannot be read."""
    try:
        return Path(path).read_text().splitlines()
    except (OSError, ValueError) as why:
        text = getattr(why, "strerror", None) or f"{type(why).__name__}: {why}"
        raise LeafTypeError(
            f"the log {quoted(str(path), 60)}: {text}", "a file of lines of JSON", "give its path"
        ) from None


def _of_other_types(program: Program, results: Sequence[Product | Copied]) -> Iterator[Finding]:
    """The first Mmad that takes bits for another type than they have, and the first Fixpipe of each result that converts
    otherwise: elements do not tell these."""
    products = {r.c: r for r in results if isinstance(r, Product)}
    known = {tuple(program.buffers[x].element for x in (r.a, r.b)) for r in products.values()}
    for s in walk(program.body) if products else ():
        if isinstance(s, Multiply) and s.instruction.elements[1:] not in known:
            types, wanted = s.instruction.elements[1:], " or ".join(f"{a} by {b}" for a, b in sorted(known, key=str))
            yield Finding("value", f"a Mmad of {types[0]} by {types[1]}, not {wanted}")
        if isinstance(s, Move) and program.buffers[s.src].position == "L0C":
            r = products.get(s.dst, next(iter(products.values())))
            if wrong := _converted(s.instruction, r, program.buffers[s.dst].element):
                yield Finding("value", f"{r.c} {wrong}")


def _converted(i: TransferInstruction, r: Product, element: Element) -> str:
    """Tell what a Fixpipe converts otherwise than its result asks for; "" where it does as it should."""
    settings = i.settings
    if ("reluEn" in settings) != r.relu:
        return "without ReLU, not with it" if r.relu else "with ReLU, not without it"
    if r.conversion is None:
        return ""
    wanted = {**dict(r.conversion), "type": str(element)}
    have = {**{f: settings[f] for f in CONVERTS if f in settings}, "type": str(i.element)}
    told = (", ".join(f"{f}={v}" for f, v in x.items()) for x in (have, wanted))
    return "" if have == wanted else "converted with {}, not {}".format(*told)


def _require_result(r: object) -> None:
    """LeafTypeError for what is no result, and for one whose tensors are told by no names."""
    match r:
        case Product():
            beside = (r.bias, r.sparse, r.channels, *(r.scales if isinstance(r.scales, tuple) else (r.scales,)))
            names = r.c, r.a, r.b, *(x for x in beside if x is not None)
        case Copied():
            names = r.dst, r.src
        case Computed():
            names = r.dst, *(r.sources if isinstance(r.sources, (tuple, list)) else (None,))
        case _:
            fix = 'write [Product("C", "A", "B")]'
            raise LeafTypeError(f"the result {quoted(r, 60)}", "a Product, a Copied or a Computed", fix)
    if not all(isinstance(name, str) for name in names):
        fix = 'write Product("C", "A", "B"), Copied("B", "A"), or Computed("B", f, ("A",))'
        raise LeafTypeError(f"the result {quoted(r, 80)}", "tensors by their names, sources in a tuple", fix)


def _buffer(name: str, given: Any) -> Buffer:
    """A tensor by its address, element type and layout; or the Buffer that it is."""
    if isinstance(given, Buffer):
        return given
    if not isinstance(given, tuple) or len(given) != 3 or not isinstance(given[2], Layout):
        what = f"the tensor {name}: {quoted(given, 60)}"
        raise LeafTypeError(what, "(address, element type, layout)", "write (0x1000, half, layout)")
    address, element, layout = given
    return Buffer(name, "GM", as_element(element), layout, int(leaf(address)))


def _require_tensors_apart(tensors: Iterable[Buffer]) -> None:
    """RangeError for tensors in global memory below 0, or over one another: an address would be in both."""
    ordered = sorted((b for b in tensors if b.position == "GM"), key=lambda b: b.address)
    for b in ordered:
        if b.address < 0:
            raise RangeError(f"the tensor {b.name} at {b.address}", "an address of 0 or more", "give what the log has")
    for a, b in itertools.pairwise(ordered):
        if b.address < a.end:
            what = f"the tensors {a.name} at {a.address:#x} to {a.end - 1:#x} and {b.name} at {b.address:#x}"
            raise RangeError(what, "tensors behind one another", "give one tensor, with a layout of all that is there")


def check_program(program: Program, results: Sequence[Product | Copied], values: Mapping[str, int] = {}) -> Report:
    """Check a program whose sizes have values.

    results   the tensors that it makes, all others stay as they are
    Returns   Report

    Raises LeafTypeError for names that it has not. Source: ours.
    """
    memories = Memories(program)
    origins = Origins(memories)
    copied = {r.dst for r in results if isinstance(r, Copied)}
    made = {r.c for r in results if isinstance(r, Product)} | copied
    _require_names(program, results)
    for name, buffer in program.buffers.items():
        if buffer.position == "GM" and name not in made:
            origins.fill(name)
    for r in results:
        if isinstance(r, Product) and r.adds:
            origins.empty(r.c)
    found, notes, count = _in_order(program, memories, values, origins)
    for finding in _of_other_types(program, results):
        found.add(finding)
    elements = sum(_compare(r, origins, program, found) for r in results)
    for name, buffer in program.buffers.items():
        if buffer.position == "GM":
            _stays(name, origins, name in made, name in copied, found)
    return Report(tuple(found.all), tuple(notes.all), {"events": count, "elements of results": elements})


def check_numbers(program: Program, tensors: Mapping[str, Any], wanted: Mapping[str, Any], close: float = 0) -> Report:
    """Check a program on numbers that no operation rounds: what it makes, in every order that its flags allow, and
    where it reaches.

    tensors   the numbers of tensors in global memory;  wanted  those of its results
    close     numbers that differ by so much of themselves are the same
    """
    import numpy as np

    numbers = Values(program, tensors, exact=True)
    before = {name: numbers.held[name].copy() for name in numbers.memories.ends}
    found, notes, count = _in_order(program, numbers.memories, {}, numbers)
    for name, values in wanted.items():
        have = numbers.get(name)
        if (wrong := ~np.isclose(have, values, rtol=close, atol=0, equal_nan=True)).any():
            coord = tuple(int(x[0]) for x in np.nonzero(wrong))
            index, there = ", ".join(map(str, coord)), f"{have[coord]:.12g}"
            there = "what nothing was written to" if there == "nan" else there
            more = f", and {int(wrong.sum()) - 1} more elements are wrong" if wrong.sum() > 1 else ""
            found.add(Finding("value", f"{name}[{index}] is {there}, not {values[coord]:.12g}{more}"))
        for cells in (numbers.held[name], before[name]):  # of a result, whatever it held, and its own padding
            cells[_own_cells(program.buffers[name], numbers.memories)] = np.nan
    for name, cells in before.items():
        changed = ~((numbers.held[name] == cells) | (np.isnan(numbers.held[name]) & np.isnan(cells)))
        if changed.any():
            at = int(changed.argmax()) * numbers.memories.bits // 8
            found.add(Finding("outside", f"byte {at} of {name} is written"))
    counts = {"events": count, "elements of results": sum(np.size(v) for v in wanted.values())}
    return Report(tuple(found.all), tuple(notes.all), counts)


def check_computed(program: Program, results: Sequence[Computed], told: Mapping[str, Any] = {}) -> Report:
    """Check a program whose results are functions, at two points of random integers: what the check of numbers says.

    told   the numbers of tensors that are not random
    """
    import numpy as np

    names = {r.dst for r in results}
    tensors = {n: b for n, b in program.buffers.items() if b.position == "GM"}
    given = {n: b for n, b in tensors.items() if n not in names or _is_read(n, results)}
    _require_tensors(program, [*(x for r in results for x in (r.dst, *r.sources)), *told])
    sizes = {n: tuple(map(int, require_origin("a tensor", b.layout))) for n, b in given.items()}
    reports = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        values = {n: np.floor(rng.uniform(1, MOST_VALUE, shape)) for n, shape in sizes.items()}
        values |= {n: _told(n, x, program) for n, x in told.items()}
        reports.append(check_numbers(program, values, {r.dst: _wanted(r, values, program) for r in results}, SAME))
    return next((r for r in reports if not r.holds), reports[0])


def _told(name: str, given: Any, program: Program) -> Any:
    """The numbers of a tensor, as they are given; RangeError for another number of them."""
    numbers, valid = numbers_of(name, given), tuple(map(int, require_origin("a tensor", program.buffers[name].layout)))
    if numbers.shape != valid:
        raise RangeError(f"values of {name} of the shape {numbers.shape}", f"{valid}", "give the whole tensor")
    return numbers


def _is_read(name: str, results: Sequence[Computed]) -> bool:
    return any(name in r.sources for r in results)


def _wanted(r: Computed, values: Mapping[str, Any], program: Program) -> Any:
    """The values of a result; LeafTypeError for a function that gives others than its tensor has."""
    import numpy as np

    valid = tuple(map(int, require_origin("a tensor", program.buffers[r.dst].layout)))
    made = np.asarray(r.function(*(values[x] for x in r.sources)))
    if made.shape != valid or made.dtype.kind not in "biuf":
        what = f"the function of {r.dst}, which gives {made.dtype} of the shape {made.shape}"
        raise LeafTypeError(what, f"numbers of the shape {valid}", "give a function of whole arrays")
    return made


def _in_order(
    program: Program, memories: Memories, values: Mapping[str, int], machine: Machine
) -> tuple[_Findings, _Findings, int]:
    """Run events in an order that their flags allow: findings and notes of flags, order and places, and how many."""
    ledger, found, notes, count = Ledger(memories), _Findings(), _Findings(), 0
    queues = Queues(events(program, values), lambda event: _units(event, memories))
    for begun in queues:
        count += 1
        try:
            event = machine.resolved(begun.event)
        except RangeError as error:
            found.add(Finding("value", error.reason.what, begun.event))
            continue
        reach = _reach(event, memories, found)
        if reach is None:
            continue
        for touched in ledger.touch(begun, reach):
            _note(touched, event, found, notes)
        machine.run(event)
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
        for name in (
            (r.c, r.a, r.b, r.bias, r.sparse, r.channels, *(r.scales or ())) if isinstance(r, Product) else r[:2]
        ):
            if name is not None and name not in program.buffers:
                known = ", ".join(program.buffers)
                what = f"{r!r} of a program with the buffers {known}"
                raise LeafTypeError(what, f"one of {known} for {name}", "give its tensor")


def _require_tensors(program: Program, names: Iterable[str]) -> None:
    """LeafTypeError for names that are no tensors in global memory."""
    known = [b.name for b in program.buffers.values() if b.position == "GM"]
    for name in names:
        if name not in known:
            raise LeafTypeError(f"Computed of {quoted(name, 40)}", f"one of {', '.join(known)}", "give its tensor")


def _units(event: Event, memories: Memories) -> Any:
    """The fractals of L0C that an instruction with a unit flag works on: it takes each whole."""
    import numpy as np

    reach, s = reach_of(event.statement, memories), event.statement
    if not reach.writes:
        return []
    read = [p.cells.ravel() for p in reach.reads if p.memory == "L0C"]
    cells = reach.writes[0].cells if isinstance(s, Multiply) else np.concatenate(read)
    return np.unique(cells * memories.bits // FRACTAL_OF_L0C).tolist()


def _reach(event: Event, memories: Memories, found: _Findings) -> Reach | None:
    """The places that an event touches; None, and a finding, where one lies outside."""
    try:
        reach = reach_of(event.statement, memories)
    except RangeError as error:
        found.add(Finding("outside", f"{_where(event)} touches {error.reason.what}", event))
        return None
    for kind, what in faults_of(event.statement, memories):
        found.add(Finding(kind, f"{_where(event)} {what}", event))
    for places in (*reach.reads, *reach.writes):
        end = memories.ends.get(places.memory)  # in other memories all lies inside
        if end is not None and (reason := memories.outside(places, end)):
            found.add(Finding("outside", f"{_where(event)} touches {reason.what}", event))
    return reach


def _where(event: Event) -> str:
    """An event, for people."""
    part = f" ({event.part})" if event.part else ""
    s = event.statement
    return f"{s.instruction if isinstance(s, (Move, Multiply, Compute)) else s}{part}"


def _note(touched: Touched, event: Event, found: _Findings, notes: _Findings) -> None:
    """Sort what two events touch in no known order: a finding, or a note where their one pipe asks for no barrier."""
    first, second = touched.first, touched.second
    memory, kind = touched.memory, "order"
    if touched.in_pipe:
        if not _asks_for_barrier(touched):
            if not _accumulates(first, second):
                what = f"{_short(second)} touches what {_short(first)} does in {memory}, in the pipe {event.pipe}"
                notes.add(Finding("pipe", what, event))
            return
        kind = "pipe"
    found.add(Finding(kind, f"{_short(second)} may not wait for {_short(first)}: both touch {memory}", event, touched))


def _short(event: Event) -> str:
    s = event.statement
    name = "InitConstValue" if isinstance(s, Fill) else s.instruction.name
    return f"{name}{f' ({event.part})' if event.part else ''}"


def _accumulates(first: Event, second: Event) -> bool:
    return isinstance(first.statement, Multiply) and isinstance(second.statement, Multiply)


def _asks_for_barrier(touched: Touched) -> bool:
    """Whether the manual asks for a barrier between two events of one pipe: moves to the same place; computations of
    one; a small Mmad that is added to; scales that come to Fixpipe's buffer, and the Fixpipe that reads them."""
    first, second = touched.first, touched.second
    if touched.memory == "FixBuf" and not touched.writes:
        return True
    if _accumulates(first, second):
        p = first.statement.instruction.parameters
        return bool(p["m"] // 16 * (p["n"] // 16) < FEW_FRACTALS)
    return kind_of(first.pipe) in ("MTE2", "MTE3", "V")


# ------------------------------------------------------------------------------------------------------------- results


def _compare(result: Product | Copied, origins: Origins, program: Program, found: _Findings) -> int:
    """Compare a result with what it should be; the number of its elements."""
    import numpy as np

    name = result.c if isinstance(result, Product) else result.dst
    buffer = program.buffers[name]
    at = offsets_in(buffer.layout)
    held = origins.read(origins.memories.places(name, at, buffer.element.bits))
    if isinstance(result, Product):
        wanted = _product(result, origins, at.shape)
    else:
        wanted = _copied(result, origins, program, at.shape)
    wrong = held != np.broadcast_to(wanted, held.shape)
    if wrong.any():
        coord = tuple(int(x[0]) for x in np.nonzero(wrong))
        index, more = ", ".join(map(str, coord)), int(wrong.sum()) - 1
        what = f"{name}[{index}] is {origins.told(int(held[coord]))}, not {origins.told(int(wanted[coord]))}"
        found.add(Finding("value", what + (f", and {more} more elements are wrong" if more else "")))
    return int(at.size)


def _product(p: Product, origins: Origins, sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """Give what the elements of a product should hold; of those of no part of the program what they held."""
    import numpy as np

    k = int(next(t for t in origins.tensors if t.name == p.a).column.max()) + 1
    if p.blocks is None:
        return _activated(p, origins.sums_of(p.terms(k), sizes), origins)
    wanted = np.full(sizes, ZERO if p.adds else POISON, np.int64)
    terms: dict[tuple[int, int, int, int], list[Term]] = {}
    for (m, n, first), (high, wide, depth) in (b[3:] for b in p.blocks):
        terms.setdefault((m, n, high, wide), []).extend(p.terms(first + depth, first))
    for (m, n, high, wide), parts in terms.items():
        sums = origins.sums_of(joined(parts), (high, wide), (m, n))
        wanted[m : m + high, n : n + wide] = _activated(p, sums, origins)
    return wanted


def _activated(result: Product | Copied, held: npt.NDArray[Any], origins: Origins) -> npt.NDArray[Any]:
    made: npt.NDArray[Any] = held if result.activation is None else result.activation.applied(held, origins.applied)
    return made


def _copied(c: Copied, origins: Origins, program: Program, sizes: tuple[int, ...]) -> npt.NDArray[Any]:
    """Give what the elements of a copy should hold."""
    import numpy as np

    buffer = program.buffers[c.src]
    valid = tuple(map(int, require_origin("a tensor", buffer.layout)))
    if any(have < wanted for have, wanted in zip(valid, sizes)):
        what = f"{c.dst} of {sizes} elements as a copy of {c.src} of {valid}"
        raise RangeError(what, "as many elements", "give the tile that is copied")
    at = offsets_in(buffer.layout, sizes)
    t = next(t for t in origins.tensors if t.name == c.src)
    every: npt.NDArray[Any] = t.first + at * (buffer.element.bits // origins.memories.bits)
    every = _activated(c, every, origins)
    if c.parts is None:
        return every
    wanted = np.full(sizes, POISON, np.int64)
    for box in (tuple(slice(n, n + m) for n, m in zip(*part)) for part in c.parts):
        wanted[box] = every[box]
    return wanted


def _own_cells(buffer: Buffer, memories: Memories) -> Any:
    """The cells of all that a tensor's layout has a place for, its padding too."""
    sizes = [int(size(n)) for n in modes_of(buffer.layout.shape)]
    return memories.places(buffer.name, offsets_in(buffer.layout, sizes), buffer.element.bits).every


def _stays(name: str, origins: Origins, made: bool, padding: bool, found: _Findings) -> None:
    """Require that nothing of a tensor is written but its valid elements, and of one that is no result nothing.

    padding   whether its padding may be written too
    """
    import numpy as np

    (t,) = (t for t in origins.tensors if t.name == name)
    before = np.full(t.valid.shape, POISON) if made else origins.filled(t)
    wrong = (origins.held[name] != before) & (~t.valid | (not made))
    if padding:
        wrong[_own_cells(origins.memories.program.buffers[name], origins.memories)] = False
    if wrong.any():
        at = int(wrong.argmax()) * origins.memories.bits // 8
        what = f"byte {at} of {name}{', which is no element of it,' if made else ''} is written"
        found.add(Finding("outside", what))
