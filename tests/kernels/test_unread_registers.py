"""Registers and shared memory that a kernel writes, and nobody reads: its text in C compiles without a warning."""

import numpy as np

from tests.kernels.test_kernel_source import pointer
from tla import parse
from tla.kernels import clear, copy, fill, kernel, local_partition, registers, shared, tensor, thread

from sources_of_kernels import c_function


def test_what_nobody_reads_is_no_warning(tmp_path):
    @kernel(threads=4)
    def copied(a, b):
        fill(registers(np.float32, 2), 1)
        clear(local_partition(shared(np.float32, parse("_4:_1")), parse("_4:_1"), thread()))
        copy(*(local_partition(x, parse("_4:_1"), thread()) for x in (a, b)))

    given = tensor(np.float32, parse("_8:_1"))
    source = copied.source("c", given, given)
    assert "(void)smem0;" in source.text
    a, b = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    c_function(tmp_path, source)(pointer(a), pointer(b))
    assert (a == b).all()
