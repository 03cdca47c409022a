"""Addresses of shared memory in CUDA's text, and descriptors of tiles there.

Source: the PTX manual, "Matrix descriptor format".
"""

from __future__ import annotations

from ..program.instructions import Tile

#: What a function of the text begins with.
DEVICE = "static __device__ __forceinline__ void"
#: The address of shared memory that a pointer has, of 32 bits.
SHARED = "(unsigned int)__cvta_generic_to_shared({})"


def descriptors(
    functions: dict[str, list[str]], tiles: list[dict[str, Tile]]
) -> tuple[list[str], list[dict[str, str]]]:
    """The lines that make a descriptor of each operand in shared memory, and those of products, by steps from it."""
    starts: dict[tuple[str, str, int], str] = {}
    operands = []
    for read in tiles:
        found = {}
        for x, tile in read.items():
            start = starts.setdefault((tile.name, tile.start, tile.descriptor), f"descriptor_{len(starts)}")
            found[x] = f"{start} + {tile.step}" if tile.step else start
        operands.append(found)
    given = "const void *start, unsigned long long bits"
    functions["matrix_descriptor"] = [
        f"static __device__ __forceinline__ unsigned long long matrix_descriptor({given}) {{",
        f"    return bits | (({SHARED.format('start')} & 0x3ffff) >> 4);",
        "}",
    ]
    made = [
        f"const unsigned long long {x} = matrix_descriptor(&{name}[{at}], {bits:#x}ull);"
        for (name, at, bits), x in starts.items()
    ]
    return made, operands
