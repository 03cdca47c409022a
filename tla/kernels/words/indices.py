"""Integers that a kernel reads from its arguments: the page of a cache, the expert of a tile, the length of a sequence.

Source: ours; `pages[b][k]` of CUDA's kernels.
"""

from __future__ import annotations

from typing import Any

from ...core.errors import LeafTypeError, RangeError, RankError
from ...core.int_tuple import modes_of, shown
from ...core.ints import Int, IntLike, Leaf, is_int
from ...core.questions import at_most
from ...gpu.run.sides import memory_of
from ...gpu.run.values import places_of
from ...tensors.make_tensor import as_tensor
from ...tensors.tensor import Tensor
from ...tensors.views import local_tile
from ..block.lines import line
from ..block.touched import Access
from ..program.reads import of_each_thread
from ..run.launch import Launch, running
from ..run.trace import Trace

#: The types of integers that are read.
TYPES = tuple(f"{kind}{bits}" for bits in (8, 16, 32) for kind in ("int", "uint"))


def read_index(t: Any, at: Any, below: IntLike, *, distinct: bool = False) -> Leaf:
    """The element of an argument at a coordinate, as an integer to count by: 0 <= it < below.

    t         a tensor of integers of 32 bits or fewer, an argument that the kernel does not write
    at        its coordinate: an integer, or one for each mode; the same for all threads
    below     the integer that it is less than, which proves what is cut by it to be inside: `cache.shape[0]`
    distinct  whether no two elements of t are the same, so that what is written at their places is apart
    Returns   an integer on numpy, a symbol in a text: it chooses tiles, steps of a loop, what `when` asks

    >>> import numpy as np
    >>> from tla import local_tile, parse
    >>> from tla.kernels import block, copy, kernel, local_partition, read_index, thread
    >>> @kernel(threads=4, grid=lambda ids, table, out: (out.shape[0],))
    ... def embedding(ids, table, out):
    ...     row = read_index(ids, block(0), table.shape[0])
    ...     tiles = local_tile(table, (1, 4), (row, 0)), local_tile(out, (1, 4), (block(0), 0))
    ...     copy(*(local_partition(t, parse("(_1,_4):(_0,_1)"), thread()) for t in tiles))
    >>> table, out = np.arange(12.0).reshape(3, 4), np.zeros((2, 4))
    >>> embedding.run(np.array([2, 0], np.int32), table, out), out.tolist()
    (None, [[8.0, 9.0, 10.0, 11.0], [0.0, 1.0, 2.0, 3.0]])

    Raises RangeError for an element that is not less, at a launch: so does the text, which stops. LeafTypeError for other
    types, for memory that is no argument or is written, and for a coordinate of each thread; RankError for a coordinate
    of other modes; RangeError outside a kernel. Source: ours.
    """
    now, t = running("read_index()"), as_tensor("read_index", t)
    at = at if isinstance(at, tuple) else (at,)
    if len(at) != len(modes_of(t.shape)):
        raise RankError(f"read_index at {shown(at)} of {shown(t.shape)}", "a coordinate of each mode", "write (i, j)")
    if any(getattr(x, "shape", ()) != () for x in at):
        raise of_each_thread("read_index")
    if t.data is None or str(t.dtype) not in TYPES or memory_of(t) not in (None, "gmem"):
        given = memory_of(t) if t.dtype is None or str(t.dtype) in TYPES else t.dtype
        expected = f"an argument of {', '.join(TYPES)}"
        raise LeafTypeError(f"read_index of a tensor of {given}", expected, "give indices as int32")
    if not is_int(below) or at_most(below, 0) is True:
        fix = "write read_index(pages, k, cache.shape[0])"
        raise RangeError(f"read_index with below={shown(below)}", "an integer of 1 or more", fix)
    one = local_tile(t, (Int[1](),) * len(at), at)
    if isinstance(now, Trace):
        return now.read_index(line(), one, below, distinct_of=t if distinct else None)
    return _read(now, t, one, at, int(below), distinct)


def _read(now: Launch, t: Tensor, one: Tensor, at: tuple[Any, ...], below: int, distinct: bool) -> int:
    """The element, which is looked at; and noted where races are looked for."""
    value = int(one[(0,) * len(at)])
    if not 0 <= value < below:
        fix = "mend the indices, or ask by when(...) before they are read"
        raise RangeError(f"read_index gives {value} at {shown(at)}", f"0 or more, and less than {below}", fix)
    if distinct and (count := int((t.data[places_of(t)] == value).sum())) != 1:
        what = f"read_index gives {value} at {shown(at)}, an element that {count} of the tensor are"
        raise RangeError(what, "distinct elements", "leave distinct= out, or mend the indices")
    if now.watch is not None:
        now.watch.note(line(), [Access(one)], [])
    return value
