"""Columns of tensor memory that a block has allocated, and where their elements lie.

A tensor in tensor memory has addresses for offsets, a data path in the upper and a column in the lower 16 bits: of 128
paths the columns that are allocated are few, so what is noted of elements is noted by their place among these.

Source: the PTX manual, "Tensor Memory"; CuTe include/cute/arch/tmem_allocator_sm100.hpp.
"""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...core.errors import LeafTypeError, RangeError
from ...gpu.instructions.tmem import COLUMNS, LANES, PATH_BITS
from ...gpu.run.sides import memory_of
from ...tensors.tensor import Tensor
from .lines import Line

#: The addresses of a data path, and the places of all.
_PATH, PLACES = 1 << PATH_BITS, LANES * COLUMNS


@dataclass
class Allocation:
    """Columns of tensor memory. `Allocator1Sm.allocate` makes it.

    line      of the statement that allocates them
    columns   how many
    address   the tensor in shared memory that the hardware writes their address to
    data      the buffer of their elements; None before tmem
    freed     whether they are free again
    sms       the SMs that they are allocated for: 1, or 2 of a pair, each of which has them

    Source: CuTe's `tmem_ptr`.
    """

    line: Line
    columns: int
    address: Tensor
    data: Any = None
    freed: bool = False
    sms: int = 1

    def buffer(self, dtype: Any, *, filled: bool) -> Any:
        """The buffer of the elements, not yet written: every bit is 1. LeafTypeError for a second type."""
        import numpy as np

        if self.data is None:
            # of the columns alone memory is used: not so of numpy's own, which asks for large pages
            held = mmap.mmap(-1, LANES * _PATH * np.dtype(dtype).itemsize)
            self.data = np.frombuffer(held, dtype)
            if filled:
                self.data.view(np.uint32).reshape(LANES, _PATH)[:, : self.columns] = 0xFFFFFFFF
        if self.data.dtype != dtype:
            what = f"tensor memory of {self.data.dtype} and of {dtype}"
            raise LeafTypeError(what, "one type of an allocation", "allocate columns for each")
        return self.data


def require_allocated(held: Sequence[Allocation], *tensors: Tensor) -> None:
    """Require that tensors in tensor memory are of columns that are allocated. Raises LeafTypeError, RangeError."""
    for t in tensors:
        if memory_of(t) != "TMEM":
            continue
        found = next((x for x in held if x.data is not None and x.data is t.data), None)
        if found is None:
            fix = "write tmem(np.float32, mma.make_fragment_C(part).layout, allocated)"
            what = "a tensor in tensor memory that nobody has allocated"
            raise LeafTypeError(what, "columns of Allocator1Sm().allocate(512)", fix)
        if found.freed:
            raise RangeError("tensor memory that is free again", "columns that are allocated", "free them at the end")


def require_group(where: str, held: Sequence[Allocation], sms: int) -> None:
    """Require that what uses tensor memory is of as many SMs as its columns. Raises RangeError.

    Source: the PTX manual, "tcgen05", "Restrictions": all instructions of a kernel have one .cta_group.
    """
    if any(x.sms != sms for x in held):
        what = f"{where}, of {sms} SM{'s' * (sms > 1)}, with columns of Allocator{3 - sms}Sm"
        raise RangeError(what, "one number of SMs in a kernel", f"allocate by Allocator{sms}Sm()")


def require_columns(allocation: Allocation, offset: int, what: str) -> None:
    """Require an address inside of the columns that are allocated. Raises RangeError."""
    path, column = divmod(offset, _PATH)
    if not (0 <= path < LANES and column < allocation.columns):
        place = f"data path {path}, column {column}"
        fix = "allocate more columns"
        raise RangeError(f"{what} at {place}", f"{LANES} data paths of {allocation.columns} columns", fix)


def place_of(address: Any) -> Any:
    """The place of an address among all columns of all data paths: of numbers, arrays or symbols."""
    return address // _PATH * COLUMNS + address % _PATH


def address_of(place: int) -> int:
    """The address of a place."""
    return place // COLUMNS * _PATH + place % COLUMNS
