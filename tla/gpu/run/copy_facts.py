"""The contract of a copy: a copy that its instruction can execute is a CopyStep, any other is refused.

Asked is what makes CuTe refuse to compile a copy, and the hardware fault or do something else: that the values of a
thread are the instruction's, that those of an access lie together, in order, at a multiple of its size, that each side
is in its memory, and that one truth value stands for a whole instruction.

Source: the PTX manual, "ld", "cp.async", "ldmatrix", "tcgen05.ld"; CuTe include/cute/atom/copy_atom.hpp,
Copy_Atom::call, and include/cute/algorithm/copy.hpp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...algebra.codomain import cosize
from ...algebra.common import max_alignment, max_common_vector, nullspace
from ...algebra.composition import composition
from ...algebra.flat_modes import Mode, flat_modes
from ...algebra.modes import take
from ...core.composed import innermost
from ...core.element import Element
from ...core.errors import DivisibilityError, InjectivityError, LeafTypeError, RangeError, RankError, Reason, TlaError
from ...core.int_tuple import product_each, rank, shown, size
from ...core.ints import Int, is_constant, is_static, known
from ...core.layout import Layout
from ...core.questions import require
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ..descriptors.vectors import Vectors
from ..instructions.atom import CopyAtom, CopySide, beside
from ..instructions.elements import element_of
from ..instructions.names import Copy_Atom, entry
from ..tiled.fragments import numpy_has
from ..tiled.tiled_copy import TiledCopy
from .sides import Side, are_moved_as_they_lie, first_mode, memory_of, threads_of
from .truth import Truth, truth_of
from .values import extents_of, holds_coordinates

if TYPE_CHECKING:
    import numpy.typing as npt


@dataclass(frozen=True)
class CopyStep:
    """A copy that its instruction can execute: what a kernel's statement holds. copy_facts makes one.

    atom      the instruction, with its element type
    source    the tensor that is read, of a thread, of an array of them or of a symbol: (values, rest ...)
    target    the tensor that is written
    where     its predicate; None where all is copied

    >>> from tla import MakeTensor, parse
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy_facts, half, uint64
    >>> source, target = (MakeTensor(None, parse(text)) for text in ("(_4,_2):(_1,_8)", "(_4,_2):(_1,_4)"))
    >>> step = copy_facts(Copy_Atom[UniversalCopy[uint64], half], source, target)
    >>> print(step.atom.name, step.target.layout, step.where)
    UniversalCopy<uint64_t> (_4,_2):(_1,_4) None

    Source: CuTe `copy(Copy_Atom, src, dst)`.
    """

    atom: CopyAtom
    source: Tensor
    target: Tensor
    where: Truth | None = None


def copy_facts(
    tiled_copy: CopyAtom | TiledCopy, source: Tensor, target: Tensor, predicate: npt.NDArray[Any] | Tensor | None = None
) -> CopyStep:
    """The copy of source to target by an instruction, if it can execute it; nothing is copied.

    tiled_copy   a TiledCopy, or a CopyAtom with its element type
    source       what copy takes: partition_S, or registers; of symbols too, without a buffer
    target       partition_D, or registers
    predicate    what copy_if takes; None for none
    Returns      CopyStep
    Raises       DivisibilityError for accesses that do not lie together, or begin at no multiple of their size;
                 LeafTypeError for other memories, types and predicates; RankError where source and target do not fit,
                 or are not the instruction's values; InjectivityError where accesses write one place. Of symbols
                 Unproven, or assuming() records the condition

    >>> from tla import assuming, dim, make_layout, parse, MakeTensor, _1, _8
    >>> from tla.gpu import Copy_Atom, UniversalCopy, copy_facts, half, make_tiled_copy, uint128
    >>> tiled, t = make_tiled_copy(Copy_Atom[UniversalCopy[uint128], half], (16, 8), (1, 8)), dim("t", at_least=0, at_most=127)
    >>> smem, K = tiled[t].partition_D(parse("(_16,_64):(_72,_1)")), dim("K")
    >>> with assuming() as conditions:
    ...     step = copy_facts(tiled, tiled[t].partition_S(MakeTensor(None, make_layout((16, 64), stride=(K, _1)))), smem)
    >>> print(*conditions)
    8 divides K
    >>> copy_facts(tiled, tiled[t].partition_S(parse("(_16,_64):(_1,_16)")), smem)
    Traceback (most recent call last):
    tla.core.errors.DivisibilityError: copy by ...: 16 bytes along mode 0 of ((_8,_1),_1,_1):((_16,_0),_0,_0) are not contiguous
      expected  8 contiguous elements at a multiple of 16 bytes
      fix       take values along the contiguous mode, in rows of whole 16 bytes, or copy by UniversalCopy[half]

    Source: CuTe `copy(TiledCopy, src, dst)`, and what its headers assert.
    """
    atom = _atom("copy" if predicate is None else "copy_if", tiled_copy)
    where = f"{'copy' if predicate is None else 'copy_if'} by {atom.name}"
    tensors = source, target = as_tensor(where, source), as_tensor(where, target)
    _require_one_type(where, atom, source, target)
    _require_memory(where, source, atom.reads, "reads")
    _require_memory(where, target, atom.writes, "writes")
    truth = None if predicate is None else truth_of(where, predicate, tensors)
    if atom.most_bits is not None:
        _require_wide(where, atom, source, target, truth)
        return CopyStep(atom, source, target, truth)
    sides = _sides(where, atom, source, target)
    if (threads := threads_of(source)) is not None:
        require_whole_instructions(where, atom, source, threads)
    made = None if truth is None else truth.of_instructions(where, atom, sides)
    _require_together(atom, sides)
    for side, accesses in zip(sides, (made, None if atom.fills_zeros else made)):
        _raised(side.where, side.why_not_aligned(accesses))
    if truth is None:
        _require_own_places(where, *sides)
    return CopyStep(atom, source, target, truth)


# ------------------------------------------------------------------------------------------------- what is copied


def plain_copy(source: Tensor, target: Tensor, *, predicated: bool = False) -> CopyAtom:
    """The atom of CuTe's `copy(src, dst)`, to which static layouts begin at 16 bytes; of `copy_if` by elements."""
    element = element_of("copy", source, None)
    bits = element.bits if predicated else 128 if is_static(source.layout) and is_static(target.layout) else 8
    made: CopyAtom = Copy_Atom[entry("AutoVectorizingCopyWithAssumedAlignment")[bits], element]
    return made


def _atom(where: str, tiled_copy: CopyAtom | TiledCopy) -> CopyAtom:
    atom = tiled_copy.atom if isinstance(tiled_copy, TiledCopy) else tiled_copy
    if not isinstance(atom, CopyAtom) or atom.val_type is None:
        what, fix = f"{where} by {shown(tiled_copy)}", "tla.copy(source, target) takes whole tensors"
        raise LeafTypeError(what, "a tiled copy, or a copy atom of a type", fix)
    return atom


def _require_one_type(where: str, atom: CopyAtom, source: Tensor, target: Tensor) -> None:
    element = _element(atom)
    if atom.transposes and element.bits > 16:
        expected = "elements of 16 bits or less, which stay whole"
        raise LeafTypeError(f"{where} of {element}", expected, "copy them as half")
    if atom.reads.bits % 8 or atom.writes.bits % 8:
        what = f"{where} of {element}, {atom.reads.bits} bits at once"
        fix = "copy several elements at once: UniversalCopy[uint8]"
        raise LeafTypeError(what, "whole bytes, which are what has an address", fix)
    if holds_coordinates(source) or holds_coordinates(target):
        fix = "copy the tensor that they are coordinates of"
        raise LeafTypeError(f"{where} of coordinates", "a tensor of elements", fix)
    if source.dtype is None or target.dtype is None:
        return
    if source.dtype != target.dtype:
        what = f"{where} of {source.dtype} to {target.dtype}"
        raise LeafTypeError(what, "one type", "convert with transform between registers")
    if numpy_has(element) and 8 * source.dtype.itemsize != element.bits:
        what, fix = f"{where} of {source.dtype} by {atom!r}", "convert the buffer, or make the atom one of its type"
        raise LeafTypeError(what, f"elements of {element.bits} bits", fix)


def _element(atom: CopyAtom) -> Element:
    assert atom.val_type is not None  # _atom requires it
    return atom.val_type


def _require_memory(where: str, t: Tensor, side: CopySide, verb: str) -> None:
    """LeafTypeError for a tensor that is known to be in another memory than the instruction reads or writes."""
    given = memory_of(t)
    wanted = (side.memory,) if side.memory != "any" else ("gmem", "smem", "registers")
    if given is not None and given not in wanted:
        what = f"{where}, which {verb} {' or '.join(wanted)}: a tensor in {given}"
        fix = "take an instruction of that memory, or copy in two steps"
        raise LeafTypeError(what, f"position={' or '.join(map(repr, wanted))}", fix)


# ----------------------------------------------------------------------------------------- values and accesses


def _sides(where: str, atom: CopyAtom, source: Tensor, target: Tensor) -> tuple[Side, Side]:
    """Source and target as (values of an instruction, repetitions ...): CuTe takes these from the first mode."""
    tensors, wanted = (source, target), [int(size(layout[1])) for layout in (atom.val_src, atom.val_dst)]
    modes, element = [first_mode(t) for t in tensors], _element(atom)
    repeated: list[list[Any]] = [[], []]
    while all(isinstance(m.shape, tuple) and known(size(m)) != n for m, n in zip(modes, wanted)):
        repeated = [[*_behind_first(m), *more] for m, more in zip(modes, repeated)]
        modes = [m[0] for m in modes]
    for t, m, n in zip(tensors, modes, wanted):
        if known(size(m)) != n:
            what = f"{where}, of {n} value{'s' * (n > 1)} a thread: a first mode of {shown(first_mode(t).shape)}"
            expected = f"(_{n}, repetitions ...): the instruction's values first"
            raise RankError(what, expected, "partition it with a tiled copy, or retile it")
    made = []
    for t, m, n, more, side in zip(tensors, modes, wanted, repeated, (atom.reads, atom.writes)):
        others = [*more, *_behind_first(innermost(t.layout))]
        rows = f"take values along the contiguous mode, in rows of whole {side.bits // 8} bytes"
        fix = f"{rows}, or copy by UniversalCopy[{element}]"
        vectors = Vectors(t.layout, 0, flat_modes(m), others, side.bits, element, fix)
        made.append(Side(where, t, n, memory_of(t) or side.memory, vectors))
    _require_one_shape(where, source, target, made)
    return made[0], made[1]


def _behind_first(layout: Layout) -> Sequence[Mode]:
    """The leaves of a layout's modes behind the first."""
    return flat_modes(take[1, rank(layout)](layout)) if rank(layout) > 1 else []


def _require_one_shape(where: str, source: Tensor, target: Tensor, sides: list[Side]) -> None:
    """Require as many repetitions of source and target, in as many modes; of arrays of threads whole instructions."""
    counts = [math.prod(n for n, _d in side.vectors.others) for side in sides]
    ranks = [len(product_each(innermost(t.layout).shape)) for t in (source, target)]
    if ranks[0] != ranks[1] or not require("==", counts[0], counts[1], lambda: where):
        what, fix = f"{where} of {source!r} to {target!r}", "partition both by the same tiled copy"
        raise RankError(what, "the same modes behind the first", fix)


def require_whole_instructions(where: str, atom: CopyAtom, source: Tensor, threads: int) -> None:
    """Require all the threads of each instruction."""
    lanes = int(size(atom.thr_id))
    if threads % lanes:
        what = f"{where}: {threads} threads of {extents_of(source)[0]} values"
        expected = f"all the threads, {lanes} to an atom, of {int(size(atom.val_src)) // lanes} values each"
        raise RangeError(what, expected, "partition for an array of threads")


def _require_together(atom: CopyAtom, sides: tuple[Side, Side]) -> None:
    """Require that the elements of every access lie together in order; of one thread, in one order on both sides."""
    reasons = [side.why_not_together() for side in sides if side.memory != "TMEM"]
    reason = next((r for r in reasons if r is not None), None)
    if reason is not None and not (int(size(atom.thr_id)) == 1 and are_moved_as_they_lie(*sides)):
        _raised(sides[0].where, reason)


def _raised(where: str, reason: Reason | None) -> None:
    if reason is not None:
        raise DivisibilityError(f"{where}: {reason.what}", reason.expected, reason.fix)


def _require_own_places(where: str, source: Side, target: Side) -> None:
    """Require a place for each access, as CuTe asserts: static modes of stride 0 of the target are copied once."""
    rest = [beside(*(Layout(n, d) for n, d in side.vectors.others)) for side in (source, target)]
    shared = any(is_constant(0, d) for _n, d in target.vectors.others)
    if not shared or not all(is_static(layout.shape) for layout in rest):
        return
    once = nullspace(rest[1])
    if known(cosize(composition(rest[0], once))) != 1:
        what = f"{where} to {target.tensor!r}: several accesses of {shown(source.vectors.layout)} go to one place"
        expected = "a place for each access, or one source for all of them"
        raise InjectivityError(what, expected, "give the target a stride in each mode")


# -------------------------------------------------------------------------------------------- as wide as it can be


def _require_wide(where: str, atom: CopyAtom, source: Tensor, target: Tensor, truth: Truth | None) -> None:
    """Require what CuTe's vectorizing copies do: elements by their index, accesses as wide as static layouts allow."""
    element, most = _element(atom), atom.most_bits or 0
    sizes = [size(t.shape) for t in (source, target)]
    if not require("==", sizes[0], sizes[1], lambda: where):
        what = f"{where} of {source!r} to {target!r}"
        raise RankError(what, "as many elements", "partition both by the same tiled copy")
    if truth is not None and most != element.bits:
        what = f"{where} of {element}: CuTe's copies {most} bits where the predicate of an element is true"
        raise LeafTypeError(what, f"an access of {element.bits} bits", f"copy by UniversalCopy[{element}]")
    bits = _widest(element.bits, most, source, target)
    for t in (source, target):
        fix = f"copy by UniversalCopy[{element}], or align the start"
        vectors = Vectors(t.layout, 0, [(bits // element.bits, Int[1]())], [], bits, element, fix)
        _raised(where, Side(where, t, 1, memory_of(t) or "any", vectors).why_not_start_aligned())


def _widest(element: int, most: int, *tensors: Tensor) -> int:
    """The bits of an access: what all layouts have in common, and every run of them begins at a multiple of."""
    layouts = [t.layout for t in tensors]
    try:
        common, aligned = max_common_vector(*layouts), [max_alignment(layout) for layout in layouts]
    except TlaError:
        return element
    bits = math.gcd(int(common) * element, *(int(n) * element for n in aligned), most)
    return bits if bits % 8 == 0 and bits > element else element
