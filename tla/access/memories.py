"""Memories as rows of a table: how many banks, which lanes go together, and where that is known from."""

from __future__ import annotations

from dataclasses import dataclass

from ..core.errors import LeafTypeError, RangeError

Groups = tuple[tuple[int, ...], ...]


def _in_order(lanes: int, size: int) -> Groups:
    return tuple(tuple(range(k, k + size)) for k in range(0, lanes, size))


@dataclass(frozen=True)
class Memory:
    """A memory as what one instruction does with it.

    name         what it is called in messages
    lanes        of a warp
    banks        how many words are served at once, one of each bank; 0 for a memory without banks, counted in
                 `word_bits` pieces
    word_bits    of a bank's word, or of a sector [bits]
    line_bits    of a line, that several sectors are in [bits]; 0 for none
    phases       width of a lane's access [bits] -> (banks, groups of lanes that go together); other widths are refused
    convention   whether this is measured, and no specification
    source       where it is known from

    >>> NVIDIA_SHARED.phases[128][1][0], NVIDIA_SHARED.convention
    ((0, 1, 2, 3, 4, 5, 6, 7), True)
    """

    name: str
    lanes: int
    banks: int
    word_bits: int
    phases: dict[int, tuple[int, Groups]]
    convention: bool
    source: str
    line_bits: int = 0

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return self.name

    @property
    def widths(self) -> tuple[int, ...]:
        """The widths that a lane may access at once [bits], the widest first."""
        return tuple(sorted(self.phases, reverse=True))

    def groups(self, width: int, lanes: int) -> tuple[int, Groups]:
        """The number of banks, and the lanes that go together in an access of this width by so many lanes."""
        if width not in self.phases:
            have = ", ".join(map(str, sorted(self.phases)))
            what = f"an access of {width} bits in {self.name}"
            raise RangeError(what, f"one of {have} bits", "give one of these as width")
        banks, groups = self.phases[width]
        found: list[tuple[int, ...]] = []
        for start in range(0, lanes, self.lanes):  # more lanes than a warp go in further warps
            found += [tuple(start + k for k in group if start + k < lanes) for group in groups]
        return banks, tuple(group for group in found if group)


def _narrow(lanes: int, together: int) -> dict[int, tuple[int, Groups]]:
    """Accesses of a word and of parts of one: as many lanes together as there are banks."""
    return {width: (together, _in_order(lanes, together)) for width in (8, 16, 32)}


def _written(lanes: int) -> dict[int, tuple[int, Groups]]:
    """Writes of LDS: 128 bytes of neighbouring lanes together."""
    return {**_narrow(lanes, 32), 64: (32, _in_order(lanes, 16)), 128: (32, _in_order(lanes, 8))}


_SHARED = {width: (32, _in_order(32, min(32, 1024 // width))) for width in (8, 16, 32, 64, 128)}
_GLOBAL = {width: (0, _in_order(32, 32)) for width in (8, 16, 32, 64, 128)}
_SHARK = (
    "measured by AMD: nod-ai/amd-shark-ai, docs/amdgpu_kernel_optimization_guide.md and docs/empirical-lds; 8 and 16 "
    "bits as 32"
)
_KITTENS = "measured on MI355X: HipKittens, arXiv 2511.08083, analysis/paper_experiments/phases"
# ds_write_b128 takes 8 neighbours together: listed for MI300 in the guide above, and for waves of 64 in the
# documentation of Composable Kernel, "Understanding AMD GPU LDS and Bank Conflicts". Triton takes the same phases of
# reads (pull request 11365). That narrower writes take 128 bytes together follows from the guide: MI350 doubled the
# bandwidth of reads alone.
_BANDWIDTH = "narrower widths inferred from 128 bytes a clock"
_B96 = ((0, 20), (4, 16), (8, 28), (12, 24))
_PAIRS = tuple((*range(a + h, a + h + 4), *range(b + h, b + h + 4)) for h in (0, 32) for a, b in _B96)
_B128 = ((0, 12, 20, 24), (4, 8, 16, 28))
_QUADS = tuple(tuple(k for a in starts for k in range(a + h, a + h + 4)) for h in (0, 32) for starts in _B128)

#: Shared memory of NVIDIA's GPUs since Fermi: 32 banks of 4 bytes; half warps at 64 bits, quarter warps at 128.
NVIDIA_SHARED = Memory(
    "NVIDIA_SHARED",
    32,
    32,
    32,
    _SHARED,
    True,
    "CUDA C++ Programming Guide, shared memory, for 32 banks of 4 bytes; the phases of 64 and 128 bits are measured",
)
#: Global memory of NVIDIA's GPUs: sectors of 32 bytes, lines of 128.
NVIDIA_GLOBAL = Memory(
    "NVIDIA_GLOBAL",
    32,
    0,
    256,
    _GLOBAL,
    False,
    "CUDA C++ Best Practices Guide, coalesced access to global memory",
    line_bits=1024,
)
#: Reads of LDS of AMD's MI300 (gfx942): 32 banks; lanes of a phase are no neighbours at 128 bits.
AMD_LDS_GFX942_READ = Memory(
    "AMD_LDS_GFX942_READ", 64, 32, 32, {**_narrow(64, 32), 64: (32, _in_order(64, 16)), 128: (32, _PAIRS)}, True, _SHARK
)
#: Writes of LDS of AMD's MI300 (gfx942): 32 banks, neighbours.
AMD_LDS_GFX942_WRITE = Memory(
    "AMD_LDS_GFX942_WRITE", 64, 32, 32, _written(64), True, f"{_SHARK}; 128 bits, {_BANDWIDTH}"
)
#: Reads of LDS of AMD's MI350 (gfx950): 64 banks; lanes of a phase are no neighbours at 96 and 128 bits.
AMD_LDS_GFX950_READ = Memory(
    "AMD_LDS_GFX950_READ",
    64,
    64,
    32,
    {**_narrow(64, 64), 64: (64, _in_order(64, 32)), 96: (32, _PAIRS), 128: (64, _QUADS)},
    True,
    f"{_SHARK}; 96 bits {_KITTENS}",
)
#: Writes of LDS of AMD's MI350 (gfx950): 32 banks where reads have 64, neighbours.
AMD_LDS_GFX950_WRITE = Memory(
    "AMD_LDS_GFX950_WRITE",
    64,
    32,
    32,
    _written(64),
    True,
    f"64 bits {_KITTENS}; 128 bits Composable Kernel's docs; 32 bits inferred from these",
)
#: Reads of LDS of AMD's RDNA3 (gfx11): waves of 32, 32 banks; lanes of a phase are no neighbours at 128 bits.
AMD_LDS_GFX11_READ = Memory(
    "AMD_LDS_GFX11_READ",
    32,
    32,
    32,
    {**_narrow(32, 32), 64: (32, _in_order(32, 16)), 128: (32, _PAIRS[:4])},
    True,
    _SHARK,
)
#: Writes of LDS of AMD's RDNA3 (gfx11): waves of 32, 32 banks, neighbours.
AMD_LDS_GFX11_WRITE = Memory(
    "AMD_LDS_GFX11_WRITE", 32, 32, 32, _written(32), True, "inferred from 32 banks, and from writes of MI300"
)
#: Reads of LDS of AMD's RDNA4 (gfx12): waves of 32, 32 banks, neighbours.
AMD_LDS_GFX12_READ = Memory(
    "AMD_LDS_GFX12_READ",
    32,
    32,
    32,
    {**_narrow(32, 32), 64: (32, _in_order(32, 16)), 128: (32, _in_order(32, 8))},
    True,
    _SHARK,
)
#: Writes of LDS of AMD's RDNA4 (gfx12): waves of 32, 32 banks, neighbours as in reads.
AMD_LDS_GFX12_WRITE = Memory(
    "AMD_LDS_GFX12_WRITE", 32, 32, 32, _written(32), True, "inferred from reads, whose lanes are neighbours"
)
#: The unified buffer of Ascend 910B: a vector instruction takes 8 blocks of 32 bytes, one from each of 16
#: bank groups at once.
ASCEND_UB = Memory(
    "ASCEND_UB",
    8,
    16,
    256,
    {256: (16, _in_order(8, 8))},
    False,
    "Ascend C best practices, avoiding bank conflicts in the unified buffer, CANN 8: of one operand",
)
#: Vector registers of a TPU: a load moves aligned tiles of 8 by 128 words of 32 bits.
TPU_VREG = Memory(
    "TPU_VREG",
    1024,
    0,
    32 * 1024,
    {32: (0, _in_order(1024, 1024))},
    True,
    "JAX, Pallas TPU: vregs of 8 sublanes by 128 lanes; how a load of part of a tile is timed is not specified",
)

_ROWS = (
    NVIDIA_SHARED,
    NVIDIA_GLOBAL,
    AMD_LDS_GFX942_READ,
    AMD_LDS_GFX942_WRITE,
    AMD_LDS_GFX950_READ,
    AMD_LDS_GFX950_WRITE,
    AMD_LDS_GFX11_READ,
    AMD_LDS_GFX11_WRITE,
    AMD_LDS_GFX12_READ,
    AMD_LDS_GFX12_WRITE,
    ASCEND_UB,
    TPU_VREG,
)
#: name -> the row.
MEMORIES = {memory.name: memory for memory in _ROWS}


def as_memory(x: object) -> Memory:
    """A row of the table, by itself or by its name; anything else is refused."""
    if isinstance(x, Memory):
        return x
    if isinstance(x, str) and x in MEMORIES:
        return MEMORIES[x]
    if isinstance(x, str):
        expected = f"one of {', '.join(MEMORIES)}"
        raise RangeError(f"the memory {x!r:.40}", expected, "use one of these, or make a Memory of what you measured")
    raise LeafTypeError(f"a {type(x).__name__} as a memory", "a Memory, or its name", "write NVIDIA_SHARED")
