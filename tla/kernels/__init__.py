"""Kernels as Python functions: run on numpy with all threads of a block at once, and checked for races.

kernel    the decorator, and what a launch gives back
words     what a kernel's function calls, beside block(), thread(), shared(), loop() and barrier() of run/launch.py
run       the function called for every block, or with symbols: then its statements are noted, which gives a program
block     what a block has while it runs
program   the program: statements as plain data
checks    a launch that is watched: races, costs, the report
proofs    what holds for all sizes
tiles     what all threads' statements do to a tile together
text      the program as text, and targets, a file for each
ascend    a block of Ascend as a kernel

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

from .ascend import AscendKernel
from .checks.race import Race, Unwritten
from .checks.report import Counted, Refused, Report, Used
from .kernel import Kernel, kernel
from .program.elements import Scalar
from .program.multicast import create_tma_multicast_mask
from .program.statements import Program
from .run.launch import barrier, block, loop, phase, registers, shared, stage, thread, when
from .run.trace import tensor
from .text.source import Source
from .words.algorithms import atomic_add, axpby, clear, copy, copy_if, fill, gemm, reduce, shuffle_xor, transform
from .words.cluster import block_rank_in_cluster, cluster_arrive, cluster_sync, cluster_wait
from .words.indices import read_index
from .words.loads import arrive_barrier, make_tma_copy, mbarriers, set_barrier_transaction_bytes, wait_barrier
from .words.order import (
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
from .words.partition import local_partition
from .words.tensor_memory import (
    Allocator1Sm,
    Allocator2Sm,
    tmem,
    umma_arrive,
    umma_arrive_multicast,
    umma_arrive_multicast_2x1SM,
)

__all__ = [
    "Allocator1Sm",
    "Allocator2Sm",
    "AscendKernel",
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
    "atomic_add",
    "axpby",
    "barrier",
    "block",
    "block_rank_in_cluster",
    "clear",
    "cluster_arrive",
    "cluster_sync",
    "cluster_wait",
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
    "read_index",
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
