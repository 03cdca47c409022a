"""Changes of a function's arguments: donation, orders in memory, element types, dimensions joined or taken apart.

Source: JAX jax.experimental.layout; `alternatives`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..programs.aliasing import MAX_FUSIONS
from ..programs.alternatives import in_orders, other_shapes
from ..programs.instruction import Instruction
from ..programs.memory import Memory
from ..programs.module import Module
from ..programs.program import Located
from ..programs.relayouts import Move, relayouts
from ..shapes.array_shape import ArrayShape
from ..shapes.sizes import byte_size
from .bench import Bench, Change

#: Narrower element types that hold the same range of values, by JAX's names. What an integer holds is not known.
_DTYPES = {"bf16": "bfloat16", "f32": "float32"}


@dataclass(frozen=True, slots=True)
class Uses:
    """The readers of a program's arguments, and its moves.

    readers   by the number of an argument the lines of the entry computation that read it, prefetched or not
    moves     the moves and conversions of arguments by the program itself, each with the number of its argument
    others    all other moves that wait
    account   the program and its memory
    """

    readers: Mapping[int, Sequence[Located]]
    moves: Sequence[tuple[int, Move]]
    others: Sequence[Move]
    account: Memory


def uses_of(bench: Bench, account: Memory) -> Uses:
    """Find what a compiled program does with its arguments."""
    numbers, readers = _readers(bench, account)
    moves = [m for m in relayouts(account.module) if not m.free and not m.overlapped]
    found = [(numbers.get(m.line.instruction.operand_names[0]), m) for m in moves]
    return Uses(readers, [(k, m) for k, m in found if k is not None], [m for k, m in found if k is None], account)


def argument_changes(bench: Bench, uses: Uses) -> Iterator[Change]:
    """The changes of arguments to try, those that cost the caller least first."""
    yield from _donations(bench)
    sizes = sorted(range(len(bench.structs)), key=lambda k: -byte_size(bench.shape(k)))
    wide = [k for k in sizes if len(bench.structs[k].shape) > 1]
    if len(wide) > 1:
        yield _auto(bench, "every argument", wide)
    wanted = _wanted(bench, uses)
    for k in wide:
        yield from _orders(bench, k, wanted.get(k, ()))
    for k in sizes:
        yield from _others(bench, k)


_AUTO = "jax.jit(f, in_shardings=Format(Layout.AUTO, sharding){}); give arrays as compiled.input_formats says"


def _auto(bench: Bench, name: str, numbers: Sequence[int]) -> Change:
    """The compiler's own layout for some arguments; where one is donated, for the results and all that is donated."""
    donated = bench.donated if bench.donated & {*numbers} else frozenset[int]()  # JAX pairs these with results
    what = f"{'the results and what is donated' if donated >= {*numbers} else name} as the compiler chooses"
    code = _AUTO.format(", out_shardings=Format(Layout.AUTO)" if donated else "")
    return Change("auto", what, code, None, dict.fromkeys(sorted({*numbers, *donated})))


def _donations(bench: Bench) -> Iterator[Change]:
    """Arguments whose memory a result may take: it has their shape and type."""
    left = [*bench.results]
    for k in sorted(bench.donated):
        key = (tuple(bench.structs[k].shape), str(bench.structs[k].dtype))
        if key in left:
            left.remove(key)
    found = []
    for k, struct in enumerate(bench.structs):
        key = (tuple(struct.shape), str(struct.dtype))
        if k not in bench.donated and key in left:
            left.remove(key)
            found.append(k)
    found.sort(key=lambda k: -byte_size(bench.shape(k)))
    if len(found) > 1:
        sizes = sum(byte_size(bench.shape(k)) for k in found)
        names = ", ".join(bench.names[k] for k in found[:4]) + (" ..." if len(found) > 4 else "")
        yield Change("donate", f"donate {names}", "jax.jit(f, donate_argnums=...)", sizes, donated=frozenset(found))
    for k in found[:4]:
        code = f"jax.jit(f, donate_argnums=...) for {bench.names[k]}: its caller may not use it again"
        yield Change("donate", f"donate {bench.names[k]}", code, byte_size(bench.shape(k)), donated=frozenset({k}))


def _wanted(bench: Bench, uses: Uses) -> dict[int, list[tuple[int, ...]]]:
    """The orders, minor to major, into which the program itself brings its arguments."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for k, move in uses.moves:
        if bench.shape(k).dimensions == move.source.dimensions == move.destination.dimensions:
            found.setdefault(k, []).append(move.destination.effective_layout.minor_to_major)
    return found


def _readers(bench: Bench, account: Memory) -> tuple[dict[str, int], dict[int, list[Located]]]:
    """The names of arguments in the entry computation, prefetched ones too, and the lines that read each."""
    entry = account.module.computations[account.module.entry] if account.module.entry else ()
    numbers: dict[str, int] = {}
    readers: dict[int, list[Located]] = {}
    for line in entry:
        it = line.instruction
        if it.parameter_number is not None and it.parameter_number < len(bench.structs):
            numbers[it.name] = it.parameter_number
        elif it.opcode in ("copy-start", "copy-done", "bitcast") and it.operand_names[0] in numbers:
            numbers[it.name] = numbers[it.operand_names[0]]
        else:
            for k in {numbers[name] for name in it.operand_names if name in numbers}:
                readers.setdefault(k, []).append(line)
    return numbers, readers


def assumption(bench: Bench, uses: Uses, change: Change) -> str:
    """Say on what HBM at its peak is predicted: that nothing changes but the argument. Empty where that does not hold.

    Not where the program moves or converts it, where a result takes its memory in another shape, where it is brought
    into another shape anew, or where an operation that is no fusion reads it: that takes no conversion in, and a loop
    or a sort has its own copy. What is donated is written over in place if it is read no more when its result is
    written, and each element of the result is of the one in its place: a product reads all of it; complex numbers are
    two arrays on their way. What is made otherwise inside, or lies on other devices, the
    compiler decides about, and about temporaries in HBM, if it takes an argument otherwise: nothing is predicted.
    """
    if change.placed or change.longer or change.edits or change.kind in ("merge", "split"):
        return ""
    if {k for k, _ in uses.moves} & {*change.layouts, *change.given} or bench.donated & {*change.given}:
        return ""
    for k in change.donated:
        first = _first_result(uses.account, bench.shape(k))
        last = max((line.line for line in uses.readers.get(k, ()) if not line.instruction.is_root), default=0)
        if last > first or str(bench.structs[k].dtype).startswith("complex"):
            return ""
        if any(x.line >= first and _mixes(uses.account.module, x.instruction) for x in uses.readers.get(k, ())):
            return ""
    changed = {*change.given, *change.donated}
    readers = (line.instruction for k in changed for line in uses.readers.get(k, ()))
    if any(it.opcode != "fusion" and not it.is_root for it in readers):
        return ""
    if change.donated:
        return "a result is written over it"
    return "what reads it takes it as it is given" if _ends_alone(uses.account) else ""


#: Operations whose elements are each of several of an operand's, or of one at another place.
_MIXING = frozenset(
    """concatenate convolution copy custom-call dot dynamic-slice fft gather pad reduce-window reshape reverse
    select-and-scatter slice sort transpose""".split()  # noqa: SIM905
)


def _mixes(module: Module, it: Instruction, deep: int = 0) -> bool:
    """Whether an instruction, or what a fusion has inside, makes an element of others than the one in its place."""
    if it.opcode in _MIXING or deep > MAX_FUSIONS:
        return True
    inside = (x.instruction for name in it.called for x in module.body(name).lines) if it.opcode == "fusion" else ()
    return any(_mixes(module, x, deep + 1) for x in inside)


def _ends_alone(account: Memory) -> bool:
    """Whether HBM is full of arguments, results and constants where it is fullest, but for a hundredth."""
    peak = account.peak.get(0)
    return peak is None or 100 * sum(b.bytes for b in peak.buffers if b.kind == "temporary") <= peak.bytes


def _first_result(account: Memory, shape: ArrayShape) -> int:
    """The line that writes the first of the results which have the type and the dimensions of an array."""
    lines = account.module.computations[account.module.entry] if account.module.entry else ()
    body = {line.instruction.name: line for line in lines}
    root = next(line for line in lines if line.instruction.is_root)
    found = [root.line]
    wanted = (shape.element_type, shape.dimensions)
    for name in root.instruction.operand_names if root.instruction.opcode == "tuple" else ():
        line, kind = body[name], body[name].instruction.shape
        while line.instruction.opcode in ("get-tuple-element", "bitcast", "copy-done"):
            line = body[line.instruction.operand_names[0]]
        if isinstance(kind, ArrayShape) and (kind.element_type, kind.dimensions) == wanted:
            found.append(line.line)
    return min(found)


def _orders(bench: Bench, k: int, wanted: Sequence[tuple[int, ...]]) -> Iterator[Change]:
    """Other orders of an argument: those that the program wants, the compiler's choice, the one of fewest bytes."""
    shape = bench.shape(k)
    now = byte_size(shape)
    sizes = {other.effective_layout.minor_to_major: byte_size(other) for _, _, other in in_orders(shape)}
    for order in dict.fromkeys(wanted):
        if order != shape.effective_layout.minor_to_major:
            yield _ordered(bench, k, order, now - sizes[order] if order in sizes else None)
    yield _auto(bench, bench.names[k], [k])
    least = [a for a in other_shapes(shape) if a.kind == "order"][:1]
    for a in least:
        yield _ordered(bench, k, a.shape.effective_layout.minor_to_major, now - a.bytes)


def _ordered(bench: Bench, k: int, order: tuple[int, ...], saved: int | None) -> Change:
    major = tuple(reversed(order))
    text = ",".join(map(str, order))
    code = f"in_shardings of {bench.names[k]}: Format(Layout(major_to_minor={major}), sharding)"
    return Change("order", f"{bench.names[k]} in the order {{{text}}}", code, saved, {k: major})


def _others(bench: Bench, k: int) -> Iterator[Change]:
    """The best of each kind that changes what is given: narrower elements, two dimensions as one, one as two."""
    shape, struct = bench.shape(k), bench.structs[k]
    if len(struct.sharding.device_set) > 1:
        return  # a part of an array has other dimensions than the array
    seen = set()
    for a in other_shapes(shape):
        is_type = a.kind == "type" and a.shape.element_type in _DTYPES
        if is_type or (a.kind in ("merge", "split") and a.kind not in seen):
            seen.add(a.kind)
            dims = tuple(n for n in a.shape.dimensions if n is not None)
            dtype = _DTYPES[a.shape.element_type] if a.kind == "type" else str(struct.dtype)
            back = f".reshape({tuple(struct.shape)}).astype('{struct.dtype}')"
            code = f"give {bench.names[k]} as {dtype}{list(dims)}; in the function {back}"
            what = f"{bench.names[k]}: {a.what}{', which changes values' if a.kind == 'type' else ''}"
            yield Change(a.kind, what, code, byte_size(shape) - a.bytes, given={k: (dims, dtype)})


#: How many sizes are made longer, one at a time.
_LONGER = 2


def padding_changes(bench: Bench) -> Iterator[Change]:
    """The sizes that dimensions may have for the same bytes, in every argument that has one; largest first."""
    held: dict[tuple[int, int], int] = {}
    for k in range(len(bench.structs)):
        shape = bench.shape(k)
        for other in other_shapes(shape) if len(bench.structs[k].sharding.device_set) == 1 else ():
            if other.kind == "size":
                pair = next((n, m) for n, m in zip(bench.dims(k), other.shape.dimensions) if n != m and m)
                if pair[0] == 1:
                    continue  # it is repeated, most often
                held[pair] = held.get(pair, 0) + byte_size(shape)
    for n, m in sorted(held, key=lambda pair: -held[pair])[:_LONGER]:
        longer = {
            k: tuple(m if d == n else d for d in bench.dims(k)) for k in range(len(bench.structs)) if n in bench.dims(k)
        }
        names = ", ".join(bench.names[k] for k in [*longer][:4]) + (" ..." if len(longer) > 4 else "")
        what = f"{names}: dimensions of {n} as {m}, the rest zeros"
        code = f"pad to {m} where it is made, put zeros there before a sum over it, slice results back to {n}"
        yield Change("pad", what, code, longer=longer)
