"""The product of gemm_atoms.py for bfloat16 and for floats of 8 bits, whose numbers numpy has by the package ml_dtypes.

    python examples/kernels/gemm_narrow.py                                                       # run on numpy, checked
    python examples/kernels/gemm_narrow.py --target cuda --arch sm_89 --variant mma_e4m3         # its text
    python examples/kernels/gemm_narrow.py --target hip --arch gfx942 --variant mfma_e4m3fnuz

Source: CUTLASS examples/cute/tutorial/sgemm_2.cu, whose plan this is; the PTX manual, "mma"; the ISA manual of CDNA 3.
"""

import numpy as np
from _main import main
from gemm_atoms import arguments, by_rows

from tla.gpu import (
    SM80_16x8x16_F32BF16BF16F32_TN,
    SM89_16x8x32_F32E4M3E4M3F32_TN,
    SM89_16x8x32_F32E5M2E5M2F32_TN,
    atom,
    bf16,
    fp8_e4m3,
    fp8_e4m3fnuz,
    fp8_e5m2,
    make_tiled_mma,
    uint32,
    uint64,
)

OF_BF16 = atom("v_mfma_f32_32x32x8_bf16", "cdna3")
OF_FP8 = atom("v_mfma_f32_32x32x16_fp8_fp8", "cdna3")
KERNELS = {
    "mma_bf16": (bf16, make_tiled_mma(SM80_16x8x16_F32BF16BF16F32_TN, (2, 2), (32, 32, 16)), uint32),
    "mma_e4m3": (fp8_e4m3, make_tiled_mma(SM89_16x8x32_F32E4M3E4M3F32_TN, (2, 2), (32, 32, 32)), uint32),
    "mma_e5m2": (fp8_e5m2, make_tiled_mma(SM89_16x8x32_F32E5M2E5M2F32_TN, (2, 2), (32, 32, 32)), uint32),
    "mfma_bf16": (bf16, make_tiled_mma(OF_BF16, (2, 2)), uint64),
    "mfma_e4m3fnuz": (fp8_e4m3fnuz, make_tiled_mma(OF_FP8, (2, 2)), uint64),
}
VARIANTS = {name: (by_rows(mma, element, vector), arguments(element), "m n k A B D") for name, (element, mma, vector) in KERNELS.items()}


def demonstrate():
    rng = np.random.default_rng(0)
    for name, (made, (matrix, *_others), _parameters) in VARIANTS.items():
        a, b = (rng.integers(-3, 4, (rows, 48)).astype(matrix.dtype) for rows in (137, 130))
        d = np.ones((137, 130), np.float32)
        print(f"{name}:\n{made.check(a, b, d)}")
        made.run(a, b, d)
        print("largest difference from numpy:", np.abs(d - (a.astype(np.float32) @ b.T.astype(np.float32) + 1)).max())


if __name__ == "__main__":
    main(VARIANTS, demonstrate)
