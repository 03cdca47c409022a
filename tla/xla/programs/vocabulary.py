"""HLO's opcodes, attributes and the memory spaces of TPUs: their names, and those of a program that are not known.

Source: XLA xla/hlo/ir/hlo_opcode.h; memory usage reports of libtpu 0.0.51 for TPU v4 to v6e. The attributes are those
that the parser of jaxlib 0.10.2 takes: of 66,000 words in its library each was given to each of 98 opcodes.
"""

from __future__ import annotations

import itertools
import operator
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from ...core.errors import LeafTypeError
from ...core.reader import nearest
from ..shapes.values import Shape, arrays
from .instruction import Instruction, Tail, attribute_spans, entries
from .module import Module, header_attributes
from .program import Located

#: The memory spaces of a TPU, by the number n of S(n). Those of a SparseCore by what libtpu keeps there for an
#: asynchronous operation: sync flags and words of its sequencer and of its tiles, in the order of its own enumeration.
SPACES = {
    0: "HBM", 1: "VMEM", 2: "sync flags", 3: "CMEM", 4: "constants", 5: "host", 6: "SMEM", 8: "SparseCore sync flags",
    10: "SparseCore tile sync flags", 11: "SparseCore SMEM", 12: "SparseCore tile SMEM", 15: "SparseCore tile SPMEM",
}  # fmt: skip

#: What the compiler's memory usage report calls them where that is no color_n: names of numbers, the same for every
#: target. So S(3), to which v4 prefetches from HBM, is "hbm" there, the host's memory "cmem", and S(4), in which v5e
#: has the state of asynchronous collectives, "host".
REPORTED = {0: "default", 1: "vmem", 2: "smem", 3: "hbm", 4: "host", 5: "cmem"}

#: The spaces that the compiler moves arrays into to have them near: VMEM, and CMEM of v4.
MOVED = frozenset({1, 3})

OPCODES = frozenset(
    """abs acos acosh add add-dependency after-all all-gather all-reduce all-to-all and asin asinh atan atan2 atanh
    batch-norm-grad batch-norm-inference batch-norm-training bitcast bitcast-convert broadcast call cbrt ceil
    cholesky clamp collective-broadcast collective-permute collective-reduce compare complex concatenate conditional
    constant convert convolution copy cosh cosine count-leading-zeros custom-call divide domain dot dynamic-reshape
    dynamic-slice dynamic-update-slice erf exponential exponential-minus-one fft floor fusion gather
    get-dimension-size get-tuple-element imag infeed iota is-finite log log-plus-one logistic map maximum minimum
    mulhi multiply negate not opt-barrier or outfeed pad parameter partition-id popcnt power ragged-all-to-all
    ragged-dot real recv recv-done reduce reduce-precision reduce-scatter reduce-window remainder replica-id reshape
    reverse rng rng-bit-generator rng-get-and-update-state round-nearest-afz round-nearest-even rsqrt scaled-dot scan
    scatter select select-and-scatter send send-done set-dimension-size shift-left shift-right-arithmetic
    shift-right-logical shuffle sign sine sinh slice sort sqrt stochastic-convert subtract tan tanh topk transpose
    triangular-solve tuple while xor async""".split()  # noqa: SIM905  # a page of words, not of quotes
)
#: The attributes of instructions, of any opcode.
ATTRIBUTES = frozenset(
    """algorithm api_version async_execution_thread async_group_id backend_config batch_group_count body
    branch_computations called_computation called_computations calls channel_id collapsed_slice_dims condition
    constrain_layout control-predecessors convolution_kind cross_program_prefetch_index custom_call_has_side_effect
    custom_call_target delta device_ids dim_labels dimensions direction distribution domain dynamic_slice_sizes
    epsilon exponent_bits false_computation feature_group_count feature_index fft_length fft_type frontend_attributes
    index index_vector_dim indices_are_sorted infeed_config inferred_dimension input_batching_dims
    inserted_window_dims iota_dimension is_associative is_composite is_host_transfer is_reverse is_stable k kind
    largest left_side lhs_batch_dims lhs_contracting_dims lhs_ragged_dims literal lower mantissa_bits metadata mode
    num_carries offset_dims operand_batching_dims operand_layout_constraints operand_precision order origin
    original_value outfeed_config outfeed_shape output_to_operand_aliasing padding padding_type parameter_replication
    replica_groups result_accuracy rhs_batch_dims rhs_contracting_dims rhs_group_dims scatter
    scatter_dims_to_operand_dims scatter_indices_batching_dims schedule select sharding slice slice_sizes
    source_target_pairs sparsity_config start_index_map start_indices_batching_dims statistics to_apply transpose_a
    true_computation type unique_indices unit_diagonal update_window_dims use_global_device_ids window
""".split()  # noqa: SIM905
)
#: The attributes of a module, in its header.
HEADER = frozenset(
    """alias_passthrough_params allow_spmd_sharding_propagation_to_output allow_spmd_sharding_propagation_to_parameters
    buffer_donor entry_computation_layout frontend_attributes input_output_alias is_scheduled num_partitions
    replica_count""".split()  # noqa: SIM905
)
#: What the attribute metadata says, of the fields of OpMetadata in xla_data.proto.
METADATA = frozenset(
    """deduplicated_name op_name op_type preserve_layout profile_info profile_type scheduling_name
    size_of_generated_code_in_bytes size_of_memory_working_set_in_bytes source_column source_end_column
    source_end_line source_file source_line stack_frame_id""".split()  # noqa: SIM905
)
#: What a warning says of a computation that is missing.
NOT_THERE = "is called, and not there"
#: What a warning says of an attribute that is missing, or may be another instruction's.
_LACKS, _TWICE = "what that says is not known", "is given twice"
#: The attributes without which an instruction says nothing, of those that are read here.
NEEDED: dict[str, tuple[str, ...]] = {
    "while": ("condition", "body"),
    "conditional": ("branch_computations",),
    "get-tuple-element": ("index",),
    "transpose": ("dimensions",),
    "compare": ("direction",),
    "select-and-scatter": ("select", "scatter"),
    **dict.fromkeys(("fusion", "async-start"), ("calls",)),
    **dict.fromkeys(
        "call map reduce reduce-window scatter sort all-reduce all-reduce-start reduce-scatter".split(),  # noqa: SIM905
        ("to_apply",),
    ),
}
_KEYS = re.compile(r", ?([A-Za-z_][\w-]*)=")
_ASYNC = ("-start", "-update", "-done")
_EVERY_OPCODE = tuple(opcode + end for opcode in sorted(OPCODES) for end in ("", *_ASYNC))


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


def unknown_names(lines: Iterable[Located] | Module) -> tuple[str, ...]:
    """The opcodes, attributes and memory spaces of a program that are not known, each with its lines and how
    it is counted.

    So are attributes that an instruction lacks, or has twice, and computations that are called, and not there: nothing
    is left out in silence. They are no errors: XLA adds attributes with each release.

    lines    as read_hlo gives them; or a module, of which the attributes of its header are looked at too
    Raises   LeafTypeError for anything else, ParseError for a header that cannot be read

    >>> import io
    >>> from tla.xla import read_hlo
    >>> unknown_names(read_hlo(io.StringIO("%a = f32[3]{0:S(9)} frobnicate()")))[0]
    'line 1: opcode frobnicate is not known: its result counts as new memory'

    Source: XLA xla/hlo/ir/hlo_opcode.h.
    """
    if isinstance(lines, Module):
        every = [x for body in lines.computations.values() for x in body]
        return unknown_in_header(lines.header) + (() if _all_known(every, lines) else unknown_names(every))
    found: dict[str, dict[int, None]] = defaultdict(dict)
    faults: dict[tuple[str, Tail], list[str]] = {}  # by what is said of an instruction: most lines say what others do
    spaces: dict[int, tuple[Shape, list[str]]] = {}  # by identity: equal texts are one shape
    called: dict[str, dict[int, None]] = defaultdict(dict)
    there: set[str | None] = set()
    for x in lines if isinstance(lines, Iterable) else [lines]:
        if not isinstance(x, Located):
            what = f"a line of type {type(x).__name__}"
            raise LeafTypeError(what, "instructions with their places", "write unknown_names(read_hlo(path))")
        it, computation, _is_entry, line = x
        there.add(computation)
        key, shape = (it.opcode, it._tail), it.shape
        for name in key[1].called if computation is not None else ():  # else it is a line by itself
            called[name][line] = None
        if (wrong := faults.get(key)) is None:
            faults[key] = wrong = [*_unknown(it)]
        if (space := spaces.get(id(shape))) is None:
            spaces[id(shape)] = space = shape, [*_unknown_spaces(shape)]
        if wrong or space[1]:
            for what in (*wrong, *space[1]):
                found[what][line] = None
    for name in (name for name in called if name not in there):
        found[f"computation {name} {NOT_THERE}: what it does is not known"] = called[name]
    return tuple(f"{_numbers([*at])}: {what}" for what, at in found.items())


def _all_known(lines: Sequence[Located], module: Module) -> bool:
    """Whether nothing in a module is unknown: asked once for all lines that say the same, as most do."""
    instructions = [x.instruction for x in lines]
    shapes = {id(it.shape): it.shape for it in instructions}.values()  # by identity: equal texts are one shape
    tails = dict(zip(map(_WHAT, instructions), instructions)).values()
    said = {(it.opcode, it._tail.words): it for it in tails}.values()
    metadata = {it._tail.metadata for it in tails}
    return (
        all(name in module.computations for it in said for name in it._tail.called)
        and METADATA.issuperset(key for text in metadata for key in entries(text))
        and not any(itertools.chain(*map(_faults, said), *map(_unknown_spaces, shapes)))
    )


_WHAT = operator.attrgetter("opcode", "_tail")


def may_lack(warning: str) -> bool:
    """Whether a warning of `unknown_names` is that a part of the program may be missing: not that a name is new.

    >>> may_lack("line 1: fusion without calls: what that says is not known")
    True
    >>> may_lack("line 1: opcode fusioy is not known: its result counts as new memory (is it fusion?)")
    True
    >>> may_lack("line 1: opcode frobnicate is not known: its result counts as new memory")
    False
    """
    misprint = "opcode " in warning and " (is it " in warning
    return misprint or any(words in warning for words in (NOT_THERE, _LACKS, _TWICE))


def unknown_in_header(header: str) -> tuple[str, ...]:
    """The attributes of a module's header that are not known.

    >>> unknown_in_header("HloModule m, is_scheduled=true, num_partition=2")
    ('header: attribute num_partition is not known: it is passed over (is it num_partitions?)',)
    """
    return tuple(f"header: {_passed_over(key, HEADER)}" for key in header_attributes(header) if key not in HEADER)


def _unknown(it: Instruction) -> Iterator[str]:
    yield from _faults(it)
    yield from (
        _passed_over(key, METADATA, "of metadata ") for key in entries(it._tail.metadata) if key not in METADATA
    )


def _unknown_spaces(shape: Shape) -> Iterator[str]:
    for array in arrays(shape):
        if array.effective_layout.memory_space not in SPACES:
            yield f"memory space S({array.effective_layout.memory_space}) is not known: it counts by itself"


def _faults(it: Instruction) -> Iterator[str]:
    """An opcode that is not known, and attributes that are not known, given twice, or missing."""
    if not is_opcode(it.opcode):
        yield f"opcode {it.opcode} is not known: its result counts as new memory{_hint(it.opcode, _EVERY_OPCODE)}"
    needed, keys = NEEDED.get(it.opcode, ()), _KEYS.findall(it._tail.words)
    if it.opcode == "conditional" and "true_computation" in keys:
        needed = "true_computation", "false_computation"
    if ATTRIBUTES.issuperset(keys) and len({*keys}) == len(keys) and all(key in keys for key in needed):
        return
    found = [key for key, *_ in attribute_spans(it.tail, 0)]  # without what stands in strings and brackets
    for key in dict.fromkeys(found):
        if key not in ATTRIBUTES:
            yield _passed_over(key, ATTRIBUTES)
        if found.count(key) > 1:
            yield f"attribute {key} {_TWICE}"
    yield from (f"{it.opcode} without {key}: {_LACKS}" for key in needed if key not in found)


def _passed_over(key: str, known: Collection[str], of: str = "") -> str:
    return f"attribute {of}{key} is not known: it is passed over{_hint(key, known)}"


def _hint(name: str, known: Collection[str]) -> str:
    """The name that may have been meant."""
    meant = nearest(name, known, 0.8)
    return f" (is it {meant}?)" if meant else ""


def _numbers(lines: list[int]) -> str:
    """The numbers of lines, the first ten of many.

    >>> _numbers([3]), _numbers([3, 5])
    ('line 3', 'lines 3, 5')
    """
    if len(lines) == 1:
        return f"line {lines[0]}"
    more = f" and {len(lines) - 10:,} more" if len(lines) > 10 else ""
    return f"lines {', '.join(map(str, lines[:10]))}{more}"
