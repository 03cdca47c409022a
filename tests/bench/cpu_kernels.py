"""Kernels in C on one core beside numpy, in one run: processor time of the best of several rounds in turn, and ratios.

    OPENBLAS_NUM_THREADS=1 python tests/bench/cpu_kernels.py [gcc|clang ...]

A ratio above 1 is faster than numpy: its `@` of one thread, and numpy.copyto. Every result is compared with numpy's.
"""

import ctypes
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "kernels"))
import gemm_cpu
import im2col
import transpose

ROUNDS = 9


def built(folder, compiler, kernel, arguments, parameters):
    source, library = folder / "kernel.c", folder / f"{len([*folder.iterdir()])}.so"
    source.write_text(kernel.source("c", *arguments, parameters=parameters).text)
    subprocess.run([compiler, "-O3", "-march=native", "-shared", "-fPIC", source, "-o", library], check=True)
    return ctypes.CDLL(str(library)).kernel_main


def compared(name, call, given, peer, work, unit):
    """A row: work of a round by the best time of each."""
    best = [float("inf")] * 2
    for _round in range(ROUNDS):
        for k, f in enumerate((lambda: call(*given), peer)):
            begin = time.thread_time()
            f()
            best[k] = min(best[k], time.thread_time() - begin)
    own, other = (work / t / 1e9 for t in best)
    print(f"{name:44} {own:7.2f} {other:7.2f} {unit:9} {own / other:5.2f}", flush=True)


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def products(folder, compiler, rng):
    for order in ("nn", "nt", "tn", "tt"):
        call = built(folder, compiler, *gemm_cpu.VARIANTS[f"avx2_{order}"])
        for m, n, k in ((1024, 1024, 1024), (1000, 1000, 1000)):
            a, b = (rng.integers(-3, 4, shape).astype(np.float32) for shape in ((m, k), (k, n)))
            a, b = (np.asarray(x, order="C" if o == "n" else "F") for x, o in zip((a, b), order))
            d = np.zeros((m, n), np.float32)
            call(m, n, k, *map(pointer, (a, b, d)))
            assert (d == a @ b).all()
            given = m, n, k, *map(pointer, (a, b, d))
            compared(
                f"gemm_cpu avx2_{order} {m} {n} {k}", call, given, lambda x=a, y=b: x @ y, 2 * m * n * k, "GFLOP/s"
            )


def transposes(folder, compiler, rng):
    call = built(folder, compiler, *transpose.VARIANTS["padded"])
    for m, n in ((1024, 1024), (1000, 1500), (2000, 2000), (333, 4001)):
        s, d = rng.random((m, n), np.float32), np.zeros((n, m), np.float32)
        call(m, n, pointer(s), pointer(d))
        assert (d == s.T).all()
        compared(
            f"transpose {m} {n}",
            call,
            (m, n, pointer(s), pointer(d)),
            lambda x=s, y=d: np.copyto(y, x.T),
            4 * m * n,
            "GB/s",
        )


def windows(folder, compiler, rng):
    call = built(folder, compiler, *im2col.VARIANTS["im2col"])
    for b, h, w, c in ((8, 56, 56, 64), (4, 65, 65, 32), (2, 112, 113, 3), (16, 30, 31, 17)):
        images = rng.random((b, h, w, c), np.float32)
        views = np.lib.stride_tricks.sliding_window_view(images, (3, 3), (1, 2))[:, ::2, ::2].transpose(
            0, 1, 2, 4, 5, 3
        )
        d = np.zeros(views.shape, np.float32)
        call(b, h, w, c, pointer(images), pointer(d))
        assert (d == views).all()
        compared(
            f"im2col {b} {h} {w} {c}",
            call,
            (b, h, w, c, pointer(images), pointer(d)),
            lambda x=views, y=d: np.copyto(y, x),
            d.nbytes,
            "GB/s",
        )


if __name__ == "__main__":
    for compiler in sys.argv[1:] or ["gcc"]:
        print(f"{compiler:44}     tla   numpy           ratio")
        with tempfile.TemporaryDirectory() as folder:
            for measured in (products, transposes, windows):
                measured(Path(folder), compiler, np.random.default_rng(0))
