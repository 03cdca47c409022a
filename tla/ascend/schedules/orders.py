"""Orders: the strips that the blocks of a matrix are numbered in.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp, `GetBlockCoord`.
"""

from __future__ import annotations

from collections.abc import Iterator

from .block import Strip, strip_of


def zigzag(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """Strips of `offset` blocks side by side, walked across the matrix: one there, the next one back."""
    along, across = blocks[direction], blocks[1 - direction]
    for first in range(0, along, offset):
        width, back = min(offset, along - first), first // offset % 2
        yield strip_of(first * across, _at(first, back * (across - 1), direction), (width, across), direction, (1, -1 if back else 1))


def snake(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """As zigzag, and each second line across a strip is walked backwards, so that the next block is always beside the last.

    A last strip of no more than half of `offset` blocks (along n: of less than half) is part of the one before it.
    """
    along, across = blocks[direction], blocks[1 - direction]
    starts = [*range(0, along, offset)]
    last = along - starts[-1]
    if len(starts) > 1 and (last < offset // 2 or (last == offset // 2 and direction == 0)):
        starts.pop()
    count = 0
    for i, first in enumerate(starts):
        width = (starts[i + 1] if i + 1 < len(starts) else along) - first
        for line in range(across)[:: -1 if i % 2 else 1]:
            back = line % 2
            yield strip_of(count, _at(first + back * (width - 1), line, direction), (width,), direction, (-1 if back else 1,))
            count += width


def windows(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """As zigzag; a last strip of less than `offset` blocks is part of the one before it."""
    along, across = blocks[direction], blocks[1 - direction]
    count = along // min(offset, along)
    for i in range(count):
        first, back = i * offset, i % 2
        width = (first + offset if i + 1 < count else along) - first
        yield strip_of(first * across, _at(first, back * (across - 1), direction), (width, across), direction, (1, -1 if back else 1))


def columns(blocks: tuple[int, int], _offset: int, _direction: int) -> Iterator[Strip]:
    """Column after column."""
    yield strip_of(0, (0, 0), blocks, 0, (1, 1))


def lines(blocks: tuple[int, int], _offset: int, _direction: int) -> Iterator[Strip]:
    """Line after line."""
    yield strip_of(0, (0, 0), blocks[::-1], 1, (1, 1))


def _at(major: int, minor: int, direction: int) -> tuple[int, int]:
    return (major, minor) if direction == 0 else (minor, major)
