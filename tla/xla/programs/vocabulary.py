"""HLO's opcodes and the memory spaces of TPUs: their names, and those of a program that are not known.

Source: XLA xla/hlo/ir/hlo_opcode.h; memory usage reports of libtpu 0.0.51 for TPU v4 to v6e.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...core.errors import LeafTypeError
from ..shapes.values import arrays
from .program import Located

#: The memory spaces of a TPU, by the number n of S(n). Those of a SparseCore by what libtpu keeps there for an asynchronous operation: sync
#: flags and words of its sequencer and of its tiles, in the order of its own enumeration.
SPACES = {
    0: "HBM", 1: "VMEM", 2: "sync flags", 3: "CMEM", 4: "constants", 5: "host", 6: "SMEM", 8: "SparseCore sync flags",
    10: "SparseCore tile sync flags", 11: "SparseCore SMEM", 12: "SparseCore tile SMEM", 15: "SparseCore SPMEM",
}  # fmt: skip

#: What the compiler's memory usage report calls them where that is no color_n: names of numbers, the same for every target. So S(3),
#: to which v4 prefetches from HBM, is "hbm" there, the host's memory "cmem", and S(4), in which v5e has the state of asynchronous
#: collectives, "host".
REPORTED = {0: "default", 1: "vmem", 2: "smem", 3: "hbm", 4: "host", 5: "cmem"}

#: The spaces that the compiler moves arrays into to have them near: VMEM, and CMEM of v4.
MOVED = frozenset({1, 3})

OPCODES = frozenset(
    """
    abs acos acosh add add-dependency after-all all-gather all-reduce all-to-all and asin asinh atan atan2 atanh batch-norm-grad
    batch-norm-inference batch-norm-training bitcast bitcast-convert broadcast call cbrt ceil cholesky clamp
    collective-broadcast collective-permute collective-reduce compare complex concatenate conditional constant convert
    convolution copy cosh cosine count-leading-zeros custom-call divide domain dot dynamic-reshape dynamic-slice
    dynamic-update-slice erf exponential exponential-minus-one fft floor fusion gather get-dimension-size get-tuple-element imag
    infeed iota is-finite log log-plus-one logistic map maximum minimum mulhi multiply negate not opt-barrier or outfeed pad
    parameter partition-id popcnt power ragged-all-to-all ragged-dot real recv recv-done reduce reduce-precision reduce-scatter
    reduce-window remainder replica-id reshape reverse rng rng-bit-generator rng-get-and-update-state round-nearest-afz
    round-nearest-even rsqrt scaled-dot scan scatter select select-and-scatter send send-done set-dimension-size shift-left
    shift-right-arithmetic shift-right-logical shuffle sign sine sinh slice sort sqrt stochastic-convert subtract tan tanh topk
    transpose triangular-solve tuple while xor async
    """.split()  # noqa: SIM905  # a page of words, not of quotes
)
_ASYNC = ("-start", "-update", "-done")


def is_opcode(text: str) -> bool:
    """Whether HLO has this opcode; each may be asynchronous.

    >>> is_opcode("add"), is_opcode("slice-start"), is_opcode("frobnicate")
    (True, True, False)
    """
    return text in OPCODES or any(text.endswith(end) and text.removesuffix(end) in OPCODES for end in _ASYNC)


def space_name(space: int) -> str:
    """The name of a memory space.

    >>> space_name(1), space_name(7)
    ('VMEM', 'S(7)')
    """
    return SPACES.get(space, f"S({space})")


def unknown_names(lines: Iterable[Located]) -> tuple[str, ...]:
    """The opcodes and memory spaces of a program that are not known, each with its lines and how it is counted.

    lines    as read_hlo gives them
    Raises   LeafTypeError for anything else

    >>> import io
    >>> from tla.xla import read_hlo
    >>> unknown_names(read_hlo(io.StringIO("%a = f32[3]{0:S(9)} frobnicate()")))[0]
    'line 1: opcode frobnicate is not known: its result counts as new memory'

    Source: XLA xla/hlo/ir/hlo_opcode.h.
    """
    found: dict[str, dict[int, None]] = defaultdict(dict)
    for x in lines if isinstance(lines, Iterable) else [lines]:
        if not isinstance(x, Located):
            raise LeafTypeError(
                f"a line of type {type(x).__name__}", "instructions with their places", "write unknown_names(read_hlo(path))"
            )
        for what in _unknown(x):
            found[what][x.line] = None
    return tuple(f"{_numbers([*at])}: {what}" for what, at in found.items())


def _unknown(x: Located) -> Iterator[str]:
    if not is_opcode(x.instruction.opcode):
        yield f"opcode {x.instruction.opcode} is not known: its result counts as new memory"
    for array in arrays(x.instruction.shape):
        if array.effective_layout.memory_space not in SPACES:
            yield f"memory space S({array.effective_layout.memory_space}) is not known: it counts by itself"


def _numbers(lines: list[int]) -> str:
    """The numbers of lines, the first ten of many.

    >>> _numbers([3]), _numbers([3, 5])
    ('line 3', 'lines 3, 5')
    """
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - 10:,} more" if len(lines) > 10 else ""
    return f"lines {', '.join(map(str, lines[:10]))}{more}"
