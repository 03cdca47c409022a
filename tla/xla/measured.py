"""Advice that is measured: each change of a function is compiled for a TPU, which libtpu does without one, and what helps is kept.

Source: JAX docs/aot.rst, jax.experimental.layout and jax.experimental.topologies; the accounts are those of `memory` and `relayouts`.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import LeafTypeError, RangeError, TlaError
from ..core.on_demand import jax_module
from ..core.values import rounded
from .jax import element_type
from .programs.alternatives import alternatives
from .programs.memory import Memory, memory
from .programs.program import Located
from .programs.relayouts import Move, relayouts
from .programs.targets import TARGETS
from .shapes.array_shape import ArrayLayout, ArrayShape
from .shapes.default import default_layout, orders
from .shapes.sizes import byte_size

#: What libtpu asks for before it compiles on a machine without a TPU.
_ENVIRONMENT = {"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_ACCELERATOR_TYPE": ""}
#: The topology of a generation that is given by its name alone.
_TOPOLOGIES = {"v4": "v4:2x2x1", "v5p": "v5p:2x2x1", "tpu7x": "tpu7x:2x2x1"}
#: Narrower element types that hold the same range of values, by JAX's names. What an integer holds is not known.
_DTYPES = {"bf16": "bfloat16", "f32": "float32"}
#: The least part of a number that counts as a gain.
_LEAST = 0.001


@dataclass(frozen=True, slots=True)
class Measure:
    """The account of one compile.

    peaks     by memory space, as S(n) numbers it: the bytes at its peak
    reported  what XLA reports as peak_memory_in_bytes
    moved     bytes that moves read and write in the whole run, loops as often as they run; prefetches apart
    prefetched   those of prefetches
    """

    peaks: Mapping[int, int]
    reported: int
    moved: int
    prefetched: int

    def no_worse(self, other: Measure) -> bool:
        """Whether neither a peak nor the moves are larger than in another compile."""
        return (
            self.peaks.get(0, 0) <= other.peaks.get(0, 0)
            and self.reported <= other.reported
            and self.moved <= other.moved
            and self.moved + self.prefetched <= other.moved + other.prefetched
        )


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of a function, compiled.

    kind        "order", "auto", "donate", "type", "merge", "split", or "all": those that help, together
    what        the change in words
    code        how to write it with JAX
    predicted   HBM at its peak, from what the argument takes less; None where nothing is predicted: the compiler is to choose, or the
                program itself moves or converts the argument, and what it makes of it changes too
    measured    the account of the compile; None where it was refused
    refused     why; empty where it compiles
    helps       whether a peak or the moves are smaller, by a thousandth at least, and none is larger
    better      whether one of them is smaller at all; where another is larger it is a trade
    """

    kind: str
    what: str
    code: str
    predicted: int | None
    measured: Measure | None
    refused: str = ""
    helps: bool = False
    better: bool = False

    @property
    def verdict(self) -> str:
        """One word or two for it: recommended, a trade, no gain, refused."""
        return "refused" if self.measured is None else "recommended" if self.helps else "a trade" if self.better else "no gain"


@dataclass(frozen=True, slots=True)
class Trials:
    """The changes that were tried on a function. Its str() is an account of them.

    before   the function as it is
    tried    every change, those that help most first
    target   the generation
    """

    before: Measure
    tried: tuple[Trial, ...]
    target: str

    @property
    def recommended(self) -> tuple[Trial, ...]:
        """The changes that measured better, and made nothing worse."""
        return tuple(trial for trial in self.tried if trial.helps)

    def __str__(self) -> str:
        lines = [f"before      {_account(self.before, self.target)}"]
        for trial in self.tried:
            if trial.measured is None:
                lines.append(f"{trial.verdict:11} {trial.what}: {trial.refused}")
            else:
                guess = "" if trial.predicted is None else f"; HBM predicted {trial.predicted:,}"
                lines.append(f"{trial.verdict:11} {trial.what}: {_account(trial.measured, self.target)}{guess}")
                lines += [f"            {trial.code}"] if trial.helps else []
        return "\n".join(lines)


def _account(m: Measure, target: str) -> str:
    hbm, capacity = m.peaks.get(0, 0), TARGETS[target].capacity[0]
    return f"HBM {hbm:,} ({hbm / capacity:.1%}), XLA's peak {m.reported:,}, moved {m.moved:,}, prefetched {m.prefetched:,}"


def try_advice(function: Callable[..., Any], *args: Any, topology: str = "v5e:2x2", most: int = 24, **kwargs: Any) -> Trials:
    """Compile a function for a TPU with one change at a time, and keep what measures better.

    function   of JAX, jitted or not; what jax.jit donates stays donated
    args, kwargs   its arguments: arrays, or jax.ShapeDtypeStruct, with a sharding over the topology's devices where there are several
    topology   as libtpu names it: v5e:2x2; or the generation alone. No TPU is needed: pip install jax libtpu
    most       how many changes are tried, those of the largest arguments first
    Raises     ModuleNotFoundError without JAX; RangeError for a topology that libtpu does not have

    Tried are, of each argument: other orders of its dimensions, the order that the compiler would choose (Layout.AUTO), donation where a
    result has its shape, elements of half the bits, two dimensions as one, one as two; then all that help together. An argument that has
    another layout is to be given in it: the change is one of its caller.

        >>> found = try_advice(step, params, batch, topology="v5e:2x2")      # doctest: +SKIP
        >>> print(found)                                                     # doctest: +SKIP

    Source: JAX docs/aot.rst; the compiler.
    """
    if not callable(function):
        raise LeafTypeError(f"try_advice of a {type(function).__name__}", "a function of JAX", "write try_advice(step, *arguments)")
    target = topology.split(":")[0]
    if target not in TARGETS:
        raise RangeError(f"the topology {topology!r:.40}", f"one of {', '.join(TARGETS)}, as in v5e:2x2", "write topology='v5e:2x2'")
    bench = _Bench.of(function, args, kwargs, _device(topology), target)
    base, account = bench.measured(_Change())
    found = [(change, _still(bench, account, change)) for change in _first(_changes(bench, account), most)]
    tried = [_tried(bench, change, base, still) for change, still in found]
    good = [change for change, trial in tried if trial.helps]
    if len(good) > 1:
        tried.append(_tried(bench, _together(good), base, False))
    trials = [trial for _, trial in tried]
    return Trials(base, tuple(sorted(trials, key=lambda t: (not t.helps, *_size(t.measured)))), target)


def _size(m: Measure | None) -> tuple[int, int]:
    return (2**62, 0) if m is None else (m.reported, m.moved)


def _device(topology: str) -> Any:
    """A device of a topology that libtpu compiles for."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    name = topology if ":" in topology else _TOPOLOGIES.get(topology, f"{topology}:2x2")
    try:
        return jax_module("jax.experimental.topologies").get_topology_desc(platform="tpu", topology_name=name).devices[0]
    except Exception as error:  # of libtpu, or that there is none: JAX has no type for it
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        fix = "pip install libtpu, and write topology='v5e:2x2'"
        raise RangeError(f"the topology {name}: {text}", "one that the installed libtpu has", fix) from None


@dataclass(frozen=True, slots=True)
class _Change:
    """A change of the call: of arguments by their number among the leaves.

    layouts   a Layout of JAX for an argument, or None for the compiler's choice
    donated   arguments whose memory a result may take
    given     for an argument: what is given in its place, and how the function gets the argument back
    """

    kind: str = ""
    what: str = ""
    code: str = ""
    saved: int | None = None
    layouts: Mapping[int, tuple[int, ...] | None] = field(default_factory=dict)
    donated: frozenset[int] = frozenset()
    given: Mapping[int, tuple[tuple[int, ...], str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Bench:
    """A function of leaves, ready to be compiled with changes."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    structs: tuple[Any, ...]
    results: tuple[tuple[tuple[int, ...], str], ...]
    donated: frozenset[int]
    device: Any
    target: str

    @staticmethod
    def of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], device: Any, target: str) -> _Bench:
        tree, jax = jax_module("jax.tree_util"), jax_module("jax")
        found, whole = tree.tree_flatten_with_path((args, dict(kwargs)))
        one = jax_module("jax.sharding").SingleDeviceSharding(device)
        structs = tuple(_struct(leaf, one) for _, leaf in found)
        names = tuple(_name(tree.keystr(path)) for path, _ in found)

        def call(*leaves: Any) -> Any:
            given, named = tree.tree_unflatten(whole, leaves)
            return function(*given, **named)

        given, named = tree.tree_unflatten(whole, structs)
        donated = frozenset[int]()
        if (lower := getattr(function, "lower", None)) is not None:
            infos = tree.tree_leaves(lower(*given, **named).args_info)
            donated = frozenset(k for k, info in enumerate(infos) if info.donated)
        results = tuple((tuple(x.shape), str(x.dtype)) for x in tree.tree_leaves(jax.eval_shape(call, *structs)))
        return _Bench(call, names, structs, results, donated, device, target)

    def shape(self, k: int) -> ArrayShape:
        """An argument as one device has it."""
        struct = self.structs[k]
        return default_layout(element_type(struct.dtype), struct.sharding.shard_shape(tuple(struct.shape)), self.target)

    def measured(self, change: _Change) -> tuple[Measure, Memory]:
        """Compile the function with a change, and take its account."""
        jax = jax_module("jax")
        structs, restore = [*self.structs], {}
        for k, (dims, dtype) in change.given.items():
            structs[k] = jax.ShapeDtypeStruct(dims, dtype, sharding=self.structs[k].sharding)
            restore[k] = self.structs[k]

        def call(*leaves: Any) -> Any:
            back = {k: rounded(leaves[k].reshape(old.shape), old.dtype) for k, old in restore.items()}
            return self.function(*(back.get(k, x) for k, x in enumerate(leaves)))

        formats = tuple(_format(s.sharding, change.layouts[k]) if k in change.layouts else s.sharding for k, s in enumerate(structs))
        donated = tuple(sorted(self.donated | change.donated))
        # JAX refuses a donated argument in the compiler's layout if the result in its place has another one.
        results = {"out_shardings": _format(None, None)} if any(change.layouts.get(k, ()) is None for k in donated) else {}
        compiled = jax.jit(call, in_shardings=formats, **results, donate_argnums=donated, keep_unused=True).lower(*structs).compile()
        found = memory(io.StringIO(compiled.as_text()), target=self.target)
        moves = relayouts(found.module)
        sums = [sum(m.bytes for m in moves if m.overlapped is kind) for kind in (False, True)]
        return Measure({space: peak.bytes for space, peak in found.peak.items()}, found.reported, *sums), found


def _struct(leaf: Any, one: Any) -> Any:
    """A leaf as a struct with a sharding."""
    jax = jax_module("jax")
    if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
        leaf = jax_module("jax.numpy").asarray(leaf)
    sharding = leaf.sharding if isinstance(leaf, jax.ShapeDtypeStruct) and leaf.sharding is not None else one
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)


def _name(path: str) -> str:
    """An argument as a call names it: args[0]['w'] of [0][0]['w']."""
    return f"args{path[3:]}" if path.startswith("[0]") else f"kwargs{path[3:]}"


def _format(sharding: Any, order: tuple[int, ...] | None) -> Any:
    """A format of JAX: the dimensions in an order, major to minor, or as the compiler chooses."""
    layout = jax_module("jax.experimental.layout")
    return layout.Format(layout.Layout.AUTO if order is None else layout.Layout(order), sharding)


def _first(changes: Iterator[_Change], most: int) -> list[_Change]:
    """The first changes, each once."""
    found: dict[tuple[Any, ...], _Change] = {}
    for change in changes:
        found.setdefault((*change.layouts.items(), "", *sorted(change.donated), "", *change.given.items()), change)
        if len(found) == most:
            break
    return [*found.values()]


def _changes(bench: _Bench, account: Memory) -> Iterator[_Change]:
    """The changes to try, those that cost the caller least first."""
    yield from _donations(bench)
    sizes = sorted(range(len(bench.structs)), key=lambda k: -byte_size(bench.shape(k)))
    wide = [k for k in sizes if len(bench.structs[k].shape) > 1]
    if len(wide) > 1:
        yield _auto(bench, "every argument", wide)
    wanted = _wanted(bench, account)
    for k in wide:
        yield from _orders(bench, k, wanted.get(k, ()))
    for k in sizes:
        yield from _others(bench, k)


_AUTO = "jax.jit(f, in_shardings=Format(Layout.AUTO, sharding){}); give arrays as compiled.input_formats says"


def _auto(bench: _Bench, name: str, numbers: Sequence[int]) -> _Change:
    """The compiler's own layout for some arguments; where one is donated, for the results and for all that is donated: JAX pairs these."""
    donated = bench.donated if bench.donated & {*numbers} else frozenset[int]()
    what = f"{'the results and what is donated' if donated >= {*numbers} else name} as the compiler chooses"
    return _Change(
        "auto",
        what,
        _AUTO.format(", out_shardings=Format(Layout.AUTO)" if donated else ""),
        None,
        dict.fromkeys(sorted({*numbers, *donated})),
    )


def _donations(bench: _Bench) -> Iterator[_Change]:
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
        yield _Change("donate", f"donate {names}", "jax.jit(f, donate_argnums=...)", sizes, donated=frozenset(found))
    for k in found[:4]:
        code = f"jax.jit(f, donate_argnums=...) for {bench.names[k]}: its caller may not use it again"
        yield _Change("donate", f"donate {bench.names[k]}", code, byte_size(bench.shape(k)), donated=frozenset({k}))


def _wanted(bench: _Bench, account: Memory) -> dict[int, list[tuple[int, ...]]]:
    """The orders, minor to major, into which the program itself brings its arguments."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for k, move in _moves_of(bench, account):
        if bench.shape(k).dimensions == move.source.dimensions == move.destination.dimensions:
            found.setdefault(k, []).append(move.destination.effective_layout.minor_to_major)
    return found


def _moves_of(bench: _Bench, account: Memory) -> Iterator[tuple[int, Move]]:
    """The moves and conversions of arguments by the program itself, prefetched or not, each with the number of its argument."""
    numbers, _readers = _uses(bench, account)
    for move in relayouts(account.module):
        k = numbers.get(move.line.instruction.operand_names[0])
        if k is not None and not move.free and not move.overlapped:
            yield k, move


def _uses(bench: _Bench, account: Memory) -> tuple[dict[str, int], dict[int, list[Located]]]:
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


def _still(bench: _Bench, account: Memory, change: _Change) -> bool:
    """Whether nothing changes but the argument, so that HBM at its peak follows.

    Not where the program moves or converts it, where a result takes its memory in another shape, where it is brought into another shape
    anew, or where an operation that is no fusion reads it: that takes no conversion in. What is donated is written over in place if it is
    read no more when its result is written; complex numbers are two arrays on their way.
    """
    if {k for k, _ in _moves_of(bench, account)} & {*change.layouts, *change.given} or bench.donated & {*change.given}:
        return False
    _numbers, readers = _uses(bench, account)
    for k in change.donated:
        last = max((line.line for line in readers.get(k, ()) if not line.instruction.is_root), default=0)
        if last > _first_result(account, bench.shape(k)) or str(bench.structs[k].dtype).startswith("complex"):
            return False
    fused = all(line.instruction.opcode == "fusion" for k in change.given for line in readers.get(k, ()))
    return fused and (not change.given or change.kind == "type")


def _first_result(account: Memory, shape: ArrayShape) -> int:
    """The line that writes the first of the results which have the type and the dimensions of an array."""
    lines = account.module.computations[account.module.entry] if account.module.entry else ()
    body = {line.instruction.name: line for line in lines}
    root = next(line for line in lines if line.instruction.is_root)
    found = [root.line]
    for name in root.instruction.operand_names if root.instruction.opcode == "tuple" else ():
        line, kind = body[name], body[name].instruction.shape
        while line.instruction.opcode in ("get-tuple-element", "bitcast", "copy-done"):
            line = body[line.instruction.operand_names[0]]
        if isinstance(kind, ArrayShape) and (kind.element_type, kind.dimensions) == (shape.element_type, shape.dimensions):
            found.append(line.line)
    return min(found)


def _orders(bench: _Bench, k: int, wanted: Sequence[tuple[int, ...]]) -> Iterator[_Change]:
    """Other orders of an argument: the ones that the program wants, the compiler's own choice, the one of fewest bytes."""
    shape = bench.shape(k)
    now, sizes = byte_size(shape), _sizes(shape)
    for order in dict.fromkeys(wanted):
        if order != shape.effective_layout.minor_to_major:
            yield _ordered(bench, k, order, now - sizes[order] if order in sizes else None)
    yield _auto(bench, bench.names[k], [k])
    least = [a for a in _alternatives(shape) if a.kind == "order"][:1]
    for a in least:
        yield _ordered(bench, k, a.shape.effective_layout.minor_to_major, now - a.bytes)


def _sizes(shape: ArrayShape) -> dict[tuple[int, ...], int]:
    """The bytes of an array in each order of its two minor dimensions, in the compiler's tiles."""
    dims = tuple(n for n in shape.dimensions if n is not None)
    layouts = [ArrayLayout(order, tiles, element_size_in_bits=bits) for order, tiles, bits in orders(shape.element_type, dims)]
    return {layout.minor_to_major: byte_size(ArrayShape(shape.element_type, dims, layout)) for layout in layouts}


def _ordered(bench: _Bench, k: int, order: tuple[int, ...], saved: int | None) -> _Change:
    major = tuple(reversed(order))
    text = ",".join(map(str, order))
    code = f"in_shardings of {bench.names[k]}: Format(Layout(major_to_minor={major}), sharding)"
    return _Change("order", f"{bench.names[k]} in the order {{{text}}}", code, saved, {k: major})


def _alternatives(shape: ArrayShape) -> list[Any]:
    try:
        return alternatives(shape)
    except TlaError:
        return []


def _others(bench: _Bench, k: int) -> Iterator[_Change]:
    """The best of each kind that changes what is given: elements of half the bits, two dimensions as one, one as two."""
    shape, struct = bench.shape(k), bench.structs[k]
    if len(struct.sharding.device_set) > 1:
        return  # a part of an array has other dimensions than the array
    seen = set()
    for a in _alternatives(shape):
        if (a.kind in ("merge", "split") and a.kind not in seen) or (a.kind == "type" and a.shape.element_type in _DTYPES):
            seen.add(a.kind)
            dims = tuple(n for n in a.shape.dimensions if n is not None)
            dtype = _DTYPES[a.shape.element_type] if a.kind == "type" else str(struct.dtype)
            code = f"give {bench.names[k]} as {dtype}{list(dims)}; in the function .reshape({tuple(struct.shape)}).astype('{struct.dtype}')"
            what = f"{bench.names[k]}: {a.what}{', which changes values' if a.kind == 'type' else ''}"
            yield _Change(a.kind, what, code, byte_size(shape) - a.bytes, given={k: (dims, dtype)})


def _together(changes: Sequence[_Change]) -> _Change:
    """All of some changes; of two of one argument the first."""
    whole = _Change("all", "those that help, together", "as each of them says")
    for c in sorted(changes, key=lambda c: (c.kind != "donate", c.kind == "auto")):
        taken = {*whole.layouts, *whole.given, *whole.donated}
        if not taken & {*c.layouts, *c.given}:
            whole = replace(
                whole, layouts={**whole.layouts, **c.layouts}, donated=whole.donated | c.donated, given={**whole.given, **c.given}
            )
    return whole


def _tried(bench: _Bench, change: _Change, base: Measure, still: bool) -> tuple[_Change, Trial]:
    """A change, compiled, beside the function as it is. still: nothing else changes, so that HBM at its peak is predicted."""
    predicted = base.peaks.get(0, 0) - change.saved if still and change.saved is not None else None
    try:
        found, _ = bench.measured(change)
    except Exception as error:  # what a compiler refuses is an answer here
        text = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        return change, Trial(change.kind, change.what, change.code, predicted, None, text)
    pairs = [(m.peaks.get(0, 0), m.reported, m.moved) for m in (found, base)]
    better = any(now < (1 - _LEAST) * was for now, was in zip(*pairs))
    return change, Trial(change.kind, change.what, change.code, predicted, found, "", better and found.no_worse(base), better)
