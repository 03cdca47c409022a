"""The languages of device functions: their words for shuffles, permutes of bytes, and vectors in shared memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from .lane_moves import LaneMove
from .steps import WORD_BITS, Matrices

#: The type of an access of one word, of so many bits.
_ACCESS = {16: "unsigned short", 32: "unsigned"}


class Dialect(NamedTuple):
    """The words of a language that differ.

    lanes          of the greatest warp
    shuffle        of a value, the lane whose value is meant, and the lanes of a warp: the expression
    permute        a format of a word and a selector of its bytes
    select         the selector that keeps the bytes of a word, and what it changes for each byte that is exchanged
    warp_barrier   what makes a warp's stores be seen by its lanes
    store, load    of a width [bits] the statements that move `v` to smem + at, or back
    move           of a move from lane to lane and a value: the expression; None where there are none
    matrices       so of matrix instructions, of their form, and whether they store; None where there are none
    """

    name: str
    lanes: int
    shuffle: Callable[[str, str, int], str]
    permute: str
    select: tuple[int, int]
    warp_barrier: str
    store: Callable[[int], list[str]]
    load: Callable[[int], list[str]]
    matrices: Callable[[Matrices, bool], list[str]] | None = None
    move: Callable[[LaneMove, str], str] | None = None


def _cuda_shuffle(value: str, lane: str, lanes: int) -> str:
    return f"__shfl_sync(0xffffffffu, {value}, {lane}{'' if lanes == 32 else f', {lanes}'})"


def _cuda_store(width: int) -> list[str]:
    """PTX for vectors: a struct is stored word by word where the compiler does not see that its words lie together."""
    if width <= WORD_BITS:
        return [f"*reinterpret_cast<{_ACCESS[width]}*>(smem + at) = v[0];"]
    words = range(width // WORD_BITS)
    values = ", ".join(f'"r"(v[{k}])' for k in words)
    names = ", ".join(f"%{k + 1}" for k in words)
    return [f'asm volatile("st.shared.v{len(words)}.b32 [%0], {{{names}}};" :: {_SHARED}, {values} : "memory");']


def _cuda_load(width: int) -> list[str]:
    if width <= WORD_BITS:
        return [f"v[0] = *reinterpret_cast<const {_ACCESS[width]}*>(smem + at);"]
    words = range(width // WORD_BITS)
    values = ", ".join(f'"=r"(v[{k}])' for k in words)
    names = ", ".join(f"%{k}" for k in words)
    n = len(words)
    return [f'asm volatile("ld.shared.v{n}.b32 {{{names}}}, [%{n}];" : {values} : {_SHARED} : "memory");']


def _cuda_matrices(form: Matrices, store: bool) -> list[str]:
    count, transposed = 1 << len(form.together), ".trans" if form.transposed else ""
    op = f"{'st' if store else 'ld'}matrix.sync.aligned.m8n8.x{count}{transposed}.shared.b16"
    values = ", ".join(f'"{"" if store else "="}r"(v[{k}])' for k in range(count))
    names = ", ".join(f"%{k + store}" for k in range(count))
    if store:
        return [f'asm volatile("{op} [%0], {{{names}}};" :: {_SHARED}, {values} : "memory");']
    return [f'asm volatile("{op} {{{names}}}, [%{count}];" : {values} : {_SHARED} : "memory");']


_SHARED = '"r"(unsigned(__cvta_generic_to_shared(smem + at)))'
CUDA = Dialect(
    "cuda",
    32,
    _cuda_shuffle,
    "__byte_perm({}, 0u, {})",
    (0x3210, 0x1111),
    "__syncwarp();",
    _cuda_store,
    _cuda_load,
    _cuda_matrices,
)


_LDS = "__attribute__((address_space(3)))"


def _hip_shuffle(value: str, lane: str, lanes: int) -> str:
    """The lane is that of the wave, whose number the hardware takes modulo the lanes that a wave has."""
    lane = f"({lane})" if lanes == 64 else f"(threadIdx.x - lane + ({lane}))"
    return f"unsigned(__builtin_amdgcn_ds_bpermute(int({lane} << 2), int({value})))"


def _hip_move(move: LaneMove, value: str) -> str:
    if move.kind == "dpp":
        return f"unsigned(__builtin_amdgcn_mov_dpp(int({value}), {move.numbers[0]:#x}, 0xf, 0xf, true))"
    return f"__builtin_amdgcn_{move.kind}({value}, {value}, {move.numbers[0]:#x}u, {move.numbers[1]:#x}u, true, true)"


def _hip_store(width: int) -> list[str]:
    """One value of a vector type, which is stored whole, where uint4 is a struct."""
    if width <= WORD_BITS:
        return _cuda_store(width)
    values = ", ".join(f"v[{k}]" for k in range(width // WORD_BITS))
    return [_vector_type(width), f"*({_LDS} words*)(smem + at) = words{{{values}}};"]


def _hip_load(width: int) -> list[str]:
    """Volatile, for else the compiler reads a word or a vector in parts again; and of LDS by name, for it infers that
    of no volatile access."""
    if width <= WORD_BITS:
        return [f"v[0] = *(const volatile {_LDS} {_ACCESS[width]}*)(smem + at);"]
    taken = " ".join(f"v[{k}] = all[{k}];" for k in range(width // WORD_BITS))
    return [_vector_type(width), f"const words all = *(const volatile {_LDS} words*)(smem + at);", taken]


def _vector_type(width: int) -> str:
    return f"using words = unsigned __attribute__((vector_size({width // 8})));"


HIP = Dialect(
    "hip",
    64,
    _hip_shuffle,
    "__builtin_amdgcn_perm(0u, {}, {})",
    (0x03020100, 0x01010101),
    '__builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront"); __builtin_amdgcn_wave_barrier();',
    _hip_store,
    _hip_load,
    move=_hip_move,
)
