"""The plan of a conversion: its steps, what they cost, executed on arrays of registers, and as text."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..core.errors import RankError
from ..linear import LinearLayout
from ..linear.arguments import checked
from ..linear.xor_strides import readable
from .device_text import device_function
from .dialects import CUDA, HIP, Dialect
from .gluon_text import gluon_function
from .matrices import Instructions
from .places import offsets, owned
from .rounds import stays_in_warps
from .steps import BYTE_BITS, WORD_BITS, Load, Move, Shuffle, Spread, Step, Store

if TYPE_CHECKING:
    import numpy.typing as npt


#: Plans whose values take as many registers say so: AMD's threads have 128 where the size of blocks is not said, and
#: addresses take some.
MAY_SPILL = 120


@dataclass(frozen=True)
class ConversionPlan:
    """The way of values from the owners of one layout to those of another.

    kind           "registers", "shuffles" or "shared memory"
    steps          Move, Shuffle, Spread, Store and Load, in order
    shuffles       shuffle instructions of each warp: one for each word of 32 bits, so two for a value of 64
    bytes          of shared memory
    wavefronts     of all warps' stores and loads
    instructions   of each warp: shuffles, stores and loads
    cycles         of the busiest pipe, for all warps, by the table of machines: predicted, not measured
    why            why it goes this way, in words
    element_bits   of an element [bits]
    src, dst       the layouts
    lane_moves     of the shuffles those that are DPP or v_permlane16, AMD's instructions without shared memory's pipe

    run(values) executes it; cuda(name) and gluon(name) are its text.

    >>> from tla.access import convert
    >>> a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
    >>> convert(a, a).kind
    'registers'
    """

    kind: str
    steps: tuple[Step, ...]
    shuffles: int
    bytes: int
    wavefronts: int
    instructions: int
    cycles: int
    why: str
    element_bits: int
    src: LinearLayout = field(repr=False)
    dst: LinearLayout = field(repr=False)
    lane_moves: int = 0

    def __str__(self) -> str:
        """The plan in words: its way, why, what it costs, and the layout of memory, a chain of swizzles as XOR strides.

        >>> from tla.access import convert
        >>> a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,)], "lane": [(1,)]}, {"dim0": 4})
        >>> print(convert(a, b, through="memory"))
        shared memory: as asked
        store 64 bits at once, load 32 bits at once: 3 instructions of each warp, 3 wavefronts of all
        16 bytes of memory: _4:_1
        """
        lines = [f"{self.kind}: {self.why}"]
        memory = [step for step in self.steps if isinstance(step, (Store, Load))]
        if self.shuffles:
            by_moves = f", {self.lane_moves} of them DPP or permlane" if self.lane_moves else ""
            lines.append(f"{self.shuffles} shuffles of each warp{by_moves}")
        if memory:
            store, load = (_access_text(step, max(BYTE_BITS, self.element_bits)) for step in memory[:2])
            rounds = f" in {len(memory) // 2} rounds" if len(memory) > 2 else ""
            counts = f"{self.instructions} instructions of each warp, {self.wavefronts} wavefronts of all"
            lines.append(f"{store}, {load}{rounds}: {counts}")
            lines.append(f"{self.bytes} bytes of memory: {readable(memory[0].layout)}")
        if self.registers >= MAY_SPILL:
            lines.append(f"{self.registers} registers of each thread for the values, estimated: compilers may spill")
        return "\n".join(lines)

    @property
    def registers(self) -> int:
        """The registers of 32 bits that hold a thread's values at once, packed: an estimate, without addresses and what
        compilers keep.

        What is shuffled, or goes in rounds, is beside what came of it; else the larger side counts. Compilers spill
        where it is more than a thread has: 255 on NVIDIA; on AMD 128 where the size of blocks is not said, more with
        __launch_bounds__.

        >>> from tla.access import convert
        >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
        >>> convert(a, a, 64).registers
        8
        """
        width = max(BYTE_BITS, self.element_bits)
        sides = [-(-x.get_in_dim_size("register") * width // WORD_BITS) for x in (self.src, self.dst)]
        return sum(sides) if self.kind == "shuffles" or len(self.steps) > 2 else max(sides)

    @property
    def alone(self) -> bool:
        """Whether each warp holds all that it needs before: then it waits for no other."""
        return stays_in_warps(self.src, self.dst)

    def run(self, values: object) -> npt.NDArray[Any]:
        """The plan executed on an array [warp, lane, register]: the array that the destination holds.

        >>> import numpy as np
        >>> from tla.access import convert
        >>> a = LinearLayout({"register": [(1,)], "lane": [(2,)]}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,)], "lane": [(1,)]}, {"dim0": 4})
        >>> convert(a, b).run(np.arange(4).reshape(1, 2, 2)).tolist()
        [[[0, 2], [1, 3]]]
        """
        import numpy as np

        given = np.asarray(values)
        require_shape(given.shape, _sizes(self.src), "warp, lane, register")
        found = np.zeros(_sizes(self.dst), given.dtype)
        memory: npt.NDArray[Any] = np.zeros(0, given.dtype)
        for step in self.steps:
            if isinstance(step, Move):
                found[:] = given[:, :, list(step.table)]
            elif isinstance(step, Shuffle):
                _shuffle(step, given, found)
            elif isinstance(step, Spread):
                found = found[:, :, list(step.table)]
            elif isinstance(step, Store):
                at, chosen = self._places(self.src, step)
                memory = np.zeros(at.max() + 1, given.dtype)
                memory[at] = given[:, :, chosen]
            else:
                at, chosen = self._places(self.dst, step)
                found[:, :, chosen] = memory[at]
        return found

    def _places(self, owners: LinearLayout, step: Store | Load) -> tuple[npt.NDArray[Any], list[int]]:
        """The offsets [warp, lane, register] of the registers that a step moves, and these."""
        import numpy as np

        if step.matrices:
            found = Instructions.of(owners, step)
            places = found.places(owners.get_in_dim_size("warp"))
            equal = [r for vector in found.vectors for r in vector.registers]
            again = [k for k, registers in enumerate(equal) for _ in registers]
            return places[:, :, again], [r for registers in equal for r in registers]
        chosen = [*(step.registers or range(owners.get_in_dim_size("register")))]
        return np.reshape(offsets(owned(owners, 32), step.layout).of, _sizes(owners))[:, :, chosen], chosen

    @checked
    def cuda(self, name: str = "convert") -> str:
        """The plan as a CUDA device function: `src` and `dst` are a thread's registers, `smem` shared memory
        of the block.

        T has the plan's element_bits, or a byte for narrower elements. Threads are in order of lane, then warp, from
        threadIdx.x 0 on; a block with shared memory has all of the layout's threads. `smem` is aligned to 16 bytes, and
        nobody reads it any more. Registers are indexed by constants only, shared memory is accessed in the plan's
        vectors: where the arrays are a kernel's own, they are registers, and the machine code has
        the plan's instructions.

        Raises     RangeError for warps of more than 32 lanes, for shuffles of values that no register has, and for a
                   layout of memory that neither xors nor adds what lane, warp and register say

        >>> from tla.access import convert
        >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,), (1,)], "lane": []}, {"dim0": 4})
        >>> print(convert(a, b).cuda())
        template <class T>
        __device__ __forceinline__ void convert(const T* src, T* dst) {
          dst[0] = src[0]; dst[1] = src[2]; dst[2] = src[1]; dst[3] = src[3];
        }
        """
        return self._text(CUDA, name)

    @checked
    def hip(self, name: str = "convert") -> str:
        """The plan as a HIP device function, as cuda() has it: for warps of up to 64 lanes.

        Shuffles are ds_bpermute_b32, or of a plan for a machine by its name DPP or v_permlane16 where these take fewer
        cycles. That of gfx11 or gfx12 may have row_xmask and v_permlane16, which gfx9 has not.

        Raises     as cuda() does

        >>> from tla.access import convert
        >>> a = LinearLayout({"register": [(1,), (2,)], "lane": []}, {"dim0": 4})
        >>> b = LinearLayout({"register": [(2,), (1,)], "lane": []}, {"dim0": 4})
        >>> print(convert(a, b, memory="gfx942").hip())
        template <class T>
        __device__ __forceinline__ void convert(const T* src, T* dst) {
          dst[0] = src[0]; dst[1] = src[2]; dst[2] = src[1]; dst[3] = src[3];
        }
        """
        return self._text(HIP, name)

    def _text(self, dialect: Dialect, name: str) -> str:
        return device_function(dialect, name, self.steps, self.src, self.dst, self.element_bits, self.alone)

    @checked
    def gluon(self, name: str = "convert") -> str:
        """The plan as a function of Triton's Gluon: of a tensor in the layout `src`, the same in the layout `dst`.

        Triton 3.9 compiles it to the plan's instructions, of a plan for a machine by its name; shared memory has the
        layout that was chosen here.

        Raises     RangeError for warps of other than 32 or 64 lanes, rounds, padded memory, and what Triton does by
                   other instructions: shuffles that exchange two bits or more, or of registers that the destination
                   has not; bytes transposed by matrices; vectors in an order of each lane's own. And for registers
                   that change several bits, on which it aborts

        >>> from tla.access import convert
        >>> lanes = [(4,), (8,), (16,), (32,), (64,)]
        >>> a = LinearLayout({"register": [(1,), (2,)], "lane": lanes}, {"dim0": 128})
        >>> b = LinearLayout({"register": [(2,), (1,)], "lane": lanes}, {"dim0": 128})
        >>> print(convert(a, b).gluon())
        @gluon.jit
        def convert(x):
            layout: gl.constexpr = gl.DistributedLinearLayout([[2], [1]], [[4], [8], [16], [32], [64]], [], [], [128])
            return gl.convert_layout(x, layout)
        """
        return gluon_function(name, self.steps, self.src, self.dst, self.element_bits)


def require_shape(given: tuple[int, ...], sizes: tuple[int, ...], axes: str) -> None:
    """RankError where an array of values has another shape than its owners."""
    if given != sizes:
        raise RankError(f"run of an array of shape {given}", f"{sizes}: {axes}", "give one value for each")


def _sizes(layout: LinearLayout) -> tuple[int, int, int]:
    return layout.get_in_dim_size("warp"), layout.get_in_dim_size("lane"), layout.get_in_dim_size("register")


def _access_text(step: Store | Load, width: int) -> str:
    """The instruction of a step in words."""
    if step.matrices:
        return f"{'st' if isinstance(step, Store) else 'ld'}{step.matrices.name}"
    return f"{'store' if isinstance(step, Store) else 'load'} {width * step.vector} bits at once"


def _shuffle(step: Shuffle, given: npt.NDArray[Any], found: npt.NDArray[Any]) -> None:
    """One round on all warps."""
    warps = [(w * step.lanes, found[w : w + 1], given[w : w + 1]) for w in range(step.warps)]
    warps = [(0, found, given)] if step.warps == 1 else warps
    registers = found.shape[-1]
    for (first, kept_by, sent_by), lane in itertools.product(warps, range(step.lanes)):
        source, into = step.source[first + lane], step.into[first + lane]
        for sent, kept in ((s, k) for s, k in zip(step.sends, step.keeps) if into ^ k < registers):
            kept_by[:, lane, into ^ kept] = sent_by[:, source, step.send[first + source] ^ sent]
