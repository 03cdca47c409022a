"""Orders: the strips that the blocks of a matrix are numbered in.

Source: CATLASS include/catlass/gemm/block/block_swizzle.hpp, `GetBlockCoord`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from .block import Strip, strip_of


def zigzag(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """Strips of `offset` blocks side by side, walked across the matrix: one there, the next one back."""
    return _walked(range(0, blocks[direction], offset), blocks, direction)


def snake(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """As zigzag, and each second line across a strip is walked backwards, so that the next block is always
    beside the last.

    A last strip of no more than half of `offset` blocks (along n: of less than half) is part of the one before it.
    """
    along, across = _at(*blocks, direction)
    starts = [*range(0, along, offset)]
    last = along - starts[-1]
    if len(starts) > 1 and (last < offset // 2 or (last == offset // 2 and direction == 0)):
        starts.pop()
    count = 0
    for i, (first, end) in enumerate(itertools.pairwise([*starts, along])):
        width = end - first
        for line in range(across)[:: -1 if i % 2 else 1]:
            back = line % 2
            yield strip_of(
                count, _at(first + back * (width - 1), line, direction), (width,), direction, (-1 if back else 1,)
            )
            count += width


def windows(blocks: tuple[int, int], offset: int, direction: int) -> Iterator[Strip]:
    """As zigzag; a last strip of less than `offset` blocks is part of the one before it."""
    along = blocks[direction]
    return _walked(range(0, (along // offset or 1) * offset, offset), blocks, direction)


def windows_of_4(blocks: tuple[int, int], _offset: int, _direction: int) -> Iterator[Strip]:
    """Windows of 4 rows of blocks, walked along n."""
    return windows(blocks, 4, 0)


def columns(blocks: tuple[int, int], _offset: int, _direction: int) -> Iterator[Strip]:
    """Column after column."""
    yield strip_of(0, (0, 0), blocks, 0, (1, 1))


def lines(blocks: tuple[int, int], _offset: int, _direction: int) -> Iterator[Strip]:
    """Line after line."""
    yield strip_of(0, (0, 0), blocks[::-1], 1, (1, 1))


def _walked(starts: Iterable[int], blocks: tuple[int, int], direction: int) -> Iterator[Strip]:
    """Strips that begin at these blocks, each walked across the matrix: one there, the next one back."""
    along, across = _at(*blocks, direction)
    for i, (first, end) in enumerate(itertools.pairwise([*starts, along])):
        back = i % 2
        start, shape = _at(first, back * (across - 1), direction), (end - first, across)
        yield strip_of(first * across, start, shape, direction, (1, -1 if back else 1))


def _at(major: int, minor: int, direction: int) -> tuple[int, int]:
    return (major, minor) if direction == 0 else (minor, major)
