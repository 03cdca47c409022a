"""How many faults are put into blocks and logs in these tests, which find all of them at night, and a sample by day."""

import test_channel_scales
import test_convolution_blocks
import test_foreign_kernels
import test_padded_blocks
import test_sparse_blocks
import test_vector_core_blocks
import test_vector_logs

IN_BLOCKS = {
    "scales of columns": test_channel_scales.FAULTS,
    "scales of columns, Ascend950": test_channel_scales.WIDE,
    "convolutions": test_convolution_blocks.FAULTS,
    "products": test_foreign_kernels.FAULTS,
    "paddings": test_padded_blocks.FAULTS,
    "sparse products": test_sparse_blocks.FAULTS,
    "vector cores": test_vector_core_blocks.FAULTS,
}
IN_LOGS = {
    "scales of columns": test_foreign_kernels.SCALE_FAULTS,
    "products": test_foreign_kernels.LOG_FAULTS,
    "types, modes and starts": test_foreign_kernels.SILENT,
    "vector cores": test_vector_logs.FAULTS,
    "transposes": test_vector_logs.TRANSPOSE_FAULTS,
}


def test_the_seeded_faults_are_so_many():
    """Kinds of faults, each put into one log or block or more: 40 are asked for."""
    in_blocks, in_logs = ({kind: len(x) for kind, x in faults.items()} for faults in (IN_BLOCKS, IN_LOGS))
    assert in_blocks == {
        "scales of columns": 14,
        "scales of columns, Ascend950": 9,
        "convolutions": 13,
        "products": 36,
        "paddings": 8,
        "sparse products": 10,
        "vector cores": 12,
    }
    assert in_logs == {
        "scales of columns": 8,
        "products": 17,
        "types, modes and starts": 22,
        "vector cores": 23,
        "transposes": 6,
    }
    assert sum(in_blocks.values()) + sum(in_logs.values()) == 178
