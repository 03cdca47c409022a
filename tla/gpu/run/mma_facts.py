"""The contract of a product: a product that its instruction can compute is an MmaStep, any other is refused.

Asked is what makes CuTe refuse to compile a gemm, and the hardware read something else: forms and extents that fit, the
atom's types, all of its threads; each operand in its memory, narrow elements side by side in registers, tiles of shared
memory that descriptors say.

Source: CuTe include/cute/algorithm/gemm.hpp, and mma_traits.hpp, mma_unpack; the PTX manual, "wgmma", "tcgen05.mma".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...algebra.codomain import cosize
from ...algebra.flat_modes import flat_modes
from ...core.errors import DivisibilityError, LeafTypeError, RangeError, RankError
from ...core.int_tuple import size
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ..descriptors.matrix_descriptor import require_tiles
from ..descriptors.vectors import Vectors
from ..instructions.atom import MMAAtom
from ..instructions.elements import element_of
from ..instructions.entries import Family
from ..instructions.names import entry
from ..tiled.fragments import holds, numpy_type
from ..tiled.tiled_mma import MODES, TiledMMA, make_tiled_mma
from .arithmetic import require_accumulator
from .sides import Side, first_mode, memory_of, threads_of
from .values import extents_of

#: The ranks of A, B and C: what CuTe has, and what it has besides where a thread holds one value of the atom.
FORMS, ONE_VALUE = {(1, 1, 1), (2, 2, 3), (3, 3, 3)}, {(1, 1, 2), (2, 2, 2)}


@dataclass(frozen=True)
class MmaStep:
    """A product that its instruction can compute: what a kernel's statement holds. mma_facts makes one.

    mma         the tiled MMA
    operands    its tensors by name: "D", "A", "B", "C"; "E", "SFA" and "SFB" of an instruction that has them
    one_value   whether they leave out the mode of the atom's values, of which a thread has one

    >>> from tla import parse
    >>> from tla.gpu import UniversalFMA, float, make_tiled_mma, mma_facts
    >>> mma = make_tiled_mma(UniversalFMA[float])
    >>> step = mma_facts(mma, *(mma[0].partition(x, parse("(_2,_2):(_1,_2)")) for x in "ABC"))
    >>> print(*step.operands, step.operands["A"].layout, step.one_value)
    A B D C (_1,_2,_2):(_0,_1,_2) False

    Source: CuTe `gemm(MMA_Atom, D, A, B, C)`.
    """

    mma: TiledMMA
    operands: Mapping[str, Tensor]
    one_value: bool = False


def mma_facts(*operands: object) -> MmaStep:
    """The product of operands by an instruction, if it can compute it; nothing is computed.

    operands   what gemm takes, with or without an instruction first; of symbols too, without buffers
    Returns    MmaStep
    Raises     RankError for forms that CuTe does not have, and extents that do not fit; RangeError for threads that are
               not all of the tiled MMA's; LeafTypeError for other types and memories; DivisibilityError for registers
               whose narrow elements do not lie side by side, and what wgmma_descriptor raises of shared memory. Of
               symbols Unproven, or assuming() records the condition

    >>> from tla import dim, parse, tile_to_shape, _32, _64
    >>> from tla.gpu import GMMA, SM90_64x64x16_F32F16F16_SS, half, make_tiled_mma, mma_facts
    >>> mma, t = make_tiled_mma(SM90_64x64x16_F32F16F16_SS), dim("t", at_least=0, at_most=127)
    >>> smem, total = tile_to_shape(GMMA.K_SW64[half], (_64, _32)), mma[t].partition_fragment_C(parse("(_64,_64):(_1,_64)"))
    >>> step = mma_facts(mma, mma[t].partition_A(smem), mma[t].partition_B(smem), total)
    >>> print(step.operands["A"].layout.shape)
    ((_64,_16),_1,_2)

    Source: CuTe `gemm(MMA_Atom, D, A, B, C)`, and what its headers assert.
    """
    given = None
    if operands and isinstance(operands[0], (TiledMMA, MMAAtom, Family)):
        given, operands = operands[0], operands[1:]
    if len(operands) not in (3, 4):
        raise RankError(f"gemm of {len(operands)} operands", "D, A, B, C, or A, B, C", "write gemm(mma, C, A, B, C)")
    *_first, a, b, c = operands
    d = operands[0] if len(operands) == 4 else c
    mma = _tiled(given, d, a, b, c)
    named = {**_parts(mma.atom, "A", a), **_parts(mma.atom, "B", b), "D": d, "C": c}
    tensors = {name: as_tensor("gemm", x) for name, x in named.items()}
    step = MmaStep(mma, tensors, _is_of_one_value(mma, tensors))
    for name, t in tensors.items():
        _require_operand(mma.atom, name, t)
        _require_values(step, name, t)
        _require_memory(mma.atom, name, t)
    _require_one_accumulator(mma.atom, tensors["C"], tensors["D"])
    _require_one_product(step)
    return step


def _tiled(given: object, *operands: Any) -> TiledMMA:
    """The tiled MMA of a call: an atom of one thread is each thread's own; without one, a multiply-add is."""
    if isinstance(given, TiledMMA):
        return given
    if given is None:
        given = entry("UniversalFMA")[tuple(element_of("gemm", as_tensor("gemm", x), None) for x in operands)]
    alone = isinstance(given, MMAAtom) and size(given.thr_id) == 1
    threads = threads_of(as_tensor("gemm", operands[-1])) if alone else None
    return make_tiled_mma(given, None if threads is None else (threads,))


def _parts(atom: MMAAtom, side: str, given: Any) -> dict[str, Any]:
    """A or B by name, with the metadata of a sparse A and the scale factors."""
    names = [side, *(["E"] if atom.sparsity and side == "A" else []), *([f"SF{side}"] if atom.val_SF else [])]
    parts = given if isinstance(given, (tuple, list)) else (given,)
    if len(parts) != len(names):
        text = f"({', '.join(names)})" if len(names) > 1 else side
        what = f"gemm by {atom.name}: {side} of {len(parts)} tensor{'s' * (len(parts) != 1)}"
        raise LeafTypeError(what, text, f"write gemm(mma, D, ..., C) with {text} for {side}")
    return dict(zip(names, parts))


def _is_of_one_value(mma: TiledMMA, tensors: Mapping[str, Tensor]) -> bool:
    """Whether operands leave out the mode of a thread's values, of which there is one; RankError for no product."""
    extents = [extents_of(tensors[name]) for name in "ABC"]
    ranks = tuple(len(e) - (mma.atom.blocks > 1 and e[3:] == (1,)) for e in extents)
    found = ranks in ONE_VALUE and all(size(mma.atom.operand(side)) == size(mma.atom.thr_id) for side in "ABC")
    if ranks not in FORMS and not found:
        a, b, c = extents
        expected = "(V,M,K) x (V,N,K) => (V,M,N), (V,M) x (V,N) => (V,M,N), or (V) x (V) => (V)"
        fix = "take slices of A and B alike: A[_, _, k] and B[_, _, k]"
        raise RankError(f"gemm of A {a} by B {b} to C {c}", expected, fix)
    if (d := extents_of(tensors["D"])) != extents[2]:
        raise RankError(f"gemm to D of {d} from C of {extents[2]}", "the same extents", "partition both alike")
    return found


def _require_operand(atom: MMAAtom, name: str, t: Tensor) -> None:
    """LeafTypeError for a buffer of no numpy type that holds the operand's elements; accumulators may be wider."""
    if t.dtype is None:
        return
    if t.dtype.kind not in "iufcV":
        raise LeafTypeError(f"gemm of {t!r}", "numbers", "convert it to float32")
    if name not in ("A", "B", "C", "D"):
        return
    element = atom.element(name)
    if not holds(element, t.dtype, wider=name in "CD"):
        what, natural = f"gemm by {atom.name}: {name} of {t.dtype}", numpy_type(element)
        raise LeafTypeError(what, f"{natural}, for {element}", f"convert it to {natural}")
    if name in "CD":
        require_accumulator(atom, t.dtype)


def _require_values(step: MmaStep, name: str, t: Tensor) -> None:
    """Require an operand of all the threads, or of a symbol that stands for them, with the atom's values first."""
    mma, threads = step.mma, threads_of(t)
    if threads is not None:
        require_all_threads(mma, name, threads)
    wanted, given = values_of_thread(mma.atom, name), int(size(first_mode(t)))
    if not step.one_value and given != wanted:
        what = f"gemm: operand {name} of {given} values a thread"
        fix = "partition it with this tiled MMA" if wanted > 1 else "take slices of one value: A[v, _, _]"
        raise RankError(what, f"the {wanted} of {mma.atom.name} in the first mode", fix)


def require_all_threads(mma: TiledMMA, name: str, threads: int) -> None:
    """Require an operand of all the threads of a tiled MMA."""
    if threads != (count := int(cosize(mma.thr_layout_vmnk))):
        what, expected = f"gemm: operand {name} of {threads} threads", f"threads 0 to {count - 1}"
        raise RangeError(what, f"{expected}, for the {mma.threads} of {mma!r}", f"write mma[numpy.arange({count})]")


def values_of_thread(atom: MMAAtom, name: str) -> int:
    """The values of an operand that a thread of the atom has."""
    return int(size(atom.operand("C" if name == "D" else name))) // int(size(atom.thr_id))


def _require_memory(atom: MMAAtom, name: str, t: Tensor) -> None:
    """Require an operand in the instruction's memory and form; for registers A and B may be in shared memory too."""
    wanted, given = atom.memory(name), memory_of(t)
    allowed = ("registers", "smem") if wanted == "registers" and name in ("A", "B", "E", "SFA", "SFB") else (wanted,)
    if given is not None and given not in allowed:
        what = f"gemm by {atom.name}: {name} in {given}"
        raise LeafTypeError(what, f"{' or '.join(allowed)}", f"copy it to {allowed[0]} first")
    if wanted == "smem":
        require_tiles("gemm", atom, name, t)
    elif given == "registers" and name in ("A", "B", "C", "D"):
        _require_registers(atom, name, t)


def _require_registers(atom: MMAAtom, name: str, t: Tensor) -> None:
    """Require that the narrow elements of a register lie side by side, in order."""
    values, element = flat_modes(first_mode(t)), atom.element(name)
    bits = min(atom.register_bits, values_of_thread(atom, name) * element.bits)
    vectors = Vectors(t.layout, 0, values, [], bits, element, f"copy it to make_fragment_{name.replace('D', 'C')}(...)")
    reason = Side(f"gemm by {atom.name}", t, 0, "registers", vectors).why_not_together()
    if reason is not None:
        raise DivisibilityError(f"gemm by {atom.name}, {name} in registers: {reason.what}", reason.expected, reason.fix)


def _require_one_accumulator(atom: MMAAtom, c: Tensor, d: Tensor) -> None:
    """LeafTypeError for a D that is not C where the instruction adds to registers: wgmma."""
    adds = (atom.memory("B"), atom.memory("C")) == ("smem", "registers")
    if adds and (c.data is not d.data or c.layout != d.layout):
        what = f"gemm by {atom.name}: a D that is not C"
        raise LeafTypeError(what, "one accumulator, to which it adds", "write gemm(mma, A, B, C)")


def _require_one_product(step: MmaStep) -> None:
    """Require repetitions (M,K) x (N,K) => (M,N), and metadata and scale factors of as many as their operand."""
    rests = {name: _repetitions(step, name, t) for name, t in step.operands.items()}
    for name, rest in rests.items():
        side = {"E": "A", "SFA": "A", "SFB": "B"}.get(name, name)
        if rest != rests[side]:
            what = f"gemm: {name} of {rest} atoms for {side} of {rests[side]}"
            raise RankError(what, "as many", "partition both alike")
    (m, k), (n, other), total = rests["A"], rests["B"], rests["C"]
    if k != other or (m, n) != total:
        what = f"gemm of A, B, C of {', '.join(str(rests[name]) for name in 'ABC')} atoms"
        raise RankError(what, "(M,K), (N,K), (M,N)", "partition the tiles of one product")
    if step.mma.accumulate_ is not True and k != 1:
        what = f"gemm by {step.mma.atom.name} of {k} atoms along K, each of which may overwrite C"
        fix = "write gemm(mma.with_(0 < k), a[_, _, k], b[_, _, k], c)"
        raise RankError(what, "one atom along K where it does not always add", fix)


def _repetitions(step: MmaStep, name: str, t: Tensor) -> tuple[int, ...]:
    """The extents of an operand behind the atom's values, (M,K), (N,K) or (M,N): 1 where they are left out."""
    rest = extents_of(t)[0 if step.one_value else 1 :][: len(MODES["C" if name == "D" else name])]
    return (*rest, *(1,) * (2 - len(rest)))
