"""Kernels as Python functions: run on numpy with all threads of a block at once, and checked for races.

kernel      the decorator, and what a launch gives back
launch      the block and the threads that run, shared memory, loops and barriers; order has the words of asynchronous instructions
cluster     blocks that run together (turns), and their barrier; grids cuts a grid into clusters, multicast has masks of their blocks
loads       loads by TMA, and words about mbarriers, which count what has come
tensor_memory   tensor memory, and the arrival of products that add to it; allocation, what a block has of it
trace       the function called with symbols: a program of statements
source      the program as text: text has its statements, several those of several threads, names its names; targets/ a file for each
elements    functions of elements, and elementwise, which executes them
statements  CuTe's algorithms as statements of a kernel
report      what a check says: rows with their lines
watch       a launch that is watched; resources has an architecture's limits
races       which threads touch an element between two barriers (levels): a race is a row of a report; clocks, what each knows of others;
            beside has what a block of a cluster knows of the others;
            race_freedom proves that there is none for all sizes

>>> import numpy as np
>>> from tla import parse
>>> from tla.kernels import copy, kernel, local_partition, thread
>>> @kernel(threads=4)
... def copied(a, b):
...     copy(*(local_partition(x, parse("_4:_1"), thread()) for x in (a, b)))
>>> a, b = np.arange(8), np.zeros(8, int)
>>> copied.run(a, b)
>>> b.tolist()
[0, 1, 2, 3, 4, 5, 6, 7]
"""

from .cluster import block_rank_in_cluster, cluster_sync
from .elements import Scalar
from .kernel import Kernel, kernel
from .launch import barrier, block, loop, phase, registers, shared, stage, thread, when
from .loads import arrive_barrier, make_tma_copy, mbarriers, set_barrier_transaction_bytes, wait_barrier
from .multicast import create_tma_multicast_mask
from .order import (
    cp_async_fence,
    cp_async_wait,
    fence_view_async_shared,
    fence_view_async_tmem_load,
    tma_store_arrive,
    tma_store_wait,
    warpgroup_arrive,
    warpgroup_commit_batch,
    warpgroup_wait,
)
from .partition import local_partition
from .program import Program
from .race import Race, Unwritten
from .report import Counted, Refused, Report, Used
from .source import Source
from .statements import axpby, clear, copy, copy_if, fill, gemm, reduce, shuffle_xor, transform
from .tensor_memory import Allocator1Sm, Allocator2Sm, tmem, umma_arrive, umma_arrive_multicast, umma_arrive_multicast_2x1SM
from .trace import tensor

__all__ = [
    "Allocator1Sm",
    "Allocator2Sm",
    "Counted",
    "Kernel",
    "Program",
    "Race",
    "Refused",
    "Report",
    "Scalar",
    "Source",
    "Unwritten",
    "Used",
    "arrive_barrier",
    "axpby",
    "barrier",
    "block",
    "block_rank_in_cluster",
    "clear",
    "cluster_sync",
    "copy",
    "copy_if",
    "cp_async_fence",
    "cp_async_wait",
    "create_tma_multicast_mask",
    "fence_view_async_shared",
    "fence_view_async_tmem_load",
    "fill",
    "gemm",
    "kernel",
    "local_partition",
    "loop",
    "make_tma_copy",
    "mbarriers",
    "phase",
    "reduce",
    "registers",
    "set_barrier_transaction_bytes",
    "shared",
    "shuffle_xor",
    "stage",
    "tensor",
    "thread",
    "tma_store_arrive",
    "tma_store_wait",
    "tmem",
    "transform",
    "umma_arrive",
    "umma_arrive_multicast",
    "umma_arrive_multicast_2x1SM",
    "wait_barrier",
    "warpgroup_arrive",
    "warpgroup_commit_batch",
    "warpgroup_wait",
    "when",
]
