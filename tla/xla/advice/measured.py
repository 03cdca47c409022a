"""Advice that is measured: each change of a function is compiled for a TPU, which takes none, and what helps stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...core.errors import LeafTypeError, RangeError, TlaError
from ..programs.targets import TARGETS
from .arguments import argument_changes, assumption, padding_changes, uses_of
from .bench import Bench, Change, devices_of, in_turn
from .inside import inside_changes
from .measure import Measure, Trial, Trials
from .placement import placement_changes

__all__ = ["Measure", "Trial", "Trials", "try_advice"]

_TOPOLOGY = re.compile(r"\w+(?::[1-9][0-9]{0,3}(?:x[1-9][0-9]{0,3})*)?")
#: The chips of a pod of v5e along each of its two axes.
_V5E = 16


def try_advice(
    function: Callable[..., Any], *args: Any, topology: str = "v5e:2x2", most: int = 24, **kwargs: Any
) -> Trials:
    """Compile a function for a TPU with one change at a time, and keep what measures better.

    function   of JAX, jitted or not; what jax.jit donates stays donated
    args, kwargs   its arguments: arrays, or jax.ShapeDtypeStruct, with a sharding over the topology's devices where
                   there are several
    topology   as libtpu names it: v5e:2x2; or the generation alone. No TPU is needed: pip install jax libtpu
    most       how many changes are tried, of each kind in turn
    Raises     ModuleNotFoundError without JAX; RangeError for a topology that libtpu does not have, and for a function
               that does not compile as it is. One that takes more memory than the chip has is measured all the same

    Tried are, of each argument: other orders of its dimensions, the order that the compiler would choose (Layout.AUTO),
    donation where a result has its shape, elements of half the bits, two dimensions as one, one as two; of all of one
    size: a longer one that takes no more, results being cut back. Where the topology has several devices: arguments
    split over them. Of values inside, that are held at the peak or moved: computed again where they are read late, kept
    in a shape that takes less until then, laid out at once as they are moved to. Then all that help together. An
    argument that has another layout is to be given in it: the change is one of its caller.

        >>> found = try_advice(step, params, batch, topology="v5e:2x2")      # doctest: +SKIP
        >>> print(found)                                                     # doctest: +SKIP

    Source: JAX docs/aot.rst; the compiler.
    """
    if not callable(function):
        what = f"try_advice of something of type {type(function).__name__}"
        raise LeafTypeError(what, "a function of JAX", "write try_advice(step, *arguments)")
    target = topology.split(":")[0]
    wide = target == "v5e" and any(int(n) > _V5E for n in topology.partition(":")[2].split("x") if n.isdecimal())
    if target not in TARGETS or not _TOPOLOGY.fullmatch(topology) or wide:  # libtpu ends the process, or divides by 0
        what = f"the topology {topology!r:.40}{f': a pod of v5e has {_V5E}x{_V5E} chips' if wide else ''}"
        raise RangeError(what, f"one of {', '.join(TARGETS)}, as in v5e:2x2", "write topology='v5e:2x2'")
    bench = Bench.of(function, args, kwargs, devices_of(topology), target)
    try:
        base, account = bench.measured(Change())
    except TlaError:
        raise
    except Exception as error:  # of the compiler: JAX has several types for it
        text = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        what = f"the function as it is does not compile for {topology}: {text}"
        fix = "compile it by itself: jax.jit(f).lower(*arguments).compile()"
        raise RangeError(what, "one that the compiler takes", fix) from error
    uses = uses_of(bench, account)
    kinds = argument_changes(bench, uses), inside_changes(bench, uses), placement_changes(bench), padding_changes(bench)
    tried = [_tried(bench, change, base, assumption(bench, uses, change)) for change in _first(in_turn(*kinds), most)]
    good = [change for change, trial in sorted(tried, key=lambda pair: _size(pair[1].measured)) if trial.helps]
    if len(good) > 1 and (whole := _together(good)).key not in {change.key for change in good}:
        tried.append(_tried(bench, whole, base, ""))
    trials = [trial for _, trial in tried]
    return Trials(base, tuple(sorted(trials, key=lambda t: (not t.helps, *_size(t.measured)))), target)


def _size(m: Measure | None) -> tuple[int, int]:
    return (2**62, 0) if m is None else (m.reported, m.moved)


def _first(changes: Iterator[Change], most: int) -> list[Change]:
    """The first changes, each once."""
    found: dict[tuple[Any, ...], Change] = {}
    for change in changes:
        found.setdefault(change.key, change)
        if len(found) == most:
            break
    return [*found.values()]


def _together(changes: Sequence[Change]) -> Change:
    """All of some changes, the best first; of two of one argument or of one value the first."""
    whole = Change("all", "those that help, together", "as each of them says")
    for c in changes:
        if not _clash(whole, c):
            whole = replace(
                whole,
                layouts={**whole.layouts, **c.layouts},
                donated=whole.donated | c.donated,
                given={**whole.given, **c.given},
                placed={**whole.placed, **c.placed},
                longer={**whole.longer, **c.longer},
                edits=(*whole.edits, *c.edits),
            )
    return whole


def _clash(a: Change, b: Change) -> bool:
    """Whether two changes are of one argument, or of one value, or cannot be made together."""
    donated = a.donated & {*b.layouts, *b.given, *b.longer} or b.donated & {*a.layouts, *a.given, *a.longer}
    values = {edit.value for edit in a.edits} & {edit.value for edit in b.edits}
    apart = bool(a.longer or b.longer) and bool(a.edits or b.edits)
    return bool(a.arguments & b.arguments or donated or values or apart)


def _tried(bench: Bench, change: Change, base: Measure, assumes: str) -> tuple[Change, Trial]:
    """A change, compiled, beside the function as it is.

    assumes   on what HBM at its peak is predicted; empty where it is not
    """
    known = assumes and change.saved is not None
    predicted = base.peaks.get(0, 0) - (change.saved or 0) if known else None
    assumes = assumes if known else ""
    try:
        found, _ = bench.measured(change)
    except Exception as error:  # what a compiler refuses is an answer here
        text = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        return change, Trial(change.kind, change.what, change.code, predicted, None, text, assumes=assumes)
    better = found.gains_on(base)
    helps = better and found.no_worse(base)
    return change, Trial(change.kind, change.what, change.code, predicted, found, "", helps, better, assumes)
